"""The point-based penalty method, a baseline."""
