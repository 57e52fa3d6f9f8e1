"""Faults that pass: a device whose status is that of the newest exchange with it.

A loose plug, a brake or a driver that was busy for a moment must not end a session: the fault is
there while the calls fail, in READ_STATUS and in words, and gone when they work again.
"""

from __future__ import annotations

from tangere.devices.device import Adapter
from tangere.haptics.layout import FAULT_LOST, FAULT_OFF, FAULT_READ, FAULT_WRITE

BITS = (FAULT_READ, FAULT_WRITE, FAULT_OFF, FAULT_LOST)


class PassingFaults(Adapter):
    """Before `Adapter` or one of its kinds in the list of bases; a subclass has `trouble`."""

    _told = 0  # what `trouble` said last

    def trouble(self) -> tuple[int, str]:
        """FAULT_… of the newest exchange as bits, and what is wrong in words."""
        return 0, ""

    def _exchanged(self, bit: int) -> None:
        """A call returned: what it had to say is a fault, or the end of one."""
        status, words = self.trouble()
        if not status & bit:
            super()._exchanged(bit)
        for each in BITS:
            if status & each:
                self.fail(each, words)
            elif self._told & each:
                self.recover(each)
        self._told = status
