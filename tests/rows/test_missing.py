"""Missing values: dropped with a word, or imputed as an average over completed tables."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from calibration.rows import EFFECT_WITH_HOLES, GRAPH, NAMES, with_holes

import alldags as ad
from alldags.data.missing import Holes, _precision_factor, sweeps_between
from alldags.errors import AlldagsError, DataError
from lines import fit
from show.everything import everything

RAW = ad.Prior(slab_variance=1.0, units="raw")


@pytest.fixture
def holes(rng):
    return with_holes(rng, 150)[1]


# -- the imputation itself ---------------------------------------------------------------------------------------------


def test_precision_matrices_are_wishart(rng):
    table = rng.normal(size=(40, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.8], [0.0, 0.0, 0.6]])
    centred = table - table.mean(axis=0)
    inverse = np.linalg.inv(centred.T @ centred)
    factors = [_precision_factor(centred, rng) for _ in range(4000)]
    found = np.array([factor @ factor.T for factor in factors])
    dof = 39.0  # E[Q] = dof S^-1, Var(Q_ij) = dof (P_ij^2 + P_ii P_jj) with P = S^-1
    sd = np.sqrt(dof * (inverse**2 + np.outer(np.diag(inverse), np.diag(inverse))))
    assert (np.abs(found.mean(axis=0) - dof * inverse) < 5 * sd / np.sqrt(4000)).all()
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.08)


def test_imputed_values_follow_the_regression_on_what_was_seen(rng):
    x = rng.normal(size=4000)
    table = np.column_stack([x, 2.0 + 0.7 * x + 0.5 * rng.normal(size=4000), rng.normal(size=4000)])
    gone = rng.random(4000) < 1.0 / (1.0 + np.exp(-2.0 * x))  # missing at random, given x
    table[gone, 1] = np.nan
    (full,) = Holes(("x", "y", "z"), table).completed(1, rng)
    rest = full[gone, 1] - 2.0 - 0.7 * full[gone, 0]
    assert abs(rest.mean()) < 0.06  # the intercept far from the middle is known to about 0.015
    assert rest.std() == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(rest, full[gone, 0])[0, 1]) < 0.08
    assert (full[~gone] == table[~gone]).all()


def test_with_known_values_nothing_is_changed_and_with_none_a_column_is_refused(rng):
    table = rng.normal(size=(10, 2))
    assert (next(Holes(("a", "b"), table).completed(1, rng)) == table).all()
    table[:, 1] = np.nan
    table[0, 1] = 1.0
    with pytest.raises(DataError, match="column 'b' has 1 values that are not missing"):
        fit(table, ad.CandidateGraph.from_order(["a", "b"]), names=["a", "b"], missing="impute")


@pytest.mark.parametrize("rows", [7, 12, 30])
def test_few_rows_and_copies_of_columns_are_no_obstacle(rng, rows):
    table = rng.normal(size=(rows, 6))
    table[:, 5] = 2.0 * table[:, 0] + 1.0
    table[rng.random((rows, 6)) < 0.2] = np.nan
    tables = list(Holes(NAMES, table).completed(5, rng))
    assert np.isfinite(tables).all()
    assert np.abs(tables).max() < 100.0


def test_more_holes_need_more_sweeps_between_tables():
    assert [sweeps_between(share) for share in (0.0, 0.2, 0.5, 0.9)] == [5, 5, 5, 29]


# -- averaging ---------------------------------------------------------------------------------------------------------


def test_the_answer_is_the_equal_mixture_of_the_completed_tables(rng, holes):
    tables = [pd.DataFrame(table, columns=NAMES) for table in Holes(NAMES, holes).completed(4, rng)]
    effect = fit(ad.Imputed(tables), GRAPH, prior=RAW, rng=0).effect("x", "y")
    apart = [fit(table, GRAPH, prior=RAW, rng=0).effect("x", "y") for table in tables]
    means, sds = (np.array([getattr(part, name) for part in apart]) for name in ("mean", "sd"))
    assert effect.mean == pytest.approx(means.mean(), rel=1e-12)
    assert effect.sd == pytest.approx(np.sqrt((sds**2).mean() + means.var()), rel=1e-12)
    assert effect.uncertainty.missing == pytest.approx(means.std(), rel=1e-10)
    assert effect.uncertainty.missing_information == pytest.approx(means.var() / effect.sd**2, rel=1e-10)
    assert effect.uncertainty.mean_error == pytest.approx(means.std(ddof=1) / 2.0, rel=1e-10)
    structure = np.array([part.uncertainty.structure for part in apart])
    assert effect.uncertainty.structure == pytest.approx(np.sqrt((structure**2).mean()), rel=1e-8)
    parts = (effect.uncertainty.structure, effect.uncertainty.coefficients, effect.uncertainty.missing)
    assert sum(part**2 for part in parts) == pytest.approx(effect.sd**2, rel=1e-12)
    for ask in (lambda e: float(e.do(2.0).mean), lambda e: e.do(2.0).new_unit.mean):
        assert ask(effect) == pytest.approx(np.mean([ask(part) for part in apart]), rel=1e-12)
    assert effect.probability_no_effect == pytest.approx(np.mean([part.probability_no_effect for part in apart]))
    draws = effect.draws(20_000, rng=1)
    assert draws.mean() == pytest.approx(effect.mean, abs=5 * effect.sd / np.sqrt(20_000))
    assert draws.std() == pytest.approx(effect.sd, rel=0.03)
    assert effect.checks.confounder_link.mean_without == pytest.approx(
        np.mean([p.checks.confounder_link.mean_without for p in apart])
    )


def test_evidence_weighs_graphs_inside_a_table_only(rng, holes):
    graphs = [GRAPH, GRAPH.without_edge("c1", "y")]
    tables = [pd.DataFrame(table, columns=NAMES) for table in Holes(NAMES, holes).completed(3, rng)]
    posterior = fit(ad.Imputed(tables), graphs, graph_weights=[0.2, 0.8], prior=RAW)
    apart = [fit(table, graphs, graph_weights=[0.2, 0.8], prior=RAW).graph_probabilities for table in tables]
    np.testing.assert_allclose(posterior.graph_probabilities, np.concatenate(apart) / 3, rtol=1e-10)
    assert posterior.graphs == tuple(graphs)
    assert not posterior.has_hyperparameters
    with pytest.raises(AlldagsError, match="no evidence in common"):
        _ = posterior.log_evidence


def test_units_are_common_to_all_tables(holes):
    posterior = fit(holes, GRAPH, names=NAMES, missing="impute", imputations=3, rng=0)
    scales = {tuple(model.data.scale) for model in posterior._models.items}
    assert len(scales) == 1
    assert len({model.data for model in posterior._models.items}) == 3


def test_tables_of_the_whole_fit_are_averages_over_the_tables(rng, holes):
    tables = [pd.DataFrame(table, columns=NAMES) for table in Holes(NAMES, holes).completed(3, rng)]
    posterior = fit(ad.Imputed(tables), GRAPH, prior=RAW)
    apart = [fit(table, GRAPH, prior=RAW) for table in tables]
    edges = [part.edge_probabilities()["posterior"] for part in apart]
    np.testing.assert_allclose(posterior.edge_probabilities()["posterior"], np.mean(edges, axis=0), rtol=1e-10)
    effects = [part.effects().values for part in apart]
    np.testing.assert_allclose(posterior.effects().values, np.mean(effects, axis=0), rtol=1e-9, atol=1e-12)
    best = posterior.top_graphs(1)[0]
    shares = [{item.edges: item.probability for item in part.top_graphs(200)} for part in apart]
    assert best.probability == pytest.approx(np.mean([share.get(best.edges, 0.0) for share in shares]), rel=0.05)
    first = next(posterior.effect("x", "y").edge_influence().rows())
    assert 0.0 <= first["variance_removed"] <= 1.0


def test_each_table_has_its_own_link(holes):
    posterior = fit(holes, GRAPH, names=NAMES, missing="impute", imputations=3, rng=0)
    raised = [model.node("y").raised.tolist() for model in posterior._linked_models("x").items]
    assert raised[0] != raised[1] != raised[2]


def test_imputation_mends_what_complete_rows_get_wrong(scaled):
    seeds = range(scaled(8))
    tables = [with_holes(np.random.default_rng(seed))[1] for seed in seeds]

    def errors(how):
        options = {"missing": how, "imputations": 10} if how == "impute" else {"missing": how}
        fits = [fit(table, GRAPH, names=NAMES, rng=0, **options).effect("x", "y").mean for table in tables]
        return np.array(fits) - EFFECT_WITH_HOLES

    imputed, complete = errors("impute"), errors("drop")
    assert abs(imputed.mean()) < 0.02 + 3 * imputed.std() / np.sqrt(len(seeds))
    assert complete.mean() < imputed.mean() - 0.08
    assert imputed.std() < complete.std()


def test_auxiliary_columns_know_why_values_are_missing(rng):
    x = rng.normal(size=1000)
    y = x + rng.normal(size=1000)
    symptom = y + 0.3 * rng.normal(size=1000)
    table = {"x": x, "y": np.where(symptom > 0.5, np.nan, y), "symptom": symptom}
    graph = ad.CandidateGraph.from_order(["x", "y"])
    without, helped = (
        fit(table, graph, missing="impute", auxiliary=names, rng=0).effect("x", "y") for names in ((), ("symptom",))
    )
    assert without.mean < 0.7
    assert helped.mean == pytest.approx(1.0, abs=0.1)
    assert not any("ignored" in note for note in helped.notes)


def test_the_answer_says_what_was_imputed_and_when_more_tables_are_needed(holes):
    effect = fit(holes, GRAPH, names=NAMES, missing="impute", imputations=2, rng=0).effect("x", "y")
    text = " ".join(everything(effect).split())
    assert "were imputed 2 times, from a normal distribution of all columns used" in text
    assert "missing at random" in text
    assert "from not knowing missing values" in text
    assert "imputed tables would do" in text
    answer = effect.to.dict()["missing"]
    assert answer == {
        "imputations": 2,
        "sd": effect.uncertainty.missing,
        "share": effect.uncertainty.missing_information,
        "error": effect.uncertainty.imputation_error,
    }


def test_same_seed_same_numbers(holes):
    one, two, other = (
        fit(holes, GRAPH, names=NAMES, missing="impute", imputations=3, rng=seed, n_jobs=jobs).effect("x", "y")
        for seed, jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert one.mean == two.mean != other.mean
    assert one.interval() == two.interval()


def test_twenty_imputations_take_less_than_a_second():
    table = with_holes(np.random.default_rng(0))[1]
    fit(table, GRAPH, names=NAMES, missing="impute", imputations=2).effect("x", "y").mean  # noqa: B018  - compiles
    start = time.process_time()
    fit(table, GRAPH, names=NAMES, missing="impute").effect("x", "y").sd  # noqa: B018
    assert time.process_time() - start < 1.0


def test_rows_without_any_value_are_left_out_and_complete_tables_are_left_alone(rng):
    table = rng.normal(size=(30, 2))
    table[3] = np.nan
    table[4, 0] = np.nan
    graph = ad.CandidateGraph.from_order(["a", "b"])
    posterior = fit(table, graph, names=["a", "b"], missing="impute", rng=0)
    assert posterior.rows == 29
    assert any("1 rows without any value were left out" in note for note in posterior.notes)
    plain = fit(table[5:], graph, names=["a", "b"], missing="impute", rng=0)
    assert list(map(str, plain.notes)) == ["missing='impute': no value is missing"]
    assert plain.effect("a", "b").uncertainty.missing is None
    assert plain.effect("a", "b").mean == fit(table[5:], graph, names=["a", "b"]).effect("a", "b").mean


# -- dropping ----------------------------------------------------------------------------------------------------------


def test_dropping_says_how_many_rows_and_for_which_columns(holes):
    posterior = fit(holes, GRAPH, names=NAMES, missing="drop", rng=0)
    gone = int(np.isnan(holes).any(axis=1).sum())
    counts = dict(zip(NAMES, np.isnan(holes).sum(axis=0), strict=True))
    (note,) = posterior.notes
    assert note.text.startswith(f"{gone} of 150 rows were dropped for missing values in columns")
    assert all(f"'{name}' ({counts[name]})" in note for name in ("c1", "c3", "m"))
    complete = fit(holes[~np.isnan(holes).any(axis=1)], GRAPH, names=NAMES, missing="drop", rng=0)
    assert complete.notes == ()
    assert complete.effect("x", "y").mean == pytest.approx(posterior.effect("x", "y").mean, rel=1e-12)


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"missing values in columns .* drop them with missing='drop', or fill them in with"),
        ({"missing": "mice"}, r"missing must be one of \('raise', 'drop', 'impute'\), got 'mice'"),
        ({"missing": "impute", "imputations": 1}, "imputations must be a whole number of at least 2, got 1"),
        ({"missing": "impute", "auxiliary": "z"}, r"write auxiliary=\['z'\]"),
        ({"missing": "impute", "auxiliary": ["age"]}, "column 'age' is not in the data"),
        ({"missing": "drop", "auxiliary": ["c1"]}, "auxiliary= columns are for imputation"),
        ({"missing": "drop", "imputations": 30}, "imputations= is for missing='impute'"),
    ],
)
def test_mistakes_are_named(holes, options, words):
    with pytest.raises(AlldagsError, match=words):
        fit(holes, GRAPH, names=NAMES, **options)


def gaps_of_the_outcome():
    x, z, noise = np.random.default_rng(5).standard_normal((3, 200))
    table = {"x": x + z, "z": z, "y": x + z + noise}
    table["y"][::9] = np.nan
    return table, {"treatment": "x", "outcome": "y", "confounders": ["z"], "rng": 0}


def test_gaps_that_leave_out_rows_of_one_regression_are_not_to_be_decided_on():
    table, study = gaps_of_the_outcome()
    assert np.isfinite(ad.effect(table, **study).mean)
    table["z"] = np.where(np.arange(200) % 50 == 1, np.nan, table["z"])
    with pytest.raises(DataError, match=r"missing values in column 'z' \(4\); of 200 rows, 4 have one: drop them"):
        ad.effect(table, **study)


def test_a_refusal_names_the_gaps_and_not_an_option_that_nobody_asked_for():
    table, study = gaps_of_the_outcome()
    effect = ad.effect(table, **study)
    with pytest.raises(
        DataError, match=r"a placebo and gaps do not go together: .* drop such rows with missing='drop'"
    ):
        effect.checks.placebo(2)
    assert len(ad.effect(table, **study, missing="drop").checks.placebo(2, rng=0).means) == 2
    with pytest.raises(DataError, match=r"errors of measurement in 'z' .* and gaps of 'y' do not go together"):
        ad.effect(table, **study, reliability={"z": 0.8})
    survival = {"y": ad.Survival(event="seen")}
    with pytest.raises(DataError, match=r"survival time 'y' and gaps of 'y' do not go together: .* may have been"):
        ad.effect(table | {"y": np.exp(table["y"]), "seen": table["z"] > 0}, **study, families=survival)


def test_infinite_values_are_not_imputed(holes):
    holes[0, 0] = np.inf
    with pytest.raises(DataError, match="infinite values in 'c1'"):
        fit(holes, GRAPH, names=NAMES, missing="impute")


def test_moments_cannot_be_imputed(rng):
    moments = ad.Moments.from_table(rng.normal(size=(20, 6)), names=NAMES)
    with pytest.raises(DataError, match="moments, which hold no rows, and missing='impute'"):
        fit(moments, GRAPH, missing="impute")


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([{"x": [1.0, 2.0]}], "at least 2 completed tables, got 1"),
        ("mice.csv", "needs a list of completed tables, got str"),
        ([{"x": [1.0, 2.0]}, {"y": [1.0, 2.0]}], "table 2 has other columns than the first: 'x', 'y'"),
        ([{"x": [1.0, 2.0]}, {"x": [1.0, 2.0, 3.0]}], "table 2 has 3 rows, the first has 2"),
        ([{"x": ["a", "b"]}, {"x": ["a", "b"]}], "no column of numbers"),
    ],
)
def test_completed_tables_must_be_copies_of_one(tables, words):
    with pytest.raises(DataError, match=words):
        ad.Imputed(tables)


def test_completed_tables_must_be_complete(rng, holes):
    full = next(Holes(NAMES, holes).completed(1, rng))
    frames = [pd.DataFrame(table, columns=NAMES) for table in (full, holes)]
    with pytest.raises(DataError, match=r"ad\.Imputed tables and gaps of .* complete these columns, too"):
        fit(ad.Imputed(frames), GRAPH)
    with pytest.raises(
        DataError, match=r"ad\.Imputed tables and missing='drop' .* nothing is missing in them; leave out"
    ):
        fit(ad.Imputed(frames), GRAPH, missing="drop")
    moments = [ad.Moments.from_table(frame) for frame in frames[:1] * 2]
    found = fit(ad.Imputed(moments), GRAPH).effect("x", "y")
    assert found.mean == pytest.approx(fit(full, GRAPH, names=NAMES).effect("x", "y").mean, rel=1e-12)
    assert found.uncertainty.missing_information == pytest.approx(0.0, abs=1e-20)


def test_influence_of_an_edge_that_is_surely_there_is_not_made_of_rounding():
    study = ad.datasets.example()
    table = {name: np.array(column, dtype=float) for name, column in study.table.items()}
    table["income"][::9] = np.nan
    effect = fit(table, study.graph, missing="impute", imputations=4, rng=0).effect("smoking", "risk")
    for row in effect.edge_influence().rows():
        assert 0.0 <= row["posterior"] <= 1.0
        for value in (row["effect_if_present"], row["effect_if_absent"]):
            assert np.isnan(value) or abs(value - effect.mean) < 10 * effect.sd
