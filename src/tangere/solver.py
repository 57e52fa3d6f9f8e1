"""Arrays of the implicit step: who touches whom, the unknowns, the contacts, the linear system.

As in `model`: named tuples of arrays, sized once; below the entry kernel the same tuples hold
pointers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.maths.vec import Array, IntArray, LongArray

NEI, NEF = 14, 119  # columns of Elements.ints and Elements.floats
# An island of more bodies than this is not factored.
SMALL = 150
BITS = 62  # per word of the bit sets of the ordering


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
    | block      | block of each edge in `Matrix.lower`, in a direct island      | (e,)    |
    | direct     | 1: island is factorised, 0: conjugate gradients               | (n,)    |
    | column     | first row of each place's column of the factor                | (n+1,)  |
    | row        | places of the rows                                            | (b,)    |
    | adjacency_start | first entry of each place in `adjacency`                 | (n+1,)  |
    | adjacency  | ends of edges at each place: twice the edge, plus 0 or 1      | (2e,)   |
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
    adjacency_start: IntArray
    adjacency: IntArray
    fill: IntArray
    degree: IntArray
    head: IntArray
    before: IntArray
    after: IntArray
    bits: LongArray


class Large(NamedTuple):
    """What only islands solved by conjugate gradients need: active set and partition.

    | field      | meaning                                                       | shape   |
    | split      | of each island, first place of its second half                | (n,)    |
    | state      | of a place: ACTIVE, ADJACENT to one that is, or HELD          | (n,)    |
    | active     | of each island, from its first place on: places of the active |         |
    |            | bodies, in the order of their ranks                           | (n,)    |
    | nearby     | the same of the active and the adjacent bodies                | (n,)    |
    | active_count, nearby_count | how many, of each island                      | (n,)    |
    | elements   | of each island, from its first on: elements of active bodies  | (c,)    |
    | element_count | how many, of each island                                   | (n,)    |
    | rank       | of a place, its index in `active`; −1: not active             | (n,)    |
    | second, separator | of each island, two ranks: bodies before `second` touch |       |
    |            | none from there to `separator`                                | (n,)    |
    | entry      | of each rank, first of its entries in `Matrix.links`: one for |         |
    |            | every edge to a lower rank                                    | (n,)    |
    | entries    | how many, of each island                                      | (n,)    |
    """

    split: IntArray
    state: IntArray
    active: IntArray
    nearby: IntArray
    active_count: IntArray
    nearby_count: IntArray
    elements: IntArray
    element_count: IntArray
    rank: IntArray
    second: IntArray
    separator: IntArray
    entry: IntArray
    entries: IntArray


class Matrix(NamedTuple):
    """Block-sparse system of the implicit step; diagonal by place, `x` by body.

    | field      | meaning                                                      | shape    |
    | diagonal   | blocks of the bodies, then their factors                     | (n, 36)  |
    | lower      | blocks below the diagonal, where it is factored              | (b, 36)  |
    | x          | right-hand side, then the solution                           | (n, 6)   |
    | links      | where it is not: rank, lower rank (−1: none after all) and   |          |
    |            | entry of `scaled`, of each edge in the order of ranks        | (e, 3)   |
    | bounds     | of each island, links in use: first, first of the second     |          |
    |            | half, first of those that stand between, end                 | (n, 4)   |
    | scaled     | blocks of edges; scaled then, and by columns                 | (e, 36)  |
    | y, r, p, t, f | vectors of the conjugate gradients, by rank; p, t, f and  |          |
    |            | scaled in single precision                                   | (n, 6)   |
    | sums       | of the parts of a task, see `implicit.task_queue`                  | (n,)     |
    """

    diagonal: Array
    lower: Array
    x: Array
    links: IntArray
    bounds: IntArray
    scaled: Array
    y: Array
    r: Array
    p: Array
    t: Array
    f: Array
    sums: Array


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
    | unbalance  | residual of each body [m/s]                                  | (n,)      |
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
    unbalance: Array


class Elements(NamedTuple):
    """Elements (contacts and springs) of one implicit step, see elements.columns.

    | field  | meaning                                                     | shape      |
    | used   | elements, polygons and fan points in use                    | (3,)       |
    | ints   | see `EI_…`                                                  | (c, NEI)   |
    | floats | see `EF_…`                                                  | (c, NEF)   |
    | corners | corners of each polygon of a patch                         | (p,)       |
    | fan    | x, y about the centre and depth: apex, then corners         | (v, 3)     |
    | slip_z | friction over its limit at the points of the triangle that  |            |
    |        | ends at this corner, a vector z each, of the last iteration |            |
    |        | (a guess, so single precision does)                         | (v, 12)    |
    | start  | first entry of each island in `list`                        | (n+1,)     |
    | list   | elements by island                                          | (c,)       |
    | first  | first element of each edge of the graph                     | (c,)       |
    """

    used: LongArray
    ints: IntArray
    floats: Array
    corners: IntArray
    fan: Array
    slip_z: Array
    start: IntArray
    list: IntArray
    first: IntArray


class Solver(NamedTuple):
    """Everything the implicit step needs beside the pairs."""

    graph: Graph
    large: Large
    matrix: Matrix
    ahead: Ahead
    elements: Elements
    report: Array  # of the last step, see REPORT_…, shape (NR,)
    residual: Array  # of each island after its solve [m/s], shape (n,)
    losses: Array  # of each island, see LOSS_… [J], shape (n, NL)
    queue: LongArray  # work that several threads share, see implicit.task_queue, shape (NQ,)
    given: Array  # a number that goes with it, shape (1,)


# Entries of Solver.report
REPORT_PASSES, REPORT_SOLVES = 0, 1  # looks at the geometry, linear solves
REPORT_RESIDUAL = 2  # greatest unbalanced impulse over mass [m/s]
NR = 3
# Columns of Solver.losses [J]
LOSS_STEP = 0  # ½ |Δv|² M, what the step took from the bodies
LOSS_FRICTION = 1  # what friction took
LOSS_KEPT = 2  # what contacts have in reserve, beyond as much again as their springs hold
LOSS_WANTED = 3  # what those that are too deep would like to have of it
NL = 4
NQ = 24  # words of Solver.queue
# Entries of Large.state
ACTIVE, ADJACENT, HELD = 0, 1, 2


def new_solver(bodies: int, fixed: int, contacts: int, corners: int, blocks: int) -> Solver:
    """Arrays of the implicit step for so many bodies, and room for the rest."""
    n, all_ = bodies, bodies + fixed + 1  # the world itself comes last

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, np.int32)

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
            adjacency_start=ints(n + 1),
            adjacency=ints(2 * contacts),
            fill=ints(n + 1),
            degree=ints(n),
            head=ints(n),
            before=ints(n),
            after=ints(n),
            bits=np.zeros(SMALL * (SMALL // BITS + 1), np.int64),
        ),
        Large(
            split=ints(n),
            state=ints(n),
            active=ints(n),
            nearby=ints(n),
            active_count=ints(n),
            nearby_count=ints(n),
            elements=ints(contacts),
            element_count=ints(n),
            rank=ints(n),
            second=ints(n),
            separator=ints(n),
            entry=ints(n),
            entries=ints(n),
        ),
        Matrix(
            diagonal=np.zeros((n, 36)),
            lower=np.zeros((blocks, 36)),
            x=np.zeros((n, 6)),
            links=ints(contacts, 3),
            bounds=ints(n, 4),
            scaled=np.zeros((contacts, 36), np.float32),
            y=np.zeros((n, 6)),
            r=np.zeros((n, 6)),
            p=np.zeros((n, 6), np.float32),
            t=np.zeros((n, 6), np.float32),
            f=np.zeros((n, 6), np.float32),
            sums=np.zeros(n),
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
            unbalance=np.zeros(n),
        ),
        Elements(
            used=np.zeros(3, np.int64),
            ints=ints(contacts, NEI),
            floats=np.zeros((contacts, NEF)),
            corners=ints(corners),
            fan=np.zeros((corners, 3)),
            slip_z=np.zeros((corners, 12), np.float32),
            start=ints(n + 1),
            list=ints(contacts),
            first=ints(contacts),
        ),
        report=np.zeros(NR),
        residual=np.zeros(n),
        losses=np.zeros((n, NL)),
        queue=np.zeros(NQ, np.int64),
        given=np.zeros(1),
    )
