"""The point method: one spring at the deepest point of each pair, the baseline of [HASEGAWA2004].

The most penetrating point carries the whole force, as in point-based penalty methods of the time:
contact points appear and vanish as a block rocks, so faces cannot rest quietly on each other, and a
point has no friction torque.
"""

from __future__ import annotations

from math import inf

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.collision.broad import boxes_apart
from tangere.collision.curved import (
    meet_solids,
)
from tangere.collision.narrow import GAP, contact_normal, world_view
from tangere.collision.solids import (
    is_curved,
    solid_of,
    support,
    top,
)
from tangere.elements.contact_law import FORGET, apply_wrench, pair_law, single_point
from tangere.maths.vec import Vec3, axpy, dot, scale
from tangere.model import (
    NF,
    NI,
    OK,
    PF_AREA,
    PF_DEPTH,
    PF_FORCE,
    PF_NORMAL,
    PF_PRESS,
    PF_TORQUE,
    PHASE_APART,
    PHASE_TOUCH,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_PART_A,
    PI_PART_B,
    PI_PHASE,
    PI_SIMPLEX,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
)


@kernel
def respond(z: Sizes, m: Model, h: Hulls, s: State, w: Work, dt: float, step: int) -> int:
    """Add the contact wrenches of all pairs to `s.wrench`; returns OK."""
    for pair in range(w.pairs.used[0]):
        ints = off(w.pairs.ints, NI * w.pairs.slot[pair])
        floats = off(w.pairs.floats, NF * w.pairs.slot[pair])
        if ints[PI_BODY_A] >= z.bodies:
            depth, c = _deepest_on_floor(z, m, h, s, w, step, ints, floats)
        else:
            depth, c = _deepest(m, h, s, w, step, ints, floats)
        pressed = False
        if depth > 0.0:
            law = pair_law(m, ints[PI_BODY_A], ints[PI_BODY_B], dt, False, True)
            pressed = single_point(s, ints, floats, law, law.k * depth, c)
        if pressed:
            ints[PI_MISSED] = 0
            floats[PF_DEPTH] = depth
            apply_wrench(s, ints, floats)
        else:
            ints[PI_MISSED] = min(ints[PI_MISSED] + 1, FORGET)
            floats[PF_PRESS], floats[PF_DEPTH], floats[PF_AREA] = 0.0, 0.0, 0.0
            for k in range(3):
                floats[PF_FORCE + k] = 0.0
                floats[PF_TORQUE + k] = 0.0
    return OK


@kernel
def _deepest_on_floor(
    z: Sizes, m: Model, h: Hulls, s: State, w: Work, step: int, ints: PtrI4, floats: PtrF8
) -> tuple[float, Vec3]:
    """Depth of the lowest vertex below the floor and its place on the floor."""
    q = ints[PI_PART_B]
    plane = off(m.floor_plane, 4 * (ints[PI_BODY_A] - z.bodies))
    if is_curved(m, h, q):
        n = (plane[0], plane[1], plane[2])
        solid = solid_of(m, h, s, w.world, q, step)
        down = scale(-1.0, n)
        for k in range(3):
            floats[PF_NORMAL + k] = n[k]
        depth = plane[3] + top(solid, down)
        ints[PI_PHASE] = PHASE_TOUCH if depth > 0.0 else PHASE_APART
        low = support(solid, down)
        return depth, axpy(plane[3] - dot(n, low), n, low)
    b = world_view(m, h, s, w.world, q, step)
    lowest = inf
    c = (0.0, 0.0, 0.0)
    for i in range(b.vert_count):
        v = off(b.verts, 3 * i)
        d = v[0] * plane[0] + v[1] * plane[1] + v[2] * plane[2] - plane[3]
        if d < lowest:
            lowest = d
            c = (v[0] - d * plane[0], v[1] - d * plane[1], v[2] - d * plane[2])
    for k in range(3):
        floats[PF_NORMAL + k] = plane[k]
    ints[PI_PHASE] = PHASE_TOUCH if lowest < 0.0 else PHASE_APART
    return -lowest, c


@kernel
def _deepest(
    m: Model, h: Hulls, s: State, w: Work, step: int, ints: PtrI4, floats: PtrF8
) -> tuple[float, Vec3]:
    """Overlap of two parts along the contact normal, at the deepest vertex of either in the other.

    The closest points of the pair moved apart are vertices or edge points; their midpoint is the
    point.
    """
    p, q = ints[PI_PART_A], ints[PI_PART_B]
    if boxes_apart(off(w.world.aabb, 6 * p), off(w.world.aabb, 6 * q)):
        ints[PI_PHASE] = min(ints[PI_PHASE], PHASE_APART)
        return 0.0, (0.0, 0.0, 0.0)
    size = min(h.size[m.part_hull[p]], h.size[m.part_hull[q]])
    if is_curved(m, h, p) or is_curved(m, h, q):
        one, two = solid_of(m, h, s, w.world, p, step), solid_of(m, h, s, w.world, q, step)
        found = meet_solids(
            one, two, size, 0.0, ints[PI_PHASE], off(floats, PF_NORMAL), off(ints, PI_SIMPLEX)
        )
        ints[PI_PHASE] = PHASE_TOUCH if found.near and found.depth > 0.0 else PHASE_APART
        return (found.depth if found.near else 0.0), found.point
    a = world_view(m, h, s, w.world, p, step)
    b = world_view(m, h, s, w.world, q, step)
    touching, c, depth = contact_normal(
        a, b, GAP * size, ints[PI_PHASE], off(floats, PF_NORMAL), off(ints, PI_SIMPLEX)
    )
    if not touching:
        if ints[PI_PHASE] == PHASE_TOUCH:
            ints[PI_SIMPLEX] = 0
        ints[PI_PHASE] = PHASE_APART
        return 0.0, c
    ints[PI_PHASE] = PHASE_TOUCH
    return depth, c
