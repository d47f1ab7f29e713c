"""The four mixing distributions as scalar functions of ``e = E[theta^2]`` (in units of the noise variance if unknown).

For a coefficient ``theta | t ~ N(0, t)`` with ``t`` from a mixing distribution, the variational factor of ``t`` only
enters through ``w = E[1/t]``, a decreasing function of ``e``, and through the term it adds to the evidence lower bound,

    phi(e) = max over q(t) of  -1/2 E[log t] - e/2 E[1/t] - KL(q || prior),   plus  w e / 2.

`weight_and_slope` gives ``w`` and ``d log w / d log e``; `bound_term` gives ``phi + w e / 2`` (constants left out, see
`alldags.engines.mixtures.node.bound_constant`).
"""

from __future__ import annotations

import math

from alldags.kernels.jit import compiled, inner

NEG, LAPLACE, STUDENT_T, HORSESHOE = 0, 1, 2, 3
_EULER = 0.5772156649015329


@compiled
def scaled_exponential_integrals(c: float) -> tuple[float, float]:
    """Return ``exp(c) E1(c)`` and ``exp(c) E2(c) = 1 - c exp(c) E1(c)``, the latter without cancellation."""
    if c < 1.0:
        term, total = 1.0, 0.0
        for i in range(1, 30):
            term *= -c / i
            total -= term / i
        first = math.exp(c) * (total - _EULER - math.log(c))
        return first, 1.0 - c * first
    return _continued_fraction(c, 1), _continued_fraction(c, 2)


@inner
def _continued_fraction(c: float, order: int) -> float:
    """Return ``exp(c) E_order(c)`` for ``c >= 1`` (Lentz's method)."""
    b = c + order
    d = 1.0 / b
    ratio, value = 1e300, d
    for i in range(1, 200):
        a = -i * (order - 1.0 + i)
        b += 2.0
        d = 1.0 / (a * d + b)
        ratio = b + a / ratio
        value *= ratio * d
        if abs(ratio * d - 1.0) < 1e-15:
            break
    return value


@compiled
def weight_and_slope(code: int, e: float, p: float, q: float) -> tuple[float, float]:
    """Return ``w = E[1/t]`` at ``e`` and its elasticity ``d log w / d log e`` (negative).

    ``(p, q)`` is ``(kappa, nu)``, ``(alpha, -)``, ``(shape, rate)`` or ``(E[1/global variance], -)``.
    """
    if code == NEG:
        # u = w e is the positive root of (nu/e) u^2 + u/2 = kappa + 1/2: the paper's updates of t and alpha, solved
        u = 2.0 * (p + 0.5) / (0.5 + math.sqrt(0.25 + 4.0 * (p + 0.5) * q / e))
        w = u / e
        return w, -(q * w + 0.5) / (2.0 * q * w + 0.5)
    if code == LAPLACE:
        return math.sqrt(p / e), -0.5
    if code == STUDENT_T:
        return (p + 0.5) / (q + 0.5 * e), -0.5 * e / (q + 0.5 * e)
    c = 0.5 * e * p
    first, second = scaled_exponential_integrals(c)
    x = second / (c * first)
    return p * x, (second - first) / (c * first * first * x)


@compiled
def bound_term(code: int, e: float, w: float, p: float, q: float) -> float:
    """Return a coefficient's share of the evidence lower bound when its mixing factor was updated at ``e``."""
    if code == NEG:
        return (p + 0.5) * math.log(w * w * e)
    if code == LAPLACE:
        return -0.5 * math.sqrt(p * e)
    if code == STUDENT_T:
        return -(p + 0.5) * math.log(q + 0.5 * e) + 0.5 * w * e
    first, _ = scaled_exponential_integrals(0.5 * e * p)
    return math.log(first) + 0.5 * w * e


@compiled
def best_update(code: int, e: float, data: float, pull: float, p: float, q: float) -> float:
    """Return the ``e`` at which one coefficient's mixing factor is optimal, all other factors held.

    Without its own prior the coefficient has precision `data` and, times the mean noise precision, squared shift
    `pull`: at weight ``w`` its second moment is ``v + pull v^2``, ``v = 1 / (w + data)``. Newton's method on
    ``log e``; a step that does not raise the bound is replaced by the plain update.
    """
    x = math.log(e)
    for _ in range(20):
        w, slope = weight_and_slope(code, math.exp(x), p, q)
        v = 1.0 / (w + data)
        second = v + pull * v * v
        gap = math.log(second) - x
        decay = 1.0 + slope * w * v * (1.0 + pull * v / (1.0 + pull * v))
        step = gap / max(decay, 1e-3)
        step = min(max(step, -4.0), 4.0)
        x += step
        if abs(step) < 1e-9:
            break
    best = math.exp(x)
    old, new = _one_bound(code, e, data, pull, p, q), _one_bound(code, best, data, pull, p, q)
    if new >= old:
        return best
    w, _ = weight_and_slope(code, e, p, q)
    v = 1.0 / (w + data)
    plain: float = v + pull * v * v
    return plain


@inner
def _one_bound(code: int, e: float, data: float, pull: float, p: float, q: float) -> float:
    w, _ = weight_and_slope(code, e, p, q)
    bound: float = -0.5 * math.log(w + data) + 0.5 * pull / (w + data) + bound_term(code, e, w, p, q)
    return bound
