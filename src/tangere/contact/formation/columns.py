"""Columns of a principal contact: what was found, what is remembered of it, what came out.

A principal contact is a pair of an element a of the held body A and an element b of a fixed body B
that touch, with neither on the rim of another element that touches. Rows are filled by whoever
finds them; the force model reads them and keeps one row of memory for each, found again by id.
"""

from __future__ import annotations

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
MEM_ID, MEM_BODY, MEM_A, MEM_B = 1, 2, 3, 4
MEM_BIRTH = 5  # when the contact began [s]
MEM_SEEN = 6  # when it was there last [s]
MEM_STATE = 7  # STICK or SLIP
MEM_NORMAL = 8  # 3
MEM_POINT = 11  # 3: point of A in the contact, in the world [m]
MEM_LOCAL = 14  # 3: the same in the frame of A [m]
MEM_STRETCH = 17  # 3: s, what A has slipped since its anchor, in the contact plane [m]
MEM_PATH = 20  # 3: way of the contact over B of late [m]
MEM_SLIP = 23  # 3: way of A's material over B at the contact of late [m]
MEM_PRESS = 26  # 6: wrench of the normal force [N, N m]
NMEM = 32

# ---------------------------------------------------------------- what came out
OUT_STATE = 0  # STICK, SLIP or ROLL
OUT_CASE = 1  # IMPACT: the contact is new; otherwise the case of the formation, see CASE_…
OUT_NORMAL_FORCE = 2  # F_n [N]
OUT_GAP_RATE = 3  # change of the gap [m/s]
OUT_FRICTION = 4  # 3: F_cf [N]
OUT_WRENCH = 7  # 6: on A, about its centre of mass [N, N m]
OUT_STRETCH = 13  # 3: s [m]
OUT_SLIP = 16  # 3: velocity of A's material at the contact, in the contact plane [m/s]
OUT_NEED = 19  # 3: F_t, the friction that full stick would need when the contact began [N]
OUT_IMPACT = 22  # F_v, along the velocity that the contact began with [N]
OUT_POINTS = 23  # points that the friction acts at
NOUT = 24

STICK, SLIP, ROLL = 0, 1, 2
# Cases of a formation that is kept, and of one that has just begun
CASE_FREE, CASE_IMPACT, CASE_STATIC, CASE_ROLLING, CASE_PIVOT, CASE_SLIDING = 0, 1, 2, 3, 4, 5

# Types of the motion before: no contact; the first contact; the formation is kept; a contact is
# new; one has gone or become another
FREE, FIRST, KEPT, GAINED, LOST = 0, 1, 2, 3, 4
