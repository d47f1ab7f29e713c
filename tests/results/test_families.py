"""Which children are not normal: what `fit` takes, says and refuses."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import alldags as ad
from alldags.answers.pushed import PushedAnswer
from lines import fit
from show.everything import everything


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.standard_normal(300)
    dose = 0.5 * age + rng.standard_normal(300)
    death = (rng.random(300) < 1 / (1 + np.exp(1 - age - 0.5 * dose))).astype(float)
    return {"age": age, "dose": dose, "death": death}


GRAPH = ad.CandidateGraph.from_tiers([["age"], ["dose"], ["death"]], 0.5)


def test_zeros_and_ones_are_yes_or_no_and_the_answer_says_so(table):
    effect = fit(table, GRAPH, rng=0).effect("dose", "death")
    assert isinstance(effect.answer, PushedAnswer)
    text = everything(effect)
    assert text.startswith("Raising dose by one unit changes the probability of death by ")
    assert "death is yes/no (" in text
    assert "effects are differences of probability." in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_booleans_are_yes_or_no_too(table):
    logical = table | {"death": table["death"] == 1.0}
    effect = fit(logical, GRAPH, rng=0).effect("dose", "death")
    assert effect.mean == fit(table, GRAPH, rng=0).effect("dose", "death").mean


def test_straight_lines_stay_to_be_had(table):
    effect = fit(table, GRAPH, rng=0, families="normal").effect("dose", "death")
    assert type(effect) is ad.Effect
    kept = fit(table, GRAPH, rng=0, families={"death": "normal"}).effect("dose", "death")
    assert kept.mean == effect.mean
    logistic = fit(table, GRAPH, rng=0).effect("dose", "death")
    assert logistic.checks.straight_line.mean == pytest.approx(effect.mean, rel=1e-12)
    assert logistic.checks.straight_line.interval() == pytest.approx(effect.interval(), rel=1e-12)


def test_a_table_without_yes_no_children_is_not_touched():
    study = ad.datasets.example()
    posterior = fit(study.table, study.graph, rng=0)
    assert not posterior._data.families
    assert posterior._data.straight is posterior._data
    assert str(posterior.effect("smoking", "risk")) == str(
        fit(study.table, study.graph, rng=0, families="normal").effect("smoking", "risk")
    )


def test_a_yes_no_treatment_needs_nothing(table):
    rng = np.random.default_rng(1)
    treated = (table["dose"] > 0).astype(float)
    outcome = treated + table["age"] + rng.standard_normal(300)
    data = {"age": table["age"], "treated": treated, "outcome": outcome}
    graph = ad.CandidateGraph.from_tiers([["age"], ["treated"], ["outcome"]], 0.5)
    effect = fit(data, graph, rng=0).effect("treated", "outcome")
    plain = fit(data, graph, rng=0, families="normal").effect("treated", "outcome")
    assert type(effect) is ad.Effect
    assert str(effect) == str(plain)


def test_moments_have_no_rows(table):
    moments = ad.Moments.from_table(table)
    posterior = fit(moments, GRAPH, rng=0)
    assert type(posterior.effect("dose", "death")) is ad.Effect
    assert any("death may be yes/no" in note for note in posterior.notes)
    with pytest.raises(ad.AlldagsError, match="give the table itself"):
        fit(moments, GRAPH, families={"death": "bernoulli"})
    assert not fit(moments, GRAPH, rng=0, families="normal").notes


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ({"deth": "bernoulli"}, "did you mean 'death'"),
        ({"death": "binomial"}, "must be 'normal', 'bernoulli', 'poisson'"),
        ("bernoulli", "families must be 'auto', 'normal' or a mapping"),
        ({"dose": "bernoulli"}, "code it as 0 and 1"),
        ({"dose": "poisson"}, "counts are whole numbers from 0 on"),
        ({"death": ad.Poisson("years")}, "column 'years' is not in the data"),
    ],
)
def test_mistakes_are_named(table, families, message):
    with pytest.raises(ad.AlldagsError, match=re.escape(message)):
        fit(table, GRAPH, families=families)


def test_children_without_a_single_event_are_refused(table):
    with pytest.raises(ad.AlldagsError, match="constant"):
        fit(table | {"death": np.zeros(300)}, GRAPH, families={"death": "bernoulli"})


def test_a_family_of_a_variable_without_causes_is_ignored(table):
    graph = ad.CandidateGraph.from_edges({("dose", "death"): 0.5}, variables=("age", "dose", "death"))
    posterior = fit(table, graph, families={"dose": "normal", "age": "poisson"}, rng=0)
    assert set(posterior._data.families) == {"death"}


def test_over_is_checked_everywhere(table):
    posterior = fit(table, GRAPH, rng=0)
    with pytest.raises(ad.AlldagsError, match="over='everyone' is not understood"):
        posterior.effect("age", "dose", over="everyone")
    with pytest.raises(ad.AlldagsError, match="needs a treatment with two values"):
        posterior.effect("dose", "death", over="treated")
    with pytest.raises(ad.AlldagsError, match="one truth value for each of the 300 rows"):
        posterior.effect("dose", "death", over=np.ones(3, dtype=bool))
    with pytest.raises(ad.AlldagsError, match="picks no row"):
        posterior.effect("dose", "death", over=np.zeros(300, dtype=bool))


def test_missing_rows_are_dropped_in_every_pass(table):
    holes = {name: values.copy() for name, values in table.items()}
    holes["age"][:40] = np.nan
    found = fit(holes, GRAPH, rng=0, missing="drop").effect("dose", "death")
    complete = {name: values[40:] for name, values in table.items()}
    expected = fit(complete, GRAPH, rng=0).effect("dose", "death")
    assert found.mean == pytest.approx(expected.mean, rel=1e-9)


def test_answers_do_not_depend_on_threads_or_the_kind_of_table(table, tmp_path):
    import pandas as pd

    one = fit(table, GRAPH, rng=0).effect("dose", "death")
    two = fit(pd.DataFrame(table), GRAPH, rng=0, n_jobs=2).effect("dose", "death")
    assert one.mean == two.mean
    path = tmp_path / "table.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    assert fit(path, GRAPH, rng=0).effect("dose", "death").mean == pytest.approx(one.mean, rel=1e-9)


def test_json_has_the_measure_and_the_ratios(table):
    found = json.loads(json.dumps(fit(table, GRAPH, rng=0).effect("dose", "death").to.dict()))
    assert found["measure"] == "risk"
    assert found["contrast"] is None
    assert found["families"][0]["events"] == table["death"].sum()
    assert found["risk_ratio"]["low"] < found["risk_ratio"]["median"] < found["risk_ratio"]["high"]
    plain = fit(table, GRAPH, rng=0, families="normal").effect("dose", "death").to.dict()
    assert "measure" not in plain


def test_strong_confounding_is_noted_where_straight_lines_differ():
    rng = np.random.default_rng(4)
    c = rng.standard_normal(3000)
    x = (rng.random(3000) < 1 / (1 + np.exp(2.5 - 2.5 * c))).astype(float)
    y = (rng.random(3000) < 1 / (1 + np.exp(3.0 - 2.5 * c))).astype(float)
    graph = ad.CandidateGraph.from_edges({("c", "x"): 0.5, ("c", "y"): 0.5, ("x", "y"): 1.0})
    effect = fit({"c": c, "x": x, "y": y}, graph, rng=0).effect("x", "y")
    low, high = effect.interval()
    assert low < 0.0 < high
    straight = effect.checks.straight_line.interval()
    assert not straight[0] < 0.0 < straight[1]
    assert any(note.text.startswith("linear regressions") for note in effect.notes)


def test_hidden_causes_of_effects_that_are_no_lines(table, tmp_path):
    effect = fit(table, GRAPH, rng=0).effect("dose", "death")
    with pytest.raises(ad.AlldagsError, match="on another scale than this effect: ask the effect itself"):
        effect.on("log odds").sensitivity()
    sensitivity = effect.sensitivity()
    assert "weights that make rows with other values of it alike" in " ".join(str(sensitivity).split())
    for ask in (
        lambda: sensitivity.at(rho=0.2),
        lambda: sensitivity.at(shares={"dose": 0.1, "death": 0.1}),
        lambda: sensitivity.given(ad.Strength(shares={"dose": 0.1, "death": 0.1})),
        lambda: sensitivity.given(ad.Strength(probability=0.5), identify="instruments"),
    ):
        with pytest.raises(ad.AlldagsError, match=r"about errors of straight lines with normal noise.*: use "):
            ask()
    effect.posterior.report(tmp_path / "report.html", "dose", "death")
    assert "unexplained variance of both dose and death" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(
        ad.AlldagsError, match=r"hidden common cause of 'dose', 'death' and .* modelled for straight lines"
    ):
        fit(table, GRAPH.with_hidden("dose", "death", 0.5), rng=0)
    assert sensitivity.given(ad.Strength(probability=0.5)).sd > effect.sd
