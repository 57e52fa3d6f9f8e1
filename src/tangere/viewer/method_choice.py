"""What the page offers of contact methods, and what was chosen: all of it from their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tangere.contact.method import methods
from tangere.viewer.frame import Offer, Settings

if TYPE_CHECKING:
    from tangere.scene.scene import Scene

OPTION = "option"  # an order: one option of the method, as a name and a value
CHANGEABLE = frozenset(item.name for item in fields(Settings)) - {"options"} | {OPTION}


def offered(scene: Scene) -> tuple[str, ...]:
    """Methods that a scene can have; without a tool in a hand, those that can move it."""
    return tuple(
        name
        for name, record in methods.items()
        if (record.steppers or scene.tools) and record.accepts(scene)
    )


def offer(settings: Settings, scene: Scene) -> Offer:
    """The chosen method on the page."""
    record, held = methods[settings.method], bool(scene.tools)
    controls = tuple(record.controls_for(settings.integrator, held))
    options = chosen_options(settings, scene)
    return Offer(
        record.words,
        record.citation,
        () if held else record.steppers,
        controls,
        {control.option: getattr(options, control.option) for control in controls},
        record.factors_for(scene),
    )


def chosen_options(settings: Settings, scene: Scene) -> Any:
    """Options of the method as they are in force."""
    record, _ = methods.resolve(settings.method)
    options = record.with_choices(settings.options, settings.integrator, bool(scene.tools))
    offered_ = {control.option for control in record.controls}
    kept = {name: value for name, value in settings.options.items() if name not in offered_}
    return replace(options, **kept) if kept else options


def changed(settings: Settings, what: str, value: Any) -> Settings:
    """Settings after an order of `CHANGEABLE`."""
    if what == OPTION:
        option, chosen = value
        others = {name: v for name, v in settings.options.items() if name != option}
        default = getattr(methods.resolve(settings.method)[1], option)
        return replace(
            settings, options=others if chosen == default else {**others, option: chosen}
        )
    if what == "method":
        return with_method(settings, value)
    return replace(settings, **{what: value})


class Preferred(NamedTuple):
    """What suits a scene: a method, and options of it that the page does not offer."""

    method: str
    options: Mapping[str, Any]


def for_scene(settings: Settings, preferred: Preferred) -> Settings:
    """Another scene's method; choices made on the page stay, what came with a scene goes."""
    settings = with_method(settings, preferred.method)
    offered_ = {control.option for control in methods.resolve(settings.method)[0].controls}
    chosen = {name: value for name, value in settings.options.items() if name in offered_}
    return replace(settings, options={**preferred.options, **chosen})


def stepper_in_hand(method: str) -> str:
    """The stepper that moves a scene with a hand in it."""
    return methods[method].mover.steppers[0]


def with_method(settings: Settings, method: str) -> Settings:
    """Another method, with its own options, and with a step that it can have."""
    if method == settings.method:
        return settings
    steppers = methods.resolve(method)[0].mover.steppers
    keep = settings.integrator in steppers
    integrator = settings.integrator if keep else steppers[0]
    return replace(settings, method=method, options={}, integrator=integrator)
