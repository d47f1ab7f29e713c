"""Polya-Gamma Gibbs for yes/no children: given row weights, a regression with known noise (Polson et al. 2013).

``omega_i ~ PG(1, eta_i)`` makes the log-likelihood of a row exactly quadratic, ``(y - 1/2) eta - omega eta^2 / 2``. One
step draws all weights, goes once over the uncertain edges with coefficients and intercept integrated out, and draws
these, and the slab's variance, given the set.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.sweep import exchange
from alldags.typing import BoolArray, FloatArray, IntArray

_CUT = 0.64  # where the two expansions of the density meet (Devroye 2009)


@inner
def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@inner
def _series(n: int, x: float) -> float:
    """Return the n-th coefficient of the alternating series of the density at x."""
    half = n + 0.5
    if x > _CUT:
        return math.pi * half * math.exp(-0.5 * half * half * math.pi * math.pi * x)
    return math.pi * half * (2.0 / (math.pi * x)) ** 1.5 * math.exp(-2.0 * half * half / x)


@inner
def _short_part(rng: np.random.Generator, z: float) -> float:
    """Draw an inverse Gaussian of mean 1/z and shape 1, given that it is below the cut."""
    x = _CUT + 1.0
    if z * _CUT < 1.0:
        while True:
            first, second = rng.standard_exponential(), rng.standard_exponential()
            while first * first > 2.0 * second / _CUT:
                first, second = rng.standard_exponential(), rng.standard_exponential()
            x = _CUT / (1.0 + _CUT * first) ** 2
            if rng.random() <= math.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while x > _CUT:
        square = rng.standard_normal() ** 2
        x = mean + 0.5 * mean * mean * square - 0.5 * mean * math.sqrt(4.0 * mean * square + (mean * square) ** 2)
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
    return x


@compiled
def draw_polya_gamma(rng: np.random.Generator, eta: float) -> float:
    """Draw PG(1, eta)."""
    z = 0.5 * abs(eta)
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    root = math.sqrt(1.0 / _CUT)
    above = math.pi / (2.0 * rate) * math.exp(-rate * _CUT)
    below = 2.0 * math.exp(-z) * _normal_cdf(root * (_CUT * z - 1.0))
    tail = _normal_cdf(-root * (_CUT * z + 1.0))
    if tail > 0.0:
        below += 2.0 * math.exp(z + math.log(tail))
    while True:
        if rng.random() * (above + below) < above:
            x = _CUT + rng.standard_exponential() / rate
        else:
            x = _short_part(rng, z)
        total = _series(0, x)
        level = rng.random() * total
        n = 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= _series(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _series(n, x)
                if level > total:
                    break


@inner
def _weighted_sums(rng: np.random.Generator, rows: FloatArray, z: FloatArray, information: FloatArray) -> None:
    """Draw the weights of all rows given the coefficients, and sum their information, shape (k + 1, k + 1)."""
    n, size = rows.shape
    for i in range(size):
        for j in range(size):
            information[i, j] = 0.0
    for r in range(n):
        eta = 0.0
        for i in range(size):
            eta += rows[r, i] * z[i]
        omega = draw_polya_gamma(rng, eta)
        for i in range(size):
            scaled = omega * rows[r, i]
            for j in range(i + 1):
                information[i, j] += scaled * rows[r, j]
    for i in range(size):
        for j in range(i):
            information[j, i] = information[i, j]


@inner
def _fill(t: FloatArray, information: FloatArray, shift: FloatArray, tau: float) -> None:
    """Write the system without intercept, with the slab on its diagonal, as a matrix to be swept."""
    k = shift.shape[0] - 1
    h = information[0, 0]
    for i in range(k):
        for j in range(k):
            t[i, j] = information[i + 1, j + 1] - information[i + 1, 0] * information[0, j + 1] / h
        t[i, i] += 1.0 / tau
        t[i, k] = shift[i + 1] - information[i + 1, 0] * shift[0] / h
        t[k, i] = t[i, k]
    t[k, k] = 0.0


@inner
def _flip_edges(
    rng: np.random.Generator,
    t: FloatArray,
    present: BoolArray,
    certain: BoolArray,
    log_odds: FloatArray,
    log_size: FloatArray,
    tau: float,
) -> None:
    """Go once over the uncertain edges, each drawn given the others; `t` is swept on what is present."""
    k = present.shape[0]
    size = 0
    for v in range(k):
        if present[v] and not certain[v]:
            size += 1
    for v in range(k):
        if certain[v]:
            continue
        others = size - 1 if present[v] else size
        # what v adds: from the swept matrix in either state, pivot = Schur complement without v
        pivot = -1.0 / t[v, v] if present[v] else t[v, v]
        gain = 0.5 * (t[v, k] * t[v, k] * pivot if present[v] else t[v, k] * t[v, k] / pivot)
        odds = log_odds[v] + log_size[others + 1] - log_size[others] - 0.5 * math.log(tau * pivot) + gain
        wanted = rng.random() * (1.0 + math.exp(-odds)) < 1.0 if odds > -700.0 else False
        if wanted != present[v]:
            exchange(t, v, 1.0 if wanted else -1.0)
            present[v] = wanted
            size = others + 1 if wanted else others


@inner
def _draw_present(rng: np.random.Generator, t: FloatArray, present: BoolArray, work: FloatArray, z: FloatArray) -> None:
    """Draw the coefficients given the set from the swept matrix: mean and inverse are its entries; zero elsewhere."""
    k = present.shape[0]
    for i in range(k):
        z[i + 1] = t[i, k] if present[i] else 0.0
        for j in range(i + 1):
            work[i, j] = -t[i, j] if present[i] and present[j] else 0.0
    for i in range(k):  # Cholesky factor of the covariance, row by row, absent ones skipped
        if not present[i]:
            continue
        for j in range(i + 1):
            if not present[j]:
                continue
            total = work[i, j]
            for m in range(j):
                total -= work[i, m] * work[j, m]
            if i == j:
                work[i, i] = math.sqrt(max(total, 0.0))
            else:
                work[i, j] = total / work[j, j] if work[j, j] > 0.0 else 0.0
        work[k, i] = rng.standard_normal()
        for m in range(i + 1):
            if present[m]:
                z[i + 1] += work[i, m] * work[k, m]


@inner
def _draw_slab(
    rng: np.random.Generator,
    z: FloatArray,
    present: BoolArray,
    slabs: FloatArray,
    log_slabs: FloatArray,
    work: FloatArray,
) -> int:
    """Draw which slab variance it is, given the coefficients that are present."""
    count, square = 0, 0.0
    for i in range(present.shape[0]):
        if present[i]:
            count += 1
            square += z[i + 1] * z[i + 1]
    top = -1e300
    for s in range(slabs.shape[0]):
        work[s] = log_slabs[s] - 0.5 * count * math.log(slabs[s]) - 0.5 * square / slabs[s]
        top = max(top, work[s])
    total = 0.0
    for s in range(slabs.shape[0]):
        total += math.exp(work[s] - top)
    level = rng.random() * total
    for s in range(slabs.shape[0]):
        level -= math.exp(work[s] - top)
        if level < 0.0:
            return s
    return int(slabs.shape[0] - 1)


@compiled
def run_chain(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    log_odds: FloatArray,
    log_size: FloatArray,
    certain: BoolArray,
    slabs: FloatArray,
    log_slabs: FloatArray,
    present: BoolArray,
    z: FloatArray,
    place: IntArray,
    out: FloatArray,
) -> None:
    """Go on with a chain and write intercept and coefficients of every step, shape (steps, k + 1).

    Parameters
    ----------
    rng
        Generator.
    rows
        Ones and terms, shape (n, k + 1).
    child
        Zeros and ones, shape (n,).
    log_odds, log_size, certain
        Prior of the edges: log odds (k,), log weight of the number of uncertain ones (free + 1,), certain ones (k,).
    slabs, log_slabs
        Slab variances and their log prior weights.
    present, z, place
        The chain's state, changed in place: the set (k,), intercept and coefficients (k + 1,), which slab (1,).
    out
        Where to write.
    """
    n, size = rows.shape
    k = size - 1
    information, t, work = np.empty((size, size)), np.empty((size, size)), np.zeros((size, size))
    weights = np.empty(slabs.shape[0])
    shift = np.zeros(size)
    for r in range(n):
        for i in range(size):
            shift[i] += rows[r, i] * (child[r] - 0.5)
    for step in range(out.shape[0]):
        _weighted_sums(rng, rows, z, information)
        tau = slabs[place[0]]
        _fill(t, information, shift, tau)
        for v in range(k):
            if present[v]:
                exchange(t, v, 1.0)
        _flip_edges(rng, t, present, certain, log_odds, log_size, tau)
        _draw_present(rng, t, present, work, z)
        rest = shift[0]
        for i in range(1, size):
            rest -= information[0, i] * z[i]
        z[0] = rest / information[0, 0] + rng.standard_normal() / math.sqrt(information[0, 0])
        place[0] = _draw_slab(rng, z, present, slabs, log_slabs, weights)
        for i in range(size):
            out[step, i] = z[i]
