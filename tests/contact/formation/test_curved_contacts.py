from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere.contact.formation.columns import (
    LINE,
    PC_COUNT,
    PC_CURVED,
    PC_GAP,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PC_POLYGON_GAP,
    PC_REGION,
    PLANE,
    POINT,
)
from tangere.contact.formation.identify import Formations
from tangere.geometry.boundary import boundary_of, half_space
from tangere.maths.rotations import quat_product
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
EXACT = 1e-11  # of closest points of curved elements


def turn(axis: tuple[float, float, float], degrees: float) -> Array:
    half, way = 0.5 * np.deg2rad(degrees), np.asarray(axis, float)
    return np.array([np.cos(half), *(np.sin(half) * way / np.linalg.norm(way))])


ALONG_X, ALONG_Y = turn((0, 1, 0), 90.0), turn((1, 0, 0), -90.0)


def on_legs(shape: tg.Sphere | tg.Cylinder) -> Formations:
    """Two rods of 15 mm radius along +x and +y from the origin."""
    rod = boundary_of(tg.Cylinder(0.015, 0.4))
    legs = [(rod, ((0.2, 0.0, 0.0), ALONG_X)), (rod, ((0.0, 0.2, 0.0), ALONG_Y))]
    return Formations(boundary_of(shape), legs, names=("tool", "x", "y"))


def on_floor(shape: tg.Cylinder | tg.Capsule | tg.Cone) -> Formations:
    return Formations(boundary_of(shape), [(half_space(), ((0, 0, 0), UPRIGHT))])


@pytest.mark.parametrize("psi", [-60.0, -20.0, 0.0, 35.0, 60.0])
def test_ball_on_two_rods(psi: float) -> None:
    """Centre at ρ (cos ψ, cos ψ, sin ψ): a point on either rod, the normal from its axis."""
    f = on_legs(tg.Sphere(0.02))
    c, s = np.cos(np.deg2rad(psi)), np.sin(np.deg2rad(psi))
    rows, valid = f.find(0.0355 * np.array([c, c, s]), UPRIGHT)
    assert valid
    assert f.describe(rows) == ("tool on x side", "tool on y side")
    assert rows[:, PC_REGION].tolist() == [POINT, POINT]
    assert rows[:, PC_CURVED].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(rows[:, PC_GAP], 5e-4, atol=EXACT)
    normals = rows[:, PC_NORMAL : PC_NORMAL + 3]
    np.testing.assert_allclose(normals, [[0, c, s], [c, 0, s]], atol=1e-9)
    points = rows[:, PC_POINT : PC_POINT + 3]
    expected = [[0.0355 * c, 0.015 * c, 0.015 * s], [0.015 * c, 0.0355 * c, 0.015 * s]]
    np.testing.assert_allclose(points, expected, atol=1e-9)


def test_cylinder_on_a_parallel_rod_is_a_line_and_tilted_a_point() -> None:
    f = on_legs(tg.Cylinder(0.02, 0.08))
    rows, valid = f.find((0.1, 0.0, 0.0355), ALONG_X)
    assert valid
    assert f.describe(rows) == ("tool side along x side",)
    assert rows[0][PC_REGION] == LINE
    assert rows[0][PC_CURVED] == 1.0
    ends = rows[0][PC_POLYGON : PC_POLYGON + 6].reshape(2, 3)
    np.testing.assert_allclose(sorted(ends[:, 0]), [0.06, 0.14], atol=1e-9)
    np.testing.assert_allclose(ends[:, 1:], [[0, 0.015], [0, 0.015]], atol=1e-9)
    np.testing.assert_allclose(rows[0][PC_POLYGON_GAP:][:2], 5e-4, atol=EXACT)
    tilt = np.deg2rad(3.0)
    height = 0.0155 + 0.02 * np.cos(tilt) + 0.04 * np.sin(tilt)
    rows, valid = f.find((0.1, 0.0, height), quat_product(turn((0, 1, 0), 3.0), ALONG_X))
    assert valid
    assert f.describe(rows) == ("tool edge side end +z on x side",)
    assert rows[0][PC_REGION] == POINT
    assert rows[0][PC_CURVED] == 0.0
    assert rows[0][PC_GAP] == pytest.approx(5e-4, abs=1e-9)


def test_cylinder_on_a_floor() -> None:
    """On its end, on its rim, on its side."""
    f = on_floor(tg.Cylinder(0.02, 0.08))
    rows, _ = f.find((0.0, 0.0, 0.0403), UPRIGHT)
    assert f.describe(rows) == ("tool end -z on body",)
    assert rows[0][PC_REGION] == PLANE
    points = rows[0][PC_POLYGON:][: 3 * int(rows[0][PC_COUNT])].reshape(-1, 3)
    area = 0.5 * np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)[2]
    assert area == pytest.approx(np.pi * 0.02**2)
    for degrees in (4.0, 30.0, 60.0, 86.0):
        t = np.deg2rad(degrees)
        height = 0.04 * np.cos(t) + 0.02 * np.sin(t) - 3e-4
        f.forget()
        rows, _ = f.find((0.0, 0.0, height), turn((0, 1, 0), degrees))
        assert f.describe(rows) == ("tool edge end -z side on body",)
        assert rows[0][PC_GAP] == pytest.approx(-3e-4, abs=EXACT)
    f.forget()
    rows, _ = f.find((0.0, 0.0, 0.0202), ALONG_X)
    assert f.describe(rows) == ("tool side along body",)
    assert rows[0][PC_REGION] == LINE


def test_capsule_and_cone_on_a_floor() -> None:
    capsule = on_floor(tg.Capsule(0.01, 0.05))
    for degrees, name, region in (
        (0.0, "cap -z", POINT),
        (40.0, "cap -z", POINT),
        (140.0, "cap +z", POINT),
        (90.0, "side", LINE),
    ):
        height = 0.0103 + 0.025 * abs(np.cos(np.deg2rad(degrees)))
        capsule.forget()
        rows, valid = capsule.find((0.0, 0.0, height), turn((0, 1, 0), degrees))
        assert valid
        how = "along" if region == LINE else "on"
        assert capsule.describe(rows) == (f"tool {name} {how} body",)
        assert rows[0][PC_REGION] == region
    cone = on_floor(tg.Cone(0.02, 0.05))
    rows, _ = cone.find((0.0, 0.0, 0.0126), UPRIGHT)
    assert cone.describe(rows) == ("tool base on body",)
    cone.forget()
    rows, _ = cone.find((0.0, 0.0, 0.0376), turn((1, 0, 0), 180.0))
    assert cone.describe(rows) == ("tool apex on body",)
