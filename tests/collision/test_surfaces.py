"""Surfaces: adjacency, hierarchy, motion and normals against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from collision.meshes import (
    Ints,
    Mesh,
    ball,
    box,
    bumpy,
    closest_points,
    patch,
    ring,
    tube,
    winding_number,
)
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tangere._jit import kernel
from tangere._ptr import pointers, ptr
from tangere.collision.surface_queries import (
    EDGE,
    FACE,
    VERTEX,
    closest_on_triangle,
    closest_point,
    edge_between_faces,
    faces_around,
    feature_of,
    in_valley,
    is_outside,
    is_valley,
    pseudonormal,
)
from tangere.collision.surfaces import (
    LEAF,
    Surfaces,
    build_surfaces,
    edge_normal,
    move_surface,
    refit,
    surface_box,
    triangle_normal,
    vertex_normal,
)
from tangere.errors import SceneError

Array = NDArray[np.float64]

# Coordinates are about 1: a few roundings of 2e-16 each.
EXACT = 1e-14
# Weights below 1e-9 count as none, of triangles up to 2 in size.
SNAPPED = 2e-9


@kernel
def place(s: Surfaces, k: int, x: Array, r: Array, margin: float) -> None:
    p = pointers(s)
    move_surface(p, k, ptr(x), ptr(r))
    refit(p, k, margin)


@kernel
def root_box(s: Surfaces, k: int, out: Array) -> None:
    box_ = surface_box(pointers(s), k)
    for i in range(6):
        out[i] = box_[i]


@kernel
def normals(s: Surfaces, faces: Array, edges: Array, vertices: Array) -> None:
    p = pointers(s)
    for t in range(len(faces)):
        faces[t, 0], faces[t, 1], faces[t, 2] = triangle_normal(p, t)
    for e in range(len(edges)):
        edges[e, 0], edges[e, 1], edges[e, 2] = edge_normal(p, e)
    for v in range(len(vertices)):
        vertices[v, 0], vertices[v, 1], vertices[v, 2] = vertex_normal(p, v)


@kernel
def query(s: Surfaces, k: int, x: Array, limit: float, out: Array, what: Ints) -> None:
    """Closest points (3), weights (3) and sign; triangle, kind and number of the feature."""
    p = pointers(s)
    for i in range(len(x)):
        at = (x[i, 0], x[i, 1], x[i, 2])
        c = closest_point(p, s.node_start[k], at, limit)
        what[i, 0] = c.triangle
        if c.triangle >= 0:
            out[i, 0], out[i, 1], out[i, 2] = c.point
            out[i, 3], out[i, 4], out[i, 5] = c.weights
            kind, number = feature_of(p, c)
            what[i, 1], what[i, 2] = kind, number
            n = pseudonormal(p, kind, number)
            side = 0.0
            for j in range(3):
                side += n[j] * (x[i, j] - out[i, j])
            out[i, 6] = side


@kernel
def around(s: Surfaces, k: int, x: Array, radius: float, normal: Array, found: Ints) -> int:
    n = (normal[0], normal[1], normal[2])
    return faces_around(pointers(s), k, (x[0], x[1], x[2]), radius, n, ptr(found))


@kernel
def bends(s: Surfaces, out: Ints) -> None:
    p = pointers(s)
    for e in range(len(out)):
        if s.edge_triangles[e, 1] >= 0:
            out[e] = edge_between_faces(p, e).bend


@kernel
def valleys(s: Surfaces, edges: Ints, vertices: Ints) -> None:
    p = pointers(s)
    for e in range(len(edges)):
        edges[e] = is_valley(p, e)
    for v in range(len(vertices)):
        vertices[v] = in_valley(p, v)


@kernel
def outside(s: Surfaces, x: Array, out: Ints) -> None:
    p = pointers(s)
    for i in range(len(x)):
        out[i] = is_outside(p, 0, (x[i, 0], x[i, 1], x[i, 2]))


@kernel
def weights_of(corners: Array, x: Array, out: Array) -> None:
    a, b, c = corners[0], corners[1], corners[2]
    w = closest_on_triangle(
        (a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2]), (x[0], x[1], x[2])
    )
    out[0], out[1], out[2] = w


def asked(s: Surfaces, k: int, x: Array, limit: float = np.inf) -> tuple[Array, Ints]:
    out, what = np.zeros((len(x), 7)), np.full((len(x), 3), -1, np.int32)
    query(s, k, np.ascontiguousarray(x), limit, out, what)
    return out, what


def settled(*meshes: Mesh, soft: bool = True) -> Surfaces:
    """Surfaces where their frames are the world's."""
    s = build_surfaces([(k, x, t, soft) for k, (x, t) in enumerate(meshes)])
    for k in range(len(meshes)):
        place(s, k, np.zeros(3), np.eye(3), 0.0)
    return s


MESHES = {
    "box": box((2.0, 1.0, 0.5), (3, 2, 1)),
    "ball": ball(1.0, 1),
    "patch": patch((3, 4), (1.0, 2.0)),
    "ring": ring((0.8, 1.0), 0.3, 0.5, (8, 1, 2)),
    "tube": tube((0.8, 1.0), 2.0, (8, 1, 3)),
}


# ---------------------------------------------------------------- adjacency and tree


@pytest.mark.nojit
@pytest.mark.parametrize("name", MESHES)
def test_adjacency_is_that_of_the_triangles(name: str) -> None:
    """Behind another surface, so that all numbers are shifted."""
    first, mesh = box((1.0, 1.0, 1.0)), MESHES[name]
    s = build_surfaces([(4, *first, True), (7, *mesh, False)])
    v0, t0, e0 = s.vertex_start[1], s.triangle_start[1], s.edge_start[1]
    np.testing.assert_array_equal(s.body, [4, 7])
    assert (v0, t0) == (len(first[0]), len(first[1]))
    np.testing.assert_array_equal(s.triangles[t0:] - v0, mesh[1])
    np.testing.assert_array_equal(s.rest[v0:], mesh[0])
    # every edge of every triangle is named, from corner to corner
    for t in range(len(s.triangles)):
        for k in range(3):
            e = s.triangle_edges[t, k]
            a, b = s.triangles[t, k], s.triangles[t, (k + 1) % 3]
            assert t in s.edge_triangles[e]
            side = int(s.edge_triangles[e, 1] == t)
            assert tuple(s.edges[e]) == ((a, b) if side == 0 else (b, a))
            assert s.edge_opposite[e, side] == s.triangles[t, (k + 2) % 3]
    assert (s.edge_triangles[:, 1] < 0).sum() * 2 == sum(
        len(np.unique(s.edges[e])) for e in np.flatnonzero(s.edge_triangles[:, 1] < 0)
    )
    both = s.edge_triangles[:, 1] >= 0
    assert (s.edge_triangles[both, 0] < s.edge_triangles[both, 1]).all()
    assert len(np.unique(np.sort(s.edges, axis=1), axis=0)) == len(s.edges)
    assert 2 * both.sum() + (~both).sum() == 3 * len(s.triangles)
    assert (~both).any() == (name == "patch")
    assert s.edge_start[-1] == len(s.edges)
    assert e0 == 18
    # fans
    for v in range(len(s.rest)):
        fan = s.fan[s.fan_start[v] : s.fan_start[v + 1]]
        np.testing.assert_array_equal(fan, np.flatnonzero((s.triangles == v).any(axis=1)))
    boundary = np.unique(s.edges[~both])
    np.testing.assert_array_equal(np.flatnonzero(s.at_boundary), boundary)
    # Euler characteristic of what it is
    genus = {"box": 2, "ball": 2, "patch": 1, "ring": 2, "tube": 0}[name]
    assert len(mesh[0]) - (len(s.edges) - e0) + len(mesh[1]) == genus


@pytest.mark.nojit
@pytest.mark.parametrize("name", MESHES)
def test_leaves_hold_every_triangle_once(name: str) -> None:
    s = settled(MESHES["box"], MESHES[name])
    for k in range(2):
        nodes = range(s.node_start[k], s.node_start[k + 1])
        leaves = [n for n in nodes if s.node_right[n] < 0]
        sizes = [s.node_first[n + 1] - s.node_first[n] for n in leaves]
        assert min(sizes) >= 1
        assert max(sizes) <= LEAF
        held = np.concatenate(
            [s.leaf_triangles[s.node_first[n] : s.node_first[n + 1]] for n in leaves]
        )
        np.testing.assert_array_equal(
            np.sort(held), np.arange(s.triangle_start[k], s.triangle_start[k + 1])
        )
        for start, things, of_things in (
            (s.node_vertex, s.leaf_vertices, [s.fan[s.fan_start[v]] for v in range(len(s.rest))]),
            (s.node_edge, s.leaf_edges, s.edge_triangles[:, 0]),
        ):
            for n in nodes:
                own = things[start[n] : start[n + 1]]
                below = s.leaf_triangles[s.node_first[n] : s.node_first[n + 1]]
                assert len(own) == 0 or n in leaves
                assert all(of_things[each] in below for each in own)
        np.testing.assert_array_equal(np.sort(s.leaf_vertices), np.arange(len(s.rest)))
        np.testing.assert_array_equal(np.sort(s.leaf_edges), np.arange(len(s.edges)))
        children = [n + 1 for n in nodes if s.node_right[n] >= 0]
        children += [int(s.node_right[n]) for n in nodes if s.node_right[n] >= 0]
        assert sorted(children) == list(nodes)[1:]


def triangles_below(s: Surfaces, node: int) -> list[int]:
    if s.node_right[node] < 0:
        return list(s.leaf_triangles[s.node_first[node] : s.node_first[node + 1]])
    return triangles_below(s, node + 1) + triangles_below(s, int(s.node_right[node]))


@pytest.mark.nojit
def test_boxes_after_a_move_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(1)
    s = settled(MESHES["ring"], MESHES["box"])
    before = s.node_box.copy()
    for node in range(len(s.node_right)):  # at rest, as built
        x = s.rest[s.triangles[triangles_below(s, node)]].reshape(-1, 3)
        np.testing.assert_array_equal(before[node], [*x.min(axis=0), *x.max(axis=0)])
    s.displacement[:] = rng.normal(size=s.rest.shape) * 0.05
    turn, shift = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    place(s, 0, shift, turn, 0.125)
    end = s.vertex_start[1]
    expected = shift + (s.rest + s.displacement)[:end] @ turn.T
    assert s.now[:end] == pytest.approx(expected, abs=EXACT)
    np.testing.assert_array_equal(s.now[end:], s.rest[end:])  # of the other nothing has moved
    for node in range(s.node_start[1]):
        x = s.now[s.triangles[triangles_below(s, node)]].reshape(-1, 3)
        expected = np.concatenate((x.min(axis=0) - 0.125, x.max(axis=0) + 0.125))
        np.testing.assert_array_equal(s.node_box[node], expected)
    np.testing.assert_array_equal(s.node_box[s.node_start[1] :], before[s.node_start[1] :])
    whole = np.zeros(6)
    root_box(s, 0, whole)
    np.testing.assert_array_equal(whole, s.node_box[0])


@pytest.mark.nojit
def test_a_vertex_of_no_triangle_moves_and_is_never_closest() -> None:
    points, triangles = MESHES["box"]
    s = settled((np.concatenate((points, [[5.0, 5.0, 5.0]])), triangles))
    place(s, 0, np.array([1.0, 0.0, 0.0]), np.eye(3), 0.0)
    assert s.now[-1] == pytest.approx((6.0, 5.0, 5.0))
    out, _ = asked(s, 0, np.array([[6.0, 5.0, 5.0]]))
    assert out[0, :3] == pytest.approx((2.0, 0.5, 0.25))


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], r"surface 0: vertices must be finite numbers"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], r"vertices must be finite"),
        (np.eye(3), np.zeros((0, 3), int), r"triangles must be whole numbers"),
        (np.eye(3), [[0.0, 1.0, 2.0]], r"triangles must be whole numbers"),
        (np.eye(3), [[0, 1, 3]], r"triangle 0 is \[0, 1, 3\], but vertices are numbered 0 to 2"),
        (np.eye(3), [[0, 1, 1]], r"triangle 0 \(\[0, 1, 1\]\) has no area"),
        (
            np.concatenate((np.eye(3), [[1, 1, 1], [2, 2, 2]])),
            [[0, 1, 2], [1, 0, 3], [0, 1, 4]],
            r"edge 0-1 has more than two triangles",
        ),
        (
            np.concatenate((np.eye(3), [[1, 1, 1]])),
            [[0, 1, 2], [0, 1, 3]],
            r"triangles at edge 0-1 disagree on what is outside",
        ),
    ],
)
def test_what_is_no_surface_is_refused(vertices: Array, triangles: Array, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        build_surfaces([(0, vertices, triangles, True)])


@pytest.mark.nojit
def test_soft_surfaces_come_first() -> None:
    mesh = MESHES["box"]
    with pytest.raises(ValueError, match="soft ones first"):
        build_surfaces([(0, *mesh, False), (1, *mesh, True)])
    with pytest.raises(ValueError, match="at least one surface"):
        build_surfaces([])


# ---------------------------------------------------------------- normals


@pytest.mark.nojit
@pytest.mark.parametrize("name", MESHES)
def test_normals(name: str) -> None:
    s = settled(MESHES[name])
    faces, edges = np.zeros((len(s.triangles), 3)), np.zeros((len(s.edges), 3))
    vertices = np.zeros_like(s.rest)
    normals(s, faces, edges, vertices)
    a, b, c = (s.now[s.triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    assert faces == pytest.approx(n, abs=EXACT)
    other = np.where(s.edge_triangles[:, 1:] < 0, 0.0, n[s.edge_triangles[:, 1]])
    mean = n[s.edge_triangles[:, 0]] + other
    assert edges == pytest.approx(mean / np.linalg.norm(mean, axis=1)[:, None], abs=EXACT)
    total = np.zeros_like(s.rest)
    for t, (i, j, k) in enumerate(s.triangles):
        for p, q, r in ((i, j, k), (j, k, i), (k, i, j)):
            u, v = s.now[q] - s.now[p], s.now[r] - s.now[p]
            angle = np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v)
            total[p] += angle * n[t]
    total /= np.linalg.norm(total, axis=1)[:, None]
    # acos near 0 and π loses half the digits of angles that hardly count
    assert vertices == pytest.approx(total, abs=1e-9)


@pytest.mark.nojit
def test_squeezed_triangles_have_no_normal_and_break_nothing() -> None:
    """All vertices in one line, then in one point: the distance is still right."""
    s = settled(MESHES["box"])
    line = np.outer(s.rest[:, 0], [1.0, 2.0, 0.5])
    rng = np.random.default_rng(3)
    for target in (line, np.tile([0.5, -0.25, 0.125], (len(s.rest), 1))):
        s.displacement[:] = target - s.rest
        place(s, 0, np.zeros(3), np.eye(3), 0.0)
        faces, edges = np.zeros((len(s.triangles), 3)), np.zeros((len(s.edges), 3))
        vertices = np.zeros_like(s.rest)
        normals(s, faces, edges, vertices)
        assert np.isfinite(np.concatenate((faces, edges, vertices))).all()
        x = rng.normal(size=(20, 3))
        out, what = asked(s, 0, x)
        low, high = target[target[:, 0].argmin()], target[target[:, 0].argmax()]
        way = high - low
        share = np.clip((x - low) @ way / max(way @ way, 1e-300), 0.0, 1.0)
        d = np.linalg.norm(x - low - share[:, None] * way, axis=1)
        assert np.linalg.norm(x - out[:, :3], axis=1) == pytest.approx(d, abs=SNAPPED)
        assert (what[:, 0] >= 0).all()


@pytest.mark.nojit
def test_bends_of_a_box_with_a_dent() -> None:
    """Edges of the box are ridges, its face diagonals flat; a vertex pressed in has valleys."""
    s = settled(box((1.0, 1.0, 1.0), (2, 2, 2)))
    out = np.zeros(len(s.edges), np.int32)
    bends(s, out)
    ends = s.rest[s.edges]
    on_edge = (np.abs(np.abs(ends.mean(axis=1)) - 0.5) < 1e-9).sum(axis=1) == 2
    np.testing.assert_array_equal(out, on_edge.astype(int))
    top = int(np.flatnonzero((s.rest == [0.0, 0.0, 0.5]).all(axis=1))[0])
    s.displacement[top, 2] = -0.1
    place(s, 0, np.zeros(3), np.eye(3), 0.0)
    bends(s, out)
    spokes = (s.edges == top).any(axis=1)
    assert (out[spokes] == -1).all()
    edges, vertices = np.ones(len(s.edges), np.int32), np.ones(len(s.rest), np.int32)
    valleys(s, edges, vertices)  # of 0.1 on 0.5: 16°
    assert not edges.any()
    s.displacement[top, 2] = -0.3
    place(s, 0, np.zeros(3), np.eye(3), 0.0)
    valleys(s, edges, vertices)  # four triangles in two pairs of planes
    np.testing.assert_array_equal(
        vertices == 1, np.isin(np.arange(len(s.rest)), s.edges[edges == 1])
    )
    assert vertices[top] == 1
    assert not (edges[~spokes]).any()


@pytest.mark.nojit
def test_squeezed_edges_and_boundaries_are_no_valleys() -> None:
    s = settled(MESHES["patch"])
    edges, vertices = np.ones(len(s.edges), np.int32), np.ones(len(s.rest), np.int32)
    valleys(s, edges, vertices)
    assert not edges.any()
    assert not vertices.any()
    s.displacement[:] = np.array([0.5, 0.5, 0.5]) - s.rest
    place(s, 0, np.zeros(3), np.eye(3), 0.0)
    valleys(s, edges, vertices)
    assert not edges.any()


@pytest.mark.nojit
def test_what_is_outside() -> None:
    """Beyond the boundary of an open surface nobody can tell."""
    out = np.full(3, -1, np.int32)
    solid = settled(MESHES["box"])
    outside(solid, np.array([[0.9, 0.4, 0.2], [1.1, 0.0, 0.0], [0.0, 0.0, 0.3]]), out)
    np.testing.assert_array_equal(out, [0, 1, 1])
    sheet = settled(MESHES["patch"])
    outside(sheet, np.array([[0.1, 0.2, 0.1], [0.1, 0.2, -0.1], [0.7, 0.0, 0.1]]), out)
    np.testing.assert_array_equal(out, [1, 0, 0])
    sheet.displacement[:] = np.nan  # lost: nobody can tell either, and nothing is read that is not
    place(sheet, 0, np.zeros(3), np.eye(3), 0.0)
    outside(sheet, np.zeros((3, 3)), out)
    np.testing.assert_array_equal(out, [0, 0, 0])


# ---------------------------------------------------------------- closest points


def dented() -> Mesh:
    """A box with a pit in its upper face."""
    points, triangles = box((1.0, 1.0, 1.0), (2, 2, 2))
    points[(points == [0.0, 0.0, 0.5]).all(axis=1), 2] = 0.1
    return points, triangles


def queries_near(s: Surfaces, rng: np.random.Generator, count: int) -> Array:
    """Points far and near, on vertices, edges and faces, and a hair beside them."""
    x = [rng.uniform(-2, 2, (count, 3))]
    t = s.triangles[rng.integers(len(s.triangles), size=count)]
    w = rng.dirichlet((1, 1, 1), count)
    w[: count // 3, 0] = 0.0
    w[: count // 6, 1] = 0.0
    w /= w.sum(axis=1)[:, None]
    on = np.einsum("ij,ijk->ik", w, s.now[t])
    x += [on + size * rng.normal(size=on.shape) for size in (0.0, 1e-12, 1e-6, 0.1)]
    return np.concatenate(x)


@pytest.mark.parametrize("name", MESHES)
def test_closest_points_are_those_of_brute_force_and_trimesh(name: str) -> None:
    from trimesh import Trimesh
    from trimesh.proximity import closest_point_naive

    rng = np.random.default_rng(5)
    s = settled(MESHES["box"], bumpy(MESHES[name], rng, 0.05))
    own = s.triangles[s.triangle_start[1] :]
    x = queries_near(s, rng, 400)
    out, what = asked(s, 1, x)
    _, d, _ = closest_points(s.now, own, x)
    ours = np.linalg.norm(out[:, :3] - x, axis=1)
    assert ours == pytest.approx(d, abs=SNAPPED)
    theirs = closest_point_naive(Trimesh(s.now, own, process=False), x)[1]
    assert ours == pytest.approx(theirs, abs=SNAPPED)
    # weights make the point, and name the feature
    corners = s.now[s.triangles[what[:, 0]]]
    assert np.einsum("ij,ijk->ik", out[:, 3:6], corners) == pytest.approx(out[:, :3], abs=EXACT)
    assert out[:, 3:6].min() >= 0.0
    assert out[:, 3:6].sum(axis=1) == pytest.approx(1.0, abs=EXACT)
    zeros = (out[:, 3:6] == 0.0).sum(axis=1)
    np.testing.assert_array_equal(what[:, 1], np.array([FACE, EDGE, VERTEX])[zeros])
    for i in range(len(x)):
        carrying = s.triangles[what[i, 0]][out[i, 3:6] > 0]
        if what[i, 1] == VERTEX:
            assert what[i, 2] == carrying[0]
        elif what[i, 1] == EDGE:
            assert set(s.edges[what[i, 2]]) == set(carrying)
        else:
            assert what[i, 2] == what[i, 0]
    # a limit hides exactly what is further
    limit = float(np.median(d))
    _, limited = asked(s, 1, x, limit)
    sure = np.abs(d - limit) > 1e-9
    np.testing.assert_array_equal((limited[:, 0] >= 0)[sure], (d <= limit)[sure])


@pytest.mark.nojit
def test_closest_points_of_a_few() -> None:
    s = settled(MESHES["ball"])
    x = queries_near(s, np.random.default_rng(6), 6)
    out, _ = asked(s, 0, x)
    _, d, _ = closest_points(s.now, s.triangles, x)
    assert np.linalg.norm(out[:, :3] - x, axis=1) == pytest.approx(d, abs=SNAPPED)


@pytest.mark.parametrize("name", ["box", "ball", "ring", "tube", "dent"])
def test_sign_is_that_of_the_winding_number(name: str) -> None:
    """Near vertices, edges and faces, as near as the oracle can tell."""
    rng = np.random.default_rng(7)
    s = settled(bumpy(dented() if name == "dent" else MESHES[name], rng, 0.1))
    x = queries_near(s, rng, 600)
    out, what = asked(s, 0, x)
    inside = winding_number(s.now, s.triangles, x) > 0.5
    clear = np.linalg.norm(out[:, :3] - x, axis=1) > 1e-8
    np.testing.assert_array_equal((out[:, 6] < 0)[clear], inside[clear])
    if name == "dent":  # vertices, edges and faces on both sides
        for kind in (VERTEX, EDGE, FACE):
            assert len(np.unique(inside[clear & (what[:, 1] == kind)])) == 2


@pytest.mark.nojit
@pytest.mark.parametrize("shift", [-1e-12, 0.0, 1e-12])
def test_a_hair_beside_an_edge_names_the_edge(shift: float) -> None:
    s = settled(box((2.0, 2.0, 2.0)))
    x = np.array([[1.0 + shift, 1.0 + 0.3 * shift, 0.25], [1.0 + shift, 1.0, 1.0 - shift]])
    _, what = asked(s, 0, x)
    assert what[0, 1] == EDGE
    assert {tuple(p) for p in s.rest[s.edges[what[0, 2]]]} == {(1, 1, -1), (1, 1, 1)}
    assert what[1, 1] == VERTEX
    assert s.rest[what[1, 2]] == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.nojit
def test_regions_of_a_triangle() -> None:
    corners = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    for x, expected in (
        ((-1.0, -1.0, 2.0), (1.0, 0.0, 0.0)),
        ((6.0, -1.0, 2.0), (0.0, 1.0, 0.0)),
        ((-1.0, 6.0, 2.0), (0.0, 0.0, 1.0)),
        ((1.0, -1.0, 2.0), (0.75, 0.25, 0.0)),
        ((-1.0, 1.0, 2.0), (0.75, 0.0, 0.25)),
        ((3.0, 3.0, 2.0), (0.0, 0.5, 0.5)),
        ((1.0, 1.0, -2.0), (0.5, 0.25, 0.25)),
    ):
        out = np.zeros(3)
        weights_of(corners, np.array(x), out)
        assert out == pytest.approx(expected, abs=EXACT)


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["ball", "ring"])
def test_faces_around_a_point_are_the_closest_in_order(name: str) -> None:
    rng = np.random.default_rng(8)
    s = settled(MESHES["box"], MESHES[name])
    own = s.triangles[s.triangle_start[1] :]
    face_normals = np.zeros((len(s.triangles), 3))
    normals(s, face_normals, np.zeros((0, 3)), np.zeros((0, 3)))
    for x in queries_near(s, rng, 2):
        for radius, way in ((0.4, np.zeros(3)), (9.0, np.zeros(3)), (9.0, np.array([0, 0.6, 0.8]))):
            d = np.array([closest_points(s.now, t[None], x[None])[1][0] for t in own])
            wanted = (d <= radius) & (face_normals[s.triangle_start[1] :] @ way < 0.906)
            found = np.zeros(32, np.int32)
            count = around(s, 1, x, radius, way, found)
            assert count == min(32, wanted.sum())
            picked = d[found[:count] - s.triangle_start[1]]
            assert picked == pytest.approx(np.sort(d[wanted])[:count], abs=1e-12)
