"""Arrays of the implicit step: who touches whom, the unknowns, the contacts, the linear system.

As in `model`: named tuples of arrays, sized once; below the entry kernel the same tuples hold
pointers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere._jit import kernel
from tangere._ptr import ptr
from tangere.maths.vec import Array, IntArray, LongArray

NTI, NTF = 11, 78  # columns of Touches.ints and Touches.floats


class Graph(NamedTuple):
    """Bodies joined by contacts and springs: islands, and the order of elimination.

    | field      | meaning                                                       | shape   |
    | known      | edges and islands the rest was found for; −1: none            | (2,)    |
    | fresh      | edges of this step: two bodies, −1 for a fixed one            | (e, 2)  |
    | edges      | edges the islands were found for                              | (e, 2)  |
    | parent     | union-find; −1: the body touches nothing                      | (n,)    |
    | island     | of each body; −1: none                                        | (n,)    |
    | start      | first place of each island, plus the end                      | (n+1,)  |
    | member     | body at each place, in the order of elimination               | (n,)    |
    | place      | of each body                                                  | (n,)    |
    | edge_start | first entry of each island in `edge_list`                     | (n+1,)  |
    | edge_list  | edges by island                                               | (e,)    |
    | block      | block of each edge in `Matrix.lower`; −1: none                | (e,)    |
    | direct     | 1: island is factorised, 0: conjugate gradients               | (n,)    |
    | column     | first row of each place's column of the factor                | (n+1,)  |
    | row        | places of the rows                                            | (b,)    |
    | still      | 1: the body at this place is held still for now               | (n,)    |
    | fill, degree, head, before, after, bits | scratch of the ordering          | …       |
    """

    known: IntArray
    fresh: IntArray
    edges: IntArray
    parent: IntArray
    island: IntArray
    start: IntArray
    member: IntArray
    place: IntArray
    edge_start: IntArray
    edge_list: IntArray
    block: IntArray
    direct: IntArray
    column: IntArray
    row: IntArray
    still: IntArray
    fill: IntArray
    degree: IntArray
    head: IntArray
    before: IntArray
    after: IntArray
    bits: LongArray


class Matrix(NamedTuple):
    """Block-sparse system of the implicit step; diagonal by place, vectors by body.

    | field      | meaning                                          | shape    |
    | diagonal   | blocks of the bodies, then their factors         | (n, 36)  |
    | lower      | blocks below the diagonal                        | (b, 36)  |
    | x          | right-hand side, then the solution               | (n, 6)   |
    | r, p, q    | scratch of the conjugate gradients               | (n, 6)   |
    """

    diagonal: Array
    lower: Array
    x: Array
    r: Array
    p: Array
    q: Array


class Ahead(NamedTuple):
    """Where the bodies will be at the end of the step, as far as known.

    | field      | meaning                                                      | shape     |
    | position, quaternion, rotation | pose reached with `guess`, as in `State` | …         |
    | guess      | twist the contact geometry was found with                    | (n+f, 6)  |
    | twist      | end-of-step twist: the unknown (linear [m/s], angular [rad/s]) | (n+f, 6) |
    | free       | twist without contacts and springs                           | (n+f, 6)  |
    | base       | twist before the present Newton step                         | (n+f, 6)  |
    | gradient   | of the step problem                                          | (n+f, 6)  |
    | inertia    | world tensor at the start of the step                        | (n+f, 9)  |
    """

    position: Array
    quaternion: Array
    rotation: Array
    guess: Array
    twist: Array
    free: Array
    base: Array
    gradient: Array
    inertia: Array


class Touches(NamedTuple):
    """Contacts (and springs) of one implicit step, see contact.implicit.record.

    | field  | meaning                                                     | shape      |
    | used   | contacts, polygons and fan points in use                    | (3,)       |
    | ints   | see `TI_…`                                                  | (c, NTI)   |
    | floats | see `TF_…`                                                  | (c, NTF)   |
    | corners | corners of each polygon of a patch                         | (p,)       |
    | fan    | x, y about the centre and depth: apex, then corners         | (v, 3)     |
    | rub    | friction over its limit at the points of the triangle that  |            |
    |        | ends at this corner, as a vector each, by the last round    | (v, 12)    |
    | start  | first entry of each island in `list`                        | (n+1,)     |
    | list   | contacts by island                                          | (c,)       |
    """

    used: IntArray
    ints: IntArray
    floats: Array
    corners: IntArray
    fan: Array
    rub: Array
    start: IntArray
    list: IntArray


class Solver(NamedTuple):
    """Everything the implicit step needs beside the pairs."""

    graph: Graph
    matrix: Matrix
    ahead: Ahead
    touches: Touches
    report: Array  # of the last step, see REPORT_…, shape (NR,)
    residual: Array  # of each island after its solve [m/s], shape (n,)
    queue: LongArray  # islands that wait to be solved, see contact.implicit.share, shape (NQ,)


# Entries of Solver.report
REPORT_PASSES, REPORT_SOLVES = 0, 1  # looks at the geometry, linear solves
REPORT_RESIDUAL = 2  # greatest unbalanced impulse over mass [m/s]
REPORT_GOAL = 3  # residual that the islands in the queue are solved to [m/s]
NR = 4
NQ = 4  # columns of Solver.queue


@kernel
def solver_pointers(v: Solver) -> Solver:
    """The implicit step's arrays as pointers."""
    g, a, h, t = v.graph, v.matrix, v.ahead, v.touches
    return Solver(
        Graph(
            ptr(g.known),
            ptr(g.fresh),
            ptr(g.edges),
            ptr(g.parent),
            ptr(g.island),
            ptr(g.start),
            ptr(g.member),
            ptr(g.place),
            ptr(g.edge_start),
            ptr(g.edge_list),
            ptr(g.block),
            ptr(g.direct),
            ptr(g.column),
            ptr(g.row),
            ptr(g.still),
            ptr(g.fill),
            ptr(g.degree),
            ptr(g.head),
            ptr(g.before),
            ptr(g.after),
            ptr(g.bits),
        ),
        Matrix(
            ptr(a.diagonal),
            ptr(a.lower),
            ptr(a.x),
            ptr(a.r),
            ptr(a.p),
            ptr(a.q),
        ),
        Ahead(
            ptr(h.position),
            ptr(h.quaternion),
            ptr(h.rotation),
            ptr(h.guess),
            ptr(h.twist),
            ptr(h.free),
            ptr(h.base),
            ptr(h.gradient),
            ptr(h.inertia),
        ),
        Touches(
            ptr(t.used),
            ptr(t.ints),
            ptr(t.floats),
            ptr(t.corners),
            ptr(t.fan),
            ptr(t.rub),
            ptr(t.start),
            ptr(t.list),
        ),
        ptr(v.report),
        ptr(v.residual),
        ptr(v.queue),
    )


def new_solver(bodies: int, fixed: int, contacts: int, corners: int, blocks: int) -> Solver:
    """Arrays of the implicit step for so many bodies, and room for the rest."""
    n, all_ = bodies, bodies + fixed + 1  # the world itself comes last

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, np.int32)

    longest = min(n, 16_000)
    return Solver(
        Graph(
            known=np.array([-1, 0], np.int32),
            fresh=ints(contacts, 2),
            edges=ints(contacts, 2),
            parent=ints(n),
            island=ints(n),
            start=ints(n + 1),
            member=ints(n),
            place=ints(n),
            edge_start=ints(n + 1),
            edge_list=ints(contacts),
            block=ints(contacts),
            direct=ints(n),
            column=ints(n + 1),
            row=ints(blocks),
            still=ints(n),
            fill=ints(n + 1),
            degree=ints(n),
            head=ints(n),
            before=ints(n),
            after=ints(n),
            bits=np.zeros(longest * (longest // 62 + 1), np.int64),
        ),
        Matrix(
            diagonal=np.zeros((n, 36)),
            lower=np.zeros((blocks, 36)),
            x=np.zeros((n, 6)),
            r=np.zeros((n, 6)),
            p=np.zeros((n, 6)),
            q=np.zeros((n, 6)),
        ),
        Ahead(
            position=np.zeros((all_, 3)),
            quaternion=np.zeros((all_, 4)),
            rotation=np.zeros((all_, 9)),
            guess=np.zeros((all_, 6)),
            twist=np.zeros((all_, 6)),
            free=np.zeros((all_, 6)),
            base=np.zeros((all_, 6)),
            gradient=np.zeros((all_, 6)),
            inertia=np.zeros((all_, 9)),
        ),
        Touches(
            used=ints(3),
            ints=ints(contacts, NTI),
            floats=np.zeros((contacts, NTF)),
            corners=ints(corners),
            fan=np.zeros((corners, 3)),
            rub=np.zeros((corners, 12)),
            start=ints(n + 1),
            list=ints(contacts),
        ),
        report=np.zeros(NR),
        residual=np.zeros(n),
        queue=np.zeros(NQ, np.int64),
    )
