"""Distance fields against brute force and closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.surface import signed_distance

import tangere as tg
from tangere.collision import distance_field as module
from tangere.collision.distance_field import bodies_of, distance_field, sample_field
from tangere.errors import SceneError
from tangere.geometry.shapes import joined
from tangere.maths.vec import Array, IntArray
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


def nodes(field: module.Field, count: int = 300, seed: int = 7) -> tuple[Array, Array]:
    """Places and values of some nodes."""
    rng = np.random.default_rng(seed)
    at = np.stack([rng.integers(0, n, count) for n in field.values.shape], axis=1)
    return field.origin + field.spacing * at, field.values[tuple(at.T)].astype(np.float64)


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
    field = distance_field(*surface, spacing=spacing)
    places, values = nodes(field, 200)
    assert values == pytest.approx(union_distance(places, surface), abs=SINGLE)


@pytest.mark.parametrize(("shape", "spacing"), [(spoon(), 1.2e-3), (cup(), 2.5e-3)])
def test_utensils_agree_with_brute_force(shape: tg.Mesh, spacing: float) -> None:
    """In the band to rounding; beyond, passing on may miss the nearest triangle by a little."""
    field = distance_field(*shape.surface(), spacing=spacing)
    places, values = nodes(field, 200)
    expected = union_distance(places, shape.surface())
    near = np.abs(expected) < module.BAND * spacing
    assert near.sum() > 20
    assert values[near] == pytest.approx(expected[near], abs=SINGLE)
    assert values == pytest.approx(expected, abs=0.1 * spacing)
    assert (np.sign(values) == np.sign(expected)).all()


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
def test_beyond_the_grid_a_value_is_a_lower_bound() -> None:
    surface = tg.Box((0.1, 0.06, 0.03)).surface()
    field = distance_field(*surface, spacing=0.01)
    rng = np.random.default_rng(5)
    points = rng.uniform(-0.4, 0.4, (200, 3))
    values, _ = sample_field(field, points)
    true = signed_distance(points, *surface)
    outside = (np.abs(points) > 0.11).any(axis=1)
    assert outside.sum() > 50
    assert (values[outside] <= true[outside] + SINGLE).all()
    assert (values[outside] >= field.margin).all()


@pytest.mark.nojit
def test_an_open_surface_is_refused_in_one_line() -> None:
    vertices, faces = tg.Box((0.1, 0.1, 0.1)).surface()
    with pytest.raises(SceneError, match=r"^Lid: open surface, .* close the holes") as caught:
        distance_field(vertices, faces[1:], what="Lid")
    assert "\n" not in str(caught.value)


@pytest.mark.nojit
def test_a_spacing_beyond_memory_is_refused() -> None:
    with pytest.raises(SceneError, match=r"spacing of 1e-05 m makes 1e\+12 nodes"):
        distance_field(*tg.Box((0.1, 0.1, 0.1)).surface(), spacing=1e-5)


@pytest.mark.nojit
def test_the_spacing_follows_thickness_and_size() -> None:
    def spacing(shape: tg.Box) -> float:
        return module.choose_spacing(*shape.surface())

    assert spacing(tg.Box((0.1, 0.1, 0.004))) == pytest.approx(0.001)  # a quarter of its thickness
    assert spacing(tg.Box((0.1, 0.1, 0.1))) == pytest.approx(0.1 / 64)
    assert spacing(tg.Box((0.1, 0.01, 0.0001))) == pytest.approx(0.1 / 400)


@pytest.mark.nojit
def test_memory_bounds_the_spacing() -> None:
    extent = np.array([1.0, 1.0, 1.0])
    cube = tg.Compound(
        [tg.Box((1, 1, 0.004)), tg.Box((0.004, 1, 1))],
        [((0, 0, 0), (1, 0, 0, 0)), ((0, 0, 0), (1, 0, 0, 0))],
    )
    h = module.choose_spacing(*cube.surface())
    assert module._node_count(extent, h, 0.0) <= module.MAX_NODES
    assert module._node_count(extent, h / 1.2, 0.0) > module.MAX_NODES


@pytest.mark.nojit
def test_a_field_is_kept_on_disk_and_a_damaged_file_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surface = tg.Box((0.1, 0.1, 0.1)).surface()
    first = distance_field(*surface, spacing=0.02)
    (path,) = (tmp_path / "fields").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(module, "build", lambda *_: pytest.fail("built twice"))
        again = distance_field(*surface, spacing=0.02)
    assert np.array_equal(first.values, again.values)
    assert again[2:] == first[2:]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    repaired = distance_field(*surface, spacing=0.02)
    assert np.array_equal(first.values, repaired.values)
    distance_field(*surface, spacing=0.021)
    assert len(list((tmp_path / "fields").iterdir())) == 2
