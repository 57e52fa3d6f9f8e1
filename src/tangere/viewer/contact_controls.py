"""What the Feel sliders do: contact parameters scaled, and what becomes of the bodies then.

The implicit step is stable at any stiffness and damping. The explicit one is stable while
(k dt² + 2 b dt) W < 4, W the answer of the touching point to a unit impulse: 1/m for a face that
presses evenly, more at edges and corners, where the body turns.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangere.contact.method import methods
from tangere.geometry.polyhedron import Polyhedron
from tangere.maths.vec import Array
from tangere.scene.scene import Body, Floor, Material, Scene
from tangere.simulation import Simulation
from tangere.viewer.frame import Settings, Verdict
from tangere.viewer.method_choice import chosen_options

if TYPE_CHECKING:
    from tangere.elements.contact_law import Law
    from tangere.viewer.runner import Built

LIMIT = 4.0  # of (k dt² + 2 b dt) W: the explicit spring and damper diverge beyond
MOST_PARTNERS = 20  # bodies that each body is paired with when the worst pair is sought
RIGID_CONTACTS = "Bodies do not overlap; how soft a contact is follows from the bodies alone."
RIGID = 1e15  # stiffness and damping of a partner that yields nothing


class Load(NamedTuple):
    """(k dt² + 2 b dt) W of one pair, and the parameters in it."""

    flat: float
    """With W of a face that presses evenly."""
    corner: float
    """With W of the corner that answers most."""
    name: str
    law: Law


def scaled(scene: Scene, settings: Settings) -> Scene:
    """The scene with its contact parameters times the factors of the sliders.

    Where no material of the scene gives a stiffness or damping, the defaults are written out, so
    that there is something to scale. Pairs take the harmonic mean of both sides: half of what a
    body has on rigid ground on every body, and a rigid floor, give back the default of every pair,
    with the implicit step of those of equal size; between a small and a large body it is softer.
    Per area, where the method takes it so, means divided by the area of the body's largest face.
    """
    factors = (settings.stiffness_factor, settings.damping_factor, settings.friction_factor)
    per_area = _per_area(settings, scene)
    if factors == (1.0, 1.0, 1.0) and not per_area:
        return scene
    things: list[Body | Floor] = [*scene.bodies, *scene.floors]
    given = [t.material.stiffness for t in things if t.material.stiffness is not None]
    springs = methods[settings.method].mover.material_factors
    fill_k = "stiffness" in springs and not given
    fill_b = "damping" in springs and all(t.material.damping is None for t in things)

    def change(material: Material, ground: Law | None, area: float) -> Material:
        k, b = material.stiffness, material.damping
        if fill_k:
            k = RIGID if ground is None else 0.5 * ground.k
        if fill_b:
            b = RIGID if ground is None else 0.5 * ground.b
        return Material(
            material.static_friction * settings.friction_factor,
            material.kinetic_friction * settings.friction_factor,
            _times(k, settings.stiffness_factor / area),
            _times(b, settings.damping_factor / area),
            _times(material.tangential_stiffness, settings.stiffness_factor / area),
            _times(material.tangential_damping, settings.damping_factor / area),
            material.restitution,
            material.rolling_resistance,
        )

    grounds: list[Law | None] = [None] * len(scene.bodies)
    if fill_k or fill_b:
        grounds = _on_rigid_ground(scene, given[0] if given else None, settings)
    areas = [_base(body) if per_area else 1.0 for body in scene.bodies]
    middle = float(np.median(areas)) if areas else 1.0
    result = Scene(scene.gravity)
    result.springs = list(scene.springs)
    result.bodies = [
        replace(body, material=change(body.material, ground, area))
        for body, ground, area in zip(scene.bodies, grounds, areas, strict=True)
    ]
    result.floors = [
        replace(floor, material=change(floor.material, None, middle)) for floor in scene.floors
    ]
    return result


def _on_rigid_ground(scene: Scene, stiffness: float | None, settings: Settings) -> list[Law | None]:
    """Contact law of every body on a floor that gives no number; None of those that are fixed.

    Args:
        scene: With the bodies.
        stiffness: Of bodies whose material gives none [N/m]; None: derived.
        settings: With step and integrator.
    """
    probe = Scene(scene.gravity)
    probe.bodies = [
        replace(
            body,
            material=Material(
                stiffness=stiffness if body.material.stiffness is None else body.material.stiffness
            ),
        )
        for body in scene.bodies
    ]
    ground = probe.add_floor()
    record = methods[settings.method].mover
    simulation = Simulation(
        probe, method=record.name, dt=settings.dt, integrator=settings.integrator
    )
    return [None if body.fixed else simulation.contact_law(body, ground) for body in probe.bodies]


def stability(built: Built) -> Verdict:
    """What the sliders lead to: nothing bad with the implicit step, else how near the limit is."""
    settings, simulation = built.settings, built.simulation
    if "stiffness" not in methods[settings.method].mover.material_factors:
        return Verdict("stable", RIGID_CONTACTS, "Stable: there are no contact springs.")
    implicit = simulation.integrator != "explicit"
    per_area = _per_area(settings, built.scene)
    bodies = _touching(built.scene, settings)
    worst: Load | None = None
    others: list[Body | Floor] = [*built.scene.floors, *bodies[:MOST_PARTNERS]]
    for body in bodies:
        turning = 0.0 if body.fixed or implicit else _turning(body)
        for other in others:
            if body.fixed or other is body:
                continue
            load = _load(simulation, body, other, turning, per_area)
            if (
                worst is None
                or (implicit and load.law.k > worst.law.k)
                or (not implicit and load.corner > worst.corner)
            ):
                worst = load
    if worst is None:
        return Verdict("stable", "Nothing here can touch.", "Stable.")
    unit = ("N/m³", "N s/m³") if per_area else ("N/m", "N s/m")
    law = worst.law
    values = (
        f"{worst.name}: k = {law.k:.3g} {unit[0]}, b = {law.b:.3g} {unit[1]}, "
        f"µ = {law.mu0:.2f} sticking, {law.mu:.2f} sliding."
    )
    if implicit:
        return Verdict(
            "stable", values, "Stable at any stiffness and damping: the implicit step has no limit."
        )
    corner, flat = worst.corner / LIMIT, worst.flat / LIMIT
    share = f"{corner:.0%} of the limit on a corner, {flat:.0%} on a face"
    if flat >= 1.0:
        return Verdict(
            "past", values, f"Past the stability limit ({share}): it will fly apart.", corner
        )
    if corner >= 1.0:
        return Verdict(
            "near", values, f"Unstable on edges and corners ({share}): it will shake.", corner
        )
    return Verdict("stable", values, f"Stable ({share}).", corner)


def _touching(scene: Scene, settings: Settings) -> list[Body]:
    """Bodies whose contacts are those of the scene: not tools, where the method has no step."""
    if methods[settings.method].steppers:
        return scene.bodies
    held = {tool.index for tool in scene.tools}
    return [body for body in scene.bodies if body.index not in held]


def _per_area(settings: Settings, scene: Scene) -> bool:
    record, _ = methods.resolve(settings.method)
    return record.per_area(chosen_options(settings, scene))


def _times(value: float | None, factor: float) -> float | None:
    if value is None or value == RIGID:
        return value
    return value * factor


def _load(
    simulation: Simulation, body: Body, other: Body | Floor, turning: float, per_area: bool
) -> Load:
    inverse_mass = 1.0 / body.mass
    if isinstance(other, Body) and not other.fixed:
        inverse_mass += 1.0 / other.mass
    law, dt = simulation.contact_law(body, other), simulation.dt
    load = law.k * dt * dt + 2.0 * law.b * dt
    if per_area:
        load *= _base(body)
    return Load(load * inverse_mass, load * (inverse_mass + turning), body.name, law)


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
