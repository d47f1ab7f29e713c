"""alldags: causal effects averaged over every DAG you cannot rule out.

The flow is: table -> `Moments`; `CandidateGraph`, `Prior` and `Moments` -> one problem per node -> engine -> one
posterior per node -> `Posterior` -> `Effect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.lazy import attach

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from alldags import datasets, engines
    from alldags.data.files import read_table
    from alldags.data.imputed import Imputed
    from alldags.data.moments import Moments, read_moments
    from alldags.effects.hidden.strength import Strength
    from alldags.errors import AlldagsError, AlldagsWarning
    from alldags.families.count import Poisson
    from alldags.families.student import Student
    from alldags.families.yes_no import Bernoulli
    from alldags.fitting import fit, load
    from alldags.graph.candidate import CandidateGraph
    from alldags.graph.io import parse_graph, read_graph, write_graph
    from alldags.graph.terms import Terms
    from alldags.priors.edges import BetaBinomial, EqualEdges
    from alldags.priors.mixtures import NEG, Horseshoe, Laplace, StudentT
    from alldags.priors.noise import EquivalentNoise, KnownNoise, StudentNoise, UnknownNoise
    from alldags.priors.prior import Prior
    from alldags.priors.slabs import GPrior, HyperG, LearnedSlab, ZellnerSiow
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior
    from alldags.results.sites import fit_sites, site_reply
    from alldags.show.schema import json_schema

# Names resolve on first use, so that `import alldags` does not load numba, scipy and networkx.
_HOME = {
    "datasets": "alldags.datasets",
    "engines": "alldags.engines",
    "AlldagsError": "alldags.errors",
    "AlldagsWarning": "alldags.errors",
    "Bernoulli": "alldags.families.yes_no",
    "BetaBinomial": "alldags.priors.edges",
    "CandidateGraph": "alldags.graph.candidate",
    "Effect": "alldags.results.effect",
    "EqualEdges": "alldags.priors.edges",
    "EquivalentNoise": "alldags.priors.noise",
    "GPrior": "alldags.priors.slabs",
    "Horseshoe": "alldags.priors.mixtures",
    "HyperG": "alldags.priors.slabs",
    "Imputed": "alldags.data.imputed",
    "KnownNoise": "alldags.priors.noise",
    "Laplace": "alldags.priors.mixtures",
    "LearnedSlab": "alldags.priors.slabs",
    "Moments": "alldags.data.moments",
    "NEG": "alldags.priors.mixtures",
    "Poisson": "alldags.families.count",
    "Posterior": "alldags.results.posterior",
    "Prior": "alldags.priors.prior",
    "Strength": "alldags.effects.hidden.strength",
    "Student": "alldags.families.student",
    "StudentNoise": "alldags.priors.noise",
    "StudentT": "alldags.priors.mixtures",
    "Terms": "alldags.graph.terms",
    "UnknownNoise": "alldags.priors.noise",
    "ZellnerSiow": "alldags.priors.slabs",
    "fit": "alldags.fitting",
    "fit_sites": "alldags.results.sites",
    "json_schema": "alldags.show.schema",
    "load": "alldags.fitting",
    "parse_graph": "alldags.graph.io",
    "read_graph": "alldags.graph.io",
    "read_moments": "alldags.data.moments",
    "read_table": "alldags.data.files",
    "site_reply": "alldags.results.sites",
    "write_graph": "alldags.graph.io",
}

__all__ = [
    "NEG",
    "AlldagsError",
    "AlldagsWarning",
    "Bernoulli",
    "BetaBinomial",
    "CandidateGraph",
    "Effect",
    "EqualEdges",
    "EquivalentNoise",
    "GPrior",
    "Horseshoe",
    "HyperG",
    "Imputed",
    "KnownNoise",
    "Laplace",
    "LearnedSlab",
    "Moments",
    "Poisson",
    "Posterior",
    "Prior",
    "Strength",
    "Student",
    "StudentNoise",
    "StudentT",
    "Terms",
    "UnknownNoise",
    "ZellnerSiow",
    "__version__",
    "datasets",
    "engines",
    "fit",
    "fit_sites",
    "json_schema",
    "load",
    "parse_graph",
    "read_graph",
    "read_moments",
    "read_table",
    "site_reply",
    "write_graph",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
