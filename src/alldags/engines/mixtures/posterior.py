"""The normal posterior of `vb` and `em`, given the prior precisions they found."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from alldags.engines.mixtures.node import NodeArrays, residual_rate
from alldags.nodes import Diagnostics, NodePosterior, NodeProblem
from alldags.typing import FloatArray


class NormalPosterior(NodePosterior):
    """Normal coefficients, or normal-gamma coefficients and noise precision, given prior precisions ``w``.

    The coefficients have mean ``m`` and covariance ``A^-1`` times the noise variance, ``A = gram + diag(w)``.

    Parameters
    ----------
    problem, arrays
        The node.
    weight
        ``w``, shape (k,); infinite for a coefficient that is exactly zero.
    mean
        ``m``, shape (k,).
    diagnostics
        Of the engine.
    """

    def __init__(
        self, problem: NodeProblem, arrays: NodeArrays, weight: FloatArray, mean: FloatArray, diagnostics: Diagnostics
    ) -> None:
        self.problem = problem
        self.arrays = arrays
        self.weight = weight
        self.diagnostics = diagnostics
        self._mean = mean

    @property
    def mean(self) -> FloatArray:
        return self._mean

    @property
    def shrinkage(self) -> FloatArray:
        """Share of the data in each coefficient, ``d / (d + w)``, shape (k,): 1 = not shrunk, 0 = pressed to zero.

        ``d`` is the precision that the data alone would give the coefficient if the parents were uncorrelated, ``w``
        the prior precision that the engine found. It ranks edges; it is *not* the probability that an edge is present.
        """
        return shrinkage_weight(np.diag(self.arrays.gram), self.weight)

    @cached_property
    def _scaled_factor(self) -> tuple[FloatArray, FloatArray]:
        """``D = w^-1/2`` and the Cholesky factor of ``D gram D + I``, which exists for infinite weights too."""
        d = 1.0 / np.sqrt(self.weight)
        matrix = self.arrays.gram * np.outer(d, d) + np.eye(len(d))
        return d, np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the coefficients, shape (k, k); infinite if it does not exist."""
        from scipy.linalg import solve_triangular

        d, lower = self._scaled_factor
        half = solve_triangular(lower, np.diag(d), lower=True, check_finite=False)
        inverse = half.T @ half
        scale = 1.0 if self.arrays.known else self.noise_variance
        return np.asarray(scale * inverse if math.isfinite(scale) else np.where(inverse == 0.0, 0.0, math.inf))

    @property
    def second_moment(self) -> FloatArray:
        return np.asarray(self.covariance + np.outer(self.mean, self.mean))

    @cached_property
    def _residual_rate(self) -> float:
        """Rate of the noise precision's gamma factor."""
        return residual_rate(self.arrays, self.mean)

    @property
    def noise_variance(self) -> float:
        if self.arrays.known:
            return 1.0 / self.arrays.noise_precision
        return self._residual_rate / (self.arrays.shape - 1.0) if self.arrays.shape > 1.0 else math.inf

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        from scipy.linalg import solve_triangular

        d, lower = self._scaled_factor
        normals = rng.standard_normal((size, len(d)))
        if self.arrays.known:
            variance = np.full(size, self.noise_variance)
            scale = np.ones(size)
        else:
            scale = variance = self._residual_rate / rng.standard_gamma(self.arrays.shape, size=size)
        noise = solve_triangular(lower, normals.T, lower=True, trans="T", check_finite=False).T
        return np.asarray(self.mean + np.sqrt(scale)[:, None] * d * noise), np.asarray(variance)


def shrinkage_weight(data: FloatArray, prior: FloatArray) -> FloatArray:
    """Return ``data / (data + prior)`` of two precisions, 0 where the prior's is infinite."""
    with np.errstate(invalid="ignore"):
        share: Any = np.where(np.isinf(prior), 0.0, data / (data + prior))
    return np.asarray(share)
