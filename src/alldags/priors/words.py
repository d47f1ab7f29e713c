"""A prior in words, for the methods section of a paper."""

from __future__ import annotations

from collections.abc import Sequence

from alldags.priors.noise import EquivalentNoise, KnownNoise, Noise
from alldags.priors.prior import Prior
from alldags.priors.slabs import GPrior, HyperG, LearnedSlab, Slab, ZellnerSiow
from alldags.text import some


def prior_words(prior: Prior, learned: Sequence[str] = ()) -> str:
    """Return one or two sentences that say all there is to a prior.

    Parameters
    ----------
    prior
        What is said.
    learned
        Variables of whose very many candidate causes nobody said how many act on them.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.priors.words import prior_words
    >>> print(prior_words(ad.Prior.v01()))
    Coefficients of edges that are present had independent normal priors with 1 times the noise variance, variables being standardized. The noise variance of each regression had a weakly informative prior. Edges were present with the stated probabilities.
    """  # noqa: E501
    parts = [_coefficients(prior), _noise(prior.noise), _edges(prior, learned), _link(prior)]
    return " ".join(part for part in parts if part)


def _coefficients(prior: Prior) -> str:
    units = "variables being standardized" if prior.units == "standardized" else "in the units of the data"
    if prior.coefficients is not None:
        return f"Coefficients had the scale-mixture prior {prior.coefficients!r}, {units}."
    if prior.slab is None:
        relative = "" if isinstance(prior.noise, KnownNoise) else " times the noise variance"
        return (
            f"Coefficients of edges that are present had independent normal priors with "
            f"{'variance ' if not relative else ''}{prior.fixed_slab:g}{relative}, {units}."
        )
    return f"Coefficients of edges that are present had {_slab(prior.slab)}, {units}."


def _size(value: float) -> str:
    """Format a variance: two digits, thousands written out."""
    return f"{float(f'{value:.2g}'):,.0f}" if 1e3 <= value < 1e9 else f"{value:.2g}"


def _slab(slab: Slab) -> str:
    if isinstance(slab, LearnedSlab):
        return (
            "independent normal priors whose variance, relative to the noise, was averaged over a grid from "
            f"{_size(slab.low)} to {_size(slab.high)}, log-normal around {slab.median:g}"
        )
    names = {GPrior: "a g-prior", HyperG: "a hyper-g prior", ZellnerSiow: "a Zellner-Siow prior"}
    return f"{names.get(type(slab), 'the prior')} ({slab!r})"


def _noise(noise: Noise) -> str:
    if isinstance(noise, KnownNoise):
        return f"The noise precision was taken to be {noise.precision:g}."
    if isinstance(noise, EquivalentNoise):
        return "Noise variances had the prior under which Markov equivalent graphs have equal evidence."
    return "The noise variance of each regression had a weakly informative prior."


def _edges(prior: Prior, learned: Sequence[str]) -> str:
    if prior.coefficients is not None:
        return ""
    if prior.edges is not None:
        return f"Edges: {prior.edges!r}."
    stated = "Edges were present with the stated probabilities"
    if not learned:
        return f"{stated}."
    return (
        f"{stated}; those into {some(learned)} whose probabilities were left open had a common one, uniform between 0 "
        "and 1."
    )


def _link(prior: Prior) -> str:
    if prior.link == 0.0 or prior.coefficients is not None:
        return ""
    return "Covariates that drive the treatment were taken for possible causes of what comes after it."
