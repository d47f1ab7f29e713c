"""From terms that were written down to columns: a word of `alldags.graph.terms` is a line here."""

from __future__ import annotations

from collections.abc import Callable

from alldags.columns.base import Column, RowValues
from alldags.columns.bends import bends_at
from alldags.columns.products import Given
from alldags.graph.terms import GivenTerm, Terms
from alldags.typing import FloatArray

CURVE = "curve"
SEVERAL: dict[str, Callable[[str, FloatArray], list[Column]]] = {
    CURVE: lambda name, values: bends_at(name, values, Terms().curves),
}
"""Words that stand for several columns of one variable, made from its name and values, shape (rows,)."""


def written_columns(term: GivenTerm, rows: RowValues) -> list[Column]:
    """Return the columns of a term that was written down; none for a line, which is there anyway."""
    first = term.factors[0]
    if len(term.factors) == 1 and not first.function:
        return []
    if first.function in SEVERAL:
        return SEVERAL[first.function](first.variable, rows.values[first.variable])
    return [Given(term)]
