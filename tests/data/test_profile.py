"""The profile of a table against one look at all of its rows."""

import numpy as np
import pytest

import alldags as ad
from alldags.data.accumulate import LOOKED_ROWS


def ends(profile):
    return profile.low.tolist(), profile.high.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [2, 17, 1000, 70_000])
def test_extremes_are_those_of_all_rows(rng, rows, order):
    table = np.asarray(rng.standard_normal((rows, 5)) * [1, 10, 1e-3, 1, 1] + [0, 1e6, 5, 0, 0], order=order)
    table[:, 3] = rng.integers(-20, 20, rows)
    table[:, 4] = np.arange(rows)
    profile = ad.Moments.from_table(table, names=list("abcde")).profile
    np.testing.assert_allclose(ends(profile), (table.min(axis=0), table.max(axis=0)), rtol=1e-9)
    assert profile.whole.tolist() == [False, False, False, True, True]
    assert profile.rising.tolist()[4]
    assert rows == 2 or not profile.rising[:4].any()


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32, np.uint8])
def test_columns_of_other_types_are_looked_at_alike(rng, kind):
    column = rng.integers(1, 100, 500).astype(kind)
    profile = ad.Moments.from_table({"a": column, "b": rng.standard_normal(500)}).profile
    assert (profile.low[0], profile.high[0], profile.whole[0]) == (column.min(), column.max(), True)


def test_rows_left_out_for_gaps_are_not_looked_at(rng):
    table = rng.standard_normal((500, 2))
    table[3] = 1e9, np.nan
    profile = ad.Moments.from_table(table, names=["a", "b"], missing="drop").profile
    complete = table[~np.isnan(table).any(axis=1)]
    np.testing.assert_allclose(ends(profile), (complete.min(axis=0), complete.max(axis=0)))


def test_threads_and_the_order_of_parts_change_nothing(rng):
    table = {"a": rng.integers(-99, 50, 150_000), "b": rng.standard_normal(150_000)}
    one, two = (ad.Moments.from_table(table, n_jobs=n_jobs).profile for n_jobs in (1, 2))
    parts = [ad.Moments.from_table({k: v[i::3] for k, v in table.items()}) for i in range(3)]
    back = (parts[2] + parts[0] + parts[1]).profile
    for other in (two, back):
        assert ends(one) == ends(other)
        assert one.counts.tolist() == other.counts.tolist()
        assert one.rest[one.counts > 0].tolist() == other.rest[other.counts > 0].tolist()


def test_long_tables_are_looked_at_in_part_and_wild_columns_in_full(rng):
    rows = LOOKED_ROWS + 100_000
    table = {"calm": rng.uniform(0, 1, rows), "wild": rng.uniform(0, 1, rows)}
    table["wild"][60_000] = 1e5  # in none of the rows looked at
    profile = ad.Moments.from_table(table).profile
    np.testing.assert_allclose(profile.high, [1, 1e5], rtol=1e-3)


def test_selected_columns_keep_their_profile(rng):
    moments = ad.Moments.from_table({"a": rng.standard_normal(50), "b": np.arange(50)})
    chosen = moments.select(["b"]).profile
    assert ends(chosen) == ([0], [49])
    assert ad.Moments.from_covariance([[1.0]], 10, names=["a"]).profile is None
