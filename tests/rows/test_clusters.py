"""Clusters: rows that belong together do not count as so many."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.refits import log_ratios, resampled
from calibration.rows import CLUSTER_EFFECT, CLUSTER_GRAPH, schools

import alldags as ad
from alldags.errors import DataError
from lines import fit
from show.everything import everything

NAMES = ("c", "x", "y")


@pytest.fixture(scope="module")
def table():
    return schools(np.random.default_rng(3), 0.3, by_school=True)


@pytest.fixture(scope="module")
def effect(table):
    return fit(table, CLUSTER_GRAPH, rng=0, cluster="school").effect("x", "y")


def test_a_resample_is_a_table_with_clusters_repeated(table):
    posterior = fit(table, CLUSTER_GRAPH, cluster="school")
    (rows,) = posterior.clusters.tables
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
    found, expected = (fit(table, CLUSTER_GRAPH, **options)._data for options in ({"cluster": "school"}, {}))
    np.testing.assert_allclose(found.pooled.scatter, expected.pooled.scatter, rtol=1e-12)


def test_the_spread_is_that_of_refits_of_resampled_clusters():
    # 80 refits have 8% of error, the jackknife's 5,000 draws 2%, and to first order it is off by a few per cent
    assert np.sqrt(np.mean(np.square(log_ratios(4, 80)))) < 0.16


def test_with_certain_edges_and_a_wide_slab_it_is_the_cluster_robust_sandwich(table):
    graph = ad.CandidateGraph.from_edges({("c", "y"): 1.0, ("x", "y"): 1.0})
    wide = ad.Prior(slab_variance=1e4)
    found = fit(table, graph, prior=wide, rng=0, cluster="school").effect("x", "y").uncertainty.clusters
    design = np.column_stack([np.ones(400), table["x"], table["c"]])
    bread = np.linalg.inv(design.T @ design)
    left = table["y"] - design @ (bread @ design.T @ table["y"])
    scores = []
    for school in range(40):  # CR2, as McCaffrey and Bell have it
        own = table["school"] == school
        values, vectors = np.linalg.eigh(np.eye(10) - design[own] @ bread @ design[own].T)
        scores.append(design[own].T @ (vectors / np.sqrt(values)) @ vectors.T @ left[own])
    sandwich = bread @ (np.array(scores).T @ np.array(scores)) @ bread
    assert found.sd_clusters == pytest.approx(np.sqrt(40 / 39 * sandwich[1, 1]), rel=0.03)


def test_rows_and_moments_of_clusters_say_the_same(table):
    from alldags.answers.joint import joint_draws
    from alldags.answers.pieces import answering, cluster_moves, row_moves

    posterior = fit(table, CLUSTER_GRAPH, cluster="school", rng=0)
    effect, workings = posterior.effect("x", "y"), posterior.workings
    joints = joint_draws(effect.answer, effect.workings.totals, workings.models, np.random.default_rng(0))
    found = tuple(answering(joints).values())
    rows = workings.table.rows(workings.data.pooled.names)
    by_rows = row_moves(found, rows, 40)
    by_moments = cluster_moves(found, posterior.clusters.tables[0])
    np.testing.assert_allclose(by_moments.psi, by_rows.psi, rtol=1e-8, atol=1e-14)
    assert by_moments.expected == pytest.approx(by_rows.expected, rel=1e-9)


def test_the_answer_has_both_standard_deviations_and_warns(table, effect):
    independent = fit(table, CLUSTER_GRAPH, rng=0).effect("x", "y")
    check = effect.uncertainty.clusters
    assert check.sd_independent == pytest.approx(independent.sd, rel=1e-3)  # given that there is an effect
    assert check.sd_clusters > 1.5 * independent.sd
    assert effect.sd == pytest.approx(check.sd_clusters, rel=0.1)
    assert effect.probability_no_effect == pytest.approx(independent.probability_no_effect, rel=1e-9)
    assert effect.mean == pytest.approx(independent.mean, rel=1e-9)
    assert effect.interval()[1] - effect.interval()[0] > 1.4 * np.subtract(*independent.interval()[::-1])
    text = " ".join(everything(effect).split())
    assert "rows of a cluster are alike" in text
    assert "sd with rows taken for independent" in text
    assert "sd by how clusters vary" in text
    assert effect.summary().rows == 400
    assert effect.to.dict()["clusters"] == {
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
    graph = ad.CandidateGraph.from_edges({("c", "y"): 1.0, ("x", "y"): 1.0})
    plain = fit(once, graph, rng=0).effect("x", "y")
    tenfold = fit(copies, graph, rng=0, cluster=np.repeat(np.arange(100), 10)).effect("x", "y")
    assert tenfold.uncertainty.clusters.sd_independent < 0.4 * plain.sd
    assert tenfold.sd == pytest.approx(plain.sd, rel=0.2)
    assert tenfold.mean == pytest.approx(plain.mean, rel=0.05)
    assert tenfold.checks.least_squares.error == pytest.approx(plain.checks.least_squares.error, rel=0.2)
    assert tenfold.do(1.0).new_unit.sd == pytest.approx(plain.do(1.0).new_unit.sd, rel=0.05)


def test_ten_copies_that_count_a_tenth_are_the_table_itself(rng):
    once = {name: column[:100] for name, column in schools(rng, 0.0, by_school=False).items() if name in NAMES}
    data = fit({name: np.repeat(column, 10) for name, column in once.items()}, CLUSTER_GRAPH)._data.tempered(0.1)
    expected = fit(once, CLUSTER_GRAPH)._data.pooled
    assert (data.pooled.n, data.pooled.rows) == pytest.approx((expected.n, expected.rows))
    np.testing.assert_allclose(data.pooled.mean * data.scale, once_means(once), rtol=1e-9, atol=1e-12)


def once_means(table):
    return [column.mean() for column in table.values()]


def test_clusters_never_make_an_answer_more_certain(rng):
    table = schools(rng, 0.0, by_school=False)
    plain = fit(table, CLUSTER_GRAPH, rng=0).effect("x", "y")
    for labels in ("school", np.arange(400)):
        found = fit(table, CLUSTER_GRAPH, rng=0, cluster=labels).effect("x", "y")
        assert plain.sd * (1 - 1e-9) <= found.sd < 1.6 * plain.sd


def test_same_seed_same_numbers_and_text_labels(table):
    words = [f"school {number:g}" for number in table["school"]]
    one, two = (
        fit(table, CLUSTER_GRAPH, rng=7, cluster=labels, n_jobs=jobs).effect("x", "y")
        for labels, jobs in (("school", 1), (words, 2))
    )
    assert one.uncertainty.clusters == two.uncertainty.clusters
    assert one.interval() == two.interval()


def test_few_clusters_are_noted_and_have_the_quantiles_of_students_distribution(table):
    from scipy.special import stdtrit

    few = {name: column[:60] for name, column in table.items()}
    certain = CLUSTER_GRAPH.with_edge("x", "y", 1.0)
    effect = fit(few, certain, rng=0, cluster="school").effect("x", "y")
    (worst, *_) = effect.notes
    assert "only 6 clusters" in worst
    assert worst.severity == "check"
    assert any("other tables of the whole fit take rows for independent" in note for note in effect.notes)
    low, high = effect.interval()
    assert (high - low) / (2 * effect.sd) == pytest.approx(stdtrit(5, 0.975), rel=0.05)
    np.testing.assert_allclose(
        np.quantile(effect.draws(20_000, rng=1), [0.025, 0.975]), [low, high], atol=0.2 * effect.sd
    )


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ("class", "cluster='class' is not a column of the data"),
        (np.ones(400), "all rows are in one cluster"),
        ([None] + [1] * 399, "cluster: row 0 has no label"),
        ([1, 2], "cluster needs one value for each of the 400 rows"),
        (7, "cluster must be the name of a column or have one value per row"),
        (["school", "c"], "clusters of two kinds at once"),
        (np.ones((400, 2)), "clusters of two kinds at once"),
        ({"unit": "school", "strata": "c"}, "strata and stages of a survey"),
    ],
)
def test_mistakes_are_named(table, cluster, words):
    with pytest.raises(DataError, match=words):
        fit(table, CLUSTER_GRAPH, cluster=cluster)
