"""An effect in words, with everything: a sentence or two, a small table and notes; `alldags.show.screen` has less.

What is said is put together from short lists of functions, `_SENTENCES`, `_ROWS` and those of `alldags.show.remarks`:
each looks at the summary and returns what it has to say, or nothing. A new line is a new function.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill, wrap
from typing import TypeAlias

from alldags.show.measures import is_risk, mean_word, measured
from alldags.show.numbers import (
    WORTH_SAYING,
    amount,
    graph_count,
    no_effect,
    number,
    percent,
    rough,
    sampled_percent,
    whole_percent,
)
from alldags.show.remarks import remarks
from alldags.show.summary import EffectSummary, LeastSquares
from alldags.text import line_width, printable

_MOST_EXPLAINED = 4  # regressions whose R2 is shown

_LEAST_ROOM = 20  # characters of a value

Row: TypeAlias = tuple[str, str]


def effect_text(summary: EffectSummary) -> str:
    """Return sentences, table and notes, as printed on a terminal."""
    width = line_width()
    parts = [fill(printable(sentence(summary)), width, break_long_words=False), ""]
    parts += _wrapped_rows(rows(summary), width)
    parts += [fill(printable(text), width, break_long_words=False) for text in remarks(summary)]
    parts += [fill(printable(note), width, break_on_hyphens=False) for note in notes(summary)]
    return "\n".join(parts)


def _wrapped_rows(found: list[Row], width: int) -> list[str]:
    """Lay out names and values in two columns; a value that does not fit goes on below itself."""
    names = [printable(name) for name, _ in found]
    start = max(map(len, names), default=0) + 2
    room = max(width + 2 - start, _LEAST_ROOM)
    lines = []
    for name, (_, value) in zip(names, found, strict=True):
        first, *more = wrap(printable(value), room) or [""]
        lines += [f"{name.ljust(start)}{first}".rstrip(), *(" " * start + part for part in more)]
    return lines


def sentence(summary: EffectSummary) -> str:
    """Return the answer as one plain sentence or two."""
    return " ".join(text for part in _SENTENCES if (text := part(summary)))


def rows(summary: EffectSummary) -> list[Row]:
    """Return the small table under the sentence, as pairs of a name and a value."""
    if _zero_by_assumption(summary):
        return [*_regression_rows(summary), *_origin_rows(summary)]
    return [row for part in _ROWS for row in part(summary)]


def notes(summary: EffectSummary) -> list[str]:
    """Return the notes, each as a line."""
    return [f"note: {note}" for note in summary.notes]


def scope(summary: EffectSummary) -> str:
    """Say what the answer takes into account."""
    if summary.scope is not None:
        each = f", for each of {summary.candidates} weighed candidate graphs" if summary.candidates > 1 else ""
        return summary.scope + each
    count = graph_count(summary.log10_graphs)
    return "in the one candidate graph" if count == "1" else f"averaged over {count} candidate graphs"


def interval_name(summary: EffectSummary) -> str:
    """Return what the interval is called, such as ``95% interval``."""
    return f"{100 * summary.level:g}% interval"


# -- sentences -------------------------------------------------------------------------------------------------------


def _zero_by_assumption(summary: EffectSummary) -> bool:
    return summary.probability_no_effect == 1.0 and not summary.has_path


def _answer(summary: EffectSummary) -> str:
    if _zero_by_assumption(summary):
        return (
            f"The candidate graph has no path from {summary.treatment} to {summary.outcome}: the effect is zero by "
            "assumption, whatever the data say."
        )
    if _is_all_atom(summary):
        return (
            f"Most probably {summary.treatment} has no effect on {summary.outcome}: the probability of none at all is "
            f"{_no_effect_words(summary)}, {scope(summary)}."
        )
    change = f"{amount(summary, summary.mean)} on average ({interval_name(summary)} {_between(summary)})"
    return f"{raising(summary)} changes {measured(summary)} by {change}, {scope(summary)}."


def raising(summary: EffectSummary) -> str:
    """Say what is done to the treatment, and to whom."""
    low, high = summary.contrast or (0.0, 1.0)
    if summary.is_binary or summary.contrast is not None:
        text = f"Changing {summary.treatment} from {value_word(summary, low)} to {value_word(summary, high)}"
    else:
        text = f"Raising {summary.treatment} by one unit"
    everyone = summary.over in ("sample", "population")
    return text if everyone else f"Among the {summary.over}, {text[0].lower()}{text[1:]}"


def value_word(summary: EffectSummary, value: float) -> str:
    """Return a value of the treatment, by the word it stands for if it has one."""
    words = summary.treatment_words
    return f"{value:g}" if words is None or value not in (0.0, 1.0) else _quoted(words[int(value)])


def _quoted(word: str) -> str:
    return word if word in ("False", "True") else repr(word)


def _is_all_atom(summary: EffectSummary) -> bool:
    """Whether the interval is nothing but the atom at zero."""
    return summary.low == summary.high == 0.0 and summary.given_effect is not None


def _between(summary: EffectSummary) -> str:
    return f"{amount(summary, summary.low)} to {amount(summary, summary.high)}"


def _no_effect_words(summary: EffectSummary) -> str:
    """Return the probability of no effect, beside what it was before the data."""
    after = no_effect(summary, summary.probability_no_effect or 0.0)
    return (
        after if summary.prior_no_effect is None else f"{after} (before the data: {percent(summary.prior_no_effect)})"
    )


def _other_direction(summary: EffectSummary) -> str:
    if not (_zero_by_assumption(summary) and summary.has_reverse_path):
        return ""
    return f"There is a path from {summary.outcome} to {summary.treatment}; did you mean that?"


def _mean_outside(summary: EffectSummary) -> str:
    if _zero_by_assumption(summary) or _is_all_atom(summary) or summary.low <= summary.mean <= summary.high:
        return ""
    return "(The mean lies outside because most of the probability sits on no effect.)"


def _no_effect_at_all(summary: EffectSummary) -> str:
    if _zero_by_assumption(summary) or _is_all_atom(summary) or summary.probability_no_effect is None:
        return ""
    if not summary.asks_whether:
        return "Whether there is an effect was not asked: only its size was estimated."
    return f"The probability that there is no effect at all is {_no_effect_words(summary)}."


def _if_there_is_one(summary: EffectSummary) -> str:
    given, atom = summary.given_effect, summary.probability_no_effect
    if given is None or atom is None or atom < WORTH_SAYING:
        return ""
    low, high = amount(summary, given.low), amount(summary, given.high)
    average = f"; averaged over both, it is {amount(summary, summary.mean)}" if _is_all_atom(summary) else ""
    return f"If there is one, it is {amount(summary, given.mean)} ({low} to {high}){average}."


def _which_way(summary: EffectSummary) -> str:
    """Say how probable it is that the outcome acts on the treatment, where both are possible."""
    reverse, neither, atom = summary.probability_reverse, summary.probability_neither, summary.probability_no_effect
    if reverse is None or neither is None or atom is None:
        return ""
    return (
        f"Which of the two acts on the other was left open: {summary.treatment} on {summary.outcome} "
        f"{percent(1.0 - atom)}, {summary.outcome} on {summary.treatment} {percent(reverse)}, neither "
        f"{percent(neither)}."
    )


def _what_rows_cannot_tell(summary: EffectSummary) -> str:
    """Say that more rows would not help, where most of the variance comes from directions they cannot tell."""
    inside = summary.sd_direction
    if inside is None or not summary.sd > 0 or not inside**2 > _MOSTLY * summary.sd**2:
        return ""
    share = whole_percent(inside**2 / summary.sd**2)
    return (
        f"{share} of the variance comes from directions that no number of such rows can tell: an experiment, or "
        "knowing more of the order, would help; more rows would not."
    )


_MOSTLY = 0.3  # share of the variance from which on directions are worth a sentence


_SENTENCES: tuple[Callable[[EffectSummary], str], ...] = (
    _answer,
    _other_direction,
    _mean_outside,
    _no_effect_at_all,
    _if_there_is_one,
    _which_way,
    _what_rows_cannot_tell,
)


# -- rows ------------------------------------------------------------------------------------------------------------


def _estimate_row(summary: EffectSummary) -> list[Row]:
    text = amount(summary, summary.mean)
    if summary.mean_error > 0:
        text += f" ± {rough(summary.mean_error)} Monte Carlo"
    if summary.mean_bound > 0:
        text += f" (sets of causes left out: at most ± {rough(summary.mean_bound)})"
    return [(summary.estimate, text)]


def _spread_rows(summary: EffectSummary) -> list[Row]:
    found = [("standard deviation", amount(summary, summary.sd))]
    if summary.sd_structure is not None and summary.sd_coefficients is not None:
        unknown = "graph or prior" if summary.learns_hyperparameters else "the graph"
        drawn = summary.sd_structure == 0.0 and summary.mean_error > 0.0
        part = "too small to be seen" if drawn else amount(summary, summary.sd_structure)
        found.append((f"  from not knowing {unknown}", part))
        if summary.sd_direction is not None:
            found.append(("    of it, directions no rows can tell", amount(summary, summary.sd_direction)))
        found.append(("  from not knowing the coefficients", amount(summary, summary.sd_coefficients)))
    if summary.sd_hidden is not None:
        found.append(("  from a hidden common cause", amount(summary, summary.sd_hidden)))
    if summary.missing is not None:
        found.append(("  from not knowing missing values", amount(summary, summary.missing.sd)))
    return found


def _cluster_rows(summary: EffectSummary) -> list[Row]:
    if summary.noise is not None:
        return [("sd if noise were even", amount(summary, summary.noise.sd_even))]
    if summary.clusters is None:
        return []
    varied = f"{amount(summary, summary.clusters.sd_clusters)} ({summary.clusters.clusters:,} clusters)"
    return [
        ("sd with rows taken for independent", amount(summary, summary.clusters.sd_independent)),
        ("sd by how clusters vary", varied),
    ]


def _interval_row(summary: EffectSummary) -> list[Row]:
    error = rough(max(summary.low_error, summary.high_error))
    found = [(interval_name(summary), f"{_between(summary)} (another seed moves the ends by about {error})")]
    given, atom = summary.given_effect, summary.probability_no_effect
    if given is not None and atom is not None and atom >= WORTH_SAYING:
        ends = f"{amount(summary, given.low)} to {amount(summary, given.high)}"
        found.append(("if there is an effect", f"{amount(summary, given.mean)} ({ends})"))
    return found


def _sign_rows(summary: EffectSummary) -> list[Row]:
    # with no effect for certain, both are known to be zero
    form = percent if summary.probability_no_effect == 1.0 else sampled_percent
    return [
        ("P(effect > 0)", form(summary.probability_positive)),
        ("P(effect < 0)", form(summary.probability_negative)),
    ]


def _no_effect_row(summary: EffectSummary) -> list[Row]:
    if summary.probability_no_effect is None:
        return []
    if not summary.asks_whether:
        return [("P(no effect)", "not asked")]
    doubt = summary.probability_no_effect_error
    error = f" (± {100 * doubt:.1g}% Monte Carlo)" if doubt else ""
    found = [("P(no effect)", no_effect(summary, summary.probability_no_effect) + error)]
    if summary.prior_no_effect is not None and not _zero_by_assumption(summary):
        found.append(("  before the data", percent(summary.prior_no_effect)))
    return found


def _risk_rows(summary: EffectSummary) -> list[Row]:
    """Give the mean outcome under both values, and ratios of them."""
    if summary.levels is None:
        return []
    low, high = summary.levels
    at = ("as observed", "one unit up")
    if summary.contrast is not None:
        at = tuple(f"at {value_word(summary, x)}" for x in summary.contrast)  # type: ignore[assignment]
    name = f"{mean_word(summary, 'mean')}, adjusted"
    found = [(name, f"{number(low)} {at[0]}, {number(high)} {at[1]}")]
    ratio_name = (
        ("risk ratio" if is_risk(summary) else "ratio of probabilities") if summary.measure == "risk" else "ratio"
    )
    ratios = ((ratio_name, summary.risk_ratio), ("marginal odds ratio", summary.odds_ratio))
    level = f"{100 * summary.level:g}%"
    for words, ratio in ratios:
        if ratio is not None:
            found.append((words, f"{number(ratio.median)} ({level} {number(ratio.low)} to {number(ratio.high)})"))
    return found


def _regression_rows(summary: EffectSummary) -> list[Row]:
    plain, alone = summary.least_squares, summary.least_squares_alone
    if plain is None or alone is None:
        return [] if plain is None else [("least squares", _least_squares(summary, plain))]
    if not plain.covariates:
        return [("least squares, no covariates", _least_squares(summary, plain))]
    count = f"{plain.covariates} covariate{'s' if plain.covariates > 1 else ''}"
    return [
        ("least squares, no covariates", _least_squares(summary, alone)),
        (f"least squares, {count}", _least_squares(summary, plain)),
    ]


def _least_squares(summary: EffectSummary, found: LeastSquares) -> str:
    return f"{amount(summary, found.estimate)} (95% {amount(summary, found.low)} to {amount(summary, found.high)})"


def _explained_row(summary: EffectSummary) -> list[Row]:
    if not summary.explained:
        return []
    shown = [f"{item.name} {max(item.r2, 0.0):.2f}" for item in reversed(summary.explained[-_MOST_EXPLAINED:])]
    rest = len(summary.explained) - len(shown)
    return [("R2", ", ".join(shown) + (f" and {rest} more" if rest else ""))]


def row_count(summary: EffectSummary) -> str:
    """Return how many rows the outcome's regression has, and of how many, where not all of them show the outcome."""
    if summary.rows_outcome is None:
        return f"{summary.rows:,.0f}"
    return f"{summary.rows_outcome:,.0f} of {summary.rows:,.0f}"


def _origin_rows(summary: EffectSummary) -> list[Row]:
    found = [("rows", row_count(summary))]
    return [*found, ("computed", summary.computed)] if summary.computed else found


_ROWS: tuple[Callable[[EffectSummary], list[Row]], ...] = (
    _estimate_row,
    _spread_rows,
    _cluster_rows,
    _interval_row,
    _sign_rows,
    _no_effect_row,
    _risk_rows,
    _regression_rows,
    _explained_row,
    _origin_rows,
)
