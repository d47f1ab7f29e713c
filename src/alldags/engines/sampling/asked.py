"""Sampling for one question: chains run until they agree on given combinations of the coefficients.

Regressions on hundreds of derived columns have many near copies among them. Which of two copies is present is neither
known nor asked for; their combinations are, and settle long before single coefficients do. So the run is short, and
convergence is judged on what is asked. Modes are not searched for: chains start from sets of different sizes.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.sampling.diagnostics import MCMCDiagnostics, mean_errors, split_r_hat
from alldags.engines.sampling.estimates import Estimates, diagnose, estimate
from alldags.engines.sampling.evidence import ROUGH, Evidence, evidence
from alldags.engines.sampling.explore import nothing_found
from alldags.engines.sampling.posterior import SampledPosterior
from alldags.engines.sampling.run import Seen, State, extend, posterior_target, stack_systems
from alldags.engines.sampling.sample import Sample, entropy, reach, warmed_up
from alldags.kernels.sampler.chain import Systems
from alldags.kernels.sampler.sets import set_log_weights
from alldags.kernels.sampler.target import MEAN, Target
from alldags.nodes import NodeProblem
from alldags.typing import FloatArray

_CHAINS = 4
_R_HAT = 1.03  # of what is asked
_ERROR = 0.05  # of its posterior standard deviation, wanted of its mean
_CLIMB, _WARM_UPS = 5.0, 8  # nats by which chains still climb, and warm-ups at most
_SIZES = (0.0, 5.0, 10.0, 15.0)  # columns in the sets that chains start from


@dataclass(frozen=True)
class Run:
    """How long chains run: warm-up, sweeps before they are first judged, and at most."""

    warm_up: int = 60
    sweeps: int = 100
    most: int = 3000


FULL, GLANCE = Run(), Run(40, 40, 40)


@dataclass(frozen=True)
class AskedDiagnostics(MCMCDiagnostics):
    """As for every sampled node, with the largest split R-hat and relative error of what was asked."""

    asked_r_hat: float = 1.0
    asked_error: float = 0.0

    @property
    def troubles(self) -> tuple[str, ...]:
        """None: what is said of it is said with the answer."""
        return ()


class AskedPosterior(SampledPosterior):
    """A sampled posterior whose chains agree on what was asked."""

    diagnostics: AskedDiagnostics

    @property
    def ends(self) -> tuple[State, ...]:
        """Where the chains ended."""
        return self.sample.states

    @property
    def _evidence(self) -> Evidence:
        if self._rough is None:
            sample, rng = self.sample, deepcopy(self._rng)  # the same answer whenever it is asked for
            self._rough = evidence(sample.systems, sample.target, sample.recorded, self.inclusion, rng, ROUGH)
        return self._rough

    _rough: Evidence | None = None

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo standard error of ``weights @ mean`` between and within chains."""
        combined = self.sample.recorded.trace[:, :, MEAN] @ np.asarray(weights, dtype=float)
        return float(mean_errors(combined[:, :, None])[0])

    @property
    def evidence_limits(self) -> tuple[float, float]:
        """What the log evidence is at least and, were the columns independent a posteriori, at most."""
        seen, presence = self.sample.recorded, self.inclusion[self.problem.heads]
        most = float(entropy(presence)) + math.log(len(self.problem.settings))
        return float(seen.log_weight.max()), float(seen.log_weight.mean()) + most


def sample_asked(
    problem: NodeProblem,
    asked: FloatArray,
    floor: float,
    rng: np.random.Generator,
    run: Run = FULL,
    starts: tuple[State, ...] = (),
) -> AskedPosterior:
    """Return the posterior of a node whose chains agree on ``asked @ coefficients``.

    Parameters
    ----------
    problem
        With at least one uncertain term.
    asked
        Weights of what is asked, shape (questions, k).
    floor
        Variance of what is asked that does not come from the coefficients, over the noise variance.
    rng
        Source of randomness.
    run
        How long.
    starts
        Where chains of a similar problem ended; by default they start from sets of different sizes.
    """
    kept, explorer, *generators = rng.spawn(2 + _CHAINS)
    systems = stack_systems(problem)
    none = np.zeros((0, problem.k), dtype=bool)
    target = posterior_target(systems, 1, none, none)
    states, dismissed = _climbed(systems, starts or _starts(problem, explorer), target, run, generators)
    seen, goal = None, run.sweeps
    while True:
        done = 0 if seen is None else seen.sweeps
        states, seen = extend(systems, states, target, seen, goal - done, generators)
        estimates = estimate(seen, problem.certain)
        r_hat, error = _judged(seen, estimates, asked, floor)
        need = max((error / _ERROR) ** 2, 2.0 if r_hat > _R_HAT else 0.0)
        if need <= 1.0 or seen.sweeps >= run.most:
            break
        goal = min(int(min(max(1.1 * need, 1.25), 2.0) * seen.sweeps), run.most)
    sample = Sample(systems, target, nothing_found(problem.k), states, seen, run.warm_up, dismissed)
    diagnostics = _diagnostics(systems, seen, estimates, r_hat, error)
    return AskedPosterior(problem, sample, estimates, diagnostics, _no_refit, kept)


def _climbed(
    systems: Systems, states: tuple[State, ...], target: Target, run: Run, generators: list[np.random.Generator]
) -> tuple[tuple[State, ...], int]:
    """Return states after warm-up, which is repeated while the heaviest set that chains are at becomes much heavier."""
    height, dismissed = _heaviest(systems, states), 0
    for _ in range(_WARM_UPS):
        states, dismissed = warmed_up(systems, states, target, run.warm_up, generators)
        top = max(state.log_weight for state in states)
        if top < height + _CLIMB:
            break
        height = top
    return states, dismissed


def _heaviest(systems: Systems, states: tuple[State, ...]) -> float:
    """Return the largest log weight of the sets that chains are at."""
    out = np.empty(len(states))
    sets, settings = np.array([state.present for state in states]), np.array([state.setting for state in states])
    set_log_weights(systems, sets, settings, out)
    return float(out.max())


def _starts(problem: NodeProblem, rng: np.random.Generator) -> tuple[State, ...]:
    settings = len(problem.settings)
    shares = [min(size / problem.k, 1.0) for size in _SIZES]
    sets = [problem.certain | (rng.random(problem.k) < share)[problem.leaders] for share in shares]
    return tuple(State(found, int(rng.integers(settings))) for found in sets)


def _judged(seen: Seen, estimates: Estimates, asked: FloatArray, floor: float) -> tuple[float, float]:
    """Return the largest split R-hat of what is asked, and the largest error of its mean relative to its spread."""
    traces = seen.trace[:, :, MEAN] @ asked.T
    variance = traces.var(axis=(0, 1)) + floor * estimates.noise_variance
    moving = variance > 0.0
    if not moving.any():
        return 1.0, 0.0
    traces, variance = traces[:, :, moving], variance[moving]
    r_hat = split_r_hat(traces, variance, seen.batch)
    return float(np.nanmax(r_hat, initial=1.0)), float(np.max(mean_errors(traces) / np.sqrt(variance)))


def _diagnostics(systems: Systems, seen: Seen, estimates: Estimates, r_hat: float, error: float) -> AskedDiagnostics:
    plain = diagnose(seen, estimates, systems.certain, reach(systems), systems.copies)
    found = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    agreed = r_hat <= 1.05 and error <= 4 * _ERROR
    return replace(AskedDiagnostics(**found), converged=agreed, asked_r_hat=r_hat, asked_error=error)


def _no_refit(problem: NodeProblem, rng: np.random.Generator) -> SampledPosterior:
    raise NotImplementedError("a regression on derived columns is not refitted with a column forced in")
