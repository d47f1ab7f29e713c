"""Cross-products of columns in one pass over the rows, at the speed of the matrix product.

The rows are cut into parts, the parts into chunks; a chunk is copied into a buffer that stays in the cache, shifted
by a row of its part, and multiplied with itself. Parts and chunks depend on the shape of the table alone and are
merged in their order, so the number of threads does not change a single bit of the result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from alldags.data.bad_values import bad_values, check_spread
from alldags.data.columns import LARGEST_EXACT, Column, Columns, check_rows
from alldags.data.profile import Profile, ends_of, ends_of_rows, profile_of
from alldags.data.record import MomentsRecord, merge, moved
from alldags.errors import DataError
from alldags.memory import check_memory
from alldags.parallel import map_threads
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

PART_ROWS = 65_536  # what one thread takes at a time; also bounds the copies of columns that cannot be viewed
HEAD_ROWS = 1024  # in which the origin is looked for
_MATRICES = 6  # of covariances held at the same time, from the first sums to the working units
LOOKED_ROWS = 2**18  # a longer table is looked at in part: extremes of all rows would cost a third of the sums
LOOKED_SHARE = 8  # the first eighth of each part
CHUNK_VALUES = 2**19  # 4 MB of buffer; measured in docs/decisions/0001-moments-chunks.md


def checked_moments(columns: Columns, *, drop_missing: bool, n_jobs: int) -> MomentsRecord:
    """Return the moments of all rows, or an error that names the values which stand in the way."""
    check_rows(columns.rows)
    check_work(len(columns.names), n_jobs)
    moments = column_moments(columns, drop_missing=drop_missing, n_jobs=n_jobs)
    # one bad value anywhere makes a sum non-finite: good tables pay nothing for the search
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        raise bad_values(columns, drop_missing)
    check_rows(int(moments.n), f" (of {columns.rows}) without missing values" * drop_missing)
    check_spread(columns, np.diag(moments.scatter) / moments.n)
    return moments


def check_work(count: int, n_jobs: int) -> None:
    """Refuse more variables than there is memory for, and no threads at all."""
    check_memory(_MATRICES * count**2, f"the covariances of {count:,} variables", "leave some out", DataError)
    if n_jobs == 0:
        raise DataError("n_jobs must be a positive number of threads, or -1 for one per processor; got 0")


def column_moments(columns: Columns, *, drop_missing: bool, n_jobs: int) -> MomentsRecord:
    """Return the moments of all rows; not finite where a value is missing, infinite or too large to square."""
    origin = first_finite(columns)
    job = partial(_part_moments, columns, origin, drop_missing)
    total = reduce(merge, map_parts(job, range(0, columns.rows, PART_ROWS), n_jobs))
    return moved(total, origin)


def column_profile(columns: Columns) -> Profile:
    """Return the profile of columns whose moments are added up otherwise."""
    return reduce(operator.add, (_part_profile(columns, start) for start in range(0, columns.rows, PART_ROWS)))


def _part_profile(columns: Columns, start: int) -> Profile:
    block = columns.read(start, min(columns.rows, start + PART_ROWS))
    values = np.array([np.asarray(column, dtype=np.float64) for column in block])
    with np.errstate(all="ignore"):
        return profile_of(block, ends_of(values), np.zeros(len(block)), np.zeros(len(block)), False)


def map_parts(job: Callable[[int], Result], starts: Sequence[int], n_jobs: int) -> Iterator[Result]:
    """Yield what `job` makes of each part, in order."""
    if len(starts) == 1:
        yield job(starts[0])
        return
    # BLAS threads under our threads fight for the cores (3 times slower), and their number could change the last bits
    with one_blas_thread():
        yield from map_threads(job, starts, n_jobs)


def one_blas_thread() -> Any:
    """Return a context in which BLAS has one thread."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    """Return the handle on the threads of BLAS; finding the libraries takes a millisecond, so do it once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def first_finite(columns: Columns) -> FloatArray:
    """Return a finite value of each column from its first rows, 0 if there is none, shape (m,).

    Means are carried relative to it, so that nothing is lost when they are far larger than the spread.
    """
    return first_values(columns.read(0, min(columns.rows, HEAD_ROWS)))


def first_values(block: list[Column]) -> FloatArray:
    """Return the first finite value of each column, 0 if there is none, shape (m,)."""
    heads = [np.asarray(head, dtype=np.float64) for head in block]
    finite = [head[np.isfinite(head)] for head in heads]
    return np.array([head[0] if head.size else 0.0 for head in finite])


def _part_moments(columns: Columns, origin: FloatArray, drop_missing: bool, start: int) -> MomentsRecord:
    """Return the moments of the part that begins at row `start`, means relative to `origin`."""
    block = columns.read(start, min(columns.rows, start + PART_ROWS))
    return block_moments(block, columns.names, origin, drop_missing, glance=columns.rows > LOOKED_ROWS)


def block_moments(
    block: list[Column], names: tuple[str, ...], origin: FloatArray, drop_missing: bool, glance: bool = False
) -> MomentsRecord:
    """Return the moments of some rows, m columns of the same length, means relative to `origin`.

    With `glance` the profile is that of an eighth of the rows.
    """
    m, rows = len(block), len(block[0])
    size = min(rows, max(1, CHUNK_VALUES // m))
    looked = rows // LOOKED_SHARE if glance else rows
    load = _loader(block, size)
    total = MomentsRecord(0, np.zeros(m), np.zeros((m, m)), names)
    shift = _first_row(block, origin)
    ends = np.full((2, m), np.inf)
    with np.errstate(all="ignore"):  # bad values are looked for in the result, once, instead of in every step
        for first in range(0, rows, size):
            values, own_ends = load(first, min(rows, first + size), shift, max(looked - first, 0))
            values, own_ends = _complete(values, own_ends) if drop_missing else (values, own_ends)
            total = merge(total, _chunk_moments(values, shift - origin, names))
            np.fmin(ends, own_ends, out=ends)
        return replace(total, profile=profile_of(block, ends, shift, np.diag(total.scatter) / total.n, looked < rows))


def _complete(values: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shifted values, shape (m, rows), without the rows that have a gap, and their ends, shape (2, m)."""
    if np.isfinite(values @ np.ones(values.shape[1])).all():
        return values, ends
    values = values[:, ~np.isnan(values).any(axis=0)]
    return values, ends_of(values)


def _chunk_moments(values: FloatArray, offset: FloatArray, names: tuple[str, ...]) -> MomentsRecord:
    """Return the moments of shifted values, shape (m, rows), with `offset` added to the means."""
    n = values.shape[1]
    mean = values @ np.ones(n) / max(n, 1)
    return MomentsRecord(n, offset + mean, values @ values.T - n * np.outer(mean, mean), names)


def _first_row(block: list[Column], default: FloatArray) -> FloatArray:
    """Return the first row of a part, with `default` where it is not finite.

    Rows of the same part tend to be alike, also where a column drifts, and one extreme row spoils only its own part.
    """
    row = np.array([float(column[0]) for column in block])
    return np.where(np.isfinite(row), row, default)


# -- copying a chunk into the buffer ---------------------------------------------------------------------------------


def _loader(block: list[Column], size: int) -> Callable[[int, int, FloatArray, int], tuple[FloatArray, FloatArray]]:
    """Return ``load(start, stop, shift, looked)``: rows of the block less the shift, shape (m, stop - start).

    With them come the ends of the first `looked` of them, shape (2, m): while a column is in the cache they take half
    the time that they would take afterwards.
    """
    table = _row_by_row(block)
    if table is None:
        return partial(_load_columns, block, np.empty((len(block), size)))
    return partial(_load_rows, table, np.empty((size, len(block))))


def _load_columns(
    block: list[Column], buffer: FloatArray, start: int, stop: int, shift: FloatArray, looked: int
) -> tuple[FloatArray, FloatArray]:
    values = buffer[:, : stop - start]
    ends = np.full((2, len(block)), np.inf)
    for j, (column, amount, out) in enumerate(zip(block, shift, values, strict=True)):
        if abs(amount) < LARGEST_EXACT or column.dtype.kind == "f":
            np.subtract(column[start:stop], amount, out=out)
        else:
            out[:] = _whole_difference(column[start:stop], int(amount))
        if looked:
            ends[0, j], ends[1, j] = np.fmin.reduce(out[:looked]), -np.fmax.reduce(out[:looked])
    return values, ends


def _whole_difference(column: Column, amount: int) -> Column:
    """Return large whole numbers less one of them: as whole numbers, where floating point would round first."""
    return (column.astype(np.uint64) - np.uint64(amount % 2**64)).view(np.int64)  # right though both may wrap around


def _load_rows(
    table: FloatArray, buffer: FloatArray, start: int, stop: int, shift: FloatArray, looked: int
) -> tuple[FloatArray, FloatArray]:
    values = buffer[: stop - start]
    np.subtract(table[start:stop], shift, out=values)
    return values.T, ends_of_rows(values[:looked])


def _row_by_row(block: list[Column]) -> FloatArray | None:
    """Return the columns as one view of shape (rows, m) if each row is contiguous in memory, else None.

    Copying such a table column by column would read every cache line m times.
    """
    first = block[0]
    if len(block) == 1 or first.dtype != np.float64 or first.strides[0] < len(block) * first.itemsize:
        return None
    place = first.__array_interface__["data"][0]
    for j, column in enumerate(block):
        alike = column.dtype == first.dtype and column.strides == first.strides
        if not alike or column.__array_interface__["data"][0] != place + j * first.itemsize:
            return None
    shape = (len(first), len(block))
    return np.lib.stride_tricks.as_strided(first, shape, (first.strides[0], first.itemsize), writeable=False)
