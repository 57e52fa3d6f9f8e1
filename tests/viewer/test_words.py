"""Every limit and fault has its sentence."""

from __future__ import annotations

from tangere.haptics import layout
from tangere.viewer.words import FAULTS, MILD, faults_in_words, help_line

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
