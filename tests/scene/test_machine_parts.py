"""Gears, bolt and nut: closed surfaces of the right size that fit each other without overlap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.shapes import Mesh
from tangere.maths.vec import Array
from tangere.scene import machine_parts as parts
from tangere.scene.machine_parts import (
    CLEARANCE,
    DEPTH,
    MAJOR,
    PITCH,
    PLAY,
    bolt,
    gear_outline,
    nut,
    spur_gear,
)

pytestmark = pytest.mark.nojit

UP = np.array([0.0, 0.0, 1.0])


def edges_of_two(mesh: Mesh) -> bool:
    """Whether exactly two triangles meet at every edge."""
    ends = np.sort(np.concatenate([mesh.faces[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
    return bool((np.unique(ends, axis=0, return_counts=True)[1] == 2).all())


def inside(points: Array, mesh: Mesh) -> NDArray[np.bool_]:
    """Whether points are within the mesh, by the winding number [as in oracles.surface]."""
    total = np.zeros(len(points))
    for rows in np.array_split(mesh.faces, 1 + len(points) * len(mesh.faces) // 1_000_000):
        a, b, c = (mesh.vertices[rows[:, k]][None] - points[:, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        triple = np.einsum("pti,pti->pt", a, np.cross(b, c))
        below = la * lb * lc + np.einsum("pti,pti->pt", a, b) * lc
        below += np.einsum("pti,pti->pt", b, c) * la + np.einsum("pti,pti->pt", c, a) * lb
        total += np.arctan2(triple, below).sum(axis=1) / (2.0 * np.pi)
    found: NDArray[np.bool_] = total > 0.5
    return found


def turn(points: Array, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    turned: Array = points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return turned


# ------------------------------------------------ thread
@pytest.mark.parametrize("make", [bolt, nut, spur_gear, lambda: spur_gear(18, bore=5e-3)])
def test_surfaces_are_closed_manifolds(make: object) -> None:
    assert callable(make)
    mesh = make()
    assert edges_of_two(mesh)
    assert mesh.moments().volume > 0.0
    assert mesh == make()


def test_the_bolts_size() -> None:
    mesh = bolt()
    assert len(mesh.faces) == 2 * 48 * (7 + 385)
    thread = mesh.vertices[mesh.vertices[:, 2] > 1e-6][:-1]
    radius = np.linalg.norm(thread[:, :2], axis=1)
    assert radius.max() == pytest.approx(0.5 * MAJOR, rel=1e-12)
    assert radius.min() == pytest.approx(0.5 * MAJOR - DEPTH, abs=1e-4)
    # ISO 68-1: the minor diameter is d - 1.0825 P
    assert 2.0 * (0.5 * MAJOR - DEPTH) == pytest.approx(MAJOR - 1.0825 * PITCH, abs=1e-6)
    assert mesh.vertices[:, 2].max() == pytest.approx(0.04)
    flats = np.abs(mesh.vertices[mesh.vertices[:, 2] < -1e-3][:, 1]).max()
    assert 2.0 * flats == pytest.approx(parts.ACROSS_FLATS, rel=1e-12)


def test_the_thread_is_right_handed_and_its_edges_are_helices() -> None:
    """Triangle edges run along lines of equal phase: the radius along them does not change."""
    mesh = bolt()
    rings = mesh.vertices[: 48 * 392].reshape(392, 48, 3)[7:]  # without the head
    radius = np.linalg.norm(rings[..., :2], axis=2)
    # one row up and one point on, counter-clockwise seen from the tip: the same radius
    middle = slice(60, 300)
    assert np.roll(radius, -1, axis=1)[1:][middle] == pytest.approx(radius[:-1][middle], abs=1e-12)
    up_and_on = {(a, b) for a, b, c in mesh.faces} | {(a, c) for a, b, c in mesh.faces}
    row, j = 7 + 100, 10
    assert (row * 48 + j, (row + 1) * 48 + j + 1) in up_and_on


def test_the_nut_stands_in_the_thread_without_touching() -> None:
    """At any height it is turned to, half a step between its points included."""
    screw, ring = bolt(), nut()
    near = np.linalg.norm(ring.vertices[:, :2], axis=1) < 0.5 * MAJOR + 2.0 * CLEARANCE
    rng = np.random.default_rng(0)
    chosen = ring.vertices[near][rng.choice(near.sum(), 60, replace=False)]
    for height in (0.010, 0.010 + 0.3 * PITCH, 0.010 + PITCH / 96.0):
        placed = turn(chosen, 2.0 * np.pi * height / PITCH) + height * UP
        assert not inside(placed, screw).any()
        # the bolt's points are not within the nut either
        back = turn(screw.vertices - height * UP, -2.0 * np.pi * height / PITCH)
        through = back[(back[:, 2] > 0.0) & (back[:, 2] < 0.02)]
        assert not inside(through[rng.choice(len(through), 60, replace=False)], ring).any()


@pytest.mark.parametrize(("share", "touches"), [(0.9, False), (1.2, True)])
def test_the_nut_has_the_play_that_is_told(share: float, touches: bool) -> None:
    """Down from the middle of the thread it meets the flanks after `PLAY`."""
    screw, ring = bolt(), nut()
    radius = np.linalg.norm(ring.vertices[:, :2], axis=1)
    crest = radius < 0.5 * MAJOR - DEPTH + CLEARANCE + 1e-9
    flank = (radius < 0.5 * MAJOR - 0.2 * DEPTH) & ~crest
    flank &= (ring.vertices[:, 2] > 3e-3) & (ring.vertices[:, 2] < 0.017)
    chosen = ring.vertices[flank][:: flank.sum() // 80]
    found = inside(chosen + (2.0 * PITCH - share * PLAY) * UP, screw)
    assert found.any() == touches


def test_clearance_is_the_difference_of_the_radii() -> None:
    tight, loose = nut(0.0), nut(0.5e-3)
    thread = 48 * 193  # rings of the thread come first
    a = np.linalg.norm(tight.vertices[:thread, :2], axis=1)
    b = np.linalg.norm(loose.vertices[:thread, :2], axis=1)
    assert b - a == pytest.approx(0.5e-3, abs=1e-12)


# ------------------------------------------------ gears
def test_a_gears_size_and_volume() -> None:
    mesh = spur_gear(24, module=2.5e-3, width=0.012, bore=8e-3)
    radius = np.linalg.norm(mesh.vertices[:, :2], axis=1)
    assert radius.max() == pytest.approx(0.5 * 24 * 2.5e-3 + 2.5e-3, rel=1e-12)
    assert radius.min() == pytest.approx(8e-3, rel=1e-12)
    outline = gear_outline(24, 2.5e-3)
    x, y = outline.T
    area = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    hole = 0.5 * len(outline) * 8e-3**2 * np.sin(2.0 * np.pi / len(outline))
    assert mesh.moments().volume == pytest.approx(0.012 * (area - hole), rel=1e-12)


@pytest.mark.parametrize("teeth", [10, 12, 18, 24, 60])
def test_end_faces_are_not_folded(teeth: int) -> None:
    mesh = spur_gear(teeth, bore=2e-3)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    flat = np.abs(np.abs(normal[:, 2]) - np.linalg.norm(normal, axis=1)) < 1e-15
    height = a[:, 2]
    assert (normal[flat & (height > 0.0), 2] > 0.0).all()
    assert (normal[flat & (height < 0.0), 2] < 0.0).all()


def test_flanks_are_involutes() -> None:
    """A string unwound from the base circle: from its foot to the flank it is as long as the arc
    it has left."""
    teeth, module = 24, 2.5e-3
    base = 0.5 * teeth * module * np.cos(np.deg2rad(20.0))
    outline = gear_outline(teeth, module)
    flank = outline[1:9]  # one side, from root to tip, seen from the middle of the tooth
    radius = np.linalg.norm(flank, axis=1)
    on_involute = radius > base
    assert on_involute.sum() >= 6
    string = np.sqrt(radius[on_involute] ** 2 - base**2)
    foot = np.arctan2(flank[on_involute, 1], flank[on_involute, 0]) + np.arctan2(string, base)
    unwound = string - base * foot
    assert unwound == pytest.approx(np.full(len(unwound), unwound[0]), abs=1e-15)


def test_two_gears_in_mesh_do_not_overlap() -> None:
    """Turned together through one tooth, in sixteen steps, at the right distance."""
    module, (m, n) = 2.5e-3, (24, 18)
    one, two = gear_outline(m, module), gear_outline(n, module)
    gap = np.pi / n  # the second shows the first a gap; its tooth is turned by half a pitch
    away = np.array([0.5 * module * (m + n), 0.0])
    for step in range(16):
        angle = 2.0 * np.pi / m * step / 16.0
        a = _turn2(one, angle)
        b = _turn2(two, np.pi + gap - angle * m / n) + away
        assert not _within(b, a).any()
        assert not _within(a, b).any()
    # half a module nearer they do
    assert _within(b - np.array([0.5 * module, 0.0]), a).any()


def _turn2(points: Array, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    turned: Array = points @ np.array([[c, s], [-s, c]])
    return turned


def _within(points: Array, polygon: Array) -> NDArray[np.bool_]:
    """Whether points are within a polygon, by crossings of a ray."""
    x, y = points[:, None, 0], points[:, None, 1]
    (x0, y0), (x1, y1) = polygon.T, np.roll(polygon, -1, axis=0).T
    crosses = (y0 > y) != (y1 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    found: NDArray[np.bool_] = np.count_nonzero(crosses & (x < at), axis=1) % 2 == 1
    return found


def test_sizes_that_make_no_part_are_refused() -> None:
    cases: tuple[tuple[Callable[[], Mesh], str], ...] = (
        (lambda: spur_gear(4), "spur_gear teeth: out of range, got 4"),
        (lambda: spur_gear(24, bore=0.03), "spur_gear bore: "),
        (lambda: spur_gear(24, module=-1.0), "spur_gear module"),
        (lambda: bolt(1e-3), "bolt length"),
        (lambda: nut(0.1), "nut clearance"),
    )
    for make, words in cases:
        with pytest.raises(SceneError, match=words):
            make()
