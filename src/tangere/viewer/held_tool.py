"""A tool in a hand, from what its session and its servo know to what the page shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangere.devices.browser import Browser
from tangere.haptics.coupling import DirectCoupling
from tangere.haptics.layout import (
    MEM_HELD,
    OUT_ANGLE,
    OUT_DEVIATION,
    ROW_BUDGET,
    ROW_CONTACT,
    ROW_COUPLING,
    ROW_DEPTH,
    ROW_GAIN,
    ROW_HAND,
    ROW_LEAD,
    ROW_NET,
    ROW_OBSERVED,
    ROW_PLANES,
    ROW_SENT,
    ROW_STATE,
    ROW_STORED,
    ROW_TOOL,
)
from tangere.maths.rotations import quat_conjugate, quat_product, quaternion_of, rotation_of
from tangere.maths.vec import Array
from tangere.scene.compile import principal_frame
from tangere.viewer.frame import Sheet, Verdict

if TYPE_CHECKING:
    from tangere.devices.device import DeviceInfo
    from tangere.scene.scene import Tool
    from tangere.session.session import Session


class ToolFrame:
    """From a tool's row of the servo to what the page draws of it."""

    def __init__(self, tool: Tool) -> None:
        _, axes = principal_frame(tool.inertia)
        self._back = quat_conjugate(quaternion_of(axes))
        self._centre, self._grip = tool.centre, tool.grip

    def fill(self, shown: Any, row: Array, rig: Any) -> None:
        """Take over one tick of the servo."""
        self._pose(shown, row[ROW_TOOL : ROW_TOOL + 7], row[ROW_HAND : ROW_HAND + 7])
        shown["coupling"] = row[ROW_COUPLING : ROW_COUPLING + 6]
        shown["contact"] = row[ROW_CONTACT : ROW_CONTACT + 6]
        shown["sent"] = row[ROW_SENT : ROW_SENT + 6]
        shown["deviation"], shown["angle"] = rig.out[OUT_DEVIATION], rig.out[OUT_ANGLE]
        for name, column in (
            ("observed", ROW_OBSERVED),
            ("budget", ROW_BUDGET),
            ("stored", ROW_STORED),
            ("depth", ROW_DEPTH),
            ("planes", ROW_PLANES),
            ("gain", ROW_GAIN),
            ("net", ROW_NET),
            ("lead", ROW_LEAD),
            ("state", ROW_STATE),
        ):
            shown[name] = row[column]
        shown["clutched"] = rig.memory[MEM_HELD] != 0.0

    def place(self, shown: Any, rig: Any) -> None:
        """Where tool and hand are before the first tick."""
        self._pose(shown, rig.tool[:7], rig.hand[:7])

    def _pose(self, shown: Any, tool: Array, hand: Array) -> None:
        orientation = quat_product(tool[3:], self._back)
        turned = rotation_of(orientation)
        shown["position"] = tool[:3] - turned @ self._centre
        shown["orientation"] = orientation
        shown["grip"] = shown["position"] + turned @ self._grip
        shown["hand_position"], shown["hand_orientation"] = hand[:3], hand[3:]
        shown["ghost_position"] = hand[:3] - rotation_of(hand[3:]) @ self._grip
        shown["ghost_orientation"] = hand[3:]


def sheet_of(session: Session, index: int) -> Sheet:
    """A tool and its device as the page explains them."""
    tool, device = session.scene.tools[index], session.devices[index]
    coupling, info = session.couplings[index], session.infos[index]
    stiffness = damping = 0.0
    max_force = max_torque = np.inf
    verdict = Verdict("stable", "", "The hand and the tool are one (direct coupling).")
    if not isinstance(coupling, DirectCoupling):
        stiffness, damping = coupling.stiffness, coupling.damping
        max_force = coupling.max_force
        max_torque = coupling.max_torque or coupling.rotational_stiffness
        verdict = _coupling_verdict(stiffness, info, *session.displays[index])
    origin = tool.position + rotation_of(tool.orientation) @ tool.grip
    return Sheet(
        name=tool.name,
        mass=tool.mass,
        max_force=max_force,
        max_torque=max_torque,
        stiffness=stiffness,
        damping=damping,
        device=info.name,
        device_force=info.max_force,
        device_torque=info.max_torque,
        hand=device.address if isinstance(device, Browser) else "",
        origin=(float(origin[0]), float(origin[1]), float(origin[2])),
        coupling=verdict,
    )


def _coupling_verdict(
    stiffness: float, info: DeviceInfo, most: float, turning: float, why: str
) -> Verdict:
    """How much of the stiffness that a device can display the coupling has."""
    if info.max_force == 0.0:
        return Verdict("stable", "", "Stable: this device gives no force back.")
    if most == np.inf:
        return Verdict("stable", "", "Stable: the tool's step has no limit.")
    share = stiffness / most
    words = f"{share:.0%} of what {info.name} renders without shaking ({most:.4g} N/m: {why})"
    if share > 1.0:
        return Verdict("past", "", f"Too stiff: {words}.", share)
    return Verdict("near" if share > 0.8 else "stable", "", f"Stable: {words}.", share)
