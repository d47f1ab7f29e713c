"""The ways to compile a kernel, each named once.

All are cached on disk, release the interpreter lock, and divide by zero without raising. Which one to pick:

- `compiled`: called from Python;
- `inner`: called only by other kernels, so that no Python wrapper is compiled;
- `tight`: an `inner` that runs at every step and never allocates: without reference counts it is 10 to 15% faster;
- `tight_callable`: the same for a function that tests call from Python, too;
- `vector`: a `tight` whose loops run over lanes, and may fuse a product with a sum;
- `vector_sum`: reductions over lanes, whose order of operations the compiler may change;
- `inlined`: a formula that must become part of the loop around it.

A counter that starts from a literal (``p = 0``) and is handed on makes numba compile what it is handed to twice, once
for that very number: start it from ``np.int64(0)``.

With ``NUMBA_DISABLE_JIT=1`` all of them leave the function as it is, except that in those called from Python numpy's
scalars overflow and divide by zero without a warning, as compiled numbers do.

numba's disk cache looks at the file that defines a function, not at the files of the functions it calls: after a change
in one of those, old machine code would go on being used. So every cached function carries the state of *all* kernel
files (`_stamp`). Where neither the package's folder nor the user's home can be written to, machine code is kept in a
private folder among the temporary files (`_private_folder`).
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numba import config, njit
from numba.core import event

Decorator: TypeAlias = Callable[[Callable[..., Any]], Any]


@lru_cache(maxsize=1)
def _stamp() -> tuple[int, int]:
    """Return checksum and total size of all kernel files, which takes the place of one file's time and size."""
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))]
    checksum = 0
    for text in texts:
        checksum = zlib.crc32(text, checksum)
    return checksum, sum(map(len, texts))


def _way(**options: Any) -> Decorator:
    if config.DISABLE_JIT:
        called_from_python = options.keys().isdisjoint(("no_cpython_wrapper", "inline"))
        return np.errstate(all="ignore") if called_from_python else _as_it_is
    options |= {"nogil": True, "error_model": "numpy"}

    def compile_later(function: Callable[..., Any]) -> Any:
        made = _cached(function, options)
        index = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if index is not None:
            index._source_stamp = _stamp()
        return made

    return compile_later


def _cached(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    folder = _private_folder()
    if folder is None:
        return njit(**options)(function)
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = before


@lru_cache(maxsize=1)
def _private_folder() -> Path | None:
    """Return a folder among the temporary files that only this user can write to, or None; say so the first time.

    Machine code from a folder that others can write to must not be run.
    """
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / f"alldags-{user or 0}"
        is_new = not folder.exists()
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if user is not None and (not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077):
            raise PermissionError
    except OSError:
        _say("compiled code cannot be kept, every run compiles again; set NUMBA_CACHE_DIR to a folder you can write to")
        return None
    if is_new:
        _say(f"compiled code is kept in {str(folder)!r}: the package's folder and your home cannot be written to")
    return folder


def _say(text: str) -> None:
    print(f"alldags: {text}", file=sys.stderr)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Tells a person at a terminal, once, why the first answer takes long; kept machine code is not compiled again."""

    def __init__(self) -> None:
        self.is_new = True

    def on_start(self, _event: Any) -> None:
        """Say that something is compiled, if it is one of ours."""
        if self.is_new and sys.stderr.isatty() and _is_ours(_event):
            self.is_new = False
            _say("compiling inner loops, this first time only: some ten seconds, more where a node is sampled ...")

    def on_end(self, _event: Any) -> None:
        """Nothing is said at the end."""


def _is_ours(happening: Any) -> bool:
    module = getattr(getattr(happening.data.get("dispatcher"), "py_func", None), "__module__", "")
    return str(module).startswith(__name__.rpartition(".")[0])


event.register("numba:compile", _Announcement())


def _as_it_is(function: Callable[..., Any]) -> Any:
    return function


compiled = _way()
inner = _way(no_cpython_wrapper=True)
tight = _way(no_cpython_wrapper=True, _nrt=False)
tight_callable = _way(_nrt=False)
vector = _way(no_cpython_wrapper=True, _nrt=False, fastmath={"contract"})
vector_sum = _way(no_cpython_wrapper=True, _nrt=False, fastmath={"contract", "reassoc", "nsz"})
inlined = _way(inline="always", fastmath={"contract"})
