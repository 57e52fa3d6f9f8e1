"""Waiting for what a device does on a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere.devices.device import Device
from tangere.haptics.layout import NREAD, READ_SEQUENCE

PATIENCE = 10.0  # [s], for a thread on a busy machine


def until(true: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    """Whether it became true, looked at every millisecond."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(1e-3)
    return True


def reading(device: Device) -> NDArray[np.float64]:
    """The newest."""
    out = np.zeros(NREAD)
    device.read(out)
    return out


def next_reading(device: Device, samples: int = 2) -> NDArray[np.float64]:
    """One of after now: some samples on."""
    out = reading(device)
    first = out[READ_SEQUENCE]

    def there() -> bool:
        device.read(out)
        return bool(out[READ_SEQUENCE] >= first + samples)

    assert until(there)
    return out


def pushed_until(
    device: Device, true: Callable[[], Any], wrench: Any = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
) -> bool:
    """Whether it became true while the hand was pushed: to the right with 1 N, or as given."""

    def push() -> bool:
        device.write(np.array(wrench))
        return bool(true())

    return until(push)
