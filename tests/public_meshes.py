"""Public mesh files, those of the `pybullet` package, and what `load` makes of them.

`python tests/public_meshes.py` writes the table of `docs/meshes.md` anew.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tangere.errors import SceneError
from tangere.geometry.files import FORMATS, load
from tangere.geometry.shapes import Mesh

PAGE = Path(__file__).resolve().parents[1] / "docs" / "meshes.md"
BEGIN, END = "<!-- public meshes -->\n", "<!-- end of public meshes -->"
HEAD = "| file | triangles | what was done |\n| --- | ---: | --- |\n"

# Closed as they are, of every kind that the package has: parts of robots, scans, toys, furniture.
CLOSED = (
    "bunny.obj",
    "duck.obj",
    "teddy2_VHACD_CHs.obj",
    "soccerball.obj",
    "torus/torus_textured.obj",
    "domino/domino.obj",
    "jenga/jenga.obj",
    "toys/concave_box.obj",
    "toys/shape_sorter.obj",
    "tray/tray_textured.obj",
    "differential/diff_ring.stl",
    "differential/diff_stand.stl",
    "bicycle/files/wheel_scaled.stl",
    "bicycle/files/frame_scaled.stl",
    "quadruped/microtaur/channel.stl",
    "quadruped/microtaur/xavier.stl",
    "quadruped/microtaur/xm430w210.stl",
    "mini_cheetah/meshes/mini_body.obj",
    "mini_cheetah/meshes/mini_lower_link.obj",
    "laikago/lower_leg3.obj",
    "franka_panda/meshes/visual/link1.obj",
    "gripper/meshes/WSG50_110.stl",
    "husky/meshes/top_plate.stl",
    "xarm/xarm_gripper/meshes/left_finger.STL",
)
# Closed after a repair.
REPAIRED = (
    "racecar/meshes/chassis.STL",
    "racecar/meshes/right_front_wheel.STL",
    "gripper/meshes/WSG-FMF.stl",
    "lego/lego.obj",
    "objects/mug.obj",
    "kuka_iiwa/meshes/link_0.stl",
    "kuka_iiwa/meshes/link_7.stl",
    "husky/meshes/bumper.stl",
    "husky/meshes/user_rail.stl",
    "kiva_shelf/meshes/pod_lowres.stl",
    "laikago/chassis.obj",
    "mini_cheetah/meshes/mini_upper_link.obj",
    "a1/meshes/trunk.obj",
    "racecar/meshes/hokuyo.obj",
)
# Open: sheets, terrain, buildings, machines without their insides.
REFUSED = (
    "plane.obj",
    "cloth_z_up.obj",
    "terrain.obj",
    "samurai_monastry.obj",
    "quadruped/microtaur/fr13_s102.stl",
    "franka_panda/meshes/visual/hand.obj",
    "xarm/xarm_gripper/meshes/base_link.STL",
)


class Outcome(NamedTuple):
    """What became of one file."""

    name: str
    triangles: int
    """Of the loaded mesh; 0: refused."""
    words: str
    """What was done, or why it was refused."""


def folder() -> Path | None:
    """Where the files are, if the package is installed."""
    found = importlib.util.find_spec("pybullet_data")
    return None if found is None or found.origin is None else Path(found.origin).parent


def every_file(root: Path) -> list[Path]:
    """All mesh files of the package."""
    return sorted(p for p in root.rglob("*") if p.suffix.lower() in FORMATS)


@contextmanager
def silence() -> Iterator[None]:
    """Without the line that `load` says."""
    log = logging.getLogger("tangere")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def outcome(root: Path, name: str) -> Outcome:
    """What `load` makes of a file."""
    try:
        with silence():
            shape = load(root / name)
    except SceneError as error:
        reason = str(error).removeprefix(f"{root / name}: ")
        return Outcome(name, 0, reason.removeprefix("Mesh: ").split("; close it")[0])
    assert isinstance(shape, Mesh)
    return Outcome(name, len(shape.faces), "; ".join(shape.repairs))


def table(root: Path) -> str:
    """The table of the page."""
    rows = [outcome(root, name) for name in (*CLOSED, *REPAIRED, *REFUSED)]
    return HEAD + "".join(
        f"| `{row.name}` | {row.triangles or '–'} | "
        f"{(row.words or 'nothing') if row.triangles else 'refused: ' + row.words} |\n"
        for row in rows
    )


def with_table(text: str, root: Path) -> str:
    """The page with a fresh table."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(root) + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    where = folder()
    assert where is not None, "pip install pybullet"
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), where), "utf-8")
