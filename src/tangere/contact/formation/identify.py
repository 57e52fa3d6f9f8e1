"""The contact formation at a pose: candidates, alternatives for each region, the one to believe.

Within a layer ε the same gap admits several contacts: a nearly flat edge touches as a vertex and as
an edge. Candidates that could not hold beside each other, because the elements of one bound those
of the other on both bodies, make one region. A formation takes one candidate for each region; it
must be valid, see `validity`. Of the valid ones that with the least

    Σ (greatest |gap| / ε − degrees of freedom taken beyond the first)

is the one to believe: a plane where the data admits a plane, a line where it admits a line, and of
two that take as many freedoms the one that needs less motion to be exact. The last formation stays
as long as it is valid and no other is better by 0.2 for three frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, off, pointers, ptr
from tangere.contact.formation.candidates import (
    Surface,
    boxes_meet,
    near_elements,
    place,
    placed,
    related,
    surface_of,
    within,
)
from tangere.contact.formation.columns import (
    LINE,
    MOST_CONTACTS,
    NPC,
    PC_COUNT,
    PC_GAP,
    PC_ID,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PLANE,
)
from tangere.contact.formation.flat_contacts import limits_of
from tangere.contact.formation.names import contact_name
from tangere.contact.formation.overlap import is_overlap
from tangere.contact.formation.principal_contacts import find_contact, is_curved
from tangere.contact.formation.table import (
    MASK,
    Table,
    keep,
    load_table,
    mixed,
    save_table,
    table_file,
    verdict_of,
)
from tangere.contact.formation.task_frames import carry_frames
from tangere.contact.formation.validity import FAR, VALID, Trial, judge
from tangere.errors import SceneError
from tangere.geometry.boundary import EDGE, FACE, VERTEX, Boundary
from tangere.maths.quat import Quat
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray, Vec3, axpy, dot, norm, sub

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

MOST_CANDIDATES = 256
# Combinations of alternatives that are looked at in one frame
MOST_COMBINATIONS = 200
# A formation gives way to one that is better by this for so many frames.
BETTER, FRAMES = 0.2, 3
# What an edge beside an edge, and corners without a contact plane, count as: less than a line, less
# than a point.
SIDE_BY_SIDE, CORNER = 0.5, -0.25
# Longest way to the pose where a formation is exact, in layers: out of the deepest overlap.
FARTHEST = 8.0
# Overlap in which contacts may begin, in layers; of what has touched [m]
DEEPEST_NEW, ANY_DEPTH = 5.0, 1.0
# Regions further apart than this are not alternatives of one contact [share of ε].
SAME_PLACE = 2.0
# Failed tests that are remembered, and how far A must move until they are made anew [share of ε].
FAILURES, MOVED = 32, 0.25

# Whole numbers that are kept from frame to frame
LAST_COUNT, PENDING_FRAMES, NEXT_FAILURE, LAST_VALID = 0, 1, 2, 3


class Found(NamedTuple):
    """Candidates of one frame: elements, group, rows, what each counts, bits of its id."""

    first: IntArray
    second: IntArray
    group: IntArray
    rows: Array
    score: Array
    bits: Array


class Memory(NamedTuple):
    """What one frame leaves to the next.

    | field    | meaning                                                   | shape               |
    | state    | LAST_COUNT … LAST_VALID                                   | (4,)                |
    | keys     | key of the formation, of the one that may follow          | (2,)                |
    | first    | elements of A in the formation                            | (MOST_CONTACTS,)    |
    | second   | elements of B                                             | (MOST_CONTACTS,)    |
    | rows     | its rows                                                  | (MOST_CONTACTS NPC,)|
    | failures | key of a failed test, and the pose                        | (8 FAILURES,)       |
    """

    state: Array
    keys: Array
    first: IntArray
    second: IntArray
    rows: Array
    failures: Array


class Finder(NamedTuple):
    """All that identification works on; see `Formations` for how it is made."""

    trial: Trial
    world: Surface
    table: Table
    found: Found
    memory: Memory
    layers: Array  # ε to touch, to leave [m]
    near: IntArray  # elements near the other surface, of A and of B


def new_finder(tool: Boundary, fixed: Sequence[Boundary], layer: float, release: float) -> Finder:
    """Arrays for one held body and fixed bodies, whose boundaries are in the world."""
    body, other = surface_of([tool]), surface_of(fixed)
    boxes = body.box.reshape(-1, 6)
    radius = float(np.linalg.norm(np.abs(boxes[:, :3]) + boxes[:, 3:], axis=1).max())
    a, b = int(body.sizes[0]), int(other.sizes[0])
    n = MOST_CANDIDATES
    scale = np.array([radius, layer, FARTHEST * layer, 0.0])
    trial = Trial(body, placed(body), other, np.zeros(a + b, np.int32), scale)
    return Finder(
        trial,
        placed(body),
        load_table(table_file(body, other, layer)),
        Found(
            np.zeros(n, np.int32),
            np.zeros(n, np.int32),
            np.zeros(n, np.int32),
            np.zeros(n * NPC),
            np.zeros(n),
            np.zeros(n, np.int64),
        ),
        Memory(
            np.zeros(4, np.int64),
            np.zeros(2, np.int64),
            np.zeros(MOST_CONTACTS, np.int32),
            np.zeros(MOST_CONTACTS, np.int32),
            np.zeros(MOST_CONTACTS * NPC),
            np.zeros(8 * FAILURES),
        ),
        np.array([layer, release]),
        np.zeros(a + b, np.int32),
    )


# ---------------------------------------------------------------- candidates


@kernel
def collect(f: Finder, at: Vec3, q: Quat) -> int:
    """Candidates at a pose of A; how many.

    Pairs that have no contact plane of their own count only where no other candidate has them.
    """
    a, b = f.world, f.trial.fixed
    place(f.trial.body, at, q, a)
    # flat elements of bodies that overlap are as far apart as the overlap is deep
    margin = DEEPEST_NEW * f.layers[0] + 2.0 * _deepest(f.memory.rows, f.memory.state[LAST_COUNT])
    of_a, of_b = f.near, off(f.near, a.sizes[0])
    count_a, count_b = near_elements(a, b, margin, of_a, of_b)
    count = 0
    for corners in range(2):
        plain = count
        for x in range(count_a):
            i = of_a[x]
            box = off(a.box, 6 * i)
            for y in range(count_b):
                j = of_b[y]
                rank = a.dimension[i] + b.dimension[j]
                vertex = a.dimension[i] == VERTEX or b.dimension[j] == VERTEX
                if (rank < FACE or (rank == EDGE and vertex)) != (corners == 1):
                    continue
                if not boxes_meet(box, off(b.box, 6 * j), margin) or count == MOST_CANDIDATES:
                    continue
                if corners == 1 and _covered(f, plain, i, j):
                    continue
                row = off(f.found.rows, NPC * count)
                if _find(f, i, j, row):
                    f.found.first[count], f.found.second[count] = i, j
                    f.found.score[count] = _score(f, i, j, row)
                    f.found.bits[count] = mixed(row[PC_ID])
                    count += 1
    return count


@kernel
def _find(f: Finder, i: int, j: int, row: PtrF8) -> bool:
    """Fill the row of a pair that touches; False: it does not.

    What touches may be pressed on as deep as a hand will: there is no greatest overlap where the
    last formation touched. All but its own contacts have to be overlaps, see `overlap`.
    """
    a, b, m = f.world, f.trial.fixed, f.memory
    layer = f.layers[0]
    far, same, held = layer, False, False
    for k in range(m.state[LAST_COUNT]):
        if m.first[k] == i and m.second[k] == j:
            far, same = f.layers[1], True
        held = held or (related(a, i, m.first[k]) and related(b, j, m.second[k]))
    limits = limits_of(layer, far, ANY_DEPTH if held else DEEPEST_NEW * layer)
    if not find_contact(a, i, b, j, limits, row):
        return False
    if same or row[PC_GAP] > -layer:
        return True
    on_b = (row[PC_POINT], row[PC_POINT + 1], row[PC_POINT + 2])
    n = (row[PC_NORMAL], row[PC_NORMAL + 1], row[PC_NORMAL + 2])
    return is_overlap(a, i, b, j, axpy(row[PC_GAP], n, on_b), on_b)


@kernel
def _covered(f: Finder, count: int, i: int, j: int) -> bool:
    """Whether a pair bounds one of the first candidates."""
    for k in range(count):
        if within(f.world, i, f.found.first[k]) and within(f.trial.fixed, j, f.found.second[k]):
            return True
    return False


@kernel
def _deepest(rows: PtrF8, count: int) -> float:
    """Greatest overlap in the first rows [m]."""
    deepest = 0.0
    for k in range(count):
        deepest = max(deepest, -rows[NPC * k + PC_GAP])
    return deepest


@kernel
def _score(f: Finder, i: int, j: int, row: PtrF8) -> float:
    """Greatest |gap| of a region in layers, less the freedoms it takes beyond one."""
    layer, release = f.layers[0], f.layers[1]
    worst = 0.0
    for k in range(int(row[PC_COUNT])):
        worst = max(worst, abs(min(row[PC_POLYGON_GAP + k], release)))
    rank = f.world.dimension[i] + f.trial.fixed.dimension[j]
    if row[PC_REGION] == PLANE:
        freedoms = 2.0
    elif row[PC_REGION] == LINE:
        freedoms = 1.0 if rank > FACE else SIDE_BY_SIDE
    else:
        freedoms = 0.0 if rank == FACE else CORNER * (FACE - rank)
    return float(worst / layer - freedoms)


# ---------------------------------------------------------------- regions


@kernel
def group_regions(f: Finder, count: int) -> int:
    """Number the regions: candidates whose elements bound each other on both bodies; how many."""
    group = f.found.group
    for k in range(count):
        group[k] = k
    for k in range(count):
        for m in range(k):
            if _root(group, k) != _root(group, m) and _related(f, k, m):
                one, two = _root(group, k), _root(group, m)
                group[max(one, two)] = min(one, two)
    regions = 0
    number = local_i4(MOST_CANDIDATES)
    for k in range(count):
        root = _root(group, k)
        if root == k:
            number[k] = regions
            regions += 1
        else:
            number[k] = number[root]
    for k in range(count):
        group[k] = number[k]
    return regions


@kernel
def _root(group: PtrI4, k: int) -> int:
    """The lowest member of a group."""
    while group[k] != k:
        k = group[k]
    return k


@kernel
def _related(f: Finder, k: int, m: int) -> bool:
    """Whether on A and on B the elements of two candidates belong together, in one place.

    A round edge and a round face can touch twice: a pen that leans in a bowl touches its inside
    with one edge and, far from there, its rim with the face beside that edge.
    """
    i, j = f.found.first[k], f.found.first[m]
    c, d = f.found.second[k], f.found.second[m]
    a, b = f.world, f.trial.fixed
    if not related(a, i, j) or not related(b, c, d):
        return False
    if not (is_curved(a.kind[i]) or is_curved(a.kind[j])):
        if not (is_curved(b.kind[c]) or is_curved(b.kind[d])):
            return True
    one, other = off(f.found.rows, NPC * k), off(f.found.rows, NPC * m)
    if one[PC_REGION] == PLANE or other[PC_REGION] == PLANE:
        return True
    return bool(min(_way_to(one, other), _way_to(other, one)) < SAME_PLACE * f.layers[0])


@kernel
def _way_to(one: PtrF8, line: PtrF8) -> float:
    """Least distance of the ends of one line from another; points are lines of no length."""
    p = off(line, PC_POLYGON)
    last = 3 * (int(line[PC_COUNT]) - 1)
    tail = (p[0], p[1], p[2])
    way = sub((p[last], p[last + 1], p[last + 2]), tail)
    size2 = dot(way, way)
    nearest = 1e300
    for k in range(int(one[PC_COUNT])):
        q = off(one, PC_POLYGON + 3 * k)
        r = sub((q[0], q[1], q[2]), tail)
        share = min(1.0, max(0.0, dot(r, way) / size2)) if size2 > 0.0 else 0.0
        nearest = min(nearest, norm(axpy(-share, way, r)))
    return nearest


# ---------------------------------------------------------------- the choice


@kernel
def identify(f: Finder, pose: PtrF8, rows_out: PtrF8) -> tuple[int, bool]:
    """The formation at a pose of A: writes one row a contact.

    Args:
        f: Work arrays; the memory of the last frame is used and replaced.
        pose: Position [m] and orientation (w, x, y, z) of A's frame.
        rows_out: Room for MOST_CONTACTS rows, see `columns`.

    Returns:
        Number of contacts, and whether they form a valid formation; otherwise they are what was
        left after the farthest regions were dropped.
    """
    return _identify(pointers(f), ptr(pose), ptr(rows_out))


@kernel
def _identify(f: Finder, pose: PtrF8, rows_out: PtrF8) -> tuple[int, bool]:
    """The same below the border."""
    at, q = (pose[0], pose[1], pose[2]), (pose[3], pose[4], pose[5], pose[6])
    count = collect(f, at, q)
    f.trial.scale[2] = FARTHEST * f.layers[0] + 2.0 * _deepest(f.found.rows, count)
    regions = group_regions(f, count)
    chosen = local_i4(MOST_CONTACTS)
    kept = local_i4(MOST_CANDIDATES)
    valid = True
    for region in range(regions):
        kept[region] = region
    while regions > MOST_CONTACTS:
        regions = _drop_farthest(f, count, kept, regions)
        valid = False
    while regions > 0:
        if _choose(f, count, kept, regions, at, q, chosen):
            break
        regions = _drop_farthest(f, count, kept, regions)
        valid = False
    for k in range(regions):
        row, source = off(rows_out, NPC * k), off(f.found.rows, NPC * chosen[k])
        for c in range(NPC):
            row[c] = source[c]
    _sort_rows(f, rows_out, chosen, regions)
    carry_frames(f.world, f.trial.fixed, f.memory, chosen, f.found, regions, rows_out)
    _remember(f, chosen, regions, valid, rows_out)
    return regions, valid


@kernel
def _sort_rows(f: Finder, rows: PtrF8, chosen: PtrI4, count: int) -> None:
    """Contacts in the order of their ids."""
    for k in range(1, count):
        m = k
        while m > 0 and rows[NPC * (m - 1) + PC_ID] > rows[NPC * m + PC_ID]:
            for c in range(NPC):
                one, two = NPC * (m - 1) + c, NPC * m + c
                rows[one], rows[two] = rows[two], rows[one]
            chosen[m - 1], chosen[m] = chosen[m], chosen[m - 1]
            m -= 1


@kernel
def _drop_farthest(f: Finder, count: int, kept: PtrI4, regions: int) -> int:
    """Leave out the region with the greatest gap; how many are left."""
    worst, which = -1e300, 0
    for r in range(regions):
        gap = 1e300
        for k in range(count):
            if f.found.group[k] == kept[r]:
                gap = min(gap, f.found.rows[NPC * k + PC_GAP])
        if gap > worst:
            worst, which = gap, r
    for r in range(which, regions - 1):
        kept[r] = kept[r + 1]
    return regions - 1


@kernel
def _choose(
    f: Finder, count: int, kept: PtrI4, regions: int, at: Vec3, q: Quat, chosen_out: PtrI4
) -> bool:
    """The formation to believe, one candidate for each region; False: none is valid."""
    size, start = local_i4(MOST_CONTACTS), local_i4(MOST_CONTACTS)
    ranked = local_i4(MOST_CANDIDATES)
    total = 0
    for r in range(regions):
        start[r] = total
        total = _rank(f, count, kept[r], ranked, total)
        size[r] = total - start[r]
    combinations = 1
    for r in range(regions):
        combinations *= size[r]
    while combinations > MOST_COMBINATIONS:
        longest = 0
        for r in range(regions):
            if size[r] > size[longest]:
                longest = r
        size[longest] -= 1
        combinations = 1
        for r in range(regions):
            combinations *= size[r]
    scores, pick = local_f8(MOST_COMBINATIONS), local_i4(MOST_CONTACTS)
    for c in range(combinations):
        _combination(c, regions, size, start, ranked, pick)
        scores[c] = 0.0
        for r in range(regions):
            scores[c] += f.found.score[pick[r]]
    last = _last_formation(f, count, kept, regions, pick)
    bound = 1e300
    if last and _is_valid(f, regions, pick, at, q):
        bound = 0.0
        for r in range(regions):
            chosen_out[r] = pick[r]
            bound += f.found.score[pick[r]]
        bound -= BETTER
    else:
        last = False
    for _ in range(combinations):
        best = -1
        for c in range(combinations):
            if scores[c] < bound and (best < 0 or scores[c] < scores[best]):
                best = c
        if best < 0:
            break
        _combination(best, regions, size, start, ranked, pick)
        if _is_valid(f, regions, pick, at, q):
            if last and not _has_waited(f, regions, pick):
                return True
            for r in range(regions):
                chosen_out[r] = pick[r]
            return True
        scores[best] = 1e300
    f.memory.state[PENDING_FRAMES] = 0
    return last


@kernel
def _rank(f: Finder, count: int, region: int, ranked: PtrI4, total: int) -> int:
    """Append the candidates of a region, best first, those of equal score by their id."""
    start = total
    for k in range(count):
        if f.found.group[k] == region:
            m = total
            while m > start and _is_better(f, k, ranked[m - 1]):
                ranked[m] = ranked[m - 1]
                m -= 1
            ranked[m] = k
            total += 1
    return total


@kernel
def _is_better(f: Finder, k: int, m: int) -> bool:
    """Whether candidate k comes before candidate m."""
    s = f.found.score
    if abs(s[k] - s[m]) > 1e-9:
        return bool(s[k] < s[m])
    return bool(f.found.rows[NPC * k + PC_ID] < f.found.rows[NPC * m + PC_ID])


@kernel
def _combination(
    number: int, regions: int, size: PtrI4, start: PtrI4, ranked: PtrI4, pick_out: PtrI4
) -> None:
    """Candidates of one combination: its number has one digit for each region."""
    for r in range(regions):
        pick_out[r] = ranked[start[r] + number % size[r]]
        number //= size[r]


@kernel
def _last_formation(f: Finder, count: int, kept: PtrI4, regions: int, pick_out: PtrI4) -> bool:
    """Find the last formation among the candidates; False: it is not there."""
    if f.memory.state[LAST_COUNT] != regions:
        return False
    for r in range(regions):
        found = -1
        for k in range(count):
            if f.found.group[k] == kept[r]:
                for m in range(regions):
                    if f.found.rows[NPC * k + PC_ID] == f.memory.rows[NPC * m + PC_ID]:
                        found = k
        if found < 0:
            return False
        pick_out[r] = found
    return True


@kernel
def key_of(f: Finder, regions: int, pick: PtrI4) -> int:
    """Key of a formation, whatever the order of its contacts; never 0."""
    key = 0
    for r in range(regions):
        key = (key + f.found.bits[pick[r]]) & MASK
    return key if key != 0 else 1


@kernel
def _has_waited(f: Finder, regions: int, pick: PtrI4) -> bool:
    """Whether a formation has been the better one for long enough to follow."""
    m, key = f.memory, key_of(f, regions, pick)
    if m.keys[1] != key:
        m.keys[1], m.state[PENDING_FRAMES] = key, 0
    m.state[PENDING_FRAMES] += 1
    return bool(m.state[PENDING_FRAMES] >= FRAMES)


@kernel
def _is_valid(f: Finder, regions: int, pick: PtrI4, at: Vec3, q: Quat) -> bool:
    """Whether candidates make a valid formation, by the table or by a new test."""
    key = key_of(f, regions, pick)
    verdict = verdict_of(f.table, key)
    if verdict != 0:
        return verdict == VALID
    if _failed_here(f, key, at, q):
        return False
    first, second = local_i4(MOST_CONTACTS), local_i4(MOST_CONTACTS)
    kinds, pose = local_i4(MOST_CONTACTS), local_f8(7)
    for r in range(regions):
        k = pick[r]
        first[r], second[r] = f.found.first[k], f.found.second[k]
        kinds[r] = int(f.found.rows[NPC * k + PC_REGION])
    verdict = judge(f.trial, regions, first, second, kinds, at, q, pose)
    if verdict != FAR:
        keep(f.table, key, verdict)
    else:
        _note_failure(f, key, at, q)
    return verdict == VALID


@kernel
def _failed_here(f: Finder, key: int, at: Vec3, q: Quat) -> bool:
    """Whether a test failed near this pose, so that it need not be made again."""
    radius, reach = f.trial.scale[0], MOVED * f.layers[0]
    for k in range(FAILURES):
        row = off(f.memory.failures, 8 * k)
        if row[0] != 1.0 * key:
            continue
        shift = abs(row[1] - at[0]) + abs(row[2] - at[1]) + abs(row[3] - at[2])
        turn = abs(row[4] - q[0]) + abs(row[5] - q[1]) + abs(row[6] - q[2]) + abs(row[7] - q[3])
        if shift + 2.0 * radius * turn < reach:
            return True
    return False


@kernel
def _note_failure(f: Finder, key: int, at: Vec3, q: Quat) -> None:
    """Remember a failed test in place of the oldest one."""
    k = f.memory.state[NEXT_FAILURE]
    f.memory.state[NEXT_FAILURE] = (k + 1) % FAILURES
    row = off(f.memory.failures, 8 * k)
    row[0] = 1.0 * key
    for i in range(3):
        row[1 + i] = at[i]
    for i in range(4):
        row[4 + i] = q[i]


@kernel
def _remember(f: Finder, chosen: PtrI4, count: int, valid: bool, rows: PtrF8) -> None:
    """What the next frame needs."""
    m = f.memory
    m.state[LAST_COUNT], m.state[LAST_VALID] = count, 1 if valid else 0
    m.keys[0] = key_of(f, count, chosen)
    for k in range(count):
        m.first[k], m.second[k] = f.found.first[chosen[k]], f.found.second[chosen[k]]
    for c in range(NPC * count):
        m.rows[c] = rows[c]


# ---------------------------------------------------------------- the front


class Formations:
    """The contact formation of a held body and fixed ones, from pose to pose.

    Args:
        tool: Boundary of the held body.
        fixed: Boundary, position [m] and orientation (w, x, y, z) of every fixed body.
        layer: ε: elements touch from this distance on [m].
        release: They touch until they are this far apart [m].
        names: Of the held body and of every fixed one.
    """

    def __init__(
        self,
        tool: Boundary,
        fixed: Sequence[tuple[Boundary, tuple[ArrayLike, ArrayLike]]],
        *,
        layer: float = 1.0e-3,
        release: float = 1.2e-3,
        names: Sequence[str] = (),
    ) -> None:
        """Place the fixed bodies and open the table that goes with them all."""
        if not fixed:
            raise SceneError("Formations: no fixed body to touch")
        moved = [
            b.moved(rotation_of(np.asarray(orientation, float)), position)
            for b, (position, orientation) in fixed
        ]
        self.finder = new_finder(tool, moved, layer, release)
        self._boundaries = (tool, *(b for b, _ in fixed))
        bodies = ["body"] if len(fixed) == 1 else [f"body {k}" for k in range(len(fixed))]
        self._names = tuple(names) or ("tool", *bodies)
        self._rows = np.zeros((MOST_CONTACTS, NPC))
        self._pose = np.zeros(7)

    def find(self, position: ArrayLike, orientation: ArrayLike) -> tuple[Array, bool]:
        """Rows of the principal contacts at a pose, and whether they form a valid formation."""
        self._pose[:3], self._pose[3:] = position, orientation
        count, valid = identify(self.finder, self._pose, self._rows)
        return self._rows[:count], bool(valid)

    def describe(self, rows: Array) -> tuple[str, ...]:
        """One name for each contact: "tool face -z on body face +z"."""
        return tuple(contact_name(row, self._boundaries, self._names) for row in rows)

    def forget(self) -> None:
        """Begin anew, as if there had been no frame before; the table stays."""
        for array in self.finder.memory:
            array[:] = 0

    def save(self) -> None:
        """Keep the table of valid formations on disk for later runs with the same bodies."""
        t = self.finder
        path = table_file(t.trial.body, t.trial.fixed, float(t.layers[0]))
        save_table(path, t.table)
