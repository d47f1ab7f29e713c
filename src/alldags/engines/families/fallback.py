"""What is done where weights cannot be trusted: a sampler, several chains until they agree.

Yes/no nodes are sampled with Polya-Gamma weights of the rows, counts along lines on which the other coefficients follow
(`alldags.kernels.polya_gamma`, `alldags.kernels.counts`).
"""

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
from alldags.engines.families.expansion import Design, Expanded
from alldags.engines.families.posterior import FamilyDiagnostics, FamilyPosterior
from alldags.engines.families.weighing import WeightedDraws, log_weights_of
from alldags.engines.suits import check_single
from alldags.nodes.family import AnyFamily, Bernoulli
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray

_MOST_WORK = 4e10  # rows times terms squared times steps: about a minute
_LINE_WORK = 12.0  # times as much work for a step along lines


def can_fall_back(design: Design, problem: NodeProblem) -> bool:
    """Whether a sampler takes this node: independent slabs, and rows that fit into memory and a minute."""
    work = _work(design, problem) * CHAINS * (FIRST + WARM_UP)
    independent = all(setting.slab == "independent" for setting in problem.settings)
    return independent and design.kept is not None and work < _MOST_WORK


def _work(design: Design, problem: NodeProblem) -> float:
    """Return the work of one step."""
    lines = 1.0 if isinstance(design.family, Bernoulli) else _LINE_WORK
    return lines * problem.rows * (problem.k + 1) ** 2


def sampled_posterior(
    design: Design,
    expanded: Expanded,
    weighted: WeightedDraws,
    diagnostics: FamilyDiagnostics,
    rng: np.random.Generator,
) -> SampledFamilyPosterior:
    """Return the node as sampled; its evidence bridges draws of the expansion and of the chains."""
    problem = expanded.posterior.problem
    states = [(stream, *start(problem, weighted, stream)) for stream in rng.spawn(CHAINS)]
    step = partial(_advance, design, expanded, problem)
    chains, r_hat = run_chains(step, states, problem.k + 1, _MOST_WORK / _work(design, problem))
    kept = kept_draws(chains)
    partners = draw_partners(problem, kept[:, 1:], np.full(len(kept), np.nan), rng.spawn(1)[0])
    even = np.full(len(kept), 1.0 / len(kept))
    few = kept[:: max(1, len(kept) // weighted.size)]
    log_mean = bridge(weighted.log_weights, log_weights_of(design, expanded.statistics, few[:, 1:], few[:, 0]))
    draws = WeightedDraws(kept[:, 0], kept[:, 1:], even, log_mean, weighted.k_hat, partners)
    converged = r_hat < 1.05
    standing = [text for text in diagnostics.warnings if text not in expanded.posterior.diagnostics.warnings]
    warning = (
        f"the sampled regression of {design.rows.child!r} has not settled (R-hat {r_hat:.2f}): few events or many "
        "candidates; leave out causes that you can rule out"
    )
    found = replace(
        diagnostics,
        engine="polya-gamma" if isinstance(design.family, Bernoulli) else "metropolis",
        warnings=(*standing, *(() if converged else (warning,))),
        draws=CHAINS * chains.shape[1],
        fallback=True,
        r_hat=r_hat,
        converged=converged,
    )
    return SampledFamilyPosterior(design.family, expanded, draws, found, chains[:, :, 1:])


def _advance(design: Design, expanded: Expanded, problem: NodeProblem, state: Any, out: FloatArray) -> None:
    """Go on with one chain and write its steps."""
    check_single("the sampler of yes/no outcomes and counts", problem)
    from alldags.kernels.counts import run_count_chain
    from alldags.kernels.polya_gamma import run_chain

    stream, present, z, place = state
    batches = tuple(design.batches())
    terms = np.concatenate([batch.terms for batch in batches])
    rows = np.column_stack([np.ones(len(terms)), terms])
    child = np.concatenate([batch.child for batch in batches])
    slabs = np.array([setting.slab_variance for setting in problem.settings])
    log_slabs = np.array([setting.log_weight for setting in problem.settings])
    log_size = np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size
    edges = (problem.log_odds, log_size, problem.certain, slabs, log_slabs)
    if isinstance(design.family, Bernoulli):
        run_chain(stream, rows, child, *edges, present, z, place, out)
        return
    offset = np.concatenate([np.zeros(len(b.child)) if b.offset is None else b.offset for b in batches])
    information = np.ascontiguousarray(expanded.statistics.information)
    run_count_chain(stream, rows, child, offset, information, *edges, present, z, place, out)


class SampledFamilyPosterior(SampledPosterior, FamilyPosterior):
    """A node that is not normal, sampled: all it knows are its draws."""

    def __init__(
        self,
        family: AnyFamily,
        expanded: Expanded,
        draws: WeightedDraws,
        diagnostics: FamilyDiagnostics,
        chains: FloatArray,
    ) -> None:
        FamilyPosterior.__init__(self, family, expanded, draws, diagnostics)
        self._chains = chains
