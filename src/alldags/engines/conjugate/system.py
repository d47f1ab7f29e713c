"""One hyperparameter setting of a node's problem as arrays: the conjugate system all parent sets share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alldags.engines.conjugate.noise import noise_term
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.noise import NoiseTerm


@dataclass(frozen=True, eq=False, kw_only=True)
class ConjugateTerms:
    """One setting of a problem as arrays, but for cross-products: every parent set ``P`` has the log weight

    ``log_constant + sum(log_factor[P]) + log_size[groups] - 1/2 log|A_P| + f(q, size)``, ``q = b_P' A_P^-1 b_P``,

    with `size` the number of uncertain columns in P, `groups` that of their groups, and the noise function f of
    `engines.conjugate.noise`; without the determinant for g-prior slabs. The log weights of all parent sets sum (after
    exponentiation) to the evidence. Off its diagonal ``A`` is a multiple of the cross-products.

    Parameters
    ----------
    factor, scale
        What ``A`` is off its diagonal, over the cross-products, and its diagonal, shape (k,).
    shift
        ``b`` (k,).
    log_factor
        Prior odds, at the head of each group, and the slab's share of the normalising constant, shape (k,).
    log_size
        Shape (free + 1,); zeros for independent edges, unless the noise prior depends on the number of parents.
    log_columns
        What a noise prior that depends on the number of columns adds to that, where groups have several of them: by
        `size`, shape (uncertain columns + 1,). Else it is in `log_size`, and this has shape (1,).
    log_constant
        What all parent sets have in common.
    has_determinant
        False for g-prior slabs.
    noise
        The numbers of f.
    certain
        Which parents are certain, shape (k,).
    heads
        Which columns count for their group, shape (k,).
    """

    factor: float
    scale: FloatArray
    shift: FloatArray
    log_factor: FloatArray
    log_size: FloatArray
    log_columns: FloatArray
    log_constant: float
    has_determinant: bool
    noise: NoiseTerm
    certain: BoolArray
    heads: BoolArray

    def size(self, masks: BoolArray) -> IntArray:
        """Return the number of uncertain columns in each set; `masks` has shape (..., k)."""
        return np.asarray((masks & ~self.certain).sum(axis=-1))

    def log_sizes(self, mask: BoolArray) -> float:
        """Return what the numbers of uncertain groups and columns in a set, shape (k,), add to its log weight."""
        uncertain = mask & ~self.certain
        value = float(self.log_size[(uncertain & self.heads).sum()])
        return value if len(self.log_columns) == 1 else value + float(self.log_columns[uncertain.sum()])


@dataclass(frozen=True, eq=False, kw_only=True)
class ConjugateSystem(ConjugateTerms):
    """The same with all cross-products: `precision` is ``A``, shape (k, k)."""

    precision: FloatArray


_RIDGE = 1e-10  # relative; keeps a g-prior slab finite when parents are collinear


def conjugate_system(problem: NodeProblem) -> ConjugateSystem:
    """Return the conjugate system of a problem with exactly one setting."""
    terms = conjugate_terms(problem, np.diag(problem.gram))
    return ConjugateSystem(precision=_precision(problem, terms.factor), **vars(terms))


def conjugate_terms(problem: NodeProblem, diagonal: FloatArray) -> ConjugateTerms:
    """Return all of a problem with exactly one setting but its cross-products, whose `diagonal` has shape (k,)."""
    (setting,) = problem.settings
    problem = problem.settled()
    noise = setting.noise.numbers(problem.n, problem.total, problem.k, setting.slab_variance)
    factor, scale, slab_factor = _slab_terms(setting, noise.precision, diagonal)
    constant = setting.log_weight
    if problem.log_size is None:
        constant += float(np.log1p(-problem.probability[problem.uncertain]).sum())
    certain = int(problem.certain.sum())
    if noise.log_by_parents is not None:
        constant += float(noise.log_by_parents[certain])  # what the certain parents add to every set
    log_size, log_columns = _log_sizes(problem, noise.log_by_parents, certain)
    return ConjugateTerms(
        factor=factor,
        scale=scale,
        shift=noise.precision * problem.cross,
        log_factor=_log_odds(problem) + slab_factor,
        log_size=log_size,
        log_columns=log_columns,
        log_constant=constant + noise.log_constant,
        has_determinant=setting.slab == "independent",
        noise=noise_term(noise, problem.total, certain),
        certain=problem.certain,
        heads=problem.heads,
    )


def _log_odds(problem: NodeProblem) -> FloatArray:
    """Return the log prior odds, shape (k,): those of a group at its head."""
    return np.where(problem.heads, problem.log_odds, 0.0) if problem.has_groups else problem.log_odds


def _log_sizes(problem: NodeProblem, by_parents: FloatArray | None, certain: int) -> tuple[FloatArray, FloatArray]:
    """Return what the number of uncertain groups adds to the log weight, and what that of columns does."""
    prior = np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size
    if by_parents is None:
        return prior, np.zeros(1)
    noise = by_parents[certain:] - by_parents[certain]
    return (prior, noise) if problem.has_groups else (prior + noise, np.zeros(1))


def _slab_terms(setting: Setting, s: float, diagonal: FloatArray) -> tuple[float, FloatArray, float]:
    """Return ``A`` off its diagonal over the cross-products, its diagonal, and the slab's factor per parent present."""
    tau = setting.slab_variance
    if setting.slab == "independent":
        return s, s * diagonal + 1.0 / tau, -0.5 * math.log(tau)
    factor = s * (1.0 + 1.0 / tau)
    return factor, factor * (diagonal + _RIDGE * diagonal), -0.5 * math.log1p(tau)


def _precision(problem: NodeProblem, factor: float) -> FloatArray:
    """Return ``A``, shape (k, k)."""
    (setting,) = problem.settings
    if setting.slab == "independent":
        return np.asarray(factor * problem.gram + np.eye(problem.k) / setting.slab_variance)
    return np.asarray(factor * (problem.gram + np.diag(_RIDGE * np.diag(problem.gram))))
