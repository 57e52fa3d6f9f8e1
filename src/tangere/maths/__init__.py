"""Pure functions on tuples of floats: vectors, quaternions, small matrices. No state."""
