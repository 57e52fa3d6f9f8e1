"""Methods to be compared, in words: `penalty`, or `penalty:stiffness=4000:clusters=4`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, fields
from typing import Any, NamedTuple

from tangere.contact.method import Method, methods
from tangere.errors import SceneError
from tangere.geometry.checks import hint, one_line, show

WORDS = {"true": True, "false": False, "none": None}


class Choice(NamedTuple):
    """A method with its options, and the name that it has among the others."""

    label: str
    record: Method
    options: Any


def choices(given: Iterable[Any]) -> list[Choice]:
    """What was chosen, in its order.

    Args:
        given: Each a name, a name with options as the command line takes them, or options.

    Raises:
        SceneError: A method or an option is not known, or two choices are the same.
    """
    found = [_choice(each) for each in given]
    labels = [choice.label for choice in found]
    for label in labels:
        if labels.count(label) > 1:
            raise SceneError(f"method {show(label)} is there twice: give one of them other options")
    if not found:
        raise SceneError(f"no method to compare; choose among: {', '.join(methods)}")
    return found


def _choice(given: Any) -> Choice:
    record, options = methods.resolve(_with_options(given) if isinstance(given, str) else given)
    changed = [
        f"{each.name}={_word(getattr(options, each.name))}"
        for each in fields(options)
        if getattr(options, each.name) != _default(each, record)
    ]
    return Choice(" ".join([record.name, *changed]), record, options)


def _word(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value).lower()


def _default(field: Field[Any], record: Method) -> Any:
    return getattr(record.options(), field.name)


def _with_options(text: str) -> Any:
    """Options of `NAME:OPTION=VALUE:…`."""
    name, *settings = text.strip().split(":")
    record, default = methods.resolve(name)
    known = [each.name for each in fields(record.options)]
    chosen = {}
    for setting in settings:
        option, equals, value = (part.strip() for part in setting.partition("="))
        if option not in known:
            raise SceneError(f"method {name!r} has no option {show(option)}{hint(option, known)}")
        if not equals:
            raise SceneError(f"{text!r}: give the option {option!r} a value, as in {option}=…")
        chosen[option] = _value(value, getattr(default, option))
    try:
        return record.options(**chosen)
    except TypeError as error:  # a word where its checks compare numbers
        raise SceneError(f"{text!r}: {one_line(error)}") from None


def _value(text: str, default: Any) -> Any:
    """A value as the option takes it: a number, yes or no, none, or a word."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if isinstance(default, str):
        return text
    for kind in (int, float):
        try:
            number: float = kind(text)
        except ValueError:
            continue
        return float(number) if isinstance(default, float) else number
    return text
