"""C functions that kernels call by address: a vendor's library inside a tick.

`c_function(result, *arguments)` gives the signature in the types of `ctypes` and makes `call`:
`call(address, (a, b, …))` in a kernel is that call, without the interpreter. The address is a
number from an array, so that no machine code depends on where a library was loaded and kernels
stay cacheable. `f8_at` and `i8_at` lead from an address to the numbers there: what a function that
C calls back (`_jit.c_callback`) is told of its data.

| C                              | `ctypes`              | in a kernel                          |
| ------------------------------ | --------------------- | ------------------------------------ |
| whole numbers of any size      | `c_byte` … `c_ulong`  | whole number                         |
| `double`                       | `c_double`            | float                                |
| `double *`, `int *`, `int64 *` | `POINTER(c_double)` … | `ptr(array)`, `local_f8(n)` …        |
| `void *`                       | `c_void_p`            | an address, whole number             |
| a structure of whole numbers   | `Structure`           | tuple of its fields; as result only  |

Arguments are not checked at run time: a wrong address or signature ends the process. As in `_ptr`
there are three builds; in plain Python `ctypes` makes the call.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from typing import Any

import numpy as np

from tangere._jit import CHECKED, JIT_DISABLED, kernel
from tangere._ptr import PtrF8, PtrI8, ptr

# A structure that does not fit one register is returned by Windows through a hidden first
# argument, by other systems in two registers.
HIDDEN_RESULT = sys.platform == "win32" and platform.machine() == "AMD64"
REGISTER = 8  # bytes

_SIGNED, _UNSIGNED = "bhilq", "?BHILQ"  # codes of whole numbers in `ctypes`


def address_of(function: Any) -> int:
    """Address of a function of a library that `ctypes` has loaded."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def c_function(result: Any, *arguments: Any, hidden_result: bool = HIDDEN_RESULT) -> Any:
    """A caller of C functions of one signature, for kernels: `call(address, (a, b, …))`.

    Args:
        result: Type of the result in `ctypes`; None: void.
        arguments: Types of the arguments.
        hidden_result: How a structure of more than eight bytes comes back.

    Raises:
        TypeError: A type that is not in the table above.
    """
    for kind in arguments:
        if not (_is_whole(kind) or _is_pointer(kind) or kind in (ctypes.c_double, ctypes.c_void_p)):
            raise TypeError(f"a kernel cannot give {kind} to a C function")
    if not (result is None or _is_whole(result) or result is ctypes.c_double):
        fields = getattr(result, "_fields_", ())
        if not fields or not all(_is_whole(kind) for _, kind, *_ in fields):
            raise TypeError(f"a kernel cannot take {result} from a C function")
        if ctypes.sizeof(result) > 2 * REGISTER:
            raise TypeError(f"{result} is larger than two registers")
    return _caller(result, arguments, hidden_result)


def _code(kind: Any) -> str:
    """The letter that `ctypes` has for a simple type."""
    code = getattr(kind, "_type_", "")
    return code if isinstance(code, str) else ""


def _is_whole(kind: Any) -> bool:
    return _code(kind) != "" and _code(kind) in _SIGNED + _UNSIGNED


def _is_pointer(kind: Any) -> bool:
    return hasattr(kind, "contents")


if JIT_DISABLED:

    def _caller(result: Any, arguments: Any, hidden_result: bool) -> Any:
        prototype = ctypes.CFUNCTYPE(result, *arguments)
        fields = [name for name, *_ in getattr(result, "_fields_", ())]

        def call(address: int, given: tuple[Any, ...]) -> Any:
            pairs = zip(arguments, given, strict=True)
            got = prototype(address)(*(_passed(kind, value) for kind, value in pairs))
            return tuple(getattr(got, name) for name in fields) if fields else got

        return call

    def _passed(kind: Any, value: Any) -> Any:
        """What `ctypes` wants: views become pointers, numbers lose the bits that do not fit."""
        if _is_pointer(kind):
            return ctypes.cast((ctypes.c_byte * value.nbytes).from_buffer(value), kind)
        return kind(value)

    def _view(address: int, n: int, dtype: Any) -> Any:
        memory = (ctypes.c_byte * (n * np.dtype(dtype).itemsize)).from_address(address)
        return ptr(np.frombuffer(memory, dtype=dtype))

    def f8_at(address: int, n: int) -> PtrF8:
        """The n float64 at an address."""
        return _view(address, n, np.float64)  # type: ignore[no-any-return]

    def i8_at(address: int, n: int) -> PtrI8:
        """The n int64 at an address."""
        return _view(address, n, np.int64)  # type: ignore[no-any-return]

    def parent_process() -> int:
        """Number of the process that started this one; 0 where there is no such thing."""
        return os.getppid() if os.name == "posix" else 0

else:
    from llvmlite import ir
    from numba import carray
    from numba.core import cgutils, types
    from numba.core.errors import NumbaTypeError
    from numba.extending import intrinsic

    _I32, _I64 = ir.IntType(32), ir.IntType(64)
    _ELEMENT = {
        ctypes.sizeof(ctypes.c_int): types.int32,
        ctypes.sizeof(ctypes.c_longlong): types.int64,
    }

    def _llvm(kind: Any) -> Any:
        """Type of an argument or a simple result."""
        if kind is None:
            return ir.VoidType()
        if kind is ctypes.c_double:
            return ir.DoubleType()
        return ir.IntType(8 * ctypes.sizeof(kind))

    def _extension(kind: Any) -> str:
        """What a small whole number is filled up with: some systems' callees rely on it."""
        return "signext" if _code(kind) in _SIGNED else "zeroext"

    def _check(kinds: Any, given: Any) -> None:
        """Refuse what does not fit the signature."""
        if not isinstance(given, types.BaseTuple) or len(given) != len(kinds):
            raise NumbaTypeError(f"a C function of {len(kinds)} arguments, in a tuple: got {given}")
        for kind, got in zip(kinds, given, strict=True):
            if _is_pointer(kind):
                to = kind._type_
                wanted = types.float64 if to is ctypes.c_double else _ELEMENT[ctypes.sizeof(to)]
                fits = getattr(got, "dtype", None) == wanted
            elif kind is ctypes.c_double:
                fits = isinstance(got, types.Number)
            else:
                fits = isinstance(got, types.Integer | types.Boolean)
            if not fits:
                raise NumbaTypeError(f"a C function takes {kind.__name__}: got {got}")

    def _argument(ctx: Any, builder: Any, kind: Any, given: Any, value: Any) -> Any:
        if _is_pointer(kind):
            if isinstance(given, types.Array):
                return ctx.make_array(given)(ctx, builder, value).data
            return value
        if kind is ctypes.c_double:
            return ctx.cast(builder, value, given, types.float64)
        whole = ctx.cast(builder, value, given, types.int64)
        return builder.trunc(whole, _llvm(kind)) if _llvm(kind).width < 64 else whole

    def _widened(builder: Any, kind: Any, value: Any) -> Any:
        """A whole number of C as int64."""
        if value.type.width == 64:
            return value
        widen = builder.sext if _code(kind) in _SIGNED else builder.zext
        return widen(value, _I64)

    def _returned(size: int) -> Any:
        """How a structure of so many bytes comes back in one or two registers."""
        if size <= REGISTER:
            return ir.IntType(8 * size)
        return ir.LiteralStructType([_I64, ir.IntType(8 * (size - REGISTER))])

    def _fields(ctx: Any, builder: Any, result: Any, memory: Any) -> Any:
        """The tuple of a structure's fields."""
        start = builder.bitcast(memory, ir.IntType(8).as_pointer())
        values = []
        for name, kind, *_ in result._fields_:
            place = builder.gep(start, [_I32(getattr(result, name).offset)])
            place = builder.bitcast(place, _llvm(kind).as_pointer())
            values.append(_widened(builder, kind, builder.load(place, typ=_llvm(kind))))
        return ctx.make_tuple(builder, types.UniTuple(types.int64, len(values)), values)

    def _caller(result: Any, arguments: Any, hidden_result: bool) -> Any:
        structure = hasattr(result, "_fields_")
        size = ctypes.sizeof(result) if structure else 0
        hidden = hidden_result and size > REGISTER
        if structure:
            back = types.UniTuple(types.int64, len(result._fields_))
        elif result is None:
            back = types.void
        else:
            back = types.float64 if result is ctypes.c_double else types.int64

        @intrinsic
        def call(context: Any, address: Any, given: Any) -> Any:
            _check(arguments, given)

            def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
                kinds = [types.unliteral(each) for each in signature.args[1]]
                values = [
                    _argument(ctx, builder, *each)
                    for each in zip(
                        arguments, kinds, cgutils.unpack_tuple(builder, args[1]), strict=True
                    )
                ]
                extended = {
                    i: (_extension(kind),) for i, kind in enumerate(arguments) if _is_whole(kind)
                }
                answer = _llvm(result) if not structure else _returned(size)
                if structure:
                    memory = cgutils.alloca_once(builder, answer)
                if hidden:
                    values.insert(0, memory)
                    extended = {i + 1: word for i, word in extended.items()}
                    answer = ir.VoidType()
                kind = ir.FunctionType(answer, [value.type for value in values])
                where = ctx.cast(builder, args[0], signature.args[0], types.int64)
                function = builder.inttoptr(where, kind.as_pointer())
                got = builder.call(function, values, arg_attrs=extended)
                if structure:
                    if not hidden:
                        builder.store(got, memory)
                    return _fields(ctx, builder, result, memory)
                if result is None:
                    return ctx.get_dummy_value()
                return got if result is ctypes.c_double else _widened(builder, result, got)

            return back(address, given), generate

        return call

    def _pointer(dtype: Any) -> Any:
        """An address as a pointer."""

        @intrinsic
        def pointer(context: Any, address: Any) -> Any:
            def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
                where = ctx.cast(builder, args[0], signature.args[0], types.int64)
                return builder.inttoptr(where, ctx.get_value_type(types.CPointer(dtype)))

            return types.CPointer(dtype)(address), generate

        return pointer

    _f8, _i8 = _pointer(types.float64), _pointer(types.int64)

    if CHECKED:

        @kernel
        def f8_at(address: int, n: int) -> PtrF8:
            """The n float64 at an address."""
            return carray(_f8(address), n)  # type: ignore[no-any-return]

        @kernel
        def i8_at(address: int, n: int) -> PtrI8:
            """The n int64 at an address."""
            return carray(_i8(address), n)  # type: ignore[no-any-return]

    else:

        @kernel
        def f8_at(address: int, n: int) -> PtrF8:
            """The n float64 at an address."""
            return _f8(address)  # type: ignore[no-any-return]

        @kernel
        def i8_at(address: int, n: int) -> PtrI8:
            """The n int64 at an address."""
            return _i8(address)  # type: ignore[no-any-return]

    @intrinsic
    def parent_process(context: Any) -> Any:
        """Number of the process that started this one; 0 where there is no such thing."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            if os.name != "posix":
                return _I64(0)
            kind = ir.FunctionType(_I32, [])
            ask = cgutils.get_or_insert_function(builder.module, kind, "getppid")
            return builder.sext(builder.call(ask, []), _I64)

        return types.int64(), generate
