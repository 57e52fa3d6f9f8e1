"""Contact that comes late: when a wall shakes the hand, and what the passivity controller does.

A person's arm presses a tool on a floor. The servo holds the contact force of a query that is some
contact periods old. A spring K felt a time τ late acts like the damper −K τ, so the hand comes to
rest only while the dampers around it outweigh that, [COLGATE1994]: b > K (T/2 + delay) + B. The arm
with its device (m, b, k) at the delayed spring swings for ever on the boundary

    m s² + b s + k + K e^(−s τ) = 0,  s = iω:    K sin ωτ = b ω,    K cos ωτ = m ω² − k

(`boundary`), with τ = T/2 + delay, as a held force is half a period old on average. In the virtual
coupling the same holds for the tool between contact and hand, with m, b_c + k_c Δt and k_c.

The controller of [HANNAFORD2002] is to keep the net energy at the device's port above zero. The
person's arm has books of its own: what the motor really gave is known beside what was observed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

import tangere as tg
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.haptics.layout import FAULT_PASSIVITY
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Coupling = Literal["direct", "virtual"]
Contact = Literal["held", "planes"]

OVERDRAWN = -1e-6  # [J] the least that the net energy may be
TOOL = (0.04, 0.04, 0.02)  # [m]
ABOVE = 0.002  # [m] tool over the floor at the start
WORDS = {"direct": "direct coupling", "virtual": "virtual coupling"}


@dataclass(frozen=True)
class Params:
    """Values of the experiment; lengths [m], times [s], stiffness [N/m], damping [N s/m]."""

    arm_mass: float = 0.15
    arm_stiffness: float = 300.0
    arm_damping: float = 5.0
    device_mass: float = 0.1
    device_damping: float = 0.1
    press: float = 0.01  # how far below the floor the person wants to be
    tool_mass: float = 0.01
    coupling_stiffness: float = 500.0
    coupling_damping: float = 1.0
    direct_stiffness: float = 1000.0  # of the contact in the runs that are shown, ...
    direct_delay: int = 8  # ... and contact periods that it comes late
    virtual_stiffness: float = 2000.0
    virtual_delay: int = 5
    direct_rest: float = 0.5e-3  # the hand is at rest if it swings by less, end to end
    virtual_rest: float = 2e-3
    delays: tuple[int, ...] = (0, 1, 3, 8, 20)  # of the map
    softest: float = 100.0
    stiffest: float = 2e4
    grid: int = 6  # stiffnesses tried before the interval is halved
    tolerance: float = 0.05
    seconds: float = 2.0
    map_seconds: float = 1.6
    last: float = 0.4  # end of a run, in which the swing is taken
    rate: float = 1000.0


@dataclass(frozen=True)
class Press:
    """One run."""

    time: Array
    height: Array  # of the tool's underside, where the hand has it [m]
    tool: Array  # where the tool itself has it [m]
    force: Array  # sent, upwards [N]
    observed: Array  # net energy that the hand gave, as the servo sees it [J]
    true: Array  # the same by the books of the arm [J]
    acted: int  # ticks in which the controller did
    swing: float  # of the hand at the end, from end to end [m]


@dataclass(frozen=True)
class Limits:
    """One line of the map: the largest stiffness at rest for each delay; inf: none was found."""

    stiffness: Array
    least: float  # smallest net energy observed in all its runs [J]
    runs: int


@dataclass(frozen=True)
class Result:
    """Runs by coupling and what was done; map by coupling and what was done."""

    params: Params
    presses: dict[tuple[Coupling, str], Press]
    driver: Press  # direct coupling with controller, at a device that is one tick late
    maps: dict[tuple[Coupling, str], Limits]


SHOWN = {"prompt": (0, False), "prompt, controller": (0, True)}
LINES: dict[str, tuple[Contact, bool]] = {
    "plain": ("held", False),
    "controller": ("held", True),
    "planes": ("planes", False),
}


def run(params: Params, tell: Tell = silent) -> Result:
    """Press on the floor in time, late, and late with the controller; then map the limits."""
    p = params
    steps = 2 * len(LINES) * len(p.delays) + 1
    presses: dict[tuple[Coupling, str], Press] = {}
    maps: dict[tuple[Coupling, str], Limits] = {}
    tell(0.0, "pressing")
    cases: tuple[tuple[Coupling, float, int], ...] = (
        ("direct", p.direct_stiffness, p.direct_delay),
        ("virtual", p.virtual_stiffness, p.virtual_delay),
    )
    for coupling, stiffness, delay in cases:
        for name, (late, kept) in {**SHOWN, "plain": (delay, False), "kept": (delay, True)}.items():
            presses[coupling, name] = press(p, coupling, stiffness, late, kept)
    driver = press(p, "direct", p.direct_stiffness, p.direct_delay, True, driver_delay=1)
    done = 1
    for coupling, _, _ in cases:
        for name, (contact, kept) in LINES.items():
            found, least, runs = [], 0.0, 0
            for delay in p.delays:
                tell(done / steps, f"map, {WORDS[coupling]}, {name}, {delay} periods late")
                done += 1

                def at_rest(stiffness: float) -> bool:
                    nonlocal least, runs
                    made = press(
                        p, coupling, stiffness, delay, kept, contact=contact, seconds=p.map_seconds
                    )
                    least, runs = min(least, float(made.observed.min())), runs + 1
                    return made.swing < rest(p, coupling)

                found.append(largest(p, at_rest))
            maps[coupling, name] = Limits(np.array(found), least, runs)
    return Result(p, presses, driver, maps)


def rest(p: Params, coupling: Coupling) -> float:
    """Swing below which the hand counts as at rest [m]."""
    return p.direct_rest if coupling == "direct" else p.virtual_rest


def press(
    p: Params,
    coupling: Coupling,
    stiffness: float,
    delay: int,
    kept: bool,
    *,
    contact: Contact = "held",
    seconds: float | None = None,
    driver_delay: int = 0,
) -> Press:
    """An arm presses a tool on a floor of that stiffness, known `delay` periods late."""
    smooth = tg.Material(0.0, 0.0, stiffness=stiffness, damping=0.0)
    scene = tg.Scene()
    scene.add_floor(material=smooth)
    spring = tg.VirtualCoupling(stiffness=p.coupling_stiffness, damping=p.coupling_damping)
    start = 0.5 * TOOL[2] + ABOVE
    scene.add_tool(
        tg.Box(TOOL),
        mass=p.tool_mass,
        position=(0.0, 0.0, start),
        material=smooth,
        coupling=tg.DirectCoupling() if coupling == "direct" else spring,
    )

    def intent(t: float) -> tuple[float, float, float]:
        u = min(max((t - 0.05) / 0.3, 0.0), 1.0)
        return 0.0, 0.0, start - (ABOVE + p.press) * u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)

    hand = tg.devices.Hand(
        intent,
        device=tg.devices.DeviceModel(
            mass=p.device_mass, damping=p.device_damping, delay=driver_delay
        ),
        mass=p.arm_mass,
        stiffness=p.arm_stiffness,
        damping=p.arm_damping,
    )
    wide = tg.Safety(
        force=1e3, torque=10.0, power=math.inf, slew=math.inf, speed=math.inf, jump=math.inf,
        ramp=0.0, fresh=math.inf, stale=math.inf, silence=math.inf, passivity=kept,
    )  # fmt: skip
    session = tg.Session(
        scene, device=hand, rate=p.rate, latency=delay, contact=contact, safety=wide
    )
    true: list[float] = []
    trace = session.run(
        p.seconds if seconds is None else seconds,
        realtime=False,
        each=lambda: true.append(-hand.books(session.rigs[0].arm).given),
    )
    height = trace["device.position"][:, 2] - 0.5 * TOOL[2]
    end = max(1, round(p.last * p.rate))
    return Press(
        time=trace["time"],
        height=height,
        tool=trace["tool.position"][:, 2] - 0.5 * TOOL[2],
        force=trace["device.force"][:, 2],
        observed=trace["energy.observed"],
        true=np.array(true),
        acted=int(np.count_nonzero(trace["fault"].astype(np.int64) & FAULT_PASSIVITY)),
        swing=float(np.ptp(height[-end:])),
    )


def largest(p: Params, at_rest: Callable[[float], bool]) -> float:
    """Stiffness up to which the hand comes to rest [N/m]: inf if it always does, 0 if never.

    From soft to stiff over a grid, as rest need not be lost once for all; then by halves.
    """
    low = 0.0
    for stiffness in np.geomspace(p.softest, p.stiffest, p.grid):
        if not at_rest(float(stiffness)):
            break
        low = float(stiffness)
    else:
        return math.inf
    if low == 0.0:
        return 0.0
    high = float(stiffness)
    while high > low * (1.0 + p.tolerance):
        middle = math.sqrt(low * high)
        if at_rest(middle):
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def boundary(mass: float, damping: float, stiffness: float, tau: float) -> float:
    """Delayed stiffness K at which mass, damper and spring swing for ever [N/m].

    ω is the first zero of b ω cos ωτ − (m ω² − k) sin ωτ, which is K sin and K cos put together.
    """
    from scipy.optimize import brentq

    def gap(omega: float) -> float:
        turn = omega * tau
        spring = mass * omega * omega - stiffness
        return damping * omega * math.cos(turn) - spring * math.sin(turn)

    # at ωτ → 0 the gap is ω (b + k τ) > 0; where m ω² > k and ωτ = π/2 or π it is not
    high = math.pi / tau
    if gap(high) > 0.0:  # −b ω at ωτ = π: never
        raise ArithmeticError("no boundary")
    omega = brentq(gap, 1e-6 / tau, high)
    return float(damping * omega / math.sin(omega * tau))


def lateness(p: Params, delay: int) -> float:
    """Mean age τ = T/2 + delay of a held contact force, one period being one tick [s]."""
    return (delay + 0.5) / p.rate


def predicted(p: Params, coupling: Coupling, delay: float) -> float:
    """The boundary for the hand at a late wall, or for the tool in its coupling [N/m]."""
    tau = (delay + 0.5) / p.rate
    if coupling == "direct":
        mass, damping = p.arm_mass + p.device_mass, p.arm_damping + p.device_damping
        return boundary(mass, damping, p.arm_stiffness, tau)
    damping = p.coupling_damping + p.coupling_stiffness / p.rate
    return boundary(p.tool_mass, damping, p.coupling_stiffness, tau)


def check(result: Result) -> list[Claim]:
    """Unstable without, passive and bounded with, idle where not needed, and the map."""
    p, claims = result.params, []
    delays = {"direct": p.direct_delay, "virtual": p.virtual_delay}
    couplings: tuple[Coupling, ...] = ("direct", "virtual")
    for name in couplings:
        words, late = WORDS[name], f"contact {delays[name] * 1e3 / p.rate:g} ms late"
        plain, kept = result.presses[name, "plain"], result.presses[name, "kept"]
        prompt = result.presses[name, "prompt"]
        idle = result.presses[name, "prompt, controller"]
        least, true = float(kept.observed.min()), float(kept.true.min())
        outside = max(float(kept.height.max()) - ABOVE, -p.press - float(kept.height.min()))
        limit = rest(p, name)
        claims += [
            Claim(f"{name}-unstable", f"{words}, {late}, plain: the hand swings by more than 5 mm",
                  "K τ > b: unstable", 1e3 * plain.swing, "mm", plain.swing > 5e-3),
            Claim(f"{name}-active", f"{words}, {late}, plain: net energy below −0.1 J",
                  "active", float(plain.observed[-1]), "J", float(plain.observed[-1]) < -0.1),
            Claim(f"{name}-energy", f"{words}, {late}, controller: observed net energy at least "
                  "−1e-6 J throughout", "E ≥ 0", least, "J", least >= OVERDRAWN),
            Claim(f"{name}-true", f"{words}, {late}, controller: and so by the arm's own books",
                  "E ≥ 0", true, "J", true >= OVERDRAWN),
            Claim(f"{name}-rest", f"{words}, {late}, controller: the hand swings by less than "
                  f"{1e3 * limit:g} mm at the end", "bounded", 1e3 * kept.swing, "mm",
                  kept.swing < limit),
            Claim(f"{name}-bounded", f"{words}, {late}, controller: and is never more than 1 mm "
                  "beyond where it was or wants to be", "bounded", 1e3 * outside, "mm",
                  outside < 1e-3),
            Claim(f"{name}-idle", f"{words}, no delay: the controller never acts, and the run is "
                  "the same to the last bit", "idle", float(idle.acted), "ticks",
                  idle.acted == 0 and np.array_equal(idle.height, prompt.height)),
        ]  # fmt: skip
    plain_map, kept_map = result.maps["direct", "plain"], result.maps["direct", "controller"]
    expected = np.array([predicted(p, "direct", delay) for delay in p.delays])
    off = float(np.max(np.abs(plain_map.stiffness / expected - 1.0)))
    no_limit = [name for name in couplings if not np.isinf(result.maps[name, "controller"].stiffness).all()]
    least = min(result.maps[name, "controller"].least for name in couplings)
    gain = float(np.min(result.maps["direct", "planes"].stiffness[1:] / plain_map.stiffness[1:]))
    return [
        *claims,
        Claim("map-plain", "map, direct, plain: largest stiffness at rest within 15 % of the "
              "boundary", "m s² + b s + k + K exp(−s τ) = 0", 100.0 * off, "%", off < 0.15),
        Claim("map-controller", f"map, both couplings, controller: at rest up to {p.stiffest:g} N/m "
              "at every delay", "any", float(kept_map.runs), "runs", not no_limit),
        Claim("map-energy", "map, both couplings, controller: net energy at least −1e-6 J in every "
              "run", "E ≥ 0", least, "J", least >= OVERDRAWN),
        Claim("map-planes", "map, direct, plain: planes instead of the held force allow at least "
              "twice the stiffness at every delay", "–", gain, "", gain > 2.0),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """What the controller costs, and what it cannot see."""
    p, rows = result.params, []
    end = slice(-max(1, round(p.last * p.rate)), None)
    for name, words in WORDS.items():
        for kind in ("prompt", "plain", "kept"):
            made = result.presses[name, kind]  # type: ignore[index]
            who = f"{words}, {kind}"
            rows.append(Reading("mean force at the end", who, float(made.force[end].mean()), "N"))
    rows.append(
        Reading(
            "least net energy by the arm's books",
            "direct coupling, kept, driver one tick late",
            float(result.driver.true.min()),
            "J",
            f"observed {float(result.driver.observed.min()):.2g} J: the ledger knows no delay of "
            "the driver",
        )
    )
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """The hand and the energy in time; the map."""
    return [_runs(result), _map(result)]


def _runs(result: Result) -> Figure:
    p = result.params
    figure, axes = canvas(
        f"A hand presses on a floor whose force comes late: {1e3 * p.direct_delay / p.rate:g} ms in "
        f"the direct coupling ({p.direct_stiffness:g} N/m), {1e3 * p.virtual_delay / p.rate:g} ms in "
        f"the virtual one ({p.virtual_stiffness:g} N/m, held by {p.coupling_stiffness:g} N/m). "
        "Left: height of the hand. Right: net energy that it gave, by the arm's own books; below "
        "zero the device has given more than it got.",
        columns=2,
        rows=2,
        size=(8.6, 5.4),
    )
    shown = {
        "prompt": ("no delay", FAINT),
        "plain": ("late", COLOURS["point"]),
        "kept": ("late, passivity controller", COLOURS["volume"]),
    }
    for row, (name, words) in enumerate(WORDS.items()):
        left, right = axes[2 * row], axes[2 * row + 1]
        for kind, (label, colour) in shown.items():
            made = result.presses[name, kind]  # type: ignore[index]
            left.plot(made.time, 1e3 * made.height, color=colour, label=label, lw=1.1)
            right.plot(made.time, made.true, color=colour, label=label)
        left.set_title(words)
        left.set_ylabel("hand [mm]")
        right.set_yscale("symlog", linthresh=1e-3)
        right.set_ylabel("net energy [J]")
        for each in (left, right):
            each.set_xlabel("time [s]")
    axes[1].legend(loc="lower left")
    return figure


def _map(result: Result) -> Figure:
    p = result.params
    figure, panels = canvas(
        "Largest contact stiffness at which the hand comes to rest, against the delay of the "
        f"contact (bisected to {100.0 * p.tolerance:g} %; arrows: none found up to "
        f"{p.stiffest:g} N/m). Left: direct coupling, at rest within {1e3 * p.direct_rest:g} mm; "
        "lines: the boundary of the delayed spring, and K = b/τ. Right: virtual coupling, within "
        f"{1e3 * p.virtual_rest:g} mm; line: where the tool itself begins to rattle, of which the "
        "hand feels little at first.",
        columns=2,
        size=(8.6, 3.7),
    )
    for panel, (name, words) in zip(panels, WORDS.items(), strict=True):
        _limits(panel, result, name)  # type: ignore[arg-type]
        panel.set_title(words)
        panel.set_xlabel("age τ = T/2 + delay [ms]")
        panel.set_ylabel("stiffness [N/m]")
    panels[0].legend(loc="lower left")
    return figure


def _limits(panel: Axes, result: Result, coupling: Coupling) -> None:
    p = result.params
    tau = np.array([lateness(p, delay) for delay in p.delays])
    fine = np.geomspace(tau[0], tau[-1], 60)
    theory = [predicted(p, coupling, p.rate * t - 0.5) for t in fine]
    panel.plot(1e3 * fine, theory, color=INK, lw=1.0, label="boundary")
    if coupling == "direct":
        line = (p.arm_damping + p.device_damping) / fine
        panel.plot(1e3 * fine, line, ":", color=INK, lw=1.0, label="b/τ")
    shown = {
        "plain": ("held force", COLOURS["point"], "o"),
        "planes": ("planes", COLOURS["vertex rule"], "s"),
        "controller": ("held force, controller", COLOURS["volume"], "D"),
    }
    for name, (label, colour, marker) in shown.items():
        found = result.maps[coupling, name].stiffness
        drawn = np.where(np.isinf(found), p.stiffest, found)
        panel.plot(1e3 * tau, drawn, marker + "-", color=colour, lw=1.0, ms=5, label=label)
        free = np.isinf(found)
        panel.plot(1e3 * tau[free], 1.18 * drawn[free], "^", color=colour, ms=5)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylim(0.8 * p.softest, 1.6 * p.stiffest)


def strip(result: Result) -> Figure:
    """The direct coupling, late: plain above the floor and thrown about, kept on it."""
    frames = []
    box = tg.Box(TOOL)
    for name, label in (("plain", "plain"), ("kept", "controller")):
        made = result.presses["direct", name]
        for t in (0.0, 0.35, 0.6, 0.9):
            i = min(round(t * result.params.rate), len(made.time) - 1)
            # the floor hides what is below it
            place = np.array((0.0, 0.0, 0.5 * TOOL[2] + float(made.height[i])))
            upright = np.array((1.0, 0.0, 0.0, 0.0))
            solids = pictures.solids(box, place, upright, pictures.PALETTE[0])
            frames.append(pictures.Frame(solids, f"{label}, {made.time[i]:.2f} s"))
    camera = pictures.Camera(
        azimuth=-60.0, elevation=12.0, centre=(0.0, 0.0, 0.015), width=0.08, height=0.06
    )
    return pictures.strip(frames, camera, "A hand presses on a floor whose force comes late.")


EXPERIMENT = Experiment(
    name="contact-delay",
    paper="ours; theory: Colgate & Schenkel 1994, Hannaford & Ryu 2002",
    summary="a late contact shakes the hand; the passivity controller keeps it at rest",
    params=Params(),
    quick=Params(delays=(0, 5), grid=4, seconds=1.5, map_seconds=1.2),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
