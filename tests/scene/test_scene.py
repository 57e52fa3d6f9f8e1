from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import quaternions

from tangere.errors import SceneError
from tangere.geometry.shapes import Box, Compound, Convex, Sphere
from tangere.maths.rotations import rotation_of
from tangere.scene.scene import Body, Floor, Material, Scene

NAN, INF = float("nan"), float("inf")


def test_body_takes_mass_or_density() -> None:
    scene = Scene()
    by_mass = scene.add_body(Box((0.2, 0.2, 0.1)), mass=3.0)
    by_density = scene.add_body(Box((0.2, 0.2, 0.1)), density=750.0)
    by_default = scene.add_body(Box((0.2, 0.2, 0.1)))
    assert by_mass.mass == 3.0
    assert by_density.mass == pytest.approx(3.0)
    assert by_default.mass == pytest.approx(4.0)
    expected = np.diag([0.05, 0.05, 0.08]) * 3.0 / 12
    assert np.allclose(by_mass.inertia, expected)
    assert np.allclose(by_density.inertia, expected)


def test_centre_and_inertia_are_about_the_centre_of_mass() -> None:
    shape = Compound([Box((1, 1, 1)), Box((1, 1, 1))], [((1, 0, 0), (1, 0, 0, 0))] * 2)
    body = Scene().add_body(shape, mass=6.0)
    assert np.allclose(body.centre, (1, 0, 0))
    assert np.allclose(body.inertia, np.eye(3))


@given(quaternions(), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.0, 1.0))
def test_any_possible_inertia_is_accepted(q: Any, a: float, b: float, share: float) -> None:
    # c anywhere between |a - b| and a + b, turned to any axes
    c = abs(a - b) + share * (a + b - abs(a - b))
    if c < 1e-6:
        return
    tensor = rotation_of(q) @ np.diag([a, b, c]) @ rotation_of(q).T
    body = Scene().add_body(Sphere(1.0), mass=1.0, inertia=tensor)
    assert np.allclose(np.linalg.eigvalsh(body.inertia), sorted([a, b, c]), rtol=1e-6)


def test_three_moments_make_a_diagonal() -> None:
    body = Scene().add_body(Sphere(1.0), mass=1.0, inertia=(1, 2, 3))
    assert np.array_equal(body.inertia, np.diag([1.0, 2.0, 3.0]))


def test_orientation_is_normalised() -> None:
    body = Scene().add_body(Sphere(1.0), orientation=(1, 0, 0, 1))
    assert np.allclose(body.orientation, (np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    floor = Scene().add_floor(normal=(0, 3, 4))
    assert np.allclose(floor.normal, (0, 0.6, 0.8))


@given(quaternions())
def test_normalising_twice_changes_nothing(q: Any) -> None:
    once = Scene().add_body(Sphere(1.0), orientation=q * 3.7).orientation
    twice = Scene().add_body(Sphere(1.0), orientation=once).orientation
    assert np.array_equal(once, twice)


def test_names_are_given_and_found() -> None:
    scene = Scene()
    floor = scene.add_floor()
    boxes = [scene.add_body(Box((1, 1, 1))) for _ in range(3)]
    named = scene.add_body(Sphere(1.0), name="ball")
    spring = scene.add_spring("ball", boxes[1], stiffness=1.0)
    assert [box.name for box in boxes] == ["box", "box-2", "box-3"]
    assert [box.index for box in boxes] == [0, 1, 2]
    assert scene["ball"] is named
    assert scene["floor"] is floor
    assert scene["spring"] is spring
    assert (spring.body_a, spring.body_b) == (3, 1)
    assert "ball" in scene
    assert "bell" not in scene
    with pytest.raises(SceneError, match=r"unknown name 'bal'; did you mean 'ball'\?"):
        scene["bal"]
    with pytest.raises(SceneError, match=r"unknown name 'zzz'; known: .*'box-2'"):
        scene["zzz"]
    with pytest.raises(SceneError, match="there are none yet"):
        Scene()["zzz"]
    with pytest.raises(SceneError, match="unknown name"):
        scene[["box"]]  # type: ignore[index]
    with pytest.raises(SceneError, match="unknown body 'floor'"):
        scene.add_spring("floor", stiffness=1.0)


def test_named_materials() -> None:
    scene = Scene()
    rubber = scene.add_material("rubber", Material(0.9, 0.8))
    assert scene.add_floor(material="rubber").material is rubber
    assert scene.add_body(Sphere(1.0), material=rubber).material is rubber
    assert scene.add_body(Sphere(1.0)).material == Material()
    with pytest.raises(SceneError, match=r"unknown name 'ruber'; did you mean 'rubber'\?"):
        scene.add_body(Sphere(1.0), material="ruber")
    with pytest.raises(SceneError, match="the name is taken"):
        scene.add_material("rubber", Material())


def test_fixed_body_needs_no_mass() -> None:
    body = Scene().add_body(Box((10, 10, 1)), fixed=True, velocity=(0, 0, 0.1))
    assert body.fixed
    assert body.velocity[2] == 0.1
    for size in (1e-7, 1e7):  # a speck, a mountain range
        assert np.isfinite(Scene().add_body(Box((size, size, size)), fixed=True).mass)


def test_failed_additions_leave_no_trace() -> None:
    scene = Scene()
    ball = scene.add_body(Sphere(1.0))
    with pytest.raises(SceneError):
        scene.add_body(Sphere(1.0), mass=-1.0, name="bad")
    with pytest.raises(SceneError):
        scene.add_floor(height=NAN)
    with pytest.raises(SceneError):
        scene.add_spring(ball, stiffness=-1.0)
    assert (len(scene.bodies), len(scene.floors), len(scene.springs)) == (1, 0, 0)
    assert "bad" not in scene
    assert scene.add_body(Sphere(1.0), mass=1.0, name="bad").index == 1


def test_records_are_frozen_and_hashable() -> None:
    scene = Scene()
    body = scene.add_body(Sphere(1.0))
    with pytest.raises(AttributeError):
        body.mass = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        body.position[0] = 1.0
    assert {body: "found"}[body] == "found"
    assert isinstance(scene.bodies[0], Body)
    assert repr(scene) == "Scene(1 bodies, 0 floors, 0 springs)"


def test_scenes_compare_by_content() -> None:
    def make(x: float) -> Scene:
        scene = Scene()
        scene.add_floor()
        scene.add_body(Box((1, 1, 1)), position=(x, 0, 0))
        return scene

    assert make(0.5) == make(0.5)
    assert make(0.5) != make(np.nextafter(0.5, 1.0))
    assert isinstance(make(0.5).floors[0], Floor)


def body(**options: Any) -> Callable[[], Any]:
    return lambda: Scene().add_body(options.pop("shape", Sphere(1.0)), **options)


def spring(**options: Any) -> Callable[[], Any]:
    def add() -> Any:
        scene = Scene()
        scene.add_body(Sphere(1.0), name="a")
        scene.add_body(Sphere(1.0), name="b")
        return scene.add_spring(options.pop("body_a", "a"), **{"stiffness": 1.0, **options})

    return add


def floor(**options: Any) -> Callable[[], Any]:
    return lambda: Scene().add_floor(**options)


def material(**options: Any) -> Callable[[], Any]:
    return lambda: Material(**options)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "gravity of two": (lambda: Scene(gravity=(0, 0)), "Scene gravity: expected 3 numbers"),
    "gravity NaN": (lambda: Scene(gravity=(0, 0, NAN)), "Scene gravity: must be finite"),
    "no shape": (body(shape="box"), "expected a shape"),
    "zero mass": (body(mass=0.0), "body 'sphere' mass: must be positive, got 0.0"),
    "negative mass": (body(mass=-1, name="x"), "body 'x' mass: must be positive, got -1"),
    "NaN mass": (body(mass=NAN), "mass: must be finite"),
    "infinite mass": (body(mass=INF), "mass: must be finite"),
    "huge mass": (body(mass=1e99), "mass: out of range"),
    "tiny mass": (body(mass=1e-99), "mass: out of range"),
    "text mass": (body(mass="1"), "mass: expected a number, got '1'"),
    "mass and density": (body(mass=1.0, density=1.0), "both mass and density"),
    "zero density": (body(density=0.0), "density: must be positive"),
    "vanishing volume": (body(shape=Sphere(1e-9)), "mass (density 1000 times volume"),
    "inertia of two": (body(inertia=(1, 2)), "3 moments or a 3x3 matrix"),
    "inertia ragged": (body(inertia=[(1, 2, 3), (1, 2), (1, 2, 3)]), "expected 3 numbers"),
    "inertia number": (body(inertia=1.0), "3 moments or a 3x3 matrix"),
    "inertia NaN": (body(inertia=(1, NAN, 1)), "inertia: must be finite"),
    "inertia zero": (body(inertia=(0, 1, 1)), "must all be positive"),
    "inertia negative": (body(inertia=(-1, 1, 1)), "must all be positive"),
    "inertia impossible": (body(inertia=(1, 1, 3)), "no body has principal moments 1, 1, 3"),
    "inertia skew": (body(inertia=[(2, 1, 0), (0, 2, 0), (0, 0, 2)]), "not symmetric"),
    "inertia indefinite": (body(inertia=[(1, 2, 0), (2, 1, 0), (0, 0, 2)]), "must all be positive"),
    "position of two": (body(position=(0, 0)), "position: expected 3 numbers"),
    "position NaN": (body(position=(NAN, 0, 0)), "position: must be finite"),
    "position huge": (body(position=(1e99, 0, 0)), "position: out of range"),
    "position of text": (body(position="abc"), "position: expected 3 numbers, got 'abc'"),
    "position matrix": (body(position=np.zeros((3, 1))), "position: expected 3 numbers"),
    "orientation zero": (
        body(orientation=(0, 0, 0, 0)),
        "orientation (w, x, y, z): has no direction",
    ),
    "orientation of three": (body(orientation=(0, 0, 1)), "orientation (w, x, y, z): expected 4"),
    "velocity infinite": (body(velocity=(0, INF, 0)), "velocity: must be finite"),
    "spin None": (body(angular_velocity=None), "angular_velocity: expected 3 numbers"),
    "material number": (body(material=3), "expected a Material or its name, got 3"),
    "unknown material": (body(material="ice"), "unknown name 'ice'"),
    "empty name": (body(name=""), "name: expected 1 to 100 printable"),
    "name of two lines": (body(name="a\nb"), "name: expected 1 to 100 printable"),
    "name number": (body(name=3), "name: expected 1 to 100 printable"),
    "fixed maybe": (body(fixed="yes"), "fixed: expected true or false, got 'yes'"),
    "taken name": (spring(name="a"), "spring 'a': the name is taken"),
    "spring to itself": (spring(body_b="a"), "both ends on body 'a'"),
    "spring to nobody": (spring(body_b="c"), "body_b: unknown body 'c'"),
    "spring of index": (spring(body_a=7), "no body 7, the scene has 2"),
    "spring of truth": (spring(body_a=True), "expected a body or its name"),
    "spring of stranger": (spring(body_a=Scene().add_body(Sphere(1.0))), "another scene"),
    "spring negative": (spring(stiffness=-1.0), "stiffness: must not be negative"),
    "spring NaN": (spring(damping=NAN), "damping: must be finite"),
    "spring short": (spring(rest_length=-0.1), "rest_length: must not be negative"),
    "spring moved": (spring(body_b="b", velocity=(1, 0, 0)), "only an end in the world"),
    "floor without normal": (floor(normal=(0, 0, 0)), "floor 'floor' normal: has no direction"),
    "floor NaN": (floor(height=NAN), "height: must be finite"),
    "friction negative": (material(static_friction=-0.1), "static_friction: must not be negative"),
    "friction inverted": (material(static_friction=0.3), "kinetic_friction: 0.5 exceeds"),
    "friction None": (material(kinetic_friction=None), "kinetic_friction: expected a number"),
    "stiffness negative": (material(stiffness=-1.0), "stiffness: must not be negative"),
    "damping NaN": (material(damping=NAN), "damping: must be finite"),
    "flat hull": (lambda: Convex(np.zeros((8, 3))), "coincide"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name: str) -> None:
    make, text = BAD[name]
    with pytest.raises(SceneError) as caught:
        make()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
