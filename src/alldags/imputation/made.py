"""Which columns missing values are drawn by: lines, levels, and the curves and products that the analysis may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.columns.bends import bends_at
from alldags.columns.line import Line
from alldags.columns.written import CURVE, written_columns
from alldags.graph.terms import ChildTerms, GivenTerm, Terms
from alldags.imputation.columns import IsLevel, product_of
from alldags.imputation.variables import Variable

_KNOTS = (3, 2, 1)  # of a variable that may bend: as many as there is room for
_ROWS_A_COLUMN = 10
_LEAST_ROOM = 10  # columns beside lines and levels, however few rows there are
_TREATMENTS = 2  # variables with two values whose products with all others are looked at, the latest first


def columns_of(
    variables: Sequence[Variable], terms: Mapping[str, ChildTerms], causes: Mapping[str, Sequence[str]]
) -> list[Column]:
    """Return the columns that later variables are regressed on.

    Parameters
    ----------
    variables
        In the order of the graph.
    terms
        What the regressions of the analysis may be made of beside straight lines.
    causes
        Candidate causes of each child.
    """
    known = {one.name: one for one in variables}
    plain = [column for one in variables for column in _plain(one)]
    written = [column for child in terms.values() if not isinstance(child, Terms) for column in _written(child, known)]
    room = max(len(variables[0].values) // _ROWS_A_COLUMN - len(plain) - len(written), _LEAST_ROOM)
    bends = _bends(_bending(terms, causes), known, room)
    products = _products(variables, terms, causes)
    return [*plain, *written, *bends, *(products if len(products) <= room - len(bends) else [])]


def _plain(variable: Variable) -> list[Column]:
    if not variable.is_category:
        return [Line(variable.name)]
    return [IsLevel(variable.name, code) for code in range(1, len(variable.levels or ()))]


def _bending(terms: Mapping[str, ChildTerms], causes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the variables through which some child may have a curve, each once."""
    found: list[str] = []
    for child, one in terms.items():
        if isinstance(one, Terms):
            found += causes[child] if one.curves or one.index or one.products else []
        else:
            found += [term.factors[0].variable for term in one if term.factors[0].function == CURVE]
    return list(dict.fromkeys(found))


def _bends(names: Sequence[str], known: Mapping[str, Variable], room: int) -> list[Column]:
    numbers = [known[name] for name in names if known[name].levels is None]
    for knots in _KNOTS:
        if knots * len(numbers) <= room:
            return [bend for one in numbers for bend in bends_at(one.name, one.values[~one.missing], knots)]
    return []


def _products(
    variables: Sequence[Variable], terms: Mapping[str, ChildTerms], causes: Mapping[str, Sequence[str]]
) -> list[Column]:
    """Return products of likely treatments, which have two values, with the other causes of what they act on."""
    pairs: dict[tuple[str, str], None] = {}
    for child, one in terms.items():
        if not isinstance(one, Terms) or (one.modification == "none" and not one.products):
            continue
        inside = [variable for variable in variables if variable.name in causes[child]]
        two = [variable for variable in inside if variable.levels is not None and not variable.is_category]
        for treatment in two[-_TREATMENTS:]:
            others = [other.name for other in inside if other is not treatment]
            pairs |= {(treatment.name, other): None for other in others if (other, treatment.name) not in pairs}
    known = {one.name: one for one in variables}
    found: list[Column] = []
    for first, second in pairs:
        rows = _seen([known[first], known[second]])
        found += [product_of(Line(first), column, rows) for column in _plain(known[second])]
    return found


def _written(terms: Sequence[GivenTerm], known: Mapping[str, Variable]) -> list[Column]:
    """Return terms that were written down, but curves and lines."""
    found: list[Column] = []
    for term in terms:
        categories = [name for name in term.variables if known[name].is_category]
        if categories:
            found += _with_levels(term, categories, known)
        elif term.factors[0].function != CURVE:
            found += written_columns(term, _seen([known[name] for name in term.variables]))
    return found


def _with_levels(term: GivenTerm, categories: Sequence[str], known: Mapping[str, Variable]) -> list[Column]:
    """Return the products of a category's levels and one other variable."""
    others = [factor for factor in term.factors if factor.variable not in categories]
    if len(categories) != 1 or len(others) != 1 or others[0].function:
        return []
    rows = _seen([known[name] for name in term.variables])
    return [product_of(Line(others[0].variable), level, rows) for level in _plain(known[categories[0]])]


def _seen(variables: Sequence[Variable]) -> RowValues:
    """Return the rows in which some variables have values."""
    there = np.logical_and.reduce([~one.missing for one in variables])
    if not there.any():
        there = np.ones_like(there)
    return RowValues({one.name: np.nan_to_num(one.values[there]) for one in variables})
