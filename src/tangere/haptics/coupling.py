"""How the hand holds the tool: a spring and damper that never pull too hard, or a rigid grip.

Virtual coupling, [OTADUY2005] (12) corrected. With the grip at c and q_c in the tool's frame,

    ξ = x_h − x − Rc,   e = q_h q_c* q*,   u = 2 Log e
    F_c = F(|ξ|) ξ/|ξ| + b_c (v_h − v − ω × Rc)        T_θ = T(|u|) u/|u| + b_θ (ω_h − ω)

act on the tool at the grip; the hand feels −F_c and −T_θ there. The moment of F_c about the centre
of mass is no business of the hand: with it the coupling would not be passive.

The springs are linear up to a share λ of their limit, then bend over in a cubic and stay constant
(`saturated`), so that the tool's side stays smooth when the device cannot give more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple

from tangere._jit import kernel
from tangere._ptr import PtrF8, off
from tangere.errors import SceneError
from tangere.haptics.element import Linear, Motion, add_point, arm_of, speed_at
from tangere.haptics.layout import (
    COUPLING_DIRECT,
    COUPLING_VIRTUAL,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    SET_DAMPING,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_GROUNDED,
    SET_MAX_FORCE,
    SET_MAX_TORQUE,
    SET_MODE,
    SET_ONSET,
    SET_SCALE,
    SET_STIFFNESS,
    SET_TURN_DAMPING,
    SET_TURN_STIFFNESS,
)
from tangere.maths.quat import Quat, conjugate, product, to_vector
from tangere.maths.vec import Array, Vec3, dot

# A spring that is told no greatest torque gives that of this turn [rad]: well short of the half
# turn at which its direction becomes a matter of chance.
WIDEST_TURN = 1.0
# The long way round is kept up to this much beyond a half turn: sin 5° in w, that is 190°.
LONG_WAY = 0.08715574274765817
# Below this square of an angle [rad²] the series of the inverse Jacobian is exact to rounding.
SMALL_ANGLE = 1e-2


@dataclass(frozen=True, kw_only=True)
class VirtualCoupling:
    """A spring and damper between hand and tool.

    Attributes:
        stiffness: Of the spring between grip and hand [N/m].
        damping: [N s/m].
        rotational_stiffness: [N m/rad].
        rotational_damping: [N m s/rad].
        max_force: Where the spring's force stays constant, as the hand feels it [N].
        max_torque: The same for its torque [N m]; None: that of a turn by 1 rad.
        onset: Share of the greatest force up to which the springs are linear.
        damping_against: "hand": dampers act on the motion between hand and tool. "world": they
            brake the tool alone; a noisy velocity of the hand is then not felt, but the tool drags.
        scale: Metres in the scene per metre of the hand. Force is felt times 1/scale, torque times
            1/scale², so that every axis has the same factor of power.
    """

    stiffness: float = 200.0
    damping: float = 1.0
    rotational_stiffness: float = 0.6
    rotational_damping: float = 0.009
    max_force: float = math.inf
    max_torque: float | None = None
    onset: float = 0.8
    damping_against: Literal["hand", "world"] = "hand"
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "rotational_stiffness"):
            _check(name, getattr(self, name), 0.0 < getattr(self, name) < math.inf, "positive")
        for name in ("damping", "rotational_damping"):
            _check(name, getattr(self, name), 0.0 <= getattr(self, name) < math.inf, "0 or more")
        _check("max_force", self.max_force, self.max_force > 0.0, "positive")
        if self.max_torque is not None:
            _check("max_torque", self.max_torque, self.max_torque > 0.0, "positive")
        _check("onset", self.onset, 0.0 < self.onset < 1.0, "between 0 and 1")
        if self.damping_against not in ("hand", "world"):
            raise SceneError(
                f"coupling: damping_against is {self.damping_against!r}: write 'hand' or 'world'"
            )
        _check_scale(self.scale)

    def apply(self, settings: Array) -> None:
        """Write this coupling into the settings of a rig, SET_…."""
        torque = self.max_torque
        if torque is None:
            torque = self.rotational_stiffness * WIDEST_TURN / self.scale**2
        settings[SET_MODE] = COUPLING_VIRTUAL
        settings[SET_STIFFNESS] = self.stiffness
        settings[SET_DAMPING] = self.damping
        settings[SET_TURN_STIFFNESS] = self.rotational_stiffness
        settings[SET_TURN_DAMPING] = self.rotational_damping
        settings[SET_MAX_FORCE] = self.scale * self.max_force
        settings[SET_MAX_TORQUE] = self.scale**2 * torque
        settings[SET_ONSET] = self.onset
        settings[SET_GROUNDED] = float(self.damping_against == "world")
        settings[SET_SCALE] = self.scale


@dataclass(frozen=True, kw_only=True)
class DirectCoupling:
    """The tool is where the hand is, and the hand feels what touches it, [HASEGAWA2004].

    Attributes:
        scale: Metres in the scene per metre of the hand; force goes out times 1/scale.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    def apply(self, settings: Array) -> None:
        """Write this coupling into the settings of a rig, SET_…."""
        settings[SET_MODE] = COUPLING_DIRECT
        settings[SET_SCALE] = self.scale


def _check_scale(scale: float) -> None:
    _check("scale", scale, 0.0 < scale < math.inf, "positive")


def _check(name: str, value: float, good: bool, wanted: str) -> None:
    if not good:
        raise SceneError(f"coupling: {name} is {value!r}: it must be {wanted}")


# ------------------------------------------------ kernels
class Hold(NamedTuple):
    """What the coupling does at one state."""

    f: Vec3  # F_c on the tool [N]
    t: Vec3  # T_θ [N m]
    arm: Vec3  # Rc [m]
    xi: Vec3  # ξ [m]
    u: Vec3  # [rad]
    spring: Vec3  # of ξ: share, bend, energy, see `stretched`
    twist: Vec3  # of u
    curl: float  # coefficient of u* u* in J_r⁻¹(u)


@kernel
def saturated(k: float, most: float, onset: float, s: float) -> tuple[float, float, float]:
    """Force F(s), slope F′(s) and energy ∫F ds of the spring that bends over.

    F₁ = λ F_max, s₁ = F₁/k, ΔF = F_max − F₁, h = 1.5 ΔF/k, τ = (s − s₁)/h:

        k s  up to s₁,    F₁ + ΔF (3τ − τ³)/2  up to s₁ + h,    F_max  beyond

    k h/ΔF = 1.5 makes the cubic twice continuous at its onset: the slope is k (1 − τ²).
    """
    first = onset * most
    if k * s <= first:
        return k * s, k, 0.5 * k * s * s
    rise = most - first
    s1 = first / k
    h = 1.5 * rise / k
    tau = min((s - s1) / h, 1.0)
    tau2 = tau * tau
    force = first + 0.5 * rise * tau * (3.0 - tau2)
    energy = 0.5 * first * s1 + h * (first * tau + rise * tau2 * (0.75 - 0.125 * tau2))
    return force, k * (1.0 - tau2), energy + most * max(s - s1 - h, 0.0)


@kernel
def stretched(k: float, most: float, onset: float, d: Vec3) -> Vec3:
    """Share a, bend β and energy of a vector spring: force a d, tangent a I + β d dᵀ.

    a = F(s)/s and β = (F′ − a)/s², so that the tangent is F′ along d and F/s across it: symmetric,
    and positive semidefinite because F never falls.
    """
    s2 = dot(d, d)
    if k * k * s2 <= onset * onset * most * most:
        return (k, 0.0, 0.5 * k * s2)
    s = sqrt(s2)
    force, slope, energy = saturated(k, most, onset, s)
    return (force / s, (slope - force / s) / s2, energy)


@kernel
def turn_between(settings: PtrF8, q: Quat, hand: PtrF8, u_last: Vec3) -> tuple[Vec3, float]:
    """U = 2 Log(q_h q_c* q*) and the coefficient of u* u* in J_r⁻¹(u).

    The short way round; but when it was the other way in the last step, that one up to 190°. The
    signs of the quaternions do not matter. J_r⁻¹ = I + u*/2 + (1 − θ/2 cot θ/2)/θ² u* u*.
    """
    i = HAND_QUATERNION
    q_h = (hand[i], hand[i + 1], hand[i + 2], hand[i + 3])
    i = SET_GRIP_QUATERNION
    q_c = (settings[i], settings[i + 1], settings[i + 2], settings[i + 3])
    e = product(product(q_h, conjugate(q_c)), conjugate(q))
    if e[0] < 0.0:
        e = (-e[0], -e[1], -e[2], -e[3])
    if e[0] < LONG_WAY and dot((e[1], e[2], e[3]), u_last) < 0.0:
        e = (-e[0], -e[1], -e[2], -e[3])
    u = to_vector(e)
    angle2 = dot(u, u)
    if angle2 < SMALL_ANGLE:
        return u, 1.0 / 12.0 + angle2 * (1.0 / 720.0 + angle2 / 30240.0)
    cot = e[0] / sqrt(e[1] * e[1] + e[2] * e[2] + e[3] * e[3])
    return u, (1.0 - 0.5 * sqrt(angle2) * cot) / angle2


@kernel
def hold(settings: PtrF8, m: Motion, hand: PtrF8, u_last: Vec3) -> Hold:
    """Force and torque of the coupling on the tool at the grip, (12) corrected."""
    arm = arm_of(m, off(settings, SET_GRIP))
    i = HAND_POSITION
    xi = (
        hand[i] - m.x[0] - arm[0],
        hand[i + 1] - m.x[1] - arm[1],
        hand[i + 2] - m.x[2] - arm[2],
    )
    u, curl = turn_between(settings, m.q, hand, u_last)
    onset = settings[SET_ONSET]
    spring = stretched(settings[SET_STIFFNESS], settings[SET_MAX_FORCE], onset, xi)
    twist = stretched(settings[SET_TURN_STIFFNESS], settings[SET_MAX_TORQUE], onset, u)
    v = speed_at(m, arm)
    against = 1.0 - settings[SET_GROUNDED]
    b, b_t = settings[SET_DAMPING], settings[SET_TURN_DAMPING]
    i = HAND_VELOCITY
    f = (
        spring[0] * xi[0] + b * (against * hand[i] - v[0]),
        spring[0] * xi[1] + b * (against * hand[i + 1] - v[1]),
        spring[0] * xi[2] + b * (against * hand[i + 2] - v[2]),
    )
    i = HAND_OMEGA
    t = (
        twist[0] * u[0] + b_t * (against * hand[i] - m.w[0]),
        twist[0] * u[1] + b_t * (against * hand[i + 1] - m.w[1]),
        twist[0] * u[2] + b_t * (against * hand[i + 2] - m.w[2]),
    )
    return Hold(f, t, arm, xi, u, spring, twist, curl)


@kernel
def add_hold(settings: PtrF8, m: Motion, h: Hold, a: Linear) -> None:
    """The coupling's wrench at the centre of mass to first order, added.

    The grip is a point with C = K_t and D = b_c I. The turn adds T_θ, B_ω = b_θ I and
    K_φ = K_θ J_r⁻¹(u) = a (I + u*/2 + γ u* u*) + β u uᵀ, as uᵀ J_r⁻¹ = uᵀ and u* u* = u uᵀ − θ² I.
    """
    share, bend, _ = h.spring
    xi, u = h.xi, h.u
    c = (
        share + bend * xi[0] * xi[0],
        share + bend * xi[1] * xi[1],
        share + bend * xi[2] * xi[2],
        bend * xi[1] * xi[2],
        bend * xi[2] * xi[0],
        bend * xi[0] * xi[1],
    )
    b = settings[SET_DAMPING]
    add_point(a, h.arm, m.w, h.f, c, (b, b, b, 0.0, 0.0, 0.0))
    share, bend, _ = h.twist
    straight = share * (1.0 - h.curl * dot(u, u))
    outer = share * h.curl + bend
    half = (0.5 * share * u[0], 0.5 * share * u[1], 0.5 * share * u[2])
    for i in range(3):
        a.w[3 + i] += h.t[i]
        a.b[6 * (3 + i) + 3 + i] += settings[SET_TURN_DAMPING]
        a.k[6 * (3 + i) + 3 + i] += straight
        for j in range(3):
            a.k[6 * (3 + i) + 3 + j] += outer * u[i] * u[j]
    a.k[22] -= half[2]
    a.k[23] += half[1]
    a.k[27] += half[2]
    a.k[29] -= half[0]
    a.k[33] -= half[1]
    a.k[34] += half[0]
