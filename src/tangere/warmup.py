"""Every entry kernel run once on a tiny input, so that nothing compiles later in a running session.

With a warm cache this loads the machine code, in about a second; the first time on a machine it
compiles, under one progress bar. `python -m tangere.warmup` does so on two cores: while this
process compiles the simulation, a second one compiles what does not need it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

import tangere as tg
from tangere._jit import compiled_count, one_bar

BLOCK = (0.1, 0.1, 0.1)  # [m]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
COMPILED = 300  # functions on disk from which on little is left to compile


def jobs() -> Mapping[str, Callable[[], object]]:
    """Name and tiny run of everything that a user can call and that ends in a kernel."""
    return {
        "simulation": _one_step,
        "contact law": _one_law,
        "energy": _one_energy,
        "distance": _one_distance,
        "contact volume": _one_volume,
        "devices": _two_devices,
        "servo": _one_servo,
        "tool": _one_tool,
        "penalty": _one_query,
        "session": _one_touch,
    }


# Jobs without a simulation, which is by far the longest of all to compile.
APART = ("distance", "contact volume", "devices", "servo", "tool", "penalty")


def warm_up(names: Iterable[str] | None = None) -> float:
    """Seconds that it took to have every entry kernel compiled and loaded in this process.

    Args:
        names: Jobs to do; None: all.
    """
    start = time.perf_counter()
    with one_bar():
        for name, job in jobs().items():
            if names is None or name in names:
                job()
    return time.perf_counter() - start


def warm_up_together() -> float:
    """The same with the help of a second process."""
    if compiled_count() >= COMPILED:
        return warm_up()
    start = time.perf_counter()
    code = "from tangere.warmup import APART, warm_up; warm_up(APART)"
    helper = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    with one_bar():
        _one_step()
        helper.wait()  # what it could not compile is compiled here
        warm_up()
    return time.perf_counter() - start


def _one_step() -> None:
    """One kernel makes the steps of all methods, with and without springs."""
    _block_on_floor().step()


def _one_law() -> None:
    _block_on_floor().contact_law(0, -1)


def _one_energy() -> None:
    _ = _block_on_floor().energy


def _block_on_floor() -> tg.Simulation:
    scene = tg.Scene()
    scene.add_floor()
    scene.add_body(tg.Box(BLOCK), position=(0.0, 0.0, 0.05))
    return tg.Simulation(scene)


def _two_devices() -> None:
    """The ones whose motion is computed: what they need is compiled when they are opened."""
    from tangere.maths.quat import from_vector, product, unit

    for device in (tg.devices.Browser(), tg.devices.Hand()):
        device.open()
        device.close()
    unit(product(from_vector((0.0, 0.0, 0.0)), UPRIGHT))  # a space mouse adds up its turns


def _one_servo() -> None:
    """The paced loop."""
    from tangere.haptics.servo import warm_up as warm_up_servo

    warm_up_servo()


def _one_tool() -> None:
    """Steps of a tool by itself, as experiments make them."""
    from tangere.haptics.layout import (
        NHAND,
        NOUT,
        NTOOL,
        SET_INERTIA,
        SET_MASS,
        SET_STEP,
        new_rig,
    )
    from tangere.haptics.tool import step_along, step_once

    rig = new_rig()
    tg.VirtualCoupling().apply(rig.settings)
    rig.settings[SET_STEP], rig.settings[SET_MASS] = 1e-3, 0.01
    rig.settings[SET_INERTIA : SET_INERTIA + 3] = 1e-5
    step_once(rig.settings, rig.tool, rig.hand, rig.packet, 0.0, rig.grips, rig.out)
    hands, rows = rig.hand.reshape(1, NHAND), np.zeros((1, NTOOL + NOUT))
    step_along(rig.settings, rig.tool, hands, rig.packet, rig.grips, rig.out, rows)


def _one_query() -> None:
    """Distance fields, contacts and planes of the penalty method."""
    from tangere.contact.penalty.field import build
    from tangere.contact.penalty.method import PenaltyContact
    from tangere.contact.penalty.samples import scatter

    box = tg.Box(BLOCK)
    spacing = 0.25 * BLOCK[0]
    scatter(*box.surface(), build(*box.surface(), spacing), spacing)  # the user's may be on disk
    contact = PenaltyContact(box, [box], [((0.0, 0.0, 1.0), 0.0)])
    contact.query(((0.0, 0.0, 0.0499), UPRIGHT), body_poses=[((0.1, 0.0, 0.05), UPRIGHT)])
    contact.update()


def _one_touch() -> None:
    """Contact loop and tick of a hand."""
    scene = tg.Scene()
    scene.add_floor()
    scene.add_tool(tg.Box(BLOCK), position=(0.0, 0.0, 0.05))
    device = tg.devices.Scripted(lambda _: (0.0, 0.0, 0.049))
    tg.Session(scene, device=device).run(0.002, realtime=False)


def _one_distance() -> None:
    from tangere.collision.distance import warm_up as warm_up_distance

    warm_up_distance(tg.Box(BLOCK).parts()[0])


def _one_volume() -> None:
    box = tg.Box(BLOCK)
    tg.contact_volume(box, ((0.0, 0.0, 0.0), UPRIGHT), box, ((0.09, 0.01, 0.02), UPRIGHT))


if __name__ == "__main__":
    sys.stderr.write(f"tangere: kernels ready in {warm_up_together():.1f} s\n")
