"""Tables in LaTeX (booktabs), for papers."""

from __future__ import annotations

from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}


def escape_latex(text: str) -> str:
    r"""Return text with LaTeX's special characters made harmless.

    Examples
    --------
    >>> from alldags.show.latex import escape_latex
    >>> print(escape_latex("risk_1 > 5%"))
    risk\_1 \textgreater{} 5\%
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))


def pairs_latex(title: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a titled table of names and values; names that begin with a blank are indented."""
    body = [f"{_indented(name)}{escape_latex(name)} & {escape_latex(value)} " + r"\\" for name, value in pairs]
    return _tabular("ll", [rf"\multicolumn{{2}}{{l}}{{{escape_latex(title)}}} \\"], body)


def _indented(name: str) -> str:
    return r"\quad " if name.startswith(" ") else ""


def table_latex(names: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return a table of formatted cells, numbers to the right."""
    columns = "".join("r" if right else "l" for right in numeric)
    body = [" & ".join(map(escape_latex, row)) + r" \\" for row in cells]
    return _tabular(columns, [" & ".join(map(escape_latex, names)) + r" \\"], body)


def _tabular(columns: str, head: Sequence[str], body: Sequence[str]) -> str:
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)
