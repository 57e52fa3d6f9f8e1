"""A scene in motion: `Simulation` owns the arrays and makes n whole steps per call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere.contact.friction import Law, law_between
from tangere.contact.volume import law as volume_law
from tangere.crew import Crew, crew_size
from tangere.dynamics.rigid import spring_energy
from tangere.errors import SceneError
from tangere.geometry.checks import unit, vector
from tangere.maths.vec import Array, IntArray
from tangere.model import (
    LEDGER_ERROR,
    LEDGER_FRICTION,
    LEDGER_NORMAL,
    LEDGER_SPRINGS,
    LEDGER_STEP,
    LEDGER_WORK,
    NOT_FINITE,
    NS,
    OK,
    PAIRS_FULL,
    PF_AREA,
    PF_CENTRE,
    PF_DEPTH,
    PF_FORCE,
    PF_HELD,
    PF_LAG,
    PF_NORMAL,
    PF_PRESS,
    PF_RESERVE,
    PF_STORED,
    PF_TORQUE,
    PHASE_NEW,
    PI_BODY_A,
    PI_BODY_B,
    PI_MISSED,
    PI_MODE,
    PI_PHASE,
    PI_SIMPLEX,
    SOLVER_FULL,
    STICK,
    new_pairs,
    new_soup,
    new_tree,
)
from tangere.scene.compile import compile_scene, quat_product, rotation_of
from tangere.scene.scene import Body, Floor, Scene
from tangere.solver import REPORT_PASSES, REPORT_RESIDUAL, REPORT_SOLVES, new_solver
from tangere.step import POINT, VOLUME, WHOLE, run

Normalization = Literal["patch", "none", "fixed"]
FrictionRule = Literal["exact", "vertex"]
Algorithm = Literal["clip", "dual"]


@dataclass(frozen=True)
class Volume:
    """Options of the contact-volume method.

    Attributes:
        normalization: "patch" divides by the contact area (2004), "none" takes stiffness per area
            (2003), "fixed" divides by a fixed area per pair and conserves energy.
        friction: "exact" integrates Coulomb's law in closed form, "vertex" interpolates between
            triangle vertices as the papers do.
        algorithm: "clip" clips faces, "dual" takes the convex hull of the dual points.
    """

    normalization: Normalization = "patch"
    friction: FrictionRule = "exact"
    algorithm: Algorithm = "clip"

    def __post_init__(self) -> None:
        """Check the choices."""
        _choose("Volume normalization", self.normalization, get_args(Normalization))
        _choose("Volume friction", self.friction, get_args(FrictionRule))
        _choose("Volume algorithm", self.algorithm, get_args(Algorithm))


@dataclass(frozen=True)
class Point:
    """The point-based penalty method, a baseline: one spring at the deepest point of each pair."""


METHODS: dict[str, type[Volume] | type[Point]] = {"volume": Volume, "point": Point}
INTEGRATORS = ("implicit", "explicit")


class Energy(NamedTuple):
    """Energy of a scene [J]; `dissipated` is counted since the start and not part of the total."""

    kinetic: float
    potential: float  # of weight, zero at the world's origin
    springs: float
    contact: float  # held by the normal springs of contacts
    friction: float  # held by their friction springs
    reserve: float  # that contacts lost and keep, to come out where they are too deep
    total: float
    dissipated: float  # NaN with the explicit step, which keeps no books


class Audit(NamedTuple):
    """How the last implicit step went, and where energy went since the start."""

    normal: float  # lost along contact normals: dampers, impacts, yielding [J]
    friction: float  # lost to friction [J]
    springs: float  # lost in the dampers of springs, and in stiff ones by the step [J]
    step: float  # lost by the step itself, ½ |Δv|² m [J]
    work: float  # put in by bodies and spring ends moved from outside [J]
    error: float  # energy of the last step that these do not explain [J]
    residual: float  # unbalanced impulse over mass, greatest of all bodies [m/s]
    solves: int  # linear solves of the last step
    passes: int  # looks at the contact geometry


CONTACT_COLUMNS = np.dtype(
    [
        ("body_a", np.int32),  # floors count −1, −2, …
        ("body_b", np.int32),
        ("point", np.float64, 3),
        ("normal", np.float64, 3),
        ("depth", np.float64),
        ("area", np.float64),
        ("force", np.float64, 3),
        ("torque", np.float64, 3),
        ("sticking", np.bool_),
    ]
)


class Simulation:
    """Moves the bodies of a scene under gravity, springs and contact."""

    def __init__(
        self,
        scene: Scene,
        *,
        method: str | Volume | Point = "volume",
        dt: float = 1e-3,
        integrator: str = "implicit",
    ) -> None:
        """Compile the scene; nothing moves yet.

        Args:
            scene: What there is; later changes to it have no effect.
            method: "volume", "point", or an options object such as `Volume(friction="vertex")`.
            dt: Step [s].
            integrator: "implicit" (stiff contacts at any step), or "explicit" (semi-implicit Euler,
                the papers' setting).
        """
        if not isinstance(scene, Scene):
            raise SceneError(f"Simulation needs a Scene, not {type(scene).__name__}")
        self.method = _method(method)
        self.integrator = _choose("integrator", integrator, INTEGRATORS)
        if isinstance(self.method, Volume) and self.method.friction == "vertex":
            if self.integrator == "implicit":
                raise SceneError("Volume friction 'vertex' needs integrator='explicit'")
        self.dt = _step(dt)
        if not scene.bodies:
            raise SceneError("scene has no bodies: add one with scene.add_body(…)")
        self._check_materials(scene)
        self._bodies = tuple(scene.bodies)
        self._floors = tuple(scene.floors)
        self._names = {body.name: body.index for body in scene.bodies}
        self._c = compile_scene(scene)
        self._made = 0
        self._settings = _settings(self.method)
        shared = isinstance(self.method, Volume) or self.integrator == "implicit"
        size = crew_size(self._c.sizes.parts) if shared else 1
        self._crew = Crew(size) if size > 1 else None

    def _check_materials(self, scene: Scene) -> None:
        if isinstance(self.method, Volume) and self.method.normalization == "none":
            things: list[Body | Floor] = [*scene.bodies, *scene.floors]
            for thing in things:
                if thing.material.stiffness is None or thing.material.damping is None:
                    raise SceneError(
                        f"{thing.name!r}: normalization 'none' takes stiffness and damping per "
                        "area; give both in its material [N/m³, N s/m³]"
                    )

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return float(self._c.state.time[0])

    def step(self, n: int = 1) -> None:
        """Make n whole steps in one call; no Python runs in between, unless the scene is large.

        Steps of a large scene (1,000 convex pieces) are shared among threads, with the same result;
        explicit ones by the point method are not.

        Raises:
            FloatingPointError: A force or speed grew beyond all bounds; the state is that of the
                last good step.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise SceneError(f"step: n must be a whole number of steps, got {n!r}")
        left = int(n)
        kind = VOLUME if isinstance(self.method, Volume) else POINT
        while left > 0:
            c = self._c
            if self._crew is None:
                done, status = self._run(left, kind)
            elif self.integrator == "implicit":
                with self._crew.helpers(c, self.dt, kind, self._settings):
                    done, status = self._run(left, kind)
            else:
                done, status = self._crew.run(c, self.dt, left, self._made, self._settings)
            left -= done
            self._made += done
            if status == NOT_FINITE:
                raise FloatingPointError(
                    f"a force or speed grew beyond all bounds at t = {self.time:.6g} s: the step "
                    f"of {self.dt:g} s is too long for the stiffness and damping of the contacts"
                )
            if status != OK:
                self._grow(status)

    def _run(self, steps: int, kind: int) -> tuple[int, int]:
        """Steps by this thread: how many were made, and a status."""
        c, implicit = self._c, self.integrator == "implicit"
        scene = (c.sizes, c.model, c.hulls, c.state, c.work)
        return run(*scene, self.dt, steps, self._made, kind, self._settings, implicit, WHOLE)

    def _grow(self, status: int) -> None:
        """Double the room that ran out; contacts keep their memory."""
        work = self._c.work
        if status == PAIRS_FULL:
            had = len(work.pairs.key)
            pairs = new_pairs(2 * had)
            for field in pairs._fields:
                old = getattr(work.pairs, field)
                getattr(pairs, field)[: len(old)] = old
            free = int(work.pairs.used[1])  # the new slots lie on top of the old free ones
            pairs.free[free : free + had] = np.arange(2 * had - 1, had - 1, -1)
            pairs.used[1] = free + had
            work = work._replace(pairs=pairs, tree=new_tree(len(work.world.stamp), 2 * had))
        elif status == SOLVER_FULL:
            t, g = work.solver.touches, work.solver.graph
            work = work._replace(
                solver=new_solver(
                    len(g.parent),
                    len(work.solver.ahead.twist) - len(g.parent) - 1,
                    2 * len(t.list),
                    2 * len(t.corners),
                    2 * len(g.row),
                )
            )
        else:
            work = work._replace(
                soup=new_soup(2 * len(work.soup.owner)), sums=np.zeros((2 * len(work.sums), NS))
            )
        self._c = self._c._replace(work=work)

    def __getitem__(self, body: Body | str | int) -> BodyState:
        """State of one body, by handle, name or index."""
        return BodyState(self, self._index(body))

    def _index(self, body: Body | str | int) -> int:
        if isinstance(body, str):
            if body in self._names:
                return self._names[body]
            raise SceneError(
                f"no body named {body!r} in the simulation; there are: {', '.join(self._names)}"
            )
        if isinstance(body, Body):
            if self._names.get(body.name) == body.index:
                return body.index
            raise SceneError(f"body {body.name!r} belongs to another scene than the simulation")
        if isinstance(body, int | np.integer) and 0 <= body < len(self._bodies):
            return int(body)
        raise SceneError(f"no body {body!r} in the simulation; it has {len(self._bodies)} bodies")

    def contact_law(self, a: Body | Floor | str | int, b: Body | Floor | str | int) -> Law:
        """Parameters of a contact between two bodies or a body and a floor.

        Given ones are combined, missing ones derived from masses, sizes and the step. Stiffness and
        damping are per area [N/m³, N s/m³] with normalization "none".

        Args:
            a: Handle, name or index; floors count −1, −2, …
            b: The other one.
        """
        rows = [self._row(thing) for thing in (a, b)]
        if not any(self._c.model.inv_mass[row] > 0.0 for row in rows):
            raise SceneError("contact_law: neither of the two can move, so they have no contact")
        implicit, point = self.integrator == "implicit", not isinstance(self.method, Volume)
        return law_between(self._c.model, rows[0], rows[1], self.dt, implicit, point)

    def _row(self, thing: Body | Floor | str | int) -> int:
        """Row of a body or a floor in the model."""
        for i, floor in enumerate(self._floors):
            if thing is floor or thing in (floor.name, -1 - i):
                return len(self._bodies) + i
        if isinstance(thing, Floor):
            raise SceneError(f"floor {thing.name!r} belongs to another scene than the simulation")
        return self._index(thing)

    @property
    def positions(self) -> Array:
        """Origins of all shape frames [m], shape (n, 3)."""
        state, n = self._c.state, len(self._bodies)
        turned = np.einsum("nij,nj->ni", state.rotation[:n].reshape(n, 3, 3), self._c.offset)
        origins: Array = state.position[:n] - turned
        return origins

    @property
    def orientations(self) -> Array:
        """Orientations of all shape frames (w, x, y, z), shape (n, 4)."""
        n = len(self._bodies)
        back = self._c.principal * np.array([1.0, -1.0, -1.0, -1.0])
        return quat_product(self._c.state.quaternion[:n], back)

    @property
    def energy(self) -> Energy:
        """Kinetic, potential and spring energy now [J]; fixed bodies do not count."""
        c = self._c
        free = np.flatnonzero(c.model.inv_mass > 0.0)
        m, v = c.model.mass[free], c.state.velocity[free]
        turning = 0.5 * np.sum(c.state.momentum[free] * c.state.omega[free])
        kinetic = float(0.5 * np.sum(m * np.sum(v * v, axis=1)) + turning)
        potential = float(-np.sum(m * (c.state.position[free] @ c.model.gravity)))
        dt = self.dt if self.integrator == "implicit" else 0.0
        springs = spring_energy(c.model, c.state, dt)
        contact, friction, reserve, lost = 0.0, 0.0, 0.0, math.nan
        if self.integrator == "implicit":
            rows = c.work.pairs.floats[self._pair_rows()]
            contact, friction = float(rows[:, PF_STORED].sum()), float(rows[:, PF_HELD].sum())
            reserve = float(rows[:, PF_RESERVE].clip(min=0.0).sum())
            lost = float(c.state.ledger[:LEDGER_WORK].sum())
        total = kinetic + potential + springs + contact + friction + reserve
        return Energy(kinetic, potential, springs, contact, friction, reserve, total, lost)

    @property
    def audit(self) -> Audit:
        """Energy books and solver report of the implicit step."""
        if self.integrator != "implicit":
            raise SceneError(
                "only the implicit step keeps books: Simulation(integrator='implicit')"
            )
        book, report = self._c.state.ledger, self._c.work.solver.report
        return Audit(
            normal=float(book[LEDGER_NORMAL]),
            friction=float(book[LEDGER_FRICTION]),
            springs=float(book[LEDGER_SPRINGS]),
            step=float(book[LEDGER_STEP]),
            work=float(book[LEDGER_WORK]),
            error=float(book[LEDGER_ERROR]),
            residual=float(report[REPORT_RESIDUAL]),
            solves=int(report[REPORT_SOLVES]),
            passes=int(report[REPORT_PASSES]),
        )

    @property
    def spring_forces(self) -> Array:
        """Force of each spring on its body a, last step [N], shape (s, 3)."""
        return self._c.state.spring.copy()

    @property
    def contacts(self) -> NDArray[np.void]:
        """Table of the contacts that pressed in the last step, one row each.

        The columns are those of `CONTACT_COLUMNS`. Bodies by index (floors −1, −2, …), point [m],
        normal from a to b, depth [m], area [m²], force [N] and torque about the point [N m] on b,
        sticking.
        """
        pairs, slots = self._c.work.pairs, self._pair_rows()
        slots = slots[pairs.floats[slots, PF_PRESS] > 0.0]
        ints, floats = pairs.ints[slots], pairs.floats[slots]
        table = np.zeros(len(ints), CONTACT_COLUMNS)
        for column, source in (("body_a", PI_BODY_A), ("body_b", PI_BODY_B)):
            index = ints[:, source]
            n = len(self._bodies)
            table[column] = np.where(index < n, index, n - 1 - index)
        for column, source in (
            ("point", PF_CENTRE),
            ("normal", PF_NORMAL),
            ("force", PF_FORCE),
            ("torque", PF_TORQUE),
        ):
            table[column] = floats[:, source : source + 3]
        table["depth"] = floats[:, PF_DEPTH]
        table["area"] = floats[:, PF_AREA]
        table["sticking"] = ints[:, PI_MODE] == STICK
        return table

    def _pair_rows(self) -> IntArray:
        """Slots of all pairs in the list, in its order."""
        pairs = self._c.work.pairs
        return pairs.slot[: int(pairs.used[0])]

    def _forget_contacts(self, index: int) -> None:
        """A body put elsewhere by hand starts its contacts anew."""
        ints, floats = self._c.work.pairs.ints, self._c.work.pairs.floats
        rows = self._pair_rows()
        rows = rows[(ints[rows, PI_BODY_A] == index) | (ints[rows, PI_BODY_B] == index)]
        ints[rows, PI_PHASE] = PHASE_NEW
        ints[rows, PI_MODE] = STICK
        ints[rows, PI_MISSED] = 1_000
        ints[rows, PI_SIMPLEX] = 0
        self._c.work.pairs.live[:] = 1
        for column in (PF_PRESS, PF_LAG, PF_STORED, PF_RESERVE, PF_HELD):
            floats[rows, column] = 0.0


class BodyState:
    """Pose and motion of one body; reading gives copies, setting moves the body."""

    def __init__(self, sim: Simulation, index: int) -> None:
        """View of body `index`."""
        self._sim = sim
        self._i = index

    @property
    def position(self) -> Array:
        """Origin of the shape frame [m], shape (3,)."""
        c, i = self._sim._c, self._i
        origin: Array = c.state.position[i] - c.state.rotation[i].reshape(3, 3) @ c.offset[i]
        return origin

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._place(vector(value, self._what("position")), self.orientation)

    @property
    def orientation(self) -> Array:
        """Orientation of the shape frame (w, x, y, z)."""
        c, i = self._sim._c, self._i
        back = c.principal[i] * np.array([1.0, -1.0, -1.0, -1.0])
        return quat_product(c.state.quaternion[i], back)

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        q = unit(value, self._what("orientation"), 4)
        self._place(self.position, q)
        self._spin(self.angular_velocity)

    def _place(self, position: Array, orientation: Array) -> None:
        c, i = self._sim._c, self._i
        c.state.position[i] = position + rotation_of(orientation) @ c.centre[i]
        q = quat_product(orientation, c.principal[i])
        c.state.quaternion[i] = q / np.linalg.norm(q)
        c.state.rotation[i] = rotation_of(c.state.quaternion[i]).reshape(9)
        c.work.world.stamp[c.model.part_start[i] : c.model.part_start[i + 1]] = -1
        self._sim._forget_contacts(i)

    @property
    def velocity(self) -> Array:
        """Velocity of the centre of mass [m/s]."""
        return np.array(self._sim._c.state.velocity[self._i])

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._sim._c.state.velocity[self._i] = vector(value, self._what("velocity"))

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity, world axes [rad/s]."""
        return np.array(self._sim._c.state.omega[self._i])

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._spin(vector(value, self._what("angular_velocity")))

    def _spin(self, omega: Array) -> None:
        c, i = self._sim._c, self._i
        c.state.omega[i] = omega
        if c.model.inv_mass[i] > 0.0:
            r = c.state.rotation[i].reshape(3, 3)
            c.state.momentum[i] = r @ (c.model.inertia[i] * (r.T @ omega))

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum about the centre of mass, world axes [kg m²/s]."""
        return np.array(self._sim._c.state.momentum[self._i])

    @property
    def centre(self) -> Array:
        """Centre of mass [m]."""
        return np.array(self._sim._c.state.position[self._i])

    @property
    def contact_wrench(self) -> tuple[Array, Array]:
        """Force [N] and torque [N m] at the centre of mass from all contacts, last step."""
        row = self._sim._c.state.wrench[self._i]
        return row[:3].copy(), row[3:].copy()

    @property
    def matrix(self) -> Array:
        """Pose of the shape frame as a 4 x 4 matrix."""
        m = np.eye(4)
        m[:3, :3] = rotation_of(self.orientation)
        m[:3, 3] = self.position
        return m

    def _what(self, field: str) -> str:
        return f"{field} of {self._sim._bodies[self._i].name!r}"


def _method(method: str | Volume | Point) -> Volume | Point:
    if isinstance(method, Volume | Point):
        return method
    if method == "penalty":
        raise SceneError(
            "method 'penalty' is for a tool in a hand: use Session(scene, method='penalty'), or "
            "here 'volume'"
        )
    return METHODS[_choose("method", method, tuple(METHODS))]()


def _settings(method: Volume | Point) -> volume_law.Settings:
    options = method if isinstance(method, Volume) else Volume()
    return volume_law.Settings(
        get_args(Normalization).index(options.normalization),
        get_args(FrictionRule).index(options.friction),
        get_args(Algorithm).index(options.algorithm),
    )


def _choose(what: str, value: Any, choices: tuple[str, ...]) -> str:
    if value in choices:
        return str(value)
    raise SceneError(f"unknown {what} {value!r}; choose one of: {', '.join(choices)}")


def _step(dt: float) -> float:
    try:
        value = float(dt)
    except (TypeError, ValueError):
        value = math.nan
    if not (0.0 < value <= 1.0):
        raise SceneError(f"step dt = {dt!r} must be positive and at most 1 s, such as 1e-3")
    return value
