"""Regions against integration over many small cells."""

from __future__ import annotations

import numpy as np
import pytest
from contact.formation.scenes import row

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.contact.formation.columns import MOST_POINTS, PC_POINT, PC_POLYGON
from tangere.contact.formation.regions import (
    FAR_AWAY,
    MOST_SPREAD,
    NPT,
    PT_GAP,
    PT_WEIGHT,
    from_region,
    spread,
    turning_friction,
)
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

UP = np.array([0.0, 0.0, 1.0])
RADIUS = 0.02
# A disc as the polygon of 16 corners of the same area.
ANGLES = 2.0 * np.pi * np.arange(MOST_POINTS) / MOST_POINTS
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.0 * ANGLES], axis=1)
DISC = RADIUS * CIRCLE * np.sqrt(np.pi / (0.5 * MOST_POINTS * np.sin(2.0 * np.pi / MOST_POINTS)))
RECTANGLE = np.array([[-0.025, -0.01, 0], [0.025, -0.01, 0], [0.025, 0.01, 0], [-0.025, 0.01, 0]])
REGIONS = {"disc": DISC, "rectangle": RECTANGLE}
LINE_ENDS = np.array([[-0.04, 0.0, 0.0], [0.04, 0.0, 0.0]])
# Offsets of the centre of turning in half widths of the region: inside, on the rim, outside
OFFSETS = [(0.0, 0.0), (0.3, 0.0), (0.3, 0.4), (0.0, 1.0), (0.6, 0.6), (1.6, 0.0), (1.5, 2.5)]
# The rule of middles over N cells across errs by about 1/N² of smooth integrands, and by the
# jagged rim of a disc.
CELLS = {"rectangle": 1e-5, "disc": 1e-3}


@kernel
def friction_kernel(contact: Array, size: float, v: Array, w: float, result: Array) -> None:
    """Mean direction of friction, and its moment about the centroid."""
    force, moment = turning_friction(ptr(contact), size, (v[0], v[1], v[2]), w)
    result[0], result[1], result[2], result[3] = force[0], force[1], force[2], moment


@kernel
def spread_kernel(contact: Array, fan: Array) -> int:
    """Points of the normal force; their number."""
    return spread(ptr(contact), ptr(fan))


@kernel
def far_from(contact: Array, x: float, y: float, z: float) -> float:
    """Distance of a point from the region."""
    return from_region((x, y, z), ptr(contact))


def friction_of(corners: Array, centre: Array, w: float) -> Array:
    """Mean of −v/|v| and its moment about the centroid, when A turns about a centre."""
    contact, result = row(corners, UP, 0.0), np.zeros(4)
    here = contact[PC_POINT : PC_POINT + 3]
    v = np.cross([0.0, 0.0, w], here - centre)
    friction_kernel(contact, float(np.linalg.norm(corners - here, axis=1).max()), v, w, result)
    return result


def cells(name: str, n: int = 500) -> Array:
    """Middles of small cells of equal area, over the disc or the rectangle."""
    u = (np.arange(n) + 0.5) / n * 2.0 - 1.0
    if name == "rectangle":
        x, y = np.meshgrid(0.025 * u, 0.01 * u)
        return np.stack([x.ravel(), y.ravel()], axis=1)
    x, y = np.meshgrid(RADIUS * u, RADIUS * u)
    inside = x * x + y * y < RADIUS * RADIUS
    return np.stack([x[inside], y[inside]], axis=1)


def integrated(at: Array, centre: Array, w: float) -> tuple[Array, float]:
    """Mean of −v/|v| over points, and of its moment about the origin."""
    arm = at - centre[:2]
    v = w * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    f = -v / np.linalg.norm(v, axis=1)[:, None]
    return f.mean(axis=0), float(np.mean(at[:, 0] * f[:, 1] - at[:, 1] * f[:, 0]))


@pytest.mark.parametrize("w", [5.0, -0.3])
@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("offset", OFFSETS)
def test_friction_of_a_turning_face(name: str, offset: tuple[float, float], w: float) -> None:
    half = np.array([0.025, 0.01] if name == "rectangle" else [RADIUS, RADIUS])
    centre = np.array([*(half * offset), 0.0])
    found = friction_of(REGIONS[name], centre, w)
    force, torque = integrated(cells(name), centre, w)
    size = float(np.mean(np.linalg.norm(cells(name), axis=1)))
    assert found[:2] == pytest.approx(force, abs=CELLS[name])
    assert found[2] == pytest.approx(0.0, abs=1e-15)
    assert found[3] == pytest.approx(torque, abs=CELLS[name] * size)
    about = torque - (centre[0] * force[1] - centre[1] * force[0])
    mine = found[3] - (centre[0] * found[1] - centre[1] * found[0])
    assert mine == pytest.approx(about, rel=CELLS[name])


def test_a_disc_that_turns_in_place_has_two_thirds_of_its_radius() -> None:
    """The polygon of equal area has the same mean radius to 2e-4."""
    found = friction_of(DISC, np.zeros(3), 1.0)
    assert found[:3] == pytest.approx(0.0, abs=1e-12)
    assert found[3] == pytest.approx(-2.0 / 3.0 * RADIUS, rel=2e-4)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("disc", 0.745, 0.755), ("rectangle", 0.63, 0.68)]
)
@pytest.mark.parametrize("lines", [8, 16, 64])
def test_the_papers_shares_give_too_little_torque(
    name: str, low: float, high: float, lines: int
) -> None:
    """Lines through the centre share by length, and act at the middles of their two rays R.

    The rays of one line share its part by their lengths again: the torque is Σ R²/2 / Σ R.
    """
    corners = REGIONS[name]
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
    height = (normals * corners[:, :2]).sum(axis=1)
    turn = np.pi * (np.arange(2 * lines) + 0.5) / lines
    along = normals @ np.stack([np.cos(turn), np.sin(turn)])
    rays = np.where(along > 0.0, height[:, None] / np.where(along > 0.0, along, 1.0), np.inf)
    reach = rays.min(axis=0)
    printed = 0.5 * (reach**2).sum() / reach.sum()
    assert low <= printed / abs(friction_of(corners, np.zeros(3), 1.0)[3]) <= high


@pytest.mark.parametrize("side", [0.0, 0.003, -0.02])
@pytest.mark.parametrize("along", [-1.5, -0.5, 0.0, 0.1, 1.0, 1.5])
def test_friction_of_a_turning_line(along: float, side: float) -> None:
    """On the line itself the torque about the centre is (l₁² + l₂²)/2(l₁ + l₂)."""
    centre = np.array([0.04 * along, side, 0.0])
    found = friction_of(LINE_ENDS, centre, 5.0)
    x = 0.04 * (2.0 * (np.arange(20_000) + 0.5) / 20_000 - 1.0)
    force, torque = integrated(np.stack([x, 0.0 * x], axis=1), centre, 5.0)
    assert found[:2] == pytest.approx(force, abs=1e-6)
    assert found[3] == pytest.approx(torque, abs=1e-8)
    if side == 0.0 and abs(along) <= 1.0:
        lengths = 0.04 * np.array([1.0 + along, 1.0 - along])
        about = found[3] - centre[0] * found[1]
        assert about == pytest.approx(-0.5 * np.sum(lengths**2) / 0.08, abs=1e-15)


def test_the_centre_of_turning_may_lie_on_a_corner_or_an_edge() -> None:
    for corners in (RECTANGLE, LINE_ENDS):
        for centre in (*corners, 0.5 * (corners[0] + corners[1])):
            found = friction_of(corners, centre, 1.0)
            assert np.isfinite(found).all()
            near = friction_of(corners, centre + np.array([1e-9, 1e-9, 0.0]), 1.0)
            assert found == pytest.approx(near, abs=1e-6)


@pytest.mark.parametrize("corners", [RECTANGLE, LINE_ENDS])
def test_far_turning_becomes_a_translation(corners: Array) -> None:
    """What is left out where the centre counts as infinitely far is of the order of 1/1000."""
    size = float(np.linalg.norm(corners, axis=1).max())
    for share in (0.999, 1.001):
        found = friction_of(corners, np.array([0.0, share * FAR_AWAY * size, 0.0]), 1.0)
        assert found[:3] == pytest.approx([-1.0, 0.0, 0.0], abs=1.0 / FAR_AWAY)
        assert abs(found[3]) < size / FAR_AWAY
    still = friction_of(corners, np.array([1.0, 0.0, 0.0]), 0.0)
    assert still == pytest.approx(0.0, abs=0.0)


@pytest.mark.parametrize("name", REGIONS)
def test_the_fan_is_exact_for_a_pressure_that_grows_evenly(name: str) -> None:
    """Area moments up to the second degree: integrals of pressure, gap and their products."""
    corners = REGIONS[name] + [0.1, 0.2, 0.0]
    slope = np.array([0.3, -0.2])
    gaps = [float(0.01 + slope @ p[:2]) for p in corners]
    fan = np.zeros((MOST_SPREAD, NPT))
    count = spread_kernel(row(corners, UP, gaps), fan)
    assert count == 2 * len(corners)
    used, weight = fan[:count], fan[:count, PT_WEIGHT]
    assert used[:, PT_GAP] == pytest.approx(0.01 + used[:, :2] @ slope, abs=1e-15)
    assert weight.sum() == pytest.approx(1.0)
    assert weight @ used[:, :2] == pytest.approx([0.1, 0.2], abs=1e-15)
    half = np.array([0.025, 0.01])
    second = half**2 / 3.0 if name == "rectangle" else [RADIUS**2 / 4.0] * 2
    # the polygon of equal area has a second moment larger than the disc by 3e-4
    error = 1e-12 if name == "rectangle" else 1e-3
    assert weight @ (used[:, :2] - [0.1, 0.2]) ** 2 == pytest.approx(second, rel=error)


def test_the_two_points_of_a_line_are_exact_as_well() -> None:
    fan = np.zeros((MOST_SPREAD, NPT))
    assert spread_kernel(row(LINE_ENDS, UP, [0.0, 8e-4]), fan) == 2
    x, gap, weight = fan[:2, 0], fan[:2, PT_GAP], fan[:2, PT_WEIGHT]
    assert weight @ x == pytest.approx(0.0, abs=1e-17)
    assert weight @ x**2 == pytest.approx(0.08**2 / 12.0)
    assert gap == pytest.approx(4e-4 + 1e-2 * x)


def test_a_polygon_without_area_is_a_point() -> None:
    corners = np.array([[0.0, 0, 0], [0.01, 0, 0], [0.02, 0, 0]])
    contact = row(DISC[:3], UP, 2e-4)
    contact[PC_POINT : PC_POINT + 3] = corners[1]
    contact[PC_POLYGON : PC_POLYGON + 9] = corners.ravel()
    fan = np.zeros((MOST_SPREAD, NPT))
    assert spread_kernel(contact, fan) == 1
    assert fan[0] == pytest.approx([0.01, 0.0, 0.0, 2e-4, 1.0])
    result = np.zeros(4)
    friction_kernel(contact, 0.01, np.array([0.3, 0.4, 0.0]), 0.1, result)
    assert result == pytest.approx([-0.6, -0.8, 0.0, 0.0])


def test_distance_from_a_region() -> None:
    contact = row(RECTANGLE, UP, 0.0)
    assert far_from(contact, 0.01, 0.005, 0.003) == pytest.approx(0.003)
    assert far_from(contact, 0.028, 0.014, 0.0) == pytest.approx(0.005)
    assert far_from(row(LINE_ENDS, UP, 0.0), -0.04, 0.004, 0.003) == pytest.approx(0.005)
    assert far_from(row(LINE_ENDS[:1], UP, 0.0), -0.04, 0.0, 0.01) == pytest.approx(0.01)
