"""What the page shows, as plain data; no algorithms.

The page is a process of its own. What changes with every picture is a `Frame` and travels through
shared memory (`viewer.snapshot`); what changes now and then is a `Description` or `News` and
travels through a pipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere.contact.method import methods
from tangere.geometry.boundary_lines import MARK
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from tangere.contact.method import Control
    from tangere.scene.scene import Scene
    from tangere.trace.formation_graph import FormationGraph

# ------------------------------------------------ rows of tables; SI units, world frame
TOOL = np.dtype(
    [
        ("position", np.float64, 3),  # of the tool's shape
        ("orientation", np.float64, 4),
        ("ghost_position", np.float64, 3),  # of the shape where the hand wants it
        ("ghost_orientation", np.float64, 4),
        ("grip", np.float64, 3),  # where the coupling holds the tool
        ("hand_position", np.float64, 3),  # the grip as the hand has it
        ("hand_orientation", np.float64, 4),
        ("coupling", np.float64, 6),  # force and torque of the coupling on the tool
        ("contact", np.float64, 6),  # … of contacts on the tool, at its centre of mass
        ("sent", np.float64, 6),  # … sent to the device, on the hand
        ("deviation", np.float64),  # of grip and hand [m]
        ("angle", np.float64),  # [rad]
        ("observed", np.float64),  # energy given by the hand [J]
        ("budget", np.float64),  # that may still be given back to the hand [J]
        ("stored", np.float64),  # in tool, coupling and planes [J]
        ("depth", np.float64),  # deepest overlap [m]
        ("planes", np.float64),  # contact planes that press
        ("gain", np.float64),  # share of the computed force that is sent: ramp, clutch, decay
        ("net", np.float64),  # … times this share, of the energy net
        ("lead", np.float64),  # from what is seen of the hand to what the motors do [s]
        ("state", np.int64),  # FORCE_… of `haptics.layout`
        ("clutched", np.bool_),  # the tool stays while the hand moves
        ("faults", np.int64),  # bits FAULT_… of `haptics.layout`
    ]
)
TOOL_HISTORY = np.dtype(
    [
        ("felt_force", np.float64),  # sent to the hand [N]
        ("felt_upwards", np.float64),  # its part along z
        ("contact_force", np.float64),
        ("felt_torque", np.float64),  # [N m]
        ("contact_torque", np.float64),
        ("observed", np.float64),  # [J]
        ("budget", np.float64),
        ("stored", np.float64),
    ]
)


def history_dtype(tools: int) -> np.dtype[Any]:
    """One row of the live plots of a scene with so many tools."""
    return np.dtype(
        [
            ("take", np.int64),
            ("time", np.float64),
            ("kinetic", np.float64),  # [J]
            ("potential", np.float64),
            ("contacts", np.float64),
            ("tools", TOOL_HISTORY, (tools,)),
        ]
    )


class Books(NamedTuple):
    """Energy of the scene, and where it went since the simulation was built [J].

    What the explicit step does not know is NaN.
    """

    kinetic: float = 0.0
    potential: float = 0.0
    """Of weight, springs and soft bodies."""
    contacts: float = 0.0
    """Held by the springs of contacts, of friction too."""
    dissipated: float = np.nan
    to_friction: float = np.nan
    to_impacts: float = np.nan
    to_springs: float = np.nan
    to_step: float = np.nan


class Pull(NamedTuple):
    """The spring between mouse and body."""

    point: Array
    """Where it holds the body [m]."""
    target: Array
    """Where the mouse is [m]."""
    force: float
    """[N]"""
    limited: bool
    """Whether the force is at its limit."""


class Servo(NamedTuple):
    """How the haptic loop keeps its time; zeros in a scene without a tool."""

    rate: float = 0.0
    """Measured [Hz]."""
    ticks: int = 0
    late: int = 0
    """Ticks that began more than 100 µs after their deadline."""
    missed: int = 0
    """Ticks left out."""
    median: float = 0.0
    """Computing time of a tick [s]."""
    worst: float = 0.0
    packet_age: float = 0.0
    """Of the contact packet in use [s]."""
    contact_rate: float = 0.0
    """Contact packets per second [Hz]."""


RECORD_NONE, RECORD_RUNS, RECORD_FAILED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything the page shows at one moment."""

    build: int
    """Of the description that it belongs to."""
    take: int
    """Counts fresh starts: a new number means new bodies or time back at zero."""
    time: float
    """Simulated time [s]."""
    positions: Array
    """Shape (n, 3) [m]."""
    orientations: Array
    """Shape (n, 4), (w, x, y, z)."""
    contacts: Any
    """Rows of `CONTACT_COLUMNS`."""
    displacements: Any = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    """Of the surface vertices of all soft bodies, one body after the other, in the axes of their
    shapes, shape (v, 3) [m]."""
    steps: int = 0
    """Steps since the fresh start."""
    step_seconds: float = 0.0
    """Computing time per step [s]."""
    real_time: float = 0.0
    """Simulated seconds per second on the wall."""
    speed: float = 1.0
    """The same, as asked for."""
    paused: bool = False
    stopped: bool = False
    """Whether a fault stopped the simulation."""
    left_out: int = 0
    """Contacts that found no room in the table."""
    books: Books = field(default_factory=Books)
    pull: Pull | None = None
    tools: Any = field(default_factory=lambda: np.zeros(0, TOOL))
    """Rows of `TOOL`."""
    marks: Any = field(default_factory=lambda: np.zeros(0, MARK))
    """Lines that show what touches the tools, rows of `MARK`."""
    servo: Servo = field(default_factory=Servo)
    recording: int = RECORD_NONE
    recorded: float = 0.0
    """Length of the recording [s]."""
    faults: int = 0
    """Bits FAULT_… of the whole session."""


# ------------------------------------------------ what changes now and then


@dataclass(frozen=True, slots=True)
class Settings:
    """What the page can change and a simulation is built from."""

    scene: str
    method: str = methods.default
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the method, where not the default; those without an effect wait for their step."""
    integrator: str = "implicit"
    dt: float = 1e-3
    stiffness_factor: float = 1.0
    damping_factor: float = 1.0
    friction_factor: float = 1.0
    coupling_stiffness_factor: float = 1.0
    coupling_damping_factor: float = 1.0
    tool_mass_factor: float = 1.0
    scale: float = 1.0
    """Virtual metres per metre of the device."""
    clutch: bool = False
    """The tool stays while the hand moves."""


class Verdict(NamedTuple):
    """Stability in words."""

    level: str
    """One of "stable", "near" and "past"."""
    values: str
    """The parameters in force, of the stiffest pair or that nearest to the limit."""
    words: str
    share: float = 0.0
    """Of the limit beyond which it is unstable; 0: there is no limit."""


class Offer(NamedTuple):
    """The chosen method as the page explains it, and what it lets be changed; from its record."""

    words: str
    citation: str
    steppers: tuple[str, ...]
    """To choose from; none where a hand needs a certain one."""
    controls: tuple[Control, ...]
    """Of its options, those that have an effect."""
    values: Mapping[str, Any]
    """In force, by the options of the controls."""
    factors: frozenset[str]
    """What of the materials has an effect: "stiffness", "damping", "friction"."""


class Sheet(NamedTuple):
    """A tool, its coupling and the device that holds it, as the page explains them."""

    name: str
    mass: float
    """[kg]"""
    max_force: float
    """Of the coupling [N]: the line between tool and hand is red there."""
    max_torque: float
    """[N m]"""
    stiffness: float
    """Of the coupling [N/m]."""
    damping: float
    """[N s/m]"""
    device: str
    """Its name in words."""
    device_force: float
    """Limit of the force sent [N]; 0: the device gives no force."""
    device_torque: float
    """[N m]; 0: it gives no torque."""
    hand: str = ""
    """Name of the shared memory that takes the hand's pose from the page's handles; empty: another
    device holds the tool."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """World point that the page's handles call zero [m]."""
    coupling: Verdict | None = None
    """Whether device and coupling together are stable."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a frame's numbers belong to."""

    build: int
    settings: Settings
    scene: Scene
    methods: tuple[str, ...]
    """That can be chosen for this scene."""
    offer: Offer
    verdict: Verdict
    tools: tuple[Sheet, ...] = ()
    block: str = ""
    """Name of the shared memory with its frames."""


@dataclass(frozen=True, slots=True)
class News:
    """Words that change now and then."""

    notice: str | None = None
    """What went wrong last."""
    file: str = ""
    """Of the recording that runs or ran last."""
    notes: tuple[str, ...] = ()
    """What was changed to suit the devices."""
    device_faults: tuple[str, ...] = ()
    """What went wrong with the devices since they were opened, and how often."""
    formations: tuple[FormationGraph, ...] = ()
    """Contact formations that each tool went through, of methods that tell them."""
