"""One door for data: whatever the user brings is opened here, and is asked for moments.

Each way in is a class in a file of its own. It says which tables it `takes`, and once made with one it is a `Source`.
A new way in is one more file and one more row in `_WAYS_IN`; nothing else has to know about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from alldags.data.arrays import ArraySource, MappingSource
from alldags.data.bad_values import Tally
from alldags.data.columns import Columns, Reader
from alldags.data.distributed import DistributedSource
from alldags.data.files import Files
from alldags.data.frames import FrameSource
from alldags.data.lagged import Lagged
from alldags.data.lazy import LazySource
from alldags.data.record import MomentsRecord, MomentsSource
from alldags.notes import Note


class Source(Protocol):
    """An opened table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, used or not."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the table was opened."""
        ...

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> MomentsRecord:
        """Return the moments of some columns, in this order; of all by default."""
        ...

    def tally(self, variables: Iterable[str]) -> Tally:
        """Count the rows, and the missing and infinite values in some columns."""
        ...

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        """Return some columns of numbers, to be read a range of rows at a time; an error if there are no rows."""
        ...

    def labels(self, name: str) -> Reader:
        """Return a reader of one column of whatever kind, as it is; an error if there are no rows."""
        ...


class WayIn(Protocol):
    """A kind of table: which ones it can open, and the opening itself."""

    def takes(self, table: Any, /) -> bool:
        """Is this a table of this kind?"""
        ...

    def __call__(self, table: Any, names: Sequence[str] | None = None, /) -> Source:
        """Open a table."""
        ...


# The first that takes a table opens it; frames are recognised by narwhals alone, so they come last.
_WAYS_IN: tuple[WayIn, ...] = (
    Lagged(),
    MomentsSource,
    ArraySource,
    MappingSource,
    Files(),
    DistributedSource,
    LazySource,
    FrameSource,
)


def open_source(table: Any, names: Sequence[str] | None = None) -> Source:
    """Open a table of any kind.

    Parameters
    ----------
    table
        A frame that narwhals knows (pandas, polars, pyarrow, ...), a polars lazy frame, a DuckDB relation or anything
        else with Arrow batches, a frame of Dask or Spark, a mapping from names to 1-d arrays, an array of shape (rows,
        columns) with `names`, the path of a file (or a pattern, or a folder) that `alldags.read_table` reads, or
        `Moments`.
    names
        Column names of an array.

    Examples
    --------
    >>> from alldags.data.source import open_source
    >>> source = open_source({"dose": [1, 2, 3], "score": [2.0, 4.0, 9.0], "site": ["a", "b", "a"]})
    >>> source.columns
    ('dose', 'score', 'site')
    >>> source.moments(["score", "dose"]).mean.tolist()
    [5.0, 2.0]
    """
    way = next(way for way in _WAYS_IN if way.takes(table))
    return way(table, names)


def is_at_hand(table: Any) -> bool:
    """Tell whether the rows of a table can be read as often as one likes: not where they are elsewhere, or are none."""
    return not any(way.takes(table) for way in (MomentsSource, DistributedSource, LazySource))


def ignored_columns_note(source: Source, variables: Iterable[str]) -> tuple[Note, ...]:
    """Say which columns are not among the variables used; empty if all are.

    Examples
    --------
    >>> from alldags.data.source import ignored_columns_note, open_source
    >>> print(*ignored_columns_note(open_source({"dose": [1, 2], "site": ["a", "b"]}), ["dose"]))
    columns not in the graph were ignored: 'site'
    """
    used = set(variables)
    extra = [name for name in source.columns if name not in used]
    if not extra:
        return ()
    shown = ", ".join(map(repr, extra[:5])) + (f" and {len(extra) - 5} more" if len(extra) > 5 else "")
    return (Note(f"columns not in the graph were ignored: {shown}"),)
