"""Soft bodies of a compiled scene as arrays: elasticity, surfaces, and what can touch what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.bodies.soft import new_soft_bodies, new_soft_state
from tangere.collision.feature_pairs import new_feature_pairs
from tangere.collision.surfaces import build_surfaces
from tangere.collision.thinning import new_thin_scratch
from tangere.contact.unilateral.problem import (
    NSP,
    ON_FLOOR,
    ON_SOLID,
    ON_SURFACE,
    SoftPairs,
    SoftWork,
)
from tangere.errors import SceneError
from tangere.fem.compliance import CondensedBody, condense
from tangere.fem.material import ElasticMaterial
from tangere.geometry.shapes import Mesh
from tangere.geometry.tetmesh import TetMesh
from tangere.maths.rotations import rotation_of

if TYPE_CHECKING:
    from tangere.maths.vec import Array, IntArray
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Body

FIRST_FEATURES = 256  # room for feature pairs of two bodies; grows when it is full

Patch = tuple[int, "Array", "IntArray", bool]
"""A surface: row of its body, vertices in its frame [m], triangles, whether it is soft."""


def condense_body(body: Body) -> CondensedBody:
    """Elasticity of a soft body at its contact nodes; from the cache where it is known."""
    mesh, elastic = body.shape, body.elastic
    assert isinstance(mesh, TetMesh)
    assert elastic is not None
    material = ElasticMaterial(elastic.young, elastic.poisson, body.mass / mesh.moments().volume)
    try:
        return condense(
            mesh,
            material,
            order=elastic.order,
            fixed=elastic.clamped if len(elastic.clamped) else None,
            contact=elastic.contact,
            modes=elastic.modes,
            memory=elastic.memory,
        )
    except SceneError as error:
        # what `condense` calls fixed may have been given as a handle
        fault = str(error).replace(
            "condense fixed", "condense fixed" if body.fixed else "condense handle"
        )
        raise SceneError(f"soft body {body.name!r} {fault.removeprefix('condense ')}") from None


def soft_work(arrays: Compiled, dt: float) -> tuple[SoftWork, list[CondensedBody]]:
    """All arrays of the soft bodies of a scene, and the bodies that they were made of."""
    soft = [body for body in arrays.bodies if body.elastic is not None]
    rows = [body.index for body in soft]
    condensed = [condense_body(body) for body in soft]
    axes = [rotation_of(arrays.principal[i]) for i in rows]
    damping = [body.elastic.damping or (0.0, dt) for body in soft if body.elastic is not None]
    model = new_soft_bodies(rows, condensed, axes, damping, len(arrays.model.mass))
    patches: list[Patch] = [
        (i, (each.positions - arrays.centre[i]) @ turned, each.triangles, True)
        for i, each, turned in zip(rows, condensed, axes, strict=True)
    ]
    rigid, solids = _rigid_patches(arrays) if soft else ([], [])
    patches += rigid
    # without soft bodies nothing is ever looked up here
    surfaces = build_surfaces(patches or [(0, np.eye(3), np.array([[0, 1, 2]]), False)])
    state = new_soft_state(model, surfaces.displacement)
    return (
        SoftWork(
            model,
            state,
            surfaces,
            _pairs(arrays, rows, patches, solids),
            _radii(arrays, patches, solids),
            **feature_scratch(FIRST_FEATURES),
        ),
        condensed,
    )


def feature_scratch(room: int) -> dict[str, Any]:
    """Those fields of `SoftWork` that have room for so many features."""
    return {
        "features": new_feature_pairs(room),
        "predicted": np.zeros(room),
        "carried": np.zeros(room, np.int32),
        "thinning": new_thin_scratch(room),
        "chosen": np.zeros(room, np.int32),
    }


def _rigid_patches(arrays: Compiled) -> tuple[list[Patch], list[tuple[int, int]]]:
    """Surfaces of rigid bodies, and their curved parts as (body, part)."""
    patches: list[Patch] = []
    solids: list[tuple[int, int]] = []
    for i, body in enumerate(arrays.bodies):
        if body.elastic is not None:
            continue
        axes = rotation_of(arrays.principal[i])
        first = int(arrays.model.part_start[i])
        whole = isinstance(body.shape, Mesh | TetMesh)  # its own surface, not its convex pieces
        found = [body.shape.surface()] if whole else []
        if not whole:
            pieces = zip(body.shape.parts(), body.shape.curves(), strict=True)
            for part, (piece, curve) in enumerate(pieces, first):
                if curve is None:
                    found.append((np.asarray(piece.vertices), piece.triangles()))
                else:
                    solids.append((i, part))
        patches += [(i, (v - arrays.centre[i]) @ axes, t, False) for v, t in found]
    return patches, solids


def _radii(arrays: Compiled, patches: list[Patch], solids: list[tuple[int, int]]) -> Array:
    """Greatest distance of each body's surfaces from its centre of mass [m]; floors have none."""
    radius = np.zeros(len(arrays.model.mass))
    for i, vertices, _, _ in patches:
        radius[i] = max(radius[i], float(np.linalg.norm(vertices, axis=1).max()))
    for i, part in solids:
        centre, half = np.split(arrays.hulls.box[arrays.model.part_hull[part]], 2)
        radius[i] = max(radius[i], float(np.linalg.norm(np.abs(centre) + half)))
    return radius


def _pairs(
    arrays: Compiled, soft: list[int], patches: list[Patch], solids: list[tuple[int, int]]
) -> SoftPairs:
    """Every soft surface with every later surface, every curved part and every floor."""
    rows = []
    n = len(arrays.bodies)
    for k, i in enumerate(soft):
        rows += [
            (k, ON_SURFACE, other, i, patches[other][0], 0, 0)
            for other in range(k + 1, len(patches))
        ]
        rows += [(k, ON_SOLID, part, i, body, 0, 0) for body, part in solids]
        rows += [(k, ON_FLOOR, f, i, n + f, 0, 0) for f in range(arrays.sizes.floors)]
    return SoftPairs(
        np.array([len(rows), len(patches)], np.int32),
        np.array(rows, np.int32).reshape(-1, NSP),
    )
