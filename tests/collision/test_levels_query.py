"""Contacts on levels: against closed forms, dense samples of the surfaces, and level 0."""

from __future__ import annotations

import numpy as np
import pytest
from collision.level_meshes import angle, blob, soup, triangles_of
from collision.meshes import Mesh, ball, box, closest_points, winding_number

from tangere import _jit
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_AREA,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_LOCAL,
    CONTACT_NORMAL,
    CONTACT_POINT,
    COUNT,
    TRUNCATED,
    VISITED,
)
from tangere.collision.levels import query
from tangere.collision.levels.front import forget, new_front
from tangere.collision.levels.hierarchy import CHILDREN, Levels, build, coarseness
from tangere.collision.levels.piece_pair import FOUND_AREA, REAL
from tangere.collision.levels.query import find_contacts
from tangere.collision.levels.threshold import (
    FINEST,
    Pair,
    contacts_at,
    pair_of,
    threshold_errors,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

REACH = 5e-4


def built(mesh: Mesh) -> Levels:
    return build(mesh[0], mesh[1].astype(np.int64))


def pose(position: tuple[float, ...], turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)) -> Array:
    q = np.array(turn) / np.linalg.norm(turn)
    return np.array([*position, *q])


def vector(rows: Array, column: int) -> Array:
    return rows[:, column : column + 3]


def checked(rows: Array, at: Array, reach: float = REACH) -> Array:
    """The rows, after what holds for every engine."""
    p, p0, n = (vector(rows, c) for c in (CONTACT_POINT, CONTACT_ANCHOR, CONTACT_NORMAL))
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-9)
    depth = rows[:, CONTACT_DEPTH]
    np.testing.assert_allclose(np.einsum("ij,ij->i", n, p - p0), depth, atol=1e-12)
    assert (depth >= -reach).all()
    assert (rows[:, CONTACT_AREA] >= 0.0).all()
    local = (p - at[:3]) @ rotation_of(at[3:])
    np.testing.assert_allclose(vector(rows, CONTACT_LOCAL), local, atol=1e-12)
    return rows


def touching(tool: Levels, body: Levels, start: Array, depth: float) -> Array:
    """The pose from which a tool that came straight to the body is `depth` beyond first touch."""
    pair = pair_of(tool, body)
    far = float(np.linalg.norm(start[:3]))
    way = start[:3] / far

    def overlaps(distance: float) -> bool:
        rows = contacts_at(pair, np.concatenate((distance * way, start[3:])), REACH, FINEST)
        return len(rows) > 0 and bool(rows[:, CONTACT_DEPTH].max() > 0.0)

    while not overlaps(far - REACH):
        far -= REACH
    low, high = far - REACH, far
    for _ in range(10):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if overlaps(middle) else (low, middle)
    return np.concatenate(((high - depth) * way, start[3:]))


def random_poses(tool: Levels, body: Levels, count: int, deepest: float, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    poses = []
    for _ in range(count):
        way, turn = rng.normal(size=3), rng.normal(size=4)
        start = pose(tuple(0.085 * way / np.linalg.norm(way)), tuple(turn))
        poses.append(touching(tool, body, start, rng.uniform(-0.5 * REACH, deepest)))
    return np.array(poses)


@pytest.mark.nojit
@pytest.mark.parametrize("gap", [3e-4, -3e-4, -2e-3])
def test_a_box_over_a_box(gap: float) -> None:
    pair = pair_of(built(box((0.01, 0.01, 0.01))), built(box((0.03, 0.03, 0.01))))
    at = pose((0.002, 0.001, 0.01 + gap), (1.0, 0.05, 0.0, 0.0))
    rows = checked(contacts_at(pair, at, REACH, FINEST), at)
    turned = rotation_of(at[3:])
    corners = 0.005 * np.array([[i, j, -1.0] for i in (-1, 1) for j in (-1, 1)])
    lowest = (corners @ turned.T)[:, 2].min() + at[2] - 0.005
    assert rows[:, CONTACT_DEPTH].max() == pytest.approx(-lowest, abs=2e-6)
    np.testing.assert_allclose(rows[:, CONTACT_NORMAL + 2], -1.0, atol=1e-6)


@pytest.mark.nojit
def test_an_edge_in_the_inner_corner_of_an_angle_touches_both_sides() -> None:
    pair = pair_of(built(box((0.004, 0.004, 0.004))), built(angle()))
    at = pose((0.01 + 0.002 + 2e-4, 0.01 + 0.002 + 1e-4, 0.005))
    rows = checked(contacts_at(pair, at, REACH, FINEST), at)
    for axis, gap in ((0, 2e-4), (1, 1e-4)):
        side = rows[rows[:, CONTACT_NORMAL + axis] < -0.99]
        assert side[:, CONTACT_DEPTH].max() == pytest.approx(-gap, abs=1e-9)


@pytest.mark.nojit
def test_two_sides_of_an_edge_in_an_obtuse_notch_do_not_become_one_contact() -> None:
    # The L sheared until its inner corner opens by 130 degrees: normals 50 degrees apart.
    opening = np.radians(130.0)
    points, triangles = angle()
    points[:, :2] = points[:, :2] @ np.array([[1.0, 0.0], [np.cos(opening), np.sin(opening)]])
    corner = 0.01 * np.array([1.0 + np.cos(opening), np.sin(opening)])
    out = np.array([[0.0, 1.0], [np.sin(opening), -np.cos(opening)]])  # normals of both sides
    gaps = np.array([1.2e-4, 1.5e-4])
    edge = corner + np.linalg.solve(out, gaps)
    half = 0.002
    turned = 0.5 * opening - 0.25 * np.pi  # the box's edge points along the bisector
    away = np.array([np.cos(0.5 * opening), np.sin(0.5 * opening)])
    at = pose(
        (*(edge + np.sqrt(2.0) * half * away), 0.005),
        (np.cos(0.5 * turned), 0.0, 0.0, np.sin(0.5 * turned)),
    )
    pair = pair_of(built(box((2 * half, 2 * half, 0.004))), built((points, triangles)))
    rows = checked(contacts_at(pair, at, REACH, FINEST), at)
    for n, gap in zip(out, gaps, strict=True):
        side = rows[vector(rows, CONTACT_NORMAL)[:, :2] @ n < -0.99]
        assert side[:, CONTACT_DEPTH].max() == pytest.approx(-gap, abs=1e-9)


@pytest.mark.nojit
def test_the_hull_over_the_notch_of_a_face_is_no_surface() -> None:
    pair = pair_of(built(box((0.004, 0.004, 0.004))), built(angle()))
    # just above the plane of the L's end face, but over the notch: nothing is there
    at = pose((0.0165, 0.0165, 0.0121))
    assert len(contacts_at(pair, at, REACH, FINEST)) == 0


@pytest.mark.nojit
def test_a_small_box_deep_inside_is_pushed_out_the_nearest_way() -> None:
    pair = pair_of(built(box((0.004, 0.004, 0.004))), built(box((0.03, 0.03, 0.03))))
    at = pose((0.0, 0.0, 0.0152))
    rows = checked(contacts_at(pair, at, REACH, FINEST), at)
    assert rows[:, CONTACT_DEPTH].max() == pytest.approx(0.0018, abs=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize("error", [FINEST, 2e-3])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_ball_pushed_deep_into_a_box(error: float, swapped: bool) -> None:
    round_, flat = built(ball(0.01, 1)), built(box((0.04, 0.04, 0.02), (4, 4, 2)))
    pair = pair_of(flat, round_) if swapped else pair_of(round_, flat)
    at = pose((0.0, 0.0, -0.015 if swapped else 0.015))
    rows = checked(contacts_at(pair, at, REACH, error), at)
    p = vector(rows, CONTACT_ANCHOR if swapped else CONTACT_POINT)
    top = at[2] + 0.01 if swapped else 0.01
    deep = rows[:, CONTACT_DEPTH]
    slack = rows[:, CONTACT_ERROR] + 1e-4
    lowest = 0.01 - ball(0.01, 1)[0][:, 2].max()
    assert deep.max() == pytest.approx(0.005 - lowest, abs=error + slack.max())
    up = -1.0 if not swapped else 1.0
    straight = rows[:, CONTACT_NORMAL + 2] * up > 0.999
    assert straight.sum() > 2
    assert (np.abs(top - p[straight, 2] - deep[straight]) <= slack[straight] + error).all()


def nearest(tool: Levels, body: Levels, at: Array, samples: int) -> float:
    """Distance of two surfaces by dense samples of each [m]."""
    turned = rotation_of(at[3:])
    meshes = [soup(np.concatenate([triangles_of(x, i) for i in leaves(x)])) for x in (tool, body)]
    placed = [(meshes[0][0] @ turned.T + at[:3], meshes[0][1]), meshes[1]]
    rng = np.random.default_rng(0)
    best = np.inf
    for one, other in (placed, placed[::-1]):
        weights = rng.dirichlet((0.5, 0.5, 0.5), (samples, len(one[1])))
        points = np.einsum("tij,sti->stj", one[0][one[1]], weights).reshape(-1, 3)
        points = np.concatenate((points, one[0]))
        around = np.linalg.norm(points - at[:3] if other is placed[0] else points, axis=1)
        _, away, _ = closest_points(*other, points[around < 0.05])
        best = min(best, float(away.min()))
    return best


def leaves(levels: Levels) -> list[int]:
    return [int(i) for i in np.flatnonzero(levels.links[:, CHILDREN] == 0)]


def test_nothing_is_culled_that_a_sample_of_the_surfaces_finds() -> None:
    tool, body = built(blob(2, 1)), built(blob(2, 2))
    pair = pair_of(tool, body)
    for at in random_poses(tool, body, 6, -1e-4):
        rows = checked(contacts_at(pair, at, REACH, FINEST), at)
        sampled = nearest(tool, body, at, 40)
        found = -rows[:, CONTACT_DEPTH].max()
        assert found <= sampled + 1e-9
        assert found >= sampled - 1.5e-4


def test_the_deepest_contact_is_as_deep_as_the_deepest_vertex() -> None:
    tool, body = built(ball(0.02, 3)), built(blob(3, 2))
    pair = pair_of(tool, body)
    surface = soup(np.concatenate([triangles_of(body, i) for i in leaves(body)]))
    points = np.unique(
        soup(np.concatenate([triangles_of(tool, i) for i in leaves(tool)]))[0], axis=0
    )
    for at in random_poses(tool, body, 4, 2e-3, seed=5):
        rows = checked(contacts_at(pair, at, REACH, FINEST), at)
        world = points @ rotation_of(at[3:]).T + at[:3]
        world = world[np.linalg.norm(world, axis=1) < 0.045]
        inside = winding_number(*surface, world) > 0.5
        _, away, _ = closest_points(*surface, world[inside])
        assert rows[:, CONTACT_DEPTH].max() == pytest.approx(away.max(initial=0.0), abs=3e-4)


@pytest.mark.nojit
def test_thresholds_are_met_within_what_the_contacts_report() -> None:
    tool, body = built(blob(1, 1)), built(blob(1, 2))
    poses = random_poses(tool, body, 4 if _jit.JIT_DISABLED else 40, 5e-4)
    for error in (3e-4, 1.2e-3):
        found = threshold_errors(tool, body, poses, error, REACH)
        assert len(found.depth) == len(poses)
        assert (np.abs(found.depth) <= error + found.bound).all()


@pytest.mark.slow
def test_thresholds_are_met_in_ten_thousand_poses() -> None:
    tool, body = built(blob(3, 1)), built(blob(3, 2))
    poses = random_poses(tool, body, 10_000, 5e-4)
    for share in (0.025, 0.01, 0.004):
        error = share * 0.03
        found = threshold_errors(tool, body, poses, error, REACH)
        assert len(found.depth) == len(poses)
        assert (np.abs(found.depth) <= error + found.bound).all()
        assert (found.felt <= error + found.bound).mean() > 0.99


@pytest.mark.nojit
@pytest.mark.skipif(not _jit.JIT_DISABLED, reason="looks into kernels, which is for plain Python")
def test_every_contact_is_within_the_threshold_or_of_two_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tool, body = built(blob(1, 1)), built(blob(1, 2))
    pair = pair_of(tool, body)
    at = random_poses(tool, body, 1, 3e-4)[0]
    error, looked = 3e-4, []
    touch, accept = query.__dict__["touch"], query.__dict__["_accept"]

    def seen(*arguments: object) -> int:
        status = int(touch(*arguments))
        looked.append(arguments[-1])
        return status

    def taken(s: object, a: int, b: int, found: Array) -> None:
        links, nodes = pair.levels.links, pair.levels.nodes
        leaf = links[a, CHILDREN] == 0 and links[b, CHILDREN] == 0
        share = max(coarseness(nodes[a]), coarseness(nodes[b])) / found[FOUND_AREA]
        assert leaf or share <= error
        accept(s, a, b, found)

    monkeypatch.setattr(query, "touch", seen)
    monkeypatch.setattr(query, "_accept", taken)
    rows = contacts_at(pair, at, REACH, error)
    assert len(rows) > 0
    assert len(looked) > 0
    assert REAL == 2


@pytest.mark.nojit
def test_equal_input_gives_equal_contacts_and_memory_changes_none() -> None:
    tool, body = built(blob(1, 1)), built(blob(1, 2))
    pair = pair_of(tool, body)
    at = random_poses(tool, body, 1, -1e-4)[0]
    cold = contacts_at(pair, at, REACH, 3e-4).copy()
    np.testing.assert_array_equal(cold, contacts_at(pair, at, REACH, 3e-4))
    before = int(pair.tally[VISITED])
    for k in range(3):
        moved = at.copy()
        moved[0] += 1e-5 * k
        contacts_at(pair, moved, REACH, 3e-4, warm=True)
    warm = contacts_at(pair, at, REACH, 3e-4, warm=True)
    assert warm[:, CONTACT_DEPTH].max() == pytest.approx(cold[:, CONTACT_DEPTH].max(), abs=1e-9)
    assert len(warm) == len(cold)
    assert int(pair.tally[VISITED]) <= before


@pytest.mark.nojit
def test_a_query_out_of_budget_says_so() -> None:
    tool, body = built(blob(1, 1)), built(blob(1, 2))
    pair = pair_of(tool, body)
    at = random_poses(tool, body, 1, 5e-4)[0]
    full = contacts_at(pair, at, REACH, FINEST).copy()
    most = int(pair.tally[VISITED])
    for budget in (1, most // 4, most // 2):
        forget(pair.front)
        search(pair, FINEST, budget)
        assert pair.tally[TRUNCATED] == 1
        assert pair.tally[VISITED] <= most
    forget(pair.front)
    search(pair, FINEST, 10 * most)
    assert pair.tally[TRUNCATED] == 0
    assert pair.tally[COUNT] == len(full)


@pytest.mark.nojit
def test_full_rows_are_said() -> None:
    pair = pair_of(built(ball(0.01, 2)), built(box((0.04, 0.04, 0.02))), rows=1)
    with pytest.raises(RuntimeError, match="no room"):
        contacts_at(pair, pose((0.0, 0.0, 0.017)), REACH, FINEST)


def search(pair: Pair, error: float, budget: int) -> None:
    levels, placed, front, rows, tally = pair
    find_contacts(levels, placed, front, (REACH, error), budget, rows, tally)


@pytest.mark.nojit
def test_a_box_stands_on_a_floor_with_its_corners() -> None:
    pair = pair_of(built(box((0.02, 0.02, 0.02))), built(box((0.02, 0.02, 0.02))))
    placed = pair.placed._replace(floors=np.array([[0.0, 0.0, 1.0, 0.0]]))
    placed.poses[0, :3] = (0.0, 0.0, 0.0099)
    placed.poses[1, :3] = (1.0, 0.0, 0.0)
    pair = pair._replace(placed=placed)
    search(pair, 1e-4, 100_000)
    rows = pair.rows[: pair.tally[COUNT]]
    assert len(rows) == 4
    checked(rows, placed.poses[0, :7])
    np.testing.assert_allclose(rows[:, CONTACT_DEPTH], 1e-4, atol=1e-12)
    np.testing.assert_allclose(vector(rows, CONTACT_NORMAL), [[0, 0, -1]] * 4, atol=1e-12)
    assert (rows[:, CONTACT_BODY] == -1).all()
    assert (rows[:, CONTACT_ERROR] >= 0.0).all()
    assert rows[:, CONTACT_AREA].sum() == pytest.approx(0.02**2)


@pytest.mark.nojit
def test_a_blob_over_a_floor_is_as_near_as_its_lowest_vertex() -> None:
    mesh = blob(1, 1)
    pair = pair_of(built(mesh), built(box((0.02, 0.02, 0.02))))
    placed = pair.placed._replace(floors=np.array([[0.0, 0.0, 1.0, 0.01]]))
    placed.poses[0, :3] = (0.0, 0.0, 0.01 - mesh[0][:, 2].min() - 3e-4)
    placed.poses[1, :3] = (1.0, 0.0, 0.0)
    pair = pair._replace(placed=placed)
    search(pair, FINEST, 100_000)
    assert pair.rows[: pair.tally[COUNT], CONTACT_DEPTH].max() == pytest.approx(3e-4)
    search(pair, 2e-3, 100_000)
    coarse = pair.rows[: pair.tally[COUNT]]
    assert abs(coarse[:, CONTACT_DEPTH].max() - 3e-4) <= coarse[:, CONTACT_ERROR].max() + 1e-9
    search(pair, FINEST, 1)
    assert pair.tally[TRUNCATED] == 1


@pytest.mark.nojit
def test_a_front_is_empty_at_first() -> None:
    front = new_front(2, 10, 100)
    assert (front.keys == -1).all()
    assert front.heights.shape == (20, 2)
