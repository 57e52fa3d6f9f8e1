"""The sliders of the page: what they scale, and whether the verdict in words is true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tangere.contact.volume.method import Volume
from tangere.geometry.shapes import Box
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation
from tangere.viewer.contact_controls import scaled, stability
from tangere.viewer.frame import Settings
from tangere.viewer.method_choice import chosen_options
from tangere.viewer.runner import Built

DT = 1e-3
GRAVITY = 9.81
STEPS = ("implicit", "explicit")


def one_block(material: Material | None = None, height: float = 0.05) -> Scene:
    scene = Scene()
    scene.add_floor(material=material)
    scene.add_body(Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, height), material=material)
    return scene


def rest_depth(scene: Scene, integrator: str, method: Volume | str = "volume") -> float:
    simulation = Simulation(scene, method=method, dt=DT, integrator=integrator)
    simulation.step(3000)
    return 0.05 - float(simulation.positions[0, 2])


@pytest.mark.compiled
@pytest.mark.parametrize("material", [None, Material(stiffness=5e4), Material(0.5, 0.4, 5e4, 90.0)])
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("integrator", STEPS)
def test_rest_depth_follows_the_stiffness_slider(
    material: Material | None, factor: float, integrator: str
) -> None:
    """A block at rest sinks in by m g/k, k what the scene has times the slider."""
    scene = one_block(material)
    plain = Simulation(scene, dt=DT, integrator=integrator).contact_law("box", "floor")
    settings = Settings("", dt=DT, stiffness_factor=factor, integrator=integrator)
    expected = 2.0 * GRAVITY / (factor * plain.k)
    assert rest_depth(scaled(scene, settings), integrator) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("integrator", STEPS)
def test_two_blocks_keep_the_default_law_between_them(integrator: str) -> None:
    scene = one_block()
    scene.add_body(Box((0.2, 0.2, 0.1)), mass=6.0, position=(0, 0, 0.15))
    settings = Settings("", dt=DT, stiffness_factor=2.0, damping_factor=3.0, integrator=integrator)
    laws = [
        Simulation(case, dt=DT, integrator=integrator).contact_law(0, 1)
        for case in (scene, scaled(scene, settings))
    ]
    assert laws[1].k == pytest.approx(2.0 * laws[0].k)
    assert laws[1].b == pytest.approx(3.0 * laws[0].b)
    assert laws[1].k_t == pytest.approx(2.0 * laws[0].k_t)


def test_friction_slider_scales_both_coefficients() -> None:
    chosen = scaled(one_block(Material(0.4, 0.3)), Settings("", friction_factor=0.5))
    assert chosen.bodies[0].material.static_friction == pytest.approx(0.2)
    assert chosen.floors[0].material.kinetic_friction == pytest.approx(0.15)


def test_sliders_at_one_leave_the_scene_alone() -> None:
    scene = one_block()
    assert scaled(scene, Settings("")) is scene


@pytest.mark.compiled
@pytest.mark.parametrize("integrator", STEPS)
def test_stiffness_per_area_sinks_in_as_deep_as_the_plain_one(integrator: str) -> None:
    settings = Settings("", options={"normalization": "none"}, dt=DT, integrator=integrator)
    chosen = scaled(one_block(), settings)
    plain = rest_depth(one_block(), integrator)
    deep = rest_depth(chosen, integrator, Volume(normalization="none"))
    assert deep == pytest.approx(plain, rel=1e-3)


def built(settings: Settings, height: float = 0.05) -> Built:
    scene = scaled(one_block(height=height), settings)
    method = chosen_options(settings, scene)
    simulation = Simulation(scene, method=method, dt=DT, integrator=settings.integrator)
    return Built(settings, scene, simulation)


def explicit(**factors: float) -> Settings:
    return replace(Settings("", dt=DT, integrator="explicit"), **factors)  # type: ignore[arg-type]


def test_implicit_step_is_stable_at_both_ends_of_the_sliders() -> None:
    """The words promise no limit: a dropped block comes to rest, and gains no energy on its way."""
    for stiffness, damping in ((10.0, 10.0), (10.0, 0.0), (0.1, 10.0)):
        settings = Settings("", dt=DT, stiffness_factor=stiffness, damping_factor=damping)
        case = built(settings, height=0.06)
        verdict = stability(case)
        assert verdict.level == "stable"
        assert "no limit" in verdict.words
        assert "%" not in verdict.words
        start = case.simulation.energy.total
        case.simulation.step(1000)
        assert case.simulation.energy.total < start
        assert case.simulation.energy.kinetic < 1e-9


def test_words_match_what_happens() -> None:
    """Explicit: below the limit a dropped block comes to rest; past it, it is thrown about."""
    calm, wild = explicit(), explicit(damping_factor=10.0)
    assert stability(built(calm)).level == "stable"
    verdict = stability(built(wild))
    assert verdict.level == "past"
    assert "fly apart" in verdict.words
    energies = []
    for settings in (calm, wild):
        case = built(settings, height=0.06)
        case.simulation.step(2000)
        energies.append(case.simulation.energy.kinetic)
    assert energies[0] < 1e-6
    assert energies[1] > 1e-2


def test_verdict_names_parameters_with_units() -> None:
    for settings in (Settings("", dt=DT), explicit()):
        verdict = stability(built(settings))
        assert "N/m" in verdict.values
        assert "N s/m" in verdict.values
    assert "%" in verdict.words
    per_area = stability(built(Settings("", dt=DT, options={"normalization": "none"})))
    assert "N/m³" in per_area.values
