"""One push for all: against one draw at a time, the closed form and the inner product, and what its error says."""

from __future__ import annotations

import cProfile
import pstats
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import alldags as ad
import lines
from alldags.answers import push
from alldags.answers.comparison import STEP, Comparison
from alldags.answers.forward import is_linear
from alldags.answers.pushed import PushedAnswer
from alldags.answers.question import Target
from alldags.answers.response import Response
from naive import pushes

EXAMPLE = ad.datasets.example()
TIERS = ad.CandidateGraph.from_tiers([["z", "w"], ["t"], ["m", "n"], ["y"]])
LINES = ad.Terms(curves=0, products=0, index=False, propensity=False)


@cache
def table(kind: str = "yes/no") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = 120
    z, w, t = rng.standard_normal((3, rows))
    t = t + z if kind == "continuous" else (t + z > 0) * 1.0
    m = 0.4 * t + 0.4 * z + 0.3 * t * w + rng.standard_normal(rows)
    n = (rng.random(rows) < 1 / (1 + np.exp(-t - w))).astype(float)
    y = t + np.maximum(m, 0) + 0.5 * z**2 + 0.3 * t * m + n + rng.standard_normal(rows)
    yes = (rng.random(rows) < 1 / (1 + np.exp(1 - t - 0.5 * m - z))).astype(float)
    count = rng.poisson(np.exp(0.3 * t + 0.3 * z + 0.2 * m)).astype(float)
    group = rng.choice(np.array(list("abc")), rows)
    return {"z": z, "w": w, "t": t, "m": m, "n": n, "y": y, "yes": yes, "count": count, "group": group}


def fitted(kind="yes/no", outcome="y", between=("m",), covariates=("z", "w"), **options):
    graph = ad.CandidateGraph.from_tiers([list(covariates), ["t"], list(between), [outcome]])
    return lines.fit(table(kind), graph, rng=0, **options).effect("t", outcome)


GIVEN = {"y": ["m*z", "m^2", "t*m", "curve(z)"], "m": ["t*z"]}
CASES = {
    "straight": lambda: fitted(families="normal"),
    "yes/no outcome": lambda: fitted(outcome="yes"),
    "count": lambda: fitted(outcome="count", families={"count": "poisson"}),
    "yes/no in between": lambda: fitted(between=("m", "n")),
    "yes/no in between and outcome": lambda: fitted(outcome="yes", between=("n",)),
    "heavy tails": lambda: fitted(families={"m": "student", "y": "student"}),
    "curves": lambda: fitted(terms="auto"),
    "curves of a dose": lambda: fitted("continuous", terms="auto"),
    "given terms": lambda: fitted(terms=GIVEN),
    "lines as terms": lambda: fitted(terms={"y": LINES, "m": LINES}),
    "curves before a yes/no outcome": lambda: fitted(outcome="yes", terms={"m": ad.Terms()}),
    "category": lambda: fitted(covariates=("z", "group"), families="normal"),
}


@cache
def asked(case: str) -> ad.Effect:
    return CASES[case]()


def response_of(effect: ad.Effect) -> Response:
    """Return the push of an effect, whichever way it is answered."""
    rows = effect.posterior.workings.data.table
    rows = effect.posterior.workings.table.rows(effect.posterior.workings.data.pooled.names) if rows is None else rows
    total = effect.workings.totals.items[0]
    return Response(total.model, total.span, Target(rows, None, float(rows.columns.rows), effect.outcome))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("comparison", [STEP, Comparison(0.0, 1.0)], ids=["step", "values"])
def test_all_draws_at_once_are_one_draw_at_a_time(case, comparison, monkeypatch):
    monkeypatch.setattr(push, "BLOCK_VALUES", 120 * 7)  # several blocks of draws
    response = response_of(asked(case))
    samples = response.sample(17, np.random.default_rng(3))
    found = response.outcomes(samples, comparison)
    expected = pushes.outcomes(response, samples, comparison)
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", ["straight", "heavy tails", "category"])
def test_the_closed_form_is_what_pushed_rows_give(case):
    effect = asked(case)
    response = response_of(effect)
    pushed = PushedAnswer(
        effect.answer.question, effect.workings.totals, response.target, effect.posterior.workings.seed
    )
    assert pushed.mean == pytest.approx(effect.mean, abs=1e-9 + 4 * pushed.error)
    assert pushed.sd == pytest.approx(effect.sd, rel=0.08)
    low, high = effect.answer.levels
    assert np.mean(high - low) == pytest.approx(effect.mean, abs=4 * effect.sd / 40)
    x = 0.3
    np.testing.assert_allclose(effect.answer.level_mean(x), pushed.level_mean(x), atol=5 * effect.sd / 60)


@pytest.mark.parametrize(("kind", "over"), [("yes/no", "sample"), ("yes/no", "treated"), ("continuous", "sample")])
def test_the_inner_product_is_what_pushed_rows_give(kind, over):
    posterior = fitted(kind, between=(), terms="auto").posterior
    effect = posterior.effect("t", "y", over=over)
    answer = effect.answer
    theta = answer.changes.items[0]
    sample = answer.drawn[1]
    response = Response(effect.workings.totals.items[0].model, effect.workings.totals.items[0].span, answer.target)
    pushed = response.outcomes(sample, answer.question.comparison)
    np.testing.assert_allclose(pushed.difference, answer.drawn[0], atol=1e-9)
    assert answer.mean == pytest.approx(float(theta.weights @ theta.node.over_columns.mean) * theta.unit)
    by = effect.by(rng=1)
    if over == "sample":
        assert np.mean(by["mean"]) == pytest.approx(effect.mean, abs=0.1 * effect.sd)  # new rows belong to no part


def test_a_yes_no_node_that_is_drawn_is_on_average_summed_over():
    response = response_of(asked("yes/no in between"))
    response = replace(response, target=response.target)
    samples = response.sample(400, np.random.default_rng(1))
    summed, drawn = (response.outcomes(samples, Comparison(0.0, 1.0), drawn=flag).difference for flag in (False, True))
    assert drawn.mean() == pytest.approx(summed.mean(), abs=0.1)
    assert np.corrcoef(summed, drawn)[0, 1] > 0.8


def test_the_example_takes_few_calls():
    """A call for every column of every draw would be a million; CPU follows."""
    effect = lines.fit(EXAMPLE.table, EXAMPLE.graph, terms="auto", rng=0).effect("smoking", "risk")
    profile = cProfile.Profile()
    profile.enable()
    assert effect.interval()[0] < effect.mean
    profile.disable()
    assert pstats.Stats(profile).total_calls < 50_000


# -- the error ---------------------------------------------------------------------------------------------------------


def wide(rows: int = 200, k: int = 24) -> tuple[dict[str, np.ndarray], ad.CandidateGraph]:
    """Return a table with many covariates, so that regressions are sampled, and straight lines in between."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((k, rows))
    x = z[:5].sum(0) * 0.4 + rng.standard_normal(rows)
    m = 0.6 * x + 0.3 * z[3:9].sum(0) + rng.standard_normal(rows)
    y = 0.5 * x + 0.4 * m + 0.2 * z.sum(0) + 2.0 * rng.standard_normal(rows)
    names = [f"z{i}" for i in range(k)]
    graph = ad.CandidateGraph.from_tiers([names, ["x"], ["m"], ["y"]])
    return dict(zip(names, z, strict=True)) | {"x": x, "m": m, "y": y}, graph


def answers(data, graph, terms, treatment, outcome):
    fits = [lines.fit(data, graph, terms=terms, rng=seed) for seed in range(4)]
    return [fit.effect(treatment, outcome) for fit in fits]


def check_seeds_agree(effects) -> None:
    for one in effects:
        for other in effects:
            assert abs(one.mean - other.mean) <= 4 * np.hypot(one.uncertainty.mean_error, other.uncertainty.mean_error)


def test_the_error_holds_that_of_the_regressions_where_rows_are_carried_straight():
    effects = answers(*wide(), dict.fromkeys(("m", "y"), LINES), "x", "y")
    assert all(is_linear(effect.answer.responses.items[0]) and effect.uncertainty.converged for effect in effects)
    means = np.array([effect.mean for effect in effects])
    claimed = np.array([effect.uncertainty.mean_error for effect in effects])
    assert (claimed > 0.0).all()
    assert (claimed < 0.25 * effects[0].sd).all()
    assert claimed.mean() < 5 * means.std(ddof=1)  # large enough, and not for nothing
    check_seeds_agree(effects)


def test_the_error_holds_that_of_the_regressions_where_rows_are_pushed():
    effects = answers(EXAMPLE.table, EXAMPLE.graph, "auto", "smoking", "risk")
    assert not is_linear(effects[0].answer.responses.items[0])
    check_seeds_agree(effects)
    assert all(effect.uncertainty.mean_error < 0.2 * effect.sd for effect in effects)
