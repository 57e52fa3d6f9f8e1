"""Contact volume by face clipping: the boundary of A ∩ B as convex polygons.

The boundary of the overlap of two convex polyhedra consists of the faces of A clipped by the planes
of B and the faces of B clipped by the planes of A (Sutherland–Hodgman). No interior point is needed
and nothing is divided by a small distance; every polygon knows the face that carries it.

The short way for small hulls: one bit per vertex and plane says on which side it lies. A face whose
vertices all lie outside one plane is gone, a face with no vertex outside stays as it is, and of the
others only the planes that really cut are applied. Large hulls are first culled by the box that
both bounding boxes share.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, local_f8, local_i4, local_i8, off
from tangere.maths.vec import Vec3
from tangere.model import Soup

# A vertex this close to a plane, relative to the size of the hulls, lies on it: above the rounding
# of the transformed planes (~1e-15), far below anything that could be felt.
ON_PLANE = 1e-13
# Up to so many planes the sides fit into the bits of one integer.
BIT_PLANES = 62
# Hulls have at most 256 faces, hence at most 508 vertices; a clipped polygon has at most 512.
MAX_POLYGON = 512


class View(NamedTuple):
    """One convex part in the world, as pointers and counts."""

    verts: PtrF8  # 3 per vertex [m]
    vert_count: int
    planes: PtrF8  # 4 per face: unit outward normal, offset [m]
    face_count: int
    loop_start: PtrI4
    loops: PtrI4


@kernel
def clip_volume(a: View, b: View, eps: float, soup: Soup, first: int, capacity: int) -> int:
    """Append the polygons of A ∩ B to the `first` in the soup; returns the count, −1 if full.

    eps: distance below which a vertex lies on a plane [m]. soup.start[first] must be set.
    """
    count = _clip_faces(a, b, eps, False, 0, soup, first, capacity)
    if count < 0:
        return count
    return _clip_faces(b, a, eps, True, a.face_count, soup, count, capacity)


@kernel
def clip_floor(b: View, plane: PtrF8, eps: float, soup: Soup, first: int, capacity: int) -> int:
    """Append the down-facing faces of B below the plane N·x = d; returns the count or −1."""
    side = local_i8(512)
    floor = off(plane, 0)
    any_below = False
    for i in range(b.vert_count):
        v = off(b.verts, 3 * i)
        d = v[0] * floor[0] + v[1] * floor[1] + v[2] * floor[2] - floor[3]
        side[i] = 1 if d > eps else 0
        any_below = any_below or d < 0.0
    count = first
    if not any_below:
        return count
    for f in range(b.face_count):
        n = off(b.planes, 4 * f)
        if n[0] * floor[0] + n[1] * floor[1] + n[2] * floor[2] >= 0.0:
            continue
        cut, kept = False, False
        for j in range(b.loop_start[f], b.loop_start[f + 1]):
            if side[b.loops[j]] == 1:
                cut = True
            else:
                kept = True
        if not kept:
            continue
        size = _load_face(b, f, soup)
        if size > 0 and cut:
            size = cut_polygon(off(soup.clip, 0), size, floor, eps, off(soup.clip, 3 * MAX_POLYGON))
            count = _store(soup, count, f, off(soup.clip, 3 * MAX_POLYGON), size, capacity)
        else:
            count = _store(soup, count, f, soup.clip, size, capacity)
        if count < 0:
            return count
    return count


@kernel
def _clip_faces(
    a: View, b: View, eps: float, second: bool, owner: int, soup: Soup, count: int, capacity: int
) -> int:
    """Append the faces of a, clipped by b's planes; `second` drops what the first pass gave."""
    if b.face_count <= BIT_PLANES:
        return _clip_by_bits(a, b, eps, second, owner, soup, count, capacity)
    return _clip_by_list(a, b, eps, second, owner, soup, count, capacity)


@kernel
def _clip_by_bits(
    a: View, b: View, eps: float, second: bool, owner: int, soup: Soup, count: int, capacity: int
) -> int:
    """As `_clip_faces`, with one bit per plane and vertex.

    Where a face lies and what cuts it is as good as random in a heap, and a branch that is guessed
    wrong costs more than ten products: lists are filled by counting up, without branches.
    """
    out = local_i8(512)  # bit j: vertex outside plane j
    on = local_i8(512)  # bit j: vertex on plane j
    face = local_i4(256)  # faces that no single plane takes away
    cutters = local_i8(256)  # bit j: plane j cuts the face
    cutter = local_i4(BIT_PLANES)
    for i in range(a.vert_count):
        v = off(a.verts, 3 * i)
        x, y, z = v[0], v[1], v[2]
        bits, touch = 0, 0
        for j in range(b.face_count):
            n = off(b.planes, 4 * j)
            d = x * n[0] + y * n[1] + z * n[2] - n[3]
            bits |= int(d > eps) << j
            touch |= int(abs(d) <= eps) << j
        out[i] = bits
        on[i] = touch
    left = 0
    for f in range(a.face_count):
        all_out, any_out, all_on = -1, 0, -1
        for j in range(a.loop_start[f], a.loop_start[f + 1]):
            i = a.loops[j]
            all_out &= out[i]
            any_out |= out[i]
            all_on &= on[i]
        if second and all_on != 0 and _same_face(a, f, b, all_on):
            continue
        face[left] = f
        cutters[left] = any_out
        left += int(all_out == 0)
    for k in range(left):
        f, bits = face[k], cutters[k]
        cuts = 0
        for j in range(b.face_count):
            cutter[cuts] = j
            cuts += (bits >> j) & 1
        size = _load_face(a, f, soup)
        here, there = 0, 3 * MAX_POLYGON
        for j in range(cuts):
            plane = off(b.planes, 4 * cutter[j])
            size = cut_polygon(off(soup.clip, here), size, plane, eps, off(soup.clip, there))
            here, there = there, here
            if size == 0:
                break
        count = _store(soup, count, owner + f, off(soup.clip, here), size, capacity)
        if count < 0:
            return count
    return count


@kernel
def _clip_by_list(
    a: View, b: View, eps: float, second: bool, owner: int, soup: Soup, count: int, capacity: int
) -> int:
    """As `_clip_faces`, with a list of the planes that cut the common box."""
    lo, hi = _common_box(a, b)
    cutting = local_i4(512)  # planes of b that cut the common box
    wall = local_f8(4)
    planes = 0
    for j in range(b.face_count):
        n = off(b.planes, 4 * j)
        high = -n[3]
        for k in range(3):
            high += n[k] * (hi[k] if n[k] > 0.0 else lo[k])
        if high >= -eps:  # one that only touches the box may carry a face that both share
            cutting[planes] = j
            planes += 1
    for f in range(a.face_count):
        if _outside_box(a, f, lo, hi):
            continue
        size = _load_face(a, f, soup)
        here, there = 0, 3 * MAX_POLYGON
        # Planes that miss the common box were left out: what sticks out of the box has to go first.
        for side in range(6):
            k, sign = side >> 1, 1.0 - 2.0 * (side & 1)
            limit = hi[k] if sign > 0.0 else -lo[k]
            p = off(soup.clip, here)
            beyond = False
            for i in range(size):
                beyond = beyond or sign * p[3 * i + k] > limit + eps
            if beyond:
                wall[0], wall[1], wall[2], wall[3] = 0.0, 0.0, 0.0, limit
                wall[k] = sign
                size = cut_polygon(p, size, wall, eps, off(soup.clip, there))
                here, there = there, here
        for c in range(planes):
            plane = off(b.planes, 4 * cutting[c])
            outside, inside, touch = 0, 0, 0
            p = off(soup.clip, here)
            for i in range(size):
                d = (
                    p[3 * i] * plane[0]
                    + p[3 * i + 1] * plane[1]
                    + p[3 * i + 2] * plane[2]
                    - plane[3]
                )
                if d > eps:
                    outside += 1
                elif d >= -eps:
                    touch += 1
                else:
                    inside += 1
            if second and touch == size:
                n = off(a.planes, 4 * f)
                if n[0] * plane[0] + n[1] * plane[1] + n[2] * plane[2] > 0.0:
                    size = 0
            elif outside == size:
                size = 0
            elif outside > 0:
                size = cut_polygon(p, size, plane, eps, off(soup.clip, there))
                here, there = there, here
            if size == 0:
                break
        count = _store(soup, count, owner + f, off(soup.clip, here), size, capacity)
        if count < 0:
            return count
    return count


@kernel
def _common_box(a: View, b: View) -> tuple[Vec3, Vec3]:
    """Lower and upper corner of the box that the bounding boxes of both vertex sets share."""
    lo0, lo1, lo2 = -inf, -inf, -inf
    hi0, hi1, hi2 = inf, inf, inf
    for turn in range(2):
        verts = a.verts if turn == 0 else b.verts
        count = a.vert_count if turn == 0 else b.vert_count
        l0, l1, l2 = inf, inf, inf
        h0, h1, h2 = -inf, -inf, -inf
        for i in range(count):
            x, y, z = verts[3 * i], verts[3 * i + 1], verts[3 * i + 2]
            l0, l1, l2 = min(l0, x), min(l1, y), min(l2, z)
            h0, h1, h2 = max(h0, x), max(h1, y), max(h2, z)
        lo0, lo1, lo2 = max(lo0, l0), max(lo1, l1), max(lo2, l2)
        hi0, hi1, hi2 = min(hi0, h0), min(hi1, h1), min(hi2, h2)
    return (lo0, lo1, lo2), (hi0, hi1, hi2)


@kernel
def _outside_box(a: View, f: int, lo: Vec3, hi: Vec3) -> bool:
    """Whether all vertices of face f lie beyond one side of the box."""
    for k in range(3):
        below, above = True, True
        for j in range(a.loop_start[f], a.loop_start[f + 1]):
            x = a.verts[3 * a.loops[j] + k]
            below = below and x < lo[k]
            above = above and x > hi[k]
        if below or above:
            return True
    return False


@kernel
def _same_face(a: View, f: int, b: View, bits: int) -> bool:
    """Whether face f of a lies on a plane of b (bit set) that faces the same way."""
    n = off(a.planes, 4 * f)
    for j in range(b.face_count):
        if (bits >> j) & 1:
            o = off(b.planes, 4 * j)
            if n[0] * o[0] + n[1] * o[1] + n[2] * o[2] > 0.0:
                return True
    return False


@kernel
def _load_face(a: View, f: int, soup: Soup) -> int:
    """Copy the vertices of face f to the start of the clipping scratch; returns their number."""
    size = 0
    for j in range(a.loop_start[f], a.loop_start[f + 1]):
        v = off(a.verts, 3 * a.loops[j])
        soup.clip[3 * size] = v[0]
        soup.clip[3 * size + 1] = v[1]
        soup.clip[3 * size + 2] = v[2]
        size += 1
    return size


@kernel
def cut_polygon(poly: PtrF8, size: int, plane: PtrF8, eps: float, out: PtrF8) -> int:
    """Keep the part of a convex polygon with N·x ≤ d; returns its vertex count, 0 if none."""
    n0, n1, n2, n3 = plane[0], plane[1], plane[2], plane[3]
    px, py, pz = poly[3 * size - 3], poly[3 * size - 2], poly[3 * size - 1]
    before = px * n0 + py * n1 + pz * n2 - n3
    kept = 0
    for i in range(size):
        x, y, z = poly[3 * i], poly[3 * i + 1], poly[3 * i + 2]
        d = x * n0 + y * n1 + z * n2 - n3
        if (d > eps and before < -eps) or (d < -eps and before > eps):
            t = before / (before - d)
            out[3 * kept] = px + t * (x - px)
            out[3 * kept + 1] = py + t * (y - py)
            out[3 * kept + 2] = pz + t * (z - pz)
            kept += 1
        if d <= eps:
            out[3 * kept] = x
            out[3 * kept + 1] = y
            out[3 * kept + 2] = z
            kept += 1
        px, py, pz, before = x, y, z, d
    return kept if kept >= 3 else 0


@kernel
def _store(soup: Soup, count: int, owner: int, poly: PtrF8, size: int, capacity: int) -> int:
    """Append a polygon to the soup; returns the new count, or −1 when it does not fit."""
    if size < 3:
        return count
    at = soup.start[count]
    if at + size > capacity or count + 1 >= capacity:
        return -1
    out = off(soup.xyz, 3 * at)
    for i in range(3 * size):
        out[i] = poly[i]
    soup.owner[count] = owner
    soup.start[count + 1] = at + size
    return count + 1
