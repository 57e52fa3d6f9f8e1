"""The page in the browser: a running scene to watch and to pull at."""
