"""A mesh file made ready for contact: what later takes long is computed now and kept on disk.

One stage after the other, each a name, what it found and what it cost. What is kept is found again
by any program that gives the same mesh, spacing, tolerance and number of points; it lies in the
user's cache, not beside the file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tangere._jit import cache_root
from tangere.collision.closed_surface import bodies_of
from tangere.collision.distance_field import (
    CACHE_FOLDER,
    choose_spacing,
    distance_field,
    field_path,
)
from tangere.collision.field_build import Field, Tell
from tangere.collision.levels.hierarchy import contact_levels, levels_path
from tangere.collision.surface_points import Samples, sample_spacing, samples_path, surface_samples
from tangere.contact.penalty.options import Penalty
from tangere.geometry.checks import integer, number, positive
from tangere.geometry.files import load
from tangere.geometry.shapes import Mesh

if TYPE_CHECKING:
    import os

    from tangere.geometry.shapes import Shape
    from tangere.maths.vec import Array, IntArray


@dataclass(frozen=True)
class Stage:
    """One thing that was made ready."""

    name: str
    found: str
    """What came out, in words."""
    seconds: float
    peak: float
    """Largest memory of the process so far [bytes]; 0 where the system does not tell."""
    stored: bool
    """Whether it lay in the cache already."""


@dataclass(frozen=True)
class Report:
    """What a mesh is, what was made of it, and where that is kept."""

    file: Path
    triangles: int
    size: tuple[float, float, float]
    """Along the axes [m]."""
    volume: float
    """Enclosed [m³]."""
    parts: int
    """Separate surfaces that point outwards."""
    repairs: tuple[str, ...]
    stages: tuple[Stage, ...]
    files: tuple[Path, ...]
    """What is kept of this mesh, beside convex pieces."""
    folder: Path
    folder_size: int
    """All fields and points that are kept, of all meshes [bytes]."""


@dataclass(frozen=True)
class Job:
    """What the stages share."""

    shape: Shape
    points: Array
    faces: IntArray
    spacing: float | None
    tolerance: float
    samples: int
    name: str


def prepare(
    path: str | os.PathLike[str],
    *,
    scale: float = 1.0,
    shell: float | None = None,
    spacing: float | None = None,
    samples: int = Penalty.samples,
    tolerance: float = Penalty.tolerance,
    levels: bool = False,
    pieces: bool = False,
    tell: Tell | None = None,
) -> Report:
    """Load a mesh and compute what contact needs of it, as far as it is not in the cache.

    Args:
        path: Mesh file.
        scale: Metres per unit of the file.
        shell: Take its surface for a shell of this thickness [m].
        spacing: Of the distance field [m]; None: from the mesh.
        samples: About how many points it may have.
        tolerance: Distance from which contacts press [m].
        levels: Contact levels of detail too, for the engine "levels".
        pieces: Split a concave mesh into convex pieces too, for the volume method: minutes.
        tell: Called with the share that is done and what is being done.

    Raises:
        SceneError: The file holds no solid, or a number asks for more than can be computed.
    """
    if spacing is not None:
        spacing = positive(spacing, "spacing")
    samples = integer(samples, "samples", 16, 1_000_000)
    tolerance = number(tolerance, "tolerance", least=0.0)
    told = tell or (lambda *_: None)
    file = Path(path)
    begin = time.perf_counter()
    told(0.0, "loading")
    shape = load(path, scale=scale, shell=shell)
    points, faces = shape.surface()
    job = Job(shape, points, faces, spacing, tolerance, samples, file.name)
    if not field_path(points, faces, spacing, tolerance).exists():
        choose_spacing(points, faces, spacing, tolerance, file.name)  # refuses what cannot be
    read = f"{len(faces):,} triangles"
    done = [Stage("mesh", read, time.perf_counter() - begin, _peak(), stored=False)]
    made: dict[str, Field | Samples] = {}
    stages: list[tuple[str, Callable[[Job, dict[str, Field | Samples], Tell], tuple[str, bool]]]]
    stages = [("distance field", _field), ("points", _points)]
    if levels:
        stages.append(("contact levels", _levels))
    if pieces:
        stages.append(("convex pieces", _pieces))
    for i, (name, work) in enumerate(stages):
        begin = time.perf_counter()

        def tell_stage(share: float, doing: str, before: int = i) -> None:
            told((before + share) / len(stages), doing)

        found, stored = work(job, made, tell_stage)
        done.append(Stage(name, found, time.perf_counter() - begin, _peak(), stored))
    told(1.0, "done")
    return _report(file, job, made, tuple(done))


def _field(job: Job, made: dict[str, Field | Samples], tell: Tell) -> tuple[str, bool]:
    """The distance field, and whether it was there."""
    stored = field_path(job.points, job.faces, job.spacing, job.tolerance).exists()
    tell(0.0, "distance field")
    field = distance_field(
        job.points, job.faces, spacing=job.spacing, tolerance=job.tolerance, what=job.name,
        tell=tell,
    )  # fmt: skip
    made["field"] = field
    near = 1e3 * (field.margin - field.spacing)
    return (
        f"{1e3 * field.spacing:.3g} mm apart, exact within {near:.3g} mm of the surface, "
        f"{field.nbytes / 1e6:.3g} MB"
    ), stored


def _points(job: Job, made: dict[str, Field | Samples], tell: Tell) -> tuple[str, bool]:
    """The sample points, and whether they were there."""
    field = made["field"]
    assert isinstance(field, Field)
    spacing = sample_spacing(job.points, job.faces, field, job.samples)
    stored = samples_path(job.points, job.faces, field, spacing).exists()
    samples = surface_samples(job.points, job.faces, field, job.samples, what=job.name, tell=tell)
    made["points"] = samples
    surface_samples(job.points, job.faces, field, job.samples, vertices=True, what=job.name)
    return f"{len(samples.points):,}, {1e3 * samples.spacing:.3g} mm apart", stored


def _levels(job: Job, _: dict[str, Field | Samples], tell: Tell) -> tuple[str, bool]:
    """The contact levels, and whether they were there."""
    stored = levels_path(job.points, job.faces).exists()
    levels = contact_levels(
        job.points,
        job.faces,
        progress=lambda share: tell(share, "contact levels"),
        what=job.name,
    )
    return f"{len(levels.nodes):,} convex pieces of all levels", stored


def _pieces(job: Job, _: dict[str, Field | Samples], tell: Tell) -> tuple[str, bool]:
    """The convex pieces; whether they were there is not known."""
    tell(0.0, "convex pieces")
    return f"{len(job.shape.parts())}", False


def _report(
    file: Path, job: Job, made: dict[str, Field | Samples], stages: tuple[Stage, ...]
) -> Report:
    field = made["field"]
    assert isinstance(field, Field)
    spacing = sample_spacing(job.points, job.faces, field, job.samples)
    kept = (
        field_path(job.points, job.faces, job.spacing, job.tolerance),
        samples_path(job.points, job.faces, field, spacing),
        samples_path(job.points, job.faces, field, spacing, True),
    )
    folder = cache_root() / CACHE_FOLDER
    x, y, z = (float(v) for v in np.ptp(job.points[np.unique(job.faces)], axis=0))
    return Report(
        file=file,
        triangles=len(job.faces),
        size=(x, y, z),
        volume=job.shape.moments().volume,
        parts=len(bodies_of(job.points, job.faces)),
        repairs=job.shape.repairs if isinstance(job.shape, Mesh) else (),
        stages=stages,
        files=tuple(path for path in kept if path.exists()),
        folder=folder,
        folder_size=sum(path.stat().st_size for path in folder.glob("*")),
    )


def _peak() -> float:
    """Largest memory that this process has taken so far [bytes]."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
