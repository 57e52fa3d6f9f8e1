"""The end of an implicit step: what its elements remember, and what islands keep of their losses.

Reserve. Surfaces that yielded are deeper in each other than their springs would have them, and to
come out they have to lift what they carry. That is paid by what was lost: of its losses an island
keeps what lifts the load F of each contact by the depth δ that it is too deep, ten times over,

    P ← min(Σ max(0, r − E') + ½ |Δv|² M + Q,  Σ w),    w = 10 F δ + max(0, −r)
    R ← min(r, E') + P w / Σ w,                              r = E + R − dt f·u − E'

with E, E' what the springs of a contact hold before and after, ½ |Δv|² M what the step takes from
the bodies and Q what friction does. A contact keeps as much again as its springs hold: k is
shared over the area there is, so a patch that shrinks takes more than the forces put in. One that
gave more than it had, r < 0, owes it. R counts as energy of the scene and `gather` lets it be used
up slowly; so nothing is made, it is only lost later.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.elements.columns import (
    EI_EDGE,
    Element,
    element,
)
from tangere.elements.contact_law import FORGET
from tangere.elements.element import given_back, keep, remember, tie
from tangere.elements.step_context import StepContext
from tangere.implicit.energy_books import step_loss
from tangere.implicit.islands import edge_island
from tangere.model import (
    LEDGER_FRICTION,
    LEDGER_NORMAL,
    LEDGER_STEP,
    NF,
    NI,
    PF_AREA,
    PF_DEPTH,
    PF_FORCE,
    PF_HELD,
    PF_LAG,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_TORQUE,
    PF_VOLUME,
    PI_LAST,
    PI_MISSED,
)
from tangere.solver import LOSS_FRICTION, LOSS_KEPT, LOSS_STEP, LOSS_WANTED, NL


@kernel
def finish(e: StepContext) -> None:
    """Wrenches of the solution, and what every element remembers."""
    v = e.w.solver
    t = v.elements
    for k in range(NL * v.graph.known[1]):
        v.losses[k] = 0.0
    for k in range(t.used[0]):
        c = element(t, k)
        friction, kept, wanted = remember(e, c)
        if c.ints[EI_EDGE] >= 0:
            losses = _island_losses(e, c)
            losses[LOSS_FRICTION] += friction
            losses[LOSS_KEPT] += kept
            losses[LOSS_WANTED] += wanted
    _find_losses(e)
    _fill_reserves(e)


@kernel
def _island_losses(e: StepContext, c: Element) -> PtrF8:
    """What the island of an element lost, see `LOSS_…`."""
    v = e.w.solver
    return off(v.losses, NL * edge_island(v.graph, c.ints[EI_EDGE]))


@kernel
def _find_losses(e: StepContext) -> None:
    """What the step took from each island that wants it, ½ |Δv|² M."""
    v = e.w.solver
    wanted = False
    for island in range(v.graph.known[1]):
        wanted = wanted or _wants(off(v.losses, NL * island))
    if not wanted:
        return
    for i in range(e.z.bodies):
        if v.graph.island[i] >= 0:
            losses = off(v.losses, NL * v.graph.island[i])
            if _wants(losses):
                losses[LOSS_STEP] += step_loss(e, i)
    for k in range(v.elements.used[0]):
        c = element(v.elements, k)
        if c.ints[EI_EDGE] >= 0:
            _island_losses(e, c)[LOSS_STEP] -= given_back(e, c)


@kernel
def _wants(losses: PtrF8) -> bool:
    """Whether the contacts of an island have less in reserve than they want."""
    return bool(losses[LOSS_WANTED] > losses[LOSS_KEPT])


@kernel
def _fill_reserves(e: StepContext) -> None:
    """Let each island keep what it wants of its losses, and share it; the books are put right."""
    v, wanted = e.w.solver, False
    for island in range(v.graph.known[1]):
        losses = off(v.losses, NL * island)
        wanted = wanted or losses[LOSS_WANTED] > 0.0
        step, friction = max(0.0, losses[LOSS_STEP]), losses[LOSS_FRICTION]
        if _wants(losses) and step + friction > 0.0:
            share = min(1.0, (losses[LOSS_WANTED] - losses[LOSS_KEPT]) / (step + friction))
            losses[LOSS_KEPT] += share * (step + friction)
            e.s.ledger[LEDGER_STEP] -= share * step
            e.s.ledger[LEDGER_FRICTION] -= share * friction
            e.s.ledger[LEDGER_NORMAL] += share * (step + friction)
    for k in range(v.elements.used[0] if wanted else 0):
        c = element(v.elements, k)
        if c.ints[EI_EDGE] >= 0:
            losses = _island_losses(e, c)
            if losses[LOSS_WANTED] > 0.0:
                keep(e, c, min(1.0, losses[LOSS_KEPT] / losses[LOSS_WANTED]))


@kernel
def settle(e: StepContext) -> None:
    """After the bodies moved: tie the friction springs to them, forget contacts that ended."""
    t, pairs = e.w.solver.elements, e.w.pairs
    for k in range(t.used[0]):
        tie(e, element(t, k))
    for at in range(pairs.used[0]):
        if pairs.live[at] == 0:
            continue
        ints, row = off(pairs.ints, NI * pairs.slot[at]), off(pairs.floats, NF * pairs.slot[at])
        seen = ints[PI_LAST] == e.stamp
        if seen and row[PF_PRESS] > 0.0:
            continue
        ints[PI_MISSED] = min(ints[PI_MISSED] + 1, FORGET)
        row[PF_AREA], row[PF_VOLUME], row[PF_DEPTH] = 0.0, 0.0, 0.0
        row[PF_PRESS], row[PF_LAG], row[PF_STORED] = 0.0, 0.0, 0.0
        if not seen:  # they no longer overlap; a debt remains
            row[PF_RESERVE] = min(0.0, row[PF_RESERVE])
        for q in range(3):
            row[PF_FORCE + q], row[PF_TORQUE + q] = 0.0, 0.0
        if ints[PI_MISSED] >= FORGET:
            row[PF_HELD] = 0.0
            if row[PF_RESERVE] == 0.0:
                pairs.live[at] = 0
