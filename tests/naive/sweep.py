"""Sweeping a matrix on a set of rows at once, by an explicit inverse."""

from __future__ import annotations

import numpy as np


def swept_by_inversion(precision: np.ndarray, shift: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the swept matrix (k, k), its linear column (k,) and the quadratic form, from an explicit inverse."""
    k = mask.size
    inverse = np.linalg.inv(precision[np.ix_(mask, mask)])
    swept = np.zeros((k, k))
    swept[np.ix_(mask, mask)] = -inverse
    swept[np.ix_(mask, ~mask)] = inverse @ precision[np.ix_(mask, ~mask)]
    swept[np.ix_(~mask, mask)] = swept[np.ix_(mask, ~mask)].T
    swept[np.ix_(~mask, ~mask)] = (
        precision[np.ix_(~mask, ~mask)] - precision[np.ix_(~mask, mask)] @ inverse @ precision[np.ix_(mask, ~mask)]
    )
    linear = np.where(mask, 0.0, shift)
    linear[mask] = inverse @ shift[mask]
    linear[~mask] -= precision[np.ix_(~mask, mask)] @ linear[mask]
    return swept, linear, shift[mask] @ linear[mask]
