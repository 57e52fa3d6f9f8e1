"""Two-handed manipulation (Hasegawa & Sato 2004, section 6; six blocks, two shovels).

Each hand holds a blade through a virtual coupling. Both press a block from its sides, lift it, hold
it, tilt it, and let go; a second run does the same with a pair of blocks between the blades.
Friction alone carries them: 5 N per side hold 6 N, a block weighs 1.96 N and a pair 3.92 N. At
1 N per side (1.2 N) the block must stay behind. The paper gives neither the scene nor its numbers;
here they are ours. Hands are scripts on the virtual clock, so that every run is the same; the time
of a step is that of the contact step and of both hands' ticks together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tangere as tg
from tangere.experiments import pictures
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.experiments.figures import COLOURS, canvas, house_style
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = {"left": -1.0, "right": 1.0}
PLACES = ((-0.35, 0.3), (-0.1, 0.35), (0.15, 0.3), (0.4, 0.35), (0.0, 0.55))  # [m] of the others


@dataclass(frozen=True)
class Params:
    """Values of the experiment; lengths [m], times [s], forces [N]."""

    edge: float = 0.1
    mass: float = 0.2
    blade: tuple[float, float, float] = (0.02, 0.12, 0.12)
    blade_mass: float = 0.05
    static_friction: float = 0.6
    kinetic_friction: float = 0.5
    stiffness: float = 500.0
    damping: float = 3.0
    rotational_stiffness: float = 3.0
    rotational_damping: float = 0.02
    press: float = 5.0
    weak: float = 1.0
    lift: float = 0.2
    tilt: float = 30.0  # [°]
    grasped: float = 1.2  # instants: pressed,
    lifted: float = 2.2  # in the air,
    settle: float = 0.2  # … and still after this time,
    held: float = 4.2  # held for two seconds,
    tilted: float = 5.2
    released: float = 6.0
    seconds: float = 7.0
    rate: float = 1000.0


@dataclass(frozen=True)
class Lift:
    """One run: trace of both hands, pose of the blocks between them, time of the steps."""

    trace: tg.Trace
    time: Array
    position: Array  # (ticks, blocks, 3) [m]
    orientation: Array
    others: Array  # (5, 3), (5, 4) of the blocks left alone, at the end
    turns: Array  # time of each step [s]


@dataclass(frozen=True)
class Result:
    """Runs by name."""

    params: Params
    lifts: dict[str, Lift]


def smooth(t: float, start: float, end: float) -> float:
    """From 0 to 1 with no jerk at the ends."""
    u = min(max((t - start) / (end - start), 0.0), 1.0)
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)


def run(params: Params, tell: Tell = silent) -> Result:
    """Lift one block, a pair, and fail to lift one."""
    lifts = {}
    cases = {"one": (1, params.press), "pair": (2, params.press), "weak": (1, params.weak)}
    for i, (name, (blocks, press)) in enumerate(cases.items()):
        tell(i / len(cases), name)
        lifts[name] = _lift(params, blocks, press)
    return Result(params, lifts)


def build(p: Params, blocks: int) -> tg.Scene:
    """Six blocks on a floor, `blocks` of them in a row between two blades."""
    rubber = tg.Material(p.static_friction, p.kinetic_friction)
    scene = tg.Scene()
    scene.add_floor(material=rubber)
    cube = tg.Box((p.edge, p.edge, p.edge))
    places = [((i - 0.5 * (blocks - 1)) * p.edge, 0.0) for i in range(blocks)]
    for i, (x, y) in enumerate((*places, *PLACES[: 6 - blocks])):
        scene.add_body(
            cube, mass=p.mass, position=(x, y, 0.5 * p.edge), material=rubber, name=f"block-{i + 1}"
        )
    coupling = tg.VirtualCoupling(
        stiffness=p.stiffness,
        damping=p.damping,
        rotational_stiffness=p.rotational_stiffness,
        rotational_damping=p.rotational_damping,
    )
    for name, side in SIDES.items():
        scene.add_tool(
            tg.Box(p.blade),
            mass=p.blade_mass,
            position=(side * _open(p, blocks), 0.0, _height(p)),
            material=rubber,
            coupling=coupling,
            name=name,
        )
    return scene


def _open(p: Params, blocks: int) -> float:
    """Distance of an open hand from the middle [m]."""
    return 0.5 * p.edge * blocks + 0.07


def _height(p: Params) -> float:
    return 0.5 * p.blade[2] + 0.02


def hand(p: Params, side: float, blocks: int, press: float) -> tg.devices.Scripted:
    """Close, press by F/k beyond the face, lift, hold, tilt about the middle, open."""
    touch = 0.5 * p.edge * blocks + 0.5 * p.blade[0]

    def pose(t: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        reach = _open(p, blocks) + (touch - _open(p, blocks)) * smooth(t, 0.2, 0.6)
        reach -= press / p.stiffness * smooth(t, 0.6, 1.0)
        reach += 0.1 * smooth(t, p.released, p.released + 0.3)
        angle = math.radians(p.tilt) * smooth(t, p.held, p.tilted)
        height = _height(p) + p.lift * smooth(t, p.grasped, p.lifted)
        place = (side * reach * math.cos(angle), 0.0, height - side * reach * math.sin(angle))
        return place, (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)

    return tg.devices.Scripted(pose)


def _lift(p: Params, blocks: int, press: float) -> Lift:
    scene = build(p, blocks)
    session = tg.Session(
        scene, device=[hand(p, side, blocks, press) for side in SIDES.values()], rate=p.rate
    )
    position: list[Array] = []
    orientation: list[Array] = []

    def note() -> None:
        position.append(session.simulation.positions[:6].copy())
        orientation.append(session.simulation.orientations[:6].copy())

    trace = session.run(p.seconds, realtime=False, each=note)
    where, turned = np.array(position), np.array(orientation)
    return Lift(
        trace,
        trace["time"],
        where[:, :blocks],
        turned[:, :blocks],
        where[-1, blocks:],
        np.array(session.turn_seconds),
    )


def slip(p: Params, lift: Lift, start: float, end: float) -> float:
    """Farthest that a block moved in the hold, seen from between the blades [m]."""
    hold = np.flatnonzero((lift.time >= start) & (lift.time < end))
    middle = 0.5 * (lift.trace["left.tool.position"] + lift.trace["right.tool.position"])
    frame = rotation_of(lift.trace["left.hand.orientation"][hold])
    seen = np.einsum("tji,tbj->tbi", frame, lift.position[hold] - middle[hold, None])
    return float(np.max(np.linalg.norm(seen - seen[0], axis=2)))


def pressing(p: Params, lift: Lift) -> list[float]:
    """Mean normal force on each blade during the hold [N]."""
    hold = (lift.time >= p.lifted + p.settle) & (lift.time < p.held)
    return [float(np.mean(np.abs(lift.trace[f"{name}.tool.force"][hold, 0]))) for name in SIDES]


def check(result: Result) -> list[Claim]:
    """Hold, prescribed force, the control, and the time of a step."""
    p, lifts = result.params, result.lifts
    claims = []
    for name, words in (("one", "one block"), ("pair", "a pair of blocks")):
        lift = lifts[name]
        slid = slip(p, lift, p.lifted + p.settle, p.held)
        tipped = slip(p, lift, p.held, p.released)
        worst = max(abs(force / p.press - 1.0) for force in pressing(p, lift))
        raised = float(lift.position[lift.time < p.held][-1, :, 2].min()) - 0.5 * p.edge
        dropped = float(lift.position[-1, :, 2].max())
        claims += [
            Claim(f"{name}-lifted", f"{words}: lifted by friction, within 5 mm of {p.lift:g} m",
                  "picked up", raised, "m", abs(raised - p.lift) < 5e-3),
            Claim(f"{name}-slip", f"{words}: slip in the hold of 2 s below 2 mm",
                  "held", 1e3 * slid, "mm", slid < 2e-3),
            Claim(f"{name}-tilt", f"{words}: slip while tilted by {p.tilt:g}° below 2 mm",
                  "held", 1e3 * tipped, "mm", tipped < 2e-3),
            Claim(f"{name}-press", f"{words}: normal force on both blades within 10 % of "
                  f"{p.press:g} N", "as prescribed", 100.0 * worst, "%", worst < 0.10),
            Claim(f"{name}-let-go", f"{words}: back on the floor after letting go",
                  "thrown, passed", dropped, "m", dropped < 2.1 * p.edge),
        ]  # fmt: skip
    weak = float(lifts["weak"].position[lifts["weak"].time < p.held][-1, 0, 2])
    finite = all(bool(np.all(np.isfinite(lift.trace.rows))) for lift in lifts.values())
    turns = np.concatenate([lift.turns for lift in lifts.values()])
    median, late = float(np.median(turns)), float(np.percentile(turns, 99.0))
    return [
        *claims,
        Claim("weak", f"{p.weak:g} N per side, 2 μ₀ N < m g: the block stays on the floor",
              "2 μ₀ N = 1.2 N < 1.96 N", weak - 0.5 * p.edge, "m", weak < 0.51 * p.edge),
        Claim("finite", "every number of every tick is finite", "stable", float(finite), "",
              finite),
        Claim("median", "median time of a step, both hands included, below 0.2 ms", "2 ms",
              1e3 * median, "ms", median < 0.2e-3),
        Claim("late", "99th percentile of the time of a step below 2.8 ms", "2.8 ms",
              1e3 * late, "ms", late < 2.8e-3),
    ]  # fmt: skip


def beside(result: Result) -> list[Reading]:
    """What both hands carry."""
    p = result.params
    rows = []
    for name, lift in result.lifts.items():
        hold = (lift.time >= p.lifted + p.settle) & (lift.time < p.held)
        carried = sum(float(np.mean(lift.trace[f"{hand}.device.force"][hold, 2])) for hand in SIDES)
        rows.append(Reading("weight felt by both hands in the hold", name, -carried, "N"))
    return rows


@house_style
def plot(result: Result) -> list[Figure]:
    """Force on the left blade and height of the blocks, run by run."""
    figure, (left, right) = canvas(
        "Two hands lift blocks by friction. Left: normal force on the left blade. Right: height of "
        "the lowest block above its place on the floor.",
        columns=2,
        size=(8.6, 3.3),
    )
    shown = {
        "one": (COLOURS["volume"], "one block, 5 N"),
        "pair": (COLOURS["vertex rule"], "a pair, 5 N"),
        "weak": (COLOURS["point"], "one block, 1 N"),
    }
    for name, (colour, label) in shown.items():
        lift = result.lifts[name]
        force = np.linalg.norm(lift.trace["left.tool.force"], axis=1)
        left.plot(lift.time, force, color=colour, label=label)
        height = lift.position[:, :, 2].min(axis=1) - 0.5 * result.params.edge
        right.plot(lift.time, 1e3 * height, color=colour, label=label)
    left.set_ylabel("contact force [N]")
    right.set_ylabel("height [mm]")
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.legend()
    return [figure]


def strip(result: Result) -> Figure:
    """The pair: on the floor, lifted, tilted, let go."""
    p, lift = result.params, result.lifts["pair"]
    cube, blade = tg.Box((p.edge,) * 3), tg.Box(p.blade)
    frames = []
    for t, label in (
        (0.0, "start"),
        (p.grasped, "pressed"),
        (p.lifted, "lifted"),
        (p.tilted, f"tilted {p.tilt:g}°"),
        (p.seconds, "let go"),
    ):
        i = min(int(np.searchsorted(lift.time, t)), len(lift.time) - 1)
        solids: list[pictures.Solid] = []
        for b in range(lift.position.shape[1]):
            solids += pictures.solids(
                cube, lift.position[i, b], lift.orientation[i, b], pictures.PALETTE[b]
            )
        for name in SIDES:
            solids += pictures.solids(
                blade,
                lift.trace[f"{name}.tool.position"][i],
                lift.trace[f"{name}.tool.orientation"][i],
                pictures.PALETTE[3],
            )
        frames.append(pictures.Frame(tuple(solids), label))
    camera = pictures.Camera(
        azimuth=-72.0, elevation=14.0, centre=(0.0, 0.0, 0.2), width=0.55, height=0.55
    )
    return pictures.strip(frames, camera, "Two blades lift a pair of blocks.")


EXPERIMENT = Experiment(
    name="two-hands",
    paper="Hasegawa & Sato 2004, section 6: six blocks and two shovels",
    summary="two hands press, lift, tilt and drop blocks: friction holds what it should",
    params=Params(),
    quick=Params(),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
