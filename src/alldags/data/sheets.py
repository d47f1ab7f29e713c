"""Files of other programs, through packages of the extras `excel` and `stata`: spreadsheets, Stata, SPSS, SAS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from alldags.archives import check_size
from alldags.data.arrow import pyarrow
from alldags.data.columns import check_names, not_numbers
from alldags.data.stream import Batches, Stream
from alldags.errors import AlldagsError, DataError, did_you_mean, require

_CHUNK_ROWS = 100_000
_HEAD = 1000  # rows in which types are looked for
_MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "#N/A"})


# -- spreadsheets ------------------------------------------------------------------------------------------------------


def excel_stream(file: Path, sheet: str | None = None) -> Stream:
    """Open a sheet of an .xlsx file, names in its first row; without a name of a sheet, the only one that is filled."""
    openpyxl: Any = require("openpyxl", "excel")
    try:
        with ZipFile(file) as archive:
            check_size(file, archive.infolist())
        with file.open("rb") as content:  # which openpyxl leaves open if it fails
            book = openpyxl.load_workbook(content, read_only=True, data_only=True)
            chosen, rows = _sheet(file, book, sheet)
    except AlldagsError:
        raise
    except Exception as error:  # openpyxl has many for a damaged file
        raise DataError(f"{str(file)!r} is not a readable Excel file: {error}") from error
    names = check_names(str(name) for name in rows[0])
    cells = {name: [row[j] for row in rows[1:]] for j, name in enumerate(names)}
    table = pyarrow().table({name: _cells(column) for name, column in cells.items()})
    what = f"the sheet {chosen!r} of {str(file)!r}"
    count = partial(int, table.num_rows)
    return Stream(
        table.schema, partial(_of_table, table), what, count, same_order=True, refuse=partial(_refuse_cell, what, cells)
    )


def _sheet(file: Path, book: Any, sheet: str | None) -> tuple[str, list[list[Any]]]:
    known = list(book.sheetnames)
    if sheet is not None and sheet not in known:
        raise DataError(f"{str(file)!r} has no sheet {sheet!r}{did_you_mean(sheet, known)}; it has: {', '.join(known)}")
    filled = {name: _rows(book[name]) for name in (known if sheet is None else [sheet])}
    filled = {name: rows for name, rows in filled.items() if rows}
    if len(filled) > 1:
        listed = ", ".join(map(repr, filled))
        raise DataError(f"{str(file)!r} has the sheets {listed}; say which, as '{file.name}::sheet'")
    if not filled:
        raise DataError(f"{str(file)!r} is empty; it needs a row with the column names, then one row per row")
    return next(iter(filled.items()))


def _rows(sheet: Any) -> list[list[Any]]:
    """Return the rows from the header to the last filled one, as wide as the header."""
    if not hasattr(sheet, "iter_rows"):
        return []  # a sheet that is a chart
    rows = [[_blank(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    if not rows:
        return []
    while rows[0] and rows[0][-1] is None:
        rows[0].pop()
    width = len(rows[0])
    if None in rows[0]:
        raise DataError(
            f"the first row of a sheet must hold the column names; its cell {_place(rows[0].index(None), 1)} is empty"
        )
    return [(row + [None] * width)[:width] for row in rows]


def _blank(cell: Any) -> Any:
    return None if isinstance(cell, str) and cell.strip() in _MISSING else cell


def _cells(column: Sequence[Any]) -> Any:
    """Return a column of a sheet as an Arrow array: numbers if all cells are, else dates, else text."""
    arrow = pyarrow()
    kinds = {type(cell) for cell in column if cell is not None}
    if kinds <= {int, float, bool}:
        whole = kinds == {int} and max(abs(cell) for cell in column if cell is not None) < 2**63
        return arrow.array(column, type=arrow.int64() if whole else arrow.float64() if kinds else arrow.null())
    if str not in kinds and not kinds & {int, float}:
        return arrow.array(column)
    return arrow.array([None if cell is None else str(cell) for cell in column])


def _refuse_cell(what: str, cells: Mapping[str, Sequence[Any]], name: str, dtype: Any) -> DataError:
    """Return the error for a column that is not all numbers: with the cell if most others are."""
    column = cells[name]
    numbers = sum(isinstance(cell, int | float) for cell in column)
    others = [row for row, cell in enumerate(column) if not (cell is None or isinstance(cell, int | float))]
    if numbers <= len(others):
        return not_numbers(name, dtype)
    place = _place(list(cells).index(name), others[0] + 2)
    return DataError(
        f"column {name!r} of {what} is not all numbers: cell {place} has {column[others[0]]!r}; correct it, or leave "
        "the cell empty if the value is missing"
    )


def _place(column: int, row: int) -> str:
    """Return a cell's name, such as C17; columns are counted from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def _of_table(table: Any, names: Sequence[str]) -> list[Batches]:
    return [table.select(list(names)).to_batches]


# -- Stata, SPSS, SAS --------------------------------------------------------------------------------------------------

READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def statistics_stream(file: Path) -> Stream:
    """Open a file of Stata, SPSS or SAS.

    A column in which every value has a label is one of categories, and has the labels as text, unless its values are
    0 and 1; one in which only some values have labels, such as -9 "refused", is one of numbers.
    """
    require("pandas", "stata")
    pyreadstat: Any = require("pyreadstat", "stata")
    read = getattr(pyreadstat, READERS[file.suffix.lower()])
    try:
        head, meta = read(str(file), row_limit=_HEAD)
        rows = read(str(file), metadataonly=True)[1].number_rows
    except Exception as error:  # pyreadstat has its own
        raise DataError(f"{str(file)!r} is not a readable file of its kind: {error}") from error
    check_names(head.columns)
    labels = {name: found for name, found in meta.variable_value_labels.items() if _is_category(head[name], found)}
    first = _batch(head, labels)
    count = None if rows is None else partial(int, rows)
    what = f"the file {str(file)!r}"
    return Stream(first.schema, partial(_pieces, file, read, labels), what, count, same_order=True)


def _is_category(column: Any, labels: Mapping[Any, str]) -> bool:
    values = set(column.dropna().tolist())
    return bool(values) and values <= set(labels) and not values <= {0, 1}


def _batch(frame: Any, labels: Mapping[str, Mapping[Any, str]]) -> Any:
    arrow = pyarrow()
    arrays = {}
    for name in frame.columns:
        column = frame[name]
        if name in labels:
            texts = [None if value != value else labels[name].get(value, str(value)) for value in column.tolist()]  # noqa: PLR0124
            arrays[name] = arrow.array(texts, type=arrow.string()).dictionary_encode()
        else:
            arrays[name] = arrow.array(column, from_pandas=True)
    return arrow.RecordBatch.from_pydict(arrays)


def _pieces(
    file: Path, read: Callable[..., Any], labels: Mapping[str, Mapping[Any, str]], names: Sequence[str]
) -> list[Batches]:
    return [partial(_batches, file, read, labels, names)]


def _batches(
    file: Path, read: Callable[..., Any], labels: Mapping[str, Mapping[Any, str]], names: Sequence[str]
) -> Iterator[Any]:
    start = 0
    while True:
        frame, _ = read(str(file), usecols=list(names), row_offset=start, row_limit=_CHUNK_ROWS)
        if not len(frame):
            return
        yield _batch(frame, {name: found for name, found in labels.items() if name in names})
        start += len(frame)
        if len(frame) < _CHUNK_ROWS:
            return
