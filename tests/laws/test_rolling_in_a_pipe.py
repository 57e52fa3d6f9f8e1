"""Round bodies roll to and fro in pipes, bowls and troughs: period and damping against theory.

Without slip the centre of a body with J = k m r² moves on a circle of radius R − r as a pendulum
of length (1 + k)(R − r): small swings take T = 2π √((1 + k)(R − r)/g), k = 2/5 for a ball and 1/2
for a solid cylinder, those of amplitude A take 2 K(sin² A/2)/π times as long. At the bottom of a
parabola z = x²/4f the radius is 2f.

The volume method knows no concave surface: pipes, bowls and troughs are made of flat facets, parts
of one fixed body, and the law holds because the angle α from one to the next is small. Where the
path of the centre has a kink, a half swing comes early or late by up to the time it takes to cross
half a facet; over swings this averages out. Each kink costs a share α²/(1 + k) of the energy, 5e-5
here, little beside what the step itself takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import ellipk

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.geometry import curved_solid
from tangere.geometry.curved_solid import CurvedSolid
from tangere.geometry.shapes import Shape
from tangere.maths.vec import Array
from tangere.scene.library import X, Y, turn

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="thousands of steps")

G = 9.81
R, RADIUS = 0.1, 0.02  # of the pipe and of what rolls in it [m]
REACH = 0.25  # the facets cover so much to either side [rad]
AMPLITUDE = 0.15  # [rad]
THICK = 0.01  # of the walls [m]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
ROUGH, SMOOTH = tg.Material(0.8, 0.8), tg.Material(0.0, 0.0)
BALL, CYLINDER = tg.Sphere(RADIUS), tg.Cylinder(RADIUS, 0.06)
LYING = turn(X, 0.5 * math.pi)


class Swings(NamedTuple):
    """What a body does between its passages of the bottom."""

    periods: Array  # twice the time from one passage to the next [s]
    amplitudes: Array  # greatest angle in between [rad]
    times: Array  # of the passages [s]
    aside: float  # farthest from the plane of the swing [m]
    slip: float  # greatest speed of the point of contact, over that of the centre
    gain: float  # greatest rise of the energy in a step, over all of it


def trough(profile: Callable[[float], tuple[float, float]], facets: int) -> tg.Compound:
    """A wall along y over a curve (x, z) of an angle, flat between points at equal angles."""
    angles = np.linspace(-REACH, REACH, facets + 1)
    boxes, poses = [], []
    for a, b in pairwise(angles):
        ends = np.array([profile(a), profile(b)])
        along = ends[1] - ends[0]
        length, slope = float(np.hypot(*along)), math.atan2(along[1], along[0])
        below = 0.5 * THICK * np.array([math.sin(slope), -math.cos(slope)])
        x, z = ends.mean(axis=0) + below
        boxes.append(tg.Box((length, 0.1, THICK)))
        poses.append(((x, 0.0, z), turn(Y, -slope)))
    return tg.Compound(boxes, poses)


def pipe(facets: int) -> tg.Compound:
    """Points of a circle of radius R about the origin."""
    return trough(lambda angle: (R * math.sin(angle), -R * math.cos(angle)), facets)


def parabola(facets: int) -> tg.Compound:
    """z = x²/4f − R with the radius 2f = R at its lowest point."""
    return trough(lambda angle: (R * angle, 0.5 * R * angle**2 - R), facets)


def bowl(facets: int) -> tg.Compound:
    """A spherical cap of flat tiles, trapeziums between meridians and parallels about y."""
    angles = np.linspace(-REACH, REACH, facets + 1)

    def at(lon: float, lat: float, radius: float) -> tuple[float, float, float]:
        across = radius * math.cos(lat)
        return across * math.sin(lon), radius * math.sin(lat), -across * math.cos(lon)

    tiles = [
        tg.Convex([at(a, b, r) for a in lon for b in lat for r in (R, R + THICK)])
        for lon in pairwise(angles)
        for lat in pairwise(angles)
        if math.hypot(sum(lon), sum(lat)) < 2.0 * 0.8 * REACH
    ]
    return tg.Compound(tiles, [((0.0, 0.0, 0.0), UPRIGHT)] * len(tiles))


def swings(
    wall: tg.Compound, body: Shape, dt: float, way: float = 0.0, material: tg.Material = ROUGH,
    amplitude: float = AMPLITUDE,
) -> Swings:  # fmt: skip
    """Let a body go at rest, and watch it for three seconds; `way`: of its swing, from x [rad]."""
    scene = tg.Scene(gravity=(0.0, 0.0, -G))
    scene.add_body(wall, fixed=True, material=material)
    along = np.array([math.cos(way), math.sin(way)])
    centre = (R - RADIUS) * np.array([*math.sin(amplitude) * along, -math.cos(amplitude)])
    ball = scene.add_body(
        body, mass=0.1, position=(1.0 - 2e-4) * centre, material=material,
        orientation=LYING if body is CYLINDER else UPRIGHT,
    )  # fmt: skip
    sim = tg.Simulation(scene, method="volume", dt=dt)
    steps = round(3.0 / dt)
    angle, aside, energy, slip = np.empty(steps), np.empty(steps), np.empty(steps), np.zeros(steps)
    for n in range(steps):
        sim.step()
        p, v = sim[ball].position, sim[ball].velocity
        angle[n] = math.atan2(float(p[:2] @ along), -p[2])
        aside[n] = p[1] * along[0] - p[0] * along[1]
        energy[n] = sim.energy.total
        # velocity at the lowest point of the body, along the wall
        down = RADIUS * p / np.linalg.norm(p)
        slip[n] = np.linalg.norm(v + np.cross(sim[ball].angular_velocity, down))
    time = dt * np.arange(1, steps + 1)
    at = np.flatnonzero((angle[:-1] > 0.0) != (angle[1:] > 0.0))
    passed = time[at] - angle[at] * dt / (angle[at + 1] - angle[at])
    speed = (R - RADIUS) * amplitude * math.sqrt(G / (R - RADIUS))
    settled = round(0.1 / dt)
    lowest = -0.1 * G * (R - RADIUS)
    return Swings(
        2.0 * np.diff(passed),
        np.array([np.abs(angle[a:b]).max() for a, b in pairwise(at)]),
        passed,
        float(np.abs(aside).max()),
        float(slip[settled:].max() / speed),
        float(np.diff(energy[settled:]).max() / (energy[0] - lowest)),
    )


def theory(k: float, found: Swings) -> Array:
    """Periods at the amplitudes of each half swing."""
    small = 2.0 * math.pi * math.sqrt((1.0 + k) * (R - RADIUS) / G)
    return np.asarray(small * 2.0 / math.pi * ellipk(np.sin(0.5 * found.amplitudes) ** 2))


def error(k: float, found: Swings) -> float:
    """Of the mean period, relative."""
    assert len(found.periods) >= 6
    return float(found.periods.mean() / theory(k, found).mean() - 1.0)


def damping(k: float, found: Swings) -> float:
    """How fast the amplitude falls, over ½ ω² dt."""
    rate = math.log(found.amplitudes[0] / found.amplitudes[-1]) / np.ptp(found.times[:-1])
    return float(rate / (0.5 * (2.0 * math.pi / theory(k, found).mean()) ** 2))


CASES = [
    pytest.param(pipe(60), CYLINDER, 0.5, 0.0, id="cylinder-pipe"),
    pytest.param(pipe(60), BALL, 0.4, 0.0, id="ball-pipe"),
    pytest.param(bowl(36), BALL, 0.4, 0.0, id="ball-bowl"),
    pytest.param(bowl(36), BALL, 0.4, 0.5, id="ball-bowl-oblique"),
]


@pytest.mark.parametrize("dt", [4e-3, 2e-3, 1e-3])
@pytest.mark.parametrize(("wall", "body", "k", "way"), CASES)
def test_the_period_is_that_of_theory(
    wall: tg.Compound, body: Shape, k: float, way: float, dt: float
) -> None:
    """Within 0.5 %; found: 0.2 % and less at every step, most of it the scatter of the facets."""
    found = swings(wall, body, dt, way)
    assert abs(error(k, found)) < 5e-3
    assert found.slip < 0.02  # it rolls …
    assert found.aside < 1e-3  # … in a plane: facets lead it aside by less than half a tile
    assert found.gain < 1e-8  # no step makes energy: less than this share of it


@pytest.mark.parametrize(("wall", "body", "k"), [case.values[:3] for case in CASES[:3]])
def test_damping_is_that_of_the_step_and_goes_with_it(
    wall: tg.Compound, body: Shape, k: float
) -> None:
    """A step of first order, forces at its end, takes amplitude at the rate ½ ω² dt, no more.

    So does implicit Euler on x″ = −ω² x. What the facets take, 2 to 6 % of it at 1 ms, is within
    the tolerance.
    """
    for dt in (4e-3, 2e-3, 1e-3):
        assert damping(k, swings(wall, body, dt)) == pytest.approx(dt, rel=0.1)


def test_scatter_of_half_swings_goes_with_the_facets() -> None:
    spread = []
    for facets in (40, 80, 160):
        found = swings(pipe(facets), CYLINDER, 1e-3)
        spread.append(float(np.std(found.periods / theory(0.5, found))))
    assert spread[1] < 0.7 * spread[0]
    assert spread[2] < 0.7 * spread[1]


@pytest.mark.parametrize(("body", "k"), [(CYLINDER, 0.5), (BALL, 0.4)], ids=["cylinder", "ball"])
def test_a_parabola_is_as_round_as_its_lowest_point(body: Shape, k: float) -> None:
    """At a third of the amplitude: the parabola's own widening is of its square, 0.05 %."""
    found = swings(parabola(180), body, 1e-3, amplitude=AMPLITUDE / 3.0)
    assert abs(error(k, found)) < 3e-3


@pytest.mark.parametrize("body", [CYLINDER, BALL], ids=["cylinder", "ball"])
def test_without_friction_nothing_turns(body: Shape) -> None:
    """A point mass then: k = 0, a period 15 to 18 % shorter than that of rolling."""
    found = swings(pipe(60), body, 1e-3, material=SMOOTH)
    assert abs(error(0.0, found)) < 3e-3


@pytest.mark.parametrize("dt", [2e-3, 1e-3])
@pytest.mark.parametrize(("body", "k"), [(CYLINDER, 0.5), (BALL, 0.4)], ids=["cylinder", "ball"])
def test_a_pipe_of_revolution_has_facets_too(body: Shape, k: float, dt: float) -> None:
    """Over a dozen of its facets to either side it is a pipe, over three it is off by up to 2 %.

    A `CurvedSolid` has 128 sides at most: 2.8° from one to the next, and each kink takes 1.6e-3 of
    the energy, which at 1 ms damps as much as the step does.
    """
    solid = CurvedSolid(curved_solid.pipe(R, R + THICK, 0.1).profile, facets=128)
    lying = tg.Compound([solid], [((0.0, 0.0, 0.0), LYING)])
    found = swings(lying, body, dt, amplitude=0.6)
    assert abs(error(k, found)) < 5e-3
    assert found.slip < 0.05
    assert found.gain < 1e-8
    assert 1.0 < damping(k, found) / dt < 2.5
