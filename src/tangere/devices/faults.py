"""Faults that pass: a device whose status is that of the newest exchange with it.

A loose plug, a brake or a driver that was busy for a moment must not end a session: the fault is
there while the calls fail, in READ_STATUS and in words, and gone when they work again.
"""

from __future__ import annotations

from tangere.devices.device import Adapter
from tangere.haptics.layout import FAULT_WRITE, READ_STATUS
from tangere.maths.vec import Array


class PassingFaults(Adapter):
    """Before `Adapter` or one of its kinds in the list of bases; a subclass has `trouble`."""

    _told = ""

    def trouble(self) -> tuple[int, str]:
        """FAULT_… of the newest exchange as bits, and what is wrong in words."""
        return 0, ""

    def read(self, out: Array) -> None:
        """Fill the READ_… columns; READ_STATUS has what is wrong now."""
        super().read(out)
        status, words = self.trouble()
        out[READ_STATUS] = int(out[READ_STATUS]) | status
        if status:
            self.fault = self._told = f"{self.info.name}: {words}"
        elif self.fault == self._told:
            self.fault = self._told = ""

    def write(self, wrench: Array) -> None:
        """Put a wrench on the hand; one that is not finite counts until the next that is."""
        if self.status & FAULT_WRITE:
            self.status &= ~FAULT_WRITE
            self.fault = ""
        super().write(wrench)
