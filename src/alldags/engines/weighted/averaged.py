"""A node averaged over what its family learns on a grid: one fit for each value, weighed by evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.settings import PartsPosterior
from alldags.engines.weighted.expansion import Expanded
from alldags.engines.weighted.posterior import FamilyDiagnostics, WeightedPosterior
from alldags.engines.weighted.weighing import WeightedDraws
from alldags.families.base import Family, Variant
from alldags.typing import FloatArray

FitVariant = Callable[[Family, np.random.Generator], WeightedPosterior]
_MATTERS = 0.01  # weight of a value below which how its part was computed does not matter


def averaged(
    family: Family, variants: Sequence[Variant], fit: FitVariant, rng: np.random.Generator
) -> AveragedPosterior:
    """Return the posterior over several variants of a family, each fitted by `fit`."""
    parts = [fit(one.family, stream) for one, stream in zip(variants, rng.spawn(len(variants)), strict=True)]
    return AveragedPosterior(family, parts, variants, rng)


class AveragedPosterior(WeightedPosterior):
    """A mixture of fits under each value of what a family learns: all is the parts' average.

    Its draws are the parts', each as often as it is probable. Beside each are its noise variance, which means something
    else under each value, and the value.

    Parameters
    ----------
    family
        As it was asked for.
    parts, variants
        The fits, and what they are of.
    rng
        Of the choice of draws.
    """

    def __init__(
        self,
        family: Family,
        parts: Sequence[WeightedPosterior],
        variants: Sequence[Variant],
        rng: np.random.Generator,
    ) -> None:
        logs = [math.log(one.share) for one in variants]
        mixed = PartsPosterior(parts[0].problem, parts, logs, "what its family learns")
        self.parts, self._mixed = tuple(parts), mixed
        self.values = np.array([one.value for one in variants])
        best = parts[int(mixed.weights.argmax())]
        mixed.problem, mixed.diagnostics = best.problem, best.base.diagnostics
        draws = _draws(parts, mixed.weights, self.values, rng)
        super().__init__(family, Expanded(best.quadratic, mixed), draws, self._reported(best), best._center)

    def _reported(self, best: WeightedPosterior) -> FamilyDiagnostics:
        assert isinstance(best.diagnostics, FamilyDiagnostics)
        weights = self._mixed.weights
        heavy = [part for part, weight in zip(self.parts, weights, strict=True) if weight > _MATTERS]
        return replace(
            best.diagnostics,
            warnings=tuple(dict.fromkeys(text for part in heavy for text in part.diagnostics.warnings)),
            k_hat=max(getattr(part.diagnostics, "k_hat", 0.0) for part in heavy),
            converged=all(part.diagnostics.is_reliable for part in heavy),
            df=float(weights @ self.values),
            df_sd=float(np.sqrt(weights @ (self.values - weights @ self.values) ** 2)),
        )

    @cached_property
    def noise_variance(self) -> float:
        return float(self._mixed.noise_variance)

    @cached_property
    def intercept_share(self) -> float:
        return float(self._mixed.weights @ [part.intercept_share for part in self.parts])

    def linear_error(self, weights: FloatArray) -> float:
        pairs = zip(self._mixed.weights.tolist(), self.parts, strict=True)
        return math.sqrt(sum((share * part.linear_error(weights)) ** 2 for share, part in pairs if share > 0.0))


def _draws(
    parts: Sequence[WeightedPosterior], weights: FloatArray, values: FloatArray, rng: np.random.Generator
) -> WeightedDraws:
    """Return equally probable draws of all parts."""
    size = max(part.weighted.size for part in parts)
    counts = np.diff(np.floor(np.r_[0.0, np.cumsum(weights)] * size + rng.random())).astype(int)
    taken = [
        (part.weighted, part.places(count, rng), value)
        for part, count, value in zip(parts, counts.tolist(), values.tolist(), strict=True)
        if count
    ]

    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(draws, name)[places] for draws, places, _ in taken])

    variance, total = joined("variance"), int(counts.sum())
    learned = np.concatenate([np.full(len(places), value) for _, places, value in taken])
    return WeightedDraws(
        joined("intercept"),
        joined("coefficients"),
        variance,
        np.full(total, 1.0 / total),
        0.0,
        max(draws.k_hat for draws, _, _ in taken),
        joined("partners"),
        beside=np.column_stack([variance, learned]),
    )
