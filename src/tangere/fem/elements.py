"""Tetrahedral finite elements with 4 or 10 nodes: stiffness and mass matrices.

With the barycentric coordinates λ of a straight-sided tetrahedron of volume V, their constant
gradients g and a material (λ, G), the shape functions N give

    order 1:  N_a = λ_a
    order 2:  N_a = λ_a (2 λ_a - 1) at corners,  N_ab = 4 λ_a λ_b in the middle of edges
    S_(ai)(bj) = ∫ ∂_i N_a ∂_j N_b dV
    K_(ai)(bj) = λ S_(ai)(bj) + G S_(aj)(bi) + G δ_ij Σ_k S_(ak)(bk)
    M_(ai)(bj) = ρ δ_ij ∫ N_a N_b dV

Degrees of freedom are numbered 3 node + axis. All integrals are exact.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import frozen, integer
from tangere.geometry.tetmesh import TetMesh, tetrahedron_volumes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tangere.fem.material import ElasticMaterial
    from tangere.maths.vec import Array, IntArray

    Indices = NDArray[np.integer[Any]]

# Corners at both ends of the six edges, in the order of the mid-edge nodes 4 to 9.
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
# Elements whose matrices are computed at once: some 60 MB for each intermediate array.
BLOCK = 8192


class FiniteElements(NamedTuple):
    """Nodes and elements made from a mesh; all arrays are read-only."""

    order: int
    """Degree of the shape functions, 1 or 2."""
    nodes: Array
    """Rest positions [m], shape (n, 3): the mesh's vertices, then the middles of its edges."""
    elements: IntArray
    """Node indices: four corners, at order 2 then six mid-edge nodes as in `EDGES`."""
    edges: IntArray
    """Vertices at both ends of each mid-edge node, ascending, shape (m, 2); (0, 2) at order 1."""

    @property
    def vertex_count(self) -> int:
        """How many nodes are vertices of the mesh."""
        return len(self.nodes) - len(self.edges)

    def with_mid_edges(self, vertices: Indices) -> IntArray:
        """Nodes that belong to a set of vertices: those, and the middles of edges between them."""
        inside = np.zeros(self.vertex_count, dtype=bool)
        inside[vertices] = True
        both = inside[self.edges].all(axis=1)
        return np.flatnonzero(np.concatenate((inside, both))).astype(np.int32)

    def mid_edge(self, tail: Indices, head: Indices) -> IntArray:
        """Node in the middle of each edge of the mesh from `tail` to `head`."""
        ends = np.sort(np.stack((tail, head), axis=-1).astype(np.int64), axis=-1)
        known = self.edges.astype(np.int64) @ (self.vertex_count, 1)
        found = np.searchsorted(known, ends @ (self.vertex_count, 1))
        return (self.vertex_count + found).astype(np.int32)


def finite_elements(mesh: TetMesh, order: int) -> FiniteElements:
    """Elements of order 1 (4 nodes) or 2 (10 nodes, mid-edge nodes added) from a mesh."""
    if not isinstance(mesh, TetMesh):
        raise SceneError(f"finite elements: expected a TetMesh, got {type(mesh).__name__}")
    order = integer(order, "finite elements, order", 1, 2)
    corners = mesh.tetrahedra
    if order == 1:
        none = np.empty((0, 2), dtype=np.int32)
        return FiniteElements(order, mesh.vertices, corners, _fixed(none))
    n = len(mesh.vertices)
    ends = np.sort(corners[:, EDGES].astype(np.int64), axis=2)
    keys, edge = np.unique(ends @ (n, 1), return_inverse=True)
    edges = np.column_stack((keys // n, keys % n)).astype(np.int32)
    nodes = np.concatenate((mesh.vertices, mesh.vertices[edges].mean(axis=1)))
    elements = np.column_stack((corners, n + edge.reshape(-1, 6))).astype(np.int32)
    return FiniteElements(order, frozen(nodes), _fixed(elements), _fixed(edges))


def stiffness(fe: FiniteElements, material: ElasticMaterial) -> Any:
    """Stiffness matrix K [N/m], sparse, symmetric to the last bit, shape (3n, 3n)."""
    derivatives, weights = _gradient_rule(fe.order)

    def matrices(elements: IntArray) -> Array:
        volumes, gradients = _gradients(fe.nodes, elements)
        count = elements.shape[1]
        # ∂N at the quadrature points, (e, q, 3a); then S = Σ w V ∂N ∂Nᵀ, (e, a, i, b, j)
        d = np.einsum("qak,eki->eqai", derivatives, gradients).reshape(len(elements), -1, 3 * count)
        weighted = d * (volumes[:, None] * weights)[:, :, None]
        s = np.matmul(d.transpose(0, 2, 1), weighted).reshape(-1, count, 3, count, 3)
        k = material.lame * s + material.shear * s.swapaxes(2, 4)
        trace = material.shear * np.einsum("eaibi->eab", s)
        for i in range(3):
            k[:, :, i, :, i] += trace
        flat: Array = k.reshape(-1, 3 * count, 3 * count)
        return flat

    return _assembled(matrices, fe.elements, len(fe.nodes), 3)


def mass(fe: FiniteElements, density: float) -> Any:
    """Consistent mass matrix M [kg], sparse, symmetric, shape (3n, 3n)."""
    from scipy.sparse import eye_array, kron

    def matrices(elements: IntArray) -> Array:
        volumes = tetrahedron_volumes(fe.nodes, elements)
        m: Array = density * volumes[:, None, None] * _reference_mass(fe.order)
        return m

    return kron(_assembled(matrices, fe.elements, len(fe.nodes), 1), eye_array(3), format="csr")


def lumped_mass(fe: FiniteElements, density: float) -> Array:
    """Mass of each node [kg] when every element shares its mass evenly, shape (n,); order 1 only.

    At order 2 the corners' share would be negative: take the consistent matrix.
    """
    if fe.order != 1:
        raise SceneError(
            f"lumped mass: needs elements of order 1, got order {fe.order}; "
            "take the consistent mass matrix"
        )
    share = np.repeat(0.25 * density * tetrahedron_volumes(fe.nodes, fe.elements), 4)
    masses: Array = np.zeros(len(fe.nodes))
    np.add.at(masses, fe.elements.ravel(), share)
    return masses


def rigid_modes(points: Array, centre: Array) -> Array:
    """Displacements of all points by unit motions of a rigid body, shape (3n, 6).

    Columns: translations along x, y, z; small rotations about x, y, z through `centre`.
    """
    modes = np.zeros((len(points), 3, 6))
    x, y, z = (points - centre).T
    modes[:, (0, 1, 2), (0, 1, 2)] = 1.0
    modes[:, 1, 3], modes[:, 2, 3] = -z, y
    modes[:, 0, 4], modes[:, 2, 4] = z, -x
    modes[:, 0, 5], modes[:, 1, 5] = -y, x
    return modes.reshape(-1, 6)


def strains(fe: FiniteElements, displacements: Array) -> Array:
    """Strain tensor in the middle of each element (there it is also the mean), shape (t, 3, 3)."""
    _, gradients = _gradients(fe.nodes, fe.elements)
    middle = _derivatives(fe.order, np.full((1, 4), 0.25))[0]
    local = np.einsum("ak,eki,eaj->eij", middle, gradients, displacements[fe.elements])
    symmetric: Array = 0.5 * (local + local.swapaxes(1, 2))
    return symmetric


def stresses(fe: FiniteElements, material: ElasticMaterial, displacements: Array) -> Array:
    """Stress tensor σ = λ tr(ε) I + 2 G ε in the middle of each element [Pa], shape (t, 3, 3)."""
    strain = strains(fe, displacements)
    volumetric = np.trace(strain, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    stress: Array = material.lame * volumetric + 2.0 * material.shear * strain
    return stress


def von_mises(stress: Array) -> Array:
    """Von Mises' equivalent stress √(3/2 s:s) of each tensor, s its deviator [Pa], shape (t,)."""
    mean = np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0
    deviator = stress - mean * np.eye(3)
    equivalent: Array = np.sqrt(1.5 * np.einsum("eij,eij->e", deviator, deviator))
    return equivalent


def dofs_of(nodes: Indices) -> NDArray[np.int64]:
    """Degrees of freedom 3 node + axis of the nodes, in order."""
    return (3 * nodes.astype(np.int64)[:, None] + np.arange(3)).ravel()


def _gradients(nodes: Array, elements: IntArray) -> tuple[Array, Array]:
    """Volumes [m³], shape (e,), and gradients of the barycentric coordinates, shape (e, 4, 3)."""
    corners = nodes[elements[:, :4]]
    # x = x0 + J (λ1, λ2, λ3): the rows of J⁻¹ are the gradients of λ1, λ2, λ3, and Σ λ = 1.
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    gradients = np.concatenate((-inverse.sum(axis=1, keepdims=True), inverse), axis=1)
    return tetrahedron_volumes(nodes, elements), gradients


def _derivatives(order: int, barycentric: Array) -> Array:
    """∂N_a/∂λ_k at points with the given barycentric coordinates, shape (q, a, 4)."""
    points = len(barycentric)
    if order == 1:
        return np.broadcast_to(np.eye(4), (points, 4, 4))
    out = np.zeros((points, 10, 4))
    for a in range(4):
        out[:, a, a] = 4.0 * barycentric[:, a] - 1.0
    for node, (a, b) in enumerate(EDGES, start=4):
        out[:, node, a] = 4.0 * barycentric[:, b]
        out[:, node, b] = 4.0 * barycentric[:, a]
    return out


@cache
def _gradient_rule(order: int) -> tuple[Array, Array]:
    """∂N/∂λ at quadrature points that integrate products of two gradients exactly, and weights."""
    if order == 1:
        return _derivatives(1, np.full((1, 4), 0.25)), np.ones(1)
    near, far = (5.0 + 3.0 * 5.0**0.5) / 20.0, (5.0 - 5.0**0.5) / 20.0
    points = np.full((4, 4), far) + (near - far) * np.eye(4)
    return _derivatives(2, points), np.full(4, 0.25)


@cache
def _reference_mass(order: int) -> Array:
    """∫ N_a N_b dV / V, from ∫ λ0^i λ1^j λ2^k λ3^l dV = 6 V i! j! k! l! / (i+j+k+l+3)!."""
    if order == 1:
        return (np.ones((4, 4)) + np.eye(4)) / 20.0
    ends = [{a} for a in range(4)] + [set(edge) for edge in EDGES]
    # By how many corners the two nodes have, together, and how many they share.
    table = {(2, 1): 6, (2, 0): 1, (3, 1): -4, (3, 0): -6, (4, 2): 32, (4, 1): 16, (4, 0): 8}
    entries = [[table[len(a) + len(b), len(a & b)] for b in ends] for a in ends]
    return np.array(entries) / 420.0


def _assembled(
    matrices: Callable[[IntArray], Array], elements: IntArray, nodes: int, axes: int
) -> Any:
    """Sparse symmetric sum of the matrices of all elements, with `axes` unknowns a node."""
    from scipy.sparse import coo_array, csr_array

    size = axes * nodes
    total = csr_array((size, size))
    for start in range(0, len(elements), BLOCK):
        block = elements[start : start + BLOCK]
        numbers = (axes * block[:, :, None] + np.arange(axes)).reshape(len(block), -1)
        width = numbers.shape[1]
        rows, columns = np.repeat(numbers, width, axis=1), np.tile(numbers, (1, width))
        entries = (matrices(block).ravel(), (rows.ravel(), columns.ravel()))
        total = total + coo_array(entries, shape=(size, size)).tocsr()
    return (0.5 * (total + total.T)).tocsr()


def _fixed(indices: IntArray) -> IntArray:
    indices.setflags(write=False)
    return indices
