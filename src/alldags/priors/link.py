"""The prior under which it is looked what drives a treatment."""

from __future__ import annotations

import math
from dataclasses import replace

from alldags.priors.edges import BetaBinomial
from alldags.priors.noise import UnknownNoise
from alldags.priors.prior import Prior
from alldags.priors.slabs import LearnedSlab

_SLAB = LearnedSlab(low=math.exp(-6.0), points=11)  # the step of the default grid, further down


def link_prior(prior: Prior) -> Prior:
    """Return the prior under which a node's own causes are looked for: slab and edge probability learned.

    Stated edge probabilities count as odds relative to each other.
    """
    noise = UnknownNoise() if prior.noise.ties_directions else prior.noise
    return replace(prior, slab_variance=None, slab=_SLAB, noise=noise, edges=BetaBinomial(relative=True))
