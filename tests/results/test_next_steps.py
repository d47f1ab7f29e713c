"""`Effect.next_steps`: for every kind of effect, and every way to ask."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from lines import fit


@pytest.fixture(scope="module")
def effect() -> ad.Effect:
    study = ad.datasets.example()
    return fit(study.table, study.graph, rng=0).effect("smoking", "risk")


def test_steps_are_sorted_by_what_they_bring_and_told_in_a_sentence(effect: ad.Effect) -> None:
    found = effect.next_steps(experiments={"smoking": 500, "tar": 500}, rows=[500, 2000])
    sds = [step.sd for step in found.steps]
    assert sds == sorted(sds)
    by_words = {step.words: step for step in found.steps}
    assert by_words["2,000 more rows"].sd < by_words["500 more rows"].sd < effect.sd
    assert by_words["experiment on smoking, 500 rows"].sd < by_words["500 more rows"].sd
    assert found.sentence.startswith("2,000 more rows of the same kind would bring the sd of this effect from 0.10 to")
    assert "an experiment on smoking with 500 rows" in found.sentence


def test_the_screen_is_short_and_narrow(effect: ad.Effect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = str(effect.next_steps(futures=2)).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80


def test_the_table_has_units_of_the_effect(effect: ad.Effect) -> None:
    table = effect.next_steps(experiments=(), rows=500, futures=4).table()
    row = next(row for row in table.rows() if row["step"] == "500 more rows")
    assert row["width"] == pytest.approx(3.92 * row["sd"], rel=1e-3)
    assert row["removed"] == pytest.approx(1.0 - (row["sd"] / effect.sd) ** 2)
    assert "cost" not in table.columns
    assert "graphs" not in table.columns


def test_learning_an_edge_removes_what_edge_influence_says(effect: ad.Effect) -> None:
    (step,) = effect.next_steps(experiments=(), rows=(), edges=[("smoking", "risk")]).steps
    (row,) = [r for r in effect.edge_influence().rows() if (r["cause"], r["effect"]) == ("smoking", "risk")]
    assert step.removed == pytest.approx(row["variance_removed"])


def test_costs_decide_what_comes_first(effect: ad.Effect) -> None:
    asked = {"experiments": {"smoking": 500}, "rows": 500, "edges": None, "futures": 4}
    dear = effect.next_steps(**asked, cost={"rows": 1.0, "experiments": 100.0})
    cheap = effect.next_steps(**asked, cost={"500 more rows": 500.0, "experiments": 1.0})
    assert (dear.best.kind, cheap.best.kind) == ("rows", "experiments")
    assert dear.best.cost == 500.0


def test_several_graphs_are_told_apart_by_the_experiment_that_tells_them_apart() -> None:
    """Chain, reverse and fork: only what the middle variable does differs in all three."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(300)
    b = 0.5 * a + rng.standard_normal(300)
    table = {"a": a, "b": b, "c": 0.5 * b + rng.standard_normal(300)}
    ways = [[("a", "b"), ("b", "c")], [("c", "b"), ("b", "a")], [("b", "a"), ("b", "c")]]
    graphs = [ad.CandidateGraph(tuple("abc"), dict.fromkeys(edges, 1.0)) for edges in ways]
    asked = fit(table, graphs, rng=0).effect("a", "c")
    found = asked.next_steps(dict.fromkeys("abc", 20), rows=200, edges=None, goal="graphs", futures=12)
    bits = dict(zip(found.table()["step"], found.table()["graphs"], strict=True))
    assert found.best.words == "experiment on b, 20 rows"
    assert bits["200 more rows"] == pytest.approx(math.log2(3), abs=1e-6)  # no observation tells them apart


def test_the_same_seed_gives_the_same_steps() -> None:
    study = ad.datasets.example()
    one, two = (fit(study.table, study.graph, rng=3).effect("smoking", "risk").next_steps(futures=3) for _ in range(2))
    assert one.table().columns == two.table().columns


def _curves() -> ad.Effect:
    rng = np.random.default_rng(1)
    w = rng.standard_normal(200)
    t = (rng.random(200) < 0.5).astype(float)
    return ad.effect({"w": w, "t": t, "y": t + w**2 + rng.standard_normal(200)}, treatment="t", outcome="y",
                     confounders=["w"], rng=0)  # fmt: skip


def _yes_no() -> ad.Effect:
    rng = np.random.default_rng(2)
    w, t = rng.standard_normal(300), rng.integers(0, 2, 300)
    y = rng.random(300) < 1 / (1 + np.exp(-(0.8 * t + w)))
    return ad.effect({"w": w, "t": t, "y": y}, treatment="t", outcome="y", confounders=["w"], terms=None, rng=0)


def _category() -> ad.Effect:
    rng = np.random.default_rng(3)
    arm, w = rng.choice(["a", "b", "c"], 240), rng.standard_normal(240)
    y = (arm == "b") * 1.0 + w + rng.standard_normal(240)
    whole = ad.effect({"arm": arm, "w": w, "y": y}, treatment="arm", outcome="y", confounders=["w"], terms=None, rng=0)
    return whole.contrast("a", "b")


def _imputed() -> ad.Effect:
    rng = np.random.default_rng(4)
    w = rng.standard_normal(200)
    t = w + rng.standard_normal(200)
    y = t + w + rng.standard_normal(200)
    gaps = np.where(rng.random(200) < 0.2, np.nan, w)
    return ad.effect({"w": gaps, "t": t, "y": y}, treatment="t", outcome="y", confounders=["w"], terms=None,
                     missing="impute", rng=0)  # fmt: skip


@pytest.mark.parametrize("make", [_curves, _yes_no, _category, _imputed])
def test_as_many_rows_again_bring_every_kind_of_effect_to_about_seven_tenths(make) -> None:
    effect = make()
    found = effect.next_steps(edges=None, futures=12)
    (more,) = [step for step in found.steps if step.kind == "rows"]
    assert 0.6 < more.sd / effect.sd < 0.85
    assert all(step.sd <= effect.sd * 1.02 for step in found.steps)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 1}, "rows must be a whole number of at least 2"),
        ({"experiments": ["smocking"]}, "did you mean 'smoking'"),
        ({"experiments": [("smoking", 2, 3)]}, "an experiment is a variable, or a variable and a number of rows"),
        ({"edges": [("risk", "smoking")]}, "no candidate edge; give pairs of names such as"),
        ({"cost": {"row": 1}}, "cost 'row' is of no step; did you mean 'rows'"),
        ({"cost": {"rows": 0}}, "must be a positive number, got 0"),
        ({"cost": {"rows": 1}}, "has no cost; say cost="),
        ({"rows": (), "experiments": (), "edges": None}, "there is no step to look at"),
        ({"measure": {"genes": ad.Strength(r2_treatment="age")}}, "as numbers or ranges"),
        ({"goal": "width"}, "goal"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(effect: ad.Effect, options: dict, words: str) -> None:
    with pytest.raises(ad.AlldagsError, match=words):
        effect.next_steps(futures=2, **options)


def test_an_effect_that_is_certain_has_no_next_step() -> None:
    study = ad.datasets.example()
    nothing = fit(study.table, study.graph, rng=0).effect("risk", "age")
    with pytest.raises(ad.AlldagsError, match="which no step makes smaller; ask about an effect"):
        nothing.next_steps()


def test_moments_alone_know_what_rows_would_say_of_small_graphs(effect: ad.Effect) -> None:
    study = ad.datasets.example()
    moments = ad.Moments.from_table(study.table, list(study.graph.variables))
    alone = ad.fit(moments, study.graph, rng=0).effect("smoking", "risk")
    one, other = (item.next_steps((), 500, None, futures=6).best.sd for item in (alone, effect))
    assert one == pytest.approx(other, rel=0.1)


def test_the_picture_has_a_bar_for_every_step(effect: ad.Effect) -> None:
    found = effect.next_steps(futures=2)
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == [step.words for step in found.steps]


def test_the_log_odds_scale_is_narrowed_by_yes_no_rows_not_by_normal_ones():
    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((2, 400))
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(-(0.8 * x + 0.5 * w)))).astype(float)
    posterior = ad.fit({"w": w, "x": x, "y": y}, ad.CandidateGraph.from_order(["w", "x", "y"], 1.0), terms=None, rng=0)
    (step,) = posterior.effect("x", "y").on("log odds").next_steps(rows=400, experiments=(), edges=None).steps
    assert step.how == "futures"
    assert step.sd / step.before == pytest.approx(np.sqrt(0.5), abs=0.04)


@pytest.fixture(scope="module")
def treated() -> ad.Effect:
    rng = np.random.default_rng(4)
    w, x = rng.standard_normal((2, 300))
    y = (rng.logistic(size=300) < 0.8 * x + 0.5 * w).astype(float)
    graph = ad.CandidateGraph.from_order(["w", "x", "y"], 0.5)
    return ad.fit({"w": w, "x": x, "y": y}, graph, terms=None, rng=0).effect("x", "y")


def test_more_rows_to_come_leave_less_of_a_yes_no_effect(treated: ad.Effect) -> None:
    steps = treated.next_steps(rows=[100, 300, 1200], experiments=(), edges=None, futures=6).steps
    assert [step.rows for step in steps] == [1200, 300, 100]
    assert all(step.how == "futures" for step in steps)
    assert steps[0].sd / steps[0].before == pytest.approx(np.sqrt(300 / 1500), rel=0.15)


def test_rows_to_come_of_an_experiment_are_marked_as_set(treated: ad.Effect) -> None:
    from alldags.futures.by_rows import RowRefits
    from alldags.futures.moments import Design

    futures = RowRefits(treated.posterior.workings, treated.answer.question, 2)
    design = Design(100, "x", 0.0, 1.0)
    rows = next(iter(futures._drawn(design)))
    joined = futures._joined(rows, design)
    assert joined.table is not None
    assert joined.table.count == 400
    assert joined.table.column(joined.table.marks.was_set["x"]).sum() == 100
    assert joined.of("x").rows == 300
    assert joined.of("y").rows == 400
    assert len(np.unique(rows["x"])) == 2


def test_rows_to_come_depend_on_their_causes_as_the_regression_says(treated: ad.Effect) -> None:
    from alldags.futures.by_rows import RowRefits
    from alldags.futures.moments import Design

    futures = RowRefits(treated.posterior.workings, treated.answer.question, 20)
    rows = list(futures._drawn(Design(4000, "x", 0.0, 1.0)))
    gaps = [one["y"][one["x"] > 0].mean() - one["y"][one["x"] < 0].mean() for one in rows]
    x = treated.posterior.workings.data.deviation("x")
    low, high = (treated.posterior.do({"x": value}, outcome="y").mean.mean for value in (-x, x))
    assert np.mean(gaps) == pytest.approx(high - low, abs=0.04)
