"""Settings shared by all tests: reproducible random examples, no window ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tangere._jit import JIT_DISABLED
from tangere.fakes.vendors import Libraries, World, build, why_not

# Pictures are drawn to files, also where a screen exists.
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples at every run; a compilation may stand inside the first example, so no deadline.
settings.register_profile(
    "tangere", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tangere")

# These spend little time in kernels: in plain Python the whole folder counts as `nojit` ...
PLAIN_FOLDERS = {"experiments", "geometry", "scene", "viewer"}
# ... but for whole experiments and scenes that run for seconds, and for what is marked `compiled`.
LONG_FILES = {
    "test_claims.py",
    "test_energy_audit.py",
    "test_held_session.py",
    "test_method_choice.py",
    "test_watch.py",
}

# These run against the clock, with a servo on a core of its own: not beside other tests.
LIVE_FOLDERS = {"session"}
LIVE_FILES = {
    "test_conformance.py",
    "test_criteria.py",
    "test_ending.py",
    "test_force_page.py",
    "test_held_page.py",
    "test_held_session.py",
    "test_host.py",
    "test_hostile_page.py",
    "test_lost_session.py",
    "test_pacing.py",
    "test_page.py",
    "test_servo.py",
    "test_snapshot.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what counts in the coverage run, and what runs against the clock."""
    for item in items:
        if item.path.parent.name in LIVE_FOLDERS or item.path.name in LIVE_FILES:
            item.add_marker(pytest.mark.live)
        plain = item.path.parent.name in PLAIN_FOLDERS and item.path.name not in LONG_FILES
        if JIT_DISABLED and plain and not item.get_closest_marker("compiled"):
            item.add_marker(pytest.mark.nojit)


@pytest.fixture(scope="session")
def vendor_libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """Force Dimension's, OpenHaptics' and hidapi's libraries without devices."""
    if reason := why_not():
        pytest.skip(reason)
    return build(tmp_path_factory.mktemp("vendors"))


@pytest.fixture
def world(vendor_libraries: Libraries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world that drivers opened from here live in; see `tangere.fakes.vendors`."""
    made = World(tmp_path / "world")
    for name, value in vendor_libraries.environment(made).items():
        monkeypatch.setenv(name, value)
    return made
