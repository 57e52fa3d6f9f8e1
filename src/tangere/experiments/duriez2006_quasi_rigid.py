"""Quasi-rigid: a rigid block has many contact forces, one with the elasticity of its material one.

A cube lies on its four lower corners and is pushed sideways, less than friction can hold,
[DURIEZ2006] Fig. 13. As a rigid body it has six equations for twelve force components:

    W = J (A/Δt²)⁻¹ Jᵀ                    (rigid: rank 6)
    W = J (A/Δt²)⁻¹ Jᵀ + H C Hᵀ           (eq. 30, corotational)

so that Gauss–Seidel finds other forces for every order of the contacts and every start, all of
which obey the laws and hold the cube still. With the compliance C of its finite elements, about
mean axes, W is regular and the forces are unique. Both problems are those of a step of a cube at
rest,

    δ_free = J (Δt v + (A/Δt²)⁻¹ Γ) − H C Hᵀ f_last,

Γ the load, solved in random orders from random starts. The corotational cube is brought to rest by
such steps, from no deformation.

Beside them both cubes are simulated by the signorini method. The first step of the soft cube must
give the forces of its problem (with all nodes of its lower face as contacts), and both must come to
rest and stay where they are under the same resultant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.experiments.pressed_table import FRAME, contact_rows
from tangere.fem.compliance import CondensedBody, condense
from tangere.fem.grids import box_grid, feet
from tangere.fem.material import ElasticMaterial
from tangere.fem.surface_stress import surface_stress
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, LongArray
from tangere.simulation import SoftBodyState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tangere.geometry.tetmesh import TetMesh

RIGID, SOFT = "rigid", "corotational"
TOLERANCE = 1e-13  # of Gauss–Seidel
UNIQUE, STILL = 1e-8, 1e-9  # claimed: forces [N], motion [m]
SHADES = {RIGID: "#d9822b", SOFT: COLOURS["signorini"]}
PLAN = 45.0  # length of friction forces in the plan [mm/N]
ARROWS = 0.03  # length of forces in the pictures [m/N]
MAGNIFIED = 100.0  # displacements in the pictures
DARKEST = 2e3  # von Mises stress in the pictures [Pa]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    edge: float = 0.06
    cells: int = 3
    young: float = 1e6
    poisson: float = 0.3
    density: float = 1000.0
    friction: float = 0.6
    push: tuple[float, float] = (0.5, 0.2)
    gravity: float = 9.81
    dt: float = 1e-3
    starts: int = 12
    seed: int = 2
    settle_seconds: float = 1.0
    rest_seconds: float = 0.2

    @property
    def mass(self) -> float:
        """Of the cube [kg]."""
        return self.density * self.edge**3

    @property
    def load(self) -> Array:
        """Push and weight [N], shape (3,)."""
        return np.array([*self.push, -self.mass * self.gravity])


@dataclass(frozen=True)
class Block:
    """The cube as its contacts see it.

    Attributes:
        jacobian: J, motion of the contacts by that of the frame (3m, 6).
        mobility: Diagonal of (A/Δt²)⁻¹ (6,).
        elastic: H C Hᵀ [m/N], zero if it is rigid (3m, 3m).
    """

    jacobian: Array
    mobility: Array
    elastic: Array

    @property
    def W(self) -> Array:
        """Delassus operator [m/N]."""
        return np.asarray((self.jacobian * self.mobility) @ self.jacobian.T + self.elastic)

    def free_gaps(self, p: Params, twist: Array, forces: Array) -> Array:
        """δ_free of a step after one with such contact forces, at such a twist of the frame."""
        way = p.dt * twist + self.mobility * np.r_[p.load, np.zeros(3)]
        return np.asarray(self.jacobian @ way - self.elastic @ forces)


@dataclass(frozen=True)
class Solutions:
    """All solutions of one problem.

    Attributes:
        forces: Along n, t1, t2 of every contact (starts, m, 3) [N].
        motion: Of every contact in the step, the same axes [m].
        errors: Natural map over the force scale (starts,).
        condition: Of W.
    """

    forces: Array
    motion: Array
    errors: Array
    condition: float

    @property
    def spread(self) -> float:
        """Largest difference of a force component between two solutions [N]."""
        return float(np.ptp(self.forces, axis=0).max())

    @property
    def resultant_spread(self) -> float:
        """The same of the sum over the contacts [N]."""
        return float(np.ptp(self.forces.sum(axis=1), axis=0).max())

    @property
    def slip(self) -> float:
        """Largest tangential motion of a contact [m]."""
        return float(np.linalg.norm(self.motion[..., 1:], axis=-1).max())


@dataclass(frozen=True)
class Rest:
    """A simulated cube: resultant at the end [N], and creep of its surface after it [m]."""

    resultant: Array
    creep: float


@dataclass(frozen=True)
class Result:
    """Solutions of both problems, simulations of both cubes, and what the first step differs by."""

    params: Params
    body: CondensedBody
    corners: LongArray
    solutions: dict[str, Solutions]
    rests: dict[str, Rest]
    first_step: float


def run(params: Params, tell: Tell = silent) -> Result:
    """Both problems in random orders from random starts; both cubes simulated."""
    p = params
    tell(0.0, "compliance of the cube")
    mesh = cube(p)
    body = condense(mesh, ElasticMaterial(p.young, p.poisson, p.density), order=1)
    lower = np.searchsorted(body.nodes, feet(mesh)).astype(np.int64)
    at_corner = np.abs(body.positions[lower, :2]) > 0.5 * p.edge * (1.0 - 1e-9)
    corners = lower[at_corner.all(axis=1)]
    tell(0.2, "orders and starts")
    blocks = {name: block(p, body, corners, soft=name == SOFT) for name in (RIGID, SOFT)}
    solutions = {name: solve_all(p, each.W, gaps_at_rest(p, each)) for name, each in blocks.items()}
    rests = {}
    for i, name in enumerate(solutions):
        tell(0.4 + 0.3 * i, f"simulation, {name}")
        rests[name] = rest(p, mesh, soft=name == SOFT)
    return Result(p, body, corners, solutions, rests, _first_step(p, mesh, body, lower))


def cube(p: Params) -> TetMesh:
    """The cube's mesh about its centre."""
    return box_grid((p.edge,) * 3, (p.cells,) * 3)


def block(p: Params, body: CondensedBody, nodes: LongArray, *, soft: bool) -> Block:
    """The cube on contacts at nodes of its lower face: normals up, tangents along x and y."""
    J = np.empty((len(nodes), 3, 6))
    for c, (x, y, z) in enumerate(body.positions[nodes]):
        turn = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        J[c] = np.hstack([np.eye(3), turn])[FRAME]
    inertia = p.mass * p.edge**2 / 6.0
    mobility = p.dt**2 / np.r_[np.full(3, p.mass), np.full(3, inertia)]
    own = (3 * nodes[:, None] + FRAME).ravel()
    elastic = body.compliance[np.ix_(own, own)] * float(soft)
    return Block(J.reshape(-1, 6), mobility, elastic)


def gaps_at_rest(p: Params, cube: Block) -> Array:
    """δ_free of a step after the cube has come to rest [m], shape (3m,)."""
    twist, forces = np.zeros(6), np.zeros(len(cube.jacobian))
    load = np.r_[p.load, np.zeros(3)]
    for _ in range(round(p.settle_seconds / p.dt)):
        q = cube.free_gaps(p, twist, forces)
        forces = tg.solve_friction(cube.W, q, p.friction, tolerance=1e-12, initial=forces).r
        twist = twist + cube.mobility * (load + cube.jacobian.T @ forces) / p.dt
    return cube.free_gaps(p, twist, forces)


def solve_all(p: Params, W: Array, q: Array) -> Solutions:
    """The problem as it is, then with the contacts in random orders from random forces."""
    rng = np.random.default_rng(p.seed)
    m = len(q) // 3
    forces, motion = np.empty((p.starts, m, 3)), np.empty((p.starts, m, 3))
    errors = np.empty(p.starts)
    for i in range(p.starts):
        order = np.arange(m)
        start = np.zeros((m, 3))
        if i > 0:
            order = rng.permutation(m)
            start[:, 0] = rng.uniform(0.0, 2.0) * p.mass * p.gravity / m
            start[:, 1] = rng.uniform(-0.2, 0.2, m)
        rows = contact_rows(order)
        found = tg.solve_friction(
            W[np.ix_(rows, rows)], q[rows], p.friction, tolerance=TOLERANCE,
            initial=start.ravel(), solver="gs",
        )  # fmt: skip
        forces[i, order], motion[i, order] = found.r.reshape(m, 3), found.u.reshape(m, 3)
        errors[i] = found.error
    return Solutions(forces, motion, errors, float(np.linalg.cond(W)))


def simulation(p: Params, mesh: TetMesh, *, soft: bool) -> tg.Simulation:
    """The cube on a floor, pushed by gravity that leans."""
    material = tg.Material(p.friction, p.friction)
    scene = tg.Scene(gravity=tuple(p.load / p.mass))
    scene.add_floor(material=material)
    place = (0.0, 0.0, 0.5 * p.edge)
    if soft:
        scene.add_soft_body(
            mesh, young=p.young, poisson=p.poisson, density=p.density, order=1, modes=0,
            damping=0.0, position=place, material=material, name="cube",
        )  # fmt: skip
    else:
        shape = tg.Box((p.edge,) * 3)
        scene.add_body(shape, density=p.density, position=place, material=material, name="cube")
    return tg.Simulation(scene, method=tg.Signorini(tolerance=1e-11), dt=p.dt)


def rest(p: Params, mesh: TetMesh, *, soft: bool) -> Rest:
    """Let the cube settle, then see whether it creeps."""
    sim = simulation(p, mesh, soft=soft)
    sim.step(round(p.settle_seconds / p.dt))
    before = _surface(p, sim)
    sim.step(round(p.rest_seconds / p.dt))
    force, _ = sim["cube"].contact_wrench
    way = np.linalg.norm(_surface(p, sim) - before, axis=1)
    return Rest(np.array(force), float(way.max()))


def _surface(p: Params, sim: tg.Simulation) -> Array:
    """Points of the cube's surface [m]: nodes, or the corners of the rigid one."""
    state = sim["cube"]
    if isinstance(state, SoftBodyState):
        return np.array(state.vertices)
    corners, _ = tg.Box((p.edge,) * 3).surface()
    return np.asarray(state.position + corners @ rotation_of(state.orientation).T)


def _first_step(p: Params, mesh: TetMesh, body: CondensedBody, lower: LongArray) -> float:
    """Largest difference of a force between the first step and its problem [N]."""
    sim = simulation(p, mesh, soft=True)
    sim.step()
    alone = block(p, body, lower, soft=True)
    q = alone.free_gaps(p, np.zeros(6), np.zeros(3 * len(lower)))
    solved = tg.solve_friction(alone.W, q, p.friction, tolerance=1e-12).r.reshape(-1, 3)
    contacts = sim.contacts
    expected = np.zeros((len(lower), 3))
    points = body.positions[lower] + [0.0, 0.0, 0.5 * p.edge]
    for row in contacts:
        node = int(np.argmin(np.linalg.norm(points - row["point"], axis=1)))
        # the force of a row acts on body b: the cube or the floor
        sign = 1.0 if row["normal"][2] > 0.0 else -1.0
        expected[node] += sign * row["force"][FRAME]
    return float(np.abs(solved - expected).max())


def check(result: Result) -> list[Claim]:
    """Many forces for the rigid cube, one set for the other, the same motion: none."""
    rigid, soft = result.solutions[RIGID], result.solutions[SOFT]
    resultants = np.concatenate([each.forces.sum(axis=1) for each in (rigid, soft)])
    apart = float(np.ptp(resultants, axis=0).max())
    slip = max(rigid.slip, soft.slip)
    error = max(float(each.errors.max()) for each in (rigid, soft))
    off_load = max(
        float(np.abs(each.resultant + result.params.load).max()) for each in result.rests.values()
    )
    creep = max(each.creep for each in result.rests.values())
    starts = result.params.starts
    return [
        Claim("rigid-spread", f"rigid: forces of {starts} orders and starts differ by more than "
              "0.01 N", "not unique; 0.47 N", rigid.spread, "N", rigid.spread > 1e-2),
        Claim("soft-spread", "corotational: they differ by less than 1e-8 N",
              "one solution; 9e-13 N", soft.spread, "N", soft.spread < UNIQUE),
        Claim("resultants", "the resultants of all solutions of both are equal to 1e-8 N",
              "1e-11 N", apart, "N", apart < UNIQUE),
        Claim("still", "contact points do not move: slip below 1e-9 m in all solutions",
              "the body does not move", slip, "m", slip < STILL),
        Claim("solved", f"the laws are met to {TOLERANCE:g} of the force scale", "0", error, "",
              error <= TOLERANCE),
        Claim("first-step", "the first step of the simulated soft cube gives the forces of its "
              "problem to 1e-7 N", "the same", result.first_step, "N",
              result.first_step <= 1e-7),
        Claim("rest", "both simulated cubes come to rest under the load: resultant equal to it to "
              "1e-8 N", f"{np.linalg.norm(result.params.load):.5g} N", off_load, "N",
              off_load < UNIQUE),
        Claim("creep", "both simulated cubes stay: no point creeps by 1e-9 m in "
              f"{result.params.rest_seconds:g} s", "0", creep, "m", creep < STILL),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """Spreads and condition numbers of both."""
    rows = []
    for who, each in result.solutions.items():
        rows += [
            Reading("spread of contact forces", who, each.spread, "N"),
            Reading("spread of the resultant", who, each.resultant_spread, "N"),
            Reading("largest slip", who, each.slip, "m"),
            Reading("condition number of W (reference: 1e17 and 3.2)", who, each.condition, ""),
            Reading("creep in the simulation", who, result.rests[who].creep, "m"),
        ]
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 13 from above: friction of all solutions at the four corners, and normal forces."""
    figure, axes = canvas(
        "The cube from above (Duriez et al. 2006, Fig. 13): friction at its four corners as arrows "
        "and their limits μ f_n as circles, one of each for every order and start; the black arrow "
        "is the push. Left: rigid. Middle: corotational, where all are the same. Right: normal "
        "forces.",
        columns=3,
        size=(9.4, 3.6),
    )
    for at, name in zip(axes, result.solutions, strict=False):
        _plan(at, result, name)
    right = axes[2]
    for i, (name, each) in enumerate(result.solutions.items()):
        corners = np.arange(1, each.forces.shape[1] + 1)
        for c, values in zip(corners, each.forces[:, :, 0].T, strict=True):
            place = np.full(len(values), c + 0.24 * (i - 0.5))
            right.plot(place, values, "_", ms=9, mew=1.4, color=SHADES[name],
                       label=name if c == 1 else None)  # fmt: skip
    right.set_xticks(corners)
    right.set_xlabel("corner")
    right.set_ylabel("normal force [N]")
    right.set_ylim(0.0, 1.25 * right.get_ylim()[1])
    right.legend(loc="upper left", ncols=2)
    return [figure]


def _plan(axes: Axes, result: Result, name: str) -> None:
    """Arrows and circles of all solutions of one problem."""
    from matplotlib.patches import Circle, Rectangle

    p, each = result.params, result.solutions[name]
    half = 500.0 * p.edge
    square = Rectangle((-half, -half), 2 * half, 2 * half, fc="#f4f2ee", ec=FAINT, lw=1.0, zorder=1)
    axes.add_patch(square)
    for c, node in enumerate(result.corners):
        x, y = 1e3 * result.body.positions[node, :2]
        axes.annotate(str(c + 1), (0.35 * x, 0.35 * y), ha="center", va="center", color=INK)
        for n, t1, t2 in each.forces[:, c]:
            limit = PLAN * p.friction * n
            axes.add_patch(Circle((x, y), limit, fc="none", ec=SHADES[name], lw=0.5, alpha=0.5))
            axes.annotate(
                "", (x + PLAN * t1, y + PLAN * t2), (x, y),
                arrowprops={"arrowstyle": "-|>", "color": SHADES[name], "lw": 1.0,
                            "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
    axes.annotate(
        "", (PLAN * p.push[0], PLAN * p.push[1]), (0.0, 0.0),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.8, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    axes.set_xlim(-2.2 * half, 2.2 * half)
    axes.set_ylim(-2.2 * half, 2.2 * half)
    axes.set_aspect("equal")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm]")
    axes.set_title(name, loc="left")


def strip(result: Result) -> Figure:
    """Some of the rigid cube's solutions and that of the corotational one."""
    p, body = result.params, result.body
    half = np.array([0.0, 0.0, 0.5 * p.edge])
    frames = []
    shown = [(RIGID, i) for i in (0, 1, 2) if i < p.starts] + [(SOFT, 0)]
    for name, i in shown:
        forces = result.solutions[name].forces[i]
        u = np.zeros((len(body.nodes), 3))
        if name == SOFT:
            loads = np.zeros((len(body.nodes), 3))
            loads[result.corners[:, None], FRAME] = forces
            u = (body.compliance @ loads.ravel()).reshape(-1, 3)
        moved = body.positions + MAGNIFIED * (u - u[result.corners].mean(axis=0)) + half
        stress = surface_stress(body.positions, body.triangles, u, p.young, p.poisson)
        surface = surface_pictures.Surface(moved, body.triangles, stress / DARKEST)
        arrows = []
        for node, (n, x, y) in zip(result.corners, forces, strict=True):
            foot = moved[node]
            arrows.append((foot - ARROWS * np.array([x, y, n]), foot, "#8b5a2b"))
        caption = f"{name}: start {i + 1}" if name == RIGID else f"{name}: every start"
        frames.append((surface, pictures.Frame((), caption, tuple(arrows))))
    camera = pictures.Camera(
        azimuth=-62.0, elevation=14.0, centre=(0.0, 0.0, 0.022), width=0.14, height=0.11
    )
    return surface_pictures.strip(
        frames, camera, "Forces of the floor on the corners: three solutions of the rigid cube, "
        f"and the one of the corotational cube, its deformation {MAGNIFIED:g} times as large, "
        f"colour by von Mises stress, 0 to {1e-3 * DARKEST:g} kPa."
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="quasi-rigid",
    paper="Duriez et al. 2006, section 6.3, Fig. 13",
    summary="contact forces of a rigid block are not unique; with its elasticity they are",
    params=Params(),
    quick=Params(),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
