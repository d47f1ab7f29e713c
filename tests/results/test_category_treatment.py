"""A category as the treatment: level against level, all pairs, what holds of any of them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import alldags as ad
from alldags.errors import AlldagsError
from lines import fit
from naive.sets import one_set
from naive.units import columns_of
from show.everything import everything

LEVELS = ("none", "half", "full")
GRAPH = ad.CandidateGraph.from_tiers([["age"], ["arm"], ["m"], ["y"]], 0.4)
NO_LINK = ad.Prior(link=0.0)


def world(seed=0, rows=80, outcome="normal"):
    """Return a study in which age acts on the arm, and the arm on y, directly and through m; much is open."""
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(rows)
    odds = np.exp(np.column_stack([np.zeros(rows), 0.8 * age, -0.5 * age]))
    chosen = (rng.random(rows)[:, None] > (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    dose = np.array([0.0, 0.3, 0.8])[chosen]
    m = 0.6 * dose + rng.standard_normal(rows)
    y = 0.5 * dose + 0.4 * m + 0.5 * age + rng.standard_normal(rows)
    if outcome == "yes/no":
        y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-y))).astype(float)
    if outcome == "count":
        y = rng.poisson(np.exp(0.3 * y)).astype(float)
    arm = pd.Categorical(np.array(LEVELS)[chosen], categories=LEVELS)
    return pd.DataFrame({"age": age, "arm": arm, "m": m, "y": y})


def fitted(table, graph=GRAPH, **options):
    return fit(table, graph, rng=0, **options)


# -- against every graph -----------------------------------------------------------------------------------------------


def sets_of(table, child, causes, settings, probability=0.4):
    """Yield, for each set of causes and setting: its log weight, moments over columns, and the owner of each column."""
    pieces = {name: columns_of(np.asarray(table[name])) for name in causes}
    owner = np.repeat(np.arange(len(causes)), [pieces[name].shape[1] for name in causes])
    design, y = np.hstack(list(pieces.values())), columns_of(np.asarray(table[child]))[:, 0]
    problem = ad.nodes.NodeProblem(
        child="y", terms=tuple(f"x{i}" for i in range(len(owner))), gram=design.T @ design, cross=design.T @ y,
        total=float(y @ y), n=float(len(y) - 1), probability=np.ones(len(owner)), settings=tuple(settings),
    )  # fmt: skip
    for mask in itertools.product([False, True], repeat=len(causes)):
        prior = sum(np.log(probability if there else 1.0 - probability) for there in mask)
        for setting in settings:
            part = one_set(problem, setting, np.array(mask)[owner])
            yield part.log_weight + prior, part, owner


def moves(table, start, stop):
    """Return by how much the columns of the arm move, shape (columns,)."""
    arm = np.asarray(table["arm"])
    columns = columns_of(arm)
    return columns[arm == stop][0] - columns[arm == start][0]


def every_graph(table, start, stop, settings):
    """Return mean and standard deviation of the effect, and the probability of none, over all graphs of m and y."""
    move = moves(table, start, stop)
    of_m = list(sets_of(table, "m", ("age", "arm"), settings))
    of_y = list(sets_of(table, "y", ("age", "arm", "m"), settings))
    total = first = second = none = 0.0
    top = max(log for log, *_ in of_m) + max(log for log, *_ in of_y)
    for (log_m, m, owner_m), (log_y, y, owner_y) in itertools.product(of_m, of_y):
        weight = np.exp(log_m + log_y - top)
        own = owner_m == 1
        c, c2 = move @ m.mean[own], move @ (m.covariance + np.outer(m.mean, m.mean))[np.ix_(own, own)] @ move
        read = np.zeros((2, len(owner_y)))
        read[0, owner_y == 1], read[1, owner_y == 2] = move, 1.0
        mean, square = read @ y.mean, read @ (y.covariance + np.outer(y.mean, y.mean)) @ read.T
        total += weight
        first += weight * (mean[0] + mean[1] * c)
        second += weight * (square[0, 0] + 2.0 * square[0, 1] * c + square[1, 1] * c2)
        none += weight * (square[0, 0] == 0.0 and square[1, 1] * c2 == 0.0)
    mean = first / total
    unit = table["y"].std()
    return unit * mean, unit * np.sqrt(second / total - mean**2), none / total


@pytest.mark.parametrize("prior", [NO_LINK, ad.Prior.v01(), ad.Prior(link=0.0, slab_variance=0.2)])
@pytest.mark.parametrize("pair", [("none", "half"), ("none", "full"), ("full", "half")])
def test_mean_sd_and_no_effect_are_those_of_a_sum_over_all_graphs(prior, pair):
    table = world(1)
    posterior = fitted(table, prior=prior)
    found = posterior.effect("arm", "y").contrast(*pair)
    settings = posterior.workings.models.items[0].node("y").problem.settings
    mean, sd, none = every_graph(table, *pair, settings)
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert found.sd == pytest.approx(sd, rel=1e-9)
    assert found.probability_no_effect == pytest.approx(none, rel=1e-9)
    assert 0.001 < none < 0.95  # there is something to average over


def test_draws_have_these_moments():
    found = fitted(world(1)).effect("arm", "y").contrast("none", "full")
    draws = found.draws(40_000, rng=1)
    assert draws.mean() == pytest.approx(found.mean, abs=5 * found.sd / 200)
    assert draws.std() == pytest.approx(found.sd, rel=0.03)
    assert np.mean(draws == 0.0) == pytest.approx(found.probability_no_effect, abs=0.01)


def test_paths_direct_part_and_edges_add_up_to_the_effect():
    found = fitted(world(1)).effect("arm", "y").contrast("none", "full")
    paths = found.paths()
    assert sum(paths["mean"]) == pytest.approx(found.mean, rel=1e-9)
    assert found.direct.mean == pytest.approx(paths["mean"][paths["path"].index("arm -> y")], rel=1e-9)
    for row in found.edge_influence().rows():
        p = row["kept_as_confounder"]
        assert p * row["effect_if_present"] + (1 - p) * row["effect_if_absent"] == pytest.approx(found.mean, rel=1e-7)


# -- the link ----------------------------------------------------------------------------------------------------------


def test_what_drives_the_arm_is_kept_in_the_regression_of_the_outcome():
    rng = np.random.default_rng(30)
    table = world(3, 400)
    table["y"] = table["y"] - 0.4 * table["age"] + rng.standard_normal(400)  # the edge from age is hard to see
    linked, plain = (fitted(table, prior=ad.Prior(link=link)).effect("arm", "y") for link in (1.0, 0.0))
    inclusion = [
        {row.name: row.probability for row in one.contrast("none", "full").summary().adjusted}["age"]
        for one in (linked, plain)
    ]
    assert inclusion[0] > 0.99 > inclusion[1] + 0.05


def test_a_cause_drives_the_arm_with_the_same_probability_whatever_the_order_of_levels():
    found = []
    for order in itertools.permutations(LEVELS):
        table = world(5, 60)
        table["arm"] = pd.Categorical(table["arm"].astype(str), categories=order)
        posterior = fitted(table, graph=ad.CandidateGraph.from_tiers([["age"], ["arm"], ["y"]], 0.3))
        edges = posterior.edge_probabilities()
        contrast = posterior.effect("arm", "y").contrast("none", "full")
        found.append((edges["posterior"][edges["effect"].index("arm")], contrast.mean, contrast.sd))
    np.testing.assert_allclose(found, [found[0]] * len(found), rtol=1e-8)
    assert 0.05 < found[0][0] < 0.999


def test_a_cause_of_all_columns_is_weighed_as_a_regression_of_all_columns_at_once():
    table = world(5, 60)
    graph = ad.CandidateGraph.from_tiers([["age"], ["arm"], ["y"]], 0.3)
    posterior = fitted(table, graph=graph, prior=ad.Prior.v01(), families="normal")
    columns = columns_of(np.asarray(table["arm"]))
    age = columns_of(np.asarray(table["age"]))[:, 0]
    n, (shape, rate) = columns.shape[1] * (len(age) - 1), (0.0, 0.0)
    noise = posterior.workings.models.items[0].prior.noise
    shape, rate = noise.shape, noise.rate
    left = float((columns**2).sum())
    explained = float(((age @ columns) ** 2).sum()) / (age @ age + 1.0)
    power = shape + n / 2
    log_odds = np.log(0.3 / 0.7) - columns.shape[1] / 2 * np.log1p(age @ age)
    log_odds += power * (np.log(rate + left / 2) - np.log(rate + (left - explained) / 2))
    edges = posterior.edge_probabilities()
    assert edges["posterior"][edges["effect"].index("arm")] == pytest.approx(1 / (1 + np.exp(-log_odds)), rel=1e-8)


# -- all pairs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["normal", "yes/no"])
def test_all_pairs_are_the_single_contrasts(outcome):
    effect = fitted(world(2, 150, outcome)).effect("arm", "y")
    found = effect.contrasts(level=0.9)
    for row in found.table.rows():
        one = effect.contrast(row["start"], row["stop"])
        assert (row["mean"], row["sd"], (row["low"], row["high"])) == (one.mean, one.sd, one.interval(0.9))
        assert row["low_all"] <= row["low"] <= row["high"] <= row["high_all"]
    assert list(zip(found.table["start"], found.table["stop"], strict=True)) == list(itertools.combinations(LEVELS, 2))


def test_wide_intervals_hold_all_pairs_at_once():
    effect = fitted(world(2, 150), prior=ad.Prior(link=0.0)).effect("arm", "y")
    found = effect.contrasts(level=0.9)
    draws = {pair: effect.contrast(*pair).draws(40_000, rng=7) for pair in itertools.combinations(LEVELS, 2)}
    inside = single = np.ones(40_000, dtype=bool)
    for row in found.table.rows():
        values = draws[row["start"], row["stop"]]
        inside = inside & (row["low_all"] <= values) & (values <= row["high_all"])
        single = single & (row["low"] <= values) & (values <= row["high"])
    assert inside.mean() == pytest.approx(0.9, abs=0.01)
    assert single.mean() < 0.88
    np.testing.assert_allclose(draws["none", "half"] + draws["half", "full"], draws["none", "full"], atol=1e-12)


def test_the_probability_of_being_best_adds_up_and_turns_with_what_is_better():
    effect = fitted(world(2, 150)).effect("arm", "y")
    high, low = effect.contrasts().probability_best, effect.contrasts(better="lower").probability_best
    assert sum(high.values()) == pytest.approx(1.0)
    assert sum(low.values()) == pytest.approx(1.0)
    assert high["full"] > 0.5 > high["none"]
    assert low["none"] > low["full"]


def test_without_an_effect_every_level_is_as_good_as_any_other():
    table = world(2, 150)
    posterior = fitted(table, ad.CandidateGraph.from_edges({("age", "y"): 0.5, ("age", "arm"): 0.5, ("m", "y"): 0.5}))
    found = posterior.effect("arm", "y").contrasts()
    assert list(found.probability_best.values()) == pytest.approx([1 / 3] * 3)
    assert set(found.table["mean"]) == {0.0}


# -- do, curve, rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["normal", "yes/no", "count"])
def test_levels_differ_by_the_contrast(outcome):
    families = {"families": {"y": "poisson"}} if outcome == "count" else {}
    effect = fitted(world(2, 150, outcome), **families).effect("arm", "y")
    curve = effect.curve(LEVELS)
    assert curve["arm"] == list(LEVELS)
    found = effect.contrast("none", "full")
    assert curve["mean"][2] - curve["mean"][0] == pytest.approx(found.mean, abs=0.1 * found.sd)
    assert float(effect.do("full").mean) == pytest.approx(curve["mean"][2], abs=0.1 * found.sd)


def test_the_mean_under_a_level_is_that_of_rows_pushed_there():
    table = world(2, 150)
    effect = fitted(table).effect("arm", "y")
    unit = effect.do("full", 20_000).new_unit
    assert unit.mean == pytest.approx(float(effect.do("full").mean), abs=5 * unit.sd / np.sqrt(20_000))
    shares = table["arm"].value_counts(normalize=True)
    average = sum(shares[name] * float(effect.do(name).mean) for name in LEVELS)
    assert average == pytest.approx(table["y"].mean(), rel=1e-9)  # every row keeps its residual


def test_a_population_is_less_certain_than_its_sample():
    table = world(2, 150)
    sample, population = (
        fitted(table).effect("arm", "y", over=over).do("full").mean for over in ("sample", "population")
    )
    draws = np.sqrt(population.draws.var())
    assert population.sd > 1.02 * sample.sd
    assert draws == pytest.approx(population.sd, rel=0.05)
    assert population.mean == sample.mean


def test_chosen_rows_have_their_own_mean():
    table = world(2, 150)
    effect = fitted(table).effect("arm", "y", over=(table["arm"] == "full").to_numpy())
    assert float(effect.do("full").mean) == pytest.approx(table["y"][table["arm"] == "full"].mean(), rel=1e-9)


def test_a_risk_is_the_same_whether_rows_go_at_once_or_step_by_step():
    from alldags.answers.comparison import Comparison
    from alldags.answers.push import Push

    answer = fitted(world(2, 100, "yes/no")).effect("arm", "y").contrast("none", "full").answer
    response, samples = answer.responses.items[0], answer.samples
    found = response.outcomes(samples, Comparison(0.0, 2.0))
    rows = next(response.batches())
    route = response.route(samples)
    low, high = Push(rows, samples, route, slice(0, 50)).both(*rows.moves("arm", Comparison(0.0, 2.0)))
    np.testing.assert_allclose(low.mean(axis=0), found.low[:50], rtol=1e-10)
    np.testing.assert_allclose(high.mean(axis=0), found.high[:50], rtol=1e-10)


def test_effects_of_given_rows_need_no_level():
    effect = fitted(world(2, 100, "yes/no")).effect("arm", "y").contrast("none", "full")
    by = effect.by({"age": [0.0, 1.0], "m": [0.0, 0.0]})
    assert len(by) == 2
    assert np.mean(effect.by()["mean"]) == pytest.approx(effect.mean, abs=0.1 * effect.sd)


def test_scales_of_a_risk():
    effect = fitted(world(2, 150, "yes/no")).effect("arm", "y").contrast("none", "full")
    low, high = effect.levels
    assert high.mean - low.mean == pytest.approx(effect.mean, abs=0.1 * effect.sd)
    assert effect.on("log odds").contrast("none", "full").mean == effect.on("log odds").mean
    assert effect.on("log odds").mean > 0.0


# -- what is said ------------------------------------------------------------------------------------------------------


def test_an_effect_of_three_levels_is_no_single_number():
    effect = fitted(world()).effect("arm", "y")
    for ask in (
        lambda: effect.mean, lambda: effect.sd, effect.interval, effect.draws, effect.paths,
        lambda: effect.on("standardized"),
        lambda: effect.mediation(["m"]), lambda: effect.direct, effect.summary, effect.sensitivity, effect.by,
        lambda: effect.checks.placebo(2), effect.checks.stability, effect.edge_influence, effect.plot,
        lambda: effect.checks.confounder_link,
    ):  # fmt: skip
        with pytest.raises(AlldagsError, match=r"3 levels.*contrast\('none', 'full'\).*contrasts\(\)"):
            ask()
    assert repr(effect) == "Effect('arm' -> 'y': 3 levels, see contrasts())"
    assert effect.probability_no_effect == effect.contrast("none", "full").probability_no_effect


def test_it_prints_what_each_level_does_compared_with_the_first():
    text = str(fitted(world()).effect("arm", "y"))
    assert text.startswith("Changing arm from 'none' to another level changes y by")
    assert [line.split()[0] for line in text.splitlines()[2:4]] == ["half", "full"]
    assert "P(highest y): none " in text
    assert "contrasts()" in text
    assert len(text.splitlines()) <= 14
    assert max(map(len, text.splitlines())) <= 80


def test_a_long_outcome_leaves_room_for_which_level_is_best(monkeypatch):
    long = "change_of_blood_pressure_after_twelve_months"
    graph = ad.CandidateGraph.from_tiers([["age"], ["arm"], [long]])
    effect = fitted(world().rename(columns={"y": long}), graph).effect("arm", long)
    assert "P(highest change_of_b…e_months): none below 0.1%, half 0.2%, full 99.8%." in str(effect)
    monkeypatch.setenv("COLUMNS", "62")
    assert "P(highest change_of_b…e_months): full 99.8% and 2 more." in str(effect)


def test_a_contrast_speaks_of_its_levels():
    found = fitted(world(2, 150, "yes/no")).effect("arm", "y").contrast("none", "full")
    assert found.to.sentence().startswith("Changing arm from 'none' to 'full' changes the probability of y by")
    said = found.to.dict()
    assert said["treatment_words"] == ["none", "full"]
    assert said["contrast"] == [0.0, 1.0]
    assert "at 'none'" in everything(found)
    assert json.dumps(said)


def test_least_squares_beside_it_is_that_of_dummies():
    table = world(2, 150)
    found = fitted(table).effect("arm", "y").contrast("half", "full").checks.least_squares
    dummies = np.column_stack([np.ones(150), table["age"], table["arm"] == "half", table["arm"] == "full"]).astype(
        float
    )
    slopes, *_ = np.linalg.lstsq(dummies, table["y"].to_numpy(), rcond=None)
    assert found.estimate == pytest.approx(slopes[3] - slopes[2], rel=1e-9)
    residual = table["y"].to_numpy() - dummies @ slopes
    inverse = np.linalg.inv(dummies.T @ dummies) * (residual @ residual) / (150 - 4)
    error = np.sqrt(inverse[2, 2] + inverse[3, 3] - 2 * inverse[2, 3])
    assert found.error == pytest.approx(error, rel=1e-9)
    assert found.covariates == ("age",)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda effect: effect.contrast("none", "ful"),
            r"has the levels 'none', 'half', 'full', not 'ful'.*did you mean",
        ),
        (lambda effect: effect.do(1.5), "has the levels 'none', 'half', 'full', not 1.5"),
        (lambda effect: effect.contrast("none", "full").on("standardized"), "no standard deviations"),
        (lambda effect: effect.posterior.effect("arm", "y", over="treated"), "needs a treatment with two values"),
        (lambda effect: effect.posterior.effect("age", "y"), "'arm' is a category.*lies between 'age' and 'y'"),
        (lambda effect: effect.posterior.effect("age", "arm"), "the outcome 'arm' is a category with 3 levels"),
        (
            lambda effect: effect.posterior.effect("m", "y").contrasts(),
            "compares the levels of a category.*'m' is none",
        ),
        (lambda effect: effect.contrasts(better="more"), "better must be one of"),
    ],
)
def test_mistakes_are_named(ask, words):
    with pytest.raises(AlldagsError, match=words):
        ask(fitted(world(), families="normal").effect("arm", "y"))


def test_graphs_must_agree_on_the_causes_of_a_category():
    other = ad.CandidateGraph.from_tiers([["age"], ["arm"], ["m"], ["y"]], 0.3)
    with pytest.raises(AlldagsError, match="disagree about what may act on 'arm'"):
        fitted(world(), [GRAPH, other])
    agreeing = ad.CandidateGraph(GRAPH.variables, {edge: p for edge, p in GRAPH.edges.items() if edge != ("m", "y")})
    found = fitted(world(1), [GRAPH, agreeing]).effect("arm", "y").contrast("none", "full")
    assert 0.0 < found.sd < 1.0


def test_effects_of_all_on_all_say_nothing_through_a_category():
    found = fitted(world(), families="normal").effects(link=0)
    assert np.isnan(found["age", "y"])
    assert np.isfinite(found["m", "y"])


# -- other ways in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["normal", "yes/no"])
def test_saved_and_loaded_it_says_the_same(tmp_path, outcome):
    posterior = fitted(world(2, 100, outcome))
    posterior.save(tmp_path / "study.npz")
    found, again = (one.effect("arm", "y").contrasts() for one in (posterior, ad.load(tmp_path / "study.npz")))
    assert str(found) == str(again)


def test_a_placebo_of_the_arm_has_no_effect():
    effect = fitted(world(2, 200)).effect("arm", "y").contrast("none", "full")
    found = effect.checks.placebo(19, rng=1)
    assert found.mean == effect.mean
    assert max(map(abs, found.means)) < effect.mean
    assert found.p_value == pytest.approx(0.05)


def test_other_choices_are_about_the_same_contrast():
    found = fitted(world(2, 200)).effect("arm", "y").contrast("none", "full")
    table = found.checks.stability()
    assert table["mean"][0] == found.mean
    assert all(0.2 * found.mean < value < 2.0 * found.mean for value in table["mean"])


def test_the_link_check_of_a_contrast():
    check = fitted(world(2, 200)).effect("arm", "y").contrast("none", "full").checks.confounder_link
    plain = fitted(world(2, 200), prior=NO_LINK).effect("arm", "y").contrast("none", "full")
    assert check.mean_without == pytest.approx(plain.mean, rel=1e-9)


# -- rows, priors ------------------------------------------------------------------------------------------------------


def test_clusters_widen_each_contrast():
    rng = np.random.default_rng(0)
    table = world(2, 200)
    table["site"] = np.arange(200) // 10
    table["y"] = table["y"] + 1.5 * rng.standard_normal(20)[table["site"]]
    arms = np.array(LEVELS)[rng.integers(0, 3, 20)][table["site"]]  # whole sites have one arm
    table["arm"] = pd.Categorical(arms, categories=LEVELS)
    graph = ad.CandidateGraph.from_tiers([["age"], ["arm"], ["y"]])
    plain = fitted(table, graph).effect("arm", "y").contrast("none", "full")
    found = fitted(table, graph, cluster="site").effect("arm", "y").contrast("none", "full")
    assert found.uncertainty.clusters is not None
    assert found.sd > 1.2 * plain.sd


def test_without_an_intercept_the_mean_under_a_level_is_that_of_the_rows():
    table = world(2, 150)
    table["y"] = table["y"] + 10.0
    effect = fitted(table, prior=ad.Prior.paper()).effect("arm", "y")
    shares = table["arm"].value_counts(normalize=True)
    average = sum(shares[name] * float(effect.do(name).mean) for name in LEVELS)
    assert average == pytest.approx(table["y"].mean(), rel=1e-9)


def test_heavy_tails_and_weights():
    table = world(2, 150)
    heavy = fitted(table, families={"y": "student"}).effect("arm", "y").contrast("none", "full")
    assert heavy.sd > 0.0
    twice = fitted(table, weights=np.full(150, 2)).effect("arm", "y").contrast("none", "full")
    doubled = fitted(pd.concat([table, table])).effect("arm", "y")
    assert twice.mean == pytest.approx(doubled.contrast("none", "full").mean, rel=1e-8)


def test_sampled_regressions_agree_with_exact_ones():
    table = world(2, 150)
    exact, sampled = (
        fitted(table, engine=engine).effect("arm", "y").contrast("none", "full") for engine in ("exact", "mcmc")
    )
    assert sampled.mean == pytest.approx(exact.mean, abs=0.05 * exact.sd + 4 * sampled.uncertainty.mean_error)
    assert sampled.sd == pytest.approx(exact.sd, rel=0.05)


def test_curves_beside_the_arms_make_the_contrast_sharper():
    rng = np.random.default_rng(0)
    age, arm = rng.standard_normal(400), rng.choice(LEVELS, 400)
    dose = np.array([0.0, 0.5, 1.0])[[LEVELS.index(name) for name in arm]]
    table = {"age": age, "arm": arm, "y": dose + age**2 + 0.5 * rng.standard_normal(400)}
    graph = ad.CandidateGraph.from_tiers([["age"], ["arm"], ["y"]])
    straight, curved = (
        fitted(table, graph, terms=terms).effect("arm", "y").contrast("none", "full") for terms in (None, "auto")
    )
    assert curved.sd < 0.6 * straight.sd
    assert abs(curved.mean - 1.0) < 3 * curved.sd
