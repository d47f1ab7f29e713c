"""Nodes that are weighed anew by the sets of a node much like them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines.exact import Exact
from alldags.engines.sampling.asked import Run, sample_asked
from alldags.engines.sampling.revisited import RevisitedPosterior, revisited
from alldags.models.fitted import FittedGraph
from alldags.models.store import NodeStore
from alldags.nodes.build import NodeTerms, Sums, assembled
from alldags.priors.prior import Prior


def problem(x, y, moved=0.0):
    x = x + moved * np.random.default_rng(9).standard_normal(x.shape) * (np.arange(len(x)) % 5 == 0)[:, None]
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), y - y.mean()
    sums = Sums(x.T @ x, x.T @ y, float(y @ y), len(y) - 1.0, float(len(y)))
    return assembled(NodeTerms("y", tuple(f"x{i}" for i in range(x.shape[1])), (0.5,) * x.shape[1]), sums, Prior())


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 8))
    y = x @ np.array([1.0, 0.5, 0.2, 0.15, 0.0, 0.0, 0.0, 0.0]) + rng.standard_normal(300)
    first, second = problem(x, y), problem(x, y, moved=1.5)
    sampled = sample_asked(first, np.eye(8), 1.0, np.random.default_rng(1), Run(sweeps=3000))
    return sampled, first, second


def test_weighed_anew_it_is_the_posterior_of_the_other_problem(both):
    sampled, first, second = both
    again, exact = revisited(sampled, second, np.random.default_rng(2)), Exact()(second, np.random.default_rng(3))
    assert isinstance(again, RevisitedPosterior)
    before = Exact()(first, np.random.default_rng(3))
    assert np.abs(before.inclusion - exact.inclusion).max() > 0.1  # else the test could not fail
    np.testing.assert_allclose(again.inclusion, exact.inclusion, atol=0.06)
    np.testing.assert_allclose(again.mean, exact.mean, atol=0.015)
    np.testing.assert_allclose(np.diag(again.second_moment), np.diag(exact.second_moment), rtol=0.12, atol=3e-3)
    assert again.noise_variance == pytest.approx(exact.noise_variance, rel=0.03)
    assert again.log_evidence == pytest.approx(exact.log_evidence, abs=4 * again.log_evidence_error + 0.05)
    weights = np.eye(8)[2]
    assert abs(again.mean[2] - exact.mean[2]) < 5 * again.linear_error(weights) + 1e-3


def test_draws_follow_the_weights(both):
    sampled, _, second = both
    again = revisited(sampled, second, np.random.default_rng(2))
    draws, variance = again.draw(4000, np.random.default_rng(4))
    np.testing.assert_allclose(draws.mean(axis=0), again.mean, atol=0.02)
    np.testing.assert_allclose((draws != 0).mean(axis=0), again.inclusion, atol=0.05)
    assert (variance > 0).all()


def test_problems_that_are_not_alike_are_left_to_chains(both):
    sampled, first, _ = both
    rng = np.random.default_rng(5)
    x = rng.standard_normal((300, 8))
    other = problem(x, x @ np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]) + rng.standard_normal(300))
    assert revisited(sampled, other, rng) is None
    assert revisited(sampled, replace(first, settings=first.settings[:3]), rng) is None


def holed(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((rows, 4))
    t = (rng.logistic(size=rows) < w[:, 0] + np.abs(w[:, 1]) - 0.8).astype(float)
    y = t * (1 + 0.5 * w[:, 2]) + np.abs(w[:, 1]) + w[:, 0] + rng.standard_normal(rows)
    w[rng.random(rows) < 0.1, 0] = np.nan
    return {**{f"w{i}": w[:, i] for i in range(4)}, "t": t, "y": y}


@pytest.mark.parametrize("yes_no", [False, True])
def test_completed_tables_share_columns_and_sets_and_the_answer_is_that_of_fitting_each(monkeypatch, yes_no):
    table = holed(rows=600)
    if yes_no:
        table["y"] = (table["y"] > 1.0).astype(float)
    graph = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(4)], ["t"], ["y"]]).with_edge("t", "y", 1.0)

    def ask():
        posterior = ad.fit(table, graph, missing="impute", imputations=4, rng=3)
        effect = posterior.effect("t", "y")
        nodes = [total.model.node("y") for total in effect.workings.totals.items]
        return effect, [node.found.made.candidates.columns for node in nodes]

    monkeypatch.setattr(FittedGraph, "could_bend", lambda model, child: True)  # else some tables would be straight
    shared, columns = ask()
    assert len(columns) == 4
    assert all(one == columns[0] for one in columns)
    monkeypatch.setattr(NodeStore, "_like", lambda store, key: None)
    alone, columns = ask()
    assert columns[1] != columns[0]
    assert shared.mean == pytest.approx(alone.mean, abs=0.15 * alone.sd)
    assert shared.sd == pytest.approx(alone.sd, rel=0.1)


def test_rows_keep_their_part_of_the_data_in_all_completed_tables():
    """Parts follow complete columns only: else trees would be asked about rows that they were grown on."""
    graph = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(4)], ["t"], ["y"]])
    posterior = ad.fit(holed(), graph, missing="impute", imputations=3, rng=0)
    effect = posterior.effect("t", "y")
    folds = []
    for total in effect.workings.totals.items:
        rows = total.model.node("y").found.spec.rows.rows
        folds.append(np.concatenate([batch.fold for batch in rows.batches()]))
    assert "w0" in posterior.workings.data.filled
    assert all(np.array_equal(folds[0], other) for other in folds[1:])
    assert len(np.unique(folds[0])) == 5
