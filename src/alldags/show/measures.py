"""What an effect is measured in: the outcome, its mean, or the probability of it."""

from __future__ import annotations

from alldags.kinds import MEASURES
from alldags.show.numbers import number
from alldags.show.summary import EffectSummary


def measured(summary: EffectSummary) -> str:
    """Say what changes: the outcome, or what of it."""
    if summary.measure in ("", "mean") or (summary.measure == "risk" and is_risk(summary)):
        return summary.outcome
    if summary.measure == "risk" and summary.outcome_words not in (None, ("False", "True")):
        return f"the probability that {summary.outcome} is {(summary.outcome_words or ('', ''))[1]!r}"
    if summary.measure == "survival":
        return f"the restricted mean of {summary.outcome}{up_to(summary)}"
    scale = MEASURES[summary.measure].scale if summary.measure in MEASURES else summary.measure
    return f"the {scale} of {summary.outcome}"


def up_to(summary: EffectSummary) -> str:
    """Say up to which time survived time counts; empty where that is not said of the outcome."""
    found = [item.until for item in summary.not_normal if item.name == summary.outcome and item.until is not None]
    return f" (up to {number(found[0])})" if found else ""


def mean_word(summary: EffectSummary, other: str) -> str:
    """Return what the mean outcome is called beside numbers; `other` where the outcome is an ordinary number."""
    if summary.measure == "risk":
        return chance(summary)
    return MEASURES[summary.measure].mean if summary.measure in MEASURES else other


def bends_anywhere(summary: EffectSummary) -> bool:
    """Tell whether regressions were made of more than straight lines."""
    return bool(summary.shapes) or summary.measure == "mean"


def is_risk(summary: EffectSummary) -> bool:
    """Tell whether the user calls the outcome a risk; anything else that is yes or no has a probability."""
    return "risk" in summary.outcome.lower()


def chance(summary: EffectSummary) -> str:
    """Return what the mean of a yes/no outcome is called."""
    return "risk" if is_risk(summary) else "probability"


def axis_name(summary: EffectSummary) -> str:
    """Name an axis of effects: on what, and per what.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.measures import axis_name
    >>> study = ad.datasets.example()
    >>> axis_name(ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").summary())
    'effect of smoking on risk, per unit'
    """
    is_step = summary.contrast is None and not summary.is_binary
    return f"effect of {summary.treatment} on {measured(summary)}{', per unit' if is_step else ''}"
