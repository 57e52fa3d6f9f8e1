"""The contact problem of one step: its rows, and the arrays that hold them.

Contacts join body a and body b (normal n from a to b, gap g = n·(p_b − p_a)); per contact there are
three rows, along n, t1 and t2. Unknown are the forces f on b:

    δ = W f + δ_free,    0 ≤ δ_n ⊥ f_n ≥ 0,    |f_t| ≤ μ f_n, against δ_t where it slips

δ_n is the gap at the end of the step, δ_t the way that the two material points slip within it.
W = Σ J C Jᵀ over the bodies, the Delassus operator [m/N], plus what a contact itself yields.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangere.bodies.soft import SoftBodies, SoftState
from tangere.collision.feature_pairs import FeaturePairs
from tangere.collision.surfaces import Surfaces
from tangere.collision.thinning import ThinScratch
from tangere.friction.problem import DENSE, Problem, Scratch, new_scratch
from tangere.maths.vec import Array, IntArray, LongArray

# Columns of Contacts.ints
CI_A, CI_B = 0, 1  # bodies; floors follow after the last body
CI_PAIR = 2  # slot of the pair of rigid parts; or −1 − row of SoftPairs
CI_GROUP = 3
CI_STATE = 4  # see below
CI_NODES = 5  # 3 each: nodes of soft body a and b that the point hangs on; or its name
NCI = 11
OPEN, STICK, SLIP = 0, 1, 2

# Columns of Contacts.floats
CF_POINT = 0  # 3: point on b [m]
CF_N, CF_T1, CF_T2 = 3, 6, 9  # 3 each: unit normal from a to b, tangents
CF_GAP = 12  # at the start of the step [m]
CF_MU = 13  # friction coefficient
CF_FORCE = 14  # 3: on b, along n, t1, t2 [N]
CF_MOTION = 17  # 3: of the bodies within the step: change of the gap, slip along t1, t2 [m]
CF_BOUNCE = 20  # restitution; from `set_rebounds` on the speed at which it has to part [m/s]
CF_WEIGHTS = 21  # 3 each: weights of those nodes; 0: none
CF_FREE = 27  # 3: δ_free [m]
CF_CURVATURE = 30  # κ of the surface that the point is on [1/m]: Hessian κ (1 − n nᵀ − e eᵀ), …
CF_STRAIGHT = 31  # 3: … e the direction in which it is straight; zero: none
CF_EXPECTED_SLIP = 34  # 2: d* along t1 and t2, the way for which the normal is tilted [m]
CF_MU_KINETIC = 36  # coefficient for one that slips
CF_YIELDS = 37  # c: what the contact itself yields to its normal force; 0: it is rigid [m/N]
CF_STIFFNESS = 38  # k of one that yields [N/m]
CF_STRETCH = 39  # s of its spring: at the start of the step, then at the end [m]
CF_SPRING = 40  # share of s that it presses with beside its damper; < 0: it does not touch yet
CF_AREA = 41  # of the surface that the contact stands for; 0: a point [m²]
NCF = 42
NJ = 18  # a row of Contacts.jacobian: 3 x 6
# Groups of more contacts have no W but their Jacobians, unless there is a soft body among them.
MOST_DENSE = 96


class Contacts(NamedTuple):
    """Contacts of a step, and of the step before.

    | field       | meaning                                                     | shape       |
    | used        | contacts of this step, of the last one, groups, r           | (4,)        |
    | ints        | see `CI_…`                                                  | (c, NCI)    |
    | floats      | see `CF_…`                                                  | (c, NCF)    |
    | last_ints, last_floats | the same of the last step                        | …           |
    | jacobian    | J of side a and side b: δ = J Δq, signed                    | (c, 2, NJ)  |
    | response    | S⁻¹ Jᵀ of both sides: Δq of a force                         | (c, 2, NJ)  |
    | axes        | ±(n, t1, t2) in the frame of each side, if that is soft     | (c, 2, 9)   |
    | modal       | J of the modes of each side, r of them, if that is soft     | (c, 2, 3, r) |
    | order       | contacts by group                                           | (c,)        |
    | group_start | first place of each group in `order`, plus the end          | (c+1,)      |
    | parent      | union-find of the bodies                                    | (n+f,)      |
    | label       | group of each root; then number of a body within a group    | (n+f,)      |
    """

    used: LongArray
    ints: IntArray
    floats: Array
    last_ints: IntArray
    last_floats: Array
    jacobian: Array
    response: Array
    axes: Array
    modal: Array
    order: IntArray
    group_start: IntArray
    parent: IntArray
    label: IntArray


class Bodies(NamedTuple):
    """Free motion of the bodies within the step.

    | field    | meaning                                                            | shape      |
    | start    | twist at the start of the step                                     | (n+f, 6)   |
    | free     | twist at the end of the step without contacts                      | (n+f, 6)   |
    | inverse  | S⁻¹: change of pose per wrench within the step [m/N, …]            | (n+f, 36)  |
    | matrix   | S of bodies on springs while it is summed up, right-hand side      | (n+f, 42)  |
    """

    start: Array
    free: Array
    inverse: Array
    matrix: Array


# Columns of SoftPairs.rows
SP_SURFACE = 0  # soft surface
SP_KIND = 1  # what the other is, see below
SP_OTHER = 2  # surface, part or floor
SP_BODY_A, SP_BODY_B = 3, 4  # bodies of surface and other
SP_FIRST, SP_LAST = 5, 6  # contacts of the last step
NSP = 7
ON_SURFACE, ON_SOLID, ON_FLOOR = 0, 1, 2


class SoftPairs(NamedTuple):
    """What soft surfaces can touch, fixed with the scene."""

    used: IntArray  # number of pairs, and of surfaces, shape (2,)
    rows: IntArray  # see SP_…, shape (p, NSP)


class SoftWork(NamedTuple):
    """Soft bodies of a scene, their surfaces, and scratch to find their contacts.

    | field     | meaning                                                   | shape |
    | model     | elasticity                                                |       |
    | state     | displacements                                             |       |
    | surfaces  | soft ones first; of rigid bodies those that are not round |       |
    | pairs     | what can touch what                                       |       |
    | radius    | of the surfaces of each body about its centre of mass [m] | (n+f,) |
    | features  | feature pairs of one pair of bodies                       | (n,)  |
    | predicted | gap of each at the end of the step without contacts [m]   | (n,)  |
    | carried   | 1: it carried force in the last step                      | (n,)  |
    | thinning  | scratch of the cap                                        |       |
    | chosen    | features that become contacts                             | (n,)  |
    """

    model: SoftBodies
    state: SoftState
    surfaces: Surfaces
    pairs: SoftPairs
    radius: Array
    features: FeaturePairs
    predicted: Array
    carried: IntArray
    thinning: ThinScratch
    chosen: IntArray


class System(NamedTuple):
    """The problem of one group as the solver takes it, in the group's order."""

    problem: Problem  # W and δ_free as q; see `MOST_DENSE`
    f: Array  # forces, the guess first [N], shape (3k,)
    scratch: Scratch


class ContactWork(NamedTuple):
    """All that a step needs beside the scene."""

    bodies: Bodies
    contacts: Contacts
    system: System
    soft: SoftWork
    report: Array  # see steppers.unilateral REPORT_…
    held: Array  # energy of the contacts' springs, of all of them [J], shape (1,)


def new_contacts(bodies: int, capacity: int, modes: int) -> Contacts:
    """Room for so many contacts, and for the modes of a soft body."""

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, np.int32)

    return Contacts(
        used=np.array([0, 0, 0, modes]),
        ints=ints(capacity, NCI),
        floats=np.zeros((capacity, NCF)),
        last_ints=ints(capacity, NCI),
        last_floats=np.zeros((capacity, NCF)),
        jacobian=np.zeros((capacity, 2, NJ)),
        response=np.zeros((capacity, 2, NJ)),
        axes=np.zeros((capacity, 2, 9)),
        modal=np.zeros((capacity, 2, 3, modes)),
        order=ints(capacity),
        group_start=ints(capacity + 1),
        parent=ints(bodies),
        label=ints(bodies),
    )


def new_bodies(bodies: int) -> Bodies:
    """Room for the free motion of so many bodies."""
    return Bodies(
        np.zeros((bodies, 6)),
        np.zeros((bodies, 6)),
        np.zeros((bodies, 36)),
        np.zeros((bodies, 42)),
    )


def new_system(capacity: int, dense: int, bodies: int) -> System:
    """Room for a group of so many contacts, with a dense W of so many, and for so many bodies."""
    problem = Problem(
        W=np.zeros(max(9 * dense * dense, 2 * NJ * capacity)),
        response=np.zeros(2 * NJ * capacity),
        starts=np.array([DENSE, 0], np.int32),
        columns=np.zeros(2 * capacity, np.int32),
        soft=np.zeros(capacity),
        q=np.zeros(3 * capacity),
        mu=np.zeros(capacity),
    )
    return System(problem, np.zeros(3 * capacity), new_scratch(capacity, bodies))
