"""The contact side of a session: the scene in motion, with tools that follow the servo.

Once per contact period every tool takes over the state that its servo published, the scene makes
one implicit step, and the contacts on the tool go back as a packet. Within that step the hand pulls
the tool through springs, so that a light tool pushes a heavy block with the force of the hand and
not with its own inertia alone. Six springs at ±a along the axes of the grip stand for the
coupling:

    k_i = k/6,    k_θ = ⅔ k a²

They are the scene's copy of the coupling; the force that a hand feels comes from the servo.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tangere.haptics.coupling import VirtualCoupling
from tangere.haptics.layout import (
    HAND_OMEGA,
    HAND_POSITION,
    HAND_QUATERNION,
    HAND_VELOCITY,
    NPACKET,
    NSTATE,
    PACKET_TIME,
    STATE_HAND,
    STATE_TIME,
    STATE_TOOL,
    Rig,
)
from tangere.haptics.mailbox import post, take
from tangere.haptics.packets import follow_servo, make_packet
from tangere.scene.compile import rotation_of
from tangere.scene.scene import Scene, Tool
from tangere.simulation import Simulation

if TYPE_CHECKING:
    from tangere.maths.vec import Array
    from tangere.simulation import Point, Volume

# Stiffness of contacts with a tool whose material gives none, in units of m/dt²: a tool that was
# stopped a tick late comes back about as fast as it came, whatever its mass.
TOOL_KAPPA = 1.0
SOFTEST, STIFFEST = 2e3, 5e4  # … within these bounds [N/m]
# A tool that is its hand (direct coupling) hangs on springs so stiff [m/dt²].
DIRECT_KAPPA = 100.0
# The six springs of a coupling: directions of their ends from the grip.
ENDS = np.concatenate([np.eye(3), -np.eye(3)])


class SceneContact:
    """A simulation whose tools are held by servos."""

    def __init__(
        self, scene: Scene, method: str | Volume | Point, dt: float, rigs: list[Rig]
    ) -> None:
        """Compile the scene with its tools on springs.

        Args:
            scene: With one tool per rig.
            method: Contact method.
            dt: Contact period [s].
            rigs: Where states come from and packets go.
        """
        self.dt = dt
        self.rigs = rigs
        self.tools = scene.tools
        self.simulation = Simulation(_held(scene, dt), method=method, dt=dt)
        self.turns = 0
        self._state = np.zeros(NSTATE)
        self._last: list[Array] = []
        first = len(scene.springs)
        self._springs = [slice(first + 6 * i, first + 6 * i + 6) for i in range(len(self.tools))]

    def turn(self) -> list[Array]:
        """One contact period: follow the servos and step the scene; a packet for each."""
        times = [
            self._follow(tool, rig, at)
            for tool, rig, at in zip(self.tools, self.rigs, self._springs, strict=True)
        ]
        self.simulation.step()
        self.turns += 1
        self._last = [
            self._packet(tool, time + self.dt) for tool, time in zip(self.tools, times, strict=True)
        ]
        return self._last

    def again(self) -> list[Array]:
        """The last packets as if they were new: the scene stands still."""
        for rig, packet in zip(self.rigs, self._last, strict=True):
            take(rig.states, rig.states_at, self._state, NSTATE)
            packet[PACKET_TIME] = self._state[STATE_TIME] + self.dt
        return self._last

    def send(self, packets: list[Array]) -> None:
        """Give each servo its packet."""
        for rig, packet in zip(self.rigs, packets, strict=True):
            post(rig.packets, rig.packets_at, packet, NPACKET)

    def _follow(self, tool: Tool, rig: Rig, springs: slice) -> float:
        """Put a tool where its servo has it and its springs to the hand; the state's time."""
        take(rig.states, rig.states_at, self._state, NSTATE)  # else the last one again
        y, hand = self._state[STATE_TOOL:], self._state[STATE_HAND:]
        c, i = self.simulation._c, tool.index
        follow_servo(c.sizes, c.model, c.state, c.work.pairs, i, y)
        c.work.world.stamp[c.model.part_start[i] : c.model.part_start[i + 1]] = -1
        rotation = c.state.rotation[i].reshape(3, 3)
        self._pull(tool, springs, hand, rotation)
        return float(self._state[STATE_TIME])

    def _pull(self, tool: Tool, springs: slice, hand: Array, rotation: Array) -> None:
        """Let the springs of a tool reach for its hand; its weight is carried."""
        c, i = self.simulation._c, tool.index
        data = c.model.spring_data
        k, b, arm = spring_constants(tool, self.dt)
        turned = rotation_of(hand[HAND_QUATERNION : HAND_QUATERNION + 4])
        ends = arm * ENDS @ turned.T
        target = hand[HAND_POSITION : HAND_POSITION + 3]
        grip = c.state.position[i] + rotation @ data[springs, 0:3].mean(axis=0)
        stretch = float(np.linalg.norm(target - grip))
        if isinstance(tool.coupling, VirtualCoupling) and stretch > 0.0:
            # the saturated spring's secant
            k = min(k, tool.coupling.scale * tool.coupling.max_force / stretch)
        velocity = hand[HAND_VELOCITY : HAND_VELOCITY + 3] + np.cross(
            hand[HAND_OMEGA : HAND_OMEGA + 3], ends
        )
        lift = -tool.mass * c.model.gravity / k if k > 0.0 else 0.0
        # read-only for kernels: Model is constant but for these rows, which move with the hand
        data.setflags(write=True)
        data[springs, 3:6] = target + ends + lift - self.simulation.time * velocity
        data[springs, 6], data[springs, 7] = k / 6.0, b / 6.0
        data[springs, 9:12] = velocity
        data.setflags(write=False)

    def _packet(self, tool: Tool, time: float) -> Array:
        """The contacts of a tool."""
        c, packet = self.simulation._c, np.empty(NPACKET)
        make_packet(
            c.sizes,
            c.state,
            c.work.solver.touches,
            tool.mass,
            tool.index,
            time,
            self.turns,
            packet,
        )
        return packet


def spring_constants(tool: Tool, dt: float) -> tuple[float, float, float]:
    """Stiffness [N/m], damping [N s/m] and arm a [m] of the springs that stand for a coupling."""
    if isinstance(tool.coupling, VirtualCoupling):
        k, turning = tool.coupling.stiffness, tool.coupling.rotational_stiffness
        return k, tool.coupling.damping, math.sqrt(1.5 * turning / k) if k > 0.0 else 0.0
    k = DIRECT_KAPPA * tool.mass / dt**2
    gyration = float(np.trace(tool.inertia)) / (3.0 * tool.mass)
    return k, 0.0, math.sqrt(1.5 * gyration)


def _held(scene: Scene, dt: float) -> Scene:
    """The scene with springs on its tools, and a contact stiffness where theirs is not given."""
    held = Scene(scene.gravity)
    held.floors, held.materials = list(scene.floors), dict(scene.materials)
    held.bodies = [_firm(body, dt) if isinstance(body, Tool) else body for body in scene.bodies]
    held.springs = list(scene.springs)
    held._named = dict(scene._named)
    for tool in scene.tools:
        k, b, arm = spring_constants(tool, dt)
        for end in ENDS:
            held.add_spring(
                tool.index,
                anchor_a=tool.grip + arm * end,
                stiffness=k / 6.0,
                damping=b / 6.0,
            )
    return held


def _firm(tool: Tool, dt: float) -> Tool:
    """The tool with a contact stiffness."""
    if tool.material.stiffness is not None:
        return tool
    k = min(max(TOOL_KAPPA * tool.mass / dt**2, SOFTEST), STIFFEST)
    return replace(tool, material=replace(tool.material, stiffness=k))
