"""Rolling: round bodies on planes, boxes and each other against the exact theory of rigid rolling.

A body that rolls on a level plane keeps its speed, and the force of the plane does not change. On a
slope a solid ball gains 5/7 g sin α, a solid cylinder 2/3. Thrown without spin, friction slows one
and turns it until nothing slides: a ball then has 5/7 of its speed, after 2 v/(7 μ g), a cylinder
2/3, after v/(3 μ g). The torque of friction about the normal is 2/3 μ m g R of a disc that stands,
8/15 μ N a of a ball that presses a disc of radius a with parabolic pressure, and μ N ℓ/4 of a line.

The explicit step is soft: bodies sink in by δ, which is stated, and roll on the arm R - δ.

A ball in a groove cannot keep all of its speed, and is compared with what it must lose: it touches
both sides off its equator, and so it spins about both normals. With patches of semi-axes
a₁ = √(2 δ/κ₁), a₂ = √(2 δ/κ₂) and δ = 2 N/k each side takes the torque

    τ = 8/15 μ N (2/π) a₁ E(1 - a₂²/a₁²)

(E the complete elliptic integral), which brakes by 2 τ sin θ/(ρ (m + I/ρ²)), θ the angle of the
normals from the vertical, ρ = R cos θ the radius of rolling. It is real, and small where contact is
stiff.

A cone rolls in a circle about its apex, with the rate Ω. There a plain implicit step of first order
loses ½ m |Δv|² whenever a velocity turns, 1 - 1/√(1 + Ω² dt t) of the speed after t, shown beside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import engine_worlds, pictures, round_engines
from tangere.experiments.engine_worlds import Thing
from tangere.experiments.experiment import Claim, Experiment, PeerParams, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.round_engines import ALONG_X, ALONG_Y, Setup, Step, Track
from tangere.experiments.spinning import friction_torque

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTH = 20.0  # [m] of what bodies roll along
SETTLED = 0.1  # share of a roll that is left out of the ripple: a body set down swings a little
SLIP_WINDOW = (0.9, 0.1)  # the same of the first slip
FACTORS = {"ball": 2.0 / 5.0, "cylinder": 1.0 / 2.0}  # moment of inertia over m R²

ROLLS = ("ball", "cylinder", "capsule", "cylinder on box", "stiff groove")
SOFT_ROLLS = ("ball", "cylinder", "capsule", "cylinder on box")
WITH_PEERS = ("ball", "cylinder", "capsule", "cylinder on box", "groove")


@dataclass(frozen=True)
class Params(PeerParams):
    """Values of the experiment; SI units."""

    radius: float = 0.05
    length: float = 0.1
    mass: float = 1.0
    gravity: float = 9.81
    friction: float = 0.5
    speed: float = 0.5
    seconds: float = 10.0
    steps: tuple[float, ...] = (1e-3, 5e-3)
    explicit_step: float = 1e-3
    rail: float = 0.05
    half_gap: float = 0.06
    stiff: float = 1e11
    cone_height: float = 0.12
    cone_rates: tuple[float, ...] = (0.4, 2.5)
    slope: float = 10.0
    slope_seconds: float = 1.0
    slide: float = 1.0
    slide_seconds: float = 0.3
    row_seconds: float = 5.0
    disc_radius: float = 0.1
    disc_height: float = 0.02
    soft: float = 1e5
    spin: float = 10.0
    yaw: float = 5.0


@dataclass(frozen=True)
class Roll:
    """What a roll came to: speed gained as a share of the first, and the ripple of the force."""

    track: Track

    @property
    def gain(self) -> float:
        """Change of the speed over the whole roll, from the first instant, as a share."""
        speed = self.track.speed
        return float(speed[-1] / speed[0] - 1.0)

    @property
    def ripple(self) -> tuple[float, float]:
        """Root mean square and largest difference of the force from its mean, as shares."""
        force = self.track.force[int(SETTLED * len(self.track.force)) :]
        off = force / force.mean() - 1.0
        return float(np.sqrt(np.mean(off * off))), float(np.abs(off).max())


@dataclass(frozen=True)
class Result:
    """Everything by name and step; keys of `rolls` and `slides` are (case, who, step)."""

    params: Params
    rolls: dict[tuple[str, str, float], Roll]
    slopes: dict[tuple[str, str, float], float]
    slides: dict[tuple[str, str, float], Track]
    rows: dict[tuple[str, str, float], float]
    torques: dict[tuple[str, str, float], float]
    groove: dict[float, float]
    others: tuple[str, ...] = field(default=())


def run(params: Params, tell: Tell = silent) -> Result:
    """Roll, slide, press and spin, in tangere and beside it in the other engines."""
    p = params
    result = Result(p, {}, {}, {}, {}, {}, {}, engine_worlds.installed() if p.with_peers else ())
    plan = [(dt, Step(dt)) for dt in p.steps]
    plan += [(p.explicit_step, Step(p.explicit_step, integrator="explicit"))]
    plan += [(dt, Step(dt, engine)) for engine in result.others for dt in p.steps]
    for i, (dt, step) in enumerate(plan):
        who = step.integrator if step.engine == "tangere" else step.engine
        tell(i / len(plan), f"{who}, {1e3 * dt:g} ms")
        for case in rolls_of(p, who):
            track = round_engines.run(roll_setup(p, case), step, p.seconds)
            result.rolls[case, who, dt] = Roll(track)
        for kind in FACTORS:
            result.slopes[kind, who, dt] = _slope(p, kind, step)
            setup = lying(p, kind, p.slide, 0.0)
            result.slides[kind, who, dt] = round_engines.run(setup, step, p.slide_seconds)
        for held in ("held", "free"):
            result.rows[held, who, dt] = _row(p, held == "free", step)
        if step.engine == "tangere":
            for what in ("disc", "soft ball", "lying cylinder"):
                result.torques[what, who, dt] = _torque(p, what, step)
        if who == "implicit":
            result.groove[dt] = groove_gain(p, _groove_stiffness(p, dt))
    return result


def rolls_of(p: Params, who: str) -> tuple[str, ...]:
    """The rolls that are made by one engine or integrator."""
    if who == "implicit":
        return (*ROLLS, "groove", *(f"cone {rate:g}" for rate in p.cone_rates))
    if who == "explicit":
        return SOFT_ROLLS
    return WITH_PEERS


def check(result: Result) -> list[Claim]:
    """Speeds, ripples, accelerations, times and torques against exact theory."""
    claims = [*_check_rolls(result), *_check_theory(result), *_check_slopes(result)]
    return [*claims, *_check_slides(result), *_check_rows(result), *_check_torques(result)]


def _at(who: str, dt: float) -> str:
    return f"{who} step of {1e3 * dt:g} ms"


def _key(case: str, who: str, dt: float) -> str:
    mark = f"-{1e3 * dt:g}ms" if who == "implicit" else f"-{who}"
    return case.replace(" ", "-") + mark


def _own(result: Result) -> list[tuple[str, float]]:
    """Tangere's own ways to make a step."""
    p = result.params
    return [*(("implicit", dt) for dt in p.steps), ("explicit", p.explicit_step)]


def _check_rolls(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for who, dt in _own(result):
        for case in rolls_of(p, who):
            if case == "groove":
                continue
            roll = result.rolls[case, who, dt]
            worst = roll.ripple[1]
            words = _words_of(p, case)
            claims += [
                Claim(f"{_key(case, who, dt)}-speed",
                      f"{_at(who, dt)}, {words}: at most 0.5 % of the speed lost or gained in "
                      f"{p.seconds:g} s", "0", 100 * roll.gain, "%", abs(roll.gain) <= 5e-3),
                Claim(f"{_key(case, who, dt)}-ripple",
                      f"{_at(who, dt)}, {words}: contact force within 0.1 % of its mean throughout",
                      "0", 100 * worst, "%", worst <= 1e-3),
            ]  # fmt: skip
    return claims


def _words_of(p: Params, case: str) -> str:
    if case.startswith("cone"):
        return f"cone about its apex at {case.split()[1]} rad/s"
    if case == "stiff groove":
        return f"ball in a groove between two cylinders, {p.stiff:g} N/m"
    return f"{case} rolling on a plane" if case in ("ball", "cylinder", "capsule") else case


def _check_theory(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for dt in p.steps:
        must, found = result.groove[dt], result.rolls["groove", "implicit", dt].gain
        claims.append(
            Claim(f"groove-{1e3 * dt:g}ms", f"{_at('implicit', dt)}, ball in a groove at the "
                  "default stiffness: loss by its spin about both normals within 5 % of theory",
                  f"{100 * must:.3g} %", 100 * found, "%", abs(found - must) <= 0.05 * abs(must))
        )  # fmt: skip
    return claims


def _rolls_on(p: Params, kind: str, who: str, dt: float) -> tuple[float, str]:
    """Moment of inertia over m (R - δ)² of a body at rest on the floor, and its share in words."""
    share = {"ball": "5/7", "cylinder": "2/3"}[kind]
    if who == "implicit":
        return FACTORS[kind], share
    sim = tg.Simulation(round_engines.scene(lying(p, kind, 0.0, 0.0)), dt=dt, integrator="explicit")
    # F = m₁ k δ, m₁ the mean depth over the largest: of a paraboloid, of a parabolic strip
    mean = {"ball": 1.0 / 2.0, "cylinder": 2.0 / 3.0}[kind]
    depth = p.mass * p.gravity / (mean * sim.contact_law(0, -1).k)
    return (
        FACTORS[kind] * (p.radius / (p.radius - depth)) ** 2,
        f"{share} with the arm R - δ, δ {1e3 * depth:.2g} mm:",
    )


def _check_slopes(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for who, dt in _own(result):
        for kind in FACTORS:
            factor, words = _rolls_on(p, kind, who, dt)
            exact = p.gravity * math.sin(math.radians(p.slope)) / (1.0 + factor)
            off = result.slopes[kind, who, dt] / exact - 1.0
            claims.append(
                Claim(f"{kind}-slope{_key('', who, dt)}", f"{_at(who, dt)}, {kind} on a slope of "
                      f"{p.slope:g}°: acceleration within 0.2 % of {words} g sin α",
                      f"{exact:.5g} m/s²", (1.0 + off) * exact, "m/s²", abs(off) <= 2e-3)
            )  # fmt: skip
    return claims


def _check_slides(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for who, dt in _own(result):
        for kind in FACTORS:
            factor, words = _rolls_on(p, kind, who, dt)
            track = result.slides[kind, who, dt]
            share = float(track.velocity[-1, 0]) / p.slide
            exact = 1.0 / (1.0 + factor)
            time, ends = slide_time(p, track), p.slide * factor * exact / (p.friction * p.gravity)
            claims += [
                Claim(f"{kind}-slide{_key('', who, dt)}", f"{_at(who, dt)}, {kind} given a slide: "
                      f"rolls at {words} of its speed within 0.5 %",
                      f"{exact:.4f}", share, "", abs(share / exact - 1.0) <= 5e-3),
                Claim(f"{kind}-slide-time{_key('', who, dt)}", f"{_at(who, dt)}, {kind} given a "
                      "slide: time until it rolls within 1 %", f"{1e3 * ends:.4g} ms", 1e3 * time,
                      "ms", abs(time / ends - 1.0) <= 0.01),
            ]  # fmt: skip
    return claims


def _check_rows(result: Result) -> list[Claim]:
    p = result.params
    return [
        Claim(f"row-{held}{_key('', who, dt)}", f"{_at(who, dt)}, ball between two others on a "
              f"floor, {'held' if held == 'held' else 'free between walls'}: moves less than 10 µm "
              f"sideways in {p.row_seconds:g} s", "0", 1e6 * result.rows[held, who, dt], "µm",
              result.rows[held, who, dt] < 1e-5)
        for who, dt in _own(result)
        for held in ("held", "free")
    ]  # fmt: skip


def _check_torques(result: Result) -> list[Claim]:
    p = result.params
    texts = {
        "disc": "standing disc, pure spin: torque within 0.5 % of 2/3 μ m g R",
        "soft ball": f"ball of {p.soft:g} N/m, pure spin: torque within 0.5 % of 8/15 μ N a",
        "lying cylinder": "lying cylinder, pure yaw: torque within 0.5 % of μ N ℓ/4",
    }
    claims = []
    for who, dt in _own(result):
        for what, text in texts.items():
            exact, found = exact_torque(p, what), result.torques[what, who, dt]
            claims.append(
                Claim(f"{_key(what, who, dt)}-torque", f"{_at(who, dt)}, {text}",
                      f"{1e3 * exact:.5g} mN m", 1e3 * found, "mN m",
                      abs(found / exact - 1.0) <= 5e-3)
            )  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """The same motions in the other engines, and tangere's explicit step, which is soft."""
    p = result.params
    rows = []
    ways = list(dict.fromkeys((who, dt) for _, who, dt in result.rolls))
    for case in (*WITH_PEERS, *(f"cone {rate:g}" for rate in p.cone_rates)):
        for who, dt in ways:
            if (case, who, dt) in result.rolls:
                roll = result.rolls[case, who, dt]
                rms, worst = roll.ripple
                if case.startswith("cone"):
                    plain = cone_gain(float(case.split()[1]), dt, p.seconds)
                    what = f"{_words_of(p, case)}, {1e3 * dt:g} ms: speed gained in {p.seconds:g} s"
                    rows.append(Reading(what, "plain first-order step", 100 * plain, "%"))
                rows.append(
                    Reading(f"{_words_of(p, case)}, {1e3 * dt:g} ms: speed gained in "
                            f"{p.seconds:g} s", _who(who), 100 * roll.gain, "%",
                            f"ripple {100 * rms:.1e} % rms, {100 * worst:.1e} % worst")
                )  # fmt: skip
    for kind, factor in FACTORS.items():
        aim = p.gravity * math.sin(math.radians(p.slope)) / (1.0 + factor)
        for who, dt in ways:
            rows.append(
                Reading(f"{kind} on a slope, {1e3 * dt:g} ms: error of its acceleration",
                        _who(who), 100 * (result.slopes[kind, who, dt] / aim - 1.0), "%")
            )  # fmt: skip
        for who, dt in ways:
            track = result.slides[kind, who, dt]
            share = float(track.velocity[-1, 0]) / p.slide * (1.0 + factor)
            rows.append(
                Reading(f"{kind} given a slide, {1e3 * dt:g} ms: error of its last speed",
                        _who(who), 100 * (share - 1.0), "%",
                        f"rolls after {1e3 * slide_time(p, track):.4g} ms")
            )  # fmt: skip
    for held in ("held", "free"):
        for who, dt in ways:
            rows.append(
                Reading(f"ball between two others, {held}, {1e3 * dt:g} ms: moves sideways by",
                        _who(who), 1e6 * result.rows[held, who, dt], "µm")
            )  # fmt: skip
    return rows


def _who(who: str) -> str:
    return f"volume, {who}" if who in ("implicit", "explicit") else who


@house_style
def plot(result: Result) -> list[Figure]:
    """Speed over time by engine, and sliding that turns into rolling."""
    p = result.params
    dt = max(p.steps)
    figure, panels = canvas(
        f"Speed of rolling bodies as a share of the first, steps of {1e3 * dt:g} ms. Dashed: what "
        "the ball in the groove must lose by its spin about both normals at tangere's stiffness; "
        "the others have no such friction.",
        columns=3,
        size=(9.2, 3.0),
    )
    whos = ("implicit", *result.others)
    for axes, case in zip(panels, ("ball", "cylinder on box", "groove"), strict=True):
        for who in whos:
            track = result.rolls[case, who, dt].track
            axes.plot(
                track.time, track.speed / track.speed[0], color=_colour(who), label=_label(who),
                lw=2.4 if who == "implicit" else 1.2,
            )  # fmt: skip
        axes.set_title(case)
        axes.set_xlabel("time [s]")
    end = p.seconds
    panels[2].plot([0, end], [1, 1 + result.groove[dt]], "--", color=INK, lw=1.0, label="theory")
    panels[0].set_ylabel("speed, share of first")
    panels[2].legend()
    slides, (left, right) = canvas(
        "Slide to roll: speed of the centre and of the rim of a ball and of a cylinder thrown "
        f"without spin, steps of {1e3 * dt:g} ms; dashed lines are exact.",
        columns=2,
        size=(8.6, 3.2),
    )
    for axes, (kind, factor) in zip((left, right), FACTORS.items(), strict=True):
        for who in whos:
            track = result.slides[kind, who, dt]
            wide = 2.4 if who == "implicit" else 1.2
            axes.plot(
                track.time, track.velocity[:, 0], color=_colour(who), lw=wide, label=_label(who)
            )
            axes.plot(track.time, p.radius * track.spin[:, 1], color=_colour(who), lw=wide)
        last = p.slide / (1.0 + factor)
        ends = (p.slide - last) / (p.friction * p.gravity)
        axes.plot([0, ends, p.slide_seconds], [p.slide, last, last], "--", color=INK, lw=1.0)
        axes.plot([0, ends], [0, last], "--", color=INK, lw=1.0, label="exact")
        axes.set_title(kind)
        axes.set_xlabel("time [s]")
    left.set_ylabel("speed [m/s]")
    right.legend()
    return [figure, slides]


def _colour(who: str) -> str:
    return COLOURS["volume" if who == "implicit" else who]


def _label(who: str) -> str:
    return "tangere" if who == "implicit" else who


def strip(result: Result) -> Figure:
    """The ball in its groove at five instants, its spin shown by an arrow."""
    p = result.params
    setup = roll_setup(p, "groove")
    track = result.rolls["groove", "implicit", max(p.steps)].track
    frames = []
    for t in np.linspace(0.0, track.time[-1], 5):
        i = int(np.argmin(np.abs(track.time - t)))
        rails: list[pictures.Solid] = []
        for rail in setup.things[1:]:
            cut = tg.Cylinder(p.rail, 0.5, facets=48)
            place = np.array([track.position[i, 0], rail.position[1], p.rail])
            rails += pictures.solids(cut, place, np.array(ALONG_X), pictures.PALETTE[6])
        place = track.position[i] + np.array([0.0, 0.0, p.rail])
        ball = pictures.solids(tg.Sphere(p.radius), place, np.array([1.0, 0.0, 0.0, 0.0]))
        ahead = place + np.array([0.2 * track.velocity[i, 0], 0.0, p.radius])
        frames.append(
            pictures.Frame(
                (*rails, *ball),
                f"{t:.3g} s, {track.speed[i]:.3f} m/s",
                arrows=((place + np.array([0.0, 0.0, p.radius]), ahead, "#a33b3b"),),
                camera=pictures.Camera(
                    azimuth=-50.0, elevation=28.0,
                    centre=(float(track.position[i, 0]), 0.0, 0.08), width=0.5, height=0.36,
                ),
            )
        )  # fmt: skip
    return pictures.strip(
        frames, pictures.Camera(width=0.5, height=0.36), "A ball rolls along a groove."
    )


# ---------------------------------------------------------------- setups and theory
def lying(p: Params, kind: str, speed: float, spin: float, height: float = 0.0) -> Setup:
    """A body set on a plane, its axis across the way, at a speed [m/s] and a spin [rad/s]."""
    size = (p.radius,) if kind == "ball" else (p.radius, p.length)
    thing = Thing(
        kind, size, p.mass, (0.0, 0.0, height + p.radius), ALONG_Y,
        velocity=(speed, 0.0, 0.0), spin=(0.0, spin, 0.0),
    )  # fmt: skip
    return Setup((thing,), p.friction, (0.0, 0.0, -p.gravity))


def roll_setup(p: Params, case: str) -> Setup:
    """A body that rolls from the start."""
    if case.startswith("cone"):
        return _cone(p, float(case.split()[1]))
    if case.endswith("groove"):
        return _groove(p, p.stiff if case.startswith("stiff") else None)
    setup = lying(p, case.split(maxsplit=1)[0], p.speed, p.speed / p.radius)
    if case != "cylinder on box":
        return setup
    box = Thing("box", (LENGTH, 1.0, 0.2), 1.0, (0.4 * LENGTH, 0.0, -0.1), fixed=True)
    return setup._replace(things=(*setup.things, box), floor=False)


def _groove(p: Params, stiffness: float | None) -> Setup:
    """A ball on two level cylinders side by side."""
    high = math.sqrt((p.radius + p.rail) ** 2 - p.half_gap**2)
    rolls = p.radius * high / (p.radius + p.rail)
    ball = Thing(
        "ball", (p.radius,), p.mass, (0.0, 0.0, high), velocity=(p.speed, 0.0, 0.0),
        spin=(0.0, p.speed / rolls, 0.0),
    )  # fmt: skip
    rails = tuple(
        Thing("cylinder", (p.rail, LENGTH), 1.0, (0.4 * LENGTH, side * p.half_gap, 0.0), ALONG_X,
              fixed=True)
        for side in (-1.0, 1.0)
    )  # fmt: skip
    return Setup((ball, *rails), p.friction, (0.0, 0.0, -p.gravity), False, stiffness)


def _groove_stiffness(p: Params, dt: float) -> float:
    """Stiffness that the pair of ball and rail gets by itself [N/m]."""
    sim = tg.Simulation(round_engines.scene(_groove(p, None)), dt=dt, integrator="implicit")
    return sim.contact_law(0, 1).k


def groove_gain(p: Params, stiffness: float) -> float:
    """Change of speed in the groove as a share, by friction of the spin about both normals."""
    from scipy.special import ellipe

    sine = p.half_gap / (p.radius + p.rail)
    cosine = math.sqrt(1.0 - sine * sine)
    press = p.mass * p.gravity / (2.0 * cosine)
    depth = 2.0 * press / stiffness
    long = math.sqrt(2.0 * depth * p.radius)
    short = math.sqrt(2.0 * depth / (1.0 / p.radius + 1.0 / p.rail))
    mean = 2.0 / math.pi * long * float(ellipe(1.0 - (short / long) ** 2))
    torque = 8.0 / 15.0 * p.friction * press * mean
    rolls = p.radius * cosine
    mass = p.mass * (1.0 + 0.4 * (p.radius / rolls) ** 2)
    return -2.0 * torque * sine / (rolls * mass) * p.seconds / p.speed


def _cone(p: Params, rate: float) -> Setup:
    """A cone that lies on its side and turns about its apex, at the origin, by `rate` [rad/s]."""
    half = math.atan2(p.radius, p.cone_height)
    out = np.array([math.cos(half), 0.0, math.sin(half)])  # from the apex to the base
    centre = 0.75 * p.cone_height * out
    turn = 0.5 * (0.5 * math.pi + half)  # z to −out, about −y
    spin = np.array([rate / math.tan(half), 0.0, 0.0])
    x, y, z = (float(v) for v in centre)
    u, v, w = (float(c) for c in np.cross(spin, centre))
    thing = Thing(
        "cone", (p.radius, p.cone_height), p.mass, (x, y, z),
        (math.cos(turn), 0.0, -math.sin(turn), 0.0), (u, v, w), (float(spin[0]), 0.0, 0.0),
    )  # fmt: skip
    return Setup((thing,), p.friction, (0.0, 0.0, -p.gravity))


def cone_gain(rate: float, dt: float, seconds: float) -> float:
    """Change of speed as a share where a step of first order loses ½ m |Δv|² at every turn.

    v' = −½ Ω² dt v with Ω in proportion to v.
    """
    return 1.0 / math.sqrt(1.0 + rate * rate * dt * seconds) - 1.0


def _slope(p: Params, kind: str, step: Step) -> float:
    """Acceleration of a body let go on a slope [m/s²]."""
    angle = math.radians(p.slope)
    down = (p.gravity * math.sin(angle), 0.0, -p.gravity * math.cos(angle))
    setup = lying(p, kind, 0.0, 0.0)._replace(gravity=down)
    track = round_engines.run(setup, step, p.slope_seconds)
    later = track.time >= 0.2 * p.slope_seconds
    return float(np.polyfit(track.time[later], track.velocity[later, 0], 1)[0])


def slide_time(p: Params, track: Track) -> float:
    """Instant at which sliding ends, by the line through the slip before [s]; infinite if never."""
    slip = (track.velocity[:, 0] - p.radius * track.spin[:, 1]) / p.slide
    inside = (slip <= SLIP_WINDOW[0]) & (slip >= SLIP_WINDOW[1])
    if np.count_nonzero(inside) < 3:
        return math.inf
    slope, start = np.polyfit(track.time[inside], slip[inside], 1)
    return float(-start / slope)


def _row(p: Params, free: bool, step: Step) -> float:
    """Furthest way sideways of the middle one of three balls that touch in a row [m]."""
    balls = tuple(
        Thing("ball", (p.radius,), p.mass, (x, 0.0, p.radius), fixed=x != 0.0 and not free)
        for x in (0.0, -2.0 * p.radius, 2.0 * p.radius)
    )
    walls: tuple[Thing, ...] = ()
    if free:
        walls = tuple(
            Thing("box", (0.1, 0.4, 0.4), 1.0, (side * (3.0 * p.radius + 0.05), 0.0, 0.2),
                  fixed=True)
            for side in (-1.0, 1.0)
        )  # fmt: skip
    setup = Setup((*balls, *walls), p.friction, (0.0, 0.0, -p.gravity))
    track = round_engines.run(setup, step, p.row_seconds)
    return float(np.abs(track.position[:, :2]).max())


def exact_torque(p: Params, what: str) -> float:
    """Torque of friction about the normal [N m]."""
    limit = p.friction * p.mass * p.gravity
    if what == "disc":
        return 2.0 / 3.0 * limit * p.disc_radius
    if what == "lying cylinder":
        return 0.25 * limit * p.length
    depth = 2.0 * p.mass * p.gravity / p.soft
    return 8.0 / 15.0 * limit * math.sqrt(depth * (2.0 * p.radius - depth))


def _torque(p: Params, what: str, step: Step) -> float:
    """Torque by the loss of spin of a body that rests and is set spinning [N m]."""
    things = {
        "disc": Thing("cylinder", (p.disc_radius, p.disc_height), p.mass,
                      (0.0, 0.0, 0.5 * p.disc_height)),
        "soft ball": Thing("ball", (p.radius,), p.mass, (0.0, 0.0, p.radius)),
        "lying cylinder": Thing("cylinder", (p.radius, p.length), p.mass, (0.0, 0.0, p.radius),
                                ALONG_Y),
    }  # fmt: skip
    inertia = (
        p.mass
        * {
            "disc": 0.5 * p.disc_radius**2,
            "soft ball": 0.4 * p.radius**2,
            "lying cylinder": 0.25 * p.radius**2 + p.length**2 / 12.0,
        }[what]
    )
    rate = p.yaw if what == "lying cylinder" else p.spin
    stiffness = p.soft if what == "soft ball" else None
    setup = Setup((things[what],), p.friction, (0.0, 0.0, -p.gravity), stiffness=stiffness)
    sim = tg.Simulation(round_engines.scene(setup), dt=step.dt, integrator=step.integrator)
    body = sim[0]
    sim.step(round(0.5 / step.dt))
    body.angular_velocity = (0.0, 0.0, rate)
    count = max(4, round(1.1 * rate * inertia / exact_torque(p, what) / step.dt))
    spin = np.empty(count + 1)
    spin[0] = rate
    for i in range(count):
        sim.step()
        spin[i + 1] = body.angular_velocity[2]
    return friction_torque(step.dt * np.arange(float(count + 1)), spin, inertia)


EXPERIMENT = Experiment(
    name="rolling",
    paper="ours: exact theory",
    summary="balls, cylinders, capsules and cones roll, slide and spin as rigid bodies do",
    params=Params(),
    quick=Params(with_peers=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
