"""Files as sources: one, several that a pattern names, or a folder of them; read a part at a time."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from alldags.data.arrays import MappingSource
from alldags.data.arrow import pyarrow
from alldags.data.columns import refuse_names
from alldags.data.csv_plain import empty, read_csv_plain
from alldags.data.csv_stream import csv_stream
from alldags.data.dialect import find_dialect
from alldags.data.frames import FrameSource
from alldags.data.parquet import feather_stream, parquet_stream
from alldags.data.record import MomentsSource
from alldags.data.sheets import READERS, excel_stream, statistics_stream
from alldags.data.sqlite import sqlite_stream
from alldags.data.storage import ENDINGS, load_moments
from alldags.data.stream import Batches, Stream, StreamSource, collected
from alldags.errors import DataError, MissingExtraError, did_you_mean

AnySource: TypeAlias = StreamSource | MappingSource | FrameSource | MomentsSource


class Files:
    """Paths as a way in: of a file, a pattern such as ``"part-*.parquet"``, or a folder."""

    @staticmethod
    def takes(table: object) -> bool:
        """Is this the path of a file?"""
        return isinstance(table, str | os.PathLike)

    def __call__(self, table: str | os.PathLike[str], names: Sequence[str] | None = None, /) -> AnySource:
        """Open it; its rows are read when something is asked."""
        refuse_names(names)
        files = list_files(table)
        if format_of(files[0].path).name == "moments":
            return MomentsSource(reduce(add, (load_moments(file.path) for file in files)))
        opened = _opened(files, TextOptions())
        if isinstance(opened, Stream):
            return StreamSource(opened)
        return MappingSource(opened) if isinstance(opened, Mapping) else FrameSource(opened)


@dataclass(frozen=True)
class TextOptions:
    """What the user says of a text file; what is None is found out."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None


def read_table(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Any:
    r"""Read a table from a file into memory, as something that `alldags.fit` and `Moments` take.

    `alldags.fit` also takes the path itself, and reads large files a part at a time; read the file yourself to look at
    it, to fit it several times, or to say how a text file is written where that cannot be told.

    Parameters
    ----------
    path
        A file whose name ends in ``.csv``, ``.tsv`` or ``.txt`` (also with ``.gz``), ``.parquet`` (or ``.pq``), or
        ``.feather`` (or ``.arrow``); ``.xlsx`` (extra ``excel``); ``.dta``, ``.sav`` or ``.sas7bdat`` (extra
        ``stata``); ``.sqlite`` or ``.db``. Of several sheets or tables one is named ``"study.xlsx::second"``. Or a
        pattern such as ``"part-*.parquet"``, or a folder of such files, where ``year=2024`` in the name of a folder is
        a column. Text files have a header line, and nothing, ``NA``, ``NaN``
        or ``null`` where a value is missing; they are read by pyarrow if it is installed, otherwise by the standard
        library, which is slower.
    separator, decimal, encoding
        How a text file is written: ``";"``, ``","``, ``"latin-1"``; by default found out from the file where that is
        beyond doubt.

    Returns
    -------
    table
        A pyarrow or polars frame with one column per variable; without these packages, a mapping from column names to
        arrays of shape (rows,).

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "trial.csv"
    >>> _ = file.write_text("dose;score\n1;2,5\n2;4,5\n")
    >>> table = ad.read_table(file)
    >>> [float(value) for value in table["score"].to_numpy()]
    [2.5, 4.5]
    """
    files = list_files(path)
    if format_of(files[0].path).name == "moments":
        raise DataError(f"{str(path)!r} holds moments and no rows; use Moments.load")
    opened = _opened(files, TextOptions(separator, decimal, encoding))
    return collected(opened) if isinstance(opened, Stream) else opened


def _opened(files: Sequence[PartFile], options: TextOptions) -> Any:
    """Return a stream, or the table itself where pyarrow is not installed."""
    form = format_of(files[0].path)
    if find_spec("pyarrow"):
        return joined([with_keys(form.stream(file, options), file.keys) for file in files], files)
    if len(files) > 1 or files[0].keys:
        pyarrow()  # raises, naming the extra
    return form.plain(files[0], options)


# -- formats -----------------------------------------------------------------------------------------------------------


class Format(NamedTuple):
    """A kind of file: its name, its endings, how it is streamed, and how it is read without pyarrow."""

    name: str
    endings: tuple[str, ...]
    stream: Callable[[PartFile, TextOptions], Stream]
    plain: Callable[[PartFile, TextOptions], Any]


def _dialect(file: Path, options: TextOptions) -> Any:
    return find_dialect(file, options.separator, options.decimal, options.encoding)


def _stream_text(file: PartFile, options: TextOptions) -> Stream:
    return csv_stream(file.path, _dialect(file.path, options))


def _plain_text(file: PartFile, options: TextOptions) -> Any:
    return read_csv_plain(file.path, _dialect(file.path, options))


def _no_options(opener: Callable[[Path], Any], file: PartFile, options: TextOptions) -> Any:
    if options != TextOptions():
        raise DataError(f"separator=, decimal= and encoding= are for text files; {file.path.name!r} is none")
    return opener(file.path)


def _inside(opener: Callable[[Path, str | None], Any], file: PartFile, options: TextOptions) -> Any:
    """Open what may have several tables in it."""
    return _no_options(lambda path: opener(path, file.table), file, options)


def _needs_pyarrow(file: Path) -> Any:  # noqa: ARG001
    return pyarrow()  # raises, naming the extra


def _by_polars(name: str, function: str, file: Path) -> Any:
    if not find_spec("polars"):
        raise MissingExtraError(
            f"{name} files need the package 'pyarrow' or 'polars', which are not installed; run: "
            "pip install 'alldags[files]', or convert the file to CSV"
        )
    try:
        return getattr(import_module("polars"), function)(file)
    except Exception as error:  # polars has many for a damaged file
        raise DataError(f"{str(file)!r} is not a readable {name} file: {error}") from error


_TEXT = tuple(f".{ending}{packed}" for ending in ("csv", "tsv", "tab", "txt") for packed in ("", ".gz"))
_FORMATS = (
    Format("text", _TEXT, _stream_text, _plain_text),
    Format(
        "Parquet",
        (".parquet", ".pq"),
        partial(_no_options, parquet_stream),
        partial(_no_options, partial(_by_polars, "Parquet", "read_parquet")),
    ),
    Format(
        "Feather",
        (".feather", ".arrow", ".ipc"),
        partial(_no_options, feather_stream),
        partial(_no_options, partial(_by_polars, "Feather", "read_ipc")),
    ),
    Format("Excel", (".xlsx", ".xlsm"), partial(_inside, excel_stream), partial(_no_options, _needs_pyarrow)),
    Format("statistics", tuple(READERS), partial(_no_options, statistics_stream), partial(_no_options, _needs_pyarrow)),
    Format(
        "SQLite",
        (".sqlite", ".sqlite3", ".db"),
        partial(_inside, sqlite_stream),
        partial(_no_options, _needs_pyarrow),
    ),
    Format("moments", ENDINGS, partial(_no_options, load_moments), partial(_no_options, load_moments)),
)


def _format(file: Path) -> Format | None:
    return next((form for form in _FORMATS if file.name.lower().endswith(form.endings)), None)


def format_of(file: Path) -> Format:
    """Return the format of a file, by the end of its name."""
    form = _format(file)
    if form is None:
        raise DataError(
            f"cannot tell the format of {file.name!r}; the name must end in .csv, .tsv or .txt (also with .gz), "
            ".parquet, .feather, .xlsx, .dta, .sav, .sqlite, or, for moments, .json or .npz"
        )
    return form


# -- several files -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartFile:
    """A file, what the names of its folders say of all its rows, and which table in it is meant."""

    path: Path
    keys: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None


def list_files(path: str | os.PathLike[str]) -> list[PartFile]:
    """Return the file of this name, those that the pattern names, or those in the folder; sorted, at least one."""
    file, table = _split(path)
    if file.is_dir():
        found = _in_folder(file)
    elif not file.exists() and any(sign in str(file) for sign in "*?["):
        found = [replace(part, table=table) for part in _matching(str(file))]
    else:
        format_of(file)
        _check_exists(file)
        found = [PartFile(file, table=table)]
    for part in found:
        if part.path.stat().st_size == 0:
            raise empty(part.path)
    return found


def _split(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Return a path, and the name after ``::`` of a table or sheet in it."""
    whole = Path(path)
    before, sign, table = str(path).rpartition("::")
    return (Path(before), table) if sign and not whole.exists() else (whole, None)


def _check_exists(file: Path) -> None:
    if not file.exists():
        siblings = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        raise DataError(f"there is no file {str(file)!r}{did_you_mean(file.name, siblings)}")


def _matching(pattern: str) -> list[PartFile]:
    found = [Path(name) for name in sorted(glob.glob(pattern, recursive=True), key=_natural)]
    files = [PartFile(file, _keys(file.parts)) for file in found if file.is_file()]
    if not files:
        raise DataError(f"no file is named like {pattern!r}")
    _check_alike([part.path for part in files], pattern)
    return files


def _in_folder(folder: Path) -> list[PartFile]:
    inside = (file for file in folder.rglob("*") if file.is_file() and _format(file) is not None)
    found = sorted(
        (file for file in inside if not _is_hidden(file.relative_to(folder))), key=lambda f: _natural(str(f))
    )
    if not found:
        raise DataError(f"the folder {str(folder)!r} has no CSV, Parquet or Feather file in it")
    _check_alike(found, str(folder))
    return [PartFile(file, _keys(file.relative_to(folder).parts)) for file in found]


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)  # what engines leave beside their data


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key under which part-10 comes after part-9."""
    return [(int(text), "") if text.isdigit() else (-1, text) for text in re.split(r"(\d+)", name)]


def _check_alike(files: Sequence[Path], what: str) -> None:
    forms = {format_of(file).name: file.name for file in files}
    if len(forms) > 1:
        listed = " and ".join(f"{name} ({file!r})" for name, file in forms.items())
        raise DataError(f"{what!r} holds files of several formats, {listed}; name one kind, for example with '*.csv'")


def _keys(parts: Sequence[str]) -> dict[str, str]:
    """Return what folders named ``key=value`` say."""
    pairs = (part.split("=", 1) for part in parts[:-1] if "=" in part)
    return {key: value for key, value in pairs if key}


# -- one stream of them all --------------------------------------------------------------------------------------------


def with_keys(stream: Stream, keys: Mapping[str, str]) -> Stream:
    """Return the stream with a column for each key, the same in all rows."""
    new = {key: _value(text) for key, text in keys.items() if key not in stream.schema.names}
    if not new:
        return stream
    arrow = pyarrow()
    schema = stream.schema
    for key, value in new.items():
        schema = schema.append(arrow.field(key, arrow.scalar(value).type))
    return replace(stream, schema=schema, pieces=partial(_pieces_with_keys, stream, new))


def _value(text: str) -> float | str | None:
    if text == "__HIVE_DEFAULT_PARTITION__":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _pieces_with_keys(stream: Stream, keys: Mapping[str, Any], names: Sequence[str]) -> list[Batches]:
    stored = [name for name in names if name not in keys] or stream.schema.names[:1]
    return [partial(_batches_with_keys, opened, keys) for opened in stream.pieces(stored)]


def _batches_with_keys(opened: Batches, keys: Mapping[str, Any]) -> Iterator[Any]:
    arrow = pyarrow()
    for batch in opened():
        for key, value in keys.items():
            batch = batch.append_column(key, arrow.array([value] * batch.num_rows))  # noqa: PLW2901
        yield batch


def joined(streams: Sequence[Stream], files: Sequence[PartFile]) -> Stream:
    """Return one stream of several, which must have the columns that are asked for."""
    if len(streams) == 1:
        return streams[0]
    first = streams[0]
    _check_columns(streams, files)
    known = all(stream.count is not None for stream in streams)
    return replace(
        first,
        schema=_common_schema(streams),
        pieces=lambda names: [opened for stream in streams for opened in stream.pieces(names)],
        what=f"{len(streams)} files such as {str(files[0].path)!r}",
        count=(lambda: sum(stream.count() for stream in streams if stream.count is not None)) if known else None,
        expected=sum(stream.expected or 0 for stream in streams) or None,
        notes=tuple(dict.fromkeys(note for stream in streams for note in stream.notes)),
    )


def _check_columns(streams: Sequence[Stream], files: Sequence[PartFile]) -> None:
    first = set(streams[0].schema.names)
    for stream, file in zip(streams, files, strict=True):
        if differ := sorted(first ^ set(stream.schema.names)):
            raise DataError(
                f"{str(file.path)!r} has other columns than {str(files[0].path)!r}, among them {differ[0]!r}; parts of "
                "one table need the same columns"
            )


def _common_schema(streams: Sequence[Stream]) -> Any:
    """Return the schema of the first, with types that are not numbers wherever some part has them."""
    arrow, types = pyarrow(), pyarrow("pyarrow.types")
    fields = []
    for name in streams[0].schema.names:
        found = [stream.schema.field(name).type for stream in streams]
        known = [dtype for dtype in found if not types.is_null(dtype)]
        text = [dtype for dtype in known if types.is_string(dtype) or types.is_large_string(dtype)]
        fields.append(arrow.field(name, (text or known or found)[0]))
    return arrow.schema(fields)
