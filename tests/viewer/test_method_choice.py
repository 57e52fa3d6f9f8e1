"""What the page offers of every method: all of it does something, and nothing is missing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tangere as tg
from tangere.contact.method import MATERIAL_FACTORS, Control, Method, methods
from tangere.errors import SceneError
from tangere.haptics.layout import ROW_CONTACT, ROW_TOOL
from tangere.scene.scene import Tool
from tangere.viewer.contact_controls import scaled
from tangere.viewer.frame import Offer, Settings
from tangere.viewer.held_session import coupled
from tangere.viewer.method_choice import (
    OPTION,
    Preferred,
    changed,
    chosen_options,
    for_scene,
    offer,
    offered,
    stepper_in_hand,
    with_method,
)
from tangere.viewer.panel import CONTACT_SLIDERS, TOOL_SLIDERS

STEPS = 40  # of 1 ms, in contact from the first one
FACTOR = 1.5
SEEN = 1e-7  # relative difference of motions and forces that counts as an effect
MOVED = [(name, stepper) for name in methods for stepper in methods[name].steppers]
SIDEWAYS = 0.3  # [m/s]


def turned_about_x(angle: float) -> tuple[float, float, float, float]:
    return math.cos(0.5 * angle), math.sin(0.5 * angle), 0.0, 0.0


def loose(*, tool: bool = False, block: bool = True) -> tg.Scene:
    """A tilted block that slides and turns on a floor, and a tool on the floor beside it."""
    scene = tg.Scene()
    scene.add_floor()
    if block:
        scene.add_body(
            tg.Box((0.1, 0.08, 0.05)),
            mass=0.3,
            position=(0.0, 0.0, 0.0255),
            orientation=turned_about_x(0.02),
            velocity=(SIDEWAYS, 0.0, -0.1),
            angular_velocity=(0.0, 0.0, 2.0),
            name="block",
        )
    if tool:
        coupling = tg.VirtualCoupling(stiffness=800.0, damping=4.0, rotational_stiffness=4.0)
        scene.add_tool(
            tg.Box((0.06, 0.06, 0.02)),
            mass=0.05,
            position=(0.2, 0.0, 0.013),
            orientation=turned_about_x(0.1),
            coupling=coupling,
            name="plate",
        )
    return scene


def motion(settings: Settings, scene: tg.Scene, options: Any = None) -> np.ndarray:
    """Where everything goes, and the forces, as the page would have it."""
    method = chosen_options(settings, scene) if options is None else options
    scene = scaled(scene, settings)
    if not scene.tools:
        sim = tg.Simulation(scene, method=method, integrator=settings.integrator)
        rows = []
        for _ in range(STEPS):
            sim.step()
            rows.append(np.concatenate((sim.positions[0], sim[0].contact_wrench[0])))
        return np.array(rows)
    scene = scene.with_bodies(
        [coupled(b, settings) if isinstance(b, Tool) else b for b in scene.bodies]
    )
    # The plate rolls from one edge to the other: the number of its planes matters.
    hand = tg.devices.Scripted(
        lambda t: ((0.2 + SIDEWAYS * t, 0.0, 0.008), turned_about_x(0.1 - 5.0 * t))
    )
    session = tg.Session(scene, method=method, device=hand)
    rows = []
    trace = session.run(
        1e-3 * STEPS,
        realtime=False,
        each=lambda: rows.append(session.simulation.positions.ravel()),
    )
    felt = trace.rows[:, ROW_CONTACT : ROW_CONTACT + 3]
    return np.hstack((rows, trace.rows[:, ROW_TOOL : ROW_TOOL + 3], felt))


def differs(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() > SEEN * np.abs(a).max())


def every_other_value(control: Control, now: Any) -> list[Any]:
    if control.span is None:
        return [value for value in control.choices.values() if value != now]
    return [end for end in control.span[:2] if end != now]


def assert_all_of_it_acts(settings: Settings, scene: tg.Scene, sliders: list[str]) -> None:
    """Every control and every slider on the page changes the motion."""
    before = motion(settings, scene)
    np.testing.assert_array_equal(motion(settings, scene), before)
    here = offer(settings, scene)
    for control in here.controls:
        now = here.values[control.option]
        acts = [
            differs(before, motion(changed(settings, OPTION, (control.option, value)), scene))
            for value in every_other_value(control, now)
        ]
        assert any(acts) if control.span else all(acts), control.option
    for name in sliders:
        assert differs(before, motion(changed(settings, name, FACTOR), scene)), name


def assert_nothing_is_missing(settings: Settings, scene: tg.Scene) -> None:
    """What the page does not show changes nothing, or is refused."""
    record = methods[settings.method]
    before = motion(settings, scene)
    here = offer(settings, scene)
    for factor in MATERIAL_FACTORS - here.factors:
        after = motion(changed(settings, f"{factor}_factor", FACTOR), scene)
        np.testing.assert_array_equal(after, before)
    for control in (c for c in record.controls if c not in here.controls):
        for value in every_other_value(control, getattr(record.options(), control.option)):
            try:
                after = motion(settings, scene, record.options(**{control.option: value}))
            except SceneError:
                continue
            np.testing.assert_array_equal(after, before)


def contact_sliders(here: Offer) -> list[str]:
    return [name for name, *_ in CONTACT_SLIDERS if name.removesuffix("_factor") in here.factors]


@pytest.mark.parametrize(("name", "stepper"), MOVED)
def test_every_control_acts_on_a_block(name: str, stepper: str) -> None:
    settings, scene = Settings("", method=name, integrator=stepper), loose()
    assert_all_of_it_acts(settings, scene, contact_sliders(offer(settings, scene)))
    assert_nothing_is_missing(settings, scene)


@pytest.mark.parametrize("block", [False, True], ids=["tool alone", "beside a block"])
@pytest.mark.parametrize("name", list(methods))
def test_every_control_acts_on_a_tool(name: str, block: bool) -> None:
    settings = Settings("", method=name, integrator=stepper_in_hand(name))
    scene = loose(tool=True, block=block)
    if name not in offered(scene):
        assert block, "every method is for a tool alone"
        pytest.skip("not for scenes in which something else moves")
    sliders = contact_sliders(offer(settings, scene)) + [name for name, *_ in TOOL_SLIDERS]
    assert_all_of_it_acts(settings, scene, sliders)
    assert_nothing_is_missing(settings, scene)


def test_every_material_factor_has_its_slider() -> None:
    assert {f"{factor}_factor" for factor in MATERIAL_FACTORS} == {n for n, *_ in CONTACT_SLIDERS}


def test_methods_without_a_step_are_offered_to_hands_alone() -> None:
    methods.register(replace(methods["penalty"], name="other", steppers=(), options=Other))
    try:
        moving = tuple(name for name in methods if methods[name].steppers)
        assert offered(loose()) == moving
        assert "other" not in moving
        assert set(offered(loose(tool=True, block=False))) == set(methods)
    finally:
        methods.unregister("other")


def test_a_method_that_does_not_know_a_shape_is_not_offered() -> None:
    class Veil(tg.Box):
        offers = frozenset({"hull"})

    scene = loose(tool=True, block=False)
    scene.add_body(Veil((0.1, 0.1, 0.1)), position=(0.0, 1.0, 0.05), fixed=True)
    wanting = {name for name in methods if "hull" not in methods[name].parts}
    assert wanting
    assert set(offered(scene)) == set(methods) - wanting


@pytest.mark.parametrize("name", list(methods))
def test_the_page_says_what_the_record_says(name: str) -> None:
    record = methods[name]
    here = offer(Settings("", method=name), loose(tool=True))
    assert (here.words, here.citation) == (record.words, record.citation)
    assert here.steppers == ()  # hands have theirs
    for control in here.controls:
        assert here.values[control.option] == getattr(record.options(), control.option)


@pytest.fixture
def other() -> Any:
    """A method of another package, with a step of its own name."""
    record = replace(methods[methods.default], name="other", steppers=("leap",), options=Other)
    methods.register(record)
    yield record
    methods.unregister("other")


class Other:
    """Options of none of the built-in ones."""


def test_another_method_comes_with_its_own_options_and_step(other: Method) -> None:
    settings = changed(Settings(""), OPTION, ("normalization", "none"))
    assert settings.options == {"normalization": "none"}
    assert with_method(settings, settings.method) is settings
    assert changed(settings, OPTION, ("normalization", "patch")) == Settings("")
    new = changed(settings, "method", other.name)
    assert (new.method, new.options, new.integrator) == ("other", {}, "leap")
    assert changed(new, "method", methods.default) == Settings("")


def test_options_that_come_with_a_scene_go_with_it() -> None:
    """What the page offers stays as chosen; what only suits a scene's size does not."""
    scene = tg.Scene()
    scene.add_tool(tg.Sphere(0.001))
    mesh = Preferred("penalty", {"tolerance": 1e-4})
    settings = changed(for_scene(Settings("part.stl"), mesh), OPTION, ("clusters", 3))
    options = chosen_options(settings, scene)
    assert (options.tolerance, options.clusters) == (1e-4, 3)
    elsewhere = for_scene(settings, Preferred("penalty", {}))
    assert elsewhere.options == {"clusters": 3}
    assert for_scene(elsewhere, mesh).options == settings.options
    assert for_scene(settings, Preferred("volume", {})).options == {}
