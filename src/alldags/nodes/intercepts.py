"""Units with intercepts that vary at random: one regression for each ratio of their variance to that of the noise.

With ``omega`` that ratio, ``T_i`` the rows of unit i, ``z_i`` their means and ``W`` the cross-products inside units,
the intercepts integrated out leave the conjugate regression with cross-products ::

    S = W + sum_i f_i (z_i - m)(z_i - m)',    f_i = T_i / (1 + omega T_i),    m = sum_i f_i z_i / sum_i f_i

and log evidence ``- 1/2 sum_i log(1 + omega T_i) - 1/2 log(sum_i f_i / rows)`` beside its own. The ratio is averaged
over: uniform in the share of variance between units, ``omega / (1 + omega)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alldags.data.cells import Cells
from alldags.typing import FloatArray

RATIOS = np.concatenate([[0.0], np.exp(np.linspace(np.log(0.01), np.log(30.0), 11))])


class Variant(NamedTuple):
    """Cross-products under one ratio, shape (m, m), in working units, and its log weight."""

    scatter: FloatArray
    log_weight: float
    ratio: float


def log_prior(ratios: FloatArray) -> FloatArray:
    """Return the log prior weights of ratios on a rising grid: uniform in ``ratio / (1 + ratio)``, shape (ratios,)."""
    share = ratios / (1.0 + ratios)
    middle = np.concatenate([[0.0], 0.5 * (share[1:] + share[:-1]), [1.0]])
    return np.asarray(np.log(np.diff(middle)))


def between(cells: Cells, ratio: float) -> tuple[FloatArray, float]:
    """Return the cross-products of rows whose units have intercepts of this variance, shape (m, m), and a log factor.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.data.cells import cells_of
    >>> from alldags.nodes.intercepts import between
    >>> cells = cells_of(np.array([[1.0, 3.0, 4.0, 8.0]]), np.ones(4), np.array([[0], [0], [1], [1]]), (2,))
    >>> scatter, factor = between(cells, 0.0)
    >>> scatter.tolist(), factor + 0.0
    ([[26.0]], 0.0)
    """
    weight = cells.weight / (1.0 + ratio * cells.weight)
    gap = cells.mean - weight @ cells.mean / weight.sum()
    lost = np.log1p(ratio * cells.weight).sum() + np.log(weight.sum() / cells.weight.sum())
    return cells.scatter + (gap * weight[:, None]).T @ gap, -0.5 * float(lost)


def variants(cells: Cells, places: list[int], scale: FloatArray) -> tuple[Variant, ...]:
    """Return the regressions of rows whose units have intercepts of any variance.

    Parameters
    ----------
    cells
        Rows by unit.
    places
        The columns of the variables, m of them.
    scale
        User's units per working unit, shape (m,).
    """
    found = []
    for ratio, weight in zip(RATIOS.tolist(), log_prior(RATIOS).tolist(), strict=True):
        scatter, factor = between(cells, ratio)
        own = scatter[np.ix_(places, places)] / np.outer(scale, scale)
        found.append(Variant(own, weight + factor, ratio))
    return tuple(found)
