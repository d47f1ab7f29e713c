"""Does a linear graph with hidden common causes identify a total effect? By the rank of a Jacobian.

The covariance matrix is a function of coefficients and error covariances. An effect is identified, locally (finitely
many solutions), if its gradient is orthogonal to every direction of these parameters that leaves the covariance matrix
as it is, at coefficients chosen at random (Foygel, Draisma and Drton 2012 on the rank of such matrices; Brito and Pearl
2002: graphs without a bow always are).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from alldags.graph.edges import Edge
from alldags.typing import FloatArray

_TRIES = 2


def is_identified(
    variables: Sequence[str], edges: Iterable[Edge], hidden: Iterable[Edge], treatment: str, outcome: str
) -> bool:
    """Tell whether all covariances together determine a total effect.

    Parameters
    ----------
    variables
        Names.
    edges
        Directed edges that are there, without a cycle.
    hidden
        Pairs whose errors are correlated.
    treatment, outcome
        Whose effect, on what.

    Examples
    --------
    >>> from alldags.graph.identified import is_identified
    >>> is_identified("zxy", [("z", "x"), ("x", "y")], [("x", "y")], "x", "y")
    True
    >>> is_identified("zxy", [("z", "x"), ("x", "y"), ("z", "y")], [("x", "y")], "x", "y")
    False
    """
    place = {name: i for i, name in enumerate(variables)}
    numbered = tuple(tuple((place[a], place[b]) for a, b in pairs) for pairs in (edges, hidden))
    return _verdict(len(place), *numbered, place[treatment], place[outcome])


@lru_cache(maxsize=4096)
def _verdict(m: int, edges: tuple[tuple[int, int], ...], hidden: tuple[tuple[int, int], ...], x: int, y: int) -> bool:
    rng = np.random.default_rng(0)
    return all(_at_random(m, edges, hidden, x, y, rng) for _ in range(_TRIES))


def _at_random(
    m: int, edges: tuple[tuple[int, int], ...], hidden: tuple[tuple[int, int], ...], x: int, y: int,
    rng: np.random.Generator,
) -> bool:  # fmt: skip
    """Look at one random choice of coefficients."""
    slopes, errors = np.zeros((m, m)), np.diag(rng.uniform(2.0, 3.0, m))
    for i, j in edges:
        slopes[i, j] = rng.choice([-1.0, 1.0]) * rng.uniform(0.4, 1.2)
    for i, j in hidden:
        errors[i, j] = errors[j, i] = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.8)
    total = np.linalg.inv(np.eye(m) - slopes)
    rows, gradient = [], []
    for i, j in edges:
        moved = np.outer(total[:, i], total[j])
        half = moved.T @ errors @ total
        rows.append(half + half.T)
        gradient.append(moved[x, y])
    for i, j in (*hidden, *((i, i) for i in range(m))):
        half = np.outer(total[i], total[j])
        rows.append(half + half.T)
        gradient.append(0.0)
    return _is_orthogonal(np.array(rows)[:, *np.triu_indices(m)], np.array(gradient))


def _is_orthogonal(jacobian: FloatArray, gradient: FloatArray) -> bool:
    """Tell whether a gradient has no part in the directions that a Jacobian (parameters, values) does not see."""
    _, sizes, directions = np.linalg.svd(jacobian.T)
    unseen = directions[int((sizes > 1e-9 * sizes[0]).sum()) :]
    return bool(np.all(np.abs(unseen @ gradient) < 1e-7))
