"""What a hand presses against it never loses, however deep."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere.contact.formation.model import FormationModel
from tangere.contact.formation.options import Formation
from tangere.geometry.boundary import holed_block
from tangere.maths.rotations import quat_product
from tangere.maths.vec import Array

pytestmark = pytest.mark.nojit

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
FRAMES = 160
STIFFNESS = 2300.0  # [N/m]
DEEP = 10e-3


def turn(axis: tuple[float, float, float], degrees: float) -> Array:
    half, way = 0.5 * np.deg2rad(degrees), np.asarray(axis, float)
    return np.array([np.cos(half), *(np.sin(half) * way / np.linalg.norm(way))])


def peg_in_hole() -> FormationModel:
    """The top of the block, and of its hole 36 mm wide, at z = 0; the peg is 30 mm wide."""
    block = (holed_block((0.1, 0.1, 0.04), (0.036, 0.036)), ((0.0, 0.0, -0.02), UPRIGHT))
    return FormationModel.of_shapes(
        tg.Box((0.03, 0.03, 0.06)), 0.5, [block], Formation(), 1e-3, names=("peg", "block")
    )


def pressed(poses: list[tuple[Array, Array]]) -> tuple[Array, Array, list[str]]:
    """Sizes of force and torque, and names of the formation, along a path and back again."""
    model = peg_in_hole()
    forces, torques, names = [], [], []
    for k, (position, q) in enumerate([*poses, *poses[::-1]]):
        state = model.update(position, q, 1e-3 * k)
        forces.append(float(np.linalg.norm(state.force)))
        torques.append(float(np.linalg.norm(state.torque)))
        names.append(state.formation)
    return np.array(forces), np.array(torques), names


def tilted(degrees: float) -> tuple[Array, Array]:
    """In the hole, 35 mm deep, leaning about y."""
    tilt = np.deg2rad(degrees)
    way = np.array([0.5 * np.sin(tilt), 0.0, np.cos(tilt)])
    return np.array([0.0, 0.0, -0.035]) + 0.03 * way, turn((0.0, 1.0, 0.0), degrees)


def test_a_jammed_peg_is_held_however_far_it_is_tilted() -> None:
    _, torques, names = pressed([tilted(d) for d in np.linspace(0.0, 30.0, FRAMES)])
    jammed = "peg edge -x -z on block wall +x and peg face +x on block edge +z wall -x"
    first = names.index(jammed)
    assert set(names[first:FRAMES]) == {jammed}
    held = torques[first:FRAMES]
    assert (held > 0.98 * np.maximum.accumulate(held)).all()  # friction may change its way
    assert torques[FRAMES - 1] > 0.8
    assert names[0] == names[-1] == "free"


@pytest.mark.parametrize(
    ("start", "way", "q"),
    [
        ((0.04, 0.03, 0.032), (0.0, 0.0, -0.002 - DEEP), UPRIGHT),
        ((0.0, 0.0, -0.005), (0.003 + DEEP, 0.0, 0.0), UPRIGHT),
        ((0.0, 0.0, -0.005), (0.003 + DEEP, 0.003 + DEEP, 0.0), UPRIGHT),
        ((0.0, 0.0, 0.0), (0.003 + DEEP, 0.0, 0.0), turn((0.3, 1.0, 0.5), 7.0)),
    ],
    ids=["top", "wall", "corner", "rim"],
)
def test_force_grows_with_the_depth(
    start: tuple[float, float, float], way: tuple[float, float, float], q: Array
) -> None:
    share = np.linspace(0.0, 1.0, FRAMES)
    poses = [(np.array(start) + s * np.array(way), quat_product(UPRIGHT, q)) for s in share]
    forces, _, names = pressed(poses)
    deep = slice(int(0.5 * FRAMES), FRAMES)
    assert len(set(names[deep])) == 1
    assert names[FRAMES - 1] != "free"
    assert (np.diff(forces[deep]) > 0.0).all()
    assert forces[FRAMES - 1] > 0.9 * STIFFNESS * DEEP
    # and on the way back it is lost where it was touched first, not before
    deepest = np.abs(np.array(way)).max()
    back = int(FRAMES + (1.0 - 0.004 / deepest) * FRAMES)
    assert (forces[FRAMES:back] > 0.0).all()


def test_a_plate_does_not_let_through() -> None:
    """2 mm thick: what presses from above is held from above, also below the plate."""
    plate = (tg.Box((0.1, 0.1, 0.002)), ((0.0, 0.0, -0.001), UPRIGHT))
    model = FormationModel.of_shapes(
        tg.Box((0.02, 0.02, 0.02)), 0.5, [plate], Formation(), 1e-3, names=("cube", "plate")
    )
    for k, z in enumerate(np.linspace(0.012, 0.004, FRAMES)):
        state = model.update((0.0, 0.0, z), UPRIGHT, 1e-3 * k)
    assert state.formation == "cube face -z on plate face +z"
    assert state.force[2] == pytest.approx(STIFFNESS * 7e-3, rel=0.05)
