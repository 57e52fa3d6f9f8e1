"""Built-in scenes: to look at, to learn from and to measure on.

`SCENES` names them all; `build` makes one. The builders can also be called, some with parameters.
"""

from __future__ import annotations

from math import cos, pi, sin, tan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.boundary import holed_block
from tangere.geometry.checks import hint, integer, number, show
from tangere.geometry.shapes import Box, Capsule, Compound, Cone, Convex, Cylinder, Mesh, Sphere
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.formation_library import (
    ball_on_cylinders,
    cylinder_in_pipe,
    cylinder_pivot,
    guarded_motion,
    pen_in_bowl,
)
from tangere.scene.mesh_library import gear_box, jaws, mesh_bowl
from tangere.scene.scene import Material, Scene
from tangere.scene.soft_library import clip_to_snap, soft_block, table_to_press

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangere.geometry.shapes import Shape
    from tangere.maths.vec import Array

X, Y, Z = np.eye(3)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
WOOD = Material(static_friction=0.6, kinetic_friction=0.5)
STEEL = Material(static_friction=0.25, kinetic_friction=0.2)
# A hand that lifts a block of 2 N by 5 mm of give, and one for a light spoon [OTADUY2005].
FIRM_HAND = VirtualCoupling(
    stiffness=400.0, damping=5.0, rotational_stiffness=4.0, rotational_damping=0.03, max_force=15.0
)
SPOON_HAND = VirtualCoupling(
    stiffness=200.0, damping=1.0, rotational_stiffness=0.6, rotational_damping=0.009, max_force=8.0
)


class Entry(NamedTuple):
    """A scene of the library."""

    description: str
    """One line for people."""
    builder: Callable[[], Scene]
    """Makes a fresh copy."""
    method: str = "volume"
    """The contact method that suits it best."""


def build(name: str) -> Scene:
    """A fresh copy of the built-in scene of that name."""
    if name not in SCENES:
        raise SceneError(f"unknown scene {show(name)}{hint(name, list(SCENES))}")
    return SCENES[name].builder()


def falling_cube() -> Scene:
    """A cube of 2 m and 1 kg, tilted by 0.1 rad, its lowest edge 1 m above the floor."""
    tilt, edge = 0.1, 2.0
    scene = Scene()
    scene.add_floor(material=Material(0.0, 0.0))
    lowest = 0.5 * edge * (cos(tilt) + sin(tilt))
    scene.add_body(
        Box((edge, edge, edge)),
        mass=1.0,
        position=(0.0, 0.0, 1.0 + lowest),
        orientation=turn(Y, tilt),
        material=Material(0.0, 0.0),
        name="cube",
    )
    return scene


def block_tower(count: int = 13, *, jitter: float = 1e-3, seed: int = 0) -> Scene:
    """A tower of blocks of 2 x 1 x 1 m and 1 kg lying flat, shifted sideways at random.

    Args:
        count: Number of blocks.
        jitter: Largest sideways shift [m].
        seed: Of the shifts.
    """
    integer(count, "block_tower count", 1, 10_000)
    shifts = np.random.default_rng(seed).uniform(-jitter, jitter, (count, 2))
    scene = Scene()
    scene.add_floor()
    for i, (x, y) in enumerate(shifts):
        scene.add_body(Box((2.0, 1.0, 1.0)), mass=1.0, position=(x, y, i + 0.5), name=f"block-{i}")
    return scene


def blocks() -> Scene:
    """Six blocks of 0.1 m and 0.2 kg to push and to stack, and a shovel in hand."""
    scene = Scene()
    scene.add_floor(material=WOOD)
    edge = 0.1
    places = ((-0.16, 0.02, 0), (0.0, 0.0, 0), (0.0, 0.0, 1), (0.16, 0.03, 0))
    for i, (x, y, row) in enumerate((*places, (-0.1, 0.17, 0), (0.1, 0.18, 0))):
        scene.add_body(
            Box((edge, edge, edge)),
            mass=0.2,
            position=(x, y, (row + 0.5) * edge),
            orientation=turn(Z, 0.2 * (i % 3 - 1)),
            material=WOOD,
            name=f"block-{i}",
        )
    scene.add_tool(
        shovel(),
        mass=0.1,
        position=(0.0, -0.2, 0.07),
        orientation=turn(Z, 0.5 * pi),
        material=WOOD,
        coupling=FIRM_HAND,
        name="shovel",
    )
    return scene


def two_hands() -> Scene:
    """Six blocks of 0.1 m and 0.2 kg between two upright shovels, one for each hand."""
    scene = Scene()
    scene.add_floor(material=WOOD)
    edge = 0.1
    for i in range(6):
        scene.add_body(
            Box((edge, edge, edge)),
            mass=0.2,
            position=((i % 3 - 1) * 1.4 * edge, (i // 3) * 1.4 * edge, 0.5 * edge),
            material=WOOD,
            name=f"block-{i}",
        )
    for side, name in ((-1.0, "left shovel"), (1.0, "right shovel")):
        # Handle up, blade down, its face towards the blocks.
        scene.add_tool(
            shovel(),
            mass=0.1,
            position=(side * 0.3, 0.0, 0.12),
            orientation=turn(Y, 0.5 * pi),
            material=WOOD,
            coupling=FIRM_HAND,
            name=name,
        )
    return scene


def peg_and_hole() -> Scene:
    """A round peg of 4 cm in hand, above a hole with eight walls, 1 mm wider on each side."""
    scene = Scene()
    scene.add_floor(material=STEEL)
    radius, clearance, depth, thick, walls = 0.02, 0.001, 0.08, 0.03, 8
    apothem = radius + clearance
    across = 2.0 * (apothem + thick) * tan(pi / walls)
    poses = []
    for i in range(walls):
        angle = 2.0 * pi * i / walls
        away = (apothem + 0.5 * thick) * np.array([cos(angle), sin(angle), 0.0])
        poses.append((away, turn(Z, angle)))
    scene.add_body(
        Compound([Box((thick, across, depth))] * walls, poses),
        position=(0.0, 0.0, 0.5 * depth),
        material=STEEL,
        name="hole",
        fixed=True,
    )
    scene.add_tool(
        Cylinder(radius, 0.14, facets=16),
        mass=0.1,
        position=(0.06, -0.04, 0.21),
        material=STEEL,
        coupling=FIRM_HAND,
        grip=(0.0, 0.0, 0.06),
        name="peg",
    )
    return scene


def peg_in_hole() -> Scene:
    """A square peg of 30 x 30 x 60 mm in hand, above a hole 3 mm wider on each side."""
    scene = Scene()
    scene.add_floor(material=STEEL)
    height, width = 0.04, 0.1
    scene.add_body(
        holed_block((width, width, height), (0.036, 0.036)),
        position=(0.0, 0.0, 0.5 * height),
        material=STEEL,
        name="block",
        fixed=True,
    )
    scene.add_tool(
        Box((0.03, 0.03, 0.06)),
        mass=0.1,
        position=(-0.025, 0.0, 0.085),
        material=STEEL,
        coupling=FIRM_HAND,
        name="peg",
    )
    return scene


def spoon_and_cup() -> Scene:
    """A spoon of 20 cm and 10 g in hand, above a cup that stands still."""
    from tangere.scene.utensils import cup, spoon

    scene = Scene()
    scene.add_floor()
    scene.add_body(cup(), position=(0.0, 0.0, 0.05), name="cup", fixed=True)
    scene.add_tool(
        spoon(),
        mass=0.01,
        position=(-0.1, 0.0, 0.17),
        orientation=turn(Y, 0.5),
        coupling=SPOON_HAND,
        grip=(-0.07, 0.0, 0.008),
        name="spoon",
    )
    return scene


def shovel() -> Compound:
    """A square blade of 0.12 m, 2 cm thick, about the origin, with a handle along −x."""
    blade, handle = Box((0.12, 0.12, 0.02)), Cylinder(0.011, 0.14, facets=12)
    return Compound([blade, handle], [((0, 0, 0), UPRIGHT), ((-0.13, 0, 0), turn(Y, 0.5 * pi))])


def pyramid() -> Scene:
    """Six blocks of 0.1 m and 0.2 kg: a small pyramid to push over."""
    scene = Scene()
    scene.add_floor()
    edge, gap = 0.1, 0.02
    for row, count in enumerate((3, 2, 1)):
        for i in range(count):
            x = (i - 0.5 * (count - 1)) * (edge + gap)
            scene.add_body(
                Box((edge, edge, edge)),
                mass=0.2,
                position=(x, 0.0, (row + 0.5) * edge),
                name=f"block-{row}-{i}",
            )
    return scene


def wall(courses: int = 9, width: int = 5, *, material: Material | None = None) -> Scene:
    """A wall in running bond, 50 blocks of 0.25 x 0.125 x 0.125 m unless told otherwise.

    A course of whole blocks lies between courses that begin and end with half a block, so that
    every joint has a block above it. All lengths are whole fractions of two: neighbours touch
    without a gap and without rounding.

    Args:
        courses: Number of layers; the lowest has half blocks at its ends.
        width: Of the wall in whole blocks.
        material: Of the blocks and the floor.
    """
    integer(courses, "wall courses", 1, 1_000)
    integer(width, "wall width", 1, 1_000)
    length, depth, height = 0.25, 0.125, 0.125
    whole, half = Box((length, depth, height)), Box((0.5 * length, depth, height))
    scene = Scene()
    scene.add_floor(material=material)
    for course in range(courses):
        shapes = [whole] * width if course % 2 else [half, *[whole] * (width - 1), half]
        left = -0.5 * width * length
        for i, shape in enumerate(shapes):
            across = shape.size[0]
            scene.add_body(
                shape,
                density=1600.0,
                position=(left + 0.5 * across, 0.0, (course + 0.5) * height),
                material=material,
                name=f"block-{course}-{i}",
            )
            left += across
    return scene


def arch(stones: int = 15, *, thickness: float = 0.8, material: Material | None = None) -> Scene:
    """Half a ring of equal wedge stones on the floor, 8 m wide; no mortar holds them.

    Such an arch stands while a line of thrust fits between its inner and its outer side. For a
    semicircle under its own weight that takes a thickness of about 0.107 of the mean radius
    [HEYMAN1969]; here it is 0.2. A line through the middle of the crown and of the feet needs
    friction of 1 − 2/π = 0.36 at the floor; there is 0.6.

    Args:
        stones: Number of wedges, odd for one at the crown.
        thickness: Of the ring, outer less inner radius [m].
        material: Of the stones and the floor.
    """
    integer(stones, "arch stones", 3, 1_000)
    radius, depth = 4.0, 1.0
    number(thickness, "arch thickness", least=1e-3, most=radius)
    half = 0.5 * pi / stones  # angle from the middle of a stone to its joint
    # The stone at the crown, its origin on the mean circle.
    stone = Convex(
        [
            (side * r * sin(half), y, r * cos(half) - radius)
            for r in (radius - 0.5 * thickness, radius + 0.5 * thickness)
            for side in (-1.0, 1.0)
            for y in (-0.5 * depth, 0.5 * depth)
        ]
    )
    scene = Scene()
    scene.add_floor(material=material)
    for i in range(stones):
        angle = (2 * i + 1 - stones) * half  # from the crown, towards x
        scene.add_body(
            stone,
            density=2000.0,
            position=radius * np.array([sin(angle), 0.0, cos(angle)]),
            orientation=turn(Y, angle),
            material=material,
            name=f"stone-{i}",
        )
    return scene


def card_house(storeys: int = 3, *, material: Material | None = None) -> Scene:
    """A house of thick cards, 1.5 x 60 x 90 mm and 6 g each; three storeys take 15.

    Pairs lean on each other at 20° from the vertical; cards laid flat from ridge to ridge carry
    the next storey. A leaning card of weight w that carries P at its top pushes its foot outwards
    with (w/2 + P) tan θ and down with w + P: it needs friction of tan θ/2 = 0.18 alone and of less
    than tan θ = 0.36 under any load. There is 0.6.

    Args:
        storeys: Number of layers; the lowest has as many pairs.
        material: Of the cards and the floor.
    """
    integer(storeys, "card_house storeys", 1, 100)
    thickness, width, length = 1.5e-3, 0.06, 0.09
    lean = np.deg2rad(20.0)
    card = Box((thickness, width, length))
    # Inner edges meet at the ridge and stand on the ground, outer ones carry the card above.
    along = 0.5 * length * np.array([sin(lean), 0.0, cos(lean)])
    across = 0.5 * thickness * np.array([cos(lean), 0.0, -sin(lean)])
    storey = 2.0 * (along[2] - across[2])
    scene = Scene()
    scene.add_floor(material=material)

    def add(position: Array, angle: float, name: str) -> None:
        scene.add_body(
            card,
            density=700.0,
            position=position,
            orientation=turn(Y, angle),
            material=material,
            name=name,
        )

    for level in range(storeys):
        pairs = storeys - level
        ground = level * (storey + thickness)
        ridges = (np.arange(pairs) - 0.5 * (pairs - 1)) * length
        for i, x in enumerate(ridges):
            for side, word in ((-1.0, "left"), (1.0, "right")):
                offset = along[0] + across[0]
                centre = np.array([x + side * offset, 0.0, ground + along[2] - across[2]])
                add(centre, -side * float(lean), f"{word}-{level}-{i}")
        for i, x in enumerate(0.5 * (ridges[1:] + ridges[:-1])):
            centre = np.array([x, 0.0, ground + storey + 0.5 * thickness])
            add(centre, 0.5 * pi, f"flat-{level}-{i}")
    return scene


def stick_slip() -> Scene:
    """A 1 kg cube on the floor, pulled at its base by a spring whose far end moves at 0.05 m/s."""
    edge = 0.1
    material = Material(static_friction=0.5, kinetic_friction=0.3)
    scene = Scene()
    scene.add_floor(material=material)
    cube = scene.add_body(
        Box((edge, edge, edge)),
        mass=1.0,
        position=(0.0, 0.0, 0.5 * edge),
        material=material,
        name="cube",
    )
    scene.add_spring(
        cube,
        anchor_a=(0.0, 0.0, -0.5 * edge),
        anchor_b=(0.0, 0.0, 0.0),
        stiffness=50.0,
        velocity=(0.05, 0.0, 0.0),
        name="pull",
    )
    return scene


def spinning_block() -> Scene:
    """A flat block that slides and spins on the floor; both motions end together."""
    material = Material(static_friction=0.3, kinetic_friction=0.3)
    scene = Scene()
    scene.add_floor(material=material)
    scene.add_body(
        Box((0.2, 0.2, 0.05)),
        mass=1.0,
        position=(0.0, 0.0, 0.025),
        velocity=(0.5, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 10.0),
        material=material,
        name="block",
    )
    return scene


def spinning_top() -> Scene:
    """A cone of 0.05 m on its tip at 100 rad/s, tilted by 0.1 rad."""
    size, tilt, spin = 0.05, 0.1, 100.0
    material = Material(static_friction=0.3, kinetic_friction=0.3)
    axis = np.array([sin(tilt), 0.0, cos(tilt)])
    scene = Scene()
    scene.add_floor(material=material)
    scene.add_body(
        Cone(size, size, facets=24),
        mass=0.05,
        # The apex, 3/4 of the height from the origin, stands on the floor.
        position=0.75 * size * axis,
        orientation=turn(Y, pi + tilt),
        angular_velocity=spin * axis,
        material=material,
        name="top",
    )
    return scene


def slope() -> Scene:
    """Four blocks on a slope of 20 degrees: two slippery ones slide, two rough ones stay."""
    angle = np.deg2rad(20.0)
    normal = np.array([-sin(angle), 0.0, cos(angle)])
    scene = Scene()
    scene.add_floor(normal=normal, material=Material(1.0, 1.0), name="slope")
    # Friction of a pair is the geometric mean: on the slope's 1, mu² acts as mu; tan 20° = 0.36.
    for i, mu in enumerate((0.2, 0.3, 0.5, 0.7)):
        scene.add_body(
            Box((0.1, 0.1, 0.05)),
            mass=0.5,
            position=0.025 * normal + (0.15 * i - 0.225) * Y,
            orientation=turn(Y, -float(angle)),
            material=Material(mu**2, (0.9 * mu) ** 2),
            name=f"friction-{mu}",
        )
    return scene


def dominoes(count: int = 20) -> Scene:
    """A row of dominoes, the first one already falling."""
    integer(count, "dominoes count", 1, 10_000)
    thickness, width, height, spacing = 0.01, 0.03, 0.06, 0.03
    tilt = 0.25
    scene = Scene()
    scene.add_floor()
    for i in range(count):
        # The first one stands on its lower front edge, tilted towards the others.
        angle = tilt if i == 0 else 0.0
        centre = 0.5 * (height * cos(angle) + thickness * sin(angle))
        scene.add_body(
            Box((thickness, width, height)),
            density=700.0,
            position=(i * spacing, 0.0, centre),
            orientation=turn(Y, angle),
            name=f"domino-{i}",
        )
    return scene


def heap(count: int = 60, *, seed: int = 0) -> Scene:
    """Random shapes that fall into a bin of four walls.

    Args:
        count: Number of bodies.
        seed: Of shapes, places and turns.
    """
    integer(count, "heap count", 1, 10_000)
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_floor()
    half, wall = 0.36, 0.02
    for i, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        size = (wall, 2 * half, 0.3) if x else (2 * half, wall, 0.3)
        position = (x * (half + wall / 2), y * (half + wall / 2), 0.15)
        scene.add_body(Box(size), position=position, fixed=True, name=f"wall-{i}")
    for i in range(count):
        # Layers of sixteen on a coarse grid: no two overlap at the start.
        layer, place = divmod(i, 16)
        grid = np.array([place % 4, place // 4]) - 1.5
        x, y = 0.18 * grid + rng.uniform(-0.01, 0.01, 2)
        scene.add_body(
            _random_shape(rng),
            density=800.0,
            position=(x, y, 0.4 + 0.18 * layer),
            orientation=rng.normal(size=4),
            name=f"body-{i}",
        )
    return scene


def mixed_shapes() -> Scene:
    """One body of every kind of shape, dropped on the floor."""
    scene = Scene()
    scene.add_floor()
    dumbbell = Compound(
        [Cylinder(0.015, 0.14, facets=16), Sphere(0.04), Sphere(0.04)],
        [((0, 0, 0), UPRIGHT), ((0, 0, -0.08), UPRIGHT), ((0, 0, 0.08), UPRIGHT)],
    )
    stone = Convex(0.06 * np.random.default_rng(4).normal(size=(24, 3)).clip(-1.0, 1.0))
    shapes: dict[str, Shape] = {
        "box": Box((0.1, 0.12, 0.08)),
        "ball": Sphere(0.06),
        "cylinder": Cylinder(0.05, 0.12),
        "cone": Cone(0.06, 0.12),
        "capsule": Capsule(0.04, 0.1),
        "stone": stone,
        "dumbbell": dumbbell,
        "ring": ring_mesh(0.04, 0.09, 0.04),
    }
    for i, (name, shape) in enumerate(shapes.items()):
        column, row = i % 4, i // 4
        scene.add_body(
            shape,
            position=(0.25 * column - 0.375, 0.25 * row - 0.125, 0.25),
            orientation=turn(X, 0.3 * i),
            name=name,
        )
    return scene


def ring_mesh(inner: float, outer: float, height: float, facets: int = 24) -> Mesh:
    """A flat ring about z as a concave mesh; radii and height [m]."""
    angle = 2.0 * pi * np.arange(facets) / facets
    circle = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(facets)))
    rise = 0.5 * height * Z
    # Four circles, walked around the ring's cross-section so that all triangles face outwards.
    circles = [outer * circle - rise, outer * circle + rise]
    circles += [inner * circle + rise, inner * circle - rise]
    faces = []
    for k in range(4):
        for i in range(facets):
            j = (i + 1) % facets
            a, b = k * facets, (k + 1) % 4 * facets
            faces += [(a + i, a + j, b + j), (a + i, b + j, b + i)]
    return Mesh(np.concatenate(circles), np.array(faces))


def turn(axis: Array, angle: float) -> Array:
    """Quaternion (w, x, y, z) of a turn about a unit axis by `angle` [rad]."""
    return np.array([cos(0.5 * angle), *(sin(0.5 * angle) * axis)])


def _random_shape(rng: np.random.Generator) -> Shape:
    a, b, c = rng.uniform(0.04, 0.08, 3)
    kinds: list[Callable[[], Shape]] = [
        lambda: Box((a, b, c)),
        lambda: Sphere(0.6 * a, subdivisions=2),
        lambda: Cylinder(0.5 * a, b, facets=16),
        lambda: Cone(0.7 * a, 1.2 * b, facets=16),
        lambda: Capsule(0.4 * a, 0.8 * b, facets=8),
        lambda: Convex(0.7 * a * _directions(rng, 16)),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def _directions(rng: np.random.Generator, count: int) -> Array:
    points = rng.normal(size=(count, 3))
    directions: Array = points / np.linalg.norm(points, axis=1)[:, None]
    return directions


SCENES: dict[str, Entry] = {
    "arch": Entry("fifteen wedge stones in half a ring, held by weight alone", arch),
    "ball-on-cylinders": Entry(
        "a ball in your hand, above two crossed cylinders", ball_on_cylinders, "formation"
    ),
    "blocks": Entry("six blocks to push and to stack, with a shovel in your hand", blocks),
    "block-tower": Entry("thirteen blocks on top of each other", block_tower),
    "card-house": Entry("three storeys of leaning cards", card_house),
    "clip": Entry("a soft clip in your hand, to snap onto a pipe", clip_to_snap, "signorini"),
    "cylinder-in-pipe": Entry(
        "a cylinder in your hand, to roll on an L-shaped pipe", cylinder_in_pipe, "formation"
    ),
    "cylinder-pivot": Entry(
        "a cylinder in your hand, to turn about a point of its edge", cylinder_pivot, "formation"
    ),
    "dominoes": Entry("a row of twenty dominoes, the first one falling", dominoes),
    "falling-cube": Entry("a tilted cube drops and comes to rest", falling_cube),
    "gear-box": Entry("a gear in your hand, to drive two gears on pins", gear_box, "penalty"),
    "guarded-motion": Entry(
        "a cylinder in your hand, to set down on a crossed one", guarded_motion, "formation"
    ),
    "heap": Entry("sixty mixed shapes fall into a bin", heap),
    "jaws": Entry("an upper jaw in your hand, above a lower jaw", jaws, "penalty"),
    "mesh-bowl": Entry("ten concave bodies in a bowl, to stir with a stick", mesh_bowl, "penalty"),
    "mixed-shapes": Entry("one body of every kind of shape", mixed_shapes),
    "peg-and-hole": Entry("a peg in your hand and a hole 1 mm wider all round", peg_and_hole),
    "peg-in-hole": Entry(
        "a square peg in your hand and a hole 3 mm wider all round", peg_in_hole, "formation"
    ),
    "pen-in-bowl": Entry(
        "a pen in your hand, to slide and lean in a bowl", pen_in_bowl, "formation"
    ),
    "pyramid": Entry("a small pyramid of six blocks to push over", pyramid),
    "slope": Entry("four blocks of different friction on a slope", slope),
    "soft-block": Entry("a ball in your hand, to poke a block of jelly", soft_block, "signorini"),
    "spinning-block": Entry("a block slides and spins until friction stops both", spinning_block),
    "spinning-top": Entry("a cone spins on its tip", spinning_top),
    "spoon-and-cup": Entry("a spoon in your hand, above a cup", spoon_and_cup, "penalty"),
    "stick-slip": Entry("a block pulled through a spring sticks and slips in turn", stick_slip),
    "table": Entry("a soft table in your hand, to press on the floor", table_to_press, "signorini"),
    "two-hands": Entry("six blocks between two shovels, one for each hand", two_hands),
    "wall": Entry("fifty blocks in running bond", wall),
}
