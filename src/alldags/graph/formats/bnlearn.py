"""bnlearn's model strings: ``[age][smoking|age][risk|smoking:age]``, each variable followed by its possible causes."""

from __future__ import annotations

import re

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import Collector

_GROUP = re.compile(r"\[([^\[\]]*)\]")


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from a model string."""
    string = "".join(text.split())
    rest = _GROUP.sub("", string)
    if not string or rest:
        raise GraphError(f"a model string is a row of [name|cause:cause]; {rest[:40] or string!r} is not part of one")
    found = Collector(probability)
    groups = [group.partition("|") for group in _GROUP.findall(string)]
    for number, (name, _, _) in enumerate(groups, start=1):
        if name in found.variables:
            raise GraphError(f"group {number}: {name!r} has two groups; put all its causes into one")
        found.variable(name, f"group {number}")
    for number, (name, bar, causes) in enumerate(groups, start=1):
        for cause in causes.split(":") if bar else ():
            if cause not in found.variables:
                raise GraphError(f"group {number}: {cause!r} is a cause of {name!r} but has no group of its own")
            found.edge(cause, name, None, f"group {number}")
    return found.graph()


def write(graph: CandidateGraph) -> str:
    """Write a graph as a model string, which has no place for probabilities."""
    del graph
    raise GraphError("a model string has no place for edge probabilities; write TOML, CSV, DOT or dagitty")
