"""Limits at the device, what counts as a fault, and how stiff a device may be told to be.

*Cap.* A spring shown with a lead over a delay τ gives no energy up to

    k ≤ m max(0.04/τ², 12 s⁻¹/τ),    τ = (d + ½) T ≥ 1 ms

with m the apparent mass of the device and of the least hand that holds it: below what was found by
bisection for arms and devices of many kinds (see the decision on haptic sessions). Contacts that
are renewed less often than the servo ticks count as a tenth of their period's delay more: with
planes of 20 ms a coupling of 6 kN/m gives 1.9 mJ, one of 1 kN/m nothing. The device's own
limit of stiffness, where it has one, holds as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from tangere.errors import SceneError
from tangere.haptics.layout import (
    SET_DEVICE_FORCE,
    SET_DEVICE_JUMP,
    SET_DEVICE_POWER,
    SET_DEVICE_SPEED,
    SET_DEVICE_TORQUE,
    SET_FASTEST,
    SET_FRESH,
    SET_GRIPPER_FORCE,
    SET_HELD_DAMPING,
    SET_LEAD,
    SET_LOST,
    SET_NET,
    SET_RAMP,
    SET_SAMPLES,
    SET_SILENCE,
    SET_SLEW,
    SET_SLOW,
    SET_STALE,
    SET_TURN_SLEW,
)
from tangere.maths.vec import Array

HAND_MASS = 0.05  # [kg] of loose fingers, the least that holds a device
HAND_INERTIA = 5e-5  # [kg m²]
CAP_SQUARE, CAP_LINEAR = 0.04, 12.0  # k τ²/m, and k τ/m [1/s]
SHORTEST = 1e-3  # [s] a delay below this counts as this
CONTACT_SHARE = 0.1  # of the contact period that counts as delay
# A tool faster than this, or further from its hand than the coupling can pull, is lost.
FASTEST = 20.0  # [m/s]
LEASH = 0.05  # [m] at least
LEASH_FORCES = 3.0  # … or so many times the stretch of the largest force
HELD_DAMPING = 1.5  # of stiffness times age: with 1.0 a limit cycle of centimetres remains


@dataclass(frozen=True, kw_only=True)
class Safety:
    """Limits at the device, and what counts as a fault.

    Args:
        force: Limit of the force sent [N].
        torque: Limit of the torque sent [N m]; 0 for a device without.
        gripper_force: Limit of the force on the gripper [N]; 0 for a device without.
        power: Limit of the power given to the hand [W].
        slew: Most change of the force sent [N/s].
        torque_slew: Most change of the torque sent [N m/s].
        speed: A hand faster than this is a fault [m/s].
        jump: A step between two samples beyond this is a fault [m].
        ramp: Time from zero to full force after a start or a fault [s].
        fresh: Contact packets older than this let the force decay [s].
        stale: … and older than this are a fault [s]; inf without a contact loop. Both are longer
            for a contact loop that is slow, but even.
        silence: A device without a new sample for so long is a fault [s].
        slow: A driver that takes longer than this to answer: nothing old is sent [s].
        lost: A fault of the device that lasts longer than this: it is lost [s].
        samples: Good samples in a row before there is force.
        lead: Whether the coupling is given the hand of the moment when its force arrives.
        cap: Whether the displayed stiffness is held to what the device can show without shaking.
        net: Whether an overdrawn ledger of energy softens the force; it is kept in any case.
    """

    force: float = 5.0
    torque: float = 0.2
    gripper_force: float = 0.0
    power: float = 20.0
    slew: float = 2000.0
    torque_slew: float = 80.0
    speed: float = 2.0
    jump: float = 0.05
    ramp: float = 0.5
    fresh: float = 0.02
    stale: float = 0.05
    silence: float = 0.05
    slow: float = 0.01
    lost: float = 2.0
    samples: int = 10
    lead: bool = True
    cap: bool = True
    net: bool = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0.0:
                raise SceneError(f"safety: {name} is {value}: give a number of at least 0")
        for name in ("force", "torque", "gripper_force"):
            if not isfinite(vars(self)[name]):
                raise SceneError(f"safety: {name} is {vars(self)[name]}: give the device's limit")
        if self.fresh > self.stale:
            raise SceneError(
                f"safety: fresh is {self.fresh:g} s and stale {self.stale:g} s: "
                "packets age from fresh to stale"
            )

    def apply(self, settings: Array) -> None:
        """Write the limits into the settings of a rig, SET_…."""
        for column, value in (
            (SET_DEVICE_FORCE, self.force),
            (SET_DEVICE_TORQUE, self.torque),
            (SET_GRIPPER_FORCE, self.gripper_force),
            (SET_DEVICE_POWER, self.power),
            (SET_SLEW, self.slew),
            (SET_TURN_SLEW, self.torque_slew),
            (SET_DEVICE_SPEED, self.speed),
            (SET_DEVICE_JUMP, self.jump),
            (SET_RAMP, self.ramp),
            (SET_FRESH, self.fresh),
            (SET_STALE, self.stale),
            (SET_SILENCE, self.silence),
            (SET_SLOW, self.slow),
            (SET_LOST, self.lost),
            (SET_SAMPLES, float(self.samples)),
            (SET_LEAD, float(self.lead)),
            (SET_NET, float(self.net)),
            (SET_FASTEST, FASTEST),
            (SET_HELD_DAMPING, HELD_DAMPING),
        ):
            settings[column] = value


def unlimited(settings: Array) -> None:
    """No ramp, no decay, no faults of time or motion, no lead, no net: for experiments on paper."""
    Safety(
        force=1e6,
        torque=1e6,
        gripper_force=1e6,
        power=inf,
        slew=inf,
        torque_slew=inf,
        speed=inf,
        jump=inf,
        ramp=0.0,
        fresh=inf,
        stale=inf,
        silence=inf,
        slow=inf,
        lost=inf,
        samples=0,
        lead=False,
        cap=False,
        net=False,
    ).apply(settings)
    settings[SET_FASTEST], settings[SET_HELD_DAMPING] = inf, 0.0


def stiffest(mass: float, delay: float, step: float, period: float = 0.0) -> float:
    """Largest stiffness that a device of an apparent mass displays a delay late [N/m].

    The same with an inertia [kg m²] for rotation [N m/rad].

    Args:
        mass: Of device and hand [kg].
        delay: From a command to the motors [s].
        step: Of the servo [s].
        period: Of the contact loop [s].
    """
    late = delay + CONTACT_SHARE * max(0.0, period - step)
    tau = max(late + 0.5 * step, SHORTEST)
    return mass * max(CAP_SQUARE / tau**2, CAP_LINEAR / tau)


def leash(stiffness: float, max_force: float) -> float:
    """How far a tool may be from its hand [m], by stiffness and largest force of its coupling."""
    return max(LEASH_FORCES * max_force / stiffness, LEASH)
