"""Runs of a clip on a pipe: pushed by a handle that nothing stops, or by a hand on a spring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

import tangere as tg
from tangere.fem.blas_threads import one_blas_thread
from tangere.fem.grids import lips
from tangere.geometry.tetmesh import TetMesh
from tangere.haptics.layout import HAND_POSITION, HAND_QUATERNION, HAND_VELOCITY, NHAND
from tangere.haptics.packets import Pull
from tangere.maths.vec import Array, IntArray
from tangere.scene.soft_library import CLIP_HAND, HANDLE, OUTER, RADIUS
from tangere.simulation import SoftBodyState

SLIPPERY, ROUGH = 0.2, 0.8  # the two coefficients of friction of the paper
FOUR, TEN, FINE = "four-node elements", "ten-node elements", "fine mesh"
# Way of the hand within a step, as far as the clock is concerned: a handle that nothing stops has
# no dynamics.
PACE = 0.1  # [m/s]
GRIP = np.array([0.0, 0.0, OUTER + 0.5 * HANDLE[2]])  # where the hand holds the handle [m]
# The springs of a grip reach so far out that they turn as stiffly as the coupling does.
ARM = sqrt(1.5 * CLIP_HAND.rotational_stiffness / CLIP_HAND.stiffness)  # [m]
LOOK = 10  # steps by hand between looks at the surfaces


@dataclass(frozen=True)
class Picture:
    """Surfaces at one instant; stress at the vertices of the clip [Pa]."""

    caption: str
    clip: Array
    clip_triangles: IntArray
    stress: Array
    pipe: Array
    pipe_triangles: IntArray


@dataclass(frozen=True)
class Run:
    """What a run gave at the end of every step; heights above the pipe's axis [m].

    Attributes:
        dt: Step [s].
        pictures: At the heights that were asked for.
        hand: Height of the hand; of the clip where its handle is led.
        height: Of the clip's centre.
        speed: Of the clip, upwards [m/s].
        force: On the hand or handle, upwards [N].
        touching: Contacts that press.
        sticking: Those of them that stick.
        stuck: Share of all normal force on contacts that stick.
        depth: Largest overlap, by the contacts, and where surfaces were looked at by the clip's
            vertices in a round pipe [m].
        residual: Of the contact problem.
        aside: Way of the right lip, sideways; 0 where surfaces were not looked at [m].
        moved: Largest way of a vertex of a soft pipe; the same [m].
    """

    dt: float
    pictures: tuple[Picture, ...]
    hand: Array
    height: Array
    speed: Array
    force: Array
    touching: Array
    sticking: Array
    stuck: Array
    depth: Array
    residual: Array
    aside: Array
    moved: Array

    @property
    def going_in(self) -> slice:
        """Steps until the hand goes up again."""
        rising = np.flatnonzero(np.diff(self.hand) > 1e-12)
        return slice(0, int(rising[0]) + 1 if len(rising) else len(self.hand))

    @property
    def peak(self) -> float:
        """Largest push on the way in [N]."""
        return float(self.force[self.going_in].max(initial=0.0))

    @property
    def peak_at(self) -> int:
        """When that is."""
        return int(np.argmax(self.force[self.going_in]))

    @property
    def work(self) -> Array:
        """Of the hand on the clip in every step [J]."""
        way: Array = np.diff(self.hand, prepend=self.hand[0])
        return -self.force * way


class _Recorder:
    """Takes a row after every step, and looks at the surfaces after every `look` of them."""

    def __init__(
        self, sim: tg.Simulation, look: int, look_at: Sequence[tuple[float, str]] = ()
    ) -> None:
        self.sim = sim
        self.look = look
        self.rows: list[tuple[float, ...]] = []
        self.pictures: list[Picture] = []
        self._waiting = list(look_at)
        body = sim.arrays.bodies[0]
        mesh = body.shape
        assert isinstance(mesh, TetMesh)
        _, right = lips(mesh)
        self._lip = np.searchsorted(mesh.boundary.vertices, right)
        self._rest = mesh.vertices[mesh.boundary.vertices][self._lip, 0].mean()
        pipe = sim.arrays.bodies[1]
        self._round = pipe.elastic is None and not isinstance(pipe.shape, TetMesh)
        self._pipe_rest = _surface(sim, "pipe")[0] if pipe.elastic is not None else None

    def take(self, hand: float, force: float) -> None:
        """A row; hand: its height [m]; force: on it [N]."""
        sim, clip = self.sim, self.sim["clip"]
        table = sim.contacts
        normal = np.einsum("ci,ci->c", table["force"], table["normal"])
        held = normal[table["sticking"]].sum() / normal.sum() if len(table) else 0.0
        depth = float(table["depth"].max(initial=0.0))
        height = float(clip.position[2])
        aside, moved = 0.0, 0.0
        if len(self.rows) % self.look == 0:
            vertices, _ = _surface(sim, "clip")
            aside = float(vertices[self._lip, 0].mean() - clip.position[0] - self._rest)
            if self._round:
                depth = max(depth, RADIUS - float(np.hypot(vertices[:, 0], vertices[:, 2]).min()))
            if self._pipe_rest is not None:
                now, _ = _surface(sim, "pipe")
                moved = float(np.linalg.norm(now - self._pipe_rest, axis=1).max())
        self.rows.append(
            (hand, height, float(clip.velocity[2]), force, len(table), table["sticking"].sum(),
             held, depth, sim.audit.residual, aside, moved)
        )  # fmt: skip
        while self._waiting and height <= self._waiting[0][0]:
            self.pictures.append(self.picture(self._waiting.pop(0)[1].format(force=force)))

    def picture(self, caption: str) -> Picture:
        """Both surfaces now."""
        clip = self.sim["clip"]
        assert isinstance(clip, SoftBodyState)
        pipe, triangles = _surface(self.sim, "pipe")
        return Picture(caption, clip.vertices, clip.triangles, clip.stress, pipe, triangles)

    def run(self) -> Run:
        """All rows."""
        return Run(self.sim.dt, tuple(self.pictures), *np.array(self.rows).T)


def _surface(sim: tg.Simulation, name: str) -> tuple[Array, IntArray]:
    """Vertices in the world [m] and triangles of a body."""
    body = sim[name]
    if isinstance(body, SoftBodyState):
        return body.vertices, body.triangles
    vertices, triangles = sim.arrays.bodies[1].shape.surface()
    m = body.matrix
    return vertices @ m[:3, :3].T + m[:3, 3], triangles


def lead(scene: tg.Scene, steps: Sequence[tuple[int, float]], method: Any = "signorini") -> Run:
    """The handle of a clip (`clip_on_pipe(speed=PACE)`) led along its path, whatever resists.

    Args:
        scene: Clip and pipe.
        steps: How many, and the way of each, downwards [m].
        method: Of contact.
    """
    dt = abs(steps[0][1]) / PACE
    sim = tg.Simulation(scene, method=method, dt=dt)
    recorder = _Recorder(sim, 1)
    clip = sim["clip"]
    with one_blas_thread():  # small products: several threads would wait for each other
        for count, way in steps:
            clip.velocity = (0.0, 0.0, -way / dt)
            for _ in range(count):
                sim.step()
                recorder.take(float(clip.position[2]), float(clip.contact_wrench[0][2]))
    return recorder.run()


def push_by_hand(
    scene: tg.Scene,
    path: Sequence[float],
    dt: float,
    *,
    method: Any = "signorini",
    look_at: Sequence[tuple[float, str]] = (),
) -> Run:
    """A hand on the coupling `CLIP_HAND` takes the clip along a path, from where it is.

    Args:
        scene: Clip and pipe.
        path: Velocity of the hand in every step, upwards [m/s].
        dt: Step [s].
        method: Of contact.
        look_at: Heights of the clip, falling, at which a picture is taken, and its caption.
    """
    sim = tg.Simulation(scene, method=method, dt=dt)
    grip = sim.hold("clip")
    grip.attach(GRIP, ARM)
    pull = Pull(0, CLIP_HAND.stiffness, CLIP_HAND.damping, ARM, np.inf)
    recorder = _Recorder(sim, LOOK, look_at)
    hand = np.zeros(NHAND)
    hand[HAND_QUATERNION] = 1.0
    height = float(sim["clip"].position[2])
    with one_blas_thread():
        for velocity in path:
            hand[HAND_POSITION : HAND_POSITION + 3] = GRIP
            hand[HAND_POSITION + 2] += height
            hand[HAND_VELOCITY + 2] = velocity
            grip.pull(hand, 0.0, pull)
            sim.step()
            height += velocity * dt
            recorder.take(height, -float(sim.spring_forces[:, 2].sum()))
    return recorder.run()


def felt_in_session(scene: tg.Scene, start: float, speed: float, rest: float) -> Array:
    """Force on a scripted hand that holds the clip in a session at 1 kHz, upwards [N].

    It goes down from `start` to height 0 [m] and stays so long [s], as `way_in` does.
    """

    def hand(t: float) -> tuple[float, float, float]:
        return (0.0, 0.0, float(GRIP[2]) + max(start - speed * t, 0.0))

    session = tg.Session(scene, method="signorini", device=tg.devices.Scripted(hand))
    with one_blas_thread():
        trace = session.run(start / speed + rest, realtime=False)
    force: Array = trace["device.force"][:, 2]
    return force


def way_in(start: float, speed: float, dt: float, rest: float) -> list[float]:
    """Velocities of a hand that goes down from `start` to height 0 and stays so long [s]."""
    count = ceil(start / (speed * dt) - 1e-9)
    heights = np.maximum(start - speed * dt * np.arange(count + 1), 0.0)
    return [*(np.diff(heights) / dt).tolist(), *[0.0] * round(rest / dt)]
