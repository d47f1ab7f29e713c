"""From rows to the derived columns of a child: the first of two passes, over a part of the rows if there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.columns.bends import bends_at
from alldags.columns.line import Line
from alldags.columns.products import Clipped, OnArm, Times
from alldags.columns.written import CURVE, written_columns
from alldags.data.look import look_at_values
from alldags.engines.curves.boost import all_edges, grown_column
from alldags.engines.curves.learn import index_columns, propensity_columns, sparse_coefficients
from alldags.engines.curves.spec import CurvedSpec, is_product
from alldags.errors import DataError, GraphError
from alldags.graph.terms import GivenTerm, Terms
from alldags.typing import BoolArray, FloatArray, IntArray

_WIDE = 2.5  # standard deviations beyond which a factor of a product is held
_TAIL = 0.01  # quantile, likewise
_FEW_ROWS = 40  # in an arm: with less nothing is learned from it
_MOST_IN_PART = 0.5  # of an arm's rows in one part of the data, else nothing is learned


def columns_of(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues) -> tuple[Column, ...]:
    """Return all columns that a child may be regressed on, made from some of its rows.

    Parameters
    ----------
    spec
        What is wanted.
    arms
        The two values of a treatment: the first column is then its arm. None if there is no such treatment.
    sample
        The rows.
    """
    found = _columns_of(spec, arms, sample)
    return found if arms is not None else with_products(spec, found, sample)


def _columns_of(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues) -> tuple[Column, ...]:
    if not isinstance(spec.terms, Terms):
        return given_columns(spec, sample)
    causes = tuple(name for name in spec.causes if name != spec.mover)
    base = base_columns(spec, causes, None if arms is None else spec.treatment, sample) if causes else ()
    mover = spec.mover
    if mover is None:
        return base
    if arms is not None:
        return (OnArm(mover, float(arms.mean())), *base)
    values = sample.values[mover]
    own: tuple[Column, ...] = (Line(mover), *bends_at(mover, values, spec.terms.curves))
    if spec.terms.modification == "none":
        return (*base, *own)
    center, bending = float(values.mean()), spec.bending(sample)
    return (*base, *own, *(Times(column, mover, center) for column in base if bending.issuperset(column.variables)))


def with_products(spec: CurvedSpec, columns: tuple[Column, ...], rows: RowValues) -> tuple[Column, ...]:
    """Return columns with, after the line of each mediator, its products with the treatment."""
    own = spec.straight(str(spec.treatment)) if spec.mediators else []
    pairs = [(one, name) for one in own for name in spec.mediators]
    kept = [column for column in columns if not any(is_product(column, *pair) for pair in pairs)]
    found: list[Column] = []
    for column in kept:
        found.append(column)
        if isinstance(column, Line) and column.variable in spec.mediators:
            found += [_product(one, column.variable, rows) for one in own]
    return tuple(found)


def _product(own: Column, mediator: str, rows: RowValues) -> Column:
    """Return a mediator times a column of the treatment, numbers about their means."""
    middle = float(rows.values[mediator].mean())
    if not isinstance(own, Line):
        return Times(own, mediator, middle)
    center = float(rows.values[own.variable].mean()), middle
    return Clipped(own.variable, mediator, center, (-np.inf, -np.inf), (np.inf, np.inf))


def base_columns(spec: CurvedSpec, causes: Sequence[str], treatment: str | None, rows: RowValues) -> tuple[Column, ...]:
    """Return causes themselves, bends, products and learned columns.

    Parameters
    ----------
    spec
        What is wanted.
    causes
        Of the child, but the treatment.
    treatment
        A yes/no treatment among its causes, whose arms are looked at apart; None if there is none.
    rows
        Some rows.
    """
    terms, bending = spec.terms, spec.bending(rows)
    assert isinstance(terms, Terms)
    numbers = [name for name in spec.numbers(causes) if name in bending]
    before = [name for name in causes if name in bending and name not in spec.after and name != spec.treatment]
    straight = [column for name in causes for column in spec.straight(name)]
    bends = [bend for name in numbers for bend in bends_at(name, rows.values[name], terms.curves)]
    arms = _arms(treatment, rows)
    products = _products(terms.products, numbers, spec.child, arms, rows) if terms.products and numbers else []
    return (*straight, *bends, *products, *_learned(spec, treatment, before, arms, rows))


def _learned(
    spec: CurvedSpec, treatment: str | None, before: Sequence[str], arms: Sequence[BoolArray], rows: RowValues
) -> list[Column]:
    """Return columns along what predicts the child in each arm, and what predicts the treatment."""
    terms, names = spec.terms, tuple(spec.inputs(before))
    assert isinstance(terms, Terms)
    if not names or rows.fold is None or not _is_divided(arms, rows.fold):
        return []
    stands = {column: name for name in before for column in spec.categories.get(name, (name,))}
    matrix = np.column_stack([rows.values[name] for name in names])
    edges = all_edges(matrix)
    found: list[Column] = []
    enough = [arm.sum() >= _FEW_ROWS for arm in arms]
    labels = ("all",) if treatment is None else ("untreated", "treated")
    for label, arm, fits in zip(labels, arms, enough, strict=True):
        own = names, matrix, rows.values[spec.child], arm, rows.fold
        if terms.index and fits:
            found += index_columns(*own, f"index {label}", stands)
        if terms.trees and fits:
            found += grown_column(f"trees {label}", *own, edges, stands)
    if terms.propensity and treatment is not None and all(enough):
        found += propensity_columns(names, matrix, arms[1].astype(float), rows.fold, stands)
    return [*found, *_grown_drives(spec, names, matrix, rows, edges, stands)]


def _grown_drives(
    spec: CurvedSpec,
    names: tuple[str, ...],
    matrix: FloatArray,
    rows: RowValues,
    edges: FloatArray,
    stands: Mapping[str, str],
) -> list[Column]:
    """Return what trees see in the treatment, the arm of it if it has two values."""
    assert isinstance(spec.terms, Terms)
    assert rows.fold is not None
    if spec.mover is None or not (spec.terms.trees and spec.terms.propensity):
        return []
    values = rows.values[spec.mover]
    two = look_at_values(values).two_values
    target = values if two is None else np.asarray(values == values.max(), dtype=float)
    if two is not None and min(target.sum(), (1.0 - target).sum()) < _FEW_ROWS:
        return []
    everyone = np.ones(rows.count, dtype=bool)
    own = names, matrix, target, everyone, rows.fold
    return [*grown_column(f"trees {spec.mover}", *own, edges, stands, drives=True)]


def _is_divided(arms: Sequence[BoolArray], fold: IntArray) -> bool:
    """Tell whether no part of the data holds most rows of an arm: what is learned needs rows of all other parts."""
    return all(np.bincount(fold[arm], minlength=1).max(initial=0) <= _MOST_IN_PART * arm.sum() for arm in arms)


def _arms(treatment: str | None, rows: RowValues) -> list[BoolArray]:
    if treatment is None:
        return [np.ones(rows.count, dtype=bool)]
    values = rows.values[treatment]
    return [np.asarray(values == end) for end in (values.min(), values.max())]


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


def given_columns(spec: CurvedSpec, rows: RowValues) -> tuple[Column, ...]:
    """Return every cause itself and the terms that were written down, curves as bends at five quantiles."""
    assert not isinstance(spec.terms, Terms)
    found: list[Column] = [column for name in spec.causes for column in spec.straight(name)]
    for term in spec.terms:
        _check_numbers(term, spec)
        if not spec.causes.keys() >= set(term.variables):
            continue  # no possible cause in this graph
        columns = written_columns(term, rows)
        if columns and term.factors[0].function != CURVE:
            _check_certain(term, spec)
            _check_finite(columns, rows)
        found += columns
    return tuple(found)


def _check_numbers(term: GivenTerm, spec: CurvedSpec) -> None:
    named = [name for name in term.variables if name in spec.categories]
    if named and len(term.factors) > 1:
        raise DataError(
            f"the term {str(term)!r} multiplies {named[0]!r}, which is a category; use a 0/1 column of one of its "
            "levels, or leave the term out"
        )


def _check_certain(term: GivenTerm, spec: CurvedSpec) -> None:
    doubted = [name for name in term.variables if spec.causes[name] < 1.0]
    if term.probability == 1.0 and doubted:
        raise GraphError(
            f"the term {str(term)!r} of {spec.child!r} is certain, and that {doubted[0]!r} acts on {spec.child!r} is "
            f"not (probability {spec.causes[doubted[0]]:g}); make the edge certain, or give the term a probability "
            "below 1"
        )


def _check_finite(columns: Sequence[Column], rows: RowValues) -> None:
    for column in columns:
        with np.errstate(all="ignore"):
            values = column.values(rows)
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            shown = ", ".join(f"{name} = {rows.values[name][place]:g}" for name in column.variables)
            raise DataError(f"the term {column.name!r} is not a finite number where {shown}; leave it out or shift it")
