"""An experiment with a participant: a staircase looks for the weakest grating that is felt."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tangere as tg


@tg.effect
def grating(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
    wrench[0] -= p[0] * math.sin(2 * math.pi * pose[0] / p[1])


def staircase() -> None:  # called after each contact period; a trial lasts a second
    seen.append((*session.rigs[0].send[:3], session.rigs[0].reading[14]))  # force, buttons
    if session.simulation.time > 1 + len(levels):
        shaken, *_, buttons = np.ptp(seen, axis=0)
        felt = buttons > 0 if DEVICE else shaken > noise.normal(1.0, 0.05)  # [N]: so we made it
        session.mark("felt" if felt else "not felt", levels[-1])
        levels.append(levels[-1] * (0.8 if felt else 1.25))  # one down, one up
        texture.parameters[0], session.trial, seen[:] = levels[-1], f"trial {len(levels)}", []


scene = tg.Scene()
scene.add_floor(material=tg.Material(static_friction=0.1, kinetic_friction=0.1))
scene.add_tool(tg.Sphere(0.01), mass=0.01, position=(0, 0, 0.012), name="probe")
arm = tg.devices.Hand(lambda t: (math.sin(6 * t) / 50, 0, 0.012 - min(t, 1) / 100), device="Touch")
DEVICE = ""  # yours, such as "forcedimension"; empty: the arm above, simulated
session = tg.Session(scene, device=DEVICE or arm, buttons=tg.Buttons(clutch=None))
levels, seen, noise = [0.8], [], np.random.default_rng(1)  # type: ignore[var-annotated]
texture = session.add_effect(grating, parameters=(levels[0], 0.008), power=0.02)  # [N, m], [W]
with TemporaryDirectory() as folder:  # for data that stay: a folder of your own
    trace = session.run(22, realtime=bool(DEVICE), record=Path(folder, "p01.h5"), each=staircase)
    trace.to_csv(Path(folder, "p01.csv"), events=Path(folder, "p01-events.csv"))
print(f"{len(levels)} trials, mean of the last ten: {(found := np.mean(levels[-10:])):.2f} N")
assert 0.1 < found < 0.6
