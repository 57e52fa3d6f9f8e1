"""Contact levels of detail: convex pieces of a surface at several resolutions, and their query."""
