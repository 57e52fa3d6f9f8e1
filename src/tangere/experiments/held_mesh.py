"""What experiments with a mesh in hand share: the tool, its hand's turns, a run and its ringing."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tangere.experiments.figures import INK
from tangere.experiments.pictures import Camera, paint_triangles
from tangere.geometry.shapes import Shape
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    OUT_ACTIVE,
    OUT_CONTACT,
    OUT_DEPTH,
    OUT_DEVIATION,
    OUT_FORCE,
    SET_GRIP,
    SET_INERTIA,
    SET_INTEGRATOR,
    SET_MASS,
    SET_STEP,
    TOOL_ANGULAR,
    TOOL_MOMENTUM,
    TOOL_QUATERNION,
    Rig,
    new_rig,
)
from tangere.maths.quat import product
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

HIGH_PASS = 50.0  # ringing is what is faster [Hz]


@dataclass(frozen=True)
class Tool:
    """A mesh as a tool: its frame is principal, at the centre of mass.

    Attributes:
        shape: The mesh.
        centre: Of mass, in the mesh's frame [m].
        axes: Principal axes as columns, in the mesh's frame.
        gyration: Squared radii of gyration [m²].
        grip: In the tool's frame [m].
    """

    shape: Shape
    centre: Array
    axes: Array
    gyration: Array
    grip: Array

    @classmethod
    def of(cls, shape: Shape, held_at: ArrayLike | None = None) -> Tool:
        """A shape of even density, held at a point in its frame [m]; None: the centre of mass."""
        moments = shape.moments()
        gyration, axes = np.linalg.eigh(moments.inertia / moments.volume)
        for k in range(2):  # axes along those of the mesh, not against
            axes[:, k] *= np.sign(axes[np.argmax(np.abs(axes[:, k])), k])
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        arm = np.zeros(3) if held_at is None else np.asarray(held_at) - moments.centre
        return cls(shape, moments.centre, axes, gyration, axes.T @ arm)

    @property
    def held_behind(self) -> float:
        """How far behind the centre of mass the hand holds it [m]."""
        return -float((self.axes @ self.grip)[0])

    def held_at(self, behind: float) -> Tool:
        """The same, held so far behind its centre of mass [m]."""
        return dataclasses.replace(self, grip=self.inner @ np.array([-behind, 0.0, 0.0]))

    @property
    def inner(self) -> Array:
        """Rotation from the mesh's frame to the tool's."""
        turned: Array = self.axes.T
        return turned

    @property
    def quaternion(self) -> Array:
        """Of the tool's frame in the mesh's."""
        return quaternion_of(self.axes)


class Ticks(Protocol):
    """What the measure of ringing needs of an experiment's parameters."""

    @property
    def dt(self) -> float:
        """Of a tick [s]."""

    @property
    def ringing_window(self) -> float:
        """Length of the last part of a run, in which ringing is taken [s]."""


@dataclass(frozen=True)
class Run:
    """One run: state of the tool (n, 13), OUT_… (n, NOUT), depth of the deepest point (n,) [m]."""

    states: Array
    out: Array
    point_depth: Array
    planes: Array

    @property
    def force(self) -> Array:
        """|F_c|, what the hand feels [N]."""
        size: Array = np.linalg.norm(self.out[:, OUT_FORCE : OUT_FORCE + 3], axis=1)
        return size

    @property
    def contact(self) -> Array:
        """Size of the contact force [N]."""
        size: Array = np.linalg.norm(self.out[:, OUT_CONTACT : OUT_CONTACT + 3], axis=1)
        return size

    @property
    def touching(self) -> Array:
        """Ticks with a plane that presses."""
        return np.asarray(self.out[:, OUT_ACTIVE] > 0.0)

    @property
    def depth(self) -> float:
        """Largest depth of a plane [m]."""
        return float(self.out[:, OUT_DEPTH].max())

    @property
    def deviation(self) -> float:
        """Largest distance of the grip from the hand [m]."""
        return float(self.out[:, OUT_DEVIATION].max())

    @property
    def breaks(self) -> int:
        """How often contact was lost again."""
        return int(np.count_nonzero(np.diff(self.touching.astype(int)) < 0))

    def ringing(self, column: int, p: Ticks) -> float:
        """RMS of a force, OUT_…, above `HIGH_PASS` in the last part of the run [N]."""
        from scipy.signal import butter, sosfiltfilt

        rows = self.out[:, column : column + 3]
        last = min(round(p.ringing_window / p.dt), len(rows))
        sections = butter(4, HIGH_PASS, "high", fs=1.0 / p.dt, output="sos")
        fast = sosfiltfilt(sections, rows, axis=0)[-last:]
        return float(np.sqrt(np.mean(np.sum(fast * fast, axis=1))))


def rig_for(tool: Tool, mass: float, dt: float, rule: int, coupling: VirtualCoupling) -> Rig:
    """A rig with that tool, at rest at the origin, moved by a rule STEP_…."""
    rig = new_rig()
    s = rig.settings
    coupling.apply(s)
    s[SET_STEP], s[SET_MASS], s[SET_INTEGRATOR] = dt, mass, rule
    s[SET_INERTIA : SET_INERTIA + 3] = mass * tool.gyration
    s[SET_GRIP : SET_GRIP + 3] = tool.grip
    return rig


def motion_of(y: Array, mass: float, inertia: Array) -> Array:
    """Position, quaternion, velocity and angular velocity of a tool."""
    own = rotation_of(y[TOOL_QUATERNION : TOOL_QUATERNION + 4])
    spin = own @ (own.T @ y[TOOL_ANGULAR : TOOL_ANGULAR + 3] / inertia)
    return np.concatenate((y[:7], y[TOOL_MOMENTUM : TOOL_MOMENTUM + 3] / mass, spin))


def hand_turns(phi: Array, rate: Array, start: Array) -> tuple[Array, Array]:
    """Quaternions exp(φ) q and angular velocities J_l(φ) φ̇ of rotation vectors and their rates."""
    angle = np.linalg.norm(phi, axis=1)[:, None]
    half = 0.5 * np.sinc(0.5 * angle / np.pi) * phi
    quaternions = np.array(
        [
            product((math.cos(0.5 * float(a[0])), *h), tuple(start))
            for a, h in zip(angle, half, strict=True)
        ]
    )
    tip = np.cross(phi, rate)
    across = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    # (θ − sin θ)/θ³, by its series where it would lose digits
    along = np.where(
        angle > 1e-2, (1.0 - np.sinc(angle / np.pi)) / np.maximum(angle, 1e-9) ** 2, 1.0 / 6.0
    )
    return quaternions, rate + across * tip + along * np.cross(phi, tip)


def paint_placed(axes: Axes, camera: Camera, meshes: list[tuple[Shape, Array, Array, str]]) -> None:
    """Triangles of placed meshes from back to front, lit from above."""
    from matplotlib.colors import to_rgb

    surfaces = []
    for shape, position, turned, colour in meshes:
        vertices, faces = shape.surface()
        corners = (vertices @ turned.T + position)[faces]
        surfaces.append((corners, np.tile(to_rgb(colour), (len(faces), 1))))
    paint_triangles(axes, camera, surfaces)


def outline_placed(
    axes: Axes, camera: Camera, shape: Shape, position: Array, turned: Array, alpha: float = 0.25
) -> None:
    """The edges of a mesh as thin lines, seen through everything."""
    from matplotlib.collections import PolyCollection

    right, up, _ = camera.axes()
    vertices, faces = shape.surface()
    corners = (vertices @ turned.T + position - camera.centre)[faces]
    flat = np.stack((corners @ right, corners @ up), axis=2)
    axes.add_collection(
        PolyCollection(list(flat), facecolors="none", edgecolors=INK, lw=0.25, alpha=alpha)
    )
