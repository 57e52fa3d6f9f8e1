"""Scenes as TOML files: every fault is named when reading, every number survives writing.

```toml
gravity = [0.0, 0.0, -9.81]

[materials.rubber]
static_friction = 0.6
kinetic_friction = 0.5

[[floors]]
material = "rubber"

[[bodies]]
name = "block"
shape = {kind = "box", size = [0.2, 0.2, 0.1]}
mass = 1.0
position = [0.0, 0.0, 0.05]
material = "rubber"

[[springs]]
body_a = "block"
anchor_b = [0.0, 0.0, 1.0]
stiffness = 100.0
```

A body with a `coupling = {kind = "virtual", stiffness = 200.0}` or `{kind = "direct"}`, and a
`grip = [x, y, z]`, is a tool for a hand. A body with
`elastic = {young = 1e6, poisson = 0.45, fixed = [0, 1, 2]}` is soft: its shape is a `tetmesh`, and
the other keys of the table are those of `Scene.add_soft_body`; `fixed`, `handle` and `contact` are
vertex numbers.

Other shapes: `{kind = "sphere", radius}`, `{kind = "cylinder" | "capsule", radius, length}`,
`{kind = "cone", radius, height}`, `{kind = "convex", vertices}`,
`{kind = "curvedsolid", profile = [["start", r, z], ["line", r, z], ["arc", r, z, radius], ...]}`,
`{kind = "mesh", vertices, faces}`, `{kind = "mesh", file, scale}` with the path relative to the
scene file, `{kind = "tetmesh", vertices, tetrahedra}`, `{kind = "tetmesh", surface, edge_length}`
with the surface of another shape, and
`{kind = "compound", parts = [{shape, position, orientation}, ...]}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import SceneError
from tangere.geometry.checks import hint, one_line, same, show
from tangere.geometry.curved_solid import CurvedSolid
from tangere.geometry.disk_cache import write_whole
from tangere.geometry.files import load
from tangere.geometry.shapes import (
    MAX_NESTING,
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
from tangere.geometry.tetmesh import TetMesh
from tangere.haptics.coupling import DirectCoupling, VirtualCoupling
from tangere.scene.elastic import MEMORY
from tangere.scene.scene import Material, Scene, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tangere.maths.vec import Array
    from tangere.scene.elastic import Elastic
    from tangere.scene.scene import Body, Floor, Spring

MAX_BYTES = 100_000_000  # inline meshes of a million vertices stay below
Table = dict[str, Any]

TOP_KEYS = ("gravity", "materials", "floors", "bodies", "springs")
COUPLINGS: dict[str, type[VirtualCoupling] | type[DirectCoupling]] = {
    "virtual": VirtualCoupling,
    "direct": DirectCoupling,
}
# A body with a coupling is a tool.
TOOL_KEYS = (
    *("name", "shape", "mass", "density", "inertia", "position", "orientation", "material"),
    *("coupling", "grip"),
)
MATERIAL_KEYS = tuple(f.name for f in fields(Material))
FLOOR_KEYS = ("name", "normal", "height", "material")
BODY_KEYS = (
    *("name", "shape", "mass", "density", "inertia", "position", "orientation"),
    *("velocity", "angular_velocity", "material", "fixed"),
)
# A body with an elastic table is soft, and with a coupling a soft tool.
ELASTIC_KEYS = (
    *("young", "poisson", "damping", "order", "fixed", "handle", "contact", "modes", "memory"),
)
SOFT_KEYS = (*BODY_KEYS[:-1], "elastic", "coupling", "grip")
SPRING_KEYS = (
    *("name", "body_a", "body_b", "anchor_a", "anchor_b"),
    *("stiffness", "damping", "rest_length", "velocity"),
)
# Per kind the class, the keys it needs and those it may have.
ROUND: dict[str, tuple[type[Shape], tuple[str, ...], tuple[str, ...]]] = {
    "sphere": (Sphere, ("radius",), ("subdivisions",)),
    "cylinder": (Cylinder, ("radius", "length"), ("facets",)),
    "cone": (Cone, ("radius", "height"), ("facets",)),
    "capsule": (Capsule, ("radius", "length"), ("facets",)),
    "curvedsolid": (CurvedSolid, ("profile",), ("facets",)),
}
COUNTED = {3: "three", 4: "four"}
KINDS = ("box", *ROUND, "convex", "mesh", "tetmesh", "compound")


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """The scene of a TOML file.

    Raises:
        SceneError: One line with the file, the table in it, the value and the remedy.
    """
    where = one_line(path)
    file, text = _text(path, where)
    return scene_of_text(text, file.parent, where)


def scene_of_text(text: str, folder: Path, where: str) -> Scene:
    """The scene that TOML text describes.

    Args:
        text: As in a scene file.
        folder: Where the paths of mesh files begin.
        where: What to call the text in messages.

    Raises:
        SceneError: One line with the table in the text, the value and the remedy.
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise SceneError(f"{where}: nested too deeply; flatten the arrays") from None
    except ValueError as error:  # also numbers and dates that Python itself refuses
        raise SceneError(f"{where}: not valid TOML ({one_line(error)}); fix the syntax") from None
    with _at(where):
        return _scene(tables, folder)


def save_scene(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write the scene as TOML; an existing file is replaced as a whole or left alone.

    Raises:
        SceneError: The file cannot be written.
    """
    where = one_line(path)
    try:
        file = Path(path).resolve()
        write_whole(file, scene_text(scene, file.parent).encode())
    except (OSError, TypeError, ValueError) as error:
        raise SceneError(
            f"{where}: cannot write the scene ({one_line(error)}); choose another path"
        ) from None


# ------------------------------------------------------------------------------------------ reading


@contextlib.contextmanager
def _at(place: str) -> Iterator[None]:
    """Put `place` in front of any error raised inside."""
    try:
        yield
    except SceneError as error:
        raise SceneError(f"{place}: {error}") from None


def _text(path: str | os.PathLike[str], where: str) -> tuple[Path, str]:
    try:
        file = Path(path)
        if not file.is_file():
            fault = "not a file" if file.exists() else "no such scene file"
            raise SceneError(f"{where}: {fault}; check the path")
        if file.stat().st_size > MAX_BYTES:
            raise SceneError(
                f"{where}: larger than {MAX_BYTES / 1e6:.0f} MB; keep big meshes in their own files"
            )
        data = file.read_bytes()
    except SceneError:
        raise
    except (OSError, TypeError, ValueError) as error:
        raise SceneError(f"{where}: cannot read ({one_line(error)}); check the path") from None
    try:
        return file, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SceneError(
            f"{where}: not UTF-8 text (byte {error.start}); save the file as UTF-8"
        ) from None


def _scene(tables: Table, folder: Path) -> Scene:
    _check_keys(tables, TOP_KEYS)
    scene = Scene(**{key: tables[key] for key in ("gravity",) if key in tables})
    materials = tables.get("materials", {})
    if not isinstance(materials, dict):
        raise SceneError(f"materials: expected [materials.NAME] tables, got {show(materials)}")
    for name, table in materials.items():
        with _at(f"materials.{one_line(name)}"):
            _check_keys(table, MATERIAL_KEYS)
            scene.add_material(name, Material(**table))
    for place, table in _array(tables, "floors"):
        with _at(place):
            _check_keys(table, FLOOR_KEYS)
            _check_text(table, "name", "material")
            scene.add_floor(**table)
    for place, table in _array(tables, "bodies"):
        with _at(place):
            _add_body(scene, table, folder)
    for place, table in _array(tables, "springs"):
        with _at(place):
            _check_keys(table, SPRING_KEYS, ("body_a", "stiffness"))
            _check_text(table, "name", "body_a", "body_b")
            scene.add_spring(**table)
    return scene


def _add_body(scene: Scene, table: Table, folder: Path) -> None:
    held = isinstance(table, dict) and "coupling" in table
    soft = isinstance(table, dict) and "elastic" in table
    _check_keys(table, SOFT_KEYS if soft else TOOL_KEYS if held else BODY_KEYS, ("shape",))
    _check_text(table, "name", "material")
    with _at("shape"):
        shape = _shape(table["shape"], folder)
    given = {k: v for k, v in table.items() if k not in ("shape", "elastic")}
    if held:
        with _at("coupling"):
            given["coupling"] = _coupling(table["coupling"])
    if soft:
        with _at("elastic"):
            _check_keys(table["elastic"], ELASTIC_KEYS, ("young", "poisson"))
        scene.add_soft_body(shape, **given, **table["elastic"])  # type: ignore[arg-type]
    elif held:
        scene.add_tool(shape, **given)
    else:
        scene.add_body(shape, **given)


def _coupling(table: Any) -> VirtualCoupling | DirectCoupling:
    kind = table.get("kind") if isinstance(table, dict) else None
    if kind not in COUPLINGS:
        raise SceneError(
            f'expected {{kind = "virtual", stiffness = 200.0}} or {{kind = "direct"}}, '
            f"got {show(table)}"
        )
    make = COUPLINGS[kind]
    _check_keys(table, ("kind", *(f.name for f in fields(make))))
    return make(**{key: value for key, value in table.items() if key != "kind"})


def _array(tables: Table, key: str) -> Iterator[tuple[str, Table]]:
    """The tables under [[key]], each with its place for messages."""
    rows = tables.get(key, [])
    if not isinstance(rows, list):
        raise SceneError(f"{key}: expected [[{key}]] tables, got {show(rows)}")
    for i, row in enumerate(rows):
        name = row.get("name") if isinstance(row, dict) else None
        yield (f"{key}[{i}] {show(name)}" if isinstance(name, str) else f"{key}[{i}]"), row


def _check_keys(table: Any, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> None:
    if not isinstance(table, dict):
        raise SceneError(f"expected a table, got {show(table)}")
    for key in table:
        if key not in known:
            raise SceneError(f"unknown key {show(key)}{hint(key, list(known))}")
    for key in needed:
        if key not in table:
            raise SceneError(f"{key} is missing; add {key} = ...")


def _check_text(table: Table, *keys: str) -> None:
    # Python callers may pass records and indices here; a file has only names.
    for key in keys:
        if key in table and not isinstance(table[key], str):
            raise SceneError(f"{key}: expected a name in quotes, got {show(table[key])}")


def _shape(table: Any, folder: Path, depth: int = 0) -> Shape:
    if not isinstance(table, dict) or "kind" not in table:
        raise SceneError(
            f'expected a table such as {{kind = "box", size = [1, 1, 1]}}, got {show(table)}'
        )
    kind = table["kind"]
    if kind not in KINDS:
        raise SceneError(f"unknown kind {show(kind)}{hint(kind, list(KINDS))}")
    values = {key: value for key, value in table.items() if key != "kind"}
    if kind in ROUND:
        make, needed, optional = ROUND[kind]
        _check_keys(values, needed + optional, needed)
        return make(**values)
    if kind == "box":
        _check_keys(values, ("size",), ("size",))
        return Box(values["size"])
    if kind == "convex":
        _check_keys(values, ("vertices",), ("vertices",))
        return Convex(_rows(values["vertices"], "vertices", float))
    if kind == "mesh":
        return _mesh(values, folder)
    if kind == "tetmesh":
        return _tetmesh(values, folder, depth)
    return _compound(values, folder, depth)


def _mesh(values: Table, folder: Path) -> Shape:
    if "file" not in values:
        _check_keys(values, ("vertices", "faces", "file"), ("vertices", "faces"))
        vertices = _rows(values["vertices"], "vertices", float)
        return Mesh(vertices, _rows(values["faces"], "faces", int))
    _check_keys(values, ("file", "scale", "repair", "shell"))
    _check_text(values, "file")
    try:
        path = folder / values["file"]
    except (TypeError, ValueError):
        raise SceneError(f"file: not a path, got {show(values['file'])}") from None
    repair = values.get("repair", True)
    if not isinstance(repair, bool):
        raise SceneError(f"repair: expected true or false, got {show(repair)}")
    return load(path, scale=values.get("scale", 1.0), repair=repair, shell=values.get("shell"))


def _tetmesh(values: Table, folder: Path, depth: int) -> Shape:
    if "surface" not in values:
        keys = ("vertices", "tetrahedra")
        _check_keys(values, (*keys, "surface"), keys)
        vertices = _rows(values["vertices"], "vertices", float)
        return TetMesh(vertices, _rows(values["tetrahedra"], "tetrahedra", int, 4))
    _check_keys(values, ("surface", "edge_length"))
    if depth >= MAX_NESTING:
        raise SceneError(f"shapes nested more than {MAX_NESTING} deep; flatten them")
    with _at("surface"):
        surface = _shape(values["surface"], folder, depth + 1)
    return TetMesh.from_surface(surface, edge_length=values.get("edge_length"))


def _compound(values: Table, folder: Path, depth: int) -> Shape:
    _check_keys(values, ("parts",), ("parts",))
    if not isinstance(values["parts"], list):
        raise SceneError(f"parts: expected a list of tables, got {show(values['parts'])}")
    if depth >= MAX_NESTING:
        raise SceneError(f"compounds nested more than {MAX_NESTING} deep; flatten them")
    shapes, poses = [], []
    for i, part in enumerate(values["parts"]):
        with _at(f"parts[{i}]"):
            _check_keys(part, ("shape", "position", "orientation"), ("shape",))
            shapes.append(_shape(part["shape"], folder, depth + 1))
            poses.append((part.get("position", (0, 0, 0)), part.get("orientation", (1, 0, 0, 0))))
    return Compound(shapes, poses)


def _rows(value: Any, what: str, kind: type[float] | type[int], width: int = 3) -> list[list[Any]]:
    """Rows of so many numbers, exactly so: NumPy would take true for 1 and "2" for 2."""
    if not isinstance(value, list):
        raise SceneError(f"{what}: expected a list of rows, got {show(value)}")
    accepted = (int, float) if kind is float else (int,)
    for i, row in enumerate(value):
        good = isinstance(row, list) and len(row) == width
        if not good or any(type(x) not in accepted for x in row):
            raise SceneError(f"{what}[{i}]: expected {COUNTED[width]} numbers, got {show(row)}")
    return value


# ------------------------------------------------------------------------------------------ writing


def scene_text(scene: Scene, folder: Path) -> str:
    """TOML text of a scene whose file will lie in `folder`."""
    names = _material_names(scene)
    blocks = [f"gravity = {_value(scene.gravity)}\n"]
    for name, material in names.items():
        given = {f.name: getattr(material, f.name) for f in fields(material)}
        blocks.append(_block(f"[materials.{_key(name)}]", given))
    labels = {material: name for name, material in reversed(names.items())}
    blocks += [_block("[[floors]]", _floor(floor, labels)) for floor in scene.floors]
    blocks += [_block("[[bodies]]", _body(body, labels, folder)) for body in scene.bodies]
    blocks += [_block("[[springs]]", _spring(spring, scene)) for spring in scene.springs]
    return "\n".join(blocks)


def _material_names(scene: Scene) -> dict[str, Material]:
    """All materials by name: those of the scene, then the nameless ones in order of use."""
    names = dict(scene.materials)
    used = [*(floor.material for floor in scene.floors), *(body.material for body in scene.bodies)]
    for material in used:
        if material != Material() and material not in names.values():
            count = len(names) + 1
            while f"material-{count}" in names:
                count += 1
            names[f"material-{count}"] = material
    return names


def _floor(floor: Floor, labels: dict[Material, str]) -> Table:
    return {
        "name": floor.name,
        "normal": floor.normal,
        "height": floor.height,
        "material": labels.get(floor.material),
    }


def _body(body: Body, labels: dict[Material, str], folder: Path) -> Table:
    moments = body.shape.moments()
    # `add_body` computes this very expression, so that an inertia left out comes back bit for bit.
    usual = moments.inertia * (body.mass / moments.volume)
    inertia: Array | None = None if same(usual, body.inertia) else body.inertia
    table: Table = {
        "name": body.name,
        "shape": _shape_table(body.shape, folder),
        "mass": body.mass,
        "inertia": inertia,
        "position": body.position,
        "orientation": body.orientation,
        "velocity": body.velocity if body.velocity.any() else None,
        "angular_velocity": body.angular_velocity if body.angular_velocity.any() else None,
        "material": labels.get(body.material),
        "fixed": True if body.fixed and body.elastic is None else None,
        "elastic": None if body.elastic is None else _elastic(body.elastic, body.fixed),
    }
    if isinstance(body, Tool):
        kind = next(name for name, make in COUPLINGS.items() if isinstance(body.coupling, make))
        given = {f.name: getattr(body.coupling, f.name) for f in fields(body.coupling)}
        table["coupling"] = {"kind": kind, **{k: v for k, v in given.items() if v is not None}}
        table["grip"] = body.grip
    return table


def _elastic(elastic: Elastic, fixed: bool) -> Table:
    table: Table = {
        "young": elastic.young,
        "poisson": elastic.poisson,
        "damping": None if elastic.damping is None else list(elastic.damping),
        "order": elastic.order,
        "fixed" if fixed else "handle": elastic.clamped if len(elastic.clamped) else None,
        "contact": elastic.contact,
        "modes": elastic.modes,
        "memory": None if elastic.memory == MEMORY else elastic.memory,
    }
    return {key: value for key, value in table.items() if value is not None}


def _spring(spring: Spring, scene: Scene) -> Table:
    return {
        "name": spring.name,
        "body_a": scene.bodies[spring.body_a].name,
        "body_b": None if spring.body_b is None else scene.bodies[spring.body_b].name,
        "anchor_a": spring.anchor_a,
        "anchor_b": spring.anchor_b,
        "stiffness": spring.stiffness,
        "damping": spring.damping,
        "rest_length": spring.rest_length,
        "velocity": spring.velocity if spring.body_b is None else None,
    }


def _shape_table(shape: Shape, folder: Path) -> Table:
    kind = type(shape).__name__.lower()
    if isinstance(shape, Mesh) and shape.source is not None:
        path, scale, repair, shell = shape.source
        with contextlib.suppress(ValueError):  # another drive: keep the full path
            path = os.path.relpath(path, folder)
        table = {"kind": kind, "file": Path(path).as_posix(), "scale": scale}
        table |= {} if repair else {"repair": False}
        return table if shell is None else {**table, "shell": shell}
    if isinstance(shape, Compound):
        parts = [
            {"shape": _shape_table(part, folder), "position": position, "orientation": orientation}
            for part, (position, orientation) in zip(shape.shapes, shape.poses, strict=True)
        ]
        return {"kind": kind, "parts": parts}
    values = {f.name: getattr(shape, f.name) for f in fields(shape) if f.compare}  # type: ignore[arg-type]
    return {"kind": kind, **values}


def _block(header: str, table: Table) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in table.items() if value is not None]
    return "\n".join([header, *lines]) + "\n"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    """TOML text of a value; Python's shortest repr of a float reads back as the same float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, np.ndarray):
        return _value(value.tolist())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    if value and isinstance(value[0], list | dict):
        # Line breaks are allowed within arrays even inside a one-line table.
        return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
    return "[" + ", ".join(_value(item) for item in value) + "]"
