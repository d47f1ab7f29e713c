"""From matrices of coefficients to what a change does step by step.

With ``A_l`` the coefficients of causes l steps ago and ``r_h`` the row of effects on all variables after h steps ::

    one step:   r_0 = e_x (I - A_0)^-1 with nothing acting on x,   r_h = (sum_l r_{h-l} A_l) (I - A_0)^-1
    lasting:    the same with nothing ever acting on x, which is one unit higher at every step

A walk may use one regression at several steps, so that the mean of a product is not the product of means: everything
goes through draws. What is linear in the coefficients has a mean that is known, and is taken out of the draws' mean
(`linear_part`).
"""

from __future__ import annotations

import numpy as np

from alldags.typing import BoolArray, FloatArray


def responses(matrices: FloatArray, source: int, steps: int, *, lasting: bool = False) -> FloatArray:
    """Return the effect of one variable on all after 0, 1, ... steps, shape (size, steps + 1, m).

    Parameters
    ----------
    matrices
        Shape (size, lags + 1, m, m), row = cause.
    source
        Place of the variable that is changed.
    steps
        How many steps to go.
    lasting
        Whether the change stays, whatever acts on the variable; else it is of one step.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.effects.steps.recursion import responses
    >>> own = np.zeros((1, 2, 2, 2))
    >>> own[0, 1] = [[0.5, 1.0], [0.0, 0.0]]
    >>> responses(own, 0, 3)[0, :, 1].tolist(), responses(own, 0, 3, lasting=True)[0, :, 1].tolist()
    ([0.0, 1.0, 0.5, 0.25], [0.0, 1.0, 1.0, 1.0])
    """
    size, count, m, _ = matrices.shape
    cut = _cut(matrices, source)
    ahead = cut if lasting else matrices
    found = np.zeros((size, steps + 1, m))
    for h in range(steps + 1):
        arriving = np.zeros((size, m))
        for lag in range(1, min(h, count - 1) + 1):
            arriving += np.einsum("si,sij->sj", found[:, h - lag], ahead[:, lag])
        if h == 0 or lasting:
            arriving[:, source] = 1.0
        found[:, h] = _inside(arriving, cut[:, 0] if h == 0 else ahead[:, 0])
    return found


def _cut(matrices: FloatArray, source: int) -> FloatArray:
    """Return the matrices with nothing acting on one variable."""
    found = matrices.copy()
    found[:, :, :, source] = 0.0
    return found


def _inside(arriving: FloatArray, same_step: FloatArray) -> FloatArray:
    """Return what arrives with all that it does inside the step, shape (size, m); exact zeros where nothing leads."""
    found = arriving
    for _ in range(arriving.shape[1] - 1):
        longer = arriving + np.einsum("si,sij->sj", found, same_step)
        if np.array_equal(longer, found):
            break
        found = longer
    return found


def linear_part(mean: FloatArray, source: int, target: int, step: int, *, lasting: bool = False) -> FloatArray:
    """Return how the effect after some steps answers to each coefficient, at their means, shape (lags + 1, m, m).

    Parameters
    ----------
    mean
        Shape (lags + 1, m, m).
    source, target
        Places of treatment and outcome.
    step
        After how many steps.
    lasting
        As for `responses`.
    """
    coming = responses(mean[None], source, step, lasting=lasting)[0]
    system = _cut(mean[None], source)[0] if lasting else mean
    going = _toward(system, target, step)
    found = np.zeros_like(mean)
    for s in range(step + 1):
        after = going[step - s].copy()
        if s == 0 or lasting:
            after[source] = 0.0  # it is set
        for lag in range(min(s, len(mean) - 1) + 1):
            found[lag] += np.outer(coming[s - lag], after)
    return found


def _toward(system: FloatArray, target: int, steps: int) -> FloatArray:
    """Return the effect of a change of each variable on one of them after 0, 1, ... steps, shape (steps + 1, m)."""
    m = system.shape[1]
    found = np.zeros((steps + 1, m))
    front = np.linalg.pinv(np.eye(m) - system[0])
    for h in range(steps + 1):
        later = np.eye(m)[target] if h == 0 else np.zeros(m)
        for lag in range(1, min(h, len(system) - 1) + 1):
            later = later + system[lag] @ found[h - lag]
        found[h] = front @ later
    return found


# -- in the long run -------------------------------------------------------------------------------------------------


def radius(matrices: FloatArray, source: int | None = None) -> FloatArray:
    """Return by how much, at most, what is there grows from step to step, shape (size,): below 1 it dies out.

    With `source` nothing acts on that variable.
    """
    system = matrices if source is None else _cut(matrices, source)
    size, count, m, _ = system.shape
    if count == 1:
        return np.zeros(size)
    front = np.linalg.inv(np.eye(m) - system[:, 0])
    wide = m * (count - 1)
    companion = np.zeros((size, wide, wide))
    for lag in range(1, count):
        companion[:, (lag - 1) * m : lag * m, :m] = system[:, lag] @ front
    for lag in range(1, count - 1):
        companion[:, (lag - 1) * m : lag * m, lag * m : (lag + 1) * m] = np.eye(m)
    return np.asarray(np.abs(np.linalg.eigvals(companion)).max(axis=1))


def long_run(matrices: FloatArray, source: int, target: int) -> FloatArray:
    """Return what a lasting change does in the end, where it settles, shape (size,)."""
    system = _cut(matrices, source)
    m = system.shape[2]
    total = np.eye(m) - system.sum(axis=1)
    start = np.zeros((len(system), m, 1))
    start[:, source] = 1.0
    return np.asarray(np.linalg.solve(np.swapaxes(total, 1, 2), start)[:, target, 0])


def settles(matrices: FloatArray, source: int) -> BoolArray:
    """Return in which draws a lasting change settles, shape (size,)."""
    return np.asarray(radius(matrices, source) < 1.0)
