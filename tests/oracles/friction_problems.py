"""Frictional contact problems with a known solution: forces and motions that obey the laws.

Contacts are drawn open, sticking or slipping, with r* and u* to match, and q = u* − W r*. The
families differ in W. `violation` tells how far any forces are from the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere.bench.friction import half_space

Array = NDArray[np.float64]
Rng = np.random.Generator

MOST_CONTACTS = 30
MOST_FRICTION = 1.5


def violation(W: Array, q: Array, mu: Array, r: Array) -> float:
    """The laws, one by one, written another way than the solver does; the largest that is broken.

    Forces count as shares of F = max |q_n|/W_nn, motions of a contact as shares of trace(W_cc) F.
    """
    m = len(mu)
    u, f = (W @ r + q).reshape(m, 3), r.reshape(m, 3)
    compliance = np.einsum("cici->c", W.reshape(m, 3, m, 3))
    on = compliance > 1e-14 * compliance.max()
    force = float((np.abs(q[::3])[on] / np.diag(W)[::3][on]).max()) or 1.0
    f, u, mu = f[on] / force, u[on] / (compliance[on, None] * force), mu[on]
    size, slip = np.linalg.norm(f[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    power = np.einsum("ci,ci->c", f[:, 1:], u[:, 1:])
    broken = [
        -f[:, 0].min(),
        -u[:, 0].min(),
        np.abs(f[:, 0] * u[:, 0]).max(),
        (size - mu * f[:, 0]).max(),
        np.abs(power + mu * f[:, 0] * slip).max(),
    ]
    return float(max(broken))


class Known(NamedTuple):
    """A problem u = W r + q and one of its solutions."""

    family: str
    W: Array
    q: Array
    mu: Array
    r: Array
    u: Array


def turned(rng: Rng) -> Array:
    """A random rotation, shape (3, 3)."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0.0 else -Q


def cross_matrix(p: Array) -> Array:
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def jacobian(frame: Array, arm: Array) -> Array:
    """Motion of a body's point along the rows of `frame` by its twist, shape (3, 6)."""
    return np.hstack([frame, -frame @ cross_matrix(arm)])


# ---------------------------------------------------------------- operators


def generic(rng: Rng, m: int) -> Array:
    """Rank from about m to full."""
    rank = int(rng.integers(max(3, m), 3 * m + 2))
    J = rng.normal(size=(3 * m, rank))
    W: Array = J @ J.T / rank
    return W


def spread(rng: Rng, m: int) -> Array:
    """Contacts whose compliances lie between 1e-3 and 1e3 of the mean."""
    D = np.repeat(10.0 ** rng.uniform(-1.5, 1.5, m), 3)
    return D[:, None] * generic(rng, m) * D


def rigid(rng: Rng, m: int) -> Array:
    """One to four rigid bodies on each other and on fixed ones: rank 6 a body at most."""
    bodies = int(rng.integers(1, 5))
    J = np.zeros((3 * m, 6 * bodies))
    for c in range(m):
        frame = turned(rng)
        sides = rng.permutation(bodies)[: int(rng.integers(1, 3))]
        for sign, b in zip((1.0, -1.0), sides, strict=False):
            J[3 * c : 3 * c + 3, 6 * b : 6 * b + 6] = sign * jacobian(
                frame, rng.uniform(-0.1, 0.1, 3)
            )
    C = np.zeros(6 * bodies)
    for b in range(bodies):
        mass = 10.0 ** rng.uniform(-1.0, 1.0)
        C[6 * b : 6 * b + 3] = 1.0 / mass
        C[6 * b + 3 : 6 * b + 6] = 1.0 / (mass * rng.uniform(0.05, 0.15, 3) ** 2)
    W: Array = J * C @ J.T
    return W


def box(rng: Rng, m: int) -> Array:
    """Contacts on the faces of one box, normals along its axes: as redundant as they come."""
    J = np.zeros((3 * m, 6))
    axes = np.eye(3)
    for c in range(m):
        i, side = int(rng.integers(3)), float(rng.choice([-1.0, 1.0]))
        frame = np.array([side * axes[i], axes[(i + 1) % 3], side * axes[(i + 2) % 3]])
        arm = rng.choice([-0.1, 0.1], 3)
        arm[i] = -0.1 * side
        J[3 * c : 3 * c + 3] = jacobian(frame, arm)
    C = np.r_[np.ones(3), np.full(3, 6.0 / 0.2**2)]
    W: Array = J * C @ J.T
    return W


def soft(rng: Rng, m: int) -> Array:
    """Points on the surface of an elastic body, stiff or soft against its rigid motion."""
    side = int(np.ceil(np.sqrt(m)))
    grid = np.array([(i, j) for i in range(side) for j in range(side)], float)
    points = 0.01 * (grid[rng.permutation(side * side)[:m]] + rng.uniform(-0.2, 0.2, (m, 2)))
    W = half_space(points, rng.uniform(0.1, 0.49)) / 1e5
    J = np.zeros((3 * m, 6))
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for c, p in enumerate(points):
        J[3 * c : 3 * c + 3] = jacobian(frame, np.array([p[0], p[1], 0.02]))
    C = np.r_[np.ones(3), np.full(3, 1.0 / 0.02**2)]
    scale = 10.0 ** rng.uniform(-3.0, 2.0) * np.trace(W) / np.trace(J * C @ J.T)
    total: Array = W + scale * (J * C @ J.T)
    return total


FAMILIES: dict[str, Callable[[Rng, int], Array]] = {
    "generic": generic,
    "spread": spread,
    "rigid": rigid,
    "box": box,
    "soft": soft,
}

# ---------------------------------------------------------------- solutions


def solution(rng: Rng, mu: Array) -> tuple[Array, Array]:
    """Forces and motions that obey the laws, of order 1, shapes (m, 3)."""
    m = len(mu)
    r, u = np.zeros((m, 3)), np.zeros((m, 3))
    for c in range(m):
        angle = rng.uniform(0.0, 2.0 * np.pi)
        way = np.array([np.cos(angle), np.sin(angle)])
        match rng.integers(3):
            case 0:  # open
                u[c] = (rng.uniform(0.1, 1.0), *rng.normal(size=2))
            case 1:  # stick
                r[c, 0] = rng.uniform(0.1, 2.0)
                r[c, 1:] = 0.8 * rng.random() * mu[c] * r[c, 0] * way
                if mu[c] == 0.0:
                    u[c, 1:] = rng.normal(size=2)
            case _:  # slip
                r[c, 0] = rng.uniform(0.1, 2.0)
                r[c, 1:] = mu[c] * r[c, 0] * way
                u[c, 1:] = -rng.uniform(0.1, 1.0) * way
    return r, u


def draw(family: str, rng: Rng, m: int | None = None) -> Known:
    """A problem of up to 30 contacts; a tenth of them frictionless, in every fifth problem half."""
    if m is None:
        m = int(rng.integers(1, MOST_CONTACTS + 1))
    W = FAMILIES[family](rng, m)
    mu = rng.uniform(0.0, MOST_FRICTION, m)
    mu[rng.random(m) < (0.5 if rng.random() < 0.2 else 0.1)] = 0.0
    r, u = solution(rng, mu)
    # motions in the unit of W: what forces of order 1 bring about; each contact in its own, where
    # contacts differ, in half of the problems
    own = np.sqrt(np.einsum("cici->c", W.reshape(m, 3, m, 3)) / 3.0)
    mean = float(np.sqrt(np.mean(own**2)))
    if rng.random() < 0.5:
        own[:] = mean
    r /= own[:, None] / mean
    u *= own[:, None] * mean
    return Known(family, W, u.ravel() - W @ r.ravel(), mu, r.ravel(), u.ravel())


def problems(count: int, seed: int = 0) -> Iterator[Known]:
    """So many problems, the families in turn."""
    names = list(FAMILIES)
    for i in range(count):
        yield draw(names[i % len(names)], np.random.default_rng((seed, i)))
