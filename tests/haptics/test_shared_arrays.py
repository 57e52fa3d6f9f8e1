"""Arrays that two processes share: what one writes the other reads, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tangere.errors import DeviceError
from tangere.haptics.layout import Rig, new_rig
from tangere.haptics.servo import Loop, new_loop
from tangere.haptics.shared_arrays import SharedArrays

pytestmark = pytest.mark.nojit

CHILD = """
import json, sys
from tangere.haptics.layout import Rig
from tangere.haptics.servo import Loop
from tangere.haptics.shared_arrays import SharedArrays
name, layout = json.loads(sys.stdin.read())
rig, loop = SharedArrays(name, layout).tuples([Rig, Loop])
assert rig.settings[3] == 7.0 and loop.control[8] == 1000000
rig.hand[:] = range(13)
loop.control[5] = 42
"""


def test_values_are_copied_and_changes_are_seen_by_another_process() -> None:
    rig, loop = new_rig(5), new_loop(1, 1000.0)
    rig.settings[3] = 7.0
    block = SharedArrays.make([rig, loop])
    shared, other = block.tuples([Rig, Loop])
    for given, got in zip((*rig, *loop), (*shared, *other), strict=True):
        assert given.dtype == got.dtype
        assert (np.asarray(given) == got).all()
        assert got.ctypes.data % 64 == 0
    said = json.dumps([block.name, block.layout])
    subprocess.run([sys.executable, "-c", CHILD], input=said, text=True, check=True)
    assert shared.hand.tolist() == list(range(13))
    assert other.control[5] == 42
    assert rig.hand.tolist() != shared.hand.tolist()  # they are copies
    block.hide()
    assert not Path(block.name).exists()
    shared.hand[0] = 5.0  # who has it keeps it
    block.hide()


def test_a_block_that_is_not_there_or_too_small_is_refused(tmp_path: Path) -> None:
    block = SharedArrays.make([new_rig()])
    small = tmp_path / "small"
    small.write_bytes(b"123")
    with pytest.raises(DeviceError, match="too small"):
        SharedArrays(str(small), block.layout)
    with pytest.raises(DeviceError, match="is the session running"):
        SharedArrays(str(tmp_path / "none"), block.layout)
    block.hide()
