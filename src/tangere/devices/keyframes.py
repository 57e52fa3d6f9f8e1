"""A hand that goes through given poses: keyframes, cubic in position, great arcs in orientation.

Between two keyframes the position is the cubic Hermite polynomial of the poses and velocities at
its ends, and the orientation goes along the shortest turn (slerp). Without velocities the hand
stands still at every keyframe: both then follow s(u) = 3u² − 2u³, the cubic that starts and ends
at rest. With velocities the turn is even, u itself.

`table` gives the poses at even ticks, with Gaussian noise if wanted; the path itself is a function
of time, as `Scripted` takes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.errors import SceneError
from tangere.maths.quat import from_vector, product, turn_between
from tangere.maths.rotations import quat_product

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.maths.quat import Quat
    from tangere.maths.vec import Array

# Quaternions of keyframes may be this far from unit length; they are normalised.
UNIT = 1e-6


class Keyframes:
    """Poses that a hand passes at given times.

    Attributes:
        times: Of the keyframes, increasing [s], shape (n,).
        positions: [m], shape (n, 3).
        orientations: Unit quaternions (w, x, y, z), shape (n, 4).
        velocities: At the keyframes [m/s], shape (n, 3); None: the hand stops at each.
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        orientations: ArrayLike | None = None,
        *,
        velocities: ArrayLike | None = None,
    ) -> None:
        """Check that times increase and that there is one pose for each."""
        self.times = np.array(times, float)
        n = len(self.times) if self.times.ndim == 1 else 0
        if n < 2 or not (np.diff(self.times) > 0.0).all():
            raise SceneError("keyframes: give two or more increasing times")
        self.positions = _rows(positions, (n, 3), "positions")
        upright = np.tile((1.0, 0.0, 0.0, 0.0), (n, 1))
        turns = upright if orientations is None else _rows(orientations, (n, 4), "orientations")
        sizes = np.linalg.norm(turns, axis=1)
        if (np.abs(sizes - 1.0) > UNIT).any():
            raise SceneError("keyframes: orientations are unit quaternions (w, x, y, z)")
        self.orientations = turns / sizes[:, None]
        self.velocities = None if velocities is None else _rows(velocities, (n, 3), "velocities")

    @property
    def seconds(self) -> float:
        """From the first keyframe to the last."""
        return float(self.times[-1] - self.times[0])

    def __call__(self, t: float) -> tuple[Array, Array]:
        """Position and orientation at a time; before the first and after the last, those."""
        i = int(np.clip(np.searchsorted(self.times, t, "right") - 1, 0, len(self.times) - 2))
        span = float(self.times[i + 1] - self.times[i])
        u = min(max((t - float(self.times[i])) / span, 0.0), 1.0)
        eased = u * u * (3.0 - 2.0 * u)
        a, b = self.positions[i], self.positions[i + 1]
        x = a + eased * (b - a)
        if self.velocities is not None:
            x = x + span * u * (1.0 - u) * (
                (1.0 - u) * self.velocities[i] - u * self.velocities[i + 1]
            )
        p, q = _quat(self.orientations[i]), _quat(self.orientations[i + 1])
        share = eased if self.velocities is None else u
        x1, x2, x3 = turn_between(p, q)
        between = from_vector((share * x1, share * x2, share * x3))
        return x, np.array(product(between, p))

    def table(
        self, rate: float, *, noise: float = 0.0, turn_noise: float = 0.0, seed: int = 0
    ) -> tuple[Array, Array]:
        """Positions (m, 3) and orientations (m, 4) at even ticks from the first keyframe on.

        Args:
            rate: Ticks per second [Hz].
            noise: Standard deviation of every coordinate [m].
            turn_noise: Standard deviation of a turn about every axis [rad].
            seed: Of the noise; the same seed gives the same table.
        """
        count = round(self.seconds * rate) + 1
        poses = [self(float(self.times[0]) + k / rate) for k in range(count)]
        positions = np.array([x for x, _ in poses])
        orientations = np.array([q for _, q in poses])
        return shaken(positions, orientations, noise=noise, turn_noise=turn_noise, seed=seed)


def shaken(
    positions: Array, orientations: Array, *, noise: float, turn_noise: float, seed: int
) -> tuple[Array, Array]:
    """Poses with Gaussian noise [m, rad] on every coordinate and about every axis."""
    rng = np.random.default_rng(seed)
    moved = positions + noise * rng.standard_normal(positions.shape)
    turns = turn_noise * rng.standard_normal(positions.shape)
    each = np.array([from_vector((float(a), float(b), float(c))) for a, b, c in turns])
    return moved, quat_product(each, orientations)


def _quat(q: Array) -> Quat:
    return float(q[0]), float(q[1]), float(q[2]), float(q[3])


def _rows(values: ArrayLike, shape: tuple[int, int], what: str) -> Array:
    rows = np.array(values, float)
    if rows.shape != shape or not np.isfinite(rows).all():
        raise SceneError(f"keyframes: {what} must be {shape[0]} rows of {shape[1]} finite numbers")
    return rows
