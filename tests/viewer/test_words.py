"""Every limit and fault has its sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tangere.haptics import layout
from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_LIMIT,
    FAULT_OFF,
    FAULT_READ,
    FAULT_SPEED,
    FORCE_ACTIVE,
    FORCE_FAULT,
    FORCE_LOST,
    FORCE_RAMP,
    FORCE_WAITING,
)
from tangere.viewer.frame import TOOL, Sheet
from tangere.viewer.words import (
    FAULTS,
    FELT,
    MILD,
    faults_in_words,
    force_in_words,
    help_line,
    net_in_words,
    state_in_words,
)

SIGMA = Sheet("spoon", 0.1, 10.0, 1.0, 400.0, 4.0, "sigma.7", 12.0, 0.2)
PAGE = Sheet("spoon", 0.1, 10.0, 1.0, 400.0, 4.0, "browser", 0.0, 0.0, hand="memory")
ALL = {name: value for name, value in vars(layout).items() if name.startswith("FAULT_")}


def test_every_fault_has_one_sentence() -> None:
    assert set(FAULTS) == set(ALL.values())
    assert len(set(FAULTS.values())) == len(FAULTS)
    for words in FAULTS.values():
        assert words.endswith(".")


def test_what_stops_the_force_counts_as_a_fault() -> None:
    assert not MILD & layout.STOPS_FORCE
    for bit in ALL.values():
        ((_, grave),) = faults_in_words(bit)
        assert grave or not bit & layout.STOPS_FORCE


def test_several_bits_give_several_sentences() -> None:
    both = layout.FAULT_LIMIT | layout.FAULT_STALE
    said = faults_in_words(both)
    assert [grave for _, grave in said] == [True, False]
    assert faults_in_words(0) == []


def test_help_names_what_is_in_hand() -> None:
    assert help_line(["spoon"]).startswith("Drag the handles: you hold the spoon.")
    assert "the left and the right." in help_line(["left", "right"])
    assert "Drag a body" in help_line([])


# ---------------------------------------------------------------- the force of a hand


def tool(**columns: Any) -> Any:
    """A row of the page: full force flows, 2.5 ms late."""
    row = np.zeros((), TOOL)
    usual = {"state": FORCE_ACTIVE, "gain": 1.0, "net": 1.0, "lead": 2.5e-3}
    for name, value in {**usual, **columns}.items():
        row[name] = value
    return row


@pytest.mark.parametrize(
    ("state", "bits", "gain", "words"),
    [
        (FORCE_WAITING, 0, 0.0, "waiting for the device"),
        (FORCE_WAITING, FAULT_OFF, 0.0, "off: the device's own force is off"),
        (FORCE_WAITING, FAULT_ESCAPE, 0.0, "off: stopped by the user or the watchdog"),
        (FORCE_RAMP, 0, 0.304, "ramping up, 30%"),
        (FORCE_ACTIVE, 0, 1.0, "active"),
        (FORCE_ACTIVE, FAULT_LIMIT, 0.999, "active"),
        (FORCE_ACTIVE, 0, 0.8, "active at 80%"),
        (FORCE_FAULT, FAULT_READ, 0.0, "fault: the device could not be read"),
        (FORCE_FAULT, FAULT_LIMIT, 0.0, "fault"),  # a limit does not stop the force
        (
            FORCE_FAULT,
            FAULT_READ | FAULT_SPEED,
            0.0,
            "fault: the device could not be read; the hand moved faster than allowed",
        ),
        (FORCE_LOST, 0, 0.0, "lost, until the device is opened anew"),
        (
            FORCE_LOST,
            layout.FAULT_LOST,
            0.0,
            "lost, until the device is opened anew: the device is gone",
        ),
    ],
)
def test_every_state_of_the_force_has_its_words(
    state: int, bits: int, gain: float, words: str
) -> None:
    assert state_in_words(state, bits, gain) == words


def test_no_state_is_without_words() -> None:
    states = [value for name, value in vars(layout).items() if name.startswith("FORCE_")]
    assert len({state_in_words(state, 0, 0.5) for state in states}) == len(states) == 5


def test_every_fault_that_stops_the_force_is_named() -> None:
    named = {
        state_in_words(FORCE_FAULT, bit, 0.0) for bit in ALL.values() if bit & layout.STOPS_FORCE
    }
    assert len(named) == bin(layout.STOPS_FORCE).count("1")
    assert "fault" not in named


def test_a_force_that_is_felt_has_its_delay() -> None:
    assert force_in_words(SIGMA, tool(), paused=False, stopped=False) == "force active, 2.5 ms late"
    at_once = tool(lead=0.0)
    assert force_in_words(SIGMA, at_once, paused=False, stopped=False) == "force active"


def test_a_device_without_force_says_so_and_nothing_of_delay_and_energy() -> None:
    row = tool(state=FORCE_RAMP, gain=0.5, net=0.2)
    words = force_in_words(PAGE, row, paused=False, stopped=False)
    assert words == "force ramping up, 50% (only shown: browser gives none)"
    assert net_in_words(PAGE, row) == ""
    assert not FELT & layout.STOPS_FORCE  # only what says how a force is felt is left out


def test_what_holds_the_force_off_on_purpose_comes_first() -> None:
    held = tool(clutched=True)
    assert force_in_words(SIGMA, held, paused=False, stopped=False).startswith(
        "force off: the clutch is held"
    )
    assert "off: paused" in force_in_words(SIGMA, held, paused=True, stopped=False)
    assert "off: the session has stopped" in force_in_words(SIGMA, held, paused=True, stopped=True)


def test_the_net_is_said_while_it_acts() -> None:
    words = "softened to 40%: more energy came out than went in (-0.3 mJ left to give)"
    assert net_in_words(SIGMA, tool(net=0.4, budget=-3e-4)) == words
    assert net_in_words(SIGMA, tool(net=1.0, budget=2e-3)) == ""
    assert net_in_words(SIGMA, tool(net=0.4, state=FORCE_WAITING)) == ""
