"""Fits of tables with gaps: categories, families, curves, experiments, weights, clusters; and the outcome alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
import lines
from alldags.errors import DataError
from alldags.models.gaps import order_of

LEVELS = np.array(["none", "some", "much"], dtype=object)
GRAPH = ad.CandidateGraph.from_tiers([["x", "z", "sex", "c"], ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)

NUMBERS = ad.CandidateGraph.from_tiers([["x", "z", "sex"], ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)


def study(seed: int = 0, rows: int = 400, outcome: str = "yes/no") -> dict[str, np.ndarray]:
    """Return a study without gaps."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, rows))
    sex = (rng.random(rows) < 0.5).astype(float)
    c = rng.integers(0, 3, rows)
    t = (rng.random(rows) < expit(0.6 * x + np.array([0.0, 0.8, -0.8])[c])).astype(float)
    eta = -0.4 + 0.8 * t + 0.7 * x + np.array([0.0, 1.0, -0.8])[c] + 0.3 * sex
    y = {
        "yes/no": lambda: (rng.random(rows) < expit(eta)).astype(float),
        "count": lambda: rng.poisson(np.exp(eta)).astype(float),
        "student": lambda: eta + rng.standard_t(3, rows),
        "normal": lambda: eta + rng.standard_normal(rows),
    }[outcome]()
    return {"x": x, "z": z, "sex": sex, "c": LEVELS[c], "t": t, "y": y}


def holed(table: dict[str, np.ndarray], seed: int = 1, names: tuple[str, ...] = ("x", "sex", "c")) -> dict:
    """Return the study with gaps, more of them where the outcome is large."""
    rng = np.random.default_rng(seed)
    found = dict(table)
    high = table["y"] > np.median(table["y"])
    for name in names:
        gone = rng.random(len(high)) < np.where(high, 0.25, 0.1)
        found[name] = np.where(gone, None if name == "c" else np.nan, table[name])
    return found


FAMILIES = {"yes/no": "auto", "count": {"y": "poisson"}, "student": {"y": "student"}, "normal": "auto"}


@pytest.mark.parametrize("outcome", list(FAMILIES))
def test_gaps_in_a_category_a_number_and_a_yes_no_variable_meet_every_family(outcome):
    full, families = study(outcome=outcome), FAMILIES[outcome]
    whole = lines.fit(full, GRAPH, families=families, rng=0).effect("t", "y")
    effect = lines.fit(holed(full), GRAPH, families=families, missing="impute", imputations=8, rng=0).effect("t", "y")
    assert abs(effect.mean - whole.mean) < 1.5 * whole.sd
    assert 0.9 * whole.sd < effect.sd < 1.6 * whole.sd
    assert effect.measure == whole.measure
    assert effect.uncertainty.missing > 0.0
    assert effect.posterior.rows == 400
    assert any("were imputed 8 times, each by its own regression" in note for note in effect.notes)


def test_every_copy_is_regressed_and_pushed_by_its_own_rows():
    posterior = lines.fit(holed(study()), GRAPH, missing="impute", imputations=4, rng=0)
    tables = posterior.workings.tables
    assert all(set(data.families) == {"t", "y"} for data in tables)
    rows = [data.table.column("x") for data in tables]
    assert len({tuple(one) for one in rows}) == 4
    answer = posterior.effect("t", "y").answer
    assert [one.target.table for one in answer.responses.items] == [data.table for data in tables]


def test_an_answer_over_completed_tables_is_the_average_of_their_answers():
    posterior = lines.fit(holed(study()), GRAPH, missing="impute", imputations=4, rng=0)
    tables = [{n: d.table.column(n) for n in ("x", "z", "sex", "t", "y")} for d in posterior.workings.tables]
    words = [LEVELS[_codes(data.table)] for data in posterior.workings.tables]
    tables = [table | {"c": word} for table, word in zip(tables, words, strict=True)]
    together = lines.fit(ad.Imputed(tables), GRAPH, rng=0).effect("t", "y")
    apart = [lines.fit(table, GRAPH, rng=0).effect("t", "y") for table in tables]
    means, sds = (np.array([getattr(one, name) for one in apart]) for name in ("mean", "sd"))
    error = 5 * together.sd / np.sqrt(4000)
    assert together.mean == pytest.approx(means.mean(), abs=error)
    assert together.sd == pytest.approx(np.sqrt((sds**2).mean() + means.var()), rel=0.08)
    assert together.uncertainty.missing == pytest.approx(means.std(), abs=error)
    low, high = together.levels
    assert float(low) == pytest.approx(np.mean([float(one.levels[0]) for one in apart]), abs=error)
    assert float(high) == pytest.approx(np.mean([float(one.levels[1]) for one in apart]), abs=error)


def _codes(table) -> np.ndarray:
    """Return the levels of the category, which the table holds as contrasts: by their order of appearance."""
    pair = np.column_stack([table.column(name) for name in table.columns.names if name.startswith("c: ")])
    _, codes = np.unique(pair.round(6), axis=0, return_inverse=True)
    return codes.ravel()


def test_imputed_tables_may_lack_a_level_that_others_have():
    tables = [study(), study()]
    tables[0]["c"] = np.where(tables[0]["c"] == "much", "some", tables[0]["c"]).astype(object)
    posterior = lines.fit(ad.Imputed(tables), GRAPH, rng=0)
    assert len(posterior.workings.data.seen.levels["c"].labels) == 3
    assert np.isfinite(posterior.effect("t", "y").mean)


def test_a_category_with_gaps_may_be_the_treatment():
    table = {name: column for name, column in study().items() if name != "t"}
    edges = {(cause, "y"): 0.5 for cause in ("x", "z", "sex")} | {("c", "y"): 1.0}
    graph = ad.CandidateGraph.from_edges(edges)
    options = {"missing": "impute", "imputations": 5, "rng": 0}
    whole, found = (
        lines.fit(one, graph, **more).effect("c", "y").contrast("none", "much")
        for one, more in ((table, {"rng": 0}), (holed(table), options))
    )
    assert found.mean == pytest.approx(whole.mean, abs=whole.sd)
    assert whole.sd < found.sd < 1.5 * whole.sd


def test_each_copy_has_the_treated_that_it_has():
    table = study()
    table["t"] = np.where(np.arange(400) % 5 == 0, np.nan, table["t"])
    posterior = lines.fit(table, GRAPH, missing="impute", imputations=3, rng=0)
    effect = posterior.effect("t", "y", over="treated")
    counts = {one.target.count for one in effect.answer.responses.items}
    treated = {float(data.table.column("t").sum()) for data in posterior.workings.tables}
    assert counts == treated
    assert len(counts) > 1
    values = np.concatenate([data.table.column("t") for data in posterior.workings.tables])
    assert set(values.tolist()) == {0.0, 1.0}


def test_curves_are_looked_for_in_every_completed_table(rng):
    x = rng.standard_normal(500)
    t = (rng.random(500) < expit(np.abs(x) - 0.8)).astype(float)
    y = 0.5 * t + 1.5 * np.abs(x) + 0.5 * rng.standard_normal(500)
    table = {"x": np.where(rng.random(500) < 0.25, np.nan, x), "t": t, "y": y}
    graph = ad.CandidateGraph.from_tiers([["x"], ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)
    options = {"terms": {"y": ["curve(x)"]}, "missing": "impute", "imputations": 4, "rng": 0}
    effect = lines.fit(table, graph, **options).effect("t", "y")
    assert effect.mean == pytest.approx(0.5, abs=4 * effect.sd)
    assert effect.sd < 0.1  # straight lines leave a spread of 1: an sd of 0.1
    assert effect.uncertainty.missing > 0.0
    assert effect.posterior.workings.tables[1].curved
    auto = lines.fit(table, graph, **(options | {"terms": "auto", "imputations": 2})).effect("t", "y")
    assert auto.mean == pytest.approx(effect.mean, abs=0.1)


def test_same_seed_same_numbers_with_any_number_of_threads():
    table = holed(study(rows=200))
    one, two, other = (
        lines.fit(table, GRAPH, missing="impute", imputations=2, rng=seed, n_jobs=jobs).effect("t", "y")
        for seed, jobs in ((3, 1), (3, 2), (4, 1))
    )
    assert (one.mean, one.sd) == (two.mean, two.sd)
    assert one.mean != other.mean


@pytest.mark.parametrize("kind", ["families", "curves", "outcome alone", "imputed"])
def test_what_was_imputed_is_saved_and_loaded(tmp_path, kind):
    table = holed(study(rows=200))
    if kind == "curves":
        graph = ad.CandidateGraph.from_tiers([["x", "z"], ["t"], ["y"]], 0.5)
        normal = holed(study(rows=200, outcome="normal"), names=("x",))
        fit = lines.fit(normal, graph, terms={"y": ["curve(x)"]}, missing="impute", imputations=3, rng=0)
    elif kind == "imputed":
        fit = lines.fit(ad.Imputed([study(rows=200), study(2, rows=200)]), GRAPH, rng=0)
    elif kind == "outcome alone":
        fit = lines.fit(holed(study(rows=200), names=("y",)), GRAPH, missing="impute", rng=0)
    else:
        fit = lines.fit(table, GRAPH, missing="impute", imputations=3, rng=0)
    fit.save(tmp_path / "fit.npz")
    found = ad.load(tmp_path / "fit.npz").effect("t", "y")
    effect = fit.effect("t", "y")
    assert (found.mean, found.sd, found.uncertainty.missing) == (effect.mean, effect.sd, effect.uncertainty.missing)
    assert found.do(1.0).mean.sd == effect.do(1.0).mean.sd


# -- the outcome alone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["normal", "yes/no"])
def test_gaps_in_the_outcome_leave_rows_out_of_its_own_regression_only(outcome):
    table = holed(study(outcome=outcome), names=("y",))
    prior = ad.Prior(units="raw", slab_variance=1.0, link=0.0)
    kept, dropped = (lines.fit(table, GRAPH, prior=prior, missing=how, rng=0) for how in ("impute", "drop"))
    assert len(kept.workings.tables) == 1
    assert kept.rows == 400
    ask = (lambda effect: effect.on("log odds")) if outcome == "yes/no" else (lambda effect: effect)
    one, two = (ask(fit.effect("t", "y")) for fit in (kept, dropped))
    assert one.mean == pytest.approx(two.mean, rel=1e-6)
    assert one.sd == pytest.approx(two.sd, rel=1e-6)
    assert one.uncertainty.missing is None
    assert any("were left out of the regression of it" in note for note in one.notes)
    assert not any("were imputed" in note for note in one.notes)
    early = [fit.effect("x", "t").mean for fit in (kept, dropped)]
    assert early[0] != pytest.approx(early[1], rel=1e-6)  # the treatment's regression has all rows


@pytest.mark.parametrize("outcome", ["yes/no", "normal"])
def test_a_curved_outcome_with_gaps_leaves_them_out_of_its_regression_and_not_of_the_average(outcome):
    table = holed(study(outcome=outcome), names=("y",))
    kept, dropped = (
        lines.fit(table, GRAPH, terms={"y": ["curve(x)", "t*x"]}, missing=how, rng=0).effect("t", "y")
        for how in ("impute", "drop")
    )
    assert len(kept.posterior.workings.tables) == 1
    assert kept.answer.target.count == 400
    assert dropped.answer.target.count < 400
    shift = 0.2 * dropped.sd if outcome == "yes/no" else 0.4 * dropped.sd  # other rows, the same regression
    assert kept.mean == pytest.approx(dropped.mean, abs=shift)
    assert kept.sd == pytest.approx(dropped.sd, rel=0.15)


def test_effects_are_averaged_over_rows_without_outcome_too():
    table = holed(study(), names=("y",))
    effect = lines.fit(table, GRAPH, missing="impute", rng=0).effect("t", "y")
    assert effect.answer.target.count == 400
    assert np.isfinite(effect.posterior.effect("t", "y", over="treated").mean)


def test_rows_without_outcome_are_no_experiment():
    table = holed(study(outcome="normal"), names=("y",))
    numbers = {name: column for name, column in table.items() if name != "c"}
    effect = lines.fit(numbers, NUMBERS, missing="impute", rng=0).effect("t", "y")
    assert 0.0 < effect.sensitivity().robustness().value < 1.0
    complete = lines.fit(numbers, NUMBERS, missing="drop", rng=0).effect("t", "y")
    assert effect.checks.least_squares.estimate == pytest.approx(complete.checks.least_squares.estimate, rel=1e-9)
    assert float(effect.do(1.0).mean) - float(effect.do(0.0).mean) == pytest.approx(effect.mean, rel=1e-6)


def test_rows_without_outcome_need_no_word_about_missing_values():
    table = holed(study(), names=("y",))
    found, imputed = (lines.fit(table, GRAPH, rng=0, **said) for said in ({}, {"missing": "impute"}))
    assert found.effect("t", "y").mean == imputed.effect("t", "y").mean
    assert any(n.severity == "changes the answer" and "those without 'y'" in n for n in found.notes)


def test_a_gap_in_what_acts_on_something_is_an_error_unless_something_is_said():
    with pytest.raises(DataError, match="missing values in column 't'"):
        lines.fit(holed(study(), names=("t",)), GRAPH, rng=0)


# -- what is said of rows ----------------------------------------------------------------------------------------------


def test_experiments_on_other_variables_go_with_imputation(rng):
    rows = 1500
    x = rng.standard_normal(rows)
    was_set = np.arange(rows) < 500
    m = np.where(was_set, rng.normal(2.0, 1.0, rows), 0.8 * x + 0.6 * rng.standard_normal(rows))
    y = 0.5 * m + 0.5 * x + 0.5 * rng.standard_normal(rows)
    table = {"x": np.where(rng.random(rows) < expit(y - 1.0), np.nan, x), "m": m, "y": y}
    graph = ad.CandidateGraph.from_order(["x", "m", "y"], 0.5)
    fit = lines.fit(table, graph, interventions={"m": was_set}, missing="impute", imputations=10, rng=0)
    first, second = fit.effect("x", "m"), fit.effect("m", "y")
    assert first.mean == pytest.approx(0.8, abs=3.5 * first.sd)
    assert second.mean == pytest.approx(0.5, abs=3.5 * second.sd)
    assert any("left out of its own regression: 'm' (500)" in note for note in first.notes)


def test_a_variable_that_was_set_and_has_gaps_is_refused_by_name():
    table = study(outcome="normal")
    table["t"] = np.where(np.arange(400) < 20, np.nan, table["t"])
    with pytest.raises(DataError, match="'t' was set from outside in some rows and has missing values"):
        lines.fit(table, GRAPH, interventions={"t": np.arange(400) > 300}, missing="impute", rng=0)


def test_an_offset_with_gaps_is_refused_by_name():
    table = holed(study(outcome="count")) | {"log_years": np.where(np.arange(400) < 3, np.nan, 0.1)}
    with pytest.raises(DataError, match="the offset 'log_years' has missing values"):
        lines.fit(table, GRAPH, families={"y": ad.Poisson(offset="log_years")}, missing="impute", rng=0)


def test_an_offset_is_used_by_imputation_and_answer():
    full = study(outcome="count")
    offset = np.log(np.random.default_rng(5).uniform(0.5, 2.0, 400))
    table = holed(full) | {"log_years": offset}
    families = {"y": ad.Poisson(offset="log_years")}
    effect = lines.fit(table, GRAPH, families=families, missing="impute", imputations=3, rng=0).effect("t", "y")
    assert effect.sd > 0.0
    assert "log_years" in effect.posterior.workings.data.table.columns.names


def test_sampling_weights_and_clusters_go_with_imputation_and_say_what_it_takes_for_granted():
    table = holed(study(outcome="normal")) | {"w": np.random.default_rng(2).uniform(1.0, 3.0, 400)}
    options = {"missing": "impute", "imputations": 3, "rng": 0}
    weighted = lines.fit(table, GRAPH, weights="w", weight_kind="sampling", **options)
    assert weighted.rows < 400
    assert any("imputation counts every row once" in note for note in weighted.notes)
    site = np.arange(400) // 10
    grouped = lines.fit(table, GRAPH, cluster=site, families="normal", **options)
    assert any("takes rows of a cluster for independent" in note for note in grouped.notes)
    plain = lines.fit(table, GRAPH, families="normal", **options).effect("t", "y")
    assert grouped.effect("t", "y").sd >= 0.99 * plain.sd


@pytest.mark.parametrize("outcome", ["yes/no", "normal"])
def test_clusters_and_rows_are_asked_in_every_completed_table(outcome):
    """Rows that come in tens: intervals must be wider, with gaps as without."""
    full = study(rows=80, outcome=outcome)
    many = {name: np.repeat(column, 10) for name, column in full.items()}
    rng = np.random.default_rng(4)
    many["x"] = np.where(rng.random(800) < 0.05, np.nan, many["x"])
    site, options = np.repeat(np.arange(80), 10), {"missing": "impute", "imputations": 3, "rng": 0}
    alone = lines.fit(full, GRAPH, rng=0).effect("t", "y")
    plain = lines.fit(many, GRAPH, robust=False, **options).effect("t", "y")
    grouped = lines.fit(many, GRAPH, cluster=site, **options).effect("t", "y")
    assert plain.sd < 0.6 * alone.sd
    assert grouped.sd > 1.6 * plain.sd


def test_rows_without_outcome_say_nothing_of_its_noise(rng):
    """The jackknife of the fit is that of the complete rows: values that were filled in are not asked."""
    x = rng.standard_normal(600)
    y = 0.5 * x + rng.standard_normal(600) * np.where(np.abs(x) > 1.0, 3.0, 0.5)
    table = {"x": x, "y": np.where(rng.random(600) < 0.3, np.nan, y)}
    graph = ad.CandidateGraph.from_order(["x", "y"], 1.0)
    prior = ad.Prior(units="raw", slab_variance=1.0)
    kept, dropped = (
        lines.fit(table, graph, prior=prior, missing=how, rng=0).effect("x", "y") for how in ("impute", "drop")
    )
    assert kept.sd == pytest.approx(dropped.sd, rel=0.02)
    assert dropped.sd > 1.3 * lines.fit(table, graph, prior=prior, missing="drop", robust=False).effect("x", "y").sd


def test_a_row_that_stands_for_several_has_as_many_missing_values():
    table = {name: column for name, column in holed(study(rows=200)).items() if name != "c"}
    times = np.random.default_rng(3).integers(0, 3, 200)
    repeated = {name: np.repeat(column, times) for name, column in table.items()}
    fits = [
        lines.fit(data, NUMBERS, missing="impute", imputations=3, rng=0, **more)
        for data, more in ((table, {"weights": times.astype(float)}), (repeated, {}))
    ]
    one, two = (fit.effect("t", "y") for fit in fits)
    assert (one.mean, one.sd) == pytest.approx((two.mean, two.sd), rel=1e-12)
    assert fits[0].rows == times.sum()


def test_without_gaps_nothing_is_imputed():
    fit = lines.fit(study(), GRAPH, missing="impute", imputations=3, rng=0)
    assert any("no value is missing" in note for note in fit.notes)
    assert fit.effect("t", "y").mean == lines.fit(study(), GRAPH, rng=0).effect("t", "y").mean


def test_a_column_that_is_the_same_where_it_is_known_is_refused_by_name():
    table = study() | {"z": np.where(np.arange(400) < 50, np.nan, 3.0)}
    with pytest.raises(DataError, match="column 'z' is the same in all rows that have it"):
        lines.fit(table, GRAPH, missing="impute", rng=0)


def test_auxiliary_columns_help_in_the_graph_too(rng):
    x = rng.standard_normal(1500)
    y = (rng.random(1500) < expit(1.5 * x)).astype(float)
    near = x + 0.1 * rng.standard_normal(1500)
    table = {"x": np.where(rng.random(1500) < 0.6, np.nan, x), "y": y, "near": near}
    graph = ad.CandidateGraph.from_order(["x", "y"])
    options = {"missing": "impute", "imputations": 10, "rng": 0}
    without, helped = (
        lines.fit(table, graph, auxiliary=names, **options).effect("x", "y") for names in ((), ("near",))
    )
    assert helped.uncertainty.missing < 0.5 * without.uncertainty.missing


def test_an_outcome_that_something_auxiliary_knows_of_is_imputed(rng):
    x = rng.standard_normal(1500)
    y = (rng.random(1500) < expit(x)).astype(float)
    symptom = y + 0.3 * rng.standard_normal(1500)
    table = {"x": x, "y": np.where(symptom + 0.3 * rng.standard_normal(1500) > 0.8, np.nan, y), "symptom": symptom}
    graph = ad.CandidateGraph.from_order(["x", "y"])
    true = float(np.mean(expit(x + 1.0) - expit(x)))
    options = {"missing": "impute", "imputations": 10, "rng": 0}
    without, helped = (
        lines.fit(table, graph, auxiliary=names, **options).effect("x", "y") for names in ((), ("symptom",))
    )
    for effect in (without, helped):  # log-odds forgive gaps that depend on the outcome; but rows without it are lost
        assert effect.mean == pytest.approx(true, abs=3.5 * effect.sd)
    assert helped.sd < 0.9 * without.sd


def test_straight_normal_tables_are_imputed_from_their_moments_as_ever(rng):
    table = {name: column for name, column in holed(study(outcome="normal"), names=("x",)).items() if name != "c"}
    fit = lines.fit(table, NUMBERS, families="normal", missing="impute", imputations=2, rng=0)
    assert any("from a normal distribution of all columns used" in note for note in fit.notes)
    assert fit.workings.data.table is None


def test_checks_and_reports_of_an_imputed_fit_are_to_be_had(tmp_path):
    table = {name: column for name, column in holed(study()).items() if name != "c"}
    fit = lines.fit(table, NUMBERS, missing="impute", imputations=3, rng=0)
    assert "checks of rows look at complete ones" in str(fit.checks("t", "y"))
    fit.report(tmp_path / "report.html", treatment="t", outcome="y")
    assert "imputed 3 times" in (tmp_path / "report.html").read_text(encoding="utf-8")


# -- the order ---------------------------------------------------------------------------------------------------------


def test_complete_variables_come_first_and_those_that_act_on_nothing_last():
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["t"], ["y", "m"]], 0.5).with_edge("m", "y", 0.5)
    assert order_of([graph], frozenset({"a", "t"})) == ["b", "c", "a", "t", "m", "y"]


def test_graphs_that_disagree_have_an_order_all_the_same():
    one, two = (ad.CandidateGraph.from_order(names, 0.5) for names in (["a", "b", "y"], ["b", "a", "y"]))
    assert order_of([one, two.with_order(one.variables)], frozenset({"a"})) == ["b", "a", "y"]
