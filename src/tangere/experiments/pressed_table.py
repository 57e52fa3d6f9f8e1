"""The table of Duriez et al. (2006): held at the middle of its top, its feet on a rigid floor.

Its mesh, material and load are not printed. Here it is a grid of cubes of 20 mm, cut into
tetrahedra of four nodes, and the middle of its top is moved by a given way d. Every foot node
that touches is a contact, with the normal up and the tangents along x and y:

    δ = W f + δ_free,     δ_free = d at every contact,     W = H C Hᵀ  (the Delassus operator)

C is the compliance of the feet with the middle of the top held. Elements of four nodes are too
stiff in bending; they are kept because the figures are compared with an independent program that
has them, too, and those of ten nodes are told beside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tangere.experiments import pictures
from tangere.experiments.surface_pictures import Surface
from tangere.fem import grids
from tangere.fem.compliance import CondensedBody, condense
from tangere.fem.material import ElasticMaterial
from tangere.fem.surface_stress import surface_stress
from tangere.maths.vec import Array, IntArray, LongArray

if TYPE_CHECKING:
    from tangere.geometry.tetmesh import TetMesh

# Compliance of a node along z, x, y: normal, first and second tangent.
FRAME = np.array([2, 0, 1])
CAMERA = pictures.Camera(
    azimuth=-62.0, elevation=14.0, centre=(0.0, 0.0, 0.16), width=0.72, height=0.5
)


@dataclass(frozen=True)
class TableParams:
    """What the table is made of; SI units."""

    young: float = 1e9
    poisson: float = 0.3
    density: float = 1000.0
    voxel: float = 0.02
    order: int = 1

    @property
    def material(self) -> ElasticMaterial:
        """Of the finite elements."""
        return ElasticMaterial(self.young, self.poisson, self.density)


@dataclass(frozen=True)
class PressedTable:
    """The table condensed to its feet, and the contacts there, leg after leg.

    Attributes:
        params: What it is made of.
        mesh: At rest.
        body: Condensed, held at the middle of its top.
        nodes: Contact nodes in the numbering of `body` (m,).
        legs: Leg of each contact: 2 where x > 0, plus 1 where y > 0 (m,).
        outward: Signs of x and y of each contact (m, 2).
        W: Delassus operator [m/N], per contact along n, t1, t2 (3m, 3m).
    """

    params: TableParams
    mesh: TetMesh
    body: CondensedBody
    nodes: LongArray
    legs: LongArray
    outward: Array
    W: Array

    @property
    def contacts(self) -> int:
        """Their number."""
        return len(self.nodes)

    def free_gaps(self, down: float, x: float = 0.0, y: float = 0.0) -> Array:
        """δ_free where the top is moved so far down and sideways [m], shape (3m,)."""
        return np.tile([-down, x, y], self.contacts)

    def surface(self, forces: Array, way: Array, magnified: float, most: float) -> Surface:
        """The table under contact forces, for a picture.

        Args:
            forces: Along n, t1, t2 of every contact [N], shape (3m,).
            way: Of the middle of the top [m], shape (3,).
            magnified: Displacements are drawn so many times as large.
            most: Von Mises stress of the darkest colour [Pa].
        """
        p, body = self.params, self.body
        loads = np.zeros((len(body.nodes), 3))
        loads[self.nodes[:, None], FRAME] = forces.reshape(-1, 3)
        u = body.surface_displacements(loads, np.zeros(0))
        rest, triangles = body.surface_positions, body.surface_triangles
        stress = surface_stress(rest, triangles, u, p.young, p.poisson)
        moved = rest + magnified * (u + way)
        return Surface(moved, triangles, stress / most)


def pressed_table(p: TableParams, *, corners: bool, bars: bool = False) -> PressedTable:
    """The table, its contacts the 16 corners of the feet or all nodes there."""
    mesh = grids.table(p.voxel, bars=bars)
    body = condense(
        mesh, p.material, order=p.order, fixed=grids.top_centre(mesh), contact=grids.feet(mesh)
    )
    chosen: IntArray = grids.foot_corners(mesh) if corners else grids.feet(mesh)
    x, y = mesh.vertices[chosen, :2].T
    leg = 2 * (x > 0.0) + (y > 0.0)
    order = np.argsort(leg, kind="stable")
    nodes = np.searchsorted(body.nodes, chosen[order]).astype(np.int64)
    rows = (3 * nodes[:, None] + FRAME).ravel()
    return PressedTable(
        params=p,
        mesh=mesh,
        body=body,
        nodes=nodes,
        legs=leg[order].astype(np.int64),
        outward=np.sign(mesh.vertices[chosen[order], :2]),
        W=body.compliance[np.ix_(rows, rows)],
    )


def quadratic(p: TableParams) -> TableParams:
    """The same table of elements of ten nodes."""
    return replace(p, order=2)


def contact_rows(contacts: LongArray) -> LongArray:
    """Rows of these contacts in W, three each."""
    return (3 * contacts[:, None] + np.arange(3)).ravel()
