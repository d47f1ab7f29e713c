"""What is said of errors that a hidden common cause makes go together: the record, and its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from alldags.show.numbers import number
from alldags.text import some

_NONE, _ALL = 0.005, 0.995  # probabilities that are shown as none, and as all
LITTLE = 0.2  # learned of a correlation, below which most of an interval is prior
WEAK = 10.0  # F of all instruments together


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
        F statistic of all instruments together; not a number without any.
    instruments
        Each of them.
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
    f: float
    instruments: tuple[InstrumentSummary, ...] = ()

    @property
    def is_identified(self) -> bool:
        """Whether some graph identifies the effect even if something hidden acts on both."""
        return self.identified_if_hidden > _NONE

    @property
    def is_weak(self) -> bool:
        """Whether data say little about the correlation though the graph identifies the effect."""
        return self.is_identified and self.learned < LITTLE


def nothing_identifies(one: CorrelatedSummary) -> str:
    """Say that data are silent about a hidden cause."""
    said = f"correlation between {number(one.low_before)} and {number(one.high_before)}"
    return (
        "nothing identifies this effect: in none of the graphs is there an instrument or a front door, so the data say "
        f"nothing about the hidden cause of {one.first} and {one.second}; the interval is what you said of it ({said}) "
        "added to least squares"
    )


def weak_instruments(one: CorrelatedSummary) -> str:
    """Say that most of an interval is prior."""
    names = some([each.name for each in one.instruments])
    source = f"{names} {'is' if len(one.instruments) == 1 else 'are'} weak (F = {one.f:.1f})"
    if not one.instruments or not one.f < WEAK:
        source = f"the data hardly tell how strong the hidden cause of {one.first} and {one.second} is"
    return f"{source}: they narrow the correlation of the errors by {one.learned:.0%} only; most of the interval is prior"


def single_instrument(one: CorrelatedSummary) -> str:
    """Say that one instrument cannot vouch for itself."""
    only = one.instruments[0]
    return (
        f"with a single instrument data cannot tell whether it is valid: {only.valid_before:.2f} became "
        f"{only.valid:.2f} for {only.name} for reasons of size alone"
    )


def correlated_sentence(one: CorrelatedSummary) -> str:
    """Say what is known of a hidden cause, and by what."""
    allowed = "" if one.probability_before >= 1.0 else f", with probability {one.probability:.0%}"
    between = f"{number(one.mean)} ({number(one.low)} to {number(one.high)})"
    learned = "the data put" if one.is_identified else "you put"
    return (
        f"A hidden common cause of {one.first} and {one.second} is allowed for{allowed}: {learned} the correlation of "
        f"their errors at {between}. {_identified(one)}"
    )


def correlated_short(one: CorrelatedSummary) -> str:
    """Say the same in a line or two."""
    between = f"{number(one.mean)} ({number(one.low)} to {number(one.high)})"
    chance = "" if one.probability_before >= 1.0 else f" ({one.probability:.0%})"
    return f"one of {one.first} and {one.second}{chance}, errors correlated {between}; {_identified(one)[11:-1]}"


def _identified(one: CorrelatedSummary) -> str:
    if one.identified <= _NONE:
        return "The effect is identified in none of the candidate graphs."
    of = "every candidate graph" if one.identified >= _ALL else f"{one.identified:.0%} of the candidate graphs"
    return f"The effect is identified in {of}{_by(one)}."


def _by(one: CorrelatedSummary) -> str:
    """Name what identifies the effect, with how many instruments there are."""
    if not one.instruments:
        return "" if not one.is_identified else ", without an instrument"
    count = sum(each.valid for each in one.instruments)
    if len(one.instruments) == 1:
        return f", by {one.instruments[0].name}"
    about = f"{count:.0f}" if abs(count - round(count)) < 0.05 else f"about {count:.1f}"
    return f", by {about} independent instruments of {len(one.instruments)}"


def correlated_dict(one: CorrelatedSummary) -> dict[str, Any]:
    """Return the record as a dictionary of plain numbers and names."""
    names = (
        "first", "second", "probability", "probability_before", "mean", "low", "high", "low_before", "high_before",
        "learned", "identified",
    )  # fmt: skip
    found: dict[str, Any] = {name: getattr(one, name) for name in names}
    each = [
        {"name": i.name, "partial_r2": i.share, "f": i.f, "valid": i.valid, "valid_before": i.valid_before}
        for i in one.instruments
    ]
    return {**found, "f": None if not one.instruments else one.f, "instruments": each}
