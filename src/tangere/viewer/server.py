"""The web server behind the page: this machine only, its own page only, no tunnel, no chatter.

The library alone listens where it is told but answers every web page: a browser lets any site open
a WebSocket to 127.0.0.1, and one message over it asks for a public tunnel. So the handshake is
refused unless the page came from this machine, the tunnel is closed for good, and a page can drag,
click and change values of controls, but nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import viser
import websockets.asyncio.server

from tangere.errors import SceneError

HOST = "127.0.0.1"
PORTS_TRIED = 20  # a busy port is stepped over this often before giving up

# Pages of this machine; the port may differ behind a forwarded connection (ssh -L).
OWN_PAGES = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")

_start_lock = threading.Lock()


class Server(viser.ViserServer):
    """A viser server that cannot be shared beyond this machine."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """None: a page about this machine stays on it."""
        return None


def open_server(port: int, label: str) -> tuple[Server, str | None]:
    """A running server on the loopback address, and a note when it had to take another port.

    Args:
        port: Wanted port, 1 … 65535; 0 takes any free one.
        label: Title of the panel.

    Raises:
        SceneError: No port near the wanted one is free, or the page could not be protected.
    """
    # A connection that closes early is no news to the person at the terminal.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    chosen = free_port(port)
    with _start_lock, _quiet(), _own_pages_only() as guard:
        server = Server(host=HOST, port=chosen, label=label, verbose=False)
    if not (guard and _meant_only(server)):
        close_server(server)
        raise SceneError(
            "viewer: this version of viser starts its server in an unknown way, so foreign web "
            "pages could not be kept out; install viser 1.1"
        )
    _wake_in_loop(server)
    bound = server.get_port()
    note = f"port {port} is taken, using {bound}" if port not in (0, bound) else None
    return server, note


def close_server(server: Server) -> None:
    """The server stopped, without its farewell on the terminal."""
    with _quiet():
        server.stop()


def free_port(port: int) -> int:
    """The first free port from `port` on, on the loopback address.

    Raises:
        SceneError: Not a port number, or none of the next ports is free.
    """
    if not 0 <= port <= 65535:
        raise SceneError(f"viewer: port {port} does not exist; give one from 1024 to 65535")
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As the server does, so that a port in TIME_WAIT counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise SceneError(
        f"viewer: ports {port} to {port + PORTS_TRIED - 1} are all taken; choose another (--port)"
    )


@contextlib.contextmanager
def _own_pages_only() -> Iterator[list[bool]]:
    """While open, new WebSocket servers refuse foreign origins; the list fills when one started."""
    plain: Any = websockets.asyncio.server.serve
    started: list[bool] = []

    def serve(*args: Any, **options: Any) -> Any:
        started.append(True)
        # None admits programs that send no origin at all; browsers always send one.
        return plain(*args, origins=[OWN_PAGES, None], **options)

    websockets.asyncio.server.serve = serve  # type: ignore[assignment,misc]
    try:
        yield started
    finally:
        websockets.asyncio.server.serve = plain  # type: ignore[misc]


def _meant_only(server: Server) -> bool:
    """Let the page change values of controls, drag and click, and nothing else; whether it worked.

    The library alone writes whatever property a message names into its own objects, and a file that
    is uploaded into any control. What it cannot make a value of is dropped without a word: a page
    could fill the terminal otherwise.
    """
    from viser._messages import (
        GuiUpdateMessage,
        SceneNodeClickMessage,
        SceneNodeDragMessage,
        TransformControlsDragEndMessage,
        TransformControlsDragStartMessage,
        TransformControlsUpdateMessage,
    )

    meant = (
        GuiUpdateMessage,
        SceneNodeClickMessage,
        SceneNodeDragMessage,
        TransformControlsDragEndMessage,
        TransformControlsDragStartMessage,
        TransformControlsUpdateMessage,
    )
    socket_server: Any = getattr(server, "_websock_server", None)
    plain: Any = getattr(socket_server, "_handle_incoming_message", None)
    if plain is None:
        return False

    async def handle(client: Any, message: Any) -> None:
        more = isinstance(message, GuiUpdateMessage) and set(message.updates) != {"value"}
        if isinstance(message, meant) and not more:
            with contextlib.suppress(Exception):
                await plain(client, message)

    socket_server._handle_incoming_message = handle
    return True


class LoopEvent(asyncio.Event):
    """An event that only the thread of the event loop sets; set elsewhere, nothing happens."""

    def set(self) -> None:
        """Wake those who wait, in the loop alone."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        super().set()


def _wake_in_loop(server: Server) -> None:
    """Let no other thread wake the library's senders.

    The library sets their event from the thread that draws, which asyncio does not allow, and then
    once more in the loop: the former sometimes ended the page ("deque mutated during iteration").
    """
    sender: Any = server._websock_server
    sender.get_message_buffer().message_event = LoopEvent()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """While open, the library's banners stay off the terminal; we say the address ourselves."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
