"""One recorded hand under several methods: choices, measures, runs, report, command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session.test_replay import pressed
from sessions import meta, spring_rows

import tangere as tg
from tangere import cli
from tangere.compare.choices import choices
from tangere.compare.comparison import Comparison, Run, compare
from tangere.compare.hands import PEG_IN_HOLE
from tangere.compare.measures import FORMATION, MEASURES, formations, measured, times_of
from tangere.compare.report import lines_of, show, write
from tangere.contact.method import methods
from tangere.errors import SceneError
from tangere.haptics.layout import ROW_CONTACT, ROW_PLANES
from tangere.session.replay import replay
from tangere.trace.trace import Trace

NOJIT = pytest.mark.nojit


# ---------------------------------------------------------------- choices
@NOJIT
def test_options_are_read_as_their_fields_are() -> None:
    given = choices(
        ["volume", "penalty:stiffness=4000:clusters=4:engine=exact:spacing=none", tg.Signorini()]
    )
    assert [choice.label for choice in given] == [
        "volume",
        "penalty stiffness=4000 clusters=4 engine=exact",
        "signorini",
    ]
    penalty = given[1].options
    assert penalty == tg.Penalty(stiffness=4000.0, clusters=4, engine="exact", spacing=None)
    assert isinstance(penalty.stiffness, float)
    assert choices(["penalty:spacing=0.002"])[0].options.spacing == 0.002
    assert choices([tg.Penalty(stiffness=4000.0)])[0].label == "penalty stiffness=4000"


@NOJIT
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["volum"], "unknown method 'volum'; choose one of: volume"),
        (["penalty:stifness=2"], "has no option 'stifness'; did you mean 'stiffness'"),
        (["penalty:stiffness"], "give the option 'stiffness' a value, as in stiffness="),
        (["penalty:stiffness=-1"], "Penalty stiffness: must be positive"),
        (["penalty:clusters=many"], "clusters"),
        (["volume", "volume"], "'volume' is there twice"),
        ([], "no method to compare"),
    ],
)
def test_choices_that_are_refused(given: list[str], words: str) -> None:
    with pytest.raises(SceneError, match=re.escape(words)) as error:
        choices(given)
    assert "\n" not in str(error.value)


# ---------------------------------------------------------------- measures
class Telling(Trace):
    """One whose number of contacts is that of a formation, too."""

    def __contains__(self, name: object) -> bool:
        return name == FORMATION or super().__contains__(name)

    def __getitem__(self, what: Any) -> Any:
        return super().__getitem__("contact.count" if what == FORMATION else what)


def swinging() -> Trace:
    """A hand that swings by 10 mm at 2 Hz on a spring of 100 N/m, for two periods.

    It touches in the second of each four quarters, one contact first and then two.
    """
    rows = spring_rows(1001)
    quarter = (rows[:, 0] * 8).astype(int)
    rows[:, ROW_PLANES] = np.where(quarter % 4 == 1, 1 + (rows[:, 0] * 16).astype(int) % 2, 0)
    return Telling(rows, meta(formations=["free", "face-vertex"]))


@NOJIT
def test_measures_of_a_spring_are_those_of_its_closed_form() -> None:
    found = measured(swinging())
    omega = 4.0 * math.pi
    assert found["force.peak"] == pytest.approx(1.0, rel=1e-12)
    assert found["force.mean"] == pytest.approx(2.0 / math.pi, rel=2e-3)
    # the steepest tick is the first: k A sin ω dt
    assert found["force.jump"] == pytest.approx(math.sin(omega * 1e-3), rel=1e-4)
    assert found["torque.peak"] == found["torque.jump"] == found["depth.peak"] == 0.0
    # 2 Hz through a filter of eighth order at 50 Hz, and what its ends leave
    assert found["force.ringing"] < 1e-3
    # ½ k A², four times to and fro; the row tells none, the ledger books it
    assert found["energy.generated"] == pytest.approx(0.0, abs=1e-4)
    assert found["contact.begun"] == 2.0
    assert found["contact.most"] == 2.0
    assert found["contact.changes"] == 2 * 3
    assert found["contact.share"] == pytest.approx(0.25, abs=2e-3)
    assert found["formation.changes"] == 2 * 3
    assert found.keys() == {measure.name for measure in MEASURES}


@NOJIT
def test_a_method_that_counts_no_contacts_has_none_to_show() -> None:
    rows = spring_rows(100)
    rows[20:40, ROW_CONTACT] = 1.0  # what presses is told as a force alone
    rows[60:70, ROW_CONTACT + 2] = 1.0
    found = measured(Trace(rows, meta()))
    assert found["contact.share"] == pytest.approx(0.3)
    assert found["contact.begun"] == 2.0
    assert math.isnan(found["contact.most"])
    assert math.isnan(found["contact.changes"])
    still = measured(Trace(spring_rows(100), meta()))
    assert [still[f"contact.{name}"] for name in ("share", "begun", "most", "changes")] == [0.0] * 4


@NOJIT
def test_energy_to_and_fro_is_booked_apart() -> None:
    from tangere.haptics.layout import ROW_OBSERVED

    rows = spring_rows(1001)
    rows[:, ROW_OBSERVED] = 0.5 * 100.0 * rows[:, 1] ** 2  # of the spring, by its closed form
    found = measured(Trace(rows, meta()))
    assert found["energy.given"] == pytest.approx(4 * 0.005, rel=1e-3)
    assert found["energy.taken"] == pytest.approx(4 * 0.005, rel=1e-3)


@NOJIT
def test_formations_have_the_names_that_the_trace_gives_them() -> None:
    found = formations(swinging())
    assert [name for _, name in found] == ["free", "face-vertex", "formation 2"] * 2 + ["free"]
    assert [time for time, _ in found[:3]] == pytest.approx([0.0, 0.125, 0.1875], abs=1.5e-3)
    assert formations(Telling(spring_rows(10), meta())) == []  # without names it tells none
    assert formations(Trace(spring_rows(10), meta())) == []
    assert math.isnan(measured(Trace(spring_rows(100), meta()))["formation.changes"])


@NOJIT
def test_a_rate_too_low_for_ringing_has_none() -> None:
    rows = spring_rows(1000)[::10].copy()
    assert math.isnan(measured(Trace(rows, meta(rate=100.0)))["force.ringing"])


@NOJIT
def test_times_of_updates() -> None:
    updates = np.linspace(1e-6, 101e-6, 101)
    found = times_of(updates, updates + 8e-6, 51e-6, 4)
    assert found == pytest.approx((51e-6, 100e-6, 101e-6, 50 / 101, 2e-6))


# ---------------------------------------------------------------- report
def made_up(**more: Any) -> Comparison:
    """Two runs of a trace that nobody simulated."""
    trace = swinging()
    updates = np.linspace(1e-6, 2e-6, len(trace))
    run = Run(
        label="volume",
        words="Sums <springs>.",
        told="planes",
        trace=trace,
        updates=updates,
        times=times_of(updates, updates, 1e-3, 1),
        measures={"tool": measured(trace)},
        formations={"tool": formations(trace)},
    )
    plain = replace(run, label="volume friction=vertex", formations={})
    return Comparison(
        "some/a b.h5", trace, (run, plain), {"penalty": "knows no <body>"}, 1e-3, **more
    )


@NOJIT
def test_the_report_has_every_number_figure_and_refusal(tmp_path: Path) -> None:
    found = made_up()
    page = write(found, tmp_path / "out").read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "index.html", "felt.png", "formations.png", "formation-graph-1.png", "times.png",
        "wrenches.png",
    }  # fmt: skip
    assert page.count("<svg") == 5
    assert "penalty: knows no &lt;body&gt;" in page
    assert "Sums &lt;springs&gt;." in page
    again = (
        "tangere compare &#x27;some/a b.h5&#x27; --methods volume,volume:friction=vertex,penalty"
    )
    assert again in page
    lines = {line.words: line.cells for line in lines_of(found, "tool")}
    assert lines["force on the hand, peak"] == ("1 N", "1 N")
    assert lines["share of time in contact"] == ("24.98 %", "24.98 %")
    for words in lines:
        assert words in page


@NOJIT
def test_what_nobody_measured_has_no_line(tmp_path: Path) -> None:
    found = made_up()
    bare = {**found.runs[0].measures["tool"], "formation.changes": math.nan}
    runs = tuple(replace(run, measures={"tool": bare}, formations={}) for run in found.runs)
    found = replace(found, runs=runs)
    assert "changes of formation" not in {line.words for line in lines_of(found, "tool")}
    write(found, tmp_path)
    assert not (tmp_path / "formations.png").exists()
    plain = found.as_json()
    assert plain["methods"][0]["tools"]["tool"]["formation.changes"] is None
    json.dumps(plain, allow_nan=False)


@NOJIT
def test_two_hands_have_a_table_and_figures_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = ("left/hand", "right")
    rows = np.hstack([spring_rows(400), spring_rows(400, k=200.0)])
    named = {**meta(), "settings": {tool: meta()["settings"]["tool"] for tool in tools}}
    trace = Trace(rows, named, tools)
    run = replace(
        made_up().runs[0],
        trace=trace,
        measures={tool: measured(trace.of(tool)) for tool in tools},
        formations={},
    )
    found = Comparison("", trace, (run,), {}, 1e-3)
    page = write(found, tmp_path).read_text(encoding="utf-8")
    assert "What left/hand felt" in page
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "felt-1.png", "felt-2.png", "times.png", "wrenches-1.png", "wrenches-2.png",
    }  # fmt: skip
    show(found)
    out = capsys.readouterr().out
    peaks = [line.split()[-2] for line in out.splitlines() if line.startswith("force on the hand")]
    assert peaks == ["1", "2"]
    assert out.count("contact update, median") == 1


# ---------------------------------------------------------------- runs
@dataclass(frozen=True)
class Broken:
    """Options of a method that fails."""


@pytest.fixture
def broken() -> Iterator[str]:
    def tool_side(*_: Any) -> Any:
        raise ZeroDivisionError("by\nzero")

    methods.register(
        replace(methods[methods.default], name="broken", options=Broken, tool_side=tool_side)
    )
    yield "broken"
    methods.unregister("broken")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "pressed.h5"
    pressed().save(path)
    return path


@pytest.mark.compiled
def test_methods_are_replays_side_by_side(recorded: Path, broken: str) -> None:
    told: list[tuple[float, str]] = []
    given = ["volume", "penalty:stiffness=20000", tg.Signorini(), broken]
    found = compare(recorded, given, tell=lambda done, doing: told.append((done, doing)))
    assert [run.label for run in found.runs] == ["volume", "penalty stiffness=20000", "signorini"]
    assert found.refused == {"broken": "ZeroDivisionError: by zero"}
    assert [run.told for run in found.runs] == ["planes", "planes", "problem"]
    assert found.recorded == "volume"
    for run, method in zip(found.runs[::2], ("volume", "signorini"), strict=True):
        assert run.trace.hash() == replay(recorded, method).hash()
    assert found.runs[0].trace.hash() == Trace.load(recorded).hash()
    # a spring of 300 N/m against a block that hardly gives; that of penalty is 0.5 mm larger
    peaks = [run.measures["tool"]["force.peak"] for run in found.runs]
    assert peaks == pytest.approx([peaks[0]] * 3, abs=300.0 * 0.5e-3)
    for run in found.runs:
        assert run.measures["tool"]["contact.begun"] >= 1.0
        assert 0.0 < run.times.p50 <= run.times.p99 <= run.times.worst
        assert len(run.updates) == len(run.trace) == len(found.then)
    done = [share for share, _ in told]
    assert done == sorted(done)
    assert done[-1] <= 1.0
    # the same again, of a trace in memory: everything but the times
    again = compare(found.then, given[:1])
    assert again.source == ""
    assert again.runs[0].trace.hash() == found.runs[0].trace.hash()


@pytest.mark.compiled
def test_a_scene_that_a_method_does_not_take(tmp_path: Path) -> None:
    from tangere.scene.library import build

    scene = build("soft-block")
    session = tg.Session(scene, method="signorini", device=tg.devices.Scripted(lambda _: HOME))
    session.run(0.05, realtime=False).save(tmp_path / "soft.h5")
    found = compare(tmp_path / "soft.h5")
    assert [run.label for run in found.runs] == ["signorini"]
    assert found.refused.keys() == set(methods) - {"signorini"}
    assert "knows no body of kind soft; use one of: signorini" in found.refused["volume"]
    with pytest.raises(SceneError, match="no method takes this scene; volume: "):
        compare(tmp_path / "soft.h5", ["volume"])


HOME = (0.0, 0.0, 0.2)


@NOJIT
def test_a_trace_that_cannot_be_replayed_is_refused_as_a_whole(tmp_path: Path) -> None:
    Trace(spring_rows(3), meta(scene="")).save(tmp_path / "a.h5")
    with pytest.raises(SceneError, match=r"a\.h5: it holds no scene"):
        compare(tmp_path / "a.h5")
    with pytest.raises(SceneError, match="trace: there are no ticks"):
        compare(Trace(spring_rows(0), meta()))


# ---------------------------------------------------------------- command
def run_cli(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, list[str]]]:
    """What the command was asked for; it gets a comparison that nobody ran."""
    from tangere.compare import comparison

    asked: list[tuple[Path, list[str]]] = []

    def fake(trace: Path, methods: list[str], tell: Any) -> Comparison:
        asked.append((trace, methods))
        return made_up()

    monkeypatch.setattr(comparison, "compare", fake)
    return asked


@NOJIT
def test_command(
    told: list[tuple[Path, list[str]]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run_cli("compare", "a.h5", "--methods", "volume, penalty:clusters=4") == 0
    out = capsys.readouterr().out
    assert "force on the hand, peak" in out
    assert "contact update, worst" in out
    assert "penalty refused: knows no <body>" in out
    assert out.endswith("report: comparison/index.html\n")
    assert (tmp_path / "comparison" / "index.html").exists()
    assert run_cli("compare", "a.h5", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["method"] for run in answer["methods"]] == ["volume", "volume friction=vertex"]
    assert answer["refused"] == {"penalty": "knows no <body>"}
    assert told == [(Path("a.h5"), ["volume", " penalty:clusters=4"]), (Path("a.h5"), [])]
    assert run_cli("compare", "a.h5", "--out", str(tmp_path / "here"), "--json") == 0
    assert (tmp_path / "here" / "index.html").exists()


@NOJIT
def test_command_with_something_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert run_cli("compare", "a.h5", "--out", str(tmp_path / "file")) == 2
    assert "is a file: give a folder" in capsys.readouterr().err
    assert run_cli("compare", str(tmp_path / "none.h5"), "--json") == 2
    assert "none.h5: no such trace; check the path" in capsys.readouterr().err
    assert run_cli("compare", "a.h5", "--methods", "magic", "--json") == 2
    assert "unknown method 'magic'; choose one of: volume" in capsys.readouterr().err


# ---------------------------------------------------------------- scripted hands
@pytest.mark.compiled
def test_a_peg_goes_into_its_hole_by_every_method(tmp_path: Path) -> None:
    """400 N/m of the coupling times how far the hand goes further than the peg can."""
    found = compare("peg-in-hole", ["formation", "volume", "penalty", "signorini"])
    assert (found.source, found.recorded) == ("peg-in-hole", "formation")
    assert len(found.runs) == 4
    stops = dict(zip(("flat", "wall", "corner", "jam"), (6, 10, 12, 15), strict=True))
    at = {name: round(1e3 * sum(s.seconds for s in PEG_IN_HOLE[:k])) for name, k in stops.items()}
    for run in found.runs:
        force = np.abs(run.trace["device.force"])
        # formations press from a layer of 1 mm on: the peg is stopped earlier by about half of it
        more = 0.2 if run.label == "formation" else 0.0
        assert force[at["flat"], 2] == pytest.approx(0.8 + more, rel=0.1)
        assert force[at["wall"], 0] == pytest.approx(1.2 + more, rel=0.1)
        assert force[at["corner"], :2] == pytest.approx(1.2 + more, rel=0.2)
        # friction decides by motion that is not late, or it would drive the peg where it is jammed
        assert run.measures["peg"]["force.ringing"] < 5e-3
        tool = run.trace["tool.position"]
        assert tool[:, 2].min() == pytest.approx(0.035, abs=1e-3)
        assert np.abs(tool[at["corner"], :2] - 0.003).max() < 0.8e-3  # the clearance
        assert run.measures["peg"]["energy.least"] > -1e-6
        assert run.trace.meta["faults"] == []
        assert np.array_equal(run.trace["hand.position"], found.then["hand.position"])
    # where nothing overlaps one lower edge is at a wall, and the other side at the rim
    jammed = found.runs[3].trace[at["jam"] : at["jam"] + 1]
    height, q = jammed["tool.position"][0, 2], jammed["tool.orientation"][0]
    tilt = 2.0 * math.acos(q[0])
    edge = height - 0.03 * math.cos(tilt) + 0.015 * math.sin(tilt)
    across = (0.04 - edge) * math.tan(tilt) + 0.03 / math.cos(tilt)
    assert across == pytest.approx(0.036, abs=1e-5)
    assert found.runs[3].measures["peg"]["depth.peak"] < 1e-5
    names = [name for _, name in found.runs[0].formations["peg"]]
    assert names[0] == names[-1] == "free"
    assert {"peg face -z on block face +z", "peg face +x on block wall -x"} < set(names)


@NOJIT
def test_a_name_that_is_neither_a_file_nor_a_scripted_hand() -> None:
    with pytest.raises(SceneError, match="no such trace, nor a scripted hand 'peg'"):
        compare("peg")
