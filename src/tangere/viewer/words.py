"""What the page says: help, steps, limits and faults in plain sentences, all in one place."""

from __future__ import annotations

from collections.abc import Sequence

from tangere.haptics.layout import (
    FAULT_ESCAPE,
    FAULT_JUMP,
    FAULT_LIMIT,
    FAULT_LOST,
    FAULT_NAN_CONTACT,
    FAULT_NAN_FORCE,
    FAULT_NAN_READING,
    FAULT_NET,
    FAULT_OFF,
    FAULT_READ,
    FAULT_RECORD,
    FAULT_SILENT,
    FAULT_SLOW,
    FAULT_SPEED,
    FAULT_STALE,
    FAULT_TOOL,
    FAULT_VIEWER,
    FAULT_WRITE,
)

PULL_HELP = "Drag a body: a spring pulls it. Drag beside it to turn the view, scroll to zoom."
HOLD_HELP = "Drag the handles: you hold the {tools}."
LOOK_HELP = "Drag beside them to turn the view, scroll to zoom."

INTEGRATORS = {
    "implicit": "All contact forces are solved for together, as of the end of the step: stable at "
    "any stiffness, and it knows where all energy went.",
    "explicit": "Each contact force follows from the start of the step, as in the papers: quick, "
    "but too much stiffness or damping shakes bodies apart.",
}

# What happened, and what that means for the hand; in the order of gravity.
FAULTS = {
    FAULT_ESCAPE: "Stopped by you or by the watchdog: no force until Reset.",
    FAULT_LOST: "The device is gone: no force until it is opened anew.",
    FAULT_SLOW: "The device's driver took too long to answer: no force, then it comes back slowly.",
    FAULT_OFF: "The force is switched off at the device (button, brake or dead man's switch).",
    FAULT_READ: "The device could not be read: no force until it answers again.",
    FAULT_WRITE: "The device did not take the force: no force is sent.",
    FAULT_SILENT: "The device has been silent for too long: no force until it speaks again.",
    FAULT_NAN_READING: "The device sent something that is no number: no force in that moment.",
    FAULT_JUMP: "The hand's place jumped, so the reading was not believed: no force, then it comes "
    "back slowly.",
    FAULT_SPEED: "The hand moves faster than allowed: no force, then it comes back slowly.",
    FAULT_STALE: "The contact loop is late or has stopped: the force has been let go.",
    FAULT_NAN_CONTACT: "A contact force was no number: it was left out.",
    FAULT_NAN_FORCE: "The force for the hand was no number: zero was sent.",
    FAULT_TOOL: "The tool's motion left all bounds: it was put back into the hand.",
    FAULT_RECORD: "The recording has stopped (is the disk full?); the session goes on.",
    FAULT_VIEWER: "The page was away; the session went on without it.",
    FAULT_NET: "More energy came out of the device than went in: the force is softened until that "
    "is made good.",
    FAULT_LIMIT: "The force is at the limit of device or coupling: you feel less than there is.",
}
MILD = FAULT_LIMIT | FAULT_NET | FAULT_VIEWER  # these are no faults, but worth a word


def help_line(tools: Sequence[str]) -> str:
    """What to do, in one line."""
    if not tools:
        return PULL_HELP
    return f"{HOLD_HELP.format(tools=' and the '.join(tools))} {LOOK_HELP}"


def faults_in_words(bits: int) -> list[tuple[str, bool]]:
    """Sentences for the bits FAULT_…, gravest first, and whether each is a fault."""
    return [(words, not bit & MILD) for bit, words in FAULTS.items() if bits & bit]
