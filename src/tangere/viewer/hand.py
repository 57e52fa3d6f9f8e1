"""A hand on a body: a soft damped spring between the mouse and the point it holds.

The spring is solved implicitly together with the body's inertia, so no choice of mass or interval
can shake. With e from the held point to the mouse, u the point's velocity, h the interval and
W = 1/m − [r]× I⁻¹ [r]× the answer of the point to an impulse J:

    J = h (k (e − h u⁺) − c u⁺),  u⁺ = u + W J
    ⇒  (1 + (k h² + c h) W) J = h k e − (k h² + c h) u
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.viewer.frame import Pull

if TYPE_CHECKING:
    from tangere.scene.scene import Scene
    from tangere.simulation import Simulation

SAG = 0.08  # how far a held body hangs below the hand, over its size
SLOWEST, FASTEST = 2.0 * np.pi * 2.0, 2.0 * np.pi * 8.0  # [rad/s] of the body on its spring
CALM = 3.0  # [1/s] at which a hand takes the swing out of what it holds
MOST_WEIGHTS = 15.0  # the pull ends here, in weights of the body: no hand tears a pile apart
LEAST_GRAVITY = 1.0  # [m/s²] weights are counted in at least this, for scenes without gravity


class Grip:
    """The held point of one body, and where it is wanted."""

    def __init__(
        self, simulation: Simulation, scene: Scene, body: int, point: Array, target: Array
    ) -> None:
        record = scene.bodies[body]
        self.body = body
        self.target = np.asarray(target, dtype=float)
        gravity = max(LEAST_GRAVITY, float(np.linalg.norm(scene.gravity)))
        size = record.shape.moments().volume ** (1.0 / 3.0)
        self.limit = MOST_WEIGHTS * record.mass * gravity
        self.frequency = float(np.clip(np.sqrt(gravity / (SAG * size)), SLOWEST, FASTEST))
        self._mass = record.mass
        self._centre = np.asarray(record.centre, dtype=float)
        self._inverse_inertia = np.linalg.inv(np.asarray(record.inertia, dtype=float))
        view = simulation[body]
        rotation = rotation_of(np.asarray(view.orientation))
        self._hold = rotation.T @ (np.asarray(point, dtype=float) - np.asarray(view.position))

    def pull(self, simulation: Simulation, h: float) -> Pull:
        """Give the body the spring's impulse over `h` seconds, and say what it was."""
        view = simulation[self.body]
        rotation = rotation_of(np.asarray(view.orientation))
        position = np.asarray(view.position)
        point = position + rotation @ self._hold
        r = rotation @ (self._hold - self._centre)
        inverse_inertia = rotation @ self._inverse_inertia @ rotation.T
        velocity, omega = np.asarray(view.velocity), np.asarray(view.angular_velocity)
        cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
        answer = np.eye(3) / self._mass - cross @ inverse_inertia @ cross
        k = self._mass * self.frequency**2
        c = 2.0 * self._mass * self.frequency
        soft = k * h * h + c * h
        wanted = h * k * (self.target - point) - soft * (velocity + np.cross(omega, r))
        impulse = np.linalg.solve(np.eye(3) + soft * answer, wanted)
        force = float(np.linalg.norm(impulse)) / h
        limited = force > self.limit
        if limited:
            impulse *= self.limit / force
            force = self.limit
        view.velocity = velocity + impulse / self._mass
        calmer = omega / (1.0 + CALM * h)
        view.angular_velocity = calmer + inverse_inertia @ np.cross(r, impulse)
        return Pull(point, self.target.copy(), force, limited)
