"""From words to arrays: principal frames, poses that come back, hulls stored once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from strategies import poses, quaternions, vectors

import tangere.scene.compile as compiler
from tangere.errors import SceneError
from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, HULL
from tangere.geometry.shapes import Box, Capsule, Compound, Cone, Convex, Cylinder, Sphere
from tangere.maths.rotations import quat_product, quaternion_of, rotation_of
from tangere.model import SP_RATE
from tangere.scene.compile import compile_scene
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
Pose = tuple[Array, Array]


def lopsided() -> Compound:
    """Centre of mass off the origin, principal axes off the shape's axes."""
    return Compound(
        [Box((0.3, 0.2, 0.1)), Box((0.1, 0.1, 0.4))],
        [((0.1, 0.0, 0.05), (1, 0, 0, 0)), ((0.3, 0.1, 0.2), (1, 0.2, 0.1, 0))],
    )


@settings(max_examples=50)
@given(poses(3.0), vectors(2.0), vectors(2.0))
def test_poses_and_motion_come_back(pose: Pose, v: Array, w: Array) -> None:
    scene = Scene()
    for shape in (lopsided(), Cone(0.1, 0.3), Box((0.1, 0.2, 0.3))):
        scene.add_body(shape, position=pose[0], orientation=pose[1], velocity=v, angular_velocity=w)
    sim = Simulation(scene)
    for body in scene.bodies:
        state = sim[body]
        assert state.position == pytest.approx(pose[0], abs=1e-13)
        assert rotation_of(state.orientation) == pytest.approx(rotation_of(pose[1]), abs=1e-14)
        assert state.velocity == pytest.approx(v, abs=0)
        assert state.angular_velocity == pytest.approx(w, abs=0)
        # centre of mass and angular momentum from the scene's own tensor
        r = rotation_of(pose[1])
        assert state.centre == pytest.approx(pose[0] + r @ body.centre, abs=1e-13)
        momentum = r @ body.inertia @ r.T @ w
        assert state.angular_momentum == pytest.approx(momentum, abs=1e-11)


def test_principal_frame_is_diagonal_and_proper() -> None:
    scene = Scene()
    body = scene.add_body(lopsided())
    c = compile_scene(scene)
    axes = rotation_of(c.principal[0])
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes @ np.diag(c.model.inertia[0]) @ axes.T == pytest.approx(body.inertia, rel=1e-10)
    assert c.model.inv_inertia[0] * c.model.inertia[0] == pytest.approx(np.ones(3))
    assert c.model.inv_mass[0] * c.model.mass[0] == pytest.approx(1.0)
    # hull vertices in that frame come back to the shape's
    for part, piece in enumerate(body.shape.parts()):
        hull = c.model.part_hull[part]
        verts = c.hulls.verts[c.hulls.vert_start[hull] : c.hulls.vert_start[hull + 1]]
        assert verts @ axes.T + c.centre[0] == pytest.approx(piece.vertices, abs=1e-14)
        planes = c.hulls.planes[c.hulls.face_start[hull] : c.hulls.face_start[hull + 1]]
        assert (verts @ planes[:, :3].T - planes[:, 3]).max() < 1e-14


@settings(max_examples=30)
@given(quaternions(), st.floats(0.2, 3.0), st.floats(0.2, 3.0), st.floats(0.05, 0.95))
def test_given_inertia_turns_the_body(q: Array, a: float, b: float, share: float) -> None:
    c = abs(a - b) + share * (a + b - abs(a - b))
    tensor = rotation_of(q) @ np.diag([a, b, c]) @ rotation_of(q).T
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(Sphere(0.1), mass=1.0, inertia=tensor, angular_velocity=(0.3, 0.2, 0.1))
    sim = Simulation(scene)
    assert sim[0].angular_momentum == pytest.approx(tensor @ (0.3, 0.2, 0.1), rel=1e-9)
    assert rotation_of(sim[0].orientation) == pytest.approx(np.eye(3), abs=1e-13)


def test_own_axes_are_kept_where_they_are_principal() -> None:
    scene = Scene()
    scene.add_body(Box((0.3, 0.2, 0.1)), orientation=(1, 2, 3, 4))
    scene.add_body(Cylinder(0.1, 0.5))
    c = compile_scene(scene)
    assert c.principal.tolist() == [[1.0, 0.0, 0.0, 0.0]] * 2


def test_fixed_bodies_have_no_mass_and_floors_follow() -> None:
    scene = Scene()
    scene.add_floor(height=2.0, normal=(0, 1, 0))
    scene.add_body(lopsided(), fixed=True, position=(1, 2, 3), angular_velocity=(0, 0, 1))
    scene.add_floor()
    c = compile_scene(scene)
    assert c.sizes.bodies == 1
    assert c.sizes.floors == 2
    assert c.model.inv_mass.tolist() == [0.0, 0.0, 0.0]
    assert c.model.inv_inertia.tolist() == [[0.0] * 3] * 3
    assert c.model.floor_plane.tolist() == [[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]]
    # a fixed body turns about its shape's origin
    assert c.state.position[0].tolist() == [1.0, 2.0, 3.0]
    assert c.state.momentum[0].tolist() == [0.0, 0.0, 0.0]


def test_materials_are_listed_once_and_missing_numbers_marked() -> None:
    scene = Scene()
    steel = Material(0.3, 0.2, stiffness=1e6)
    scene.add_floor(material=steel)
    for material in (None, steel, Material(0.3, 0.2, stiffness=1e6)):
        scene.add_body(Sphere(0.1), material=material)
    c = compile_scene(scene)
    assert c.model.material.tolist() == [0, 1, 1, 1]
    assert c.model.materials[1, :3].tolist() == [0.3, 0.2, 1e6]
    assert np.isnan(c.model.materials[1, 3:]).all()
    assert np.isnan(c.model.materials[0, 2:]).all()


def test_equal_hulls_are_stored_once() -> None:
    scene = Scene()
    for k in range(4):
        scene.add_body(Box((0.1, 0.2, 0.3)), position=(k, 0, 0), mass=1.0 + k)
    scene.add_body(Box((0.1, 0.2, 0.31)))
    c = compile_scene(scene)
    assert c.model.part_hull.tolist() == [0, 0, 0, 0, 1]
    assert c.hulls.vert_start.tolist() == [0, 8, 16]


def test_equal_facets_of_different_solids_are_different_hulls() -> None:
    drawn = Cylinder(0.1, 0.3)
    scene = Scene()
    for shape in (drawn, Convex(drawn.parts()[0].vertices), drawn, Cylinder(0.1, 0.3)):
        scene.add_body(shape)
    hull = compile_scene(scene).model.part_hull
    assert hull[0] == hull[2] == hull[3]
    assert hull[0] != hull[1]


def test_curved_hulls_are_known_by_their_ideal_solid() -> None:
    scene = Scene()
    shapes = (Sphere(0.1), Capsule(0.1, 0.3), Cylinder(0.1, 0.3), Cone(0.1, 0.3), Box((1, 1, 1)))
    for shape in shapes:
        scene.add_body(shape)
    c = compile_scene(scene)
    h = c.hulls
    assert h.curve[:, 0].tolist() == [BALL, CAPSULE, CYLINDER, CONE, HULL]
    assert h.size[:4] == pytest.approx([0.2, 0.2, 0.2, 0.2])
    assert h.box[0] == pytest.approx([0, 0, 0, 0.1, 0.1, 0.1])  # not of the facets
    assert h.box[1] == pytest.approx([0, 0, 0, 0.1, 0.1, 0.25])
    assert h.box[2] == pytest.approx([0, 0, 0, 0.1, 0.1, 0.15])
    assert h.box[3] == pytest.approx([0, 0, 0.075, 0.1, 0.1, 0.15])
    disc = np.pi * 0.01
    assert c.model.face_area[:4] == pytest.approx([disc, 0.06, 0.06, max(disc, 0.03)])
    assert c.model.face_area[4] == pytest.approx(1.0)


def test_curves_move_to_the_principal_frame() -> None:
    shape = Compound(
        [Box((0.3, 0.2, 0.1)), Cylinder(0.05, 0.4), Sphere(0.1)],
        [
            ((0.1, 0.0, 0.05), (1, 0, 0, 0)),
            ((0.3, 0.1, 0.2), (1, 0.2, 0.1, 0)),
            ((-0.2, 0.1, 0), (1, 0, 0, 0)),
        ],
    )
    scene = Scene()
    body = scene.add_body(shape)
    c = compile_scene(scene)
    axes = rotation_of(c.principal[0])
    for row, curve in zip(c.hulls.curve, shape.curves(), strict=True):
        if curve is None:
            assert row[0] == HULL
            continue
        assert axes @ row[3:6] == pytest.approx(curve.axis, abs=1e-13)
        assert axes @ row[6:9] + body.centre == pytest.approx(curve.centre, abs=1e-13)


def test_hull_measures() -> None:
    scene = Scene()
    scene.add_floor()
    scene.add_body(Convex([(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 3)]), fixed=True)
    ends = [((x, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)) for x in (-0.5, 0.5)]
    scene.add_body(Compound([Box((0.4, 0.3, 0.2))] * 2, ends))
    c = compile_scene(scene)
    assert c.hulls.box[0] == pytest.approx((1.0, 0.5, 1.5, 1.0, 0.5, 1.5))
    assert c.hulls.size[0] == pytest.approx(1.0)
    # faces 1, 1.5, 3 and the slanted one √(1² + 1.5² + 3²)
    assert c.model.face_area[0] == pytest.approx(np.sqrt(1.0 + 2.25 + 9.0))
    # of several pieces that of the box around them, of a floor without bound
    assert c.model.face_area[1] == pytest.approx(1.4 * 0.3)
    assert c.model.face_area[2] == np.inf


def test_models_cannot_be_written() -> None:
    scene = Scene()
    scene.add_floor()
    scene.add_body(Box((1, 1, 1)))
    c = compile_scene(scene)
    for array in (*c.model, *c.hulls):
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        c.model.mass[0] = 2.0


def test_spring_anchors_move_to_the_principal_frame() -> None:
    scene = Scene()
    a = scene.add_body(lopsided(), position=(1, 0, 0), orientation=(1, 1, 0, 0))
    b = scene.add_body(Cone(0.1, 0.2))
    scene.add_spring(a, b, anchor_a=(0.1, 0.2, 0.3), anchor_b=(0.0, 0.1, 0.0), stiffness=7.0)
    scene.add_spring(a, anchor_b=(4, 5, 6), stiffness=1.0, damping=2.0, velocity=(1, 2, 3))
    c = compile_scene(scene)
    state = c.state
    ends = [
        state.position[i] + state.rotation[i].reshape(3, 3) @ c.state.springs[0, k : k + 3]
        for i, k in ((0, 0), (1, 3))
    ]
    sim = Simulation(scene)
    assert ends[0] == pytest.approx((sim[a].matrix @ (0.1, 0.2, 0.3, 1.0))[:3], abs=1e-14)
    assert ends[1] == pytest.approx((sim[b].matrix @ (0.0, 0.1, 0.0, 1.0))[:3], abs=1e-14)
    assert c.model.spring_bodies.tolist() == [[0, 1], [0, -1]]
    assert c.state.springs[1, 3:12].tolist() == [4, 5, 6, 1, 2, 0, 1, 2, 3]


def test_springs_swing_no_faster_than_their_rate() -> None:
    # oracle: the largest eigenvalue of M⁻¹ K; springs of rest length 0 pull in all directions
    rng = np.random.default_rng(5)
    for _ in range(20):
        scene = Scene()
        for _ in range(5):
            scene.add_body(lopsided(), mass=float(np.exp(rng.uniform(-3, 3))))
        fixed = scene.add_body(Box((1, 1, 1)), fixed=True)
        for _ in range(7):
            a, b = (int(i) for i in rng.choice(5, 2, replace=False))
            scene.add_spring(
                a, (b, None, fixed)[int(rng.integers(3))], anchor_a=rng.normal(size=3),
                anchor_b=rng.normal(size=3), stiffness=float(np.exp(rng.uniform(-3, 3))),
            )  # fmt: skip
        compiled = compile_scene(scene)
        m, springs = compiled.model, compiled.state.springs
        stiffness = np.zeros((30, 30))
        for (a, b), row in zip(m.spring_bodies, springs, strict=True):
            jacobian = np.zeros((3, 30))
            for i, arm, sign in ((a, row[0:3], 1.0), (b, row[3:6], -1.0)):
                if i >= 0 and m.inv_mass[i] > 0.0:
                    x, y, z = arm
                    turn = np.array([(0, z, -y), (-z, 0, x), (y, -x, 0)])
                    jacobian[:, 6 * i : 6 * i + 6] = sign * np.hstack((np.eye(3), turn))
            stiffness += row[6] * jacobian.T @ jacobian
        inverse = np.hstack((np.tile(m.inv_mass[:5, None], 3), m.inv_inertia[:5])).ravel()
        fastest = float(np.abs(np.linalg.eigvals(inverse[:, None] * stiffness)).max())
        assert springs[:, SP_RATE].max() >= fastest * (1.0 - 1e-12)
        assert springs[:, SP_RATE].max() <= 20.0 * fastest  # and it is no idle bound


def test_rate_of_a_single_spring_is_exact() -> None:
    scene = Scene()
    scene.add_body(Sphere(0.1), mass=2.0)
    scene.add_body(Sphere(0.1), mass=2.0, position=(1, 0, 0))
    scene.add_body(Sphere(0.1), mass=4.0, position=(2, 0, 0))
    scene.add_spring(0, 1, stiffness=6.0)
    scene.add_spring(2, stiffness=8.0)
    # two equal bodies: 2 k/m; one on the world: k/m
    assert compile_scene(scene).state.springs[:, 12] == pytest.approx([6.0, 2.0], rel=1e-12)


def test_too_many_pieces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MAX_PARTS", 3)
    scene = Scene()
    for _ in range(3):
        scene.add_body(Box((1, 1, 1)))
    with pytest.raises(SceneError, match="scene has 3 convex pieces; at most 2"):
        compile_scene(scene)


# ---------------------------------------------------------------- small helpers


@given(quaternions(), quaternions())
def test_quaternions_and_matrices(a: Array, b: Array) -> None:
    ra, rb = (np.asarray(Rotation.from_quat(q, scalar_first=True).as_matrix()) for q in (a, b))
    assert rotation_of(a) == pytest.approx(ra, abs=1e-14)
    assert rotation_of(quat_product(a, b)) == pytest.approx(ra @ rb, abs=1e-14)
    q = quaternion_of(ra)
    assert q[0] >= 0.0
    assert min(np.abs(q - a).max(), np.abs(q + a).max()) < 1e-12


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_half_turns_have_a_quaternion(axis: int) -> None:
    m = -np.eye(3)
    m[axis, axis] = 1.0
    assert rotation_of(quaternion_of(m)) == pytest.approx(m, abs=1e-14)


def test_products_of_many() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 4)), rng.normal(size=4)
    assert quat_product(a, b) == pytest.approx(np.stack([quat_product(x, b) for x in a]))
