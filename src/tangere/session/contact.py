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
    NPACKET,
    NSTATE,
    PACKET_TIME,
    STATE_HAND,
    STATE_TIME,
    STATE_TOOL,
    Rig,
)
from tangere.haptics.mailbox import post, take
from tangere.haptics.packets import ENDS, Pull, follow_servo, make_packet, pull_tool
from tangere.scene.scene import Body, Scene, Tool
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
DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])  # of the springs' ends from the grip


class ContactSide:
    """What every contact side shares: the newest state of each servo, and packets to it."""

    ahead = 0.0  # time of a packet after that of the state it was asked with [s]

    def __init__(self, scene: Scene, dt: float, rigs: list[Rig]) -> None:
        self.dt = dt
        self.rigs = rigs
        self.tools = scene.tools
        self.turns = 0
        # one for each hand: a servo that has nothing new is where it was, not where another is
        self._states = [np.zeros(NSTATE) for _ in rigs]
        self._last: list[Array] = []

    def newest(self, hand: int) -> Array:
        """STATE_… of a servo, the last one again if there is nothing new."""
        rig = self.rigs[hand]
        take(rig.states, rig.states_at, self._states[hand], NSTATE)
        return self._states[hand]

    def again(self) -> list[Array]:
        """The last packets as if they were new: the scene stands still."""
        for hand, packet in enumerate(self._last):
            packet[PACKET_TIME] = self.newest(hand)[STATE_TIME] + self.ahead
        return self._last

    def send(self, packets: list[Array]) -> None:
        """Give each servo its packet."""
        for rig, packet in zip(self.rigs, packets, strict=True):
            post(rig.packets, rig.packets_at, packet, NPACKET)


class SceneContact(ContactSide):
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
        super().__init__(scene, dt, rigs)
        self.ahead = dt
        self.simulation = Simulation(_held(scene, dt), method=method, dt=dt)
        # Model is constant, but the springs' far ends move with the hands: kernels of the step see
        # them through a view that is read-only.
        c = self.simulation._c
        self._reach = c.model.spring_data.copy()
        seen = self._reach.view()
        seen.setflags(write=False)
        self.simulation._c = c._replace(model=c.model._replace(spring_data=seen))
        self._gravity = np.array(c.model.gravity)
        first = len(scene.springs)
        self._reach[first:, 12] = np.inf  # their stiffness may change: never taken as slow
        self._springs = [
            (slice(first + ENDS * i, first + ENDS * (i + 1)), spring_constants(tool, dt))
            for i, tool in enumerate(self.tools)
        ]

    def turn(self) -> list[Array]:
        """One contact period: follow the servos and step the scene; a packet for each."""
        times = [self._follow(hand) for hand in range(len(self.tools))]
        self.simulation.step()
        self.turns += 1
        self._last = [
            self._packet(tool, time + self.dt) for tool, time in zip(self.tools, times, strict=True)
        ]
        return self._last

    def hold(self, index: int, tool: Tool) -> None:
        """Another coupling of a tool, from the next period on; call it between two periods."""
        self.tools[index] = tool
        springs, _ = self._springs[index]
        self._springs[index] = springs, spring_constants(tool, self.dt)

    def _follow(self, hand: int) -> float:
        """Put a tool where its servo has it and its springs to the hand; the state's time."""
        state, tool = self.newest(hand), self.tools[hand]
        springs, pull = self._springs[hand]
        c, i = self.simulation._c, tool.index
        follow_servo(c.model, c.state, c.work.pairs, i, state[STATE_TOOL:], self.dt, False)
        c.work.world.stamp[c.model.part_start[i] : c.model.part_start[i + 1]] = -1
        wanted = state[STATE_HAND:]
        pull_tool(c.state, self._reach[springs], wanted, tool.mass, self._gravity, pull)
        return float(state[STATE_TIME])

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


def with_bodies(scene: Scene, bodies: list[Body]) -> Scene:
    """The scene with other records of its bodies."""
    made = Scene(scene.gravity)
    made.floors, made.materials = list(scene.floors), dict(scene.materials)
    made.bodies, made.springs = bodies, list(scene.springs)
    made._named = {**scene._named, **{body.name: body for body in bodies}}
    return made


def _held(scene: Scene, dt: float) -> Scene:
    """The scene with springs on its tools, and a contact stiffness where theirs is not given."""
    held = with_bodies(
        scene, [_firm(body, dt) if isinstance(body, Tool) else body for body in scene.bodies]
    )
    for tool in scene.tools:
        pull = spring_constants(tool, dt)
        for end in DIRECTIONS:
            held.add_spring(
                tool.index,
                anchor_a=tool.grip + pull.arm * end,
                stiffness=pull.k / ENDS,
                damping=pull.b / ENDS,
            )
    return held


def _firm(tool: Tool, dt: float) -> Tool:
    """The tool with a contact stiffness."""
    if tool.material.stiffness is not None:
        return tool
    k = min(max(TOOL_KAPPA * tool.mass / dt**2, SOFTEST), STIFFEST)
    return replace(tool, material=replace(tool.material, stiffness=k))
