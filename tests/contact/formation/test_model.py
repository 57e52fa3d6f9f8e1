"""Poses in, formations and wrenches out: a box on a block, names, numbers, reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tangere.contact.formation.columns import FIRST, FREE, KEPT, PC_NORMAL
from tangere.contact.formation.model import FormationModel, reach_of
from tangere.contact.formation.options import Formation
from tangere.geometry.boundary import boundary_of, half_space
from tangere.geometry.shapes import Box, Cone, Convex, Cylinder, Sphere
from tangere.maths.quat import from_vector

pytestmark = pytest.mark.nojit

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
DT = 1e-3
SHARP = Formation(blend=0.0)


def box_on_block(options: Formation = SHARP) -> FormationModel:
    """A cube of 2 cm; the block's top is at z = 0."""
    return FormationModel.of_shapes(
        Box((0.02, 0.02, 0.02)),
        0.5,
        [(Box((0.1, 0.1, 0.04)), ((0.0, 0.0, -0.02), UPRIGHT))],
        options,
        DT,
        names=("cube", "block"),
    )


def test_a_pose_gives_the_formation_and_its_wrench() -> None:
    model = box_on_block()
    for k in range(40):
        state = model.update((0.0, 0.0, 0.02), UPRIGHT, k * DT)
    assert (state.formation, state.number, state.motion) == ("free", 0, FREE)
    assert len(state.contacts) == 0
    state = model.update((0.0, 0.0, 0.0104), UPRIGHT, 1.0)
    assert state.motion == FIRST
    for k in range(1, 40):
        state = model.update((0.0, 0.0, 0.0104), UPRIGHT, 1.0 + k * DT)
    assert (state.formation, state.number) == ("cube face -z on block face +z", 1)
    assert state.motion == KEPT
    assert state.valid
    assert state.contacts[0, PC_NORMAL : PC_NORMAL + 3] == pytest.approx((0.0, 0.0, 1.0))
    assert state.force == pytest.approx((0.0, 0.0, 2300.0 * 0.6e-3), abs=1e-9)
    assert state.torque == pytest.approx(np.zeros(3), abs=1e-12)
    assert state.inertia == pytest.approx(np.zeros(6))
    assert model.formations == ["free", "cube face -z on block face +z"]


def test_a_formation_keeps_its_number() -> None:
    model = box_on_block()
    seen = []
    for k in range(120):
        z = 0.0104 if 20 <= k < 60 or k >= 90 else 0.02
        seen.append(model.update((0.0, 0.0, z), UPRIGHT, k * DT).number)
    assert seen == [0] * 20 + [1] * 40 + [0] * 30 + [1] * 30


def test_tilted_it_lies_on_an_edge_then_on_a_corner() -> None:
    names = []
    for turn in ((0.0, 0.3, 0.0), (0.25, 0.3, 0.0)):
        model = box_on_block()
        q = from_vector(turn)
        low = reach_down(q)
        names.append(model.update((0.0, 0.0, low + 0.5e-3), q, 0.0).formation)
    assert names[0] == "cube edge +x -z on block face +z"
    assert names[1].startswith("cube vertex ")


def reach_down(q: tuple[float, float, float, float]) -> float:
    """How far the lowest corner of the cube is below its middle [m]."""
    from tangere.maths.rotations import rotation_of

    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return float(-(0.01 * signs @ rotation_of(np.array(q)).T)[:, 2].min())


def test_the_centre_of_mass_is_the_origin_of_poses() -> None:
    """A wedge whose shape frame is at a corner is placed by its centre of mass."""
    wedge = Convex(0.03 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    model = FormationModel.of_shapes(
        wedge, 0.2, [(Box((0.1, 0.1, 0.1)), ((0.0, 0.0, -0.05), UPRIGHT))], SHARP, DT
    )
    height = float(wedge.moments().centre[2])
    state = model.update((0.0, 0.0, height + 0.5e-3), UPRIGHT, 0.0)
    assert state.formation.endswith(" on body face +z")
    assert "face" in state.formation.split(" on ")[0]
    assert state.force[2] > 0.5


def test_the_table_can_be_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    model = box_on_block()
    model.update((0.0, 0.0, 0.0104), UPRIGHT, 0.0)
    model.save()
    again = box_on_block()
    assert again.update((0.0, 0.0, 0.0104), UPRIGHT, 0.0).number == 1


@pytest.mark.parametrize(
    ("shape", "reach"),
    [
        (Box((0.02, 0.04, 0.06)), 0.5 * math.hypot(0.02, 0.04, 0.06)),
        (Sphere(0.02), 0.02),
        (Cylinder(0.02, 0.06), math.hypot(0.02, 0.03)),
        (Cone(0.02, 0.08), 0.06),
    ],
)
def test_reach_is_that_of_the_farthest_point(shape: Box, reach: float) -> None:
    boundary = boundary_of(shape)
    assert reach_of(boundary) == pytest.approx(reach, rel=1e-12)
    # no point of the surface as drawn is farther
    assert np.linalg.norm(shape.surface()[0], axis=1).max() <= reach * (1.0 + 1e-9)


def test_a_floor_reaches_nowhere_of_its_own() -> None:
    assert reach_of(half_space((0.0, 0.0, 1.0), 0.3)) == pytest.approx(0.3)
