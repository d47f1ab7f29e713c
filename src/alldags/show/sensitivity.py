"""How strong a hidden cause would have to be: the record and its words."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Literal, TypeAlias

_WIDTH = 78

TreatmentScale: TypeAlias = Literal["what is left", "inverse odds", "weights"]
"""What the treatment's share is a share of."""

_WHOLE = 0.99  # of a share: a cause that explains more is no benchmark


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

    @property
    def raised(self) -> str:
        """What a hidden cause of an effect that is no straight line would raise, in words."""
        if self.treatment_scale == "inverse odds":
            return f"the precision of the inverse odds of {self.treatment}"
        return f"the mean square of the weights that balance {self.treatment}"


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
    if summary.share_interval <= 0.0 and summary.share_mean >= 1.0:
        return f"The {level} interval holds zero as it is"
    if summary.share_interval <= 0.0:
        return (
            f"The {level} interval holds zero as it is; a hidden common cause that "
            f"{_acts(summary, summary.share_mean, 's')} would bring the estimate to zero"
        )
    if summary.share_interval >= 1.0:
        return f"No hidden common cause of {_listed(summary.hits)} would make the {level} interval reach zero"
    return (
        f"A hidden common cause would have to {_acts(summary, summary.share_interval)} to make the {level} interval "
        "reach zero"
    )


def _acts(summary: SensitivitySummary, share: float, s: str = "") -> str:
    """Say what a cause of this strength does; `s` ends its verbs."""
    if summary.treatment_scale == "what is left":
        return f"explain{s} {whole_share(share)} of the unexplained variance of {_all(summary)}"
    explains = f"explain{s} {whole_share(share)} of the unexplained variance of {summary.outcome}"
    return f"{explains} and raise{s} {summary.raised} by {gain(share)}"


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
    if summary.treatment_scale != "what is left":
        explains = f"explains {second} and raises it by {gain(summary.covariate_treatment)}"
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


def gain(share: float) -> str:
    """Format by how much a cause raises what it explains this share of.

    Examples
    --------
    >>> from alldags.show.sensitivity import gain
    >>> gain(0.2), gain(0.001)
    ('25%', 'less than 1%')
    """
    return whole_share(share / (1.0 - share)) if share < 1.0 else "any amount"


def sensitivity_text(summary: SensitivitySummary) -> str:
    """Return what is printed of an analysis: how strong for the estimate, for the interval, and what is measured."""
    first = (
        f"An unmeasured common cause that {_acts(summary, summary.share_mean, 's')} would bring the estimate to zero"
    )
    level = f"{100 * summary.level:g}%"
    if summary.share_interval <= 0.0:
        second = f"; the {level} interval holds zero as it is."
    else:
        share = whole_share(summary.share_interval)
        both = share if summary.treatment_scale == "what is left" else f"{share} and {gain(summary.share_interval)}"
        second = f"; {both} would make the {level} interval reach zero."
    third = _compared(summary).lstrip("; ")
    tail = f" {third[0].upper()}{third[1:]}." if third else ""
    rest = f"{_meaning(summary)}{_above_zero(summary)} The data do not say whether there is such a cause."
    return fill(f"{first}{second}{tail}{rest}", _WIDTH)


def _meaning(summary: SensitivitySummary) -> str:
    """Say what a number about the treatment is where it is no share of its unexplained variance."""
    name = summary.treatment
    if summary.treatment_scale == "inverse odds":
        return (
            f" The number about {name} is no share of it, as {name} is yes or no: it is by how much the mean of "
            f"1/(p(1 - p)) grows, p being the probability of {name}, once the cause is known."
        )
    if summary.treatment_scale == "weights":
        return (
            f" The number about {name} is no share of it: rows are weighed so that those with other values of {name} "
            "are alike in the covariates, and it is by how much the mean square of these weights grows, once the cause "
            "is known."
        )
    return ""


def _above_zero(summary: SensitivitySummary) -> str:
    """Say where the answer jumps as soon as there may be a cause at all."""
    if summary.mean_above_zero is None or summary.mean is None:
        return ""
    return (
        f" With a cause of next to no strength the mean is {summary.mean_above_zero:.3g}, without one "
        f"{summary.mean:.3g}: that drivers of {summary.treatment} seem not to act on {summary.outcome} speaks for the "
        "latter only as long as nothing is hidden."
    )
