"""Slow twin of blocks of unknown order: every acyclic graph one by one, under the score-equivalent prior.

A graph's weight is a product of node weights (`naive.equivalent`), its effects are found in the graph's own order.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from naive.equivalent import given, log_node


def acyclic(parents) -> bool:
    """Tell whether parent sets, one per variable, have no cycle: take those without parents away until none is left."""
    left = dict(enumerate(map(set, parents)))
    while left:
        free = [j for j, own in left.items() if not own & left.keys()]
        if not free:
            return False
        for j in free:
            del left[j]
    return True


def all_graphs(candidates):
    """Yield the parent sets of every acyclic graph, given the candidate parents of each variable."""
    choices = [
        [frozenset(s) for r in range(len(own) + 1) for s in itertools.combinations(own, r)] for own in candidates
    ]

    def grow(chosen):
        j = len(chosen)
        if j == len(choices):
            yield chosen
            return
        for own in choices[j]:
            longer = (*chosen, own)
            if acyclic([*longer, *[frozenset()] * (len(choices) - j - 1)]):
                yield from grow(longer)

    yield from grow(())


@dataclass
class Orders:
    """All graphs over m variables, weighed.

    `odds[i, j]` of the edge i -> j against none, 0 for no candidate, infinite for a certain edge. `by_size` adds a log
    weight for each number of uncertain parents.
    """

    scatter: np.ndarray
    n: float
    odds: np.ndarray
    dof: float = 2.0
    t: float = 1.0
    by_size: np.ndarray | None = None
    graphs: list = field(init=False)
    weights: np.ndarray = field(init=False)
    log_total: float = field(init=False)

    def __post_init__(self):
        m = len(self.odds)
        candidates = [[i for i in range(m) if self.odds[i, j] > 0] for j in range(m)]
        needed = [{i for i in range(m) if math.isinf(self.odds[i, j])} for j in range(m)]
        found = all_graphs(candidates)
        self.graphs = [g for g in found if all(own >= need for own, need in zip(g, needed, strict=True))]
        logs = np.array([sum(self.log_weight(j, own) for j, own in enumerate(g)) for g in self.graphs])
        self.log_total = float(np.logaddexp.reduce(logs))
        self.weights = np.exp(logs - self.log_total)

    @cached_property
    def node(self):
        @cache
        def moments(j, own):
            """Mean, covariance over all m variables, and noise variance."""
            m, parents = len(self.odds), sorted(own)
            columns = [*parents, j]
            part = self.scatter[np.ix_(columns, columns)]
            mean, covariance, noise = given(part, self.n, np.ones(len(parents), dtype=bool), self.dof, self.t)
            full, square = np.zeros(m), np.zeros((m, m))
            full[parents] = mean
            square[np.ix_(parents, parents)] = covariance
            return full, square, noise

        return moments

    def log_weight(self, j, own):
        uncertain = [i for i in own if not math.isinf(self.odds[i, j])]
        value = log_node(self.scatter, self.n, j, sorted(own), self.dof, self.t)
        value += sum(math.log(self.odds[i, j]) for i in uncertain)
        return value + (0.0 if self.by_size is None else self.by_size[len(uncertain)])

    def average(self, value):
        """Average a number or an array over all graphs."""
        return sum(w * np.asarray(value(g), dtype=float) for w, g in zip(self.weights, self.graphs, strict=True))

    # -- one graph -----------------------------------------------------------------------------------------------------

    def edges(self, g):
        out = np.zeros_like(self.odds)
        for j, own in enumerate(g):
            out[sorted(own), j] = 1.0
        return out

    def coefficients(self, g):
        return np.array([self.node(j, own)[0] for j, own in enumerate(g)]).T

    def effects(self, g):
        """Mean total effects, row = cause: different nodes are independent given the graph."""
        return np.linalg.inv(np.eye(len(g)) - self.coefficients(g))

    def has_path(self, g):
        return (np.linalg.matrix_power(np.eye(len(g)) + self.edges(g), len(g)) > 0).astype(float)

    def order(self, g):
        placed = []
        while len(placed) < len(g):
            placed += [j for j in range(len(g)) if j not in placed and g[j] <= set(placed)]
        return placed

    def seconds(self, g, source, value=1.0, noise=0.0, between=False):
        """E[t], E[t t'] of a number held at `source` and carried along the edges of one graph."""
        m = len(g)
        first, second = np.zeros(m), np.zeros((m, m))
        for j in self.order(g):
            mean, covariance, variance = self.node(j, g[j])
            if j == source:
                second[j], second[:, j] = value * first, value * first
                first[j], second[j, j] = value, value**2
                continue
            moment = np.outer(mean, mean) + (0.0 if between else covariance)
            own = (moment * second).sum() + noise * variance
            first[j] = mean @ first
            second[j] = second[:, j] = mean @ second
            second[j, j] = own
        return first, second

    # -- answers -------------------------------------------------------------------------------------------------------

    def effect(self, source, target):
        """Mean, sd, structural sd and P(no path) of a total effect."""
        mean = self.average(lambda g: self.effects(g)[source, target])
        second = self.average(lambda g: self.seconds(g, source)[1][target, target])
        between = self.average(lambda g: self.effects(g)[source, target] ** 2)
        none = 1.0 - self.average(lambda g: self.has_path(g)[source, target])
        return np.array([mean, math.sqrt(second - mean**2), math.sqrt(max(between - mean**2, 0.0)), none])

    def path(self, places):
        """Mean and second moment of the product along a path, and its probability."""

        def one(g):
            pairs = list(itertools.pairwise(places))
            if not all(i in g[j] for i, j in pairs):
                return np.zeros(3)
            nodes = [(self.node(j, g[j]), i) for i, j in pairs]
            first = np.prod([node[0][i] for node, i in nodes])
            return np.array([first, np.prod([node[0][i] ** 2 + node[1][i, i] for node, i in nodes]), 1.0])

        return self.average(one)

    def mediated(self, source, k, target):
        """Mean and second moment of the effect that passes through k; the two legs have different nodes."""

        def one(g):
            legs = self.effects(g)
            squares = self.seconds(g, source)[1][k, k] * self.seconds(g, k)[1][target, target]
            return np.array([legs[source, k] * legs[k, target], squares])

        return self.average(one)

    def given_edge(self, cause, effect, source, target):
        """Mean effect given that an edge is present."""
        share = self.average(lambda g: float(cause in g[effect]))
        return self.average(lambda g: (cause in g[effect]) * self.effects(g)[source, target]) / share

    def intervention(self, source, target, value, noise=1.0):
        """Mean and variance of a new unit's target when the source is held at a value."""

        def one(g):
            first, second = self.seconds(g, source, value, noise)
            return np.array([first[target], second[target, target]])

        mean, second = self.average(one)
        return np.array([mean, second - mean**2])
