"""Sessions end with the program: at exit, and on signals that ask it to end.

The hand is safe without this (`session.hand_process`); the recording is whole with it.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import weakref
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tangere.session.session import Session

# Ctrl-C is an exception of Python, and passes through `with` and `finally`.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

_running: weakref.WeakSet[Session] = weakref.WeakSet()
_ours: set[int] = set()


def guard(session: Session) -> None:
    """Stop a session when the program ends; signals that the user handles stay the user's."""
    _running.add(session)
    if threading.current_thread() is not threading.main_thread():
        return  # only there can Python take signals
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
            _ours.add(number)


def release(session: Session) -> None:
    """A session has ended; with the last one signals do again what they did before."""
    _running.discard(session)
    if _running or threading.current_thread() is not threading.main_thread():
        return
    for number in list(_ours):
        _ours.discard(number)
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    """End all sessions, then the program, by the same signal."""
    signal.signal(number, signal.SIG_DFL)
    stop_all(f"ended by {signal.Signals(number).name}")
    os.kill(os.getpid(), number)


@atexit.register
def stop_all(reason: str = "the program ended") -> None:
    """Stop all sessions that run."""
    for session in list(_running):
        with suppress(Exception):  # others are still to be stopped
            session.stop(reason)
