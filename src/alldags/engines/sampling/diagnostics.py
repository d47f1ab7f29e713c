"""Has a sampler run long enough? Split R-hat, Monte-Carlo errors, and what to tell the user.

A *trace* holds batch means, shape (chains, batches, m). The functions used while sampling are vectorised over the m
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
WEIGHT_R_HAT = 1.05  # of the log weight, whose batch means are compared with each other
LEAST_INCLUSION = 0.01  # edges below are not judged
NEGLIGIBLE = 1e-9  # of the scale of a quantity; differences below are rounding


@dataclass(frozen=True, eq=False)
class MCMCDiagnostics(Diagnostics):
    """How a sampled posterior was obtained and how far it can be trusted.

    Parameters
    ----------
    converged
        Whether chains from different starts agree and no mode that was found is missing from them.
    remark
        What was done to find modes; others cannot be excluded.
    sweeps, chains
        Sweeps kept per chain, and chains.
    warm_up
        Sweeps per chain before these.
    searches, modes, jumps, dismissed
        Searches for modes, modes found, groups of parents flipped together to get from one to another, and chains that
        were taken from a mode whose evidence is negligible.
    mcse, inclusion_mcse, sd_mcse
        Monte-Carlo standard errors of every coefficient's mean, inclusion probability and standard deviation, (k,).
    effective_draws
        How many independent posterior draws would give the same error of the mean, shape (k,); infinite where there is
        none.
    split_r_hat
        Split R-hat of every edge, the larger one of its coefficient and its presence, shape (k,); nan where the edge is
        not judged (inclusion below .01), or all chains are constant and agree.
    relative_sd_error
        Largest Monte-Carlo error of the standard deviation of an edge judged, relative to it.
    weight_r_hat
        Split R-hat of the log weight of the parent set; with copies, of the share of each group that is present.
    constant
        Edges judged whose coefficient did not move within any chain, shape (k,): nothing about the other parents
        changes it (a certain edge among certain edges), or the chains are stuck.
    copies
        Parents that are exact copies of others, shape (k,): not judged one by one.
    missed
        Share of the posterior, relative to the sets visited, of the heaviest known mode that the chains did not visit.
    trace
        Batch means of the coefficients, shape (chains, batches, k).
    drift
        Largest change of a coefficient found when the factorisation was renewed.
    least_residual
        Least share of the child's sum of squares that a parent set left unexplained; infinite for known noise.
    flips, swaps, jumps_made, setting_moves
        Moves that changed the state, in all chains.
    reproducible
        False if a time limit ended the run.
    wanted_r_hat
        Largest R-hat of an edge that is called agreement.
    """

    converged: bool = True
    remark: str = ""
    sweeps: int = 0
    chains: int = 0
    warm_up: int = 0
    searches: int = 0
    modes: int = 0
    jumps: int = 0
    dismissed: int = 0
    mcse: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    inclusion_mcse: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    sd_mcse: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    effective_draws: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    split_r_hat: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    relative_sd_error: float = 0.0
    weight_r_hat: float = 1.0
    constant: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    copies: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    missed: float = 0.0
    trace: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)
    drift: float = 0.0
    least_residual: float = np.inf
    flips: int = 0
    swaps: int = 0
    jumps_made: int = 0
    setting_moves: int = 0
    reproducible: bool = True
    wanted_r_hat: float = R_HAT

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

    @property
    def max_inclusion_mcse(self) -> float:
        """Largest Monte-Carlo standard error of an inclusion probability, copies of other parents left out."""
        return _largest(self.inclusion_mcse[~self.copies] if self.copies.size else self.inclusion_mcse, 0.0)

    @property
    def _moving(self) -> BoolArray:
        return ~np.isnan(self.split_r_hat) & ~self.constant

    @cached_property
    def rank_r_hat(self) -> FloatArray:
        """Rank-normalised split R-hat by ArviZ, shape (k,); nan as in `split_r_hat`, and where constant."""
        return _arviz("rhat", self.trace, self._moving, "rank")

    @cached_property
    def bulk_ess(self) -> FloatArray:
        """Effective sample size of the batch means by ArviZ, shape (k,); nan as for `rank_r_hat`."""
        return _arviz("ess", self.trace, self._moving, "bulk")

    @cached_property
    def arviz_mcse(self) -> FloatArray:
        """Monte-Carlo standard error of the means by ArviZ, shape (k,); a check on `mcse`."""
        return _arviz("mcse", self.trace, self._moving, "mean")


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


# -- vectorised over columns ------------------------------------------------------------------------------------------


def split_r_hat(trace: FloatArray, variance: FloatArray, batch: int = 1) -> FloatArray:
    """Return the split R-hat of every column, shape (m,), from batches of `batch`; nan where `variance` is zero.

    This is the potential scale reduction of the quantity itself: the variance between the means of half chains, against
    its posterior variance. As the means are Rao-Blackwellised, disagreement is not hidden by the noise that draws would
    have. A quantity that is constant but for rounding has none to reduce.
    """
    means = _halves(trace).mean(axis=1)
    n = trace.shape[1] // 2 * batch
    between = means.var(axis=0, ddof=1)
    between = np.where(between <= (NEGLIGIBLE * np.abs(means).max(axis=0)) ** 2, 0.0, between)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.sqrt((n - 1) / n + between / variance)
    return np.where(variance > 0, np.where(np.isfinite(variance), value, 1.0), np.nan)


def plain_r_hat(values: FloatArray) -> float:
    """Return the split R-hat of batch means (chains, batches) against each other; 1 if they hardly vary."""
    halves = _halves(values[:, :, None])[:, :, 0]
    within, between = float(halves.var(axis=1, ddof=1).mean()), float(halves.mean(axis=1).var(ddof=1))
    if between < 0.01:  # a tenth of a nat
        return 1.0
    n = halves.shape[1]
    return math.sqrt((n - 1) / n + between / max(within, 1e-12))


def is_constant(trace: FloatArray) -> BoolArray:
    """Return which columns did not change within any chain but for rounding, shape (m,)."""
    return np.asarray(np.ptp(trace, axis=1).max(axis=0) <= 1e-12 * np.abs(trace).max(axis=(0, 1)))


def _halves(trace: FloatArray) -> FloatArray:
    half = trace.shape[1] // 2
    return np.concatenate([trace[:, :half], trace[:, trace.shape[1] - half :]])


def long_batches(trace: FloatArray, count: int) -> FloatArray:
    """Return the means of about `count` long batches in each chain, shape (long batches of all chains, m)."""
    chains, batches, m = trace.shape
    length = max(1, batches // count)
    count = batches // length
    return np.asarray(trace[:, batches - count * length :].reshape(chains * count, length, m).mean(axis=1))


def mean_errors(trace: FloatArray) -> FloatArray:
    """Return the standard error of the mean of each column, shape (m,).

    The larger one of two: many batches give a steady estimate, a few long ones hold slow movements.
    """
    errors = []
    for count in (math.isqrt(trace.shape[1]), 5):
        batches = long_batches(trace, max(count, 1))
        errors.append(np.sqrt(batches.var(axis=0, ddof=1) / len(batches)))
    return np.asarray(np.maximum(errors[0], errors[1]))


# -- words ------------------------------------------------------------------------------------------------------------


def standing_remark(found: MCMCDiagnostics) -> str:
    """Return the sentence that every sampled answer carries."""
    modes = "one mode" if found.modes <= 1 else f"{found.modes} modes, joined by {found.jumps} jumps"
    return (
        f"sampled: modes that were not met cannot be excluded; {found.searches} searches from forward and backward "
        f"selection, full, empty, random and heated sets led to {modes}, and {found.chains} chains ran from there"
    )


def convergence_warnings(
    child: str, names: tuple[str, ...], found: MCMCDiagnostics, target_mcse: float | None
) -> tuple[str, ...]:
    """Return the sentences a user should read about this run."""
    out: list[str] = []
    if not found.converged:
        out.append(_not_agreed(child, names, found))
    if target_mcse is not None and found.max_mcse > target_mcse:
        longer = math.ceil((found.max_mcse / target_mcse) ** 2 * 10) / 10
        out.append(
            f"the Monte-Carlo error for {child!r} is {found.max_mcse:.2g}, above the target {target_mcse:.2g}; run "
            f"about {longer:g} times longer, MCMC(max_sweeps={math.ceil(longer * found.sweeps)})"
        )
    if found.least_residual < 1e-10:
        out.append(
            f"some parent sets leave only {found.least_residual:.1g} of the variance of {child!r} unexplained, at the "
            "limit of rounding in cross-products: the noise variance, and what depends on it, is uncertain; use "
            "KnownNoise or remove the parent that determines it"
        )
    if found.drift > 1e-4 and not found.copies.any():
        out.append(
            f"rounding moved a coefficient of {child!r} by {found.drift:.1g} between factorisations: candidate "
            "parents are almost exactly collinear; remove duplicates"
        )
    return tuple(out)


def _not_agreed(child: str, names: tuple[str, ...], found: MCMCDiagnostics) -> str:
    if found.max_r_hat > found.wanted_r_hat:
        worst = int(np.nanargmax(found.split_r_hat))
        what = f"R-hat is {found.max_r_hat:.3f} for the edge from {names[worst]!r} (wanted: {found.wanted_r_hat})"
    elif found.missed > 0.0:
        what = f"a known mode with {100 * found.missed:.2g}% of the weight of those visited was not visited"
    elif found.weight_r_hat > WEIGHT_R_HAT:
        what = f"R-hat is {found.weight_r_hat:.3f} for the weight of the parent sets (wanted: {WEIGHT_R_HAT})"
    else:
        what = f"the error of an inclusion probability is {found.max_inclusion_mcse:.2g}"
    factor = 10 if max(found.max_r_hat, found.weight_r_hat) > 1.1 else 4
    return (
        f"the chains for {child!r} have not agreed: {what} after {found.sweeps} sweeps: do not rely on this answer; "
        f"run about {factor} times longer, MCMC(max_sweeps={factor * (found.sweeps + found.warm_up)}), search longer, "
        "MCMC(starts=...), or remove candidates that explain the same"
    )
