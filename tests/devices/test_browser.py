"""The hand on the page: smooth, within its bounds, still when the page is, whatever is sent."""

from __future__ import annotations

import subprocess
import sys
from math import cos, sin
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tangere.devices.browser import Browser, Page
from tangere.errors import DeviceError
from tangere.haptics.layout import (
    NREAD,
    READ_BUTTONS,
    READ_OMEGA,
    READ_POSITION,
    READ_QUATERNION,
    READ_STATUS,
    READ_VELOCITY,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

TICK = 1e-3


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Hands:
    """A page and a session in one process, at their own rates."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.device = Browser(clock=self.clock, **options)
        self.device.open()
        self.page = Page(self.device.address)

    def run(self, seconds: float, motion: Any = None, page_rate: float = 60.0) -> Array:
        """Readings at 1 kHz while the page follows `motion(t)`, or is silent."""
        ticks = round(seconds / TICK)
        rows = np.zeros((ticks, NREAD))
        posted = -1
        for n in range(ticks):
            frame = int(n * TICK * page_rate)
            if motion is not None and frame > posted:
                posted = frame
                self.page.move(*motion(frame / page_rate))
            self.device.read(rows[n])
            self.clock.now += TICK
        return rows

    def close(self) -> None:
        self.page.close()
        self.device.close()


@pytest.fixture
def hands() -> Any:
    made = Hands()
    yield made
    made.close()


def test_it_has_no_actuation(hands: Hands) -> None:
    assert hands.device.info.actuated == 0
    assert hands.device.info.sensed == 6


@pytest.mark.parametrize("page_rate", [30.0, 60.0])
def test_a_steady_drag_is_read_as_a_steady_motion(hands: Hands, page_rate: float) -> None:
    """A page draws 30 or 60 steps a second; none of them is felt."""
    speed, turn = 0.2, 1.0

    def motion(t: float) -> Any:
        return (speed * t - 0.1, 0.0, 0.0), (cos(0.5 * turn * t), 0.0, 0.0, sin(0.5 * turn * t))

    rows = hands.run(1.0, motion, page_rate)
    late = rows[600:]
    # the page's frames fall on whole ticks of the reader: an interval is 16 or 17 ticks
    assert late[:, READ_VELOCITY] == pytest.approx(speed, rel=0.05)
    assert late[:, READ_OMEGA + 2] == pytest.approx(turn, rel=0.05)
    assert np.abs(np.diff(late[:, READ_VELOCITY])).max() < 0.01 * speed  # per millisecond
    # how far it is behind the pointer, as documented
    t = np.arange(600, 1000) * TICK
    behind = (speed * t - 0.1 - late[:, READ_POSITION]) / speed
    assert 0.04 < behind.mean() < 0.08
    # the velocity told is that of the positions told
    told = np.diff(late[:, READ_POSITION]) / TICK
    assert told == pytest.approx(late[1:, READ_VELOCITY], rel=0.01)


def test_a_jump_of_the_pointer_is_speed_limited(hands: Hands) -> None:
    def jump(t: float) -> Any:
        turn = 1.5 if t > 0 else 0.0
        return (0.25 if t > 0 else -0.25, 0.0, 0.0), (cos(turn), sin(turn), 0.0, 0.0)

    rows = hands.run(1.5, jump)
    steps = np.linalg.norm(np.diff(rows[:, READ_POSITION : READ_POSITION + 3], axis=0), axis=1)
    assert steps.max() <= 1.0 * TICK * (1 + 1e-9)
    assert np.linalg.norm(rows[:, READ_VELOCITY : READ_VELOCITY + 3], axis=1).max() <= 1.0 + 1e-9
    assert np.linalg.norm(rows[:, READ_OMEGA : READ_OMEGA + 3], axis=1).max() <= 6.0 + 1e-9
    assert rows[-1, READ_POSITION] == pytest.approx(0.25, abs=1e-6)
    assert abs(rows[-1, READ_QUATERNION + 1]) == pytest.approx(sin(1.5), abs=1e-6)


def test_a_silent_page_leaves_the_hand_at_rest(hands: Hands) -> None:
    hands.run(0.5, lambda t: ((0.3 * t, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
    rows = hands.run(1.0)
    assert rows[-1, READ_POSITION] == pytest.approx(0.3 * 29 / 60, abs=1e-9)
    assert np.abs(rows[-1, READ_VELOCITY : READ_VELOCITY + 6]).max() < 1e-9
    assert rows[:, READ_POSITION].max() <= 0.3 * 29 / 60 + 1e-4  # it does not run on
    assert not rows[:, READ_STATUS].any()  # silence is no fault


def test_a_pointer_outside_the_workspace_is_met_at_its_edge() -> None:
    hands = Hands(radius=0.1)
    try:
        rows = hands.run(1.0, lambda _: ((3.0, 4.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
        far = np.linalg.norm(rows[:, READ_POSITION : READ_POSITION + 3], axis=1)
        assert far.max() <= 0.1 * (1 + 1e-12)
        assert rows[-1, :3] == pytest.approx([0.06, 0.08, 0.0], abs=1e-6)
    finally:
        hands.close()


def test_it_starts_where_it_is_told() -> None:
    hands = Hands(position=(0.1, 0.0, 0.05), orientation=(0.0, 1.0, 0.0, 0.0))
    try:
        rows = hands.run(0.1)
        assert (rows[:, :7] == [0.1, 0.0, 0.05, 0.0, 1.0, 0.0, 0.0]).all()
    finally:
        hands.close()


def test_a_pause_of_the_reader_makes_no_leap(hands: Hands) -> None:
    hands.run(0.1, lambda _: ((0.2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
    before = hands.run(0.001)[0, READ_POSITION]
    hands.clock.now += 10.0
    assert hands.run(0.001)[0, READ_POSITION] - before <= 0.01 + 1e-9
    hands.clock.now -= 5.0  # a clock that goes back
    assert np.isfinite(hands.run(0.01)).all()


anything = st.floats(allow_nan=True, allow_infinity=True, width=64)
huge = st.sampled_from([0.0, 1e308, -1e308, 1e-308, 5e-324, -0.0, 1e154])
number = st.one_of(anything, huge, st.floats(-1, 1))


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.tuples(number, number, number), st.tuples(*[number] * 4), number), max_size=12
    )
)
def test_nothing_a_page_sends_leads_outside_the_bounds(poses: list[Any]) -> None:
    hands = Hands(radius=0.3)
    try:
        out = np.zeros(NREAD)
        last = np.zeros(3)
        for position, orientation, buttons in poses:
            hands.page.move(position, orientation, buttons)
            for _ in range(5):
                hands.clock.now += TICK
                hands.device.read(out)
                assert np.isfinite(out).all()
                x = out[READ_POSITION : READ_POSITION + 3]
                assert np.linalg.norm(x) <= 0.3 * (1 + 1e-9)
                assert np.linalg.norm(x - last) <= TICK * (1 + 1e-6)
                last = x.copy()
                q = out[READ_QUATERNION : READ_QUATERNION + 4]
                assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-9)
                assert np.linalg.norm(out[READ_VELOCITY : READ_VELOCITY + 3]) <= 1.0 + 1e-9
                assert np.linalg.norm(out[READ_OMEGA : READ_OMEGA + 3]) <= 6.0 + 1e-9
                assert 0 <= out[READ_BUTTONS] < 65536
                assert out[READ_BUTTONS] == int(out[READ_BUTTONS])
                assert out[READ_STATUS] == 0
    finally:
        hands.close()


def test_garbage_in_the_shared_memory_is_survived(hands: Hands) -> None:
    """Indices and slots of the mailbox overwritten by whoever has the memory."""
    rng = np.random.default_rng(3)
    shared = hands.device._shared
    assert shared is not None
    out = np.zeros(NREAD)
    memory = shared.memory.buf
    assert memory is not None
    for _ in range(300):
        memory[:] = rng.integers(0, 256, len(memory), dtype=np.uint8).tobytes()
        hands.clock.now += TICK
        hands.device.read(out)
        assert np.isfinite(out).all()
        assert np.linalg.norm(out[:3]) <= 0.3 * (1 + 1e-9)
        assert out[READ_STATUS] == 0


def test_the_page_lives_in_another_process(hands: Hands) -> None:
    """… and may come and go without taking the memory along."""
    code = (
        "import sys; from tangere.devices.browser import Page\n"
        "page = Page(sys.argv[1]); page.move((0.01, 0.02, 0.03), buttons=1); page.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, hands.device.address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "leak" not in done.stderr
    Page(hands.device.address).close()  # it is still there
    rows = hands.run(0.8)
    assert rows[-1, :3] == pytest.approx([0.01, 0.02, 0.03], abs=1e-6)
    assert rows[-1, READ_BUTTONS] == 1


def test_an_address_that_is_none_and_a_hand_that_is_closed() -> None:
    with pytest.raises(DeviceError, match="is the session running"):
        Page("tangere-nobody")
    device = Browser()
    with pytest.raises(DeviceError, match="not open"):
        _ = device.address
    device.open()
    page = Page(device.address)
    device.close()
    page.move((0.0, 0.0, 0.0))  # into memory that nobody reads
    page.close()
    page.close()
    with pytest.raises(DeviceError, match="closed"):
        page.move((0.0, 0.0, 0.0))


@pytest.mark.parametrize("wrong", ["radius", "delay", "max_speed", "max_turn_speed"])
def test_bounds_must_be_positive(wrong: str) -> None:
    with pytest.raises(DeviceError, match=f"{wrong} -1 must be positive"):
        Hands(**{wrong: -1.0})
