"""What a printed answer says of hidden causes, in one line."""

from __future__ import annotations

from alldags.show.correlated_words import correlated_short
from alldags.show.sensitivity import SensitivitySummary, fold, whole_share
from alldags.show.summary import EffectSummary
from alldags.wording import either, in_python, on_command_line


def hidden_short(summary: EffectSummary, *, command: bool = False) -> str:
    """Say in one line what a hidden cause of treatment and outcome would have to do, or what was assumed of it.

    Parameters
    ----------
    summary
        Of the effect.
    command
        Whether to speak in the words of the command line.
    """
    if not summary.has_path:
        return ""
    return f"{HIDDEN} {(on_command_line if command else in_python)(_said(summary))}."


HIDDEN = "Hidden causes:"  # of treatment and outcome


def _said(summary: EffectSummary) -> str:
    if summary.is_randomized:
        return f"none, as {summary.treatment} was randomised"
    if summary.correlated:
        return "; ".join(map(correlated_short, summary.correlated))
    if summary.hidden is not None:
        return _needed(summary.hidden, summary.treatment, summary.outcome)
    if summary.low <= 0.0 <= summary.high:
        return f"assumed none; the {100 * summary.level:g}% interval holds zero without one"
    asked = either("effect.sensitivity()", "--sensitivity")
    return f"assumed none; {asked} says how strong one must be" if summary.has_sensitivity else "assumed none"


def _needed(found: SensitivitySummary, x: str, y: str) -> str:
    level = f"{100 * found.level:g}%"
    if found.share_interval <= 0.0:
        return f"assumed none; the {level} interval holds zero without one"
    if found.share_interval >= 1.0:
        return f"none is strong enough to make the {level} interval reach zero"
    share, odds = whole_share(found.share_interval), found.odds_interval
    of = "both" if len(found.hits) == 2 else f"all {len(found.hits)}"
    if odds is None:
        return f"one must explain {share} of {of} to reach zero{_compared(found)}"
    return f"to reach zero, one must explain {share} of {y} and change the odds of {x} {fold(odds)}{_compared(found)}"


def _compared(found: SensitivitySummary) -> str:
    """Set beside it what the strongest measured covariate explains."""
    if found.covariate is None or found.covariate_treatment is None or found.covariate_outcome is None:
        return ""
    outcome = whole_share(found.covariate_outcome)
    odds = found.covariate_odds
    both = (whole_share(found.covariate_treatment), outcome) if odds is None else (outcome, fold(odds))
    return f" ({found.covariate}: {', '.join(both)})".replace("less than ", "<")
