"""Groups of columns enter and leave a regression as one, in every engine that takes them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines import Exact
from alldags.engines.conjugate.free import layout_of
from alldags.nodes import NodeProblem
from naive.sets import every_set
from naive.with_and_without import WithAndWithout
from problems import grouped_problem

KINDS = {
    "known noise": {"noise": ad.priors.KnownNoise(1.3)},
    "unknown noise": {},
    "noise that counts columns": {"noise": ad.priors.EquivalentNoise()},
    "several slabs": {"taus": (0.2, 1.0, 7.0, 50.0)},
    "g-prior": {"slab": "g", "taus": (60.0,)},
    "several g": {"slab": "g", "taus": (3.0, 60.0, 900.0)},
    "g-prior, known noise": {"noise": ad.priors.KnownNoise(0.8), "slab": "g", "taus": (60.0,)},
    "prior of the number": {"sized": True},
    "prior of the number, several slabs": {"sized": True, "taus": (0.3, 4.0)},
    "number and columns counted": {"sized": True, "noise": ad.priors.EquivalentNoise()},
}
SIZES = {
    "groups alone": (2, 3, 4),
    "among single columns": (1, 3, 1, 2, 1, 1),
    "certain group": (2, 1, 4, 1),
    "certain column": (1, 2, 1, 3),
    "one group": (3,),
}
CERTAIN = {"certain group": (0,), "certain column": (2,)}


@pytest.fixture(params=SIZES)
def sizes(request) -> str:
    return request.param


@pytest.fixture(params=KINDS)
def problem(request, sizes) -> NodeProblem:
    rng = np.random.default_rng(len(request.param) + 31 * len(sizes))
    return grouped_problem(rng, SIZES[sizes], certain=CERTAIN.get(sizes, ()), **KINDS[request.param])


def exact(problem: NodeProblem):
    return Exact()(problem, np.random.default_rng(0))


def agree(found, slow, tolerance: float) -> None:
    for name in ("mean", "inclusion", "second_moment", "second_moment_between"):
        np.testing.assert_allclose(getattr(found, name), getattr(slow, name), rtol=tolerance, atol=tolerance)
    assert found.log_evidence == pytest.approx(slow.log_evidence, rel=tolerance, abs=tolerance)
    assert found.noise_variance == pytest.approx(slow.noise_variance, rel=tolerance)


def all_masks(problem: NodeProblem) -> np.ndarray:
    """Return masks that touch one column or two, and some random ones; shape (masks, k)."""
    one = np.eye(problem.k, dtype=bool)
    two = (one[:, None] | one[None]).reshape(-1, problem.k)
    return np.vstack([two, np.random.default_rng(1).random((8, problem.k)) < 0.4])


@pytest.mark.kernels
def test_every_set_of_groups_is_summed(problem):
    slow, found = every_set(problem), exact(problem)
    assert len(slow.sets) == 2**problem.free
    agree(found, slow, 1e-9)


def test_a_mixture_of_regressions_with_and_without_each_group_says_the_same(problem):
    slow, found = WithAndWithout(problem, exact), exact(problem)
    agree(found, slow, 1e-10)
    masks = all_masks(problem)
    np.testing.assert_allclose(found.probability_disjoint(masks), slow.probability_disjoint(masks), atol=1e-10)
    for column in np.flatnonzero(~problem.certain).tolist():
        for present in (False, True):
            np.testing.assert_allclose(
                found.mean_given(column, present), slow.mean_given(column, present), rtol=1e-10, atol=1e-10
            )


@pytest.mark.kernels
def test_the_best_sets_have_all_columns_of_a_group_or_none(problem):
    slow, found = every_set(problem), exact(problem).top_parent_sets(8)
    best = sorted(slow.sets.values(), reverse=True)[:8]
    np.testing.assert_allclose([item.probability for item in found], best[: len(found)], atol=1e-8)
    for item in found:
        mask = tuple(name in item.parents for name in problem.terms)
        assert item.probability == pytest.approx(slow.sets[mask], abs=1e-8)


def test_draws_have_the_moments_and_split_no_group(problem):
    size, node = 20_000, exact(problem)
    coefficients, variance = node.draw(size, np.random.default_rng(3))
    there = coefficients != 0.0
    assert (problem.touched(there) == there).all()
    sd = np.sqrt(np.diag(node.second_moment) - node.mean**2)
    assert (np.abs(coefficients.mean(axis=0) - node.mean) < 5 * sd / math.sqrt(size) + 1e-12).all()
    assert (np.abs(there.mean(axis=0) - node.inclusion) < 5 * 0.5 / math.sqrt(size)).all()
    assert variance.mean() == pytest.approx(node.noise_variance, rel=0.03)


def test_disjoint_sets_are_the_same_by_table_and_by_refit(monkeypatch):
    problem = grouped_problem(np.random.default_rng(4), (1, 2, 3, 1, 2))
    masks, table = all_masks(problem), exact(problem)
    found = table.probability_disjoint(masks)
    monkeypatch.setattr("alldags.engines.exact._LARGEST_TABLE", 0)
    np.testing.assert_allclose(table.probability_disjoint(masks), found, atol=1e-12)


def test_groups_of_single_columns_are_no_groups():
    plain = grouped_problem(np.random.default_rng(5), (1, 1, 1, 1))
    assert not plain.has_groups
    one, other = exact(plain), exact(replace(plain, groups=None))
    assert (one.mean == other.mean).all()
    assert (one.second_moment == other.second_moment).all()


def test_the_answer_does_not_depend_on_threads_or_on_where_groups_stand(rng):
    problem = grouped_problem(rng, [2, 1] * 9 + [3], rows=100)
    one, two = Exact()(problem, rng), Exact(threads=2)(problem, rng)
    assert (one.second_moment == two.second_moment).all()
    order = np.concatenate([np.flatnonzero(problem.groups == g) for g in rng.permutation(19)])
    turned = replace(
        problem,
        terms=tuple(problem.terms[i] for i in order),
        gram=problem.gram[np.ix_(order, order)],
        cross=problem.cross[order],
        probability=problem.probability[order],
        groups=np.cumsum(np.diff(problem.groups[order], prepend=-1) != 0) - 1,
    )
    np.testing.assert_allclose(Exact()(turned, rng).mean, one.mean[order], atol=1e-12)
    np.testing.assert_allclose(Exact()(turned, rng).second_moment, one.second_moment[np.ix_(order, order)], atol=1e-12)


def test_single_columns_come_first_and_large_groups_last():
    layout = layout_of(np.array([1, 0, 0, 1, 1, 0, 1], dtype=bool))
    assert layout.width == 2
    assert layout.order.tolist() == [3, 6, 4, 5, 0, 1, 2]
    assert layout.first.tolist() == [2, 4, 7]
    assert [(bit, columns.tolist()) for bit, columns in layout.bits] == [
        (1, [3]), (0, [6]), (2, [4, 5]), (3, [0, 1, 2]),
    ]  # fmt: skip
    many = layout_of(np.append(np.ones(13, dtype=bool), [True, False]))
    assert many.width == 10
    assert many.first.tolist() == [10, 11, 12, 13, 15]


# -- the problem itself -----------------------------------------------------------------------------------------------


def prior_sets(problem: NodeProblem) -> dict[tuple[bool, ...], float]:
    """Return the prior probability of every set: the posterior without data."""
    k = problem.k
    return every_set(replace(problem, gram=np.zeros((k, k)), cross=np.zeros(k), total=0.0, n=0.0)).sets


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("certain", [(), (1,), (2,)])
def test_prior_probabilities_count_a_group_once(sized, certain):
    noise = ad.priors.KnownNoise(1.0)
    problem = grouped_problem(np.random.default_rng(6), (2, 1, 3, 1), noise, sized=sized, certain=certain)
    sets = prior_sets(problem)
    for column in range(problem.k):
        share = sum(p for mask, p in sets.items() if mask[column])
        assert problem.prior_inclusion[column] == pytest.approx(share, rel=1e-10)
    for mask in all_masks(problem):
        share = sum(p for chosen, p in sets.items() if not (np.array(chosen) & mask).any())
        assert problem.prior_disjoint(mask) == pytest.approx(share, rel=1e-10, abs=1e-14)


def test_what_is_said_of_one_column_is_said_of_its_group():
    problem = grouped_problem(np.random.default_rng(7), (2, 1, 3, 1), sized=True)
    assert problem.free == 4
    assert problem.groups.tolist() == [0, 0, 1, 2, 2, 2, 3]
    assert problem.starts.tolist() == [0, 2, 3, 6, 7]
    assert problem.leaders.tolist() == [0, 0, 2, 3, 3, 3, 6]
    sure = problem.with_certain(4)
    assert sure.certain.tolist() == [False] * 3 + [True] * 3 + [False]
    assert (sure.free, len(sure.log_size)) == (3, 4)
    assert sure.starts.tolist() == [0, 2, 3, 4, 5, 6, 7]  # a certain column is never flipped
    for named in ([1, 6], np.arange(7) % 6 == 0, [0, 1, 6]):
        rest = problem.without(named)
        assert rest.terms == ("x2", "x3", "x4", "x5")
        assert rest.groups.tolist() == [0, 1, 1, 1]
        assert (rest.free, len(rest.log_size)) == (2, 3)
    assert problem.group_of(5).tolist() == [False] * 3 + [True] * 3 + [False]
    assert problem.touched(np.eye(7, dtype=bool))[1].tolist() == [True, True] + [False] * 5
    nothing = problem.without(range(7))
    assert (nothing.k, nothing.free, nothing.has_groups) == (0, 0, False)


def test_a_slab_of_its_own_width_has_a_grid_of_noise_that_fits_groups(rng):
    prior = ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False), slab_variance=0.7)
    problem = grouped_problem(rng, (1, 2, 3, 1), sized=True)
    problem = replace(problem, settings=prior.settings_of(problem))
    assert len(problem.settings) > 5
    agree(exact(problem), every_set(problem), 1e-8)
    own_grid = lambda plain: exact(replace(plain, settings=prior.settings_of(plain)))  # noqa: E731
    slow = WithAndWithout(problem, own_grid)  # each grid errs by less than 1e-7
    np.testing.assert_allclose(exact(problem).mean, slow.mean, atol=1e-6)
    assert exact(problem).log_evidence == pytest.approx(slow.log_evidence, abs=1e-6)


def test_twelve_uncertain_groups_are_four_thousand_sets(rng):
    problem = grouped_problem(rng, [2] * 12, rows=150)
    assert problem.free == 12
    slow, found = WithAndWithout(problem, exact), exact(problem)
    agree(found, slow, 1e-10)
