"""Friction torque about the normal of a spinning body, from how it loses its spin."""

from __future__ import annotations

import math

import numpy as np

from tangere.maths.vec import Array

WINDOW = (0.9, 0.2)  # shares of the first spin between which the torque is measured


def friction_torque(time: Array, spin: Array, inertia: float) -> float:
    """Torque by the loss of spin [rad/s] within `WINDOW` [N m]; NaN if it has too few samples."""
    first = float(spin[0])
    inside = (spin <= WINDOW[0] * first) & (spin >= WINDOW[1] * first)
    if np.count_nonzero(inside) < 3:
        return math.nan
    return -inertia * float(np.polyfit(time[inside], spin[inside], 1)[0])
