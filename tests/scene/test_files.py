from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import Pose, clouds, poses, vectors

from tangere.errors import SceneError
from tangere.geometry.files import load
from tangere.geometry.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    Convex,
    Cylinder,
    Mesh,
    Shape,
    Sphere,
)
from tangere.scene.scene import Material, Scene

STILL = (1.0, 0.0, 0.0, 0.0)
TETRAHEDRON = (
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)],
)

COMPLETE = """\
gravity = [0, 0, -9.81]

[materials.rubber]
static_friction = 0.9
kinetic_friction = 0.8
stiffness = 1e4

[[floors]]
material = "rubber"
height = -0.5
normal = [0.0, 0.1, 1.0]

[[bodies]]
name = "block"
shape = {kind = "box", size = [0.2, 0.2, 0.1]}
mass = 1.0
inertia = [0.01, 0.01, 0.015]
position = [0.0, 0.0, 0.05]
orientation = [1.0, 0.0, 0.0, 1.0]
velocity = [0.1, 0.0, 0.0]
material = "rubber"

[[bodies]]
name = "ball"
shape = {kind = "sphere", radius = 0.1, subdivisions = 1}
density = 500
angular_velocity = [0, 0, 10]
fixed = true

[[springs]]
body_a = "block"
body_b = "ball"
stiffness = 100.0
damping = 0.5
rest_length = 0.1
anchor_a = [0.0, 0.0, 0.05]
"""

HULLS = """\
[[bodies]]
shape = {kind = "mesh", vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], \
faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]}

[[bodies]]
shape = {kind = "convex", vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.5]]}

[[bodies]]
shape = {kind = "capsule", radius = 0.1, length = 0.2, facets = 4}
"""

JOINED = """\
[[bodies]]
shape = {kind = "compound", parts = [
  {shape = {kind = "cylinder", radius = 0.1, length = 0.2, facets = 5}, position = [0, 0, 1]},
  {shape = {kind = "cone", radius = 0.1, height = 0.2, facets = 4}, orientation = [0, 1, 0, 0]},
]}

[[bodies]]
name = "part"
shape = {kind = "mesh", file = "box.stl", scale = 0.001}
mass = 0.5

[[springs]]
name = "pull"
body_a = "part"
stiffness = 50
velocity = [0.05, 0, 0]
"""

SHAPES = HULLS + "\n" + JOINED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trimesh.creation.box((100.0, 200.0, 300.0)).export(tmp_path / "box.stl")
    return tmp_path


def read(folder: Path, text: str | bytes) -> Scene:
    path = folder / "scene.toml"
    path.unlink(missing_ok=True)  # a new file is written sooner than an old one is overwritten
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Scene.load(path)


def test_file_means_what_it_says(folder: Path) -> None:
    scene = read(folder, COMPLETE)
    assert scene.gravity.tolist() == [0.0, 0.0, -9.81]
    rubber = Material(0.9, 0.8, stiffness=1e4)
    assert scene.materials == {"rubber": rubber}
    (floor,) = scene.floors
    assert (floor.name, floor.height, floor.material) == ("floor", -0.5, rubber)
    block, ball = scene.bodies
    assert block.shape == Box((0.2, 0.2, 0.1))
    assert block.mass == 1.0
    assert block.inertia.tolist() == np.diag([0.01, 0.01, 0.015]).tolist()
    assert np.allclose(block.orientation, (np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    assert ball.fixed
    assert ball.mass == pytest.approx(500 * 4 / 3 * np.pi * 1e-3)
    (spring,) = scene.springs
    assert (spring.body_a, spring.body_b, spring.rest_length) == (0, 1, 0.1)


def test_every_shape_can_be_written_by_hand(folder: Path) -> None:
    scene = read(folder, SHAPES)
    kinds = [type(body.shape) for body in scene.bodies]
    assert kinds == [Mesh, Convex, Capsule, Compound, Mesh]
    assert scene.bodies[4].shape.moments().volume == pytest.approx(0.006, rel=1e-6)
    compound = scene.bodies[3].shape
    assert isinstance(compound, Compound)
    assert compound.shapes == (Cylinder(0.1, 0.2, facets=5), Cone(0.1, 0.2, facets=4))
    assert scene.springs[0].body_b is None


def test_empty_file_is_an_empty_scene(folder: Path) -> None:
    assert read(folder, "") == Scene()
    assert read(folder, "\ufeff# only a comment\r\ngravity = [0, 0, 0]\r\n") == Scene((0, 0, 0))


def shape_strategy() -> st.SearchStrategy[Shape]:
    size = st.floats(1e-2, 10.0)
    simple = st.one_of(
        st.builds(lambda a, b, c: Box((a, b, c)), size, size, size),
        st.builds(lambda r, n: Sphere(r, subdivisions=n), size, st.integers(1, 3)),
        st.builds(lambda r, h, n: Cylinder(r, h, facets=n), size, size, st.integers(3, 12)),
        st.builds(lambda r, h, n: Cone(r, h, facets=n), size, size, st.integers(3, 12)),
        st.builds(lambda r, h, n: Capsule(r, h, facets=n), size, size, st.integers(4, 8)),
        st.builds(Convex, clouds(most=12)),
        st.builds(lambda s: Mesh(np.array(TETRAHEDRON[0]) * s, TETRAHEDRON[1]), size),
    )
    return st.recursive(
        simple,
        lambda inner: st.lists(st.tuples(inner, poses()), min_size=1, max_size=3).map(
            lambda pairs: Compound([s for s, _ in pairs], [p for _, p in pairs])
        ),
        max_leaves=4,
    )


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.isprintable)
amounts = st.floats(1e-6, 1e6)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(shape_strategy(), poses(), amounts), max_size=4), vectors(), names, amounts
)
def test_round_trip_is_exact(
    tmp_path: Path, bodies: list[tuple[Shape, Pose, float]], v: Any, name: str, amount: float
) -> None:
    scene = Scene(gravity=v)
    scene.add_material(name, Material(0.1 + amount, 0.1, damping=amount))
    scene.add_floor(height=amount, normal=(v[0], v[1], 20.0), material=name, name=name)
    for i, (shape, (position, q), mass) in enumerate(bodies):
        scene.add_body(
            shape,
            mass=mass,
            inertia=None if i % 2 else (mass, mass, 1.5 * mass),
            position=position,
            orientation=q,
            velocity=v,
            angular_velocity=position,
            material=Material(mass, mass) if i % 3 else name,
            fixed=i == 2,
        )
        scene.add_spring(i, None if i == 0 else i - 1, anchor_a=v, stiffness=mass, damping=amount)
    scene.save(tmp_path / "scene.toml")
    again = Scene.load(tmp_path / "scene.toml")
    assert again == scene
    assert again.materials[name] == scene.materials[name]
    again.save(tmp_path / "twice.toml")
    assert Scene.load(tmp_path / "twice.toml") == scene


def test_mesh_files_stay_references_relative_to_the_scene(folder: Path) -> None:
    scene = Scene()
    scene.add_body(load(folder / "box.stl", scale=0.001))
    (folder / "scenes").mkdir()
    scene.save(folder / "scenes" / "scene.toml")
    text = (folder / "scenes" / "scene.toml").read_text()
    assert 'file = "../box.stl"' in text
    assert str(folder) not in text
    assert Scene.load(folder / "scenes" / "scene.toml") == scene


def test_relative_mesh_path_does_not_depend_on_the_working_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(read(folder, SHAPES).bodies) == 5


def test_saving_replaces_the_whole_file_or_nothing(folder: Path) -> None:
    path = folder / "scene.toml"
    path.write_text("old")
    Scene().save(path)
    assert Scene.load(path) == Scene()
    assert [p.name for p in folder.glob("*.tmp")] == []
    with pytest.raises(SceneError, match=r"nowhere.*cannot write the scene"):
        Scene().save(folder / "nowhere" / "scene.toml")
    with pytest.raises(SceneError, match="cannot write the scene"):
        Scene().save(folder)


def broken(old: str, new: str, source: str = COMPLETE) -> str:
    assert old in source
    return source.replace(old, new, 1)


DEEP = '{kind="compound", parts=[{shape=' * 40 + '{kind="sphere", radius=1}' + "}]}" * 40

# What is wrong, and what the message must say after the name of the file.
BAD: dict[str, tuple[str | bytes, str]] = {
    "syntax": ("gravity = [0, 0", "not valid TOML ("),
    "not text": (b"gravity = [0, 0, \xff]", "not UTF-8 text (byte 17); save the file as UTF-8"),
    "repeated key": ("gravity = [0,0,0]\ngravity = [0,0,0]", "not valid TOML ("),
    "endless nesting": ("gravity = " + "[" * 100_000, "nested too deeply"),
    "endless digits": ("gravity = [0, 0, " + "9" * 10_000 + "]", "not valid TOML ("),
    "impossible date": ("gravity = 2024-13-45", "not valid TOML ("),
    "unknown table": ("[[body]]\n", "unknown key 'body'; did you mean 'bodies'?"),
    "unknown key": (
        broken("mass", "mas"),
        "bodies[0] 'block': unknown key 'mas'; did you mean 'mass'?",
    ),
    "missing shape": ("[[bodies]]\nmass = 1", "bodies[0]: shape is missing"),
    "shape as text": ('[[bodies]]\nshape = "box"', "bodies[0]: shape: expected a table"),
    "unknown kind": (
        broken('"box"', '"bocx"'),
        "bodies[0] 'block': shape: unknown kind 'bocx'; did you mean 'box'?",
    ),
    "kind as list": (broken('"box"', "[1]"), "bodies[0] 'block': shape: unknown kind [1]"),
    "size of two": (
        broken("[0.2, 0.2, 0.1]", "[0.2, 0.2]"),
        "bodies[0] 'block': shape: Box size: expected 3 numbers, got [0.2, 0.2]",
    ),
    "size zero": (broken("[0.2, 0.2, 0.1]", "[0.2, 0.2, 0.0]"), "Box size: must be positive"),
    "size missing": (broken(", size = [0.2, 0.2, 0.1]", ""), "shape: size is missing"),
    "foreign key": (broken("size =", "radius = 1, size ="), "unknown key 'radius'"),
    "mass as text": (
        broken("mass = 1.0", 'mass = "1"'),
        "bodies[0] 'block': body 'block' mass: expected a number, got '1'",
    ),
    "mass negative": (broken("mass = 1.0", "mass = -1.0"), "must be positive, got -1.0"),
    "mass NaN": (broken("mass = 1.0", "mass = nan"), "mass: must be finite, got nan"),
    "mass infinite": (broken("mass = 1.0", "mass = inf"), "mass: must be finite, got inf"),
    "mass huge": (broken("mass = 1.0", "mass = 1e300"), "mass: out of range, got 1e+300"),
    "mass of hundred digits": (broken("mass = 1.0", "mass = 1" + "0" * 400), "must be finite"),
    "mass true": (broken("mass = 1.0", "mass = true"), "expected a number, got True"),
    "mass a date": (broken("mass = 1.0", "mass = 2024-01-01"), "expected a number"),
    "both mass and density": (broken("mass = 1.0", "mass = 1.0\ndensity = 2.0"), "keep one"),
    "inertia impossible": (broken("0.015]", "0.15]"), "no body has principal moments"),
    "position nested": (broken("[0.0, 0.0, 0.05]", "[[0.0], 0.0, 0.05]"), "expected a number"),
    "orientation zero": (broken("[1.0, 0.0, 0.0, 1.0]", "[0, 0, 0, 0]"), "has no direction"),
    "fixed as number": (
        broken("fixed = true", "fixed = 1"),
        "fixed: expected true or false, got 1",
    ),
    "unknown material": (
        broken('material = "rubber"', 'material = "ruber"'),
        "floors[0]: floor 'floor' material: unknown name 'ruber'; did you mean 'rubber'?",
    ),
    "material table": (broken('material = "rubber"', "material = {}"), "expected a name in quotes"),
    "material unknown key": (
        broken("stiffness = 1e4", "stifness = 1e4"),
        "materials.rubber: unknown key 'stifness'; did you mean 'stiffness'?",
    ),
    "materials a list": ("materials = [1]", "materials: expected [materials.NAME] tables"),
    "material a number": ("[materials]\nice = 1", "materials.ice: expected a table, got 1"),
    "friction inverted": (
        broken("kinetic_friction = 0.8", "kinetic_friction = 1.8"),
        "materials.rubber: Material kinetic_friction: 1.8 exceeds",
    ),
    "floors a table": ("[floors]\nheight = 1", "floors: expected [[floors]] tables"),
    "floor a number": ("floors = [1]", "floors[0]: expected a table, got 1"),
    "same name": (broken('"ball"', '"block"'), "bodies[1] 'block': sphere 'block': the name is"),
    "name of two lines": (broken('"ball"', '"a\\nb"'), "printable characters, got 'a\\nb'"),
    "name a number": (broken('"ball"', "3"), "name: expected a name in quotes, got 3"),
    "spring unknown body": (
        broken('body_a = "block"', 'body_a = "blok"'),
        "springs[0]: spring 'spring' body_a: unknown body 'blok'; did you mean 'block'?",
    ),
    "spring body number": (broken('body_a = "block"', "body_a = 0"), "expected a name in quotes"),
    "spring without stiffness": ("[[springs]]\nbody_a = 'a'", "stiffness is missing"),
    "mesh file missing": (
        broken("box.stl", "bax.stl", SHAPES),
        "bax.stl: no such mesh file; check the path",
    ),
    "mesh file is the folder": (broken("box.stl", "", SHAPES), "not a regular file"),
    "mesh file strange": (broken("box.stl", "\\u0000", SHAPES), "cannot read (embedded null"),
    "mesh file number": (broken('"box.stl"', "3", SHAPES), "file: expected a name in quotes"),
    "mesh file wrong kind": (broken("box.stl", "scene.toml", SHAPES), "unknown mesh format"),
    "mesh file and vertices": (
        broken('"box.stl"', '"box.stl", vertices = []', SHAPES),
        "unknown key",
    ),
    "mesh without faces": ('[[bodies]]\nshape={kind="mesh", vertices=[]}', "faces is missing"),
    "mesh open": (broken(", [0, 3, 2]]}", "]}", SHAPES), "bodies[0]: shape: Mesh: 3 triangles"),
    "mesh inverted": (
        broken(
            "[[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]",
            "[[0,1,2],[0,3,1],[1,3,2],[0,2,3]]",
            SHAPES,
        ),
        "Mesh: inverted",
    ),
    "face of truth": (broken("[0, 2, 1]", "[0, 2, true]", SHAPES), "faces[0]: expected three"),
    "face fractional": (broken("[0, 2, 1]", "[0, 2, 1.0]", SHAPES), "faces[0]: expected three"),
    "vertex of text": (broken("[1, 0, 0]", '["1", 0, 0]', SHAPES), "vertices[1]: expected three"),
    "vertex NaN": (broken("[1, 0, 0]", "[nan, 0, 0]", SHAPES), "Mesh vertices: point 1"),
    "vertex huge": (broken("[1, 0, 0]", "[1" + "0" * 400 + ", 0, 0]", SHAPES), "vertices"),
    "convex flat": (broken("[0, 0, 1.5]", "[1, 1, 0]", SHAPES), "bodies[1]: shape: Convex: all"),
    "part without shape": (
        broken('{shape = {kind = "cone", radius = 0.1, height = 0.2, facets = 4}, ', "{", SHAPES),
        "parts[1]: shape is missing",
    ),
    "parts empty": ('[[bodies]]\nshape={kind="compound", parts=[]}', "expected a list of shapes"),
    "parts a table": ('[[bodies]]\nshape={kind="compound", parts={}}', "parts: expected a list"),
    "compound too deep": (f"[[bodies]]\nshape = {DEEP}", "nested more than 32 deep"),
    "scale zero": (broken("scale = 0.001", "scale = 0", SHAPES), "scale: must be positive"),
}


JELLY = """\
[materials.skin]
static_friction = 0.5
kinetic_friction = 0.4

[[bodies]]
name = "jelly"
shape = {kind = "tetmesh", vertices = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], tetrahedra = [[0,1,2,3]]}
material = "skin"
elastic = {young = 1e5, poisson = 0.4, order = 1}
"""
BAD_JELLY = {
    "inverted": (
        ("[0,1,2,3]", "[0,2,1,3]"),
        "bodies[0] 'jelly': shape: TetMesh: tetrahedron 0 is inverted",
    ),
    "flat": (("[0,0,1]", "[1,1,0]"), "bodies[0] 'jelly': shape: TetMesh: tetrahedron 0 is flat"),
    "two pieces": (
        ("[0,0,1]], tetrahedra = [[0,1,2,3]", "[0,0,1],[2,0,0],[3,0,0],[2,1,0],[2,0,1]], "
         "tetrahedra = [[0,1,2,3],[4,5,6,7]"),
        "bodies[0] 'jelly': shape: TetMesh: 2 pieces that share no face",
    ),
    "poisson": (("0.4, order", "0.5, order"), "bodies[0] 'jelly': soft body 'jelly' poisson: 0.5"),
    "static friction": (
        ("static_friction = 0.5", "static_friction = -0.5"),
        "materials.skin: Material static_friction: must not be negative, got -0.5",
    ),
    "kinetic friction": (
        ("kinetic_friction = 0.4", "kinetic_friction = -0.4"),
        "materials.skin: Material kinetic_friction: must not be negative, got -0.4",
    ),
    "no tetrahedra": (
        ('kind = "tetmesh", vertices = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], tetrahedra = '
         "[[0,1,2,3]]", 'kind = "sphere", radius = 0.1'),
        "bodies[0] 'jelly': soft body: expected a TetMesh, got Sphere",
    ),
    "too fine": (
        ('vertices = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], tetrahedra = [[0,1,2,3]]',
         'surface = {kind = "sphere", radius = 0.1}, edge_length = 1e-4'),
        "bodies[0] 'jelly': shape: TetMesh from Sphere edge_length: 0.0001 m gives about",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_JELLY)
def test_soft_bodies_that_cannot_be_are_explained_in_one_line(folder: Path, name: str) -> None:
    (old, new), expected = BAD_JELLY[name]
    assert read(folder, JELLY).bodies[0].elastic is not None
    with pytest.raises(SceneError) as error:
        read(folder, broken(old, new, JELLY))
    line = str(error.value)
    assert "\n" not in line
    assert "scene.toml: " + expected in line


@pytest.mark.parametrize("name", BAD)
def test_broken_scene_files_are_explained_in_one_line(folder: Path, name: str) -> None:
    text, expected = BAD[name]
    with pytest.raises(SceneError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'scene.toml'}: ")
    assert expected in message
    assert message.isprintable()


def test_paths_that_are_no_scene(folder: Path) -> None:
    with pytest.raises(SceneError, match=r"nowhere\.toml: no such scene file; check the path"):
        Scene.load(folder / "nowhere.toml")
    with pytest.raises(SceneError, match="not a file; check the path"):
        Scene.load(folder)
    with pytest.raises(SceneError, match="check the path"):
        Scene.load("a\0b")
    with pytest.raises(SceneError, match="check the path"):
        Scene.load(3)  # type: ignore[arg-type]


# Well-formed values in the wrong place, and plain rubbish.
VALUES = [
    *("nan", "-inf", "1e999", "-1", "0", "-0.0", "1e-320", "1e15", "0x7f", "1" + "0" * 400),
    *("true", '""', '"a\\nb"', "[]", "{}", "[[]]", "[1, 2, 3]", "2024-01-01", "00:00:00", "1e-9"),
    *('"block"', '"box.stl"', '"mesh"', "{kind = 'sphere', radius = 1}", '"\\u0000"', '"ball"'),
    *("1.0", "0.5", "3", "7", "1e3", "0.25", "1e7", "5", "-0.1", "1e-3", '"\U0001f600"'),
]
RUBBISH = ["[" * 5000, "=", "\x00", "é", "'", '"""', "#", "\n", "9" * 5000, "[[bodies]]", "\r", "}"]
VALUE = re.compile(r'-?[0-9][0-9.]*(?:e-?[0-9]+)?|"[^"]*"|true')
ARRAY = re.compile(r"\[[-0-9., ]*\]")
WORD = re.compile(r"[a-z_]+")


def mutated(source: str, rng: random.Random) -> bytes:
    """The file with one to three faults: of values, words, lines, characters or bytes."""
    text = source
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = ("value", "array", "word", "line", "cut", "rubbish")
        kind = rng.choices(kinds, (16, 2, 2, 2, 1, 1))[0]
        pattern = {"value": VALUE, "array": ARRAY, "word": WORD}.get(kind)
        if pattern is not None:
            places = list(pattern.finditer(text))
            if places:
                at = rng.choice(places)
                new = rng.choice([p.group() for p in places] if kind == "word" else VALUES)
                if at.group()[0].isdigit() and rng.random() < 0.5:
                    new = repr(rng.uniform(0.05, 2.0))  # a fair number: the rest must bear it
                text = text[: at.start()] + new + text[at.end() :]
        elif kind == "line":
            lines = text.split("\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i : i + rng.randrange(3)] = lines[j : j + rng.randrange(3)]
            text = "\n".join(lines)
        else:
            i = rng.randrange(len(text) + 1)
            new = rng.choice(RUBBISH) if kind == "rubbish" else ""
            text = text[:i] + new + text[i + rng.randrange(20) :]
    data = bytearray(text.encode())
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 3))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.compiled
def test_ten_thousand_mutated_files_give_a_scene_or_one_line(folder: Path) -> None:
    rng = random.Random(20240229)
    seen: set[str] = set()
    loaded = 0
    for i in range(10_000):
        data = mutated((COMPLETE, HULLS, JOINED)[i % 3], rng)
        try:
            scene = read(folder, data)
        except SceneError as error:
            message = str(error)
            assert message.isprintable(), data
            assert str(folder / "scene.toml") in message, data
            assert len(message) < 500, data
            seen.add(re.sub(r"[0-9]+|'.*?'|got .*", "", message))
        else:
            loaded += 1
            if loaded % 50 == 0:
                scene.save(folder / "again.toml")
                assert Scene.load(folder / "again.toml") == scene, data
    # The mutations reach deep: many files still load, and many different faults are met.
    assert loaded > 1000
    assert len(seen) > 50
