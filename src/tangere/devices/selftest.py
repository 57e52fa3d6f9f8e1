"""A safe look at a device: is it there, how fast does it speak, where is the hand. No force."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tangere.devices.device import Device, DeviceInfo
from tangere.haptics.layout import (
    NREAD,
    READ_BUTTONS,
    READ_POSITION,
    READ_QUATERNION,
    READ_SEQUENCE,
    READ_STATUS,
)
from tangere.maths.vec import Array

PAUSE = 5e-4  # between two readings: half a period of a 1 kHz device [s]


@dataclass(frozen=True)
class SelfTest:
    """What was seen of a device; all it was sent is zero force."""

    info: DeviceInfo
    seconds: float
    rate: float  # new samples per second [Hz]
    low: Array  # of the positions [m]
    high: Array
    turned: float  # largest turn from the first orientation [rad]
    buttons: int  # bits seen
    fault: str  # in words; empty: none

    @property
    def passed(self) -> bool:
        """Whether samples came and nothing failed."""
        return self.rate > 0.0 and not self.fault


def self_test(
    device: Device, seconds: float = 1.0, tell: Callable[[float], None] = lambda _: None
) -> SelfTest:
    """Open a device, read it for a while and send nothing but zero force.

    Args:
        device: Not open yet; it is closed again whatever happens.
        seconds: How long to look.
        tell: Called with the share that is done.

    Raises:
        DeviceError: It cannot be opened.
    """
    out = np.zeros(NREAD)
    zero = np.zeros(6)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    first: Array | None = None
    turned, buttons, status = 0.0, 0, 0
    device.open()
    try:
        device.read(out)
        begin, count = time.monotonic(), out[READ_SEQUENCE]
        spent = 0.0
        while spent < seconds:
            device.read(out)
            device.write(zero)
            if out[READ_SEQUENCE] > 0:
                x = out[READ_POSITION : READ_POSITION + 3]
                q = out[READ_QUATERNION : READ_QUATERNION + 4]
                low, high = np.minimum(low, x), np.maximum(high, x)
                first = q.copy() if first is None else first
                turned = max(turned, 2.0 * float(np.arccos(min(1.0, abs(float(q @ first))))))
                buttons |= int(out[READ_BUTTONS])
            status |= int(out[READ_STATUS])
            time.sleep(PAUSE)
            spent = time.monotonic() - begin
            tell(min(1.0, spent / seconds))
        rate = (out[READ_SEQUENCE] - count) / spent
    finally:
        device.close()
    silent = "" if first is not None else f"{device.info.name}: not one sample came"
    unnamed = f"{device.info.name}: status {status}" if status else ""
    return SelfTest(
        device.info, spent, rate, low, high, turned, buttons, device.fault or unnamed or silent
    )
