"""The hand that leads the jaw, one run, and what its measures say of made-up ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tangere._jit import JIT_DISABLED
from tangere.contact_planes import MAX_PLANES, NPLANE, PLANE_NORMAL
from tangere.experiments.held_mesh import Tool
from tangere.experiments.otaduy2005_jaws import (
    MODES,
    Case,
    JawRun,
    Params,
    Result,
    cases,
    check,
    chew,
    contact_of,
    hand,
    pulled,
)
from tangere.haptics.layout import (
    HAND_OMEGA,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NOUT,
    NPACKET,
    NTOOL,
    OUT_CONTACT,
    OUT_DEVIATION,
    OUT_FORCE,
    PACKET_COUNT,
    PACKET_PLANES,
)
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array, IntArray
from tangere.scene.jaws import lower_jaw, upper_jaw

P = Params()
COARSE = Case("sdf", 0.025, 2, "planes")


def test_the_hands_velocities_are_the_derivatives_of_its_poses() -> None:
    rows = hand(P, Tool.of(upper_jaw()))
    smooth = np.ones(len(rows) - 2, dtype=bool)  # but where slide and tilt begin
    smooth[round(P.pressed / P.dt) - 3 : round(P.pressed / P.dt) + 1] = False
    v = (rows[2:, :3] - rows[:-2, :3]) / (2 * P.dt)
    expected = rows[1:-1, HAND_VELOCITY : HAND_VELOCITY + 3]
    assert v[smooth] == pytest.approx(expected[smooth], abs=5e-4)
    spin = []
    for before, after in zip(rows[:-2, HAND_QUATERNION:], rows[2:, HAND_QUATERNION:], strict=True):
        turned = rotation_of(after[:4]) @ rotation_of(before[:4]).T
        skew = 0.5 * (turned - turned.T) / (2 * P.dt)
        spin.append([skew[2, 1], skew[0, 2], skew[1, 0]])
    expected = rows[1:-1, HAND_OMEGA : HAND_OMEGA + 3]
    assert np.array(spin)[smooth] == pytest.approx(expected[smooth], abs=1e-3)


def test_the_hand_goes_from_the_gap_to_the_press() -> None:
    tool = Tool.of(upper_jaw())
    rows = hand(P, tool)
    end = round(P.pressed / P.dt) - 1
    assert rows[0, 2] - tool.centre[2] == pytest.approx(P.first_touch + P.gap, abs=1e-7)
    assert rows[end, 2] - tool.centre[2] == pytest.approx(P.first_touch - P.press, abs=1e-12)
    assert rows[end, :2] == pytest.approx(tool.centre[:2], abs=1e-12)
    away = rows[:, :3] - rows[end, :3]
    assert away.max(axis=0)[:2] == pytest.approx([3e-3, 2e-3], rel=0.01)
    assert rows[end:, 2] == pytest.approx(rows[end, 2])


def drop(points: Array, vertices: Array, faces: IntArray) -> float:
    """How far points above a surface may sink until the first one meets it [m]; inf: never."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    seen = np.abs(area) > 1e-14  # not from the edge
    a, b, c, area = a[seen], b[seen], c[seen], area[seen]
    least = np.inf
    for rows in np.array_split(points, 1 + len(points) * len(a) // 2_000_000):
        x, y = rows[:, 0, None], rows[:, 1, None]
        u = ((x - a[:, 0]) * (c[:, 1] - a[:, 1]) - (y - a[:, 1]) * (c[:, 0] - a[:, 0])) / area
        v = ((b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x - a[:, 0])) / area
        z = a[:, 2] + u * (b[:, 2] - a[:, 2]) + v * (c[:, 2] - a[:, 2])
        way = np.where((u >= 0) & (v >= 0) & (u + v <= 1), rows[:, 2, None] - z, np.inf)
        least = min(least, float(way.min()))
    return least


def test_first_touch_is_where_the_script_has_it() -> None:
    """By brute force: corners of either mesh over the triangles of the other, edges left out."""
    up = np.array([0.0, 0.0, 0.05])
    upper, lower = upper_jaw(), lower_jaw()
    above = upper.vertices + up
    # only what is near the other jaw, 5 cm up, can touch within 4 mm
    low, high = above[:, 2].min(), lower.vertices[:, 2].max()
    tips = above[above[:, 2] < high + 4e-3]
    crowns = lower.faces[lower.vertices[lower.faces, 2].max(axis=1) > low - 4e-3]
    first = drop(tips, lower.vertices, crowns)
    mirror = np.array([1.0, 1.0, -1.0])
    tops = lower.vertices[lower.vertices[:, 2] > low - 4e-3]
    roots = upper.faces[above[upper.faces, 2].min(axis=1) < high + 4e-3]
    first = min(first, drop(tops * mirror, above * mirror, roots))
    assert 0.05 - first == pytest.approx(P.first_touch, abs=2e-5)


@pytest.mark.nojit
def test_errors_periods_and_modes_are_all_run_once() -> None:
    wanted = cases(replace(P, engine="sdf"))
    assert len(set(wanted)) == len(wanted) == 3 * 4 * 3 + 4 * 3
    wanted = cases(P)
    assert len(wanted) == 3 * 4 * 3 + 2 * 4 * 3
    assert {case.engine for case in wanted} == {"sdf", "levels"}
    assert {case.mode for case in wanted} == set(MODES)


@pytest.mark.nojit
def test_what_pulls_is_what_no_plane_can_press_with() -> None:
    packet = np.zeros(NPACKET)
    assert pulled(np.zeros(3), packet) == 0.0
    assert pulled(np.array([0.0, 3.0, 4.0]), packet) == 5.0  # no planes at all
    packet[PACKET_COUNT] = 2
    rows = packet[PACKET_PLANES:].reshape(MAX_PLANES, NPLANE)
    rows[0, PLANE_NORMAL : PLANE_NORMAL + 3] = (0.0, 0.0, -1.0)  # pushes up
    rows[1, PLANE_NORMAL : PLANE_NORMAL + 3] = (-1.0, 0.0, 0.0)  # pushes to +x
    assert pulled(np.array([2.0, 0.0, 1.0]), packet) == pytest.approx(0.0, abs=1e-12)
    assert pulled(np.array([2.0, 0.0, -1.0]), packet) == pytest.approx(1.0)
    assert pulled(np.array([-3.0, 0.0, -4.0]), packet) == pytest.approx(5.0)
    assert pulled(np.array([1.0, 0.5, 1.0]), packet) == pytest.approx(0.5)


def made(size: float, lost: int | None = None, pull: float = 0.0) -> JawRun:
    """A run whose force has an amplitude √2 times `size` at 120 Hz."""
    out = np.zeros((900, NOUT))
    wave = np.sqrt(2.0) * size * np.sin(2 * np.pi * 0.12 * np.arange(900))
    out[:, OUT_FORCE] = out[:, OUT_CONTACT] = wave
    out[:, OUT_DEVIATION] = 1e-3
    if lost is not None:
        out[lost:] = 0.0
    depth = np.full(900, np.nan)
    depth[100:] = -1e-4
    return JawRun(
        np.zeros((900, NTOOL)), out, depth, np.ones(900), np.full(900, pull), np.full(450, 1e-4),
        lost,
    )  # fmt: skip


@pytest.mark.nojit
def test_lost_runs_are_never_calm() -> None:
    run = made(0.2, lost=800)
    assert run.calm(OUT_FORCE, P) == np.inf
    assert run.rage(OUT_FORCE, P) == pytest.approx(0.2, rel=0.05)
    assert made(0.2).calm(OUT_FORCE, P) == pytest.approx(0.2, rel=0.05)
    assert made(0.2, lost=5).rage(OUT_FORCE, P) == np.inf
    assert made(0.2).deepest == 0.0
    assert replace(made(0.2), point_depth=np.array([np.nan, 2e-3, -1e-3])).deepest == 2e-3


@pytest.mark.nojit
def test_each_claim_can_fail() -> None:
    good = {
        "planes": made(0.01),
        "linear": made(0.02),
        "held": made(2.0, lost=200),
    }
    result = Result(P, {case: good[case.mode] for case in cases(P)})
    assert all(claim.pass_ for claim in check(result))
    bad: dict[str, tuple[str, JawRun]] = {
        "finite": ("linear", made(0.02, lost=500)),
        "calm-fast": ("linear", made(0.15)),
        "calm-slow": ("planes", made(0.6)),
        "depth": ("planes", replace(made(0.01), point_depth=np.full(900, 2e-4))),
        "depth-linear": ("linear", replace(made(0.02), point_depth=np.full(900, 2e-4))),
        "held-lost": ("held", made(2.0)),
        "held-rings": ("held", made(0.15, lost=800)),
        "planes-push": ("planes", made(0.01, pull=0.1)),
    }
    assert set(bad) == {claim.id for claim in check(result)}
    for name, (mode, run) in bad.items():
        wrong = Result(P, {c: run if c.mode == mode else good[c.mode] for c in cases(P)})
        verdicts = {claim.id: claim.pass_ for claim in check(wrong)}
        assert not verdicts[name], name


@pytest.mark.skipif(JIT_DISABLED, reason="distance fields of meshes take minutes in plain Python")
def test_the_same_run_twice_is_the_same_bit_for_bit() -> None:
    """A contact that has been used before forgets it: runs may come in any order."""
    short = replace(P, seconds=0.05, gap=0.0, pressed=0.04)
    tool = Tool.of(upper_jaw())
    contact = contact_of(short, tool, COARSE.engine, COARSE.error, COARSE.sharing)
    hands = hand(short, tool)
    one = chew(short, tool, contact, hands, COARSE)
    other = chew(short, tool, contact, hands, COARSE._replace(mode="held", period=5))
    two = chew(short, tool, contact, hands, COARSE)
    assert one.touching.any()
    assert not np.array_equal(one.out, other.out)
    assert np.array_equal(one.states, two.states)
    assert np.array_equal(one.out, two.out)


@pytest.mark.skipif(JIT_DISABLED, reason="distance fields of meshes take minutes in plain Python")
def test_contacts_are_used_one_period_late() -> None:
    short = replace(P, seconds=0.03, gap=-0.5e-3, pressed=0.03)
    tool = Tool.of(upper_jaw())
    contact = contact_of(short, tool, COARSE.engine, COARSE.error, COARSE.sharing)
    hands = hand(short, tool)
    for period in (1, 5, 10):
        run = chew(short, tool, contact, hands, COARSE._replace(period=period))
        assert int(np.argmax(run.touching)) == period
        assert len(run.update_seconds) == 30 // period
