"""Effects through nodes with heavy tails: straight lines as any other, and refusals by name."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import alldags as ad
from lines import fit
from naive.student import one_set
from show.everything import everything


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    n = 150
    age = rng.standard_normal(n)
    drug = 0.5 * age + rng.standard_normal(n)
    stay = 0.5 * drug + 0.3 * age + rng.standard_t(3, n)
    cost = 10 + 2 * drug + stay + 0.5 * age + 2 * rng.standard_t(3, n)
    cost[:3] += 300.0
    return {"age": age, "drug": drug, "stay": stay, "cost": cost}


GRAPH = ad.CandidateGraph.from_tiers([["age"], ["drug"], ["stay"], ["cost"]], 0.5)
BOTH = {"stay": ad.Student(df=4), "cost": ad.Student(df=4)}


@pytest.fixture(scope="module")
def posterior(table):
    return fit(table, GRAPH, families=BOTH, rng=0)


@pytest.fixture(scope="module")
def effect(posterior):
    return posterior.effect("drug", "cost")


def test_outliers_do_not_decide(table, effect):
    normal = fit(table, GRAPH, rng=0).effect("drug", "cost")
    clean = {name: values[3:] for name, values in table.items()}
    without = fit(clean, GRAPH, families=BOTH, rng=0).effect("drug", "cost")
    assert abs(effect.mean - without.mean) < 0.3 * without.sd
    assert abs(normal.mean - without.mean) > 3.0 * without.sd
    assert normal.sd > 2.0 * effect.sd


def test_moments_paths_and_draws_agree(effect, posterior):
    paths = effect.paths()
    assert sum(paths["mean"]) == pytest.approx(effect.mean, rel=1e-9)
    draws = effect.draws(20_000, rng=1)
    assert abs(draws.mean() - effect.mean) < 0.06 * effect.sd
    assert draws.std() == pytest.approx(effect.sd, rel=0.05)
    stay, cost = (posterior._linked_models("drug").items[0].node(name) for name in ("stay", "cost"))
    unit = posterior._data.unit("drug", "cost")
    product = stay.mean[stay.parents.index("drug")] * cost.mean[cost.parents.index("stay")]
    assert effect.mean == pytest.approx(unit * (cost.mean[cost.parents.index("drug")] + product), rel=1e-12)
    assert effect.uncertainty.mean_error > 0.0


def test_an_intervention_has_the_line_for_its_mean_and_the_tails_of_the_noise(table):
    posterior = fit(table, GRAPH.with_edge("drug", "stay", 1.0), families={"stay": ad.Student(df=4)}, rng=0)
    at, other = (posterior.effect("drug", "stay").do(x).new_unit for x in (1.0, 3.0))
    assert (other.mean - at.mean) / 2.0 == pytest.approx(posterior.effect("drug", "stay").mean, rel=1e-6)
    node = posterior._linked_models("drug").items[0].node("stay")
    scale = math.sqrt(node._mean_variance) * posterior._data.scale_of("stay")
    from scipy.stats import t

    low, high = at.interval(0.99)
    assert (high - low) / 2 == pytest.approx(t.ppf(0.995, 4) * scale, rel=0.1)  # of a normal noise: 2.58 instead of 4.6
    rows = np.abs(table["drug"] - 1.0) < 0.5
    assert abs(at.mean - np.median(table["stay"][rows])) < 0.8


def test_every_table_of_a_straight_line_is_there(effect, posterior):
    assert len(effect.edge_influence()["cause"]) >= 4
    found = effect.mediation(["stay"], products=False)
    assert effect.direct.mean == pytest.approx(effect.mean - found.indirect.mean, rel=1e-6)
    assert effect.direct.mean == pytest.approx(found.direct.mean, rel=1e-6)
    assert posterior.effects()["drug", "cost"] == pytest.approx(effect.mean, rel=1e-9)
    assert posterior.effects_sd()["drug", "cost"] == pytest.approx(effect.sd, rel=1e-9)
    assert sum(graph.probability for graph in posterior.top_graphs(64)) == pytest.approx(1.0, abs=0.05)
    assert len(effect.checks.stability()["variant"]) > 3
    assert effect.uncertainty.structure <= effect.sd
    assert 0.0 <= effect.probability_no_effect < 0.01
    assert posterior.edge_probabilities()["posterior"]


def test_the_answer_says_which_noise_has_heavy_tails(effect):
    text = everything(effect)
    words = " ".join(text.split())
    assert "The noise of cost may have heavy tails (Student's t, 4 degrees of freedom):" in words
    assert "rows count less than a quarter of one" in words
    assert "2 regressions by weighted draws" in text
    assert "It is taken to be symmetric: the answer is about the mean if it is." in words
    assert "R2" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    methods = effect.to.sentence("methods")
    assert "linear structural causal model with Student-t noise of stay (4 degrees of freedom)" in methods
    found = effect.to.dict()["heavy_tails"]
    assert [item["name"] for item in found] == ["stay", "cost"]
    assert found[1]["light"] >= 3
    json.dumps(effect.to.dict())


def test_it_is_saved_with_its_rows(posterior, effect, tmp_path):
    posterior.save(tmp_path / "study.npz")
    again = ad.load(tmp_path / "study.npz").effect("drug", "cost")
    assert again.mean == effect.mean
    assert again.interval() == effect.interval()


def test_a_report_can_be_written(posterior, tmp_path):
    pytest.importorskip("jinja2")
    posterior.report(tmp_path / "report.html", "drug", "cost")
    assert "may have heavy tails" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_was_asked_is_written_as_families(table):
    posterior = fit(table, GRAPH, prior=ad.Prior(noise=ad.priors.StudentNoise()), families={"stay": "normal"}, rng=0)
    assert posterior.recipe.asked.arguments == (
        ", terms=None, families={'stay': 'normal', 'drug': ad.Student(df=None), 'cost': ad.Student(df=None)}"
    )


def test_checks_name_heavy_tails_as_a_remedy_and_then_leave_outliers_alone(table, posterior):
    found = str(fit(table, GRAPH, rng=0).checks("drug", "cost"))
    assert "the family 'student' for cost" in " ".join(found.split())
    quiet = " ".join(str(posterior.checks("drug", "cost")).split())
    assert "standard deviations above" not in quiet
    assert "outlying rows of stay, cost, whose noise may have heavy tails" in quiet


def test_heavy_tails_of_all_are_those_of_each(table):
    posterior = fit(table, GRAPH, prior=ad.Prior(noise=ad.priors.StudentNoise()), rng=0)
    named = fit(table, GRAPH, families=dict.fromkeys(("drug", "stay", "cost"), ad.Student()), rng=0)
    assert set(posterior._data.heavy) == {"drug", "stay", "cost"}
    assert posterior.effect("drug", "cost").mean == named.effect("drug", "cost").mean
    spared = fit(table, GRAPH, prior=ad.Prior(noise=ad.priors.StudentNoise(df=6)), families={"stay": "normal"}, rng=0)
    assert set(spared._data.heavy) == {"drug", "cost"}
    assert spared._data.heavy["cost"].df == 6


def test_yes_no_outcomes_stay_so_and_may_lie_behind_heavy_tails(table):
    rng = np.random.default_rng(0)
    death = (rng.random(150) < 1 / (1 + np.exp(1 - 0.3 * table["stay"]))).astype(float)
    graph = ad.CandidateGraph.from_tiers([["age"], ["drug"], ["stay"], ["death"]], 0.5)
    data = {name: table[name] for name in ("age", "drug", "stay")} | {"death": death}
    posterior = fit(data, graph, prior=ad.Prior(noise=ad.priors.StudentNoise()), rng=0)
    assert set(posterior._data.families) == {"death"}
    found = posterior.effect("drug", "death")
    normal = fit(data, graph, rng=0).effect("drug", "death")
    assert abs(found.mean - normal.mean) < normal.sd
    assert "death is yes/no" in everything(found)
    assert "The noise of stay may have heavy tails" in everything(found)
    assert found.uncertainty.structure is not None
    assert found.on("log odds").paths()["path"]


def test_candidate_graphs_are_weighed_by_evidence_that_enumeration_gives(table):
    sets = [["drug"], ["drug", "age"]]
    graphs = [ad.CandidateGraph.from_edges({(p, "stay"): 1.0 for p in s}, variables=tuple(table)) for s in sets]
    prior = ad.Prior(slab_variance=1.0, link=0.0)
    posterior = fit(table, graphs, prior=prior, families={"stay": "student"}, rng=0)
    rng = np.random.default_rng(0)
    z = {name: (values - values.mean()) / values.std(ddof=1) for name, values in table.items()}
    evidence = [one_set(np.column_stack([z[p] for p in s]), z["stay"], 4.0, 1.0, 4000, rng)[0] for s in sets]
    expected = 1.0 / (1.0 + math.exp(evidence[1] - evidence[0]))
    assert posterior.graph_probabilities[0] == pytest.approx(expected, abs=0.01)


def test_threads_and_seeds_do_not_matter(table, effect):
    again = fit(table, GRAPH, families=BOTH, rng=0, n_jobs=2).effect("drug", "cost")
    assert again.mean == effect.mean
    other = fit(table, GRAPH, families=BOTH, rng=5).effect("drug", "cost")
    assert (
        0.0
        < abs(other.mean - effect.mean)
        < 5.0 * math.hypot(other.uncertainty.mean_error, effect.uncertainty.mean_error)
    )


def test_a_placebo_deals_rows_out_anew(effect):
    found = effect.checks.placebo(permutations=2, rng=0)
    assert max(abs(value) for value in found.means) < 0.5 * effect.mean


def test_moments_are_refused_by_name(table):
    with pytest.raises(ad.AlldagsError, match="the heavy tails of 'drug', 'stay', 'cost' and moments"):
        fit(ad.Moments.from_table(table), GRAPH, prior=ad.Prior(noise=ad.priors.StudentNoise()))


def test_a_child_that_is_nearly_always_the_same_is_refused(table):
    flat = table | {"cost": np.where(np.arange(150) < 140, 0.0, table["cost"])}
    with pytest.raises(ad.AlldagsError, match="has the same value in 93% of the rows"):
        fit(flat, GRAPH, families={"cost": "student"})


def test_single_nodes_have_no_rows():
    with pytest.raises(ad.AlldagsError, match="StudentNoise needs the rows"):
        ad.priors.StudentNoise().numbers(10.0, 1.0, 2, 1.0)
    with pytest.raises(ad.AlldagsError, match="StudentNoise df must be"):
        ad.priors.StudentNoise(df=1.0)


@pytest.mark.parametrize("terms", [None, "auto"])
def test_degrees_of_freedom_are_learned_where_none_are_given(table, terms):
    posterior = ad.fit(table, GRAPH, families={"cost": "student"}, terms=terms, rng=0)
    effect = posterior.effect("drug", "cost")
    fixed = ad.fit(table, GRAPH, families={"cost": ad.Student(df=3.0)}, terms=terms, rng=0).effect("drug", "cost")
    assert abs(effect.mean - fixed.mean) < 0.3 * fixed.sd
    assert effect.sd == pytest.approx(fixed.sd, rel=0.25)
    if terms is None:
        (found,) = effect.summary().heavy_tails
        assert 2.5 < found.df < 4.5
        assert found.df_sd > 0.0
        assert "degrees of freedom, learned" in " ".join(everything(effect).split())


def test_the_next_unit_has_tails_averaged_over_what_was_learned(table):
    clean = {name: values[3:] for name, values in table.items()}
    posterior = fit(clean, GRAPH.with_edge("drug", "cost", 1.0), families={"cost": "student"}, rng=0)
    low, high = posterior.effect("drug", "cost").do(1.0).new_unit.interval(0.9)
    node = posterior._linked_models("drug").items[0].node("cost")
    variance, df = node.draw_with_intercept(20_000, np.random.default_rng(1)).beside.T
    assert len(set(df.tolist())) > 2
    noise = np.sqrt(variance) * np.random.default_rng(2).standard_t(df)
    others = posterior._data.scale_of("cost") * np.subtract(*np.quantile(noise, [0.95, 0.05]))
    assert others < high - low < 2.0 * others
