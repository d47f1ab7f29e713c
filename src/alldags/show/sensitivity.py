"""How strong a hidden cause would have to be: the record and its words."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill

_WIDTH = 78


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
            f"The {level} interval holds zero as it is; a hidden common cause that explains "
            f"{whole_share(summary.share_mean)} of the unexplained variance of {_all(summary)} would bring the "
            "estimate to zero"
        )
    if summary.share_interval >= 1.0:
        return f"No hidden common cause of {_listed(summary.hits)} would make the {level} interval reach zero"
    return (
        f"A hidden common cause would have to explain {whole_share(summary.share_interval)} of the unexplained "
        f"variance of {_all(summary)} to make the {level} interval reach zero"
    )


def _compared(summary: SensitivitySummary) -> str:
    if summary.covariate is None or summary.covariate_treatment is None or summary.covariate_outcome is None:
        return ""
    explains = f"{whole_share(summary.covariate_treatment)} and {whole_share(summary.covariate_outcome)}"
    return f"; the strongest measured covariate, {summary.covariate}, explains {explains}"


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


def sensitivity_text(summary: SensitivitySummary) -> str:
    """Return what is printed of an analysis: how strong for the estimate, for the interval, and what is measured."""
    first = (
        f"An unmeasured common cause that explains {whole_share(summary.share_mean)} of the unexplained variance of "
        f"{_all(summary)} would bring the estimate to zero"
    )
    level = f"{100 * summary.level:g}%"
    if summary.share_interval <= 0.0:
        second = f"; the {level} interval holds zero as it is."
    else:
        second = f"; {whole_share(summary.share_interval)} would make the {level} interval reach zero."
    third = _compared(summary).lstrip("; ")
    tail = f" {third[0].upper()}{third[1:]}." if third else ""
    return fill(f"{first}{second}{tail} The data do not say whether there is such a cause.", _WIDTH)
