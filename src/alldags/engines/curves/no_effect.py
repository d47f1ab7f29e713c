"""The probability that a yes/no treatment is no cause of a child whose arms have flat intercepts."""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.curves.posterior import Averaged
from alldags.typing import FloatArray


def probability_no_effect(node: Averaged) -> float:
    """Return the posterior probability that the treatment is not in the regression.

    Given coefficients and noise, the difference of the arms' means, less what the columns explain of it, is
    ``m ~ N(tau, s^2 c)``, ``c = 1/n_0 + rho/n_1``. A flat tau integrates to one; without the treatment the density is
    that at ``tau = 0``, and with the prior ``tau ~ N(0, n s^2 c)``, for this comparison only, that of
    ``N(0, (n + 1) s^2 c)``.
    """
    assert node.spec.treatment is not None
    stated = node.spec.causes[node.spec.treatment]
    if stated >= 1.0:
        return 0.0
    log_with, log_without = [], -math.inf
    for weight, fit in zip(node.shares, node.plain, strict=True):
        draws, share = fit.weighted_draws
        mean, rows = node.moments.mean, node.moments.rows
        gap = fit.structure.at(1, mean[1, :-1]) - fit.structure.at(0, mean[0, :-1])
        shift = mean[1, -1] - mean[0, -1] - draws.coefficients @ gap
        variance = draws.variance * (1.0 / rows[0] + draws.ratio / rows[1])
        count = rows.sum()
        if weight > 0.0:
            log_with.append(math.log(weight) + _log_mean(share, _log_normal(shift, (count + 1.0) * variance)))
        if fit.structure.name == "common":
            log_without = (math.log(weight) if weight > 0.0 else -math.inf) + _log_mean(
                share, _log_normal(shift, variance)
            )
    equal = math.log(len(node.plain))  # "without" has the columns of one of the structures
    odds = math.log1p(-stated) - math.log(stated) + log_without + equal - float(np.logaddexp.reduce(log_with))
    return float(1.0 / (1.0 + math.exp(-max(min(odds, 700.0), -700.0))))


def _log_normal(values: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * (np.log(2.0 * math.pi * variance) + values**2 / variance))


def _log_mean(share: FloatArray, logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(share @ np.exp(logs - top)))
