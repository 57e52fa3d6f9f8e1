"""The penalty method for meshes in a hand: contacts of a tool, and the planes that stand for them.

A tool is tested against bodies and floors by an engine of the user's choice (`engines`). Every
point closer than the tolerance is a contact (p, p0, n, δ): p on the tool, p0 on the scene, n out of
the tool into the scene, δ = n·(p − p0), negative while apart. `clusters` turns
the contacts into at most sixteen planes, the form in which a haptic loop takes them [OTADUY2005].

The method is made for tools of complex shape held by a haptic device. `friction` gives the planes
friction, which the paper does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere.collision.contact_query import (
    CONTACT_ANCHOR,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_ERROR,
    CONTACT_LOCAL,
    CONTACT_NORMAL,
    CONTACT_POINT,
    COUNT,
    NCONTACT,
    NPOSE,
    NTALLY,
    POSE_OMEGA,
    POSE_POSITION,
    POSE_QUATERNION,
    POSE_VELOCITY,
    TRUNCATED,
    Placed,
)
from tangere.contact.penalty.clusters import (
    STATE_PLANES,
    Clusters,
    Response,
    cluster,
    new_clusters,
    new_response,
)
from tangere.contact.penalty.contacts import (
    CLUSTER_DEPTH,
)
from tangere.contact.penalty.engines import MAX_CONTACTS, Engine, new_engine
from tangere.contact.penalty.friction import Friction, add_friction, new_friction
from tangere.contact.penalty.options import Penalty
from tangere.errors import SceneError
from tangere.geometry.checks import number, unit, vector
from tangere.maths.rotations import quat_conjugate, rotation_of
from tangere.maths.vec import Array, LongArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tangere.geometry.shapes import Shape

    Frame = tuple[ArrayLike, ArrayLike]

# Planes are handed over this much ahead of the motion of one contact period, and at most so far.
AHEAD = 1.5


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
        friction: Sequence[tuple[float, float]] | None = None,
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
            friction: Static and kinetic coefficient with each body, then with each floor; None:
                none.
        """
        self.options = Penalty() if options is None else options
        shapes = [tool, *bodies]
        frames = [tool_frame, *(body_frames if body_frames is not None else [None] * len(bodies))]
        if len(frames) != len(shapes):
            raise SceneError(
                f"PenaltyContact body_frames: {len(frames) - 1} for {len(bodies)} bodies; "
                "give one frame or None for each"
            )
        names = ["Tool", *(f"Body {i}" for i in range(len(bodies)))]
        vertices, _ = tool.surface()
        centre = np.zeros(3) if tool_frame is None else np.asarray(tool_frame[0], dtype=np.float64)
        self.radius = float(np.linalg.norm(vertices - centre, axis=1).max())
        self.engine: Engine = new_engine(shapes, self.options, names, self.radius)
        memory, memories = self.engine.memory()
        self.placed = Placed(
            self.engine.number_of,
            np.array([inverse_frame(frame) for frame in frames]),
            np.zeros((len(shapes), NPOSE)),
            np.zeros((len(shapes) + 1, 12)),
            np.array([_floor(floor) for floor in floors]).reshape(-1, 4),
            np.tile([self.options.stiffness, self.options.damping], (len(bodies) + len(floors), 1)),
            memory,
            memories,
        )
        self.placed.poses[:, POSE_QUATERNION] = 1.0
        self.placed.turns[-1, :9] = np.eye(3).ravel()
        self.rows = np.zeros((MAX_CONTACTS, NCONTACT))
        self.tally = np.zeros(NTALLY, dtype=np.int64)
        self.clusters: Clusters = new_clusters(MAX_CONTACTS)
        partners = len(bodies) + len(floors)
        self.response: Response = new_response(partners)
        mu = np.array([] if friction is None else friction, np.float64)
        if friction is None or (partners == 0 and not mu.size):
            mu = np.zeros((partners, 2))
        if mu.shape != (partners, 2):
            raise SceneError(
                f"PenaltyContact friction: {len(mu)} pairs for {partners} bodies and floors; "
                "give static and kinetic friction for each"
            )
        self.friction: Friction = new_friction(mu, len(bodies))

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
        self._check_poses()
        reach = min(self.options.tolerance if tol_d is None else tol_d, self.engine.farthest)
        self.engine.find(self.placed, reach, budget or self.options.budget, self.rows, self.tally)
        return self.contacts

    def update(
        self,
        tool: ArrayLike | None = None,
        bodies: ArrayLike | None = None,
        *,
        period: float = 1e-3,
    ) -> Array:
        """Planes of the contact with everything in a new place, shape (planes, NCLUSTER).

        The array is overwritten by the next call, as are `response` and `contacts`.

        Args:
            tool: POSE_… of the tool's frame: position, quaternion, velocity and angular velocity,
                world axes, shape (13,).
            bodies: The same of each body, shape (b, 13). None, here as there: what stands in
                `placed.poses`, which may be written to directly.
            period: Time since the last call [s]: planes fade in and out with it, and contacts are
                looked for as far ahead as the tool moves meanwhile.

        Raises:
            SceneError: A pose or velocity is not finite.
        """
        poses = self.placed.poses
        if tool is not None:
            poses[0] = tool
        if bodies is not None:
            poses[1:] = bodies
        self._check_poses()
        o = self.options
        reach = self._reach(period)
        self.engine.find(self.placed, reach, o.budget, self.rows, self.tally)
        _respond(
            self.placed,
            self.rows,
            self.tally,
            self.clusters,
            self.response,
            self.friction,
            (o.tolerance, reach, 0.2 * self.radius, o.blend, period),
            (o.clusters, 1 if o.sharing == "shared" else 0),
        )
        return self.planes

    def _reach(self, period: float) -> float:
        """Distance up to which contacts are looked for: ahead of the motion of one period [m]."""
        pose = self.placed.poses[0]
        v, w = pose[POSE_VELOCITY : POSE_VELOCITY + 3], pose[POSE_OMEGA : POSE_OMEGA + 3]
        speed = sqrt(float(v @ v)) + self.radius * sqrt(float(w @ w))
        tolerance = self.options.tolerance
        ahead = min(tolerance + AHEAD * speed * period, self.engine.farthest)
        return max(tolerance, ahead)

    def forget(self) -> None:
        """Drop all that is remembered of earlier queries: planes, their names, normals."""
        self.placed.memory[:] = -1.0
        self.engine.forget()
        self.tally[:] = 0
        self.clusters.state[:] = 0
        self.clusters.centroids[:] = 0.0
        self.friction.known[:] = 0.0

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
        """Planes of the last update, shape (planes, NCLUSTER)."""
        return self.response.planes[: self.clusters.state[STATE_PLANES]]

    @property
    def truncated(self) -> bool:
        """Whether the last query ran out of budget or room."""
        return bool(self.tally[TRUNCATED])

    @property
    def depth(self) -> float:
        """Deepest overlap of a plane of the last update [m]; 0 without planes."""
        return float(self.planes[:, CLUSTER_DEPTH].max(initial=0.0))

    def _check_poses(self) -> None:
        poses = self.placed.poses
        if not np.isfinite(poses).all():
            row = int(np.argmin(np.isfinite(poses).all(axis=1)))
            whose = "the tool" if row == 0 else f"body {row - 1}"
            raise SceneError(f"PenaltyContact: pose or motion of {whose} is not finite")


def inverse_frame(frame: Frame | None) -> Array:
    """Shape frame seen from the given frame: position and quaternion, shape (7,)."""
    if frame is None:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    position = vector(frame[0], "PenaltyContact frame position")
    turned = unit(frame[1], "PenaltyContact frame orientation (w, x, y, z)", 4)
    back = quat_conjugate(turned)
    return np.concatenate((-rotation_of(back) @ position, back))


def _floor(floor: tuple[ArrayLike, float]) -> Array:
    normal = unit(floor[0], "PenaltyContact floor normal", 3)
    return np.array([*normal, number(floor[1], "PenaltyContact floor height")])


@kernel
def _respond(
    placed: Placed,
    rows: Array,
    tally: LongArray,
    clusters: Clusters,
    response: Response,
    friction: Friction,
    lengths: tuple[float, float, float, float, float],
    counts: tuple[int, int],
) -> None:
    """Cluster the contacts that were found, then add friction."""
    most, shared = counts
    cluster(
        rows,
        tally[COUNT],
        placed.poses,
        placed.laws,
        clusters,
        response,
        lengths,
        (most, shared, placed.poses.shape[0] - 1),
    )
    add_friction(friction, placed.poses, clusters.state[STATE_PLANES], response)
