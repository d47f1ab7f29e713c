"""Polya-Gamma Gibbs for yes/no children: given row weights, a regression with known noise (Polson et al. 2013).

``omega_i ~ PG(1, eta_i)`` makes the log-likelihood of a row exactly quadratic, ``(y - 1/2) eta - omega eta^2 / 2``. One
step draws all weights, goes once over the uncertain edges with coefficients and intercept integrated out, and draws
these, and the slab's variance, given the set.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.row_weights import draw_present, draw_slab, fill, flip_edges
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


@compiled
def run_chain(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    starts: IntArray,
    log_odds: FloatArray,
    certain: BoolArray,
    log_size: FloatArray,
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
        Ones and columns, shape (n, k + 1).
    child
        Zeros and ones, shape (n,).
    starts
        Where each group of columns begins, and k: shape (groups + 1,).
    log_odds, certain, log_size
        Prior of the groups: log odds and certainty, of each column's (k,), log weight of the number of uncertain ones.
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
        fill(t, information, shift, tau)
        for v in range(k):
            if present[v]:
                exchange(t, v, 1.0)
        flip_edges(rng, t, starts, present, certain, log_odds, log_size, tau)
        draw_present(rng, t, present, work, z)
        rest = shift[0]
        for i in range(1, size):
            rest -= information[0, i] * z[i]
        z[0] = rest / information[0, 0] + rng.standard_normal() / math.sqrt(information[0, 0])
        place[0] = draw_slab(rng, z, present, slabs, log_slabs, weights)
        for i in range(size):
            out[step, i] = z[i]
