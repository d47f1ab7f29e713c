"""What a printed answer says of hidden causes, in one line."""

from __future__ import annotations

from alldags.show.sensitivity import SensitivitySummary, gain, whole_share
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
    x, y = summary.treatment, summary.outcome
    if not summary.has_path:
        return ""
    if summary.is_randomized:
        return f"{x} was randomised: no hidden cause acts on it."
    if summary.sd_hidden is not None:
        return "The hidden common cause in the graph is counted in."
    if summary.hidden is not None:
        return _needed(summary.hidden, x, y)
    asked = (on_command_line if command else in_python)(either("effect.sensitivity()", "--sensitivity"))
    tail = f"; {asked} asks what one would do" if summary.has_sensitivity else ""
    return _within(f"Assumed: no hidden cause of {x} and {y}{tail}.", f"Assumed: no hidden cause of both{tail}.")


def _within(long: str, short: str) -> str:
    return long if len(long) <= 78 else short


def _needed(found: SensitivitySummary, x: str, y: str) -> str:
    both = "both" if len(found.hits) == 2 else f"all {len(found.hits)}"
    level = f"{100 * found.level:g}%"
    if found.share_interval <= 0.0:
        return f"The {level} interval holds zero even without a hidden cause."
    if found.share_interval >= 1.0:
        return f"No hidden cause of {both} could make the {level} interval reach zero."
    if found.treatment_scale != "what is left":
        return _weighed(found, x, y)
    return f"A hidden cause must explain {whole_share(found.share_interval)} of {both} to reach zero{_compared(found)}."


def _weighed(found: SensitivitySummary, x: str, y: str) -> str:
    """Say the same of an effect that is no straight line, where the treatment's number is no share of it."""
    what = "inverse-odds precision" if found.treatment_scale == "inverse odds" else "mean squared weight"
    share, more = whole_share(found.share_interval), gain(found.share_interval)
    return f"To reach zero, a hidden cause must explain {share} of {y} and add {more} to the {what} of {x}."


def _compared(found: SensitivitySummary) -> str:
    """Set beside it what the strongest measured covariate explains."""
    if found.covariate is None or found.covariate_treatment is None or found.covariate_outcome is None:
        return ""
    shares = [whole_share(found.covariate_treatment), whole_share(found.covariate_outcome)]
    return f" ({found.covariate}: {' and '.join(shares)})".replace("less than ", "<")
