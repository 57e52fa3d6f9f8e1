"""Servos and devices of a session in a process of their own.

A hand must be let go of whatever happens to the program: a signal, a crash, a debugger, memory that
runs out. So the devices that push are opened and driven by a process that does nothing else. Its
servos see at every tick whether the program is still there (`CTL_PARENT`), and contact packets that
stop coming tell them that it hangs.

Program and process share the arrays of rigs and loops (`haptics.shared_arrays`); all that runs at
the pace of the hand goes through them. What is rare (open, prepare, start, an effect, stop) are
messages on a pipe, each answered. The end of the pipe is the end of the program.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from tangere.errors import DeviceError, SceneError
from tangere.haptics.layout import Rig
from tangere.haptics.servo import (
    CTL_ENDED,
    CTL_PAUSE,
    CTL_STOP,
    Counters,
    Loop,
    counted,
    new_loop,
    newest_rows,
)
from tangere.haptics.shared_arrays import SharedArrays
from tangere.session.local_hands import LocalHands

if TYPE_CHECKING:
    from tangere.devices.device import Device, DeviceInfo
    from tangere.haptics.effects import Effect
    from tangere.maths.vec import Array

ANSWER = 120.0  # a process that has not answered by then will not: it may have to compile [s]
END = 5.0  # time that it gets to close its devices [s]
LOOK = 0.05  # time between two looks at the program, and reports to it [s]


class HandProcess:
    """The hands of a session, in another process; used as `LocalHands`."""

    def __init__(self, devices: Sequence[Device], rate: float, *, reconnect: bool = False) -> None:
        self.devices = list(devices)
        self.trouble = ""
        self.groups: list[list[int]] = []
        self.loops: list[Loop] = []
        self.rigs: list[Rig] = []
        self.faults: list[str] = []
        self.granted = ""
        self._rate = rate
        self._reconnect = reconnect
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._asking = threading.Lock()
        self._stopping = False

    # ------------------------------------------------------------------ as LocalHands

    def open(self) -> list[DeviceInfo]:
        """Start the process and have it open all devices, or none; what each says of itself.

        Raises:
            DeviceError: A device is not there, or cannot be told to another process.
        """
        try:
            told = _dumps((self.devices, self._rate, self._reconnect))
        except Exception as error:
            names = ", ".join(device.info.name for device in self.devices)
            raise DeviceError(
                f"{names} cannot be handed to a process of its own ({error}): derive it from "
                "devices.Adapter, or give process=False"
            ) from None
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tangere.session.hand_process", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            **options,
        )
        threading.Thread(target=self._hear, name="tangere-hand", daemon=True).start()
        try:
            infos, self.groups = self._ask("open", told)
        except BaseException:
            self.stop()
            raise
        return list(infos)

    def prepare(self, rigs: Sequence[Rig], ticks: int) -> None:
        """Share rigs and loops; `rigs` and `loops` are from now on those that both see."""
        loops = [new_loop(len(group), self._rate) for group in self.groups]
        block = SharedArrays.make([*rigs, *loops])
        try:
            shared = block.tuples([Rig] * len(rigs) + [Loop] * len(loops))
            self.rigs, self.loops = shared[: len(rigs)], shared[len(rigs) :]
            self._ask("prepare", (block.name, block.layout, len(rigs), ticks))
        finally:
            block.hide()

    def start(self) -> None:
        """Begin to tick."""
        self.granted = self._ask("start", None)

    def pause(self, paused: bool) -> None:
        """Send zero force while the loops go on; afterwards it ramps up."""
        for loop in self.loops:
            loop.control[CTL_PAUSE] = int(paused)

    def install(self, hand: int, slot: int, effect: Effect | None) -> None:
        """Have an effect called for a hand, or none any more."""
        self._ask("install", (hand, slot, effect))

    @property
    def running(self) -> bool:
        """Whether any servo ticks."""
        alive = self._process is not None and self._process.poll() is None
        return alive and any(loop.control[CTL_ENDED] == 0 for loop in self.loops)

    @property
    def counters(self) -> Counters:
        """How the loops have kept time."""
        return counted(*self.loops)

    def newest(self, rows_out: Array) -> bool:
        """Whether there are rows not seen yet; if so they are in `rows_out`, hand by hand."""
        return newest_rows(self.loops, self.groups, rows_out)

    def stop(self) -> None:
        """Zero force, then end the servos, close the devices, and end the process."""
        process = self._process
        if process is None or self._stopping:
            return
        self._stopping = True
        for loop in self.loops:
            loop.control[CTL_STOP] = 1
        with suppress(DeviceError):
            self.faults, trouble = self._ask("stop", None, END)
            self.trouble = self.trouble or trouble
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        try:
            process.wait(END)
        except subprocess.TimeoutExpired:
            process.kill()
            self.trouble = self.trouble or f"the hand process did not end within {END:g} s"

    close = stop

    # ------------------------------------------------------------------ the pipe

    def _ask(self, what: str, about: Any, patience: float = ANSWER) -> Any:
        """The answer to a message; what goes wrong there is raised here."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with self._asking:
            try:
                process.stdin.write(_dumps((what, about)))
                process.stdin.flush()
                kind, answer = self._answers.get(timeout=patience)
            except (OSError, ValueError):
                kind, answer = "ended", self._last_words()
            except queue.Empty:
                kind, answer = "ended", f"the hand process has not answered for {patience:g} s"
        if kind == "done":
            return answer
        raise (SceneError if kind == "scene" else DeviceError)(answer)

    def _hear(self) -> None:
        """Take answers and reports until the process has ended."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        try:
            while True:
                kind, answer = pickle.load(process.stdout)
                if kind == "report":
                    self.faults, self.trouble = answer[0], self.trouble or answer[1]
                else:
                    self._answers.put((kind, answer))
        except (EOFError, OSError, pickle.UnpicklingError):
            words = self._last_words()
            if not self._stopping:
                self.trouble = self.trouble or words
            self._answers.put(("ended", words))
        finally:
            process.stdout.close()

    def _last_words(self) -> str:
        """How the process ended."""
        assert self._process is not None
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "the hand process does not listen any more"
        cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the hand process has ended ({cause}): force was left to the device's own watchdog"


def _dumps(what: Any) -> bytes:
    """As bytes; what a script defines itself goes by value."""
    from numba import cloudpickle

    return bytes(cloudpickle.dumps(what))


# ---------------------------------------------------------------- in the process


class _Child:
    """What the process does."""

    def __init__(self, parent: int, commands: BinaryIO, reports: BinaryIO) -> None:
        self._parent = parent
        self._commands = commands
        self._reports = reports
        self._telling = threading.Lock()
        self._hands: LocalHands | None = None
        self._ending = threading.Lock()

    def run(self) -> None:
        """Do as told until the program says stop, or is gone."""
        threading.Thread(target=self._watch, name="tangere-parent", daemon=True).start()
        try:
            while True:
                what, about = pickle.load(self._commands)
                try:
                    answer = getattr(self, f"do_{what}")(about)
                    self._tell("done", answer)
                except SceneError as error:
                    self._tell("scene", str(error))
                except Exception as error:
                    words = str(error) if isinstance(error, DeviceError) else repr(error)
                    self._tell("device", words)
                if what == "stop":
                    break
        except (EOFError, OSError):
            pass
        self.end()

    def end(self) -> None:
        """Zero force, close the devices, and be gone, whatever a driver's threads do."""
        with self._ending:
            if self._hands is not None:
                self._hands.stop()
            os._exit(0)

    def do_open(self, told: bytes) -> Any:
        """Open the devices."""
        devices, rate, reconnect = pickle.loads(told)
        self._hands = LocalHands(devices, rate, reconnect=reconnect, parent=self._watched())
        return self._hands.open(), self._hands.groups

    def _watched(self) -> int:
        """The process whose end the servos shall notice; 0 where they cannot."""
        return self._parent if os.name == "posix" else 0

    def do_prepare(self, about: Any) -> None:
        """Make the servos over shared memory."""
        name, layout, hands, ticks = about
        kinds = [Rig] * hands + [Loop] * (len(layout) - hands)
        shared = SharedArrays(name, layout).tuples(kinds)
        self.hands.prepare(shared[:hands], ticks, shared[hands:])

    @property
    def hands(self) -> LocalHands:
        """Those that were opened."""
        if self._hands is None:
            raise DeviceError("no device was opened")
        return self._hands

    def do_start(self, _: None) -> str:
        """Begin to tick."""
        self.hands.start()
        return self.hands.granted

    def do_install(self, about: Any) -> None:
        """Compile an effect and have it called."""
        self.hands.install(*about)

    def do_stop(self, _: None) -> Any:
        """Zero force, and close."""
        if self._hands is None:
            return [], ""
        self._hands.stop()
        return self._hands.faults, self._hands.trouble

    def _tell(self, kind: str, answer: Any) -> None:
        with self._telling:
            pickle.dump((kind, answer), self._reports)
            self._reports.flush()

    def _watch(self) -> None:
        """End with the program; tell it when something is wrong with a device."""
        told: Any = ([], "")
        while True:
            threading.Event().wait(LOOK)
            if os.name == "posix" and os.getppid() != self._parent:
                self.end()
            if self._hands is not None and (self._hands.faults, self._hands.trouble) != told:
                told = (self._hands.faults, self._hands.trouble)
                with suppress(OSError):
                    self._tell("report", told)


def main() -> None:
    """Serve the program that started this process."""
    for name in ("SIGINT", "SIGHUP"):  # meant for the program, which tells us
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # Answers have a pipe of their own: whatever a driver prints goes to the terminal.
    reports = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    child = _Child(int(sys.argv[1]), sys.stdin.buffer, reports)
    signal.signal(signal.SIGTERM, lambda *_: child.end())
    child.run()


if __name__ == "__main__":
    main()
