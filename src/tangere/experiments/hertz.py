"""Hertz: a rigid ball pressed into a soft block, against the closed form of contact.

A ball of radius R that is pressed by d into an elastic half space without friction touches it
within the radius a, with force, pressure and energy

    a = √(R d)    F = 4/3 E* √R d^3/2    p = p0 √(1 − r²/a²), p0 = 3 F/(2 π a²)    U = 2/5 F d

where E* = E/(1 − ν²) ([HERTZ1882]). Elasticity of the block is linear and its contact exact, so the
same must come out of the signorini step, for materials as soft as jelly and as hard as leather.
Hertz holds where the block is much larger than a and a is much smaller than R; the finite elements
can tell where a spans some nodes.

What is left between the two is known. The block is finite: its fixed bottom at depth H stiffens it,
by 2 α/π a/H with α = (1.2876 − 1.4678 ν + 1.3442 ν²)/(1 − ν) were it without sides
([DIMITRIADIS2002]), and its free sides soften it by as much and more. Its surface is of flat
triangles between the nodes: those that lie within a round dent stand out of it by up to s²/(4 R) at
a distance s of nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.fem.grids import graded_box
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Least number of distances between nodes within a for which the elements can tell.
FEWEST_NODES = 3.0


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units."""

    moduli: tuple[float, ...] = (1e4, 1e5, 1e6, 1e7)
    poisson: float = 0.45
    ball: float = 0.05
    radius: float = 7e-3  # a at the end of the way
    size: tuple[float, float, float] = (0.21, 0.21, 0.305)
    fine: float = 2.5e-3
    core: tuple[int, int, int] = (3, 3, 2)
    growing: tuple[int, int, int] = (3, 3, 4)
    steps: int = 40
    dt: float = 1e-3
    max_contacts: int = 200
    friction: float = 0.5
    few_contacts: int = 48

    @property
    def depth(self) -> float:
        """Of the ball at the end of its way [m]."""
        return self.radius**2 / self.ball

    @property
    def spacing(self) -> float:
        """Between the nodes of ten-node elements [m]."""
        return 0.5 * self.fine

    def force(self, young: float, depth: Array) -> Array:
        """Hertz's force [N]."""
        stiff = 4.0 / 3.0 * young / (1.0 - self.poisson**2) * math.sqrt(self.ball)
        return np.asarray(stiff * depth**1.5)


@dataclass(frozen=True)
class Press:
    """One ball pressed into one block, a row a step.

    Depth (n,) [m]; force on the ball and on the block (n, 3) [N]; strain energy (n,) [J]; residual
    of the contact problem (n,), as a share of its forces. Of the last step, points (c, 3) [m] and
    vertical forces (c,) [N] of the contacts, relative to the first point touched. Of some steps,
    the line of the surface below the ball (k, m, 2) [m].
    """

    depth: Array
    on_ball: Array
    on_block: Array
    energy: Array
    residual: Array
    points: Array
    forces: Array
    lines: Array

    @property
    def spread(self) -> float:
        """Root mean square distance of the force from the axis in the last step [m]."""
        squared = (self.points[:, :2] ** 2).sum(axis=1)
        return float(np.sqrt(self.forces @ squared / self.forces.sum()))

    def within(self, radius: float) -> float:
        """Share of the force within a radius [m] in the last step."""
        inside = np.hypot(*self.points[:, :2].T) < radius
        return float(self.forces[inside].sum() / self.forces.sum())


@dataclass(frozen=True)
class Result:
    """A press by modulus [Pa], one with friction, and one with few contacts, of a middle one."""

    params: Params
    presses: dict[float, Press]
    rough: Press
    few: Press


def run(params: Params, tell: Tell = silent) -> Result:
    """Press the ball into blocks of all moduli."""
    p = params
    presses = {}
    for i, young in enumerate(p.moduli):
        tell(0.9 * i / len(p.moduli), f"E = {_pascals(young)}")
        presses[young] = press(p, young)
    middle = p.moduli[len(p.moduli) // 2]
    tell(0.9, "with friction, and with fewer contacts")
    return Result(
        p,
        presses,
        press(p, middle, friction=p.friction),
        press(p, middle, max_contacts=p.few_contacts),
    )


def press(
    p: Params, young: float, *, friction: float = 0.0, max_contacts: int | None = None
) -> Press:
    """Press the ball down to its depth, step by step."""
    sim = pressed_block(
        p, young, friction, p.max_contacts if max_contacts is None else max_contacts
    )
    ball, block = sim["ball"], sim["block"]
    rest = np.array(block.vertices)  # type: ignore[attr-defined]
    top = 0.5 * p.size[2]
    line = np.flatnonzero((np.abs(rest[:, 1]) < 1e-9) & (rest[:, 2] > top - 1e-9))
    line = line[np.argsort(rest[line, 0])]
    shown = {round(k) for k in np.linspace(0, p.steps, 4)}
    rows, lines = np.empty((p.steps, 9)), [rest[line][:, [0, 2]]]
    for i in range(p.steps):
        sim.step()
        depth = (i + 1) / p.steps * p.depth
        rows[i] = (
            depth,
            *ball.contact_wrench[0],
            *block.contact_wrench[0],
            sim.energy.elastic,
            sim.audit.residual,
        )
        if i + 1 in shown:
            lines.append(np.asarray(block.vertices)[line][:, [0, 2]])  # type: ignore[attr-defined]
    contacts = sim.contacts
    return Press(
        depth=rows[:, 0],
        on_ball=rows[:, 1:4],
        on_block=rows[:, 4:7],
        energy=rows[:, 7],
        residual=rows[:, 8],
        points=contacts["point"] - (0.0, 0.0, top),
        forces=np.abs(contacts["force"][:, 2]),
        lines=np.array(lines) - (0.0, top),
    )


def pressed_block(p: Params, young: float, friction: float, max_contacts: int) -> tg.Simulation:
    """A block on a fixed bottom and a ball that touches it and moves down."""
    top = 0.5 * p.size[2]
    surface = tg.Material(friction, friction)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))

    def below_the_ball(x: Array) -> Array:
        near = np.hypot(x[:, 0], x[:, 1]) < 1.15 * p.radius
        return np.asarray(near & (x[:, 2] > top - 1e-9))

    # quasi-static: neither inertia nor damping
    scene.add_soft_body(
        graded_box(p.size, p.fine, p.core, p.growing),
        young=young,
        poisson=p.poisson,
        damping=0.0,
        modes=0,
        fixed=lambda x: x[:, 2] < -top + 1e-9,
        contact=below_the_ball,
        material=surface,
        name="block",
    )
    scene.add_body(
        tg.Sphere(p.ball),
        position=(0.0, 0.0, top + p.ball),
        velocity=(0.0, 0.0, -p.depth / (p.steps * p.dt)),
        fixed=True,
        material=surface,
        name="ball",
    )
    return tg.Simulation(scene, method=tg.Signorini(max_contacts=max_contacts), dt=p.dt)


def ratios(p: Params, young: float, pressed: Press) -> Array:
    """Force over Hertz's, of all depths at which the elements can tell."""
    can_tell = np.sqrt(p.ball * pressed.depth) >= FEWEST_NODES * p.spacing
    share = pressed.on_ball[:, 2] / p.force(young, pressed.depth)
    return np.asarray(share[can_tell])


def check(result: Result) -> list[Claim]:
    """Force, pressure and energy against Hertz; action and reaction; moduli beside each other."""
    p = result.params
    claims = []
    for young, pressed in result.presses.items():
        share = ratios(p, young, pressed)
        worst = float(share[np.argmax(np.abs(share - 1.0))])
        claims.append(
            Claim(f"force-{_pascals(young).replace(' ', '')}",
                  f"E = {_pascals(young)}: force within 5 % of Hertz at all depths "
                  f"with a ≥ {FEWEST_NODES:g} distances between nodes, up to a = "
                  f"{p.radius / p.ball:.2f} R", "100 %", 100 * worst, "%",
                  abs(worst - 1.0) <= 0.05)
        )  # fmt: skip
    pair = max(
        float(np.abs(press.on_ball + press.on_block).max() / np.abs(press.on_ball).max())
        for press in (*result.presses.values(), result.rough)
    )
    scaled = [press.on_ball[-1, 2] / young for young, press in result.presses.items()]
    apart = max(scaled) / min(scaled) - 1.0
    worst = max(float(press.residual.max()) for press in result.presses.values())
    last = result.presses[p.moduli[-1]]
    spread = last.spread / (math.sqrt(0.4) * p.radius)
    half = last.within(0.5 * p.radius)
    energy = float(last.energy[-1] / (0.4 * last.on_ball[-1, 2] * last.depth[-1]))
    claims += [
        Claim("reaction", "forces on the ball and on the block, friction too, are equal and "
              "opposite to 1e-12", "0", pair, "", pair <= 1e-12),
        Claim("solved", "without friction the contact problem of every step is solved to 1e-8",
              "0", worst, "", worst <= 1e-8),
        # not to rounding: which edges touch is a matter of thresholds
        Claim("linear", "force over modulus is the same for all moduli to 0.1 %", "0 %",
              100 * apart, "%", apart <= 1e-3),
        Claim("spread", "root mean square distance of the force from the axis within 5 % of "
              "√0.4 a", "100 %", 100 * spread, "%", abs(spread - 1.0) <= 0.05),
        Claim("middle", "share of the force within a/2: within 5 % of the whole",
              f"{100 * (1.0 - 0.75**1.5):.1f} %", 100 * half, "%",
              abs(half - (1.0 - 0.75**1.5)) <= 0.05),
        Claim("energy", "strain energy within 5 % of 2/5 F d", "100 %", 100 * energy, "%",
              abs(energy - 1.0) <= 0.05),
    ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Friction, the cap on contacts, and the bottom of the block."""
    p = result.params
    middle = p.moduli[len(p.moduli) // 2]
    smooth = result.presses[middle].on_ball[-1, 2]
    nu = p.poisson
    alpha = (1.2876 - 1.4678 * nu + 1.3442 * nu * nu) / (1.0 - nu)
    bottom = 2.0 * alpha / math.pi * p.radius / p.size[2]
    what = "force at the end, share of that without friction and with all contacts"
    return [
        Reading(what, f"friction {p.friction:g}", 100 * result.rough.on_ball[-1, 2] / smooth, "%"),
        Reading(what, f"at most {p.few_contacts} contacts",
                100 * result.few.on_ball[-1, 2] / smooth, "%", "the default of the method"),
        Reading("a fixed bottom adds to the force at the end", "a layer without sides",
                100 * bottom, "%", "closed form; the free sides take as much and more"),
    ]  # fmt: skip


@house_style
def plot(result: Result) -> list[Figure]:
    """Force against depth for all moduli, their ratio to Hertz, and the pressure."""
    p = result.params
    figure, (left, middle, right) = canvas(
        "A rigid ball pressed into soft blocks; dashed lines are Hertz's. Left: force against "
        "depth. Middle: force over Hertz's, grey where the contact spans too few nodes. Right: "
        "pressure at the end, the forces of points spread over the distance of nodes.",
        columns=3,
        size=(8.6, 3.2),
    )
    line = np.linspace(0.0, p.depth, 200)[1:]
    few = 1e3 * (FEWEST_NODES * p.spacing) ** 2 / p.ball
    for i, (young, pressed) in enumerate(result.presses.items()):
        force = p.force(young, pressed.depth)
        shade = 0.35 + 0.65 * (i + 1) / len(result.presses)
        colour = (COLOURS["signorini"], shade)
        left.plot(1e3 * line, p.force(young, line), "--", color=INK, lw=0.9)
        left.plot(1e3 * pressed.depth, pressed.on_ball[:, 2], ".", ms=3.5, color=colour)
        left.annotate(_pascals(young), (1e3 * p.depth, force[-1]), (2, 0), fontsize=7,
                      textcoords="offset points", va="center")  # fmt: skip
        middle.plot(1e3 * pressed.depth, pressed.on_ball[:, 2] / force, lw=1.2, color=colour)
    left.set_yscale("log")
    left.set_xlim(0.0, 1.25e3 * p.depth)
    left.set_xlabel("depth [mm]")
    left.set_ylabel("force [N]")
    middle.axvspan(0.0, few, color=FAINT, alpha=0.3, lw=0.0)
    middle.axhline(1.0, ls="--", color=INK, lw=0.9)
    middle.set_ylim(0.85, 1.25)
    middle.set_xlim(0.0, 1e3 * p.depth)
    middle.set_xlabel("depth [mm]")
    middle.set_ylabel("force over Hertz's")
    last = result.presses[p.moduli[-1]]
    peak = 1.5 * float(p.force(p.moduli[-1], np.array(p.depth))) / (math.pi * p.radius**2)
    r = np.linspace(0.0, 1.3, 200)
    found = pressure(p, last, p.radius * r)
    right.plot(r, found / peak, color=COLOURS["signorini"], lw=1.4)
    right.plot(r, np.sqrt(np.maximum(0.0, 1.0 - r * r)), "--", color=INK, lw=0.9)
    right.set_xlabel("distance from the axis [a]")
    right.set_ylabel("pressure [p0]")
    right.set_xlim(0.0, 1.3)
    return [figure]


def pressure(p: Params, pressed: Press, radii: Array) -> Array:
    """Mean pressure around circles [Pa], each force spread by a bell as wide as nodes are apart."""
    angle = np.linspace(0.0, 2.0 * math.pi, 64, endpoint=False)
    circles = radii[:, None, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    away = ((circles[:, :, None] - pressed.points[:, :2]) ** 2).sum(axis=3)
    bell = np.exp(-away / p.spacing**2) / (math.pi * p.spacing**2)
    return np.asarray((bell @ pressed.forces).mean(axis=1))


def strip(result: Result) -> Figure:
    """Cut through the middle of the block at four depths, heights four times as large."""
    from matplotlib.figure import Figure

    p = result.params
    pressed = result.presses[p.moduli[0]]
    figure = Figure(figsize=(8.6, 1.9))
    figure.set_label("The surface below the ball as it is pressed in; heights four times as large.")
    angle = np.linspace(-0.5 * math.pi - 0.5, -0.5 * math.pi + 0.5, 100)
    half = 2.2 * p.radius
    for i, line in enumerate(pressed.lines):
        depth = p.depth * i / (len(pressed.lines) - 1)
        axes = figure.add_axes(((i + 0.02) / 4, 0.16, 0.96 / 4, 0.82))
        axes.set_xlim(-half, half)
        axes.set_ylim(-3.0 * p.depth, 3.0 * p.depth)
        axes.set_aspect(4.0, adjustable="box")
        axes.axis("off")
        axes.fill_between(line[:, 0], line[:, 1], -1.0, color="#e6c6da", lw=0.0)
        axes.plot(line[:, 0], line[:, 1], ".-", color=COLOURS["signorini"], lw=1.2, ms=3)
        axes.fill(
            p.ball * np.cos(angle), p.ball * (1.0 + np.sin(angle)) - depth,
            facecolor="#c9d3dc", edgecolor=INK, lw=0.8,
        )  # fmt: skip
        figure.text((i + 0.5) / 4, 0.07, f"{1e3 * depth:.2f} mm", ha="center", fontsize=8.5)
    return figure


def _pascals(young: float) -> str:
    """A modulus in words, such as "10 kPa"."""
    for unit, size in (("MPa", 1e6), ("kPa", 1e3)):
        if young >= size:
            return f"{young / size:g} {unit}"
    return f"{young:g} Pa"


EXPERIMENT = Experiment(
    name="hertz",
    paper="exact theory of elastic contact",
    summary="a ball pressed into soft blocks feels Hertz's force, from 10 kPa to 10 MPa",
    params=Params(),
    quick=Params(
        moduli=(1e4, 1e7),
        radius=4.9e-3,
        size=(0.15, 0.15, 0.2),
        core=(2, 2, 2),
        steps=10,
    ),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
