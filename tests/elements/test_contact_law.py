"""Parameters of a pair of bodies, and the friction spring of a single point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.elements.contact_law import BETA, KAPPA, TANGENTIAL_SHARE, ZETA, pair_law
from tangere.model import Model
from tangere.scene.compile import compile_scene
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

DT = 1e-3


@kernel
def _law(m: Model, i: int, j: int, dt: float, out: Array) -> None:
    """pair_law on arrays."""
    law = pair_law(pointers(m), i, j, dt, False, False)
    out[0], out[1], out[2], out[3], out[4], out[5], _, _ = law


def law_of(
    a: tg.Material, b: tg.Material, mass_a: float = 2.0, mass_b: float | None = 3.0
) -> Array:
    """k, b, k_t, b_t, μ₀, μ of a pair; without a mass the second body is fixed."""
    scene = tg.Scene()
    scene.add_body(tg.Box((1, 1, 1)), mass=mass_a, material=a)
    scene.add_body(tg.Box((1, 1, 1)), mass=mass_b or 1.0, material=b, fixed=mass_b is None)
    out = np.full(6, np.nan)
    _law(compile_scene(scene).model, 0, 1, DT, out)
    return out


def test_defaults_follow_from_mass_and_step() -> None:
    for other, mass in ((3.0, 1.2), (None, 2.0)):
        k, b, k_t, b_t, mu0, mu = law_of(tg.Material(), tg.Material(), 2.0, other)
        assert k == pytest.approx(KAPPA * mass / DT**2)
        assert b == pytest.approx(BETA * mass / DT)
        assert (k_t, b_t) == pytest.approx((TANGENTIAL_SHARE * k, TANGENTIAL_SHARE * b))
        assert (mu0, mu) == pytest.approx((0.6, 0.5))


def test_given_numbers_are_combined() -> None:
    # springs in series, each twice as stiff as its material says: harmonic mean
    a = tg.Material(0.9, 0.4, 1000.0, 10.0, 300.0, 3.0)
    b = tg.Material(0.4, 0.1, 3000.0, 30.0, 900.0, 9.0)
    expected = (1500.0, 15.0, 450.0, 4.5, 0.6, 0.2)
    assert law_of(a, b) == pytest.approx(expected)
    assert law_of(b, a) == pytest.approx(expected)
    assert law_of(a, a) == pytest.approx((1000.0, 10.0, 300.0, 3.0, 0.9, 0.4))


def test_one_given_number_is_taken() -> None:
    a = tg.Material(0.5, 0.5, stiffness=1000.0)
    k, b, k_t, b_t, _, _ = law_of(a, tg.Material(0.5, 0.5))
    assert k == pytest.approx(1000.0)
    assert b == pytest.approx(2.0 * ZETA * math.sqrt(1000.0 * 1.2))
    assert (k_t, b_t) == pytest.approx((250.0, 0.25 * b))
    assert law_of(tg.Material(0.5, 0.5), a) == pytest.approx(law_of(a, tg.Material(0.5, 0.5)))
    k, b, *_ = law_of(tg.Material(0.5, 0.5, damping=7.0), tg.Material(0.5, 0.5))
    assert (k, b) == pytest.approx((KAPPA * 1.2 / DT**2, 7.0))


def test_nothing_given_is_nothing() -> None:
    zero = tg.Material(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert law_of(zero, zero).tolist() == [0.0] * 6
    assert law_of(zero, tg.Material(0.5, 0.5, 100.0, 1.0, 1.0, 1.0)).tolist() == [0.0] * 6


# ---------------------------------------------------------------- the point method

K, KT = 2000.0, 700.0
DRY = tg.Material(0.6, 0.4, K, 0.0, KT, 0.0)
HEAVY = 1e12
LOAD = K * 0.01


def tip(velocity: tuple[float, ...], material: tg.Material = DRY, **more: Any) -> Simulation:
    """A cone on its tip, 1 cm deep, so heavy that it moves as told."""
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_floor(material=material)
    scene.add_body(
        tg.Cone(0.3, 1.0, facets=8), mass=HEAVY, position=(0, 0, 0.74), orientation=(0, 1, 0, 0),
        velocity=velocity, material=material, **more,
    )  # fmt: skip
    return Simulation(scene, method="point", integrator="explicit")


def only(sim: Simulation) -> Any:
    assert len(sim.contacts) == 1
    return sim.contacts[0]


def test_point_spring_and_damper() -> None:
    sim = tip((0, 0, -0.1), tg.Material(0.0, 0.0, K, 50.0))
    sim.step()
    row = only(sim)
    assert row["force"] == pytest.approx((0, 0, LOAD + 5.0), abs=1e-9)
    assert row["point"] == pytest.approx((0, 0, 0), abs=1e-12)
    assert row["depth"] == pytest.approx(0.01)
    sim = tip((0, 0, 1.0), tg.Material(0.0, 0.0, K, 50.0))
    sim.step()
    assert len(sim.contacts) == 0  # the damper does not pull


def test_point_sticks_slips_and_holds_on() -> None:
    sim = tip((0.05, 0.0, 0.0))
    forces, modes = [], []
    for _ in range(600):
        sim.step()
        forces.append(-only(sim)["force"][0])
        modes.append(bool(only(sim)["sticking"]))
    slipped = modes.index(False)
    assert forces[:slipped] == pytest.approx(KT * DT * 0.05 * np.arange(slipped), abs=1e-6)
    assert forces[slipped - 1] == pytest.approx(0.6 * LOAD, abs=KT * DT * 0.05)
    assert forces[slipped:] == pytest.approx([0.4 * LOAD] * (600 - slipped), rel=1e-6)
    # back: the spring unwinds from μ N without a jump
    sim[0].velocity = (-0.05, 0.0, 0.0)
    before = forces[-1]
    for _ in range(100):
        sim.step()
        after = -only(sim)["force"][0]
        assert 0.0 <= before - after <= 1.01 * KT * DT * 0.05
        before = after


def test_point_has_no_torque() -> None:
    sim = tip((0.0, 0.0, 0.0), angular_velocity=(0, 0, 5.0))
    sim.step(50)
    assert only(sim)["torque"].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(only(sim)["force"][:2]).max() < 1e-6


def test_point_without_springs() -> None:
    sim = tip((1.0, 0.0, 0.0), tg.Material(0.6, 0.4, K, 0.0, 0.0, 3.0))
    sim.step(5)
    assert only(sim)["force"][0] == pytest.approx(-3.0, rel=1e-6)
    sim = tip((1000.0, 0.0, 0.0), tg.Material(0.6, 0.4, K, 0.0, 0.0, 3.0))
    sim.step(5)
    assert only(sim)["force"][0] == pytest.approx(-0.4 * LOAD, rel=1e-6)


def test_point_between_two_bodies() -> None:
    # tip of a cone in a plate that moves: equal and opposite, at the deepest point
    scene = tg.Scene(gravity=(0, 0, 0))
    plate = scene.add_body(tg.Box((2, 2, 0.5)), fixed=True, position=(0, 0, -0.25), material=DRY)
    cone = scene.add_body(
        tg.Cone(0.3, 1.0, facets=8), mass=HEAVY, position=(0.1, 0, 0.76), orientation=(0, 1, 0, 0),
        velocity=(0, 0, -2.0), material=DRY,
    )  # fmt: skip
    sim = Simulation(scene, method="point", integrator="explicit")
    sim.step(10)
    sim[cone].velocity = (0, 0, 0)
    sim.step(3)
    row = only(sim)
    assert row["normal"] == pytest.approx((0, 0, 1), abs=1e-9)
    assert row["depth"] == pytest.approx(0.01, rel=1e-6)
    assert row["force"] == pytest.approx((0, 0, LOAD), rel=1e-6, abs=1e-9)
    assert row["point"][:2] == pytest.approx((0.1, 0.0), abs=1e-9)
    assert sim[plate].contact_wrench[0] == pytest.approx(-row["force"])
    # parted: nothing is left
    sim[cone].velocity = (0, 0, 50.0)
    sim.step(2)
    assert len(sim.contacts) == 0
    assert sim[plate].contact_wrench[0].tolist() == [0.0, 0.0, 0.0]


def test_point_forgets_apart() -> None:
    sim = tip((0.05, 0.0, 0.0))
    sim.step(100)
    assert only(sim)["force"][0] < -1.0
    sim[0].velocity = (0, 0, 0.05 / DT)
    sim.step()
    sim[0].velocity = (0, 0, 0.0)
    sim.step(3)
    assert len(sim.contacts) == 0
    sim[0].velocity = (0, 0, -0.05 / DT)
    sim.step()
    sim[0].velocity = (0, 0, 0.0)
    sim.step()
    assert only(sim)["force"][0] == pytest.approx(0.0, abs=1e-9)
    assert bool(only(sim)["sticking"])
