"""The front: reading and setting, names, one-line errors, contacts, growth, blow-ups."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tangere as tg
import tangere.scene.compile as compiler
import tangere.simulation as front
from tangere.contact.point.method import Point
from tangere.errors import SceneError
from tangere.simulation import Simulation

pytestmark = pytest.mark.nojit

Array = NDArray[np.float64]

# Called with wrong types on purpose.
Lenient: Any = front.Simulation
Volume: Any = tg.Volume

NAN, INF = float("nan"), float("inf")
LOOSE = tg.Compound(
    [tg.Box((0.3, 0.2, 0.1)), tg.Box((0.1, 0.1, 0.4))],
    [((0.1, 0.0, 0.05), (1, 0, 0, 0)), ((0.3, 0.1, 0.2), (1, 0.2, 0.1, 0))],
)


def block(height: float = 0.05, **more: Any) -> tg.Scene:
    scene = tg.Scene(gravity=(0, 0, -9.81))
    scene.add_floor()
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=1.0, position=(0, 0, height), name="block", **more)
    return scene


def snapshot(sim: Simulation) -> Array:
    c = sim.arrays.state
    return np.concatenate([x.ravel() for x in (c.position, c.quaternion, c.velocity, c.momentum)])


# ---------------------------------------------------------------- reading and setting


@pytest.mark.parametrize("shape", [tg.Box((0.1, 0.2, 0.3)), tg.Cone(0.1, 0.3), LOOSE])
def test_what_is_set_is_read_back(shape: Any) -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    body = scene.add_body(shape, position=(1, 2, 3), orientation=(0.5, 0.1, -0.2, 0.3))
    sim = Simulation(scene)
    state = sim[body]
    q = np.array([0.1, 0.7, -0.1, 0.7])
    q /= np.linalg.norm(q)
    state.velocity = (1.0, 2.0, 3.0)
    state.angular_velocity = (0.1, 0.2, 0.3)
    state.position = (4.0, 5.0, 6.0)
    state.orientation = 3.0 * q
    assert state.position == pytest.approx((4, 5, 6), abs=1e-14)
    assert state.orientation @ q == pytest.approx(1.0, abs=1e-14)
    assert state.velocity.tolist() == [1.0, 2.0, 3.0]
    assert state.angular_velocity.tolist() == [0.1, 0.2, 0.3]
    assert sim.positions[0] == pytest.approx(state.position)
    assert sim.orientations[0] == pytest.approx(state.orientation)
    m = state.matrix
    assert m[:3, 3] == pytest.approx(state.position)
    assert state.centre == pytest.approx((m @ (*body.centre, 1.0))[:3], abs=1e-14)
    r = m[:3, :3]
    momentum = r @ body.inertia @ r.T @ state.angular_velocity
    assert state.angular_momentum == pytest.approx(momentum, abs=1e-12)
    # one step on: the centre goes with the velocity
    sim.step()
    moved = (m @ (*body.centre, 1.0))[:3] + 1e-3 * state.velocity
    assert state.centre == pytest.approx(moved, abs=1e-14)


def test_readings_are_copies() -> None:
    sim = Simulation(block())
    sim.step(3)
    state = sim["block"]
    for value in (
        state.position,
        state.orientation,
        state.velocity,
        state.angular_velocity,
        state.angular_momentum,
        state.centre,
        state.matrix,
        sim.positions,
        sim.orientations,
        *state.contact_wrench,
    ):
        value[:] = 77.0
    assert np.abs(snapshot(sim)).max() < 10.0
    contacts = sim.contacts
    contacts["force"] = 77.0
    assert np.abs(sim.contacts["force"]).max() < 70.0


def test_bodies_by_handle_name_and_index() -> None:
    scene = block()
    other = scene.add_body(tg.Sphere(0.1), position=(5, 0, 1), name="ball")
    sim = Simulation(scene)
    keys: list[Any] = [other, "ball", 1, np.int64(1)]
    for key in keys:
        assert sim[key].position == pytest.approx((5, 0, 1))


def test_contact_law_by_handle_name_and_index() -> None:
    scene = tg.Scene()
    floor = scene.add_floor()
    a = scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=2.0, name="a")
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=6.0, position=(1, 0, 0), name="b")
    wall = scene.add_body(tg.Box((1, 1, 1)), position=(0, 0, 5), fixed=True, name="wall")
    sim = Simulation(scene)
    on_floor = sim.contact_law(a, floor)
    assert sim.contact_law("a", floor.name) == sim.contact_law(0, -1) == on_floor
    assert sim.contact_law(floor, a) == on_floor
    # m_c is 1.5 kg between the two and 2 kg on what does not move
    assert sim.contact_law("a", "b").k == pytest.approx(0.75 * on_floor.k)
    assert sim.contact_law("a", wall).k == pytest.approx(on_floor.k)
    with pytest.raises(SceneError, match="neither of the two can move"):
        sim.contact_law(wall, floor)
    with pytest.raises(SceneError, match="no body -2"):
        sim.contact_law("a", -2)
    with pytest.raises(SceneError, match="floor 'floor' belongs to another scene"):
        sim.contact_law("a", tg.Scene().add_floor())


@pytest.mark.parametrize("integrator", ["implicit", "explicit"])
def test_contact_law_is_the_law_of_the_step(integrator: str) -> None:
    """A block at rest sinks in by m g/k."""
    scene = tg.Scene()
    scene.add_floor(material=tg.Material(stiffness=2e4))
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), mass=2.0, position=(0, 0, 0.05))
    sim = Simulation(scene, integrator=integrator)
    law = sim.contact_law(0, -1)
    sim.step(3000)
    # ζ ω = 30/s: nothing of the swing is left after 3 s
    assert sim.contacts["depth"][0] == pytest.approx(2.0 * 9.81 / law.k, rel=1e-5)


def test_bodies_of_another_scene_are_refused() -> None:
    scene = block()
    other = tg.Scene()
    stranger = other.add_body(tg.Sphere(0.1), name="stranger")
    sim = Simulation(scene)
    with pytest.raises(SceneError, match="'stranger' belongs to another scene"):
        sim[stranger]
    late = scene.add_body(tg.Sphere(0.1), name="late")
    with pytest.raises(SceneError, match="'late' belongs to another scene"):
        sim[late]


def test_later_changes_of_the_scene_do_not_matter() -> None:
    scene = block()
    sim = Simulation(scene)
    scene.add_body(tg.Sphere(0.1), position=(0, 0, 0.1))
    sim.step(5)
    assert len(sim.positions) == 1


def test_moved_by_hand_a_body_starts_its_contacts_anew() -> None:
    sim = Simulation(block(0.0499))
    sim.step(20)
    assert len(sim.contacts) == 1
    sim["block"].position = (0.0, 0.0, 3.0)
    assert len(sim.contacts) == 0
    sim.step()
    assert len(sim.contacts) == 0
    # put down beside: no memory of the friction spring of the old place
    sim["block"].position = (2.0, 0.0, 0.0499)
    sim["block"].velocity = (0.0, 0.0, 0.0)
    sim.step()
    assert len(sim.contacts) == 1
    # 1e-8 of the weight: the residual of the step
    assert sim.contacts["force"][0][:2] == pytest.approx((0.0, 0.0), abs=1e-7)


def test_turning_by_hand_keeps_the_angular_velocity() -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_body(tg.Box((0.3, 0.2, 0.1)), angular_velocity=(1.0, 2.0, 3.0))
    sim = Simulation(scene)
    sim[0].orientation = (1.0, 1.0, 0.0, 0.0)
    assert sim[0].angular_velocity == pytest.approx((1, 2, 3), abs=1e-14)
    before = sim.energy.kinetic
    sim.step(10)
    assert sim.energy.kinetic == pytest.approx(before, rel=1e-12)


def test_energy() -> None:
    scene = tg.Scene(gravity=(0, 0, -10.0))
    scene.add_body(
        tg.Box((0.3, 0.2, 0.1)), mass=2.0, position=(0, 0, 3.0), velocity=(1, 2, 2),
        angular_velocity=(0, 0, 4.0),
    )  # fmt: skip
    scene.add_body(tg.Box((1, 1, 1)), fixed=True, velocity=(9, 9, 9), position=(50, 0, 0))
    scene.add_spring(0, anchor_b=(0, 0, 2.0), stiffness=100.0, rest_length=0.5)
    energy = Simulation(scene).energy
    assert energy.kinetic == pytest.approx(9.0 + 0.5 * 2.0 * (0.09 + 0.04) / 12.0 * 16.0)
    assert energy.potential == pytest.approx(60.0)
    # velocities belong to the middle of a step: the spring, that is slow for it, is told for there
    middle = 100.0 * 0.5 * 2.0 * 0.5e-3 * (1.0 - 5e-5 / (0.1 + 5e-5))
    assert energy.springs == pytest.approx(0.5 * 100.0 * 0.25 - middle, rel=1e-12)
    explicit = Simulation(scene, integrator="explicit").energy
    assert explicit.springs == pytest.approx(0.5 * 100.0 * 0.25)
    assert energy.total == pytest.approx(energy.kinetic + energy.potential + energy.springs)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Lenient("scene"), "needs a Scene, not str"),
        (lambda: Lenient(tg.Scene()), "scene has no bodies"),
        (lambda: Lenient(block(), method="magic"), "unknown method 'magic'; choose one of: vol"),
        (lambda: Lenient(block(), integrator="magic"), "unknown integrator 'magic'"),
        (lambda: Volume(normalization="magic"), "unknown Volume normalization 'magic'"),
        (lambda: Volume(friction="magic"), "unknown Volume friction 'magic'"),
        (lambda: Volume(algorithm="magic"), "unknown Volume algorithm 'magic'"),
        (lambda: Lenient(block(), dt=0.0), "dt = 0.0 must be positive"),
        (lambda: Lenient(block(), dt=-1e-3), "must be positive"),
        (lambda: Lenient(block(), dt=NAN), "must be positive"),
        (lambda: Lenient(block(), dt=INF), "at most 1 s"),
        (lambda: Lenient(block(), dt="fast"), "dt = 'fast'"),
        (lambda: Lenient(block(), dt=None), "dt = None"),
        (lambda: Lenient(block(), method=Volume(normalization="none")), "per area; give both"),
        (lambda: Lenient(block()).step(-1), "whole number of steps, got -1"),
        (lambda: Lenient(block()).step(1.5), "whole number of steps, got 1.5"),
        (lambda: Lenient(block()).step(True), "whole number of steps, got True"),
        (lambda: Lenient(block())["blok"], "no body named 'blok'"),
        (lambda: Lenient(block())[1], "it has 1 bodies"),
        (lambda: Lenient(block())[-1], "no body -1"),
        (lambda: Lenient(block())[None], "no body None"),
    ],
)
def test_errors_are_one_line(call: Any, message: str) -> None:
    with pytest.raises(SceneError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("field", ["position", "velocity", "angular_velocity", "orientation"])
@pytest.mark.parametrize("value", [(1, 2), (1, 2, NAN, 0), (1, INF, 0), "up", None, [[1, 2, 3]]])
def test_bad_values_are_refused_and_change_nothing(field: str, value: Any) -> None:
    sim = Simulation(block())
    before = snapshot(sim)
    with pytest.raises(SceneError, match=f"{field} of 'block'"):
        setattr(sim["block"], field, value)
    assert np.array_equal(snapshot(sim), before)


def test_orientation_needs_a_direction() -> None:
    sim = Simulation(block())
    with pytest.raises(SceneError, match="has no direction"):
        sim["block"].orientation = (0, 0, 0, 0)


def test_unhashable_choices_are_refused() -> None:
    with pytest.raises(SceneError, match="unknown method"):
        Lenient(block(), method=["volume"])


# ---------------------------------------------------------------- contacts


@pytest.mark.parametrize("method", ["volume", "point", Volume(), Point()])
def test_contact_table_of_a_resting_block(method: Any) -> None:
    scene = block(0.05)
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=0.5, position=(0, 0, 0.15), name="upper")
    scene.add_body(tg.Sphere(0.1), position=(3, 0, 9), name="far")
    sim = Simulation(scene, method=method)
    sim.step(400 if method in ("volume", Volume()) else 20)
    table = sim.contacts
    pairs = {(int(row["body_a"]), int(row["body_b"])) for row in table}
    assert pairs == {(-1, 0), (0, 1)}
    assert np.isfinite(table["force"]).all()
    assert (table["depth"] > 0.0).all()
    for row in table:
        assert row["normal"] == pytest.approx((0, 0, 1), abs=1e-3)
    if isinstance(sim.method, tg.Volume):
        assert len(table) == 2
        loads = {int(row["body_a"]): row["force"][2] for row in table}
        assert loads[-1] == pytest.approx(1.5 * 9.81, rel=1e-3)
        assert loads[0] == pytest.approx(0.5 * 9.81, rel=1e-3)
        areas = {int(row["body_a"]): row["area"] for row in table}
        assert areas[-1] == pytest.approx(0.04, rel=1e-6)
        assert areas[0] == pytest.approx(0.01, rel=1e-6)
        assert table["sticking"].all()


def test_floors_are_counted_downwards() -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_floor(height=-1.0)
    scene.add_floor(height=0.0)
    scene.add_floor(height=-5.0, normal=(1, 0, 0))
    scene.add_body(tg.Box((1, 1, 1)), position=(0, 0, 0.499))
    sim = Simulation(scene)
    sim.step()
    assert sim.contacts["body_a"].tolist() == [-2]
    assert sim.contacts["body_b"].tolist() == [0]


def test_wrenches_add_up_over_the_contacts() -> None:
    # an off-centre body on floor and wall: the body's wrench is the sum of its rows, moved
    scene = tg.Scene()
    scene.add_floor()
    scene.add_floor(normal=(1, 0, 0))
    scene.add_body(LOOSE, position=(0.0, 0.0, 0.02), orientation=(1, 0.1, 0.1, 0))
    sim = Simulation(scene)
    centre = sim[0].centre
    sim.step()
    force, torque = np.zeros(3), np.zeros(3)
    assert len(sim.contacts) >= 2
    for row in sim.contacts:
        force += row["force"]
        torque += row["torque"] + np.cross(row["point"] - centre, row["force"])
    found = sim[0].contact_wrench
    size = float(np.linalg.norm(force))
    assert found[0] == pytest.approx(force, abs=1e-12 * size)
    assert found[1] == pytest.approx(torque, abs=1e-12 * size)


# ---------------------------------------------------------------- repetition


def crowd(seed: int = 0, count: int = 6) -> tg.Scene:
    rng = np.random.default_rng(seed)
    scene = tg.Scene()
    scene.add_floor()
    for k in range(count):
        shape = (tg.Box((0.1, 0.15, 0.2)), tg.Cylinder(0.06, 0.12, facets=8), tg.Cone(0.1, 0.2))[
            k % 3
        ]
        scene.add_body(
            shape,
            position=(0.08 * rng.normal(), 0.08 * rng.normal(), 0.1 + 0.15 * k),
            orientation=rng.normal(size=4),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3) * 3.0,
        )
    return scene


@pytest.mark.parametrize("integrator", ["implicit", "explicit"])
@pytest.mark.parametrize("method", ["volume", "point", Volume(algorithm="dual")])
def test_two_runs_are_the_same_bit_for_bit(method: Any, integrator: str) -> None:
    runs = []
    for _ in range(2):
        sim = Simulation(crowd(), method=method, integrator=integrator)
        sim.step(60)
        assert len(sim.contacts) > 0
        runs.append(snapshot(sim))
    assert np.array_equal(runs[0], runs[1])


def test_steps_in_one_call_or_in_many() -> None:
    once, split = Simulation(crowd()), Simulation(crowd())
    once.step(60)
    for n in (10, 1, 0, 29, 20):
        split.step(n)
    assert np.array_equal(snapshot(once), snapshot(split))
    assert once.time == split.time == pytest.approx(0.06)


def test_no_step_is_no_change() -> None:
    sim = Simulation(crowd())
    before = snapshot(sim)
    sim.step(0)
    assert np.array_equal(snapshot(sim), before)
    assert sim.time == 0.0


def test_simulations_do_not_share_state() -> None:
    scene = crowd()
    one, two = Simulation(scene), Simulation(scene)
    one.step(30)
    assert np.array_equal(snapshot(two), snapshot(Simulation(scene)))


def test_other_process_gives_the_same_numbers() -> None:
    # nothing depends on addresses, hashes or what ran before
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import importlib.util as u; s = u.spec_from_file_location('front', sys.argv[2]);"
        "m = u.module_from_spec(s); s.loader.exec_module(m);"
        "sim = m.Simulation(m.crowd()); sim.step(25); print(m.snapshot(sim).tobytes().hex())"
    )
    root = str(__file__).rsplit("/", 1)[0]
    found = subprocess.run(
        [sys.executable, "-c", code, root, __file__], capture_output=True, text=True, check=True
    )
    sim = Simulation(crowd())
    sim.step(25)
    assert found.stdout.strip() == snapshot(sim).tobytes().hex()


# ---------------------------------------------------------------- room


def prism(radius: float, height: float, sides: int) -> tg.Convex:
    """A hull of so many sides, which touches by its faces."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack((radius * np.cos(angle), radius * np.sin(angle), np.zeros(sides)))
    up = np.array([0.0, 0.0, 0.5 * height])
    return tg.Convex(np.vstack((ring - up, ring + up)))


@pytest.mark.parametrize("integrator", ["implicit", "explicit"])
@pytest.mark.parametrize("room", [40, 100])
def test_small_buffers_change_nothing(
    room: int, integrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # polygons that do not fit interrupt a step: it is made again with more room, up to rounding
    def run() -> tuple[Array, int]:
        scene = tg.Scene()
        scene.add_floor()
        for k in range(3):
            scene.add_body(
                prism(0.1, 0.1, 6 + 4 * k),
                position=(0.0, 0.0, 0.05 + 0.1 * k),
                angular_velocity=(0.0, 0.0, 1.0 + 3.0 * k),
                velocity=(0.2 * k, 0.0, 0.0),
            )
        sim = Simulation(scene, integrator=integrator)
        before = len(sim.arrays.work.soup.owner)
        sim.step(40)
        return snapshot(sim), len(sim.arrays.work.soup.owner) - before

    roomy, grown = run()
    assert grown == 0
    monkeypatch.setattr(compiler, "SOUP_VERTICES", room)
    tight, grown = run()
    assert grown > 0, "it was too small"
    assert tight == pytest.approx(roomy, abs=1e-12)


def test_few_pairs_grow_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Array:
        sim = Simulation(crowd(count=10))
        sim.step(80)
        return snapshot(sim)

    roomy = run()
    monkeypatch.setattr(compiler, "PAIRS_PER_PART", 1)
    tight = Simulation(crowd(count=10))
    assert len(tight.arrays.work.pairs.key) < 20
    few = len(tight.arrays.work.pairs.key)
    tight.step(80)
    assert len(tight.arrays.work.pairs.key) > few, "they were too few"
    assert np.array_equal(snapshot(tight), roomy)


def test_bodies_of_many_pieces_that_overlap() -> None:
    pile = tg.Compound(
        [tg.Box((1, 1, 1))] * 12, [((0.01 * k, 0, 0), (1, 0, 0, 0)) for k in range(12)]
    )
    scene = tg.Scene(gravity=(0, 0, 0))
    for z in (0.0, 0.99):
        scene.add_body(pile, mass=1.0, inertia=(1, 1, 1), position=(0, 0, z))
    sim = Simulation(scene)
    sim.step()
    assert len(sim.contacts) == 144
    assert np.isfinite(sim.positions).all()


# ---------------------------------------------------------------- blow-ups


def hopeless() -> Simulation:
    """A spring far beyond the limit of the explicit step: each step is 1e8 times the last one."""
    scene = block(0.5)
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), position=(0, 0, 0.7), name="upper")
    scene.add_spring("block", "upper", anchor_a=(0.1, 0.0, 0.0), stiffness=1e12)
    return Simulation(scene, dt=1e-2, integrator="explicit")


def test_blow_up_is_said_and_the_last_good_state_kept() -> None:
    sim = hopeless()
    with (
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match=r"the step of 0\.01 s is too long") as error,
    ):
        sim.step(1000)
    assert "\n" not in str(error.value)
    assert np.isfinite(snapshot(sim)).all()
    assert sim.time < 0.3
    # and again, without moving
    before = snapshot(sim)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError):
        sim.step()
    assert np.array_equal(snapshot(sim), before)


@pytest.mark.parametrize("speed", [1e40, 9e48])
def test_runaway_bodies_are_caught_before_they_are_lost(speed: float) -> None:
    scene = tg.Scene(gravity=(0, 0, 0))
    scene.add_body(tg.Box((1, 1, 1)))
    scene.add_body(tg.Box((1, 1, 1)), position=(5, 5, 5))
    sim = Simulation(scene, dt=1.0)
    sim.arrays.state.velocity[0, 0] = speed
    with np.errstate(all="ignore"):
        if speed > 1e48:
            with pytest.raises(FloatingPointError):
                sim.step(200)
        else:
            sim.step(200)
    assert np.isfinite(snapshot(sim)).all()
    assert np.isfinite(sim.positions).all()


def test_goes_on_after_a_rescue() -> None:
    # put back to safe places, the simulation runs like a new one
    sim = hopeless()
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError):
        sim.step(1000)
    for name, height in (("block", 0.5), ("upper", 0.7)):
        sim[name].position = (0.0, 0.0, height)
        sim[name].orientation = (1.0, 0.0, 0.0, 0.0)
        sim[name].velocity = (0.0, 0.0, 0.0)
        sim[name].angular_velocity = (0.0, 0.0, 0.0)
    sim.step()
    truth = hopeless()
    truth.step()
    assert np.array_equal(sim.positions, truth.positions)
    assert len(sim.contacts) == 0


@pytest.mark.parametrize("integrator", ["implicit", "explicit"])
def test_hard_contacts_at_a_long_step_stay_finite_or_say_so(integrator: str) -> None:
    # explicit: floor and ceiling throw the blocks back faster than they came
    stiff = tg.Material(0.5, 0.5, stiffness=1e12, damping=1e12)
    scene = block(0.04, material=stiff)
    scene.add_body(tg.Box((0.2, 0.2, 0.1)), position=(0, 0, 0.14), material=stiff)
    scene.add_floor(height=-2.0, normal=(0, 0, -1), material=stiff)
    sim = Simulation(scene, dt=1e-2, integrator=integrator)
    with np.errstate(all="ignore"):
        try:
            sim.step(50)
        except FloatingPointError:
            assert integrator == "explicit"
            assert sim.time < 0.5
    assert np.isfinite(snapshot(sim)).all()
    assert np.isfinite(sim.contacts["force"]).all()


def test_time_counts_the_steps_that_were_made() -> None:
    sim = Simulation(block(), dt=2e-3)
    sim.step(250)
    assert sim.time == pytest.approx(0.5, rel=1e-12)
    assert math.isclose(sim.dt, 2e-3)
