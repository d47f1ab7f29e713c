"""Parquet and Feather (Arrow) files, a row group or record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from alldags.data.accumulate import PART_ROWS
from alldags.data.arrow import pyarrow
from alldags.data.stream import Batches, Stream
from alldags.errors import DataError

_PART_VALUES = 2**22  # decoded at a time (32 MB)
_BUFFER_BYTES = 2**23  # read ahead, over all columns


def parquet_stream(file: Path) -> Stream:
    """Open a Parquet file: a piece is a row group."""
    parquet = pyarrow("pyarrow.parquet")
    with _readable(file, "Parquet", partial(parquet.ParquetFile, str(file))) as opened:
        metadata, schema = opened.metadata, _with_names(file, "Parquet", opened.schema_arrow)
    return Stream(
        schema,
        partial(_row_groups, file, metadata),
        f"the file {str(file)!r}",
        count=partial(int, metadata.num_rows),
        same_order=True,
    )


def _readable(file: Path, form: str, opener: Any) -> Any:
    try:
        return opener()
    except Exception as error:  # pyarrow has many for a damaged file
        raise DataError(f"{str(file)!r} is not a readable {form} file: {error}") from error


def _with_names(file: Path, form: str, schema: Any) -> Any:
    """Return a schema whose names are text: they are only looked at when they are asked for."""
    _readable(file, form, lambda: schema.names)
    return schema


def _row_groups(file: Path, metadata: Any, names: Sequence[str]) -> list[Batches]:
    return [partial(_row_group, file, metadata, names, place) for place in range(metadata.num_row_groups)]


def _row_group(file: Path, metadata: Any, names: Sequence[str], place: int) -> Iterator[Any]:
    size = max(1024, min(PART_ROWS, _PART_VALUES // len(names)))
    buffer = max(2**12, min(2**17, _BUFFER_BYTES // len(names)))  # a row group as a whole may be larger than memory
    parquet = pyarrow("pyarrow.parquet")
    with parquet.ParquetFile(str(file), metadata=metadata, buffer_size=buffer, pre_buffer=False) as opened:
        yield from opened.iter_batches(size, row_groups=[place], columns=list(names), use_threads=False)


# -- Feather -----------------------------------------------------------------------------------------------------------


def feather_stream(file: Path) -> Stream:
    """Open a Feather or Arrow file: a piece is a record batch, or the whole file if it was written as a stream."""
    opened = _readable(file, "Feather", partial(_ipc, file))
    what = f"the file {str(file)!r}"
    _with_names(file, "Feather", opened.schema)
    if isinstance(opened, pyarrow().Table):  # the first version of the format
        return Stream(opened.schema, partial(_of_table, opened), what, partial(int, opened.num_rows), same_order=True)
    if not hasattr(opened, "num_record_batches"):
        return Stream(opened.schema, partial(_streamed, file), what, same_order=True)
    return Stream(opened.schema, partial(_record_batches, file, opened.num_record_batches), what, same_order=True)


def _ipc(file: Path, names: Sequence[str] | None = None) -> Any:
    arrow, ipc = pyarrow(), pyarrow("pyarrow.ipc")
    source = arrow.memory_map(str(file))
    start = source.read(6)
    source.seek(0)
    if start.startswith(b"FEA1"):
        return pyarrow("pyarrow.feather").read_table(str(file))
    if start != b"ARROW1":
        return ipc.open_stream(source)
    opened = ipc.open_file(source)
    if names is None:
        return opened
    fields = sorted(opened.schema.get_field_index(name) for name in names)
    return ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=fields, use_threads=False))


def _record_batches(file: Path, count: int, names: Sequence[str]) -> list[Batches]:
    return [partial(_record_batch, file, names, place) for place in range(count)]


def _record_batch(file: Path, names: Sequence[str], place: int) -> Iterator[Any]:
    yield _ipc(file, names).get_batch(place)


def _streamed(file: Path, names: Sequence[str]) -> list[Batches]:  # noqa: ARG001  - all columns are stored together
    return [partial(_ipc, file)]


def _of_table(table: Any, names: Sequence[str]) -> list[Batches]:
    return [table.select(list(names)).to_batches]
