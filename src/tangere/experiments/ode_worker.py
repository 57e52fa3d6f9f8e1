"""Boxes on a floor in the Open Dynamics Engine: scene as JSON on stdin, motion as JSON on stdout.

Run by the system's Python, which has the binding (Debian `python3-pyode`); imports nothing of
tangere.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main() -> None:
    """Read the scene, step it with the direct solver, print every recorded state."""
    import ode

    scene: dict[str, Any] = json.load(sys.stdin)
    world = ode.World()
    world.setGravity(scene["gravity"])
    space = ode.SimpleSpace()
    group = ode.JointGroup()
    # PyODE drops a geometry that Python no longer references, so the floor keeps a name
    floor = ode.GeomPlane(space, (0, 0, 1), 0)
    bodies, shapes = [], [floor]
    for box, inertia in zip(scene["boxes"], scene["inertia"], strict=True):
        body = ode.Body(world)
        mass = ode.Mass()
        mass.setParameters(box["mass"], 0, 0, 0, *inertia, 0, 0, 0)
        body.setMass(mass)
        shape = ode.GeomBox(space, box["size"])
        shape.setBody(body)
        body.setPosition(box["position"])
        body.setQuaternion(box["orientation"])
        body.setLinearVel(box["velocity"])
        body.setAngularVel(box["angular_velocity"])
        bodies.append(body)
        shapes.append(shape)

    def touch(_: Any, a: Any, b: Any) -> None:
        for contact in ode.collide(a, b):
            contact.setMode(ode.ContactApprox1)  # friction pyramid scaled by the normal force
            contact.setMu(scene["friction"])
            ode.ContactJoint(world, group, contact).attach(a.getBody(), b.getBody())

    def state() -> list[list[float]]:
        return [
            [*b.getPosition(), *b.getQuaternion(), *b.getLinearVel(), *b.getAngularVel()]
            for b in bodies
        ]

    dt, every, pull = scene["dt"], scene["every"], scene["pull"]
    start = scene["boxes"][0]["position"][0]
    rows = [state()]
    spent = []
    for i in range(scene["steps"] // every):
        begin = time.perf_counter()
        for j in range(every):
            if pull is not None:
                stiffness, damping, speed = pull
                t = (i * every + j) * dt
                x, y, _ = bodies[0].getPosition()
                force = stiffness * (start + speed * t - x)
                force += damping * (speed - bodies[0].getLinearVel()[0])
                bodies[0].addForceAtPos((force, 0, 0), (x, y, 0))
            space.collide(None, touch)
            world.step(dt)
            group.empty()
        spent.append((time.perf_counter() - begin) / every)
        rows.append(state())
    late = sorted(spent[len(spent) // 2 :])
    json.dump({"rows": rows, "step_time": late[len(late) // 2]}, sys.stdout)


if __name__ == "__main__":
    main()
