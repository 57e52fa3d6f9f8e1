"""Static condensation: a deformable body reduced to the nodes that can be touched.

Contact needs displacements u = C f of few nodes under forces on these nodes only, so everything
else is eliminated once, offline. With K, M of all nodes, R the rigid motions about the centre of
mass, A = Rᵀ M R and P = I - M R A⁻¹ Rᵀ:

    clamped   some nodes follow the body's frame:  C = K_ff⁻¹ of the others, zero for these
    free      mean axes, inertia relief:  C = Pᵀ K^g P, K^g the inverse after tying any six degrees
              of freedom that hold the body; then C = Cᵀ, Rᵀ M C = 0, whichever six they are

The slowest modes φ (K φ = ω² M φ, φᵀ M φ = 1) are kept apart with their inertia; what is left is
the residual flexibility C - Σ φ φᵀ/ω² of all others, which follow without delay [DURIEZ2006].
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.fem.blas_threads import one_blas_thread
from tangere.fem.elements import (
    FiniteElements,
    dofs_of,
    finite_elements,
    mass,
    rigid_modes,
    stiffness,
)
from tangere.fem.material import ElasticMaterial
from tangere.fem.progress import Progress
from tangere.fem.statics import check_held, checked_nodes, factorized
from tangere.geometry.checks import integer, positive, show
from tangere.geometry.disk_cache import cached
from tangere.geometry.tetmesh import TetMesh

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tangere.maths.vec import Array, IntArray

CACHE_FORMAT = "tangere-compliance-1"
GIB = 2.0**30
# Right-hand sides solved at once.
BLOCK = 32
# Forces so much smaller than the largest are not drawn: far below what single precision shows.
NEGLIGIBLE = 1e-9
# Components this close to the largest count as equally large when the sign of a mode is fixed:
# symmetric bodies have several, and rounding must not choose among them.
EQUAL = 1e-6


@dataclass(frozen=True, eq=False)
class CondensedBody:
    """What the run time needs of a deformable body, in the frame of its mesh; read-only.

    Per contact node the three components are next to each other: 3 node + axis.
    """

    clamped: bool
    """Whether some vertices follow the frame; else the body floats about its mean axes."""
    nodes: IntArray
    """Contact nodes in the numbering of the finite elements (vertices first), shape (n,)."""
    positions: Array
    """Of the contact nodes at rest [m], shape (n, 3)."""
    triangles: IntArray
    """Contact surface: outward triangles of contact nodes, shape (t, 3)."""
    compliance: Array
    """Static displacement per force without the share of the modes [m/N], shape (3n, 3n)."""
    frequencies: Array
    """Of the modes kept apart, ascending [rad/s], shape (r,)."""
    modes: Array
    """Their mass-normalised shapes at the contact nodes [1/√kg], shape (r, 3n)."""
    gravity: Array
    """Static displacement per unit of gravity along the frame's axes, without the share of the
    modes [m/(m/s²)], shape (3n, 3); zero for a free body, which falls as a whole."""
    modal_gravity: Array
    """Force on each mode per unit of gravity, φᵀ M E [√kg], shape (r, 3)."""
    surface_positions: Array
    """Of all boundary vertices of the mesh at rest [m], shape (s, 3)."""
    surface_triangles: IntArray
    """Outward triangles of boundary vertices, shape (·, 3)."""
    surface_index: IntArray | None
    """Contact node of each boundary vertex, shape (s,); None where some are no contact nodes."""
    surface_compliance: NDArray[np.float32] | None
    """As `compliance`, from forces on contact nodes to boundary vertices, shape (3s, 3n); None
    where `surface_index` says it all, as the next two."""
    surface_modes: Array | None
    """As `modes`, at the boundary vertices, shape (r, 3s)."""
    surface_gravity: Array | None
    """As `gravity`, at the boundary vertices, shape (3s, 3)."""
    memory: int
    """Size of all dense matrices [bytes]."""

    def surface_displacements(
        self, forces: Array, amplitudes: Array, gravity: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Array:
        """Displacement of all boundary vertices, for drawing [m], shape (s, 3).

        Args:
            forces: On the contact nodes, in the frame's axes [N], shape (n, 3).
            amplitudes: Of the modes [m √kg], shape (r,).
            gravity: In the frame's axes [m/s²].
        """
        compliance: Any = self.surface_compliance
        modes, weight = self.surface_modes, self.surface_gravity
        if compliance is None or modes is None or weight is None:
            compliance, modes, weight = self.compliance, self.modes, self.gravity
        f = np.asarray(forces).ravel().astype(compliance.dtype)
        # Few nodes are touched at a time; and no BLAS, whose threads would be woken for 0.1 ms.
        loaded = np.flatnonzero(np.abs(f) > NEGLIGIBLE * np.abs(f).max(initial=0.0))
        u = np.einsum("ji,j->i", compliance.T[loaded], f[loaded])
        u = u + np.einsum("r,ri->i", amplitudes, modes)
        u += np.einsum("ij,j->i", weight, np.asarray(gravity))
        drawn: Array = u.reshape(-1, 3)
        return drawn if self.surface_index is None else drawn[self.surface_index]


def condense(
    mesh: TetMesh,
    material: ElasticMaterial,
    *,
    order: int = 2,
    fixed: ArrayLike | None = None,
    contact: ArrayLike | None = None,
    modes: int = 0,
    memory: float = GIB,
) -> CondensedBody:
    """The body reduced to its contact nodes, from the cache where it was computed before.

    Args:
        mesh: The body at rest, in its own frame.
        material: What it is made of.
        order: Of the elements: 1 (4 nodes; far too stiff in bending unless the mesh is fine) or 2
            (10 nodes). At order 2 the mid-edge nodes of the contact surface are contact nodes, too,
            and each of its triangles becomes four.
        fixed: Vertices that follow the frame, at least three not on a line; None: the body is free.
        contact: Boundary vertices that can be touched; None: all of them. The contact surface are
            the boundary triangles between them.
        modes: How many of the slowest elastic modes to keep apart.
        memory: Most that the dense matrices may take [bytes].

    Raises:
        SceneError: Bad input, or matrices larger than `memory`.
    """
    if not isinstance(material, ElasticMaterial):
        raise SceneError(f"condense material: expected an ElasticMaterial, got {show(material)}")
    fe = finite_elements(mesh, order)
    held = _checked_fixed(mesh, fe, fixed)
    nodes, triangles = _contact_surface(mesh, fe, contact)
    unknowns = 3 * (len(fe.nodes) - len(held)) - 6 * (len(held) == 0)
    # Half of all: Lanczos iteration wants room, and beyond it there is no residual to speak of.
    count = integer(modes, "condense modes", 0, unknowns // 2)
    boundary = mesh.boundary
    index = _positions_in(nodes, boundary.vertices)
    drawn = len(boundary.vertices) if index is None else 0
    size = _dense_bytes(len(nodes), drawn, count)
    if size > positive(memory, "condense memory"):
        raise SceneError(
            f"condense memory: {len(nodes)} contact nodes need {_mebibytes(size)}, more than the "
            f"{_mebibytes(memory)} allowed; name fewer contact vertices, give a coarser mesh or "
            "order 1, or more memory"
        )
    surface = boundary.vertices if index is None else boundary.vertices[:0]
    constants = (material.young, material.poisson, material.density, fe.order, count)
    stored = cached(
        "compliances",
        (CACHE_FORMAT, constants, mesh.vertices, mesh.tetrahedra, held, nodes, drawn),
        lambda: _condensed(fe, material, held, nodes, surface, count),
    )
    body = CondensedBody(
        clamped=len(held) > 0,
        nodes=nodes,
        positions=fe.nodes[nodes],
        triangles=triangles,
        surface_positions=mesh.vertices[boundary.vertices],
        surface_triangles=boundary.triangles,
        surface_index=index,
        memory=size,
        compliance=stored["compliance"],
        frequencies=stored["frequencies"],
        modes=stored["modes"],
        gravity=stored["gravity"],
        modal_gravity=stored["modal_gravity"],
        # by columns, each of which is the answer to one force
        surface_compliance=np.asfortranarray(stored["surface_compliance"]) if drawn else None,
        surface_modes=stored["surface_modes"] if drawn else None,
        surface_gravity=stored["surface_gravity"] if drawn else None,
    )
    for field in fields(body):
        if isinstance(value := getattr(body, field.name), np.ndarray):
            value.setflags(write=False)
    return body


def _checked_fixed(mesh: TetMesh, fe: FiniteElements, fixed: ArrayLike | None) -> IntArray:
    """Nodes that follow the frame; none for a free body."""
    if fixed is None:
        return np.empty(0, dtype=np.int32)
    vertices = checked_nodes(fixed, len(mesh.vertices), "condense fixed", "vertices")
    check_held(mesh.vertices[vertices], "condense fixed")
    held = fe.with_mid_edges(vertices)
    if len(held) == len(fe.nodes):
        raise SceneError(
            f"condense fixed: all {len(mesh.vertices)} vertices are held and nothing can deform; "
            "hold fewer, or make the body rigid"
        )
    return held


def _contact_surface(
    mesh: TetMesh, fe: FiniteElements, contact: ArrayLike | None
) -> tuple[IntArray, IntArray]:
    """Contact nodes, ascending, and the triangles between them in their numbering."""
    boundary = mesh.boundary
    faces = boundary.vertices[boundary.triangles]
    vertices = boundary.vertices
    if contact is not None:
        vertices = checked_nodes(contact, len(mesh.vertices), "condense contact", "vertices")
        inner = np.setdiff1d(vertices, boundary.vertices)
        if len(inner):
            raise SceneError(
                f"condense contact: vertex {inner[0]} is not on the boundary, as are {len(inner)} "
                f"of {len(vertices)}; name boundary vertices only (mesh.boundary.vertices)"
            )
        faces = faces[np.isin(faces, vertices).all(axis=1)]
        if len(faces) == 0:
            raise SceneError(
                f"condense contact: {len(vertices)} vertices span no boundary triangle; "
                "name all three corners of at least one"
            )
    nodes = vertices
    if fe.order == 2:
        a, b, c = faces.T
        ab, bc, ca = fe.mid_edge(a, b), fe.mid_edge(b, c), fe.mid_edge(c, a)
        faces = np.stack(
            [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))],
            axis=1,
        ).reshape(-1, 3)
        nodes = np.union1d(vertices, faces)
    triangles = np.searchsorted(nodes, faces)
    return nodes.astype(np.int32), triangles.astype(np.int32)


def _positions_in(nodes: IntArray, wanted: IntArray) -> IntArray | None:
    """Where each wanted number is among the ascending `nodes`; None where some are missing."""
    at = np.minimum(np.searchsorted(nodes, wanted), len(nodes) - 1)
    return at.astype(np.int32) if bool((nodes[at] == wanted).all()) else None


def _dense_bytes(contact: int, drawn: int, modes: int) -> int:
    """Memory of the dense matrices: compliances in double and single precision, and modes."""
    return 8 * (3 * contact) ** 2 + 4 * 9 * contact * drawn + 8 * 3 * modes * (contact + drawn)


def _mebibytes(size: float) -> str:
    """A number of bytes in words."""
    size /= 2**20
    return f"{size:.0f} MiB" if size >= 10.0 else f"{size:.2g} MiB"


# ---------------------------------------------------------------- the work


class _Statics:
    """The static response of all nodes to loads on all nodes, u = C f, clamped or free."""

    def __init__(self, fe: FiniteElements, stiff: Any, heavy: Any, held: IntArray) -> None:
        from scipy.linalg import qr

        self._size = stiff.shape[0]
        self._rigid: Array | None = None
        tied = dofs_of(held)
        if len(held) == 0:
            # Lengths in units of the body's size, so that turns and shifts weigh the same.
            scaled = fe.nodes / np.ptp(fe.nodes, axis=0).max()
            self._rigid = rigid_modes(scaled, scaled.mean(axis=0))
            self._momentum = heavy @ self._rigid
            self._inverse_inertia = np.linalg.inv(self._rigid.T @ self._momentum)
            # The six degrees of freedom whose rigid motions are the most independent.
            _, _, pivots = qr(self._rigid.T, mode="economic", pivoting=True)
            tied = np.sort(pivots[:6])
        self._free = np.setdiff1d(np.arange(self._size), tied)
        self._factors = factorized(stiff[self._free][:, self._free])

    def __call__(self, loads: Array) -> Array:
        """Displacements [m] under loads [N], both of shape (3N, k)."""
        if self._rigid is not None:
            loads = loads - self._momentum @ (self._inverse_inertia @ (self._rigid.T @ loads))
        u = np.zeros(loads.shape)
        u[self._free] = self._factors.solve(np.asfortranarray(loads[self._free]))
        if self._rigid is not None:
            u -= self._rigid @ (self._inverse_inertia @ (self._momentum.T @ u))
        return u


def _condensed(
    fe: FiniteElements,
    material: ElasticMaterial,
    held: IntArray,
    nodes: IntArray,
    surface: IntArray,
    count: int,
) -> dict[str, NDArray[Any]]:
    """The arrays that are kept on disk; `surface` are the vertices to draw, if any."""
    contact, drawn = dofs_of(nodes), dofs_of(surface)
    what = f"condensing {len(fe.elements)} elements"
    with one_blas_thread(), Progress(what, len(contact)) as progress:
        stiff, heavy = stiffness(fe, material), mass(fe, material.density)
        respond = _Statics(fe, stiff, heavy, held)
        frequencies, shapes = _slowest_modes(stiff, heavy, held, respond, count)
        residual = shapes / frequencies[:, None] ** 2
        compliance = np.empty((len(contact), len(contact)))
        on_surface = np.empty((len(drawn), len(contact)), dtype=np.float32)
        for start in range(0, len(contact), BLOCK):
            columns = contact[start : start + BLOCK]
            loads = np.zeros((stiff.shape[0], len(columns)))
            loads[columns, np.arange(len(columns))] = 1.0
            u = respond(loads)
            for rows, out in ((contact, compliance), (drawn, on_surface)):
                part = u[rows] - shapes[:, rows].T @ residual[:, columns]
                out[:, start : start + BLOCK] = part
            progress.advance(len(columns))
        _symmetrize(compliance)
        weight = heavy @ np.tile(np.eye(3), (len(fe.nodes), 1))
        modal_gravity, gravity = np.zeros((count, 3)), np.zeros((stiff.shape[0], 3))
        if len(held):
            modal_gravity = shapes @ weight
            gravity = respond(weight) - residual.T @ modal_gravity
    return {
        "compliance": compliance,
        "frequencies": frequencies,
        "modes": shapes[:, contact],
        "gravity": gravity[contact],
        "modal_gravity": modal_gravity,
        "surface_compliance": on_surface,
        "surface_modes": shapes[:, drawn],
        "surface_gravity": gravity[drawn],
    }


def _slowest_modes(
    stiff: Any, heavy: Any, held: IntArray, respond: _Statics, count: int
) -> tuple[Array, Array]:
    """Angular frequencies [rad/s], ascending, and mode shapes of all nodes, shape (r, 3N).

    K φ = ω² M φ is solved as C M φ = φ/ω², whose largest eigenvalues belong to the slowest modes.
    Rigid motions have C M φ = 0 and do not come up.
    """
    size = stiff.shape[0]
    if count == 0:
        return np.zeros(0), np.zeros((0, size))
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    free = np.setdiff1d(np.arange(size), dofs_of(held))

    def inverse(load: Array) -> Array:
        loads = np.zeros((size, 1))
        loads[free, 0] = load.ravel()
        flat: Array = respond(loads)[free, 0]
        return flat

    shape = (len(free), len(free))
    try:
        values, vectors = eigsh(
            stiff[free][:, free],
            count,
            heavy[free][:, free],
            sigma=0.0,
            OPinv=LinearOperator(shape, matvec=inverse, dtype=np.float64),
            v0=np.random.default_rng(0).standard_normal(len(free)),
        )
    except ArpackNoConvergence as error:
        raise SceneError(
            f"condense modes: {len(error.eigenvalues)} of {count} modes were found; ask for fewer"
        ) from None
    order = np.argsort(values, kind="stable")
    shapes = np.zeros((count, size))
    shapes[:, free] = vectors.T[order]
    shapes /= np.sqrt(np.einsum("ri,ri->r", shapes, (heavy @ shapes.T).T))[:, None]
    # The first of the largest components is positive.
    large = np.abs(shapes) >= (1.0 - EQUAL) * np.abs(shapes).max(axis=1)[:, None]
    shapes *= np.sign(shapes[np.arange(count), large.argmax(axis=1)])[:, None]
    return np.sqrt(values[order]), shapes


def _symmetrize(matrix: Array) -> None:
    """Replace a matrix by the mean of itself and its transpose, tile by tile."""
    tile = 512
    for i in range(0, len(matrix), tile):
        for j in range(i, len(matrix), tile):
            upper, lower = matrix[i : i + tile, j : j + tile], matrix[j : j + tile, i : i + tile]
            mean = 0.5 * (upper + lower.T)
            upper[:] = mean
            lower[:] = mean.T
