"""The clock of kernels: nanoseconds of a monotonic clock, for the pace of a loop and its stages.

On Linux a kernel reads it without returning to Python; libc is called by symbol name, so that the
kernel stays cacheable. Elsewhere kernels have no clock, and `kernel_ns` is 0.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from tangere._jit import JIT_DISABLED, PORTABLE_ASKED, kernel

PORTABLE = (
    JIT_DISABLED
    or sys.platform != "linux"
    or sys.maxsize < 2**32  # another timespec
    or PORTABLE_ASKED
)

if JIT_DISABLED:

    def kernel_ns() -> int:
        """Nanoseconds of the monotonic clock."""
        return time.perf_counter_ns()

elif PORTABLE:

    def _no_clock() -> int:
        """0: kernels have no clock here."""
        return 0

    kernel_ns = kernel(_no_clock)

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    _I32, _I64 = ir.IntType(32), ir.IntType(64)
    _MONOTONIC = 1  # CLOCK_MONOTONIC
    _SECOND = 1_000_000_000

    @intrinsic  # type: ignore[untyped-decorator]
    def kernel_ns(context: Any) -> Any:
        """Nanoseconds of the monotonic clock."""

        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            spec = cgutils.alloca_once(builder, _I64, size=2)
            kind = ir.FunctionType(_I32, [_I32, spec.type])
            read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
            builder.call(read, [_I32(_MONOTONIC), spec])
            seconds = builder.load(builder.gep(spec, [_I32(0)]))
            rest = builder.load(builder.gep(spec, [_I32(1)]))
            return builder.add(builder.mul(seconds, _I64(_SECOND)), rest)

        return types.int64(), generate
