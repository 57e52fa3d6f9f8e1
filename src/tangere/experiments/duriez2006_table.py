"""Table: the same table under the same load stands or spreads its legs, by friction alone.

The middle of the top is pressed down by 1 mm, [DURIEZ2006] Fig. 6. Without friction the feet slide
outwards; with more of it they slide less and the floor pushes back harder; from μ = 0.3 on they
stick. For every coefficient one problem of Signorini and Coulomb is solved at the 16 corners of the
feet. Beside it the table is pressed by a simulation, in many small steps with all nodes of the feet
as contacts: under a load that only grows both must end the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.experiments.pressed_table import (
    CAMERA,
    PressedTable,
    TableParams,
    pressed_table,
    quadratic,
)
from tangere.fem import grids
from tangere.maths.vec import Array
from tangere.simulation import SoftBodyState

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-10
# What an independent program gives for the same table: outward motion [m] by friction.
REFERENCE = {0.0: 0.774e-3, 0.02: 0.669e-3, 0.05: 0.503e-3, 0.1: 0.200e-3, 0.2: 0.003e-3}
REFERENCE_FORCES = "3256 → 3818 N"
# The feet slide noticeably up to the first coefficient, and hold from the second on.
SLIDES, HOLDS = 0.2, 0.3
MAGNIFIED = 60.0  # displacements in the pictures
DARKEST = 1.6e6  # von Mises stress there [Pa]
SHOWN = (0.0, 0.05, 0.1, 0.5)  # frictions of the pictures


@dataclass(frozen=True)
class Params(TableParams):
    """Values of the experiment; SI units."""

    down: float = 1e-3
    frictions: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
    simulated: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.5)
    steps: int = 100
    dt: float = 1e-3
    with_quadratic: bool = True


@dataclass(frozen=True)
class Pressed:
    """The table pressed once: forces (3m,) [N], contact motions (3m,) [m], error of the laws."""

    forces: Array
    motion: Array
    error: float
    outward: float
    """Mean motion of the contacts away from the middle, along x and along y [m]."""

    @property
    def normal(self) -> float:
        """Sum of the normal forces [N]."""
        return float(self.forces[::3].sum())


@dataclass(frozen=True)
class Result:
    """Solutions by friction: at the corners of the feet, at all foot nodes, with ten-node elements.

    `simulated` is the end of a simulation: outward motion [m] and normal force [N].
    """

    params: Params
    table: PressedTable
    corners: dict[float, Pressed]
    feet: dict[float, Pressed]
    quadratic: dict[float, Pressed]
    simulated: dict[float, tuple[float, float]]


def run(params: Params, tell: Tell = silent) -> Result:
    """Press the table once for every coefficient of friction, and simulate some of them."""
    p = params
    tell(0.0, "compliance of the table")
    table, feet = (pressed_table(p, corners=corners) for corners in (True, False))
    tell(0.2, "friction at the corners of the feet")
    pressed = {mu: press(table, p.down, mu) for mu in p.frictions}
    all_feet = {mu: press(feet, p.down, mu) for mu in p.simulated}
    simulated = {}
    for i, mu in enumerate(p.simulated):
        tell(0.3 + 0.4 * i / len(p.simulated), f"simulation, μ = {mu:g}")
        simulated[mu] = simulate(p, mu)
    softer = {}
    if p.with_quadratic:
        tell(0.7, "elements of ten nodes")
        fine = pressed_table(quadratic(p), corners=True)
        softer = {mu: press(fine, p.down, mu) for mu in p.frictions}
    return Result(p, table, pressed, all_feet, softer, simulated)


def press(table: PressedTable, down: float, friction: float) -> Pressed:
    """One problem: the top is moved down in one go [m]."""
    found = tg.solve_friction(table.W, table.free_gaps(down), friction, tolerance=TOLERANCE)
    slip = found.u.reshape(-1, 3)[:, 1:]
    return Pressed(found.r, found.u, found.error, float((slip * table.outward).mean()))


def simulate(p: Params, friction: float) -> tuple[float, float]:
    """The same by small steps of a simulation: outward motion of all foot nodes [m], force [N]."""
    mesh = grids.table(p.voxel)
    feet = grids.feet(mesh)
    material = tg.Material(friction, friction)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_floor(material=material)
    body = scene.add_soft_body(
        mesh,
        young=p.young,
        poisson=p.poisson,
        density=p.density,
        order=p.order,
        modes=0,
        damping=0.0,
        fixed=grids.top_centre(mesh),
        contact=feet,
        velocity=(0.0, 0.0, -p.down / (p.steps * p.dt)),
        material=material,
        name="table",
    )
    sim = tg.Simulation(scene, method="signorini", dt=p.dt)
    state = sim[body]
    assert isinstance(state, SoftBodyState)
    rest = np.array(state.vertices)
    standing = rest[:, 2] < 1e-9
    sim.step(p.steps)
    way = (state.vertices - rest)[standing, :2]
    force, _ = state.contact_wrench
    return float((way * np.sign(rest[standing, :2])).mean()), float(force[2])


def check(result: Result) -> list[Claim]:
    """Feet that slide less and less, a floor that pushes harder; solved, and as simulated."""
    p, pressed = result.params, result.corners
    slides = [pressed[mu].outward for mu in p.frictions if mu <= SLIDES]
    drops = -np.diff(slides)
    free = pressed[p.frictions[0]].outward
    held = max(abs(pressed[mu].outward) for mu in p.frictions if mu >= HOLDS) / free
    rises = np.diff([pressed[mu].normal for mu in p.frictions])
    apart = max(abs(pressed[mu].outward - REFERENCE[mu]) for mu in pressed if mu in REFERENCE)
    worst = max(each.error for each in pressed.values())
    reference = ", ".join(f"{1e3 * way:.3f}" for way in REFERENCE.values())
    steps = max(_apart(result, mu) for mu in p.simulated)
    return [
        Claim("falls", f"the feet move outwards less with every step of friction up to μ = "
              f"{SLIDES:g}: least drop above 0", f"{reference} mm", 1e3 * float(drops.min()), "mm",
              bool((drops > 0.0).all())),
        Claim("free", "without friction they move outwards by 0.5 mm or more", "0.774 mm",
              1e3 * free, "mm", free >= 0.5e-3),
        Claim("held", f"from μ = {HOLDS:g} on they move less than 1 % of that",
              "below 0.001 mm, 0.13 %", 100 * held, "%", held < 0.01),
        Claim("force", "the sum of the normal forces rises with every step of friction: least rise "
              "above 0", REFERENCE_FORCES, float(rises.min()), "N", bool((rises > 0.0).all())),
        Claim("same", "outward motion within 0.001 mm of an independent program, μ = 0 to 0.2",
              f"{reference} mm", 1e3 * apart, "mm", apart <= 1e-6),
        Claim("solved", f"the laws are met to {TOLERANCE:g} of the force scale", "0", worst, "",
              worst <= TOLERANCE),
        Claim("steps", f"a simulation that presses in {p.steps} steps ends within 0.1 % of one "
              "solve: outward motion without friction, and force", "the same", 100 * steps, "%",
              steps <= 1e-3),
    ]  # fmt: skip


def _apart(result: Result, friction: float) -> float:
    """How far simulation and one solve are apart, in shares of the free motion and the force."""
    way, force = result.simulated[friction]
    solved, free = result.feet[friction], result.feet[result.params.simulated[0]]
    return max(abs(way - solved.outward) / free.outward, abs(force - solved.normal) / solved.normal)


def beside(result: Result) -> list[Reading]:
    """All coefficients: motion and force by one solve, by simulation, with softer elements."""
    rows = []
    for mu in result.params.frictions:
        for who, found in (
            ("16 corners", result.corners),
            ("36 foot nodes", result.feet),
            ("16 corners, elements of ten nodes", result.quadratic),
        ):
            if mu in found:
                rows += [
                    Reading(f"outward motion, μ = {mu:g}", who, 1e3 * found[mu].outward, "mm"),
                    Reading(f"normal force, μ = {mu:g}", who, found[mu].normal, "N"),
                ]
        if mu in result.simulated:
            way, force = result.simulated[mu]
            note = f"{result.params.steps} steps of method signorini"
            rows += [
                Reading(f"outward motion, μ = {mu:g}", "simulated", 1e3 * way, "mm", note),
                Reading(f"normal force, μ = {mu:g}", "simulated", force, "N", note),
            ]
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """What Fig. 6 shows, in numbers: outward motion and normal force over friction."""
    p = result.params
    figure, (left, right) = canvas(
        "The table of Duriez et al. 2006, Fig. 6, its top pressed down by "
        f"{1e3 * p.down:g} mm. Left: mean outward motion of the feet by friction. Right: sum of "
        "the normal forces. Elements of four nodes, as all claims have them, are too stiff in "
        "bending; those of ten nodes are dashed.",
        columns=2,
        size=(8.6, 3.4),
    )
    mu = np.array(p.frictions)
    colour = COLOURS["signorini"]
    for axes, value, scale in ((left, "outward", 1e3), (right, "normal", 1e-3)):
        for found, style, label in (
            (result.corners, "o-", "one solve, 16 corners"),
            (result.quadratic, "o--", "same, elements of ten nodes"),
        ):
            if found:
                shown = [scale * getattr(found[m], value) for m in p.frictions]
                axes.plot(mu, shown, style, color=colour if style == "o-" else FAINT, ms=3.5,
                          label=label)  # fmt: skip
        index = 0 if value == "outward" else 1
        axes.plot(list(result.simulated), [scale * result.simulated[m][index]
                  for m in result.simulated], "s", mfc="none", color=COLOURS["volume"], ms=7,
                  label="simulated, 36 foot nodes")  # fmt: skip
        axes.set_xlabel("friction coefficient μ")
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    left.plot(
        list(REFERENCE), [1e3 * way for way in REFERENCE.values()], "+", color=INK, ms=9,
        label="an independent program",
    )  # fmt: skip
    left.set_ylabel("outward motion of the feet [mm]")
    right.set_ylabel("normal force [kN]")
    left.legend(loc="upper right")
    return [figure]


def strip(result: Result) -> Figure:
    """The table under the same load with little and much friction."""
    p = result.params
    shown = [mu for mu in SHOWN if mu in result.corners]
    way = np.array([0.0, 0.0, -p.down])
    frames = []
    for mu in shown:
        pressed = result.corners[mu]
        surface = result.table.surface(pressed.forces, way, MAGNIFIED, DARKEST)
        way_out = f"{1e3 * pressed.outward:.2f} mm outwards" if mu < HOLDS else "the feet hold"
        caption = f"μ = {mu:g}: {way_out}"
        frames.append((surface, pictures.Frame((), caption)))
    return surface_pictures.strip(
        frames, CAMERA, f"The same table under the same load; displacements {MAGNIFIED:g} times "
        f"as large, colour by von Mises stress, 0 to {1e-6 * DARKEST:g} MPa."
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="table",
    paper="Duriez et al. 2006, section 5.2, Fig. 6",
    summary="friction alone decides whether a pressed table spreads its legs or stands",
    params=Params(),
    quick=Params(simulated=(0.0, 0.1), with_quadratic=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
