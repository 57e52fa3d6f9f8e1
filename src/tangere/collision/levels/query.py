"""Where a tool touches: pairs of convex pieces, refined until their error is small enough.

From the roots down, a pair of nodes is left out when the balls around what is below them are
farther apart than the reach, or the hulls of their bounds by as much more as level 0 sticks out.
Its error is the larger surface deviation, taken over an area of one edge squared and spread over
the area in contact [OTADUY2003],

    s* = max(s_a ℓ_a², s_b ℓ_b²) / A,

as a detail is felt only if it is large for its contact. Where s* is above its threshold, the node
with the larger s ℓ² is split. The pair with the largest error goes first, so that a query that runs
out of budget has answered the rest as well as it could. What lies inside the other body, away from
where the surfaces cross, is left to `inside`. Nothing is allocated.
"""

from __future__ import annotations

from math import sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i4, local_i8, off, pointers, ptr
from tangere.collision.contact_query import TRUNCATED, VISITED, Placed, begin, place
from tangere.collision.gjk import gjk
from tangere.collision.levels.floors import search_floor
from tangere.collision.levels.front import (
    BODY_MOTION,
    CROSSED,
    HEAP,
    NBODY,
    NPAIR,
    NSIMPLEX,
    NWAIT,
    PAIR_DISTANCE,
    PAIR_MOTION,
    PAIR_NORMAL,
    PAIR_STAMP,
    QUERY,
    SEARCH,
    WAIT_A,
    WAIT_B,
    WAIT_STATUS,
    Front,
    clear,
    pop,
    push,
    release,
    row_of,
)
from tangere.collision.levels.hierarchy import (
    BOUND,
    BOUNDS,
    CHILD,
    CHILDREN,
    FACE_AREA,
    NBRANCH,
    NFACE,
    NNODE,
    NODE_AREA,
    NODE_DEVIATION,
    NODE_INFLATION,
    NODE_RADIUS,
    TRIANGLE,
    TRIANGLES,
    VERTEX,
    VERTICES,
    LevelSet,
    coarseness,
)
from tangere.collision.levels.inside import Search, carried, search_inside, settle
from tangere.collision.levels.piece_pair import (
    FOUND_AREA,
    FOUND_DEPTH,
    FOUND_ERROR,
    FOUND_NORMAL,
    FOUND_OVERLAP,
    FOUND_SHARE,
    NFOUND,
    REAL,
    VIRTUAL,
    Piece,
    axis_of,
    corner_of,
    touch,
)
from tangere.collision.levels.record import hand_over, outlet
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, LongArray, add, dot, norm, scale, sub

# A contact goes over from its parent's while the parent's error is one to so many thresholds.
SURELY = 2.0
# How urgent a pair is that only bounds, whose nearest points are no surface, or that is still far;
# over the radii of the two, so that small ones go first and few have to wait.
ONLY_BOUNDS, NO_SURFACE, STILL_FAR = 1e12, 1e9, 1e8


@kernel
def find_contacts(
    levels: LevelSet,
    placed: Placed,
    front: Front,
    limits: tuple[float, float],
    budget: int,
    rows: Array,
    tally: LongArray,
) -> None:
    """Write all contacts of row 0 to `rows`, and their number to `tally`.

    limits: reach, and the error s* that is accepted [m].
    """
    place(placed)
    state = begin(tally)
    ptr(front.counts)[QUERY] += 1
    for b in range(placed.poses.shape[0] - 1):
        search_pair(levels, placed, front, (0, b + 1), (b, b), limits, budget, rows, state)
    for i in range(placed.floors.shape[0]):
        search_floor(levels, placed, front, (0, i), -1 - i, limits, budget, rows, state)


@kernel
def search_pair(
    levels: LevelSet,
    placed: Placed,
    front: Front,
    pair: tuple[int, int],
    names: tuple[int, int],
    limits: tuple[float, float],
    budget: int,
    rows: Array,
    state: PtrI8,
) -> None:
    """Append the contacts of two placed bodies, after `place` and `begin`.

    pair: their rows in `placed`; normals point out of the first. names: row of the pair in
    `front.bodies`, and what to write as CONTACT_BODY. limits: reach and accepted error [m].
    """
    axes, between, unit = local_f8(9), local_f8(12), local_f8(9)
    shapes, starts = ptr(placed.solid_of), ptr(levels.roots)
    roots = (starts[shapes[pair[0]]], starts[shapes[pair[1]]])
    here, there = off(ptr(placed.turns), 12 * pair[0]), off(ptr(placed.turns), 12 * pair[1])
    _between(here, there, between)
    matrix_into((1.0, 0.0, 0.0, 0.0), unit)
    body = off(ptr(front.bodies), NBODY * names[0])
    a, b = off(ptr(levels.nodes), NNODE * roots[0]), off(ptr(levels.nodes), NNODE * roots[1])
    size = norm((a[0] - between[9], a[1] - between[10], a[2] - between[11])) + a[NODE_RADIUS]
    size = max(size, norm((b[0], b[1], b[2])) + b[NODE_RADIUS])
    body[BODY_MOTION] += _moved(body, between, size)
    kept = pointers(front)
    s = Search(
        ptr(levels.nodes), ptr(levels.links), ptr(levels.vertices), ptr(levels.corners),
        ptr(levels.faces), ptr(levels.bounds), kept, limits, budget,
        outlet(placed, pair[0], rows, state, names[1], 0.5 * limits[0], axes), here, between, unit,
        names[0], body[BODY_MOTION], roots, levels.nodes.shape[0],
    )  # fmt: skip
    clear(kept)
    kept.counts[SEARCH] += 1
    kept.counts[CROSSED] = 0
    none = local_f8(15)
    none[FOUND_DEPTH] = 0.0
    _test(s, roots[0], roots[1], none, -1.0)
    while kept.counts[HEAP] > 0:
        _refine(s, pop(kept))
    if kept.counts[CROSSED] > 0:
        search_inside(s, True)
        search_inside(s, False)


@kernel
def _between(here: PtrF8, there: PtrF8, out: PtrF8) -> None:
    """The second shape frame in the first: R = R₁ᵀ R₂, t = R₁ᵀ (t₂ − t₁)."""
    for k in range(3):
        column = turn_back(here, (there[k], there[3 + k], there[6 + k]))
        out[k], out[3 + k], out[6 + k] = column
    shift = (there[9] - here[9], there[10] - here[10], there[11] - here[11])
    out[9], out[10], out[11] = turn_back(here, shift)


@kernel
def _moved(body: PtrF8, now: PtrF8, size: float) -> float:
    """How far any point within `size` has gone since the last call, at most; keeps the place."""
    turned, gone = 0.0, 0.0
    for k in range(12):
        change = now[k] - body[k]
        if k < 9:
            turned += change * change
        else:
            gone += change * change
        body[k] = now[k]
    return sqrt(gone) + size * sqrt(0.5 * turned)


@kernel
def _refine(s: Search, row: int) -> None:
    """Split one node of a waiting pair; or, beyond the budget, take the pair as it is."""
    parent = local_f8(15)
    wait, found = off(ptr(s.front.waiting), NWAIT * row), off(ptr(s.front.found), NFOUND * row)
    a, b, status, urgency = wait[WAIT_A], wait[WAIT_B], wait[WAIT_STATUS], s.front.urgency[row]
    for k in range(NFOUND):
        parent[k] = found[k]
    release(s.front, row)
    if s.out.state[VISITED] >= s.budget:
        s.out.state[TRUNCATED] = 1
        if status == REAL or _touches(s, a, b, parent):
            _accept(s, a, b, parent)
        return
    la, lb = off(s.links, NBRANCH * a), off(s.links, NBRANCH * b)
    past = urgency if status == REAL else -1.0
    if _first_goes(off(s.nodes, NNODE * a), off(s.nodes, NNODE * b), la, lb):
        for k in range(la[CHILDREN]):
            _test(s, la[CHILD] + k, b, parent, past)
    else:
        for k in range(lb[CHILDREN]):
            _test(s, a, lb[CHILD] + k, parent, past)


@kernel
def _first_goes(na: PtrF8, nb: PtrF8, la: PtrI8, lb: PtrI8) -> bool:
    """Whether the first node of a pair is to be split, not the second."""
    if la[CHILDREN] == 0 or lb[CHILDREN] == 0:
        return bool(la[CHILDREN] > 0)
    if la[VERTICES] == 0 or lb[VERTICES] == 0:
        if la[VERTICES] == 0 and lb[VERTICES] == 0:
            return bool(na[NODE_RADIUS] >= nb[NODE_RADIUS])
        return bool(la[VERTICES] == 0)
    coarse_a, coarse_b = coarseness(na), coarseness(nb)
    if coarse_a == coarse_b:
        return bool(na[NODE_RADIUS] >= nb[NODE_RADIUS])
    return coarse_a > coarse_b


@kernel
def _test(s: Search, a: int, b: int, parent: PtrF8, past: float) -> None:
    """Look at one pair: leave it out, take it, or let it wait to be refined.

    past: error of the parent's contact over its threshold; −1 if it had none.
    """
    reach, error = s.limits
    s.out.state[VISITED] += 1
    na, nb = off(s.nodes, NNODE * a), off(s.nodes, NNODE * b)
    la, lb = off(s.links, NBRANCH * a), off(s.links, NBRANCH * b)
    size = na[NODE_RADIUS] + nb[NODE_RADIUS]
    apart = norm(sub(carried(s, (nb[0], nb[1], nb[2])), (na[0], na[1], na[2]))) - size
    if apart > reach:
        return
    kept, known = row_of(s.front.keys, _key(s, a, b))
    memo, simplex = off(s.front.pairs, NPAIR * kept), off(s.front.simplex, NSIMPLEX * kept)
    if not known:
        simplex[0], simplex[9] = 0, 0
        memo[PAIR_STAMP] = -1.0
    elif memo[PAIR_DISTANCE] - (s.motion - memo[PAIR_MOTION]) > reach:
        return
    room, found = local_f8(102), local_f8(15)  # MAX_TRIANGLES + 2, or MAX_BOUNDS, points
    _carry_all(s, off(s.bounds, 3 * lb[BOUND]), lb[BOUNDS], room)
    _, apart, _, _, _, _, _, _ = gjk(
        off(s.bounds, 3 * la[BOUND]), la[BOUNDS], room, lb[BOUNDS], (0.0, 0.0, 0.0), simplex
    )
    apart -= na[NODE_INFLATION] + nb[NODE_INFLATION]
    memo[PAIR_DISTANCE], memo[PAIR_MOTION] = apart, s.motion
    if apart > reach:
        return
    if la[VERTICES] == 0 or lb[VERTICES] == 0:
        _wait(s, a, b, VIRTUAL, ONLY_BOUNDS / size, parent)
        return
    leaves = la[CHILDREN] == 0 and lb[CHILDREN] == 0
    coarse = max(coarseness(na), coarseness(nb)) / error
    if not leaves and coarse >= SURELY * max(na[NODE_AREA], nb[NODE_AREA]):
        # too coarse even if all of it were in contact
        _wait(s, a, b, VIRTUAL, NO_SURFACE / size, parent)
        return
    query = s.front.counts[QUERY]
    last = (0.0, 0.0, 0.0)
    if memo[PAIR_STAMP] == query - 1:
        last = (memo[PAIR_NORMAL], memo[PAIR_NORMAL + 1], memo[PAIR_NORMAL + 2])
    one = _piece(s, a)
    two = _piece_there(s, b, room)
    status = touch(one, two, reach, last, off(simplex, 9), found)
    over = found[FOUND_OVERLAP] == 1.0
    if over and leaves:
        s.front.counts[CROSSED] += 1
    if status == REAL:
        if over:
            for k in range(3):
                memo[PAIR_NORMAL + k] = found[FOUND_NORMAL + k]
            memo[PAIR_STAMP] = query
        share = coarse / found[FOUND_AREA]
        if leaves or share <= 1.0:
            if over and not settle(s, na, nb, found, leaves):
                if not leaves:
                    _wait(s, a, b, VIRTUAL, NO_SURFACE / size, found)
                return
            if over:
                s.front.counts[CROSSED] += 1
                s.front.answered[a] = s.front.counts[SEARCH]
                s.front.answered[b] = s.front.counts[SEARCH]
            _blend(s, parent, past, found)
            _accept(s, a, b, found)
        else:
            _wait(s, a, b, REAL, share, found)
    elif not leaves:
        _wait(s, a, b, status, (NO_SURFACE if status == VIRTUAL else STILL_FAR) / size, found)
    elif status == VIRTUAL:
        _by_triangles(s, a, b, one, two)


@kernel
def _touches(s: Search, a: int, b: int, found: PtrF8) -> bool:
    """Whether two nodes, as coarse as they are, have a contact."""
    la, lb = off(s.links, NBRANCH * a), off(s.links, NBRANCH * b)
    if la[VERTICES] == 0 or lb[VERTICES] == 0:
        return False
    room, simplex = local_f8(102), local_i4(9)
    simplex[0] = 0
    one = _piece(s, a)
    two = _piece_there(s, b, room)
    return touch(one, two, s.limits[0], (0.0, 0.0, 0.0), simplex, found) == REAL


@kernel
def _wait(s: Search, a: int, b: int, status: int, urgency: float, found: PtrF8) -> None:
    """Queue a pair for refinement; if there is no room, take it as it is."""
    row = push(s.front, a, b, status, urgency)
    if row < 0:
        s.out.state[TRUNCATED] = 1
        if status == REAL:
            _accept(s, a, b, found)
        return
    out = off(ptr(s.front.found), NFOUND * row)
    for k in range(NFOUND):
        out[k] = found[k]


@kernel
def _key(s: Search, a: int, b: int) -> int:
    """Name of a pair of nodes of a pair of bodies."""
    return (s.slot * 0x1000000 + a) * 0x1000000 + b


@kernel
def _piece(s: Search, a: int) -> Piece:
    """A node of the first body."""
    node, link = off(s.nodes, NNODE * a), off(s.links, NBRANCH * a)
    return Piece(
        off(s.vertices, 3 * link[VERTEX]), link[VERTICES], off(s.corners, 3 * link[TRIANGLE]),
        off(s.faces, NFACE * link[TRIANGLE]), link[TRIANGLES], node, axis_of(node), s.unit,
    )  # fmt: skip


@kernel
def _carry_all(s: Search, v: PtrF8, count: int, room: PtrF8) -> None:
    """Write points of the second shape, carried to the frame of the first, to `room`."""
    for i in range(count):
        x = carried(s, (v[3 * i], v[3 * i + 1], v[3 * i + 2]))
        room[3 * i], room[3 * i + 1], room[3 * i + 2] = x


@kernel
def _piece_there(s: Search, b: int, room: PtrF8) -> Piece:
    """A node of the second body, its vertices carried to the frame of the first."""
    node, link = off(s.nodes, NNODE * b), off(s.links, NBRANCH * b)
    _carry_all(s, off(s.vertices, 3 * link[VERTEX]), link[VERTICES], room)
    return Piece(
        room, link[VERTICES], off(s.corners, 3 * link[TRIANGLE]),
        off(s.faces, NFACE * link[TRIANGLE]), link[TRIANGLES], node,
        turn(s.between, axis_of(node)), s.between,
    )  # fmt: skip


@kernel
def _blend(s: Search, parent: PtrF8, past: float, found: PtrF8) -> None:
    """Go over from the parent's contact to this one while the parent's error is 1 to 2 times s₀."""
    if not 1.0 <= past < SURELY:
        return
    t = (past - 1.0) / (SURELY - 1.0)
    p = (found[0], found[1], found[2])
    n = (found[3], found[4], found[5])
    old = (parent[3], parent[4], parent[5])
    if dot(n, old) <= 0.0:
        return
    # the parent's plane, seen from this point
    before = dot(old, sub(p, (parent[0], parent[1], parent[2]))) + parent[FOUND_DEPTH]
    n = add(scale(t, n), scale(1.0 - t, old))
    n = scale(1.0 / norm(n), n)
    found[3], found[4], found[5] = n
    found[FOUND_ERROR] += (1.0 - t) * abs(before - found[FOUND_DEPTH])
    found[FOUND_DEPTH] += (1.0 - t) * (before - found[FOUND_DEPTH])


@kernel
def _by_triangles(s: Search, a: int, b: int, one: Piece, two: Piece) -> None:
    """Contacts of two pieces of level 0 triangle by triangle: these have no virtual faces."""
    corners_a, corners_b = local_f8(9), local_f8(9)
    count = local_i8(3)
    found = local_f8(15)
    for k in range(3):
        count[k] = k
    for t in range(one.triangles):
        part = _triangle(one, t, corners_a, count)
        if not _near_enough(s, part, two):
            continue
        for u in range(two.triangles):
            if _triangle_gap(one, t, two, u) > s.limits[0]:
                continue
            if s.out.state[VISITED] >= s.budget:
                s.out.state[TRUNCATED] = 1
                return
            s.out.state[VISITED] += 1
            _by_triangle(s, (a, b), part, _triangle(two, u, corners_b, count), found)


@kernel
def _triangle_gap(a: Piece, t: int, b: Piece, u: int) -> float:
    """How far two triangles are apart at least, along the axes [m]."""
    gap = -1e300
    p, q, r = corner_of(a, t, 0), corner_of(a, t, 1), corner_of(a, t, 2)
    x, y, z = corner_of(b, u, 0), corner_of(b, u, 1), corner_of(b, u, 2)
    for k in range(3):
        gap = max(gap, min(x[k], y[k], z[k]) - max(p[k], q[k], r[k]))
        gap = max(gap, min(p[k], q[k], r[k]) - max(x[k], y[k], z[k]))
    return gap


@kernel
def _triangle(a: Piece, t: int, room: PtrF8, count: PtrI8) -> Piece:
    """One triangle of a piece, as a piece."""
    for k in range(3):
        x = corner_of(a, t, k)
        room[3 * k], room[3 * k + 1], room[3 * k + 2] = x
    f = off(a.faces, NFACE * t)
    return Piece(room, 3, count, f, 1, a.node, turn(a.turn, (f[0], f[1], f[2])), a.turn)


@kernel
def _near_enough(s: Search, part: Piece, whole: Piece) -> bool:
    """Whether a triangle is within the reach of a piece."""
    simplex = local_i4(9)
    simplex[0] = 0
    _, d, _, _, _, _, _, _ = gjk(part.verts, 3, whole.verts, whole.many, (0.0, 0.0, 0.0), simplex)
    return d <= s.limits[0]


@kernel
def _by_triangle(s: Search, pair: tuple[int, int], one: Piece, two: Piece, found: PtrF8) -> None:
    """The contact of two triangles of level 0, if there is one."""
    if dot(one.axis, two.axis) >= 0.0 or one.faces[FACE_AREA] * two.faces[FACE_AREA] == 0.0:
        return
    simplex = local_i4(9)
    simplex[0] = 0
    if touch(one, two, s.limits[0], (0.0, 0.0, 0.0), simplex, found) != REAL:
        return
    if found[FOUND_OVERLAP] == 0.0 or settle(s, one.node, two.node, found, True):
        _accept(s, pair[0], pair[1], found)


@kernel
def _accept(s: Search, a: int, b: int, found: PtrF8) -> None:
    """Hand over a contact, carried to the world."""
    depth = found[FOUND_DEPTH]
    if depth < -s.limits[0]:
        return
    error = found[FOUND_ERROR] + max(
        s.nodes[NNODE * a + NODE_DEVIATION], s.nodes[NNODE * b + NODE_DEVIATION]
    )
    p = add(turn(s.here, (found[0], found[1], found[2])), (s.here[9], s.here[10], s.here[11]))
    n = turn(s.here, (found[3], found[4], found[5]))
    hand_over(s.out, s.front, p, n, depth, (error, found[FOUND_SHARE]))
