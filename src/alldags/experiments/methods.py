"""The methods that are compared: a name for files, a label for people, an engine, a colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np

from alldags.engines import resolve
from alldags.errors import AlldagsError, did_you_mean
from alldags.nodes import Engine, NodePosterior, NodeProblem
from alldags.priors.prior import Prior
from alldags.priors.slabs import LearnedSlab

REFERENCE = "bayes"


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
    """

    name: str
    label: str
    engine: Callable[[], Engine] | None
    colour: str
    marker: str = "o"


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


def _horseshoe() -> Engine:
    from alldags.engines.vb import Variational

    return Variational(mixing="horseshoe", global_scale=0.1)


def _em() -> Engine:
    """Student-t mixing with ``a = b = 1e-6``: away from zero the density is ``1/|theta|``, as that of the paper's NEG
    with ``kappa = nu = 1e-6``, whose weights cost ten times as much to compute.
    """
    from alldags.engines.em import EM

    return EM(mixing="student-t", shape=1e-6, rate=1e-6)


# Colours: Okabe and Ito's palette, which survives most kinds of colour blindness.
_ALL = (
    Method("bayes", "Bayes optimal", BoundedBayes, "#000000", "o"),
    Method("vb", "VB (NEG)", partial(resolve, "vb"), "#0072B2", "s"),
    Method("em", "EM (ARD)", _em, "#56B4E9", "D"),
    Method("horseshoe", "VB (horseshoe)", _horseshoe, "#009E73", "^"),
    Method("k2", "K2", partial(resolve, "k2"), "#D55E00", "v"),
    Method("full", "full model", partial(resolve, "full"), "#CC79A7", "P"),
    Method("ipw", "IPW", None, "#E69F00", "X"),
    Method("ipw_normalised", "IPW, normalised", None, "#8C6D1F", "<"),
    Method("least_squares", "least squares", None, "#7F7F7F", ">"),
    Method("difference", "difference in means", None, "#B0B0B0", "d"),
)
METHODS = {method.name: method for method in _ALL}
ENGINE_METHODS = tuple(method.name for method in _ALL if method.engine is not None)
BASELINES = tuple(method.name for method in _ALL if method.engine is None)

PRIORS: dict[str, Callable[[], Prior]] = {
    "paper": Prior.paper,
    "default": Prior,
    "learned slab": lambda: Prior(slab=LearnedSlab()),
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


def child_rng(seed: int, *key: int | str) -> np.random.Generator:
    """Return the generator of one piece of work: a function of `seed` and `key` only, whoever runs it and when.

    ``child_rng(seed, r)`` is the generator of ``SeedSequence(seed).spawn(...)[r]``.
    """
    numbers = tuple(crc32(part.encode()) if isinstance(part, str) else part for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=numbers))
