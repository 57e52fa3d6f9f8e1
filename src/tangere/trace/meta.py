"""What a trace says of its session: whatever anything relies on is there in the right kind."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from tangere.errors import SceneError
from tangere.geometry.checks import show
from tangere.trace.columns import setting_places

LARGEST = 1e300  # a whole number of JSON may have more digits than a float has room for


def parsed(text: str, where: str, what: str = "meta data") -> dict[str, Any]:
    """A table out of JSON.

    Raises:
        SceneError: It is something else.
    """
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SceneError(
            f"{where}: its {what} is not JSON ({show(str(error))}); the file is damaged"
        ) from None
    if not isinstance(table, dict):
        raise SceneError(f"{where}: its {what} is no table but {show(table)}; the file is damaged")
    return table


def checked(meta: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The same meta data, if every key has the kind that it must have.

    Keys may be missing, all but `tools`, and there may be others.

    Args:
        meta: Of a trace.
        where: The file, or whatever else an error shall name.

    Raises:
        SceneError: One has not, in one line.
    """
    for key, (fits, words) in RULES.items():
        if key in meta and not fits(meta[key]):
            raise SceneError(
                f"{where}: its {key!r} is {show(meta[key])}, not {words}; give a trace that "
                "tangere has made"
            )
    if "tools" not in meta:
        raise SceneError(f"{where}: it names no tools; give a trace that tangere has made")
    known = setting_places()
    for tool, named in meta.get("settings", {}).items():
        for name, value in named.items():
            start, after = known.get(name, (0, 0))
            if name in known and (after - start) != (len(value) if _list(value) else 1):
                raise SceneError(
                    f"{where}: its setting {show(name)} of {show(tool)} is {show(value)}, where "
                    f"{after - start} numbers are needed; give a trace that tangere has made"
                )
    return dict(meta)


# ------------------------------------------------------------------------------------- kinds


def _list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not isinstance(value, int) or abs(value) < LARGEST


def _whole(value: Any) -> bool:
    return _number(value) and isinstance(value, int) and value >= 0


def _rate(value: Any) -> bool:
    return _number(value) and math.isfinite(value) and 1.0 / LARGEST < value < LARGEST


def _each(value: Any, fits: Callable[[Any], bool]) -> bool:
    return _list(value) and all(fits(each) for each in value)


def _table(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(_text(key) and fits(each) for key, each in value.items())


def _tools(value: Any) -> bool:
    return _each(value, _text) and len(value) == len(set(value)) > 0 and "" not in value


def _setting(value: Any) -> bool:
    return _number(value) or _each(value, _number)


def _rig(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    memory = value.get("memory")
    return _table(memory, _setting) or _each(memory, _number)  # the latter in files of format 1


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tools": (_tools, "a list of different names"),
    "rate": (_rate, "a finite number above zero"),
    "period": (lambda value: _whole(value) and value > 0, "a whole number above zero"),
    "latency": (_whole, "a whole number"),
    "settings": (
        lambda value: _table(value, lambda named: _table(named, _setting)),
        "a table of numbers for each tool",
    ),
    "rigs": (lambda value: _each(value, _rig), "a list with the memory of each hand"),
    "formations": (lambda value: _each(value, _text), "a list of names"),
    "columns": (
        lambda value: _table(value, lambda names: _each(names, _text)),
        "a list of names for each tool",
    ),
    "options": (lambda value: _table(value, _text), "a table of texts"),
    "method": (lambda value: _text(value) or _table(value, lambda _: True), "a name or a table"),
    "scene": (_text, "a text"),
    "folder": (_text, "a text"),
    "clock": (_text, "a text"),
    "end": (_text, "a text"),
}
