"""From rows and what is wanted to a `CurvedPosterior`: columns, structures, their posteriors and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from alldags.columns.base import Column, Columns, RowValues, matrix_of
from alldags.columns.learned import Along
from alldags.columns.line import Line
from alldags.columns.products import Times
from alldags.columns.rows import Rows
from alldags.data.look import look_at_values
from alldags.engines.curves.drives import raised_by_link
from alldags.engines.curves.make import base_columns, bends_of, given_columns
from alldags.engines.curves.moments import ArmMoments, arm_moments
from alldags.engines.curves.no_effect import probability_no_effect
from alldags.engines.curves.posterior import NEGLIGIBLE, Averaged, CurvedPosterior, CurvedSpec
from alldags.engines.curves.structures import Structure, StructureFit, fit_structure, glance_structure, structure
from alldags.errors import DataError
from alldags.graph.terms import Terms
from alldags.nodes.spec import NodeSpec
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_HOPELESS = 4.6  # nats below the best evidence, from which a structure is left out
_PLAINLY = 30.0  # likewise, in short runs
_LINKED = 0.5  # weight of the answer with the link, beside the one without: outcomes cannot tell which is right
_CONSTANT = 1e-12  # variance within arms, of that in all, below which there is none
_LEAST_ROWS = 20  # in each arm, for arms of their own


def fit_curves(spec: NodeSpec, rng: np.random.Generator) -> CurvedPosterior:
    """Return the posterior of a child whose regression may bend."""
    assert spec.wanted is not None
    seed = tuple(int(x) for x in rng.integers(2**31, size=2))
    causes = dict(zip(spec.terms.names, spec.terms.probability, strict=True))
    made = CurvedSpec(
        spec.child, spec.wanted, causes, spec.about.treatment, spec.about.after, Rows(spec.table, seed), spec.prior
    )
    return CurvedPosterior(fit_structures(made, rng), spec.problem(), spec.data.scale_of(spec.child))


def fit_structures(spec: CurvedSpec, rng: np.random.Generator) -> Averaged:
    """Make columns from rows, and fit and weigh the structures."""
    sample = spec.rows.sample()
    arms = _arms(spec, sample)
    columns, raw = _made(spec, arms, sample)
    moments = raw.standardised()
    _check_varies(spec, moments)
    raised = raised_by_link(spec, columns, arms, moments, rng)
    chosen = [item.varying(moments) for item in _structures(spec, columns, len(moments.rows), raised)]
    changes = _changes(spec, columns, raw, sample) if len(moments.rows) == 1 else []
    asked = [_asked(item, moments, changes) for item in chosen]
    streams = rng.spawn(len(chosen))
    plain = _fitted([item.unlinked() for item in chosen], moments, spec.prior, asked, streams)
    shares, error = _weighed(plain)
    moved = [bool(item.raised.any() and share > NEGLIGIBLE) for item, share in zip(chosen, shares, strict=True)]
    linked = tuple(
        fit_structure(replace(item, share=fit.learned_share), moments, spec.prior, question, stream, fit)
        for item, question, stream, move, fit in zip(chosen, asked, streams, moved, plain, strict=True)
        if move
    )
    weights = np.concatenate([shares * (1.0 - _LINKED * np.array(moved)), _LINKED * shares[moved]])
    base = Columns(columns, raw.pooled[0][:-1], raw.scale[:-1])
    found = Averaged(spec, arms, base, raw, (*plain, *linked), weights, plain, shares, evidence_error=error)
    return found if arms is None else replace(found, no_effect=probability_no_effect(found))


def _check_varies(spec: CurvedSpec, moments: ArmMoments) -> None:
    """Refuse a child of which nothing is left once its arms have their means."""
    if float(moments.scatter[:, -1, -1].sum()) <= _CONSTANT * float(moments.rows.sum()):
        raise DataError(
            f"{spec.child!r} has one value for each value of {spec.treatment!r}: it follows from it alone, and no "
            f"curve could show; leave {spec.child!r} out of terms"
        )


def _fitted(
    chosen: Sequence[Structure],
    moments: ArmMoments,
    prior: Prior,
    asked: Sequence[FloatArray],
    streams: Sequence[np.random.Generator],
) -> tuple[StructureFit, ...]:
    """Fit structures; those that a short run finds hopeless are left at that."""
    parts = list(zip(chosen, asked, streams, strict=True))
    glances = [glance_structure(item, moments, prior, question, stream) for item, question, stream in parts]
    return tuple(
        fit_structure(item, moments, prior, question, stream, glance) if alive else glance
        for (item, question, stream), glance, alive in zip(parts, glances, _alive(glances, _PLAINLY), strict=True)
    )


def _made(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues) -> tuple[tuple[Column, ...], ArmMoments]:
    """Return the columns that vary and are no copies, and their moments: one more pass over the rows."""
    made = _columns(spec, arms, sample)
    treatment = None if arms is None else spec.treatment
    raw = arm_moments(made, spec.child, treatment, np.array([]) if arms is None else arms, spec.rows.batches())
    kept = raw.distinct()
    return tuple(made[place] for place in kept), raw.chosen(kept)


def _arms(spec: CurvedSpec, sample: RowValues) -> FloatArray | None:
    """Return the two values of the treatment if its arms have intercepts of their own."""
    if spec.treatment is None or spec.treatment not in spec.causes or not isinstance(spec.terms, Terms):
        return None
    values = sample.values[spec.treatment]
    levels = look_at_values(values).two_values
    if levels is None:
        return None
    counts = np.array([(values == level).sum() for level in levels])
    if counts.min() < _LEAST_ROWS:
        raise DataError(
            f"only {int(counts.min())} rows have {spec.treatment} = {levels[np.argmin(counts)]:g}: too few for curves, "
            f"at least {_LEAST_ROWS} are needed; leave {spec.child!r} out of terms"
        )
    return np.asarray(levels)


def _columns(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues) -> tuple[Column, ...]:
    if not isinstance(spec.terms, Terms):
        return given_columns(spec.terms, tuple(spec.causes), sample)
    causes = tuple(name for name in spec.causes if name != spec.treatment)
    before = tuple(name for name in causes if name not in spec.after)
    treatment = None if arms is None else spec.treatment
    base = base_columns(spec.terms, causes, spec.child, treatment, before, sample) if causes else ()
    if arms is not None or spec.treatment is None or spec.treatment not in spec.causes:
        return base
    values = sample.values[spec.treatment]
    own: tuple[Column, ...] = (Line(spec.treatment), *bends_of(spec.treatment, values, spec.terms.curves))
    if spec.terms.modification == "none":
        return (*base, *own)
    center = float(values.mean())
    return (*base, *own, *(Times(column, spec.treatment, center) for column in base))


def _structures(spec: CurvedSpec, columns: Sequence[Column], arms: int, raised: FloatArray) -> list[Structure]:
    probability = np.array([_probability(spec, column) for column in columns])
    if arms == 2:
        assert isinstance(spec.terms, Terms)
        wanted = spec.terms.modification
        names = ("common", "shared", "arms") if wanted == "average" else (wanted.replace("none", "common"),)
        return [structure(name, probability, raised, 2) for name in names]
    whole = replace(structure("common", probability, raised, 1), counted=bool(spec.terms))
    varying = np.array([isinstance(column, Times) for column in columns], dtype=bool)
    if not varying.any():
        return [whole]
    places = np.flatnonzero(~varying)
    common = Structure("common", places, whole.active[:, places], probability[places], raised[places])
    shared = replace(whole, name="shared")
    assert isinstance(spec.terms, Terms)
    return [common, shared] if spec.terms.modification == "average" else [shared]


def _probability(spec: CurvedSpec, column: Column) -> float:
    """Return the stated probability of a term: a line's is its edge's, any other's that of its least probable cause.

    Where a cause is certain its line is; whether it is bent is open.
    """
    stated = [spec.causes[name] for name in column.variables if name in spec.causes]
    if isinstance(column, Line):
        return stated[0]
    return 0.5 if isinstance(column, Along) else min((p for p in stated if p < 1.0), default=0.5)


def _changes(spec: CurvedSpec, columns: tuple[Column, ...], raw: ArmMoments, sample: RowValues) -> list[FloatArray]:
    """Return what raising each mover by its standard deviation does to all columns on average, shape (K,) each."""
    movers = [name for name in spec.causes if name == spec.treatment or name in spec.after] or list(spec.causes)
    own = matrix_of(columns, sample)
    found = []
    for name in movers:
        values = sample.values[name]
        moved = sample.put({name: values + max(float(values.std()), 1e-12)})
        found.append((matrix_of(columns, moved) - own).mean(axis=0) / raw.scale[:-1])
    return found


def _asked(chosen: Structure, moments: ArmMoments, changes: Sequence[FloatArray]) -> FloatArray:
    """Return the weights of what chains have to agree on, shape (questions, k)."""
    if len(moments.rows) == 2:
        return (chosen.at(0, moments.mean[0, :-1]) - chosen.at(1, moments.mean[1, :-1]))[None]
    return np.array([chosen.at(0, change) for change in changes])


def _alive(fits: Sequence[StructureFit], most: float) -> list[bool]:
    """Tell which structures' evidences may be within so many nats of the best."""
    limits = [fit.evidence_limits for fit in fits]
    best = max(low for low, _ in limits)
    return [high >= best - most for _, high in limits]


def _weighed(fits: Sequence[StructureFit]) -> tuple[FloatArray, float]:
    """Return the posterior weights of structures that are equally probable a priori, and the error of an evidence."""
    alive = _alive(fits, _HOPELESS)
    if sum(alive) == 1:
        return np.array(alive, dtype=float), 0.0
    values = np.array([fit.log_evidence if live else -np.inf for fit, live in zip(fits, alive, strict=True)])
    errors = [getattr(fit.node, "log_evidence_error", 0.0) for fit, live in zip(fits, alive, strict=True) if live]
    weights = np.exp(values - values.max())
    return weights / weights.sum(), max(errors)
