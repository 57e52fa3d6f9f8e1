"""Settings shared by all tests: reproducible random examples, no window ever."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Pictures are drawn to files, also where a screen exists.
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples at every run; a compilation may stand inside the first example, so no deadline.
settings.register_profile(
    "tangere", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tangere")
