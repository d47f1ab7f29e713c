"""Hidden common causes in the graph: mixtures by default, data asked only on request."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from lines import fit
from show.everything import everything

STUDY = ad.datasets.example()
GRAPH = STUDY.graph


def asked(graph, question=("smoking", "risk"), **options):
    return fit(STUDY.table, graph, rng=0, **options).effect(*question)


@pytest.fixture(scope="module")
def plain():
    return asked(GRAPH)


@pytest.fixture(scope="module")
def mixed():
    return asked(GRAPH.with_hidden("smoking", "risk", 0.3))


def test_the_effect_is_a_mixture(plain, mixed):
    given = plain.sensitivity().given(ad.Strength())
    assert mixed.mean == pytest.approx(0.7 * plain.mean + 0.3 * given.mean, abs=1e-9)
    second = 0.7 * (plain.sd**2 + plain.mean**2) + 0.3 * (given.sd**2 + given.mean**2)
    assert mixed.sd == pytest.approx(math.sqrt(second - mixed.mean**2))
    whole = plain.sensitivity().given(ad.Strength(probability=0.3))
    assert mixed.interval(0.95) == pytest.approx((whole.low, whole.high), abs=0.02)
    assert mixed.draws(20_000, rng=1).std() == pytest.approx(mixed.sd, rel=0.03)
    assert (
        mixed.uncertainty.hidden** 2 + mixed.uncertainty.structure** 2 + mixed.uncertainty.coefficients** 2
        == pytest.approx(mixed.sd**2)
    )


def test_it_is_said_that_data_do_not_inform_it(plain, mixed):
    text = " ".join(everything(mixed).split())
    assert "a hidden common cause of smoking and risk has probability 30%, which is not informed by the data" in text
    assert "from a hidden common cause" in text
    assert plain.uncertainty.hidden is None
    assert mixed.to.dict()["sd_hidden"] == mixed.uncertainty.hidden


def test_paths_and_sensitivity_are_those_without_it(plain, mixed):
    assert mixed.paths()["mean"] == plain.paths()["mean"]
    assert mixed.sensitivity().at(0.1, 0.1) == plain.sensitivity().at(0.1, 0.1)
    assert mixed.sensitivity().at(0.0, 0.0).mean == plain.mean


def test_a_cause_of_treatment_and_mediator_counts(plain):
    effect = asked(GRAPH.with_hidden("tar", "smoking", 0.5))
    assert effect.sd > 1.05 * plain.sd


@pytest.mark.parametrize("pair", [("tar", "risk"), ("age", "risk"), ("age", "smoking")])
def test_causes_that_do_not_bias_the_total_effect_change_nothing(plain, pair):
    effect = asked(GRAPH.with_hidden(*pair, 0.9))
    assert (effect.mean, effect.sd, effect.interval()) == (plain.mean, plain.sd, plain.interval())
    assert effect.notes == plain.notes


def test_a_certain_cause_is_the_strength_prior(plain):
    effect = asked(GRAPH.with_hidden("smoking", "risk", 1.0))
    assert effect.mean == pytest.approx(plain.sensitivity().given(ad.Strength()).mean)


def test_several_graphs_agree_on_hidden_causes():
    graph = GRAPH.with_hidden("smoking", "risk", 0.3)
    other = graph.without_edge("smoking", "risk")
    both = asked([graph, other])
    assert both.sd > asked([GRAPH, GRAPH.without_edge("smoking", "risk")]).sd
    with pytest.raises(ad.AlldagsError, match="different things about hidden common causes of 'smoking'"):
        asked([graph, GRAPH.without_edge("smoking", "risk")]).mean  # noqa: B018


def test_two_causes_of_the_treatment_are_refused():
    graph = GRAPH.with_hidden("smoking", "risk", 0.3).with_hidden("smoking", "tar", 0.3)
    with pytest.raises(ad.AlldagsError, match="with 'risk' and 'tar'; an effect takes one"):
        asked(graph).mean  # noqa: B018


def test_engines_that_do_not_average_are_refused():
    with pytest.raises(ad.AlldagsError, match="sensitivity to a hidden cause and engine='k2' do not go together"):
        asked(GRAPH.with_hidden("smoking", "risk", 0.3), engine="k2").mean  # noqa: B018


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
    with pytest.warns(ad.AlldagsWarning, match=r"before: 30%, after: .*confidently wrong"):
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


def test_a_hidden_cause_of_a_mediator_is_refused_by_name_where_not_all_is_straight():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    m = x + rng.standard_normal(200)
    table = {"x": x, "m": m, "y": (m + rng.standard_normal(200) > 0) * 1.0}
    graph = ad.CandidateGraph.from_tiers([["x"], ["m"], ["y"]]).with_hidden("x", "m", 0.3)
    with pytest.raises(ad.AlldagsError, match=r"common cause of 'x' and 'm'.*give it as one of 'x' and 'y'"):
        _ = ad.fit(table, graph, rng=0).effect("x", "y").mean
