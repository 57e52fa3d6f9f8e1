"""The session's side of the page: it starts the page's process, feeds it and obeys its orders.

The page draws and listens to the web in a process of its own, so that neither can hold up a tick.
When that process dies the session goes on; the page is opened again at the same address, where an
open browser finds it by itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from tangere.errors import SceneError
from tangere.viewer.frame import Description, Frame, News
from tangere.viewer.orders import LONGEST, Known, Order, OrderError, decoded
from tangere.viewer.snapshot import Block, Room
from tangere.viewer.soft_surfaces import vertex_count
from tangere.viewer.wire import Failed, Farewell, Outbox, Ready, received

INTERVAL = 1.0 / 60.0  # [s] between two frames for the page
PATIENCE = 60.0  # [s] until the page's process must be up
MOST_RESTARTS = 3  # times that a lost page is opened again …
RESTART_WINDOW = 60.0  # … within so many seconds


class Source(Protocol):
    """What a session shows on its page; the Python side of a simulation or of a haptic session."""

    @property
    def description(self) -> Description:
        """What is simulated; a new build number after every change."""

    @property
    def frame(self) -> Frame:
        """The newest picture; its build is that of the description or of the one before."""

    @property
    def news(self) -> News:
        """Words that change now and then."""

    def new_rows(self) -> Any:
        """Rows of the live plots since the last call, `frame.history_dtype` of its tools."""

    def obey(self, order: Order) -> None:
        """Carry out a checked order; may be called from another thread."""

    def page_lost(self, lost: bool) -> None:
        """The page's process went away, or is there again."""


class Host:
    """A page and the process that draws it, from `open` to `close`."""

    def __init__(
        self,
        scenes: dict[str, str],
        port: int = 0,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Nothing runs yet.

        Args:
            scenes: Names to choose from, and what each shows in one line.
            port: Of the page, on this machine only; 0 takes any free one.
            say: Tells the person at the terminal.
        """
        self.address = ""
        self.refused = 0  # orders that could not be meant
        self._scenes = scenes
        self._port = port
        self._say = say
        self._source: Source | None = None
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._outbox: Outbox | None = None
        self._block: Block | None = None
        self._sent: Description | None = None
        self._news: News | None = None
        self._known = Known(frozenset(scenes))
        self._restarts: list[float] = []

    def start(self) -> None:
        """Start the page's process."""
        from tangere.viewer.page import main

        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=main, args=(theirs, self._port, self._scenes), name="tangere-page", daemon=True
        )
        with _without_main():
            self._process.start()
        theirs.close()  # so that the end of that process closes the pipe
        self._outbox = Outbox(self._pipe.send)

    def open(self) -> None:
        """Start the page's process and wait for it."""
        self.start()
        self.wait()

    def wait(self) -> None:
        """Wait until the page is up; it shows that the scene is being prepared.

        Raises:
            SceneError: The page could not come up.
        """
        ready = self._await_ready()
        self.address = ready.address
        self._port = int(ready.address.rsplit(":", 1)[1])
        if ready.note:
            self._say(ready.note)

    def show(self, source: Source) -> None:
        """From now on this is what the page shows."""
        self._source = source
        self._sent = self._news = None

    def run(self, seconds: float | None, stop: threading.Event) -> None:
        """Feed the page until the time on the wall is over [s] or `stop` is set."""
        begin = time.perf_counter()
        while seconds is None or time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            self.turn()
            if stop.wait(max(0.2 * INTERVAL, start + INTERVAL - time.perf_counter())):
                break

    def turn(self) -> None:
        """Once around: obey, describe, show, and see whether the page is still there."""
        self._obey()
        self._feed()
        if self._process is not None and not self._process.is_alive():
            self._page_is_gone()

    def close(self) -> None:
        """End the page's process and give back the shared memory."""
        if self._outbox is not None:
            self._outbox.send(Farewell())
            self._outbox.flush(1.0)
        self._end_process()
        if self._block is not None:
            self._block.close()
            self._block = None

    # ------------------------------------------------------------------ the process

    def _await_ready(self) -> Ready:
        assert self._pipe is not None
        assert self._process is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.is_alive():
            if self._pipe.poll(0.1):
                try:
                    answer = self._pipe.recv()
                except (EOFError, OSError):
                    break
                if isinstance(answer, Failed):
                    self._end_process()
                    raise SceneError(answer.words)
                assert isinstance(answer, Ready)
                return answer
        self._end_process()
        raise SceneError("viewer: the page's process did not come up; try again, or use --headless")

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.join(2.0)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = self._outbox = None

    def _page_is_gone(self) -> None:
        """Say so, tell the source, and open the page again unless that keeps failing."""
        assert self._process is not None
        code = self._process.exitcode
        self._end_process()
        if self._source is not None:
            self._source.page_lost(True)
        now = time.monotonic()
        self._restarts = [t for t in self._restarts if now - t < RESTART_WINDOW]
        what = f"the page's process ended (exit code {code}); the session goes on"
        if len(self._restarts) >= MOST_RESTARTS:
            self._say(f"{what} without it: Ctrl-C ends it, `tangere play` opens a new one")
            return
        self._restarts.append(now)
        self._say(f"{what}, and the page is opened again at {self.address}")
        try:
            self.open()
        except SceneError as error:
            self._say(f"{error}; the session goes on without its page, Ctrl-C ends it")
            return
        self._sent = self._news = None
        if self._source is not None:
            self._source.page_lost(False)

    # ------------------------------------------------------------------ both directions

    def _obey(self) -> None:
        if self._pipe is None or self._source is None:
            return
        pipe = self._pipe
        messages, there = received(pipe, lambda: pipe.recv_bytes(LONGEST))
        if not there and self._process is not None:
            self._process.kill()  # it speaks no more, or another language
            self._process.join()
        for message in messages:
            try:
                order = decoded(message, self._known)
            except OrderError:
                self.refused += 1
                continue
            self._source.obey(order)

    def _feed(self) -> None:
        source = self._source
        if source is None or self._outbox is None:
            return
        frame, description = source.frame, source.description
        if self._sent is None or description.build != self._sent.build:
            self._describe(description)
        if self._block is not None and frame.build == description.build:
            self._block.write(frame)
            self._block.extend(source.new_rows())
        news = source.news
        if news != self._news:
            self._news = news
            self._outbox.send(news)

    def _describe(self, description: Description) -> None:
        """Send what is simulated now, with the name of a block that its frames fit in."""
        assert self._outbox is not None
        scene = description.scene
        needed = Room(len(scene.bodies), len(description.tools), vertices=vertex_count(scene))
        if self._block is None or not self._block.room.holds(needed):
            old, self._block = self._block, Block.create(needed)
            if old is not None:
                old.close()
        self._sent = replace(description, block=self._block.name)
        self._known = Known.of(self._scenes, description)
        self._outbox.send(self._sent)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """While open, new processes do not run the user's script again.

    A spawned process imports the main module of its parent, so a script that calls `play` at its
    top level would have to hide that behind `if __name__ == "__main__"`. The page needs nothing of
    it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
