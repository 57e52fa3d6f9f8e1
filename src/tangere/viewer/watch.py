"""Has the scene gone wrong? Numbers lost, bodies gone, or energy from nowhere, said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.maths.vec import Array

if TYPE_CHECKING:
    from tangere.scene.scene import Scene
    from tangere.simulation import Simulation

FAR = 1e3  # distance at which a body has left, in sizes of the scene
# Energy gained since the start, over the work of lifting every body by the scene's size. A hand
# that flings bodies stays far below; contacts past the explicit step's limit soon exceed it.
MOST_GAIN = 200.0
LEAST_GRAVITY = 1.0  # [m/s²] the gain is measured with at least this
RESET = "press Reset"
REMEDY = {
    "explicit": "lower stiffness or damping, or take the implicit step, and press Reset",
}


class Watch:
    """What a scene was like at its start, to tell when it no longer can be right."""

    def __init__(self, scene: Scene, simulation: Simulation) -> None:
        self._names = [body.name for body in scene.bodies]
        self._start = np.asarray(simulation.positions)
        sizes = [body.shape.moments().volume ** (1.0 / 3.0) for body in scene.bodies]
        self.size = max(sizes) + float(np.ptp(self._start, axis=0).max())
        gravity = max(LEAST_GRAVITY, float(np.linalg.norm(scene.gravity)))
        mass = sum(body.mass for body in scene.bodies if not body.fixed)
        self._most = simulation.energy.total + MOST_GAIN * mass * gravity * self.size

    def trouble(self, positions: Array, orientations: Array, energy: float) -> str | None:
        """What is wrong in words, or None.

        Args:
            positions: Of all bodies, shape (n, 3) [m].
            orientations: Of all bodies, shape (n, 4).
            energy: Of everything [J].
        """
        lost = ~(np.isfinite(positions).all(axis=1) & np.isfinite(orientations).all(axis=1))
        if lost.any():
            return f"the pose of {self._names[int(np.argmax(lost))]} is no longer a number"
        if not energy <= self._most:
            return "the bodies gained energy from nowhere"
        gone = np.abs(positions - self._start).max(axis=1) > FAR * self.size
        if gone.any():
            return f"{self._names[int(np.argmax(gone))]} is {FAR * self.size:.0f} m away"
        return None
