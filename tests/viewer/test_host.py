"""The page in its own process: it comes up, gets its frames, and each side outlives the other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from typing import Any

import numpy as np
import pytest

from tangere.errors import SceneError
from tangere.geometry.shapes import Box
from tangere.scene.scene import Scene
from tangere.steppers.stepper import CONTACT_COLUMNS
from tangere.viewer.frame import Description, Frame, News, Settings, Verdict, history_dtype
from tangere.viewer.host import MOST_RESTARTS, Host
from tangere.viewer.method_choice import offer, offered
from tangere.viewer.orders import Order
from tangere.viewer.wire import Outbox

PATIENCE = 30.0  # [s] for a process to start or end on a loaded machine
BLOCKS = Scene()
BLOCKS.add_body(Box((1, 1, 1)))
STABLE = Verdict("stable", "", "Stable.")


class Still:
    """A source whose frames never change."""

    def __init__(self) -> None:
        settings = Settings("blocks")
        self.description = Description(
            1, settings, BLOCKS, offered(BLOCKS), offer(settings, BLOCKS), STABLE
        )
        none = np.zeros((1, 4))
        self.frame = Frame(1, 0, 0.0, none[:, :3], none, np.zeros(0, CONTACT_COLUMNS))
        self.news = News()
        self.orders: list[Order] = []
        self.lost: list[bool] = []

    def new_rows(self) -> Any:
        return np.zeros(0, history_dtype(0))

    def obey(self, order: Order) -> None:
        self.orders.append(order)

    def page_lost(self, lost: bool) -> None:
        self.lost.append(lost)


@pytest.fixture
def words() -> list[str]:
    return []


@pytest.fixture
def host(words: list[str]) -> Iterator[Host]:
    opened = Host({"blocks": "six", "heap": "many"}, say=words.append)
    opened.open()
    yield opened
    opened.close()


def until(wanted: Callable[[], bool], turn: Callable[[], None] = lambda: None) -> None:
    end = time.monotonic() + PATIENCE
    while not wanted():
        assert time.monotonic() < end
        turn()
        time.sleep(0.01)


def listening(address: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(address.rsplit(":", 1)[1]))) == 0


def process(host: Host) -> Any:
    assert host._process is not None
    return host._process


def instead_of_the_page(host: Host) -> Any:
    """The other end of a pipe that the host now listens to."""
    here, there = Pipe()
    assert host._pipe is not None
    host._pipe.close()
    host._pipe = here
    return there


def test_the_page_runs_in_another_process_on_this_machine_only(host: Host) -> None:
    assert process(host).pid != os.getpid()
    assert host.address.startswith("http://127.0.0.1:")
    assert listening(host.address)


def test_closing_ends_the_process_and_frees_port_and_memory(host: Host) -> None:
    host.show(Still())
    host.turn()
    assert host._block is not None
    name, child = host._block.name, process(host)
    host.close()
    assert child.exitcode == 0
    assert not listening(host.address)
    assert not os.path.exists(f"/dev/shm/{name}")


def test_a_killed_page_is_opened_again_and_the_session_told(host: Host, words: list[str]) -> None:
    source = Still()
    host.show(source)
    host.turn()
    before = host.address
    process(host).kill()
    until(lambda: source.lost == [True, False], host.turn)
    assert host.address == before
    assert listening(before)
    assert "exit code -9" in words[-1]
    assert "session goes on" in words[-1]
    assert before in words[-1]
    host.turn()
    assert host._sent is not None  # the new page was told what there is


def test_a_page_that_keeps_dying_is_given_up(host: Host, words: list[str]) -> None:
    source = Still()
    host.show(source)
    host._restarts = [time.monotonic()] * MOST_RESTARTS
    process(host).kill()
    until(lambda: source.lost == [True], host.turn)
    assert "`tangere play`" in words[-1]
    for _ in range(5):
        host.turn()  # goes on without a page
    assert source.lost == [True]


def test_orders_are_checked_again_before_they_are_obeyed(host: Host) -> None:
    """Whatever the page's process sends: only what can be meant gets through."""
    source = Still()
    host.show(source)
    host.turn()
    there = instead_of_the_page(host)
    for message in (
        b'["pause", [true]]',
        b'["stiffness_factor", [1e300]]',
        b'["push", [3, [0, 0, 1]]]',
        b'["scene", ["/etc/passwd"]]',
        b"\x80\x04\x95 a pickle",
        b'["speed", [NaN]]',
        b'["scene", ["heap"]]',
    ):
        there.send_bytes(message)
    host._obey()
    assert [order.verb for order in source.orders] == ["pause", "scene"]
    assert host.refused == 5


def test_a_page_that_sends_too_much_is_replaced(host: Host) -> None:
    source = Still()
    host.show(source)
    instead_of_the_page(host).send_bytes(b"x" * 100_000)
    until(lambda: source.lost == [True, False], host.turn)
    assert source.orders == []


def test_a_port_that_does_not_exist_is_refused_in_words() -> None:
    host = Host({"blocks": ""}, port=70_000)
    with pytest.raises(SceneError, match="port 70000"):
        host.open()
    host.close()


def test_a_full_pipe_holds_nobody_up() -> None:
    """The other side does not read: messages are dropped, the sender goes on."""
    here, there = Pipe()
    outbox = Outbox(here.send_bytes)
    begin = time.monotonic()
    sent = [outbox.send(b"x" * 10_000) for _ in range(3000)]
    assert time.monotonic() - begin < 5.0
    assert not all(sent)
    there.close()
    here.close()


SCRIPT = """
import threading, sys
sys.path.insert(0, {folder!r})
from test_host import Still
from tangere.viewer.host import Host
host = Host({{"blocks": ""}})
host.open()
host.show(Still())
print(host.address, host._process.pid, flush=True)
host.run(60.0, threading.Event())
"""


def test_the_page_of_a_killed_session_ends_and_frees_its_port() -> None:
    """Also: a script without `if __name__ == "__main__"` may open a page."""
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        address, child = running.stdout.readline().split()
        assert listening(address)
        running.send_signal(signal.SIGKILL)
        running.wait()
        until(lambda: not listening(address))
        until(lambda: not _alive(int(child)))


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
