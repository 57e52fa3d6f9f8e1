"""Stacked blocks over time: whether they stand, and how far they drift, tilt and sink."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

import tangere as tg
from tangere.maths.vec import Array

FALLEN = 0.5  # [m] sideways way of a block from its start that counts as a fall
# [m] top block's way over which growth is fitted: past the jitter, and still linear
GROWTH_RANGE = (2e-3, 0.1)
RECORDS_PER_SECOND = 20


@dataclass(frozen=True)
class Stand:
    """One tower over time: poses, and per instant the largest drift [m], tilt [rad], energy [J].

    `deepest` is the depth of the deepest contact of any step, if each was looked at [m].
    """

    time: Array
    position: Array
    orientation: Array
    drift: Array
    tilt: Array
    kinetic: Array
    deepest: float = math.nan

    def sink(self) -> float:
        """Largest way down of any block [m]."""
        return float(np.max(self.position[0, :, 2] - self.position[:, :, 2]))

    def depths(self) -> Array:
        """How deep each block rests in what is below it at the end, if they only touched [m]."""
        sunk = self.position[0, :, 2] - self.position[-1, :, 2]
        return np.diff(sunk, prepend=0.0)

    def way(self, since: float = 0.0) -> float:
        """Largest way of any block in any direction from where it was at an instant [m]."""
        late = self.position[self.time >= min(since, float(self.time[-1]))]
        return float(np.max(np.linalg.norm(late - late[0], axis=2)))

    def fall(self) -> float | None:
        """First instant at which a block has left its place by `FALLEN` [s]."""
        gone = np.flatnonzero(~(self.drift <= FALLEN))
        return float(self.time[gone[0]]) if len(gone) else None

    def growth(self, shape: Array) -> float | None:
        """Growth rate of the way along a mode while the tower buckles [1/s].

        `shape` is the sideways way of every block in the mode. The fit is to the way from one
        instant to the next: the jitter is a constant load, which bends the tower once and for all,
        and a constant has no share in a difference.
        """
        sideways = self.position[:, :, 0]
        way = np.abs(sideways[:, -1] - sideways[0, -1])
        start = np.flatnonzero(way > GROWTH_RANGE[0])
        stop = np.flatnonzero(way > GROWTH_RANGE[1])
        if not len(start) or not len(stop) or stop[0] - start[0] < 4:
            return None
        part = slice(int(start[0]), int(stop[0]))
        steps = np.abs(np.diff(sideways @ shape))
        return float(np.polyfit(self.time[part], np.log(steps[part]), 1)[0])


def watch(sim: tg.Simulation, seconds: float, each_step: bool = False) -> Stand:
    """Let a scene go on for some time, and look at its contacts after each step if asked to."""
    every = round(1.0 / (RECORDS_PER_SECOND * sim.dt))
    count = round(seconds * RECORDS_PER_SECOND) + 1
    n = len(sim.positions)
    position = np.empty((count, n, 3))
    orientation = np.empty((count, n, 4))
    kinetic = np.empty(count)
    instant = np.empty(count)
    deepest = 0.0 if each_step else math.nan
    for i in range(count):
        if i and each_step:
            for _ in range(every):
                sim.step()
                deepest = max(deepest, float(sim.contacts["depth"].max(initial=0.0)))
        elif i:
            sim.step(every)
        position[i] = sim.positions
        orientation[i] = sim.orientations
        kinetic[i] = sim.energy.kinetic
        instant[i] = sim.time
    return replace(seen(instant, position, orientation, kinetic), deepest=deepest)


def seen(instant: Array, position: Array, orientation: Array, kinetic: Array) -> Stand:
    """A tower from its record: instants (n,), poses (n, blocks, 3) and (n, blocks, 4), energy."""
    way = np.linalg.norm(position[:, :, :2] - position[0, :, :2], axis=2)
    # angle between a block's own vertical and the world's
    x, y = orientation[:, :, 1], orientation[:, :, 2]
    tilt = np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))
    return Stand(instant, position, orientation, way.max(axis=1), tilt.max(axis=1), kinetic)
