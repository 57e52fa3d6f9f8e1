"""A progress bar on the terminal for work that turns out to take long."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

# Work that is done within this time shows nothing [s].
DELAY = 2.0


class Progress:
    """While entered: a bar on stderr, after a delay [s], if that is a terminal."""

    def __init__(self, what: str, total: int, *, delay: float = DELAY) -> None:
        self._what, self._total, self._done = what, total, 0
        self._bar: Any = None
        self._task: Any = None
        self._guard = threading.Lock()
        # A thread of its own: one factorisation may take longer than the delay.
        self._timer = threading.Timer(delay, self._open)
        self._timer.daemon = True

    def __enter__(self) -> Progress:
        """Start the clock."""
        self._timer.start()
        return self

    def advance(self, steps: int) -> None:
        """So many steps more are done."""
        with self._guard:
            self._done += steps
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def reach(self, steps: int) -> None:
        """So many steps are done in all."""
        self.advance(steps - self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._guard:
            self._total = 0  # a timer that is just going off opens nothing
            if self._bar is not None:
                self._bar.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        with self._guard:
            if self._total == 0 or not console.is_terminal:
                return
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()
