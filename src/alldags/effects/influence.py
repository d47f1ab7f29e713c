"""What each uncertain edge does to the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.effects.total import TotalEffect
from alldags.graph.edges import Edge
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture, Slope
from alldags.models.order_block import OrderBlock
from alldags.nodes.build import ALMOST_CERTAIN
from alldags.nodes.posterior import NodePosterior
from alldags.typing import FloatArray


@dataclass(frozen=True, slots=True)
class EdgeInfluence:
    """The effect's posterior mean with and without one edge, in working units.

    Parameters
    ----------
    cause, effect
        The edge.
    prior, posterior
        Its probability as stated and after the data.
    mean_present, mean_absent
        Posterior mean of the total effect given that the edge is present or absent.
    independent
        Whether the edge is independent of the others a priori; if not, its odds cannot be changed alone.
    raised
        What the edge's link to the treatment added to its prior, which is held fixed.
    reverse
        Where both directions are open: posterior probability of the other one; `mean_absent` is then the mean given
        that there is no edge between the two.
    mean_reverse
        Posterior mean of the total effect given the other direction.
    """

    cause: str
    effect: str
    prior: float
    posterior: float
    mean_present: float
    mean_absent: float
    independent: bool = True
    raised: float = 0.0
    reverse: float = 0.0
    mean_reverse: float = math.nan

    @property
    def spread(self) -> float:
        """Variance of the effect's mean over the states of the edge: present, turned around, absent."""
        p, r = self.posterior, self.reverse
        if r == 0.0:
            return p * (1 - p) * (self.mean_present - self.mean_absent) ** 2 if 0 < p < 1 else 0.0
        states = ((p, self.mean_present), (r, self.mean_reverse), (1 - p - r, self.mean_absent))
        kept = [(share, mean) for share, mean in states if share > 0 and math.isfinite(mean)]
        center = math.fsum(share * mean for share, mean in kept)
        return math.fsum(share * (mean - center) ** 2 for share, mean in kept)

    @property
    def sign_flip_prior(self) -> float:
        """Stated probability of the edge at which the effect's posterior mean would be zero; nan if none is.

        Multiplying the prior odds by r multiplies the posterior odds by r, so the posterior probability at which the
        mean vanishes maps back to a prior one; and that to a stated one, if the edge's link leaves room for it.
        """
        low, high, p = self.mean_absent, self.mean_present, self.posterior
        prior = 1 - (1 - self.prior) * (1 - self.raised) if self.raised else self.prior
        if not self.independent or not low * high < 0 or not 0 < p < 1 or not 0 < prior < 1:
            return math.nan
        posterior_odds = -low / high  # p* / (1 - p*) at p* = -low / (high - low)
        odds = prior / (1 - prior) * posterior_odds * (1 - p) / p
        return _stated(odds / (1 + odds), self.raised)

    @property
    def moves(self) -> bool:
        """Whether the effect at another stated probability is known in closed form."""
        numbers = (self.posterior, self.mean_present, self.mean_absent)
        return self.independent and 0 < self.prior < 1 and all(map(math.isfinite, numbers))

    def posterior_at(self, stated: float) -> float:
        """Return the edge's posterior probability had this prior probability been stated; nan where not known.

        Prior odds multiply posterior odds; the link's part of the prior is held fixed.
        """
        present, absent = self._weights_at(stated)
        return present / (present + absent) if present + absent > 0 else math.nan

    def mean_at(self, stated: float) -> float:
        """Return the effect's posterior mean had this prior probability of the edge been stated; nan where not known.

        A fractional-linear function of the prior odds, all else equal.
        """
        p = self.posterior_at(stated)
        return p * self.mean_present + (1 - p) * self.mean_absent

    def _weights_at(self, stated: float) -> tuple[float, float]:
        """Return the weights of presence and absence, up to a common factor."""
        if not self.moves:
            return math.nan, math.nan
        before, after = self._absent_prior(self.prior), self._absent_prior(stated)
        return self.posterior * (1.0 - after) / (1.0 - before), (1.0 - self.posterior) * after / before

    def _absent_prior(self, stated: float) -> float:
        """Return the prior probability of absence; a linked edge that is not stated as certain stays uncertain."""
        absent = (1.0 - stated) * (1.0 - self.raised)
        return max(absent, 1.0 - ALMOST_CERTAIN) if self.raised and stated < 1.0 else absent


def edge_influences(totals: Mixture[TotalEffect], limit: int | None = None) -> list[EdgeInfluence] | None:
    """Return the influence of every uncertain edge into a node on a path; None if the engine has no parent sets.

    Edges from confounders count: they change the other coefficients of their child. Edges into nodes off the paths
    have no influence. Where there are several graphs, one in which the edge is not a candidate counts as "absent".

    With a `limit`, only so many edges are looked at, those in doubt or with a large mean: for a node that was sampled,
    an edge that is nearly always present, or nearly never, takes a new run.
    """
    wanted = None if limit is None else _promising(totals, limit)
    parts = totals.map(lambda total: ModelInfluence(total, wanted))
    if not parts.all(lambda part: part.has_structure):
        return None
    edges = dict.fromkeys(edge for part in parts.items for edge in part.edges)
    for part in parts.items:  # a pair that is open in some model is one row
        for edge in part.edges:
            if part.is_open(edge) and edge in edges:
                edges.pop(edge[::-1], None)
    if len(parts.items) == 1:
        return [parts.items[0].edges[edge] for edge in edges]
    return [_mixed(edge, parts) for edge in edges]


def _promising(totals: Mixture[TotalEffect], limit: int) -> frozenset[Edge]:
    """Return the edges that are likely to matter: by ``p (1 - p)``, and by what their mean carries of the effect."""
    scores: dict[Edge, float] = {}
    for total in totals.items:
        size = abs(total.mean) or 1.0
        for child, node, slope in total.slopes():
            if not isinstance(node, NodePosterior):
                continue
            for place in np.flatnonzero(~node.certain):
                p = _inclusion(node, int(place))
                score = 4 * p * (1 - p) + abs(float(slope[place] * node.mean[place])) / size
                edge = node.parents[place], child
                scores[edge] = max(score, scores.get(edge, 0.0))
    return frozenset(sorted(scores, key=lambda edge: -scores[edge])[:limit])


@dataclass(frozen=True, eq=False)
class ModelInfluence:
    """The influence of edges in one model: of all, or of those that are wanted."""

    total: TotalEffect
    wanted: frozenset[Edge] | None = None

    @property
    def has_structure(self) -> bool:
        """Whether edges can be present or absent, and means be had given that."""
        return self._found is not None

    @property
    def edges(self) -> dict[Edge, EdgeInfluence]:
        """The uncertain edges into nodes on a path."""
        return self._found or {}

    @cached_property
    def _found(self) -> dict[Edge, EdgeInfluence] | None:
        if not self.total.has_structure:
            return None
        rows = [list(_node_influences(part, self.total.mean, self.wanted)) for part in self.total.slopes()]
        rows += [list(block_influences(self.total, block)) for block in self.total.order_blocks]
        if any(row is None for part in rows for row in part):
            return None
        return {(row.cause, row.effect): row for part in rows for row in part if row is not None}

    def is_open(self, edge: Edge) -> bool:
        """Tell whether both directions of an edge are open in this model."""
        return edge in self.edges and self.edges[edge].reverse > 0

    def shares(self, edge: Edge) -> FloatArray:
        """Return P(edge), and the mean effect with and without it, each times its probability, shape (3,)."""
        back = edge[::-1]
        if self.is_open(back):
            item = self.edges[back]
            p, present = item.reverse, item.mean_reverse
            absent = (self.total.mean - p * present) / (1 - p) if p < 1 else 0.0
        elif edge in self.edges:
            item = self.edges[edge]
            p, present, absent = item.posterior, item.mean_present, item.mean_absent
            if item.reverse > 0:  # absent here means: not this edge
                absent = (self.total.mean - p * present) / (1 - p) if p < 1 else 0.0
        else:
            p = edge_probability(self.total.model, edge)
            present = absent = self.total.mean
        return np.array([p, p * present, (1 - p) * absent])


def block_influences(total: TotalEffect, block: OrderBlock) -> Iterator[EdgeInfluence]:
    """Yield the influence of each uncertain edge into a block of unknown order.

    The effect's mean is that of other ways plus what goes through the block, ``sum(ahead * t)``.
    """
    start, ahead = block.start(total.span.places, total.reach), total.ahead(block)
    inside = float(block.posterior.first(start) @ ahead)
    found: dict[Edge, EdgeInfluence] = {}
    for j, node in enumerate(block.problem.nodes):
        margin = total.model.margin(node.child)
        for edge, (cause, term) in enumerate(block.problem.edges_into(j).items()):
            if node.certain[term]:
                continue
            row = int(block.problem.rows(j)[term])
            p = 0.0 if margin.inclusion is None else float(margin.inclusion[edge])
            given = total.mean + block.posterior.given(row, j, start, ahead) - inside
            known = p * given if p > 0 else 0.0  # an edge that was never met has no mean
            found[cause, node.child] = EdgeInfluence(
                cause,
                node.child,
                float(margin.stated_inclusion[edge]),
                p,
                given,
                (total.mean - known) / (1 - p) if p < 1 else math.nan,
                independent=row >= len(block.variables) and node.log_size is None,
                raised=float(margin.raised[edge]),
            )
    for pair, item in found.items():
        other = found.get((pair[1], pair[0]))
        if other is None:
            yield item
        elif (item.posterior, pair) >= (other.posterior, pair[::-1]):
            yield _both_ways(item, other, total.mean)


def _both_ways(item: EdgeInfluence, other: EdgeInfluence, mean: float) -> EdgeInfluence:
    """Return the influence of a pair of variables between which both directions are open."""
    none = 1 - item.posterior - other.posterior
    known = [one.posterior * one.mean_present for one in (item, other) if one.posterior > 0]
    rest = mean - math.fsum(known)
    return replace(
        item,
        mean_absent=rest / none if none > _LEAST else math.nan,
        reverse=other.posterior,
        mean_reverse=other.mean_present,
    )


_LEAST = 1e-9  # probability of no edge, below which rounding leaves nothing of the mean given that


def _mixed(edge: Edge, parts: Mixture[ModelInfluence]) -> EdgeInfluence:
    if any(part.is_open(edge) for part in parts.items):
        return _mixed_both_ways(edge, parts)
    present, with_edge, without_edge = parts.average_array(lambda part: part.shares(edge)).tolist()
    present = min(present, 1.0)
    absent = 1.0 - present
    return EdgeInfluence(
        *edge,
        prior=parts.prior_average(lambda part: edge_prior(part.total.model, edge)),
        posterior=present,
        mean_present=with_edge / present if present else math.nan,
        mean_absent=without_edge / absent if absent > _LEAST else math.nan,  # else nothing but rounding
        raised=parts.average(lambda part: edge_raised(part.total.model, edge)) if parts.weights.tables > 1 else 0.0,
    )


def _mixed_both_ways(edge: Edge, parts: Mixture[ModelInfluence]) -> EdgeInfluence:
    """Return the influence of a pair of variables, both directions of which are open in some model."""
    back = edge[::-1]
    present, with_edge, _ = parts.average_array(lambda part: part.shares(edge)).tolist()
    reverse, with_back, _ = parts.average_array(lambda part: part.shares(back)).tolist()
    none, rest = 1 - present - reverse, parts.average(lambda part: part.total.mean) - with_edge - with_back
    return EdgeInfluence(
        *edge,
        prior=parts.prior_average(lambda part: edge_prior(part.total.model, edge)),
        posterior=present,
        mean_present=with_edge / present if present else math.nan,
        mean_absent=rest / none if none > _LEAST else math.nan,
        independent=False,
        reverse=reverse,
        mean_reverse=with_back / reverse if reverse else math.nan,
    )


def edge_prior(model: FittedGraph, edge: Edge) -> float:
    """Return the prior probability of an edge in one model."""
    cause, effect = edge
    if edge not in model.graph.edges:
        return 0.0
    margin = model.margin(effect)
    return float(margin.stated_inclusion[margin.parents.index(cause)])


def edge_raised(model: FittedGraph, edge: Edge) -> float:
    """Return what a link added to the prior of an edge in one model."""
    cause, effect = edge
    if edge not in model.graph.edges:
        return 0.0
    margin = model.margin(effect)
    return float(margin.raised[margin.parents.index(cause)])


def edge_probability(model: FittedGraph, edge: Edge) -> float:
    """Return the posterior probability of an edge in one model; nan if the engine has no notion of its presence."""
    cause, effect = edge
    if edge not in model.graph.edges:
        return 0.0
    margin = model.margin(effect)
    return math.nan if margin.inclusion is None else min(float(margin.inclusion[margin.parents.index(cause)]), 1.0)


def _node_influences(part: Slope, mean: float, wanted: frozenset[Edge] | None) -> Iterator[EdgeInfluence | None]:
    """Yield the influence of each uncertain edge into one node; None where a conditional mean is not to be had."""
    node = part.node
    if not isinstance(node, NodePosterior):
        return
    for place in np.flatnonzero(~node.certain):
        if wanted is not None and (node.parents[place], part.child) not in wanted:
            continue
        given = _conditional_means(node, int(place))
        if given is None:
            yield None
            continue
        present, absent = given
        yield EdgeInfluence(
            cause=node.parents[place],
            effect=part.child,
            prior=float(node.stated_inclusion[place]),
            posterior=_inclusion(node, int(place)),
            mean_present=float(mean + part.slope @ (present - node.mean)),
            mean_absent=float(mean + part.slope @ (absent - node.mean)),
            independent=node.has_independent_edges,
            raised=float(node.raised[place]),
        )


def _stated(probability: float, raised: float) -> float:
    """Return the probability that a link raises to this one; nan if none is."""
    if raised == 0.0:
        return probability
    return 1.0 - (1.0 - probability) / (1.0 - raised) if probability >= raised < 1.0 else math.nan


def _inclusion(node: NodePosterior, place: int) -> float:
    return math.nan if node.inclusion is None else float(node.inclusion[place])


def _conditional_means(node: NodePosterior, place: int) -> tuple[FloatArray, FloatArray] | None:
    """Condition on the rarer case and get the other by the law of total expectation, which is stable that way round."""
    posterior = _inclusion(node, place)
    rare = posterior < 0.5
    given = node.mean_given(place, rare)
    if given is None:
        return None
    p = posterior if rare else 1 - posterior
    other = (node.mean - p * given) / (1 - p)
    present, absent = (given, other) if rare else (other, given)
    absent[place] = 0.0  # an absent edge has no coefficient, not even a rounding error
    return present, absent
