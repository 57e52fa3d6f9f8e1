"""Force laws of the user's own at every tick: textures, vibrations, guidance, brakes.

An effect is a function of the hand that adds a wrench, compiled once and called by address:

    @tg.effect
    def buzz(pose, twist, t, p, wrench):
        wrench[0] += p[0] * math.sin(2 * math.pi * p[1] * t)

| argument | meaning                                                               | numbers |
| -------- | --------------------------------------------------------------------- | ------- |
| pose     | position and quaternion of the grip in the world, gripper opening      | 8       |
| twist    | velocity and angular velocity, world axes                             | 6       |
| t        | time since the start [s]                                              |         |
| p        | parameters, which may change while it runs                            | 16      |
| wrench   | to add to: force and torque on the hand, world axes; force that closes | 23      |
|          | the gripper; then the user's columns of the trace, to be set          |         |

The hand is that of the moment when the force arrives (the lead, see `haptics.reading`), so that a
spring of the user's own is no more active than the coupling.

It comes after the coupling and before gain, net, slew and limits: nothing it does reaches a device
unchecked. One that answers with something not finite is switched off.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from ctypes import POINTER, c_double
from math import isfinite
from typing import Any

import numpy as np

from tangere._jit import c_procedure, kernel, user_kernel
from tangere._native import c_function
from tangere._ptr import PtrF8, load, local_f8, store
from tangere.errors import SceneError
from tangere.haptics.layout import (
    EFFECT_POWER,
    FAULT_NAN_FORCE,
    HAND_VELOCITY,
    MAX_EFFECTS,
    NEFFECT,
    NPARAMETER,
    NUSER,
    READ_GRIPPER,
    Rig,
)

# What the C function is given …
IN_POSE = 0  # 7
IN_GRIPPER = 7
IN_TWIST = 8  # 6
IN_TIME = 14
IN_PARAMETERS = 15  # NPARAMETER
NIN = IN_PARAMETERS + NPARAMETER
# … and fills
OUT_WRENCH = 0  # 6
OUT_GRIPPER = 6
OUT_USER = 7  # NUSER
NOUT = OUT_USER + NUSER

_call = c_function(None, POINTER(c_double), POINTER(c_double))


@kernel
def add_effects(r: Rig, hand: PtrF8, now: float, effect_out: PtrF8) -> tuple[int, float]:
    """Sum of the effects, wrench and gripper (7); FAULT_NAN_FORCE or 0, and their power [W]."""
    fault, power = 0, 0.0
    for k in range(7):
        effect_out[k] = 0.0
    given, out = local_f8(NIN), local_f8(NOUT)
    for i in range(MAX_EFFECTS):
        address = load(r.effects, i)
        if address == 0:
            continue
        for k in range(7):
            given[IN_POSE + k] = hand[k]
        given[IN_GRIPPER] = r.reading[READ_GRIPPER]
        for k in range(6):
            given[IN_TWIST + k] = hand[HAND_VELOCITY + k]
        given[IN_TIME] = now
        for k in range(NPARAMETER):
            given[IN_PARAMETERS + k] = r.effect_values[i * NEFFECT + k]
        for k in range(OUT_USER):
            out[k] = 0.0
        for k in range(NUSER):
            out[OUT_USER + k] = r.user[k]
        _call(address, (given, out))
        if not _finite(out):
            store(r.effects, i, 0)
            r.effects[MAX_EFFECTS + i] = 1
            fault |= FAULT_NAN_FORCE
            continue
        for k in range(7):
            effect_out[k] += out[k]
        for k in range(NUSER):
            if out[OUT_USER + k] != r.user[k]:  # columns that it leaves alone are set by others
                r.user[k] = out[OUT_USER + k]
        power += r.effect_values[i * NEFFECT + EFFECT_POWER]
    return fault, power


@kernel
def _finite(out: PtrF8) -> bool:
    """Whether wrench and gripper force are finite."""
    for k in range(OUT_USER):
        if not isfinite(out[k]):
            return False
    return True


class Effect:
    """A function of the user's, to be called at every tick; made by `effect`."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "effect")
        takes = [
            each
            for each in inspect.signature(function).parameters.values()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        if len(takes) != 5:
            raise SceneError(
                f"effect {self.name}: takes {len(takes)} arguments: it is called with "
                "(pose, twist, t, p, wrench)"
            )

    def __call__(self, pose: Any, twist: Any, t: float, p: Any, wrench: Any) -> None:
        """Run it as plain Python."""
        self.function(pose, twist, t, p, wrench)

    def compile(self) -> int:
        """Address of the C function, compiled and tried; it is kept for ever.

        Raises:
            SceneError: It cannot be compiled, or fails with a hand at rest.
        """
        try:
            function = user_kernel(self.function)

            def run(given: Any, out: Any) -> None:
                function(given[:8], given[8:14], given[14], given[15:], out)

            run.__module__ = self.function.__module__  # no kernel of ours is being compiled
            call, address = c_procedure(user_kernel(run), NIN, NOUT)
            given = np.zeros(NIN)
            given[IN_POSE + 3] = 1.0
            call(given, np.zeros(NOUT))
        except Exception as error:
            words = " ".join(str(error).split())
            raise SceneError(
                f"effect {self.name}: {type(error).__name__}: {words[:300]} (it is compiled by "
                "Numba: numbers, math and the given arrays only)"
            ) from None
        return address


def effect(function: Callable[..., None]) -> Effect:
    """Make a function (pose, twist, t, p, wrench) an effect for `Session.add_effect`."""
    return Effect(function)
