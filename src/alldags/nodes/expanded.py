"""From the expansion of a child's log-likelihood to a node's problem, which every engine takes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.nodes.build import NodeTerms, raised_probability
from alldags.nodes.problem import LinkedPrior, NodeProblem
from alldags.nodes.quadratic import QuadraticStatistics
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.priors.slabs import LearnedSlab

# On the log-odds (log rate) scale, of standardised terms: narrow slabs lose where a cause is strong, wide ones drop
# confounders, so it is learned; measured in the explanation of yes/no outcomes.
LINK_SLAB = LearnedSlab(median=0.5, spread=1.0, low=0.5 * math.exp(-2.5), high=0.5 * math.exp(2.5), points=7)


def link_scale_prior(prior: Prior) -> Prior:
    """Return the prior of a node that is not normal: a slab that was given applies to its linear predictor as it is."""
    slab = LINK_SLAB if prior.slab is not None and prior.slab == prior.noise.default_slab else prior.slab
    return replace(prior, noise=KnownNoise(1.0), slab=slab)


def expanded_problem(statistics: QuadraticStatistics, terms: NodeTerms, prior: Prior) -> NodeProblem:
    """Return the problem of a child whose log-likelihood was expanded; its evidence is that of the expansion.

    With no rows and the sum of squares ``-2 c`` the constant of known noise, ``n/2 log(s / 2 pi) - s total / 2``, is c.
    """
    stated, log_size = prior.edges_of(np.array(terms.probability), terms.child)
    problem = NodeProblem(
        child=terms.child,
        terms=terms.names,
        gram=statistics.gram,
        cross=statistics.cross,
        total=-2.0 * statistics.log_constant,
        n=0.0,
        probability=stated if terms.raised is None else raised_probability(stated, np.array(terms.raised)),
        settings=(),
        log_size=log_size,
        rows=statistics.rows,
        linked=None if terms.raised is None else LinkedPrior(stated, np.array(terms.raised)),
    )
    return replace(problem, settings=link_scale_prior(prior).settings_of(problem))
