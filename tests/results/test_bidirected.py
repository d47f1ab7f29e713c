"""Asking the data about a hidden cause of assumed strength, which is deprecated."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from lines import fit

STUDY = ad.datasets.example()
GRAPH = STUDY.graph


def asked(graph, question=("smoking", "risk"), **options):
    return fit(STUDY.table, graph, rng=0, **options).effect(*question)


@pytest.fixture(scope="module")
def plain():
    return asked(GRAPH)


# -- asking the data -------------------------------------------------------------------------------------------------

COVARIATES = ("c0", "c1", "c2", "c3")
NAMES = (*COVARIATES, "x", "y")


def instruments(seed: int, rho: float, valid: int, n: int = 3000) -> np.ndarray:
    """Return a table in which the first `valid` covariates act on x alone, and the direct effect is 0.5."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((n, 4))
    errors = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
    x = c @ np.full(4, 0.5) + errors[:, 0]
    return np.column_stack([c, x, c @ np.where(np.arange(4) < valid, 0.0, 0.5) + 0.5 * x + errors[:, 1]])


def identified(table: np.ndarray, probability: float = 0.5) -> tuple[ad.Effect, object]:
    graph = ad.CandidateGraph.from_tiers([COVARIATES, ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
    for name in COVARIATES:
        graph = graph.with_edge(name, "y", probability)
    prior = ad.Prior(slab_variance=1.0, link=0.0)
    effect = fit(table, graph, names=NAMES, prior=prior, rng=0).effect("x", "y")
    with pytest.warns(ad.AlldagsWarning, match=r"before: 30%, after: .*confidently wrong.*deprecated"):
        return effect, effect.sensitivity().given(
            ad.Strength((0, 0.6), (0, 0.94), probability=0.3), identify="instruments"
        )


def test_instruments_identify_the_cause():
    effect, answer = identified(instruments(1, rho=0.5, valid=3))
    assert effect.mean > 0.9
    assert answer.probability_hidden > 0.95
    assert answer.low < 0.5 < answer.high
    assert answer.mean == pytest.approx(0.5, abs=0.08)
    _, without = identified(instruments(2, rho=0.0, valid=3))
    assert without.probability_hidden < 0.1


def test_without_instruments_the_data_say_nothing():
    """Every covariate acts on the outcome for certain: the posterior probability is about the prior, whatever n."""
    for rho in (0.0, 0.5):
        _, answer = identified(instruments(3, rho=rho, valid=0), probability=1.0)
        assert answer.probability_hidden == pytest.approx(0.27, abs=0.06)


def test_it_is_confidently_wrong_when_no_covariate_is_an_instrument():
    """The reason for the warning."""
    _, answer = identified(instruments(4, rho=0.0, valid=0))
    assert answer.probability_hidden > 0.9
    assert answer.low > 1.0


def test_the_scaled_column_is_the_slab_of_the_bias():
    """The second moment of the bias factor that a strength implies, against draws."""
    strength = ad.Strength((0.1, 0.6), (0.2, 0.9))
    rng = np.random.default_rng(0)
    r2x, r2y = rng.uniform(0.1, 0.6, 400_000), rng.uniform(0.2, 0.9, 400_000)
    assert strength.factor_variance == pytest.approx(np.mean(r2y * r2x / (1 - r2x)), rel=0.01)
    assert ad.Strength(0.5, 0.5).factor_variance == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("strength", "match"),
    [(ad.Strength("age", 0.1, probability=0.5), "numbers or ranges"), (ad.Strength(), "probability between 0 and 1")],
)
def test_bad_questions_to_the_data(plain, strength, match):
    with pytest.raises(ad.AlldagsError, match=match):
        plain.sensitivity().given(strength, identify="instruments")
    with pytest.raises(ad.AlldagsError, match="identify must be one of"):
        plain.sensitivity().given(strength, identify="magic")
    g_prior = asked(GRAPH, prior=ad.Prior(slab=ad.priors.GPrior()))
    with pytest.raises(ad.AlldagsError, match="no g-prior"):
        g_prior.sensitivity().given(ad.Strength(probability=0.5), identify="instruments")
