"""What users get wrong, or read wrong: clear errors, true sentences."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import alldags as ad
from alldags.effects.sample import AtomicSample
from lines import fit
from show.everything import everything


@pytest.fixture(scope="module")
def study():
    return ad.datasets.example()


@pytest.fixture(scope="module")
def effect(study):
    return fit(study.table, study.graph, rng=0).effect("smoking", "risk")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "paper"}, r"prior must be a Prior such as Prior\(\) or Prior.paper\(\), got 'paper'"),
        ({"prior": ad.Prior}, "prior must be a Prior"),
        ({"engine": ad.engines.Exact}, r"engine is the class Exact; call it: engines.Exact\(\)"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1, got 0"),
        ({"n_jobs": "2"}, "n_jobs must be a whole number of at least 1, got '2'"),
        ({"n_jobs": 10**5}, "n_jobs must be at most 1024, or -1 for all cores"),
        ({"missing": True}, "missing must be one of .*got True"),
        ({"graph_weights": 0.5}, "graph_weights must be a list of 1 numbers, got 0.5"),
        ({"graph_weights": ["a"]}, "weight must be a finite number, got 'a'"),
        ({"graph_weights": [1e308]}, "must be positive, got 1e.308"),
        ({"graph": None}, "graph must be a CandidateGraph, a path, .* got NoneType"),
        ({"graph": nx.DiGraph([(1, 2)])}, "the node 1 is not a string"),
    ],
)
def test_options(study, options, message):
    graph = options.pop("graph", study.graph)
    with pytest.raises(ad.AlldagsError, match=message):
        fit(study.table, graph, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.probability.above("a"), "delta must be a finite number, got 'a'"),
        (lambda e: e.probability.above(math.nan), "delta must be a finite number, got nan"),
        (lambda e: e.uncertainty.expected_loss(None), "estimate must be a finite number, got None"),
        (lambda e: e.interval("0.95"), "level must be a finite number, got '0.95'"),
        (lambda e: e.draws(0), "size must be a whole number of at least 1, got 0"),
        (lambda e: e.do(math.inf), "set to must be a finite number, got inf"),
        (lambda e: e.do([0, 1]), "set to must be a finite number"),
        (lambda e: e.do(1.0, draws_size=0), "draws_size must be a whole number"),
        (lambda e: e.do(1.0).mean.interval(95), "strictly between 0 and 1, got 95"),
        (lambda e: e.do(1.0).new_unit.interval(95), "strictly between 0 and 1, got 95"),
        (lambda e: e.paths("a"), "limit must be a whole number of at least 1, got 'a'"),
        (lambda e: e.posterior.top_graphs(1.5), "size must be a whole number from 1 to 1000000, got 1.5"),
    ],
)
def test_questions(effect, call, message):
    with pytest.raises(ad.AlldagsError, match=message):
        call(effect)


def test_one_name_is_not_an_edge(effect):
    with pytest.raises(KeyError, match="give a cause and an effect"):
        effect.posterior.effects()["smoking"]


@pytest.mark.parametrize(
    "make", [lambda: ad.Prior(slab_variance="1"), lambda: ad.Prior(intercept="no"), lambda: ad.priors.EqualEdges("x")]
)
def test_priors_of_the_wrong_type(make):
    with pytest.raises(ad.AlldagsError, match="must be"):
        make()


def test_noise_precision_beyond_floating_point_is_refused(study):
    for precision in (1e20, 1e100):
        posterior = fit(study.table, study.graph, prior=ad.Prior(noise=ad.priors.KnownNoise(precision)))
        with pytest.raises(ad.AlldagsError, match=r"noise precision .* is too large for '(tar|smoking)'"):
            posterior.effect("smoking", "risk")
    with pytest.raises(ad.AlldagsError, match=r"precision must be between 1e-100 and 1e\+100 to be computed with"):
        ad.priors.KnownNoise(1e300)


def test_columns_far_from_zero_are_not_constant(rng):
    x = rng.normal(size=200)
    y = 0.5 * x + rng.normal(size=200)
    graph = ad.CandidateGraph.from_order(["x", "y"])
    near = fit({"x": x, "y": y}, graph).effect("x", "y").mean
    for origin in (1e7, 1e12):
        assert fit({"x": x + origin, "y": y}, graph).effect("x", "y").mean == pytest.approx(near, rel=1e-3)
    with pytest.raises(ad.AlldagsError, match="'x' is constant"):
        fit({"x": np.full(200, 1e12 + 0.1), "y": y}, graph)


def test_probabilities_stay_within_zero_and_one(rng):
    sample = AtomicSample(-np.abs(rng.normal(size=19_999)), atom=0.3)
    assert sample.above(0.0) == 0.0
    assert sample.above(50.0) == 0.0
    assert 0.0 <= sample.below(1.0) <= 1.0


def test_no_path_in_the_graph_is_not_a_finding(effect):
    text = everything(effect.posterior.effect("risk", "smoking")).replace("\n", " ")
    assert "has no path from risk to smoking: the effect is zero by assumption" in text
    assert "There is a path from smoking to risk; did you mean that?" in text


def test_opposite_directions_leave_a_note_and_can_be_drawn(study):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    one = ad.CandidateGraph.from_order(["tar", "exercise", "risk"])
    two = ad.CandidateGraph.from_order(["exercise", "tar", "risk"])
    posterior = fit(study.table, [one, two], rng=0)
    assert any("where directions are open (tar, exercise)" in note for note in posterior.notes)
    posterior.plot()
    plt.close("all")
    assert not any("direction" in note for note in fit(study.table, one).notes)
    tied = fit(study.table, [one, two], prior=ad.Prior(noise=ad.priors.EquivalentNoise()), rng=0)
    assert not any("direction" in note for note in tied.notes)
    chosen = fit(study.table, [one, two], prior=ad.Prior(slab=ad.priors.GPrior("n")), rng=0)
    assert any("disagree about a direction" in note for note in chosen.notes)


def test_words_for_learned_slabs_single_graphs_and_modes(study):
    certain = ad.CandidateGraph.from_order(["smoking", "tar", "risk"], probability=1.0)
    learned = fit(study.table, certain, prior=ad.Prior(slab=ad.priors.LearnedSlab(shared=True, points=5)), rng=0)
    text = everything(learned.effect("smoking", "risk")).replace("\n", " ")
    assert "from not knowing graph or prior" in text
    assert "in the one candidate graph" in text
    assert "1 candidate graphs" not in repr(learned)
    assert "posterior mode" in everything(fit(study.table, certain, engine="em", rng=0).effect("smoking", "risk"))


def test_sampled_errors_are_never_absurdly_small(study):
    graph = ad.CandidateGraph.from_order(["smoking", "tar", "risk"])
    exact, sampled = (fit(study.table, graph, engine=e, rng=0).effect("smoking", "risk") for e in ("exact", "mcmc"))
    assert sampled.uncertainty.mean_error > 1e-6 * exact.sd
    assert abs(sampled.mean - exact.mean) < 5 * sampled.uncertainty.mean_error


def test_moments_can_be_summed():
    part = ad.Moments.from_table(np.arange(6.0).reshape(3, 2), names=["x", "y"])
    with pytest.warns(ad.AlldagsWarning, match="added twice"):
        assert sum([part, part]).n == 6
