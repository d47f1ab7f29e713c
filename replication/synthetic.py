"""The paper's synthetic experiments: a small graph and a large one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from alldags.data.moments import Moments
from alldags.datasets.paper import paper_graph, paper_sample
from alldags.fitting import fit
from alldags.graph.candidate import CandidateGraph
from replication.methods import PRIORS, child_rng, make_engine, with_mixture
from replication.runner import Result, Task


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Settings of a synthetic experiment; called with a task, it does the replication.

    A replication draws one graph, its coefficients and the largest sample; smaller samples are its first rows, and
    every method sees the same rows.

    Parameters
    ----------
    n1, n2
        Numbers of confounders and mediators.
    sizes
        Sample sizes.
    methods
        Names of Bayesian methods, all run with the paper's prior.
    extra
        Methods that are run with the default prior as well.
    seed
        Of everything.
    slab_variance, noise_precision
        ``tau`` and ``s`` of the paper, for the data and for the prior.
    """

    n1: int
    n2: int
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    extra: tuple[str, ...] = ()
    seed: int = 0
    slab_variance: float = 1.0
    noise_precision: float = 1.0

    def __call__(self, task: Task) -> list[Result]:
        """Do one replication; ``task.group`` is ``"p=0.5"`` or the like."""
        probability = group_probability(task.group)
        graph = _graph(self.n1, self.n2, probability)
        key = (round(1000 * probability), task.replication)
        sample = paper_sample(
            graph,
            max(self.sizes),
            child_rng(self.seed, *key),
            slab_variance=self.slab_variance,
            noise_precision=self.noise_precision,
        )
        truth = sample.effect("X", "Y")
        runs = [("paper", method) for method in self.methods] + [("default", method) for method in self.extra]
        results = []
        for size in self.sizes:
            moments = Moments.from_table(sample.table[:size], names=sample.names)
            for prior, method in runs:
                start = time.perf_counter()
                rng = child_rng(self.seed, *key, size, prior, method)
                estimate = self._estimate(moments, graph, prior, method, rng)
                seconds = time.perf_counter() - start
                results.append(Result(*task, size, prior, method, estimate, truth, seconds=seconds))
        return results

    def _estimate(
        self, moments: Moments, graph: CandidateGraph, prior: str, method: str, rng: np.random.Generator
    ) -> float:
        made = PRIORS[prior]()
        if prior == "paper":
            made = type(made).paper(self.slab_variance, self.noise_precision)
        made = with_mixture(made, method)
        return fit(moments, graph, prior=made, engine=make_engine(method), rng=rng).effect("X", "Y").mean


def group_name(probability: float) -> str:
    """Return the group of an edge probability, ``"p=0.5"``."""
    return f"p={probability:g}"


def group_probability(group: str) -> float:
    """Return the edge probability of a group."""
    return float(group.removeprefix("p="))


@lru_cache(maxsize=8)
def _graph(n1: int, n2: int, probability: float) -> CandidateGraph:
    return paper_graph(n1, n2, probability=probability)
