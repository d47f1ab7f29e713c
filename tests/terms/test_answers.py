"""Answers with terms: what is printed, who benefits, and when straight lines mislead."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from lines import fit
from show.everything import everything


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(4)
    n = 600
    age, other = rng.uniform(20, 80, n), rng.standard_normal(n)
    treated = (rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 15))).astype(float)
    score = 0.01 * (age - 50) ** 2 + treated * (1 + 0.1 * (age - 50)) + 0.3 * other + rng.standard_normal(n)
    return {"age": age, "other": other, "treated": treated, "score": score}


@pytest.fixture(scope="module")
def graph():
    edges = {("age", "treated"): 0.5, ("age", "score"): 0.5, ("other", "score"): 0.5, ("treated", "score"): 0.5}
    return ad.CandidateGraph.from_edges(edges)


@pytest.fixture(scope="module")
def effect(study, graph):
    return ad.fit(study, graph, terms={"score": ad.Terms()}, rng=0).effect("treated", "score")


def test_the_average_and_who_benefits(study, effect):
    truth = 1 + 0.1 * (study["age"] - 50)
    low, high = effect.interval()
    assert low < truth.mean() < high
    rows = effect.by(study)
    inside = (np.array(rows["low"]) <= truth) & (truth <= np.array(rows["high"]))
    assert inside.mean() > 0.8
    assert np.sqrt(np.mean((np.array(rows["mean"]) - truth) ** 2)) < 0.35
    found = effect.probability.modifiers()
    modifiers = dict(zip(found["covariate"], found["probability_modifies"], strict=True))
    assert modifiers["age"] > 0.99
    assert modifiers["other"] < 0.5
    assert effect.probability.structures["common"] < 0.01


def test_edges_are_present_if_a_term_is(effect):
    table = effect.posterior.edge_probabilities()
    found = {(c, e): p for c, e, p in zip(table["cause"], table["effect"], table["posterior"], strict=True)}
    assert found["age", "score"] > 0.99
    influence = effect.edge_influence()
    assert set(influence["cause"]) == {"age", "other", "treated"}
    assert all(0.0 <= value <= 1.0 for value in influence["variance_removed"])


def test_what_is_printed(effect):
    text = everything(effect)
    assert "changes score by" in text
    assert "curves were looked for in score" in text
    assert "linear regressions alone give" in text
    assert max(map(len, text.splitlines())) <= 80
    summary = effect.summary()
    assert summary.levels[1] - summary.levels[0] == pytest.approx(effect.mean, abs=1e-9)
    found = effect.to.dict()
    assert found["measure"] == "mean"
    assert "<table" in effect._repr_html_()


def test_same_seed_same_numbers(study, graph, effect):
    again = ad.fit(study, graph, terms={"score": ad.Terms()}, rng=0, n_jobs=2).effect("treated", "score")
    assert again.mean == effect.mean
    assert np.array_equal(again.draws(100), effect.draws(100))
    other = ad.fit(study, graph, terms={"score": ad.Terms()}, rng=1).effect("treated", "score")
    assert other.mean == pytest.approx(effect.mean, abs=0.3 * effect.sd)


def test_units_and_origins_do_not_matter(study, graph, effect):
    """Up to rounding, which may send a chain another way."""
    scaled = {name: 10.0 * column + 3.0 if name in ("age", "score") else column for name, column in study.items()}
    found = ad.fit(scaled, graph, terms={"score": ad.Terms()}, rng=0).effect("treated", "score")
    assert found.mean / 10.0 == pytest.approx(effect.mean, abs=0.2 * effect.sd)
    assert found.sd / 10.0 == pytest.approx(effect.sd, rel=0.15)


def test_straight_lines_that_mislead_are_noted(study, graph):
    straight = ad.fit(study, graph, terms=None, rng=0).effect("treated", "score")
    assert any("times as probable with curves in score, first" in note for note in straight.notes)
    line = study | {"score": study["age"] / 10 + study["treated"] + np.random.default_rng(0).standard_normal(600)}
    assert not any("with curves in" in note for note in fit(line, graph, rng=0).effect("treated", "score").notes)


def test_linear_truth_costs_little():
    """Tables with straight lines: curves must not miss more, nor be much wider."""
    graph = ad.CandidateGraph.from_edges({("w", "t"): 0.5, ("w", "y"): 0.5, ("t", "y"): 1.0})
    errors, widths = [], []
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        w = rng.standard_normal(250)
        t = (rng.random(250) < 1 / (1 + np.exp(-w))).astype(float)
        table = {"w": w, "t": t, "y": 0.5 * t + w + rng.standard_normal(250)}
        pair = [ad.fit(table, graph, terms=terms, rng=0).effect("t", "y") for terms in ("auto", None)]
        errors.append([abs(one.mean - 0.5) for one in pair])
        widths.append([np.subtract(*one.interval()[::-1]) for one in pair])
    curved, straight = np.sqrt(np.mean(np.square(errors), axis=0))
    assert curved < 1.2 * straight + 0.01
    assert np.mean([w[0] / w[1] for w in widths]) < 1.25


def test_pictures(study, effect):
    axes = effect.plots.rows("age", study)
    assert axes.get_xlabel() == "age"
    curve = effect.plots.curve()
    assert curve.get_xlabel() == "treated is set to"


def test_reports(study, effect, tmp_path):
    """A report has the answer and the edges; nothing about paths, which curves do not have."""
    target = tmp_path / "r.html"
    effect.posterior.report(target, treatment="treated", outcome="score")
    text = target.read_text(encoding="utf-8")
    assert "changes score by" in text
    assert "curves were looked for" in text.lower()
    chain = ad.CandidateGraph.from_tiers([["age"], ["treated"], ["other"], ["score"]], 0.5)
    through = ad.fit(study, chain, terms={"score": ["age^2"]}, rng=0)
    through.report(target, treatment="treated", outcome="score")
    assert "rows were pushed through" in target.read_text(encoding="utf-8").lower()


def test_what_could_be_missed_is_said(study, graph):
    words = study | {"region": np.array(["north", "south", "east"])[np.arange(600) % 3]}
    edges = dict(graph.edges) | {("region", "score"): 0.5}
    wide = ad.CandidateGraph.from_edges(edges)
    assert any("with curves in" in note for note in fit(words, wide, rng=0).effect("treated", "score").notes)
    with pytest.raises(ad.AlldagsError, match="other is missing"):
        ad.fit(study, graph, terms={"score": ad.Terms(curves=1)}, rng=0).effect("treated", "score").by({"age": [30.0]})


def test_straight_lines_are_as_probable_as_draws_without_any_other_column():
    rng = np.random.default_rng(0)
    c, t = rng.normal(size=500), (rng.random(500) < 0.5) * 1.0
    graph = ad.CandidateGraph.from_tiers([["c"], ["t"], ["y"]])
    for bend in (0.0, 2.0):
        table = {"c": c, "t": t, "y": t + c + bend * c**2 + rng.normal(size=500)}
        effect = ad.fit(table, graph, terms="auto", rng=0).effect("t", "y")
        over = effect.workings.totals.items[0].model.node("y").over_columns
        theta = over.draw(20_000, np.random.default_rng(1))[0]
        straight = np.mean([(row[2:] == 0.0).all() for row in theta])  # the first two are t and c themselves
        assert effect.summary().shapes[0] == ("straight", pytest.approx(straight, abs=0.02))
        assert bool(straight > 0.5) is (bend == 0.0)
    assert fit_straight(table, graph).summary().shapes == ()


def fit_straight(table, graph):
    return ad.fit(table, graph, terms=None, rng=0).effect("t", "y")
