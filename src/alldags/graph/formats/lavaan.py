"""Regressions, one a line: ``y ~ x + m``, as in lavaan, semopy, pathmc and R.

What stands left of ``~`` are effects, right of it their possible causes; several on the left share them. Labels and
starting values (``a*x``, ``start(0.5)*x``) are left out, and so are intercepts (``y ~ 1``), defined parameters
(``ab := a*b``) and variances (``x ~~ x``). ``x ~~ y`` is a hidden common cause. Latent variables (``f =~ x1 + x2``),
products (``x:z``) and functions of variables are errors that say what to do.

Every edge has the default probability; graphs with others are better written in another format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from alldags.errors import GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import Collector

_SPLIT = re.compile(r"(=~|:=|~\*~|~~|<~|==|~)")
_NAME = re.compile(r"[^\W\d][\w.]*")
_IGNORED = {":=": "a defined parameter", "==": "a constraint", "~*~": "a scaling factor"}


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from regressions."""
    found = Collector(probability)
    for where, line in _lines(text):
        _add(found, line, where)
    return found.graph()


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each statement with its place; ``#`` and ``!`` begin comments, a trailing ``+`` goes on in the next."""
    waiting, start = "", 1
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.split(r"[#!]", raw, maxsplit=1)[0].strip()
        start = start if waiting else number
        waiting = f"{waiting} {line}".strip()
        if waiting.endswith(("+", "~")):
            continue
        yield from ((f"line {start}", part.strip()) for part in waiting.split(";") if part.strip())
        waiting = ""
    if waiting:
        raise GraphError(f"line {start}: {waiting!r} ends before its last cause")


def _add(found: Collector, line: str, where: str) -> None:
    parts = _SPLIT.split(line, maxsplit=1)
    if len(parts) != 3:
        raise GraphError(f"{where}: {line!r} is no regression; write effect ~ cause + cause")
    left, operator, right = (part.strip() for part in parts)
    if operator in _IGNORED:
        return
    if operator in ("=~", "<~"):
        raise GraphError(
            f"{where}: {line!r} defines a latent variable; hidden variables that are measured by others are not "
            "supported: use a score of them as a column, or their single measurements"
        )
    effects = [_name(term, where) for term in left.split("+")]
    causes = [name for term in right.split("+") if (name := _cause(term, where)) is not None]
    for effect in effects:
        found.variable(effect, where)
        for cause in causes:
            _join(found, operator, cause, effect, where)


def _join(found: Collector, operator: str, cause: str, effect: str, where: str) -> None:
    if operator == "~":
        found.edge(cause, effect, None, where)
    elif cause != effect:  # else a variance, which every variable has
        found.hidden_cause(effect, cause, None, where)


def _cause(term: str, where: str) -> str | None:
    """Return the variable of a term, without its label; None for an intercept."""
    factor = term.strip().rpartition("*")[2].strip()
    return None if factor in ("0", "1", "-1") else _name(factor, where)


def _name(term: str, where: str) -> str:
    name = term.strip()
    if len(name) > 2 and name[0] == name[-1] and name[0] in "\"'`":
        return name[1:-1]
    if not name:
        raise GraphError(f"{where}: a variable name is missing beside '+' or '~'")
    if ":" in name or "(" in name or "^" in name:
        raise GraphError(
            f"{where}: {name!r} is a product or a function of variables; make it a column of the table and name that"
        )
    if not _NAME.fullmatch(name):
        raise GraphError(f"{where}: {name!r} is not a variable name; put names with other signs into quotes")
    return name


def write(graph: CandidateGraph) -> str:
    """Write a graph as regressions, which have no place for probabilities other than one for all."""
    del graph
    raise GraphError("regressions have no place for edge probabilities; write TOML, CSV, DOT or dagitty")
