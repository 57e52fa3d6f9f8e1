"""Unilateral contact with Coulomb friction, exact, on the Delassus operator ([DURIEZ2006])."""
