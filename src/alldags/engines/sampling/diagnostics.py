"""Has a sampler run long enough? Control variates, split R-hat, Monte-Carlo errors, and what to tell the user.

A *trace* holds batch means, shape (chains, batches, k). The functions used while sampling are vectorised over the k
columns; the tables a user looks at come from ArviZ, on first use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alldags.nodes import Diagnostics
from alldags.typing import BoolArray, FloatArray

R_HAT = 1.01  # Vehtari et al. (2021)
LEAST_INCLUSION = 0.01  # edges below are not judged
LEAST_EVENTS = 50.0  # changes of an edge before the coefficient of its control variate is fitted


@dataclass(frozen=True, eq=False)
class MCMCDiagnostics(Diagnostics):
    """How a sampled posterior was obtained and how far it can be trusted.

    Parameters
    ----------
    sweeps, chains
        Sweeps kept per chain, and chains.
    warm_up
        Sweeps per chain before these.
    mcse
        Monte-Carlo standard error of every coefficient's mean, shape (k,).
    effective_draws
        How many independent posterior draws would give the same error, shape (k,); infinite where there is none.
    split_r_hat
        Split R-hat of every coefficient, shape (k,); nan where the edge is not judged (inclusion below .01), or all
        chains are constant and agree.
    constant
        Edges judged whose coefficient did not move within any chain, shape (k,): nothing about the other parents
        changes it (a certain edge among certain edges), or the chains are stuck.
    trace
        Batch means of the coefficients, shape (chains, batches, k).
    drift
        Largest change of a coefficient found when the factorisation was renewed.
    flips, swaps, setting_moves
        Moves that changed the state, in all chains.
    reproducible
        False if a time limit ended the run.
    """

    sweeps: int = 0
    chains: int = 0
    warm_up: int = 0
    mcse: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    effective_draws: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    split_r_hat: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    constant: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    trace: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)
    drift: float = 0.0
    flips: int = 0
    swaps: int = 0
    setting_moves: int = 0
    reproducible: bool = True

    @property
    def troubles(self) -> tuple[str, ...]:
        """All of the warnings."""
        return self.warnings

    @property
    def max_r_hat(self) -> float:
        """Largest split R-hat of the edges judged; 1 if none moves."""
        return _largest(self.split_r_hat, 1.0)

    @property
    def max_mcse(self) -> float:
        """Largest Monte-Carlo standard error of a coefficient's mean."""
        return _largest(self.mcse, 0.0)

    @cached_property
    def rank_r_hat(self) -> FloatArray:
        """Rank-normalised split R-hat by ArviZ, shape (k,); nan as in `split_r_hat`."""
        return _arviz("rhat", self.trace, ~np.isnan(self.split_r_hat), "rank")

    @cached_property
    def bulk_ess(self) -> FloatArray:
        """Effective sample size of the batch means by ArviZ, shape (k,); nan as in `split_r_hat`."""
        return _arviz("ess", self.trace, ~np.isnan(self.split_r_hat), "bulk")

    @cached_property
    def arviz_mcse(self) -> FloatArray:
        """Monte-Carlo standard error of the means by ArviZ, shape (k,); a check on `mcse`."""
        return _arviz("mcse", self.trace, ~np.isnan(self.split_r_hat), "mean")


def _largest(values: FloatArray, empty: float) -> float:
    finite = values[~np.isnan(values)]
    return float(finite.max()) if finite.size else empty


def _arviz(name: str, trace: FloatArray, judged: BoolArray, method: str) -> FloatArray:
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    out = np.full(trace.shape[2], np.nan)
    columns = np.flatnonzero(judged)
    if columns.size:
        values = np.moveaxis(trace[:, :, columns], 2, 0)
        out[columns] = getattr(array_stats, name)(values, chain_axis=1, draw_axis=2, method=method)
    return out


# -- vectorised over coefficients -------------------------------------------------------------------------------------


def coarser(trace: FloatArray, batch: int) -> tuple[FloatArray, int]:
    """Average neighbouring batches, shape (chains, batches, ...), of `batch` sweeps each; return it and the new size.

    About ``5 sqrt(sweeps)`` batches remain in each chain. Control variates need batches long enough to hold what a draw
    leads to, and enough of them to estimate that; this was the best compromise between 400 and 6,400 sweeps.
    """
    chains, batches = trace.shape[:2]
    length = max(1, int(batches / (5.0 * math.sqrt(batches * batch))))
    count = batches // length
    kept = trace[:, batches - count * length :]
    return kept.reshape(chains, count, length, *trace.shape[2:]).mean(axis=2), batch * length


def with_control_variates(
    trace: FloatArray, controls: FloatArray, effects: FloatArray, batch: int
) -> tuple[FloatArray, int]:
    """Subtract from a trace (chains, batches, m) what its controls explain; return it and how many were fitted.

    The controls, shape (chains, batches, c), have expectation zero exactly (they are martingale differences of the
    Gibbs draws), so this changes no expectation. The coefficients come from least squares within chains if the edge had
    the occasion to change at least `LEAST_EVENTS` times in all sweeps, `batch` to each batch, and for at most one
    control per five batches, those that vary most. Rarer edges have the coefficients `effects`, (c, m), computed
    beforehand: the average of their controls is far from its expectation, and what a parent set that was never met
    would have done is in it.
    """
    from alldags.engines.kernels.sampler.controls import control_spreads, fit_controls, subtract_controls

    events = control_spreads(controls) * batch**2
    count = min(int((events > LEAST_EVENTS).sum()), trace.shape[0] * trace.shape[1] // 5)
    trace = trace.copy()
    order = np.argsort(-events, kind="stable")
    fitted, rare = order[:count], order[count:]
    rare = rare[effects[rare].any(axis=1)]
    subtract_controls(trace, controls, rare, effects[rare])
    if count:
        subtract_controls(trace, controls, fitted, fit_controls(trace, controls, fitted))
    return trace, count


def split_r_hat(trace: FloatArray, variance: FloatArray, batch: int = 1) -> FloatArray:
    """Return the split R-hat of every coefficient, shape (k,), from batches of `batch`; nan where `variance` is zero.

    This is the potential scale reduction of the coefficient itself: the variance between the means of half chains,
    against its posterior variance. As the means are Rao-Blackwellised, disagreement is not hidden by the noise that
    draws of the coefficient would have.
    """
    halves = _halves(trace)
    n = halves.shape[1] * batch
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.sqrt((n - 1) / n + between / variance)
    return np.where(variance > 0, np.where(np.isfinite(variance), value, 1.0), np.nan)


def is_constant(trace: FloatArray) -> BoolArray:
    """Return which coefficients did not change within any chain but for rounding, shape (k,)."""
    return np.asarray(np.ptp(trace, axis=1).max(axis=0) <= 1e-12 * np.abs(trace).max(axis=(0, 1)))


def _halves(trace: FloatArray) -> FloatArray:
    half = trace.shape[1] // 2
    return np.concatenate([trace[:, :half], trace[:, trace.shape[1] - half :]])


def long_batches(trace: FloatArray) -> FloatArray:
    """Return the means of long batches, shape (long batches of all chains, k): about sqrt(batches) in each chain."""
    chains, batches, k = trace.shape
    length = max(1, math.isqrt(batches))
    count = batches // length
    return np.asarray(trace[:, batches - count * length :].reshape(chains * count, length, k).mean(axis=1))


def mean_errors(batch_means: FloatArray, controls: int, batches: int) -> FloatArray:
    """Return the standard error of the mean of each column of `batch_means`, shape (k,).

    Corrected for the degrees of freedom that `controls` control variates took from `batches` short batches.
    """
    used = batches / max(batches - controls, 1)
    return np.asarray(np.sqrt(used * batch_means.var(axis=0, ddof=1) / len(batch_means)))


# -- words ------------------------------------------------------------------------------------------------------------


def convergence_warnings(
    child: str, names: tuple[str, ...], found: MCMCDiagnostics, target_mcse: float | None, least_residual: float
) -> tuple[str, ...]:
    """Return the sentences a user should read about this run."""
    out: list[str] = []
    if found.max_r_hat > R_HAT:
        worst = int(np.nanargmax(found.split_r_hat))
        factor = 10 if found.max_r_hat > 1.1 else 4
        out.append(
            f"the chains for {child!r} have not agreed: R-hat is {found.max_r_hat:.3f} for the edge from "
            f"{names[worst]!r} after {found.sweeps} sweeps (wanted: {R_HAT}); run about {factor} times longer, "
            f"MCMC(max_sweeps={factor * found.sweeps})"
        )
    if target_mcse is not None and found.max_mcse > target_mcse:
        longer = math.ceil((found.max_mcse / target_mcse) ** 2 * 10) / 10
        out.append(
            f"the Monte-Carlo error for {child!r} is {found.max_mcse:.2g}, above the target {target_mcse:.2g}; run "
            f"about {longer:g} times longer, MCMC(max_sweeps={math.ceil(longer * found.sweeps)})"
        )
    if least_residual < 1e-10:
        out.append(
            f"some parent sets leave only {least_residual:.1g} of the variance of {child!r} unexplained, at the limit "
            "of rounding in cross-products: the noise variance, and what depends on it, is uncertain; use KnownNoise "
            "or remove the parent that determines it"
        )
    if found.drift > 1e-4:
        out.append(
            f"rounding moved a coefficient of {child!r} by {found.drift:.1g} between factorisations: candidate "
            "parents are almost exactly collinear; remove duplicates"
        )
    return tuple(out)
