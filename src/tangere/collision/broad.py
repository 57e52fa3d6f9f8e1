"""Candidate pairs of convex parts: boxes with slack around every part, and a tree over them.

The pair list is built for *fat* boxes and stays valid while every part stays inside its own, so a
scene at rest pays one comparison per part and step. Parts that leave get a new fat box and look for
partners anew; the others keep theirs. When many have left, the list is rebuilt from scratch in
O(n log n): parts are sorted along a Morton curve, the sorted sequence is cut in halves into a
complete binary tree without pointers, and each part walks the tree once.

The list is sorted by (body, key). What contacts remember lies in rows of their own, which a rebuild
puts into the list's order: the step then reads memory from front to back.
"""

from __future__ import annotations

from math import inf, sqrt

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, PtrI8, local_i4, off
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
# More leavers than this share of the parts: a rebuild is cheaper than single searches.
MANY = 0.25


@kernel
def update_boxes(
    z: Sizes, m: Model, h: Hulls, s: State, dt: float, margin: float, w: World, left: PtrI4
) -> int:
    """Bound every part, with the reach of one step and a margin; lists those that left their boxes.

    The box of a turned box (centre c, half extents e): R c + x ± |R| e.
    """
    count = 0
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
        # no corner is further from the body's centre than this, wherever the part sits on it
        far = abs(box[0]) + abs(box[1]) + abs(box[2]) + box[3] + box[4] + box[5]
        reach = dt * spin * far
        inside = True
        for k in range(3):
            c = x[k] + r[3 * k] * box[0] + r[3 * k + 1] * box[1] + r[3 * k + 2] * box[2]
            e = abs(r[3 * k]) * box[3] + abs(r[3 * k + 1]) * box[4] + abs(r[3 * k + 2]) * box[5]
            e += reach + dt * abs(v[k]) + margin
            out[k] = c - e
            out[3 + k] = c + e
            # a NaN also counts as having left
            inside = inside and out[k] >= fat[k] and out[3 + k] <= fat[3 + k]
        if not inside:
            left[count] = p
            count += 1
    return count


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
def near(z: Sizes, m: Model, w: World, key: int) -> bool:
    """Whether the boxes of a pair meet, or the part's box the floor: known from the list alone."""
    j = key >> (2 * BITS)
    box = off(w.aabb, 6 * ((key >> BITS) & MASK))
    if j >= z.bodies:
        return below_floor(box, off(m.floor_plane, 4 * (j - z.bodies)))
    return not boxes_apart(box, off(w.aabb, 6 * (key & MASK)))


@kernel
def update_pairs(z: Sizes, m: Model, h: Hulls, s: State, dt: float, w: Work, left: int) -> int:
    """Bring the pair list up to date after `left` parts left their boxes; OK or PAIRS_FULL.

    PAIRS_FULL leaves the list as it was, with fat boxes that no longer belong to it.
    """
    tree = w.tree
    tree.moved[0] += left
    if left > MANY * z.parts or tree.moved[0] > 2 * z.parts:
        tree.moved[0] = 0
        return rebuild(z, m, h, s, dt, w)
    for k in range(left):
        _fatten(m, h, s, dt, w.world, tree.left[k])
    for k in range(left):
        _refit(w, tree.left[k])
    found = 0
    for k in range(left):
        found = _search(z, m, w, tree.left[k], found)
        if found < 0:
            return PAIRS_FULL
    return _insert(z, w.pairs, tree, found) if found > 0 else OK


@kernel
def rebuild(z: Sizes, m: Model, h: Hulls, s: State, dt: float, w: Work) -> int:
    """Fatten all boxes and list all pairs whose fat boxes meet; returns OK or PAIRS_FULL."""
    world, tree, pairs = w.world, w.tree, w.pairs
    for p in range(z.parts):
        _fatten(m, h, s, dt, world, p)
    leaves = _build_tree(z.parts, world, tree)
    tree.moved[1] = leaves
    count = 0
    for i in range(z.bodies):
        start = count
        for p in range(m.part_start[i], m.part_start[i + 1]):
            count = _walk(z, m, w, p, i + 1, count)
            if count < 0:
                return PAIRS_FULL
        _heap_sort(off(tree.keys, start), off(tree.owners, start), count - start)
    _exchange(z, pairs, tree, count)
    return OK


@kernel
def _fatten(m: Model, h: Hulls, s: State, dt: float, world: World, p: int) -> None:
    """Give part p a fat box around its present one."""
    hull = m.part_hull[p]
    i = m.part_body[p]
    v = off(s.velocity, 3 * i)
    slack = SLACK_SIZE * h.size[hull]
    box = off(world.aabb, 6 * p)
    fat = off(world.fat, 6 * p)
    for k in range(3):
        e = slack + SLACK_STEPS * dt * abs(v[k])
        fat[k] = box[k] - e
        fat[3 + k] = box[3 + k] + e


@kernel
def _refit(w: Work, p: int) -> None:
    """Carry the new fat box of part p up the tree."""
    tree = w.tree
    node = tree.leaf[p]
    box = off(tree.nodes, 6 * node)
    fat = off(w.world.fat, 6 * p)
    for k in range(6):
        box[k] = fat[k]
    while node > 0:
        node = (node - 1) // 2
        _join(tree, node)


@kernel
def _join(tree: Tree, node: int) -> None:
    """Box of an inner node: around those of its two children."""
    box = off(tree.nodes, 6 * node)
    one = off(tree.nodes, 6 * (2 * node + 1))
    two = off(tree.nodes, 6 * (2 * node + 2))
    for k in range(3):
        box[k] = min(one[k], two[k])
        box[3 + k] = max(one[3 + k], two[3 + k])


@kernel
def _search(z: Sizes, m: Model, w: Work, p: int, found: int) -> int:
    """Append the pairs of part p that are not in the list yet; returns their number or −1."""
    end = _walk(z, m, w, p, 0, found)
    kept = found
    for k in range(found, end):
        if _place(w.pairs, w.tree.owners[k], w.tree.keys[k]) < 0:
            w.tree.owners[kept] = w.tree.owners[k]
            w.tree.keys[kept] = w.tree.keys[k]
            kept += 1
    return kept if end >= 0 else -1


@kernel
def _walk(z: Sizes, m: Model, w: Work, p: int, least: int, found: int) -> int:
    """Append owners and keys of part p with bodies from `least` on, and floors; count or −1."""
    stack = local_i4(64)
    world, tree = w.world, w.tree
    room = w.tree.moved[2]
    leaves = tree.moved[1]
    i = int(m.part_body[p])  # keys need 64 bits, in plain Python too
    fixed = m.inv_mass[i] == 0.0
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
        q = int(tree.order[node - (leaves - 1)])
        j = int(m.part_body[q])
        if j >= least and j != i and not (fixed and m.inv_mass[j] == 0.0):
            if found >= room:
                return -1
            if i < j:
                tree.owners[found] = i
                tree.keys[found] = (j << (2 * BITS)) | (int(p) << BITS) | q
            else:
                tree.owners[found] = j
                tree.keys[found] = (i << (2 * BITS)) | (q << BITS) | int(p)
            found += 1
    for f in range(z.floors):
        if not fixed and below_floor(box, off(m.floor_plane, 4 * f)):
            if found >= room:
                return -1
            tree.owners[found] = i
            tree.keys[found] = ((z.bodies + f) << (2 * BITS)) | (int(p) << BITS)
            found += 1
    return found


@kernel
def _place(pairs: Pairs, owner: int, key: int) -> int:
    """Index of a pair in the list, −1 when it is not there (bisection)."""
    low, high = 0, pairs.used[0]
    while low < high:
        mid = (low + high) // 2
        if _before(pairs.owner[mid], pairs.key[mid], owner, key):
            low = mid + 1
        else:
            high = mid
    if low < pairs.used[0] and pairs.owner[low] == owner and pairs.key[low] == key:
        return low
    return -1


@kernel
def _before(owner: int, key: int, other: int, other_key: int) -> bool:
    """Order of the list: by owner, then by key."""
    return owner < other or (owner == other and key < other_key)


@kernel
def _exchange(z: Sizes, pairs: Pairs, tree: Tree, count: int) -> None:
    """Replace the list by the sorted one in the tree's scratch; common pairs keep their memory."""
    old = 0
    for at in range(count):
        owner, key = tree.owners[at], tree.keys[at]
        while old < pairs.used[0] and _before(pairs.owner[old], pairs.key[old], owner, key):
            old += 1
        ints = off(pairs.ints2, NI * at)
        floats = off(pairs.floats2, NF * at)
        if old < pairs.used[0] and pairs.owner[old] == owner and pairs.key[old] == key:
            row = off(pairs.ints, NI * pairs.slot[old])
            memory = off(pairs.floats, NF * pairs.slot[old])
            for k in range(NI):
                ints[k] = row[k]
            for k in range(NF):
                floats[k] = memory[k]
        else:
            _blank(z, owner, key, ints, floats)
    for k in range(NI * count):
        pairs.ints[k] = pairs.ints2[k]
    for k in range(NF * count):
        pairs.floats[k] = pairs.floats2[k]
    for at in range(count):
        pairs.owner[at], pairs.key[at] = tree.owners[at], tree.keys[at]
        pairs.slot[at], pairs.live[at] = at, 1
    pairs.used[0] = count
    room = tree.moved[2]
    pairs.used[1] = room - count
    for k in range(room - count):
        pairs.free[k] = room - 1 - k


@kernel
def _insert(z: Sizes, pairs: Pairs, tree: Tree, found: int) -> int:
    """Merge new pairs into the list, from its end; returns OK or PAIRS_FULL."""
    _heap_sort(tree.keys, tree.owners, found)
    fresh = 0
    for k in range(found):  # two leavers find each other twice
        key, owner = tree.keys[k], tree.owners[k]
        if k == 0 or key != tree.keys[fresh - 1] or owner != tree.owners[fresh - 1]:
            tree.keys[fresh], tree.owners[fresh] = key, owner
            fresh += 1
    old = pairs.used[0] - 1
    at = pairs.used[0] + fresh - 1
    if at >= tree.moved[2]:
        return PAIRS_FULL
    pairs.used[0] += fresh
    k = fresh - 1
    while k >= 0:
        if old >= 0 and _before(tree.owners[k], tree.keys[k], pairs.owner[old], pairs.key[old]):
            pairs.owner[at], pairs.key[at] = pairs.owner[old], pairs.key[old]
            pairs.slot[at], pairs.live[at] = pairs.slot[old], pairs.live[old]
            old -= 1
        else:
            pairs.owner[at], pairs.key[at] = tree.owners[k], tree.keys[k]
            pairs.slot[at], pairs.live[at] = _take(z, pairs, tree.owners[k], tree.keys[k]), 1
            k -= 1
        at -= 1
    return OK


@kernel
def _take(z: Sizes, pairs: Pairs, owner: int, key: int) -> int:
    """A free slot, made ready for a pair that remembers nothing."""
    pairs.used[1] -= 1
    slot = int(pairs.free[pairs.used[1]])
    _blank(z, owner, key, off(pairs.ints, NI * slot), off(pairs.floats, NF * slot))
    return slot


@kernel
def _blank(z: Sizes, owner: int, key: int, ints: PtrI4, floats: PtrF8) -> None:
    """Rows of a pair that remembers nothing."""
    for k in range(NI):
        ints[k] = 0
    for k in range(NF):
        floats[k] = 0.0
    ints[PI_MISSED] = NEVER
    j = key >> (2 * BITS)
    p = (key >> BITS) & MASK
    if j >= z.bodies:  # the floor is a: the normal points from it to the body
        ints[PI_BODY_A], ints[PI_BODY_B] = j, owner
        ints[PI_PART_A], ints[PI_PART_B] = -1, p
    else:
        ints[PI_BODY_A], ints[PI_BODY_B] = owner, j
        ints[PI_PART_A], ints[PI_PART_B] = p, key & MASK


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
            tree.leaf[tree.order[j]] = leaves - 1 + j
            b = off(world.fat, 6 * tree.order[j])
            for k in range(6):
                node[k] = b[k]
        else:  # an empty leaf meets nothing
            for k in range(3):
                node[k] = inf
                node[3 + k] = -inf
    for j in range(leaves - 2, -1, -1):
        _join(tree, j)
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
def _heap_sort(keys: PtrI8, owners: PtrI4, n: int) -> None:
    """Sort n pairs by (owner, key) in place; no recursion, no allocation, never quadratic."""
    for start in range(n // 2 - 1, -1, -1):
        _sift(keys, owners, start, n)
    for end in range(n - 1, 0, -1):
        _swap(keys, owners, 0, end)
        _sift(keys, owners, 0, end)


@kernel
def _swap(keys: PtrI8, owners: PtrI4, i: int, j: int) -> None:
    """Exchange two pairs."""
    key, owner = keys[i], owners[i]
    keys[i], owners[i] = keys[j], owners[j]
    keys[j], owners[j] = key, owner


@kernel
def _sift(keys: PtrI8, owners: PtrI4, root: int, end: int) -> None:
    """Let an entry sink to its place in the heap."""
    while True:
        child = 2 * root + 1
        if child >= end:
            return
        if child + 1 < end and _before(
            owners[child], keys[child], owners[child + 1], keys[child + 1]
        ):
            child += 1
        if not _before(owners[root], keys[root], owners[child], keys[child]):
            return
        _swap(keys, owners, root, child)
        root = child


@kernel
def forget_boxes(z: Sizes, w: Work) -> None:
    """Force a rebuild at the next call: the fat boxes no longer belong to the pair list."""
    for p in range(z.parts):
        fat = off(w.world.fat, 6 * p)
        for k in range(3):
            fat[k], fat[3 + k] = 1.0, -1.0
