"""Gaussian scale mixtures: priors of coefficients that have no parent sets, for the engines `vb`, `em` and `gibbs`.

Section 4 of Horii (2021): instead of averaging over parent sets, every candidate edge is kept and its coefficient gets
a prior with much mass near zero and heavy tails,

    theta_i | t_i ~ N(0, t_i),    t_i ~ mixing distribution.

With unknown noise the coefficient scales with it, as the slab of `alldags.Prior` does:
``theta_i | t_i, s ~ N(0, t_i / s)``. So ``t`` is in working units squared if the noise is known, and in units of the
noise variance if it is not. Certain edges keep the slab.

Conventions, where the paper contradicts itself:

- its exponential density is printed with rate ``alpha``, but its updates and ``GIG(alpha, theta^2, 1/2)`` belong to
  rate ``alpha / 2``; here prior, updates and bound use ``alpha / 2``;
- its update of ``alpha`` is printed as a product, which hardly shrinks; the mean of that gamma factor is the quotient
  ``(kappa + 1) / (nu + E[t] / 2)``;
- its appendix has ``t`` under the root of ``E[t] = (1 + sqrt(E[alpha] E[theta^2])) / E[alpha]``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alldags import checks
from alldags.errors import PriorError
from alldags.typing import FloatArray


class ScaleMixture(ABC):
    """What every scale mixture does."""

    __slots__ = ()
    code: ClassVar[int]  # number of the mixing distribution in the compiled kernels
    engines: ClassVar[tuple[str, ...]] = ("vb", "em", "gibbs")  # those that take it, for messages

    @property
    @abstractmethod
    def pair(self) -> tuple[float, float]:
        """The two numbers the compiled kernels take."""

    @property
    @abstractmethod
    def log_constant(self) -> float:
        """What the kernels leave out of each coefficient's term of the evidence lower bound."""

    @property
    def learned_scale(self) -> float | None:
        """Prior scale of a global scale that is learned, None if there is none."""
        return None

    @abstractmethod
    def log_density(self, theta: FloatArray | float) -> FloatArray:
        """Return the log density of a coefficient with ``t`` integrated out, shape as `theta`.

        `theta` is in units of the noise standard deviation if that is unknown; a global scale is held fixed.
        """

    def mode_weight(self, squared: FloatArray) -> FloatArray | None:
        """Return ``-p'(theta) / (theta p(theta))`` of the density at ``theta^2``, shape as given.

        None if it is the weight of variational Bayes with ``theta^2`` in place of its mean.
        """
        del squared
        return None


@dataclass(frozen=True, slots=True)
class NEG(ScaleMixture):
    """Normal-exponential-gamma, the paper's: ``t`` exponential with rate ``alpha / 2``, ``alpha ~ Gamma(kappa, nu)``.

    The density is flat up to ``|theta|`` of about ``sqrt(2 nu)`` and falls like ``|theta|**-(2 kappa + 1)`` beyond.

    Parameters
    ----------
    kappa
        Larger: strong coefficients are shrunk more.
    nu
        Smaller: weaker coefficients survive, those that do not are pressed closer to zero.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Prior(coefficients=ad.priors.NEG(kappa=0.2, nu=0.01)).coefficients
    NEG(kappa=0.2, nu=0.01)
    """

    code: ClassVar[int] = 0

    kappa: float = 1e-6
    nu: float = 1e-6

    def __post_init__(self) -> None:
        checks.positive("NEG kappa", self.kappa, PriorError)
        checks.positive("NEG nu", self.nu, PriorError)

    @property
    def pair(self) -> tuple[float, float]:
        """Both parameters."""
        return self.kappa, self.nu

    @property
    def log_constant(self) -> float:
        """What the kernels leave out of the bound."""
        kappa = self.kappa
        gamma = kappa * math.log(self.nu) + math.log(kappa) - (kappa + 1.0) * math.log1p(kappa)
        return 0.5 * math.log(2.0 * math.pi) - math.log(2.0) + gamma + 0.5

    def log_density(self, theta: FloatArray | float) -> FloatArray:
        """Return the log density of a coefficient."""
        log_integral, _ = self._integrals(np.asarray(theta, dtype=float) ** 2)
        constant = math.log(self.kappa) - 0.5 * math.log(2.0 * math.pi) - 0.5 * math.log(2.0 * self.nu)
        return constant + log_integral

    def mode_weight(self, squared: FloatArray) -> FloatArray:
        """Return the weight with both ``t`` and ``alpha`` integrated out, where variational Bayes separates them."""
        return self._integrals(squared)[1] / (2.0 * self.nu)

    def _integrals(self, squared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``log I`` and ``-d log I / dx`` of ``I = int y^(kappa-1/2) e^(-xy) (1+y)^-(kappa+1) dy``.

        ``x = theta^2 / 4 nu``, and ``I`` is the density without constants: with ``alpha`` integrated out, ``t / 2 nu``
        has the density ``kappa (1 + t/2nu)^-(kappa+1)``, and ``y = 2 nu / t``. On ``r = log y`` the integrand is
        analytic in a strip of half-width pi/2, where the trapezoid rule with step 1/4 is exact to rounding.
        """
        kappa = self.kappa
        x = np.asarray(squared, dtype=float)[..., None] / (4.0 * self.nu)
        low = -40.0 / (kappa + 0.5)
        r = np.arange(low, 80.0, 0.25) - np.log1p(x)
        log_terms = (kappa + 0.5) * r - x * np.exp(r) - (kappa + 1.0) * np.logaddexp(0.0, r)
        top = log_terms.max(axis=-1, keepdims=True)
        terms = np.exp(log_terms - top)
        total = terms.sum(axis=-1)
        slope = (terms * np.exp(r)).sum(axis=-1) / total
        return np.log(0.25 * total) + top[..., 0], slope


@dataclass(frozen=True, slots=True)
class Laplace(ScaleMixture):
    """Bayesian lasso: ``t`` exponential with rate ``alpha / 2``, density ``sqrt(alpha)/2 exp(-sqrt(alpha) |theta|)``.

    Parameters
    ----------
    alpha
        The variance is ``2 / alpha``; larger values shrink every coefficient more, strong ones by as much as weak ones.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> np.exp(ad.priors.Laplace(alpha=4.0).log_density(0.0)).round(3).item()
    1.0
    """

    code: ClassVar[int] = 1

    alpha: float = 4.0

    def __post_init__(self) -> None:
        checks.positive("Laplace alpha", self.alpha, PriorError)

    @property
    def pair(self) -> tuple[float, float]:
        """The parameter, and 0."""
        return self.alpha, 0.0

    @property
    def log_constant(self) -> float:
        """What the kernels leave out of the bound."""
        return 0.5 * math.log(self.alpha) - math.log(2.0) + 0.5 * math.log(2.0 * math.pi)

    def log_density(self, theta: FloatArray | float) -> FloatArray:
        """Return the log density of a coefficient."""
        squared = np.asarray(theta, dtype=float) ** 2
        return np.asarray(0.5 * math.log(self.alpha) - math.log(2.0) - np.sqrt(self.alpha * squared))


@dataclass(frozen=True, slots=True)
class StudentT(ScaleMixture):
    """Student's t: ``t ~ InverseGamma(shape, rate)``; both near zero is automatic relevance determination.

    Parameters
    ----------
    shape
        Half the degrees of freedom. Smaller: heavier tails, strong coefficients are shrunk less.
    rate
        The scale is ``sqrt(rate / shape)``. Smaller: weak coefficients are pressed closer to zero.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.priors.StudentT(shape=1.0).rate
    0.005
    """

    code: ClassVar[int] = 2

    shape: float = 0.5
    rate: float = 0.005

    def __post_init__(self) -> None:
        checks.positive("StudentT shape", self.shape, PriorError)
        checks.positive("StudentT rate", self.rate, PriorError)

    @property
    def pair(self) -> tuple[float, float]:
        """Both parameters."""
        return self.shape, self.rate

    @property
    def log_constant(self) -> float:
        """What the kernels leave out of the bound."""
        return self.shape * math.log(self.rate) - math.lgamma(self.shape) + math.lgamma(self.shape + 0.5)

    def log_density(self, theta: FloatArray | float) -> FloatArray:
        """Return the log density of a coefficient."""
        squared, a, b = np.asarray(theta, dtype=float) ** 2, self.shape, self.rate
        constant = math.lgamma(a + 0.5) - math.lgamma(a) + a * math.log(b) - 0.5 * math.log(2.0 * math.pi)
        return np.asarray(constant - (a + 0.5) * np.log(b + 0.5 * squared))

    def mode_weight(self, squared: FloatArray) -> FloatArray:
        """Return the weight in closed form."""
        return np.asarray((self.shape + 0.5) / (self.rate + 0.5 * squared))


@dataclass(frozen=True, slots=True)
class Horseshoe(ScaleMixture):
    """Horseshoe: ``sqrt(t)`` is a half-Cauchy local scale times a global one.

    Parameters
    ----------
    global_scale
        Typical size of a coefficient that is not large. Smaller: more coefficients near zero.
    learn_global
        The global scale of each node has a half-Cauchy prior with scale `global_scale` and is learned, instead of being
        `global_scale` itself. `alldags.engines.EM` never learns it: the joint mode is at zero.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, prior=ad.Prior(coefficients=ad.priors.Horseshoe()), engine="vb")
    >>> bool(posterior.effect("smoking", "risk").mean > 0)
    True
    """

    code: ClassVar[int] = 3

    global_scale: float = 0.1
    learn_global: bool = True

    def __post_init__(self) -> None:
        checks.positive("Horseshoe global_scale", self.global_scale, PriorError)
        checks.flag("Horseshoe learn_global", self.learn_global, PriorError)

    @property
    def pair(self) -> tuple[float, float]:
        """One over the squared global scale, and 0."""
        return self.global_scale**-2, 0.0

    @property
    def log_constant(self) -> float:
        """What the kernels leave out of the bound, except for a learned global scale's part."""
        return -math.log(math.pi) - (0.0 if self.learn_global else math.log(self.global_scale))

    @property
    def learned_scale(self) -> float | None:
        """Prior scale of the global scale, if that is learned."""
        return self.global_scale if self.learn_global else None

    def log_density(self, theta: FloatArray | float) -> FloatArray:
        """Return the log density of a coefficient, with the global scale held at `global_scale`."""
        from scipy.special import exp1

        squared = np.asarray(theta, dtype=float) ** 2
        c = np.maximum(0.5 * squared / self.global_scale**2, 1e-300)  # the density has a pole at zero
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_integral = np.where(c < 500.0, c + np.log(exp1(c)), -np.log(c) - 1.0 / c)
        return np.asarray(log_integral - 1.5 * math.log(math.pi) - 0.5 * math.log(2.0) - math.log(self.global_scale))
