"""How a kernel that is called by another kernel is compiled: to bitcode, and no further.

Numba treats every function as one that a person may call: it is optimised with all that it calls,
made into machine code and given a wrapper for the interpreter, and then its caller is optimised
with all of it again. In a tree of kernels seven levels deep the innermost lines are compiled seven
times. Here a called kernel is inlined and left at that; the one kernel at the top, the one that
the interpreter calls, is optimised and made into machine code with all that hangs on it, once.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult


class _NoEngine:
    """Stands where the code generator would note addresses of what has none."""

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Nothing: the caller's machine code has an environment of its own."""


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a called kernel and of those that it calls, to be linked into a caller."""

    codegen = _NoEngine()

    def _optimize_final_module(self) -> None:
        """Nothing: the caller's turn comes later."""

    def _finalize_final_module(self) -> None:
        """As in the base class, without machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """What the cache keeps: bitcode."""
        return self.serialize_using_bitcode()  # type: ignore[no-any-return]


class _OuterLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that the interpreter calls, with all that it calls."""

    def finalize(self) -> None:
        """As in the base class."""
        self._own = {f.name for f in self._final_module.functions if not f.is_declaration}
        super().finalize()

    def _optimize_final_module(self) -> None:
        """As in the base class, after fields of structures that a kernel does not use are dropped.

        Structures are passed field by field, hundreds for a scene, most of them only to be passed
        on. LLVM drops an unused argument where it knows all callers. To let it know them for good
        would make it inline every kernel that is called once: as fast, and twice the compile time.
        """
        linkage = {}
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._own:
                linkage[function.name] = function.linkage
                function.linkage = llvm.Linkage.internal
        passes = llvm.create_new_module_pass_manager()
        passes.add_dead_arg_elimination_pass()
        passes.add_global_dead_code_eliminate_pass()
        options = llvm.create_pipeline_tuning_options()
        passes.run(self._final_module, llvm.create_pass_builder(self.codegen._tm, options))
        for function in self._final_module.functions:
            if function.name in linkage:
                function.linkage = linkage[function.name]
        super()._optimize_final_module()


class OuterCompiler(Compiler):  # type: ignore[misc]
    """Numba's own pipeline, see `_OuterLibrary`."""

    def _compile_core(self) -> Any:
        state = self.state
        state.library = _OuterLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super()._compile_core()


class InnerCompiler(Compiler):  # type: ignore[misc]
    """Numba's own pipeline into bitcode. The interpreter must not call what comes out."""

    def _compile_core(self) -> Any:
        state = self.state
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super()._compile_core()


class _InnerCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Beside the file of the same function with machine code."""
        return f"inner-{super().get_filename_base(fullname, abiflags)}"

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The same result as was saved, without machine code."""
        code, descriptor, environment, signature, *_, environments = payload
        library = _InnerLibrary(target_context.codegen(), code[0])
        library._final_module = llvm.parse_bitcode(code[2])
        library._finalize_final_module()
        return CompileResult(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, descriptor, environment),
            fndesc=descriptor,
            type_annotation=None,
            signature=signature,
            objectmode=False,
            lifted=(),
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=(),
            referenced_envs=environments,
        )


class InnerCache(FunctionCache):  # type: ignore[misc]
    """Keeps on disk what `InnerCompiler` made."""

    _impl_class = _InnerCacheImpl
