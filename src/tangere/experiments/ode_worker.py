"""Boxes on a floor in the Open Dynamics Engine: scene as JSON on stdin, answer as JSON on stdout.

Run by the system's Python, which has the binding (Debian `python3-pyode`); imports nothing of
tangere. The answer is the motion or, where the scene has a `timing`, the seconds of every call. The
binding calls back into Python for every pair of boxes: that is no fault of the engine, so the time
inside the solver is given apart.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


class World:
    """The boxes of a scene, and one step of the engine."""

    def __init__(self, scene: dict[str, Any]) -> None:
        import ode

        self._ode: Any = ode
        self._scene = scene
        self._world = ode.World()
        self._world.setGravity(scene["gravity"])
        # many boxes are timed: the space that is fast for them
        self._space = ode.HashSpace() if scene["timing"] else ode.SimpleSpace()
        self._group = ode.JointGroup()
        # PyODE drops a geometry that Python no longer references, so all are kept
        self._shapes = [ode.GeomPlane(self._space, (0, 0, 1), 0)]
        self.bodies = []
        for box, inertia in zip(scene["boxes"], scene["inertia"], strict=True):
            body = ode.Body(self._world)
            mass = ode.Mass()
            mass.setParameters(box["mass"], 0, 0, 0, *inertia, 0, 0, 0)
            body.setMass(mass)
            shape = ode.GeomBox(self._space, box["size"])
            shape.setBody(body)
            body.setPosition(box["position"])
            body.setQuaternion(box["orientation"])
            body.setLinearVel(box["velocity"])
            body.setAngularVel(box["angular_velocity"])
            self.bodies.append(body)
            self._shapes.append(shape)
        quick = scene["timing"].get("solver") == "quick"
        self._advance = self._world.quickStep if quick else self._world.step

    def step(self) -> float:
        """Make a step; returns the seconds inside the solver."""
        self._space.collide(None, self._touch)
        start = time.perf_counter()
        self._advance(self._scene["dt"])
        solving = time.perf_counter() - start
        self._group.empty()
        return solving

    def _touch(self, _: Any, a: Any, b: Any) -> None:
        for contact in self._ode.collide(a, b):
            contact.setMode(self._ode.ContactApprox1)  # friction pyramid scaled by normal force
            contact.setMu(self._scene["friction"])
            joint = self._ode.ContactJoint(self._world, self._group, contact)
            joint.attach(a.getBody(), b.getBody())

    def state(self) -> list[list[float]]:
        """Position, quaternion, velocity and angular velocity of every box."""
        return [
            [*b.getPosition(), *b.getQuaternion(), *b.getLinearVel(), *b.getAngularVel()]
            for b in self.bodies
        ]


def motion(scene: dict[str, Any]) -> dict[str, Any]:
    """Every recorded state, with the direct solver, and the typical time per step."""
    world = World(scene)
    dt, every, pull = scene["dt"], scene["every"], scene["pull"]
    start = scene["boxes"][0]["position"][0]
    rows = [world.state()]
    spent = []
    for i in range(scene["steps"] // every):
        begin = time.perf_counter()
        for j in range(every):
            if pull is not None:
                stiffness, damping, speed = pull
                t = (i * every + j) * dt
                x, y, _ = world.bodies[0].getPosition()
                force = stiffness * (start + speed * t - x)
                force += damping * (speed - world.bodies[0].getLinearVel()[0])
                world.bodies[0].addForceAtPos((force, 0, 0), (x, y, 0))
            world.step()
        spent.append((time.perf_counter() - begin) / every)
        rows.append(world.state())
    late = sorted(spent[len(spent) // 2 :])
    return {"rows": rows, "step_time": late[len(late) // 2]}


def times(scene: dict[str, Any]) -> dict[str, Any]:
    """Seconds of every call and those inside the solver, after the boxes settled; places then."""
    world, timing = World(scene), scene["timing"]

    def call(steps: int) -> tuple[float, float]:
        begin = time.perf_counter()
        solving = sum(world.step() for _ in range(steps))
        return time.perf_counter() - begin, solving

    call(timing["settle"])
    seconds = [call(timing["steps_per_call"]) for _ in range(timing["calls"])]
    return {"seconds": seconds, "positions": [row[:3] for row in world.state()]}


def main() -> None:
    """Read the scene and print what was asked for."""
    scene: dict[str, Any] = json.load(sys.stdin)
    json.dump((times if scene["timing"] else motion)(scene), sys.stdout)


if __name__ == "__main__":
    main()
