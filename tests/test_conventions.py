"""docs/conventions.md, executable: signs, frames, units, order of quaternions, who pushes whom."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import tangere as tg
from tangere.fem.grids import box_grid
from tangere.maths.quat import product
from tangere.maths.vec import basis, cross

pytestmark = pytest.mark.nojit

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
G = 9.81
# A block at its depth of rest carries its weight to this share from the first step on.
AT_REST = 1e-9
# Spring ends are computed from rotated anchors: a few roundings.
ROUNDING = 1e-12


def turn_z(angle: float) -> tuple[float, float, float, float]:
    return cos(0.5 * angle), 0.0, 0.0, sin(0.5 * angle)


def firm(k: float = 1e4, b: float = 20.0) -> tg.Material:
    return tg.Material(0.6, 0.5, stiffness=k, damping=b)


def resting_block(mass: float = 2.0) -> tuple[tg.Simulation, tg.Scene]:
    """A block on the floor, already at the depth m g/k at which the spring carries it."""
    scene = tg.Scene()
    scene.add_floor(material=firm())
    depth = mass * G / 1e4
    scene.add_body(
        tg.Box((0.2, 0.2, 0.2)), mass=mass, position=(0, 0, 0.1 - depth), material=firm()
    )
    return tg.Simulation(scene), scene


def test_gravity_points_down_in_metres_per_second_squared() -> None:
    assert tg.Scene().gravity.tolist() == [0.0, 0.0, -G]
    scene = tg.Scene()
    ball = scene.add_body(tg.Sphere(0.1), position=(0, 0, 10))
    sim = tg.Simulation(scene, dt=1e-2)
    sim.step(10)
    assert sim[ball].velocity == pytest.approx([0, 0, -G * 0.1], rel=1e-12)
    assert sim.time == pytest.approx(0.1, rel=1e-12)


def test_quaternions_are_w_first_and_turn_shape_into_world() -> None:
    """A quarter turn about z brings the shape's x axis to the world's y axis."""
    scene = tg.Scene(gravity=(0, 0, 0))
    body = scene.add_body(tg.Box((2, 1, 1)), orientation=turn_z(0.5 * pi))
    sim = tg.Simulation(scene)
    assert sim[body].matrix[:3, :3] @ [1, 0, 0] == pytest.approx([0, 1, 0], abs=ROUNDING)
    assert sim[body].orientation == pytest.approx([sqrt(0.5), 0, 0, sqrt(0.5)], rel=ROUNDING)
    wall = tg.Box((1, 1, 1))
    gap = tg.distance(tg.Box((2, 1, 1)), ((0, 0, 0), turn_z(0.5 * pi)), wall, ((0, 2, 0), UPRIGHT))
    assert gap.distance == pytest.approx(0.5, rel=ROUNDING)


def test_quaternion_product_is_hamiltons() -> None:
    i, j, k = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    assert product(i, j) == k
    assert product(j, k) == i


def test_angular_velocity_is_in_world_axes() -> None:
    """Spin about the world's z turns the attitude about it, whatever the body's own axes."""
    scene = tg.Scene(gravity=(0, 0, 0))
    lying = (sqrt(0.5), sqrt(0.5), 0.0, 0.0)  # the shape's y axis points up
    body = scene.add_body(
        tg.Cylinder(0.1, 0.5, facets=8), orientation=lying, angular_velocity=(0, 0, 1)
    )
    sim = tg.Simulation(scene, dt=1e-3)
    before = sim[body].matrix[:3, :3]
    sim.step(100)
    turned = sim[body].matrix[:3, :3] @ before.T
    angle = np.arctan2(turned[1, 0], turned[0, 0])
    assert turned[2] == pytest.approx([0, 0, 1], abs=1e-9)
    # each step turns by 2 atan(dt w/2): short of dt w by (dt w)³/12
    assert angle == pytest.approx(0.1, rel=1e-6)


def test_pose_is_of_the_shape_frame_and_velocity_of_the_centre() -> None:
    """A compound whose centre of mass is not its origin."""
    heavy = tg.Compound([tg.Box((1, 1, 1))], [((2, 0, 0), UPRIGHT)])
    scene = tg.Scene(gravity=(0, 0, 0))
    body = scene.add_body(heavy, position=(10, 0, 0), angular_velocity=(0, 0, 1))
    sim = tg.Simulation(scene)
    assert sim[body].position == pytest.approx([10, 0, 0])
    assert sim[body].centre == pytest.approx([12, 0, 0])
    sim.step(100)
    # the centre stays, the origin of the shape circles around it
    assert sim[body].centre == pytest.approx([12, 0, 0], abs=ROUNDING)
    assert sim[body].position == pytest.approx([12 - 2 * cos(0.1), -2 * sin(0.1), 0], rel=1e-6)


def test_contact_normal_points_from_a_to_b_and_the_wrench_acts_on_b() -> None:
    sim, _ = resting_block()
    sim.step()
    (row,) = sim.contacts
    assert row["body_a"] == -1  # the first floor
    assert row["body_b"] == 0
    assert row["normal"] == pytest.approx([0, 0, 1], abs=ROUNDING)
    assert row["force"] == pytest.approx([0, 0, 2 * G], rel=AT_REST, abs=1e-9)
    assert row["depth"] == pytest.approx(2 * G / 1e4, rel=AT_REST)
    assert row["area"] == pytest.approx(0.04, rel=1e-9)


def test_of_two_bodies_a_has_the_lower_index_wherever_it_stands() -> None:
    """Without gravity two overlapping blocks push each other apart along the normal."""
    for above in (0, 1):
        scene = tg.Scene(gravity=(0, 0, 0))
        for i in range(2):
            z = 0.199 if i == above else 0.0
            scene.add_body(tg.Box((0.2,) * 3), mass=1.0, position=(0, 0, z), material=firm())
        sim = tg.Simulation(scene)
        sim.step()
        (row,) = sim.contacts
        assert (row["body_a"], row["body_b"]) == (0, 1)
        up = 1.0 if above == 1 else -1.0
        assert row["normal"] == pytest.approx([0, 0, up], abs=1e-9)
        assert row["force"][2] * up > 0.0
        f_a, f_b = sim[0].contact_wrench[0], sim[1].contact_wrench[0]
        assert f_b == pytest.approx(row["force"], rel=ROUNDING)
        assert f_a == pytest.approx(-f_b, rel=ROUNDING)


def test_contact_torque_is_about_the_point_and_the_wrench_about_the_centre() -> None:
    """A block put down off its depth leans: wrench torque = torque + (point - centre) × force."""
    scene = tg.Scene()
    scene.add_floor(material=firm())
    body = scene.add_body(
        tg.Box((0.2, 0.2, 0.2)),
        mass=2.0,
        position=(0.3, 0.1, 0.099),
        orientation=(cos(0.01), sin(0.01), 0.0, 0.0),
        velocity=(0.1, 0, 0),
        material=firm(),
    )
    sim = tg.Simulation(scene)
    centre = sim[body].centre
    sim.step()
    (row,) = sim.contacts
    force, torque = sim[body].contact_wrench
    arm = row["point"] - centre
    assert force == pytest.approx(row["force"], rel=ROUNDING)
    assert torque == pytest.approx(row["torque"] + np.cross(arm, row["force"]), rel=1e-9)
    assert row["force"][0] < 0.0  # friction acts against the slide


def test_distance_is_positive_apart_and_negative_inside() -> None:
    cube = tg.Box((1, 1, 1))
    for x in (1.5, 0.75):
        d = tg.distance(cube, ((0, 0, 0), UPRIGHT), cube, ((x, 0, 0), UPRIGHT))
        assert d.distance == pytest.approx(x - 1.0, rel=1e-9)
        assert d.normal == pytest.approx([1, 0, 0], abs=1e-9)
        assert d.point_b - d.point_a == pytest.approx(d.distance * d.normal, abs=1e-9)


def test_soft_bodies_keep_the_order_of_a_pair() -> None:
    """A soft block between the floor and a rigid block that was added first."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=0.5, position=(0, 0, 0.1501))
    mesh = box_grid((0.1, 0.1, 0.1), (1, 1, 1))
    soft = scene.add_soft_body(
        mesh, young=1e6, poisson=0.3, order=1, modes=0, position=(0, 0, 0.05)
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(100)
    on_floor = sim.contacts[sim.contacts["body_a"] == -1]
    assert (on_floor["body_b"] == soft.index).all()
    assert (on_floor["normal"][:, 2] > 0.99).all()
    assert on_floor["force"][:, 2].sum() == pytest.approx((soft.mass + 0.5) * G, rel=1e-2)
    between = sim.contacts[sim.contacts["body_a"] == 0]
    assert (between["body_b"] == soft.index).all()
    assert (between["normal"][:, 2] < -0.99).all()
    assert between["force"][:, 2].sum() == pytest.approx(-0.5 * G, rel=1e-2)


def test_contact_volume_has_the_normal_from_a_to_b() -> None:
    cube = tg.Box((1, 1, 1))
    v = tg.contact_volume(cube, ((0, 0, 0), UPRIGHT), cube, ((0, 0, -0.9), UPRIGHT))
    assert v.normal == pytest.approx([0, 0, -1], abs=1e-9)
    assert v.volume == pytest.approx(0.1, rel=1e-9)
    assert v.area == pytest.approx(1.0, rel=1e-9)


def test_floors_count_down_from_minus_one() -> None:
    scene = tg.Scene(gravity=(-G, 0, 0))
    scene.add_floor()
    scene.add_floor(normal=(1, 0, 0))
    scene.add_body(tg.Box((0.2, 0.2, 0.2)), position=(0.0999, 0, 1))
    sim = tg.Simulation(scene)
    sim.step()
    (row,) = sim.contacts
    assert row["body_a"] == -2
    assert row["normal"] == pytest.approx([1, 0, 0], abs=ROUNDING)


def test_spring_force_acts_on_body_a_and_anchors_are_in_shape_frames() -> None:
    """The end on a, at (0, 0.1, 0) after a quarter turn, is pulled to the world point."""
    scene = tg.Scene(gravity=(0, 0, 0))
    body = scene.add_body(tg.Box((0.2, 0.2, 0.2)), mass=1.0, orientation=turn_z(0.5 * pi))
    scene.add_spring(body, anchor_a=(0.1, 0, 0), anchor_b=(1, 0.1, 0), stiffness=10.0)
    sim = tg.Simulation(scene, dt=1e-3, integrator="explicit")  # forces of the start of the step
    sim.step()
    assert sim.spring_forces == pytest.approx(np.array([[10.0, 0, 0]]), abs=1e-9)
    assert sim[body].velocity == pytest.approx([0.01, 0, 0], abs=1e-9)
    # an end above the centre pulled to +x turns the body about -z
    assert sim[body].angular_velocity[2] < 0.0


def test_energy_of_weight_is_zero_at_the_origin() -> None:
    scene = tg.Scene()
    scene.add_body(tg.Sphere(0.1), mass=3.0, position=(5, 5, 2), velocity=(1, 0, 0))
    energy = tg.Simulation(scene).energy
    assert energy.potential == pytest.approx(3 * G * 2, rel=ROUNDING)
    assert energy.kinetic == pytest.approx(1.5, rel=ROUNDING)
    assert energy.total == pytest.approx(energy.kinetic + energy.potential, rel=ROUNDING)


def test_inertia_is_about_the_centre_in_shape_axes() -> None:
    scene = tg.Scene()
    rod = scene.add_body(tg.Box((1, 0.1, 0.1)), mass=12.0, orientation=turn_z(0.5 * pi))
    assert rod.inertia == pytest.approx(np.diag([0.02, 1.01, 1.01]), rel=1e-12)
    spun = tg.Simulation(scene)
    spun[rod].angular_velocity = (0, 1, 0)  # the world's y is the rod's own axis now
    assert spun[rod].angular_momentum == pytest.approx([0, 0.02, 0], abs=ROUNDING)


def test_axis_of_round_shapes_is_z_and_the_cone_points_up() -> None:
    for shape, low, high in (
        (tg.Cylinder(0.1, 1.0), -0.5, 0.5),
        (tg.Capsule(0.1, 1.0), -0.6, 0.6),
        (tg.Cone(0.1, 1.0), -0.25, 0.75),
    ):
        vertices, _ = shape.surface()
        assert vertices[:, 2].min() == pytest.approx(low, rel=ROUNDING)
        assert vertices[:, 2].max() == pytest.approx(high, rel=ROUNDING)
        assert shape.moments().centre == pytest.approx([0, 0, 0], abs=ROUNDING)
    top = tg.Cone(0.1, 1.0).surface()[0]
    assert np.count_nonzero(top[:, 2] > 0.7) == 1


def test_friction_of_a_pair_is_the_geometric_mean() -> None:
    """A sliding block feels sqrt(0.9 · 0.4) of its weight."""
    scene = tg.Scene()
    scene.add_floor(material=tg.Material(0.9, 0.9, stiffness=1e4, damping=0.0))
    body = scene.add_body(
        tg.Box((0.2, 0.2, 0.02)),
        mass=1.0,
        position=(0, 0, 0.01 - G / 1e4),
        velocity=(1, 0, 0),
        material=tg.Material(0.4, 0.4, stiffness=1e4, damping=0.0),
    )
    sim = tg.Simulation(scene, integrator="explicit")  # whose friction does not lag
    sim.step(10)
    (row,) = sim.contacts
    assert not row["sticking"]
    assert row["force"][0] == pytest.approx(-0.6 * row["force"][2], rel=1e-9)
    assert sim[body].velocity[0] > 0.9  # still sliding


def test_plane_basis_is_right_handed() -> None:
    n = (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
    t1, t2 = basis(n)
    assert cross(t1, t2) == pytest.approx(n, rel=ROUNDING)


def test_mesh_triangles_are_counter_clockwise_from_outside() -> None:
    vertices, triangles = tg.Box((1, 1, 1)).surface()
    assert tg.Mesh(vertices, triangles).moments().volume == pytest.approx(1.0, rel=ROUNDING)
    with pytest.raises(tg.SceneError, match=r"outside|outward|inver"):
        tg.Mesh(vertices, triangles[:, ::-1])
