"""`Poisson`: a child that is a count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags.errors import DataError
from alldags.families.base import ChainPrior, ChainRows, ChainState, Draws, RowSums, Sampler
from alldags.families.canonical import Canonical, capped
from alldags.families.quadratic import Quadratic
from alldags.priors.grid import Setting
from alldags.typing import FloatArray
from alldags.wording import option

MOST_DISPERSION = 1.5
_LINE_WORK = 12.0  # times as much work for a step along lines
_COUNTS_TELL = 1e7  # means up to which one count more or less is looked at
_COUNTED = 300.0  # largest mean up to which probabilities are added up, one count after the other


@dataclass(frozen=True, slots=True)
class Poisson(Canonical):
    """A count: ``log mean = offset + intercept + coefficients . parents``.

    Parameters
    ----------
    offset
        Column with the logarithm of what the count is in proportion to, such as the time under observation; it need
        not be in the graph.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Poisson(offset="log_years").offset
    'log_years'
    """

    name: ClassVar[str] = "poisson"
    measure: ClassVar[str] = "rate"
    link_words: ClassVar[str] = "log rate"

    offset: str | None = None

    def cumulant(self, eta: FloatArray) -> FloatArray:
        """Return ``exp(eta)``."""
        return np.exp(capped(eta))

    def total_cumulant(self, eta: FloatArray) -> FloatArray:
        """Return the sum of ``exp(eta)`` over rows."""
        return np.asarray(np.exp(capped(eta)).sum(axis=0))

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the mean count."""
        del apart
        return np.exp(capped(eta))

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the mean."""
        return mean

    def averaged(self, eta: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the average mean, which is the average variance, too."""
        mean = self.mean(eta + 0.5 * spread**2)
        return mean, mean

    def link(self, mean: float) -> float:
        """Return the logarithm."""
        return math.log(mean)

    def constants(self, values: FloatArray) -> FloatArray:
        """Return ``-log(y!)``."""
        from scipy.special import gammaln

        return -np.asarray(gammaln(values + 1.0))

    def rarer(self, quadratic: Quadratic) -> float:
        """Return the number of events."""
        return quadratic.events

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the count whose cumulative probability first reaches the level."""
        del apart
        mean = self.mean(eta)
        large = mean > _COUNTED
        value = _counted(np.where(large, 0.0, mean), uniform)
        if large.any():
            value[large] = _looked_up(mean[large], np.broadcast_to(uniform, mean.shape)[large])
        return value

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the cumulative probabilities of one less, and of the count."""
        from scipy.special import pdtr

        del apart
        mean = self.mean(eta)
        return np.where(value > 0.0, pdtr(value - 1.0, mean), 0.0), np.asarray(pdtr(value, mean))

    def remarks(self, rows: RowSums, draws: Draws) -> tuple[str, ...]:
        """Say how much more counts spread around their means than Poisson ones do (Pearson), if much."""
        used = 1 + int((np.abs(draws.coefficients[0]) > 0).sum())
        found = rows.squared_residuals(draws) / max(rows.count - used, 1)
        if found <= MOST_DISPERSION:
            return ()
        return (
            f"the counts of {rows.child!r} spread {found:.1f} times as much as Poisson ones: intervals are too short",
        )

    def sampler(self, settings: Sequence[Setting], *, weighted: bool) -> Sampler | None:
        """Return the sampler along lines on which the other coefficients follow."""
        if weighted or any(setting.slab != "independent" for setting in settings):
            return None
        return Sampler("metropolis", _advance, _LINE_WORK)

    def check(self, child: str, batches: Iterable[FloatArray]) -> Poisson:
        """Refuse what is no count, and a child without a single event."""
        total = 0.0
        for values in batches:
            bad = values[(values < 0) | (values != np.floor(values))]
            if bad.size:
                raise DataError(
                    f"{child!r} is to be a count (poisson), but has the value {float(bad[0]):g}; counts are whole "
                    f"numbers from 0 on; leave it out of {option('families')} if it is something else"
                )
            total += float(values.sum())
        if total == 0.0:
            raise DataError(f"{child!r} is 0 in every row: nothing shows what acts on it")
        return self


def _advance(
    rng: np.random.Generator,
    rows: ChainRows,
    prior: ChainPrior,
    information: FloatArray,
    state: ChainState,
    out: FloatArray,
) -> None:
    from alldags.kernels.counts import run_count_chain

    run_count_chain(rng, *rows, information, *prior, state.present, state.z, state.place, out)


def _counted(mean: FloatArray, level: FloatArray) -> FloatArray:
    """Return quantiles of Poisson distributions, by adding up probabilities."""
    mass = np.exp(-mean)
    below, value = mass.copy(), np.zeros_like(mean)
    count, open_ = 0, level > below
    while open_.any() and count < 4.0 * _COUNTED:
        count += 1
        mass = mass * mean / count
        value[open_] += 1.0
        below += mass
        open_ &= level > below
    return value


def _looked_up(mean: FloatArray, level: FloatArray) -> FloatArray:
    """Return the same of large means, infinite where the mean is: the quantile of Cornish and Fisher, set right."""
    from scipy.special import ndtri, pdtr

    z = ndtri(level)
    with np.errstate(invalid="ignore"):
        value = np.floor(mean + np.sqrt(mean) * z + (z * z - 1.0) / 6.0)
    near = mean < _COUNTS_TELL
    for step in (1.0, -1.0):
        least = value[near] if step > 0.0 else value[near] - 1.0
        reached = pdtr(least, mean[near]) >= level[near]
        value[near] += np.where(reached == (step < 0.0), step, 0.0)
    return np.asarray(np.where(np.isfinite(mean), value, np.inf))
