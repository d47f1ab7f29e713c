"""A posterior over columns, read onto parents of which some are categories."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines import MCMC, Certified, Exact
from alldags.nodes.build import NodeTerms, build, column_terms
from alldags.nodes.data import working_data
from alldags.nodes.onto import ParentsPosterior, parents_problem
from naive.with_and_without import WithAndWithout

PARENTS = ("a", "site", "b", "kind", "shop", "x")
COLUMNS = {"site": ("s1", "s2", "s3"), "kind": ("k1", "k2"), "shop": ("h1", "h2", "h3", "h4")}
NAMES = ("a", "s1", "s2", "s3", "b", "k1", "k2", "h1", "h2", "h3", "h4", "x", "y")
LINES = [0, 2, 5]
PRIORS = {
    "fixed slab": ad.Prior(slab_variance=0.7),
    "learned slab": ad.Prior(),
    "fine grid": ad.Prior(slab=ad.priors.LearnedSlab(points=17)),
    "g-prior": ad.Prior(slab=ad.priors.GPrior("n")),
    "hyper-g": ad.Prior(slab=ad.priors.HyperG(points=11)),
    "Zellner-Siow": ad.Prior(slab=ad.priors.ZellnerSiow(points=11)),
    "known noise": ad.Prior(noise=ad.priors.KnownNoise(1.4)),
    "noise that ties directions": ad.Prior(noise=ad.priors.EquivalentNoise()),
    "beta-binomial": ad.Prior(edges=ad.priors.BetaBinomial()),
    "relative odds": ad.Prior(edges=ad.priors.BetaBinomial(1.0, 3.0, relative=True)),
    "beta-binomial, hyper-g": ad.Prior(slab=ad.priors.HyperG(points=7), edges=ad.priors.BetaBinomial()),
    "equal edges": ad.Prior(edges=ad.priors.EqualEdges(0.2)),
    "no intercept, raw": ad.Prior(slab_variance=1.3, units="raw", intercept=False),
}
CERTAIN = {
    "all uncertain": (),
    "a certain category": ("kind",),
    "a certain number": ("b",),
    "certain ones of both": ("site", "a"),
    "categories certain": ("site", "kind", "shop"),
}


def child_data(prior: ad.Prior, seed: int = 0, rows: int = 90):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((rows, len(NAMES))) + 0.4 * rng.standard_normal((rows, 1))
    table[:, -1] += table[:, [1, 2, 11]] @ np.array([0.3, -0.2, 0.2])
    return working_data(ad.Moments.from_table(table, names=NAMES), prior, NAMES).of("y")


def node_terms(certain=(), raised=None, alike: bool = False) -> NodeTerms:
    stated = dict(zip(PARENTS, [0.4] * 6 if alike else [0.3, 0.4, 0.5, 0.2, 0.35, 0.6], strict=True))
    return NodeTerms("y", PARENTS, tuple((stated | dict.fromkeys(certain, 1.0)).values()), raised)


def exact(problem):
    return Exact()(problem, np.random.default_rng(0))


def onto_parents(values: np.ndarray) -> np.ndarray:
    """Return an array over columns as one over parents, zero at categories: by names."""
    out, places = np.zeros((6,) * values.ndim), [NAMES.index(PARENTS[i]) for i in LINES]
    out[np.ix_(*[LINES] * values.ndim)] = values[np.ix_(*[places] * values.ndim)]
    return out


def first_columns() -> list[int]:
    return [NAMES.index(COLUMNS.get(name, (name,))[0]) for name in PARENTS]


@pytest.mark.parametrize("certain", CERTAIN)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("link", [None, (0.0, 0.9, 0.3, 0.0, 0.5, 0.0)], ids=["", "raised"])
def test_one_problem_with_groups_says_what_a_mixture_of_regressions_says(prior, certain, link):
    alike = prior.startswith(("beta", "equal"))
    terms = node_terms(CERTAIN[certain], link, alike)
    problem = build(child_data(PRIORS[prior]), column_terms(terms, COLUMNS), PRIORS[prior])
    found, slow = ParentsPosterior(exact(problem), PARENTS), WithAndWithout(problem, exact)
    close = {"rtol": 1e-10, "atol": 1e-10}
    for name in ("mean", "second_moment", "second_moment_between"):
        np.testing.assert_allclose(getattr(found, name), onto_parents(getattr(slow, name)), **close)
    np.testing.assert_allclose(found.inclusion, slow.inclusion[first_columns()], **close)
    assert found.log_evidence == pytest.approx(slow.log_evidence, rel=1e-12, abs=1e-10)
    masks = np.array([[bool(i >> j & 1) for j in range(6)] for i in range(1, 64, 3)])
    wide = masks[:, problem.groups]
    np.testing.assert_allclose(found.probability_disjoint(masks), slow.probability_disjoint(wide), **close)
    for parent in np.flatnonzero(~found.certain).tolist():
        for present in (False, True):
            expected = onto_parents(slow.mean_given(first_columns()[parent], present))
            np.testing.assert_allclose(found.mean_given(parent, present), expected, **close)


def posterior(engine=None, **options) -> ParentsPosterior:
    prior = ad.Prior(slab_variance=0.7)
    problem = build(child_data(prior), column_terms(node_terms(**options), COLUMNS), prior)
    return ParentsPosterior((engine or Exact())(problem, np.random.default_rng(0)), PARENTS)


def test_parents_are_in_the_order_of_the_graph():
    found = posterior(certain=("kind",), raised=(0.0, 0.5, 0.0, 0.0, 0.0, 0.0))
    assert found.parents == PARENTS
    assert found.lines.tolist() == [True, False, True, False, False, True]
    assert found.certain.tolist() == [False, False, False, True, False, False]
    np.testing.assert_allclose(found.prior_inclusion, [0.3, 0.7, 0.5, 1.0, 0.35, 0.6])
    np.testing.assert_allclose(found.stated_inclusion, [0.3, 0.4, 0.5, 1.0, 0.35, 0.6])
    np.testing.assert_allclose(found.raised, [0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    assert found.has_independent_edges
    assert found.origin.terms[1] == 0.0
    assert found.problem.groups is None
    assert found.columns.problem.terms == NAMES[:-1]


def test_draws_are_zero_at_categories_and_columns_have_their_levels():
    found = posterior()
    coefficients, variance = found.draw(3000, np.random.default_rng(1))
    inner, again = found.columns.draw(3000, np.random.default_rng(1))
    assert coefficients.shape == (3000, 6)
    assert not coefficients[:, ~found.lines].any()
    np.testing.assert_array_equal(coefficients[:, LINES], inner[:, [0, 4, 11]])
    np.testing.assert_array_equal(variance, again)
    assert inner[:, 1:4].any()


def test_best_sets_name_parents():
    found = posterior()
    tops = found.top_parent_sets(64)
    assert sum(item.probability for item in tops) == pytest.approx(1.0)
    for place, name in enumerate(PARENTS):
        share = sum(item.probability for item in tops if name in item.parents)
        assert share == pytest.approx(found.inclusion[place], abs=1e-9)


def test_second_moments_of_some_parents_are_a_part_of_all():
    found = posterior()
    for places in ([0], [2, 5], [0, 1], [1]):
        part = found.second_moment[np.ix_(places, places)]
        np.testing.assert_allclose(found.second_moments(places), part, atol=1e-15)
        between = found.second_moment_between[np.ix_(places, places)]
        np.testing.assert_allclose(found.second_moments_between(places), between, atol=1e-15)


def test_errors_and_bounds_are_those_of_the_columns():
    sampled, bounded = posterior(MCMC()), posterior(Certified(tolerance=0.1, max_subsets=2))
    weights = np.array([1.0, 7.0, -2.0, 7.0, 7.0, 0.5])  # those of categories weigh nothing
    inner = np.zeros(12)
    inner[[0, 4, 11]] = 1.0, -2.0, 0.5
    assert sampled.linear_error(weights) == sampled.columns.linear_error(inner) > 0
    assert sampled.set_draws == sampled.columns.set_draws < math.inf
    assert sampled.log_evidence_error == sampled.columns.log_evidence_error > 0
    assert posterior().log_evidence_error == 0.0
    np.testing.assert_array_equal(bounded.mean_bound, onto_parents(bounded.columns.mean_bound))
    np.testing.assert_array_equal(bounded.inclusion_bound, bounded.columns.inclusion_bound[first_columns()])


def test_terms_of_single_columns_have_no_groups():
    terms = node_terms(raised=(0.1,) * 6)
    assert column_terms(terms, {}) == terms
    written = column_terms(terms, COLUMNS)
    assert written.groups == (0, 1, 1, 1, 2, 3, 3, 4, 4, 4, 4, 5)
    assert written.names == NAMES[:-1]
    assert written.probability[1:4] == (0.4,) * 3
    assert written.raised == (0.1,) * 12
    assert column_terms(replace(terms, raised=None), COLUMNS).raised is None


def test_a_category_of_one_column_is_no_line():
    prior = ad.Prior(slab_variance=0.7)
    terms = column_terms(NodeTerms("y", ("a", "site"), (0.5, 0.5)), {"site": ("s1",)})
    problem = build(child_data(prior), terms, prior)
    assert problem.groups is None
    found = ParentsPosterior(exact(problem), ("a", "site"))
    assert found.lines.tolist() == [True, False]
    assert found.mean[1] == 0.0
    assert parents_problem(problem, ("a", "site")).gram[1, 1] == 0.0
