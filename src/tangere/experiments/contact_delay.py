"""Contact that comes late: when a wall shakes the hand, and what the passivity controller does.

A person's arm presses a tool on a floor. The servo holds the contact force of a query that is some
contact periods old. A spring K felt a time τ late acts like the damper −K τ, and a force held for a
period T is T/2 old on average, so the hand comes to rest only while the dampers around it outweigh
that, [COLGATE1997]:

    b > K (T/2 + delay) + B

For the direct coupling the boundary is known exactly (`boundary`): the arm is linear, the force is
constant over each tick, F_n = −K (2 x_{n−1−L} − x_{n−2−L}) with L periods of latency, as the scene
looks one period ahead with the hand's last velocity.

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
from tangere.haptics.layout import FAULT_NET
from tangere.maths.vec import Array

if TYPE_CHECKING:
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
    tool_rest: float = 0.1e-3  # and the tool
    delays: tuple[int, ...] = (0, 1, 3, 8, 20)  # of the map
    softest: float = 100.0
    stiffest: float = 2e4
    grid: int = 6  # stiffnesses tried before the interval is halved
    tolerance: float = 0.05
    seconds: float = 2.0
    map_seconds: float = 2.4
    last: float = 0.4  # end of a run, in which the swing is taken
    rate: float = 1000.0


@dataclass(frozen=True)
class Press:
    """One run."""

    time: Array
    height: Array  # of the hand over where the tool would touch the floor [m]
    force: Array  # sent, upwards [N]
    observed: Array  # net energy that the hand gave, as the servo sees it [J]
    true: Array  # the same by the books of the arm [J]
    acted: int  # ticks in which the controller did
    swing: float  # of the hand at the end, from end to end [m]
    rattle: float  # the same of the tool [m]


@dataclass(frozen=True)
class Limits:
    """One line of the map: the largest stiffness at rest for each delay; inf: none was found."""

    stiffness: Array
    least: float  # smallest net energy observed in all its runs [J]
    restless: int  # runs in which there was no rest


@dataclass(frozen=True)
class Result:
    """Runs by coupling and what was done; map by coupling and what was done."""

    params: Params
    presses: dict[tuple[str, str], Press]
    driver: Press  # direct coupling with controller, at a device that is one tick late
    maps: dict[tuple[str, str], Limits]


SHOWN = {"prompt": (0, False), "prompt, controller": (0, True)}
LINES: dict[tuple[Coupling, str], tuple[Contact, bool]] = {
    ("direct", "plain"): ("held", False),
    ("direct", "controller"): ("held", True),
    ("direct", "planes"): ("planes", False),
    ("virtual", "plain"): ("held", False),
    ("virtual", "controller"): ("held", True),
    ("virtual", "planes"): ("planes", False),
    ("virtual", "tool"): ("held", False),
}


def run(params: Params, tell: Tell = silent) -> Result:
    """Press on the floor in time, late, and late with the controller; then map the limits."""
    p = params
    steps = len(LINES) * len(p.delays) + 1
    presses: dict[tuple[str, str], Press] = {}
    maps: dict[tuple[str, str], Limits] = {}
    tell(0.0, "pressing")
    cases: tuple[tuple[Coupling, float, int], ...] = (
        ("direct", p.direct_stiffness, p.direct_delay),
        ("virtual", p.virtual_stiffness, p.virtual_delay),
    )
    for coupling, stiffness, delay in cases:
        for name, (late, kept) in {**SHOWN, "plain": (delay, False), "kept": (delay, True)}.items():
            presses[coupling, name] = press(p, coupling, stiffness, late, kept)
    driver = press(p, "direct", p.direct_stiffness, p.direct_delay, True, driver_delay=1)
    for i, (coupling, name) in enumerate(LINES):
        found, presses_made = [], []
        for j, delay in enumerate(p.delays):
            done = (1 + i * len(p.delays) + j) / steps
            tell(done, f"map, {WORDS[coupling]}, {name}, {delay} periods late")
            limit, made = _limit(p, coupling, name, delay)
            found.append(limit)
            presses_made += made
        least = min(float(made.observed.min()) for made in presses_made)
        restless = sum(not _quiet(p, coupling, name, made) for made in presses_made)
        maps[coupling, name] = Limits(np.array(found), least, restless)
    return Result(p, presses, driver, maps)


def _limit(p: Params, coupling: Coupling, name: str, delay: int) -> tuple[float, list[Press]]:
    """One point of the map, and all runs that were made for it."""
    contact, kept = LINES[coupling, name]
    made: list[Press] = []

    def at_rest(stiffness: float) -> bool:
        seconds = p.map_seconds
        made.append(press(p, coupling, stiffness, delay, kept, contact=contact, seconds=seconds))
        return _quiet(p, coupling, name, made[-1])

    return largest(p, at_rest), made


def _quiet(p: Params, coupling: Coupling, name: str, made: Press) -> bool:
    """Whether what a line of the map is about has come to rest."""
    return made.rattle < p.tool_rest if name == "tool" else made.swing < rest(p, coupling)


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
        ramp=0.0, fresh=math.inf, stale=math.inf, silence=math.inf, net=kept, lead=kept, cap=False,
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
    tool = trace["tool.position"][:, 2]
    end = max(1, round(p.last * p.rate))
    return Press(
        time=trace["time"],
        height=height,
        force=trace["device.force"][:, 2],
        observed=trace["energy.observed"],
        true=np.array(true),
        acted=int(np.count_nonzero(trace["fault"].astype(np.int64) & FAULT_NET)),
        swing=float(np.ptp(height[-end:])),
        rattle=float(np.ptp(tool[-end:])),
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


def boundary(p: Params, delay: int) -> float:
    """Stiffness at which the arm at a wall that late swings for ever, direct coupling [N/m].

    State (x_n, v_n, x_{n−1}, …, x_{n−2−L}); the boundary is where its largest eigenvalue leaves the
    unit circle.
    """
    from scipy.linalg import expm

    mass, damping = p.arm_mass + p.device_mass, p.arm_damping + p.device_damping
    motion = np.zeros((3, 3))  # of x, v and a constant force
    motion[0, 1] = 1.0
    motion[1] = (-p.arm_stiffness / mass, -damping / mass, 1.0 / mass)
    tick = expm(motion / p.rate)
    size = delay + 4

    def grows(stiffness: float) -> bool:
        step = np.zeros((size, size))
        step[:2, :2] = tick[:2, :2]
        step[:2, size - 2] -= 2.0 * stiffness * tick[:2, 2]
        step[:2, size - 1] += stiffness * tick[:2, 2]
        step[2, 0] = 1.0
        step[np.arange(3, size), np.arange(2, size - 1)] = 1.0
        return bool(np.abs(np.linalg.eigvals(step)).max() > 1.0)

    low, high = 1.0, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low


def age(p: Params, delay: int) -> float:
    """Mean age τ = T/2 + delay of a held contact force, one period being one tick [s]."""
    return (delay + 0.5) / p.rate


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
                  "K τ > b", 1e3 * plain.swing, "mm", plain.swing > 5e-3),
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
    plain_map = result.maps["direct", "plain"]
    expected = np.array([boundary(p, delay) for delay in p.delays])
    off = float(np.max(np.abs(plain_map.stiffness / expected - 1.0)))
    with_controller = [result.maps[name, "controller"] for name in couplings]
    restless = sum(line.restless for line in with_controller)
    least = min(line.least for line in with_controller)
    late_ones = np.array(p.delays) > 0
    planes = np.minimum(result.maps["direct", "planes"].stiffness, p.stiffest)
    gain = (planes / np.clip(plain_map.stiffness, p.softest, p.stiffest))[late_ones]
    return [
        *claims,
        Claim("map-plain", "map, direct, plain: largest stiffness at rest within 10 % of the "
              "boundary of the sampled loop", "largest |z| = 1", 100.0 * off, "%", off < 0.10),
        Claim("map-controller", "map, both couplings, controller: the hand is at rest at every "
              f"delay and stiffness up to {p.stiffest:g} N/m", "no limit", float(restless),
              "runs without rest", restless == 0),
        Claim("map-energy", "map, both couplings, controller: observed net energy at least "
              "−1e-6 J in every run", "E ≥ 0", least, "J", least >= OVERDRAWN),
        Claim("map-planes", "map, direct, plain: planes instead of the held force allow at least "
              "twice the stiffness at every delay", "–", float(gain.min()), "times",
              bool(gain.min() > 2.0)),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """What the controller costs, and what it cannot see."""
    p, rows = result.params, []
    end = slice(-max(1, round(p.last * p.rate)), None)
    for name, words in WORDS.items():
        for kind in ("prompt", "plain", "kept"):
            made = result.presses[name, kind]
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
    direct, virtual = (1e3 * delay / p.rate for delay in (p.direct_delay, p.virtual_delay))
    figure, axes = canvas(
        f"A hand presses on a floor whose force comes late: {direct:g} ms in the direct coupling "
        f"({p.direct_stiffness:g} N/m), {virtual:g} ms in the virtual one "
        f"({p.virtual_stiffness:g} N/m, held by {p.coupling_stiffness:g} N/m). "
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
            made = result.presses[name, kind]
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
        "Largest contact stiffness at which the hand comes to rest, against the mean age of the "
        f"contact force (bisected to {100.0 * p.tolerance:g} %; arrows: no limit up to "
        f"{p.stiffest:g} N/m). Left: direct coupling, at rest within {1e3 * p.direct_rest:g} mm; "
        "crosses: the boundary of the sampled loop; dotted: K = b/τ. Right: virtual coupling, "
        f"within {1e3 * p.virtual_rest:g} mm. Above the grey line the tool itself rattles: the "
        "controller guards the hand, it does not calm the tool.",
        columns=2,
        size=(8.6, 3.7),
    )
    ages = 1e3 * np.array([age(p, delay) for delay in p.delays])
    shown = {
        "plain": ("held force", COLOURS["point"], "o"),
        "planes": ("planes", COLOURS["vertex rule"], "s"),
        "controller": ("held force, controller", COLOURS["volume"], "D"),
        "tool": ("held force, tool at rest", FAINT, "v"),
    }
    for panel, (coupling, words) in zip(panels, WORDS.items(), strict=True):
        for name, (label, colour, marker) in shown.items():
            if (coupling, name) not in result.maps:
                continue
            found = result.maps[coupling, name].stiffness
            free = np.isinf(found)
            drawn = np.where(free, p.stiffest, found)
            panel.plot(ages, drawn, marker + "-", color=colour, lw=1.0, ms=5, label=label)
            panel.plot(ages[free], 1.18 * drawn[free], "^", color=colour, ms=5)
        panel.set_title(words)
        panel.set_xlabel("age τ = T/2 + delay [ms]")
        panel.set_ylabel("stiffness [N/m]")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.8 * p.softest, 1.6 * p.stiffest)
    expected = [boundary(p, delay) for delay in p.delays]
    panels[0].plot(ages, expected, "x", color=INK, ms=7, label="boundary")
    damping = p.arm_damping + p.device_damping
    panels[0].plot(ages, 1e3 * damping / ages, ":", color=INK, lw=1.0, label="b/τ")
    for panel in panels:
        panel.legend(loc="lower left", fontsize=7.5)
    return figure


def strip(result: Result) -> Figure:
    """The direct coupling, late: thrown about when plain, kept on the floor."""
    frames = []
    box = tg.Box(TOOL)
    for name, label in (("plain", "plain"), ("kept", "controller")):
        made = result.presses["direct", name]
        for t in (0.0, 0.5, 0.9):
            i = min(round(t * result.params.rate), len(made.time) - 1)
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
    paper="ours; theory: Colgate & Schenkel 1997, Hannaford & Ryu 2002",
    summary="a late contact shakes the hand; the passivity controller keeps it at rest",
    params=Params(),
    quick=Params(delays=(5,), grid=4),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
