"""The contact side of a session: the scene in motion, with tools that follow the servo.

Once per contact period every tool takes over the state that its servo published, the scene makes
one implicit step, and the contacts on the tool go back as a packet. Within that step the hand pulls
the tool through the springs of its grip (`tangere.grip`). They are the scene's copy of the
coupling; the force that a hand feels comes from the servo.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import STATE_HAND, STATE_TIME, STATE_TOOL, Rig
from tangere.haptics.packets import Pull
from tangere.scene.scene import Body, Scene, Tool
from tangere.session.tool_side import ToolSide
from tangere.simulation import Simulation

if TYPE_CHECKING:
    from tangere.maths.vec import Array

# Stiffness of contacts with a tool whose material gives none, in units of m/dt²: a tool that was
# stopped a tick late comes back about as fast as it came, whatever its mass.
TOOL_KAPPA = 1.0
SOFTEST, STIFFEST = 2e3, 5e4  # … within these bounds [N/m]
# A tool that is its hand (direct coupling) hangs on springs so stiff [m/dt²].
DIRECT_KAPPA = 100.0


class SceneSide(ToolSide):
    """A simulation whose tools are held by servos, by any method that can move a scene."""

    def __init__(self, scene: Scene, options: Any, dt: float, rigs: list[Rig]) -> None:
        """Compile the scene with its tools on springs.

        Args:
            scene: With one tool per rig.
            options: Contact method.
            dt: Contact period [s].
            rigs: Where states come from and packets go.
        """
        super().__init__(scene, dt, rigs)
        self.ahead = dt
        firm = [_firm(body, dt) for body in scene.bodies]
        self.simulation = Simulation(scene.with_bodies(firm), method=options, dt=dt)
        self.grips = [self.simulation.hold(tool.index) for tool in self.tools]
        self._pulls = [spring_constants(tool, dt) for tool in self.tools]
        for grip, tool, pull in zip(self.grips, self.tools, self._pulls, strict=True):
            grip.attach(tool.grip, pull.arm)

    def turn(self) -> list[Array]:
        """One contact period: follow the servos and step the scene; a packet for each."""
        times = [self.follow(hand) for hand in range(len(self.tools))]
        self.simulation.step()
        self.turns += 1
        self._last = [
            grip.packet(tool.mass, time + self.dt)
            for grip, tool, time in zip(self.grips, self.tools, times, strict=True)
        ]
        return self._last

    def hold(self, index: int, tool: Tool) -> None:
        """Another coupling of a tool, from the next period on; call it between two periods."""
        super().hold(index, tool)
        self._pulls[index] = spring_constants(tool, self.dt)

    def follow(self, hand: int) -> float:
        """Put a tool where its servo has it and its springs to the hand; the state's time."""
        state, grip = self.newest(hand), self.grips[hand]
        grip.follow(state[STATE_TOOL:], self.dt)
        grip.pull(state[STATE_HAND:], self.tools[hand].mass, self._pulls[hand])
        return float(state[STATE_TIME])


def spring_constants(tool: Tool, dt: float) -> Pull:
    """Stiffness, damping, arm and limit of the springs that stand for a coupling."""
    coupling = tool.coupling
    if isinstance(coupling, VirtualCoupling):
        k, turning = coupling.stiffness, coupling.rotational_stiffness
        most = coupling.scale * coupling.max_force
        return Pull(tool.index, k, coupling.damping, math.sqrt(1.5 * turning / k), most)
    k = DIRECT_KAPPA * tool.mass / dt**2
    gyration = float(np.trace(tool.inertia)) / (3.0 * tool.mass)
    return Pull(tool.index, k, 0.0, math.sqrt(1.5 * gyration), math.inf)


def _firm(body: Body, dt: float) -> Body:
    """A tool with a contact stiffness; other bodies as they are."""
    if not isinstance(body, Tool) or body.material.stiffness is not None:
        return body
    k = min(max(TOOL_KAPPA * body.mass / dt**2, SOFTEST), STIFFEST)
    return replace(body, material=replace(body.material, stiffness=k))
