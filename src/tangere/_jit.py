"""The only place that names Numba's compiler: the `kernel` decorator, its cache, its progress bar.

Machine code is cached in folders named by module and by a hash over the source of that module and
all it imports. Numba's own cache looks at the file of the *called* function only: a change in a
callee of another file would run stale machine code without a word. With the hash in the path any
edit leads to fresh folders, for the modules that can notice it and for no others.

Three builds come from the same sources (see `_ptr`): raw pointers (default), bounds-checked arrays
(`TANGERE_CHECK=1`), and plain Python (`NUMBA_DISABLE_JIT=1`, for coverage and the debugger).

Numba itself is imported by the first `kernel`, so that this module stays cheap for those who only
want `cache_root`.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

CHECKED = os.environ.get("TANGERE_CHECK", "0") not in ("", "0")
JIT_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

PACKAGE = Path(__file__).resolve().parent

# Kernels without a clock, as on systems where they cannot have one: see `_clock`.
PORTABLE_ASKED = os.environ.get("TANGERE_PORTABLE", "0") not in ("", "0")

# What is compiled from the same sources, but is not the same.
BUILD = ("checked" if CHECKED else "fast") + ("-portable" if PORTABLE_ASKED else "")

# Compiled versions of a module left when a new one is made: a few branches of one checkout.
KEPT_VERSIONS = 4

# Thresholds of the garbage collector while kernels compile: 6 % of the time, 10 % more memory.
RARELY = (100_000, 50, 100)

# `from tangere.a import b, c` (b may be a module), over several lines in brackets, and `import …`.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(tangere[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(tangere[\w.]*))",
    re.MULTILINE,
)


class Sources:
    """The Python sources of a copy of this package: who imports whom, and hashes over that."""

    def __init__(self, root: Path = PACKAGE) -> None:
        self._root = root
        self._found: dict[str, tuple[bytes, set[str]]] = {}

    def hash(self, module: str) -> str:
        """Hash over names and contents of a module and all it imports [hex, 16 digits]."""
        digest = hashlib.sha256()
        for name in sorted(self.closure(module)):
            digest.update(name.encode() + b"\0" + self._source(name)[0])
        return digest.hexdigest()[:16]

    def closure(self, module: str) -> set[str]:
        """The module and all modules of the package it imports, directly or not."""
        reached: set[str] = set()
        fresh = {module}
        while fresh:
            reached |= fresh
            fresh = {name for each in fresh for name in self._source(each)[1]} - reached
        return reached

    def _source(self, module: str) -> tuple[bytes, set[str]]:
        """Digest of a module's text, and the modules that its imports name at any place."""
        if module not in self._found:
            stem = self._root.joinpath(*module.split(".")[1:])
            path = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            names: set[str] = set()
            for origin, members, plain in _IMPORT.findall(text):
                names.add(origin or plain)
                # `from package import member`: the member may be a module
                if origin and self._root.joinpath(*origin.split(".")[1:]).is_dir():
                    names.update(f"{origin}.{member}" for member in re.findall(r"\w+", members))
            self._found[module] = hashlib.sha256(text.encode()).digest(), names
        return self._found[module]


def cache_root() -> Path:
    """Folder of compiled kernels and prepared meshes: `TANGERE_CACHE_DIR` or the user's cache."""
    given = os.environ.get("TANGERE_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "tangere"


_sources = functools.cache(Sources)


@functools.cache
def kernel_folder(module: str) -> Path | None:
    """Folder of a module's machine code, made if missing; None where nothing can be written."""
    root = _kernel_root()
    if root is None:
        return None
    folder = root / f"{module}-{_sources().hash(module)}"
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        versions = sorted(root.glob(f"{module}-*"), key=lambda path: -path.stat().st_mtime)
        for old in versions[KEPT_VERSIONS:]:
            shutil.rmtree(old, ignore_errors=True)
    os.utime(folder)  # the last used are the last to go
    return folder


@functools.cache
def _kernel_root() -> Path | None:
    root = cache_root() / "kernels" / BUILD
    try:
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
    except OSError as error:
        sys.stderr.write(
            f"tangere: cannot write to {root} ({error.strerror}): kernels will be compiled at "
            "every start; set TANGERE_CACHE_DIR to a writable folder\n"
        )
        return None
    return root


def is_compiled(module: str) -> bool:
    """Whether machine code of a module is on disk that belongs to the present sources."""
    folder = cache_root() / "kernels" / BUILD / f"{module}-{_sources().hash(module)}"
    return next(folder.rglob("*.nbc"), None) is not None


# `fastmath` grants fused multiply-add alone: NaN tests stay valid. `error_model="numpy"` makes x/0
# an infinity instead of an exception, which a 1 kHz loop could not handle.
_OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "boundscheck": CHECKED}


def _cache_folder(function: Callable[..., Any]) -> Path | None:
    """Where machine code of a function is kept; None: nowhere."""
    # A function outside the package is not in the hash: caching it could return stale code.
    module = function.__module__
    return kernel_folder(module) if module.startswith("tangere.") else None


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a hot function: no interpreter lock, no allocation by habit, cached on disk."""
    if JIT_DISABLED:
        return function
    import numba

    from tangere._inner import CALLED, InnerCache, InnerCompiler, OuterCompiler

    module = function.__module__
    folder = _cache_folder(function)
    # The option is global to Numba: other packages' functions keep the folder they had.
    elsewhere = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder) if folder else elsewhere
    options = {"nogil": True, "no_cfunc_wrapper": True, **_OPTIONS}
    try:
        compiled = numba.njit(cache=folder is not None, pipeline_class=OuterCompiler, **options)(
            function
        )
        called = numba.njit(
            pipeline_class=InnerCompiler, no_cpython_wrapper=True, _nrt=CHECKED, **options
        )(function)
        if folder is not None:
            called._cache = InnerCache(function)
    finally:
        numba.config.CACHE_DIR = elsewhere
    CALLED[module, function.__qualname__] = called
    _let_kernels_call(compiled, called)
    _progress().total += 1
    return cast("Callable[P, R]", compiled)


def compile_for(kernel_: Callable[..., Any], *types: Any) -> Any:
    """Compile a kernel as another kernel calls it, for these Numba types; the type of its result.

    What comes out is on disk for the caller, in this process or in another.
    """
    called = cast("Any", kernel_).called
    called.compile(types)
    return called.overloads[types].signature.return_type


@functools.cache
def c_callback(kernel_: Callable[[int], int]) -> int:
    """Address of a C function `unsigned (void *)` that runs a kernel of one whole number.

    The kernel is given the pointer as a number, see `_native`, and its result is C's. It runs on
    whatever thread C calls it from, without the interpreter. Other people's schedulers know it by
    address alone and may call it once more than they should, so it is kept for ever.
    """
    if JIT_DISABLED:
        made: Any = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p)(
            lambda address: kernel_(address or 0)
        )
        _KEPT.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value or 0
    import numba

    from tangere._inner import OuterCompiler

    function = cast("Any", kernel_).py_func
    folder, elsewhere = _cache_folder(function), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder) if folder else elsewhere
    try:
        made = numba.cfunc(
            numba.uint32(numba.int64),
            cache=folder is not None,
            pipeline_class=OuterCompiler,
            **_OPTIONS,
        )(function)
    finally:
        numba.config.CACHE_DIR = elsewhere
    _KEPT.append(made)
    return int(made.address)


def user_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of the user's: nothing cached, indices checked."""
    if JIT_DISABLED:
        return function
    import numba

    options = {**_OPTIONS, "boundscheck": True}
    return cast("Callable[P, R]", numba.njit(nogil=True, **options)(function))


def c_procedure(
    function: Callable[[Any, Any], None], given: int, filled: int
) -> tuple[Callable[[Any, Any], None], int]:
    """A user's kernel of two arrays as a C function `void (const double *, double *)`: its address.

    Args:
        function: From `user_kernel`; it takes the numbers given, and an array to fill.
        given: How many numbers there are.
        filled: How many there are to be.

    Returns:
        The kernel itself, to be tried, and the address; the C function is kept for ever.
    """
    if JIT_DISABLED:
        import numpy as np

        doubles = ctypes.POINTER(ctypes.c_double)

        def call(a: Any, b: Any) -> None:
            function(np.ctypeslib.as_array(a, (given,)), np.ctypeslib.as_array(b, (filled,)))

        made: Any = ctypes.CFUNCTYPE(None, doubles, doubles)(call)
        _KEPT.append(made)
        return function, ctypes.cast(made, ctypes.c_void_p).value or 0
    import numba

    doubles = numba.types.CPointer(numba.float64)

    def call_c(a: Any, b: Any) -> None:
        function(numba.carray(a, (given,)), numba.carray(b, (filled,)))

    call_c.__module__ = function.__module__
    made = numba.cfunc(numba.void(doubles, doubles), **_OPTIONS)(call_c)
    _KEPT.append(made)
    return function, int(made.address)


_KEPT: list[Any] = []


def _let_kernels_call(compiled: Any, called: Any) -> None:
    """Other kernels that name `compiled` are given `called`.

    f(0) and f(n) share one compiled version of f: Numba would make one per constant argument, a
    quarter of the first start, for no gain in speed.
    """
    from numba.core.types import unliteral

    def call_template(args: Any, named: Any) -> Any:
        plain = tuple(unliteral(each) for each in args)
        return called.get_call_template(
            plain, {key: unliteral(each) for key, each in named.items()}
        )

    compiled.get_call_template = call_template
    compiled.get_overload = called.get_overload
    compiled.called = called


@contextmanager
def one_bar() -> Iterator[None]:
    """Everything compiled inside shares one progress bar; none is shown if nothing compiles."""
    if JIT_DISABLED:
        yield
        return
    progress = _progress()
    progress.enter()
    try:
        yield
    finally:
        progress.leave()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Whatever is compiled inside is said to be for this."""
    if JIT_DISABLED:
        yield
        return
    progress = _progress()
    before, progress.stage = progress.stage, name
    try:
        yield
    finally:
        progress.stage = before


class _Progress:
    """What a person sees on stderr while kernels compile, so that a first start is no mystery.

    Numba reports each function that it really compiles; loading from the cache reports nothing. On
    a terminal a bar counts them, elsewhere one line says once that the wait is expected. The total
    is the number of kernels imported so far: a good guess, as nearly all have one signature.
    """

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self.stage = ""
        self._depth = 0
        self._told = False
        self._threshold: tuple[int, ...] = ()
        self._bar: Any = None
        self._task: Any = None

    def enter(self) -> None:
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._threshold:
            gc.set_threshold(*self._threshold)
            self._threshold = ()

    def notify(self, event: Any) -> None:
        """Numba begins to compile a function, callees within, or has ended."""
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("tangere."):
            return
        if event.is_start:
            self.enter()
            if not self._threshold:  # a compiler makes objects by the million and drops few
                self._threshold = gc.get_threshold()
                gc.set_threshold(*RARELY)
            if self._bar is None:
                self._open()
            self._show(f"{function.__module__}.{function.__name__}".removeprefix("tangere."))
        else:
            self.done += 1
            self._show("")
            self.leave()

    def _show(self, function: str) -> None:
        if self._bar is not None:
            total = max(self.total, self.done)
            self._bar.update(
                self._task, completed=self.done, total=total, stage=self.stage, function=function
            )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("compiling, once: {task.fields[stage]}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("[dim]{task.fields[function]}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(
                "", total=self.total, completed=self.done, stage=self.stage, function=""
            )
            self._bar.start()
        elif not self._told:
            sys.stderr.write("tangere: compiling kernels, once for this version; about a minute\n")
            self._told = True


@functools.cache
def _progress() -> _Progress:
    from numba.core import event

    progress = _Progress()
    event.Listener.register(_Progress)
    event.register("numba:compile", progress)
    return progress
