"""Every number of the effect layer against a sum over every graph and every path."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from lines import fit
from naive import effects as naive
from problems import PRIORS, random_world

CASES = [(seed, name) for name in PRIORS for seed in range(5)]
EXACT = {"rel": 1e-9, "abs": 1e-12}


@pytest.fixture(params=CASES, ids=lambda case: f"{case[1]} {case[0]}", scope="module")
def case(request):
    seed, prior = request.param
    world = random_world(seed, PRIORS[prior])
    posterior = world.fit()
    return world, posterior, posterior.effect("a", world.names[-1]), world.naive_effect("a", world.names[-1])


def test_mean_and_variance(case):
    _, _, effect, truth = case
    assert effect.mean == pytest.approx(truth.mean, **EXACT)
    assert effect.sd**2 == pytest.approx(truth.variance, rel=1e-9, abs=1e-11)


def test_structural_and_coefficient_parts(case):
    _, _, effect, truth = case
    between = truth.between - truth.mean**2
    assert effect.uncertainty.structure**2 == pytest.approx(between, rel=1e-9, abs=1e-11)
    assert effect.uncertainty.coefficients**2 == pytest.approx(truth.variance - between, rel=1e-9, abs=1e-11)


def test_inclusion_and_evidence(case):
    world, posterior, _, truth = case
    table = posterior.edge_probabilities()
    found = {(row["cause"], row["effect"]): row["posterior"] for row in table.rows()}
    for (cause, effect), probability in found.items():
        expected = truth.inclusion[world.names.index(cause), world.names.index(effect)]
        assert probability == pytest.approx(expected, **EXACT)
    assert posterior.log_evidence == pytest.approx(truth.log_evidence, rel=1e-9)


def test_edge_influence(case):
    world, _, effect, truth = case
    for row in effect.edge_influence().rows():
        i, j = world.names.index(row["cause"]), world.names.index(row["effect"])
        assert row["effect_if_present"] == pytest.approx(truth.edge_mean_present[i, j], rel=1e-9, abs=1e-11)
        assert row["effect_if_absent"] == pytest.approx(truth.edge_mean_absent[i, j], rel=1e-9, abs=1e-11)
        p, gap = row["posterior"], row["effect_if_present"] - row["effect_if_absent"]
        assert row["variance_removed"] == pytest.approx(p * (1 - p) * gap**2 / truth.variance, rel=1e-6, abs=1e-12)


def test_sign_flips_where_it_says(case):
    world, _, effect, _ = case
    for row in effect.edge_influence().rows():
        if not math.isnan(row["sign_flips_at"]) and 1e-6 < row["sign_flips_at"] < 1 - 1e-6:
            graph = world.graph.with_edge(row["cause"], row["effect"], row["sign_flips_at"])
            again = fit(world.rows, graph, names=world.names, prior=world.prior, engine="exact", robust=False)
            size = abs(row["effect_if_present"]) + abs(row["effect_if_absent"])
            assert again.effect("a", world.names[-1]).mean == pytest.approx(0.0, abs=1e-9 * size)


def test_no_path(case):
    _, _, effect, truth = case
    assert effect.probability_no_effect == pytest.approx(truth.no_path, **EXACT)
    assert effect.probability.no_effect_error == 0.0


@pytest.mark.parametrize("x", [-1.0, 0.0, 2.5])
def test_do(case, x):
    world, _, effect, truth = case
    n = len(world.rows)
    mean_x, mean_y = (world.rows[:, 0].mean(), world.rows[:, -1].mean()) if world.prior.intercept else (0.0, 0.0)
    widen = 1 + 1 / n if world.prior.intercept else 1.0
    found = effect.do(x).new_unit
    assert found.mean == pytest.approx(mean_y + truth.mean * (x - mean_x), **EXACT)
    variance = truth.variance * (x - mean_x) ** 2 + widen * truth.do_variance
    assert found.sd**2 == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("x", [-1.0, 0.0, 2.5])
def test_the_mean_over_rows_when_each_keeps_its_residual(case, x):
    world, _, effect, truth = case
    step, found = x - world.rows[:, 0].mean(), effect.do(x, draws_size=3000).mean
    assert float(found) == pytest.approx(world.rows[:, -1].mean() + truth.mean * step, **EXACT)
    assert found.sd == pytest.approx(abs(step) * math.sqrt(truth.variance), rel=1e-9, abs=1e-12)
    assert found.draws.shape == (3000,)
    np.testing.assert_allclose(found.draws, world.rows[:, -1].mean() + effect.draws(3000) * step, atol=1e-12)


def test_paths_and_matrix_form_agree(case):
    world, posterior, effect, _ = case
    target = world.names[-1]
    assert posterior.effects()["a", target] == pytest.approx(effect.mean, **EXACT)
    assert posterior.effects_sd()["a", target] == pytest.approx(effect.sd, **EXACT)
    for limit in (1, 2, 50):
        assert math.fsum(effect.paths(limit)["mean"]) == pytest.approx(effect.mean, **EXACT)
    assert "all other paths" not in effect.paths(50)["path"]


def test_draws_agree_with_exact_moments(case):
    _, _, effect, truth = case
    size = 40_000
    draws = effect.draws(size)
    share = np.mean(draws == 0.0)
    assert share == pytest.approx(truth.no_path, abs=4.5 * math.sqrt(0.25 / size))
    # standard errors of mean and variance from the draws' own fourth moment; 4.5 of them is 1 in 150,000
    assert draws.mean() == pytest.approx(truth.mean, abs=4.5 * draws.std() / math.sqrt(size) + 1e-12)
    fourth = np.var((draws - draws.mean()) ** 2)
    assert draws.var() == pytest.approx(truth.variance, abs=4.5 * math.sqrt(fourth / size) + 1e-12)


def test_do_draws_agree_with_exact_moments(case):
    _, _, effect, _ = case
    found = effect.do(1.0, draws_size=20_000).new_unit
    second = found.centers**2 + found.spreads**2
    error = 4.5 * second.std() / math.sqrt(len(second)) + 1e-9
    assert second.mean() == pytest.approx(found.sd**2 + found.mean**2, abs=error)
    assert found.cdf(found.quantile(0.3)) == pytest.approx(0.3, abs=1e-6)
    grid = np.linspace(found.quantile(1e-5), found.quantile(1 - 1e-5), 4001)
    assert np.trapezoid(found.density(grid), grid) == pytest.approx(1.0, abs=1e-3)


def test_what_runs_through_a_mediator_is_a_product_of_legs(case):
    world, posterior, effect, _ = case
    target = world.names[-1]
    for name in world.names[1:-1]:
        try:
            found = effect.mediation([name], products=False).indirect
        except ad.GraphError as error:
            assert "on no candidate path" in str(error)  # noqa: PT017
            continue
        first, second = posterior.effect("a", name), posterior.effect(name, target)
        assert found.mean == pytest.approx(first.mean * second.mean, **EXACT)
        square = (first.sd**2 + first.mean**2) * (second.sd**2 + second.mean**2)
        assert found.sd**2 + found.mean**2 == pytest.approx(square, rel=1e-9, abs=1e-12)


def test_mediation_along_straight_lines_is_a_sum_over_graphs_and_paths(case):
    world, _, effect, _ = case
    paths = {tuple(row["path"].split(" -> ")): row for row in effect.paths(5000).rows()}
    between = [name for name in world.names[1:-1] if any(name in path for path in paths)]
    if len(between) < 2:
        pytest.skip("fewer than two mediators")
    found = effect.mediation(between[:2][::-1], products=False)
    assert found.through == tuple(between[:2])
    through = {path: [name for name in path if name in found.through] for path in paths}

    def total(chosen):
        return math.fsum(paths[path]["mean"] for path in paths if chosen(through[path]))

    assert found.direct.mean == pytest.approx(total(lambda names: not names), **EXACT)
    assert found.indirect.mean == pytest.approx(total(bool), **EXACT)
    for name, part in found.parts.items():
        assert part.mean == pytest.approx(total(lambda names, name=name: names[:1] == [name]), **EXACT)
    for one in (found.total, found.direct, found.indirect, *found.parts.values()):
        fourth = np.var((one.draws - one.draws.mean()) ** 2)
        error = 4.5 * math.sqrt(fourth / len(one.draws)) + 1e-12
        assert one.draws.var() == pytest.approx(one.sd**2, abs=error)
    np.testing.assert_allclose(found.direct.draws + found.indirect.draws, found.total.draws, atol=1e-9)
    for path, row in paths.items():
        along = effect.along(path, products=False)
        assert (along.mean, along.sd) == pytest.approx((row["mean"], row["sd"]), rel=1e-12, abs=1e-12)


def test_several_graphs_with_opposite_directions():
    """Under known noise; otherwise nodes with open directions have the prior of blocks: `tests/orders`."""
    world = random_world(3, PRIORS["known"], variables=4)
    forward = world.probability
    backward = forward.copy()
    backward[1, 2], backward[2, 1] = 0.0, 0.7
    graphs = [ad.CandidateGraph.from_matrix(matrix, world.names) for matrix in (forward, backward)]
    posterior = fit(
        world.rows, graphs, graph_weights=[0.7, 0.3], names=world.names, prior=world.prior, engine="exact", rng=0
    )
    effect = posterior.effect("a", "d")
    parts = [
        naive.effect(world.naive_rows, matrix, world.prior.slab_variance, world.naive_noise, 0, 3)
        for matrix in (forward, backward)
    ]
    log = np.log([0.7, 0.3]) + [part.log_evidence for part in parts]
    evidence = np.logaddexp.reduce(log)
    w = np.exp(log - evidence)
    mean = w @ [part.mean for part in parts]
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-9)
    assert posterior.graph_probabilities == pytest.approx(w, rel=1e-9)
    assert effect.mean == pytest.approx(mean, **EXACT)
    assert effect.sd**2 == pytest.approx(w @ [part.second for part in parts] - mean**2, rel=1e-9, abs=1e-11)
    assert effect.uncertainty.structure**2 == pytest.approx(
        w @ [part.between for part in parts] - mean**2, rel=1e-8, abs=1e-11
    )
    assert effect.probability_no_effect == pytest.approx(w @ [part.no_path for part in parts], **EXACT)
    inclusion = np.tensordot(w, [part.inclusion for part in parts], 1)
    present = np.tensordot(w, [part.inclusion * np.nan_to_num(part.edge_mean_present) for part in parts], 1)
    for row in posterior.edge_probabilities().rows():
        i, j = world.names.index(row["cause"]), world.names.index(row["effect"])
        assert row["posterior"] == pytest.approx(inclusion[i, j], **EXACT)
    for row in effect.edge_influence().rows():
        i, j = world.names.index(row["cause"]), world.names.index(row["effect"])
        assert row["effect_if_present"] == pytest.approx(present[i, j] / inclusion[i, j], rel=1e-8, abs=1e-11)
    assert math.fsum(effect.paths(1)["mean"]) == pytest.approx(mean, **EXACT)
    draws = effect.draws(20_000)
    assert draws.mean() == pytest.approx(mean, abs=4.5 * draws.std() / math.sqrt(len(draws)))


def test_wide_graphs_fall_back_to_draws_for_no_path(monkeypatch):
    from alldags.effects import reach

    world = random_world(1, PRIORS["known"])
    truth = world.naive_effect("a", world.names[-1])
    monkeypatch.setattr(reach.probability_no_effect, "__defaults__", (0,))
    effect = world.fit().effect("a", world.names[-1])
    assert effect.probability.no_effect_error > 0
    assert effect.probability_no_effect == pytest.approx(truth.no_path, abs=5 * effect.probability.no_effect_error)


def test_top_graphs_are_the_most_probable(rng):
    world = random_world(2, PRIORS["unknown"], variables=4)
    posterior = world.fit()
    graphs = list(naive.all_graphs(world.rows, world.probability, 1.3, world.naive_noise))
    log = np.array([weight for weight, _ in graphs])
    w = np.sort(np.exp(log - np.logaddexp.reduce(log)))[::-1]
    found = posterior.top_graphs(7)
    assert [graph.probability for graph in found] == pytest.approx(w[:7], rel=1e-9)
    assert sum(graph.probability for graph in posterior.top_graphs(len(w))) == pytest.approx(1.0, rel=1e-9)
    median = posterior.median_probability_graph()
    rows = posterior.edge_probabilities().rows()
    assert set(median.edges) == {(r["cause"], r["effect"]) for r in rows if r["posterior"] > 0.5}


def test_the_largest_products_are_found_without_looking_at_all(rng):
    from alldags.effects.ranking import _best_pairs

    for sizes in [(1, 1), (3, 40), (50, 7), (60, 60)]:
        first, second = (-np.sort(-rng.integers(1, 9, size=n) / 8.0) for n in sizes)  # with many ties
        for size in (1, 5, 64, 10_000):
            before, added, products = _best_pairs(first, second, size)
            every = sorted((-a * b, i, j) for i, a in enumerate(first) for j, b in enumerate(second))[:size]
            assert list(zip(-products, before, added, strict=True)) == every


def test_very_many_top_graphs_take_seconds():
    import time

    names = [f"v{i}" for i in range(12)]
    table = np.random.default_rng(0).normal(size=(60, 12))
    posterior = fit(table, ad.CandidateGraph.from_order(names), names=names, prior=ad.Prior(link=0.0))
    posterior.edge_probabilities()
    begin = time.process_time()
    found = posterior.top_graphs(100_000)
    assert time.process_time() - begin < 8.0  # half a minute, when every graph met every parent set
    assert len({frozenset(graph.edges) for graph in found}) == 100_000
    values = [graph.probability for graph in found]
    assert values == sorted(values, reverse=True)
