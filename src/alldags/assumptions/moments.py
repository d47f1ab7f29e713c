"""Checks that means and cross-products are enough for: collinear causes, and independences of normal variables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from alldags.assumptions.independences import Independence
from alldags.nodes.data import ChildData
from alldags.typing import FloatArray

_SINGULAR = 1e-10  # share of a column that the others must leave unexplained
_SPARE = 10  # rows beyond columns for a test


def inflation_of_group(data: ChildData, columns: Sequence[str], others: Sequence[str]) -> float:
    """Return by how much other columns inflate the variance of that combination of a category's which they foretell.

    Parameters
    ----------
    data
        Moments of the child's rows.
    columns
        Those of the category.
    others
        Columns of the other causes.
    """
    own, rest = [data.index[name] for name in columns], [data.index[name] for name in others]
    whole = data.scatter[np.ix_(own, own)]
    root = np.linalg.inv(np.linalg.cholesky(whole))
    least = float(np.linalg.eigvalsh(root @ unexplained(data.scatter, own, rest) @ root.T).min())
    return 1.0 / least if least > _SINGULAR else math.inf


def association(
    data: ChildData, first: Sequence[str], second: Sequence[str], given: Sequence[str]
) -> tuple[float, float] | None:
    """Return the largest correlation between two groups of columns given others, and the p-value of none.

    By Wilks's lambda: exact where one group has a single column, else by Bartlett's chi-squared. None if it cannot be
    tested, for want of rows or because a column follows from those given.
    """
    from scipy.special import chdtrc, fdtrc

    a, b, c = ([data.index[name] for name in names] for names in (first, second, given))
    most, freedom = max(len(a), len(b)), data.n - len(c)
    if freedom - most < _SPARE:
        return None
    left = unexplained(data.scatter, [*a, *b], c)
    whole = np.diag(data.scatter)[[*a, *b]]
    if (np.diag(left) < _SINGULAR * whole).any():
        return None
    k = len(a)
    roots = [np.linalg.pinv(np.linalg.cholesky(part)) for part in (left[:k, :k], left[k:, k:])]
    squares = np.clip(np.linalg.svd(roots[0] @ left[:k, k:] @ roots[1].T, compute_uv=False), 0.0, 1.0) ** 2
    remaining = float(np.prod(1.0 - squares))
    if min(len(a), len(b)) == 1:
        p = float(fdtrc(most, freedom - most, (1.0 - remaining) / max(remaining, 1e-300) * (freedom - most) / most))
    else:
        scale = freedom - 0.5 * (len(a) + len(b) + 1)
        p = float(chdtrc(len(a) * len(b), -scale * math.log(max(remaining, 1e-300))))
    return math.sqrt(float(squares.max())), p


def inflation(data: ChildData, causes: Sequence[str]) -> FloatArray:
    """Return by how much the other causes inflate the variance of each one's coefficient, shape (k,).

    Parameters
    ----------
    data
        Moments of the child's rows.
    causes
        Names of columns, k of them.
    """
    places = [data.index[name] for name in causes]
    gram = data.scatter[np.ix_(places, places)]
    scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 times infinity, which is left out
        inverse = np.where(values > _SINGULAR, 1.0 / np.maximum(values, _SINGULAR), np.inf)
        found = np.where(vectors**2 > 1e-12, vectors**2 * inverse, 0.0).sum(axis=1)
    return np.asarray(np.maximum(found, 1.0))


def partial_correlations(data: ChildData, items: Sequence[Independence]) -> Mapping[Independence, tuple[float, float]]:
    """Return partial correlation and p-value of each independence of one child given the same set.

    Those that cannot be tested, for want of rows or because a variable follows from the set, are left out.

    Parameters
    ----------
    data
        Moments of the child's rows.
    items
        All with the same child and the same set.
    """
    from scipy.stats import t as student

    child, given = data.index[items[0].child], [data.index[name] for name in items[0].given]
    freedom = data.n - len(given) - 1
    if freedom < _SPARE:
        return {}
    others = [data.index[item.other] for item in items]
    left = unexplained(data.scatter, [child, *others], given)
    found = {}
    for i, (item, place) in enumerate(zip(items, others, strict=True), start=1):
        ends = left[0, 0], left[i, i]
        whole = data.scatter[child, child], data.scatter[place, place]
        if min(ends[0] / whole[0], ends[1] / whole[1]) < _SINGULAR:
            continue
        r = float(np.clip(left[0, i] / math.sqrt(ends[0] * ends[1]), -1.0, 1.0))
        size = abs(r) * math.sqrt(freedom / max(1.0 - r * r, 1e-300))
        found[item] = (r, 2.0 * float(student.sf(size, freedom)))
    return found


def unexplained(scatter: FloatArray, names: list[int], given: list[int]) -> FloatArray:
    """Return the cross-products of what a set leaves unexplained."""
    part = scatter[np.ix_(names, names)]
    if not given:
        return part
    inner, cross = scatter[np.ix_(given, given)], scatter[np.ix_(given, names)]
    scale = np.sqrt(np.diag(inner))
    values, vectors = np.linalg.eigh(inner / np.outer(scale, scale))
    kept = values > _SINGULAR
    root = (vectors[:, kept] / np.sqrt(values[kept])).T @ (cross / scale[:, None])
    return np.asarray(part - root.T @ root)
