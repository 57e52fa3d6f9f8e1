"""Contacts of soft bodies: their surfaces against floors, rigid bodies and each other.

Feature pairs of `collision.proximity` at the last corrected configuration, at most so many for each
pair of bodies, become contacts whose points hang on nodes of the soft bodies.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.bodies.rigid import velocity_at
from tangere.collision.feature_pairs import COUNT, FULL, Limits, clear_pairs
from tangere.collision.proximity import held_crossing, plane_pairs, surface_pairs
from tangere.collision.solid_proximity import curvature_at, solid_pairs
from tangere.collision.solids import Solid, solid_of
from tangere.collision.surfaces import Surfaces, move_surface, refit, surface_box
from tangere.collision.thinning import thin
from tangere.contact.unilateral.contact_rows import new_contact, put, recall, same_nodes, vec
from tangere.contact.unilateral.options import SolverOptions
from tangere.contact.unilateral.problem import (
    CF_CURVATURE,
    CF_FORCE,
    CF_N,
    CF_POINT,
    CF_STRAIGHT,
    CF_WEIGHTS,
    CI_NODES,
    NCF,
    NCI,
    NSP,
    ON_FLOOR,
    ON_SOLID,
    ON_SURFACE,
    SP_BODY_A,
    SP_BODY_B,
    SP_FIRST,
    SP_KIND,
    SP_LAST,
    SP_OTHER,
    SP_SURFACE,
    Contacts,
    ContactWork,
    SoftWork,
)
from tangere.maths.vec import dot, norm, sub
from tangere.model import OK, SOLVER_FULL, Hulls, Model, Sizes, State, Work

# Points within this, and twice the way they may go in a step, are contacts [m].
REACH = 1e-4
# Overlaps of surfaces deeper than this are not believed [m]; floors and solids know their inside.
DEPTH = 2e-3
ANY_DEPTH = 1e9


@kernel
def place_surfaces(s: State, surfaces: Surfaces, count: int) -> None:
    """Put all surfaces where their bodies are, and bring their hierarchies up to date."""
    for k in range(count):
        body = surfaces.body[k]
        move_surface(surfaces, k, off(s.position, 3 * body), off(s.rotation, 9 * body))
        refit(surfaces, k, 0.0)


@kernel
def find_soft_contacts(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    p: ContactWork,
    dt: float,
    stamp: int,
    room: int,
    options: SolverOptions,
) -> int:
    """Append the contacts of all soft surfaces; OK or SOLVER_FULL."""
    soft, c = p.soft, p.contacts
    place_surfaces(s, soft.surfaces, soft.pairs.used[1])
    for k in range(soft.pairs.used[0]):
        pair = off(soft.pairs.rows, NSP * k)
        i, j = pair[SP_BODY_A], pair[SP_BODY_B]
        fall = dt * norm(vec(m.gravity, 0))  # within the step
        speed = _speed(s, soft, i) + _speed(s, soft, j) + fall
        depth = DEPTH if pair[SP_KIND] == ON_SURFACE else ANY_DEPTH
        limits = Limits(REACH + 2.0 * dt * speed, depth)
        clear_pairs(soft.features)
        _find_features(z, m, h, s, w, soft, pair, limits, stamp)
        if pair[SP_KIND] == ON_SURFACE:
            _hold_crossings(soft, c, pair, limits)
        if soft.features.filled[FULL] != 0:
            return SOLVER_FULL
        count = soft.features.filled[COUNT]
        if count == 0:
            continue
        _predict(s, soft, c, pair, count, dt)
        kept = thin(
            soft.features,
            0,
            count,
            soft.predicted,
            soft.carried,
            options.max_contacts,
            soft.thinning,
            soft.chosen,
        )
        first = c.used[0]
        if first + kept > room:
            return SOLVER_FULL
        for q in range(kept):
            _append(m, soft, c, pair, soft.chosen[q], -1 - k)
        if pair[SP_KIND] == ON_SOLID:
            _set_curvatures(c, first, solid_of(m, h, s, w.world, pair[SP_OTHER], stamp))
        recall(c, s, pair[SP_FIRST], pair[SP_LAST], first, dt, dt * speed)
    return OK


@kernel
def _speed(s: State, soft: SoftWork, body: int) -> float:
    """Bound on the speed of a body's points [m/s]."""
    v, w = vec(off(s.velocity, 3 * body), 0), vec(off(s.omega, 3 * body), 0)
    speed, k = norm(v), soft.model.soft[body]
    spin = norm(w)
    if spin > 0.0:
        speed += spin * soft.radius[body]
    return speed + soft.state.speed[k] if k >= 0 else speed


@kernel
def _set_curvatures(c: Contacts, first: int, solid: Solid) -> None:
    """Hessian of the distance to a curved solid at the points of contacts."""
    for at in range(first, c.used[0]):
        row = off(c.floats, NCF * at)
        curvature, flat = curvature_at(solid, vec(row, CF_POINT), vec(row, CF_N))
        row[CF_CURVATURE] = curvature
        put(row, CF_STRAIGHT, flat)


@kernel
def _find_features(
    z: Sizes,
    m: Model,
    h: Hulls,
    s: State,
    w: Work,
    soft: SoftWork,
    pair: PtrI4,
    limits: Limits,
    stamp: int,
) -> None:
    """Feature pairs of one soft surface and what it can touch."""
    k, other = pair[SP_SURFACE], pair[SP_OTHER]
    if pair[SP_KIND] == ON_FLOOR:
        plane_pairs(soft.surfaces, k, off(m.floor_plane, 4 * other), other, limits, soft.features)
        return
    box = surface_box(soft.surfaces, k)
    if pair[SP_KIND] == ON_SURFACE:
        if _apart(box, surface_box(soft.surfaces, other), limits.reach):
            return
        surface_pairs(soft.surfaces, k, other, limits, soft.features)
    elif not _apart(box, off(w.world.aabb, 6 * other), limits.reach):
        solid = solid_of(m, h, s, w.world, other, stamp)
        solid_pairs(soft.surfaces, k, solid, other, limits, soft.features)


@kernel
def _hold_crossings(soft: SoftWork, c: Contacts, pair: PtrI4, limits: Limits) -> None:
    """Let crossing edges that pressed in the last step be a pair still."""
    f = soft.features
    count = f.filled[COUNT]
    for old in range(pair[SP_FIRST], pair[SP_LAST]):
        row = off(c.last_floats, NCF * old)
        nodes = off(c.last_ints, NCI * old + CI_NODES)
        edges = nodes[1] >= 0 and nodes[2] < 0 and nodes[4] >= 0 and nodes[5] < 0
        if not edges or not row[CF_FORCE] > 0.0:
            continue
        listed = False
        for k in range(count):
            listed = listed or same_nodes(nodes, off(f.nodes, 6 * k))
        if not listed:
            held_crossing(soft.surfaces, nodes, off(nodes, 3), vec(row, CF_N), limits, f)


@kernel
def _apart(a: PtrF8, b: PtrF8, reach: float) -> bool:
    """Whether two boxes are further apart than reach [m] along an axis."""
    for i in range(3):
        if a[i] - reach > b[3 + i] or b[i] - reach > a[3 + i]:
            return True
    return False


@kernel
def _predict(s: State, soft: SoftWork, c: Contacts, pair: PtrI4, count: int, dt: float) -> None:
    """Gaps at the end of the step as the bodies move now, and who carried force before."""
    f, i, j = soft.features, pair[SP_BODY_A], pair[SP_BODY_B]
    for k in range(count):
        n, q = vec(f.normal, 3 * k), vec(f.points, 6 * k + 3)
        closing = dot(n, sub(velocity_at(s, j, q), velocity_at(s, i, q)))
        soft.predicted[k] = f.gap[k] + dt * closing
        soft.carried[k] = 0
        for old in range(pair[SP_FIRST], pair[SP_LAST]):
            if c.last_floats[NCF * old + CF_FORCE] > 0.0:
                nodes = off(c.last_ints, NCI * old + CI_NODES)
                if same_nodes(nodes, off(f.nodes, 6 * k)):
                    soft.carried[k] = 1


@kernel
def _append(m: Model, soft: SoftWork, c: Contacts, pair: PtrI4, feature: int, name: int) -> None:
    """A feature pair as a contact."""
    f = soft.features
    point, n = vec(f.points, 6 * feature + 3), vec(f.normal, 3 * feature)
    at = new_contact(m, c, pair[SP_BODY_A], pair[SP_BODY_B], name, point, n, f.gap[feature])
    row, data = off(c.ints, NCI * at), off(c.floats, NCF * at)
    for x in range(6):
        row[CI_NODES + x] = f.nodes[6 * feature + x]
        data[CF_WEIGHTS + x] = f.weights[6 * feature + x]
