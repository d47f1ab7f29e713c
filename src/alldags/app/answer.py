"""From a question of the page to its answer: plain data in, plain data out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from alldags.app.study import Study
from alldags.errors import AlldagsError
from alldags.fitting import fit
from alldags.graph.candidate import CandidateGraph
from alldags.graph.io import format_graph
from alldags.results.effect import Effect
from alldags.results.report import effect_report
from alldags.show import words
from alldags.show.remarks import remarks
from alldags.show.report.clip import clipped
from alldags.show.report.page import report_html
from alldags.show.report.svg import effect_svg, graph_svg
from alldags.show.report.texts import edge_label

SEED = 0


def graph_of(question: Mapping[str, Any]) -> CandidateGraph:
    """Return the candidate graph of a question: edges from tier to tier, but for its exceptions and open pairs.

    Examples
    --------
    >>> from alldags.app.answer import graph_of
    >>> dict(graph_of({"tiers": [["a", "b"], ["c"]], "probability": 0.5, "edges": [["a", "c", 0]]}).edges)
    {('b', 'c'): 0.5}
    """
    tiers, exceptions = question.get("tiers"), question.get("edges", [])
    if not _is_tiers(tiers):
        raise AlldagsError(f"tiers must be a list of lists of names, got {tiers!r}")
    if not isinstance(exceptions, list) or not all(isinstance(edge, list) and len(edge) == 3 for edge in exceptions):
        raise AlldagsError(f"edges must be a list of [cause, effect, probability], got {exceptions!r}")
    graph = CandidateGraph.from_tiers([tier for tier in tiers or [] if tier], question.get("probability", 0.5))
    if not all(isinstance(name, str) for edge in exceptions for name in edge[:2]):
        raise AlldagsError(f"edges must be between names, got {exceptions!r}")
    changed = {(cause, effect): probability for cause, effect, probability in exceptions}
    for edge in changed:
        if edge not in graph.edges:
            raise AlldagsError(f"{edge[0]!r} does not stand in a tier before {edge[1]!r}")
    return CandidateGraph(graph.variables, {**graph.edges, **changed, **_open_edges(question, graph.variables)})


def _open_edges(question: Mapping[str, Any], known: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Return the edges of pairs whose direction is open, both ways."""
    pairs = question.get("pairs", [])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 4 for pair in pairs):
        raise AlldagsError(f"pairs must be a list of [first, second, forward, backward], got {pairs!r}")
    found: dict[tuple[str, str], float] = {}
    for first, second, forward, backward in pairs:
        for name in (first, second):
            if not isinstance(name, str) or name not in known:
                raise AlldagsError(f"the pair of {first!r} and {second!r} has a variable that stands in no tier")
        found |= {(first, second): forward, (second, first): backward}
    return found


def _is_tiers(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(tier, list) and all(isinstance(name, str) for name in tier) for tier in value
    )


def effect_of(study: Study, question: Mapping[str, Any]) -> Effect:
    """Fit the question's graph and return its effect."""
    graph = graph_of(question)
    for name in graph.variables:
        if name not in study.moments.names:
            raise AlldagsError(f"{name!r} is no column of the table")
    posterior = fit(study.moments, graph, families="normal", rng=SEED)  # moments hold no rows to be yes or no
    return posterior.effect(str(question.get("treatment")), str(question.get("outcome")))


def answer(study: Study, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer in words and pictures.

    Parameters
    ----------
    study
        The table.
    question
        ``tiers`` (lists of names), ``probability`` of all edges from tier to tier, ``edges`` (exceptions, each a
        cause, an effect and a probability), ``pairs`` whose direction is open (two names, and the probability of each
        direction), ``treatment`` and ``outcome``.
    """
    effect = effect_of(study, question)
    return {**in_words(study, effect), **drawing(effect)}


def in_words(study: Study, effect: Effect) -> dict[str, Any]:
    """Return what is said of an effect, and the picture of its size: what a reader waits for."""
    summary = replace(
        effect.summary(),
        treatment_words=study.words.get(effect.treatment),
        outcome_words=study.words.get(effect.outcome),
    )
    return {
        "sentence": words.sentence(summary),
        "rows": [list(row) for row in words.rows(summary)],
        "remarks": remarks(summary),
        "notes": [note.text for note in summary.notes],
        "effect": effect_svg(summary, effect.uncertainty.sample.draws),
        "mean": summary.mean,
    }


def drawing(effect: Effect) -> dict[str, Any]:
    """Return the drawn graph, with what the effect owes to each edge: what may come a moment later."""
    report = effect_report(effect, checks=False)
    shown, facts = clipped(report), {edge.pair: edge for edge in report.edges}
    roles = {effect.treatment: "treatment", effect.outcome: "outcome"}
    picture, width = graph_svg(shown, roles, {pair: edge_label(facts[pair], report.summary) for pair in shown.edges})
    return {"graph": picture, "width": width, "folded": len(report.edges) - len(shown.edges)}


def export(study: Study, question: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Return the name and the text of a file to keep: ``graph``, ``python`` or ``report``.

    Parameters
    ----------
    study, question
        As for `answer`.
    kind
        What to write.
    """
    if kind == "graph":
        return "graph.toml", format_graph(graph_of(question), "toml")
    if kind == "python":
        return "effect.py", python_lines(question, study.name, drop_missing=study.dropped is not None)
    if kind == "report":
        return "report.html", report_html(effect_report(effect_of(study, question)))
    raise AlldagsError(f"there is nothing called {kind!r} to export")


def python_lines(question: Mapping[str, Any], table: str, *, drop_missing: bool = False) -> str:
    """Return Python that asks the same question of the same file."""
    graph_of(question)  # raises where it is none
    tiers = [tier for tier in question["tiers"] if tier]
    lines = [
        "import alldags as ad",
        "",
        f"graph = ad.CandidateGraph.from_tiers({tiers!r}, {question.get('probability', 0.5)!r})",
    ]
    for cause, effect, probability in question.get("edges", []):
        lines.append(f"graph = graph.with_edge({cause!r}, {effect!r}, {probability!r})")
    for first, second, forward, backward in question.get("pairs", []):
        lines.append(f"graph = graph.with_pair({first!r}, {second!r}, {forward!r}, {backward!r})")
    options = f'families="normal", terms=None, rng={SEED}' + (", missing='drop'" if drop_missing else "")
    return "\n".join(
        [
            *lines,
            f"posterior = ad.fit({table!r}, graph, {options})",
            f"effect = posterior.effect(treatment={question['treatment']!r}, outcome={question['outcome']!r})",
            "print(effect)",
            "",
        ]
    )


def parsed(body: bytes) -> Mapping[str, Any]:
    """Return a question that was sent."""
    try:
        question = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AlldagsError(f"a question must be JSON: {error}") from error
    if not isinstance(question, dict):
        raise AlldagsError(f"a question must be an object, got {type(question).__name__}")
    return question
