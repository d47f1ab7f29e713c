"""What if something is unmeasured: strengths, robustness, benchmarks, priors, words, errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import alldags as ad
from alldags.effects.hidden.strengths import bias_factor, odds_of_share
from alldags.errors import AlldagsError
from lines import fit
from show.everything import everything

STUDY = ad.datasets.example()
GRAPH = STUDY.graph
MEDIATORS = ["smoking", "tar", "risk"]


@pytest.fixture(scope="module")
def effect():
    return fit(STUDY.table, GRAPH, rng=0).effect("smoking", "risk")


@pytest.fixture(scope="module")
def sensitivity(effect):
    return effect.sensitivity()


@pytest.fixture(scope="module")
def through_tar(effect):
    return effect.sensitivity(MEDIATORS)


# -- one strength ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [(0.0, 0.0), (0.0, 0.5), (0.4, 0.0)])
def test_a_cause_that_misses_treatment_or_outcome_changes_nothing(effect, sensitivity, strength):
    answer = sensitivity.at(*strength)
    assert (answer.mean, answer.sd, answer.low, answer.high) == (effect.mean, effect.sd, *effect.interval(0.95))
    assert answer.probability_positive == effect.probability.positive


def test_contours_are_level_sets_of_the_bias_factor(sensitivity):
    first = sensitivity.at(0.1, 0.2)
    other = sensitivity.at(0.2, 0.2 * 0.1 / 0.9 / (0.2 / 0.8))
    assert first.bias_factor == pytest.approx(other.bias_factor)
    assert first.mean == pytest.approx(other.mean)
    assert first.rho == pytest.approx(first.bias_factor / math.sqrt(1 + first.bias_factor**2))
    assert sensitivity.at(rho=first.rho).mean == pytest.approx(first.mean)


def test_a_jump_just_above_strength_zero_is_explained():
    rng = np.random.default_rng(3)
    c = rng.standard_normal((60, 12))
    x = 1.5 * c[:, :5].sum(axis=1) + rng.standard_normal(60)
    table = {f"c{i}": c[:, i] for i in range(12)} | {"x": x, "y": 0.3 * x + rng.standard_normal(60)}
    graph = ad.CandidateGraph.from_tiers([[f"c{i}" for i in range(12)], ["x"], ["y"]])
    effect = fit(table, graph, rng=0).effect("x", "y")
    found = effect.sensitivity()
    above = found.at(1e-6, 1e-6).mean
    assert abs(above - effect.mean) > 0.25 * effect.sd
    said = " ".join(str(found).split())
    assert f"With a cause of next to no strength the mean is {above:.3g}, without one {effect.mean:.3g}" in said
    assert found.summary().mean_above_zero == pytest.approx(above)


def test_where_nothing_jumps_nothing_is_said_of_it(sensitivity):
    assert sensitivity.summary().mean_above_zero is None
    assert "next to no strength" not in str(sensitivity)


def test_signs(effect, sensitivity):
    against, along = (sensitivity.at(0.1, 0.1, sign=sign).mean for sign in ("against", "along"))
    assert against < effect.mean < along
    assert sensitivity.at(0.1, 0.1, sign="positive").mean == against
    assert sensitivity.at(0.1, 0.1, sign="negative").mean == along
    assert sensitivity.at(rho=-0.2).mean > effect.mean


def test_effects_below_zero_are_mirrored(sensitivity):
    table = dict(STUDY.table) | {"risk": -np.asarray(STUDY.table["risk"])}
    mirrored = fit(table, GRAPH, rng=0).effect("smoking", "risk").sensitivity()
    here, there = sensitivity.at(0.1, 0.2), mirrored.at(0.1, 0.2)
    assert there.mean == pytest.approx(-here.mean, rel=0.02)
    assert (there.low, there.high) == pytest.approx((-here.high, -here.low), abs=0.02)
    assert mirrored.robustness(0.95).value == pytest.approx(sensitivity.robustness(0.95).value, abs=0.005)


def test_units_multiply_the_effect_only(sensitivity):
    table = dict(STUDY.table) | {
        "risk": 12.0 * np.asarray(STUDY.table["risk"]),
        "smoking": np.asarray(STUDY.table["smoking"]) / 5,
    }
    other = fit(table, GRAPH, rng=0).effect("smoking", "risk").sensitivity()
    here, there = sensitivity.at(0.1, 0.2), other.at(0.1, 0.2)
    assert (there.mean, there.sd, there.low) == pytest.approx((60 * here.mean, 60 * here.sd, 60 * here.low))
    assert there.probability_no_direct_effect == pytest.approx(here.probability_no_direct_effect)
    assert other.robustness(0.95).value == pytest.approx(sensitivity.robustness(0.95).value)
    assert other.benchmark("age").r2_outcome == pytest.approx(sensitivity.benchmark("age").r2_outcome)


def test_the_spread_grows_as_derived():
    """Given a strength, the sd of a direct effect is se sqrt(1 + f^2): not that of a regression with U in the table."""
    rng = np.random.default_rng(4)
    c = rng.standard_normal(800)
    x = 0.5 * c + rng.standard_normal(800)
    y = 0.6 * x + 0.3 * c + rng.standard_normal(800)
    graph = ad.CandidateGraph.from_tiers([["c"], ["x"], ["y"]], 1.0)
    effect = fit({"c": c, "x": x, "y": y}, graph, rng=0).effect("x", "y")
    answer = effect.sensitivity().at(0.5, 0.5)
    assert answer.sd == pytest.approx(effect.sd * math.sqrt(1 + answer.bias_factor**2), rel=0.02)


# -- how strong it would have to be ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.0, 0.4])
def test_at_the_robustness_value_the_interval_reaches_the_target(sensitivity, target):
    found = sensitivity.robustness(0.95, target)
    draws = sensitivity._analysis.at_factor(found.bias_factor)
    assert 1 - draws.above(target) == pytest.approx(0.025, abs=5e-4)
    assert draws.quantile(0.025) == pytest.approx(target, abs=0.005)
    assert float(bias_factor(found.value, found.value)) == pytest.approx(found.bias_factor)


def test_at_the_robustness_value_of_the_mean_the_mean_is_the_target(sensitivity):
    for target in (0.0, 0.3, 1.2):
        found = sensitivity.robustness(target=target)
        sign = "against" if target < 0.89 else "along"
        assert sensitivity.at(found.value, found.value, sign=sign).mean == pytest.approx(target, abs=1e-4)


def test_with_a_certain_edge_robustness_is_the_quantile_of_a_over_b():
    graph = GRAPH.with_edge("smoking", "risk", 1.0)
    sensitivity = fit(STUDY.table, graph, rng=0).effect("smoking", "risk").sensitivity()
    without, after = sensitivity._analysis.models[0][1].parts()
    assert sensitivity.robustness(0.95).bias_factor == pytest.approx(
        np.quantile(without / after["risk"], 0.025), abs=1e-3
    )
    assert sensitivity.robustness().bias_factor == pytest.approx(without.mean() / after["risk"].mean(), abs=1e-5)


def test_an_interval_that_holds_zero_needs_no_hidden_cause():
    rng = np.random.default_rng(1)
    table = {"x": rng.standard_normal(50), "y": rng.standard_normal(50)}
    effect = fit(table, ad.CandidateGraph.from_order(["x", "y"]), rng=0).effect("x", "y")
    assert effect.sensitivity().robustness(0.95).value == 0.0
    assert "holds zero without any hidden common cause" in everything(effect)
    assert "holds zero without any hidden common cause" in " ".join(str(effect.sensitivity()).split())


# -- covariates ------------------------------------------------------------------------------------------------------


def test_benchmarks(effect, sensitivity):
    assert sensitivity.covariates == ("age", "sex", "income")
    age, twice = sensitivity.benchmark("age"), sensitivity.benchmark("age", times=2)
    assert age.r2_treatment < age.r2_treatment_high
    assert age.r2_outcome < age.r2_outcome_high
    assert age.r2_treatment < twice.r2_treatment
    assert twice.answer.mean < age.answer.mean < effect.mean
    only = sensitivity.benchmark("age", times=1, times_outcome=2)
    assert (only.r2_treatment, only.r2_outcome > age.r2_outcome) == (age.r2_treatment, True)
    assert sensitivity.strongest[0] == sensitivity.benchmarks()["as strong as"][0]


def test_benchmarks_with_all_edges_are_more_cautious(sensitivity):
    weak = min(sensitivity.covariates, key=lambda name: sensitivity.benchmark(name).bias_factor)
    assert sensitivity.benchmark(weak, selected=False).bias_factor > sensitivity.benchmark(weak).bias_factor


def test_partial_shares_are_those_of_least_squares_when_all_edges_are_there(sensitivity):
    from alldags.effects.hidden.analysis import partial_share

    model = sensitivity._analysis.models[0][1]
    names = model.treatment_sample.problem.terms
    table = {name: np.asarray(column, dtype=float) for name, column in STUDY.table.items()}
    columns = np.column_stack([np.ones(500), *(table[name] for name in names)])

    def left(which):
        kept = columns[:, which]
        return np.sum((table["smoking"] - kept @ np.linalg.lstsq(kept, table["smoking"], rcond=None)[0]) ** 2)

    place = 1 + names.index("age")
    everything = list(range(columns.shape[1]))
    expected = 1 - left(everything) / left([i for i in everything if i != place])
    assert np.median(partial_share(model, "smoking", ("age",), False)) == pytest.approx(expected, abs=0.004)


# -- many strengths --------------------------------------------------------------------------------------------------


def test_either_direction_has_its_benchmarks_and_its_table(sensitivity):
    mean = sensitivity.effect.mean
    for sign, side in (("against", -1), ("along", 1), ("positive", -1), ("negative", 1)):
        assert side * (sensitivity.benchmark("age", sign=sign).answer.mean - mean) > 0
        assert sensitivity.benchmarks(sign=sign)["mean"][0] == sensitivity.benchmark("age", sign=sign).answer.mean
        assert sensitivity.table([0.1], [0.2], sign=sign)["mean"] == [sensitivity.at(0.1, 0.2, sign=sign).mean]
    summary = sensitivity.summary()
    assert summary.same_direction[0] < mean < summary.opposite_directions[0]
    with pytest.raises(AlldagsError, match="sign must be one of"):
        sensitivity.benchmark("age", sign="up")


def test_the_grid_is_printed_where_there_is_something_to_bring_to_zero(sensitivity):
    text = sensitivity.text()
    assert text.count("away from zero") == 1
    assert "towards zero" not in text
    age = next(line for line in text.split("\n") if line.startswith("age "))
    ends = [sensitivity.benchmark("age", sign=sign).answer for sign in ("positive", "negative")]
    assert [f"{one.mean:.2f} ({one.low:.2f} to {one.high:.2f})" in age for one in ends] == [True, True]
    x, z, noise = np.random.default_rng(3).standard_normal((3, 200))
    none = ad.effect({"x": x + z, "z": z, "y": z + noise}, treatment="x", outcome="y", confounders=["z"], terms=None)
    assert none.interval()[0] < 0.0 < none.interval()[1]
    assert "opposite directions" in none.sensitivity().text()
    assert "pushed the estimate" not in none.sensitivity().text()


@pytest.mark.parametrize("terms", [None, "auto"])
def test_what_is_printed_of_hidden_causes_is_what_sensitivity_says(terms):
    study = ad.datasets.example()
    table = study.table | {"smoking": (study.table["smoking"] > study.table["smoking"].mean()) * 1.0}
    effect = ad.fit(table, study.graph, terms=terms, rng=0).effect("smoking", "risk")
    hidden, asked = effect.summary().hidden, effect.sensitivity().brief()
    assert hidden == asked
    assert hidden.share_interval > 0


@pytest.mark.parametrize(("slope", "treated"), [(0.8, 0.5), (0.8, 0.2), (0.3, 0.1), (2.0, 0.6)])
def test_odds_of_a_cause_are_those_that_a_simulated_one_has(slope, treated):
    u = np.random.default_rng(0).standard_normal(400_000)
    base = brentq(lambda c: expit(c + slope * u).mean() - treated, -20, 20)
    p = expit(base + slope * u)
    gain = np.mean(1.0 / (p * (1.0 - p))) * treated * (1.0 - treated)
    assert odds_of_share(1.0 - 1.0 / gain, treated) == pytest.approx(np.exp(slope), rel=0.03)


def test_a_doubtful_edge_leaves_covariates_as_strong_as_they_are():
    rng = np.random.default_rng(2)
    age = rng.standard_normal(600)
    x = (rng.random(600) < expit(0.5 * age)) * 1.0
    y = (rng.random(600) < expit(0.7 * age)) * 1.0
    study = {"treatment": "x", "outcome": "y", "confounders": ["age"], "terms": None, "rng": 0}
    found = [ad.effect({"age": age, "x": x, "y": y}, **study, probability=p) for p in (None, 0.5)]
    sure, doubtful = (one.sensitivity().benchmark("age") for one in found)
    assert found[1].probability_no_effect > 0.5
    assert doubtful.r2_treatment == pytest.approx(sure.r2_treatment, abs=0.005)
    assert doubtful.r2_outcome == pytest.approx(sure.r2_outcome, abs=0.02)


def test_the_table_is_made_of_answers(sensitivity):
    table = sensitivity.table([0.1, 0.3], [0.2])
    assert len(table) == 2
    answer = sensitivity.at(0.3, 0.2)
    row = list(table.rows())[1]
    assert (row["mean"], row["low"], row["high"]) == (answer.mean, answer.low, answer.high)
    assert len(sensitivity.table()) == 36


def test_a_prior_on_one_point_is_that_point(sensitivity):
    point = sensitivity.given(ad.Strength(0.1, 0.2, sign="against"))
    answer = sensitivity.at(0.1, 0.2)
    assert (point.mean, point.sd) == pytest.approx((answer.mean, answer.sd), rel=0.02)
    assert (point.low, point.high) == pytest.approx((answer.low, answer.high), abs=0.02)
    assert point.probability_no_direct_effect == pytest.approx(answer.probability_no_direct_effect, abs=0.02)


def test_a_prior_with_both_signs_widens(effect):
    """All edges certain: the mean stays, and the variance grows by E[f^2] E[B^2]."""
    graph = ad.CandidateGraph(GRAPH.variables, dict.fromkeys(GRAPH.edges, 1.0))
    certain = fit(STUDY.table, graph, rng=0).effect("smoking", "risk")
    sensitivity = certain.sensitivity()
    found = sensitivity.given(ad.Strength((0, 0.3), (0, 0.3)))
    shares = np.random.default_rng(0).uniform(0, 0.3, (2, 200_000))
    square = np.mean(bias_factor(*shares) ** 2) * np.mean(
        (certain.workings.unit * sensitivity._analysis.models[0][1].parts()[1]["risk"]) ** 2
    )
    assert found.mean == pytest.approx(certain.mean, abs=0.02)
    assert found.sd == pytest.approx(math.sqrt(certain.sd**2 + square), rel=0.03)


def test_a_cause_that_may_not_be_there_is_a_mixture(effect, sensitivity):
    strength = {"r2_treatment": 0.3, "r2_outcome": 0.3, "sign": "against"}
    sure = sensitivity.given(ad.Strength(**strength))
    half = sensitivity.given(ad.Strength(**strength, probability=0.5))
    none = sensitivity.given(ad.Strength(**strength, probability=0.0))
    assert half.mean == pytest.approx(0.5 * (sure.mean + effect.mean), abs=0.01)
    assert none.mean == pytest.approx(effect.mean, abs=0.01)
    assert half.low == pytest.approx(sure.low, abs=0.1)


def test_up_to_as_strong_as_a_covariate(effect, sensitivity):
    found = sensitivity.given(ad.Strength("age", "age", sign="against"))
    assert sensitivity.benchmark("age").answer.mean < found.mean < effect.mean


# -- mediators, several graphs ---------------------------------------------------------------------------------------


def test_a_cause_that_spares_the_mediator_is_the_simple_one(sensitivity, through_tar):
    r2x, share = 0.1, 0.2
    r2y = share * (1 - r2x) / (1 - share * r2x)
    found = through_tar.at(shares={"smoking": r2x, "tar": 0.0, "risk": share})
    assert found.mean == pytest.approx(sensitivity.at(r2x, r2y).mean, abs=0.01)
    assert found.sd == pytest.approx(sensitivity.at(r2x, r2y).sd, rel=0.05)


def test_a_cause_of_the_mediator_biases_what_runs_through_it(effect):
    only = effect.sensitivity(["smoking", "tar"])
    assert only.at(shares={"smoking": 0.2, "tar": 0.2}).mean < effect.mean - 0.05
    assert only.robustness().bias_factor is None
    assert 0 < only.robustness(0.95).value <= 1


def test_robustness_with_mediators(through_tar):
    found = through_tar.robustness(0.95).value
    answer = through_tar.at(shares=dict.fromkeys(MEDIATORS, found))
    assert answer.low == pytest.approx(0.0, abs=0.01)


def test_a_prior_with_mediators(effect, through_tar):
    found = through_tar.given(ad.Strength(shares=dict.fromkeys(MEDIATORS, (0.0, 0.2)), sign="against"))
    assert through_tar.at(shares=dict.fromkeys(MEDIATORS, 0.2)).mean < found.mean < effect.mean


def test_several_graphs_are_averaged_by_their_weights():
    without = GRAPH.without_edge("smoking", "risk")
    both = fit(STUDY.table, [GRAPH, without], rng=0).effect("smoking", "risk")
    apart = [fit(STUDY.table, graph, rng=0).effect("smoking", "risk").sensitivity() for graph in (GRAPH, without)]
    weights = both.posterior.graph_probabilities
    expected = sum(w * one.at(0.1, 0.1).mean for w, one in zip(weights, apart, strict=True))
    assert both.sensitivity().at(0.1, 0.1).mean == pytest.approx(expected, abs=0.01)


def test_without_a_path_there_is_nothing_to_ask():
    cut = ad.CandidateGraph(GRAPH.variables, {e: p for e, p in GRAPH.edges.items() if e[0] != "smoking"})
    effect = fit(STUDY.table, cut, rng=0).effect("smoking", "risk")
    assert effect.summary().hidden is None
    with pytest.raises(ad.AlldagsError, match="no candidate path"):
        effect.sensitivity()


def test_a_graph_without_a_path_counts_as_no_effect():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(60)
    table = {"x": x, "y": 0.2 * x + rng.standard_normal(60)}
    graphs = [ad.CandidateGraph(("x", "y"), {("x", "y"): 1.0}), ad.CandidateGraph(("x", "y"), {})]
    both = fit(table, graphs, rng=0).effect("x", "y")
    alone = fit(table, graphs[0], rng=0).effect("x", "y").sensitivity().at(0.05, 0.05)
    found = both.sensitivity().at(0.05, 0.05)
    assert found.mean == pytest.approx(both.posterior.graph_probabilities[0] * alone.mean, abs=0.01)
    assert found.probability_no_direct_effect == pytest.approx(both.posterior.graph_probabilities[1])


def test_same_seed_same_numbers():
    answers = [
        fit(STUDY.table, GRAPH, rng=3, n_jobs=jobs).effect("smoking", "risk").sensitivity(draws=500).at(0.2, 0.2)
        for jobs in (1, 2)
    ]
    assert answers[0] == answers[1]


# -- words -----------------------------------------------------------------------------------------------------------


def test_every_answer_has_a_line(effect):
    text = " ".join(everything(effect).split())
    assert (
        "A hidden common cause would have to explain 31% of the unexplained variance of both smoking and risk" in text
    )
    assert "the strongest measured covariate, age, explains" in text
    assert str(effect) == str(fit(STUDY.table, GRAPH, rng=0).effect("smoking", "risk"))
    line = effect.to.dict()["hidden_cause"]
    assert json.loads(json.dumps(line))["covariate"] == "age"
    assert 0.3 < line["share_interval"] < line["share_mean"] < 0.4


@pytest.mark.parametrize("engine", ["k2", "full", "em", "vb", "mcmc"])
def test_answers_where_it_does_not_apply_or_is_not_cheap_leave_it_out(engine):
    effect = fit(STUDY.table, GRAPH, rng=0, engine=engine).effect("smoking", "risk")
    assert effect.summary().hidden is None
    assert "hidden" not in everything(effect)
    assert effect.to.dict()["hidden_cause"] is None


def test_words_of_the_analysis(sensitivity, through_tar):
    text = " ".join(str(sensitivity).split())
    assert text.startswith(
        "An unmeasured common cause that explains 38% of the unexplained variance of both smoking and risk"
    )
    assert "The data do not say whether there is such a cause." in text
    assert "each of smoking, tar and risk" in " ".join(str(through_tar).split())
    assert "as strong as" in sensitivity.text()
    assert repr(sensitivity) == "Sensitivity('smoking' -> 'risk', hits ['smoking', 'risk'])"
    assert len(sensitivity.to_dict()["table"]) == 36
    json.dumps(sensitivity.to_dict(), allow_nan=False)


def test_contours_are_drawn(sensitivity):
    pytest.importorskip("matplotlib").use("Agg")
    axes = sensitivity.plot()
    labels = {text.get_text() for text in axes.texts}
    assert {"age", "sex", "income"} <= labels
    assert axes.get_legend().get_texts()[0].get_text() == "estimate is zero"


# -- engines and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["k2", "full", "em"])
def test_engines_that_do_not_average_are_refused(engine):
    effect = fit(STUDY.table, GRAPH, rng=0, engine=engine).effect("smoking", "risk")
    with pytest.raises(
        ad.AlldagsError, match=f"sensitivity to a hidden cause and engine='{engine}' do not go together"
    ):
        effect.sensitivity()


def test_rows_in_which_a_variable_was_set_are_refused():
    """Its regression leaves them out, and nothing hidden acts on it there."""
    effect = fit(STUDY.table, GRAPH, rng=0).effect("smoking", "risk")
    data = effect.posterior._data
    object.__setattr__(data, "was_set", frozenset({"smoking"}))
    with pytest.raises(ad.AlldagsError, match="'smoking' leaves out rows in which it was set"):
        effect.sensitivity()
    assert effect.summary().hidden is None


def test_open_directions_on_the_way_are_refused():
    graph = GRAPH.with_pair("tar", "exercise", 0.2)
    with pytest.raises(ad.AlldagsError, match="open directions of 'tar', 'exercise' do not go together"):
        fit(STUDY.table, graph, rng=0).effect("smoking", "risk").sensitivity()


def test_scale_mixtures_have_no_absent_edges():
    effect = fit(STUDY.table, GRAPH, rng=0, engine="vb").effect("smoking", "risk")
    answer = effect.sensitivity().at(1e-9, 1e-9)
    assert answer.probability_no_direct_effect is None
    assert answer.mean == pytest.approx(effect.mean, abs=0.2 * effect.sd)
    excluded = fit(STUDY.table, GRAPH.without_edge("smoking", "risk"), rng=0, engine="vb")
    with pytest.raises(ad.AlldagsError, match="no candidate edge 'smoking' -> 'risk'"):
        excluded.effect("smoking", "risk").sensitivity().at(0.1, 0.1)


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda s: s.at(), "say how strong"),
        (lambda s: s.at(0.1), "say how strong"),
        (lambda s: s.at(1.0, 0.1), "r2_treatment must be a number from 0 to below 1, got 1.0"),
        (lambda s: s.at(0.1, -0.1), "r2_outcome must be"),
        (lambda s: s.at(0.1, 0.1, sign="up"), "sign must be one of"),
        (lambda s: s.at(0.1, 0.1, rho=0.1), "not both"),
        (lambda s: s.at(rho=1.0), "rho must be strictly between"),
        (lambda s: s.at(0.1, shares={"smoking": 0.1, "risk": 0.1}), "only one of them"),
        (lambda s: s.at(shares={"smoking": 0.1}), "shares must name"),
        (lambda s: s.at(0.1, 0.1, level=2), "level"),
        (lambda s: s.robustness(1.5), "level"),
        (lambda s: s.robustness(target=math.nan), "target must be"),
        (lambda s: s.benchmark("aged"), "'aged' is not a measured covariate .* did you mean 'age'"),
        (lambda s: s.benchmark("age", times=0), "times must be"),
        (lambda s: s.benchmark("age", selected=1), "selected must be"),
        (lambda s: s.given(0.3), "strength must be Strength"),
        (lambda s: s.given(ad.Strength("agee", 0.1)), "not a measured covariate"),
        (lambda s: s.given(ad.Strength(shares={"smoking": 0.1})), "Strength shares must name"),
    ],
)
def test_bad_questions(sensitivity, ask, match):
    with pytest.raises(ad.AlldagsError, match=match):
        ask(sensitivity)


@pytest.mark.parametrize(
    ("hits", "match"),
    [
        ("risk", "must be a list"),
        (["smoking", "age"], "'age', which does not lie between"),
        (["tar", "risk"], "does not bias its total effect"),
        (["smoking"], "at least one variable after it"),
    ],
)
def test_bad_hits(effect, hits, match):
    with pytest.raises(ad.AlldagsError, match=match):
        effect.sensitivity(hits)


def test_questions_for_a_simple_cause_are_refused_with_mediators(through_tar):
    for ask in (
        lambda: through_tar.at(0.1, 0.1),
        lambda: through_tar.benchmark("age"),
        through_tar.plot,
        lambda: through_tar.given(ad.Strength()),
    ):
        with pytest.raises(ad.AlldagsError, match="treatment and outcome alone"):
            ask()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"r2_treatment": 1.2}, "r2_treatment must be"),
        ({"r2_outcome": (0.3, 0.1)}, "r2_outcome must be"),
        ({"sign": "up"}, "sign must be"),
        ({"probability": 2}, "probability must be"),
        ({"shares": {"x": "age"}}, "must be a number or a range"),
    ],
)
def test_bad_strengths(options, match):
    with pytest.raises(ad.AlldagsError, match=match):
        ad.Strength(**options)
