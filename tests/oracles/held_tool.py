"""The tool between hand and planes in plain complex arithmetic: rates, complex steps, elimination.

A number with an imaginary part of 1e-30 carries a derivative to the last digit, if every function
on the way is analytic. So no absolute values here, and every branch is chosen by real parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.contact_planes import (
    NPLANE,
)
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    PACKET_COUNT,
    PACKET_DAMPING,
    PACKET_PLANES,
    PACKET_STATE,
    PACKET_STIFFNESS,
    PACKET_TIME,
    PACKET_WRENCH,
    SET_CONTACT,
    SET_DAMPING,
    SET_GRAVITY,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_GROUNDED,
    SET_INERTIA,
    SET_MASS,
    SET_MAX_FORCE,
    SET_MAX_TORQUE,
    SET_ONSET,
    SET_STIFFNESS,
    SET_TURN_DAMPING,
    SET_TURN_STIFFNESS,
)

Array = NDArray[np.float64]
Any1 = NDArray[Any]  # real or complex

TINY = 1e-30


def skew(u: Any1) -> Any1:
    z = 0 * u[0]
    return np.array([[z, -u[2], u[1]], [u[2], z, -u[0]], [-u[1], u[0], z]])


def product(a: Any1, b: Any1) -> Any1:
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate(([w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])))


def conjugate(q: Any1) -> Any1:
    return np.concatenate((q[:1], -q[1:]))


def matrix(q: Any1) -> Any1:
    """Rotation matrix of q/|q|."""
    w, u = q[0], q[1:]
    plain = (w * w - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * skew(u)
    return np.asarray(plain / (q @ q))


def exponential(phi: Array) -> Array:
    angle = float(np.linalg.norm(phi))
    return np.array([np.cos(0.5 * angle), *(0.5 * np.sinc(0.5 * angle / np.pi) * phi)])


def logarithm(e: Any1, long_way: bool = False) -> Any1:
    """2 Log of a quaternion of any scale: the short way round, or the other."""
    if (e[0].real < 0) != long_way:
        e = -e
    w, v = e[0], e[1:]
    s2 = v @ v
    if abs(s2) < 1e-12 * abs(w * w):
        return np.asarray((2 / w - 2 * s2 / (3 * w**3) + 2 * s2 * s2 / (5 * w**5)) * v)
    s = np.sqrt(s2)
    return np.asarray(4 * np.arctan(s / (w + np.sqrt(w * w + s2))) / s * v)


def spring(d: Any1, k: float, most: float, onset: float) -> Any1:
    """Vector spring: linear, then the Hermite cubic with h = 1.5 ΔF/k, then constant."""
    s2 = d @ d
    if k * k * s2.real <= (onset * most) ** 2:
        return k * d
    s = np.sqrt(s2)
    first = onset * most
    rise = most - first
    h = 1.5 * rise / k
    tau = (s - first / k) / h
    if tau.real >= 1:
        return np.asarray(most * d / s)
    kh = k * h
    value = first + kh * tau + (3 * rise - 2 * kh) * tau**2 + (kh - 2 * rise) * tau**3
    return np.asarray(value * d / s)


def twist(settings: Array, y: Any1) -> tuple[Any1, Any1, Any1]:
    """R, v, ω of a state."""
    r = matrix(y[3:7])
    inertia = settings[SET_INERTIA : SET_INERTIA + 3]
    return r, y[7:10] / settings[SET_MASS], r @ ((r.T @ y[10:13]) / inertia)


def coupling(settings: Array, y: Any1, hand: Array) -> tuple[Any1, Any1, Any1]:
    """F_c, T_θ and Rc."""
    s = settings
    r, v, w = twist(s, y)
    arm = r @ s[SET_GRIP : SET_GRIP + 3]
    against = 1.0 - s[SET_GROUNDED]
    q_c = s[SET_GRIP_QUATERNION : SET_GRIP_QUATERNION + 4]
    u = logarithm(product(product(hand[3:7], conjugate(q_c)), conjugate(y[3:7])))
    f = spring(hand[:3] - y[:3] - arm, s[SET_STIFFNESS], s[SET_MAX_FORCE], s[SET_ONSET])
    t = spring(u, s[SET_TURN_STIFFNESS], s[SET_MAX_TORQUE], s[SET_ONSET])
    f = f + s[SET_DAMPING] * (against * hand[7:10] - v - np.cross(w, arm))
    return f, t + s[SET_TURN_DAMPING] * (against * hand[10:13] - w), arm


def planes_wrench(
    settings: Array, y: Any1, packet: Array, now: float, held: dict[int, Any] | None = None
) -> Any1:
    """Sum over the planes that press; `held` gives by plane a friction force law of the point."""
    r, v, w = twist(settings, y)
    total: Any1 = np.zeros(6, dtype=y.dtype)
    for i in range(int(packet[PACKET_COUNT])):
        plane = packet[PACKET_PLANES + NPLANE * i :][:NPLANE]
        point, p0, n, u = plane[0:3], plane[3:6], plane[6:9], plane[12:15]
        k, b, d = plane[9:12]
        arm = r @ point
        place = y[:3] + arm
        gap = n @ (place - p0 - u * (now - packet[PACKET_TIME])) + d
        s = k * gap + b * (n @ (v + np.cross(w, arm) - u))
        if not (gap.real > 0 and s.real > 0):
            continue
        f = -s * n
        if held and i in held:
            f = f + held[i](place)
        total[:3] += f
        total[3:] += np.cross(arm, f)
    return total


def packet_wrench(settings: Array, y: Any1, packet: Array) -> Any1:
    """W_k − S (Δx, φ) − D (Δv, Δω), φ = 4 Qᵀ (q − q_k) with the signs aligned."""
    w0 = packet[PACKET_WRENCH : PACKET_WRENCH + 6]
    if settings[SET_CONTACT] == CONTACT_HELD:
        return np.asarray(w0 + 0 * y[0])
    stiffness = packet[PACKET_STIFFNESS : PACKET_STIFFNESS + 36].reshape(6, 6)
    damping = packet[PACKET_DAMPING : PACKET_DAMPING + 36].reshape(6, 6)
    then = packet[PACKET_STATE : PACKET_STATE + 13]
    q, q_k = y[3:7] / np.sqrt(y[3:7] @ y[3:7]), then[3:7]
    if (q @ q_k).real < 0:
        q = -q
    four_qt = 2 * np.hstack((-q_k[1:, None], q_k[0] * np.eye(3) + skew(q_k[1:])))
    _, v, w = twist(settings, y)
    _, v_k, w_k = twist(settings, then)
    change = np.concatenate((y[:3] - then[:3], four_qt @ (q - q_k)))
    return np.asarray(w0 - stiffness @ change - damping @ np.concatenate((v - v_k, w - w_k)))


def rate(
    settings: Array,
    y: Any1,
    hand: Array,
    packet: Array,
    now: float = 0.0,
    held: dict[int, Any] | None = None,
) -> Any1:
    """ẏ = (v, ½ ω_q q, F, T)."""
    _, v, w = twist(settings, y)
    f, t, arm = coupling(settings, y, hand)
    total = np.concatenate((f, np.cross(arm, f) + t))
    total[:3] += settings[SET_MASS] * settings[SET_GRAVITY : SET_GRAVITY + 3]
    if settings[SET_CONTACT] in (CONTACT_LINEAR, CONTACT_HELD):
        total = total + packet_wrench(settings, y, packet)
    else:
        total = total + planes_wrench(settings, y, packet, now, held)
    turning = product(np.concatenate((0 * w[:1], 0.5 * w)), y[3:7])
    return np.concatenate((v, turning, total))


def complex_step(function: Callable[[Any1], Any1], y: Array) -> Array:
    """Derivative of an analytic function, one column per component of y."""
    columns = []
    for i in range(len(y)):
        z = y.astype(complex)
        z[i] += 1j * TINY
        columns.append(np.asarray(function(z)).imag / TINY)
    return np.stack(columns, axis=-1)


def step13(y: Array, f: Array, jac: Array, dt: float) -> Array:
    """One linearly implicit step of the 13 states."""
    new = y + np.linalg.solve(np.eye(13) - dt * jac, dt * f)
    new[3:7] /= np.linalg.norm(new[3:7])
    return np.asarray(new)


def step_schur(y: Array, f: Array, jac: Array, dt: float) -> Array:
    """The same with position and quaternion eliminated: a 4 x 4 inverse and a 6 x 6 solve."""
    inner = np.linalg.inv(np.eye(4) - dt * jac[3:7, 3:7])
    down = np.zeros((7, 6))
    down[:3, :3] = dt * jac[:3, 7:10]
    down[3:, 3:] = dt * inner @ jac[3:7, 10:13]
    start = np.concatenate((dt * f[:3], dt * inner @ f[3:7]))
    by_pose, by_momentum = jac[7:, :7], jac[7:, 7:]
    lhs = np.eye(6) - dt * by_momentum - dt * by_pose @ down
    change = np.linalg.solve(lhs, dt * (f[7:] + by_pose @ start))
    new = y + np.concatenate((start + down @ change, change))
    new[3:7] /= np.linalg.norm(new[3:7])
    return np.asarray(new)
