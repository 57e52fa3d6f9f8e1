"""Contacts of points in distance fields beside exact ones, in random poses of pairs of meshes.

A pose puts a point of the tool's surface below one of the body's, their normals against each other,
everything else at random. Each contact of `sdf` has its depth compared with the exact signed
distance of its point to the other mesh. The deepest exact contact of a pose is missed if it is
deeper than a cell of the field and no contact of `sdf` overlaps near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tangere.bench.report import Row
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_DEPTH,
    CONTACT_POINT,
    COUNT,
    NCONTACT,
    NTALLY,
)
from tangere.collision.exact_query import find_contacts
from tangere.collision.triangle_trees import build_triangles, signed_distances
from tangere.contact.penalty.engines import FieldEngine
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.errors import SceneError
from tangere.geometry.shapes import Mesh, Shape
from tangere.maths.rotations import quat_product, quaternion_of, rotation_of
from tangere.maths.vec import Array
from tangere.scene.jaws import lower_jaw, upper_jaw
from tangere.scene.machine_parts import spur_gear
from tangere.scene.utensils import cup, spoon

Pair = tuple[Shape, Shape]

DEEPEST = 3.0  # of the points that poses are made with, in cells
ROOM = 60_000  # contacts of one pose
UNLIMITED = 10**9
# Near an exact contact: within its depth and so many spacings of the points, or cells if larger.
NEAR = 3.0


class Found(NamedTuple):
    """What one pair of meshes gave.

    | field    | meaning                                                                | shape |
    | errors   | of the depth of every contact, in cells                                | (n,)  |
    | shallow  | deepest exact contact less the deepest of sdf, per pose with overlap,  | (m,)  |
    |          | in cells                                                               |       |
    | missed   | deepest exact contact of every pose in which it is missed, in cells    | (k,)  |
    | deep     | number of poses with an exact contact deeper than a cell               |       |
    | cell     | [m]                                                                    |       |
    | spacing  | of the points [m]                                                      |       |
    """

    errors: Array
    shallow: Array
    missed: Array
    deep: int
    cell: float
    spacing: float


def blob(seed: int, subdivisions: int = 4) -> Mesh:
    """A smooth body of 4 cm: a ball with a few waves across it."""
    import trimesh

    rng = np.random.default_rng(seed)
    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=1.0)
    way = np.asarray(ball.vertices)
    radius = np.ones(len(way))
    for _ in range(6):
        wave = rng.normal(size=3) * rng.uniform(1.0, 3.0)
        radius += 0.1 * np.sin(way @ wave + rng.uniform(0.0, 2.0 * np.pi))
    return Mesh(0.02 * radius[:, None] * way, np.asarray(ball.faces))


PAIRS: dict[str, Callable[[], Pair]] = {
    "jaws": lambda: (upper_jaw(), lower_jaw()),
    "spoon and cup": lambda: (spoon(), cup()),
    "gears": lambda: (spur_gear(), spur_gear(17)),
    "blobs": lambda: (blob(1), blob(2)),
}


def rows_of(poses: int, names: tuple[str, ...] = tuple(PAIRS)) -> list[Row]:
    """One row for each pair of meshes."""
    return [_row(name, poses, compare(PAIRS[name](), poses)) for name in names]


def steady_rows(paths: int, names: tuple[str, ...] = tuple(PAIRS)) -> list[Row]:
    """Largest change of the force along smooth paths, for each pair of meshes."""
    rows: list[Row] = []
    for name in names:
        found = steadiness(PAIRS[name](), paths)
        rows.append(
            {
                "pair": name,
                "paths": found.paths,
                "steps of 10 µm": found.coarse,
                "steps of 1 µm": found.fine,
            }
        )
    return rows


def _row(name: str, poses: int, f: Found) -> Row:
    errors = f.errors if len(f.errors) else np.zeros(1)
    return {
        "pair": name,
        "poses": poses,
        "cell [mm]": 1e3 * f.cell,
        "points every [mm]": 1e3 * f.spacing,
        "contacts": len(f.errors),
        "depth off p50 [cells]": float(np.median(errors)),
        "p95": float(np.percentile(errors, 95)),
        "worst": float(errors.max()),
        "too shallow p99": float(np.percentile(f.shallow, 99)) if len(f.shallow) else 0.0,
        "poses deeper than a cell": f.deep,
        "missed": len(f.missed),
    }


def compare(pair: Pair, poses: int, options: Penalty | None = None, seed: int = 0) -> Found:
    """Contacts of a pair in so many random poses.

    Args:
        pair: Tool and body.
        poses: How many.
        options: Of the method.
        seed: Of the poses.
    """
    contact = PenaltyContact(pair[0], [pair[1]], options=options)
    contact.rows = np.zeros((ROOM, NCONTACT))
    trees = build_triangles([pair[0].surface(), pair[1].surface()])
    engine = contact.engine
    if not isinstance(engine, FieldEngine):
        raise SceneError(f"accuracy: of {contact.options.engine!r} there is none, only of 'sdf'")
    cell = float(engine.solids.places[:, 3].max())
    spacing = float(np.sqrt(engine.solids.areas.max()))
    tolerance = contact.options.tolerance
    rows, tally = np.zeros((ROOM, NCONTACT)), np.zeros(NTALLY, dtype=np.int64)
    errors = [np.zeros(0)]
    shallow: list[float] = []
    missed: list[float] = []
    deep = 0
    for place, quaternion in random_poses(pair, poses, DEEPEST * cell, seed):
        contact.forget()
        found = contact.query((place, quaternion), budget=UNLIMITED)
        to_body, _, _ = signed_distances(trees, 1, found.p)
        to_tool, _, _ = signed_distances(trees, 0, (found.p0 - place) @ rotation_of(quaternion))
        off_by = np.minimum(np.abs(found.delta + to_body), np.abs(found.delta + to_tool))
        errors.append(off_by / cell)
        find_contacts(trees, contact.placed, tolerance, UNLIMITED, rows, tally)
        exact = rows[: tally[COUNT]]
        depth = exact[:, CONTACT_DEPTH]
        if depth.max(initial=0.0) > 0.0:
            most = float(found.delta.max(initial=-tolerance))
            shallow.append((float(depth.max()) - most) / cell)
        if depth.max(initial=0.0) > cell:
            deep += 1
            worst, pressing = exact[np.argmax(depth)], found.delta > 0.0
            ends = (CONTACT_POINT, found.p[pressing]), (CONTACT_ANCHOR, found.p0[pressing])
            away = min(_distance_to(worst[at : at + 3], others) for at, others in ends)
            if away > depth.max() + NEAR * max(spacing, cell):
                missed.append(float(depth.max()) / cell)
    return Found(np.concatenate(errors), np.array(shallow), np.array(missed), deep, cell, spacing)


def random_poses(
    pair: Pair, count: int, deepest: float, seed: int
) -> Iterator[tuple[Array, Array]]:
    """Places and quaternions of the tool at which it touches or overlaps the body."""
    rng = np.random.default_rng(seed)
    surfaces = [_Surface(shape) for shape in pair]
    for _ in range(count):
        (here, m), (there, n) = (surface.random_point(rng) for surface in surfaces)
        spin = rng.uniform(0.0, 2.0 * np.pi)
        turn = quat_product(
            _turn_to(-n), np.array([np.cos(0.5 * spin), 0.0, 0.0, np.sin(0.5 * spin)])
        )
        turn = quat_product(turn, _turn_to(m) * (1.0, -1.0, -1.0, -1.0))
        yield there - rng.uniform(0.0, deepest) * n - rotation_of(turn) @ here, turn


class _Surface:
    """Random points of a surface with their normals."""

    def __init__(self, shape: Shape) -> None:
        vertices, faces = shape.surface()
        self.corners = vertices[faces]
        a, b, c = self.corners.transpose(1, 0, 2)
        across = np.cross(b - a, c - a)
        area = np.linalg.norm(across, axis=1)
        self.normals = across / area[:, None]
        self.until = np.cumsum(area) / area.sum()

    def random_point(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A point, evenly over the area, and the outward normal there."""
        t = min(int(np.searchsorted(self.until, rng.random())), len(self.until) - 1)
        return rng.dirichlet(np.ones(3)) @ self.corners[t], self.normals[t]


def _turn_to(way: Array) -> Array:
    """A turn that brings the z axis to a direction."""
    side = np.zeros(3)
    side[int(np.argmin(np.abs(way)))] = 1.0
    x = np.cross(side, way)
    x /= np.linalg.norm(x)
    return quaternion_of(np.column_stack((x, np.cross(way, x), way)))


def _distance_to(point: Array, others: Array) -> float:
    """Distance of a point to the nearest of the others [m]; infinite if there are none."""
    return float(np.linalg.norm(others - point, axis=1).min(initial=np.inf))


# ------------------------------------------------ continuity


class Steady(NamedTuple):
    """How the force on a tool changes along smooth paths, in steps of 10 µm and of 1 µm.

    In both cases the largest change between two updates, as a share of the stiffness times 10 µm. A
    force without jumps has a tenth of it in steps of a tenth.
    """

    paths: int
    coarse: float
    fine: float


STEP = 1e-5  # [m]
STEPS = 100  # of a path
SHALLOW = 0.3e-3  # overlap at which a path begins [m]
PULLS = 40  # to get there


def steadiness(pair: Pair, paths: int, options: Penalty | None = None, seed: int = 0) -> Steady:
    """Largest change of the force along so many random paths on the surface of a body.

    A path begins where the overlap is small and goes on in a random direction, the tool turning.
    Groups change at once: the blend over time, which would hide a jump, is off.

    Args:
        pair: Tool and body.
        paths: How many poses to begin at; those that overlap all over are left out.
        options: Of the method.
        seed: Of the paths.
    """
    given = replace(options or Penalty(), blend=0.0)
    contact = PenaltyContact(pair[0], [pair[1]], options=given)
    rng = np.random.default_rng(seed)
    worst = [0.0, 0.0]
    made = 0
    for start, quaternion in random_poses(pair, paths, SHALLOW, seed):
        place = _pulled_out(contact, start, quaternion)
        if place is None:
            continue
        made += 1
        way, spin = rng.normal(size=(2, 3))
        way /= np.linalg.norm(way)
        spin /= np.linalg.norm(spin) * contact.radius
        for k, finer in enumerate((1, 10)):
            contact.forget()
            steps = STEP / finer * np.arange(STEPS * finer)
            forces = np.array([_force(contact, place, quaternion, s, way, spin) for s in steps])
            change = np.linalg.norm(np.diff(forces, axis=0), axis=1).max(initial=0.0)
            worst[k] = max(worst[k], float(change) / (given.stiffness * STEP))
    return Steady(made, *worst)


def _pulled_out(contact: PenaltyContact, place: Array, quaternion: Array) -> Array | None:
    """The tool moved out, contact by contact, until its overlap is small; None: it is stuck."""
    for _ in range(PULLS):
        contact.forget()
        found = contact.query((place, quaternion), budget=UNLIMITED)
        depth = float(found.delta.max(initial=0.0))
        if depth <= 1.5 * SHALLOW:
            return place if depth > 0.0 else None
        place = place - (depth - SHALLOW) * found.n[np.argmax(found.delta)]
    return None


def _force(
    contact: PenaltyContact, place: Array, quaternion: Array, s: float, way: Array, spin: Array
) -> Array:
    """Force on the tool after a way s along a path [N]."""
    half = 0.25 * s * spin
    turned = quat_product(np.array([1.0, *half]), quaternion)
    pose = np.zeros(13)
    pose[:3], pose[3:7] = place + 0.7 * s * way, turned / np.linalg.norm(turned)
    contact.update(pose)
    force: Array = contact.response.wrench[:3].copy()
    return force
