"""Gibbs sampling with heavy tails: given the rows' weights, a regression with normal noise.

The weight of a row with residual e is ``w ~ Gamma((df + 1)/2, (df + s e^2)/2)`` given everything else. One step draws
all weights, goes once over the uncertain edges with coefficients and intercept integrated out, draws these, the
precision s and the slab's variance, which is in units of 1/s.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.row_weights import draw_present, draw_slab, fill, flip_edges
from alldags.kernels.sweep import exchange
from alldags.typing import BoolArray, FloatArray, IntArray


@inner
def _draw_weights(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    z: FloatArray,
    s: float,
    df: float,
    weights: FloatArray,
    information: FloatArray,
    shift: FloatArray,
) -> None:
    """Draw the weights of all rows, and sum ``s w z z'`` and ``s w z y``, shapes (k + 1, k + 1) and (k + 1,)."""
    n, size = rows.shape
    for i in range(size):
        shift[i] = 0.0
        for j in range(size):
            information[i, j] = 0.0
    for r in range(n):
        left = child[r]
        for i in range(size):
            left -= rows[r, i] * z[i]
        weights[r] = rng.standard_gamma(0.5 * (df + 1.0)) / (0.5 * (df + s * left * left))
        for i in range(size):
            scaled = s * weights[r] * rows[r, i]
            shift[i] += scaled * child[r]
            for j in range(i + 1):
                information[i, j] += scaled * rows[r, j]
    for i in range(size):
        for j in range(i):
            information[j, i] = information[i, j]


@inner
def _draw_precision(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    weights: FloatArray,
    present: BoolArray,
    z: FloatArray,
    tau: float,
    shape: float,
    rate: float,
) -> float:
    """Draw the precision given weights, coefficients and intercept."""
    n, size = rows.shape
    square, count = 0.0, 0
    for r in range(n):
        left = child[r]
        for i in range(size):
            left -= rows[r, i] * z[i]
        square += weights[r] * left * left
    for i in range(1, size):
        if present[i - 1]:
            count += 1
            square += z[i] * z[i] / tau
    return float(rng.standard_gamma(shape + 0.5 * (n + count)) / (rate + 0.5 * square))


@compiled
def run_student_chain(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    noise: FloatArray,
    starts: IntArray,
    log_odds: FloatArray,
    certain: BoolArray,
    log_size: FloatArray,
    slabs: FloatArray,
    log_slabs: FloatArray,
    present: BoolArray,
    z: FloatArray,
    place: IntArray,
    precision: FloatArray,
    out: FloatArray,
) -> None:
    """Go on with a chain and write intercept, coefficients and one over s of every step, shape (steps, k + 2).

    Parameters
    ----------
    rng
        Generator.
    rows
        Ones and columns, shape (n, k + 1).
    child
        Shape (n,).
    noise
        Degrees of freedom, and shape and rate of the precision's gamma prior.
    starts
        Where each group of columns begins, and k: shape (groups + 1,).
    log_odds, certain, log_size
        Prior of the groups: log odds and certainty, of each column's (k,), log weight of the number of uncertain ones.
    slabs, log_slabs
        Slab variances, in units of 1/s, and their log prior weights.
    present, z, place, precision
        The chain's state, changed in place: the set (k,), intercept and coefficients (k + 1,), which slab (1,), s (1,).
    out
        Where to write.
    """
    n, size = rows.shape
    k = size - 1
    information, t, work = np.empty((size, size)), np.empty((size, size)), np.zeros((size, size))
    shift, scaled = np.empty(size), np.empty(size)
    weights, levels = np.empty(n), np.empty(slabs.shape[0])
    for step in range(out.shape[0]):
        s = precision[0]
        _draw_weights(rng, rows, child, z, s, noise[0], weights, information, shift)
        tau = slabs[place[0]]
        fill(t, information, shift, tau / s)
        for v in range(k):
            if present[v]:
                exchange(t, v, 1.0)
        flip_edges(rng, t, starts, present, certain, log_odds, log_size, tau / s)
        draw_present(rng, t, present, work, z)
        rest = shift[0]
        for i in range(1, size):
            rest -= information[0, i] * z[i]
        z[0] = rest / information[0, 0] + rng.standard_normal() / math.sqrt(information[0, 0])
        precision[0] = _draw_precision(rng, rows, child, weights, present, z, tau, noise[1], noise[2])
        root = math.sqrt(precision[0])
        for i in range(size):
            scaled[i] = z[i] * root
            out[step, i] = z[i]
        place[0] = draw_slab(rng, scaled, present, slabs, log_slabs, levels)
        out[step, size] = 1.0 / precision[0]
