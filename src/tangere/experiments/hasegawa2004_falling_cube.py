"""Experiment 2 of Hasegawa & Sato 2004 (Fig. 11, 12): does a falling cube come to rest?

A 2 m cube of 1 kg falls from 1 m, tilted by 0.1 rad, at a step of 10 ms. The papers have y up and
show the angular momentum about their z axis; here z is up and the tilt is about y, so the same
quantity is called L_y: the angular momentum about the horizontal axis of the tilt.

The 2003 paper prints 1000 N/m and 50 N s/m, the 2004 paper 1500 N/m and 1.5 N s/m; friction is in
neither and is zero here. With the 2003 values the cube rests after 0.7 s as both papers show. With
the 2004 values as printed it settles too, but only after many bounces; 62 N s/m would settle on
landing.

All that is the explicit step, as the papers have it. At 100 times the stiffness of 2003 it has
k dt²/m = 10 and cannot be stable; the implicit step brings that cube to rest too, with either
stiffness as deep as its springs say, m g/k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import tangere as tg
from tangere.experiments import peers, pictures
from tangere.experiments.experiment import Claim, Experiment, PeerParams, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, canvas, house_style
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMPLICIT, STIFFER = "implicit 2003", "implicit, stiffer"
REST_ENERGY = 1e-3  # [J] kinetic energy below which the cube counts as resting


@dataclass(frozen=True)
class SpringParams(PeerParams):
    """Springs as printed, with more damping, and stiffer by a factor; [N/m], [N s/m]."""

    stiffness_2003: float = 1000.0
    damping_2003: float = 50.0
    stiffness_2004: float = 1500.0
    damping_2004: float = 1.5
    damping_settling: float = 62.0
    stiffer: float = 100.0


@dataclass(frozen=True)
class Params(SpringParams):
    """Values of the experiment; lengths [m], times [s]."""

    edge: float = 2.0
    mass: float = 1.0
    gravity: float = 9.8
    drop: float = 1.0
    tilt: float = 0.1
    dt: float = 10e-3
    friction: float = 0.0
    seconds: float = 10.0
    seconds_2004: float = 30.0


@dataclass(frozen=True)
class Fall:
    """One fall: time, angular momentum about the tilt axis, height, kinetic energy, poses."""

    time: Array
    momentum: Array
    height: Array
    kinetic: Array
    position: Array
    orientation: Array

    @property
    def peak(self) -> float:
        """Largest |L_y| of the whole fall [kg m^2/s]."""
        return float(np.max(np.abs(self.momentum)))

    def settled(self, share: float) -> float | None:
        """Instant after which |L_y| stays below `share` of its peak [s]; None if it never does."""
        return self._after_last(np.abs(self.momentum) >= share * self.peak)

    def resting(self) -> float | None:
        """Instant after which the kinetic energy stays below `REST_ENERGY` [s]."""
        return self._after_last(~(self.kinetic < REST_ENERGY))

    def _after_last(self, above: NDArray[np.bool_]) -> float | None:
        """First instant after the last one that is marked [s]; None if that is the end."""
        marked = np.flatnonzero(above)
        last = int(marked[-1]) if len(marked) else -1
        return None if last == len(self.time) - 1 else float(self.time[last + 1])

    def largest(self, start: float, stop: float) -> float:
        """Largest |L_y| between two instants as a share of the peak."""
        inside = (self.time >= start) & (self.time <= stop)
        return float(np.max(np.abs(self.momentum[inside]))) / self.peak


@dataclass(frozen=True)
class Result:
    """All falls by name, and those of other engines."""

    params: Params
    falls: dict[str, Fall]
    others: dict[str, Fall] = field(default_factory=dict)


def run(params: Params, tell: Tell = silent) -> Result:
    """Drop the cube with every method and every set of values."""
    p = params
    printed: dict[str, tuple[str | tg.Volume, float, float, float]] = {
        "volume 2003": ("volume", p.stiffness_2003, p.damping_2003, p.seconds),
        "point 2003": ("point", p.stiffness_2003, p.damping_2003, p.seconds),
        "volume 2004": ("volume", p.stiffness_2004, p.damping_2004, p.seconds_2004),
        "volume 2004, b = 62": ("volume", p.stiffness_2004, p.damping_settling, p.seconds),
        "per area 2003": (
            tg.Volume(normalization="none"), p.stiffness_2003, p.damping_2003, 5.0,
        ),
    }  # fmt: skip
    falls: dict[str, Fall] = {}
    for i, (name, (method, stiffness, damping, seconds)) in enumerate(printed.items()):
        tell(0.9 * i / len(printed), name)
        falls[name] = _fall(p, method, stiffness, damping, seconds, "explicit")
    for name, stiffer in ((IMPLICIT, 1.0), (STIFFER, p.stiffer)):
        tell(0.9, name)
        stiffness = stiffer * p.stiffness_2003
        falls[name] = _fall(p, "volume", stiffness, p.damping_2003, p.seconds, "implicit")
    others: dict[str, Fall] = {}
    if p.with_peers:
        for engine in peers.installed():
            tell(1.0, engine)
            others[engine] = _peer_fall(p, engine)
    return Result(p, falls, others)


def check(result: Result) -> list[Claim]:
    """The papers' statements on rest and vibration, and rest at a stiffness beyond them."""
    p, falls = result.params, result.falls
    volume, point = falls["volume 2003"], falls["point 2003"]
    as_printed, damped = falls["volume 2004"], falls["volume 2004, b = 62"]
    per_area = falls["per area 2003"]
    five, one = volume.settled(0.05), volume.settled(0.01)
    damped_five = damped.settled(0.05)
    rest = float(np.mean(volume.height[-100:]))
    rest_exact = 0.5 * p.edge - p.mass * p.gravity / p.stiffness_2003
    shaking = point.largest(p.seconds - 1.0, p.seconds)
    swinging = as_printed.largest(1.5, 2.0)
    quiet = as_printed.resting()
    stiff_one, stiff_quiet = falls[STIFFER].settled(0.01), falls[STIFFER].resting()
    depths = [_rest_depth(p, falls[name]) for name in (IMPLICIT, STIFFER)]
    springs = [p.mass * p.gravity / (stiffer * p.stiffness_2003) for stiffer in (1.0, p.stiffer)]
    restless = float(np.max(per_area.kinetic[per_area.time >= 4.0]))
    return [
        Claim("rest-5", "2003 values: |L_y| stays below 5 % of its peak after 0.80 s",
              "stops near 0.7 s", five, "s", five is not None and five <= 0.80),
        Claim("rest-1", "2003 values: |L_y| stays below 1 % of its peak after 0.95 s",
              "stops near 0.7 s", one, "s", one is not None and one <= 0.95),
        Claim("height", f"2003 values: rest height within 0.1 mm of {rest_exact:.4f} m",
              f"{rest_exact:.4f} m (h - m g/k)", rest, "m", abs(rest - rest_exact) < 1e-4),
        Claim("point-shakes", "point method: |L_y| in the last of 10 s above 10 % of its peak",
              "vibrates on", 100 * shaking, "%", shaking > 0.10),
        Claim("2004-swings", "2004 values as printed: |L_y| from 1.5 to 2 s above 10 % of its peak",
              "shown at rest; b = 1.5 cannot", 100 * swinging, "%", swinging > 0.10),
        Claim("2004-rests", "2004 values as printed: kinetic energy below 1 mJ for good by 30 s",
              "stops after landing", quiet, "s", quiet is not None and quiet <= 30.0),
        Claim("2004-damped", "2004 stiffness with b = 62: |L_y| stays below 5 % after 1.0 s",
              "stops after landing", damped_five, "s",
              damped_five is not None and damped_five <= 1.0,
              "62 N s/m was chosen to settle at once, with the damping ratio of 2003"),
        Claim("per-area", "2003 values per area, as printed: kinetic energy above 1 mJ at 4 to 5 s",
              "k dt^2/m + 2 b dt/m = 4.4 > 4", 1e3 * restless, "mJ", not restless < REST_ENERGY),
        Claim("stiff-rest-1", f"implicit step, stiffness of 2003 times {p.stiffer:g}: |L_y| stays "
              "below 1 % of its peak after 1 s", "stops after landing", stiff_one, "s",
              stiff_one is not None and stiff_one <= 1.0),
        Claim("stiff-quiet", f"implicit step, stiffness of 2003 times {p.stiffer:g}: kinetic "
              "energy below 1 mJ for good by 1 s", "stops after landing", stiff_quiet, "s",
              stiff_quiet is not None and stiff_quiet <= 1.0),
        *(
            Claim(key, f"implicit step, stiffness of 2003{times}: rest depth within 2 % of "
                  f"{1e3 * exact:.3g} mm", f"{1e3 * exact:.3g} mm (m g/k)", 1e3 * depth, "mm",
                  abs(depth - exact) < 0.02 * exact)
            for key, times, depth, exact in zip(
                ("rest-depth", "stiff-rest-depth"), ("", f" times {p.stiffer:g}"), depths, springs,
                strict=True)
        ),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """When other engines bring the cube to rest."""
    shown = {**result.falls, **result.others}
    return [
        Reading("|L_y| below 5 % of its peak for good", name, fall.settled(0.05), "s")
        for name, fall in shown.items()
    ]


@house_style
def plot(result: Result) -> list[Figure]:
    """Fig. 12: angular momentum over time, and the values of 2003 and 2004 side by side."""
    figure, (left, right) = canvas(
        "Angular momentum of the falling cube about the axis of its tilt "
        "(Hasegawa & Sato 2004, Fig. 12). Left: the methods with the values of 2003. "
        "Right: the volume method with the values of 2004, as printed and with more damping.",
        columns=2,
        size=(8.6, 3.3),
    )
    shown = {
        "volume": result.falls["volume 2003"],
        "point": result.falls["point 2003"],
        **result.others,
    }
    for name, fall in shown.items():
        first = fall.time <= 2.0
        main = name in ("volume", "point")
        left.plot(
            fall.time[first], fall.momentum[first], color=COLOURS[name], label=name,
            lw=1.8 if main else 1.0, alpha=1.0 if main else 0.8, zorder=3 if main else 2,
        )  # fmt: skip
    left.set_title("k = 1000 N/m, b = 50 N s/m", loc="left")
    for name, colour, label in (
        ("volume 2004", "#9fb7c9", "b = 1.5 N s/m, as printed"),
        ("volume 2004, b = 62", COLOURS["volume"], "b = 62 N s/m"),
    ):
        fall = result.falls[name]
        first = fall.time <= 4.0
        right.plot(fall.time[first], fall.momentum[first], color=colour, label=label)
    right.set_title("k = 1500 N/m", loc="left")
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.set_ylabel("$L_y$ [kg m²/s]")
        axes.legend()
    return [figure]


def strip(result: Result) -> Figure:
    """The cube with the volume method (2003 values) and, last, the restless point method."""
    p = result.params
    shape = tg.Box((p.edge, p.edge, p.edge))
    frames = []
    for name, t, colour, label in (
        ("volume 2003", 0.0, pictures.PALETTE[0], "start"),
        ("volume 2003", 0.45, pictures.PALETTE[0], "0.45 s"),
        ("volume 2003", 0.55, pictures.PALETTE[0], "0.55 s"),
        ("volume 2003", 1.0, pictures.PALETTE[0], "1 s: at rest"),
        ("point 2003", p.seconds, pictures.PALETTE[1], f"point method, {p.seconds:g} s"),
    ):
        fall = result.falls[name]
        i = int(np.argmin(np.abs(fall.time - t)))
        frames.append(
            pictures.Frame(
                pictures.solids(shape, fall.position[i], fall.orientation[i], colour), label
            )
        )
    camera = pictures.Camera(
        azimuth=-68.0, elevation=12.0, centre=(0.0, 0.0, 1.55), width=4.2, height=4.2
    )
    return pictures.strip(frames, camera, "The falling cube, step 10 ms.")


def _fall(
    p: Params,
    method: str | tg.Volume,
    stiffness: float,
    damping: float,
    seconds: float,
    integrator: str,
) -> Fall:
    material = tg.Material(
        static_friction=p.friction,
        kinetic_friction=p.friction,
        stiffness=stiffness,
        damping=damping,
    )
    scene = tg.Scene(gravity=(0.0, 0.0, -p.gravity))
    scene.add_floor(material=material)
    cube = scene.add_body(
        tg.Box((p.edge, p.edge, p.edge)),
        mass=p.mass,
        position=(0.0, 0.0, _start_height(p)),
        orientation=(math.cos(0.5 * p.tilt), 0.0, math.sin(0.5 * p.tilt), 0.0),
        material=material,
        name="cube",
    )
    sim = tg.Simulation(scene, method=method, dt=p.dt, integrator=integrator)
    steps = round(seconds / p.dt)
    rows = np.empty((steps + 1, 10))
    for i in range(steps + 1):
        body = sim[cube]
        rows[i, 0] = sim.time
        rows[i, 1] = body.angular_momentum[1]
        rows[i, 2] = sim.energy.kinetic
        rows[i, 3:6] = body.position
        rows[i, 6:10] = body.orientation
        if i < steps:
            sim.step()
    return Fall(rows[:, 0], rows[:, 1], rows[:, 5], rows[:, 2], rows[:, 3:6], rows[:, 6:10])


def _rest_depth(p: Params, fall: Fall) -> float:
    """How far the middle of the lower face is below the floor at the end [m]."""
    return 0.5 * p.edge - float(np.mean(fall.height[-100:]))


def _peer_fall(p: Params, engine: str) -> Fall:
    box = peers.Box(
        (p.edge, p.edge, p.edge),
        p.mass,
        (0.0, 0.0, _start_height(p)),
        (math.cos(0.5 * p.tilt), 0.0, math.sin(0.5 * p.tilt), 0.0),
    )
    steps = round(p.seconds / p.dt)
    motion = peers.run(engine, peers.Boxes((box,), (0.0, 0.0, -p.gravity), p.friction, p.dt, steps))
    inertia = np.asarray(box.inertia())  # a cube: the same about every axis
    v, w = motion.velocity[:, 0], motion.angular_velocity[:, 0]
    kinetic = 0.5 * p.mass * np.sum(v * v, axis=1) + 0.5 * inertia[1] * np.sum(w * w, axis=1)
    return Fall(
        motion.time,
        inertia[1] * w[:, 1],
        motion.position[:, 0, 2],
        kinetic,
        motion.position[:, 0],
        motion.orientation[:, 0],
    )


def _start_height(p: Params) -> float:
    """Height of the centre when the lowest edge is `drop` above the floor [m]."""
    return p.drop + 0.5 * p.edge * (math.cos(p.tilt) + math.sin(p.tilt))


EXPERIMENT = Experiment(
    name="falling-cube",
    paper="Hasegawa & Sato 2004, section 5.4, Fig. 11-12; Hasegawa et al. 2003, experiment 2",
    summary="a tilted cube falls on a floor: the volume method rests, the point method vibrates on",
    params=Params(),
    quick=Params(with_peers=False),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
