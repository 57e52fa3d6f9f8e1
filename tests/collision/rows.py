"""Feature pairs as Python objects, found by the kernels, and checks that hold for every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from collision.meshes import Mesh
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.feature_pairs import (
    FULL,
    FeaturePairs,
    Limits,
    clear_pairs,
    new_feature_pairs,
)
from tangere.collision.proximity import plane_pairs, surface_pairs
from tangere.collision.surfaces import Surfaces, build_surfaces, move_surface, refit

Array = NDArray[np.float64]

ROOM = 4000


class Row(NamedTuple):
    key: tuple[int, int, int]
    nodes: tuple[int, ...]
    weights: Array
    on_a: Array
    on_b: Array
    normal: Array
    gap: float


@kernel
def settle(s: Surfaces, k: int, x: Array, r: Array) -> None:
    p = pointers(s)
    move_surface(p, k, ptr(x), ptr(r))
    refit(p, k, 0.0)


@kernel
def of_surfaces(s: Surfaces, a: int, b: int, reach: float, depth: float, out: FeaturePairs) -> int:
    q = pointers(out)
    clear_pairs(q)
    return surface_pairs(pointers(s), a, b, Limits(reach, depth), q)


@kernel
def of_plane(s: Surfaces, plane: Array, reach: float, depth: float, out: FeaturePairs) -> int:
    q = pointers(out)
    clear_pairs(q)
    return plane_pairs(pointers(s), 0, ptr(plane), 5, Limits(reach, depth), q)


def surfaces(*meshes: Mesh, turn: Array | None = None, shift: object = (0.0, 0.0, 0.0)) -> Surfaces:
    """Surfaces of bodies that all have one pose; the first is soft."""
    s = build_surfaces([(k, x, t, k == 0) for k, (x, t) in enumerate(meshes)])
    for k in range(len(meshes)):
        settle(s, k, np.array(shift, float), np.eye(3) if turn is None else turn.copy())
    return s


def rows_of(out: FeaturePairs, count: int) -> list[Row]:
    """Rows in the order of their keys."""
    rows = [
        Row(
            (int(out.key[i, 0]), int(out.key[i, 1]), int(out.key[i, 2])),
            tuple(int(n) for n in out.nodes[i]),
            out.weights[i].copy(),
            out.points[i, :3].copy(),
            out.points[i, 3:].copy(),
            out.normal[i].copy(),
            float(out.gap[i]),
        )
        for i in range(count)
    ]
    return sorted(rows, key=lambda row: row.key)


def pairs(
    s: Surfaces, a: int = 0, b: int = 1, reach: float = 1e-3, depth: float = 2e-3
) -> list[Row]:
    """Rows of two surfaces, checked."""
    out = poisoned(ROOM)
    count = of_surfaces(s, a, b, reach, depth, out)
    assert out.filled[FULL] == 0
    found = rows_of(out, count)
    check(s, found, reach, depth)
    return found


def floor_pairs(
    s: Surfaces, plane: Sequence[float], reach: float = 1e-3, depth: float = 2e-3
) -> list[Row]:
    """Rows of surface 0 and a half-space, checked."""
    out = poisoned(ROOM)
    found = rows_of(out, of_plane(s, np.array(plane), reach, depth, out))
    check(s, found, reach, depth)
    return found


def poisoned(room: int) -> FeaturePairs:
    """An empty buffer in which whatever is not written shows."""
    out = new_feature_pairs(room)
    for field in (out.weights, out.points, out.normal, out.gap):
        field[:] = np.nan
    out.key[:], out.nodes[:] = -99, -99
    return out


def check(s: Surfaces, rows: list[Row], reach: float, depth: float) -> None:
    """What every row keeps: points made by weights, unit normal, gap along it, keys once."""
    assert len({row.key for row in rows}) == len(rows)
    for row in rows:
        assert abs(np.linalg.norm(row.normal) - 1.0) < 1e-12
        assert abs(row.normal @ (row.on_b - row.on_a) - row.gap) < 1e-15
        assert -depth <= row.gap <= reach
        for side, point in ((0, row.on_a), (1, row.on_b)):
            nodes = np.array(row.nodes[3 * side : 3 * side + 3])
            weights = row.weights[3 * side : 3 * side + 3]
            assert (weights >= 0.0).all()
            assert (weights[nodes < 0] == 0.0).all()
            if (nodes >= 0).any():
                assert abs(weights.sum() - 1.0) < 1e-14
                there = weights[nodes >= 0] @ s.now[nodes[nodes >= 0]]
                assert np.abs(there - point).max() < 1e-14
