"""A progress bar that appears only when work turns out to be long and a person is looking."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Count steps; show a bar with the time left on a terminal's stderr. May be advanced from several threads.

    Parameters
    ----------
    what
        What is counted, in a word or two.
    steps
        How many there are.
    show
        True and False are the user's word, None means: if stderr is a terminal.
    done
        Steps that were done before.
    patience
        Seconds of work before the bar appears; with 0 it is there from the beginning.
    keep
        Leave the full bar behind at the end.

    Examples
    --------
    >>> from alldags.progress import Progress
    >>> with Progress("fitting nodes", 3, show=False) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    """

    def __init__(
        self,
        what: str,
        steps: int,
        *,
        show: bool | None = None,
        done: int = 0,
        patience: float = 0.0,
        keep: bool = False,
    ) -> None:
        self._what = what
        self._steps = steps
        self._visible = steps > 1 and (sys.stderr.isatty() if show is None else show)
        self._done = done
        self._patience = patience
        self._keep = keep
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        self.advance(0)
        return self

    def advance(self, steps: int = 1) -> None:
        """Note that some more steps are done."""
        if not self._visible:
            return
        with self._lock:
            if self._bar is None and time.monotonic() - self._start >= self._patience:
                self._open()
            self._done += steps
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        left = (TextColumn("left"), TimeRemainingColumn())
        self._bar = Bar(
            *columns,
            *left,
            console=Console(stderr=True),
            transient=not self._keep,
            speed_estimate_period=300,  # seconds; over less, steps of different length make the time left jump
        )
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=self._steps, completed=self._done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
