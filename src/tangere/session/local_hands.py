"""Servos and devices of a session in one process: opened, served, watched, closed.

A device that compiled code can serve has a servo of its own, which makes the driver's calls within
its tick; two such hands in one loop would add their calls' times. The others share a servo, and
each has a thread that carries readings and commands between the device and the mailboxes of its
rig.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tangere.errors import DeviceError
from tangere.haptics import pacing
from tangere.haptics.driver import TIMED
from tangere.haptics.layout import (
    FORCE_LOST,
    MEM_REOPENED,
    MEM_STATE,
    MEM_WRITE_FAULT,
    NREAD,
    READ_STATUS,
    SOURCE_PORT,
    Rig,
)
from tangere.haptics.mailbox import post
from tangere.haptics.servo import (
    CTL_HEARTBEAT,
    CTL_PARENT,
    Commands,
    Counters,
    Loop,
    Servo,
    counted,
    new_loop,
    newest_rows,
    warm_up,
)
from tangere.haptics.vendor_servo import VendorServo

if TYPE_CHECKING:
    from tangere.devices.device import Device, DeviceInfo, NativePort
    from tangere.devices.native import Native
    from tangere.haptics.effects import Effect
    from tangere.maths.vec import Array

JOIN = 2.0  # time that a thread gets to end [s]
LOOK = 0.05  # time between two looks at the devices [s]
HANGS = 2.0  # a loop that has not ticked for so long will not [s]
AGAIN = 1.0  # time between two attempts to open a lost device [s]


class LocalHands:
    """The hands of a session, in this process.

    Attributes:
        groups: Numbers of the hands that share a loop, for every loop.
        loops: What the servos share with the rest of the program.
        trouble: Why the hands cannot go on, in words; empty: nothing.
    """

    def __init__(
        self, devices: Sequence[Device], rate: float, *, reconnect: bool = False, parent: int = 0
    ) -> None:
        """Hold devices that are not open yet.

        Args:
            devices: One for each hand.
            rate: Of the servos [Hz].
            reconnect: Whether a device that was lost is opened again.
            parent: Process whose death ends the servos; 0: none.
        """
        self.devices = list(devices)
        self.trouble = ""
        self.groups: list[list[int]] = []
        self.loops: list[Loop] = []
        self._rate = rate
        self._reconnect = reconnect
        self._parent = parent
        self._opened: list[Device] = []
        self._ports: list[NativePort | None] = []
        self._rigs: list[Rig] = []
        self._servos: list[Servo | VendorServo] = []
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()

    # ------------------------------------------------------------------ what a session calls

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
                self._ports.append(self._port_of(device))
        except BaseException:
            self.close()
            raise
        shared = [i for i, port in enumerate(self._ports) if port is None]
        own = [[i] for i, port in enumerate(self._ports) if port is not None]
        self.groups = ([shared] if shared else []) + own
        return [device.info for device in self.devices]

    def _port_of(self, device: Any) -> NativePort | None:
        """How compiled code serves an open device; None: it does not."""
        port: NativePort | None = getattr(device, "native_port", lambda: None)()
        if port is not None and port.schedule is not None and device.info.rate != self._rate:
            raise DeviceError(
                f"{device.info.name} calls back {device.info.rate:g} times a second and nothing "
                f"else: give the session that rate, not {self._rate:g} Hz"
            )
        return port

    def prepare(self, rigs: Sequence[Rig], ticks: int, loops: Sequence[Loop] | None = None) -> None:
        """Make the servos of these rigs, for so many ticks; 0: until they are stopped."""
        self._rigs = list(rigs)
        self.loops = list(loops or self.new_loops())
        for group, loop in zip(self.groups, self.loops, strict=True):
            loop.control[CTL_PARENT] = self._parent
            self._servos.append(self._servo([rigs[i] for i in group], group, loop, ticks))
        self._threads = [
            threading.Thread(target=self._feed, args=pair, name="tangere-device", daemon=True)
            for pair in zip(rigs, self.devices, strict=True)
            if pair[0].source[0] == SOURCE_PORT
        ]
        self._threads.append(
            threading.Thread(target=self._watch, name="tangere-devices", daemon=True)
        )

    def new_loops(self) -> list[Loop]:
        """A loop for each group."""
        return [new_loop(len(group), self._rate) for group in self.groups]

    def _servo(
        self, rigs: list[Rig], group: list[int], loop: Loop, ticks: int
    ) -> Servo | VendorServo:
        port = self._ports[group[0]]
        if port is not None:
            self._use(rigs[0], port)
            if port.schedule is not None:
                return VendorServo(rigs[0], port, rate=self._rate, loop=loop, ticks=ticks)
        return Servo(rigs, rate=self._rate, ticks=ticks, loop=loop)

    def _use(self, rig: Rig, port: NativePort) -> None:
        """Have a rig's readings and commands be calls of a driver."""
        rig.port[:] = port.words
        rig.port_memory[:] = 0.0
        rig.source[:] = (port.source, TIMED)

    def start(self) -> None:
        """Begin to tick."""
        for thread in self._threads:
            thread.start()
        for servo in self._servos:
            servo.start()

    def pause(self, paused: bool) -> None:
        """Send zero force while the loops go on; afterwards it ramps up."""
        for servo in self._servos:
            servo.pause(paused)

    def install(self, hand: int, slot: int, effect: Effect | None) -> None:
        """Have an effect called for a hand, or none any more.

        Raises:
            SceneError: It cannot be compiled.
        """
        self._rigs[hand].effects[slot] = 0 if effect is None else effect.compile()

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
        """What the servos got of what they asked for, in words."""
        return "; ".join(dict.fromkeys(str(servo.granted) for servo in self._servos))

    @property
    def cores(self) -> list[int]:
        """Cores that the servos have to themselves."""
        granted = (getattr(servo.granted, "core", None) for servo in self._servos)
        return sorted({core for core in granted if core is not None})

    @property
    def faults(self) -> list[str]:
        """What went wrong with the devices, in words, and how often."""
        lines = []
        for device in self.devices:
            for words, count in list(getattr(device, "faults", {}).items()):  # others add to it
                lines.append(f"{words} ({count} times)" if count > 1 else words)
        return lines

    def newest(self, rows_out: Array) -> bool:
        """Whether there are rows not seen yet; if so they are in `rows_out`, hand by hand."""
        return newest_rows(self.loops, self.groups, rows_out)

    def stop(self) -> None:
        """Zero force, then end the servos and close the devices."""
        for servo in self._servos:
            servo.stop()
            self.trouble = self.trouble or (str(servo.error) if servo.error else "")
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(JOIN)
        self.close()

    def close(self) -> None:
        """Close what is open; may be called twice."""
        while self._opened:
            self._opened.pop().close()

    # ------------------------------------------------------------------ threads

    def _feed(self, rig: Rig, device: Device) -> None:
        """Carry readings and commands between a device and its mailboxes."""
        reading = np.array(rig.reading)
        commands = Commands(rig)
        period = 1.0 / min(device.info.rate, self._rate)
        due = time.perf_counter()
        try:
            while not self._stop.is_set():
                if self._reconnect and rig.memory[MEM_STATE] == FORCE_LOST:
                    if not self._opened_again(device):
                        continue
                    rig.memory[MEM_REOPENED] = 1.0
                device.read(reading)
                post(rig.inbox, rig.inbox_at, reading, NREAD)
                device.write(commands.newest())
                due = max(due + period, time.perf_counter() - period)
                time.sleep(max(0.0, due - time.perf_counter()))
        except Exception as error:  # not what a device does when it fails: somebody closed it
            self.trouble = f"the device is lost: {error}"

    def _watch(self) -> None:
        """Put what drivers answer into words, notice loops that hang, open lost devices again."""
        while not self._stop.wait(LOOK):
            for group, servo in zip(self.groups, self._servos, strict=True):
                hand = group[0]
                port, rig, device = self._ports[hand], self._rigs[hand], self.devices[hand]
                lost = rig.memory[MEM_STATE] == FORCE_LOST
                if port is not None:
                    status = int(rig.reading[READ_STATUS]) | int(rig.memory[MEM_WRITE_FAULT])
                    cast("Native", device).observe(rig.port, status)
                    if lost and self._reconnect:
                        self._reopen(hand, servo, port)
                        continue
                beat = int(servo.loop.control[CTL_HEARTBEAT])
                if beat and servo.running and pacing.clock_ns() - beat > 1e9 * HANGS:
                    self.trouble = f"a servo has not ticked for {HANGS:g} s: its driver hangs"

    def _reopen(self, hand: int, servo: Servo | VendorServo, port: NativePort) -> None:
        """Try to get a lost device back; its hand is placed anew, and the force ramps up."""
        rig, device = self._rigs[hand], self.devices[hand]
        rig.source[0] = SOURCE_PORT  # no calls while it is closed
        if port.unschedule is not None:
            port.unschedule()
        else:
            time.sleep(2.0 / self._rate)
        if not self._opened_again(device):
            return
        new = self._port_of(device)
        if new is not None:
            self._ports[hand] = new
            rig.memory[MEM_REOPENED] = 1.0
            self._use(rig, new)
            if isinstance(servo, VendorServo):
                servo.resume(new)

    def _opened_again(self, device: Device) -> bool:
        """Whether a lost device could be opened; if not, some time has passed."""
        try:
            device.close()
            device.open()
        except DeviceError:
            self._stop.wait(AGAIN)
            return False
        return True
