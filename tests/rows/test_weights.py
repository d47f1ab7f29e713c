"""Weights of rows: replicated rows, and samples in which some were more likely than others."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.rows import DO_GRAPH, experiment

import alldags as ad
from alldags.errors import DataError
from lines import fit

NAMES = ("z", "x", "m", "y")
GRAPH = ad.CandidateGraph.from_order(NAMES, 0.5)


@pytest.fixture
def table(rng):
    return {name: column + 1e3 for name, column in experiment(rng, 90).items() if name in NAMES}


@pytest.fixture
def counts(rng):
    return rng.integers(0, 6, 90)


def replicated(table, counts):
    return {name: np.repeat(column, counts) for name, column in table.items()}


@pytest.mark.parametrize("prior", [ad.Prior(), ad.Prior.paper(), ad.Prior(noise=ad.priors.EquivalentNoise())])
def test_frequency_weights_are_replicated_rows(table, counts, prior):
    table = table if prior.intercept else {name: column - 1e3 for name, column in table.items()}
    found = fit(table | {"w": counts}, GRAPH, prior=prior, weights="w", rng=0)
    expected = fit(replicated(table, counts), GRAPH, prior=prior, rng=0)
    assert found.rows == expected.rows == counts.sum()
    for one, two in zip(found.effects().values.ravel(), expected.effects().values.ravel(), strict=True):
        assert one == pytest.approx(two, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found._data.pooled.mean, expected._data.pooled.mean, rtol=1e-12)
    scale = np.abs(expected._data.pooled.scatter).max()
    np.testing.assert_allclose(found._data.pooled.scatter, expected._data.pooled.scatter, rtol=0, atol=1e-12 * scale)
    effects = [posterior.effect("x", "y") for posterior in (found, expected)]
    assert effects[0].sd == pytest.approx(effects[1].sd, rel=1e-9)
    assert effects[0].checks.least_squares.low == pytest.approx(effects[1].checks.least_squares.low, rel=1e-9)


def test_weights_of_one_change_nothing(table):
    plain = fit(table, GRAPH, rng=0).effect("x", "y")
    for kind in ("frequency", "sampling"):
        weighted = fit(table, GRAPH, weights=np.ones(90), weight_kind=kind, rng=0).effect("x", "y")
        assert weighted.mean == pytest.approx(plain.mean, rel=1e-9)
        assert weighted.sd == pytest.approx(plain.sd, rel=1e-9)


def test_sampling_weights_count_by_their_effective_number(table, rng):
    weights = rng.gamma(2.0, size=90)
    one, two = (fit(table, GRAPH, weights=w, weight_kind="sampling") for w in (weights, 1234.0 * weights))
    assert one.rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-12)
    assert one.effect("x", "y").mean == pytest.approx(two.effect("x", "y").mean, rel=1e-9)
    (note,) = one.notes
    assert f"90 rows count as {one.rows:.1f} equally weighted ones" in note
    design = np.column_stack([table["x"], table["z"], np.ones(90)])
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(root[:, None] * design, root * table["y"], rcond=None)[0][0]
    assert one.effect("x", "y").checks.least_squares.estimate == pytest.approx(expected, rel=1e-6)


def test_sampling_weights_mend_a_biased_sample(rng):
    old = rng.random(20_000) < 0.3
    x = rng.normal(size=20_000)
    y = np.where(old, 1.0, 0.3) * x + rng.normal(size=20_000)  # the slope depends on who is asked
    chance = np.where(old, 0.5, 0.1)
    kept = rng.random(20_000) < chance
    sample = {"x": x[kept], "y": y[kept], "w": 1.0 / chance[kept]}
    graph = ad.CandidateGraph.from_order(["x", "y"])
    assert fit(sample, graph).effect("x", "y").mean > 0.7
    assert fit(sample, graph, weights="w", weight_kind="sampling").effect("x", "y").mean == pytest.approx(0.5, abs=0.1)


def test_each_childs_rows_have_their_own_effective_number(rng):
    table = experiment(rng, 90)
    weights = rng.gamma(2.0, size=90)
    data = fit(table, DO_GRAPH, interventions="target", weights=weights, weight_kind="sampling")._data
    for child in ("x", "m", "y"):
        own = weights[table["target"] != child]
        assert data.of(child).rows == pytest.approx(own.sum() ** 2 / (own**2).sum(), rel=1e-12)
        alone = {name: table[name][table["target"] != child] for name in NAMES}
        expected = fit(alone, DO_GRAPH, weights=own, weight_kind="sampling")._data.pooled
        ratio = data.of(child).scatter * np.outer(data.scale, data.scale)
        scale = fit(alone, DO_GRAPH, weights=own, weight_kind="sampling")._data.scale
        np.testing.assert_allclose(ratio, expected.scatter * np.outer(scale, scale), rtol=1e-10, atol=1e-10)


def test_the_answer_says_how_many_rows_stand_for_how_many(table, counts):
    posterior = fit(table | {"w": counts}, GRAPH, weights="w")
    assert list(map(str, posterior.notes)) == [f"weights: 90 rows stand for {counts.sum()}"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "v"}, r"weights='v' is not a column of the data"),
        ({"weights": np.full(90, 0.5)}, r"must be whole numbers; .*weight_kind='sampling'; row 0 has 0.5"),
        ({"weights": -np.arange(90)}, "weights must not be negative; row 1 has -1"),
        ({"weights": np.full(90, np.nan), "weight_kind": "sampling"}, "weights must be finite numbers"),
        ({"weights": np.zeros(90)}, "the weights of all rows are zero"),
        ({"weights": [1.0]}, "weights needs one value for each of the 90 rows"),
        ({"weights": ["a"] * 90}, "weights must be numbers"),
        ({"weights": 3}, "weights must be the name of a column or have one value per row"),
        ({"weights": np.ones(90), "weight_kind": "inverse"}, r"weight_kind must be one of \('frequency', 'sampling'\)"),
        ({"weight_kind": "sampling"}, "weight_kind='sampling' needs weights="),
    ],
)
def test_mistakes_are_named(table, options, words):
    with pytest.raises(DataError, match=words):
        fit(table, GRAPH, **options)
