from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.touching import (
    Array,
    Solid,
    corners_of_contact,
    overlapping,
    principal,
    way_to_contact,
)

import tangere as tg
from tangere.contact.formation.columns import PC_A, PC_B, PC_BODY, PC_ID
from tangere.contact.formation.identify import Formations
from tangere.errors import SceneError
from tangere.geometry.boundary import Boundary, block_with_hole, boundary_of, half_space
from tangere.maths.rotations import quat_product, quaternion_of, rotation_of

PEG, BLOCK, HOLE = (0.03, 0.03, 0.06), (0.1, 0.1, 0.04), (0.036, 0.036)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
STILL = (np.zeros(3), np.array(UPRIGHT))
# For exactly placed bodies: far above rounding, far below any distance that is not meant to be 0.
THIN = 1e-8


def turn(axis: tuple[float, float, float], degrees: float) -> Array:
    half, way = 0.5 * np.deg2rad(degrees), np.asarray(axis, float)
    return np.array([np.cos(half), *(np.sin(half) * way / np.linalg.norm(way))])


def random_turn(rng: np.random.Generator, tilted: bool) -> Array:
    """Aligned, turned about one axis of the body, or any which way; by a few degrees if tilted."""
    kind = rng.integers(3)
    angle = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 9.0 if tilted else 180.0)
    if kind == 0:
        return np.array(UPRIGHT)
    if kind == 1:
        return turn(tuple(np.eye(3)[rng.integers(3)]), angle)
    return turn(tuple(rng.normal(size=3)), angle)


def touch(rng: np.random.Generator, solid: Solid, fixed: Solid, hole: bool) -> bool:
    """Move a solid until it touches, and slide it on from contact to contact up to two times."""
    tilted = hole and rng.random() < 0.6
    q = random_turn(rng, tilted)
    start = rng.uniform(-1, 1, 3) * (0.004, 0.004, 0.02) if tilted else rng.normal(size=3) * 0.15
    solid.place(start, rotation_of(q))
    if overlapping(solid, fixed):
        return False
    u = rng.normal(size=3) if tilted else rng.uniform(-1, 1, 3) * 0.04 - start
    normals: list[Array] = []
    for _ in range(1 + rng.integers(3)):
        for n in normals:
            u = u - (u @ n) * n
        if len(normals) == 2:
            u = np.cross(normals[0], normals[1]) * rng.choice([-1.0, 1.0])
        if np.linalg.norm(u) < 1e-3:
            break
        u /= np.linalg.norm(u)
        way = way_to_contact(solid, fixed, u)
        if not np.isfinite(way):
            break
        solid.place(solid.position + way * u, solid.rotation)
        normals += [x for x in _normals(solid, fixed) if not normals or abs(x @ normals[0]) < 0.99]
        normals = normals[:2]
        u = rng.normal(size=3)
    return bool(normals) and not overlapping(solid, fixed)


def in_doubt(a: Solid, b: Solid) -> bool:
    """Whether something is off a contact by less than the micrometre to which formations hold.

    An edge almost along a face, a vertex almost in it, a corner of the contact almost on the rim.
    """
    lean = np.abs(np.concatenate(((a.ways @ b.normals.T).ravel(), (b.ways @ a.normals.T).ravel())))
    if ((lean > 1e-9) & (lean < 1e-4)).any():
        return True
    off = [np.abs(a.heights(b.points)).ravel(), np.abs(b.heights(a.points)).ravel()]
    for x in corners_of_contact(a, b):
        for s in (a, b):
            t = np.sum((x - s.tails) * s.ways, axis=1) / np.sum(s.ways * s.ways, axis=1)
            feet = s.tails + np.clip(t, 0.0, 1.0)[:, None] * s.ways
            off += [np.linalg.norm(s.points - x, axis=1), np.linalg.norm(feet - x, axis=1)]
    away = np.concatenate(off)
    return bool(((away > 1e-8) & (away < 3e-6)).any())


def _normals(a: Solid, b: Solid) -> list[Array]:
    """Directions of the contact planes."""
    found = []
    for i, j in principal(a, b):
        if i in a.faces:
            found.append(a.normals[np.flatnonzero(a.faces == i)[0]])
        elif j in b.faces:
            found.append(b.normals[np.flatnonzero(b.faces == j)[0]])
        elif i in a.edges and j in b.edges:
            one = a.ways[np.flatnonzero(a.edges == i)[0]]
            two = b.ways[np.flatnonzero(b.edges == j)[0]]
            found.append(np.cross(one, two) / np.linalg.norm(np.cross(one, two)))
    return found


def compare(a: Boundary, b: Boundary, hole: bool, count: int, seed: int) -> dict[int, int]:
    """Exactly placed bodies: the formation is that of brute force; how many had 1, 2 … contacts."""
    rng = np.random.default_rng(seed)
    finder = Formations(a, [(b, STILL)], layer=THIN, release=1.2 * THIN)
    solid, fixed = Solid(a), Solid(b)
    sizes: dict[int, int] = {}
    done, doubtful = 0, 0
    while done < count:
        if not touch(rng, solid, fixed, hole):
            continue
        if in_doubt(solid, fixed):
            doubtful += 1
            continue
        done += 1
        expected = principal(solid, fixed)
        finder.forget()
        rows, valid = finder.find(solid.position, quaternion_of(solid.rotation))
        found = {(int(row[PC_A]), int(row[PC_B])) for row in rows}
        names = [(a.names[i], b.names[j]) for i, j in expected ^ found]
        assert found == expected, (done, names, solid.position, solid.rotation)
        assert valid
        sizes[len(found)] = sizes.get(len(found), 0) + 1
    assert doubtful < 0.1 * done
    return sizes


@pytest.mark.compiled
def test_peg_and_hole_as_by_brute_force() -> None:
    peg, block = boundary_of(tg.Box(PEG)), block_with_hole(BLOCK, HOLE)
    sizes = compare(peg, block, hole=True, count=400, seed=1)
    assert {1, 2} <= set(sizes)


@pytest.mark.compiled
def test_two_boxes_as_by_brute_force() -> None:
    one, two = boundary_of(tg.Box(PEG)), boundary_of(tg.Box((0.05, 0.08, 0.02)))
    assert set(compare(one, two, hole=False, count=400, seed=2)) == {1}


@pytest.mark.slow
@pytest.mark.compiled
def test_many_poses_as_by_brute_force() -> None:
    peg, block = boundary_of(tg.Box(PEG)), block_with_hole(BLOCK, HOLE)
    compare(peg, block, hole=True, count=50_000, seed=3)
    compare(peg, boundary_of(tg.Box((0.05, 0.08, 0.02))), hole=False, count=50_000, seed=4)


def peg_in_block() -> Formations:
    """The top of the block, and of its hole, at z = 0."""
    block = (block_with_hole(BLOCK, HOLE), ((0.0, 0.0, -0.02), UPRIGHT))
    return Formations(boundary_of(tg.Box(PEG)), [block], names=("peg", "block"))


def leaning(degrees: float, depth: float) -> tuple[Array, Array]:
    """A peg that leans about y, its lower edge a depth below the layer over (0.034, 0.04, 0)."""
    tilt = np.deg2rad(degrees)
    height = 0.03 * np.cos(tilt) + 0.015 * abs(np.sin(tilt)) - depth
    return np.array([0.034, 0.04, height]), turn((0.0, 1.0, 0.0), degrees)


@pytest.mark.nojit
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_peg_is_laid_flat_and_slid_into_the_corner(noise: float) -> None:
    """The formations of the way down are these and no others, also with 0.01 mm and 0.01°."""
    rng = np.random.default_rng(5)
    f = peg_in_block()
    poses = [leaning(angle, -5e-4 * angle / 5.0) for angle in np.linspace(5.0, 0.0, 100)]
    poses += [(np.array([0.0, 0.0, -0.005]), np.array(UPRIGHT))]
    poses += [(np.array([x, 0.0, -0.005]), np.array(UPRIGHT)) for x in np.linspace(0, 3e-3, 50)]
    poses += [(np.array([3e-3, y, -0.005]), np.array(UPRIGHT)) for y in np.linspace(0, 3e-3, 50)]
    seen: list[tuple[str, ...]] = []
    for position, q in poses:
        shaken = position + noise * 1e-5 * rng.normal(size=3)
        wobble = turn(tuple(rng.normal(size=3)), noise * 0.01 * rng.normal())
        rows, valid = f.find(shaken, quat_product(wobble, q))
        assert valid
        names = f.describe(rows)
        if not seen or names != seen[-1]:
            seen.append(names)
    assert seen == [
        ("peg edge +x -z on block face +z",),
        ("peg face -z on block face +z",),
        (),
        ("peg face +x on block wall -x",),
        ("peg face +x on block wall -x", "peg face +y on block wall -y"),
    ]


@pytest.mark.nojit
def test_a_jammed_peg_touches_with_an_edge_and_a_face() -> None:
    """Tilted about y in the hole: its lower edge on one wall, its side on the rim across.

    Between the lower edge on one wall and the rim on the other lies the width of the hole:
    w cos θ + h sin θ = 36 mm for w = 30 mm and h, the length of the side below the rim.
    """
    f = peg_in_block()
    for degrees in (10.0, 12.0, 15.0):
        tilt = np.deg2rad(degrees)
        c, s = np.cos(tilt), np.sin(tilt)
        below = (0.036 - 0.03 * c) / s  # of the side, under the rim
        # the lower left edge (−15, −30) mm of the peg is on the wall at −18 mm
        x = -0.018 + 0.015 * c + 0.03 * s
        # the right side passes the rim (18, 0) mm, `below` above the lower right edge
        z = -(below - 0.03) * c + 0.015 * s
        rows, valid = f.find((x, 0.0, z), turn((0.0, 1.0, 0.0), degrees))
        assert valid
        assert set(f.describe(rows)) == {
            "peg edge -x -z on block wall +x",
            "peg face +x on block edge +z wall -x",
        }
        f.forget()


@pytest.mark.nojit
def test_the_last_formation_stays_for_three_frames() -> None:
    """At a tilt where edge and face are both admitted what came first is kept for a while."""
    f = peg_in_block()
    position, q = leaning(1.5, 9e-4)
    f.find(*leaning(0.0, 5e-4))
    names = [f.describe(f.find(position, q)[0]) for _ in range(6)]
    assert names[0] == ("peg face -z on block face +z",)
    f.forget()
    fresh = f.describe(f.find(position, q)[0])
    assert names[-1] == fresh


@pytest.mark.nojit
def test_the_table_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tangere._jit.cache_root", lambda: tmp_path)
    f = peg_in_block()
    assert not f.finder.table.keys.any()
    f.find((3e-3, 3e-3, -0.005), UPRIGHT)
    assert np.count_nonzero(f.finder.table.keys) >= 1
    f.save()
    again = peg_in_block()
    assert (again.finder.table.keys == f.finder.table.keys).all()
    assert (again.finder.table.verdicts == f.finder.table.verdicts).all()
    other = Formations(
        boundary_of(tg.Box(PEG)), [(block_with_hole(BLOCK, HOLE), ((0, 0, 0.1), UPRIGHT))]
    )
    assert not other.finder.table.keys.any()


@pytest.mark.nojit
def test_formations_without_a_fixed_body_are_refused() -> None:
    with pytest.raises(SceneError, match="no fixed body"):
        Formations(boundary_of(tg.Box(PEG)), [])


@pytest.mark.nojit
def test_several_bodies_are_told_apart() -> None:
    """A peg on the floor, beside a box that stands there."""
    box = boundary_of(tg.Box((0.1, 0.1, 0.1)))
    f = Formations(
        boundary_of(tg.Box(PEG)),
        [(half_space(), ((0, 0, 0), UPRIGHT)), (box, ((0.0, 0.0, 0.05), UPRIGHT))],
        names=("peg", "floor", "box"),
    )
    rows, valid = f.find((0.065 + 3e-4, 0.0, 0.03 + 2e-4), UPRIGHT)
    assert valid
    assert f.describe(rows) == ("peg face -z on floor", "peg face -x on box face +x")
    assert len(set(rows[:, PC_ID])) == 2
    assert rows[:, PC_BODY].tolist() == [0, 1]
