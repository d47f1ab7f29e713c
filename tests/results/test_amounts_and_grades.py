"""Effects on amounts and grades, and through them: what is said, saved, refused, and against simulation."""

from __future__ import annotations

import json

import numpy as np
import pytest

import alldags as ad
from lines import fit
from show.everything import everything
from show.test_schema import faults

KINDS = ("lognormal", "gamma", "hurdle", "ordered")
GRAPH = ad.CandidateGraph.from_tiers([["age"], ["drug"], ["y"]], 0.5).with_edge("drug", "y", 1.0)
CUTS = np.array([-1.0, 0.0, 1.5])


def child(kind, eta, rng):
    if kind == "lognormal":
        return np.exp(eta + 0.6 * rng.standard_normal(len(eta)))
    if kind == "gamma":
        return np.exp(eta) * rng.gamma(2.0, 0.5, len(eta))
    if kind == "hurdle":
        some = rng.random(len(eta)) < 1 / (1 + np.exp(-0.5 - eta))
        return np.where(some, np.exp(eta) * rng.gamma(2.0, 0.5, len(eta)), 0.0)
    return 1.0 + (2.0 * eta + rng.logistic(size=len(eta)) > CUTS[:, None]).sum(axis=0)


def table(kind, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(rows)
    drug = (rng.random(rows) < 1 / (1 + np.exp(-age))).astype(float)
    return {"age": age, "drug": drug, "y": child(kind, 0.4 * drug + 0.4 * age, rng)}


@pytest.fixture(scope="module", params=KINDS)
def asked(request):
    kind = request.param
    return kind, fit(table(kind), GRAPH, families={"y": kind}, rng=0)


def test_the_answer_says_what_it_is_a_difference_of(asked):
    kind, posterior = asked
    text = everything(posterior.effect("drug", "y"))
    what = "mean score" if kind == "ordered" else "mean"
    assert text.startswith(f"Changing drug from 0 to 1 changes the {what} of y by ")
    words = {"ordered": "y is a grade (", "hurdle": "y is an amount with zeros"}
    assert words.get(kind, "y is a positive amount (") in text
    assert ("ratio" in text) == (kind != "ordered")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_json_satisfies_the_schema(asked):
    found = asked[1].effect("drug", "y").to.dict()
    assert list(faults(json.loads(json.dumps(found, allow_nan=False)))) == []
    assert found["measure"] == ("score" if asked[0] == "ordered" else "amount")
    assert found["families"][0]["family"] == asked[0]


def test_saved_answers_are_the_same(asked, tmp_path):
    asked[1].save(tmp_path / "fit.alldags")
    one, other = (posterior.effect("drug", "y") for posterior in (asked[1], ad.load(tmp_path / "fit.alldags")))
    assert one.mean == other.mean
    assert one.interval() == other.interval()


def test_new_units_have_the_distribution_whose_mean_is_asked_for(asked):
    kind, posterior = asked
    done = posterior.effect("drug", "y").do(1.0)
    unit = done.new_unit
    assert unit.mean == pytest.approx(float(done.mean.draws.mean()), abs=4 * unit.sd / np.sqrt(len(unit.draws)))
    assert (
        set(unit.draws) <= {1.0, 2.0, 3.0, 4.0} if kind == "ordered" else (unit.draws > 0).all() == (kind != "hurdle")
    )
    assert (unit.draws >= 0).all()
    values = table(kind)
    assert unit.sd == pytest.approx(values["y"][values["drug"] == 1].std(), rel=0.25)


@pytest.mark.parametrize("kind", ["lognormal", "gamma"])
def test_a_ratio_of_means_is_the_exponential_of_the_effect_on_the_log_mean(kind):
    effect = fit(table(kind), GRAPH, families={"y": kind}, rng=0).effect("drug", "y")
    assert effect.on("ratio").median == pytest.approx(np.exp(effect.on("log mean").mean), rel=0.02)
    with pytest.raises(ad.AlldagsError, match=r"'y' has no log odds; use on\('log mean'\)"):
        effect.on("log odds")


def test_the_mean_score_is_the_sum_over_levels_of_the_probability_to_reach_them():
    scores = [None, (0, 1, 1, 1), (0, 0, 1, 1), (0, 0, 0, 1)]
    found = [fit(table("ordered"), GRAPH, families={"y": ad.Ordered(scores=one)}, rng=0) for one in scores]
    whole, *parts = (posterior.effect("drug", "y") for posterior in found)
    np.testing.assert_allclose(sum(one.answer.draws(200, np.random.default_rng(1)) for one in parts),
                               whole.answer.draws(200, np.random.default_rng(1)))  # fmt: skip
    assert all(0.0 < one.levels[0].median < 1.0 for one in parts)
    with pytest.raises(
        ad.AlldagsError, match="a ratio needs a yes/no outcome, a count, an amount or a survival time, 'y' is none here"
    ):
        whole.on("ratio")


@pytest.mark.parametrize("between", KINDS)
@pytest.mark.parametrize("last", ["gamma", "normal"])
def test_an_effect_through_such_a_mediator_is_that_of_simulation(between, last):
    rows, rng = 3000, np.random.default_rng(7)
    drug = rng.integers(0, 2, rows).astype(float)
    mediator = child(between, 0.5 * drug, rng)

    def outcome(m, x):
        eta = 0.3 * m + 0.2 * x
        return np.exp(eta) * rng.gamma(2.0, 0.5, len(m)) if last == "gamma" else eta + rng.standard_normal(len(m))

    data = {"drug": drug, "m": np.minimum(mediator, 8.0), "y": outcome(np.minimum(mediator, 8.0), drug)}
    graph = ad.CandidateGraph.from_edges({("drug", "m"): 1.0, ("m", "y"): 1.0, ("drug", "y"): 1.0})
    families = {"m": between} | ({"y": last} if last != "normal" else {})
    effect = fit(data, graph, families=families, rng=0).effect("drug", "y")
    means = [
        outcome(np.minimum(child(between, np.full(400_000, 0.5 * x), rng), 8.0), np.full(400_000, x)).mean()
        for x in (0.0, 1.0)
    ]
    assert effect.mean == pytest.approx(means[1] - means[0], abs=3 * effect.sd)
    assert effect.sd < 0.3 * (means[1] - means[0])
