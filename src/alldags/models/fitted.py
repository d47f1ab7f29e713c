"""`FittedGraph`: one candidate graph under one prior, as a product of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from alldags.errors import EngineError
from alldags.graph.candidate import CandidateGraph
from alldags.models.blocks import Block, NodeBlock
from alldags.models.link import Link
from alldags.models.store import NodeKey, NodeStore
from alldags.nodes.build import NodeTerms, extended_terms, linear_terms
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.priors.prior import Prior


class FittedGraph:
    """One candidate graph, one prior, one table: given these the posterior is a product of blocks.

    Parameters
    ----------
    graph
        The candidate graph.
    prior
        Without hyperparameters shared by nodes.
    data
        Moments in working units.
    store
        Holds the fitted nodes; shared with other models of the same fit.
    link
        Raises edge probabilities for the question about one treatment; None: the graph's own.
    """

    def __init__(
        self, graph: CandidateGraph, prior: Prior, data: WorkingData, store: NodeStore, link: Link | None = None
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.data = data
        self._store = store
        self._link = link
        self._nodes: dict[str, NodePosterior] = {}

    def linked(self, treatment: str) -> FittedGraph:
        """Return the model in which what drives the treatment is a possible confounder of all that comes after."""
        link = Link(self.graph, self.prior, self.data, self._store, treatment)
        return FittedGraph(self.graph, self.prior, self.data, self._store, link)

    def straight(self) -> FittedGraph:
        """Return the model with straight lines through all children."""
        return FittedGraph(self.graph, self.prior, self.data.straight, self._store, self._link)

    def link_coefficient(self, cause: str, sources: Iterable[str]) -> float:
        """Return the mean coefficient of a cause where it acts most among the sources of the link."""
        return 0.0 if self._link is None else self._link.coefficient(cause, sources)

    def drives(self, source: str, treatment: str) -> dict[str, float]:
        """Return the probability with which each candidate cause drives `source`, in a regression of it alone."""
        link = self._link or Link(self.graph, self.prior, self.data, self._store, treatment)
        return link.inclusion(source)

    def _terms(self, child: str) -> NodeTerms:
        terms = linear_terms(self.graph, child)
        return terms if self._link is None else self._link.raised(terms)

    def _key(self, child: str) -> NodeKey:
        return NodeKey(self._terms(child), self.prior, self._data_of(child))

    def _data_of(self, child: str) -> WorkingData:
        """Return the data of a node; normal ones are the same whatever the others are."""
        return self.data if child in self.data.families else self.data.straight

    def _extended_key(self, child: str, certain: Sequence[str], added: Mapping[str, float]) -> NodeKey:
        alike = None if self.prior.edges is None else 0.5
        terms = extended_terms(self._terms(child), certain, added, alike)
        return NodeKey(terms, self.prior, self._data_of(child))

    def extended_node(self, child: str, certain: Sequence[str], added: Mapping[str, float]) -> NodePosterior:
        """Return a node refitted with some parents certain, and others added with these probabilities."""
        return self._store.get(self._extended_key(child, certain, added))

    def extended_problem(self, child: str, certain: Sequence[str], added: Mapping[str, float]) -> NodeProblem:
        """Return the problem of such a node, without fitting it."""
        return self._extended_key(child, certain, added).problem()

    def node(self, child: str) -> NodePosterior:
        """Return the posterior of one node, read onto its parents."""
        if child not in self._nodes:
            self._nodes[child] = self._store.get(self._key(child))
        return self._nodes[child]

    def prepare(self, children: Iterable[str]) -> None:
        """Fit several nodes at once, in parallel."""
        wanted = [child for child in children if child not in self._nodes]
        if self._link is not None:
            self._link.prepare(wanted)
        self._store.prepare(self._key(child) for child in wanted)

    def blocks(self, variables: Iterable[str]) -> Iterator[Block]:
        """Yield the blocks that hold these variables, causes first."""
        wanted = set(variables)
        for name in self.graph.order:
            if name in wanted:
                yield NodeBlock(name, self.node(name))

    @property
    def node_keys(self) -> Iterable[NodeKey]:
        """What defines each node."""
        return (self._key(child) for child in self.graph.variables)

    @property
    def log_evidence(self) -> float:
        """Sum of the evidences of all nodes; fits them all."""
        self.prepare(self.graph.variables)
        return sum(self._evidence(child) for child in self.graph.variables)

    def _evidence(self, child: str) -> float:
        value = self.node(child).log_evidence
        if value is None:
            raise EngineError(
                f"the engine {self._store.engine.name!r} gives no evidence for {child!r}; evidence, and so the "
                "weighing of several graphs, needs engine='exact' or engine='certified'"
            )
        return value
