"""When weighted draws can be trusted."""

from __future__ import annotations

from alldags.engines.families.weighing import WeightedDraws

MOST_K_HAT = 0.7
LEAST_SHARE = 0.3  # of the draws that the weighted ones must be worth
AMPLE_SHARE = 0.75  # with so many k-hat sees tails that carry nothing: errors of probabilities were below 0.01 there


def trusted_weights(draws: WeightedDraws) -> bool:
    """Tell whether weighted averages over the draws can be trusted."""
    share = draws.effective_share
    return share >= AMPLE_SHARE or (draws.k_hat <= MOST_K_HAT and share >= LEAST_SHARE)
