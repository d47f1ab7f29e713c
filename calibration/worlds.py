"""Worlds drawn from a prior: graph, coefficients, noise, rows, and what is true of them.

Under the default prior a slab is in units of the noise and of the parents' standard deviations in the very rows that
are analysed. Parents are made before their children, so that a truth can be drawn from that prior as it stands. Where a
prior is flat (intercepts, the log of a noise variance) the truth may be anything: answers move along with it, and
ranks are uniform for every value. Values are drawn from a distribution that has nothing to do with the prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np

import alldags as ad
from alldags.priors.link import link_prior
from alldags.priors.mixtures import NEG, Horseshoe, Laplace, ScaleMixture, StudentT
from alldags.typing import BoolArray, FloatArray, IntArray

Chances = Callable[[str, dict[str, BoolArray]], FloatArray]


@dataclass(frozen=True, eq=False)
class World:
    """A truth and rows made by it.

    Parameters
    ----------
    names
        Variables, causes before effects.
    coefficients
        Shape (m, m), row = cause; zero where there is no edge.
    present
        Which edges there are, shape (m, m).
    origin, noise
        Intercepts and standard deviations of the noise, shape (m,).
    rows
        Shape (n, m).
    """

    names: tuple[str, ...]
    coefficients: FloatArray
    present: BoolArray
    origin: FloatArray
    noise: FloatArray
    rows: FloatArray

    @property
    def effects(self) -> FloatArray:
        """Total effects, shape (m, m), row = cause."""
        return np.linalg.inv(np.eye(len(self.names)) - self.coefficients)

    def effect(self, treatment: str, outcome: str) -> float:
        """Return a total effect."""
        return float(self.effects[self.names.index(treatment), self.names.index(outcome)])

    def has_path(self, treatment: str, outcome: str) -> bool:
        """Tell whether a directed path leads from one to the other."""
        reach = np.linalg.matrix_power(np.eye(len(self.names)) + self.present, len(self.names))
        return bool(reach[self.names.index(treatment), self.names.index(outcome)] > 0)

    def new_unit(self, treatment: str, value: float, outcome: str, rng: np.random.Generator) -> float:
        """Return the outcome of a unit that is not among the rows, when the treatment is set."""
        unit = self.origin + self.noise * rng.standard_normal(len(self.names))
        for j, name in enumerate(self.names):
            unit[j] = value if name == treatment else unit[j] + unit[:j] @ self.coefficients[:j, j]
        return float(unit[self.names.index(outcome)])


@dataclass
class _Draft:
    """A world that is being made, one variable after the other."""

    graph: ad.CandidateGraph
    rows: int
    names: tuple[str, ...]
    values: FloatArray
    coefficients: FloatArray
    present: dict[str, BoolArray] = field(default_factory=dict)
    origin: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, graph: ad.CandidateGraph, rows: int) -> _Draft:
        m = len(graph.order)
        return cls(graph, rows, tuple(graph.order), np.zeros((rows, m)), np.zeros((m, m)))

    def add(self, child: str, prior: ad.Prior, rng: np.random.Generator, present: BoolArray, tau: float) -> None:
        """Draw noise, coefficients and rows of one variable."""
        parents = self.places(child)[present]
        deviation = _noise(prior, len(parents), rng)
        theta = _coefficients(prior, self.values[:, parents], deviation, tau, rng)
        origin = rng.normal(0.0, 3.0) if prior.intercept else 0.0
        j = self.names.index(child)
        self.coefficients[parents, j] = theta
        made = origin + self.values[:, parents] @ theta + deviation * rng.standard_normal(self.rows)
        self.values[:, j] = made
        self.present[child] = present
        self.origin.append(origin)
        self.noise.append(deviation)

    def places(self, child: str) -> IntArray:
        """Return the columns of the candidate parents."""
        return np.array([self.names.index(name) for name in self.graph.parents(child)], dtype=int)

    def world(self) -> World:
        """Return what was made."""
        shape = self.coefficients.shape
        present = np.zeros(shape, dtype=bool)
        for j, child in enumerate(self.names):
            present[self.places(child)[self.present[child]], j] = True
        return World(self.names, self.coefficients, present, np.array(self.origin), np.array(self.noise), self.values)


def draw_world(graph: ad.CandidateGraph, prior: ad.Prior, rows: int, rng: np.random.Generator) -> World:
    """Draw a world from a prior; every direction of the graph is known."""
    draft = _Draft.of(graph, rows)
    shared = _slab(prior, rows, rng)
    for child in draft.names:
        tau = shared if prior.slab is not None and prior.slab.is_shared else _slab(prior, rows, rng)
        draft.add(child, prior, rng, _edges(graph, child, prior, rng), tau)
    return draft.world()


def draw_linked(
    graph: ad.CandidateGraph, prior: ad.Prior, treatment: str, rows: int, rng: np.random.Generator
) -> World:
    """Draw a world from the joint prior that the link stands for if one node comes after the treatment.

    What drives the treatment is drawn as the link looks for it; a cause of the treatment acts on what comes after with
    the raised probability.
    """
    draft = _Draft.of(graph, rows)
    for child in draft.names:
        own = link_prior(prior) if child == treatment else prior
        present = _edges(graph, child, own, rng)
        if treatment in graph.parents(child):
            drives = dict(zip(graph.parents(treatment), draft.present[treatment], strict=True))
            also = np.array([drives.get(name, False) for name in graph.parents(child)])
            present = present | (also & (rng.random(len(also)) < prior.link))
        draft.add(child, own, rng, present, _slab(own, rows, rng))
    return draft.world()


def _edges(graph: ad.CandidateGraph, child: str, prior: ad.Prior, rng: np.random.Generator) -> BoolArray:
    """Draw which candidate edges into a child there are."""
    stated = np.array([graph.edges[name, child] for name in graph.parents(child)])
    if prior.coefficients is not None:
        return np.ones(len(stated), dtype=bool)
    if isinstance(prior.edges, ad.priors.BetaBinomial):
        stated = np.where(stated < 1.0, rng.beta(prior.edges.a, prior.edges.b), 1.0)
    return np.asarray(rng.random(len(stated)) < stated)


def _slab(prior: ad.Prior, rows: int, rng: np.random.Generator) -> float:
    """Draw the slab's variance, or g."""
    if prior.slab is None:
        return prior.fixed_slab
    values, log_weights = prior.slab.values(rows - prior.intercept)
    return float(rng.choice(values, p=np.exp(log_weights - np.logaddexp.reduce(log_weights))))


def _noise(prior: ad.Prior, parents: int, rng: np.random.Generator) -> float:
    """Draw a standard deviation; of an improper prior, anything."""
    noise = prior.noise
    if isinstance(noise, ad.priors.KnownNoise):
        return float(noise.precision**-0.5)
    if isinstance(noise, ad.priors.EquivalentNoise):
        return float(rng.gamma((noise.dof + parents) / 2, 2.0 * prior.fixed_slab) ** -0.5)
    assert isinstance(noise, ad.priors.UnknownNoise)
    if not noise.is_proper:
        return float(np.exp(rng.normal(0.0, 0.7)))
    return float(rng.gamma(noise.shape, 1.0 / noise.rate) ** -0.5)


def _coefficients(prior: ad.Prior, x: FloatArray, noise: float, tau: float, rng: np.random.Generator) -> FloatArray:
    """Draw the coefficients of the parents that are present; `x` are their rows."""
    count = x.shape[1]
    free = isinstance(prior.noise, ad.priors.KnownNoise) or not getattr(prior.noise, "scales_slab", True)
    unit = 1.0 if free else noise
    if prior.coefficients is not None:
        return np.asarray(rng.standard_normal(count) * unit * np.sqrt(mixing(prior.coefficients, count, rng)))
    if prior.slab is not None and prior.slab.kind == "g":
        centred = x - x.mean(axis=0) if prior.intercept else x
        root = np.linalg.qr(centred, mode="r")
        return np.asarray(noise * np.sqrt(tau) * np.linalg.solve(root, rng.standard_normal(count)))
    scale = x.std(axis=0, ddof=1) if prior.units == "standardized" else np.ones(count)
    return np.asarray(rng.standard_normal(count) * np.sqrt(tau) * unit / scale)


def mixing(prior: ScaleMixture, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw variances from the mixing distribution of a scale mixture, shape (size,)."""
    if isinstance(prior, NEG):
        return np.asarray(rng.exponential(2.0 / rng.gamma(prior.kappa, 1.0 / prior.nu, size)))
    if isinstance(prior, Laplace):
        return np.asarray(rng.exponential(2.0 / prior.alpha, size))
    if isinstance(prior, StudentT):
        return np.asarray(prior.rate / rng.standard_gamma(prior.shape, size))
    assert isinstance(prior, Horseshoe)
    top = prior.global_scale * (abs(rng.standard_cauchy()) if prior.learn_global else 1.0)
    return np.asarray((top * np.abs(rng.standard_cauchy(size))) ** 2)


def columns(world: World) -> dict[str, Any]:
    """Return the rows as a table."""
    return dict(zip(world.names, world.rows.T, strict=True))


@lru_cache(maxsize=2)
def acyclic(graph: ad.CandidateGraph) -> tuple[BoolArray, FloatArray]:
    """Return all graphs of variables whose order is open, shape (graphs, m, m), and their prior probabilities."""
    names = graph.variables
    pairs = list(combinations(range(len(names)), 2))
    odds = graph.block_odds(graph.blocks[0]).odds
    found, weights = [], []
    for states in product((0, 1, 2), repeat=len(pairs)):
        present = np.zeros((len(names), len(names)), dtype=bool)
        for (i, j), state in zip(pairs, states, strict=True):
            present[i, j], present[j, i] = state == 1, state == 2
        if not np.linalg.matrix_power(present.astype(int), len(names)).any():
            found.append(present)
            weights.append(np.prod([odds[names[i], names[j]] for i, j in np.argwhere(present)]))
    return np.array(found), np.array(weights) / np.sum(weights)


def draw_unordered(graph: ad.CandidateGraph, prior: ad.Prior, rows: int, rng: np.random.Generator) -> World:
    """Draw a world when every direction is open; at most five variables, all in one block."""
    graphs, weights = acyclic(graph)
    chosen = graphs[rng.choice(len(graphs), p=weights)]
    edges = {(graph.variables[i], graph.variables[j]): 1.0 for i, j in np.argwhere(chosen)}
    return draw_world(ad.CandidateGraph.from_edges(edges, graph.variables), prior, rows, rng)
