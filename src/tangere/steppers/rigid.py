"""Steppers of rigid bodies: arrays that grow, the table of contacts, energy.

`ExplicitStepper` and `ImplicitStepper` differ in the kernel that they call (`steppers.explicit`,
`steppers.implicit`) and in the books that they keep.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tangere.bodies.rigid import spring_energy
from tangere.contact.convex.options import ContactOptions
from tangere.elements.contact_law import Law, law_between
from tangere.errors import SceneError
from tangere.haptics.packets import hold_wrench, make_packet
from tangere.maths.vec import Array, IntArray
from tangere.model import (
    LEDGER_ERROR,
    LEDGER_FRICTION,
    LEDGER_NORMAL,
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_WORK,
    NOT_FINITE,
    NS,
    OK,
    PAIRS_FULL,
    PF_AREA,
    PF_CENTRE,
    PF_DEPTH,
    PF_FORCE,
    PF_HELD,
    PF_LAG,
    PF_NORMAL,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_TORQUE,
    PHASE_NEW,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    PI_PHASE,
    PI_SIMPLEX,
    SOLVER_FULL,
    STICK,
    new_pairs,
    new_soup,
    new_tree,
)
from tangere.solver import REPORT_PASSES, REPORT_RESIDUAL, REPORT_SOLVES, new_solver
from tangere.steppers.patches import Patch, patches_of_elements, patches_of_points
from tangere.steppers.profile import Profile, StageTimes
from tangere.steppers.stepper import CONTACT_COLUMNS, Audit, Energy, Stepper
from tangere.steppers.threads import Threads, thread_count

if TYPE_CHECKING:
    from tangere.scene.compile import Compiled

LONG_AGO = 1_000  # steps without pressure: a contact that remembers nothing


def rigid_stepper(
    arrays: Compiled, options: ContactOptions, name: str, dt: float
) -> ExplicitStepper | ImplicitStepper:
    """The stepper of that name."""
    kinds = {kind.name: kind for kind in (ExplicitStepper, ImplicitStepper)}
    return kinds[name](arrays, options, dt)


class RigidStepper:
    """What the steppers of rigid bodies share; each has an `advance` of its own."""

    name = ""
    stages: tuple[str, ...] = ()

    def __init__(self, arrays: Compiled, options: Any, dt: float) -> None:
        self.arrays = arrays
        self.options = options
        self.dt = dt
        self.made = 0
        self.threads = thread_count(arrays.sizes.parts)
        """That share the work of a step, this one included; the digits do not depend on them."""
        self._times = StageTimes(self.stages)
        self._team: Threads | None = None

    def run(self, steps: int) -> int:
        """Make so many whole steps; returns their number."""
        self._times.begin(self.arrays.work.times)
        left = steps
        while left > 0:
            done, status = self.advance(left)
            self._times.take(self.arrays.work.times, done)
            left -= done
            self.made += done
            if status == NOT_FINITE:
                time = float(self.arrays.state.time[0])
                raise FloatingPointError(
                    f"a force or speed grew beyond all bounds at t = {time:.6g} s: the step "
                    f"of {self.dt:g} s is too long for the stiffness and damping of the contacts"
                )
            if status != OK:
                self.grow(status)
        return steps

    def _helpers(self) -> Threads | None:
        """The threads that share a step; None if there are no others."""
        if self._team is None or self._team.size != self.threads:
            self._team = Threads(self.threads) if self.threads > 1 else None
        return self._team

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps until something is full; how many were made, and a status."""
        raise AssertionError(f"{type(self).__name__} makes no steps")

    def grow(self, status: int) -> None:
        """Double the room that ran out; contacts keep their memory."""
        work = self.arrays.work
        if status == PAIRS_FULL:
            had = len(work.pairs.key)
            pairs = new_pairs(2 * had)
            for field in pairs._fields:
                old = getattr(work.pairs, field)
                getattr(pairs, field)[: len(old)] = old
            free = int(work.pairs.used[1])  # the new slots lie on top of the old free ones
            pairs.free[free : free + had] = np.arange(2 * had - 1, had - 1, -1)
            pairs.used[1] = free + had
            work = work._replace(pairs=pairs, tree=new_tree(len(work.world.stamp), 2 * had))
        elif status == SOLVER_FULL:
            t, g = work.solver.elements, work.solver.graph
            work = work._replace(
                solver=new_solver(
                    len(g.parent),
                    len(work.solver.ahead.twist) - len(g.parent) - 1,
                    2 * len(t.list),
                    2 * len(t.corners),
                    2 * len(g.row),
                )
            )
        else:
            work = work._replace(
                soup=new_soup(2 * len(work.soup.owner)), sums=np.zeros((2 * len(work.sums), NS))
            )
        self.arrays = self.arrays._replace(work=work)

    # ------------------------------------------------------------------ what came out

    def contacts(self) -> NDArray[np.void]:
        """The contacts that pressed in the last step, rows of `CONTACT_COLUMNS`."""
        pairs, slots = self.arrays.work.pairs, self.pair_rows()
        slots = slots[pairs.floats[slots, PF_PRESS] > 0.0]
        ints, floats = pairs.ints[slots], pairs.floats[slots]
        table = np.zeros(len(ints), CONTACT_COLUMNS)
        n = self.arrays.sizes.bodies
        for column, source in (("body_a", PI_BODY_A), ("body_b", PI_BODY_B)):
            index = ints[:, source]
            table[column] = np.where(index < n, index, n - 1 - index)
        for column, source in (
            ("point", PF_CENTRE),
            ("normal", PF_NORMAL),
            ("force", PF_FORCE),
            ("torque", PF_TORQUE),
        ):
            table[column] = floats[:, source : source + 3]
        table["depth"] = floats[:, PF_DEPTH]
        table["area"] = floats[:, PF_AREA]
        table["sticking"] = ints[:, PI_MODE] == STICK
        return table

    def patches(self) -> list[Patch]:
        """Outlines of the points that press."""
        return patches_of_points(self.contacts())

    def pair_rows(self) -> IntArray:
        """Slots of all pairs in the list, in its order."""
        pairs = self.arrays.work.pairs
        return pairs.slot[: int(pairs.used[0])]

    def wrench_on(self, body: int) -> Array:
        """Force [N] and torque [N m] of all contacts at a body's centre, last step."""
        return np.array(self.arrays.state.wrench[body])

    def energy(self) -> Energy:
        """Energy now; contacts hold none that is known."""
        return self.energy_with(0.0, 0.0, 0.0, math.nan, 0.0)

    def energy_with(
        self, contact: float, friction: float, reserve: float, lost: float, dt: float
    ) -> Energy:
        """With what contacts hold, and dt as `spring_energy` wants it."""
        c = self.arrays
        free = np.flatnonzero(c.model.inv_mass > 0.0)
        m, v = c.model.mass[free], c.state.velocity[free]
        turning = 0.5 * np.sum(c.state.momentum[free] * c.state.omega[free])
        kinetic = float(0.5 * np.sum(m * np.sum(v * v, axis=1)) + turning)
        potential = float(-np.sum(m * (c.state.position[free] @ c.model.gravity)))
        springs = spring_energy(c.model, c.state, dt)
        total = kinetic + potential + springs + contact + friction + reserve
        return Energy(kinetic, potential, springs, contact, friction, reserve, total, lost)

    def audit(self) -> Audit:
        """None."""
        raise SceneError("only the implicit step keeps books: Simulation(integrator='implicit')")

    def profile(self) -> Profile:
        """Time per stage."""
        return self._times.profile()

    # ------------------------------------------------------------------ contacts of single bodies

    def contact_law(self, i: int, j: int) -> Law:
        """Parameters of a contact between two bodies, by their rows in the arrays."""
        implicit = self.name == ImplicitStepper.name
        return law_between(self.arrays.model, i, j, self.dt, implicit, self.options.single_point)

    def forget_contacts(self, body: int) -> None:
        """A body put elsewhere by hand starts its contacts anew."""
        pairs = self.arrays.work.pairs
        ints, floats, rows = pairs.ints, pairs.floats, self.pair_rows()
        rows = rows[(ints[rows, PI_BODY_A] == body) | (ints[rows, PI_BODY_B] == body)]
        ints[rows, PI_PHASE] = PHASE_NEW
        ints[rows, PI_MODE] = STICK
        ints[rows, PI_MISSED] = LONG_AGO
        ints[rows, PI_SIMPLEX] = 0
        pairs.live[:] = 1
        for column in (PF_PRESS, PF_LAG, PF_STORED, PF_RESERVE, PF_HELD):
            floats[rows, column] = 0.0

    def fill_packet(self, body: int, mass: float, time: float, number: int, packet: Array) -> None:
        """The wrench of all contacts, held until the next packet."""
        hold_wrench(self.arrays.state, mass, body, time, number, packet)

    def fill_problem(self, body: int, time: float, number: int, problem: Array) -> None:
        """None: contacts are springs."""
        raise SceneError(f"the {self.name} step has no contact problem: use method 'signorini'")

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


class ExplicitStepper(RigidStepper):
    """Semi-implicit Euler, the papers' step."""

    name = "explicit"

    def __init__(self, arrays: Compiled, options: ContactOptions, dt: float) -> None:
        from tangere.steppers import explicit

        self.stages = explicit.STAGES
        super().__init__(arrays, options, dt)
        if options.single_point:  # added up at once, not left in the pairs' rows to be shared
            self.threads = 1

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps until something is full; how many were made, and a status."""
        from tangere.steppers.explicit import WHOLE, run

        c = self.arrays
        team = self._helpers()
        if team is not None:
            return team.run_explicit(c, self.dt, steps, self.made, self.options)
        scene = (c.sizes, c.model, c.hulls, c.state, c.work)
        return run(*scene, self.dt, steps, self.made, self.options, WHOLE)


class ImplicitStepper(RigidStepper):
    """All contact forces solved for together, as of the end of the step."""

    name = "implicit"

    def __init__(self, arrays: Compiled, options: ContactOptions, dt: float) -> None:
        from tangere.steppers import implicit

        self.stages = implicit.STAGES
        super().__init__(arrays, options, dt)

    def advance(self, steps: int) -> tuple[int, int]:
        """Make steps until something is full; how many were made, and a status."""
        team = self._helpers()
        if team is None:
            return self._run(steps)
        with team.helpers(self.arrays, self.dt, self.options):
            return self._run(steps)

    def _run(self, steps: int) -> tuple[int, int]:
        from tangere.steppers.implicit import run

        c = self.arrays
        scene = (c.sizes, c.model, c.hulls, c.state, c.work)
        return run(*scene, self.dt, steps, self.made, self.options, 0)

    def energy(self) -> Energy:
        """Energy now."""
        rows = self.arrays.work.pairs.floats[self.pair_rows()]
        return self.energy_with(
            float(rows[:, PF_STORED].sum()),
            float(rows[:, PF_HELD].sum()),
            float(rows[:, PF_RESERVE].clip(min=0.0).sum()),
            float(self.arrays.state.ledger[:LEDGER_WORK].sum()),
            self.dt,
        )

    def patches(self) -> list[Patch]:
        """The polygons over which forces are integrated; of single points, their outlines."""
        if self.options.single_point:
            return super().patches()
        return patches_of_elements(self.arrays.work.solver.elements, self.arrays.sizes.bodies)

    def audit(self) -> Audit:
        """Energy books and solver report of the last step."""
        book, report = self.arrays.state.ledger, self.arrays.work.solver.report
        return Audit(
            normal=float(book[LEDGER_NORMAL]),
            friction=float(book[LEDGER_FRICTION]),
            springs=float(book[LEDGER_SPRINGS]),
            step=float(book[LEDGER_STEP]),
            work=float(book[LEDGER_WORK]),
            error=float(book[LEDGER_ERROR]),
            residual=float(report[REPORT_RESIDUAL]),
            solves=int(report[REPORT_SOLVES]),
            passes=int(report[REPORT_PASSES]),
        )

    def fill_packet(self, body: int, mass: float, time: float, number: int, packet: Array) -> None:
        """Planes of the contacts on a held body, their wrench and stiffness."""
        c = self.arrays
        make_packet(c.sizes, c.state, c.work.solver.elements, mass, body, time, number, packet)
