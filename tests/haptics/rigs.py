"""Rigs for tests: random states of a tool in every branch of its laws, and a spoon in motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from oracles.held_tool import exponential, matrix, product

from tangere._jit import kernel
from tangere._ptr import local_f8, off, ptr
from tangere.contact_planes import NPLANE, PLANE_FRICTION
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.element import Linear, clear, motion
from tangere.haptics.layout import (
    NOUT,
    NTOOL,
    PACKET_COUNT,
    PACKET_DAMPING,
    PACKET_PLANES,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_WRENCH,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_INERTIA,
    SET_MASS,
    SET_STEP,
    Rig,
    new_rig,
)
from tangere.haptics.planes import add_plane, plane_count, touch
from tangere.haptics.tool import step_along, step_once

Array = NDArray[np.float64]

# Deviations of the coupling for each branch of its springs, [m] and [rad]: 200 N/m up to 2 N and
# 0.6 N m/rad up to 0.2 N m are linear up to 8 mm and 0.267 rad, constant from 11 mm and 0.367 rad
BRANCHES = {"linear": (0.004, 0.1), "cubic": (0.0095, 0.32), "constant": (0.03, 1.2)}
SPOON = np.array([6.59e-3, 60.8e-3, 61.1e-3])  # radii of gyration [m]


def plane(
    point: Array,
    anchor: Array,
    normal: Array,
    *,
    k: float = 5000.0,
    b: float = 0.0,
    d: float = 5e-4,
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    mu: float = 0.0,
    shear: float = 0.0,
    name: int = 1,
) -> Array:
    """One plane of a packet."""
    hold = (0.0, 0.0, 0.0)
    return np.array([*point, *anchor, *normal, k, b, d, *velocity, mu, shear, name, *hold])


def put_planes(rig: Rig, planes: list[Array]) -> None:
    rig.packet[PACKET_COUNT] = len(planes)
    for i, each in enumerate(planes):
        rig.packet[PACKET_PLANES + NPLANE * i :][:NPLANE] = each


@kernel
def gather_planes(settings: Array, packet: Array) -> None:
    """Fill PACKET_WRENCH, PACKET_STIFFNESS and PACKET_DAMPING from a packet's planes at its state.

    What the linear and the held hand-over need. Friction is left out: a force with a limit has no
    place in a linear model.
    """
    s, p = ptr(settings), ptr(packet)
    r, plane, state = local_f8(9), local_f8(21), local_f8(6)
    m = motion(s, off(p, PACKET_STATE), r)
    a = Linear(off(p, PACKET_WRENCH), off(p, PACKET_STIFFNESS), off(p, PACKET_DAMPING))
    clear(a)
    for i in range(plane_count(p)):
        for c in range(NPLANE):
            plane[c] = p[PACKET_PLANES + NPLANE * i + c]
        plane[PLANE_FRICTION] = 0.0
        t = touch(plane, m, 0.0, state)
        if t.gap > 0.0 and t.s > 0.0:
            add_plane(plane, m, t, state, a)


def make_rig(
    mass: float,
    radii: Array = SPOON,
    grip: tuple[float, float, float] = (-0.03, 0.0, 0.0),
    coupling: VirtualCoupling | None = None,
    dt: float = 1e-3,
) -> Rig:
    """A rig at rest at the origin, the hand at the grip."""
    rig = new_rig()
    s = rig.settings
    (coupling or VirtualCoupling()).apply(s)
    s[SET_STEP], s[SET_MASS] = dt, mass
    s[SET_INERTIA : SET_INERTIA + 3] = mass * radii**2
    s[SET_GRIP : SET_GRIP + 3] = grip
    rig.hand[:3] = grip
    return rig


def random_rig(
    rng: np.random.Generator,
    branch: str = "linear",
    planes: int = 3,
    *,
    mass: float = 0.02,
    depth: float = 1e-3,
) -> Rig:
    """A tool anywhere, turning and moving, deviating as the branch asks, planes pressing."""
    stretch, angle = BRANCHES[branch]
    coupling = VirtualCoupling(damping=0.8, rotational_damping=0.008, max_force=2.0, max_torque=0.2)
    rig = make_rig(mass, np.array([0.007, 0.055, 0.057]), coupling=coupling)
    s, y = rig.settings, rig.tool
    grip, q_c = rng.normal(size=3) * 0.05, exponential(rng.normal(size=3) * 0.5)
    s[SET_GRIP : SET_GRIP + 3], s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4] = grip, q_c
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    r = matrix(q)
    y[:3], y[3:7], y[7:10] = rng.normal(size=3) * 0.1, q, mass * rng.normal(size=3) * 0.4
    y[10:13] = r @ (s[SET_INERTIA : SET_INERTIA + 3] * (r.T @ (rng.normal(size=3) * 6)))
    away, turned = rng.normal(size=3), rng.normal(size=3)
    away *= stretch / np.linalg.norm(away)
    turned *= angle / np.linalg.norm(turned)
    rig.hand[:3] = y[:3] + r @ grip + away
    rig.hand[3:7] = product(exponential(turned), product(q, q_c)) * rng.choice([-1.0, 1.0])
    rig.hand[7:10], rig.hand[10:13] = rng.normal(size=3) * 0.3, rng.normal(size=3) * 4
    rows = []
    for i in range(planes):
        point, n = rng.normal(size=3) * 0.06, rng.normal(size=3)
        n /= np.linalg.norm(n)
        anchor = y[:3] + r @ point - depth * (1.0 + rng.random()) * n
        rows.append(plane(point, anchor, n, b=1.5, name=i + 1))
    put_planes(rig, rows)
    return rig


def step(rig: Rig, now: float = 0.0) -> int:
    return step_once(rig.settings, rig.tool, rig.hand, rig.packet, now, rig.grips, rig.out)


def play(rig: Rig, hands: Array) -> tuple[Array, Array]:
    """States and OUT_… along samples of the hand; shorter if the tool got lost."""
    rows = np.zeros((len(hands), NTOOL + NOUT))
    made = step_along(rig.settings, rig.tool, hands, rig.packet, rig.grips, rig.out, rows)
    return rows[:made, :NTOOL], rows[:made, NTOOL:]
