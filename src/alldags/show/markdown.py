"""Tables in Markdown, for notebooks, issues and web pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SPECIAL = {letter: f"\\{letter}" for letter in "\\|*_`[]#$~"} | {"&": "&amp;", "<": "&lt;"}  # not all know "\\<"


def escape_markdown(text: str) -> str:
    r"""Return text with Markdown's special characters made harmless, on one line.

    Examples
    --------
    >>> from alldags.show.markdown import escape_markdown
    >>> print(escape_markdown("a_b | c"))
    a\_b \| c
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))


def table_markdown(names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return a table of formatted cells, numbers to the right."""
    head, rule = _line(map(escape_markdown, names)), _line("---:" if right else "---" for right in numeric)
    return "\n".join([head, rule, *(_line(map(escape_markdown, row)) for row in cells)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
