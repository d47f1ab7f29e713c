"""Columns that are always in, such as a trend, with a flat prior: what they explain is taken out, whatever the slab.

Their working units are made so small that the slab is flat for all that the data could say. What that adds to the
evidence of each slab and to the noise, as if coefficients of any size were expected, is taken off again
(`alldags.nodes.build`): what is left is the regression on what they do not explain, with a row less for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from alldags.nodes.data import ChildData, WorkingData

WIDE = 1e4  # working units of a flat column in a standard deviation


def flat_in(data: WorkingData, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables whose coefficients get a flat prior: none where other than straight lines are expanded."""
    return () if data.families or data.heavy else names


def with_flat(data: WorkingData, names: Sequence[str]) -> WorkingData:
    """Return the data with a flat prior of what some variables do."""
    columns = data.columns(names)
    if not columns:
        return data
    scale = data.scale.copy()
    scale[[data.pooled.index[name] for name in columns]] /= WIDE
    own = {child: rows and _flat(rows, columns) for child, rows in data.own.items()}
    unset = data.unset and partial(_flat_rows, data.unset, columns)
    return replace(data, pooled=_flat(data.pooled, columns), scale=scale, own=own, unset=unset)


def _flat(rows: ChildData, columns: Collection[str]) -> ChildData:
    unit = np.array([WIDE if name in columns else 1.0 for name in rows.names])
    both = np.outer(unit, unit)
    variants = tuple(one._replace(scatter=one.scatter * both) for one in rows.variants)
    return replace(rows, scatter=rows.scatter * both, mean=rows.mean * unit, variants=variants, flat=frozenset(columns))


def _flat_rows(
    unset: Callable[[Collection[str]], ChildData | None], columns: Collection[str], names: Collection[str]
) -> ChildData | None:
    found = unset(names)
    return found and _flat(found, columns)
