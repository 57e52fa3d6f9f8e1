"""Which parts will meet by the end of the step, and where: the first half of finding contacts.

Geometry is taken at the pose reached with a guess of the end-of-step twists. Parts that overlap
there, or miss each other by less than a margin, are contacts: where, how deep, and how far they
have to be moved together until they overlap by the margin, is kept in the row of the pair.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.collision.broad import BITS, near
from tangere.collision.curved import (
    FACETS,
    meet_solids,
)
from tangere.collision.narrow import GAP, contact_normal, highest, lowest, world_view
from tangere.collision.solids import (
    is_curved,
    solid_of,
    support,
    top,
)
from tangere.elements.step_context import StepContext
from tangere.maths.vec import Vec3, axpy, dot, scale
from tangere.model import (
    FOUND,
    LIVE,
    NF,
    NI,
    PF_MEET,
    PF_NORMAL,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_PART_A,
    PI_PART_B,
    PI_PHASE,
    PI_SIMPLEX,
)

# Patches of curved parts are laid out at least so deep, a share of their size, and the difference
# is subtracted: hardly at all, not by the margin, as their shape depends on depth. The patch of a
# part that just touches would be shaped by rounding.
NOMINAL = 1e-9


@kernel
def meet(e: StepContext, k: int) -> None:
    """Find out whether the parts of pair k in the list meet; `Pairs.live` tells."""
    pairs = e.w.pairs
    if near(e.z, e.m, e.w.world, pairs.key[k]):
        slot = pairs.slot[k]
        ints, floats = off(pairs.ints, NI * slot), off(pairs.floats, NF * slot)
        if pairs.key[k] >> (2 * BITS) >= e.z.bodies:
            found = _floor(e, ints, floats)
        else:
            found = _parts(e, ints, floats)
        pairs.live[k] = FOUND if found else LIVE
    elif pairs.live[k] == FOUND:
        pairs.live[k] = LIVE


@kernel
def _parts(e: StepContext, ints: PtrI4, floats: PtrF8) -> bool:
    """Whether two convex parts meet."""
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    if is_curved(e.m, e.h, p) or is_curved(e.m, e.h, q):
        return _curved(e, ints, floats)
    a = world_view(e.m, e.h, e.e, e.w.world, p, e.stamp)
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    size = min(e.h.size[e.m.part_hull[p]], e.h.size[e.m.part_hull[q]])
    simplex = off(ints, PI_SIMPLEX)
    normal = off(floats, PF_NORMAL)
    was = ints[PI_PHASE]
    touching, point, depth = contact_normal(
        a, b, max(GAP * size, 2.0 * e.margin), was, normal, simplex
    )
    if touching:
        ints[PI_PHASE] = PHASE_TOUCH
        return _keep(floats, point, depth, 0.0)
    ints[PI_PHASE] = PHASE_APART
    if was == PHASE_TOUCH:
        simplex[0] = 0
    n = (normal[0], normal[1], normal[2])
    gap = -highest(b, scale(-1.0, n)) - highest(a, n)
    if gap > e.margin:
        return False
    top = highest(a, n) - 0.5 * e.margin
    x = off(a.verts, 0)
    lift = top - (n[0] * x[0] + n[1] * x[1] + n[2] * x[2])
    point = (x[0] + lift * n[0], x[1] + lift * n[1], x[2] + lift * n[2])
    return _keep(floats, point, -gap, gap + e.margin)


@kernel
def _curved(e: StepContext, ints: PtrI4, floats: PtrF8) -> bool:
    """Whether two parts meet of which one is curved."""
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    a = solid_of(e.m, e.h, e.e, e.w.world, p, e.stamp)
    b = solid_of(e.m, e.h, e.e, e.w.world, q, e.stamp)
    size = min(e.h.size[e.m.part_hull[p]], e.h.size[e.m.part_hull[q]])
    normal, simplex = off(floats, PF_NORMAL), off(ints, PI_SIMPLEX)
    found = meet_solids(a, b, size, e.margin, ints[PI_PHASE], normal, simplex)
    touching = found.near and found.depth > 0.0
    ints[PI_PHASE] = PHASE_TOUCH if touching else PHASE_APART
    if not found.near:
        return False
    moved = max(0.0, NOMINAL * size - found.depth)
    if found.face == FACETS:
        moved = 0.0 if found.depth > 0.0 else e.margin - found.depth
    floats[PF_MEET + 5] = found.face
    return _keep(floats, found.point, found.depth, moved)


@kernel
def _floor(e: StepContext, ints: PtrI4, floats: PtrF8) -> bool:
    """Whether a part meets a half-space."""
    plane = off(e.m.floor_plane, 4 * (ints[PI_BODY_A] - e.z.bodies))
    for k in range(3):
        floats[PF_NORMAL + k] = plane[k]
    q = ints[PI_PART_B]
    if is_curved(e.m, e.h, q):
        return _curved_floor(e, ints, floats, plane)
    b = world_view(e.m, e.h, e.e, e.w.world, q, e.stamp)
    under, depth = lowest(b, plane)
    ints[PI_PHASE] = PHASE_TOUCH if depth > 0.0 else PHASE_APART
    if depth < -e.margin:
        return False
    moved = 0.0 if depth > 0.0 else e.margin - depth
    x, lift = off(b.verts, 3 * under), depth + moved
    point = (x[0] + lift * plane[0], x[1] + lift * plane[1], x[2] + lift * plane[2])
    return _keep(floats, point, depth, moved)


@kernel
def _curved_floor(e: StepContext, ints: PtrI4, floats: PtrF8, plane: PtrF8) -> bool:
    """Whether a curved part meets a half-space."""
    q, n = ints[PI_PART_B], (plane[0], plane[1], plane[2])
    b = solid_of(e.m, e.h, e.e, e.w.world, q, e.stamp)
    down = scale(-1.0, n)
    depth = plane[3] + top(b, down)
    ints[PI_PHASE] = PHASE_TOUCH if depth > 0.0 else PHASE_APART
    if depth < -e.margin:
        return False
    moved = max(0.0, NOMINAL * e.h.size[e.m.part_hull[q]] - depth)
    low = support(b, down)
    point = axpy(plane[3] + moved - dot(n, low), n, low)
    floats[PF_MEET + 5] = 1.0
    return _keep(floats, point, depth, moved)


@kernel
def _keep(floats: PtrF8, point: Vec3, depth: float, moved: float) -> bool:
    """Keep the deepest point, the depth and the way moved together; true."""
    row = off(floats, PF_MEET)
    row[0], row[1], row[2] = point
    row[3], row[4] = depth, moved
    return True
