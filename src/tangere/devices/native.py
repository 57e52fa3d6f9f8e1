"""What adapters over vendors' C libraries share: the library, and a device that kernels serve.

A servo that can call C functions takes the device over by `native_port`; the calls are then made
within its tick. Until then, and for whoever only uses `read` and `write`, a thread of the adapter
or the vendor's own scheduler serves the device through mailboxes (`haptics.exchange`), so that no
call here waits.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tangere._jit import c_callback, one_bar
from tangere.devices.device import HOLD, Adapter, DeviceInfo, Floats
from tangere.errors import DeviceError
from tangere.haptics.exchange import exchange, new_exchange, turn
from tangere.haptics.layout import (
    FAULT_OFF,
    FAULT_READ,
    FAULT_WRITE,
    NREAD,
    NSEND,
    READ_SEQUENCE,
    READ_STATUS,
    SEND_FORCE,
    SEND_TORQUE,
    SOURCE_DHD,
)
from tangere.haptics.mailbox import post, take
from tangere.maths.vec import Array, LongArray

HOLD_NS = round(1e9 * HOLD)
# A device that nobody has served for so long counts as one that cannot be read [s].
SILENT = 0.1


class Native(Adapter):
    """An adapter whose device is read and driven through the arrays of an `Exchange`.

    A subclass has `_connect`, which sets the words of `arrays.port` and begins to serve, `words`,
    and `_disconnect`.
    """

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self.arrays = new_exchange()
        self.serving = False
        self._newest = np.zeros(NREAD)
        self._command = np.zeros(NSEND)
        self._heard = 0.0
        self._posting = threading.Lock()

    def words(self, status: int) -> str:
        """What the device says of a fault."""
        return f"status {status}"

    def begin_serving(self) -> None:
        """From now on somebody exchanges readings and commands with the device."""
        self._newest = self.arrays.reading.copy()
        self._heard = time.monotonic()
        self.serving = True

    def observe(self, port: LongArray, status: int) -> None:
        """Say in words what a servo that serves the device was answered.

        Args:
            port: Its words, with what the calls left there.
            status: FAULT_… of its newest exchange.
        """
        self.arrays.port[:] = port
        off = self.force_off
        for bit, words in (
            (FAULT_READ, self.words(status) if status & FAULT_READ else ""),
            (FAULT_WRITE, self.words(status) if status & FAULT_WRITE else ""),
            (FAULT_OFF, f"the motors are off: {off}" if off else ""),
        ):
            if words:
                self.fail(bit, words)
            else:
                self.recover(bit)

    @property
    def force_off(self) -> str:
        """Why the motors are off, in words; empty: they are on, as far as the device says."""
        return ""

    def trouble(self) -> tuple[int, str]:
        """What the newest exchange failed with, or that there is none."""
        if self.serving and time.monotonic() - self._heard > SILENT:
            return FAULT_READ, f"its driver has not answered for {SILENT:g} s"
        status = int(self._newest[READ_STATUS])
        return status, self.words(status)

    def _receive(self, out: Array) -> bool:
        before = self._newest[READ_SEQUENCE]
        if take(self.arrays.inbox, self.arrays.inbox_at, self._newest, NREAD):
            self._heard = time.monotonic()
        out[:] = self._newest
        return bool(self._newest[READ_SEQUENCE] != before)

    def _send(self, force: Floats, torque: Floats) -> None:
        with self._posting:  # a mailbox has one writer; a device may be closed from any thread
            self._command[SEND_FORCE : SEND_FORCE + 3] = force
            self._command[SEND_TORQUE : SEND_TORQUE + 3] = torque
            post(self.arrays.outbox, self.arrays.outbox_at, self._command, NSEND)


def warm_up() -> None:
    """Compile or load what serves a device, before one waits for it; nothing is called."""
    spare = new_exchange()
    with one_bar():
        exchange(spare, SOURCE_DHD, 0, HOLD_NS)
        post(spare.outbox, spare.outbox_at, spare.send, NSEND)
        take(spare.inbox, spare.inbox_at, spare.reading, NREAD)
        c_callback(turn)


def load_library(
    what: str, folders: Iterable[Path], patterns: Sequence[str], remedy: str
) -> ctypes.CDLL:
    """A vendor's library: the newest that fits a pattern, folder by folder, then the system's.

    Args:
        what: The vendor, for errors.
        folders: Where to look first; those that are not there do not matter.
        patterns: Names of files, with wildcards for versions, the best first.
        remedy: What the user shall do.

    Raises:
        DeviceError: There is none, or it cannot be loaded.
    """
    for folder in folders:
        for pattern in patterns:
            for path in sorted(folder.glob(pattern), reverse=True):
                try:
                    return ctypes.CDLL(str(path))
                except OSError as error:
                    raise DeviceError(
                        f"{what}: {path} cannot be loaded ({error}): install what it needs"
                    ) from None
    for pattern in patterns:
        try:
            return ctypes.CDLL(pattern.replace("*", ""))
        except OSError:
            continue
    names = " or ".join(pattern.replace("*", "") for pattern in patterns)
    raise DeviceError(f"{what}: no library {names}: {remedy}")
