"""Clusters: rows that belong together, such as the pupils of a school or the visits of a patient."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from alldags.data.columns import Reader
from alldags.data.labels import is_nothing, label_reader
from alldags.data.rows import Keys, RowGroups
from alldags.data.source import Source
from alldags.errors import DataError


def cluster_keys(source: Source, given: Any, rows: int) -> Keys:
    """Return the cluster of each row: `given` is the name of a column, or holds one label per row."""
    return partial(_labels, label_reader(source, given, rows, "cluster"))


def _labels(labels: Reader, start: int, stop: int) -> list[Hashable]:
    found: list[Hashable] = labels(start, stop).tolist()
    missing = next((i for i, label in enumerate(found) if is_nothing(label)), None)
    if missing is not None:
        raise DataError(
            f"cluster: row {start + missing} has no label; give such rows a cluster of their own, or drop them"
        )
    return found


def check_clusters(rows: RowGroups) -> None:
    """Raise unless there are several clusters."""
    if len(rows.clusters) < 2:
        raise DataError("cluster: all rows are in one cluster, which says nothing of how much clusters differ")


def resampled(rows: RowGroups, rng: np.random.Generator) -> RowGroups:
    """Return as many clusters as there are, drawn with replacement."""
    count = len(rows.clusters)
    return rows.repeated(np.bincount(rng.integers(count, size=count), minlength=count))
