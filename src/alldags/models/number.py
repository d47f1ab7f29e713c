"""How many of very many candidate causes act on a variable, where nobody said: that number is learned.

Even odds are harmless among twenty candidates. Among a thousand they expect five hundred causes, more than most tables
have rows for. So where a regression has more than `MOST` candidates of even odds that nobody stated, the probability
of their edges is one unknown number, uniform a priori (`BetaBinomial`), and it is integrated out inside the node.

A link raises the odds of single candidates relative to the others. Curves come on top of lines, and some probabilities
may have been stated: neither is a function of the number of causes. There the candidates have the posterior mean of
that unknown number, given the regression in which it is integrated out, and all else is as it always is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import NodeTerms
from alldags.nodes.copies import distinct_among
from alldags.nodes.posterior import NodePosterior
from alldags.notes import Note
from alldags.priors.edges import BetaBinomial
from alldags.priors.prior import Prior
from alldags.text import some
from alldags.wording import either

MOST = 60  # candidates of even odds that nobody stated, up to which they have these
TENTH = 0.1  # of the rows: causes that are expected a priori without a word


def uncounted(graph: CandidateGraph, prior: Prior, child: str) -> frozenset[str]:
    """Return the candidate causes of a child of which it is learned how many act on it; none where that was said.

    A prior without a slab of its own, such as ``Prior.paper()`` or that of open directions, learns nothing.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.models.number import uncounted
    >>> names = [f"x{i}" for i in range(100)]
    >>> graph = ad.CandidateGraph.from_tiers([names, ["y"]])
    >>> len(uncounted(graph, ad.Prior(), "y")), len(uncounted(graph, ad.Prior.paper(), "y"))
    (100, 0)
    >>> len(uncounted(ad.CandidateGraph.from_tiers([names, ["y"]], 0.5), ad.Prior(), "y"))
    0
    """
    if prior.edges is not None or prior.coefficients is not None or prior.slab is None:
        return frozenset()
    if len(graph.component(child)) > 1 or any(child in pair for pair in graph.hidden):
        return frozenset()
    found = frozenset(name for name in graph.parents(child) if (name, child) in graph.unstated)
    return found if len(found) > MOST else frozenset()


def expects_few(graph: CandidateGraph, prior: Prior, child: str, rows: float) -> bool:
    """Tell whether the number of a child's causes is learned, or expected to be small beside the rows."""
    if prior.edges is not None or uncounted(graph, prior, child):
        return True
    return sum(graph.edges[name, child] for name in graph.parents(child)) <= TENTH * rows


def learning(prior: Prior) -> Prior:
    """Return the prior under which the number of causes is learned; stated probabilities are odds relative to it."""
    return replace(prior, edges=BetaBinomial(relative=True))


def is_one_number(terms: NodeTerms, names: Collection[str]) -> bool:
    """Tell whether the number of some causes is learned, and is all that is uncertain about edges."""
    others = (p for name, p in zip(terms.names, terms.probability, strict=True) if name not in names)
    return bool(names) and all(p == 1.0 for p in others)


def with_share(terms: NodeTerms, names: Collection[str], node: NodePosterior) -> NodeTerms:
    """Return the terms in which some causes have the mean of their common probability, as found in a regression.

    With m of them, of which c are present, that probability has the posterior Beta(1 + c, 1 + m - c); copies of a
    column count once.
    """
    if node.inclusion is None:
        return terms
    present = sum(p for name, p in zip(node.parents, node.inclusion.tolist(), strict=True) if name in names)
    share = (1.0 + present) / (2.0 + distinct_among(node, names))
    stated = zip(terms.names, terms.probability, strict=True)
    return replace(terms, probability=tuple(share if name in names else p for name, p in stated))


def number_notes(graphs: Sequence[CandidateGraph], prior: Prior, tied: Collection[str], rows: float) -> Iterator[Note]:
    """Say where the number of causes is learned, and where more are expected than rows could tell apart.

    Parameters
    ----------
    graphs, prior
        Of a fit.
    tied
        Variables that have the prior of blocks, which learns nothing.
    rows
        Of the table.
    """
    for graph in dict.fromkeys(graphs):
        learned = tuple(name for name in graph.variables if name not in tied and uncounted(graph, prior, name))
        if learned:
            yield Note(
                f"how many of the candidate causes of {some(map(repr, learned))} are causes is learned: there are more "
                f"than {MOST}, and nobody stated how probable each is; to say even odds, "
                f"{either('write probability=0.5 where the graph is made', 'state 0.5 in a graph file')}",
                about=learned,
            )
        if prior.edges is None and prior.coefficients is None:
            yield from _too_many(graph, set(learned), rows)


def _too_many(graph: CandidateGraph, learned: Collection[str], rows: float) -> Iterator[Note]:
    """Say for which children the stated probabilities expect many causes; up to `MOST` candidates, no word."""
    for child in graph.variables:
        stated = [graph.edges[name, child] for name in graph.parents(child)]
        expected = 0.0 if child in learned or len(stated) <= MOST else sum(p for p in stated if p < 1.0)
        if expected > TENTH * rows:
            yield Note(
                f"the prior expects {expected:,.0f} of the {len(stated):,} candidate causes of {child!r} to act on "
                f"it, with {rows:,.0f} rows: if you mean fewer, "
                f"{either('leave probability= out, or use Prior(edges=BetaBinomial()),', 'leave probabilities out')} "
                f"to learn how many, or state smaller ones: {10.0 / len(stated):.1g} each expects ten",
                "check",
                (child,),
            )
