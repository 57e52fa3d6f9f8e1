"""Contacts in time: how long they take, and what a slow simulation leaves of them, [DURIEZ2006].

Their Fig. 17 and 18 are the time of contact handling while a clip is pushed on a pipe: 4 ms for 20
contacts with friction, 3 ms for 30 without, on a computer of 2005. Here the same is taken from the
clock inside the step: W + solve + correction, each solve from the forces of the last step, while a
hand pushes the clip on at 20 mm/s. The cap on contacts is set to those numbers. Then the hand pulls
the clip off, which the paper does not time. The whole step is timed on both ways, with as many
contacts as the servo has room for, 24, and with the usual cap of 48. A soft pad that is pressed on
a floor and moved about gives other numbers of contacts: all of its lower vertices touch.

Multirate: the simulation makes 250 or 100 steps a second and hands over its contact problem, which
the servo solves again at each of its thousand ticks (`haptics.contact_problem`). Beside it are two
simpler schemes. *Held*: the servo moves the tool under the contact force of the last step. *Last*:
the simulation computes the device's force, which stays until the next step, as in the paper.

All runs have the same damping of the material, 1 ms: by default it is the step, and so another
clip at every rate.

A held force changes once in n ticks, by no more than n changes of the force that it follows. So at
250 Hz, where n is 4, no scheme that gives the force of the 1 kHz run has jumps much below 25 % of
the last scheme's: the 1 kHz run itself has not. There the claim is about the jumps that a scheme
adds to those of the 1 kHz run; the plain shares are shown beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

import tangere as tg
from tangere.contact.signorini.options import Signorini
from tangere.experiments import pictures, surface_pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, INK, canvas, house_style
from tangere.experiments.soft_timing import (
    TICK,
    TOLERANCE,
    Timing,
    cold,
    median,
    percentile,
    timed_pad,
    timed_steps,
)
from tangere.haptics.layout import MAX_CONTACTS
from tangere.maths.vec import Array
from tangere.scene.soft_library import HANDLE, OUTER, RADIUS, START, clip_on_pipe
from tangere.simulation import SoftBodyState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scheme = Literal["problem", "held", "last"]

SCHEMES: tuple[Scheme, ...] = ("problem", "held", "last")
# What the paper took, and what is claimed here: contacts, friction, paper [ms]
COUNTS = ((20, 0.2, 4.0), (20, 0.8, 4.0), (30, 0.0, 3.0))
# Most contacts of a clip whose whole step is timed: what the servo has room for, and the default.
CAPS = (MAX_CONTACTS, Signorini().max_contacts)
MEDIAN, TAIL = 0.1e-3, 0.25e-3  # of the contact handling of these [s]
MANY, MANY_TIME = 200, 5e-3  # contacts, and what they may take [s]
RMS, JUMP = 0.05, 0.25  # of the force, as claimed
SHOWN = (0.0, 0.3, 0.62, 0.75)  # pictures of the clip [s]
STRESS = 15e6  # that has the darkest colour [Pa]


@dataclass(frozen=True)
class Params:
    """Values of the experiment, SI units."""

    frictions: tuple[float, ...] = (0.2, 0.8)
    speed: float = 0.02  # of the hand
    height: float = START  # of the clip's centre above the pipe's axis, at the start
    rest: float = 0.2  # of the hand at either end of its way
    damping: float = 1e-3
    fine_cells: tuple[int, int, int] = (72, 8, 3)  # of the clip that is timed, elements of 10 nodes
    fine_steps: int = 10_000
    # vertices of a pad along x and y
    pads: tuple[tuple[int, int], ...] = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8), (12, 10), (20, 10))
    pad_steps: int = 1000
    cold_rounds: int = 5  # solves of a pad's problem from no forces
    lead_in: int = 50  # steps before those that are timed
    cells: tuple[int, int, int] = (60, 2, 2)  # of the clip that is felt, elements of 4 nodes
    rates: tuple[float, ...] = (250.0, 100.0)  # of the simulation
    seconds: float = 1.0


@dataclass(frozen=True)
class Picture:
    """The clip at one time."""

    time: float
    surface: surface_pictures.Surface


@dataclass(frozen=True)
class Result:
    """Times of steps; forces at the device along its way [N], by friction, scheme and rate."""

    params: Params
    tetrahedra: int
    counted: dict[tuple[int, float], Timing]  # by the cap on contacts and friction
    whole: dict[tuple[int, float], Timing]  # likewise, with the caps of `CAPS`
    pads: dict[tuple[int, float], Timing]  # by contacts and friction
    cold: dict[int, tuple[float, float]]  # solves of pads by contacts: ours, Siconos' [s]
    single: dict[float, Array]  # at 1 kHz throughout, by friction
    felt: dict[tuple[float, Scheme, float], Array]
    pictures: list[Picture]


def run(params: Params, tell: Tell = silent) -> Result:
    """Clips and pads in time, then a clip pushed on at every rate."""
    p = params
    steps = len(COUNTS) + len(p.frictions) * (len(CAPS) + len(p.pads) + 1 + len(p.rates))
    done = 0

    def told(doing: str) -> None:
        nonlocal done
        tell(done / steps, doing)
        done += 1

    counted, whole, pads = {}, {}, {}
    solved: dict[int, tuple[float, float]] = {}  # with the last friction
    for contacts, mu, _ in COUNTS:
        told(f"clip, {contacts} contacts, μ = {mu:g}")
        counted[contacts, mu] = timed_clip(p, mu, contacts)
    for mu in p.frictions:
        for most in CAPS:
            told(f"clip, at most {most} contacts, μ = {mu:g}")
            whole[most, mu] = timed_clip(p, mu, most)
        for across in p.pads:
            contacts = across[0] * across[1]
            told(f"pad, {contacts} contacts, μ = {mu:g}")
            pads[contacts, mu] = timing = timed_pad(across, mu, p.pad_steps, p.lead_in)
            if timing.problem is not None:
                solved[contacts] = cold(timing.problem, p.cold_rounds)
    single, felt = {}, {}
    taken: list[Picture] = []
    for mu in p.frictions:
        told(f"felt at 1 kHz, μ = {mu:g}")
        single[mu] = push(p, mu, 1000.0, "problem", taken if mu == p.frictions[-1] else None)
        for rate in p.rates:
            told(f"felt at {rate:g} Hz, μ = {mu:g}")
            for scheme in SCHEMES:
                felt[mu, scheme, rate] = push(p, mu, rate, scheme)
    return Result(
        p, 6 * int(np.prod(p.fine_cells)), counted, whole, pads, solved, single, felt, taken
    )


# ---------------------------------------------------------------- time


def timed_clip(p: Params, mu: float, most: int) -> Timing:
    """A hand pushes a fine clip on its pipe and pulls it off again, at most so many contacts."""
    scene = clip_on_pipe(friction=mu, cells=p.fine_cells, damping=p.damping, height=p.height)
    way = p.height / p.speed

    def hand(t: float) -> tuple[float, float, float]:
        t %= cycle(p)
        return _above(p, p.speed * min(t, way, max(0.0, 2.0 * way + p.rest - t)))

    return timed_steps(scene, hand, most, p.fine_steps, p.lead_in)


def cycle(p: Params) -> float:
    """Time until the hand is where it began: on, rest, off, rest [s]."""
    return 2.0 * (p.height / p.speed + p.rest)


def one_way(p: Params, timing: Timing, contacts: int, on: bool = True) -> Array:
    """Contact handling of the steps with so many contacts, on the way on or off [s]."""
    at = TICK * (p.lead_in + np.arange(len(timing.contacts)))
    going_on = at % cycle(p) < 0.5 * cycle(p)
    times: Array = timing.handling[(timing.contacts == contacts) & (going_on == on)]
    return times


# ---------------------------------------------------------------- force


def push(
    p: Params, mu: float, rate: float, scheme: Scheme, taken: list[Picture] | None = None
) -> Array:
    """Force at the device, upwards, at every millisecond while a clip is pushed on [N].

    Args:
        p: Parameters.
        mu: Friction.
        rate: Of the simulation [Hz].
        scheme: What is made of its steps.
        taken: Gets pictures of the clip.
    """
    scene = clip_on_pipe(friction=mu, cells=p.cells, order=1, damping=p.damping, height=p.height)
    session = tg.Session(
        scene,
        method="signorini",
        device=tg.devices.Scripted(lambda t: _above(p, min(p.speed * t, p.height))),
        rate=rate if scheme == "last" else 1.0 / TICK,
        contact_rate=rate,
        contact="held" if scheme == "held" else "problem",
    )
    sim = session.simulation

    def photograph() -> None:
        if taken is not None and len(taken) < len(SHOWN) and sim.time >= SHOWN[len(taken)]:
            clip = sim["clip"]
            assert isinstance(clip, SoftBodyState)
            surface = surface_pictures.Surface(clip.vertices, clip.triangles, clip.stress / STRESS)
            taken.append(Picture(sim.time, surface))

    trace = session.run(p.seconds, realtime=False, each=photograph)
    force: Array = trace["device.force"][:, 2]
    return np.repeat(force, round(1.0 / (rate * TICK))) if scheme == "last" else force


def _above(p: Params, way: float) -> tuple[float, float, float]:
    """Where a hand holds the clip that came down so far [m]."""
    return 0.0, 0.0, p.height + OUTER + 0.5 * HANDLE[2] - way


def rms(force: Array, exact: Array) -> float:
    """Root mean square of the difference, as a share of that of the force itself."""
    return float(np.sqrt(np.mean((force - exact) ** 2) / np.mean(exact**2)))


def jump(force: Array) -> float:
    """Largest change of a force from one millisecond to the next [N]."""
    return float(np.abs(np.diff(force)).max())


# ---------------------------------------------------------------- claims


def check(result: Result) -> list[Claim]:
    """Times of so many contacts, of the snap-in, and forces at low rates."""
    p = result.params
    claims = []
    for contacts, mu, paper in COUNTS:
        times = one_way(p, result.counted[contacts, mu], contacts)
        kind = f"{contacts} contacts, μ = {mu:g}"
        for name, share, most in (("median", 50.0, MEDIAN), ("p99", 99.0, TAIL)):
            found = percentile(times, share)
            claims.append(
                Claim(f"time-{contacts}-{mu:g}-{name}", f"clip, {kind}: {name} of W + solve + "
                      f"correction within {1e3 * most:g} ms", f"{paper:g} ms", 1e3 * found, "ms",
                      found <= most)
            )  # fmt: skip
    low, high = (median(one_way(p, result.counted[20, mu], 20)) for mu in (0.2, 0.8))
    many = [result.pads[MANY, mu] for mu in p.frictions if (MANY, mu) in result.pads]
    slow = max((percentile(each.handling, 99.0) for each in many), default=np.nan)
    timed = [*result.counted.values(), *result.whole.values(), *result.pads.values()]
    residual = max(float(each.residual.max()) for each in timed)
    whole = np.concatenate([result.whole[CAPS[0], mu].whole for mu in p.frictions])
    snap = f"snap-in and pull-off, clip of {result.tetrahedra} tetrahedra, {CAPS[0]} contacts"
    claims += [
        Claim("time-friction", "20 contacts: μ = 0.8 takes at most 3 times as long as μ = 0.2",
              "–", high / low, "times", high <= 3.0 * low),
        Claim("time-200", f"pad, {MANY} frictional contacts: p99 within {1e3 * MANY_TIME:g} ms",
              "–", 1e3 * slow, "ms", slow <= MANY_TIME),
        Claim("residual", f"every step that is timed is solved to {TOLERANCE:g}", "–", residual,
              "", residual <= TOLERANCE),
        Claim("time-snap-median", f"{snap}: median of the whole step within 1 ms", "–",
              1e3 * median(whole), "ms", median(whole) <= TICK),
        Claim("time-snap-p99", f"{snap}: p99 of the whole step within 1 ms", "–",
              1e3 * percentile(whole, 99.0), "ms", percentile(whole, 99.0) <= TICK),
    ]  # fmt: skip
    for rate in p.rates:
        off = max(rms(result.felt[mu, "problem", rate], result.single[mu]) for mu in p.frictions)
        claims.append(
            Claim(f"rms-{rate:g}", f"simulation at {rate:g} Hz: rms of the force felt within 5 % "
                  "of the 1 kHz run", "–", 100.0 * off, "%", off <= RMS)
        )  # fmt: skip
        most = max(_jumps(result, mu, rate)[0] for mu in p.frictions)
        if rate * TICK < JUMP:  # see the top of this file
            claims.append(
                Claim(f"jump-{rate:g}", f"simulation at {rate:g} Hz: no jump above 25 % of the "
                      "last scheme's", "–", 100.0 * most, "%", most <= JUMP)
            )  # fmt: skip
        added = max(_jumps(result, mu, rate)[1] for mu in p.frictions)
        claims.append(
            Claim(f"added-{rate:g}", f"simulation at {rate:g} Hz: jumps beyond those of the 1 kHz "
                  "run at most 25 % of the last scheme's jumps", "–", 100.0 * added, "%",
                  added <= JUMP)
        )  # fmt: skip
    return claims


def _jumps(
    result: Result, mu: float, rate: float, scheme: Scheme = "problem"
) -> tuple[float, float]:
    """Largest jump, and largest that the 1 kHz run has not, over the last scheme's largest."""
    force, last = result.felt[mu, scheme, rate], jump(result.felt[mu, "last", rate])
    return jump(force) / last, jump(force - result.single[mu]) / last


def beside(result: Result) -> list[Reading]:
    """Steps of the clip and of pads; errors and jumps of all schemes."""
    p, rows = result.params, []
    for (contacts, mu), timing in result.counted.items():
        off = one_way(p, timing, contacts, on=False)
        for name, share in (("median", 50.0), ("p99", 99.0)):
            what, who = f"pulled off: W + solve + correction, {name}", f"{contacts} contacts"
            rows.append(Reading(what, f"{who}, μ = {mu:g}", 1e3 * percentile(off, share), "ms"))
    for (most, mu), timing in result.whole.items():
        late = 100.0 * float(np.mean(timing.whole > TICK))
        who = f"clip, at most {most} contacts, μ = {mu:g}"
        rows += [
            Reading("W + solve + correction, median", who, 1e3 * median(timing.handling), "ms"),
            Reading("whole step, median", who, 1e3 * median(timing.whole), "ms"),
            Reading("whole step, p99", who, 1e3 * percentile(timing.whole, 99.0), "ms"),
            Reading("whole step, worst", who, 1e3 * float(timing.whole.max()), "ms"),
            Reading("steps above 1 ms", who, late, "%"),
        ]
    for (contacts, mu), timing in result.pads.items():
        rows.append(
            Reading(
                "W + solve + correction, median",
                f"pad, {contacts} contacts, μ = {mu:g}",
                1e3 * median(timing.handling),
                "ms",
            )
        )
    for contacts, both in result.cold.items():
        for who, seconds in zip(("tangere", "Siconos"), both, strict=True):
            rows.append(
                Reading(f"solve from no forces, pad, {contacts} contacts", who, 1e3 * seconds, "ms")
            )
    for mu, exact in result.single.items():
        for rate in p.rates:
            own = jump(exact) / jump(result.felt[mu, "last", rate])
            who = f"μ = {mu:g}, {rate:g} Hz"
            rows.append(
                Reading(
                    "largest jump over the last scheme's", f"{who}, 1 kHz run", 100.0 * own, "%"
                )
            )
            for scheme in SCHEMES:
                force = result.felt[mu, scheme, rate]
                share = _jumps(result, mu, rate, scheme)[0]
                rows += [
                    Reading("rms error", f"{who}, {scheme}", 100.0 * rms(force, exact), "%"),
                    Reading(
                        "largest jump over the last scheme's",
                        f"{who}, {scheme}",
                        100.0 * share,
                        "%",
                        f"{jump(force):.3g} N",
                    ),
                ]
    return rows


# ---------------------------------------------------------------- figures


@house_style
def plot(result: Result) -> list[Figure]:
    """Time along the way and against the number of contacts; forces at low rates."""
    return [_times(result), _forces(result)]


def _times(result: Result) -> Figure:
    p = result.params
    figure, (left, right) = canvas(
        "Time of contact handling: W + solve + correction. Left: a clip is pushed on a pipe and "
        "pulled off again; dashed: the times in the paper, on a computer of 2005. Right: a soft "
        "pad on a floor by its number of contacts: median and, dotted, 99th percentile; the solve "
        "of such a problem alone, from no forces to 1e-8 by each solver's own measure, ours and "
        "Siconos' (NSGS); crosses: the paper.",
        columns=2,
        size=(8.6, 3.5),
    )
    colours = (COLOURS["volume"], COLOURS["signorini"], COLOURS["point"])
    first = round(cycle(p) / TICK) - p.lead_in
    for (contacts, mu, paper), colour in zip(COUNTS, colours, strict=True):
        timing = result.counted[contacts, mu]
        shown = timing.handling[:first]
        at = TICK * (p.lead_in + np.arange(len(shown)))
        busy = timing.contacts[:first] > 0
        label = f"{contacts} contacts, μ = {mu:g}"
        left.plot(at[busy], 1e3 * shown[busy], ".", ms=1.5, color=colour, label=label)
        left.axhline(paper, ls="--", lw=0.8, color=INK if mu > 0.0 else FAINT)
    left.set_xlabel("time [s]")
    left.set_ylabel("contact handling [ms]")
    left.set_yscale("log")
    left.set_ylim(0.01, 10.0)
    left.legend(loc="upper left", bbox_to_anchor=(0.0, 0.85), fontsize=7.5, markerscale=4.0)
    for mu, colour in zip(p.frictions, colours, strict=False):
        counts = [contacts for contacts, friction in result.pads if friction == mu]
        times = [result.pads[contacts, mu].handling for contacts in counts]
        middle = 1e3 * np.array([median(each) for each in times])
        tail = 1e3 * np.array([percentile(each, 99.0) for each in times])
        right.plot(counts, middle, "o-", color=colour, ms=4, lw=1.2, label=f"μ = {mu:g}")
        right.plot(counts, tail, ":", color=colour, lw=1.0)
    ours, theirs = 1e3 * np.array(list(result.cold.values())).reshape(-1, 2).T
    right.plot(list(result.cold), ours, "s--", color=INK, ms=3, lw=0.9, label="solve alone, cold")
    if np.isfinite(theirs).all():
        colour = COLOURS["vertex rule"]
        right.plot(list(result.cold), theirs, "D--", color=colour, ms=3, lw=0.9, label="Siconos")
    for contacts, _, paper in COUNTS[1:]:
        right.plot([contacts], [paper], "x", color=INK, ms=7)
    right.axhline(1e3 * TICK, lw=0.8, color=FAINT)
    right.set_xlabel("contacts")
    right.set_ylabel("contact handling [ms]")
    right.set_xscale("log")
    right.set_yscale("log")
    right.legend(loc="upper left", fontsize=7.5)
    return figure


def _forces(result: Result) -> Figure:
    p = result.params
    rows = len(p.frictions)
    figure, axes = canvas(
        "Force at the device while a clip is pushed on a pipe, by friction (rows). Left: the whole "
        "way; grey: everything at 1 kHz; colours: the simulation is slower, and the servo solves "
        "its contact problem again at every millisecond. Right: the snap at the lowest rate, with "
        "the contact force held (held) and with the device's force held (last).",
        columns=2,
        rows=rows,
        size=(8.6, 2.4 * rows + 0.6),
    )
    rate = min(p.rates)
    for (mu, exact), left, right in zip(result.single.items(), axes[::2], axes[1::2], strict=True):
        at = np.linspace(0.0, p.seconds, len(exact), endpoint=False)
        left.plot(at, exact, color=FAINT, lw=3.0, label="1 kHz")
        for each, colour in zip(p.rates, (COLOURS["volume"], COLOURS["signorini"]), strict=False):
            felt = result.felt[mu, "problem", each]
            left.plot(at, felt, color=colour, lw=0.9, label=f"{each:g} Hz, problem")
        left.text(0.97, 0.9, f"μ = {mu:g}", transform=left.transAxes, ha="right")
        _snap(right, result, mu, rate, at)
        for side in (left, right):
            side.set_xlabel("time [s]")
            side.set_ylabel("force [N]")
    axes[0].legend(loc="upper right", bbox_to_anchor=(1.0, 0.85), fontsize=7.5)
    axes[1].legend(loc="lower left", fontsize=7.5)
    return figure


def _snap(axes: Axes, result: Result, mu: float, rate: float, at: Array) -> None:
    """All schemes where the force falls fastest."""
    exact = result.single[mu]
    fall = int(np.argmin(np.diff(exact)))
    part = slice(max(0, fall - 30), fall + 45)
    axes.plot(at[part], exact[part], color=FAINT, lw=3.0, label="1 kHz")
    colours = (COLOURS["signorini"], COLOURS["vertex rule"], COLOURS["point"])
    for scheme, colour in zip(SCHEMES, colours, strict=True):
        style = "steps-post" if scheme == "last" else "default"
        felt = result.felt[mu, scheme, rate]
        axes.plot(
            at[part], felt[part], color=colour, lw=1.1, drawstyle=style,
            label=f"{rate:g} Hz, {scheme}",
        )  # fmt: skip


PIPE = "#c9c6bf"
CAMERA = pictures.Camera(
    azimuth=-80.0, elevation=10.0, centre=(0.0, 0.0, 0.019), width=0.044, height=0.044
)


def strip(result: Result) -> Figure:
    """The clip on its way, stress as colour."""
    up = np.array([0.0, 0.0, 1.2 * OUTER])  # the floor of the pictures is below the pipe
    # as short as the clip is wide: what is in front would hide it
    pipe = pictures.solids(
        tg.Cylinder(RADIUS, 0.008), up, np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]), PIPE
    )
    frames = []
    for picture in result.pictures:
        there = picture.surface
        raised = surface_pictures.Surface(there.vertices + up, there.triangles, there.shares)
        frames.append((raised, pictures.Frame(pipe, f"{picture.time:.2f} s")))
    return surface_pictures.strip(
        frames, CAMERA, "The clip is pushed on a pipe; colour by von Mises stress, "
        f"0 to {1e-6 * STRESS:g} MPa.",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="contact-time",
    paper="Duriez et al. 2006, section 7.2, Fig. 17 and 18",
    summary="a clip of 10,000 tetrahedra snaps on a pipe in real time; felt alike from 100 Hz on",
    params=Params(),
    quick=Params(
        fine_cells=(20, 2, 2),
        fine_steps=100,
        pads=((2, 2), (5, 4)),
        pad_steps=50,
        seconds=0.72,
    ),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
