"""An upper bound of a sum over all subsets of a block of variables, as a product over the variables.

With ``A`` positive definite, ``diag(lam) <= A`` and any vector ``t``, every subset P has

    b_P' A_P^-1 b_P  <=  t' (A - diag(lam)) t  +  sum_{c in P} h_c^2 / lam_c,      h = b - A t + lam * t,

because ``q_P`` is the maximum over ``z`` (zero outside P) of ``2 b'z - z'Az``; the convex ``z'(A - diag(lam)) z`` lies
above its tangent at ``t``, and what is left separates over the variables. The inequality survives inclusion and
exclusion of variables (a Schur complement of ``A`` stays above the rest of ``diag(lam)``), so one ``lam`` serves a
whole subtree. For an orthogonal block it is an equality. Also ``|A_P|`` is at least the product over P of the squared
Cholesky pivots of ``A``, in any order: conditioning on more variables cannot raise a pivot. Together

    sum_P prod_P o_c |A_P|^-1/2 exp(slope q_P)  <=  exp(slope t'(A - diag(lam))t) prod_c (1 + x_c),
    x_c = o_c pivot_c^-1/2 exp(slope h_c^2 / lam_c).

`tighten` minimises the right side over ``t`` (a convex problem: Newton steps) and ``lam`` (coordinate steps with a
log-determinant barrier). Both only need to be feasible for the bound to hold, never optimal.
"""

from __future__ import annotations

import math

from alldags.kernels.jit import compiled, inner
from alldags.kernels.linalg import factorise, invert, solve
from alldags.typing import FloatArray

_ROUNDS = 4
_NEWTON = 3


@inner
def _factor_less(a: FloatArray, first: int, less: FloatArray, factor: FloatArray) -> bool:
    """Factorise ``a[first:, first:] - diag(less)``; return False if it is not positive definite."""
    k = a.shape[0]
    for i in range(first, k):
        for j in range(i, k):
            factor[i, j] = a[i, j]
        factor[i, i] -= less[i]
    return factorise(factor, first, k, 0.0)


@compiled
def residual_shift(a: FloatArray, b: FloatArray, first: int, t: FloatArray, g: FloatArray) -> None:
    """Write ``g = b - A t`` on ``first:``."""
    k = b.shape[0]
    for i in range(first, k):
        g[i] = b[i]
    for j in range(first, k):
        if t[j] != 0.0:
            for i in range(first, k):
                g[i] -= a[j, i] * t[j]


@compiled
def log_ratios(
    b: FloatArray,
    first: int,
    log_odds: FloatArray,
    slope: float,
    lam: FloatArray,
    t: FloatArray,
    g: FloatArray,
    log_x: FloatArray,
) -> float:
    """Write ``log x_c`` on ``first:`` and return the logarithm of the bound's constant factor."""
    constant = 0.0
    for c in range(first, b.shape[0]):
        h = g[c] + lam[c] * t[c]
        constant += t[c] * (b[c] - h)
        log_x[c] = log_odds[c] + slope * h * h / lam[c]
    return slope * constant


@compiled
def log_total(constant: float, first: int, log_x: FloatArray) -> float:
    """Return ``constant + sum log(1 + x_c)``."""
    total = constant
    for c in range(first, log_x.shape[0]):
        total += max(log_x[c], 0.0) + math.log1p(math.exp(-abs(log_x[c])))
    return total


@inner
def _falls(slack: float, lam: float, slope: float, t: float, g: float, log_odds: float, barrier: float) -> bool:
    """Whether the bound plus barrier still falls as ``lam`` grows."""
    # log(exp(-slope lam t^2) + o exp(slope (g^2/lam + 2 g t))), whose two terms weigh 1 - p and p
    z = log_odds + slope * (g * g / lam + 2.0 * g * t + lam * t * t)
    p = 1.0 / (1.0 + math.exp(-z)) if z > -700.0 else 0.0
    return slope * ((1.0 - p) * t * t + p * g * g / (lam * lam)) > barrier / slack


@inner
def _raise_lam(
    first: int,
    log_odds: FloatArray,
    slope: float,
    barrier: float,
    lam: FloatArray,
    t: FloatArray,
    g: FloatArray,
    inverse: FloatArray,
    row: FloatArray,
) -> None:
    """One round of coordinate steps in ``lam``; `inverse` is that of ``A - diag(lam)`` and is kept up to date."""
    k = lam.shape[0]
    for c in range(first, k):
        room = 1.0 / inverse[c, c]
        low, high = -0.9 * lam[c], 0.9 * room
        for _ in range(12):
            middle = 0.5 * (low + high)
            if _falls(room - middle, lam[c] + middle, slope, t[c], g[c], log_odds[c], barrier):
                low = middle
            else:
                high = middle
        lam[c] += low
        ratio = low / (1.0 - low * inverse[c, c])
        for i in range(first, k):
            row[i] = inverse[c, i]
        for i in range(first, k):
            step = ratio * row[i]
            for j in range(first, k):
                inverse[i, j] += step * row[j]


@inner
def _newton_step(
    a: FloatArray,
    first: int,
    slope: float,
    lam: FloatArray,
    t: FloatArray,
    g: FloatArray,
    log_x: FloatArray,
    factor: FloatArray,
    step: FloatArray,
) -> bool:
    """Write the Newton step in ``t``: ``(D^-1 + A - diag(lam)) step = D^-1 (p h / lam - t)``."""
    k = lam.shape[0]
    for i in range(first, k):
        for j in range(i, k):
            factor[i, j] = a[i, j]
    for c in range(first, k):
        h = g[c] + lam[c] * t[c]
        p = 1.0 / (1.0 + math.exp(-log_x[c])) if log_x[c] > -700.0 else 0.0
        weight = lam[c] / max(p * (1.0 + 2.0 * slope * (1.0 - p) * h * h / lam[c]), 1e-12)
        factor[c, c] += weight - lam[c]
        step[c] = weight * (p * h / lam[c] - t[c])
    if not factorise(factor, first, k, 0.0):
        return False
    solve(factor, first, k, step)
    return True


@compiled
def tighten(
    a: FloatArray,
    b: FloatArray,
    first: int,
    log_factor: FloatArray,
    has_determinant: bool,
    slope: float,
    log_odds: FloatArray,
    lam: FloatArray,
    t: FloatArray,
    g: FloatArray,
    log_x: FloatArray,
    matrices: FloatArray,
    vectors: FloatArray,
) -> bool:
    """Write ``log_odds`` (with pivots), ``lam`` and ``t`` of a tight bound for ``a[first:, first:]``.

    Parameters
    ----------
    a, b, first, log_factor, has_determinant, slope
        The block, shapes (k, k) and (k,), of which the part ``first:`` counts.
    log_odds, lam, t
        Results, shape (k,).
    g, log_x, matrices, vectors
        Working space, shapes (k,), (k,), (3, k, k) and (4, k).

    Returns
    -------
    bool
        False if the block is numerically singular; the results are then not usable.
    """
    k = b.shape[0]
    factor, inverse, work = matrices[0], matrices[1], matrices[2]
    step, row, trial, trial_g = vectors[0], vectors[1], vectors[2], vectors[3]
    for c in range(first, k):
        lam[c] = 0.0
    if not _factor_less(a, first, lam, factor):
        return False
    for c in range(first, k):
        log_odds[c] = log_factor[c] - (math.log(factor[c, c]) if has_determinant else 0.0)
        t[c] = b[c]
        g[c] = 0.0  # t starts at the mean given all variables, where the residual shift vanishes
    solve(factor, first, k, t)
    invert(factor, first, k, inverse, work)
    smallest = 0.0
    for c in range(first, k):
        smallest += inverse[c, c]
    for c in range(first, k):
        lam[c] = 0.2 / smallest  # below the least eigenvalue, 1 / trace of the inverse
    barrier = 1.0
    for _ in range(_ROUNDS):
        if not _factor_less(a, first, lam, factor):
            return False
        invert(factor, first, k, inverse, work)
        _raise_lam(first, log_odds, slope, barrier, lam, t, g, inverse, row)
        barrier *= 0.3
        value = log_total(log_ratios(b, first, log_odds, slope, lam, t, g, log_x), first, log_x)
        for _ in range(_NEWTON):
            if not _newton_step(a, first, slope, lam, t, g, log_x, factor, step):
                return False
            size = 1.0
            better = False
            while size > 0.01 and not better:
                for c in range(first, k):
                    trial[c] = t[c] + size * step[c]
                residual_shift(a, b, first, trial, trial_g)
                new = log_total(log_ratios(b, first, log_odds, slope, lam, trial, trial_g, log_x), first, log_x)
                better = new < value
                size *= 0.4
            if not better:
                log_ratios(b, first, log_odds, slope, lam, t, g, log_x)
                break
            gain = value - new
            value = new
            for c in range(first, k):
                t[c] = trial[c]
                g[c] = trial_g[c]
            if gain < 1e-3:
                break
    return _shrink_until_feasible(a, first, lam, factor, step)


@inner
def _shrink_until_feasible(a: FloatArray, first: int, lam: FloatArray, factor: FloatArray, less: FloatArray) -> bool:
    """Make sure, against rounding, that ``A - diag(lam)`` is positive definite; `less` is scratch space."""
    k = lam.shape[0]
    for _ in range(40):
        for i in range(first, k):
            less[i] = lam[i] * (1.0 + 1e-9) + 1e-13 * a[i, i]
        if _factor_less(a, first, less, factor):
            return True
        for i in range(first, k):
            lam[i] *= 0.8
    return False
