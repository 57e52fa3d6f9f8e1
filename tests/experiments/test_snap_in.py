"""The closed form of the clip on a pipe, and simulated clips that follow it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.surface import signed_distance

import tangere as tg
from tangere.experiments.clip_law import ClipLaw, beam_stiffness, lip_stiffness, snap
from tangere.experiments.clip_runs import PACE, felt_in_session, lead, push_by_hand, way_in
from tangere.scene.soft_library import MOUTH, RADIUS, START, clip_on_pipe


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("friction", "peak", "pull"), [(0.0, 3.83, -3.83), (0.2, 6.19, -2.05), (0.8, 16.74, -0.005)]
)
def test_the_law_has_the_known_extremes(friction: float, peak: float, pull: float) -> None:
    law = ClipLaw(2919.0, friction, MOUTH)
    assert law.extremes == pytest.approx((peak, pull), abs=0.01)


@pytest.mark.nojit
def test_the_law_knows_where_things_happen() -> None:
    law = ClipLaw(2919.0, 0.2, MOUTH)
    assert 1e3 * (START - law.touch) == pytest.approx(0.644, abs=1e-3)
    assert 1e3 * law.opening == pytest.approx(2.340, abs=1e-3)
    assert law.angle(RADIUS * math.cos(MOUTH)) == pytest.approx(0.5 * math.pi)  # widest
    assert law.push(law.turning) == pytest.approx(0.0, abs=1e-12)
    assert law.push(law.touch) == 0.0
    assert law.push(0.0) == pytest.approx(0.0, abs=1e-12)
    # without friction the way back is the way there
    smooth = ClipLaw(2919.0, 0.0, MOUTH)
    assert smooth.push_back(0.01) == smooth.push(0.01)
    assert law.push_back(0.01) < smooth.push(0.01) < law.push(0.01)


@pytest.mark.nojit
def test_a_slow_hand_feels_the_law() -> None:
    """On a stiff coupling the mass follows the hand, and the hand feels the push."""
    law = ClipLaw(1000.0, 0.2, MOUTH)
    slow = snap(law, mass=1e-3, stiffness=1e5, damping=10.0, start=START, speed=0.1, dt=2e-5)
    pushed = (slow.height < law.touch - 1e-3) & (slow.height > 1e-3)
    exact = np.array([law.push(float(h)) for h in slow.height[pushed]])
    assert slow.force[pushed] == pytest.approx(exact, abs=0.02)
    assert slow.height[-1] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.nojit
@pytest.mark.parametrize("dt", [1e-3, 3e-3])
def test_the_hand_ends_at_the_pipe(dt: float) -> None:
    path = way_in(START, 0.02, dt, 0.01)
    assert dt * sum(path) == pytest.approx(-START, abs=1e-15)
    assert path[0] == pytest.approx(-0.02)
    assert path[-1] == 0.0


def test_lips_of_ten_node_elements_bend_as_they_should() -> None:
    """More stiffly than a thin beam, and less than a plate, which keeps its width."""
    clip = clip_on_pipe(order=2).bodies[0]
    beam = beam_stiffness(clip, MOUTH)
    assert beam < lip_stiffness(clip) < beam / (1.0 - 0.35**2)
    # four nodes lock: twice as stiff with two layers
    assert lip_stiffness(clip_on_pipe(order=1).bodies[0]) == pytest.approx(2919.0, rel=0.03)


def test_the_led_clip_follows_the_law() -> None:
    scene = clip_on_pipe(friction=0.2, speed=PACE, damping=0.0, order=1)
    law = ClipLaw(lip_stiffness(scene.bodies[0]), 0.2, MOUTH)
    run = lead(scene, [(66, 2e-4)])
    exact = np.array([law.push(float(h)) for h in run.height])
    pushed = run.height < law.touch - 1e-3
    assert np.abs(run.force - exact)[pushed].max() < 0.03 * law.extremes[0]
    assert run.depth.max() < 1e-8
    assert run.residual.max() <= 1e-8


@pytest.mark.parametrize(("friction", "facets"), [(0.2, 32), (0.8, 96)])
def test_ridges_of_a_pipe_with_facets_do_not_catch(friction: float, facets: int) -> None:
    """On a facet the normal stays: the push is highest at a ridge, by the angle of half a facet."""
    scene = clip_on_pipe(
        friction=friction, speed=PACE, damping=0.0, order=1,
        pipe_young=math.inf, pipe_cells=(facets, 1, 8),
    )  # fmt: skip
    k = lip_stiffness(scene.bodies[0])
    run = lead(scene, [(100, 4e-5)])
    half = math.pi / facets
    ridges = 2.0 * half * np.arange(1, facets // 4 + 1)
    ridges = ridges[ridges > MOUTH + half]
    aside = RADIUS * (np.sin(ridges) - math.sin(MOUTH))
    exact = (2.0 * k * aside / np.tan(ridges - half - math.atan(friction))).max()
    assert run.peak == pytest.approx(exact, rel=0.02)


def test_a_clip_on_a_soft_pipe_presses_it_in_and_stays_outside() -> None:
    scene = clip_on_pipe(
        damping=0.0, order=1, coupling=None, pipe_young=50e6, pipe_cells=(32, 1, 16)
    )
    run = push_by_hand(scene, [-0.05] * 40, 3e-3, look_at=[(0.0115, "{force:.1f} N")])
    assert run.peak > 1.0
    assert run.moved.max() > 1e-5
    assert run.depth.max() < 1e-6
    # by brute force, not by the contacts that were found
    (picture,) = run.pictures
    lips = picture.clip[np.hypot(picture.clip[:, 0], picture.clip[:, 2]) < 0.011]
    outside = picture.pipe[np.abs(picture.pipe[:, 1]) < 0.005]
    assert signed_distance(lips, picture.pipe, picture.pipe_triangles).min() > -1e-5
    assert signed_distance(outside, picture.clip, picture.clip_triangles).min() > -1e-5


def test_a_session_feels_what_the_simulation_does() -> None:
    felt = felt_in_session(clip_on_pipe(damping=0.0, order=1), 0.0135, 0.1, 0.0)
    path = way_in(START, 0.1, 1e-3, 0.0)
    run = push_by_hand(clip_on_pipe(damping=0.0, order=1, coupling=None), path, 1e-3)
    assert felt.max() == pytest.approx(run.peak, rel=0.02)
    assert felt.min() == pytest.approx(run.force.min(), rel=0.1)


@pytest.mark.nojit
def test_a_pipe_must_have_a_stiffness() -> None:
    with pytest.raises(tg.SceneError, match="pipe_young"):
        clip_on_pipe(pipe_young=-1.0, cells=(4, 1, 1), pipe_cells=(4, 1, 2))
