"""What is done where weights cannot be trusted: Polya-Gamma Gibbs, several chains until they agree."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.families.expansion import Design, Expanded
from alldags.engines.families.posterior import FamilyDiagnostics, FamilyPosterior
from alldags.engines.families.weighing import WeightedDraws
from alldags.nodes.family import AnyFamily, Bernoulli
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray

CHAINS = 4
_WARM_UP = 500
_FIRST, _MOST = 2000, 32_000  # steps kept of each chain
_R_HAT = 1.01
_KEPT = 16_000  # draws of all chains together that are stored
_MOST_WORK = 4e10  # rows times terms squared times steps: about a minute


def can_fall_back(design: Design, problem: NodeProblem) -> bool:
    """Whether the sampler takes this node: yes/no, independent slabs, and rows that fit into memory and a minute."""
    work = problem.rows * (problem.k + 1) ** 2 * CHAINS * (_FIRST + _WARM_UP)
    independent = all(setting.slab == "independent" for setting in problem.settings)
    return isinstance(design.family, Bernoulli) and independent and design.kept is not None and work < _MOST_WORK


def sampled_posterior(
    design: Design,
    expanded: Expanded,
    weighted: WeightedDraws,
    diagnostics: FamilyDiagnostics,
    rng: np.random.Generator,
) -> GibbsFamilyPosterior:
    """Return the node as sampled by Polya-Gamma Gibbs; the evidence is that of the weighted expansion."""
    chains, r_hat = _run(design, expanded.posterior.problem, weighted, rng)
    steps = chains.shape[1]
    thin = max(1, CHAINS * steps // _KEPT)
    kept = chains[:, ::thin].reshape(-1, chains.shape[2])
    size = len(kept)
    partners = draw_partners(expanded.posterior.problem, kept[:, 1:], np.full(size, np.nan), rng.spawn(1)[0])
    even = np.full(size, 1.0 / size)
    draws = WeightedDraws(kept[:, 0], kept[:, 1:], even, weighted.log_mean_weight, weighted.k_hat, partners)
    child = design.rows.child
    converged = r_hat < 1.05
    warning = (
        f"the sampled regression of {child!r} has not settled (R-hat {r_hat:.2f}): few events or many candidates; "
        "leave out causes that you can rule out"
    )
    found = replace(
        diagnostics,
        engine="polya-gamma",
        warnings=() if converged else (warning,),
        draws=CHAINS * steps,
        fallback=True,
        r_hat=r_hat,
        converged=converged,
    )
    return GibbsFamilyPosterior(design.family, expanded, draws, found, chains[:, :, 1:])


def _run(
    design: Design, problem: NodeProblem, weighted: WeightedDraws, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return intercept and coefficients of the chains, shape (chains, steps, k + 1), and the largest split R-hat."""
    from alldags.kernels.polya_gamma import run_chain

    batches = design.batches()
    terms = np.concatenate([batch.terms for batch in batches])
    rows = np.column_stack([np.ones(len(terms)), terms])
    child = np.concatenate([batch.child for batch in batches])
    slabs = np.array([setting.slab_variance for setting in problem.settings])
    log_slabs = np.array([setting.log_weight for setting in problem.settings])
    log_size = np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size
    states = []
    for stream in rng.spawn(CHAINS):
        start = int(stream.integers(weighted.size))  # overdispersed: draws under the expansion, not by weight
        z = np.concatenate([[weighted.intercept[start]], weighted.coefficients[start]])
        states.append((stream, z, z[1:] != 0.0, np.array([len(slabs) // 2])))
    chains = np.empty((CHAINS, 0, problem.k + 1))
    wanted, r_hat = _WARM_UP + _FIRST, math.inf
    while True:
        more = np.empty((CHAINS, wanted, problem.k + 1))
        for out, (stream, z, present, place) in zip(more, states, strict=True):
            run_chain(stream, rows, child, problem.log_odds, log_size, problem.certain, slabs, log_slabs, present, z,
                      place, out)  # fmt: skip
        chains = np.concatenate([chains, more], axis=1) if chains.size else more[:, _WARM_UP:]
        r_hat = largest_r_hat(chains[:, :, 1:])
        steps = chains.shape[1]
        heavy = problem.rows * (problem.k + 1) ** 2 * CHAINS * 2 * steps > _MOST_WORK
        if r_hat < _R_HAT or 2 * steps > _MOST or heavy:
            return chains, r_hat
        wanted = steps


def largest_r_hat(chains: FloatArray) -> float:
    """Return the largest split R-hat of coefficients and of their presence; `chains` has shape (chains, steps, k)."""
    half = chains.shape[1] // 2
    split = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    values = [_r_hat(split), _r_hat((split != 0.0).astype(float))]
    return float(max(np.max(value, initial=1.0) for value in values))


def _r_hat(split: FloatArray) -> FloatArray:
    steps = split.shape[1]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = split.mean(axis=1).var(axis=0, ddof=1)
    moving = within > 1e-12
    ratio = (steps - 1) / steps + between / np.where(moving, within, 1.0)
    return np.asarray(np.where(moving, np.sqrt(ratio), 1.0))


class GibbsFamilyPosterior(FamilyPosterior):
    """A node sampled by Polya-Gamma Gibbs: all it knows are its draws."""

    def __init__(
        self,
        family: AnyFamily,
        expanded: Expanded,
        draws: WeightedDraws,
        diagnostics: FamilyDiagnostics,
        chains: FloatArray,
    ) -> None:
        super().__init__(family, expanded, draws, diagnostics)
        self._chains = chains

    def _corrected(self, exact: FloatArray, values: FloatArray) -> FloatArray:
        """Return the plain mean over the draws; `exact` is the expansion's and not used."""
        del exact
        return np.asarray(values.mean(axis=0))

    def _corrected_product(self, exact: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the plain mean of products over the draws."""
        del exact
        return np.asarray(left.T @ right / len(left))

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self._chains.mean(axis=(0, 1)))

    @cached_property
    def inclusion(self) -> FloatArray | None:
        return np.asarray((self._chains != 0.0).mean(axis=(0, 1)))

    @cached_property
    def second_moment(self) -> FloatArray:
        theta = self._chains.reshape(-1, self.problem.k)
        return np.asarray(theta.T @ theta / len(theta))

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        theta = self._chains.reshape(-1, self.problem.k)
        chosen = (theta[:, parent] != 0.0) == present
        return np.asarray(theta[chosen].mean(axis=0)) if chosen.sum() > 30 else self.base.mean_given(parent, present)

    def _factor(self, parents: tuple[str, ...]) -> float:
        return self._share(parents) / max(self._base_share(parents), 1e-300)

    def _share(self, parents: tuple[str, ...]) -> float:
        inside = np.isin(self.problem.terms, parents).astype(float)
        return float((self._present == inside).all(axis=1).mean())

    def _base_share(self, parents: tuple[str, ...]) -> float:
        found = self.base.top_parent_sets(4096) or ()
        return next((item.probability for item in found if item.parents == parents), 1.0)

    def linear_error(self, weights: FloatArray) -> float:
        """Return the Monte-Carlo error of ``weights @ mean``, from batch means within the chains."""
        values = np.asarray(self._chains @ weights)
        count = 20
        length = values.shape[1] // count
        means = values[:, : count * length].reshape(CHAINS * count, length).mean(axis=1)
        return float(means.std(ddof=1) / math.sqrt(len(means)))

    @property
    def set_draws(self) -> float:
        return float(self._chains.shape[0] * self._chains.shape[1] / 10.0)  # steps are correlated
