"""How a kernel that is called by another kernel is compiled: to bitcode, and no further.

Numba treats every function as one that a person may call: it is optimised with all that it calls,
made into machine code and given a wrapper for the interpreter, and then its caller is optimised
with all of it again. In a tree of kernels seven levels deep the innermost lines are compiled seven
times. Here a called kernel is left alone as bitcode; the one kernel at the top, the one that the
interpreter calls, is linked with all that hangs on it, optimised and made into machine code, once.
"""

from __future__ import annotations

import importlib
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult

# Dispatchers of called kernels by module and name: where the code of a callee is found again.
CALLED: dict[tuple[str, str], Any] = {}


class _NoEngine:
    """Stands where the code generator would note addresses of what has none."""

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Nothing: the caller's machine code has an environment of its own."""


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a called kernel alone; `callees` are to be linked beside it."""

    codegen = _NoEngine()
    _linking_libraries: list[Any]
    origin: tuple[str, str, Any]  # module, name and types of the arguments

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._callees: list[tuple[str, str, Any]] = []

    def finalize(self) -> None:
        """As in the base class; of what it calls, only Numba's own helpers are linked."""
        kernels = {id(each): each for each in self._linking_libraries if hasattr(each, "origin")}
        self._callees = [each.origin for each in kernels.values()]
        self._linking_libraries = [x for x in self._linking_libraries if id(x) not in kernels]
        super().finalize()

    def callees(self) -> list[_InnerLibrary]:
        """Libraries of the kernels that it calls."""
        found = []
        for module, name, types in self._callees:
            importlib.import_module(module)
            called = CALLED[module, name]
            called.compile(types)
            found.append(called.overloads[types].library)
        return found

    def _optimize_final_module(self) -> None:
        """Nothing: the caller's turn comes later."""

    def _finalize_final_module(self) -> None:
        """As in the base class, without machine code and with callees that are only declared."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """What the cache keeps: bitcode, and whose else is needed."""
        return (*self.serialize_using_bitcode(), self._callees, self.origin)

    @classmethod
    def restored(cls, codegen: Any, kept: tuple[Any, ...]) -> _InnerLibrary:
        """The same from what the cache kept."""
        name, _, bitcode, callees, origin = kept
        library = cls(codegen, name)
        library._callees, library.origin = callees, origin
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class _OuterLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that the interpreter calls, with all that it calls."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        """As in the base class, with the callees of callees."""
        self._own = {f.name for f in self._final_module.functions if not f.is_declaration}
        found: dict[int, Any] = {}
        fresh = list(self._linking_libraries)
        while fresh:
            library = fresh.pop(0)
            if id(library) not in found:
                found[id(library)] = library
                fresh += library.callees() if isinstance(library, _InnerLibrary) else []
        self._linking_libraries = list(found.values())
        super().finalize()

    def _optimize_final_module(self) -> None:
        """As in the base class, after fields of structures that a kernel does not use are dropped.

        Structures are passed field by field, hundreds for a scene, most of them only to be passed
        on. LLVM drops an unused argument where it knows all callers. To let it know them for good
        would make it inline every kernel that is called once: as fast, and twice the compile time.
        """
        linkage = {}
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith("_ZN7tangere"):
                raise AssertionError(f"{function.name} is called but was not linked")
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
        function = state.func_id.func
        # The same symbol in whatever process it is compiled: callers of another one name it so.
        state.func_id.unique_id, state.func_id.unique_name = 0, state.func_id.func_qualname
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.origin = (function.__module__, function.__qualname__, tuple(state.args))
        return super()._compile_core()


class _InnerCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Beside the file of the same function with machine code."""
        return f"inner-{super().get_filename_base(fullname, abiflags)}"

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The same result as was saved, without machine code."""
        code, descriptor, environment, signature, *_, environments = payload
        library = _InnerLibrary.restored(target_context.codegen(), code)
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
