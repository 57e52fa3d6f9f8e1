"""Kinds are told apart in one place; contacts that could give too much energy yield beforehand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from implicit.touching import Contact, polygon
from numpy.typing import NDArray

import tangere
from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.elements import columns as record
from tangere.elements.columns import element
from tangere.elements.element import SMALL_RESERVE, yield_early
from tangere.solver import Solver

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

DT = 5e-3
SQUARE = [(-0.05, -0.04), (0.05, -0.04), (0.05, 0.04), (-0.05, 0.04)]
LEANING = [1e-4, 3e-4, 3e-4, 1e-4]  # depth at the guess [m]
APART = np.array([0.03, 0.1, -0.2, 0.0, 0.0, 0.0])  # motion of the guess


@kernel
def _yield_early(v: Solver, dt: float) -> None:
    """The kernel on arrays."""
    t = pointers(v).elements
    yield_early(t, element(t, 0), dt)


def leaving(stored: float, lag: float = 3.0, bounces: float = 0.0) -> Contact:
    """A patch that was deeper at the start of the step than at its end."""
    contact = Contact([polygon(SQUARE, LEANING)], star=APART, dt=DT)
    f = contact.v.elements.floats[0]
    f[record.EF_STORED], f[record.EF_LAG] = stored, lag
    f[record.EF_SIZE], f[record.EF_E] = 0.1, bounces
    return contact


def held(contact: Contact) -> float:
    """Energy of the springs at the start of the step by the linear motion, by fine sampling."""
    fan = contact.v.elements.fan[:5]
    rng = np.random.default_rng(0)
    x, y = rng.uniform((-0.05, -0.04), (0.05, 0.04), (200_000, 2)).T
    slope = np.linalg.lstsq(np.column_stack((np.ones(5), fan[:, :2])), fan[:, 2], rcond=None)[0]
    depth = slope[0] + slope[1] * x + slope[2] * y
    un, w1, w2 = APART[:3]
    start = depth + DT * (un + w1 * y - w2 * x)
    return float(0.5 * contact.law.k * np.mean(np.maximum(0.0, start) ** 2))


def depths(contact: Contact) -> Array:
    return contact.v.elements.fan[:5, 2].copy()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_no_more_is_left_at_the_start_than_was_stored(share: float) -> None:
    full = held(leaving(0.0))
    contact = leaving(share * full)
    before = depths(contact)
    _yield_early(contact.v, DT)
    # depth is affine over the patch before and after; 200,000 samples are good to 0.2 %
    assert held(contact) == pytest.approx(share * full, rel=5e-3, abs=5e-3 * full * (share == 0.0))
    assert (depths(contact) < before).all()
    once = depths(contact)
    _yield_early(contact.v, DT)
    assert depths(contact) == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize(
    ("excess", "bounces", "yields"),
    [(1.1, 0.0, True), (0.9, 0.0, False), (-5.0, 0.0, False), (1.1, 0.4, False)],
)
def test_others_are_left_alone(excess: float, bounces: float, yields: bool) -> None:
    """Those within the reserve, those that hold less than was stored, and those that bounce."""
    full = held(leaving(0.0))
    spare = 0.1 * full  # so that a tenth of it is more than the error of the sampled energy
    contact = leaving(full - excess * spare, spare / (SMALL_RESERVE * 0.1), bounces)
    before = depths(contact)
    _yield_early(contact.v, DT)
    assert (depths(contact) != before).any() == yields


def test_kinds_are_told_apart_in_one_place() -> None:
    """Elsewhere a kind is written, by what sets an element up, but never read."""
    root = Path(tangere.__file__).parent
    read = re.compile(r"EI_KIND\] *(==|!=|in\b|<|>)")
    found = [p.relative_to(root) for p in root.rglob("*.py") if read.search(p.read_text("utf-8"))]
    assert [p.as_posix() for p in found] == ["elements/element.py"]
