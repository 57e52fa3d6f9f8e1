"""Boxes on a floor in other engines, measured the way tangere is measured.

One description (`Boxes`) runs in MuJoCo, Bullet (see `engine_worlds`) and Drake when they can be
imported, and in the Open Dynamics Engine when the system's Python has its binding (in a subprocess,
see `ode_worker`).
An engine that is not there is left out without a word: its numbers are shown beside the claims,
never judged.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import math
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tangere.experiments import engine_worlds
from tangere.experiments.engine_worlds import Quad, Thing, Triple, World
from tangere.maths.vec import Array

SYSTEM_PYTHON = Path("/usr/bin/python3")
ODE_WORKER = Path(__file__).with_name("ode_worker.py")
HYDROELASTIC_MODULUS = 1e7  # [Pa] rest depth far below a millimetre for the blocks used here
HYDROELASTIC_RESOLUTION = 0.02  # [m] mesh size hint of the compliant box
DRAKE_SLAB = 20.0  # [m] edge of the rigid box that serves as Drake's floor


@dataclass(frozen=True)
class Box:
    """One box: size [m], mass [kg], pose and velocities of its centre."""

    size: Triple
    mass: float
    position: Triple
    orientation: Quad = (1.0, 0.0, 0.0, 0.0)
    velocity: Triple = (0.0, 0.0, 0.0)
    angular_velocity: Triple = (0.0, 0.0, 0.0)

    def inertia(self) -> Triple:
        """Principal moments about the centre [kg m^2]."""
        x, y, z = self.size
        s = self.mass / 12.0
        return s * (y * y + z * z), s * (x * x + z * z), s * (x * x + y * y)


@dataclass(frozen=True)
class Boxes:
    """A scene for any engine: boxes on the floor z = 0, one friction coefficient, fixed steps.

    Attributes:
        pull: Spring on box 0 along x: stiffness [N/m], damping [N s/m], speed of its far end [m/s];
            it acts at the height of the floor, below the centre of the box.
    """

    boxes: tuple[Box, ...]
    gravity: Triple
    friction: float
    dt: float
    steps: int
    every: int = 1
    pull: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Motion:
    """What an engine did: arrays over the recorded instants, and its typical time per step [s]."""

    engine: str
    time: Array
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    step_time: float


def installed() -> tuple[str, ...]:
    """Names of the engines that can run here."""
    found = [*engine_worlds.installed()]
    if importlib.util.find_spec("pydrake") is not None:
        found.append("Drake")
    if _ode_works():
        found.append("ODE")
    return tuple(found)


def run(engine: str, scene: Boxes) -> Motion:
    """Motion of the scene in one engine, with the engine's default solver settings."""
    if engine == "ODE":
        return _run_ode(scene)
    world = open_world(engine, scene)
    try:
        return _record(engine, scene, world)
    finally:
        world.close()


def open_world(engine: str, scene: Boxes) -> World:
    """The scene in one of the engines that run in this process, before its first step."""
    if engine == "Drake":
        return _Drake(scene)
    things = [
        Thing("box", b.size, b.mass, b.position, b.orientation, b.velocity, b.angular_velocity)
        for b in scene.boxes
    ]
    return engine_worlds.open_world(engine, things, scene.friction, scene.gravity, scene.dt)


def pull_force(scene: Boxes, t: float, x: float, v: float) -> float:
    """Force of the pull spring on box 0 along x [N]."""
    if scene.pull is None:
        return 0.0
    stiffness, damping, speed = scene.pull
    return stiffness * (scene.boxes[0].position[0] + speed * t - x) + damping * (speed - v)


def _record(engine: str, scene: Boxes, world: World) -> Motion:
    count = scene.steps // scene.every + 1
    n = len(scene.boxes)
    rows = np.zeros((count, n, 13))
    rows[0] = world.state()
    spent = []
    for i in range(1, count):
        if scene.pull is None:
            start = time.perf_counter()
            world.step(scene.every)
            spent.append((time.perf_counter() - start) / scene.every)
        else:
            for j in range(scene.every):
                state = world.state()[0]
                t = ((i - 1) * scene.every + j) * scene.dt
                world.push(pull_force(scene, t, float(state[0]), float(state[7])))
                world.step(1)
        rows[i] = world.state()
    # the second half: caches are warm, contacts are closed
    step_time = float(np.median(spent[len(spent) // 2 :])) if spent else math.nan
    return _motion(engine, scene, rows, step_time)


def _motion(engine: str, scene: Boxes, rows: Array, step_time: float) -> Motion:
    return Motion(
        engine,
        np.arange(len(rows), dtype=np.float64) * (scene.dt * scene.every),
        rows[:, :, 0:3],
        rows[:, :, 3:7],
        rows[:, :, 7:10],
        rows[:, :, 10:13],
        step_time,
    )


class _Drake:
    """Compliant boxes on a rigid slab with hydroelastic contact, discrete plant."""

    def __init__(self, scene: Boxes) -> None:
        drake: Any = importlib.import_module("pydrake.all")
        builder = drake.DiagramBuilder()
        plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step=scene.dt)
        plant.set_contact_model(drake.ContactModel.kHydroelastic)
        plant.mutable_gravity_field().set_gravity_vector(np.asarray(scene.gravity, float))
        friction = drake.CoulombFriction(scene.friction, scene.friction)
        rigid = drake.ProximityProperties()
        drake.AddRigidHydroelasticProperties(1.0, rigid)
        drake.AddContactMaterial(None, None, friction, rigid)
        plant.RegisterCollisionGeometry(
            plant.world_body(),
            drake.RigidTransform([0.0, 0.0, -0.5]),
            drake.Box(DRAKE_SLAB, DRAKE_SLAB, 1.0),
            "floor",
            rigid,
        )
        self._bodies = []
        for i, b in enumerate(scene.boxes):
            inertia = drake.SpatialInertia(
                b.mass,
                np.zeros(3),
                drake.UnitInertia.SolidBox(*b.size),
            )
            body = plant.AddRigidBody(f"box{i}", inertia)
            soft = drake.ProximityProperties()
            drake.AddCompliantHydroelasticProperties(
                HYDROELASTIC_RESOLUTION, HYDROELASTIC_MODULUS, soft
            )
            drake.AddContactMaterial(None, None, friction, soft)
            plant.RegisterCollisionGeometry(
                body, drake.RigidTransform(), drake.Box(*b.size), f"shape{i}", soft
            )
            self._bodies.append(body)
        plant.Finalize()
        self._drake: Any = drake
        self._plant = plant
        self._simulator = drake.Simulator(builder.Build())
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        for body, b in zip(self._bodies, scene.boxes, strict=True):
            turn = drake.RotationMatrix(drake.Quaternion(np.asarray(b.orientation, float)))
            plant.SetFreeBodyPose(
                self._context, body, drake.RigidTransform(turn, np.asarray(b.position, float))
            )
            twist = drake.SpatialVelocity(
                w=np.asarray(b.angular_velocity, float), v=np.asarray(b.velocity, float)
            )
            plant.SetFreeBodySpatialVelocity(self._context, body, twist)
        self._dt = scene.dt
        self._steps = 0
        self._simulator.Initialize()

    def step(self, n: int) -> None:
        self._steps += n
        self._simulator.AdvanceTo(self._steps * self._dt)

    def push(self, force: float) -> None:
        drake = self._drake
        pull = drake.ExternallyAppliedSpatialForce()
        pull.body_index = self._bodies[0].index()
        at = self._plant.EvalBodyPoseInWorld(self._context, self._bodies[0])
        low = np.array([at.translation()[0], at.translation()[1], 0.0])
        pull.p_BoBq_B = at.inverse() @ low
        pull.F_Bq_W = drake.SpatialForce(tau=np.zeros(3), f=np.array([force, 0.0, 0.0]))
        port = self._plant.get_applied_spatial_force_input_port()
        port.FixValue(self._context, drake.Value([pull]))

    def state(self) -> Array:
        rows = np.empty((len(self._bodies), 13))
        for row, body in zip(rows, self._bodies, strict=True):
            pose = self._plant.EvalBodyPoseInWorld(self._context, body)
            twist = self._plant.EvalBodySpatialVelocityInWorld(self._context, body)
            row[:3] = pose.translation()
            row[3:7] = pose.rotation().ToQuaternion().wxyz()
            row[7:10] = twist.translational()
            row[10:13] = twist.rotational()
        return rows

    def close(self) -> None:
        """Nothing to give back: Drake frees its own memory."""


@functools.cache
def _ode_works() -> bool:
    if not SYSTEM_PYTHON.exists():
        return False
    probe = subprocess.run(
        [str(SYSTEM_PYTHON), "-c", "import ode"], capture_output=True, check=False, timeout=30
    )
    return probe.returncode == 0


def ask_ode(scene: Boxes, **timing: Any) -> dict[str, Any]:
    """Answer of the Open Dynamics Engine, in the system's Python: motion, or times of calls.

    Args:
        scene: The boxes.
        timing: What `ode_worker` needs to time calls; none: it tells the motion.
    """
    inertia = [b.inertia() for b in scene.boxes]
    done = subprocess.run(
        [str(SYSTEM_PYTHON), str(ODE_WORKER)],
        input=json.dumps({**asdict(scene), "inertia": inertia, "timing": timing}),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _run_ode(scene: Boxes) -> Motion:
    answer = ask_ode(scene)
    return _motion("ODE", scene, np.asarray(answer["rows"], float), float(answer["step_time"]))
