"""Gaussian scale mixtures: priors without parent sets, for the engines `Variational`, `EM`, `ScaleMixtureGibbs`.

Section 4 of Horii (2021): instead of averaging over parent sets, every candidate edge is kept and its coefficient gets
a prior with much mass near zero and heavy tails,

    theta_i | t_i ~ N(0, t_i),    t_i ~ mixing distribution.

With unknown noise the coefficient scales with it, as the slab of `alldags.Prior` does:
``theta_i | t_i, s ~ N(0, t_i / s)``. So ``t`` is in working units squared if the noise is known, and in units of the
noise variance if it is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from alldags import checks
from alldags.errors import EngineError
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable

Mixing: TypeAlias = Literal["neg", "laplace", "student-t", "horseshoe"]

# hyperparameters each mixing distribution uses
_OWN: dict[str, tuple[str, ...]] = {
    "neg": ("kappa", "nu"),
    "laplace": ("alpha",),
    "student-t": ("shape", "rate"),
    "horseshoe": ("global_scale", "learn_global"),
}


@dataclass(frozen=True, slots=True)
class ScaleMixture:
    """The prior of coefficients whose edge is not certain, as a mixture of normals over their variance ``t``.

    Parameters
    ----------
    mixing
        ``"neg"``: ``t`` exponential with rate ``alpha / 2``, ``alpha ~ Gamma(kappa, nu)``: normal-exponential-gamma, as
        in the paper. ``"laplace"``: the same with ``alpha`` given (Bayesian lasso). ``"student-t"``: ``t``
        inverse-gamma. ``"horseshoe"``: ``sqrt(t)`` a half-Cauchy local scale times a global one.
    kappa, nu
        Of ``"neg"``. The density is flat up to ``|theta|`` of about ``sqrt(2 nu)`` and falls like
        ``|theta|**-(2 kappa + 1)`` beyond. Smaller `nu`: weaker coefficients survive, those that do not are pressed
        closer to zero. Larger `kappa`: strong coefficients are shrunk more.
    alpha
        Of ``"laplace"``. The prior is ``sqrt(alpha)/2 exp(-sqrt(alpha) |theta|)`` with variance ``2 / alpha``; larger
        values shrink every coefficient more, strong ones by as much as weak ones.
    shape, rate
        Of ``"student-t"``: ``t ~ InverseGamma(shape, rate)``; the prior is Student's t with ``2 shape`` degrees of
        freedom and scale ``sqrt(rate / shape)``. Smaller `shape`: heavier tails, strong coefficients are shrunk less.
        Smaller `rate`: weak ones are pressed closer to zero; both near zero is automatic relevance determination.
    global_scale
        Of ``"horseshoe"``: typical size of a coefficient that is not large. Smaller: more coefficients near zero.
    learn_global
        Of ``"horseshoe"``: the global scale of each node has a half-Cauchy prior with scale `global_scale` and is
        learned, instead of being `global_scale` itself. `EM` never learns it.

    Notes
    -----
    Conventions, where the paper contradicts itself:

    - its exponential density is printed with rate ``alpha``, but its updates and ``GIG(alpha, theta^2, 1/2)`` belong to
      rate ``alpha / 2``; here prior, updates and bound use ``alpha / 2``;
    - its update of ``alpha`` is printed as a product, which hardly shrinks; the mean of that gamma factor is the
      quotient ``(kappa + 1) / (nu + E[t] / 2)``;
    - its appendix has ``t`` under the root of ``E[t] = (1 + sqrt(E[alpha] E[theta^2])) / E[alpha]``.

    Examples
    --------
    The prior alone; the engines `Variational`, `EM` and `ScaleMixtureGibbs` take the same parameters.

    >>> import alldags as ad
    >>> ad.engines.ScaleMixture("student-t", shape=1.0).rate
    0.005
    """

    mixing: Mixing = "neg"
    kappa: float = 1e-6
    nu: float = 1e-6
    alpha: float = 4.0
    shape: float = 0.5
    rate: float = 0.005
    global_scale: float = 0.1
    learn_global: bool = True

    def __post_init__(self) -> None:
        if self.mixing not in get_args(Mixing):
            raise EngineError(f"mixing must be one of {get_args(Mixing)}, got {self.mixing!r}")
        for name in ("kappa", "nu", "alpha", "shape", "rate", "global_scale"):
            checks.positive(name, getattr(self, name), EngineError)
        checks.flag("learn_global", self.learn_global, EngineError)
        _check_used(self)

    @property
    def code(self) -> int:
        """Number of the mixing distribution in the compiled kernels."""
        return get_args(Mixing).index(self.mixing)

    @property
    def pair(self) -> tuple[float, float]:
        """The two numbers the compiled kernels take; for the horseshoe one over the squared global scale."""
        pairs = {
            "neg": (self.kappa, self.nu),
            "laplace": (self.alpha, 0.0),
            "student-t": (self.shape, self.rate),
            "horseshoe": (self.global_scale**-2, 0.0),
        }
        return pairs[self.mixing]


def _check_used(settings: ScaleMixture) -> None:
    """Refuse a hyperparameter of another mixing distribution: it would silently do nothing."""
    for field in fields(ScaleMixture)[1:]:
        if field.name not in _OWN[settings.mixing] and getattr(settings, field.name) != field.default:
            raise EngineError(
                f"{field.name} has no meaning for mixing={settings.mixing!r}, which has {_OWN[settings.mixing]}; "
                "leave it out"
            )


# -- the prior density -----------------------------------------------------------------------------------------------


def log_prior_density(theta: FloatArray | float, prior: ScaleMixture) -> FloatArray:
    """Return the log density of a coefficient with ``t`` integrated out (the global scale held at `global_scale`).

    Parameters
    ----------
    theta
        Any shape; in units of the noise standard deviation if that is unknown.
    prior
        Any of the engines, or a `ScaleMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.engines.mixtures.prior import ScaleMixture, log_prior_density
    >>> laplace = ScaleMixture("laplace", alpha=4.0)
    >>> np.exp(log_prior_density(0.0, laplace)).round(3).item()
    1.0
    """
    squared = np.asarray(theta, dtype=float) ** 2
    return _DENSITIES[prior.mixing](squared, prior)


def _log_laplace(squared: FloatArray, prior: ScaleMixture) -> FloatArray:
    return np.asarray(0.5 * math.log(prior.alpha) - math.log(2.0) - np.sqrt(prior.alpha * squared))


def _log_student_t(squared: FloatArray, prior: ScaleMixture) -> FloatArray:
    a, b = prior.shape, prior.rate
    constant = math.lgamma(a + 0.5) - math.lgamma(a) + a * math.log(b) - 0.5 * math.log(2.0 * math.pi)
    return np.asarray(constant - (a + 0.5) * np.log(b + 0.5 * squared))


def _log_horseshoe(squared: FloatArray, prior: ScaleMixture) -> FloatArray:
    from scipy.special import exp1

    c = np.maximum(0.5 * squared / prior.global_scale**2, 1e-300)  # the density has a pole at zero
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_integral = np.where(c < 500.0, c + np.log(exp1(c)), -np.log(c) - 1.0 / c)
    return np.asarray(log_integral - 1.5 * math.log(math.pi) - 0.5 * math.log(2.0) - math.log(prior.global_scale))


def _log_neg(squared: FloatArray, prior: ScaleMixture) -> FloatArray:
    log_integral, _ = neg_integrals(squared, prior.kappa, prior.nu)
    constant = math.log(prior.kappa) - 0.5 * math.log(2.0 * math.pi) - 0.5 * math.log(2.0 * prior.nu)
    return constant + log_integral


_DENSITIES: dict[str, Callable[[FloatArray, ScaleMixture], FloatArray]] = {
    "neg": _log_neg,
    "laplace": _log_laplace,
    "student-t": _log_student_t,
    "horseshoe": _log_horseshoe,
}


def neg_integrals(squared: FloatArray, kappa: float, nu: float) -> tuple[FloatArray, FloatArray]:
    """Return ``log I`` and ``-d log I / dx`` of ``I = int y^(kappa-1/2) e^(-xy) (1+y)^-(kappa+1) dy``, x = theta^2/4nu.

    ``I`` is the normal-exponential-gamma density without constants: with ``alpha`` integrated out, ``t / 2 nu`` has
    the density ``kappa (1 + t/2nu)^-(kappa+1)``, and ``y = 2 nu / t``. On ``r = log y`` the integrand is analytic in a
    strip of half-width pi/2, where the trapezoid rule with step 1/4 is exact to rounding.
    """
    x = np.asarray(squared, dtype=float)[..., None] / (4.0 * nu)
    low = -40.0 / (kappa + 0.5)
    r = np.arange(low, 80.0, 0.25) - np.log1p(x)
    log_terms = (kappa + 0.5) * r - x * np.exp(r) - (kappa + 1.0) * np.logaddexp(0.0, r)
    top = log_terms.max(axis=-1, keepdims=True)
    terms = np.exp(log_terms - top)
    total = terms.sum(axis=-1)
    slope = (terms * np.exp(r)).sum(axis=-1) / total
    return np.log(0.25 * total) + top[..., 0], slope
