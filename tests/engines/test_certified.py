"""The certified engine: its bounds hold against full enumeration, and it agrees with the exact engine within them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numba import config

import alldags as ad
from alldags.engines.bounding import search as module
from alldags.engines.bounding.search import ordered_system, run_walk
from alldags.engines.certified import Certified, CertifiedPosterior, certify
from alldags.engines.conjugate.free import free_system
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.exact import ExactPosterior
from alldags.errors import EngineError
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from naive.sets import all_sets
from problems import KINDS, make_problem, random_kind

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_against_full_enumeration(kind, rng, scaled, monkeypatch):
    """150 random problems per kind, walks cut at random thresholds; every bound must hold in every one of them."""
    from alldags.kernels.bounding.walk import Limits

    nontrivial = 0
    for _ in range(scaled(150)):
        k = int(rng.integers(4, 15))
        monkeypatch.setattr(module, "WIDTH", int(rng.integers(0, 4)))
        problem = random_kind(rng, kind, k)
        exact = ExactPosterior(problem)
        free = free_system(problem, conjugate_system(problem))
        system = ordered_system(free, 2**26)
        threshold = float(10 ** rng.uniform(-6, 1))
        limits = Limits(threshold, threshold * 10 ** rng.uniform(0, 4), int(rng.choice([5, 10**9])))
        sums = run_walk(system, limits)
        truth = math.exp(exact.log_evidence - free.log_base - system.weights.reference)
        assert sums.w <= truth * (1 + 1e-9)
        assert truth <= (sums.w + sums.left_out) * (1 + 1e-9)
        nontrivial += sums.w < 0.999 * truth
    assert nontrivial > scaled(150) // 15  # the test could fail


@pytest.mark.parametrize("kind", KINDS)
def test_means_and_inclusions_stay_within_their_bounds(kind, rng, scaled, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", 3)
    for _ in range(scaled(25)):
        problem = random_kind(rng, kind, int(rng.integers(5, 13)), certain=int(rng.integers(0, 3)))
        ours = certify(problem, Certified(tolerance=float(10 ** rng.uniform(-4, -0.5))))
        exact = ExactPosterior(problem)
        mass = ours.diagnostics.mass_left_out
        assert mass <= ours.diagnostics.tolerance
        assert exact.log_evidence - ours.log_evidence + 1e-9 >= 0
        assert exact.log_evidence - ours.log_evidence <= ours.log_evidence_bound + 1e-9
        assert np.all(np.abs(ours.mean - exact.mean) <= ours.mean_bound + 1e-10)
        assert np.all(np.abs(ours.inclusion - exact.inclusion) <= ours.inclusion_bound + 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_exact_when_little_is_left_out(kind, rng, scaled, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", 3)
    for _ in range(scaled(4)):
        problem = random_kind(rng, kind, 9, certain=2)
        ours, exact = certify(problem, Certified(tolerance=1e-12)), ExactPosterior(problem)
        scale = 1 + np.abs(exact.mean).max()
        for name in ("mean", "inclusion", "second_moment", "second_moment_between", "noise_variance", "log_evidence"):
            got, want = np.asarray(getattr(ours, name)), np.asarray(getattr(exact, name))
            np.testing.assert_allclose(got, want, atol=1e-8 * scale**2, err_msg=name)
        masks = rng.random((20, 9)) < 0.3
        np.testing.assert_allclose(ours.probability_disjoint(masks), exact.probability_disjoint(masks), atol=1e-8)
        for present in (True, False):
            np.testing.assert_allclose(ours.mean_given(5, present), exact.mean_given(5, present), atol=1e-8 * scale)
        for got, want in zip(ours.top_parent_sets(8), exact.top_parent_sets(8), strict=True):
            assert got.probability == pytest.approx(want.probability, abs=1e-9)


def test_first_and_second_pass_visit_the_same_sets(rng, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", 2)
    for kind in KINDS:
        ours = certify(random_kind(rng, kind, 10), Certified(tolerance=0.05))
        np.testing.assert_allclose(ours._second.mean, ours._first.mean, rtol=1e-9, atol=1e-12)
        paths, values = ours._states
        assert values.sum() == pytest.approx(ours._search.sums.w, rel=1e-9)
        assert len(np.unique(paths, axis=0)) == len(paths)


def test_numbers_of_the_visited_sets_are_those_of_the_closed_form(rng, monkeypatch):
    """Independently of the exact engine: the kept sets, one by one."""
    monkeypatch.setattr(module, "WIDTH", 0)
    problem = random_kind(rng, "unknown", 7)
    ours = certify(problem, Certified(tolerance=0.02))
    system = conjugate_system(problem)
    masks = ours._masks(np.arange(len(ours._states[1])))
    parts = [summarize_set(system, mask, problem.certain) for mask in masks]
    log_weight = np.array([part.log_weight for part in parts])
    share = np.exp(log_weight - np.logaddexp.reduce(log_weight))
    np.testing.assert_allclose(ours.mean, share @ np.array([part.mean for part in parts]), rtol=1e-9)
    np.testing.assert_allclose(ours.inclusion, share @ masks, rtol=1e-9)
    assert len(masks) < len(all_sets(problem))


def test_draws_follow_the_posterior(rng, monkeypatch):
    monkeypatch.setattr(module, "WIDTH", 3)
    problem = random_kind(rng, "unknown", 8, certain=1)
    ours = certify(problem, Certified(tolerance=1e-8))
    size = 20_000
    coefficients, variance = ours.draw(size, np.random.default_rng(1))
    second = np.diag(ours.second_moment)
    error = np.sqrt(second / size)
    assert np.all(np.abs(coefficients.mean(axis=0) - ours.mean) <= 5 * error)
    assert np.all(np.abs((coefficients != 0).mean(axis=0) - ours.inclusion) <= 5 * 0.5 / math.sqrt(size))
    assert variance.mean() == pytest.approx(ours.noise_variance, rel=0.05)
    again, _ = ours.draw(size, np.random.default_rng(1))
    np.testing.assert_array_equal(coefficients, again)


# -- more candidates than can be enumerated --------------------------------------------------------------------------


def large_problem(seed: int, n: int, k: int, noise: ad.priors.KnownNoise | ad.priors.UnknownNoise) -> NodeProblem:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, k))
    y = x @ (rng.standard_normal(k) * (rng.random(k) < 0.5)) + rng.standard_normal(n)
    return make_problem(x, y, settings=(Setting(1.0, noise),))


@pytest.fixture
def many() -> int:
    """More candidates than can be enumerated; fewer where the walk is not compiled."""
    return 20 if config.DISABLE_JIT else 31


@pytest.mark.parametrize("noise", [ad.priors.KnownNoise(1.0), ad.priors.UnknownNoise()], ids=["known", "unknown"])
def test_many_candidates_are_certified(noise, many):
    posterior = Certified(tolerance=1e-4)(large_problem(3, 200, many, noise), np.random.default_rng(0))
    assert posterior.diagnostics.reached
    assert posterior.diagnostics.warnings == ()
    sharper = Certified(tolerance=1e-6)(large_problem(3, 200, many, noise), np.random.default_rng(0))
    assert np.all(np.abs(posterior.mean - sharper.mean) <= posterior.mean_bound + sharper.mean_bound)
    assert sharper.diagnostics.mass_left_out < posterior.diagnostics.mass_left_out


def test_a_small_budget_is_reported():
    engine = Certified(max_subsets=1, tolerance=1e-4)
    posterior = engine(large_problem(0, 60, 50, ad.priors.UnknownNoise()), np.random.default_rng(0))
    assert not posterior.diagnostics.reached
    assert "raise max_subsets" in posterior.diagnostics.warnings[0]
    assert 0.5 < posterior.diagnostics.mass_left_out <= 1.0
    assert np.all(posterior.mean_bound >= 0)


def test_weights_far_above_the_greedy_set_do_not_overflow():
    problem = large_problem(1, 100, 8, ad.priors.KnownNoise(1.0))
    ours = certify(problem, Certified(tolerance=1e-9))
    free = ours._free
    low = replace(free, weights=free.weights._replace(reference=free.weights.reference - 900.0))
    found = module.search([ordered_system(low, 2**26)], [0.0], 2**26, 1e-9)
    shifted = CertifiedPosterior(problem, Certified(tolerance=1e-9), found.walks[0])
    assert shifted.log_evidence == pytest.approx(ours.log_evidence, abs=1e-8)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_few_or_no_candidates(k):
    problem = large_problem(0, 20, k, ad.priors.UnknownNoise())
    posterior = Certified()(problem, np.random.default_rng(0))
    assert posterior.diagnostics.mass_left_out == 0.0
    np.testing.assert_allclose(posterior.mean, ExactPosterior(problem).mean, atol=1e-12)
    assert posterior.draw(5, np.random.default_rng(0))[0].shape == (5, k)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Certified(max_subsets=0), "max_subsets must be a whole number of at least 1, got 0"),
        (lambda: Certified(tolerance=0.0), "tolerance must be strictly between 0 and 1, got 0.0"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(EngineError, match=message):
        make()
