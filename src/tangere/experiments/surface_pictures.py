"""Pictures of deformed surfaces: triangles painted from back to front, stress as colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tangere.experiments import pictures
from tangere.maths.vec import Array, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#7fa7c9", "#c3cfc6", "#f0c987", "#e08a4a", "#a83232")  # from no stress to the most


@dataclass(frozen=True)
class Surface:
    """A closed surface as it is drawn: vertices [m], outward triangles, a share of 0 to 1 each."""

    vertices: Array
    triangles: IntArray
    shares: Array


def strip(
    frames: Sequence[tuple[Surface, pictures.Frame]],
    camera: pictures.Camera,
    title: str,
    panel: float = 2.1,
) -> Figure:
    """A row of pictures: each a surface, and the caption, arrows and solids of a frame."""
    figure = pictures.strip([frame for _, frame in frames], camera, title, panel)
    for axes, (surface, frame) in zip(figure.axes, frames, strict=True):
        paint(axes, surface, frame.camera or camera)
    return figure


def paint(axes: Axes, surface: Surface, camera: pictures.Camera) -> None:
    """One surface into a picture: its shadow, then what looks at the camera."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

    right, up, towards = camera.axes()
    corners = surface.vertices[surface.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]

    def project(points: Array) -> Array:
        there = points - np.asarray(camera.centre)
        return np.stack((there @ right, there @ up), axis=-1)

    lit = normals @ pictures.SUN > 0.0
    flat = corners[lit] - corners[lit][..., 2:] / pictures.SUN[2] * pictures.SUN
    shade = pictures.SHADOW_COLOUR
    axes.add_collection(
        PolyCollection(
            list(project(flat)), facecolors=shade, edgecolors=shade, linewidths=0.3, zorder=1
        )
    )
    seen = np.flatnonzero(normals @ towards > 0.0)
    seen = seen[np.argsort(corners[seen].mean(axis=1) @ towards, kind="stable")]
    light = pictures.AMBIENT + (1.0 - pictures.AMBIENT) * np.clip(normals @ pictures.SUN, 0.0, 1.0)
    colour = LinearSegmentedColormap.from_list("stress", COLOURS)
    share = np.clip(surface.shares[surface.triangles[seen]].mean(axis=1), 0.0, 1.0)
    faces = np.clip(np.asarray(colour(share))[:, :3] * light[seen, None], 0.0, 1.0)
    axes.add_collection(
        PolyCollection(
            list(project(corners[seen])),
            facecolors=faces,
            edgecolors=0.92 * faces,
            linewidths=0.25,
            zorder=10,
        )
    )
