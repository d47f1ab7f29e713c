"""Gibbs sampling of one node under a Gaussian scale mixture: one compiled chain.

A sweep draws noise precision and coefficients together given the variances ``t`` (the coefficients integrated out of
the former), then the variances given the standardised coefficients ``phi = theta sqrt(s)``.
"""

from __future__ import annotations

import math

import numpy as np

from alldags.kernels.jit import compiled, inner
from alldags.kernels.linalg import factorise, solve, solve_backward, solve_forward
from alldags.kernels.mixtures.coefficients import dot
from alldags.kernels.mixtures.mixing import LAPLACE, NEG, STUDENT_T
from alldags.kernels.noise import NoiseTerm, residual_rate
from alldags.typing import FloatArray

_SMALLEST, _LARGEST = 1e-100, 1e100  # of a variance: keeps products finite


@inner
def draw_precision(rng: np.random.Generator, fit: float, noise: NoiseTerm) -> tuple[float, float]:
    """Return a draw of the noise precision and the rate of its gamma distribution; (1, 0) if it is known."""
    if noise.known:
        return 1.0, 0.0
    rate = residual_rate(noise, fit)
    return rng.standard_gamma(noise.shape) / rate, rate


@inner
def draw_full(
    rng: np.random.Generator,
    gram: FloatArray,
    shift: FloatArray,
    noise: NoiseTerm,
    t: FloatArray,
    work: FloatArray,
    theta: FloatArray,
    mean: FloatArray,
) -> tuple[float, float]:
    """Draw coefficients given variances; write them and their conditional mean, return `draw_precision`'s pair."""
    k = gram.shape[0]
    for i in range(k):
        for h in range(i, k):
            work[i, h] = gram[i, h]
        work[i, i] += 1.0 / t[i]
        mean[i] = shift[i]
    factorise(work, 0, k, 0.0)
    solve_forward(work, 0, k, mean)
    s, rate = draw_precision(rng, dot(mean, mean), noise)
    for i in range(k):
        theta[i] = mean[i] + rng.standard_normal() / math.sqrt(s)
    solve_backward(work, 0, k, theta)
    solve_backward(work, 0, k, mean)
    return s, rate


@inner
def draw_low_rank(
    rng: np.random.Generator,
    factor: FloatArray,
    shift: FloatArray,
    noise: NoiseTerm,
    t: FloatArray,
    work: FloatArray,
    theta: FloatArray,
    mean: FloatArray,
) -> tuple[float, float]:
    """Do the same as `draw_full` on an r x r matrix, ``G = F F'`` (Bhattacharya, Chakraborty and Mallick 2016)."""
    k, r = factor.shape
    work[:] = 0.0
    for i in range(k):
        for a in range(r):
            scaled = factor[i, a] * t[i]
            for h in range(a, r):
                work[a, h] += scaled * factor[i, h]
    for a in range(r):
        work[a, a] += 1.0
    factorise(work, 0, r, 0.0)
    solved = shift.copy()
    solve_forward(work, 0, r, solved)
    s, rate = draw_precision(rng, dot(shift, shift) - dot(solved, solved), noise)
    solve_backward(work, 0, r, solved)
    scale = 1.0 / math.sqrt(s)
    rest = shift.copy()
    for i in range(k):
        theta[i] = scale * math.sqrt(t[i]) * rng.standard_normal()
        for a in range(r):
            rest[a] -= factor[i, a] * theta[i]
    for a in range(r):
        rest[a] -= scale * rng.standard_normal()
    solve(work, 0, r, rest)
    for i in range(k):
        mean[i] = t[i] * dot(factor[i], solved)
        theta[i] += t[i] * dot(factor[i], rest)
    return s, rate


@compiled
def draw_inverse_gaussian_variance(rng: np.random.Generator, alpha: float, size: float) -> float:
    """Draw ``t`` from the density proportional to ``t^-1/2 exp(-(alpha t + size^2 / t) / 2)``.

    ``1/t`` is inverse-Gaussian with mean ``sqrt(alpha)/size`` and shape ``alpha`` (Michael, Schucany and Haas 1976,
    in a form that does not cancel when ``size`` is small).
    """
    normal = rng.standard_normal()
    uniform = rng.random()
    root = math.sqrt(alpha)
    if size < 1e-150:
        return normal * normal / alpha
    r = normal * normal / (2.0 * root * size)
    big = 1.0 + r + math.sqrt(r * (r + 2.0))
    if uniform * (big + 1.0) < big:
        return big * size / root
    return size / (root * big)


@compiled
def draw_neg_rate(rng: np.random.Generator, kappa: float, nu: float, size: float) -> float:
    """Draw ``alpha`` of the normal-exponential-gamma prior given a coefficient of this size, ``t`` integrated out.

    ``u = sqrt(alpha)`` has the density proportional to ``u^(2 kappa) exp(-nu u^2 - size u)``. Rejection from the gamma
    distribution that replaces ``u^2`` by its tangent at ``m``; about seven in ten are accepted, whatever the numbers.
    """
    order = 2.0 * kappa + 1.0
    m = 2.0 * order / (size + math.sqrt(size * size + 8.0 * nu * order))
    rate = size + 2.0 * nu * m
    while True:
        u = rng.standard_gamma(order) / rate
        if rng.random() < math.exp(-nu * (u - m) ** 2):
            return max(u * u, _SMALLEST)


@inner
def draw_variances(
    rng: np.random.Generator,
    code: int,
    parameters: FloatArray,
    fixed: FloatArray,
    phi: FloatArray,
    t: FloatArray,
    shared: FloatArray,
) -> None:
    """Draw the variances given standardised coefficients, in place; see `run_chain` for the arguments."""
    p, q, learn, prior = parameters[0], parameters[1], parameters[2] > 0.0, parameters[3]
    k = phi.shape[0]
    count, spread = 0, 0.0
    for i in range(k):
        if fixed[i] > 0.0:
            continue
        if code == NEG:
            t[i] = draw_inverse_gaussian_variance(rng, draw_neg_rate(rng, p, q, abs(phi[i])), abs(phi[i]))
        elif code == LAPLACE:
            t[i] = draw_inverse_gaussian_variance(rng, p, abs(phi[i]))
        elif code == STUDENT_T:
            t[i] = (q + 0.5 * phi[i] ** 2) / rng.standard_gamma(p + 0.5)
        else:  # local variance t / global, with its auxiliary variable (Makalic and Schmidt 2016)
            local = t[i] / shared[0]
            auxiliary = (1.0 + 1.0 / local) / rng.standard_gamma(1.0)
            local = (1.0 / auxiliary + 0.5 * phi[i] ** 2 / shared[0]) / rng.standard_gamma(1.0)
            local = min(max(local, _SMALLEST), _LARGEST)
            count += 1
            spread += 0.5 * phi[i] ** 2 / local
            t[i] = local * shared[0]
        t[i] = min(max(t[i], _SMALLEST), _LARGEST)
    if learn and count > 0:
        auxiliary = (prior + 1.0 / shared[0]) / rng.standard_gamma(1.0)
        new = (1.0 / auxiliary + spread) / rng.standard_gamma(0.5 * (count + 1.0))
        new = min(max(new, _SMALLEST), _LARGEST)
        for i in range(k):
            if fixed[i] == 0.0:
                t[i] = min(max(t[i] * (new / shared[0]), _SMALLEST), _LARGEST)
        shared[0] = new


@compiled
def run_chain(
    rng: np.random.Generator,
    factor: FloatArray,
    shift: FloatArray,
    fixed: FloatArray,
    noise: NoiseTerm,
    code: int,
    parameters: FloatArray,
    t: FloatArray,
    warmup: int,
    thin: int,
    thetas: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    numbers: FloatArray,
) -> None:
    """Run one chain and write what it draws after `warmup` sweeps, every `thin`-th sweep.

    Parameters
    ----------
    rng
        The chain's own generator.
    factor, shift, fixed, noise, code
        As in `kernels.variational.ascend`.
    parameters
        ``(p, q, learn, prior)``: ``p`` is 1 over the squared global scale for the horseshoe.
    t
        Start: variances of the coefficients, shape (k,); overwritten.
    warmup, thin
        Sweeps before the first kept one, and from one kept to the next.
    thetas, means, variances
        Coefficients, their conditional means and ``t``, shape (draws, k).
    numbers
        Noise precision and rate of its gamma distribution, shape (draws, 2).
    """
    k, r = factor.shape
    work = np.empty((r, r))
    theta, mean, phi = np.empty(k), np.empty(k), np.empty(k)
    shared = np.array([1.0 / parameters[0]])  # the horseshoe's global variance
    kept = 0
    for i in range(k):
        if fixed[i] > 0.0:
            t[i] = 1.0 / fixed[i]
    for sweep in range(warmup + thin * thetas.shape[0]):
        if r < k:
            s, rate = draw_low_rank(rng, factor, shift, noise, t, work, theta, mean)
        else:
            s, rate = draw_full(rng, factor, shift, noise, t, work, theta, mean)
        if sweep >= warmup and (sweep - warmup) % thin == thin - 1:
            thetas[kept] = theta
            means[kept] = mean
            variances[kept] = t
            numbers[kept, 0], numbers[kept, 1] = s, rate
            kept += 1
        for i in range(k):
            phi[i] = theta[i] * math.sqrt(s)
        draw_variances(rng, code, parameters, fixed, phi, t, shared)
