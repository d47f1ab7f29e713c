"""Tables of SQLite files, by the standard library; nothing is written to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from alldags.data.accumulate import PART_ROWS
from alldags.data.arrow import is_number, pyarrow
from alldags.data.columns import not_numbers
from alldags.data.stream import Batches, Stream
from alldags.errors import DataError, did_you_mean

_HEAD = 1000  # rows in which types are looked for


def sqlite_stream(file: Path, table: str | None = None) -> Stream:
    """Open a table or view of an SQLite file; without a name, the only one there is."""
    try:
        with closing(_connect(file)) as connection:
            chosen = _chosen(file, connection, table)
            query = f"select * from {quoted(chosen)}"
            names, head = _head(connection, query)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise DataError(f"{str(file)!r} is not a readable SQLite file: {error}") from error
    arrow = pyarrow()
    schema = arrow.schema([(name, _type(column)) for name, column in zip(names, head, strict=True)])
    what = f"the table {chosen!r} of {str(file)!r}"
    return Stream(
        schema, partial(_pieces, file, chosen, schema), what, same_order=True, refuse=partial(_refuse, file, chosen)
    )


def quoted(name: str) -> str:
    """Return an identifier as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)


def _chosen(file: Path, connection: sqlite3.Connection, table: str | None) -> str:
    known = [name for (name,) in connection.execute(_TABLES)]
    if table is None and len(known) == 1:
        return str(known[0])
    listed = ", ".join(map(repr, known[:10])) or "none"
    if table is None:
        raise DataError(f"{str(file)!r} has the tables {listed}; say which, as '{file.name}::table'")
    if table not in known:
        raise DataError(f"{str(file)!r} has no table {table!r}{did_you_mean(table, known)}; it has: {listed}")
    return table


_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name"


def _head(connection: sqlite3.Connection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    rows = connection.execute(query)
    names = [entry[0] for entry in rows.description]
    found = rows.fetchmany(_HEAD)
    return names, list(zip(*found, strict=True)) if found else [()] * len(names)


def _type(column: Sequence[Any]) -> Any:
    """Return the Arrow type of a column whose cells may be of any kind: text if one of them is."""
    arrow = pyarrow()
    kinds = {type(value) for value in column if value is not None}
    if not kinds:
        return arrow.null()
    return arrow.float64() if kinds <= {int, float} else arrow.string()


def _pieces(file: Path, table: str, schema: Any, names: Sequence[str]) -> list[Batches]:
    return [partial(_batches, file, table, [schema.field(name) for name in names])]


def _batches(file: Path, table: str, fields: Sequence[Any]) -> Iterator[Any]:
    arrow = pyarrow()
    query = f"select {', '.join(quoted(field.name) for field in fields)} from {quoted(table)}"
    with closing(_connect(file)) as connection:
        rows = connection.execute(query)
        while found := rows.fetchmany(PART_ROWS):
            columns = zip(fields, zip(*found, strict=True), strict=True)
            arrays = {field.name: _array(field, column, file, table) for field, column in columns}
            yield arrow.RecordBatch.from_pydict(arrays)


def _array(field: Any, column: Sequence[Any], file: Path, table: str) -> Any:
    arrow = pyarrow()
    if not is_number(field.type):
        return arrow.array([None if value is None else str(value) for value in column])
    for value in column:
        if not (value is None or isinstance(value, int | float)):
            raise _cell(file, table, field.name, value)
    if all(isinstance(value, int) for value in column):
        return arrow.array(column, type=arrow.int64())
    return arrow.array(column, type=arrow.float64())


def _cell(file: Path, table: str, name: str, value: object) -> DataError:
    with closing(_connect(file)) as connection:
        query = f"select count(*) from {quoted(table)} where typeof({quoted(name)}) in ('text', 'blob')"
        count = connection.execute(query).fetchone()[0]
    return DataError(
        f"column {name!r} of the table {table!r} is not all numbers: {count:,} of its cells hold text, the first is "
        f"{value!r}; correct them, or make them null if the value is missing"
    )


def _refuse(file: Path, table: str, name: str, dtype: Any) -> DataError:
    """Return the error for a column of text: with the value if it is one of numbers but for some cells."""
    column, source = quoted(name), quoted(table)
    with closing(_connect(file)) as connection:
        text = f"{source} where typeof({column}) in ('text', 'blob')"
        numbers = connection.execute(f"select count(*) from {source} where typeof({column}) in ('integer', 'real')")
        others = connection.execute(f"select count(*), min({column}) from {text}").fetchone()
        if numbers.fetchone()[0] > others[0] > 0:
            first = connection.execute(f"select {column} from {text} limit 1").fetchone()[0]
            return _cell(file, table, name, first)
    return not_numbers(name, dtype)
