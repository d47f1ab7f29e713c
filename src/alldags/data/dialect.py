"""How a text file is written: separator, decimal sign and encoding, found where there is no doubt."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from alldags.errors import DataError

_HEAD_BYTES = 2**18
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_MARKS = (  # longest first: the mark of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = "cp1252"  # Latin-1 with the signs that Windows adds
_SIGNS = frozenset("€£¥§°²³¹µ·ºª¿¡«»–—‘’“”„…™®©±×÷½¼¾‰\xa0´¨¢")
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}((\.\d{3})+,\d+|(,\d{3})+\.\d+|(\.\d{3}){2,}|(,\d{3}){2,})\s*")
_DOUBTFUL = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")  # 1.234 or 1234?


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Parameters
    ----------
    separator
        Between fields.
    decimal
        ``"."`` or ``","``.
    encoding
        Name of a Python codec.
    skip
        Lines before the header.
    notes
        What was assumed.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    skip: int = 0
    notes: tuple[str, ...] = field(default=())


def find_dialect(
    file: Path, separator: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> Dialect:
    r"""Look at the beginning of a file; what is given is not looked for.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from alldags.data.dialect import find_dialect
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "trial.csv"
    >>> _ = file.write_text("dose;score\n1;2,5\n2;4,5\n")
    >>> find_dialect(file)
    Dialect(separator=';', decimal=',', encoding='utf-8', skip=0, notes=())
    """
    _check_given(separator, decimal, encoding)
    head = _head(file)
    whole = len(head) < _HEAD_BYTES
    found = encoding or _encoding(file, head)
    notes: tuple[str, ...] = ()
    if encoding is None and found == _WESTERN:
        notes = (f"{file.name!r} is not UTF-8; it was read as Latin-1 (Windows-1252)",)
    lines = _lines(head, found, whole, file)
    skip = 0
    if lines and (said := re.fullmatch(r"sep=(.)", lines[0].strip('\ufeff \r\n"') or "")):
        separator, skip, lines = separator or said[1], 1, lines[1:]  # as spreadsheets have it
    sign = separator or _separator(file, lines)
    rows = _rows(lines, sign)
    return Dialect(sign, decimal or _decimal(file, rows, skip, sign), found, skip, notes)


def _head(file: Path) -> bytes:
    try:
        with opened_bytes(file) as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:  # not compressed, or cut off
        raise DataError(f"cannot read {str(file)!r}: {error}") from error


def _check_given(separator: object, decimal: object, encoding: object) -> None:
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1):
        raise DataError(f"separator must be one character, such as ',' or ';', got {separator!r}")
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal must be '.' or ',', got {decimal!r}")
    if encoding is not None:
        try:
            codecs.lookup(encoding if isinstance(encoding, str) else "")
        except LookupError:
            raise DataError(f"encoding must be one that Python knows, such as 'latin-1', got {encoding!r}") from None


def opened_bytes(file: Path) -> IO[bytes]:
    """Open a file for reading, decompressed."""
    packed: Any = gzip.GzipFile
    raw: IO[bytes] = packed(file) if file.name.lower().endswith(".gz") else file.open("rb")
    return raw


def opened_text(file: Path, dialect: Dialect) -> IO[str]:
    """Open a text file in its encoding."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    return io.TextIOWrapper(opened_bytes(file), encoding=encoding, newline="")


# -- encoding --------------------------------------------------------------------------------------------------------


def _encoding(file: Path, head: bytes) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return _wide(file, head)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the end of the head may cut a character
        return "utf-8"
    except UnicodeDecodeError as error:
        if _is_western(head):
            return _WESTERN
        raise not_text(file, head, error.start) from error


def _wide(file: Path, head: bytes) -> str:
    """Tell UTF-16 without a mark by its zero bytes: nearly all at odd places, or at even ones."""
    zeros = [head[place::2].count(0) for place in (0, 1)]
    for place, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[place] > 0.6 * len(head) / 2 and zeros[1 - place] < 0.01 * len(head):
            return name
    raise DataError(f"{str(file)!r} holds zero bytes: it is no text file; say read_table(path, encoding=...) if it is")


def _is_western(head: bytes) -> bool:
    """Are all other than ASCII characters Latin letters and usual signs, if they are taken for Windows-1252?"""
    if not head.decode("utf-8", "ignore").isascii():
        return False  # in part UTF-8: rather damaged than Western
    try:
        text = head.decode(_WESTERN)
    except UnicodeDecodeError:
        return False
    strange = {character for character in text if ord(character) > 127}
    return all(character in _SIGNS or unicodedata.name(character, "").startswith("LATIN") for character in strange)


def not_text(file: Path, data: bytes, place: int) -> DataError:
    """Say where bytes are that are not UTF-8; `data` is the file from its beginning."""
    line = data.count(b"\n", 0, place) + 1
    start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
    shown = re.split(rb"[,;\t|]", data[start : end if end >= 0 else place + 20])
    before = len(re.split(rb"[,;\t|]", data[start:place])) - 1
    return DataError(
        f"{str(file)!r} is not UTF-8 text: line {line} has {shown[before][:40]!r}; save it as UTF-8 (in spreadsheets: "
        "'CSV UTF-8'), or say which encoding it has: read_table(path, encoding='...')"
    )


def _lines(head: bytes, encoding: str, whole: bool, file: Path) -> list[str]:
    """Return the complete lines of the head."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)().decode(head, whole)
    except UnicodeDecodeError as error:
        raise DataError(f"{str(file)!r} is not {encoding} text: {error}") from error
    lines = text.splitlines(keepends=True)
    return lines if whole or len(lines) < 2 else lines[:-1]


# -- separator -------------------------------------------------------------------------------------------------------


def _separator(file: Path, lines: Sequence[str]) -> str:
    """Return the separator that cuts every line into as many fields as the header, more than one."""
    filled = [line for line in lines if line.strip()][:200]
    if not filled:
        return ","
    counts = {sign: _field_counts(filled, sign) for sign in _SEPARATORS}
    cutting = [sign for sign, count in counts.items() if count[0] > 1]
    even = [sign for sign in cutting if len(set(counts[sign])) == 1]
    if len(cutting) <= 1:
        return cutting[0] if cutting else ","
    if len(even) == 1:
        return even[0]
    names = " or ".join(_SEPARATORS[sign] for sign in (even or cutting))
    raise DataError(
        f"{str(file)!r} may be separated by {names}: line 1 is {filled[0].strip()[:60]!r}; say which: "
        "read_table(path, separator='...')"
    )


def _field_counts(lines: Sequence[str], sign: str) -> list[int]:
    return [len(row) for row in _rows(lines, sign) if row] or [1]


def _rows(lines: Sequence[str], sign: str) -> list[list[str]]:
    """Return the fields of lines, as far as the standard library reads them: it refuses very long ones."""
    rows = []
    with contextlib.suppress(csv.Error):
        for row in csv.reader(lines, delimiter=sign):
            rows.append(row)  # noqa: PERF402  - what came before the error is kept
    return rows


# -- decimal sign ----------------------------------------------------------------------------------------------------


def _decimal(file: Path, rows: Sequence[Sequence[str]], skip: int, separator: str) -> str:
    """Return the decimal sign that all numbers share; a point if there is none."""
    cells = list(_cells(rows, skip))
    if grouped := next((cell for cell in cells if _GROUPED.fullmatch(cell[2])), None):
        raise _doubt(
            file, *grouped, "has a sign between thousands; write numbers without it, or, if it is none, say decimal='.'"
        )
    commas = [cell for cell in cells if _WITH_COMMA.fullmatch(cell[2])]
    if not commas:
        return "."
    points = [cell for cell in cells if _WITH_POINT.fullmatch(cell[2])]
    if points and separator == ",":
        return "."  # 1,3 in quotes is rather a list
    if points:
        other = f"but line {points[0][0]} has {points[0][2]!r} in column {points[0][1]!r}"
        raise _doubt(file, *commas[0], f"{other}; write all decimals with the same sign")
    if all(_DOUBTFUL.fullmatch(cell[2]) for cell in commas):
        raise _doubt(file, *commas[0], "may be a decimal comma or thousands; say which: read_table(path, decimal=',')")
    return ","


def _cells(rows: Sequence[Sequence[str]], skip: int) -> Iterator[tuple[int, str, str]]:
    """Yield line, column and text of the cells below the header."""
    header = next((row for row in rows if row), [])
    for line, row in enumerate(rows, start=1 + skip):
        if row and row is not header:
            yield from ((line, name, cell) for name, cell in zip(header, row, strict=False))


def _doubt(file: Path, line: int, column: str, cell: str, why: str) -> DataError:
    return DataError(f"line {line} of {str(file)!r}, column {column!r}: {cell!r} {why}")
