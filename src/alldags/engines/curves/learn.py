"""Directions learned from rows: what predicts the child in an arm, and what predicts the treatment.

Each is learned once for every part of the data without that part, and used for the rows of that part (cross-fitting):
a column made from it is then no better in the rows at hand than in new ones, and intervals need not know that it was
learned.

Where there is nothing to learn, what is predicted from other parts is low where a part happens to be high: with few
different rows, a column of such predictions would explain the child, with the wrong sign, as well as many columns of
noise do. So what does not predict rows it has not seen (`predicts`) is no column at all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from alldags.columns.base import Column
from alldags.columns.learned import Along, Direction
from alldags.engines.vb import VB
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import UnknownNoise
from alldags.typing import BoolArray, FloatArray, IntArray

_STEPS = 3  # of Gauss and Newton, at most
_WORTH = 0.995  # of the residual sum of squares, above which a step is not worth it
_KNOTS = (0.2, 0.4, 0.6, 0.8, 0.9, 0.96)  # along what predicts the child
_PROPENSITY_KNOTS = (0.25, 0.5, 0.75)
_FLAT = 1e-9
_HEARD = 0.1  # of the largest part in a direction, below which a variable is not counted as being in it
_ROUNDS = 30
_RISES = 1.0  # standard errors by which a score must rise with what it is of
_VB = VB(tolerance=1e-4, max_rounds=200)


def sparse_coefficients(columns: FloatArray, child: FloatArray) -> FloatArray:
    """Return coefficients of a sparse regression with intercept, shape (k,): the variational mean, which is quick."""
    centered, response = columns - columns.mean(axis=0), child - child.mean()
    scale, unit = centered.std(axis=0), float(response.std())
    used = scale > _FLAT
    found = np.zeros(columns.shape[1])
    if unit < _FLAT or not used.any():
        return found
    z, k = centered[:, used] / scale[used], int(used.sum())
    y = response / unit
    problem = NodeProblem(
        child="y",
        terms=tuple(map(str, range(k))),
        gram=z.T @ z,
        cross=z.T @ y,
        total=float(y @ y),
        n=len(y) - 1.0,
        probability=np.full(k, 0.5),
        settings=(Setting(1.0, UnknownNoise()),),
    )
    found[used] = _VB(problem, np.random.default_rng(0)).mean * unit / scale[used]
    return found


def index_coefficients(columns: FloatArray, child: FloatArray) -> FloatArray:
    """Return the direction v of a single-index model ``child = g(columns @ v)`` with a cubic g, shape (k,).

    It starts at the straight line; each step is a sparse regression of what is left on the slopes of g.
    """
    direction = sparse_coefficients(columns, child)
    best, least = direction, np.inf
    for _ in range(_STEPS + 1):
        score = columns @ direction
        center, scale = float(score.mean()), float(score.std())
        if scale < _FLAT:
            break
        curve, slope = _cubic(np.clip((score - center) / scale, -4.0, 4.0), child)
        rest = child - curve
        left = float(rest @ rest)
        if left >= _WORTH * least:
            break
        best, least = direction, left
        direction = direction + sparse_coefficients((slope / scale)[:, None] * columns, rest)
    return best


def _cubic(score: FloatArray, child: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return values and slopes of a slightly smoothed cubic through the child, shape (rows,) each."""
    powers = score[:, None] ** np.arange(4)
    scale = powers.std(axis=0) + 1e-12
    scale[0] = 1.0
    design = powers / scale
    ridge = 1e-3 * len(score) * np.diag([0.0, 1.0, 1.0, 1.0])
    c = np.linalg.solve(design.T @ design + ridge, design.T @ child) / scale
    return powers @ c, powers[:, :3] @ (c[1:] * np.array([1.0, 2.0, 3.0]))


def logistic_coefficients(columns: FloatArray, treated: FloatArray) -> FloatArray:
    """Return intercept and coefficients of a ridge logistic regression, shape (k + 1,); the penalty is learned.

    MacKay's rule: the penalty is the effective number of coefficients over their sum of squares.
    """
    rows, k = columns.shape
    scale = np.where(columns.std(axis=0) > _FLAT, columns.std(axis=0), 1.0)
    center = columns.mean(axis=0)
    design = np.column_stack([np.ones(rows), (columns - center) / scale])
    share = float(np.clip(treated.mean(), 0.5 / rows, 1.0 - 0.5 / rows))
    found, penalty = np.zeros(k + 1), 10.0
    found[0] = np.log(share / (1.0 - share))
    for _ in range(_ROUNDS):
        mean = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        weight = np.maximum(mean * (1.0 - mean), 1e-6)
        ridge = np.diag(np.r_[0.0, np.full(k, penalty)])
        inverse = np.linalg.inv((design * weight[:, None]).T @ design + ridge)
        step = inverse @ (design.T @ (treated - mean) - ridge @ found)
        found = found + step
        effective = max(k - penalty * float(np.trace(inverse[1:, 1:])), 1e-3)
        renewed = min(effective / max(float(found[1:] @ found[1:]), 1e-9), 1e5)
        if np.abs(step).max() < 1e-6 and abs(np.log(renewed / penalty)) < 1e-3:
            break
        penalty = renewed
    slopes = found[1:] / scale
    return np.asarray(np.r_[found[0] - slopes @ center, slopes])


def index_columns(
    names: tuple[str, ...],
    columns: FloatArray,
    child: FloatArray,
    arm: BoolArray,
    fold: IntArray,
    label: str,
    stands: Mapping[str, str],
) -> list[Column]:
    """Return a square and bends along what predicts the child in one arm.

    Parameters
    ----------
    names, columns
        Causes, and their values, shape (rows, p).
    child
        Shape (rows,).
    arm
        Which rows it is learned from, shape (rows,).
    fold
        Part of each row, shape (rows,).
    label
        Its name.
    stands
        The cause that each of the names stands for: itself, or a category of which it is a level.
    """
    scale = np.where(columns.std(axis=0) > _FLAT, columns.std(axis=0), 1.0)
    center = columns.mean(axis=0)
    z = (columns - center) / scale
    parts = int(fold.max()) + 1
    learned = np.array([index_coefficients(z[arm & (fold != k)], child[arm & (fold != k)]) for k in range(parts)])
    slopes = learned / scale
    score = np.einsum("rp,rp->r", learned[fold], z)[arm]
    if float(score.std()) < _FLAT or not predicts(score, child[arm]):
        return []
    loud = heard(names, learned, stands)
    direction = Direction(label, names, slopes, -slopes @ center, loud, float(score.mean()), float(score.std()))
    knots = np.quantile(np.clip((score - direction.center) / direction.scale, -4.0, 4.0), _KNOTS)
    return [Along(direction, "square"), *(Along(direction, "bend", float(knot)) for knot in np.unique(knots))]


def predicts(score: FloatArray, target: FloatArray) -> bool:
    """Tell whether a score of rows it was not learned from rises with what it is of, by more than its own error."""
    a, b = score - score.mean(), target - target.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return size > 0.0 and float(a @ b) / size * np.sqrt(len(a)) > _RISES


def heard(names: tuple[str, ...], sizes: FloatArray, stands: Mapping[str, str]) -> tuple[str, ...]:
    """Return the causes whose part in a direction, sizes of shape (folds, p), is not small beside the largest."""
    size = np.abs(sizes).mean(axis=0)
    loud = [stands[name] for name, value in zip(names, size, strict=True) if value > _HEARD * size.max()]
    return tuple(dict.fromkeys(loud))


def propensity_columns(
    names: tuple[str, ...], columns: FloatArray, treated: FloatArray, fold: IntArray, stands: Mapping[str, str]
) -> list[Column]:
    """Return a line and bends along the log-odds of the treatment; arguments as for `index_columns`."""
    parts = int(fold.max()) + 1
    learned = np.array([logistic_coefficients(columns[fold != k], treated[fold != k]) for k in range(parts)])
    score = np.einsum("rp,rp->r", learned[fold, 1:], columns) + learned[fold, 0]
    if float(score.std()) < _FLAT or not predicts(score, treated):
        return []
    center, scale = float(score.mean()), float(score.std())
    loud = heard(names, learned[:, 1:] * columns.std(axis=0), stands)
    direction = Direction("propensity", names, learned[:, 1:], learned[:, 0], loud, center, scale)
    knots = np.unique(np.quantile(np.clip((score - center) / scale, -4.0, 4.0), _PROPENSITY_KNOTS))
    return [Along(direction, "line"), *(Along(direction, "bend", float(knot)) for knot in knots)]
