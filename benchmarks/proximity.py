"""Time of a step's proximity: move, refit and pairs of a soft ring on a cylinder and on a tube.

    python benchmarks/proximity.py [rounds]

Each figure is the median over rounds of 100 steps each, in microseconds a step; the pose changes a
little from step to step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import off, pointers, ptr
from tangere.collision.distance import placed, solid
from tangere.collision.feature_pairs import (
    FeaturePairs,
    Limits,
    clear_pairs,
    new_feature_pairs,
)
from tangere.collision.proximity import surface_pairs
from tangere.collision.solid_proximity import solid_pairs
from tangere.collision.surfaces import Surfaces, build_surfaces, move_surface, refit
from tangere.collision.thinning import ThinScratch, new_thin_scratch, thin
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Cylinder
from tangere.maths.vec import Array, IntArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from collision.meshes import Mesh, ring, tube

STEPS = 100
REACH, DEPTH = 1e-3, 2e-3


@kernel
def move_and_refit(s: Surfaces, poses: Array, turn: Array, surfaces: int) -> None:
    p = pointers(s)
    for step in range(len(poses)):
        for k in range(surfaces):
            # only the ring moves; the other is moved and refitted all the same, as if it deformed
            move_surface(p, k, off(ptr(poses), 3 * step if k == 0 else 0), ptr(turn))
            refit(p, k, 0.0)


@kernel
def on_cylinder(
    s: Surfaces, poses: Array, turn: Array, hull: Polyhedron, row: Array, out: FeaturePairs
) -> int:
    p, q = pointers(s), pointers(out)
    b = solid(hull, row)
    count = 0
    for step in range(len(poses)):
        move_surface(p, 0, off(ptr(poses), 3 * step), ptr(turn))
        refit(p, 0, 0.0)
        clear_pairs(q)
        count = solid_pairs(p, 0, b, 0, Limits(REACH, DEPTH), q)
    return count


@kernel
def on_tube(s: Surfaces, poses: Array, zero: Array, turn: Array, out: FeaturePairs) -> int:
    p, q = pointers(s), pointers(out)
    count = 0
    for step in range(len(poses)):
        move_surface(p, 0, off(ptr(poses), 3 * step), ptr(turn))
        refit(p, 0, 0.0)
        move_surface(p, 1, ptr(zero), ptr(turn))
        refit(p, 1, 0.0)
        clear_pairs(q)
        count = surface_pairs(p, 0, 1, Limits(REACH, DEPTH), q)
    return count


@kernel
def cap(
    out: FeaturePairs, count: int, carried: IntArray, scratch: ThinScratch, chosen: IntArray
) -> int:
    q, kept = pointers(out), 0
    for _ in range(STEPS):
        kept = thin(q, 0, count, q.gap, ptr(carried), 24, pointers(scratch), ptr(chosen))
    return kept


def microseconds(run: Callable[[], object], rounds: int) -> float:
    """Median time of a step."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    return float(np.median(times)) / STEPS * 1e-3


def poses(x: float) -> Array:
    rng = np.random.default_rng(0)
    return np.array([x, 0.0, 0.0]) + rng.uniform(-2e-5, 2e-5, (STEPS, 3))


def line(
    name: str, s: Surfaces, out: FeaturePairs, count: int, figures: NDArray[np.float64]
) -> None:
    kinds = np.bincount(out.key[:count, 0], minlength=10)
    vertices = int(kinds[[0, 1, 2, 3, 4, 6]].sum())
    parts = "  ".join(f"{x:8.1f}" for x in figures)
    sys.stdout.write(
        f"{name:34s} {s.vertex_start[-1]:6d} {s.triangle_start[-1]:6d} {count:5d} {vertices:4d} "
        f"{int(kinds[[5, 7]].sum()):4d} {int(kinds[8]):4d}  {parts}\n"
    )


def near(mesh: Mesh, radius: float) -> Mesh:
    """The triangles of a mesh at a radius from its axis: an open contact patch."""
    points, triangles = mesh
    at = np.isclose(np.hypot(points[:, 0], points[:, 1]), radius)
    return points, np.ascontiguousarray(triangles[at[triangles].all(axis=1)])


def main(rounds: int) -> None:
    sys.stdout.write(
        f"{'':34s} {'vert.':>6s} {'tri.':>6s} {'pairs':>5s} {'v':>4s} {'e':>4s} {'f':>4s}  "
        f"{'refit':>8s}  {'pairs':>8s}  {'step':>8s}  {'cap':>8s}   µs\n"
    )
    clip = ring((0.010, 0.012), 0.008, np.radians(50.0), (60, 2, 3))
    turn, zero = np.eye(3), np.zeros(3)
    out, scratch = new_feature_pairs(2000), new_thin_scratch(2000)
    carried, chosen = np.zeros(2000, np.int32), np.zeros(2000, np.int32)

    def measured(name: str, s: Surfaces, count: int, run: Callable[[], int], k: int) -> None:
        path = poses(-0.0129)
        whole = microseconds(run, rounds)
        fit = microseconds(lambda: move_and_refit(s, path, turn, k), rounds)
        thinned = microseconds(lambda: cap(out, count, carried, scratch, chosen), rounds)
        line(name, s, out, count, np.array([fit, whole - fit, whole, thinned]))

    def cylinder(name: str, mesh: Mesh, x: float) -> None:
        s = build_surfaces([(0, *mesh, True)])
        shape = Cylinder(0.010, 0.06)
        hull = placed(shape.parts()[0], np.eye(3), np.zeros(3))
        curve = shape.curves()[0]
        assert curve is not None
        row, path = curve.row(), poses(x)

        def run() -> int:
            return on_cylinder(s, path, turn, hull, row, out)

        measured(name, s, run(), run, 1)

    def on(name: str, mesh: Mesh, other: Mesh, x: float) -> None:
        s = build_surfaces([(0, *mesh, True), (1, *other, True)])
        path = poses(x)

        def run() -> int:
            return on_tube(s, path, zero, turn, out)

        measured(name, s, run(), run, 2)

    cylinder("ring, lips on a cylinder", clip, -0.0129)
    cylinder("ring, seated on a cylinder", clip, 0.0)
    pipe = tube((0.008, 0.010), 0.06, (32, 1, 12))
    on("ring, lips on a tube", clip, pipe, -0.0129)
    on("ring, seated on a tube", clip, pipe, 0.0)
    on("the same, faces in contact alone", near(clip, 0.010), near(pipe, 0.010), 0.0)
    for times in (1, 4, 16):
        longer = tube((0.008, 0.010), 0.06 * times, (32, 1, 12 * times))
        on(f"ring, lips on a tube {times} times as long", clip, longer, -0.0129)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
