"""A rigid ball on a soft block: Hertz's force, equal and opposite, over decades of modulus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tangere.experiments.hertz import EXPERIMENT, Params, press, pressed_block, ratios

SMALL = EXPERIMENT.quick
# As coarse as may be: for what is not about the closed form.
COARSE = replace(
    SMALL,
    size=(0.06,) * 3,
    core=(1, 1, 1),
    growing=(1, 1, 1),
    radius=4e-3,
    steps=3,
    max_contacts=10,
)


@pytest.mark.compiled
@pytest.mark.parametrize("young", [1e4, 1e6, 1e7])
def test_force_against_depth(young: float) -> None:
    found = press(SMALL, young)
    shares = ratios(SMALL, young, found)
    assert len(shares) >= 4
    assert shares == pytest.approx(1.0, abs=0.05)
    # with neither friction nor a preferred side nothing pushes sideways
    assert np.abs(found.on_ball[:, :2]).max() < 2e-3 * found.on_ball[-1, 2]


@pytest.mark.nojit
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_what_the_ball_feels_is_what_deforms_the_block(friction: float) -> None:
    """To 1e-12: the force on the ball, that on the block, and that on the nodes of its elements."""
    sim = pressed_block(COARSE, 1e5, friction, COARSE.max_contacts)
    soft = sim.stepper.problem.soft.state  # type: ignore[attr-defined]
    axes = sim.stepper.arrays.state.rotation[0].reshape(3, 3)  # of the block, in which loads are
    for _ in range(COARSE.steps):
        sim.step()
        on_ball, on_block = (sim[name].contact_wrench[0] for name in ("ball", "block"))
        size = float(np.linalg.norm(on_ball))
        assert size > 0.0
        assert np.abs(on_ball + on_block).max() <= 1e-12 * size
        assert np.abs(on_ball + axes @ soft.load.sum(axis=0)).max() <= 1e-12 * size


@pytest.mark.nojit
def test_closed_form() -> None:
    p = Params(poisson=0.0, ball=4.0)
    assert p.force(3.0, np.array([0.25])) == pytest.approx([1.0])
    assert Params().radius ** 2 == pytest.approx(Params().ball * Params().depth)
