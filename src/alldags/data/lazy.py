"""What engines hand over as they compute it: polars lazy frames, DuckDB relations, all that speaks Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakSet

from alldags.data.accumulate import PART_ROWS
from alldags.data.arrow import pyarrow
from alldags.data.case import asked_alike, check_case
from alldags.data.columns import check_names, refuse_names
from alldags.data.stream import Batches, Stream, StreamSource
from alldags.errors import DataError

_BATCH_ROWS = 2 * PART_ROWS  # of an engine that can be asked for a size


class LazySource(StreamSource):
    """A query, or an Arrow stream; it runs when something is asked, and its rows are added up as they come."""

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        super().__init__(_stream(table))

    @staticmethod
    def takes(table: object) -> bool:
        """Is this a polars lazy frame, or something with Arrow batches that is not a frame in memory?"""
        if _is_lazy_polars(table) or _is_dataset(table):
            return True
        return hasattr(table, "__arrow_c_stream__") and not _is_in_memory(table)


def _is_lazy_polars(table: object) -> bool:
    return type(table).__module__.startswith("polars.") and type(table).__name__ == "LazyFrame"


def _is_dataset(table: object) -> bool:
    return type(table).__module__.startswith("pyarrow.") and hasattr(table, "get_fragments")


def _is_in_memory(table: object) -> bool:
    """Is this an eager frame (or a series, which is no table)? Those are read without a copy, a column at a time."""
    import narwhals.stable.v2 as nw

    try:
        return isinstance(nw.from_native(table, pass_through=True, allow_series=True), nw.DataFrame | nw.Series)
    except nw.exceptions.DuplicateError:
        return type(table).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def _stream(table: Any) -> Stream:
    if _is_lazy_polars(table):
        return _polars(table)
    if _is_dataset(table):
        return _dataset(table)
    if hasattr(table, "to_arrow_reader"):
        return _duckdb(table)
    if hasattr(table, "to_pyarrow_batches"):
        return _ibis(table)
    return _arrow(table)


# -- polars ------------------------------------------------------------------------------------------------------------


def _polars(frame: Any) -> Stream:
    import polars as pl

    pyarrow()  # through which its rows come
    try:
        schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema
    except Exception as error:  # polars has many for a query that cannot be
        raise DataError(f"the polars query cannot be run: {error}") from error
    return Stream(schema, partial(_polars_pieces, frame), "the polars query")


def _polars_pieces(frame: Any, names: Sequence[str]) -> list[Batches]:
    import polars.selectors as cs

    return [partial(_polars_batches, frame.select(cs.by_name(*names)))]  # names as they are, patterns are not meant


def _polars_batches(frame: Any) -> Iterator[Any]:
    if _tells_of_errors():
        parts = frame.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True, engine="streaming")
    else:
        parts = frame.collect(engine="streaming").iter_slices(_BATCH_ROWS)
    for part in parts:
        yield from part.to_arrow().to_batches()


def _tells_of_errors() -> bool:
    """Return whether polars raises what goes wrong between batches; before 1.37 it ended them as if they were all."""
    import polars as pl

    return tuple(int(part) for part in pl.__version__.split(".")[:2]) >= (1, 37)


# -- DuckDB, Ibis ------------------------------------------------------------------------------------------------------


def _duckdb(relation: Any) -> Stream:
    pyarrow()
    check_names(relation.columns)  # the engine would rename what is there twice
    types = relation.limit(0).to_arrow_table().schema.types
    schema = pyarrow().schema(list(zip(relation.columns, types, strict=True)))
    return Stream(schema, partial(_duckdb_pieces, relation), "the DuckDB relation")


def _duckdb_pieces(relation: Any, names: Sequence[str]) -> list[Batches]:
    import duckdb

    if asked_alike(relation.columns, names):
        return [partial(relation.to_arrow_reader, _BATCH_ROWS)]  # asked by name, it would take the two for one
    chosen = relation.select(*(duckdb.ColumnExpression(name) for name in names))
    return [partial(chosen.to_arrow_reader, _BATCH_ROWS)]


def _ibis(table: Any) -> Stream:
    pyarrow()
    backend = table.get_backend()
    if backend.name == "duckdb":  # whose batches Ibis asks for by a method that newer versions do not have
        inner = _duckdb(backend.con.sql(backend.compile(table)))
        return replace(inner, pieces=partial(_ibis_checked, table, inner.pieces))
    pieces = partial(_ibis_checked, table, partial(_ibis_pieces, table))
    return Stream(table.schema().to_pyarrow(), pieces, "the Ibis table")


def _ibis_checked(table: Any, pieces: Any, names: Sequence[str]) -> Any:
    """Return the pieces of some columns, unless the query that Ibis writes would take two of them for one."""
    check_case(table, table.columns, names)
    return pieces(names)


def _ibis_pieces(table: Any, names: Sequence[str]) -> list[Batches]:
    return [partial(table.select(list(names)).to_pyarrow_batches, chunk_size=_BATCH_ROWS)]


# -- pyarrow datasets --------------------------------------------------------------------------------------------------


def _dataset(dataset: Any) -> Stream:
    return Stream(dataset.schema, partial(_fragments, dataset), "the pyarrow dataset", same_order=True)


def _fragments(dataset: Any, names: Sequence[str]) -> list[Batches]:
    """Return row groups, or files that have none, as pieces; one thread each, for we have our own."""
    parts = [
        part
        for whole in dataset.get_fragments()
        for part in (whole.split_by_row_group() if hasattr(whole, "split_by_row_group") else [whole])
    ]
    options = {"schema": dataset.schema, "columns": list(names), "batch_size": PART_ROWS, "use_threads": False}
    return [partial(part.to_batches, **options) for part in parts]


# -- any other Arrow stream --------------------------------------------------------------------------------------------


def _arrow(table: Any) -> Stream:
    opened = _ArrowStream(table)
    return Stream(opened.schema, opened.pieces, opened.what)


_BEGUN: WeakSet[Any] = WeakSet()  # readers that were opened once: opened again, they would seem to have no rows


class _ArrowStream:
    """An object with ``__arrow_c_stream__``; a reader can be read only once."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.what = f"the Arrow stream ({type(table).__qualname__})"
        self._unread = self._open()
        self.schema = self._unread.schema

    def pieces(self, names: Sequence[str]) -> list[Batches]:  # noqa: ARG002  - a stream has all its columns
        return [self._batches]

    def _batches(self) -> Any:
        reader, self._unread = self._unread, None
        return self._open() if reader is None else reader

    def _open(self) -> Any:
        reader = pyarrow().RecordBatchReader
        if isinstance(self._table, reader):
            if self._table in _BEGUN:
                raise DataError(
                    f"{self.what} can be read once only, and has been; where rows are looked at again (yes/no "
                    "outcomes, weights, interventions) give a table instead: reader.read_all()"
                )
            _BEGUN.add(self._table)
            return self._table
        try:
            return reader.from_stream(self._table)
        except Exception as error:  # each library has its own
            raise DataError(f"{self.what} cannot be opened: {error}") from error
