"""The scripted hands of the experiments with contact formations: exact poses at even ticks.

Every path is a list of phases, each a function of u from 0 to 1 that gives the pose of the held
body's frame; `eased` makes a phase start and end at rest. Gaps are exact by construction, so that
closed forms of force and torque can be compared to rounding. All lengths in metres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tangere.devices.keyframes import shaken
from tangere.maths.rotations import quaternion_of, rotation_of
from tangere.maths.vec import Array

Pose: TypeAlias = "tuple[Array, Array]"
Phase: TypeAlias = "tuple[str, float, Callable[[float], Pose]]"
"""Name, duration [s], and pose as a function of its share 0 … 1."""

NOISE = 1e-5  # standard deviation of a coordinate in noisy runs [m]
TURN_NOISE = math.radians(0.01)  # … and of a turn about an axis [rad]


@dataclass(frozen=True)
class Path:
    """Poses of the held body at even ticks, and where each phase begins.

    Attributes:
        rate: Ticks per second [Hz].
        positions: Of the centre of mass [m], (n, 3).
        orientations: Unit quaternions, (n, 4).
        starts: First tick of each phase by its name.
    """

    rate: float
    positions: Array
    orientations: Array
    starts: dict[str, int]

    def __len__(self) -> int:
        return len(self.positions)

    def ticks(self, name: str) -> slice:
        """The ticks of a phase."""
        begin = self.starts[name]
        later = [at for at in self.starts.values() if at > begin]
        return slice(begin, min(later, default=len(self)))

    def noisy(self, seed: int, noise: float = NOISE, turn_noise: float = TURN_NOISE) -> Path:
        """The same with Gaussian noise on every pose."""
        moved, turned = shaken(
            self.positions, self.orientations, noise=noise, turn_noise=turn_noise, seed=seed
        )
        return Path(self.rate, moved, turned, self.starts)


def path_of(phases: Sequence[Phase], rate: float, centre: Array | None = None) -> Path:
    """Phases one after the other, sampled at a rate; `centre` of mass in the body's frame."""
    arm = np.zeros(3) if centre is None else centre
    starts: dict[str, int] = {}
    rows: list[Array] = []
    turns: list[Array] = []
    begin = 0.0
    for number, (name, seconds, pose) in enumerate(phases):
        starts[name] = len(rows)
        end = begin + seconds
        last = number == len(phases) - 1
        while len(rows) / rate < end - 1e-9 or (last and len(rows) / rate < end + 1e-9):
            x, q = pose((len(rows) / rate - begin) / seconds)
            rows.append(x + rotation_of(q) @ arm)
            turns.append(q)
        begin = end
    return Path(rate, np.array(rows), np.array(turns), starts)


def eased(pose: Callable[[float], Pose]) -> Callable[[float], Pose]:
    """The same way from rest to rest: s(u) = 3u² − 2u³."""
    return lambda u: pose(u * u * (3.0 - 2.0 * u))


def frame(z: Array, x: Array) -> Array:
    """Quaternion of a frame with that z axis and an x axis close to that one."""
    z = z / np.linalg.norm(z)
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return quaternion_of(np.column_stack((x, np.cross(z, x), z)))


def between(a: float, b: float, u: float) -> float:
    """A + u (b − a)."""
    return a + u * (b - a)


# ------------------------------------------------ peg and hole
class Peg(NamedTuple):
    """Sizes of peg and hole: half widths [m]; the block's top is at z = 0."""

    half: float = 0.015
    half_height: float = 0.030
    hole: float = 0.018
    gap: float = 0.5e-3
    """Between what touches: half of ε, which is overlap enough for 1.15 N."""
    tilt: float = math.radians(5.0)
    depth: float = 0.035
    beside: float = 0.025


def peg_in_hole(s: Peg, rate: float) -> Path:
    """Lower tilted, lay flat, slide to the hole, enter, to a wall, into the corner, back, jam."""
    rest = 0.05

    def flat(x: float, y: float, z: float) -> Pose:
        return np.array([x, y, z + s.half_height]), np.array([1.0, 0.0, 0.0, 0.0])

    def move(a: tuple[float, float, float], b: tuple[float, float, float]) -> Callable[..., Pose]:
        return eased(lambda u: flat(*(between(p, q, u) for p, q in zip(a, b, strict=True))))

    def about_edge(edge: tuple[float, float], angle: float) -> Pose:
        """The lower edge at +x stays at (x, z) while the peg turns about y by −angle."""
        c, sn = math.cos(angle), math.sin(angle)
        right, up = np.array([c, 0.0, sn]), np.array([-sn, 0.0, c])
        corner = np.array([edge[0], 0.0, edge[1]])
        q = np.array([math.cos(0.5 * angle), 0.0, -math.sin(0.5 * angle), 0.0])
        return corner - s.half * right + s.half_height * up, q

    def tilted(angle: float) -> Pose:
        """One lower edge at the wall; the other stays as deep, along the peg."""
        up = 2.0 * s.half * math.sin(angle)
        return about_edge((s.hole - s.gap, up - s.depth * math.cos(angle)), angle)

    out, high = s.beside + s.half, 3e-3
    free = s.hole - s.half  # clearance on each side
    wall = free - s.gap
    over = s.beside - 0.020  # still 2 mm of overlap with the top face
    jam = jam_angle(s)
    hold = "hold "
    return path_of(
        [
            ("lower", 0.25, eased(lambda u: about_edge((out, between(high, s.gap, u)), -s.tilt))),
            ("on an edge", 0.1, lambda u: about_edge((out, s.gap), -s.tilt)),
            ("lay flat", 0.5, eased(lambda u: about_edge((out, s.gap), (u - 1.0) * s.tilt))),
            ("flat", 0.1, lambda u: flat(s.beside, 0.0, s.gap)),
            ("slide", 0.8, move((s.beside, 0.0, s.gap), (over, 0.0, s.gap))),
            ("lift", 0.2, move((over, 0.0, s.gap), (over, 0.0, 2e-3))),
            ("over the hole", 0.2, move((over, 0.0, 2e-3), (0.0, 0.0, 2e-3))),
            ("enter", 0.8, move((0.0, 0.0, 2e-3), (0.0, 0.0, -s.depth))),
            ("to the wall", 0.4, move((0.0, 0.0, -s.depth), (wall, 0.0, -s.depth))),
            (hold + "wall", rest, lambda u: flat(wall, 0.0, -s.depth)),
            ("to the corner", 0.4, move((wall, 0.0, -s.depth), (wall, wall, -s.depth))),
            (hold + "corner", 0.2, lambda u: flat(wall, wall, -s.depth)),
            ("back", 0.4, move((wall, wall, -s.depth), (wall, 0.0, -s.depth))),
            (hold + "back", rest, lambda u: flat(wall, 0.0, -s.depth)),
            ("tilt", 0.8, eased(lambda u: tilted(u * jam))),
            ("jammed", 0.2, lambda u: tilted(jam)),
        ],
        rate,
    )  # fmt: skip


def jam_angle(s: Peg, gap: float | None = None) -> float:
    """Tilt at which both sides of the peg are a gap from the hole's walls [rad].

    One lower edge is a gap g from a wall, and the rim of the opposite wall is as far from the peg's
    other side, D along it from the other lower edge: w cos θ + D sin θ + g (1 + 1/cos θ) = W, with
    widths W and w of hole and peg.
    """
    from scipy.optimize import brentq

    g = s.gap if gap is None else gap

    def spare(t: float) -> float:
        held = 2.0 * s.half * math.cos(t) + s.depth * math.sin(t)
        return 2.0 * s.hole - held - g * (1.0 + 1.0 / math.cos(t))

    return float(brentq(spare, 0.0, 0.3, xtol=1e-15))


# ------------------------------------------------ pen and bowl
class Bowl(NamedTuple):
    """Sizes of pen and bowl [m]; the pen's frame is at its ball's centre, z along its shaft."""

    focal: float = 0.025
    rim: float = 0.040
    ball: float = 0.001
    shaft: float = 0.004
    gap: float = 0.5e-3

    def point(self, r: float) -> Array:
        """Point of the bowl's inside on the meridian of +x: z = r²/4f."""
        return np.array([r, 0.0, r * r / (4.0 * self.focal)])

    def normal(self, r: float) -> Array:
        """Unit normal there, into the bowl."""
        slope = r / (2.0 * self.focal)
        return np.array([-slope, 0.0, 1.0]) / math.hypot(1.0, slope)

    def ball_at(self, r: float, gap: float | None = None) -> Array:
        """Centre of the pen's ball end, a gap off the bowl."""
        return self.point(r) + (self.ball + (self.gap if gap is None else gap)) * self.normal(r)

    def arc(self, r: float) -> float:
        """Length of the meridian of the ball's centre from the middle [m]."""
        x = r / (2.0 * self.focal)
        bowl = self.focal * (x * math.hypot(1.0, x) + math.asinh(x))
        return bowl - (self.ball + self.gap) * math.atan(x)

    def radius_after(self, way: float) -> float:
        """The radius of the contact when the ball's centre has gone that way from the middle."""
        from scipy.optimize import brentq

        return float(brentq(lambda r: self.arc(r) - way, -self.rim, self.rim, xtol=1e-15))


# ------------------------------------------------ cylinder and pipe
class Pipe(NamedTuple):
    """A cylinder along its own z on pipes along x and y from the origin [m]."""

    radius: float = 0.020
    half: float = 0.040
    pipe: float = 0.015
    gap: float = 0.5e-3

    def on_pipe(self, along: Array, station: float, own: float, side: float = 0.0) -> Array:
        """Centre of the cylinder that touches the x pipe.

        Args:
            along: Direction of its axis.
            station: x of the contact on the pipe's axis.
            own: Place of the contact on its own axis, from its centre.
            side: Angle of the contact about the pipe, from the top towards +y, for an axis along x.
        """
        normal = np.cross(np.array([1.0, 0.0, 0.0]), along)
        size = float(np.linalg.norm(normal))
        if size < 1e-12:
            normal = np.array([0.0, math.sin(side), math.cos(side)])
        else:
            normal *= math.copysign(1.0, normal[2]) / size
        reach = self.radius + self.pipe + self.gap
        return np.array([station, 0.0, 0.0]) + reach * normal - own * along


def pen_on_meridian(
    s: Bowl, rate: float, speed: float, far: float, centre: Array | None = None
) -> Path:
    """Down near the middle, out along the meridian, leaned to the far rim, turned about its axis.

    Phase "meridian" begins in the middle, at even speed since 0.2 s before. The pen's axis is
    upright until it leans towards −x; `centre` of mass from the ball's centre.
    """
    way, early = s.arc(far), 0.2
    inside = s.radius_after(-early * speed)
    lean = lean_angle(s, far)
    upright = np.array([1.0, 0.0, 0.0, 0.0])

    def leaned(angle: float, spin: float = 0.0) -> Pose:
        along = np.array([-math.sin(angle), 0.0, math.cos(angle)])
        x = np.array([math.cos(angle), 0.0, math.sin(angle)])
        side = np.array([0.0, 1.0, 0.0])
        return s.ball_at(far), frame(along, math.cos(spin) * x + math.sin(spin) * side)

    return path_of(
        [
            ("touch", 0.3, eased(lambda u: (s.ball_at(inside, between(2e-3, s.gap, u)), upright))),
            ("rest", 0.1, lambda u: (s.ball_at(inside), upright)),
            (
                "begin", early,
                lambda u: (s.ball_at(s.radius_after((u - 1.0) * early * speed)), upright),
            ),
            ("meridian", way / speed, lambda u: (s.ball_at(s.radius_after(u * way)), upright)),
            ("rest outside", 0.1, lambda u: leaned(0.0)),
            ("lean", 1.0, eased(lambda u: leaned(u * lean))),
            ("rest on the rim", 0.1, lambda u: leaned(lean)),
            ("turn", 1.0, eased(lambda u: leaned(lean, 0.5 * math.pi * u))),
        ],
        rate,
        centre,
    )  # fmt: skip


def lean_angle(s: Bowl, r: float) -> float:
    """Angle from upright at which the shaft is a gap above the far rim [rad].

    With e from the ball's centre to the rim, (cos β, sin β)·e across the pen's axis is −(radius +
    gap): the rim lies below the axis.
    """
    from scipy.optimize import brentq

    e = np.array([-s.rim, 0.0, s.rim**2 / (4.0 * s.focal)]) - s.ball_at(r)
    reach = s.shaft + s.gap
    return float(
        brentq(lambda b: e[0] * math.cos(b) + e[2] * math.sin(b) + reach, 0.8, 1.57, xtol=1e-15)
    )


def pen_spun(
    s: Bowl, rate: float, r: float, spin: float, seconds: float, centre: Array | None = None
) -> Path:
    """The pen square on the bowl, turned about the normal of its contact [rad/s]."""
    n = s.normal(r)

    def pose(gap: float, angle: float) -> Pose:
        x, y = np.array([n[2], 0.0, -n[0]]), np.array([0.0, 1.0, 0.0])
        return s.ball_at(r, gap), frame(n, math.cos(angle) * x + math.sin(angle) * y)

    return path_of(
        [
            ("touch", 0.3, eased(lambda u: pose(between(2e-3, s.gap, u), 0.0))),
            ("rest", 0.1, lambda u: pose(s.gap, 0.0)),
            ("spin", seconds, lambda u: pose(s.gap, spin * seconds * u)),
        ],
        rate,
        centre,
    )


def cylinder_over_pipes(s: Pipe, rate: float, way: float, tilt: float) -> Path:
    """Laid on the x pipe, rolled, slid along it, tilted, and brought across both pipes.

    In rolling the cylinder's point at the contact stands still: α = φ (r + R + d)/r, for a turn α
    of the cylinder, a turn φ of the contact about the pipe, and the gap d between them.
    """
    angle = way / s.pipe
    turned = 1.0 + (s.pipe + s.gap) / s.radius
    start, end, corner = 0.060, 0.060 + way, 0.025
    own = corner / math.sqrt(2.0)
    up = math.radians(6.0)
    x = np.array([1.0, 0.0, 0.0])

    def on_top(side: float, station: float, gap: float = s.gap) -> Pose:
        spin = -turned * side
        across = np.array([0.0, math.cos(spin), math.sin(spin)])
        return s._replace(gap=gap).on_pipe(x, station, 0.0, side), frame(x, across)

    def crossed(yaw: float, pitch: float, station: float, place: float) -> Pose:
        along = np.array(
            [
                math.cos(yaw) * math.cos(pitch),
                -math.sin(yaw) * math.cos(pitch),
                -math.sin(pitch),
            ]
        )
        across = np.array([math.sin(yaw), math.cos(yaw), 0.0])
        return s.on_pipe(along, station, place), frame(along, across)

    quarter = 0.25 * math.pi
    return path_of(
        [
            ("touch", 0.3, eased(lambda u: on_top(-angle, start, between(2e-3, s.gap, u)))),
            ("rest", 0.1, lambda u: on_top(-angle, start)),
            ("roll", 1.0, eased(lambda u: on_top((u - 1.0) * angle, start))),
            ("rest on top", 0.1, lambda u: on_top(0.0, start)),
            ("slide", 0.5, eased(lambda u: on_top(0.0, between(start, end, u)))),
            ("rest there", 0.1, lambda u: on_top(0.0, end)),
            ("tilt", 0.5, eased(lambda u: crossed(tilt * u, 0.0, end, 0.0))),
            ("turn", 0.8, eased(lambda u: crossed(between(tilt, quarter, u), 0.0, end, 0.0))),
            ("raise", 0.3, eased(lambda u: crossed(quarter, up * u, end, 0.0))),
            (
                "across", 0.8,
                eased(lambda u: crossed(quarter, up, between(end, corner, u), own * u)),
            ),
            ("lower", 0.25, eased(lambda u: crossed(quarter, up * (1.0 - u), corner, own))),
            ("on both", 0.2, lambda u: crossed(quarter, 0.0, corner, own)),
        ],
        rate,
    )  # fmt: skip


# ------------------------------------------------ ball on two cylinders
def ball_over_cylinders(
    reach: float, far: float, rate: float, seconds: float, begin: float, end: float
) -> Path:
    """A ball on cylinders along x and y: its centre is ρ (cos ψ, cos ψ, sin ψ), ψ even in time.

    It is let down from ρ = `far` to ρ = `reach` while ψ runs; phase "log" has ψ from `begin` to
    `end` [rad].
    """
    swing = (end - begin) / seconds
    upright = np.array([1.0, 0.0, 0.0, 0.0])

    def at(rho: float, psi: float) -> Pose:
        return rho * np.array([math.cos(psi), math.cos(psi), math.sin(psi)]), upright

    def early(t: float) -> float:
        return begin + swing * (t - 0.4)

    return path_of(
        [
            ("touch", 0.2, lambda u: at(between(far, reach, u * u * (3 - 2 * u)), early(0.2 * u))),
            ("settle", 0.2, lambda u: at(reach, early(0.2 + 0.2 * u))),
            ("log", seconds, lambda u: at(reach, between(begin, end, u))),
        ],
        rate,
    )


# ------------------------------------------------ cylinder about a fixed point
def cylinder_about_point(
    s: Pipe, crest: float, rate: float, seconds: float, shift: float, begin: float, end: float
) -> Path:
    """The end edge of a cylinder on the crest of one along z: touches, shifts, turns about it.

    The axis rises towards −x, then falls evenly; phase "log" begins where it is at `begin` and ends
    where it is at `end` [rad]. The edge comes down along the normal at x = −`shift` and is moved to
    x = 0, where it stays.
    """
    reach = crest + s.gap
    early = 0.2
    first = begin + (begin - end) * early / seconds

    def held(point: Array, elevation: float) -> Pose:
        along = np.array([-math.cos(elevation), math.sin(elevation), 0.0])
        below = np.array([-math.sin(elevation), -math.cos(elevation), 0.0])
        return point + s.half * along - s.radius * below, frame(along, np.array([0.0, 0.0, 1.0]))

    lean = math.asin(shift / reach)

    def near(angle: float, gap: float) -> Array:
        """Point of the edge a gap off the crest, at an angle from its top towards −x."""
        return (crest + gap) * np.array([-math.sin(angle), math.cos(angle), 0.0])

    return path_of(
        [
            ("touch", 0.3, eased(lambda u: held(near(lean, between(2e-3, s.gap, u)), first))),
            ("rest", 0.1, lambda u: held(near(lean, s.gap), first)),
            ("shift", 0.3, eased(lambda u: held(near(lean * (1.0 - u), s.gap), first))),
            ("rest on the crest", 0.1, lambda u: held(near(0.0, s.gap), first)),
            ("begin", early, lambda u: held(near(0.0, s.gap), between(first, begin, u))),
            ("log", seconds, lambda u: held(near(0.0, s.gap), between(begin, end, u))),
        ],
        rate,
    )


# ------------------------------------------------ guarded motion
class Guarded(NamedTuple):
    """How a cylinder along x comes onto the crest of one along z; SI units.

    `speed` at the instant at which the gap is ε, `incidence` of the velocity from the normal,
    acceleration along the velocity for the last `runway` of the way and, on its own, along x.
    """

    speed: float
    incidence: float = math.radians(30.0)
    acceleration: float = 0.0
    runway: float = math.inf
    sideways: float = 0.0


def guarded_motion(g: Guarded, reach: float, rate: float, before: int, after: int) -> Path:
    """Ticks before and after the first contact, which is half a tick deep; `reach`: centre there.

    `speed` is that at the instant of contact; on the runway it grows evenly up to it.
    """
    u = np.array([math.sin(g.incidence), -math.cos(g.incidence), 0.0])
    a, v = g.acceleration, g.speed
    start = math.sqrt(max(v * v - 2.0 * a * g.runway, 0.0)) if math.isfinite(g.runway) else 0.0
    begin = (start - v) / a if math.isfinite(g.runway) and a > 0.0 else -math.inf

    def way(t: float) -> float:
        if t >= begin:
            return v * t + 0.5 * a * t * t
        return -g.runway + start * (t - begin)

    q = frame(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    times = (np.arange(-before, after + 1) + 0.5) / rate
    side = np.array([1.0, 0.0, 0.0])
    rows = np.array([way(t) * u + 0.5 * g.sideways * t * t * side for t in times])
    rows[:, 1] += reach
    return Path(rate, rows, np.tile(q, (len(rows), 1)), {"before": 0, "contact": before})
