"""Free spoon: how light a tool may be, and how far it lags behind the hand.

A spoon of 20 cm is waved about without touching anything, [OTADUY2005] Sec. 7.2 and Fig. 2. It
hangs on the hand by the virtual coupling and is moved by three rules: backward Euler, Runge–Kutta
of fourth order, and forward Euler. A light spoon follows closely; how light it may be is a matter
of the rule. The binding mode is the roll about the long axis, whose inertia I = m ρ² is tiny:

    forward Euler is stable if I > b_θ Δt/2 − k_θ Δt²/4,    Runge–Kutta about if I > b_θ Δt/2.785

so that 100 g and 70 g, the paper's limits, are properties of its rotational damping, which it does
not report: 0.009 N m s puts forward Euler at 100 g, Runge-Kutta follows. Backward Euler is stable
at any mass.

The paper's recorded hand is not available. A sum of sines takes its place, its amplitude and the
grip chosen once so that the spoon of 100 g lags by the paper's 17 mm; the coupling's force at 100 g
is its stiffness times that lag. All else follows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NHAND,
    NOUT,
    NTOOL,
    OUT_ANGLE,
    OUT_DEVIATION,
    OUT_FORCE,
    SET_GRIP,
    SET_INERTIA,
    SET_INTEGRATOR,
    SET_MASS,
    SET_STEP,
    STEP_EULER,
    STEP_IMPLICIT,
    STEP_IMPLICIT13,
    STEP_RK4,
    new_rig,
)
from tangere.haptics.tool import step_along
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = {
    "backward Euler": STEP_IMPLICIT,
    "backward Euler, 13 x 13": STEP_IMPLICIT13,
    "Runge-Kutta": STEP_RK4,
    "forward Euler": STEP_EULER,
}
BE, BE13, RK4, FE = RULES
# Where the explicit rules lose the overdamped roll: Δt b/I beyond this.
EDGE = {RK4: 2.785, FE: 2.0}
LOST, ASKEW = 0.15, 1.5  # a tool so far from the hand is lost [m], [rad]
CHATTER = 0.05  # … and so is one whose angle still zigzags by this from tick to tick [rad]
CALM_SECONDS = 0.5  # looked at for chatter, at the end [s]
# What was chosen so that a value comes out.
DAMPING = "the rotational damping was chosen to give 100 g"
HAND = "the hand's amplitude and the grip were chosen to give 17 mm"
EASE = 0.3  # the hand starts smoothly over this time [s]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units. `radii` are the spoon's radii of gyration."""

    seconds: float = 2.5
    dt: float = 1e-3
    stiffness: float = 200.0
    damping: float = 1.0
    rotational_stiffness: float = 0.6
    rotational_damping: float = 0.009
    radii: tuple[float, float, float] = (6.59e-3, 60.8e-3, 61.1e-3)
    grip: float = -0.03
    dampings: tuple[float, ...] = (0.001, 0.002, 0.005, 0.009, 0.02)
    damping_ratio: float = 0.7
    masses: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)
    shown: tuple[tuple[str, float], ...] = (
        (BE, 0.001),
        (BE, 0.01),
        (BE, 0.1),
        (RK4, 0.1),
        (FE, 0.12),
    )
    lightest: float = 1e-5
    heaviest: float = 1.0
    precision: float = 1.02


@dataclass(frozen=True)
class Run:
    """One motion: ways of the tool (n, 13), lag [m], force [N] and angle [rad] of the coupling."""

    states: Array
    deviation: Array
    force: Array
    angle: Array
    stable: bool

    @property
    def worst(self) -> tuple[float, float, float]:
        """Largest lag [m], force [N] and angle [rad]; infinite if the run was not stable."""
        if not self.stable:
            return math.inf, math.inf, math.inf
        return float(self.deviation.max()), float(self.force.max()), float(self.angle.max())


@dataclass(frozen=True)
class Result:
    """Motions by rule and mass, and the least stable mass by rule and rotational damping [kg].

    Damping 0 there stands for a damping ratio that is the same at every mass.
    """

    params: Params
    runs: dict[tuple[str, float], Run]
    least: dict[tuple[str, float], float]


def run(params: Params, tell: Tell = silent) -> Result:
    """Wave every spoon that is shown or compared; search the least stable masses."""
    p = params
    hands = hand(p)
    tell(0.0, "motions")
    wanted = dict.fromkeys((*itertools.product((BE, BE13), p.masses), *p.shown))
    runs = {(rule, m): wave(p, hands, rule, m, p.rotational_damping) for rule, m in wanted}
    least: dict[tuple[str, float], float] = {}
    searches = list(itertools.product((*p.dampings, 0.0), (BE, RK4, FE)))
    for i, (damping, rule) in enumerate(searches):
        tell(0.1 + 0.9 * i / len(searches), f"least mass, {rule}")
        least[rule, damping] = least_mass(p, hands, rule, damping)
    return Result(p, runs, least)


def check(result: Result) -> list[Claim]:
    """Least masses, lag and force against mass, and the two forms of backward Euler."""
    p = result.params
    at = p.rotational_damping
    claims: list[Claim] = []
    light = max((m for m in p.masses if not result.runs[BE, m].stable), default=0.0)
    claims.append(
        Claim("implicit-stable", "backward Euler is stable at 1 g and at every mass tried, from "
              f"{1e3 * min(p.masses):g} g: heaviest unstable one", "stable at 1 g",
              1e3 * light, "g", light == 0.0)
    )  # fmt: skip
    for rule, target, tuned in ((RK4, 70.0, ""), (FE, 100.0, DAMPING)):
        grams = 1e3 * result.least[rule, at]
        claims.append(
            Claim(f"least-{_short(rule)}", f"{rule}: least stable mass within 5 % of {target:g} g",
                  f"{target:g} g", grams, "g", abs(grams / target - 1.0) <= 0.05, tuned)
        )  # fmt: skip
    three = [result.least[rule, at] for rule in (BE, RK4, FE)]
    claims.append(
        Claim("order", "least stable masses: backward Euler < Runge-Kutta < forward Euler; "
              "smallest ratio of neighbours", "1 g < 70 g < 100 g",
              min(three[1] / three[0], three[2] / three[1]), "", three[0] < three[1] < three[2])
    )  # fmt: skip
    shares = [
        result.least[rule, b] / bound(p, rule, b)
        for rule in (RK4, FE) for b in p.dampings if b >= 0.005
    ]  # fmt: skip
    share = min(shares, default=math.nan)
    claims.append(
        Claim("bound", "no explicit rule is stable below 0.9 of the bound of its roll "
              "(rotational damping from 0.005): smallest share", "1", share, "", share >= 0.9)
    )  # fmt: skip
    lag10, force10, _ = result.runs[BE, 1e-2].worst
    lag100, force100, _ = result.runs[BE, 0.1].worst
    claims += [
        Claim("lag-10g", "10 g lag by less than 2 mm", "< 2 mm", 1e3 * lag10, "mm", lag10 < 2e-3),
        Claim("force-10g", "10 g need less than 0.5 N", "< 0.5 N", force10, "N", force10 < 0.5),
        Claim("lag-100g", "100 g lag by 17 mm within 0.5 mm", "17 mm", 1e3 * lag100, "mm",
              abs(lag100 - 17e-3) <= 0.5e-3, HAND),
        Claim("force-100g", "100 g need 3.5 N within 0.1 N", "3.5 N", force100, "N",
              abs(force100 - 3.5) <= 0.1, f"stiffness times lag, and {HAND}"),
    ]  # fmt: skip
    slope = lag_slope(result)
    claims.append(
        Claim("slope", "lag grows with the power 0.9 to 1.3 of mass, 1 to 100 g",
              "roughly linear", slope, "", 0.9 <= slope <= 1.3)
    )  # fmt: skip
    apart = max(
        abs(a / b - 1.0)
        for m in p.masses if m >= 1e-3
        for a, b in zip(result.runs[BE, m].worst, result.runs[BE13, m].worst, strict=True)
    )  # fmt: skip
    claims.append(
        Claim("two-forms", "lag, force and angle of the 6 x 6 and the 13 x 13 form agree to 0.1 %",
              "the same equation", 100 * apart, "%", apart <= 1e-3)
    )  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Least masses over the damping that the paper does not report, and the lag by rule."""
    p = result.params
    rows = []
    for b in p.dampings:
        what = f"least stable mass, rotational damping {b:g} N m s"
        rows += [Reading(what, rule, 1e3 * result.least[rule, b], "g") for rule in (BE, RK4, FE)]
        rows += [Reading(what, f"{r}, theory", 1e3 * bound(p, r, b), "g") for r in EDGE]
    what = f"least stable mass, damping ratio {p.damping_ratio:g} at every mass"
    rows += [Reading(what, rule, 1e3 * result.least[rule, 0.0], "g") for rule in (BE, RK4, FE)]
    for (rule, m), each in result.runs.items():
        if rule != BE13 and m >= 1e-3:
            lag, force, angle = each.worst
            rows += [
                Reading(f"largest lag, {1e3 * m:g} g", rule, 1e3 * lag, "mm"),
                Reading(f"largest force, {1e3 * m:g} g", rule, force, "N"),
                Reading(f"largest angle, {1e3 * m:g} g", rule, angle, "rad"),
            ]
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """The paper's Fig. 2, and the least masses over the damping."""
    p = result.params
    figure, (left, middle, right) = canvas(
        "Left: distance from the hand to the grip of the spoon while it is waved about. Middle: "
        "the same, logarithmic. Right: force of the coupling. After Fig. 2 of the paper.",
        columns=3,
        size=(10.2, 3.5),
    )
    looks = {BE: ("-", "volume"), RK4: ("--", "point"), FE: (":", "Bullet")}
    heaviest = max(m for _, m in p.shown)
    for rule, m in p.shown:
        each = result.runs[rule, m]
        time = p.dt * np.arange(1, len(each.deviation) + 1)
        dash, colour = looks[rule]
        style: dict[str, Any] = {
            "ls": dash,
            "color": COLOURS[colour],
            "alpha": 1.0 + 0.25 * math.log10(m / heaviest),  # the lighter the paler
            "label": f"{rule}, {1e3 * m:g} g",
        }
        left.plot(time, 1e3 * each.deviation, **style)
        middle.semilogy(time, 1e3 * np.maximum(each.deviation, 1e-7), **style)
        right.plot(time, each.force, **style)
    for axes, label in ((left, "lag [mm]"), (middle, "lag [mm]"), (right, "force [N]")):
        axes.set_xlabel("time [s]")
        axes.set_ylabel(label)
    names, labels = left.get_legend_handles_labels()
    figure.legend(names, labels, loc="outside upper center", ncols=len(labels))
    middle.set_ylim(bottom=1e-3)
    second, (axes,) = canvas(
        "Least stable mass of the spoon over the rotational damping of the coupling; lines are the "
        "theory of its roll. Backward Euler is stable at the lightest spoon tried.",
        size=(6.4, 3.4),
    )
    dampings = np.array(p.dampings)
    for rule in (BE, RK4, FE):
        _, colour = looks[rule]
        masses = [1e3 * result.least[rule, b] for b in p.dampings]
        axes.loglog(dampings, masses, "o", color=COLOURS[colour], label=rule)
        if rule in EDGE:
            axes.loglog(
                dampings,
                [1e3 * bound(p, rule, b) for b in p.dampings],
                color=COLOURS[colour],
                lw=1.0,
            )
    axes.axvline(p.rotational_damping, color=FAINT, lw=1.0, ls="--")
    axes.axhline(70.0, color=INK, lw=0.6)
    axes.axhline(100.0, color=INK, lw=0.6)
    axes.annotate("the paper's 70 g and 100 g", (dampings[0], 105.0), fontsize=8)
    axes.set_xlabel("rotational damping [N m s/rad]")
    axes.set_ylabel("mass [g]")
    axes.legend()
    return [figure, second]


def strip(result: Result) -> Figure:
    """The spoons of 100 g and 10 g at five instants, the hand as a ball where it holds them."""
    import tangere as tg

    p = result.params
    hands = hand(p)
    spoon = _spoon()
    ball = tg.Sphere(0.006)
    frames = []
    for i in np.linspace(0.15, 0.95, 5) * len(hands):
        solids: tuple[pictures.Solid, ...] = ()
        for k, m in enumerate((0.1, 0.01)):
            aside = np.array([0.0, 0.12 * (2 * k - 1), 0.15])
            state = result.runs[BE, m].states[min(int(i), len(result.runs[BE, m].states) - 1)]
            colour = pictures.PALETTE[k]
            solids += pictures.solids(spoon, state[:3] + aside, state[3:7], colour)
            at = hands[int(i), HAND_POSITION : HAND_POSITION + 3] + aside
            solids += pictures.solids(ball, at, np.array([1.0, 0, 0, 0]), pictures.PALETTE[3])
        frames.append(pictures.Frame(solids, f"{p.dt * (int(i) + 1):.2f} s"))
    camera = pictures.Camera(
        azimuth=-60.0, elevation=28.0, centre=(0.02, 0.0, 0.12), width=0.5, height=0.4
    )
    return pictures.strip(
        frames, camera, "Spoons of 100 g (in front) and 10 g follow the same hand, drawn as a ball."
    )


# ------------------------------------------------ the hand, and one motion
def hand(p: Params) -> Array:
    """Samples HAND_… of the hand at every tick (n, 13), eased in from rest at the origin."""
    t = p.dt * np.arange(1, round(p.seconds / p.dt) + 1)
    share = np.minimum(t / EASE, 1.0)
    ease = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    rise = 30.0 * share**2 * (1.0 - share) ** 2 / EASE

    def wave_of(size: Array, hertz: Array, phase: Array) -> tuple[Array, Array]:
        angle = 2.0 * np.pi * hertz * t[:, None] + phase
        value = size * np.sin(angle)
        slope = size * 2.0 * np.pi * hertz * np.cos(angle)
        return ease[:, None] * value, rise[:, None] * value + ease[:, None] * slope

    x, v = wave_of(
        np.array([0.036, 0.024, 0.018]), np.array([2.9, 2.3, 3.7]), np.array([0.0, 0.7, 1.9])
    )
    phi, rate = wave_of(
        np.array([0.55, 0.40, 0.50]), np.array([1.7, 2.1, 1.3]), np.array([0.3, 1.1, 2.0])
    )
    angle = np.linalg.norm(phi, axis=1)[:, None]
    rows = np.zeros((len(t), NHAND))
    rows[:, HAND_POSITION : HAND_POSITION + 3] = x
    rows[:, HAND_VELOCITY : HAND_VELOCITY + 3] = v
    rows[:, HAND_QUATERNION] = np.cos(0.5 * angle[:, 0])
    rows[:, HAND_QUATERNION + 1 : HAND_QUATERNION + 4] = 0.5 * np.sinc(0.5 * angle / np.pi) * phi
    # ω = J_l(φ) φ̇,  J_l = I + (1 − cos θ)/θ² φ* + (θ − sin θ)/θ³ φ* φ*
    tip = np.cross(phi, rate)
    across = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    along = np.where(
        angle > 1e-3, (1.0 - np.sinc(angle / np.pi)) / np.maximum(angle, 1e-9) ** 2, 1 / 6
    )
    rows[:, HAND_OMEGA : HAND_OMEGA + 3] = rate + across * tip + along * np.cross(phi, tip)
    return rows


def wave(p: Params, hands: Array, rule: str, mass: float, rotational_damping: float) -> Run:
    """The spoon waved along the hand; rotational damping 0: the damping ratio instead."""
    roll = p.radii[0]
    damping = p.damping
    if rotational_damping == 0.0:
        damping = 2.0 * p.damping_ratio * math.sqrt(p.stiffness * mass)
        rotational_damping = 2.0 * p.damping_ratio * roll * math.sqrt(p.rotational_stiffness * mass)
    rig = new_rig()
    s = rig.settings
    VirtualCoupling(
        stiffness=p.stiffness,
        damping=damping,
        rotational_stiffness=p.rotational_stiffness,
        rotational_damping=rotational_damping,
        max_torque=math.inf,
    ).apply(s)
    s[SET_STEP], s[SET_MASS], s[SET_INTEGRATOR] = p.dt, mass, RULES[rule]
    s[SET_INERTIA : SET_INERTIA + 3] = mass * np.array(p.radii) ** 2
    s[SET_GRIP] = p.grip
    rig.tool[0] = -p.grip
    rows = np.zeros((len(hands), NTOOL + NOUT))
    made = step_along(s, rig.tool, hands, rig.packet, rig.grips, rig.out, rows)
    out = rows[:made, NTOOL:]
    lag, angle = out[:, OUT_DEVIATION], out[:, OUT_ANGLE]
    kept = made == len(hands) and bool((lag < LOST).all() and (angle < ASKEW).all())
    calm = angle[-round(CALM_SECONDS / p.dt) :]
    chatter = np.abs(np.diff(calm, 2)).max(initial=0.0)
    force = np.linalg.norm(out[:, OUT_FORCE : OUT_FORCE + 3], axis=1)
    return Run(rows[:made, :NTOOL], lag, force, angle, kept and bool(chatter < CHATTER))


def least_mass(p: Params, hands: Array, rule: str, rotational_damping: float) -> float:
    """Least stable mass by bisection of its logarithm; `lightest` if that is stable [kg]."""
    low, high = p.lightest, p.heaviest
    if wave(p, hands, rule, low, rotational_damping).stable:
        return low
    while high / low > p.precision:
        middle = math.sqrt(low * high)
        if wave(p, hands, rule, middle, rotational_damping).stable:
            high = middle
        else:
            low = middle
    return high


def bound(p: Params, rule: str, rotational_damping: float) -> float:
    """Least stable mass of the roll alone under an explicit rule [kg]."""
    inertia = rotational_damping * p.dt / EDGE[rule]
    if rule == FE:
        inertia -= 0.25 * p.rotational_stiffness * p.dt**2
    return inertia / p.radii[0] ** 2


def lag_slope(result: Result) -> float:
    """Power of the mass with which the largest lag grows, over masses from 1 g."""
    masses = np.array([m for m in result.params.masses if m >= 1e-3])
    lags = np.array([result.runs[BE, m].worst[0] for m in masses])
    if not np.isfinite(lags).all() or (lags <= 0.0).any():
        return math.nan
    return float(np.polyfit(np.log(masses), np.log(lags), 1)[0])


def _short(rule: str) -> str:
    return {RK4: "rk4", FE: "euler"}[rule]


def _spoon() -> object:
    """Convex pieces in the likeness of a spoon, for pictures alone."""
    import tangere as tg

    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rim = np.column_stack((0.03 * np.cos(angle), 0.02 * np.sin(angle)))
    bowl = np.vstack((np.column_stack((rim, np.full(24, 0.002))),
                      np.column_stack((0.6 * rim, np.full(24, -0.006)))))  # fmt: skip
    upright = (1.0, 0.0, 0.0, 0.0)
    handle = tg.Box((0.14, 0.009, 0.0036))
    return tg.Compound(
        [handle, tg.Convex(bowl)], [((-0.05, 0.0, 0.0), upright), ((0.05, 0.0, 0.0), upright)]
    )


EXPERIMENT = Experiment(
    name="free-spoon",
    paper="Otaduy & Lin 2005, section 7.2, Fig. 2",
    summary="a light tool follows the hand closely; only implicit steps can move a light tool",
    params=Params(),
    quick=Params(dampings=(0.005, 0.009)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
