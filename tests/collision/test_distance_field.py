"""Distance fields against brute force and closed forms."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.surface import signed_distance, unsigned_distance, winding_number
from scipy.spatial import cKDTree

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.collision import distance_field as module
from tangere.collision import field_build
from tangere.collision.closed_surface import bodies_of
from tangere.collision.distance_field import distance_field, sample_field
from tangere.collision.field_build import BAND, FAR_BAND, Field, build
from tangere.collision.field_nodes import EDGE, FAR, SIDE
from tangere.errors import SceneError
from tangere.geometry.shapes import joined
from tangere.maths.vec import Array, IntArray
from tangere.scene.jaws import lower_jaw
from tangere.scene.lofts import loft
from tangere.scene.utensils import cup, spoon

Surface = tuple[Array, IntArray]

# Values are kept in single precision.
SINGLE = 1e-7


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cache_root", lambda: tmp_path)


def torus(ring: float, tube: float, m: int, n: int) -> Surface:
    """A torus about z of m × n × 2 triangles."""
    a, b = np.meshgrid(2 * np.pi * np.arange(m) / m, 2 * np.pi * np.arange(n) / n, indexing="ij")
    r = ring + tube * np.cos(b)
    points = np.stack((r * np.cos(a), r * np.sin(a), tube * np.sin(b)), axis=2).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(m), np.arange(n), indexing="ij"))
    here, right = i * n + j, (i + 1) % m * n + j
    up, both = i * n + (j + 1) % n, (i + 1) % m * n + (j + 1) % n
    faces = np.concatenate((np.stack((here, right, both), 1), np.stack((here, both, up), 1)))
    return points, faces.astype(np.int32)


def block_nodes(field: Field, count: int = 300, seed: int = 7) -> tuple[Array, Array]:
    """Places and values of some nodes of blocks."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(field.table >= 0)
    chosen = cells[rng.integers(0, len(cells), count)]
    at = rng.integers(0, EDGE, (count, 3))
    values = field.values[(field.table[tuple(chosen.T)], *at.T)].astype(np.float64)
    return field.origin + field.spacing * (SIDE * chosen + at), values


def coarse_nodes(field: Field, count: int = 300, seed: int = 8) -> tuple[Array, Array]:
    """Places and values of some coarse nodes."""
    rng = np.random.default_rng(seed)
    at = np.stack([rng.integers(0, n, count) for n in field.coarse.shape], axis=1)
    values = field.coarse[tuple(at.T)].astype(np.float64)
    return field.origin + FAR * field.spacing * at, values


def anywhere(field: Field, count: int, seed: int = 5) -> Array:
    """Points in and around the cells."""
    rng = np.random.default_rng(seed)
    size = SIDE * field.spacing * np.array(field.table.shape)
    return np.asarray(field.origin + size * rng.uniform(-0.2, 1.2, (count, 3)))


def in_blocks(field: Field, points: Array) -> NDArray[np.bool_]:
    """Whether the cells that points lie in have blocks."""
    cell = np.floor((points - field.origin) / (SIDE * field.spacing)).astype(int)
    known: NDArray[np.bool_] = np.logical_and.reduce(
        (cell >= 0) & (cell < field.table.shape), axis=1
    )
    known[known] = field.table[tuple(cell[known].T)] >= 0
    return known


def union_distance(points: Array, surface: Surface) -> Array:
    """The least signed distance over the solids of a surface."""
    vertices, faces = surface
    each = [signed_distance(points, vertices, solid) for solid in bodies_of(vertices, faces)]
    return np.asarray(np.min(each, axis=0))


def two_boxes() -> Surface:
    shape = tg.Compound(
        [tg.Box((0.1, 0.04, 0.04)), tg.Box((0.04, 0.04, 0.1))],
        [((0, 0, 0), (1, 0, 0, 0)), ((0.03, 0.003, 0.03), (0.9, 0.1, 0.2, 0.3))],
    )
    return shape.surface()


def hollow_box() -> Surface:
    """A box with a cubic cavity: the inner surface points inwards."""
    outer, (inner, faces) = tg.Box((0.1, 0.1, 0.1)).surface(), tg.Box((0.05, 0.05, 0.05)).surface()
    return joined([outer, (inner, faces[:, ::-1])])


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("surface", "spacing"),
    [
        (tg.Box((0.1, 0.06, 0.03)).surface(), 0.0101),
        (tg.Cone(0.05, 0.1, facets=5).surface(), 0.0101),
        (two_boxes(), 0.0101),
        (hollow_box(), 0.0151),
    ],
    ids=["box", "cone", "overlapping boxes", "box with a cavity"],
)
def test_every_node_has_the_distance_that_brute_force_finds(
    surface: Surface, spacing: float
) -> None:
    """Nodes of blocks near the surface, and coarse ones as far as they are exact."""
    field = distance_field(*surface, spacing=spacing)
    places, values = block_nodes(field, 200)
    true = union_distance(places, surface)
    near = np.abs(true) < field.margin
    assert near.sum() > 50
    assert values[near] == pytest.approx(true[near], abs=SINGLE)
    assert (np.abs(values[~near]) >= field.margin - SINGLE).all()
    assert (values * true >= -SINGLE * np.abs(true)).all()  # of the same sign
    places, values = coarse_nodes(field, 100)
    true = union_distance(places, surface)
    near = np.abs(true) < FAR_BAND * FAR * spacing
    assert near.sum() > 30
    assert values[near] == pytest.approx(true[near], abs=SINGLE)
    assert (values * true >= -SINGLE * np.abs(true)).all()


@pytest.mark.parametrize(("shape", "spacing"), [(spoon(), 1.2e-3), (cup(), 1.5e-3)])
def test_utensils_agree_with_brute_force(shape: tg.Mesh, spacing: float) -> None:
    """In the band to rounding; beyond, passing on may miss the nearest triangle by a little."""
    field = distance_field(*shape.surface(), spacing=spacing)
    places, values = block_nodes(field, 200)
    expected = union_distance(places, shape.surface())
    near = np.abs(expected) < BAND * spacing
    assert near.sum() > 20
    assert values[near] == pytest.approx(expected[near], abs=SINGLE)
    assert (np.sign(values) == np.sign(expected)).all()
    places, values = coarse_nodes(field, 200)
    expected = union_distance(places, shape.surface())
    assert values == pytest.approx(expected, abs=0.1 * FAR * spacing)
    assert (np.sign(values) == np.sign(expected)).all()


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("surface", "spacing"),
    [(hollow_box(), 3e-3), (two_boxes(), 2.5e-3), (tg.Box((0.1, 0.1, 0.004)).surface(), 2e-3)],
    ids=["box with a cavity", "overlapping boxes", "sheet"],
)
def test_anywhere_the_sign_is_right_and_outside_no_value_is_too_large(
    surface: Surface, spacing: float
) -> None:
    """The promise that lets balls be left out: φ ≤ distance outside, ≥ margin beyond the blocks."""
    field = distance_field(*surface, spacing=spacing)
    points = anywhere(field, 400)
    values, _ = sample_field(field, points)
    true = union_distance(points, surface)
    clear = np.abs(true) > 0.9 * spacing  # edges come out rounded
    assert (np.sign(values[clear]) == np.sign(true[clear])).all()
    assert (values <= true + 0.5 * spacing).all()  # at sharp edges, between nodes
    coarse = ~in_blocks(field, points)
    beyond = coarse & (true > 0.0)
    assert beyond.sum() > 100
    assert (values[beyond] <= true[beyond] + SINGLE).all()
    assert (values[beyond] >= field.margin).all()
    deep = coarse & (true < 0.0)
    assert (values[deep] <= -field.margin).all()
    assert values[deep] == pytest.approx(true[deep], abs=FAR * spacing)


def test_a_jaw_agrees_with_the_nearest_of_its_triangles() -> None:
    """40,180 triangles; the oracle looks at all whose middles are near enough to matter."""
    shape = lower_jaw()
    vertices, faces = shape.surface()
    h = 4e-4
    field = distance_field(vertices, faces, spacing=h)
    rng = np.random.default_rng(11)
    middles = vertices[faces].mean(axis=1)
    radius = np.linalg.norm(vertices[faces] - middles[:, None], axis=2).max()
    tree = cKDTree(middles)
    places, values = block_nodes(field, 150)
    for place, value in zip(places, values, strict=True):
        if abs(value) < BAND * h:
            around = tree.query_ball_point(place, abs(value) + radius + h)
            assert abs(value) == pytest.approx(
                unsigned_distance(place[None], vertices, faces[around])[0], abs=SINGLE
            )
    points = middles[rng.integers(0, len(middles), 60)] + 2e-3 * rng.normal(size=(60, 3))
    signed, _ = sample_field(field, points)
    inside = winding_number(points, vertices, faces) > 0.5
    clear = np.abs(signed) > h
    assert clear.sum() > 20
    assert ((signed < 0.0) == inside)[clear].all()


@pytest.mark.nojit
def test_a_cavity_is_outside() -> None:
    field = distance_field(*hollow_box(), spacing=0.01)
    values, _ = sample_field(field, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0375], [0.0, 0.0, 0.06]])
    # nodes a spacing apart around the cavity's middle, where the field has its ridge
    assert values == pytest.approx([0.025, -0.0125, 0.01], abs=0.005)
    assert values[0] > 0.0 > values[1]


@pytest.mark.parametrize("name", ["sphere", "torus"])
def test_interpolated_values_converge_to_the_closed_form(name: str) -> None:
    """Trilinear values of a smooth field have an error of h² κ: a half h, a quarter error.

    The meshes are fine enough for their own error, 1/4 of the finest h² κ at most, to be seen only
    in the last ratio.
    """
    rng = np.random.default_rng(3)
    way = rng.normal(size=(2000, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    off = rng.uniform(-0.004, 0.004, 2000)
    if name == "sphere":
        surface = _ball(0.05, 120)
        points = (0.05 + off)[:, None] * way
    else:
        surface = torus(0.05, 0.02, 192, 96)
        a, b = rng.uniform(0, 2 * np.pi, (2, 2000))
        ring = 0.05 + (0.02 + off) * np.cos(b)
        points = np.stack((ring * np.cos(a), ring * np.sin(a), (0.02 + off) * np.sin(b)), axis=1)
    errors = []
    for spacing in (8e-3, 4e-3, 2e-3):
        field = distance_field(*surface, spacing=spacing)
        values, gradients = sample_field(field, points)
        errors.append(np.abs(values - off).max())
        if name == "sphere":
            size = np.linalg.norm(gradients, axis=1)
            cosine = np.einsum("ij,ij->i", gradients, way) / size
            assert cosine.min() > np.cos(0.5 * spacing / 0.05)  # less than half a cell seen from 0
            assert size == pytest.approx(1.0, abs=spacing / 0.05)
    assert errors[0] / errors[1] > 3.0
    assert errors[1] / errors[2] > 2.5
    assert errors[2] < 0.3 * (2e-3) ** 2 / 0.02


def _ball(radius: float, rings: int) -> Surface:
    """A sphere of rings and sectors, poles included."""
    angle = np.pi * np.arange(1, rings) / rings
    around = 2 * np.pi * np.arange(rings) / rings
    ring = np.stack(
        (
            np.sin(angle)[:, None] * np.cos(around),
            np.sin(angle)[:, None] * np.sin(around),
            np.repeat(-np.cos(angle)[:, None], rings, axis=1),
        ),
        axis=2,
    )
    return loft(radius * ring, np.array([0, 0, -radius]), np.array([0, 0, radius]))


@pytest.mark.nojit
def test_a_flat_face_is_exact_between_nodes() -> None:
    """Above the middle of a face the distance is linear, and so is the interpolation."""
    field = distance_field(*tg.Box((0.1, 0.1, 0.1)).surface(), spacing=0.0103)
    heights = np.linspace(-0.015, 0.03, 16)
    points = np.column_stack((np.full(16, 0.003), np.full(16, -0.004), 0.05 + heights))
    values, gradients = sample_field(field, points)
    assert values == pytest.approx(heights, abs=SINGLE)
    assert gradients == pytest.approx(np.tile([0.0, 0.0, 1.0], (16, 1)), abs=1e-4)


@pytest.mark.nojit
def test_the_gradient_is_the_central_difference_of_values() -> None:
    """To rounding, also where its nodes lie in two blocks; then it is continuous as values are."""
    surface = tg.Cone(0.05, 0.1, facets=5).surface()
    h = 4e-3
    field = distance_field(*surface, spacing=h)
    points = anywhere(field, 1500)
    points = points[np.abs(sample_field(field, points)[0]) < (BAND - 1.0) * h]
    assert len(points) > 50
    _, gradients = sample_field(field, points)
    for k in range(3):
        step = h * np.eye(3)[k]
        ahead, behind = sample_field(field, points + step)[0], sample_field(field, points - step)[0]
        assert gradients[:, k] == pytest.approx((ahead - behind) / (2.0 * h), abs=1e-9)


@pytest.mark.nojit
def test_values_and_gradients_are_continuous_near_the_surface() -> None:
    """Along lines through many blocks nothing changes by more than slope times step."""
    surface = tg.Box((0.1, 0.06, 0.03)).surface()
    h = 2e-3
    field = distance_field(*surface, spacing=h)
    step = 1e-3 * h
    for start in ((0.0, 0.02, 0.0151), (0.045, 0.025, 0.014), (0.03, 0.0, 0.012)):
        t = step * np.arange(1500 if JIT_DISABLED else 20_000)
        points = np.array(start) + t[:, None] * np.array([0.48, -0.6, 0.08])
        points = points[(np.abs(points) < [0.055, 0.035, 0.02]).all(axis=1)]
        values, gradients = sample_field(field, points)
        assert np.abs(np.diff(values)).max() < 1.8 * step  # |∇| of trilinear values: up to √3
        assert np.abs(np.diff(gradients, axis=0)).max() < 4.0 * step / h


@pytest.mark.nojit
def test_blocks_share_the_nodes_of_their_faces() -> None:
    field = distance_field(*two_boxes(), spacing=3e-3)
    for axis in range(3):
        one = np.moveaxis(field.table, axis, 0)[:-1]
        two = np.moveaxis(field.table, axis, 0)[1:]
        both = (one >= 0) & (two >= 0)
        last = np.take(field.values[one[both]], SIDE, axis=1 + axis)
        first = np.take(field.values[two[both]], 0, axis=1 + axis)
        exact = np.abs(last) < field.margin
        assert exact.any()
        assert last[exact] == pytest.approx(first[exact], abs=SINGLE)


@pytest.mark.nojit
def test_nothing_is_left_of_a_surface_within_another_part() -> None:
    """A beam through a cube: its walls within are no surface, and take no memory."""
    cube = tg.Compound(
        [tg.Box((0.1, 0.1, 0.1)), tg.Box((0.2, 0.01, 0.01))],
        [((0, 0, 0), (1, 0, 0, 0)), ((0.01, 0, 0), (1, 0, 0, 0))],
    )
    h = 4e-3
    field = distance_field(*cube.surface(), spacing=h)
    x = np.linspace(-0.02, 0.02, 17)
    points = np.column_stack((x, np.full(17, 0.005), np.zeros(17)))  # on a wall of the beam
    values, _ = sample_field(field, points)
    expected = union_distance(points, cube.surface())
    assert (values < -field.margin + 1e-9).all()
    assert values == pytest.approx(expected, abs=FAR * h)
    cells = np.argwhere(field.table >= 0)
    middles = field.origin + SIDE * h * (cells + 0.5)
    assert (np.abs(middles).max(axis=1) > 0.05 - field.margin - SIDE * h).all()


@pytest.mark.nojit
def test_beyond_the_grid_a_value_is_a_lower_bound() -> None:
    surface = tg.Box((0.1, 0.06, 0.03)).surface()
    field = distance_field(*surface, spacing=0.01)
    rng = np.random.default_rng(5)
    points = rng.uniform(-0.4, 0.4, (200, 3))
    values, gradients = sample_field(field, points)
    true = signed_distance(points, *surface)
    last = field.origin + SIDE * field.spacing * np.array(field.table.shape)
    outside = ((points < field.origin) | (points > last)).any(axis=1)
    assert outside.sum() > 50
    assert (values[outside] <= true[outside] + SINGLE).all()
    assert (values[outside] >= field.margin).all()
    away = np.einsum("ij,ij->i", gradients[outside], points[outside])
    assert (away > 0.0).all()
    if not JIT_DISABLED:  # compiled code reads no memory for what is no number
        assert np.isnan(sample_field(field, [[np.nan, 0.0, 0.0]])[0][0])


@pytest.mark.nojit
def test_an_open_surface_is_refused_in_one_line() -> None:
    vertices, faces = tg.Box((0.1, 0.1, 0.1)).surface()
    with pytest.raises(SceneError, match=r"^Lid: open surface, .* close the holes") as caught:
        distance_field(vertices, faces[1:], what="Lid")
    assert "\n" not in str(caught.value)


@pytest.mark.nojit
def test_a_spacing_beyond_memory_is_refused_with_one_that_fits() -> None:
    surface = tg.Box((0.1, 0.1, 0.1)).surface()
    with pytest.raises(
        SceneError, match=r"spacing 1e-06 m at .* takes .* MB .* at most 512"
    ) as caught:
        distance_field(*surface, spacing=1e-6)
    assert "\n" not in str(caught.value)
    told = float(str(caught.value).split("give a spacing of ")[1].split()[0])
    assert module.choose_spacing(*surface, 1.05 * told) == 1.05 * told


@pytest.mark.nojit
def test_a_tolerance_of_the_body_s_size_is_refused_before_anything_is_built() -> None:
    """Each triangle would be tested against nearly all nodes."""
    surface = spoon().surface()
    with pytest.raises(
        SceneError, match=r"distance tests, .* give a spacing of .* m or more, or a"
    ):
        distance_field(*surface, spacing=5e-4, tolerance=0.1)
    h = module.choose_spacing(*surface, tolerance=0.1)
    tests = field_build.estimated_tests(field_build.extent_of(*surface), h, 0.1)
    assert tests <= module.MAX_TESTS


@pytest.mark.nojit
def test_the_spacing_follows_thickness_and_size() -> None:
    def spacing(shape: tg.Shape) -> float:
        return module.choose_spacing(*shape.surface())

    assert spacing(tg.Box((0.1, 0.1, 0.004))) == pytest.approx(0.001)  # a quarter of its thickness
    assert spacing(tg.Box((0.1, 0.1, 0.1))) == pytest.approx(0.1 / 64)
    assert spacing(tg.Box((0.1, 0.01, 0.0001))) == pytest.approx(0.1 / 1000)


def test_the_spacing_follows_fine_triangles() -> None:
    ball = _ball(0.05, 120)  # its triangles are finer than a quarter of its thickness
    legs = np.sqrt(8.0 * np.pi * 0.05**2 / len(ball[1]))
    assert module.choose_spacing(*ball) == pytest.approx(legs, rel=1e-3)


@pytest.mark.nojit
def test_memory_bounds_the_spacing() -> None:
    surface = tg.Compound(
        [tg.Box((1, 1, 0.002)), tg.Box((0.002, 1, 1))],
        [((0, 0, 0), (1, 0, 0, 0)), ((0, 0, 0), (1, 0, 0, 0))],
    ).surface()
    h = module.choose_spacing(*surface)
    extent = field_build.extent_of(*surface)
    assert field_build.estimated_bytes(extent, h) <= module.USUAL_BYTES
    assert field_build.estimated_bytes(extent, h / 1.06) > module.USUAL_BYTES


@pytest.mark.parametrize("h", [8e-4, 1.6e-3, 3.2e-3])
def test_the_estimate_of_memory_is_high_but_not_by_much(h: float) -> None:
    for surface in (cup().surface(), torus(0.05, 0.02, 48, 24), tg.Box((0.1, 0.1, 0.1)).surface()):
        made = build(*surface, h).nbytes
        estimated = field_build.estimated_bytes(field_build.extent_of(*surface), h)
        assert made < estimated < 2.0 * made + 1e5


def test_memory_grows_with_the_surface_over_the_spacing_squared() -> None:
    surface = torus(0.05, 0.02, 96, 48)
    sizes = [build(*surface, h).values.nbytes for h in (1.6e-3, 8e-4, 4e-4)]
    assert np.array(sizes[1:]) / sizes[:-1] == pytest.approx([4.0, 4.0], rel=0.15)


def test_one_core_or_two_make_the_same_field(monkeypatch: pytest.MonkeyPatch) -> None:
    surface = torus(0.05, 0.02, 96, 48)
    both = build(*surface, 8e-4)
    assert len(both.values) > 2 * field_build.TURN
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    one = build(*surface, 8e-4)
    assert np.array_equal(both.values, one.values)
    assert np.array_equal(both.table, one.table)


@pytest.mark.nojit
def test_building_tells_how_far_it_is() -> None:
    told: list[tuple[float, str]] = []
    build(*two_boxes(), 5e-3, 0.0, lambda done, doing: told.append((done, doing)))
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert {"coarse distances", "distances near the surface", "union of the parts"} <= {
        doing for _, doing in told
    }


def test_hundreds_of_separate_parts() -> None:
    """A cloud of small boxes: one field, each part a window of its own."""
    boxes = [tg.Box((1e-3, 1e-3, 1e-3)).surface() for _ in range(216)]
    places = 4e-3 * np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)
    surface = joined([(v + p, t) for (v, t), p in zip(boxes, places, strict=True)])
    assert len(bodies_of(*surface)) == 216
    field = build(*surface, 2.5e-4)
    rng = np.random.default_rng(1)
    points = rng.uniform(-1e-3, 2.1e-2, (500, 3))
    values, _ = sample_field(field, points)
    box = np.abs(points[:, None] - places[None]) - 5e-4
    far = np.linalg.norm(np.maximum(box, 0.0), axis=2) + np.minimum(box.max(axis=2), 0.0)
    true = far.min(axis=1)
    near = np.abs(true) < field_build.BAND * 2.5e-4
    assert near.sum() > 50
    assert values[near] == pytest.approx(true[near], abs=1.3e-4)
    assert (values <= true + 1.3e-4).all()


@pytest.mark.nojit
def test_a_field_is_kept_on_disk_and_a_damaged_file_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surface = tg.Box((0.1, 0.1, 0.1)).surface()
    first = distance_field(*surface, spacing=0.02)
    (path,) = (tmp_path / "fields").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(module, "build", lambda *_: pytest.fail("built twice"))
        patch.setattr(module, "checked_mesh", lambda *_: pytest.fail("checked twice"))
        again = distance_field(*surface, spacing=0.02)
    for name, value in first._asdict().items():
        assert np.array_equal(value, getattr(again, name))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    repaired = distance_field(*surface, spacing=0.02)
    assert np.array_equal(first.values, repaired.values)
    distance_field(*surface, spacing=0.021)
    assert len(list((tmp_path / "fields").iterdir())) == 2
