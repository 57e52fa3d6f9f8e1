"""Boxes on a floor in the Open Dynamics Engine, timed: scene as JSON on stdin, seconds on stdout.

Run by the system's Python, which has the binding (Debian `python3-pyode`); imports nothing of
tangere. The binding calls back into Python for every pair of boxes. That is no fault of the engine,
so the time inside the solver is given apart.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main() -> None:
    """Read the scene, settle it, print the seconds of every call and those inside the solver."""
    import ode

    scene: dict[str, Any] = json.load(sys.stdin)
    world = ode.World()
    world.setGravity(scene["gravity"])
    space = ode.HashSpace()
    group = ode.JointGroup()
    # PyODE drops a geometry that Python no longer references, so the floor keeps a name
    floor = ode.GeomPlane(space, (0, 0, 1), 0)
    keep = [floor]
    for box in scene["boxes"]:
        body = ode.Body(world)
        mass = ode.Mass()
        mass.setBoxTotal(box["mass"], *box["size"])
        body.setMass(mass)
        shape = ode.GeomBox(space, box["size"])
        shape.setBody(body)
        body.setPosition(box["position"])
        keep.append(shape)

    def touch(_: Any, a: Any, b: Any) -> None:
        for contact in ode.collide(a, b):
            contact.setMode(ode.ContactApprox1)  # friction pyramid scaled by the normal force
            contact.setMu(scene["friction"])
            ode.ContactJoint(world, group, contact).attach(a.getBody(), b.getBody())

    dt, clock = scene["dt"], time.perf_counter
    advance = world.quickStep if scene["solver"] == "quick" else world.step

    def call(steps: int) -> tuple[float, float]:
        solving = 0.0
        begin = clock()
        for _ in range(steps):
            space.collide(None, touch)
            start = clock()
            advance(dt)
            solving += clock() - start
            group.empty()
        return clock() - begin, solving

    call(scene["settle"])
    seconds = [call(scene["steps_per_call"]) for _ in range(scene["calls"])]
    json.dump({"seconds": seconds, "positions": [s.getPosition() for s in keep[1:]]}, sys.stdout)


if __name__ == "__main__":
    main()
