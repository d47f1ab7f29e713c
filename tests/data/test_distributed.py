"""Frames on many machines: sums come back, the same as from memory, also when a worker dies."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
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
from alldags.engines.away import SampledElsewhere, fit_parcel
from alldags.errors import AlldagsError, DataError
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


def many(count: int = 45, rows: int = 150) -> tuple[dict[str, np.ndarray], ad.CandidateGraph]:
    """A table of many variables, each with up to 30 candidate causes, and its graph."""
    rng = np.random.default_rng(2)
    table: dict[str, np.ndarray] = {}
    for i in range(count):
        before = list(table.values())[-3:]
        table[f"v{i}"] = rng.standard_normal(rows) + sum(0.4 * x for x in before)
    names = list(table)
    edges = {(names[j], names[i]): 0.1 for i in range(count) for j in range(max(0, i - 30), i)}
    return table, ad.CandidateGraph(tuple(names), edges)


def nodes_of(posterior: ad.Posterior) -> dict:
    posterior.workings.prepare()
    return {key.child: node for key, node in posterior.workings.store.fitted()}


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_nodes_of_a_client_are_those_of_one_thread_to_the_last_bit(cluster):
    table, graph = many()
    here, there = (nodes_of(fit(table, graph, rng=3, backend=backend)) for backend in (None, cluster))
    assert isinstance(there["v44"], SampledElsewhere)
    assert not isinstance(there["v5"], SampledElsewhere)  # few causes are enumerated
    for name, node in here.items():
        other = there[name]
        assert (node.mean == other.mean).all()
        assert (node.inclusion == other.inclusion).all()
        assert (node.second_moment == other.second_moment).all()
        assert node.noise_variance == other.noise_variance
        drawn = [one.draw(50, np.random.default_rng(1))[0] for one in (node, other)]
        assert (drawn[0] == drawn[1]).all()
        weights = np.arange(len(node.mean), dtype=float)
        assert node.linear_error(weights) == pytest.approx(other.linear_error(weights), rel=1e-10, abs=1e-15)
        masks = np.eye(len(node.mean), dtype=bool)
        assert (node.probability_disjoint(masks) == other.probability_disjoint(masks)).all()
    assert "whole" not in vars(there["v44"])  # nothing so far had it sampled here


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_what_needs_traces_samples_again_and_finds_the_same(cluster):
    table, graph = many()
    here, there = (nodes_of(fit(table, graph, rng=3, backend=backend))["v44"] for backend in (None, cluster))
    assert (there.diagnostics.trace == here.diagnostics.trace).all()
    np.testing.assert_array_equal(there.diagnostics.rank_r_hat, here.diagnostics.rank_r_hat)
    assert there.log_evidence == here.log_evidence
    assert (there.second_moment_between == here.second_moment_between).all()
    assert (there.mean_given(3, False) == here.mean_given(3, False)).all()
    assert there.top_parent_sets(3) == here.top_parent_sets(3)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_effects_of_a_client_are_the_same(cluster):
    table, graph = many()
    here, there = (fit(table, graph, rng=3, backend=backend).effect("v30", "v44") for backend in (None, cluster))
    assert (there.mean, there.sd, there.interval()) == (here.mean, here.sd, here.interval())
    assert str(there) == str(here)


def test_what_travels_is_small():
    table, graph = many(150)
    posterior = fit(table, graph, rng=3)
    (model,) = posterior.workings.models.items
    store, key = posterior.workings.store, next(key for key in model.node_keys if key.child == "v149")
    parcel = store._parcel([key])
    assert len(pickle.dumps(parcel)) < 20_000
    (brief,) = fit_parcel(pickle.loads(pickle.dumps(parcel)))
    assert len(pickle.dumps(brief)) < 60_000
    assert not hasattr(brief.diagnostics, "trace")


def test_a_category_and_its_levels_travel(cluster):
    table = {**many(12)[0], "site": np.array(list("abc") * 50)}
    graph = ad.CandidateGraph.from_tiers([["v0", "site"], ["v1", "v2"], ["v11"]], 0.5)
    here, there = (fit(table, graph, rng=3, backend=backend).effects_on("v11") for backend in (None, cluster))
    assert str(there) == str(here)


def ends_a_worker(client: Client) -> None:
    time.sleep(1.0)
    first = next(iter(client.scheduler_info()["workers"]))
    with contextlib.suppress(Exception):  # whoever is killed has no answer
        client.run(lambda: os.kill(os.getpid(), signal.SIGKILL), workers=[first], wait=False)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_nodes_of_a_worker_that_dies_are_fitted_again(cluster):
    table, graph = many(90)
    want = nodes_of(fit(table, graph, rng=3))
    killer = threading.Thread(target=ends_a_worker, args=(cluster,))
    killer.start()
    found = nodes_of(fit(table, graph, rng=3, backend=cluster))
    killer.join()
    cluster.wait_for_workers(2, timeout=60)
    assert found.keys() == want.keys()
    assert all((found[name].mean == node.mean).all() for name, node in want.items())


def test_a_backend_may_be_a_name_that_joblib_knows():
    table, graph = many(12)
    here, there = (fit(table, graph, rng=3, backend=backend).effect("v3", "v11") for backend in (None, "threading"))
    assert (there.mean, there.sd) == (here.mean, here.sd)


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (7, r"backend must be a dask.distributed Client, the name of a backend of joblib.*got 7"),
        ("rays", r"joblib knows no backend 'rays': .*; register it first"),
    ],
)
def test_what_is_no_backend_is_refused(backend, words):
    table, graph = many(4)
    with pytest.raises(AlldagsError, match=words):
        fit(table, graph, backend=backend)


def test_a_client_that_was_closed_is_named():
    table, graph = many(6)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local, Client(local) as client:
        posterior = fit(table, graph, backend=client)
    with pytest.raises(AlldagsError, match="the client given as backend= is closed; open one and fit again"):
        posterior.workings.prepare()


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
