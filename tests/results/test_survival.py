"""Effects on survival times: restricted means, curves and hazard ratios; what goes with them, and what is refused."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.engines.weighted.design import Design
from alldags.families.baseline import product_limit
from alldags.nodes.spec import NodeSpec
from golden.survival import simulated
from lines import fit

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "survival.json").read_text())
FAMILY = {"time": ad.Survival(event="died")}
GRAPH = ad.CandidateGraph.from_edges(
    {("age", "drug"): 0.5, ("age", "time"): 0.5, ("sex", "time"): 0.5, ("drug", "time"): 1.0}
)
RISK = 0.6  # log hazard per unit of age


@cache
def columns(n=600, seed=0, crossing=False):
    rng = np.random.default_rng(seed)
    age, sex = rng.standard_normal(n), rng.integers(0, 2, n).astype(float)
    drug = (rng.random(n) < 1.0 / (1.0 + np.exp(-0.8 * age))).astype(float)
    left = rng.exponential(size=n) / np.exp(RISK * age)
    early, late = (np.exp(0.8 * drug), np.exp(-1.5 * drug)) if crossing else (np.exp(-0.7 * drug),) * 2
    time = np.where(left <= 0.5 * early, left / early, 0.5 + (left - 0.5 * early) / late)
    until = rng.exponential(2.5, n)
    clinic = rng.choice(list("abc"), n)
    return {
        "age": age, "sex": sex, "drug": drug, "time": np.minimum(time, until), "died": (time <= until) * 1.0,
        "clinic": clinic, "ward": np.arange(n) % 40, "count": rng.integers(1, 4, n),
    }  # fmt: skip


@cache
def effect(crossing=False, **options):
    return fit(columns(crossing=crossing), GRAPH, families=FAMILY, rng=0, **options).effect("drug", "time")


def true_mean(age, horizon, drug):
    """Mean time survived up to the horizon under a constant hazard, over the rows."""
    hazard = np.exp(RISK * age - 0.7 * drug)
    return float(np.mean(-np.expm1(-hazard * horizon) / hazard))


def test_the_effect_is_the_difference_of_restricted_means_of_the_rows():
    found, age = effect(), columns()["age"]
    horizon = found.survival.horizon
    truth = true_mean(age, horizon, 1.0) - true_mean(age, horizon, 0.0)
    assert found.measure == "survival"
    assert abs(found.mean - truth) < 3 * found.sd
    assert found.mean == pytest.approx(found.levels[1].mean - found.levels[0].mean, abs=0.1 * found.sd)
    assert abs(found.levels[0].mean - true_mean(age, horizon, 0.0)) < 3 * found.levels[0].sd
    assert f"the restricted mean of time (up to {horizon:.3g})" in str(found).replace("\n", " ")


def test_the_horizon_is_the_largest_time_at_which_a_tenth_of_both_arms_is_at_risk():
    table = columns()
    horizon = effect().survival.horizon
    shares = [np.mean(table["time"][table["drug"] == arm] >= horizon) for arm in (0, 1)]
    beyond = [np.mean(table["time"][table["drug"] == arm] > horizon) for arm in (0, 1)]
    assert min(shares) >= 0.1 > min(beyond)


def test_a_horizon_that_was_given_is_used_and_any_other_can_be_asked_for():
    family = {"time": ad.Survival(event="died", horizon=1.0)}
    given = fit(columns(), GRAPH, families=family, rng=0).effect("drug", "time")
    assert given.survival.horizon == 1.0
    assert effect().survival.restricted_mean(1.0).mean == pytest.approx(given.mean, abs=0.1 * given.sd)


def test_survival_by_a_time_adds_up_to_the_restricted_mean():
    found = effect()
    grid = (np.arange(40) + 0.5) / 40 * found.survival.horizon
    table = found.survival.table(grid.tolist())
    width = found.survival.horizon / 40
    assert sum(table["difference"]) * width == pytest.approx(found.mean, abs=0.15 * found.sd)
    assert table["drug=0"] == sorted(table["drug=0"], reverse=True)
    half = found.survival.at(grid[20])
    assert half.mean == pytest.approx(table["difference"][20], abs=0.2 * half.sd)


def test_without_confounding_curves_are_those_of_kaplan_and_meier():
    rng = np.random.default_rng(3)
    drug, n = rng.integers(0, 2, 1500).astype(float), 1500
    time, until = rng.weibull(0.7, n) * np.where(drug == 1, 2.0, 1.0), rng.exponential(3.0, n)
    table = {"drug": drug, "time": np.minimum(time, until), "died": (time <= until) * 1.0}
    found = fit(table, {"time": ["drug"]}, families=FAMILY, rng=0).effect("drug", "time")
    curves = found.survival.table([0.2, 0.5, 1.0, 2.0])
    for arm in (0, 1):
        own = drug == arm
        times, limit = product_limit(np.zeros(own.sum()), table["time"][own], table["died"][own], np.ones(own.sum()))
        empirical = limit[np.searchsorted(times, curves["time"], side="right") - 1]
        assert curves[f"drug={arm}"] == pytest.approx(empirical, abs=0.035)


def test_a_hazard_ratio_with_certain_edges_and_a_wide_slab_is_that_of_lifelines():
    graph = ad.CandidateGraph.from_edges({(name, "time"): 1.0 for name in ("age", "sex", "drug")})
    family = {"time": ad.Survival(event="died", entry="late", changing=False)}
    posterior = fit(simulated(), graph, families=family, prior=ad.Prior(slab_variance=1e4), rng=0)
    for name, value in GOLDEN["simulated"].items():
        on_log = posterior.effect(name, "time").on("log hazard")
        assert np.exp(on_log.mean) == pytest.approx(np.exp(value), abs=1e-2)
    ratio = posterior.effect("drug", "time").on("hazard ratio")
    assert ratio.median == pytest.approx(np.exp(GOLDEN["simulated"]["drug"]), abs=1e-2)


def test_the_mode_of_a_regression_with_few_events_is_that_of_lifelines():
    rows = {name: np.array(values) for name, values in GOLDEN["rows"].items()}
    graph = ad.CandidateGraph.from_edges({(name, "week"): 1.0 for name in GOLDEN["log_hazard"]})
    family = {"week": ad.Survival(event="arrest", changing=False)}
    posterior = fit(rows, graph, families=family, rng=0)
    key = posterior.workings.models.items[0]._key("week")
    spec = NodeSpec(key.terms, key.prior, key.data)
    mode = spec.family.mode(Design.of(spec.rows(spec.family)), 1e6).at[1:] / spec.columns.scale
    truth = [GOLDEN["log_hazard"][name] for name in spec.columns.names]
    assert np.exp(mode) == pytest.approx(np.exp(truth), abs=1e-2)


def test_hazards_that_cross_are_seen_and_one_ratio_says_so():
    found = effect(crossing=True)
    assert found.survival.probability_changing > 0.99
    ratios = found.survival.ratios()
    assert ratios["low"][0] > 1.0 > ratios["high"][-2]
    assert ratios["until"][-1] == np.inf
    assert "changes with time" in str(found.on("hazard ratio").notes[0])
    assert any("changes with time" in str(note) for note in found.on("log hazard").notes)


def test_hazards_that_do_not_cross_are_left_alone():
    found = effect()
    assert found.survival.probability_changing < 0.3
    assert not found.on("hazard ratio").notes
    one = fit(columns(), GRAPH, families={"time": ad.Survival(event="died", changing=False)}, rng=0)
    assert one.effect("drug", "time").mean == pytest.approx(found.mean, abs=0.3 * found.sd)


def test_a_treatment_of_many_values_has_one_ratio_and_an_effect_per_unit():
    alone = ad.CandidateGraph.from_edges({("age", "time"): 1.0, ("drug", "time"): 1.0})
    found = fit(columns(), alone, families=FAMILY, rng=0).effect("age", "time")
    assert found.mean < 0.0
    assert abs(found.on("log hazard").mean - RISK) < 3 * found.on("log hazard").sd
    assert found.on("hazard ratio").median == pytest.approx(np.exp(found.on("log hazard").median), rel=1e-6)
    assert found.survival.at(0.5).mean < 0.0


def test_delayed_entry_takes_away_the_bias_of_those_who_had_to_survive_to_be_seen():
    rng = np.random.default_rng(1)
    drug, n = rng.integers(0, 2, 4000).astype(float), 4000
    time, late = rng.exponential(1.0 / np.exp(-0.7 * drug)), rng.uniform(0.0, 1.5, n)
    seen = time > late
    until = late + rng.exponential(2.0, n)
    table = {"drug": drug, "time": np.minimum(time, until), "died": (time <= until) * 1.0, "late": late}
    table = {name: values[seen] for name, values in table.items()}
    family = ad.Survival(event="died", entry="late", horizon=2.0)
    found = fit(table, {"time": ["drug"]}, families={"time": family}, rng=0).effect("drug", "time")
    without = fit(table, {"time": ["drug"]}, families={"time": ad.Survival(event="died", horizon=2.0)}, rng=0)
    truth = [-np.expm1(-h * 2.0) / h for h in (1.0, np.exp(-0.7))]
    assert abs(found.levels[0].mean - truth[0]) < 3 * found.levels[0].sd
    assert abs(found.mean - (truth[1] - truth[0])) < 3 * found.sd
    biased = without.effect("drug", "time").levels[0]
    assert biased.mean - truth[0] > 5 * biased.sd


def test_frequency_weights_are_rows_several_times():
    table = columns(300, 2)
    repeat = {name: np.repeat(values, table["count"]) for name, values in table.items()}
    weighed = fit(table, GRAPH, families=FAMILY, weights="count", rng=0).effect("drug", "time")
    repeated = fit(repeat, GRAPH, families=FAMILY, rng=0).effect("drug", "time")
    horizon = min(weighed.survival.horizon, repeated.survival.horizon)
    assert weighed.survival.restricted_mean(horizon).mean == pytest.approx(
        repeated.survival.restricted_mean(horizon).mean, abs=0.1 * weighed.sd
    )


def test_clusters_categories_curves_and_graphs_go_with_it(tmp_path):
    table = columns()
    by_cluster = effect(cluster="ward")
    assert by_cluster.uncertainty.clusters is not None
    site = ad.CandidateGraph.from_edges({**GRAPH.edges, ("clinic", "time"): 0.5})
    assert fit(table, site, families=FAMILY, rng=0).effect("drug", "time").mean == pytest.approx(
        effect().mean, abs=effect().sd
    )
    curved = ad.fit(table, GRAPH, families=FAMILY, rng=0).effect("drug", "time")
    assert curved.mean == pytest.approx(effect().mean, abs=effect().sd)
    with pytest.raises(ad.AlldagsError, match="the hazard ratio differs between rows; use terms='straight'"):
        curved.on("hazard ratio")
    other = ad.CandidateGraph.from_edges({**GRAPH.edges, ("sex", "drug"): 0.5})
    both = fit(table, [GRAPH, other], families=FAMILY, rng=0).effect("drug", "time")
    assert both.mean == pytest.approx(effect().mean, abs=effect().sd)
    assert both.survival.table()["difference"][5] > 0.0
    with pytest.raises(ad.AlldagsError, match="hazard ratios by time need one candidate graph"):
        both.survival.ratios()
    target = tmp_path / "study.npz"
    posterior = effect().posterior
    posterior.save(target)
    assert ad.load(target).effect("drug", "time").mean == effect().mean


def test_a_graph_without_a_path_gives_the_rows_as_they_are():
    table = columns()
    other = ad.CandidateGraph.from_edges({("age", "drug"): 0.5, ("age", "time"): 0.5, ("sex", "time"): 0.5})
    found = fit(table, [GRAPH, other], families=FAMILY, graph_weights=[1e-12, 1.0], rng=0).effect("drug", "time")
    times, limit = product_limit(np.zeros(600), table["time"], table["died"], np.ones(600))
    place = np.searchsorted(times, 0.5, side="right") - 1
    assert found.probability_no_effect > 0.99
    assert found.survival.table([0.5])["drug=0"][0] == pytest.approx(limit[place], abs=1e-6)


def test_a_category_as_treatment_compares_two_levels():
    table = columns()
    graph = ad.CandidateGraph.from_edges({("clinic", "time"): 0.5, ("age", "time"): 0.5})
    found = fit(table, graph, families=FAMILY, rng=0).effect("clinic", "time").contrast("a", "b")
    assert abs(found.mean) < 3 * found.sd + 1e-9
    assert found.on("hazard ratio").median == pytest.approx(1.0, abs=0.3)


def test_what_is_not_known_of_a_censored_time_is_not_said():
    found = effect()
    assert found.checks.least_squares is None
    assert "least squares" not in str(found)
    with pytest.raises(ad.AlldagsError, match="no straight line goes through 'time', which is not known"):
        found.checks.straight_line  # noqa: B018
    with pytest.raises(ad.AlldagsError, match="shares of variance, which a censored time does not have; use"):
        found.sensitivity()
    with pytest.raises(ad.AlldagsError, match="its own time is not drawn; ask for do"):
        found.do(1.0).new_unit  # noqa: B018
    assert "residuals of time, which is not known where it is censored" in found.posterior.checks().not_made


MISTAKES = [
    ({"died": lambda v: v * 2}, ad.Survival(event="died"), "has the value 2; competing risks, and left or interval"),
    ({"time": lambda v: np.where(v < 0.5, 0.0, v)}, ad.Survival(event="died"), "has the value 0; times are above 0"),
    ({"died": lambda v: v * 0}, ad.Survival(event="died"), "is 1 in 0 rows"),
    ({}, ad.Survival(event="died", horizon=1e6), r"the horizon 1e\+06 is beyond the last time of 'time'"),
    ({}, ad.Survival(event="died", entry="age"), "must be 0 or more, and before 'time'"),
    ({}, "survival", r"needs the column that says whether the event was seen"),
    ({"died": lambda v: np.where(np.arange(len(v)) < 3, np.nan, v)}, ad.Survival(event="died"), "has missing values"),
]


@pytest.mark.parametrize(("changes", "family", "message"), MISTAKES)
def test_mistakes_are_named(changes, family, message):
    table = {**columns(), **{name: change(columns()[name]) for name, change in changes.items()}}
    with pytest.raises(ad.AlldagsError, match=message):
        fit(table, GRAPH, families={"time": family}, rng=0)


def test_a_word_names_the_columns_as_on_a_command_line():
    found = fit(columns(), GRAPH, families={"time": "survival:died"}, rng=0)
    assert found.workings.data.families["time"].event == "died"
    assert found.effect("drug", "time").mean == effect().mean


def test_covariates_that_vary_in_time_are_refused():
    table = columns()
    half = table["time"] / 2
    rows = {name: np.concatenate([values, values]) for name, values in table.items()}
    rows["since"], rows["time"] = np.concatenate([0 * half, half]), np.concatenate([half, table["time"]])
    rows["died"] = np.concatenate([0 * half, table["died"]])
    with pytest.raises(ad.AlldagsError, match="covariates that vary in time are not modelled"):
        fit(rows, GRAPH, families={"time": ad.Survival(event="died", entry="since")}, rng=0)


def test_a_survival_time_is_no_cause():
    graph = ad.CandidateGraph.from_edges({**GRAPH.edges, ("time", "sex2"): 0.5})
    with pytest.raises(ad.AlldagsError, match="cannot be a cause: leave out the edge time -> sex2"):
        fit({**columns(), "sex2": columns()["sex"]}, graph, families=FAMILY, rng=0)


def test_gaps_are_left_out_not_imputed():
    gaps = {**columns(), "age": np.where(np.arange(600) % 10 == 0, np.nan, columns()["age"])}
    with pytest.raises(ad.AlldagsError, match="imputation does not know censored times"):
        fit(gaps, GRAPH, families=FAMILY, missing="impute", rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit(gaps, GRAPH, families=FAMILY, missing="drop", rng=0).effect("drug", "time")
    assert found.mean == pytest.approx(effect().mean, abs=effect().sd)


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.counterfactual([0], [0, 1]),
        lambda e: e.do(1).minus(e.do(0)),
        lambda e: e.posterior.do({"drug": 1, "age": 0.0}, outcome="time").mean,
        lambda e: e.posterior.predict({"age": [0.0], "sex": [1.0], "drug": [1.0]}, outcome="time"),
    ],
)
def test_what_would_draw_the_time_of_single_rows_is_refused(ask):
    with pytest.raises(
        ad.AlldagsError, match="in each row, which may be censored, is not drawn; use the effect itself"
    ):
        ask(effect())


@pytest.mark.parametrize("crossing", [False, True])
def test_rows_of_another_table_that_are_those_of_the_fit_have_its_effect(crossing):
    own, rows = effect(crossing), {name: columns()[name] for name in ("age", "sex")}
    other = own.posterior.effect("drug", "time", over=rows)
    assert other.mean == pytest.approx(own.mean, abs=0.1 * own.sd)
    assert other.sd == pytest.approx(own.sd, rel=0.15)
    assert other.survival.at(0.5).mean == pytest.approx(own.survival.at(0.5).mean, abs=0.01)
    assert np.mean(own.by(rows)["mean"]) == pytest.approx(own.mean, abs=0.1 * own.sd)


def test_other_rows_have_survival_in_graphs_without_a_way_too():
    without = ad.CandidateGraph.from_edges({("age", "drug"): 0.5, ("age", "time"): 0.5, ("sex", "time"): 0.5})
    posterior = fit(columns(), [GRAPH, without], families=FAMILY, rng=0)
    rows = {name: columns()[name] for name in ("age", "sex")}
    own, other = posterior.effect("drug", "time"), posterior.effect("drug", "time", over=rows)
    assert other.survival.at(0.5).mean == pytest.approx(own.survival.at(0.5).mean, abs=0.02)


def test_one_treatment_that_is_set_is_that_of_its_effect():
    assert effect().posterior.do({"drug": 1}, outcome="time").mean.mean == effect().do(1).mean.mean


def test_an_effect_on_a_time_is_not_divided_by_mediators():
    graph = ad.CandidateGraph.from_edges({("drug", "sex"): 0.5, ("sex", "time"): 0.5, ("drug", "time"): 1.0})
    found = fit(columns(), graph, families=FAMILY, rng=0).effect("drug", "time")
    with pytest.raises(ad.AlldagsError, match="mediation do not go together: its own time in each row"):
        found.mediation(["sex"])


def test_a_time_beyond_the_table_is_refused_and_so_are_curves_of_what_is_no_time():
    with pytest.raises(ad.AlldagsError, match="nothing is known of survival beyond the last time"):
        effect().survival.at(1e6)
    with pytest.raises(ad.AlldagsError, match="survival is of the effect on a survival time, which 'drug' is not here"):
        effect().posterior.effect("age", "drug").survival  # noqa: B018


def test_curves_are_drawn():
    import matplotlib

    matplotlib.use("agg")
    axes = effect().survival.plot()
    assert axes.get_ylabel() == "probability to survive"
    assert len(axes.get_lines()) == 2
