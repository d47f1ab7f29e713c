"""From rows to the derived columns of a child: the first of two passes, over a part of the rows if there are many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.columns.bends import Bend
from alldags.columns.line import Line
from alldags.columns.products import Clipped, Given
from alldags.data.look import look_at_values
from alldags.engines.curves.learn import index_columns, propensity_columns, sparse_coefficients
from alldags.errors import DataError
from alldags.graph.terms import GivenTerm, Terms
from alldags.typing import BoolArray, FloatArray

_WIDE = 2.5  # standard deviations beyond which a factor of a product is held
_TAIL = 0.01  # quantile, likewise
_FEW_ROWS = 40  # in an arm: with less nothing is learned from it


def base_columns(
    terms: Terms, causes: Sequence[str], child: str, treatment: str | None, before: Sequence[str], rows: RowValues
) -> tuple[Column, ...]:
    """Return the columns that a child may be regressed on, made from some of its rows.

    Parameters
    ----------
    terms
        What is wanted.
    causes
        Causes of the child that get columns.
    child
        Its name.
    treatment
        A yes/no treatment among its causes, whose arms are looked at apart; None if there is none.
    before
        Those of the causes that the treatment cannot act on: directions are learned from them.
    rows
        Some rows.
    """
    lines: list[Column] = [Line(name) for name in causes]
    bends = [bend for name in causes for bend in bends_of(name, rows.values[name], terms.curves)]
    arms = _arms(treatment, rows)
    products = _products(terms.products, causes, child, arms, rows) if terms.products else []
    names = tuple(before)
    learned: list[Column] = []
    if names and rows.fold is not None:
        matrix = np.column_stack([rows.values[name] for name in names])
        if terms.index:
            labels = ("index",) if treatment is None else ("index untreated", "index treated")
            for label, arm in zip(labels, arms, strict=True):
                if arm.sum() >= _FEW_ROWS:
                    learned += index_columns(names, matrix, rows.values[child], arm, rows.fold, label)
        if terms.propensity and treatment is not None and min(arm.sum() for arm in arms) >= _FEW_ROWS:
            learned += propensity_columns(names, matrix, arms[1].astype(float), rows.fold)
    return (*lines, *bends, *products, *learned)


def _arms(treatment: str | None, rows: RowValues) -> list[BoolArray]:
    if treatment is None:
        return [np.ones(rows.count, dtype=bool)]
    values = rows.values[treatment]
    return [np.asarray(values == end) for end in (values.min(), values.max())]


def bends_of(name: str, values: FloatArray, knots: int) -> list[Column]:
    """Return bends at inner quantiles of a variable; none if it has two values."""
    if knots == 0 or not look_at_values(values).can_bend:
        return []
    places = np.unique(np.quantile(values, np.linspace(0.0, 1.0, knots + 2)[1:-1]))
    return [Bend(name, float(knot)) for knot in places if values.min() < knot < values.max()]


def _products(
    count: int, causes: Sequence[str], child: str, arms: Sequence[BoolArray], rows: RowValues
) -> list[Column]:
    """Return squares and products of the causes with the strongest straight lines in any arm."""
    matrix = np.column_stack([rows.values[name] for name in causes])
    strength = np.zeros(len(causes))
    for arm in arms:
        if arm.sum() >= _FEW_ROWS:
            slopes = sparse_coefficients(matrix[arm], rows.values[child][arm])
            strength = np.maximum(strength, np.abs(slopes) * matrix[arm].std(axis=0))
    chosen = [causes[i] for i in np.argsort(-strength, kind="stable")[:count]]
    limits = {name: _limits(rows.values[name]) for name in chosen}
    found: list[Column] = []
    for place, first in enumerate(chosen):
        for second in chosen[place:]:
            if first == second and not look_at_values(rows.values[first]).can_bend:
                continue
            pair = limits[first], limits[second]
            center, low, high = (tuple(values) for values in zip(*pair, strict=True))
            found.append(Clipped(first, second, center, low, high))  # type: ignore[arg-type]
    return found


def _limits(values: FloatArray) -> tuple[float, float, float]:
    """Return centre, lower and upper limit of a factor of a product."""
    center, scale = float(values.mean()), float(values.std())
    if not look_at_values(values).can_bend:
        return center, float(values.min()), float(values.max())
    low, high = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    low, high = max(float(low), center - _WIDE * scale), min(float(high), center + _WIDE * scale)
    return float(np.clip(values, low, high).mean()), low, high


def given_columns(terms: Sequence[GivenTerm], causes: Sequence[str], rows: RowValues) -> tuple[Column, ...]:
    """Return a line for every cause and the terms that were written down, curves as bends at five quantiles."""
    found: list[Column] = [Line(name) for name in causes]
    for term in terms:
        if len(term.factors) == 1 and not term.factors[0].function:
            continue
        if term.factors[0].function == "curve":
            found += bends_of(term.factors[0].variable, rows.values[term.factors[0].variable], Terms().curves)
            continue
        column = Given(term)
        with np.errstate(all="ignore"):
            values = column.values(rows)
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            shown = ", ".join(f"{name} = {rows.values[name][place]:g}" for name in column.variables)
            raise DataError(f"the term {column.name!r} is not a finite number where {shown}; leave it out or shift it")
        found.append(column)
    return tuple(found)
