"""The pipe between session and page, from both ends: nobody ever waits for the other.

A pipe that is full holds up who writes to it. So each side writes from a thread of its own, out of
a queue that has an end: when the other side no longer reads, messages are dropped, and the loops
that draw, obey and step go on.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

MOST_WAITING = 1000  # messages that wait for the other side to read


class Ready(NamedTuple):
    """The page is up."""

    address: str
    note: str | None
    """What the person at the terminal should know, such as another port."""


class Failed(NamedTuple):
    """The page could not come up."""

    words: str


class Farewell(NamedTuple):
    """The session ends as it should."""


class Outbox:
    """Messages on their way to the other side."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        """Send with `write`, a method of a `Connection`, in a thread."""
        self._write = write
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tangere-outbox", daemon=True)
        self._thread.start()

    def send(self, message: Any) -> bool:
        """Queue a message; False when the other side has not read for long, or is gone."""
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            return False
        return self._thread.is_alive()

    def flush(self, seconds: float) -> None:
        """Wait until all is sent, but not longer than so many seconds."""
        self._closing.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not (self._closing.is_set() and self._waiting.empty()):
            try:
                message = self._waiting.get(timeout=0.05)
            except queue.Empty:
                continue
            try:
                self._write(message)
            except (OSError, ValueError):  # the other side is gone, or the pipe was closed here
                return


def received(connection: Connection, read: Callable[[], Any]) -> tuple[list[Any], bool]:
    """Messages that have arrived, and whether the other side is still there."""
    messages = []
    try:
        while connection.poll():
            messages.append(read())
    except (EOFError, OSError):
        return messages, False
    return messages, True
