"""Scenes of complex meshes, made for the penalty method: jaws, gears on pins, a bowl of bodies.

In each a hand holds a tool, which touches the meshes as they are, not convex pieces of them.
"""

from __future__ import annotations

from math import cos, pi, sin

from tangere.geometry.shapes import Capsule, Cylinder
from tangere.haptics.coupling import VirtualCoupling
from tangere.scene.concave_bodies import CONCAVE, bowl
from tangere.scene.jaws import lower_jaw, upper_jaw
from tangere.scene.machine_parts import spur_gear
from tangere.scene.scene import Material, Scene

# The coupling of the jaws experiment [OTADUY2005]; the bound is that of a small device.
LIGHT_HAND = VirtualCoupling(
    stiffness=500.0, damping=1.0, rotational_stiffness=0.6, rotational_damping=0.009, max_force=8.0
)
PLASTIC = Material(static_friction=0.3, kinetic_friction=0.25)
MODULE, TEETH, WIDTH, BORE = 2.5e-3, (24, 18), 0.012, 8e-3  # of the gears
PIN = 7.5e-3  # radius [m]


def jaws() -> Scene:
    """A lower jaw of 40,180 triangles that stands still, and an upper one of 47,340 in hand."""
    scene = Scene()
    scene.add_floor()
    height = 0.015
    scene.add_body(lower_jaw(), position=(0.0, 0.0, height), name="lower jaw", fixed=True)
    upper = upper_jaw()
    scene.add_tool(
        upper,
        mass=0.01,
        position=(0.0, 0.0, height + 0.053),  # they touch 6 mm further down
        coupling=LIGHT_HAND,
        grip=upper.moments().centre,
        name="upper jaw",
    )
    return scene


def gear_box() -> Scene:
    """Two gears of 24 and 18 teeth in mesh on pins, and a third in hand to drive them.

    The gears lie on the floor and turn about fixed pins with half a millimetre of play.
    """
    scene = Scene()
    scene.add_floor(material=PLASTIC)
    large, small = (spur_gear(n, module=MODULE, width=WIDTH, bore=BORE) for n in TEETH)
    apart = 0.5 * MODULE * sum(TEETH)
    half_tooth = pi / TEETH[1]  # the small one shows the large one a gap
    for name, shape, x, angle in (
        ("large gear", large, 0.0, 0.0),
        ("small gear", small, apart, pi + half_tooth),
    ):
        scene.add_body(
            shape,
            density=1200.0,
            position=(x, 0.0, 0.5 * WIDTH),
            orientation=(cos(0.5 * angle), 0.0, 0.0, sin(0.5 * angle)),
            material=PLASTIC,
            name=name,
        )
        scene.add_body(
            Cylinder(PIN, 2.0 * WIDTH),
            position=(x, 0.0, WIDTH),
            material=PLASTIC,
            name=f"pin of the {name}",
            fixed=True,
        )
    scene.add_tool(
        small,
        mass=0.02,
        position=(-apart - 4.0 * MODULE, 0.0, 0.5 * WIDTH + 1e-3),  # teeth just out of mesh
        material=PLASTIC,
        coupling=LIGHT_HAND,
        name="gear in hand",
    )
    return scene


def mesh_bowl() -> Scene:
    """Ten concave bodies of 5 cm that fall into a bowl, and a stick in hand to stir them."""
    scene = Scene()
    scene.add_floor(material=PLASTIC)
    scene.add_body(bowl(0.12), material=PLASTIC, name="bowl", fixed=True)
    for i, (name, make) in enumerate(CONCAVE.items()):
        # Two rings of five, each body in a ball of its own: within the bowl and above it.
        layer, place = divmod(i, 5)
        angle = 2.0 * pi * (place + 0.5 * layer) / 5
        scene.add_body(
            make(),
            density=1000.0,
            position=(0.064 * cos(angle), 0.064 * sin(angle), 0.072 + 0.076 * layer),
            orientation=(cos(0.3 + i), sin(0.3 + i), 0.0, 0.0),
            material=PLASTIC,
            name=name,
        )
    scene.add_tool(
        Capsule(0.008, 0.14),
        mass=0.02,
        position=(0.0, 0.0, 0.2),
        material=PLASTIC,
        coupling=LIGHT_HAND,
        grip=(0.0, 0.0, 0.05),
        name="stick",
    )
    return scene
