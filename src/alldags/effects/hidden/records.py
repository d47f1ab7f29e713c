"""What a sensitivity analysis answers, as frozen records of plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.effects.hidden.weighted import WeightedDraws


@dataclass(frozen=True, slots=True)
class SensitivityAnswer:
    """An effect, given a hidden common cause; in the user's units.

    Parameters
    ----------
    mean, sd
        Posterior mean and standard deviation.
    level, low, high
        Central interval.
    probability_positive
        Posterior probability of an effect above zero.
    probability_no_direct_effect
        Posterior probability that the treatment does not act directly on the outcome; None if the engine cannot say.
    r2_treatment, r2_outcome, bias_factor, rho
        The strength in all its currencies: shares of what is left of treatment and outcome, the bias in units of the
        outcome's over the treatment's noise, the correlation of the two errors; None where one number does not say it.
    probability_hidden
        Probability that there is a hidden cause: as stated, unless the data were asked (``identify="instruments"``).
    """

    mean: float
    sd: float
    level: float
    low: float
    high: float
    probability_positive: float
    probability_no_direct_effect: float | None
    r2_treatment: float | None = None
    r2_outcome: float | None = None
    bias_factor: float | None = None
    rho: float | None = None
    probability_hidden: float | None = None


@dataclass(frozen=True, slots=True)
class Robustness:
    """How strong a hidden common cause would have to be.

    Parameters
    ----------
    value
        Share that it would have to explain of what is left of both treatment and outcome (of the errors of all
        variables it hits, if those are more); 1 if no strength suffices.
    bias_factor, rho
        The same in other currencies; None if it hits mediators, too.
    level
        None: to bring the mean to `target`; otherwise to make the interval reach it.
    target
        In the user's units.
    """

    value: float
    bias_factor: float | None
    rho: float | None
    level: float | None
    target: float


@dataclass(frozen=True, slots=True)
class Benchmark:
    """An effect, given a hidden common cause as strong as a measured covariate; in the user's units.

    Parameters
    ----------
    covariate, times, times_outcome
        So many times as strong on treatment and outcome as this covariate.
    r2_treatment, r2_outcome
        Posterior means of what it would explain of what is left of each.
    r2_treatment_high, r2_outcome_high
        Their 95% quantiles.
    bias_factor
        Posterior mean.
    answer
        The effect, every draw at its own strength.
    """

    covariate: str
    times: float
    times_outcome: float
    r2_treatment: float
    r2_outcome: float
    r2_treatment_high: float
    r2_outcome_high: float
    bias_factor: float
    answer: SensitivityAnswer


def answer(draws: WeightedDraws, level: float, *strength: float | None) -> SensitivityAnswer:
    """Return a distribution as an answer; `strength` are its last fields."""
    low, high = draws.interval(level)
    return SensitivityAnswer(draws.mean, draws.sd, level, low, high, draws.above(0.0), draws.no_direct, *strength)
