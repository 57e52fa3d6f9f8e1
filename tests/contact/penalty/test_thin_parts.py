"""A fast tool and a thin part: what has gone in, or through, is pushed back the way it came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
K, D = 2000.0, 0.5e-3
THICK = 1e-3


def plate(side: float = 0.03) -> Shape:
    return tg.Box((side, side, THICK))


def pressed(
    contact: PenaltyContact, places: Any, period: float, q: Array = UPRIGHT
) -> tuple[Array, Array, Array]:
    """Wrench, deepest contact and all contact normals' range along z, while the tool moves."""
    places = np.asarray(places)
    velocity = np.diff(places, axis=0, prepend=places[:1]) / period
    wrenches, depths, most = [], [], []
    for x, v in zip(places, velocity, strict=True):
        contact.update(np.concatenate((x, q, v, np.zeros(3))), period=period)
        found = contact.contacts
        wrenches.append(contact.response.wrench.copy())
        depths.append(found.delta.max(initial=-1.0))
        most.append(found.n[found.delta > 0.0, 2].max(initial=-1.0))
    return np.array(wrenches), np.array(depths), np.array(most)


def coarse(**options: Any) -> Penalty:
    given: dict[str, Any] = {"stiffness": K, "tolerance": D, "spacing": 0.25e-3, "samples": 1500}
    return Penalty(**{**given, **options})


@pytest.mark.parametrize("rate", [1000.0, 100.0])
@pytest.mark.parametrize("start", [0.0, 0.3, 0.7])
def test_a_thin_tool_shot_through_a_thin_plate_is_always_pushed_back(
    rate: float, start: float
) -> None:
    """1 m/s: 1 mm an update, all of the plate, or ten times that. The depth is the exact way."""
    period = 1.0 / rate
    contact = PenaltyContact(plate(0.012), [plate()], options=coarse())
    step = 1.0 * period
    z = 3e-3 + step * start - step * np.arange(int(14e-3 / step) + 2)
    places = np.column_stack((1e-3 + 0.0 * z, -2e-3 + 0.0 * z, z))
    wrenches, depths, most = pressed(contact, places, period)
    exact = 0.5 * THICK - (z - 0.5 * THICK)  # top of the plate over the bottom of the tool
    inside = exact > 0.0
    assert inside.sum() >= 1
    assert (wrenches[:, 2] >= 0.0).all()
    assert (wrenches[inside, 2] > 0.0).all()
    assert depths[inside] == pytest.approx(exact[inside], abs=0.1e-3)
    assert (most[inside] < 0.5).all()  # at the rim some lean outwards


@pytest.mark.parametrize("rate", [1000.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_from_any_direction_the_force_never_turns_round(rate: float, seed: int) -> None:
    """A turned tool, obliquely: the force keeps pointing back to the side it came from."""
    rng = np.random.default_rng(seed)
    period = 1.0 / rate
    axis = rng.normal(size=3)
    angle = 0.5
    q = np.concatenate(([np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis / np.linalg.norm(axis)))
    tool = tg.Box((0.01, 0.008, 0.0012))
    low = float((np.asarray(tool.surface()[0]) @ rotation_of(q).T)[:, 2].min())
    contact = PenaltyContact(tool, [plate(0.04)], options=coarse())
    s = np.arange(0.0, 0.012, period)
    places = np.column_stack((0.3 * s, -0.2 * s, 2e-3 - low - s))
    wrenches, depths, _ = pressed(contact, places, period, q)
    deep = places[:, 2] + low < 0.5 * THICK
    assert deep.sum() > 0
    assert (wrenches[deep, 2] > 0.0).all()
    exact = 0.5 * THICK - (places[:, 2] + low)  # the lowest corner's way back up
    assert depths[deep].max() == pytest.approx(exact[deep].max(), rel=0.2)


def test_what_comes_back_is_free_again() -> None:
    """Through and back out: no contact is left, and the other side can be touched."""
    contact = PenaltyContact(plate(0.012), [plate()], options=coarse())
    z = 3.7e-5 + np.concatenate((np.arange(3e-3, -3e-3, -1e-3), np.arange(-3e-3, 3e-3, 1e-3)))
    wrenches, _, _ = pressed(contact, np.column_stack((0.0 * z, 0.0 * z, z)), 1e-3)
    assert wrenches[-1, 2] == 0.0
    assert (wrenches[:, 2] >= 0.0).all()
    contact.forget()
    fresh, _, _ = pressed(contact, [[0.0, 0.0, -1.2e-3], [0.0, 0.0, -1.1e-3]], 1e-3)
    assert (fresh[:, 2] < 0.0).all()


def test_around_an_edge_no_side_is_kept() -> None:
    """A rod goes round the rim of the plate: above, beside, below. The force follows."""
    contact = PenaltyContact(tg.Box((0.004, 0.02, 0.002)), [plate()], options=coarse())
    around = np.linspace(0.5 * np.pi, -0.5 * np.pi, 400)
    reach = 1.3e-3
    out = np.maximum(np.cos(around), 0.0)
    places = np.column_stack(
        (0.0165 + 3e-3 * (out - 0.5) * 0.0 + 1.0e-3 * out, 0.0 * out, reach * np.sin(around))
    )
    wrenches, _, _ = pressed(contact, places, 1e-3)
    assert wrenches[:20, 2].min() > 0.0
    assert wrenches[-20:, 2].max() < 0.0


@pytest.mark.nojit
def test_between_two_walls_a_point_takes_the_side_that_it_touches() -> None:
    """From one wall of a slot to the other in one update: it was never inside."""
    slot = tg.Compound(
        [tg.Box((0.004, 0.02, 0.02)), tg.Box((0.004, 0.02, 0.02))],
        [((0.0075, 0, 0), UPRIGHT), ((-0.0075, 0, 0), UPRIGHT)],
    )
    options = coarse(spacing=1e-3, samples=200)
    contact = PenaltyContact(tg.Box((0.01, 0.01, 0.01)), [slot], options=options)
    pressed(contact, [[-0.4e-3, 0, 0]], 1e-3)
    for x in (0.9e-3, -0.9e-3, 1.5e-3):
        wrenches, _, _ = pressed(contact, [[x, 0, 0]] * 2, 1e-3)
        assert np.sign(wrenches[-1, 0]) == -np.sign(x)


@pytest.mark.nojit
def test_a_fast_tool_goes_through_a_plate_in_plain_python() -> None:
    sheet = tg.Box((0.02, 0.02, 0.004))
    contact = PenaltyContact(
        tg.Box((0.008, 0.008, 0.004)), [sheet], options=coarse(spacing=1e-3, samples=60)
    )
    z = np.array([8e-3, -3e-3, -7e-3, -8e-3])
    wrenches, depths, _ = pressed(contact, np.column_stack((0 * z, 0 * z, z)), 1e-2)
    assert wrenches[0, 2] == 0.0
    assert (wrenches[1:, 2] > 0.0).all()
    assert depths[1:] == pytest.approx(4e-3 - z[1:], abs=0.5e-3)
