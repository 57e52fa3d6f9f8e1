"""Late devices and late contacts: when a wall shakes the hand, and what keeps it still.

A person's arm presses a tool on a floor. Two things may be late. The *device*: a command reaches
the motors some ticks after it was computed. A spring K felt a time τ late acts like the damper −K τ
and a force held for a tick T is T/2 old on average, so the hand comes to rest only while the
dampers around it outweigh that, [COLGATE1997]:

    b > K (T/2 + delay) + B

For a direct coupling on planes the boundary is known exactly (`boundary`): the arm is linear, and
the force F_n = −K x_{n−d} is constant over each tick. The *contact*: what the servo knows of the
floor is renewed once in some periods, from a tool state that is a period old.

Lead, cap and net (`haptics.reading`, `haptics.safety`, `haptics.energy_net`) are judged by what the
motors gave to the hand, by the arm's own books, by how far the tool went, and by the largest step
of the force.
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
from tangere.haptics.safety import HAND_MASS, stiffest
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Contact = Literal["planes", "linear", "held"]

GIVEN = 1e-3  # [J] that the motors may give at most
FAR = 0.02  # [m] that the tool may be from the floor at most
TOOL = (0.04, 0.04, 0.02)  # [m]
ABOVE = 0.002  # [m] tool over the floor at the start
CONTACTS: tuple[Contact, ...] = ("planes", "linear", "held")


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
    contact_stiffness: float = 5000.0
    couplings: tuple[float, ...] = (200.0, 1000.0)
    shown_stiffness: float = 1500.0  # of the runs that are drawn, ...
    shown_delay: int = 4  # ... and how late their device is [ticks]
    device_delays: tuple[int, ...] = (0, 1, 2, 4, 6, 10, 20)  # [ticks]
    contact_periods: tuple[int, ...] = (1, 2, 5, 10, 20)  # [ticks]
    rest: float = 0.5e-3  # the hand is at rest if it swings by less, end to end
    softest: float = 20.0
    stiffest: float = 1e5
    grid: int = 8  # stiffnesses tried before the interval is halved
    tolerance: float = 0.05
    seconds: float = 1.5
    rest_seconds: float = 4.0  # near the boundary a swing fades slowly
    last: float = 0.4  # end of a run, in which the swing is taken
    slew: float = 2000.0  # [N/s]
    rate: float = 1000.0


@dataclass(frozen=True)
class Press:
    """One run."""

    time: Array
    height: Array  # of the hand over where the tool would touch the floor [m]
    tool: Array  # height of the tool over the floor [m]
    force: Array  # sent, upwards [N]
    given: Array  # work of the motors on the hand, by the arm's books [J]
    net: Array  # share of the force that the net left
    swing: float  # of the hand at the end, from end to end [m]

    @property
    def most(self) -> float:
        """Most energy that the motors ever gave [J]."""
        return float(self.given.max())

    @property
    def deep(self) -> float:
        """Deepest that the tool was below the floor [m]."""
        return max(0.0, -float(self.tool.min()))

    @property
    def far(self) -> float:
        """Farthest that the tool got from the floor [m]."""
        return float(np.abs(self.tool).max())

    @property
    def step(self) -> float:
        """Largest change of the force from tick to tick [N]."""
        return float(np.abs(np.diff(self.force)).max())


@dataclass(frozen=True)
class Result:
    """Runs that are drawn; the map by line; late devices at the cap; late contacts."""

    params: Params
    shown: dict[str, Press]
    maps: dict[str, Array]  # largest stiffness for each delay; inf: none was found
    capped: dict[int, Press]  # by delay of the device, coupling as stiff as the cap allows
    late: dict[tuple[Contact, int, float], Press]  # by contact, period, coupling


# Lines of the map: lead, net, and what it is judged by
LINES: dict[str, tuple[bool, bool, Literal["rest", "energy"]]] = {
    "plain, at rest": (False, False, "rest"),
    "plain": (False, False, "energy"),
    "lead": (True, False, "energy"),
    "lead and net": (True, True, "energy"),
}
SHOWN = {"prompt": (False, False), "plain": (False, False), "kept": (True, True)}


def run(params: Params, tell: Tell = silent) -> Result:
    """Press with a late device, map the limits, then with late contacts."""
    p = params
    steps = len(LINES) * len(p.device_delays) + 2
    shown = {}
    tell(0.0, "pressing")
    for name, (lead, net) in SHOWN.items():
        delay = 0 if name == "prompt" else p.shown_delay
        shown[name] = press(p, delay, stiffness=p.shown_stiffness, lead=lead, net=net)
    maps = {}
    for i, (name, (lead, net, judged)) in enumerate(LINES.items()):
        found = []
        for j, delay in enumerate(p.device_delays):
            tell((1 + i * len(p.device_delays) + j) / steps, f"map, {name}, {delay} ticks late")
            found.append(largest(p, _judge(p, delay, lead, net, judged)))
        maps[name] = np.array(found)
    tell((steps - 1) / steps, "late contacts")
    capped = {d: press(p, d, coupling=cap(p, d)) for d in p.device_delays}
    late = {
        (contact, period, coupling): press(p, 0, coupling=coupling, contact=contact, period=period)
        for contact in CONTACTS
        for period in p.contact_periods
        for coupling in (*(k for k in p.couplings if k < cap(p, 0, period)), cap(p, 0, period))
    }
    return Result(p, shown, maps, capped, late)


def _judge(
    p: Params, delay: int, lead: bool, net: bool, judged: Literal["rest", "energy"]
) -> Callable[[float], bool]:
    """Whether a hand on a wall of some stiffness is calm, by one of two measures."""

    def calm(stiffness: float) -> bool:
        seconds = p.rest_seconds if judged == "rest" else p.seconds
        made = press(
            p, delay, stiffness=stiffness, lead=lead, net=net, slew=math.inf, seconds=seconds
        )
        return made.swing < p.rest if judged == "rest" else made.most <= GIVEN

    return calm


def cap(p: Params, delay: int, period: int = 1) -> float:
    """Stiffness that a session allows for this device and contact period [N/m]."""
    return stiffest(p.device_mass + HAND_MASS, delay / p.rate, 1.0 / p.rate, period / p.rate)


def press(
    p: Params,
    delay: int,
    *,
    stiffness: float | None = None,
    coupling: float | None = None,
    lead: bool = True,
    net: bool = True,
    contact: Contact = "planes",
    period: int = 1,
    slew: float | None = None,
    seconds: float | None = None,
) -> Press:
    """An arm presses a tool on a floor.

    Args:
        p: Parameters.
        delay: Of the device [ticks].
        stiffness: Of the floor; that of the parameters if not given.
        coupling: Stiffness between hand and tool; None: the hand is the tool.
        lead: See `tg.Safety`.
        net: Likewise.
        contact: What the servo knows of the floor.
        period: Ticks between two packets; the first is a period late.
        slew: Most change of the force [N/s].
        seconds: How long.
    """
    k = p.contact_stiffness if stiffness is None else stiffness
    smooth = tg.Material(0.0, 0.0, stiffness=k, damping=0.0)
    scene = tg.Scene()
    scene.add_floor(material=smooth)
    start = 0.5 * TOOL[2] + ABOVE
    scene.add_tool(
        tg.Box(TOOL),
        mass=p.tool_mass,
        position=(0.0, 0.0, start),
        material=smooth,
        coupling=tg.DirectCoupling()
        if coupling is None
        else tg.VirtualCoupling(stiffness=coupling, max_force=12.0),
    )

    def intent(t: float) -> tuple[float, float, float]:
        u = min(max((t - 0.05) / 0.3, 0.0), 1.0)
        return 0.0, 0.0, start - (ABOVE + p.press) * u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)

    hand = tg.devices.Hand(
        intent,
        device=tg.devices.DeviceModel(mass=p.device_mass, damping=p.device_damping, delay=delay),
        mass=p.arm_mass,
        stiffness=p.arm_stiffness,
        damping=p.arm_damping,
    )
    safety = tg.Safety(
        force=1e3, torque=10.0, power=math.inf, slew=p.slew if slew is None else slew,
        speed=math.inf, jump=math.inf, ramp=0.0, samples=0, fresh=math.inf, stale=math.inf,
        silence=math.inf, lead=lead, net=net, cap=False,
    )  # fmt: skip
    session = tg.Session(
        scene,
        device=hand,
        rate=p.rate,
        contact_rate=p.rate / period,
        latency=0 if period == 1 else 1,
        contact=contact,
        safety=safety,
    )
    given: list[float] = []
    trace = session.run(
        p.seconds if seconds is None else seconds,
        realtime=False,
        each=lambda: given.append(hand.books(session.rigs[0].arm).given),
    )
    height = trace["device.position"][:, 2] - 0.5 * TOOL[2]
    end = max(1, round(p.last * p.rate))
    return Press(
        time=trace["time"],
        height=height,
        tool=trace["tool.position"][:, 2] - 0.5 * TOOL[2],
        force=trace["device.force"][:, 2],
        given=np.array(given),
        net=trace["servo.net"],
        swing=float(np.ptp(height[-end:])),
    )


def largest(p: Params, calm: Callable[[float], bool]) -> float:
    """Stiffness up to which the hand is calm [N/m]: inf if it always is, 0 if never.

    From soft to stiff over a grid, as rest need not be lost once for all; then by halves.
    """
    low = 0.0
    for stiffness in np.geomspace(p.softest, p.stiffest, p.grid):
        if not calm(float(stiffness)):
            break
        low = float(stiffness)
    else:
        return math.inf
    if low == 0.0:
        return 0.0
    high = float(stiffness)
    while high > low * (1.0 + p.tolerance):
        middle = math.sqrt(low * high)
        if calm(middle):
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def boundary(p: Params, delay: int) -> float:
    """Stiffness at which the arm at a wall that late swings for ever, direct coupling [N/m].

    State (x_n, v_n, x_{n−1}, …, x_{n−d}); the boundary is where its largest eigenvalue leaves the
    unit circle.
    """
    from scipy.linalg import expm

    mass, damping = p.arm_mass + p.device_mass, p.arm_damping + p.device_damping
    motion = np.zeros((3, 3))  # of x, v and a constant force
    motion[0, 1] = 1.0
    motion[1] = (-p.arm_stiffness / mass, -damping / mass, 1.0 / mass)
    tick = expm(motion / p.rate)
    size = delay + 2
    felt = 0 if delay == 0 else size - 1  # where x_{n−d} stands

    def grows(stiffness: float) -> bool:
        step = np.zeros((size, size))
        step[:2, :2] = tick[:2, :2]
        step[:2, felt] -= stiffness * tick[:2, 2]
        if delay > 0:
            step[2, 0] = 1.0
            step[np.arange(3, size), np.arange(2, size - 1)] = 1.0
        return bool(np.abs(np.linalg.eigvals(step)).max() > 1.0)

    low, high = 1.0, 1e7
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low


def age(p: Params, delay: int) -> float:
    """Mean age τ = T/2 + delay of the force that a hand feels [s]."""
    return (delay + 0.5) / p.rate


def check(result: Result) -> list[Claim]:
    """Active without, passive with, below the cap everywhere; late contacts keep the tool."""
    p = result.params
    plain, kept = result.shown["plain"], result.shown["kept"]
    late = f"device {1e3 * p.shown_delay / p.rate:g} ms late, wall of {p.shown_stiffness:g} N/m"
    expected = np.array([boundary(p, delay) for delay in p.device_delays])
    found = result.maps["plain, at rest"]
    inside = (expected > p.softest) & (expected < p.stiffest)
    off = float(np.max(np.abs(found[inside] / expected[inside] - 1.0)))
    delayed = (np.array(p.device_delays) > 0) & (np.array(p.device_delays) <= 6)
    capped = np.array([cap(p, delay) for delay in p.device_delays])
    room = float(np.min(np.minimum(result.maps["lead"], p.stiffest) / capped))
    ratio = np.minimum(result.maps["lead"], p.stiffest) / np.maximum(result.maps["plain"], 1.0)
    slew = p.slew / p.rate
    claims = [
        Claim("plain-active", f"{late}, plain: the motors give more than 10 mJ", "active",
              1e3 * plain.most, "mJ", plain.most > 1e-2),
        Claim("kept-passive", f"{late}, lead and net: the motors give at most 1 mJ", "passive",
              1e3 * kept.most, "mJ", kept.most <= GIVEN),
        Claim("kept-idle", f"{late}: the net never acts behind the lead", "idle",
              float(kept.net.min()), "", bool(kept.net.min() == 1.0)),
        Claim("map-plain", "map, plain: largest stiffness at rest within 10 % of the boundary of "
              "the sampled loop", "largest |z| = 1", 100.0 * off, "%", off < 0.10),
        Claim("map-lead", "map: with lead at least twice the stiffness of the plain loop, by "
              "energy, for delays of 1 to 6 ms (the lead is 8 ms at most)", "–",
              float(ratio[delayed].min()), "times", bool(ratio[delayed].min() >= 2.0)),
        Claim("map-cap", "map: the cap is below what the lead keeps passive, at every delay",
              "safe side", room, "times", room >= 1.0),
    ]  # fmt: skip
    groups = {
        "capped": (f"device 0 … {max(p.device_delays)} ms late, coupling at the cap",
                   list(result.capped.values())),
        "late": (f"contacts 1 … {max(p.contact_periods)} periods late, couplings up to the cap, "
                 "planes, linear and held", list(result.late.values())),
    }  # fmt: skip
    for name, (words, made) in groups.items():
        far, given = max(each.far for each in made), max(each.most for each in made)
        step = max(each.step for each in made)
        claims += [
            Claim(f"{name}-tool", f"{words}: the tool stays within 20 mm of the floor", "bounded",
                  1e3 * far, "mm", far <= FAR),
            Claim(f"{name}-energy", f"{words}: the motors give at most 1 mJ", "passive",
                  1e3 * given, "mJ", given <= GIVEN),
            Claim(f"{name}-step", f"{words}: no step of the force above the slew limit",
                  f"{slew:g} N", step, "N", step <= slew * (1.0 + 1e-9)),
        ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Force at the end, and the deepest tools of each way to know a contact."""
    p, rows = result.params, []
    end = slice(-max(1, round(p.last * p.rate)), None)
    for name, made in result.shown.items():
        rows.append(Reading("mean force at the end", name, float(made.force[end].mean()), "N"))
    for contact in CONTACTS:
        for period in p.contact_periods:
            deep = max(
                m.deep for (c, n, _), m in result.late.items() if (c, n) == (contact, period)
            )
            rows.append(Reading(f"deepest tool, period {period} ms", contact, 1e3 * deep, "mm"))
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """The hand and the energy in time; the map."""
    return [_runs(result), _map(result)]


def _runs(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        f"A hand presses on a wall of {p.shown_stiffness:g} N/m through a device whose motors are "
        f"{1e3 * p.shown_delay / p.rate:g} ms late. Left: height of the hand. Right: energy that "
        "the motors gave to it, by the arm's own books.",
        columns=2,
        size=(8.6, 3.2),
    )
    words = {
        "prompt": ("no delay", FAINT),
        "plain": ("late", COLOURS["point"]),
        "kept": ("late, lead and net", COLOURS["volume"]),
    }
    for name, (label, colour) in words.items():
        made = result.shown[name]
        left.plot(made.time, 1e3 * made.height, color=colour, label=label, lw=1.1)
        right.plot(made.time, 1e3 * made.given, color=colour, label=label)
    left.set_ylabel("hand [mm]")
    right.set_ylabel("given by the motors [mJ]")
    right.set_yscale("symlog", linthresh=1.0)
    for each in (left, right):
        each.set_xlabel("time [s]")
    right.legend(loc="upper left")
    return figure


def _map(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        "Left: largest stiffness of a wall, felt directly, against the age of the force (bisected "
        f"to {100.0 * p.tolerance:g} %). Grey: the hand comes to rest; crosses: the boundary of "
        "the sampled loop; colours: the motors give at most 1 mJ; dashed: the cap of a session. "
        "Right: deepest that a tool gets into a floor of "
        f"{p.contact_stiffness:g} N/m whose packets come every n periods and a period late.",
        columns=2,
        size=(8.6, 3.7),
    )
    ages = 1e3 * np.array([age(p, delay) for delay in p.device_delays])
    shown = {
        "plain, at rest": (FAINT, "v"),
        "plain": (COLOURS["point"], "o"),
        "lead": (COLOURS["vertex rule"], "s"),
        "lead and net": (COLOURS["volume"], "D"),
    }
    for name, (colour, marker) in shown.items():
        drawn = np.clip(result.maps[name], p.softest, p.stiffest)
        left.plot(ages, drawn, marker + "-", color=colour, lw=1.0, ms=5, label=name)
    left.plot(ages, [boundary(p, d) for d in p.device_delays], "x", color=INK, ms=7, label="theory")
    left.plot(ages, [cap(p, d) for d in p.device_delays], "--", color=INK, lw=1.0, label="cap")
    left.set_xlabel("age τ = T/2 + delay [ms]")
    left.set_ylabel("stiffness [N/m]")
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_ylim(0.8 * p.softest, 1.6 * p.stiffest)
    left.legend(loc="lower left", fontsize=7.5)
    colours = (COLOURS["volume"], COLOURS["vertex rule"], COLOURS["point"])
    for contact, colour in zip(CONTACTS, colours, strict=True):
        deep = [
            max(m.deep for (c, n, _), m in result.late.items() if (c, n) == (contact, period))
            for period in p.contact_periods
        ]
        right.plot(p.contact_periods, 1e3 * np.array(deep), "o-", color=colour, label=contact)
    right.set_xlabel("contact period n [ms]")
    right.set_ylabel("deepest tool [mm]")
    right.set_xscale("log")
    right.legend(loc="upper left", fontsize=7.5)
    return figure


def strip(result: Result) -> Figure:
    """The late device: thrown about when plain, kept on the floor."""
    frames = []
    box = tg.Box(TOOL)
    for name, label in (("plain", "plain"), ("kept", "lead and net")):
        made = result.shown[name]
        for t in (0.0, 0.5, 0.9):
            i = min(round(t * result.params.rate), len(made.time) - 1)
            place = np.array((0.0, 0.0, 0.5 * TOOL[2] + float(made.height[i])))
            upright = np.array((1.0, 0.0, 0.0, 0.0))
            solids = pictures.solids(box, place, upright, pictures.PALETTE[0])
            frames.append(pictures.Frame(solids, f"{label}, {made.time[i]:.2f} s"))
    camera = pictures.Camera(
        azimuth=-60.0, elevation=12.0, centre=(0.0, 0.0, 0.015), width=0.08, height=0.06
    )
    return pictures.strip(frames, camera, "A hand presses on a wall through a late device.")


EXPERIMENT = Experiment(
    name="contact-delay",
    paper="ours; theory: Colgate & Schenkel 1997",
    summary="late devices and contacts shake the hand; lead, cap and net keep it at rest",
    params=Params(),
    quick=Params(device_delays=(0, 4), contact_periods=(1, 10), couplings=(1000.0,), grid=5),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
