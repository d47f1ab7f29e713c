"""`GraphFit`: the nodes of one candidate graph, fitted when first asked for and kept."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from alldags.engines.parallel import run_threads
from alldags.errors import EngineError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes import BatchEngine, Engine, NodePosterior, NodeProblem, WorkingMoments, node_problem
from alldags.priors.prior import Prior
from alldags.results.progress import Progress


class GraphFit:
    """One candidate graph, one prior, one engine; nodes are fitted lazily.

    Every variable has its own random stream, made when the fit is made: a node's posterior depends neither on which
    other nodes are fitted, nor on the order, nor on the number of threads.
    """

    def __init__(
        self,
        graph: CandidateGraph,
        prior: Prior,
        working: WorkingMoments,
        engine: Engine,
        rng: np.random.Generator,
        n_jobs: int,
        progress: bool,
    ) -> None:
        self.graph = graph
        self.prior = prior
        self.working = working
        self.engine = engine
        self._streams = dict(zip(graph.variables, rng.spawn(len(graph.variables)), strict=True))
        self._n_jobs = n_jobs
        self._progress = progress
        self._nodes: dict[str, NodePosterior] = {}

    def node(self, child: str) -> NodePosterior:
        """Return the posterior of one node."""
        if child not in self._nodes:
            self._nodes[child] = self._fit(child)
        return self._nodes[child]

    def prepare(self, children: Iterable[str]) -> None:
        """Fit several nodes at once, in parallel."""
        wanted = [child for child in children if child not in self._nodes]
        if isinstance(self.engine, BatchEngine):
            fitted = self.engine.fit_many([self._problem(child) for child in wanted]) if wanted else []
            self._nodes.update(zip(wanted, fitted, strict=True))
            return
        with Progress("fitting nodes", len(wanted), self._progress) as progress:

            def job(i: int) -> NodePosterior:
                posterior = self._fit(wanted[i])
                progress.advance()
                return posterior

            fitted = run_threads(job, len(wanted), self._n_jobs)
        self._nodes.update(zip(wanted, fitted, strict=True))

    def _problem(self, child: str) -> NodeProblem:
        return node_problem(self.working, self.graph, self.prior, child)

    def _fit(self, child: str) -> NodePosterior:
        posterior = self.engine(self._problem(child), self._streams[child])
        posterior.mean  # noqa: B018  - computed here, so that `prepare` does the work in parallel
        return posterior

    @property
    def fitted(self) -> dict[str, NodePosterior]:
        """The nodes fitted so far."""
        return dict(self._nodes)

    @property
    def log_evidence(self) -> float:
        """Sum of the evidences of all nodes; fits them all."""
        self.prepare(self.graph.variables)
        total = 0.0
        for child in self.graph.variables:
            value = self.node(child).log_evidence
            if value is None:
                raise EngineError(
                    f"the engine {self.engine.name!r} gives no evidence for {child!r}; evidence, and so the "
                    "weighing of several graphs, needs engine='exact' or engine='certified'"
                )
            total += value
        return total
