"""From many contacts to few planes: K-means clusters whose total force does not depend on them.

The number of sample contacts says nothing about how stiff a contact should be, so each cluster of
contacts is represented by one plane [OTADUY2005]. With s = δ + d the depth below the tolerance and
a the area that a sample stands for, contact i has

    weight  w = a u,   u = max(s, 0) + ε t⁴/R³,   t = δ + R        pressure  q = a u²

The ε part is felt by contacts that are near but do not press yet (R: how far was looked): it places
their planes ahead of the impact and is otherwise negligible. A contact enters with w = q = 0, so
every representative is continuous at entry. Cluster j of body β has

    r̄ = Σ q r / Σ q,   n̄ = Σ q n / |Σ q n|,   s̄ = Σ w s / Σ w
    k_j = k (|Σ_j q n| / Σ_j q) (Σ_j w / Σ_β w)

Then k_j s̄ n̄ = k Σ_j q n / Σ_β w: the force of all planes is k Σ q n / Σ w however the contacts are
grouped, and so is the torque as far as the normals of a group agree. Regrouping moves stiffness
between planes, not force. With "each", the paper's way, every plane has k instead.

Groups are kept from one update to the next in the tool's frame. A new group takes over from its
parent, and a dying one hands over to its heir, in equal parts over the time of the blend.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i8, off, ptr
from tangere.collision.contact_query import (
    CONTACT_AREA,
    CONTACT_BODY,
    CONTACT_DEPTH,
    CONTACT_LOCAL,
    CONTACT_NORMAL,
    NCONTACT,
    NPOSE,
    POSE_OMEGA,
    POSE_QUATERNION,
    POSE_VELOCITY,
)
from tangere.contact.penalty.contacts import (
    CLUSTER_BODY,
    CLUSTER_DEPTH,
    CLUSTER_FORCE,
    CLUSTER_WEIGHT,
    NCLUSTER,
)
from tangere.contact_planes import (
    MAX_PLANES,
    PLANE_ANCHOR,
    PLANE_DAMPING,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_STIFFNESS,
    PLANE_TOLERANCE,
    PLANE_VELOCITY,
)
from tangere.maths.quat import matrix_into, turn, turn_back
from tangere.maths.vec import Array, LongArray, add, axpy, cross, dot, norm, scale, sub

# Weight of contacts that do not press yet, relative to those that do.
NEAR = 1e-4
# Distance of a contact from a centroid: places in units of a fifth of the tool's radius, normals
# times NORMALS. Beyond SPAWN a contact starts a cluster of its own, below MERGE two become one.
NORMALS = 0.3
SPAWN = 1.5
MERGE = 0.5
# Added to the distance where normals are opposed: such contacts never share a plane if avoidable.
OPPOSED = 1e6
PASSES = 2  # of Lloyd's algorithm after the warm start

# Columns of a centroid
AT = 0  # 3: place, tool's frame [m]
WAY = 3  # 3: unit normal, tool's frame
BODY = 6
NAME = 7
BLEND = 8  # its share of its contacts, 0 to 1; the rest is its parent's or heir's
TREND = 9  # +1: being born, 0: alive, −1: dying
OTHER = 10  # name of parent or heir
NCENTROID = 11
# Columns of its sums
SUM_W, SUM_WS, SUM_Q, SUM_QR, SUM_QN = 0, 1, 2, 3, 6
NSUM = 9
NMEAN = 7
# Room on the stack for those of all centroids
ALL_SUMS, ALL_MEANS = MAX_PLANES * NSUM, MAX_PLANES * NMEAN

# Columns of what is computed once for each contact
FEATURE_WAY = 0  # 3: normal, tool's frame
FEATURE_W = 3  # weight w = a u [m³]
FEATURE_U = 4  # [m]
NFEATURE = 5
# Contacts compared with all centroids at once: few enough for the nearest cache
BATCH = 64

STATE_COUNT, STATE_NAME, STATE_PLANES = 0, 1, 2


class Clusters(NamedTuple):
    """What is remembered between updates, and room for the work.

    | field     | meaning                                       | shape                   |
    | centroids | AT, WAY, BODY, …                              | (MAX_PLANES, NCENTROID) |
    | state     | number of centroids, last name given, planes  | (3,) int64              |
    | member    | centroid of each contact                      | (contacts,) int64       |
    | away      | squared distance from it                      | (contacts,)             |
    | features  | FEATURE_… of each contact                     | (contacts, NFEATURE)    |
    """

    centroids: Array
    state: LongArray
    member: LongArray
    away: Array
    features: Array


class Response(NamedTuple):
    """What an update gives.

    | field     | meaning                                                               | shape    |
    | planes    | PLANE_…                                                               | (16, 20) |
    | wrench    | force and torque on the tool at its frame's origin [N, N m]           | (6,)     |
    | stiffness | −∂W/∂(x, φ), φ a turn in world axes                                   | (6, 6)   |
    | damping   | −∂W/∂(v, ω)                                                           | (6, 6)   |
    | reactions | force and torque on each body at its origin; floors: world's origin   | (b+f, 6) |
    """

    planes: Array
    wrench: Array
    stiffness: Array
    damping: Array
    reactions: Array


def new_clusters(contacts: int) -> Clusters:
    """Arrays for so many contacts."""
    return Clusters(
        np.zeros((MAX_PLANES, NCENTROID)),
        np.zeros(3, dtype=np.int64),
        np.zeros(contacts, dtype=np.int64),
        np.zeros(contacts),
        np.zeros((contacts, NFEATURE)),
    )


def new_response(partners: int) -> Response:
    """Arrays for the contact with so many bodies and floors."""
    return Response(
        np.zeros((MAX_PLANES, NCLUSTER)),
        np.zeros(6),
        np.zeros((6, 6)),
        np.zeros((6, 6)),
        np.zeros((partners, 6)),
    )


@kernel
def cluster(
    rows: Array,
    contacts: int,
    poses: Array,
    laws: Array,
    clusters: Clusters,
    response: Response,
    lengths: tuple[float, float, float, float, float],
    counts: tuple[int, int, int],
) -> int:
    """Group the contacts, write planes and response; returns the number of planes.

    `lengths`: tolerance d, reach R, unit of place ℓ [m], blend and period [s]. `counts`: most
    clusters, whether they share the stiffness, number of bodies.
    """
    d, reach, unit, blend, period = lengths
    most, shared, bodies = counts
    p, c, state = ptr(rows), ptr(clusters.centroids), ptr(clusters.state)
    member, away = ptr(clusters.member), ptr(clusters.away)
    r_tool = local_f8(9)
    pose = ptr(poses)
    matrix_into(
        (pose[POSE_QUATERNION], pose[POSE_QUATERNION + 1], pose[POSE_QUATERNION + 2],
         pose[POSE_QUATERNION + 3]), r_tool,
    )  # fmt: skip
    feature = ptr(clusters.features)
    work = Work(p, feature, contacts, c, state, member, away, r_tool, d, reach, unit)
    for i in range(contacts):
        _describe(work, i)
    _age(work, period / blend if blend > 0.0 else inf)
    _choose(work, 0)
    _spawn(work, most, blend > 0.0)
    for _ in range(PASSES):
        _move_centroids(work)
        _choose(work, 0)
    _drop_empty(work)
    _merge(work, blend > 0.0)
    sums = local_f8(ALL_SUMS)
    _sum_up(work, sums)
    count = _planes(work, sums, poses, laws, response.planes, (shared, bodies))
    _total(count, poses, r_tool, bodies, response)
    state[STATE_PLANES] = count
    return count


class Work(NamedTuple):
    """What the passes of one update share."""

    rows: PtrF8
    features: PtrF8
    contacts: int
    centroids: PtrF8
    state: PtrI8
    member: PtrI8
    away: PtrF8
    turn: PtrF8
    tolerance: float
    reach: float
    unit: float


@kernel
def _describe(w: Work, i: int) -> None:
    """Weight of contact i, and its normal in the tool's frame."""
    row, feature = off(w.rows, NCONTACT * i), off(w.features, NFEATURE * i)
    n = (row[CONTACT_NORMAL], row[CONTACT_NORMAL + 1], row[CONTACT_NORMAL + 2])
    way = turn_back(w.turn, n)
    for k in range(3):
        feature[FEATURE_WAY + k] = way[k]
    t = max(row[CONTACT_DEPTH] + w.reach, 0.0)
    u = max(row[CONTACT_DEPTH] + w.tolerance, 0.0) + NEAR * t * t * t * t / w.reach**3
    feature[FEATURE_U] = u
    feature[FEATURE_W] = row[CONTACT_AREA] * u


@kernel
def _choose(w: Work, first: int) -> None:
    """Give every contact to the nearest centroid, of those from `first` on and the one it has.

    In batches that lie side by side on the stack, where the compiler takes several at a time.
    """
    x, y, z, body = local_f8(BATCH), local_f8(BATCH), local_f8(BATCH), local_f8(BATCH)
    nx, ny, nz = local_f8(BATCH), local_f8(BATCH), local_f8(BATCH)
    best, who = local_f8(BATCH), local_i8(BATCH)
    per_unit = 1.0 / (w.unit * w.unit)
    for start in range(0, w.contacts, BATCH):
        count = min(BATCH, w.contacts - start)
        for i in range(count):
            row = off(w.rows, NCONTACT * (start + i))
            way = off(w.features, NFEATURE * (start + i))
            x[i], y[i], z[i] = row[CONTACT_LOCAL], row[CONTACT_LOCAL + 1], row[CONTACT_LOCAL + 2]
            nx[i], ny[i], nz[i] = way[FEATURE_WAY], way[FEATURE_WAY + 1], way[FEATURE_WAY + 2]
            body[i] = row[CONTACT_BODY]
            best[i] = inf if first == 0 else w.away[start + i]
            who[i] = -1 if first == 0 else w.member[start + i]
        for j in range(first, w.state[STATE_COUNT]):
            c = off(w.centroids, NCENTROID * j)
            cx, cy, cz, of = c[AT], c[AT + 1], c[AT + 2], c[BODY]
            mx, my, mz = c[WAY], c[WAY + 1], c[WAY + 2]
            for i in range(count):
                p, q, r = x[i] - cx, y[i] - cy, z[i] - cz
                cosine = nx[i] * mx + ny[i] * my + nz[i] * mz
                apart = (p * p + q * q + r * r) * per_unit
                apart += NORMALS * NORMALS * 2.0 * (1.0 - cosine)
                apart += OPPOSED if cosine < 0.0 else 0.0
                apart = apart if body[i] == of else inf
                who[i] = j if apart < best[i] else who[i]
                best[i] = apart if apart < best[i] else best[i]
        for i in range(count):
            w.away[start + i], w.member[start + i] = best[i], who[i]


@kernel
def _spawn(w: Work, most: int, blended: bool) -> None:
    """New centroids at the farthest contacts, one by one, while there is need and room.

    A body without any centroid gets one even beyond `most`: its contacts would be lost otherwise.
    Blended are those whose parent was there before; opposed planes cannot stand for each other.
    """
    old = w.state[STATE_NAME]
    while w.state[STATE_COUNT] < MAX_PLANES:
        worst, at = SPAWN * SPAWN, -1
        for i in range(w.contacts):
            if w.away[i] > worst:
                worst, at = w.away[i], i
        if at < 0 or (w.state[STATE_COUNT] >= most and worst < inf):
            return
        if worst == inf:  # the heaviest contact of that body, not the first
            at = _heaviest(w, at)
        parent = w.member[at]
        row = off(w.rows, NCONTACT * at)
        c = off(w.centroids, NCENTROID * w.state[STATE_COUNT])
        w.state[STATE_NAME] += 1
        for k in range(3):
            c[AT + k] = row[CONTACT_LOCAL + k]
            c[WAY + k] = w.features[NFEATURE * at + FEATURE_WAY + k]
        c[BODY] = row[CONTACT_BODY]
        c[NAME] = w.state[STATE_NAME]
        c[BLEND], c[TREND], c[OTHER] = 1.0, 0.0, 0.0
        if blended and parent >= 0 and worst < OPPOSED:
            name = w.centroids[NCENTROID * parent + NAME]
            if name <= old:
                c[BLEND], c[TREND], c[OTHER] = 0.0, 1.0, name
        w.state[STATE_COUNT] += 1
        _choose(w, w.state[STATE_COUNT] - 1)


@kernel
def _heaviest(w: Work, like: int) -> int:
    """The heaviest contact with the body of contact `like`."""
    body = w.rows[NCONTACT * like + CONTACT_BODY]
    best, at = -1.0, like
    for i in range(w.contacts):
        row = off(w.rows, NCONTACT * i)
        if row[CONTACT_BODY] == body:
            weight = w.features[NFEATURE * i + FEATURE_W]
            if weight > best:
                best, at = weight, i
    return at


@kernel
def _move_centroids(w: Work) -> None:
    """Every centroid to the weighted mean of its contacts."""
    means = local_f8(ALL_MEANS)
    for k in range(NMEAN * w.state[STATE_COUNT]):
        means[k] = 0.0
    for i in range(w.contacts):
        if w.member[i] < 0:
            continue
        row, m = off(w.rows, NCONTACT * i), off(means, NMEAN * w.member[i])
        feature = off(w.features, NFEATURE * i)
        weight = feature[FEATURE_W]
        m[6] += weight
        for k in range(3):
            m[k] += weight * row[CONTACT_LOCAL + k]
            m[3 + k] += weight * feature[FEATURE_WAY + k]
    for j in range(w.state[STATE_COUNT]):
        m, c = off(means, NMEAN * j), off(w.centroids, NCENTROID * j)
        length = norm((m[3], m[4], m[5]))
        if m[6] <= 0.0 or length <= 0.0:
            continue
        for k in range(3):
            c[AT + k] = m[k] / m[6]
            c[WAY + k] = m[3 + k] / length


@kernel
def _age(w: Work, share: float) -> None:
    """Blend on by one period; who has died is removed, who is fully born is on its own."""
    for j in range(w.state[STATE_COUNT] - 1, -1, -1):
        c = off(w.centroids, NCENTROID * j)
        if c[TREND] == 0.0:
            continue
        if _find(w, c[OTHER]) < 0:
            c[BLEND] = 1.0
        c[BLEND] = min(max(c[BLEND] + c[TREND] * share, 0.0), 1.0)
        if c[TREND] < 0.0 and c[BLEND] == 0.0:
            _remove(w, j)
        elif c[BLEND] == 1.0:
            c[TREND], c[OTHER] = 0.0, 0.0


@kernel
def _find(w: Work, name: float) -> int:
    """Place of the centroid of that name; −1 if it is gone."""
    for j in range(w.state[STATE_COUNT]):
        if w.centroids[NCENTROID * j + NAME] == name:
            return j
    return -1


@kernel
def _remove(w: Work, j: int) -> None:
    """Take centroid j out; the order of the others stays."""
    w.state[STATE_COUNT] -= 1
    for k in range(NCENTROID * j, NCENTROID * w.state[STATE_COUNT]):
        w.centroids[k] = w.centroids[k + NCENTROID]
    for i in range(w.contacts):
        if w.member[i] > j:
            w.member[i] -= 1


@kernel
def _drop_empty(w: Work) -> None:
    """Take out the centroids without contacts: they have no force to hand over."""
    for j in range(w.state[STATE_COUNT] - 1, -1, -1):
        empty = True
        for i in range(w.contacts):
            if w.member[i] == j:
                empty = False
                break
        if empty:
            _remove(w, j)
    for j in range(w.state[STATE_COUNT]):
        c = off(w.centroids, NCENTROID * j)
        if c[TREND] != 0.0 and _find(w, c[OTHER]) < 0:
            c[BLEND], c[TREND], c[OTHER] = 1.0, 0.0, 0.0


@kernel
def _merge(w: Work, blended: bool) -> None:
    """Of two living centroids too close to each other the younger begins to die."""
    for j in range(w.state[STATE_COUNT] - 1, 0, -1):
        b = off(w.centroids, NCENTROID * j)
        for i in range(j):
            a = off(w.centroids, NCENTROID * i)
            if a[BODY] != b[BODY] or a[TREND] < 0.0 or b[TREND] < 0.0:
                continue
            x, y, z = a[AT] - b[AT], a[AT + 1] - b[AT + 1], a[AT + 2] - b[AT + 2]
            cosine = a[WAY] * b[WAY] + a[WAY + 1] * b[WAY + 1] + a[WAY + 2] * b[WAY + 2]
            apart = (x * x + y * y + z * z) / (w.unit * w.unit)
            apart += NORMALS * NORMALS * 2.0 * (1.0 - cosine)
            if apart < MERGE * MERGE and cosine > 0.0:
                b[TREND], b[OTHER] = -1.0, a[NAME]
                if not blended:
                    b[BLEND] = 0.0
                break


@kernel
def _sum_up(w: Work, sums: PtrF8) -> None:
    """Sums over the contacts of each centroid, those of the unblended share going to its other."""
    for k in range(NSUM * w.state[STATE_COUNT]):
        sums[k] = 0.0
    for i in range(w.contacts):
        j = w.member[i]
        if j < 0:
            continue
        c = off(w.centroids, NCENTROID * j)
        own = c[BLEND]
        _add(w, off(sums, NSUM * j), i, own)
        if own < 1.0:
            _add(w, off(sums, NSUM * _find(w, c[OTHER])), i, 1.0 - own)


@kernel
def _add(w: Work, sums: PtrF8, i: int, share: float) -> None:
    """A share of contact i."""
    row, feature = off(w.rows, NCONTACT * i), off(w.features, NFEATURE * i)
    weight = share * feature[FEATURE_W]
    q = weight * feature[FEATURE_U]
    sums[SUM_W] += weight
    sums[SUM_WS] += weight * (row[CONTACT_DEPTH] + w.tolerance)
    sums[SUM_Q] += q
    for k in range(3):
        sums[SUM_QR + k] += q * row[CONTACT_LOCAL + k]
        sums[SUM_QN + k] += q * row[CONTACT_NORMAL + k]


@kernel
def _planes(
    w: Work, sums: PtrF8, poses: Array, laws: Array, planes_out: Array, counts: tuple[int, int]
) -> int:
    """One plane for each centroid that has any weight; returns their number."""
    shared, bodies = counts
    out, pose, law = ptr(planes_out), ptr(poses), ptr(laws)
    count = 0
    for j in range(w.state[STATE_COUNT]):
        s, c = off(sums, NSUM * j), off(w.centroids, NCENTROID * j)
        pressure = norm((s[SUM_QN], s[SUM_QN + 1], s[SUM_QN + 2]))
        if not (pressure > 0.0 and s[SUM_Q] > 0.0):
            continue
        all_weight = 0.0
        for i in range(w.state[STATE_COUNT]):
            if w.centroids[NCENTROID * i + BODY] == c[BODY]:
                all_weight += sums[NSUM * i + SUM_W]
        body = int(c[BODY])
        partner = body if body >= 0 else bodies - 1 - body
        share = s[SUM_W] / all_weight
        factor = share * pressure / s[SUM_Q] if shared == 1 else c[BLEND]
        n = scale(1.0 / pressure, (s[SUM_QN], s[SUM_QN + 1], s[SUM_QN + 2]))
        r = scale(1.0 / s[SUM_Q], (s[SUM_QR], s[SUM_QR + 1], s[SUM_QR + 2]))
        depth = s[SUM_WS] / s[SUM_W] - w.tolerance
        p = add(turn(w.turn, r), (pose[0], pose[1], pose[2]))
        anchor = axpy(-depth, n, p)
        u = (0.0, 0.0, 0.0)
        if body >= 0:
            b = off(pose, NPOSE * (body + 1))
            omega = (b[POSE_OMEGA], b[POSE_OMEGA + 1], b[POSE_OMEGA + 2])
            arm = sub(anchor, (b[0], b[1], b[2]))
            v = (b[POSE_VELOCITY], b[POSE_VELOCITY + 1], b[POSE_VELOCITY + 2])
            u = add(v, cross(omega, arm))
        plane = off(out, NCLUSTER * count)
        for k in range(3):
            plane[PLANE_POINT + k] = r[k]
            plane[PLANE_ANCHOR + k] = anchor[k]
            plane[PLANE_NORMAL + k] = n[k]
            plane[PLANE_VELOCITY + k] = u[k]
        plane[PLANE_STIFFNESS] = factor * law[2 * partner]
        plane[PLANE_DAMPING] = factor * law[2 * partner + 1]
        plane[PLANE_TOLERANCE] = w.tolerance
        plane[CLUSTER_DEPTH] = depth
        plane[CLUSTER_BODY] = body
        plane[PLANE_NAME] = c[NAME]
        plane[CLUSTER_WEIGHT] = share
        count += 1
    return count


@kernel
def _total(count: int, poses: Array, r_tool: PtrF8, bodies: int, response: Response) -> None:
    """Wrench of all planes on the tool, its derivatives, and the reactions.

    F = −s n, T = a × F with a = Rr;  −∂W/∂(x, φ) = Σ k h hᵀ − [0, 0; 0, F× a×] with h = (n, a × n).
    """
    pose = ptr(poses)
    wrench, reactions = ptr(response.wrench), ptr(response.reactions)
    stiff, damp = ptr(response.stiffness), ptr(response.damping)
    for k in range(6):
        wrench[k] = 0.0
    for k in range(36):
        stiff[k] = 0.0
        damp[k] = 0.0
    for k in range(6 * response.reactions.shape[0]):
        reactions[k] = 0.0
    v = (pose[POSE_VELOCITY], pose[POSE_VELOCITY + 1], pose[POSE_VELOCITY + 2])
    omega = (pose[POSE_OMEGA], pose[POSE_OMEGA + 1], pose[POSE_OMEGA + 2])
    h = local_f8(6)
    for j in range(count):
        plane = off(ptr(response.planes), NCLUSTER * j)
        n = (plane[PLANE_NORMAL], plane[PLANE_NORMAL + 1], plane[PLANE_NORMAL + 2])
        a = turn(r_tool, (plane[PLANE_POINT], plane[PLANE_POINT + 1], plane[PLANE_POINT + 2]))
        u = (plane[PLANE_VELOCITY], plane[PLANE_VELOCITY + 1], plane[PLANE_VELOCITY + 2])
        below = plane[CLUSTER_DEPTH] + plane[PLANE_TOLERANCE]
        speed = dot(n, sub(add(v, cross(omega, a)), u))
        k_plane, b_plane = plane[PLANE_STIFFNESS], plane[PLANE_DAMPING]
        s = k_plane * below + b_plane * speed
        plane[CLUSTER_FORCE] = s if below > 0.0 and s > 0.0 else 0.0
        if plane[CLUSTER_FORCE] == 0.0:
            continue
        force = scale(-s, n)
        arm = cross(a, n)
        for k in range(3):
            h[k] = n[k]
            h[3 + k] = arm[k]
        torque = cross(a, force)
        for k in range(3):
            wrench[k] += force[k]
            wrench[3 + k] += torque[k]
        for i in range(6):
            for k in range(6):
                stiff[6 * i + k] += k_plane * h[i] * h[k]
                damp[6 * i + k] += b_plane * h[i] * h[k]
        # F× a× = a Fᵀ − (F·a) I
        inner = dot(force, a)
        for i in range(3):
            for k in range(3):
                stiff[6 * (3 + i) + 3 + k] -= a[i] * force[k] - (inner if i == k else 0.0)
        body = int(plane[CLUSTER_BODY])
        row = off(reactions, 6 * (body if body >= 0 else bodies - 1 - body))
        point = add(a, (pose[0], pose[1], pose[2]))
        if body >= 0:
            b = off(pose, NPOSE * (body + 1))
            point = sub(point, (b[0], b[1], b[2]))
        back = cross(point, force)
        for k in range(3):
            row[k] -= force[k]
            row[3 + k] -= back[k]
