"""Texts of a report: what is known of an edge, what to study next, and what to cite."""

from __future__ import annotations

import math

from alldags.kinds import KINDS
from alldags.show.measures import bends_anywhere
from alldags.show.numbers import amount, percent, whole_percent
from alldags.show.paper import PAPER, software
from alldags.show.report.record import EdgeFacts, Report
from alldags.show.summary import EffectSummary

_WORTH_STUDYING = 0.01  # share of the variance
_SEEN = 0.005  # difference of two probabilities


def edge_label(edge: EdgeFacts, summary: EffectSummary) -> str:
    """Say what is known of one edge, in a line.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.show.report.record import EdgeFacts
    >>> from alldags.show.report.texts import edge_label
    >>> study = ad.datasets.example()
    >>> summary = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").summary()
    >>> edge_label(EdgeFacts("age", "risk", prior=0.5, posterior=0.9), summary)
    'age → risk: probability 50% before the data, 90% after'
    """
    name = f"{edge.cause} → {edge.effect}"
    if edge.prior == 1.0:
        return f"{name}: certain, by assumption"
    after = "" if edge.posterior is None else f", {whole_percent(edge.posterior)} after"
    text = f"{name}: probability {whole_percent(edge.prior)} before the data{after}"
    if is_kept(edge):
        text += f", kept as a confounder {whole_percent(edge.kept or 0.0)}"
    if edge.reverse:
        text += f", turned around {whole_percent(edge.reverse)}"
    if edge.bears:
        text += f"; effect {', '.join(f'{name} {value}' for name, value in _states(edge, summary))}"
    return text


def is_kept(edge: EdgeFacts) -> bool:
    """Tell whether an edge counts more than the data say, as that of a confounder."""
    return edge.kept is not None and edge.posterior is not None and abs(edge.kept - edge.posterior) > _SEEN


def _states(edge: EdgeFacts, summary: EffectSummary) -> list[tuple[str, str]]:
    """Return the states an edge may be in, with the effect in each as text."""
    found = [("with it", edge.present), ("without it", edge.absent), ("with it turned around", edge.turned)]
    return [(name, amount(summary, value)) for name, value in found if math.isfinite(value)]


def states(edge: EdgeFacts, summary: EffectSummary) -> str:
    """Return the effect in each state of an edge, for a cell of a table."""
    if not edge.reverse:
        return f"{amount(summary, edge.present)} / {amount(summary, edge.absent)}"
    return ", ".join(f"{value} {name}" for name, value in _states(edge, summary))


def study_next(report: Report) -> str:
    """Say which edge it would help most to know."""
    found = report.influences
    if not found and (report.summary.scope is not None or report.summary.log10_graphs == 0.0):
        return "No uncertain edge bears on this effect: knowing the graph better would not change the answer."
    if not found:
        return "Which edge matters most is not computed for this effect; effect.next_steps() tells."
    best = found[0]
    if best.removed < _WORTH_STUDYING:
        return (
            "No single edge matters much: knowing any one of them for certain would remove less than "
            f"{percent(_WORTH_STUDYING)} of the posterior variance. More rows would help more."
        )
    summary = report.summary
    text = (_pair_words if best.reverse else _edge_words)(best, summary)
    flips = [edge for edge in found if math.isfinite(edge.flips_at)]
    if flips:
        text += " The sign would change " + "; ".join(_flip(edge) for edge in flips[:3]) + "."
    return text


def _edge_words(edge: EdgeFacts, summary: EffectSummary) -> str:
    """Say what knowing whether an edge is there would do."""
    return (
        f"Knowing whether {edge.cause} acts directly on {edge.effect} would remove {whole_percent(edge.removed)} of "
        f"the posterior variance: with that edge the effect is {amount(summary, edge.present)}, without it "
        f"{amount(summary, edge.absent)}."
    )


def _pair_words(pair: EdgeFacts, summary: EffectSummary) -> str:
    """Say what knowing the direction of an open pair would do."""
    a, b = pair.cause, pair.effect
    said = {f"{a} acts on {b}": pair.present, f"{b} acts on {a}": pair.turned, "there is no edge": pair.absent}
    each = [f"{amount(summary, value)} if {name}" for name, value in said.items() if math.isfinite(value)]
    return (
        f"Knowing which of {a} and {b} acts on the other, if any, would remove {whole_percent(pair.removed)} of the "
        f"posterior variance: the effect is {', '.join(each)}. An experiment on either of them would tell; more "
        "rows of the same kind need not."
    )


def _flip(edge: EdgeFacts) -> str:
    return f"at a stated probability of {percent(edge.flips_at)} for {edge.cause} → {edge.effect}"


def shape_words(summary: EffectSummary) -> str:
    """Say what is assumed of the form of the regressions."""
    odd = [f"the {KINDS[item.family].scale} of {item.name}" for item in summary.not_normal]
    if bends_anywhere(summary):
        what = " and ".join([*odd, "other regressions"]) if odd else "effects"
        even = "" if odd else ", with even noise"
        return f"{what} bend, and differ between rows, no more than the terms that were looked for{even}"
    if not odd and summary.heavy_tails:
        names = " and ".join(item.name for item in summary.heavy_tails)
        return f"effects are straight lines with even noise around them (that of {names} may have heavy tails)"
    if not odd:
        return "effects are straight lines with even noise around them"
    return f"{' and '.join(odd)} and everything else on the way are straight lines in their causes"


def spread_words(summary: EffectSummary) -> str:
    """Say where the uncertainty comes from."""
    if summary.sd_structure is None or not math.isfinite(summary.sd) or summary.sd == 0.0:
        return ""
    share = (summary.sd_structure / summary.sd) ** 2
    missing = 0.0 if summary.missing is None else summary.missing.share
    hidden = 0.0 if summary.sd_hidden is None else (summary.sd_hidden / summary.sd) ** 2
    unknown = "the graph (and the size expected of effects)" if summary.learns_hyperparameters else "the graph"
    parts = [f"{whole_percent(share)} comes from not knowing {unknown}"]
    parts += [f"{whole_percent(missing)} from not knowing the missing values"] if summary.missing is not None else []
    parts += [f"{whole_percent(hidden)} from the hidden common cause in the graph"] if hidden else []
    rest = max(1.0 - share - missing - hidden, 0.0)
    return (
        f"Of the posterior variance, {', '.join(parts)} and {whole_percent(rest)} from not knowing the coefficients, "
        "which more rows would lessen."
    )


def bibtex(version: str) -> str:
    """Return what to cite."""
    return f"{software(version)}\n\n{PAPER}"
