"""Boosted trees, against a slow twin; and as columns of a regression."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.columns.base import RowValues
from alldags.columns.learned import Forest
from alldags.engines.curves.boost import all_edges, bin_edges, grown_column
from alldags.kernels.trees import BINS, add_trees, grow
from naive.trees import boosted


def grown(bins, target, start, is_odds, rounds, depth, least=3, ridge=1.0, rate=0.3):
    feature = np.full((rounds, 2**depth - 1), -1)
    cut, value, gained = np.zeros_like(feature), np.zeros((rounds, 2**depth)), np.zeros(len(bins))
    grow(bins, target, start, is_odds, least, ridge, rate, feature, cut, value, gained)
    return feature, cut, value, gained


@pytest.mark.kernels
@pytest.mark.parametrize("is_odds", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_those_of_trying_every_cut(seed, is_odds):
    rng = np.random.default_rng(seed)
    bins = np.array([rng.integers(0, 6, 60), rng.integers(0, BINS, 60), rng.integers(0, 2, 60)])
    score = np.sin(bins[0]) + 0.1 * bins[1] * bins[2]
    target = (rng.logistic(size=60) < score).astype(float) if is_odds else score + 0.1 * rng.standard_normal(60)
    start = 0.1 * rng.standard_normal(60)
    feature, cut, value, gained = grown(bins, target, start, is_odds, rounds=4, depth=2)
    out = start.copy()
    add_trees(bins, feature, cut, value, out)
    np.testing.assert_allclose(out, boosted(bins, target, start, is_odds, 4, 2, 3, 1.0, 0.3, BINS), atol=1e-10)
    assert (gained[np.unique(feature[feature >= 0])] > 0).all()


def test_bins_are_between_values_where_these_are_few_and_quantiles_else():
    few = bin_edges(np.array([3.0, 1.0, 1.0, 2.0]))
    assert few[:2].tolist() == [1.5, 2.5]
    assert np.isinf(few[2:]).all()
    many = bin_edges(np.random.default_rng(0).standard_normal(1000))
    counts = np.bincount(np.searchsorted(many, np.random.default_rng(0).standard_normal(1000)))
    assert len(counts) == BINS
    assert counts.min() > 20


def column(rng, step, drives=False):
    x = rng.standard_normal((900, 3))
    target = x[:, 0] + step * (x[:, 1] > 0.3) * (x[:, 0] > 0) + 0.5 * rng.standard_normal(900)
    if drives:
        target = (rng.logistic(size=900) < target).astype(float)
    fold, names = rng.integers(0, 5, 900), ("a", "b", "c")
    stands = {name: name for name in names}
    found = grown_column("trees", names, x, target, np.ones(900, bool), fold, all_edges(x), stands, drives)
    return x, target, fold, next(iter(found), None)


def test_a_column_of_trees_predicts_what_lines_leave_of_rows_it_has_not_seen():
    x, target, fold, found = column(np.random.default_rng(1), step=3.0)
    values = found.values(RowValues(dict(zip("abc", x.T, strict=True)), fold))
    design = np.column_stack([np.ones(900), x])
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    assert np.corrcoef(values, left)[0, 1] > 0.8
    assert set(found.variables) == {"a", "b"}


@pytest.mark.parametrize("drives", [False, True])
def test_where_lines_are_right_there_are_mostly_no_trees(drives):
    found = [column(np.random.default_rng(seed), 0.0, drives)[3] is None for seed in range(12)]
    assert sum(found) >= 8
    assert column(np.random.default_rng(0), 3.0, drives)[3] is not None


def test_few_different_rows_do_not_make_a_treatment_by_lot_look_driven():
    """What is predicted from other parts is low where a part happens to be high."""
    made = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        cells = rng.integers(0, 4, (400, 2)).astype(float)
        lot, fold = rng.integers(0, 2, 400).astype(float), rng.integers(0, 5, 400)
        everyone, stands = np.ones(400, bool), {"a": "a", "b": "b"}
        made += grown_column("trees", ("a", "b"), cells, lot, everyone, fold, all_edges(cells), stands, drives=True)
    assert len(made) <= 3


def test_new_rows_get_the_mean_over_parts():
    x, _, fold, found = column(np.random.default_rng(3), step=3.0)
    rows = dict(zip("abc", x.T, strict=True))
    parts = [found.values(RowValues(rows, np.full(900, part))) for part in range(5)]
    np.testing.assert_allclose(found.values(RowValues(rows)), np.mean(parts, axis=0), atol=1e-12)
    own = found.values(RowValues(rows, fold))
    assert own[7] == parts[fold[7]][7]


def test_what_several_columns_share_is_kept_as_long_as_nothing_of_it_is_set():
    x, _, fold, found = column(np.random.default_rng(4), step=3.0)
    rows = RowValues({**dict(zip("abc", x.T, strict=True)), "t": np.zeros(900)}, fold)
    first = found.values(rows)
    assert found.values(rows.put({"t": np.ones(900)})) is first
    moved = found.values(rows.put({"b": x[:, 1] + 1.0}))
    assert not np.array_equal(moved, first)
    fresh = RowValues({**dict(zip("abc", x.T, strict=True)), "b": x[:, 1] + 1.0}, fold)
    np.testing.assert_array_equal(moved, found.values(fresh))


def test_trees_see_a_confounder_that_no_bend_or_product_sees():
    """Steps in two causes at once drive treatment and outcome: with trees the interval holds, without it does not."""
    held, error = {}, {}
    for trees in (True, False):
        errors, inside = [], []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            w = rng.standard_normal((800, 4))
            s = ((w[:, 0] > 0.3) ^ (w[:, 1] > 0)) * 1.0
            t = (rng.logistic(size=800) < 2.5 * s - 1.2).astype(float)
            y = 0.5 * t + 2.0 * s + w[:, 2] + rng.standard_normal(800)
            table = {**{f"w{i}": w[:, i] for i in range(4)}, "t": t, "y": y}
            graph = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(4)], ["t"], ["y"]]).with_edge("t", "y", 1.0)
            effect = ad.fit(table, graph, terms={"y": ad.Terms(trees=trees)}, rng=0).effect("t", "y")
            low, high = effect.interval()
            errors.append(effect.mean - 0.5)
            inside.append(low <= 0.5 <= high)
        held[trees], error[trees] = sum(inside), float(np.mean(np.square(errors)))
    assert error[True] < 0.5 * error[False]
    assert held[True] > held[False]


def test_a_forest_of_no_questions_says_zero():
    feature = np.full((2, 3, 7), -1)
    forest = Forest(all_edges(np.random.default_rng(0).random((50, 2))), feature, feature * 0, np.zeros((2, 3, 8)))
    bins = forest.binned(np.random.default_rng(1).random((10, 2)))
    assert forest.predicted(bins, None).tolist() == [0.0] * 10
