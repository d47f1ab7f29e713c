"""Frames on many machines: sums come back, the same as from memory, also when a worker dies."""

from __future__ import annotations

import os
import signal
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import alldags as ad
from alldags.data.distributed import packed, sum_frame, unpacked
from alldags.data.source import open_source
from alldags.data.sums import sum_blocks
from alldags.errors import DataError
from lines import fit

NAMES = ("dose", "age", "score")


def frame(offset: float = 0.0, rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(rows, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.7], [0, 0, 1]]) + offset * np.arange(1, 4)
    return pd.DataFrame(values, columns=list(NAMES))


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local,
        Client(local) as client,
    ):
        yield client


def relative_error(got: ad.Moments, table: pd.DataFrame) -> float:
    exact = table.to_numpy().astype(np.longdouble)
    centred = exact - exact.mean(axis=0)
    want = centred.T @ centred
    return float((np.abs(got.scatter - want) / np.sqrt(np.outer(np.diag(want), np.diag(want)))).max())


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("partitions", [1, 23])
def test_moments_of_a_dask_frame(cluster, offset, partitions):
    table = frame(offset)
    got = ad.read_moments(dd.from_pandas(table, npartitions=partitions))
    assert (got.n, got.names) == (2000, NAMES)
    assert relative_error(got, table) < 1e-12
    np.testing.assert_allclose(got.mean, table.mean(), rtol=1e-14, atol=1e-14)


def test_fit_takes_a_dask_frame(cluster):
    table = frame()
    table.loc[3:40, "age"] = np.nan
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    lazy = dd.from_pandas(table, npartitions=5)
    want = fit(table, graph, rng=0, missing="drop")
    got = fit(lazy, graph, rng=0, missing="drop")
    assert got.effect("dose", "score").mean == pytest.approx(want.effect("dose", "score").mean, rel=1e-12)
    assert got.notes == want.notes
    with pytest.raises(DataError, match=r"missing values in column 'age' \(38\); of 2000 rows, 38 have one"):
        fit(lazy, graph)


def test_rows_of_a_dask_frame_are_brought_here_when_they_are_needed(cluster):
    table = frame()
    table["count"] = np.arange(2000) % 3
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    want = fit(table, graph, rng=0, weights="count").effect("dose", "score")
    got = fit(dd.from_pandas(table, npartitions=4), graph, rng=0, weights="count").effect("dose", "score")
    assert got.mean == pytest.approx(want.mean, rel=1e-12)


def test_a_column_that_is_not_a_number(cluster):
    table = frame().assign(site="x")
    with pytest.raises(DataError, match=r"column 'site' has dtype .*, which is not a number"):
        ad.read_moments(dd.from_pandas(table, npartitions=3))


def fails_on_one(part: pd.DataFrame) -> pd.DataFrame:
    if part.index[0] > 0:
        raise RuntimeError("the disk is gone")
    return part


def test_a_query_that_fails_half_way(cluster):
    lazy = dd.from_pandas(frame(), npartitions=4)
    broken = lazy.map_partitions(fails_on_one, meta=lazy._meta)
    with pytest.raises(DataError, match=r"reading the Dask frame failed: .*the disk is gone"):
        ad.read_moments(broken)


def test_partitions_without_rows_or_with_one():
    table = frame(rows=3)
    sums = sum_frame(table.iloc[:0], NAMES, False) + sum_frame(table.iloc[:1], NAMES, False)
    sums = sums + sum_frame(table.iloc[1:], NAMES, False)
    assert sums.tally.rows == sums.moments.n == 3
    np.testing.assert_allclose(sums.moments.scatter, ad.Moments.from_table(table).scatter, rtol=1e-12)


def test_sums_survive_the_journey_as_bytes():
    values = list(frame().to_numpy().T.copy())
    values[1][7] = np.nan
    sums = sum_blocks([values], NAMES, True)
    again = unpacked(packed(sums), NAMES)
    assert (again.moments.n, again.tally.rows, again.tally.incomplete) == (1999, 2000, 1)
    assert (again.moments.scatter == sums.moments.scatter).all()
    assert (again.origin == sums.origin).all()
    assert again.tally.missing.tolist() == [0, 1, 0]


def test_unknown_columns_are_named(cluster):
    with pytest.raises(DataError, match="column 'scores' is not in the data; did you mean 'score'"):
        open_source(dd.from_pandas(frame(), npartitions=2)).moments(["scores"])


# -- nodes on a cluster, through joblib --------------------------------------------------------------------------------


def imported_store() -> bool:
    import sys

    return "alldags.models.store" in sys.modules


def test_nodes_are_fitted_on_the_cluster_that_joblib_names(cluster):
    from joblib import parallel_config

    table = frame(rows=300)
    graph = ad.CandidateGraph.from_order(["age", "dose", "score"])
    want = fit(table, graph, rng=3).effect("dose", "score")
    with parallel_config("dask", wait_for_workers_timeout=60):
        got = fit(table, graph, rng=3, n_jobs=-1).effect("dose", "score")
    assert (got.mean, got.sd) == (want.mean, want.sd)
    assert any(cluster.run(imported_store).values())  # the work was really done over there


def test_yes_no_children_stay_here(cluster):
    from joblib import parallel_config

    table = frame(rows=300)
    table["died"] = (table["score"] > 0).astype(float)
    graph = ad.CandidateGraph.from_order(["age", "dose", "died"])
    want = fit(table, graph, rng=3).effect("dose", "died")
    with parallel_config("dask", wait_for_workers_timeout=60):
        got = fit(table, graph, rng=3, n_jobs=-1).effect("dose", "died")
    assert got.mean == want.mean


# -- workers that die: last, for it takes them some seconds to come back ----------------------------------------------


def slow(part: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.15)
    return part


def dies(part: pd.DataFrame, where: str) -> pd.DataFrame:
    """End the worker on its first call, whichever it is."""
    if not os.path.exists(where):
        open(where, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(part)


def always_dies(part: pd.DataFrame) -> pd.DataFrame:
    if part.index[0] > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def test_a_worker_killed_during_the_reduction_changes_nothing(cluster, tmp_path):
    table = frame()
    lazy = dd.from_pandas(table, npartitions=20)
    got = ad.read_moments(lazy.map_partitions(dies, str(tmp_path / "died"), meta=lazy._meta))
    assert (tmp_path / "died").exists()
    assert got.n == 2000
    assert relative_error(got, table) < 1e-12


def test_workers_that_die_again_and_again_are_one_clear_error(cluster):
    lazy = dd.from_pandas(frame(), npartitions=2)
    with pytest.raises(DataError, match=r"reading the Dask frame failed: .*worker"):
        ad.read_moments(lazy.map_partitions(always_dies, meta=lazy._meta))
