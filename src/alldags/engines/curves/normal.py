"""Structures of a normal child, by moments of its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alldags.columns.base import Columns, RowValues
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.parts import NormalPart
from alldags.engines.curves.posterior import Averaged, all_columns
from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.curves.structures import Structure, StructureFit, fit_structure, glance_structure
from alldags.engines.curves.wanted import changes_of, wanted_structures
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
    chosen = [item.varying(moments) for item in wanted_structures(spec, candidates)]
    base = Columns(candidates.columns, raw.pooled[0][:-1], raw.scale[:-1])
    columns = all_columns(base)
    asked = changes_of(spec, columns, sample)
    matrices = [item.spread(len(columns)) for item in chosen]
    fits = _fitted(chosen, moments, spec.prior, [asked @ matrix for matrix in matrices], rng.spawn(len(chosen)))
    logs, error = _log_evidences(fits)
    total, unit = float(np.logaddexp.reduce(logs)), float(raw.scale[-1]) / scale
    parts = tuple(NormalPart(fit, matrix, unit) for fit, matrix in zip(fits, matrices, strict=True))
    return Averaged(spec, arms, base, raw, parts, np.exp(logs - total), total, error)


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
