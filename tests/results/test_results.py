"""What users hold: shapes, words, mistakes."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import alldags as ad
from alldags.effects.sample import AtomicSample
from lines import fit
from show.everything import everything


@pytest.fixture(scope="module")
def study():
    return ad.datasets.example()


@pytest.fixture(scope="module")
def posterior(study):
    return fit(study.table, study.graph, rng=0)


@pytest.fixture(scope="module")
def effect(study, posterior):
    return posterior.effect(study.treatment, study.outcome)


def test_answer_is_near_the_truth(study, effect):
    low, high = effect.interval(0.99)
    assert low < study.true_effect < high
    assert effect.probability.positive > 0.99
    total = effect.probability.positive + effect.probability.negative + effect.probability_no_effect
    assert total == pytest.approx(1.0)
    assert effect.probability.above(effect.median) == pytest.approx(0.5, abs=0.01)


def test_frames_of_every_library_give_the_same_answer(study, effect):
    for table in (pd.DataFrame(study.table), pl.DataFrame(study.table), pl.DataFrame(study.table).to_arrow()):
        assert fit(table, study.graph, rng=0).effect("smoking", "risk").mean == pytest.approx(effect.mean, rel=1e-12)
    moments = ad.Moments.from_table(study.table)
    assert fit(moments, study.graph).effect("smoking", "risk").mean == pytest.approx(effect.mean, rel=1e-12)


def test_only_nodes_on_paths_are_fitted(study):
    posterior = fit(study.table, study.graph, rng=0)
    assert posterior.engines_used == {}
    posterior.effect("smoking", "risk").mean  # noqa: B018
    assert set(posterior.engines_used) == {"tar", "exercise", "risk"}


def test_text_fits_eighty_columns_and_says_the_answer(effect):
    text = everything(effect)
    assert max(map(len, text.splitlines())) <= 80
    assert "Raising smoking by one unit changes risk by 0.89 on average" in text.replace("\n", " ")
    assert "65,536 candidate graphs" in text.replace("\n", " ")
    assert "from not knowing graph or prior" in text
    assert "<table>" in effect._repr_html_()
    assert repr(effect).startswith("Effect('smoking' -> 'risk': mean 0.8939")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("certified", "averaged over 65,536 candidate graphs"),
        ("k2", "in the one graph that greedy selection picked"),
        ("full", "if every candidate edge exists"),
        ("vb", "under a continuous prior on all candidate edges"),
    ],
)
def test_only_engines_that_average_over_graphs_say_so(study, engine, words):
    found = fit(study.table, study.graph, engine=engine, rng=0).effect("smoking", "risk")
    text = everything(found).replace("\n", " ")
    assert words in text
    assert ("averaged over" in text) == words.startswith("averaged")


def test_shrinkage_is_said_not_to_be_a_probability(study, posterior):
    table = fit(study.table, study.graph, engine="vb").edge_probabilities()
    assert "shrinkage" in table.columns
    assert "it is not a probability" in str(table).replace("\n", " ")
    assert "it is not a probability" in table._repr_html_()
    assert "not a probability" not in str(posterior.edge_probabilities())


def test_engines_that_fit_many_nodes_at_once_agree_with_single_fits(study):
    posterior = fit(study.table, study.graph, engine="vb")
    together = posterior.effects().values
    single = fit(study.table, study.graph, engine="vb")
    for name in study.graph.variables:
        single._models.items[0].node(name)
    np.testing.assert_allclose(single.effects().values, together, rtol=1e-12)


def test_dictionary_is_json_with_the_documented_keys(effect):
    record = json.loads(json.dumps(effect.to.dict(), allow_nan=False))
    documented = {
        "schema", "treatment", "outcome", "mean", "sd", "interval", "probability_positive", "probability_negative",
        "probability_no_effect", "sd_structure", "sd_coefficients", "n", "log10_graphs", "engine", "notes",
    }  # fmt: skip
    assert documented <= set(record)
    assert record["interval"]["level"] == 0.95


def test_tables_turn_into_frames(posterior, effect):
    frame = effect.paths().to_pandas()
    assert list(frame.columns) == ["path", "mean", "sd", "probability"]
    assert frame["mean"].sum() == pytest.approx(effect.mean)
    assert effect.edge_influence().to_polars().height == len(effect.edge_influence())
    square = posterior.effects()
    assert square.to_pandas().loc["smoking", "risk"] == square["smoking", "risk"]
    assert np.asarray(square).shape == (7, 7)
    assert square.to_table()["cause"][0] == "age"
    assert "<td>" in square._repr_html_()
    with pytest.raises(KeyError, match="no variable 'smoke'; did you mean 'smoking'"):
        square["smoke", "risk"]
    with pytest.raises(KeyError, match="no column 'means'; did you mean 'mean'"):
        effect.paths()["means"]


def test_largest_paths_come_first_and_the_rest_is_one_row():
    names = [f"v{i:02d}" for i in range(14)]  # 4,096 paths from first to last
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(80, 14)), axis=1)
    effect = fit(x, ad.CandidateGraph.from_order(names), names=names, engine="exact").effect("v00", "v13")
    few, all_paths = effect.paths(10), effect.paths(5000)
    assert len(all_paths) == 4096
    assert few["path"][-1] == "all other paths"
    assert few["mean"][:-1] == pytest.approx(sorted(all_paths["mean"], key=abs, reverse=True)[:10])
    assert math.fsum(few["mean"]) == pytest.approx(effect.mean)
    assert math.fsum(all_paths["mean"]) == pytest.approx(effect.mean)


def test_no_candidate_path_means_exactly_zero(posterior):
    effect = posterior.effect("risk", "smoking")
    assert (effect.mean, effect.sd, effect.probability_no_effect) == (0.0, 0.0, 1.0)
    assert effect.interval() == (0.0, 0.0)
    assert len(effect.paths()) == len(effect.edge_influence()) == 0
    assert effect.do(3.0).mean.sd == 0
    assert effect.do(3.0).new_unit.sd > 0


def test_draws_follow_the_seed(study, effect):
    again = fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    other = fit(study.table, study.graph, rng=1).effect("smoking", "risk")
    assert np.array_equal(effect.draws(50), again.draws(50))
    assert not np.array_equal(effect.draws(50), other.draws(50))
    assert np.array_equal(effect.draws(50, rng=3), again.draws(50, rng=3))
    assert effect.interval() == again.interval()
    assert effect.mean == other.mean


def test_generator_as_seed_is_reproducible(study):
    one, two = (
        fit(study.table, study.graph, rng=np.random.default_rng(4)).effect("smoking", "risk").interval()
        for _ in range(2)
    )
    assert one == two


def test_ignored_columns_are_said_once(study):
    table = pd.DataFrame(study.table).assign(extra=1.0, other="text")
    posterior = fit(table, study.graph, rng=0)
    assert list(map(str, posterior.notes)) == ["columns not in the graph were ignored: 'extra', 'other'"]
    assert everything(posterior.effect("smoking", "risk")).count("ignored") == 1


def test_atom_is_honoured_in_quantiles():
    sample = AtomicSample(np.array([-1.0, 0.0, 0.0, 2.0, 3.0]), atom=0.5)
    assert sample.below(0.0) == pytest.approx(0.5 / 3)
    assert sample.above(0.0) == pytest.approx(1.0 / 3)
    assert sample.quantile(0.5) == 0.0
    assert sample.quantile(0.1) == -1.0
    assert sample.quantile(0.99) == 3.0
    assert AtomicSample(np.zeros(5), atom=1.0).quantile(0.3) == 0.0
    spread = np.sort(np.random.default_rng(0).normal(size=4000))
    assert AtomicSample(spread, atom=0.0).quantile_error(0.5) == pytest.approx(1.2533 / math.sqrt(4000), rel=0.2)
    few = AtomicSample(spread, atom=0.0, effective=400).quantile_error(0.5)
    assert few == pytest.approx(1.2533 / math.sqrt(400), rel=0.2)


def test_pictures_are_drawn(effect, posterior, study):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert effect.plot(ax) is ax
    assert "risk" in ax.get_xlabel()
    posterior.effect("risk", "smoking").plot()
    posterior.plot()
    plt.close("all")


# -- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.effect("smoke", "risk"), "treatment 'smoke' is not in the graph; did you mean 'smoking'"),
        (lambda p: p.effect("smoking", "risky"), "outcome 'risky' is not in the graph; did you mean 'risk'"),
        (lambda p: p.effect("risk", "risk"), "both 'risk'"),
        (lambda p: p.effect("smoking", "risk").interval(95), "strictly between 0 and 1, got 95"),
        (lambda p: p.effect("smoking", "risk").uncertainty.interval_error(0), "strictly between 0 and 1, got 0"),
        (lambda p: p.effect("smoking", "risk").paths(0), "limit must be a whole number of at least 1, got 0"),
        (lambda p: p.top_graphs(0), "size must be a whole number from 1 to 1000000"),
        (lambda p: p.effect("smoking", "risk").do(1.0).new_unit.quantile(1.0), "strictly between 0 and 1"),
    ],
)
def test_questions_that_cannot_be_answered(posterior, call, message):
    with pytest.raises(ValueError, match=message):
        call(posterior)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rng": -1}, "rng must be a non-negative whole number"),
        ({"rng": "seed"}, "rng must be"),
        ({"engine": "exakt"}, "did you mean 'exact'"),
        ({"graph_weights": [0.5, 0.5]}, "1 candidate graphs need 1 graph_weights, got 2"),
        ({"graph": []}, "list of candidate graphs is empty"),
        ({"graph": ["a"]}, "which is not a known graph format"),
    ],
)
def test_fits_that_cannot_be_made(study, options, message):
    graph = options.pop("graph", study.graph)
    with pytest.raises(ad.AlldagsError, match=message):
        fit(study.table, graph, **options)


def test_graphs_must_share_their_variables_and_have_positive_weights(study):
    small = ad.CandidateGraph.from_order(["smoking", "risk"])
    with pytest.raises(ad.AlldagsError, match=r"same variables; these are not in all of them.*'tar'"):
        fit(study.table, [study.graph, small])
    with pytest.raises(ad.AlldagsError, match=r"must be positive, got 0\.0; leave that graph out"):
        fit(study.table, [study.graph, study.graph], graph_weights=[1.0, 0.0])


def test_data_must_have_the_graphs_variables(study):
    table = {name: column for name, column in study.table.items() if name != "tar"}
    with pytest.raises(ad.AlldagsError, match="'tar'"):
        fit(table, study.graph)
    with pytest.raises(ad.AlldagsError, match="'tar'"):
        fit(ad.Moments.from_table(table), study.graph)
    constant = dict(study.table) | {"sex": np.ones(500)}
    with pytest.raises(ad.AlldagsError, match="column 'sex' is constant"):
        fit(constant, study.graph)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.Prior(slab_variance=0), "slab_variance must be a positive finite number, got 0"),
        (lambda: ad.Prior(noise=1.0), "noise must be KnownNoise"),
        (lambda: ad.Prior(units="metric"), "units must be one of"),
        (lambda: ad.priors.KnownNoise(math.inf), "precision must be a positive finite number, got inf"),
        (lambda: ad.priors.UnknownNoise(shape=-1), "shape must be zero or a positive finite number, got -1"),
    ],
)
def test_priors_check_themselves(make, message):
    with pytest.raises(ad.AlldagsError, match=message):
        make()
