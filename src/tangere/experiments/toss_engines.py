"""A cube tossed onto a floor in tangere, MuJoCo and Bullet.

Cube, floor, gravity and step are the same for all: every engine is given the solids of
`Cube.blocks` with the same mass and inertia. Each has its own contact law, and `Engine.tunables`
says what may be chosen in it. A toss is an array of rows: position [m], quaternion (w, x, y, z),
velocity [m/s], angular velocity in the cube's own axes [rad/s].
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tangere as tg
from tangere.experiments.engine_worlds import (
    add_to_bullet,
    bullet_pose,
    installed,
    numbers,
    open_bullet,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

SIGNS = tuple(itertools.product((-1.0, 1.0), repeat=3))  # of the corners of a cube
APART = 10.0  # [m] between the cubes of tosses that share a world: they never meet
TOSSES_TOGETHER = 1.1  # longest over shortest of the tosses that share a world


@dataclass(frozen=True)
class Cube:
    """What every engine is told: SI units; `substeps` steps of `dt` lie between two samples.

    `chamfer` is what the edges lack: a bevel leaves them this far from the corner on each face.
    `foot` is the edge of the blocks at the corners that the floor can touch; 0 for a plain cube.

    With feet the floor meets the same corners, whatever the attitude. But a cube at rest stands on
    four patches in the corners of its face, as one does whose faces are not quite flat, and these
    resist a spin more than an even face: by up to 1/√2 instead of 0.3826 of μ m g and the width.
    """

    half_width: float
    mass: float
    inertia: float
    gravity: float
    dt: float
    substeps: int
    chamfer: float = 0.0
    foot: float = 0.0

    def blocks(self) -> list[Array]:
        """Vertices of the convex solids that make the cube: the whole, or a block per corner."""
        h, cut = self.half_width, self.half_width - self.chamfer
        if not self.foot:
            outer = sorted(set(itertools.permutations((h, cut, cut))))
            return [np.array([np.multiply(c, signs) for signs in SIGNS for c in outer])]
        inner = h - self.foot
        kinds = ((h, cut, cut), (h, cut, inner), (h, inner, inner), (inner, inner, inner))
        block = np.array(sorted({c for kind in kinds for c in itertools.permutations(kind)}))
        return [block * np.array(signs) for signs in SIGNS]

    def smaller(self, margin: float) -> Cube:
        """The cube whose blocks lack `margin` on every side [m]."""
        foot = self.foot - 2.0 * margin if self.foot else 0.0
        return replace(self, half_width=self.half_width - margin, foot=foot)


@dataclass(frozen=True)
class Tunable:
    """A number that may be chosen between two bounds; on a logarithmic scale unless `linear`."""

    name: str
    low: float
    high: float
    unit: str = ""
    linear: bool = False

    def value(self, share: float) -> float:
        """The value at a share, 0 to 1, of the way from `low` to `high`."""
        if self.linear:
            return self.low + share * (self.high - self.low)
        return float(self.low * (self.high / self.low) ** share)


Roll = Callable[[Cube, Sequence[Array], Mapping[str, float]], list[Array]]


@dataclass(frozen=True)
class Engine:
    """An engine with its free numbers.

    `roll` simulates tosses from their first rows: per toss position and quaternion at every sample.
    """

    name: str
    tunables: tuple[Tunable, ...]
    roll: Roll


def engines(integrator: str) -> tuple[Engine, ...]:
    """Tangere, named by its `METHODS`, then each other engine that is installed.

    The integrator is that of the volume method.
    """

    def volume(cube: Cube, tosses: Sequence[Array], values: Mapping[str, float]) -> list[Array]:
        return _together(_tangere, cube, tosses, _springs(cube, values), "volume", integrator)

    def signorini(cube: Cube, tosses: Sequence[Array], values: Mapping[str, float]) -> list[Array]:
        return _together(_tangere, cube, tosses, _rigid(values), "signorini", None)

    found = [Engine("volume", VOLUME, volume), Engine("signorini", SIGNORINI, signorini)]
    if "MuJoCo" in installed():
        found.append(Engine("MuJoCo", MUJOCO, _mujoco))
    if "Bullet" in installed():
        found.append(
            Engine("Bullet", BULLET, lambda c, tosses, v: _together(_bullet, c, tosses, v))
        )
    return tuple(found)


def _together(
    roll: Callable[..., Array], cube: Cube, tosses: Sequence[Array], *given: Any
) -> list[Array]:
    """Tosses of similar length in one world, far apart: a step then moves many cubes."""
    order = sorted(range(len(tosses)), key=lambda i: len(tosses[i]))
    rolled: dict[int, Array] = {}
    while order:
        longest = TOSSES_TOGETHER * len(tosses[order[0]])
        group = [i for i in order if len(tosses[i]) <= longest]
        order = order[len(group) :]
        offset = np.zeros((len(group), 7))
        offset[:, 0] = APART * np.arange(len(group))
        starts = np.array([tosses[i][0] for i in group])
        starts[:, :7] += offset
        samples = max(len(tosses[i]) for i in group)
        poses = roll(cube, starts, samples, *given) - offset[:, None]
        for i, path in zip(group, poses, strict=True):
            rolled[i] = path[: len(tosses[i])]
    return [rolled[i] for i in range(len(tosses))]


def _world_spin(start: Array) -> Array:
    """Angular velocity in world axes of one row of a toss [rad/s]."""
    spin: Array = rotation_of(start[3:7]) @ start[10:13]
    return spin


FOOT = Tunable("foot", 0.006, 0.04, "m")
# What is not known of the real cube: its size within the error of the marks, its edges, and its
# inertia between that of a solid (1/6 m w²) and of a thin shell (5/18 m w²).
BODY = (
    Tunable("half width", 0.049, 0.0535, "m", linear=True),
    Tunable("chamfer", 3e-4, 4e-3, "m"),
    Tunable("inertia", 6.8e-4, 1.13e-3, "kg m²", linear=True),
)

# ---------------------------------------------------------------- tangere

METHODS = ("volume", "signorini")
VOLUME = (
    Tunable("stiffness", 3e3, 1e6, "N/m"),
    Tunable("damping ratio", 0.05, 1.5),
    Tunable("friction", 0.08, 0.4),
    Tunable("static over kinetic friction", 1.0, 1.6, linear=True),
    Tunable("tangential over normal stiffness", 0.05, 5.0),
)
SIGNORINI = (
    Tunable("restitution", 0.0, 0.6, linear=True),
    Tunable("friction", 0.08, 0.4),
    Tunable("static over kinetic friction", 1.0, 1.6, linear=True),
)


def _springs(cube: Cube, values: Mapping[str, float]) -> tg.Material:
    """Material of the volume method."""
    stiffness, friction = values["stiffness"], values["friction"]
    damping = 2.0 * values["damping ratio"] * math.sqrt(stiffness * cube.mass)
    share = values["tangential over normal stiffness"]
    return tg.Material(
        static_friction=friction * values["static over kinetic friction"],
        kinetic_friction=friction,
        stiffness=stiffness,
        damping=damping,
        tangential_stiffness=share * stiffness,
        tangential_damping=share * damping,
    )


def _rigid(values: Mapping[str, float]) -> tg.Material:
    """Material of the signorini method, whose contacts do not give way."""
    friction = values["friction"]
    return tg.Material(
        static_friction=friction * values["static over kinetic friction"],
        kinetic_friction=friction,
        restitution=values["restitution"],
    )


def _tangere(
    cube: Cube,
    starts: Array,
    samples: int,
    material: tg.Material,
    method: str,
    integrator: str | None,
) -> Array:
    scene = tg.Scene(gravity=(0.0, 0.0, -cube.gravity))
    scene.add_floor(material=material)
    blocks = [tg.Convex(block) for block in cube.blocks()]
    shape = tg.Compound(blocks, [((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))] * len(blocks))
    for start in starts:
        scene.add_body(
            shape,
            mass=cube.mass,
            inertia=(cube.inertia,) * 3,
            position=start[:3],
            orientation=start[3:7],
            velocity=start[7:10],
            angular_velocity=_world_spin(start),
            material=material,
        )
    sim = tg.Simulation(scene, method=method, dt=cube.dt, integrator=integrator)
    poses = np.empty((len(starts), samples, 7))
    for i in range(samples):
        if i:
            sim.step(cube.substeps)
        poses[:, i, :3] = sim.positions
        poses[:, i, 3:] = sim.orientations
    return poses


# ---------------------------------------------------------------- MuJoCo

MUJOCO = (
    Tunable("solref time constant", 0.002, 0.05, "s"),  # the engine asks for two steps at least
    Tunable("solref damping ratio", 0.05, 2.0),
    Tunable("friction", 0.08, 0.4),
    Tunable("torsional friction", 1e-5, 0.01, "m"),
    Tunable("solimp width", 1e-4, 0.02, "m"),
    Tunable("solimp d0", 0.3, 0.95, linear=True),
)


def _mujoco(cube: Cube, tosses: Sequence[Array], values: Mapping[str, float]) -> list[Array]:
    """One cube over a plane, set anew for every toss; a free joint's spin is in body axes."""
    import mujoco

    moment, asset, geoms = repr(cube.inertia), "", ""
    for i, block in enumerate(cube.blocks()):
        if cube.chamfer:
            asset += f'<mesh name="{i}" vertex="{numbers(block.ravel())}"/>'
            geoms += f'<geom type="mesh" mesh="{i}"/>'
        else:
            centre, half = _middle(block)
            geoms += f'<geom type="box" pos="{numbers(centre)}" size="{numbers(half)}"/>'
    v = {name: repr(float(value)) for name, value in values.items()}
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{asset}</asset>"
        f'<option timestep="{cube.dt!r}" gravity="0 0 {-cube.gravity!r}" cone="elliptic"/>'
        f'<default><geom condim="4" friction="{v["friction"]} {v["torsional friction"]} 0" '
        f'solref="{v["solref time constant"]} {v["solref damping ratio"]}" '
        f'solimp="{v["solimp d0"]} 0.95 {v["solimp width"]}"/></default>'
        '<worldbody><geom type="plane" size="50 50 1"/><body><freejoint/>'
        f'<inertial pos="0 0 0" mass="{cube.mass!r}" diaginertia="{moment} {moment} {moment}"/>'
        f"{geoms}</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    rolled = []
    for toss in tosses:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = toss[0, :7]
        data.qvel[:] = toss[0, 7:13]
        path = np.empty((len(toss), 7))
        for i in range(len(toss)):
            if i:
                mujoco.mj_step(model, data, cube.substeps)
            path[i] = data.qpos
        rolled.append(path)
    return rolled


def _middle(block: Array) -> tuple[Array, Array]:
    """Centre and half edges of a block without a bevel [m]."""
    low, high = block.min(axis=0), block.max(axis=0)
    return 0.5 * (low + high), 0.5 * (high - low)


# ---------------------------------------------------------------- Bullet

BULLET_MARGIN = 1e-3  # [m] by which a hull is larger than its points say; a box is not
BULLET = (
    Tunable("restitution", 0.0, 0.6, linear=True),
    Tunable("friction", 0.08, 0.4),
    Tunable("spinning friction", 1e-5, 0.01, "m"),
    Tunable("rolling friction", 1e-6, 0.001, "m"),
    Tunable("contact stiffness", 1e3, 1e7, "N/m"),
    Tunable("contact damping ratio", 0.02, 3.0),
)


def _bullet(cube: Cube, starts: Array, samples: int, values: Mapping[str, float]) -> Array:
    """Coefficients of a pair multiply: the floor has friction and restitution 1."""
    floor = {"lateralFriction": 1.0, "restitution": 1.0}
    bullet, world = open_bullet((0.0, 0.0, -cube.gravity), cube.dt, floor)
    stiffness = values["contact stiffness"]
    damping = 2.0 * values["contact damping ratio"] * math.sqrt(stiffness * cube.mass)
    try:
        box = _bullet_shape(bullet, cube, world)
        bodies = [
            add_to_bullet(
                bullet,
                world,
                box,
                cube.mass,
                (start[:3], start[3:7], start[7:10], _world_spin(start)),
                localInertiaDiagonal=[cube.inertia] * 3,
                restitution=values["restitution"],
                lateralFriction=values["friction"],
                spinningFriction=values["spinning friction"],
                rollingFriction=values["rolling friction"],
                contactStiffness=stiffness,
                contactDamping=damping,
            )
            for start in starts
        ]
        poses = np.empty((len(starts), samples, 7))
        for i in range(samples):
            for _ in range(cube.substeps if i else 0):
                bullet.stepSimulation(**world)
            poses[:, i] = [bullet_pose(bullet, world, body) for body in bodies]
    finally:
        bullet.disconnect(**world)
    return poses


def _bullet_shape(bullet: Any, cube: Cube, world: Mapping[str, int]) -> int:
    """The blocks as boxes or, bevelled, as hulls; several make a compound."""
    boxes = [_middle(block) for block in cube.blocks()]
    if cube.chamfer:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cube.obj"
            path.write_text(_wavefront(cube.smaller(BULLET_MARGIN).blocks()))
            shape = bullet.createCollisionShape(bullet.GEOM_MESH, fileName=str(path), **world)
    elif len(boxes) == 1:
        half = boxes[0][1].tolist()
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half, **world)
    else:
        shape = bullet.createCollisionShapeArray(
            [bullet.GEOM_BOX] * len(boxes),
            halfExtents=[half.tolist() for _, half in boxes],
            collisionFramePositions=[centre.tolist() for centre, _ in boxes],
            **world,
        )
    return int(shape)


def _wavefront(blocks: Sequence[Array]) -> str:
    """An OBJ file with an object per block; of its faces Bullet takes no more than the points."""
    lines, first = [], 1
    for i, block in enumerate(blocks):
        lines += [f"o {i}", *(f"v {numbers(point)}" for point in block)]
        last = first + len(block) - 1
        lines += [f"f {first} {k} {k + 1}" for k in range(first + 1, last)]
        first = last + 1
    return "\n".join(lines) + "\n"
