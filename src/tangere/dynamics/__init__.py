"""How bodies move under given forces."""
