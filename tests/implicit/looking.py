"""What the last implicit step saw, read off the arrays; and the step problem in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from implicit.touching import V_EPS, sampled
from numpy.typing import NDArray

from tangere.elements import columns as record
from tangere.model import NF, PF_HELD, PF_PRESS, PF_RESERVE, PF_STORED
from tangere.scene.compile import Compiled
from tangere.simulation import Simulation

Array = NDArray[np.float64]


@dataclass
class Seen:
    """One contact, or spring, of the last look at the geometry."""

    ints: NDArray[np.int32]
    floats: Array
    fans: list[Array]
    near: list[Array]  # beside the patch, within reach

    def __getitem__(self, column: int) -> float:
        return float(self.floats[column])

    def triple(self, column: int) -> Array:
        return self.floats[column : column + 3]

    @property
    def axes(self) -> Array:
        return self.floats[:9].reshape(3, 3)

    @property
    def kind(self) -> int:
        return int(self.ints[record.EI_KIND])

    @property
    def mode(self) -> int:
        return int(self.ints[record.EI_MODE])

    @property
    def bodies(self) -> tuple[int, int]:
        return int(self.ints[record.EI_A]), int(self.ints[record.EI_B])

    @property
    def rows(self) -> Array:
        """Apexes and corners of all fans."""
        return np.concatenate(self.fans)

    @property
    def points(self) -> Array:
        """Rows x, y, depth, weight ω."""
        if self.kind != record.PATCH_KIND:
            return np.array([[0.0, 0.0, self[record.EF_H], 1.0]])
        return self._sampled(self.fans)

    @property
    def in_reach(self) -> Array:
        """The same, with those that do not touch yet."""
        if not self.near:
            return self.points
        return np.concatenate((self.points, self._sampled(self.near, record.EF_REACH)))

    def _sampled(self, fans: list[Array], shared: int = record.EF_AREA) -> Array:
        points = sampled(fans)
        points[:, 3] /= self[shared]
        return points

    def world(self, rows: Array) -> Array:
        """Places of rows (x, y, …) on the contact plane."""
        _, t1, t2 = self.axes
        centre = self.triple(record.EF_C)
        return np.asarray(centre + np.outer(rows[:, 0], t1) + np.outer(rows[:, 1], t2))

    def lost(self, rows: Array) -> Array:
        """Depth lost from the start of the step to the guess."""
        d0, dx, dy = self.triple(record.EF_D)
        return np.asarray(d0 + dx * rows[:, 0] + dy * rows[:, 1])

    def map(self, side: int) -> Array:
        """6 x 6: twist of a body to its local motion at the contact."""
        n, t1, t2 = self.axes
        arm = self.triple(record.EF_ARM_B if side else record.EF_ARM_A)
        out = np.zeros((6, 6))
        for row, axis in ((0, n), (3, t1), (4, t2)):
            out[row, :3], out[row, 3:] = axis, np.cross(arm, axis)
        for row, axis in ((5, n), (1, t1), (2, t2)):
            out[row, 3:] = axis
        return out


def seen(sim: Simulation) -> list[Seen]:
    """All contacts and springs of the last look, copied."""
    t = sim.arrays.work.solver.elements
    found = []
    for k in range(int(t.used[0])):
        ints = t.ints[k].copy()
        at, fans = int(ints[record.EI_FAN]), []
        first, count = int(ints[record.EI_POLYGON]), int(ints[record.EI_POLYGONS])
        if ints[record.EI_KIND] == record.PATCH_KIND:
            for corners in t.corners[first : first + count + int(ints[record.EI_NEAR])]:
                fans.append(t.fan[at : at + corners + 1].copy())
                at += corners + 1
        found.append(Seen(ints, t.floats[k].copy(), fans[:count], fans[count:]))
    return found


class Pose:
    """Where one body stands: at the start of a step, or as guessed for its end."""

    def __init__(self, c: Compiled, body: int, ahead: bool) -> None:
        source = c.work.solver.ahead if ahead else c.state
        self.x = source.position[body].copy()
        self.r = source.rotation[body].reshape(3, 3).copy()
        self.planes = np.zeros((0, 4))
        if body < c.sizes.bodies:
            rows = []
            for part in range(c.model.part_start[body], c.model.part_start[body + 1]):
                hull = c.model.part_hull[part]
                rows.append(c.hulls.planes[c.hulls.face_start[hull] : c.hulls.face_start[hull + 1]])
            planes = np.concatenate(rows)
            normals = planes[:, :3] @ self.r.T
            self.planes = np.column_stack((normals, planes[:, 3] + normals @ self.x))
        else:
            self.planes = c.model.floor_plane[body - c.sizes.bodies][None]

    def span(self, p: Array, n: Array) -> tuple[float, float]:
        """Where the line p + s n enters and leaves this convex body."""
        across = self.planes[:, :3] @ n
        room = self.planes[:, 3] - self.planes[:, :3] @ p
        low, high = across < -1e-9, across > 1e-9
        enter = float((room[low] / across[low]).max()) if low.any() else -np.inf
        leave = float((room[high] / across[high]).min()) if high.any() else np.inf
        return enter, leave


def chords(sim: Simulation, c: Seen) -> tuple[Array, Array]:
    """Overlap of two convex bodies along n through the rows of the patch; negative: gap.

    And its uncertainty: lines are drawn a millionth of the way to the middle of each polygon, for
    exactly on the rim they may miss, or graze a wall.
    """
    a, b = (Pose(sim.arrays, body, ahead=True) for body in c.bodies)
    n = c.axes[0]
    out, slack = [], []
    for fan in c.fans:
        for p in c.world(fan + 1e-6 * (fan[0] - fan)):
            (a0, a1), (b0, b1) = a.span(p, n), b.span(p, n)
            out.append(min(a1, b1) - max(a0, b0))
            slack.append(1e-12 + 2e-6 * float(np.ptp(fan[:, 2])))
    return np.array(out), np.array(slack)


def stored(sim: Simulation) -> Array:
    """Of each pair: energy of its springs, reserve, last force, energy of its friction spring."""
    floats = sim.arrays.work.pairs.floats.reshape(-1, NF)
    return floats[:, [PF_STORED, PF_RESERVE, PF_PRESS, PF_HELD]].copy()


class StepProblem:
    """½ |v − v_f|²_M + dt Σ ψ of the last step, of all bodies that move.

    Friction springs are taken to start unstretched: true of contacts that begin, of those that
    slide, and of scenes without friction.
    """

    def __init__(self, sim: Simulation) -> None:
        c = sim.arrays
        self.dt, self.contacts = sim.dt, seen(sim)
        self.moving = np.flatnonzero(c.model.inv_mass[: c.sizes.bodies] > 0.0)
        h = c.work.solver.ahead
        self.twist, self.free = h.twist[:-1].copy(), h.free[:-1].copy()
        self.mass = np.zeros((len(self.twist), 6, 6))
        for i in self.moving:
            self.mass[i, :3, :3] = c.model.mass[i] * np.eye(3)
            r = c.work.solver.ahead.inertia[i].reshape(3, 3)
            self.mass[i, 3:, 3:] = r

    @property
    def solution(self) -> Array:
        return np.asarray(self.twist[self.moving].ravel())

    def imbalance(self) -> Array:
        """M (v − v_f) − dt Σ Jᵀ f of each moving body at the solution, forces as the step left."""
        out = np.einsum("nij,nj->ni", self.mass, self.twist - self.free)
        for c in self.contacts:
            force = c.floats[record.EF_F : record.EF_F + 6]
            for side, body in enumerate(c.bodies):
                if body < len(out):
                    out[body] -= (1.0 if side else -1.0) * self.dt * c.map(side).T @ force
        return np.asarray(out[self.moving])

    def __call__(self, v: NDArray[np.complex128] | Array) -> complex:
        """The objective at twists of the moving bodies."""
        twist = self.twist.astype(complex)
        twist[self.moving] = np.reshape(v, (-1, 6))
        d = twist - self.free
        total = 0.5 * np.einsum("ni,nij,nj->", d, self.mass, d)
        for c in self.contacts:
            a, b = (twist[i] if i < len(twist) else np.zeros(6) for i in c.bodies)
            total += self.dt * self._contact(c, c.map(1) @ b - c.map(0) @ a)
        return complex(total)

    def _contact(self, c: Seen, u: NDArray[np.complex128]) -> complex:
        dt, f = self.dt, c.floats
        if c.kind == record.SPRING_KIND:
            pull = f[record.SF_START : record.SF_START + 3]
            move, rate = u[[0, 3, 4]], f[[record.SF_ALONG, record.SF_ACROSS, record.SF_ACROSS]]
            return complex(pull @ move + 0.5 * rate @ (move * move))
        k, b, k_t, b_t, mu = f[record.EF_K : record.EF_MU + 1]
        k += f[record.EF_MEETS]
        star = f[record.EF_U : record.EF_U + 6]
        x, y, d, w = c.in_reach.T
        if c.kind == record.POINT_KIND:
            x, y = np.zeros(1), np.zeros(1)
            u = u * np.array([1, 0, 0, 1, 1, 0])
        rate, start = u[0] + u[1] * y - u[2] * x, star[0] + star[1] * y - star[2] * x
        if c.kind == record.POINT_KIND:
            start = star[:1]
        p = k * (d - dt * (rate - start)) - b * rate
        p = np.where(p.real > 0.0, p, 0.0)
        total = np.sum(w * p * p) / (2.0 * (k * dt + b))
        if c.near:
            x, y, d, w = c.points.T
        most = mu * f[record.EF_LIMIT] * np.where(d > 0.0, d, 0.0)
        if c.kind == record.POINT_KIND:
            most = np.array([mu * f[record.EF_LIMIT]])
        if not most.any():
            return complex(total)
        slides = c.mode == record.SLIDES
        rough = np.where(most > 0.0, most, 1.0) / V_EPS if slides else k_t * dt + b_t
        g1, g2 = rough * (u[3] - u[5] * y), rough * (u[4] + u[5] * x)
        square = g1 * g1 + g2 * g2
        huber = square / 2.0
        if c.mode != record.HOLDS:
            over = square.real > most**2
            size = np.sqrt(np.where(over, square, 1.0))
            huber = np.where(over, most * size - most**2 / 2.0, huber)
            huber = np.where(most > 0.0, huber, 0.0)
        return complex(total + np.sum(w * huber / rough))

    def gradient(self, v: Array) -> Array:
        h = 1e-30
        return np.array([self(v + 1j * h * e).imag / h for e in np.eye(len(v))])
