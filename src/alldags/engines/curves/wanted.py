"""Which structures of effect modification are averaged over, and how the treatment's edge is divided between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from alldags.columns.base import Columns, RowValues
from alldags.engines.curves.spec import ITSELF, Candidates, CurvedSpec
from alldags.engines.curves.structures import Structure, structure
from alldags.graph.terms import Terms
from alldags.typing import BoolArray, FloatArray


def wanted_structures(spec: CurvedSpec, found: Candidates) -> list[Structure]:
    """Return the structures of effect modification that are wanted, with the treatment's edge divided between them."""
    chosen = _structures(spec, found)
    if spec.present is not None:
        return _present(spec, found, chosen)
    if spec.mover is None:
        return chosen
    place = next(i for i, column in enumerate(found.columns) if column.name == spec.mover)
    edges = zip(chosen, divided(chosen, spec.causes[spec.mover]), strict=True)
    return [
        replace(one, probability=np.where(one.places == place, p, one.probability), weight=weight)
        for one, (p, weight) in edges
    ]


def _present(spec: CurvedSpec, found: Candidates, chosen: Sequence[Structure]) -> list[Structure]:
    """Return the structures where it is known which of treatment and mediators are there: products are, then."""
    assert spec.present is not None
    absent = {str(spec.treatment), *spec.mediators} - spec.present
    out = np.array([not absent.isdisjoint(column.variables) for column in found.columns], dtype=bool)
    sure = found.products | np.array(
        [isinstance(column, ITSELF) and column.variables[0] in spec.present for column in found.columns], dtype=bool
    )
    if spec.treatment in absent:
        chosen = chosen[:1]
    return [_restricted(one, ~out, sure, without=spec.treatment in absent) for one in chosen]


def _restricted(one: Structure, kept: BoolArray, sure: BoolArray, *, without: bool) -> Structure:
    """Return a structure with some columns only, of which some are sure; `without` treatment, none again under it."""
    again = ~one.active[0] if len(one.active) == 2 else np.zeros(len(one.places), dtype=bool)
    probability = np.where(sure[one.places], 1.0, one.probability)
    inside = replace(one, probability=probability, active=one.active | (without & ~again))
    return inside.taken(kept[one.places] & ~(again & without))


def _structures(spec: CurvedSpec, found: Candidates) -> list[Structure]:
    wanted = spec.terms.modification if isinstance(spec.terms, Terms) else "none"
    if found.is_armed:
        names = ("common", "shared", "arms") if wanted == "average" else (wanted.replace("none", "common"),)
        return [structure(name, found, 2) for name in names]
    whole = structure("common", found, 1)
    if not found.modifying.any():
        return [whole]
    shared = replace(whole, name="shared")
    return [whole.taken(~found.modifying), shared] if wanted == "average" else [shared]


class EdgeShare(NamedTuple):
    """Probability of the treatment's own column in a structure, and prior weight of the structure."""

    probability: float
    weight: float


def divided(chosen: Sequence[Structure], stated: float) -> list[EdgeShare]:
    """Divide the stated probability of the treatment's edge: structures are equally probable where it is a cause.

    The common one holds all of "no cause", so that edges have their stated probability in the average.
    """
    if len(chosen) == 1 or stated >= 1.0:
        return [EdgeShare(stated, 1.0 / len(chosen))] * len(chosen)
    share = stated / len(chosen)
    common = EdgeShare(share / (share + 1.0 - stated), share + 1.0 - stated)
    return [common if one.name == "common" else EdgeShare(1.0, share) for one in chosen]


def changes_of(spec: CurvedSpec, columns: Columns, sample: RowValues) -> FloatArray:
    """Return what moving the treatment, and what it acts on, does to all columns on average, shape (movers, columns).

    It is what chains have to agree on.
    """
    numbers = spec.numbers(spec.causes)
    movers = [name for name in numbers if name == spec.treatment or name in spec.after] or numbers
    return np.array([_change(name, columns, sample) for name in movers] or [np.ones(len(columns)) / columns.scale])


def _change(name: str, columns: Columns, sample: RowValues) -> FloatArray:
    """Return the mean change of columns between two values of a variable, or for one standard deviation, (columns,)."""
    values = sample.values[name]
    low, high = float(values.min()), float(values.max())
    two = bool(((values == low) | (values == high)).all())
    ends = (np.full_like(values, low), np.full_like(values, high)) if two else (values, values + values.std())
    return np.asarray(columns.changes(sample, name, *ends).mean(axis=0))
