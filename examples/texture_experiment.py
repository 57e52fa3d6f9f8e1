"""An experiment with a participant: strokes over gratings of three strengths, trial by trial."""

import math
import tempfile
from pathlib import Path
from typing import Any

import tangere as tg


@tg.effect
def grating(pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
    wrench[7] = math.sin(2 * math.pi * pose[0] / p[1])  # the first column of our own
    wrench[0] -= p[0] * wrench[7]


def schedule() -> None:  # called after each contact period
    if plan and session.simulation.time >= plan[0][0]:
        columns["strength"] = texture.parameters[0] = plan.pop(0)[1]
        session.trial = f"{columns['strength']:g} N"
        session.mark("stimulus", columns["strength"])


scene = tg.Scene()
scene.add_floor(material=tg.Material(static_friction=0.1, kinetic_friction=0.1))
scene.add_tool(tg.Sphere(0.01), mass=0.01, position=(0, 0, 0.012), name="probe")
arm = tg.devices.Hand(lambda t: (math.sin(6 * t) / 50, 0, 0.012 - min(t, 1) / 100), device="Touch")
DEVICE = ""  # yours, such as "forcedimension"; empty: the arm above, simulated
session = tg.Session(scene, device=DEVICE or arm, safety=tg.Safety(force=4))
columns = session.columns("phase", "strength")
texture = session.add_effect(grating, parameters=(0, 0.008), power=0.02)  # [N], [m]; [W]
plan = [(2.0, 0.2), (4.0, 0.8), (6.0, 0.4)]  # a trial's begin [s] and strength [N]
with tempfile.TemporaryDirectory() as folder:  # for data that stay: a folder of your own
    trace = session.run(8, realtime=bool(DEVICE), record=Path(folder, "p01.h5"), each=schedule)
    trace.to_csv(Path(folder, "p01.csv"), events=Path(folder, "p01-events.csv"))
    for trial in trace.trials():
        x, _, z = trial["device.force"].T
        trial.plot(Path(folder, f"{trial.label}.png"))
        print(f"{trial.label}: pressed with {z.mean():.2f} N, {x.std():.2f} N rms along x")
assert trial.label == "0.4 N"
