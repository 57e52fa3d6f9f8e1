"""What `Simulation` owns: the protocol of a stepper, and the tables that all of them fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tangere.elements.contact_law import Law
    from tangere.maths.vec import Array
    from tangere.scene.compile import Compiled
    from tangere.steppers.patches import Patch
    from tangere.steppers.profile import Profile

CONTACT_COLUMNS = np.dtype(
    [
        ("body_a", np.int32),  # floors count −1, −2, …
        ("body_b", np.int32),
        ("point", np.float64, 3),
        ("normal", np.float64, 3),
        ("depth", np.float64),
        ("area", np.float64),
        ("force", np.float64, 3),
        ("torque", np.float64, 3),
        ("sticking", np.bool_),
    ]
)


class Energy(NamedTuple):
    """Energy of a scene [J]; `dissipated` is counted since the start and not part of the total."""

    kinetic: float
    potential: float  # of weight, zero at the world's origin
    springs: float
    contact: float  # held by the normal springs of contacts
    friction: float  # held by their friction springs
    reserve: float  # that contacts lost and keep, to come out where they are too deep
    total: float
    dissipated: float  # NaN with the explicit step, which keeps no books
    elastic: float = 0.0  # strain of soft bodies, beyond what gravity does to them


class Audit(NamedTuple):
    """How the last implicit or signorini step went, and where energy went since the start."""

    normal: float  # lost along contact normals: dampers, impacts, yielding [J]
    friction: float  # lost to friction [J]
    springs: float  # lost in dampers, of soft bodies too, and in stiff springs by the step [J]
    step: float  # lost by the step itself, ½ |Δv|² m [J]
    work: float  # put in by bodies and spring ends moved from outside [J]
    error: float  # energy of the last step that these do not explain [J]
    residual: float  # unbalanced impulse over mass, greatest of all bodies [m/s]; of the signorini
    # step the greatest violation of the contact laws, as a share of the forces
    solves: int  # linear solves of the last step; sweeps and Newton steps of the signorini step
    passes: int  # looks at the contact geometry


class Stepper(Protocol):
    """How a scene goes on by dt."""

    name: str
    """One of `Method.steppers`."""
    arrays: Compiled
    """The scene's arrays; a stepper may replace them by longer ones."""

    threads: int
    """That share the work of a step; the digits do not depend on them."""

    def run(self, steps: int) -> int:
        """Make so many whole steps in compiled code; returns how many were made.

        Raises:
            FloatingPointError: A force or speed grew beyond all bounds; the state is that of the
                last good step.
        """

    def contacts(self) -> NDArray[np.void]:
        """The contacts that pressed in the last step, rows of `CONTACT_COLUMNS`."""

    def patches(self) -> list[Patch]:
        """Where bodies touched in the last step, as polygons."""

    def wrench_on(self, body: int) -> Array:
        """Force [N] and torque [N m] of all contacts at a body's centre, last step."""

    def energy(self) -> Energy:
        """Energy now."""

    def audit(self) -> Audit:
        """Energy books and solver report of the last step.

        Raises:
            SceneError: This stepper keeps none.
        """

    def profile(self) -> Profile:
        """Time per stage."""

    def contact_law(self, i: int, j: int) -> Law:
        """Parameters of a contact between two bodies, by their rows in the arrays."""

    def forget_contacts(self, body: int) -> None:
        """A body was put elsewhere by hand: its contacts start anew."""

    def fill_packet(self, body: int, mass: float, time: float, number: int, packet: Array) -> None:
        """What a servo may know of the contacts on a held body, see haptics.layout PACKET_…."""

    def fill_problem(self, body: int, time: float, number: int, problem: Array) -> None:
        """The contact problem of a held body, see haptics.layout PROBLEM_….

        Raises:
            SceneError: This stepper solves none.
        """

    def surface(self, body: int) -> Array:
        """Where the surface vertices of a soft body are, (n, 3) [m].

        Raises:
            SceneError: The body is rigid.
        """

    def stress(self, body: int) -> Array:
        """Equivalent stress (von Mises) at these vertices, (n,) [Pa].

        Raises:
            SceneError: The body is rigid.
        """

    def deform_as(self, other: Stepper) -> None:
        """Take over the shapes of soft bodies from another stepper of the same scene.

        Raises:
            SceneError: The soft bodies of the two are not the same.
        """
