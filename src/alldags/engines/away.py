"""Nodes that are fitted on other machines: their problems go there, and what is asked of most nodes comes back.

A problem is a few numbers per candidate cause and pair of them. Seeds are sent as numbers: a `SeedSequence` counts its
children, so that one which was used before would give another stream where it arrives. Of a sampled node come back
averages, second moments, parent sets in bits and means of long batches; traces stay, and who asks for one has the
node fitted here once more, from the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from alldags.engines.sampling.diagnostics import MCMCDiagnostics, long_batches
from alldags.engines.sampling.estimates import Estimates, unseen
from alldags.engines.sampling.posterior import SampledPosterior
from alldags.engines.sampling.sample import Sample, reach
from alldags.kernels.sampler.target import MEAN
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.typing import BoolArray, FloatArray, IntArray

_COLUMNS = 600  # of the problems that travel together: about a second of work


class Sent(NamedTuple):
    """A node that is to be fitted elsewhere: its problem, and entropy and spawn key of its seed."""

    problem: NodeProblem
    seed: tuple[Any, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Parcel:
    """Nodes that travel together, and the engine that fits them."""

    engine: Engine
    nodes: tuple[Sent, ...]


class Brief(NamedTuple):
    """What comes back of a sampled node; see `SampledPosterior` and `MCMCDiagnostics`.

    Parameters
    ----------
    estimates, diagnostics
        The latter without trace.
    second
        Second moments, shape (k, k).
    sets, settings
        Stored parent sets in bits, shape (sets, k / 8), and the hyperparameter value of each, shape (sets,).
    means
        Mean coefficients in long batches, two divisions of the sweeps, shape (batches, k) each.
    rare
        What sets that were not met may change a coefficient by, shape (k,).
    """

    estimates: Estimates
    diagnostics: MCMCDiagnostics
    second: FloatArray
    sets: Any
    settings: Any
    means: tuple[FloatArray, ...]
    rare: FloatArray


def fit_parcel(parcel: Parcel) -> list[Brief | NodePosterior]:
    """Fit the nodes of a parcel; this runs on the other machine."""
    return [_brief(parcel.engine(one.problem, _stream(one.seed))) for one in parcel.nodes]


def _stream(seed: tuple[Any, tuple[int, ...]]) -> np.random.Generator:
    entropy, key = seed
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def parcel_sizes(columns: Sequence[int]) -> list[int]:
    """Return how many nodes go into each parcel; `columns` has the number of candidate causes of each node.

    Examples
    --------
    >>> from alldags.engines.away import parcel_sizes
    >>> parcel_sizes([30] * 45), parcel_sizes([1000, 1000])
    ([20, 20, 5], [1, 1])
    """
    sizes, inside = [0], 0
    for count in columns:
        if sizes[-1] and inside + count > _COLUMNS:
            sizes.append(0)
            inside = 0
        sizes[-1] += 1
        inside += count
    return sizes if columns else []


def _brief(node: NodePosterior) -> Brief | NodePosterior:
    """Return what is sent back of a node; one that is not sampled goes back whole, its moments computed."""
    node.mean, node.second_moment  # noqa: B018  - computed there
    if type(node) is not SampledPosterior:
        return node
    recorded, trace = node.sample.recorded, node.sample.recorded.trace[:, :, MEAN]
    means = tuple(long_batches(trace, max(count, 1)) for count in (math.isqrt(trace.shape[1]), 5))
    sets = np.packbits(node.sets, axis=1)
    settings = node.set_settings.astype(np.uint16)
    rare = unseen(reach(node.sample.systems), recorded)
    return Brief(node.estimates, _without_trace(node.diagnostics), node.second_moment, sets, settings, means, rare)


def _without_trace(found: MCMCDiagnostics) -> MCMCDiagnostics:
    """Return diagnostics that have no trace, and know nobody to ask for it yet."""
    kept = {name: value for name, value in vars(found).items() if name != "trace"}
    made = TracelessDiagnostics.__new__(TracelessDiagnostics)
    made.__dict__.update(kept)
    return made


class TracelessDiagnostics(MCMCDiagnostics):
    """Diagnostics whose trace is made again when it is first asked for."""

    def __getattr__(self, name: str) -> FloatArray:
        if name != "trace" or "again" not in self.__dict__:
            raise AttributeError(name)
        self.__dict__["trace"] = self.__dict__["again"].whole.diagnostics.trace
        return self.__dict__["trace"]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Brought:
    """An engine that has fitted a node elsewhere: it is called like any other, once, with that node's problem."""

    engine: Engine
    found: Brief | NodePosterior

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def takes(self) -> tuple[type, ...]:
        return self.engine.takes

    @property
    def scope(self) -> str | None:
        return self.engine.scope

    @property
    def estimate(self) -> str:
        return self.engine.estimate

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the node as it came back."""
        if isinstance(self.found, NodePosterior):
            return self.found
        return SampledElsewhere(problem, self.found, self.engine, rng)


class SampledElsewhere(SampledPosterior):
    """A posterior that was sampled on another machine; what needs traces has it sampled here, once more.

    Parameters
    ----------
    problem
        Of the node.
    brief
        What came back.
    engine, rng
        By which it is sampled here: the same engine, and a generator of the same seed.
    """

    def __init__(self, problem: NodeProblem, brief: Brief, engine: Engine, rng: np.random.Generator) -> None:
        self.problem = problem
        self.estimates = brief.estimates
        self._brief = brief
        self._engine = engine
        self._own_rng = rng
        self.diagnostics = copy(brief.diagnostics)
        self.diagnostics.__dict__["again"] = self

    @cached_property
    def whole(self) -> SampledPosterior:
        """The same posterior, with its traces."""
        found = self._engine(self.problem, deepcopy(self._own_rng))
        assert isinstance(found, SampledPosterior)
        return found

    @property
    def sample(self) -> Sample:  # type: ignore[override]
        return self.whole.sample

    @property
    def _rng(self) -> np.random.Generator:  # type: ignore[override]
        return self.whole._rng

    @property
    def _refit(self) -> Any:  # type: ignore[override]
        return self.whole._refit

    @property
    def sets(self) -> BoolArray:
        """Stored parent sets of all chains, shape (sets, k)."""
        return np.unpackbits(self._brief.sets, axis=1, count=self.problem.k).astype(bool)

    @property
    def set_settings(self) -> IntArray:
        """Index of the hyperparameter value of each stored set, shape (sets,)."""
        return np.asarray(self._brief.settings, dtype=np.int64)

    @property
    def second_moment(self) -> FloatArray:
        return self._brief.second

    def linear_error(self, weights: FloatArray) -> float:
        weights = np.asarray(weights, dtype=float)
        batches = [means @ weights for means in self._brief.means]
        error = max(float(np.sqrt(one.var(ddof=1) / len(one))) for one in batches)
        return math.hypot(error, float(np.sqrt(((weights * self._brief.rare) ** 2).sum())))
