"""`CorrelatedSummary`: what is known of errors that a hidden common cause makes go together."""

from __future__ import annotations

from dataclasses import dataclass

NONE = 0.005  # a probability that is shown as none
LITTLE = 0.2  # learned of a correlation, below which most of an interval is prior


@dataclass(frozen=True)
class InstrumentSummary:
    """One instrument.

    Parameters
    ----------
    name
        Its name.
    share, f
        Partial R2 with the treatment, given the other instruments and the covariates, and its F statistic.
    valid, valid_before
        Probability that it has no other way to the outcome, after the data and before.
    """

    name: str
    share: float
    f: float
    valid: float
    valid_before: float


@dataclass(frozen=True)
class CorrelatedSummary:
    """Two variables on the way of an effect whose errors may be correlated.

    Parameters
    ----------
    first, second
        Their names.
    probability, probability_before
        That something hidden acts on both, after the data and before.
    mean, low, high
        Correlation of their errors if so, with its 95% interval.
    low_before, high_before
        The interval before the data.
    learned
        Share by which data made the standard deviation of the correlation smaller.
    identified, identified_if_hidden
        Probability that the graph identifies the effect; and if something hidden acts on both.
    f
        F statistic of all instruments together; None without any.
    instruments
        Each of them.
    rests_on
        What identifies the effect because the graph rules out that it acts on the second variable directly.
    tried
        Whether the first was set to several values in some rows, which then show its effect without a hidden cause.
    asked
        Whether it is in doubt that the first acts on the second.
    """

    first: str
    second: str
    probability: float
    probability_before: float
    mean: float
    low: float
    high: float
    low_before: float
    high_before: float
    learned: float
    identified: float
    identified_if_hidden: float
    f: float | None
    instruments: tuple[InstrumentSummary, ...] = ()
    rests_on: tuple[str, ...] = ()
    tried: bool = False
    asked: bool = False

    @property
    def is_identified(self) -> bool:
        """Whether some graph identifies the effect even if something hidden acts on both."""
        return self.identified_if_hidden > NONE

    @property
    def is_weak(self) -> bool:
        """Whether data say little about the correlation though the graph identifies the effect."""
        return self.is_identified and self.learned < LITTLE
