"""Vectors and quaternions in and out of the flat arrays of a rig."""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.maths.quat import Quat
from tangere.maths.vec import Vec3


@kernel
def vec_at(p: PtrF8, i: int) -> Vec3:
    """Three floats from i on."""
    return (p[i], p[i + 1], p[i + 2])


@kernel
def quat_at(p: PtrF8, i: int) -> Quat:
    """Four floats from i on."""
    return (p[i], p[i + 1], p[i + 2], p[i + 3])


@kernel
def put_vec(p: PtrF8, i: int, v: Vec3) -> None:
    """Store three floats from i on."""
    for k in range(3):
        p[i + k] = v[k]


@kernel
def put_quat(p: PtrF8, i: int, q: Quat) -> None:
    """Store four floats from i on."""
    for k in range(4):
        p[i + k] = q[k]
