"""Variational Bayes for one node or many: coordinate ascent on the mixing factors, each step exact.

The factor of coefficients (and noise precision) is a function of the weights ``w_i = E[1/t_i]`` alone: normal with
precision ``A = G + diag(w)``. The bound as a function of ``w`` is raised one coefficient at a time: with the others
held, the best ``w_i`` solves a scalar equation (`mixing.best_update`), and the change of ``A^-1`` has rank one. A round
over all k coefficients costs k^3 multiplications, as much as one inversion, but moves every coefficient to its
conditional optimum instead of one step towards it. After every second round the path is extrapolated (SQUAREM, Varadhan
and Roland 2008); what does not raise the bound is discarded, so that the bound never falls. A few plain rounds, which
update all factors at once as in the paper, come first: they choose the local optimum that the plain iteration finds.

Unknown noise: ``-shape log(rate + R/2)`` is convex in ``R``, so holding the mean noise precision during one step
minorises the bound, and it still cannot fall.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.mixtures.coefficients import (
    clip,
    dot,
    noise_part,
    refresh,
    round_full,
    round_low_rank,
    write_mean,
    write_second_moments,
)
from alldags.kernels.mixtures.mixing import bound_term, weight_and_slope
from alldags.kernels.noise import NoiseTerm, mean_precision
from alldags.typing import FloatArray, IntArray

_FIRST_EXTRAPOLATION = 4  # rounds; before, most coefficients still move of their own accord
_MANY = 100  # coefficients from which on those that have settled are left out of most rounds
_REFRESH = 20  # rounds after which the rounding errors of rank-one changes are cleared


@compiled
def global_update(spread: float, count: int, prior: float) -> float:
    """Return the best ``E[1/v]`` of a squared half-Cauchy variable ``v`` with scale ``prior**-0.5``.

    `spread` is ``1/2 sum x_i e_i`` over `count` coefficients. With an auxiliary inverse-gamma variable both factors are
    inverse-gamma and their joint fixed point ``g (1 / (prior + g) + spread) = (count + 1) / 2`` is a quadratic.
    """
    half = 0.5 * (count + 1.0)
    b = 1.0 + spread * prior - half
    c = half * prior
    root = math.sqrt(b * b + 4.0 * spread * c)
    return 2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * spread)


@compiled
def global_term(g: float, count: int, prior: float) -> float:
    """Return the global scale's share of the bound at ``E[1/v] = g``, constants left out."""
    return 0.5 * (count + 1.0) * math.log(g) - math.log(prior + g)


@inner
def set_weights(code: int, log_e: FloatArray, fixed: FloatArray, p: float, q: float, weight: FloatArray) -> None:
    """Write the weights that the mixing factors imply."""
    for i in range(fixed.shape[0]):
        weight[i] = fixed[i] if fixed[i] > 0.0 else weight_and_slope(code, math.exp(log_e[i]), p, q)[0]


@inner
def bound_of(
    code: int,
    log_e: FloatArray,
    fixed: FloatArray,
    weight: FloatArray,
    p: float,
    q: float,
    count: int,
    prior: float,
    log_determinant: float,
    noise_term: float,
) -> float:
    """Return the bound without constants; `count` is 0 unless the global scale is learned."""
    total = noise_term - 0.5 * log_determinant
    for i in range(fixed.shape[0]):
        if fixed[i] > 0.0:
            total += 0.5 * math.log(fixed[i])
        else:
            total += bound_term(code, math.exp(log_e[i]), weight[i], p, q)
    if count > 0:
        total += global_term(p, count, prior)
    return total


@compiled
def extrapolate(path: FloatArray, fixed: FloatArray) -> float:
    """Overwrite ``path[0]`` with SQUAREM's extrapolation of three states; return its length, at most 1 = no gain."""
    k = fixed.shape[0]
    first, second = 0.0, 0.0
    for i in range(k + 1):
        if i == k or fixed[i] == 0.0:
            r = path[1, i] - path[0, i]
            v = path[2, i] - path[1, i] - r
            first += r * r
            second += v * v
    if second == 0.0 or first <= second:
        return 1.0
    length = math.sqrt(first / second)
    for i in range(k + 1):
        r = path[1, i] - path[0, i]
        v = path[2, i] - path[1, i] - r
        path[0, i] += 2.0 * length * r + length * length * v
    return length


@inner
def ascend(
    factor: FloatArray,
    shift: FloatArray,
    fixed: FloatArray,
    noise: NoiseTerm,
    code: int,
    parameters: FloatArray,
    log_e: FloatArray,
    plain: int,
    tolerance: float,
    weight: FloatArray,
    mean: FloatArray,
    history: FloatArray,
) -> tuple[int, bool]:
    """Fit one node; write `weight`, `mean` (k,) and the bound after each round; return rounds and convergence.

    Parameters
    ----------
    factor
        The data's part ``G`` of the precision, shape (k, k); or, if its rank r is below k, ``F`` of shape (k, r) with
        ``G = F F'``.
    shift
        ``b``, shape (k,), or ``y`` of shape (r,) with ``b = F y``.
    fixed
        Weights of certain edges, 0 for all others, shape (k,).
    noise
        The noise function, see `noise_part`.
    code, parameters
        Mixing distribution; ``(p, q, learn, prior)``, see `mixing.weight_and_slope` and `global_update`. If the global
        scale is learned, ``p`` is its start and is overwritten.
    log_e
        Start: log second moments of the coefficients, shape (k,); overwritten.
    plain
        Number of rounds in which all factors are updated at once, before coordinate ascent starts.
    tolerance
        Stop when a round moves no mean by more than this, relative to the largest (at least 1), and the bound, relative
        to its size, by no more.
    weight, mean
        Results: ``E[1/t]`` and the mean of the coefficients, shape (k,).
    history
        Shape (max_rounds + 1,); the bound at the start and after each round, without constants.
    """
    k, size = factor.shape
    space = np.empty((4, size, size))
    state, kept_state = np.empty(size), np.empty(size)
    path = np.zeros((3, k + 1))
    floor, e, kept_weight, old_mean = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    count = 0
    for i in range(k):
        scale = factor[i, i] if size == k else dot(factor[i], factor[i])
        floor[i] = math.log(1e-10 / scale) if scale > 0.0 else math.log(1e-10)
        log_e[i] = clip(log_e[i], floor[i])
        if fixed[i] == 0.0 and parameters[2] > 0.0:
            count += 1
    p, q, prior = parameters[0], parameters[1], parameters[3]

    set_weights(code, log_e, fixed, p, q, weight)
    log_determinant, fit = refresh(factor, shift, weight, space, state)
    precision, noise_term = noise_part(fit, noise)
    write_mean(factor, weight, state, mean)
    bound = bound_of(code, log_e, fixed, weight, p, q, count, prior, log_determinant, noise_term)
    history[0] = bound
    steps, rounds, stale, converged = 0, 0, 0, False
    active, full = np.ones(k, dtype=np.bool_), True
    settled = 0.1 * tolerance
    while rounds + 1 < history.shape[0] and not converged:
        if steps == 0:
            path[0, :k] = log_e
            path[0, k] = math.log(p) if count > 0 else 0.0
        old_mean[:] = mean
        if rounds < plain and k > 0:
            write_second_moments(factor, weight, mean, precision, space[0], space[1, 0], e)
            for i in range(k):
                log_e[i] = clip(math.log(e[i]), floor[i])
            set_weights(code, log_e, fixed, p, q, weight)
            stale = _REFRESH
        elif size < k:
            log_determinant, fit = round_low_rank(
                factor,
                fixed,
                noise,
                code,
                p,
                q,
                floor,
                active,
                settled,
                log_e,
                weight,
                space,
                state,
                log_determinant,
                fit,
            )
        else:
            log_determinant, fit = round_full(
                fixed, noise, code, p, q, floor, active, settled, log_e, weight, space, state, log_determinant, fit
            )
        if stale >= _REFRESH:
            log_determinant, fit = refresh(factor, shift, weight, space, state)
            stale = 0
        write_mean(factor, weight, state, mean)
        precision, noise_term = noise_part(fit, noise)
        if count > 0:
            write_second_moments(factor, weight, mean, precision, space[0], space[1, 0], e)
            spread = 0.0
            for i in range(k):
                if fixed[i] == 0.0:
                    spread += 0.5 * weight[i] / p * e[i]
            g = global_update(spread, count, prior)
            for i in range(k):
                log_e[i] += math.log(p / g)  # the local factors stay as they are
            p = g
            set_weights(code, log_e, fixed, p, q, weight)
            log_determinant, fit = refresh(factor, shift, weight, space, state)
            write_mean(factor, weight, state, mean)
            precision, noise_term = noise_part(fit, noise)
        new = bound_of(code, log_e, fixed, weight, p, q, count, prior, log_determinant, noise_term)
        rounds += 1
        stale += 1
        history[rounds] = new
        change, largest = 0.0, 1.0
        for i in range(k):
            change = max(change, abs(mean[i] - old_mean[i]))
            largest = max(largest, abs(mean[i]))
        still = change <= tolerance * largest and abs(new - bound) <= tolerance * (1.0 + abs(new)) and rounds > plain
        converged = still and full
        full = still or k <= _MANY or not active.any()  # before stopping, all coefficients are looked at once more
        if full:
            active[:] = True
        bound = new
        steps += 1
        path[steps, :k] = log_e
        path[steps, k] = math.log(p) if count > 0 else 0.0
        if converged or steps < 2 or rounds + 1 >= history.shape[0]:
            continue
        steps = 0
        if rounds < plain + _FIRST_EXTRAPOLATION or extrapolate(path, fixed) <= 1.0:
            continue
        kept_weight[:] = weight
        kept_state[:] = state
        space[3] = space[0]
        kept = (p, log_determinant, fit)
        for i in range(k):
            log_e[i] = clip(path[0, i], floor[i])
        if count > 0:
            p = math.exp(path[0, k])
        set_weights(code, log_e, fixed, p, q, weight)
        log_determinant, fit = refresh(factor, shift, weight, space, state)
        precision, noise_term = noise_part(fit, noise)
        new = bound_of(code, log_e, fixed, weight, p, q, count, prior, log_determinant, noise_term)
        rounds += 1
        if new > bound:
            bound = new
            stale = 0
            write_mean(factor, weight, state, mean)
        else:
            p, log_determinant, fit = kept
            precision = mean_precision(noise, fit, 0)
            log_e[:] = path[2, :k]
            weight[:] = kept_weight
            state[:] = kept_state
            space[0] = space[3]
        history[rounds] = bound
    parameters[0] = p
    return rounds, converged


@compiled
def ascend_many(
    factors: FloatArray,
    shifts: FloatArray,
    fixed: FloatArray,
    sizes: IntArray,
    known: bool,
    noise: FloatArray,
    code: int,
    parameters: FloatArray,
    log_e: FloatArray,
    plain: int,
    tolerance: float,
    weight: FloatArray,
    mean: FloatArray,
    history: FloatArray,
) -> IntArray:
    """Fit many nodes in one call; every array holds the nodes' parts one after the other.

    `sizes` has a row ``(k, columns of factor)`` per node; `noise` a row ``(whole, shape)``; `parameters` a row
    per node. Returns a row ``(rounds, converged)`` per node.
    """
    out = np.empty((sizes.shape[0], 2), dtype=np.int64)
    f, s, v = 0, 0, 0
    for node in range(sizes.shape[0]):
        k, r = sizes[node]
        rounds, converged = ascend(
            factors[f : f + k * r].reshape((k, r)),
            shifts[s : s + r],
            fixed[v : v + k],
            NoiseTerm(known, noise[node, 0], noise[node, 1], 0.0),
            code,
            parameters[node],
            log_e[v : v + k],
            plain,
            tolerance,
            weight[v : v + k],
            mean[v : v + k],
            history[node],
        )
        out[node, 0], out[node, 1] = rounds, converged
        f, s, v = f + k * r, s + r, v + k
    return out
