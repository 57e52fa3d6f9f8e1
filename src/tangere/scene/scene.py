"""A scene in words: materials, floors, bodies and springs, each checked as it is added.

Nothing here computes motion; `scene/compile.py` turns a scene into the arrays that kernels run on.
All records are frozen: the handle that `add_body` returns is the record itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import (
    LARGEST,
    SMALLEST,
    Record,
    frozen,
    hint,
    number,
    positive,
    show,
    unit,
    vector,
)
from tangere.geometry.shapes import Shape
from tangere.geometry.tetmesh import TetMesh
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.scene.elastic import MEMORY, Elastic, checked_elastic

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from tangere.maths.vec import Array

EARTH_GRAVITY = (0.0, 0.0, -9.81)  # [m/s²]
DEFAULT_DENSITY = 1000.0  # of water [kg/m³]
TOOL_MASS = 0.01  # light enough to follow a hand through a soft coupling [kg]
MAX_NAME = 100
# Principal moments must satisfy A + B >= C; a flat plate meets it with equality, up to rounding.
# The same share of asymmetry is taken as rounding.
INERTIA_ROUNDING = 1e-9
# Smallest principal moment over the largest. The thinnest needle that shapes allow has 1e-14, and
# eigenvalues are known to 1e-16 of the largest.
INERTIA_LEAST = 1e-15


@dataclass(frozen=True)
class Material:
    """How a surface touches: friction, and contact springs and dampers where set by hand.

    What is None in both materials of a pair is derived, with m_c = 1/(1/m_a + 1/m_b); where one
    material gives a value, that one counts.
    """

    static_friction: float = 0.6
    """Largest tangential over normal force while sticking."""
    kinetic_friction: float = 0.5
    """Tangential over normal force while sliding; at most `static_friction`."""
    stiffness: float | None = None
    """Normal spring [N/m]. None: the weight of m_c sinks by 5e-7 of the size L of the smaller body,
    m_c g/(5e-7 L), at most 1e3 m_c/dt² (implicit step); 0.1 m_c/dt² (explicit step, and the
    point method with either).
    """
    damping: float | None = None
    """Normal damper [N s/m]. None: a damping ratio of 0.3; with the explicit step 0.2 m_c/dt where
    the stiffness is derived too.
    """
    tangential_stiffness: float | None = None
    """Friction spring [N/m]. None: a quarter of the normal one."""
    tangential_damping: float | None = None
    """Friction damper [N s/m]. None: a quarter of the normal one."""
    restitution: float | None = None
    """Speed after over speed before an impact, 0 to 1, implicit step only; None leaves it to the
    springs and dampers, which hardly bounce when stiff."""
    rolling_resistance: float | None = None
    """Torque that resists the rolling of a curved body, over normal force times its radius: a ball
    on level ground loses 5/7 of this times g. None: none.
    """

    def __post_init__(self) -> None:
        """Check every number."""
        for name in ("static_friction", "kinetic_friction"):
            value = number(getattr(self, name), f"Material {name}", least=0.0)
            object.__setattr__(self, name, value)
        names = ("stiffness", "damping", "tangential_stiffness", "tangential_damping")
        for name in (*names, "rolling_resistance"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, number(given, f"Material {name}", least=0.0))
        if self.restitution is not None:
            value = number(self.restitution, "Material restitution", least=0.0)
            if value > 1.0:
                raise SceneError(f"Material restitution: {value:g} is more than 1")
            object.__setattr__(self, "restitution", value)
        if self.kinetic_friction > self.static_friction:
            raise SceneError(
                f"Material kinetic_friction: {self.kinetic_friction:g} exceeds static_friction "
                f"{self.static_friction:g}; give both, kinetic not above static"
            )


@dataclass(frozen=True, eq=False)
class Body(Record):
    """A rigid or soft body of a scene, as it starts."""

    index: int
    """Place in `Scene.bodies`."""
    name: str
    """Unique in the scene."""
    shape: Shape
    """Geometry in the shape frame."""
    mass: float
    """[kg]; of no effect for a fixed body."""
    centre: Array
    """Centre of mass in the shape frame, shape (3,) [m]."""
    inertia: Array
    """About the centre of mass, in the shape frame's axes, shape (3, 3) [kg m²]."""
    position: Array
    """Origin of the shape frame in the world, shape (3,) [m]."""
    orientation: Array
    """Shape frame to world, unit quaternion (w, x, y, z), shape (4,)."""
    velocity: Array
    """Of the centre of mass, world axes, shape (3,) [m/s]."""
    angular_velocity: Array
    """World axes, shape (3,) [rad/s]."""
    material: Material
    fixed: bool
    """Moves with its given velocities whatever pushes it: infinite mass."""
    elastic: Elastic | None
    """What makes it soft; None: it is rigid."""

    @property
    def kind(self) -> str:
        """What a contact method must know to move it."""
        return "rigid" if self.elastic is None else "soft"


@dataclass(frozen=True, eq=False)
class Tool(Body):
    """A body that a hand holds during a session; in a plain simulation it is as free as others."""

    coupling: VirtualCoupling | DirectCoupling
    """How hand and tool hang together."""
    grip: Array
    """Where the hand holds it, in the shape frame, shape (3,) [m]."""


@dataclass(frozen=True, eq=False)
class Floor(Record):
    """An unbounded half-space: solid where normal·x < height."""

    name: str
    normal: Array
    """Unit vector out of the ground, shape (3,)."""
    height: float
    """Of the surface along the normal [m]."""
    material: Material


@dataclass(frozen=True, eq=False)
class Spring(Record):
    """A spring and damper between a body and another body or a moving point of the world."""

    name: str
    body_a: int
    """Index of the first body."""
    body_b: int | None
    """Index of the second body; None ties the spring to the world."""
    anchor_a: Array
    """In body a's shape frame, shape (3,) [m]."""
    anchor_b: Array
    """In body b's shape frame, or a world point, shape (3,) [m]."""
    stiffness: float
    """[N/m]"""
    damping: float
    """[N s/m]"""
    rest_length: float
    """[m]; 0 makes a spring that pulls the anchors together in all three directions."""
    velocity: Array
    """Of the world end, shape (3,) [m/s]; zero between two bodies."""


class Scene:
    """What is to be simulated."""

    def __init__(self, gravity: ArrayLike = EARTH_GRAVITY) -> None:
        """An empty scene.

        Args:
            gravity: Acceleration of free fall, world axes [m/s²].
        """
        self.gravity: Array = vector(gravity, "Scene gravity")
        self.bodies: list[Body] = []
        self.floors: list[Floor] = []
        self.springs: list[Spring] = []
        self.materials: dict[str, Material] = {}
        self._named: dict[str, Body | Floor | Spring] = {}
        self._unnamed: dict[str, int] = {}  # how many of a kind were given a name here

    def add_material(self, name: str, material: Material) -> Material:
        """The material, from now on also known by `name` in this scene and in its file."""
        self._check_text(name, "material")
        if name in self.materials:
            raise SceneError(f"material {show(name)}: the name is taken; choose another")
        self.materials[name] = _material(material, f"material {show(name)}")
        return material

    def add_floor(
        self,
        *,
        height: float = 0.0,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        material: Material | str | None = None,
        name: str | None = None,
    ) -> Floor:
        """A new unbounded floor.

        Args:
            height: Of the surface along the normal, from the world origin [m].
            normal: Out of the ground, scaled to unit length.
            material: Or the name of a material of this scene.
            name: "floor" and the like if not given.
        """
        name = self._new_name(name, "floor")
        what = f"floor {show(name)}"
        floor = Floor(
            name=name,
            normal=unit(normal, f"{what} normal", 3),
            height=number(height, f"{what} height"),
            material=self._known_material(material, what),
        )
        self.floors.append(floor)
        self._named[floor.name] = floor
        return floor

    def add_body(
        self,
        shape: Shape,
        *,
        mass: float | None = None,
        density: float | None = None,
        inertia: ArrayLike | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        material: Material | str | None = None,
        name: str | None = None,
        fixed: bool = False,
    ) -> Body:
        """A new rigid body.

        Args:
            shape: Its geometry.
            mass: [kg]; or give `density`, not both.
            density: [kg/m³], 1000 if neither is given.
            inertia: About the centre of mass in the shape frame's axes: three principal moments or
                a symmetric 3x3 matrix [kg m²]. From shape and mass if not given.
            position: Of the shape frame's origin [m].
            orientation: Of the shape frame, quaternion (w, x, y, z), scaled to unit length.
            velocity: Of the centre of mass, world axes [m/s].
            angular_velocity: World axes [rad/s].
            material: Or the name of a material of this scene.
            name: From the shape's kind if not given.
            fixed: Whether it keeps its velocities whatever pushes it.
        """
        body = Body(
            *self._body_fields(
                shape,
                "body",
                (mass, density, inertia),
                (position, orientation, velocity, angular_velocity),
                material,
                name,
                fixed,
            )
        )
        return self._keep(body)

    def add_tool(
        self,
        shape: Shape,
        *,
        mass: float | None = None,
        density: float | None = None,
        inertia: ArrayLike | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        material: Material | str | None = None,
        name: str | None = None,
        coupling: VirtualCoupling | DirectCoupling | None = None,
        grip: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Tool:
        """A new body for a hand to hold; `Session` joins it to a device.

        Args:
            shape: Its geometry.
            mass: [kg]; or give `density`, not both. 10 g if neither is given.
            density: [kg/m³].
            inertia: As for `add_body`.
            position: Of the shape frame's origin, where the session starts [m].
            orientation: Of the shape frame at the start, quaternion (w, x, y, z).
            material: Or the name of a material of this scene.
            name: "tool" and the like if not given.
            coupling: Between hand and tool; `VirtualCoupling()` if not given.
            grip: Where the hand holds it, in the shape frame [m].
        """
        coupling = _coupling(VirtualCoupling() if coupling is None else coupling)
        if mass is None and density is None:
            mass = TOOL_MASS
        still = (0.0, 0.0, 0.0)
        fields = self._body_fields(
            shape,
            "tool",
            (mass, density, inertia),
            (position, orientation, still, still),
            material,
            self._new_name(name, "tool"),
            False,
        )
        extra: tuple[Any, ...] = (coupling, vector(grip, f"tool {show(fields[1])} grip"))
        tool = Tool(*fields, *extra)
        self._keep(tool)
        return tool

    def add_soft_body(
        self,
        mesh: TetMesh,
        *,
        young: float,
        poisson: float,
        mass: float | None = None,
        density: float | None = None,
        inertia: ArrayLike | None = None,
        damping: float | tuple[float, float] | None = None,
        fixed: Any = None,
        handle: Any = None,
        contact: Any = None,
        order: int = 2,
        modes: int | None = None,
        memory: int = MEMORY,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        material: Material | str | None = None,
        name: str | None = None,
        coupling: VirtualCoupling | DirectCoupling | None = None,
        grip: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Body:
        """A new elastic body; with a coupling it is a tool for a hand.

        Sets of vertices are given as indices, as a mask, or as a function that takes the vertices
        [m] and gives a mask, such as `lambda x: x[:, 2] < 1e-6`.

        Args:
            mesh: Its geometry at rest.
            young: Young's modulus [Pa].
            poisson: Poisson's ratio, below 0.5.
            mass: [kg]; or give `density`, not both.
            density: [kg/m³], 1000 if neither is given.
            inertia: As for `add_body`.
            damping: Rayleigh damping: β of β K [s], or (α, β) of α M + β K. The step if not given.
            fixed: Vertices that stay where they are, or move with the given velocities.
            handle: Vertices that stay rigid and carry the body's motion, such as those in a hand's
                grip. Without `fixed` and `handle` the whole body is elastic and free to move.
            contact: Surface vertices that can touch, all if not given; a function may choose inner
                ones, which are left out. Memory grows with the square of their number.
            order: 2: elements of ten nodes, which bend as they should; 1: of four, which are too
                stiff unless the mesh is fine, with a quarter of the contact nodes.
            modes: Vibration modes that have inertia, 12 if not given; with a handle none. The rest
                of the elasticity follows its load at once.
            memory: Most that the compliance may take [bytes].
            position: Of the mesh's origin [m].
            orientation: Of the mesh, quaternion (w, x, y, z).
            velocity: Of the centre of mass, world axes [m/s].
            angular_velocity: World axes [rad/s].
            material: Friction and restitution; or the name of a material of this scene.
            name: "soft" and the like if not given.
            coupling: Between a hand and the body, which makes it a tool.
            grip: Where the hand holds it, in the mesh's frame [m].
        """
        if not isinstance(mesh, TetMesh):
            raise SceneError(
                f"soft body: expected a TetMesh, got {show(mesh)}; make one with "
                "TetMesh.from_surface(shape)"
            )
        name = self._new_name(name, "soft")
        what = f"soft body {show(name)}"
        if fixed is not None and handle is not None:
            raise SceneError(f"{what}: both fixed and handle given; keep one")
        if isinstance(fixed, bool | np.bool_):
            raise SceneError(
                f"{what} fixed: give the vertices that stay where they are, such as "
                "lambda x: x[:, 2] < 1e-6"
            )
        elastic = checked_elastic(
            mesh,
            what,
            young=young,
            poisson=poisson,
            damping=damping,
            order=order,
            clamped=handle if fixed is None else fixed,
            contact=contact,
            modes=0 if modes is None and handle is not None else modes,
            memory=memory,
        )
        if handle is not None and elastic.modes:
            raise SceneError(
                f"{what} modes: {elastic.modes}, but what hangs on a handle has no inertia of its "
                "own; leave out modes"
            )
        for given, words in ((fixed, "fixed"), (handle, "handle")):
            if given is not None and len(elastic.clamped) == 0:
                raise SceneError(f"{what} {words}: no vertex is among them; leave it out")
        if coupling is not None and fixed is not None:
            raise SceneError(f"{what}: a tool cannot be fixed; name what a hand grips as handle")
        fields = self._body_fields(
            mesh,
            "soft body",
            (mass, density, inertia),
            (position, orientation, velocity, angular_velocity),
            material,
            name,
            fixed is not None,
            elastic,
        )
        if coupling is None:
            return self._keep(Body(*fields))
        extra: tuple[Any, ...] = (_coupling(coupling), vector(grip, f"{what} grip"))
        return self._keep(Tool(*fields, *extra))

    @property
    def tools(self) -> list[Tool]:
        """The bodies that hands hold, in the order they were added."""
        return [body for body in self.bodies if isinstance(body, Tool)]

    def _keep(self, body: Body) -> Body:
        self.bodies.append(body)
        self._named[body.name] = body
        return body

    def _body_fields(
        self,
        shape: Shape,
        kind: str,
        matter: tuple[float | None, float | None, ArrayLike | None],
        motion: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
        material: Material | str | None,
        name: str | None,
        fixed: bool,
        elastic: Elastic | None = None,
    ) -> tuple[Any, ...]:
        """The checked fields of a `Body`, in their order."""
        if not isinstance(shape, Shape):
            raise SceneError(f"{kind}: expected a shape such as Box((1, 1, 1)), got {show(shape)}")
        name = self._new_name(name, type(shape).__name__.lower())
        what = f"{kind} {show(name)}"
        if not isinstance(fixed, bool | np.bool_):
            raise SceneError(f"{what} fixed: expected true or false, got {show(fixed)}")
        mass, density, inertia = matter
        position, orientation, velocity, angular_velocity = motion
        moments = shape.moments()
        if fixed and mass is None and density is None:
            # Of no effect, so a mountain or a speck must not be refused for it.
            mass = min(max(DEFAULT_DENSITY * moments.volume, SMALLEST), LARGEST)
        mass = _mass(mass, density, moments.volume, what)
        if inertia is None:
            tensor = moments.inertia * (mass / moments.volume)
        else:
            tensor = _tensor(inertia, f"{what} inertia")
        return (
            len(self.bodies),
            name,
            shape,
            mass,
            moments.centre,
            _possible(tensor, f"{what} inertia"),
            vector(position, f"{what} position"),
            unit(orientation, f"{what} orientation (w, x, y, z)", 4),
            vector(velocity, f"{what} velocity"),
            vector(angular_velocity, f"{what} angular_velocity"),
            self._known_material(material, what),
            bool(fixed),
            elastic,
        )

    def add_spring(
        self,
        body_a: Body | str | int,
        body_b: Body | str | int | None = None,
        *,
        anchor_a: ArrayLike = (0.0, 0.0, 0.0),
        anchor_b: ArrayLike = (0.0, 0.0, 0.0),
        stiffness: float,
        damping: float = 0.0,
        rest_length: float = 0.0,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> Spring:
        """A new spring and damper between two bodies, or a body and a point of the world.

        Args:
            body_a: Body, its name or its index.
            body_b: The same; None for the world.
            anchor_a: In body a's shape frame [m].
            anchor_b: In body b's shape frame, or in the world [m].
            stiffness: [N/m].
            damping: [N s/m].
            rest_length: [m]; 0 pulls the anchors together in all three directions.
            velocity: Of the world end [m/s]; only without `body_b`.
            name: "spring" and the like if not given.
        """
        name = self._new_name(name, "spring")
        what = f"spring {show(name)}"
        a = self._body_index(body_a, f"{what} body_a")
        b = None if body_b is None else self._body_index(body_b, f"{what} body_b")
        if a == b:
            raise SceneError(
                f"{what}: both ends on body {show(self.bodies[a].name)}; choose two bodies"
            )
        end_velocity = vector(velocity, f"{what} velocity")
        if b is not None and end_velocity.any():
            raise SceneError(
                f"{what} velocity: got {show(velocity)}, but only an end in the world can be "
                "moved; leave out body_b or velocity"
            )
        spring = Spring(
            name=name,
            body_a=a,
            body_b=b,
            anchor_a=vector(anchor_a, f"{what} anchor_a"),
            anchor_b=vector(anchor_b, f"{what} anchor_b"),
            stiffness=number(stiffness, f"{what} stiffness", least=0.0),
            damping=number(damping, f"{what} damping", least=0.0),
            rest_length=number(rest_length, f"{what} rest_length", least=0.0),
            velocity=end_velocity,
        )
        self.springs.append(spring)
        self._named[spring.name] = spring
        return spring

    def with_bodies(self, bodies: list[Body]) -> Scene:
        """The scene with other records of its bodies, of the same names and in the same order."""
        made = Scene(self.gravity)
        made.floors, made.materials = list(self.floors), dict(self.materials)
        made.bodies, made.springs = bodies, list(self.springs)
        made._named = {**self._named, **{body.name: body for body in bodies}}
        return made

    def __getitem__(self, name: str) -> Body | Floor | Spring:
        """The body, floor or spring of that name."""
        if name in self:
            return self._named[name]
        raise SceneError(f"unknown name {show(name)}{hint(name, list(self._named))}")

    def __contains__(self, name: object) -> bool:
        """Whether something in the scene has that name."""
        return isinstance(name, str) and name in self._named

    def __eq__(self, other: object) -> bool:
        """Whether both describe the same things, number for number."""
        if not isinstance(other, Scene):
            return NotImplemented
        return (
            bool(np.array_equal(self.gravity, other.gravity))
            and self.bodies == other.bodies
            and self.floors == other.floors
            and self.springs == other.springs
        )

    __hash__ = None  # type: ignore[assignment]  # scenes change

    def __repr__(self) -> str:
        """One line with the counts."""
        counts = (f"{len(getattr(self, kind))} {kind}" for kind in ("bodies", "floors", "springs"))
        return f"Scene({', '.join(counts)})"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scene:
        """The scene of a TOML file."""
        from tangere.scene.files import load_scene

        return load_scene(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene to a TOML file that `load` reads back number for number."""
        from tangere.scene.files import save_scene

        save_scene(self, path)

    def _new_name(self, name: str | None, kind: str) -> str:
        if name is None:
            if kind not in self._named:
                return kind
            count = self._unnamed.get(kind, 2)
            while f"{kind}-{count}" in self._named:
                count += 1
            self._unnamed[kind] = count
            return f"{kind}-{count}"
        self._check_text(name, kind)
        if name in self._named:
            raise SceneError(f"{kind} {show(name)}: the name is taken; choose another")
        return name

    @staticmethod
    def _check_text(name: object, kind: str) -> None:
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
            raise SceneError(
                f"{kind} name: expected 1 to {MAX_NAME} printable characters, got {show(name)}"
            )

    def _known_material(self, material: Material | str | None, what: str) -> Material:
        if isinstance(material, str):
            if material not in self.materials:
                known = list(self.materials)
                raise SceneError(
                    f"{what} material: unknown name {show(material)}{hint(material, known)}"
                )
            return self.materials[material]
        return Material() if material is None else _material(material, f"{what} material")

    def _body_index(self, body: Any, what: str) -> int:
        if isinstance(body, str):
            found = self._named.get(body)
            if isinstance(found, Body):
                return found.index
            names = [known.name for known in self.bodies]
            raise SceneError(f"{what}: unknown body {show(body)}{hint(body, names)}")
        if isinstance(body, Body):
            if body.index < len(self.bodies) and self.bodies[body.index] is body:
                return body.index
            raise SceneError(
                f"{what}: body {show(body.name)} belongs to another scene; add it here"
            )
        if isinstance(body, int | np.integer) and not isinstance(body, bool):
            if 0 <= body < len(self.bodies):
                return int(body)
            raise SceneError(f"{what}: no body {body}, the scene has {len(self.bodies)}")
        raise SceneError(f"{what}: expected a body or its name, got {show(body)}")


def _coupling(coupling: object) -> VirtualCoupling | DirectCoupling:
    if not isinstance(coupling, VirtualCoupling | DirectCoupling):
        raise SceneError(
            f"tool coupling: expected VirtualCoupling(…) or DirectCoupling(), got {show(coupling)}"
        )
    return coupling


def _material(material: object, what: str) -> Material:
    if not isinstance(material, Material):
        raise SceneError(f"{what}: expected a Material or its name, got {show(material)}")
    return material


def _mass(mass: object, density: object, volume: float, what: str) -> float:
    if mass is not None and density is not None:
        raise SceneError(f"{what}: both mass and density given; keep one")
    if mass is not None:
        return positive(mass, f"{what} mass")
    rho = DEFAULT_DENSITY if density is None else positive(density, f"{what} density")
    return positive(rho * volume, f"{what} mass (density {rho:g} times volume {volume:.3g} m³)")


def _tensor(value: ArrayLike, what: str) -> Array:
    """A symmetric 3x3 matrix from three principal moments or nine numbers."""
    if isinstance(value, list | tuple | np.ndarray) and len(value) == 3:
        if all(np.ndim(row) == 0 for row in value):
            tensor = np.diag(vector(value, what))
        else:
            tensor = np.array([vector(row, what) for row in value])
    else:
        raise SceneError(f"{what}: expected 3 moments or a 3x3 matrix, got {show(value)}")
    largest = float(np.abs(tensor).max())
    if np.abs(tensor - tensor.T).max() > INERTIA_ROUNDING * largest:
        raise SceneError(f"{what}: not symmetric, got {show(value)}; give I with I[i][j] = I[j][i]")
    symmetric: Array = 0.5 * (tensor + tensor.T)
    return symmetric


def _possible(tensor: Array, what: str) -> Array:
    """The tensor, if some distribution of mass can have it: positive, and no moment too large."""
    a, b, c = (float(x) for x in np.linalg.eigvalsh(tensor))
    if a <= INERTIA_LEAST * c:
        raise SceneError(
            f"{what}: principal moments {a:.3g}, {b:.3g}, {c:.3g} must all be positive; "
            "give the moments about the centre of mass"
        )
    if a + b < c * (1.0 - INERTIA_ROUNDING):
        raise SceneError(
            f"{what}: no body has principal moments {a:.3g}, {b:.3g}, {c:.3g}; "
            "the two smaller must add up to at least the largest"
        )
    return frozen(tensor)
