"""What a hand must be able to rely on, as the report on the servo judges it.

Those that depend on how fast this machine is are in the report alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tangere._jit import JIT_DISABLED
from tangere.bench import criteria
from tangere.fakes.measure import Answers, End
from tangere.fakes.vendors import Libraries
from tangere.haptics.servo import counted, new_loop

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="plain Python cannot keep the pace of a servo")


@pytest.mark.parametrize("number", [6, 7, 8, 9])
def test_on_the_virtual_clock_all_hold(number: int) -> None:
    judge = {6: criteria.led, 7: criteria.booked, 8: criteria.caught, 9: criteria.held_near}
    found = judge[number]()
    assert found.number == number
    assert found.holds, found.seen


def test_a_vendors_callback_is_the_same_tick(vendor_libraries: Libraries, tmp_path: Path) -> None:
    found = criteria.vendor_paced(vendor_libraries, tmp_path)
    assert found.holds, found.seen


def test_an_effect_is_the_same_in_a_thread_and_in_a_process() -> None:
    assert criteria.effect_elsewhere() == 0.0


def test_a_device_may_have_its_own_ways(vendor_libraries: Libraries, tmp_path: Path) -> None:
    found = criteria.devices_own_ways(vendor_libraries, tmp_path)
    assert found.holds, found.seen


def answer(rate: float, wait: float) -> Answers:
    import numpy as np

    return Answers(rate, np.array([wait]), 0, 1e-3, counted(new_loop(1, 1000.0)))


def test_answers_are_judged_by_the_busy_ones() -> None:
    good, slow = answer(1000.0, 9e-4), answer(600.0, 5e-3)
    assert criteria.answered({(0.0, False): slow, (0.0, True): good}).holds
    assert not criteria.answered({(0.0, False): good, (0.0, True): slow}).holds


def test_one_end_that_takes_too_long_is_a_failure() -> None:
    good, bad, stopped = End(0.01, 0.03), End(0.01, 0.3), End(0.05, float("inf"))
    assert criteria.let_go({"exit": [good, good], "sigstop": [stopped]}).holds
    assert not criteria.let_go({"exit": [good, bad], "sigstop": [stopped]}).holds
    assert not criteria.let_go({"exit": [good], "sigstop": [End(0.2, 1.0)]}).holds
