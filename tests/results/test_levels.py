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
from alldags.families.categorical import contrasts
from lines import fit
from naive.levels import log_probabilities

ROWS = 400
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


def posterior(*last, data=None, direct=True, **options):
    options = {"families": {"way": "categorical"}, "rng": 0} | options
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
            chance[at] = np.exp(log_probabilities(phi @ contrasts(3).T)).mean(axis=0)
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
    for word, difference, low, high in zip(found["level"], found["difference"], found["low"], found["high"], strict=True):
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
        assert second.mean == pytest.approx(first.mean, abs=0.02 * first.sd)
        assert second.sd == pytest.approx(first.sd, rel=0.04)
        assert second.probability_no_effect == pytest.approx(first.probability_no_effect, abs=0.01)


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


FAMILY = {"way": "categorical"}


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
