"""A body that a hand holds within the step.

The servo of a haptic session integrates the tool at its own rate, and the scene takes over where it
got to (`follow`). Within the step the hand goes on pulling the body through springs (`pull`), so
that a light tool pushes a heavy block with the force of the hand and not with its own inertia
alone. Six springs at ±a along the axes of the grip stand for a coupling of stiffness k and k_θ:

    k_i = k/6,    k_θ = ⅔ k a²
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangere.haptics.layout import NPACKET, NPROBLEM, PROBLEM_STATE
from tangere.haptics.packets import ENDS, Pull, follow_servo, pull_tool
from tangere.maths.rotations import rotation_of
from tangere.maths.vec import Array
from tangere.model import NK, SP_A, SP_RATE

if TYPE_CHECKING:
    from tangere.steppers.stepper import Stepper

DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])  # of the springs' ends from the grip


class Grip:
    """A held body: it follows a servo, is pulled by a hand, and tells of its contacts."""

    def __init__(self, stepper: Stepper, body: int) -> None:
        """Hold a body by its row; no spring pulls it yet."""
        self._stepper = stepper
        self.body = body
        self._first: int | None = None
        self._packets = 0

    def attach(self, point: Array, arm: float) -> None:
        """Fix the ends of the springs about a point of the body's shape frame [m], once."""
        c = self._stepper.arrays
        back = rotation_of(c.principal[self.body]).T
        ends = [back @ (point + arm * way - c.centre[self.body]) for way in DIRECTIONS]
        if self._first is None:
            self._first = c.sizes.springs
            pairs = np.tile(np.array([self.body, -1], np.int32), (ENDS, 1))
            bodies = np.concatenate([c.model.spring_bodies, pairs])
            bodies.setflags(write=False)
            state = c.state._replace(
                springs=np.concatenate([c.state.springs, np.zeros((ENDS, NK))]),
                spring=np.concatenate([c.state.spring, np.zeros((ENDS, 3))]),
            )
            self._stepper.arrays = c._replace(
                sizes=c.sizes._replace(springs=c.sizes.springs + ENDS),
                model=c.model._replace(spring_bodies=bodies),
                state=state,
            )
        rows = self._springs()
        rows[:, SP_A : SP_A + 3] = ends
        rows[:, SP_RATE] = np.inf  # their stiffness may change: never taken as slow

    def _springs(self) -> Array:
        assert self._first is not None, "attach comes before pull"
        return self._stepper.arrays.state.springs[self._first : self._first + ENDS]

    def follow(self, tool: Array, dt: float, *, always: bool = False) -> bool:
        """Take over what a servo integrated, a row TOOL_…; false if it leapt and not `always`."""
        c, i = self._stepper.arrays, self.body
        went = follow_servo(c.model, c.state, c.work.pairs, i, tool, dt, always)
        c.work.world.stamp[c.model.part_start[i] : c.model.part_start[i + 1]] = -1
        return bool(went)

    def pull(self, hand: Array, mass: float, pull: Pull) -> None:
        """Let the springs reach for a hand, a row HAND_…, from the next step on."""
        c = self._stepper.arrays
        pull_tool(c.state, self._springs(), hand, mass, c.model.gravity, pull)

    def push(self, wrench: Array, seconds: float) -> None:
        """Give the body an impulse before the next step: force [N] and torque [N m] for a time."""
        c, i = self._stepper.arrays, self.body
        c.state.velocity[i] += seconds * c.model.inv_mass[i] * wrench[:3]
        c.state.momentum[i] += seconds * wrench[3:]
        turned = c.state.rotation[i].reshape(3, 3)
        spin = c.model.inv_inertia[i] * (turned.T @ c.state.momentum[i])
        c.state.omega[i] = turned @ spin

    def motion(self) -> tuple[Array, Array, Array, Array]:
        """Position and attitude of the principal frame, velocity and angular velocity now."""
        s, i = self._stepper.arrays.state, self.body
        return s.position[i], s.quaternion[i], s.velocity[i], s.omega[i]

    def packet(self, mass: float, time: float) -> Array:
        """What a servo may know of the contacts on the body after the last step, PACKET_…."""
        packet = np.empty(NPACKET)
        self._packets += 1
        self._stepper.fill_packet(self.body, mass, time, self._packets, packet)
        return packet

    def problem(self, time: float, pose: Array) -> Array:
        """The contact problem of the last step, PROBLEM_…, for a servo to solve again.

        Args:
            time: Of the start of the step, as the servo counts it [s].
            pose: Position and quaternion of the principal frame at that time, (7,).
        """
        problem = np.empty(NPROBLEM)
        self._stepper.fill_problem(self.body, time, self._packets, problem)
        problem[PROBLEM_STATE : PROBLEM_STATE + 7] = pose
        return problem
