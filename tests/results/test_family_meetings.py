"""Yes/no children, counts and heavy tails with categories, weights and experiments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from alldags.families.base import Batch
from lines import fit
from naive.logistic import _one_set

ROWS = 240
FAMILIES = {"yes": "bernoulli", "count": "poisson", "cost": "student"}


def table(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, region = rng.standard_normal(ROWS), rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    push = np.array([0.0, 0.9, -0.9])[region]
    treat = (rng.random(ROWS) < 1 / (1 + np.exp(-0.6 * age - push))).astype(float)
    between = 0.7 * treat + 0.4 * age + rng.standard_normal(ROWS)
    eta = 0.6 * treat + 0.5 * between + 0.4 * age + push
    return {
        "age": age,
        "region": np.array(list("abc"))[region],
        "treat": treat,
        "between": between,
        "yes": (rng.random(ROWS) < 1 / (1 + np.exp(0.5 - eta))).astype(float),
        "count": rng.poisson(np.exp(0.4 * eta)).astype(float),
        "cost": eta + rng.standard_t(4, ROWS),
        "weight": rng.integers(1, 4, ROWS).astype(float),
        "set": np.where(rng.random(ROWS) < 0.3, "between", ""),
    }


def graph(outcome: str, *, category: bool = True) -> ad.CandidateGraph:
    causes = ["age", *(["region"] if category else [])]
    return ad.CandidateGraph.from_tiers([causes, ["treat"], ["between"], [outcome]], 0.5)


def fitted(outcome: str, data: dict[str, np.ndarray], *, category: bool = True, **options) -> ad.Effect:
    families = {outcome: FAMILIES[outcome]}
    return fit(data, graph(outcome, category=category), families=families, rng=0, **options).effect("treat", outcome)


@pytest.mark.parametrize("outcome", FAMILIES)
def test_rows_that_stand_for_two_are_rows_written_twice(outcome):
    data = table()
    twice = {name: np.repeat(column, 2) for name, column in data.items()}
    weighted, written = fitted(outcome, data, weights=np.full(ROWS, 2)), fitted(outcome, twice)
    assert weighted.mean == pytest.approx(written.mean, rel=1e-6)
    assert weighted.sd == pytest.approx(written.sd, rel=1e-6)
    assert weighted.interval() == pytest.approx(written.interval(), rel=1e-6)


@pytest.mark.parametrize("outcome", FAMILIES)
def test_equal_sampling_weights_change_nothing(outcome):
    data = table()
    weighted = fitted(outcome, data, weights=np.full(ROWS, 7.3), weight_kind="sampling")
    plain = fitted(outcome, data)
    assert weighted.mean == pytest.approx(plain.mean, rel=1e-6)
    assert weighted.sd == pytest.approx(plain.sd, rel=1e-6)


def test_uneven_weights_are_whole_rows():
    data = table()
    times = data["weight"].astype(int)
    written = {name: np.repeat(column, times) for name, column in data.items()}
    weighted = fitted("yes", data, weights="weight")
    assert weighted.mean == pytest.approx(fitted("yes", written).mean, abs=5 * weighted.uncertainty.mean_error + 1e-6)


@pytest.mark.parametrize("outcome", FAMILIES)
def test_a_row_whose_outcome_was_set_says_nothing_of_what_acts_on_it(outcome):
    data = table()
    was_set = np.arange(ROWS) < 60
    spoiled = {**data, outcome: np.where(was_set, 1.0 - data["yes"], data[outcome])}
    with_set = fitted(outcome, spoiled, interventions={outcome: was_set})
    kept = {name: column[~was_set] for name, column in data.items()}
    node, twin = (effect.workings.models.items[0].node(outcome) for effect in (with_set, fitted(outcome, kept)))
    np.testing.assert_allclose(node.inclusion, twin.inclusion, atol=0.08)  # units are those of all rows
    assert node.diagnostics.rows == twin.diagnostics.rows == ROWS - 60


def test_rows_in_which_something_in_between_was_set_are_not_averaged_over():
    effect = fitted("yes", table(), interventions="set")
    free = table()["set"] == ""
    assert effect.answer.target.count == free.sum()
    everywhere = {"between": np.ones(ROWS, dtype=bool), "treat": np.zeros(ROWS, dtype=bool)}
    with pytest.raises(ad.AlldagsError, match=r"nothing shows what acts on it|no row shows how it responds"):
        _ = fitted("yes", table(), interventions=everywhere).mean


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_a_category_in_a_regression_that_is_not_normal_is_what_enumeration_says(family):
    """Every set of causes, a category's columns in or out together, evidences by importance sampling."""
    data, outcome = table(3), "yes" if family == "bernoulli" else "count"
    small = ad.CandidateGraph.from_edges({(name, outcome): 0.5 for name in ("age", "region", "between")})
    prior = ad.Prior(slab_variance=0.8, link=0.0)
    posterior = fit(data, small, families={outcome: family}, prior=prior, rng=0)
    node = posterior.workings.models.items[0].node(outcome)
    rows = next(iter(posterior.workings.data.table.values()))
    columns = posterior.workings.models.items[0].columns(outcome)
    x = np.column_stack([(rows[name] - rows[name].mean()) / rows[name].std(ddof=1) for name in columns.names])
    owner = np.array([("age", "region", "between").index(column.variables[0]) for column in columns.made])
    rng, logs, sets = np.random.default_rng(0), [], []
    for present in itertools.product([False, True], repeat=3):
        chosen = np.array(present)[owner]
        logs.append(_one_set(family, x[:, chosen], rows[outcome], 0.8, 4000, rng, np.zeros(ROWS))[0])
        sets.append(present)
    weight = np.exp(np.array(logs) - max(logs))
    inclusion = weight @ np.array(sets) / weight.sum()
    assert node.parents == ("age", "region", "between")
    np.testing.assert_allclose(node.inclusion, inclusion, atol=0.02)


def test_a_sampled_regression_flips_the_levels_of_a_category_together(monkeypatch):
    from alldags.families import canonical

    data = table(1)
    weighted = fitted("yes", data).workings.models.items[0].node("yes")
    counted = fitted("count", data).workings.models.items[0].node("count")
    monkeypatch.setattr(canonical, "LEAST_EVENTS", 10**9)
    for outcome, plain in (("yes", weighted), ("count", counted)):
        sampled = fitted(outcome, data).workings.models.items[0].node(outcome)
        assert sampled.diagnostics.fallback
        np.testing.assert_allclose(sampled.inclusion, plain.inclusion, atol=0.04)
        present = sampled.columns.weighted.coefficients != 0.0
        levels = [i for i, name in enumerate(sampled.columns.parents) if name.startswith("region")]
        assert (present[:, levels].any(axis=1) == present[:, levels].all(axis=1)).all()


def test_weighted_sums_of_a_batch_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    x, y, times = rng.standard_normal((7, 2)), rng.standard_normal(7), np.array([1, 2, 0, 3, 1, 1, 2])
    weighted = Batch(x, y, weight=times.astype(float))
    written = Batch(np.repeat(x, times, axis=0), np.repeat(y, times))
    values = rng.standard_normal(7)
    np.testing.assert_allclose(weighted.products(values), written.products(np.repeat(values, times)))
    np.testing.assert_allclose(weighted.products(), written.products())
    np.testing.assert_allclose(weighted.sums(values), written.sums(np.repeat(values, times)))
    assert weighted.count == written.count == 10
