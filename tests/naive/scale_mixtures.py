"""Slow, obvious twins of the scale-mixture engines: numerical integration over the variances, literal updates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import integrate, special, stats

from alldags.priors.mixtures import NEG, Horseshoe, Laplace, StudentT
from alldags.priors.noise import KnownNoise, UnknownNoise


def under(problem, prior):
    """The problem with this scale mixture as prior."""
    return replace(problem, settings=tuple(replace(one, coefficients=prior) for one in problem.settings))


def large_graph_rows(rng, n, n1=30, n2=30, p=0.5):
    """The paper's large graph: rows of W, X, Z (n, n1 + 1 + n2) and the outcome Y (n,); slab and noise variance 1."""

    def coefficients(size):
        return rng.standard_normal(size) * (rng.random(size) < p)

    w = rng.standard_normal((n, n1))
    x = w @ coefficients(n1) + rng.standard_normal(n)
    wx = np.column_stack([w, x])
    z = np.column_stack([wx @ coefficients(n1 + 1) + rng.standard_normal(n) for _ in range(n2)])
    y = np.column_stack([w, z]) @ coefficients(n1 + n2) + rng.standard_normal(n)
    return np.column_stack([w, x, z]), y


def log_mixing_density(log_t, prior, global_scale=None):
    """Log density of ``log t``, from the textbook densities of t."""
    t = np.exp(log_t)
    if isinstance(prior, NEG):  # exponential with rate alpha/2, alpha ~ Gamma(kappa, nu) integrated out: Lomax
        value = stats.lomax(c=prior.kappa, scale=2 * prior.nu).logpdf(t)
    elif isinstance(prior, Laplace):
        value = stats.expon(scale=2 / prior.alpha).logpdf(t)
    elif isinstance(prior, StudentT):
        value = stats.invgamma(prior.shape, scale=prior.rate).logpdf(t)
    else:  # sqrt(t) half-Cauchy
        scale = prior.global_scale if global_scale is None else global_scale
        value = stats.halfcauchy(scale=scale).logpdf(np.sqrt(t)) - np.log(2 * np.sqrt(t))
    return value + log_t


@dataclass
class Integrals:
    """Posterior summaries of a node by numerical integration."""

    log_evidence: float
    mean: np.ndarray
    second_moment: np.ndarray
    noise_variance: float
    precision: np.ndarray  # E[1/t]
    shrinkage: np.ndarray


def integrate_node(problem, prior, step=0.25, low=-60.0, high=40.0):
    """Integrate over ``log t`` of one or two coefficients (and the global scale, if learned) by the trapezoid rule.

    Given t the node is conjugate; on log t all integrands are analytic and decay at both ends, so that the rule
    converges geometrically.
    """
    k = problem.k
    grid = np.arange(low, high, step)
    learn = isinstance(prior, Horseshoe) and prior.learn_global
    log_scales = np.arange(-20.0, 20.0, 0.5) if learn else np.zeros(1)
    certain = problem.certain
    axes = [np.array([math.log(problem.settings[0].slab_variance)]) if c else grid for c in certain]
    log_t = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])  # (k, points)
    log_prior = np.full([len(axis) for axis in axes], -np.inf)
    for log_scale in log_scales:
        scale = math.exp(log_scale) if learn else None
        term = np.zeros([1] * k)
        for i in range(k):
            if not certain[i]:
                along = log_mixing_density(axes[i], prior, scale) + math.log(step)
                term = term + along.reshape([-1 if axis == i else 1 for axis in range(k)])
        if learn:
            term = term + stats.halfcauchy(scale=prior.global_scale).logpdf(scale) + log_scale + math.log(0.5)
        log_prior = np.logaddexp(log_prior, term)
    log_prior = log_prior.ravel()
    return _summaries(problem, log_t, log_prior)


def _summaries(problem, log_t, log_prior):
    setting = problem.settings[0]
    known = isinstance(setting.noise, KnownNoise)
    s = setting.noise.precision if known else 1.0
    g, b = s * problem.gram, s * problem.cross
    w = np.exp(-log_t)
    k = problem.k
    if k == 1:
        determinant = g[0, 0] + w[0]
        inverse = np.array([[1 / determinant]])
    else:
        a, d, c = g[0, 0] + w[0], g[1, 1] + w[1], g[0, 1] + 0 * w[0]
        determinant = a * d - c * c
        inverse = np.array([[d, -c], [-c, a]]) / determinant
    mean = np.einsum("ijp,j->ip", inverse, b)
    fit = b @ mean
    log_like = -0.5 * np.log(determinant) - 0.5 * log_t.sum(axis=0)
    if known:
        log_like += 0.5 * problem.n * math.log(s / (2 * math.pi)) - 0.5 * s * problem.total + 0.5 * fit
        variance, spread = np.full(len(fit), 1 / s), np.ones(len(fit))
    else:
        shape, rate = setting.noise.shape + problem.n / 2, setting.noise.rate + 0.5 * (problem.total - fit)
        log_like += math.lgamma(shape) - shape * np.log(rate) - 0.5 * problem.n * math.log(2 * math.pi)
        if setting.noise.is_proper:
            log_like += setting.noise.shape * math.log(setting.noise.rate) - math.lgamma(setting.noise.shape)
        variance = spread = rate / (shape - 1)
    log_weight = log_like + log_prior
    log_evidence = float(special.logsumexp(log_weight))
    p = np.exp(log_weight - log_evidence)
    data = np.diag(g)[:, None]
    return Integrals(
        log_evidence,
        mean @ p,
        np.einsum("ip,jp,p->ij", mean, mean, p) + np.einsum("ijp,p->ij", inverse, p * spread),
        float(variance @ p),
        w @ p,
        (data / (data + w)) @ p,
    )


def density_by_integration(theta, prior):
    """Prior density of one coefficient, integrated over its variance."""
    grid = np.arange(-80.0, 60.0, 0.05)
    log_terms = log_mixing_density(grid, prior) + stats.norm.logpdf(theta, 0.0, np.exp(0.5 * grid))
    return float(np.exp(special.logsumexp(log_terms)) * 0.05)


# -- variational Bayes, literally ------------------------------------------------------------------------------------


def paper_iteration(problem, kappa, nu, rounds, tolerance=0.0):
    """The paper's updates with its misprints corrected, known noise: theta, then t, then alpha, over and over."""
    s = problem.settings[0].noise.precision
    k = problem.k
    inverse_t = np.ones(k)
    alpha = np.ones(k)
    old = np.full(k, np.inf)
    for count in range(1, rounds + 1):
        done = count
        sigma = np.linalg.inv(s * problem.gram + np.diag(inverse_t))
        theta = s * sigma @ problem.cross
        e = theta**2 + np.diag(sigma)
        t = (1 + np.sqrt(alpha * e)) / alpha
        inverse_t = np.sqrt(alpha / e)
        alpha = (kappa + 1) / (nu + t / 2)
        if np.abs(theta - old).max() < tolerance:
            break
        old = theta
    return theta, sigma, done


def mixing_weight(e, prior, precision_scale):
    """``E[1/t]`` of the factor ``q(t) ~ p(t) t^-1/2 exp(-e/2t)``, by quadrature; NEG by its two literal updates."""
    if isinstance(prior, NEG):
        alpha = 1.0
        for _ in range(20000):
            t = (1 + math.sqrt(alpha * e)) / alpha
            alpha = (prior.kappa + 1) / (prior.nu + t / 2)
        return math.sqrt(alpha / e)
    grid = np.arange(-80.0, 60.0, 0.05)
    scale = precision_scale**-0.5
    log_q = log_mixing_density(grid, prior, scale) - 0.5 * grid - 0.5 * e * np.exp(-grid)
    q = np.exp(log_q - log_q.max())
    return float((q * np.exp(-grid)).sum() / q.sum())


def literal_bound(problem, prior, e_used):
    """Evidence lower bound from its definition, given the second moments at which the mixing factors were updated.

    ``E_q[log p(data, theta, s | t)] + H(q(theta, s)) - sum KL(q(t) || p(t))`` with q(theta, s) optimal; the expected
    log variances and divergences by quadrature on log t. Global scale held fixed.
    """
    w, prior_part = [], 0.0
    for e in e_used:
        if isinstance(prior, NEG):
            weight, part = _neg_parts(e, prior)
        else:
            weight, part = _quadrature_parts(e, prior)
        w.append(weight)
        prior_part += part
    setting = problem.settings[0]
    known = isinstance(setting.noise, KnownNoise)
    s = setting.noise.precision if known else 1.0
    a = s * problem.gram + np.diag(w)
    b = s * problem.cross
    value = prior_part - 0.5 * np.linalg.slogdet(a)[1]
    fit = b @ np.linalg.solve(a, b)
    if known:
        return value + 0.5 * problem.n * math.log(s / (2 * math.pi)) - 0.5 * (s * problem.total - fit)
    shape, rate = setting.noise.shape + problem.n / 2, setting.noise.rate + 0.5 * (problem.total - fit)
    value += math.lgamma(shape) - shape * math.log(rate) - 0.5 * problem.n * math.log(2 * math.pi)
    if setting.noise.is_proper:
        value += setting.noise.shape * math.log(setting.noise.rate) - math.lgamma(setting.noise.shape)
    return value


def _quadrature_parts(e, prior):
    step = 0.02
    grid = np.arange(-90.0, 60.0, step)
    log_p = log_mixing_density(grid, prior)
    log_q = log_p - 0.5 * grid - 0.5 * e * np.exp(-grid)
    log_q -= special.logsumexp(log_q) + math.log(step)
    q = np.exp(log_q) * step
    weight = float(q @ np.exp(-grid))
    divergence = float(q @ np.where(q > 0, log_q - log_p, 0.0))
    return weight, -0.5 * float(q @ grid) - divergence


def _neg_parts(e, prior):
    """q(t) generalised inverse Gaussian, q(alpha) gamma, at their joint fixed point; entropies from scipy."""
    kappa, nu = prior.kappa, prior.nu
    alpha = 1.0
    for _ in range(20000):
        t = (1 + math.sqrt(alpha * e)) / alpha
        alpha = (kappa + 1) / (nu + t / 2)
    q_alpha = stats.gamma(kappa + 1, scale=1 / (nu + t / 2))
    q_t = stats.geninvgauss(0.5, math.sqrt(alpha * e), scale=math.sqrt(e / alpha))
    mean_log_alpha = float(special.digamma(kappa + 1) - math.log(nu + t / 2))
    mean_log_t = _expect(q_t, np.log)
    entropy_t = -_expect(q_t, q_t.logpdf)
    value = -0.5 * mean_log_t + (mean_log_alpha - math.log(2)) - alpha * t / 2
    value += kappa * math.log(nu) - math.lgamma(kappa) + (kappa - 1) * mean_log_alpha - nu * alpha
    return math.sqrt(alpha / e), value + entropy_t + float(q_alpha.entropy())


def _expect(distribution, function):
    def integrand(x):
        t = math.exp(x)
        density = distribution.pdf(t) * t
        return density * function(t) if density > 1e-300 else 0.0

    center = math.log(distribution.mean())
    return sum(
        integrate.quad(integrand, a, b, limit=400, epsabs=1e-13)[0]
        for a, b in ((center - 60, center - 8), (center - 8, center), (center, center + 8))
    )


# -- Gibbs sampling, literally ---------------------------------------------------------------------------------------


def draw_mixing(rng, prior, size):
    """Variances from the mixing distribution (global scale fixed, or one draw of it for all)."""
    if isinstance(prior, NEG):
        return rng.exponential(2.0 / rng.gamma(prior.kappa, 1.0 / prior.nu, size))
    if isinstance(prior, Laplace):
        return rng.exponential(2.0 / prior.alpha, size)
    if isinstance(prior, StudentT):
        return prior.rate / rng.standard_gamma(prior.shape, size)
    scale = prior.global_scale * (abs(rng.standard_cauchy()) if prior.learn_global else 1.0)
    return (scale * np.abs(rng.standard_cauchy(size))) ** 2


def chain(rng, problem, prior, t, warmup, draws, factor=None):
    """One Gibbs chain with numpy's linear algebra, drawing in the compiled chain's order; `factor` = (F, y)."""
    setting = problem.settings[0]
    known = isinstance(setting.noise, KnownNoise)
    scale = setting.noise.precision if known else 1.0
    g, b, total = scale * problem.gram, scale * problem.cross, scale * problem.total
    k = problem.k
    t = np.where(problem.certain, setting.slab_variance, t)
    free = np.flatnonzero(~problem.certain)
    global_variance = getattr(prior, "global_scale", 1.0) ** 2
    out = []
    for sweep in range(warmup + draws):
        a = g + np.diag(1.0 / t)
        mean = np.linalg.solve(a, b)
        rate = 0.0 if known else setting.noise.rate + 0.5 * (total - b @ mean)
        s = 1.0 if known else rng.standard_gamma(setting.noise.shape + problem.n / 2) / rate
        if factor is None:
            noise = np.array([rng.standard_normal() for _ in range(k)])
            theta = mean + np.linalg.solve(np.linalg.cholesky(a).T, noise) / math.sqrt(s)
        else:
            f, y = factor
            u = np.array([math.sqrt(t[i] / s) * rng.standard_normal() for i in range(k)])
            v = f.T @ u + np.array([rng.standard_normal() for _ in range(len(y))]) / math.sqrt(s)
            theta = u + t * (f @ np.linalg.solve(f.T @ np.diag(t) @ f + np.eye(len(y)), y - v))
        if sweep >= warmup:
            out.append((theta.copy(), mean.copy(), t.copy(), np.array([s, rate])))
        phi2 = s * theta**2
        spread = 0.0
        for i in free:
            if isinstance(prior, NEG):
                t[i] = _draw_gig(rng, _draw_neg_rate(rng, prior, math.sqrt(phi2[i])), math.sqrt(phi2[i]))
            elif isinstance(prior, Laplace):
                t[i] = _draw_gig(rng, prior.alpha, math.sqrt(phi2[i]))
            elif isinstance(prior, StudentT):
                t[i] = (prior.rate + phi2[i] / 2) / rng.standard_gamma(prior.shape + 0.5)
            else:
                auxiliary = (1 + global_variance / t[i]) / rng.standard_gamma(1.0)
                local = (1 / auxiliary + phi2[i] / (2 * global_variance)) / rng.standard_gamma(1.0)
                spread += phi2[i] / (2 * local)
                t[i] = local * global_variance
        if isinstance(prior, Horseshoe) and prior.learn_global and len(free):
            auxiliary = (prior.global_scale**-2 + 1 / global_variance) / rng.standard_gamma(1.0)
            new = (1 / auxiliary + spread) / rng.standard_gamma((len(free) + 1) / 2)
            t[free] *= new / global_variance
            global_variance = new
    return [np.array(part) for part in zip(*out, strict=True)]


def _draw_neg_rate(rng, prior, size):
    """Rejection sampling of alpha | theta: the target over the envelope, both written out."""
    order, nu = 2 * prior.kappa + 1, prior.nu
    m = (-size + math.sqrt(size**2 + 8 * nu * order)) / (4 * nu)
    while True:
        u = rng.standard_gamma(order) / (size + 2 * nu * m)
        target = -nu * u**2 - size * u
        envelope = -nu * (2 * u * m - m**2) - size * u
        if rng.random() < math.exp(target - envelope):
            return u**2


def _draw_gig(rng, alpha, size):
    """Textbook inverse-Gaussian draw of 1/t, mean sqrt(alpha)/size, shape alpha."""
    y, uniform = rng.standard_normal() ** 2, rng.random()
    mu = math.sqrt(alpha) / size
    x = mu + mu**2 * y / (2 * alpha) - mu / (2 * alpha) * math.sqrt(4 * mu * alpha * y + mu**2 * y**2)
    return 1 / x if uniform <= mu / (mu + x) else x / mu**2


NOISES = {"known": KnownNoise(1.3), "unknown": UnknownNoise(1.5, 0.8)}
