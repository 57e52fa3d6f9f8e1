"""The command line: output, exit status, and errors of one line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from tangere import cli
from tangere.contact.method import methods
from tangere.errors import SceneError
from tangere.experiments import registry
from tangere.experiments.experiment import Claim, Experiment, Reading, Tell
from tangere.experiments.figures import canvas

Run = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True)
class Params:
    """Parameters of the made-up experiments."""

    gravity: float = 9.8


@dataclass(frozen=True)
class Measured(Params):
    """Parameters of one that needs measurements."""

    data: str = ""


def made_up(name: str, holds: bool) -> Experiment[Params, float]:
    """An experiment of one claim."""

    def run(params: Params, tell: Tell) -> float:
        tell(0.5, "half [way]")
        return 2.0 * params.gravity

    def check(result: float) -> list[Claim]:
        return [Claim("twice", "twice [g]", "19.6", result, "m/s²", holds)]

    def drawn(caption: str) -> Figure:
        return canvas(caption)[0]

    return Experiment(
        name=name,
        paper="Nobody 2000",
        summary="a made-up experiment",
        params=Params(),
        quick=Params(),
        run=run,
        check=check,
        plot=lambda _: [drawn("A figure.")],
        pictures=lambda _: drawn("Pictures."),
        beside=lambda _: [Reading("speed", "other", 1.0, "m/s")],
    )


@pytest.fixture
def tangere(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: exit status, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        told = capsys.readouterr()
        code = stop.value.code
        return (code if isinstance(code, int) else 0), told.out, told.err

    return run


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Two quick experiments in place of the real ones, in an empty folder."""
    known = {"good": made_up("good", True), "poor": made_up("poor", False)}
    monkeypatch.setattr(registry, "EXPERIMENTS", known)
    monkeypatch.chdir(tmp_path)
    return known


def one_line(text: str) -> str:
    """The text, which must be one line of the program."""
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("tangere: ")
    return lines[0]


def test_version_and_help(tangere: Run) -> None:
    code, out, _ = tangere("--version")
    assert code == 0
    assert re.fullmatch(r"tangere \d+\.\d+\.\d+\S*\n", out)
    code, out, _ = tangere()
    assert code == 0
    for verb in ("play", "scenes", "methods", "prepare", "reproduce", "bench", "doctor"):
        assert verb in out


def test_the_installed_command_is_this_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tangere.cli", "reproduce", "blocktower"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean 'block-tower'?" in one_line(done.stderr)


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("scenes", "--nonsense"), ("doctor", "--seconds", "soon")]
)
def test_a_command_that_is_not_understood(tangere: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = tangere(*arguments)
    assert code == 2
    assert out == ""
    assert "tangere --help" in one_line(err)


def test_methods_are_listed_as_their_records_say(
    tangere: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    code, out, _ = tangere("methods")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert list(lines) == list(methods)
    for name, record in methods.items():
        said = (record.words, record.citation, *record.steppers, *record.bodies, *record.parts)
        assert all(words in lines[name] for words in said)


@pytest.fixture
def other() -> Iterator[str]:
    """A method of another package."""
    methods.register(replace(methods[methods.default], name="other", options=Params))
    yield "other"
    methods.unregister("other")


@pytest.mark.parametrize("verb", ["play", "replay"])
def test_help_names_every_method(tangere: Run, verb: str, other: str) -> None:
    code, out, _ = tangere(verb, "--help")
    assert code == 0
    assert ", ".join(methods) in " ".join(out.split())
    assert other in out


def test_an_unknown_method_is_told_which_there_are(tangere: Run, other: str) -> None:
    code, _, err = tangere("play", "pyramid", "--method", "magic", "--headless")
    assert code == 2
    assert ", ".join(methods) in one_line(err)


def test_scenes_lists_the_library(tangere: Run) -> None:
    from tangere.scene.library import SCENES

    code, out, _ = tangere("scenes")
    assert code == 0
    lines = [line for line in out.splitlines() if line.strip()]
    assert len(lines) == len(SCENES)
    for line, (name, entry) in zip(lines, SCENES.items(), strict=True):
        assert line.split() == [name, *entry.description.split()]


@pytest.mark.usefixtures("experiments")
def test_json_of_one_experiment_is_one_object(tangere: Run, tmp_path: Path) -> None:
    code, out, _ = tangere("reproduce", "good", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer.pop("seconds") >= 0.0
    assert answer == {
        "name": "good",
        "paper": "Nobody 2000",
        "claims": [
            {
                "id": "twice",
                "text": "twice [g]",
                "paper": "19.6",
                "measured": 19.6,
                "unit": "m/s²",
                "pass": True,
                "verdict": "holds",
                "calibrated": "",
            }
        ],
        "parameters": {"gravity": 9.8},
    }
    assert list(tmp_path.iterdir()) == [], "no report unless asked for"


@pytest.mark.usefixtures("experiments")
def test_json_of_several_is_a_list_and_a_failed_claim_is_status_one(
    tangere: Run, tmp_path: Path
) -> None:
    code, out, _ = tangere("reproduce", "all", "--json", "--out", str(tmp_path / "here"))
    assert code == 1
    assert [answer["name"] for answer in json.loads(out)] == ["good", "poor"]
    assert (tmp_path / "here" / "index.html").exists()


@pytest.mark.usefixtures("experiments")
def test_tables_and_a_report_for_people(tangere: Run, tmp_path: Path) -> None:
    code, out, _ = tangere("reproduce")
    assert code == 1
    assert "twice [g]" in out
    assert out.count("holds") == 1
    assert out.count("fails") == 1
    assert "shown, not judged" in out
    assert "report/index.html" in out
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "1 of 2 claims hold" in page


@pytest.mark.usefixtures("experiments")
def test_an_unknown_experiment_and_an_out_that_is_a_file(tangere: Run, tmp_path: Path) -> None:
    code, out, err = tangere("reproduce", "goood", "--json")
    assert (code, out) == (2, "")
    assert "unknown experiment 'goood': did you mean 'good'?" in one_line(err)
    (tmp_path / "file").write_text("x")
    code, _, err = tangere("reproduce", "good", "--out", "file")
    assert code == 2
    assert "is a file: give a folder" in one_line(err)


@pytest.mark.parametrize(("broken", "status"), [(False, 3), (True, 1)])
def test_an_experiment_without_its_data_is_told_by_all_and_refused_by_name(
    tangere: Run, experiments: dict[str, Any], tmp_path: Path, broken: bool, status: int
) -> None:
    """All that was run holds, or not: in neither case is that a success."""
    if not broken:
        del experiments["poor"]
    experiments["far"] = replace(made_up("far", True), missing=lambda _: "far needs <a file>")
    code, out, err = tangere("reproduce", "all", "--json")
    assert code == status
    *run, far = json.loads(out)
    assert [answer["name"] for answer in run] == ["good", "poor"][: 1 + broken]
    assert not any("not_run" in answer for answer in run)
    assert far == {"name": "far", "claims": [], "not_run": "far needs <a file>"}
    assert one_line(err) == "tangere: not run: far needs <a file>"
    code, out, _ = tangere("reproduce", "--out", str(tmp_path))
    assert code == status
    assert out.splitlines()[-1] == "1 not run: far needs <a file>"
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Not run: far needs &lt;a file&gt;." in page
    assert re.search(r"tangere reproduce good( poor)? far<", page)
    code, out, err = tangere("reproduce", "far", "--json")
    assert (code, out) == (2, "")
    assert one_line(err) == "tangere: far needs <a file>"


@pytest.mark.parametrize("by_variable", [False, True])
def test_the_folder_of_measurements_reaches_the_experiment(
    tangere: Run,
    experiments: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    by_variable: bool,
) -> None:
    seen: list[Params] = []

    def nothing_missing(params: Params) -> str:
        seen.append(params)
        return ""

    experiments["here"] = replace(made_up("here", True), params=Measured(), missing=nothing_missing)
    if by_variable:
        monkeypatch.setenv("TANGERE_DATA", "there")
    given = () if by_variable else ("--data", "there")
    code, out, _ = tangere("reproduce", "here", "--json", *given)
    assert code == 0
    assert json.loads(out)["parameters"] == {"gravity": 9.8, "data": "there"}
    assert seen == [Measured(data="there")]


def test_play_hands_over_what_was_asked(tangere: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.viewer import app

    calls: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(app, "play", lambda scene, **options: calls.append((scene, options)))
    assert (
        tangere("play", "--seconds", "2", "--headless", "--port", "9000", "--dt", "0.002")[0] == 0
    )
    assert tangere("play", "heap", "--method", "point", "--integrator", "explicit")[0] == 0
    assert calls[0] == (
        "blocks",
        {
            "method": None,
            "integrator": None,
            "device": "browser",
            "rate": 1000.0,
            "seconds": 2.0,
            "record": None,
            "headless": True,
            "port": 9000,
            "dt": 0.002,
            "process": True,
            "reconnect": False,
            "scale": 1.0,
            "shell": None,
        },
    )
    assert calls[1][0] == "heap"
    assert calls[1][1]["method"] == "point"
    assert calls[1][1]["integrator"] == "explicit"
    given = ("--device", "haply", "--device", "spacemouse", "--rate", "500", "--record", "a.h5")
    assert tangere("play", "two-hands", *given, "--no-process", "--reconnect")[0] == 0
    assert calls[2][1]["process"] is False
    assert calls[2][1]["reconnect"] is True
    assert calls[2][1]["device"] == ["haply", "spacemouse"]
    assert calls[2][1]["rate"] == 500.0
    assert calls[2][1]["record"] == Path("a.h5")
    assert tangere("play", "part.stl", "--scale", "0.001", "--shell", "0.002")[0] == 0
    assert (calls[3][1]["scale"], calls[3][1]["shell"]) == (0.001, 0.002)


def test_play_of_an_unknown_scene_suggests_one(tangere: Run) -> None:
    code, _, err = tangere("play", "blokcs", "--headless", "--seconds", "0.01")
    assert code == 2
    assert "did you mean" in one_line(err)
    assert "blocks" in err


def test_play_of_a_mesh_file_says_what_was_repaired(tangere: Run, tmp_path: Path) -> None:
    import trimesh

    solid = trimesh.creation.annulus(20.0, 50.0, 20.0)
    file = tmp_path / "part.stl"
    trimesh.Trimesh(solid.vertices, solid.faces[:-1], process=False).export(file)
    given = ("--scale", "0.001", "--headless", "--seconds", "0.05")
    code, out, err = tangere("play", str(file), *given)
    assert code == 0
    assert "part.stl, method penalty" in out
    assert "simulated 0.05 s" in out
    assert not err  # the line goes to the logger
    code, _, err = tangere("play", str(tmp_path / "none.stl"), *given)
    assert code == 2
    assert "none.stl: no such mesh file" in one_line(err)
    file.write_bytes(b"solid nothing")
    code, _, err = tangere("play", str(file), *given)
    assert code == 2
    assert "holds no triangles" in one_line(err)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("fixed = [0, 1]", "soft body 'jelly' fixed: 2 held points on one line still let"),
        ("modes = 0, memory = 100", "soft body 'jelly' memory: 4 contact nodes need"),
    ],
)
def test_play_names_the_soft_body_that_it_refuses(
    tangere: Run, tmp_path: Path, keys: str, words: str
) -> None:
    file = tmp_path / "jelly.toml"
    file.write_text(f"""
        [[bodies]]
        name = "jelly"
        elastic = {{young = 1e5, poisson = 0.4, order = 1, {keys}}}
        [bodies.shape]
        kind = "tetmesh"
        vertices = [[0,0,0], [1,0,0], [0,1,0], [0,0,1]]
        tetrahedra = [[0, 1, 2, 3]]
    """)
    code, out, err = tangere(
        "play", str(file), "--headless", "--seconds", "0.01", "--method", "signorini"
    )
    assert (code, out) == (2, "")
    assert words in one_line(err)


@pytest.mark.parametrize("scene", ["blocks", "pyramid"])
@pytest.mark.parametrize(
    ("devices", "words"),
    [(["nosuch"], "no device 'nosuch'"), (["hand"] * 3, "3 devices for")],
)
def test_play_refuses_devices_also_where_it_opens_none(
    tangere: Run, scene: str, devices: list[str], words: str
) -> None:
    given = [word for name in devices for word in ("--device", name)]
    code, out, err = tangere("play", scene, "--headless", "--seconds", "0.01", *given)
    assert (code, out) == (2, "")
    assert words in one_line(err)


def test_bench_hands_over_what_was_asked(tangere: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere import bench

    calls: list[tuple[list[str], dict[str, object]]] = []
    monkeypatch.setattr(bench, "run", lambda names, **options: calls.append((names, options)))
    assert tangere("bench", "gjk", "--json", "--rounds", "3")[0] == 0
    assert tangere("bench", "heap", "--stages")[0] == 0
    assert calls == [
        (["gjk"], {"as_json": True, "rounds": 3, "stages": False, "against": None}),
        (["heap"], {"as_json": False, "rounds": None, "stages": True, "against": None}),
    ]


def test_doctor_shows_a_histogram_and_advice(tangere: Run) -> None:
    code, out, _ = tangere("doctor", "--seconds", "0.05")
    assert code == 0
    for words in ("processor", "numba", "1000 Hz", "session", "p99.9", "≤ 1 ms", "advice"):
        assert words in out


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            SceneError("body 'a': mass 0; give a\npositive one"),
            "body 'a': mass 0; give a positive one",
        ),
        (FileNotFoundError(2, "No such file or directory", "x.toml"), "x.toml: No such file"),
        (RuntimeError("broken"), "RuntimeError: broken (tangere --debug shows where)"),
    ],
)
def test_errors_are_one_line_and_a_traceback_only_with_debug(
    tangere: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    from tangere.viewer import app

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app, "play", fail)
    code, _, err = tangere("play")
    assert code == 2
    assert words in one_line(err)
    with pytest.raises(type(error)):
        cli.main(["play", "--debug"])


def test_control_c_is_not_an_error(tangere: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.viewer import app

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "play", stop)
    code, _, err = tangere("play")
    assert code == 130
    assert one_line(err) == "tangere: stopped"


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_are_met_like_control_c(
    tangere: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    from tangere.viewer import app

    put_away = []

    def stop(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10.0)
            pytest.fail("the signal did nothing")
        finally:
            os.kill(os.getpid(), number)  # again, while things are put away
            put_away.append(number)

    monkeypatch.setattr(app, "play", stop)

    def not_met(*_: object) -> None:
        raise AssertionError("the signal is not met")

    before = signal.signal(number, not_met)
    try:
        code, _, err = tangere("play", "--debug")
        assert signal.getsignal(number) is not_met, "as it was found"
    finally:
        signal.signal(number, before)
    assert code == 128 + number
    assert one_line(err) == "tangere: stopped"
    assert put_away == [number]


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_what_nohup_ignores_stays_ignored(tangere: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from tangere.viewer import app

    seen = []
    monkeypatch.setattr(app, "play", lambda *_, **__: seen.append(signal.getsignal(signal.SIGHUP)))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert tangere("play")[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [signal.SIG_IGN]
