"""Soft bodies in the signorini step: statics, contact with everything, vibration, energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import tangere as tg
from tangere.fem.grids import box_grid
from tangere.geometry.shapes import Shape

Array = NDArray[np.float64]

G = 9.81
EDGE = 0.06
YOUNG, POISSON = 1e6, 0.3


def cube(cells: int = 2) -> tg.TetMesh:
    return box_grid((EDGE, EDGE, EDGE), (cells, cells, cells))


def on_floor(
    cells: int = 2, height: float = 0.0, friction: float = 0.5, **options: object
) -> tg.Scene:
    scene = tg.Scene()
    scene.add_floor(material=tg.Material(friction, friction))
    place = (0.0, 0.0, 0.5 * EDGE + height)
    given = {"young": YOUNG, "poisson": POISSON, "order": 1, "position": place, **options}
    scene.add_soft_body(cube(cells), **given)  # type: ignore[arg-type]
    return scene


def bottom(x: Array) -> Array:
    return np.asarray(x[:, 2] < -0.5 * EDGE + 1e-9)


def norms(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=1))


def top(x: Array) -> Array:
    return np.asarray(x[:, 2] > 0.5 * EDGE - 1e-9)


@pytest.mark.nojit
def test_a_soft_block_rests_on_the_floor() -> None:
    sim = tg.Simulation(on_floor(3, friction=0.0), method="signorini", dt=1e-3)
    sim.step(150)
    force, torque = sim[0].contact_wrench
    weight = 1000.0 * EDGE**3 * G
    assert force == pytest.approx((0.0, 0.0, weight), abs=1e-6)
    assert torque == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.abs(sim[0].velocity).max() < 1e-9
    # nothing is below the floor, and the block is lower than a rigid one: it sags by its weight
    vertices = sim["soft"].vertices  # type: ignore[attr-defined]
    assert vertices[:, 2].min() > -1e-9
    sag = 0.5 * EDGE - sim[0].position[2]
    # a column under its own weight: its centre of mass sinks by ρ g L²/(3 E)
    assert sag == pytest.approx(1000.0 * G * EDGE**2 / (3.0 * YOUNG), rel=0.05)


@pytest.mark.nojit
def test_a_soft_block_deep_in_the_floor_is_pushed_out() -> None:
    """A hand may have pushed it there between two steps: 5 mm, at 0.1 m/s."""
    sim = tg.Simulation(on_floor(height=-5e-3), method="signorini", dt=1e-3)
    sim.step(100)
    vertices = sim["soft"].vertices  # type: ignore[attr-defined]
    assert vertices[:, 2].min() > -1e-6


@pytest.mark.nojit
def test_books_explain_every_joule_of_a_drop() -> None:
    """Vibrating and static parts, friction and impact: the books close to rounding."""
    scene = on_floor(height=2e-3, velocity=(0.3, 0.0, 0.0), modes=6)
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    start, book = sim.energy.total, sim.audit
    vibrated = 0.0
    for _ in range(60):
        sim.step()
        book = sim.audit
        # angles within a step are of second order: the block tips a little as it slides
        assert abs(book.error) < 1e-6 * abs(start)
        vibrated = max(vibrated, sim.energy.elastic)
    assert vibrated > 0.0
    assert book.friction > 0.0
    assert book.springs > 0.0  # lost by the material's own damping
    lost = book.friction + book.normal + book.step + book.springs - book.work
    assert start - sim.energy.total == pytest.approx(lost, rel=1e-4)


@pytest.mark.nojit
def test_action_is_reaction_between_two_soft_bodies() -> None:
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    for side in (-1.0, 1.0):
        scene.add_soft_body(
            cube(),
            young=YOUNG,
            poisson=POISSON,
            order=1,
            modes=0,
            density=1000.0 + 500.0 * side,
            position=(0.0302 * side, 0.004 * side, 0.003 * side),
            velocity=(-0.3 * side, 0.0, 0.05),
        )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    masses = np.array([body.mass for body in scene.bodies])

    def momentum() -> Array:
        p = masses[:, None] * [sim[i].velocity for i in range(2)]
        spin = sum(sim[i].angular_momentum + np.cross(sim[i].centre, p[i]) for i in range(2))
        return np.concatenate((p.sum(axis=0), spin))

    before, pressed = momentum(), 0.0
    for _ in range(30):
        sim.step()
        one, two = (sim[i].contact_wrench[0] for i in range(2))
        pressed = max(pressed, float(np.abs(one).max()))
        assert np.abs(one + two).max() <= 1e-12 * max(1.0, np.abs(one).max())
    assert pressed > 1.0
    assert momentum() == pytest.approx(before, abs=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize(
    "shape",
    [
        tg.Sphere(0.02),
        tg.Box((0.02, 0.02, 0.02)),
        tg.Cylinder(0.02, 0.04),
        tg.Capsule(0.015, 0.02),
        tg.Mesh(*tg.Box((0.02, 0.03, 0.02)).surface()),
    ],
    ids=["ball", "box", "cylinder", "capsule", "mesh"],
)
def test_a_rigid_body_lies_on_a_soft_block(shape: Shape) -> None:
    scene = tg.Scene()
    scene.add_soft_body(
        cube(3), young=YOUNG, poisson=POISSON, order=1, modes=4, fixed=bottom, name="block"
    )
    low, _ = shape.surface()
    height = 0.5 * EDGE - low[:, 2].min() + 1e-4
    body = scene.add_body(shape, mass=0.05, position=(0.004, 0.002, height))
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(150)
    force, _ = sim[body].contact_wrench
    assert force == pytest.approx((0.0, 0.0, 0.05 * G), abs=1e-2 * G)
    assert sim["block"].contact_wrench[0] == pytest.approx(-force, abs=1e-12)
    assert sim.contacts["depth"].max() < 1e-6
    assert sim.audit.residual < 1e-7


@pytest.mark.nojit
def test_the_world_may_be_turned() -> None:
    found = []
    for turned in (Rotation.identity(), Rotation.from_euler("xyz", (0.4, -1.1, 2.0))):
        scene = tg.Scene(gravity=turned.apply((0.0, 0.0, -G)))
        scene.add_floor(normal=turned.apply((0.0, 0.0, 1.0)))
        scene.add_soft_body(
            cube(),
            young=YOUNG,
            poisson=POISSON,
            order=1,
            modes=3,
            position=turned.apply((0.0, 0.0, 0.5 * EDGE)),
            orientation=np.roll(turned.as_quat(), 1),
            velocity=turned.apply((0.2, 0.1, -0.05)),
        )
        sim = tg.Simulation(scene, method="signorini", dt=1e-3)
        sim.step(8)
        found.append(
            (turned.inv().apply(sim[0].contact_wrench[0]), turned.inv().apply(sim[0].vertices))  # type: ignore[attr-defined]
        )
    for one, two in zip(*found, strict=True):
        assert two == pytest.approx(one, abs=1e-8)


@pytest.mark.nojit
def test_gravity_bends_what_is_fixed() -> None:
    """A bar clamped at one end starts as gravity has it, and stays there."""
    length, width = 0.2, 0.02
    mesh = box_grid((length, width, width), (10, 1, 1))
    scene = tg.Scene()
    scene.add_soft_body(
        mesh,
        young=1e7,
        poisson=0.3,
        density=1200.0,
        order=2,
        modes=5,
        fixed=lambda x: x[:, 0] < -0.5 * length + 1e-9,
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    rest, _ = mesh.surface()
    tip = int(rest[:, 0].argmax())
    start = sim[0].vertices[tip, 2]  # type: ignore[attr-defined]
    # Euler–Bernoulli: q L⁴/(8 E I), and shear adds 1 % at this slenderness
    deflection = 1200.0 * G * width**2 * length**4 / (8.0 * 1e7 * width**4 / 12.0)
    assert rest[tip, 2] - start == pytest.approx(deflection, rel=0.05)
    sim.step(20)
    assert sim[0].vertices[tip, 2] == pytest.approx(start, abs=1e-12)  # type: ignore[attr-defined]


def test_a_mode_rings_at_its_frequency() -> None:
    """A bar struck at its tip swings at the first bending mode; damping as given."""
    length, width = 0.2, 0.02
    mesh = box_grid((length, width, width), (10, 2, 2))
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_soft_body(
        mesh,
        young=1e6,
        poisson=0.3,
        damping=(0.0, 0.0),
        modes=4,
        order=2,
        fixed=lambda x: x[:, 0] < -0.5 * length + 1e-9,
    )
    dt = 1e-4
    sim = tg.Simulation(scene, method="signorini", dt=dt)
    soft = sim.stepper.problem.soft  # type: ignore[attr-defined]
    soft.state.amplitude[0] = 1e-4
    series = []
    for _ in range(16_000):
        sim.step()
        series.append(float(soft.state.amplitude[0]))
    crossings = np.flatnonzero(np.diff(np.sign(series)) != 0)
    period = 2.0 * dt * float(np.mean(np.diff(crossings)))
    # implicit Euler lengthens the period by (ω dt)²/3, here 1e-6
    assert 2.0 * np.pi / period == pytest.approx(np.sqrt(soft.model.squared[0]), rel=2e-3)


@pytest.mark.nojit
def test_a_handle_carries_the_body() -> None:
    """Vertices of a handle move with the frame as one: their distances stay."""
    scene = on_floor(height=1e-4, handle=top)
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    before = sim[0].vertices  # type: ignore[attr-defined]
    held = before[:, 2] > before[:, 2].max() - 1e-9
    sim.step(100)
    after = sim[0].vertices  # type: ignore[attr-defined]
    apart = [np.linalg.norm(x[held][:, None] - x[held], axis=2) for x in (before, after)]
    assert apart[1] == pytest.approx(apart[0], abs=1e-12)
    assert np.linalg.norm(after[~held] - before[~held], axis=1).max() > 1e-5
    assert sim[0].contact_wrench[0][2] == pytest.approx(1000.0 * EDGE**3 * G, rel=1e-4)


@pytest.mark.nojit
def test_quasi_static_and_viscous_materials_end_alike() -> None:
    """β delays, and does not change where a body comes to rest."""
    ends = []
    for damping in (0.0, 5e-3):
        scene = on_floor(friction=0.0, damping=damping, modes=0)
        sim = tg.Simulation(scene, method="signorini", dt=1e-3)
        sim.step(300)
        ends.append(sim[0].vertices)  # type: ignore[attr-defined]
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)


@pytest.mark.nojit
def test_stress_of_a_compressed_block() -> None:
    """Pressed evenly without friction: one stress everywhere, p = E ε."""
    smooth = tg.Material(0.0, 0.0)
    scene = tg.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_floor(height=-0.5 * EDGE, material=smooth)
    block = scene.add_soft_body(
        cube(2), young=YOUNG, poisson=POISSON, order=1, modes=0, damping=0.0, material=smooth
    )
    speed = 1e-2
    scene.add_body(
        tg.Box((0.2, 0.2, 0.02)),
        position=(0.0, 0.0, 0.5 * EDGE + 0.01),
        velocity=(0.0, 0.0, -speed),
        fixed=True,
        material=smooth,
        name="press",
    )
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(60)
    strain = 60e-3 * speed / EDGE
    assert sim["press"].contact_wrench[0][2] == pytest.approx(YOUNG * strain * EDGE**2, rel=1e-5)
    rest, _ = cube(2).surface()
    sides = np.abs(rest[:, 2]) < 1e-9  # away from what presses
    assert sides.sum() == 8
    assert sim[block].stress[sides] == pytest.approx(YOUNG * strain, rel=1e-4)  # type: ignore[attr-defined]


@pytest.mark.nojit
def test_a_scene_from_its_file_runs_the_same(tmp_path: object) -> None:
    scene = on_floor(velocity=(0.2, 0.0, -0.1), modes=2, contact=bottom, damping=(1.0, 1e-3))
    path = f"{tmp_path}/soft.toml"
    scene.save(path)
    loaded = tg.Scene.load(path)
    assert loaded == scene
    one, two = (tg.Simulation(s, method="signorini", dt=1e-3) for s in (scene, loaded))
    one.step(20)
    two.step(20)
    assert np.array_equal(one[0].vertices, two[0].vertices)  # type: ignore[attr-defined]


@pytest.mark.nojit
def test_room_for_features_and_contacts_grows() -> None:
    scene = tg.Scene()
    scene.add_floor()
    mesh = box_grid((0.1, 0.1, 0.02), (16, 16, 1))
    scene.add_soft_body(mesh, young=1e5, poisson=0.3, order=1, modes=0, position=(0.0, 0.0, 0.01))
    sim = tg.Simulation(scene, method=tg.Signorini(max_contacts=20), dt=1e-3)
    sim.step(60)
    assert len(sim.stepper.problem.soft.chosen) > 256  # type: ignore[attr-defined]
    assert 3 <= len(sim.contacts) <= 20
    assert sim[0].contact_wrench[0][2] == pytest.approx(1000.0 * 2e-4 * G, rel=0.05)


BAD = {
    "poisson": ({"poisson": 0.5}, "poisson: 0.5 is impossible or incompressible"),
    "young": ({"young": 0.0}, "young: must be positive"),
    "fixed and handle": ({"fixed": bottom, "handle": top}, "both fixed and handle"),
    "fixed true": ({"fixed": True}, "give the vertices that stay where they are"),
    "nothing fixed": ({"fixed": lambda x: x[:, 2] > 1.0}, "fixed: no vertex is among them"),
    "no such vertex": ({"fixed": [999]}, "no vertex 999"),
    "no contact": ({"contact": lambda x: norms(x) < 1e-9}, "contact: no vertex of the surface"),
    "mask": ({"contact": np.ones(3, bool)}, "a mask needs 27 entries"),
    "order": ({"order": 3}, "order: out of range"),
    "damping": ({"damping": -1.0}, "beta"),
    "modes of a handle": ({"handle": top, "modes": 3}, "has no inertia of its own"),
    "coupling": ({"fixed": bottom, "coupling": tg.VirtualCoupling()}, "a tool cannot be fixed"),
}


@pytest.mark.nojit
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case: str) -> None:
    options, words = BAD[case]
    with pytest.raises(tg.SceneError, match=words) as told:
        on_floor(**options)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
    assert "soft" in str(told.value)


@pytest.mark.nojit
def test_a_function_for_contact_vertices_may_choose_inner_ones() -> None:
    """All of the lower half; the vertex in the middle of the cube is not on its surface."""
    scene = on_floor(contact=lambda x: x[:, 2] < 1e-9)
    elastic = scene.bodies[0].elastic
    assert elastic is not None
    assert elastic.contact is not None
    assert len(elastic.contact) == 17
    assert norms(cube().vertices[elastic.contact]).min() > 1e-9


@pytest.mark.nojit
def test_what_the_elasticity_refuses_names_the_body() -> None:
    line = {"fixed": lambda x: bottom(x) & (np.abs(x[:, 1]) < 1e-9), "name": "plank"}
    with pytest.raises(tg.SceneError, match=r"^soft body 'plank' fixed: 3 held points on one line"):
        tg.Simulation(on_floor(**line), method="signorini")  # type: ignore[arg-type]
    grip = {"handle": [0], "name": "spoon"}
    with pytest.raises(tg.SceneError, match=r"^soft body 'spoon' handle: 1 held point on one line"):
        tg.Simulation(on_floor(**grip), method="signorini")  # type: ignore[arg-type]
    with pytest.raises(tg.SceneError, match=r"^soft body 'big' memory: .*contact nodes need"):
        tg.Simulation(on_floor(3, memory=1000, name="big"), method="signorini")


@pytest.mark.nojit
@pytest.mark.parametrize("method", ["volume", "point"])
def test_other_methods_say_which_one_knows_soft_bodies(method: str) -> None:
    with pytest.raises(tg.SceneError, match="knows no body of kind soft; use one of: signorini"):
        tg.Simulation(on_floor(), method=method)


@pytest.mark.nojit
def test_a_tiny_mesh_has_as_many_modes_as_it_can() -> None:
    """The default number is no demand of the user's."""
    scene = tg.Scene()
    mesh = box_grid((EDGE, EDGE, EDGE), (1, 1, 1))
    scene.add_soft_body(mesh, young=YOUNG, poisson=POISSON, order=1)
    scene.add_soft_body(mesh, young=YOUNG, poisson=POISSON, order=1, fixed=bottom)
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    assert [len(body.frequencies) for body in sim.stepper.condensed] == [9, 6]  # type: ignore[attr-defined]


def test_a_box_on_a_soft_block_comes_to_rest() -> None:
    """Its rim presses on edges that are flat by then: they stay contacts."""
    scene = tg.Scene()
    block = box_grid((EDGE, EDGE, 0.5 * EDGE), (6, 6, 3))
    scene.add_soft_body(
        block,
        young=1e5,
        poisson=POISSON,
        order=1,
        fixed=lambda x: x[:, 2] < -0.249 * EDGE,
        contact=lambda x: x[:, 2] > 0.249 * EDGE,
    )
    box = scene.add_body(tg.Box((0.026, 0.026, 0.02)), mass=0.1, position=(0.0013, 0.0007, 0.0251))
    sim = tg.Simulation(scene, method="signorini", dt=1e-3)
    sim.step(800)
    before = sim.audit.normal
    sim.step(100)
    # the residual of the solver is 1e-8 of the forces; given up in turn they made 0.3 mm/s
    assert np.abs(sim[box].velocity).max() < 1e-7
    assert sim.audit.normal - before == pytest.approx(0.0, abs=1e-10)
