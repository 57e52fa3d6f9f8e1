"""Solids of revolution in a simulation: exact pieces, hollow ones and fields, by every method."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.geometry.curved_solid import CurvedSolid, bowl, peg, pen, pipe
from tangere.maths.vec import Array

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="hundreds of steps")

R, H, G = 0.05, 0.1, 9.81
LYING = (sqrt(0.5), sqrt(0.5), 0.0, 0.0)
ROD = CurvedSolid((("start", 0, -H), ("line", R, -H), ("line", R, H), ("line", 0, H)), facets=32)


def rolled(shape: tg.Cylinder | CurvedSolid, method: str, integrator: str | None) -> Array:
    scene = tg.Scene()
    scene.add_floor()
    # the mass as it is given: the two differ in the last digit of what they compute
    scene.add_body(
        shape, mass=1.0, inertia=np.diag([4e-3, 4e-3, 1.25e-3]), position=(0, 0, R),
        orientation=LYING, velocity=(0.5, 0, 0),
    )  # fmt: skip
    sim = tg.Simulation(scene, method=method, integrator=integrator)
    sim.step(300)
    return np.concatenate((sim[0].position, sim[0].orientation, sim[0].velocity))


@pytest.mark.parametrize(
    ("method", "integrator"),
    [("volume", "implicit"), ("volume", "explicit"), ("point", None)],
)
def test_a_turned_rectangle_rolls_as_a_cylinder_does(method: str, integrator: str | None) -> None:
    """The same curved solid touches: they differ by what rounding grows to."""
    np.testing.assert_allclose(
        rolled(ROD, method, integrator), rolled(tg.Cylinder(R, 2 * H), method, integrator),
        rtol=0.0, atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["volume", "point", "penalty", "signorini"])
@pytest.mark.parametrize("name", ["peg", "pipe"])
def test_what_stands_stays_and_carries_its_weight(method: str, name: str) -> None:
    shape = {"peg": peg(0.01, 0.03, 0.002), "pipe": pipe(0.02, 0.025, 0.06)}[name]
    half = 0.5 * float(np.ptp(shape.surface()[0][:, 2]))
    scene = tg.Scene()
    scene.add_floor()
    body = scene.add_body(shape, density=2000.0, position=(0, 0, half))
    sim = tg.Simulation(scene, method=method)
    sim.step(500)
    np.testing.assert_allclose(sim[body].position, (0, 0, half), atol=2e-4)
    assert np.linalg.norm(sim[body].velocity) < 2e-3
    carried = 0.0
    for _ in range(200):  # one point at a time rocks a little
        sim.step()
        carried += sum(abs(float(force[2])) for force in sim.contacts["force"]) / 200
    assert carried == pytest.approx(scene.bodies[0].mass * G, rel=0.02)


@pytest.mark.parametrize("method", ["volume", "point", "penalty", "signorini"])
def test_a_ball_let_go_in_a_bowl_stays_in_it(method: str) -> None:
    """Under the wall it came from, and never through it: by its distance from the paraboloid."""
    f, r = 0.025, 0.006
    scene = tg.Scene()
    scene.add_body(bowl(f), fixed=True)
    ball = scene.add_body(tg.Sphere(r), density=2000.0, position=(0.02, 0.0, 0.012))
    sim = tg.Simulation(scene, method=method)
    lowest, highest = np.inf, 0.0
    for _ in range(300):
        sim.step(2)
        x, y, z = sim[ball].position
        away = np.hypot(x, y)
        # nearest point of z = w²/4f: w³/8f² + w (1 − z/2f) = away, one root w ≥ 0
        roots = np.roots([1.0 / (8 * f * f), 0.0, 1.0 - z / (2 * f), -away])
        w = float(max(root.real for root in roots if abs(root.imag) < 1e-9))
        lowest = min(lowest, np.hypot(away - w, z - w * w / (4 * f)) - r)
        highest = max(highest, away)
    assert highest < 0.022
    # sectors of 7.5°: a corner stands off the ideal wall by 0.04 mm where it is 20 mm from the axis
    assert lowest > -4e-4
    assert sim[ball].position[2] < 0.016


def test_a_pen_leaves_a_table_with_its_ball() -> None:
    """Distances to its exact pieces are exact, whatever the attitude of the pen."""
    table = tg.Box((1.0, 1.0, 0.1))
    upright = (1.0, 0.0, 0.0, 0.0)
    for lean in (0.0, 0.3, 1.0):
        q = (np.cos(0.5 * lean), np.sin(0.5 * lean), 0.0, 0.0)
        centre = np.array([0.0, -np.sin(lean), np.cos(lean)]) * 1e-3  # of the ball
        where = np.array([0.01, 0.02, 0.05 + 0.004]) - centre
        d = tg.distance(table, ((0, 0, 0), upright), pen(), (where, q))
        assert d.distance == pytest.approx(0.003, abs=1e-12)
        np.testing.assert_allclose(d.normal, (0, 0, 1), atol=1e-9)


def test_a_peg_rolls_on_its_side() -> None:
    """It goes on at the speed it was given, and so far."""
    shape = peg(0.004, 0.1)
    scene = tg.Scene()
    scene.add_floor()
    omega = 20.0
    body = scene.add_body(
        shape, density=1000.0, position=(0, 0, 0.004), orientation=LYING,
        velocity=(0.004 * omega, 0, 0), angular_velocity=(0, omega, 0),
    )  # fmt: skip
    sim = tg.Simulation(scene)
    sim.step(1000)
    assert sim[body].velocity[0] == pytest.approx(0.004 * omega, rel=1e-5)
    assert sim[body].position[0] == pytest.approx(0.004 * omega, rel=1e-5)
    assert scene.bodies[0].mass == pytest.approx(1000 * pi * 0.004**2 * 0.1)
