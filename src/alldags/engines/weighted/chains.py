"""What is done where weights cannot be trusted: the family's sampler, several chains until they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.weighted.design import Design
from alldags.engines.weighted.expansion import Expanded
from alldags.engines.weighted.posterior import FamilyDiagnostics, WeightedPosterior
from alldags.engines.weighted.weighing import WeightedDraws, log_weights_of
from alldags.families.base import ChainPrior, ChainState, Draws, Sampler
from alldags.nodes.problem import NodeProblem
from alldags.priors.grid import Setting
from alldags.typing import FloatArray

CHAINS = 4
WARM_UP = 500
FIRST, _MOST = 2000, 32_000  # steps kept of each chain
_MOST_WORK = 4e10  # rows times columns squared times steps: about a minute
_SETTLED = 1.05
_R_HAT = 1.01
_CORRELATED = 5.0  # steps of a chain that are worth one independent draw, about
_KEPT = 16_000  # draws of all chains together that are stored


def sampler_of(design: Design, problem: NodeProblem) -> Sampler | None:
    """Return the sampler for a node: if its family has one, and its rows fit into memory and a minute."""
    found = design.family.sampler(problem.settings, weighted=design.is_weighted)
    if found is None or design.kept is None:
        return None
    return found if _work(found, problem) * CHAINS * (FIRST + WARM_UP) < _MOST_WORK else None


def _work(sampler: Sampler, problem: NodeProblem) -> float:
    """Return the work of one step."""
    return sampler.work * problem.rows * (problem.k + 1) ** 2


def sampled_posterior(
    design: Design,
    sampler: Sampler,
    expanded: Expanded,
    weighted: WeightedDraws,
    diagnostics: FamilyDiagnostics,
    rng: np.random.Generator,
) -> SampledPosterior:
    """Return the node as sampled; its evidence bridges draws of the quadratic and of the chains."""
    problem = expanded.posterior.problem
    chains, r_hat = _run(design, sampler, expanded, weighted, rng.spawn(CHAINS))
    kept = kept_draws(chains)
    found = Draws(kept[:, 0], np.ascontiguousarray(kept[:, 1:-1]), 1.0 / kept[:, -1])
    partners = draw_partners(problem, found.coefficients, 1.0 / found.precision, rng.spawn(1)[0])
    few = Draws(*(part[:: max(1, len(kept) // weighted.size)] for part in found[:3]))
    log_mean = bridge(weighted.log_weights, log_weights_of(design, expanded.quadratic, few))
    even = np.full(len(kept), 1.0 / len(kept))
    draws = WeightedDraws(
        found.intercept, found.coefficients, 1.0 / found.precision, even, log_mean, weighted.k_hat, partners
    )
    reported = _reported(diagnostics, expanded, sampler.name, design.child, r_hat, CHAINS * chains.shape[1])
    return SampledPosterior(design, expanded, draws, reported, chains[:, :, 1:-1])


def _reported(
    diagnostics: FamilyDiagnostics, expanded: Expanded, name: str, child: str, r_hat: float, draws: int
) -> FamilyDiagnostics:
    """Return the diagnostics of a sampled node: what was said of the quadratic's engine no longer matters."""
    standing = [text for text in diagnostics.warnings if text not in expanded.posterior.diagnostics.warnings]
    warning = (
        f"the sampled regression of {child!r} has not settled (R-hat {r_hat:.2f}): few events or many candidates; "
        "leave out causes that you can rule out"
    )
    converged = r_hat < _SETTLED
    return replace(
        diagnostics,
        engine=name,
        warnings=(*standing, *(() if converged else (warning,))),
        draws=draws,
        fallback=True,
        r_hat=r_hat,
        converged=converged,
    )


def _run(
    design: Design,
    sampler: Sampler,
    expanded: Expanded,
    weighted: WeightedDraws,
    streams: Sequence[np.random.Generator],
) -> tuple[FloatArray, float]:
    """Return the steps of all chains, shape (chains, steps, k + 2), and the largest split R-hat of coefficients."""
    problem = expanded.posterior.problem
    rows, prior = design.chain_rows(), chain_prior(problem)
    information = np.ascontiguousarray(expanded.quadratic.information)
    states = [_start(problem, weighted, stream) for stream in streams]

    def go_on(chain: int, out: FloatArray) -> None:
        out[:, -1] = 1.0
        sampler.advance(streams[chain], rows, prior, information, states[chain], out)

    return run_chains(go_on, len(streams), problem.k + 2, _MOST_WORK / _work(sampler, problem))


def chain_prior(problem: NodeProblem) -> ChainPrior:
    """Return the prior of a problem as samplers take it; further columns have the share that is expected of them."""
    problem = _typical(problem)
    return ChainPrior(
        starts=problem.starts,
        log_odds=problem.log_odds,
        certain=problem.certain,
        log_size=np.zeros(problem.free + 1) if problem.log_size is None else problem.log_size,
        slabs=np.array([setting.slab_variance for setting in problem.settings]),
        log_slabs=np.array([setting.log_weight for setting in problem.settings]),
    )


def _typical(problem: NodeProblem) -> NodeProblem:
    """Return the problem with one share of further columns, the prior mean, beside each slab."""
    if problem.further is None:
        return problem
    logs = np.array([setting.log_weight for setting in problem.settings])
    weight = np.exp(logs - np.logaddexp.reduce(logs))
    share = float(weight @ [setting.share for setting in problem.settings])
    slabs: dict[float, Setting] = {}
    for setting in problem.settings:
        known = slabs.get(setting.slab_variance)
        log_weight = setting.log_weight if known is None else np.logaddexp(known.log_weight, setting.log_weight)
        slabs[setting.slab_variance] = replace(setting, log_weight=float(log_weight), share=share)
    settled = replace(problem, settings=(next(iter(slabs.values())),)).settled()
    return replace(settled, settings=tuple(slabs.values()))


def _start(problem: NodeProblem, weighted: WeightedDraws, rng: np.random.Generator) -> ChainState:
    """Return where a chain starts: overdispersed, a draw under the quadratic, not by weight."""
    place = int(rng.integers(weighted.size))
    z = np.concatenate([[weighted.intercept[place]], weighted.coefficients[place]])
    slab, precision = np.array([len(problem.settings) // 2]), np.array([1.0 / float(np.median(weighted.variance))])
    return ChainState((z[1:] != 0.0) | problem.certain, z, slab, precision)


def run_chains(
    go_on: Callable[[int, FloatArray], None], count: int, width: int, most: float
) -> tuple[FloatArray, float]:
    """Return what the chains wrote, shape (chains, steps, width), and the largest split R-hat of coefficients.

    Parameters
    ----------
    go_on
        Goes on with a chain, given its number, and writes the steps, shape (steps, width): intercept, coefficients, and
        one over the noise precision.
    count
        Number of chains.
    width
        Numbers written at each step.
    most
        Steps that all chains together may take.
    """
    chains = np.empty((count, 0, width))
    wanted = WARM_UP + FIRST
    while True:
        more = np.empty((count, wanted, width))
        for chain, out in enumerate(more):
            go_on(chain, out)
        chains = np.concatenate([chains, more], axis=1) if chains.size else more[:, WARM_UP:]
        r_hat = largest_r_hat(chains[:, :, 1:-1])
        steps = chains.shape[1]
        if r_hat < _R_HAT or 2 * steps > _MOST or count * 2 * steps > most:
            return chains, r_hat
        wanted = steps


def kept_draws(chains: FloatArray) -> FloatArray:
    """Return the steps that are stored as draws, shape (draws, width)."""
    thin = max(1, chains.shape[0] * chains.shape[1] // _KEPT)
    return np.asarray(chains[:, ::thin].reshape(-1, chains.shape[2]))


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


def bridge(log_base: FloatArray, log_chain: FloatArray) -> float:
    """Return the log of the mean weight from draws of the approximation and of a chain (Meng and Wong 1996).

    Both kinds of draws take part, so that the answer holds where neither reaches all of the other.

    Parameters
    ----------
    log_base, log_chain
        Log weights, likelihood over approximation, of draws from the approximation and from the posterior itself.
    """
    worth = len(log_chain) / _CORRELATED
    own, other = math.log(worth / (worth + len(log_base))), math.log(len(log_base) / (worth + len(log_base)))
    found = float(np.logaddexp.reduce(log_base)) - math.log(len(log_base))
    for _ in range(200):
        above = log_base - np.logaddexp(own + log_base, other + found)
        below = -np.logaddexp(own + log_chain, other + found)
        above_mean = float(np.logaddexp.reduce(above)) - math.log(len(above))
        before, found = found, above_mean - float(np.logaddexp.reduce(below)) + math.log(len(below))
        if abs(found - before) < 1e-9:
            break
    return found


class SampledPosterior(WeightedPosterior):
    """A sampled node: all it knows are its draws; `chains` are the coefficients, shape (chains, steps, k)."""

    def __init__(
        self,
        design: Design,
        expanded: Expanded,
        draws: WeightedDraws,
        diagnostics: FamilyDiagnostics,
        chains: FloatArray,
    ) -> None:
        super().__init__(design.family, expanded, draws, diagnostics, design.rows.center)
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
