"""What a step sees: patches, candidates within the margin, depth at both ends, yielding."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from implicit.looking import Pose, Seen, chords, seen, stored
from numpy.typing import NDArray
from oracles.quadrature import moments
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere.collision.volume import contact_volume
from tangere.contact.point.method import Point
from tangere.contact.volume.method import Volume
from tangere.elements.columns import (
    EF_AREA,
    EF_C,
    EF_DEPTH,
    EF_H,
    EF_HELD,
    EF_HX,
    EF_HY,
    EF_JXX,
    EF_JXY,
    EF_JYY,
    EF_K,
    EF_S,
    EF_SIZE,
    EF_YIELDED,
    EI_SLOT,
    PATCH_KIND,
    POINT_KIND,
)
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

DT = 5e-3
MARGIN = 2.0 * 9.81 * DT**2  # 0.49 mm
SIZE = (0.2, 0.3, 0.1)


def quat(*rotvec: float) -> Array:
    return np.asarray(Rotation.from_rotvec(rotvec).as_quat(scalar_first=True))


def alone(
    depth: float,
    orientation: Any = (1.0, 0.0, 0.0, 0.0),
    method: str | Volume | Point = "volume",
    size: tuple[float, float, float] = SIZE,
    **more: Any,
) -> Simulation:
    """A box whose lowest point is `depth` below the floor."""
    r = Rotation.from_quat(np.asarray(orientation, float), scalar_first=True).as_matrix()
    reach = float(np.abs(r[2]) @ np.array(size)) / 2.0
    scene = tg.Scene(gravity=(0, 0, -more.pop("gravity", 9.81)))
    material = more.pop("material", None)
    scene.add_floor(material=material)
    scene.add_body(
        tg.Box(size), mass=1.0, position=(0.1, -0.2, reach - depth), orientation=orientation,
        material=material, **more,
    )  # fmt: skip
    return Simulation(scene, method=method, dt=DT, integrator="implicit")


def look(sim: Simulation) -> list[Seen]:
    sim.step()
    return seen(sim)


def check_moments(c: Seen) -> None:
    """Area, second moments and moments of depth are those of the polygons' depth."""
    total = np.zeros(9)
    for fan in c.fans:
        apex, ring = fan[0], fan[1:]
        for k in range(len(ring)):
            t = np.stack((apex, ring[k - 1], ring[k]))
            if abs(np.linalg.det(np.column_stack((t[:, :2], np.ones(3))))) < 1e-20:
                continue
            plane = np.linalg.solve(np.column_stack((t[:, :2], np.ones(3))), t[:, 2])
            total += moments(
                t[:, :2],
                lambda x, y, p=plane: p[0] * x + p[1] * y + p[2],  # type: ignore[misc]
            )
    area = total[0]
    assert c[EF_S] == pytest.approx(area, rel=1e-9)
    width = math.sqrt(area)
    assert total[1:3] == pytest.approx([0.0, 0.0], abs=1e-9 * area * width)  # about the centroid
    found = [c[k] for k in (EF_JXX, EF_JXY, EF_JYY)]
    assert found == pytest.approx(total[3:6], rel=1e-8, abs=1e-9 * area**2)
    found = [c[k] for k in (EF_H, EF_HX, EF_HY)]
    scale = area * float(np.abs(c.rows[:, 2]).max())
    assert found[0] == pytest.approx(total[6], abs=1e-8 * scale)
    assert found[1:] == pytest.approx(total[7:], abs=1e-8 * scale * width)


# ---------------------------------------------------------------- patches


def test_face_on_the_floor() -> None:
    (c,) = look(alone(5e-5))
    assert c.kind == PATCH_KIND
    assert c.bodies == (1, 0)
    assert c.axes[0] == pytest.approx((0, 0, 1))
    assert c[EF_S] == pytest.approx(0.06)
    assert c[EF_AREA] == c[EF_S]
    assert sorted([c[EF_JXX], c[EF_JYY]]) == pytest.approx([0.06 * 0.04 / 12, 0.06 * 0.09 / 12])
    assert c[EF_JXY] == pytest.approx(0.0, abs=1e-15)
    (fan,) = c.fans
    corners = c.world(fan[1:])
    expected = [(0.1 + x, -0.2 + y) for x in (-0.1, 0.1) for y in (-0.15, 0.15)]
    assert sorted(map(tuple, np.round(corners[:, :2], 9))) == sorted(
        (round(x, 9), round(y, 9)) for x, y in expected
    )
    assert c[EF_SIZE] == pytest.approx(0.1)
    check_moments(c)


ATTITUDES = [
    (0.0, 0.0, 0.4),  # a face, turned
    (2e-4, 0.0, 0.0),  # a face, leaning
    (math.pi / 4, 0.0, 0.0),  # an edge
    (0.3, 0.0, 0.0),
    (0.6, 0.4, 0.0),  # a corner
    (0.01, 0.02, 0.0),
]


@pytest.mark.parametrize("attitude", ATTITUDES)
@pytest.mark.parametrize("depth", [8e-5, -0.25 * MARGIN, -0.9 * MARGIN])
def test_depth_is_the_chord(attitude: tuple[float, ...], depth: float) -> None:
    # overlapping, or a gap within the margin; overlaps of less than a fiftieth do not yield
    sim = alone(depth, quat(*attitude))
    (c,) = look(sim)
    assert c.kind == PATCH_KIND
    expected, slack = chords(sim, c)
    assert np.all(np.abs(c.rows[:, 2] - expected) < slack)
    assert len({round(x, 12) for x in c.rows[:, 2]}) > 1 or attitude[0] == 0.0
    check_moments(c)
    lowest = Pose(sim.arrays, 0, ahead=True)
    reach = float(np.abs(lowest.r[2]) @ np.array(SIZE)) / 2.0
    assert c[EF_DEPTH] == pytest.approx(reach - lowest.x[2], abs=1e-15)


@pytest.mark.parametrize("gap", [0.999, 1.001])
def test_margin_is_where_candidates_end(gap: float) -> None:
    found = look(alone(-gap * MARGIN))
    assert len(found) == (gap < 1.0)
    if found:
        assert found[0][EF_DEPTH] == pytest.approx(-gap * MARGIN, rel=1e-9)
        assert found[0].rows[:, 2] == pytest.approx(-gap * MARGIN, rel=1e-9)


def stacked(gap: float, turn: Array, method: str | Volume = "volume") -> Simulation:
    """A smaller box over a fixed one."""
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_body(tg.Box((0.6, 0.5, 0.2)), fixed=True, position=(0.02, 0.01, -0.1))
    r = Rotation.from_quat(turn, scalar_first=True).as_matrix()
    reach = float(np.abs(r[2]) @ np.array(SIZE)) / 2.0
    scene.add_body(tg.Box(SIZE), mass=1.0, position=(0, 0, reach + gap), orientation=turn)
    return Simulation(scene, method=method, dt=DT, integrator="implicit")


@pytest.mark.parametrize("attitude", [(0.0, 0.0, 0.5), (2e-4, 1e-4, 0.0), (0.8, 0.0, 0.0)])
@pytest.mark.parametrize("gap", [-8e-5, 0.3 * MARGIN])
def test_box_on_a_box(attitude: tuple[float, ...], gap: float) -> None:
    sim = stacked(gap, quat(*attitude))
    (c,) = look(sim)
    assert c.kind == PATCH_KIND
    assert abs(c.axes[0][2]) == pytest.approx(1.0, abs=1e-3)
    expected, slack = chords(sim, c)
    assert np.all(np.abs(c.rows[:, 2] - expected) < slack)
    if attitude[0] == 0.0:
        assert c[EF_S] == pytest.approx(0.06, rel=1e-9)
        assert c.rows[:, 2] == pytest.approx(c[EF_DEPTH], abs=1e-12)
    check_moments(c)


def test_boxes_beyond_the_margin_are_not_seen() -> None:
    assert look(stacked(1.001 * MARGIN, quat(0.0, 0.0, 0.5))) == []
    assert len(look(stacked(0.999 * MARGIN, quat(0.0, 0.0, 0.5)))) == 1


def test_overhanging_box_has_the_common_patch() -> None:
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_body(tg.Box((0.4, 0.4, 0.2)), fixed=True, position=(0, 0, -0.1))
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0.15, 0.0, 0.05 - 5e-5))
    (c,) = look(Simulation(scene, dt=DT, integrator="implicit"))
    # the box has begun to tip by some 1e-6
    assert c[EF_S] == pytest.approx(0.15 * 0.2, rel=1e-5)
    assert c.triple(EF_C)[:2] == pytest.approx((0.125, 0.0), abs=1e-6)


def test_hair_of_a_lean_adds_no_slivers() -> None:
    # by 1e-9 rad the walls of the box show on the patch, with no depth at the bottom
    for sim in (alone(5e-5, quat(1e-9, 0.0, 0.0)), stacked(-5e-5, quat(1e-9, 1e-9, 0.3))):
        (c,) = look(sim)
        assert len(c.fans) == 1
        assert c.rows[:, 2].min() > 0.5 * c.rows[:, 2].max()


@pytest.mark.parametrize("depth", [1e-8, 1e-10])
def test_patch_too_small_to_have_a_shape_is_a_point(depth: float) -> None:
    # area 1e-15 m² and less; the depth of a corner's middle is a third of its tip's
    soft = tg.Material(0.0, 0.0, stiffness=1.0, damping=0.0)
    sim = alone(depth, quat(0.6, 0.4, 0.0), gravity=0.0, material=soft)
    (c,) = look(sim)
    assert c.kind == POINT_KIND
    assert c[EF_DEPTH] == pytest.approx(depth, rel=1e-5)
    assert c[EF_H] == pytest.approx(c[EF_DEPTH] / 3.0)


@pytest.mark.parametrize("depth", [5e-5, -0.5 * MARGIN])
def test_point_method_sees_the_deepest_point(depth: float) -> None:
    sim = alone(depth, quat(0.6, 0.4, 0.0), method="point")
    (c,) = look(sim)
    assert c.kind == POINT_KIND
    assert c[EF_H] == c[EF_DEPTH]
    pose = Pose(sim.arrays, 0, ahead=True)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    world = pose.x + corners * np.array(SIZE) / 2.0 @ pose.r.T
    lowest = world[world[:, 2].argmin()]
    assert c.triple(EF_C)[:2] == pytest.approx(lowest[:2], abs=1e-12)
    assert c[EF_DEPTH] == pytest.approx(-lowest[2], abs=1e-15)


@pytest.mark.parametrize("normalization", ["patch", "fixed", "none"])
def test_pieces_of_one_body_share_the_area(normalization: Any) -> None:
    table = tg.Compound(
        [tg.Box((0.1, 0.1, 0.2)), tg.Box((0.2, 0.1, 0.2))],
        [((-0.3, 0, 0), (1, 0, 0, 0)), ((0.3, 0, 0), (1, 0, 0, 0))],
    )
    scene = tg.Scene(gravity=(0, 0, -9.81))
    material = tg.Material(0.5, 0.5, stiffness=1e6, damping=100.0)
    scene.add_floor(material=material)
    scene.add_body(table, mass=1.0, position=(0, 0, 0.1 - 1e-5), material=material)
    method = Volume(normalization=normalization)
    found = look(Simulation(scene, method=method, dt=DT, integrator="implicit"))
    assert sorted(c[EF_S] for c in found) == pytest.approx([0.01, 0.02])
    # fixed: the largest side of the body's bounding box
    expected = {"patch": 0.03, "fixed": 0.75 * 0.2, "none": 1.0}[normalization]
    assert [c[EF_AREA] for c in found] == pytest.approx([expected] * 2)


# ---------------------------------------------------------------- the start of the step


@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (0.7, 0.7, 0.1), (0.2, -0.1, 1.0)])
@pytest.mark.parametrize("support", ["floor", "slab"])
def test_depth_at_the_start_is_exact(axis: tuple[float, ...], support: str) -> None:
    # a fifth of a radian within the step; to first order the error would be 2 mm
    spin = 40.0 * np.array(axis) / np.linalg.norm(axis)
    end = Rotation.from_rotvec((0.3, 0.2, 0.0))
    start = Rotation.from_rotvec(-DT * spin) * end
    reach = float(np.abs(end.as_matrix()[2]) @ np.full(3, 0.1))
    scene = tg.Scene(gravity=(0, 0, 0))
    if support == "floor":
        scene.add_floor()
    else:  # it moves and turns too
        scene.add_body(tg.Box((2.0, 2.0, 0.4)), fixed=True, position=(0, 0, -0.2))
    body = scene.add_body(
        tg.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, reach + 0.5 * MARGIN),
        orientation=start.as_quat(scalar_first=True), angular_velocity=spin,
    )  # fmt: skip
    sim = Simulation(scene, dt=DT, integrator="implicit")
    was = [Pose(sim.arrays, k, ahead=False) for k in range(2)]
    (c,) = look(sim)
    index = body.index
    assert index in c.bodies
    now = Pose(sim.arrays, index, ahead=True)
    assert np.arccos(0.5 * (np.trace(was[index].r.T @ now.r) - 1.0)) > 0.15
    # points of the surface, and where they were
    n = c.axes[0]
    top = [p + now.span(p, n)[0 if c.bodies[1] == index else 1] * n for p in c.world(c.rows)]
    before = [was[index].x + was[index].r @ now.r.T @ (p - now.x) for p in top]
    depth = -np.array(before)[:, 2]
    # the plane of the patch is a depth away from the surface, and turns with it
    slack = 0.04 * float(np.abs(c.rows[:, 2]).max()) + 1e-12
    assert c.rows[:, 2] + c.lost(c.rows) == pytest.approx(depth, abs=slack)
    assert float(np.abs(depth).max()) > 20.0 * slack


# ---------------------------------------------------------------- yielding


def start_energy(c: Seen) -> float:
    """Σ ½ ω k max(0, d₀)² at the start of the step."""
    points = c.points
    d0 = points[:, 2] + c.lost(points)
    return float(0.5 * c[EF_K] * points[:, 3] @ np.maximum(d0, 0.0) ** 2)


def tumbling(method: str | Volume | Point) -> Simulation:
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor()
    scene.add_body(
        tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, 0.16), orientation=quat(0.5, 0.4, 0.1),
        velocity=(0.5, 0.0, -2.0), angular_velocity=(2.0, 4.0, 1.0),
        # the soft springs that the point method has by itself never yield
        material=tg.Material(stiffness=1e7 if method == "point" else None),
    )  # fmt: skip
    return Simulation(scene, method=method, dt=DT, integrator="implicit")


def small(c: Seen, reserve: float, press: float) -> float:
    """The part of a reserve that may be used at once."""
    return float(min(reserve, 2e-7 * c[EF_SIZE] * press))


@pytest.mark.parametrize("method", ["volume", Volume(normalization="fixed"), "point"])
def test_springs_hold_no_more_than_was_put_in(method: str | Volume) -> None:
    sim = tumbling(method)
    pressed, yielded, most = 0, 0, 0.0
    sim.step()
    for _ in range(60):
        before = stored(sim)
        for c in look(sim):
            springs, reserve, press, held = before[int(c.ints[EI_SLOT])]
            energy = start_energy(c)
            # closed forms and points of the same polynomials: rounding alone
            assert energy <= max(springs + reserve, 0.0) * (1.0 + 1e-8) + 1e-15
            assert c[EF_HELD] <= held * (1.0 + 1e-12)
            pressed += energy > 0.0
            if c[EF_YIELDED] > 0.0:  # of the reserve what is small, or lifts by ¼ g dt² at most
                lifted = math.sqrt(2.0 * springs / c[EF_K]) + MARGIN / 8.0
                usable = max(springs + small(c, reserve, press), 0.5 * c[EF_K] * lifted**2)
                assert energy <= max(0.0, min(springs + reserve, usable)) * (1.0 + 1e-8) + 1e-15
                yielded += energy > 0.0
            most = max(most, energy)
    assert pressed > 10
    if method == "volume":  # whose area changes with the patch
        assert yielded > 0
    if method != "point":  # which still rolls from corner to corner
        assert most > 1e-9


def test_deep_overlap_at_the_start_is_a_fit() -> None:
    # 4 mm of a decimetre: the bodies were built so, and nothing is thrown out
    sim = alone(4e-3)
    sim.step(20)
    assert sim.positions[0, 2] == pytest.approx(0.05 - 4e-3, abs=1e-4)
    assert np.abs(sim[0].velocity).max() < 1e-2
    assert sim.energy.contact < 1e-3


def test_shallow_overlap_at_the_start_is_a_spring_under_load() -> None:
    stiff = tg.Material(0.5, 0.5, stiffness=1e5, damping=10.0)
    sim = alone(9e-5, material=stiff)  # 9 N against 9.81 N
    (c,) = look(sim)
    assert start_energy(c) == pytest.approx(0.5 * 1e5 * 9e-5**2, rel=1e-9)


# ---------------------------------------------------------------- creases, and what is within reach


@pytest.mark.parametrize("seed", range(12))
def test_depth_over_the_patch_is_the_volume_of_the_overlap(seed: int) -> None:
    """Edge on edge, corner on face and all between: whatever creases the depth has."""
    rng = np.random.default_rng(seed)
    turns = [quat(*rng.normal(size=3)) for _ in range(2)]
    if seed < 4:  # crossed edges
        turns = [quat(math.pi / 4, 0, 0), quat(0, math.pi / 4, 0.2 * seed)]
    sizes = ((0.2, 0.3, 0.1), (0.1, 0.2, 0.25))
    scene, tips = tg.Scene(gravity=(0, 0, 0)), []
    for q, size, up in zip(turns, sizes, (1.0, -1.0), strict=True):
        corners = 0.5 * np.array(list(itertools.product((-1, 1), repeat=3))) * size
        corners = Rotation.from_quat(q, scalar_first=True).apply(corners)
        height = up * corners[:, 2]
        tips.append(corners[height > height.max() - 1e-9].mean(axis=0))
    for q, size, x in zip(turns, sizes, ((0, 0, 0), tips[0] - tips[1] - (0, 0, 1e-3)), strict=True):
        # so soft that they stay where they are
        soft = tg.Material(0.0, 0.0, stiffness=1.0)
        scene.add_body(tg.Box(size), mass=1.0, position=x, orientation=q, material=soft)
    sim = Simulation(scene, dt=DT, integrator="implicit")
    (c,) = look(sim)
    assert c.kind == PATCH_KIND
    poses = [Pose(sim.arrays, body, ahead=True) for body in c.bodies]
    a, b = (
        (tg.Box(sizes[body]), (h.x, Rotation.from_matrix(h.r).as_quat(scalar_first=True)))
        for body, h in zip(c.bodies, poses, strict=True)
    )
    exact = contact_volume(*a, *b)
    assert c[EF_H] == pytest.approx(exact.volume, rel=1e-6)
    check_moments(c)


@pytest.mark.parametrize("lean", [2e-3, 4e-3])
def test_a_face_about_to_land_is_within_reach(lean: float) -> None:
    """A strip of its edge touches in the second look; the rest is there, and does not touch."""
    sim = alone(1e-6, quat(lean, 0.0, 0.0), angular_velocity=(-0.1, 0.0, 0.0))
    (c,) = look(sim)
    assert c.kind == PATCH_KIND
    assert 0.0 < c[EF_S] < 0.2 * 0.3
    pose = Pose(sim.arrays, 0, ahead=True)
    area = c[EF_S]
    for fan in c.near:
        assert fan[:, 2].max() < 1e-12
        height = []
        for p in c.world(fan):
            bottom = p + pose.span(p + 1e-7 * (pose.x - p) * (1, 1, 0), c.axes[0])[0] * c.axes[0]
            height.append(bottom[2])
        assert fan[:, 2] == pytest.approx(-np.array(height), abs=1e-8)
        x, y = fan[1:, 0], fan[1:, 1]
        area += 0.5 * float(np.sum(np.roll(x, 1) * y - x * np.roll(y, 1)))
    # all of the face that is below the margin
    tilt = math.acos(min(1.0, pose.r[2, 2]))
    low = float((pose.x + pose.r @ (0.0, -0.15, -0.05))[2])
    low = min(low, float((pose.x + pose.r @ (0.0, 0.15, -0.05))[2]))
    width = min(0.3, (MARGIN - low) / math.sin(tilt)) * math.cos(tilt)
    assert area == pytest.approx(0.2 * width, rel=1e-3)
    assert c.near
    # and it carries: nothing is deeper at the end of the step than its springs would have it
    state = Pose(sim.arrays, 0, ahead=False)
    deepest = -min(
        float((state.x + state.r @ (x, y, -0.05))[2]) for x in (-0.1, 0.1) for y in (-0.15, 0.15)
    )
    assert deepest < 2e-5
