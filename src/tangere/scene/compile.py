"""Scene → Model, State and Work: the only bridge from words to arrays."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.curve import NC, Curve
from tangere.geometry.curved_solid import CurvedSolid
from tangere.geometry.polyhedron import Polyhedron
from tangere.geometry.shapes import Compound, Convex, Mesh, Shape
from tangere.geometry.tetmesh import TetMesh
from tangere.maths.rotations import quat_product, quaternion_of, rotation_of
from tangere.maths.vec import Array
from tangere.model import (
    NK,
    NL,
    NM,
    NS,
    NT,
    SP_A,
    SP_B,
    SP_DAMPING,
    SP_K,
    SP_RATE,
    SP_REST,
    SP_VELOCITY,
    Hulls,
    Model,
    Sizes,
    State,
    Work,
    World,
    new_pairs,
    new_soup,
    new_tree,
)
from tangere.scene.scene import Body, Floor, Material, Scene
from tangere.solver import new_solver

# Keys of the pair list hold 20 bits per index.
MAX_PARTS = 1 << 20
# First guess of room; both grow when a step runs out of it.
PAIRS_PER_PART = 6
SOUP_VERTICES = 4096
SUMS = 64
CONTACTS_PER_BODY = 4


class Compiled(NamedTuple):
    """Everything a run needs."""

    sizes: Sizes
    model: Model
    hulls: Hulls
    state: State
    work: Work
    centre: Array  # centre of mass in each body's shape frame [m], shape (n, 3)
    offset: Array  # the same in principal axes [m], shape (n, 3)
    principal: Array  # quaternion of each principal frame in the shape frame, shape (n, 4)
    bodies: tuple[Body, ...]  # what they were made from
    whole: tuple[bool, ...]  # of each body: its one part is the box around its surface


def compile_scene(scene: Scene, *, whole: bool = False) -> Compiled:
    """Arrays of a scene, ready to run.

    whole: bodies that are more than one convex part are not taken apart: their only part is the
    box around their surface, for the search for pairs.
    """
    n, f = len(scene.bodies), len(scene.floors)
    mass = np.full(n + f, np.inf)
    inv_mass = np.zeros(n + f)
    inertia = np.ones((n + f, 3))
    inv_inertia = np.zeros((n + f, 3))
    centre = np.zeros((n, 3))
    principal = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (n, 1))
    state = _new_state(n + f, len(scene.springs))
    hulls = _HullTable()
    areas: dict[int, float] = {}  # many bodies share one shape
    part_body: list[int] = []
    part_hull: list[int] = []
    part_start = [0]
    face_area = np.full(n + f, np.inf)
    boxed = tuple(whole and is_whole(body.shape) for body in scene.bodies)
    for i, body in enumerate(scene.bodies):
        axes = np.eye(3)
        if not body.fixed:
            centre[i] = body.centre
            moments, axes = principal_frame(np.asarray(body.inertia))
            mass[i], inv_mass[i] = body.mass, 1.0 / body.mass
            inertia[i], inv_inertia[i] = moments, 1.0 / moments
        principal[i] = quaternion_of(axes)
        q = quat_product(np.asarray(body.orientation, float), principal[i])
        turned = rotation_of(np.asarray(body.orientation, float))
        state.quaternion[i] = q / np.linalg.norm(q)
        state.position[i] = np.asarray(body.position) + turned @ centre[i]
        state.velocity[i] = body.velocity
        state.omega[i] = body.angular_velocity
        rotation = rotation_of(state.quaternion[i])
        state.rotation[i] = rotation.reshape(9)
        if not body.fixed:
            state.momentum[i] = rotation @ (inertia[i] * (rotation.T @ state.omega[i]))
        if body.elastic is None:  # what is soft has no rigid parts
            shape = _box_around(body.shape) if boxed[i] else body.shape
            if id(body.shape) not in areas:
                areas[id(body.shape)] = _largest_face(shape)
            face_area[i] = areas[id(body.shape)]
            for piece, curve in zip(shape.parts(), shape.curves(), strict=True):
                part_body.append(i)
                part_hull.append(hulls.add(piece, curve, centre[i], axes))
        part_start.append(len(part_body))
    if len(part_body) >= MAX_PARTS:
        raise SceneError(
            f"scene has {len(part_body)} convex pieces; at most {MAX_PARTS - 1} can be simulated, "
            "use fewer bodies or coarser decompositions"
        )
    materials, material = _materials(scene)
    table = hulls.finish()
    verts = np.diff(table.vert_start)[part_hull] if part_hull else np.zeros(0, int)
    faces = np.diff(table.face_start)[part_hull] if part_hull else np.zeros(0, int)
    world_start = np.zeros((len(part_body) + 1, 2), np.int32)
    world_start[1:, 0] = np.cumsum(verts)
    world_start[1:, 1] = np.cumsum(faces)
    model = Model(
        gravity=np.asarray(scene.gravity, float).copy(),
        mass=mass,
        inv_mass=inv_mass,
        inertia=inertia,
        inv_inertia=inv_inertia,
        material=material,
        materials=materials,
        face_area=face_area,
        part_body=np.array(part_body, np.int32),
        part_hull=np.array(part_hull, np.int32),
        part_start=np.array(part_start, np.int32),
        world_start=world_start,
        floor_plane=np.array([(*x.normal, x.height) for x in scene.floors], float).reshape(f, 4),
        spring_bodies=np.array(
            [(x.body_a, -1 if x.body_b is None else x.body_b) for x in scene.springs], np.int32
        ).reshape(-1, 2),
    )
    state.springs[:] = _spring_rows(scene, centre, principal, inv_mass, inv_inertia)
    for array in (*model, *table):
        array.setflags(write=False)
    return Compiled(
        Sizes(n, len(part_body), f, len(scene.springs)),
        model,
        table,
        state,
        _new_work(model),
        centre,
        np.einsum("nji,nj->ni", rotation_of(principal), centre),
        principal,
        tuple(scene.bodies),
        boxed,
    )


def is_whole(shape: Shape) -> bool:
    """Whether a shape may be more than one convex part, without taking it apart."""
    return isinstance(shape, Compound | CurvedSolid | Mesh | TetMesh)


def _box_around(shape: Shape) -> Convex:
    """The box around a shape's surface."""
    vertices, _ = shape.surface()
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return Convex(
        [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    )


def principal_frame(inertia: Array) -> tuple[Array, Array]:
    """Principal moments, and the axes as columns of a proper rotation."""
    off_diagonal = inertia - np.diag(np.diag(inertia))
    if np.abs(off_diagonal).max() <= 1e-12 * np.trace(inertia):
        return np.diag(inertia).copy(), np.eye(3)  # keep the shape's own axes
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return moments, axes


def _materials(scene: Scene) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Table of the distinct materials, and each body's and floor's row in it."""
    rows: dict[Material, int] = {}
    things: list[Body | Floor] = [*scene.bodies, *scene.floors]
    index = [rows.setdefault(thing.material, len(rows)) for thing in things]
    table = np.full((max(len(rows), 1), NM), np.nan)
    for material, row in rows.items():
        values = (
            material.static_friction,
            material.kinetic_friction,
            material.stiffness,
            material.damping,
            material.tangential_stiffness,
            material.tangential_damping,
            material.restitution,
            material.rolling_resistance,
        )
        table[row] = [np.nan if v is None else v for v in values]
    return table, np.array(index, np.int32)


def _spring_rows(
    scene: Scene, centre: Array, principal: Array, inv_mass: Array, inv_inertia: Array
) -> Array:
    data = np.zeros((len(scene.springs), NK))
    for row, spring in zip(data, scene.springs, strict=True):
        a = spring.body_a
        one, two = slice(SP_A, SP_A + 3), slice(SP_B, SP_B + 3)
        row[one] = rotation_of(principal[a]).T @ (np.asarray(spring.anchor_a) - centre[a])
        row[two] = spring.anchor_b
        if spring.body_b is not None:
            b = spring.body_b
            row[two] = rotation_of(principal[b]).T @ (np.asarray(spring.anchor_b) - centre[b])
        row[SP_K], row[SP_DAMPING], row[SP_REST] = (
            spring.stiffness,
            spring.damping,
            spring.rest_length,
        )
        row[SP_VELOCITY : SP_VELOCITY + 3] = spring.velocity
    data[:, SP_RATE] = _spring_rate(scene, data, inv_mass, inv_inertia)
    return data


def _spring_rate(scene: Scene, data: Array, inv_mass: Array, inv_inertia: Array) -> Array:
    """For each spring, the larger of its bodies' bounds on ω² [1/s²].

    A body of mass m and least inertia I swings on its springs with at most ω² = Σ c k (1/m + r²/I),
    where r is the arm of an end, and c = 2 if the body at the other end gives way as well: by
    |u_a − u_b|² ≤ 2 |u_a|² + 2 |u_b|² no motion of all bodies together is faster than the fastest
    of these.
    """
    ends = [
        [
            (i, arm)
            for i, arm in ((spring.body_a, row[0:3]), (spring.body_b, row[3:6]))
            if i is not None and inv_mass[i] > 0.0
        ]
        for spring, row in zip(scene.springs, data, strict=True)
    ]
    rate = np.zeros(len(inv_mass))
    for both, row in zip(ends, data, strict=True):
        for i, arm in both:
            rate[i] += len(both) * row[6] * (inv_mass[i] + arm @ arm * inv_inertia[i].max())
    return np.array([max((rate[i] for i, _ in both), default=0.0) for both in ends])


def _new_state(count: int, springs: int) -> State:
    identity = np.tile(np.eye(3).reshape(9), (count, 1))
    return State(
        position=np.zeros((count, 3)),
        quaternion=np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (count, 1)),
        rotation=identity,
        velocity=np.zeros((count, 3)),
        omega=np.zeros((count, 3)),
        momentum=np.zeros((count, 3)),
        wrench=np.zeros((count, 6)),
        applied=np.zeros((count + 1, 6)),  # the world comes last: springs may be tied to it
        springs=np.zeros((springs, NK)),
        spring=np.zeros((springs, 3)),
        time=np.zeros(1),
        ledger=np.zeros(NL),
    )


def _new_work(model: Model) -> Work:
    parts = len(model.part_body)
    verts, faces = model.world_start[-1]
    capacity = PAIRS_PER_PART * max(parts, 8)
    bodies, springs = len(model.part_start) - 1, len(model.spring_bodies)
    return Work(
        pairs=new_pairs(capacity),
        world=World(
            verts=np.zeros((verts, 3)),
            planes=np.zeros((faces, 4)),
            stamp=np.full(parts, -1, np.int32),
            aabb=np.zeros((parts, 6)),
            fat=np.tile([np.inf] * 3 + [-np.inf] * 3, (parts, 1)),
        ),
        tree=new_tree(parts, capacity),
        soup=new_soup(SOUP_VERTICES),
        sums=np.zeros((SUMS, NS)),
        solver=new_solver(
            bodies,
            len(model.mass) - bodies,
            CONTACTS_PER_BODY * bodies + springs,
            64 * bodies,
            4 * bodies,
        ),
        times=np.zeros(NT, np.int64),
    )


class _HullTable:
    """Collects hulls in principal frames; equal ones are stored once."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.pieces: list[tuple[Array, Array, Polyhedron]] = []
        self.curves: list[Curve | None] = []

    def add(self, piece: Polyhedron, curve: Curve | None, centre: Array, axes: Array) -> int:
        """Index of the piece, moved from the shape frame to the principal frame."""
        verts = (np.asarray(piece.vertices) - centre) @ axes
        if curve is not None:
            curve = curve.moved(axes.T, -centre @ axes)
        key = verts.tobytes() + piece.loops.tobytes() + piece.loop_start.tobytes()
        key += b"" if curve is None else curve.row().tobytes()
        if key not in self.known:
            planes = np.asarray(piece.planes).copy()
            planes[:, 3] -= planes[:, :3] @ centre
            planes[:, :3] = planes[:, :3] @ axes
            self.known[key] = len(self.pieces)
            self.pieces.append((verts, planes, piece))
            self.curves.append(curve)
        return self.known[key]

    def finish(self) -> Hulls:
        """The flattened table."""
        pieces = self.pieces
        vert_start = np.cumsum([0, *(len(v) for v, _, _ in pieces)])
        face_start = np.cumsum([0, *(len(p) for _, p, _ in pieces)])
        loop_base = np.cumsum([0, *(len(x.loops) for _, _, x in pieces)])
        starts = [
            x.loop_start[:-1] + base for (_, _, x), base in zip(pieces, loop_base, strict=False)
        ]
        box = np.zeros((len(pieces), 6))
        size = np.zeros(len(pieces))
        curve = np.zeros((len(pieces), NC))
        for row, (verts, _, _) in enumerate(pieces):
            low, high = verts.min(axis=0), verts.max(axis=0)
            box[row] = (*(0.5 * (low + high)), *(0.5 * (high - low)))
            size[row] = (high - low).min()
            curved = self.curves[row]
            if curved is not None:
                curve[row] = curved.row()
                box[row] = np.concatenate(curved.box())
                size[row] = curved.size()
        return Hulls(
            vert_start=vert_start.astype(np.int32),
            verts=np.concatenate([v for v, _, _ in pieces]) if pieces else np.zeros((0, 3)),
            face_start=face_start.astype(np.int32),
            planes=np.concatenate([p for _, p, _ in pieces]) if pieces else np.zeros((0, 4)),
            loop_start=np.concatenate([*starts, [loop_base[-1]]]).astype(np.int32),
            loops=np.concatenate([x.loops for _, _, x in pieces] or [np.zeros(0, np.int32)]).astype(
                np.int32
            ),
            box=box,
            size=size,
            curve=curve,
        )


def _largest_face(shape: Shape) -> float:
    """Area of a shape's largest face [m²]; of its bounding box when it has several pieces.

    The bounding box, because faces between the pieces of one body are no faces of the body.
    """
    pieces = shape.parts()
    if not pieces:
        return math.inf
    if len(pieces) > 1:
        points = np.concatenate([piece.vertices for piece in pieces])
        x, y, z = np.ptp(points, axis=0)
        return float(max(x * y, y * z, z * x))
    (piece,) = pieces
    (curve,) = shape.curves()
    if curve is not None:
        return curve.face_area()
    areas = []
    for first, last in zip(piece.loop_start[:-1], piece.loop_start[1:], strict=True):
        ring = piece.vertices[piece.loops[first:last]]
        total = np.cross(ring[1:-1] - ring[0], ring[2:] - ring[0]).sum(axis=0)
        areas.append(0.5 * float(np.linalg.norm(total)))
    return max(areas)
