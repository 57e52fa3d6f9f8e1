"""Round bodies in tangere, MuJoCo and Bullet: the same bodies, step and friction for each.

A `Setup` is described once. Each engine runs with its default solver; one that is not installed is
left out. Neither of the others has a cone. Bullet's drag and sleeping are switched off, and it is
given the solid's moments of inertia; torsional and rolling friction, which both have as free
coefficients, are left at none.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import tangere as tg
from tangere.experiments.peers import quiet
from tangere.geometry.shapes import Shape
from tangere.maths.vec import Array

Triple = tuple[float, float, float]
Quad = tuple[float, float, float, float]

UPRIGHT: Quad = (1.0, 0.0, 0.0, 0.0)
ALONG_Y: Quad = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # turns z to −y
ALONG_X: Quad = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # turns z to x


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


def installed() -> tuple[str, ...]:
    """Names of the other engines that can run here."""
    known = (("MuJoCo", "mujoco"), ("Bullet", "pybullet"))
    return tuple(name for name, module in known if importlib.util.find_spec(module) is not None)


def run(setup: Setup, step: Step, seconds: float) -> Track:
    """Motion of the first body of a setup in one engine."""
    begin = {"tangere": _tangere, "MuJoCo": _mujoco, "Bullet": _bullet}[step.engine]
    advance, look, close = begin(setup, step)
    count = round(seconds / step.dt)
    rows = np.empty((count + 1, 10))
    try:
        rows[0] = look()
        for i in range(1, count + 1):
            advance()
            rows[i] = look()
    finally:
        close()
    time = np.arange(count + 1, dtype=np.float64) * step.dt
    return Track(time, rows[:, 0:3], rows[:, 3:6], rows[:, 6:9], rows[:, 9])


# Makes one step; tells place, velocity, spin and force of the first body; gives back what is held.
World = tuple[Callable[[], None], Callable[[], Array], Callable[[], None]]


def shape(thing: Thing) -> Shape:
    """The body's shape."""
    makers: dict[str, Callable[..., Shape]] = {
        "ball": tg.Sphere,
        "cylinder": tg.Cylinder,
        "capsule": tg.Capsule,
        "cone": tg.Cone,
    }
    return tg.Box(thing.size) if thing.kind == "box" else makers[thing.kind](*thing.size)


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


def _tangere(setup: Setup, step: Step) -> World:
    sim = tg.Simulation(scene(setup), method=step.method, dt=step.dt, integrator=step.integrator)
    body = sim[0]

    def look() -> Array:
        force = float(np.linalg.norm(body.contact_wrench[0]))
        return np.array([*body.position, *body.velocity, *body.angular_velocity, force])

    return sim.step, look, lambda: None


def _words(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _geom(thing: Thing) -> str:
    """MuJoCo's words for a shape: half lengths."""
    kind = "sphere" if thing.kind == "ball" else thing.kind
    size = thing.size if kind == "sphere" else (thing.size[0], 0.5 * thing.size[-1])
    if kind == "box":
        size = tuple(0.5 * s for s in thing.size)
    return f'<geom type="{kind}" size="{_words(size)}" mass="{thing.mass!r}"/>'


def _mujoco(setup: Setup, step: Step) -> World:
    import mujoco

    bodies = "".join(
        f'<body pos="{_words(t.position)}" quat="{_words(t.orientation)}">'
        f"{'' if t.fixed else '<freejoint/>'}{_geom(t)}</body>"
        for t in setup.things
    )
    plane = '<geom type="plane" size="50 50 1"/>' if setup.floor else ""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step.dt!r}" gravity="{_words(setup.gravity)}"/>'
        f'<default><geom friction="{setup.friction!r} 0 0" condim="3"/></default>'
        f"<worldbody>{plane}{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    free = [t for t in setup.things if not t.fixed]
    for i, thing in enumerate(free):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, np.asarray(thing.orientation, float))
        data.qvel[6 * i : 6 * i + 3] = thing.velocity
        # a free joint's angular velocity is given in the body's axes
        data.qvel[6 * i + 3 : 6 * i + 6] = turn.reshape(3, 3).T @ thing.spin
    mujoco.mj_forward(model, data)

    def look() -> Array:
        row, one = np.empty(10), np.zeros(6)
        row[0:3], row[3:6] = data.qpos[:3], data.qvel[:3]
        mujoco.mju_rotVecQuat(row[6:9], data.qvel[3:6].copy(), data.qpos[3:7].copy())
        total = np.zeros(3)
        for k in range(data.ncon):
            touch = data.contact[k]
            bodies = model.geom_bodyid[touch.geom1], model.geom_bodyid[touch.geom2]
            if 1 in bodies:
                mujoco.mj_contactForce(model, data, k, one)
                side = 1.0 if bodies[1] == 1 else -1.0
                total += side * touch.frame.reshape(3, 3).T @ one[:3]
        row[9] = np.linalg.norm(total)
        return row

    return lambda: mujoco.mj_step(model, data), look, lambda: None


def _bullet(setup: Setup, step: Step) -> World:
    with quiet():
        import pybullet as bullet
    at = {"physicsClientId": bullet.connect(bullet.DIRECT)}
    bullet.setGravity(*setup.gravity, **at)
    bullet.setPhysicsEngineParameter(fixedTimeStep=step.dt, numSubSteps=1, **at)
    # the friction of a pair is the product of both
    surface: dict[str, Any] = {
        "lateralFriction": math.sqrt(setup.friction),
        "linearDamping": 0.0,
        "angularDamping": 0.0,
        "rollingFriction": 0.0,
        "spinningFriction": 0.0,
    }
    if setup.floor:
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, **at)
        floor = bullet.createMultiBody(0.0, plane, **at)
        bullet.changeDynamics(floor, -1, lateralFriction=surface["lateralFriction"], **at)
    ids = []
    for thing in setup.things:
        if thing.kind == "box":
            given: dict[str, Any] = {"halfExtents": [0.5 * s for s in thing.size]}
        elif thing.kind == "ball":
            given = {"radius": thing.size[0]}
        else:
            given = {"radius": thing.size[0], "height": thing.size[1]}
        kind = "sphere" if thing.kind == "ball" else thing.kind
        made = bullet.createCollisionShape(getattr(bullet, f"GEOM_{kind.upper()}"), **given, **at)
        w, x, y, z = thing.orientation
        mass = 0.0 if thing.fixed else thing.mass
        body = bullet.createMultiBody(mass, made, -1, thing.position, (x, y, z, w), **at)
        awake = bullet.ACTIVATION_STATE_DISABLE_SLEEPING
        inertia: dict[str, Any] = {} if thing.fixed else {"localInertiaDiagonal": _moments(thing)}
        bullet.changeDynamics(body, -1, activationState=awake, **surface, **inertia, **at)
        bullet.resetBaseVelocity(body, thing.velocity, thing.spin, **at)
        ids.append(body)

    def look() -> Array:
        place, _ = bullet.getBasePositionAndOrientation(ids[0], **at)
        v, w = bullet.getBaseVelocity(ids[0], **at)
        total = np.zeros(3)
        for touch in bullet.getContactPoints(bodyA=ids[0], **at):
            # normal on the other body towards this one, then both frictions with their directions
            total += touch[9] * np.array(touch[7])
            total += touch[10] * np.array(touch[11]) + touch[12] * np.array(touch[13])
        return np.array([*place, *v, *w, float(np.linalg.norm(total))])

    return (
        lambda: bullet.stepSimulation(**at),
        look,
        lambda: bullet.disconnect(**at),
    )


def _moments(thing: Thing) -> list[float]:
    """Principal moments of inertia of the ideal solid [kg m²]: Bullet's own are those of a box."""
    body = scene(Setup((thing,), 0.0, (0.0, 0.0, 0.0), floor=False)).bodies[0]
    return [float(m) for m in np.diag(body.inertia)]
