"""The closed form of a clip on a pipe: push over height, and how it snaps in a hand.

Two lips, each held sideways by a stiffness k, slide over a pipe of radius R. With θ the angle of
the contact normal from the push axis, which begins at the half-angle α of the mouth,

    P(θ) = 2 k R (sin θ − sin α) cot(θ − arctan μ),    height = R cos α + R cos θ

and cot(θ + arctan μ) on the way back. So the push changes sign at θ = 90° + arctan μ, and μ > tan α
jams for good: with θ below arctan μ the lips are driven together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, atan, cos, pi, sin, tan
from typing import TYPE_CHECKING

import numpy as np

from tangere.fem.grids import lips
from tangere.geometry.tetmesh import TetMesh
from tangere.maths.vec import Array
from tangere.scene.soft_library import CLIP_WIDTH, OUTER, POLYETHYLENE, RADIUS
from tangere.steppers.soft_scene import condense_body

if TYPE_CHECKING:
    from tangere.scene.scene import Body

SAMPLES = 20_001  # of the law, where its extremes are sought


@dataclass(frozen=True)
class ClipLaw:
    """P(θ) of one clip; heights are those of its centre above the axis of the pipe [m]."""

    stiffness: float
    """Of one lip, sideways [N/m]."""
    friction: float
    mouth: float
    """α [rad]"""
    radius: float = RADIUS

    @property
    def touch(self) -> float:
        """Height at which the lips touch the pipe [m]."""
        return 2.0 * self.radius * cos(self.mouth)

    @property
    def opening(self) -> float:
        """How far a lip is pushed aside at most [m]."""
        return self.radius * (1.0 - sin(self.mouth))

    @property
    def turning(self) -> float:
        """Height at which the push changes sign [m]."""
        return self.radius * (cos(self.mouth) - sin(atan(self.friction)))

    def angle(self, height: float) -> float:
        """θ at a height; α before the lips touch, π − α when they are home [rad]."""
        c = (height - self.radius * cos(self.mouth)) / self.radius
        return min(max(acos(min(max(c, -1.0), 1.0)), self.mouth), pi - self.mouth)

    def push(self, height: float) -> float:
        """Force that pushes the clip down at a height [N]."""
        theta = self.angle(height)
        aside = self.radius * (sin(theta) - sin(self.mouth))
        return 2.0 * self.stiffness * aside / tan(theta - atan(self.friction))

    def push_back(self, height: float) -> float:
        """The same on the way up: what holds the clip down while it is drawn off [N]."""
        theta = self.angle(height)
        aside = self.radius * (sin(theta) - sin(self.mouth))
        return 2.0 * self.stiffness * aside / tan(theta + atan(self.friction))

    @property
    def curve(self) -> tuple[Array, Array]:
        """Heights from touch to home, and the push there."""
        heights = np.linspace(self.touch, 0.0, SAMPLES)
        return heights, np.array([self.push(float(h)) for h in heights])

    @property
    def extremes(self) -> tuple[float, float]:
        """Largest push, and the least: the strongest pull [N]."""
        _, force = self.curve
        return float(force.max()), float(force.min())


def lip_stiffness(clip: Body) -> float:
    """Sideways force per displacement of a lip of this very mesh, moved as one [N/m]."""
    mesh = clip.shape
    assert isinstance(mesh, TetMesh)
    each = condense_body(clip)
    _, right = lips(mesh)
    edge = mesh.vertices[right]
    near = np.abs(each.positions[:, None, [0, 2]] - edge[None, :, [0, 2]]).max(axis=2).min(axis=1)
    rows = 3 * np.flatnonzero(near < 1e-9)  # along x, of the edge's vertices and mid-edge nodes
    together = np.linalg.solve(each.compliance[np.ix_(rows, rows)], np.ones(len(rows)))
    return float(together.sum())


def beam_stiffness(clip: Body, mouth: float) -> float:
    """The same of a thin curved beam: E I/∫ h² r dφ, h the height above the lip [N/m].

    φ runs along the middle line of radius r from the lip to the last vertex that the handle holds.
    """
    mesh, elastic = clip.shape, clip.elastic
    assert isinstance(mesh, TetMesh)
    assert elastic is not None
    x, _, z = mesh.vertices[elastic.clamped].T
    held = float(np.arctan2(x, z).max())
    middle, thick = 0.5 * (RADIUS + OUTER), OUTER - RADIUS
    phi = np.linspace(mouth - 0.5 * pi, 0.5 * pi - held, SAMPLES)
    arm = middle * np.sin(phi) + RADIUS * cos(mouth)
    bending = POLYETHYLENE["young"] * CLIP_WIDTH * thick**3 / 12.0
    return float(bending / (middle * np.trapezoid(arm * arm, phi)))


@dataclass(frozen=True)
class Snap:
    """A clip as a mass on the law: heights [m], velocity [m/s] and force on the hand [N]."""

    time: Array
    hand: Array
    height: Array
    velocity: Array
    force: Array


def snap(
    law: ClipLaw,
    *,
    mass: float,
    stiffness: float,
    damping: float,
    start: float,
    speed: float,
    dt: float = 1e-5,
) -> Snap:
    """The motion under a hand that goes down to height 0, until the clip is home.

        m v̇ = P(z) − k (z − z_h) − b (v − v_h)

    Args:
        law: Push over height.
        mass: [kg]
        stiffness: Of the coupling between hand and clip [N/m].
        damping: The same [N s/m].
        start: Height of both [m].
        speed: Of the hand, downwards [m/s].
        dt: Step of the symplectic Euler rule [s].
    """
    z, v, t = start, 0.0, 0.0
    rows = []
    while z > 0.0 and t < 2.0 * start / speed:
        hand = max(start - speed * t, 0.0)
        hand_v = -speed if hand > 0.0 else 0.0
        force = stiffness * (z - hand) + damping * (v - hand_v)
        rows.append((t, hand, z, v, force))
        v += dt / mass * (law.push(z) - force)
        z += dt * v
        t += dt
    return Snap(*np.array(rows).T)
