"""Clusters: force that does not depend on them, continuity, names, stiffness, reactions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.contact.penalty.clusters import NEAR
from tangere.contact.penalty.contacts import (
    CLUSTER_BODY,
    CLUSTER_DEPTH,
    CLUSTER_WEIGHT,
)
from tangere.contact.penalty.options import Penalty
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.contact_planes import (
    PLANE_ANCHOR,
    PLANE_DAMPING,
    PLANE_NAME,
    PLANE_NORMAL,
    PLANE_POINT,
    PLANE_STIFFNESS,
    PLANE_TOLERANCE,
    PLANE_VELOCITY,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
K, D = 2000.0, 1e-3
CUBE = tg.Box((0.04, 0.04, 0.04))


def coarse(**options: Any) -> Penalty:
    """Options with a field and points that plain Python can build."""
    given: dict[str, Any] = {"stiffness": K, "tolerance": D, "spacing": 0.005, "samples": 300}
    return Penalty(**{**given, **options})


def row(
    position: Any, quaternion: Any = UPRIGHT, velocity: Any = (0, 0, 0), omega: Any = (0, 0, 0)
) -> Array:
    return np.concatenate((position, quaternion, velocity, omega)).astype(np.float64)


def about_x(angle: float) -> Array:
    return np.array([np.cos(0.5 * angle), np.sin(0.5 * angle), 0.0, 0.0])


def wrench_of(planes: Array, y: Array) -> Array:
    """Force and torque of the planes on a tool at another pose, law of a haptic loop."""
    turn, total = rotation_of(y[3:7]), np.zeros(6)
    for p in planes:
        a, n = turn @ p[PLANE_POINT : PLANE_POINT + 3], p[PLANE_NORMAL : PLANE_NORMAL + 3]
        below = n @ (y[:3] + a - p[PLANE_ANCHOR : PLANE_ANCHOR + 3]) + p[PLANE_TOLERANCE]
        u = p[PLANE_VELOCITY : PLANE_VELOCITY + 3]
        s = p[PLANE_STIFFNESS] * below
        s += p[PLANE_DAMPING] * n @ (y[7:10] + np.cross(y[10:13], a) - u)
        if below > 0.0 and s > 0.0:
            total += np.concatenate((-s * n, np.cross(a, -s * n)))
    return total


@pytest.mark.nojit
def test_a_cube_on_a_floor_is_carried_by_its_whole_face() -> None:
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=coarse())
    planes = contact.update(row((0, 0, 0.0195)))
    s = 0.5e-3 + D
    assert contact.response.wrench[:3] == pytest.approx([0, 0, K * s], rel=1e-6)
    assert contact.response.stiffness[2, 2] == pytest.approx(K, rel=1e-6)
    assert contact.depth == pytest.approx(0.5e-3, rel=1e-6)
    assert planes[:, CLUSTER_BODY].tolist() == [-1.0] * len(planes)
    assert planes[:, CLUSTER_WEIGHT].sum() == pytest.approx(1.0, rel=1e-12)
    # the samples are not symmetric: the centre of pressure is off by a share of their spacing
    assert np.abs(contact.response.wrench[3:]).max() < 0.1 * K * s * 0.005


@pytest.mark.nojit
@pytest.mark.parametrize("angle", [0.0, 0.01, 0.03])
def test_the_force_does_not_depend_on_the_number_of_clusters(angle: float) -> None:
    """To the weight of contacts that do not press; torque too, as all normals are equal."""
    wrenches, counts = [], []
    for clusters in (1, 2, 4, 8):
        options = coarse(clusters=clusters)
        contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=options)
        counts.append(len(contact.update(row((0, 0, 0.0197), about_x(angle)))))
        wrenches.append(contact.response.wrench.copy())
    assert counts[0] == 1
    assert counts[-1] > 3
    for wrench in wrenches[1:]:
        assert wrench == pytest.approx(wrenches[0], rel=30 * NEAR, abs=30 * NEAR * K * D * 0.02)


def test_total_stiffness_does_not_depend_on_the_number_of_samples() -> None:
    """A ball on a block, a cube on a block: 4 and 16 times as many points, the same contact."""
    for tool, height in ((tg.Sphere(0.02), 0.0195), (CUBE, 0.0197)):
        found = []
        for samples in (1000, 4000, 16000):
            options = Penalty(stiffness=K, tolerance=D, samples=samples, spacing=0.5e-3)
            contact = PenaltyContact(tool, [tg.Box((0.1, 0.1, 0.04))], options=options)
            contact.update(row((0, 0, height)), [row((0, 0, -0.02))])
            found.append((contact.response.stiffness[2, 2], contact.response.wrench[2]))
        stiffness, force = np.array(found).T
        # normals of the ball's contacts spread over the patch, so that K_zz is a little below k
        assert stiffness == pytest.approx(K, rel=0.03)
        assert force == pytest.approx(force[-1], rel=0.06)


def test_each_plane_with_its_own_stiffness_is_stiffer_the_more_there_are() -> None:
    found = []
    for clusters in (1, 4):
        options = Penalty(stiffness=K, tolerance=D, sharing="each", blend=0.0, clusters=clusters)
        contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=options)
        count = len(contact.update(row((0, 0, 0.0197))))
        found.append(contact.response.stiffness[2, 2])
        assert found[-1] == pytest.approx(K * count, rel=1e-9)
    assert found[1] > 2.0 * found[0]


def test_the_force_is_continuous_as_contact_begins() -> None:
    """A ball, a cube on its face, edge and corner, lowered onto a block in steps of 5 µm.

    A linear spring would change by k times the step; the mean over a patch that grows may change a
    little faster. Where a sample enters with a jump the change would be k d, 200 times as much.
    """
    step = 5e-6
    corner = np.array([np.cos(0.3), np.sin(0.3) * 0.8, np.sin(0.3) * 0.6, 0.0])
    for tool, q in (
        (tg.Sphere(0.02), UPRIGHT),
        (CUBE, UPRIGHT),
        (CUBE, about_x(0.6)),
        (CUBE, corner),
    ):
        low = (tool.surface()[0] @ rotation_of(np.asarray(q)).T)[:, 2].min()
        contact = PenaltyContact(
            tool, [tg.Box((0.1, 0.1, 0.04))], options=Penalty(stiffness=K, tolerance=D)
        )
        forces = []
        for gap in np.arange(1.5 * D, -D, -step):
            contact.update(row((0.003, 0.002, gap - low), q), [row((0, 0, -0.02))])
            forces.append(contact.response.wrench[:3].copy())
        change = np.linalg.norm(np.diff(forces, axis=0), axis=1)
        assert not np.any(forces[0])
        assert forces[-1][2] > 0.5 * K * D
        assert change.max() < 2.5 * K * step


@pytest.mark.parametrize("blend", [10e-3, 0.0])
def test_rocking_from_end_to_end_the_wrench_does_not_jump(blend: float) -> None:
    """A bar rocks on a block: one end touches, all of it, the other end. Groups are born and die.

    Steps half as long change the wrench half as much; a jump would stay as it is. The most that a
    step may change it is k times the way of the bar's end, at that arm.
    """
    options = Penalty(stiffness=K, tolerance=D, blend=blend)
    largest = []
    for step in (1e-3, 0.5e-3):
        contact = PenaltyContact(
            tg.Box((0.2, 0.02, 0.02)), [tg.Box((0.3, 0.1, 0.04))], options=options
        )
        wrenches, names = [], set()
        for t in np.arange(0.0, 1.0, step):
            angle = 0.1 * np.sin(2 * np.pi * 1.5 * t)
            q = np.array([np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])
            place = (0.02 * np.sin(2 * np.pi * t), 0.0, 0.0099 + 0.1 * abs(np.sin(angle)))
            planes = contact.update(row(place, q), [row((0, 0, -0.02))], period=step)
            names |= set(planes[:, PLANE_NAME])
            wrenches.append(contact.response.wrench.copy())
        assert len(names) > 16  # twice as many as there are at a time
        change = np.abs(np.diff(wrenches, axis=0))
        way = 0.1 * 0.1 * 2 * np.pi * 1.5 * step
        assert change[:, :3].max() < K * way
        assert change[:, 3:].max() < K * way * 0.1
        largest.append((change[:, :3].max(), change[:, 3:].max()))
    assert largest[1][0] < 0.6 * largest[0][0]
    assert largest[1][1] < 0.6 * largest[0][1]


@pytest.mark.nojit
def test_planes_keep_their_names_while_little_changes() -> None:
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=coarse(clusters=4))
    first = contact.update(row((0, 0, 0.0197)))[:, PLANE_NAME].copy()
    for i in range(5):
        planes = contact.update(row((1e-5 * i, 0, 0.0197), about_x(1e-4 * i)))
    assert planes[:, PLANE_NAME].tolist() == first.tolist()
    assert (first > 0).all()
    assert len(set(first)) == len(first)
    contact.forget()
    assert contact.update(row((0, 0, 0.0197)))[0, PLANE_NAME] == 1.0


@pytest.mark.nojit
def test_opposed_walls_get_planes_of_their_own() -> None:
    """A cube wedged between two walls of one body: one plane would feel nothing."""
    slot = tg.Compound(
        [tg.Box((0.02, 0.1, 0.1)), tg.Box((0.02, 0.1, 0.1))],
        [((0.0295, 0, 0), UPRIGHT), ((-0.0295, 0, 0), UPRIGHT)],
    )
    contact = PenaltyContact(CUBE, [slot], options=coarse())
    planes = contact.update(row((0, 0, 0)), [row((0, 0, 0))])
    side = np.sign(planes[:, PLANE_NORMAL])
    assert set(side) == {-1.0, 1.0}
    assert np.abs(planes[:, PLANE_NORMAL]).min() > 0.9
    assert contact.response.stiffness[0, 0] == pytest.approx(K, rel=0.1)
    assert abs(contact.response.wrench[0]) < 0.1 * K * D
    contact.update(row((2e-4, 0, 0)), [row((0, 0, 0))])
    assert contact.response.wrench[0] < -0.5 * K * 2e-4


@pytest.mark.nojit
def test_a_body_touched_late_gets_a_plane_beyond_the_most() -> None:
    contact = PenaltyContact(
        CUBE, floors=[((0, 0, 1), 0.0), ((1, 0, 0), -0.0202)], options=coarse(clusters=1)
    )
    planes = contact.update(row((0, 0, 0.0199)))
    assert sorted(planes[:, CLUSTER_BODY]) == [-2.0, -1.0]


@pytest.mark.nojit
def test_stiffness_and_damping_are_the_derivatives_of_the_wrench() -> None:
    """Against central differences of the planes' own law, tool moving and turned."""
    options = coarse(damping=3.0)
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=options)
    y = row((0.01, 0.02, 0.0199), about_x(0.02), (0.02, 0.01, -0.03), (0.1, 0.3, -0.2))
    planes = contact.update(y).copy()
    r = contact.response
    assert wrench_of(planes, y) == pytest.approx(r.wrench, rel=1e-12, abs=1e-14)
    step = 1e-6
    for k in range(6):
        sides = []
        for sign in (step, -step):
            z = y.copy()
            if k < 3:
                z[k] += sign
            else:
                half = np.zeros(3)
                half[k - 3] = 0.5 * sign
                w, v = y[3], y[4:7]  # exp(φ) q
                z[3:7] = [w - half @ v, *(v + w * half + np.cross(half, v))]
            # the turn moves the arm that the damper sees: compare springs alone
            z[7:] = 0.0
            sides.append(
                wrench_of(np.where(np.arange(planes.shape[1]) == PLANE_DAMPING, 0.0, planes), z)
            )
        slope = (sides[0] - sides[1]) / (2 * step)
        spring = r.stiffness[:, k]
        if k < 3:
            assert -slope == pytest.approx(spring, rel=1e-6, abs=1e-6)
        else:
            # the geometric term uses the force with damping: take it out of both
            without = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=coarse())
            without.update(y)
            assert -slope == pytest.approx(without.response.stiffness[:, k], rel=1e-6, abs=1e-6)
        z = y.copy()
        z[7 + k] += 1e-3
        faster = (wrench_of(planes, z) - r.wrench) / 1e-3
        assert -faster == pytest.approx(r.damping[:, k], rel=1e-6, abs=1e-9)


@pytest.mark.nojit
def test_every_body_gets_minus_what_the_tool_gets() -> None:
    contact = PenaltyContact(
        CUBE, [CUBE, CUBE], floors=[((0, 0, 1), 0.0)], options=coarse(damping=2.0)
    )
    bodies = [row((0.0395, 0.005, 0.02)), row((-0.0398, 0.0, 0.021), UPRIGHT, (0.1, 0, 0))]
    y = row((0, 0, 0.0198), about_x(0.01), (0, 0, -0.01))
    planes = contact.update(y, bodies)
    assert set(planes[:, CLUSTER_BODY]) == {0.0, 1.0, -1.0}
    wrench, reactions = contact.response.wrench, contact.response.reactions
    assert reactions[:, :3].sum(axis=0) == pytest.approx(-wrench[:3], rel=1e-13, abs=1e-15)
    # moments about the world's origin
    places = [bodies[0][:3], bodies[1][:3], np.zeros(3)]
    back = sum(w[3:] + np.cross(x, w[:3]) for w, x in zip(reactions, places, strict=True))
    assert back == pytest.approx(-(wrench[3:] + np.cross(y[:3], wrench[:3])), rel=1e-12, abs=1e-15)
    assert (np.abs(reactions[:, :3]).max(axis=1) > 0.1).all()


@pytest.mark.nojit
def test_an_approaching_tool_gets_its_plane_ahead_of_the_impact() -> None:
    """Fast enough to be inside by the next look, a plane is there, without any force yet."""
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=coarse())
    slow = contact.update(row((0, 0, 0.022)), period=1e-3)
    assert len(slow) == 0
    fast = contact.update(row((0, 0, 0.022), UPRIGHT, (0, 0, -2.0)), period=1e-3).copy()
    assert len(fast) > 0
    assert not contact.response.wrench.any()
    assert fast[:, PLANE_STIFFNESS].sum() == pytest.approx(K, rel=1e-9)
    later = wrench_of(fast, row((0, 0, 0.02)))
    assert later[2] == pytest.approx(K * D, rel=1e-3)
    assert fast[:, CLUSTER_DEPTH] == pytest.approx(-0.002, rel=1e-6)


@pytest.mark.nojit
def test_a_new_group_takes_over_within_the_blend() -> None:
    """One side of a rocking cube, then both: the second group grows over 10 ms, k stays k."""
    contact = PenaltyContact(CUBE, floors=[((0, 0, 1), 0.0)], options=coarse(clusters=2))
    corner = np.array([1.0, 0.05, 0.06, 0.0]) / np.linalg.norm([1.0, 0.05, 0.06, 0.0])
    assert len(contact.update(row((0, 0, 0.0245), corner))) == 1
    shares = []
    for _ in range(12):
        contact.update(row((0, 0, 0.0198)), period=1e-3)
        planes = contact.planes
        assert contact.response.stiffness[2, 2] == pytest.approx(K, rel=1e-6)
        shares.append(planes[:, CLUSTER_WEIGHT].min() if len(planes) > 1 else 0.0)
    assert shares[0] < 0.1
    assert shares[-1] > 0.25
    assert np.diff(shares[:10]).min() > 0.0
