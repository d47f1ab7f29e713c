"""alldags: causal effects averaged over every DAG you cannot rule out.

The flow is: table -> `Moments`; `CandidateGraph`, `Prior` and `Moments` -> one problem per node -> engine -> one
posterior per node -> `Posterior` -> `Effect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.lazy import attach

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from alldags import datasets, engines, priors, records, schema, sites
    from alldags.answers.settings import rule, shift
    from alldags.data.files import read_table
    from alldags.data.imputed import Imputed
    from alldags.data.moments import Moments, read_moments
    from alldags.effects.hidden.strength import Strength
    from alldags.errors import AlldagsError, AlldagsWarning
    from alldags.families.categorical import Categorical
    from alldags.families.count import Poisson
    from alldags.families.gamma import Gamma
    from alldags.families.hurdle import Hurdle
    from alldags.families.log_normal import LogNormal
    from alldags.families.ordered import Ordered
    from alldags.families.student import Student
    from alldags.families.survival import Survival
    from alldags.families.yes_no import Bernoulli
    from alldags.fitting import fit, load
    from alldags.front import effect
    from alldags.graph.candidate import CandidateGraph
    from alldags.graph.io import parse_graph, read_graph, write_graph
    from alldags.graph.terms import Terms
    from alldags.priors.prior import Prior
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

# Names resolve on first use, so that `import alldags` does not load numba, scipy and networkx.
_HOME = {
    "datasets": "alldags.datasets",
    "engines": "alldags.engines",
    "priors": "alldags.priors",
    "records": "alldags.records",
    "schema": "alldags.schema",
    "sites": "alldags.sites",
    "AlldagsError": "alldags.errors",
    "AlldagsWarning": "alldags.errors",
    "Bernoulli": "alldags.families.yes_no",
    "CandidateGraph": "alldags.graph.candidate",
    "Categorical": "alldags.families.categorical",
    "Effect": "alldags.results.effect",
    "Gamma": "alldags.families.gamma",
    "Hurdle": "alldags.families.hurdle",
    "Imputed": "alldags.data.imputed",
    "LogNormal": "alldags.families.log_normal",
    "Moments": "alldags.data.moments",
    "Ordered": "alldags.families.ordered",
    "Poisson": "alldags.families.count",
    "Posterior": "alldags.results.posterior",
    "Prior": "alldags.priors.prior",
    "Strength": "alldags.effects.hidden.strength",
    "Student": "alldags.families.student",
    "Survival": "alldags.families.survival",
    "Terms": "alldags.graph.terms",
    "effect": "alldags.front",
    "fit": "alldags.fitting",
    "load": "alldags.fitting",
    "parse_graph": "alldags.graph.io",
    "read_graph": "alldags.graph.io",
    "read_moments": "alldags.data.moments",
    "read_table": "alldags.data.files",
    "rule": "alldags.answers.settings",
    "shift": "alldags.answers.settings",
    "write_graph": "alldags.graph.io",
}

__all__ = [
    "AlldagsError",
    "AlldagsWarning",
    "Bernoulli",
    "CandidateGraph",
    "Categorical",
    "Effect",
    "Gamma",
    "Hurdle",
    "Imputed",
    "LogNormal",
    "Moments",
    "Ordered",
    "Poisson",
    "Posterior",
    "Prior",
    "Strength",
    "Student",
    "Survival",
    "Terms",
    "__version__",
    "datasets",
    "effect",
    "engines",
    "fit",
    "load",
    "parse_graph",
    "priors",
    "read_graph",
    "read_moments",
    "read_table",
    "records",
    "rule",
    "schema",
    "shift",
    "sites",
    "write_graph",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
