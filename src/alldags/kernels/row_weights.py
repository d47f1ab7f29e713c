"""What all samplers with row weights share: given the weights, a regression with known noise.

One goes over the uncertain edges with coefficients and intercept integrated out, then draws these, and the slab's
variance, given the set.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import inner
from alldags.kernels.sweep import exchange
from alldags.typing import BoolArray, FloatArray, IntArray


@inner
def fill(t: FloatArray, information: FloatArray, shift: FloatArray, tau: float) -> None:
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
def _gain(t: FloatArray, v: int, here: bool, tau: float) -> float:
    """Return the log of the evidence with column `v` over that without, from the swept matrix in either state.

    The pivot is the Schur complement without the column.
    """
    k = t.shape[0] - 1
    pivot = -1.0 / t[v, v] if here else t[v, v]
    gain = 0.5 * (t[v, k] * t[v, k] * pivot if here else t[v, k] * t[v, k] / pivot)
    return gain - 0.5 * math.log(tau * pivot)


@inner
def _flip_group(t: FloatArray, first: int, last: int, here: bool, tau: float) -> float:
    """Sweep the columns `first` to `last` - 1 in, or out if they are `here`; return what they add to the evidence."""
    gain = 0.0
    for i in range(first, last):
        v = last - 1 - (i - first) if here else i  # the last in is the first out
        gain += _gain(t, v, here, tau)
        exchange(t, v, -1.0 if here else 1.0)
    return gain


@inner
def flip_edges(
    rng: np.random.Generator,
    t: FloatArray,
    starts: IntArray,
    present: BoolArray,
    certain: BoolArray,
    log_odds: FloatArray,
    log_size: FloatArray,
    tau: float,
) -> None:
    """Go once over the uncertain groups, each drawn given the others; `t` is swept on what is present.

    A single column tells what it adds without being swept; several are swept, and swept back if nothing changes.
    """
    size = 0
    for g in range(starts.shape[0] - 1):
        if present[starts[g]] and not certain[starts[g]]:
            size += 1
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        if certain[first]:
            continue
        here, alone = present[first], last - first == 1
        others = size - 1 if here else size
        gain = _gain(t, first, here, tau) if alone else _flip_group(t, first, last, here, tau)
        odds = log_odds[first] + log_size[others + 1] - log_size[others] + gain
        wanted = rng.random() * (1.0 + math.exp(-odds)) < 1.0 if odds > -700.0 else False
        if alone == (wanted != here):
            _flip_group(t, first, last, here if alone else not here, tau)
        for v in range(first, last):
            present[v] = wanted
        size = others + 1 if wanted else others


@inner
def draw_present(rng: np.random.Generator, t: FloatArray, present: BoolArray, work: FloatArray, z: FloatArray) -> None:
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
def draw_slab(
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
