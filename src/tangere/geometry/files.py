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
from tangere.geometry.edges import diagonal
from tangere.geometry.mesh import MAX_TRIANGLES, Source, checked_vertices
from tangere.geometry.repair import mended, one_vertex_per_place
from tangere.geometry.shapes import Convex, Mesh
from tangere.geometry.shell import thickened

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from tangere.maths.vec import Array

FORMATS = (".obj", ".stl", ".ply", ".off", ".glb", ".gltf", ".xyz")
# A mesh of MAX_TRIANGLES stays below this in every common format; larger files are refused unread.
MAX_BYTES = 1_200_000_000
# Beyond these sizes [m] a part was probably meant in millimetres, or in metres after all.
LARGE, SMALL = 10.0, 1e-4
# Steps of single precision beyond this share of a part's size dent its faces.
COARSE = 1e-4
SUGGESTED_SHELL = 0.01  # over the diagonal
LOG = logging.getLogger("tangere")


def load(
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    repair: bool = True,
    shell: float | None = None,
) -> Mesh | Convex:
    """The solid in a mesh file, or the hull of a point cloud file.

    Vertices at the same place are joined, since STL and textured OBJ files repeat them. A surface
    that is not closed then is repaired as far as nothing is made up (`geometry.repair`). What was
    done is in `Mesh.repairs` and is said in one line, which goes to the logger "tangere" as a
    warning: on the terminal, unless the program says otherwise.

    Args:
        path: File whose ending names the format.
        scale: Metres per unit of the file, e.g. 0.001 for millimetres.
        repair: Whether to repair; if not, a surface that is not closed is refused.
        shell: Take the surface as a shell of this thickness [m], half of it to either side:
            for sheets, and for triangles that enclose nothing.

    Raises:
        SceneError: No such file, not readable, or not the surface of a solid.
    """
    where = one_line(path)
    factor = positive(scale, f"{where} scale")
    thickness = None if shell is None else positive(shell, f"{where} shell")
    file = _regular_file(path, where)
    vertices, faces = _read(file, where)
    source = Source(str(file.resolve()), factor, repair, thickness)
    try:
        if faces is None:
            return Convex(vertices * factor)
        mesh = _solid(vertices * factor, faces, source)
    except SceneError as error:
        raise SceneError(f"{where}: {error}") from None
    remarks = (*mesh.repairs, *_remarks(vertices, mesh, factor))
    if remarks:
        LOG.warning("%s: %s", where, "; ".join(remarks))
    return mesh


def _solid(vertices: Array, faces: NDArray[np.integer[Any]], source: Source) -> Mesh:
    """The mesh, repaired if it has to be and may."""
    wrong = vertices.ndim != 2 or vertices.shape[1] != 3
    if wrong or len(faces) > MAX_TRIANGLES or not _exist(faces, len(vertices)):
        return Mesh(vertices, faces)  # says what is wrong
    points, triangles = one_vertex_per_place(vertices, faces.astype(np.int32))
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]  # exporters leave them behind
    said: tuple[str, ...] = ()
    if source.shell is not None:
        points, triangles, done = thickened(points, triangles, source.shell)
        said = done.lines()
    try:
        return Mesh(points, triangles, source=source, repairs=said)
    except SceneError as error:
        if not source.repair:
            raise
        points = checked_vertices(points, "Mesh")  # not a number: beyond repair
        thin = f"{SUGGESTED_SHELL * diagonal(points):.1g}"
        remedy = f"close it, or give shell={thin} to take it for a shell {thin} m thick"
        if len(triangles) < 4:
            raise SceneError(f"{error}; {remedy}") from None
    points, triangles, done = mended(points, triangles, "Mesh", remedy)
    return Mesh(points, triangles, source=source, repairs=(*said, *done.lines()))


def _exist(faces: NDArray[np.integer[Any]], count: int) -> bool:
    return bool(faces.min() >= 0 and faces.max() < count)


def _remarks(given: Array, mesh: Mesh, scale: float) -> list[str]:
    """Doubts about the unit and the place of a mesh, each with a remedy; `given`: as stored."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    size, offset = float((high - low).max()), float(np.abs((low, high)).max())
    remarks = []
    if size > LARGE and scale == 1.0:
        remarks.append(f"{size:.3g} m large: if the file is in millimetres, give scale=0.001")
    if size < SMALL and scale != 1.0:
        remarks.append(f"{size:.2g} m large: if the file is in metres, leave scale out")
    step = offset * float(np.finfo(np.float32).eps)
    if step > COARSE * size and np.array_equal(np.float32(given), given):
        remarks.append(
            f"{offset:.3g} m off its origin, where single precision has steps of {step:.1g} m: "
            "export it closer to the origin"
        )
    return remarks


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
    if len(faces) == 0 or faces.ndim != 2 or faces.shape[1] != 3:
        raise SceneError(f"{where}: holds no triangles; export it as a triangle mesh")
    return vertices, faces
