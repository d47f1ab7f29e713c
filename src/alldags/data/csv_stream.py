"""Text files a block at a time, by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from alldags.data.arrow import is_number, pyarrow
from alldags.data.columns import LARGEST_EXACT, check_names, not_numbers
from alldags.data.csv_plain import check_form, empty, first_not_number, numbers_among
from alldags.data.dialect import Dialect, not_text, opened_bytes
from alldags.data.stream import Batches, Stream
from alldags.errors import DataError

_BLOCK_BYTES = 2**24  # types are found in the first block: a smaller file is looked at as a whole


def csv_stream(file: Path, dialect: Dialect) -> Stream:
    """Open a text file with a header line."""
    reader = _opened(file, dialect, {})
    first = _next_batch(file, dialect, reader)
    check_names(reader.schema.names)
    whole = first is None or _next_batch(file, dialect, reader) is None
    types = {field.name: field.type if whole else _lasting(field, first) for field in reader.schema}
    schema = pyarrow().schema(list(types.items()))
    return Stream(
        schema,
        partial(_pieces, file, dialect, types),
        f"the file {str(file)!r}",
        expected=None if first is None else _about(file, first.num_rows),
        same_order=True,
        refuse=partial(_refused, file, dialect, first),
        notes=dialect.notes,
    )


def _about(file: Path, rows: int) -> int:
    """Return about how many rows a file has, from those of its first block; too few if it is compressed."""
    return max(rows, round(rows * file.stat().st_size / _BLOCK_BYTES))


def _opened(file: Path, dialect: Dialect, types: dict[str, Any], names: Sequence[str] | None = None) -> Any:
    arrow_csv = pyarrow("pyarrow.csv")
    try:
        return arrow_csv.open_csv(
            str(file),
            arrow_csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=_codec(dialect), skip_rows=dialect.skip),
            arrow_csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=types, include_columns=names, decimal_point=dialect.decimal, strings_can_be_null=False
            ),
        )
    except Exception as error:
        raise _explained(file, dialect, error) from error


def _codec(dialect: Dialect) -> str:
    """Return the encoding for pyarrow, which takes away the mark of UTF-8 by itself and is faster then."""
    return "utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding


def _next_batch(file: Path, dialect: Dialect, reader: Any) -> Any:
    try:
        return next(iter(reader), None)
    except Exception as error:
        raise _explained(file, dialect, error) from error


def _lasting(field: Any, first: Any) -> Any:
    """Return a type that later blocks fit, too: what begins with whole numbers may go on with others."""
    arrow, types = pyarrow(), pyarrow("pyarrow.types")
    if types.is_null(field.type):
        return arrow.float64()
    if not types.is_integer(field.type):
        return field.type
    ends = pyarrow("pyarrow.compute").min_max(first.column(field.name)).as_py()
    large = ends["min"] is not None and max(abs(ends["min"]), abs(ends["max"])) > LARGEST_EXACT
    return field.type if large else arrow.float64()


def _pieces(file: Path, dialect: Dialect, types: dict[str, Any], names: Sequence[str]) -> list[Batches]:
    return [partial(_batches, file, dialect, types, names)]


def _batches(file: Path, dialect: Dialect, types: dict[str, Any], names: Sequence[str]) -> Iterator[Any]:
    try:
        yield from _opened(file, dialect, types, list(names))
    except DataError:
        raise
    except Exception as error:
        raise _explained(file, dialect, error, names) from error


# -- what is amiss, and where ------------------------------------------------------------------------------------------


def _explained(file: Path, dialect: Dialect, error: Exception, names: Sequence[str] = ()) -> DataError:
    """Return an error with the line and the value, where they can be found."""
    if "Empty CSV file" in str(error):
        return empty(file)
    if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
        return _not_utf8(file, error)
    check_form(file, dialect)  # raises with the number of the line, where the fault is one of form
    for name in names:
        if name in str(error) or "conversion error" in str(error):
            found = first_not_number(file, dialect, name)
            if found is not None:
                return _not_a_number(file, name, *found)
    return DataError(f"cannot read {str(file)!r}: {error}")


def _not_utf8(file: Path, error: Exception) -> DataError:
    with opened_bytes(file) as stream:
        data = stream.read()
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return not_text(file, data, fault.start)
    return DataError(f"cannot read {str(file)!r}: {error}")


def _not_a_number(file: Path, name: str, line: int, text: str) -> DataError:
    comma = re.fullmatch(r"[+-]?\d+,\d+", text.strip())
    fix = (
        "for decimal commas, read_table(path, decimal=',')" if comma else "leave the cell empty if the value is missing"
    )
    return DataError(
        f"column {name!r} of {str(file)!r} is not all numbers: line {line} has {text!r}; correct it, or, {fix}"
    )


def _refused(file: Path, dialect: Dialect, first: Any, name: str, dtype: Any) -> DataError:
    """Return the error for a column of text: with line and value if it is one of numbers but for some cells."""
    if first is None or is_number(dtype) or str(dtype) not in ("string", "large_string"):
        return not_numbers(name, dtype)
    numbers, others = numbers_among(first.column(name).to_pylist(), dialect.decimal)
    if numbers > others and (found := first_not_number(file, dialect, name)):
        return _not_a_number(file, name, *found)
    return not_numbers(name, dtype)
