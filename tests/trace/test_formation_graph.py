"""The graph of contact formations of a run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tangere.experiments.figures import svg as figure_svg
from tangere.haptics.layout import NROW, ROW_FORMATION, ROW_TIME
from tangere.trace.columns import places_of
from tangere.trace.formation_graph import Visits, draw, graph_of, svg
from tangere.trace.rows import MemoryRows
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit

NAMES = ("free", "edge on <face>", "face on face")
NUMBERS = [0] * 5 + [1] * 3 + [2] * 4 + [1] * 2 + [2] * 6


def trace_of(numbers: list[int], names: tuple[str, ...]) -> Trace:
    rows = np.zeros((len(numbers), NROW))
    rows[:, ROW_TIME] = 1e-3 * np.arange(len(numbers))
    rows[:, ROW_FORMATION] = numbers
    meta = {"rate": 1000.0, "tools": ["tool"], "formations": list(names)}
    return Trace(MemoryRows(rows, places_of(["tool"])), meta if names else {}, ["tool"])


def test_visits_and_changes_are_counted() -> None:
    visits = Visits(1e-3)
    assert visits.graph(NAMES) is None
    for number in NUMBERS:
        visits.take(number)
    graph = visits.graph(NAMES)
    assert graph is not None
    assert graph.names == NAMES
    assert graph.seconds == pytest.approx((0.005, 0.005, 0.010))
    assert graph.links == ((0, 1, 1), (1, 2, 2), (2, 1, 1))
    assert graph.now == 2


def test_a_trace_gives_the_same_graph() -> None:
    visits = Visits(1e-3)
    for number in NUMBERS:
        visits.take(number)
    trace = trace_of(NUMBERS, NAMES)
    assert trace["contact.formation"].tolist() == NUMBERS
    assert graph_of(trace) == visits.graph(NAMES)
    assert graph_of(trace_of(NUMBERS, ())) is None


def test_a_number_without_a_name_is_told_as_such() -> None:
    visits = Visits(1e-3)
    visits.take(7)
    graph = visits.graph(NAMES)
    assert graph is not None
    assert graph.names == ("formation 7",)


def test_it_is_drawn_for_a_report_and_for_a_page() -> None:
    graph = graph_of(trace_of(NUMBERS, NAMES))
    assert graph is not None
    figure = draw(graph)
    assert len(str(figure.get_label())) > 40
    assert figure_svg(figure).startswith("<svg")
    page = svg(graph)
    assert page.count("<circle") == 3
    assert page.count("<path d=") == 4  # three links and the tip of their arrows
    assert "edge on &lt;face&gt;" in page
    assert not re.search(r"nan|inf", page)
    alone = graph_of(trace_of([0], NAMES))
    assert alone is not None
    assert svg(alone).count("<circle") == 1


def test_a_plot_of_the_trace_has_a_row_for_each_formation() -> None:
    figure = trace_of(NUMBERS, NAMES).plot()
    panel = figure.axes[-1]
    assert [label.get_text() for label in panel.get_yticklabels()] == list(NAMES)
    assert len(panel.collections) == 5
    assert panel.get_xlabel() == "time [s]"
    plain = trace_of(NUMBERS, ()).plot()
    assert len(plain.axes) == len(figure.axes) - 1
