"""The link for derived columns: what drives the treatment, or what lies between, may act on the child, too."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.columns.base import Column
from alldags.columns.bends import Bend
from alldags.columns.line import Line
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.posterior import CurvedSpec
from alldags.engines.sampling.asked import Run, sample_asked
from alldags.nodes import NodeProblem
from alldags.priors.link import link_prior
from alldags.typing import FloatArray

_LINK_RUN = Run(warm_up=60, sweeps=200, most=200)


def raised_by_link(
    spec: CurvedSpec,
    columns: tuple[Column, ...],
    arms: FloatArray | None,
    moments: ArmMoments,
    rng: np.random.Generator,
) -> FloatArray:
    """Return what is added to each base column's probability because it drives the treatment or what lies between.

    Lines and bends of causes before the treatment are looked at, in a regression of each source on them all.
    """
    raised = np.zeros(len(columns))
    eligible = [
        isinstance(column, Line | Bend)
        and column.variables[0] not in spec.after
        and column.variables[0] != spec.treatment
        for column in columns
    ]
    places = np.flatnonzero(eligible)
    sources = _sources(spec, columns, arms, moments)
    if spec.prior.link == 0.0 or places.size == 0 or not sources:
        return raised
    _, scatter = moments.pooled
    spared = np.ones(len(places))
    for cross, total in sources:
        inclusion = _inclusion(spec, scatter[np.ix_(places, places)], cross[places], total, moments, rng)
        spared *= 1.0 - spec.prior.link * inclusion
    raised[places] = 1.0 - spared
    return raised


def _sources(
    spec: CurvedSpec, columns: tuple[Column, ...], arms: FloatArray | None, moments: ArmMoments
) -> list[tuple[FloatArray, float]]:
    """Return cross-products with all columns, shape (K,), and the sum of squares of the treatment and what it moves."""
    _, scatter = moments.pooled
    found = []
    if arms is not None:
        share = float(moments.rows.prod() / moments.rows.sum())
        found.append((share * (moments.mean[1, :-1] - moments.mean[0, :-1]), share))
    for place, column in enumerate(columns):
        name = column.variables[0]
        if isinstance(column, Line) and (name in spec.after or (name == spec.treatment and arms is None)):
            found.append((scatter[:-1, place], float(scatter[place, place])))
    return found


def _inclusion(
    spec: CurvedSpec, gram: FloatArray, cross: FloatArray, total: float, moments: ArmMoments, rng: np.random.Generator
) -> FloatArray:
    prior = link_prior(spec.prior)
    k = len(cross)
    stated, log_size = prior.edges_of(np.full(k, 0.5), "")
    rows = float(moments.rows.sum())
    unit = math.sqrt(total / rows)
    problem = NodeProblem(
        child="", terms=tuple(map(str, range(k))), gram=np.ascontiguousarray(gram), cross=cross / unit,
        total=total / unit**2, n=rows - 1.0, probability=stated, settings=(), log_size=log_size, rows=rows,
    )  # fmt: skip
    problem = replace(problem, settings=prior.settings_of(problem))
    return sample_asked(problem, np.zeros((1, k)), 1.0, rng.spawn(1)[0], _LINK_RUN).inclusion
