"""Curved solids beside their facets: what each shape stands for, moved, boxed and measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles.support import support
from strategies import Pose, poses, quaternions

from tangere.geometry.curve import BALL, CAPSULE, CONE, CYLINDER, NC, Curve
from tangere.geometry.shapes import Box, Capsule, Compound, Cone, Convex, Cylinder, Shape, Sphere
from tangere.maths.rotations import rotation_of

Array = NDArray[np.float64]

SHAPES: dict[int, Shape] = {
    BALL: Sphere(0.3),
    CAPSULE: Capsule(0.1, 0.5),
    CYLINDER: Cylinder(0.2, 0.7),
    CONE: Cone(0.2, 0.8),
}
kinds = st.sampled_from(list(SHAPES))


def curve_of(shape: Shape) -> Curve:
    (curve,) = shape.curves()
    assert curve is not None
    return curve


@pytest.mark.parametrize("kind", SHAPES)
def test_corners_of_the_facets_lie_on_the_solid(kind: int) -> None:
    shape = SHAPES[kind]
    curve, (part,) = curve_of(shape), shape.parts()
    assert curve.kind == kind
    q = part.vertices - curve.centre
    z = q @ curve.axis
    r = np.linalg.norm(q - z[:, None] * curve.axis, axis=1)
    if kind in (BALL, CAPSULE):
        off = np.hypot(r, np.maximum(np.abs(z) - curve.half, 0.0))
        np.testing.assert_allclose(off, curve.radius, atol=1e-15 * 4)
    elif kind == CYLINDER:
        np.testing.assert_allclose(r, curve.radius, atol=1e-15 * 4)
        np.testing.assert_allclose(np.abs(z), curve.half, atol=1e-15 * 4)
    else:
        expected = curve.radius * (curve.half - z) / (2.0 * curve.half)
        np.testing.assert_allclose(r, expected, atol=1e-15 * 4)


def test_hulls_stand_for_nothing_curved() -> None:
    assert Box((1.0, 1.0, 1.0)).curves() == (None,)
    assert Convex(np.eye(4)[:, :3]).curves() == (None,)


@given(kinds, poses(1.0))
def test_curves_of_a_compound_are_at_their_poses(kind: int, pose: Pose) -> None:
    shape = SHAPES[kind]
    inner = Compound([Box((0.1, 0.1, 0.1)), shape], [((1.0, 0, 0), (1, 0, 0, 0)), pose])
    outer = Compound([inner, Sphere(0.1)], [pose, ((0, 0, 2.0), (1, 0, 0, 0))])
    curves = outer.curves()
    assert len(curves) == len(outer.parts()) == 3
    assert curves[0] is None
    found, own = curves[1], curve_of(shape)
    assert found is not None
    turn = rotation_of(pose[1])
    np.testing.assert_allclose(found.axis, turn @ turn @ own.axis, atol=1e-14)
    expected = turn @ (turn @ own.centre + pose[0]) + pose[0]
    np.testing.assert_allclose(found.centre, expected, atol=1e-13)
    assert (found.kind, found.radius, found.half) == (own.kind, own.radius, own.half)


@given(kinds, quaternions())
def test_box_touches_the_solid_on_all_sides(kind: int, turn: Array) -> None:
    curve = curve_of(SHAPES[kind]).moved(rotation_of(turn), np.array([0.1, -0.2, 0.3]))
    centre, half = curve.box()
    high, low = support(curve, np.eye(3)), -support(curve, -np.eye(3))
    np.testing.assert_allclose(centre + half, high, atol=1e-15 * 8)
    np.testing.assert_allclose(centre - half, low, atol=1e-15 * 8)


def test_sizes_and_areas() -> None:
    disc = np.pi * 0.01
    for shape, size, area in (
        (Sphere(0.1), 0.2, disc),
        (Capsule(0.1, 0.5), 0.2, 0.1),
        (Capsule(0.1, 0.05), 0.2, disc),
        (Cylinder(0.1, 0.5), 0.2, 0.1),
        (Cylinder(0.1, 0.05), 0.05, disc),
        (Cone(0.1, 0.5), 0.2, 0.05),
        (Cone(0.1, 0.05), 0.05, disc),
    ):
        curve = curve_of(shape)
        assert curve.size() == pytest.approx(size)
        assert curve.face_area() == pytest.approx(area)


def test_row_holds_all_there_is() -> None:
    curve = curve_of(Cone(0.2, 0.8))
    assert len(curve.row()) == NC
    np.testing.assert_array_equal(curve.row(), [CONE, 0.2, 0.4, 0, 0, 1, 0, 0, 0.2])
