"""An effect in words, as a small table, as HTML and as plain numbers."""

from __future__ import annotations

import math
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from alldags.show.table import html_table, text_table

if TYPE_CHECKING:
    from alldags.results.effect import Effect

SCHEMA = "alldags.effect/1"

_CONTINUOUS = "under a continuous prior on all candidate edges"
_SCOPE = {  # engines that do not average over graphs must not say that they do
    "k2": "in the one graph that greedy selection picked",
    "full": "if every candidate edge exists",
    "vb": _CONTINUOUS,
    "em": _CONTINUOUS,
    "gibbs": _CONTINUOUS,
}


def number(value: float) -> str:
    """Format a number for a sentence: three digits, and thousands written out."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"


def percent(value: float) -> str:
    """Format a probability for a sentence."""
    if 0 < value < 0.001:
        return "below 0.1%"
    if 0.999 < value < 1:
        return "above 99.9%"
    return f"{100 * value:.1f}%"


def sampled_percent(value: float, atom: float) -> str:
    """Format a probability that comes from draws: however many agree, it is not known to be 0 or 1."""
    if atom == 1.0:
        return percent(value)
    return percent(min(max(value, 1e-9), 1 - 1e-9))


def graph_count(log10: float) -> str:
    """Say how many graphs there are."""
    return f"{round(10**log10):,}" if log10 < 6 else f"10^{log10:.0f}"


def sentence(effect: Effect) -> str:
    """Return the answer as one plain sentence or two."""
    if effect.probability_no_path == 1.0 and not has_path(effect):
        return _no_path_sentence(effect)
    low, high = effect.interval(0.95)
    text = (
        f"Raising {effect.treatment} by one unit changes {effect.outcome} by {number(effect.mean)} on average "
        f"(95% interval {number(low)} to {number(high)}), {scope(effect)}."
    )
    if not low <= effect.mean <= high:
        text += " (The mean lies outside because most of the probability sits on no effect.)"
    none = effect.probability_no_path
    if none is not None:
        text += f" The probability that there is no effect at all is {no_effect(effect, none)}."
    return text


def has_path(effect: Effect) -> bool:
    """Whether any candidate graph has a path from treatment to outcome."""
    return any(effect.outcome in graph.descendants(effect.treatment) for graph in effect.posterior.graphs)


def _no_path_sentence(effect: Effect) -> str:
    text = (
        f"The candidate graph has no path from {effect.treatment} to {effect.outcome}: the effect is zero by "
        "assumption, whatever the data say."
    )
    if any(effect.treatment in graph.descendants(effect.outcome) for graph in effect.posterior.graphs):
        text += f" There is a path from {effect.outcome} to {effect.treatment}; did you mean that?"
    return text


def no_effect(effect: Effect, probability: float) -> str:
    """Format the probability of no effect, which is computed or sampled."""
    return sampled_percent(probability, 0.0) if effect.probability_no_path_error else percent(probability)


def scope(effect: Effect) -> str:
    """Say what the answer takes into account."""
    used = set(effect.posterior.engines_used.values())
    several = len(effect.posterior.graphs)
    if len(used) == 1 and (only := used.pop()) in _SCOPE:
        return _SCOPE[only] + (f", for each of {several} weighed candidate graphs" if several > 1 else "")
    count = graph_count(effect.posterior.log10_graphs)
    return "in the one candidate graph" if count == "1" else f"averaged over {count} candidate graphs"


def rows(effect: Effect) -> list[tuple[str, str]]:
    """Return the small table under the sentence."""
    low, high = effect.interval(0.95)
    error = max(effect.interval_error(0.95))
    lines = [
        (_estimate_name(effect), _with_error(effect.mean, effect.mean_error, effect.mean_bound)),
        ("standard deviation", number(effect.sd)),
    ]
    if effect.sd_structure is not None and effect.sd_coefficients is not None:
        unknown = "graph or slab" if effect.posterior.has_hyperparameters else "graph"
        lines.append((f"  from not knowing the {unknown}", number(effect.sd_structure)))
        lines.append(("  from not knowing the coefficients", number(effect.sd_coefficients)))
    lines.append(("95% interval", f"{number(low)} to {number(high)} (ends ± {_rough(error)} Monte Carlo)"))
    lines.append(("P(effect > 0)", sampled_percent(effect.probability_positive, effect.sample.atom)))
    lines.append(("P(effect < 0)", sampled_percent(effect.probability_negative, effect.sample.atom)))
    if effect.probability_no_path is not None:
        doubt = effect.probability_no_path_error
        value = no_effect(effect, effect.probability_no_path)
        lines.append(("P(no effect)", value + (f" (± {100 * doubt:.1g}% Monte Carlo)" if doubt else "")))
    lines.append(("rows", f"{effect.posterior.working.rows:,.0f}"))
    lines.append(("engine", engine_summary(effect)))
    return lines


def _estimate_name(effect: Effect) -> str:
    return "posterior mode" if set(effect.posterior.engines_used.values()) == {"em"} else "posterior mean"


def _rough(value: float) -> str:
    """Format an error: one digit, thousands written out."""
    return f"{float(f'{value:.1g}'):,.0f}" if value >= 10 else f"{value:.1g}"


def _with_error(value: float, error: float, bound: float) -> str:
    text = number(value)
    if error > 0:
        text += f" ± {number(error)} Monte Carlo"
    if bound > 0:
        text += f" (parent sets left out: at most ± {number(bound)})"
    return text


def engine_summary(effect: Effect) -> str:
    """Say which engine was used, and for how many nodes."""
    used = Counter(effect.posterior.engines_used.values())
    named = effect.posterior.fits[0].engine.name
    detail = ", ".join(f"{name}: {count} node{'s' if count > 1 else ''}" for name, count in sorted(used.items()))
    return f"{named} ({detail})" if detail and (named == "auto" or len(used) > 1) else named


def effect_text(effect: Effect) -> str:
    """Return sentence, table and notes."""
    from textwrap import fill

    parts = [fill(sentence(effect), 78, break_long_words=False), "", text_table(["", ""], rows(effect)).strip("\n")]
    parts += [fill(f"note: {note}", 78) for note in effect.posterior.notes]
    return "\n".join(parts)


def effect_html(effect: Effect) -> str:
    """Return sentence, table and notes as HTML."""
    notes = "".join(f"<p><small>note: {escape(note)}</small></p>" for note in effect.posterior.notes)
    return f"<div><p>{escape(sentence(effect))}</p>{html_table(['', ''], rows(effect))}{notes}</div>"


def effect_dict(effect: Effect, level: float = 0.95) -> dict[str, Any]:
    """Return the answer as plain numbers."""
    low, high = effect.interval(level)
    return {
        "schema": SCHEMA,
        "treatment": effect.treatment,
        "outcome": effect.outcome,
        "mean": effect.mean,
        "mean_error": effect.mean_error,
        "mean_bound": effect.mean_bound,
        "sd": _finite(effect.sd),
        "interval": {"level": level, "low": low, "high": high},
        "probability_positive": effect.probability_positive,
        "probability_negative": effect.probability_negative,
        "probability_no_path": effect.probability_no_path,
        "sd_structure": effect.sd_structure,
        "sd_coefficients": _finite(effect.sd_coefficients),
        "n": effect.posterior.working.rows,
        "log10_graphs": effect.posterior.log10_graphs,
        "engine": engine_summary(effect),
        "warnings": list(effect.posterior.notes),
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
