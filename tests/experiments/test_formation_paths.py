"""The scripted hands of the experiments with contact formations: their gaps, by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from tangere.experiments.formation_paths import (
    Bowl,
    Guarded,
    Path,
    Peg,
    Pipe,
    ball_over_cylinders,
    cylinder_about_point,
    cylinder_over_pipes,
    guarded_motion,
    jam_angle,
    peg_in_hole,
    pen_on_meridian,
    pen_spun,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

RATE = 100.0  # few ticks: gaps hold at each


def corners(s: Peg, position: Array, orientation: Array) -> Array:
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    half = np.array([s.half, s.half, s.half_height])
    return np.asarray(signs * half @ rotation_of(orientation).T + position)


def segment_gap(p: Array, u: Array, h: float, q: Array, w: Array, k: float) -> float:
    """Distance of two segments p ± h u and q ± k w, by minimisation."""
    best = minimize(
        lambda x: float(np.sum((p + x[0] * u - q - x[1] * w) ** 2) * 1e6),
        np.zeros(2),
        bounds=[(-h, h), (-k, k)],
        tol=1e-16,
    )
    return math.sqrt(float(best.fun) * 1e-6)


def test_the_peg_lies_slides_enters_and_jams_half_a_millimetre_off() -> None:
    s = Peg()
    path = peg_in_hole(s, RATE)

    def at(name: str) -> Array:
        tick = path.ticks(name).start
        return corners(s, path.positions[tick], path.orientations[tick])

    assert at("on an edge")[:, 2].min() == pytest.approx(s.gap, abs=1e-15)
    assert at("on an edge")[:, 0].max() > s.hole
    assert np.sort(at("flat")[:, 2])[:4] == pytest.approx(np.full(4, s.gap), abs=1e-15)
    assert at("hold wall")[:, 0].max() == pytest.approx(s.hole - s.gap, abs=1e-15)
    assert at("hold corner")[:, 1].max() == pytest.approx(s.hole - s.gap, abs=1e-15)
    assert at("hold corner")[:, 2].min() == pytest.approx(-s.depth, abs=1e-15)
    jammed = at("jammed")
    assert jammed[:, 0].max() == pytest.approx(s.hole - s.gap, abs=1e-15)
    # the other side's face a gap from the rim at (−hole, 0)
    turned = rotation_of(path.orientations[-1])
    rim = turned.T @ (np.array([-s.hole, 0.0, 0.0]) - path.positions[-1])
    assert -s.half - rim[0] == pytest.approx(s.gap, abs=1e-12)
    assert abs(rim[2]) < s.half_height


def test_without_gaps_the_peg_jams_at_the_angle_of_the_geometry() -> None:
    assert math.degrees(jam_angle(Peg(), 0.0)) == pytest.approx(10.7, abs=0.05)


def test_the_ball_of_the_pen_stays_half_a_millimetre_off_the_bowl() -> None:
    s = Bowl()
    path = pen_on_meridian(s, RATE, 0.02, 0.035)
    ticks = path.ticks("meridian")
    for x in path.positions[ticks]:
        found = minimize_scalar(
            lambda r, x=x: float(np.sum((s.point(r) - x) ** 2) * 1e6),
            bounds=(x[0] - 0.005, x[0] + 0.005),
            method="bounded",
            options={"xatol": 1e-12},
        )
        gap = math.sqrt(float(found.fun) * 1e-6) - s.ball
        assert gap == pytest.approx(s.gap, abs=1e-9)
    steps = np.linalg.norm(np.diff(path.positions[ticks], axis=0), axis=1) * RATE
    assert steps == pytest.approx(np.full(len(steps), 0.02), rel=1e-4)  # chords of arcs


def test_the_leaned_pen_is_half_a_millimetre_off_the_rim() -> None:
    s = Bowl()
    path = pen_on_meridian(s, RATE, 0.02, 0.035)
    axis = rotation_of(path.orientations[-1])[:, 2]
    angle = np.linspace(-math.pi, math.pi, 20001)
    rim = np.column_stack((s.rim * np.cos(angle), s.rim * np.sin(angle), 0 * angle))
    rim[:, 2] = s.rim**2 / (4 * s.focal)
    arm = rim - path.positions[-1]
    along = arm @ axis
    off = np.linalg.norm(arm - along[:, None] * axis, axis=1)
    on_shaft = (along > 0.013) & (along < 0.113)
    assert off[on_shaft].min() == pytest.approx(s.shaft + s.gap, abs=1e-9)


def test_the_spun_pen_turns_about_the_normal_alone() -> None:
    s = Bowl()
    path = pen_spun(s, RATE, 0.02, 1.0, 0.5)
    at = path.ticks("spin")
    assert np.ptp(path.positions[at], axis=0) == pytest.approx(0.0, abs=1e-15)
    axes = rotation_of(path.orientations[at])[..., 2]
    assert axes == pytest.approx(np.tile(s.normal(0.02), (len(axes), 1)), abs=1e-12)


def test_the_cylinder_keeps_half_a_millimetre_to_the_pipes() -> None:
    s = Pipe()
    path = cylinder_over_pipes(s, RATE, 0.01, math.radians(3.0))
    x, y = np.eye(3)[:2]
    reach = s.radius + s.pipe + s.gap
    for name in ("roll", "slide", "tilt", "turn", "raise", "across", "lower", "on both"):
        for tick in range(*path.ticks(name).indices(len(path)))[::10]:
            p, u = path.positions[tick], rotation_of(path.orientations[tick])[:, 2]
            to_x = segment_gap(p, u, s.half, 0.1 * x, x, 0.1)
            assert to_x == pytest.approx(reach, abs=1e-7), name
            to_y = segment_gap(p, u, s.half, 0.1 * y, y, 0.1)
            if name == "on both":
                assert to_y == pytest.approx(reach, abs=1e-7)
            elif name != "lower":
                assert to_y > reach + 1e-3, name


def test_rolling_leaves_the_point_at_the_contact_where_it_is() -> None:
    s = Pipe()
    path = cylinder_over_pipes(s, RATE, 0.01, math.radians(3.0))
    ticks = path.ticks("roll")
    first, last = ticks.start, ticks.stop
    side = [math.atan2(*path.positions[k, 1:]) for k in (first, last)]
    own = []
    for k in (first, last):
        down = rotation_of(path.orientations[k]).T @ -path.positions[k]
        own.append(math.atan2(down[1], down[0]))
    assert s.pipe * (side[1] - side[0]) == pytest.approx(0.01, rel=1e-9)
    # over the cylinder the contact moves further by the gap's share
    expected = 0.01 * (s.pipe + s.gap) / s.pipe
    assert s.radius * abs(own[1] - own[0]) == pytest.approx(expected, rel=1e-9)


def test_the_ball_touches_both_cylinders_alike() -> None:
    path = ball_over_cylinders(0.0355, 0.0375, RATE, 3.0, -math.pi / 3, math.pi / 3)
    x, y, z = path.positions[path.ticks("log")].T
    assert np.hypot(y, z) == pytest.approx(np.full(len(x), 0.0355), abs=1e-15)
    assert np.hypot(x, z) == pytest.approx(np.full(len(x), 0.0355), abs=1e-15)
    assert math.degrees(math.atan2(z[0], x[0])) == pytest.approx(-60.0)


def test_the_pivot_keeps_one_point_of_the_edge_on_the_crest() -> None:
    s = Pipe()
    path = cylinder_about_point(
        s, 0.02, RATE, 2.0, 1e-4, math.radians(60.0), math.radians(20.0)
    )  # fmt: skip
    start = path.ticks("log").start
    turned = rotation_of(path.orientations[start:])
    point = turned[0].T @ (np.array([0.0, 0.0205, 0.0]) - path.positions[start])
    assert math.hypot(point[0], point[1]) == pytest.approx(s.radius, abs=1e-12)
    assert point[2] == pytest.approx(-s.half, abs=1e-12)
    there = turned @ point + path.positions[start:]
    assert there == pytest.approx(np.tile([0.0, 0.0205, 0.0], (len(there), 1)), abs=1e-12)
    begin = path.ticks("rest").start
    before = rotation_of(path.orientations[begin]) @ point + path.positions[begin]
    assert before[0] == pytest.approx(-1e-4, abs=1e-12)


@pytest.mark.parametrize(
    ("motion", "speed"),
    [
        (Guarded(0.05), 0.05),
        (Guarded(0.1118034, acceleration=5.0, runway=1e-3), 0.05),
        (Guarded(0.05, acceleration=2.0), 0.05),
    ],
)
def test_guarded_motion_reaches_contact_half_a_tick_deep(motion: Guarded, speed: float) -> None:
    rate, before = 1000.0, 40
    path = guarded_motion(motion, 0.041, rate, before, 5)
    assert isinstance(path, Path)
    depth = 0.041 - path.positions[:, 1]
    assert depth[before - 1] < 0.0 < depth[before]
    normal = motion.speed * math.cos(motion.incidence)
    assert depth[before] == pytest.approx(0.5 * normal / rate, rel=0.03)
    v = np.linalg.norm(np.diff(path.positions, axis=0), axis=1) * rate
    # the mean speed of a tick that starts half a tick after contact
    due = motion.speed + motion.acceleration / rate
    assert v[before] == pytest.approx(due, rel=1e-6)
    if math.isfinite(motion.runway):
        assert v[0] == pytest.approx(speed, rel=1e-6)
