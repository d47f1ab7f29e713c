"""One hyperparameter setting of a node's problem as arrays: the conjugate system all parent sets share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class ConjugateSystem:
    """One setting of a problem as arrays: every parent set ``P`` has the log weight

    ``log_constant + sum(log_factor[P]) + log_size[free parents in P] - 1/2 log|A_P| + f(q)``, ``q = b_P' A_P^-1 b_P``,

    (without the determinant for g-prior slabs), where ``f(q) = q/2`` for known noise and
    ``f(q) = -shape * log(rate + (total - q)/2)`` for unknown noise. The log weights of all parent sets sum (after
    exponentiation) to the evidence.

    Parameters
    ----------
    precision, shift
        ``A`` (k, k) and ``b`` (k,).
    log_factor
        Prior odds and the slab's share of the normalising constant, shape (k,).
    log_size
        Shape (free + 1,); zeros for independent edges.
    log_constant
        What all parent sets have in common.
    has_determinant
        False for g-prior slabs.
    known_noise
        Which of the two forms of f applies.
    total, shape, rate
        The numbers of f for unknown noise: ``total`` is the child's sum of squares, ``shape = a0 + n/2``,
        ``rate = b0``.
    """

    precision: FloatArray
    shift: FloatArray
    log_factor: FloatArray
    log_size: FloatArray
    log_constant: float
    has_determinant: bool
    known_noise: bool
    total: float
    shape: float
    rate: float

    @property
    def degrees_of_freedom(self) -> float:
        """Of the coefficients' Student-t posterior; infinite for known noise."""
        return math.inf if self.known_noise else 2.0 * self.shape


_RIDGE = 1e-10  # relative; keeps a g-prior slab finite when parents are collinear


def conjugate_system(problem: NodeProblem) -> ConjugateSystem:
    """Return the conjugate system of a problem with exactly one setting."""
    (setting,) = problem.settings
    noise = setting.noise.numbers(problem.n, problem.total)
    precision, slab_factor = _precision(problem, setting, noise.precision)
    free_probability = problem.probability[~problem.certain]
    constant = setting.log_weight
    if problem.log_size is None:
        constant += float(np.log1p(-free_probability).sum())
    return ConjugateSystem(
        precision=precision,
        shift=noise.precision * problem.cross,
        log_factor=problem.log_odds + slab_factor,
        log_size=np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size,
        log_constant=constant + noise.log_constant,
        has_determinant=setting.slab == "independent",
        known_noise=noise.known,
        total=problem.total,
        shape=noise.shape,
        rate=noise.rate,
    )


def _precision(problem: NodeProblem, setting: Setting, s: float) -> tuple[FloatArray, float]:
    """Return ``A`` and the slab's factor per parent present."""
    tau = setting.slab_variance
    if setting.slab == "independent":
        return s * problem.gram + np.eye(problem.k) / tau, -0.5 * math.log(tau)
    ridge = np.diag(_RIDGE * np.diag(problem.gram))
    return s * (1.0 + 1.0 / tau) * (problem.gram + ridge), -0.5 * math.log1p(tau)
