"""A progress bar that appears only when work turns out to be long and a person is looking."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

_PATIENCE = 1.0  # seconds before a bar is shown


class Progress:
    """Count steps; show a bar on a terminal's stderr once the work has taken a second."""

    def __init__(self, what: str, steps: int, enabled: bool) -> None:
        self._what = what
        self._steps = steps
        self._enabled = enabled and steps > 1 and sys.stderr.isatty()
        self._done = 0
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def advance(self) -> None:
        """Note that one more step is done."""
        if not self._enabled:
            return
        with self._lock:
            self._done += 1
            if self._bar is None and time.monotonic() - self._start > _PATIENCE:
                self._show()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=self._steps)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
