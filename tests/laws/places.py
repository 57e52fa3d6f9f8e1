"""The same scene seen from other places: turned, moved, and compared with the first."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere.maths.rotations import quat_product
from tangere.simulation import Simulation

Array = NDArray[np.float64]
Place = tuple[Rotation, tuple[float, float, float]]

HOME: Place = (Rotation.identity(), (0.0, 0.0, 0.0))
VIEWS: list[Place] = [
    (Rotation.from_rotvec((0.0, 0.0, 0.7)), (0.0, 0.0, 0.0)),
    (Rotation.from_rotvec((1.0, -2.0, 0.5)), (0.0, 0.0, 0.0)),
    (Rotation.from_rotvec((math.pi, 0.0, 0.0)), (0.0, 0.0, 0.0)),
    (Rotation.identity(), (3.0, -7.0, 2.0)),
    (Rotation.from_rotvec((0.3, 0.2, 1.5)), (-1.0, 4.0, 5.0)),
]


def tumble(place: Place, heights: tuple[float, float, float]) -> tg.Scene:
    """Blocks that fall, slide and knock on a floor, all of it turned and moved."""
    turn, shift = place
    up = turn.apply((0.0, 0.0, 1.0))
    scene = tg.Scene(gravity=-9.81 * up)
    scene.add_floor(normal=up, height=float(up @ np.array(shift)))
    a, b, c = heights
    specs = [
        (tg.Box((0.2, 0.3, 0.1)), (0.0, 0.0, a), (1.0, 0.3, 0.0), (0.0, 0.0, 3.0)),
        (tg.Box((0.1, 0.1, 0.1)), (0.02, 0.03, b), (0.5, 0.0, 0.0), (0.0, 0.0, 0.0)),
        (tg.Cylinder(0.08, 0.2), (0.35, 0.1, c), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    ]
    for shape, x, v, w in specs:
        scene.add_body(
            shape,
            position=np.array(shift) + turn.apply(x),
            orientation=turn.as_quat(scalar_first=True),
            velocity=turn.apply(v),
            angular_velocity=turn.apply(w),
        )
    return scene


def same_from(
    place: Place, run: Callable[[Place], Simulation], steps: int, apart: float, askew: float
) -> int:
    """Compare five times, `steps` each: places to `apart` [m], attitudes to `askew`; contacts."""
    turn, shift = place
    here, there = run(HOME), run(place)
    q = np.asarray(turn.as_quat(scalar_first=True))
    touched = 0
    for _ in range(5):
        here.step(steps)
        there.step(steps)
        touched += len(here.contacts)
        expected = np.array(shift) + turn.apply(here.positions)
        assert there.positions == pytest.approx(expected, abs=apart)
        seen = quat_product(np.tile(q, (3, 1)), here.orientations)
        alike = np.abs(np.sum(seen * there.orientations, axis=1))
        assert alike == pytest.approx(np.ones(3), abs=askew)
    return touched
