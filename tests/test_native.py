"""C functions called by address, and kernels that C calls back, in every build."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
import threading
from collections.abc import Callable
from ctypes import POINTER, c_byte, c_double, c_int, c_long, c_longlong, c_ubyte, c_uint, c_void_p
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangere._jit import CHECKED, JIT_DISABLED, c_callback, kernel
from tangere._native import address_of, c_function, f8_at, i8_at, parent_process
from tangere._ptr import local_f8, local_i4, off, ptr
from tangere.maths.vec import Array, IntArray, LongArray

pytestmark = pytest.mark.nojit

if os.name != "posix":
    pytest.skip("the C functions called here are those of a POSIX system", allow_module_level=True)

LIBC = ctypes.CDLL(None)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


class Pair(ctypes.Structure):
    """`div_t`: one register."""

    _fields_ = (("quotient", c_int), ("rest", c_int))


class LongPair(ctypes.Structure):
    """`ldiv_t`: two registers."""

    _fields_ = (("quotient", c_long), ("rest", c_long))


class Triple(ctypes.Structure):
    """Twelve bytes, as an error of OpenHaptics."""

    _fields_ = (("code", c_uint), ("internal", c_int), ("device", c_uint))


call_d_d = c_function(c_double, c_double)
call_d_dp = c_function(c_double, c_double, POINTER(c_int))
call_div = c_function(Pair, c_int, c_int)
call_ldiv = c_function(LongPair, c_long, c_long)
call_hidden = c_function(Triple, hidden_result=True)
call_eight = c_function(c_int, *[c_double] * 7, c_byte)
call_fill = c_function(None, c_uint, POINTER(c_double))
call_small = c_function(c_int, c_byte, c_ubyte)
call_unsigned = c_function(c_uint, c_byte)
call_words = c_function(c_longlong, c_void_p, POINTER(c_longlong))
call_back = c_function(c_uint, c_void_p)


@kernel
def absolute(address: int, x: float) -> float:
    """Fabs."""
    return call_d_d(address, (x,))  # type: ignore[no-any-return]


@kernel
def split(address: int, x: float) -> tuple[float, int]:
    """Frexp, with a pointer to the stack."""
    power = local_i4(1)
    share = call_d_dp(address, (x, power))
    return share, power[0]


@kernel
def split_into(address: int, x: float, power_out: IntArray) -> float:
    """Frexp, with a pointer into the second element of an array."""
    return call_d_dp(address, (x, off(ptr(power_out), 1)))  # type: ignore[no-any-return]


@kernel
def divided(address: int, a: int, b: int) -> tuple[int, int]:
    """Div: a structure in one register."""
    return call_div(address, (a, b))  # type: ignore[no-any-return]


@kernel
def long_divided(address: int, a: int, b: int) -> tuple[int, int]:
    """Ldiv: a structure in two registers."""
    return call_ldiv(address, (a, b))  # type: ignore[no-any-return]


@kernel
def hidden_triple(address: int) -> tuple[int, int, int]:
    """Twelve bytes through a hidden argument."""
    return call_hidden(address, ())  # type: ignore[no-any-return]


@kernel
def eight(address: int, v: Array, small: int) -> int:
    """Seven floats and a char."""
    p = ptr(v)
    return call_eight(address, (p[0], p[1], p[2], p[3], p[4], p[5], p[6], small))  # type: ignore[no-any-return]


@kernel
def filled(address: int, code: int, v_out: Array) -> None:
    """Void (unsigned, double *), by way of the stack."""
    there = local_f8(3)
    call_fill(address, (code, there))
    for k in range(3):
        v_out[k] = there[k]


@kernel
def small(address: int, a: int, b: int) -> int:
    """Int (signed char, unsigned char)."""
    return call_small(address, (a, b))  # type: ignore[no-any-return]


@kernel
def unsigned(address: int, a: int) -> int:
    """Unsigned (char)."""
    return call_unsigned(address, (a,))  # type: ignore[no-any-return]


@kernel
def words(address: int, data: int, v: LongArray) -> int:
    """Long long (void *, long long *)."""
    return call_words(address, (data, ptr(v)))  # type: ignore[no-any-return]


@kernel
def sum_at(floats: int, whole: int, n: int) -> float:
    """Sum of what lies at two addresses; leaves the sum of the whole numbers in the first."""
    x, k = f8_at(floats, n), i8_at(whole, n)
    total = 0.0
    for i in range(n):
        total += x[i] + k[i]
    x[0] = total
    return total


@kernel
def past_the_end(floats: int) -> float:
    """The fourth of three."""
    return f8_at(floats, 3)[3]  # type: ignore[no-any-return]


@kernel
def mother() -> int:
    """The process that started this one."""
    return parent_process()


@kernel
def count_up(data: int) -> int:
    """A callback: adds the second number to the first, answers the third."""
    w = i8_at(data, 3)
    w[0] += w[1]
    return w[2]  # type: ignore[no-any-return]


@kernel
def call_again(address: int, data: int) -> int:
    """A C function that is itself a kernel."""
    return call_back(address, (data,))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- libc and libm


@given(st.floats(allow_nan=False))
def test_a_float_goes_in_and_out(x: float) -> None:
    assert absolute(address_of(LIBM.fabs), x) == abs(x)


@given(st.floats(-1e300, 1e300))
def test_a_pointer_to_the_stack_is_filled(x: float) -> None:
    assert split(address_of(LIBM.frexp), x) == math.frexp(x)


def test_a_pointer_into_an_array_is_filled_there_alone() -> None:
    out = np.full(3, 99, dtype=np.int32)
    assert split_into(address_of(LIBM.frexp), 40.0, out) == 0.625
    assert out.tolist() == [99, 6, 99]


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2**31 - 1))
def test_a_structure_comes_back_in_one_register_or_two(a: int, b: int) -> None:
    quotient = abs(a) // b * (1 if a >= 0 else -1)  # C divides towards zero
    assert divided(address_of(LIBC.div), a, b) == (quotient, a - b * quotient)
    assert long_divided(address_of(LIBC.ldiv), a << 20, b) == (
        (abs(a) << 20) // b * (1 if a >= 0 else -1),
        math.fmod(a << 20, b),
    )


# ---------------------------------------------------------------- signatures of the vendors


def noting(seen: list[Any], answer: int) -> Callable[..., int]:
    """A function that notes what it is given."""

    def note(*given: Any) -> int:
        seen.append(given)
        return answer

    return note


@pytest.mark.skipif(JIT_DISABLED, reason="`ctypes` knows the system's own rule alone")
def test_a_structure_comes_back_through_a_hidden_argument() -> None:
    """The rule of Windows is a plain first argument elsewhere."""

    def fill(out: Any) -> None:
        out[0] = Triple(0x302, -7, 0xFFFFFFFF)

    function = ctypes.CFUNCTYPE(None, POINTER(Triple))(fill)
    assert hidden_triple(address_of(function)) == (0x302, -7, 0xFFFFFFFF)


def test_seven_floats_and_a_char_arrive_in_order() -> None:
    seen: list[Any] = []
    kind = ctypes.CFUNCTYPE(c_int, *[c_double] * 7, c_byte)
    function = kind(noting(seen, -1))
    v = np.arange(7.0) + 0.5
    for number in (0, 1, -1, 127):
        assert eight(address_of(function), v, number) == -1
        assert seen.pop() == (*v, number)


def test_small_numbers_keep_their_sign() -> None:
    seen: list[Any] = []
    function = ctypes.CFUNCTYPE(c_int, c_byte, c_ubyte)(noting(seen, -5))
    assert small(address_of(function), -3, 200) == -5
    assert seen == [(-3, 200)]
    mask = ctypes.CFUNCTYPE(c_uint, c_byte)(lambda _: 0x80000001)
    assert unsigned(address_of(mask), 0) == 0x80000001


def test_void_functions_and_addresses() -> None:
    seen: list[int] = []

    def fill(code: int, out: Any) -> None:
        for k in range(3):
            out[k] = 10.0 * code + k

    function = ctypes.CFUNCTYPE(None, c_uint, POINTER(c_double))(fill)
    out = np.zeros(3)
    filled(address_of(function), 0x2052, out)
    assert out.tolist() == [0x2052 * 10.0 + k for k in range(3)]

    def take(data: int, v: Any) -> int:
        seen.extend((data, v[1]))
        return -(2**40)

    taker = ctypes.CFUNCTYPE(c_longlong, c_void_p, POINTER(c_longlong))(take)
    assert words(address_of(taker), 2**45 + 1, np.array([1, 2**50])) == -(2**40)
    assert seen == [2**45 + 1, 2**50]


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        (c_void_p, ()),
        (c_int, (ctypes.c_float,)),
        (c_int, (ctypes.c_char_p,)),
        (type("Mixed", (ctypes.Structure,), {"_fields_": [("x", c_double)]}), ()),
        (type("Long", (ctypes.Structure,), {"_fields_": [("x", c_longlong * 1)] * 1}), ()),
        (type("Three", (ctypes.Structure,), {"_fields_": [(x, c_longlong) for x in "abc"]}), ()),
    ],
)
def test_a_signature_that_kernels_cannot_call_is_refused(result: Any, arguments: Any) -> None:
    with pytest.raises(TypeError):
        c_function(result, *arguments)


@pytest.mark.skipif(JIT_DISABLED, reason="types are checked when a kernel is compiled")
def test_arguments_that_do_not_fit_are_refused() -> None:
    from numba.core.errors import TypingError

    @kernel
    def too_few(address: int) -> float:
        """One argument is missing."""
        return call_d_d(address, ())  # type: ignore[no-any-return]

    @kernel
    def whole_for_floats(address: int, v: IntArray) -> None:
        """Whole numbers where floats are wanted."""
        call_fill(address, (1, ptr(v)))

    with pytest.raises(TypingError, match="1 arguments"):
        too_few(0)
    with pytest.raises(TypingError, match="LP_c_double"):
        whole_for_floats(0, np.zeros(3, dtype=np.int32))


# ---------------------------------------------------------------- data at an address


def test_numbers_are_read_and_written_where_they_lie() -> None:
    floats, whole = np.array([0.5, 1.5, 2.0]), np.array([10, 20, -5])
    assert sum_at(floats.ctypes.data, whole.ctypes.data, 3) == 29.0
    assert floats.tolist() == [29.0, 1.5, 2.0]


@pytest.mark.skipif(not (CHECKED or JIT_DISABLED), reason="the fast build does not look")
def test_the_checked_builds_notice_an_index_outside() -> None:
    floats = np.zeros(3)
    with pytest.raises(IndexError):
        past_the_end(floats.ctypes.data)


def test_the_parent_is_known() -> None:
    assert mother() == os.getppid()


# ---------------------------------------------------------------- called back


def test_c_calls_a_kernel_back() -> None:
    data = np.array([5, 3, 1], dtype=np.int64)
    address = c_callback(count_up)
    assert c_callback(count_up) == address  # one for ever
    back = ctypes.CFUNCTYPE(c_uint, c_void_p)(address)
    assert back(data.ctypes.data) == 1
    data[2] = 0
    thread = threading.Thread(target=back, args=(data.ctypes.data,))
    thread.start()
    thread.join()
    assert data[0] == 11
    assert call_again(address, data.ctypes.data) == 0
    assert data[0] == 14
