"""The methods that are compared: a name for files, a label for people, an engine, a colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar
from zlib import crc32

import numpy as np

from alldags.engines import resolve
from alldags.errors import AlldagsError, did_you_mean
from alldags.nodes import Engine, NodePosterior, NodeProblem
from alldags.priors.mixtures import Horseshoe, ScaleMixture, StudentT
from alldags.priors.noise import Noise
from alldags.priors.prior import Prior

REFERENCE = "bayes"
TERMS = "terms"


@dataclass(frozen=True, slots=True)
class Method:
    """One estimator of the comparison.

    Parameters
    ----------
    name
        Key in result files.
    label
        Name in tables and figures.
    engine
        Makes the engine; None for estimators that are not Bayesian.
    colour, marker
        In figures.
    coefficients
        Scale mixture that the method brings along; None for the prior as it is.
    """

    name: str
    label: str
    engine: Callable[[], Engine] | None
    colour: str
    marker: str = "o"
    coefficients: ScaleMixture | None = None


@dataclass(frozen=True, slots=True)
class BoundedBayes:
    """The posterior over all parent sets at a bounded price: enumerated while that is quick, else a short sampling run.

    Thousands of data sets are averaged, so that a Monte-Carlo error of a tenth of each coefficient's posterior standard
    deviation does not show; a user with one data set would sample for longer.

    Parameters
    ----------
    max_exact
        Nodes with at most this many uncertain parents are enumerated.
    sweeps, max_sweeps
        Sweeps of each of four chains before convergence is first judged, and at most.
    """

    takes: ClassVar[tuple[type, ...]] = (Noise,)
    scope: ClassVar[str | None] = None
    estimate: ClassVar[str] = "posterior mean"

    max_exact: int = 16
    sweeps: int = 100
    max_sweeps: int = 500

    @property
    def name(self) -> str:
        return "bounded"

    def __call__(self, problem: NodeProblem, rng: np.random.Generator) -> NodePosterior:
        """Return the posterior of one node."""
        from alldags.engines.exact import Exact
        from alldags.engines.mcmc import MCMC

        if problem.free <= self.max_exact:
            return Exact(max_parents=self.max_exact)(problem, rng)
        return MCMC(sweeps=self.sweeps, max_sweeps=self.max_sweeps)(problem, rng)


# Away from zero the density is 1/|theta|, as that of the paper's NEG with kappa = nu = 1e-6, whose weights cost EM ten
# times as much to compute.
_ARD = StudentT(shape=1e-6, rate=1e-6)

# Colours: Okabe and Ito's palette, which survives most kinds of colour blindness.
_ALL = (
    Method("bayes", "Bayes optimal", BoundedBayes, "#000000", "o"),
    Method("vb", "VB (NEG)", partial(resolve, "vb"), "#0072B2", "s"),
    Method("em", "EM (ARD)", partial(resolve, "em"), "#56B4E9", "D", _ARD),
    Method("horseshoe", "VB (horseshoe)", partial(resolve, "vb"), "#009E73", "^", Horseshoe(global_scale=0.1)),
    Method("k2", "K2", partial(resolve, "k2"), "#D55E00", "v"),
    Method("full", "full model", partial(resolve, "full"), "#CC79A7", "P"),
    Method("ipw", "IPW", None, "#E69F00", "X"),
    Method("ipw_normalised", "IPW, normalised", None, "#8C6D1F", "<"),
    Method("least_squares", "least squares", None, "#7F7F7F", ">"),
    Method("difference", "difference in means", None, "#B0B0B0", "d"),
    Method(TERMS, "curves", None, "#882255", "*"),
    Method("lin", "Lin's regression", None, "#44AA99", "p"),
    Method("aipw", "AIPW, boosted", None, "#999933", "h"),
    Method("dml", "DML, boosted", None, "#661100", "H"),
    Method("bart", "BART", None, "#6699CC", "8"),
)
METHODS = {method.name: method for method in _ALL}
ENGINE_METHODS = tuple(method.name for method in _ALL if method.engine is not None)
BASELINES = ("ipw", "ipw_normalised", "least_squares", "difference")  # beside the paper's methods
RIVALS = ("ipw_normalised", "least_squares", "lin", "aipw", "dml", "bart")  # of curves

PRIORS: dict[str, Callable[[], Prior]] = {
    "paper": Prior.paper,
    "default": Prior,
    "default of 0.1": Prior.v01,
}


def check_methods(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names as a tuple; an unknown one is an error."""
    chosen = tuple(names)
    for name in chosen:
        if name not in METHODS:
            raise AlldagsError(
                f"there is no method {name!r}{did_you_mean(name, METHODS)}; choose from {sorted(METHODS)}"
            )
    return chosen


def make_engine(name: str) -> Engine:
    """Return the engine of a Bayesian method."""
    factory = METHODS[name].engine
    if factory is None:
        raise AlldagsError(f"the method {name!r} has no engine; those that have are {ENGINE_METHODS}")
    return factory()


def with_mixture(prior: Prior, name: str) -> Prior:
    """Return the prior as a method takes it."""
    return replace(prior, coefficients=METHODS[name].coefficients)


def child_rng(seed: int, *key: int | str) -> np.random.Generator:
    """Return the generator of one piece of work: a function of `seed` and `key` only, whoever runs it and when.

    ``child_rng(seed, r)`` is the generator of ``SeedSequence(seed).spawn(...)[r]``.
    """
    numbers = tuple(crc32(part.encode()) if isinstance(part, str) else part for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=numbers))
