"""Jaws: contact that is late and still calm, [OTADUY2005] Sec. 7.4, Figs. 5 and 6.

An upper jaw of 47,340 triangles is lowered on a lower one of 40,180, pressed, and moved about in
its teeth. Contacts are found anew once in 1, 2, 5 or 10 ms, and used one such period later; the
servo goes on at 1 kHz meanwhile. It is told of them in three ways: as *planes*, as the wrench with
its derivative, the *linear* model of the paper's (30), or as the wrench alone, *held*. The paper
asks for contacts of three errors, 2.5, 1 and 0.4 % of the jaws' radius, and the finer the slower;
here every error is run with every period, on the virtual clock, so that both are parameters.

The paper's scans, recorded hand, damping and contact tolerance are not available; those here are
our own. Every plane has the whole contact stiffness, as in the paper. Contact presses from the
tolerance d = 0.5 mm on, so depth is F/k − d: 5 kN/m carry 2.5 N before any depth shows, and the
hand presses with no more than 2 N. Ringing is judged by the force felt, the paper's measure; the
contact force behind the coupling rings some five times as much and is shown beside.

Without a model the force diverges. "To infinity", says the paper. Here overlap ends where one jaw
has gone through the other, and with it the force: a tool is lost once it is 150 mm from the hand
or turned by 1.5 rad, and its run ends. With stiffness shared by the planes, tangere's own way, the
force is bounded more tightly still; such runs are shown beside.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tangere.contact.penalty.options import Engine, Penalty, Sharing
from tangere.contact.penalty.tool_contact import PenaltyContact
from tangere.contact_planes import MAX_PLANES, NPLANE, PLANE_NORMAL
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, canvas, house_style
from tangere.experiments.held_mesh import (
    HIGH_PASS,
    Run,
    Tool,
    hand_turns,
    motion_of,
    outline_placed,
    paint_placed,
    rig_for,
)
from tangere.experiments.pictures import Camera
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    CONTACT_HELD,
    CONTACT_LINEAR,
    CONTACT_PLANES,
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NHAND,
    NOUT,
    NPACKET,
    NTOOL,
    OUT_ANGLE,
    OUT_CONTACT,
    OUT_DEVIATION,
    OUT_FORCE,
    PACKET_COUNT,
    PACKET_PLANES,
    SET_CONTACT,
    STEP_IMPLICIT,
    TOOL_QUATERNION,
)
from tangere.haptics.tool import step_once
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.scene.jaws import lower_jaw, upper_jaw
from tangere.session.mesh_side import write_packet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mode = Literal["planes", "linear", "held"]
MODES: dict[Mode, int] = {
    "planes": CONTACT_PLANES,
    "linear": CONTACT_LINEAR,
    "held": CONTACT_HELD,
}
WORDS: dict[Mode, str] = {
    "planes": "planes",
    "linear": "linear model",
    "held": "force held",
}
RADIUS = 0.06  # of the jaws [m]
LOST, ASKEW = 0.15, 1.5  # a tool so far from the hand is lost [m], [rad]
FILTER_TICKS = 30  # a run needs more for its ringing to be taken
PULL = 1e-9  # what a contact pulls with is rounding up to here [N]
TOLERANCE = "depth is F/k - d, and d is our choice, unreported in the paper"


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units.

    `first_touch` is how far the upper jaw stands above the lower one, origin to origin, when they
    touch first. `engine` finds the contacts. Errors are shares of the jaws' radius; with the engine
    "sdf" they are the distance of sample points; nodes of the field are half as far apart, but no
    closer than `finest`.
    """

    engine: Engine = "levels"
    errors: tuple[float, ...] = (0.025, 0.01, 0.004)
    periods: tuple[int, ...] = (1, 2, 5, 10)
    seconds: float = 0.9
    dt: float = 1e-3
    mass: float = 0.01
    stiffness: float = 500.0
    damping: float = 1.0
    rotational_stiffness: float = 0.6
    rotational_damping: float = 0.009
    contact_stiffness: float = 5000.0
    contact_damping: float = 1.0
    tolerance: float = 0.5e-3
    clusters: int = 8
    finest: float = 0.4e-3
    most_samples: int = 100_000
    first_touch: float = 0.04688
    gap: float = 3e-3
    press: float = 4e-3
    pressed: float = 0.2
    slide: tuple[float, float] = (3e-3, 2e-3)
    slide_hertz: tuple[float, float] = (2.0, 1.3)
    tilt: tuple[float, float] = (0.03, 0.03)  # about x and y
    tilt_hertz: tuple[float, float] = (2.3, 1.7)
    force_scale: float = 2.5
    ringing_window: float = 0.4


class Case(NamedTuple):
    """What sets one run apart: contacts found so, so fine, once in so many ticks, told so."""

    engine: Engine
    error: float
    period: int
    mode: Mode
    sharing: Sharing = "each"


@dataclass(frozen=True)
class JawRun(Run):
    """One run: also the angle of the coupling, what contacts pull with, and when it was lost.

    Attributes:
        point_depth: Overlap of the deepest contact, negative while apart; nan: none [m].
        pull: Part of the contact force that no pressing plane can give, each tick [N].
        update_seconds: Time of each contact update [s].
        lost: Tick at which the tool was lost; None: never. Nothing is known from there on.
    """

    pull: Array
    update_seconds: Array
    lost: int | None

    def calm(self, column: int, p: Params) -> float:
        """Ringing of a force [N]; infinite if the tool was lost."""
        return math.inf if self.lost is not None else self.ringing(column, p)

    def rage(self, column: int, p: Params) -> float:
        """The same, taken before the loss if the tool was lost."""
        if self.lost is None:
            return self.ringing(column, p)
        before = replace(self, out=self.out[: self.lost])
        return before.ringing(column, p) if self.lost > FILTER_TICKS else math.inf

    @property
    def deepest(self) -> float:
        """Largest overlap of a plane or of a contact that it stands for [m]; 0 without any."""
        return max(self.depth, float(np.fmax.reduce(self.point_depth, initial=0.0)))


@dataclass(frozen=True)
class Result:
    """Runs by case; see `cases`."""

    params: Params
    runs: dict[Case, JawRun]

    def of(self, mode: Mode, period: int | None = None) -> dict[Case, JawRun]:
        """Runs with the experiment's engine and the paper's stiffness."""
        return {
            case: made
            for case, made in self.runs.items()
            if case.engine == self.params.engine
            and case.sharing == "each"
            and case.mode == mode
            and period in (None, case.period)
        }


def cases(p: Params) -> list[Case]:
    """Every error, period and mode; then distance fields and shared stiffness at the first error.

    What is asked for twice is run once.
    """
    wanted = [Case(p.engine, e, t, mode) for e in p.errors for t in p.periods for mode in MODES]
    wanted += [Case("sdf", p.errors[0], t, mode) for t in p.periods for mode in MODES]
    wanted += [Case("sdf", p.errors[0], t, mode, "shared") for t in p.periods for mode in MODES]
    return list(dict.fromkeys(wanted))


def run(params: Params, tell: Tell = silent) -> Result:
    """Every case, those with the same contacts one after the other."""
    p = params
    tool = Tool.of(upper_jaw())
    hands = hand(p, tool)
    wanted = cases(p)
    contacts: dict[tuple[Engine, float, Sharing], PenaltyContact] = {}
    runs = {}
    for i, case in enumerate(wanted):
        tell(i / len(wanted), _words(case))
        key = case.engine, case.error, case.sharing
        if key not in contacts:
            contacts[key] = contact_of(p, tool, *key)
        runs[case] = chew(p, tool, contacts[key], hands, case)
    return Result(p, runs)


def contact_of(
    p: Params, tool: Tool, engine: Engine, error: float, sharing: Sharing
) -> PenaltyContact:
    """The contact of the upper jaw with the lower one, as fine as an error of the surface asks."""
    spacing, samples = None, Penalty().samples
    lower = lower_jaw()
    if engine == "sdf":
        apart = error * RADIUS
        spacing = max(0.5 * apart, p.finest)
        corners = lower.vertices[lower.faces]
        sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = 0.5 * float(np.linalg.norm(sides, axis=1).sum())
        samples = min(round(area / apart**2), p.most_samples)
    return PenaltyContact(
        tool.shape,
        [lower],
        options=Penalty(
            stiffness=p.contact_stiffness, damping=p.contact_damping, tolerance=p.tolerance,
            clusters=p.clusters, sharing=sharing, spacing=spacing, samples=samples, engine=engine,
            error=error,
        ),
        tool_frame=(tool.centre, tool.quaternion),
    )  # fmt: skip


def check(result: Result) -> list[Claim]:
    """Calm with planes and the linear model at any period, and what happens without."""
    p = result.params
    told = result.of("planes") | result.of("linear")
    lost = sum(made.lost is not None for made in told.values())
    quick, slow = _nearest(p, 2), _nearest(p, 10)
    claims = [
        Claim("finite", "planes and linear model: no run is lost, at any error and period; lost",
              "still stable", lost, "", lost == 0)
    ]  # fmt: skip
    for key, period, limit in (("calm-fast", quick, 0.1), ("calm-slow", slow, 0.5)):
        worst = max(made.calm(OUT_FORCE, p) for case, made in told.items() if case.period == period)
        claims.append(
            Claim(key, f"planes and linear model, contacts every {period} ms: force felt above "
                  f"{HIGH_PASS:g} Hz at most {limit:g} N RMS at every error; worst", "stable",
                  worst, "N", worst <= limit)
        )  # fmt: skip
    depths: tuple[tuple[Mode, str], ...] = (("planes", "depth"), ("linear", "depth-linear"))
    for mode, key in depths:
        depth = max(
            made.deepest for case, made in told.items()
            if case.period == quick and case.error == p.errors[0] and case.mode == mode
        )  # fmt: skip
        claims.append(
            Claim(key, f"{WORDS[mode]}, error {100 * p.errors[0]:g} %, every {quick} ms: largest "
                  f"depth below 0.1 mm (d = {1e3 * p.tolerance:g} mm)", "< 0.1 mm",
                  1e3 * depth, "mm", depth < 1e-4, TOLERANCE)
        )  # fmt: skip
    held = result.of("held", slow).values()
    kept = sum(made.lost is None for made in held)
    last = max((made.lost or 0) for made in held)
    claims.append(
        Claim("held-lost", f"force held, contacts every {slow} ms: the tool is lost at every error "
              f"(over {1e3 * LOST:g} mm or {ASKEW:g} rad from the hand); the last one after",
              "diverges at 0.4 %", last * p.dt if kept == 0 else None, "s", kept == 0)
    )  # fmt: skip
    share = min(
        _ratio(made, result.runs[case._replace(mode="linear")], p)
        for case, made in result.of("held", quick).items()
    )
    claims.append(
        Claim("held-rings", f"contacts every {quick} ms: force felt above {HIGH_PASS:g} Hz, held "
              "over linear model, at least 10 at every error; smallest", "clearly unstable", share,
              "", share >= 10.0)
    )  # fmt: skip
    pull = max(float(made.pull.max(initial=0.0)) for made in result.of("planes").values())
    claims.append(
        Claim("planes-push", "planes: contact never pulls; largest tensile contact force",
              "-", pull, "N", pull <= PULL)
    )  # fmt: skip
    return claims


def _ratio(made: JawRun, other: JawRun, p: Params) -> float:
    """Ringing of one run over that of another."""
    least = other.calm(OUT_FORCE, p)
    return made.rage(OUT_FORCE, p) / least if least > 0.0 else math.nan


def _nearest(p: Params, ticks: int) -> int:
    """The period that comes closest."""
    return min(p.periods, key=lambda period: abs(period - ticks))


def beside(result: Result) -> list[Reading]:
    """Every run: ringing, depth, pull, and the time that the contacts took."""
    p = result.params
    rows = []
    for case, made in result.runs.items():
        who = _words(case)
        if made.lost is not None:
            rows.append(Reading("lost after", who, made.lost * p.dt, "s"))
            continue
        rows += [
            Reading(f"force felt above {HIGH_PASS:g} Hz", who, made.ringing(OUT_FORCE, p), "N",
                    f"contact force {made.ringing(OUT_CONTACT, p):.3g} N"),
            Reading("largest depth", who, 1e3 * made.deepest, "mm",
                    f"at most {1e3 * made.deviation:.3g} mm from the hand"),
            Reading("largest tensile contact force", who, float(made.pull.max(initial=0.0)), "N"),
        ]  # fmt: skip
    for engine, error in dict.fromkeys((case.engine, case.error) for case in result.runs):
        spent = np.concatenate(
            [
                made.update_seconds
                for case, made in result.runs.items()
                if (case.engine, case.error) == (engine, error) and case.mode != "held"
            ]
        )
        rows.append(
            Reading("time of a contact update, 99 of 100", f"{engine}, {100 * error:g} %",
                    1e3 * float(np.percentile(spent, 99)), "ms",
                    f"median {1e3 * float(np.median(spent)):.2g} ms, on this machine")
        )  # fmt: skip
    return rows


def _words(case: Case) -> str:
    shared = ", stiffness shared" if case.sharing == "shared" else ""
    what = f"{WORDS[case.mode]}, {case.engine} {100 * case.error:g} %"
    return f"{what}, every {case.period} ms{shared}"


# ------------------------------------------------ figures
@house_style
def plot(result: Result) -> list[Figure]:
    """The paper's Fig. 6, and ringing over the contact period."""
    return [_over_time(result), _over_period(result)]


def _paired(p: Params) -> list[tuple[float, int]]:
    """The finer the slower, as in the paper: errors with their contact periods [ticks]."""
    wanted = np.geomspace(2.0, 10.0, max(len(p.errors), 2)).round().astype(int)
    return [(e, _nearest(p, int(t))) for e, t in zip(p.errors, wanted, strict=False)]


def _over_time(result: Result) -> Figure:
    p = result.params
    figure, (depth, spent, deviation, force) = canvas(
        "Jaws: largest depth, time of a contact update, distance from the hand, and force felt "
        f"times {p.force_scale:g}, as scaled for the device. The finer the contacts the rarer, as "
        "in the paper. After Fig. 6 of the paper.",
        columns=4,
        size=(12.0, 3.2),
    )
    colours = [COLOURS[name] for name in ("volume", "point", "MuJoCo")]
    curves: list[tuple[Case, str, str]] = []
    for (error, period), colour in zip(_paired(p), colours, strict=False):
        curves.append((Case(p.engine, error, period, "linear"), "-", colour))
    error, period = _paired(p)[0]
    curves.append((Case("sdf", error, period, "planes"), ":", colours[0]))
    curves.append((Case(p.engine, error, period, "held"), "-", FAINT))
    for case, dash, colour in reversed(curves):
        made = result.runs[case]
        count = len(made.out) if made.lost is None else made.lost
        at = p.dt * np.arange(1, count + 1)
        style: dict[str, Any] = {"ls": dash, "color": colour, "lw": 1.1}
        label = f"{WORDS[case.mode]}, {case.engine} {100 * case.error:g} %, {case.period} ms"
        depth.plot(at, 1e3 * made.point_depth[:count], **style, label=label)
        deviation.plot(at, 1e3 * made.out[:count, OUT_DEVIATION], **style)
        force.plot(at, p.force_scale * made.force[:count], **style)
        updates = p.dt * case.period * np.arange(len(made.update_seconds))
        spent.semilogy(updates, 1e3 * made.update_seconds, **style)
    labels = ("depth [mm]", "time of an update [ms]", "deviation [mm]", "force felt [N]")
    calm = [made for case, made in result.of("linear").items() if made.lost is None]
    strongest = max((float(made.force.max()) for made in calm), default=1.0)
    farthest = max((made.deviation for made in calm), default=1e-3)
    force.set_ylim(0.0, 3.0 * p.force_scale * max(strongest, 1e-3))
    deviation.set_ylim(0.0, 3e3 * max(farthest, 1e-6))
    depth.set_ylim(-2e3 * p.tolerance, 4e3 * p.tolerance)
    depth.axhline(-1e3 * p.tolerance, color=FAINT, lw=0.8, ls="--")
    for panel, label in zip((depth, spent, deviation, force), labels, strict=True):
        panel.set_xlabel("time [s]")
        panel.set_ylabel(label)
    names, words = depth.get_legend_handles_labels()
    figure.legend(names[::-1], words[::-1], loc="outside upper center", ncols=3)
    return figure


def _over_period(result: Result) -> Figure:
    """Ringing over the contact period, one panel per way to tell; lost runs at the top."""
    p = result.params
    figure, panels = canvas(
        f"Jaws: force felt above {HIGH_PASS:g} Hz over the contact period, one period late. "
        "Crosses at the top: the tool was lost. Lines without marks: distance fields with "
        "stiffness shared by the planes.",
        columns=3,
        size=(10.2, 3.2),
    )
    top = 30.0
    colours = [COLOURS[name] for name in ("volume", "point", "MuJoCo")]
    for panel, mode in zip(panels, MODES, strict=True):
        for error, colour in zip(p.errors, colours, strict=False):
            _line(panel, result, Case(p.engine, error, 0, mode), colour, "o-", top)
        _line(panel, result, Case("sdf", p.errors[0], 0, mode, "shared"), FAINT, "--", top)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(1e-3, 1.5 * top)
        panel.set_xticks(p.periods, [str(period) for period in p.periods])
        panel.minorticks_off()
        panel.set_xlabel("contact period [ms]")
        panel.set_title(WORDS[mode])
    panels[0].set_ylabel("ringing [N]")
    panels[0].legend()
    return figure


def _line(panel: Axes, result: Result, like: Case, colour: str, look: str, top: float) -> None:
    """Ringing of one kind of run over the contact period."""
    p = result.params
    found = [result.runs[like._replace(period=t)] for t in p.periods]
    values = np.array([made.calm(OUT_FORCE, p) for made in found])
    lost = ~np.isfinite(values)
    shared = ", shared" if like.sharing == "shared" else ""
    name = f"{like.engine} {100 * like.error:g} %{shared}"
    panel.plot(p.periods, np.where(lost, np.nan, values), look, color=colour, ms=4, label=name)
    panel.plot(np.array(p.periods)[lost], np.full(lost.sum(), top), "x", color=colour)


def strip(result: Result) -> Figure:
    """The upper jaw over the lower one at four instants, the hand's jaw as lines."""
    from matplotlib.figure import Figure

    p = result.params
    tool, lower = Tool.of(upper_jaw()), lower_jaw()
    made = result.runs[Case(p.engine, p.errors[0], _nearest(p, 2), "planes")]
    hands = hand(p, tool)
    camera = Camera(
        azimuth=-110.0, elevation=24.0, centre=(0.0, 0.012, 0.02), width=0.135, height=0.1
    )
    figure = Figure(figsize=(10.5, 2.6))
    figure.set_label(
        "The upper jaw of 10 g, led by a hand and pressed on the lower one; lines: where the hand "
        "is. After Fig. 5 of the paper."
    )
    for i, share in enumerate((0.05, 0.35, 0.65, 1.0)):
        at = round(share * (len(made.states) - 1))
        axes = figure.add_axes((i / 4 + 0.005, 0.1, 0.24, 0.89))
        placed = []
        for centre, quaternion in (
            (made.states[at, :3], made.states[at, 3:7]),
            (
                hands[at, HAND_POSITION : HAND_POSITION + 3],
                hands[at, HAND_QUATERNION : HAND_QUATERNION + 4],
            ),
        ):
            own = rotation_of(quaternion) @ tool.inner
            placed.append((centre - own @ tool.centre, own))
        solid = (lower, np.zeros(3), np.eye(3), "#b9c7d6"), (tool.shape, *placed[0], "#d9822b")
        paint_placed(axes, camera, list(solid))
        outline_placed(axes, camera, tool.shape, *placed[1], alpha=0.02)
        figure.text(i / 4 + 0.125, 0.03, f"{p.dt * (at + 1):.2f} s", ha="center")
    return figure


# ------------------------------------------------ the hand, and one run
def hand(p: Params, tool: Tool) -> Array:
    """Samples HAND_… of the hand at every tick (n, 13): lower and press, then slide and tilt."""
    t = p.dt * np.arange(1, round(p.seconds / p.dt) + 1)
    share = np.minimum(t / p.pressed, 1.0)
    later = np.maximum(t - p.pressed, 0.0)
    moving = (t > p.pressed).astype(float)
    way = p.gap + p.press
    rows = np.zeros((len(t), NHAND))
    rows[:, HAND_POSITION : HAND_POSITION + 3] = tool.centre
    rows[:, HAND_POSITION + 2] += p.first_touch + p.gap
    rows[:, HAND_POSITION + 2] -= way * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    rows[:, HAND_VELOCITY + 2] = -way * 30.0 * share**2 * (1.0 - share) ** 2 / p.pressed
    phi, rate = np.zeros((len(t), 3)), np.zeros((len(t), 3))
    for axis, (size, hertz, angle, tilt_hertz) in enumerate(
        zip(p.slide, p.slide_hertz, p.tilt, p.tilt_hertz, strict=True)
    ):
        omega = 2.0 * np.pi * hertz
        rows[:, HAND_POSITION + axis] += size * np.sin(omega * later)
        rows[:, HAND_VELOCITY + axis] = moving * size * omega * np.cos(omega * later)
        omega = 2.0 * np.pi * tilt_hertz
        phi[:, axis] = angle * np.sin(omega * later)
        rate[:, axis] = moving * angle * omega * np.cos(omega * later)
    quaternions, spins = hand_turns(phi, rate, tool.quaternion)
    rows[:, HAND_QUATERNION : HAND_QUATERNION + 4] = quaternions
    rows[:, HAND_OMEGA : HAND_OMEGA + 3] = spins
    return rows


def chew(p: Params, tool: Tool, contact: PenaltyContact, hands: Array, case: Case) -> JawRun:
    """The jaw led by the hand: contacts of every `period`-th tick, used a period later."""
    coupling = VirtualCoupling(
        stiffness=p.stiffness,
        damping=p.damping,
        rotational_stiffness=p.rotational_stiffness,
        rotational_damping=p.rotational_damping,
        max_torque=math.inf,
    )
    rig = rig_for(tool, p.mass, p.dt, STEP_IMPLICIT, coupling)
    rig.settings[SET_CONTACT] = MODES[case.mode]
    rig.tool[:3] = hands[0, HAND_POSITION : HAND_POSITION + 3]
    rig.tool[TOOL_QUATERNION : TOOL_QUATERNION + 4] = tool.quaternion
    contact.forget()
    n = len(hands)
    states, out = np.zeros((n, NTOOL)), np.zeros((n, NOUT))
    deepest, planes, pull = np.zeros(n), np.zeros(n), np.zeros(n)
    waiting: deque[Array] = deque()
    spent: list[float] = []
    lost = None
    depth, count = math.nan, 0
    for i, sample in enumerate(hands):
        if i % case.period == 0:
            if waiting:  # found a period ago
                rig.packet[:] = waiting.popleft()
            begin = time.perf_counter()
            motion = motion_of(rig.tool, p.mass, p.mass * tool.gyration)
            count = len(contact.update(motion, period=p.dt * case.period))
            spent.append(time.perf_counter() - begin)
            waiting.append(np.zeros(NPACKET))
            write_packet(contact, rig.tool, p.dt * i, i + 1, waiting[-1])
            depth = float(np.fmax.reduce(contact.contacts.delta, initial=math.nan))
        deepest[i], planes[i] = depth, count
        fault = step_once(
            rig.settings, rig.tool, sample, rig.packet, p.dt * (i + 1), rig.grips, rig.out
        )
        states[i], out[i] = rig.tool, rig.out
        if fault or not (rig.out[OUT_DEVIATION] < LOST and rig.out[OUT_ANGLE] < ASKEW):
            lost = i
            break
        pull[i] = pulled(rig.out[OUT_CONTACT : OUT_CONTACT + 3], rig.packet)
    return JawRun(states, out, deepest, planes, pull, np.array(spent), lost)


def pulled(force: Array, packet: Array) -> float:
    """Least part of a contact force that the packet's planes cannot press with [N].

    Planes press with −Σ s_i n_i, s_i ≥ 0: what is left of the force after the best such sum.
    """
    from scipy.optimize import nnls

    if not force.any():
        return 0.0
    count = int(packet[PACKET_COUNT])
    rows = packet[PACKET_PLANES:].reshape(MAX_PLANES, NPLANE)[:count]
    if count == 0:
        return float(np.linalg.norm(force))
    return float(nnls(-rows[:, PLANE_NORMAL : PLANE_NORMAL + 3].T, force)[1])


EXPERIMENT = Experiment(
    name="jaws",
    paper="Otaduy and Lin 2005, Sec. 7.4",
    summary="an upper jaw on a lower one: contacts that come late stay calm as planes or linear",
    params=Params(),
    quick=Params(errors=(0.025,), periods=(2, 10)),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
