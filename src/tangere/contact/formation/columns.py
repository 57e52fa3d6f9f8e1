"""Columns of a principal contact: what was found, what is remembered of it, what came out.

A principal contact is a pair of an element a of the held body A and an element b of a fixed body B
that touch, with neither on the rim of another element that touches. Rows are filled by whoever
finds them; the force model reads them and keeps one row of memory for each, found again by id.
"""

from __future__ import annotations

from tangere._jit import kernel
from tangere._ptr import PtrF8
from tangere.maths.vec import Vec3

# Principal contacts at a time, and points of the region of one
MOST_CONTACTS = 16
MOST_POINTS = 16

# ---------------------------------------------------------------- what was found
PC_ID = 0  # of (body, a, b, region), a whole number below 2⁵³; the same from frame to frame
PC_BODY = 1  # index of B
PC_A, PC_B = 2, 3  # elements
PC_REGION = 4  # POINT, LINE or PLANE
PC_CURVED = 5  # 1: it can roll, off the vertices and edges of both bodies
PC_COUNT = 6  # points of the region: 1, 2 ends, or 3 … 16 corners
PC_GAP = 7  # d, the least over the region; negative: overlap [m]
PC_POINT = 8  # 3: the point, or centroid of the region, on the surface of B [m]
PC_NORMAL = 11  # 3: of the contact plane, towards A
PC_TANGENT = 14  # 3: x axis of the task frame, carried from frame to frame
PC_POLYGON = 17  # 3 each: points of the region on B, counter-clockwise about the normal [m]
PC_POLYGON_GAP = PC_POLYGON + 3 * MOST_POINTS  # gap at each [m]
NPC = PC_POLYGON_GAP + MOST_POINTS

POINT, LINE, PLANE = 0, 1, 2

# ---------------------------------------------------------------- what is remembered
MEM_USED = 0  # 0: the row is free
MEM_ID = 1
MEM_ROW = 2  # of the contact in the last pose
MEM_SEEN = 3  # when it was there last [s]
MEM_STATE = 4  # STICK, SLIP or ROLL
MEM_NORMAL = 5  # 3
MEM_POINT = 8  # 3: point of A in the contact, in the world [m]
MEM_LOCAL = 11  # 3: the same in the frame of A [m]
MEM_STRETCH = 14  # 3: s, what A has slipped since its anchor, in the contact plane [m]
MEM_TURN = 17  # θ, what A has turned about the normal since its anchor [rad]
MEM_PATH = 18  # 3: way of the contact over B of late [m]
MEM_SLIP = 21  # 3: way of A's material over B at the contact of late [m]
MEM_PRESS = 24  # 6: wrench of the normal force on A [N, N m]
NMEM = 30

# ---------------------------------------------------------------- what came out
OUT_STATE = 0  # STICK, SLIP or ROLL
OUT_CASE = 1  # CASE_IMPACT: the contact is new; otherwise the case of the formation
OUT_NORMAL_FORCE = 2  # F_n [N]
OUT_GAP_RATE = 3  # change of the gap [m/s]
OUT_POINT = 4  # 3: of A, above the point or centroid of the region [m]
OUT_PRESS = 7  # 6: wrench of the normal force on A, about its centre of mass [N, N m]
OUT_FRICTION = 13  # 6: of the friction F_cf
OUT_STRETCH = 19  # 3: s [m]
OUT_TURN = 22  # θ [rad]
OUT_SLIP = 23  # 3: velocity of A's material at the contact, in the contact plane [m/s]
OUT_SPIN = 26  # turning of A about the normal [rad/s]
OUT_SIZE = 27  # from the centroid to the farthest point of the region [m]
OUT_SPREAD = 28  # ρ: root of the mean square of that distance [m]
OUT_NEED = 29  # 3: F_t, the friction that full stick would need when the contact began [N]
OUT_IMPACT = 32  # F_v, along the velocity that the contact began with [N]
OUT_STORED = 33  # energy of the normal spring [J]
NOUT = 34

STICK, SLIP, ROLL = 0, 1, 2
# Cases of a formation: none, of contacts that have just begun, and the paper's cases a to d of one
# that is kept
CASE_FREE, CASE_IMPACT, CASE_STATIC, CASE_ROLLING, CASE_PIVOT, CASE_SLIDING = 0, 1, 2, 3, 4, 5

# Types of the motion before: no contact; then the paper's MT1 to MT4: the first contact, the
# formation is kept, a contact is new, one has gone or become another
FREE, FIRST, KEPT, GAINED, LOST = 0, 1, 2, 3, 4

# ---------------------------------------------------------------- of all contacts together
RES_WRENCH = 0  # 6: of all contacts on A, about its centre of mass [N, N m]
RES_INERTIA = 6  # 6: −η (m a, I ω̇ + ω × I ω), not part of it
RES_TYPE = 12  # FREE … LOST
RES_CASE = 13  # CASE_…
RES_COUNT = 14  # contacts
RES_FRICTION = 15  # 6: of friction alone, before it fades over
RES_FADE = 21  # 6: what is left of the wrench before the last change of formation or case
RES_FADE_TIME = 27  # until it has gone [s]
RES_WORK = 28  # that A has done against the contacts since the start [J]
RES_STORED = 29  # energy of their springs [J]
NRES = 30

# ---------------------------------------------------------------- the law, and the body A
# Up to LAW_MAX_TORQUE the options, see `options.Formation`
LAW_K, LAW_D, LAW_KP = 0, 1, 2
LAW_MU, LAW_MU_KINETIC = 3, 4
LAW_LAYER = 5  # ε
LAW_PER_POINT, LAW_SMOOTH, LAW_EFFECTIVE, LAW_CLAMP, LAW_PRINTED = 6, 7, 8, 9, 10  # 1: yes
LAW_BLEND, LAW_FORCE_RATE, LAW_TORQUE_RATE = 11, 12, 13
LAW_DEBOUNCE = 14
LAW_BAND, LAW_ANGULAR_BAND = 15, 16
LAW_ETA = 17
LAW_MAX_FORCE, LAW_MAX_TORQUE = 18, 19  # infinite: no limit
LAW_MASS = 20
LAW_RADIUS = 21  # of A, that turns lengths into angles [m]
LAW_LEAST_ARM = 22  # r_min [m]
LAW_MEMORY = 23  # share of the ways of late that is left after one period
LAW_INERTIA = 24  # 9: tensor about the centre of mass, axes of A [kg m²]
LAW_INVERSE = 33  # 9
NLAW = 42


@kernel
def vec(row: PtrF8, at: int) -> Vec3:
    """Three numbers of a row."""
    return (row[at], row[at + 1], row[at + 2])


@kernel
def put(row: PtrF8, at: int, a: Vec3) -> None:
    """Three numbers into a row."""
    row[at], row[at + 1], row[at + 2] = a[0], a[1], a[2]
