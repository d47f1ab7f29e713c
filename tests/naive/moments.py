"""Slow, obvious twin of `Moments.from_table`: exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from alldags.typing import FloatArray


def exact_moments(columns: Sequence[Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Return the means (m,) and the centred cross-products (m, m), each rounded once."""
    exact = [[Fraction(float(x)) for x in column] for column in columns]
    n = len(exact[0])
    means = [sum(column, Fraction(0)) / n for column in exact]
    centred = [[x - mean for x in column] for column, mean in zip(exact, means, strict=True)]
    scatter = [[float(sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))) for b in centred] for a in centred]
    return np.array([float(mean) for mean in means]), np.array(scatter)
