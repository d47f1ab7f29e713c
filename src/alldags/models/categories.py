"""Variables that are categories: what they may be in a graph, and how a child of one is fitted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from alldags.engines.auto import Auto
from alldags.errors import AlldagsError, EngineError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import NodeTerms
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.units import RootCategory, fit_units, unit_problem
from alldags.priors.prior import Prior

_ENGINES = ("auto", "exact", "mcmc")
_ADVICE = "compare two levels: keep their rows alone, or make a 0/1 column of one level against the others"


def check_categories(names: Collection[str], graphs: Sequence[CandidateGraph], engine: Engine) -> None:
    """Refuse, by name, engines that do not weigh regressions, and categories whose place in the order is open."""
    if not names:
        return
    first = next(iter(names))
    if engine.name not in _ENGINES:
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
        _check_outside_blocks(names, graph)


def _check_outside_blocks(names: Collection[str], graph: CandidateGraph) -> None:
    """Refuse a category that may act on a variable whose place in the order is open."""
    for block in graph.blocks:
        for child in block:
            for name in names:
                if (name, child) in graph.edges:
                    raise AlldagsError(
                        f"{name!r} is a category and may act on {child!r}, whose place in the order is open: give "
                        f"{', '.join(map(repr, block))} an order, or make 0/1 columns of the levels of {name!r}, with "
                        "a gap in every one of them where the level is not known"
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
        plain = unit_problem(data.of(child), replace(terms, child=own), prior, {})
        return RootCategory(replace(plain, child=child))
    chosen = replace(engine, max_certified=0) if isinstance(engine, Auto) else engine
    return fit_units(data.of(child), terms, prior, data.categories, lambda problem: chosen(problem, rng))
