"""Files as sources: CSV (also compressed with gzip), Parquet and Feather."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from alldags.data.arrays import MappingSource
from alldags.data.columns import LARGEST_EXACT, Column, Columns, Reader, check_names, refuse_names
from alldags.data.frames import FrameSource
from alldags.data.record import MomentsRecord
from alldags.errors import DataError, MissingExtraError, did_you_mean

_MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


class FileSource:
    """A file, read when it is opened."""

    def __init__(self, table: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        read = read_table(table)
        self._source = MappingSource(read) if MappingSource.takes(read) else FrameSource(read)
        self.columns = self._source.columns

    @staticmethod
    def takes(table: object) -> bool:
        """Is this the path of a file?"""
        return isinstance(table, str | os.PathLike)

    def moments(
        self, variables: Iterable[str] | None = None, *, drop_missing: bool = False, n_jobs: int = 1
    ) -> MomentsRecord:
        return self._source.moments(variables, drop_missing=drop_missing, n_jobs=n_jobs)

    def labels(self, name: str) -> Reader:
        return self._source.labels(name)

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        return self._source.numbers(variables)


def read_table(path: str | os.PathLike[str]) -> Any:
    r"""Read a table from a CSV, Parquet or Feather file, as something that `alldags.fit` and `Moments` take.

    CSV files have a header line, commas, and nothing, ``NA``, ``NaN`` or ``null`` where a value is missing. They are
    read by pyarrow if it is installed, otherwise by the standard library, which is slower. `alldags.fit` also takes
    the path itself; read the file yourself to look at it, or to fit it several times.

    Parameters
    ----------
    path
        A file whose name ends in ``.csv``, ``.csv.gz``, ``.parquet`` (or ``.pq``), or ``.feather`` (or ``.arrow``).

    Returns
    -------
    table
        A pyarrow or polars frame with one column per variable; without these packages, a mapping from column names to
        arrays of shape (rows,).

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "trial.csv"
    >>> _ = file.write_text("dose,score\n1,2.5\n2,4.5\n")
    >>> table = ad.read_table(file)
    >>> [float(value) for value in table["score"].to_numpy()]
    [2.5, 4.5]
    """
    file = Path(path)
    reader = _reader_for(file)
    _check_file(file)
    return reader(file)


def _reader_for(file: Path) -> Callable[[Path], Any]:
    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return _read_csv_arrow if find_spec("pyarrow") else read_csv_plain
    for form in _BINARY:
        if name.endswith(form.endings):
            return partial(_read_binary, form)
    raise DataError(
        f"cannot tell the format of {file.name!r}; the name must end in .csv, .csv.gz, .parquet or .feather"
    )


def _check_file(file: Path) -> None:
    if file.is_dir():
        raise DataError(f"{str(file)!r} is a folder; give a CSV, Parquet or Feather file")
    if not file.exists():
        siblings = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise DataError(f"there is no file {str(file)!r}{did_you_mean(file.name, siblings)}")
    if file.stat().st_size == 0:
        raise _empty(file)


def _empty(file: Path) -> DataError:
    return DataError(f"the file {str(file)!r} is empty; it needs a line with the column names, then one line per row")


# -- with pyarrow or polars ------------------------------------------------------------------------------------------


def _read_csv_arrow(file: Path) -> Any:
    arrow: Any = import_module("pyarrow")
    arrow_csv: Any = import_module("pyarrow.csv")
    _check_encoding(file)
    try:
        table = arrow_csv.read_csv(file)
        _check_separator(file, table.column_names)  # bytes that are not UTF-8 show only now
        return table
    except UnicodeDecodeError as error:
        raise _not_utf8(file) from error
    except (arrow.ArrowException, OSError) as error:
        if "Empty CSV file" in str(error):
            raise _empty(file) from error
        read_csv_plain(file)  # raises with the number of the line, where the fault is one of form
        raise DataError(f"cannot read {str(file)!r}: {error}") from error


def _check_separator(file: Path, header: Sequence[str]) -> None:
    """Refuse a header that is one column only because its names are separated by something else than commas."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and sign in header[0]:
            raise DataError(
                f"{str(file)!r} is separated by {name}, not by commas; save it with commas, or give the frame of "
                f"pandas.read_csv(path, sep={sign!r})"
            )


def _check_encoding(file: Path) -> None:
    """Refuse text in UTF-16 or UTF-32, as spreadsheets write it, by its byte-order mark."""
    with file.open("rb") as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise _not_utf8(file, " but UTF-16")


def _not_utf8(file: Path, found: str = "") -> DataError:
    return DataError(f"{str(file)!r} is not UTF-8 text{found}; save it as UTF-8 (in spreadsheets: 'CSV UTF-8')")


class _Binary(NamedTuple):
    """A format that needs a package: its name, its endings, and the (module, function) pairs that read it."""

    name: str
    endings: tuple[str, ...]
    readers: tuple[tuple[str, str], ...]


_BINARY = (
    _Binary("Parquet", (".parquet", ".pq"), (("pyarrow.parquet", "read_table"), ("polars", "read_parquet"))),
    _Binary("Feather", (".feather", ".arrow"), (("pyarrow.feather", "read_table"), ("polars", "read_ipc"))),
)


def _read_binary(form: _Binary, file: Path) -> Any:
    for module, function in form.readers:
        if find_spec(module.partition(".")[0]):
            try:
                return getattr(import_module(module), function)(file)
            except Exception as error:  # each library has its own errors for a damaged file
                raise DataError(f"{str(file)!r} is not a readable {form.name} file: {error}") from error
    raise MissingExtraError(
        f"{form.name} files need the package 'pyarrow' or 'polars', which are not installed; run: "
        "pip install 'alldags[files]', or convert the file to CSV"
    )


# -- with the standard library ---------------------------------------------------------------------------------------


def read_csv_plain(file: Path) -> dict[str, Column]:
    """Read a CSV file without other packages; columns that are not all numbers stay text, shape (rows,) each."""
    _check_encoding(file)
    try:
        header, rows = _csv_rows(file)
    except UnicodeDecodeError as error:
        raise _not_utf8(file) from error
    except (csv.Error, OSError, EOFError) as error:
        raise DataError(f"cannot read {str(file)!r}: {error}") from error
    names = check_names(header)
    return {name: _parse([row[j] for row in rows]) for j, name in enumerate(names)}


def _csv_rows(file: Path) -> tuple[list[str], list[list[str]]]:
    opener: Any = gzip.open if file.name.lower().endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8-sig", newline="") as stream:
        lines = csv.reader(stream)
        header = next(_filled(lines), None)
        if header is None:
            raise _empty(file)
        _check_separator(file, header)
        rows = []
        for row in _filled(lines):
            if len(row) != len(header):
                raise DataError(
                    f"line {lines.line_num} of {str(file)!r} has {len(row)} fields, the header has {len(header)}; "
                    "every line needs the same number of commas"
                )
            rows.append(row)
    return header, rows


def _filled(lines: Iterator[list[str]]) -> Iterator[list[str]]:
    return (row for row in lines if row)


def _parse(fields: Sequence[str]) -> Column:
    try:
        numbers = np.array(fields, dtype=np.float64)
        return _whole(fields, numbers)
    except ValueError:
        pass
    try:
        return np.array([_number(field) for field in fields])
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


def _number(field: str) -> float:
    if field in _MISSING:
        return np.nan
    return _TRUTH[field] if field in _TRUTH else float(field)
