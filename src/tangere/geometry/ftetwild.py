"""Tetrahedra that fill a closed surface, by fTetWild.

The method is that of Hu, Schneider, Wang, Zorin and Panozzo, Fast tetrahedral meshing in the wild,
SIGGRAPH 2020. It runs in a process of its own: the library holds the interpreter's lock for as long
as it works, prints, leaves files behind and can crash; so it is quiet, can be interrupted, and
fails in one line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.geometry.disk_cache import cached

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tangere.maths.vec import Array, IntArray

    Fault = Callable[[Array, IntArray], str]

# How far the surface may move, over its bounding diagonal: fTetWild's own default, then less where
# the result is not good enough. Thin parts lose volume with the first, and a new run draws new
# random numbers, which helps where the first was unlucky.
ENVELOPES = (1e-3, 5e-4, 2.5e-4)
CACHE_FORMAT = "tangere-tetrahedra-1"


def fill(
    vertices: Array, triangles: IntArray, edge: float, what: str, fault: Fault
) -> tuple[Array, IntArray]:
    """Vertices [m] and tetrahedra inside a closed surface, from the cache where it has them.

    Args:
        vertices: Of the surface [m], shape (n, 3).
        triangles: Outward, shape (t, 3).
        edge: Edge length aimed at, over the diagonal of the bounding box.
        what: How error messages call the surface.
        fault: Says what is wrong with vertices and tetrahedra, "" if they are good.

    Raises:
        SceneError: The surface cannot be filled well.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centre, size = 0.5 * (low + high), float(np.linalg.norm(high - low))

    def compute() -> dict[str, NDArray[Any]]:
        trouble = ""
        for envelope in ENVELOPES:
            # The same numbers whatever the size: a scaled surface is filled as well.
            unit, corners = _run((vertices - centre) / size, triangles, edge, envelope, what)
            points = unit * size + centre
            trouble = fault(points, corners)
            if not trouble:
                return {"vertices": points, "tetrahedra": corners}
        raise SceneError(f"{what}: {trouble}")

    settings = (CACHE_FORMAT, edge, ENVELOPES)
    stored = cached("tetrahedra", (*settings, vertices, triangles), compute)
    return stored["vertices"], stored["tetrahedra"]


def _run(
    vertices: Array, triangles: IntArray, edge: float, envelope: float, what: str
) -> tuple[Array, IntArray]:
    """Vertices and tetrahedra from one run of fTetWild in another process."""
    with tempfile.TemporaryDirectory(prefix="tangere-") as folder:
        given, made = Path(folder) / "surface.npz", Path(folder) / "tetrahedra.npz"
        np.savez(given, vertices=vertices, triangles=triangles, sizes=(edge, envelope))
        done = subprocess.run(
            [sys.executable, "-m", "tangere.geometry.ftetwild", str(given), str(made)],
            cwd=folder,  # where the library leaves files behind
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0 or not made.exists():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise SceneError(f"{what}: fTetWild failed ({show(last)}); check the surface")
        with np.load(made) as result:
            points, corners = result["vertices"], result["tetrahedra"]
    if len(corners) == 0:
        raise SceneError(
            f"{what}: fTetWild found no inside; the surface must be closed and thicker than a "
            f"thousandth of its size"
        )
    return points, corners


def _main(given: str, made: str) -> None:
    """What the other process does: read the surface, fill it, write the tetrahedra."""
    import pytetwild

    with np.load(given) as surface:
        vertices, triangles = surface["vertices"], surface["triangles"]
        edge, envelope = surface["sizes"]
    points, corners = pytetwild.tetrahedralize(
        vertices,
        np.ascontiguousarray(triangles, dtype=np.int32),
        edge_length_fac=float(edge),
        epsilon=float(envelope),
        coarsen=True,  # else edges longer than a tenth of the diagonal are never made
        num_threads=1,
        quiet=True,
        vtk_ordering=True,  # positive tetrahedra
    )
    np.savez(made, vertices=points, tetrahedra=corners)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
