"""The procedural jaws: counts, sizes, shape against scalar expressions, refinement."""

from __future__ import annotations

from math import cos, floor, hypot, pi, sin, sqrt

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.scene.jaws import SCALE, lower_jaw, upper_jaw

pytestmark = pytest.mark.nojit


def point_of_a_jaw(s: float, psi: float, step: float) -> tuple[float, float, float]:
    """One point of the lower jaw at share s of the arch and angle psi around it, in scalars."""

    def arch(s: float) -> tuple[float, float]:
        angle = pi * (0.04 + 0.92 * s)
        return 0.62 * SCALE * cos(angle), 0.85 * SCALE * sin(angle) - 0.35 * SCALE

    (x0, y0), (x1, y1) = arch(s - step), arch(s + step)
    dx, dy = x1 - x0, y1 - y0
    out = dy / hypot(dx, dy), -dx / hypot(dx, dy)
    cap = min(1.0, sqrt(min(s, 1.0 - s) / 0.02 + 0.02))
    tooth = 14.0 * s
    within = tooth - floor(tooth)
    profile = max(0.0, 1.0 - (2.0 * abs(within - 0.5)) ** 4)
    molar = tooth < 5.0 or tooth > 9.0
    a, b = cos(psi), sin(psi)
    width, height = 0.085 * SCALE * cap * a, 0.16 * b
    if b > 0.0:
        height += 0.10 * profile * b**2
        if molar:
            width *= 1.0 + 0.35 * b
            height += 0.022 * cos(2 * pi * (2 * within - 1)) * cos(3 * pi * a) * b**4
        else:
            height += 0.05 * profile * b**6 * (1.0 - 0.7 * a**2)
    x, y = arch(s)
    return x + width * out[0], y + width * out[1], SCALE * cap * height


def test_counts_and_sizes_are_those_of_the_paper() -> None:
    """`Mesh` has checked that the surfaces are closed, consistently oriented and outward."""
    for jaw, count, radius in ((lower_jaw(), 40_180, 59.8), (upper_jaw(), 47_340, 60.9)):
        assert len(jaw.faces) == count
        middle = 0.5 * (jaw.vertices.min(axis=0) + jaw.vertices.max(axis=0))
        reach = np.linalg.norm(jaw.vertices - middle, axis=1).max()
        assert 1e3 * reach == pytest.approx(radius, abs=0.05)
        assert 4e-5 < jaw.moments().volume < 6e-5


@pytest.mark.parametrize("ring", [0, 3, 40, 102, 110, 143, 200, 286])
def test_points_are_those_of_the_scalar_expressions(ring: int) -> None:
    points = lower_jaw().vertices[:-2].reshape(287, 70, 3)[ring]
    s, step = (ring + 0.5) / 287, 1.0 / 287
    if ring in (0, 286):  # the direction there is that of one side
        step = 1e-9
    expected = [point_of_a_jaw(s, 2.0 * pi * j / 70, step) for j in range(70)]
    assert points == pytest.approx(np.array(expected), abs=1e-4 if ring in (0, 286) else 1e-15)


def test_the_upper_jaw_is_the_mirror_image_of_a_lower_one() -> None:
    """Teeth meet: each of the upper's points is one of a lower jaw's of its own fineness."""
    points = upper_jaw().vertices[:-2].reshape(263, 90, 3)[131]
    s = 131.5 / 263
    expected = [point_of_a_jaw(s, 2.0 * pi * j / 90, 1.0 / 263) for j in range(90)]
    assert points == pytest.approx(np.array(expected) * (1.02, 1.02, -1.0), abs=1e-15)
    # crowns reach further from the middle than the gum
    heights = upper_jaw().vertices[:, 2]
    assert heights.min() < -0.02 < 0.012 < heights.max() < 0.0125


def test_refining_keeps_the_shape() -> None:
    coarse, fine = lower_jaw(), lower_jaw(2)
    assert len(fine.faces) == 4 * len(coarse.faces)
    assert fine.moments().volume == pytest.approx(coarse.moments().volume, rel=3e-3)
    assert np.abs(fine.vertices.max(axis=0) - coarse.vertices.max(axis=0)).max() < 2e-4
    assert np.abs(fine.vertices.min(axis=0) - coarse.vertices.min(axis=0)).max() < 2e-4
    # 2 · 5·287 · 5·70: a million triangles from 5 on
    assert 5 * 5 * len(coarse.faces) == 1_004_500


def test_the_same_every_time() -> None:
    assert lower_jaw() == lower_jaw()
    assert upper_jaw(2) == upper_jaw(2)


def test_a_refinement_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(SceneError, match="lower_jaw refine: out of range, got 0"):
        lower_jaw(0)
    with pytest.raises(SceneError, match="upper_jaw refine: out of range, got 30"):
        upper_jaw(30)
