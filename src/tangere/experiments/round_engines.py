"""Round bodies in tangere, MuJoCo and Bullet: the same bodies, step and friction for each.

A `Setup` is described once; see `engine_worlds` for what the others are told of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import tangere as tg
from tangere.experiments.engine_worlds import Quad, Thing, Triple, open_world, shape
from tangere.maths.vec import Array

ALONG_Y: Quad = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # turns z to −y
ALONG_X: Quad = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # turns z to x


class Setup(NamedTuple):
    """Bodies, of which the first is watched, over the floor z = 0 if there is one."""

    things: tuple[Thing, ...]
    friction: float
    gravity: Triple
    floor: bool = True
    stiffness: float | None = None  # of tangere's contacts [N/m]; None: derived


@dataclass(frozen=True)
class Step:
    """How a motion is simulated: step [s], and the engine, or tangere's integrator and method."""

    dt: float
    engine: str = "tangere"
    integrator: str = "implicit"
    method: str = "volume"


@dataclass(frozen=True)
class Track:
    """Motion of the watched body at every step: time [s], places [m], velocities, and contact.

    `force` is the magnitude of all contact forces on it together [N].
    """

    time: Array
    position: Array
    velocity: Array
    spin: Array
    force: Array

    @property
    def speed(self) -> Array:
        """Magnitude of the velocity [m/s]."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))


def run(setup: Setup, step: Step, seconds: float) -> Track:
    """Motion of the first body of a setup in one engine."""
    world = (
        _Ours(setup, step)
        if step.engine == "tangere"
        else open_world(
            step.engine, setup.things, setup.friction, setup.gravity, step.dt, setup.floor
        )
    )
    count = round(seconds / step.dt)
    rows, force = np.empty((count + 1, 13)), np.empty(count + 1)
    try:
        for i in range(count + 1):
            if i:
                world.step(1)
            rows[i], force[i] = world.state()[0], np.linalg.norm(world.force())
    finally:
        world.close()
    time = np.arange(count + 1, dtype=np.float64) * step.dt
    return Track(time, rows[:, 0:3], rows[:, 7:10], rows[:, 10:13], force)


def scene(setup: Setup) -> tg.Scene:
    """The setup as a scene of tangere."""
    material = tg.Material(setup.friction, setup.friction, stiffness=setup.stiffness)
    made = tg.Scene(gravity=setup.gravity)
    if setup.floor:
        made.add_floor(material=material)
    for thing in setup.things:
        made.add_body(
            shape(thing),
            mass=thing.mass,
            position=thing.position,
            orientation=thing.orientation,
            velocity=thing.velocity,
            angular_velocity=thing.spin,
            fixed=thing.fixed,
            material=material,
        )
    return made


class _Ours:
    """Our simulation with the methods that the other engines' worlds have, of the first body."""

    def __init__(self, setup: Setup, step: Step) -> None:
        self._sim = tg.Simulation(
            scene(setup), method=step.method, dt=step.dt, integrator=step.integrator
        )
        self._body = self._sim[0]

    def step(self, n: int) -> None:
        self._sim.step(n)

    def state(self) -> Array:
        b = self._body
        return np.array([[*b.position, *b.orientation, *b.velocity, *b.angular_velocity]])

    def force(self) -> Array:
        return self._body.contact_wrench[0]

    def close(self) -> None:
        """Nothing to give back."""
