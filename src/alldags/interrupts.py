"""Ctrl-C ends the program, whatever it is doing.

Python raises `KeyboardInterrupt` in the main thread, once that is back from compiled code. Three things keep it from
ending a program. Compiled code may run for long, and packages may catch every exception while they load (pyarrow does,
when it looks for pandas): so a thread of its own waits for the signal, too, and if the program has not ended a few
seconds later, it ends it. And where compiled code calls Python, exceptions cannot be raised (numba's compiler does, and
then misses what it was to compile): there the program ends at once, and whatever else an interrupt leads to counts as
one. Files are written complete or not at all, so that nothing is damaged by that.

Work whose answer nobody waits for any more can be given up: long loops ask between their steps (`checkpoint`).
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

PATIENCE = 2.0  # seconds from the signal to the end
_HEARD = 0.05  # seconds until the thread has heard of a signal that was already here
INTERRUPTED = 130  # exit code, as shells give it

_is_needless: ContextVar[Callable[[], bool] | None] = ContextVar("is_needless", default=None)


class GivenUp(Exception):  # noqa: N818  - not an error
    """Nobody waits for the answer any more."""


@contextmanager
def given_up_if(is_needless: Callable[[], bool]) -> Iterator[None]:
    """Inside, and in this thread, `checkpoint` raises `GivenUp` once the work is said to be needless.

    Examples
    --------
    >>> from alldags.interrupts import GivenUp, checkpoint, given_up_if
    >>> try:
    ...     with given_up_if(lambda: True):
    ...         checkpoint()
    ... except GivenUp:
    ...     print("given up")
    given up
    """
    token = _is_needless.set(is_needless)
    try:
        yield
    finally:
        _is_needless.reset(token)


def checkpoint() -> None:
    """Raise `GivenUp` if nobody waits for what is computed; called between the steps of what may take long."""
    is_needless = _is_needless.get()
    if is_needless is not None and is_needless():
        raise GivenUp


@contextmanager
def ending_when_interrupted() -> Iterator[None]:
    """Inside, an interrupt ends the process after `PATIENCE` seconds at the latest."""
    ours, signals = socket.socketpair()
    signals.setblocking(False)
    interrupted, ended = threading.Event(), threading.Event()
    before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
    hook, sys.unraisablehook = sys.unraisablehook, partial(_end_if_interrupted, sys.unraisablehook)
    threading.Thread(target=_watch, args=(ours, interrupted, ended), daemon=True).start()
    try:
        yield
    except Exception:
        if interrupted.wait(_HEARD):
            raise KeyboardInterrupt from None
        raise
    finally:
        ended.set()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        signals.close()  # ends the watch


def _watch(signals: socket.socket, interrupted: threading.Event, ended: threading.Event) -> None:
    with signals:
        while received := signals.recv(1):
            if received[0] == signal.SIGINT:
                interrupted.set()
                if not ended.wait(PATIENCE):
                    say_interrupted()
                    os._exit(INTERRUPTED)


def _end_if_interrupted(otherwise: Callable[[Any], object], unraisable: Any) -> None:
    """End the process if an interrupt came where no exception can be raised; others go to the hook of before."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        say_interrupted()
        os._exit(INTERRUPTED)
    otherwise(unraisable)


def say_interrupted() -> None:
    """Say it in one line."""
    print("alldags: interrupted", file=sys.stderr, flush=True)
