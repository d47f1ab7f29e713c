"""How strong a hidden cause would have to be: the record and its words."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Literal, TypeAlias

_WIDTH = 78

TreatmentScale: TypeAlias = Literal["what is left", "inverse odds", "weights"]
"""What the treatment's share is a share of."""

_WHOLE = 0.99  # of a share: a cause that explains more is no benchmark
_MOST_FOLD = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivitySummary:
    """How strong a hidden common cause would have to be, as plain numbers and names.

    Parameters
    ----------
    treatment, outcome
        Names.
    hits
        What the hidden cause acts on, the treatment first.
    level
        Of the interval.
    share_mean, share_interval
        Share that the cause would have to explain of the unexplained variance of all it hits to bring the estimate to
        zero, and to make the interval reach zero; 0 if it does already, 1 if no strength suffices.
    covariate
        The measured covariate that would bias most, were it hidden; None if there is none.
    covariate_treatment, covariate_outcome
        Shares of the unexplained variance of treatment and outcome that it explains.
    treatment_scale
        What shares of the treatment are shares of: ``"what is left"`` of it, its unexplained variance, where the effect
        is a straight line, else the square of the representer: the precision of the ``"inverse odds"`` of a yes/no
        treatment, or the mean square of the ``"weights"`` that balance any other.
    mean, mean_above_zero
        The effect without a hidden cause, and with one of next to no strength where that is far from it; else None.
    odds_mean, odds_interval, covariate_odds
        The same strengths for a yes/no treatment, in other words: how many times its odds change for each standard
        deviation of a normal cause that alone drives it; None for other treatments.
    same_direction, opposite_directions
        Mean and ends of the interval of the effect if a cause as strong as the covariate acts on treatment and outcome
        in the same direction, and if in opposite ones; None where that was not asked.
    """

    treatment: str
    outcome: str
    hits: tuple[str, ...]
    level: float
    share_mean: float
    share_interval: float
    covariate: str | None = None
    covariate_treatment: float | None = None
    covariate_outcome: float | None = None
    treatment_scale: TreatmentScale = "what is left"
    mean: float | None = None
    mean_above_zero: float | None = None
    odds_mean: float | None = None
    odds_interval: float | None = None
    covariate_odds: float | None = None
    same_direction: tuple[float, float, float] | None = None
    opposite_directions: tuple[float, float, float] | None = None

    @property
    def of_treatment(self) -> str:
        """What shares of the treatment are shares of, in words."""
        if self.treatment_scale == "inverse odds":
            return f"the mean of 1/(p(1 - p)), p the probability of {self.treatment},"
        if self.treatment_scale == "weights":
            return f"the weights that balance {self.treatment}"
        return f"unexplained variance of {self.treatment}"


def hidden_sentence(summary: SensitivitySummary) -> str:
    """Say in one sentence how strong a hidden common cause would have to be.

    Examples
    --------
    >>> from alldags.show.sensitivity import SensitivitySummary, hidden_sentence
    >>> hidden_sentence(SensitivitySummary(treatment="x", outcome="y", hits=("x", "y"), level=0.95,
    ...     share_mean=0.37, share_interval=0.31, covariate="age", covariate_treatment=0.05, covariate_outcome=0.09))
    'A hidden common cause would have to explain 31% of the unexplained variance of both x and y to make the 95% \
interval reach zero; the strongest measured covariate, age, explains 5% and 9%.'
    """
    return f"{_needed(summary)}{_compared(summary)}."


def _needed(summary: SensitivitySummary) -> str:
    level = f"{100 * summary.level:g}%"
    if summary.share_interval <= 0.0:
        return f"The {level} interval holds zero without any hidden common cause"
    if summary.share_interval >= 1.0:
        return f"No hidden common cause of {_listed(summary.hits)} would make the {level} interval reach zero"
    needed = _acts(summary, summary.share_interval, summary.odds_interval)
    return f"A hidden common cause would have to {needed} to make the {level} interval reach zero"


def _acts(summary: SensitivitySummary, share: float, odds: float | None, s: str = "") -> str:
    """Say what a cause of this strength does; `s` ends its verbs."""
    if odds is None:
        return f"explain{s} {whole_share(share)} of the unexplained variance of {_all(summary)}"
    explains = f"explain{s} {whole_share(share)} of the unexplained variance of {summary.outcome}"
    return f"{explains} and change{s} the odds of {summary.treatment} {fold(odds)} per standard deviation of its own"


def _compared(summary: SensitivitySummary) -> str:
    if summary.covariate is None or summary.covariate_treatment is None or summary.covariate_outcome is None:
        return ""
    if max(summary.covariate_treatment, summary.covariate_outcome) > _WHOLE:
        return (
            f"; the strongest measured covariate, {summary.covariate}, is so strong that a hidden cause like it would "
            "leave nothing to estimate"
        )
    first, second = whole_share(summary.covariate_treatment), whole_share(summary.covariate_outcome)
    explains = f"explains {first} and {second}"
    if summary.covariate_odds is not None:
        explains = f"explains {second} and changes the odds {fold(summary.covariate_odds)}"
    return f"; the strongest measured covariate, {summary.covariate}, {explains}"


def _all(summary: SensitivitySummary) -> str:
    return f"{'both' if len(summary.hits) == 2 else 'each of'} {_listed(summary.hits)}"


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def whole_share(value: float) -> str:
    """Format a share in whole percent.

    Examples
    --------
    >>> from alldags.show.sensitivity import whole_share
    >>> whole_share(0.312), whole_share(0.002)
    ('31%', 'less than 1%')
    """
    return "less than 1%" if value < 0.005 else f"{100 * value:.0f}%"


def fold(odds: float) -> str:
    """Format how many times odds change.

    Examples
    --------
    >>> from alldags.show.sensitivity import fold
    >>> fold(1.84), fold(250.0)
    ('1.8-fold', 'more than 100-fold')
    """
    return f"more than {_MOST_FOLD:.0f}-fold" if odds > _MOST_FOLD else f"{odds:.1f}-fold"


def sensitivity_text(summary: SensitivitySummary) -> str:
    """Return what is printed of an analysis: how strong for the estimate, for the interval, and what is measured."""
    third = _compared(summary).lstrip("; ")
    tail = f" {third[0].upper()}{third[1:]}." if third else ""
    rest = f"{_directions(summary)}{_meaning(summary)}{_above_zero(summary)}"
    return fill(f"{_to_zero(summary)}{tail}{rest} The data do not say whether there is such a cause.", _WIDTH)


def _to_zero(summary: SensitivitySummary) -> str:
    level = f"{100 * summary.level:g}%"
    if summary.share_interval <= 0.0:
        return f"The {level} interval holds zero without any hidden common cause."
    acts = _acts(summary, summary.share_mean, summary.odds_mean, "s")
    share = whole_share(summary.share_interval)
    both = share if summary.odds_interval is None else f"{share} and {fold(summary.odds_interval)}"
    return (
        f"An unmeasured common cause that {acts} would bring the estimate to zero; {both} would make the {level} "
        "interval reach zero."
    )


def _directions(summary: SensitivitySummary) -> str:
    """Say what a cause does that acts on both in the same direction, and what one does that does not."""
    if len(summary.hits) != 2 or summary.mean is None:
        return ""
    x, y = summary.treatment, summary.outcome
    if summary.same_direction is not None and summary.opposite_directions is not None:
        same, opposite = map(_with_interval, (summary.same_direction, summary.opposite_directions))
        return (
            f" A cause as strong as {summary.covariate} would leave an effect of {same} if it acts on {x} and {y} in "
            f"the same direction, and of {opposite} if in opposite directions."
        )
    this, other = ("the same direction", "opposite directions") if summary.mean > 0 else (
        "opposite directions", "the same direction"
    )  # fmt: skip
    return (
        f" That is a cause that acts on {x} and {y} in {this}; one that acts on them in {other} hides a part of the "
        "effect, which is larger then."
    )


def _with_interval(found: tuple[float, float, float]) -> str:
    mean, low, high = (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" for value in found)
    return f"{mean} ({low} to {high})"


def _meaning(summary: SensitivitySummary) -> str:
    """Say what a number about the treatment is where it is no share of its unexplained variance."""
    if summary.treatment_scale != "weights":
        return ""
    return (
        f" Of {summary.treatment}, whose effect is no straight line, it is a share of the weights that make rows with "
        "other values of it alike in the covariates."
    )


def _above_zero(summary: SensitivitySummary) -> str:
    """Say where the answer jumps as soon as there may be a cause at all."""
    if summary.mean_above_zero is None or summary.mean is None:
        return ""
    return (
        f" With a cause of next to no strength the mean is {summary.mean_above_zero:.3g}, without one "
        f"{summary.mean:.3g}: that drivers of {summary.treatment} seem not to act on {summary.outcome} speaks for the "
        "latter only as long as nothing is hidden."
    )
