"""Random convex shapes and placements that cover what collision code meets, easy and nasty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import HalfspaceIntersection
from scipy.spatial.transform import Rotation

from tangere.collision.distance import edges
from tangere.geometry.shapes import Convex
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]
Generator = np.random.Generator
Placed = tuple[Array, Array]

KINDS = ("cloud", "simple", "prism", "box", "lattice", "flat")
PLACEMENTS = ("apart", "near", "touching", "shallow", "deep", "faces", "aligned", "nested")


def directions(rng: Generator, n: int) -> Array:
    v = rng.normal(size=(n, 3))
    return np.asarray(v / np.linalg.norm(v, axis=1)[:, None])


def random_shape(rng: Generator, kind: str, size: float = 1.0) -> Convex:
    """A shape of 4 to 192 vertices and at most 256 faces, about `size` long."""
    few = rng.random() < 0.5
    if kind == "cloud":
        points = directions(rng, int(rng.integers(4, 16 if few else 130)))
        points *= rng.uniform(0.9, 1.0, size=(len(points), 1)) if rng.random() < 0.5 else 1.0
        while np.linalg.matrix_rank(points - points.mean(axis=0), tol=0.05) < 3:
            points = directions(rng, 4)
    elif kind == "simple":  # three faces at each vertex: many vertices, few faces
        n = directions(rng, int(rng.integers(2, 10 if few else 92)))
        cage = np.vstack((np.eye(3), -np.eye(3)))
        planes = np.vstack((np.c_[n, -np.ones(len(n))], np.c_[cage, -1.5 * np.ones(6)]))
        points = HalfspaceIntersection(planes, np.zeros(3)).intersections
    elif kind == "prism":
        corners = int(rng.integers(3, 8 if few else 97))
        t = 2.0 * np.pi * np.arange(corners) / corners
        h = float(rng.uniform(0.05, 2.0))
        points = np.array([(np.cos(s), np.sin(s), z) for s in t for z in (-h, h)])
    elif kind == "box":
        half = 10.0 ** rng.uniform(-2.0, 0.0, size=3)
        points = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    elif kind == "lattice":  # many coplanar points and parallel edges
        points = np.round(rng.normal(size=(40, 3)) * 1.5) / 2.0
        points = np.vstack((points, np.eye(3) * 0.5, -np.eye(3) * 0.5))
    else:  # plates and needles
        points = directions(rng, int(rng.integers(6, 40)))
        points = points * 10.0 ** rng.uniform(-3.0, 0.0, size=3)
    points = points / np.ptp(points, axis=0).max()
    return Convex(points * size)


def random_pool(seed: int, count: int, low: float = -3.0, high: float = 3.0) -> list[Convex]:
    """Shapes of all kinds, sizes from 10^low to 10^high m."""
    rng = np.random.default_rng(seed)
    return [
        random_shape(rng, KINDS[k % len(KINDS)], 10.0 ** rng.uniform(low, high))
        for k in range(count)
    ]


def extent(shape: Convex) -> float:
    return float(np.ptp(shape.parts()[0].vertices, axis=0).max())


def random_pair(
    rng: Generator, pool: list[Convex], how: str
) -> tuple[Convex, Placed, Convex, Placed]:
    """Two shapes of the pool, now and then the same twice, and their poses of the kind `how`."""
    a, b = (pool[int(rng.integers(len(pool)))] for _ in range(2))
    if how in ("aligned", "nested") and rng.random() < 0.3:
        b = a
    pose_a, pose_b = random_placement(rng, a, b, how)
    return a, pose_a, b, pose_b


def world_vertices(shape: Convex, pose: Placed, origin: Array) -> Array:
    """Vertices in world axes, seen from `origin`."""
    return np.asarray(shape.parts()[0].vertices @ rotation_of(pose[1]).T + (pose[0] - origin))


def random_placement(rng: Generator, a: Convex, b: Convex, how: str) -> tuple[Placed, Placed]:
    """Poses of a and b, each (position, quaternion w x y z), of the kind `how`."""
    qa, qb = _quaternion(rng), _quaternion(rng)
    if how == "aligned":
        qa = qb = np.array([1.0, 0.0, 0.0, 0.0])
    ra, rb = rotation_of(qa), rotation_of(qb)
    d = directions(rng, 1)[0]
    small = min(extent(a), extent(b))
    if how == "faces":  # one face of each on a common plane, facing each other
        f = a.parts()[0].planes[rng.integers(len(a.parts()[0].planes))]
        g = b.parts()[0].planes[rng.integers(len(b.parts()[0].planes))]
        d = ra @ f[:3]
        rb = _align(g[:3], -d) if rng.random() < 0.9 else rb
        qb = np.asarray(Rotation.from_matrix(rb).as_quat(scalar_first=True))
        rb = rotation_of(qb)
    if how == "aligned" and rng.random() < 0.7:
        d = np.eye(3)[rng.integers(3)]
    u, v = a.parts()[0].vertices, b.parts()[0].vertices
    u, v = u @ ra.T, v @ rb.T
    if how in ("near", "touching", "shallow"):  # a feature of each meets at one point
        d, at = _touch(rng, a, ra, b, rb)
        gap = small * 10.0 ** rng.uniform(-9.0, -2.0)
        t = {"near": gap, "touching": 0.0, "shallow": -gap}[how]
        where = rng.normal(size=3) * max(extent(a), extent(b))
        return (where, qa), (where + at + t * d, qb)
    h = (u @ d).max() - (v @ d).min()  # just touching along d
    side = directions(rng, 1)[0] * small * rng.uniform(0.0, 0.4)
    side -= d * (side @ d)
    if how == "aligned" and rng.random() < 0.5:
        side = np.zeros(3)  # equal shapes then have their sides flush
    if how == "apart":
        t = h + small * 10.0 ** rng.uniform(-3.0, 1.0)
    elif how == "nested":
        t, side = 0.0, small * rng.uniform(-0.05, 0.05, size=3)
    elif how == "deep":
        t = h * rng.uniform(0.0, 0.95)
    else:
        exponent = 10.0 ** rng.uniform(-9.0, -0.5)
        t = h + small * float(rng.choice([0.0, -exponent, exponent]))
    where = rng.normal(size=3) * max(extent(a), extent(b))
    return (where, qa), (where + t * d + side, qb)


def _touch(rng: Generator, a: Convex, ra: Array, b: Convex, rb: Array) -> tuple[Array, Array]:
    """Outward direction of a, and the shift of b that makes features meet: vertex, edge or face."""
    p, q = a.parts()[0], b.parts()[0]
    u, v = p.vertices @ ra.T, q.vertices @ rb.T
    kind = rng.integers(3)
    if kind == 0:  # the outermost vertices along any direction
        d = directions(rng, 1)[0]
        return d, u[np.argmax(u @ d)] - v[np.argmin(v @ d)]
    if kind == 1:  # a point of a face of a, the outermost vertex of b
        f = int(rng.integers(len(p.planes)))
        d = ra @ p.planes[f, :3]
        loop = u[p.loops[p.loop_start[f] : p.loop_start[f + 1]]]
        return d, rng.dirichlet(np.ones(len(loop))) @ loop - v[np.argmin(v @ d)]
    for _ in range(50):  # two edges that cross
        e, g = edges(p), edges(q)
        i, j = e[rng.integers(len(e))], g[rng.integers(len(g))]
        d = np.cross(u[i[1]] - u[i[0]], v[j[1]] - v[j[0]])
        d = d / (np.linalg.norm(d) + 1e-300)
        d = d if d @ ra @ (p.planes[i[2], :3] + p.planes[i[3], :3]) > 0.0 else -d
        at = u[i[0]] - v[j[0]]
        if (u @ d).max() - (u[i[0]] @ d) + (v[j[0]] @ d) - (v @ d).min() < 1e-9 * extent(a):
            s, t = rng.random(2)
            return d, at + s * (u[i[1]] - u[i[0]]) - t * (v[j[1]] - v[j[0]])
    return d, u[np.argmax(u @ d)] - v[np.argmin(v @ d)]


def _quaternion(rng: Generator) -> Array:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def _align(n: Array, target: Array) -> Any:
    """A rotation that takes unit n to the unit target."""
    return Rotation.align_vectors(target[None], n[None])[0].as_matrix()
