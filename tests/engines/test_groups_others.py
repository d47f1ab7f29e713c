"""Groups of columns in the engines that select, bound or refuse, and in what is shared by engines."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import alldags as ad
from alldags import engines
from alldags.engines import K2, Auto, Certified, Exact, Full
from alldags.engines.bounding.search import ordered_system
from alldags.engines.conjugate.free import free_system
from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.exact import log2_sets
from alldags.engines.suits import check_single, takes_groups
from alldags.errors import EngineError
from alldags.kernels.bounding.stack import make_stack
from alldags.kernels.bounding.walk import spread_bound, spread_bound_by_size
from alldags.kernels.noise import NoiseTerm
from alldags.kernels.subsets.block import Weights
from alldags.nodes import NodeProblem
from naive.sets import all_sets, every_set, log_prior, one_set
from problems import grouped_problem

NOISES = {
    "known": ad.priors.KnownNoise(1.3),
    "unknown": ad.priors.UnknownNoise(),
    "counting columns": ad.priors.EquivalentNoise(),
}


def score(problem: NodeProblem, mask: np.ndarray) -> float:
    return one_set(problem, problem.settings[0], mask).log_weight


# -- full and k2 ------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sized", [False, True])
def test_greedy_selection_adds_a_group_at_a_time(noise, sized):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        problem = grouped_problem(rng, (1, 3, 2, 1, 2), NOISES[noise], sized=sized, certain=(2,))
        mask = problem.certain.copy()
        while True:
            whole = [problem.groups == number for number in np.unique(problem.groups[~mask])]
            best = max((mask | group for group in whole), key=lambda one: score(problem, one), default=mask)
            if score(problem, best) <= score(problem, mask):
                break
            mask = best
        found = K2()(problem, rng)
        assert found.mask.tolist() == mask.tolist()
        expected = one_set(problem, problem.settings[0], mask)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
        assert found.log_evidence == pytest.approx(expected.log_weight - log_prior(problem, mask), rel=1e-9)


@pytest.mark.parametrize("sized", [False, True])
def test_the_full_model_has_the_evidence_of_the_full_set_alone(sized):
    problem = grouped_problem(np.random.default_rng(1), (1, 3, 2), sized=sized, taus=(0.5, 4.0))
    found, everything = Full()(problem, np.random.default_rng(0)), np.ones(problem.k, dtype=bool)
    parts = [one_set(problem, setting, everything) for setting in problem.settings]
    logs = np.array([part.log_weight for part in parts]) - log_prior(problem, everything)
    assert found.log_evidence == pytest.approx(float(np.logaddexp.reduce(logs)), rel=1e-10)
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    np.testing.assert_allclose(found.mean, weights @ [part.mean for part in parts], atol=1e-10)


# -- certified --------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_a_group_counts_with_the_product_of_its_variables_ratios(rng):
    heads = np.array([1, 1, 0, 0, 1, 0, 1, 1], dtype=bool)
    k, prefix, log_size = 8, 6, rng.uniform(-6, 0, 9)
    first, last = np.array([0, 1, 4, 6, 7]), np.array([1, 4, 6, 7, 8])
    for log_x in (rng.uniform(-3, 2, k), rng.uniform(-3, 2, k) + 80 * (np.arange(k) == 4)):
        whole = np.array([log_x[i:j].sum() for i, j in zip(first, last, strict=True)])
        plain, sized = (make_stack(np.zeros((k, k)), np.zeros(k), heads, 0.0, k - prefix, False) for _ in range(2))
        plain.log_x[:], sized.log_x[:], sized.size[0] = log_x, log_x, 2
        spread_bound(plain, 0, prefix, 0.3)
        weights = Weights(np.zeros(k), log_size, np.zeros(1), True, NoiseTerm(True, 0.0, 0.0, 0.0), 0.0)
        spread_bound_by_size(sized, 0, prefix, weights, -1.0)
        for place, c in enumerate((0, 1, 4)):
            rest = whole[place + 1 :]
            assert np.log(plain.child[0, c]) == pytest.approx(0.3 + whole[place] + np.logaddexp(0.0, rest).sum())
            bits = (np.arange(2 ** len(rest))[:, None] >> np.arange(len(rest))) & 1
            expected = np.logaddexp.reduce(bits @ rest + log_size[3 + bits.sum(axis=1)]) + whole[place] - 1.0
            assert np.log(sized.child[0, c]) == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(plain.tail[0, [0, 1, 4]], np.cumsum(plain.child[0, [4, 1, 0]])[::-1])


def certified_problem(seed: int, sizes=None) -> NodeProblem:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 1, 1, 2, 3], int(rng.integers(4, 13))) if sizes is None else sizes
    noise, g = (NOISES["known"], NOISES["unknown"])[seed % 2], seed % 5 == 4
    taus = (60.0,) if g else ((1.0,), (0.3, 4.0))[seed % 4 == 1]
    slab = "g" if g else "independent"
    return grouped_problem(
        rng, sizes, noise, sized=seed % 3 == 0, certain=(1,), slab=slab, taus=taus, rows=80, signal=0.4
    )


@pytest.mark.parametrize("seed", range(24))
def test_bounds_of_what_is_left_out_hold(seed):
    problem, rng = certified_problem(seed), np.random.default_rng(0)
    slow, found = Exact()(problem, rng), Certified(max_subsets=2**9, tolerance=1e-3)(problem, rng)
    assert np.all(np.abs(found.mean - slow.mean) <= found.mean_bound + 1e-9)
    assert np.all(np.abs(found.inclusion - slow.inclusion) <= found.inclusion_bound + 1e-9)
    assert found.log_evidence - 1e-9 <= slow.log_evidence <= found.log_evidence + found.log_evidence_bound + 1e-9


@pytest.mark.kernels
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 9])
def test_a_search_that_leaves_nothing_out_has_every_sum(seed):
    problem, rng = certified_problem(seed, sizes=(3, 1, 2, 1, 3)), np.random.default_rng(0)
    slow, found = every_set(problem), Certified(tolerance=1e-14, max_subsets=2**16)(problem, rng)
    assert found.diagnostics.mass_left_out < 1e-12
    for name in ("mean", "inclusion", "second_moment", "second_moment_between"):
        np.testing.assert_allclose(getattr(found, name), getattr(slow, name), atol=1e-9)
    assert found.log_evidence == pytest.approx(slow.log_evidence, rel=1e-10)


def test_certified_answers_about_single_sets():
    problem, rng = certified_problem(2, sizes=(2, 1, 3, 1, 1, 2)), np.random.default_rng(0)
    slow, found = Exact()(problem, rng), Certified(tolerance=1e-12)(problem, rng)
    masks = np.random.default_rng(1).random((12, problem.k)) < 0.2
    np.testing.assert_allclose(found.probability_disjoint(masks), slow.probability_disjoint(masks), atol=1e-9)
    for one, other in zip(found.top_parent_sets(6), slow.top_parent_sets(6), strict=True):
        assert one.parents == other.parents
        assert one.probability == pytest.approx(other.probability, abs=1e-9)
    for column in (0, 1, 4, 8):
        for present in (False, True):
            np.testing.assert_allclose(found.mean_given(column, present), slow.mean_given(column, present), atol=1e-8)
    coefficients, _ = found.draw(2000, np.random.default_rng(3))
    assert (problem.touched(coefficients != 0.0) == (coefficients != 0.0)).all()
    sd = np.sqrt(np.diag(slow.second_moment) - slow.mean**2)
    assert (np.abs(coefficients.mean(axis=0) - slow.mean) < 5 * sd / math.sqrt(2000) + 1e-12).all()


def test_groups_stay_together_in_the_order_of_branching():
    problem = grouped_problem(np.random.default_rng(5), (1, 3, 1, 2, 1))
    ordered = ordered_system(free_system(problem, conjugate_system(problem)), 2**20)
    assert ordered.width == 3
    assert ordered.prefix == 5
    assert ordered.heads.sum() == 5
    assert sorted(ordered.order.tolist()) == list(range(8))
    starts = np.append(np.flatnonzero(ordered.heads), 8)
    for start, stop in pairwise(starts):
        assert (np.diff(ordered.order[start:stop]) == 1).all()
        assert len(set(problem.groups[ordered.order[start:stop]])) == 1


def test_auto_enumerates_proves_or_samples_groups():
    rng, engine = np.random.default_rng(1), Auto(max_exact=9)
    few = grouped_problem(rng, (1, 2, 3, 1, 2))
    assert engine(few, rng).diagnostics.engine == "exact"
    many = grouped_problem(rng, [1] * 8 + [2] * 8, rows=1000, taus=(5.0,))
    clear = replace(many, probability=np.full(many.k, 0.1))
    assert engine(clear, rng).diagnostics.engine == "certified"
    assert replace(engine, max_certified=0)(clear, rng).diagnostics.engine == "mcmc"


def test_sets_of_groups_alone_count_as_what_they_take():
    rng = np.random.default_rng(1)
    plain = grouped_problem(rng, [1] * 12, taus=(1.0, 2.0))
    assert log2_sets(plain) == 13.0
    assert log2_sets(grouped_problem(rng, [2] * 12, taus=(1.0, 2.0))) == 13.0 + math.log2(13.0)
    assert log2_sets(grouped_problem(rng, [2] * 4 + [1] * 5)) == 9.0 + math.log2(1.75)
    assert log2_sets(grouped_problem(rng, [2] * 4 + [1] * 5, certain=(4, 5, 0))) == 6.0 + math.log2(4.0)
    with pytest.raises(EngineError, match="'y' has 28 uncertain candidate parents: 2\\^28 parent sets would take"):
        Exact()(grouped_problem(rng, [2] * 28), rng)


# -- what knows single columns only -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vb", "em", "gibbs"])
def test_engines_of_the_paper_refuse_groups_by_name(name):
    problem, engine = grouped_problem(np.random.default_rng(1), (1, 2)), engines.resolve(name)
    words = f"the engine '{name}' takes single columns, and 'x1' and 'x2' of 'y' enter and leave together"
    with pytest.raises(EngineError, match=words):
        engine(problem, np.random.default_rng(0))
    assert not takes_groups(engine)
    single = replace(problem, groups=np.arange(3))
    np.testing.assert_array_equal(
        engine(single, np.random.default_rng(0)).mean,
        engine(replace(problem, groups=None), np.random.default_rng(0)).mean,
    )


def test_what_flips_columns_one_by_one_says_so():
    problem = grouped_problem(np.random.default_rng(1), (1, 2))
    with pytest.raises(EngineError, match="the sampler of counts takes single columns, and 'x1' and 'x2' of 'y'"):
        check_single("the sampler of counts", problem)
    check_single("anything", replace(problem, groups=None))


# -- shared -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slab", ["independent", "g"])
def test_a_partner_of_a_draw_has_the_same_groups(slab):
    taus = (0.5, 5.0) if slab == "independent" else (10.0, 100.0)
    problem = grouped_problem(np.random.default_rng(3), (1, 3, 2, 1), slab=slab, taus=taus, certain=(2,), signal=0.4)
    node = Exact()(problem, np.random.default_rng(0))
    coefficients, variance = node.draw(20_000, np.random.default_rng(1))
    partners = draw_partners(problem, coefficients, variance, np.random.default_rng(2))
    assert ((partners != 0.0) == (coefficients != 0.0)).all()
    np.testing.assert_allclose(partners.mean(axis=0), node.mean, atol=0.02)
    # given sets and settings the two are independent: their product has the second moment between these
    between = np.zeros(problem.k)
    for setting in problem.settings:
        for mask in all_sets(problem):
            part = one_set(problem, setting, mask)
            between += math.exp(part.log_weight - node.log_evidence) * part.mean**2
    spread = (coefficients * partners).std(axis=0) / math.sqrt(20_000)
    assert np.all(np.abs((coefficients * partners).mean(axis=0) - between) < 5 * spread + 1e-12)
