"""Contact formations as a force model: a pose of the held body in, its contact wrench out.

    model = FormationModel(tool, mass, inertia, fixed, options, period)
    state = model.update(position, orientation, time)

One compiled call finds the formation (`identify`) and its wrench (`wrench`); Python only names what
was found, and a formation once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere.contact.formation.columns import (
    MOST_CONTACTS,
    NPC,
    PC_ID,
    RES_CASE,
    RES_COUNT,
    RES_INERTIA,
    RES_TYPE,
    RES_WRENCH,
)
from tangere.contact.formation.derivative import derivatives
from tangere.contact.formation.identify import Finder, Formations, identify
from tangere.contact.formation.names import formation_name
from tangere.contact.formation.wrench import Forces, contact_wrench, new_forces
from tangere.geometry.boundary import (
    CIRCLE,
    CONE,
    CYLINDER,
    PARABOLOID,
    PLANE,
    SEGMENT,
    SPHERE,
    TORUS,
    Boundary,
    boundary_of,
)
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.contact.formation.options import Formation
    from tangere.geometry.shapes import Shape


class FormationState(NamedTuple):
    """What one pose gave. The arrays are those of the model: the next update changes them.

    Attributes:
        force: Of all contacts on the held body [N], world axes.
        torque: The same about its centre of mass [N m].
        inertia: −η (m a, I ω̇ + ω × I ω), to be felt beside it, (6,).
        formation: Its name; "free" without contact.
        number: Of that name, in the order in which formations were first seen.
        motion: Type of the motion before, FREE, FIRST … LOST.
        case: Of the formation, CASE_….
        contacts: Rows of the principal contacts, PC_….
        results: What the force model made of each, OUT_….
        valid: Whether these contacts can hold together exactly.
    """

    force: Array
    torque: Array
    inertia: Array
    formation: str
    number: int
    motion: int
    case: int
    contacts: Array
    results: Array
    valid: bool


class FormationModel:
    """The contact wrench of one held body against fixed ones, from its poses.

    Attributes:
        tool: Boundary of the held body about its centre of mass.
        reach: Radius of the ball about the centre of mass that holds it [m].
        fixed: Boundaries of the fixed bodies, each in its own frame.
        formations: Names of the formations seen so far, by number; number 0 is "free".
    """

    def __init__(
        self,
        tool: Boundary,
        mass: float,
        inertia: ArrayLike,
        fixed: Sequence[tuple[Boundary, tuple[ArrayLike, ArrayLike]]],
        options: Formation,
        period: float,
        *,
        names: Sequence[str] = (),
    ) -> None:
        """Nothing has been touched yet.

        Args:
            tool: Boundary of the held body, its origin at the centre of mass.
            mass: Of it [kg].
            inertia: Tensor about the centre of mass in its axes [kg m²], shape (3, 3).
            fixed: Boundary, position [m] and orientation (w, x, y, z) of every fixed body.
            options: Parameters of the method.
            period: From pose to pose [s].
            names: Of the held body and of every fixed one.
        """
        self.tool, self.fixed = tool, tuple(boundary for boundary, _ in fixed)
        self.options, self.period = options, period
        self._found = Formations(
            tool, fixed, layer=options.layer, release=options.release, names=names
        )
        bodies = [tool.elements, *(boundary.elements for boundary in self.fixed)]
        self.reach = reach_of(tool)
        self._forces = new_forces(options, mass, inertia, self.reach, period, bodies)
        self._rows = np.zeros((MOST_CONTACTS, NPC))
        self._pose = np.zeros(7)
        self._numbers: dict[tuple[float, ...], int] = {(): 0}
        self.formations: list[str] = [formation_name(())]

    @classmethod
    def of_shapes(
        cls,
        tool: Shape,
        mass: float,
        fixed: Sequence[tuple[Shape, tuple[ArrayLike, ArrayLike]]],
        options: Formation,
        period: float,
        *,
        names: Sequence[str] = (),
    ) -> FormationModel:
        """The model of a held shape of even density; poses are those of its centre of mass."""
        moments = tool.moments()
        return cls(
            boundary_of(tool).moved(np.eye(3), -moments.centre),
            mass,
            moments.inertia * (mass / moments.volume),
            [(boundary_of(shape), pose) for shape, pose in fixed],
            options,
            period,
            names=names,
        )

    def update(self, position: ArrayLike, orientation: ArrayLike, time: float) -> FormationState:
        """The contacts at a pose and their wrench.

        Args:
            position: Of the centre of mass [m].
            orientation: Unit quaternion (w, x, y, z) of the held body's axes.
            time: Of the pose [s]; a step unlike the period begins the motion anew.
        """
        self._pose[:3], self._pose[3:] = position, orientation
        count, valid = find_wrench(self._found.finder, self._forces, self._pose, self._rows, time)
        rows, result = self._rows[:count], self._forces.result
        number = self._number(rows)
        return FormationState(
            result[RES_WRENCH : RES_WRENCH + 3],
            result[RES_WRENCH + 3 : RES_WRENCH + 6],
            result[RES_INERTIA : RES_INERTIA + 6],
            self.formations[number],
            number,
            int(result[RES_TYPE]),
            int(result[RES_CASE]),
            rows,
            self._forces.out[:count],
            bool(valid),
        )

    def derivatives(self, stiffness_out: Array, damping_out: Array) -> None:
        """−∂W/∂(x, φ) and −∂W/∂(v, ω) at the last pose, 36 numbers each, row by row."""
        count = int(self._forces.result[RES_COUNT])
        derivatives(
            self._forces.law, self._rows, self._forces.out, count, self._pose,
            stiffness_out, damping_out,
        )  # fmt: skip

    @property
    def finder(self) -> Finder:
        """What `find_wrench` finds contacts with."""
        return self._found.finder

    @property
    def forces(self) -> Forces:
        """What `find_wrench` works the wrench out with."""
        return self._forces

    def describe(self, contacts: Array) -> tuple[str, ...]:
        """A name for each of these rows."""
        return self._found.describe(contacts)

    def save(self) -> None:
        """Keep what was learnt of valid formations on disk, for these bodies."""
        self._found.save()

    def _number(self, rows: Array) -> int:
        """Number of the formation of these contacts; its name is made at the first time."""
        ids = tuple(rows[:, PC_ID].tolist())
        known = self._numbers.get(ids)
        if known is None:
            known = self._numbers[ids] = len(self.formations)
            self.formations.append(formation_name(self.describe(rows)))
        return known


@kernel
def find_wrench(
    finder: Finder, forces: Forces, pose: Array, rows_out: Array, time: float
) -> tuple[int, bool]:
    """Contacts at a pose into rows_out, their wrench into `forces`; how many, and validity."""
    count, valid = identify(finder, pose, rows_out)
    contact_wrench(forces, pose, rows_out, count, time)
    return count, valid


def reach_of(boundary: Boundary) -> float:
    """Radius of the smallest ball about the origin that holds all elements [m]."""
    e = boundary.elements
    reach = 0.0
    for kind, frame, size in zip(e.kind, e.frame, e.size, strict=True):
        r, a, b = float(size[0]), float(size[1]), float(size[2])
        far = float(np.linalg.norm(frame[:, 3]))
        if kind == SEGMENT:
            ends = frame[:, 3] + r * np.outer((-1.0, 1.0), frame[:, 2])
            far = float(np.linalg.norm(ends, axis=1).max())
        elif kind == CIRCLE:
            far = _of_circles(frame, r, (0.0,))
        elif kind == SPHERE:
            far += r
        elif kind == CYLINDER:
            far = _of_circles(frame, r, (-a, a))
        elif kind == CONE:
            far = max(_of_circles(frame, abs(r * z), (z,)) for z in (a, b))
        elif kind == TORUS:
            far += r + a
        elif kind == PARABOLOID:
            far = max(_of_circles(frame, z, (z * z / (4.0 * r),)) for z in (a, b))
        elif kind == PLANE and b == 1.0:
            far = _of_circles(frame, r, (0.0,))
        reach = max(reach, far)
    return reach


def _of_circles(frame: Array, radius: float, heights: Sequence[float]) -> float:
    """Greatest distance from the origin of circles about the z axis of a frame [m]."""
    farthest = 0.0
    for z in heights:
        centre = frame[:, 3] + z * frame[:, 2]
        along = float(centre @ frame[:, 2])
        across = float(np.linalg.norm(centre - along * frame[:, 2]))
        farthest = max(farthest, float(np.hypot(along, across + radius)))
    return farthest
