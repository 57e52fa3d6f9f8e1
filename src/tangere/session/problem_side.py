"""The contact side of a session by the signorini method: servos get the contact problem itself.

Every contact period the scene makes its step from where the servos have the tools, and each servo
is given the problem that this step solved, to solve it again at every tick for the tool as it
moves on (`haptics.contact_problem`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.haptics.layout import (
    NPACKET,
    NPROBLEM,
    PACKET_TIME,
    PROBLEM_TIME,
    Rig,
)
from tangere.haptics.mailbox import post
from tangere.scene.scene import Scene
from tangere.session.scene_side import SceneSide

if TYPE_CHECKING:
    from tangere.maths.vec import Array


class ProblemSide(SceneSide):
    """A scene whose servos solve its contact problems again."""

    def __init__(self, scene: Scene, options: Any, dt: float, rigs: list[Rig]) -> None:
        super().__init__(scene, options, dt, rigs)
        self.ahead = 0.0

    def turn(self) -> list[Array]:
        """One contact period; packet and problem for each servo, one after the other."""
        times = [self.follow(hand) for hand in range(len(self.tools))]
        poses = [np.concatenate(grip.motion()[:2]) for grip in self.grips]
        self.simulation.step()
        self.turns += 1
        self._last = [
            np.concatenate((grip.packet(tool.mass, time), grip.problem(time, pose)))
            for grip, tool, time, pose in zip(self.grips, self.tools, times, poses, strict=True)
        ]
        return self._last

    def again(self) -> list[Array]:
        """The last packets as if they were new: the scene stands still."""
        packets = super().again()
        for packet in packets:
            packet[NPACKET + PROBLEM_TIME] = packet[PACKET_TIME]
        return packets

    def send(self, packets: list[Array]) -> None:
        """Give each servo its problem and its packet."""
        for rig, both in zip(self.rigs, packets, strict=True):
            post(rig.problems, rig.problems_at, both[NPACKET:], NPROBLEM)
        super().send([both[:NPACKET] for both in packets])
