"""CSV: a header ``cause,effect,probability`` (or ``from,to``, ``source,target``) and one edge per row.

A row with an empty effect names a variable without giving an edge; variables are ordered by first mention. An empty
or missing probability stands for the default. An edge whose direction is open has two rows, one for each. Spaces after
a comma are skipped unless they are inside quotes. Where the header has semicolons or tabs instead of commas, so have
the rows; a probability may then have a decimal comma.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from alldags.errors import GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.formats.collect import Collector, check_no_hidden

_COLUMNS = ("cause", "effect", "probability")
_ALIASES = {
    "from": "cause",
    "source": "cause",
    "to": "effect",
    "target": "effect",
    "prob": "probability",
    "p": "probability",
}


def parse(text: str, probability: float | None) -> CandidateGraph:
    """Read a graph from CSV."""
    mark = _delimiter(text)
    rows = _rows(text, mark)
    where, header = next(rows, ("line 1", []))
    columns = _checked_header(header, where)
    found = Collector(probability)
    for where, row in rows:
        if len(row) > len(columns) or len(row) < 2:
            raise GraphError(f"{where}: expected {len(columns)} values ({','.join(columns)}), got {len(row)}: {row}")
        _add(found, dict(zip(columns, row, strict=False)), where, decimal_comma=mark != ",")
    return found.graph()


def _delimiter(text: str) -> str:
    """Return what separates the values: what the header has most of."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    return max(",;\t", key=header.count)


def _rows(text: str, mark: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each row that is not blank with its place in the text."""
    # newline="" keeps line ends inside quoted names as they are
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if row:
                yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise GraphError(f"line {reader.line_num}: this is not valid CSV ({error})") from error


def _checked_header(header: list[str], where: str) -> list[str]:
    given = [column.strip().lower() for column in header]
    columns = [_ALIASES.get(column, column) for column in given]
    for column in columns:
        if column not in _COLUMNS:
            hint = did_you_mean(column, _COLUMNS)
            raise GraphError(f"{where}: the header must be cause,effect,probability; got {column!r}{hint}")
    if len(set(columns)) < len(columns) or not {"cause", "effect"} <= set(columns):
        raise GraphError(f"{where}: the header must be cause,effect,probability; got {','.join(columns)!r}")
    return columns


def _add(found: Collector, row: dict[str, str], where: str, *, decimal_comma: bool) -> None:
    probability = row.get("probability", "").strip()
    if decimal_comma:
        probability = probability.replace(",", ".")
    if row.get("effect", ""):
        found.edge(row.get("cause", ""), row["effect"], probability or None, where)
    elif probability:
        raise GraphError(f"{where}: probability {probability!r} without an effect; name the effect")
    else:
        found.variable(row.get("cause", ""), where)


def write(graph: CandidateGraph) -> str:
    """Write a graph as CSV."""
    check_no_hidden(graph, "CSV")
    if not graph.calibrate:
        raise GraphError("CSV has no place for calibrate=False; write TOML, JSON, DOT, GML or dagitty")
    out = io.StringIO(newline="")
    out.write("cause,effect,probability\n")
    # text is quoted, so that spaces at the start of a name survive
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    mentioned = tuple(dict.fromkeys(name for edge in graph.edges for name in edge))
    if mentioned != graph.variables:
        writer.writerows((name, "", "") for name in graph.variables)
    writer.writerows((*edge, probability) for edge, probability in graph.stated.items())
    return out.getvalue()
