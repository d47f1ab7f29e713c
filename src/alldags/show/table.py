"""Small labelled tables: no data-frame library needed to look at a result, one call to turn it into any."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.errors import did_you_mean, require
from alldags.show.latex import table_latex
from alldags.show.markdown import table_markdown
from alldags.text import line_width, printable, shortened, table_width
from alldags.typing import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    columns
        ``{name: values}``.
    note
        A sentence to read with it, shown below.

    Examples
    --------
    >>> from alldags.show.table import Table
    >>> table = Table({"edge": ["a -> b"], "probability": [0.25]})
    >>> table["probability"]
    [0.25]
    >>> print(table)
    edge    probability
    a -> b         0.25
    """

    columns: Mapping[str, list[Any]]
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType({k: list(v) for k, v in self.columns.items()}))

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            listed = shortened(f"columns: {list(self.columns)}", 200)
            raise KeyError(f"no column {name!r}{did_you_mean(name, self.columns)}; {listed}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary, so that a data-frame library can be called with the table itself."""
        return self.rows()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary."""
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame."""
        pandas: Any = require("pandas", "experiments")
        frame: pd.DataFrame = pandas.DataFrame(dict(self.columns))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a polars frame."""
        polars: Any = require("polars", "files")
        frame: pl.DataFrame = polars.DataFrame(dict(self.columns), strict=False)
        return frame

    def to_latex(self) -> str:
        """Return the table in LaTeX, for the package booktabs."""
        return table_latex(list(self.columns), *self._formatted())

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return table_markdown(list(self.columns), *self._formatted())

    def _formatted(self) -> tuple[list[list[str]], list[bool]]:
        """Return the cells as text, by rows, and which columns are numbers."""
        cells = [[format_number(value) for value in row.values()] for row in self.rows()]
        return cells, [_is_numeric(values) for values in self.columns.values()]

    def __str__(self) -> str:
        text = text_table(list(self.columns), [list(row.values()) for row in self.rows()], table_width())
        return f"{text}\n{fill('note: ' + printable(self.note), line_width())}" if self.note else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        note = f"<p><small>note: {escape(self.note)}</small></p>" if self.note else ""
        return html_table(list(self.columns), [list(row.values()) for row in self.rows()]) + note


@dataclass(frozen=True, eq=False)
class SquareTable:
    """A matrix over the variables: row = cause, column = effect.

    Parameters
    ----------
    names
        The variables, m of them.
    values
        Shape (m, m).

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.show.table import SquareTable
    >>> SquareTable(("x", "y"), np.array([[1.0, 0.5], [0.0, 1.0]]))["x", "y"]
    0.5
    """

    names: tuple[str, ...]
    values: FloatArray

    def __getitem__(self, edge: tuple[str, str]) -> float:
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise KeyError(f"give a cause and an effect, as in table['x', 'y'], got {edge!r}")
        for name in edge:
            if name not in self.names:
                raise KeyError(f"no variable {name!r}{did_you_mean(name, self.names)}")
        return float(self.values[self.names.index(edge[0]), self.names.index(edge[1])])

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame, index = cause, columns = effect."""
        pandas: Any = require("pandas", "experiments")
        frame: pd.DataFrame = pandas.DataFrame(self.values, index=list(self.names), columns=list(self.names))
        return frame

    def to_table(self) -> Table:
        """Return a table with the column ``cause`` and one column per effect."""
        columns: dict[str, list[Any]] = {"cause": list(self.names)}
        columns.update({name: self.values[:, j].tolist() for j, name in enumerate(self.names)})
        return Table(columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.values, dtype=dtype, copy=True if copy is None else copy)

    def __str__(self) -> str:
        return text_table(["cause", *self.names], self._rows(), table_width())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(["cause", *self.names], self._rows())

    def _rows(self) -> list[list[Any]]:
        return [[name, *row] for name, row in zip(self.names, self.values.tolist(), strict=True)]


def format_number(value: Any) -> str:
    """Format one cell: four significant digits for numbers, ``-`` for what is undefined."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return printable(str(value))


def _is_numeric(values: Sequence[Any]) -> bool:
    return bool(values) and all(value is None or isinstance(value, int | float | np.number) for value in values)


def text_table(names: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None) -> str:
    """Lay out rows in columns, numbers to the right.

    Beyond `width` long names are broken at underscores; if that is not enough, columns stand below each other, with the
    first one repeated.
    """
    cells = [[format_number(value) for value in row] for row in rows]
    body = [max((len(row[j]) for row in cells), default=0) for j in range(len(names))]
    heads = [[printable(name)] for name in names]
    if width is not None and sum(max(len(head[0]), size) + 2 for head, size in zip(heads, body, strict=True)) > width:
        heads = [_broken(head[0], max(size, _SHORT_NAME)) for head, size in zip(heads, body, strict=True)]
    tall = max(map(len, heads), default=0)
    lines = [[head[i] if i < len(head) else "" for head in heads] for i in range(tall)]
    widths = [max(size, *map(len, head)) for head, size in zip(heads, body, strict=True)]
    numeric = [_is_numeric([row[j] for row in rows]) for j in range(len(names))]
    laid = [
        [
            cell.rjust(size) if right else cell.ljust(size)
            for cell, size, right in zip(row, widths, numeric, strict=True)
        ]
        for row in [*lines, *cells]
    ]
    groups = _column_groups(widths, width)
    return "\n\n".join("\n".join("  ".join(row[j] for j in group).rstrip() for row in laid) for group in groups)


_SHORT_NAME = 10  # characters of a column's name that are not broken


def _broken(name: str, most: int) -> list[str]:
    """Break a name behind underscores, where a line would become longer than `most`.

    Examples
    --------
    >>> from alldags.show.table import _broken
    >>> _broken("effect_if_present", 10), _broken("posterior", 5)
    (['effect_if_', 'present'], ['posterior'])
    """
    lines = [""]
    for part in re.findall(r"[^_]*_|[^_]+", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return lines


def _column_groups(widths: Sequence[int], most: int | None) -> list[list[int]]:
    """Return which columns stand beside each other: all, or as many as fit, each time with the first."""
    groups = [list(range(min(len(widths), 2)))]
    for j in range(2, len(widths)):
        if most is not None and sum(widths[i] + 2 for i in groups[-1]) + widths[j] > most:
            groups.append([0])
        groups[-1].append(j)
    return groups


def html_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return an HTML table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(format_number(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
