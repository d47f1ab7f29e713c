"""Values of a treatment with two words are said in those words."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.errors import AlldagsError, DataError
from lines import fit


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    age, treated, male = rng.uniform(20, 80, 300), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    score = treated * (1 + 2 * male) + 0.02 * age + rng.standard_normal(300)
    ill = rng.random(300) < 0.2 + 0.4 * treated
    words = {"treated": np.where(treated, "yes", "no"), "sex": np.where(male, "m", "f")}
    return {"age": age, **words, "score": score, "ill": ill.astype(float)}


GRAPH = ad.CandidateGraph.from_tiers([["age", "sex", "treated"], ["score", "ill"]], 0.5)


@pytest.fixture(scope="module")
def effects(table):
    plain, curved = fit(table, GRAPH, rng=0), fit(table, GRAPH, terms="auto", rng=0)
    return {
        "straight": plain.effect("treated", "score"),
        "risk": plain.effect("treated", "ill"),
        "curved": curved.effect("treated", "score"),
    }


@pytest.mark.parametrize("kind", ["straight", "risk", "curved"])
def test_words_are_their_numbers(effects, kind):
    effect = effects[kind]
    assert float(effect.do("yes").mean) == float(effect.do(1).mean) != float(effect.do("no").mean)
    assert effect.contrast("no", "yes").mean == effect.contrast(0, 1).mean
    assert effect.contrast("yes", "no").mean == pytest.approx(-effect.contrast("no", "yes").mean, abs=1e-9)


@pytest.mark.parametrize("kind", ["straight", "risk", "curved"])
def test_an_unknown_word_is_refused_with_those_there_are(effects, kind):
    for ask in (lambda e: e.do("maybe"), lambda e: e.contrast("no", "maybe"), lambda e: e.plots.do(["maybe"])):
        with pytest.raises(AlldagsError, match="'treated' has the levels 'no' and 'yes', not 'maybe'"):
            ask(effects[kind])
    with pytest.raises(AlldagsError, match="not 'Yes'; did you mean 'yes'"):
        effects[kind].do("Yes")


def test_a_treatment_of_numbers_has_no_words(table):
    effect = fit(table, GRAPH, rng=0).effect("age", "score")
    with pytest.raises(AlldagsError, match="must be a finite number, got 'high': 'age' has no words"):
        effect.do("high")


def test_truth_values(table):
    truth = {**table, "treated": table["treated"] == "yes"}
    effect = fit(truth, GRAPH, rng=0).effect("treated", "score")
    assert float(effect.do(True).mean) == float(effect.do("True").mean) == float(effect.do(1).mean)


def test_curves_and_rows_in_words(effects, table):
    effect = effects["curved"]
    assert effect.curve(["no", "yes"])["mean"] == effect.curve([0, 1])["mean"]
    assert effect.by(table)["mean"] == effect.by()["mean"]  # rows of the fit, sex in words
    first = effect.by({"age": [50.0, 50.0], "sex": ["m", "f"]})["mean"]
    assert first[0] - first[1] == pytest.approx(2, abs=1)
    with pytest.raises(DataError, match="rows need the columns age, sex; sex is missing"):
        effect.by({"age": [50.0]})
    with pytest.raises(AlldagsError, match=r"plots\.rows takes the name of a covariate, then rows; got dict"):
        effect.plots.rows(table, "age")
    assert effect.plots.rows("age").get_xlabel() == "age"


def test_what_only_curves_have_is_said(effects):
    with pytest.raises(AlldagsError, match="same straight line for all rows; fit with terms='auto'"):
        effects["straight"].probability.modifiers()
    with pytest.raises(AlldagsError, match="needs an effect that goes through no other variables"):
        effects["risk"].probability.modifiers()
    with pytest.raises(AttributeError, match="'Effect' object has no attribute 'mian'"):
        effects["straight"].mian  # noqa: B018


@pytest.mark.parametrize("kind", ["straight", "risk", "curved"])
def test_the_fan_of_a_yes_no_treatment_has_its_two_values(effects, kind):
    axes = effects[kind].plots.do()
    assert axes.lines[0].get_xdata().tolist() == [0.0, 1.0]
