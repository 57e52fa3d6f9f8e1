"""Frictional contact: Signorini's and Coulomb's laws on u = W r + q."""
