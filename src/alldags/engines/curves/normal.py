"""Structures of a normal child, by moments of its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alldags.columns.base import RowValues
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.parts import NormalPart
from alldags.engines.curves.posterior import NEGLIGIBLE, Averaged, Made, all_columns
from alldags.engines.curves.spec import CurvedSpec
from alldags.engines.curves.structures import (
    Structure,
    StructureFit,
    fit_structure,
    glance_structure,
    revisit_structure,
)
from alldags.engines.curves.wanted import changes_of, wanted_structures
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_HOPELESS = 4.6  # nats below the best evidence, from which a structure is left out
_PLAINLY = 30.0  # likewise, in short runs


def fit_normal(
    spec: CurvedSpec,
    made: Made,
    sample: RowValues,
    scale: float,
    rng: np.random.Generator,
    like: Averaged | None = None,
) -> Averaged:
    """Fit and weigh the structures of a normal child, by moments; `scale`: user's units of it per working unit."""
    moments = made.moments
    chosen = [item.varying(moments) for item in wanted_structures(spec, made.candidates)]
    columns = all_columns(made.base)
    asked = changes_of(spec, columns, sample)
    matrices = [item.spread(len(columns)) for item in chosen]
    questions, streams = [asked @ matrix for matrix in matrices], rng.spawn(len(chosen))
    if like is not None and _can_be_revisited(chosen, like):
        fits = _revisited(chosen, moments, spec.prior, questions, streams, like)
        logs, error = _log_evidences(fits, [weight > NEGLIGIBLE for weight in like.weights])
    else:
        fits = _fitted(chosen, moments, spec.prior, questions, streams)
        logs, error = _log_evidences(fits, _alive(fits, _HOPELESS))
    total, unit = float(np.logaddexp.reduce(logs)), float(made.raw.scale[-1]) / scale
    parts = tuple(NormalPart(fit, matrix, unit) for fit, matrix in zip(fits, matrices, strict=True))
    return Averaged(spec, made, parts, np.exp(logs - total), total, error)


def _can_be_revisited(chosen: Sequence[Structure], like: Averaged) -> bool:
    """Tell whether the structures have the columns that those of another table have."""
    pairs = zip(chosen, like.parts, strict=True)
    return all(
        isinstance(part, NormalPart) and np.array_equal(part.fit.structure.places, one.places) for one, part in pairs
    )


def _revisited(
    chosen: Sequence[Structure],
    moments: ArmMoments,
    prior: Prior,
    asked: Sequence[FloatArray],
    streams: Sequence[np.random.Generator],
    like: Averaged,
) -> tuple[StructureFit, ...]:
    """Fit structures by what was found in another table; those that carried no weight there are left at that."""
    others = [part.fit for part in like.parts if isinstance(part, NormalPart)]
    return tuple(
        revisit_structure(item, moments, prior, question, stream, other) if weight > NEGLIGIBLE else other
        for item, question, stream, other, weight in zip(chosen, asked, streams, others, like.weights, strict=True)
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


def _alive(fits: Sequence[StructureFit], most: float) -> list[bool]:
    """Tell which structures' evidences may be within so many nats of the best."""
    limits = [fit.evidence_limits for fit in fits]
    best = max(low for low, _ in limits)
    return [high >= best - most for _, high in limits]


def _log_evidences(fits: Sequence[StructureFit], alive: Sequence[bool]) -> tuple[FloatArray, float]:
    """Return the log evidence of each structure with its prior weight, and the largest Monte-Carlo error of one."""
    pairs = list(zip(fits, alive, strict=True))
    own = [fit.log_evidence + math.log(fit.structure.weight) if live else -math.inf for fit, live in pairs]
    if sum(alive) == 1:
        return np.array(own), 0.0
    errors = [getattr(fit.node, "log_evidence_error", 0.0) for fit, live in pairs if live]
    return np.array(own), max(errors)
