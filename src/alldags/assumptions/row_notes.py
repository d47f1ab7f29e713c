"""Notes on what missing values and clusters do to one effect."""

from __future__ import annotations

import math
from collections.abc import Iterator

from alldags.assumptions.examined import ExaminedEffect
from alldags.show.numbers import number

LARGE_ERROR = 0.05  # of the standard deviation: Monte-Carlo error of imputation that is worth a word
LARGE_RATIO = 1.25  # of the two standard deviations
FEW_CLUSTERS = 20


def row_notes(effect: ExaminedEffect) -> Iterator[str]:
    """Say how much missing values and clusters matter."""
    yield from _imputation_notes(effect)
    yield from _cluster_notes(effect)


def _imputation_notes(effect: ExaminedEffect) -> Iterator[str]:
    share = effect.missing_information
    if share is None:
        return
    text = f"missing values account for {100 * share:.0f}% of the variance of this effect"
    error = effect.imputation_error / effect.sd if effect.sd > 0 else 0.0
    if error <= LARGE_ERROR:
        yield text
        return
    enough = math.ceil(share / LARGE_ERROR**2 / 10.0) * 10
    yield (
        f"{text}; the Monte-Carlo error of the mean from imputation is {number(effect.imputation_error)}, more than "
        f"{100 * LARGE_ERROR:.0f}% of the standard deviation: {enough} imputed tables would do"
    )


def _cluster_notes(effect: ExaminedEffect) -> Iterator[str]:
    check = effect.clusters
    if check is None:
        return
    if check.ratio > LARGE_RATIO:
        yield (
            f"rows of a cluster are alike: with rows taken for independent the standard deviation would be "
            f"{number(check.sd_independent)}, resampling the {check.clusters:,} clusters gives "
            f"{number(check.sd_clusters)}; the answer counts {number(check.design_effect)} rows as one"
        )
    elif check.ratio < 1.0 / LARGE_RATIO:
        yield (
            f"resampling the {check.clusters:,} clusters gives a standard deviation of {number(check.sd_clusters)}, "
            f"less than with rows taken for independent ({number(check.sd_independent)}); the answer keeps the larger"
        )
    if check.clusters < FEW_CLUSTERS:
        yield f"only {check.clusters} clusters: how much they differ is poorly known, intervals may be too narrow"
