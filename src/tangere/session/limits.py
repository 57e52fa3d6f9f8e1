"""What a hand may be given: the user's limits, within what its device can do and display."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tangere.devices.device import DeviceInfo
from tangere.haptics.safety import HAND_INERTIA, HAND_MASS, Safety, stiffest


def limits_of(info: DeviceInfo) -> Safety:
    """All that a device can do; one that displays nothing shows what it would get."""
    if info.max_force == 0.0:
        return Safety()
    return Safety(
        force=min(info.max_force, 1e3),
        torque=min(info.max_torque, 1e2),
        gripper_force=min(info.max_gripper_force, 1e2),
    )


def within(safety: Safety, info: DeviceInfo) -> Safety:
    """The user's limits, and no more than a device can do."""
    if info.max_force == 0.0:
        return safety
    return replace(
        safety,
        force=min(safety.force, info.max_force),
        torque=min(safety.torque, info.max_torque),
        gripper_force=min(safety.gripper_force, info.max_gripper_force),
    )


def displayable(
    info: DeviceInfo, delay: float, step: float, period: float, *, capped: bool
) -> tuple[float, float, str]:
    """Most stiffness that a device displays [N/m, N m/rad], and why, in words.

    Args:
        info: What the device says of itself.
        delay: From a command to its motors [s].
        step: Of the servo [s].
        period: Of the contact loop [s].
        capped: Whether delay is a reason.
    """
    if not info.max_force > 0.0:
        return inf, inf, ""
    times = (delay, step, period)
    most = stiffest(info.mass + HAND_MASS, *times) if capped else inf
    turning = stiffest(info.inertia + HAND_INERTIA, *times) if capped else inf
    why = f"{info.name} is {1e3 * delay:g} ms late" if delay > 0.0 else f"limit of {info.name}"
    if 0.0 < info.stiffness < most:
        most, why = info.stiffness, f"limit of {info.name}"
    if info.rotational_stiffness > 0.0:
        turning = min(turning, info.rotational_stiffness)
    return most, turning if info.max_torque > 0.0 else inf, why
