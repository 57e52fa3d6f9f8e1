"""The hands of a session: those with force in a process of their own, the others here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangere.haptics.layout import NROW, Rig
from tangere.haptics.pacing import clock_ns
from tangere.haptics.servo import CTL_BEGIN, MAX_HANDS, Counters, Loop, counted
from tangere.session.hand_process import HandProcess
from tangere.session.local_hands import LocalHands

if TYPE_CHECKING:
    from tangere.devices.device import Device, DeviceInfo
    from tangere.haptics.effects import Effect
    from tangere.maths.vec import Array

BEGIN = 0.1  # from the start of several loops to the first tick of all [s]


def pushes(device: Device) -> bool:
    """Whether a device can push a hand; scripts and models of an arm have none."""
    return device.info.max_force > 0.0 and not hasattr(device, "table")


class Hands:
    """Servos and devices of a session.

    Attributes:
        apart: Numbers of the hands in a process of their own.
    """

    def __init__(
        self, devices: Sequence[Device], rate: float, *, process: bool, reconnect: bool
    ) -> None:
        """Hold devices that are not open yet.

        Args:
            devices: One for each hand.
            rate: Of the servos [Hz].
            process: Whether those that push have a process of their own.
            reconnect: Whether a device that was lost is opened again.
        """
        self.apart = [i for i, device in enumerate(devices) if process and pushes(device)]
        here = [i for i in range(len(devices)) if i not in self.apart]
        self._parts: list[tuple[list[int], LocalHands | HandProcess]] = []
        if self.apart:
            some = [devices[i] for i in self.apart]
            self._parts.append((self.apart, HandProcess(some, rate, reconnect=reconnect)))
        if here:
            some = [devices[i] for i in here]
            self._parts.append((here, LocalHands(some, rate, reconnect=reconnect)))
        self._count = len(devices)

    def open(self) -> list[DeviceInfo]:
        """Open all devices, or none; what each says of itself.

        Raises:
            DeviceError: One is not there.
        """
        infos: dict[int, DeviceInfo] = {}
        try:
            for numbers, part in self._parts:
                infos.update(zip(numbers, part.open(), strict=True))
        except BaseException:
            self.stop()
            raise
        return [infos[i] for i in range(self._count)]

    def prepare(self, rigs: list[Rig], ticks: int) -> None:
        """Make the servos; rigs that another process serves are replaced by those it sees."""
        for numbers, part in self._parts:
            part.prepare([rigs[i] for i in numbers], ticks)
            if isinstance(part, HandProcess):
                for i, rig in zip(numbers, part.rigs, strict=True):
                    rigs[i] = rig

    def start(self) -> None:
        """Begin to tick; several loops count from the same moment."""
        if len(self.loops) > 1:
            begin = clock_ns() + round(1e9 * BEGIN)
            for loop in self.loops:
                loop.control[CTL_BEGIN] = begin
        for _, part in self._parts:
            part.start()

    def pause(self, paused: bool) -> None:
        """Send zero force while the loops go on; afterwards it ramps up."""
        for _, part in self._parts:
            part.pause(paused)

    def install(self, hand: int, slot: int, effect: Effect | None) -> None:
        """Have an effect called for a hand, or none any more.

        Raises:
            SceneError: It cannot be compiled.
        """
        for numbers, part in self._parts:
            if hand in numbers:
                part.install(numbers.index(hand), slot, effect)

    @property
    def loops(self) -> list[Loop]:
        """What the servos share with the rest of the program, in the order of their hands."""
        return [loop for _, loop in self._grouped()]

    @property
    def groups(self) -> list[list[int]]:
        """Numbers of the hands of each loop."""
        return [group for group, _ in self._grouped()]

    def _grouped(self) -> list[tuple[list[int], Loop]]:
        pairs = [
            ([numbers[i] for i in group], loop)
            for numbers, part in self._parts
            for group, loop in zip(part.groups, part.loops, strict=True)
        ]
        return sorted(pairs, key=lambda pair: pair[0])

    @property
    def running(self) -> bool:
        """Whether all parts tick: a hand that has ended ends the session."""
        return all(part.running for _, part in self._parts)

    @property
    def counters(self) -> Counters:
        """How the loops have kept time."""
        return counted(*self.loops)

    @property
    def granted(self) -> str:
        """What the servos got of what they asked for, in words."""
        return "; ".join(dict.fromkeys(part.granted for _, part in self._parts))

    @property
    def trouble(self) -> str:
        """Why the hands cannot go on, in words; empty: nothing."""
        return next((part.trouble for _, part in self._parts if part.trouble), "")

    @property
    def faults(self) -> list[str]:
        """What went wrong with the devices, in words, and how often."""
        return [words for _, part in self._parts for words in part.faults]

    def newest(self, rows_out: Array) -> bool:
        """Whether there are rows not seen yet; if so they are in `rows_out`, hand by hand."""
        fresh = False
        some = np.zeros(MAX_HANDS * NROW)
        for numbers, part in self._parts:
            for k, i in enumerate(numbers):
                some[k * NROW : (k + 1) * NROW] = rows_out[i * NROW : (i + 1) * NROW]
            if part.newest(some):
                fresh = True
                for k, i in enumerate(numbers):
                    rows_out[i * NROW : (i + 1) * NROW] = some[k * NROW : (k + 1) * NROW]
        return fresh

    def stop(self) -> None:
        """Zero force, then end the servos and close the devices."""
        for _, part in self._parts:
            part.stop()
