from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import LENGTHS, Pose, clouds, poses

from tangere.errors import SceneError
from tangere.geometry.polyhedron import MAX_FACES, Moments, solid_moments
from tangere.geometry.shapes import (
    MAX_NESTING,
    Box,
    Capsule,
    Compound,
    Cone,
    Convex,
    Cylinder,
    Mesh,
    Shape,
    Sphere,
)
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]
STILL = (1.0, 0.0, 0.0, 0.0)

# Shape, its profile radius r(z), and the ends of its axis.
Profile = Callable[[float], float]
ROUND: dict[str, tuple[Shape, Profile, list[float]]] = {
    "sphere": (Sphere(0.3), lambda z: float(np.sqrt(max(0.09 - z * z, 0.0))), [-0.3, 0.3]),
    "cylinder": (Cylinder(0.2, 0.7), lambda z: 0.2, [-0.35, 0.35]),
    "cone": (Cone(0.2, 0.8), lambda z: 0.2 * (0.6 - z) / 0.8, [-0.2, 0.6]),
    "capsule": (
        Capsule(0.1, 0.5),
        lambda z: float(np.sqrt(max(0.01 - max(abs(z) - 0.25, 0.0) ** 2, 0.0))),
        [-0.35, -0.25, 0.25, 0.35],
    ),
}


def revolved(profile: Profile, ends: list[float]) -> Moments:
    """Moments of a solid of revolution by quadrature over slices of thickness dz.

    The squared radius is a polynomial of degree 2 on each piece: eight Gauss points are exact.
    """
    nodes, weights = np.polynomial.legendre.leggauss(8)

    def integral(slice_value: Callable[[float], float]) -> float:
        total = 0.0
        for a, b in pairwise(ends):
            at = 0.5 * (a + b) + 0.5 * (b - a) * nodes
            values = [slice_value(float(z)) for z in at]
            total += 0.5 * (b - a) * float(weights @ values)
        return total

    volume = integral(lambda z: np.pi * profile(z) ** 2)
    along = integral(lambda z: np.pi / 2 * profile(z) ** 4)
    across = integral(lambda z: np.pi / 4 * profile(z) ** 4 + np.pi * profile(z) ** 2 * z * z)
    middle = integral(lambda z: np.pi * profile(z) ** 2 * z) / volume
    return Moments(volume, np.array([0, 0, middle]), np.diag([across, across, along]))


@pytest.mark.parametrize("kind", ROUND)
def test_round_solids_match_quadrature(kind: str) -> None:
    shape, profile, ends = ROUND[kind]
    exact, got = revolved(profile, ends), shape.moments()
    assert got.volume == pytest.approx(exact.volume, rel=1e-13)
    assert np.allclose(got.centre, 0.0)
    assert np.allclose(exact.centre, 0.0, atol=1e-12)
    assert np.allclose(got.inertia, exact.inertia, rtol=1e-13)


@pytest.mark.parametrize("kind", ROUND)
def test_vertices_lie_on_the_ideal_surface(kind: str) -> None:
    shape, profile, ends = ROUND[kind]
    (part,) = shape.parts()
    for x, y, z in part.vertices:
        assert ends[0] - 1e-15 <= z <= ends[-1] + 1e-15
        assert np.hypot(x, y) == pytest.approx(profile(z), abs=1e-8)  # root of rounding at a pole


@pytest.mark.parametrize(
    ("make", "coarse", "fine"),
    [
        (lambda n: Cylinder(0.2, 0.7, facets=n), 16, 64),
        (lambda n: Cone(0.2, 0.7, facets=n), 16, 64),
        (lambda n: Capsule(0.2, 0.3, facets=n), 4, 16),
        (lambda n: Sphere(0.2, subdivisions=n), 1, 3),
    ],
)
def test_facets_approach_the_solid_with_second_order(
    make: Callable[[int], Shape], coarse: int, fine: int
) -> None:
    def missing(n: int) -> float:
        shape = make(n)
        return 1.0 - shape.parts()[0].moments().volume / shape.moments().volume

    order = np.log(missing(coarse) / missing(fine)) / np.log(fine / coarse)
    assert missing(fine) > 0.0
    assert 1.6 < order < 2.4


@pytest.mark.parametrize(
    ("shape", "faces", "vertices"),
    [
        (Box((1, 2, 3)), 6, 8),
        (Sphere(1.0, subdivisions=1), 20, 12),
        (Sphere(1.0, subdivisions=2), 80, 42),
        (Sphere(1.0), 180, 92),
        (Cylinder(1.0, 2.0), 34, 64),
        (Cylinder(1.0, 2.0, facets=96), 98, 192),
        (Cylinder(1.0, 2.0, facets=254), 256, 508),
        (Cone(1.0, 2.0), 33, 33),
        (Cone(1.0, 2.0, facets=255), 256, 256),
        (Capsule(1.0, 2.0), 16 * 9, 16 * 8 + 2),
        (Capsule(1.0, 2.0, facets=23), 23 * 11, 23 * 10 + 2),
    ],
)
def test_face_counts(shape: Shape, faces: int, vertices: int) -> None:
    (part,) = shape.parts()
    assert len(part.planes) == faces
    assert len(part.vertices) == vertices
    assert faces <= MAX_FACES


@given(LENGTHS, LENGTHS, LENGTHS)
def test_box_moments_are_exact_and_match_its_faces(a: float, b: float, c: float) -> None:
    box = Box((a, b, c))
    got, faces = box.moments(), box.parts()[0].moments()
    assert got.volume == pytest.approx(a * b * c, rel=1e-15)
    assert faces.volume == pytest.approx(got.volume, rel=1e-12)
    # Sums of squares of the longest edge round away the shortest one's part.
    assert np.allclose(faces.inertia, got.inertia, rtol=1e-12, atol=1e-12 * got.inertia.max())
    assert got.inertia[2, 2] == pytest.approx(a * b * c * (a * a + b * b) / 12, rel=1e-14)


@given(clouds(most=30))
def test_convex_moments_match_trimesh(cloud: Array) -> None:
    size = (cloud.max(axis=0) - cloud.min(axis=0)).max()
    solid = Convex(cloud)
    ours, part = solid.moments(), solid.parts()[0]
    theirs = trimesh.Trimesh(part.vertices / size, part.triangles(), process=False)
    thin = float((cloud.max(axis=0) - cloud.min(axis=0)).min() / size)
    share = 1e-12 / thin  # trimesh integrates about the origin: rounding grows as solids get thin
    assert ours.volume / size**3 == pytest.approx(theirs.volume, rel=share)
    assert np.allclose(ours.centre / size, theirs.center_mass, rtol=0, atol=share)
    inertia = np.asarray(theirs.moment_inertia)
    assert np.allclose(ours.inertia / size**5, inertia, rtol=0, atol=share * np.trace(inertia))


@given(poses())
def test_moments_turn_and_move_with_the_solid(pose: Pose) -> None:
    position, q = pose
    turn = rotation_of(q)
    base = Convex(np.random.default_rng(3).normal(size=(30, 3)))
    moved = Convex(base.vertices @ turn.T + position)
    a, b = base.moments(), moved.moments()
    assert b.volume == pytest.approx(a.volume, rel=1e-12)
    assert np.allclose(b.centre, turn @ a.centre + position, atol=1e-12)
    assert np.allclose(
        b.inertia, turn @ a.inertia @ turn.T, rtol=0, atol=1e-11 * np.trace(a.inertia)
    )


def test_compound_of_cut_box_equals_the_box() -> None:
    whole = Box((0.6, 0.2, 0.1)).moments()
    third = Box((0.2, 0.2, 0.1))
    row = Compound([third] * 3, [((x, 0, 0), STILL) for x in (-0.2, 0.0, 0.2)]).moments()
    assert row.volume == pytest.approx(whole.volume, rel=1e-14)
    assert np.allclose(row.centre, 0.0, atol=1e-16)
    assert np.allclose(row.inertia, whole.inertia, rtol=1e-13, atol=1e-18)


@given(poses(), poses(), poses())
def test_nested_compounds_compose_their_poses(deep: Pose, middle: Pose, top: Pose) -> None:
    def matrix(pose: Pose) -> Array:
        m = np.eye(4)
        m[:3, :3], m[:3, 3] = rotation_of(pose[1]), pose[0]
        return m

    wedge = Convex([(0, 0, 0), (1, 0, 0), (0, 0.5, 0), (0, 0, 0.3)])
    inner = Compound([wedge, Box((0.1, 0.2, 0.3))], [deep, ((0, 0, 0), STILL)])
    outer = Compound([inner, wedge], [middle, top])
    parts = outer.parts()
    assert len(parts) == 3
    chained = matrix(middle) @ matrix(deep)
    expected = wedge.vertices @ chained[:3, :3].T + chained[:3, 3]
    assert np.allclose(parts[0].vertices, expected, atol=1e-13)
    assert np.allclose(parts[2].vertices, wedge.vertices @ rotation_of(top[1]).T + top[0])
    for part in parts:
        assert (part.vertices @ part.planes[:, :3].T <= part.planes[:, 3]).all()
    pieces = [part.moments() for part in parts]
    moments = outer.moments()
    volume = sum(m.volume for m in pieces)
    assert moments.volume == pytest.approx(volume, rel=1e-12)
    centre = sum(m.volume * m.centre for m in pieces) / volume
    assert np.allclose(moments.centre, centre, atol=1e-12)
    vertices, triangles = outer.surface()
    assert np.allclose(solid_moments(vertices, triangles).inertia, moments.inertia, atol=1e-9)


@pytest.mark.parametrize("shape", [Box((1, 2, 3)), Sphere(0.4), Cone(0.2, 0.3), Capsule(0.1, 0.2)])
def test_surface_is_closed_and_outward(shape: Shape) -> None:
    vertices, triangles = shape.surface()
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(shape.parts()[0].moments().volume, rel=1e-12)


def test_parts_are_computed_once() -> None:
    ball = Sphere(0.1)
    assert ball.parts() is ball.parts()
    assert ball.moments() is ball.moments()


def test_shapes_compare_by_content() -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    assert Convex(points) == Convex(points.copy())
    assert Convex(points) != Convex(points + 1.0)
    assert Box((1, 2, 3)) == Box([1.0, 2.0, 3.0])
    assert hash(Box((1, 2, 3))) == hash(Box((1, 2, 3)))
    assert Sphere(1.0) != Sphere(1.0, subdivisions=2)
    assert Cylinder(1.0, 2.0) != Capsule(1.0, 2.0)
    assert Compound([Sphere(1.0)], [((0, 0, 1), STILL)]) == Compound(
        [Sphere(1)], [((0, 0, 1), STILL)]
    )
    assert Compound([Sphere(1.0)], [((0, 0, 1), STILL)]) != Compound(
        [Sphere(1)], [((0, 1, 0), STILL)]
    )


def test_shapes_cannot_be_changed() -> None:
    box = Box((1, 2, 3))
    with pytest.raises(AttributeError):
        box.size = np.ones(3)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        box.size[0] = 5.0


NAN, INF = float("nan"), float("inf")
BAD_SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "box of two": (lambda: Box((1, 2)), "Box size: expected 3 numbers"),
    "box of text": (lambda: Box("abc"), "Box size: expected 3 numbers"),
    "box of texts": (lambda: Box(("a", "b", "c")), "expected a number, got 'a'"),
    "box of truth": (lambda: Box((True, 1, 1)), "expected a number, got True"),
    "box of NaN": (lambda: Box((1, NAN, 1)), "must be finite"),
    "box without height": (lambda: Box((1, 1, 0)), "must be positive"),
    "box of negative width": (lambda: Box((1, -1, 1)), "must be positive"),
    "box too thin": (lambda: Box((1, 1, 1e-9)), "Box: sizes 1e-09 m and 1 m differ"),
    "box too large": (lambda: Box((1e20, 1, 1)), "out of range"),
    "sphere of zero": (lambda: Sphere(0), "Sphere radius: must be positive"),
    "sphere infinite": (lambda: Sphere(INF), "must be finite"),
    "sphere of huge int": (lambda: Sphere(10**400), "must be finite"),
    "sphere complex": (lambda: Sphere(1j), "expected a number"),  # type: ignore[arg-type]
    "sphere too fine": (lambda: Sphere(1.0, subdivisions=4), "from 1 to 3"),
    "sphere half fine": (lambda: Sphere(1.0, subdivisions=1.5), "whole number"),  # type: ignore[arg-type]
    "cylinder flat": (lambda: Cylinder(1, 0), "Cylinder length"),
    "cylinder of two sides": (lambda: Cylinder(1, 1, facets=2), "from 3 to 254"),
    "cylinder too fine": (lambda: Cylinder(1, 1, facets=255), "from 3 to 254"),
    "cone inverted": (lambda: Cone(1, -1), "Cone height: must be positive"),
    "cone too fine": (lambda: Cone(1, 1, facets=256), "from 3 to 255"),
    "capsule of None": (lambda: Capsule(None, 1), "Capsule radius: expected a number"),  # type: ignore[arg-type]
    "capsule too fine": (lambda: Capsule(1, 1, facets=24), "from 4 to 23"),
    "convex flat": (lambda: Convex(np.c_[np.eye(3), np.ones(3)].T * (1, 1, 0)), "plane"),
    "compound of nothing": (lambda: Compound([], []), "expected a list of shapes"),
    "compound of numbers": (lambda: Compound([1], [((0, 0, 0), STILL)]), "expected a shape"),  # type: ignore[list-item]
    "compound without pose": (lambda: Compound([Sphere(1)], []), "for each of 1 shapes"),
    "compound bad pose": (lambda: Compound([Sphere(1)], [(0, 0, 0)]), "(position, orientation)"),  # type: ignore[list-item]
    "compound bad turn": (lambda: Compound([Sphere(1)], [((0, 0, 0), (0, 0, 0, 0))]), "direction"),
    "compound Euler angles": (lambda: Compound([Sphere(1)], [((0, 0, 0), (0, 0, 1))]), "4 numbers"),
    "compound far away": (lambda: Compound([Sphere(1)], [((1e9, 0, 0), STILL)]), "move it closer"),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_bad_shapes_are_refused_in_one_line(name: str) -> None:
    make, text = BAD_SHAPES[name]
    with pytest.raises(SceneError) as caught:
        make()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_compounds_nest_only_so_deep() -> None:
    shape: Shape = Sphere(1.0)
    for _ in range(MAX_NESTING):
        shape = Compound([shape], [((0, 0, 0), STILL)])
    with pytest.raises(SceneError, match="nested more than"):
        Compound([shape], [((0, 0, 0), STILL)])


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_convex_mesh_is_one_part(a: float, b: float) -> None:
    vertices, triangles = Box((a, b, 1.0)).surface()
    parts = Mesh(vertices, triangles).parts()
    assert len(parts) == 1
    assert len(parts[0].planes) == 6
