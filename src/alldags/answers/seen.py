"""What rows say of an effect by way of one regression: by its predictor or, of a category, by several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alldags.families.categorical import Categorical
from alldags.typing import FloatArray


class Seen(NamedTuple):
    """What some rows say: moves (2, rows), and slope, information and variance of their predictors, (rows,) each."""

    psi: FloatArray
    slope: FloatArray
    information: FloatArray
    spread: FloatArray

    @property
    def square(self) -> FloatArray:
        """What the noise of each row moves the effect by, squared, shape (rows,)."""
        return np.asarray(self.slope**2 * self.information)

    @property
    def inside(self) -> FloatArray:
        """Leverage of each row, shape (rows,)."""
        return np.asarray(self.information * self.spread)

    def weighed(self, weight: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squares by weight (rows,), and products of the rows' vectors with the columns, (rows, p)."""
        own = weight * self.information * self.slope
        return np.asarray(weight * self.information * self.slope**2), np.asarray(design * own[:, None])


class SeenLevels(NamedTuple):
    """The same with m predictors: slopes (rows, m), information and covariance (rows, m, m)."""

    psi: FloatArray
    slope: FloatArray
    information: FloatArray
    spread: FloatArray

    @property
    def square(self) -> FloatArray:
        """What the noise of each row moves the effect by, squared, shape (rows,)."""
        return np.asarray(np.einsum("na,nab,nb->n", self.slope, self.information, self.slope))

    @property
    def inside(self) -> FloatArray:
        """Leverage of each row, shape (rows,)."""
        return np.asarray(np.einsum("nab,nab->n", self.information, self.spread))

    def weighed(self, weight: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the squares by weight (rows,), and products of the rows' vectors with the columns, (rows, p)."""
        own = weight[:, None] * np.einsum("nab,nb->na", self.information, self.slope)
        return weight * self.square, (design[:, :, None] * own[:, None, :]).reshape(len(design), -1)


def seen_levels(
    family: Categorical,
    design: FloatArray,
    child: FloatArray,
    mean: FloatArray,
    square: FloatArray,
    slope: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> SeenLevels:
    """Return what rows of a category say, whose log-likelihoods are expanded to second order about their means.

    Parameters
    ----------
    family, child
        Of the category, and its codes, shape (rows,).
    design
        A one and the columns, shape (rows, k + 1).
    mean, square, slope
        Of the coefficients (p,), their products (p, p), and how the effect answers to them (p,), with p = (k + 1) m.
    first, second
        Covariances of the effect with the coefficients, shape (2, p), and with their products, (2, p, p).
    """
    m, size = family.predictors, design.shape[1]

    def of(vector: FloatArray) -> FloatArray:
        return np.asarray(design @ vector.reshape(size, m))

    def forms(matrix: FloatArray) -> FloatArray:
        half = (design @ matrix.reshape(size, -1)).reshape(len(design), m, size, m)
        return np.asarray(np.einsum("najb,nj->nab", half, design))

    middle, psi = of(mean), np.empty((2, len(child)))
    gradient, information = family.derivatives(child, middle)
    for half in (0, 1):
        moved = of(first[half])
        curved = forms(second[half]) - 2.0 * middle[:, :, None] * moved[:, None, :]  # the information is symmetric
        psi[half] = np.einsum("na,na->n", gradient, moved) - 0.5 * np.einsum("nab,nab->n", information, curved)
    spread = forms(square) - middle[:, :, None] * middle[:, None, :]
    return SeenLevels(psi, of(slope), information, spread)
