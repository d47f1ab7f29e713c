"""`FittedGraph`: one candidate graph under one prior, as a product of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from alldags import meetings
from alldags.columns.base import Columns
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.graph.candidate import CandidateGraph
from alldags.models.blocks import NodeBlock
from alldags.models.link import JointLink, Link, joint_link
from alldags.models.margins import BlockMargin, Margin, NodeMargin
from alldags.models.number import is_one_number, learning, uncounted, with_share
from alldags.models.order_block import OrderBlock
from alldags.models.pair import PairKey, too_many
from alldags.models.prior_inside import block_terms, log_acyclic, stated_inside
from alldags.models.store import BlockKey, NodeKey, NodeStore
from alldags.nodes.build import Cleared, NodeTerms, extended_terms, linear_terms
from alldags.nodes.data import WorkingData
from alldags.nodes.divided import DividedPosterior
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.presence import presences
from alldags.nodes.problem import NodeProblem
from alldags.nodes.spec import About, Present, straight_columns
from alldags.nodes.toward import toward
from alldags.pairs.posterior import PairPosterior
from alldags.priors.equivalent import block_prior
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_AT_ONCE = 64


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
    tied
        Single nodes that have the prior of blocks, because another graph of the same fit turns their edges around.
    about
        The treatments of the question that the model is for, mostly one; none: children have curves on the way of a
        question only, unless these were asked for by name.
    way
        A category, and by how much a change of its levels moves its columns, in working units: it is then a number to
        the nodes that it acts on, the way that it goes. None: a category is no number.
    mediators
        Products of the treatment and these are there wherever both act on a child.
    """

    def __init__(
        self,
        graph: CandidateGraph,
        prior: Prior,
        data: WorkingData,
        store: NodeStore,
        link: Link | JointLink | None = None,
        tied: frozenset[str] = frozenset(),
        about: tuple[str, ...] = (),
        way: tuple[str, FloatArray] | None = None,
        mediators: tuple[str, ...] = (),
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.data = data
        self._store = store
        self._link = link
        self._tied = tied
        self._about = about
        self._way = way
        self._mediators = mediators
        self._nodes: dict[str, NodePosterior] = {}
        self._blocks: dict[tuple[str, ...], OrderBlock] = {}
        self._margins: dict[str, Margin] = {}
        self._home = {name: block for block in graph.blocks for name in block}
        self._pairs = {name: pair for pair in graph.districts() for name in pair} if graph.hidden else {}

    def about(self, *treatments: str, linked: bool = True) -> FittedGraph:
        """Return the model for questions about a treatment, or about several that are set at once.

        If it is linked, what drives a treatment is a possible confounder of all that comes after.
        """
        data = self.data.about(treatments[0]) if len(treatments) == 1 else self.data
        link: Link | JointLink | None = None
        if linked:
            link = Link(self.graph, self.prior, data, self._store, treatments[0])
            link = link if len(treatments) == 1 else joint_link(link, treatments)
        return FittedGraph(self.graph, self.prior, data, self._store, link, self._tied, treatments)

    def on(self, data: WorkingData, store: NodeStore) -> FittedGraph:
        """Return the model of the same graph and prior for other data, without a link."""
        return FittedGraph(self.graph, self.prior, data, store, tied=self._tied)

    def passing(self) -> FittedGraph:
        """Return the same model with a store of its own, so that its nodes are forgotten with it."""
        return self.on(self.data, self._store.empty())

    @property
    def at_once(self) -> int:
        """How many nodes to fit at once where none is kept: on other machines many, which come back without traces."""
        return _AT_ONCE if self._store.backend is None else 16 * _AT_ONCE

    def everywhere(self) -> FittedGraph:
        """Return the model with curves in all children that may have them, whatever is asked."""
        return self.on(self.data.everywhere, self._store)

    def changed(self, graph: CandidateGraph | None = None, prior: Prior | None = None) -> FittedGraph:
        """Return the model of the same data with another graph or prior, without a link."""
        return FittedGraph(graph or self.graph, prior or self.prior, self.data, self._store, tied=self._tied)

    def straight(self) -> FittedGraph:
        """Return the model with straight lines through all children."""
        return FittedGraph(self.graph, self.prior, self.data.straight, self._store, self._link, self._tied, self._about)

    def through(self, treatment: str, mediators: tuple[str, ...], data: WorkingData) -> FittedGraph:
        """Return the model in which children have products of treatment and mediators; `data` is its own, with rows."""
        own = self._link, self._tied, (treatment,), self._way
        return FittedGraph(self.graph, self.prior, data, self._store, *own, mediators)

    def toward(self, category: str, move: FloatArray) -> FittedGraph:
        """Return the model in which a category is a number: a change of its columns, shape (columns,)."""
        way = category, move
        return FittedGraph(self.graph, self.prior, self.data, self._store, self._link, self._tied, self._about, way)

    def link_coefficient(self, cause: str, sources: Iterable[str]) -> float:
        """Return the mean coefficient of a cause where it acts most among the sources of the link."""
        return 0.0 if self._link is None else self._link.coefficient(cause, sources)

    def drives(self, source: str, treatment: str) -> dict[str, float]:
        """Return the probability with which each candidate cause drives `source`, in a regression of it alone."""
        return self._link_to(treatment).inclusion(source)

    def driving(self, source: str, treatment: str) -> dict[str, float]:
        """Return the mean coefficient of each candidate cause in such a regression, in working units."""
        return self._link_to(treatment).slopes(source)

    def _link_to(self, treatment: str) -> Link | JointLink:
        return self._link or Link(self.graph, self.prior, self.data, self._store, treatment)

    def uncounted(self, child: str) -> frozenset[str]:
        """Return the candidate causes of a child of which it is learned how many act on it; see `models.number`."""
        return uncounted(self.graph, self._prior_of(child), child)

    def _counting_key(self, child: str) -> NodeKey:
        """Return the regression in which that number is learned, along straight lines."""
        return NodeKey(self._raised(child), learning(self._prior_of(child)), self._data_of(child))

    def _linear(self, child: str) -> NodeTerms:
        return replace(linear_terms(self.graph, child), once=self.uncounted(child))

    def _raised(self, child: str) -> NodeTerms:
        terms = self._linear(child)
        return terms if self._link is None else self._link.raised(terms)

    def _terms(self, child: str) -> NodeTerms:
        terms, names = self._raised(child), self.uncounted(child)
        return with_share(terms, names, self._store.get(self._counting_key(child))) if names else terms

    def _key(self, child: str) -> NodeKey:
        if self.bends(child):
            return self._curved_key(child)
        if self._products(child):
            return self._curved_key(child, curves=False)
        if is_one_number(self._raised(child), self.uncounted(child)):
            return self._counting_key(child)
        return NodeKey(self._terms(child), self._prior_of(child), self._data_of(child))

    def _curved_key(self, child: str, *, curves: bool = True) -> NodeKey:
        treatment = self.treatment_of(child)
        after = frozenset() if treatment is None else self._after - {treatment}
        data, mediators = self.data if curves else self.data.unbent, self._products(child)
        about = About(treatment, after, mediators, self._present(child) if mediators else ())
        return NodeKey(self._terms(child), self._prior_of(child), data, about=about)

    def _products(self, child: str) -> tuple[str, ...]:
        """Return the mediators whose products with the treatment are in a child's regression where both act on it."""
        parents = self.graph.parents(child)
        both = self.treatment_of(child) in parents
        return tuple(name for name in self._mediators if name in parents) if both else ()

    def _present(self, child: str) -> tuple[Present, ...]:
        """Return which of treatment and mediators act on a child, as found without products."""
        own = self._link, self._tied, self._about
        without = FittedGraph(self.graph, self.prior, self.data, self._store, *own)
        return presences(without.node(child), (str(self.treatment_of(child)), *self._products(child)))

    @property
    def _after(self) -> frozenset[str]:
        """All that the treatments may act on, and themselves if there are several."""
        below = frozenset[str]().union(*map(self.graph.descendants, self._about))
        return below | set(self._about) if len(self._about) > 1 else below

    def treatment_of(self, child: str) -> str | None:
        """Return the treatment that the curves of a child are made for.

        Of several, one that may act on the child directly, else on any way; the first in the order of the graph.
        """
        if len(self._about) < 2:
            return self._about[0] if self._about else None
        parents, before = self.graph.parents(child), self.graph.ancestors(child)
        ordered = [name for name in self.graph.order if name in self._about]
        return next((name for group in (parents, before) for name in ordered if name in group), None)

    def bends(self, child: str) -> bool:
        """Whether a child's regression may have curves in this model.

        Curves of a child that is not normal have no chain to fall back on: those that were not asked for by name are
        left out where they could not be computed, or where the treatment is a copy of another cause.
        """
        treatment = self.treatment_of(child)
        if child in self._pairs or not self.data.may_bend(child, treatment):
            return False
        if not self.data.on_demand:
            return True
        if treatment is not None and self.data.is_copied(treatment, self.graph.parents(child)):
            return False
        return self.data.model(child).family is None or self.could_bend(child)

    def could_bend(self, child: str) -> bool:
        """Tell whether a regression that may bend was computed as one that can be relied on."""
        return self._store.get(self._curved_key(child)).diagnostics.is_reliable

    def columns(self, child: str) -> Columns:
        """Return what a child is regressed on."""
        return columns_of(self.node(child), self.data)

    def _prior_of(self, child: str) -> Prior:
        return block_prior(self.prior) if child in self._tied else self.prior

    def _data_of(self, child: str) -> WorkingData:
        """Return the data of a straight node; normal ones are the same whatever the others are."""
        return self.data.unbent if child in self.data.families else self.data.straight

    def _extended_key(
        self, child: str, certain: Sequence[str], added: Mapping[str, float], cleared: tuple[Cleared, ...]
    ) -> NodeKey:
        alike = None if self.prior.edges is None else 0.5
        terms = replace(extended_terms(self._terms(child), certain, added, alike), cleared=cleared)
        return NodeKey(terms, self._prior_of(child), self._data_of(child))

    def extended_node(
        self, child: str, certain: Sequence[str], added: Mapping[str, float], cleared: tuple[Cleared, ...] = ()
    ) -> NodePosterior:
        """Return a node refitted with some parents certain, others added or raised, and some cleared of others."""
        return self._store.get(self._extended_key(child, certain, added, cleared))

    def extended_problem(self, child: str, certain: Sequence[str], added: Mapping[str, float]) -> NodeProblem:
        """Return the problem of such a node, nothing cleared, without fitting it."""
        return self._extended_key(child, certain, added, ()).problem()

    def _block_key(self, block: tuple[str, ...]) -> BlockKey:
        terms = block_terms(self.graph, self.prior, block)
        raised = terms if self._link is None else tuple(map(self._link.raised, terms))
        return BlockKey(raised, block_prior(self.prior), self.data, log_acyclic(self.graph, self.prior, block))

    def node(self, child: str) -> NodePosterior:
        """Return the posterior of a node with a regression of its own, read onto its parents."""
        if child in self._home:
            raise KeyError(f"{child!r} is in a block of unknown order: ask `blocks` or `margin`")
        if child not in self._nodes:
            node = self._member(child) if child in self._pairs else self._store.get(self._key(child))
            self._nodes[child] = node if self._way is None else toward(node, *self._way)
        return self._nodes[child]

    def pair_key(self, child: str) -> PairKey | None:
        """Return what defines the pair of correlated errors that a variable is in; None if it is in none."""
        pair = self._pairs.get(child)
        if pair is None:
            return None
        if len(pair) > 2:
            raise too_many(pair)
        return PairKey.of(self.graph, (pair[0], pair[1]), self.data.straight)

    def joins(self, names: Iterable[str]) -> bool:
        """Tell whether the errors of two of some variables are correlated, so that their coefficients go together."""
        inside = [self._pairs[name] for name in names if name in self._pairs]
        return len(set(inside)) < len(inside)

    def pair(self, child: str) -> PairPosterior | None:
        """Return the posterior of that pair."""
        key = self.pair_key(child)
        return None if key is None else self._store.pair(key)

    def _member(self, child: str) -> NodePosterior:
        key = self.pair_key(child)
        assert key is not None
        return key.member(self._store.pair(key), int(child == key.second), self.prior)

    def order_block(self, child: str) -> OrderBlock | None:
        """Return the block of unknown order that holds a variable; None if it has a regression of its own."""
        block = self._home.get(child)
        if block is None:
            return None
        if block not in self._blocks:
            self._blocks[block] = OrderBlock(self._store.block(self._block_key(block)))
        return self._blocks[block]

    def margin(self, child: str) -> Margin:
        """Return what is known of the edges into one variable by themselves."""
        if child not in self._margins:
            self._margins[child] = self._margin(child)
        return self._margins[child]

    def _margin(self, child: str) -> Margin:
        block = self.order_block(child)
        if block is None:
            return NodeMargin(self.node(child))
        column = block.variables.index(child)
        stated = stated_inside(self.graph, self.prior, block.posterior, column)
        return BlockMargin(block.posterior, column, np.array(stated))

    def prepare(self, children: Iterable[str]) -> None:
        """Fit several nodes at once, in parallel; blocks one after the other."""
        wanted = [child for child in children if child not in self._nodes]
        single = [child for child in wanted if child not in self._pairs]
        if self._link is not None:
            self._link.prepare(single)
        self._store.prepare(self._counting_key(child) for child in single if self.uncounted(child))
        self._store.prepare(self._key(child) for child in single if child not in self._home)
        for child in wanted:
            self.order_block(child)
            self.pair(child)

    def blocks(self, variables: Iterable[str]) -> Iterator[NodeBlock | OrderBlock]:
        """Yield the blocks that hold these variables, causes first."""
        wanted = set(variables)
        done: set[tuple[str, ...]] = set()
        for name in self.graph.order:
            if name not in wanted or self._home.get(name) in done:
                continue
            block = self.order_block(name)
            if block is None:
                yield NodeBlock(name, self.node(name))
            else:
                done.add(self._home[name])
                yield block

    @property
    def node_keys(self) -> Iterable[NodeKey]:
        """What defines each node with a regression of its own."""
        return (self._key(child) for child in self.graph.variables if {child}.isdisjoint((*self._home, *self._pairs)))

    @property
    def log_evidence(self) -> float:
        """Sum of the evidences of all blocks, with curves where there may be some; fits them all."""
        if self.data.on_demand:
            return self.on(self.data.everywhere, self._store).log_evidence
        self.prepare(self.graph.variables)
        return sum(self._evidence(block) for block in self.blocks(self.graph.variables))

    def _evidence(self, block: NodeBlock | OrderBlock) -> float:
        value = block.posterior.log_evidence if isinstance(block, OrderBlock) else block.node.log_evidence
        if value is None:
            raise meetings.refusal("evidence", "no evidence", {"no evidence": (self._store.engine.name,)})
        return value


def columns_of(node: NodePosterior, data: WorkingData) -> Columns:
    """Return what a node is regressed on; of several regressions, the columns of all, one after the other."""
    if isinstance(node, CurvedPosterior):
        return node.over_columns.columns
    if isinstance(node, DividedPosterior):
        parts = [columns_of(part, data) for part in node.parts]
        center, scale = (np.concatenate([getattr(part, name) for part in parts]) for name in ("center", "scale"))
        return Columns(tuple(column for part in parts for column in part.made), center, scale)
    return straight_columns(node.parents, data)
