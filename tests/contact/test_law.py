"""The volume law against quadrature: springs, dampers, sticking, slipping, and what lies between.

Bodies are so heavy that they keep the motion they are given: the contact table then holds the
law's answer to a known state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from collision.clipping import Clipped, at, clip, clip_below
from contact.rows import rows
from contact.soups import area_of, centroid
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.quadrature import coulomb, integrate
from strategies import quaternions, vectors

from tangere.contact.volume.method import Volume
from tangere.geometry.shapes import Box, Compound, Cone, Convex, Cylinder, Shape
from tangere.model import PF_THETA
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

HEAVY = 1e12  # nothing moves it within a test
DT = 1e-3
K, B, KT, BT = 2000.0, 30.0, 700.0, 9.0
SMOOTH = Material(0.0, 0.0, K, B, KT, BT)
EXACT = 1e-9
# Walls of a leaning block go by points: their share of the friction is small.
STEEP_WALLS = 1e-4
UP = np.array([0.0, 0.0, 1.0])


def on_floor(
    shape: Shape,
    position: tuple[float, ...],
    orientation: tuple[float, ...] | Array = (1.0, 0.0, 0.0, 0.0),
    *,
    velocity: Array | tuple[float, ...] = (0.0, 0.0, 0.0),
    spin: Array | tuple[float, ...] = (0.0, 0.0, 0.0),
    material: Material = SMOOTH,
    method: Volume | str = "volume",
    mass: float = HEAVY,
    gravity: float = 0.0,
) -> Simulation:
    """A body over a floor at height 0, nothing else acting unless gravity is given."""
    scene = Scene(gravity=(0.0, 0.0, -gravity))
    scene.add_floor(material=material)
    scene.add_body(
        shape,
        mass=mass,
        position=position,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=spin,
        material=material,
    )
    return Simulation(scene, method=method, dt=DT, integrator="explicit")


class Row(NamedTuple):
    """The only contact."""

    point: Array
    normal: Array
    force: Array
    torque: Array
    area: float
    depth: float
    sticking: bool


def only(sim: Simulation) -> Row:
    table = sim.contacts
    assert len(table) == 1
    row = table[0]
    return Row(*(row[name] for name in Row._fields))


def friction_of(row: Row) -> tuple[Array, float]:
    """Tangential force, and torque about the normal."""
    return row.force - row.normal * (row.force @ row.normal), float(row.torque @ row.normal)


# ---------------------------------------------------------------- springs and dampers


class Wrench(NamedTuple):
    force: float
    torque: Array  # about the area centroid
    area: float
    centre: Array


def pressed(
    found: Clipped,
    n: Array,
    plane: float,
    share: float,
    area: float | None,
    motion: tuple[Array, Array],
) -> Wrench:
    """∫ (k h − share b u_n)/S_A over polygons projected along n, by quadrature; u = v + ω × x."""
    a = np.cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.9 else (0.0, 1.0, 0.0))
    t1 = a / np.linalg.norm(a)
    axes = np.array([t1, np.cross(n, t1), n])
    v, w = motion
    sums = np.zeros(9)
    for ring, outward in zip(found.polygons, found.area_vectors(), strict=True):
        up = float(outward @ n)
        if abs(up) < 1e-12:
            continue
        side = math.copysign(1.0, up)
        flat = ring @ axes.T
        # the polygon's plane: height over the contact plane is affine in x and y
        slope = -(outward @ axes[:2].T) / up

        def f(
            x: Array, y: Array, flat: Array = flat, slope: Array = slope, side: float = side
        ) -> Array:
            z = flat[0, 2] + slope[0] * (x - flat[0, 0]) + slope[1] * (y - flat[0, 1])
            h = side * (z - plane)
            q = np.stack((x, y, np.full_like(x, plane)), axis=-1) @ axes
            u = (v + np.cross(w, q)) @ n
            one = np.ones_like(x)
            return np.stack((one, x, y, h, x * h, y * h, u, x * u, y * u), axis=-1)

        sums += integrate(flat[:, :2], f)
    patch = share * sums[0]
    c = sums[1:3] / sums[0]
    s_a = patch if area is None else area
    total = (K * sums[3:6] - share * B * sums[6:9]) / s_a
    moment = total[1:] - c * total[0]
    torque = np.cross(axes[0], n) * moment[0] + np.cross(axes[1], n) * moment[1]
    return Wrench(float(total[0]), torque, float(patch), axes.T @ np.array([*c, plane]))


def assert_pressed(row: Row, truth: Wrench, n: Array) -> None:
    size = max(abs(truth.force), K * 1e-3)
    assert row.normal == pytest.approx(n, abs=1e-9)
    assert row.area == pytest.approx(truth.area, rel=1e-8)
    assert row.point == pytest.approx(truth.centre, abs=1e-7)
    assert row.force == pytest.approx(truth.force * n, abs=EXACT * size)
    assert row.torque == pytest.approx(truth.torque, abs=EXACT * size)


METHODS = [
    (Volume(), None),
    (Volume(normalization="none"), 1.0),
    (Volume(normalization="fixed"), 0.8),  # the smaller one's largest face
    (Volume(algorithm="dual"), None),
]


@pytest.mark.parametrize(("method", "area"), METHODS)
@settings(max_examples=25)
@given(q=quaternions(), height=st.floats(0.0, 0.5), v=vectors(1.0), w=vectors(3.0))
def test_tilted_box_on_the_floor(
    method: Volume, area: float | None, q: Array, height: float, v: Array, w: Array
) -> None:
    size = np.array([1.0, 0.8, 0.4])
    box = Box(size)
    position = np.array([0.3, -0.2, height])
    solid = at(box, position, q)
    below = clip_below(solid, (0.0, 0.0, 1.0, 0.0))
    depth = -float(solid.vertices[:, 2].min())
    if below is None or depth < 1e-3:
        return
    motion = (v - np.cross(w, position), w)
    truth = pressed(below, UP, 0.0, 1.0, area, motion)
    sim = on_floor(box, tuple(position), q, velocity=v, spin=w, method=method)
    sim.step()
    if truth.force <= EXACT * K:
        assert len(sim.contacts) == 0 or truth.force > -EXACT * K
        return
    row = only(sim)
    assert row.depth == pytest.approx(depth, rel=1e-9)
    assert_pressed(row, truth, UP)


@pytest.mark.parametrize(("method", "area"), METHODS)
@settings(max_examples=12)
@given(angle=st.floats(-0.4, 0.4), lean=st.floats(-0.3, 0.3), v=vectors(0.03), w=vectors(0.1))
def test_box_in_box(
    method: Volume, area: float | None, angle: float, lean: float, v: Array, w: Array
) -> None:
    # the upper one leans over the lower one, 2 cm deep; both sides of the patch carry a share
    q = np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])
    q = q + 0.5 * lean * np.array([0.0, 1.0, 0.3, 0.0])
    q /= np.linalg.norm(q)
    lower, upper = Box((1.0, 0.9, 0.5)), Box((0.8, 1.0, 0.6))
    low = float(at(upper, (0.2, 0.1, 0.0), q).vertices[:, 2].min())
    position = np.array([0.2, 0.1, 0.25 - low - 0.02])
    found = clip(at(lower), at(upper, position, q))
    assert found is not None
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(lower, fixed=True, material=SMOOTH)
    scene.add_body(
        upper,
        mass=HEAVY,
        position=position,
        orientation=q,
        velocity=v,
        angular_velocity=w,
        material=SMOOTH,
    )
    sim = Simulation(scene, method=method, dt=DT, integrator="explicit")
    sim.step()
    if found.volume() < 1e-5:
        return
    row = only(sim)
    motion = (v - np.cross(w, position), w)
    truth = pressed(found, row.normal, float(row.point @ row.normal), 0.5, area, motion)
    assert_pressed(row, truth, row.normal)


def test_flat_block_carries_its_weight() -> None:
    # k d = m g, whatever the area
    for side in (0.1, 1.0, 3.0):
        sim = on_floor(
            Box((side, side, 0.2)), (0, 0, 0.1), mass=2.0, gravity=10.0,
            material=Material(0.5, 0.5, 5000.0, 100.0),
        )  # fmt: skip
        sim.step(1000)
        row = only(sim)
        assert row.force == pytest.approx((0.0, 0.0, 20.0), abs=1e-6)
        assert row.depth == pytest.approx(20.0 / 5000.0, rel=1e-6)


def test_damper_does_not_pull() -> None:
    # rising at 1 m/s the damper would pull with 30 N against a spring of 20 N
    shape = Box((1.0, 1.0, 1.0))
    sim = on_floor(shape, (0, 0, 0.49), velocity=(0.0, 0.0, 1.0))
    sim.step()
    assert len(sim.contacts) == 0
    assert np.concatenate(sim[0].contact_wrench).tolist() == [0.0] * 6
    sim = on_floor(shape, (0, 0, 0.49), velocity=(0.0, 0.0, 0.5))
    sim.step()
    assert only(sim).force[2] == pytest.approx(20.0 - 15.0, rel=1e-9)


# ---------------------------------------------------------------- sticking

STICKY = Material(1e9, 1e9, K, 0.0, KT, BT)


@pytest.mark.parametrize(
    "shape", [Box((0.6, 0.3, 0.2)), Convex(Cylinder(0.3, 0.2, facets=7).parts()[0].vertices)]
)
@pytest.mark.parametrize("steps", [1, 2, 40])
def test_spring_of_a_sticking_patch(shape: Shape, steps: int) -> None:
    # after n steps it has gone r = (n − 1) dt u since birth, and turned by θ = (n − 1) dt ω
    gone = (steps - 1) * DT
    ring = at(shape).vertices
    ring = ring[ring[:, 2] < 0.0][:, :2]
    ring = ring[np.argsort(np.arctan2(ring[:, 1], ring[:, 0]))]
    polar = integrate(ring, lambda x, y: np.stack((x * x + y * y, np.ones_like(x)), axis=-1))
    # shift, turn, and both: then r turns along by half the twist
    for v, spin in (((0.3, -0.2, 0.0), 0.0), ((0.0, 0.0, 0.0), 0.4), ((0.3, -0.2, 0.0), 0.4)):
        sim = on_floor(shape, (0, 0, 0.09), velocity=v, spin=(0, 0, spin), material=STICKY)
        sim.step(steps)
        row = only(sim)
        force, torque = friction_of(row)
        assert row.sticking
        pull = (KT * gone + BT) * np.array(v)
        both = float(np.linalg.norm(pull)) * spin * gone
        assert force == pytest.approx(-pull, abs=both + 1e-6)
        expected = -(KT * gone + BT) * spin * polar[0] / polar[1]
        assert torque == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_sticking_between_two_bodies_is_counted_once() -> None:
    # both sides of the patch are integrated; friction must not double
    scene = Scene(gravity=(0, 0, 0))
    plate = scene.add_body(
        Box((2.0, 2.0, 0.2)), fixed=True, velocity=(0.1, 0.0, 0.0), angular_velocity=(0, 0, 0.2),
        material=STICKY,
    )  # fmt: skip
    block = scene.add_body(Box((0.6, 0.3, 0.2)), mass=HEAVY, position=(0, 0, 0.19), material=STICKY)
    sim = Simulation(scene, dt=DT, integrator="explicit")
    sim.step(11)
    row = only(sim)
    force, torque = friction_of(row)
    gone = 10 * DT
    assert force == pytest.approx(((KT * gone + BT) * 0.1, 0.0, 0.0), rel=2e-3, abs=5e-3)
    gyration = (0.6**2 + 0.3**2) / 12.0
    assert torque == pytest.approx((KT * gone + BT) * 0.2 * gyration, rel=1e-3)
    assert sim[block].contact_wrench[0] == pytest.approx(row.force, rel=1e-14)
    assert sim[plate].contact_wrench[0] == pytest.approx(-row.force, rel=1e-14)


def test_turning_about_another_point_is_shift_and_turn() -> None:
    # spin about a far axis: at the centroid u = ω × arm; the spring sees the path of the centroid
    arm, spin = np.array([0.0, 2.0, 0.0]), 0.1
    v = np.cross((0, 0, spin), arm)
    sim = on_floor(
        Box((0.4, 0.4, 0.2)), (0, 0, 0.09), velocity=v, spin=(0, 0, spin), material=STICKY
    )
    sim.step(30)
    force, torque = friction_of(only(sim))
    assert force[0] == pytest.approx(-(KT * 29 * DT + BT) * v[0], rel=1e-3)
    assert torque == pytest.approx(-(KT * 29 * DT + BT) * spin * 0.16 / 6.0, rel=1e-3)


def test_twist_is_carried_to_the_new_middle_of_the_patch() -> None:
    # turned by θ about the middle, then tipped over its right edge until only half of the face is
    # left: the patch's new middle, 0.1 m to the right, was moved by θ n × (0.1, 0, 0)
    sim = on_floor(Box((0.4, 0.3, 0.2)), (0, 0, 0.09), spin=(0, 0, 1.0), material=STICKY)
    sim.step(101)
    theta = 0.1
    turn = sim[0].matrix[:3, :3]
    sim[0].angular_velocity = (0.0, 0.0, 0.0)
    tip = 0.05
    edge = turn @ (0.2, 0.0, -0.1)
    for _ in range(50):
        w = turn @ (0.0, tip / (50 * DT), 0.0)
        arm = sim[0].matrix[:3, :3] @ (0.2, 0.0, -0.1)
        sim[0].angular_velocity = w
        sim[0].velocity = -np.cross(w, arm)
        sim.step()
    sim[0].angular_velocity = (0.0, 0.0, 0.0)
    sim[0].velocity = (0.0, 0.0, 0.0)
    sim.step()
    row = only(sim)
    force, torque = friction_of(row)
    shift = np.array([*row.point[:2], 0.0])
    assert shift[:2] == pytest.approx(0.5 * edge[:2], abs=0.01)
    pull = -KT * theta * np.cross(UP, shift)
    assert force == pytest.approx(pull, abs=0.05 * float(np.linalg.norm(pull)))
    assert torque == pytest.approx(-KT * theta * (0.2**2 + 0.3**2) / 12.0, rel=0.05)


# ---------------------------------------------------------------- limit, slip, rewind

DRY = Material(0.6, 0.4, K, 0.0, KT, 0.0)
LOAD = K * 0.01  # spring force of a flat patch 1 cm deep


def slide(
    velocity: tuple[float, ...],
    spin: float = 0.0,
    material: Material = DRY,
    method: str | Volume = "volume",
) -> Simulation:
    """A flat block 1 cm deep in the floor."""
    return on_floor(
        Box((0.5, 0.5, 0.2)), (0, 0, 0.09), velocity=velocity, spin=(0, 0, spin), material=material,
        method=method,
    )  # fmt: skip


def test_limit_of_a_shift_is_coulombs() -> None:
    sim = slide((0.03, 0.04, 0.0))
    forces, modes = [], []
    for _ in range(500):
        sim.step()
        force, torque = friction_of(only(sim))
        forces.append(force)
        modes.append(only(sim).sticking)
        assert abs(torque) < 1e-9
    size = np.linalg.norm(forces, axis=1)
    slipped = modes.index(False)
    # static up to μ₀ N in steps of k dt u, kinetic μ N from then on
    assert size[slipped - 1] == pytest.approx(0.6 * LOAD, abs=KT * DT * 0.05)
    assert size[slipped - 1] <= 0.6 * LOAD
    assert size[slipped:] == pytest.approx(0.4 * LOAD, rel=1e-9)
    assert not any(modes[slipped:])
    assert np.array(forces[slipped:]) == pytest.approx(
        np.tile(-0.4 * LOAD * np.array([0.6, 0.8, 0.0]), (len(forces) - slipped, 1)), rel=1e-9
    )
    # until then a spring
    n = np.arange(slipped)
    assert size[:slipped] == pytest.approx(KT * DT * 0.05 * n, abs=1e-6)


def test_spin_limit_and_torque() -> None:
    # square of side a: static limit Θ J = μ₀ N 0.3826 a, then μ N 0.3826 a
    sim = slide((0.0, 0.0, 0.0), spin=0.5)
    spin = (math.sqrt(2.0) + math.asinh(1.0)) / 6.0 * 0.5
    torques, modes = [], []
    for _ in range(400):
        sim.step()
        force, torque = friction_of(only(sim))
        torques.append(-torque)
        modes.append(only(sim).sticking)
        assert np.abs(force).max() < 1e-9
    slipped = modes.index(False)
    step = KT * DT * 0.5 * 0.25 / 6.0
    # virtual work: Θ² J ≤ μ₀ ∫ p |e| is Θ J ≤ μ₀ N 0.3826 a for a pure turn
    assert torques[slipped - 1] == pytest.approx(0.6 * LOAD * spin, abs=step)
    assert torques[slipped:] == pytest.approx([0.4 * LOAD * spin] * (400 - slipped), rel=1e-9)


@settings(max_examples=25)
@given(vectors(1.0), st.floats(-5.0, 5.0), st.floats(-0.15, 0.15), st.floats(-0.15, 0.15))
def test_slip_is_the_integral_of_coulombs_law(v: Array, spin: float, lx: float, ly: float) -> None:
    # a leaning block: pressure grows across the patch; sliding and turning at once
    q = np.array([1.0, 0.5 * lx, 0.5 * ly, 0.0])
    q /= np.linalg.norm(q)
    box = Box((0.5, 0.4, 0.2))
    low = -float(at(box, (0, 0, 0), q).vertices[:, 2].min())
    position = np.array([0.0, 0.0, low - 0.05])
    v[2] = 0.0
    if np.linalg.norm(v) + abs(spin) < 1e-2:
        return
    sim = on_floor(
        box, tuple(position), q, velocity=v, spin=(0, 0, spin), material=Material(0.0, 0.0, K, 0.0)
    )
    sim.step(2)
    load = float(only(sim).force[2])
    # so stiff that it slips in the second step, from the state after the first
    rough = Material(0.5, 0.5, K, 0.0, 1e9, 0.0)
    sim = on_floor(box, tuple(position), q, velocity=v, spin=(0, 0, spin), material=rough)
    sim.step()
    here, v, w = sim[0].position, sim[0].velocity, sim[0].angular_velocity
    below = clip_below(at(box, here, sim[0].orientation), (0, 0, 1, 0))
    assert below is not None
    sim.step()
    row = only(sim)
    assert not row.sticking
    c = row.point[:2]
    u = v + np.cross(w, row.point - here)
    truth = np.zeros(4)
    for ring, outward in zip(below.polygons, below.area_vectors(), strict=True):
        if abs(outward[2]) < 1e-12:
            continue
        slope = -outward[:2] / outward[2]

        def p(x: Array, y: Array, ring: Array = ring, slope: Array = slope) -> Array:
            gx, gy = x + c[0] - ring[0, 0], y + c[1] - ring[0, 1]
            return np.asarray(-K / row.area * (ring[0, 2] + slope[0] * gx + slope[1] * gy))

        truth += coulomb(ring[:, :2] - c, p, (float(u[0]), float(u[1]), float(w[2])))
    force, torque = friction_of(row)
    assert force[:2] == pytest.approx(-0.5 * truth[:2], abs=STEEP_WALLS * load)
    assert torque == pytest.approx(-0.5 * truth[2], abs=STEEP_WALLS * load)


def test_kinetic_friction_below_static_holds_while_slipping() -> None:
    # stopped after a slide the spring holds on at μ N; pulled on it needs μ₀ N again
    sim = slide((0.05, 0.0, 0.0))
    sim.step(400)
    assert not only(sim).sticking
    sim[0].velocity = (-0.05, 0.0, 0.0)  # a little back
    sim.step(3)
    row = only(sim)
    assert row.sticking
    assert friction_of(row)[0] == pytest.approx((-0.4 * LOAD + KT * DT * 0.05, 0, 0), abs=0.04)
    sim[0].velocity = (0.05, 0.0, 0.0)
    peak = 0.0
    while only(sim).sticking:
        sim.step()
        peak = max(peak, -friction_of(only(sim))[0][0])
    assert peak == pytest.approx(0.6 * LOAD, abs=KT * DT * 0.05)
    assert -friction_of(only(sim))[0][0] == pytest.approx(0.4 * LOAD, rel=1e-6)


def test_spring_does_not_wind_up_while_sliding() -> None:
    # after a slide of any length the way back to zero force is μ N / k, gone step by step
    for steps in (200, 2000):
        sim = slide((0.5, 0.0, 0.0))
        sim.step(steps)
        sim[0].velocity = (-0.5, 0.0, 0.0)
        passed, before = 0, -0.4 * LOAD
        while before < 0.0:
            sim.step()
            passed += 1
            after = friction_of(only(sim))[0][0]
            assert 0.0 <= after - before <= 1.01 * KT * DT * 0.5
            before = after
        assert passed * DT * 0.5 == pytest.approx(0.4 * LOAD / KT, abs=2.1 * DT * 0.5)


def test_sudden_stop_does_not_kick() -> None:
    # the damper's share of a fast slide (9 · 50 = 450 N) is far above μ N: stopped, the spring must
    # not point forwards by that much
    material = Material(0.6, 0.4, K, 0.0, KT, BT)
    sim = slide((50.0, 0.0, 0.0), material=material)
    sim.step(20)
    assert friction_of(only(sim))[0][0] == pytest.approx(-0.4 * LOAD, rel=1e-9)
    sim[0].velocity = (0.0, 0.0, 0.0)
    sim.step()
    after = friction_of(only(sim))[0][0]
    assert -0.4 * LOAD * (1.0 + 1e-9) <= after <= 1e-9
    # slower than the damper's limit, force is continuous through the stop
    sim = slide((0.2, 0.0, 0.0), material=material)
    sim.step(200)
    sim[0].velocity = (0.0, 0.0, 0.0)
    sim.step()
    assert friction_of(only(sim))[0][0] == pytest.approx(
        -0.4 * LOAD + (BT - KT * DT) * 0.2, rel=1e-3
    )


def test_no_friction_spring_means_slip_or_nothing() -> None:
    material = Material(0.6, 0.4, K, 0.0, 0.0, 0.0)
    sim = slide((1.0, 0.0, 0.0), material=material)
    sim.step(5)
    assert friction_of(only(sim))[0] == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    # a damper alone brakes up to the limit
    material = Material(0.6, 0.4, K, 0.0, 0.0, 3.0)
    for speed, expected in ((1.0, 3.0), (1000.0, 0.4 * LOAD)):
        sim = slide((speed, 0.0, 0.0), material=material)
        sim.step(5)
        assert friction_of(only(sim))[0] == pytest.approx((-expected, 0.0, 0.0), rel=1e-9)


def test_smooth_materials_have_no_friction() -> None:
    sim = slide((1.0, 2.0, 0.0), spin=3.0, material=SMOOTH)
    sim.step(3)
    force, torque = friction_of(only(sim))
    assert force == pytest.approx(np.zeros(3), abs=1e-9)
    assert torque == pytest.approx(0.0, abs=1e-9)


def test_vertex_rule_limits_force_and_torque() -> None:
    # the papers' interpolation: the same force, 0.616 of the spin torque
    method = Volume(friction="vertex")
    sim = slide((0.05, 0.0, 0.0), method=method)
    sim.step(500)
    assert friction_of(only(sim))[0] == pytest.approx((-0.4 * LOAD, 0, 0), rel=1e-9)
    sim = slide((0.0, 0.0, 0.0), spin=0.5, method=method)
    sim.step(700)
    assert not only(sim).sticking
    assert friction_of(only(sim))[1] == pytest.approx(-0.4 * LOAD * math.sqrt(2.0) / 12.0, rel=1e-9)


@pytest.mark.parametrize(("apart", "kept"), [(1, True), (2, False), (5, False)])
def test_contact_forgets_after_two_steps_apart(apart: int, kept: bool) -> None:
    # lifted out and put back to the same place after so many steps without contact
    sim = slide((0.05, 0.0, 0.0))
    sim.step(20)
    sim[0].velocity = (0.0, 0.0, 0.02 / DT)
    sim.step()
    stretched = friction_of(only(sim))[0][0]
    assert stretched == pytest.approx(-KT * 20 * DT * 0.05, rel=1e-6)
    for k in range(apart):
        sim[0].velocity = (0.0, 0.0, 0.0 if k < apart - 1 else -0.02 / DT)
        sim.step()
        assert len(sim.contacts) == 0
    sim[0].velocity = (0.0, 0.0, 0.0)
    sim.step()
    force = friction_of(only(sim))[0][0]
    assert force == pytest.approx(stretched if kept else 0.0, abs=1e-6)


# ---------------------------------------------------------------- small patches


@pytest.mark.parametrize("depth", [1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_force_of_a_corner_has_no_step(depth: float) -> None:
    # a pyramid of any size has V/S_c = depth/3; below 1e-10 of the part's size squared: a point
    tip = Convex(Cone(0.5, 1.0, facets=8).parts()[0].vertices)
    sim = on_floor(tip, (0.0, 0.0, 0.75 - depth), (0.0, 1.0, 0.0, 0.0))
    sim.step()
    row = only(sim)
    assert row.force == pytest.approx((0.0, 0.0, K * depth / 3.0), rel=1e-6)
    assert row.point[:2] == pytest.approx((0.0, 0.0), abs=0.5 * depth + 1e-12)


@pytest.mark.parametrize("depth", [1e-6, 1e-3])
def test_friction_of_a_corner(depth: float) -> None:
    tip = Convex(Cone(0.5, 1.0, facets=8).parts()[0].vertices)
    sim = on_floor(
        tip, (0.0, 0.0, 0.75 - depth), (0.0, 1.0, 0.0, 0.0), velocity=(0.01, 0.0, 0.0),
        spin=(0, 0, 1.0), material=DRY,
    )  # fmt: skip
    sim.step(500)
    row = only(sim)
    force, torque = friction_of(row)
    load = K * depth / 3.0
    assert not row.sticking
    assert np.linalg.norm(force) == pytest.approx(0.4 * load, rel=0.01)
    assert abs(torque) <= 0.4 * load * depth


def test_line_contact_turns_like_a_line() -> None:
    # a roof's ridge of length L, shallow: J_n → L²/12, torque of spin μ N L/4
    corners = [(-0.5, 0.5), (0.5, 0.5), (0.0, 0.0)]
    roof = Convex([(x, y, z) for x, z in corners for y in (-0.5, 0.5)])
    depth = 1e-4
    sim = on_floor(roof, (0.0, 0.0, -depth), spin=(0, 0, 0.5), material=DRY)
    sim.step(300)
    row = only(sim)
    load = 0.5 * K * depth
    assert row.force[2] == pytest.approx(load, rel=1e-6)
    assert not row.sticking
    assert friction_of(row)[1] == pytest.approx(-0.4 * load * 0.25, rel=1e-3)


def test_twist_of_a_growing_patch_is_cut_to_what_it_can_hold() -> None:
    # the twist of a tiny patch may be large; on a large one it would hold more than friction can
    sim = slide((0.0, 0.0, 0.0))
    sim.step(2)
    slots = rows(sim)
    sim.arrays.work.pairs.floats[slots, PF_THETA] = 3.0
    sim.step()
    row = only(sim)
    _, torque = friction_of(row)
    gyration = 0.5 / math.sqrt(6.0)
    assert abs(torque) <= 0.6 * LOAD * gyration * (1.0 + 1e-9)
    left = sim.arrays.work.pairs.floats[slots[0], PF_THETA]
    assert 0.0 < left * gyration * KT <= 0.6 * LOAD * (1.0 + 1e-9)


# ---------------------------------------------------------------- carried by the support


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_block_rides_on_a_turntable(rate: float) -> None:
    # ω² r below μ₀ g: it goes with the table; beyond: it slides off
    material = Material(0.5, 0.4, 2e5, 200.0)
    scene = Scene(gravity=(0.0, 0.0, -9.81))
    table = scene.add_body(
        Cylinder(1.0, 0.1, facets=24), fixed=True, position=(0, 0, -0.05),
        angular_velocity=(0.0, 0.0, rate), material=material,
    )  # fmt: skip
    r = 0.6
    block = scene.add_body(
        Box((0.1, 0.1, 0.05)), mass=1.0, position=(r, 0.0, 0.025), material=material,
        velocity=(0.0, rate * r, 0.0), angular_velocity=(0.0, 0.0, rate),
    )  # fmt: skip
    sim = Simulation(scene, dt=DT, integrator="explicit")
    sim.step(400)
    turn = sim[table].matrix[:3, :3]
    place = turn.T @ sim[block].position
    facing = turn.T @ sim[block].matrix[:3, :3]
    slides = rate * rate * r > 0.5 * 9.81
    if slides:
        assert np.hypot(*place[:2]) > r + 0.02
    else:
        assert place[:2] == pytest.approx((r, 0.0), abs=2e-5)
        assert facing == pytest.approx(np.eye(3), abs=1e-3)
        assert only(sim).sticking
        # what keeps it on the circle is friction: m ω² r towards the axis
        pull = turn.T @ only(sim).force
        assert pull[:2] == pytest.approx((-rate * rate * r, 0.0), abs=0.02)


@pytest.mark.parametrize("pull", [2.0, 8.0])
def test_block_goes_with_an_accelerated_support(pull: float) -> None:
    material = Material(0.5, 0.4, 2e5, 200.0)
    scene = Scene(gravity=(0.0, 0.0, -10.0))
    cart = scene.add_body(
        Box((2.0, 1.0, 0.1)), fixed=True, position=(0, 0, -0.05), material=material
    )
    block = scene.add_body(
        Box((0.1, 0.1, 0.05)), mass=1.0, position=(0, 0, 0.025), material=material
    )
    sim = Simulation(scene, dt=DT, integrator="explicit")
    sim.step(100)  # settle
    start = sim.time
    while sim.time - start < 0.2:
        sim[cart].velocity = (pull * (sim.time - start), 0.0, 0.0)
        sim.step()
    cart_speed, speed = sim[cart].velocity[0], sim[block].velocity[0]
    lag = sim[block].position[0] - sim[cart].position[0]
    if pull < 0.5 * 10.0:
        assert speed == pytest.approx(cart_speed, abs=0.02)
        assert lag == pytest.approx(0.0, abs=1e-3)
        assert only(sim).sticking
    else:  # μ g is all it gets
        assert speed == pytest.approx(0.4 * 10.0 * 0.2, rel=0.02)
        assert lag < -0.05


def test_common_motion_stretches_nothing() -> None:
    # two blocks pressed together fly and turn as one body: the friction spring goes along
    scene = Scene(gravity=(0, 0, 0))
    w = np.array([0.3, -0.4, 0.5])
    rough = Material(1e9, 1e9, K, 0.0, KT, 0.0)
    for z in (0.0, 0.19):
        at_z = np.array([0.0, 0.0, z])
        scene.add_body(
            Box((0.4, 0.3, 0.2)), mass=HEAVY, inertia=(HEAVY, HEAVY, HEAVY), position=at_z,
            velocity=np.cross(w, at_z), angular_velocity=w, material=rough,
        )  # fmt: skip
    sim = Simulation(scene, dt=DT, integrator="explicit")
    sim.step(2)
    # the two centres leave the circle at second order: hold them on it by hand
    for _ in range(300):
        turn = sim[0].matrix[:3, :3]
        sim.arrays.state.position[1] = sim.arrays.state.position[0] + turn @ (0.0, 0.0, 0.19)
        sim[1].velocity = np.cross(w, turn @ (0.0, 0.0, 0.19))
        sim.step()
    row = only(sim)
    force, torque = friction_of(row)
    assert row.force @ row.normal == pytest.approx(K * 0.01, rel=1e-3)
    assert row.normal == pytest.approx(turn[:, 2], abs=1e-6)
    assert np.linalg.norm(force) < 1e-3 * K * 0.01
    assert abs(torque) < 1e-3 * K * 0.01


# ---------------------------------------------------------------- several pieces, thin bodies


def test_cube_cut_in_two_feels_like_the_whole() -> None:
    halves = Compound(
        [Box((0.5, 1.0, 1.0)), Box((0.5, 1.0, 1.0))],
        [((-0.25, 0, 0), (1, 0, 0, 0)), ((0.25, 0, 0), (1, 0, 0, 0))],
    )
    rng = np.random.default_rng(5)
    for _ in range(10):
        q = np.array([1.0, *(rng.normal(size=3) * 0.05)])
        q /= np.linalg.norm(q)
        low = -float(at(Box((1, 1, 1)), (0, 0, 0), q).vertices[:, 2].min())
        v, w = rng.normal(size=3) * 0.05, rng.normal(size=3) * 0.05
        wrenches = []
        for shape in (Box((1.0, 1.0, 1.0)), halves):
            sim = on_floor(shape, (0, 0, low - 0.05), q, velocity=v, spin=w, material=SMOOTH)
            sim.step()
            wrenches.append(np.concatenate(sim[0].contact_wrench))
        size = float(np.linalg.norm(wrenches[0]))
        assert wrenches[1] == pytest.approx(wrenches[0], abs=5e-4 * size)
        assert size > 10.0


def test_cut_cube_on_a_plate_feels_like_the_whole() -> None:
    halves = Compound(
        [Box((0.5, 1.0, 1.0)), Box((0.5, 1.0, 1.0))],
        [((-0.25, 0, 0), (1, 0, 0, 0)), ((0.25, 0, 0), (1, 0, 0, 0))],
    )
    wrenches = []
    for shape in (Box((1.0, 1.0, 1.0)), halves):
        scene = Scene(gravity=(0, 0, 0))
        scene.add_body(Box((4.0, 4.0, 1.0)), fixed=True, material=STICKY)
        scene.add_body(
            shape, mass=HEAVY, position=(0, 0, 0.98), velocity=(0.1, 0.2, 0.0), material=STICKY,
            inertia=(HEAVY,) * 3,
        )  # fmt: skip
        sim = Simulation(scene, dt=DT, integrator="explicit")
        sim.step(10)
        wrenches.append(np.concatenate(sim[1].contact_wrench))
    size = float(np.linalg.norm(wrenches[0]))
    assert wrenches[1] == pytest.approx(wrenches[0], abs=5e-4 * size)


def test_blade_pushed_through_a_plate_feels_more_and_more() -> None:
    # 2 cm thin blade flat into a thick block: beyond its own thickness the force must go on growing
    forces = []
    for depth in (0.005, 0.01, 0.019, 0.021, 0.03, 0.05, 0.08):
        scene = Scene(gravity=(0, 0, 0))
        scene.add_body(Box((1.0, 1.0, 1.0)), fixed=True, material=SMOOTH)
        scene.add_body(
            Box((0.3, 0.3, 0.02)), mass=HEAVY, position=(0, 0, 0.51), material=SMOOTH,
        )  # fmt: skip
        sim = Simulation(scene, dt=DT, integrator="explicit")
        # enter from outside, slowly enough for the normal to be known
        speed = (depth + 1e-3) / (20 * DT)
        sim[1].position = (0.0, 0.0, 0.5 + 0.01 + 1e-3)
        sim[1].velocity = (0.0, 0.0, -speed)
        sim.step(20)
        sim[1].velocity = (0.0, 0.0, 0.0)
        sim.step()
        forces.append(float(only(sim).force[2]))
        assert forces[-1] == pytest.approx(K * depth, rel=1e-6)
    assert forces == sorted(forces)


# ---------------------------------------------------------------- leftovers must not matter


def spoil(sim: Simulation, value: float) -> None:
    """Fill what is undefined between steps."""
    work, state = sim.arrays.work, sim.arrays.state
    for array in (work.soup.xyz, work.soup.plane, work.soup.slope, work.soup.clip):
        array[:] = value
    for array in (work.world.verts, work.world.planes, state.wrench, state.applied):
        array[:] = value
    work.soup.start[:] = -(2**20)
    work.soup.owner[:] = -(2**20)


@pytest.mark.parametrize(
    "method", ["volume", Volume(algorithm="dual"), Volume(friction="vertex"), "point"]
)
def test_scratch_is_never_read_before_it_is_written(method: str | Volume) -> None:
    def run(value: float | None) -> Array:
        scene = Scene()
        scene.add_floor()
        for k, shape in enumerate((Box((0.2, 0.3, 0.1)), Cylinder(0.1, 0.1, facets=8))):
            scene.add_body(
                shape, position=(0.05 * k, 0.0, 0.049 + 0.098 * k), velocity=(0.3, 0.1, 0.0),
                angular_velocity=(0.1, 0.2, 1.0 + k),
            )  # fmt: skip
        scene.add_spring(0, anchor_b=(0.0, 0.0, 1.0), stiffness=10.0)
        sim = Simulation(scene, method=method, dt=DT, integrator="explicit")
        for _ in range(25):
            if value is not None:
                spoil(sim, value)
            sim.step()
        return np.concatenate((sim.positions.ravel(), sim.orientations.ravel()))

    clean = run(None)
    assert np.isfinite(clean).all()
    for value in (np.nan, 1e300):
        assert np.array_equal(run(value), clean)


def test_area_and_moment_helpers_agree() -> None:
    # the oracle's own footing: area and centroid of a ring by Green, by refinement
    ring = np.array([(0.0, 0.0), (2.0, 0.1), (1.5, 1.0), (0.2, 0.8)])
    sums = integrate(ring, lambda x, y: np.stack((np.ones_like(x), x, y), axis=-1))
    assert area_of(ring) == pytest.approx(sums[0], rel=1e-13)
    assert centroid(ring) == pytest.approx(sums[1:] / sums[0], rel=1e-13)
