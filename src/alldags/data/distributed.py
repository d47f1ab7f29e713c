"""Frames that lie on many machines: the function travels to the rows, and sums come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from importlib import import_module
from io import BytesIO
from operator import add
from typing import Any

import numpy as np

from alldags.data.accumulate import PART_ROWS, check_work
from alldags.data.arrow import batch_numbers, is_number, pyarrow
from alldags.data.bad_values import Tally
from alldags.data.columns import Columns, Reader, check_names, choose_names, not_numbers, refuse_names
from alldags.data.frames import FrameSource
from alldags.data.record import MomentsRecord
from alldags.data.sums import Block, Sums, checked, sum_blocks
from alldags.errors import AlldagsError, DataError, require

_BRANCHES = 8  # sums that one task of the tree joins


class DistributedSource:
    """A frame of Dask or Spark: added up where the rows are; rows are brought here only if they are needed."""

    notes: tuple[str, ...] = ()

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        refuse_names(names)
        self._frame = table
        self._is_dask = _is_dask(table)
        self.columns = check_names(table.columns)
        self._passes: dict[tuple[tuple[str, ...], bool], Sums] = {}

    @staticmethod
    def takes(table: object) -> bool:
        """Is this a frame of Dask or Spark?"""
        return _is_dask(table) or _is_spark(table)

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - the cluster has its own display
    ) -> MomentsRecord:
        return checked(self._sums(choose_names(self.columns, variables), drop_missing, n_jobs), drop_missing)

    def tally(self, variables: Iterable[str]) -> Tally:
        return self._sums(choose_names(self.columns, variables), True, 1).tally

    def _sums(self, names: tuple[str, ...], drop_missing: bool, n_jobs: int) -> Sums:
        if (names, drop_missing) not in self._passes:
            check_work(len(names), n_jobs)
            self._passes[names, drop_missing] = _from_afar(self._frame, names, drop_missing)
        return self._passes[names, drop_missing]

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        return self._local(choose_names(self.columns, variables)).numbers()

    def labels(self, name: str) -> Reader:
        return self._local(choose_names(self.columns, [name])).labels(name)

    def _local(self, names: tuple[str, ...]) -> FrameSource:
        """Bring some columns here, in the order of the partitions."""
        if self._is_dask:
            return FrameSource(_run(partial(_compute, self._frame[list(names)]), "Dask"))
        return FrameSource(_run(partial(_to_arrow, _select(self._frame, names)), "Spark"))


def _is_dask(table: object) -> bool:
    return type(table).__module__.startswith("dask.") and hasattr(table, "to_delayed") and hasattr(table, "columns")


def _is_spark(table: object) -> bool:
    return type(table).__module__.startswith("pyspark.sql") and hasattr(table, "mapInArrow")


def _from_afar(frame: Any, names: tuple[str, ...], drop_missing: bool) -> Sums:
    if _is_dask(frame):
        return _run(partial(_sum_dask, frame, names, drop_missing), "Dask")  # type: ignore[no-any-return]
    return _run(partial(_sum_spark, frame, names, drop_missing), "Spark")  # type: ignore[no-any-return]


def _run(job: Any, engine: str) -> Any:
    """Run a job on a cluster; what goes wrong there becomes one error that says so."""
    try:
        return job()
    except AlldagsError:
        raise
    except Exception as error:  # each engine has its own
        raise DataError(f"reading the {engine} frame failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what an engine says: the error that one of our own functions raised far away, if it is in there."""
    text = str(error) or type(error).__name__
    ours = [line for line in text.splitlines() if "alldags.errors." in line]
    return ours[-1].partition(": ")[2] if ours else text


# -- Dask --------------------------------------------------------------------------------------------------------------


def _sum_dask(frame: Any, names: tuple[str, ...], drop_missing: bool) -> Sums:
    delayed: Any = require("dask", "dask").delayed  # type: ignore[attr-defined]
    parts = [delayed(sum_frame)(part, names, drop_missing) for part in frame[list(names)].to_delayed()]
    while len(parts) > 1:
        parts = [delayed(join)(parts[i : i + _BRANCHES]) for i in range(0, len(parts), _BRANCHES)]
    found: Sums = parts[0].compute()
    return found


def sum_frame(frame: Any, names: tuple[str, ...], drop_missing: bool) -> Sums:
    """Add up one partition, a frame in memory; runs on a worker."""
    if not len(frame):
        return sum_blocks([], names, drop_missing)
    return sum_blocks(_frame_blocks(frame, names), names, drop_missing)


def _frame_blocks(frame: Any, names: tuple[str, ...]) -> Iterator[Block]:
    if len(frame) == 1:  # too few rows for a table of its own
        frame = frame.take([0, 0])
        yield [column[:1] for column in FrameSource(frame).numbers(names).read(0, 2)]
        return
    columns = FrameSource(frame).numbers(names)
    for start in range(0, columns.rows, PART_ROWS):
        yield columns.read(start, min(columns.rows, start + PART_ROWS))


def join(parts: Sequence[Sums]) -> Sums:
    """Join some sums in their order; runs on a worker."""
    return reduce(add, parts)


def _compute(frame: Any) -> Any:
    return frame.compute()


# -- Spark -------------------------------------------------------------------------------------------------------------


def _sum_spark(frame: Any, names: tuple[str, ...], drop_missing: bool) -> Sums:
    """Send the function to the partitions; each sends back one row of bytes."""
    plain = [f"c{place}" for place in range(len(names))]  # Spark reads names once more there, without the quotes
    chosen = _select(frame, names).toDF(*plain)
    rows = chosen.mapInArrow(partial(_sum_partition, names, drop_missing), "place int, sums binary").collect()
    found = sorted((row["place"], bytes(row["sums"])) for row in rows)
    parts = [unpacked(data, names) for _, data in found]
    return reduce(add, parts, sum_blocks([], names, drop_missing))


def _select(frame: Any, names: Sequence[str]) -> Any:
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*quoted)


def _sum_partition(names: tuple[str, ...], drop_missing: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Add up the Arrow batches of one partition; runs on a worker."""
    pa, spark = pyarrow(), import_module("pyspark")
    sums = sum_blocks(_checked_blocks(batches, names), names, drop_missing)
    task = spark.TaskContext.get()
    place = 0 if task is None else task.partitionId()
    fields = [("place", pa.int32()), ("sums", pa.binary())]
    yield pa.RecordBatch.from_arrays(
        [pa.array([place], pa.int32()), pa.array([packed(sums)])], schema=pa.schema(fields)
    )


def _checked_blocks(batches: Iterable[Any], names: tuple[str, ...]) -> Iterator[Block]:
    for sent in batches:
        batch = sent.rename_columns(list(names))
        for name in names:
            dtype = batch.schema.field(name).type
            if not is_number(dtype):
                raise not_numbers(name, dtype)
        if batch.num_rows:
            yield batch_numbers(batch, names)


def _to_arrow(frame: Any) -> Any:
    return frame.toArrow()


def packed(sums: Sums) -> bytes:
    """Return sums as bytes: plain arrays, nothing that would be run."""
    stream = BytesIO()
    moments, tally = sums.moments, sums.tally
    counts = np.array([moments.n, tally.rows, tally.incomplete], dtype=np.float64)
    values = np.array([sums.origin, moments.mean, tally.missing, tally.infinite, tally.largest], dtype=np.float64)
    np.savez(stream, counts=counts, values=values, scatter=moments.scatter)
    return stream.getvalue()


def unpacked(data: bytes, names: tuple[str, ...]) -> Sums:
    """Return what `packed` made bytes of."""
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        counts, values, scatter = arrays["counts"], arrays["values"], arrays["scatter"]
    origin, mean, missing, infinite, largest = values
    whole = missing.astype(np.int64), infinite.astype(np.int64)
    tally = Tally(int(counts[1]), int(counts[2]), *whole, largest)
    return Sums(origin, MomentsRecord(int(counts[0]), mean, scatter, names), tally)
