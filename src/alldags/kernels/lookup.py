"""Smooth functions, one for each draw, looked up from their values at even steps."""

from __future__ import annotations

import numpy as np

from alldags.kernels.jit import compiled
from alldags.typing import FloatArray


@compiled
def looked_up(x: FloatArray, low: FloatArray, step: FloatArray, table: FloatArray) -> FloatArray:
    """Return the functions at `x`, shape (rows, draws), by cubics through four known values.

    `table` (draws, points) has the functions at ``low + step * point``; `x` lies between its second and its last but
    one point.
    """
    out = np.empty_like(x)
    last = table.shape[1] - 3
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            place = (x[i, d] - low[d]) / step[d]
            k = min(max(int(place), 1), last)
            t = place - k
            a, b, c, e = table[d, k - 1], table[d, k], table[d, k + 1], table[d, k + 2]
            linear = c - a / 3.0 - 0.5 * b - e / 6.0
            square = 0.5 * (a + c) - b
            cubic = (e - a) / 6.0 + 0.5 * (b - c)
            out[i, d] = b + t * (linear + t * (square + t * cubic))
    return out
