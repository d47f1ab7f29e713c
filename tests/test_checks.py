"""Bad settings of priors and engines are refused where they are made, by one set of checks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags import checks
from alldags.errors import EngineError, PriorError
from lines import fit

e = ad.engines


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ad.priors.UnknownNoise(scales_slab="no"), "UnknownNoise scales_slab must be True or False, got 'no'"),
        (
            lambda: ad.priors.UnknownNoise(shape=True),
            "UnknownNoise shape must be zero or a positive finite number, got True",
        ),
        (
            lambda: ad.priors.UnknownNoise(rate="1"),
            "UnknownNoise rate must be zero or a positive finite number, got '1'",
        ),
        (lambda: ad.priors.UnknownNoise(shape=1e308), "UnknownNoise shape must be at most 1e.100 to be computed with"),
        (lambda: ad.priors.UnknownNoise(shape=1e10), "UnknownNoise shape must be at most 1e.09, got .*KnownNoise"),
        (lambda: ad.priors.UnknownNoise(rate=1e200), "UnknownNoise rate must be at most 1e.100 to be computed with"),
        (lambda: ad.priors.StudentNoise(shape=1e10), r"StudentNoise shape must be at most 1e.09, got"),
        (lambda: ad.priors.EquivalentNoise(1e10), r"EquivalentNoise dof must be at most 1e.09, got"),
        (
            lambda: ad.priors.StudentNoise(df=1e308),
            r"StudentNoise df must be at most 1e.100 to be computed with, got 1e.308",
        ),
        (lambda: ad.priors.HyperG(a=1e308), r"HyperG a must be at most 1e.100 to be computed with, got 1e.308"),
        (lambda: ad.priors.KnownNoise(True), "KnownNoise precision must be a positive finite number, got True"),
        (lambda: ad.priors.HyperG(a="3"), "HyperG a must be a finite number above 2, got '3'"),
        (lambda: ad.priors.HyperG(a=2), "HyperG a must be a finite number above 2, got 2"),
        (lambda: ad.priors.HyperG(points=True), "HyperG points must be a whole number from 3 to 10001, got True"),
        (
            lambda: ad.priors.ZellnerSiow(points=41.0),
            "ZellnerSiow points must be a whole number from 3 to 10001, got 41.0",
        ),
        (lambda: ad.priors.GPrior(True), "GPrior g must be a positive finite number, got True"),
        (lambda: ad.priors.GPrior(None), "GPrior g must be a positive finite number, got None"),
        (lambda: ad.priors.LearnedSlab(shared="yes"), "LearnedSlab shared must be True or False, got 'yes'"),
        (lambda: ad.priors.LearnedSlab(spread="1"), "LearnedSlab spread must be a positive finite number, got '1'"),
        (lambda: ad.priors.BetaBinomial(shared=1), "BetaBinomial shared must be True or False, got 1"),
        (
            lambda: ad.priors.LearnedSlab(low=1e-320),
            "LearnedSlab low must be between 1e-100 and 1e.100 to be computed with, got",
        ),
        (lambda: ad.Prior(1e200), "slab_variance must be between 1e-100 and 1e.100 to be computed with, got 1e.200"),
        (
            lambda: ad.priors.LearnedSlab(points=10**15),
            "LearnedSlab points must be a whole number from 3 to 10001, got 10+",
        ),
        (
            lambda: ad.priors.BetaBinomial(points=2.5),
            "BetaBinomial points must be a whole number from 3 to 10001, got 2.5",
        ),
        (lambda: ad.priors.EqualEdges(True), "EqualEdges probability must be strictly between 0 and 1, got True"),
        (lambda: ad.priors.EqualEdges("0.5"), "EqualEdges probability must be strictly between 0 and 1, got '0.5'"),
        (lambda: ad.Prior(slab_variance=True), "slab_variance must be a positive finite number, got True"),
        (lambda: ad.Prior(intercept=1), "intercept must be True or False, got 1"),
        (lambda: ad.Prior(units=None), "units must be one of .*'raw'.*, got None"),
    ],
)
def test_priors_refuse(make, words):
    with pytest.raises(PriorError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: e.MCMC(sweeps=250.5), "MCMC sweeps must be a whole number of at least 20, got 250.5"),
        (lambda: e.MCMC(chains=2.0), "MCMC chains must be a whole number of at least 2, got 2.0"),
        (lambda: e.MCMC(max_sweeps="many"), "MCMC max_sweeps must be a whole number of at least 20, got 'many'"),
        (lambda: e.MCMC(swaps=True), "MCMC swaps must be a whole number of at least 0, got True"),
        (lambda: e.MCMC(starts=2.5), "MCMC starts must be a whole number of at least 2, got 2.5"),
        (lambda: e.MCMC(target_mcse="a"), "MCMC target_mcse must be a positive finite number, got 'a'"),
        (lambda: e.MCMC(max_seconds=True), "MCMC max_seconds must be a positive finite number, got True"),
        (lambda: e.Auto(mcmc="mcmc"), r"Auto mcmc must be MCMC\(...\), got 'mcmc'"),
        (lambda: e.Auto(certified=3), r"Auto certified must be Certified\(...\), got 3"),
        (lambda: e.Auto(max_exact=41), "Auto max_exact must be a whole number from 0 to 40, got 41"),
        (lambda: e.Auto(max_certified=None), "Auto max_certified must be a whole number of at least 0, got None"),
        (lambda: e.Exact(max_parents=2.5), "Exact max_parents must be a whole number from 0 to 40, got 2.5"),
        (lambda: e.Exact(max_parents=41), "Exact max_parents must be a whole number from 0 to 40, got 41"),
        (lambda: e.Exact(threads="2"), "Exact threads must be a whole number of at least 1, got '2'"),
        (lambda: e.Certified(max_subsets=True), "Certified max_subsets must be a whole number of at least 1, got True"),
        (lambda: e.Certified(tolerance="small"), "Certified tolerance must be strictly between 0 and 1, got 'small'"),
    ],
)
def test_engines_refuse(make, words):
    with pytest.raises(EngineError, match=words):
        make()


@pytest.mark.parametrize("engine", ["vb", "em"])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_rounds": 2.5}, "max_rounds must be a whole number of at least 1, got 2.5"),
        ({"max_rounds": True}, "max_rounds must be a whole number of at least 1, got True"),
        ({"tolerance": True}, "tolerance must be a positive finite number, got True"),
        ({"tolerance": "1e-6"}, "tolerance must be a positive finite number, got '1e-6'"),
    ],
)
def test_iterations_refuse(engine, settings, words):
    with pytest.raises(EngineError, match=words):
        type(e.resolve(engine))(**settings)


@pytest.mark.parametrize("name", ["chains", "warmup", "draws", "thin"])
@pytest.mark.parametrize("value", [100.5, True, "100"])
def test_gibbs_refuses_what_is_no_whole_number(name, value):
    with pytest.raises(EngineError, match=f"{name} must be a whole number of at least [0-9], got {value!r}"):
        type(e.resolve("gibbs"))(**{name: value})


def test_numbers_of_numpy_are_numbers():
    assert e.MCMC(sweeps=np.int64(100)).sweeps == 100
    assert ad.priors.KnownNoise(np.float32(2.0)).precision == 2.0
    assert checks.whole("n", np.int32(3), 1) == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None, True, 1j])
def test_finite_refuses(value):
    with pytest.raises(ad.AlldagsError, match="x must be a finite number, got"):
        checks.finite("x", value)


def test_kind_lists_what_is_allowed():
    with pytest.raises(ad.AlldagsError, match=r"x must be int\(...\), str\(...\) or list\(...\), got 1.5"):
        checks.kind("x", 1.5, (int, str, list))


def test_fit_refuses_a_progress_that_is_no_flag():
    study = ad.datasets.example()
    with pytest.raises(ad.AlldagsError, match="progress must be True or False, got 'yes'"):
        fit(study.table, study.graph, progress="yes")
