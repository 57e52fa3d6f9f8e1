"""Candidate pairs of convex parts: boxes with slack around every part, and a tree over them.

The pair list is built for *fat* boxes and stays valid while every part stays inside its own, so a
scene at rest pays one comparison per part and step. When a part leaves, the list is rebuilt from
scratch in O(n log n): parts are sorted along a Morton curve, the sorted sequence is cut in halves
into a complete binary tree without pointers, and each part walks the tree once. What a contact
remembers moves from the old list to the new one by merging two sorted sequences.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_i4, off
from tangere.model import (
    NF,
    NI,
    OK,
    PAIRS_FULL,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_PART_A,
    PI_PART_B,
    Hulls,
    Model,
    Pairs,
    Sizes,
    State,
    Tree,
    Work,
    World,
)

# Slack of the fat boxes: a share of the part's size, and the way it will go in so many steps. More
# slack means fewer rebuilds and more pairs that are looked at in vain.
SLACK_SIZE = 0.05
SLACK_STEPS = 8.0

BITS = 20  # of a key's three fields: second body, first part, second part
MASK = (1 << BITS) - 1
NEVER = 1_000  # steps since a new pair last pressed: long ago


@kernel
def update_boxes(z: Sizes, m: Model, h: Hulls, s: State, dt: float, w: World) -> bool:
    """Bound every part, with the reach of one step; true when one has left its fat box.

    The box of a turned box (centre c, half extents e): R c + x ± |R| e.
    """
    left = False
    for p in range(z.parts):
        i = m.part_body[p]
        hull = m.part_hull[p]
        box = off(h.box, 6 * hull)
        r = off(s.rotation, 9 * i)
        x = off(s.position, 3 * i)
        v = off(s.velocity, 3 * i)
        o = off(s.omega, 3 * i)
        out = off(w.aabb, 6 * p)
        fat = off(w.fat, 6 * p)
        spin = sqrt(o[0] * o[0] + o[1] * o[1] + o[2] * o[2])
        reach = dt * spin * (box[3] + box[4] + box[5])
        for k in range(3):
            c = x[k] + r[3 * k] * box[0] + r[3 * k + 1] * box[1] + r[3 * k + 2] * box[2]
            e = abs(r[3 * k]) * box[3] + abs(r[3 * k + 1]) * box[4] + abs(r[3 * k + 2]) * box[5]
            e += reach + dt * abs(v[k])
            out[k] = c - e
            out[3 + k] = c + e
            # not (inside): a NaN also counts as having left
            if not (out[k] >= fat[k] and out[3 + k] <= fat[3 + k]):
                left = True
    return left


@kernel
def boxes_apart(a: PtrF8, b: PtrF8) -> bool:
    """Whether two boxes (lower corner, upper corner) have no point in common."""
    if a[0] > b[3] or b[0] > a[3] or a[1] > b[4] or b[1] > a[4]:
        return True
    return bool(a[2] > b[5] or b[2] > a[5])


@kernel
def below_floor(box: PtrF8, plane: PtrF8) -> bool:
    """Whether a box reaches below the plane N·x = d: its lowest corner along N is tested."""
    low = -plane[3]
    for k in range(3):
        low += plane[k] * (box[k] if plane[k] > 0.0 else box[3 + k])
    return bool(low < 0.0)


@kernel
def rebuild(z: Sizes, m: Model, h: Hulls, s: State, dt: float, w: Work, capacity: int) -> int:
    """Fatten the boxes and list all pairs whose fat boxes meet; what contacts remember is kept.

    The new list is written to `w.spare`; the caller exchanges the two. Returns OK or PAIRS_FULL.
    """
    world, tree, old, new = w.world, w.tree, w.pairs, w.spare
    _fatten(z, m, h, s, dt, world)
    leaves = _build_tree(z.parts, world, tree)
    count = 0
    cursor = 0
    for i in range(z.bodies):
        found = _partners(z, m, w, i, leaves)
        if found < 0:
            return PAIRS_FULL
        _heap_sort(tree.keys, found)
        for j in range(found):
            if count >= capacity:
                return PAIRS_FULL
            cursor = _emit(z, m, i, tree.keys[j], old, cursor, new, count)
            count += 1
    new.used[0] = count
    return OK


@kernel
def _fatten(z: Sizes, m: Model, h: Hulls, s: State, dt: float, world: World) -> None:
    for p in range(z.parts):
        slack = SLACK_SIZE * h.size[m.part_hull[p]]
        v = off(s.velocity, 3 * m.part_body[p])
        box = off(world.aabb, 6 * p)
        fat = off(world.fat, 6 * p)
        for k in range(3):
            e = slack + SLACK_STEPS * dt * abs(v[k])
            fat[k] = box[k] - e
            fat[3 + k] = box[3 + k] + e


@kernel
def _build_tree(n: int, world: World, tree: Tree) -> int:
    """Lay a complete binary tree over the parts along a Morton curve; returns its leaf count."""
    lo0, lo1, lo2 = inf, inf, inf
    hi0, hi1, hi2 = -inf, -inf, -inf
    for p in range(n):
        b = off(world.fat, 6 * p)
        x, y, t = b[0] + b[3], b[1] + b[4], b[2] + b[5]
        lo0, lo1, lo2 = min(lo0, x), min(lo1, y), min(lo2, t)
        hi0, hi1, hi2 = max(hi0, x), max(hi1, y), max(hi2, t)
    extent = max(hi0 - lo0, hi1 - lo1, hi2 - lo2)
    scale = 1023.0 / extent if extent > 0.0 else 0.0
    for p in range(n):
        b = off(world.fat, 6 * p)
        cx = _spread(int(scale * (b[0] + b[3] - lo0)))
        cy = _spread(int(scale * (b[1] + b[4] - lo1)))
        cz = _spread(int(scale * (b[2] + b[5] - lo2)))
        tree.code[p] = cx | (cy << 1) | (cz << 2)
        tree.order[p] = p
    _radix_sort(n, tree)
    leaves = 1
    while leaves < n:
        leaves *= 2
    for j in range(leaves):
        node = off(tree.nodes, 6 * (leaves - 1 + j))
        if j < n:
            b = off(world.fat, 6 * tree.order[j])
            for k in range(6):
                node[k] = b[k]
        else:  # an empty leaf meets nothing
            for k in range(3):
                node[k] = inf
                node[3 + k] = -inf
    for j in range(leaves - 2, -1, -1):
        node = off(tree.nodes, 6 * j)
        left = off(tree.nodes, 6 * (2 * j + 1))
        right = off(tree.nodes, 6 * (2 * j + 2))
        for k in range(3):
            node[k] = min(left[k], right[k])
            node[3 + k] = max(left[3 + k], right[3 + k])
    return leaves


@kernel
def _spread(v: int) -> int:
    """Ten bits of v with two zeros between neighbours."""
    v &= 1023
    v = (v | (v << 16)) & 0x030000FF
    v = (v | (v << 8)) & 0x0300F00F
    v = (v | (v << 4)) & 0x030C30C3
    return (v | (v << 2)) & 0x09249249


@kernel
def _radix_sort(n: int, tree: Tree) -> None:
    """Sort `order` by `code` (30 bits): four passes of 8 bits, result in code and order."""
    count = local_i4(257)
    for turn in range(4):
        src_code, src_order = tree.code, tree.order
        dst_code, dst_order = tree.code2, tree.order2
        if turn & 1:
            src_code, src_order = tree.code2, tree.order2
            dst_code, dst_order = tree.code, tree.order
        shift = 8 * turn
        for k in range(257):
            count[k] = 0
        for j in range(n):
            count[((src_code[j] >> shift) & 255) + 1] += 1
        for k in range(256):
            count[k + 1] += count[k]
        for j in range(n):
            k = (src_code[j] >> shift) & 255
            dst_code[count[k]] = src_code[j]
            dst_order[count[k]] = src_order[j]
            count[k] += 1


@kernel
def _partners(z: Sizes, m: Model, w: Work, i: int, leaves: int) -> int:
    """Keys of all pairs of body i with later bodies and floors; −1 when they do not fit."""
    stack = local_i4(64)
    found = 0
    room = 2 * z.parts + 64
    world, tree = w.world, w.tree
    fixed = m.inv_mass[i] == 0.0
    for p in range(m.part_start[i], m.part_start[i + 1]):
        box = off(world.fat, 6 * p)
        top = 1
        stack[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if boxes_apart(box, off(tree.nodes, 6 * node)):
                continue
            if node < leaves - 1:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
                continue
            q = tree.order[node - (leaves - 1)]
            j = m.part_body[q]
            if j > i and not (fixed and m.inv_mass[j] == 0.0):
                if found >= room:
                    return -1
                tree.keys[found] = (j << (2 * BITS)) | (p << BITS) | q
                found += 1
        for f in range(z.floors):
            if not fixed and below_floor(box, off(m.floor_plane, 4 * f)):
                if found >= room:
                    return -1
                tree.keys[found] = ((z.bodies + f) << (2 * BITS)) | (p << BITS)
                found += 1
    return found


@kernel
def _heap_sort(keys: PtrI4, n: int) -> None:
    """Sort n keys in place; no recursion, no allocation, never quadratic."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(keys, start, n)
    for end in range(n - 1, 0, -1):
        top = keys[end]
        keys[end] = keys[0]
        keys[0] = top
        _sift(keys, 0, end)


@kernel
def _sift(keys: PtrI4, root: int, end: int) -> None:
    while True:
        child = 2 * root + 1
        if child >= end:
            return
        if child + 1 < end and keys[child] < keys[child + 1]:
            child += 1
        if keys[root] >= keys[child]:
            return
        held = keys[root]
        keys[root] = keys[child]
        keys[child] = held
        root = child


@kernel
def _emit(
    z: Sizes, m: Model, i: int, key: int, old: Pairs, cursor: int, new: Pairs, at: int
) -> int:
    """Write pair (i, key) as row `at`, with its memory if it has one; returns the cursor."""
    j = key >> (2 * BITS)
    p = (key >> BITS) & MASK
    q = key & MASK
    ints = off(new.ints, NI * at)
    floats = off(new.floats, NF * at)
    new.key[at] = key
    while cursor < old.used[0]:
        row = off(old.ints, NI * cursor)
        owner = row[PI_BODY_A]
        if owner >= z.bodies:  # a floor pair is listed under its body
            owner = row[PI_BODY_B]
        if owner > i or (owner == i and old.key[cursor] >= key):
            break
        cursor += 1
    if cursor < old.used[0] and old.key[cursor] == key:
        row = off(old.ints, NI * cursor)
        same = row[PI_BODY_B] == i if j >= z.bodies else row[PI_BODY_A] == i
        if same:
            memory = off(old.floats, NF * cursor)
            for k in range(NI):
                ints[k] = row[k]
            for k in range(NF):
                floats[k] = memory[k]
            return cursor + 1
    for k in range(NI):
        ints[k] = 0
    for k in range(NF):
        floats[k] = 0.0
    ints[PI_MISSED] = NEVER
    if j >= z.bodies:  # the floor is a, the normal points from it to the body
        ints[PI_BODY_A], ints[PI_BODY_B] = j, i
        ints[PI_PART_A], ints[PI_PART_B] = -1, p
    else:
        ints[PI_BODY_A], ints[PI_BODY_B] = i, j
        ints[PI_PART_A], ints[PI_PART_B] = p, q
    return cursor
