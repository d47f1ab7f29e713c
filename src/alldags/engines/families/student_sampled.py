"""Nodes with heavy tails, sampled: row weights, then a normal node, several chains until they agree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.families.chains import (
    CHAINS,
    FIRST,
    WARM_UP,
    SampledPosterior,
    bridge,
    kept_draws,
    run_chains,
    start,
)
from alldags.engines.families.heavy_design import HeavyDesign, Matched, log_weights_of
from alldags.engines.families.student_posterior import StudentDiagnostics, StudentPosterior
from alldags.engines.families.weighing import WeightedDraws
from alldags.engines.suits import check_single
from alldags.nodes.heavy import Student
from alldags.nodes.problem import NodeProblem, Origin
from alldags.priors.noise import UnknownNoise
from alldags.typing import FloatArray

_MOST_WORK = 4e10  # rows times terms squared times steps: about a minute


def can_be_sampled(design: HeavyDesign, problem: NodeProblem) -> bool:
    """Whether the sampler takes this node: independent slabs that follow the noise, and rows that fit into memory."""
    work = problem.rows * (problem.k + 1) ** 2 * CHAINS * (FIRST + WARM_UP)
    settings = problem.settings
    suits = all(one.slab == "independent" and isinstance(one.noise, UnknownNoise) for one in settings)
    return suits and design.kept is not None and work < _MOST_WORK


def sampled_student(
    design: HeavyDesign,
    found: Matched,
    weighted: WeightedDraws,
    variance: FloatArray,
    diagnostics: StudentDiagnostics,
    rng: np.random.Generator,
) -> SampledStudentPosterior:
    """Return the node as sampled; its evidence bridges draws of the match and of the chains."""
    problem = found.posterior.problem
    precision = np.array([1.0 / float(np.median(variance))])
    states = [(stream, *start(problem, weighted, stream), precision.copy()) for stream in rng.spawn(CHAINS)]
    most = _MOST_WORK / (problem.rows * (problem.k + 1) ** 2)
    chains, r_hat = run_chains(partial(_advance, design, problem), states, problem.k + 2, most)
    kept = kept_draws(chains)
    theta, spread = np.ascontiguousarray(kept[:, 1:-1]), np.ascontiguousarray(kept[:, -1])
    partners = draw_partners(problem, theta, spread, rng.spawn(1)[0])
    even = np.full(len(kept), 1.0 / len(kept))
    few = slice(None, None, max(1, len(kept) // weighted.size))
    own = log_weights_of(design, found.statistics, kept[few, 0], theta[few], 1.0 / spread[few])
    log_mean = bridge(weighted.log_weights, own)
    draws = WeightedDraws(kept[:, 0], theta, even, log_mean, weighted.k_hat, partners)
    converged = r_hat < 1.05
    warning = (
        f"the sampled regression of {design.rows.child!r} with heavy tails has not settled (R-hat {r_hat:.2f}): leave "
        "out causes that you can rule out"
    )
    reported = replace(
        diagnostics,
        engine="row-weights",
        warnings=() if converged else (warning,),
        draws=CHAINS * chains.shape[1],
        fallback=True,
        r_hat=r_hat,
        converged=converged,
    )
    return SampledStudentPosterior(found, draws, reported, design.family, spread, design.center, chains[:, :, 1:-1])


def _advance(design: HeavyDesign, problem: NodeProblem, state: Any, out: FloatArray) -> None:
    """Go on with one chain and write its steps."""
    check_single("the sampler of noise with heavy tails", problem)
    from alldags.kernels.student import run_student_chain

    stream, present, z, place, precision = state
    batches = tuple(design.batches())
    terms = np.concatenate([batch.terms for batch in batches])
    rows = np.column_stack([np.ones(len(terms)), terms])
    child = np.concatenate([batch.child for batch in batches])
    prior = problem.settings[0].noise
    gamma = (prior.shape, prior.rate) if isinstance(prior, UnknownNoise) else (0.0, 0.0)
    noise = np.array([design.family.df, *gamma])
    slabs = np.array([setting.slab_variance for setting in problem.settings])
    log_slabs = np.array([setting.log_weight for setting in problem.settings])
    log_size = np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size
    run_student_chain(
        stream, rows, child, noise, problem.log_odds, log_size, problem.certain, slabs, log_slabs, present, z, place,
        precision, out,
    )  # fmt: skip


class SampledStudentPosterior(SampledPosterior, StudentPosterior):
    """A node with heavy tails, sampled: all it knows are its draws."""

    def __init__(
        self,
        found: Matched,
        draws: WeightedDraws,
        diagnostics: StudentDiagnostics,
        family: Student,
        variance: FloatArray,
        center: Origin,
        chains: FloatArray,
    ) -> None:
        StudentPosterior.__init__(self, found, draws, diagnostics, family, variance, center)
        self._chains = chains
