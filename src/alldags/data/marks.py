"""Rows with what is said of them: weights, what was set from outside, clusters; each a column like any other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial

import numpy as np

from alldags.data.batches import Marks, RowTable
from alldags.data.clusters import cluster_keys
from alldags.data.columns import Column, Columns, Reader
from alldags.data.interventions import target_keys
from alldags.data.reading import RowOptions
from alldags.data.rows import Keys
from alldags.data.source import Source
from alldags.data.weights import weight_reader

_PREFIX = "\0"  # no column of a table begins with it


def marked_rows(
    source: Source,
    names: Sequence[str],
    options: RowOptions,
    variables: Sequence[str],
    targets: Collection[str] = (),
) -> RowTable:
    """Return the complete rows of some columns, with weights, settings and clusters beside them.

    Parameters
    ----------
    source
        The table.
    names
        Columns of numbers.
    options
        What is said of the rows.
    variables
        The graph's, which may have been set.
    targets
        Those of them that were ever set, and count as that.
    """
    columns = source.numbers(names)
    marks, readers = Marks(), dict[str, Reader]()
    if options.weights is not None:
        name = _PREFIX + "weight"
        readers[name] = weight_reader(source, options.weights, columns.rows, options.weight_kind)
        marks = Marks(name, options.weight_kind == "sampling")
    if options.interventions is not None and targets:
        keys = target_keys(source, options.interventions, columns.rows, variables)
        was_set = {target: f"{_PREFIX}set {target}" for target in sorted(targets)}
        readers |= {name: partial(_was_set, keys, target) for target, name in was_set.items()}
        marks = Marks(marks.weight, marks.effective, was_set)
    if options.cluster is not None:
        name = _PREFIX + "cluster"
        readers[name] = _Codes(cluster_keys(source, options.cluster, columns.rows))
        marks = Marks(marks.weight, marks.effective, marks.was_set, name)
    return RowTable(_beside(columns, readers), marks) if readers else RowTable(columns)


def _beside(columns: Columns, readers: dict[str, Reader]) -> Columns:
    """Return columns with others beside them."""
    together: Callable[[int, int], list[Column]] | None = None
    if columns.together is not None:
        together = partial(_read_both, columns, tuple(readers.values()))
    return Columns((*columns.names, *readers), columns.rows, (*columns.readers, *readers.values()), together)


def _read_both(columns: Columns, readers: Sequence[Reader], start: int, stop: int) -> list[Column]:
    return [*columns.read(start, stop), *(reader(start, stop) for reader in readers)]


def _was_set(keys: Keys, target: str, start: int, stop: int) -> Column:
    return np.array([target in found for found in keys(start, stop)], dtype=float)  # type: ignore[operator]


class _Codes:
    """Numbers of the clusters, in the order in which they appear."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: dict[Hashable, int] = {}

    def __call__(self, start: int, stop: int) -> Column:
        found = [self._known.setdefault(label, len(self._known)) for label in self._keys(start, stop)]
        return np.array(found, dtype=float)
