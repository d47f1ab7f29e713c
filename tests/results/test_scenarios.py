"""Any variables set at once: shifts, rules, rows, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
from alldags.answers.scenario import Scenario, ScenarioAnswer
from alldags.answers.settings import Set
from alldags.errors import AlldagsError, DataError
from lines import fit

ROWS = 500
GRAPH = ad.CandidateGraph.from_tiers([["z", "kind"], ["a"], ["m"], ["b"], ["y"]], probability=0.9)
RISK = ad.CandidateGraph.from_tiers([["z", "kind"], ["a"], ["m"], ["b"], ["yes"]], probability=0.9)


@cache
def table():
    rng = np.random.default_rng(2)
    z = rng.standard_normal(ROWS)
    kind = rng.choice(["u", "v", "w"], ROWS)
    a = 0.5 * z + rng.standard_normal(ROWS)
    m = 0.6 * a + 0.4 * z + rng.standard_normal(ROWS)
    b = 0.5 * m - 0.3 * a + (kind == "u") + rng.standard_normal(ROWS)
    y = 0.5 * a + 0.7 * m - 0.8 * b + z + (kind == "v") + rng.standard_normal(ROWS)
    yes = (rng.random(ROWS) < expit(y)).astype(int)
    dose = np.where(z > 0, 1.0, -1.0)
    return {"z": z, "kind": kind, "a": a, "m": m, "b": b, "y": y, "yes": yes, "dose": dose}


@cache
def posterior(outcome="y", **options) -> ad.Posterior:
    return fit(table(), GRAPH if outcome == "y" else RISK, rng=0, **options)


def exact(found):
    return found.mean.mean, found.mean.sd


def test_a_rule_that_says_the_same_as_a_shift_or_a_value_is_the_same():
    do = posterior().do
    shifted = do(ad.shift("a", 1.5), {"b": 0.5}, outcome="y")
    ruled = do(ad.rule("a", lambda rows: rows["a"] + 1.5), ad.rule("b", lambda rows: 0.5), outcome="y")
    by_row = do(ad.rule("a", table()["a"] + 1.5), {"b": 0.5}, outcome="y")
    assert exact(ruled) == pytest.approx(exact(shifted), rel=1e-12)
    assert exact(by_row) == pytest.approx(exact(shifted), rel=1e-12)


def test_a_rule_reads_words_and_columns_beside_the_graph():
    do = posterior().do
    by_word = do(ad.rule("a", lambda rows: np.where(rows["kind"] == "u", 2.0, 0.0)), {"b": 0.0}, outcome="y")
    by_row = do(ad.rule("a", np.where(table()["kind"] == "u", 2.0, 0.0)), {"b": 0.0}, outcome="y")
    assert exact(by_word) == pytest.approx(exact(by_row), rel=1e-12)
    column = do(ad.rule("a", "dose"), {"b": 0.0}, outcome="y")
    assert exact(column) == pytest.approx(exact(do(ad.rule("a", table()["dose"]), {"b": 0.0}, outcome="y")), rel=1e-12)
    moved = do({"z": 0.0}, ad.rule("a", "z"), outcome="y")
    both = do({"z": 0.0, "a": 0.0}, outcome="y")
    assert exact(moved) == pytest.approx(exact(both), abs=5 * both.mean.sd / 60)


def test_two_rules_of_one_variable_are_compared_each_with_its_own_values():
    do = posterior().do
    more, less = (do(ad.rule("a", table()["a"] + by), {"b": 0.5}, outcome="y") for by in (2.0, 1.0))
    shifted = do(ad.shift("a", 2.0), {"b": 0.5}, outcome="y").minus(do(ad.shift("a", 1.0), {"b": 0.5}, outcome="y"))
    assert more.minus(less).mean == pytest.approx(shifted.mean, rel=1e-9)
    assert repr(more).startswith("Intervention(do(a by row, b = 0.5)")


def test_a_category_is_set_by_its_level_and_by_a_rule():
    do = posterior().do
    level, ruled = (do({"a": 0.0}, what, outcome="y") for what in ({"kind": "v"}, ad.rule("kind", lambda rows: "v")))
    np.testing.assert_allclose(level.mean.draws, ruled.mean.draws, rtol=1e-12)
    gap = level.minus(do({"a": 0.0, "kind": "w"}, outcome="y"))
    assert gap.mean == pytest.approx(1.0, abs=3 * gap.sd)


def test_a_rule_may_read_what_was_moved_before_it():
    """b follows m, which a moves: pushed rows, against the mean rule put in by hand, since all is straight."""
    found = posterior().do({"a": 2.0}, ad.rule("b", lambda rows: 0.5 * rows["m"]), outcome="y")
    effect = posterior().effect("a", "m").do(2.0).mean
    by_hand = posterior().do({"a": 2.0, "b": 0.5 * float(effect)}, outcome="y")
    assert found.mean.mean == pytest.approx(by_hand.mean.mean, abs=0.1)


def test_rows_pushed_are_what_the_closed_form_gives():
    asked = posterior()
    scenario = Scenario((Set("a", 1.0), Set("b", -1.0)), "y")
    closed, pushed = ScenarioAnswer(asked, [scenario]), ScenarioAnswer(asked, [scenario])
    pushed.is_closed = False  # a cached property
    mean, sd = closed.moments((1.0,))
    draws = pushed.draws((1.0,))
    assert draws.mean() == pytest.approx(mean, abs=5 * sd / len(draws) ** 0.5)
    assert draws.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.parametrize("outcome", ["y", "yes"])
def test_what_has_no_effect_changes_nothing(outcome):
    """Draws are common: the difference of a scenario and itself is zero in every one of them."""
    do = posterior(outcome, robust=False).do
    one, other = do({"a": 1.0, "b": 0.0}, outcome=outcome), do({"a": 1.0, "b": 0.0}, outcome=outcome)
    gap = one.minus(other)
    assert (gap.mean, gap.sd, gap.probability_no_effect) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)
    assert gap.interval() == (0.0, 0.0)


def test_a_risk_is_between_0_and_1_and_near_the_truth():
    found = posterior("yes").do({"a": 1.0, "b": -1.0}, outcome="yes")
    rng = np.random.default_rng(0)
    z, kind, noise = rng.standard_normal(10**5), rng.choice(3, 10**5), rng.standard_normal((2, 10**5))
    m = 0.6 + 0.4 * z + noise[0]
    truth = expit(0.5 + 0.7 * m + 0.8 + z + (kind == 1) + noise[1]).mean()
    assert float(found.mean) == pytest.approx(truth, abs=3 * found.mean.sd)
    assert 0.0 < found.new_unit.probability < 1.0
    assert "do(a = 1, b = -1)" in repr(found)
    assert found.mean.draws.min() >= 0.0


def test_a_new_unit_has_the_noise_of_the_rows():
    found = posterior().do({"a": 1.0, "b": -1.0}, outcome="y")
    residual = table()["y"] - 0.5 * table()["a"] - 0.7 * (table()["m"] - 0.0) + 0.8 * table()["b"]
    assert found.new_unit.mean == pytest.approx(float(found.mean), abs=0.15)
    assert found.new_unit.sd > 0.8 * residual.std()


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["y", "yes"])
def test_a_condition_is_a_mask_and_weights_are_repeated_rows(outcome):
    asked, settings = posterior(outcome), {"a": 1.0, "b": 0.0}
    mask = (table()["z"] > 0.2) & (table()["kind"] != "u")
    by_words = asked.do(settings, outcome=outcome, over="z > 0.2 and kind != 'u'").mean
    by_mask = asked.do(settings, outcome=outcome, over=mask).mean
    by_weight = asked.do(settings, outcome=outcome, over=2.0 * mask).mean
    assert (by_words.mean, by_words.sd) == pytest.approx((by_mask.mean, by_mask.sd), rel=1e-12)
    assert (by_weight.mean, by_weight.sd) == pytest.approx((by_mask.mean, by_mask.sd), rel=1e-9)
    assert by_words.mean != pytest.approx(float(asked.do(settings, outcome=outcome).mean), abs=0.02)


@pytest.mark.parametrize("outcome", ["y", "yes"])
def test_the_rows_of_the_fit_as_another_table_give_about_the_same(outcome):
    asked, settings = posterior(outcome), {"a": 1.0, "b": 0.0}
    here, there = (asked.do(settings, outcome=outcome, over=over).mean for over in ("sample", table()))
    assert there.mean == pytest.approx(here.mean, abs=0.15 * here.sd)
    residual = 1.49 if outcome == "y" else 0.0  # of y and, by way of it, of m: its mean is known of the rows of the fit
    assert there.sd**2 == pytest.approx(here.sd**2 + residual / ROWS, rel=0.25)


def test_a_population_is_less_sure_than_its_sample():
    sample, population = (
        posterior().do({"a": 1.0, "b": 0.0}, outcome="y", over=o).mean for o in ("sample", "population")
    )
    assert population.mean == pytest.approx(sample.mean, abs=0.05)
    residual = 1.0 + 0.49  # noise of y, and of m times 0.7, at least
    assert population.sd**2 - sample.sd**2 == pytest.approx(residual / ROWS, rel=2.0)
    assert population.sd > sample.sd


def test_clusters_widen_what_is_set_at_once_as_they_widen_one_effect():
    rng = np.random.default_rng(0)
    school = np.repeat(np.arange(40), 10)
    x = rng.standard_normal(40)[school]
    other = rng.standard_normal(400)
    y = 0.5 * x + rng.standard_normal(40)[school] + 0.5 * rng.standard_normal(400)
    data = {"x": x, "other": other, "y": y, "school": school}
    graph = ad.CandidateGraph.from_edges({("x", "y"): 1.0, ("other", "y"): 0.5})
    plain = fit(data, graph, rng=0, robust=False)
    asked = fit(data, graph, rng=0, cluster="school")
    effect = asked.effect("x", "y")
    assert effect.sd > 1.5 * plain.effect("x", "y").sd

    def gap(posterior):
        high, low = (posterior.do({"x": x, "other": 0.0}, outcome="y") for x in (1.0, 0.0))
        return high.minus(low)

    assert gap(asked).sd == pytest.approx(effect.sd, rel=0.05)
    assert gap(plain).sd == pytest.approx(plain.effect("x", "y").sd, rel=0.05)


# -- what it is asked of -----------------------------------------------------------------------------------------------


def test_a_saved_posterior_says_the_same(tmp_path):
    asked = posterior("yes")
    asked.save(tmp_path / "study.npz")
    again = ad.load(tmp_path / "study.npz")
    settings = {"a": 1.0, "b": 0.0}
    one, other = (one.do(settings, outcome="yes") for one in (asked, again))
    assert float(one.mean) == pytest.approx(float(other.mean), rel=1e-12)
    assert exact(posterior().do(settings, outcome="y"))[0] == pytest.approx(
        exact(_reloaded(posterior(), tmp_path).do(settings, outcome="y"))[0], rel=1e-12
    )


def _reloaded(asked, folder):
    asked.save(folder / "lines.npz")
    return ad.load(folder / "lines.npz")


def test_moments_are_enough_for_values_and_shifts_along_straight_lines():
    names = ["z", "a", "m", "b", "y"]
    columns = {name: table()[name] for name in names}
    graph = ad.CandidateGraph.from_tiers([["z"], ["a"], ["m"], ["b"], ["y"]], probability=0.9)
    from_rows, from_moments = (
        fit(data, graph, rng=0, robust=False) for data in (columns, ad.Moments.from_table(columns))
    )
    for settings in (({"a": 1.0, "b": 0.0},), (ad.shift("a", 1.0), {"b": 0.0})):
        one, other = (one.do(*settings, outcome="y") for one in (from_rows, from_moments))
        assert exact(one) == pytest.approx(exact(other), rel=1e-9)
    with pytest.raises(AlldagsError, match="moments"):
        float(from_moments.do(ad.rule("a", lambda rows: 2 * rows["z"]), {"b": 0}, outcome="y").mean)


def test_several_graphs_and_filled_gaps_are_averaged_over():
    one = ad.CandidateGraph.from_tiers([["z"], ["a"], ["b"], ["y"]])
    other = ad.CandidateGraph.from_tiers([["z"], ["b"], ["a"], ["y"]])
    columns = {name: table()[name].copy() for name in ("z", "a", "b", "y")}
    both = fit(columns, [one, other], rng=0)
    found = both.do({"a": 1.0, "b": 0.0}, outcome="y").mean
    alone = fit(columns, one, rng=0).do({"a": 1.0, "b": 0.0}, outcome="y").mean
    assert found.mean == pytest.approx(alone.mean, abs=0.2)  # y has the same causes in both
    columns["z"][:60] = np.nan
    filled = fit(columns, one, missing="impute", rng=0).do({"a": 1.0, "b": 0.0}, outcome="y").mean
    assert filled.mean == pytest.approx(alone.mean, abs=4 * alone.sd)
    assert filled.draws.std() == pytest.approx(filled.sd, rel=0.1)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda do: do({"q": 1}, outcome="y"), "the variable 'q' is not in the graph"),
        (lambda do: do({"a": 1}, outcome="q"), "the outcome 'q' is not in the graph"),
        (lambda do: do({"y": 1}, outcome="y"), "'y' is the outcome and cannot be set"),
        (lambda do: do({"a": 1}, ad.shift("a", 2), outcome="y"), "'a' is set twice"),
        (lambda do: do({"a": "high", "b": 1}, outcome="y"), "the value of 'a' must be a finite number, got 'high'"),
        (lambda do: do({"a": 1, "kind": "x"}, outcome="y"), "'kind' has the levels 'u', 'v', 'w', not 'x'"),
        (lambda do: do({"a": 1}, ad.shift("kind", 1), outcome="y"), "'kind' is a category, whose levels cannot be sh"),
        (lambda do: do(3, outcome="y"), "do\\(\\) takes what is set, such as {'dose': 10}"),
        (lambda do: do({"a": ad.shift("b", 1)}, outcome="y"), "'a' is set by what was made for 'b'"),
        (lambda do: do(ad.rule("a", [1.0, 2.0]), outcome="y"), "have shape \\(2,\\); give one for each of 500 rows"),
        (lambda do: do(ad.rule("a", "nowhere"), outcome="y"), "there is no variable or column 'nowhere'"),
        (lambda do: do(ad.rule("a", lambda rows: rows["none"]), outcome="y"), "the rule of 'a' asks for 'none'"),
        (lambda do: do(ad.rule("a", lambda rows: rows["b"]), outcome="y"), "the rule of 'a' reads 'b', which 'a' may"),
        (lambda do: do({"z": 0}, ad.rule("a", lambda rows: np.ones(3)), outcome="y").mean, "array of shape \\(3,\\)"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="treated"), "over='treated' needs one treatment, and 2"),
        (
            lambda do: do({"a": 1, "b": 1}, outcome="y", over={"z": [1.0]}).mean,
            "rows need the columns z, kind; kind is",
        ),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="age > 3"), "there is no variable 'age'"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="z >"), "it is no condition"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="z > 100"), "holds for no row at all"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="z + 1"), "does not say yes or no of each row"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="len(z)"), "is neither a column, a value nor a comparison"),
        (lambda do: do({"a": 1, "b": 1}, outcome="y", over="kind > 3"), "words and numbers are not compared by size"),
        (lambda do: do({"a": 1}, outcome="y").minus(do({"a": 1}, outcome="m")), "mean outcomes of one variable"),
        (
            lambda do: do({"a": 1}, outcome="y").minus(do({"a": 0}, outcome="y", over="population")),
            "over the same rows",
        ),
        (lambda do: do({"a": 1, "b": 0}, outcome="kind"), "'kind'"),
    ],
)
def test_mistakes_are_named(ask, words):
    with pytest.raises((AlldagsError, DataError), match=words):
        ask(posterior().do)


def test_rules_in_a_circle_are_refused():
    graph = ad.CandidateGraph.from_edges({("a", "y"): 0.5, ("b", "y"): 0.5})
    asked = fit({name: table()[name] for name in ("a", "b", "y")}, graph, rng=0)
    rules = ad.rule("a", lambda rows: rows["b"]), ad.rule("b", lambda rows: rows["a"])
    with pytest.raises(AlldagsError, match="rules go in a circle"):
        asked.do(*rules, outcome="y")


def test_open_orders_and_hidden_causes_are_refused_by_name():
    columns = {name: table()[name] for name in ("a", "b", "y")}
    opened = ad.CandidateGraph.from_tiers([["a", "b"], ["y"]], within=0.3)
    asked = fit(columns, opened, rng=0)
    with pytest.raises(AlldagsError, match="several variables that are set at once and open directions of 'a', 'b'"):
        asked.do({"a": 1.0, "b": 0.0}, outcome="y")
    raised = asked.do(ad.shift("a", 1.0), outcome="y").minus(asked.do(outcome="y"))  # one variable: as its effect
    assert raised.mean == pytest.approx(asked.effect("a", "y").mean, rel=1e-12)
    hidden = ad.CandidateGraph.from_tiers([["a"], ["b"], ["y"]]).with_hidden("a", "y", 0.3)
    with pytest.raises(AlldagsError, match="several variables that are set at once and hidden common causes"):
        fit(columns, hidden, rng=0).do({"a": 1.0, "b": 0.0}, outcome="y")
