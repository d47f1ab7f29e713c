"""Variables that are categories: what they may be in a graph, and how a child of one is fitted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from alldags.engines.suits import takes_groups
from alldags.errors import AlldagsError, EngineError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.posterior import Engine

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
