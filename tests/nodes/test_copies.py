"""Copies of a column that nobody stated probabilities of: one candidate, under several names."""

import itertools
import math

import numpy as np
import pytest

import alldags as ad
from alldags.models import number
from alldags.nodes.copies import CopiedPosterior
from lines import fit
from naive.sets import log_prior, one_set


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(number, "MOST", 3)


def table_of(rows: int = 40, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.standard_normal((4, rows))
    b += 0.7 * a
    x = 0.6 * a + rng.standard_normal(rows)
    y = 0.5 * b - 0.2 * c + 0.4 * x + rng.standard_normal(rows)
    return {"a": a, "b": b, "b2": b, "c": c, "back": -3.0 * b + 7.0, "d": d, "c2": 10.0 * c, "x": x, "y": y}


CAUSES = ["a", "b", "b2", "c", "back", "d", "c2"]
KINDS = [["a"], ["b", "b2", "back"], ["c", "c2"], ["d"], ["x"]]


def graph_of(probability: float | None = None) -> ad.CandidateGraph:
    return ad.CandidateGraph.from_tiers([CAUSES, ["x"], ["y"]], probability)


def node_of(prior: ad.Prior, linked: bool, child: str = "y") -> CopiedPosterior:
    graph = graph_of()
    if linked:
        graph = graph.with_edge("x", "y", 1.0)
    posterior = fit(table_of(), graph, prior=prior, engine="exact", rng=0)
    models = posterior.workings.about("x") if linked else posterior.workings.models
    found = models.items[0].node(child)
    assert isinstance(found, CopiedPosterior)
    return found


def one_of_each(names: tuple[str, ...]):
    """Yield every set in which no column stands under two of its names."""
    inside = [[name for name in kind if name in names] for kind in KINDS]
    for chosen in itertools.product(*([None, *kind] for kind in inside if kind)):
        there = set(chosen) - {None}
        yield np.array([name in there for name in names]), len(there)


def enumerated(node: CopiedPosterior):
    """Sum over sets and settings: the names of a column that is present are equally probable."""
    problem, names = node.problem, node.parents
    size = {name: len([other for other in kind if other in names]) for kind in KINDS for name in kind}
    free = sum(any(name in names for name in kind) for kind in KINDS) - int(problem.certain.sum())
    parts = []
    for mask, count in one_of_each(names):
        if not mask[problem.certain].all():
            continue
        if problem.log_size is None:
            p = problem.probability
            own = [kind for kind in KINDS if any(name in names for name in kind)]
            prior = 0.0
            for kind in own:
                place = names.index(next(name for name in kind if name in names))
                there = any(mask[names.index(name)] for name in kind if name in names)
                prior += math.log(p[place] if there else 1.0 - p[place]) if p[place] < 1.0 else 0.0
        else:
            prior = float(ad.priors.BetaBinomial().log_size(free)[count - int(problem.certain.sum())])
            prior += float(problem.log_odds[mask].sum())  # relative to each other
        prior -= sum(math.log(size[name]) for name, present in zip(names, mask, strict=True) if present)
        for setting in problem.settings:
            part = one_set(problem, setting, mask)
            parts.append((part.log_weight - log_prior(problem, mask) + prior, mask, part))
    logs = np.array([log for log, _, _ in parts])
    total = float(np.logaddexp.reduce(logs))
    return total, [(weight, mask, part) for weight, (_, mask, part) in zip(np.exp(logs - total), parts, strict=True)]


PRIORS = {
    "default": ad.Prior(),
    "few settings": ad.Prior(slab=ad.priors.LearnedSlab(points=3)),
    "hyper-g": ad.Prior(slab=ad.priors.HyperG(points=5)),
    "known noise": ad.Prior(slab=ad.priors.LearnedSlab(points=3), noise=ad.priors.KnownNoise(0.8)),
}


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", ["few settings", "hyper-g"])
def test_a_node_with_copies_is_the_sum_over_sets_without_two_of_a_kind(name, linked):
    node = node_of(PRIORS[name], linked)
    total, parts = enumerated(node)
    assert node.log_evidence == pytest.approx(total, abs=1e-9)
    mean = sum(weight * part.mean for weight, _, part in parts)
    second = sum(weight * (part.covariance + np.outer(part.mean, part.mean)) for weight, _, part in parts)
    np.testing.assert_allclose(node.mean, mean, atol=1e-10)
    np.testing.assert_allclose(node.inclusion, sum(weight * mask for weight, mask, _ in parts), atol=1e-10)
    np.testing.assert_allclose(node.second_moment, second, atol=1e-10)
    between = sum(weight * np.outer(part.mean, part.mean) for weight, _, part in parts)
    np.testing.assert_allclose(node.second_moment_between, between, atol=1e-10)
    assert node.noise_variance == pytest.approx(sum(weight * part.noise_variance for weight, _, part in parts))


@pytest.mark.parametrize("masked", [["b"], ["b", "c2"], ["b", "b2", "back"], ["a", "back", "c"], []])
def test_probability_that_some_names_are_absent(masked):
    node = node_of(PRIORS["few settings"], linked=False)
    _, parts = enumerated(node)
    mask = np.array([name in masked for name in node.parents])
    want = sum(weight for weight, present, _ in parts if not present[mask].any())
    assert node.probability_disjoint(mask[None])[0] == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("name", ["a", "b2", "back"])
def test_means_given_one_name(name, present):
    node = node_of(PRIORS["few settings"], linked=False)
    _, parts = enumerated(node)
    place = node.parents.index(name)
    chosen = [(weight, part) for weight, mask, part in parts if mask[place] == present]
    want = sum(weight * part.mean for weight, part in chosen) / sum(weight for weight, _ in chosen)
    np.testing.assert_allclose(node.mean_given(place, present), want, atol=1e-10)


def test_draws_have_one_name_of_a_column_and_its_moments():
    node = node_of(PRIORS["few settings"], linked=False)
    drawn, variance = node.draw(60_000, np.random.default_rng(1))
    there = drawn != 0.0
    copies = [node.parents.index(name) for name in ("b", "b2", "back")]
    assert there[:, copies].sum(axis=1).max() == 1
    np.testing.assert_allclose(there.mean(axis=0), node.inclusion, atol=0.01)
    np.testing.assert_allclose(drawn.mean(axis=0), node.mean, atol=0.01)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), node.second_moment, atol=0.01)
    assert variance.mean() == pytest.approx(node.noise_variance, rel=0.02)


def test_an_answer_does_not_change_if_a_column_is_repeated():
    table = table_of()
    distinct = ["a", "b", "c", "d"]
    want = fit(table, ad.CandidateGraph.from_tiers([distinct, ["x"], ["y"]]), rng=0).effect("x", "y")
    got = fit(table, graph_of(), rng=0).effect("x", "y")
    assert (got.mean, got.sd) == (pytest.approx(want.mean, rel=1e-9), pytest.approx(want.sd, rel=1e-9))
    assert got.probability_no_effect == pytest.approx(want.probability_no_effect, abs=1e-9)


def test_stated_probabilities_of_copies_are_kept_copy_by_copy():
    table = table_of()
    node = fit(table, graph_of(0.5), rng=0).workings.models.items[0].node("y")
    assert not isinstance(node, CopiedPosterior)
    assert node.prior_inclusion.tolist() == [0.5] * 8
    part = graph_of().with_edge("b2", "y", 0.2)
    mixed = fit(table, part, rng=0).workings.models.items[0].node("y")
    assert mixed.prior_inclusion[mixed.parents.index("b2")] == 0.2
    assert mixed.kinds.owner[mixed.parents.index("b")] == mixed.kinds.owner[mixed.parents.index("back")]
    assert mixed.kinds.owner[mixed.parents.index("b")] != mixed.kinds.owner[mixed.parents.index("b2")]


def test_copies_in_other_units_are_told_apart_where_the_prior_is_about_units():
    prior = ad.Prior(units="raw", slab=ad.priors.LearnedSlab(points=3))
    node = fit(table_of(), graph_of(), prior=prior, rng=0).workings.models.items[0].node("y")
    places = [node.parents.index(name) for name in ("b", "b2", "back", "c", "c2")]
    assert node.kinds.owner[places[0]] == node.kinds.owner[places[1]]
    assert len({int(owner) for owner in node.kinds.owner[places]}) == 4


def test_what_drives_the_treatment_does_so_under_each_of_its_names():
    posterior = fit(table_of(), graph_of().with_edge("x", "y", 1.0), rng=0)
    link = posterior.workings.about("x").items[0]._link
    found = link.inclusion("x")
    assert found["b"] == found["b2"] == found["back"]
    alone = fit(table_of(), ad.CandidateGraph.from_tiers([["a", "b", "c", "d"], ["x"], ["y"]]), rng=0)
    assert alone.workings.about("x").items[0]._link.inclusion("x")["b"] == pytest.approx(found["b"], rel=1e-9)
