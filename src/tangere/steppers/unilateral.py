"""What the signorini and the penalty step share: a problem for all contacts of a group at once.

Bodies move without contacts; contacts are found at the start of the step (each stepper has its own
way); W and the free gaps are assembled group by group; the forces that satisfy Signorini's and
Coulomb's laws at the end of the step are solved for; bodies are corrected by them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import off, pointers
from tangere.bodies.rigid import add_force, move_bodies
from tangere.bodies.soft import add_up, coast, deform, elastic_energy
from tangere.collision.broad import forget_boxes, update_boxes, update_pairs
from tangere.collision.feature_pairs import FULL
from tangere.contact.unilateral.books import close_books, enter_losses
from tangere.contact.unilateral.contact_rows import SLOW, keep_contacts, vec
from tangere.contact.unilateral.delassus import (
    assemble,
    find_groups,
    load_nodes,
    needs_dense,
    own_compliance,
    set_rebounds,
    set_up_jacobians,
)
from tangere.contact.unilateral.detect import REACH
from tangere.contact.unilateral.free_motion import free_motion, pull_springs
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import (
    CF_AREA,
    CF_FORCE,
    CF_GAP,
    CF_MOTION,
    CF_N,
    CF_POINT,
    CF_SPRING,
    CF_STIFFNESS,
    CF_STRETCH,
    CF_T1,
    CF_T2,
    CI_A,
    CI_B,
    CI_STATE,
    MOST_DENSE,
    NCF,
    NCI,
    OPEN,
    SLIP,
    STICK,
    Contacts,
    ContactWork,
    SoftWork,
    new_bodies,
    new_contacts,
    new_system,
)
from tangere.friction.anytime import solve_contacts
from tangere.haptics.problem_packets import make_problem
from tangere.maths.vec import Array, axpy, norm, scale
from tangere.model import (
    LEDGER_ERROR,
    LEDGER_FRICTION,
    LEDGER_NORMAL,
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_WORK,
    NOT_FINITE,
    OK,
    PHASE_NEW,
    PI_BODY_A,
    PI_BODY_B,
    PI_FIRST,
    PI_LAST,
    PI_PHASE,
    PI_SIMPLEX,
    SOLVER_FULL,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)
from tangere.scene.compile import Compiled
from tangere.steppers.profile import lap
from tangere.steppers.rigid import RigidStepper
from tangere.steppers.soft_scene import feature_scratch, soft_work
from tangere.steppers.stepper import CONTACT_COLUMNS, Audit, Energy

# Stages of a step, as `Profile` names them.
FREE, PAIRS, DETECT, DELASSUS, SOLVE, CORRECT, BOOKS = 0, 1, 2, 3, 4, 5, 6
STAGES = (
    "free motion",
    "find pairs",
    "detect gaps",
    "Delassus operator",
    "solve",
    "correct bodies",
    "energy books",
)
# Entries of Problem.report: of the last step
REPORT_RESIDUAL, REPORT_SWEEPS, REPORT_NEWTON, REPORT_UNSOLVED = 0, 1, 2, 3
NREPORT = 4
# Groups of more contacts than the room for their operator make it grow.
FIRST_ROOM = 32


@kernel
def begin_step(z: Sizes, m: Model, h: Hulls, s: State, w: Work, p: ContactWork, dt: float) -> int:
    """Free motion, and the pairs that may touch; OK or what is full."""
    free_motion(z, m, s, p.bodies, dt)
    coast(p.soft.model, p.soft.state, dt)
    lap(w.times, FREE)
    margin = REACH + dt * dt * norm(vec(m.gravity, 0))
    left = update_boxes(z, m, h, s, dt, margin, w.world, w.tree.left)
    if left > 0:
        status = update_pairs(z, m, h, s, dt, w, left)
        if status != OK:
            forget_boxes(z, w)
            return status
    lap(w.times, PAIRS)
    return OK


@kernel
def end_step(
    z: Sizes,
    m: Model,
    s: State,
    w: Work,
    p: ContactWork,
    rooms: tuple[int, int],
    dt: float,
    options: SolverOptions,
) -> int:
    """Solve for the contacts that were found and move the bodies; OK, or why nothing was moved.

    rooms: contacts of a group that there is room for, and entries of W.
    """
    y, c, e, es = p.bodies, p.contacts, p.soft.model, p.soft.state
    wide, entries = rooms
    lap(w.times, DETECT)
    set_up_jacobians(s, y, e, c)
    set_rebounds(m, s, y, c, dt)
    find_groups(z, m, e, c)
    for k in range(NREPORT):
        p.report[k] = 0.0
    for group in range(c.used[2]):
        count = c.group_start[group + 1] - c.group_start[group]
        if count > wide or (9 * count * count > entries and needs_dense(c, e, group)):
            return SOLVER_FULL
    for group in range(c.used[2]):
        count = assemble(c, y, e, es, p.system, group, dt, options)
        lap(w.times, DELASSUS)
        _solve_group(p, group, count, dt, options)
        lap(w.times, SOLVE)
    _apply_forces(s, c)
    pull_springs(z, m, s, y, dt)
    expected = enter_losses(z, m, s, p, dt)
    if not move_bodies(z, m, s, dt):
        return NOT_FINITE
    if e.counts[0] > 0:
        load_nodes(e, es, c)
        deform(e, es, dt)
        add_up(e, es, m, s, dt)
    s.time[0] += dt
    keep_contacts(c, w.pairs, p.soft.pairs)
    lap(w.times, CORRECT)
    close_books(z, m, s, p, expected)
    lap(w.times, BOOKS)
    return OK


@kernel
def _solve_group(p: ContactWork, group: int, count: int, dt: float, options: SolverOptions) -> None:
    """Forces of a group's contacts, and how they end."""
    c, v = p.contacts, p.system
    first = c.group_start[group]
    residual, sweeps, steps = solve_contacts(
        v.problem,
        count,
        v.f,
        v.scratch,
        options.tolerance,
        options.max_sweeps,
        options.max_newton > 0,
        0,
    )
    p.report[REPORT_RESIDUAL] = max(p.report[REPORT_RESIDUAL], residual)
    p.report[REPORT_SWEEPS] += sweeps
    p.report[REPORT_NEWTON] += steps
    if not residual <= options.tolerance:
        p.report[REPORT_UNSOLVED] += 1.0
    for q in range(count):
        k = c.order[first + q]
        row = off(c.floats, NCF * k)
        f, u = off(v.f, 3 * q), off(v.scratch.u, 3 * q)
        # u is counted from where the gap may end, with what the contact yields; that of the bodies'
        # motion is wanted
        u[0] += row[CF_MOTION] - v.problem.q[3 * q] - own_compliance(row) * f[0]
        for x in range(3):
            row[CF_FORCE + x], row[CF_MOTION + x] = f[x], u[x]
        # on the edge of its cone a contact may as well stick: it slips if it moves
        slips = norm((u[1], u[2], 0.0)) > dt * SLOW
        c.ints[NCI * k + CI_STATE] = OPEN if not f[0] > 0.0 else SLIP if slips else STICK
        if row[CF_STIFFNESS] > 0.0:
            before = row[CF_STRETCH] if row[CF_SPRING] >= 0.0 else -row[CF_GAP]
            row[CF_STRETCH] = max(0.0, before - u[0])


@kernel
def _apply_forces(s: State, c: Contacts) -> None:
    """Add the contacts' forces to b and their opposites to a, at the same point."""
    for k in range(c.used[0]):
        row = off(c.floats, NCF * k)
        if not row[CF_FORCE] > 0.0:
            continue
        f = axpy(row[CF_FORCE + 1], vec(row, CF_T1), scale(row[CF_FORCE], vec(row, CF_N)))
        f = axpy(row[CF_FORCE + 2], vec(row, CF_T2), f)
        point = vec(row, CF_POINT)
        add_force(s, c.ints[NCI * k + CI_B], point, f, s.wrench)
        add_force(s, c.ints[NCI * k + CI_A], point, scale(-1.0, f), s.wrench)


@kernel
def settle_soft_bodies(problem: ContactWork, model: Model, state: State) -> None:
    """Let clamped bodies begin as gravity has them."""
    p = pointers(problem)
    add_up(p.soft.model, p.soft.state, pointers(model), pointers(state), 1.0)
    for k in range(p.soft.model.counts[0]):
        p.soft.state.speed[k] = 0.0


@kernel
def soft_energy(soft: SoftWork) -> tuple[float, float]:
    """Kinetic energy of vibrations and strain energy [J]."""
    p = pointers(soft)
    return elastic_energy(p.model, p.state)


class UnilateralStepper(RigidStepper):
    """Free motion, contact problem, correction; how contacts are found is up to each `advance`."""

    stages = STAGES

    def __init__(self, arrays: Compiled, options: Any, solver: SolverOptions, dt: float) -> None:
        super().__init__(arrays, options, dt)
        self.solver = solver
        self.threads = 1
        count = arrays.sizes.bodies + arrays.sizes.floors
        soft, self.condensed = soft_work(arrays, dt)
        self.problem = ContactWork(
            new_bodies(count),
            new_contacts(count, 4 * FIRST_ROOM, int(soft.model.counts[1])),
            new_system(FIRST_ROOM, FIRST_ROOM, count),
            soft,
            np.zeros(NREPORT),
            np.zeros(1),
        )
        settle_soft_bodies(self.problem, arrays.model, arrays.state)

    def grow(self, status: int) -> None:
        """Double the room that ran out; contacts keep their memory."""
        if status != SOLVER_FULL:
            super().grow(status)
            return
        soft = self.problem.soft
        if soft.features.filled[FULL]:
            self.problem = self.problem._replace(
                soft=soft._replace(**feature_scratch(2 * len(soft.chosen)))
            )
            return
        old = self.problem.contacts
        room = 2 * len(old.ints)
        contacts = new_contacts(len(old.parent), room, int(old.used[3]))
        for field in contacts._fields:
            array = getattr(old, field)
            getattr(contacts, field)[: len(array)] = array
        groups = np.diff(old.group_start[: int(old.used[2]) + 1])
        widest = max(len(self.problem.system.problem.mu), int(groups.max(initial=0)) * 3 // 2)
        dense = widest if len(self.condensed) else min(widest, MOST_DENSE)
        self.problem = self.problem._replace(
            contacts=contacts, system=new_system(widest, dense, len(old.parent))
        )

    # ------------------------------------------------------------------ what came out

    def contacts(self) -> NDArray[np.void]:
        """The contacts that pressed in the last step, rows of `CONTACT_COLUMNS`."""
        c = self.problem.contacts
        count = int(c.used[1])
        ints, floats = c.last_ints[:count], c.last_floats[:count]
        chosen = floats[:, CF_FORCE] > 0.0
        ints, floats = ints[chosen], floats[chosen]
        table = np.zeros(len(ints), CONTACT_COLUMNS)
        n = self.arrays.sizes.bodies
        for column, source in (("body_a", CI_A), ("body_b", CI_B)):
            index = ints[:, source]
            table[column] = np.where(index < n, index, n - 1 - index)
        frames = floats[:, CF_N : CF_N + 9].reshape(-1, 3, 3)
        table["point"] = floats[:, CF_POINT : CF_POINT + 3]
        table["normal"] = floats[:, CF_N : CF_N + 3]
        table["force"] = np.einsum("cx,cxi->ci", floats[:, CF_FORCE : CF_FORCE + 3], frames)
        overlap = np.maximum(0.0, -floats[:, CF_GAP] - floats[:, CF_MOTION])
        yields = floats[:, CF_STIFFNESS] > 0.0
        table["depth"] = np.where(yields, floats[:, CF_STRETCH], overlap)
        table["area"] = floats[:, CF_AREA]
        table["sticking"] = ints[:, CI_STATE] == STICK
        # inside a soft body is always a; in the table a is a floor or has the lower index
        a, b = table["body_a"].copy(), table["body_b"].copy()
        turned = b < a
        table["body_a"], table["body_b"] = np.minimum(a, b), np.maximum(a, b)
        for column in ("normal", "force"):
            table[column][turned] *= -1.0
        return table

    def energy(self) -> Energy:
        """Energy now."""
        lost = float(self.arrays.state.ledger[:LEDGER_WORK].sum())
        rigid = self.energy_with(float(self.problem.held[0]), 0.0, 0.0, lost, 0.0)
        kinetic, strain = soft_energy(self.problem.soft)
        return rigid._replace(
            kinetic=rigid.kinetic + kinetic, elastic=strain, total=rigid.total + kinetic + strain
        )

    def audit(self) -> Audit:
        """Energy books and solver report of the last step."""
        book, report = self.arrays.state.ledger, self.problem.report
        return Audit(
            normal=float(book[LEDGER_NORMAL]),
            friction=float(book[LEDGER_FRICTION]),
            springs=float(book[LEDGER_SPRINGS]),
            step=float(book[LEDGER_STEP]),
            work=float(book[LEDGER_WORK]),
            error=float(book[LEDGER_ERROR]),
            residual=float(report[REPORT_RESIDUAL]),
            solves=int(report[REPORT_SWEEPS] + report[REPORT_NEWTON]),
            passes=1,
        )

    def fill_problem(self, body: int, time: float, number: int, problem: Array) -> None:
        """The contact problem of the last step, for a servo to solve again."""
        make_problem(self.problem, body, self.dt, time, number, problem)

    def forget_contacts(self, body: int) -> None:
        """A body put elsewhere by hand starts its contacts anew."""
        pairs = self.arrays.work.pairs
        ints, rows = pairs.ints, self.pair_rows()
        rows = rows[(ints[rows, PI_BODY_A] == body) | (ints[rows, PI_BODY_B] == body)]
        ints[rows, PI_PHASE] = PHASE_NEW
        ints[rows, PI_SIMPLEX] = 0
        ints[rows, PI_FIRST] = ints[rows, PI_LAST] = 0
