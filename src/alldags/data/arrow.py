"""Arrow batches as blocks of numbers: what every engine and every large file hands over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alldags.data.columns import LARGEST_EXACT, Column, too_large_to_tell
from alldags.data.sums import Block
from alldags.errors import require


def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow, or one of its modules; an error names the extra."""
    return require(module, "files")


def is_number(dtype: Any) -> bool:
    """Can a column of this Arrow type be used as numbers? One without any value can."""
    types = pyarrow("pyarrow.types")
    return bool(
        types.is_integer(dtype)
        or types.is_floating(dtype)
        or types.is_boolean(dtype)
        or types.is_decimal(dtype)
        or types.is_null(dtype)
    )


def batch_numbers(batch: Any, names: Sequence[str]) -> Block:
    """Return columns of a record batch as arrays of numbers, views of its memory where that is possible.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from alldags.data.arrow import batch_numbers
    >>> batch_numbers(pa.record_batch({"x": [1, 2], "y": [True, None]}), ["y", "x"])
    [array([ 1., nan]), array([1, 2])]
    """
    return [array_numbers(batch.column(name), name) for name in names]


def array_numbers(array: Any, name: str) -> Column:
    """Return one Arrow array of numbers, shape (rows,); missing values are NaN."""
    types = pyarrow("pyarrow.types")
    if types.is_null(array.type):
        return np.full(len(array), np.nan)
    whole = types.is_integer(array.type)
    if (whole or _is_plain_float(array.type)) and not array.null_count:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    numbers: Column = array.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    if whole and np.nanmax(np.abs(numbers), initial=0.0) > LARGEST_EXACT:
        raise too_large_to_tell(name)
    return numbers


def _is_plain_float(dtype: Any) -> bool:
    types = pyarrow("pyarrow.types")
    return bool(types.is_float64(dtype) or types.is_float32(dtype))


def batch_labels(batch: Any, name: str) -> Column:
    """Return one column of a record batch as it is, as Python values, shape (rows,)."""
    labels = np.empty(batch.num_rows, dtype=object)
    labels[:] = batch.column(name).to_pylist()
    return labels
