"""Variables that are categories: what they may be in a graph, and how a child of one is fitted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from alldags.engines.suits import takes_groups
from alldags.errors import AlldagsError, EngineError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import NodeTerms, build, column_terms
from alldags.nodes.data import WorkingData
from alldags.nodes.onto import ParentsPosterior, RootCategory
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.priors.prior import Prior

_ADVICE = "compare two levels: keep their rows alone, or make a 0/1 column of one level against the others"


def check_categories(names: Collection[str], graphs: Sequence[CandidateGraph], engine: Engine) -> None:
    """Refuse, by name, engines that know single columns only, and categories whose place in the order is open."""
    if not names:
        return
    first = next(iter(names))
    if not takes_groups(engine):
        raise EngineError(
            f"{first!r} is a category, which engine={engine.name!r} does not take; use engine='auto', 'exact' or "
            "'mcmc', or make 0/1 columns of its levels"
        )
    for graph in graphs:
        for name in names:
            if any(name in block for block in graph.blocks):
                raise AlldagsError(
                    f"{name!r} is a category, and its place in the order is open: give every edge at it a direction"
                )


def category_question(name: str, role: str, levels: int) -> AlldagsError:
    """Say that no effect is about a category."""
    return AlldagsError(
        f"the {role} {name!r} is a category with {levels} levels, which no single number moves; {_ADVICE}"
    )


def fit_with_categories(
    data: WorkingData, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator
) -> NodePosterior:
    """Fit a node that is a category, or has one among its candidate causes."""
    child = terms.child
    if child in data.categories:
        if terms.names:
            shown = ", ".join(map(repr, terms.names[:4]))
            raise AlldagsError(
                f"{child!r} is a category, which no straight line describes, and {shown} may act on it: leave out the "
                f"edges into it, or {_ADVICE}"
            )
        own = next(iter(data.categories[child]))
        plain = build(data.of(child), replace(terms, child=own), prior)
        return RootCategory(replace(plain, child=child))
    problem = build(data.of(child), column_terms(terms, data.categories), prior)
    return ParentsPosterior(engine(problem, rng), terms.names)
