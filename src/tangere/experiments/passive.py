"""Random passive scenes: nothing drives them, so their total energy must never rise.

A seed gives one scene, always the same. Its category goes round with the seed, everything else is
drawn: 2 to 20 bodies of all shapes, stiffness 10³ to 10⁸ N/m and steps of 0.5 to 5 ms evenly in
the logarithm, sizes, masses up to 1 : 1000, friction 0 to 1.2, damping ratios 0 to 1, heights,
throws and spins. The floor is z = 0 and gravity points down, so the potential energy that a
simulation tells is measured from the floor. Nothing is capped: a heavy body on soft springs sinks
in as far as it likes, and a fast one may pass through a thin one within a step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import tangere as tg
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import quat_product, rotation_of
from tangere.maths.vec import Array
from tangere.scene.library import UPRIGHT, X, Y, Z, ring_mesh, turn

GRAVITY = 9.81  # [m/s²]
STIFFNESS = (1e3, 1e8)  # [N/m]
STEP = (5e-4, 5e-3)  # [s]
SIZE = (0.08, 0.6)  # [m] of a typical body of a scene
HEAVIEST = 10.0  # [kg]
LIGHTEST_SHARE = 1e-3  # of the heaviest body in the scene
FRICTION = 1.2  # at most
MESH_SIZES = np.array([0.1, 0.2, 0.4, 0.7])  # [m] few, because splitting a mesh takes seconds


class Form(NamedTuple):
    """A shape, and the radius about its origin that holds it [m]."""

    shape: Shape
    radius: float


@dataclass
class Placed:
    """A body in the making; mass and material follow when the whole scene is known."""

    form: Form
    position: Array
    orientation: Array
    velocity: Array
    spin: Array
    name: str


@dataclass(frozen=True)
class Trial:
    """A passive scene and the step [s] to run it with."""

    seed: int
    category: str
    scene: tg.Scene
    dt: float

    def words(self) -> str:
        """The trial in a few words."""
        bodies = len(self.scene.bodies)
        return f"seed {self.seed} ({self.category}, {bodies} bodies, {1e3 * self.dt:.2g} ms)"


def trial(seed: int) -> Trial:
    """The passive scene of a seed; seeds that follow each other go through all categories."""
    category = CATEGORIES[seed % len(CATEGORIES)]
    rng = np.random.default_rng((2004, seed))
    size = _log_uniform(rng, *SIZE)
    placed = _ARRANGE[category](rng, size)
    dt = _log_uniform(rng, *STEP)
    own = rng.random() < 0.5  # whether each body has a stiffness of its own
    stiffness = _log_uniform(rng, *STIFFNESS) * 10.0 ** (own * rng.uniform(-1, 1, len(placed)))
    stiffness = stiffness.clip(*STIFFNESS)
    masses = HEAVIEST * _shares(rng, category, len(placed))
    scene = tg.Scene(gravity=(0.0, 0.0, -GRAVITY))
    material = _materials(rng)
    scene.add_floor(material=tg.Material(material[0], material[1]))
    for body, mass, k in zip(placed, masses, stiffness, strict=True):
        scene.add_body(
            body.form.shape,
            mass=float(mass),
            position=body.position,
            orientation=body.orientation,
            velocity=body.velocity,
            angular_velocity=body.spin,
            material=tg.Material(
                material[0],
                material[1],
                stiffness=float(k),
                damping=2.0 * material[2] * math.sqrt(float(k * mass)),
            ),
            name=body.name,
        )
    if category == "springs":
        _tie(rng, scene)
    return Trial(seed, category, scene, dt)


def _shares(rng: np.random.Generator, category: str, count: int) -> Array:
    """Masses as shares of the heaviest."""
    spread = math.log(LIGHTEST_SHARE)
    if category == "mass ratio":  # the heaviest on top of the lightest
        return np.exp(spread * np.linspace(1.0, 0.0, count))
    spread *= rng.random()
    return np.asarray(np.exp(spread * rng.random(count)))


def _materials(rng: np.random.Generator) -> tuple[float, float, float]:
    """Static and kinetic friction and the damping ratio; one in five without each."""
    static = FRICTION * rng.random() * (rng.random() > 0.2)
    damping = rng.random() * (rng.random() > 0.2)
    return static, static * rng.uniform(0.5, 1.0), damping


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


# ---------------------------------------------------------------- shapes


def _box(rng: np.random.Generator, size: float) -> Form:
    edges = size * rng.uniform(0.4, 1.0, 3)
    return Form(tg.Box(edges), 0.5 * float(np.linalg.norm(edges)))


def _sphere(rng: np.random.Generator, size: float) -> Form:
    radius = size * rng.uniform(0.2, 0.5)
    return Form(tg.Sphere(radius, subdivisions=2), radius)


def _cylinder(rng: np.random.Generator, size: float) -> Form:
    radius, length = size * rng.uniform(0.2, 0.5), size * rng.uniform(0.3, 1.0)
    shape = tg.Cylinder(radius, length, facets=12)
    return Form(shape, math.hypot(radius, 0.5 * length))


def _cone(rng: np.random.Generator, size: float) -> Form:
    radius, height = size * rng.uniform(0.3, 0.6), size * rng.uniform(0.4, 1.0)
    shape = tg.Cone(radius, height, facets=12)
    return Form(shape, max(0.75 * height, math.hypot(radius, 0.25 * height)))


def _capsule(rng: np.random.Generator, size: float) -> Form:
    radius, length = size * rng.uniform(0.15, 0.35), size * rng.uniform(0.2, 0.8)
    return Form(tg.Capsule(radius, length, facets=8), radius + 0.5 * length)


def _hull(rng: np.random.Generator, size: float) -> Form:
    points = rng.normal(size=(12, 3))
    points *= 0.5 * size / np.linalg.norm(points, axis=1)[:, None]
    points -= points.mean(axis=0)
    return Form(tg.Convex(points), float(np.linalg.norm(points, axis=1).max()))


def _mesh(rng: np.random.Generator, size: float) -> Form:
    outer = float(MESH_SIZES[np.argmin(np.abs(MESH_SIZES - size))]) * 0.5
    shape = ring_mesh(0.5 * outer, outer, 0.5 * outer, facets=6)
    return Form(shape, math.hypot(outer, 0.25 * outer))


def _compound(rng: np.random.Generator, size: float) -> Form:
    thick = size * rng.uniform(0.2, 0.35)
    if rng.random() < 0.5:
        bar = tg.Box((size, thick, thick))
        shape = tg.Compound([bar, bar], [((0, 0, 0), UPRIGHT), ((0, 0, 0), turn(Z, 1.3))])
        return Form(shape, math.hypot(0.5 * size, thick))
    ball = tg.Sphere(0.75 * thick, subdivisions=2)
    bar = tg.Box((thick, thick, size - 1.5 * thick))
    end = 0.5 * size - 0.75 * thick
    shape = tg.Compound(
        [bar, ball, ball], [((0, 0, 0), UPRIGHT), ((0, 0, end), UPRIGHT), ((0, 0, -end), UPRIGHT)]
    )
    return Form(shape, 0.5 * size + thick)


SHAPES: dict[str, Callable[[np.random.Generator, float], Form]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "cone": _cone,
    "capsule": _capsule,
    "hull": _hull,
    "mesh": _mesh,
    "compound": _compound,
}


def _any(rng: np.random.Generator, size: float) -> tuple[str, Form]:
    kind = list(SHAPES)[int(rng.integers(len(SHAPES)))]
    return kind, SHAPES[kind](rng, size * rng.uniform(0.6, 1.4))


# ---------------------------------------------------------------- arrangements


def _loose(
    rng: np.random.Generator, size: float, count: int, side: int, lift: float
) -> list[Placed]:
    """Bodies of any shape, randomly turned, apart, in layers of side², `lift` above the floor."""
    forms = [_any(rng, size) for _ in range(count)]
    spacing = 2.02 * max(form.radius for _, form in forms)
    placed = []
    for i, (kind, form) in enumerate(forms):
        layer, place = divmod(i, side * side)
        grid = np.array([place % side, place // side]) - 0.5 * (side - 1)
        # A layer shifted sideways falls between the bodies of the one below.
        x, y = spacing * (grid + 0.35 * (layer % 2))
        z = lift + form.radius + spacing * layer
        q = rng.normal(size=4)
        placed.append(
            Placed(
                form,
                np.array([x, y, z]),
                q / np.linalg.norm(q),
                np.zeros(3),
                np.zeros(3),
                f"{kind}-{i}",
            )
        )
    return placed


def _drop(rng: np.random.Generator, size: float) -> list[Placed]:
    """A few bodies dropped side by side and on each other."""
    return _loose(rng, size, int(rng.integers(2, 9)), 2, rng.uniform(0.0, 0.8))


def _heap(rng: np.random.Generator, size: float) -> list[Placed]:
    """Many bodies fall into a heap."""
    return _loose(rng, size, int(rng.integers(12, 21)), 3, 0.0)


def _throw(rng: np.random.Generator, size: float) -> list[Placed]:
    """Bodies thrown at each other and at the floor, spinning."""
    placed = _loose(rng, size, int(rng.integers(2, 13)), 3, rng.uniform(0.0, 0.5))
    for body in placed:
        inwards = -body.position * (1.0, 1.0, 0.5)
        body.velocity = rng.uniform(0.5, 3.0) * inwards / max(float(np.linalg.norm(inwards)), 1e-9)
        body.spin = rng.normal(size=3) * rng.uniform(0.0, 5.0)
    return placed


def _stack(rng: np.random.Generator, size: float) -> list[Placed]:
    """A stack of things with flat ends, each touching the one below, set a little askew."""
    count = int(rng.integers(2, 21))
    askew = size * rng.choice([0.0, 0.02, 0.1])
    placed: list[Placed] = []
    z = 0.0
    for i in range(count):
        kind = ("box", "cylinder", "mesh")[int(rng.choice(3, p=(0.6, 0.3, 0.1)))]
        form = SHAPES[kind](rng, size * rng.uniform(0.9, 1.1))
        height = float(np.ptp(form.shape.surface()[0][:, 2]))
        x, y = rng.uniform(-askew, askew, 2)
        placed.append(
            Placed(
                form,
                np.array([x, y, z + 0.5 * height]),
                turn(Z, rng.uniform(0.0, 2.0 * math.pi)),
                np.zeros(3),
                np.zeros(3),
                f"{kind}-{i}",
            )
        )
        z += height
    return placed


def _mass_ratio(rng: np.random.Generator, size: float) -> list[Placed]:
    """A stack or a fall in which each body is heavier than the one below."""
    if rng.random() < 0.5:
        return _stack(rng, size)[:8]
    return _loose(rng, size, int(rng.integers(2, 9)), 1, rng.uniform(0.0, 0.2))


def _tops(rng: np.random.Generator, size: float) -> list[Placed]:
    """Tops that spin fast on their tips, and something that falls among them."""
    count = int(rng.integers(1, 5))
    radius = 0.5 * size
    placed = []
    for i in range(count):
        tilt, spin = rng.uniform(0.0, 0.2), rng.uniform(30.0, 150.0)
        around = turn(Z, rng.uniform(0.0, 2.0 * math.pi))
        axis = rotation_of(around) @ (math.sin(tilt), 0.0, math.cos(tilt))
        if rng.random() < 0.5:
            form = Form(tg.Cone(radius, size, facets=16), 0.75 * size)
            tip = 0.75 * size
        else:  # a disc on a spike, its tip at the bottom
            disc = tg.Cylinder(radius, 0.25 * size, facets=16)
            spike = tg.Cone(0.2 * size, 0.6 * size, facets=12)
            parts = [((0, 0, 0), UPRIGHT), ((0, 0, 0.25 * size), UPRIGHT)]
            form = Form(tg.Compound([disc, spike], parts), 0.8 * size)
            tip = 0.25 * size + 0.75 * 0.6 * size
        # Shapes have their tips up; a top is turned over, then leaned.
        upside_down = quat_product(around, turn(Y, math.pi + tilt))
        x, y = 2.5 * size * np.array([i % 2, i // 2])
        placed.append(
            Placed(form, np.array([x, y, 0.0]) + tip * axis, upside_down, np.zeros(3),
                   spin * axis, f"top-{i}")
        )  # fmt: skip
    shift = rng.uniform(0.0, 2.5 * size, 3) * (1.0, 1.0, 0.0)
    falling = _loose(rng, size, int(rng.integers(1, 5)), 2, 1.2 * size)
    for body in falling:
        body.position = body.position + shift
    return placed + falling


def _rods(rng: np.random.Generator, size: float) -> list[Placed]:
    """Long rods fall across each other, turning slowly."""
    count = int(rng.integers(2, 13))
    placed = []
    z = 0.0
    for i in range(count):
        length = 2.0 * size * rng.uniform(0.7, 1.3)
        thick = length / rng.uniform(8.0, 25.0)
        kind = ("box", "cylinder", "capsule")[int(rng.integers(3))]
        form = Form(_rod(kind, length, thick), 0.5 * length + thick)
        lean = rng.uniform(-0.15, 0.15)
        rise = 0.5 * length * abs(math.sin(lean)) + thick
        z += rise
        flat = quat_product(turn(Z, rng.uniform(0.0, math.pi)), turn(X, 0.5 * math.pi + lean))
        x, y = rng.uniform(-0.3, 0.3, 2) * size
        spin = np.array([0.0, 0.0, rng.uniform(-3.0, 3.0)])
        placed.append(Placed(form, np.array([x, y, z]), flat, np.zeros(3), spin, f"{kind}-{i}"))
        z += rise
    return placed


def _rod(kind: str, length: float, thick: float) -> Shape:
    if kind == "box":
        return tg.Box((thick, thick, length))
    if kind == "cylinder":
        return tg.Cylinder(0.5 * thick, length, facets=10)
    return tg.Capsule(0.5 * thick, length - thick, facets=8)


def _sprung(rng: np.random.Generator, size: float) -> list[Placed]:
    """Bodies tied to each other in a chain, dropped."""
    return _loose(rng, size, int(rng.integers(2, 9)), 2, rng.uniform(0.0, 0.3))


def _tie(rng: np.random.Generator, scene: tg.Scene) -> None:
    """Springs from each body to the next, and half the time from the first to a fixed point."""
    frequency = 2.0 * math.pi * _log_uniform(rng, 0.5, 5.0)  # [rad/s]
    damping = 0.3 * rng.random()
    for a, b in itertools.pairwise(scene.bodies):
        lighter = min(a.mass, b.mass)
        apart = float(np.linalg.norm(a.position - b.position))
        scene.add_spring(
            a,
            b,
            stiffness=lighter * frequency**2,
            damping=2.0 * damping * lighter * frequency,
            rest_length=rng.uniform(0.5, 1.2) * apart,
        )
    if rng.random() < 0.5:
        first = scene.bodies[0]
        scene.add_spring(
            first,
            anchor_b=first.position + np.array([0.0, 0.0, 0.5]),
            stiffness=first.mass * frequency**2,
            damping=2.0 * damping * first.mass * frequency,
            rest_length=0.5,
        )


_ARRANGE: dict[str, Callable[[np.random.Generator, float], list[Placed]]] = {
    "drop": _drop,
    "throw": _throw,
    "stack": _stack,
    "heap": _heap,
    "tops": _tops,
    "rods": _rods,
    "mass ratio": _mass_ratio,
    "springs": _sprung,
}
CATEGORIES = tuple(_ARRANGE)
