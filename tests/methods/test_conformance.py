"""What every contact method must do: a new one is tested the day it registers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere._jit import JIT_DISABLED
from tangere.contact.method import BUILT_IN, methods
from tangere.session.replay import replay

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

G = 9.81
DT = 1e-3
MU = 0.4
RUNS = [(name, stepper) for name in methods for stepper in methods[name].steppers]
runs = pytest.mark.parametrize(("method", "stepper"), RUNS)
each = pytest.mark.parametrize("method", list(methods))
STIFF = tg.Material(MU, MU, stiffness=2e4, damping=150.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def ball_on_plane(turned: Rotation | None = None, velocity: Array | None = None) -> tg.Scene:
    """A ball pressed into a floor by its weight, the world turned."""
    r = Rotation.identity() if turned is None else turned
    scene = tg.Scene(gravity=r.apply((0.0, 0.0, -G)))
    scene.add_floor(normal=r.apply((0.0, 0.0, 1.0)), material=STIFF)
    scene.add_body(
        tg.Sphere(0.05),
        mass=1.0,
        position=r.apply((0.0, 0.0, 0.05 - G / 2e4)),
        orientation=np.roll(r.as_quat(), 1),
        velocity=r.apply((0.0, 0.0, 0.0) if velocity is None else velocity),
        material=STIFF,
    )
    return scene


def simulate(scene: tg.Scene, method: str, stepper: str, steps: int) -> tg.Simulation:
    sim = tg.Simulation(scene, method=method, dt=DT, integrator=stepper)
    sim.step(steps)
    return sim


@runs
def test_a_ball_at_rest_is_carried(method: str, stepper: str) -> None:
    sim = simulate(ball_on_plane(), method, stepper, 400)
    force, torque = sim[0].contact_wrench
    assert force == pytest.approx((0.0, 0.0, G), abs=1e-3 * G)
    assert torque == pytest.approx(np.zeros(3), abs=1e-5 * G)
    assert sim[0].velocity == pytest.approx(np.zeros(3), abs=1e-4)


@runs
def test_friction_stays_within_its_bound(method: str, stepper: str) -> None:
    sim = simulate(ball_on_plane(velocity=np.array([0.5, 0.0, 0.0])), method, stepper, 0)
    slid = False
    for _ in range(20):
        sim.step()
        for row in sim.contacts:
            normal = float(row["force"] @ row["normal"])
            across = row["force"] - normal * row["normal"]
            assert np.linalg.norm(across) <= MU * normal * (1.0 + 1e-6)
            slid = slid or bool(np.linalg.norm(across) > 0.9 * MU * normal)
    assert slid


@runs
def test_a_straight_drop_has_no_force_aside(method: str, stepper: str) -> None:
    scene = ball_on_plane(velocity=np.array([0.0, 0.0, -0.2]))
    sim = simulate(scene, method, stepper, 0)
    for _ in range(50):
        sim.step()
        force, torque = sim[0].contact_wrench
        assert np.abs([*force[:2], *torque]).max() <= 1e-9 * G
    assert sim[0].position[:2] == pytest.approx((0.0, 0.0), abs=1e-12)


@runs
def test_action_is_reaction(method: str, stepper: str) -> None:
    """Two blocks meet in empty space: momentum stays what it was."""
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    for side in (-1.0, 1.0):
        scene.add_body(
            tg.Box((0.1, 0.1, 0.1)),
            mass=1.5 - 0.5 * side,
            position=(0.0505 * side, 0.01 * side, 0.0),
            velocity=(-0.3 * side, 0.0, 0.1),
        )
    sim = simulate(scene, method, stepper, 0)
    masses = np.array([body.mass for body in scene.bodies])

    def momentum() -> tuple[Array, Array]:
        p = masses[:, None] * [sim[i].velocity for i in range(2)]
        spin = sum(sim[i].angular_momentum + np.cross(sim[i].centre, p[i]) for i in range(2))
        return p.sum(axis=0), np.asarray(spin)

    before = momentum()
    touched = False
    for _ in range(40):
        sim.step()
        touched = touched or len(sim.contacts) > 0
    assert touched
    for was, now in zip(before, momentum(), strict=True):
        assert now == pytest.approx(was, abs=1e-12)


@runs
def test_the_world_may_be_turned(method: str, stepper: str) -> None:
    turned = Rotation.from_euler("xyz", (0.4, -1.1, 2.0))
    slide = np.array([0.3, 0.2, -0.05])
    wrenches = []
    for r in (Rotation.identity(), turned):
        sim = simulate(ball_on_plane(r, slide), method, stepper, 5)
        force, torque = sim[0].contact_wrench
        wrenches.append((r.inv().apply(force), r.inv().apply(torque)))
    for one, two in zip(*wrenches, strict=True):
        assert two == pytest.approx(one, abs=1e-9 * G)


@runs
def test_the_same_run_twice(method: str, stepper: str) -> None:
    slide = np.array([0.3, 0.2, -0.05])
    one, two = (simulate(ball_on_plane(velocity=slide), method, stepper, 30) for _ in range(2))
    assert np.array_equal(one.positions, two.positions)
    assert np.array_equal(one.contacts, two.contacts)


@runs
def test_a_scene_from_its_file_runs_the_same(method: str, stepper: str, tmp_path: Path) -> None:
    scene = ball_on_plane(velocity=np.array([0.3, 0.2, -0.05]))
    scene.save(tmp_path / "scene.toml")
    loaded = tg.Scene.load(tmp_path / "scene.toml")
    one, two = (simulate(each, method, stepper, 10) for each in (scene, loaded))
    assert np.array_equal(one.positions, two.positions)


@runs
def test_stages_are_timed(method: str, stepper: str) -> None:
    sim = simulate(ball_on_plane(), method, stepper, 7)
    sim.step(3)
    profile = sim.profile
    assert (profile.steps, profile.last_steps) == (10, 3)
    assert len(profile.total) == len(profile.stages) > 1
    assert sum(profile.total) > 0.0
    assert all(
        0.0 <= last <= total for last, total in zip(profile.last, profile.total, strict=True)
    )
    assert str(profile).count("µs") >= 2 * len(profile.stages)


# ---------------------------------------------------------------- in a hand


def held() -> tg.Scene:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_tool(tg.Sphere(0.025), mass=0.1, position=(0.0, 0.0, 0.03))
    return scene


def press(method: Any, seconds: float = 0.06, **options: Any) -> tg.Trace:
    device = tg.devices.Scripted(lambda t: (0.0, 0.0, 0.03 - 0.2 * t))
    return tg.Session(held(), method=method, device=device).run(seconds, realtime=False, **options)


@each
def test_a_hand_feels_the_floor(method: str) -> None:
    trace = press(method)
    force = trace["tool.force"]
    assert force[0] == pytest.approx(np.zeros(3), abs=1e-12)
    assert force[-1, 2] > 0.1
    # where a ball is its facets it rolls onto one of them, and friction holds it there
    aside = 1e-6 if "hull" in methods[method].parts else 1e-3
    assert np.abs(force[-1, :2]).max() < aside * force[-1, 2]


@each
def test_a_recorded_hand_feels_the_same_again(method: str, tmp_path: Path) -> None:
    first = press(method, record=tmp_path / "press.h5")
    assert np.array_equal(replay(tmp_path / "press.h5").rows, first.rows)


@each
def test_every_packet_it_can_make_is_felt(method: str) -> None:
    for contact in methods[method].packets:
        device = tg.devices.Scripted(lambda t: (0.0, 0.0, 0.03 - 0.2 * t))
        session = tg.Session(held(), method=method, device=device, contact=contact)  # type: ignore[arg-type]
        assert session.run(0.06, realtime=False)["tool.force"][-1, 2] > 0.05


# ---------------------------------------------------------------- the record


@each
def test_the_record_says_what_it_is(method: str) -> None:
    record = methods[method]
    assert record.name == method
    assert record.words.endswith(".")
    assert record.citation
    options = record.options()
    assert methods.resolve(method) == (record, options)
    assert methods.resolve(options) == (record, options)
    for control in record.controls:
        value = getattr(options, control.option)
        if control.choices:
            assert value in control.choices.values()
        else:
            assert control.span is not None
            assert control.span[0] <= value <= control.span[1]


@each
def test_what_it_is_not_made_for_is_refused_in_one_line(method: str) -> None:
    record = methods[method]
    with pytest.raises(tg.SceneError) as told:
        tg.Simulation(ball_on_plane(), method=method, integrator="nosuch")
    assert repr(method) in str(told.value)
    assert "\n" not in str(told.value)
    if not record.steppers:
        assert "Session" in str(told.value)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled here")
@pytest.mark.parametrize("method", list(BUILT_IN))
def test_its_warm_up_compiles_nothing_of_another_method(method: str, tmp_path: Path) -> None:
    """Names of the modules whose kernels were loaded or compiled, in a process of its own."""
    code = (
        "import sys\n"
        "from tangere.contact.method import methods\n"
        f"methods[{method!r}].warm_up()\n"
        "print(*(name for name in sys.modules if name.startswith('tangere.contact.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    others = {
        "volume": ("penalty", "signorini", "formation"),
        "point": ("penalty", "signorini", "formation"),
        "penalty": ("signorini", "formation"),
        "signorini": ("penalty", "formation"),
        "formation": ("penalty", "signorini"),
    }[method]
    kernels = [name for name in loaded if not name.endswith((".method", ".options"))]
    for other in others:
        assert not any(name.startswith(f"tangere.contact.{other}.") for name in kernels)
