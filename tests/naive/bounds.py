"""The separable bound of a sum over subsets, written plainly, and the sum itself."""

from __future__ import annotations

import itertools

import numpy as np


def log_bound(a, b, log_odds, slope, lam, t) -> float:
    """Return the logarithm of ``exp(slope t'(A - diag(lam))t) prod(1 + x)``."""
    h = b - a @ t + lam * t
    x = log_odds + slope * h**2 / lam
    return float(slope * t @ (a - np.diag(lam)) @ t + np.logaddexp(0.0, x).sum())


def log_sum(a, b, log_factor, slope, has_determinant) -> float:
    """Return the logarithm of the sum over all subsets of ``prod o |A_P|^-1/2 exp(slope q_P)``."""
    terms = []
    for row in itertools.product([False, True], repeat=len(b)):
        p = np.array(row)
        inner = a[np.ix_(p, p)]
        q = b[p] @ np.linalg.solve(inner, b[p]) if p.any() else 0.0
        determinant = 0.5 * np.linalg.slogdet(inner)[1] if has_determinant and p.any() else 0.0
        terms.append(log_factor[p].sum() - determinant + slope * q)
    return float(np.logaddexp.reduce(terms))
