"""Sums over rows that come in blocks, from one stream or from many pieces in many places.

One accumulator for every source. A piece (a row group, a file, a partition on another machine) is added up on its own,
less its first complete row; two of them are joined by the difference of these rows, which is exact enough to lose no
digit. So one pass suffices, wherever the pieces are, and they may be joined in any grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from alldags.data.accumulate import HEAD_ROWS, PART_ROWS, block_moments, check_work, first_values, map_parts
from alldags.data.bad_values import Tally, bad_values_error, no_tally, tally_of, tiny_spread
from alldags.data.columns import Column, check_rows
from alldags.data.record import MomentsRecord, merge, moved
from alldags.progress import Progress
from alldags.typing import FloatArray

Block: TypeAlias = list[Column]
"""Some rows: one array of numbers per column, missing values NaN."""

Piece: TypeAlias = Callable[[], Iterable[Block]]
"""Opens a part of the data: its blocks, once through."""

_PATIENCE = 1.0  # seconds before a bar appears
_STEP_ROWS = 1000  # of that bar


@dataclass(frozen=True, eq=False)
class Sums:
    """What a piece of the data adds up to.

    Parameters
    ----------
    origin
        A row of the piece, shape (m,).
    moments
        Means relative to `origin`, and centred cross-products.
    tally
        Rows, and the bad values among them.
    """

    origin: FloatArray
    moments: MomentsRecord
    tally: Tally

    def __add__(self, other: Sums) -> Sums:
        tally = self.tally + other.tally
        if not self.moments.n:
            return Sums(other.origin, other.moments, tally)
        with np.errstate(all="ignore"):  # bad values are looked for in the result
            there = moved(other.moments, other.origin - self.origin)
            return Sums(self.origin, merge(self.moments, there), tally)


def sum_blocks(
    blocks: Iterable[Block], names: tuple[str, ...], drop_missing: bool, done: Callable[[int], object] = bool
) -> Sums:
    """Add up one piece; `done` is told the number of rows after each part.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.sums import sum_blocks
    >>> found = sum_blocks([[np.array([1.0, 3.0])], [np.array([5.0])]], ("x",), drop_missing=False)
    >>> found.moments.n, found.origin.tolist(), found.moments.mean.tolist()
    (3, [1.0], [2.0])
    """
    total = _nothing(names)
    for block in in_parts(blocks, PART_ROWS):
        total = _with_block(total, block, drop_missing)
        done(len(block[0]))
    return total


def _nothing(names: tuple[str, ...]) -> Sums:
    m = len(names)
    return Sums(np.zeros(m), MomentsRecord(0, np.zeros(m), np.zeros((m, m)), names), no_tally(0, m))


def _with_block(total: Sums, block: Block, drop_missing: bool) -> Sums:
    # while no row was kept, the origin may still be chosen: of the first block in which a row is complete
    origin = total.origin if total.moments.n else _origin(block)
    found = block_moments(block, total.moments.names, origin, drop_missing)
    good = found.n == len(block[0]) and np.isfinite(found.mean).all() and np.isfinite(found.scatter).all()
    tally = total.tally + (no_tally(len(block[0]), len(block)) if good else tally_of(block))
    with np.errstate(all="ignore"):
        return Sums(origin, merge(total.moments, found) if total.moments.n else found, tally)


def _origin(block: Block) -> FloatArray:
    """Return the first finite values of a block: from its first rows, if these have them."""
    head = [column[:HEAD_ROWS] for column in block]
    if all(np.isfinite(column).any() for column in head):
        return first_values(head)
    return first_values(block)


def in_parts(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Yield the same rows in blocks of `rows` each, the last one shorter: sums do not depend on how rows arrive."""
    kept: list[Block] = []
    count = 0
    for block in blocks:
        start = 0
        while len(block[0]) - start >= rows - count:
            kept.append([column[start : start + rows - count] for column in block])
            start += rows - count
            yield _joined(kept)
            kept, count = [], 0
        if start < len(block[0]):
            kept.append([column[start:] for column in block])
            count += len(block[0]) - start
    if kept:
        yield _joined(kept)


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return [np.concatenate(columns) for columns in zip(*blocks, strict=True)]


# -- many pieces -----------------------------------------------------------------------------------------------------


def sum_pieces(
    pieces: Sequence[Piece],
    names: tuple[str, ...],
    *,
    drop_missing: bool,
    n_jobs: int = 1,
    progress: bool = False,
    rows: int | None = None,
) -> Sums:
    """Add up pieces on some threads, and join them in their order: the number of threads changes nothing.

    Parameters
    ----------
    pieces, names
        Parts of the data, and their columns.
    drop_missing
        Leave out rows with a missing value.
    n_jobs
        Threads.
    progress
        Show a bar when it takes long and the number of rows is known.
    rows
        That number, or about that.
    """
    check_work(len(names), n_jobs)
    steps = -(-(rows or 0) // _STEP_ROWS)
    with Progress("reading rows, in thousands", steps, show=None if progress else False, patience=_PATIENCE) as bar:
        job = partial(_sum_piece, pieces, names, drop_missing, bar)
        return reduce(Sums.__add__, map_parts(job, range(len(pieces)), n_jobs), _nothing(names))


def _sum_piece(pieces: Sequence[Piece], names: tuple[str, ...], drop_missing: bool, bar: Progress, place: int) -> Sums:
    return sum_blocks(pieces[place](), names, drop_missing, lambda rows: bar.advance(round(rows / _STEP_ROWS)))


def checked(sums: Sums, drop_missing: bool) -> MomentsRecord:
    """Return the moments of all rows, or an error that names the values which stand in the way."""
    moments, tally = sums.moments, sums.tally
    check_rows(tally.rows)
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        raise bad_values_error(moments.names, tally, drop_missing)
    check_rows(int(moments.n), f" (of {tally.rows}) without missing values" * drop_missing)
    tiny_spread(moments.names, np.diag(moments.scatter) / moments.n)
    return moved(moments, sums.origin)
