"""Replay: the scene out of the trace, the hand as it was, and a word when something is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sessions import meta, spring_rows, spring_trace

import tangere as tg
from tangere import cli
from tangere._jit import JIT_DISABLED
from tangere.errors import SceneError
from tangere.haptics.layout import ROW_DEVICE, ROW_HAND
from tangere.scene.files import scene_text
from tangere.session.replay import replay, scene_of, without_gaps
from tangere.trace.trace import Trace

pytestmark = pytest.mark.nojit
COMPILED = pytest.mark.skipif(JIT_DISABLED, reason="two of these are enough in plain Python")


class FakePlayback:
    """Holds what it is given."""

    def __init__(self, trace: Trace, *, tool: str = "") -> None:
        self.trace, self.tool = trace, tool


class FakeSession:
    """Gives back the rows of the hand that it is given; the last one made is kept."""

    made: FakeSession

    def __init__(self, scene: tg.Scene, **options: Any) -> None:
        self.scene, self.options, self.rigs = scene, options, ()
        FakeSession.made = self

    def run(self, seconds: float, realtime: bool) -> Trace:
        assert not realtime
        device = self.options["device"]
        hand = (device[0] if isinstance(device, list) else device).trace
        assert round(seconds * self.options["rate"]) == len(hand)
        told = {**meta(), "method": self.options["method"], "scene": "as seen from elsewhere"}
        return Trace(hand.rows, told, hand.tools)


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
    spring_trace(50).save(tmp_path / "a.h5")
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
    assert now.hash() == spring_trace(50).hash()
    assert replay(recorded, "point").meta["method"] == "point"


def test_two_hands_get_a_device_each(fake: type[FakeSession], tmp_path: Path) -> None:
    rows = np.hstack([spring_rows(20), spring_rows(20)])
    Trace(rows, meta(), ("left", "right")).save(tmp_path / "a.h5")
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
    scene.add_body(tg.load(tmp_path / "cube.obj"), mass=1.0, name="cube")
    told = meta(scene=scene_text(scene, tmp_path), folder=str(tmp_path))
    assert 'file = "cube.obj"' in told["scene"]
    assert scene_of(Trace(spring_rows(3), told)).bodies[0].name == "cube"


def test_what_is_missing_is_told(fake: type[FakeSession], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    for rows, told, words in (
        (spring_rows(0), meta(), "no ticks"),
        (spring_rows(3), meta(scene=""), "no scene"),
        (spring_rows(3), meta(scene="gravity = up"), "scene: not valid TOML"),
        (spring_rows(3), {"rate": 1000.0}, "which method"),
    ):
        Trace(rows, told).save(path)
        with pytest.raises(SceneError, match=words) as error:
            replay(path)
        assert str(path) in str(error.value)


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
