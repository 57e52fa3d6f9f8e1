"""Servos and devices of a session in one process: opened, served, closed.

A device that compiled code can serve is read and driven within its servo's tick. The others have a
thread that carries readings and commands between the device and the mailboxes of its rig.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangere.haptics.layout import NREAD, SOURCE_PORT, Rig
from tangere.haptics.mailbox import post
from tangere.haptics.servo import Commands, Counters, Loop, Servo, counted, warm_up

if TYPE_CHECKING:
    from tangere.devices.device import Device, DeviceInfo
    from tangere.maths.vec import Array

JOIN = 2.0  # time that a thread gets to end [s]


class LocalHands:
    """The hands of a session, in this process.

    Attributes:
        loops: What the servos share with the rest of the program; all hands in one loop.
        trouble: Why the hands cannot go on, in words; empty: nothing.
    """

    def __init__(self, devices: Sequence[Device], rate: float) -> None:
        """Hold devices that are not open yet."""
        self.devices = list(devices)
        self.trouble = ""
        self.loops: list[Loop] = []
        self._rate = rate
        self._opened: list[Device] = []
        self._servos: list[Servo] = []
        self._feeders: list[threading.Thread] = []
        self._stop = threading.Event()

    def open(self) -> list[DeviceInfo]:
        """Open all devices, or none; what each says of itself.

        Raises:
            DeviceError: One is not there.
        """
        warm_up()
        try:
            for device in self.devices:
                device.open()
                self._opened.append(device)
        except BaseException:
            self.close()
            raise
        return [device.info for device in self.devices]

    def prepare(self, rigs: Sequence[Rig], ticks: int) -> None:
        """Make the servo of these rigs, for so many ticks; 0: until it is stopped."""
        self._servos = [Servo(rigs, rate=self._rate, ticks=ticks)]
        self.loops = [servo.loop for servo in self._servos]
        self._feeders = [
            threading.Thread(target=self._feed, args=pair, name="tangere-device", daemon=True)
            for pair in zip(rigs, self.devices, strict=True)
            if pair[0].source[0] == SOURCE_PORT
        ]

    def start(self) -> None:
        """Begin to tick."""
        for feeder in self._feeders:
            feeder.start()
        for servo in self._servos:
            servo.start()

    def pause(self, paused: bool) -> None:
        """Send zero force while the loops go on; afterwards it ramps up."""
        for servo in self._servos:
            servo.pause(paused)

    @property
    def running(self) -> bool:
        """Whether any servo ticks."""
        return any(servo.running for servo in self._servos)

    @property
    def counters(self) -> Counters:
        """How the loops have kept time."""
        return counted(*self.loops)

    @property
    def granted(self) -> str:
        """What the servo got of what it asked for, in words."""
        return str(self._servos[0].granted) if self._servos else ""

    @property
    def faults(self) -> list[str]:
        """What went wrong with the devices, in words, and how often."""
        lines = []
        for device in self.devices:
            for words, count in getattr(device, "faults", {}).items():
                lines.append(f"{words} ({count} times)" if count > 1 else words)
        return lines

    def newest(self, rows_out: Array) -> bool:
        """Whether there are rows not seen yet; if so they are in `rows_out`, (2 NROW,)."""
        return self._servos[0].newest(rows_out)

    def stop(self) -> None:
        """Zero force, then end the servos and close the devices."""
        for servo in self._servos:
            servo.stop()
            self.trouble = self.trouble or (str(servo.error) if servo.error else "")
        self._stop.set()
        for feeder in self._feeders:
            if feeder.ident is not None:
                feeder.join(JOIN)
        self.close()

    def close(self) -> None:
        """Close what is open; may be called twice."""
        while self._opened:
            self._opened.pop().close()

    def _feed(self, rig: Rig, device: Device) -> None:
        """Carry readings and commands between a device and its mailboxes."""
        reading = np.array(rig.reading)
        commands = Commands(rig)
        period = 1.0 / min(device.info.rate, self._rate)
        due = time.perf_counter()
        try:
            while not self._stop.is_set():
                device.read(reading)
                post(rig.inbox, rig.inbox_at, reading, NREAD)
                device.write(commands.newest())
                due = max(due + period, time.perf_counter() - period)
                time.sleep(max(0.0, due - time.perf_counter()))
        except Exception as error:  # not what a device does when it fails: somebody closed it
            self.trouble = f"the device is lost: {error}"
