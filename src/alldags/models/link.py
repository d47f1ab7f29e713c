"""The link: what drives the treatment is a possible confounder of all that comes after it.

Averaging drops edges that the data do not show. An edge from a covariate to the outcome may be too weak to be seen and
yet, if the covariate drives the treatment, bias the effect by more than its interval is wide; with many of them the
interval misses (regularisation-induced confounding). So the prior of an edge ``c -> k`` into a node after the treatment
is raised by the posterior of ``c -> j``, for every ``j`` that is the treatment or lies between it and ``k``::

    p_ck = 1 - (1 - p_ck) prod_j (1 - s q_cj)

with ``s`` the strength (`Prior.link`) and ``q_cj`` from a regression of ``j`` alone, whose slab and edge probability
are learned so that weak causes are kept. A category ``j`` is regressed with all its columns at once, a cause being one
of all of them or of none (`alldags.nodes.stacked`). With a single node after the treatment this is, up to taking a
product of marginals, the exact posterior of a joint prior in which the two edges go together (Wang, Parmigiani and
Dominici 2012): the effect never needs the treatment's own node, so that nothing flows back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.models.number import uncounted
from alldags.models.store import NodeKey, NodeStore
from alldags.nodes.build import NodeTerms, linear_terms
from alldags.nodes.copies import of_columns
from alldags.nodes.data import WorkingData
from alldags.nodes.onto import over_columns
from alldags.nodes.posterior import NodePosterior
from alldags.priors.link import link_prior
from alldags.priors.prior import Prior
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Link:
    """Raises the probabilities of edges into the nodes after one treatment.

    Parameters
    ----------
    graph, prior, data, store
        Of the model that is linked.
    treatment
        Name.
    after
        What it may act on, where that is less than the graph says: other treatments are set at the same time.
    """

    graph: CandidateGraph
    prior: Prior
    data: WorkingData
    store: NodeStore
    treatment: str
    after: frozenset[str] | None = None

    @cached_property
    def _after(self) -> frozenset[str]:
        """The treatment and all it may act on: none of them is a confounder."""
        return self.graph.descendants(self.treatment) | {self.treatment} if self.after is None else self.after

    @cached_property
    def _inclusion(self) -> dict[str, dict[str, float]]:
        """What `inclusion` found: it is asked for once per edge and source."""
        return {}

    def raised(self, terms: NodeTerms) -> NodeTerms:
        """Return a node's terms with their probabilities raised."""
        if terms.child not in self._after or terms.child == self.treatment:
            return terms
        sources = self._sources(terms.child)
        added = tuple(0.0 if name in self._after else self._raised(name, sources) for name in terms.names)
        return replace(terms, raised=added) if any(added) else terms

    def _raised(self, cause: str, sources: list[str]) -> float:
        spared = 1.0
        for source in sources:
            spared *= 1.0 - self.prior.link * self.inclusion(source).get(cause, 0.0)
        return 1.0 - spared

    def _sources(self, child: str) -> list[str]:
        """Return the treatment and the nodes between it and `child`; none of its own block, which may come after it."""
        before = self.graph.ancestors(child) - set(self.graph.component(child))
        return [name for name in self.graph.order if name in self._after and name in before]

    def inclusion(self, source: str) -> dict[str, float]:
        """Return the posterior probability of each candidate cause of `source`, in a regression of it alone."""
        if source not in self._inclusion:
            self._inclusion[source] = self._found(source)
        return self._inclusion[source]

    def _found(self, source: str) -> dict[str, float]:
        node = self._regression(source)
        if node is None:
            return {}
        found = of_columns(node)
        values = [0.0] * len(node.parents) if found is None else found.tolist()
        return dict(zip(node.parents, values, strict=True))

    def slopes(self, source: str) -> dict[str, float]:
        """Return the mean coefficient of each column of the causes of `source`, in a regression of it alone."""
        node = self._regression(source)
        if node is None or source in self.data.categories:
            return {}
        columns = over_columns(node)
        return dict(zip(columns.parents, columns.mean.tolist(), strict=True))

    def _regression(self, source: str) -> NodePosterior | None:
        """Return the regression of a source alone; None if it has no candidate causes, or no rows that show them."""
        if not self._terms(source).names or not self.data.knows(source):
            return None
        return self.store.get(self._key(source))

    def coefficient(self, cause: str, sources: Iterable[str]) -> float:
        """Return the mean coefficient of a cause in the regression alone of that source on which it acts most."""
        driven = (name for name in sources if cause in self._terms(name).names and self.data.knows(name))
        nodes = [self.store.get(self._key(name)) for name in driven]
        return max((float(_numbers(node)[node.parents.index(cause)]) for node in nodes), key=abs, default=0.0)

    def _terms(self, source: str) -> NodeTerms:
        """Return the terms of a source's own regression; block-mates, which it may act on, are left out."""
        terms = replace(linear_terms(self.graph, source), once=uncounted(self.graph, self.prior, source))
        block = self.graph.component(source)
        if len(block) == 1:
            return terms
        kept = [(name, p) for name, p in zip(terms.names, terms.probability, strict=True) if name not in block]
        return NodeTerms(source, tuple(name for name, _ in kept), tuple(p for _, p in kept))

    def _key(self, source: str) -> NodeKey:
        # a straight line is enough to see what drives a variable, also one that is not normal
        return NodeKey(self._terms(source), link_prior(self.prior), self.data.straight, self.store.searcher)

    def prepare(self, children: Iterable[str]) -> None:
        """Fit the regressions that the links of these children need, in parallel."""
        needed = dict.fromkeys(source for child in children if child in self._after for source in self._sources(child))
        self.store.prepare(self._key(source) for source in needed if self._matters(source))

    def _matters(self, source: str) -> bool:
        """Tell whether a source has a cause that may be a confounder, and rows that show it."""
        return self.data.knows(source) and any(name not in self._after for name in self._terms(source).names)


@dataclass(frozen=True, eq=False)
class JointLink:
    """The links of several treatments that are set at once: each is asked for what acts on it and not on the others.

    With edges into treatments cut, a cause of a node after some of them is raised by what it drives: by every one of
    these treatments that does not act on it, and by what lies between those and the node; each source counts once. A
    variable between two treatments is so kept as a confounder of the second, though it is a mediator of the first.

    Parameters
    ----------
    links
        That of each treatment; what it acts on is without what it does by way of the others.
    prior
        Of the model.
    """

    links: tuple[Link, ...]
    prior: Prior

    def raised(self, terms: NodeTerms) -> NodeTerms:
        """Return a node's terms with their probabilities raised."""
        own = [link for link in self.links if terms.child in link._after and terms.child != link.treatment]
        added = tuple(self._raised(own, name, terms.child) for name in terms.names)
        return replace(terms, raised=added) if any(added) else terms

    def _raised(self, own: list[Link], cause: str, child: str) -> float:
        sources: dict[str, Link] = {}
        for link in own:
            if cause not in link._after:
                sources |= dict.fromkeys(link._sources(child), link)
        spared = 1.0
        for source, link in sources.items():
            spared *= 1.0 - self.prior.link * link.inclusion(source).get(cause, 0.0)
        return 1.0 - spared

    def prepare(self, children: Iterable[str]) -> None:
        """Fit the regressions that the links of these children need, in parallel."""
        wanted = list(children)
        for link in self.links:
            link.prepare(wanted)

    def coefficient(self, cause: str, sources: Iterable[str]) -> float:
        """Return the mean coefficient of a cause in the regression alone of that source on which it acts most."""
        return self.links[0].coefficient(cause, sources)

    def inclusion(self, source: str) -> dict[str, float]:
        """Return the posterior probability of each candidate cause of `source`, in a regression of it alone."""
        return self.links[0].inclusion(source)

    def slopes(self, source: str) -> dict[str, float]:
        """Return the mean coefficient of each column of the causes of `source`, in a regression of it alone."""
        return self.links[0].slopes(source)


def joint_link(link: Link, treatments: tuple[str, ...]) -> JointLink:
    """Return the links of several treatments; `link` has the model of one."""
    after = {name: _after_cut(link.graph, name, treatments) for name in treatments}
    links = tuple(replace(link, treatment=name, after=after[name]) for name in treatments)
    return JointLink(links, link.prior)


def _after_cut(graph: CandidateGraph, treatment: str, treatments: tuple[str, ...]) -> frozenset[str]:
    """Return what a treatment may act on other than by way of other treatments."""
    found, new = {treatment}, [treatment]
    while new:
        children = {effect for cause, effect in graph.edges if cause == new[-1]} - found - set(treatments)
        new.pop()
        found |= children
        new += children
    return frozenset(found)


def _numbers(node: NodePosterior) -> FloatArray:
    """Return the mean coefficients, shape (k,); 0 in the regression of a category, where a coefficient is no number."""
    return np.nan_to_num(node.mean)
