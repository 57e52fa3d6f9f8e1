"""Drawings of the method pages: each function returns one figure, its caption as its label.

The sketches are drawn, the maps and curves are computed with tangere itself. `build_gallery.py`
writes them all; they carry no number that is typed by hand. One shows a stored benchmark.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import formation_figures
import motion_figures
import numpy as np

import tangere as tg
from tangere.compare.comparison import compare
from tangere.compare.figures import figures_of
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas
from tangere.fem.grids import box_grid
from tangere.geometry.axial_profile import straightened
from tangere.geometry.curved_solid import bowl, pen
from tangere.geometry.outline import convex_ring
from tangere.geometry.turned import convex_polygons
from tangere.maths.vec import Array
from tangere.simulation import SoftBodyState
from tangere.steppers.soft_scene import condense_body

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
RED = "#a33b3b"
CELL = 1.2e-3  # edge of a cell of the soft block [m]
BODY_A, BODY_B, OVERLAP = "#dfe7ee", "#f3e3cd", "#bcd0df"


# ---------------------------------------------------------------- sketches


def contact_volume() -> Figure:
    """Cut through two overlapping bodies: plane, normal, half-depths, chord, patch."""
    from matplotlib.patches import Polygon

    figure, (axes,) = canvas(
        "A cut through two bodies and their contact volume. The contact plane (dashed) has the "
        "normal n from a to b. Along a line parallel to n the front side lies h₊ above the plane, "
        "the back side h₋ below it; their sum is the chord d(p). The patch is the projection of "
        "the volume on the plane, c its centroid.",
        size=(7.2, 3.3),
    )
    a = np.array([(-3.2, -1.5), (3.2, -1.5), (3.2, 0.35), (-3.2, 0.35)])
    tilt = math.radians(9.0)
    turn = np.array([[math.cos(tilt), -math.sin(tilt)], [math.sin(tilt), math.cos(tilt)]])
    b = np.array([(-1.9, 0.0), (1.9, 0.0), (1.9, 1.8), (-1.9, 1.8)]) @ turn.T + np.array(
        [0.25, 0.0]
    )
    low, high = b[0], b[1]
    # where b's lower edge leaves a, and where b's left edge does
    right = low + (high - low) * (0.35 - low[1]) / (high[1] - low[1])
    left = b[0] + (b[3] - b[0]) * (0.35 - b[0][1]) / (b[3][1] - b[0][1])
    volume = np.array([low, right, left])
    for corners, colour, edge in ((a, BODY_A, "#8fa6b8"), (b, BODY_B, "#c9a36a")):
        axes.add_patch(Polygon(corners, facecolor=colour, edgecolor=edge, lw=1.0))
    axes.add_patch(Polygon(volume, facecolor=OVERLAP, edgecolor=COLOURS["volume"], lw=1.8))
    plane = 0.5 * (low[1] + 0.35)
    axes.plot([-3.0, 3.0], [plane, plane], "--", color=INK, lw=0.9)
    # the patch, drawn under the volume on the plane
    axes.plot([left[0], right[0]], [plane, plane], color=RED, lw=3.0, solid_capstyle="butt")
    centre = 0.5 * (left[0] + right[0])
    axes.plot([centre], [plane], "o", color=RED, ms=5)
    axes.annotate("c", (centre, plane), (centre + 0.07, plane - 0.24), color=RED)
    _arrow(axes, (2.75, plane), (2.75, plane + 0.75), INK)
    axes.annotate("n", (2.85, plane + 0.5))
    x = low[0] + 0.14 * (right[0] - low[0])
    back = low[1] + (x - low[0]) * (high[1] - low[1]) / (high[0] - low[0])
    _double(axes, (x, plane), (x, 0.35))
    _double(axes, (x, back), (x, plane))
    axes.annotate("h₊", (x, 0.35), (x + 0.07, plane + 0.1), fontsize=8.5)
    axes.annotate("h₋", (x, back), (x + 0.07, plane - 0.19), fontsize=8.5)
    axes.annotate("b", (0.9, 1.35), color="#8a6420", fontsize=12)
    axes.annotate("a", (-2.6, -1.1), color="#4d6b83", fontsize=12)
    axes.annotate("front: faces of a", (-0.7, 0.42), fontsize=8.5, color=COLOURS["volume"])
    axes.annotate("back: faces of b", (-0.35, -0.36), fontsize=8.5, color=COLOURS["volume"])
    axes.annotate(
        "patch, area $S_c$", (0.5 * (centre + right[0]), plane), (1.55, -0.62), color=RED,
        fontsize=8.5, arrowprops={"arrowstyle": "-", "color": RED, "lw": 0.7},
    )  # fmt: skip
    axes.set_xlim(-3.3, 3.3)
    axes.set_ylim(-1.35, 1.75)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def traction() -> Figure:
    """The slip field turning about p*, and one edge of the patch in polar coordinates."""
    from matplotlib.patches import Polygon

    figure, (left, right) = canvas(
        "Left: every rigid slip field e(p) = R + Θ n × p turns about one point p*, where it "
        "vanishes; arrows show its direction over a patch. Right: the patch is the signed sum of "
        "the triangles (p*, edge); on each of them the integrals are elementary in the distance d "
        "of the edge, the coordinate s along it and ρ = √(d² + s²).",
        columns=2,
        size=(7.6, 3.4),
    )
    angle = np.deg2rad([20, 80, 150, 215, 290, 340])
    patch = np.column_stack((1.35 * np.cos(angle), np.sin(angle)))
    star = np.array([-0.85, -1.25])
    left.add_patch(Polygon(patch, facecolor=BODY_A, edgecolor=COLOURS["volume"], lw=1.6))
    grid = np.array([(x, y) for x in np.linspace(-1.2, 1.2, 9) for y in np.linspace(-0.9, 0.9, 7)])
    inside = grid[[_inside(p, patch) for p in grid]]
    q = inside - star
    size = np.hypot(q[:, 0], q[:, 1])
    left.quiver(
        inside[:, 0], inside[:, 1], -q[:, 1] / size, q[:, 0] / size,
        color=INK, scale=17, width=0.006, pivot="mid",
    )  # fmt: skip
    for radius in (0.7, 1.2, 1.7, 2.2):
        t = np.linspace(0.1, 1.75, 80)
        left.plot(
            star[0] + radius * np.cos(t), star[1] + radius * np.sin(t), color=FAINT, lw=0.5, ls=":"
        )
    left.plot(*star, "o", color=RED, ms=6)
    _label(left, "p* = n × R/Θ", star, (0.12, -0.08), RED)
    left.plot([0], [0], "+", color=RED, ms=8)
    _label(left, "c", np.zeros(2), (0.05, -0.2), RED)

    right.add_patch(Polygon(patch, facecolor=BODY_A, edgecolor="#9fb7c9", lw=1.0))
    a, b = patch[5], patch[0]
    right.add_patch(Polygon([star, a, b], facecolor=OVERLAP, edgecolor="none", alpha=0.7))
    for end in (a, b):
        right.plot([star[0], end[0]], [star[1], end[1]], color=FAINT, lw=0.8)
    right.plot([a[0], b[0]], [a[1], b[1]], color=COLOURS["volume"], lw=2.4)
    tau = (b - a) / np.linalg.norm(b - a)
    nu = np.array([tau[1], -tau[0]])
    d = float((a - star) @ nu)
    foot = star + d * nu
    right.plot([star[0], foot[0]], [star[1], foot[1]], color=INK, lw=0.9)
    end = a if (a - foot) @ tau < 0 else b
    right.plot([foot[0], end[0]], [foot[1], end[1]], "--", color=COLOURS["volume"], lw=0.8)
    _label(right, "d", 0.5 * (star + foot), (0.0, -0.2))
    _arrow(right, foot, foot + 0.42 * nu, INK)
    _label(right, "ν", foot + 0.46 * nu, (0.0, -0.05))
    _arrow(right, foot, foot + 0.42 * tau, INK)
    _label(right, "τ", foot + 0.42 * tau, (0.08, -0.08))
    point = a + 0.62 * (b - a)
    right.plot([star[0], point[0]], [star[1], point[1]], color=RED, lw=1.0)
    right.plot(*point, ".", color=RED)
    _label(right, "s", point, (0.08, -0.05), RED)
    _label(right, "ρ", 0.5 * (star + point), (-0.1, 0.12), RED)
    right.plot(*star, "o", color=RED, ms=6)
    _label(right, "p*", star, (-0.32, -0.02), RED)
    for axes in (left, right):
        axes.set_xlim(-1.75, 2.0)
        axes.set_ylim(-1.55, 1.2)
        axes.set_aspect("equal")
        axes.axis("off")
    return figure


def _inside(p: Array, polygon: Array) -> bool:
    following = np.roll(polygon, -1, axis=0)
    edge, to = following - polygon, p - polygon
    return bool(np.all(edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0] > 0.06))


def _label(axes: Axes, text: str, at: Array, away: tuple[float, float], colour: str = INK) -> None:
    axes.text(at[0] + away[0], at[1] + away[1], text, color=colour)


def _arrow(axes: Axes, tail: Any, head: Any, colour: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.1, "mutation_scale": 10}
    axes.annotate("", tuple(head), tuple(tail), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def _double(axes: Axes, low: tuple[float, float], high: tuple[float, float]) -> None:
    style = {"arrowstyle": "<->", "color": INK, "lw": 0.8, "mutation_scale": 7}
    axes.annotate("", high, low, arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


# ---------------------------------------------------------------- computed


def stability() -> Figure:
    """Which κ and β hold a block at rest: simulated, with the limit on top."""
    from matplotlib.colors import ListedColormap

    figure, (axes,) = canvas(
        "A block of 1 kg at rest on the floor gets a slight push, simulated for every pair "
        "κ = k dt²/m, β = b dt/m. Blue: the push has died away after 2000 steps. "
        "The line is κ + 2β = 4.",
        size=(5.4, 3.4),
    )
    kappas, betas = np.arange(0.05, 4.7, 0.1), np.arange(0.025, 2.35, 0.05)
    rests = np.array([[_rests(k, b) for k in kappas] for b in betas])
    axes.pcolormesh(
        kappas, betas, rests, cmap=ListedColormap(["#ffffff", OVERLAP]), vmin=0, vmax=1,
        shading="nearest", rasterized=True,
    )  # fmt: skip
    axes.plot([0, 4], [2, 0], color=RED, lw=1.6, label="κ + 2β = 4")
    axes.plot([0.1], [0.2], "o", color=COLOURS["volume"], label="default: κ = 0.1, β = 0.2")
    axes.plot([1], [1], "s", color=INK, ms=5, label="κ = β = 1: rest in one step")
    axes.set_xlim(0, 4.7)
    axes.set_ylim(0, 2.35)
    axes.set_xlabel("κ = k dt²/m")
    axes.set_ylabel("β = b dt/m")
    axes.legend(loc="upper right")
    return figure


def _rests(kappa: float, beta: float) -> bool:
    """Whether a push that does not lift the block dies away within 2000 steps."""
    dt = 1e-3
    material = tg.Material(0.0, 0.0, stiffness=kappa / dt**2, damping=beta / dt)
    depth = 9.81 * dt**2 / kappa
    push = 0.02 * depth / dt
    scene = tg.Scene()
    scene.add_floor(material=material)
    place, speed = (0, 0, 0.5 - depth), (0, 0, push)
    scene.add_body(tg.Box((1, 1, 1)), mass=1.0, position=place, velocity=speed, material=material)
    sim = tg.Simulation(scene, dt=dt, integrator="explicit")
    last = []
    try:
        sim.step(2000)
        for _ in range(20):  # one instant could catch a bouncing block at its turning point
            sim.step()
            last.append(sim.energy.kinetic)
    except FloatingPointError:
        return False
    return max(last) < 1e-3 * 0.5 * push**2


def normalisation() -> Figure:
    """Total energy of an undamped tilted cube for the three normalisations."""
    figure, (axes,) = canvas(
        "An elastic cube of 0.8 m and 1 kg, no damper, no friction, dropped with a tilt about two "
        "axes. Energy of motion and height whenever no contact acts: it should stay what it "
        "was. Dividing by the current patch area (“patch”) gains and loses "
        "energy; a fixed area does not.",
        size=(7.2, 3.0),
    )
    for name, colour, line in (
        ("patch", COLOURS["point"], "-"),
        ("none", "#7fb285", "-"),
        ("fixed", COLOURS["volume"], "--"),
    ):
        time, energy = _bounce(name, 2e4)
        axes.plot(time, energy, line, color=colour, label=f'normalization="{name}"')
    axes.set_xlabel("time [s]")
    axes.set_ylabel("energy in flight [J]")
    axes.legend()
    return figure


def _bounce(normalization: Any, stiffness: float) -> tuple[Array, Array]:
    """Instants without contact and the energy there."""
    material = tg.Material(
        0.0, 0.0, stiffness=stiffness, damping=0.0, tangential_stiffness=0.0, tangential_damping=0.0
    )
    half, lean = 0.5 * 0.3, 0.5 * 0.2
    turn = np.array([math.cos(half), math.sin(half), 0, 0])
    w, x, y, z = turn
    c, s = math.cos(lean), math.sin(lean)
    scene = tg.Scene()
    scene.add_floor(material=material)
    cube = scene.add_body(
        tg.Box((0.8, 0.8, 0.8)),
        mass=1.0,
        position=(0, 0, 1.2),
        orientation=(c * w - s * y, c * x + s * z, c * y + s * w, c * z - s * x),
        material=material,
    )
    method = tg.Volume(normalization=normalization)
    sim = tg.Simulation(scene, method=method, dt=1e-4, integrator="explicit")
    rows = []
    for _ in range(2000):
        sim.step(50)
        f, _ = sim[cube].contact_wrench
        if not f.any():
            rows.append((sim.time, sim.energy.total))
    time, energy = np.array(rows).T
    return time, energy


def free_rotation() -> Figure:
    """Energy error of a freely turning body by three attitude updates."""
    from matplotlib.ticker import NullLocator

    figure, (left, right) = canvas(
        "A body with moments 1 : 2 : 2.5 turns freely at 100 rad/s about an axis near its middle "
        "one. Left: error of the energy at a step of 1 ms. Right: largest energy error within 2 s "
        "over the step. The implicit midpoint rule stays at rounding level.",
        columns=2,
        size=(7.6, 3.0),
    )
    moments, start = np.array([1.0, 2.0, 2.5]), np.array([20.0, 98.0, 5.0])
    rules: tuple[tuple[str, Callable[..., tuple[Array, Array]], str], ...] = (
        ("first order", _first_order, COLOURS["point"]),
        ("splitting", _splitting, "#7fb285"),
        ("implicit midpoint", _midpoint, COLOURS["volume"]),
    )
    least = 1e-17  # an error of exactly zero has no place on a logarithmic axis
    steps = np.array([2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3])
    for name, rule, colour in rules:
        time, error = _spin(rule, moments, start, 1e-3)
        left.semilogy(time, np.maximum(error, least), color=colour, label=name, lw=1.1)
        worst = [max(least, float(_spin(rule, moments, start, h)[1].max())) for h in steps]
        right.loglog(1e3 * steps, worst, "o-", ms=3.5, color=colour, label=name)
    left.set_xlabel("time [s]")
    left.set_ylabel("relative energy error")
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.4))
    right.xaxis.set_minor_locator(NullLocator())
    right.set_xticks(1e3 * steps, [f"{1e3 * h:g}" for h in steps])
    right.set_xlabel("step [ms]")
    right.set_ylabel("largest error within 2 s")
    return figure


def _spin(
    rule: Callable[..., tuple[Array, Array]], moments: Array, start: Array, dt: float
) -> tuple[Array, Array]:
    """Instants and relative energy error; L is kept exactly by all rules."""
    momentum = moments * start
    q = np.array([1.0, 0.0, 0.0, 0.0])
    first = float(momentum @ (momentum / moments))
    count = round(2.0 / dt)
    error = np.empty(count)
    for i in range(count):
        q, ell = rule(q, momentum, moments, dt)
        error[i] = abs(float(ell @ (ell / moments)) / first - 1.0)
    time: Array = dt * np.arange(1.0, count + 1.0)
    return time, error


def _midpoint(q: Array, momentum: Array, moments: Array, dt: float) -> tuple[Array, Array]:
    from tangere.bodies.rigid import free_rotation as step

    ell = _back(q, momentum)
    new, _ = step(tuple(q), tuple(ell), tuple(moments), dt)
    q = np.array(new)
    return q, _back(q, momentum)


def _first_order(q: Array, momentum: Array, moments: Array, dt: float) -> tuple[Array, Array]:
    q = _product(q, _exp(dt * _back(q, momentum) / moments))
    return q, _back(q, momentum)


def _splitting(q: Array, momentum: Array, moments: Array, dt: float) -> tuple[Array, Array]:
    for axis, share in ((0, 0.5), (1, 0.5), (2, 1.0), (1, 0.5), (0, 0.5)):
        turn = np.zeros(3)
        turn[axis] = share * dt * _back(q, momentum)[axis] / moments[axis]
        q = _product(q, _exp(turn))
    return q, _back(q, momentum)


def _exp(turn: Array) -> Array:
    angle = float(np.linalg.norm(turn))
    scale = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    return np.array([math.cos(0.5 * angle), *(scale * turn)])


def _product(a: Array, b: Array) -> Array:
    from tangere.maths.rotations import quat_product

    c = quat_product(a, b)
    unit: Array = c / np.linalg.norm(c)
    return unit


def _back(q: Array, v: Array) -> Array:
    from tangere.maths.rotations import rotation_of

    turned: Array = rotation_of(q).T @ v
    return turned


def soft_contact() -> Figure:
    """A ball in a soft block with its contact forces; the compliance that they are found with."""
    figure, (left, right) = canvas(
        "Left: a frictionless ball of 10 mm radius pressed 2 mm into a soft block, a cut near the "
        "ball's centre. Dots are nodes of the block's surface, dashed at rest; arrows are the "
        "forces of the contacts on it. Between nodes the surface is straight, so the ball touches "
        "its edges. Right: the compliance C of the block, of which W is made: how far 1 N on the "
        "middle node pushes the other nodes in, against their distance (dots), and "
        "Boussinesq's solution for an infinite half-space (line).",
        columns=2,
        size=(7.6, 3.4),
    )
    scene, surface, contacts, centre = _pressed_block()
    row = surface[np.abs(surface[:, 1]) < 3e-4]
    row = 1e3 * row[np.argsort(row[:, 0])]
    left.fill_between(row[:, 0], row[:, 2], -9.0, color=BODY_B, lw=0)
    left.plot(row[:, 0], row[:, 2], ".-", color="#c9a36a", ms=5, lw=1.2)
    left.axhline(0.0, color=INK, ls="--", lw=0.7)
    angle = np.linspace(0.0, 2.0 * math.pi, 181)
    x, _, z = 1e3 * centre
    left.fill(x + 10.0 * np.cos(angle), z + 10.0 * np.sin(angle), fc=BODY_A, ec="#8fa6b8", lw=1.0)
    near = contacts[np.abs(contacts["point"][:, 1] - 0.5 * CELL) < 0.25 * CELL]
    edge = np.floor(near["point"][:, 0] / CELL)  # one edge may touch at several points
    sums = {k: near["force"][edge == k].sum(axis=0) for k in np.unique(edge)}
    longest = max(float(np.linalg.norm(f)) for f in sums.values())
    for k, f in sums.items():
        p = 1e3 * near["point"][edge == k].mean(axis=0)
        end = p - 5.0 * f / longest
        _arrow(left, (p[0], p[2]), (end[0], end[2]), RED)
    left.set(xlim=(-13.0, 13.0), ylim=(-9.0, 7.0), xlabel="x [mm]", ylabel="z [mm]")
    left.set_aspect("equal")

    body = condense_body(scene.bodies[0])
    elastic = scene.bodies[0].elastic
    assert elastic is not None
    away = np.linalg.norm(body.positions[:, :2], axis=1)
    middle = int(np.argmin(away))
    reach = np.linspace(1e-3, 1.02 * away.max(), 100)
    exact = (1.0 - elastic.poisson**2) / (math.pi * elastic.young * reach)
    right.plot(1e3 * reach, 1e3 * exact, color=INK, lw=1.0)
    right.plot(
        1e3 * away, 1e3 * body.compliance[3 * middle + 2, 2::3], ".", color=COLOURS["volume"]
    )
    right.set(xlabel="distance [mm]", ylabel="compliance [mm/N]", ylim=(0.0, None))
    return figure


def _pressed_block() -> tuple[tg.Scene, Array, NDArray[np.void], Array]:
    """The scene, upper surface of the block [m], its contacts, and the centre of the ball [m]."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    smooth = tg.Material(0.0, 0.0)
    block = scene.add_soft_body(
        box_grid((40 * CELL, 40 * CELL, 0.024), (40, 40, 6)),
        young=1e5,
        poisson=0.3,
        order=1,
        modes=0,
        fixed=lambda x: x[:, 2] < -0.0119,
        contact=lambda x: (x[:, 2] > 0.0119) & (np.hypot(x[:, 0], x[:, 1]) < 0.0085),
        position=(0.0, 0.0, -0.012),
        material=smooth,
    )
    ball = scene.add_body(
        tg.Sphere(0.01), fixed=True, position=(0, 0, 0.01), velocity=(0, 0, -0.02), material=smooth
    )
    sim = tg.Simulation(scene, method=tg.Signorini(max_contacts=200), dt=1e-3)
    sim.step(100)
    soft = sim[block]
    assert isinstance(soft, SoftBodyState)
    vertices = soft.vertices
    return scene, vertices[vertices[:, 2] > -0.006], sim.contacts, sim[ball].position


# ---------------------------------------------------------------- of a stored benchmark


def friction_growth() -> Figure:
    """Time of a contact problem over its number of contacts, beside Siconos."""
    stored = json.loads((BENCHMARKS / "friction.json").read_text(encoding="utf-8"))
    (table,) = (each for each in stored["tables"] if "pressed down" in each["title"])
    figure, (axes,) = canvas(
        "Median time to solve the contacts of a soft pad that is pressed down and aside, from no "
        "forces to an error of 1e-8, as `tangere bench friction` stored it.",
        size=(5.6, 3.4),
    )
    for solver, colour, marker in (
        ("tangere", COLOURS["signorini"], "o-"),
        ("Siconos", FAINT, "s--"),
    ):
        rows = [row for row in table["rows"] if row["solver"] == solver]
        contacts = [row["contacts"] for row in rows]
        name = "Siconos, NSGS" if solver == "Siconos" else solver
        axes.loglog(
            contacts, [row["p50 [µs]"] for row in rows], marker, ms=4, color=colour, label=name
        )
    axes.set_xlabel("contacts")
    axes.set_ylabel("time [µs]")
    axes.legend()
    return figure


# ---------------------------------------------------------------- a comparison


@functools.cache
def peg_by_four() -> dict[str, Figure]:
    """What `tangere compare peg-in-hole` draws, with the friction of the scene for all methods."""
    formation = "formation:static_friction=0.25:kinetic_friction=0.2"
    return dict(figures_of(compare("peg-in-hole", (formation, "volume", "penalty", "signorini"))))


def curved_solids() -> Figure:
    """Profiles of a pen and a bowl with the faces that they make, and their convex pieces."""
    figure, (left, right) = canvas(
        "Left: the profiles of pen() and bowl(), about the axis (dash-dotted), with the name of "
        "each face; dots are circles, those of the boundary's edges. Right: the pieces by which "
        "the volume and point methods know them. The pen is a ball and a cylinder, both exact "
        "(dark), and between them a hull; the bowl, hollow, is cut into 48 sectors, the profile "
        "of each into convex polygons.",
        columns=2,
        size=(7.6, 3.6),
    )
    hollow = bowl()
    stylus = pen(length=0.02)
    lift = np.array([0.0, 0.004])
    for axes in (left, right):
        axes.axvline(0.0, color=INK, lw=0.7, ls="-.")
        axes.set(xlim=(-6.0, 45.0), ylim=(-7.0, 40.0), xlabel="r [mm]", ylabel="z [mm]")
        axes.set_aspect("equal")
    share = np.linspace(0.0, 1.0, 60)
    for solid, move, fill, edge in (
        (hollow, np.zeros(2), BODY_A, "#8fa6b8"),
        (stylus, lift, BODY_B, "#c9a36a"),
    ):
        way = 1e3 * (np.concatenate([p.at(share) for p in solid.pieces]) + move)
        left.fill(way[:, 0], way[:, 1], facecolor=fill, edgecolor=edge, lw=1.4)
        for piece in solid.pieces:
            there = np.array([0.62])
            (r, z), (dr, dz) = 1e3 * (piece.at(there)[0] + move), piece.rate(there)[0]
            out = np.array([dz, -dr]) / math.hypot(dr, dz)
            beside = {"ha": "left" if out[0] > -0.1 else "right", "va": "center", "fontsize": 8}
            left.annotate(piece.name, (r, z), (r + 1.6 * out[0], z + 1.6 * out[1]), **beside)
            if piece.end[0] > 0.0:
                left.plot(*(1e3 * (np.array(piece.end) + move)), "o", color=INK, ms=3)
    for polygon in convex_polygons(straightened(hollow.pieces, 2.0 * math.pi / hollow.facets)):
        right.fill(*(1e3 * polygon.T), facecolor=BODY_A, edgecolor="#8fa6b8", lw=0.9)
    for part, curve in zip(stylus.parts(), stylus.curves(), strict=True):
        at = part.vertices[:, 2] + lift[1]
        flat = np.column_stack((np.hypot(part.vertices[:, 0], part.vertices[:, 1]), at))
        flat = np.vstack((flat, flat * (0.0, 1.0)))  # to the axis
        if curve is not None and curve.half == 0.0:
            angle = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 60)
            flat = curve.radius * np.column_stack((np.cos(angle), np.sin(angle)))
            flat[:, 1] += curve.centre[2] + lift[1]
        ring = convex_ring(1e3 * flat)
        colour = BODY_B if curve is None else "#d9b274"
        right.fill(ring[:, 0], ring[:, 1], facecolor=colour, edgecolor="#c9a36a", lw=0.9)
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "contact-volume": contact_volume,
    "traction": traction,
    "stability": stability,
    "normalisation": normalisation,
    "free-rotation": free_rotation,
    "friction-growth": friction_growth,
    "soft-contact": soft_contact,
    "curved-solids": curved_solids,
    "compare-wrenches": lambda: peg_by_four()["wrenches"],
    "compare-felt": lambda: peg_by_four()["felt"],
    **formation_figures.FIGURES,
    **motion_figures.FIGURES,
}
