"""Cells: rows by level add up, and what is left of them is what least squares on dummies leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alldags.data import cells as module
from alldags.data.cells import Cells, cells_of, together


def rows(seed: int, count: int, levels: tuple[int, ...]):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, count) for size in levels])
    return rng.standard_normal((3, count)), rng.integers(0, 4, count).astype(float), codes


def dummies(codes, levels):
    return np.column_stack([np.eye(size)[code] for code, size in zip(codes.T, levels, strict=True)])


def by_least_squares(values, weight, codes, levels):
    """Return the scatter of what weighted least squares on all dummies leaves, and the rank of the dummies."""
    root = np.sqrt(weight)
    design, target = dummies(codes, levels) * root[:, None], values.T * root[:, None]
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return left.T @ left, np.linalg.matrix_rank(design[weight > 0])


CASES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(2, 60),
    st.one_of(st.tuples(st.integers(1, 9)), st.tuples(st.integers(1, 9), st.integers(1, 9))),
)


@settings(deadline=None, max_examples=80)
@given(CASES)
def test_what_is_left_is_what_least_squares_on_dummies_leaves(case):
    seed, count, levels = case
    values, weight, codes = rows(seed, count, levels)
    weight[0] = 1.0
    left = cells_of(values, weight, codes, levels).left
    scatter, rank = by_least_squares(values, weight, codes, levels)
    assert left.rank == rank
    np.testing.assert_allclose(left.scatter, scatter, atol=1e-11)


@settings(deadline=None, max_examples=60)
@given(CASES, st.floats(0.1, 1e3))
def test_a_constant_for_each_level_changes_nothing(case, size):
    seed, count, levels = case
    values, weight, codes = rows(seed, count, levels)
    weight[0] = 1.0
    rng = np.random.default_rng(seed + 1)
    steps = sum(size * rng.standard_normal((3, one))[:, code] for one, code in zip(levels, codes.T, strict=True))
    plain, moved = (cells_of(found, weight, codes, levels).left for found in (values, values + steps))
    np.testing.assert_allclose(moved.scatter, plain.scatter, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(CASES, st.integers(0, 60))
def test_parts_of_a_table_add_up_in_any_order(case, cut):
    seed, count, levels = case
    values, weight, codes = rows(seed, count, levels)
    weight[0] = 1.0
    whole = cells_of(values, weight, codes, levels)
    first, second = (
        cells_of(values[:, part], weight[part], codes[part], levels) for part in (slice(0, cut), slice(cut, None))
    )
    for found in (together([first, second]), together([second, first])):
        assert found.key.tolist() == whole.key.tolist()
        np.testing.assert_allclose(found.weight, whole.weight)
        np.testing.assert_allclose(found.mean, whole.mean, atol=1e-13)
        np.testing.assert_allclose(found.scatter, whole.scatter, atol=1e-12)


def test_many_levels_of_the_second_factor_are_taken_out_by_a_sparse_matrix_the_same_way(monkeypatch):
    values, weight, codes = rows(3, 400, (60, 50))
    cells = cells_of(values, weight + 1.0, codes, (60, 50))
    dense = cells.left
    monkeypatch.setattr(module, "_DENSE", 0)
    np.testing.assert_allclose(cells.left.scatter, dense.scatter, rtol=1e-12)
    np.testing.assert_allclose(cells.left.mean, dense.mean, atol=1e-12)


def test_the_means_that_are_left_have_no_level_any_more():
    values, weight, codes = rows(5, 300, (20, 12))
    cells = cells_of(values, weight + 0.5, codes, (20, 12))
    for codes_of in cells.numbers():
        for column in cells.left.mean.T:
            assert np.abs(np.bincount(codes_of, cells.weight * column)).max() < 1e-12


def test_parts_without_a_common_level_each_keep_a_level_of_their_own():
    codes = np.array([[0, 0], [0, 1], [1, 0], [2, 2], [2, 3], [3, 2]])
    left = cells_of(np.random.default_rng(0).standard_normal((1, 6)), np.ones(6), codes, (4, 4)).left
    assert (left.pieces, left.rank) == (2, 6)
    assert left.scatter[0, 0] == pytest.approx(0.0, abs=1e-28)


def test_values_far_from_zero_lose_no_more_than_their_own_rounding():
    values, weight, codes = rows(6, 500, (30, 10))
    plain = cells_of(values, weight + 1.0, codes, (30, 10)).left.scatter
    far = cells_of(values + 1e6, weight + 1.0, codes, (30, 10)).left.scatter
    np.testing.assert_allclose(far, plain, rtol=1e-8, atol=1e-6)


def test_no_rows_are_no_cells():
    empty = cells_of(np.zeros((2, 3)), np.zeros(3), np.zeros((3, 2), dtype=int), (2, 2))
    assert isinstance(empty, Cells)
    assert len(empty.key) == 0
    other = cells_of(np.ones((2, 3)), np.ones(3), np.zeros((3, 2), dtype=int), (2, 2))
    assert together([empty, other]).weight.tolist() == [3.0]
