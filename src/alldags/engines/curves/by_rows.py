"""Structures of a child that is not normal, by its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alldags.columns.base import Columns, Combined, RowValues, matrix_of
from alldags.engines.curves.asked import AskedEngine
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.normal import with_edge
from alldags.engines.curves.parts import FamilyPart
from alldags.engines.curves.posterior import Averaged, all_columns
from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.curves.structures import Structure
from alldags.engines.curves.wanted import divided, wanted_structures
from alldags.engines.weighted.fit import fit_rows
from alldags.nodes.build import NodeTerms
from alldags.nodes.rows import NodeRows
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Design:
    """A structure as a regression on rows.

    Parameters
    ----------
    name
        Of the structure.
    terms
        Its columns, k of them, with their prior.
    matrix
        From its coefficients to those of all columns, shape (columns, k).
    weight
        Its prior probability.
    """

    name: str
    terms: NodeTerms
    matrix: FloatArray
    weight: float


def fit_by_rows(
    spec: CurvedSpec,
    arms: FloatArray | None,
    candidates: Candidates,
    raw: ArmMoments,
    sample: RowValues,
    rows: NodeRows,
    rng: np.random.Generator,
) -> Averaged:
    """Fit and weigh the structures; `rows` are the child's, with any columns."""
    base = Columns(candidates.columns, raw.pooled[0][:-1], raw.scale[:-1])
    columns = all_columns(spec, arms, base, raw)
    designs = _designs(spec, candidates, arms, len(columns))
    change = _change(spec, columns, sample)
    parts, logs = [], []
    for design, stream in zip(designs, rng.spawn(len(designs)), strict=True):
        own = replace(rows, columns=Combined(columns, design.matrix))
        found = fit_rows(own, design.terms, spec.prior, AskedEngine(change @ design.matrix), stream, samples=False)
        parts.append(FamilyPart(design.name, found, design.matrix))
        logs.append(float(found.log_evidence or 0.0) + np.log(design.weight))
    total = float(np.logaddexp.reduce(logs))
    return Averaged(spec, arms, candidates, raw, tuple(parts), np.exp(np.array(logs) - total), total)


def _designs(spec: CurvedSpec, candidates: Candidates, arms: FloatArray | None, columns: int) -> list[Design]:
    chosen = wanted_structures(spec, candidates, 1 if arms is None else 2)
    mover = spec.mover
    if arms is None:
        if mover is not None:
            chosen = with_edge(chosen, mover, candidates, spec.causes[mover])
        return [Design(one.name, one.terms(spec.child), one.spread(columns), one.weight) for one in chosen]
    assert mover is not None
    return [
        Design(one.name, _with_arm(one, spec, edge.probability), _beside_arm(one, columns), edge.weight)
        for one, edge in zip(chosen, divided(chosen, spec.causes[mover]), strict=True)
    ]


def _with_arm(item: Structure, spec: CurvedSpec, probability: float) -> NodeTerms:
    """Return the terms of a structure with the treatment itself before them."""
    terms = item.terms(spec.child)
    return replace(
        terms,
        names=("arm", *terms.names),
        probability=(probability, *terms.probability),
        raised=None if terms.raised is None else (0.0, *terms.raised),
        groups=None if terms.groups is None else (0, *(number + 1 for number in terms.groups)),
        further=None if terms.further is None else (False, *terms.further),
    )


def _beside_arm(item: Structure, columns: int) -> FloatArray:
    """Return the matrix of a structure with the treatment itself as its first column."""
    spread = item.spread(columns - 1)
    out = np.zeros((columns, spread.shape[1] + 1))
    out[0, 0] = 1.0
    out[1:, 1:] = spread
    return out


def _change(spec: CurvedSpec, columns: Columns, sample: RowValues) -> FloatArray:
    """Return what moving each mover does to all columns on average, shape (movers, columns)."""
    numbers = spec.numbers(spec.causes)
    movers = [name for name in numbers if name == spec.treatment or name in spec.after] or numbers
    own = matrix_of(columns.made, sample)
    found = [_moved(name, sample, columns) - own for name in movers] or [own]
    return np.array([change.mean(axis=0) / columns.scale for change in found])


def _moved(name: str, sample: RowValues, columns: Columns) -> FloatArray:
    """Return the columns with a variable raised by its standard deviation; of two values, at the larger."""
    values = sample.values[name]
    low, high = float(values.min()), float(values.max())
    two = bool(((values == low) | (values == high)).all())
    return matrix_of(
        columns.made, sample.put({name: np.full_like(values, high) if two else values + float(values.std())})
    )
