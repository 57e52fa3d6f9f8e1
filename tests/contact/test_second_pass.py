"""The second pass at the geometry: only where something changed, and no contact is missed."""

from __future__ import annotations

import numpy as np
import pytest

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.contact.convex import second_pass, set_up
from tangere.elements.step_context import StepContext
from tangere.steppers import implicit

pytestmark = pytest.mark.nojit

BLOCK = tg.Box((0.2, 0.2, 0.1))
DT = 2e-3


def towers(scene: tg.Scene, count: int = 4) -> None:
    """Small towers that stand: most of the contacts of a scene."""
    for k in range(count):
        for level in range(2):
            scene.add_body(BLOCK, mass=1.0, position=(k, 5.0, 0.05 + 0.1 * level))


def falling() -> tg.Simulation:
    """A tilted block that falls beside towers at rest."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(
        BLOCK, mass=1.0, position=(0, 0, 0.16), orientation=(1, 0.2, 0.1, 0), name="falls"
    )
    towers(scene)
    return tg.Simulation(scene, dt=DT)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs of bodies each second pass was at."""
    if not JIT_DISABLED:
        pytest.skip("compiled code calls its own")
    seen: list[int] = []
    two, whole = set_up.set_up_two, second_pass.second_pass

    def counting(e: StepContext, at: int, end: int, fresh: bool) -> int:
        seen[-1] += 1
        return two(e, at, end, fresh)

    def begin(e: StepContext, fresh: bool) -> bool:
        seen.append(0)
        return whole(e, fresh)

    monkeypatch.setattr(second_pass, "set_up_two", counting)
    monkeypatch.setattr(implicit, "second_pass", begin)
    return seen


def test_only_what_changed_is_looked_at_again(looked: list[int]) -> None:
    sim = falling()
    sim.step(60)
    assert len(looked) > 5  # it tumbles on the floor
    assert max(looked) == 1  # eight pairs stand beside it


def test_what_tumbles_elsewhere_changes_nothing_here() -> None:
    # exactly: towers at rest are looked at once, as if they were alone
    sim, alone = falling(), tg.Scene()
    alone.add_floor()
    towers(alone)
    other = tg.Simulation(alone, dt=DT)
    for _ in range(100):
        sim.step()
        other.step()
        assert sim.positions[1:] == pytest.approx(other.positions, abs=1e-13)


def test_some_or_all_looked_at_again_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if not JIT_DISABLED:
        pytest.skip("compiled code has its constants inside")
    ends = []
    for few in (0.0, 1.0):
        monkeypatch.setattr(implicit, "FEW", few)
        sim = falling()
        sim.step(60)
        ends.append(sim["falls"].position.copy())
    # its own contact is looked at twice either way
    assert ends[1] == pytest.approx(ends[0], abs=1e-12)


@pytest.mark.parametrize("beside", [0, 4])
def test_contact_that_comes_with_the_second_look_is_found(beside: int) -> None:
    # one block hits the next, which is thrown against a third, 0.7 mm away, within the same step:
    # beyond the margin of 0.5 mm, but not out of the box that the list of pairs is made for
    scene = tg.Scene(gravity=(0, 0, 0))
    for k, gap in enumerate((0.0, 1e-4, 8e-4)):
        speed = 0.5 if k == 0 else 0.0
        scene.add_body(BLOCK, mass=1.0, position=(0.2 * k + gap, 0, 0), velocity=(speed, 0, 0))
    for k in range(beside):  # contacts that do not change
        scene.add_body(BLOCK, fixed=True, position=(k, 5.0, 0.0))
        scene.add_body(BLOCK, mass=1.0, position=(k, 5.0, 0.1))
    sim = tg.Simulation(scene, dt=5e-3)
    sim.step(1)
    speeds = np.array([sim[k].velocity[0] for k in range(3)])
    assert speeds.sum() == pytest.approx(0.5, rel=1e-9)
    assert speeds[2] > 0.05
    assert sim.positions[2, 0] - sim.positions[1, 0] > 0.2 - 1e-4  # not one in the other
