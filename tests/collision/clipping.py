"""Face clipping called on plain polyhedra, and what its polygons enclose."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.clip import clip_floor, clip_volume
from tangere.collision.distance import placed, view
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import rotation_of
from tangere.model import Soup, new_soup

Array = NDArray[np.float64]

EPS = 1e-13
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@kernel
def _volume(a: Polyhedron, b: Polyhedron, eps: float, soup: Soup, first: int, capacity: int) -> int:
    """clip_volume on arrays."""
    s = pointers(soup)
    return clip_volume(view(a), view(b), eps, s, first, capacity)


@kernel
def _floor(b: Polyhedron, plane: Array, eps: float, soup: Soup, first: int, capacity: int) -> int:
    """clip_floor on arrays."""
    s = pointers(soup)
    return clip_floor(view(b), ptr(plane), eps, s, first, capacity)


class Clipped(NamedTuple):
    """Polygons of a contact volume and the faces that carry them."""

    polygons: list[Array]
    owner: list[int]

    def area_vectors(self) -> Array:
        """Area times outward normal of each polygon."""
        fans = [np.cross(p[1:-1] - p[0], p[2:] - p[0]).sum(axis=0) for p in self.polygons]
        return 0.5 * np.array(fans).reshape(-1, 3)

    def volume(self) -> float:
        """By the divergence theorem."""
        if not self.polygons:
            return 0.0
        base = self.polygons[0][0]
        heights = np.array([p.mean(axis=0) - base for p in self.polygons])
        return float(np.einsum("ij,ij->", heights, self.area_vectors()) / 3.0)

    def surface(self) -> float:
        return float(np.linalg.norm(self.area_vectors(), axis=1).sum())


def at(
    shape: Shape,
    position: tuple[float, ...] | Array = (0.0, 0.0, 0.0),
    orientation: tuple[float, ...] | Array = UPRIGHT,
) -> Polyhedron:
    """The first convex part of a shape in the world."""
    return placed(shape.parts()[0], rotation_of(np.array(orientation)), np.array(position))


def fresh(capacity: int) -> Soup:
    """Room full of NaN: whoever reads what was not written will show it."""
    soup = new_soup(capacity)
    for array in (soup.xyz, soup.plane, soup.slope, soup.clip):
        array[:] = np.nan
    return soup


def read(soup: Soup, first: int, count: int) -> Clipped:
    edges = soup.start[first : count + 1]
    rings = [soup.xyz[i:j].copy() for i, j in pairwise(edges)]
    return Clipped(rings, soup.owner[first:count].tolist())


def clip(a: Polyhedron, b: Polyhedron, eps: float = EPS, capacity: int = 4096) -> Clipped | None:
    """Polygons of A ∩ B; None when they do not fit."""
    soup = fresh(capacity)
    count = _volume(a, b, eps, soup, 0, capacity)
    return None if count < 0 else read(soup, 0, count)


def clip_below(
    b: Polyhedron, plane: tuple[float, ...], eps: float = EPS, capacity: int = 4096
) -> Clipped | None:
    """Down-facing polygons of B below a plane N·x = d; None when they do not fit."""
    soup = fresh(capacity)
    count = _floor(b, np.array(plane, dtype=np.float64), eps, soup, 0, capacity)
    return None if count < 0 else read(soup, 0, count)


def append(soup: Soup, a: Polyhedron, b: Polyhedron, first: int) -> int:
    """Add A ∩ B behind the `first` polygons of the soup."""
    return _volume(a, b, EPS, soup, first, len(soup.owner))


def prism(corners: int, radius: float = 0.5, height: float = 1.0, turn: float = 0.0) -> Polyhedron:
    """Upright prism around the origin; with more than 60 corners its planes do not fit in bits."""
    t = turn + 2.0 * np.pi * np.arange(corners) / corners
    ring = np.column_stack((radius * np.cos(t), radius * np.sin(t)))
    vertices = np.vstack(
        (np.c_[ring, np.full(corners, -0.5 * height)], np.c_[ring, np.full(corners, 0.5 * height)])
    )
    middle = t + np.pi / corners
    inner = radius * np.cos(np.pi / corners)
    walls = np.column_stack(
        (np.cos(middle), np.sin(middle), np.zeros(corners), np.full(corners, inner))
    )
    lids = [(0.0, 0.0, 1.0, 0.5 * height), (0.0, 0.0, -1.0, 0.5 * height)]
    loops = []
    for i in range(corners):
        j = (i + 1) % corners
        loops.append([i, j, corners + j, corners + i])
    loops += [list(range(corners, 2 * corners)), list(range(corners - 1, -1, -1))]
    start = np.cumsum([0, *(len(loop) for loop in loops)])
    return Polyhedron(
        vertices,
        np.vstack((walls, lids)),
        start.astype(np.int32),
        np.concatenate(loops).astype(np.int32),
    )


def moved(p: Polyhedron, shift: tuple[float, float, float]) -> Polyhedron:
    return placed(p, np.eye(3), np.array(shift))
