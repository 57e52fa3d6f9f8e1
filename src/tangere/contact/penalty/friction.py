"""Friction of the planes of a tool: a spring along each, bounded by the plane's force.

[OTADUY2005] does without. The friction h_j of a plane follows the way ζ that the tool's point has
gone over the surface since the last update, and is bounded by what the plane presses with:

    h_j ← (I − n nᵀ)(h_j − k_t ζ),    |h_j| ≤ μ s_j,    k_t = k_j

Planes are representatives that come and go: a new one has no friction yet, and that of one that is
gone is handed to those that are left on the same body, in proportion to their force. So the
friction of a body is continuous while its planes change. A plane that slips is bounded by kinetic
friction, one that holds by static friction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, local_f8, off, ptr
from tangere.collision.contact_query import NPOSE
from tangere.contact.penalty.clusters import Response
from tangere.contact.penalty.contacts import CLUSTER_BODY, CLUSTER_FORCE, NCLUSTER
from tangere.contact_planes import (
    MAX_PLANES,
    PLANE_ANCHOR,
    PLANE_FRICTION,
    PLANE_HOLD,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_SHEAR,
    PLANE_STIFFNESS,
)
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, Vec3, add, axpy, cross, dot, norm, scale, sub

# Columns of what is remembered of a plane
MEMORY_NAME = 0  # 0: none
MEMORY_BODY = 1
MEMORY_SLIPS = 2  # 1: it was at its limit
MEMORY_HOLD = 3  # 3: friction on the tool [N]
NMEMORY = 6


class Friction(NamedTuple):
    """Coefficients, and what is remembered between updates.

    | field  | meaning                                                 | shape                 |
    | mu     | static and kinetic coefficient, of bodies, then floors  | (b + f, 2)            |
    | memory | MEMORY_… of the planes of the last update               | (MAX_PLANES, NMEMORY) |
    | poses  | of the last update                                      | (1 + b, NPOSE)        |
    | known  | 1: there was a last update                              | (1,)                  |
    """

    mu: Array
    memory: Array
    poses: Array
    known: Array


def new_friction(mu: Array, bodies: int) -> Friction:
    """Nothing is remembered yet."""
    return Friction(mu, np.zeros((MAX_PLANES, NMEMORY)), np.zeros((1 + bodies, NPOSE)), np.zeros(1))


@kernel
def add_friction(f: Friction, poses: Array, count: int, response: Response) -> None:
    """Give the planes 0…count−1 of an update their friction; wrench and reactions have it, too."""
    bodies = poses.shape[0] - 1
    pose, last = ptr(poses), ptr(f.poses)
    r_tool, r_old, r_body = local_f8(9), local_f8(9), local_f8(9)
    matrix_into((pose[3], pose[4], pose[5], pose[6]), r_tool)
    matrix_into((last[3], last[4], last[5], last[6]), r_old)
    memory, fresh = ptr(f.memory), local_f8(96)  # MAX_PLANES * NMEMORY
    planes = ptr(response.planes)
    for j in range(count):
        plane, row = off(planes, NCLUSTER * j), off(fresh, NMEMORY * j)
        for k in range(NMEMORY):
            row[k] = 0.0
        row[MEMORY_NAME], row[MEMORY_BODY] = plane[PLANE_NAME], plane[CLUSTER_BODY]
        for i in range(MAX_PLANES):
            old = off(memory, NMEMORY * i)
            if f.known[0] == 1.0 and old[MEMORY_NAME] == plane[PLANE_NAME]:
                for k in range(MEMORY_SLIPS, NMEMORY):
                    row[k] = old[k]
                old[MEMORY_NAME] = 0.0
    if f.known[0] == 1.0:
        _hand_over(memory, fresh, planes, count)
    for j in range(count):
        plane, row = off(planes, NCLUSTER * j), off(fresh, NMEMORY * j)
        body = int(plane[CLUSTER_BODY])
        mu = off(ptr(f.mu), 2 * (body if body >= 0 else bodies - 1 - body))
        if mu[0] == 0.0 and mu[1] == 0.0:
            continue
        s, n = plane[CLUSTER_FORCE], _vec(plane, PLANE_NORMAL)
        point = _vec(plane, PLANE_POINT)
        a = turn(r_tool, point)
        way = (0.0, 0.0, 0.0)
        if f.known[0] == 1.0:
            x, was = (pose[0], pose[1], pose[2]), (last[0], last[1], last[2])
            way = sub(add(x, a), add(was, turn(r_old, point)))
            if body >= 0:
                way = sub(
                    way,
                    _way_of(
                        off(pose, NPOSE * (body + 1)),
                        off(last, NPOSE * (body + 1)),
                        _vec(plane, PLANE_ANCHOR),
                        r_body,
                    ),
                )
        hold = axpy(-plane[PLANE_STIFFNESS], way, _vec(row, MEMORY_HOLD))
        hold = axpy(-dot(hold, n), n, hold)
        size = norm(hold)
        limit = s * (mu[1] if row[MEMORY_SLIPS] == 1.0 else mu[0])
        row[MEMORY_SLIPS] = 0.0
        if size > limit:
            hold = scale(s * mu[1] / size, hold)
            row[MEMORY_SLIPS] = 1.0
        plane[PLANE_FRICTION] = mu[1] if row[MEMORY_SLIPS] == 1.0 else mu[0]
        plane[PLANE_SHEAR] = plane[PLANE_STIFFNESS]
        for k in range(3):
            plane[PLANE_HOLD + k] = hold[k]
            row[MEMORY_HOLD + k] = hold[k]
        if s > 0.0:
            _add(pose, body, bodies, a, n, hold, plane, row[MEMORY_SLIPS] == 1.0, response)
    for k in range(MAX_PLANES * NMEMORY):
        memory[k] = fresh[k] if k < NMEMORY * count else 0.0
    for k in range(NPOSE * (bodies + 1)):
        last[k] = pose[k]
    f.known[0] = 1.0


@kernel
def _vec(row: PtrF8, at: int) -> Vec3:
    """Three numbers of a row."""
    return (row[at], row[at + 1], row[at + 2])


@kernel
def _hand_over(memory: PtrF8, fresh: PtrF8, planes: PtrF8, count: int) -> None:
    """Share the friction of planes that are gone among those of their body, by their force."""
    for i in range(MAX_PLANES):
        old = off(memory, NMEMORY * i)
        if old[MEMORY_NAME] == 0.0:
            continue
        total = 0.0
        for j in range(count):
            plane = off(planes, NCLUSTER * j)
            if plane[CLUSTER_BODY] == old[MEMORY_BODY]:
                total += plane[CLUSTER_FORCE]
        if not total > 0.0:
            continue
        for j in range(count):
            plane, row = off(planes, NCLUSTER * j), off(fresh, NMEMORY * j)
            if plane[CLUSTER_BODY] == old[MEMORY_BODY]:
                for k in range(3):
                    row[MEMORY_HOLD + k] += plane[CLUSTER_FORCE] / total * old[MEMORY_HOLD + k]


@kernel
def _way_of(now: PtrF8, then: PtrF8, p: Vec3, r: PtrF8) -> Vec3:
    """What the point of a body that is at p now has gone since then; r: room for nine numbers."""
    matrix_into((now[3], now[4], now[5], now[6]), r)
    local = turn_back(r, sub(p, _vec(now, 0)))
    matrix_into((then[3], then[4], then[5], then[6]), r)
    return sub(p, add(_vec(then, 0), turn(r, local)))


@kernel
def _add(
    pose: PtrF8,
    body: int,
    bodies: int,
    a: Vec3,
    n: Vec3,
    hold: Vec3,
    plane: PtrF8,
    slips: bool,
    response: Response,
) -> None:
    """Add the friction of a plane to wrench, derivatives and reactions."""
    wrench, stiff = ptr(response.wrench), ptr(response.stiffness)
    torque = cross(a, hold)
    point = add(a, _vec(pose, 0))
    if body >= 0:
        point = sub(point, _vec(off(pose, NPOSE * (body + 1)), 0))
    turned = cross(point, hold)
    row = off(ptr(response.reactions), 6 * (body if body >= 0 else bodies - 1 - body))
    for k in range(3):
        wrench[k] += hold[k]
        wrench[3 + k] += torque[k]
        row[k] -= hold[k]
        row[3 + k] -= turned[k]
    if slips:
        return
    h = local_f8(6)
    for axis in range(3):
        # the three world axes, less what lies along n, are the shear directions
        e = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        d = axpy(-n[axis], n, e)
        arm = cross(a, d)
        for k in range(3):
            h[k], h[3 + k] = d[k], arm[k]
        for i in range(6):
            for k in range(6):
                stiff[6 * i + k] += plane[PLANE_SHEAR] * h[i] * h[k]
    # how the friction's torque turns with its arm, as that of the normal force does
    inner = dot(hold, a)
    for i in range(3):
        for k in range(3):
            stiff[6 * (3 + i) + 3 + k] -= a[i] * hold[k] - (inner if i == k else 0.0)
