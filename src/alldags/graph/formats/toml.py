"""TOML: the format to write by hand; see `alldags.graph.formats.document` for its keys."""

from __future__ import annotations

import json
import tomllib

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge
from alldags.graph.formats.document import graph_from_document


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from TOML."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise GraphError("this is not a graph in TOML: it is nested too deeply") from error
    except ValueError as error:
        raise GraphError(f"this is not valid TOML: {error}") from error
    return graph_from_document(document, probability)


def write(graph: CandidateGraph) -> str:
    """Write a graph as TOML."""
    names = "".join(f"    {_quoted(name)},\n" for name in graph.variables)
    edges = "".join(
        f"    {{ cause = {_quoted(cause)}, effect = {_quoted(effect)}{_probability(probability)} }},\n"
        for (cause, effect), probability in graph.stated.items()
    )
    pairs = "".join(
        f"    {{ first = {_quoted(first)}, second = {_quoted(second)}, probability = {probability!r}"
        f"{_correlation(graph, (first, second))} }},\n"
        for (first, second), probability in graph.hidden.items()
    )
    hidden = f"hidden = [\n{pairs}]\n" if pairs else ""
    declared = "".join(
        f"    {{ instrument = {_quoted(name)}, treatment = {_quoted(treatment)}, valid = {json.dumps(valid)} }},\n"
        for (name, treatment), valid in graph.declared.items()
    )
    hidden += f"instruments = [\n{declared}]\n" if declared else ""
    fitted = "" if graph.calibrate else "calibrate = false\n"
    return f"variables = [\n{names}]\n{fitted}edges = [\n{edges}]\n{hidden}"


def _probability(stated: float | None) -> str:
    return "" if stated is None else f", probability = {stated!r}"


def _correlation(graph: CandidateGraph, pair: Edge) -> str:
    believed = graph.correlations.get(pair)
    return "" if believed is None else f", correlation = {json.dumps(believed)}"


def _quoted(name: str) -> str:
    # a JSON string is a TOML basic string, except that TOML wants DEL escaped
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
