"""The penalty method for meshes: sample points of each body in the distance field of the other.

A tool is tested against bodies and floors, both ways: its points in their fields, their points in
its field. Every point closer than the tolerance is a contact (p, p0, n, δ): p on the tool, p0 on
the scene, n out of the tool into the scene, δ = n·(p − p0), negative while apart. `clusters` turns
the contacts into at most sixteen planes, the form in which a haptic loop takes them [OTADUY2005].

The method is made for tools of complex shape held by a haptic device. There is no friction here:
each plane carries its name and body, and whoever integrates the tool adds friction to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.contact.penalty.clusters import (
    STATE_PLANES,
    Clusters,
    Response,
    cluster,
    new_clusters,
    new_response,
)
from tangere.contact.penalty.contacts import (
    CONTACT_ANCHOR,
    CONTACT_AREA,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_LOCAL,
    CONTACT_NORMAL,
    CONTACT_POINT,
    MAX_PLANES,
    NCONTACT,
    NPOSE,
    PLANE_DEPTH,
    POSE_POSITION,
    POSE_QUATERNION,
)
from tangere.contact.penalty.field import (
    Field,
    Grid,
    Single,
    distance_field,
    field_gradient,
    field_value,
)
from tangere.contact.penalty.samples import (
    BALL,
    FIRST,
    LAST,
    LEFT,
    NBALL,
    NLINK,
    NPOINT,
    OUTWARD,
    POINT,
    RIGHT,
    Samples,
    surface_samples,
)
from tangere.errors import SceneError
from tangere.geometry.checks import hint, integer, number, positive, rotation, show, unit, vector
from tangere.maths.quat import matrix_into, product, turn, turn_back
from tangere.maths.vec import Array, LongArray, Vec3, add, axpy, dot, norm, scale, sub

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.geometry.shapes import Shape

    Frame = tuple[ArrayLike, ArrayLike]

Sharing = Literal["shared", "each"]

MAX_CONTACTS = 4096
# Nodes and points looked at in one query before the rest is answered coarsely.
BUDGET = 100_000
# Below this length the smoothed gradient tells no direction: the point lies on the medial axis.
NO_DIRECTION = 0.1
# A point's error, beside the field's value where its foot should be, in spacings: of trilinear
# values at a sharp edge, the worst place.
EDGE_ERROR = 0.5
# Planes are handed over this much ahead of the motion of one contact period, and at most so far.
AHEAD = 1.5
STACK = 64  # nodes waiting in the descent of a tree: its depth plus one, 16 for 65,536 points

# Columns of what is remembered of a point: nearest surface in the field's frame, and its depth
TURN_NORMAL = 0  # 3
TURN_DEPTH = 3  # [m]
TURN_STAMP = 4  # number of the query
NTURN = 5

COUNT, TRUNCATED, VISITED, STAMP = 0, 1, 2, 3
NTALLY = 4


@dataclass(frozen=True)
class Penalty:
    """Options of the penalty method.

    Attributes:
        stiffness: k of the contact with one body [N/m].
        damping: b, along the normal [N s/m].
        tolerance: d: a contact presses from this distance on [m].
        clusters: Most planes, 1 to 16; more are used only where more bodies are touched.
        sharing: "shared" divides k among the planes of a body by their weight, so that the total
            does not depend on their number; "each" gives k to every plane, as the paper does.
        blend: Time over which planes are born and die [s]; 0: at once.
        spacing: Of the distance fields [m]; None: from the thickness of each body.
        samples: About how many points a body may have.
        budget: Nodes and points looked at in one query; beyond, it is answered coarsely.
    """

    stiffness: float = 2000.0
    damping: float = 0.0
    tolerance: float = 0.5e-3
    clusters: int = 8
    sharing: Sharing = "shared"
    blend: float = 10e-3
    spacing: float | None = None
    samples: int = 8192
    budget: int = BUDGET

    def __post_init__(self) -> None:
        """Check every number."""
        for name, value in (
            ("stiffness", positive(self.stiffness, "Penalty stiffness")),
            ("damping", number(self.damping, "Penalty damping", least=0.0)),
            ("tolerance", positive(self.tolerance, "Penalty tolerance")),
            ("clusters", integer(self.clusters, "Penalty clusters", 1, MAX_PLANES)),
            ("blend", number(self.blend, "Penalty blend", least=0.0)),
            ("samples", integer(self.samples, "Penalty samples", 16, 1_000_000)),
            ("budget", integer(self.budget, "Penalty budget", 16, 1_000_000_000)),
        ):
            object.__setattr__(self, name, value)
        if self.spacing is not None:
            object.__setattr__(self, "spacing", positive(self.spacing, "Penalty spacing"))
        choices = list(get_args(Sharing))
        if self.sharing not in choices:
            raise SceneError(
                f"Penalty sharing: unknown {show(self.sharing)}{hint(self.sharing, choices)}"
            )


class Solid(NamedTuple):
    """What the method knows of a shape: its distance field and its sample points."""

    field: Field
    samples: Samples


def solid(
    shape: Shape,
    *,
    spacing: float | None = None,
    tolerance: float = Penalty.tolerance,
    samples: int = Penalty.samples,
    what: str = "Shape",
) -> Solid:
    """Field and points of a shape in its own frame, from the cache where they were built before."""
    vertices, triangles = shape.surface()
    field = distance_field(vertices, triangles, spacing=spacing, tolerance=tolerance, what=what)
    return Solid(field, surface_samples(vertices, triangles, field, samples))


class ContactSet(NamedTuple):
    """Contacts of one query; all arrays have one row per contact.

    | field     | meaning                                                    | shape  |
    | p         | point on the tool, world [m]                               | (n, 3) |
    | p0        | point on the scene, world [m]                              | (n, 3) |
    | n         | unit normal out of the tool, world                         | (n, 3) |
    | delta     | n·(p − p0): overlap, negative while apart [m]              | (n,)   |
    | r         | p in the tool's frame [m]                                  | (n, 3) |
    | err       | how far p and p0 may be off their surfaces [m]             | (n,)   |
    | body      | number of the body; floors count −1, −2, …                 | (n,)   |
    | truncated | whether budget or room ran out                             |        |
    """

    p: Array
    p0: Array
    n: Array
    delta: Array
    r: Array
    err: Array
    body: Array
    truncated: bool


class Solids(NamedTuple):
    """Fields and points of several shapes, one after the other.

    | field  | meaning                                             | shape            |
    | values | of all grids                                        | (…,) float32     |
    | grids  | first value, nx, ny, nz                             | (s, 4) int64     |
    | places | origin, spacing, margin of each grid                | (s, 5)           |
    | points | of all shapes                                       | (…, NPOINT)      |
    | balls  | of all trees                                        | (…, NBALL)       |
    | links  | of all trees, counted from the shape's own first    | (…, NLINK) int64 |
    | starts | first point, first node                             | (s, 2) int64     |
    | areas  | that one point stands for [m²]                      | (s,)             |
    """

    values: Single
    grids: LongArray
    places: Array
    points: Array
    balls: Array
    links: LongArray
    starts: LongArray
    areas: Array


class Placed(NamedTuple):
    """Where everything is. Row 0 is the tool, rows 1 … are the bodies.

    | field    | meaning                                                      | shape        |
    | solid_of | number of the shape                                          | (1 + b,)     |
    | frames   | shape frame in the body's frame: position, quaternion        | (1 + b, 7)   |
    | poses    | POSE_… of the body's frame in the world                      | (1 + b, 13)  |
    | turns    | shape frame to world: rotation row by row, position          | (1 + b, 12)  |
    | floors   | unit normal and height of each floor                         | (f, 4)       |
    | laws     | stiffness and damping of bodies, then floors                 | (b + f, 2)   |
    | memory   | TURN_… of every point of every pair                          | (…, NTURN)   |
    | memories | first row of the tool's and the body's points                | (b, 2) int64 |
    """

    solid_of: LongArray
    frames: Array
    poses: Array
    turns: Array
    floors: Array
    laws: Array
    memory: Array
    memories: LongArray


class PenaltyContact:
    """The contact of one tool with bodies and floors; keeps what is remembered between queries."""

    def __init__(
        self,
        tool: Shape,
        bodies: Sequence[Shape] = (),
        floors: Sequence[tuple[ArrayLike, float]] = (),
        options: Penalty | None = None,
        *,
        tool_frame: Frame | None = None,
        body_frames: Sequence[Frame | None] | None = None,
    ) -> None:
        """Build the fields and points, or take them from the cache, and make all arrays.

        Args:
            tool: Its shape.
            bodies: Shapes of the bodies that it may touch.
            floors: Unit normal and height n·x of each floor [m].
            options: Of the method.
            tool_frame: Position [m] and quaternion, in the shape's frame, of the frame that poses
                and contact points of the tool refer to, such as its principal frame; None: the
                shape's frame itself.
            body_frames: The same for each body.
        """
        self.options = Penalty() if options is None else options
        shapes = [tool, *bodies]
        frames = [tool_frame, *(body_frames if body_frames is not None else [None] * len(bodies))]
        if len(frames) != len(shapes):
            raise SceneError(
                f"PenaltyContact body_frames: {len(frames) - 1} for {len(bodies)} bodies; "
                "give one frame or None for each"
            )
        self.solids, number_of = self._gather(shapes)
        counts = np.diff(self.solids.starts[:, 0], append=len(self.solids.points))
        of_tool, of_body = counts[number_of[0]], counts[number_of[1:]]
        sizes = np.stack((np.full(len(bodies), of_tool), of_body), axis=1).ravel()
        ends = np.cumsum(sizes)
        self.placed = Placed(
            number_of,
            np.array([_inverse_frame(frame) for frame in frames]),
            np.zeros((len(shapes), NPOSE)),
            np.zeros((len(shapes), 12)),
            np.array([_floor(floor) for floor in floors]).reshape(-1, 4),
            np.tile([self.options.stiffness, self.options.damping], (len(bodies) + len(floors), 1)),
            np.full((int(sizes.sum()), NTURN), -1.0),
            (ends - sizes).reshape(-1, 2),
        )
        self.placed.poses[:, POSE_QUATERNION] = 1.0
        self.rows = np.zeros((MAX_CONTACTS, NCONTACT))
        self.tally = np.zeros(NTALLY, dtype=np.int64)
        self.clusters: Clusters = new_clusters(MAX_CONTACTS)
        self.response: Response = new_response(len(bodies) + len(floors))
        vertices, _ = tool.surface()
        centre = np.zeros(3) if tool_frame is None else np.asarray(tool_frame[0], dtype=np.float64)
        self.radius = float(np.linalg.norm(vertices - centre, axis=1).max())
        margins = self.solids.places[:, 4] - self.solids.places[:, 3]
        self._farthest = float(margins.min())

    def query(
        self,
        pose_tool: Frame,
        tol_d: float | None = None,
        budget: int | None = None,
        body_poses: Sequence[Frame] | None = None,
    ) -> ContactSet:
        """Contacts within a distance of the tool at a pose.

        Args:
            pose_tool: Position [m] and quaternion of the tool's frame.
            tol_d: Largest distance [m], at most the margin of the fields; None: the tolerance.
            budget: Nodes and points to look at; None: that of the options.
            body_poses: The same of each body; None: where they were last.
        """
        poses = self.placed.poses
        for row, pose in enumerate([pose_tool, *(body_poses or ())]):
            poses[row, POSE_POSITION : POSE_POSITION + 3] = pose[0]
            poses[row, POSE_QUATERNION : POSE_QUATERNION + 4] = pose[1]
        reach = min(self.options.tolerance if tol_d is None else tol_d, self._farthest)
        _query(
            self.solids, self.placed, reach, budget or self.options.budget, self.rows, self.tally
        )
        return self.contacts

    def update(
        self,
        tool: ArrayLike | None = None,
        bodies: ArrayLike | None = None,
        *,
        period: float = 1e-3,
    ) -> Array:
        """Planes of the contact with everything in a new place, shape (planes, NPLANE).

        The array is overwritten by the next call, as are `response` and `contacts`.

        Args:
            tool: POSE_… of the tool's frame: position, quaternion, velocity and angular velocity,
                world axes, shape (13,).
            bodies: The same of each body, shape (b, 13). None, here as there: what stands in
                `placed.poses`, which may be written to directly.
            period: Time since the last call [s]: planes fade in and out with it, and contacts are
                looked for as far ahead as the tool moves meanwhile.
        """
        poses = self.placed.poses
        if tool is not None:
            poses[0] = tool
        if bodies is not None:
            poses[1:] = bodies
        o = self.options
        _respond(
            self.solids,
            self.placed,
            self.rows,
            self.tally,
            self.clusters,
            self.response,
            (o.tolerance, o.blend, period, self.radius, self._farthest),
            (o.budget, o.clusters, 1 if o.sharing == "shared" else 0),
        )
        return self.planes

    def forget(self) -> None:
        """Drop all that is remembered of earlier queries: planes, their names, normals."""
        self.placed.memory[:] = -1.0
        self.tally[:] = 0
        self.clusters.state[:] = 0
        self.clusters.centroids[:] = 0.0

    @property
    def contacts(self) -> ContactSet:
        """Contacts of the last query or update."""
        rows = self.rows[: self.tally[COUNT]].copy()
        return ContactSet(
            rows[:, CONTACT_POINT : CONTACT_POINT + 3],
            rows[:, CONTACT_ANCHOR : CONTACT_ANCHOR + 3],
            rows[:, CONTACT_NORMAL : CONTACT_NORMAL + 3],
            rows[:, CONTACT_DEPTH],
            rows[:, CONTACT_LOCAL : CONTACT_LOCAL + 3],
            rows[:, CONTACT_ERROR],
            rows[:, CONTACT_BODY],
            self.truncated,
        )

    @property
    def planes(self) -> Array:
        """Planes of the last update, shape (planes, NPLANE)."""
        return self.response.planes[: self.clusters.state[STATE_PLANES]]

    @property
    def truncated(self) -> bool:
        """Whether the last query ran out of budget or room."""
        return bool(self.tally[TRUNCATED])

    @property
    def depth(self) -> float:
        """Deepest overlap of a plane of the last update [m]; 0 without planes."""
        return float(self.planes[:, PLANE_DEPTH].max(initial=0.0))

    def _gather(self, shapes: Sequence[Shape]) -> tuple[Solids, LongArray]:
        """Fields and points of all different shapes, and the number of each shape's."""
        o = self.options
        known: dict[Shape, int] = {}
        built: list[Solid] = []
        for i, shape in enumerate(shapes):
            if shape not in known:
                known[shape] = len(built)
                what = "Tool" if i == 0 else f"Body {i - 1}"
                made = solid(
                    shape, spacing=o.spacing, tolerance=o.tolerance, samples=o.samples, what=what
                )
                built.append(made)
        fields, samples = [s.field for s in built], [s.samples for s in built]
        sizes = np.array([f.values.size for f in fields])
        points = np.array([len(s.points) for s in samples])
        nodes = np.array([len(s.balls) for s in samples])
        first = np.cumsum(sizes) - sizes
        grids = [(a, *f.values.shape) for a, f in zip(first, fields, strict=True)]
        places = [(*f.origin, f.spacing, f.margin) for f in fields]
        starts = np.stack((np.cumsum(points) - points, np.cumsum(nodes) - nodes), axis=1)
        together = Solids(
            np.concatenate([f.values.ravel() for f in fields]),
            np.array(grids, dtype=np.int64),
            np.array(places),
            np.concatenate([s.points for s in samples]),
            np.concatenate([s.balls for s in samples]),
            np.concatenate([s.links for s in samples]),
            starts.astype(np.int64),
            np.array([s.spacing**2 for s in samples]),
        )
        return together, np.array([known[shape] for shape in shapes], dtype=np.int64)


def _inverse_frame(frame: Frame | None) -> Array:
    """Shape frame seen from the given frame: position and quaternion, shape (7,)."""
    if frame is None:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    position = vector(frame[0], "PenaltyContact frame position")
    turned = unit(frame[1], "PenaltyContact frame orientation (w, x, y, z)", 4)
    back = turned * np.array([1.0, -1.0, -1.0, -1.0])
    return np.concatenate((-rotation(back) @ position, back))


def _floor(floor: tuple[ArrayLike, float]) -> Array:
    normal = unit(floor[0], "PenaltyContact floor normal", 3)
    return np.array([*normal, number(floor[1], "PenaltyContact floor height")])


# ------------------------------------------------ kernels


@kernel
def _respond(
    solids: Solids,
    placed: Placed,
    rows: Array,
    tally: LongArray,
    clusters: Clusters,
    response: Response,
    lengths: tuple[float, float, float, float, float],
    counts: tuple[int, int, int],
) -> None:
    """Query, then cluster."""
    tolerance, blend, period, radius, farthest = lengths
    budget, most, shared = counts
    v = ptr(placed.poses)
    speed = norm((v[7], v[8], v[9])) + radius * norm((v[10], v[11], v[12]))
    reach = max(tolerance, min(tolerance + AHEAD * speed * period, farthest))
    _query(solids, placed, reach, budget, rows, tally)
    cluster(
        rows,
        tally[COUNT],
        placed.poses,
        placed.laws,
        clusters,
        response,
        (tolerance, reach, 0.2 * radius, blend, period),
        (most, shared, placed.poses.shape[0] - 1),
    )


@kernel
def _query(
    solids: Solids, placed: Placed, reach: float, budget: int, rows: Array, tally: LongArray
) -> None:
    """Write all contacts closer than `reach` to `rows`, and their number to `tally`."""
    _place(placed)
    state = ptr(tally)
    state[COUNT], state[TRUNCATED], state[VISITED] = 0, 0, 0
    state[STAMP] += 1
    search = Search(
        ptr(rows), rows.shape[0], state, ptr(placed.memory), ptr(placed.turns), reach, budget
    )
    frame = ptr(placed.frames)
    for b in range(1, placed.poses.shape[0]):
        for way in range(2):
            of_points = 0 if way == 0 else b
            of_field = b - of_points
            shape, other = placed.solid_of[of_points], placed.solid_of[of_field]
            points = _points_view(solids, shape)
            grid = _grid_view(solids, other)
            pair = (of_points, of_field, placed.memories[b - 1, way])
            _points_in_field(search, points, grid, pair, frame)
    points = _points_view(solids, placed.solid_of[0])
    for f in range(placed.floors.shape[0]):
        plane = off(ptr(placed.floors), 4 * f)
        _points_on_floor(search, points, (plane[0], plane[1], plane[2]), plane[3], f, frame)


class Search(NamedTuple):
    """What the descents share: output, state, and how far and how long to look."""

    rows: PtrF8
    room: int
    state: PtrI8
    memory: PtrF8
    turns: PtrF8
    reach: float
    budget: int


class Points(NamedTuple):
    """Sample points of a shape as kernels pass them on."""

    points: PtrF8
    balls: PtrF8
    links: PtrI8
    area: float


@kernel
def _points_view(s: Solids, shape: int) -> Points:
    """Points of one shape."""
    first, node = s.starts[shape, 0], s.starts[shape, 1]
    return Points(
        off(ptr(s.points), NPOINT * first),
        off(ptr(s.balls), NBALL * node),
        off(ptr(s.links), NLINK * node),
        s.areas[shape],
    )


@kernel
def _grid_view(s: Solids, shape: int) -> Grid:
    """Field of one shape."""
    g = ptr(s.grids)
    at = 4 * shape
    p = off(ptr(s.places), 5 * shape)
    origin = (p[0], p[1], p[2])
    return Grid(off(ptr(s.values), g[at]), g[at + 1], g[at + 2], g[at + 3], origin, p[3], p[4])


@kernel
def _place(placed: Placed) -> None:
    """Rotation and position of every shape frame in the world from the poses of the bodies."""
    poses, frames, turns = ptr(placed.poses), ptr(placed.frames), ptr(placed.turns)
    for i in range(placed.poses.shape[0]):
        pose, frame, out = off(poses, NPOSE * i), off(frames, 7 * i), off(turns, 12 * i)
        q = (pose[3], pose[4], pose[5], pose[6])
        matrix_into(q, out)
        shift = turn(out, (frame[0], frame[1], frame[2]))
        matrix_into(product(q, (frame[3], frame[4], frame[5], frame[6])), out)
        for k in range(3):
            out[9 + k] = pose[k] + shift[k]


@kernel
def _points_in_field(
    s: Search, points: Points, grid: Grid, pair: tuple[int, int, int], frames: PtrF8
) -> None:
    """Contacts of one body's points in another's field; one of the two is the tool.

    A ball can be left out when φ(centre) > radius + reach, as |∇φ| ≤ 1; one spacing allows for the
    error of the field. Beyond the budget a node is answered by its middle point.
    """
    of_points, of_field, memory = pair
    here, there = off(s.turns, 12 * of_points), off(s.turns, 12 * of_field)
    stack = local_i8(STACK)
    stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        ball, link = off(points.balls, NBALL * node), off(points.links, NLINK * node)
        s.state[VISITED] += 1
        centre = _carry(here, there, (ball[BALL], ball[BALL + 1], ball[BALL + 2]))
        if field_value(grid, centre) > ball[BALL + 3] + s.reach + grid.spacing:
            continue
        spent = s.state[VISITED] > s.budget
        if link[LEFT] >= 0 and not spent:
            stack[waiting] = link[RIGHT]
            stack[waiting + 1] = link[LEFT]
            waiting += 2
            continue
        first, last = link[FIRST], link[LAST]
        if spent:
            s.state[TRUNCATED] = 1
            first = (first + last) // 2
            last = first + 1
        for i in range(first, last):
            s.state[VISITED] += 1
            row = off(points.points, NPOINT * i)
            x = (row[POINT], row[POINT + 1], row[POINT + 2])
            at = _carry(here, there, x)
            value = field_value(grid, at)
            if value < s.reach:
                outward = (row[OUTWARD], row[OUTWARD + 1], row[OUTWARD + 2])
                memo = off(s.memory, NTURN * (memory + i))
                outward = turn_back(there, turn(here, outward))
                n, depth = _surface_near(s, grid, at, value, outward, memo)
                # Surfaces touch where they face each other: a side that only comes close does not
                facing = -dot(n, outward)
                if facing <= 0.0:
                    continue
                foot = axpy(depth, n, at)
                error = abs(field_value(grid, foot)) + EDGE_ERROR * grid.spacing
                n_world = turn(there, n)
                x_world = add(turn(here, x), (here[9], here[10], here[11]))
                if of_points == 0:
                    p, n_out, body = x_world, scale(-1.0, n_world), of_field - 1
                else:
                    p, n_out, body = axpy(depth, n_world, x_world), n_world, of_points - 1
                _write(s, p, n_out, depth, (error, facing * points.area), body, frames)


@kernel
def _surface_near(
    s: Search, grid: Grid, x: Vec3, value: float, outward: Vec3, memo: PtrF8
) -> tuple[Vec3, float]:
    """Outward normal of the field's surface nearest to x, and the depth of x below it [m].

    Deep inside a thin body the nearest surface becomes the one on the other side: the gradient
    turns by more than 90° against the point's last normal. Then that normal is kept, and the depth
    stays at what it was, about half the thickness.
    """
    n = field_gradient(grid, x)
    depth = -value
    length = norm(n)
    last = (memo[TURN_NORMAL], memo[TURN_NORMAL + 1], memo[TURN_NORMAL + 2])
    if memo[TURN_STAMP] == s.state[STAMP] - 1 and dot(n, last) <= NO_DIRECTION * length:
        n = last
        depth = max(depth, memo[TURN_DEPTH])
    elif length > NO_DIRECTION:
        n = scale(1.0 / length, n)
    else:
        n = scale(-1.0, outward)  # unknown on the medial axis: away from the point's own side
    memo[0], memo[1], memo[2] = n
    memo[TURN_DEPTH] = depth
    memo[TURN_STAMP] = s.state[STAMP]
    return n, depth


@kernel
def _points_on_floor(
    s: Search, points: Points, n: Vec3, height: float, floor: int, frames: PtrF8
) -> None:
    """Contacts of the tool's points with a floor, an exact plane n·x = height."""
    here = s.turns
    way = turn_back(here, n)
    base = dot(n, (here[9], here[10], here[11])) - height
    stack = local_i8(STACK)
    stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        ball, link = off(points.balls, NBALL * node), off(points.links, NLINK * node)
        s.state[VISITED] += 1
        if base + way[0] * ball[0] + way[1] * ball[1] + way[2] * ball[2] > ball[3] + s.reach:
            continue
        spent = s.state[VISITED] > s.budget
        if link[LEFT] >= 0 and not spent:
            stack[waiting] = link[RIGHT]
            stack[waiting + 1] = link[LEFT]
            waiting += 2
            continue
        first, last = link[FIRST], link[LAST]
        if spent:
            s.state[TRUNCATED] = 1
            first = (first + last) // 2
            last = first + 1
        for i in range(first, last):
            s.state[VISITED] += 1
            row = off(points.points, NPOINT * i)
            x = (row[POINT], row[POINT + 1], row[POINT + 2])
            value = base + dot(way, x)
            facing = -dot(way, (row[OUTWARD], row[OUTWARD + 1], row[OUTWARD + 2]))
            if value < s.reach and facing > 0.0:
                p = add(turn(here, x), (here[9], here[10], here[11]))
                _write(
                    s, p, scale(-1.0, n), -value, (0.0, facing * points.area), -1 - floor, frames
                )


@kernel
def _write(
    s: Search,
    p: Vec3,
    n: Vec3,
    depth: float,
    quality: tuple[float, float],
    body: int,
    frames: PtrF8,
) -> None:
    """One contact more, if there is room: p on the tool, n out of it, p0 = p − δ n."""
    count = s.state[COUNT]
    if count >= s.room:
        s.state[TRUNCATED] = 1
        return
    row = off(s.rows, NCONTACT * count)
    # The tool's frame holds its shape's frame: r = R_frame x + t
    turned = turn_back(s.turns, sub(p, (s.turns[9], s.turns[10], s.turns[11])))
    frame = local_f8(9)
    matrix_into((frames[3], frames[4], frames[5], frames[6]), frame)
    local = add(turn(frame, turned), (frames[0], frames[1], frames[2]))
    for k in range(3):
        row[CONTACT_POINT + k] = p[k]
        row[CONTACT_ANCHOR + k] = p[k] - depth * n[k]
        row[CONTACT_NORMAL + k] = n[k]
        row[CONTACT_LOCAL + k] = local[k]
    row[CONTACT_DEPTH] = depth
    row[CONTACT_ERROR] = quality[0]
    row[CONTACT_AREA] = quality[1]
    row[CONTACT_BODY] = body
    s.state[COUNT] = count + 1


@kernel
def _carry(here: PtrF8, there: PtrF8, x: Vec3) -> Vec3:
    """A point of one shape frame in another."""
    world = add(turn(here, x), (here[9], here[10], here[11]))
    return turn_back(there, sub(world, (there[9], there[10], there[11])))
