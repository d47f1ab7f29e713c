"""Random problems for the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import alldags as ad
import lines
from alldags.nodes import NodeProblem, Setting, node_problem, working_data
from naive import effects as naive

NAMES = tuple("abcdefghijklmnopqrstuvwxyz")
UNKNOWN = (Setting(1.0, ad.priors.UnknownNoise()),)


def make_problem(
    x: np.ndarray,
    y: np.ndarray,
    prior: ad.Prior | None = None,
    *,
    probability: float | Sequence[float] | np.ndarray = 0.5,
    certain: Sequence[int] = (),
    settings: tuple[Setting, ...] = UNKNOWN,
    log_size: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    groups: Sequence[int] | np.ndarray | None = None,
) -> NodeProblem:
    """Make the problem of regressing `y` (n,) on the columns of `x` (n, k); the one builder of all tests.

    With a prior it is made as `fit` makes it. Without one the rows count as they are (no intercept, no units), under
    the `settings` and the prior `log_size` of the number of parents, in `groups` if columns go together. The last of
    `names` is the child's.
    """
    n, k = x.shape
    chances = np.broadcast_to(np.asarray(probability, dtype=float), (k,)).copy()
    chances[list(certain)] = 1.0
    names = (*(f"x{i}" for i in range(k)), "y") if names is None else tuple(names)
    if prior is None:
        total, numbers = float(y @ y), None if groups is None else np.asarray(groups)
        plain = NodeProblem(names[k], names[:k], x.T @ x, x.T @ y, total, float(n), chances, settings, log_size)
        return replace(plain, groups=numbers)
    edges = {(name, names[k]): float(p) for name, p in zip(names, chances, strict=False)}
    graph = ad.CandidateGraph.from_edges(edges, variables=names)
    moments = ad.Moments.from_table(np.column_stack([x, y]), names=names)
    return node_problem(working_data(moments, prior, names), graph, prior, names[k])


@dataclass
class World:
    """A table with a candidate graph and a prior, and the same in the terms of the naive twins."""

    rows: np.ndarray
    probability: np.ndarray
    prior: ad.Prior

    @property
    def names(self):
        return NAMES[: self.rows.shape[1]]

    @property
    def graph(self):
        return ad.CandidateGraph.from_matrix(self.probability, self.names)

    @property
    def naive_rows(self):
        return naive.contrasts(self.rows) if self.prior.intercept else self.rows

    @property
    def naive_noise(self):
        noise = self.prior.noise
        if isinstance(noise, ad.priors.KnownNoise):
            return ("known", noise.precision)
        return ("unknown", noise.shape, noise.rate)

    def fit(self, **options):
        options = {"prior": self.prior, "rng": 1, "engine": "exact", "robust": False} | options
        return lines.fit(self.rows, self.graph, names=self.names, **options)

    def naive_effect(self, source, target):
        place = self.names.index
        return naive.effect(
            self.naive_rows, self.probability, self.prior.slab_variance, self.naive_noise, place(source), place(target)
        )


PRIORS = {
    "known": ad.Prior(1.3, ad.priors.KnownNoise(1.2), "raw", intercept=False, link=0.0),
    "known, intercept": ad.Prior(0.6, ad.priors.KnownNoise(0.7), "raw", link=0.0),
    "unknown": ad.Prior(1.3, ad.priors.UnknownNoise(1.5, 0.7), "raw", intercept=False, link=0.0),
    "unknown, improper, intercept": ad.Prior(2.0, ad.priors.UnknownNoise(), "raw", link=0.0),
}


def random_world(seed: int, prior: ad.Prior, variables: int = 5, rows: int = 25, max_edges: int = 12) -> World:
    """Make a world with mixed edge probabilities (some certain) whose data follow one of its graphs."""
    rng = np.random.default_rng(seed)
    while True:
        levels = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], size=(variables, variables), p=[0.15, 0.25, 0.3, 0.2, 0.1])
        probability = np.triu(levels, 1)
        if 0 < (probability > 0).sum() <= max_edges and probability[:, -1].any():
            break
    x = rng.normal(size=(rows, variables)) + rng.normal(size=variables)
    for child in range(variables):
        for parent in range(child):
            if rng.random() < probability[parent, child]:
                x[:, child] += rng.normal() * x[:, parent]
    return World(x, probability, prior)


def random_node(seed: int, prior: ad.Prior, k: int, rows: int = 30, certain: int = 0) -> tuple[NodeProblem, World]:
    """Make one child with k candidate parents, the first `certain` of them certain."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, k + 1)) + 0.6 * rng.normal(size=(rows, 1))
    x[:, k] += x[:, : (k + 1) // 2] @ rng.normal(size=(k + 1) // 2)
    probability = np.zeros((k + 1, k + 1))
    probability[:k, k] = rng.uniform(0.1, 0.9, size=k)
    probability[:certain, k] = 1.0
    world = World(x, probability, prior)
    return make_problem(x[:, :k], x[:, k], prior, probability=probability[:k, k], names=world.names), world


KINDS = ["known", "unknown", "g", "g known", "sizes", "sizes unknown"]


def random_kind(rng: np.random.Generator, kind: str, k: int, certain: int = 0) -> NodeProblem:
    """Correlated parents, effects from none to overwhelming, any number of rows."""
    n = int(rng.integers(max(k // 2, 4), 80)) if not kind.startswith("g") else int(rng.integers(k + 3, 80))
    x = rng.standard_normal((n, k)) @ (np.eye(k) + rng.uniform(0, 1.2) * rng.standard_normal((k, k)) / math.sqrt(k))
    effects = rng.standard_normal(k) * (rng.random(k) < 0.4) * rng.choice([0.1, 0.5, 3.0])
    y = x @ effects + rng.standard_normal(n)
    noise = (
        ad.priors.KnownNoise(float(rng.uniform(0.5, 2)))
        if kind in ("known", "g known", "sizes")
        else ad.priors.UnknownNoise()
    )
    slab = "g" if kind.startswith("g") else "independent"
    probability = rng.uniform(0.05, 0.9, k)
    log_size = None
    if kind.startswith("sizes"):
        probability[:] = 0.5
        log_size = ad.priors.BetaBinomial(1.0, float(rng.uniform(0.5, 3))).log_size(k - certain)
    probability[:certain] = 1.0
    settings = (Setting(float(rng.uniform(0.3, 20)), noise, slab),)  # type: ignore[arg-type]
    return make_problem(x, y, probability=probability, settings=settings, log_size=log_size)


def grouped_problem(
    rng: np.random.Generator,
    sizes: Sequence[int],
    noise: ad.priors.KnownNoise | ad.priors.UnknownNoise | ad.priors.EquivalentNoise | None = None,
    *,
    slab: str = "independent",
    certain: Sequence[int] = (),
    sized: bool = False,
    rows: int = 60,
    taus: Sequence[float] = (1.3,),
    signal: float = 0.6,
) -> NodeProblem:
    """Groups of columns of these sizes, some of them certain, about half without an effect; one setting for each tau.

    `sized` puts a prior on the number of groups.
    """
    groups = np.repeat(np.arange(len(sizes)), sizes)
    k = len(groups)
    x = rng.standard_normal((rows, k)) @ (np.eye(k) + 0.5 * rng.standard_normal((k, k)) / math.sqrt(max(k, 1)))
    effects = signal * rng.standard_normal(k) * (rng.random(len(sizes)) < 0.5)[groups]
    chances = rng.uniform(0.1, 0.9, len(sizes))
    chances[list(certain)] = 1.0
    log_size = ad.priors.BetaBinomial(1.0, 2.0).log_size(len(sizes) - len(certain)) if sized else None
    noise = ad.priors.UnknownNoise() if noise is None else noise
    settings = tuple(Setting(tau, noise, slab, -0.3 * i) for i, tau in enumerate(taus))  # type: ignore[arg-type]
    y = x @ effects + rng.standard_normal(rows)
    return make_problem(x, y, probability=chances[groups], settings=settings, log_size=log_size, groups=groups)


def correlated_problem(
    rng: np.random.Generator,
    n: int,
    k: int,
    noise: ad.priors.KnownNoise | ad.priors.UnknownNoise,
    certain: Sequence[int] = (),
    signal: float = 1.0,
    correlation: float = 0.5,
) -> NodeProblem:
    """Correlated parents, half of the coefficients zero."""
    common = rng.standard_normal((n, 1))
    x = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.standard_normal((n, k))
    theta = signal * rng.standard_normal(k) * (rng.random(k) < 0.5)
    return make_problem(x, x @ theta + rng.standard_normal(n), certain=certain, settings=(Setting(1.0, noise),))


def nine_settings(problem: NodeProblem) -> NodeProblem:
    """The problem under slab variances from e^-2 to e^12; a g-prior's g from 1 to e^14."""
    (one,) = problem.settings
    t = np.linspace(-2.0, 12.0, 9)
    shift = 2.0 if one.slab == "g" else 0.0
    log_weight = -(t**2) / (2 * 2.5**2)
    log_weight -= np.logaddexp.reduce(log_weight)
    values = zip(np.exp(t + shift), log_weight, strict=True)
    return replace(problem, settings=tuple(Setting(float(v), one.noise, one.slab, float(w)) for v, w in values))
