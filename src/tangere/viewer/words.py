"""What the page says: help, steps, limits and faults in plain sentences, all in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    FORCE_ACTIVE,
    FORCE_FAULT,
    FORCE_LOST,
    FORCE_RAMP,
    FORCE_WAITING,
    STOPS_FORCE,
)
from tangere.trace.columns import FAULT_WORDS

if TYPE_CHECKING:
    from tangere.viewer.frame import Sheet

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
# These say something of a force that is felt: of a device without force they are not shown.
FELT = FAULT_LIMIT | FAULT_NET
WHOLE = 0.995  # a share from here on reads 100 %


def help_line(tools: Sequence[str]) -> str:
    """What to do, in one line."""
    if not tools:
        return PULL_HELP
    return f"{HOLD_HELP.format(tools=' and the '.join(tools))} {LOOK_HELP}"


def faults_in_words(bits: int) -> list[tuple[str, bool]]:
    """Sentences for the bits FAULT_…, gravest first, and whether each is a fault."""
    return [(words, not bit & MILD) for bit, words in FAULTS.items() if bits & bit]


def state_in_words(state: int, bits: int, gain: float) -> str:
    """What the force of a device does now.

    Args:
        state: FORCE_….
        bits: FAULT_… of now; those that forbid force are named.
        gain: Share of the computed force that is sent.
    """
    causes = "; ".join(w for bit, w in FAULT_WORDS.items() if bits & bit & STOPS_FORCE)
    if state == FORCE_ACTIVE:
        return "active" if gain >= WHOLE else f"active at {gain:.0%}"
    if state == FORCE_RAMP:
        return f"ramping up, {gain:.0%}"
    if state == FORCE_WAITING:
        return f"off: {causes}" if causes else "waiting for the device"
    head = {FORCE_FAULT: "fault", FORCE_LOST: "lost, until the device is opened anew"}[state]
    return f"{head}: {causes}" if causes else head


def force_in_words(sheet: Sheet, tool: Any, *, paused: bool, stopped: bool) -> str:
    """What the hand that holds a tool feels of it, and how late; `tool` is a row of `TOOL`."""
    if stopped:
        state = "off: the session has stopped"
    elif paused:
        state = "off: paused"
    elif tool["clutched"]:
        state = "off: the clutch is held"
    else:
        state = state_in_words(int(tool["state"]), int(tool["faults"]), float(tool["gain"]))
    if not sheet.device_force > 0.0:
        return f"force {state} (only shown: {sheet.device} gives none)"
    late = f", {1e3 * tool['lead']:.3g} ms late" if tool["lead"] > 0.0 else ""
    return f"force {state}{late}"


def net_in_words(sheet: Sheet, tool: Any) -> str:
    """How far the energy net softens the force of a device; empty: not at all."""
    flows = int(tool["state"]) in (FORCE_RAMP, FORCE_ACTIVE)
    if not (sheet.device_force > 0.0 and flows and tool["net"] < WHOLE):
        return ""
    return (
        f"softened to {tool['net']:.0%}: more energy came out than went in "
        f"({1e3 * tool['budget']:.2g} mJ left to give)"
    )
