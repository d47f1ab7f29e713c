"""`fit_pair`: from the numbers of a pair to its posterior, summed exactly or, with many doubtful terms, sampled."""

from __future__ import annotations

import numpy as np

from alldags.nodes.posterior import Diagnostics
from alldags.pairs.asked import fit_asked
from alldags.pairs.grid import search
from alldags.pairs.leaves import leaves_of
from alldags.pairs.posterior import PairPosterior
from alldags.pairs.problem import PairProblem

MOST_SUMMED = 12  # doubtful terms


def fit_pair(problem: PairProblem, rng: np.random.Generator) -> PairPosterior:
    """Return the posterior of a pair."""

    def fit(one: PairProblem) -> PairPosterior:
        return _fit(one, rng)

    return fit_asked(problem, fit) if problem.direct else fit(problem)


def _fit(problem: PairProblem, rng: np.random.Generator) -> PairPosterior:
    """Return the posterior of a pair, the asked edge under a slab as all others."""
    if problem.m > MOST_SUMMED:
        from alldags.pairs.sampled import sample_pair

        return sample_pair(problem, rng)
    grid = search(problem)
    return PairPosterior(leaves_of(problem, grid), grid.hidden, grid.log_evidence, Diagnostics("pairs"))
