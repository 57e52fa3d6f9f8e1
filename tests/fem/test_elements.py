"""Stiffness and mass of tetrahedra: patch test, rigid motions, another library, beams, order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.fem.elements import (
    EDGES,
    FiniteElements,
    dofs_of,
    finite_elements,
    lumped_mass,
    mass,
    rigid_modes,
    stiffness,
    strains,
    stresses,
    von_mises,
)
from tangere.fem.grids import box_grid, clip
from tangere.fem.material import ElasticMaterial
from tangere.fem.statics import displacements
from tangere.geometry.tetmesh import TetMesh, tetrahedron_volumes

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]
RUBBER = ElasticMaterial(2.0e6, 0.3, 1100.0)
ORDERS = pytest.mark.parametrize("order", [1, 2])
# Sums of a few hundred products of size one.
ROUNDING = 1e-12


def shaken_box() -> TetMesh:
    """A box of 2 x 3 x 2 cells whose inner vertices and faces are no longer regular."""
    mesh = box_grid((0.2, 0.3, 0.2), (2, 3, 2))
    shift = 0.012 * np.random.default_rng(1).standard_normal(mesh.vertices.shape).clip(-2, 2)
    return TetMesh(mesh.vertices + shift, mesh.tetrahedra)


def boundary_nodes(mesh: TetMesh, fe: FiniteElements) -> NDArray[np.int32]:
    return fe.with_mid_edges(mesh.boundary.vertices)


@ORDERS
def test_patch(order: int) -> None:
    """Displacements of the boundary that are linear in x: the inside follows, stress is even."""
    mesh = box_grid((0.2, 0.3, 0.2), (3, 3, 3))
    rng = np.random.default_rng(2)
    inner = np.setdiff1d(np.arange(len(mesh.vertices)), mesh.boundary.vertices)
    moved = mesh.vertices.copy()
    moved[inner] += 0.01 * rng.standard_normal((len(inner), 3)).clip(-2, 2)
    mesh = TetMesh(moved, mesh.tetrahedra)
    fe = finite_elements(mesh, order)
    slope = 1e-3 * rng.standard_normal((3, 3))
    exact = fe.nodes @ slope.T + np.array([0.1, -0.2, 0.3])
    held = boundary_nodes(mesh, fe)
    assert len(held) < len(fe.nodes)
    loads = np.zeros_like(fe.nodes)
    u = displacements(fe, RUBBER, loads, fixed=held, prescribed=exact[held])
    assert np.abs(u - exact).max() <= ROUNDING * np.abs(exact).max()
    strain = 0.5 * (slope + slope.T)
    stress = RUBBER.lame * np.trace(strain) * np.eye(3) + 2.0 * RUBBER.shear * strain
    # Strains are differences of displacements 300 times larger.
    assert np.abs(stresses(fe, RUBBER, u) - stress).max() <= 1e-9 * np.abs(stress).max()


@ORDERS
def test_rigid_motions_need_no_force_and_only_they(order: int) -> None:
    fe = finite_elements(shaken_box(), order)
    k = stiffness(fe, RUBBER)
    modes = rigid_modes(fe.nodes, fe.nodes.mean(axis=0))
    largest = abs(k).max() * np.abs(modes).max(axis=0)
    assert (np.abs(k @ modes).max(axis=0) <= ROUNDING * largest).all()
    values = np.linalg.eigvalsh(k.toarray())
    assert np.abs(values[:6]).max() <= ROUNDING * values[-1]
    assert values[6] > 1e-5 * values[-1]


@ORDERS
def test_matrices_are_symmetric_to_the_last_bit(order: int) -> None:
    fe = finite_elements(shaken_box(), order)
    for matrix in (stiffness(fe, RUBBER), mass(fe, RUBBER.density)):
        assert (matrix != matrix.T).nnz == 0


@ORDERS
def test_mass_is_that_of_the_solid(order: int) -> None:
    """M gives the exact mass, centre and inertia to rigid motions, whatever the elements."""
    mesh = shaken_box()
    fe, moments = finite_elements(mesh, order), mesh.moments()
    m = mass(fe, RUBBER.density)
    modes = rigid_modes(fe.nodes, moments.centre)
    inertia = modes.T @ (m @ modes) / RUBBER.density
    assert np.allclose(inertia[:3, :3], moments.volume * np.eye(3), rtol=ROUNDING, atol=1e-16)
    assert np.allclose(inertia[3:, 3:], moments.inertia, rtol=1e-11, atol=1e-18)
    assert np.allclose(inertia[:3, 3:], 0.0, atol=1e-16)
    assert np.linalg.eigvalsh(m.toarray())[0] > 0.0


def test_lumped_mass_has_the_right_sum_and_centre() -> None:
    mesh = shaken_box()
    fe, moments = finite_elements(mesh, 1), mesh.moments()
    masses = lumped_mass(fe, RUBBER.density)
    assert masses.sum() == pytest.approx(RUBBER.density * moments.volume, rel=ROUNDING)
    assert np.allclose(masses @ fe.nodes / masses.sum(), moments.centre, atol=1e-14)
    rows = np.asarray(mass(fe, RUBBER.density).sum(axis=1))[::3]
    assert np.allclose(masses, rows, rtol=ROUNDING)
    with pytest.raises(SceneError, match="order 1, got order 2"):
        lumped_mass(finite_elements(mesh, 2), 1.0)


@ORDERS
def test_one_element_against_numerical_integration(order: int) -> None:
    """K and M of one tetrahedron by quadrature of the shape functions' definition."""
    corners = np.array([(0.1, 0, 0), (1.2, 0.1, 0), (0.3, 0.9, 0.1), (0.2, 0.3, 1.1)])
    fe = finite_elements(TetMesh(corners, [(0, 1, 2, 3)]), order)
    points, weights = quadrature(4)
    inverse = np.linalg.inv(np.vstack((np.ones(4), corners.T)))[:, 1:]  # gradients of λ
    volume = float(tetrahedron_volumes(fe.nodes, fe.elements)[0])
    n = len(fe.nodes)
    k, m = np.zeros((n, 3, n, 3)), np.zeros((n, n))
    for barycentric, weight in zip(points, weights * volume, strict=True):
        values, by_lambda = shape_functions(order, barycentric)
        gradient = by_lambda @ inverse
        m += weight * RUBBER.density * np.outer(values, values)
        products = np.einsum("ai,bj->aibj", gradient, gradient)
        k += weight * RUBBER.lame * products
        k += weight * RUBBER.shear * products.swapaxes(1, 3)
        k += weight * RUBBER.shear * np.einsum("akbk,ij->aibj", products, np.eye(3))
    # Local numbers of the only element are its nodes' numbers up to the order of edges.
    local = fe.elements[0]
    k_global = np.zeros((n, 3, n, 3))
    k_global[np.ix_(local, range(3), local, range(3))] = k
    found = stiffness(fe, RUBBER).toarray()
    assert np.abs(found - k_global.reshape(3 * n, -1)).max() <= 1e-13 * np.abs(found).max()
    m_global = np.zeros((n, n))
    m_global[np.ix_(local, local)] = m
    assert np.allclose(mass(fe, RUBBER.density).toarray()[::3, ::3], m_global, rtol=1e-12)


@ORDERS
def test_against_scikit_fem(order: int) -> None:
    skfem = pytest.importorskip("skfem", reason="scikit-fem is the oracle of this test")
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    mesh = shaken_box()
    fe = finite_elements(mesh, order)
    grid = skfem.MeshTet(mesh.vertices.T.copy(), mesh.tetrahedra.T.astype(np.int64).copy())
    element = skfem.ElementTetP1() if order == 1 else skfem.ElementTetP2()
    basis = skfem.Basis(grid, skfem.ElementVector(element), intorder=2 * order)

    def elasticity(u: Any, v: Any, _: Any) -> Any:
        strain = sym_grad(u)
        stress = RUBBER.lame * eye(trace(strain), 3) + 2.0 * RUBBER.shear * strain
        return ddot(stress, sym_grad(v))

    def inertia(u: Any, v: Any, _: Any) -> Any:
        return RUBBER.density * dot(u, v)

    number = basis.nodal_dofs.T.reshape(-1)
    if order == 2:
        ends = np.sort(grid.edges.T, axis=1)
        at = fe.mid_edge(ends[:, 0], ends[:, 1]) - fe.vertex_count
        mid = np.empty_like(basis.edge_dofs.T)
        mid[at] = basis.edge_dofs.T
        number = np.concatenate((number, mid.reshape(-1)))
    for form, ours in ((elasticity, stiffness(fe, RUBBER)), (inertia, mass(fe, RUBBER.density))):
        theirs = skfem.BilinearForm(form).assemble(basis).tocsr()[number][:, number]
        assert abs(ours - theirs).max() <= 1e-10 * abs(theirs).max()
    # the statics of it: two sides held, the rest loaded
    loads = np.random.default_rng(4).standard_normal(fe.nodes.shape)
    held = fe.with_mid_edges(np.flatnonzero(np.abs(mesh.vertices[:, 1]) > 0.12))
    system = skfem.BilinearForm(elasticity).assemble(basis)
    right = np.empty(basis.N)
    right[number] = loads.ravel()
    solution = skfem.solve(*skfem.condense(system, right, D=number[dofs_of(held)]))
    expected = solution[number].reshape(-1, 3)
    found = displacements(fe, RUBBER, loads, fixed=held)
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def test_blocks_of_elements_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    fe = finite_elements(shaken_box(), 2)
    whole = stiffness(fe, RUBBER), mass(fe, 1.0)
    monkeypatch.setattr("tangere.fem.elements.BLOCK", 7)
    for before, after in zip(whole, (stiffness(fe, RUBBER), mass(fe, 1.0)), strict=True):
        assert abs(before - after).max() <= 1e-15 * abs(before).max()


# ---------------------------------------------------------------- nodes


def test_mid_edge_nodes() -> None:
    mesh = box_grid((1.0, 1.0, 1.0), (1, 1, 1))
    fe = finite_elements(mesh, 2)
    # A cube in six: 12 edges, 6 face diagonals, one diagonal through the middle.
    assert (fe.vertex_count, len(fe.edges), fe.elements.shape) == (8, 19, (6, 10))
    for row in fe.elements:
        for node, (a, b) in enumerate(EDGES, start=4):
            assert np.allclose(fe.nodes[row[node]], fe.nodes[row[[a, b]]].mean(axis=0))
    assert np.array_equal(fe.mid_edge(fe.edges[:, 1], fe.edges[:, 0]), 8 + np.arange(19))
    bottom = np.flatnonzero(mesh.vertices[:, 2] < 0.0)
    held = fe.with_mid_edges(bottom)
    assert len(held) == 4 + 5  # four sides and a diagonal
    assert (fe.nodes[held, 2] == -0.5).all()
    one = finite_elements(mesh, 1)
    assert np.array_equal(one.with_mid_edges(bottom), bottom)
    assert one.edges.shape == (0, 2)


@pytest.mark.parametrize("order", [0, 3, 1.5, "two", None, True])
def test_other_orders_are_refused(order: Any) -> None:
    with pytest.raises(SceneError, match="order") as caught:
        finite_elements(box_grid((1, 1, 1), (1, 1, 1)), order)
    assert "\n" not in str(caught.value)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(SceneError, match="expected a TetMesh, got str"):
        finite_elements("mesh", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.0, 0.3, 1e3), ["young", "positive", "0.0"]),
        ((-1.0, 0.3, 1e3), ["young", "-1.0"]),
        ((np.nan, 0.3, 1e3), ["young", "nan"]),
        ((1e6, 0.5, 1e3), ["poisson", "0.5"]),
        ((1e6, 0.7, 1e3), ["poisson", "0.7"]),
        ((1e6, -1.0, 1e3), ["poisson", "-1"]),
        ((1e6, 0.3, 0.0), ["density", "positive"]),
        ((1e6, 0.3, -5), ["density", "-5"]),
        (("stiff", 0.3, 1e3), ["young", "'stiff'"]),
    ],
)
def test_bad_materials_are_refused(values: tuple[Any, Any, Any], words: list[str]) -> None:
    with pytest.raises(SceneError) as caught:
        ElasticMaterial(*values)
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- against theory


def cantilever(order: int, cells: tuple[int, int, int]) -> float:
    """Tip deflection over Timoshenko's, of a beam ten times as long as high.

    δ = F L³/(3 E I) + F L/(κ G A), κ = 10 (1 + ν)/(12 + 11 ν) for a rectangle (Cowper 1966). At
    L/h = 10 shear gives 0.8 % of δ, and what the clamp adds by holding the cross-section less.
    """
    long, high = 0.1, 0.01
    material = ElasticMaterial(1e9, 0.3, 1000.0)
    mesh = box_grid((long, high, high), cells)
    fe = finite_elements(mesh, order)
    root = fe.with_mid_edges(np.flatnonzero(mesh.vertices[:, 0] < -0.5 * long + 1e-9))
    tip = np.flatnonzero(mesh.vertices[:, 0] > 0.5 * long - 1e-9)
    loads = np.zeros_like(fe.nodes)
    loads[tip, 2] = 1.0 / len(tip)
    u = displacements(fe, material, loads, fixed=root)
    bending = long**3 / (3.0 * material.young * high**4 / 12.0)
    kappa = 10.0 * (1.0 + material.poisson) / (12.0 + 11.0 * material.poisson)
    return float(u[tip, 2].mean() / (bending + long / (kappa * material.shear * high**2)))


def test_cantilever_of_ten_node_elements_is_timoshenkos() -> None:
    assert cantilever(2, (20, 2, 2)) == pytest.approx(1.0, abs=0.02)


def test_four_node_elements_lock_in_bending() -> None:
    """The same mesh is far too stiff with linear shape functions, and gets better slowly."""
    coarse, fine = cantilever(1, (10, 1, 1)), cantilever(1, (20, 2, 2))
    assert coarse < 0.3
    assert coarse < fine < 0.7


def test_von_mises_of_simple_states() -> None:
    tension = np.diag([3.0, 0.0, 0.0])
    pressure = -5.0 * np.eye(3)
    shear = np.array([[0, 2.0, 0], [2.0, 0, 0], [0, 0, 0]])
    found = von_mises(np.stack((tension, pressure, shear, tension + pressure)))
    assert np.allclose(found, [3.0, 0.0, 2.0 * np.sqrt(3.0), 3.0], atol=1e-14)


@ORDERS
def test_strain_in_the_middle_of_an_element(order: int) -> None:
    """Of a quadratic field: exact at order 2, the mean over the element's corners at order 1."""
    fe = finite_elements(shaken_box(), order)
    x, y, z = fe.nodes.T
    u = np.column_stack((x * y, y * z, 0.5 * z * z))
    middle = fe.nodes[fe.elements[:, :4]].mean(axis=1)
    zero = np.zeros(len(middle))
    a, b, c = middle.T
    gradient = np.array([[b, a, zero], [zero, c, b], [zero, zero, c]]).transpose(2, 0, 1)
    exact = 0.5 * (gradient + gradient.swapaxes(1, 2))
    error = np.abs(strains(fe, u) - exact).max()
    assert error <= (1e-14 if order == 2 else 0.1)


# ---------------------------------------------------------------- order of convergence


def quadrature(count: int) -> tuple[Array, Array]:
    """Barycentric points and weights (sum 1) of degree 2 count - 3, from Gauss' on a cube."""
    x, w = np.polynomial.legendre.leggauss(count)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    a, b, c = (g.ravel() for g in np.meshgrid(x, x, x, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel()
    # The cube collapses into the tetrahedron: the Jacobian is (1 - a)² (1 - b).
    points = np.column_stack((a, (1 - a) * b, (1 - a) * (1 - b) * c))
    points = np.column_stack((1.0 - points.sum(axis=1), points))
    return points, 6.0 * weights * (1 - a) ** 2 * (1 - b)


def shape_functions(order: int, barycentric: Array) -> tuple[Array, Array]:
    """N_a and ∂N_a/∂λ_k at one point, written out."""
    if order == 1:
        return barycentric, np.eye(4)
    corner = barycentric * (2.0 * barycentric - 1.0)
    edge = [4.0 * barycentric[a] * barycentric[b] for a, b in EDGES]
    by_lambda = np.zeros((10, 4))
    by_lambda[range(4), range(4)] = 4.0 * barycentric - 1.0
    for node, (a, b) in enumerate(EDGES, start=4):
        by_lambda[node, a], by_lambda[node, b] = 4.0 * barycentric[b], 4.0 * barycentric[a]
    return np.concatenate((corner, edge)), by_lambda


def smooth(points: Array) -> tuple[Array, Array, Array]:
    """A displacement field, its gradient and the body force -div σ that RUBBER needs for it.

    u = a sin(k·x + b) for three directions k: ∇u = a ⊗ k cos, div σ = -((λ + G)(a·k) k + G k² a)
    sin.
    """
    u, force = np.zeros((2, len(points), 3))
    gradient = np.zeros((len(points), 3, 3))
    for amplitude, k, phase in (
        (np.array([1.0, 0.3, -0.2]), np.array([2.0, 1.0, 0.5]), 0.3),
        (np.array([-0.4, 1.0, 0.6]), np.array([-0.5, 1.5, 1.0]), 1.1),
    ):
        argument = points @ k + phase
        u = u + np.sin(argument)[:, None] * amplitude
        gradient = gradient + np.cos(argument)[:, None, None] * np.outer(amplitude, k)
        push = (RUBBER.lame + RUBBER.shear) * (amplitude @ k) * k + RUBBER.shear * (
            k @ k
        ) * amplitude
        force = force + np.sin(argument)[:, None] * push
    return u, gradient, force


def errors(order: int, cells: int) -> tuple[float, float]:
    """L² norm of the error and energy norm, of the field above on the unit cube."""
    mesh = box_grid((1.0, 1.0, 1.0), (cells,) * 3)
    fe = finite_elements(mesh, order)
    exact, _, force = smooth(fe.nodes)
    # Body force by its interpolation: an error of order p + 1, as that of the solution.
    loads = (mass(fe, 1.0) @ force.ravel()).reshape(-1, 3)
    held = boundary_nodes(mesh, fe)
    u = displacements(fe, RUBBER, loads, fixed=held, prescribed=exact[held])
    corners = fe.nodes[fe.elements[:, :4]]
    volumes = tetrahedron_volumes(fe.nodes, fe.elements)
    edge = corners[:, 1:] - corners[:, :1]
    inverse = np.linalg.inv(edge.transpose(0, 2, 1))
    by_x = np.concatenate((-inverse.sum(axis=1, keepdims=True), inverse), axis=1)
    square = energy = 0.0
    for barycentric, weight in zip(*quadrature(4), strict=True):
        values, by_lambda = shape_functions(order, barycentric)
        there, gradient, _ = smooth(np.einsum("k,eki->ei", barycentric, corners))
        local = u[fe.elements]
        off = np.einsum("a,eai->ei", values, local) - there
        slope = np.einsum("eai,ak,ekj->eij", local, by_lambda, by_x) - gradient
        strain = 0.5 * (slope + slope.swapaxes(1, 2))
        square += weight * float(volumes @ (off**2).sum(axis=1))
        density = RUBBER.lame * np.trace(strain, axis1=1, axis2=2) ** 2
        density += 2.0 * RUBBER.shear * (strain**2).sum(axis=(1, 2))
        energy += weight * float(volumes @ density)
    return float(np.sqrt(square)), float(np.sqrt(energy))


@pytest.mark.parametrize(("order", "coarse"), [(1, 4), (2, 2)])
def test_error_falls_with_the_order_of_theory(order: int, coarse: int) -> None:
    """O(h^{p+1}) in L², O(h^p) in energy, for a field that no polynomial matches."""
    before, after = errors(order, coarse), errors(order, 2 * coarse)
    rates = [float(np.log2(a / b)) for a, b in zip(before, after, strict=True)]
    assert rates == pytest.approx([order + 1, order], abs=0.2)


# ---------------------------------------------------------------- the clip of the experiments


def lip_stiffness(order: int, cells: tuple[int, int, int]) -> float:
    """Lateral force on a lip over its lateral displacement [N/m], both lips pulled apart.

    Clamped within 15° of the top; the force is spread evenly over the vertices of the inner edge.
    """
    from tangere.fem.grids import lips, near_top

    mesh = clip(cells=cells)
    fe = finite_elements(mesh, order)
    left, right = lips(mesh)
    loads = np.zeros_like(fe.nodes)
    loads[right, 0], loads[left, 0] = 1.0 / len(right), -1.0 / len(left)
    top = fe.with_mid_edges(near_top(mesh, np.deg2rad(15)))
    u = displacements(fe, ElasticMaterial(700e6, 0.35, 950.0), loads, fixed=top)
    # the two halves of the mesh are mirror images
    assert u[left, 0].mean() == pytest.approx(-u[right, 0].mean(), rel=1e-9)
    return float(1.0 / u[right, 0].mean())


@pytest.mark.parametrize(
    ("cells", "expected"),
    [((40, 1, 2), 6405.0), ((60, 2, 2), 2919.0), ((80, 3, 2), 2200.0), ((120, 4, 2), 1909.0)],
)
def test_four_node_clip_is_too_stiff(cells: tuple[int, int, int], expected: float) -> None:
    """Figures of an independent implementation of the same meshes, to all four digits."""
    assert lip_stiffness(1, cells) == pytest.approx(expected, abs=0.5)


def test_ten_node_clip_is_a_curved_beam() -> None:
    """∫ M²/(E I) ds of a thin ring from 15° to the lip, by Castigliano."""
    angle = np.linspace(np.deg2rad(-40), np.deg2rad(75), 2001)
    arm = 0.011 * np.sin(angle) - 0.010 * np.sin(np.deg2rad(-40))
    inertia = 0.008 * 0.002**3 / 12.0
    beam = 700e6 * inertia / (np.trapezoid(arm**2, angle) * 0.011)
    assert beam == pytest.approx(1468, abs=1)
    # A ring five times its thickness in radius is no thin beam, but curvature and shear nearly
    # cancel; the clamp ends at the row of vertices at 13°.
    assert lip_stiffness(2, (40, 1, 2)) == pytest.approx(beam, rel=0.03)
    assert lip_stiffness(2, (60, 2, 2)) == pytest.approx(beam, rel=0.01)


def test_smooth_field_is_in_balance() -> None:
    """The body force of the manufactured solution, by finite differences of its stress."""
    step, at = 1e-5, np.array([[0.1, -0.2, 0.3]])

    def stress(points: Array) -> Array:
        _, gradient, _ = smooth(points)
        strain = 0.5 * (gradient + gradient.swapaxes(1, 2))
        volumetric = np.trace(strain, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        return np.asarray(RUBBER.lame * volumetric + 2.0 * RUBBER.shear * strain)

    divergence = sum(
        (stress(at + step * axis) - stress(at - step * axis))[0] @ axis / (2 * step)
        for axis in np.eye(3)
    )
    _, _, force = smooth(at)
    assert np.allclose(-divergence, force[0], rtol=1e-8)
