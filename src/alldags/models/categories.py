"""Variables that are categories: what may be asked about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from alldags.errors import AlldagsError
from alldags.graph.candidate import CandidateGraph
from alldags.wording import option


def category_outcome(name: str, levels: int) -> AlldagsError:
    """Say that no effect is on a category."""
    return AlldagsError(
        f"the outcome {name!r} is a category with {levels} levels, which have no mean; if something may act on it, "
        f"say {option('families', {name: 'categorical'})} to ask how probable each level is"
    )


def category_between(name: str, treatment: str, outcome: str) -> AlldagsError:
    """Say that no effect passes through a category."""
    return AlldagsError(
        f"{name!r} is a category, which no straight line describes, and lies between {treatment!r} and {outcome!r}: "
        f"give its levels probabilities, {option('families', {name: 'categorical'})}, or leave out the edges into it"
    )


def category_on_block(name: str, others: Sequence[str]) -> AlldagsError:
    """Say that the effect of a category does not run through variables whose order is open."""
    return AlldagsError(
        f"{name!r} is a category and acts through variables whose order is open ({', '.join(map(repr, others))}); "
        "give these an order to ask for its effect"
    )


def can_be_category(name: str, graphs: Sequence[CandidateGraph]) -> bool:
    """Tell whether a cause could be a category: in all graphs with the same causes, and a known place in the order."""
    return _has_same_causes(name, graphs) and not any(name in block for graph in graphs for block in graph.blocks)


def _has_same_causes(name: str, graphs: Sequence[CandidateGraph]) -> bool:
    return len({frozenset((cause, graph.edges[cause, name]) for cause in graph.parents(name)) for graph in graphs}) == 1


def check_same_causes(names: Collection[str], graphs: Sequence[CandidateGraph]) -> None:
    """Refuse graphs that disagree about the causes of a category, for which it gives no evidence."""
    for name in names:
        if not _has_same_causes(name, graphs):
            raise AlldagsError(
                f"the candidate graphs disagree about what may act on {name!r}, a category, whose regression gives no "
                f"evidence to weigh them by: say {option('families', {name: 'categorical'})}, or give all graphs the "
                "same edges into it"
            )
