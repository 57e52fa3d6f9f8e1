"""Boundaries of solids of revolution: points of every face, which side is out, what bounds what."""

from __future__ import annotations

from itertools import product
from math import nan

import numpy as np
import pytest
from geometry.test_curved_solid import DONUT, SOLIDS
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.collision.boundary_distance import closest
from tangere.collision.boundary_elements import distance_from, element, limit_circle
from tangere.errors import SceneError
from tangere.geometry.axial_profile import straightened
from tangere.geometry.boundary import (
    CIRCLE,
    EDGE,
    FACE,
    PLANE,
    POINT,
    SPHERE,
    TORUS,
    VERTEX,
    Boundary,
    boundary_of,
)
from tangere.geometry.curved_boundary import profile_of
from tangere.geometry.curved_solid import CurvedSolid, bowl, l_pipe, pen
from tangere.geometry.patches import patch_points, signed_distances
from tangere.geometry.shapes import Capsule, Compound, Cone, Convex, Cylinder, Shape, Sphere
from tangere.geometry.tetmesh import TetMesh

Array = NDArray[np.float64]

SHAPES: dict[str, Shape] = {
    **{name: make() for name, make in SOLIDS.items()},
    "sphere": Sphere(0.2),
    "cylinder": Cylinder(0.2, 0.5),
    "capsule": Capsule(0.2, 0.5),
    "cone": Cone(0.2, 0.5),
    "spindle": CurvedSolid((("start", 0, -0.3), ("line", 0.2, 0), ("line", 0, 0.4))),
    "countersink": CurvedSolid(
        (("start", 0, 0), ("line", 0.2, 0), ("line", 0.2, 0.3), ("line", 0, 0.1))
    ),
    "socket": CurvedSolid(
        (("start", 0, 0), ("line", 0.3, 0), ("line", 0.3, 0.3), ("line", 0.2, 0.3),
         ("arc", 0, 0.1, -0.2))
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", SHAPES)


@kernel
def _distance(kind: int, side: int, frame: Array, size: Array, x: Array, out: Array) -> None:
    r, p = ptr(np.eye(3)), ptr(np.zeros(3))
    e = element(kind, side, ptr(frame), ptr(size), r, p)
    d, n, limit = distance_from(e, (x[0], x[1], x[2]))
    out[0], out[4] = d, limit
    out[1], out[2], out[3] = n
    for end in range(2):
        radius, height = limit_circle(e, end)
        out[5 + 2 * end], out[6 + 2 * end] = radius, height


def distance(b: Boundary, k: int, x: Array) -> tuple[float, Array, int, Array]:
    out, e = np.zeros(9), b.elements
    _distance(int(e.kind[k]), int(e.side[k]), e.frame[k].copy(), e.size[k].copy(), x, out)
    return float(out[0]), out[1:4], int(out[4]), out[5:].reshape(2, 2)


@EVERY
def test_faces_are_the_surface_and_face_outwards(name: str) -> None:
    """A point of the profile is on a face, a little outside it that far from it."""
    shape = SHAPES[name]
    b = boundary_of(shape)
    faces = b.of_dimension(FACE)
    for piece in profile_of(shape):
        for share in (0.1, 0.5, 0.83):
            (r, z), way = piece.at(np.array([share]))[0], piece.rate(np.array([share]))[0]
            out, up = np.array([way[1], -way[0]]) / np.hypot(*way)
            for turn in (0.0, 1.0, 4.0):
                c, s = np.cos(turn), np.sin(turn)
                x, n = np.array([r * c, r * s, z]), np.array([out * c, out * s, up])
                near = [k for k in faces if abs(distance(b, int(k), x)[0]) < 1e-14]
                assert len(near) == 1
                for step in (1e-4, -1e-4):
                    d, normal, limit, _ = distance(b, int(near[0]), x + step * n)
                    assert d == pytest.approx(step, abs=1e-14)
                    np.testing.assert_allclose(normal, n, atol=1e-10)
                    assert limit < 0


@EVERY
def test_edges_bound_the_faces_beside_them(name: str) -> None:
    """Each circle is the limit of two faces, in the order of their ends; an apex of one."""
    b = boundary_of(SHAPES[name])
    e = b.elements
    assert len(set(b.names)) == len(b.names) == len(e.kind)
    assert (np.diff(e.dimension) >= 0).all()
    assert all(e.kind[k] == POINT for k in b.of_dimension(VERTEX))
    for k in b.of_dimension(EDGE):
        assert e.kind[k] == CIRCLE
        assert len(b.above(int(k))) == 2
        assert len(b.below(int(k))) == 0
    for k in b.of_dimension(FACE):
        _, _, _, circles = distance(b, int(k), np.zeros(3))
        there = [c for c in circles if c[0] >= 0.0]
        below = b.below(int(k))
        assert len(below) == len(there) or e.kind[k] in (PLANE, SPHERE)
        for at, (radius, height) in zip(below, there, strict=True):
            circle = e.frame[k, :, :3] @ (0.0, 0.0, height) + e.frame[k, :, 3]
            np.testing.assert_allclose(circle, e.frame[at, :, 3], atol=1e-14)
            assert e.size[at, 0] == pytest.approx(radius, abs=1e-14)
        for at in below:
            assert k in b.above(int(at))


@EVERY
def test_convex_edges_have_the_solid_in_less_than_half_of_their_surroundings(name: str) -> None:
    shape = SHAPES[name]
    b, pieces = boundary_of(shape), list(profile_of(shape))
    way = straightened(pieces, 1e-4)
    size = np.ptp(way, axis=0).max()
    # what is on the axis is surrounded by its mirror image
    mirrored = way if pieces[-1].end == pieces[0].start else np.vstack((way, (-1, 1) * way[::-1]))
    outline = Outline(mirrored)
    turn = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
    ring = 1e-4 * size * np.column_stack((np.cos(turn), np.sin(turn)))
    for k in (*b.of_dimension(VERTEX), *b.of_dimension(EDGE)):
        at = np.array([b.elements.size[k, 0], b.elements.frame[k, 2, 3]])
        share = outline.contains_points(at + ring).mean()
        less = 0.0 if abs(share - 0.5) < 0.01 else np.sign(0.5 - share)
        assert less == b.elements.convexity[k], b.names[k]


def test_names_are_readable() -> None:
    assert boundary_of(SHAPES["pen"]).names == (
        *("edge tip cone", "edge cone shaft", "edge shaft end"),
        *("tip", "cone", "shaft", "end"),
    )
    assert boundary_of(Cone(0.1, 0.2)).names == ("apex", "edge base cone", "base", "cone")
    assert boundary_of(SHAPES["spindle"]).names[-2:] == ("cone 1", "cone 2")
    assert boundary_of(Sphere(0.1)).names == ("ball",)


def test_arcs_of_one_circle_are_one_face() -> None:
    donut = boundary_of(CurvedSolid(DONUT))
    assert donut.names == ("torus",)
    assert donut.elements.kind[0] == TORUS
    np.testing.assert_allclose(donut.elements.size[0], (0.4, 0.1, 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(boundary_of(Sphere(0.1)).elements.size[0], (0.1, -0.1, 0.1, 0.0))


def test_rods_of_a_union_lose_what_is_inside() -> None:
    """Two rods from a ball: no ends and no circles at the corner, and smooth sides remain."""
    b = boundary_of(l_pipe(0.015, 0.15))
    assert b.names == (
        *("edge side end +z 1", "edge side end +z 2"),
        *("side 1", "end +z 1", "side 2", "end +z 2", "ball"),
    )
    e = b.elements
    ends = e.frame[[b.index("end +z 1"), b.index("end +z 2")]]
    np.testing.assert_allclose(ends[:, :, 3], [(0.15, 0, 0), (0, 0.15, 0)], atol=1e-15)
    np.testing.assert_allclose(ends[:, :, 2], [(1, 0, 0), (0, 1, 0)], atol=1e-15)
    for k in b.of_dimension(FACE):
        assert all(k in b.above(int(edge)) for edge in b.below(int(k)))
    assert [len(b.below(b.index(name))) for name in ("side 1", "side 2", "ball")] == [1, 1, 0]
    x, _, _, _ = distance(b, b.index("side 1"), np.array([0.1, 0.0, 0.02]))
    assert x == pytest.approx(0.005, abs=1e-15)


def test_a_rod_through_a_ball_keeps_all_that_sticks_out() -> None:
    upright = (1.0, 0.0, 0.0, 0.0)
    pin = Compound([Compound([Cylinder(0.1, 1.0)], [((0, 0, 0.1), upright)]), Sphere(0.3)],
                   [((0, 0, 0), upright)] * 2)  # fmt: skip
    assert len(boundary_of(pin)) == 6
    inner = Compound([Sphere(0.1), Sphere(0.3)], [((0.1, 0, 0), upright), ((0, 0, 0), upright)])
    assert boundary_of(inner).names == ("ball",)


@EVERY
def test_signed_distance_of_a_profile(name: str) -> None:
    """A little off each piece, inside and outside."""
    pieces = profile_of(SHAPES[name])
    for piece in pieces:
        share = np.array([0.2, 0.7])
        at, way = piece.at(share), piece.rate(share)
        out = np.column_stack((way[:, 1], -way[:, 0])) / np.hypot(*way.T)[:, None]
        for step in (1e-4, -1e-4):
            r, z = (at + step * out).T
            points = np.column_stack((0.6 * r, -0.8 * r, z))
            np.testing.assert_allclose(signed_distances(pieces, points), step, atol=2e-6)


@EVERY
def test_points_of_a_patch_are_on_it(name: str) -> None:
    b = boundary_of(SHAPES[name])
    for k in range(len(b)):
        for x in patch_points(b.elements, k)[::5]:
            d, _, limit, _ = distance(b, k, x)
            assert abs(d) < 1e-13
            assert limit < 0 or abs(d) < 1e-9


def test_what_has_no_elements_is_refused() -> None:
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    with pytest.raises(SceneError, match="TetMesh is no solid of revolution"):
        boundary_of(TetMesh(corners, ((0, 1, 2, 3),)))
    upright = (1.0, 0.0, 0.0, 0.0)
    with pytest.raises(SceneError, match="Convex is no solid of revolution"):
        boundary_of(Compound([Convex(corners), Sphere(1.0)], [((0, 0, 0), upright)] * 2))


# ---------------------------------------------------------------- which elements are close


@kernel
def _pair(
    kinds: Array, frame_a: Array, size_a: Array, frame_b: Array, size_b: Array, r: Array,
    p: Array, out: Array,
) -> None:  # fmt: skip
    still, origin = ptr(np.eye(3)), ptr(np.zeros(3))
    a = element(int(kinds[0]), int(kinds[1]), ptr(frame_a), ptr(size_a), ptr(r), ptr(p))
    b = element(int(kinds[2]), int(kinds[3]), ptr(frame_b), ptr(size_b), still, origin)
    c = closest(a, b, nan)
    out[0], out[1] = c.gap, max(c.limit_a, c.limit_b)
    out[2], out[3], out[4] = c.normal
    out[5], out[6], out[7] = c.point_b


def close_pairs(
    a: Boundary, turn: Array, position: Array, b: Boundary, reach: float
) -> dict[tuple[str, str], Array]:
    """Pairs of a moved and b within reach inside both: gap, limit, normal, point on b.

    Behind a wall gaps are negative and as large as the wall is thick: no contact either.
    """
    found, e, f = {}, a.elements, b.elements
    for i, j in product(range(len(a)), range(len(b))):
        out = np.zeros(8)
        kinds = np.array([e.kind[i], e.side[i], f.kind[j], f.side[j]], float)
        _pair(kinds, e.frame[i].copy(), e.size[i].copy(), f.frame[j].copy(), f.size[j].copy(),
              turn, position, out)  # fmt: skip
        if out[1] < 0.0 and abs(out[0]) <= reach:
            found[a.names[i], b.names[j]] = out
    return found


def leaning(angle: float) -> Array:
    """A turn about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def test_a_pen_in_a_bowl_touches_with_its_tip_then_with_its_shaft_too() -> None:
    """Along a meridian the tip alone, along the wall's normal; leaned, the shaft and the rim."""
    f, gap, tip = 0.025, 5e-4, 1e-3
    a, b = boundary_of(pen(tip=tip)), boundary_of(bowl(f, 0.04))

    def laid(r: float, lean: float) -> tuple[Array, Array]:
        inward = np.array([-r / (2 * f), 0.0, 1.0]) / np.hypot(1.0, r / (2 * f))
        ball = np.array([r, 0.0, r * r / (4 * f)]) + (tip + gap) * inward
        return inward, ball - leaning(lean) @ (0.0, 0.0, tip)

    for r in np.linspace(0.0, 0.035, 8):
        inward, position = laid(r, 0.0)
        pairs = close_pairs(a, leaning(0.0), position, b, 5.5e-4)
        assert set(pairs) == {("tip", "inside")}
        (c,) = pairs.values()
        assert c[0] == pytest.approx(gap, abs=1e-15)
        np.testing.assert_allclose(c[2:5], inward, atol=1e-12)
    low, high = 0.0, 1.5
    for _ in range(60):
        lean = 0.5 * (low + high)
        pairs = close_pairs(a, leaning(lean), laid(0.0, lean)[1], b, 1.0)
        shaft = pairs.get(("shaft", "edge outside inside"))
        low, high = (lean, high) if shaft is None or shaft[0] > gap else (low, lean)
    _, position = laid(0.0, low)
    pairs = close_pairs(a, leaning(low), position, b, 5.5e-4)
    # the circle where the tip ends is a part of it, and nearly as close
    assert pairs.pop(("edge tip cone", "inside"))[0] > gap
    assert set(pairs) == {("tip", "inside"), ("shaft", "edge outside inside")}
    c = pairs["shaft", "edge outside inside"]
    assert c[0] == pytest.approx(gap, abs=1e-12)
    np.testing.assert_allclose(c[5:8], (0.04, 0.0, 0.016), atol=1e-12)
    np.testing.assert_allclose(c[2:5], leaning(low) @ (-1.0, 0.0, 0.0), atol=1e-12)


def test_a_ball_on_an_l_of_rods_touches_both() -> None:
    """On the way past the corner at equal distance from both legs."""
    a, b = boundary_of(Sphere(0.02)), boundary_of(l_pipe(0.015, 0.15))
    for angle in np.deg2rad(np.linspace(-60.0, 60.0, 13)):
        # distances from the axes of x and y: 35.5 mm
        at = 0.0355 * np.array([np.cos(angle), np.cos(angle), np.sin(angle)])
        pairs = close_pairs(a, np.eye(3), at, b, 5.5e-4)
        assert {("ball", "side 1"), ("ball", "side 2")} <= set(pairs)
        for name, normal in (
            ("side 1", (0.0, np.cos(angle), np.sin(angle))),
            ("side 2", (np.cos(angle), 0.0, np.sin(angle))),
        ):
            c = pairs["ball", name]
            assert c[0] == pytest.approx(5e-4, abs=1e-15)
            np.testing.assert_allclose(c[2:5], normal, atol=1e-13)
