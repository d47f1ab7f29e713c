"""Small tables with candidate graphs whose order is open in part, and the same as brute force over every graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import alldags as ad
from lines import fit
from naive.orders import Orders

PRIOR = ad.Prior(noise=ad.priors.EquivalentNoise(), link=0.0)  # the same score inside and outside of blocks


@dataclass(frozen=True, eq=False)
class OpenWorld:
    """A table and a graph; `rows` in user's units."""

    rows: np.ndarray
    graph: ad.CandidateGraph
    prior: ad.Prior = PRIOR

    @property
    def names(self):
        return self.graph.variables

    @cached_property
    def posterior(self):
        return fit(self.rows, self.graph, names=self.names, prior=self.prior, robust=False, rng=0)

    @cached_property
    def scale(self):
        return self.rows.std(axis=0, ddof=1)

    def unit(self, i, j):
        return self.scale[j] / self.scale[i]

    @cached_property
    def probability(self):
        """Of independent edges, before cycles are left out."""
        inside = {}
        for block in self.graph.blocks:
            inside.update(self.graph.block_odds(block).probability)
        return {edge: inside.get(edge, p) for edge, p in self.graph.edges.items()}

    @cached_property
    def naive(self):
        x = (self.rows - self.rows.mean(axis=0)) / self.scale
        m = len(self.names)
        odds = np.zeros((m, m))
        with np.errstate(divide="ignore"):
            for (cause, effect), p in self.probability.items():
                odds[self.names.index(cause), self.names.index(effect)] = np.float64(p) / (1.0 - p)
        return Orders(x.T @ x, len(x) - 1.0, odds)

    @cached_property
    def log_evidence(self):
        """Of brute force, with the prior's constants: no edge everywhere, and no cycle."""
        absent = sum(np.log1p(-p) for p in self.probability.values() if p < 1.0)
        acyclic = sum(self.graph.block_odds(block).log_acyclic for block in self.graph.blocks)
        return self.naive.log_total + absent - acyclic


def table(names, n, seed):
    """Rows of a random linear model; units differ."""
    rng = np.random.default_rng(seed)
    m = len(names)
    coefficients = np.triu(rng.normal(size=(m, m)) * (rng.random((m, m)) < 0.7), 1)
    rows = rng.normal(size=(n, m)) @ np.linalg.inv(np.eye(m) - coefficients)
    return 3.0 + rows * rng.uniform(0.5, 4.0, m)


def nothing_known():
    names = list("abcd")
    graph = ad.CandidateGraph.unordered(names, 0.5).with_pair("a", "b", 0.4, 0.1).with_edge("c", "d", 0.1)
    return OpenWorld(table(names, 14, 1), graph)


def two_blocks():
    names = list("abcde")
    graph = ad.CandidateGraph.from_tiers([["a"], ["b", "c"], ["d", "e"]], probability=0.4, within=[None, 0.5, 0.6])
    return OpenWorld(table(names, 12, 2), graph.with_edge("a", "b", 1.0).with_edge("b", "d", 0.7))


def block_first():
    names = list("abcd")
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["d"]], probability=0.3, within=[0.7, None])
    return OpenWorld(table(names, 20, 3), graph)


def sparse_cycle():
    """A cycle over four variables, two of whose edges have one direction only."""
    names = list("abcd")
    edges = {("a", "b"): 0.4, ("b", "c"): 0.5, ("c", "d"): 0.3, ("d", "a"): 0.4, ("b", "a"): 0.3, ("c", "a"): 0.2}
    return OpenWorld(table(names, 15, 4), ad.CandidateGraph.from_edges(edges, variables=names))


WORLDS = {"nothing known": nothing_known, "two blocks": two_blocks, "block first": block_first, "cycle": sparse_cycle}
