"""A sampler for counts: every edge, and every coefficient, is moved along the line on which the others follow it.

Coefficients that are present follow a move of the one in question as they would under the expansion, which keeps the
volume: along that line the posterior is log-concave in one number, whose mode and curvature a few steps of Newton's
iteration find. They do not depend on where on the line the chain is, so that a step proposed around the mode, from a
distribution with wide tails, can be weighed exactly (Metropolis-Hastings; for edges, reversible jumps along the line).
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.row_weights import draw_slab
from alldags.kernels.sweep import exchange
from alldags.typing import BoolArray, FloatArray, IntArray

_DEGREES = 5.0  # of freedom, of the proposal
_LARGEST = 700.0  # exp of more overflows
_NEWTON_STEPS = 30


@inner
def _along(
    child: FloatArray, eta: FloatArray, line: FloatArray, d: float, base: FloatArray, slope: FloatArray, tau: float
) -> tuple[float, float, float]:
    """Return the log posterior at a distance along the line, and its two derivatives.

    `eta` (n,) and `line` (n,) are the predictor at distance zero and its change; `base` and `slope` (k + 1,) the same
    of intercept and coefficients, of which all but the first have the slab.
    """
    value, first, second = 0.0, 0.0, 0.0
    for r in range(child.shape[0]):
        now = eta[r] + d * line[r]
        mean = math.exp(min(now, _LARGEST))
        value += child[r] * now - mean
        first += (child[r] - mean) * line[r]
        second -= mean * line[r] * line[r]
    for i in range(1, base.shape[0]):
        here = base[i] + d * slope[i]
        value -= 0.5 * here * here / tau
        first -= here * slope[i] / tau
        second -= slope[i] * slope[i] / tau
    return value, first, second


@inner
def _mode(
    child: FloatArray, eta: FloatArray, line: FloatArray, base: FloatArray, slope: FloatArray, tau: float
) -> tuple[float, float]:
    """Return mode and standard deviation along the line, about; they depend on the line only."""
    d = 0.0
    value, first, second = _along(child, eta, line, d, base, slope, tau)
    for _ in range(_NEWTON_STEPS):
        step = -first / min(second, -1e-300)
        tried = _along(child, eta, line, d + step, base, slope, tau)
        while not tried[0] >= value - 1e-9 and abs(step) > 1e-8:
            step *= 0.5
            tried = _along(child, eta, line, d + step, base, slope, tau)
        d += step
        value, first, second = tried
        if step * step * -second < 1e-4:
            break
    return d, 1.0 / math.sqrt(-second)


@inner
def _log_proposal(d: float, mode: float, spread: float) -> float:
    """Return the log density of the proposal, up to what all have in common."""
    u = (d - mode) / spread
    return -math.log(spread) - 0.5 * (_DEGREES + 1.0) * math.log1p(u * u / _DEGREES)


@inner
def _log_constant() -> float:
    """Return what `_log_proposal` leaves out."""
    return math.lgamma(0.5 * (_DEGREES + 1.0)) - math.lgamma(0.5 * _DEGREES) - 0.5 * math.log(_DEGREES * math.pi)


@inner
def _set_out(
    rows: FloatArray, t: FloatArray, present: BoolArray, v: int, z: FloatArray, eta: FloatArray, line: FloatArray,
    base: FloatArray, slope: FloatArray,
) -> None:  # fmt: skip
    """Write the line through the state along which coefficient `v` moves and the others follow; distance zero: v is 0.

    `t` is the information, slab and all, swept on everything present but `v`; intercept and coefficients count from 0.
    """
    n, size = rows.shape
    for i in range(size):
        slope[i] = -t[i, v] if i != v and (i == 0 or present[i - 1]) else 0.0
    slope[v] = 1.0
    for i in range(size):
        base[i] = z[i] - z[v] * slope[i] if i != v else 0.0
    for r in range(n):
        total = 0.0
        for i in range(size):
            total += rows[r, i] * slope[i]
        line[r] = total
        eta[r] -= z[v] * total


@inner
def _proposed(rng: np.random.Generator, mode: float, spread: float) -> float:
    """Draw a distance along the line."""
    return mode + spread * rng.standard_normal() / math.sqrt(rng.standard_gamma(0.5 * _DEGREES) / (0.5 * _DEGREES))


@inner
def _go(z: FloatArray, eta: FloatArray, line: FloatArray, base: FloatArray, slope: FloatArray, d: float) -> None:
    """Put the chain at a distance along the line; `eta` is the predictor at distance zero before."""
    for i in range(z.shape[0]):
        z[i] = base[i] + d * slope[i]
    for r in range(eta.shape[0]):
        eta[r] += d * line[r]


@inner
def _move(
    rng: np.random.Generator, child: FloatArray, eta: FloatArray, line: FloatArray, base: FloatArray,
    slope: FloatArray, tau: float, now: float,
) -> float:  # fmt: skip
    """Return where on the line to go on; `eta` is the predictor at distance zero, `now` the present distance."""
    mode, spread = _mode(child, eta, line, base, slope, tau)
    there = _proposed(rng, mode, spread)
    ratio = _along(child, eta, line, there, base, slope, tau)[0] - _log_proposal(there, mode, spread)
    ratio -= _along(child, eta, line, now, base, slope, tau)[0] - _log_proposal(now, mode, spread)
    return there if math.log(rng.random()) < ratio else now


@inner
def _step(
    rng: np.random.Generator, rows: FloatArray, child: FloatArray, t: FloatArray, present: BoolArray, v: int,
    z: FloatArray, eta: FloatArray, line: FloatArray, base: FloatArray, slope: FloatArray, tau: float, here: bool,
) -> float:  # fmt: skip
    """Put coefficient `v` to zero if it is `here`, else to a value that is proposed; return what having it adds.

    That is the log posterior with it over that without, less the log density of the proposal: what a reversible jump
    is weighed by. The matrix `t` is swept on all that is present but `v`.
    """
    _set_out(rows, t, present, v, z, eta, line, base, slope)
    mode, spread = _mode(child, eta, line, base, slope, tau)
    there = z[v] if here else _proposed(rng, mode, spread)
    gain = _along(child, eta, line, there, base, slope, tau)[0] - _along(child, eta, line, 0.0, base, slope, tau)[0]
    _go(z, eta, line, base, slope, 0.0 if here else there)
    return gain - _log_proposal(there, mode, spread) - _log_constant() - 0.5 * math.log(2.0 * math.pi * tau)


@inner
def _flip(
    rng: np.random.Generator, rows: FloatArray, child: FloatArray, t: FloatArray, present: BoolArray, first: int,
    last: int, z: FloatArray, eta: FloatArray, line: FloatArray, base: FloatArray, slope: FloatArray,
    kept_z: FloatArray, kept_eta: FloatArray, tau: float, odds: float,
) -> bool:  # fmt: skip
    """Flip the group of columns `first` to `last` - 1, or not; return whether it is present then.

    Its columns are put in one after the other, each along its own line, or taken out in reverse order: one jump, which
    is weighed as a whole.
    """
    here = present[first]
    for i in range(z.shape[0]):
        kept_z[i] = z[i]
    for r in range(eta.shape[0]):
        kept_eta[r] = eta[r]
    ratio = odds
    for i in range(first, last):
        v = last - 1 - (i - first) if here else i
        if here:
            exchange(t, v + 1, -1.0)
            present[v] = False
        ratio += _step(rng, rows, child, t, present, v + 1, z, eta, line, base, slope, tau, here)
        if not here:
            exchange(t, v + 1, 1.0)
            present[v] = True
    if math.log(rng.random()) < (-ratio if here else ratio):
        return not here
    for i in range(z.shape[0]):
        z[i] = kept_z[i]
    for r in range(eta.shape[0]):
        eta[r] = kept_eta[r]
    for i in range(first, last):
        v = i if here else last - 1 - (i - first)
        exchange(t, v + 1, 1.0 if here else -1.0)
        present[v] = here
    return here


@inner
def _fill(t: FloatArray, information: FloatArray, present: BoolArray, tau: float) -> None:
    """Write the information with the slab on its diagonal, swept on the intercept and what is present."""
    size = information.shape[0]
    for i in range(size):
        for j in range(size):
            t[i, j] = information[i, j]
        if i > 0:
            t[i, i] += 1.0 / tau
    exchange(t, 0, 1.0)
    for i in range(1, size):
        if present[i - 1]:
            exchange(t, i, 1.0)


@compiled
def run_count_chain(
    rng: np.random.Generator,
    rows: FloatArray,
    child: FloatArray,
    offset: FloatArray,
    information: FloatArray,
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
    child, offset
        Counts, and what is added to the predictor, shape (n,) each.
    information
        Of the expansion, shape (k + 1, k + 1): how the others follow a coefficient. Any positive definite one is right.
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
    t, eta, line = np.empty((size, size)), np.empty(n), np.empty(n)
    base, slope, levels = np.empty(size), np.empty(size), np.empty(slabs.shape[0])
    kept_z, kept_eta = np.empty(size), np.empty(n)
    for step in range(out.shape[0]):
        tau = slabs[place[0]]
        _fill(t, information, present, tau)
        count = 0
        for g in range(starts.shape[0] - 1):
            if present[starts[g]] and not certain[starts[g]]:
                count += 1
        for r in range(n):
            eta[r] = offset[r]
            for i in range(size):
                eta[r] += rows[r, i] * z[i]
        for g in range(starts.shape[0] - 1):
            first, last = starts[g], starts[g + 1]
            if certain[first]:
                continue
            others = count - 1 if present[first] else count
            odds = log_odds[first] + log_size[others + 1] - log_size[others]
            there = _flip(
                rng, rows, child, t, present, first, last, z, eta, line, base, slope, kept_z, kept_eta, tau, odds
            )
            count = others + 1 if there else others
        for v in range(size):
            if v > 0 and not present[v - 1]:
                continue
            exchange(t, v, -1.0)
            _set_out(rows, t, present, v, z, eta, line, base, slope)
            _go(z, eta, line, base, slope, _move(rng, child, eta, line, base, slope, tau, z[v]))
            exchange(t, v, 1.0)
        place[0] = draw_slab(rng, z, present, slabs, log_slabs, levels)
        for i in range(size):
            out[step, i] = z[i]
