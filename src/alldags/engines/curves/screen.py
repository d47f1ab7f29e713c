"""Which of very many causes are looked at for curves: those that have most to do with child or treatment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alldags.columns.base import RowValues
from alldags.engines.curves.learn import sparse_coefficients
from alldags.typing import FloatArray

MANY = 100  # causes, from which on not all are looked at for curves
MOST = 40  # that are


def screened(causes: Sequence[str], targets: Sequence[str], rows: RowValues) -> frozenset[str]:
    """Return the causes that may bend or modify an effect: all, or the `MOST` best of them.

    A cause is as good as its largest correlation with a target, or its square's or absolute value's with what straight
    lines leave of it; of several targets, each keeps its share.

    Parameters
    ----------
    causes
        Columns of numbers.
    targets
        The child, and the treatment.
    rows
        Some rows.
    """
    if len(causes) < MANY:
        return frozenset(causes)
    values = np.column_stack([rows.values[name] for name in causes])
    z = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-300)
    kept: dict[str, None] = {}
    for target in targets:
        order = np.argsort(-_strength(z, rows.values[target]), kind="stable")
        kept |= dict.fromkeys(causes[place] for place in order[: MOST // len(targets)])
    return frozenset(kept)


def _strength(z: FloatArray, target: FloatArray) -> FloatArray:
    """Return how much each of standardised columns (rows, k) has to do with a target, shape (k,)."""
    left = target - z @ sparse_coefficients(z, target)
    shapes = ((z, target), (np.abs(z), left), (z**2, left))
    return np.asarray(np.max([np.abs(_correlation(columns, values)) for columns, values in shapes], axis=0))


def _correlation(columns: FloatArray, values: FloatArray) -> FloatArray:
    a, b = columns - columns.mean(axis=0), values - values.mean()
    size = np.sqrt((a**2).sum(axis=0) * float(b @ b))
    return np.asarray(b @ a / np.maximum(size, 1e-300))
