"""All of many candidate parents given one parent set, without a matrix of all with all.

With ``A`` the precision and ``b`` the shift of the current setting, and ``A_P = L L'`` for the members ``P`` of the
current set in the order in which they came, a `Front` holds ``rows = L^-1 A_P.``, ``z = L^-1 b_P``, and of each
candidate the Schur complement ``diagonal = A_jj - sum rows_j^2`` and the residual shift ``linear = b_j - rows_j' z``.
So what the data say on any candidate given the set costs O(1), a member more O(m k), and a member less, which takes
those that came after it out and in again, at most O(m^2 k).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.noise import NoiseTerm, log_gain, residual_rate, variance_factor
from alldags.kernels.sampler.flip import TINY
from alldags.kernels.sampler.odds import conditional, drawn
from alldags.kernels.sampler.target import BETWEEN, INCLUSION, MEAN, SQUARE
from alldags.typing import BoolArray, FloatArray, IntArray

MEMBERS, FREE, FLIPS, SWAPS = range(4)  # places in Front.counts
QUADRATIC, LOG_WEIGHT = range(2)  # places in Front.numbers


class Candidates(NamedTuple):
    """One setting of k candidates: as a row of `Systems`, without cross-products."""

    factor: float
    scale: FloatArray  # (k,)
    shift: FloatArray  # (k,)
    log_factor: FloatArray  # (k,)
    log_size: FloatArray  # (free + 1,)
    has_determinant: bool
    noise: NoiseTerm
    certain: BoolArray  # (k,)


class Front(NamedTuple):
    """A parent set and what it leaves of all candidates; see the module's description."""

    rows: FloatArray  # (most, k), the leading counts[MEMBERS] are in use
    z: FloatArray  # (most,)
    members: IntArray  # (most,)
    place: IntArray  # (k,), position among the members, -1 if absent
    diagonal: FloatArray  # (k,)
    linear: FloatArray  # (k,)
    counts: IntArray  # (4,)
    numbers: FloatArray  # (2,)


def new_front(k: int, most: int) -> Front:
    """Return an uninitialised front with room for so many members; `start` puts it on the empty set."""
    return Front(
        rows=np.empty((most, k)),
        z=np.zeros(most),
        members=np.zeros(most, dtype=np.int64),
        place=np.full(k, -1),
        diagonal=np.zeros(k),
        linear=np.zeros(k),
        counts=np.zeros(4, dtype=np.int64),
        numbers=np.zeros(2),
    )


@compiled
def start(given: Candidates, front: Front) -> None:
    """Put the front on the empty set."""
    for j in range(front.place.shape[0]):
        front.place[j] = -1
        front.diagonal[j] = given.scale[j]
        front.linear[j] = given.shift[j]
    front.counts[MEMBERS] = 0
    front.counts[FREE] = 0
    front.numbers[QUADRATIC] = 0.0


@compiled
def push(given: Candidates, front: Front, columns: FloatArray, new: IntArray) -> None:
    """Put absent candidates `new` (m,) into the set; `columns` (m, k) are their cross-products with all."""
    diagonal, linear = front.diagonal, front.linear
    for i in range(new.shape[0]):
        m, v = front.counts[MEMBERS], new[i]
        row = front.rows[m]
        for j in range(row.shape[0]):
            row[j] = given.factor * columns[i, j]
        for h in range(m):
            other, share = front.rows[h], front.rows[h, v]
            for j in range(row.shape[0]):
                row[j] -= share * other[j]
        pivot = max(diagonal[v], TINY * given.scale[v])
        row[v] = pivot
        scale = 1.0 / math.sqrt(pivot)
        step = linear[v] * scale
        for j in range(row.shape[0]):
            row[j] *= scale
            diagonal[j] -= row[j] * row[j]
            linear[j] -= row[j] * step
        front.z[m] = step
        front.members[m] = v
        front.place[v] = m
        front.counts[MEMBERS] = m + 1
        front.counts[FREE] += 0 if given.certain[v] else 1
        front.numbers[QUADRATIC] += step * step


@compiled
def pop(given: Candidates, front: Front, first: int) -> None:
    """Take all members out that came at place `first` or later."""
    diagonal, linear = front.diagonal, front.linear
    while front.counts[MEMBERS] > first:
        m = front.counts[MEMBERS] - 1
        row, step, v = front.rows[m], front.z[m], front.members[m]
        for j in range(row.shape[0]):
            diagonal[j] += row[j] * row[j]
            linear[j] += row[j] * step
        front.place[v] = -1
        front.counts[MEMBERS] = m
        front.counts[FREE] -= 0 if given.certain[v] else 1
        front.numbers[QUADRATIC] -= step * step


@inner
def _solved(front: Front, r: int) -> tuple[FloatArray, float, float]:
    """Return ``L^-1 e_r``, shape (members,); and diagonal entry of ``A_P^-1`` and mean of the member at place r."""
    m = front.counts[MEMBERS]
    out = np.zeros(m)
    variance, mean = 0.0, 0.0
    for i in range(r, m):
        value = 1.0 if i == r else 0.0
        for h in range(r, i):
            value -= front.rows[h, front.members[i]] * out[h]
        out[i] = value / front.rows[i, front.members[i]]
        variance += out[i] * out[i]
        mean += out[i] * front.z[i]
    return out, variance, mean


@inner
def _given_others(given: Candidates, front: Front, v: int) -> tuple[float, float, float, float, int]:
    """Return what `odds.conditional` does for a candidate, and the number of other uncertain members."""
    r = front.place[v]
    others, diagonal, linear = front.counts[FREE], front.diagonal[v], front.linear[v]
    if r >= 0:
        _, variance, linear = _solved(front, r)
        diagonal, others = -variance, others - 1
    log_prior = given.log_factor[v] + given.log_size[others + 1] - given.log_size[others]
    residual = residual_rate(given.noise, front.numbers[QUADRATIC])
    log_odds, mean, variance, rate = conditional(
        r >= 0,
        diagonal,
        linear,
        TINY * given.scale[v],
        log_prior,
        residual,
        given.noise,
        others,
        given.has_determinant,
    )
    return log_odds, mean, variance, rate, others


@compiled
def log_odds_of_all(given: Candidates, front: Front, out: FloatArray) -> None:
    """Put the log odds of each uncertain candidate given all others into `out` (k,); minus infinity where certain."""
    for v in range(out.shape[0]):
        out[v] = -np.inf if given.certain[v] else _given_others(given, front, v)[0]


@compiled
def visit(
    given: Candidates,
    front: Front,
    hot: BoolArray,
    first: int,
    now: FloatArray,
    generator: np.random.Generator,
) -> int:
    """Draw the presence of each candidate from `first` on that is not hot, until one is to be flipped; return it, or k.

    What is expected of each given all others is added to `now` (4, k), rows as in a trace, and the log weight is that
    after the flip, which is left to the caller.
    """
    k = hot.shape[0]
    for v in range(first, k):
        if hot[v]:
            continue
        log_odds, mean, variance, rate, others = _given_others(given, front, v)
        probability = 1.0 / (1.0 + math.exp(-log_odds))
        into = generator.random() < probability
        if not given.noise.known:
            variance *= rate * variance_factor(given.noise, others + 1)
        part = probability * mean
        now[INCLUSION, v] += probability
        now[MEAN, v] += part
        now[BETWEEN, v] += part * mean
        if probability > 0.0:
            now[SQUARE, v] += probability * variance + part * mean
        if into != (front.place[v] >= 0):
            front.numbers[LOG_WEIGHT] += log_odds if into else -log_odds
            front.counts[FLIPS] += 1
            return v
    return k


@compiled
def log_absent(given: Candidates, front: Front, hot: BoolArray, first: int, total: FloatArray) -> int:
    """Add the log probabilities that candidates from `first` on that are not hot are absent to `total` (1,).

    Stops at the first that is present, which is left to the caller to take out; returns it, or k.
    """
    k = hot.shape[0]
    for v in range(first, k):
        if not hot[v]:
            total[0] -= math.log1p(math.exp(min(_given_others(given, front, v)[0], 700.0)))
            if front.place[v] >= 0:
                return v
    return k


@compiled
def exchange(given: Candidates, front: Front, weight: FloatArray, generator: np.random.Generator) -> tuple[int, int]:
    """Draw an uncertain member, and what is to take its place among all that are absent, by posterior odds.

    Its own weight is among the choices, so that nothing is rejected. Returns the place of the member and the
    candidate, which are left to the caller to exchange; the log weight is that after it. `weight` (k,) is scratch.
    """
    m, free, k = front.counts[MEMBERS], front.counts[FREE], weight.shape[0]
    if free == 0 or free + 1 == given.log_size.shape[0]:
        return -1, -1
    r, left_out = -1, int(generator.random() * free)
    while left_out >= 0:  # the left_out-th of the uncertain members
        r += 1
        if not given.certain[front.members[r]]:
            left_out -= 1
    out = front.members[r]
    solved, variance, mean = _solved(front, r)
    row = np.zeros(k)
    for h in range(r, m):
        for j in range(k):
            row[j] += solved[h] * front.rows[h, j]
    residual = residual_rate(given.noise, front.numbers[QUADRATIC] - mean * mean / variance)
    pivot = 1.0 / variance
    values = np.full(k, -np.inf)
    for u in range(k):
        weight[u] = -np.inf
        if given.certain[u] or (front.place[u] >= 0 and u != out):
            continue
        alpha, shift = pivot, mean * pivot
        if u != out:
            alpha = max(front.diagonal[u] + row[u] * row[u] * pivot, TINY * given.scale[u])
            shift = front.linear[u] + row[u] * mean * pivot
        value = given.log_factor[u] + log_gain(given.noise, residual, shift * shift / alpha, free - 1)
        if given.has_determinant:
            value -= 0.5 * math.log(alpha)
        values[u] = value
        weight[u] = value
    chosen = drawn(weight, k, generator)
    if chosen != out:
        front.numbers[LOG_WEIGHT] += values[chosen] - values[out]
        front.counts[SWAPS] += 1
    return r, chosen
