"""Ctrl-C ends the program, whatever it is doing.

Python raises `KeyboardInterrupt` in the main thread, once that is back from compiled code. Two things keep it from
ending a program: compiled code that runs for long, and packages that catch every exception while they load (pyarrow
does, when it looks for pandas). So a thread of its own waits for the signal, too: if the program has not ended a few
seconds later, it ends it. Files are written complete or not at all, so that nothing is damaged by that.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds from the signal to the end
INTERRUPTED = 130  # exit code, as shells give it


@contextmanager
def ending_when_interrupted() -> Iterator[None]:
    """Inside, an interrupt ends the process after `PATIENCE` seconds at the latest."""
    ours, signals = socket.socketpair()
    signals.setblocking(False)
    ended = threading.Event()
    before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(ours, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        signals.close()  # ends the watch


def _watch(signals: socket.socket, ended: threading.Event) -> None:
    with signals:
        while received := signals.recv(1):
            if received[0] == signal.SIGINT and not ended.wait(PATIENCE):
                say_interrupted()
                os._exit(INTERRUPTED)


def say_interrupted() -> None:
    """Say it in one line."""
    print("alldags: interrupted", file=sys.stderr, flush=True)
