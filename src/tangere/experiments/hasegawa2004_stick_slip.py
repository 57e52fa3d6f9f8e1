"""Experiment 3 of Hasegawa & Sato 2004 (Fig. 13, 14): a weight pulled over a surface by a spring.

The paper gives no numbers, so ours stand in `Params` and the exact motion of a weight with static
friction μ₀ and kinetic friction μ is the reference. With N = m g, D = (μ₀ - μ) N, ω = √(K/m), a
pull speed V and no damper, each cycle sticks and slips once:

    t_stick = 2 D/(K V)                       t_slip = (2/ω) (π - atan(D ω/(K V)))
    tension when slip begins = μ₀ N           tension when it ends = (2 μ - μ₀) N
    largest, smallest tension = μ N ± √(D² + (K V/ω)²)

The paper reports that the real motion faded little by little, as it did in simulation with a small
damper. Every stick forgets the past, so as long as the weight sticks again all cycles are alike,
with or without damper. It can only fade when the damper keeps the weight from stopping after a
slip: at a damper of 0.5 N s/m that takes a faster pull, and both cases are shown.

A second part asks how well static friction holds: a block rests on a slope for a minute. On a
steeper slope, of angle α, it slides with g (sin α - μ cos α).

Pulls are made with explicit steps and springs soft enough for them. One is made again with implicit
steps and the stiffness that tangere chooses by itself, and so are the slopes. The signorini method,
which has no contact springs, is shown beside. Its step is implicit Euler, which damps the swing of
a slip with the ratio ω dt/2: it ends at a larger tension, and the next one comes sooner.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.experiment import Claim, Experiment, PeerParams, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, FAINT, canvas, house_style
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTLE = 6.0  # [s] in which the landing rings out, slowest at the longest step
CREEP_LIMIT = 1e-9  # [m/s] 32 mm in a year
INTEGRATORS = ("explicit", "implicit")
SHOWN_STEP = 1e-3  # [s] at which the creep of all methods and engines is shown
STEEP_SECONDS = (0.1, 1.1)  # between which the block on the steep slope is timed


@dataclass(frozen=True)
class SlopeParams(PeerParams):
    """Values of the block on a slope; SI units."""

    slope_friction: float = 0.5
    slope_share: float = 0.8
    steep_share: float = 1.2
    slope_seconds: float = 60.0
    slope_steps: tuple[float, ...] = (1e-4, 1e-3, 5e-3)
    slope_block: tuple[float, float, float] = (0.2, 0.2, 0.1)

    @property
    def slope_angle(self) -> float:
        """Angle of the slope that holds: a share of the friction angle [rad]."""
        return self.slope_share * math.atan(self.slope_friction)

    @property
    def steep_angle(self) -> float:
        """Angle of the slope that does not [rad]."""
        return self.steep_share * math.atan(self.slope_friction)


@dataclass(frozen=True)
class FloorParams:
    """Values of the floor under the pulled weight; SI units."""

    static_friction: float = 0.5
    kinetic_friction: float = 0.3
    stiffness: float = 2e4
    damping: float = 60.0
    tangential_stiffness: float = 5e3
    tangential_damping: float = 30.0

    def material(self, static: float) -> tg.Material:
        """The floor with another static friction."""
        return tg.Material(
            static_friction=static,
            kinetic_friction=self.kinetic_friction,
            stiffness=self.stiffness,
            damping=self.damping,
            tangential_stiffness=self.tangential_stiffness,
            tangential_damping=self.tangential_damping,
        )


@dataclass(frozen=True)
class Params(SlopeParams, FloorParams):
    """Values of the experiment: slope, floor, and the weight that is pulled; SI units."""

    edge: float = 0.1
    mass: float = 1.0
    gravity: float = 9.8
    pull_stiffness: float = 50.0
    pull_speed: float = 0.05
    fast_pull_speed: float = 0.4
    damper: float = 0.5
    dt: float = 1e-3
    seconds: float = 12.5
    fast_seconds: float = 8.0


@dataclass(frozen=True)
class Pull:
    """One pulled weight: tension of the spring [N], position [m], speed [m/s], sticking or not."""

    time: Array
    tension: Array
    position: Array
    speed: Array
    sticking: Array

    def onsets(self) -> Array:
        """Instants at which slip begins [s]."""
        return self.time[np.flatnonzero(np.diff(self.sticking) < 0)]

    def stops(self) -> Array:
        """Instants at which slip ends [s]."""
        return self.time[np.flatnonzero(np.diff(self.sticking) > 0) + 1]

    def tension_at(self, instants: Array) -> Array:
        """Tension at given instants [N]."""
        return np.asarray(np.interp(instants, self.time, self.tension))

    def ranges(self, level: float) -> Array:
        """Tension range of each full swing about `level`, from upward crossing to crossing [N]."""
        up = np.flatnonzero((self.tension[:-1] < level) & (self.tension[1:] >= level)) + 1
        return np.array([np.ptp(self.tension[a:b]) for a, b in itertools.pairwise(up)], float)


class Cycle(NamedTuple):
    """A cycle of a pull: its length [s], tensions when slip begins and ends, and extremes [N]."""

    period: float
    onset: float
    stop: float
    largest: float
    smallest: float


@dataclass(frozen=True)
class Exact:
    """The exact cycle without damper: times [s] and tensions [N]."""

    stick: float
    slip: float
    onset: float
    stop: float
    largest: float
    smallest: float

    @property
    def period(self) -> float:
        """Length of one cycle [s]."""
        return self.stick + self.slip


@dataclass(frozen=True)
class Result:
    """Pulls by name, creep [m/s] on the slope by integrator and step, and of other engines.

    `sliding` is the acceleration of implicit steps on the steep slope by step [m/s²],
    `signorini_creep` the creep of that method by step [m/s].
    """

    params: Params
    pulls: dict[str, Pull]
    creep: dict[tuple[str, float], float]
    sliding: dict[float, float]
    signorini_creep: dict[float, float]
    pose: tuple[Array, Array]
    other_pulls: dict[str, Pull] = field(default_factory=dict)
    other_creep: dict[str, float] = field(default_factory=dict)


def exact(p: Params) -> Exact:
    """Closed form of the cycle for a rigid weight and an ideal spring."""
    weight = p.mass * p.gravity
    drop = (p.static_friction - p.kinetic_friction) * weight
    omega = math.sqrt(p.pull_stiffness / p.mass)
    rate = p.pull_stiffness * p.pull_speed
    swing = math.hypot(drop, rate / omega)
    return Exact(
        stick=2.0 * drop / rate,
        slip=2.0 / omega * (math.pi - math.atan(drop * omega / rate)),
        onset=p.static_friction * weight,
        stop=(2.0 * p.kinetic_friction - p.static_friction) * weight,
        largest=p.kinetic_friction * weight + swing,
        smallest=p.kinetic_friction * weight - swing,
    )


def cycle(pull: Pull) -> Cycle:
    """Means over all slips, extremes over whole cycles."""
    onsets, stops, whole = pull.onsets(), pull.stops(), _whole_cycles(pull)
    return Cycle(
        period=float(np.mean(np.diff(onsets))) if len(onsets) > 1 else math.nan,
        onset=float(np.mean(pull.tension_at(onsets))) if len(onsets) else math.nan,
        stop=float(np.mean(pull.tension_at(stops))) if len(stops) else math.nan,
        largest=float(np.max(whole)),
        smallest=float(np.min(whole)),
    )


def run(params: Params, tell: Tell = silent) -> Result:
    """Pull the weight in every way, then rest the block on the slope."""
    p = params
    equal = {"static": p.kinetic_friction}
    plan: dict[str, dict[str, float]] = {
        "volume": {},
        "damped": {"damper": p.damper},
        "fast": {"speed": p.fast_pull_speed},
        "fast, damped": {"speed": p.fast_pull_speed, "damper": p.damper},
        "equal friction": equal,
    }
    pulls: dict[str, Pull] = {}
    for i, (name, changes) in enumerate(plan.items()):
        tell(0.6 * i / len(plan), f"pull, {name}")
        pulls[name] = _pull(p, "volume", "explicit", **changes)
    tell(0.6, "pull, point method")
    pulls["point"] = _pull(p, "point")
    tell(0.63, "pull, implicit steps")
    pulls["implicit"] = _pull(p, "volume", "implicit")
    tell(0.64, "pull, signorini method")
    pulls["signorini"] = _pull(p, "signorini", None)
    creep: dict[tuple[str, float], float] = {}
    sliding: dict[float, float] = {}
    signorini_creep: dict[float, float] = {}
    pose = (np.zeros(3), np.zeros(4))
    for i, dt in enumerate(p.slope_steps):
        tell(0.65 + 0.3 * i / len(p.slope_steps), f"slope, step {1e3 * dt:g} ms")
        for integrator in INTEGRATORS:
            creep[integrator, dt], pose = _creep(p, dt, integrator)
        sliding[dt] = _sliding(p, dt)
        signorini_creep[dt], _ = _creep(p, dt, None, "signorini")
    other_pulls: dict[str, Pull] = {}
    other_creep: dict[str, float] = {}
    if p.with_peers:
        for engine in peers.installed():
            tell(0.97, engine)
            other_pulls[engine] = _peer_pull(p, engine)
            other_creep[engine] = _peer_creep(p, engine)
    return Result(p, pulls, creep, sliding, signorini_creep, pose, other_pulls, other_creep)


def check(result: Result) -> list[Claim]:
    """The cycle against its closed form, the damper, equal coefficients, and the slopes."""
    p, pulls = result.params, result.pulls
    e = exact(p)
    weight = p.mass * p.gravity
    pull = pulls["volume"]
    onsets = pull.onsets()
    whole = _whole_cycles(pull)
    per_cycle = float(len(onsets) - 1) / max(1.0, round((onsets[-1] - onsets[0]) / e.period))
    fading = pulls["fast, damped"].ranges(p.kinetic_friction * weight)
    lasting = pulls["fast"].ranges(p.kinetic_friction * weight)
    shrink = float(np.max(fading[1:] / fading[:-1])) if len(fading) > 1 else math.nan
    kept = float(lasting[-1] / lasting[0]) if len(lasting) > 1 else math.nan
    narrower = float(np.ptp(_whole_cycles(pulls["damped"]))) / float(np.ptp(whole))
    same = pulls["equal friction"]
    after = same.time > (same.onsets()[0] if len(same.onsets()) else math.inf)
    share = float(np.mean(same.sticking[after])) if np.any(after) else 1.0

    def near(value: float, target: float, tolerance: float) -> bool:
        return abs(value - target) <= tolerance * abs(target)

    claims = [
        Claim("one-slip", "one slip in every cycle", "stick-slip (Fig. 14)", per_cycle, "",
              abs(per_cycle - 1.0) < 1e-9),
        Claim("damper-narrows", "a damper of 0.5 N s/m narrows the tension range",
              "smaller with a damper", 100 * narrower, "%", narrower < 0.97),
        Claim("damper-fades", f"pulled at {p.fast_pull_speed:g} m/s the damper makes every swing "
              "smaller than the one before", "decreases little by little", 100 * shrink,
              "%", shrink < 0.99,
              "the pull was chosen so fast that the weight does not stop between swings"),
        Claim("no-fading", f"pulled at {p.fast_pull_speed:g} m/s without damper stick-slip lasts: "
              "last swing within 5 % of the first",
              "every cycle alike", 100 * kept, "%", near(kept, 1.0, 0.05)),
        Claim("equal", "with μ₀ = μ there is no repeated stick-slip: share of time sticking < 5 %",
              "t_stick = 0", 100 * share, "%", share < 0.05),
    ]  # fmt: skip
    for key, name, words, ends in (
        ("", "volume", "", 0.03),  # the friction spring, soft here, adds its own stretch
        ("implicit-", "implicit", "implicit step: ", 0.01),
    ):
        found = cycle(pulls[name])
        claims += [
            Claim(f"{key}period", f"{words}period within 1 % of the closed form",
                  f"{e.period:.3f} s", found.period, "s", near(found.period, e.period, 0.01)),
            Claim(f"{key}onset", f"{words}tension when slip begins within 1 % of μ₀ N",
                  f"{e.onset:.3f} N", found.onset, "N", near(found.onset, e.onset, 0.01)),
            Claim(f"{key}stop",
                  f"{words}tension when slip ends within {100 * ends:g} % of (2 μ - μ₀) N",
                  f"{e.stop:.3f} N", found.stop, "N", near(found.stop, e.stop, ends)),
            Claim(f"{key}largest", f"{words}largest tension within 1 % of the closed form",
                  f"{e.largest:.3f} N", found.largest, "N", near(found.largest, e.largest, 0.01)),
            Claim(f"{key}smallest",
                  f"{words}smallest tension within {100 * ends:g} % of the closed form",
                  f"{e.smallest:.3f} N", found.smallest, "N",
                  near(found.smallest, e.smallest, ends)),
        ]  # fmt: skip
    for (integrator, dt), speed in result.creep.items():
        prefix = "" if integrator == "explicit" else f"{integrator}-"
        claims.append(
            Claim(f"{prefix}creep-{1e3 * dt:g}ms",
                  f"slope at {100 * p.slope_share:g} % of the friction angle, {integrator} step of "
                  f"{1e3 * dt:g} ms, {p.slope_seconds:g} s: creep below 1e-9 m/s",
                  "static friction holds", speed, "m/s", speed < CREEP_LIMIT)
        )  # fmt: skip
    angle = p.steep_angle
    fall = p.gravity * (math.sin(angle) - p.slope_friction * math.cos(angle))
    for dt, acceleration in result.sliding.items():
        claims.append(
            Claim(f"implicit-slide-{1e3 * dt:g}ms",
                  f"slope at {100 * p.steep_share:g} % of the friction angle, implicit step of "
                  f"{1e3 * dt:g} ms: acceleration within 0.1 % of g (sin α - μ cos α)",
                  f"{fall:.5f} m/s²", acceleration, "m/s²", near(acceleration, fall, 1e-3))
        )  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Cycles and tension ranges of all methods and engines, and their creep on the slope."""
    pulls = {
        "volume": result.pulls["volume"],
        "volume, implicit": result.pulls["implicit"],
        "signorini": result.pulls["signorini"],
    }
    e = exact(result.params)
    rows = [
        Reading(
            what, who, getattr(cycle(pull), name), unit, f"exact: {getattr(e, name):.4g} {unit}"
        )
        for what, name, unit in (
            ("period", "period", "s"),
            ("tension when slip begins", "onset", "N"),
            ("tension when slip ends", "stop", "N"),
            ("largest tension", "largest", "N"),
            ("smallest tension", "smallest", "N"),
        )
        for who, pull in pulls.items()
    ]
    rows += [
        Reading("tension range after the first slip", who, float(np.ptp(_late(pull))), "N")
        for who, pull in (
            *pulls.items(),
            ("point", result.pulls["point"]),
            *result.other_pulls.items(),
        )
    ]
    rows += [
        Reading(f"creep on the slope, step {1e3 * SHOWN_STEP:g} ms", who, speed, "m/s")
        for who, speed in (
            ("volume", result.creep.get(("explicit", SHOWN_STEP), math.nan)),
            ("volume, implicit", result.creep.get(("implicit", SHOWN_STEP), math.nan)),
            ("signorini", result.signorini_creep.get(SHOWN_STEP, math.nan)),
            *result.other_creep.items(),
        )
    ]
    rows += [
        Reading(f"creep on the slope, step {1e3 * dt:g} ms", "signorini", speed, "m/s")
        for dt, speed in result.signorini_creep.items()
        if dt != SHOWN_STEP
    ]
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 14: tension over time, by method, and fading with a damper."""
    p = result.params
    figure, (top, low, right) = canvas(
        "Tension of the pull spring over time (Hasegawa & Sato 2004, Fig. 14). Top: the volume "
        "and signorini methods on the exact stick-slip motion. Middle: methods and engines that do "
        "not hold static friction. Bottom: pulled faster, without and with a small damper.",
        rows=3,
        size=(8.0, 7.0),
    )
    time, tension = exact_motion(p, p.seconds)
    pull = result.pulls["volume"]
    top.plot(pull.time, pull.tension, color=COLOURS["volume"], lw=2.4, label="volume")
    pull = result.pulls["signorini"]
    top.plot(pull.time, pull.tension, color=COLOURS["signorini"], lw=1.2, label="signorini")
    top.plot(time, tension, "--", color=COLOURS["exact"], lw=1.0, label="exact")
    for who, other in (("point", result.pulls["point"]), *result.other_pulls.items()):
        low.plot(other.time, other.tension, color=COLOURS[who], lw=1.1, label=who)
    weight = p.mass * p.gravity
    for axes in (top, low):
        for level, name in ((p.static_friction, "μ₀ N"), (p.kinetic_friction, "μ N")):
            axes.axhline(level * weight, color=FAINT, lw=0.7, ls=":")
            axes.annotate(
                name, (1.005, level * weight), xycoords=("axes fraction", "data"),
                va="center", fontsize=8, color=FAINT,
            )  # fmt: skip
        axes.set_xlim(0.0, p.seconds)
    for name, colour, label in (
        ("fast", "#9fb7c9", "no damper"),
        ("fast, damped", COLOURS["volume"], f"damper {p.damper:g} N s/m"),
    ):
        fast = result.pulls[name]
        right.plot(fast.time, fast.tension, color=colour, label=label)
    right.set_xlim(0.0, p.fast_seconds)
    right.set_title(f"pulled at {p.fast_pull_speed:g} m/s", loc="left")
    for axes in (top, low, right):
        axes.set_xlabel("time [s]")
        axes.set_ylabel("tension [N]")
        axes.legend(loc="lower right", ncols=4)
    return [figure]


def strip(result: Result) -> Figure:
    """The weight before and after slips with the pull as an arrow, and the block on its slope."""
    p = result.params
    pull = result.pulls["volume"]
    cube = tg.Box((p.edge, p.edge, p.edge))
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    onsets, stops = pull.onsets(), pull.stops()
    frames = []
    for t, label in (
        (0.0, "start"),
        (float(onsets[0]), f"{onsets[0]:.2f} s: slips"),
        (float(stops[0]), f"{stops[0]:.2f} s: sticks"),
        (float(onsets[1]), f"{onsets[1]:.2f} s: slips"),
    ):
        i = int(np.argmin(np.abs(pull.time - t)))
        at = np.array([pull.position[i], 0.0, 0.5 * p.edge])
        tail = at + np.array([0.5 * p.edge, 0.0, -0.5 * p.edge])
        head = tail + np.array([0.03 + pull.tension[i] / p.pull_stiffness, 0.0, 0.0])
        frames.append(
            pictures.Frame(
                pictures.solids(cube, at, upright, pictures.PALETTE[0]),
                label,
                arrows=((tail, head, "#a33b3b"),),
            )
        )
    camera = pictures.Camera(
        azimuth=-80.0, elevation=14.0, centre=(0.17, 0.0, 0.05), width=0.52, height=0.3
    )
    angle = p.slope_angle
    x, _, z = p.slope_block[0] * 2.8, 0.0, p.slope_block[0] * 2.8 * math.tan(angle)
    y = 0.16
    wedge = tg.Convex([(0, -y, 0), (0, y, 0), (x, -y, 0), (x, y, 0), (0, -y, z), (0, y, z)])
    block = tg.Box(p.slope_block)
    # the simulated plane runs through the origin; here it is drawn as a ramp under the block
    middle = np.array([0.5 * x, 0.0, 0.5 * z])
    frames.append(
        pictures.Frame(
            (
                *pictures.solids(wedge, np.zeros(3), upright, "#cfcabd"),
                *pictures.solids(block, result.pose[0] + middle, result.pose[1]),
            ),
            f"slope {math.degrees(angle):.1f}°, {p.slope_seconds:g} s: still",
            camera=pictures.Camera(
                azimuth=-70.0, elevation=14.0, centre=(0.5 * x, 0.0, 0.1), width=0.78, height=0.45
            ),
        )
    )
    return pictures.strip(frames, camera, "The pulled weight, and the block on its slope.")


def exact_motion(p: Params, seconds: float) -> tuple[Array, Array]:
    """Instants and tensions of the exact motion without damper, from a slack spring."""
    e = exact(p)
    weight = p.mass * p.gravity
    omega = math.sqrt(p.pull_stiffness / p.mass)
    rate = p.pull_stiffness * p.pull_speed
    first = e.onset / rate
    time, tension = [np.array([0.0, first])], [np.array([0.0, e.onset])]
    start = first
    drop = e.onset - p.kinetic_friction * weight
    while start < seconds:
        s = np.linspace(0.0, e.slip, 120)
        slip = (
            p.kinetic_friction * weight
            + drop * np.cos(omega * s)
            + rate / omega * np.sin(omega * s)
        )
        time += [start + s, np.array([start + e.period])]
        tension += [slip, np.array([e.onset])]
        start += e.period
    return np.concatenate(time), np.concatenate(tension)


def _pull(
    p: Params,
    method: str,
    integrator: str | None = "explicit",
    *,
    speed: float | None = None,
    damper: float = 0.0,
    static: float | None = None,
) -> Pull:
    """A pull; stiffness and damping are given to explicit steps alone."""
    speed_ = p.pull_speed if speed is None else speed
    seconds = p.seconds if speed is None else p.fast_seconds
    static_ = p.static_friction if static is None else static
    if integrator == "explicit":
        # start at rest depth, and pull there: no bounce, no vertical share of the pull
        material, depth = p.material(static_), p.mass * p.gravity / p.stiffness
    else:
        material, depth = tg.Material(static_, p.kinetic_friction), 0.0
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    half = 0.5 * p.edge
    cube = scene.add_body(
        tg.Box((p.edge, p.edge, p.edge)),
        mass=p.mass,
        position=(0.0, 0.0, half - depth),
        material=material,
        name="weight",
    )
    scene.add_spring(
        cube,
        anchor_a=(0.0, 0.0, -half),
        anchor_b=(0.0, 0.0, -depth),
        stiffness=p.pull_stiffness,
        damping=damper,
        velocity=(speed_, 0.0, 0.0),
        name="pull",
    )
    sim = tg.Simulation(scene, method=method, dt=p.dt, integrator=integrator)
    steps = round(seconds / p.dt)
    rows = np.empty((steps, 5))
    for i in range(steps):
        sim.step()
        contacts = sim.contacts
        rows[i] = (
            sim.time,
            sim.spring_forces[0, 0],
            sim[cube].centre[0],
            sim[cube].velocity[0],
            bool(len(contacts)) and bool(np.all(contacts["sticking"])),
        )
    return Pull(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4])


def _peer_pull(p: Params, engine: str) -> Pull:
    """The weight in an engine with one coefficient, the kinetic one."""
    box = peers.Box((p.edge, p.edge, p.edge), p.mass, (0.0, 0.0, 0.5 * p.edge))
    scene = peers.Boxes(
        (box,), (0.0, 0.0, -p.gravity), p.kinetic_friction, p.dt, round(p.seconds / p.dt),
        pull=(p.pull_stiffness, 0.0, p.pull_speed),
    )  # fmt: skip
    motion = peers.run(engine, scene)
    x, v = motion.position[:, 0, 0], motion.velocity[:, 0, 0]
    tension = p.pull_stiffness * (p.pull_speed * motion.time - x)
    return Pull(motion.time, tension, x, v, (np.abs(v) < 1e-2 * p.pull_speed).astype(float))


def _on_slope(
    p: Params, angle: float, dt: float, integrator: str | None, method: str = "volume"
) -> tg.Simulation:
    """A block that touches a slope, at its start."""
    normal = (math.sin(angle), 0.0, math.cos(angle))
    material = tg.Material(static_friction=p.slope_friction, kinetic_friction=p.slope_friction)
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(normal=normal, material=material)
    half = 0.5 * p.slope_block[2]
    scene.add_body(
        tg.Box(p.slope_block),
        mass=p.mass,
        position=tuple(half * c for c in normal),
        orientation=(math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0),
        material=material,
        name="block",
    )
    return tg.Simulation(scene, method=method, dt=dt, integrator=integrator)


def _creep(
    p: Params, dt: float, integrator: str | None, method: str = "volume"
) -> tuple[float, tuple[Array, Array]]:
    """Speed of the block on the slope between settling and the end [m/s], and its last pose."""
    sim = _on_slope(p, p.slope_angle, dt, integrator, method)
    sim.step(round(SETTLE / dt))
    start = np.array(sim["block"].position)
    sim.step(round((p.slope_seconds - SETTLE) / dt))
    stop = np.array(sim["block"].position)
    speed = float(np.linalg.norm(stop - start)) / (p.slope_seconds - SETTLE)
    return speed, (stop, np.array(sim["block"].orientation))


def _sliding(p: Params, dt: float) -> float:
    """Mean acceleration of the block on the steep slope under implicit steps [m/s²]."""
    sim = _on_slope(p, p.steep_angle, dt, "implicit")
    begin, end = STEEP_SECONDS
    sim.step(round(begin / dt))
    first = np.array(sim["block"].velocity)
    steps = round((end - begin) / dt)
    sim.step(steps)
    return float(np.linalg.norm(sim["block"].velocity - first)) / (steps * dt)


def _peer_creep(p: Params, engine: str) -> float:
    """Creep in another engine at 1 ms: the floor stays level, gravity leans [m/s]."""
    angle, dt = p.slope_angle, 1e-3
    box = peers.Box(p.slope_block, p.mass, (0.0, 0.0, 0.5 * p.slope_block[2]))
    every = round(SETTLE / dt)
    gravity = (p.gravity * math.sin(angle), 0.0, -p.gravity * math.cos(angle))
    seconds = min(p.slope_seconds, 18.0)
    motion = peers.run(
        engine,
        peers.Boxes((box,), gravity, p.slope_friction, dt, round(seconds / dt), every=every),
    )
    way = motion.position[-1, 0] - motion.position[1, 0]
    return float(np.linalg.norm(way)) / (seconds - SETTLE)


def _whole_cycles(pull: Pull) -> Array:
    """Tension from the first to the last begin of a slip: whole cycles only [N]."""
    onsets = pull.onsets()
    if len(onsets) < 2:
        return pull.tension
    inside = (pull.time >= onsets[0]) & (pull.time <= onsets[-1])
    return np.asarray(pull.tension[inside])


def _late(pull: Pull) -> Array:
    """Tension in the second half of a pull [N]."""
    return pull.tension[len(pull.tension) // 2 :]


EXPERIMENT = Experiment(
    name="stick-slip",
    paper="Hasegawa & Sato 2004, section 5.6, Fig. 13-14",
    summary="a weight pulled by a spring sticks and slips as exact theory says; a slope holds",
    params=Params(),
    quick=Params(
        seconds=4.5,
        fast_seconds=3.0,
        slope_seconds=12.0,
        slope_steps=(1e-3, 5e-3),
        with_peers=False,
    ),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
