"""Condensed bodies against dense algebra, theory, and themselves from the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.fem import compliance as module
from tangere.fem import progress
from tangere.fem.compliance import CondensedBody, condense
from tangere.fem.elements import dofs_of, finite_elements, mass, rigid_modes, stiffness
from tangere.fem.grids import box_grid, clip, inner_wall, lips, near_top
from tangere.fem.material import ElasticMaterial
from tangere.geometry.shapes import Mesh
from tangere.geometry.tetmesh import TetMesh

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
PLASTIC = ElasticMaterial(700e6, 0.35, 950.0)
ORDERS = pytest.mark.parametrize("order", [1, 2])
# Solutions of systems of condition 1e5 and less, compared with dense inverses of the same.
SOLVED = 1e-9


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    return tmp_path / "compliances"


def block() -> TetMesh:
    """A box with an inner vertex, no longer regular."""
    mesh = box_grid((0.04, 0.03, 0.02), (3, 2, 2))
    shift = 0.001 * np.random.default_rng(3).standard_normal(mesh.vertices.shape).clip(-2, 2)
    return TetMesh(mesh.vertices + shift, mesh.tetrahedra)


BLOCK = block()
ROOT = np.flatnonzero(box_grid((0.04, 0.03, 0.02), (3, 2, 2)).vertices[:, 0] < -0.0199)


def matrices(order: int) -> tuple[Array, Array, Array]:
    """Nodes, dense stiffness and dense mass of the block."""
    fe = finite_elements(BLOCK, order)
    k, m = stiffness(fe, PLASTIC).toarray(), mass(fe, PLASTIC.density).toarray()
    return fe.nodes, k, m


def dense_clamped(order: int) -> Array:
    """K_ff⁻¹ with zero rows and columns for held nodes."""
    fe = finite_elements(BLOCK, order)
    _, k, _ = matrices(order)
    free = np.setdiff1d(np.arange(len(k)), dofs_of(fe.with_mid_edges(ROOT)))
    full = np.zeros_like(k)
    full[np.ix_(free, free)] = np.linalg.inv(k[np.ix_(free, free)])
    return full


def dense_free(order: int) -> Array:
    """Pᵀ K⁺ P with the Moore-Penrose inverse, which ties nothing."""
    nodes, k, m = matrices(order)
    r = rigid_modes(nodes, BLOCK.moments().centre)
    p = np.eye(len(k)) - m @ r @ np.linalg.solve(r.T @ m @ r, r.T)
    return np.asarray(p.T @ np.linalg.pinv(k, rcond=1e-12, hermitian=True) @ p)


def full_compliance(body: CondensedBody) -> Array:
    """The residual plus the share of the modes."""
    return np.asarray(body.compliance + body.modes.T @ np.diag(body.frequencies**-2.0) @ body.modes)


def assert_close(found: Array, exact: Array, share: float = SOLVED) -> None:
    assert found.shape == exact.shape
    assert np.abs(found - exact).max() <= share * np.abs(exact).max()


# ---------------------------------------------------------------- compliance


@ORDERS
@pytest.mark.parametrize("modes", [0, 5])
def test_clamped_body_has_the_inverse_stiffness(order: int, modes: int) -> None:
    body = condense(BLOCK, PLASTIC, order=order, fixed=ROOT, modes=modes)
    at = dofs_of(body.nodes)
    assert body.clamped
    assert_close(full_compliance(body), dense_clamped(order)[np.ix_(at, at)])
    held = np.isin(body.nodes, finite_elements(BLOCK, order).with_mid_edges(ROOT))
    assert held.sum() >= len(ROOT)
    assert (body.compliance[dofs_of(np.flatnonzero(held))] == 0.0).all()


@ORDERS
@pytest.mark.parametrize("modes", [0, 5])
def test_free_body_has_mean_axes(order: int, modes: int) -> None:
    body = condense(BLOCK, PLASTIC, order=order, modes=modes)
    at = dofs_of(body.nodes)
    assert not body.clamped
    assert_close(full_compliance(body), dense_free(order)[np.ix_(at, at)])
    assert (body.gravity == 0.0).all()
    assert (body.modal_gravity == 0.0).all()


def test_free_body_does_not_depend_on_what_is_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three corners tied by hand, x y z of one, two axes of the next, one of the third."""
    best = condense(BLOCK, PLASTIC, order=1).compliance
    nodes, _, _ = matrices(1)
    a = 0
    far = np.argsort(-np.linalg.norm(nodes - nodes[a], axis=1))
    b, c = int(far[0]), int(far[7])
    chosen = [3 * a, 3 * a + 1, 3 * a + 2, 3 * b + 1, 3 * b + 2, 3 * c + 2]
    r = rigid_modes(nodes, nodes.mean(axis=0))[chosen]
    assert np.linalg.cond(r / np.array([1, 1, 1, 0.02, 0.02, 0.02])) < 1e3  # it holds the body
    monkeypatch.setattr("scipy.linalg.qr", lambda *_, **__: (None, None, np.array(chosen)))
    monkeypatch.setattr(module, "CACHE_FORMAT", "another tie")
    assert_close(condense(BLOCK, PLASTIC, order=1).compliance, best)


@ORDERS
def test_free_body_keeps_momentum(order: int) -> None:
    """Rᵀ M C = 0, which every node must be a contact node for: one tetrahedron in four."""
    corners = np.array([(0, 0, 0), (1.0, 0.1, 0), (0.2, 1.1, 0), (0.1, 0.2, 0.9)])
    mesh = TetMesh(corners, [(0, 1, 2, 3)])
    body = condense(mesh, PLASTIC, order=order)
    fe = finite_elements(mesh, order)
    assert len(body.nodes) == len(fe.nodes)
    momentum = rigid_modes(fe.nodes, mesh.moments().centre).T @ mass(fe, PLASTIC.density).toarray()
    product = np.abs(momentum @ body.compliance).max()
    assert product <= 1e-12 * np.abs(momentum).max() * np.abs(body.compliance).max() * len(
        momentum.T
    )


@ORDERS
@pytest.mark.parametrize("fixed", [None, ROOT])
@pytest.mark.parametrize("modes", [0, 6])
def test_compliance_is_symmetric_and_takes_work(order: int, fixed: Any, modes: int) -> None:
    body = condense(BLOCK, PLASTIC, order=order, fixed=fixed, modes=modes)
    assert np.array_equal(body.compliance, body.compliance.T)
    values = np.linalg.eigvalsh(body.compliance)
    assert values[0] >= -1e-12 * np.linalg.eigvalsh(full_compliance(body))[-1]


def test_large_matrix_is_made_symmetric_tile_by_tile() -> None:
    matrix = np.random.default_rng(0).standard_normal((1100, 1100))
    mean = 0.5 * (matrix + matrix.T)
    module._symmetrize(matrix)
    assert np.array_equal(matrix, mean)


def test_lip_of_the_clip() -> None:
    """The lateral stiffness of a lip, as measured by an independent implementation."""
    mesh = clip()
    body = condense(
        mesh, PLASTIC, order=1, fixed=near_top(mesh, np.deg2rad(15)), contact=inner_wall(mesh)
    )
    _, right = lips(mesh)
    rows = 3 * np.searchsorted(body.nodes, right)
    flexibility = body.compliance[np.ix_(rows, rows)].mean(axis=1).mean()
    assert 1.0 / flexibility == pytest.approx(2919, abs=0.5)


# ---------------------------------------------------------------- contact nodes and surface


def area(points: Array, triangles: NDArray[np.int32]) -> Array:
    p, q, r = (points[triangles[:, i]] for i in range(3))
    return np.asarray(0.5 * np.cross(q - p, r - p).sum(axis=0))


def test_contact_surface_of_order_two_has_four_triangles_for_one() -> None:
    one, two = (condense(BLOCK, PLASTIC, order=order, fixed=ROOT) for order in (1, 2))
    assert len(two.triangles) == 4 * len(one.triangles)
    closed = Mesh(two.positions, two.triangles)  # closed and outward, or it is refused
    assert closed.moments().volume == pytest.approx(BLOCK.moments().volume, rel=1e-12)
    # V - E + F = 2, and every edge of the first is a node of the second
    assert len(two.nodes) == len(one.nodes) + 3 * len(one.triangles) // 2
    assert np.array_equal(one.nodes, BLOCK.boundary.vertices)
    assert np.array_equal(one.triangles, BLOCK.boundary.triangles)
    assert np.array_equal(two.positions, finite_elements(BLOCK, 2).nodes[two.nodes])


@ORDERS
def test_part_of_the_boundary(order: int) -> None:
    """Only the end that is not held can be touched; all is drawn, by matrices of its own."""
    end = np.flatnonzero(box_grid((0.04, 0.03, 0.02), (3, 2, 2)).vertices[:, 0] > 0.0199)
    part = condense(BLOCK, PLASTIC, order=order, fixed=ROOT, contact=end[::-1], modes=3)
    whole = condense(BLOCK, PLASTIC, order=order, fixed=ROOT, modes=3)
    count = 8 * (4 if order == 2 else 1)
    assert len(part.triangles) == count
    assert part.triangles.max() < len(part.nodes) == (9 if order == 1 else 25)
    assert (area(part.positions, part.triangles) @ (1, 0, 0)) > 0.0
    at = dofs_of(np.searchsorted(whole.nodes, part.nodes))
    assert_close(part.compliance, whole.compliance[np.ix_(at, at)])
    assert part.surface_index is None
    assert part.surface_compliance is not None
    assert part.surface_compliance.dtype == np.float32
    assert part.surface_compliance.shape == (3 * len(BLOCK.boundary.vertices), 3 * len(part.nodes))
    assert whole.surface_index is not None
    assert whole.surface_compliance is whole.surface_modes is whole.surface_gravity is None
    assert np.array_equal(whole.nodes[whole.surface_index], BLOCK.boundary.vertices)
    for body in (part, whole):
        assert np.array_equal(body.surface_positions, BLOCK.surface()[0])
        assert np.array_equal(body.surface_triangles, BLOCK.surface()[1])
    # the same loads, by the index and by the matrices
    rng = np.random.default_rng(5)
    forces, amplitudes = rng.standard_normal((len(part.nodes), 3)), rng.standard_normal(3)
    spread = np.zeros((len(whole.nodes), 3))
    spread[np.searchsorted(whole.nodes, part.nodes)] = forces
    gravity = (1e4, -2e4, 3e4)
    drawn = part.surface_displacements(forces, 1e-6 * amplitudes, gravity)
    exact = whole.surface_displacements(spread, 1e-6 * amplitudes, gravity)
    assert_close(drawn, exact, 1e-5)  # single precision


def test_everything_is_read_only_and_its_size_is_told() -> None:
    body = condense(BLOCK, PLASTIC, order=1, contact=BLOCK.boundary.vertices[:30], modes=2)
    arrays = {name: value for name, value in vars(body).items() if isinstance(value, np.ndarray)}
    assert len(arrays) == 13
    for array in arrays.values():
        assert not array.flags.writeable
    dense = ("compliance", "surface_compliance", "modes", "surface_modes")
    assert body.memory == sum(arrays[name].nbytes for name in dense)


# ---------------------------------------------------------------- modes and gravity


@ORDERS
@pytest.mark.parametrize("fixed", [None, ROOT])
def test_modes_against_dense_eigenvalues(order: int, fixed: Any) -> None:
    from scipy.linalg import eigh

    body = condense(BLOCK, PLASTIC, order=order, fixed=fixed, modes=6)
    _, k, m = matrices(order)
    fe = finite_elements(BLOCK, order)
    held = np.empty(0, int) if fixed is None else dofs_of(fe.with_mid_edges(fixed))
    free = np.setdiff1d(np.arange(len(k)), held)
    skip = 6 if fixed is None else 0
    values, vectors = eigh(k[np.ix_(free, free)], m[np.ix_(free, free)])
    assert np.allclose(body.frequencies, np.sqrt(values[skip : skip + 6]), rtol=1e-9)
    shapes = np.zeros((6, len(k)))
    shapes[:, free] = vectors[:, skip : skip + 6].T
    shapes = shapes[:, dofs_of(body.nodes)]
    for found, exact in zip(body.modes, shapes, strict=True):
        sign = np.sign(found @ exact)
        assert np.allclose(found, sign * exact, atol=1e-6 * np.abs(exact).max())
        assert found[np.abs(found).argmax()] > 0.0 or order == 2  # the largest may lie inside


BAR = ElasticMaterial(1e9, 0.0, 1000.0)  # without contraction: waves along it are one-dimensional
SPEED = 1000.0  # √(E/ρ)


@pytest.mark.parametrize("free", [False, True])
def test_longitudinal_frequency_of_a_bar(free: bool) -> None:
    """ω = π c/(2 L) held at one end, π c/L free: exact in three dimensions without contraction."""
    mesh = box_grid((0.1, 0.01, 0.01), (10, 1, 1))
    root = None if free else np.flatnonzero(mesh.vertices[:, 0] < -0.0499)
    body = condense(mesh, BAR, order=2, fixed=root, modes=12)
    exact = np.pi * SPEED / (0.1 if free else 0.2)
    nearest = np.abs(body.frequencies - exact).argmin()
    # Error of order (ω h/c)⁴/720 for quadratic elements, 1e-5; and no other mode is so near.
    assert body.frequencies[nearest] == pytest.approx(exact, rel=1e-4)
    if not free:
        # φ = √(2/m) sin(π x/(2 L)): the effective mass (φᵀ M E)² is 8/π² of the body's.
        effective = body.modal_gravity[nearest] ** 2
        assert effective == pytest.approx([0.01 * 8 / np.pi**2, 0, 0], rel=1e-4, abs=1e-10)


@pytest.mark.parametrize(("free", "root"), [(False, 1.87510407), (True, 4.73004074)])
def test_bending_frequency_of_a_slender_beam(free: bool, root: float) -> None:
    """ω = β² √(E I/(ρ A))/L² (Euler and Bernoulli), twice, for the two directions of a square.

    A beam 30 times as long as high: shear and rotary inertia lower the first frequency by 0.3 %
    held at one end and by 1.4 % free; ten-node elements raise it by less than 1 %.
    """
    long, high = 0.3, 0.01
    mesh = box_grid((long, high, high), (30, 1, 1))
    held = None if free else np.flatnonzero(mesh.vertices[:, 0] < -0.5 * long + 1e-9)
    body = condense(mesh, BAR, order=2, fixed=held, modes=2)
    exact = root**2 * SPEED * high / np.sqrt(12.0) / long**2
    assert body.frequencies == pytest.approx([exact, exact], rel=0.015)


@ORDERS
def test_gravity_against_the_dense_solution(order: int) -> None:
    body = condense(BLOCK, PLASTIC, order=order, fixed=ROOT, modes=4)
    _, _, m = matrices(order)
    at = dofs_of(body.nodes)
    axes = np.tile(np.eye(3), (len(m) // 3, 1))
    exact = dense_clamped(order) @ m @ axes
    found = body.gravity + (body.modes / body.frequencies[:, None] ** 2).T @ body.modal_gravity
    assert_close(found, exact[at])


def test_column_shortens_under_its_weight() -> None:
    """ρ g L²/(2 E) at the top of a column, without contraction exact for any cross-section."""
    mesh = box_grid((0.02, 0.02, 0.2), (1, 1, 5))
    foot = np.flatnonzero(mesh.vertices[:, 2] < -0.0999)
    body = condense(mesh, BAR, order=2, fixed=foot)
    top = body.positions[:, 2] > 0.0999
    sag = body.gravity.reshape(-1, 3, 3)[top] @ np.array([0.0, 0.0, -9.81])
    assert np.allclose(sag, [0, 0, -1000.0 * 9.81 * 0.2**2 / 2e9], rtol=1e-9, atol=1e-18)


def test_modes_are_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a square beam, whose bending modes come in pairs that share a plane."""
    mesh = box_grid((0.1, 0.01, 0.01), (6, 1, 1))
    first = condense(mesh, PLASTIC, order=2, modes=6)
    monkeypatch.setattr(module, "CACHE_FORMAT", "once more")
    again = condense(mesh, PLASTIC, order=2, modes=6)
    assert np.array_equal(first.modes, again.modes)
    assert np.array_equal(first.compliance, again.compliance)


def test_modes_that_are_not_found_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*_: Any, **__: Any) -> None:
        raise ArpackNoConvergence("none", np.zeros(1), np.zeros((3, 1)))

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", fail)
    with pytest.raises(SceneError, match="1 of 4 modes were found"):
        condense(BLOCK, PLASTIC, order=1, modes=4)


# ---------------------------------------------------------------- cache


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one whenever a body is condensed anew."""
    done: list[int] = []
    real = module._condensed

    def counted(*arguments: Any) -> Any:
        done.append(1)
        return real(*arguments)

    monkeypatch.setattr(module, "_condensed", counted)
    return done


def test_second_call_reads_the_first(cache: Path, runs: list[int]) -> None:
    first = condense(BLOCK, PLASTIC, order=1, contact=BLOCK.boundary.vertices[:30], modes=2)
    again = condense(BLOCK, PLASTIC, order=1, contact=BLOCK.boundary.vertices[:30], modes=2)
    assert len(runs) == 1
    assert len(list(cache.iterdir())) == 1
    for name, value in vars(first).items():
        other = getattr(again, name)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other


@pytest.mark.parametrize("damage", ["cut", "noise", "flipped"])
def test_damaged_file_is_computed_again(cache: Path, runs: list[int], damage: str) -> None:
    first = condense(BLOCK, PLASTIC, order=1)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10
    entry.write_bytes({"cut": whole[:500], "noise": b"\0" * 99, "flipped": bytes(flipped)}[damage])
    assert np.array_equal(condense(BLOCK, PLASTIC, order=1).compliance, first.compliance)
    assert len(runs) == 2
    assert entry.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"material": ElasticMaterial(700e6, 0.35, 951.0)},
        {"material": ElasticMaterial(701e6, 0.35, 950.0)},
        {"material": ElasticMaterial(700e6, 0.34, 950.0)},
        {"mesh": TetMesh(1.001 * BLOCK.vertices, BLOCK.tetrahedra)},
        {"order": 2},
        {"fixed": ROOT[:-1]},
        {"fixed": None},
        {"contact": BLOCK.boundary.vertices[5:]},
        {"modes": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_body_is_another_entry(cache: Path, runs: list[int], change: Any) -> None:
    usual: dict[str, Any] = {"mesh": BLOCK, "material": PLASTIC, "order": 1, "fixed": ROOT}
    condense(**usual)
    condense(**{**usual, **change})
    assert len(runs) == 2
    assert len(list(cache.iterdir())) == 2
    condense(**usual, memory=1e8)  # the limit is no part of the body
    assert len(runs) == 2


def test_unwritable_cache_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path / "file"))
    assert len(condense(BLOCK, PLASTIC, order=1).nodes) == len(BLOCK.boundary.vertices)


# ---------------------------------------------------------------- progress


@pytest.mark.parametrize("terminal", [True, False])
def test_long_work_shows_a_bar_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", terminal)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    bar = progress.Progress("condensing 5 elements", 10)
    with bar:
        bar._timer.join()
        bar.advance(4)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("condensing 5 elements" in shown.err) == terminal
    bar._open()  # a timer that goes off too late
    assert bar._bar is None or terminal


def test_short_work_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    condense(BLOCK, PLASTIC, order=1)
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- refusals

INNER = int(np.setdiff1d(np.arange(len(BLOCK.vertices)), BLOCK.boundary.vertices)[0])
LINE = np.flatnonzero(
    (np.abs(box_grid((0.04, 0.03, 0.02), (3, 2, 2)).vertices[:, :2] + (0.02, 0.015)) < 1e-9).all(1)
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mesh": "box"}, ["TetMesh", "str"]),
        ({"material": 700e6}, ["ElasticMaterial", "700000000.0"]),
        ({"order": 3}, ["order", "3", "from 1 to 2"]),
        ({"order": "high"}, ["order", "'high'"]),
        ({"fixed": []}, ["fixed", "empty"]),
        ({"fixed": [0, 1, 36]}, ["fixed", "36", "0 to 35"]),
        ({"fixed": [-2, 1, 3]}, ["fixed", "-2"]),
        ({"fixed": [0.5, 1, 3]}, ["fixed", "whole numbers"]),
        ({"fixed": [4]}, ["fixed", "1 held point on one line", "3 of 6 ways", "at least three"]),
        ({"fixed": [4, 5]}, ["fixed", "2 held points", "1 of 6 ways"]),
        ({"fixed": range(36)}, ["fixed", "all 36 vertices"]),
        ({"contact": []}, ["contact", "empty"]),
        ({"contact": [0, 99]}, ["contact", "99", "0 to 35"]),
        ({"contact": [0, 1, INNER]}, ["contact", f"vertex {INNER}", "not on the boundary"]),
        ({"contact": [0, 35]}, ["contact", "2 vertices", "no boundary triangle"]),
        ({"modes": -1}, ["modes", "-1"]),
        ({"modes": 50}, ["modes", "50", "0 to 40"]),
        ({"modes": 2.0}, ["modes", "2.0"]),
        ({"memory": 0}, ["memory", "positive"]),
        ({"memory": 50_000}, ["34 contact nodes", "0.079 MiB", "0.048 MiB", "fewer", "coarser"]),
    ],
)
def test_bad_input_is_refused_in_one_line(
    change: dict[str, Any], words: list[str], cache: Path
) -> None:
    options: dict[str, Any] = {"mesh": BLOCK, "material": PLASTIC, "order": 1, "fixed": ROOT}
    with pytest.raises(SceneError) as caught:
        condense(**{**options, **change})
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)
    assert not cache.exists()


def test_vertices_on_a_line_do_not_hold_a_body() -> None:
    mesh = box_grid((0.04, 0.03, 0.02), (3, 2, 2))
    assert len(LINE) == 3
    with pytest.raises(
        SceneError, match="3 held points on one line still let the body move in 1 of 6"
    ):
        condense(mesh, PLASTIC, order=1, fixed=LINE)


def test_memory_is_checked_before_any_work(runs: list[int]) -> None:
    """A box of 24,000 tetrahedra at order 2 would need three gigabytes."""
    mesh = box_grid((0.2, 0.2, 0.1), (20, 20, 10))
    with pytest.raises(SceneError, match="6402 contact nodes need 2814 MiB, more than the 1024"):
        condense(mesh, PLASTIC, order=2)
    assert not runs
