"""A clip snaps onto a pipe, [DURIEZ2006] Sec. 7.2 and Figs. 14 to 16, beside its closed form.

The clip is a C-ring of polyethylene on a handle, 15 g in all (`scene.soft_library`); the paper's
meshes and the material of its pipe are not available. Four sets of runs:

(a) the handle is led down, whatever resists, and (b) turns back at 3 mm: the push over height is
    that of `clip_law`, with the lateral stiffness of a lip measured on the very mesh;
(c) a hand pushes through a coupling of 2 kN/m and 4 N s/m at 20 mm/s: force rises, the clip snaps
    ahead of the hand, is drawn home, and rests;
(d) the same on a soft pipe, with two soft bodies in one contact problem, and off it again.

Elements of four nodes make the clip of this mesh twice too stiff; that stiffness is why it snaps
under this coupling, which holds a clip of the true stiffness back. So (a) is also shown with
elements of ten nodes, whose lips bend as beams and plates do, and with a clip of 10,368 elements.

A soft pipe has facets, and each one tilts the contact normal: with n of them the push is up to
π/n times 2/sin 2(θ − arctan μ) higher than on a cylinder. So the soft pipe is compared with a rigid
one of the same facets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tangere as tg
from tangere.experiments.clip_figures import plot, strip
from tangere.experiments.clip_law import ClipLaw, Snap, beam_stiffness, lip_stiffness, snap
from tangere.experiments.clip_runs import (
    FINE,
    FOUR,
    PACE,
    ROUGH,
    SLIPPERY,
    TEN,
    Run,
    felt_in_session,
    lead,
    push_by_hand,
    way_in,
)
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell, silent
from tangere.maths.vec import Array
from tangere.scene.soft_library import (
    CLIP_HAND,
    CLIP_MASS,
    MOUTH,
    OUTER,
    POLYETHYLENE,
    RADIUS,
    START,
    clip_on_pipe,
)

HOME = 1e-4  # a clip this low is home [m]


@dataclass(frozen=True)
class Params:
    """Values of the experiment; SI units, angles in degrees."""

    cells: tuple[int, int, int] = (60, 2, 2)
    fine_cells: tuple[int, int, int] = (108, 4, 4)
    ways: tuple[float, float] = (1e-4, 5e-5)
    last: float = HOME
    turn_at: float = 3e-3
    turn_way: float = 1e-5
    turned_by: float = 3e-4
    jam_friction: float = 1.4
    jam_way: float = 2e-3
    blunt: float = 30.0
    blunt_way: float = 1e-3
    hand_speed: float = 0.02
    hand_steps: tuple[float, float] = (1e-3, 3e-3)
    rest: float = 0.1
    young: float = 50e6
    stiff_young: float = 50e9
    pipe_cells: tuple[int, int, int] = (96, 2, 24)
    pipe_dt: float = 1e-3
    off: float = 0.015
    tolerance: float = 1e-6
    max_sweeps: int = 20_000


@dataclass(frozen=True)
class Led:
    """A clip led onto the pipe, and the law that it should follow."""

    mesh: str
    friction: float
    way: float
    law: ClipLaw
    run: Run

    @property
    def travel(self) -> Any:
        """Way of the handle [m]."""
        return START - self.run.height

    def error(self, extreme: int) -> float:
        """By how much the largest (0) or least (1) push is off the law [%]."""
        found = (self.run.force.max(), self.run.force.min())[extreme]
        return _percent_off(float(found), self.law.extremes[extreme])


@dataclass(frozen=True)
class Result:
    """All runs: led ones, turned ones by friction, those by hand, and on other pipes.

    `in_session` is the force on the hand at every tick [N], `beam` the stiffness of a lip by
    beam theory [N/m].
    """

    params: Params
    led: list[Led]
    turned: dict[float, Run]
    jammed: Run
    jammed_hand: Run
    blunt: dict[float, Run]
    by_hand: dict[tuple[float, float], Run]
    bending_by_hand: dict[float, Run]
    in_session: dict[float, Array]
    theory: dict[float, Snap]
    pipes: dict[tuple[float, float], Run]
    stiffness: dict[str, float]
    beam: float
    elements: dict[str, int]

    def law(self, friction: float) -> ClipLaw:
        """Of the clip of four-node elements that most runs have."""
        return ClipLaw(self.stiffness[FOUR], friction, MOUTH)

    def at(self, mesh: str, friction: float, way: float) -> Led:
        """One led run."""
        found = (e for e in self.led if (e.mesh, e.friction, e.way) == (mesh, friction, way))
        return next(found)


def run(params: Params, tell: Tell = silent) -> Result:
    """All runs, those on soft pipes last."""
    p = params
    meshes: dict[str, dict[str, Any]] = {
        FOUR: {"cells": p.cells, "order": 1},
        TEN: {"cells": p.cells, "order": 2},
        FINE: {"cells": p.fine_cells, "order": 1},
    }
    plain = meshes[FOUR]
    stiffness, elements, led = {}, {}, []
    for i, (mesh, of_mesh) in enumerate(meshes.items()):
        tell(0.1 * i, f"led onto the pipe, {mesh}")
        scene = clip_on_pipe(speed=PACE, damping=0.0, **of_mesh)
        stiffness[mesh] = lip_stiffness(scene.bodies[0])
        elements[mesh] = len(scene.bodies[0].shape.tetrahedra)  # type: ignore[attr-defined]
        for friction in (0.0, SLIPPERY, ROUGH):
            for way in p.ways if mesh == FOUR else p.ways[:1]:
                law = ClipLaw(stiffness[mesh], friction, MOUTH)
                count = round((START - p.last) / way)
                led.append(Led(mesh, friction, way, law, _lead(friction, [(count, way)], of_mesh)))
    tell(0.3, "turned back, jammed, stuck at the entry")
    there, back = (round(p.turn_at / p.ways[0]), p.ways[0]), round(p.turned_by / p.turn_way)
    turned = {
        mu: _lead(mu, [there, (back, -p.turn_way)], plain) for mu in (SLIPPERY, ROUGH)
    }  # fmt: skip
    jammed = _lead(p.jam_friction, [(round(p.jam_way / p.ways[0]), p.ways[0])], plain)
    blunt = {mu: _lead_blunt(p, mu, plain) for mu in (SLIPPERY, ROUGH)}
    tell(0.35, "pushed by hand")
    by_hand = {(mu, dt): _push(p, mu, dt, plain) for mu in (SLIPPERY, ROUGH) for dt in p.hand_steps}
    in_session = {
        mu: felt_in_session(
            clip_on_pipe(friction=mu, damping=0.0, **plain), START, p.hand_speed, p.rest
        )
        for mu in (SLIPPERY, ROUGH)
    }
    dt = p.hand_steps[0]
    jammed_hand = _push(p, p.jam_friction, dt, plain)
    bending = {mu: _push(p, mu, dt, meshes[TEN]) for mu in (SLIPPERY, ROUGH)}
    theory = {
        mu: snap(
            ClipLaw(stiffness[FOUR], mu, MOUTH), mass=CLIP_MASS, stiffness=CLIP_HAND.stiffness,
            damping=CLIP_HAND.damping, start=START, speed=p.hand_speed,
        )
        for mu in (SLIPPERY, ROUGH)
    }  # fmt: skip
    beam = beam_stiffness(clip_on_pipe(**meshes[TEN]).bodies[0], MOUTH)
    pipes: dict[tuple[float, float], Run] = {}
    for i, young in enumerate((math.inf, p.stiff_young, p.young)):
        for j, mu in enumerate((SLIPPERY, ROUGH)):
            tell(0.45 + 0.09 * (2 * i + j), f"pipe of {young / 1e6:g} MPa, friction {mu:g}")
            pipes[mu, young] = _on_and_off(p, mu, young, plain)
    return Result(p, led, turned, jammed, jammed_hand, blunt, by_hand, bending, in_session, theory,
                  pipes, stiffness, beam, elements)  # fmt: skip


def _lead(friction: float, steps: list[tuple[int, float]], mesh: dict[str, Any]) -> Run:
    return lead(clip_on_pipe(friction=friction, speed=PACE, damping=0.0, **mesh), steps)


def _lead_blunt(p: Params, friction: float, mesh: dict[str, Any]) -> Run:
    """A mouth so narrow that the outer corners of its lips touch first, from just above that."""
    mouth = math.radians(p.blunt)
    beside = OUTER * math.sin(mouth)
    touch = OUTER * math.cos(mouth) + math.sqrt(RADIUS**2 - beside**2)
    scene = clip_on_pipe(
        friction=friction, speed=PACE, damping=0.0, mouth=mouth, height=touch + p.ways[1], **mesh
    )
    return lead(scene, [(round(p.blunt_way / p.ways[1]), p.ways[1])])


def _push(p: Params, friction: float, dt: float, mesh: dict[str, Any]) -> Run:
    scene = clip_on_pipe(friction=friction, damping=0.0, coupling=None, **mesh)
    return push_by_hand(scene, way_in(START, p.hand_speed, dt, p.rest), dt)


def _on_and_off(p: Params, friction: float, young: float, mesh: dict[str, Any]) -> Run:
    """By hand onto a pipe with facets, and off again where it is soft."""
    scene = clip_on_pipe(
        friction=friction, damping=0.0, coupling=None,
        pipe_young=young, pipe_cells=p.pipe_cells, **mesh,
    )  # fmt: skip
    path = way_in(START, p.hand_speed, p.pipe_dt, p.rest)
    captions = (
        (0.0130, "above the pipe"),
        (0.0101, "pushed: {force:.1f} N"),
        (0.0064, "widest: {force:.1f} N"),
        (0.0025, "beyond: {force:.1f} N"),
        (5e-5, "home"),
    )
    if young == p.young:
        path += [p.hand_speed] * round(p.off / p.hand_speed / p.pipe_dt)
    method = tg.Signorini(tolerance=p.tolerance, max_sweeps=p.max_sweeps)
    return push_by_hand(scene, path, p.pipe_dt, method=method, look_at=captions)


# ------------------------------------------------ verdicts


def check(result: Result) -> list[Claim]:
    """Every criterion of the experiment, the runs of (a) first."""
    return [
        *_check_led(result),
        *_check_turned(result),
        *_check_by_hand(result),
        *_check_pipes(result),
    ]


def _most(values: Iterable[float]) -> float:
    """The largest; not a number where there is none or one is not a number."""
    found = list(values)
    return float(np.max(found)) if found else math.nan


def _ratio(a: float, b: float) -> float:
    return a / b if b != 0.0 else math.nan


def _percent_off(found: float, exact: float) -> float:
    return 100.0 * abs(_ratio(found, exact) - 1.0)


def _check_led(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for way, limit in zip(p.ways, (8.0, 5.0), strict=True):
        runs = [result.at(FOUR, mu, way) for mu in (0.0, SLIPPERY, ROUGH)]
        words = f"handle led in steps of {1e3 * way:g} mm"
        name = f"{1e3 * way:g}mm"
        peak = _most(each.error(0) for each in runs)
        pull = _most(each.error(1) for each in runs[:2])
        rough = runs[2]
        small = 100.0 * abs(rough.run.force.min() - rough.law.extremes[1]) / rough.law.extremes[0]
        claims += [
            Claim(f"peak-{name}", f"{words}: largest push within {limit:g} % at all μ",
                  "closed form", peak, "%", peak < limit),
            Claim(f"pull-{name}", f"{words}: strongest pull within {limit:g} %, μ = 0 and 0.2",
                  "closed form", pull, "%", pull < limit),
            Claim(f"no-pull-{name}",
                  f"{words}: hardly a pull at μ = 0.8, to 0.1 % of the largest push",
                  f"{1e3 * rough.law.extremes[1]:.1f} mN", small, "%", small < 0.1),
        ]  # fmt: skip
    law = result.law(SLIPPERY)
    led = [each for each in result.led if each.mesh == FOUR]
    touch = 1e3 * _most(
        abs(each.run.height[np.argmax(each.run.touching > 0)] - law.touch) for each in led
    )
    wide = 1e3 * _most(abs(each.run.aside.max() - law.opening) for each in led)
    fine = _most(e.error(0) for e in result.led if e.mesh == FINE)
    ten = _most(e.error(0) for e in result.led if e.mesh == TEN)
    # a plate cannot become narrower where it is stretched
    ten_lip, plate = result.stiffness[TEN], result.beam / (1.0 - POLYETHYLENE["poisson"] ** 2)
    after = result.jammed.stuck[result.jammed.touching > 0][1:]
    stuck = -100.0 * _most(-after)
    held = result.jammed_hand
    slid = 1e3 * (law.touch - float(held.height.min()))
    entry = {mu: _first_stuck(each) for mu, each in result.blunt.items()}
    return [
        *claims,
        Claim("touch", "lips touch within 0.1 mm", f"after {1e3 * (START - law.touch):.2f} mm",
              touch, "mm off", touch < 0.1),
        Claim("opening", "widest opening of a lip within 0.1 mm", f"{1e3 * law.opening:.2f} mm",
              wide, "mm off", wide < 0.1),
        Claim("peak-fine", f"clip of {result.elements[FINE]:,} elements, steps of "
              f"{1e3 * p.ways[0]:g} mm: largest push within 5 % at all μ", "closed form", fine, "%",
              fine < 5.0 and result.elements[FINE] >= 10_000),
        Claim("peak-ten", f"elements of ten nodes, steps of {1e3 * p.ways[0]:g} mm: largest push "
              "within 5 % at all μ", "closed form", ten, "%", ten < 5.0),
        Claim("bending", "elements of ten nodes: stiffness of a lip between those of a thin curved "
              "beam and of a plate", f"{result.beam:.0f} to {plate:.0f} N/m", ten_lip, "N/m",
              result.beam < ten_lip < plate),
        Claim("jam-stick", f"μ = {p.jam_friction:g}, handle led {1e3 * p.jam_way:g} mm: all normal "
              "force is on points that stick, from the second step on", "sticks: μ > tan α = 1.19",
              stuck, "%", stuck > 99.0),
        Claim("jam-hand", f"μ = {p.jam_friction:g} by hand, as far as the others: the clip stays "
              "within 1 mm of where it touched", "never snaps", slid, "mm", 0.0 <= slid < 1.0),
        Claim("entry-stick", f"mouth of {p.blunt:g}°, μ = 0.8: all normal force of the first 0.5 "
              "mm is on points that stick", "the first stick of the paper: μ > tan 37° = 0.75",
              100.0 * entry[ROUGH], "%", entry[ROUGH] > 0.99),
        Claim("entry-slip", f"mouth of {p.blunt:g}°, μ = 0.2: none of it, from the second step on",
              "slips", 100.0 * entry[SLIPPERY], "%", entry[SLIPPERY] < 0.01),
    ]  # fmt: skip


def _first_stuck(each: Run) -> float:
    """Share of normal force on points that stick in the first 0.5 mm after touch: the extreme."""
    on = np.flatnonzero(each.touching > 0)
    if len(on) < 2:
        return math.nan
    low = each.height[on[0]] - 0.5e-3
    first = each.stuck[on[1] : max(on[1] + 1, int(np.argmax(each.height < low)))]
    return float(first.min() if np.median(first) > 0.5 else first.max())


def _check_turned(result: Result) -> list[Claim]:
    p = result.params
    there = round(p.turn_at / p.ways[0])
    first = max(1, round(2e-5 / p.turn_way))
    sticking = min(float(r.sticking[there : there + first].min()) for r in result.turned.values())
    off = _most(
        _percent_off(float(each.force[-1]), result.law(mu).push_back(float(each.height[-1])))
        for mu, each in result.turned.items()
    )
    return [
        Claim("turn-stick", f"handle turned back at {1e3 * p.turn_at:g} mm: at least 4 points "
              "stick for the first 0.02 mm, both μ", "the lips stick first", sticking, "",
              sticking >= 4),
        Claim("turn-force", f"the same: force after {1e3 * p.turned_by:g} mm within 5 %, both μ",
              "closed form with cot(θ + arctan μ)", off, "%", off < 5.0),
    ]  # fmt: skip


def _check_by_hand(result: Result) -> list[Claim]:
    p = result.params
    runs = result.by_hand
    slippery = [runs[SLIPPERY, dt] for dt in p.hand_steps]
    led = {mu: result.at(FOUR, mu, p.ways[1]).run.peak for mu in (SLIPPERY, ROUGH)}
    peak = _most(_percent_off(each.peak, led[mu]) for (mu, _), each in runs.items())
    session = _most(
        _percent_off(float(force.max()), led[mu]) for mu, force in result.in_session.items()
    )
    fastest = -_most(float(each.speed.min()) for each in runs.values()) / p.hand_speed
    theory = _most(
        _percent_off(float(runs[mu, p.hand_steps[0]].speed.min()), float(each.velocity.min()))
        for mu, each in result.theory.items()
    )
    fall = 100.0 * _most(_fall_before_peak(each) for each in runs.values())
    turning = result.law(SLIPPERY).turning
    sign = 1e3 * _most(abs(_turns(each) - turning) for each in slippery)
    drawn = _most(_most_until_home(each) for each in slippery)
    pairs = [[runs[mu, dt] for dt in p.hand_steps] for mu in (SLIPPERY, ROUGH)]
    same = _most(_percent_off(of(one), of(two)) for one, two in pairs for of in (_peak, _put_in))
    home = 1e3 * _most(abs(float(each.height[-1])) for each in runs.values())
    back = 100.0 * _most(_given_back(each) for each in runs.values())
    left = _most(float(each.residual.max()) for each in runs.values())
    depth = 1e3 * _most(float(each.depth.max()) for each in runs.values())
    steps = " and ".join(f"{1e3 * dt:g}" for dt in p.hand_steps)
    words = f"by hand, μ = 0.2 and 0.8, steps of {steps} ms"
    return [
        Claim("hand-peak", f"{words}: largest force on the hand within 5 % of that on the led "
              "handle", "as on the led handle", peak, "%", peak < 5.0),
        Claim("session-peak", "the same in a session at 1 kHz, with a scripted hand",
              "as on the led handle", session, "%", session < 5.0),
        Claim("hand-snap", f"{words}: the clip snaps at 3 times the hand's speed or faster",
              "snaps", fastest, "times", fastest >= 3.0),
        Claim("hand-speed", f"the same at {1e3 * p.hand_steps[0]:g} ms: its greatest speed within "
              "10 %", "a mass on the closed form", theory, "%", theory < 10.0),
        Claim("hand-rise", f"{words}: force rises to its peak, falls of at most 1 % of it",
              "first phase", fall, "%", fall < 1.0),
        Claim("hand-sign", "by hand, μ = 0.2: force changes sign within 0.5 mm",
              f"after {1e3 * (START - turning):.2f} mm", sign, "mm off", sign < 0.5),
        Claim("hand-drawn", "by hand, μ = 0.2: from there the clip draws the hand until it is home",
              "force ≤ 0", drawn, "N", drawn <= 0.0),
        Claim("hand-home", f"{words}: the clip ends home, within 0.1 mm", "0 mm", home, "mm",
              home < 1e3 * HOME),
        Claim("hand-same", "peak and work of the hand alike at both steps, within 5 %",
              "same outcome", same, "%", same < 5.0),
        Claim("hand-energy", f"{words}: energy given back to the hand after the snap, of what it "
              "had put in: no more than all", "≤ 100 %", back, "%", back <= 100.0),
        Claim("hand-solved", f"{words}: residual of every contact problem at most 1e-8",
              "no step unsolved", left, "", left <= 1e-8),
        Claim("hand-depth", f"{words}: largest overlap below 0.1 mm", "no overlap", depth, "mm",
              depth < 0.1),
    ]  # fmt: skip


def _fall_before_peak(each: Run) -> float:
    """Largest fall of the force between touch and peak, of the peak."""
    first, last = int(np.argmax(each.touching > 0)), each.peak_at
    force = each.force[first : last + 1]
    if each.peak <= 0.0 or len(force) < 2:
        return math.nan
    return float((np.maximum.accumulate(force) - force).max() / each.peak)


def _turns(each: Run) -> float:
    """Height of the clip where the force on the hand changes sign after its peak [m]."""
    negative = np.flatnonzero(each.force[each.peak_at :] < 0.0)
    return float(each.height[each.peak_at + negative[0]]) if len(negative) else math.nan


def _most_until_home(each: Run) -> float:
    """Largest force on the hand between the change of sign and home [N]."""
    negative = np.flatnonzero(each.force[each.peak_at :] < 0.0)
    home = np.flatnonzero(each.height < HOME)
    if not len(negative) or not len(home):
        return math.nan
    return float(each.force[each.peak_at + negative[0] : max(home[0], 1)].max(initial=-math.inf))


def _peak(each: Run) -> float:
    return each.peak


def _put_in(each: Run) -> float:
    """Work of the hand until the clip was fastest [J]."""
    fastest = int(np.argmin(each.speed))
    return float(np.maximum(each.work[: fastest + 1], 0.0).sum())


def _given_back(each: Run) -> float:
    """Work done on the hand after that, as a share of it."""
    fastest = int(np.argmin(each.speed))
    return _ratio(float(np.maximum(-each.work[fastest + 1 :], 0.0).sum()), _put_in(each))


def _check_pipes(result: Result) -> list[Claim]:
    p = result.params
    claims = []
    for mu in (SLIPPERY, ROUGH):
        share = 100.0 * _ratio(result.pipes[mu, p.young].peak, result.pipes[mu, math.inf].peak)
        claims.append(
            Claim(f"soft-peak-{mu:g}", f"soft pipe, μ = {mu:g}: largest push 50 to 100 % of that "
                  "on a rigid one of the same facets", "lower, and above 50 %", share, "%",
                  50.0 < share < 100.0)
        )  # fmt: skip
    soft = {mu: result.pipes[mu, p.young] for mu in (SLIPPERY, ROUGH)}
    moved = -1e3 * _most(-float(each.moved[each.going_in].max()) for each in soft.values())
    stiff = _most(
        _percent_off(result.pipes[mu, p.stiff_young].peak, result.pipes[mu, math.inf].peak)
        for mu in (SLIPPERY, ROUGH)
    )
    stored = {mu: _stored(each) for mu, each in soft.items()}
    ratio = _ratio(stored[ROUGH], stored[SLIPPERY])
    depth = 1e3 * _most(float(each.depth.max()) for each in result.pipes.values())
    left = _most(float(each.residual.max()) for each in result.pipes.values())
    return [
        *claims,
        Claim("soft-moved", "soft pipe: it moves by more than 0.05 mm, both μ", "> 0.05 mm", moved,
              "mm", moved > 0.05),
        Claim("soft-stiff", f"pipe of {1e-9 * p.stiff_young:g} GPa: largest push within 3 % of "
              "that on a rigid one of the same facets, both μ", "tends to the rigid result", stiff,
              "%", stiff < 3.0),
        Claim("soft-off", "drawn off the soft pipe: at μ = 0.8 the coupling stores at least twice "
              "the energy of μ = 0.2 before it lets go", "at least 2", ratio, "times",
              ratio >= 2.0),
        Claim("soft-depth", "pipes with facets: largest overlap below 0.1 mm", "< 0.1 mm", depth,
              "mm", depth < 0.1),
        Claim("soft-solved", "pipes with facets: residual of every contact problem at most 1e-4",
              "no step unsolved", left, "", left <= 1e-4),
    ]  # fmt: skip


def _stored(each: Run) -> float:
    """Most energy in the coupling's spring while the clip is drawn off [J]."""
    out = slice(each.going_in.stop, None)
    stretch = each.hand[out] - each.height[out]
    return float(0.5 * CLIP_HAND.stiffness * np.max(stretch, initial=0.0) ** 2)


def beside(result: Result) -> list[Reading]:
    """Stiffness and push of the three meshes, speeds of the snap, and what facets do."""
    p = result.params
    rows = []
    for mesh, k in result.stiffness.items():
        who = f"{mesh}, {result.elements[mesh]:,}"
        rows.append(Reading("stiffness of a lip", who, k, "N/m"))
        for led in result.led:
            if led.mesh == mesh and led.way == p.ways[0]:
                what = f"largest push, μ = {led.friction:g}"
                rows.append(Reading(what, who, led.run.peak, "N"))
                rows.append(Reading(f"{what}, closed form", who, led.law.extremes[0], "N"))
    for (mu, dt), each in result.by_hand.items():
        who = f"by hand, {1e3 * dt:g} ms"
        rows.append(Reading(f"largest force, μ = {mu:g}", who, each.peak, "N"))
        rows.append(Reading(f"fastest, μ = {mu:g}", who, -1e3 * float(each.speed.min()), "mm/s"))
        rows.append(
            Reading(f"force changes sign, μ = {mu:g}", who, 1e3 * (START - _turns(each)), "mm")
        )
    for mu, force in result.in_session.items():
        what = f"largest force, μ = {mu:g}"
        rows.append(Reading(what, "in a session, 1 kHz", float(force.max()), "N"))
    for mu, ideal in result.theory.items():
        who = "by hand, a mass on the closed form"
        note = "at μ = 0.8 the damper turns the sign before the push does"
        turned = np.flatnonzero((ideal.force < 0.0) & (ideal.time > 0.1))
        after = 1e3 * (START - float(ideal.height[turned[0]])) if len(turned) else math.nan
        rows += [
            Reading(f"largest force, μ = {mu:g}", who, float(ideal.force.max()), "N"),
            Reading(f"fastest, μ = {mu:g}", who, -1e3 * float(ideal.velocity.min()), "mm/s"),
            Reading(f"force changes sign, μ = {mu:g}", who, after, "mm", note),
        ]
    for mu, each in result.bending_by_hand.items():
        who = "by hand, ten-node elements"
        rows.append(Reading(f"largest force, μ = {mu:g}", who, each.peak, "N"))
        rows.append(
            Reading(f"fastest, μ = {mu:g}", who, -1e3 * float(each.speed.min()), "mm/s",
                    "the push falls less steeply than the coupling is stiff: no snap")
        )  # fmt: skip
    names = {math.inf: "rigid", p.stiff_young: "stiff", p.young: "soft"}
    for (mu, young), each in result.pipes.items():
        who = f"{names[young]} pipe of {p.pipe_cells[0]} facets"
        rows.append(Reading(f"largest force, μ = {mu:g}", who, each.peak, "N"))
        unsolved = 100.0 * float(np.mean(each.residual > p.tolerance))
        rows.append(
            Reading(
                f"steps above a residual of {p.tolerance:g}, μ = {mu:g}",
                who,
                unsolved,
                "%",
                "the contacts outnumber what the lips can do",
            )
        )
    return rows


EXPERIMENT = Experiment(
    name="snap-in",
    paper="Duriez, Dubois, Kheddar & Andriot, IEEE TVCG 12(1) (2006), Sec. 7.2",
    summary="a soft clip pushed onto a pipe sticks, slips and snaps home as its closed form says",
    params=Params(),
    quick=Params(pipe_cells=(48, 2, 24), pipe_dt=3e-3),
    run=run,
    check=check,
    plot=plot,
    pictures=strip,
    beside=beside,
)
