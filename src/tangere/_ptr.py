"""Raw pointers and stack arrays for kernels: three builds of the same few functions.

Arrays passed between compiled functions cost reference counts and index wrap-around tests;
measured, a whole step takes 2.7 to 3.4 times as long. Below the entry kernel the hot functions
therefore take `ptr(array)` and index flat: element (i, j) of an (n, 3) array is `p[3 * i + j]`.
`pointers(t)` is a named tuple of arrays, or of such tuples, with `ptr` of every array.

* default: C pointers, unchecked;
* `TANGERE_CHECK=1`: flat array views compiled with bounds checks;
* `NUMBA_DISABLE_JIT=1`: memory views in plain Python.

`load`, `store` and `swap` are sequentially consistent accesses to a whole number that another
thread or process changes: what was written before a `store` or `swap` is seen after the `load` or
`swap` that finds its value. In plain Python this holds between threads alone. A thread that looks
for such a change again and again calls `relax` in between.
"""

from __future__ import annotations

import platform
import threading
import time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tangere._jit import CHECKED, JIT_DISABLED, kernel

# What kernels annotate: in the fast build a C pointer, elsewhere a flat array view.
PtrF8 = NDArray[np.float64]
PtrI4 = NDArray[np.int32]
PtrI8 = NDArray[np.int64]

T = TypeVar("T", bound=tuple[Any, ...])

if JIT_DISABLED:
    # A memoryview gives plain Python numbers: an int32 that is shifted or multiplied does not
    # overflow, as it does not in compiled code, and a step takes a fraction of the time.

    def ptr(a: NDArray[Any]) -> NDArray[Any]:
        """Flat view of a C-ordered array; a view is returned as it is."""
        if isinstance(a, memoryview):
            return a
        return memoryview(a.reshape(-1))  # type: ignore[return-value, arg-type]

    def pointers(t: T) -> T:
        """The same named tuple with flat views in place of arrays."""
        return type(t)(*(pointers(x) if isinstance(x, tuple) else ptr(x) for x in t))

    def off(p: NDArray[Any], n: int) -> NDArray[Any]:
        """The view that starts n elements further on."""
        return p[n:]

    def local_f8(n: int) -> PtrF8:
        """Scratch of n float64."""
        return ptr(np.full(n, np.nan))

    def local_i4(n: int) -> PtrI4:
        """Scratch of n int32."""
        return ptr(np.zeros(n, dtype=np.int32))

    def local_i8(n: int) -> PtrI8:
        """Scratch of n int64."""
        return ptr(np.zeros(n, dtype=np.int64))

    # The interpreter may change threads between the two halves of an exchange.
    _EXCHANGE = threading.Lock()

    def load(p: PtrI8, i: int) -> int:
        """Element i."""
        return int(p[i])

    def store(p: PtrI8, i: int, v: int) -> None:
        """Let element i be v."""
        with _EXCHANGE:
            p[i] = v

    def swap(p: PtrI8, i: int, v: int) -> int:
        """Let element i be v; returns what it was, as one indivisible act."""
        with _EXCHANGE:
            old, p[i] = int(p[i]), v
        return old

    def add(p: PtrI8, i: int, v: int) -> int:
        """Add v to element i; returns what it was, as one indivisible act."""
        with _EXCHANGE:
            old = int(p[i])
            p[i] = old + v
        return old

    def relax() -> None:
        """Let others work while there is nothing to do but to look again."""
        time.sleep(0.0)

elif CHECKED:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def _raw(context: Any, a: Any) -> Any:
        """Pointer to the first element of an array."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ctx.make_array(signature.args[0])(ctx, builder, args[0]).data

        return types.CPointer(a.dtype)(a), generate

    @kernel
    def ptr(a: NDArray[Any]) -> NDArray[Any]:
        """Flat view of a C-ordered array."""
        return a.reshape(-1)

    def _ptr_type(a: Any) -> Any:
        return a.copy(ndim=1)

    def _ptr_value(ctx: Any, builder: Any, kind: Any, value: Any) -> Any:
        flat = _ptr_type(kind)(kind)
        return ctx.compile_internal(builder, lambda a: a.reshape(-1), flat, [value])

    @kernel
    def off(p: NDArray[Any], n: int) -> NDArray[Any]:
        """The view that starts n elements further on."""
        return p[n:]

    @kernel
    def local_f8(n: int) -> PtrF8:
        """Scratch of n float64."""
        return np.full(n, np.nan)

    @kernel
    def local_i4(n: int) -> PtrI4:
        """Scratch of n int32."""
        return np.zeros(n, dtype=np.int32)

    @kernel
    def local_i8(n: int) -> PtrI8:
        """Scratch of n int64."""
        return np.zeros(n, dtype=np.int64)

    @kernel
    def load(p: PtrI8, i: int) -> int:
        """Element i."""
        _ = p[i]  # its bounds are checked here
        return _load(_raw(p), i)  # type: ignore[no-any-return]

    @kernel
    def store(p: PtrI8, i: int, v: int) -> None:
        """Let element i be v."""
        _ = p[i]
        _store(_raw(p), i, v)

    @kernel
    def swap(p: PtrI8, i: int, v: int) -> int:
        """Let element i be v; returns what it was, as one indivisible act."""
        _ = p[i]
        return _swap(_raw(p), i, v)  # type: ignore[no-any-return]

    @kernel
    def add(p: PtrI8, i: int, v: int) -> int:
        """Add v to element i; returns what it was, as one indivisible act."""
        _ = p[i]
        return _add(_raw(p), i, v)  # type: ignore[no-any-return]

else:
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def _stack_array(dtype: Any) -> Any:
        @intrinsic
        def local(context: Any, n: Any) -> Any:
            if not isinstance(n, types.IntegerLiteral):
                return None
            count = n.literal_value

            def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
                return cgutils.alloca_once(builder, ctx.get_value_type(dtype), size=count)

            return types.CPointer(dtype)(n), generate

        return local

    def _ptr_type(a: Any) -> Any:
        return a if isinstance(a, types.CPointer) else types.CPointer(a.dtype)

    def _ptr_value(ctx: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.CPointer):
            return value
        return ctx.make_array(kind)(ctx, builder, value).data

    @intrinsic
    def ptr(context: Any, a: Any) -> Any:
        """Pointer to the first element of a C-ordered array; a pointer is returned as it is."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _ptr_value(ctx, builder, signature.args[0], args[0])

        return _ptr_type(a)(a), generate

    @intrinsic
    def off(context: Any, p: Any, n: Any) -> Any:
        """The pointer n elements further on."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            step = ctx.cast(builder, args[1], signature.args[1], types.intp)
            return builder.gep(args[0], [step])

        return p(p, n), generate

    local_f8 = _stack_array(types.float64)
    local_i4 = _stack_array(types.int32)
    local_i8 = _stack_array(types.int64)

if not JIT_DISABLED:
    from llvmlite import ir
    from numba.core import cgutils

    def _pointers_type(t: Any) -> Any:
        if not isinstance(t, types.BaseTuple):
            return _ptr_type(t)
        return types.BaseTuple.from_types([_pointers_type(x) for x in t], t.instance_class)

    def _pointers_value(ctx: Any, builder: Any, kind: Any, value: Any) -> Any:
        if not isinstance(kind, types.BaseTuple):
            return _ptr_value(ctx, builder, kind, value)
        fields = cgutils.unpack_tuple(builder, value)
        pairs = zip(kind, fields, strict=True)
        return ctx.make_tuple(
            builder, _pointers_type(kind), [_pointers_value(ctx, builder, k, v) for k, v in pairs]
        )

    @intrinsic
    def pointers(context: Any, t: Any) -> Any:
        """The same named tuple with pointers in place of arrays."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _pointers_value(ctx, builder, signature.args[0], args[0])

        return _pointers_type(t)(t), generate

    ORDER, ALIGN = "seq_cst", 8

    def _place(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        """The address of element i of a pointer to int64."""
        return builder.gep(args[0], [ctx.cast(builder, args[1], signature.args[1], types.intp)])

    def _value(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ctx.cast(builder, args[2], signature.args[2], types.int64)

    @intrinsic
    def _load(context: Any, p: Any, i: Any) -> Any:
        """Element i."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ctx.get_value_type(types.int64)
            return builder.load_atomic(
                _place(ctx, builder, signature, args), ORDER, ALIGN, typ=kind
            )

        return types.int64(p, i), generate

    @intrinsic
    def _store(context: Any, p: Any, i: Any, v: Any) -> Any:
        """Let element i be v."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = _value(ctx, builder, signature, args)
            builder.store_atomic(value, _place(ctx, builder, signature, args), ORDER, ALIGN)
            return ctx.get_dummy_value()

        return types.void(p, i, v), generate

    def _indivisible(operation: str) -> Any:
        """Change element i by v in one act that returns what it was."""

        @intrinsic
        def change(context: Any, p: Any, i: Any, v: Any) -> Any:
            def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
                value = _value(ctx, builder, signature, args)
                place = _place(ctx, builder, signature, args)
                return builder.atomic_rmw(operation, place, value, ORDER)

            return types.int64(p, i, v), generate

        return change

    _swap = _indivisible("xchg")  # let element i be v
    _add = _indivisible("add")  # add v to element i

    if not CHECKED:
        load, store, swap, add = _load, _store, _swap, _add

    X86 = platform.machine() in ("x86_64", "AMD64")

    @intrinsic
    def relax(context: Any) -> Any:
        """Let others work while there is nothing to do but to look again.

        On x86: two threads may share a core, and one that only looks would take half of it.
        """

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            if X86:
                kind = ir.FunctionType(ir.VoidType(), [])
                pause = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause")
                builder.call(pause, [])
            return ctx.get_dummy_value()

        return types.void(), generate
