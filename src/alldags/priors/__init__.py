"""Priors: what is believed before the data, each one class with its settings, its checks and its behaviour.

`prior.Prior` holds one prior of the noise (`noise`), one of the coefficients (`slabs`) and one of the edges (`edges`);
each turns itself into numbers for one node, with the grids of `grid`. Users find them all as ``alldags.priors.<name>``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.lazy import attach

if TYPE_CHECKING:
    from alldags.priors.edges import BetaBinomial, EqualEdges
    from alldags.priors.mixtures import NEG, Horseshoe, Laplace, StudentT
    from alldags.priors.noise import EquivalentNoise, KnownNoise, StudentNoise, UnknownNoise
    from alldags.priors.prior import Prior
    from alldags.priors.slabs import GPrior, HyperG, LearnedSlab, ZellnerSiow

_HOME = {
    "BetaBinomial": "alldags.priors.edges",
    "EqualEdges": "alldags.priors.edges",
    "EquivalentNoise": "alldags.priors.noise",
    "GPrior": "alldags.priors.slabs",
    "Horseshoe": "alldags.priors.mixtures",
    "HyperG": "alldags.priors.slabs",
    "KnownNoise": "alldags.priors.noise",
    "Laplace": "alldags.priors.mixtures",
    "LearnedSlab": "alldags.priors.slabs",
    "NEG": "alldags.priors.mixtures",
    "Prior": "alldags.priors.prior",
    "StudentNoise": "alldags.priors.noise",
    "StudentT": "alldags.priors.mixtures",
    "UnknownNoise": "alldags.priors.noise",
    "ZellnerSiow": "alldags.priors.slabs",
}

__all__ = [
    "NEG",
    "BetaBinomial",
    "EqualEdges",
    "EquivalentNoise",
    "GPrior",
    "Horseshoe",
    "HyperG",
    "KnownNoise",
    "Laplace",
    "LearnedSlab",
    "Prior",
    "StudentNoise",
    "StudentT",
    "UnknownNoise",
    "ZellnerSiow",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
