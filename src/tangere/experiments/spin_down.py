"""Spin-down: blocks that slide and spin on a floor against exact theory of distributed friction.

Coulomb friction spread over a pressed area A gives force and torque

    f = -μ ∫ p e dA      τ = -μ ∫ p (r × e)_z dA      e(r) = u(r)/|u(r)|,  u = v + ω × r

For pure spin under even pressure that is τ = 0.3826 μ m g a for a square of side a, with 0.3826 =
(√2 + asinh 1)/6, and 2/3 μ m g R for a disc. Sliding and spinning together have no closed form; a
fine quadrature of the integrals in an adaptive integrator is the reference for the whole motion.
There the pressure leans: friction acts below the centre of mass, and the pressure must be steeper
ahead to balance it, p = N/A + g·r with the gradient g that cancels the overturning moment.

Every point-contact engine gets the spin wrong, each by its own factor; they are measured beside. So
is the signorini method: its contacts are points, and a square that lies on its four corners, each
a/√2 from the centre, resists with 0.7071 μ m g a, 1.848 times as much as the whole face. Its motion
is also compared with the quadrature over these four points, which is what it should solve.

All that is the explicit step, which integrates friction in closed form. The implicit step sums it
over points. Where the centre of rotation lies within the pressed area that errs by some per cent at
any one attitude, now to this side and now to that as the block turns; pure spin loses least. It is
asked for the spin torque of rectangles a x b, whose mean distance from the centre is

    ρ = √(a² + b²)/6 + a²/(12 b) asinh(b/a) + b²/(12 a) asinh(a/b)

and for its order: halving the step halves the error of a motion whose friction is smooth, with the
centre of rotation outside the pressed area.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.experiment import Claim, Experiment, PeerParams, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, INK, canvas, house_style
from tangere.experiments.spinning import friction_torque
from tangere.geometry.shapes import Shape
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SQUARE = (math.sqrt(2.0) + math.asinh(1.0)) / 6.0  # mean distance from the centre over the side


@dataclass(frozen=True)
class SmoothParams(PeerParams):
    """Values of the sliding and spinning that shows the order of the step; SI units."""

    smooth_speed: float = 2.0
    smooth_spin: float = 8.0
    smooth_seconds: float = 0.4
    smooth_steps: tuple[float, ...] = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
    smooth_explicit_step: float = 1e-5


@dataclass(frozen=True)
class Params(SmoothParams):
    """Values of the experiment; SI units."""

    side: float = 0.2
    thickness: float = 0.02
    radius: float = 0.1
    mass: float = 1.0
    gravity: float = 9.8
    friction: float = 0.3
    spin: float = 10.0
    speed: float = 1.0
    both_speed: float = 2.0
    both_spin: float = 16.0
    dt: float = 1e-3
    quadrature: int = 64
    ratios: tuple[float, ...] = (1.0, 2.0, 3.0, 5.0)
    ratio_steps: tuple[float, ...] = (1e-3, 5e-3)

    @property
    def rest_seconds(self) -> float:
        """Time in which the block settles on the floor before it is set in motion [s]."""
        return 0.5


class Step(NamedTuple):
    """How a motion is simulated: step [s], integrator, method."""

    dt: float
    integrator: str | None = "explicit"
    method: str | tg.Volume = "volume"


@dataclass(frozen=True)
class Slide:
    """One motion: time [s], velocity (n, 2) [m/s], spin [rad/s], way (n, 2) [m], angle [rad]."""

    time: Array
    velocity: Array
    spin: Array
    way: Array
    angle: Array

    def spin_torque(self, inertia: float) -> float:
        """Friction torque by the loss of spin [N m]."""
        return friction_torque(self.time, self.spin, inertia)

    def stop_time(self, values: Array) -> float:
        """Instant at which values first fall to zero, between samples; infinite if never [s].

        The friction spring then gives back what it holds: a swing of about μ g/√(k_t/m) follows.
        """
        share = values / float(values[0])
        stopped = np.flatnonzero(share <= 0.0)
        if not len(stopped):
            return math.inf
        i = int(stopped[0])
        step = float(self.time[i] - self.time[i - 1])
        return float(self.time[i]) + step * float(share[i]) / float(share[i - 1] - share[i])


@dataclass(frozen=True)
class Refinement:
    """Ends of one motion: under implicit steps, each half the one before, and a fine explicit one.

    A row is velocity (2,), spin, way (2,) and angle as shares of the first velocity and spin, and
    of what they would reach without friction.
    """

    implicit: Array
    explicit: Array

    @property
    def orders(self) -> Array:
        """Powers of the step with which the error falls, by successive differences."""
        changes = np.linalg.norm(np.diff(self.implicit, axis=0), axis=1)
        return np.asarray(np.log2(changes[:-1] / changes[1:]))

    @property
    def limit(self) -> Array:
        """The end for a step of zero, by Richardson from the two finest."""
        return np.asarray(2.0 * self.implicit[-1] - self.implicit[-2])


@dataclass(frozen=True)
class Result:
    """Motions by name, the quadrature reference, the first torques, and other engines' motions.

    `corners` is the reference for a block that lies on its four corners. `ratio_torque` is the spin
    torque of rectangles under implicit steps by ratio of sides and step, as a share of the exact
    one.
    """

    params: Params
    slides: dict[str, Slide]
    torque: dict[str, float]
    reference: Slide
    corners: Slide
    ratio_torque: dict[tuple[float, float], float]
    refinement: Refinement
    others: dict[str, Slide] = field(default_factory=dict)
    both_others: dict[str, Slide] = field(default_factory=dict)


def run(params: Params, tell: Tell = silent) -> Result:
    """Spin, slide and do both; integrate the reference; measure the other engines."""
    p = params
    square = tg.Box((p.side, p.side, p.thickness))
    disc = tg.Cylinder(p.radius, p.thickness)
    explicit, points = Step(p.dt), Step(p.dt, None, "signorini")
    plan: dict[str, tuple[Shape, Step, float, float]] = {
        "square": (square, explicit, 0.0, p.spin),
        "disc": (disc, explicit, 0.0, p.spin),
        "slide": (square, explicit, p.speed, 0.0),
        "both": (square, explicit, p.both_speed, p.both_spin),
        "both, implicit": (square, Step(p.dt, "implicit"), p.both_speed, p.both_spin),
        "vertex rule": (square, Step(p.dt, method=tg.Volume(friction="vertex")), 0.0, p.spin),
        "point": (square, Step(p.dt, method="point"), 0.0, p.spin),
        "signorini": (square, points, 0.0, p.spin),
        "both, signorini": (square, points, p.both_speed, p.both_spin),
    }
    slides: dict[str, Slide] = {}
    torque: dict[str, float] = {}
    for i, (name, (shape, step, speed, spin)) in enumerate(plan.items()):
        tell(0.5 * i / len(plan), name)
        seconds = _duration(p, speed, spin)
        slides[name], torque[name] = _slide(p, shape, step, speed, spin, seconds)
    tell(0.5, "rectangles, implicit steps")
    ratio_torque = {
        (ratio, dt): _ratio_torque(p, ratio, dt) for ratio in p.ratios for dt in p.ratio_steps
    }
    tell(0.6, "order of the implicit step")
    refinement = Refinement(
        implicit=np.array([_smooth(p, Step(dt, "implicit")) for dt in p.smooth_steps]),
        explicit=_smooth(p, Step(p.smooth_explicit_step)),
    )
    tell(0.7, "quadrature reference")
    inertia = p.mass * p.side**2 / 6.0
    reference, corners = (
        quadrature_motion(p, ground, inertia, p.both_speed, p.both_spin)
        for ground in (square_ground(p), corner_ground(p))
    )
    others: dict[str, Slide] = {}
    both_others: dict[str, Slide] = {}
    if p.with_peers:
        for engine in peers.installed():
            tell(0.9, engine)
            others[engine] = _peer_slide(p, engine, 0.0, p.spin)
            both_others[engine] = _peer_slide(p, engine, p.both_speed, p.both_spin)
    return Result(
        p, slides, torque, reference, corners, ratio_torque, refinement, others, both_others
    )


def check(result: Result) -> list[Claim]:
    """Torques, times, ways and the whole combined motion against exact theory."""
    p, slides = result.params, result.slides
    weight = p.mass * p.gravity
    limit = p.friction * weight
    claims: list[Claim] = []

    def near(key: str, text: str, value: float, target: float, unit: str) -> None:
        scale = 1e3 if unit.startswith("m") and len(unit) > 1 else 1.0
        claims.append(
            Claim(
                key,
                f"{text} within 1 % of theory",
                f"{scale * target:.5g} {unit}",
                scale * value,
                unit,
                abs(value - target) <= 0.01 * abs(target),
            )
        )

    square_torque = SQUARE * limit * p.side
    disc_torque = 2.0 / 3.0 * limit * p.radius
    inertia_square = p.mass * p.side**2 / 6.0
    inertia_disc = 0.5 * p.mass * p.radius**2
    square, disc, slide, both = (slides[n] for n in ("square", "disc", "slide", "both"))
    near("square-torque", "square block, pure spin: torque of the contact",
         result.torque["square"], square_torque, "mN m")  # fmt: skip
    near("square-loss", "square block, pure spin: torque by the loss of spin",
         square.spin_torque(inertia_square), square_torque, "mN m")  # fmt: skip
    near("square-stop", "square block, pure spin: time to stop",
         square.stop_time(square.spin), p.spin * inertia_square / square_torque, "s")  # fmt: skip
    near("disc-torque", "disc, pure spin: torque of the contact",
         result.torque["disc"], disc_torque, "mN m")  # fmt: skip
    near("disc-stop", "disc, pure spin: time to stop",
         disc.stop_time(disc.spin), p.spin * inertia_disc / disc_torque, "s")  # fmt: skip
    braking = p.friction * p.gravity
    near("slide-stop", "pure slide: time to stop",
         slide.stop_time(slide.velocity[:, 0]), p.speed / braking, "s")  # fmt: skip
    near("slide-way", "pure slide: way to stop",
         float(slide.way[-1, 0]), 0.5 * p.speed**2 / braking, "m")  # fmt: skip
    velocity, spin = deviation(both, result.reference)
    moving = max(deviation(both, result.reference, while_moving=True))
    ends = abs(both.stop_time(both.spin) - both.stop_time(both.velocity[:, 0]))
    claims += [
        Claim("both-velocity", "slide and spin: velocity within 1 % of its first value throughout",
              "quadrature", 100 * velocity, "%", velocity < 0.01),
        Claim("both-spin", "slide and spin: spin within 1 % of its first value throughout",
              "quadrature", 100 * spin, "%", spin < 0.01),
        Claim("both-moving", "slide and spin: both within 0.1 % until the stop, where the friction "
              "spring gives back what it holds", "quadrature", 100 * moving, "%", moving < 1e-3),
        Claim("both-end", "slide and spin end together: within 5 ms",
              "together", 1e3 * ends, "ms", ends < 5e-3),
    ]  # fmt: skip
    for (ratio, dt), share in result.ratio_torque.items():
        claims.append(
            Claim(f"implicit-spin-{ratio:g}-{1e3 * dt:g}ms",
                  f"implicit step of {1e3 * dt:g} ms, sides {ratio:g} : 1, pure spin: torque "
                  "within 0.5 % of theory", "100 %", 100 * share, "%", abs(share - 1.0) <= 0.005)
        )  # fmt: skip
    orders = result.refinement.orders
    furthest = float(orders[np.argmax(np.abs(orders - 1.0))])
    apart = float(np.max(np.abs(result.refinement.limit - result.refinement.explicit)))
    finest, coarsest = 1e3 * min(p.smooth_steps), 1e3 * max(p.smooth_steps)
    claims += [
        Claim("implicit-order", "implicit step, smooth slide and spin: halving the step from "
              f"{coarsest:g} to {finest:g} ms halves the error: order within 0.1 of 1", "1",
              furthest, "", abs(furthest - 1.0) <= 0.1),
        Claim("implicit-limit", "implicit step, smooth slide and spin: the limit of short steps "
              f"within 0.1 % of explicit steps of {1e3 * p.smooth_explicit_step:g} ms",
              "the same motion", 100 * apart, "%", apart <= 1e-3),
    ]  # fmt: skip
    return claims


def beside(result: Result) -> list[Reading]:
    """Spin torque as a share of the exact one, by other rules, methods and engines."""
    p = result.params
    exact = SQUARE * p.friction * p.mass * p.gravity * p.side
    inertia = p.mass * p.side**2 / 6.0
    shown: dict[str, Slide] = {
        "volume": result.slides["square"],
        "vertex rule": result.slides["vertex rule"],
        "point": result.slides["point"],
        "signorini": result.slides["signorini"],
        **result.others,
    }
    notes = {
        "vertex rule": "traction interpolated from the corners, as printed",
        "signorini": f"points, not areas: {100 * math.sqrt(0.5) / SQUARE:.2f} % on four corners",
    }
    rows = [
        Reading(
            "spin torque of the square block, share of exact", who,
            100 * slide.spin_torque(inertia) / exact, "%", notes.get(who, ""),
        )
        for who, slide in shown.items()
    ]  # fmt: skip
    rows += [
        Reading("slide and spin, largest error of velocity and spin", who,
                100 * max(deviation(slide, result.reference)), "%")
        for who, slide in {
            "volume": result.slides["both"],
            "volume, implicit": result.slides["both, implicit"],
            "signorini": result.slides["both, signorini"],
            **result.both_others,
        }.items()
    ]  # fmt: skip
    rows.append(
        Reading("slide and spin on four corners, largest error of velocity and spin", "signorini",
                100 * max(deviation(result.slides["both, signorini"], result.corners)), "%",
                "quadrature over the corners instead of the face")
    )  # fmt: skip
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Spin over time by method, and the combined motion on its reference."""
    p = result.params
    figure, (left, right) = canvas(
        "Left: a square block spins down; the dashed line is exact. Right: slide and spin at once; "
        "solid lines tangere, dashed lines the quadrature reference.",
        columns=2,
        size=(8.6, 3.4),
    )
    exact = SQUARE * p.friction * p.mass * p.gravity * p.side
    stop = p.spin * p.mass * p.side**2 / 6.0 / exact
    shown = {
        "volume": result.slides["square"],
        "vertex rule": result.slides["vertex rule"],
        "point": result.slides["point"],
        "signorini": result.slides["signorini"],
        **result.others,
    }
    for who, slide in shown.items():
        part = slide.time <= 2.2 * stop
        left.plot(
            slide.time[part], slide.spin[part], color=COLOURS[who], label=who,
            lw=2.4 if who == "volume" else 1.2,
        )  # fmt: skip
    left.plot([0, stop, 2.2 * stop], [p.spin, 0, 0], "--", color=INK, lw=1.0, label="exact")
    left.set_xlabel("time [s]")
    left.set_ylabel("spin [rad/s]")
    left.set_ylim(bottom=-0.5)
    left.legend()
    both, reference = result.slides["both"], result.reference
    end = 1.15 * float(reference.time[-1])
    part = both.time <= end
    other = right.twinx()
    other.grid(visible=False)
    other.spines["right"].set_visible(True)
    right.plot(both.time[part], _norm(both.velocity)[part], color=COLOURS["volume"], lw=2.4)
    right.plot(reference.time, _norm(reference.velocity), "--", color=INK, lw=1.0)
    other.plot(both.time[part], both.spin[part], color=COLOURS["point"], lw=2.4)
    other.plot(reference.time, reference.spin, "--", color=INK, lw=1.0)
    right.set_xlabel("time [s]")
    right.set_ylabel("speed [m/s]", color=COLOURS["volume"])
    other.set_ylabel("spin [rad/s]", color=COLOURS["point"])
    right.set_ylim(bottom=0.0)
    other.set_ylim(0.0, 1.6 * p.both_spin)
    return [figure]


def strip(result: Result) -> Figure:
    """The block that slides and spins, at five instants."""
    p = result.params
    both = result.slides["both"]
    shape = tg.Box((p.side, p.side, p.thickness))
    end = both.stop_time(both.spin)
    frames = []
    for t in np.linspace(0.0, end, 5):
        i = int(np.argmin(np.abs(both.time - t)))
        half = 0.5 * float(both.angle[i])
        at = np.array([both.way[i, 0], both.way[i, 1], 0.5 * p.thickness])
        turn = np.array([math.cos(half), 0.0, 0.0, math.sin(half)])
        arrows: tuple[tuple[Array, Array, str], ...] = ()
        if t < end:
            top = at + np.array([0.0, 0.0, 0.5 * p.thickness])
            ahead = 0.12 * np.array([both.velocity[i, 0], both.velocity[i, 1], 0.0])
            arrows = ((top, top + ahead, "#a33b3b"),)
        frames.append(
            pictures.Frame(
                pictures.solids(shape, at, turn),
                f"{t:.2f} s, {both.spin[i]:.1f} rad/s" if t < end else f"{t:.2f} s: still",
                arrows=arrows,
            )
        )
    camera = pictures.Camera(
        azimuth=-75.0, elevation=35.0, centre=(0.42, -0.03, 0.0), width=1.25, height=0.5
    )
    return pictures.strip(frames, camera, "A square block slides and spins; arrows show its speed.")


@dataclass(frozen=True)
class Ground:
    """The pressed area as points (n, 2) [m] with equal shares of area, in the body's axes.

    `spread` is the mean of x² (the same as of y²) [m²]; `height` that of the centre of mass [m].
    """

    points: Array
    spread: float
    height: float


def square_ground(p: Params) -> Ground:
    """Mid-points of a fine grid over the square."""
    n = p.quadrature
    line = ((np.arange(n) + 0.5) / n - 0.5) * p.side
    x, y = np.meshgrid(line, line)
    return Ground(np.column_stack((x.ravel(), y.ravel())), p.side**2 / 12.0, 0.5 * p.thickness)


def corner_ground(p: Params) -> Ground:
    """The corners of the square alone."""
    h = 0.5 * p.side
    corners = np.array([(-h, -h), (h, -h), (h, h), (-h, h)])
    return Ground(corners, h * h, 0.5 * p.thickness)


def friction(
    p: Params, ground: Ground, velocity: Array, spin: float, angle: float
) -> tuple[Array, float]:
    """Force (2,) [N] and torque [N m] of Coulomb friction, the pressure leaning with the push."""
    c, s = math.cos(angle), math.sin(angle)
    r = ground.points @ np.array([[c, s], [-s, c]])
    u = velocity + spin * np.column_stack((-r[:, 1], r[:, 0]))
    e = u / np.maximum(np.hypot(u[:, 0], u[:, 1]), 1e-300)[:, None]
    weight = p.mass * p.gravity
    # pressure p = (N/A)(1 + q·r): its moment N spread q balances the overturning moment h f(q)
    even = -p.friction * weight * e.mean(axis=0)
    slope = -p.friction * weight * (e[:, :, None] * r[:, None, :]).mean(axis=0)
    q = np.linalg.solve(
        weight * ground.spread * np.eye(2) + ground.height * slope, -ground.height * even
    )
    share = 1.0 + r @ q
    force = -p.friction * weight * (share[:, None] * e).mean(axis=0)
    torque = -p.friction * weight * float(np.mean(share * (r[:, 0] * e[:, 1] - r[:, 1] * e[:, 0])))
    return force, torque


def quadrature_motion(
    p: Params, ground: Ground, inertia: float, speed: float, spin: float
) -> Slide:
    """The whole motion by adaptive integration of the friction integrals, until it stops."""
    from scipy.integrate import solve_ivp

    length = math.sqrt(2.0 * ground.spread)

    def rate(_: float, y: Array) -> Array:
        force, torque = friction(p, ground, y[2:4], float(y[4]), float(y[5]))
        return np.array([y[2], y[3], *(force / p.mass), torque / inertia, y[4]])

    def left(_: float, y: Array) -> float:
        return math.hypot(y[2], y[3], length * y[4]) - 2e-3 * math.hypot(speed, length * spin)

    left.terminal = True  # type: ignore[attr-defined]
    begin = np.array([0.0, 0.0, speed, 0.0, spin, 0.0])
    done = solve_ivp(rate, (0.0, 60.0), begin, events=left, rtol=1e-7, atol=1e-9, max_step=2e-3)
    y = done.y.T
    return Slide(done.t, y[:, 2:4], y[:, 4], y[:, 0:2], y[:, 5])


def deviation(slide: Slide, reference: Slide, *, while_moving: bool = False) -> tuple[float, float]:
    """Largest error of velocity and of spin as shares of the first values.

    Over the whole record, the rest after the stop included, or only `while_moving`.
    """
    t = slide.time

    def at(values: Array) -> Array:
        return np.asarray(np.interp(t, reference.time, values, right=0.0))

    aim = np.column_stack((at(reference.velocity[:, 0]), at(reference.velocity[:, 1])))
    part = t <= reference.time[-1] if while_moving else np.full(len(t), True)
    velocity = np.max(_norm(slide.velocity - aim)[part]) / _norm(reference.velocity[:1])[0]
    spin = np.max(np.abs(slide.spin - at(reference.spin))[part]) / abs(reference.spin[0])
    return float(velocity), float(spin)


def rectangle(a: float, b: float) -> float:
    """Mean distance of the points of a rectangle of sides a, b from its centre [m]."""
    near, far = b * b / a * math.asinh(a / b), a * a / b * math.asinh(b / a)
    return math.hypot(a, b) / 6.0 + (near + far) / 12.0


def _ratio_torque(p: Params, ratio: float, dt: float) -> float:
    """Torque by the loss of spin of a rectangle under implicit steps, share of the exact one."""
    a, b = ratio * p.side, p.side
    inertia = p.mass * (a * a + b * b) / 12.0
    exact = p.friction * p.mass * p.gravity * rectangle(a, b)
    shape = tg.Box((a, b, p.thickness))
    slide, _ = _slide(p, shape, Step(dt, "implicit"), 0.0, p.spin, p.spin * inertia / exact)
    return slide.spin_torque(inertia) / exact


def _smooth(p: Params, step: Step) -> Array:
    """End of the smooth motion, a row of `Refinement`."""
    speed, spin, seconds = p.smooth_speed, p.smooth_spin, p.smooth_seconds
    sim = _set_going(p, tg.Box((p.side, p.side, p.thickness)), step, speed, spin)
    body = sim["block"]
    origin = np.array(body.position)
    sim.step(round(seconds / step.dt))
    w, _, _, z = body.orientation
    angle = 2.0 * math.atan2(z, w) % (2.0 * math.pi)  # less than a turn
    return np.array(
        [
            *body.velocity[:2] / speed,
            body.angular_velocity[2] / spin,
            *(body.position - origin)[:2] / (speed * seconds),
            angle / (spin * seconds),
        ]
    )


def _set_going(p: Params, shape: Shape, step: Step, speed: float, spin: float) -> tg.Simulation:
    """A block that has settled and is set going."""
    material = tg.Material(static_friction=p.friction, kinetic_friction=p.friction)
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    scene.add_body(
        shape,
        mass=p.mass,
        position=(0.0, 0.0, 0.5 * p.thickness),
        material=material,
        name="block",
    )
    sim = tg.Simulation(scene, method=step.method, dt=step.dt, integrator=step.integrator)
    sim.step(round(p.rest_seconds / step.dt))
    sim["block"].velocity = (speed, 0.0, 0.0)
    sim["block"].angular_velocity = (0.0, 0.0, spin)
    return sim


def _slide(
    p: Params, shape: Shape, step: Step, speed: float, spin: float, seconds: float
) -> tuple[Slide, float]:
    """The motion of a block set going at rest, and the contact torque of its first step [N m]."""
    sim = _set_going(p, shape, step, speed, spin)
    body = sim["block"]
    origin, begin = np.array(body.position), sim.time
    steps = round(seconds / step.dt)
    rows = np.empty((steps + 1, 7))
    torque = math.nan
    for i in range(steps + 1):
        if i:
            sim.step()
        if i == 1:
            torque = -float(body.contact_wrench[1][2])
        w, _, _, z = body.orientation
        rows[i] = (
            sim.time - begin,
            *body.velocity[:2],
            body.angular_velocity[2],
            *(body.position[:2] - origin[:2]),
            2.0 * math.atan2(z, w),
        )
    angle = np.unwrap(rows[:, 6])
    return Slide(rows[:, 0], rows[:, 1:3], rows[:, 3], rows[:, 4:6], angle), torque


def _peer_slide(p: Params, engine: str, speed: float, spin: float) -> Slide:
    box = peers.Box(
        (p.side, p.side, p.thickness), p.mass, (0.0, 0.0, 0.5 * p.thickness),
        velocity=(speed, 0.0, 0.0), angular_velocity=(0.0, 0.0, spin),
    )  # fmt: skip
    steps = round(_duration(p, speed, spin) / p.dt)
    motion = peers.run(engine, peers.Boxes((box,), (0.0, 0.0, -p.gravity), p.friction, p.dt, steps))
    q = motion.orientation[:, 0]
    return Slide(
        motion.time,
        motion.velocity[:, 0, :2],
        motion.angular_velocity[:, 0, 2],
        motion.position[:, 0, :2] - motion.position[0, 0, :2],
        np.unwrap(2.0 * np.arctan2(q[:, 3], q[:, 0])),
    )


def _duration(p: Params, speed: float, spin: float) -> float:
    """Long enough for every method to stop the block: twice the sum of both stopping times [s]."""
    limit = p.friction * p.gravity
    return 2.0 * (speed / limit + spin * p.side / (6.0 * SQUARE * limit)) + 0.05


def _norm(vectors: Array) -> Array:
    return np.asarray(np.hypot(vectors[:, 0], vectors[:, 1]))


EXPERIMENT = Experiment(
    name="spin-down",
    paper="exact theory of distributed Coulomb friction",
    summary="blocks that spin and slide stop as exact theory says; point contacts do not",
    params=Params(),
    quick=Params(with_peers=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
