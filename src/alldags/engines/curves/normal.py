"""Structures of a normal child, by moments of its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from alldags.columns.base import RowValues, matrix_of
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.no_effect import compare_arms
from alldags.engines.curves.parts import NormalPart, arm_matrix
from alldags.engines.curves.posterior import Averaged
from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.curves.structures import Structure, StructureFit, fit_structure, glance_structure
from alldags.engines.curves.wanted import divided, wanted_structures
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_HOPELESS = 4.6  # nats below the best evidence, from which a structure is left out
_PLAINLY = 30.0  # likewise, in short runs


def fit_normal(
    spec: CurvedSpec,
    arms: FloatArray | None,
    candidates: Candidates,
    raw: ArmMoments,
    sample: RowValues,
    scale: float,
    rng: np.random.Generator,
) -> Averaged:
    """Fit and weigh the structures of a normal child, by moments; `scale`: user's units of it per working unit."""
    moments = raw.standardised()
    chosen = [item.varying(moments) for item in wanted_structures(spec, candidates, len(moments.rows))]
    if arms is None and spec.mover is not None:
        chosen = with_edge(chosen, spec.mover, candidates, spec.causes[spec.mover])
    changes = changes_of(spec, candidates, raw, sample) if arms is None else []
    asked = [_asked(item, moments, changes) for item in chosen]
    fits = _fitted(chosen, moments, spec.prior, asked, rng.spawn(len(chosen)))
    logs, error = _log_evidences(fits)
    weights = np.exp(logs - logs.max())
    total = float(np.logaddexp.reduce(logs))
    no_effect = 0.0
    if arms is not None and spec.treatment is not None:
        no_effect, total = compare_arms(fits, logs, spec.causes[spec.treatment])
    columns = len(candidates.columns) if arms is None else 2 * len(candidates.columns) + 1
    unit = float(raw.scale[-1]) / scale
    parts = tuple(NormalPart(fit, arm_matrix(fit, columns), unit) for fit in fits)
    return Averaged(spec, arms, candidates, raw, parts, weights / weights.sum(), total, no_effect, error)


def with_edge(chosen: Sequence[Structure], mover: str, found: Candidates, stated: float) -> list[Structure]:
    """Return structures with the probability that the treatment's line has in each."""
    place = next(i for i, column in enumerate(found.columns) if column.name == mover)
    return [
        replace(
            item, probability=np.where(item.places == place, edge.probability, item.probability), weight=edge.weight
        )
        for item, edge in zip(chosen, divided(chosen, stated), strict=True)
    ]


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


def changes_of(spec: CurvedSpec, candidates: Candidates, raw: ArmMoments, sample: RowValues) -> list[FloatArray]:
    """Return what raising each mover by its standard deviation does to all columns on average, shape (K,) each."""
    numbers = spec.numbers(spec.causes)
    movers = [name for name in numbers if name == spec.treatment or name in spec.after] or numbers
    own = matrix_of(candidates.columns, sample)
    found = [] if movers else [np.ones(own.shape[1])]
    for name in movers:
        values = sample.values[name]
        moved = sample.put({name: values + max(float(values.std()), 1e-12)})
        found.append((matrix_of(candidates.columns, moved) - own).mean(axis=0) / raw.scale[:-1])
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


def _log_evidences(fits: Sequence[StructureFit]) -> tuple[FloatArray, float]:
    """Return the log evidence of each structure with its prior weight, and the largest Monte-Carlo error of one."""
    alive = _alive(fits, _HOPELESS)
    pairs = list(zip(fits, alive, strict=True))
    own = [fit.log_evidence + math.log(fit.structure.weight) if live else -math.inf for fit, live in pairs]
    if sum(alive) == 1:
        return np.array(own), 0.0
    errors = [getattr(fit.node, "log_evidence_error", 0.0) for fit, live in pairs if live]
    return np.array(own), max(errors)
