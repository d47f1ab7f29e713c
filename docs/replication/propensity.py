"""How much IPW on IHDP depends on the strength of the propensity's penalty, which the paper does not give.

ALLDAGS_DATA=... python docs/replication/propensity.py
"""

from __future__ import annotations

import numpy as np

import alldags as ad
from replication.baselines import propensity, weighted_difference
from replication.summary import markdown, number, standard_error, with_error

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def main() -> None:
    """Print mean and median squared errors over the 1,000 replications at full size."""
    sets = [ad.datasets.ihdp(index + 1) for index in range(1000)]
    treatment, covariates = sets[0].treatment, sets[0].covariates  # the same in all
    body = []
    for strength in STRENGTHS:
        fitted = propensity(covariates, treatment, strength)
        row = [f"{strength:g}", f"{fitted.min():.3f} to {fitted.max():.3f}"]
        for normalised in (False, True):
            estimates = [weighted_difference(fitted, treatment, s.outcome, normalised=normalised).value for s in sets]
            errors = (np.array(estimates) - [s.effect for s in sets]) ** 2
            row += [with_error(float(errors.mean()), standard_error(errors)), number(float(np.median(errors)))]
        body.append(row)
    print(markdown(["C", "propensities", "IPW, mean", "median", "normalised, mean", "median"], body))


if __name__ == "__main__":
    main()
