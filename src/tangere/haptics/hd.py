"""OpenHaptics' HD interface (`libHD`) within a tick: the newest sample, and a wrench.

The vendor's library works in frames: `read` opens one and asks for the state, `write` sets the
force and closes it, and only then is the force sent. Neither depends on the other having been
called: a `read` without its `write` is closed with zero force by the next `read`, a `write` alone
has a frame of its own. Functions are called by address, see `haptics.dhd`.

Native frame: +x right, +y up, +z towards the user; mm, mm/s, N, mN m; the pose is a 4×4 matrix,
column by column. In our axes a native vector (x, y, z) is (x, −z, y), and a turn is about the axis
renamed in the same way.

Errors are kept on a stack by the library, and asked for after each half of a frame.
"""

from __future__ import annotations

from ctypes import POINTER, Structure, c_double, c_int, c_uint

from tangere._jit import kernel
from tangere._native import c_function
from tangere._ptr import PtrF8, PtrI8, local_f8, local_i4, off, ptr
from tangere.haptics.fields import put_vec
from tangere.haptics.layout import (
    FAULT_READ,
    FAULT_WRITE,
    READ_BUTTONS,
    READ_SEQUENCE,
    READ_STATUS,
    READ_VELOCITY,
    SEND_FORCE,
    SEND_TORQUE,
)
from tangere.haptics.samples import accept
from tangere.maths.quat import from_matrix

# ------------------------------------------------ words of a port
# Addresses; 0: not there, and never called
HD_BEGIN = 0  # hdBeginFrame
HD_END = 1  # hdEndFrame
HD_GET_DOUBLES = 2  # hdGetDoublev
HD_GET_INTEGERS = 3  # hdGetIntegerv
HD_SET_DOUBLES = 4  # hdSetDoublev
HD_GET_ERROR = 5  # hdGetError
# Numbers
HD_HANDLE = 6  # of the device in the library
HD_TURNS = 7  # 1: it shows torque
# What the calls leave
HD_SAMPLES = 16  # good frames so far
HD_FRAME = 17  # 1: a frame is open
HD_ERROR = 18  # code of the last call that failed, see ERRORS

# ------------------------------------------------ names of the interface
CURRENT_BUTTONS = 0x2000
CURRENT_VELOCITY = 0x2051
CURRENT_TRANSFORM = 0x2052
CURRENT_FORCE = 0x2700
CURRENT_TORQUE = 0x2701
FORCE_ERRORS = 0x0200  # … 0x02FF: the device is well, but does not follow
SOME_ERRORS = 8  # on the stack at most; more are left for the next frame

# What a device says of itself, in words.
ERRORS = {
    0x0200: "the motors are warm",
    0x0201: "more force than the device allows",
    0x0202: "force changed faster than the device allows",
    0x0203: "the hand moves faster than the device allows",
    0x0204: "the force was refused",
    0x0300: "the device has a fault",
    0x0302: "communication failed",
    0x0303: "communication is not set up",
    0x0304: "the driver's timer failed",
    0x0400: "a frame was begun twice",
    0x0401: "a frame was ended that had not begun",
    0x0402: "a frame failed",
    0x0600: "no valid licence",
}

MILLI = 1e-3


class ErrorInfo(Structure):
    """What hdGetError returns."""

    _fields_ = (("code", c_uint), ("internal", c_int), ("device", c_uint))


_with_device = c_function(None, c_uint)
_doubles = c_function(None, c_uint, POINTER(c_double))
_integers = c_function(None, c_uint, POINTER(c_int))
_get_error = c_function(ErrorInfo)


@kernel
def read(port: PtrI8, memory: PtrF8, stamp_ns: int, reading_out: PtrF8) -> None:
    """Open a frame and bring its sample.

    READ_STATUS is that of this call alone: 0; FAULT_READ, when all else stays as it was; or
    FAULT_WRITE, when the device is well but reports that it did not follow a force.
    """
    d, m, out = ptr(port), ptr(memory), ptr(reading_out)
    out[READ_STATUS] = _read_sample(d, m, stamp_ns, out)


@kernel
def write(port: PtrI8, send: PtrF8) -> int:
    """Set the force and close the frame: 0, or FAULT_WRITE."""
    d, s = ptr(port), ptr(send)
    if d[HD_BEGIN] == 0:
        return FAULT_WRITE
    if d[HD_FRAME] == 0:
        _with_device(d[HD_BEGIN], (d[HD_HANDLE],))
    _close_frame(d, off(s, SEND_FORCE), off(s, SEND_TORQUE))
    return 0 if _take_error(d) == 0 else FAULT_WRITE


@kernel
def _close_frame(d: PtrI8, f: PtrF8, t: PtrF8) -> None:
    """Set force and torque, ours, and end the frame that is open."""
    native = local_f8(3)
    put_vec(native, 0, (f[0], f[2], -f[1]))
    _doubles(d[HD_SET_DOUBLES], (CURRENT_FORCE, native))
    if d[HD_TURNS] != 0:
        put_vec(native, 0, (t[0] / MILLI, t[2] / MILLI, -t[1] / MILLI))
        _doubles(d[HD_SET_DOUBLES], (CURRENT_TORQUE, native))
    _with_device(d[HD_END], (d[HD_HANDLE],))
    d[HD_FRAME] = 0


@kernel
def _read_sample(d: PtrI8, m: PtrF8, stamp_ns: int, out: PtrF8) -> int:
    """Pose, velocity and buttons of a new frame into the reading; a fault, or 0."""
    if d[HD_BEGIN] == 0:
        return FAULT_READ
    if d[HD_FRAME] != 0:
        zero = local_f8(3)
        put_vec(zero, 0, (0.0, 0.0, 0.0))
        _close_frame(d, zero, zero)
    _with_device(d[HD_BEGIN], (d[HD_HANDLE],))
    d[HD_FRAME] = 1
    pose, v, buttons, frame = local_f8(16), local_f8(3), local_i4(1), local_f8(9)
    _doubles(d[HD_GET_DOUBLES], (CURRENT_TRANSFORM, pose))
    _doubles(d[HD_GET_DOUBLES], (CURRENT_VELOCITY, v))
    _integers(d[HD_GET_INTEGERS], (CURRENT_BUTTONS, buttons))
    error = _take_error(d)
    refused = FORCE_ERRORS <= error < FORCE_ERRORS + 0x100
    if error != 0 and not refused:
        return FAULT_READ
    for i in range(3):
        for j in range(3):
            frame[3 * i + j] = pose[4 * j + i]
    q = from_matrix(frame)
    x = (MILLI * pose[12], -MILLI * pose[14], MILLI * pose[13])
    if not accept(m, stamp_ns, x, (q[0], q[1], -q[3], q[2]), out):
        return FAULT_READ
    # the driver's own velocity is as fine as its encoders
    put_vec(out, READ_VELOCITY, (MILLI * v[0], -MILLI * v[2], MILLI * v[1]))
    out[READ_BUTTONS] = buttons[0]
    d[HD_SAMPLES] += 1
    out[READ_SEQUENCE] = d[HD_SAMPLES]
    return FAULT_WRITE if refused else 0


@kernel
def _take_error(d: PtrI8) -> int:
    """Empty the stack of errors; the newest code, 0: none."""
    newest = 0
    for _ in range(SOME_ERRORS):
        code = _get_error(d[HD_GET_ERROR], ())[0]
        if code == 0:
            break
        if newest == 0:
            newest = code
    if newest != 0:
        d[HD_ERROR] = newest
    return newest
