"""Texts of a report: what is known of an edge, what to study next, and what to cite."""

from __future__ import annotations

import math

from alldags.show.paper import PAPER, software
from alldags.show.report.record import EdgeFacts, Report
from alldags.show.summary import EffectSummary
from alldags.show.words import amount, percent, whole_percent

_WORTH_STUDYING = 0.01  # share of the variance


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
    if edge.raised > 0.005:
        text += f" (raised to {whole_percent(1 - (1 - edge.prior) * (1 - edge.raised))} before the data by the link)"
    if edge.bears:
        present, absent = amount(summary, edge.present), amount(summary, edge.absent)
        text += f"; effect with it {present}, without it {absent}"
    return text


def study_next(report: Report) -> str:
    """Say which edge it would help most to know."""
    found = report.influences
    if not found:
        return "No uncertain edge bears on this effect: knowing the graph better would not change the answer."
    best = found[0]
    if best.removed < _WORTH_STUDYING:
        return (
            "No single edge matters much: knowing any one of them for certain would remove less than "
            f"{percent(_WORTH_STUDYING)} of the posterior variance. More rows would help more."
        )
    summary = report.summary
    text = (
        f"Knowing whether {best.cause} acts directly on {best.effect} would remove {whole_percent(best.removed)} of "
        f"the posterior variance: with that edge the effect is {amount(summary, best.present)}, without it "
        f"{amount(summary, best.absent)}."
    )
    flips = [edge for edge in found if math.isfinite(edge.flips_at)]
    if flips:
        text += " The sign would change " + "; ".join(_flip(edge) for edge in flips[:3]) + "."
    return text


def _flip(edge: EdgeFacts) -> str:
    return f"at a stated probability of {percent(edge.flips_at)} for {edge.cause} → {edge.effect}"


def spread_words(summary: EffectSummary) -> str:
    """Say where the uncertainty comes from."""
    if summary.sd_structure is None or not math.isfinite(summary.sd) or summary.sd == 0.0:
        return ""
    share = (summary.sd_structure / summary.sd) ** 2
    unknown = "the graph (and the size expected of effects)" if summary.learns_hyperparameters else "the graph"
    return (
        f"Of the posterior variance, {whole_percent(share)} comes from not knowing {unknown} and "
        f"{whole_percent(1 - share)} from not knowing the coefficients, which more rows would lessen."
    )


def bibtex(version: str) -> str:
    """Return what to cite."""
    return f"{software(version)}\n\n{PAPER}"
