"""Contacts made by hand for tests of the implicit step, and its functions in NumPy.

The reference works on plain arrays of points (x, y, depth, weight) and one convex potential; the
forces are its gradient, taken by complex steps, so no formula of the kernels is used twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere._jit import kernel
from tangere._ptr import pointers
from tangere.elements import columns as record
from tangere.elements.columns import add_local, element
from tangere.elements.element import breaks, hessian, value
from tangere.solver import Solver, new_solver

Array = NDArray[np.float64]

V_EPS = 1e-4  # [m/s], where kinetic friction fades


@kernel
def _evaluate(v: Solver, k: int, dt: float, all_press: bool, length: float, wrench: Array) -> bool:
    """Force, curvature and wrenches of contact k; whether it would break."""
    p = pointers(v)
    c = element(p.elements, k)
    value(p.elements, c, p.ahead.twist, dt)
    hessian(p.elements, c, p.ahead.twist, dt, all_press, length)
    for i in range(12):
        p.ahead.gradient[i] = 0.0
    add_local(c, 1.0, p.ahead.gradient)
    for i in range(12):
        wrench[i] = p.ahead.gradient[i]
    return breaks(p.elements, c, p.ahead.twist, dt)


class Law(NamedTuple):
    """Parameters of a contact by hand; `limit` is the lagged pressure over depth."""

    k: float = 3e4
    b: float = 120.0
    k_t: float = 8e3
    b_t: float = 25.0
    mu: float = 0.4
    limit: float = 2.5e4
    r1: float = 0.0
    r2: float = 0.0
    th: float = 0.0


PLAIN = Law()


class Result(NamedTuple):
    force: Array  # (6,): n, 1, 2 | 1, 2, n
    normal: Array  # (3, 3)
    tangential: Array  # (3, 3)
    wrench: Array  # (2, 6): of a and b
    breaks: bool


def polygon(corners: ArrayLike, depth: ArrayLike) -> Array:
    """Apex and corners of a fan: rows x, y, depth; the apex lies on the mean of the corners."""
    ring = np.column_stack((np.asarray(corners, float), np.asarray(depth, float)))
    return np.vstack((ring.mean(axis=0), ring))


def triangles(fan: Array) -> Array:
    """(n, 3, 3): apex, last corner, this corner."""
    ring = fan[1:]
    apex = np.broadcast_to(fan[0], ring.shape)
    return np.stack((apex, np.roll(ring, 1, axis=0), ring), axis=1)


def six_points() -> tuple[Array, Array]:
    """Weights and barycentric coordinates of the degree-4 rule, from its closed form."""
    weights, points = [], []
    for sign in (1.0, -1.0):
        a = (8.0 - sqrt(10.0) + sign * sqrt(38.0 - 44.0 * sqrt(0.4))) / 18.0
        w = (620.0 + sign * sqrt(213125.0 - 53320.0 * sqrt(10.0))) / 3720.0
        for k in range(3):
            row = [a, a, a]
            row[k] = 1.0 - 2.0 * a
            points.append(row)
            weights.append(w)
    return np.array(weights), np.array(points)


def sampled(fans: Sequence[Array]) -> Array:
    """Points of all fans: rows x, y, depth, area."""
    weights, points = six_points()
    rows = []
    for fan in fans:
        for t in triangles(fan):
            e1, e2 = t[1, :2] - t[0, :2], t[2, :2] - t[0, :2]
            area = 0.5 * (e1[0] * e2[1] - e1[1] * e2[0])
            rows.append(np.column_stack((points @ t, weights * area)))
    return np.concatenate(rows)


def centred(fans: Sequence[Array]) -> list[Array]:
    """The same about their common centroid, as the step keeps them."""
    if not fans:
        return []
    points = sampled(fans)
    middle = points[:, 3] @ points[:, :2] / points[:, 3].sum()
    return [fan - (*middle, 0.0) for fan in fans]


def moments(points: Array) -> Array:
    """S, Jxx, Jxy, Jyy, H, Hx, Hy; the rule is exact for them."""
    x, y, d, a = points.T
    terms = (np.ones_like(x), x * x, x * y, y * y, d, d * x, d * y)
    return np.array([a @ term for term in terms])


class Contact:
    """One contact between bodies 0 and 1 in arrays of its own."""

    def __init__(
        self,
        fans: Sequence[Array],
        law: Law = PLAIN,
        *,
        mode: int = record.HOLDS,
        kind: int = record.PATCH_KIND,
        area: float | None = None,
        depth: float = 0.0,
        star: Array | None = None,
        dt: float = 5e-3,
        seed: int = 0,
    ) -> None:
        rng = np.random.default_rng(seed)
        fans = centred(fans)
        self.law, self.mode, self.kind, self.dt = law, mode, kind, dt
        self.star = np.zeros(6) if star is None else star
        self.points = sampled(fans) if fans else np.array([[0.0, 0.0, depth, 1.0]])
        sums = moments(self.points)
        self.area = float(sums[0]) if area is None else area
        count = sum(len(fan) for fan in fans)
        self.v = v = new_solver(2, 0, 1, max(count, 1), 4)
        axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        self.axes = axes * np.linalg.det(axes)  # rows n, t1, t2: right-handed
        self.arms = rng.normal(size=(2, 3))
        ints, f = v.elements.ints[0], v.elements.floats[0]
        f[:] = np.nan
        ints[:] = 0
        ints[record.EI_B] = 1
        ints[record.EI_KIND], ints[record.EI_MODE] = kind, mode
        ints[record.EI_POLYGONS] = len(fans)
        f[:9] = self.axes.ravel()
        f[record.EF_ARM_A : record.EF_ARM_A + 6] = self.arms.ravel()
        f[record.EF_U : record.EF_U + 6] = self.star
        f[record.EF_K : record.EF_MU + 1] = law[:5]
        f[record.EF_LIMIT] = law.limit
        f[record.EF_MEETS] = 0.0
        f[record.EF_R1 : record.EF_TH + 1] = law.r1, law.r2, law.th
        f[record.EF_AREA] = self.area
        f[record.EF_S : record.EF_HY + 1] = sums
        f[record.EF_E : record.EF_BOUNCE + 3] = 0.0
        # flat faces: tilt about both axes of the patch, and nothing rolls
        f[record.EF_TILT1 : record.EF_TILT1 + 6] = self.axes[1:].ravel()
        f[record.EF_PRESSED : record.EF_PRESSED + 3] = 0.0
        f[record.EF_LEAD : record.EF_LEAD + 6] = 0.0
        f[record.EF_ROLLS] = 0.0
        if kind == record.POINT_KIND:
            f[record.EF_H] = depth
        at = 0
        for k, fan in enumerate(fans):
            v.elements.corners[k] = len(fan) - 1
            v.elements.fan[at : at + len(fan)] = fan
            at += len(fan)

    def twist(self, local: Array) -> Array:
        """Twists of both bodies, (2, 6), whose relative motion at the contact is `local`."""
        n, t1, t2 = self.axes
        u = local[0] * n + local[3] * t1 + local[4] * t2
        w = local[5] * n + local[1] * t1 + local[2] * t2
        a = np.random.default_rng(9).normal(size=6)  # a moves anyhow
        wb = a[3:] + w
        vb = a[:3] + np.cross(a[3:], self.arms[0]) + u - np.cross(wb, self.arms[1])
        return np.stack((a, np.concatenate((vb, wb))))

    def __call__(self, local: Array, all_press: bool = False, length: float = 0.0) -> Result:
        """The kernel at the given relative motion, after a share of a Newton step or anew."""
        self.v.ahead.twist[:2] = self.twist(local)
        wrench = np.full(12, np.nan)
        broken = _evaluate(self.v, 0, self.dt, all_press, length, wrench)
        f = self.v.elements.floats[0]
        cn, ct = (
            f[record.EF_HESSIAN_N : record.EF_HESSIAN_N + 6],
            f[record.EF_HESSIAN_T : record.EF_HESSIAN_T + 6],
        )
        index = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
        return Result(
            f[record.EF_F : record.EF_F + 6].copy(),
            cn[index],
            ct[index],
            wrench.reshape(2, 6),
            bool(broken),
        )

    def potential(self, local: NDArray[np.complex128]) -> complex:
        """Σ ω P²/(2 (k dt + b)) + Σ ω Huber(g)/c; its gradient is minus the force."""
        law, dt = self.law, self.dt
        un, w1, w2, u1, u2, wn = local
        sn, s1, s2 = self.star[:3]
        x, y, d, a = self.points.T
        weight = a / self.area
        rate, start = un + w1 * y - w2 * x, sn + s1 * y - s2 * x
        p = law.k * (d - dt * (rate - start)) - law.b * rate
        p = np.where(p.real > 0.0, p, 0.0)
        total = np.sum(weight * p * p) / (2.0 * (law.k * dt + law.b))
        if law.mu * law.limit == 0.0:
            return complex(total)
        q1, q2 = u1 - wn * y, u2 + wn * x
        most = law.mu * law.limit * np.where(d > 0.0, d, 0.0)
        if self.kind == record.POINT_KIND:
            most = np.array([law.mu * law.limit])
        if self.mode == record.SLIDES:
            c = most / V_EPS
            g1, g2 = c * q1, c * q2
        else:
            c = np.full_like(x, law.k_t * dt + law.b_t)
            g1 = law.k_t * (law.r1 - law.th * y) + c * q1
            g2 = law.k_t * (law.r2 + law.th * x) + c * q2
        square = g1 * g1 + g2 * g2
        huber = square / 2.0
        if self.mode != record.HOLDS:
            size = np.sqrt(np.where(square.real > most**2, square, 1.0))
            huber = np.where(square.real > most**2, most * size - most**2 / 2.0, huber)
            # what lies apart rubs nothing
            huber = np.where(most > 0.0, huber, 0.0)
        c = np.where(c > 0.0, c, 1.0)
        return complex(total + np.sum(weight * huber / c))

    def expected(self, local: Array) -> Array:
        """Minus the gradient of the potential, by complex steps."""
        h = 1e-30
        return np.array([-self.potential(local + 1j * h * e).imag / h for e in np.eye(6)])

    def slope(self, local: Array) -> Array:
        """Minus the derivative of the kernel's force, (6, 6), by central differences."""
        h = 1e-7
        columns = [self(local + h * e).force - self(local - h * e).force for e in np.eye(6)]
        return -np.column_stack(columns) / (2.0 * h)
