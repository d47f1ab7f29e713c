"""From a published covariance matrix to `Moments`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alldags import checks
from alldags.data.columns import check_names
from alldags.data.record import MomentsRecord
from alldags.errors import DataError
from alldags.typing import FloatArray

_SYMMETRY = 1e-8  # of the largest entry pair's own scale: what printing and reading 9 digits leaves
_LEAST, _MOST = 1e-280, 1e280
_NEGATIVE = 1e-8  # of the largest eigenvalue


def covariance_moments(
    covariance: Any, n: int, mean: Sequence[float] | None = None, names: Sequence[str] | None = None
) -> MomentsRecord:
    """Build moments from a covariance or correlation matrix with divisor ``n - 1``.

    Parameters
    ----------
    covariance
        Shape (m, m); a labelled frame brings its own names.
    n
        Number of rows the matrix was computed from, at least 2.
    mean
        Shape (m,); zeros if not given.
    names
        Needed if `covariance` has no labels.

    Examples
    --------
    >>> from alldags.data.covariance import covariance_moments
    >>> covariance_moments([[1.0, 0.5], [0.5, 1.0]], n=11, names=["x", "y"]).scatter.tolist()
    [[10.0, 5.0], [5.0, 10.0]]
    """
    labels, matrix = _labelled(covariance, names)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"a covariance matrix must be square, got shape {matrix.shape}")
    labels = check_names(labels)
    if len(labels) != len(matrix):
        raise DataError(f"{len(labels)} names were given for a covariance matrix of {len(matrix)} variables")
    if not checks.is_number(n) or not 2 <= n < np.inf:
        raise DataError(f"n must be the number of rows behind the matrix, at least 2, got {n!r}")
    _check_finite(matrix, labels)
    _check_symmetric(matrix, labels)
    _check_semidefinite(matrix)
    _check_size(matrix, labels)
    scatter = (n - 1) * (matrix + matrix.T) / 2
    return MomentsRecord(n, _checked_mean(mean, labels), scatter, labels)


def _labelled(covariance: Any, names: Sequence[str] | None) -> tuple[Sequence[Any], FloatArray]:
    own = getattr(covariance, "columns", None)
    if own is not None and not callable(own):
        if names is not None and list(names) != list(own):
            raise DataError("names= is for matrices without labels; this one brings its own column names")
        names = list(own)
        index = getattr(covariance, "index", None)
        if index is not None and list(index) != names and list(index) != list(range(len(names))):
            raise DataError(f"row and column labels of the covariance matrix differ: {list(index)} and {names}")
        covariance = covariance.to_numpy()
    if names is None:
        raise DataError("a covariance matrix without labels needs names=[...]")
    return names, _numbers(covariance, "a covariance matrix")


def _numbers(values: Any, what: str) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be made of numbers: {error}") from error


def _check_finite(matrix: FloatArray, names: tuple[str, ...]) -> None:
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = bad[0]
        raise DataError(f"the covariance of {names[i]!r} and {names[j]!r} is {matrix[i, j]}; it must be finite")


def _check_symmetric(matrix: FloatArray, names: tuple[str, ...]) -> None:
    spread = np.sqrt(np.abs(np.diag(matrix)))
    excess = np.abs(matrix - matrix.T) - _SYMMETRY * (np.outer(spread, spread) + np.abs(matrix))
    if (excess > 0).any():
        i, j = np.unravel_index(np.argmax(excess), excess.shape)
        raise DataError(
            f"a covariance matrix must be symmetric, but ({names[i]!r}, {names[j]!r}) is {matrix[i, j]:g} and "
            f"({names[j]!r}, {names[i]!r}) is {matrix[j, i]:g}"
        )


def _check_size(matrix: FloatArray, names: tuple[str, ...]) -> None:
    for name, variance in zip(names, np.diag(matrix), strict=True):
        if variance > 0 and not _LEAST <= variance <= _MOST:
            raise DataError(
                f"the variance of {name!r} is {variance:.3g}; computations need one from {_LEAST:g} to {_MOST:g}: give "
                "the variable other units"
            )


def _check_semidefinite(matrix: FloatArray) -> None:
    """Check in correlation units, where the tolerance does not depend on the units of the variables."""
    variance = np.diag(matrix)
    spread = np.sqrt(np.where(variance > 0, variance, 1.0))
    values = np.linalg.eigvalsh(matrix / np.outer(spread, spread))
    if len(values) and values[0] < -_NEGATIVE * max(values[-1], 1.0):
        raise DataError(
            "a covariance matrix must be positive semidefinite, but the smallest eigenvalue (in correlation units) is "
            f"{values[0]:.3g}; was it computed pairwise, or rounded too far?"
        )


def _checked_mean(mean: Sequence[float] | None, names: tuple[str, ...]) -> FloatArray:
    if mean is None:
        return np.zeros(len(names))
    values = _numbers(mean, "mean")
    if values.shape != (len(names),):
        raise DataError(f"{len(names)} variables need a mean of shape ({len(names)},), got {values.shape}")
    if not np.isfinite(values).all():
        raise DataError(f"the mean of {names[int(np.argmin(np.isfinite(values)))]!r} is not finite")
    return values
