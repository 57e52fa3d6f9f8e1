"""The side of a session that knows the contacts: states of the servos come in, packets go out.

A contact method has one (`Method.tool_side`): a class of this kind, with a `turn` of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tangere.geometry.boundary_lines import MARK
from tangere.haptics.layout import NPACKET, NSTATE, PACKET_TIME, STATE_TIME, Rig
from tangere.haptics.mailbox import post, take
from tangere.scene.scene import Scene, Tool
from tangere.steppers.stepper import CONTACT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangere.maths.vec import Array
    from tangere.simulation import Simulation
    from tangere.trace.formation_graph import FormationGraph


class ToolSide:
    """What all of them share: the newest state of each servo, and packets to it."""

    simulation: Simulation
    """The scene in motion."""
    formations: Sequence[str] = ()
    """Names of contact formations, by their numbers in packets; of methods that tell them."""
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

    def turn(self) -> list[Array]:
        """One contact period: follow the servos, move the scene; a packet for each servo."""
        raise AssertionError(f"{type(self).__name__} has no contacts")

    def hold(self, index: int, tool: Tool) -> None:
        """Another coupling of a tool, from the next period on; call it between two periods."""
        self.tools[index] = tool

    def contacts_on(self, hand: int) -> NDArray[np.void]:
        """Contacts of a tool that the scene's table does not have; rows of `CONTACT_COLUMNS`."""
        return np.zeros(0, CONTACT_COLUMNS)

    def marks(self, hand: int) -> NDArray[np.void]:
        """Lines that show what touches a tool; rows of `MARK`."""
        return np.zeros(0, MARK)

    def visited(self, hand: int) -> FormationGraph | None:
        """Contact formations that a tool went through so far; None: the method tells none."""
        return None
