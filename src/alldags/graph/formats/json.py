"""JSON: one object; see `alldags.graph.formats.document` for its keys."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.document import graph_from_document

_FACTS = ("schema", "layers", "log10_graphs", "blocks", "unstated")


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from JSON."""
    try:
        document = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except GraphError:
        raise
    except RecursionError as error:
        raise GraphError("this is not a graph in JSON: it is nested too deeply") from error
    except ValueError as error:
        raise GraphError(f"this is not valid JSON: {error}") from error
    return graph_from_document(_without_facts(document), probability)


def _without_facts(document: Any) -> Any:
    """Leave out what ``alldags graph --json`` adds to a graph."""
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith("alldags.graph/"):
        return document
    unstated = {(edge[0], edge[1]) for edge in document.get("unstated", ())}
    kept = {key: value for key, value in document.items() if key not in _FACTS}
    if unstated:
        kept["edges"] = [
            {"cause": edge["cause"], "effect": edge["effect"]} if (edge["cause"], edge["effect"]) in unstated else edge
            for edge in kept["edges"]
        ]
    return kept


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise GraphError(f"the JSON object has the key {twice!r} twice; keep one")
    return content


def _no_constant(name: str) -> NoReturn:
    raise GraphError(f"the JSON text holds {name}, which is not a probability")


def write(graph: CandidateGraph) -> str:
    """Write a graph as JSON, one edge per line."""
    edges = ",".join(
        "\n    " + json.dumps(_edge(cause, effect, probability), ensure_ascii=False)
        for (cause, effect), probability in graph.stated.items()
    )
    names = json.dumps(graph.variables, ensure_ascii=False)
    pairs = ",".join(
        "\n    " + json.dumps(_hidden(graph, first, second, probability), ensure_ascii=False)
        for (first, second), probability in graph.hidden.items()
    )
    hidden = f',\n  "hidden": [{pairs}\n  ]' if pairs else ""
    declared = ",".join(
        "\n    " + json.dumps({"instrument": name, "treatment": treatment, "valid": valid}, ensure_ascii=False)
        for (name, treatment), valid in graph.declared.items()
    )
    hidden += f',\n  "instruments": [{declared}\n  ]' if declared else ""
    fitted = "" if graph.calibrate else '  "calibrate": false,\n'
    return f'{{\n  "variables": {names},\n{fitted}  "edges": [{edges}\n  ]{hidden}\n}}\n'


def _edge(cause: str, effect: str, probability: float | None) -> dict[str, Any]:
    ends = {"cause": cause, "effect": effect}
    return ends if probability is None else {**ends, "probability": probability}


def _hidden(graph: CandidateGraph, first: str, second: str, probability: float) -> dict[str, Any]:
    found: dict[str, Any] = {"first": first, "second": second, "probability": probability}
    believed = graph.correlations.get((first, second))
    return found if believed is None else {**found, "correlation": believed}
