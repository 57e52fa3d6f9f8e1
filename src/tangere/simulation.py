"""A scene in motion: `Simulation` compiles it, a stepper moves it, views show its bodies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tangere.contact.method import Method, methods
from tangere.errors import SceneError
from tangere.geometry.checks import unit, vector
from tangere.grip import Grip
from tangere.maths.rotations import quat_conjugate, quat_product, rotation_of
from tangere.maths.vec import Array, IntArray
from tangere.scene.compile import compile_scene
from tangere.scene.scene import Body, Floor, Scene

if TYPE_CHECKING:
    from tangere.elements.contact_law import Law
    from tangere.scene.compile import Compiled
    from tangere.steppers.patches import Patch
    from tangere.steppers.profile import Profile
    from tangere.steppers.stepper import Audit, Energy, Stepper


class Simulation:
    """Moves the bodies of a scene under gravity, springs and contact."""

    def __init__(
        self,
        scene: Scene,
        *,
        method: Any = methods.default,
        dt: float = 1e-3,
        integrator: str | None = None,
    ) -> None:
        """Compile the scene; nothing moves yet.

        Args:
            scene: What there is; later changes to it have no effect.
            method: Name of a contact method, or its options, such as `Volume(friction="vertex")`.
            dt: Step [s].
            integrator: One of the method's steppers, its first if not given: "implicit" (stiff
                contacts at any step), "explicit" (semi-implicit Euler, the papers' setting).
        """
        if not isinstance(scene, Scene):
            raise SceneError(f"Simulation needs a Scene, not {type(scene).__name__}")
        self.record, self.method = methods.resolve(method)
        self.integrator = self.record.check_scene(scene, self.method, integrator)
        self.dt = _step(dt)
        if not scene.bodies:
            raise SceneError("scene has no bodies: add one with scene.add_body(…)")
        self._bodies = tuple(scene.bodies)
        self._floors = tuple(scene.floors)
        self._names = {body.name: body.index for body in scene.bodies}
        self.stepper: Stepper = _stepper(
            self.record,
            compile_scene(scene, whole="hull" not in self.record.parts),
            self.method,
            self.integrator,
            self.dt,
        )

    @property
    def arrays(self) -> Compiled:
        """The arrays that everything runs on, see `tangere.model`; they are not copies."""
        return self.stepper.arrays

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return float(self.arrays.state.time[0])

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
        self.stepper.run(int(n))

    def hold(self, body: Body | str | int) -> Grip:
        """Let a hand move a body, by a spring within the step: see `Grip`."""
        return Grip(self.stepper, self._index(body))

    def __getitem__(self, body: Body | str | int) -> BodyState:
        """State of one body, by handle, name or index; of a soft one a `SoftBodyState`."""
        index = self._index(body)
        soft = self._bodies[index].elastic is not None
        return SoftBodyState(self, index) if soft else BodyState(self, index)

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
        damping are per area [N/m³, N s/m³] where the method takes them so.

        Args:
            a: Handle, name or index; floors count −1, −2, …
            b: The other one.
        """
        rows = [self._row(thing) for thing in (a, b)]
        if not any(self.arrays.model.inv_mass[row] > 0.0 for row in rows):
            raise SceneError("contact_law: neither of the two can move, so they have no contact")
        return self.stepper.contact_law(rows[0], rows[1])

    def name_of(self, body: int) -> str:
        """Name of a body by its index."""
        return self._bodies[body].name

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
        state, n = self.arrays.state, len(self._bodies)
        turned = np.einsum("nij,nj->ni", state.rotation[:n].reshape(n, 3, 3), self.arrays.offset)
        origins: Array = state.position[:n] - turned
        return origins

    @property
    def orientations(self) -> Array:
        """Orientations of all shape frames (w, x, y, z), shape (n, 4)."""
        n = len(self._bodies)
        back = quat_conjugate(self.arrays.principal)
        return quat_product(self.arrays.state.quaternion[:n], back)

    @property
    def energy(self) -> Energy:
        """Kinetic, potential and spring energy now [J]; fixed bodies do not count."""
        return self.stepper.energy()

    @property
    def audit(self) -> Audit:
        """Energy books and solver report of the implicit step."""
        return self.stepper.audit()

    @property
    def profile(self) -> Profile:
        """Where the time goes: each stage of a step, of the last call and since the start."""
        return self.stepper.profile()

    @property
    def spring_forces(self) -> Array:
        """Force of each spring on its body a, last step [N], shape (s, 3)."""
        return self.arrays.state.spring.copy()

    @property
    def contacts(self) -> NDArray[np.void]:
        """Table of the contacts that pressed in the last step, one row each.

        The columns are those of `CONTACT_COLUMNS`. Bodies by index (floors −1, −2, …), point [m],
        normal from a to b, depth [m], area [m²], force [N] and torque about the point [N m] on b,
        sticking.
        """
        return self.stepper.contacts()

    @property
    def patches(self) -> list[Patch]:
        """Where bodies touched in the last step: polygons with force, pressure and friction state.

        Those over which the implicit volume method integrates; of points, their convex outlines.
        """
        return self.stepper.patches()


class BodyState:
    """Pose and motion of one body; reading gives copies, setting moves the body."""

    def __init__(self, sim: Simulation, index: int) -> None:
        """View of body `index`."""
        self._sim = sim
        self._i = index

    @property
    def position(self) -> Array:
        """Origin of the shape frame [m], shape (3,)."""
        c, i = self._sim.arrays, self._i
        origin: Array = c.state.position[i] - c.state.rotation[i].reshape(3, 3) @ c.offset[i]
        return origin

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._place(vector(value, self._what("position")), self.orientation)

    @property
    def orientation(self) -> Array:
        """Orientation of the shape frame (w, x, y, z)."""
        c, i = self._sim.arrays, self._i
        back = quat_conjugate(c.principal[i])
        return quat_product(c.state.quaternion[i], back)

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        q = unit(value, self._what("orientation"), 4)
        self._place(self.position, q)
        self._spin(self.angular_velocity)

    def _place(self, position: Array, orientation: Array) -> None:
        c, i = self._sim.arrays, self._i
        c.state.position[i] = position + rotation_of(orientation) @ c.centre[i]
        q = quat_product(orientation, c.principal[i])
        c.state.quaternion[i] = q / np.linalg.norm(q)
        c.state.rotation[i] = rotation_of(c.state.quaternion[i]).reshape(9)
        c.work.world.stamp[c.model.part_start[i] : c.model.part_start[i + 1]] = -1
        self._sim.stepper.forget_contacts(i)

    @property
    def velocity(self) -> Array:
        """Velocity of the centre of mass [m/s]."""
        return np.array(self._sim.arrays.state.velocity[self._i])

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._sim.arrays.state.velocity[self._i] = vector(value, self._what("velocity"))

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity, world axes [rad/s]."""
        return np.array(self._sim.arrays.state.omega[self._i])

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._spin(vector(value, self._what("angular_velocity")))

    def _spin(self, omega: Array) -> None:
        c, i = self._sim.arrays, self._i
        c.state.omega[i] = omega
        if c.model.inv_mass[i] > 0.0:
            r = c.state.rotation[i].reshape(3, 3)
            c.state.momentum[i] = r @ (c.model.inertia[i] * (r.T @ omega))

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum about the centre of mass, world axes [kg m²/s]."""
        return np.array(self._sim.arrays.state.momentum[self._i])

    @property
    def centre(self) -> Array:
        """Centre of mass [m]."""
        return np.array(self._sim.arrays.state.position[self._i])

    @property
    def contact_wrench(self) -> tuple[Array, Array]:
        """Force [N] and torque [N m] at the centre of mass from all contacts, last step."""
        row = self._sim.stepper.wrench_on(self._i)
        return row[:3].copy(), row[3:].copy()

    @property
    def matrix(self) -> Array:
        """Pose of the shape frame as a 4 x 4 matrix."""
        m = np.eye(4)
        m[:3, :3] = rotation_of(self.orientation)
        m[:3, 3] = self.position
        return m

    def _what(self, field: str) -> str:
        return f"{field} of {self._sim.name_of(self._i)!r}"


class SoftBodyState(BodyState):
    """A soft body: pose and motion are those of its frame, and its surface deforms."""

    @property
    def vertices(self) -> Array:
        """Where the surface vertices are [m], shape (n, 3), in the order of `triangles`."""
        return self._sim.stepper.surface(self._i)

    @property
    def triangles(self) -> IntArray:
        """Outward triangles of these vertices, shape (t, 3)."""
        return self._sim.arrays.bodies[self._i].shape.surface()[1]

    @property
    def stress(self) -> Array:
        """Equivalent stress (von Mises) at these vertices [Pa], shape (n,), for drawing.

        From the strain of the surface where nothing presses on it; see `fem.surface_stress`.
        """
        return self._sim.stepper.stress(self._i)


def _stepper(record: Method, arrays: Compiled, options: Any, name: str, dt: float) -> Stepper:
    """The stepper that a method has chosen for a scene."""
    assert record.stepper is not None  # `check_scene` refuses those without
    return record.stepper(arrays, options, name, dt)


def _step(dt: float) -> float:
    try:
        value = float(dt)
    except (TypeError, ValueError):
        value = math.nan
    if not (0.0 < value <= 1.0):
        raise SceneError(f"step dt = {dt!r} must be positive and at most 1 s, such as 1e-3")
    return value
