"""The arrays everything runs on; no algorithms.

`Model` is constant after compilation (its arrays are read-only: Numba refuses kernels that write to
them), `State` changes with every step, `Work` is scratch plus the pair table that carries contact
state from step to step. Kernels receive these groups at the border and turn them into groups of
pointers of the same classes once per call (`pointers`), so a field has one name everywhere.

Indices. Bodies are numbered as in the scene, floors follow after the last body as fixed bodies. A
body has one or more convex *parts*, a part refers to a *hull* (geometry shared by equal parts).
Body frames are principal: origin at the centre of mass, axes along the principal axes of inertia.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.maths.vec import Array, IntArray, LongArray
from tangere.solver import Solver


class Sizes(NamedTuple):
    """Counts that loops run over."""

    bodies: int  # scene bodies; floors follow after them
    parts: int
    floors: int
    springs: int


# Columns of Model.materials; NaN: not given
MAT_STATIC, MAT_KINETIC = 0, 1  # friction coefficients
MAT_K, MAT_B, MAT_KT, MAT_BT = 2, 3, 4, 5  # stiffness, damping: normal and tangential
MAT_RESTITUTION, MAT_ROLLING = 6, 7
NM = 8
# Columns of State.springs
SP_A, SP_B = 0, 3  # 3 each: ends in the frames of the bodies, or in the world [m]
SP_K, SP_DAMPING, SP_REST = 6, 7, 8  # stiffness [N/m], damping [N s/m], rest length [m]
SP_VELOCITY = 9  # 3: of an end in the world; its place is that at time zero [m/s]
SP_RATE = 12  # bound on ω² of the bodies that swing on it [1/s²]
NK = 13


class Hulls(NamedTuple):
    """Convex polyhedra in principal body frames, flattened.

    | field      | meaning                                                      | shape   |
    | vert_start | first vertex of each hull                                    | (h+1,)  |
    | verts      | [m]                                                          | (v, 3)  |
    | face_start | first face of each hull                                      | (h+1,)  |
    | planes     | unit outward normal, offset [m]                              | (f, 4)  |
    | loop_start | first entry in `loops` of each face, plus the end               | (f+1,)  |
    | loops      | vertices of each face within its hull, counter-clockwise outside | (l,)    |
    | box        | centre and half extents of the bounding box [m]              | (h, 6)  |
    | size       | smallest extent of the bounding box [m]                      | (h,)    |
    | curve      | the curved solid it stands for, see geometry.curve; kind 0: none | (h, NC) |
    """

    vert_start: IntArray
    verts: Array
    face_start: IntArray
    planes: Array
    loop_start: IntArray
    loops: IntArray
    box: Array
    size: Array
    curve: Array


class Model(NamedTuple):
    """Everything constant after compilation.

    | field         | meaning                                                         | shape      |
    | gravity       | [m/s²]                                                          | (3,)       |
    | mass          | [kg]; infinite for fixed bodies                                 | (n+f,)     |
    | inv_mass      | [1/kg]; 0 for fixed bodies                                      | (n+f,)     |
    | inertia       | principal moments [kg m²]; 1 for fixed bodies                   | (n+f, 3)   |
    | inv_inertia   | [1/(kg m²)]; 0 for fixed bodies                                 | (n+f, 3)   |
    | material      | row of `materials` of each body                                 | (n+f,)     |
    | materials     | mu0, mu, k, b, k_t, b_t, e, rolling; NaN: not given             | (m, NM)    |
    | face_area     | largest face: the area to normalise by in the fixed form [m²]   | (n+f,)     |
    | part_body     | body of each part                                               | (p,)       |
    | part_hull     | hull of each part                                               | (p,)       |
    | part_start    | first part of each body                                         | (n+1,)     |
    | world_start   | first vertex, first face of each part in the world buffers      | (p+1, 2)   |
    | floor_plane   | unit normal, offset [m]                                         | (f, 4)     |
    | spring_bodies | body a, body b (−1: the world)                                  | (s, 2)     |
    """

    gravity: Array
    mass: Array
    inv_mass: Array
    inertia: Array
    inv_inertia: Array
    material: IntArray
    materials: Array
    face_area: Array
    part_body: IntArray
    part_hull: IntArray
    part_start: IntArray
    world_start: IntArray
    floor_plane: Array
    spring_bodies: IntArray


class State(NamedTuple):
    """Everything that changes: poses of the principal frames and motion, world axes.

    | field      | meaning                                                     | shape     |
    | position   | centre of mass [m]                                          | (n+f, 3)  |
    | quaternion | (w, x, y, z), principal frame to world                      | (n+f, 4)  |
    | rotation   | the same as a matrix, row by row                            | (n+f, 9)  |
    | velocity   | of the centre of mass [m/s]                                 | (n+f, 3)  |
    | omega      | angular velocity [rad/s]                                    | (n+f, 3)  |
    | momentum   | angular momentum about the centre of mass [kg m²/s]         | (n+f, 3)  |
    | wrench     | contact force [N] and torque [N m] at the centre of mass    | (n+f, 6)  |
    | applied    | force [N] and torque [N m] of springs at the centre of mass | (n+f, 6)  |
    | springs    | ends and law of each spring, see `SP_…`: hands move theirs  | (s, NK)   |
    | spring     | force of each spring on its body a [N]                      | (s, 3)    |
    | time       | [s]                                                         | (1,)      |
    | ledger     | energy of implicit steps [J], see `LEDGER_…`                | (NL,)     |
    """

    position: Array
    quaternion: Array
    rotation: Array
    velocity: Array
    omega: Array
    momentum: Array
    wrench: Array
    applied: Array
    springs: Array
    spring: Array
    time: Array
    ledger: Array


# Entries of State.ledger; the first five are sums since the start
LEDGER_NORMAL = 0  # lost in the normal direction of contacts: dampers, impacts, yielding
LEDGER_FRICTION = 1  # lost to friction
LEDGER_STEP = 2  # lost by the step itself: ½ |Δv|² M, the price of stability
LEDGER_SPRINGS = 3  # lost in the dampers of springs
LEDGER_WORK = 4  # put in by bodies and spring ends moved from outside
LEDGER_TOTAL = 5  # mechanical energy after the last step
LEDGER_ERROR = 6  # what the books of the last step do not explain
LEDGER_HELD, LEDGER_STORED, LEDGER_FRICTION_HELD = (
    7,
    8,
    9,
)  # held by springs, contacts, their friction
NL = 10


class Pairs(NamedTuple):
    """Candidate pairs of parts as a list sorted by (owner, key), and what each contact remembers.

    | field  | meaning                                                     | shape      |
    | used   | pairs in the list, free slots                               | (2,)       |
    | owner  | first body of the pair; a floor pair belongs to its body    | (cap,)     |
    | key    | second body, part of the first, part of the second          | (cap,)     |
    | live   | LIVE while there is something to do or to forget; FOUND if  |            |
    |        | the parts meet by the end of an implicit step; 0            | (cap,)     |
    | slot   | row of `ints` and `floats` of the pair                      | (cap,)     |
    | free   | stack of free slots                                         | (cap,)     |
    | ints   | see `PI_…`                                                  | (cap, NI)  |
    | floats | see `PF_…`                                                  | (cap, NF)  |
    | ints2, floats2 | the same while the rows are put into the list's order | …        |
    """

    used: IntArray
    owner: IntArray
    key: LongArray
    live: IntArray
    slot: IntArray
    free: IntArray
    ints: IntArray
    floats: Array
    ints2: IntArray
    floats2: Array


# Columns of Pairs.ints
PI_BODY_A, PI_BODY_B, PI_PART_A, PI_PART_B = 0, 1, 2, 3
PI_PHASE = 4  # what is known: see PHASE_…
PI_MODE = 5  # friction: STICK or SLIP
PI_MISSED = 6  # steps since the contact last pressed
PI_SIMPLEX = 7  # 9 entries: count and vertex pairs of the last simplex
PI_FIRST, PI_LAST = 16, 17  # polygons of this step in the soup; implicit: see contact.implicit
PI_CALM = 18  # implicit: look for which the contact is as the look before saw it
NI = 19

LIVE, FOUND = 1, 2  # see Pairs.live
PHASE_NEW, PHASE_APART, PHASE_TOUCH = 0, 1, 2
STICK, SLIP = 0, 1

# Columns of Pairs.floats
PF_NORMAL = 0  # 3: unit normal, from a to b
PF_ANCHOR_A = 3  # 3: end of the friction spring on a, frame of a [m]
PF_ANCHOR_B = 6  # 3: end of the friction spring on b, frame of b [m]
PF_THETA = 9  # twist of the friction spring about the normal [rad]
PF_CENTRE = 10  # 3: area centroid of the patch on the contact plane [m]
PF_FORCE = 13  # 3: force on b [N]
PF_TORQUE = 16  # 3: torque on b about the centre [N m]
PF_PRESS = 19  # normal force [N]
PF_AREA = 20  # patch area S_c [m²]
PF_VOLUME = 21  # overlap volume [m³]
PF_DEPTH = 22  # overlap along the normal [m]
PF_MOMENTS = 23  # 3: second area moments xx, xy, yy about the centre in basis(normal) [m⁴]
PF_LAW = 26  # 5: k, b, k_t, b_t and S_A used by the last step
PF_STORED = 31  # energy of the normal springs [J]
PF_HELD = 32  # energy of the friction spring [J]
PF_RESERVE = 33  # energy the contact lost and may still give, see implicit.remember [J]
PF_LAG = 34  # normal force that limits friction [N]
PF_MEET = 35  # 6: deepest point, depth, way the parts are moved together [m]; flat face, if curved
NF = 41
LAST_LAP, NT = 15, 16  # entry of Work.times, their number; stages come first
NS = 20  # integrals over the patch of one pair, see contact.convex.patch_integrals


class World(NamedTuple):
    """Where the parts are now, and the boxes around them.

    | field  | meaning                                             | shape    |
    | verts  | world vertices of all parts                         | (V, 3)   |
    | planes | world planes of all parts                           | (F, 4)   |
    | stamp  | step at which a part was last transformed           | (p,)     |
    | aabb   | lower and upper corner, with the reach of one step  | (p, 6)   |
    | fat    | the boxes the pair list was built for               | (p, 6)   |
    """

    verts: Array
    planes: Array
    stamp: IntArray
    aabb: Array
    fat: Array


class Tree(NamedTuple):
    """Scratch of the broad phase: parts along a Morton curve, a tree of boxes, pairs being found.

    | field         | meaning                                                       | shape      |
    | code, order   | Morton codes, and the parts sorted by them                    | (p,)       |
    | code2, order2 | the same while sorting                                        | (p,)       |
    | nodes         | boxes of a complete binary tree, children of i at 2i+1, 2i+2  | (2l, 6)    |
    | leaf          | node of each part                                             | (p,)       |
    | left          | parts that left their fat boxes                               | (p,)       |
    | moved         | parts that left since the last rebuild, leaves, room for pairs | (3,)      |
    | keys, owners  | pairs being found                                             | (cap,)     |
    """

    code: IntArray
    order: IntArray
    code2: IntArray
    order2: IntArray
    nodes: Array
    leaf: IntArray
    left: IntArray
    moved: IntArray
    keys: LongArray
    owners: IntArray


class Soup(NamedTuple):
    """Polygons of contact volumes.

    | field | meaning                                                       | shape     |
    | start | first vertex of each polygon, plus the end                    | (cap+1,)  |
    | owner | face that carries it: of a from 0, of b from the face count of a  | (cap,)    |
    | xyz   | world vertices [m], counter-clockwise seen from outside       | (cap, 3)  |
    | plane | x, y on the contact plane and half-depth h of each vertex [m] | (cap, 3)  |
    | slope | side (+1 front, −1 back), dh/dx, dh/dy, |N·n| of each polygon     | (cap, 4)  |
    | clip  | scratch of the clipping                                       | (cap,)    |
    """

    start: IntArray
    owner: IntArray
    xyz: Array
    plane: Array
    slope: Array
    clip: Array


class Work(NamedTuple):
    """Scratch, sized once; undefined between steps except `pairs` and `world.fat`."""

    pairs: Pairs
    world: World
    tree: Tree
    soup: Soup
    sums: Array  # integrals of the pairs of two bodies, shape (cap, NS)
    solver: Solver
    times: LongArray  # spent in each stage since the call began, last lap [ns], shape (NT,)


# What a kernel run reports; the front turns it into growth or an exception.
OK, PAIRS_FULL, SOUP_FULL, NOT_FINITE, SOLVER_FULL = 0, 1, 2, 3, 4


def new_pairs(capacity: int) -> Pairs:
    """An empty pair table."""
    return Pairs(
        np.array([0, capacity], np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
        np.arange(capacity - 1, -1, -1, dtype=np.int32),
        np.zeros((capacity, NI), np.int32),
        np.zeros((capacity, NF)),
        np.zeros((capacity, NI), np.int32),
        np.zeros((capacity, NF)),
    )


def new_tree(parts: int, capacity: int) -> Tree:
    """Scratch of the broad phase for so many parts and pairs."""
    leaves = 1
    while leaves < parts:
        leaves *= 2
    return Tree(
        code=np.zeros(parts, np.int32),
        order=np.zeros(parts, np.int32),
        code2=np.zeros(parts, np.int32),
        order2=np.zeros(parts, np.int32),
        nodes=np.zeros((2 * leaves, 6)),
        leaf=np.zeros(parts, np.int32),
        left=np.zeros(parts, np.int32),
        moved=np.array([0, leaves, capacity], np.int32),
        keys=np.zeros(capacity, np.int64),
        owners=np.zeros(capacity, np.int32),
    )


def new_soup(capacity: int) -> Soup:
    """Room for `capacity` polygon vertices."""
    return Soup(
        np.zeros(capacity + 1, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 4)),
        np.zeros(2 * 3 * 1024 + 512),
    )
