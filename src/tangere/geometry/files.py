"""Shapes from mesh and point cloud files, read by trimesh."""

from __future__ import annotations

import logging
import stat
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import one_line, positive, show
from tangere.geometry.mesh import MAX_TRIANGLES
from tangere.geometry.shapes import Convex, Mesh

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from tangere.maths.vec import Array

FORMATS = (".obj", ".stl", ".ply", ".off", ".glb", ".gltf", ".xyz")
# A mesh of MAX_TRIANGLES stays below this in every common format; larger files are refused unread.
MAX_BYTES = 400_000_000


def load(path: str | os.PathLike[str], *, scale: float = 1.0) -> Mesh | Convex:
    """The solid in a mesh file, or the hull of a point cloud file.

    Vertices at the same place are joined, since STL and textured OBJ files repeat them.

    Args:
        path: File whose ending names the format.
        scale: Metres per unit of the file, e.g. 0.001 for millimetres.

    Raises:
        SceneError: No such file, not readable, or not the surface of a solid.
    """
    where = one_line(path)
    factor = positive(scale, f"{where} scale")
    file = _regular_file(path, where)
    vertices, faces = _read(file, where)
    try:
        if faces is None:
            return Convex(vertices * factor)
        points, triangles = _joined(vertices * factor, faces)
        return Mesh(points, triangles, source=(str(file.resolve()), factor))
    except SceneError as error:
        raise SceneError(f"{where}: {error}") from None


def _regular_file(path: str | os.PathLike[str], where: str) -> Path:
    try:
        file = Path(path)
        mode, size = file.stat().st_mode, file.stat().st_size
    except FileNotFoundError:
        raise SceneError(f"{where}: no such mesh file; check the path") from None
    except (OSError, TypeError, ValueError) as error:
        raise SceneError(f"{where}: cannot read ({one_line(error)}); check the path") from None
    if not stat.S_ISREG(mode):
        raise SceneError(f"{where}: not a regular file; give the path of a mesh file")
    if file.suffix.lower() not in FORMATS:
        raise SceneError(
            f"{where}: unknown mesh format {show(file.suffix)}; use one of {' '.join(FORMATS)}"
        )
    if size > MAX_BYTES:
        raise SceneError(
            f"{where}: {size / 1e6:.0f} MB, at most {MAX_BYTES / 1e6:.0f} MB are accepted; "
            f"reduce the mesh to {MAX_TRIANGLES} triangles"
        )
    return file


def _read(file: Path, where: str) -> tuple[Array, NDArray[np.integer[Any]] | None]:
    """Vertices and triangles as stored; triangles are None for a point cloud."""
    import trimesh

    log = logging.getLogger("trimesh")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # its remarks would stand beside our one line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scene = trimesh.load_scene(file, process=False, skip_materials=True)
            parts = list(scene.geometry.values())
            if parts and all(isinstance(part, trimesh.PointCloud) for part in parts):
                return np.concatenate([np.asarray(part.vertices) for part in parts]), None
            mesh = scene.to_mesh()
            vertices = np.array(mesh.vertices, dtype=np.float64)
            faces = np.array(mesh.faces)
    except Exception as error:  # parsers of broken files raise whatever they stumble over
        reason = show(str(error) or type(error).__name__)
        raise SceneError(f"{where}: not a readable {file.suffix} file ({reason})") from None
    finally:
        log.setLevel(level)
    if len(faces) == 0 or faces.ndim != 2:
        raise SceneError(f"{where}: holds no triangles; export it as a triangle mesh")
    return vertices, faces


def _joined(
    vertices: Array, faces: NDArray[np.integer[Any]]
) -> tuple[Array, NDArray[np.integer[Any]]]:
    """The mesh with vertices at one place joined, unused ones and collapsed triangles dropped."""
    if len(vertices) == 0 or faces.min() < 0 or faces.max() >= len(vertices):
        return vertices, faces  # `Mesh` says what is wrong
    points, new = np.unique(vertices[faces.ravel()] + 0.0, axis=0, return_inverse=True)
    triangles = new.reshape(-1, 3)
    a, b, c = triangles.T
    return points, triangles[(a != b) & (b != c) & (c != a)]
