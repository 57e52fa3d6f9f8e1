"""Stiffness and damping of a patch against finite differences of the contact's own wrench."""

from __future__ import annotations

import numpy as np
import pytest
from contact.rows import rows
from numpy.typing import NDArray

import tangere as tg
from tangere._jit import kernel
from tangere._ptr import off, ptr
from tangere.contact.volume.local import patch_stiffness
from tangere.contact.volume.method import Volume
from tangere.model import NF, NI, Pairs
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

DT = 1e-3
HEAVY = 1e12
ROUGH = tg.Material(1e6, 1e6, 2000.0, 30.0, 700.0, 9.0)


@kernel
def _stiffness(pairs: Pairs, slot: int, k: Array, b: Array) -> None:
    """patch_stiffness on arrays."""
    ints, floats = off(ptr(pairs.ints), NI * slot), off(ptr(pairs.floats), NF * slot)
    patch_stiffness(ints, floats, ptr(k), ptr(b))


def matrices(sim: Simulation) -> tuple[Array, Array]:
    k, b = np.full((6, 6), np.nan), np.full((6, 6), np.nan)
    _stiffness(sim.arrays.work.pairs, int(rows(sim)[0]), k, b)
    return k, b


def block(normal: Array, method: Volume, material: tg.Material = ROUGH) -> Simulation:
    """A block 1 cm deep in a floor, so heavy that it moves as told."""
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_floor(normal=normal, material=material)
    axis = np.cross((0.0, 0.0, 1.0), normal)
    q = np.array([1.0 + normal[2], *axis])
    scene.add_body(
        tg.Box((0.4, 0.3, 0.2)), mass=HEAVY, inertia=(HEAVY,) * 3, position=0.09 * normal,
        orientation=q, material=material,
    )  # fmt: skip
    return Simulation(scene, method=method, dt=DT, integrator="explicit")


def wrench(sim: Simulation) -> Array:
    """Force and torque on the block at the patch's own centre."""
    row = sim.contacts[0]
    return np.concatenate((row["force"], row["torque"]))


NORMALS = [(0.0, 0.0, 1.0), (0.6, 0.0, 0.8), (0.36, 0.48, 0.8)]
METHODS = [Volume(), Volume(normalization="fixed"), Volume(normalization="none")]


@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize("method", METHODS)
def test_columns_are_the_change_of_the_wrench(normal: tuple[float, ...], method: Volume) -> None:
    # full faces: the patch keeps its shape, so that only the turn of a loaded patch is left out
    n = np.array(normal)
    rest = block(n, method)
    rest.step(2)
    centre = rest.contacts[0]["point"].copy()
    before = wrench(rest)
    k, b = matrices(rest)
    assert k == pytest.approx(k.T, abs=1e-9)
    assert b == pytest.approx(b.T, abs=1e-9)
    assert np.linalg.eigvalsh(k).min() > -1e-9
    assert np.linalg.eigvalsh(b).min() > -1e-9
    small = 1e-6
    for column in range(6):
        twist = np.zeros(6)
        twist[column] = small
        v, w = twist[:3], twist[3:]
        at = rest[0].centre - centre
        # as a velocity: the damper answers in the same step
        sim = block(n, method)
        sim.step()
        sim[0].velocity, sim[0].angular_velocity = v + np.cross(w, at), w
        sim.step()
        # the twist spring has taken this spin for the one that moved the block in the last step
        twisted = DT * (n @ k[3:, 3:] @ n) * (w @ n) * np.concatenate((np.zeros(3), n))
        change = wrench(sim) - before + twisted
        assert change == pytest.approx(-b[:, column] * small, abs=2e-4 * 30.0 * small)
        # as a displacement, made by one step at a thousandfold speed
        sim = block(n, method)
        sim.step()
        sim[0].velocity, sim[0].angular_velocity = (v + np.cross(w, at)) / DT, w / DT
        sim.step()
        sim[0].velocity, sim[0].angular_velocity = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        sim.step()
        change = wrench(sim) - before
        # what the tilt of the whole load about the centre adds: F × φ, F = k d
        tilt = float(np.linalg.norm(w - (w @ n) * n))
        slack = 1.5 * float(before[:3] @ n) * tilt + 1e-3 * small
        assert change == pytest.approx(-k[:, column] * small, abs=slack)


def test_slipping_patch_has_no_shear_stiffness() -> None:
    sim = block(
        np.array([0.0, 0.0, 1.0]), Volume(), tg.Material(0.1, 0.1, 2000.0, 30.0, 700.0, 9.0)
    )
    sim[0].velocity = (10.0, 0.0, 0.0)
    sim.step(3)
    assert not sim.contacts["sticking"][0]
    k, b = matrices(sim)
    assert k[:2, :2] == pytest.approx(np.zeros((2, 2)), abs=1e-9)
    assert b[:2, :2] == pytest.approx(np.zeros((2, 2)), abs=1e-9)
    assert k[2, 2] == pytest.approx(2000.0)
    assert k[5, 5] == pytest.approx(0.0, abs=1e-9)


def test_tilt_stiffness_is_the_second_moment() -> None:
    # k w²/12 about each axis of a full face
    sim = block(np.array([0.0, 0.0, 1.0]), Volume())
    sim.step()
    k, b = matrices(sim)
    expected = np.diag([700.0, 700.0, 2000.0, 2000 * 0.09 / 12, 2000 * 0.16 / 12, 700 * 0.25 / 12])
    assert k == pytest.approx(expected, abs=1e-6)
    assert b[2:5, 2:5] == pytest.approx(expected[2:5, 2:5] * 30.0 / 2000.0, abs=1e-8)
