"""Orders from the page: what can be meant gets through, nothing else, whatever is sent."""

from __future__ import annotations

import json
from math import inf, isfinite, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangere.contact.method import Control
from tangere.viewer.orders import (
    FARTHEST,
    LONGEST,
    ORDERS,
    Known,
    Order,
    OrderError,
    checked,
    decoded,
    encoded,
)

CONTROLS = (
    Control("rule", "Rule", "", {"exact": "exact", "none": None, "one": 1}),
    Control("share", "Share", "", span=(0.0, 2.0, 0.1)),
    Control("planes", "Planes", "", span=(1, 16, 1)),
)
KNOWN = Known(
    frozenset({"blocks", "heap"}),
    frozenset({"volume", "point"}),
    frozenset({"implicit", "explicit"}),
    {control.option: control for control in CONTROLS},
    bodies=6,
)
GOOD: dict[str, list[tuple[Any, ...]]] = {
    "scene": [("heap",)],
    "method": [("point",)],
    "integrator": [("implicit",), ("explicit",)],
    "option": [(("rule", "exact"),), (["rule", None],), (("share", 2),), (("planes", 3.0),)],
    "reset": [()],
    "pause": [(True,), (False,)],
    "speed": [(0.05,), (1,)],
    "stiffness_factor": [(0.1,), (10,)],
    "damping_factor": [(0,), (3.5,)],
    "friction_factor": [(0.0,), (3.0,)],
    "coupling_stiffness_factor": [(0.1,), (5.0,)],
    "coupling_damping_factor": [(0.0,), (5.0,)],
    "tool_mass_factor": [(0.2,), (5.0,)],
    "clutch": [(True,)],
    "scale": [(0.1,), (10.0,)],
    "record": [(True,), (False,)],
    "replay": [()],
    "push": [(5, [0.0, 1.0, 0.0])],
    "grab": [(0, [0.0, 0.1, 0.2], [1.0, 2.0, 3.0])],
    "drag": [([-1.0, 0.0, 1e3],)],
    "release": [()],
}
BAD: dict[str, list[tuple[Any, ...]]] = {
    "scene": [("/etc/passwd",), (3,), (["heap"],), ()],
    "method": [("signorini",), (None,)],
    "integrator": [("Implicit",), ("signorini",)],
    "option": [
        *((given,) for given in (None, "rule", [], ["rule"], ["rule", "exact", 1], {"rule": 1})),
        *((["rule", chosen],) for chosen in ("Exact", True, 1.0, ["exact"])),
        *((["share", number],) for number in (-0.1, 2.1, nan, inf, "1", True, None)),
        *((["planes", number],) for number in (0, 17, 2.5, -inf)),
        *(([name, 1],) for name in ("algorithm", "__class__", None, ["rule"])),
    ],
    "reset": [(1,)],
    "pause": [(1,), ("true",), (None,)],
    "speed": [(0.0,), (-1.0,), (2.0,), (nan,)],
    "stiffness_factor": [(0.0,), (-1.0,), (1e9,), (inf,), ("1",), (True,)],
    "damping_factor": [(-0.1,), (nan,)],
    "friction_factor": [(-1e-9,), (-inf,)],
    "coupling_stiffness_factor": [(0.0,), (1e12,)],
    "coupling_damping_factor": [(-1.0,)],
    "tool_mass_factor": [(0.0,), (-1.0,)],
    "clutch": [(0,)],
    "scale": [(0.0,), (1e30,)],
    "record": [("/dev/sda",)],
    "replay": [("file",)],
    "push": [(6, [0, 0, 1]), (-1, [0, 0, 1]), (1.0, [0, 0, 1]), (0, [0, 1])],
    "grab": [(0, [0, 0, nan], [0, 0, 0]), (0, [0, 0, 0])],
    "drag": [([2.0 * FARTHEST, 0, 0],), ("abc",), ({"0": 1, "1": 2, "2": 3},)],
    "release": [(0,)],
}
CASES = [(verb, values) for verb, cases in BAD.items() for values in cases]


def test_every_order_has_its_cases() -> None:
    assert set(GOOD) == set(BAD) == set(ORDERS)


def test_options_arrive_as_their_control_has_them() -> None:
    values = [checked("option", given, KNOWN).values[0] for given in GOOD["option"]]
    assert values == [("rule", "exact"), ("rule", None), ("share", 2.0), ("planes", 3)]
    assert [type(value) for _, value in values] == [str, type(None), float, int]


@pytest.mark.parametrize("verb", list(GOOD))
def test_what_can_be_meant_arrives(verb: str) -> None:
    for values in GOOD[verb]:
        order = checked(verb, values, KNOWN)
        again = decoded(encoded(order), KNOWN)
        assert again == order
        assert again.verb == verb


@pytest.mark.parametrize(("verb", "values"), CASES)
def test_what_cannot_be_meant_is_refused_on_both_sides(verb: str, values: tuple[Any, ...]) -> None:
    with pytest.raises(OrderError, match=verb):
        checked(verb, values, KNOWN)
    with pytest.raises(OrderError):
        decoded(json.dumps([verb, values]).encode(), KNOWN)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def harmless(order: Order) -> bool:
    """Only known verbs, and every number finite and bounded."""

    def fine(value: Any) -> bool:
        if isinstance(value, tuple):
            return all(fine(x) for x in value)
        if isinstance(value, float):
            return isfinite(value) and abs(value) <= FARTHEST
        return value is None or isinstance(value, (bool, int, str))

    return order.verb in ORDERS and fine(order.values)


@given(verb=st.sampled_from(sorted(ORDERS)) | json_values, values=json_values)
def test_any_json_is_an_order_or_refused(verb: Any, values: Any) -> None:
    for shape in ([verb, values], [verb, [values]], [verb, [values, values]], verb, values):
        try:
            order = decoded(json.dumps(shape).encode(), KNOWN)
        except OrderError:
            continue
        assert harmless(order)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_order_or_refused(message: bytes) -> None:
    try:
        assert harmless(decoded(message, KNOWN))
    except OrderError:
        pass


@pytest.mark.parametrize(
    "message", [b"[" * LONGEST, b"[" * (LONGEST + 1), b"9" * LONGEST, b'["drag",[[1e999,0,0]]]']
)
def test_long_and_deep_messages_are_refused(message: bytes) -> None:
    with pytest.raises(OrderError):
        decoded(message, KNOWN)
