"""Replay: the scene out of the trace, the hand as it was, and a word when something is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
from sessions import meta, settings, spring_rows

import tangere as tg
from tangere import cli
from tangere._jit import JIT_DISABLED
from tangere.errors import SceneError
from tangere.haptics.layout import (
    MEM_OBSERVED,
    MEM_POSE,
    NMEM,
    NSET,
    ROW_DEVICE,
    ROW_HAND,
    SET_CAP,
    SET_GRIP,
    SET_RAMP,
    new_rig,
)
from tangere.scene.files import scene_text
from tangere.session.replay import hand_of, replay, scene_of, without_gaps
from tangere.trace.columns import (
    memory_places,
    named_memory,
    named_settings,
    put_memory,
    put_settings,
    setting_places,
)
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit
COMPILED = pytest.mark.skipif(JIT_DISABLED, reason="two of these are enough in plain Python")


FORMAT1 = Path(__file__).resolve().parents[1] / "trace" / "format1.h5"


def told(*tools: str, **more: Any) -> dict[str, Any]:
    """Meta data with a scene that has these tools."""
    scene = tg.Scene()
    for tool in tools or ("tool",):
        scene.add_tool(tg.Box((0.02, 0.02, 0.1)), mass=0.05, name=tool)
    return meta(**{"scene": scene_text(scene, Path.cwd()), **more})


class FakePlayback:
    """Holds what it is given."""

    def __init__(self, trace: Trace, *, tool: str = "") -> None:
        self.trace, self.tool = trace, tool


class FakeSession:
    """Gives back the rows of the hand that it is given; the last one made is kept."""

    made: FakeSession

    def __init__(self, scene: tg.Scene, **options: Any) -> None:
        self.scene, self.options = scene, options
        self.rigs = [new_rig() for _ in scene.tools]
        FakeSession.made = self

    def run(self, seconds: float, realtime: bool) -> Trace:
        assert not realtime
        device = self.options["device"]
        hand = (device[0] if isinstance(device, list) else device).trace
        assert round(seconds * self.options["rate"]) == len(hand)
        known = {**meta(), "method": self.options["method"], "scene": "as seen from elsewhere"}
        return Trace(hand.rows, known, hand.tools)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeSession]:
    for name, member in (
        ("tangere.session.session", FakeSession),
        ("tangere.devices.simulated", FakePlayback),
    ):
        module = ModuleType(name)
        setattr(module, member.__name__.removeprefix("Fake"), member)
        monkeypatch.setitem(sys.modules, name, module)
    return FakeSession


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    Trace(spring_rows(50), told()).save(tmp_path / "a.h5")
    return tmp_path / "a.h5"


def test_scene_and_settings_come_out_of_the_trace(fake: type[FakeSession], recorded: Path) -> None:
    now = replay(recorded)
    made = fake.made
    assert made.scene.gravity.tolist() == [0.0, 0.0, -9.81]
    assert {k: made.options[k] for k in ("method", "rate", "contact_rate", "latency")} == {
        "method": "volume",
        "rate": 1000.0,
        "contact_rate": 1000.0,
        "latency": 0,
    }
    assert now.hash() == Trace.load(recorded).hash()
    assert replay(recorded, "point").meta["method"] == "point"


def test_two_hands_get_a_device_each(fake: type[FakeSession], tmp_path: Path) -> None:
    rows = np.hstack([spring_rows(20), spring_rows(20)])
    Trace(rows, told("left", "right"), ("left", "right")).save(tmp_path / "a.h5")
    replay(tmp_path / "a.h5")
    assert [device.tool for device in fake.made.options["device"]] == ["left", "right"]


def test_missed_ticks_hold_the_last_reading() -> None:
    rows = spring_rows(100)
    kept = [n for n in range(100) if n not in (10, 11, 50)]
    whole = without_gaps(Trace(rows[kept], meta()))
    assert len(whole) == 100
    assert whole.time == pytest.approx(rows[:, 0], abs=1e-12)
    x = whole["hand.position"][:, 0]
    assert x[10] == x[11] == rows[9, ROW_HAND]
    assert x[50] == rows[49, ROW_HAND]
    assert x[kept].tolist() == rows[kept, ROW_HAND].tolist()
    trace = Trace(rows, meta())
    assert without_gaps(trace) is trace


def test_meshes_are_found_where_they_were(tmp_path: Path) -> None:
    cube = tg.Box((1, 1, 1)).surface()
    (tmp_path / "cube.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in cube[0])
        + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in cube[1])
    )
    scene = tg.Scene()
    scene.add_tool(tg.load(tmp_path / "cube.obj"), mass=1.0, name="cube")
    there = meta(scene=scene_text(scene, tmp_path), folder=str(tmp_path))
    assert 'file = "cube.obj"' in there["scene"]
    assert scene_of(Trace(spring_rows(3), there, ["cube"])).bodies[0].name == "cube"


def refused(path: Path) -> str:
    with pytest.raises(SceneError) as error:
        replay(path)
    text = str(error.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def test_what_is_missing_is_told(fake: type[FakeSession], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    for rows, known, words in (
        (spring_rows(0), told(), "no ticks"),
        (spring_rows(3), told(scene=""), "no scene"),
        (spring_rows(3), told(scene="gravity = up"), "scene: not valid TOML"),
        (spring_rows(3), told("other"), "the tools ('other',), its columns those of ('tool',)"),
        (spring_rows(3), {"rate": 1000.0}, "which method"),
        (spring_rows(3), told(settings={"tool": {"softness": 1.0}}), "unknown setting 'softness'"),
        (spring_rows(3), told(rigs=[{"memory": {"mood": 1.0}}]), "unknown memory 'mood'"),
        (spring_rows(3), told(rigs=[{"memory": {"pose": [1.0]}}]), "1 numbers where 7 are needed"),
        (spring_rows(3)[::-1], told(), "times do not count ticks"),
    ):
        Trace(rows, known).save(path)
        assert words in refused(path)


def test_options_of_another_version_are_refused(tmp_path: Path) -> None:
    Trace(spring_rows(3), told(options={"mood": "good"})).save(tmp_path / "a.h5")
    assert "its method or options are not known" in refused(tmp_path / "a.h5")


def test_traces_of_other_columns_are_refused(fake: type[FakeSession], recorded: Path) -> None:
    replay(recorded)
    for version, words in ((1, "with an older tangere"), (3, "update tangere")):
        with h5py.File(recorded, "r+") as file:
            file.attrs["layout"] = version
        assert f"of version {version}, those known here of 2; " in refused(recorded)
        assert refused(recorded).endswith(words)
    with h5py.File(recorded, "r+") as file:
        file.attrs["layout"] = 2
        data = file["columns"].pop("device.velocity")
        del data
    assert "lacks the column 'tool.device.velocity'" in refused(recorded)
    with h5py.File(recorded, "r+") as file:
        file["columns"].move("hand.velocity", "device.velocity")
        now = file["columns"]["device.velocity"]
        now.attrs["column"], now.attrs["width"] = "device.velocity", 2
    assert "has 2 numbers per tick, not 3" in refused(recorded)


def test_columns_that_a_hand_does_not_need_may_be_missing(
    fake: type[FakeSession], recorded: Path
) -> None:
    """A recording of a version before some columns were added."""
    with h5py.File(recorded, "r+") as file:
        del file["columns"]["device.sample_age"]
        del file["columns"]["effect.torque"]
    then = Trace.load(recorded)
    assert "device.sample_age" not in then
    assert len(replay(recorded)) == 50


def test_a_trace_of_the_first_format_is_refused(fake: type[FakeSession]) -> None:
    """Its settings and the memory of its hand had other meanings."""
    assert "its columns are of version 1" in refused(FORMAT1)


def test_settings_and_memory_are_matched_by_name(fake: type[FakeSession], tmp_path: Path) -> None:
    named = {**settings((0.1, 0.2, 0.3)), "ramp": 0.125}
    del named["cap"]  # as if it were new
    pose = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0]
    known = told(settings={"tool": named}, rigs=[{"memory": {"observed": 0.5, "pose": pose}}])
    Trace(spring_rows(3), known).save(tmp_path / "a.h5")
    replay(tmp_path / "a.h5")
    (rig,) = fake.made.rigs
    assert rig.settings[SET_GRIP : SET_GRIP + 3].tolist() == [0.1, 0.2, 0.3]
    assert rig.settings[SET_RAMP] == 0.125
    assert rig.settings[SET_CAP] == new_rig().settings[SET_CAP] == np.inf
    assert rig.memory[MEM_OBSERVED] == 0.5
    assert rig.memory[MEM_POSE : MEM_POSE + 7].tolist() == pose


def test_names_of_settings_and_memory_have_an_inverse() -> None:
    """Every number comes back, at its own place; JSON keeps every bit of it."""
    for size, places, named, put in (
        (NSET, setting_places(), named_settings, put_settings),
        (NMEM, memory_places(), named_memory, put_memory),
    ):
        end = max(after for _, after in places.values())
        numbers, back = np.zeros(size), np.zeros(size)
        numbers[:end] = np.random.default_rng(5).normal(size=end)
        put(json.loads(json.dumps(named(numbers))), back)
        assert np.array_equal(back, numbers)
        taken = sorted(places.values())
        assert [start for start, _ in taken[1:]] == [after for _, after in taken[:-1]]


def test_the_hand_of_a_trace_with_gaps_has_every_tick() -> None:
    rows = spring_rows(100)[[0, 1, 2, 50, 99]]
    assert len(hand_of(Trace(rows, meta()))) == 100


def run_cli(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)


def test_command(
    fake: type[FakeSession], recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = recorded.with_name("b.h5")
    assert run_cli("replay", str(recorded), "--record", str(copy), "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["same"] is True
    assert answer["hash"] == answer["recorded_hash"] == Trace.load(copy).hash()
    assert answer["summary"]["ticks"] == 50
    assert run_cli("replay", str(recorded), "--method", "point") == 0
    told = capsys.readouterr().out
    assert "50 ticks at 1000 Hz" in told
    assert f"recorded: {answer['hash']}" in told
    assert run_cli("replay", str(recorded.with_name("none.h5"))) == 2
    assert capsys.readouterr().err.endswith("none.h5: no such trace; check the path\n")


def pressed(**options: Any) -> Trace:
    """A rod is lowered onto a block, 17 mm further than its end can go; on the virtual clock."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box((0.1, 0.1, 0.1)), mass=0.5, position=(0, 0, 0.05), name="block")
    scene.add_tool(tg.Box((0.02, 0.02, 0.1)), mass=0.05, position=(0.02, 0, 0.19))

    def hand(t: float) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
        return (0.02, 0.0, 0.19 - 0.15 * t), (1.0, 0.0, 0.0, 0.0)

    options = {"method": "volume", "device": tg.devices.Scripted(hand), **options}
    trace = tg.Session(scene, rate=1000, **options).run(seconds=0.38, realtime=False)
    touching = trace["contact.count"] > 0
    assert not touching[:200].any(), "it starts free"
    assert touching[-50:].all()
    assert trace["device.force"][-1, 2] > 0.4, "and is felt"
    return trace


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="volume"),
        pytest.param({"method": "point"}, id="point", marks=COMPILED),
        pytest.param({"contact_rate": 250.0, "latency": 1}, id="late"),
        pytest.param({"contact": "linear", "tool_step": "rk4"}, id="linear", marks=COMPILED),
        pytest.param({"safety": tg.Safety(force=0.5)}, id="limited", marks=COMPILED),
    ],
)
def test_a_real_session_comes_out_the_same(tmp_path: Path, options: dict[str, Any]) -> None:
    """Record → replay on the virtual clock: the same rows, the same SHA-256."""
    trace = pressed(**options)
    trace.save(tmp_path / "a.h5")
    again = replay(tmp_path / "a.h5")
    assert np.array_equal(again["tool.position"], trace["tool.position"])
    assert again.hash() == trace.hash()


@COMPILED
def test_another_method_or_another_hand_gives_another_hash(tmp_path: Path) -> None:
    trace = pressed()
    trace.save(tmp_path / "a.h5")
    other = replay(tmp_path / "a.h5", "point")
    assert other.hash() != trace.hash()
    assert not np.array_equal(other["tool.position"], trace["tool.position"])
    rows = trace.rows.copy()
    rows[200, ROW_DEVICE + 2] += 1e-6
    Trace(rows, trace.meta, trace.tools).save(tmp_path / "b.h5")
    assert replay(tmp_path / "b.h5").hash() != trace.hash()


@COMPILED
def test_a_method_that_tells_the_servo_something_else_is_felt(tmp_path: Path) -> None:
    """Recorded with planes, again with the contact problem, and the other way round."""
    trace = pressed()
    for first, second in (("volume", "signorini"), ("signorini", "volume")):
        pressed(method=first).save(tmp_path / "a.h5")
        other = replay(tmp_path / "a.h5", second)
        assert (other["contact.count"][-50:] > 0).all()
        felt = other["device.force"][-1], trace["device.force"][-1]
        assert felt[0] == pytest.approx(felt[1], rel=0.02, abs=1e-3)  # neither gives
