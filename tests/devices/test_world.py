"""The fake vendors' libraries themselves: what they show is what the world says."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tangere._jit import kernel
from tangere._native import address_of, c_function
from tangere.fakes.vendors import FIELDS, Libraries, World
from tangere.haptics.hd import ErrorInfo

pytestmark = pytest.mark.nojit

ask_error = c_function(ErrorInfo)


@kernel
def error(address: int) -> tuple[int, int, int]:
    """Twelve bytes by value."""
    return ask_error(address, ())  # type: ignore[no-any-return]


def position(library: ctypes.CDLL) -> tuple[int, list[float]]:
    """Answer and native position of dhdGetPosition."""
    x, y, z = (ctypes.c_double() for _ in range(3))
    refs = [ctypes.byref(each) for each in (x, y, z)]
    return library.dhdGetPosition(*refs, ctypes.c_byte(0)), [x.value, y.value, z.value]


def test_both_sides_mean_the_same_file(vendor_libraries: Libraries) -> None:
    for path in (vendor_libraries.dhd, vendor_libraries.hd, vendor_libraries.hid):
        size = ctypes.CDLL(str(path)).fake_world_size
        size.restype = ctypes.c_int64
        assert size() == FIELDS.itemsize


def test_a_counted_world_has_no_clock(world: World, vendor_libraries: Libraries) -> None:
    world["counted"], world["sample_ns"] = 1, 1_000_000
    world["amplitude"], world["frequency"] = (0.01, 0.02, 0.03), 3.0
    library = ctypes.CDLL(str(vendor_libraries.dhd))
    assert library.dhdOpen() == 0
    for n in range(1, 50):
        answer, (x, y, z) = position(library)
        assert (answer, world["samples"][0]) == (0, n)
        # the same sine by another library: a few units in the last place of 0.03
        assert (y, -x, z) == pytest.approx(world.position_at(world.now()), abs=1e-16)
    world.guard(0.003)
    assert [position(library)[0] for _ in range(4)] == [1, 1, 0, 0]
    world.fail(0.002)
    assert [position(library)[0] for _ in range(4)] == [-1, -1, 0, 0]
    library.dhdClose(ctypes.c_byte(0))


def test_the_log_outlives_whoever_wrote_it(world: World, vendor_libraries: Libraries) -> None:
    library = ctypes.CDLL(str(vendor_libraries.dhd))
    library.dhdSetForce.argtypes = [*[ctypes.c_double] * 3, ctypes.c_byte]
    library.dhdOpen()
    library.dhdSetForce(-2.0, 1.0, 3.0, 0)
    seen = World(world.path)
    assert seen.calls() == ["open"]
    assert seen.commands().tolist() == [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]]
    last = seen.log("write")[-1]["ns"]
    assert seen.motors(last + 10**12)[2] == 3.0  # nobody lets go ...
    world["watchdog"] = 8
    assert seen.motors(last + 999_999)[2] == 3.0
    assert seen.motors(last + 1_000_001)[2] == 0.0  # ... but the firmware's watchdog
    library.dhdClose(ctypes.c_byte(0))


def test_the_hand_steps_when_it_is_said_to(world: World, vendor_libraries: Libraries) -> None:
    world["counted"], world["sample_ns"] = 1, 10_000_000
    world["step_size"], world["step_period"] = 2e-3, 0.5
    library = ctypes.CDLL(str(vendor_libraries.dhd))
    library.dhdOpen()
    heights = np.array([position(library)[1][2] for _ in range(1000)])
    library.dhdClose(ctypes.c_byte(0))
    times = int(world["epoch"]) + 10_000_000 * np.arange(1, 1001)
    changed = times[1:][np.diff(heights) != 0.0]
    expected = world.steps(int(times[-1]))
    expected = expected[(expected > times[0]) & (expected <= times[-1])]
    assert len(changed) == len(expected)
    assert (np.abs(changed - expected) <= 10_000_000).all()  # one sample


def test_an_error_of_openhaptics_is_twelve_bytes_by_value(
    world: World, vendor_libraries: Libraries
) -> None:
    library = ctypes.CDLL(str(vendor_libraries.hd))
    library.hdInitDevice(b"")
    assert error(address_of(library.hdGetError)) == (0, 0, 0)
    library.hdEndFrame(0)
    assert error(address_of(library.hdGetError)) == (0x0401, -0x0401, 0)
    library.hdDisableDevice(0)


def test_a_world_is_made_once(tmp_path: Path) -> None:
    first = World(tmp_path / "world", model="omega.3", buttons=5)
    second = World(tmp_path / "world")
    assert second["system_type"] == first["system_type"] == 33
    second["buttons"] = 6
    assert first["buttons"] == 6
