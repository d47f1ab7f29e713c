"""One look at a column: moments and rows say the same of it, whatever its units, offset and rarity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import alldags as ad
from alldags.data.batches import RowTable
from alldags.data.levels import Levels
from alldags.data.look import ColumnLook, constant_columns, look_at, look_at_rows, look_at_values
from alldags.data.source import open_source
from lines import fit

ROWS = 200


def by_moments(values):
    return look_at(ad.Moments.from_table({"w": np.asarray(values, dtype=float)}), "w")


def by_covariance(values):
    values = np.asarray(values, dtype=float)
    moments = ad.Moments.from_covariance([[values.var(ddof=1)]], len(values), names=["w"], mean=[values.mean()])
    return look_at(moments, "w")


def by_rows(values):
    return look_at_rows(RowTable(open_source({"w": values}).numbers(["w"])), ["w"])["w"]


COLUMNS = {
    "zeros and ones": (np.arange(ROWS) % 3 == 0) * 1.0,
    "one and two": 1.0 + (np.arange(ROWS) % 3 == 0),
    "two far values": np.where(np.arange(ROWS) % 2, -1e6, 1e6),
    "three": np.arange(ROWS) % 3 * 1.0,
    "half between": np.where(np.arange(ROWS) < 2, 0.5, np.arange(ROWS) % 2),
    "normal": np.random.default_rng(0).standard_normal(ROWS),
    "tiny": 1e-10 * np.random.default_rng(0).random(ROWS),
    "large": 1e12 + np.arange(ROWS) % 2,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_moments_and_rows_see_the_same_values(name):
    column = COLUMNS[name]
    seen, read = by_moments(column), by_rows(column)
    assert seen.two_values == read.two_values
    assert seen.is_yes_no == read.is_yes_no == look_at_values(column).is_yes_no == (name == "zeros and ones")
    assert seen.can_bend == read.can_bend == (len(np.unique(column)) > 2)


@given(st.lists(st.sampled_from([0.0, 1.0, 0.5, 2.0]), min_size=2, max_size=30))
def test_values_are_looked_at_as_a_set_of_them_would_be(column):
    different = sorted(set(column))
    look = look_at_values(column)
    assert look.can_bend == (len(different) > 2)
    assert look.two_values == (tuple(different) if len(different) == 2 else None)
    assert look.is_yes_no == (set(different) <= {0.0, 1.0})


def test_batches_are_looked_at_together():
    column = np.zeros(20_000)
    column[-1] = 1.0
    assert by_rows(column).two_values == (0.0, 1.0)
    column[9000] = 0.5
    assert by_rows(column).can_bend


def test_without_rows_zeros_and_ones_and_ones_and_twos_are_known():
    for name in ("zeros and ones", "one and two"):
        assert by_covariance(COLUMNS[name]).two_values == by_rows(COLUMNS[name]).two_values
    assert by_covariance(COLUMNS["normal"]).two_values is None


def test_small_numbers_are_no_zeros_and_ones_even_without_rows():
    assert not by_covariance(COLUMNS["tiny"]).is_yes_no


def test_one_event_in_a_million_is_yes_no():
    column = np.zeros(1_000_000)
    column[0] = 1.0
    assert by_moments(column).is_yes_no


@pytest.mark.parametrize("value", [0.0, 1.0, 1e200, 0.1, 1e9 + 0.1])
def test_a_constant_is_one_whatever_rounding_leaves_of_it(value):
    moments = ad.Moments.from_table({"w": np.full(50, value)})
    assert constant_columns(np.diag(moments.scatter), moments.n, moments.mean).all()


def test_words_are_those_of_two_levels():
    assert ColumnLook("sex", levels=Levels("sex", ("f", "m"), (9, 9))).words == ("f", "m")
    site = ColumnLook("site", levels=Levels("site", ("a", "b", "c"), (9, 9, 9)))
    assert site.is_category
    assert site.words is None


def test_a_column_is_looked_at_once():
    study = ad.datasets.example()
    data = fit(study.table, study.graph, rng=0).workings.data
    assert data.look("age") is data.look("age")
    assert data.look("sex").is_yes_no
