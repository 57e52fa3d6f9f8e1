"""What makes a body soft: its elasticity, which vertices are clamped, and which can touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import Record, integer, number, positive, show

if TYPE_CHECKING:
    from tangere.geometry.tetmesh import TetMesh
    from tangere.maths.vec import Array, IntArray

    Vertices = Callable[[Array], Any] | Any
    """Indices, a mask, or a function of the vertices [m] that gives one of the two."""

MODES = 12  # vibration modes with inertia, unless told otherwise
MOST_MODES = 32
MEMORY = 1 << 30  # most that the compliance of one body may take [bytes]
MOST_MEMORY = 1 << 40


@dataclass(frozen=True, eq=False)
class Elastic(Record):
    """Elasticity of a soft body whose shape is a `TetMesh`."""

    young: float
    """Young's modulus [Pa]."""
    poisson: float
    """Poisson's ratio, above −1 and below ½."""
    damping: tuple[float, float] | None
    """Rayleigh damping α M + β K: α [1/s], β [s]. None: β is the step."""
    order: int
    """Of the elements: 1 (four nodes; too stiff in bending) or 2 (ten nodes)."""
    clamped: IntArray
    """Vertices of the mesh that move with the body's frame; none: the frame is the mean motion."""
    contact: IntArray | None
    """Vertices that can touch; None: all of the surface."""
    modes: int
    """Vibration modes that have inertia; the rest of the elasticity follows at once."""
    memory: int
    """Most that the compliance may take [bytes]."""


def checked_elastic(
    mesh: TetMesh,
    what: str,
    *,
    young: float,
    poisson: float,
    damping: Any,
    order: int,
    clamped: Any,
    contact: Any,
    modes: int | None,
    memory: int,
) -> Elastic:
    """An `Elastic` of checked values.

    Raises:
        SceneError: In one line that begins with `what`.
    """
    ratio = number(poisson, f"{what} poisson")
    if not -1.0 < ratio < 0.5:
        raise SceneError(
            f"{what} poisson: {ratio:g} is impossible or incompressible; give more than -1 and "
            "less than 0.5, such as 0.45 for rubber"
        )
    held = vertex_set(mesh, clamped, f"{what} clamped vertices")
    if modes is None:
        # tiny meshes have fewer: no more than half of what is free to move in four-node elements
        free = 3 * (len(mesh.vertices) - len(held)) - (0 if len(held) else 6)
        modes = min(MODES, max(0, free // 2))
    return Elastic(
        young=positive(young, f"{what} young"),
        poisson=ratio,
        damping=None if damping is None else _rayleigh(damping, f"{what} damping"),
        order=integer(order, f"{what} order", 1, 2),
        clamped=held,
        contact=None if contact is None else _touchable(mesh, contact, f"{what} contact"),
        modes=integer(modes, f"{what} modes", 0, MOST_MODES),
        memory=integer(memory, f"{what} memory", 1, MOST_MEMORY),
    )


def _touchable(mesh: TetMesh, contact: Any, what: str) -> IntArray:
    """Contact vertices; a function of positions may choose inner ones, which nothing can touch."""
    vertices = vertex_set(mesh, contact, what)
    if callable(contact):
        vertices = vertices[np.isin(vertices, mesh.boundary.vertices)]
        vertices.setflags(write=False)
    if len(vertices) == 0:
        raise SceneError(f"{what}: no vertex of the surface; leave it out for the whole surface")
    return vertices


def _rayleigh(damping: Any, what: str) -> tuple[float, float]:
    """(α, β) of a pair, or (0, β) of a number."""
    if isinstance(damping, list | tuple) and len(damping) == 2:
        alpha, beta = damping
    else:
        alpha, beta = 0.0, damping
    return (
        number(alpha, f"{what} alpha [1/s]", least=0.0),
        number(beta, f"{what} beta [s]", least=0.0),
    )


def vertex_set(mesh: TetMesh, given: Any, what: str) -> IntArray:
    """Sorted vertex indices from indices, a mask or a function of the vertices; None: none."""
    if given is None:
        return np.zeros(0, np.int32)
    if callable(given):
        given = given(np.asarray(mesh.vertices))
    raw = np.asarray(given)
    count = len(mesh.vertices)
    if raw.dtype == np.bool_:
        if raw.shape != (count,):
            raise SceneError(
                f"{what}: a mask needs {count} entries, one a vertex, got shape {raw.shape}"
            )
        raw = np.flatnonzero(raw)
    if raw.size == 0:
        return np.zeros(0, np.int32)
    if raw.ndim != 1 or not np.issubdtype(raw.dtype, np.integer):
        raise SceneError(
            f"{what}: expected vertex numbers, a mask or a function of the vertices, got "
            f"{show(given)}"
        )
    wrong = raw[(raw < 0) | (raw >= count)]
    if len(wrong):
        raise SceneError(f"{what}: no vertex {wrong[0]}; they are numbered 0 to {count - 1}")
    chosen = np.unique(raw).astype(np.int32)
    chosen.setflags(write=False)
    return chosen
