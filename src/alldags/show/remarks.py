"""The sentences under the table of an answer: what was adjusted for, why least squares differs, what if.

Each is a function in `_REMARKS` that looks at the summary and returns what it has to say, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from alldags.kinds import KINDS, MEASURES
from alldags.show.correlated_words import correlated_sentence
from alldags.show.measures import chance, measured, up_to
from alldags.show.numbers import WORTH_SAYING, whole_percent
from alldags.show.sensitivity import hidden_sentence
from alldags.show.summary import EffectSummary, HeavyTails, NotNormal


def remarks(summary: EffectSummary) -> list[str]:
    """Return the sentences under the table: what was adjusted for, and what if something is hidden."""
    return [text for part in _REMARKS if (text := part(summary))]


_MOST_NAMED = 6
_NAMED_FROM = 0.05  # posterior probability of a covariate that is named
_DRIVES = 0.5  # what the link adds to the prior of a covariate that drives the treatment


def _adjusted_remark(summary: EffectSummary) -> str:
    """Say which covariates the outcome's regression has, and which are kept because they drive the treatment."""
    likely = [item for item in summary.adjusted if item.probability >= _NAMED_FROM]
    if not summary.has_path or not summary.adjusted or any(math.isnan(item.probability) for item in summary.adjusted):
        return ""
    if not likely:
        return (
            f"Of {len(summary.adjusted)} candidate covariates none was needed in the regression of {summary.outcome}."
        )
    named = _named([f"{item.name} ({whole_percent(item.probability)})" for item in likely])
    text = f"The regression of {summary.outcome} was adjusted for {named}."
    kept = [item.name for item in likely if item.raised >= _DRIVES]
    if not kept:
        return text
    who = "All are" if len(kept) == len(likely) > 1 else f"{_named(kept)} {'is' if len(kept) == 1 else 'are'}"
    it, affects = ("it", "affects") if len(kept) == 1 else ("they", "affect")
    return f"{text} {who} kept because {it} {affects} {summary.treatment} or one of its mediators."


def _named(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], f"{rest} more"] if rest > 1 else names
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _difference_remark(summary: EffectSummary) -> str:
    """Say why the average and the two plain regressions differ, where they do."""
    plain, alone = summary.least_squares, summary.least_squares_alone
    if plain is None or alone is None or not plain.covariates or not summary.has_path or not 0 < summary.sd < math.inf:
        return ""
    said = []
    if abs(plain.estimate - alone.estimate) > _SEEN * summary.sd:
        said.append("without covariates it includes the confounding by them")
    if summary.scope is None and abs(plain.estimate - summary.mean) > _SEEN * summary.sd:
        said.append(_why_average_differs(summary))
    return f"Least squares differs: {'; '.join(said)}." if said else ""


def _why_average_differs(summary: EffectSummary) -> str:
    """Say what the average does that least squares with all covariates does not."""
    if summary.measure not in ("", "mean"):
        return f"with covariates it is a straight line; the average is of {measured(summary)}"
    if summary.heavy_tails:
        return "it counts rows far out in full, the average counts them little"
    if (summary.probability_no_effect or 0.0) >= WORTH_SAYING:
        return "with all covariates it takes an effect for granted; the average includes, as zero, the chance of none"
    return "with all covariates each counts in full; in the average it counts as far as the data support it"


_SEEN = 0.3  # standard deviations by which two estimates differ enough to be explained


def _family_remark(summary: EffectSummary) -> str:
    """Say which variables are not normal, and what that makes of the effect."""
    return " ".join(_family_words(summary, item) for item in summary.not_normal)


def _family_words(summary: EffectSummary, item: NotNormal) -> str:
    kind = KINDS[item.family].described.format(events=item.events, rows=item.rows)
    if item.name != summary.outcome:
        return f"{item.name} is {kind}: it is averaged over on the way."
    effects = f"on its {summary.measure}"
    if summary.measure in MEASURES:
        effects = f"differences of {chance(summary) if summary.measure == 'risk' else _its_mean(summary)}"
    return f"{item.name} is {kind}: effects are {effects}."


def _its_mean(summary: EffectSummary) -> str:
    return f"its restricted mean{up_to(summary)}" if summary.measure == "survival" else "its mean"


def _heavy_remark(summary: EffectSummary) -> str:
    """Say whose noise has heavy tails, and how many rows count less for it."""
    if not summary.heavy_tails:
        return ""
    said = [_heavy_words(item) for item in summary.heavy_tails]
    return " ".join([*said, "It is taken to be symmetric: the answer is about the mean if it is."])


def _heavy_words(item: HeavyTails) -> str:
    if item.light == 0:
        counted = f"no row counts less than {item.least_weight:.2f} of one"
    else:
        verb = "counts" if item.light == 1 else "count"
        share = f"{item.light:,} of {item.rows:,.0f} rows {verb}"
        counted = f"{share} less than a quarter of one, the least {item.least_weight:.2g}"
    return f"The noise of {item.name} may have heavy tails (Student's t, {item.degrees}): {counted}."


def _open_remark(summary: EffectSummary) -> str:
    """Say what the data make of the directions that were left open."""
    if not summary.open_pairs:
        return ""
    shown = [
        f"{pair.first} -> {pair.second} {whole_percent(pair.forward)}, {pair.second} -> {pair.first} "
        f"{whole_percent(pair.backward)}, no edge {whole_percent(pair.none)}"
        for pair in summary.open_pairs[:_MOST_PAIRS]
    ]
    rest = len(summary.open_pairs) - len(shown)
    more = f"; {rest} more pair{'s' if rest > 1 else ''}" if rest else ""
    return f"Directions left open: {'; '.join(shown)}{more}."


_MOST_PAIRS = 3


def _either_side_remark(summary: EffectSummary) -> str:
    """Say what least squares leaves out because its direction is open."""
    names = summary.either_side
    if not names or not summary.has_path:
        return ""
    listed = ", ".join(names[:_MOST_EITHER]) + (f" and {len(names) - _MOST_EITHER} more" * (len(names) > _MOST_EITHER))
    it, comes = ("it", "it comes") if len(names) == 1 else ("them", "they come")
    return (
        f"{listed} may come before {summary.treatment} or after it: the average adjusts for {it} in the graphs in "
        f"which {comes} before, least squares above leaves {it} out."
    )


_MOST_EITHER = 5


def _hidden_remark(summary: EffectSummary) -> str:
    """Say what is known of hidden common causes, or how strong one would have to be."""
    if summary.correlated:
        return " ".join(map(correlated_sentence, summary.correlated))
    return "" if summary.hidden is None else hidden_sentence(summary.hidden)


_REMARKS: tuple[Callable[[EffectSummary], str], ...] = (
    _family_remark,
    _heavy_remark,
    _adjusted_remark,
    _difference_remark,
    _either_side_remark,
    _open_remark,
    _hidden_remark,
)
