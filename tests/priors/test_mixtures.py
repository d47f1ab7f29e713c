"""Scale mixtures are priors: their checks, what they go with, and which engines take them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import alldags as ad
from alldags.engines.suits import unsuited
from alldags.errors import EngineError, PriorError
from alldags.kernels.mixtures import mixing
from lines import fit
from problems import PRIORS, random_node

MIXTURES = [ad.priors.NEG(0.7, 0.3), ad.priors.Laplace(3.0), ad.priors.StudentT(1.2, 0.4), ad.priors.Horseshoe(0.6)]
TAKE_MIXTURES = {"vb", "em", "gibbs"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ad.priors.NEG(kappa=0.0), "NEG kappa must be a positive finite number, got 0.0"),
        (lambda: ad.priors.NEG(nu=math.inf), "NEG nu must be a positive finite number, got inf"),
        (lambda: ad.priors.Laplace("4"), "Laplace alpha must be a positive finite number, got '4'"),
        (lambda: ad.priors.StudentT(shape=True), "StudentT shape must be a positive finite number, got True"),
        (lambda: ad.priors.StudentT(rate=-1), "StudentT rate must be a positive finite number, got -1"),
        (lambda: ad.priors.Horseshoe(None), "Horseshoe global_scale must be a positive finite number, got None"),
        (lambda: ad.priors.Horseshoe(learn_global=1), "Horseshoe learn_global must be True or False, got 1"),
        (lambda: ad.Prior(coefficients="horseshoe"), "coefficients must be NEG, .* or None, got 'horseshoe'"),
        (lambda: ad.Prior(coefficients=ad.priors.Horseshoe), "coefficients must be NEG, .* got <class"),
        (
            lambda: ad.Prior(coefficients=ad.priors.Laplace(), edges=ad.priors.BetaBinomial()),
            r"edges=BetaBinomial\(.*\) has no meaning with coefficients=Laplace\(alpha=4.0\).*give only one",
        ),
        (
            lambda: ad.Prior(coefficients=ad.priors.Laplace(), noise=ad.priors.EquivalentNoise()),
            r"EquivalentNoise\(dof=2.0\) counts parents, .* use UnknownNoise\(\)",
        ),
    ],
)
def test_mixtures_refuse(make, words):
    with pytest.raises(PriorError, match=words):
        make()


def test_codes_are_those_of_the_kernels():
    assert [one.code for one in MIXTURES] == [mixing.NEG, mixing.LAPLACE, mixing.STUDENT_T, mixing.HORSESHOE]


@pytest.mark.parametrize("mixture", MIXTURES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", sorted(ad.engines._NAMES))
def test_every_engine_takes_a_mixture_or_refuses_it_by_name(name, mixture):
    study = ad.datasets.example(n=60)
    prior = ad.Prior(coefficients=mixture, noise=ad.priors.UnknownNoise(1.0, 1.0))
    if name in TAKE_MIXTURES:
        assert unsuited(ad.engines.resolve(name), prior) is None
        return
    words = rf"the engine '{name}' cannot take {type(mixture).__name__}\(.*\); use engine='vb', 'em' or 'gibbs'"
    with pytest.raises(EngineError, match=words):
        fit(study.table, study.graph, prior=prior, engine=name)
    problem, _ = random_node(0, prior, 3)
    with pytest.raises(EngineError, match=words):
        ad.engines.resolve(name)(problem, np.random.default_rng(0))


@pytest.mark.parametrize("mixture", MIXTURES, ids=lambda one: type(one).__name__)
def test_engines_use_the_mixture_that_the_prior_names(mixture, rng):
    prior = ad.Prior(coefficients=mixture, noise=ad.priors.UnknownNoise(1.0, 1.0))
    problem, _ = random_node(0, prior, 4)
    paper, _ = random_node(0, ad.Prior(noise=ad.priors.UnknownNoise(1.0, 1.0)), 4)
    given = ad.engines.VB()(problem, rng)
    default = ad.engines.VB()(paper, rng)
    assert np.abs(given.mean - default.mean).max() > 1e-6
    named, _ = random_node(0, ad.Prior(coefficients=ad.priors.NEG(), noise=ad.priors.UnknownNoise(1.0, 1.0)), 4)
    np.testing.assert_array_equal(ad.engines.VB()(named, rng).mean, default.mean)


def test_nodes_with_different_mixtures_are_fitted_together_as_alone(rng):
    problems = [
        random_node(seed, ad.Prior(coefficients=one, noise=ad.priors.UnknownNoise(1.0, 1.0)), 4)[0]
        for seed, one in enumerate(MIXTURES * 2)
    ]
    engine = ad.engines.VB()
    for together, problem in zip(engine.fit_many(problems), problems, strict=True):
        np.testing.assert_array_equal(together.mean, engine(problem, rng).mean)


def test_an_engine_that_declares_nothing_takes_any_noise_and_no_mixture():
    class Plain:
        name = "plain"

        def __call__(self, problem, rng):
            return ad.engines.Full()(problem, rng)

    study = ad.datasets.example(n=60)
    effect = fit(study.table, study.graph, prior=ad.Prior(noise=ad.priors.EquivalentNoise()), engine=Plain())
    assert math.isfinite(effect.effect("smoking", "risk").mean)
    with pytest.raises(EngineError, match="the engine 'plain' cannot take Laplace"):
        fit(study.table, study.graph, prior=ad.Prior(coefficients=ad.priors.Laplace()), engine=Plain())


def test_engines_carry_their_own_words():
    made = {name: ad.engines.resolve(name) for name in ad.engines._NAMES}
    scopes = {name for name, engine in made.items() if engine.scope is not None}
    assert scopes == {"vb", "em", "gibbs", "k2", "full"}
    assert made["k2"].scope == "in the one graph that greedy selection picked"
    assert {name for name, engine in made.items() if engine.estimate != "posterior mean"} == {"em"}
    assert made["em"].estimate == "posterior mode"


def test_only_troubles_of_the_sampler_are_issued_as_warnings():
    problem, _ = random_node(0, PRIORS["unknown"], 3)
    assert ad.engines.Exact()(problem, np.random.default_rng(0)).diagnostics.troubles == ()
    short = ad.engines.MCMC(sweeps=20, max_sweeps=20, target_mcse=1e-9)
    study = ad.datasets.example(n=60)
    posterior = fit(study.table, study.graph, engine=short, rng=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.effect("smoking", "risk").mean  # noqa: B018
    assert any("times longer" in str(one.message) for one in caught)
