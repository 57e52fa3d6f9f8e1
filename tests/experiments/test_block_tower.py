"""Readings taken from a tower: falls, growth, the straight line."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.experiments.hasegawa2004_block_tower import (
    Params,
    Stand,
    _places,
    buckling_stiffness,
    line_fit,
)
from tangere.maths.vec import Array


def leaning(time: Array, way: Array) -> Stand:
    """A tower of one block that moves sideways as told."""
    position = np.zeros((len(time), 1, 3))
    position[:, 0, 0] = way
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(time), 1, 1))
    zero = np.zeros(len(time))
    return Stand(time, position, upright, np.abs(way), zero, zero)


def test_growth_is_the_rate_of_an_exponential() -> None:
    t = np.linspace(0.0, 10.0, 201)
    stand = leaning(t, 1e-4 * (np.exp(0.93 * t) - 1.0))
    assert stand.growth() == pytest.approx(0.93, rel=0.02)
    assert stand.fall() == pytest.approx(np.log(5001.0) / 0.93, abs=0.05)


def test_a_tower_that_stands_neither_falls_nor_grows() -> None:
    stand = leaning(np.linspace(0.0, 10.0, 201), np.full(201, 1e-4))
    assert stand.growth() is None
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
    places = _places(p, 3, 1e4)
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
    places = _places(Params(), 100, np.inf)
    assert places[:, 2] == pytest.approx(np.arange(100) + 0.5)
    assert len(np.unique(places[:, 0])) == 100
    assert np.array_equal(places[:13], _places(Params(), 13, np.inf))
