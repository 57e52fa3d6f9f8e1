"""Force Dimension's library (`libdhd`) within a tick: the newest sample, and a wrench.

`read` and `write` call the vendor's C functions by address; words of `Rig.port` say where they are
and what the device has. The calls wait for the USB transfer, up to about 1 ms a tick in all.

Native frame: +x towards the user, +y right, +z up; m, N, N m. In our axes a native vector (x, y, z)
is (y, −x, z), and a turn is about the axis renamed in the same way.

What the calls answer: 0 done; −1 failed; 1 (DHD_TIMEGUARD) from a read: asked too soon, this is the
same sample again; 2 (DHD_MOTOR_SATURATED) from a write: the motors give less, in that direction.
Signatures: the vendor's header `dhdc.h`, SDK 3.7; in C there are no default arguments, so that the
number of the device is always given.
"""

from __future__ import annotations

from ctypes import POINTER, c_byte, c_double, c_int, c_uint

from tangere._jit import kernel
from tangere._native import c_function
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i4, off, ptr
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    READ_BUTTONS,
    READ_GRIPPER,
    READ_SEQUENCE,
    READ_STATUS,
    SEND_FORCE,
    SEND_GRIPPER,
    SEND_TORQUE,
)
from tangere.haptics.samples import accept
from tangere.maths.quat import from_matrix

# ------------------------------------------------ words of a port
# Addresses; 0: not there, and never called
DHD_POSE = 0  # dhdGetPositionAndOrientationFrame; without a wrist: dhdGetPosition
DHD_WRENCH = 1  # dhdSetForceAndTorqueAndGripperForce
DHD_BUTTONS = 2  # dhdGetButtonMask
DHD_GRIPPER = 3  # dhdGetGripperGap; 0: no gripper
DHD_STATUS = 4  # dhdGetStatus
# Numbers
DHD_ID = 5  # of the device in the library
DHD_WRIST = 6  # 1: it tells how the grip is turned
DHD_TURNS = 7  # 1: it has motors in the wrist
DHD_GRASPS = 8  # 1: it has a motor in the gripper
# What the calls leave
DHD_SAMPLES = 16  # new samples so far
DHD_STATUS_AT = 17  # clock when the status was asked for [ns]
DHD_FORCE_ON = 18  # 1: the motors are on, as of then
DHD_FORCE_OFF = 19  # why they were last switched off, see FORCE_OFF
DHD_SATURATED = 20  # commands that the motors could not follow

# Why motors are off, in words.
FORCE_OFF = {
    0: "",
    1: "the force button was pressed",
    2: "the hand moved faster than the device allows",
    3: "no command came for too long",
    4: "a program switched the force off",
    5: "the USB connection was lost",
    6: "the dead-man switch was let go",
}

TIMEGUARD, MOTOR_SATURATED = 1, 2
STATUS_NS = 50_000_000  # between two looks at the status
STATUS_FORCE, STATUS_FORCE_OFF = 5, 14
MAX_STATUS = 32  # the vendor's array has 16 numbers, later 17: room for more

_F8 = POINTER(c_double)
_get_frame = c_function(c_int, _F8, _F8, _F8, _F8, c_byte)
_get_position = c_function(c_int, _F8, _F8, _F8, c_byte)
_set_wrench = c_function(c_int, *[c_double] * 7, c_byte)
_get_buttons = c_function(c_uint, c_byte)
_get_gripper = c_function(c_int, _F8, c_byte)
_get_status = c_function(c_int, POINTER(c_int), c_byte)


@kernel
def read(port: PtrI8, memory: PtrF8, stamp_ns: int, reading_out: PtrF8) -> None:
    """Bring the newest sample; its number and time change only if it is a new one.

    READ_STATUS is that of this call alone: 0, or FAULT_READ, when all else stays as it was.
    """
    d, m, out = ptr(port), ptr(memory), ptr(reading_out)
    out[READ_STATUS] = _read_sample(d, m, stamp_ns, out)
    if d[DHD_STATUS] != 0 and stamp_ns - d[DHD_STATUS_AT] >= STATUS_NS:
        d[DHD_STATUS_AT] = stamp_ns
        _look_at_status(d)


@kernel
def write(port: PtrI8, send: PtrF8) -> int:
    """Put a command on the motors: 0, or FAULT_WRITE.

    The vendor calls the gripper's force grasping; that this means closing was not seen on hardware.
    """
    d, s = ptr(port), ptr(send)
    if d[DHD_WRENCH] == 0:
        return FAULT_WRITE
    f, t = off(s, SEND_FORCE), off(s, SEND_TORQUE)
    turns, grasps = float(d[DHD_TURNS]), float(d[DHD_GRASPS])
    answer = _set_wrench(
        d[DHD_WRENCH],
        (
            -f[1],
            f[0],
            f[2],
            -turns * t[1],
            turns * t[0],
            turns * t[2],
            grasps * s[SEND_GRIPPER],
            d[DHD_ID],
        ),
    )
    if answer == MOTOR_SATURATED:
        d[DHD_SATURATED] += 1
    return FAULT_WRITE if answer < 0 else 0


@kernel
def _read_sample(d: PtrI8, m: PtrF8, stamp_ns: int, out: PtrF8) -> int:
    """Pose, buttons and gripper into the reading: 0, or FAULT_READ."""
    if d[DHD_POSE] == 0:
        return FAULT_READ
    p, frame = local_f8(3), local_f8(9)
    if d[DHD_WRIST] != 0:
        answer = _get_frame(d[DHD_POSE], (p, off(p, 1), off(p, 2), frame, d[DHD_ID]))
    else:
        answer = _get_position(d[DHD_POSE], (p, off(p, 1), off(p, 2), d[DHD_ID]))
    if answer < 0:
        return FAULT_READ
    if answer == TIMEGUARD:
        return 0
    q = (1.0, 0.0, 0.0, 0.0)
    if d[DHD_WRIST] != 0:
        native = from_matrix(frame)
        q = (native[0], native[2], -native[1], native[3])
    gap = local_f8(1)
    gap[0] = 0.0
    if d[DHD_GRIPPER] != 0 and _get_gripper(d[DHD_GRIPPER], (gap, d[DHD_ID])) < 0:
        return FAULT_READ
    if not accept(m, stamp_ns, (p[1], -p[0], p[2]), q, out):
        return FAULT_READ
    out[READ_GRIPPER] = gap[0]
    if d[DHD_BUTTONS] != 0:
        out[READ_BUTTONS] = _get_buttons(d[DHD_BUTTONS], (d[DHD_ID],))
    d[DHD_SAMPLES] += 1
    out[READ_SEQUENCE] = d[DHD_SAMPLES]
    return 0


@kernel
def _look_at_status(d: PtrI8) -> None:
    """Whether the motors are on, and why not; what cannot be asked stays as it was."""
    status = local_i4(MAX_STATUS)
    if _get_status(d[DHD_STATUS], (status, d[DHD_ID])) >= 0:
        d[DHD_FORCE_ON] = status[STATUS_FORCE]
        d[DHD_FORCE_OFF] = status[STATUS_FORCE_OFF]
