"""All candidates given one parent set, by solving with the whole matrix each time."""

from __future__ import annotations

import math
from itertools import product

import numpy as np


class Everything:
    """One setting of a problem: log weights of sets, and what is expected of a candidate given all others."""

    def __init__(self, precision, shift, log_factor, log_size, determinant, noise, certain) -> None:
        self.precision, self.shift = precision, shift
        self.log_factor, self.log_size = log_factor, log_size
        self.determinant, self.noise, self.certain = determinant, noise, certain

    def log_weight(self, present: np.ndarray) -> float:
        """Return the log weight of a set, up to what all sets share."""
        inside = np.flatnonzero(present)
        a, b = self.precision[np.ix_(inside, inside)], self.shift[inside]
        q = float(b @ np.linalg.solve(a, b)) if len(inside) else 0.0
        size = int((present & ~self.certain).sum())
        value = self.log_factor[inside].sum() + self.log_size[size]
        if self.determinant and len(inside):
            value -= 0.5 * np.linalg.slogdet(a)[1]
        if self.noise.known:
            return float(value + 0.5 * q)
        shape = self.noise.shape + self.noise.shape_per_parent * size
        return float(value - shape * math.log(self.noise.whole - 0.5 * q))

    def log_odds(self, present: np.ndarray, v: int) -> float:
        """Return the log odds of a candidate given all others."""
        with_it, without = present.copy(), present.copy()
        with_it[v], without[v] = True, False
        return self.log_weight(with_it) - self.log_weight(without)

    def expected(self, present: np.ndarray, v: int) -> tuple[float, float, float, float]:
        """Return presence, mean, mean square and squared conditional mean of a candidate given all others."""
        with_it = present.copy()
        with_it[v] = True
        inside = np.flatnonzero(with_it)
        inverse = np.linalg.inv(self.precision[np.ix_(inside, inside)])
        b, r = self.shift[inside], int(np.flatnonzero(inside == v)[0])
        mean = float((inverse @ b)[r])
        size = int((with_it & ~self.certain).sum())
        variance = float(inverse[r, r])
        if not self.noise.known:
            shape = self.noise.shape + self.noise.shape_per_parent * size
            variance *= (self.noise.whole - 0.5 * float(b @ inverse @ b)) / (shape - 1.0)
        p = 1.0 / (1.0 + math.exp(-self.log_odds(present, v)))
        return p, p * mean, p * (variance + mean * mean), p * mean * mean

    def log_absent(self, present: np.ndarray, visited: np.ndarray) -> float:
        """Return the log probability that a scan which takes all `visited` out in order draws just that."""
        here, total = present.copy(), 0.0
        for v in visited:
            total -= math.log1p(math.exp(self.log_odds(here, v)))
            here[v] = False
        return total

    def exchanges(self, present: np.ndarray, out: int) -> np.ndarray:
        """Return the probabilities by which each candidate takes the place of a member, shape (k,)."""
        k = len(present)
        logs = np.full(k, -np.inf)
        for u in range(k):
            if not self.certain[u] and (u == out or not present[u]):
                there = present.copy()
                there[out] = False
                there[u] = True
                logs[u] = self.log_weight(there)
        shares = np.exp(logs - logs.max())
        return np.asarray(shares / shares.sum())


def every_set(k: int) -> np.ndarray:
    """Return all sets of k candidates, shape (2^k, k)."""
    return np.array(list(product([False, True], repeat=k)))
