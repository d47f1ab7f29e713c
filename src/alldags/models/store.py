"""`NodeStore`: the fitted nodes and blocks of one fit, shared by all its models."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

import numpy as np

from alldags.engines.away import Brought, Parcel, Sent, fit_parcel, parcel_sizes
from alldags.engines.node import fit_node
from alldags.errors import AlldagsWarning
from alldags.interrupts import checkpoint
from alldags.models.pair import PairKey
from alldags.nodes.build import NodeTerms, build, column_terms
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import BatchEngine, Engine, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.nodes.spec import NOTHING, About, NodeSpec
from alldags.orders.choose import order_engine
from alldags.orders.problem import BlockPosterior, BlockProblem
from alldags.pairs.fit import fit_pair
from alldags.pairs.posterior import PairPosterior
from alldags.parallel import map_cluster, map_threads, named_cluster
from alldags.priors.prior import Prior
from alldags.progress import Progress


@dataclass(frozen=True)
class NodeKey:
    """What defines a node: equal keys have equal posteriors.

    Parameters
    ----------
    terms
        The child, the terms of its regression and their probabilities.
    prior
        Without hyperparameters shared by nodes.
    data
        The moments; compared by identity.
    engine
        None: the store's own.
    about
        The question that derived columns are made for.
    """

    terms: NodeTerms
    prior: Prior
    data: WorkingData
    engine: Engine | None = None
    about: About = NOTHING

    @property
    def child(self) -> str:
        """The child's name."""
        return self.terms.child

    @property
    def is_plain(self) -> bool:
        """Whether the node is determined by moments."""
        return self.spec.is_plain

    @property
    def spec(self) -> NodeSpec:
        """What the node's regression is made of."""
        return NodeSpec(self.terms, self.prior, self.data, self.about)

    @property
    def travels(self) -> bool:
        """Whether one problem is all that the node is: it can then be fitted on another machine."""
        whole = self.is_plain and self.data.traits is None and bool(self.terms.names)
        return whole and not self.data.of(self.child).variants

    def problem(self) -> NodeProblem:
        """Return the node's problem."""
        return self.spec.problem()

    def is_like(self, first: NodeKey) -> bool:
        """Tell whether another is this regression in the first of several completed tables."""
        same = self.child == first.child and self.terms.names == first.terms.names and self.about == first.about
        return same and first.data.table is self.data.like and self.engine == first.engine


@dataclass(frozen=True)
class BlockKey:
    """What defines a block of unknown order: equal keys have equal posteriors.

    Parameters
    ----------
    terms
        For each variable inside: the terms of its regression and their probabilities.
    prior
        Of the nodes inside.
    data
        The moments; compared by identity.
    log_acyclic
        Log prior probability that independent edges have no cycle; None if the engine is to find it.
    """

    terms: tuple[NodeTerms, ...]
    prior: Prior
    data: WorkingData
    log_acyclic: float | None

    def problem(self) -> BlockProblem:
        """Return the block's problem."""
        categories = self.data.categories
        written = (column_terms(terms, categories) for terms in self.terms)
        nodes = (build(self.data.of(terms.child), terms, self.prior) for terms in written)
        owners = {column: name for name, columns in categories.items() for column in columns}
        return BlockProblem(tuple(nodes), self.log_acyclic, owners)


class NodeStore:
    """Nodes fitted when first asked for, and kept; a node that several models have is fitted once.

    Every variable has its own random stream: a node's posterior depends neither on which other nodes are fitted, nor on
    the order, nor on the number of threads.

    Parameters
    ----------
    engine
        Fits a node.
    searcher
        The engine for regressions that are looked at on the way to an answer, whatever `engine` is.
    seed
        Source of the nodes' random streams.
    variables
        Names; their order gives each its stream.
    n_jobs
        Threads.
    progress
        Whether to show a bar on a terminal when the work is long.
    backend
        Of joblib: other machines, to which nodes that moments determine are sent; None: what
        ``joblib.parallel_config`` says, if `n_jobs` is not 1.
    """

    def __init__(
        self,
        engine: Engine,
        searcher: Engine,
        seed: np.random.SeedSequence,
        variables: Iterable[str],
        n_jobs: int = 1,
        progress: bool = False,
        backend: Any = None,
    ) -> None:
        self.engine = engine
        self.backend = backend
        self.searcher = searcher
        self._seed = seed
        self._place = {name: i for i, name in enumerate(variables)}
        self._n_jobs = n_jobs
        self.progress = progress
        self._nodes: dict[NodeKey, NodePosterior] = {}
        self._blocks: dict[BlockKey, BlockPosterior] = {}
        self._pairs: dict[PairKey, PairPosterior] = {}

    def block(self, key: BlockKey) -> BlockPosterior:
        """Return the posterior of one block."""
        if key not in self._blocks:
            found = order_engine(self.engine, self.progress)(key.problem(), self.stream(key.terms[0].child))
            self._blocks[key] = found
            for sentence in found.diagnostics.troubles:
                warnings.warn(sentence, AlldagsWarning, stacklevel=5)
        return self._blocks[key]

    def pair(self, key: PairKey) -> PairPosterior:
        """Return the posterior of two variables with correlated errors."""
        if key not in self._pairs:
            self._pairs[key] = fit_pair(key.problem(), self.stream(key.first))
            for sentence in self._pairs[key].diagnostics.troubles:
                warnings.warn(sentence, AlldagsWarning, stacklevel=5)
        return self._pairs[key]

    @property
    def shows(self) -> bool:
        """Whether long work has a bar."""
        return self.progress

    def fitted_blocks(self) -> Iterator[BlockPosterior]:
        """Yield the blocks fitted so far."""
        yield from self._blocks.values()

    def empty(self) -> NodeStore:
        """Return a store of the same kind without nodes, for questions on the way to an answer."""
        return NodeStore(self.engine, self.searcher, self._seed, self._place, self._n_jobs, backend=self.backend)

    def get(self, key: NodeKey) -> NodePosterior:
        """Return the posterior of one node."""
        if key not in self._nodes:
            self._keep([key], [self._fit(key)])
        return self._nodes[key]

    def prepare(self, keys: Iterable[NodeKey]) -> None:
        """Fit several nodes at once, in parallel."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._nodes]
        together = [key for key in wanted if isinstance(key.engine or self.engine, BatchEngine) and key.is_plain]
        apart = [key for key in wanted if key not in together]
        self._keep(together, self._fit_together(together))
        self._keep(apart, self._fit_apart(apart))

    def _keep(self, keys: Sequence[NodeKey], posteriors: Sequence[NodePosterior]) -> None:
        """Keep what was fitted, and warn of what went wrong: the one place where engines' troubles become warnings."""
        self._nodes.update(zip(keys, posteriors, strict=True))
        for key, posterior in zip(keys, posteriors, strict=True):
            for sentence in posterior.diagnostics.troubles if key.engine is None else ():
                warnings.warn(sentence, AlldagsWarning, stacklevel=5)

    def fitted(self) -> Iterator[tuple[NodeKey, NodePosterior]]:
        """Yield the nodes fitted so far."""
        yield from self._nodes.items()

    def _fit_together(self, wanted: list[NodeKey]) -> list[NodePosterior]:
        if not wanted or not isinstance(self.engine, BatchEngine):
            return []
        return list(self.engine.fit_many([key.problem() for key in wanted]))

    def _fit_apart(self, wanted: list[NodeKey]) -> list[NodePosterior]:
        with Progress("fitting nodes", len(wanted), show=None if self.progress else False, patience=1.0) as progress:

            def job(key: NodeKey) -> NodePosterior:
                posterior = self._fit(key)
                progress.advance()
                return posterior

            away = self._fit_away([key for key in wanted if key.travels], progress)
            rest = [key for key in wanted if key not in away]
            found = away | dict(zip(rest, map_threads(job, rest, self._n_jobs), strict=True))
            return [found[key] for key in wanted]

    def _fit_away(self, wanted: list[NodeKey], progress: Progress) -> dict[NodeKey, NodePosterior]:
        """Fit nodes on the machines of a cluster, if there is one; several travel together."""
        backend = self.backend or (None if self._n_jobs == 1 else named_cluster())
        found: dict[NodeKey, NodePosterior] = {}
        if backend is None or len(wanted) < 2:
            return found
        ordered = sorted(wanted, key=lambda key: self._engine_of(key) is not self.engine)  # one engine a parcel
        groups = [list(group) for _, group in groupby(ordered, self._engine_of)]
        loads = [load for group in groups for load in _loads(group)]
        back = map_cluster(fit_parcel, map(self._parcel, loads), backend)
        for load, briefs in zip(loads, back, strict=True):
            checkpoint()
            for key, brief in zip(load, briefs, strict=True):
                engine = Brought(self._engine_of(key), brief)
                found[key] = fit_node(key.spec, engine, self.stream(key.child))
            progress.advance(len(load))
        return found

    def _engine_of(self, key: NodeKey) -> Engine:
        return key.engine or self.engine

    def _parcel(self, keys: Sequence[NodeKey]) -> Parcel:
        nodes = (Sent(key.problem(), self._seed_of(key.child)) for key in keys)
        return Parcel(self._engine_of(keys[0]), tuple(nodes))

    def _fit(self, key: NodeKey) -> NodePosterior:
        checkpoint()
        return fit_node(key.spec, self._engine_of(key), self.stream(key.child), self._like(key))

    def _like(self, key: NodeKey) -> NodePosterior | None:
        """Return the same regression in the first of several completed tables, which is fitted before the others."""
        if key.data.like is None or key.is_plain:
            return None
        return next((found for first, found in self._nodes.items() if key.is_like(first)), None)

    def stream(self, child: str) -> np.random.Generator:
        """Return the child's generator, the same at every call."""
        entropy, key = self._seed_of(child)
        return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))

    def _seed_of(self, child: str) -> tuple[Any, tuple[int, ...]]:
        """Return entropy and spawn key of the child's stream."""
        return self._seed.entropy, (*self._seed.spawn_key, 0, self._place[child])


def _loads(keys: Sequence[NodeKey]) -> Iterator[list[NodeKey]]:
    """Yield the nodes that travel together."""
    remaining = iter(keys)
    for size in parcel_sizes([len(key.terms.names) for key in keys]):
        yield list(islice(remaining, size))
