"""`posterior.decide`: against every graph, closed forms, simulation, and every way to spend a budget."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

import alldags as ad
from alldags.answers.dealt import Dealt
from alldags.answers.decided import with_ties
from alldags.errors import AlldagsError
from lines import fit
from naive import effects as naive
from problems import PRIORS, random_world

DRAWS = 20_000  # where all is straight
ERROR = 4.5 / math.sqrt(DRAWS)  # of a mean, in standard deviations: 1 in 150,000


# -- every graph -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "prior"), [(seed, name) for name in PRIORS for seed in range(4)])
def test_expected_outcomes_are_those_of_every_graph_and_every_path(seed, prior):
    world = random_world(seed, PRIORS[prior])
    actions = {"none": {}, "one": {"a": 1.2}, "two": {"a": 0.5, "c": -0.4}, "other": {"b": 1.0, "d": 2.0}}
    found = world.fit().decide(actions, world.names[-1], utility=-2.0, cost={"two": 0.3})
    means = [_every_graph(world, [(1.0, values)])[0] for values in actions.values()]
    assert [one.mean for one in found.outcomes.values()] == pytest.approx(means, rel=1e-9, abs=1e-9)
    utility = [-2.0 * mean - 0.3 * (name == "two") for name, mean in zip(actions, means, strict=True)]
    assert list(found.expected_utility.values()) == pytest.approx(utility, rel=1e-9, abs=1e-9)
    assert found.best == tuple(actions)[int(np.argmax(utility))]
    loss = found.expected_loss
    assert loss["one"] - loss["none"] == pytest.approx(utility[0] - utility[1], rel=1e-9, abs=1e-9)
    assert loss[found.best] == found.value_of_information >= 0.0
    assert sum(found.probability_best.values()) == pytest.approx(1.0)


def _every_graph(world, scenarios):
    mean = dict(zip(world.names, world.rows.mean(axis=0), strict=True))
    place, last = world.names.index, world.names[-1]
    moved = [(weight, {place(n): x - mean[n] for n, x in values.items()}) for weight, values in scenarios]
    tau = world.prior.slab_variance
    found = naive.joint(world.naive_rows, world.probability, tau, world.naive_noise, moved, place(last))
    return found[0] + sum(weight for weight, _ in scenarios) * mean[last], *found[1:]


def test_values_of_one_variable_are_those_of_its_effect_where_directions_are_open():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(100)
    b = 0.6 * a + rng.standard_normal(100)
    y = 0.5 * a - 0.3 * b + rng.standard_normal(100)
    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["y"]], within=0.3)
    posterior = fit({"a": a, "b": b, "y": y}, graph, rng=0)
    found, effect = posterior.decide({"a": [0.0, 1.0]}, "y"), posterior.effect("a", "y")
    gain = found.expected_utility["a = 1"] - found.expected_utility["a = 0"]
    assert gain == pytest.approx(effect.mean, rel=1e-9)
    best = effect.probability.above(0.0) + effect.probability_no_effect / 2
    assert found.probability_best["a = 1"] == pytest.approx(best, abs=0.02)


# -- closed forms ------------------------------------------------------------------------------------------------------


def _one_edge(probability=1.0, n=40, slope=0.1):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(n)
    table = {"x": x, "y": slope * x + rng.standard_normal(n)}
    prior = ad.Prior(1.0, ad.priors.KnownNoise(1.0), "raw", link=0.0)
    graph = ad.CandidateGraph.from_edges({("x", "y"): probability})
    return fit(table, graph, prior=prior, engine="exact", rng=0, robust=False)


@pytest.mark.parametrize(("step", "cost"), [(1.0, 0.0), (1.0, 0.15), (-2.0, 0.1)])
def test_two_actions_and_a_normal_effect_have_closed_forms(step, cost):
    posterior = _one_edge()
    found = posterior.decide([{"x": 0.0}, {"x": step}], "y", cost=[0.0, cost])
    effect = posterior.effect("x", "y")
    mean, sd = step * effect.mean - cost, abs(step) * effect.sd
    assert found.probability_best[f"x = {step:g}"] == pytest.approx(norm.cdf(mean / sd), abs=0.5 * ERROR)
    loss = sd * norm.pdf(mean / sd) - abs(mean) * norm.cdf(-abs(mean) / sd)
    assert found.value_of_information == pytest.approx(loss, abs=sd * ERROR)
    assert found.expected_loss[f"x = {step:g}"] == pytest.approx(loss + max(-mean, 0.0), abs=sd * ERROR)
    assert found.probability_alike == 0.0


def test_an_edge_in_doubt_is_a_tie_that_both_share():
    posterior = _one_edge(0.3)
    found, effect = posterior.decide({"x": [0.0, 1.0]}, "y"), posterior.effect("x", "y")
    none = effect.probability_no_effect
    assert 0.3 < none < 0.99
    best = effect.probability.above(0.0) + none / 2
    assert found.probability_best["x = 1"] == pytest.approx(best, abs=0.5 * ERROR)
    assert found.probability_alike == pytest.approx(none, abs=0.5 * ERROR)
    assert "all are the same with probability" in str(found).replace("\n", " ")
    sure = posterior.decide({"x": [0.0, 1.0]}, "y", cost={"x = 1": 10.0})
    assert (sure.best, sure.probability_best["x = 0"], sure.value_of_information) == ("x = 0", 1.0, 0.0)


def test_three_actions_are_what_a_simulation_of_the_exact_posterior_gives():
    rng = np.random.default_rng(1)
    n, precision, tau = 50, 1.0, 2.0
    x = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    y = x @ np.array([0.3, 0.35, 0.25]) + rng.standard_normal(n)
    table = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}
    prior = ad.Prior(tau, ad.priors.KnownNoise(precision), "raw", link=0.0)
    graph = ad.CandidateGraph.from_edges(dict.fromkeys([("a", "y"), ("b", "y"), ("c", "y")], 1.0))
    posterior = fit(table, graph, prior=prior, engine="exact", rng=0, robust=False)
    found = posterior.decide({name: ad.shift(name, 1.0) for name in "abc"}, "y", cost=[0.0, 0.05, 0.0])
    centred = x - x.mean(axis=0)
    covariance = np.linalg.inv(precision * centred.T @ centred + np.eye(3) / tau)
    draws = rng.multivariate_normal(covariance @ (precision * centred.T @ y), covariance, 400_000)
    draws[:, 1] -= 0.05
    best = np.bincount(draws.argmax(axis=1), minlength=3) / len(draws)
    assert list(found.probability_best.values()) == pytest.approx(best, abs=0.5 * ERROR)
    lost = draws.max(axis=1)[:, None] - draws
    error = lost.std(axis=0).max() * ERROR
    assert list(found.expected_loss.values()) == pytest.approx(lost.mean(axis=0), abs=error)


def test_a_function_of_the_mean_outcome_is_a_utility():
    posterior = _one_edge()
    actions = [{"x": 0.0}, {"x": 1.5}]
    line, number = (posterior.decide(actions, "y", utility=one) for one in (lambda y: -2.0 * y + 7.0, -2.0))
    assert line.probability_best == pytest.approx(number.probability_best, abs=1e-12)
    assert line.value_of_information == pytest.approx(number.value_of_information, abs=1e-12)
    averse = posterior.decide(actions, "y", utility=lambda y: -np.exp(-y))
    outcome = posterior.do(actions[1], outcome="y").mean
    exact = -math.exp(-outcome.mean + outcome.sd**2 / 2)  # of a normal number
    assert averse.expected_utility["x = 1.5"] == pytest.approx(exact, abs=abs(exact) * outcome.sd * 1.2 * ERROR)
    assert "utility" in averse.table().columns


def test_actions_that_are_the_same_tie_in_every_draw():
    """Also after each difference was made as wide as rows say it is, by a factor of its own."""
    table = _uneven()
    graph = ad.CandidateGraph.from_edges({("x", "y"): 1.0, ("z", "y"): 0.2, ("w", "y"): 0.9})
    posterior = fit(table, graph, rng=0)
    actions = {"x": {"x": 0.3}, "again": {"x": 0.3}, "w": {"w": 0.4}, "z too": {"w": 0.4, "z": 1.0}}
    found = posterior.decide(actions, "y")
    best = found.probability_best
    assert best["x"] == pytest.approx(best["again"], abs=1e-12)
    assert 0.02 < best["w"] < 0.98
    same = np.mean(found.worths.draws[2] == found.worths.draws[3])
    pair = posterior.do(actions["z too"], outcome="y").minus(posterior.do(actions["w"], outcome="y"))
    assert pair.probability_no_effect > 0.3
    assert same == pytest.approx(pair.probability_no_effect, abs=0.03)


def test_ties_are_made_of_outcomes_that_were_the_same():
    gaps = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.5, 2.0, 1.0]])
    plain = np.array([[5.0, 5.0, 5.0], [6.0, 7.0, 5.0], [6.0, 7.0, 6.0]])
    assert with_ties(gaps, plain).tolist() == [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]


def _uneven(n=600):
    rng = np.random.default_rng(3)
    x, z, w = rng.standard_normal((3, n))
    y = 0.15 * x + 0.12 * w + (0.3 + np.abs(x) * 1.5) * rng.standard_normal(n)
    return {"x": x, "z": z, "w": w, "y": y}


@pytest.mark.parametrize("one", [True, False])
def test_noise_that_is_larger_than_the_model_takes_it_for_makes_a_choice_less_sure(one):
    graph = ad.CandidateGraph.from_edges({("x", "y"): 1.0, ("w", "y"): 1.0})
    table = {name: column for name, column in _uneven().items() if name != "z"}
    actions = {"x": [0.0, 1.0]} if one else [{"x": 0.0, "w": 0.0}, {"x": 1.0, "w": 0.0}]
    wide, narrow = (fit(table, graph, rng=0, robust=robust).decide(actions, "y") for robust in (True, False))
    effect = fit(table, graph, rng=0).effect("x", "y")
    assert effect.sd > 1.3 * fit(table, graph, rng=0, robust=False).effect("x", "y").sd
    best = wide.probability_best[wide.actions[1]]
    assert best == pytest.approx(norm.cdf(effect.mean / effect.sd), abs=0.015)
    assert abs(best - 0.5) < abs(narrow.probability_best[narrow.actions[1]] - 0.5) - 0.01


def test_losses_and_probabilities_are_calibrated_where_the_truth_is_drawn_from_the_prior():
    """Graph and coefficients from the prior, a table from them: promised and true losses agree on average."""
    rng = np.random.default_rng(11)
    prior = ad.Prior(0.3, ad.priors.KnownNoise(1.0), "raw", intercept=False, link=0.0)
    edges = {("a", "m"): 0.6, ("m", "y"): 0.7, ("a", "y"): 0.4, ("b", "y"): 0.5}
    graph = ad.CandidateGraph.from_edges(edges)
    promised, true, stated, best = [], [], [], []
    for _ in range(300):
        slope = {edge: rng.normal(0.0, math.sqrt(0.3)) * (rng.random() < p) for edge, p in edges.items()}
        a, b, noise_m, noise_y = rng.standard_normal((4, 15))
        m = slope["a", "m"] * a + noise_m
        y = slope["a", "y"] * a + slope["m", "y"] * m + slope["b", "y"] * b + noise_y
        posterior = fit({"a": a, "b": b, "m": m, "y": y}, graph, prior=prior, engine="exact", robust=False, rng=1)
        actions = [{}, ad.shift("a", 1.0), ad.shift("b", 1.0)]
        found = posterior.decide(actions, "y", cost=[0.0, 0.05, 0.0], draws_size=4000)
        total = slope["a", "y"] + slope["a", "m"] * slope["m", "y"]
        worth = np.array([0.0, total - 0.05, slope["b", "y"]])
        promised.append(found.value_of_information)
        true.append(worth.max() - worth[found.worths.best])
        stated.append(list(found.probability_best.values()))
        best.append((worth == worth.max()) / (worth == worth.max()).sum())
    gap = np.array(promised) - true
    assert gap.mean() == pytest.approx(0.0, abs=4.5 * gap.std() / math.sqrt(300))
    assert np.mean(true) > 0.02  # there is something to lose
    stated, best = np.ravel(stated), np.ravel(best)
    for low, high in itertools.pairwise([0.0, 0.15, 0.35, 0.6, 1.01]):
        inside = (stated >= low) & (stated < high)
        error = 4.5 * best[inside].std() / math.sqrt(inside.sum())
        assert stated[inside].mean() == pytest.approx(best[inside].mean(), abs=error)


# -- groups and rows ---------------------------------------------------------------------------------------------------


@cache
def lines_study(n=300):
    rng = np.random.default_rng(7)
    age = rng.uniform(20, 80, n)
    sex = rng.choice(["f", "m"], n)
    dose = 0.05 * age + rng.standard_normal(n)
    diet = rng.standard_normal(n)
    y = 0.4 * dose - 0.3 * diet + 0.02 * age + rng.standard_normal(n)
    table = {"age": age, "sex": sex, "dose": dose, "diet": diet, "y": y}
    graph = ad.CandidateGraph.from_tiers([["age", "sex"], ["dose", "diet"], ["y"]], probability=0.6)
    return table, fit(table, graph, rng=0)


ACTIONS = {"none": {}, "dose": {"dose": 3.0}, "diet": {"diet": -1.0}}


def test_the_decision_of_a_group_is_that_of_its_rows():
    table, posterior = lines_study()
    found = posterior.decide(ACTIONS, "y", by="sex", cost={"dose": 0.1})
    for word, group in found.groups.items():
        alone = posterior.decide(ACTIONS, "y", over=table["sex"] == word, cost={"dose": 0.1})
        assert group.expected_utility == pytest.approx(alone.expected_utility, rel=1e-9)
        assert group.best == alone.best == found.plan.choice[word]
    share = np.array([(table["sex"] == word).mean() for word in found.groups])
    worth = np.array([list(group.expected_utility.values()) for group in found.groups.values()])
    assert share @ worth == pytest.approx(list(found.expected_utility.values()), rel=1e-9)  # groups are all rows
    assert found.plan.tailoring == pytest.approx(share @ worth.max(axis=1) - (share @ worth).max(), abs=1e-12)
    gain = share @ (worth.max(axis=1) - worth[:, 0])
    assert found.plan.gain.mean == pytest.approx(gain, rel=1e-9)
    assert found.plan.gain.draws.mean() == pytest.approx(gain, abs=found.plan.gain.sd * ERROR)
    assert sum(found.plan.counts.values()) == len(table["y"])


def test_a_plan_for_rows_is_what_a_rule_that_says_the_same_gives():
    """One variable is set or left: `ad.rule` with a value for each row, exact moments and the jackknife of its own."""
    table, posterior = lines_study()
    found = posterior.decide([{}, {"dose": 3.0}], "y", by="row", draws_size=4000)
    chosen = np.array([action == "dose = 3" for action in found.plan.choice.values()])
    assert 0.2 < chosen.mean() < 0.8
    assert (chosen == (table["dose"] < 3.0)).all()  # the effect is positive on average: who has less gains
    ruled = posterior.do(ad.rule("dose", np.where(chosen, 3.0, table["dose"])), outcome="y").mean
    assert found.plan.outcome.mean == pytest.approx(ruled.mean, abs=1e-9)
    assert found.plan.outcome.sd == pytest.approx(ruled.sd, rel=0.08)
    gain = posterior.effect("dose", "y").mean * (3.0 - table["dose"])
    assert found.plan.table()["gain"] == pytest.approx(np.where(chosen, gain, 0.0), abs=1e-9)
    assert found.plan.gain.mean == pytest.approx(np.mean(np.maximum(gain, 0.0)), abs=1e-9)


def test_rows_that_get_different_variables_set_are_a_sum_over_both():
    table, posterior = lines_study()
    found = posterior.decide(ACTIONS, "y", by="row", cost={"dose": 0.1, "diet": 0.2})
    pair = posterior.decide(ACTIONS, "y")  # linked for both, as the plan is
    slope_dose = (pair.outcomes["dose"].mean - table["y"].mean()) / (3.0 - table["dose"].mean())
    slope_diet = (pair.outcomes["diet"].mean - table["y"].mean()) / (-1.0 - table["diet"].mean())
    worth = [0 * table["y"], slope_dose * (3.0 - table["dose"]) - 0.1, slope_diet * (-1.0 - table["diet"]) - 0.2]
    best = np.argmax(worth, axis=0)
    assert [tuple(ACTIONS).index(one) for one in found.plan.choice.values()] == best.tolist()
    assert found.plan.gain.mean == pytest.approx(np.max(worth, axis=0).mean(), abs=1e-9)
    assert found.plan.tailoring == pytest.approx(np.max(worth, axis=0).mean() - np.mean(worth, axis=1).max(), abs=1e-9)


@cache
def bent_study(outcome="score", n=400):
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, n)
    treated = (rng.random(n) < expit((age - 50) / 15)).astype(float)
    score = 0.05 * age + treated * 0.1 * (age - 45) + rng.standard_normal(n)
    yes = (rng.random(n) < expit(treated * 0.15 * (age - 45))).astype(float)
    table = {"age": age, "treated": treated, outcome: score if outcome == "score" else yes}
    edges = {("age", "treated"): 0.5, ("age", outcome): 0.5, ("treated", outcome): 0.8}
    return table, ad.fit(table, ad.CandidateGraph.from_edges(edges), rng=0)


@pytest.mark.parametrize("outcome", ["score", "yes"])
def test_a_plan_along_curves_and_for_a_risk_is_what_a_rule_gives(outcome):
    _, posterior = bent_study(outcome)
    found = posterior.decide({"treated": [0, 1]}, outcome, by="row")
    chosen = np.array([action == "treated = 1" for action in found.plan.choice.values()])
    assert 0.1 < chosen.mean() < 0.9
    ruled = posterior.do(ad.rule("treated", chosen.astype(float)), outcome=outcome).mean
    assert found.plan.outcome.mean == pytest.approx(ruled.mean, abs=0.1 * ruled.sd)
    assert found.plan.outcome.sd == pytest.approx(ruled.sd, rel=0.1)
    assert found.plan.tailoring > 0.0


def test_how_probably_an_action_is_best_for_a_row_is_how_probably_its_effect_is_positive():
    table, posterior = bent_study()
    found = posterior.decide({"treated": [0, 1]}, "score", by="row")
    rows = found.plan.table()
    best = {"treated = 1": rows["probability_best"]}
    chosen = np.array([action == "treated = 1" for action in rows["action"]])
    one = np.where(chosen, best["treated = 1"], 1.0 - np.array(best["treated = 1"]))
    each = posterior.effect("treated", "score").by()
    expected = norm.cdf(np.array(each["mean"]) / np.array(each["sd"]))  # nearly normal
    near = np.abs(table["age"] - 45) < 6
    assert near.sum() > 20
    assert one[near] == pytest.approx(expected[near], abs=0.12)
    assert np.mean(np.abs(one - expected)) < 0.02


def test_the_loss_of_a_row_is_that_of_a_normal_effect():
    table, posterior = lines_study()
    found = posterior.decide([{}, {"dose": 3.0}], "y", by="row", utility=2.0, cost={"dose = 3": 0.2})
    effect, step = posterior.effect("dose", "y"), 3.0 - table["dose"]
    assert effect.probability_no_effect < 0.01
    mean, sd = 2.0 * effect.mean * step - 0.2, 2.0 * effect.sd * np.abs(step)
    loss = sd * norm.pdf(mean / sd) - np.abs(mean) * norm.cdf(-np.abs(mean) / sd)
    assert found.plan.table()["expected_loss"] == pytest.approx(loss, abs=0.01)
    assert found.plan.expected_loss == pytest.approx(loss.mean(), rel=0.1)


def test_rows_of_another_table_get_a_plan():
    _, posterior = bent_study()
    town = {"age": np.array([25.0, 35.0, 60.0, 75.0])}
    found = posterior.decide({"treated": [0, 1]}, "score", by="row", over=town, budget=1)
    assert found.plan.choice == {0: "treated = 0", 1: "treated = 0", 2: "treated = 0", 3: "treated = 1"}
    level = posterior.predict(town, outcome="score", do={"treated": 1})["mean"][3]
    assert found.plan.table()["mean"][3] == pytest.approx(level, abs=0.15)


# -- budget ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_budget_is_spent_as_the_best_of_all_ways_to_spend_it(seed):
    rng = np.random.default_rng(seed)
    worth, base = rng.standard_normal((6, 3)).round(1), int(rng.integers(3))
    for budget in range(7):
        found = Dealt(worth, worth, np.ones(6, dtype=int), np.full(6, 1 / 6), base, budget).given
        ways = itertools.product(range(3), repeat=6)
        within = [way for way in ways if sum(action != base for action in way) <= budget]
        best = max(sum(worth[row, action] for row, action in enumerate(way)) for way in within)
        assert (found * worth).sum() == pytest.approx(best)
        assert found.sum() - found[:, base].sum() <= budget


def test_a_budget_for_groups_goes_to_those_that_gain_most_and_ends_in_part_of_one():
    _, posterior = lines_study()
    whole = posterior.decide([{}, {"dose": 3.0}], "y", by="age").plan.table()
    found = posterior.decide([{}, {"dose": 3.0}], "y", by="age", budget=100).plan
    gains = np.array(whole["gain"])
    order = np.argsort(-gains)
    given = np.array(found.table()["given"]) * (np.array(found.table()["action"]) != "nothing")
    assert given[order].tolist() == [75, 25, 0, 0]
    assert found.gain.mean == pytest.approx((75 * gains[order[0]] + 25 * gains[order[1]]) / 300, rel=1e-9)
    assert found.tailoring is None


def test_a_budget_for_rows_goes_to_those_that_gain_most():
    _, posterior = lines_study()
    free = posterior.decide(ACTIONS, "y", by="row").plan
    for budget in (0, 40, 300):
        plan = posterior.decide(ACTIONS, "y", by="row", budget=budget).plan
        gains = np.sort(free.table()["gain"])[::-1][:budget]
        assert plan.gain.mean == pytest.approx(gains.sum() / 300, abs=1e-9)
        assert sum(count for name, count in plan.counts.items() if name != "none") <= budget


# -- what it meets -----------------------------------------------------------------------------------------------------


def test_levels_of_a_category_are_actions():
    rng = np.random.default_rng(0)
    arm = np.repeat(["control", "low", "high"], 60)
    score = np.repeat([0.0, 1.0, 1.2], 60) + rng.standard_normal(180)
    posterior = ad.fit({"arm": arm, "score": score}, ad.CandidateGraph.from_order(["arm", "score"]), rng=0)
    found = posterior.decide({"arm": ["control", "low", "high"]}, "score")
    contrasts = posterior.effect("arm", "score").contrasts()
    assert {name.split("'")[1]: p for name, p in found.probability_best.items()} == pytest.approx(
        dict(contrasts.probability_best), abs=0.04
    )


@pytest.mark.parametrize("values", [("a", "b", "c"), (0, 1, 0)])
def test_arms_of_a_survival_study_are_compared_by_their_restricted_means(values):
    rng = np.random.default_rng(3)
    arm = rng.integers(0, 3 if values[0] == "a" else 2, 300)
    time = rng.exponential(1.0, 300) * np.exp(0.3 * arm)
    table = {"arm": np.array(["a", "b", "c"])[arm] if values[0] == "a" else arm}
    table |= {"time": np.minimum(time, 2.0), "died": (time < 2.0).astype(float)}
    posterior = ad.fit(table, {"time": ["arm"]}, families={"time": ad.Survival(event="died")}, rng=0)
    found = posterior.decide({f"action {i}": {"arm": value} for i, value in enumerate(values)}, "time")
    means = [float(posterior.effect("arm", "time").do(value).mean) for value in values]
    assert [one.mean for one in found.outcomes.values()] == pytest.approx(means, rel=1e-12)
    best = list(found.probability_best.values())
    if values[0] == "a":
        assert best == pytest.approx(
            list(posterior.effect("arm", "time").contrasts().probability_best.values()), abs=0.01
        )
    else:
        draws = posterior.effect("arm", "time").draws(2000)
        assert best[0] == best[2]
        assert best[1] == pytest.approx(np.mean(draws > 0) + np.mean(draws == 0) / 3, abs=1e-3)
    with pytest.raises(AlldagsError, match="the survival time 'time' and what is set by posterior"):
        posterior.decide([{}, {"arm": values[1]}], "time")


def test_a_treatment_with_two_values_has_no_other():
    _, posterior = bent_study()
    for actions, asked in (({"treated": [0, 0.5]}, "0.5"), ([{}, ad.shift("treated", 1)], "a shift by 1")):
        with pytest.raises(
            AlldagsError, match=f"'treated' has the values 0 and 1; nothing shows what {asked} would do"
        ):
            posterior.decide(actions, "score")


def test_gaps_clusters_and_several_graphs_are_met():
    rng = np.random.default_rng(5)
    n = 240
    z, x = rng.standard_normal((2, n))
    y = 0.5 * x + 0.4 * z + rng.standard_normal(n)
    table = {"z": z, "x": x, "y": y}
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]], probability=0.8)
    holes = {**table, "z": np.where(rng.random(n) < 0.2, np.nan, z)}
    fits = {
        "gaps": ad.fit(holes, graph, missing="impute", imputations=3, rng=0),
        "clusters": fit({**table, "school": np.arange(n) // 8}, graph, cluster="school", rng=0),
        "graphs": fit(table, [graph, ad.CandidateGraph.from_tiers([["x"], ["z"], ["y"]])], rng=0),
    }
    for name, posterior in fits.items():
        one = posterior.decide({"x": [0.0, 1.0]}, "y")
        assert one.best == "x = 1", name
        for by in ("z", "row"):
            found = posterior.decide({"none": {}, "x": {"x": 1.0}, "both": {"x": 1.0, "z": 1.0}}, "y", by=by)
            plan = found.plan
            assert plan.outcome.mean >= max(one.mean for one in found.outcomes.values()) - 0.02, name
            assert plan.outcome.draws.mean() == pytest.approx(plan.outcome.mean, abs=0.25 * plan.outcome.sd), name
            assert sum(plan.counts.values()) == n, name


def test_a_population_is_asked_about_with_any_number_of_actions():
    _, posterior = bent_study()
    actions = {"none": {}, "all": {"treated": 1}, "no one": {"treated": 0}, "again": {"treated": 1}}
    sample, population = (posterior.decide(actions, "score", over=over) for over in ("sample", "population"))
    for name in actions:
        assert population.outcomes[name].sd > sample.outcomes[name].sd
    assert population.probability_best["all"] == population.probability_best["again"]
    pair = posterior.do({"treated": 1}, outcome="score", over="population")
    gap = pair.minus(posterior.do({"treated": 0}, outcome="score", over="population"))
    drawn = population.worths.draws[1] - population.worths.draws[2]
    assert drawn.std() == pytest.approx(gap.sd, rel=0.06)
    assert gap.sd > 1.1 * np.std(sample.worths.draws[1] - sample.worths.draws[2])


def test_a_saved_posterior_decides_the_same(tmp_path):
    _, posterior = bent_study("yes")
    posterior.save(tmp_path / "study.npz")
    one, other = (p.decide({"treated": [0, 1]}, "yes", by="age") for p in (posterior, ad.load(tmp_path / "study.npz")))
    assert one.expected_utility == pytest.approx(other.expected_utility, rel=1e-12)
    assert one.plan.choice == other.plan.choice


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda do: do({"none": {}}, "y"), "one action alone is no choice; give at least two"),
        (lambda do: do([], "y"), "one action alone is no choice"),
        (lambda do: do({"one": {}, "other": None}, "y"), "no action sets anything"),
        (lambda do: do({"dose": 3.0, "diet": 2.0}, "y"), "the action 'dose' does not say what it sets, got 3.0"),
        (lambda do: do(3, "y"), "actions must say what each of them sets, such as .*; got 3"),
        (lambda do: do({1: {}, 2: {"dose": 1}}, "y"), "actions are called by words, got 1"),
        (lambda do: do({"dos": [0, 1]}, "y"), "the variable 'dos' is not in the graph; did you mean 'dose'"),
        (lambda do: do([{"dose": 1}, {"dose": 1}], "y"), "two actions are called 'dose = 1'; name them"),
        (lambda do: do({"dose": [0, "much"]}, "y"), "the value of 'dose' must be a finite number, got 'much'"),
        (lambda do: do({"y": [0, 1]}, "y"), "'y' is the outcome and cannot be set"),
        (lambda do: do({"dose": [0, 1]}, "z"), "the outcome 'z' is not in the graph"),
        (lambda do: do({"dose": [0, 1]}, "y", utility=0), "utility=0 makes all outcomes worth the same"),
        (lambda do: do({"dose": [0, 1]}, "y", utility="high"), "utility must be a finite number, got 'high'"),
        (lambda do: do({"dose": [0, 1]}, "y", utility=lambda y: y[:2]), r"utility returned an array of shape \(2,\)"),
        (lambda do: do({"dose": [0, 1]}, "y", utility=lambda y: y / 0.0), "is no finite number; let it be one"),
        (lambda do: do({"dose": [0, 1]}, "y", utility=math.log), "write it for arrays"),
        (lambda do: do({"dose": [0, 1]}, "y", cost={"dose": 1}), "cost has no action 'dose'"),
        (lambda do: do({"dose": [0, 1]}, "y", cost=3.0), "cost must be a number for each action by name"),
        (lambda do: do({"dose": [0, 1]}, "y", cost=["a", 1]), "the cost of 'dose = 0' must be a finite number"),
        (lambda do: do({"dose": [0, 1]}, "y", budget=3), "say by what they are chosen, by='row'"),
        (lambda do: do({"dose": [0, 1]}, "y", by="row", budget=-1), "budget must be a whole number"),
        (lambda do: do({"dose": [0, 1]}, "y", by="row", budget=1, over=np.ones(300)), "counts rows, which weights"),
        (lambda do: do({"dose": [0, 1]}, "y", by="colour"), "there is no column 'colour' to group by"),
        (lambda do: do({"dose": [0, 1]}, "y", by=3), "by must be the name of a column or 'row', got 3"),
        (lambda do: do({"dose": [0, 1]}, "y", by="row", over="population"), "by= and over='population' do not go tog"),
        (lambda do: do({"dose": [0, 1]}, "y", by="sex", utility=np.exp), "by= and a function for utility do not go"),
        (lambda do: do({"dose": [0, 1]}, "y", draws_size=0), "draws_size must be a whole number"),
        (lambda do: do({"dose": [0, 1]}, "y", draws_size=10**12), "draws of 2 actions need about .* GB of memory"),
    ],
)
def test_mistakes_are_named(ask, words):
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(AlldagsError, match=words):
        ask(lines_study()[1].decide)


def test_rows_that_do_not_count_alike_or_are_not_there_get_no_plan():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    table = {"x": x, "y": x + rng.standard_normal(60), "w": rng.integers(1, 3, 60)}
    graph, how = ad.CandidateGraph.from_edges({("x", "y"): 0.5}), np.where(np.arange(60) < 9, "y", "")
    holes = {**table, "x": np.where(np.arange(60) < 9, np.nan, x)}
    for posterior, words in (
        (fit(table, graph, weights="w", rng=0), "by= and weights= do not go together"),
        (ad.fit({**table, "how": how}, graph, interventions="how", rng=0), "by= and interventions= do not go together"),
        (fit(ad.Moments.from_table({"x": x, "y": table["y"]}), graph, rng=0), "by= and moments, which hold no rows,"),
        (fit(holes, graph, missing="impute", rng=0), "only moments of the tables were kept.* terms='auto'"),
    ):
        assert posterior.decide({"x": [0, 1]}, "y").best == "x = 1"
        for by in ("row", "x"):
            with pytest.raises(AlldagsError, match=words):
                posterior.decide({"x": [0, 1]}, "y", by=by)


# -- as printed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"utility": -3.0, "cost": {"nothing": 1.0}},
        {"by": "age"},
        {"by": "row", "budget": 50},
        {"by": "letter", "cost": {"nothing": 2.0}},
        {"utility": lambda y: -(y**2)},
    ],
)
def test_a_decision_fits_on_a_screen(options):
    rng = np.random.default_rng(0)
    n, name = 260, "systolic_blood_pressure_at_entry_in_mmHg"
    table = {name: 120 + 10 * rng.standard_normal(n), "age": rng.uniform(20, 80, n)}
    table |= {"letter": np.array(list("abcdefghijklmnopqrstuvwxyz"))[np.arange(n) % 26]}
    table |= {"outcome_after_twelve_months_of_treatment": 0.1 * table[name] + rng.standard_normal(n)}
    outcome = "outcome_after_twelve_months_of_treatment"
    graph = ad.CandidateGraph.from_edges({("age", outcome): 0.5, (name, outcome): 0.5, ("age", name): 0.5})
    posterior = fit(table, graph, rng=0)
    actions = [{}, *({name: 90.0 + 8.0 * i} for i in range(12)), {name: 500.0}]
    lines = str(posterior.decide(actions, outcome, **options)).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Choose ")
    assert "outside the observed" in " ".join(lines)


def test_a_picture_has_a_row_for_each_action():
    pytest.importorskip("matplotlib")
    _, posterior = lines_study()
    found = posterior.decide(ACTIONS, "y")
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == list(ACTIONS)
    assert axes.get_xlabel() == "mean y"
