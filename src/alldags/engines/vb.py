"""`VB`: the paper's approximation, Gaussian scale mixtures fitted by variational Bayes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.engines.mixtures.node import (
    SCOPE,
    MixtureDiagnostics,
    NodeArrays,
    bound_constant,
    check_iteration,
    low_rank_factor,
    mixture_of,
    node_arrays,
    perfect_fit,
    residual_rate,
    standing_warnings,
    start_variance,
)
from alldags.engines.mixtures.posterior import NormalPosterior
from alldags.engines.suits import check_single, check_suits
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import KnownNoise, UnknownNoise
from alldags.typing import FloatArray


@dataclass(frozen=True)
class VBDiagnostics(MixtureDiagnostics):
    """How variational Bayes went.

    Parameters
    ----------
    bound
        Evidence lower bound at the end: at most the log evidence of the node under the scale-mixture prior.
    history
        The bound at the start and after each round, shape (rounds + 1,); it never falls.
    rounds
        Rounds over all coefficients, extrapolations included.
    converged
        Whether means and bound moved by no more than the tolerance in the last round.
    start
        ``E[1/t]`` of each coefficient at the start, shape (k,).
    """

    bound: float = math.nan
    history: FloatArray = None  # type: ignore[assignment]
    rounds: int = 0
    converged: bool = True
    start: FloatArray = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class VB:
    """Variational Bayes with a Gaussian scale mixture as prior (section 4 of Horii 2021).

    The posterior of a node is approximated by a product of factors: coefficients and noise precision together, the
    variances ``t`` one by one, and what stands above them (``alpha`` of `NEG`, the global scale of
    `Horseshoe`). The coefficients' factor is normal; with unknown noise it is normal-gamma. As in the exact
    average, the mean total effect is the product of the nodes' means, so that the paper's integral and plug-in
    estimators coincide.

    The evidence lower bound rises in every round. It can have several local maxima; the first `plain_rounds` rounds are
    the paper's own iteration and choose which one, the others are accelerated.

    The prior is `Prior.coefficients`, the paper's ``NEG()`` if none is given.

    Parameters
    ----------
    plain_rounds
        Rounds of the paper's iteration before coordinate ascent. More cost time and follow the paper more closely; 0
        is fastest but can end in a lower maximum when there are fewer rows than parents.
    tolerance
        Stop when a round moves no mean by more than this (relative to the largest coefficient, if that is above 1)
        and the bound by no more than this relative to its size.
    max_rounds
        Stop with a warning after so many rounds.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> from alldags.nodes import NodeProblem, Setting
    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> y = 3.0 * x[:, 0]
    >>> problem = NodeProblem(
    ...     "y", ("a", "b"), x.T @ x, x.T @ y, y @ y, n=4, probability=np.array([0.5, 0.5]),
    ...     settings=(Setting(1.0, ad.priors.KnownNoise(1.0)),),
    ... )
    >>> fit = ad.engines.VB()(problem, np.random.default_rng(0))
    >>> fit.mean.round(2).tolist(), fit.shrinkage.round(2).tolist()
    ([2.92, 0.0], [0.97, 0.0])
    """

    takes: ClassVar[tuple[type, ...]] = (KnownNoise, UnknownNoise, ScaleMixture)
    uses_edges: ClassVar[bool] = False
    scope: ClassVar[str | None] = SCOPE
    estimate: ClassVar[str] = "posterior mean"

    plain_rounds: int = 10
    tolerance: float = 1e-6
    max_rounds: int = 1000

    def __post_init__(self) -> None:
        check_iteration(self.tolerance, self.max_rounds)
        checks.whole("plain_rounds", self.plain_rounds, 0, error=EngineError)

    @property
    def name(self) -> str:
        return "vb"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NormalPosterior:
        """Return the approximate posterior of one node; no random numbers are used."""
        del rng
        return self.fit_many([problem])[0]

    def fit_many(self, problems: Sequence[NodeProblem]) -> list[NormalPosterior]:
        """Fit many nodes in one compiled call.

        The problems of one fit are cut out of one shared matrix of cross-products; rows are never seen.
        """
        for problem in problems:
            check_suits(self, problem.settings[0])
            check_single(f"the engine {self.name!r}", problem)
        nodes = [node_arrays(problem) for problem in problems]
        groups: dict[tuple[bool, ScaleMixture], list[int]] = {}
        for i, (node, problem) in enumerate(zip(nodes, problems, strict=True)):
            groups.setdefault((node.known, mixture_of(problem)), []).append(i)
        fits: dict[int, NormalPosterior] = {}
        for (_, prior), index in groups.items():
            results = _fit_group(self, prior, [problems[i] for i in index], [nodes[i] for i in index])
            fits.update(zip(index, results, strict=True))
        return [fits[i] for i in range(len(problems))]


def _fit_group(
    engine: VB, prior: ScaleMixture, problems: Sequence[NodeProblem], nodes: Sequence[NodeArrays]
) -> list[NormalPosterior]:
    """Fit nodes that agree on the prior and on whether the noise is known."""
    from alldags.kernels.mixtures.ascent import ascend_many

    factors = [low_rank_factor(node, problem.n) for node, problem in zip(nodes, problems, strict=True)]
    sizes = np.array([factor.shape for factor, _ in factors], dtype=np.int64)
    log_e = np.concatenate([np.full(problem.k, math.log(start_variance(problem))) for problem in problems])
    weight, mean = np.empty(len(log_e)), np.empty(len(log_e))
    parameters = np.tile([*prior.pair, float(prior.learned_scale is not None), prior.pair[0]], (len(nodes), 1))
    history = np.empty((len(nodes), engine.max_rounds + 1))
    outcome = ascend_many(
        np.concatenate([factor.ravel() for factor, _ in factors]),
        np.concatenate([shift for _, shift in factors]),
        np.concatenate([node.fixed for node in nodes]),
        sizes,
        nodes[0].known,
        np.array([(node.term.whole, node.term.shape) for node in nodes]),
        prior.code,
        parameters,
        log_e,
        engine.plain_rounds,
        engine.tolerance,
        weight,
        mean,
        history,
    )
    ends = np.cumsum(sizes[:, 0])
    return [
        _posterior(
            engine,
            prior,
            problem,
            node,
            weight[end - problem.k : end].copy(),
            mean[end - problem.k : end].copy(),
            history[i, : outcome[i, 0] + 1].copy(),
            bool(outcome[i, 1]),
        )
        for i, (problem, node, end) in enumerate(zip(problems, nodes, ends, strict=True))
    ]


def _posterior(
    engine: VB,
    prior: ScaleMixture,
    problem: NodeProblem,
    node: NodeArrays,
    weight: FloatArray,
    mean: FloatArray,
    history: FloatArray,
    converged: bool,
) -> NormalPosterior:
    if not np.isfinite(mean).all():
        raise EngineError(
            f"variational Bayes of {problem.child!r} broke down: its {problem.k} parents leave almost no residual; "
            "use KnownNoise(...), UnknownNoise(...) with a positive shape and rate, or another mixing distribution"
        )
    history += bound_constant(prior, node, problem) + _global_constant(prior, node)
    troubles = perfect_fit(problem, node, residual_rate(node, mean))
    if not converged:
        troubles = (*troubles, _not_converged(engine, problem, history))
    diagnostics = VBDiagnostics(
        "vb",
        (*standing_warnings(problem), *troubles),
        bound=float(history[-1]),
        history=history,
        rounds=len(history) - 1,
        converged=converged,
        start=_start_weights(prior, problem, node),
    )
    return NormalPosterior(problem, node, weight, mean, diagnostics)


def _start_weights(prior: ScaleMixture, problem: NodeProblem, node: NodeArrays) -> FloatArray:
    """Return ``E[1/t]`` if every coefficient had the slab's second moment."""
    from alldags.kernels.mixtures.mixing import weight_and_slope

    weight, _ = weight_and_slope(prior.code, start_variance(problem), *prior.pair)
    return np.where(node.fixed > 0.0, node.fixed, weight)


def _global_constant(prior: ScaleMixture, node: NodeArrays) -> float:
    """Return the constants of the global scale's factors, with their auxiliary variable."""
    if prior.learned_scale is None or node.free == 0:
        return 0.0
    a = 0.5 * (node.free + 1.0)
    return a - a * math.log(a) + math.lgamma(a) - math.log(prior.learned_scale) - math.log(math.pi)


def _not_converged(engine: VB, problem: NodeProblem, history: FloatArray) -> str:
    gain = history[-1] - history[max(len(history) - 3, 0)]
    return (
        f"variational Bayes of {problem.child!r} did not converge in {engine.max_rounds} rounds (the bound still rises "
        f"by {gain:.1g}); raise max_rounds, or tolerance above {engine.tolerance:g}"
    )
