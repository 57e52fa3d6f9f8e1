"""Made-up rows of a servo, whose every number is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangere.haptics.layout import (
    NROW,
    NSET,
    ROW_COUPLING,
    ROW_DEPTH,
    ROW_DEVICE,
    ROW_HAND,
    ROW_SENT,
    ROW_STORED,
    ROW_TIME,
    ROW_TOOL,
    ROW_USER,
    SET_GRIP,
    SET_GRIP_QUATERNION,
    SET_MAX_FORCE,
)
from tangere.maths.vec import Array
from tangere.trace.columns import named_settings
from tangere.trace.trace import Trace

RATE = 1000.0


def still_rows(ticks: int, rate: float = RATE) -> Array:
    """Nothing moves: unit quaternions, times, zeros."""
    rows = np.zeros((ticks, NROW))
    rows[:, ROW_TIME] = np.arange(ticks) / rate
    for motion in (ROW_DEVICE, ROW_HAND, ROW_TOOL):
        rows[:, motion + 3] = 1.0
    return rows


def numbered_rows(first: int, count: int, tools: int = 1) -> Array:
    """Row k holds k, k + 1/width …: a torn, lost or doubled row shows.

    Numbers of the user's own are zero: without names they are in no column.
    """
    width = NROW * tools
    rows = (first + np.arange(count))[:, None] + np.arange(width) / width
    rows[:, np.arange(width) % NROW >= ROW_USER] = 0.0
    return rows


def spring_rows(ticks: int, k: float = 100.0, amplitude: float = 0.01, f: float = 2.0) -> Array:
    """A hand that swings along x and holds, by a spring, a tool that stands still."""
    rows = still_rows(ticks)
    x = amplitude * np.sin(2.0 * np.pi * f * rows[:, ROW_TIME])
    rows[:, ROW_HAND] = rows[:, ROW_DEVICE] = x
    rows[:, ROW_COUPLING] = k * x
    rows[:, ROW_SENT] = -k * x
    rows[:, ROW_STORED] = 0.5 * k * x * x
    rows[:, ROW_DEPTH] = -1e-3
    return rows


def settings(grip: tuple[float, ...] = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """Settings of one tool that is held at `grip`."""
    values = np.zeros(NSET)
    values[SET_GRIP : SET_GRIP + 3] = grip
    values[SET_GRIP_QUATERNION] = 1.0
    values[SET_MAX_FORCE] = np.inf
    return named_settings(values)


def meta(**more: Any) -> dict[str, Any]:
    """What a session says of itself."""
    return {
        "scene": "gravity = [0.0, 0.0, -9.81]\n# ε\n",
        "method": "volume",
        "integrator": "implicit",
        "coupling": "virtual",
        "device": "scripted",
        "rate": RATE,
        "seed": 7,
        "settings": {"tool": settings()},
        "start": "2026-01-01T00:00:00+00:00",
        **more,
    }


def spring_trace(ticks: int = 1000) -> Trace:
    return Trace(spring_rows(ticks), meta())
