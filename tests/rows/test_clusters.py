"""Clusters: rows that belong together do not count as so many."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.rows import CLUSTER_EFFECT, CLUSTER_GRAPH, schools

import alldags as ad
from alldags.data.clusters import resampled
from alldags.errors import DataError

NAMES = ("c", "x", "y")


@pytest.fixture(scope="module")
def table():
    return schools(np.random.default_rng(3), 0.3, by_school=True)


@pytest.fixture
def quick(monkeypatch):
    """Fewer resamples, where their number does not matter."""
    monkeypatch.setattr("alldags.results.clusters._RESAMPLES", 40)


@pytest.fixture(scope="module")
def effect(table):
    return ad.fit(table, CLUSTER_GRAPH, rng=0, cluster="school").effect("x", "y")


def test_a_resample_is_a_table_with_clusters_repeated(table):
    posterior = ad.fit(table, CLUSTER_GRAPH, cluster="school")
    (rows,) = posterior._clusters.tables
    times = np.random.default_rng(0).integers(0, 3, 40)
    expected = ad.Moments.from_table(
        {name: np.repeat(table[name], times[table["school"].astype(int)]) for name in NAMES}
    )
    found = rows.repeated(times).without()
    assert found.n == expected.n
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12)
    assert resampled(rows, np.random.default_rng(1)).rows == 400


def test_the_pooled_rows_are_those_of_the_table(table):
    found, expected = (ad.fit(table, CLUSTER_GRAPH, **options)._data for options in ({"cluster": "school"}, {}))
    np.testing.assert_allclose(found.pooled.scatter, expected.pooled.scatter, rtol=1e-12)


def test_the_spread_over_resamples_is_that_of_refits_by_hand(table, effect):
    rng = np.random.default_rng(5)
    means = []
    for _ in range(60):
        rows = np.concatenate([10 * school + np.arange(10) for school in rng.integers(40, size=40)])
        means.append(ad.fit({name: table[name][rows] for name in NAMES}, CLUSTER_GRAPH).effect("x", "y").mean)
    # both are standard deviations of samples: 10% and 5% of error
    assert effect.clusters.sd_clusters == pytest.approx(np.std(means, ddof=1), rel=0.35)


def test_the_answer_has_both_standard_deviations_and_warns(table, effect):
    independent = ad.fit(table, CLUSTER_GRAPH, rng=0).effect("x", "y")
    check = effect.clusters
    assert check.sd_independent == pytest.approx(independent.sd, rel=1e-9)
    assert check.sd_clusters > 1.5 * independent.sd
    assert effect.sd == pytest.approx(check.sd_clusters, rel=0.3)
    assert effect.interval()[1] - effect.interval()[0] > 1.4 * np.subtract(*independent.interval()[::-1])
    text = " ".join(str(effect).split())
    assert "rows of a cluster are alike" in text
    assert "sd with rows taken for independent" in text
    assert "sd over resampled clusters" in text
    assert effect.summary().rows == 400
    assert effect.to_dict()["clusters"] == {
        "clusters": 40,
        "sd_independent": check.sd_independent,
        "sd_clusters": check.sd_clusters,
        "design_effect": check.design_effect,
    }
    low, high = effect.interval()
    assert low <= CLUSTER_EFFECT <= high


def test_rows_copied_ten_times_do_not_shrink_the_interval(rng):
    once = {name: column[:100] for name, column in schools(rng, 0.0, by_school=False).items() if name in NAMES}
    copies = {name: np.repeat(column, 10) for name, column in once.items()}
    plain = ad.fit(once, CLUSTER_GRAPH, rng=0).effect("x", "y")
    tenfold = ad.fit(copies, CLUSTER_GRAPH, rng=0, cluster=np.repeat(np.arange(100), 10)).effect("x", "y")
    assert tenfold.clusters.sd_independent < 0.4 * plain.sd
    assert tenfold.sd == pytest.approx(plain.sd, rel=0.2)
    assert tenfold.mean == pytest.approx(plain.mean, rel=0.05)
    assert tenfold.regression.error == pytest.approx(plain.regression.error, rel=0.2)
    assert tenfold.do(1.0).new_unit.sd == pytest.approx(plain.do(1.0).new_unit.sd, rel=0.02)


def test_ten_copies_that_count_a_tenth_are_the_table_itself(rng):
    once = {name: column[:100] for name, column in schools(rng, 0.0, by_school=False).items() if name in NAMES}
    data = ad.fit({name: np.repeat(column, 10) for name, column in once.items()}, CLUSTER_GRAPH)._data.tempered(0.1)
    expected = ad.fit(once, CLUSTER_GRAPH)._data.pooled
    assert (data.pooled.n, data.pooled.rows) == pytest.approx((expected.n, expected.rows))
    np.testing.assert_allclose(data.pooled.mean * data.scale, once_means(once), rtol=1e-9, atol=1e-12)


def once_means(table):
    return [column.mean() for column in table.values()]


@pytest.mark.usefixtures("quick")
def test_clusters_never_make_an_answer_more_certain(rng):
    table = schools(rng, 0.0, by_school=False)
    plain = ad.fit(table, CLUSTER_GRAPH, rng=0).effect("x", "y")
    for labels in ("school", np.arange(400)):
        found = ad.fit(table, CLUSTER_GRAPH, rng=0, cluster=labels).effect("x", "y")
        assert plain.sd * (1 - 1e-9) <= found.sd < 1.6 * plain.sd


@pytest.mark.usefixtures("quick")
def test_same_seed_same_numbers_and_text_labels(table):
    words = [f"school {number:g}" for number in table["school"]]
    one, two = (
        ad.fit(table, CLUSTER_GRAPH, rng=7, cluster=labels, n_jobs=jobs).effect("x", "y")
        for labels, jobs in (("school", 1), (words, 2))
    )
    assert one.clusters == two.clusters
    assert one.interval() == two.interval()


@pytest.mark.usefixtures("quick")
def test_few_clusters_are_noted(table):
    few = {name: column[:60] for name, column in table.items()}
    notes = ad.fit(few, CLUSTER_GRAPH, rng=0, cluster="school").effect("x", "y").notes
    assert any("only 6 clusters" in note for note in notes)
    assert any("other tables of the whole fit take rows for independent" in note for note in notes)


def test_a_treatment_that_varies_in_one_cluster_only_is_refused(rng):
    x = np.zeros(40)
    x[:10] = rng.normal(size=10)
    table = {"x": x, "y": rng.normal(size=40), "id": np.repeat(np.arange(4), 10)}
    graph = ad.CandidateGraph.from_order(["x", "y"])
    assert np.isfinite(ad.fit(table, graph, cluster="id", rng=0).effect("x", "y").sd)
    table["id"] = np.array([0] * 10 + [1] * 30)
    found = ad.fit(table, graph, cluster="id", rng=0)
    assert found.effect("x", "y").clusters.resamples < 190  # resamples in which x does not vary give no answer


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ("class", "cluster='class' is not a column of the data"),
        (np.ones(400), "all rows are in one cluster"),
        ([None] + [1] * 399, "cluster: row 0 has no label"),
        ([1, 2], "cluster needs one value for each of the 400 rows"),
        (7, "cluster must be the name of a column or have one value per row"),
    ],
)
def test_mistakes_are_named(table, cluster, words):
    with pytest.raises(DataError, match=words):
        ad.fit(table, CLUSTER_GRAPH, cluster=cluster)
