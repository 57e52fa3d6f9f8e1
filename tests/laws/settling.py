"""Random bodies that settle, and how deep they rest in the floor and in each other.

The springs of the volume method carry a body at rest by F = k V/S, with V the overlap and S its
area: the mean depth V/S of a body on a floor is m g/k, whatever its shape and however it came to
lie. Depths are measured here from shapes and poses alone, not from what a simulation says of its
contacts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tangere as tg
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

GRAVITY = 9.81  # [m/s²]
SIZE = (0.05, 0.4)  # [m]
MASS = (0.1, 5.0)  # [kg]
STIFFNESS = (1e4, 1e8)  # [N/m]
STEPS = (1e-3, 5e-3)  # [s], in turn
DROP = 2.0  # [m] at most
STILL = 1e-4  # [m/s] below which a body rests
AT_REST = 2.0  # [s] for which it has to, before its depth is measured
LONGEST = 12.0  # [s] after which it is measured in any case
BLOCK = 0.1  # [m] edge of the boxes of a heap
BALL, WELL = 0.05, 0.5  # [m] radius of balls, and width of the box that they fall into


# ---------------------------------------------------------------- one body on the floor


def _box(rng: np.random.Generator, size: float) -> Shape:
    return tg.Box(size * rng.uniform(0.3, 1.0, 3))


def _hull(rng: np.random.Generator, size: float) -> Shape:
    points = rng.normal(size=(12, 3))
    return tg.Convex(0.5 * size * points / np.linalg.norm(points, axis=1)[:, None])


def _sphere(rng: np.random.Generator, size: float) -> Shape:
    return tg.Sphere(0.5 * size)


def _cylinder(rng: np.random.Generator, size: float) -> Shape:
    return tg.Cylinder(size * rng.uniform(0.2, 0.5), size * rng.uniform(0.4, 1.0))


KINDS: dict[str, Callable[[np.random.Generator, float], Shape]] = {
    "box": _box,
    "hull": _hull,
    "sphere": _sphere,
    "cylinder": _cylinder,
}
ROLLING = ("sphere", "cylinder")  # may roll on, which takes nothing from their rest


@dataclass(frozen=True)
class Settling:
    """One body about to fall on the floor z = 0, and the step [s] to run it with."""

    seed: int
    kind: str
    shape: Shape
    scene: tg.Scene
    stiffness: float
    dt: float

    @property
    def elastic(self) -> float:
        """Mean depth at which the springs carry the body [m]."""
        return self.scene.bodies[0].mass * GRAVITY / self.stiffness


def settling(seed: int, dt: float | None = None, soft: float | None = None) -> Settling:
    """The settling of a seed; kinds and steps take turns, the rest is drawn.

    dt: another step. soft: k dt²/m in place of a stiffness that is drawn, for the explicit step.
    """
    rng = np.random.default_rng((2003, seed))
    kind = list(KINDS)[seed % len(KINDS)]
    if dt is None:
        dt = STEPS[seed // len(KINDS) % len(STEPS)]
    shape = KINDS[kind](rng, _log_uniform(rng, SIZE))
    mass, k = _log_uniform(rng, MASS), _log_uniform(rng, STIFFNESS)
    if soft is not None:
        k = soft * mass / dt**2
    scene = tg.Scene(gravity=(0.0, 0.0, -GRAVITY))
    material = tg.Material(0.6, 0.5, stiffness=k)
    scene.add_floor(material=tg.Material(0.6, 0.5))
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    low = float((shape.surface()[0] @ rotation_of(q).T)[:, 2].min())
    scene.add_body(
        shape,
        mass=mass,
        position=(0.0, 0.0, rng.uniform(0.0, DROP) - low),
        orientation=q,
        velocity=rng.normal(size=3) * rng.choice([0.0, 0.5]),
        angular_velocity=rng.normal(size=3) * rng.choice([0.0, 5.0]),
        material=material,
    )
    return Settling(seed, kind, shape, scene, k, dt)


def settle(case: Settling, integrator: str = "implicit") -> tuple[float, float]:
    """Mean depth at rest [m], and the time it took [s]."""
    sim = tg.Simulation(case.scene, dt=case.dt, integrator=integrator)
    reach = float(np.linalg.norm(case.shape.surface()[0], axis=1).max())
    steps, still = round(0.1 / case.dt), 0.0
    while still < AT_REST and sim.time < LONGEST:
        sim.step(steps)
        body = sim[0]
        spin = body.angular_velocity[:2]
        if case.kind in ROLLING:  # about its own axis, or any
            axis = rotation_of(body.orientation)[:2, 2]
            spin = spin - axis * (spin @ axis) if case.kind == "cylinder" else 0.0 * spin
        speed = abs(float(body.velocity[2])) + reach * float(np.linalg.norm(spin))
        still = still + steps * case.dt if speed < STILL else 0.0
    return mean_depth(case.shape, sim[0].position, sim[0].orientation), sim.time


def mean_depth(shape: Shape, position: Array, orientation: Array) -> float:
    """Overlap of a convex body with the floor z = 0 over the area of that overlap [m].

    Of a shallow cap of depth d that is d/2; of the strip under a lying cylinder 2/3 d.
    """
    if isinstance(shape, tg.Sphere):
        return 0.5 * (shape.radius - float(position[2]))
    if isinstance(shape, tg.Cylinder):
        up = float(rotation_of(orientation)[2, 2])
        if abs(up) < 0.5:
            return 2.0 / 3.0 * (shape.radius - float(position[2]))
        return 0.5 * shape.length - float(position[2])
    verts, faces = shape.surface()
    verts = verts @ rotation_of(orientation).T + position
    volume = area = 0.0
    for face in faces:
        below = _below(verts[face])
        for b, c in itertools.pairwise(below[1:]):
            a = below[0]
            s = -0.5 * float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
            if s > 0.0:  # faces down
                area += s
                volume -= s * float(a[2] + b[2] + c[2]) / 3.0
    return volume / area if area > 0.0 else 0.0


def _below(polygon: Array) -> list[Array]:
    """The part of a polygon with z < 0."""
    out = []
    for p, q in zip(np.roll(polygon, 1, axis=0), polygon, strict=True):
        if (p[2] < 0.0) != (q[2] < 0.0):
            out.append(p + (q - p) * p[2] / (p[2] - q[2]))
        if q[2] < 0.0:
            out.append(q)
    return out


# ---------------------------------------------------------------- heaps


def heap(count: int, seed: int) -> tg.Scene:
    """Boxes of 10 cm and 1 kg of the default material, turned anyhow, fall on each other."""
    rng = np.random.default_rng((count, seed))
    scene = tg.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add_floor()
    side = max(2, round((count / 4.0) ** (1.0 / 3.0) * 1.4))
    spacing = 1.8 * BLOCK
    for i in range(count):
        layer, place = divmod(i, side * side)
        # a layer shifted sideways falls between the boxes of the one below; none overlap
        grid = np.array([place % side, place // side]) - 0.5 * (side - 1) + 0.35 * (layer % 2)
        q = rng.normal(size=4)
        scene.add_body(
            tg.Box((BLOCK, BLOCK, BLOCK)),
            mass=1.0,
            position=(*(spacing * grid), spacing * (layer + 1)),
            orientation=q / np.linalg.norm(q),
        )
    return scene


def overlaps(edge: float, positions: Array, rotations: Array) -> tuple[Array, Array]:
    """Depths of all overlaps of equal cubes: in the floor z = 0 by corner, and in each other [m].

    In each other: the shortest way apart, along one of the 15 axes that can separate two boxes.
    """
    corners = 0.5 * edge * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    heights = positions[:, 2, None] + rotations[:, 2, :] @ corners.T
    floor = -heights.min(axis=1)
    near = math.sqrt(3.0) * edge
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    a, b = np.nonzero(np.triu(apart < near, k=1))
    ra, rb = rotations[a], rotations[b]  # columns are the axes
    crossed = np.cross(ra.swapaxes(1, 2)[:, :, None], rb.swapaxes(1, 2)[:, None]).reshape(-1, 9, 3)
    axes = np.concatenate((ra.swapaxes(1, 2), rb.swapaxes(1, 2), crossed), axis=1)
    size = np.linalg.norm(axes, axis=2)
    axes = axes / np.where(size > 1e-6, size, 1.0)[..., None]
    reach = 0.5 * edge * (np.abs(axes @ ra).sum(axis=2) + np.abs(axes @ rb).sum(axis=2))
    depth = reach - np.abs(np.einsum("nij,nj->ni", axes, positions[b] - positions[a]))
    depth = np.where(size > 1e-6, depth, np.inf).min(axis=1)
    return floor[floor > 0.0], depth[depth > 0.0]


def balls(count: int, seed: int) -> tg.Scene:
    """Balls of 0.5 kg and the default material, thrown into a box of four walls."""
    rng = np.random.default_rng((count, seed))
    scene = tg.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add_floor()
    for along, side in itertools.product((0, 1), (-1.0, 1.0)):
        size, at = np.array([WELL + 0.2, WELL + 0.2, 2.0]), np.array([0.0, 0.0, 1.0])
        size[along], at[along] = 0.1, side * (0.5 * WELL + 0.05)
        scene.add_body(tg.Box(size), mass=1.0, position=at, fixed=True)
    for i in range(count):
        layer, place = divmod(i, 16)
        grid = np.array([place % 4 - 1.5, place // 4 - 1.5, layer + 0.7])
        scene.add_body(
            tg.Sphere(BALL),
            mass=0.5,
            position=2.3 * BALL * grid + rng.uniform(-5e-3, 5e-3, 3),
            velocity=0.3 * rng.normal(size=3),
        )
    return scene


def ball_overlaps(positions: Array) -> Array:
    """Depths of all overlaps of `balls` with each other, the floor and the walls [m]."""
    a, b = np.triu_indices(len(positions), 1)
    gaps = np.concatenate(
        (
            np.linalg.norm(positions[a] - positions[b], axis=1) - 2.0 * BALL,
            positions[:, 2] - BALL,
            (0.5 * WELL - BALL - np.abs(positions[:, :2])).ravel(),
        )
    )
    return np.asarray(-gaps[gaps < 0.0])


def _log_uniform(rng: np.random.Generator, span: tuple[float, float]) -> float:
    return math.exp(rng.uniform(math.log(span[0]), math.log(span[1])))
