"""Which format a text is in, where that is beyond doubt."""

from __future__ import annotations

import re

from alldags.errors import GraphError
from alldags.graph.formats.dagitty import is_bare

_BNLEARN = re.compile(r"(?:\s*\[[^\[\]=\n]+\])+\s*")
_CSV_HEADS = {"cause", "effect", "from", "to", "source", "target"}
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("gml", re.compile(r"(?:Creator[^\n]*\n\s*)?graph\s*\[", re.IGNORECASE)),
    ("dagitty", re.compile(r"(?:dag|pdag|mag|pag)\b[^\n{]*\{")),
    ("dot", re.compile(r"(?:strict\s+)?(?:di)?graph\b[^\n{]*\{", re.IGNORECASE)),
    ("json", re.compile(r"\{\s*[\"}]")),
)


def guess_format(text: str) -> str:
    """Return the name of the format a graph text is written in.

    Examples
    --------
    >>> from alldags.graph.guess import guess_format
    >>> guess_format("y ~ x + m"), guess_format("[x][y|x]"), guess_format("dag { x -> y }")
    ('lavaan', 'bnlearn', 'dagitty')
    """
    bare = "\n".join(line for line in text.lstrip("\ufeff").splitlines() if not _is_comment(line)).strip()
    for name, pattern in _RULES:
        if pattern.match(bare):
            return name
    if _BNLEARN.fullmatch(bare):
        return "bnlearn"
    first = bare.partition("\n")[0]
    if _CSV_HEADS & {cell.strip().strip('"').lower() for cell in re.split("[,;\t]", first)}:
        return "csv"
    if re.search(r"^\s*[\w.\"]+\s*=[^~]|^\s*\[[\w.\"]+\]\s*$", bare, re.MULTILINE):
        return "toml"
    if "~" in bare:
        return "lavaan"
    if is_bare(bare):
        return "dagitty"
    raise GraphError(
        f"cannot tell in which format the graph {bare[:60]!r} is; the simplest has lines such as smoking -> risk, "
        "others are named by parse_graph(text, format=...) or the ending of the file"
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", "!"))
