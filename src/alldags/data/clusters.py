"""Clusters: rows that belong together, such as the pupils of a school or the visits of a patient."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from alldags.data.columns import Reader
from alldags.data.labels import is_nothing, label_reader
from alldags.data.rows import Keys, RowGroups
from alldags.data.source import Source
from alldags.errors import DataError
from alldags.text import shortened
from alldags.wording import option


def cluster_keys(source: Source, given: Any, rows: int) -> Keys:
    """Return the cluster of each row: `given` is the name of a column, or holds one label per row."""
    _refuse_designs(source, given)
    return partial(_labels, label_reader(source, given, rows, "cluster"))


def _refuse_designs(source: Source, given: Any) -> None:
    """Refuse, by name, what clusters of several kinds and strata would need."""
    if isinstance(given, Mapping):
        raise DataError(
            f"{option('cluster', given)}: strata and stages of a survey are not taken into account; give the column of "
            "the first stage's units alone, which is cautious"
        )
    names = given if isinstance(given, list | tuple) else ()
    several = len(names) > 1 and all(isinstance(name, str) and name in source.columns for name in names)
    if several or getattr(given, "ndim", 1) > 1:
        raise DataError(
            f"clusters of two kinds at once ({shortened(repr(given), 80)}) are not taken into account; give the one "
            "column whose clusters are larger"
        )


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
