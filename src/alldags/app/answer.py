"""From a question of the page to its answer: plain data in, plain data out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from alldags.app.asks import asks
from alldags.app.study import PROBABILITY, Study, names_in
from alldags.errors import AlldagsError
from alldags.fitting import fit
from alldags.front import study_graph
from alldags.graph.candidate import CandidateGraph
from alldags.graph.io import format_graph
from alldags.results.effect import Effect
from alldags.results.report import effect_report, next_sections
from alldags.show import words
from alldags.show.numbers import amount
from alldags.show.remarks import remarks
from alldags.show.report.clip import clipped
from alldags.show.report.page import report_html
from alldags.show.report.svg import effect_svg, graph_svg
from alldags.show.report.texts import edge_label
from alldags.show.screen import Screen, screen

SEED = 0


# -- questions -------------------------------------------------------------------------------------------------------


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
    graph = CandidateGraph.from_tiers([tier for tier in tiers or [] if tier], _stated(question))
    if not all(isinstance(name, str) for edge in exceptions for name in edge[:2]):
        raise AlldagsError(f"edges must be between names, got {exceptions!r}")
    changed = {(cause, effect): probability for cause, effect, probability in exceptions}
    for edge in changed:
        if edge not in graph.edges:
            raise AlldagsError(f"{edge[0]!r} does not stand in a tier before {edge[1]!r}")
    said = {**_direct(question, graph), **changed, **_open_edges(question, graph.variables)}
    return CandidateGraph(graph.variables, {**graph.edges, **said}, unstated=graph.unstated.difference(said))


def _stated(question: Mapping[str, Any]) -> float | None:
    """Return the probability of all edges from tier to tier; None if it is the one that nobody chose."""
    given = question.get("probability", PROBABILITY)
    return None if given == PROBABILITY else given


def _direct(question: Mapping[str, Any], graph: CandidateGraph) -> dict[tuple[str, str], float]:
    """Return the edge that is asked about, which has a probability of its own or is said to be like all others."""
    edge, direct = (question.get("treatment"), question.get("outcome")), question.get("direct")
    if "direct" not in question or not all(isinstance(name, str) for name in edge) or edge not in graph.edges:
        return {}
    return {edge: graph.edges[edge] if direct is None else direct}  # type: ignore[dict-item, index]


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


def _asked(question: Mapping[str, Any]) -> tuple[str, str]:
    """Return treatment and outcome, which have to be chosen before anything is answered."""
    chosen = question.get("treatment"), question.get("outcome")
    for role, name in zip(("treatment", "outcome"), chosen, strict=True):
        if not isinstance(name, str):
            raise AlldagsError(f"choose a {role} first, got {name!r}" if name is not None else f"choose a {role} first")
    return str(chosen[0]), str(chosen[1])


def _options(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `alldags.fit` is told beside table and graph."""
    family, missing = question.get("family"), question.get("missing")
    used = {name for tier in question["tiers"] for name in tier}
    codes = [name for name in names_in(question.get("categories")) if name in used]
    found: dict[str, Any] = {"categories": codes} if codes else {}
    found |= {} if family is None else {"families": {question["outcome"]: family}}
    return {**found, **({} if missing is None else {"missing": missing}), "rng": SEED}


def _levels(question: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return two levels of the treatment that are compared; None: those that the answer itself chooses."""
    contrast = question.get("contrast")
    if contrast is None:
        return None
    if not isinstance(contrast, list) or len(contrast) != 2 or not all(isinstance(word, str) for word in contrast):
        raise AlldagsError(f"contrast must be a list of two levels, got {contrast!r}")
    return contrast[0], contrast[1]


def open_asks(study: Study, question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what has to be asked before a question can be answered; see `alldags.app.asks.asks`."""
    graph = graph_of(question)
    known = {one.name: one.trouble for one in study.columns}
    for name in graph.variables:
        if known.get(name, "no column") == "no column":
            raise AlldagsError(f"{name!r} is no column of the table")
        if known[name]:
            raise AlldagsError(known[name])
    _asked(question)
    return asks(study, question, graph)


def effect_of(study: Study, question: Mapping[str, Any]) -> Effect:
    """Fit the question's graph and return its effect: the same as the lines of `python_lines`."""
    treatment, outcome = _asked(question)
    levels = _levels(question)
    effect = fit(study.table, graph_of(question), **_options(question)).effect(treatment, outcome)
    return effect if levels is None else effect.contrast(*levels)


# -- answers ---------------------------------------------------------------------------------------------------------


def answer(study: Study, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer in words and pictures, or what has to be asked first.

    Parameters
    ----------
    study
        The table.
    question
        ``treatment`` and ``outcome``; ``tiers`` (lists of names), ``probability`` of all edges from tier to tier,
        ``direct`` that of the asked edge, ``edges`` (exceptions, each a cause, an effect and a probability), ``pairs``
        whose direction is open (two names, and the probability of each direction); ``family`` of the outcome,
        ``contrast`` of two levels of a category; ``left``, ``rows`` and ``missing``, what is left out.
    """
    found = open_asks(study, question)
    if found:
        return {"asks": found}
    effect = effect_of(study, question)
    return {**in_words(study, question, effect), **drawing(effect)}


def in_words(study: Study, question: Mapping[str, Any], effect: Effect) -> dict[str, Any]:
    """Return what is said of an effect, and the picture of its size: what a reader waits for."""
    found = _levels_in_words(effect) if effect._is_open else _in_words(effect)
    return {**found, "python": python_lines(question, str(study.path))}


def _in_words(effect: Effect) -> dict[str, Any]:
    summary = effect.summary()
    return {
        **_printed(screen(summary)),
        "numbers": [list(row) for row in words.rows(summary)],
        "remarks": remarks(summary),
        "notes": [note.text for note in summary.notes],
        "effect": effect_svg(summary, effect.uncertainty.sample.draws),
        "mean": summary.mean,
    }


def _levels_in_words(effect: Effect) -> dict[str, Any]:
    """Return what is said of a category of which no two levels were named."""
    found = effect.contrasts()
    return {
        **_printed(found.screen()),
        "numbers": [
            [f"{row['start']} → {row['stop']}", " to ".join(amount(found.summary, row[end]) for end in ("low", "high"))]
            for row in found.table.rows()
        ],
        "remarks": ["Each pair of levels has its 95% interval here."],
        "notes": [note.text for note in found.summary.notes],
    }


def _printed(parts: Screen) -> dict[str, Any]:
    """Return the parts of a printed answer; where more is, the page shows itself."""
    return {
        "sentence": parts.sentence,
        "rows": [list(row) for row in parts.rows],
        "warnings": list(parts.warnings),
        "under": [text for text in (*parts.under, parts.hidden) if text],
    }


def drawing(effect: Effect) -> dict[str, Any]:
    """Return the drawn graph, with what the effect owes to each edge: what may come a moment later."""
    report = effect_report(effect._any_pair, checks=False)
    shown, facts = clipped(report), {edge.pair: edge for edge in report.edges}
    roles = {effect.treatment: "treatment", effect.outcome: "outcome"}
    picture, width = graph_svg(shown, roles, {pair: edge_label(facts[pair], report.summary) for pair in shown.edges})
    return {"graph": picture, "width": width, "folded": len(report.edges) - len(shown.edges)}


def find_out_next(effect: Effect) -> dict[str, Any]:
    """Return what to find out next: paragraphs, and a table with its heads; a sentence where none can be said."""
    found = next_sections(effect._any_pair, effect._any_pair.summary())
    if not found:
        return {
            "paragraphs": ["What more rows, an experiment or a known edge would bring cannot be said of this effect."]
        }
    section = found[0]
    return {"paragraphs": section.paragraphs, "heads": section.columns, "steps": section.rows}


# -- what is kept ----------------------------------------------------------------------------------------------------


def graph_file(question: Mapping[str, Any]) -> dict[str, str]:
    """Return name and text of a file with the candidate graph."""
    return {"name": "graph.toml", "text": format_graph(graph_of(question), "toml")}


def report_file(study: Study, question: Mapping[str, Any], effect: Effect) -> dict[str, str]:
    """Return name and text of a report on an effect, with the page's own lines of Python."""
    report = effect_report(effect._any_pair)
    return {
        "name": "report.html",
        "text": report_html(replace(report, python=python_lines(question, str(study.path)))),
    }


def python_lines(question: Mapping[str, Any], table: str) -> str:
    """Return Python that asks the same question of the same file, by the front door where that leads to the graph."""
    graph, levels = graph_of(question), _levels(question)
    contrast = "" if levels is None else f".contrast({levels[0]!r}, {levels[1]!r})"
    options = {name: repr(value) for name, value in _options(question).items()}
    treatment, outcome = map(repr, _asked(question))
    asked = {"treatment": treatment, "outcome": outcome}
    door = _front_door(question, graph)
    if door is not None:
        said = {name: repr(value) for name, value in door.items()}
        lines = [f"effect = {_call('ad.effect', repr(table), {**asked, **said, **options})}{contrast}"]
    else:
        lines = [
            *_graph_lines(question),
            f"posterior = {_call('ad.fit', f'{table!r}, graph', options)}",
            f"effect = {_call('posterior.effect', '', asked)}{contrast}",
        ]
    return "\n".join(["import alldags as ad", "", *lines, "print(effect)", ""])


def _call(name: str, first: str, options: Mapping[str, str]) -> str:
    """Write a call on one line or, where it is long, an argument a line."""
    arguments = [*([first] if first else []), *(f"{key}={value}" for key, value in options.items())]
    short = f"{name}({', '.join(arguments)})"
    return short if len(short) <= 70 else "\n    ".join([f"{name}(", *(f"{one}," for one in arguments)]) + "\n)"


def _front_door(question: Mapping[str, Any], graph: CandidateGraph) -> dict[str, Any] | None:
    """Return what `alldags.effect` is told to make this graph; None if it cannot make it."""
    treatment, outcome = _asked(question)
    tiers = [tier for tier in question["tiers"] if tier]
    if tiers[-1] != [outcome] or [treatment] not in tiers[:2] or graph.edges.get((treatment, outcome)) is None:
        return None
    place = tiers.index([treatment])
    between, direct = tiers[place + 1 : -1], graph.edges[treatment, outcome]
    found = {
        "confounders": tiers[0] if place else [],
        "mediators": between[0] if len(between) == 1 else between,
        "probability": None if direct == 1.0 else direct,
    }
    return {name: value for name, value in found.items() if value} if _leads(found, question, graph) else None


def _leads(found: Mapping[str, Any], question: Mapping[str, Any], graph: CandidateGraph) -> bool:
    return study_graph(*_asked(question), **found) == graph


def _graph_lines(question: Mapping[str, Any]) -> list[str]:
    """Return the lines that make a graph."""
    tiers, edges = [tier for tier in question["tiers"] if tier], question.get("edges", [])
    probability = _stated(question)
    plain = CandidateGraph.from_tiers(tiers, probability)
    named = {(cause, effect) for cause, effect, _ in edges}
    asked = [[*edge, p] for edge, p in _direct(question, plain).items() if edge not in named]
    said = "" if probability is None else f", {probability!r}"
    lines = [f"graph = ad.CandidateGraph.from_tiers({tiers!r}{said})"]
    for cause, effect, p in [*asked, *edges]:
        lines.append(f"graph = graph.with_edge({cause!r}, {effect!r}, {p!r})")
    for first, second, forward, backward in question.get("pairs", []):
        lines.append(f"graph = graph.with_pair({first!r}, {second!r}, {forward!r}, {backward!r})")
    return lines


def parsed(body: bytes) -> Mapping[str, Any]:
    """Return a question that was sent."""
    try:
        question = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AlldagsError(f"a question must be JSON: {error}") from error
    if not isinstance(question, dict):
        raise AlldagsError(f"a question must be an object, got {type(question).__name__}")
    return question
