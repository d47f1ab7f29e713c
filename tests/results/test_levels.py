"""A category as the outcome, and between treatment and outcome."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.answers.joint import Joint
from alldags.answers.paired import row_regressions
from alldags.answers.pieces import answering, row_moves
from alldags.columns.base import RowValues
from alldags.families.base import Batch, Draws
from lines import fit
from naive.levels import log_probabilities

ROWS = 400
FAMILY = {"way": "categorical"}
WORDS = np.array(["bus", "car", "walk"])
PULL, BY_AGE, SCORES = np.array([0.0, 0.9, -0.7]), np.array([0.0, 0.5, 0.2]), np.array([0.0, 1.0, -1.0])


def table(seed=0):
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(ROWS)
    new = (rng.random(ROWS) < 1 / (1 + np.exp(-age))).astype(float)
    p = np.exp(log_probabilities(np.outer(new, PULL) + np.outer(age, BY_AGE)))
    code = (rng.random(ROWS)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    y = SCORES[code] + 0.3 * age + 0.5 * rng.standard_normal(ROWS)
    return {"age": age, "new": new, "way": WORDS[code], "y": y, "late": (y > 0.5) * 1.0}


def graph(*last, direct=True):
    found = ad.CandidateGraph.from_tiers([["age"], ["new"], ["way"], *([name] for name in last)], 0.5)
    return found if direct or not last else found.without_edge("new", last[0])


def contrasts_of(effect):
    return effect.posterior.workings.data.families["way"].contrasts


def posterior(*last, data=None, direct=True, **options):
    options = {"families": FAMILY, "rng": 0} | options
    return fit(data or table(), graph(*last, direct=direct), **options)


# -- as the outcome ----------------------------------------------------------------------------------------------------


def test_an_effect_is_the_mean_difference_of_probabilities_written_out():
    effect = posterior().effect("new", "way").contrast(0, 1)
    sample = effect.answer.samples["way"]
    data = table()
    columns = {name: (data[name] - data[name].mean()) / data[name].std(ddof=1) for name in ("age", "new")}
    moved = {at: (at - data["new"].mean()) / data["new"].std(ddof=1) for at in (0.0, 1.0)}
    expected = {word: np.empty(20) for word in WORDS}
    for draw in range(20):
        intercepts = np.array([sample.intercept[draw], *sample.beside[draw]])
        slopes = sample.coefficients[draw].reshape(2, 2)  # age and new, in the order of the graph
        chance = {}
        for at, value in moved.items():
            phi = intercepts + columns["age"][:, None] * slopes[0] + value * slopes[1]
            chance[at] = np.exp(log_probabilities(phi @ contrasts_of(effect).T)).mean(axis=0)
        for place, word in enumerate(WORDS):
            expected[word][draw] = chance[1.0][place] - chance[0.0][place]
    assert effect.posterior.workings.data.families["way"].level == "car"  # the most frequent
    np.testing.assert_allclose(effect.answer.outcomes.difference[:20], expected["car"], rtol=1e-9)


def test_all_levels_are_in_one_table_whose_differences_add_up_to_zero():
    found = posterior().effect("new", "way").probability.levels()
    assert found["level"] == WORDS.tolist()
    assert sum(found["difference"]) == pytest.approx(0.0, abs=1e-12)
    assert sum(found["before"]) == pytest.approx(1.0)
    assert sum(found["after"]) == pytest.approx(1.0)
    for word, difference, low, high in zip(
        found["level"], found["difference"], found["low"], found["high"], strict=True
    ):
        alone = posterior(families={"way": ad.Categorical(level=word)}).effect("new", "way")
        assert alone.mean == pytest.approx(difference, abs=1e-9)
        assert alone.interval() == pytest.approx((low, high), abs=0.01)


def test_other_names_of_levels_give_the_same_answer():
    data = table()
    other = np.array(["z", "b", "m"])  # another order of the alphabet
    renamed = data | {"way": other[np.searchsorted(WORDS, data["way"])]}
    one = posterior("y", families={"way": ad.Categorical(level="car")})
    two = posterior("y", data=renamed, families={"way": ad.Categorical(level="b")})
    for outcome in ("way", "y"):
        first, second = one.effect("new", outcome), two.effect("new", outcome)
        exact = 1e-6 if outcome == "way" else 0.02  # columns of levels as causes depend on their order
        assert second.mean == pytest.approx(first.mean, abs=exact * first.sd)
        assert second.sd == pytest.approx(first.sd, rel=2 * exact)


def test_codes_are_levels_once_they_are_said_to_be():
    data = table()
    coded = data | {"way": np.searchsorted(WORDS, data["way"]) + 7}
    found = posterior(data=coded, families={"way": "categorical:8"}).effect("new", "way")
    assert found.mean == pytest.approx(posterior().effect("new", "way").mean, abs=1e-6)
    assert "the probability that way is '8'" in str(found)


def test_it_is_printed_on_one_screen():
    text = str(posterior("y").effect("new", "way"))
    lines = text.splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Changing new from 0 to 1 raises the probability that way is 'car' by")


def test_levels_and_what_follows_from_them_are_as_in_the_table_without_a_path():
    data = table()
    found = posterior("y", data=data)
    apart = fit(data, graph().without_edge("new", "way").without_edge("age", "new"), families=FAMILY, rng=0)
    effect = apart.effect("new", "way")
    assert effect.mean == 0.0
    with pytest.raises(ad.AlldagsError, match="no level is more or less probable"):
        effect.probability.levels()
    still = found.do(outcome="way")
    assert still.mean.mean == pytest.approx((data["way"] == "car").mean(), abs=0.03)


def test_weights_are_rows_that_are_there_more_often():
    data = table()
    twice = {name: np.repeat(column, 2) for name, column in data.items()}
    weighted = posterior(data=data | {"w": np.full(ROWS, 2)}, weights="w").effect("new", "way")
    written = posterior(data=twice).effect("new", "way")
    assert weighted.mean == pytest.approx(written.mean, rel=1e-6)
    assert weighted.sd == pytest.approx(written.sd, rel=1e-6)


def test_a_cluster_of_copies_counts_once():
    data = {name: np.repeat(column, 3) for name, column in table().items()}
    effect = posterior(data=data | {"who": np.arange(3 * ROWS) // 3}, cluster="who").effect("new", "way")
    alone = posterior().effect("new", "way")
    assert effect.sd == pytest.approx(alone.sd, rel=0.12)
    assert effect.answer.sd < 0.7 * alone.sd


def test_how_far_rows_move_the_effect_is_its_covariance_with_their_log_likelihoods():
    effect = posterior(prior=ad.Prior(slab=None, slab_variance=1e3)).effect("new", "way")
    samples, rows = effect.answer.samples, effect.posterior.workings.data.table
    joint = Joint(effect.answer.outcomes.difference, row_regressions(effect.workings.totals.items[0].model, samples))
    (item,) = answering([joint]).values()
    psi = row_moves([item], rows).psi.mean(axis=0)
    sample, values = samples["way"], next(iter(rows.values()))
    batch = Batch(sample.columns.of(RowValues(values)), values["way"])
    draws = Draws(sample.intercept, sample.coefficients, np.ones(sample.size), sample.beside)
    like = sample.family.log_likelihood_by_row(batch, draws)
    exact = like @ (joint.effect - joint.effect.mean()) / sample.size
    assert np.corrcoef(psi, exact)[0, 1] > 0.99
    assert psi @ exact / (exact @ exact) == pytest.approx(1.02, abs=0.03)  # a little larger, by their leverage


# -- between treatment and outcome -------------------------------------------------------------------------------------


def through(effect, draws, outcome):
    """The effect by way of the levels, summed over them row by row, in some draws."""
    data, way = table(), effect.answer.samples["way"]
    last = effect.answer.samples[outcome]
    levels = effect.posterior.workings.data.levels["way"].values
    working = effect.posterior.workings.data
    found = np.empty(draws)
    for draw in range(draws):
        means = []
        for x in (0.0, 1.0):
            changed = {**data, "new": np.full(ROWS, x)}
            design = {name: (changed[name] - data[name].mean()) / working.column_scale(name) for name in ("age", "new")}
            slopes = way.coefficients[draw].reshape(2, 2)
            phi = np.array([way.intercept[draw], *way.beside[draw]])
            phi = phi + sum(design[name][:, None] * slopes[i] for i, name in enumerate(("age", "new")))
            chance = np.exp(log_probabilities(phi @ contrasts_of(effect).T))
            mean = np.zeros(ROWS)
            for level in range(3):
                eta = np.full(ROWS, last.intercept[draw])
                for place, name in enumerate(last.columns.names):
                    if name in design:
                        own = design[name]
                    else:
                        code = working.categories["way"].index(name)
                        own = (levels[level, code] - last.columns.center[place]) / last.columns.scale[place]
                    eta = eta + last.coefficients[draw, place] * own
                mean += chance[:, level] * (
                    1 / (1 + np.exp(-eta)) if outcome == "late" else eta * working.scale_of("y")
                )
            means.append(mean.mean())
        found[draw] = means[1] - means[0]
    return found


@pytest.mark.parametrize("outcome", ["y", "late"])
def test_an_effect_through_levels_is_their_sum_written_out(outcome):
    effect = posterior(outcome).effect("new", outcome).contrast(0, 1)
    np.testing.assert_allclose(effect.answer.outcomes.difference[:10], through(effect, 10, outcome), rtol=1e-8)
    assert (effect.levels[0].median < effect.levels[1].median) == (effect.mean > 0)


def test_an_effect_through_levels_is_near_the_truth():
    rng = np.random.default_rng(0)
    gaps = []
    for x in (0.0, 1.0):
        p = np.exp(log_probabilities(np.full((100_000, 1), x) * PULL + np.outer(rng.standard_normal(100_000), BY_AGE)))
        gaps.append(p.mean(axis=0))
    truth = float((gaps[1] - gaps[0]) @ SCORES)
    effect = posterior("y", direct=False).effect("new", "y")
    assert abs(effect.mean - truth) < 2.5 * effect.sd
    assert effect.sd < 0.12


def test_all_of_an_effect_runs_through_the_levels_where_no_other_way_is_possible():
    found = posterior("y", direct=False).effect("new", "y").mediation(["way"], products=False)
    whole = posterior("y", direct=False).effect("new", "y")
    assert found.indirect.mean == pytest.approx(whole.mean, abs=0.1 * whole.sd)
    assert found.direct.mean == pytest.approx(0.0, abs=1e-9)


def test_a_category_may_act_on_a_category():
    data, rng = table(), np.random.default_rng(5)
    area = rng.choice(["in", "out", "far"], ROWS)
    pull = np.where(area == "far", 1.2, np.where(area == "out", 0.3, 0.0))
    p = np.exp(log_probabilities(np.outer(data["new"], PULL) + np.outer(pull, PULL)))
    code = (rng.random(ROWS)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    data |= {"area": area, "way": WORDS[code]}
    found = fit(data, {"way": ["area", "new"]}, families=FAMILY, rng=0).effect("area", "way")
    contrast = found.contrast("in", "far")
    raw = [(data["way"][area == word] == "car").mean() for word in ("in", "far")]
    assert contrast.mean == pytest.approx(raw[1] - raw[0], abs=0.07)
    assert contrast.probability.levels()["level"] == WORDS.tolist()


def test_rows_of_another_table_need_covariates_only():
    found = posterior("y", direct=False)
    for outcome in ("way", "y"):
        same = found.effect("new", outcome, over={"age": table()["age"]})
        here = found.effect("new", outcome)
        assert same.mean == pytest.approx(here.mean, abs=0.15 * here.sd)
    chance = found.predict({"age": [-1.0, 1.0], "new": [0, 1]}, outcome="way")
    assert 0.0 < chance["mean"][0] < chance["mean"][1] < 1.0


def test_what_is_set_at_once_and_new_units_have_levels_on_their_way():
    found = posterior("y", direct=False)
    set_both = found.do({"new": 1, "age": 0.0}, outcome="y")
    p = np.exp(log_probabilities((PULL)[None]))[0]
    assert set_both.mean.mean == pytest.approx(p @ SCORES, abs=0.2)
    fixed = found.do({"way": "car"}, outcome="y")
    assert fixed.mean.mean == pytest.approx(1.0, abs=0.15)
    units = found.effect("new", "y").do(1).new_unit
    assert float(np.std(units.draws)) > 0.6
    one = found.effect("new", "way").do(1).new_unit
    assert one.probability == pytest.approx(found.effect("new", "way").do(1).mean.mean, abs=0.01)


def test_it_is_saved_with_its_levels(tmp_path):
    found = posterior("y")
    found.save(tmp_path / "study.npz")
    again = ad.load(tmp_path / "study.npz")
    for outcome in ("way", "y"):
        assert again.effect("new", outcome).mean == found.effect("new", outcome).mean
    assert again.effect("new", "way").probability.levels()["level"] == WORDS.tolist()


def test_a_report_and_the_edges_that_matter_are_shown(tmp_path):
    effect = posterior("y").effect("new", "y")
    effect.report(tmp_path / "x.html")
    found = effect.edge_influence()
    assert ("way", "y") in list(zip(found["cause"], found["effect"], strict=True))


@pytest.mark.parametrize("missing", ["way", "age"])
def test_levels_and_their_causes_are_imputed(missing):
    data, rng = table(), np.random.default_rng(6)
    holes = rng.random(ROWS) < 0.2
    gaps = np.where(holes, None, data["way"]) if missing == "way" else np.where(holes, np.nan, data["age"])
    for outcome in ("way", "y"):
        full = posterior("y").effect("new", outcome)
        found = posterior("y", data=data | {missing: gaps}, missing="impute", imputations=5).effect("new", outcome)
        assert abs(found.mean - full.mean) < 1.2 * full.sd
        assert 0.85 * full.sd < found.sd < 1.8 * full.sd
    values = found.posterior.workings.data.table.column("way")
    assert set(values.tolist()) == {0.0, 1.0, 2.0}


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (ad.Categorical(level="train"), "Categorical level of 'way' must be one of 'bus', 'car', 'walk', got 'train'"),
        ("ordered", "'way' is a category with 3 levels, which 'ordered' is not for: use families={'way': 'categ"),
        ("bernoulli", "'way' is a category with 3 levels, which 'bernoulli' is not for"),
    ],
)
def test_families_that_do_not_suit_a_category_are_refused(family, said):
    with pytest.raises(ad.AlldagsError, match=said):
        posterior(families={"way": family})


def test_two_levels_and_too_many_are_refused():
    data = table()
    with pytest.raises(ad.AlldagsError, match=r"'late' is to be one of several levels .* but has two"):
        fit(data, {"late": ["age"]}, families={"late": "categorical"})
    many = data | {"way": np.array(list("abcdefghijklm"))[np.arange(ROWS) % 13]}
    with pytest.raises(ad.AlldagsError, match="but has 13; at most 12 have probabilities of their own"):
        posterior(data=many)


def test_a_level_that_no_complete_row_has_is_named():
    data = table()
    gaps = data | {"age": np.where(data["way"] == "walk", np.nan, data["age"])}
    with pytest.raises(ad.AlldagsError, match=r"no complete row of 'way' \(categorical\) has the level 'walk'"):
        posterior(data=gaps, missing="drop")


def test_questions_that_levels_do_not_answer_are_refused_by_name():
    found = posterior("y")
    for outcome in ("way", "y"):
        with pytest.raises(ad.AlldagsError, match="shares of variance, which levels do not have"):
            found.effect("new", outcome).sensitivity()
        with pytest.raises(ad.AlldagsError, match="no order of levels says that"):
            found.effect("new", outcome).counterfactual([0, 1])
    effect = found.effect("new", "way")
    with pytest.raises(ad.AlldagsError, match="several log odds"):
        effect.on("log odds")
    with pytest.raises(ad.AlldagsError, match="several log odds"):
        effect.paths()
    with pytest.raises(ad.AlldagsError, match="no straight line goes through 'way', which has levels"):
        _ = effect.checks.straight_line
    assert effect.checks.least_squares is None
    with pytest.raises(ad.AlldagsError, match="'y' has no levels with probabilities of their own"):
        found.effect("new", "y").probability.levels()


def test_a_category_that_something_may_act_on_has_probabilities_of_its_levels_by_itself():
    said, plain = posterior("y"), fit(table(), graph("y"), rng=0)
    for outcome in ("way", "y"):
        assert plain.effect("new", outcome).mean == said.effect("new", outcome).mean
    front = ad.effect(table(), treatment="new", outcome="y", confounders=["age"], mediators=["way"], terms=None, rng=0)
    assert [item.family for item in front.summary().not_normal] == ["categorical"]
    assert "way is a category (400 rows): it is averaged over on the way." in front.details().text


@pytest.mark.parametrize("options", [{"families": "normal"}, {"prior": ad.Prior.paper()}, {"engine": "vb"}])
def test_where_that_was_not_asked_for_or_cannot_be_it_is_refused_with_the_word(options):
    data = table()
    data["new"] += 1.0  # no yes/no variable, which the paper's prior refuses
    if options == {"engine": "vb"}:
        with pytest.raises(ad.AlldagsError, match="levels enter and leave together"):
            fit(data, graph("y"), rng=0, **options)
        return
    plain = fit(data, graph("y"), rng=0, **options)
    for outcome in ("way", "y"):
        with pytest.raises(ad.AlldagsError, match=r"families=\{'way': 'categorical'\}"):
            plain.effect("new", outcome)


def test_a_level_that_only_incomplete_rows_have_leaves_a_category_as_it_was():
    data = table()
    gaps = data | {"age": np.where(data["way"] == "walk", np.nan, data["age"])}
    plain = fit(gaps, graph("y"), missing="drop", rng=0)
    with pytest.raises(ad.AlldagsError, match=r"families=\{'way': 'categorical'\}"):
        plain.effect("new", "way")


def test_graphs_may_disagree_about_the_causes_of_levels():
    both = [graph("y"), graph("y").without_edge("age", "way")]
    found = fit(table(), both, families=FAMILY, rng=0)
    first, second = found.graph_probabilities
    assert first + second == pytest.approx(1.0)
    assert np.isfinite(found.effect("new", "way").sd)
    with pytest.raises(ad.AlldagsError, match="disagree about what may act on 'way'"):
        fit(table(), both, families="normal", rng=0)


def test_a_category_may_act_through_another():
    rng = np.random.default_rng(0)
    kind, way = rng.choice(list("abcd"), 200), rng.choice(list("pqrs"), 200)
    way[kind == "a"] = rng.choice(list("pp"), (kind == "a").sum())
    y = (way == "p") + rng.standard_normal(200)
    graph_of_three = ad.CandidateGraph.from_order(["kind", "way", "y"], 0.5)
    effect = ad.fit({"kind": kind, "way": way, "y": y}, graph_of_three, terms=None, rng=0).effect("kind", "y")
    assert "kind" in str(effect)
    first = effect.contrast("b", "a")
    assert first.mean > 0.0
    with pytest.raises(ad.AlldagsError, match=r"levels of 'way'.* Prior\(link=0\.0\)"):
        _ = first.checks.confounder_link
