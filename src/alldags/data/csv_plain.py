"""Text files by the standard library: without other packages, and to find the line where something is amiss."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from alldags.data.columns import LARGEST_EXACT, Column, check_names
from alldags.data.dialect import Dialect, find_dialect, opened_text
from alldags.errors import DataError

_MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def read_csv_plain(file: Path, dialect: Dialect | None = None) -> dict[str, Column]:
    """Read a CSV file without other packages; columns that are not all numbers stay text, shape (rows,) each."""
    dialect = find_dialect(file) if dialect is None else dialect
    lines = _checked_rows(file, dialect)
    header = next(lines)[1]
    rows = [row for _, row in lines]
    names = check_names(header)
    return {name: _parse([row[j] for row in rows], dialect.decimal) for j, name in enumerate(names)}


def check_form(file: Path, dialect: Dialect) -> None:
    """Raise an error with the number of the first line that is out of form, if there is one."""
    for _ in _checked_rows(file, dialect):
        pass


def first_not_number(file: Path, dialect: Dialect, column: str) -> tuple[int, str] | None:
    """Return line and text of the first cell of a column that is no number and not missing; None if there is none."""
    lines = _checked_rows(file, dialect)
    place = next(lines)[1].index(column)
    return next(((line, row[place]) for line, row in lines if not _is_number(row[place], dialect.decimal)), None)


def numbers_among(texts: Sequence[str | None], decimal: str) -> tuple[int, int]:
    """Return how many of some texts are numbers, and how many are neither numbers nor missing."""
    filled = [text for text in texts if text is not None and text not in _MISSING]
    numbers = sum(_is_number(text, decimal) for text in filled)
    return numbers, len(filled) - numbers


def _is_number(text: str, decimal: str) -> bool:
    try:
        _number(text, decimal)
    except ValueError:
        return False
    return True


def empty(file: Path) -> DataError:
    """Say that a file has no rows, not even a header."""
    return DataError(f"the file {str(file)!r} is empty; it needs a line with the column names, then one line per row")


def _checked_rows(file: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields, the header first; raise at a line with another number of fields."""
    try:
        yield from _rows(file, dialect)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{str(file)!r} is not {dialect.encoding} text: {error}; say read_table(path, encoding=...)"
        ) from (error)
    except (csv.Error, OSError, EOFError) as error:
        raise DataError(f"cannot read {str(file)!r}: {error}") from error


def _rows(file: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    with opened_text(file, dialect) as stream:
        for _ in range(dialect.skip):
            stream.readline()
        lines = csv.reader(stream, delimiter=dialect.separator)
        header = next((row for row in lines if row), None)
        if header is None:
            raise empty(file)
        yield lines.line_num + dialect.skip, header
        for row in (row for row in lines if row):
            if len(row) != len(header):
                raise DataError(
                    f"line {lines.line_num + dialect.skip} of {str(file)!r} has {len(row)} fields, the header has "
                    f"{len(header)}; every line needs the same number of separators ({dialect.separator!r})"
                )
            yield lines.line_num + dialect.skip, row


def _parse(fields: Sequence[str], decimal: str) -> Column:
    if decimal == ".":
        try:
            return _whole(fields, np.array(fields, dtype=np.float64))
        except ValueError:
            pass
    try:
        return np.array([_number(field, decimal) for field in fields])
    except ValueError:
        return np.array(fields, dtype=np.str_)


def _whole(fields: Sequence[str], numbers: Column) -> Column:
    """Return the numbers, or whole numbers in full where floating point would round them."""
    if not np.abs(numbers).max(initial=0.0) > LARGEST_EXACT:
        return numbers
    try:
        return np.array([int(field) for field in fields], dtype=np.int64)
    except (ValueError, OverflowError):
        return numbers


def _number(field: str, decimal: str) -> float:
    if field in _MISSING:
        return np.nan
    if field in _TRUTH:
        return _TRUTH[field]
    if decimal == ",":
        if "." in field:
            raise ValueError(field)
        field = field.replace(",", ".")
    return float(field)
