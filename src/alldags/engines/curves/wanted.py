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
from alldags.typing import FloatArray


def wanted_structures(spec: CurvedSpec, found: Candidates) -> list[Structure]:
    """Return the structures of effect modification that are wanted, with the treatment's edge divided between them."""
    chosen = _structures(spec, found)
    if spec.mediators:
        return _with_products(spec, found, chosen)
    if spec.mover is None:
        return chosen
    place = next(i for i, column in enumerate(found.columns) if column.name == spec.mover)
    edges = zip(chosen, divided(chosen, spec.causes[spec.mover]), strict=True)
    return [
        replace(one, probability=np.where(one.places == place, p, one.probability), weight=weight)
        for one, (p, weight) in edges
    ]


def _with_products(spec: CurvedSpec, found: Candidates, chosen: Sequence[Structure]) -> list[Structure]:
    """Return structures in which the treatment is a cause, and one in which nothing of it is, products among it.

    A product is there whenever treatment and mediator are, so that whether the treatment is has to be known first.
    """
    stated = spec.causes[str(spec.treatment)]
    moved = np.array([spec.treatment in column.variables for column in found.columns], dtype=bool)
    own = moved & np.array([isinstance(column, ITSELF) for column in found.columns], dtype=bool)
    there = [
        replace(one, probability=np.where(own[one.places], 1.0, one.probability), weight=stated / len(chosen))
        for one in chosen
    ]
    if stated >= 1.0:
        return there
    plain = structure("common", found, 2 if found.is_armed else 1)
    absent = plain.taken(~moved[plain.places] & plain.active[0])
    return [replace(absent, name="none", weight=1.0 - stated), *there]


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
