"""What the Feel sliders do: contact parameters scaled, and how near they come to shaking.

The explicit step is stable while (k dt² + 2 b dt) W < 4, W the answer of the touching point to a
unit impulse: 1/m for a face that presses evenly, more at edges and corners, where the body turns.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.friction import BETA, KAPPA, ZETA
from tangere.geometry.polyhedron import Polyhedron
from tangere.maths.vec import Array
from tangere.scene.scene import Body, Floor, Material, Scene

if TYPE_CHECKING:
    from tangere.viewer.runner import Built, Settings

LIMIT = 4.0  # of (k dt² + 2 b dt) W: the explicit spring and damper diverge beyond
MOST_PARTNERS = 20  # bodies that each body is paired with when the worst pair is sought
RIGID = 1e15  # stiffness and damping of a partner that yields nothing


class Verdict(NamedTuple):
    """Stability in words."""

    level: str
    """One of "stable", "near" and "past"."""
    values: str
    """The contact parameters in force, of the pair nearest to the limit."""
    words: str


class Load(NamedTuple):
    """(k dt² + 2 b dt) W of one pair, and the parameters in it."""

    flat: float
    """With W of a face that presses evenly."""
    corner: float
    """With W of the corner that answers most."""
    name: str
    k: float
    b: float
    mu0: float
    mu: float


def scaled(scene: Scene, settings: Settings) -> Scene:
    """The scene with its contact parameters times the factors of the sliders.

    Where no material of the scene gives a stiffness or damping, the defaults are written out, so
    that there is something to scale. Pairs take the harmonic mean of both sides: half the default
    on every body and a rigid floor give back k = κ m_c/dt² and b = β m_c/dt of every pair.
    Per area (normalisation "none") means divided by the area of the body's largest face.
    """
    factors = (settings.stiffness_factor, settings.damping_factor, settings.friction_factor)
    per_area = _per_area(settings)
    if factors == (1.0, 1.0, 1.0) and not per_area:
        return scene
    things: list[Body | Floor] = [*scene.bodies, *scene.floors]
    given = [t.material.stiffness for t in things if t.material.stiffness is not None]
    fill_k = not given
    fill_b = all(thing.material.damping is None for thing in things)

    def change(material: Material, mass: float | None, area: float) -> Material:
        k, b = material.stiffness, material.damping
        if fill_b:
            if mass is None:
                b = RIGID
            elif fill_k:
                b = 0.5 * BETA * mass / settings.dt
            else:
                # The default damping ratio of a body on the floor.
                b = ZETA * float(np.sqrt((given[0] if k is None else k) * mass))
        if fill_k:
            k = RIGID if mass is None else 0.5 * KAPPA * mass / settings.dt**2
        return Material(
            material.static_friction * settings.friction_factor,
            material.kinetic_friction * settings.friction_factor,
            _times(k, settings.stiffness_factor / area),
            _times(b, settings.damping_factor / area),
            _times(material.tangential_stiffness, settings.stiffness_factor / area),
            _times(material.tangential_damping, settings.damping_factor / area),
            material.restitution,
        )

    areas = [_base(body) if per_area else 1.0 for body in scene.bodies]
    middle = float(np.median(areas)) if areas else 1.0
    result = Scene(scene.gravity)
    result.springs = list(scene.springs)
    result.bodies = [
        replace(body, material=change(body.material, None if body.fixed else body.mass, area))
        for body, area in zip(scene.bodies, areas, strict=True)
    ]
    result.floors = [
        replace(floor, material=change(floor.material, None, middle)) for floor in scene.floors
    ]
    return result


def stability(built: Built) -> Verdict:
    """How near the explicit step is to its limit, for the pair that is nearest."""
    settings, scene = built.settings, built.scene
    per_area = _per_area(settings)
    worst: Load | None = None
    others: list[Body | Floor] = [*scene.floors, *scene.bodies[:MOST_PARTNERS]]
    for body in scene.bodies:
        turning = 0.0 if body.fixed else _turning(body)
        for other in others:
            if body.fixed or other is body:
                continue
            load = _load(body, other, turning, settings.dt, per_area)
            if worst is None or load.corner > worst.corner:
                worst = load
    if worst is None:
        return Verdict("stable", "Nothing here can touch.", "Stable.")
    unit = ("N/m³", "N s/m³") if per_area else ("N/m", "N s/m")
    values = (
        f"{worst.name}: k = {worst.k:.3g} {unit[0]}, b = {worst.b:.3g} {unit[1]}, "
        f"µ = {worst.mu0:.2f} sticking, {worst.mu:.2f} sliding."
    )
    corner, flat = worst.corner / LIMIT, worst.flat / LIMIT
    share = f"{corner:.0%} of the limit on a corner, {flat:.0%} on a face"
    if flat >= 1.0:
        return Verdict("past", values, f"Past the stability limit ({share}): it will fly apart.")
    if corner >= 1.0:
        return Verdict("near", values, f"Unstable on edges and corners ({share}): it will shake.")
    return Verdict("stable", values, f"Stable ({share}).")


def pair_parameters(a: Material, b: Material, mass: float, dt: float) -> tuple[float, float]:
    """Stiffness [N/m] and damping [N s/m] of a pair, by the rule of the contact law.

    Args:
        a: Material of one side.
        b: Material of the other.
        mass: Of the pair, 1/(1/m_a + 1/m_b) [kg].
        dt: Step [s].
    """
    stiffness = _harmonic(a.stiffness, b.stiffness)
    damping = _harmonic(a.damping, b.damping)
    if damping is None:
        by_step = BETA * mass / dt
        damping = by_step if stiffness is None else 2.0 * ZETA * float(np.sqrt(stiffness * mass))
    if stiffness is None:
        stiffness = KAPPA * mass / dt**2
    return stiffness, damping


def _per_area(settings: Settings) -> bool:
    return settings.method == "volume" and settings.normalization == "none"


def _times(value: float | None, factor: float) -> float | None:
    if value is None or value == RIGID:
        return value
    return value * factor


def _harmonic(x: float | None, y: float | None) -> float | None:
    if x is None or y is None:
        return y if x is None else x
    return 2.0 * x * y / (x + y) if x + y > 0.0 else 0.0


def _load(body: Body, other: Body | Floor, turning: float, dt: float, per_area: bool) -> Load:
    inverse_mass = 1.0 / body.mass
    if isinstance(other, Body) and not other.fixed:
        inverse_mass += 1.0 / other.mass
    p, q = body.material, other.material
    k, b = pair_parameters(p, q, 1.0 / inverse_mass, dt)
    load = k * dt * dt + 2.0 * b * dt
    if per_area:
        load *= _base(body)
    return Load(
        load * inverse_mass,
        load * (inverse_mass + turning),
        body.name,
        k,
        b,
        float(np.sqrt(p.static_friction * q.static_friction)),
        float(np.sqrt(p.kinetic_friction * q.kinetic_friction)),
    )


def _turning(body: Body) -> float:
    """Greatest (p × N)ᵀ I⁻¹ (p × N) over faces N and corners p: the answer by turning [1/kg]."""
    inverse = np.linalg.inv(body.inertia)
    return max(
        float(np.einsum("ij,jk,ik->i", arms, inverse, arms).max())
        for part in body.shape.parts()
        for corners, normal in _faces(part)
        for arms in [np.cross(corners - body.centre, normal)]
    )


def _base(body: Body) -> float:
    """Area of the largest face of a body [m²]."""
    return max(
        0.5 * float(np.linalg.norm(np.cross(edges[:-1], edges[1:]).sum(axis=0)))
        for part in body.shape.parts()
        for corners, _ in _faces(part)
        for edges in [corners[1:] - corners[0]]
    )


def _faces(part: Polyhedron) -> list[tuple[Array, Array]]:
    """Corners and outward normal of every face."""
    return [
        (part.vertices[part.loops[first:last]], part.planes[face, :3])
        for face, (first, last) in enumerate(pairwise(part.loop_start))
    ]
