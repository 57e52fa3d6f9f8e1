"""The penalty step: meshes and convex bodies on springs, with Coulomb's law exactly.

Stages of a step, n times per call: see `steppers.unilateral`. Contacts of meshes come from distance
fields (`contact.penalty.mesh_contacts`); all contacts yield, as their law says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.collision.contact_query import NPOSE, NTALLY, POSE_QUATERNION, Placed
from tangere.collision.field_sides import NTURN
from tangere.contact.penalty.engines import MAX_CONTACTS, gather
from tangere.contact.penalty.mesh_contacts import Meshes, find_mesh_contacts, new_meshes
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.rolling import resist_rolling
from tangere.contact.penalty.tool_contact import inverse_frame
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import ContactWork
from tangere.elements.contact_law import Law, law_between
from tangere.errors import SceneError
from tangere.geometry.shapes import Box
from tangere.model import OK, Hulls, Model, Sizes, State, Work
from tangere.steppers.profile import start_clock
from tangere.steppers.unilateral import UnilateralStepper, begin_step, end_step

if TYPE_CHECKING:
    from tangere.maths.vec import Array
    from tangere.scene.compile import Compiled
    from tangere.steppers.stepper import Stepper

# Of the contact problem, as a share of its forces; sweeps of a group and step at most.
TOLERANCE, MAX_SWEEPS = 1e-8, 1000


@kernel
def run(
    z: Sizes,
    model: Model,
    hulls: Hulls,
    state: State,
    work: Work,
    problem: ContactWork,
    meshes: Meshes,
    dt: float,
    steps: int,
    first: int,
    options: SolverOptions,
) -> tuple[int, int]:
    """Make `steps` whole steps; returns the number made and a status.

    A step that runs out of room is not made: the front grows the buffers and calls again.
    """
    m, h, s = pointers(model), pointers(hulls), pointers(state)
    w, p = pointers(work), pointers(problem)
    room = len(problem.contacts.ints)
    rooms = (len(problem.system.problem.mu), len(problem.system.problem.W))
    start_clock(w.times)
    for done in range(steps):
        resist_rolling(m, s, p.contacts, dt)
        status = begin_step(z, m, h, s, w, p, dt)
        if status == OK:
            status = find_mesh_contacts(
                z, m, h, s, w, p.bodies, p.contacts, meshes, dt, first + done, room, options
            )
        if status == OK:
            status = end_step(z, m, s, w, p, rooms, dt, options)
        if status != OK:
            return done, status
    return steps, OK


class PenaltyStepper(UnilateralStepper):
    """Meshes and convex bodies on springs."""

    name = "penalty"

    def __init__(self, arrays: Compiled, options: Penalty, dt: float) -> None:
        solver = SolverOptions(
            TOLERANCE, MAX_SWEEPS, MAX_SWEEPS, options.recovery_speed, options.contacts
        )
        super().__init__(arrays, options, solver, dt)
        self.meshes = _meshes(arrays, options)

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps until something is full; how many were made, and a status."""
        c = self.arrays
        scene = (c.sizes, c.model, c.hulls, c.state, c.work)
        return run(*scene, self.problem, self.meshes, self.dt, steps, self.made, self.solver)

    def contact_law(self, i: int, j: int) -> Law:
        """Stiffness and damping of the contact of two bodies, friction and restitution."""
        law = law_between(self.arrays.model, i, j, self.dt, True, False)
        return law._replace(k_t=np.inf, b_t=0.0)

    def surface(self, body: int) -> Array:
        """None: all bodies are rigid."""
        raise SceneError(
            f"{self.arrays.bodies[body].name!r} is rigid: it has no surface that moves"
        )

    def stress(self, body: int) -> Array:
        """None: all bodies are rigid."""
        raise SceneError(f"{self.arrays.bodies[body].name!r} is rigid: it has no stress")

    def deform_as(self, other: Stepper) -> None:
        """Nothing: all bodies are rigid."""


def _meshes(arrays: Compiled, options: Penalty) -> Meshes:
    """Fields and points of all bodies that may meet a mesh."""
    n, starts = len(arrays.bodies), arrays.model.part_start
    touches = [starts[i + 1] > starts[i] and any(arrays.whole) for i in range(n)]
    known = [body.shape if has else None for body, has in zip(arrays.bodies, touches, strict=True)]
    # a scene without meshes never asks
    names = [f"body {body.name!r}" for body in arrays.bodies]
    solids, number_of = gather(
        [shape or Box((1.0, 1.0, 1.0)) for shape in known] if any(touches) else [Box((1.0,) * 3)],
        options if any(touches) else Penalty(spacing=0.1, samples=16),
        names,
        each_point=True,
    )
    counts = np.diff(solids.starts[:, 0], append=len(solids.points))
    frames = [inverse_frame((arrays.centre[i], arrays.principal[i])) for i in range(n)]
    placed = Placed(
        number_of if any(touches) else np.zeros(n, np.int64),
        np.array(frames),
        np.zeros((n, NPOSE)),
        np.zeros((n + 1, 12)),
        np.array(arrays.model.floor_plane),
        np.zeros((1, 2)),
        np.full((int(counts.max()), NTURN), -1.0),
        np.zeros((1, 2), np.int64),
    )
    placed.poses[:, POSE_QUATERNION] = 1.0
    placed.turns[-1, :9] = np.eye(3).ravel()
    whole = np.array([*arrays.whole, *[False] * arrays.sizes.floors], np.int32)
    return new_meshes(solids, placed, whole, MAX_CONTACTS, NTALLY)
