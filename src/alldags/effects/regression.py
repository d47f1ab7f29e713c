"""Plain least squares beside the average: the regression a reader would have run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildData, WorkingData
from alldags.typing import FloatArray

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

    def widened(self, factor: float) -> Regression:
        """Return it with an error and an interval so many times as wide."""
        low, high = (self.estimate + factor * (end - self.estimate) for end in (self.low, self.high))
        return Regression(self.estimate, factor * self.error, low, high, self.covariates)


def adjustment_set(graphs: Sequence[CandidateGraph], treatment: str, outcome: str) -> tuple[str, ...]:
    """Return every candidate parent of treatment, outcome and what lies between that the treatment cannot act on."""
    after = {treatment, outcome}.union(*(graph.descendants(treatment) for graph in graphs))
    found: dict[str, None] = {}
    for graph in graphs:
        between = graph.descendants(treatment) & graph.ancestors(outcome)
        for child in (treatment, *between, outcome):
            found.update(dict.fromkeys(name for name in graph.parents(child) if name not in after))
    return tuple(name for name in graphs[0].variables if name in found)


def on_either_side(graphs: Sequence[CandidateGraph], treatment: str) -> tuple[str, ...]:
    """Return the candidate parents of the treatment on which it may act itself: in some graphs they are confounders.

    Plain least squares leaves them out, since in other graphs they are consequences.
    """
    found = {name for graph in graphs for name in graph.parents(treatment)}
    after = set().union(*(graph.descendants(treatment) for graph in graphs))
    return tuple(name for name in graphs[0].variables if name in found & after)


def variables_between(graphs: Sequence[CandidateGraph], treatment: str, outcome: str) -> frozenset[str]:
    """Return the outcome and all that may lie on a path to it: in rows where one of them was set, the path is cut."""
    between = (graph.descendants(treatment) & graph.ancestors(outcome) for graph in graphs)
    return frozenset({outcome}).union(*between)


def least_squares(
    data: WorkingData,
    treatment: str,
    outcome: str,
    covariates: Sequence[str],
    between: Collection[str] = (),
    change: FloatArray | None = None,
) -> Regression | None:
    """Return the regression; None where rows are too few or columns depend on each other.

    Parameters
    ----------
    data
        Moments of the rows.
    treatment, outcome
        Names.
    covariates
        What to adjust for.
    between
        Variables that must not have been set from outside: rows in which one was are left out.
    change
        By how much the columns of a category as the treatment are moved, in working units, shape (columns,).
    """
    rows = data.undisturbed(between)
    if rows is None:
        return None
    columns = [rows.index[name] for name in data.columns((treatment, *covariates))]
    freedom = rows.n - len(columns)
    if rows.rows < len(columns) + _SPARE_ROWS or _is_singular(rows, columns):
        return None
    unit = data.unit(treatment, outcome) if change is None else data.outcome_unit(outcome)
    move = np.zeros(len(columns))
    move[: 1 if change is None else len(change)] = 1.0 if change is None else change
    return _regression(rows, unit, move, rows.index[outcome], tuple(covariates), columns, freedom)


def combined(found: Sequence[Regression | None]) -> Regression | None:
    """Combine the regressions of completed copies of one table by Rubin's rules; None if one is missing."""
    known = [item for item in found if item is not None]
    if len(known) < len(found) or len(found) == 1:
        return known[0] if len(known) == len(found) else None
    return _rubin(known)


def _rubin(parts: Sequence[Regression]) -> Regression:
    estimates = np.array([part.estimate for part in parts])
    within = float(np.mean([part.error**2 for part in parts]))
    between = (1.0 + 1.0 / len(parts)) * float(estimates.var(ddof=1))
    total = within + between
    freedom = (len(parts) - 1) * (total / between) ** 2 if between > 0 else np.inf
    half = _quantile(freedom) * float(np.sqrt(total))
    center = float(estimates.mean())
    return Regression(center, float(np.sqrt(total)), center - half, center + half, parts[0].covariates)


def _is_singular(rows: ChildData, columns: Sequence[int]) -> bool:
    gram = rows.scatter[np.ix_(columns, columns)]
    scale = np.sqrt(np.diag(gram))
    return bool(scale.min() == 0.0) or float(np.linalg.eigvalsh(gram / np.outer(scale, scale)).min()) < _SINGULAR


def _regression(
    rows: ChildData,
    unit: float,
    move: FloatArray,
    y: int,
    covariates: tuple[str, ...],
    columns: list[int],
    freedom: float,
) -> Regression:
    """Return the effect of moving the columns by so much, shape (columns,)."""
    inverse = np.linalg.inv(rows.scatter[np.ix_(columns, columns)])
    cross = rows.scatter[columns, y]
    residual = max(float(rows.scatter[y, y] - cross @ inverse @ cross), 0.0)
    estimate = float(unit * (move @ inverse @ cross))
    error = float(abs(unit) * np.sqrt(move @ inverse @ move * residual / freedom))
    half = _quantile(freedom) * error
    return Regression(estimate, error, estimate - half, estimate + half, covariates)


def _quantile(freedom: float) -> float:
    """Return the 97.5% quantile of Student's t; `scipy.stats` has it, too, but takes long to import."""
    return float(stdtrit(freedom, 0.975))
