"""The two-way query: what every contact promises, deep overlaps, floors, several bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracles.surface import signed_distance, unsigned_distance

import tangere as tg
from tangere.collision.closed_surface import bodies_of
from tangere.collision.distance_field import distance_field, sample_field
from tangere.contact.penalty.engines import FieldEngine, solid
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import ContactSet, PenaltyContact
from tangere.errors import SceneError
from tangere.geometry.shapes import Shape
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.scene.utensils import cup, spoon

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
D = 2e-3
# Fields and points coarse enough for plain Python.
COARSE = Penalty(tolerance=D, spacing=0.01, samples=200)
BLOCK = tg.Box((0.1, 0.08, 0.06))
ROOF = [(x, y, z) for x in (0.0, 0.08) for y, z in ((0.0, 0.0), (0.08, 0.0), (0.04, 0.06))]
WEDGE = tg.Convex(ROOF)


def turned(angle: float, axis: tuple[float, float, float] = (0.6, 0.0, 0.8)) -> Array:
    return np.concatenate(([np.cos(0.5 * angle)], np.sin(0.5 * angle) * np.array(axis)))


def moved(shape: Shape, position: Array, quaternion: Array) -> Array:
    vertices, _ = shape.surface()
    return np.asarray(vertices @ rotation_of(quaternion).T + position)


def check_promises(
    c: ContactSet, tool: Shape, pose: tuple[Array, Array], body: Shape, reach: float
) -> None:
    """The invariants of the interface, with exact distances to the two meshes."""
    place, quaternion = np.asarray(pose[0]), np.asarray(pose[1])
    assert np.linalg.norm(c.n, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.einsum("ij,ij->i", c.n, c.p - c.p0) == pytest.approx(c.delta, abs=1e-12)
    assert (c.delta >= -reach).all()
    assert c.r @ rotation_of(quaternion).T + place == pytest.approx(c.p, abs=1e-12)
    tool_faces, body_faces = tool.surface()[1], body.surface()[1]
    tool_vertices, body_vertices = moved(tool, place, quaternion), body.surface()[0]
    assert (unsigned_distance(c.p, tool_vertices, tool_faces) <= c.err).all()
    assert (unsigned_distance(c.p0, body_vertices, body_faces) <= c.err).all()
    # n points out of the tool: a step along it from p leaves the tool
    step = 2.0 * c.err + 1e-4  # p may be err inside, and n oblique to an edge
    assert (signed_distance(c.p + step[:, None] * c.n, tool_vertices, tool_faces) > 0.0).all()


@pytest.mark.nojit
@pytest.mark.parametrize("sink", [-1e-3, 1e-3, 6e-3])
def test_a_block_on_a_block_keeps_all_promises(sink: float) -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    pose = (np.array([-0.04, -0.04, 0.03 - sink]), np.array(UPRIGHT))
    found = contact.query(pose)
    assert len(found.delta) > 20
    assert not found.truncated
    assert found.delta.max() == pytest.approx(sink, abs=1e-6)  # flat faces are exact
    check_promises(found, WEDGE, pose, BLOCK, D)


@pytest.mark.parametrize("seed", range(4))
def test_tilted_shapes_keep_all_promises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    contact = PenaltyContact(WEDGE, [BLOCK], options=Penalty(tolerance=1e-3, samples=1500))
    quaternion = turned(rng.uniform(0, np.pi), tuple(_unit(rng)))
    vertices = moved(WEDGE, np.zeros(3), quaternion)
    lowest = vertices[np.argmin(vertices[:, 2])]
    pose = (np.array([0.01, -0.02, 0.029]) - lowest, quaternion)
    found = contact.query(pose)
    assert len(found.delta) > 0
    check_promises(found, WEDGE, pose, BLOCK, 1e-3)


def _unit(rng: np.random.Generator) -> Array:
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v))


def test_spoon_in_the_cups_handle_keeps_all_promises() -> None:
    contact = PenaltyContact(spoon(), [cup()])
    pose = (np.array([0.0662, 0.0, 0.0]), np.array([0.5, 0.5, 0.5, 0.5]))
    found = contact.query(pose)
    assert 20 < len(found.delta) < 400
    assert found.delta.max() == pytest.approx(0.0, abs=1e-3)
    check_promises(found, spoon(), pose, cup(), contact.options.tolerance)
    # Depth against the exact distances: within half a spacing for 95 % of the contacts. A contact
    # comes from a point of the tool or of the cup; the other end is where the field puts it.
    vessel, tool = cup(), spoon()
    to_cup = np.min([signed_distance(found.p, vessel.vertices, part)
                     for part in bodies_of(vessel.vertices, vessel.faces)], axis=0)  # fmt: skip
    to_spoon = signed_distance(found.p0, moved(tool, *pose), tool.faces)
    error = np.minimum(np.abs(found.delta + to_cup), np.abs(found.delta + to_spoon))
    assert isinstance(contact.engine, FieldEngine)
    assert np.percentile(error, 95) < 0.5 * contact.engine.solids.places[:, 3].min()


@pytest.mark.nojit
def test_no_point_within_reach_is_missed() -> None:
    """The tree finds what a look at every single point finds."""
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    quaternion = turned(0.3)
    pose = (np.array([-0.03, -0.03, 0.028]), quaternion)
    found = contact.query(pose)
    made, other = (
        solid(s, spacing=COARSE.spacing, tolerance=D, samples=COARSE.samples)
        for s in (WEDGE, BLOCK)
    )
    turn = rotation_of(quaternion)
    expected = 0
    for points, field, shift, r in (
        (made.samples.points, other.field, pose[0], turn),
        (other.samples.points, made.field, -turn.T @ pose[0], turn.T),
    ):
        values, gradients = sample_field(field, points[:, :3] @ r.T + shift)
        facing = -np.einsum("ij,ij->i", gradients, points[:, 3:] @ r.T)
        expected += int(np.count_nonzero((values < D) & (facing > 0.0)))
    assert len(found.delta) == expected > 5


@pytest.mark.nojit
def test_equal_input_gives_equal_output_bit_for_bit() -> None:
    runs = []
    for _ in range(2):
        contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
        found = [contact.query(((-0.04, -0.04, z), turned(0.1))) for z in (0.031, 0.029)]
        runs.append([np.concatenate([np.ravel(a) for a in f[:-1]]) for f in found])
    for a, b in zip(*runs, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.nojit
def test_the_other_sign_of_a_quaternion_is_the_same_place() -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    q = turned(0.4)
    one = contact.query(((-0.04, -0.04, 0.03), q))
    two = contact.query(((-0.04, -0.04, 0.03), -q))
    assert np.array_equal(one.p, two.p)
    assert len(one.p) > 0


@pytest.mark.nojit
def test_apart_there_are_no_contacts_and_the_look_is_short() -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    assert len(contact.query(((0.0, 0.0, 0.5), UPRIGHT)).delta) == 0
    assert contact.tally[2] == 2  # one ball of each way
    assert len(contact.update([0, 0, 0.5, *UPRIGHT, 0, 0, 0, 0, 0, 0])) == 0
    assert not contact.response.wrench.any()
    assert contact.depth == 0.0


@pytest.mark.nojit
def test_a_floor_is_an_exact_plane() -> None:
    n = np.array([0.0, 0.6, 0.8])
    contact = PenaltyContact(WEDGE, floors=[(n, 0.25)], options=COARSE)
    q = turned(0.5)
    lowest = float((moved(WEDGE, np.zeros(3), q) @ n).min())
    pose = ((0.25 - lowest - 1e-3) * n, q)
    found = contact.query(pose)
    assert found.body.tolist() == [-1.0] * len(found.body)
    assert found.n == pytest.approx(np.tile(-n, (len(found.n), 1)), abs=1e-15)
    assert found.delta.max() == pytest.approx(1e-3, abs=1e-12)  # a corner is a point
    assert found.p0 @ n == pytest.approx(0.25, abs=1e-12)
    assert (found.err == 0.0).all()


@pytest.mark.nojit
def test_poses_refer_to_the_given_frames() -> None:
    """The same place, told by frames that sit elsewhere in tool and body."""
    centre, q = np.array([0.02, 0.03, -0.01]), turned(0.7)
    home, body_turn = np.array([0.3, -0.2, 0.1]), turned(-0.4, (0.0, 1.0, 0.0))
    plain = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    pose = (np.array([-0.04, -0.04, 0.0295]), np.array(UPRIGHT))
    expected = plain.query(pose)
    framed = PenaltyContact(
        WEDGE, [BLOCK], options=COARSE, tool_frame=(centre, q), body_frames=[(home, body_turn)]
    )
    found = framed.query(
        (pose[0] + rotation_of(pose[1]) @ centre, q), body_poses=[(home, body_turn)]
    )
    assert found.p == pytest.approx(expected.p, abs=1e-12)
    assert found.r == pytest.approx((expected.r - centre) @ rotation_of(q), abs=1e-12)


@pytest.mark.nojit
def test_bodies_and_floors_at_once() -> None:
    """A block between two others, in a corner of the floor."""
    contact = PenaltyContact(
        BLOCK, [BLOCK, BLOCK], floors=[((0, 0, 1), 0.0), ((0, 1, 0), -0.04)], options=COARSE
    )
    # A little apart: of edges that coincide rounding would say whether they face each other
    places = [((0.0995, 0.0, 0.03), UPRIGHT), ((-0.1001, 0.0, 0.03), UPRIGHT)]
    found = contact.query(((0.0, 0.0, 0.03), UPRIGHT), body_poses=places)
    assert set(found.body) == {0.0, 1.0, -1.0, -2.0}
    towards = {0.0: (1, 0, 0), 1.0: (-1, 0, 0), -1.0: (0, 0, -1), -2.0: (0, -1, 0)}
    for body, n in towards.items():
        own = found.body == body
        weight = (found.delta[own] + D)[:, None]
        mean = np.sum(weight * found.n[own], axis=0) / np.sum(weight)
        assert mean / np.linalg.norm(mean) == pytest.approx(n, abs=0.05)
    assert found.delta[found.body == 0.0].max() == pytest.approx(0.5e-3, abs=1e-5)


@pytest.mark.nojit
def test_a_body_that_moves_gives_its_planes_its_surface_speed() -> None:
    contact = PenaltyContact(BLOCK, [BLOCK], options=COARSE)
    body = np.array([[0.0, 0.0, -0.0599, *UPRIGHT, 0.1, 0.2, 0.3, 0.0, 0.0, 2.0]])
    planes = contact.update([0, 0, 0, *UPRIGHT, 0, 0, 0, 0, 0, 0], body)
    assert len(planes) > 0
    for plane in planes:
        arm = plane[3:6] - body[0, :3]
        assert plane[12:15] == pytest.approx(body[0, 7:10] + np.cross([0, 0, 2.0], arm), abs=1e-12)


@pytest.mark.nojit
def test_pushed_through_a_thin_plate_the_normals_stay() -> None:
    """A plate of 20 mm: past its middle the nearest surface is the far one. Contacts that have
    come in from above still point down, and their depth is the way back up."""
    plate = tg.Box((0.2, 0.2, 0.02))
    options = Penalty(tolerance=D, spacing=0.005, samples=300)
    probe = tg.Box((0.06, 0.06, 0.06))
    contact = PenaltyContact(probe, [plate], options=options)
    for sink in np.arange(0.0, 0.0175, 5e-4):
        found = contact.query(((0.0, 0.0, 0.04 - sink), UPRIGHT))
        below = np.abs(found.p[:, :2]).max(axis=1) < 0.015  # off the probe's edges
        assert (found.n[below, 2] < -0.9).all()
        assert found.delta[below].max() == pytest.approx(sink, abs=1e-4)
        of_probe = below & (np.abs(found.p[:, 2] - 0.01 + sink) < 1e-9)
        assert of_probe.sum() > 3
        assert found.delta[of_probe].min() > sink - 1e-4
    contact.forget()
    fresh = contact.query(((0.0, 0.0, 0.04 - 0.017), UPRIGHT))
    from_tool = np.abs(fresh.p[:, 2] + 0.007) < 1e-9
    assert (fresh.n[from_tool & (np.abs(fresh.p[:, :2]).max(axis=1) < 0.02), 2] > 0.9).sum() == 0


@pytest.mark.nojit
def test_a_small_budget_gives_fewer_contacts_and_says_so() -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    pose = ((-0.04, -0.04, 0.029), UPRIGHT)
    whole, part = contact.query(pose), contact.query(pose, budget=40)
    assert not whole.truncated
    assert part.truncated
    assert 0 < len(part.delta) < len(whole.delta)


@pytest.mark.nojit
def test_more_contacts_than_room_are_left_out_and_told() -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    contact.rows = contact.rows[:10].copy()
    found = contact.query(((-0.04, -0.04, 0.029), UPRIGHT))
    assert len(found.delta) == 10
    assert found.truncated


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stiffness": 0.0}, "Penalty stiffness: must be positive"),
        ({"tolerance": -1.0}, "Penalty tolerance: must be positive"),
        ({"clusters": 17}, "Penalty clusters: out of range, got 17"),
        ({"damping": -1.0}, "Penalty damping: must not be negative"),
        ({"blend": float("nan")}, "Penalty blend: must be finite"),
        ({"sharing": "all"}, "Penalty sharing: unknown 'all'"),
        ({"spacing": 0.0}, "Penalty spacing: must be positive"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Penalty(**options)  # type: ignore[arg-type]


@pytest.mark.nojit
def test_a_pose_that_is_no_number_is_told_and_does_no_harm() -> None:
    contact = PenaltyContact(WEDGE, [BLOCK], options=COARSE)
    with pytest.raises(SceneError, match="of the tool is not finite"):
        contact.query(((float("nan"), 0, 0), UPRIGHT))
    good = [-0.04, -0.04, 0.029, *UPRIGHT, 0, 0, 0, 0, 0, 0]
    with pytest.raises(SceneError, match="of body 0 is not finite"):
        contact.update(good, [[0, 0, 0, *UPRIGHT, float("inf"), 0, 0, 0, 0, 0]])
    assert len(contact.update(good, [[0, 0, 0, *UPRIGHT, 0, 0, 0, 0, 0, 0]])) > 0


@pytest.mark.nojit
def test_frames_must_match_bodies() -> None:
    with pytest.raises(SceneError, match="2 for 1 bodies"):
        PenaltyContact(WEDGE, [BLOCK], options=COARSE, body_frames=[None, None])


@pytest.mark.nojit
def test_equal_shapes_share_one_field() -> None:
    contact = PenaltyContact(BLOCK, [tg.Box((0.1, 0.08, 0.06)), WEDGE], options=COARSE)
    assert contact.placed.solid_of.tolist() == [0, 0, 1]
    field = distance_field(*BLOCK.surface(), spacing=COARSE.spacing, tolerance=D)
    assert isinstance(contact.engine, FieldEngine)
    kept = contact.engine.solids.values[: field.values.size]
    assert np.array_equal(kept, field.values.ravel())


@pytest.mark.nojit
@pytest.mark.parametrize("engine", ["sdf", "exact", "levels"])
def test_every_engine_keeps_the_promises(engine: Any) -> None:
    """|n| = 1, δ = n·(p − p0) ≥ −d, and r is p in the tool's frame."""
    options = replace(COARSE, engine=engine)
    contact = PenaltyContact(WEDGE, [BLOCK], [((0, 0, 1), -0.03)], options=options)
    pose = (np.array([-0.03, -0.03, 0.028]), turned(0.3))
    found = contact.query(pose)
    assert len(found.delta) > 0
    assert np.linalg.norm(found.n, axis=1) == pytest.approx(1.0)
    along = np.einsum("ij,ij->i", found.n, found.p - found.p0)
    assert along == pytest.approx(found.delta, abs=1e-12)
    assert found.delta.min() >= -D
    world = found.r @ rotation_of(pose[1]).T + pose[0]
    assert world == pytest.approx(found.p, abs=1e-12)
