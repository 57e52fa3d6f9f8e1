"""The threads of a session in real time: contact loop, recorder, supervisor.

The servo (`haptics.servo`) needs none of them to keep its hand safe: packets that stop coming let
its force decay and then end, and a device that falls silent is a fault. What is here notices the
same things from outside, says them in words, and ends the session where nothing can recover.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tangere.haptics.layout import FAULT_ESCAPE, FORCE_LOST, MEM_STATE

if TYPE_CHECKING:
    from tangere.session.hands import Hands
    from tangere.session.session import Session
    from tangere.trace.recorder import Recorder
    from tangere.trace.trace import Trace

# A contact loop this far behind its clock lets the time go instead of running after it [periods].
BEHIND = 5
CHECK = 0.02  # time between two looks of the supervisor [s]
JOIN = 2.0  # time that a thread gets to end [s]


class Live:
    """A session that runs in real time.

    Attributes:
        hands: Its servos and devices.
        recorder: Where the servos' rows go.
        trouble: Why the session has to end, in words; empty: nothing.
        overruns: Contact periods that were left out because the loop was behind.
        paused: While true the scene stands still and the hands feel nothing.
    """

    def __init__(self, session: Session, hands: Hands, recorder: Recorder) -> None:
        self.session = session
        self.hands = hands
        self.recorder = recorder
        self.trouble = ""
        self.overruns = 0
        self.paused = False
        self.slow = 1.0
        self._watchers: list[Callable[[], None]] = []
        self._calls: list[Callable[[], None]] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._trace: Trace | None = None
        self._contact = threading.Thread(target=self._touch, name="tangere-contact", daemon=True)
        self._supervisor = threading.Thread(
            target=self._supervise, name="tangere-supervisor", daemon=True
        )

    def start(self) -> None:
        """Begin: recorder and contacts first, the servo when both run."""
        self.recorder.start()
        self._contact.start()
        self.hands.start()
        self._supervisor.start()

    def watch(self, callback: Callable[[], None]) -> None:
        """Call `callback` between contact periods; it finds the scene between two steps."""
        self._watchers.append(callback)

    def call(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, before the next contact period."""
        with self._lock:
            self._calls.append(callback)

    def pause(self, paused: bool) -> None:
        """Hold the scene and let go of the hands, or go on."""
        self.paused = paused
        self.hands.pause(paused)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the servo has made its ticks or something ended it; whether it has."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.hands.running and not self.trouble:
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(CHECK)
        self.trouble = self._look()
        return True

    def _supervise(self) -> None:
        """Notice what has to end the session, whoever waits for it."""
        while not self._stop.wait(CHECK) and not self.trouble:
            self.trouble = self._look()

    def _look(self) -> str:
        """What has to end the session, in words."""
        if self.trouble:
            return self.trouble
        if not self._contact.is_alive():
            return "the contact loop has died"
        if self.hands.trouble:
            return self.hands.trouble
        for rig, tool in zip(self.session.rigs, self.session.scene.tools, strict=True):
            if rig.memory[MEM_STATE] == FORCE_LOST and not self.session.reconnect:
                words = "; ".join(self.hands.faults) or "it did not answer"
                return f"the device of {tool.name} is lost: {words}"
        return ""

    def stop(self, reason: str = "") -> Trace:
        """Zero force, then end everything; the trace."""
        if self._trace is not None:
            return self._trace
        if self.trouble:  # the rows shall show what the hand felt: nothing
            self.session.tell_fault(FAULT_ESCAPE)
            time.sleep(2.0 * CHECK)
        self.hands.stop()
        self._stop.set()
        self._contact.join(JOIN)
        words = self.trouble or reason or self.hands.trouble or "finished"
        self._trace = self.recorder.finish(
            words, overruns=self.overruns, devices=self.hands.faults, **self.session.found()
        )
        return self._trace

    # ------------------------------------------------------------------ threads

    def _touch(self) -> None:
        """The contact loop; when it fails the servo runs out of packets and lets go."""
        contact = self.session.contact
        due = time.perf_counter()
        try:
            while not self._stop.is_set():
                self._obey()
                contact.send(contact.again() if self.paused else contact.turn())
                for callback in self._watchers:
                    callback()
                period = contact.dt * self.slow
                due += period
                wait = due - time.perf_counter()
                if wait > 0.0:
                    time.sleep(wait)
                elif -wait > BEHIND * period:
                    missed = int(-wait / period)
                    self.overruns += missed
                    due += missed * period
        except Exception as error:
            self.trouble = f"the contact loop failed: {error}"

    def _obey(self) -> None:
        if self._calls:
            with self._lock:
                calls, self._calls = self._calls, []
            for callback in calls:
                callback()
