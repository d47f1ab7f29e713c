"""The link for derived columns: a bend that drives the treatment, or what lies between, may act on the child, too.

Lines are linked as in straight regressions (`alldags.models.link`). A bend is judged beside all lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from alldags.columns.base import Column
from alldags.columns.bends import Bend
from alldags.columns.learned import Grown
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.columns.products import OnArm
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.sampling.asked import Run, sample_asked
from alldags.nodes import NodeProblem
from alldags.priors.link import link_prior
from alldags.typing import FloatArray, IntArray

_LINK_RUN = Run(warm_up=60, sweeps=200, most=200)
_RIDGE = 1e-6  # per row, of the lines that bends are judged beside


def raised_by_link(
    spec: CurvedSpec, candidates: Candidates, moments: ArmMoments, rng: np.random.Generator
) -> FloatArray:
    """Return how probable it is that each further column drives the treatment or what lies between, shape (K,)."""
    raised = np.zeros(len(candidates.columns))
    bends, lines = _before(spec, candidates, _bends), _before(spec, candidates, _is_itself)
    sources = _sources(spec, candidates, moments)
    if spec.prior.link == 0.0 or bends.size == 0 or not sources:
        return raised
    spared = np.ones(len(bends))
    for cross, total in sources:
        left = _beside(lines, bends, moments, cross, total)
        spared *= 1.0 - spec.prior.link * _inclusion(spec, *left, moments, rng)
    raised[bends] = 1.0 - spared
    return raised


def _before(spec: CurvedSpec, candidates: Candidates, kind: Callable[[Column], bool]) -> IntArray:
    """Return the columns of one kind that the treatment cannot act on."""
    return np.flatnonzero(
        [
            kind(column) and column.variables[0] not in spec.after and column.variables[0] != spec.treatment
            for column in candidates.columns
        ]
    )


def _bends(column: Column) -> bool:
    """Tell whether a column is a bend, or what trees see in the treatment."""
    return isinstance(column, Bend) or (isinstance(column, Grown) and column.drives)


def _is_itself(column: Column) -> bool:
    return isinstance(column, Line | Level)


def _sources(spec: CurvedSpec, candidates: Candidates, moments: ArmMoments) -> list[tuple[FloatArray, float]]:
    """Return cross-products with all columns, shape (K,), and the sum of squares of the treatment and what it moves."""
    _, scatter = moments.pooled
    return [
        (scatter[:-1, place], float(scatter[place, place]))
        for place, column in enumerate(candidates.columns)
        if isinstance(column, Line | OnArm) and (column.name == spec.treatment or column.name in spec.after)
    ]


def _beside(
    lines: IntArray, bends: IntArray, moments: ArmMoments, cross: FloatArray, total: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return gram, cross-products and sum of squares of bends and a source with what lines explain taken out."""
    _, scatter = moments.pooled
    gram, own, left = scatter[np.ix_(bends, bends)], cross[bends], total
    if lines.size:
        beside = scatter[np.ix_(lines, lines)] + _RIDGE * moments.rows.sum() * np.eye(len(lines))
        across = scatter[np.ix_(lines, bends)]
        slopes = np.linalg.solve(beside, np.column_stack([across, cross[lines]]))
        gram, own = gram - across.T @ slopes[:, :-1], own - across.T @ slopes[:, -1]
        left = total - float(cross[lines] @ slopes[:, -1])
    sd = np.sqrt(np.maximum(np.diag(gram), 1e-12) / moments.rows.sum())
    return gram / np.outer(sd, sd), own / sd, max(left, 1e-12 * total)


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
