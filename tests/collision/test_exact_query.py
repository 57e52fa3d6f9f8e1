"""Exact contacts of meshes: against brute force, Coal and closed forms; their promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collision.meshes import ball, box
from collision.test_proximity import coal_distance, coal_model
from oracles.surface import signed_distance, unsigned_distance

import tangere as tg
from tangere.collision import exact_query
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_AREA,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_LOCAL,
    CONTACT_NAME,
    CONTACT_NORMAL,
    CONTACT_POINT,
    COUNT,
    NCONTACT,
    NPOSE,
    NTALLY,
    TRUNCATED,
    VISITED,
    Placed,
)
from tangere.collision.triangle_trees import build_triangles, closest_signed_distance
from tangere.errors import SceneError
from tangere.maths.rotations import quat_product, rotation_of
from tangere.maths.vec import Array, LongArray
from tangere.scene.utensils import cup, spoon

Mesh = tuple[Any, Any]
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
EVERYTHING = 10**9
ROOF = [(x, y, z) for x in (-0.05, 0.05) for y, z in ((-0.03, 0.0), (0.03, 0.0), (0.0, 0.03))]
WEDGE: Mesh = tg.Convex(ROOF).surface()  # its ridge lies along x, 30 mm above its base
NEEDLE = 1e-12


def unit(rng: np.random.Generator, n: int = 4) -> Array:
    v = rng.normal(size=n)
    return np.asarray(v / np.linalg.norm(v))


def turned(angle: float, axis: tuple[float, float, float]) -> Array:
    return np.concatenate(([np.cos(0.5 * angle)], np.sin(0.5 * angle) * np.array(axis)))


def placed_at(poses: list[tuple[Any, Any]], floors: Any = ()) -> Placed:
    """Shapes 0, 1, … as bodies, each in a frame of its own."""
    n = len(poses)
    rows = np.zeros((n, NPOSE))
    for row, (position, quaternion) in zip(rows, poses, strict=True):
        row[:3], row[3:7] = position, quaternion
    turns = np.zeros((n + 1, 12))
    turns[-1, :9] = np.eye(3).ravel()
    return Placed(
        np.arange(n),
        np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (n, 1)),
        rows,
        turns,
        np.array(floors, dtype=float).reshape(-1, 4),
        np.ones((n, 2)),
        np.zeros((0, 5)),
        np.zeros((n - 1, 2), dtype=np.int64),
    )


def contacts(
    meshes: list[Mesh],
    poses: list[tuple[Any, Any]],
    reach: float,
    floors: Any = (),
    budget: int = EVERYTHING,
    room: int = 5000,
) -> tuple[Array, LongArray]:
    """Rows of all contacts of the first mesh, and the tally."""
    rows, tally = np.zeros((room, NCONTACT)), np.zeros(NTALLY, dtype=np.int64)
    placed = placed_at(poses, floors)
    exact_query.find_contacts(build_triangles(meshes), placed, reach, budget, rows, tally)
    return rows[: tally[COUNT]].copy(), tally


def moved(mesh: Mesh, pose: tuple[Any, Any]) -> Mesh:
    vertices, faces = mesh
    return np.asarray(vertices) @ rotation_of(np.asarray(pose[1])).T + np.asarray(pose[0]), faces


def at(rows: Array, column: int) -> Array:
    return rows[:, column : column + 3]


def in_order(rows: Array) -> Array:
    """Rows sorted by what they say."""
    return rows[np.lexsort(np.round(rows, 9).T)]


# ------------------------------------------------ signed distance


@pytest.mark.nojit
def test_signed_distances_are_those_to_all_triangles() -> None:
    for seed, mesh in enumerate((WEDGE, box((0.1, 0.06, 0.04), (2, 2, 1)))):
        points = np.random.default_rng(seed).uniform(-0.08, 0.08, (60, 3))
        values, feet, normals = closest_signed_distance(mesh, points)
        assert values == pytest.approx(signed_distance(points, *mesh), abs=1e-15)
        assert unsigned_distance(feet, *mesh).max() < 1e-15
        assert points - feet == pytest.approx(values[:, None] * normals, abs=1e-15)
        assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.nojit
def test_points_of_the_surface_have_distance_zero_and_a_normal() -> None:
    size = np.array([0.1, 0.06, 0.04])
    points = 0.5 * size * np.array([[1, 0.3, 0.2], [1, 1, 0.1], [1, -1, 1], [0.2, 0.1, -1]])
    values, _, normals = closest_signed_distance(box((0.1, 0.06, 0.04)), points)
    assert values.tolist() == [0.0] * 4
    assert normals[0] == pytest.approx([1, 0, 0], abs=1e-15)
    assert normals[1] == pytest.approx(np.array([1, 1, 0]) / np.sqrt(2), abs=1e-12)
    assert normals[2] == pytest.approx(np.array([1, -1, 1]) / np.sqrt(3), abs=1e-12)


def test_many_triangles_and_points_far_and_near() -> None:
    mesh = ball(0.05, 4)
    rng = np.random.default_rng(1)
    points = np.concatenate([s * rng.normal(size=(100, 3)) for s in (0.01, 0.03, 0.3)])
    values, _, _ = closest_signed_distance(mesh, points)
    assert values == pytest.approx(signed_distance(points, *mesh), abs=1e-14)


@pytest.mark.nojit
def test_parts_that_overlap_are_united() -> None:
    whole, other = box((0.04, 0.04, 0.04)), box((0.04, 0.02, 0.02))
    vertices = np.concatenate((whole[0], other[0] + np.array([0.03, 0.0, 0.0])))
    both = vertices, np.concatenate((whole[1], other[1] + len(whole[0])))
    points = np.random.default_rng(2).uniform(-0.06, 0.06, (80, 3))
    values, _, _ = closest_signed_distance(both, points)
    parts = [signed_distance(points - shift, *m) for m, shift in
             ((whole, np.zeros(3)), (other, np.array([0.03, 0.0, 0.0])))]  # fmt: skip
    assert values == pytest.approx(np.min(parts, axis=0), abs=1e-15)
    # what is inside the other part is no feature
    triangles = build_triangles([both])
    assert len(triangles.vertices) == 8 + 4
    assert (triangles.vertices[:, 0] > 0.0).sum() == 4 + 4
    assert len(triangles.edges) == 12 + 8 + 4 - 4  # four cross the wall with their middle inside


@pytest.mark.nojit
def test_an_open_surface_is_refused() -> None:
    vertices, faces = WEDGE
    with pytest.raises(SceneError, match="the jaw"):
        build_triangles([(vertices, faces[1:])], ["the jaw"])


# ------------------------------------------------ contacts


@pytest.mark.nojit
@pytest.mark.parametrize("gap", [2e-3, -2e-3])
def test_crossing_ridges_meet_in_one_contact(gap: float) -> None:
    """One roof upside down across another: no vertex is anywhere near."""
    height = 0.06 + gap
    flip = turned(np.pi, (np.sqrt(0.5), np.sqrt(0.5), 0.0))  # upside down, its ridge along y
    rows, _ = contacts([WEDGE, WEDGE], [((0.004, 0.006, height), flip), ((0, 0, 0), UPRIGHT)], 3e-3)
    assert len(rows) == 1
    assert at(rows, CONTACT_POINT)[0] == pytest.approx([0.004, 0.0, 0.03 + gap], abs=1e-12)
    assert at(rows, CONTACT_ANCHOR)[0] == pytest.approx([0.004, 0.0, 0.03], abs=1e-12)
    assert at(rows, CONTACT_NORMAL)[0] == pytest.approx([0, 0, -1], abs=1e-12)
    assert rows[0, CONTACT_DEPTH] == pytest.approx(-gap, abs=1e-12)
    assert rows[0, CONTACT_AREA] > 0.0
    assert rows[0, CONTACT_ERROR] == 0.0


@pytest.mark.nojit
def test_a_ridge_under_a_flat_base_touches_where_it_crosses_the_edges() -> None:
    """Its ends stick out on both sides, so that there is no vertex; the normals are at a border."""
    across = turned(0.5 * np.pi, (0.0, 0.0, 1.0))
    rows, _ = contacts([WEDGE, WEDGE], [((0, 0, 0.031), across), ((0, 0, 0), UPRIGHT)], 3e-3)
    assert np.sort(at(rows, CONTACT_ANCHOR)[:, 0]) == pytest.approx([-0.03, 0.03], abs=1e-12)
    assert at(rows, CONTACT_NORMAL) == pytest.approx(np.tile([0, 0, -1.0], (2, 1)), abs=1e-12)
    assert rows[:, CONTACT_DEPTH] == pytest.approx(-1e-3, abs=1e-12)


@pytest.mark.nojit
def test_a_box_on_a_box_touches_by_crossing_edges() -> None:
    """Turned about the normal: the corners of both stick out, eight edges cross."""
    cube = box((0.04, 0.04, 0.04))
    q = turned(0.3, (0, 0, 1))
    rows, _ = contacts([cube, cube], [((0.0, 0.0, 0.0399), q), ((0, 0, 0), UPRIGHT)], 1e-3)
    assert len(rows) == 8
    assert np.abs(at(rows, CONTACT_NORMAL)[:, 2]) == pytest.approx(1.0, abs=1e-12)
    assert rows[:, CONTACT_DEPTH] == pytest.approx(1e-4, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_vertices_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = box((0.05, 0.04, 0.03), (3, 2, 2)), ball(0.03, 2)
    pose = rng.normal(size=3), unit(rng)
    pose = (pose[0] * rng.uniform(0.035, 0.05) / np.linalg.norm(pose[0]), pose[1])
    reach = 2e-3
    rows, tally = contacts([one, two], [pose, ((0, 0, 0), UPRIGHT)], reach)
    assert not tally[TRUNCATED]
    a, b = moved(one, pose), two
    for own, other, column, sign in (
        (a, b, CONTACT_POINT, 1.0),
        (b, a, CONTACT_ANCHOR, -1.0),
    ):
        value = signed_distance(own[0], *other)
        for x, d in zip(own[0], value, strict=True):
            match = np.linalg.norm(at(rows, column) - x, axis=1) < NEEDLE
            if d >= reach:
                assert not match.any()
                continue
            found = rows[match]
            _, _, m = closest_signed_distance(other, x)
            faces = (own[1] == np.argmin(np.linalg.norm(own[0] - x, axis=1))).any(axis=1)
            corners = own[0][own[1][faces]]
            across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            area = np.maximum(across @ -m[0], 0.0).sum() / 12.0
            if area <= 1e-12:
                continue
            assert len(found) >= 1
            best = found[np.argmin(np.abs(found[:, CONTACT_DEPTH] + d))]
            assert best[CONTACT_DEPTH] == pytest.approx(-d, abs=1e-12)
            assert best[CONTACT_AREA] == pytest.approx(area, rel=1e-9)
            assert at(best[None], CONTACT_NORMAL)[0] == pytest.approx(-sign * m[0], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_contact_has_the_distance_that_coal_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = WEDGE, (WEDGE if seed % 2 else ball(0.03, 2))
    pose = 0.09 * unit(rng, 3), unit(rng)
    a, b = moved(one, pose), two
    distance = coal_distance(coal_model(a), coal_model(b), np.zeros(3))
    rows, _ = contacts([one, two], [pose, ((0, 0, 0), UPRIGHT)], distance + 1e-3)
    assert distance > 0.0
    assert -rows[:, CONTACT_DEPTH].max() == pytest.approx(distance, abs=1e-9)


def check_promises(rows: Array, tool: Mesh, pose: tuple[Any, Any], body: Mesh) -> None:
    n, p, p0 = (at(rows, c) for c in (CONTACT_NORMAL, CONTACT_POINT, CONTACT_ANCHOR))
    assert np.linalg.norm(n, axis=1) == pytest.approx(1.0, abs=1e-9)
    assert np.einsum("ij,ij->i", n, p - p0) == pytest.approx(rows[:, CONTACT_DEPTH], abs=1e-12)
    assert p - p0 == pytest.approx(rows[:, CONTACT_DEPTH][:, None] * n, abs=1e-12)
    local = at(rows, CONTACT_LOCAL) @ rotation_of(np.asarray(pose[1])).T + np.asarray(pose[0])
    assert local == pytest.approx(p, abs=1e-12)
    assert unsigned_distance(p, *moved(tool, pose)).max() < 1e-10
    assert unsigned_distance(p0, *body).max() < 1e-10
    assert (rows[:, CONTACT_AREA] > 0.0).all()


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_every_contact_keeps_the_promises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = WEDGE, box((0.05, 0.05, 0.05))
    pose = 0.03 * unit(rng, 3), unit(rng)
    rows, _ = contacts([one, two], [pose, ((0, 0, 0), UPRIGHT)], 7e-3)
    assert len(rows) > 0
    check_promises(rows, one, pose, two)


@pytest.mark.parametrize("seed", range(3))
def test_spoon_and_cup_keep_the_promises(seed: int) -> None:
    tool, vessel = spoon().surface(), cup().surface()
    place = np.array([0.0662 + 3e-4 * seed, -0.0163, 0.0])
    pose = (place, np.array([0.5, 0.5, 0.5, 0.5]))
    rows, _ = contacts([tool, vessel], [pose, ((0, 0, 0), UPRIGHT)], 0.5e-3)
    assert len(rows) > 3
    check_promises(rows, tool, pose, vessel)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_exchanged_bodies_have_the_same_contacts_the_other_way_round(seed: int) -> None:
    rng = np.random.default_rng(20 + seed)
    meshes = [WEDGE, box((0.05, 0.05, 0.05))]
    poses = [(0.022 * unit(rng, 3), unit(rng)), ((0, 0, 0), UPRIGHT)]
    one, _ = contacts(meshes, poses, 2e-3)
    two, _ = contacts(meshes[::-1], poses[::-1], 2e-3)
    assert len(one) == len(two) > 0
    for rows in (one, two):
        assert len(set(rows[:, CONTACT_NAME])) == len(rows)
    for rows, flip in ((one, False), (two, True)):
        if flip:
            p, p0 = at(rows, CONTACT_POINT).copy(), at(rows, CONTACT_ANCHOR).copy()
            rows[:, CONTACT_POINT : CONTACT_POINT + 3] = p0
            rows[:, CONTACT_ANCHOR : CONTACT_ANCHOR + 3] = p
            rows[:, CONTACT_NORMAL : CONTACT_NORMAL + 3] *= -1.0
        rows[:, CONTACT_LOCAL : CONTACT_LOCAL + 3] = 0.0
        rows[:, CONTACT_NAME] = 0.0  # ridges are numbered first body by second
    assert in_order(one) == pytest.approx(in_order(two), abs=1e-9)


@pytest.mark.nojit
def test_a_turn_of_the_whole_scene_turns_the_contacts() -> None:
    rng = np.random.default_rng(4)
    meshes = [WEDGE, box((0.05, 0.05, 0.05))]
    q, shift = unit(rng), np.array([0.3, -0.2, 0.1])
    turn = rotation_of(q)
    rows, _ = contacts(meshes, [((0.01, 0.005, 0.026), turned(2.5, (0.6, 0.0, 0.8))),
                                ((0, 0, 0), UPRIGHT)], 2e-3)  # fmt: skip
    poses = [
        (turn @ [0.01, 0.005, 0.026] + shift, quat_product(q, turned(2.5, (0.6, 0.0, 0.8)))),
        (shift, q),
    ]
    other, _ = contacts(meshes, poses, 2e-3)
    assert len(rows) == len(other) > 0
    for column, origin in ((CONTACT_POINT, shift), (CONTACT_ANCHOR, shift), (CONTACT_NORMAL, 0.0)):
        assert at(other, column) == pytest.approx(at(rows, column) @ turn.T + origin, abs=1e-11)
    assert other[:, CONTACT_DEPTH:] == pytest.approx(rows[:, CONTACT_DEPTH:], abs=1e-11)


@pytest.mark.nojit
def test_a_floor_has_the_vertices_below_it() -> None:
    n, q = np.array([0.0, 0.6, 0.8]), turned(0.5, (1.0, 0.0, 0.0))
    mesh = box((0.05, 0.05, 0.05), (2, 2, 2))
    heights = moved(mesh, ((0, 0, 0), q))[0] @ n
    pose = ((0.25 - heights.min() - 1e-3) * n, q)
    rows, _ = contacts([mesh], [pose], 2e-3, floors=[(*n, 0.25)])
    expected = np.sort(1e-3 - (heights - heights.min()))
    assert np.sort(rows[:, CONTACT_DEPTH]) == pytest.approx(expected[expected > -2e-3], abs=1e-12)
    assert (rows[:, CONTACT_BODY] == -1.0).all()
    assert at(rows, CONTACT_NORMAL) == pytest.approx(np.tile(-n, (len(rows), 1)), abs=1e-15)
    assert at(rows, CONTACT_ANCHOR) @ n == pytest.approx(0.25, abs=1e-12)


@pytest.mark.nojit
def test_far_apart_the_look_is_short_and_a_budget_ends_it() -> None:
    cube = box((0.04, 0.04, 0.04), (3, 3, 3))
    far = [((0, 0, 0.5), UPRIGHT), ((0, 0, 0), UPRIGHT)]
    rows, tally = contacts([cube, cube], far, 1e-3, floors=[(0, 0, 1, 0)])
    assert len(rows) == 0
    assert tally[VISITED] <= 3  # a box of vertices each way, a pair of boxes of edges
    near = [((0, 0, 0.0399), turned(0.1, (0, 0, 1))), ((0, 0, 0), UPRIGHT)]
    whole, tally = contacts([cube, cube], near, 1e-3)
    assert not tally[TRUNCATED]
    part, tally = contacts([cube, cube], near, 1e-3, floors=[(0, 0, 1, 0.03)], budget=30)
    assert tally[TRUNCATED]
    assert len(part) < len(whole)
    few, tally = contacts([cube, cube], near, 1e-3, room=3)
    assert tally[TRUNCATED]
    assert len(few) == 3


@pytest.mark.nojit
def test_a_shape_without_ridges_and_parallel_edges_have_no_crossings() -> None:
    """Boxes along the same axes: their edges are parallel or miss one another."""
    cube = box((0.04, 0.04, 0.04))
    poses = [((0.01, 0.01, 0.0401), UPRIGHT), ((0, 0, 0), UPRIGHT)]
    rows, _ = contacts([cube, cube], poses, 1e-3)
    assert len(rows) > 0
    flat = build_triangles([cube])
    none = flat._replace(shapes=flat.shapes.copy())
    none.shapes[:, 9] = 0
    tally, out = np.zeros(NTALLY, dtype=np.int64), np.zeros((50, NCONTACT))
    placed = placed_at(poses)._replace(solid_of=np.zeros(2, dtype=np.int64))
    exact_query.find_contacts(none, placed, 1e-3, EVERYTHING, out, tally)
    assert 0 < tally[COUNT] <= len(rows)
