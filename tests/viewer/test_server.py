"""The page belongs to this machine: who may connect, and on which port."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from tangere.errors import SceneError
from tangere.viewer.server import (
    HOST,
    PORTS_TRIED,
    LoopEvent,
    Server,
    close_server,
    free_port,
    open_server,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    opened, _ = open_server(0, "test")
    yield opened
    close_server(opened)


def shake_hands(server: Server, origin: str | None) -> bytes | str:
    """The page's first message."""
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    address = f"ws://{HOST}:{server.get_port()}"
    with connect(
        address, origin=None if origin is None else Origin(origin), subprotocols=[protocol]
    ) as connection:
        return connection.recv(timeout=10)


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.com",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com:8080",
        "http://192.168.0.7:8080",
        "null",
        "file://",
    ],
)
def test_foreign_pages_are_refused(server: Server, origin: str) -> None:
    with pytest.raises(InvalidStatus) as caught:
        shake_hands(server, origin)
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "http://localhost:9000", None])
def test_pages_of_this_machine_are_served(server: Server, origin: str | None) -> None:
    assert shake_hands(server, origin)


def test_only_the_loopback_address_is_bound(server: Server) -> None:
    assert server.get_host() == "127.0.0.1"


def test_no_tunnel_is_opened(server: Server) -> None:
    assert server.request_share_url() is None


def test_a_busy_port_is_stepped_over_and_said() -> None:
    with socket.socket() as busy:
        busy.bind((HOST, 0))
        busy.listen()
        port = int(busy.getsockname()[1])
        server, note = open_server(port, "test")
        try:
            assert port < server.get_port() < port + PORTS_TRIED
            assert note == f"port {port} is taken, using {server.get_port()}"
        finally:
            close_server(server)


def test_a_free_port_is_taken_without_a_word() -> None:
    port = free_port(0)
    server, note = open_server(port, "test")
    close_server(server)
    assert (server.get_port(), note) == (port, None)


def test_an_impossible_port_is_one_clear_line() -> None:
    with pytest.raises(SceneError, match="port 70000 does not exist"):
        open_server(70000, "test")


def test_nothing_is_said_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    server, _ = open_server(0, "test")
    close_server(server)
    said = capsys.readouterr()
    assert said.out + said.err == ""


def test_senders_are_woken_in_their_loop_alone(server: Server) -> None:
    """Set from another thread, asyncio's own event may break while its loop adds a waiter."""
    assert isinstance(server._websock_server.get_message_buffer().message_event, LoopEvent)

    async def wait() -> bool:
        event = LoopEvent()
        other = threading.Thread(target=event.set)
        other.start()
        other.join()
        untouched = not event.is_set()
        asyncio.get_running_loop().call_soon(event.set)
        await asyncio.wait_for(event.wait(), 10.0)
        return untouched

    assert asyncio.run(wait())
