"""What chains say about a node, how exact it is, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.engines.sampling.diagnostics import (
    LEAST_INCLUSION,
    MCMCDiagnostics,
    is_constant,
    mean_errors,
    plain_r_hat,
    split_r_hat,
)
from alldags.engines.sampling.run import Seen
from alldags.kernels.sampler.target import BETWEEN, INCLUSION, MEAN, SQUARE
from alldags.typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Estimates:
    """Rao-Blackwellised averages over all sweeps.

    Parameters
    ----------
    inclusion, mean, variance, variance_between
        Of each coefficient, shape (k,); the last is the variance of the conditional mean over parent sets.
    noise_variance
        Posterior mean.
    """

    inclusion: FloatArray
    mean: FloatArray
    variance: FloatArray
    variance_between: FloatArray
    noise_variance: float


def estimate(seen: Seen, certain: BoolArray) -> Estimates:
    """Return the averages of all chains."""
    average = seen.trace.mean(axis=(0, 1))
    mean = average[MEAN]
    least = ROUNDING * mean**2  # averaging over both ends of jumps may leave less, until it is accurate
    return Estimates(
        inclusion=np.where(certain, 1.0, np.clip(average[INCLUSION], 0.0, 1.0)),
        mean=mean,
        variance=np.maximum(average[SQUARE] - mean**2, least),
        variance_between=np.clip(average[BETWEEN] - mean**2, 0.0, np.maximum(average[SQUARE] - mean**2, least)),
        noise_variance=float(seen.noise.mean()),
    )


def unseen(size: FloatArray, seen: Seen) -> FloatArray:
    """Return what sets too rare to have been met may amount to: a change by `size`, once in all sweeps."""
    return size / (len(seen.sets) * seen.sweeps)


def sd_errors(seen: Seen, estimates: Estimates) -> FloatArray:
    """Return the Monte-Carlo errors of the standard deviations, shape (k,), by linearisation; 0 if there are none."""
    sd = np.sqrt(estimates.variance)
    if not np.isfinite(sd).all():
        return np.zeros_like(sd)
    scale = np.divide(0.5, sd, out=np.zeros_like(sd), where=sd > 0)
    return mean_errors((seen.trace[:, :, SQUARE] - 2.0 * estimates.mean * seen.trace[:, :, MEAN]) * scale)


def unseen_sd(seen: Seen, sd: FloatArray, reach: FloatArray) -> FloatArray:
    """Return how much larger standard deviations may be by sets too rare to have been met, shape (k,)."""
    finite = np.where(np.isfinite(sd), sd, 0.0)
    return np.where(np.isfinite(sd), np.sqrt(finite**2 + unseen(reach**2, seen)) - finite, 0.0)


def group_r_hat(seen: Seen, group: IntArray) -> float:
    """Return the largest split R-hat of the share of a group of copies that is present; 1 if there are none.

    Its variance is that of the stored sets.
    """
    worst = 1.0
    for g in range(int(group.max(initial=-1)) + 1):
        share = seen.trace[:, :, INCLUSION, group == g].mean(axis=-1)
        variance = seen.sets[:, :, group == g].mean(axis=-1).var()
        if variance > ROUNDING and not is_constant(share[:, :, None])[0]:
            worst = max(worst, float(split_r_hat(share[:, :, None], np.array([variance]), seen.batch)[0]))
    return worst


def diagnose(
    seen: Seen, estimates: Estimates, certain: BoolArray, reach: FloatArray, group: IntArray
) -> MCMCDiagnostics:
    """Return errors and R-hats; what concerns modes is added by the caller.

    `reach` (k,) is the size a coefficient may have in a set that was not met: if it explained the child alone. `group`
    (k,) tells parents that are exact copies of each other: data say nothing about each of them alone, and which one
    stands for all is not judged, only how many there are.
    """
    copies = group >= 0
    means, presence = seen.trace[:, :, MEAN], seen.trace[:, :, INCLUSION]
    sd, spread = np.sqrt(estimates.variance), estimates.inclusion * (1.0 - estimates.inclusion)
    judged = (estimates.inclusion > LEAST_INCLUSION) & ~copies
    still = is_constant(means)
    agree = is_constant(means.mean(axis=1)[None])
    r_hat = np.where(still & agree, np.nan, split_r_hat(means, estimates.variance, seen.batch))
    r_hat = np.fmax(r_hat, np.where(spread > 1e-9, split_r_hat(presence, spread, seen.batch), np.nan))
    error = mean_errors(means)
    sd_error = sd_errors(seen, estimates)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(error > 0, estimates.variance / error**2, np.inf)
    return MCMCDiagnostics(
        "mcmc",
        sweeps=seen.sweeps,
        chains=len(seen.sets),
        mcse=np.hypot(error, unseen(reach, seen)),
        inclusion_mcse=np.hypot(mean_errors(presence), unseen(np.where(certain, 0.0, 1.0), seen)),
        sd_mcse=np.hypot(sd_error, unseen_sd(seen, sd, reach)),
        relative_sd_error=float(np.max(sd_error[judged & (sd > 0)] / sd[judged & (sd > 0)], initial=0.0)),
        effective_draws=effective,
        split_r_hat=np.where(judged, r_hat, np.nan),
        weight_r_hat=group_r_hat(seen, group) if copies.any() else plain_r_hat(seen.log_weight),  # copies move it
        constant=judged & still,
        copies=copies,
        trace=means,
        drift=seen.tally.drift,
        least_residual=seen.tally.least_residual,
        flips=seen.tally.flips,
        swaps=seen.tally.swaps,
        jumps_made=seen.tally.jumps,
        setting_moves=seen.tally.setting_moves,
    )
