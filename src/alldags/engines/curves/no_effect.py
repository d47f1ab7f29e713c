"""Whether a yes/no treatment is a cause of a child whose arms have flat intercepts, and the evidence of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alldags.engines.curves.structures import StructureFit
from alldags.typing import FloatArray


class ArmsCompared(NamedTuple):
    """Probability that the treatment is not in the regression, and the log evidence with and without it, averaged."""

    no_effect: float
    log_evidence: float


def compare_arms(fits: Sequence[StructureFit], log_evidences: FloatArray, stated: float) -> ArmsCompared:
    """Return what the difference of the arms says of the treatment.

    Given coefficients and noise, the difference of the arms' means, less what the columns explain of it, is
    ``m ~ N(tau, s^2 c)``, ``c = 1/n_0 + rho/n_1``. A flat tau integrates to one; without the treatment the density is
    that at ``tau = 0``, and with the prior ``tau ~ N(0, n s^2 c)``, for this comparison only, that of
    ``N(0, (n + 1) s^2 c)``. The contrasts within arms and this one are all that there is but for the mean of all rows.

    Parameters
    ----------
    fits
        Structures, equally probable; without the treatment there are the columns of the common one.
    log_evidences
        Of the contrasts within arms, shape (structures,); minus infinity for those left out.
    stated
        Prior probability of the treatment's edge.
    """
    with_, without = [], -math.inf
    for value, fit in zip(log_evidences.tolist(), fits, strict=True):
        if value == -math.inf:
            continue
        shift, variance, share = _differences(fit)
        count = float(fit.moments.rows.sum())
        with_.append(value + _log_mean(share, _log_normal(shift, (count + 1.0) * variance)))
        if fit.structure.name == "common":
            without = value + _log_mean(share, _log_normal(shift, variance))
    log_with = float(np.logaddexp.reduce(with_)) - math.log(len(fits))
    unit = 0.5 * math.log(float((1.0 / fits[0].moments.rows).sum()))  # the contrast has length one
    if stated >= 1.0:
        return ArmsCompared(0.0, unit + log_with)
    both = np.array([math.log1p(-stated) + without, math.log(stated) + log_with])
    total = float(np.logaddexp.reduce(both))
    return ArmsCompared(math.exp(both[0] - total), unit + total)


def _differences(fit: StructureFit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the difference that columns leave of the arms' means, its variance and the weight of each draw."""
    draws, share = fit.weighted_draws
    mean, rows = fit.moments.mean, fit.moments.rows
    gap = fit.structure.at(1, mean[1, :-1]) - fit.structure.at(0, mean[0, :-1])
    shift = mean[1, -1] - mean[0, -1] - draws.coefficients @ gap
    return shift, draws.variance * (1.0 / rows[0] + draws.ratio / rows[1]), share


def _log_normal(values: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * (np.log(2.0 * math.pi * variance) + values**2 / variance))


def _log_mean(share: FloatArray, logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(share @ np.exp(logs - top)))
