"""The sliders of the page: what they scale, and whether the verdict in words is true."""

from __future__ import annotations

import numpy as np
import pytest

from tangere.geometry.shapes import Box
from tangere.scene.scene import Material, Scene
from tangere.simulation import Simulation, Volume
from tangere.viewer.feel import pair_parameters, scaled, stability
from tangere.viewer.runner import Built, Settings

DT = 1e-3
GRAVITY = 9.81


def one_block(material: Material | None = None, height: float = 0.05) -> Scene:
    scene = Scene()
    scene.add_floor(material=material)
    scene.add_body(Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, height), material=material)
    return scene


def rest_depth(scene: Scene, method: Volume | str = "volume") -> float:
    simulation = Simulation(scene, method=method, dt=DT)
    simulation.step(3000)
    return 0.05 - float(simulation.positions[0, 2])


@pytest.mark.parametrize("material", [None, Material(stiffness=5e4), Material(0.5, 0.4, 5e4, 90.0)])
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_rest_depth_follows_the_stiffness_slider(material: Material | None, factor: float) -> None:
    """A block at rest sinks in by m g/k, k what `pair_parameters` says times the slider."""
    scene = one_block(material)
    k, _ = pair_parameters(scene.bodies[0].material, scene.floors[0].material, 2.0, DT)
    chosen = scaled(scene, Settings("", dt=DT, stiffness_factor=factor))
    assert rest_depth(chosen) == pytest.approx(2.0 * GRAVITY / (factor * k), rel=1e-3)


def test_two_blocks_keep_the_default_law_between_them() -> None:
    scene = one_block()
    scene.add_body(Box((0.2, 0.2, 0.1)), mass=6.0, position=(0, 0, 0.15))
    twice = scaled(scene, Settings("", dt=DT, stiffness_factor=2.0))
    pair_mass = 1.0 / (1.0 / 2.0 + 1.0 / 6.0)
    before = pair_parameters(Material(), Material(), pair_mass, DT)
    after = pair_parameters(twice.bodies[0].material, twice.bodies[1].material, pair_mass, DT)
    np.testing.assert_allclose(after, [2.0 * before[0], before[1]])


def test_friction_slider_scales_both_coefficients() -> None:
    chosen = scaled(one_block(Material(0.4, 0.3)), Settings("", friction_factor=0.5))
    assert chosen.bodies[0].material.static_friction == pytest.approx(0.2)
    assert chosen.floors[0].material.kinetic_friction == pytest.approx(0.15)


def test_sliders_at_one_leave_the_scene_alone() -> None:
    scene = one_block()
    assert scaled(scene, Settings("")) is scene


def test_stiffness_per_area_sinks_in_as_deep_as_the_plain_one() -> None:
    settings = Settings("", normalization="none", dt=DT)
    chosen = scaled(one_block(), settings)
    plain = rest_depth(one_block())
    assert rest_depth(chosen, Volume(normalization="none")) == pytest.approx(plain, rel=1e-3)


def built(settings: Settings, height: float = 0.05) -> Built:
    scene = scaled(one_block(height=height), settings)
    method = Volume(normalization=settings.normalization, friction=settings.friction)
    return Built(settings, scene, Simulation(scene, method=method, dt=DT))


def test_words_match_what_happens() -> None:
    """Below the limit a dropped block comes to rest; past it, it is thrown about."""
    calm, wild = Settings("", dt=DT), Settings("", dt=DT, damping_factor=10.0)
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
    verdict = stability(built(Settings("", dt=DT)))
    assert "N/m" in verdict.values
    assert "N s/m" in verdict.values
    assert "%" in verdict.words
    per_area = stability(built(Settings("", dt=DT, normalization="none")))
    assert "N/m³" in per_area.values
