"""Plain least squares beside the average: the regression a reader would have run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildData, WorkingData

_SPARE_ROWS = 10  # rows beyond columns, below which least squares says too little to be compared with
_SINGULAR = 1e-10  # share of a column that the others must leave unexplained


@dataclass(frozen=True, slots=True)
class Regression:
    """Least squares of the outcome on the treatment and covariates, in the user's units.

    Parameters
    ----------
    estimate, error
        Coefficient of the treatment and its standard error.
    low, high
        Its 95% confidence interval.
    covariates
        What was adjusted for.
    """

    estimate: float
    error: float
    low: float
    high: float
    covariates: tuple[str, ...]


def adjustment_set(graphs: Sequence[CandidateGraph], treatment: str, outcome: str) -> tuple[str, ...]:
    """Return every candidate parent of treatment, outcome and what lies between that the treatment cannot act on."""
    after = {treatment, outcome}.union(*(graph.descendants(treatment) for graph in graphs))
    found: dict[str, None] = {}
    for graph in graphs:
        between = graph.descendants(treatment) & graph.ancestors(outcome)
        for child in (treatment, *between, outcome):
            found.update(dict.fromkeys(name for name in graph.parents(child) if name not in after))
    return tuple(name for name in graphs[0].variables if name in found)


def least_squares(data: WorkingData, treatment: str, outcome: str, covariates: Sequence[str]) -> Regression | None:
    """Return the regression; None where rows are too few or columns depend on each other.

    Parameters
    ----------
    data
        Moments of all rows.
    treatment, outcome
        Names.
    covariates
        What to adjust for.
    """
    pooled = data.pooled
    columns = [pooled.index[name] for name in (treatment, *covariates)]
    freedom = pooled.n - len(columns)
    if pooled.rows < len(columns) + _SPARE_ROWS or _is_singular(pooled, columns):
        return None
    return _regression(data, treatment, outcome, tuple(covariates), columns, freedom)


def _is_singular(pooled: ChildData, columns: Sequence[int]) -> bool:
    gram = pooled.scatter[np.ix_(columns, columns)]
    scale = np.sqrt(np.diag(gram))
    return float(np.linalg.eigvalsh(gram / np.outer(scale, scale)).min()) < _SINGULAR


def _regression(
    data: WorkingData, treatment: str, outcome: str, covariates: tuple[str, ...], columns: list[int], freedom: float
) -> Regression:
    from scipy.stats import t as student

    pooled, y = data.pooled, data.pooled.index[outcome]
    inverse = np.linalg.inv(pooled.scatter[np.ix_(columns, columns)])
    cross = pooled.scatter[columns, y]
    residual = max(float(pooled.scatter[y, y] - cross @ inverse @ cross), 0.0)
    unit = data.unit(treatment, outcome)
    estimate = float(unit * (inverse[0] @ cross))
    error = float(abs(unit) * np.sqrt(inverse[0, 0] * residual / freedom))
    half = float(student.ppf(0.975, freedom)) * error
    return Regression(estimate, error, estimate - half, estimate + half, covariates)
