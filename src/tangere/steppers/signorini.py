"""The signorini step: free motion, gaps, Delassus operator, contact problem, correction.

Stages of a step, n times per call ([DURIEZ2006]): see `steppers.unilateral`. Contacts are points
of rigid parts and features of soft surfaces that are near; they yield nothing themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.contact.signorini.options import Signorini, solver_options
from tangere.contact.signorini.soft_contacts import find_soft_contacts
from tangere.contact.unilateral.detect import find_contacts
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import (
    SP_BODY_A,
    SP_BODY_B,
    SP_FIRST,
    SP_LAST,
    ContactWork,
)
from tangere.elements.contact_law import Law, law_between
from tangere.errors import SceneError
from tangere.fem.surface_stress import surface_stress
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.model import OK, Hulls, Model, Sizes, State, Work
from tangere.steppers.profile import start_clock
from tangere.steppers.stepper import Stepper
from tangere.steppers.unilateral import UnilateralStepper, begin_step, end_step

if TYPE_CHECKING:
    from tangere.fem.compliance import CondensedBody
    from tangere.scene.compile import Compiled


@kernel
def run(
    z: Sizes,
    model: Model,
    hulls: Hulls,
    state: State,
    work: Work,
    problem: ContactWork,
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
        status = begin_step(z, m, h, s, w, p, dt)
        if status == OK:
            status = find_contacts(z, m, h, s, w, p.contacts, dt, first + done, room)
        if status == OK and p.soft.model.counts[0] > 0:
            status = find_soft_contacts(z, m, h, s, w, p, dt, first + done, room, options)
        if status == OK:
            status = end_step(z, m, s, w, p, rooms, dt, options)
        if status != OK:
            return done, status
    return steps, OK


class SignoriniStepper(UnilateralStepper):
    """Free motion, contact problem, correction."""

    name = "signorini"

    def __init__(self, arrays: Compiled, options: Signorini, dt: float) -> None:
        super().__init__(arrays, options, solver_options(options), dt)

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps until something is full; how many were made, and a status."""
        c = self.arrays
        scene = (c.sizes, c.model, c.hulls, c.state, c.work)
        return run(*scene, self.problem, self.dt, steps, self.made, self.solver)

    def surface(self, body: int) -> Array:
        """Where the surface vertices of a soft body are, (n, 3) [m]."""
        c = self.arrays
        u, each = self._surface_displacements(body)
        local = (each.surface_positions - c.centre[body]) @ rotation_of(c.principal[body]) + u
        turned = c.state.rotation[body].reshape(3, 3)
        placed: Array = c.state.position[body] + local @ turned.T
        return placed

    def stress(self, body: int) -> Array:
        """Equivalent stress at the surface vertices of a soft body, (n,) [Pa]."""
        c = self.arrays
        u, each = self._surface_displacements(body)
        elastic = c.bodies[body].elastic
        assert elastic is not None
        rest = (each.surface_positions - c.centre[body]) @ rotation_of(c.principal[body])
        return surface_stress(rest, each.surface_triangles, u, elastic.young, elastic.poisson)

    def deform_as(self, other: Stepper) -> None:
        """Take over the shapes of the soft bodies of another step of the same scene."""
        if not isinstance(other, SignoriniStepper):
            return
        mine, theirs = self.problem.soft, other.problem.soft
        if not np.array_equal(mine.model.first_node, theirs.model.first_node):
            raise SceneError("deform_as: the soft bodies of the two have different contact nodes")
        nodes = int(mine.model.first_node[-1])
        for field in ("displacement", "static", "load"):
            getattr(mine.state, field)[:nodes] = getattr(theirs.state, field)[:nodes]
        mine.state.amplitude[:] = theirs.state.amplitude
        mine.state.rate[:] = theirs.state.rate

    def _surface_displacements(self, body: int) -> tuple[Array, CondensedBody]:
        """Displacements of all surface vertices in the frame's axes [m], and what body it is."""
        soft, c = self.problem.soft, self.arrays
        k = int(soft.model.soft[body])
        if k < 0:
            raise SceneError(f"{c.bodies[body].name!r} is rigid: it has no surface that deforms")
        each, state = self.condensed[k], soft.state
        nodes = slice(soft.model.first_node[k], soft.model.first_node[k + 1])
        if each.surface_index is not None:
            return np.array(state.displacement[nodes][each.surface_index]), each
        axes = rotation_of(c.principal[body])
        down = c.state.rotation[body].reshape(3, 3).T @ c.model.gravity
        modes = slice(soft.model.first_mode[k], soft.model.first_mode[k + 1])
        # in the axes of the mesh, where the maps to the surface are known
        sag = each.frequencies**-2.0 * (each.modal_gravity @ (axes @ down))
        u = each.surface_displacements(
            state.load[nodes] @ axes.T, state.amplitude[modes] + sag, axes @ down
        )
        return u @ axes, each

    def contact_law(self, i: int, j: int) -> Law:
        """Friction and restitution; contacts are rigid."""
        law = law_between(self.arrays.model, i, j, self.dt, True, False)
        return law._replace(k=np.inf, b=0.0, k_t=np.inf, b_t=0.0)

    def forget_contacts(self, body: int) -> None:
        """A body put elsewhere by hand starts its contacts anew."""
        super().forget_contacts(body)
        soft = self.problem.soft.pairs.rows
        touched = (soft[:, SP_BODY_A] == body) | (soft[:, SP_BODY_B] == body)
        soft[touched, SP_FIRST : SP_LAST + 1] = 0
