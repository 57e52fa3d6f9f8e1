"""Force Dimension devices (delta, omega, sigma, lambda) and the Novint Falcon.

Through `forcedimension_core`, bindings of the vendor's SDK, which the user installs. The SDK's
calls wait for the USB transfer, so they are made on a thread of the adapter. Native frame: +x
towards the user, +y right, +z up; SI units.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import replace
from typing import Any

import numpy as np

from tangere.devices.device import MODELS, Axes, DeviceInfo, Estimator, Floats, Sample, Threaded
from tangere.errors import DeviceError
from tangere.maths.rotations import quaternion_of

AXES = Axes("+y", "-x", "+z")

# System types of the SDK
_TYPES = {
    63: "delta.3",
    33: "omega.3",
    34: "omega.6",
    36: "omega.6",
    35: "omega.7",
    37: "omega.7",
    104: "sigma.7",
    105: "sigma.7",
    108: "lambda.7",
    109: "lambda.7",
    60: "Falcon",
}
# Of a device that is not in the table.
_UNKNOWN = DeviceInfo(
    "Force Dimension", max_force=5.0, stiffness=1000.0, damping=5.0, radius=0.05, drops_force=False
)
# The firmware lets go when no command comes for this many eighths of a millisecond: the longest
# time that its register holds, 32 ms.
_WATCHDOG = 255


class ForceDimension(Threaded):
    """A Force Dimension device: `index` counts those connected, None takes the first that is free.

    `calibrate` lets a device that asks for it find its end stops: it moves by itself, hands off.
    """

    def __init__(self, index: int | None = None, *, calibrate: bool = False) -> None:
        super().__init__(replace(_UNKNOWN, rate=1000.0, blocks=True))
        self._index = index
        self._calibrate = calibrate
        self._sdk: Any = None
        self._id = -1
        self._estimate = Estimator()

    def _begin(self) -> None:
        core = _library()
        dhd = core.dhd
        if self._calibrate:
            number = core.drd.open() if self._index is None else core.drd.openID(self._index)
        else:
            number = dhd.open() if self._index is None else dhd.openID(self._index)
        if number < 0:
            raise DeviceError(
                f"Force Dimension: no device could be opened ({dhd.errorGetLastStr()}): "
                "connect and switch it on, and let the user read its USB port"
            )
        self._sdk, self._id = dhd, number
        if self._calibrate and not core.drd.isInitialized(number):
            self._must(core.drd.autoInit(number), "calibration")
        self.info = self._limits(dhd, number)
        self._must(dhd.enableForce(True, number), "enabling force")
        self._estimate = Estimator()

    def _limits(self, dhd: Any, number: int) -> DeviceInfo:
        """The table's limits of this model; what the device says of itself wins."""
        name = _TYPES.get(int(dhd.getSystemType(number)), "")
        info = MODELS.get(name, replace(_UNKNOWN, name=dhd.getSystemName(number) or "unknown"))
        force, torque = dhd.getMaxForce(number), dhd.getMaxTorque(number)
        turns = bool(dhd.hasActiveWrist(number))
        dhd.expert.enableExpertMode()
        return replace(
            info,
            max_force=force if force > 0.0 else info.max_force,
            max_torque=(torque if torque > 0.0 else info.max_torque) if turns else 0.0,
            senses_rotation=bool(dhd.hasWrist(number)),
            senses_gripper=bool(dhd.hasGripper(number)),
            max_gripper_force=info.max_gripper_force if dhd.hasActiveGripper(number) else 0.0,
            rate=1000.0,
            blocks=True,
            drops_force=dhd.expert.setWatchdog(_WATCHDOG, number) == 0,
        )

    def _turn(self, force: Floats, torque: Floats) -> None:
        dhd, number = self._sdk, self._id
        out_force, out_torque = AXES.from_base(force), AXES.from_base(torque)
        if self.info.max_torque > 0.0:
            done = dhd.setForceAndTorque(list(out_force), list(out_torque), number)
        else:
            done = dhd.setForce(list(out_force), number)
        self._must(done, "the force")
        position, frame = np.zeros(3), np.eye(3)
        self._must(dhd.getPositionAndOrientationFrame(position, frame, number), "the pose")
        if not self.info.senses_rotation:
            frame = np.eye(3)
        x = AXES.to_base(tuple(position.tolist()))
        q = AXES.quaternion(quaternion_of(frame).tolist())
        gap = ctypes.c_double(0.0)
        if self.info.senses_gripper:
            self._must(dhd.getGripperGap(gap, number), "the gripper")
        twist = self._estimate(time.monotonic(), x, q)
        self.publish(Sample(x, q, twist, int(dhd.getButtonMask(number)), float(gap.value)))

    def _must(self, returned: int, what: str) -> None:
        """Positive answers are notes (no new data yet, motors at their limit), −1 is an error."""
        if returned < 0:
            raise DeviceError(f"{what} failed: {self._sdk.errorGetLastStr()}")

    def _end(self) -> None:
        if self._id >= 0:
            number, self._id = self._id, -1
            self._sdk.setForce([0.0, 0.0, 0.0], number)
            self._sdk.stop(number)
            self._sdk.close(number)


def connected() -> str:
    """Devices that are there, in words; `DeviceError` when that cannot be known."""
    count = int(_library().dhd.getDeviceCount())
    return f"{count} connected" if count else ""


def _library() -> Any:
    """The bindings; they load the vendor's library when imported."""
    try:
        import forcedimension_core
    except ImportError as error:
        missing = getattr(error, "name", None) == "forcedimension_core"
        remedy = (
            "pip install 'tangere[forcedimension]'"
            if missing
            else "install the Force Dimension SDK 3.16 or later and set FDSDK to its folder"
        )
        raise DeviceError(f"Force Dimension: {error}: {remedy}") from None
    except OSError as error:
        raise DeviceError(f"Force Dimension: {error}: install the SDK and libusb-1") from None
    return forcedimension_core
