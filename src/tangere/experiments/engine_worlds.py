"""Solids over a floor in MuJoCo and Bullet: the same bodies, friction and step for each.

Each engine runs with its default solver, and is imported when a world is made. Neither has a cone.
Bullet's drag and sleeping are switched off: they would hide creep and slow a spin. Torsional and
rolling friction, which both have as free coefficients, are left at none.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import tangere as tg
from tangere.geometry.shapes import Shape
from tangere.maths.vec import Array

Triple = tuple[float, float, float]
Quad = tuple[float, float, float, float]

UPRIGHT: Quad = (1.0, 0.0, 0.0, 0.0)
MODULES = {"MuJoCo": "mujoco", "Bullet": "pybullet"}


class Thing(NamedTuple):
    """One body. `size` is the radius, and of all but a ball the length; of a box its edges [m]."""

    kind: str
    size: tuple[float, ...]
    mass: float
    position: Triple
    orientation: Quad = UPRIGHT
    velocity: Triple = (0.0, 0.0, 0.0)
    spin: Triple = (0.0, 0.0, 0.0)
    fixed: bool = False


class World(Protocol):
    """Bodies in an engine, before their first step."""

    def step(self, n: int) -> None:
        """Make n steps."""

    def push(self, force: float) -> None:
        """Let a force along x act on the first body, a box, at the height of the floor [N]."""

    def state(self) -> Array:
        """Position, quaternion, velocity and spin of every body that moves, shape (n, 13)."""

    def close(self) -> None:
        """Give back what the engine holds."""


def installed() -> tuple[str, ...]:
    """Names of the engines that can run here."""
    return tuple(name for name in MODULES if importlib.util.find_spec(MODULES[name]) is not None)


def open_world(
    engine: str,
    things: Sequence[Thing],
    friction: float,
    gravity: Triple,
    dt: float,
    floor: bool = True,
) -> _MuJoCo | _Bullet:
    """The bodies in one of the engines, over the floor z = 0 if there is one."""
    worlds: dict[str, type[_MuJoCo] | type[_Bullet]] = {"MuJoCo": _MuJoCo, "Bullet": _Bullet}
    return worlds[engine](things, friction, gravity, dt, floor)


def shape(thing: Thing) -> Shape:
    """The body's shape in tangere."""
    makers: dict[str, Callable[..., Shape]] = {
        "ball": tg.Sphere,
        "cylinder": tg.Cylinder,
        "capsule": tg.Capsule,
        "cone": tg.Cone,
    }
    return tg.Box(thing.size) if thing.kind == "box" else makers[thing.kind](*thing.size)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Standard output and error closed at every level: Bullet greets, solvers complain."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = {stream: os.dup(stream) for stream in (1, 2)}
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in saved:
            os.dup2(sink, stream)
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        # what C has buffered must leave before the real streams return
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).fflush(None)
        for stream, kept in saved.items():
            os.dup2(kept, stream)
            os.close(kept)
        os.close(sink)


# ---------------------------------------------------------------- MuJoCo


def numbers(values: Iterable[float]) -> str:
    """Numbers as an attribute of MuJoCo's XML, to the last bit."""
    return " ".join(repr(float(v)) for v in values)


def _geom(thing: Thing) -> str:
    """MuJoCo's words for a shape: half lengths."""
    kind = "sphere" if thing.kind == "ball" else thing.kind
    size = thing.size if kind == "sphere" else (thing.size[0], 0.5 * thing.size[-1])
    if kind == "box":
        size = tuple(0.5 * s for s in thing.size)
    return f'<geom type="{kind}" size="{numbers(size)}" mass="{thing.mass!r}"/>'


class _MuJoCo:
    """Bodies with free joints over a plane; friction is the larger of a pair, so both get it."""

    def __init__(
        self, things: Sequence[Thing], friction: float, gravity: Triple, dt: float, floor: bool
    ) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        bodies = "".join(
            f'<body pos="{numbers(t.position)}" quat="{numbers(t.orientation)}">'
            f"{'' if t.fixed else '<freejoint/>'}{_geom(t)}</body>"
            for t in things
        )
        plane = '<geom type="plane" size="50 50 1"/>' if floor else ""
        self._model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{dt!r}" gravity="{numbers(gravity)}"/>'
            f'<default><geom friction="{friction!r} 0 0" condim="3"/></default>'
            f"<worldbody>{plane}{bodies}</worldbody></mujoco>"
        )
        self._data = mujoco.MjData(self._model)
        for i, thing in enumerate(t for t in things if not t.fixed):
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, np.asarray(thing.orientation, float))
            self._data.qvel[6 * i : 6 * i + 3] = thing.velocity
            # a free joint's angular velocity is given in the body's axes
            self._data.qvel[6 * i + 3 : 6 * i + 6] = turn.reshape(3, 3).T @ thing.spin
        self._half = 0.5 * things[0].size[-1]
        mujoco.mj_forward(self._model, self._data)

    def step(self, n: int) -> None:
        self._mujoco.mj_step(self._model, self._data, n)

    def push(self, force: float) -> None:
        self._data.xfrc_applied[1] = (force, 0.0, 0.0, 0.0, -self._half * force, 0.0)

    def state(self) -> Array:
        q = self._data.qpos.reshape(-1, 7)
        v = self._data.qvel.reshape(-1, 6)
        rows = np.empty((len(q), 13))
        rows[:, :7] = q
        rows[:, 7:10] = v[:, :3]
        for i in range(len(q)):
            self._mujoco.mju_rotVecQuat(rows[i, 10:13], v[i, 3:].copy(), q[i, 3:].copy())
        return rows

    def force(self) -> Array:
        """Sum of all contact forces on the first body [N]."""
        model, data, total, one = self._model, self._data, np.zeros(3), np.zeros(6)
        for k in range(data.ncon):
            touch = data.contact[k]
            bodies = model.geom_bodyid[touch.geom1], model.geom_bodyid[touch.geom2]
            if 1 in bodies:
                self._mujoco.mj_contactForce(model, data, k, one)
                side = 1.0 if bodies[1] == 1 else -1.0
                total += side * touch.frame.reshape(3, 3).T @ one[:3]
        return total

    def close(self) -> None:
        """Nothing to give back: MuJoCo frees its own memory."""


# ---------------------------------------------------------------- Bullet


def open_bullet(
    gravity: Triple, dt: float, floor: dict[str, float] | None
) -> tuple[Any, dict[str, int]]:
    """Bullet, and what names a private world of it, with a floor of the given surface if any."""
    with quiet():
        import pybullet as bullet
    at = {"physicsClientId": bullet.connect(bullet.DIRECT)}
    bullet.setGravity(*gravity, **at)
    bullet.setPhysicsEngineParameter(fixedTimeStep=dt, numSubSteps=1, **at)
    if floor is not None:
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, **at)
        bullet.changeDynamics(bullet.createMultiBody(0.0, plane, **at), -1, **floor, **at)
    return bullet, at


def add_to_bullet(
    bullet: Any,
    at: dict[str, int],
    made: int,
    mass: float,
    motion: tuple[Sequence[float] | Array, ...],
    **surface: Any,
) -> int:
    """A body that never sleeps, without drag; `motion`: place, quaternion, velocity and spin."""
    position, (w, x, y, z), velocity, spin = motion
    body: int = bullet.createMultiBody(mass, made, -1, position, (x, y, z, w), **at)
    bullet.changeDynamics(
        body,
        -1,
        linearDamping=0.0,
        angularDamping=0.0,
        activationState=bullet.ACTIVATION_STATE_DISABLE_SLEEPING,
        **surface,
        **at,
    )
    bullet.resetBaseVelocity(body, velocity, spin, **at)
    return body


def bullet_pose(bullet: Any, at: dict[str, int], body: int) -> tuple[float, ...]:
    """Position and quaternion (w, x, y, z)."""
    position, turn = bullet.getBasePositionAndOrientation(body, **at)
    return (*position, turn[3], *turn[:3])


class _Bullet:
    """Bodies over a plane in a private world; friction multiplies, so each gets the root."""

    def __init__(
        self, things: Sequence[Thing], friction: float, gravity: Triple, dt: float, floor: bool
    ) -> None:
        surface = {"lateralFriction": math.sqrt(friction)}
        self._b, self._at = open_bullet(gravity, dt, surface if floor else None)
        self._ids = []
        for t in things:
            # Bullet's own moments are those of a box
            own = t.fixed or t.kind == "box"
            inertia: dict[str, Any] = {} if own else {"localInertiaDiagonal": _moments(t)}
            body = add_to_bullet(
                self._b,
                self._at,
                self._shape(t),
                0.0 if t.fixed else t.mass,
                (t.position, t.orientation, t.velocity, t.spin),
                **surface,
                **inertia,
            )
            self._ids.append(body)
        self._moving = [body for body, t in zip(self._ids, things, strict=True) if not t.fixed]

    def _shape(self, thing: Thing) -> int:
        if thing.kind == "box":
            size: dict[str, Any] = {"halfExtents": [0.5 * s for s in thing.size]}
        else:
            size = dict(zip(("radius", "height"), thing.size, strict=False))
        kind = "sphere" if thing.kind == "ball" else thing.kind
        geometry = getattr(self._b, f"GEOM_{kind.upper()}")
        return int(self._b.createCollisionShape(geometry, **size, **self._at))

    def step(self, n: int) -> None:
        for _ in range(n):
            self._b.stepSimulation(**self._at)

    def push(self, force: float) -> None:
        x, y, *_ = bullet_pose(self._b, self._at, self._ids[0])
        self._b.applyExternalForce(
            self._ids[0], -1, (force, 0.0, 0.0), (x, y, 0.0), self._b.WORLD_FRAME, **self._at
        )

    def state(self) -> Array:
        rows = np.empty((len(self._moving), 13))
        for row, body in zip(rows, self._moving, strict=True):
            row[:7] = bullet_pose(self._b, self._at, body)
            row[7:10], row[10:13] = self._b.getBaseVelocity(body, **self._at)
        return rows

    def force(self) -> Array:
        """Sum of all contact forces on the first body [N]."""
        total = np.zeros(3)
        for touch in self._b.getContactPoints(bodyA=self._ids[0], **self._at):
            # normal on the other body towards this one, then both frictions with their directions
            total += touch[9] * np.array(touch[7])
            total += touch[10] * np.array(touch[11]) + touch[12] * np.array(touch[13])
        return total

    def close(self) -> None:
        self._b.disconnect(**self._at)


def _moments(thing: Thing) -> list[float]:
    """Principal moments of inertia of the ideal solid [kg m²]."""
    body = tg.Scene().add_body(shape(thing), mass=thing.mass)
    return [float(m) for m in np.diag(body.inertia)]
