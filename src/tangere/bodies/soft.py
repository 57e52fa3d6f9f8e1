"""Elastic parts of soft bodies: how they answer loads within a step; knows no contact.

A soft body is a rigid frame, moved like any rigid body, and small displacements u of its nodes in
the frame's axes ([DURIEZ2006], section 6; `tangere.fem`). u has three parts:

    vibration   Σ φ q,   q̈ + (α + β ω²) q̇ + ω² q = φᵀ f         modes with inertia
    static      (1 + β d/dt) u = C f                            all other elasticity, at once
    sag         what gravity does to a body that is clamped

By implicit Euler a load f of a step of dt changes the displacement at its end by

    (dt/(dt + β) C + Σ φ φᵀ/(1/dt² + (α + β ω²)/dt + ω²)) f

C and the modes hold no rigid motion: that is the frame's.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI4, off
from tangere.maths.quat import turn_back
from tangere.maths.vec import Array, IntArray, LongArray
from tangere.model import Model, State

if TYPE_CHECKING:
    from tangere.fem.compliance import CondensedBody

# Nodes that a contact point hangs on, at most: the corners of a triangle.
CORNERS = 3


class SoftBodies(NamedTuple):
    """Elasticity of all soft bodies of a scene, in the axes of their frames; constant.

    | field       | meaning                                                        | shape      |
    | counts      | k, how many there are; most modes of one of them               | (2,)       |
    | body        | row of each in the arrays of bodies                            | (k,)       |
    | soft        | of each body and floor: which of these; −1: rigid              | (n+f,)     |
    | first_node  | first node of each, plus the end                               | (k+1,)     |
    | compliance  | C of each body, row by row [m/N]                               | (Σ(3n)²,)  |
    | first_entry | first entry of each body's C                                   | (k,)       |
    | first_mode  | first mode of each, plus the end                               | (k+1,)     |
    | shapes      | φ of each mode at its body's nodes [1/√kg]                     | (Σ3nr,)    |
    | first_shape | first entry of each body's shapes                              | (k,)       |
    | squared     | ω² of each mode [1/s²]                                         | (M,)       |
    | damped      | α + β ω² of each mode [1/s]                                    | (M,)       |
    | viscosity   | β of each body [s]                                             | (k,)       |
    | gravity     | displacement per acceleration of free fall [s²]; free bodies: 0 | (N, 9)    |
    """

    counts: IntArray
    body: IntArray
    soft: IntArray
    first_node: IntArray
    compliance: NDArray[np.float32]
    first_entry: LongArray
    first_mode: IntArray
    shapes: Array
    first_shape: LongArray
    squared: Array
    damped: Array
    viscosity: Array
    gravity: Array


class SoftState(NamedTuple):
    """What changes of the soft bodies; nodes in the axes of their frames.

    | field        | meaning                                                       | shape   |
    | displacement | u of each node, all parts [m]                                 | (N, 3)  |
    | static       | its static part [m]                                           | (N, 3)  |
    | load         | force that the static part answers to [N]                     | (N, 3)  |
    | amplitude    | q of each mode [√kg m]                                        | (M,)    |
    | rate         | its rate                                                      | (M,)    |
    | free         | q at the end of the step without contacts                     | (M,)    |
    | force        | contact force on each node in this step [N]; zero in between  | (N, 3)  |
    | touched      | nodes with such a force                                       | (N,)    |
    | used         | their number                                                  | (1,)    |
    | speed        | fastest node of each body in its frame [m/s]                  | (k,)    |
    | lost         | in the dampers, and by the step itself, in this step [J]      | (2,)    |
    """

    displacement: Array
    static: Array
    load: Array
    amplitude: Array
    rate: Array
    free: Array
    force: Array
    touched: IntArray
    used: IntArray
    speed: Array
    lost: Array


def new_soft_bodies(
    bodies: list[int],
    condensed: list[CondensedBody],
    axes: list[Array],
    damping: list[tuple[float, float]],
    count: int,
) -> SoftBodies:
    """Arrays of the soft bodies of a scene.

    Args:
        bodies: Their rows.
        condensed: Their elasticity, in the axes of their meshes.
        axes: Axes of each body's frame in its mesh, as columns.
        damping: Rayleigh's α [1/s] and β [s] of each.
        count: Of bodies and floors.
    """
    soft = np.full(count, -1, np.int32)
    soft[bodies] = np.arange(len(bodies))
    nodes = [len(each.positions) for each in condensed]
    modes = [len(each.frequencies) for each in condensed]
    entries = [9 * n * n for n in nodes]
    compliance = np.zeros(sum(entries), np.float32)
    first_entry = np.cumsum([0, *entries])[:-1].astype(np.int64)
    shapes, gravity = [], []
    for start, each, turned in zip(first_entry, condensed, axes, strict=True):
        n = len(each.positions)
        whole = compliance[start : start + 9 * n * n].reshape(3 * n, 3 * n)
        for i in range(n):  # a row of blocks at a time: nothing large is made twice
            rows = each.compliance[3 * i : 3 * i + 3].reshape(3, n, 3)
            whole[3 * i : 3 * i + 3] = np.einsum("xa,xny,yb->anb", turned, rows, turned).reshape(
                3, 3 * n
            )
        turned_shapes = each.modes.reshape(-1, n, 3) @ turned
        shapes.append(turned_shapes.ravel())
        # of the whole body: its modes vibrate about where gravity has them
        sag = each.gravity + (each.modes / each.frequencies[:, None] ** 2).T @ each.modal_gravity
        gravity.append(np.einsum("xa,nxy,yb->nab", turned, sag.reshape(n, 3, 3), turned))
    squared = np.concatenate([np.zeros(0), *(each.frequencies**2 for each in condensed)])
    alpha = np.repeat([a for a, _ in damping], modes)
    beta = np.repeat([b for _, b in damping], modes)
    return SoftBodies(
        counts=np.array([len(bodies), max(modes, default=0)], np.int32),
        body=np.array(bodies, np.int32),
        soft=soft,
        first_node=np.cumsum([0, *nodes]).astype(np.int32),
        compliance=compliance,
        first_entry=first_entry,
        first_mode=np.cumsum([0, *modes]).astype(np.int32),
        shapes=np.concatenate([np.zeros(0), *shapes]),
        first_shape=np.cumsum([0, *(len(each) for each in shapes)])[:-1].astype(np.int64),
        squared=squared,
        damped=alpha + beta * squared,
        viscosity=np.array([b for _, b in damping], float),
        gravity=np.concatenate([np.zeros((0, 3, 3)), *gravity]).reshape(-1, 9),
    )


def new_soft_state(soft: SoftBodies, displacement: Array) -> SoftState:
    """Bodies at rest; displacements of their nodes are the first rows of an array of others."""
    nodes, modes = int(soft.first_node[-1]), int(soft.first_mode[-1])
    return SoftState(
        displacement=displacement,
        static=np.zeros((nodes, 3)),
        load=np.zeros((nodes, 3)),
        amplitude=np.zeros(modes),
        rate=np.zeros(modes),
        free=np.zeros(modes),
        force=np.zeros((nodes, 3)),
        touched=np.zeros(nodes, np.int32),
        used=np.zeros(1, np.int32),
        speed=np.zeros(len(soft.body)),
        lost=np.zeros(2),
    )


# ---------------------------------------------------------------- how a body answers


@kernel
def gain(e: SoftBodies, k: int, dt: float) -> float:
    """dt/(dt + β): share of a load that the static part of body k answers to within a step."""
    return float(dt / (dt + e.viscosity[k]))


@kernel
def answer(e: SoftBodies, mode: int, dt: float) -> float:
    """1/(1/dt² + (α + β ω²)/dt + ω²): amplitude at the end of a step per modal force [s²]."""
    return float(dt * dt / (1.0 + dt * (e.damped[mode] + dt * e.squared[mode])))


@kernel
def coast(e: SoftBodies, s: SoftState, dt: float) -> None:
    """Amplitudes at the end of the step without contacts."""
    for i in range(e.first_mode[e.counts[0]]):
        q, rate = s.amplitude[i], s.rate[i]
        kept = (1.0 + dt * e.damped[i]) * q + dt * rate
        s.free[i] = answer(e, i, dt) / (dt * dt) * kept


@kernel
def coasting(
    e: SoftBodies, s: SoftState, k: int, nodes: PtrI4, weights: PtrF8, dt: float
) -> tuple[float, float, float]:
    """Way of a point of body k within the step without contacts, relative to its frame [m]."""
    left = -gain(e, k, dt)  # β/(dt + β) of it stays
    first, n = e.first_node[k], e.first_node[k + 1] - e.first_node[k]
    x, y, z = 0.0, 0.0, 0.0
    for c in range(CORNERS):
        w = weights[c]
        if w != 0.0:
            u = off(s.static, 3 * nodes[c])
            x, y, z = x + left * w * u[0], y + left * w * u[1], z + left * w * u[2]
            for i in range(e.first_mode[k], e.first_mode[k + 1]):
                change = w * (s.free[i] - s.amplitude[i])
                at = 3 * n * (i - e.first_mode[k]) + 3 * (nodes[c] - first)
                shape = off(e.shapes, e.first_shape[k] + at)
                x, y, z = x + change * shape[0], y + change * shape[1], z + change * shape[2]
    return x, y, z


@kernel
def modal_row(
    e: SoftBodies, k: int, nodes: PtrI4, weights: PtrF8, way: tuple[float, float, float], out: PtrF8
) -> None:
    """Σ ψ φ·way of every mode of body k at a point: one row of its Jacobian."""
    first, n = e.first_node[k], e.first_node[k + 1] - e.first_node[k]
    count = e.first_mode[k + 1] - e.first_mode[k]
    for i in range(count):
        total = 0.0
        for c in range(CORNERS):
            if weights[c] != 0.0:
                at = 3 * n * i + 3 * (nodes[c] - first)
                shape = off(e.shapes, e.first_shape[k] + at)
                total += weights[c] * (shape[0] * way[0] + shape[1] * way[1] + shape[2] * way[2])
        out[i] = total


@kernel
def point_compliance(
    e: SoftBodies, k: int, nodes: PtrI4, weights: PtrF8, others: PtrI4, shares: PtrF8, out: PtrF8
) -> None:
    """Σ ψ_i ψ_j C_ij of two points of body k, 3 x 3 [m/N]."""
    first = e.first_node[k]
    width = 3 * (e.first_node[k + 1] - first)
    whole = off(e.compliance, e.first_entry[k])
    for x in range(9):
        out[x] = 0.0
    for a in range(CORNERS):
        if weights[a] == 0.0:
            continue
        rows = off(whole, 3 * (nodes[a] - first) * width)
        for b in range(CORNERS):
            w = weights[a] * shares[b]
            if w == 0.0:
                continue
            block = off(rows, 3 * (others[b] - first))
            for x in range(3):
                for y in range(3):
                    out[3 * x + y] += w * block[width * x + y]


@kernel
def add_nodal_force(
    s: SoftState, nodes: PtrI4, weights: PtrF8, f: tuple[float, float, float]
) -> None:
    """A force [N], in the frame's axes, on a point of a soft body."""
    for c in range(CORNERS):
        w = weights[c]
        if w == 0.0:
            continue
        row = off(s.force, 3 * nodes[c])
        if row[0] == 0.0 and row[1] == 0.0 and row[2] == 0.0:
            s.touched[s.used[0]] = nodes[c]
            s.used[0] += 1
        row[0] += w * f[0]
        row[1] += w * f[1]
        row[2] += w * f[2]


# ---------------------------------------------------------------- the end of a step


@kernel
def deform(e: SoftBodies, s: SoftState, dt: float) -> None:
    """Let every body answer to the forces on its nodes; they are zero afterwards.

    Energy that this loses is in `lost`: β/dt (Δg·Δu) and (α + β ω²) q̇² dt in the dampers; by the
    step itself ½ Δg·Δu, ½ ω² Δq² and ½ Δq̇².
    """
    viscous, numerical = 0.0, 0.0
    for k in range(e.counts[0]):
        first, end = e.first_node[k], e.first_node[k + 1]
        share = gain(e, k, dt)
        kept = 1.0 - share
        ratio = e.viscosity[k] / dt
        # Δg·Δu of the nodes that are loaded or were: g and u before the step
        before = 0.0
        for i in range(3 * first, 3 * end):
            before += s.load[i] * s.static[i]
        cross = 0.0
        width = 3 * (end - first)
        u = off(s.static, 3 * first)
        for i in range(width):
            u[i] *= kept
        for t in range(s.used[0]):
            node = s.touched[t]
            if node < first or node >= end:
                continue
            f = off(s.force, 3 * node)
            rows = off(e.compliance, e.first_entry[k] + 3 * (node - first) * width)
            x, y, z = share * f[0], share * f[1], share * f[2]
            for i in range(width):
                u[i] += x * rows[i] + y * rows[width + i] + z * rows[2 * width + i]
        after = 0.0
        for i in range(3 * first, 3 * end):
            new = kept * s.load[i] + share * s.force[i]
            cross += s.load[i] * s.static[i]  # g₀·u₁ = g₁·u₀ by symmetry
            after += new * s.static[i]
            s.load[i] = new
        way = before - 2.0 * cross + after
        viscous += ratio * way
        numerical += 0.5 * way
        for i in range(e.first_mode[k], e.first_mode[k + 1]):
            push = 0.0
            shape = off(e.shapes, e.first_shape[k] + width * (i - e.first_mode[k]))
            for t in range(s.used[0]):
                node = s.touched[t]
                if first <= node < end:
                    f, at = off(s.force, 3 * node), 3 * (node - first)
                    push += shape[at] * f[0] + shape[at + 1] * f[1] + shape[at + 2] * f[2]
            q = s.free[i] + answer(e, i, dt) * push
            rate = (q - s.amplitude[i]) / dt
            viscous += dt * e.damped[i] * rate * rate
            jump, moved = rate - s.rate[i], q - s.amplitude[i]
            numerical += 0.5 * (jump * jump + e.squared[i] * moved * moved)
            s.amplitude[i], s.rate[i] = q, rate
    for t in range(s.used[0]):
        f = off(s.force, 3 * s.touched[t])
        f[0], f[1], f[2] = 0.0, 0.0, 0.0
    s.used[0] = 0
    s.lost[0], s.lost[1] = viscous, numerical


@kernel
def add_up(e: SoftBodies, s: SoftState, m: Model, state: State, dt: float) -> None:
    """Displacement of every node from its parts, and how fast the fastest of each body moved."""
    for k in range(e.counts[0]):
        first, end = e.first_node[k], e.first_node[k + 1]
        width = 3 * (end - first)
        # `force` is not in use between steps: it keeps what was
        u, was, static = (
            off(s.displacement, 3 * first),
            off(s.force, 3 * first),
            off(s.static, 3 * first),
        )
        for i in range(width):
            was[i] = u[i]
            u[i] = static[i]
        for i in range(e.first_mode[k], e.first_mode[k + 1]):
            q = s.amplitude[i]
            shape = off(e.shapes, e.first_shape[k] + width * (i - e.first_mode[k]))
            for j in range(width):
                u[j] += q * shape[j]
        r = off(state.rotation, 9 * e.body[k])
        down = turn_back(r, (m.gravity[0], m.gravity[1], m.gravity[2]))
        most = 0.0
        for i in range(first, end):
            g, row, old = off(e.gravity, 9 * i), off(s.displacement, 3 * i), off(s.force, 3 * i)
            moved = 0.0
            for x in range(3):
                row[x] += g[3 * x] * down[0] + g[3 * x + 1] * down[1] + g[3 * x + 2] * down[2]
                moved += (row[x] - old[x]) * (row[x] - old[x])
                old[x] = 0.0
            most = max(most, moved)
        s.speed[k] = sqrt(most) / dt


@kernel
def elastic_energy(e: SoftBodies, s: SoftState) -> tuple[float, float]:
    """Kinetic energy of the modes, and strain energy beyond that of the sag [J]."""
    kinetic, strain = 0.0, 0.0
    for i in range(e.first_mode[e.counts[0]]):
        kinetic += 0.5 * s.rate[i] * s.rate[i]
        strain += 0.5 * e.squared[i] * s.amplitude[i] * s.amplitude[i]
    for i in range(3 * e.first_node[e.counts[0]]):
        strain += 0.5 * s.load[i] * s.static[i]
    return kinetic, strain
