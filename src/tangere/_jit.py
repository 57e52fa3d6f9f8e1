"""The only place that names Numba's compiler: the `kernel` decorator, its cache, its progress bar.

Machine code is cached in a folder named by a hash over all sources that can hold a kernel or a
constant that a kernel reads. Numba's own cache looks at the file of the *called* function only: a
change in a callee of another file would run stale machine code without a word. With the hash in the
path any such edit leads to a fresh folder.

Three builds come from the same sources (see `_ptr`): raw pointers (default), bounds-checked arrays
(`TANGERE_CHECK=1`), and plain Python (`NUMBA_DISABLE_JIT=1`, for coverage and the debugger).

Numba itself is imported by the first `kernel`, so that this module stays cheap for those who only
want `cache_root`.
"""

from __future__ import annotations

import functools
import hashlib
import os
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

# Neither a kernel nor anything that a kernel imports stands in these (tests/test_kernels.py proves
# it), so that editing a scene or a report does not cost everybody a compilation.
UNHASHED = frozenset(
    {"cli.py", "doctor.py", "experiments", "scene", "simulation.py", "viewer", "warmup.py"}
)

# Compiled folders left when a new one is made: a few branches, each in the fast and checked build.
KEPT_FOLDERS = 8


def kernel_sources(root: Path = PACKAGE) -> list[Path]:
    """Every source that may hold a kernel or feed one, in a fixed order."""
    sources = root.rglob("*.py")
    return sorted(path for path in sources if path.relative_to(root).parts[0] not in UNHASHED)


def source_hash(root: Path = PACKAGE) -> str:
    """Hash over path and content of the kernel sources [hex, 16 digits]."""
    digest = hashlib.sha256()
    for path in kernel_sources(root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


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


@functools.cache
def kernel_folder() -> Path | None:
    """Folder of this build's machine code, made if missing; None where nothing can be written."""
    build = "checked" if CHECKED else "fast"
    folder = cache_root() / "kernels" / f"{source_hash()}-{build}"
    try:
        fresh = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        if fresh:
            _prune(folder.parent)
    except OSError as error:
        sys.stderr.write(
            f"tangere: cannot write to {folder} ({error.strerror}): kernels will be compiled at "
            "every start; set TANGERE_CACHE_DIR to a writable folder\n"
        )
        return None
    return folder


def _prune(folder: Path) -> None:
    """Remove all but the most recently used builds in the folder."""
    builds = sorted(
        (path for path in folder.iterdir() if path.is_dir()), key=lambda path: -path.stat().st_mtime
    )
    for old in builds[KEPT_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a hot function: no interpreter lock, no allocation by habit, cached on disk.

    `fastmath` grants fused multiply-add alone: NaN tests stay valid. `error_model="numpy"` makes
    x/0 an infinity instead of an exception, which a 1 kHz loop could not handle.
    """
    if JIT_DISABLED:
        return function
    import numba

    # A function outside the package is not in the hash: caching it could return stale code.
    folder = kernel_folder() if function.__module__.startswith("tangere.") else None
    # The option is global to Numba: other packages' functions keep the folder they had.
    elsewhere = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder) if folder else elsewhere
    try:
        compiled = numba.njit(
            nogil=True,
            cache=folder is not None,
            error_model="numpy",
            fastmath={"contract"},
            boundscheck=CHECKED,
        )(function)
    finally:
        numba.config.CACHE_DIR = elsewhere
    _forget_literals(compiled)
    _progress().total += 1
    return cast("Callable[P, R]", compiled)


def _forget_literals(compiled: Any) -> None:
    """Let f(0) and f(n) called from other kernels share one compiled version of f.

    Numba would make one per constant argument: a quarter of the first start, for no gain in speed.
    """
    from numba.core.types import unliteral

    template = compiled.get_call_template

    def call_template(args: Any, named: Any) -> Any:
        plain = tuple(unliteral(each) for each in args)
        return template(plain, {key: unliteral(each) for key, each in named.items()})

    compiled.get_call_template = call_template


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


class _Progress:
    """What a person sees on stderr while kernels compile, so that a first start is no mystery.

    Numba reports each function that it really compiles; loading from the cache reports nothing. On
    a terminal a bar counts them, elsewhere one line says once that the wait is expected. The total
    is the number of kernels imported so far: a good guess, as nearly all have one signature.
    """

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self._depth = 0
        self._told = False
        self._bar: Any = None
        self._task: Any = None

    def enter(self) -> None:
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._bar is not None:
            self._bar.stop()
            self._bar = None

    def notify(self, event: Any) -> None:
        """Numba begins to compile a function, callees within, or has ended."""
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("tangere."):
            return
        if event.is_start:
            self.enter()
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
            self._bar.update(self._task, completed=self.done, total=total, function=function)

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
                TextColumn("compiling kernels, once"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("[dim]{task.fields[function]}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=self.total, completed=self.done, function="")
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
