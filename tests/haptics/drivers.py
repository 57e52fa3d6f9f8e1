"""Vendors' C functions made with ctypes, in the vendors' axes and units: what they answer is set.

Unlike the libraries of `tangere.fakes.vendors` they need no compiler, and know no hand: a
test gives native numbers and looks at native numbers.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_byte, c_double, c_int, c_longlong, c_uint
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tangere._native import address_of
from tangere.haptics import dhd, hd
from tangere.haptics.layout import NPORT, NPORT_MEMORY, NREAD, NSEND, READ_QUATERNION

Array = NDArray[np.float64]
F8 = POINTER(c_double)


class Driver:
    """Arrays of one device, and calls of its kernels."""

    kernels: Any

    def __init__(self) -> None:
        self.port = np.zeros(NPORT, dtype=np.int64)
        self.memory = np.zeros(NPORT_MEMORY)
        self.reading = np.zeros(NREAD)
        self.reading[READ_QUATERNION] = 1.0
        self._functions: list[Any] = []

    def offer(self, word: int, result: Any, arguments: list[Any], function: Any) -> None:
        made = ctypes.CFUNCTYPE(result, *arguments)(function)
        self._functions.append(made)
        self.port[word] = address_of(made)

    def read(self, stamp: float = 0.0) -> Array:
        """The reading at a time [s]."""
        self.kernels.read(self.port, self.memory, round(1e9 * stamp), self.reading)
        return self.reading

    def write(
        self, force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0), grip: float = 0.0
    ) -> int:
        send = np.zeros(NSEND)
        send[:7] = *force, *torque, grip
        return int(self.kernels.write(self.port, send))


class DhdDriver(Driver):
    """libdhd with one device, number 3."""

    kernels = dhd

    def __init__(self, wrist: bool = True, gripper: bool = True) -> None:
        super().__init__()
        self.position: Any = (0.0, 0.0, 0.0)
        self.frame = np.eye(3)
        self.answer = self.write_answer = self.gap_answer = self.status_answer = 0
        self.buttons, self.gap = 0, 0.0
        self.status = [0] * 16
        self.wrenches: list[tuple[float, ...]] = []
        self.numbers: set[int] = set()
        self.looks = 0
        if wrist:
            self.offer(dhd.DHD_POSE, c_int, [F8, F8, F8, F8, c_byte], self._pose)
        else:
            self.offer(dhd.DHD_POSE, c_int, [F8, F8, F8, c_byte], self._place)
        self.offer(dhd.DHD_WRENCH, c_int, [*[c_double] * 7, c_byte], self._wrench)
        self.offer(dhd.DHD_BUTTONS, c_uint, [c_byte], lambda _: self.buttons)
        self.offer(dhd.DHD_STATUS, c_int, [POINTER(c_int), c_byte], self._status)
        if gripper:
            self.offer(dhd.DHD_GRIPPER, c_int, [F8, c_byte], self._gap)
        self.port[dhd.DHD_ID] = 3
        self.port[dhd.DHD_WRIST] = self.port[dhd.DHD_TURNS] = wrist
        self.port[dhd.DHD_GRASPS] = gripper

    def _place(self, x: Any, y: Any, z: Any, number: int) -> int:
        self.numbers.add(number)
        if self.answer >= 0:
            x[0], y[0], z[0] = self.position
        return self.answer

    def _pose(self, x: Any, y: Any, z: Any, frame: Any, number: int) -> int:
        for k in range(9):
            frame[k] = self.frame[k // 3, k % 3]
        return self._place(x, y, z, number)

    def _wrench(self, *given: Any) -> int:
        self.numbers.add(given[-1])
        self.wrenches.append(given[:-1])
        return self.write_answer

    def _gap(self, gap: Any, _: int) -> int:
        gap[0] = self.gap
        return self.gap_answer

    def _status(self, status: Any, _: int) -> int:
        self.looks += 1
        for k, value in enumerate(self.status):
            status[k] = value
        return self.status_answer


class HdDriver(Driver):
    """libHD with one device, handle 5; a frame is open or not, and errors are on a stack."""

    kernels = hd

    def __init__(self, torque: bool = True) -> None:
        super().__init__()
        self.position: Any = (0.0, 0.0, 0.0)
        self.velocity: Any = (0.0, 0.0, 0.0)
        self.frame = np.eye(3)
        self.buttons = 0
        self.calls: list[Any] = []
        self.errors: list[int] = []
        self.begin_error = self.end_error = 0
        self.offer(hd.HD_BEGIN, None, [c_uint], self._begin)
        self.offer(hd.HD_END, None, [c_uint], self._end)
        self.offer(hd.HD_GET_DOUBLES, None, [c_uint, F8], self._get)
        self.offer(hd.HD_GET_INTEGERS, None, [c_uint, POINTER(c_int)], self._get_whole)
        self.offer(hd.HD_SET_DOUBLES, None, [c_uint, F8], self._set)
        # A structure of twelve bytes comes back in two registers; its first field is the lower half
        # of the first one, which is all that a callback of ctypes can set.
        self.offer(hd.HD_GET_ERROR, c_longlong, [], lambda: self.errors.pop() if self.errors else 0)
        self.port[hd.HD_HANDLE] = 5
        self.port[hd.HD_TURNS] = torque

    def _begin(self, handle: int) -> None:
        self.calls.append(("begin", handle))
        if self.begin_error:
            self.errors.append(self.begin_error)

    def _end(self, handle: int) -> None:
        self.calls.append(("end", handle))
        if self.end_error:
            self.errors.append(self.end_error)

    def _get(self, what: int, out: Any) -> None:
        if what == 0x2051:
            for k in range(3):
                out[k] = self.velocity[k]
        elif what == 0x2052:
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = self.frame, self.position
            for k, value in enumerate(pose.T.reshape(-1)):
                out[k] = value
        else:
            self.errors.append(0x100)

    def _get_whole(self, what: int, out: Any) -> None:
        out[0] = self.buttons if what == 0x2000 else -1

    def _set(self, what: int, given: Any) -> None:
        self.calls.append(({0x2700: "force", 0x2701: "torque"}[what], tuple(given[:3])))
