"""Weighted lists of models: averages, draws, errors, and nodes shared by all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines import resolve
from alldags.engines.exact import Exact
from alldags.errors import GraphError
from alldags.models.components import fitted_mixture
from alldags.models.mixture import Mixture, Slope, Weights
from alldags.models.store import NodeStore
from alldags.nodes.data import working_data
from lines import fit


class Model:
    def __init__(self, log_evidence: float, value: float | None) -> None:
        self.log_evidence = log_evidence
        self.value = value


@pytest.fixture
def models():
    return (Model(0.0, 1.0), Model(math.log(3.0), 2.0), Model(-math.inf, math.inf))


@pytest.fixture
def mixture(models):
    return Mixture.of(models, (0.5, 0.25, 0.25))


def test_weights_are_prior_times_evidence(mixture):
    np.testing.assert_allclose(mixture.weights.posterior, [0.4, 0.6, 0.0])
    assert mixture.weights.log_evidence == pytest.approx(math.log(0.5 + 0.75))


def test_the_evidence_of_a_single_model_is_not_asked_for():
    assert Weights((1.0,), [object()]).posterior == (1.0,)


def test_averages_leave_out_what_has_no_weight(mixture):
    assert mixture.average(lambda model: model.value) == pytest.approx(1.6)
    np.testing.assert_allclose(mixture.average_array(lambda model: np.full(2, model.value)), 1.6)
    assert mixture.prior_average(lambda model: min(model.value, 5.0)) == pytest.approx(0.5 + 0.5 + 1.25)
    assert mixture.heaviest.value == 2.0


def test_a_number_that_one_model_does_not_know_is_not_known(models):
    known = Mixture.of(models[:2], (0.5, 0.5))
    assert known.average_known(lambda model: model.value) == pytest.approx(1.75)
    assert known.average_known(lambda model: None if model.value == 1.0 else 1.0) is None


def test_draws_come_from_the_models_by_weight_in_random_order(mixture):
    draws = mixture.draw(10_000, np.random.default_rng(0), lambda model, size, rng: np.full(size, model.value))
    assert draws.mean() == pytest.approx(1.6, abs=4 * 0.49 / 100)
    assert draws[:5000].mean() == pytest.approx(draws[5000:].mean(), abs=0.06)


class Sampled:
    """Stands for a node whose means have independent errors of 0.1."""

    def linear_error(self, weights):
        return 0.1 * float(np.linalg.norm(weights))


def test_errors_of_a_shared_node_add_up_and_those_of_different_children_do_not():
    shared, first, second = Sampled(), Sampled(), Sampled()
    pair = Mixture.of((Model(0.0, 0.0), Model(0.0, 1.0)), (0.5, 0.5))
    one = np.ones(1)
    assert pair.error(lambda _: [Slope("a", shared, one)]) == pytest.approx(0.1)
    own = {0.0: Slope("a", first, one), 1.0: Slope("b", second, one)}
    assert pair.error(lambda model: [own[model.value]]) == pytest.approx(0.1 / math.sqrt(2))
    same_child = {0.0: Slope("a", first, one), 1.0: Slope("a", second, one)}
    assert pair.error(lambda model: [same_child[model.value]]) == pytest.approx(0.1)


class Counting:
    """The exact engine, which notes what it was asked."""

    name = "counting"

    def __init__(self):
        self.children = []

    def __call__(self, problem, rng):
        self.children.append((problem.child, problem.parents))
        return Exact()(problem, rng)


def test_a_node_that_several_graphs_share_is_fitted_once():
    study = ad.datasets.example()
    names = study.graph.variables
    rng = np.random.default_rng(0)
    orders = [rng.permutation(names).tolist() for _ in range(40)]
    graphs = [ad.CandidateGraph.from_order(order) for order in orders]
    engine = Counting()
    posterior = fit(study.table, graphs, engine=engine, families="normal")
    posterior.edge_probabilities()
    distinct = {(name, frozenset(order[: order.index(name)])) for order in orders for name in names}
    assert len(engine.children) == len(distinct) < 40 * len(names)
    assert len(set(engine.children)) == len(engine.children)


def test_a_list_of_graphs_may_list_variables_in_any_order():
    study = ad.datasets.example()
    shuffled = study.graph.with_order(sorted(study.graph.variables))
    assert shuffled.edges == study.graph.edges
    alone = fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    both = fit(study.table, [study.graph, shuffled], rng=0).effect("smoking", "risk")
    assert both.mean == pytest.approx(alone.mean, rel=1e-12)
    assert both.sd == pytest.approx(alone.sd, rel=1e-12)


@pytest.mark.parametrize("order", [["age"], ["age", "age"]])
def test_an_order_has_the_same_variables(order):
    with pytest.raises(GraphError, match="a new order must have the same variables"):
        ad.CandidateGraph.from_order(["age", "risk"]).with_order(order)


def test_a_sampled_node_does_not_depend_on_the_company_it_is_fitted_in():
    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(6, 3, direct=True), 60, 3)
    table = dict(zip(sample.names, sample.table.T, strict=True))
    with_all = fit(table, sample.graph, engine="mcmc", rng=4)
    with_all.effects()
    alone = fit(table, sample.graph, engine="mcmc", rng=4)
    threads = fit(table, sample.graph, engine="mcmc", rng=4, n_jobs=2)
    assert alone.effect("X", "Y").mean == with_all.effect("X", "Y").mean == threads.effect("X", "Y").mean


def test_models_of_one_store_share_what_they_have_in_common(rng):
    study = ad.datasets.example()
    prior = ad.Prior()
    data = working_data(ad.Moments.from_table(study.table), prior, study.graph.variables)
    store = NodeStore(resolve("exact"), resolve("exact"), np.random.SeedSequence(0), study.graph.variables)
    first, second = fitted_mixture(
        [study.graph, study.graph.without_edge("age", "risk")], [0.5, 0.5], prior, data, store
    ).items
    assert first.node("tar") is second.node("tar")
    assert first.node("risk") is not second.node("risk")


def test_the_best_graphs_of_a_mixture_are_those_of_all_lists():
    """A graph that is first in one model and far down in another counts with both."""
    study = ad.datasets.example()
    other = {edge: 0.9 if place % 2 else 0.2 for place, edge in enumerate(study.graph.edges)}
    graphs = [study.graph, study.graph.without_edge("age", "exercise"), ad.CandidateGraph(study.graph.variables, other)]
    posterior = fit(study.table, graphs, rng=0)
    for found, whole in zip(posterior.top_graphs(3), posterior.top_graphs(20_000), strict=False):
        assert found.edges == whole.edges
        assert found.probability == pytest.approx(whole.probability, rel=1e-3)
    assert sum(item.probability for item in posterior.top_graphs(20_000)) == pytest.approx(1.0, abs=1e-3)
