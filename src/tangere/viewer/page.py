"""The page's process: it draws what the session writes, and sends what the browser asks.

It holds nothing that the session needs: killed at any moment, it takes nothing with it. When the
session dies instead, the page says so and stays for a while, for those who look at it.
"""

from __future__ import annotations

import contextlib
import signal
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.errors import DeviceError, SceneError
from tangere.maths.vec import Array
from tangere.viewer.frame import Description, Frame, News, Sheet
from tangere.viewer.orders import FARTHEST, Known, OrderError, checked, encoded
from tangere.viewer.snapshot import Block
from tangere.viewer.wire import Failed, Farewell, Outbox, Ready, received

if TYPE_CHECKING:
    from tangere.viewer.panel import Panel
    from tangere.viewer.server import Server
    from tangere.viewer.stage import Stage

DRAW_INTERVAL = 1.0 / 30.0  # [s] between two pictures
SILENCE = 2.0  # [s] without a new frame until the page says so
LINGER = 30.0  # [s] that the page of a dead session stays, while somebody looks at it
PREPARING = (
    "Preparing the scene. On a fresh machine the kernels compile first, for a minute or two."
)
GONE = "The session has ended unexpectedly. Start it again with: tangere play"


def main(pipe: Connection, port: int, scenes: dict[str, str]) -> None:
    """Run the page until the session says farewell or is gone.

    Args:
        pipe: To the session.
        port: Wanted port on the loopback address; 0 takes any free one.
        scenes: Names to choose from, and what each shows in one line.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's; it ends this one
    from tangere.viewer.server import close_server, open_server

    try:
        server, note = open_server(port, "tangere")
    except SceneError as error:
        pipe.send(Failed(str(error)))
        return
    page = Page(server, pipe, scenes)
    try:
        pipe.send(Ready(f"http://127.0.0.1:{server.get_port()}", note))
        page.run()
    finally:
        page.close()
        close_server(server)


class Hands:
    """The page's handles as the session's devices: poses go through shared memory."""

    def __init__(self) -> None:
        self._sheets: tuple[Sheet, ...] = ()
        self._links: dict[str, Any] = {}

    def load(self, description: Description) -> None:
        """Take hold of the hands of another scene."""
        self._sheets = description.tools
        wanted = {sheet.hand for sheet in self._sheets if sheet.hand}
        for name in [name for name in self._links if name not in wanted]:
            self._links.pop(name).close()
        for name in wanted - set(self._links):
            from tangere.devices.browser import Page as Link

            with contextlib.suppress(DeviceError):  # another description is on its way
                self._links[name] = Link(name)

    def close(self) -> None:
        """Let go of all hands."""
        while self._links:
            self._links.popitem()[1].close()

    def move(self, tool: int, position: Array, orientation: Array, held: bool) -> None:
        """Tell a session's device where the hand shall be, in world coordinates."""
        if tool >= len(self._sheets):
            return
        sheet = self._sheets[tool]
        link = self._links.get(sheet.hand)
        place = np.asarray(position, float) - np.asarray(sheet.origin)
        turn = np.asarray(orientation, float)
        near = float(np.abs(place).max()) <= FARTHEST  # not so of what is no number
        if link is None or not (near and float(np.abs(turn).max()) < 2.0):
            return
        size = float(np.linalg.norm(turn))
        if 0.5 < size < 2.0:
            link.move(place, turn / size)


class Page:
    """What is drawn, and where it comes from."""

    def __init__(self, server: Server, pipe: Connection, scenes: dict[str, str]) -> None:
        from tangere.viewer.stage import Stage

        self.refused = 0  # orders that could not be meant
        self._server = server
        self._pipe = pipe
        self._outbox = Outbox(pipe.send_bytes)
        self._scenes = scenes
        self._known = Known(frozenset(scenes))
        self._stage: Stage = Stage(server)
        self._panel: Panel | None = None
        self._description: Description | None = None
        self._news = News()
        self._block: Block | None = None
        self._hands = Hands()
        self._last = time.monotonic()
        self._word = server.gui.add_html(f'<div style="padding:0.8em"><b>{PREPARING}</b></div>')

    def run(self) -> None:
        """Draw until the session says farewell or is gone."""
        while True:
            start = time.perf_counter()
            messages, there = received(self._pipe, self._pipe.recv)
            for message in messages:
                if isinstance(message, Farewell):
                    return
                self._hear(message)
            if not there:
                self._linger()
                return
            self._draw()
            spent = time.perf_counter() - start
            # At least half of the time belongs to the threads that serve the browser.
            time.sleep(max(spent, DRAW_INTERVAL - spent))

    def close(self) -> None:
        """Let go of all shared memory."""
        self._hands.close()
        if self._block is not None:
            self._block.close()

    def order(self, verb: str, *values: Any) -> bool:
        """Send an order to the session; False if it cannot be meant."""
        try:
            self._outbox.send(encoded(checked(verb, values, self._known)))
        except OrderError:
            self.refused += 1
            return False
        return True

    def _hear(self, message: Any) -> None:
        if isinstance(message, News):
            self._news = message
            return
        assert isinstance(message, Description)
        if self._block is None or self._block.name != message.block:
            if self._block is not None:
                self._block.close()
            try:
                self._block = Block.attach(message.block)
            except OSError:
                self._block = None  # a newer description, with another block, is on its way
                return
        self._description = message
        self._hands.load(message)
        self._known = Known.of(self._scenes, message)

    def _draw(self) -> None:
        if self._description is None or self._block is None:
            return
        frame = self._block.read()
        rows = self._block.new_rows()
        now = time.monotonic()
        if frame is None or frame.build != self._description.build:
            if now - self._last > SILENCE and self._panel is not None:
                self._panel.say(
                    f"The session does not answer: its last picture is {now - self._last:.0f} s "
                    "old. If this lasts, end it with Ctrl-C in its terminal and start it again."
                )
            return
        self._last = now
        self._show(self._description, frame, rows)

    def _show(self, description: Description, frame: Frame, rows: Any) -> None:
        if self._panel is None:
            from tangere.viewer.panel import Panel

            self._word.remove()
            self._panel = Panel(
                self._server, self.order, self._hands.move, self._stage, self._scenes
            )
        self._panel.show(description, frame, rows, self._news)

    def _linger(self) -> None:
        """Say that the session is gone, as long as somebody may read it."""
        if self._panel is not None:
            self._panel.say(GONE)
        else:
            self._word.content = f'<div style="padding:0.8em" role="alert"><b>{GONE}</b></div>'
        end = time.monotonic() + LINGER
        while time.monotonic() < end and self._server.get_clients():
            time.sleep(0.2)
