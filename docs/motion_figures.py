"""Drawings of the page on contact formations: a peg's formations, types of motion, friction.

The peg's formations and the curve of friction are found by tangere, the rest is sketched.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from formation_figures import BROWN, FIXED, HELD, OF_FIXED, OF_HELD, PLATE, REGION, RIM, arrow

import tangere as tg
from tangere.contact.formation.columns import (
    LINE,
    OUT_FRICTION,
    OUT_NORMAL_FORCE,
    PC_COUNT,
    PC_NORMAL,
    PC_POINT,
    PC_POLYGON,
    PLANE,
)
from tangere.contact.formation.identify import Formations
from tangere.contact.formation.model import FormationModel
from tangere.contact.formation.validity import VALID, judge_at
from tangere.experiments import luo2004_peg_in_hole
from tangere.experiments.figures import FAINT, INK, canvas, house_style
from tangere.experiments.formation_log import NAMES_OF_MOTION, Log, follow
from tangere.geometry.boundary import boundary_of
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---------------------------------------------------------------- peg and hole


@house_style
def formations_of_peg() -> Figure:
    """A peg in its hole: formations that the experiment goes through, found at its poses."""
    figure, panels = canvas(
        "Formations of a peg with its hole, in the order in which the experiment peg-in-hole goes "
        "through them; cuts through the block (hatched), the fourth seen from above. Red: where "
        "they touch; arrows: normals of the contact planes. MT1 … MT4 is the motion that leads "
        "there.",
        columns=3,
        rows=2,
        size=(8.2, 6.3),
    )
    params = luo2004_peg_in_hole.Params()
    stage, path = luo2004_peg_in_hole.stage(params), luo2004_peg_in_hole.path(params)
    log = follow(stage, path, tg.Formation())
    phases = ("on an edge", "flat", "hold wall", "hold corner", "tilt", "jammed")
    for k, (axes, phase) in enumerate(zip(panels, phases, strict=True)):
        ticks = path.ticks(phase)
        tick = (ticks.start + ticks.stop) // 2
        (visit,) = (each for each in log.visits() if each.first <= tick < each.after)
        motion = NAMES_OF_MOTION[int(log.motion[visit.first])]
        _cut(axes, log, tick, from_above=phase == "hold corner")
        name = visit.name.replace(" and ", "\n")
        axes.set_title(f"{k + 1}   {motion}:  {log.kinds[tick]}", fontsize=9.5)
        axes.text(0.5, 0.09, name, ha="center", va="top", transform=axes.transAxes, fontsize=8.5)
    figure.get_layout_engine().set(h_pad=0.1)
    return figure


def _cut(axes: Axes, log: Log, tick: int, *, from_above: bool) -> None:
    """The block cut in the plane of x and z, or seen from above; the peg; what touches [mm]."""
    upright = 1 if from_above else 2
    s = luo2004_peg_in_hole.sizes()
    half, hole = 500.0 * luo2004_peg_in_hole.BLOCK[0], 1e3 * s.hole
    low = -half if from_above else -1e3 * luo2004_peg_in_hole.BLOCK[2]
    solid = {"fc": "#dfe8f0", "ec": FIXED, "hatch": "////", "lw": 0.0, "zorder": 1}
    pieces = [(-half, low, -hole, -low), (hole, low, half, -low)]
    if from_above:
        pieces += [(-hole, -half, hole, -hole), (-hole, hole, hole, half)]
    for x0, y0, x1, y1 in pieces:
        top = y1 if from_above else 0.0
        axes.fill([x0, x1, x1, x0], [y0, y0, top, top], **solid)
    rings = [pieces[0], pieces[1]]
    if from_above:
        rings = [(-hole, -hole, hole, hole), (-half, -half, half, half)]
    for x0, y0, x1, y1 in rings:
        top = y1 if from_above else 0.0
        axes.plot([x0, x1, x1, x0, x0], [y0, y0, top, top, y0], color=RIM, lw=1.2, zorder=2)

    turned, at = rotation_of(log.path.orientations[tick]), log.path.positions[tick]
    size = np.array([s.half, s.half, s.half_height])[[0, upright]]
    corners = np.zeros((4, 3))
    corners[:, [0, upright]] = size * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    ring = 1e3 * (corners @ turned.T + at)[:, [0, upright]]
    axes.fill(ring[:, 0], ring[:, 1], fc=HELD, ec=BROWN, alpha=0.85, lw=1.2, zorder=3)
    for row in log.rows[tick][: int(log.count[tick])]:
        count = int(row[PC_COUNT])
        region = row[PC_POLYGON : PC_POLYGON + 3 * count].reshape(-1, 3)[:, [0, upright]]
        point = 1e3 * row[PC_POINT : PC_POINT + 3][[0, upright]]
        normal = row[PC_NORMAL : PC_NORMAL + 3][[0, upright]]
        ends = 1e3 * region[[np.argmin(region @ np.ones(2)), np.argmax(region @ np.ones(2))]]
        axes.plot(*ends.T, color=REGION, lw=3.0, zorder=5, solid_capstyle="round")
        if np.linalg.norm(ends[1] - ends[0]) < 1.0:
            axes.plot(*point, "o", color=REGION, ms=6.5, zorder=6)
        arrow(axes, point, point + 13.0 * normal, INK)
    axes.set(xlim=(-52.0, 52.0), ylim=(-68.0, 55.0) if from_above else (-58.0, 65.0))
    if from_above:
        axes.text(0.0, -40.0, "from above", ha="center", fontsize=8.5, bbox=PLATE, zorder=7)
    axes.set_aspect("equal")
    axes.axis("off")


# ---------------------------------------------------------------- what can hold together


@house_style
def ambiguity() -> Figure:
    """A tilted block in a corner: which contacts can hold together, by the test of it."""
    figure, panels = canvas(
        "A block close to a floor and to a wall. Left: as it is measured, with the layer ε of "
        "either (pale; much thicker than usual), within which the floor admits an edge or a face, "
        "and so does the wall. Then the four combinations: two can hold exactly, and are drawn "
        "where they do, two cannot.",
        columns=5,
        size=(9.0, 2.5),
    )
    layer, tilt = 4e-3, math.radians(5.0)
    block, floor = boundary_of(tg.Box((0.03, 0.03, 0.04))), boundary_of(tg.Box((0.1, 0.1, 0.02)))
    wall = boundary_of(tg.Box((0.02, 0.1, 0.1)))
    upright = (1.0, 0.0, 0.0, 0.0)
    fixed = [(floor, ((0.0, 0.0, -0.01), upright)), (wall, ((0.01, 0.0, 0.05), upright))]
    turned = np.array([math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0])
    corners = np.array([(x, 0.0, z) for x in (-0.015, 0.015) for z in (-0.02, 0.02)])
    reach = corners @ rotation_of(turned).T
    place = np.array([-reach[:, 0].max() - 4e-4, 0.0, 4e-4 - reach[:, 2].min()])
    pose = np.concatenate((place, turned))
    finder = Formations(block, fixed, layer=layer, release=1.2 * layer).finder
    _corner(panels[0], pose, layer)
    panels[0].set_title("measured", fontsize=10)
    # elements of the block on the floor and on the wall; all of B is numbered through
    on_floor = (("edge", "edge +x -z", LINE), ("face", "face -z", PLANE))
    on_wall = (("edge", "edge +x +z", LINE), ("face", "face +x", PLANE))
    top, side = floor.index("face +z"), len(floor) + wall.index("face -x")
    pairs = itertools.product(on_floor, on_wall)
    for axes, ((own, a, low), (other, b, aside)) in zip(panels[1:], pairs, strict=True):
        there = pose.copy()
        first, second, regions = (
            np.array(values, np.int32)
            for values in ((block.index(a), block.index(b)), (top, side), (low, aside))
        )
        holds = judge_at(finder.trial, 2, first, second, regions, there) == VALID
        _corner(axes, there if holds else pose, 0.0)
        axes.set_title(f"{own}–face + {other}–face", fontsize=9)
        mark, colour = ("can hold", "#4d7548") if holds else ("cannot", REGION)
        axes.text(0.5, 0.02, mark, transform=axes.transAxes, ha="center", color=colour)
    return figure


def _corner(axes: Axes, pose: Array, layer: float) -> None:
    """Floor, wall and block in the plane of x and z [mm], the former with a layer before them."""
    low, left, high, thick = -5.0, -44.0, 52.0, 1e3 * layer
    ring = [(left, low), (5.0, low), (5.0, high), (0.0, high), (0.0, 0.0), (left, 0.0)]
    axes.fill(*np.transpose(ring), fc="#dfe8f0", ec=FIXED, hatch="////", lw=0.0, zorder=1)
    axes.plot([left, 0.0, 0.0], [0.0, 0.0, high], color=RIM, lw=1.2, zorder=4)
    if layer > 0.0:
        band = [(left, 0), (0, 0), (0, high), (-thick, high), (-thick, thick), (left, thick)]
        axes.fill(*np.transpose(band), fc="#f3d9da", lw=0.0, zorder=2)
        axes.text(left + 1.5, thick + 1.5, "ε", color=REGION)
    corners = np.array([(-15.0, 0.0, -20.0), (15.0, 0, -20), (15, 0, 20), (-15, 0, 20)])
    block = (corners @ rotation_of(pose[3:]).T + 1e3 * pose[:3])[:, [0, 2]]
    axes.fill(*block.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    for distance in (block[:, 1], -block[:, 0]):
        _touching(axes, block[np.abs(distance) < 1e-3])
    axes.set(xlim=(left, 6.0), ylim=(-14.0, 54.0))
    axes.set_aspect("equal")
    axes.axis("off")


# ---------------------------------------------------------------- motion and friction


@house_style
def motion_types() -> Figure:
    """The types of the motion before a formation."""
    figure, panels = canvas(
        "The motion before: where the body was (dashed) and where it is. Red: what touches now. "
        "MT4 is a contact that became another one, or one that is lost.",
        columns=5,
        size=(9.0, 2.5),
    )
    shown = (
        ("MT1", "free → edge–face", (-0.1, 0.75, -14.0), (-0.1, 0.0, -14.0), False),
        ("MT2", "face–face, kept", (-0.75, 0.0, 0.0), (0.1, 0.0, 0.0), False),
        ("MT3", "face–face →\nface–face + face–face", (-0.75, 0.0, 0.0), (0.3, 0.0, 0.0), True),
        ("MT4", "edge–face → face–face", (-0.1, 0.0, -24.0), (-0.1, 0.0, 0.0), False),
        ("MT4", "face–face + face–face →\nface–face", (0.3, 0.0, 0.0), (-0.5, 0.0, 0.0), True),
    )
    for axes, (name, words, before, now, wall) in zip(panels, shown, strict=True):
        _ground(axes, wall=0.98 if wall else None)
        old, new = _block(*before), _block(*now)
        axes.plot(*np.vstack((old, old[:1])).T, "--", color=FAINT, lw=1.1, zorder=2)
        axes.fill(*new.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
        low = new[np.isclose(new[:, 1], 0.0, atol=1e-9)]
        _touching(axes, low)
        if wall and np.isclose(new[:, 0].max(), 0.98):
            _touching(axes, new[new[:, 0] > 0.97])
        a, b = old.mean(axis=0), new.mean(axis=0)
        if before[2] == now[2]:
            arrow(axes, a, a + 0.86 * (b - a), INK)
        else:
            _turning(axes, new[1], 1.05, 108.0, 150.0)
        axes.set(xlim=(-1.7, 1.5), ylim=(-0.8, 2.15))
        axes.set_title(name, fontsize=10)
        axes.text(-0.1, -0.45, words, ha="center", va="top", fontsize=8.5, linespacing=1.35)
    return figure


def _ground(axes: Axes, wall: float | None = None) -> None:
    """A floor, hatched below, and a wall at that place."""
    low, high, left, right = -0.3, 2.1, -1.55, 1.3
    ring = [(left, low), (right, low), (right, 0.0), (left, 0.0)]
    line = [(left, 0.0), (right, 0.0)]
    if wall is not None:
        ring = [(left, low), (right, low), (right, high), (wall, high), (wall, 0.0), (left, 0.0)]
        line = [(left, 0.0), (wall, 0.0), (wall, high)]
    axes.fill(*np.transpose(ring), fc="#dfe8f0", ec=FIXED, hatch="////", lw=0.0, zorder=1)
    axes.plot(*np.transpose(line), color=RIM, lw=1.2, zorder=2)
    axes.set_aspect("equal")
    axes.axis("off")


def _block(x: float, y: float, angle: float, width: float = 1.36, height: float = 1.1) -> Array:
    """Corners of a block with its lower right one at y, turned about it [°]; x of its middle."""
    corners = np.array([(-width, 0.0), (0.0, 0.0), (0.0, height), (-width, height)])
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return np.asarray(corners @ np.array([[c, s], [-s, c]]) + (x + 0.5 * width, y))


def _touching(axes: Axes, points: Array) -> None:
    """A point or a line, in red."""
    axes.plot(*points.T, color=REGION, lw=3.0, zorder=5, solid_capstyle="round")
    if len(points) == 1:
        axes.plot(*points.T, "o", color=REGION, ms=6.5, zorder=6)


def _turning(axes: Axes, centre: Array, radius: float, begin: float, end: float) -> None:
    """A bent arrow about a centre, from one direction to another [°]."""
    angle = np.radians(np.linspace(begin, end, 40))
    arc = np.asarray(centre) + radius * np.column_stack((np.cos(angle), np.sin(angle)))
    axes.plot(*arc[:-2].T, color=INK, lw=1.4, zorder=7)
    arrow(axes, arc[-6], arc[-1], INK)


@house_style
def friction_cases() -> Figure:
    """Friction of a new contact, and the four cases of one that is kept."""
    figure, panels = canvas(
        "Friction. Above: a new contact sticks if that takes a force within the cone of μ, shown "
        "without prior acceleration; else it slips at once. The spring of a contact that sticks "
        "begins at an anchor (×) and lets go at μ Fₙ, as the model gives it for a block that is "
        "pushed at 5 mm/s. Below: the cases of a formation that is kept, and the friction of a "
        "face that turns about o while it slides.",
        columns=4,
        rows=2,
        size=(9.2, 4.9),
    )
    _impact(panels[0], 22.0)
    _impact(panels[1], 52.0)
    _held(panels[2])
    _stick_and_slip(panels[3])
    _rolling(panels[4])
    _pivot(panels[5])
    _sliding(panels[6])
    _turning_face(panels[7])
    return figure


def _impact(axes: Axes, incidence: float) -> None:
    """A corner that meets a floor at an angle from the normal [°], and the friction cone."""
    options = tg.Formation()
    mu, kinetic = options.static_friction, options.kinetic_friction
    sticks = math.tan(math.radians(incidence)) <= mu
    _ground(axes)
    high = 1.45
    axes.fill(
        [0.0, -mu * high, mu * high],
        [0.0, high, high],
        fc="#dfecdd",
        ec="#7fa57a",
        lw=0.8,
        zorder=2,
    )
    axes.text(0.62 * mu * high, 0.86 * high, "μ", ha="center", va="center", color="#4d7548")
    u = np.array([math.sin(math.radians(incidence)), -math.cos(math.radians(incidence))])
    arrow(axes, -1.7 * u, -0.12 * u, INK)
    axes.text(*(-1.82 * u), "u", ha="center", va="bottom")
    press = 0.95
    arrow(axes, np.zeros(2), np.array([0.0, press]), OF_FIXED)
    axes.text(0.07, press, "$F_n$", color=OF_FIXED, va="bottom")
    rub = -press * (math.tan(math.radians(incidence)) if sticks else 3.0 * kinetic)
    arrow(axes, np.zeros(2), np.array([rub, 0.0]), REGION)
    axes.text(rub - 0.06, 0.05, "$F_{cf}$", color=REGION, ha="right", va="bottom")
    axes.plot(0.0, 0.0, "o", color=REGION, ms=6.0, zorder=8)
    _close(axes, "MT1: sticks" if sticks else "MT1: slips")
    words = (
        "$F_{cf} = F_t,\\;|F_t| \\leq \\mu F_n$"
        if sticks
        else "$F_{cf} = -\\mu_D F_n\\, u_t/|u_t|$"
    )
    _below(axes, words)


def _close(axes: Axes, title: str) -> None:
    axes.set(xlim=(-1.7, 1.5), ylim=(-0.85, 1.95))
    axes.set_title(title, fontsize=10)


def _below(axes: Axes, words: str) -> None:
    axes.text(-0.1, -0.45, words, ha="center", va="top", fontsize=9.5)


def _held(axes: Axes) -> None:
    """Case a: a spring from the anchor to the point of the body that touched there."""
    _ground(axes)
    block = _block(0.25, 0.0, 0.0)
    axes.fill(*block.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    _touching(axes, block[:2])
    anchor, end = np.array([-1.25, 0.25]), np.array([block[0, 0], 0.25])
    x = np.linspace(0.0, 1.0, 15)
    zigzag = np.where(np.arange(15) % 2 == 0, -0.09, 0.09)
    zigzag[[0, 1, -2, -1]] = 0.0
    axes.plot(anchor[0] + x * (end - anchor)[0], anchor[1] + zigzag, color=INK, lw=1.1, zorder=4)
    axes.plot(*anchor, "x", color=INK, ms=7.0, mew=1.8, zorder=5)
    axes.text(0.5 * (anchor + end)[0], 0.4, "$K_p$", ha="center", va="bottom")
    axes.annotate(
        "", (end[0], 0.95), (anchor[0], 0.95), arrowprops={"arrowstyle": "<->", "lw": 0.9}
    )
    axes.text(0.5 * (anchor + end)[0], 1.0, "s", ha="center", va="bottom", style="italic")
    _close(axes, "MT2 a: at rest, sticks")
    _below(axes, "$F_{cf} = -K_p\\, s$")


def _stick_and_slip(axes: Axes) -> None:
    """Friction over the way of a block that is pushed, as the model gives it."""
    options = tg.Formation()
    model = FormationModel.of_shapes(
        tg.Box((0.04, 0.04, 0.02)), 0.1,
        [(tg.Box((0.2, 0.2, 0.02)), (np.zeros(3), (1.0, 0.0, 0.0, 0.0)))],
        options, 1e-3,
    )  # fmt: skip
    speed, rest, rows = 5e-3, 0.1, []
    for k in range(500):
        way = speed * max(0.0, 1e-3 * k - rest)
        found = model.update((way, 0.0, 0.0205), (1.0, 0.0, 0.0, 0.0), 1e-3 * k)
        friction = -found.results[0, OUT_FRICTION] / found.results[0, OUT_NORMAL_FORCE]
        rows.append((1e3 * way, friction))
    way, friction = np.transpose(rows)
    axes.plot(way, friction, color=REGION, lw=1.6)
    for level, name in ((options.static_friction, "μ"), (options.kinetic_friction, "$\\mu_D$")):
        axes.axhline(level, color=FAINT, lw=0.8, ls="--")
        axes.text(1.9, level + 0.01, name, ha="right", va="bottom", color=INK)
    axes.set(xlim=(-0.05, 1.95), ylim=(0.0, 0.88), xlabel="way [mm]", ylabel="friction / $F_n$")
    axes.set_title("from stick to slip", fontsize=10)


def _rolling(axes: Axes) -> None:
    """Case b: equal ways over both surfaces."""
    _ground(axes)
    radius, way = 0.72, 0.85
    angle = np.linspace(0.0, 2.0 * math.pi, 121)
    ring = radius * np.column_stack((np.cos(angle), np.sin(angle)))
    axes.plot(*(ring + np.array([-0.55, radius])).T, "--", color=FAINT, lw=1.1, zorder=2)
    centre = np.array([-0.55 + way, radius])
    axes.fill(*(ring + centre).T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    share = np.radians(-90.0) - np.linspace(0.0, way / radius, 30)
    axes.plot(*(centre[:, None] + radius * np.array([np.cos(share), np.sin(share)])), color=OF_HELD,
              lw=3.0, zorder=5)  # fmt: skip
    axes.plot([-0.55, centre[0]], [0.0, 0.0], color=OF_FIXED, lw=3.0, zorder=5)
    _touching(axes, np.array([[centre[0], 0.0]]))
    _turning(axes, centre, 0.42, 150.0, 20.0)
    style = {"ha": "center", "va": "center", "fontsize": 10.5, "zorder": 6}
    axes.text(centre[0] - 0.24, 0.36, "$\\Delta_A$", color=OF_HELD, **style)
    axes.text(-0.13, -0.155, "$\\Delta_B$", color=OF_FIXED, bbox=PLATE, **style)
    _close(axes, "MT2 b: rolls, sticks")
    _below(axes, "$s = \\Delta_A - \\Delta_B \\approx 0$")


def _pivot(axes: Axes) -> None:
    """Case c: about a contact that stays."""
    _ground(axes)
    old, new = _block(-0.35, 0.0, -62.0, 0.6, 1.3), _block(-0.35, 0.0, -28.0, 0.6, 1.3)
    axes.plot(*np.vstack((old, old[:1])).T, "--", color=FAINT, lw=1.1, zorder=2)
    axes.fill(*new.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    _touching(axes, new[1:2])
    _turning(axes, new[1], 1.62, 38.0, 64.0)
    _close(axes, "MT2 c: pivots, sticks there")
    _below(axes, "$F_{cf} = -K_p\\, s$")


def _sliding(axes: Axes) -> None:
    """Case d: everywhere against the slip."""
    _ground(axes)
    old, new = _block(-0.6, 0.0, 0.0), _block(0.2, 0.0, 0.0)
    axes.plot(*np.vstack((old, old[:1])).T, "--", color=FAINT, lw=1.1, zorder=2)
    axes.fill(*new.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    _touching(axes, new[:2])
    middle = new.mean(axis=0)
    arrow(axes, middle - np.array([0.35, 0.0]), middle + np.array([0.45, 0.0]), INK)
    axes.text(middle[0] + 0.05, middle[1] + 0.08, "$v$", ha="center", va="bottom")
    arrow(axes, new[0], new[0] - np.array([0.62, 0.0]), REGION, lw=2.0, mutation_scale=13)
    _close(axes, "MT2 d: slides")
    _below(axes, "$F_{cf} = -\\mu_D F_n\\, v/|v|$")


def _turning_face(axes: Axes) -> None:
    """The friction of a rectangle that turns about a point within it, from above."""
    o = np.array([-0.45, 0.62])
    ring = np.array([(-1.25, 0.1), (1.05, 0.1), (1.05, 1.4), (-1.25, 1.4)])
    axes.fill(*ring.T, fc=HELD, ec=BROWN, lw=1.2, zorder=3)
    for x in np.linspace(-1.05, 0.85, 7):
        for y in np.linspace(0.28, 1.22, 4):
            arm = np.array([x, y]) - o
            size = float(np.linalg.norm(arm))
            if size > 0.12:
                way = np.array([arm[1], -arm[0]]) / size
                arrow(
                    axes, (x, y) - 0.11 * way, (x, y) + 0.11 * way, REGION, lw=1.0, mutation_scale=6
                )
    axes.plot(*o, "o", color=INK, ms=5.0, zorder=8)
    axes.text(o[0] - 0.07, o[1] - 0.05, "o", ha="right", va="top", zorder=8, style="italic")
    _turning(axes, o, 1.02, 62.0, 108.0)
    axes.set_aspect("equal")
    axes.axis("off")
    _close(axes, "a face that turns, from above")
    _below(axes, "$-\\mu_D\\, p\\; v/|v|$ at every point")


FIGURES = {
    "formation-ambiguity": ambiguity,
    "formation-peg": formations_of_peg,
    "formation-motion": motion_types,
    "formation-friction": friction_cases,
}
