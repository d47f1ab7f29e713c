"""Single rows: what their outcome would have been, and what that of new rows will be."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
from alldags.errors import AlldagsError, DataError
from lines import fit

JOE = {"x": [0.5], "h": [1.0], "y": [1.5]}


@cache
def tutoring() -> ad.Posterior:
    """Pearl's after-school programme x, homework h and score y: coefficients 0.5, 0.7 and 0.4."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((3, 400))
    noise = u - u.mean(axis=1, keepdims=True)
    q, _ = np.linalg.qr(noise.T)
    x, own_h, own_y = 20.0 * q.T
    h = 0.5 * x + own_h  # noise is orthogonal to all before it: least squares is exact
    y = 0.7 * x + 0.4 * h + own_y
    graph = ad.CandidateGraph.from_edges({("x", "h"): 1.0, ("x", "y"): 1.0, ("h", "y"): 1.0})
    prior = ad.Prior(1e10, ad.priors.KnownNoise(1.0), "raw", link=0.0)
    return fit({"x": x, "h": h, "y": y}, graph, prior=prior, engine="exact", rng=0)


def test_joe_would_have_scored_190():
    found = tutoring().effect("h", "y").counterfactual(JOE, values=2.0)
    assert found["mean"] == pytest.approx([1.90], abs=1e-9)
    assert found["observed"] == [1.5]
    assert found["low"][0] < 1.90 < found["high"][0]
    with_programme = tutoring().effect("x", "y").counterfactual(JOE, values=[1.0])
    assert with_programme["mean"] == pytest.approx([1.5 + 0.5 * (0.7 + 0.5 * 0.4)], abs=1e-9)


def test_a_row_at_its_own_treatment_is_as_it_was():
    effect = tutoring().effect("h", "y")
    rows = effect.counterfactual([3, 5], values=1.0)
    own = effect.posterior.workings.table.rows(["h", "y"])
    for i, place in enumerate((3, 5)):
        h, y = own.column("h")[place], own.column("y")[place]
        assert rows["observed"][i] == y
        assert rows["mean"][i] == pytest.approx(y + 0.4 * (1.0 - h), abs=1e-9)


@cache
def yes_no(outcome="y") -> ad.Posterior:
    rng = np.random.default_rng(1)
    n = 2000
    z = rng.standard_normal(n)
    a = rng.integers(0, 2, n)
    m = (rng.random(n) < expit(a - 0.5)).astype(int)
    y = (rng.random(n) < expit(-1 + a + m + z)).astype(int)
    count = rng.poisson(np.exp(0.5 * a + 0.4 * m))
    graph = ad.CandidateGraph.from_edges(
        {("z", "y"): 1.0, ("a", "m"): 1.0, ("a", "y"): 1.0, ("m", "y"): 1.0, ("a", "count"): 1.0, ("m", "count"): 1.0}
    )
    table = {"z": z, "a": a, "m": m, "y": y, "count": count}
    del outcome
    return fit(table, graph, families={"count": "poisson"}, rng=0)


def test_a_yes_no_outcome_keeps_the_interval_its_value_tells():
    """P(y would be 1 | it was 0) = (p1 - p0) / (1 - p0), with levels in common; m is averaged over the same way."""
    effect = yes_no().effect("a", "y")
    z = 0.3
    rows = {"z": [z] * 4, "a": [0] * 4, "m": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    found = effect.counterfactual(rows, values=1)

    def p(a, m):
        return expit(-1 + a + m + z)

    to_m = (expit(0.5) - expit(-0.5)) / (1 - expit(-0.5))
    gains = {m: (p(1, m) - p(0, 0)) / (1 - p(0, 0)) for m in (0, 1)}
    expected = [
        to_m * gains[1] + (1 - to_m) * gains[0],
        1.0,
        (p(1, 1) - p(0, 1)) / (1 - p(0, 1)),
        1.0,
    ]
    assert found["mean"] == pytest.approx(expected, abs=0.06)
    own = effect.counterfactual(rows, values=0)
    assert own["mean"] == pytest.approx([0, 1, 0, 1], abs=1e-9)


def test_a_count_keeps_its_level():
    effect = yes_no().effect("a", "count")
    rows = {"a": [1, 1, 1], "m": [1, 1, 1], "count": [0, 2, 5]}
    assert effect.counterfactual(rows, values=1)["mean"] == pytest.approx([0, 2, 5], abs=1e-9)
    lower = effect.counterfactual(rows, values=0)
    assert all(low <= own + 1e-9 for low, own in zip(lower["mean"], [0, 2, 5], strict=True))
    assert lower["sd"][2] > 0.1  # the level is known up to an interval only


def test_counterfactuals_average_to_the_effect():
    effect = yes_no().effect("a", "y")
    rows = effect.counterfactual(range(2000), values=[0, 1])
    means = np.array(rows["mean"]).reshape(2, -1).mean(axis=1)
    assert means[1] - means[0] == pytest.approx(effect.mean, abs=0.15 * effect.sd + 0.01)


@pytest.mark.parametrize(
    ("rows", "values", "words"),
    [
        ({"h": [1.0], "x": [0.5]}, 2.0, "rows need the columns h, y; y is missing"),
        ([400], 2.0, "numbers of rows from 0 to 399"),
        ([0.5], 2.0, "rows must be a table"),
        ([0], None, "say which values of 'h' the rows should have had"),
        ({"h": [1.0], "y": [np.nan]}, 1.0, "'y' has missing or infinite values"),
    ],
)
def test_mistakes_are_named(rows, values, words):
    with pytest.raises((AlldagsError, DataError), match=words):
        tutoring().effect("h", "y").counterfactual(rows, values)


# -- new rows ----------------------------------------------------------------------------------------------------------


def test_new_rows_are_predicted_with_their_noise():
    posterior = tutoring()
    known = posterior.predict({"x": [1.0, -1.0], "h": [0.0, 2.0]}, outcome="y")
    assert known["mean"] == pytest.approx([0.7, -0.7 + 0.8], abs=0.12)
    assert known["sd"] == pytest.approx([1.0, 1.0], abs=0.08)  # the prior says that noise has precision 1
    set_ = posterior.predict({"x": [1.0]}, outcome="y", do={"h": 2.0})
    assert set_["mean"] == pytest.approx([0.7 + 0.8], abs=0.12)
    through = posterior.predict({"x": [1.0]}, outcome="y", do={"x": 2.0})
    assert through["mean"] == pytest.approx([1.4 + 0.4], abs=0.12)
    assert through["sd"] == pytest.approx([np.sqrt(1 + 0.16)], abs=0.08)


def test_a_yes_no_outcome_is_predicted_by_its_probability():
    found = yes_no().predict({"z": [0.0, 1.0], "m": [1, 1], "a": [0, 1]}, outcome="y")
    assert found["mean"] == pytest.approx(expit([0.0, 2.0]), abs=0.05)
    through = yes_no().predict({"z": [0.0]}, outcome="y", do={"a": 1})
    p = expit(0.5)
    assert through["mean"] == pytest.approx([p * expit(1.0) + (1 - p) * expit(0.0)], abs=0.05)


def test_new_rows_without_causes_are_refused_by_name():
    with pytest.raises(DataError, match="rows need the columns x, h; h is missing"):
        tutoring().predict({"x": [1.0]}, outcome="y")
    with pytest.raises(AlldagsError, match="the outcome 'z' is not in the graph"):
        tutoring().predict({"x": [1.0]}, outcome="z")


def test_what_lies_between_follows_from_the_causes_of_given_rows():
    """The effect of t on y = 0.2 m^2 depends on where m is: at z, 0.2 ((6 + z)^2 - (5 + z)^2); m is not in the rows."""
    rng = np.random.default_rng(0)
    z, t = rng.standard_normal(800), rng.integers(0, 2, 800)
    m = 5 + t + z + rng.standard_normal(800)
    y, yes = 0.2 * m**2 + rng.standard_normal(800), (rng.random(800) < expit(m - 7.5)).astype(int)
    graph = ad.CandidateGraph.from_edges({("z", "m"): 1.0, ("t", "m"): 1.0, ("m", "y"): 1.0, ("m", "yes"): 1.0})
    posterior = ad.fit({"z": z, "t": t, "m": m, "y": y, "yes": yes}, graph, rng=0)
    found = posterior.effect("t", "y").by({"z": [0.0, 1.0]})
    assert found["mean"] == pytest.approx([2.2, 2.6], abs=4 * max(found["sd"]))
    assert found["mean"][1] - found["mean"][0] > 0.2
    risk = posterior.effect("t", "yes").by({"z": [0.0, 1.0]})
    noise = rng.standard_normal(10**5)
    expected = [(expit(6 + x + noise - 7.5) - expit(5 + x + noise - 7.5)).mean() for x in (0.0, 1.0)]
    assert risk["mean"] == pytest.approx(expected, abs=4 * max(risk["sd"]))
    over = posterior.effect("t", "y", over={"z": [0.0, 1.0]})
    assert over.mean == pytest.approx(np.mean(found["mean"]), abs=0.2 * over.sd)
