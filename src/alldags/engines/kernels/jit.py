"""The ways to compile a kernel, each named once.

All are cached on disk, release the interpreter lock, and divide by zero without raising. Which one to pick:

- `compiled`: called from Python;
- `inner`: called only by other kernels, so that no Python wrapper is compiled;
- `tight`: an `inner` that runs at every step and never allocates: without reference counts it is 10 to 15% faster;
- `tight_callable`: the same for a function that tests call from Python, too;
- `vector`: a `tight` whose loops run over lanes, and may fuse a product with a sum;
- `vector_sum`, `vector_max`: reductions over lanes, whose order of operations the compiler may change;
- `inlined`: a formula that must become part of the loop around it.

With ``NUMBA_DISABLE_JIT=1`` all of them leave the function as it is, except that in those called from Python numpy's
scalars overflow and divide by zero without a warning, as compiled numbers do.

numba's disk cache looks at the file that defines a function, not at the files of the functions it calls: after a change
in one of those, old machine code would go on being used. So every cached function carries the state of *all* kernel
files (`_stamp`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numba import config, njit

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
    decorate = njit(cache=True, nogil=True, error_model="numpy", **options)

    def compile_later(function: Callable[..., Any]) -> Any:
        made = decorate(function)
        index = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if index is not None:
            index._source_stamp = _stamp()
        return made

    return compile_later


def _as_it_is(function: Callable[..., Any]) -> Any:
    return function


compiled = _way()
inner = _way(no_cpython_wrapper=True)
tight = _way(no_cpython_wrapper=True, _nrt=False)
tight_callable = _way(_nrt=False)
vector = _way(no_cpython_wrapper=True, _nrt=False, fastmath={"contract"})
vector_sum = _way(no_cpython_wrapper=True, _nrt=False, fastmath={"contract", "reassoc", "nsz"})
vector_max = _way(no_cpython_wrapper=True, _nrt=False, fastmath={"nnan", "nsz", "reassoc"})
inlined = _way(inline="always", fastmath={"contract"})
