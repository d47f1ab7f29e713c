"""Effects after some steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from alldags.answers.after import AfterSteps
from alldags.effects.steps.recursion import linear_part, long_run, radius, responses
from alldags.steps import at
from naive.over_time import none_by_summing, response_by_unrolling


def coefficients(seed: int, lags: int = 2, m: int = 4, inside: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.normal(0, 0.25, (lags + 1, m, m)) * (rng.random((lags + 1, m, m)) < 0.6)
    found[0] = np.triu(found[0], 1) * inside
    return found


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_recursion_is_the_unrolled_system(seed, lasting):
    matrices = coefficients(seed)
    found = responses(np.stack([matrices, 2 * matrices]), 1, 5, lasting=lasting)
    for draw, scale in enumerate((1.0, 2.0)):
        want = response_by_unrolling(scale * matrices, 1, 5, lasting)
        np.testing.assert_allclose(found[draw], want, atol=1e-12)


@pytest.mark.parametrize("lasting", [False, True])
def test_the_linear_part_is_the_derivative(lasting):
    matrices, step = coefficients(3), 1e-6
    found = linear_part(matrices, 0, 3, 4, lasting=lasting)
    for lag, i, j in itertools.product(range(3), range(4), range(4)):
        if lag == 0 and j <= i:
            continue  # there is no such edge inside a step
        up, down = matrices.copy(), matrices.copy()
        up[lag, i, j] += step
        down[lag, i, j] -= step
        ends = [responses(one[None], 0, 4, lasting=lasting)[0, 4, 3] for one in (up, down)]
        assert found[lag, i, j] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


def test_the_long_run_is_where_a_lasting_change_goes():
    matrices = coefficients(1)[None]
    assert radius(matrices, 0)[0] < 1
    far = responses(matrices, 0, 400, lasting=True)[0, -1]
    assert long_run(matrices, 0, 3)[0] == pytest.approx(far[3], abs=1e-10)


def test_growth_is_that_of_the_companion_matrix():
    own = np.zeros((1, 3, 1, 1))
    own[0, 1], own[0, 2] = 0.5, 0.3
    roots = np.abs(np.roots([1.0, -0.5, -0.3])).max()
    assert radius(own)[0] == pytest.approx(roots, rel=1e-12)


# -- over all graphs ---------------------------------------------------------------------------------------------------


def table(rows: int = 90, m: int = 3, seed: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = np.diag([0.4, 0.3, 0.2][:m])
    matrix[0, 1], matrix[1, 2] = 0.25, 0.2
    found = np.zeros((rows, m))
    for t in range(1, rows):
        found[t] = found[t - 1] @ matrix + rng.normal(size=m)
    return {"t": np.arange(rows), **dict(zip("abc", found.T, strict=True))}


def fitted(**options) -> ad.Posterior:
    graph = ad.CandidateGraph.over_time(list("abc"), own=0.7, probability=0.4, **options)
    return ad.fit(table(), graph, time="t", prior=ad.Prior(link=0.0), robust=False, rng=0)


def sets_of(posterior: ad.Posterior) -> list[list[tuple[frozenset[tuple[int, int]], float]]]:
    model = posterior.workings.models.items[0]
    found = []
    for name in "abc":
        listed = model.node(name).top_parent_sets(10_000)
        found.append([(frozenset(("abc".index(at(p).name), at(p).lag) for p in one.parents), one.probability)
                      for one in listed])  # fmt: skip
    return found


@pytest.mark.parametrize("options", [{"lags": 1}, {"lags": 1, "order": list("abc")}], ids=["past", "inside"])
def test_the_probability_of_nothing_by_a_step_is_the_sum_over_all_graphs(options):
    posterior = fitted(**options)
    response, sets = posterior.effect("a", "c", after=3), sets_of(posterior)
    for step in (0, 1, 2):
        want = none_by_summing(sets, 0, 2, step)
        assert response.none_by[step] == pytest.approx(want, abs=1e-9)
    never = none_by_summing(sets, 0, 2, 4)  # three variables: no first arrival is later
    assert response.probability_never == pytest.approx(never, abs=1e-9)
    assert not response.none_by_error.any()


def test_the_same_by_draws_is_within_its_error():
    answer = fitted(lags=2).effect("a", "c", after=3).workings
    for step in range(1, 4):
        exact, drawn = answer.none_by[step], answer._none_by_draws(step)
        assert exact.error == 0.0
        assert abs(exact.value - drawn.value) < 4 * drawn.error + 1e-9


def test_the_prior_probability_of_never_is_the_sum_over_all_graphs():
    found = fitted(lags=1).effect("a", "c", after=1).prior_never
    sets = [[(frozenset((i, 1) for i, there in enumerate(which) if there),
              float(np.prod([(0.7 if i == j else 0.4) if there else 1 - (0.7 if i == j else 0.4)
                             for i, there in enumerate(which)])))
             for which in itertools.product([False, True], repeat=3)] for j in range(3)]  # fmt: skip
    assert found == pytest.approx(none_by_summing(sets, 0, 2, 4), abs=1e-12)


def test_two_steps_without_edges_inside_a_step_have_a_mean_in_closed_form():
    posterior = fitted(lags=1)
    model = posterior.workings.models.items[0]
    names = [f"{name}[-1]" for name in "abc"]
    unit = np.array([[model.data.unit(cause, effect) for effect in "abc"] for cause in names])
    order = {child: [model.node(child).parents.index(cause) for cause in names] for child in "abc"}
    mean = np.array([model.node(child).mean[order[child]] for child in "abc"]).T * unit
    second = model.node("c").second_moment[np.ix_(order["c"], order["c"])] * np.outer(unit[:, 2], unit[:, 2])
    want = mean[0, 0] * mean[0, 2] + mean[0, 1] * mean[1, 2] + second[0, 2]
    response = posterior.effect("a", "c", after=2)
    assert response.mean[1] == pytest.approx(mean[0, 2], abs=1e-12)
    assert abs(response.mean[2] - want) < 4 * response.mean_error[2] + 1e-12


def test_taking_out_what_is_linear_makes_means_far_more_exact():
    answer = fitted(lags=2, order=list("abc")).effect("a", "c", after=4).workings
    plain = answer.plain.std(axis=1) / np.sqrt(answer.size)
    assert (answer.means[1] < 0.6 * plain + 1e-15).all()
    assert (np.abs(answer.means[0] - answer.plain.mean(axis=1)) < 4.5 * plain + 1e-15).all()


def test_draws_of_the_same_step_are_those_of_the_effect():
    posterior = fitted(lags=1, order=list("abc"))
    effect = posterior.effect("a", "c")
    answer = AfterSteps(posterior, "a", "c", 1, size=effect.answer.size)
    np.testing.assert_allclose(answer.plain[0], effect.answer.values, atol=1e-12)


def test_open_directions_inside_a_step_are_averaged_over():
    posterior = fitted(lags=1, within=0.5)
    response = posterior.effect("a", "c", after=2)
    exact = posterior.effect("a", "c")
    assert response.mean[0] == exact.mean
    assert abs(response.workings.means[0][0] - exact.mean) < 4 * response.workings.means[1][0] + 1e-9
    drawn = response.workings.none_by[0]
    assert response.none_by[0] == exact.probability_no_effect
    assert abs(drawn.value - exact.probability_no_effect) < 4 * drawn.error
    assert response.none_by_error[1] > 0


def test_several_graphs_are_averaged():
    one = ad.CandidateGraph.over_time(list("abc"), lags=1)
    two = one.without_edge("a[-1]", "c").without_edge("a[-1]", "b")
    posterior = ad.fit(table(), [one, two], time="t", robust=False, rng=0)
    response = posterior.effect("a", "c", after=3)
    share = posterior.graph_probabilities[1]
    assert response.none_by[1] >= share
    alone = ad.fit(table(), one, time="t", robust=False, rng=0).effect("a", "c", after=3)
    assert response.mean[1] == pytest.approx((1 - share) * alone.mean[1], abs=5e-3)


def test_certain_edges_under_a_wide_slab_are_the_impulse_responses_of_statsmodels():
    import importlib.util
    import json
    from pathlib import Path

    golden = Path(__file__).parents[1] / "golden"
    spec = importlib.util.spec_from_file_location("panels", golden / "panels.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    want = np.array(json.loads((golden / "panels.json").read_text())["impulse"])  # step, effect, cause
    names = ["a", "b", "c"]
    graph = ad.CandidateGraph.over_time(names, lags=1, probability=1.0, own=1.0)
    rows = {"t": np.arange(150), **dict(zip(names, script.series().T, strict=True))}
    posterior = ad.fit(rows, graph, time="t", prior=ad.Prior(slab_variance=1e12, link=0.0), robust=False, rng=0)
    model = posterior.workings.models.items[0]
    answer = posterior.effect("a", "c", after=6).workings
    way = answer._way(model)
    from alldags.answers.after import _mean_edges

    mean = way.matrices(_mean_edges(model, way), 1, model.data)
    found = responses(mean, 0, 6)[0]
    for name in names:
        np.testing.assert_allclose(found[:, way.place[name]], want[:, names.index(name), 0], atol=1e-8)


# -- in words ----------------------------------------------------------------------------------------------------------


def test_the_answer_fits_on_a_screen_and_says_what_matters():
    text = str(fitted(lags=2, order=list("abc")).effect("a", "c", after=12))
    assert len(text.splitlines()) <= 14
    assert max(map(len, text.splitlines())) <= 80
    assert "Raising a by one unit in one step changes c by" in text
    assert "That it never does anything has probability" in text
    lasting = fitted(lags=1).effect("a", "c", after=2, lasting=True)
    assert "from one step on" in str(lasting)
    assert "lasting" in repr(lasting)


def test_a_response_has_a_table_and_single_steps():
    response = fitted(lags=1).effect("a", "c", after=3)
    found = response.table()
    assert list(found.columns) == ["step", "mean", "sd", "low", "high", "none_by"]
    low, high = response.at(2).interval()
    assert (found["low"][2], found["high"][2]) == (low, high)
    assert response.at(2).mean == response.mean[2]
    assert isinstance(response.at(0), ad.Effect)
    assert 0 <= response.at(2).probability_no_effect <= 1
    assert response.to_dict()["steps"][3]["mean"] == response.mean[3]


@pytest.mark.parametrize("link", [0.0, None], ids=["unlinked", "linked"])
def test_all_that_is_said_of_the_same_step_is_the_effect_in_it(link):
    graph = ad.CandidateGraph.over_time(list("abc"), lags=1, order=list("abc"))
    prior = ad.Prior() if link is None else ad.Prior(link=link)
    response = ad.fit(table(), graph, time="t", prior=prior, rng=0).effect("a", "c", after=2)
    now, row = response.at(0), next(iter(response.table().rows()))
    want = {"step": 0, "mean": now.mean, "sd": now.sd, "none_by": now.probability_no_effect}
    assert row == {**want, **dict(zip(("low", "high"), now.interval(), strict=True))}
    assert response.none_by_error[0] == now.probability.no_effect_error
    assert response.mean_error[0] == now.uncertainty.mean_error
    draws = response.draws()
    assert sorted(draws[0]) == sorted(now.draws(draws.shape[1]))
    rank = response.workings.draws[0].argsort(kind="stable")
    assert (np.diff(draws[0][rank]) >= 0).all()
    assert (draws[1:] == response.workings.draws[1:]).all()
    linked = abs(response.workings.none_by[0].value - now.probability_no_effect)
    assert linked < 1e-9 if link == 0.0 else linked > 1e-3


def test_a_walk_that_may_not_settle_has_no_long_run():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 60)).cumsum(axis=1)
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0)
    response = ad.fit({"t": np.arange(60), "x": x, "y": y}, graph, time="t", rng=0).effect("x", "y", after=2)
    if response.long_run is None:
        assert "never settles" in response.long_run_reason
    else:
        assert response.long_run.probability_explosive <= 0.05
    assert any("drifts" in note for note in response.notes)


def test_the_long_run_is_a_median_and_has_no_mean():
    found = fitted(lags=1).effect("a", "b", after=2).long_run
    low, high = found.interval()
    assert low <= found.median <= high
    assert not hasattr(found, "mean")


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda p: p.effect("a", "c", after=-1), "after must be"),
        (lambda p: p.effect("a", "c", lasting=True), "say how many with after="),
        (lambda p: p.effect("a[-1]", "c", after=2), "is in the past; ask for 'a'"),
        (lambda p: p.effect("a[-1]", "c"), "is in the past; ask for 'a', and after= for later steps"),
        (lambda p: p.do({"a[-1]": 1.0, "b": 1.0}, outcome="c"), "'a\\[-1\\]' is in the past"),
        (lambda p: p.decide({"a[-1]": [0.0, 1.0]}, "c"), "'a\\[-1\\]' is in the past"),
        (lambda p: p.do({"a": 1.0}, outcome="c", after=3), "after= and what is set by posterior.do do not go together"),
        (lambda p: p.decide({"a": [0.0, 1.0]}, "c", after=3), "after= and decisions do not go together"),
        (
            lambda p: p.do(ad.rule("a", lambda rows: rows["b[-1]"]), outcome="c"),
            "a rule that reads 'b\\[-1\\]' and time= do not go together: a rule is followed in one step",
        ),
        (
            lambda p: p.do(ad.rule("a", np.ones(89)), outcome="c"),
            "values that are given row by row and time= do not go together: rows are put in order",
        ),
        (lambda p: p.do({"a": 1.0}, outcome="c", over=np.arange(89) > 5), "given row by row and time="),
        (lambda p: p.effect("a", "c", over=np.arange(89) > 5), "given row by row and time="),
        (lambda p: p.effect("a", "c", "treated", after=2), "the same for all rows"),
    ],
)
def test_questions_that_have_no_answer_are_refused(ask, text):
    with pytest.raises(ad.AlldagsError, match=text):
        ask(fitted(lags=1))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("do", "what is set by posterior.do do not go together: rows would have to be pushed on step by step"),
        ("decide", "after= and decisions do not go together"),
        ("mediation", "after= and mediation do not go together"),
        ("counterfactual", "after= and outcomes that single rows would have had do not go together"),
        ("sensitivity", r"a hidden cause would act in every step.*response.at\(0\).sensitivity\(\)"),
    ],
)
def test_what_only_the_same_step_has_is_refused_of_later_ones_by_name(name, text):
    response = fitted(lags=1, order=list("abc")).effect("a", "c", after=2)
    for later in (response, response.at(1)):
        with pytest.raises(ad.AlldagsError, match=text):
            getattr(later, name)
        with pytest.raises(AttributeError, match="no attribute 'colour'"):
            later.colour  # noqa: B018
    assert response.at(0).sensitivity().summary() is not None


def test_a_later_step_answers_what_draws_say_and_refuses_all_else_of_an_effect_by_name():
    response = fitted(lags=1, order=list("abc")).effect("a", "c", after=2)
    step, now = response.at(2), response.at(0)
    chance = step.probability
    assert chance.positive + chance.negative + step.probability_no_effect == pytest.approx(1.0)
    assert chance.positive == pytest.approx(np.mean(step.draws > 0), abs=1e-9)
    assert chance.above(step.median) == pytest.approx(0.5, abs=1e-3)
    twice = step.contrast(1.0, -1.0)
    assert (twice.mean, twice.sd, twice.mean_error) == (-2 * step.mean, 2 * step.sd, 2 * step.mean_error)
    assert twice.interval() == pytest.approx(tuple(-2 * end for end in step.interval()[::-1]), abs=2e-3)
    known = {name for name in dir(now) if not name.startswith("_")}
    refused = {name for name in known if not hasattr(step, name)}
    assert refused >= {"paths", "curve", "checks", "report", "uncertainty", "over", "direct", "survival"}
    assert known - refused == {"contrast", "draws", "interval", "mean", "median", "notes", "outcome", "probability",
                               "probability_no_effect", "sd", "treatment"}  # fmt: skip
    for later in (step, response):
        with pytest.raises(ad.AlldagsError, match=r"'paths' is of effects in the same step, response.at\(0\)"):
            later.paths()


def test_heavy_tails_are_carried_on_over_steps():
    rng, found = np.random.default_rng(5), []
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    for _ in range(6):
        x, y = np.zeros((2, 250))
        for t in range(1, 250):
            x[t] = 0.5 * x[t - 1] + rng.normal()
            y[t] = 0.4 * y[t - 1] + 0.5 * x[t - 1] + rng.standard_t(2)
        told = {"t": np.arange(250), "x": x, "y": y}
        kinds = {"normal": "normal", "student": {"y": "student"}}
        both = {kind: ad.fit(told, graph, time="t", families=families, rng=0) for kind, families in kinds.items()}
        found.append([both[kind].effect("x", "y", after=2).mean[1:] - [0.5, 0.45] for kind in both])
        posterior, response = both["student"], both["student"].effect("x", "y", after=3)
        node, unit = posterior.workings.models.items[0].node("y"), posterior.workings.data.unit("x[-1]", "y")
        place = node.parents.index("x[-1]")
        assert response.mean[1] == pytest.approx(unit * node.mean[place], abs=5 * response.mean_error[1] + 1e-9)
        assert response.none_by[1] == pytest.approx(1.0 - node.inclusion[place], abs=0.02)
        assert (response.draws()[1] != 0.0).mean() == pytest.approx(1.0 - response.none_by[1], abs=0.03)
    plain, heavy = np.abs(np.array(found)).mean(axis=(0, 2))
    assert heavy < 0.7 * plain


@pytest.mark.parametrize(
    "options", [{"cluster": "u"}, {"weights": "w", "weight_kind": "sampling"}], ids=["clusters", "weights"]
)
def test_clusters_by_unit_and_weights_are_those_of_a_table_of_lagged_columns(options):
    rng = np.random.default_rng(3)
    units, rows = 12, 25
    x = rng.normal(size=(units, rows))
    y = np.zeros((units, rows))
    for t in range(1, rows):
        y[:, t] = 0.4 * y[:, t - 1] + 0.5 * x[:, t] + rng.normal(size=units) + rng.normal(size=units) * (x[:, t] > 1)
    told = {"t": np.tile(np.arange(rows), units), "u": np.repeat(np.arange(units), rows), "x": x.ravel(),
            "y": y.ravel(), "w": rng.uniform(0.5, 2.0, units * rows)}  # fmt: skip
    later = told["t"] > 0
    wide = {**{name: told[name][later] for name in told},
            **{f"{name}[-1]": np.roll(told[name], 1)[later] for name in "xy"}}  # fmt: skip
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, order=["x", "y"])
    found = ad.fit(told, graph, time="t", unit="u", rng=0, **options).effect("x", "y")
    want = ad.fit(wide, graph, rng=0, terms=None, **options).effect("x", "y")
    assert found.mean == pytest.approx(want.mean, rel=1e-12)
    assert found.sd == pytest.approx(want.sd, rel=1e-9)
    assert found.interval() == pytest.approx(want.interval(), rel=1e-9)


def test_what_acts_on_an_outcome_in_the_same_step_is_listed_without_the_past():
    assert fitted(lags=1, order=list("abc")).effects_on("c")["treatment"] == ["a", "b"]


def test_yes_no_children_have_effects_in_the_same_step_only():
    rows = table()
    rows["c"] = (rows["c"] > 0).astype(float)
    graph = ad.CandidateGraph.over_time(list("abc"), lags=1, order=list("abc"))
    posterior = ad.fit(rows, graph, time="t", rng=0)
    assert posterior.effect("a", "c").measure == "risk"
    with pytest.raises(ad.AlldagsError, match="pushed on step by step"):
        posterior.effect("a", "c", after=2)


def test_engines_without_edges_have_no_later_steps():
    graph = ad.CandidateGraph.over_time(list("abc"), lags=1)
    posterior = ad.fit(table(), graph, time="t", engine="vb", prior=ad.Prior(coefficients=ad.priors.NEG()), rng=0)
    with pytest.raises(ad.AlldagsError, match="edges that are present or absent"):
        posterior.effect("a", "c", after=1)


def test_clusters_widen_later_steps_too():
    rng = np.random.default_rng(2)
    units, rows = 15, 40
    x, y = np.zeros((units, rows)), np.zeros((units, rows))
    for t in range(1, rows):
        shock = rng.normal(size=(2, units // 3, 1)).repeat(3, axis=2).reshape(2, units)
        x[:, t] = 0.4 * x[:, t - 1] + shock[0] + 0.2 * rng.normal(size=units)
        y[:, t] = 0.3 * x[:, t - 1] + shock[1] + 0.2 * rng.normal(size=units)
    told = {"t": np.tile(np.arange(rows), units), "u": np.repeat(np.arange(units), rows),
            "group": np.repeat(np.arange(units) // 3, rows), "x": x.ravel(), "y": y.ravel()}  # fmt: skip
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0)
    plain = ad.fit(told, graph, time="t", unit="u", robust=False, rng=0).effect("x", "y", after=2)
    wide = ad.fit(told, graph, time="t", unit="u", cluster="group", rng=0).effect("x", "y", after=2)
    assert wide.sd[1] > 1.2 * plain.sd[1]
    assert wide.sd[2] > 1.2 * plain.sd[2]
    assert wide.mean[1] == pytest.approx(plain.mean[1], rel=1e-9)
