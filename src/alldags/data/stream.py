"""Rows that arrive in Arrow batches, as a source: added up as they come, and never all in memory."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from alldags.data.accumulate import PART_ROWS
from alldags.data.arrow import batch_labels, batch_numbers, is_number, pyarrow
from alldags.data.bad_values import Tally
from alldags.data.columns import Column, Columns, Reader, check_names, check_rows, choose_names, not_numbers
from alldags.data.frames import FrameSource
from alldags.data.record import MomentsRecord
from alldags.data.sums import Block, Piece, Sums, checked, sum_pieces
from alldags.errors import AlldagsError, DataError
from alldags.memory import free_memory

Batches: TypeAlias = Callable[[], Iterable[Any]]
"""Opens a part of the data: its record batches, once through."""

_KEPT_VALUES = 2**24  # of rows already passed, so that threads may read a little out of turn (128 MB)


@dataclass(frozen=True, eq=False)
class Stream:
    """Where batches come from.

    Parameters
    ----------
    schema
        Arrow schema: names and types of all columns.
    pieces
        ``pieces(names)`` are parts that can be read at the same time, in the order of the rows; their batches have at
        least these columns.
    what
        The data in a few words, for errors.
    count
        Returns the number of rows without reading them; None if that is not known.
    expected
        About how many rows there are, for a progress bar, where they are not counted.
    same_order
        Whether every reading gives the same rows in the same order, as files do; a query may not.
    refuse
        Makes the error for a column that is not a number, from its name and type.
    notes
        What the user should know about how the data were read.
    """

    schema: Any
    pieces: Callable[[Sequence[str]], Sequence[Batches]]
    what: str
    count: Callable[[], int] | None = None
    expected: int | None = None
    same_order: bool = False
    refuse: Callable[[str, Any], DataError] = not_numbers
    notes: tuple[str, ...] = field(default=())


class StreamSource:
    """A stream as a source: one pass for moments; rows are read again, batch by batch, only for what needs them."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.columns = check_names(stream.schema.names)
        self.notes = stream.notes
        self._passes: dict[tuple[tuple[str, ...], bool], Sums] = {}

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> MomentsRecord:
        chosen = choose_names(self.columns, variables)
        if "_collected" in self.__dict__:
            return self._collected.moments(chosen, drop_missing=drop_missing, n_jobs=n_jobs)
        if (chosen, drop_missing) not in self._passes:
            pieces = self._pieces(chosen)
            expected = self.stream.expected or (None if self.stream.count is None else self.stream.count())
            found = sum_pieces(
                pieces, chosen, drop_missing=drop_missing, n_jobs=n_jobs, progress=progress, rows=expected
            )
            self._passes[chosen, drop_missing] = found
        return checked(self._passes[chosen, drop_missing], drop_missing)

    def tally(self, variables: Iterable[str]) -> Tally:
        chosen = choose_names(self.columns, variables)
        if "_collected" in self.__dict__:
            return self._collected.tally(chosen)
        if (chosen, True) not in self._passes:
            self.moments(chosen, drop_missing=True)
        return self._passes[chosen, True].tally

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = choose_names(self.columns, variables)
        if not self.stream.same_order:
            return self._collected.numbers(chosen)
        check_rows(self._rows)
        window = RowWindow(partial(_in_turn, self._pieces(chosen)), len(chosen))
        readers = tuple(partial(window.column, place) for place in range(len(chosen)))
        return Columns(chosen, self._rows, readers, window.read)

    def labels(self, name: str) -> Reader:
        (chosen,) = choose_names(self.columns, [name])
        if not self.stream.same_order:
            return self._collected.labels(chosen)
        pieces = [partial(_labels, self.stream, opened, chosen) for opened in self.stream.pieces([chosen])]
        return partial(RowWindow(partial(_in_turn, pieces), 1).column, 0)

    def _pieces(self, names: tuple[str, ...]) -> list[Piece]:
        for name in names:
            dtype = self.stream.schema.field(name).type
            if not is_number(dtype):
                raise self.stream.refuse(name, dtype)
        return [partial(_numbers, self.stream, opened, names) for opened in self.stream.pieces(names)]

    @cached_property
    def _rows(self) -> int:
        if self.stream.count is not None:
            return self.stream.count()
        for passed in self._passes.values():
            return passed.tally.rows
        first = self.columns[:1]
        return sum(batch.num_rows for opened in self.stream.pieces(first) for batch in guarded(self.stream, opened))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows if self.stream.same_order else self._collected.rows

    def is_words(self, name: str) -> bool:
        """Tell whether a column is text, by its type."""
        types, dtype = pyarrow("pyarrow.types"), self.stream.schema.field(name).type
        inner = dtype.value_type if types.is_dictionary(dtype) else dtype
        return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner))

    def is_category(self, name: str) -> bool:
        """Tell whether a column has levels, by its type."""
        return bool(pyarrow("pyarrow.types").is_dictionary(self.stream.schema.field(name).type))

    def is_truth(self, name: str) -> bool:
        """Tell whether a column has truth values, by its type."""
        return bool(pyarrow("pyarrow.types").is_boolean(self.stream.schema.field(name).type))

    def head(self, names: Sequence[str], rows: int) -> list[Column]:
        """Return the first rows of some columns of numbers."""
        blocks, found = [], 0
        for block in _in_turn(self._pieces(tuple(names))):
            blocks.append(block)
            found += len(block[0])
            if found >= rows:
                break
        if not blocks:
            return [np.zeros(0) for _ in names]
        return [np.concatenate(columns)[:rows] for columns in zip(*blocks, strict=True)]

    @cached_property
    def _collected(self) -> FrameSource:
        return FrameSource(collected(self.stream))


def collected(stream: Stream, names: Sequence[str] | None = None) -> Any:
    """Return all rows of a stream as one Arrow table, as long as there is memory for them."""
    chosen = list(stream.schema.names if names is None else names)
    limit, size, batches = free_memory(), 0, []
    for opened in stream.pieces(chosen):
        for batch in guarded(stream, opened):
            batches.append(batch.select(chosen))
            size += batch.nbytes
            if size > limit / 2:
                raise DataError(
                    f"the rows of {stream.what} do not fit into memory; what was asked for looks at single rows: write "
                    "them to a Parquet file and give its path, which is read a part at a time"
                )
    arrow = pyarrow()
    tables = [arrow.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return arrow.schema([stream.schema.field(name) for name in chosen]).empty_table()
    return arrow.concat_tables(tables, promote_options="permissive")


# -- batches ---------------------------------------------------------------------------------------------------------


def guarded(stream: Stream, opened: Batches) -> Iterator[Any]:
    """Yield the batches of a piece; what stops an engine half-way becomes one error that says so."""
    rows = 0
    try:
        for batch in opened():
            rows += batch.num_rows
            yield batch
    except AlldagsError:
        raise
    except Exception as error:  # each engine has its own
        after = f" after {rows:,} rows of this part" if rows else ""
        raise DataError(f"reading {stream.what} failed{after}: {str(error) or type(error).__name__}") from error


def _numbers(stream: Stream, opened: Batches, names: Sequence[str]) -> Iterator[Block]:
    return (batch_numbers(batch, names) for batch in guarded(stream, opened) if batch.num_rows)


def _labels(stream: Stream, opened: Batches, name: str) -> Iterator[Block]:
    return ([batch_labels(batch, name)] for batch in guarded(stream, opened) if batch.num_rows)


def _in_turn(pieces: Sequence[Piece]) -> Iterator[Block]:
    return itertools.chain.from_iterable(piece() for piece in pieces)


# -- ranges of rows --------------------------------------------------------------------------------------------------


class RowWindow:
    """Ranges of rows of blocks that come one after the other.

    Ranges asked for in rising order are read once through; an earlier one starts again from the beginning. A number of
    rows already passed is kept, because threads ask a little out of turn.

    Parameters
    ----------
    opened
        Opens the blocks from the beginning.
    count
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.stream import RowWindow
    >>> window = RowWindow(lambda: iter([[np.array([1, 2])], [np.array([3, 4, 5])]]), 1)
    >>> window.column(0, 1, 4).tolist(), window.column(0, 0, 2).tolist()
    ([2, 3, 4], [1, 2])
    """

    def __init__(self, opened: Callable[[], Iterator[Block]], count: int) -> None:
        self._open = opened
        self._margin = max(2 * PART_ROWS, _KEPT_VALUES // count)
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._blocks = self._open()
        self._kept: deque[tuple[int, Block]] = deque()
        self._end = 0
        self._answers: dict[tuple[int, int], Block] = {}

    def read(self, start: int, stop: int) -> Block:
        """Return rows `start` to `stop` of all columns."""
        with self._lock:
            if (start, stop) not in self._answers:
                if self._kept and start < self._kept[0][0]:
                    self._restart()
                self._advance(start, stop)
                latest = list(self._answers.items())[-3:]
                self._answers = dict(latest) | {(start, stop): self._cut(start, stop)}
            return self._answers[start, stop]

    def column(self, place: int, start: int, stop: int) -> Column:
        """Return rows `start` to `stop` of one column."""
        return self.read(start, stop)[place]

    def _advance(self, start: int, stop: int) -> None:
        while self._end < stop:
            block = next(self._blocks, None)
            if block is None:
                raise DataError(f"the data changed while they were read: row {stop - 1} is gone")
            self._kept.append((self._end, block))
            self._end += len(block[0])
            while self._kept[0][0] + len(self._kept[0][1][0]) <= start - self._margin:
                self._kept.popleft()

    def _cut(self, start: int, stop: int) -> Block:
        parts = [
            [column[max(0, start - first) : stop - first] for column in block]
            for first, block in self._kept
            if first < stop and first + len(block[0]) > start
        ]
        return parts[0] if len(parts) == 1 else [np.concatenate(columns) for columns in zip(*parts, strict=True)]
