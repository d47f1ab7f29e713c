"""`Traits`: the walk of one fit, made when first asked for; and one variable's regression as it comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from alldags.data.lagged import FIRST
from alldags.engines.sampling.diagnostics import mean_errors, split_r_hat
from alldags.engines.traits.adjusted import Within, adjusted
from alldags.engines.traits.panel import Panel
from alldags.engines.traits.walk import CHAINS, Kept, Variable, Walk
from alldags.errors import EngineError, PriorError
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.build import build, linear_terms
from alldags.nodes.data import ChildData
from alldags.nodes.posterior import Diagnostics, NodePosterior, ParentSet
from alldags.nodes.problem import NodeProblem
from alldags.nodes.spec import NodeSpec
from alldags.priors.prior import Prior
from alldags.steps import lags_of
from alldags.typing import BoolArray, FloatArray

MOST_FREE = 10
_R_HAT = 1.05


class Traits:
    """What is lasting about units, found for all variables at once.

    Parameters
    ----------
    panel
        Its moments.
    graph, prior
        Of the fit.
    rows
        All rows, as if nothing were lasting: names and priors of the regressions are made from them.
    seed
        Of the walk.
    """

    def __init__(
        self, panel: Panel, graph: CandidateGraph, prior: Prior, rows: ChildData, seed: np.random.SeedSequence
    ) -> None:
        self.panel = panel
        self._graph, self._prior, self._rows, self._seed = graph, prior, rows, seed

    @cached_property
    def children(self) -> tuple[str, ...]:
        """The variables that are regressed: all on which something may act."""
        return tuple(name for name in self._graph.variables if self._graph.parents(name))

    def node(self, spec: NodeSpec) -> NodePosterior:
        """Return the posterior of one variable's regression."""
        place = self.children.index(spec.child)
        return TraitsPosterior(self._problems[place], self._variables[place].sets, self._found[place])

    @cached_property
    def without_traits(self) -> dict[tuple[str, str], tuple[float, float]] | None:
        """Mode and sd of each coefficient, in the user's units, nothing assumed of traits; all edges are in."""
        causes = {name: self._graph.parents(name) for name in self.children}
        return adjusted(Within(self.panel, causes, lags_of(self._graph.variables)))

    @cached_property
    def _problems(self) -> list[NodeProblem]:
        return [build(self._rows, linear_terms(self._graph, name), self._prior) for name in self.children]

    @cached_property
    def _variables(self) -> list[Variable]:
        return [_variable(problem, self.panel) for problem in self._problems]

    @cached_property
    def _found(self) -> list[Kept]:
        first = np.array([i for i, name in enumerate(self.panel.names) if name.endswith(FIRST)], dtype=np.int64)
        rng = np.random.default_rng(np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, 7)))
        return Walk(self.panel, self._variables, first).run(rng)


def _variable(problem: NodeProblem, panel: Panel) -> Variable:
    free = np.flatnonzero(~problem.certain)
    if len(free) > MOST_FREE:
        raise EngineError(
            f"{problem.child!r} has {len(free)} uncertain candidate causes: with intercepts='joint' there can be "
            f"{MOST_FREE}, over all sets of which is averaged at every step of a walk; leave edges out, or make some "
            "certain"
        )
    if any(setting.slab != "independent" for setting in problem.settings) or not all(
        getattr(setting.noise, "scales_slab", False) for setting in problem.settings
    ):
        raise PriorError("intercepts='joint' goes with independent slabs in units of the noise, such as Prior()")
    sets = np.ones((2 ** len(free), problem.k), dtype=bool)
    sets[:, free] = np.array(list(product((False, True), repeat=len(free))), dtype=bool).reshape(len(sets), len(free))
    noise = problem.settings[0].noise
    return Variable(
        panel.index[problem.child],
        np.array([panel.index[name] for name in problem.terms], dtype=np.int64),
        sets,
        _log_prior(problem, sets),
        np.array([setting.slab_variance for setting in problem.settings]),
        np.array([setting.log_weight for setting in problem.settings]),
        float(getattr(noise, "shape", 0.0)),
        float(getattr(noise, "rate", 0.0)),
    )


def _log_prior(problem: NodeProblem, sets: BoolArray) -> FloatArray:
    """Return the log prior weight of each set, shape (s,)."""
    if problem.log_size is not None:
        return np.asarray(problem.log_size[(sets & ~problem.certain).sum(axis=1)])
    p = np.where(problem.certain, 1.0, problem.probability)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(sets, np.log(p), np.log1p(-p)).sum(axis=1))


@dataclass(frozen=True)
class TraitsDiagnostics(Diagnostics):
    """How the walk went for one variable.

    Parameters
    ----------
    converged
        Whether its chains agree.
    r_hat
        The largest over its coefficients.
    """

    converged: bool = True
    r_hat: float = 1.0

    @property
    def troubles(self) -> tuple[str, ...]:
        return () if self.converged else self.warnings


class TraitsPosterior(NodePosterior):
    """One variable's regression in a panel with joint traits.

    Means and probabilities are averages, over the walk, of what is exact given all other variables. Draws are the walk
    itself: those of different variables belong together, one by one.
    """

    def __init__(self, problem: NodeProblem, sets: BoolArray, kept: Kept) -> None:
        self.problem = problem
        self._sets, self._kept = sets, kept
        spread = np.diag(self.second_moment) - self.mean**2
        self.diagnostics = _diagnosed(problem.child, split_r_hat(self._trace, spread))

    @cached_property
    def _trace(self) -> FloatArray:
        """Means given all others, shape (chains, sweeps, k)."""
        return np.stack(self._kept.mean, axis=1)

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self._trace.mean(axis=(0, 1)))

    @cached_property
    def second_moment(self) -> FloatArray:
        return np.asarray(np.mean(self._kept.second, axis=(0, 1)))

    @cached_property
    def second_moment_between(self) -> FloatArray:
        return np.asarray(np.mean(self._kept.between, axis=(0, 1)))

    @cached_property
    def _weights(self) -> FloatArray:
        return np.asarray(np.mean(self._kept.weights, axis=(0, 1)))

    @cached_property
    def inclusion(self) -> FloatArray:
        return np.minimum(self._weights @ self._sets, 1.0)

    @property
    def noise_variance(self) -> float:
        return float(np.mean(self._kept.variance))

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        apart = ~(self._sets[None] & masks[:, None]).any(axis=2)
        return np.asarray(apart @ self._weights)

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        order = np.argsort(-self._weights, kind="stable")[:size]
        named = [tuple(name for name, there in zip(self.problem.terms, self._sets[i], strict=True) if there)
                 for i in order]  # fmt: skip
        return tuple(ParentSet(names, float(self._weights[i])) for names, i in zip(named, order, strict=True))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        del rng  # those of different variables belong together
        coefficients = np.concatenate(self._kept.coefficients)
        rows = np.arange(size) % len(coefficients)
        return coefficients[rows], np.concatenate(self._kept.variance)[rows]

    def linear_error(self, weights: FloatArray) -> float:
        return float(mean_errors((self._trace @ weights)[:, :, None])[0])

    @property
    def set_draws(self) -> float:
        return float(CHAINS * len(self._kept.mean))


def _diagnosed(child: str, r_hats: FloatArray) -> TraitsDiagnostics:
    largest = float(np.nanmax(r_hats, initial=1.0))
    if largest <= _R_HAT:
        return TraitsDiagnostics("traits", (), True, largest)
    text = (
        f"{child}: the chains of the walk over traits do not agree (R-hat {largest:.2f}): few waves, or strong traits"
    )
    return TraitsDiagnostics("traits", (text,), False, largest)
