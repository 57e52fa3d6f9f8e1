"""Readings taken from a tower: falls, growth, the straight line."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.experiments.buckling import buckling_stiffness, linearised
from tangere.experiments.hasegawa2004_block_tower import (
    Params,
    _places,
    _tower,
    line_fit,
)
from tangere.experiments.standing import Stand, watch
from tangere.maths.vec import Array


def leaning(time: Array, way: Array) -> Stand:
    """A tower of one block that moves sideways as told."""
    position = np.zeros((len(time), 1, 3))
    position[:, 0, 0] = way
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(time), 1, 1))
    zero = np.zeros(len(time))
    return Stand(time, position, upright, np.abs(way), zero, zero)


def test_growth_is_the_rate_of_an_exponential_on_any_bend() -> None:
    t = np.linspace(0.0, 10.0, 201)
    shape = np.ones(1)
    for bend in (0.0, 1.5e-3, -1.5e-3):
        stand = leaning(t, bend + 1e-4 * (np.exp(0.93 * t) - 1.0))
        # the differences of an exponential are one: nothing but rounding is left
        assert stand.growth(shape) == pytest.approx(0.93, rel=1e-6)
    assert stand.fall() == pytest.approx(np.log(5016.0) / 0.93, abs=0.05)


def test_a_tower_that_stands_neither_falls_nor_grows() -> None:
    stand = leaning(np.linspace(0.0, 10.0, 201), np.full(201, 1e-4))
    assert stand.growth(np.ones(1)) is None
    assert stand.fall() is None


def test_a_tower_lost_to_nan_has_fallen() -> None:
    way = np.zeros(11)
    way[4:] = np.nan
    assert leaning(np.arange(11.0), way).fall() == 4.0


def test_line_fit() -> None:
    x = np.arange(1.0, 14.0)
    a, b, r2 = line_fit(x, 2.0 + 3.0 * x)
    assert (a, b, r2) == pytest.approx((2.0, 3.0, 1.0))
    assert line_fit(x, x**4)[2] < 0.9


def test_blocks_start_where_their_contacts_carry_them() -> None:
    p = Params()
    places = _places(p, 3, 1e4, seed=1)
    weight = p.mass * p.gravity
    depth = [0.5 - places[0, 2], *(1.0 - np.diff(places[:, 2]))]
    assert 1e4 * np.array(depth) == pytest.approx([3 * weight, 2 * weight, weight])
    assert np.abs(places[:, :2]).max() <= p.jitter


def test_stiffness_that_a_tower_needs_is_that_of_theory() -> None:
    p = Params(mass=1.0, gravity=9.8)
    # κ/(m g l) of an upright chain of 1, 3, 6 and 13; for one block m g l/2
    for n, share in ((1, 0.5), (3, 5.6975), (6, 35.467), (13, 314.82)):
        assert buckling_stiffness(n, p) == pytest.approx(12.0 * 9.8 * share, rel=1e-4)
    below, above = p.limit_stiffness
    assert below < buckling_stiffness(13, p) < above
    assert p.high_stiffness > 2.0 * buckling_stiffness(p.high_count, p)
    assert p.stiff_stiffness > 2.0 * buckling_stiffness(13, p)


def test_one_block_topples_at_the_rate_of_an_inverted_pendulum() -> None:
    """Without springs against tilt, pivoting on a floor that does not slip: √(m g h/I)."""
    p = Params(block=(1e-9, 1.0, 1.0))  # so thin that its foot does not resist tilt
    rate, shape = linearised(1, p, stiffness=1e9, damping=0.0)
    # about its foot a thin rod has m l²/3, its weight m g l/2
    assert rate == pytest.approx(np.sqrt(1.5 * p.gravity), rel=1e-4)
    assert shape == pytest.approx([1.0])


@pytest.mark.parametrize(("n", "softer"), [(6, 0.025), (13, 0.007), (60, 0.001)])
def test_the_linearised_tower_stands_from_the_buckling_stiffness_on(n: int, softer: float) -> None:
    """Slip and depth, which that stiffness leaves out, count by δ/l: less the taller the tower."""
    p = Params()
    limit = buckling_stiffness(n, p)
    assert linearised(n, p, (1.0 - softer) * limit, 30.0)[0] > 1e-3
    assert linearised(n, p, (1.0 + softer) * limit, 30.0)[0] < 1e-3


def test_the_rate_of_a_tower_is_that_of_its_curvature_when_undamped() -> None:
    """Undamped, λ² is an eigenvalue of −M⁻¹ V'': found here from V by differences."""
    p, n, k = Params(), 3, 400.0

    def energy(q: Array) -> float:
        x, tilt = np.append(0.0, q[:n]), np.append(0.0, q[n:])
        total = 0.0
        for i in range(1, n + 1):
            load = (n - i + 1) * p.mass * p.gravity
            depth = load / k
            slip = (x[i] - 0.5 * tilt[i]) - (x[i - 1] + (0.5 * tilt[i - 1] if i > 1 else 0.0))
            mean = 0.5 * (tilt[i] + tilt[i - 1])
            total += 0.125 * k * (slip + depth * mean) ** 2
            total += k / 24.0 * (tilt[i] - tilt[i - 1]) ** 2
            total -= load * (slip * mean + 0.25 * (tilt[i] ** 2 + tilt[i - 1] ** 2))
            total -= 0.5 * load * depth * mean**2
        return total

    unit = np.eye(2 * n)
    # V is quadratic: differences over 1 are exact
    curvature = np.array(
        [
            [energy(a + b) - energy(a) - energy(b) + energy(0.0 * a) for b in unit]
            for a in unit
        ]
    )  # fmt: skip
    mass = np.repeat([p.mass, p.mass / 6.0], n)
    squares = np.linalg.eigvals(-curvature / mass[:, None]).real
    assert squares.max() > 0.0
    assert linearised(n, p, k, 0.0)[0] == pytest.approx(np.sqrt(squares.max()), rel=1e-6)


@pytest.mark.compiled
def test_a_soft_tower_buckles_along_the_mode_at_its_rate() -> None:
    """The control in small, the volume method against the eigenvalue."""
    p = Params()
    k, b = 6e3, 18.0
    rate, shape = linearised(8, p, k, b)
    stand = watch(_tower(p, _places(p, 8, k, seed=1), "volume", (2e-3, k, b)), 12.0)
    # 2 %: the lowest contact is 13 mm deep, and the rate is good to the order of depth over height
    assert stand.growth(shape) == pytest.approx(rate, rel=0.02)


def test_way_and_sink_are_the_largest_of_any_block() -> None:
    time = np.array([0.0, 1.0, 2.0])
    position = np.zeros((3, 2, 3))
    position[:, 0, 0] = [0.0, 3e-3, 3e-3]
    position[:, 1, 2] = [1.0, 0.996, 0.997]
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (3, 2, 1))
    stand = Stand(time, position, upright, np.zeros(3), np.zeros(3), np.zeros(3))
    assert stand.sink() == pytest.approx(4e-3)
    assert stand.way() == pytest.approx(4e-3)
    assert stand.way(since=1.0) == pytest.approx(1e-3)


def test_tall_towers_jitter_from_bottom_to_top() -> None:
    places = _places(Params(), 100, np.inf, seed=1)
    assert places[:, 2] == pytest.approx(np.arange(100) + 0.5)
    assert len(np.unique(places[:, 0])) == 100
    assert np.array_equal(places[:13], _places(Params(), 13, np.inf, seed=1))


def test_every_contact_of_every_step_is_looked_at() -> None:
    """A block put down without depth bounces: it is deepest between two records."""
    p = Params()
    k, b = 1e4, 30.0
    sim = _tower(p, _places(p, 1, np.inf, seed=1), "volume", (1e-3, k, b))
    stand = watch(sim, 0.1, each_step=True)
    # a damped spring overshoots its rest depth by exp(−π ζ/√(1 − ζ²)), ζ = b/(2 √(k m)) = 0.15
    overshoot = np.exp(-0.15 * np.pi / np.sqrt(1.0 - 0.15**2))
    rest = p.mass * p.gravity / k
    assert stand.deepest == pytest.approx((1.0 + overshoot) * rest, rel=0.05)
    assert stand.sink() < 0.8 * stand.deepest
    again = watch(_tower(p, _places(p, 1, np.inf, seed=1), "volume", (1e-3, k, b)), 0.1)
    assert np.array_equal(again.position, stand.position)
    assert np.isnan(again.deepest)


@pytest.mark.compiled
def test_the_signorini_tower_stands_without_overlap() -> None:
    p = Params()
    sim = _tower(p, _places(p, 13, np.inf, seed=1), "signorini", (p.stiff_dt, None, None), None)
    stand = watch(sim, 1.0, each_step=True)
    # the contact problem is solved to 1e-8 of its forces: dt²/m of them is 3e-10 m
    assert stand.deepest < 1e-9
    assert stand.drift.max() < 1e-8
    # what the contacts say of themselves is true of the blocks
    assert np.abs(stand.depths()).max() < 1e-9
