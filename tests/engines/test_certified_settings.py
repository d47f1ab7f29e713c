"""The certified engine over several hyperparameter values: one sum, one certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines.bounding import search as module
from alldags.engines.certified import Certified, CertifiedMixture, certify
from alldags.engines.exact import Exact
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from naive.sets import brute_force
from problems import KINDS, nine_settings, random_kind

EASY = Certified(tolerance=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_enumeration_of_all_pairs_when_little_is_left_out(kind, rng, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", 3)
    for _ in range(4):
        problem = nine_settings(random_kind(rng, kind, int(rng.integers(6, 11)), certain=int(rng.integers(0, 3))))
        ours, exact = certify(problem, EASY), Exact()(problem, rng)
        scale = 1 + np.abs(exact.mean).max()
        for name in ("mean", "inclusion", "second_moment", "second_moment_between", "noise_variance", "log_evidence"):
            got, want = np.asarray(getattr(ours, name)), np.asarray(getattr(exact, name))
            np.testing.assert_allclose(got, want, atol=1e-7 * scale**2, err_msg=name)
        masks = rng.random((20, problem.k)) < 0.3
        np.testing.assert_allclose(ours.probability_disjoint(masks), exact.probability_disjoint(masks), atol=1e-7)
        for present in (True, False):
            got, want = ours.mean_given(problem.k - 1, present), exact.mean_given(problem.k - 1, present)
            np.testing.assert_allclose(got, want, atol=1e-7 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_an_upper_bound(kind, rng, scaled, monkeypatch):
    """Random tolerances and budgets down to a single block: every bound must hold, and some must be put to the test."""
    missed = 0
    for _ in range(scaled(25)):
        monkeypatch.setattr(module, "WIDTH", int(rng.integers(0, 4)))
        problem = nine_settings(random_kind(rng, kind, int(rng.integers(5, 14)), certain=int(rng.integers(0, 3))))
        engine = Certified(2 ** int(rng.integers(0, 12)), tolerance=float(10 ** rng.uniform(-6, -0.5)))
        ours, exact = certify(problem, engine), Exact()(problem, rng)
        loss = exact.log_evidence - ours.log_evidence
        assert loss >= -1e-9
        assert loss <= ours.log_evidence_bound + 1e-9
        assert -math.expm1(-loss) <= ours.diagnostics.mass_left_out + 1e-9
        assert np.all(np.abs(ours.mean - exact.mean) <= ours.mean_bound + 1e-9 * (1 + np.abs(exact.mean).max()))
        assert np.all(np.abs(ours.inclusion - exact.inclusion) <= ours.inclusion_bound + 1e-9)
        missed += loss > 1e-4
    assert missed > 3  # the test could fail


def test_the_certificate_holds_with_eighteen_candidates(rng):
    for seed, budget in ((0, 1), (1, 2**15), (2, 2**18), (3, 2**24)):
        problem = nine_settings(random_kind(np.random.default_rng(seed), "unknown", 18))
        ours, exact = certify(problem, Certified(budget, 1e-5)), Exact()(problem, rng)
        assert 0 <= exact.log_evidence - ours.log_evidence + 1e-9 <= ours.log_evidence_bound + 2e-9
        assert np.all(np.abs(ours.mean - exact.mean) <= ours.mean_bound + 1e-9)
        assert np.all(np.abs(ours.inclusion - exact.inclusion) <= ours.inclusion_bound + 1e-9)
    assert ours.diagnostics.reached


@pytest.mark.parametrize("kind", ["unknown", "g", "sizes unknown"])
def test_agrees_with_brute_force_over_values_and_sets(kind, rng, monkeypatch):
    """Independently of the exact engine."""
    monkeypatch.setattr(module, "WIDTH", 2)
    problem = nine_settings(random_kind(rng, kind, 6))
    log_evidence, inclusion, mean = brute_force(problem)
    for tolerance in (0.1, 1e-3, 1e-10):
        ours = Certified(tolerance=tolerance)(problem, rng)
        assert ours.diagnostics.mass_left_out <= tolerance
        assert np.all(np.abs(ours.inclusion - inclusion) <= ours.inclusion_bound + 1e-10)
        assert np.all(np.abs(ours.mean - mean) <= ours.mean_bound + 1e-10)
    assert ours.log_evidence == pytest.approx(log_evidence, abs=1e-8)
    np.testing.assert_allclose(ours.mean_given(2, True), brute_force(problem.with_certain(2))[2], atol=1e-8)


def test_values_without_evidence_cost_one_bound(rng):
    """A strong signal: slabs far too narrow for it are cut at the root, where the bound of everything is small."""
    n, k = 200, 22
    x = rng.standard_normal((n, k))
    y = x @ np.r_[np.full(4, 30.0), np.zeros(k - 4)] + rng.standard_normal(n)
    problem = NodeProblem(
        "y", tuple(f"x{i}" for i in range(k)), x.T @ x, x.T @ y, float(y @ y), float(n), np.full(k, 0.5),
        (Setting(1.0, ad.priors.UnknownNoise()),),
    )  # fmt: skip
    ours = certify(nine_settings(problem), Certified(tolerance=1e-4))
    assert isinstance(ours, CertifiedMixture)
    visited = [part.diagnostics.subsets for part in ours.parts]
    assert visited[0] == 0
    assert ours.weights[0] == 0
    assert max(visited) > 0
    assert ours.diagnostics.reached
    alone = [certify(nine_settings(problem).with_setting(one), Certified(tolerance=1e-4)) for one in problem.settings]
    assert all(part.diagnostics.reached for part in alone)
    draws, _ = ours.draw(2000, rng)
    np.testing.assert_allclose(draws[:, :4].mean(axis=0), 30.0, rtol=0.02)


def test_the_budget_is_that_of_all_values_together(rng):
    problem = nine_settings(random_kind(rng, "unknown", 30))
    ours = certify(problem, Certified(2**20, 1e-12))
    width = ours.parts[0]._ordered.width
    assert ours.diagnostics.subsets <= 2**20 + 9 * 2**width  # each value may sum the block it begins with
    assert not ours.diagnostics.reached
    assert "raise max_subsets" in ours.diagnostics.warnings[0]
