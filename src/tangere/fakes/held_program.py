"""A program that holds a device, leans on a floor, and then ends in one way or another.

    python -m tangere.fakes.held_program sigkill

It finds a fake vendor's library and its world in the environment (`fakes.vendors`), prints the
clock [ns] when it ends, and ends. Another process looks at the world's log: when was the last force
sent, when was the device closed?
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tangere.devices.device import Device
from tangere.fakes.vendors import World
from tangere.geometry.shapes import Box
from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import ROW_SENT
from tangere.scene.scene import Scene
from tangere.session.session import Session

STIFFNESS = 200.0  # of the coupling [N/m]
LEAN = 0.005  # of the hand below the floor [m]
PACE = 2e-4  # of the hand on its way there [m per 2 ms]
ENOUGH = 0.5  # of a force to be let go of [N]
LONG = 60.0  # [s] the end comes from outside


def lean_on(device: str | Device = "forcedimension", **options: Any) -> Session:
    """A session whose tool, a cube, stands on a floor; the hand is on the cube."""
    scene = Scene()
    scene.add_body(Box((0.4, 0.4, 0.1)), position=(0.0, 0.0, -0.05), fixed=True, name="floor")
    scene.add_tool(
        Box((0.03, 0.03, 0.03)),
        position=(0.0, 0.0, 0.015),
        name="cube",
        coupling=VirtualCoupling(stiffness=STIFFNESS, damping=2.0),
    )
    return Session(scene, device=device, **options)


def lower(world: World, session: Session) -> None:
    """Move the hand down until it leans, not faster than a hand moves."""
    x, y, z = world["position"]
    end = time.monotonic() + LONG
    for depth in np.arange(0.0, LEAN, PACE):
        world["position"] = x, y, z - depth
        time.sleep(2e-3)
    while np.linalg.norm(session.rigs[0].row[ROW_SENT : ROW_SENT + 3]) < ENOUGH:
        if time.monotonic() > end:
            raise TimeoutError("the hand never felt the floor")
        time.sleep(2e-3)


def _raise(session: Session) -> None:
    raise RuntimeError("on purpose")


def _kill(number: int) -> Callable[[Session], None]:
    def kill(session: Session) -> None:
        os.kill(os.getpid(), number)
        time.sleep(LONG)

    return kill


def _stop(session: Session) -> None:
    session.stop()


def _fault(session: Session) -> None:
    ctypes.string_at(0)


# How it ends, by name; the session is running.
ENDINGS: dict[str, Callable[[Session], None]] = {
    "stop": _stop,
    "exit": lambda session: sys.exit(0),
    "exception": _raise,
    "interrupt": _kill(signal.SIGINT),
    "sigterm": _kill(signal.SIGTERM),
    "sighup": _kill(signal.SIGHUP),
    "sigkill": _kill(signal.SIGKILL),
    "segmentation fault": _fault,
    "os._exit": lambda session: os._exit(1),
    "sigstop": _kill(signal.SIGSTOP),
}


def main(ending: str) -> None:
    """Hold the device, and end."""
    world = World(os.environ["FAKE_WORLD"])
    session = lean_on()
    session.start()
    lower(world, session)
    time.sleep(0.05)
    sys.stdout.write(f"{time.monotonic_ns()}\n")
    sys.stdout.flush()
    ENDINGS[ending](session)


if __name__ == "__main__":
    main(sys.argv[1])
