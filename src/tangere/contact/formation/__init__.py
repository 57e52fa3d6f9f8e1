"""Contact formations: the wrench on a held rigid body from its contact type and its motion."""
