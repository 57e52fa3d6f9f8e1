"""Curved solids and hulls for tests: random ones, placed, and the kernels on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.collision.curved import (
    meet_solids,
)
from tangere.collision.distance import placed, solid
from tangere.geometry.curve import Curve
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Box, Capsule, Cone, Convex, Cylinder, Shape, Sphere
from tangere.model import PHASE_NEW

Array = NDArray[np.float64]
Generator = np.random.Generator

KINDS = ("ball", "capsule", "cylinder", "cone", "hull")


class Part(NamedTuple):
    """A convex part in the world, with the curved solid it stands for."""

    row: Array
    """As in `Hulls.curve`."""
    hull: Polyhedron
    exact: Curve | Polyhedron
    """What the oracles take."""


class Met(NamedTuple):
    near: bool
    normal: Array
    point: Array
    depth: float
    face: int


def part(shape: Shape, position: object = (0.0, 0.0, 0.0), turn: Array | None = None) -> Part:
    """The only part of a shape, turned by a 3x3 matrix and moved."""
    rotation = np.eye(3) if turn is None else np.asarray(turn)
    where = np.asarray(position, dtype=float)
    (piece,), (curve,) = shape.parts(), shape.curves()
    hull = placed(piece, rotation, where)
    if curve is None:
        return Part(np.zeros(9), hull, hull)
    moved = curve.moved(rotation, where)
    return Part(moved.row(), hull, moved)


def about(axis: str, degrees: float) -> Array:
    """Rotation matrix about a coordinate axis."""
    return np.asarray(Rotation.from_euler(axis, degrees, degrees=True).as_matrix())


def random_turn(rng: Generator) -> Array:
    return np.asarray(Rotation.random(rng=rng).as_matrix())


def random_shape(rng: Generator, kind: str) -> Shape:
    """About 1 m long, proportions up to 1 to 5."""
    r, length = rng.uniform(0.1, 0.5), rng.uniform(0.2, 1.0)
    if kind == "ball":
        return Sphere(r)
    if kind == "capsule":
        return Capsule(r, length)
    if kind == "cylinder":
        return Cylinder(r, length)
    if kind == "cone":
        return Cone(r, length)
    if rng.random() < 0.5:
        return Box(rng.uniform(0.2, 1.0, 3))
    return Convex(rng.normal(size=(12, 3)) * 0.4)


def size_of(shape: Shape) -> float:
    """As in `Hulls.size`."""
    (piece,), (curve,) = shape.parts(), shape.curves()
    if curve is not None:
        return float(curve.size())
    return float(np.ptp(piece.vertices, axis=0).min())


@kernel
def _meet(
    row_a: Array,
    hull_a: Polyhedron,
    row_b: Array,
    hull_b: Polyhedron,
    size: float,
    margin: float,
    phase: int,
    normal: Array,
    simplex: NDArray[np.int32],
    out: Array,
) -> None:
    """meet_solids on arrays: near, point, depth and face go to out."""
    a, b = solid(hull_a, row_a), solid(hull_b, row_b)
    found = meet_solids(a, b, size, margin, phase, ptr(normal), ptr(simplex))
    out[0] = 1.0 if found.near else 0.0
    out[1], out[2], out[3] = found.point
    out[4], out[5] = found.depth, found.face
    out[6], out[7], out[8] = found.normal


def meet(
    a: Part,
    b: Part,
    size: float,
    margin: float = 0.0,
    phase: int = PHASE_NEW,
    normal: object = (0.0, 0.0, 1.0),
) -> Met:
    """How two parts meet, by `meet_solids`."""
    n, out = np.array(normal, dtype=float), np.zeros(9)
    simplex = np.zeros(9, np.int32)
    _meet(a.row, a.hull, b.row, b.hull, size, margin, phase, n, simplex, out)
    if out[0]:
        np.testing.assert_array_equal(n, out[6:9])
    return Met(bool(out[0]), n, out[1:4], float(out[4]), int(out[5]))
