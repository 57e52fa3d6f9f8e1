"""Vendors' C libraries without devices, and the world that they show: a hand, and a log.

`build` compiles `fake_dhd.c` (Force Dimension), `fake_hd.c` (OpenHaptics) and `fake_hid.c` (hidapi,
below a SpaceMouse) with the system's C compiler and lays them out as the vendors do. A `World` is
the file that they live in: where the hand is, what the device is like, how it misbehaves, and every
call that mattered, with the time. The file is memory-mapped and outlives the process that drives
the device; a test and a process under test may both have it open.

All numbers are SI, in the axes right, away from the user, up, whatever the vendor's are:

    world["position"] = 0.0, 0.0, 0.1        # the hand, from now on
    world["amplitude"], world["frequency"] = (0.0, 0.0, 0.01), 2.0    # and a sine around it
    world.fail(0.05)                         # calls fail for 50 ms from now
    world.last()                             # force, torque, gripper force sent last
    world.log("write")["ns"]                 # when, by CLOCK_MONOTONIC

The device has a clock of its own, one sample every `sample_ns`. With `counted = 1` there is no
clock: each read is the next sample, and all spans count in samples; that is the world of a test on
the virtual clock. With `by_hand = 1` OpenHaptics' scheduler turns when `Libraries.turn` is called.

Knobs, all 0 unless said otherwise:

    sample_ns        period of the device's own clock (250 µs)
    counted          1: each read is the next sample
    read_ns, write_ns                how long a call waits
    fail_from, fail_to               calls fail in this span of the device's time [ns]
    freeze_from, freeze_to           calls do not come back in this span of the clock
    guard_from, guard_to             reads give the same sample again (DHD_TIMEGUARD) in this span
    dead             1: every call fails from now on
    write_fails      1: forces are refused
    saturated        1: the motors give less than they are told (DHD_MOTOR_SATURATED)
    spoiled          1: positions are not numbers
    log_reads        1: reads are logged, too
    devices          how many are connected (1); device k is held at position + k apart
    system_type, wrist, active_wrist, gripper, active_gripper, output_dof, model    see MODELS
    initialized      1: it does not ask for calibration (1)
    buttons, gap     bits; opening of the gripper [m]
    force_off        why the motors are off, 1 … 6 as in dhdGetStatus
    max_force, max_torque, max_gripper_force     what it says of itself; negative: nothing (−1)
    box              usable workspace [m]
    error            code that the next frame of OpenHaptics raises
    halted           1: OpenHaptics' scheduler does not turn any more
    mouse            1: a SpaceMouse is connected; see `push`
    position, quaternion             of the hand
    amplitude, frequency             of a sine added to the position [m, Hz]
    spin_axis, spin                  steady turn [rad/s]
    step_size, step_period           the hand goes down and up at irregular times [m, s]

Written by the device: samples (of each device), watchdog (as set, in eighths of a millisecond),
count (entries of the log).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The C sources are tests' own; a checkout has them, an installed package has not.
SOURCES = Path(__file__).resolve().parents[3] / "tests" / "devices" / "native"
MAX_DEVICES, MAX_REPORTS, REPORT = 4, 8192, 16

KINDS = (
    "",
    "read",
    "write",
    "open",
    "close",
    "stop",
    "enable",
    "watchdog",
    "calibrate",
    "start scheduler",
    "stop scheduler",
    "schedule",
    "unschedule",
    "refused",
)
ENTRY = np.dtype(
    [("ns", "i8"), ("kind", "i4"), ("device", "i4"), ("sample", "i8"), ("wrench", "f8", 7)]
)
WHOLE = (
    "count capacity epoch sample_ns counted read_ns write_ns fail_from fail_to freeze_from "
    "freeze_to guard_from guard_to dead write_fails saturated spoiled log_reads devices "
    "system_type wrist active_wrist gripper active_gripper initialized buttons force_off watchdog "
    "error by_hand halted output_dof mouse mouse_written mouse_taken"
).split()
FIELDS = np.dtype(
    [(name, "i8") for name in WHOLE]
    + [("samples", "i8", MAX_DEVICES)]
    + [("position", "f8", 3), ("apart", "f8", 3), ("quaternion", "f8", 4)]
    + [("amplitude", "f8", 3), ("frequency", "f8"), ("spin_axis", "f8", 3), ("spin", "f8")]
    + [("step_size", "f8"), ("step_period", "f8"), ("gap", "f8")]
    + [("max_force", "f8"), ("max_torque", "f8"), ("max_gripper_force", "f8"), ("box", "f8", 3)]
    + [("model", "S64"), ("reports", "u1", (MAX_REPORTS, REPORT))]
)

# Force Dimension's by its system type; OpenHaptics' by the name that the driver tells.
_SIX = {"wrist": 1, "active_wrist": 1, "gripper": 1, "active_gripper": 1}
MODELS: dict[str, dict[str, int]] = {
    "delta.3": {"system_type": 63},
    "omega.3": {"system_type": 33},
    "omega.6": {"system_type": 34, "wrist": 1},
    "omega.7": {"system_type": 35, "wrist": 1, "gripper": 1, "active_gripper": 1},
    "sigma.7": {"system_type": 104, **_SIX},
    "lambda.7": {"system_type": 108, **_SIX},
    "Falcon": {"system_type": 60},
    "something new": {"system_type": 91},
    "Touch": {"output_dof": 3},
    "Premium 1.5 6DOF": {"output_dof": 6},
}
_OPEN_HAPTICS_FORCE = {"Touch": 3.3, "Premium 1.5 6DOF": 8.5}


class World:
    """One person's hand and the devices that it holds; `world[name]` is a knob, see above.

    Args:
        path: The file; it is made unless it is there.
        model: One of MODELS.
        capacity: Entries of the log; later ones are counted only.
        knobs: Others than usual.
    """

    def __init__(
        self, path: Path | str, *, model: str = "sigma.7", capacity: int = 50_000, **knobs: Any
    ) -> None:
        self.path = Path(path)
        made = not self.path.exists()
        if made:
            with self.path.open("wb") as file:
                file.truncate(FIELDS.itemsize + capacity * ENTRY.itemsize)
        self._fields = np.memmap(self.path, dtype=FIELDS, mode="r+", shape=(1,))
        capacity = int(self._fields["capacity"][0]) or capacity
        self._log = np.memmap(
            self.path, dtype=ENTRY, mode="r+", offset=FIELDS.itemsize, shape=(capacity,)
        )
        if made:
            usual = {
                "capacity": capacity,
                "epoch": time.monotonic_ns(),
                "sample_ns": 250_000,
                "devices": 1,
                "initialized": 1,
                "quaternion": (1.0, 0.0, 0.0, 0.0),
                "gap": 0.02,
                "max_force": _OPEN_HAPTICS_FORCE.get(model, -1.0),
                "max_torque": -1.0,
                "max_gripper_force": -1.0,
                "box": (0.32, 0.14, 0.24),
                "mouse": 1,
                "model": model.encode(),
            }
            for name, value in {**usual, **MODELS[model], **knobs}.items():
                self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        self._fields[name][0] = value

    def __getitem__(self, name: str) -> Any:
        return self._fields[name][0]

    # ---------------------------------------------------------------- what happens

    def place(self, position: Any, axis: Any = (0.0, 0.0, 1.0), angle: float = 0.0) -> None:
        """Put the hand to a position, turned about an axis."""
        self["position"] = position
        self["quaternion"] = (np.cos(0.5 * angle), *(np.sin(0.5 * angle) * np.asarray(axis)))

    def now(self, device: int = 0) -> int:
        """The device's time [ns]: the clock, or that of its newest sample when they are counted."""
        if self["counted"]:
            return int(self["epoch"] + self["samples"][device] * self["sample_ns"])
        return time.monotonic_ns()

    def fail(self, seconds: float, after: float = 0.0) -> None:
        """Calls fail for so long."""
        self._span("fail", self.now(), after, seconds)

    def guard(self, seconds: float, after: float = 0.0) -> None:
        """Reads give the same sample again for so long."""
        self._span("guard", self.now(), after, seconds)

    def freeze(self, seconds: float, after: float = 0.0) -> None:
        """Calls do not come back for so long; 0 ends it."""
        self._span("freeze", time.monotonic_ns(), after, seconds)

    def _span(self, name: str, now: int, after: float, seconds: float) -> None:
        begin = now + round(1e9 * after)
        self[f"{name}_to"] = begin + round(1e9 * seconds)
        self[f"{name}_from"] = begin

    def push(
        self,
        translation: Any = None,
        rotation: Any = None,
        buttons: int | None = None,
        times: int = 1,
    ) -> None:
        """Reports of a SpaceMouse's cap, in shares of full deflection: right, away, up.

        Its own axes: +x right, +y towards the user, +z down; 350 is full deflection. Translation is
        report 1, rotation report 2, buttons report 3.
        """
        for _ in range(times):
            for number, given in ((1, translation), (2, rotation)):
                if given is not None:
                    raw = np.array([given[0], -given[1], -given[2]]) * 350.0
                    self._report(number, raw.round().astype("<i2").tobytes())
            if buttons is not None:
                self._report(3, bytes([buttons]))

    def _report(self, number: int, content: bytes) -> None:
        at = int(self["mouse_written"])
        row = bytes([number]) + content
        self["reports"][at % MAX_REPORTS] = np.frombuffer(row.ljust(REPORT, b"\0"), dtype="u1")
        self["mouse_written"] = at + 1

    # ---------------------------------------------------------------- what was seen

    def log(self, kind: str | None = None, device: int | None = None) -> NDArray[Any]:
        """Entries so far, by time: all, or of one kind, or of one device."""
        rows = np.array(self._log[: min(self["count"], self["capacity"])])
        rows = rows[rows["kind"] > 0]
        rows = rows[np.argsort(rows["ns"], kind="stable")]
        if kind is not None:
            rows = rows[rows["kind"] == KINDS.index(kind)]
        return rows if device is None else rows[rows["device"] == device]

    def calls(self) -> list[str]:
        """Kinds of the entries but reads and commands, by time."""
        names = [KINDS[k] for k in self.log()["kind"]]
        return [name for name in names if name not in ("read", "write", "refused")]

    def commands(self, device: int | None = None, *, refused: bool = False) -> NDArray[np.float64]:
        """Force, torque and gripper force (n, 7), as they arrived; or also those that did not."""
        rows = self.log(device=device)
        kinds = [KINDS.index("write")] + [KINDS.index("refused")] * refused
        found = rows["wrench"][np.isin(rows["kind"], kinds)]
        return np.asarray(found, dtype=np.float64).reshape(-1, 7)

    def last(self, device: int | None = None) -> NDArray[np.float64]:
        """The command that arrived last (7); zero before there was one."""
        return np.asarray(np.vstack((np.zeros(7), self.commands(device)))[-1])

    def motors(self, ns: int | None = None, device: int = 0) -> NDArray[np.float64]:
        """What the motors give at a time of the clock (7): the firmware's watchdog lets go."""
        when = time.monotonic_ns() if ns is None else ns
        rows = self.log(device=device)
        rows = rows[rows["ns"] <= when]
        last = rows[np.isin(rows["kind"], [KINDS.index(k) for k in ("write", "stop", "close")])]
        if len(last) == 0 or KINDS[last[-1]["kind"]] != "write":
            return np.zeros(7)
        patience = 125_000 * int(self["watchdog"])
        if patience and when - last[-1]["ns"] > patience:
            return np.zeros(7)
        return np.array(last[-1]["wrench"])

    def position_at(self, ns: int, device: int = 0) -> NDArray[np.float64]:
        """Where the hand is at a time of the device, but for irregular steps."""
        t = 1e-9 * (ns - int(self["epoch"]))
        swing = self["amplitude"] * np.sin(2.0 * np.pi * self["frequency"] * t)
        return np.asarray(self["position"] + device * self["apart"] + swing)

    def steps(self, until: int) -> NDArray[np.int64]:
        """Times at which the hand stepped [ns], as world.h computes them."""
        period = float(self["step_period"])
        n = np.arange(1, int(1e-9 * (until - int(self["epoch"])) / period) + 1, dtype=np.uint64)
        hashed = (n * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        share = (hashed % np.uint64(1000)).astype(np.float64) / 2000.0
        seconds = (n.astype(np.float64) + share) * period
        return int(self["epoch"]) + np.round(1e9 * seconds).astype(np.int64)


@dataclass(frozen=True)
class Libraries:
    """Where the fakes are; `environment` leads drivers to them."""

    folder: Path  # as a vendor's SDK
    dhd: Path
    hd: Path
    hid: Path

    def environment(self, world: World) -> dict[str, str]:
        """Variables for a process that shall find these libraries and live in that world."""
        return {
            "FAKE_WORLD": str(world.path),
            "FDSDK": str(self.folder),
            "OH_SDK_BASE": str(self.folder),
        }

    def turn(self, count: int = 1) -> None:
        """So many turns of OpenHaptics' scheduler, in a world whose scheduler turns by hand."""
        ctypes.CDLL(str(self.hd)).fake_hd_turns(count)

    def scheduled(self) -> int:
        """Functions that OpenHaptics' scheduler would call now."""
        return int(ctypes.CDLL(str(self.hd)).fake_hd_scheduled())


def why_not() -> str:
    """Why the fakes cannot be built here; empty: they can."""
    if sys.platform != "linux":
        return "the fake vendors' libraries are written for Linux"
    if not SOURCES.is_dir():
        return "the fake vendors' libraries are built from a checkout of tangere, in tests/devices"
    if compiler() is None:
        return "no C compiler for the fake vendors' libraries: install gcc"
    return ""


def compiler() -> str | None:
    """The system's C compiler."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build(folder: Path) -> Libraries:
    """Compile the fakes into a folder."""
    machine = os.uname().machine
    made = Libraries(
        folder,
        folder / "lib" / "release" / f"lin-{machine}-gcc" / "libdrd.so.3.17.0",
        folder / "lib" / "libHD.so.3.4",
        folder / "lib" / "libhidapi-hidraw.so.0",
    )
    for source, target in (
        ("fake_dhd.c", made.dhd),
        ("fake_hd.c", made.hd),
        ("fake_hid.c", made.hid),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [str(compiler()), "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        command += [f"-Wl,-soname,{target.name}", "-o", str(target), str(SOURCES / source)]
        done = subprocess.run(
            [*command, "-lm", "-lpthread"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
    return made


def find_mouse_library(libraries: Libraries, patch: Any) -> None:
    """Let `pyspacemouse` load the hidapi without a mouse, if it was not imported before.

    Its HID layer asks the system for the library by name, when it is imported; `patch` is a
    `pytest.MonkeyPatch`.
    """
    find = ctypes.util.find_library
    patch.setattr(
        ctypes.util,
        "find_library",
        lambda name: str(libraries.hid) if name == "hidapi-hidraw" else find(name),
    )
    importlib.import_module("pyspacemouse")
