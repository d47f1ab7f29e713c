"""Categories among candidate causes: their columns enter and leave together."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import alldags as ad
from alldags.errors import AlldagsError, DataError, EngineError
from lines import fit
from naive.units import every_set_of_causes

ROWS = 120
CAUSES = ("a", "site", "b", "kind", "x")
GRAPH = ad.CandidateGraph.from_tiers([["a", "site", "b", "kind"], ["x"], ["y"]], 0.3)
NO_LINK = ad.Prior(link=0.0)


def table(seed: int = 0, strength: float = 0.4, rows: int = ROWS) -> dict[str, np.ndarray]:
    """Return a table in which the site acts on x and y; few rows, so that much is open."""
    rng = np.random.default_rng(seed)
    site, kind = rng.choice(list("pqrs"), rows, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(["u", "v", "w"], rows)
    shift = np.array([{"p": 0.0, "q": 1.0, "r": -1.0, "s": 1.0}[one] for one in site])
    a, b = rng.standard_normal((2, rows))
    x = 0.3 * a + strength * shift + rng.standard_normal(rows)
    y = 0.3 * x + 0.3 * b + strength * shift + rng.standard_normal(rows)
    return {"a": a, "site": site, "b": b, "kind": kind, "x": x, "y": y}


def node(columns, graph=GRAPH, child="y", **options):
    posterior = fit(columns, graph, rng=0, **{"prior": NO_LINK} | options)
    return posterior._models.items[0].node(child)


def independent(probability):
    def log_prior(mask):
        with np.errstate(divide="ignore"):
            chances = zip(mask, probability, strict=True)
            return float(sum(np.log(p) if there else np.log1p(-p) for there, p in chances))

    return log_prior


def twin(columns, settings, log_prior):
    return every_set_of_causes([columns[name] for name in CAUSES], columns["y"], settings, log_prior)


def agrees(found, slow):
    np.testing.assert_allclose(found.inclusion, slow.inclusion, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.mean, slow.mean, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.second_moment, slow.second_moment, rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(found.second_moment_between, slow.second_moment_between, rtol=1e-7, atol=1e-11)
    assert found.noise_variance == pytest.approx(slow.noise_variance, rel=1e-8)


@pytest.mark.parametrize("prior", [NO_LINK, ad.Prior.v01(), ad.Prior(link=0.0, slab_variance=0.2)])
def test_every_set_of_causes_is_weighed(prior):
    columns = table(0, 0.8)
    found = node(columns, prior=prior)
    slow = twin(columns, found.problem.settings, independent([0.3] * 5))
    agrees(found, slow)
    assert found.log_evidence == pytest.approx(slow.log_evidence, rel=1e-9)
    assert 0.05 < found.inclusion[1] < 0.999  # there is something to average over


def test_sets_disjoint_sets_and_conditional_means():
    columns = table(3)
    found = node(columns)
    slow = twin(columns, found.problem.settings, independent([0.3] * 5))
    top = found.top_parent_sets(32)
    for item in top:
        mask = tuple(name in item.parents for name in CAUSES)
        assert item.probability == pytest.approx(slow.sets[mask], rel=1e-7)
    assert sum(item.probability for item in top) == pytest.approx(1.0)
    masks = np.array([[bool(i >> j & 1) for j in range(5)] for i in range(32)])
    expected = [sum(p for s, p in slow.sets.items() if not (np.array(s) & mask).any()) for mask in masks]
    np.testing.assert_allclose(found.probability_disjoint(masks), expected, rtol=1e-7)
    for cause in range(5):
        for present in (False, True):
            np.testing.assert_allclose(found.mean_given(cause, present), slow.mean_given(cause, present), rtol=1e-7)


def test_draws_have_the_moments():
    found = node(table())
    coefficients, variance = found.draw(40_000, np.random.default_rng(1))
    spread = np.sqrt(np.diag(found.second_moment) - found.mean**2)
    assert (np.abs(coefficients.mean(axis=0) - found.mean) <= 5 * spread / math.sqrt(40_000) + 1e-12).all()
    np.testing.assert_allclose((coefficients**2).mean(axis=0), np.diag(found.second_moment), rtol=0.08, atol=1e-12)
    assert variance.mean() == pytest.approx(found.noise_variance, rel=0.01)


def test_certain_categories_and_stated_probabilities():
    columns = table(1)
    graph = GRAPH.with_edge("site", "y", 1.0).with_edge("kind", "y", 0.8).with_edge("a", "y", 0.6)
    found = node(columns, graph)
    agrees(found, twin(columns, found.problem.settings, independent([0.6, 1.0, 0.3, 0.8, 0.3])))
    assert found.certain.tolist() == [False, True, False, False, False]


def test_a_prior_of_the_number_of_causes_counts_a_category_once():
    columns = table(2)
    graph = ad.CandidateGraph.from_tiers([["a", "site", "b", "kind"], ["x"], ["y"]], 0.5)
    found = node(columns, graph, prior=ad.Prior(link=0.0, edges=ad.priors.BetaBinomial()))

    def log_prior(mask):  # Beta(1, 1): every number of causes is as probable as any other
        return -math.log(6) - math.log(math.comb(5, sum(mask)))

    agrees(found, twin(columns, found.problem.settings, log_prior))


def test_a_linked_category_is_raised_as_one_cause():
    columns = table(0, 0.6)
    linked = fit(columns, GRAPH, rng=0).effect("x", "y").workings.totals.items[0].model.node("y")
    assert linked.raised[1] > 0.9
    stated = 1.0 - 0.7 * (1.0 - linked.raised)
    stated[4] = 0.3  # the treatment itself
    agrees(linked, twin(columns, linked.problem.settings, independent(np.minimum(stated, 1 - 1e-9))))


@pytest.mark.parametrize("order", [["p", "q", "r", "s"], ["s", "r", "q", "p"], ["q", "s", "p", "r"]])
def test_the_reference_level_makes_no_difference(order):
    columns = pd.DataFrame(table())
    plain = fit(columns, GRAPH, rng=0).effect("x", "y")
    turned = columns.assign(site=pd.Categorical(columns["site"], categories=order))
    other = fit(turned, GRAPH, rng=0).effect("x", "y")
    assert other.mean == pytest.approx(plain.mean, rel=1e-9)
    assert other.sd == pytest.approx(plain.sd, rel=1e-9)
    assert other.posterior.edge_probabilities()["posterior"] == pytest.approx(
        plain.posterior.edge_probabilities()["posterior"], rel=1e-7
    )
    assert any(f"({order[0]!r}, the reference" in note for note in other.notes)


def test_sampled_regressions_agree_with_enumerated_ones():
    columns = table(5)
    exact, sampled = (fit(columns, GRAPH, rng=0, engine=engine) for engine in ("exact", "mcmc"))
    one, other = exact.effect("x", "y"), sampled.effect("x", "y")
    assert other.mean == pytest.approx(one.mean, abs=5 * other.uncertainty.mean_error + 1e-4)
    assert other.sd == pytest.approx(one.sd, rel=0.05)
    np.testing.assert_allclose(
        sampled.edge_probabilities()["posterior"], exact.edge_probabilities()["posterior"], atol=0.03
    )


def test_a_confounding_category_is_adjusted_for():
    covered, rows = 0, 400
    for seed in range(40):
        low, high = fit(table(seed, 1.0, rows), GRAPH, rng=0).effect("x", "y").interval(0.9)
        covered += low <= 0.3 <= high
    assert 31 <= covered <= 40  # 36 expected; binomial, outside with probability 0.005


def test_an_effect_and_its_tables():
    posterior = fit(table(), GRAPH, rng=0)
    effect = posterior.effect("x", "y")
    assert effect.checks.least_squares.covariates == ("a", "site", "b", "kind")
    assert [row["cause"] for row in effect.edge_influence().rows()]
    assert [item.name for item in effect.summary().adjusted if item.name == "site"]
    by_edge = {(row["cause"], row["effect"]): row for row in posterior.coefficients().rows()}
    assert math.isnan(by_edge["site", "y"]["mean"])
    assert not math.isnan(by_edge["a", "y"]["mean"])
    assert posterior.effects_on("y")["treatment"] == ["a", "b", "x"]
    matrix = posterior.effects()
    assert math.isnan(matrix["site", "y"])
    assert matrix["x", "y"] == pytest.approx(effect.mean)
    assert any("site is a category with 4 levels ('p', the reference, 'q', 'r', 's')" in note for note in effect.notes)


def test_least_squares_has_the_levels_as_columns():
    columns = pd.DataFrame(table())
    design = pd.get_dummies(columns, columns=["site", "kind"], drop_first=True, dtype=float)
    names = [name for name in design if name not in ("x", "y")]
    x = np.column_stack([np.ones(ROWS), design["x"], design[names]])
    coefficient = np.linalg.lstsq(x, design["y"], rcond=None)[0][1]
    plain = fit(columns, GRAPH, rng=0).effect("x", "y").checks.least_squares
    assert plain.estimate == pytest.approx(coefficient, rel=1e-9)


def test_rows_without_a_level_are_dropped_and_counted():
    columns = pd.DataFrame(table())
    columns.loc[:6, "site"] = None
    with pytest.raises(DataError, match="missing values"):
        fit(columns, GRAPH, rng=0)
    notes = fit(columns, GRAPH, rng=0, missing="drop").notes
    assert any("7 of 120 rows were dropped" in note for note in notes)


def test_several_graphs_weights_clusters_and_interventions():
    columns = table()
    single = [fit(columns, graph, rng=0).log_evidence for graph in (GRAPH, GRAPH.without_edge("site", "y"))]
    both = fit(columns, [GRAPH, GRAPH.without_edge("site", "y")], rng=0)
    assert both.graph_probabilities[0] == pytest.approx(1 / (1 + math.exp(single[1] - single[0])), rel=1e-6)
    twice = fit(columns, GRAPH, rng=0, weights=np.full(ROWS, 2)).effect("x", "y")
    doubled = fit({name: np.tile(column, 2) for name, column in columns.items()}, GRAPH, rng=0).effect("x", "y")
    assert twice.mean == pytest.approx(doubled.mean, rel=1e-9)
    clustered = fit(columns, GRAPH, rng=0, cluster=np.arange(ROWS) % 30).effect("x", "y")
    assert clustered.uncertainty.clusters.clusters == 30
    moved = fit(columns, GRAPH, rng=0, interventions={"x": np.arange(ROWS) < 40}).effect("x", "y")
    assert moved.sd > 0


def test_a_category_is_no_outcome():
    with pytest.raises(AlldagsError, match="outcome 'site' is a category with 4 levels, which have no mean; if som"):
        fit(table(), GRAPH, rng=0).effect("x", "site")


def test_a_category_in_between_is_refused_by_name_and_elsewhere_is_no_obstacle():
    between = ad.CandidateGraph.from_tiers([["x"], ["site"], ["y"]])
    with pytest.raises(AlldagsError, match="'site' is a category, which no straight line describes, and lies between"):
        fit(table(), between, families="normal", rng=0).effect("x", "y")
    assert fit(table(), between, rng=0).effect("x", "y").sd > 0
    aside = ad.CandidateGraph.from_tiers([["a"], ["site"], ["x"], ["y"]])
    assert fit(table(), aside, rng=0).effect("x", "y").sd > 0


@pytest.mark.parametrize("engine", ["vb", "em", "gibbs"])
def test_engines_of_single_columns_are_refused_by_name(engine):
    with pytest.raises(EngineError, match=f"the categories 'site', 'kind' and engine='{engine}' do not go together"):
        fit(table(), GRAPH, rng=0, engine=engine)


def test_an_engine_of_ones_own_is_given_categories_only_if_it_says_so():
    class Own:
        name, takes, scope, estimate = "own", (object,), None, "posterior mean"

        def __call__(self, problem, rng):
            return ad.engines.Exact()(problem, rng)

    with pytest.raises(EngineError, match="the categories 'site', 'kind' and engine='own' do not go together"):
        fit(table(), GRAPH, rng=0, engine=Own())
    Own.takes_groups = True
    assert fit(table(), GRAPH, rng=0, engine=Own()).effect("x", "y").sd > 0


@pytest.mark.parametrize("engine", ["certified", "k2", "full"])
def test_engines_that_bound_or_select_take_categories(engine):
    prior = ad.Prior.v01()
    found = fit(table(0, 1.5), GRAPH, rng=0, engine=engine, prior=prior)
    effect, node = found.effect("x", "y"), found._models.items[0].node("y")
    assert effect.sd > 0
    assert node.parents == CAUSES
    exact = fit(table(0, 1.5), GRAPH, rng=0, engine="exact", prior=prior)
    if engine == "certified":
        assert effect.mean == pytest.approx(exact.effect("x", "y").mean, abs=effect.uncertainty.mean_bound + 1e-12)
        assert found.edge_probabilities()["posterior"] == pytest.approx(
            exact.edge_probabilities()["posterior"], abs=1e-4
        )
    else:
        assert set(node.inclusion) <= {0.0, 1.0}
        assert node.inclusion[1] == 1.0  # the site acts


def test_meetings_that_are_refused_by_name():
    columns = table()
    with pytest.raises(AlldagsError, match="whose place in the order is open"):
        fit(columns, ad.CandidateGraph.from_tiers([["a", "site"], ["y"]], within=0.5), rng=0)
    with pytest.raises(DataError, match="interventions= names 'site', which is a category"):
        fit(columns, GRAPH, rng=0, interventions={"site": np.arange(ROWS) < 5})


def many_categories(count: int, rows: int = 400) -> dict[str, np.ndarray]:
    """Return a table of categories with three levels, of which the first three act on y."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (count, rows))
    y = 0.5 * np.array([0.0, 1.0, -1.0])[codes[:3]].sum(axis=0) + rng.standard_normal(rows)
    return {f"c{i}": np.array(list("uvw"))[code] for i, code in enumerate(codes)} | {"y": y}


@pytest.mark.parametrize(("count", "engine"), [(12, "exact"), (14, "exact"), (30, "certified"), (30, "mcmc")])
def test_there_may_be_any_number_of_categories(count, engine):
    columns = many_categories(count)
    graph = ad.CandidateGraph.from_tiers([list(columns)[:-1], ["y"]], 0.3)
    posterior = fit(columns, graph, rng=0, engine="auto" if engine == "exact" else engine)
    found = np.array(posterior.edge_probabilities()["posterior"])
    assert posterior.engines_used["y"] == engine
    assert (found[:3] > 0.99).all()
    assert np.median(found[3:]) < 0.1


def test_traces_of_a_sampled_regression_are_those_of_numbers():
    pytest.importorskip("matplotlib")
    posterior = fit(table(), GRAPH, rng=0, engine="mcmc")
    assert len(posterior.plots.traces("y")) == 3  # a, b and x


def test_a_report_and_other_tables(tmp_path):
    posterior = fit(table(), GRAPH, rng=0)
    posterior.report(tmp_path / "report.html", treatment="x", outcome="y")
    assert "Do the data fit the assumptions?" in (tmp_path / "report.html").read_text()
    assert len(posterior.effect("x", "y").checks.stability()["mean"]) > 2


def test_a_saved_posterior_knows_its_categories(tmp_path):
    posterior = fit(table(), GRAPH, robust=False, rng=0)
    posterior.save(tmp_path / "study.npz")
    one, other = (each.effect("x", "y") for each in (posterior, ad.load(tmp_path / "study.npz")))
    assert (one.mean, one.sd, one.notes) == (other.mean, other.sd, other.notes)


PRIORS = {
    "beta-binomial": ad.Prior(edges=ad.priors.BetaBinomial()),
    "shared edges": ad.Prior(edges=ad.priors.BetaBinomial(shared=True, points=5)),
    "shared slab": ad.Prior(slab=ad.priors.LearnedSlab(shared=True)),
    "tied directions": ad.Prior(noise=ad.priors.EquivalentNoise()),
    "slab of its own": ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False)),
    "paper": ad.Prior.paper(),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_categories_meet_every_prior_and_go_to_other_machines(prior):
    posterior = fit(table(), GRAPH, rng=0, prior=PRIORS[prior])
    assert posterior.effect("x", "y").sd > 0
    assert math.isfinite(posterior.log_evidence)
    found = posterior._models.items[0].node("y")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.second_moment, found.second_moment)


def test_a_prior_of_the_number_holds_where_all_causes_are_categories():
    columns = table(4)
    graph = ad.CandidateGraph.from_tiers([["site", "kind"], ["y"]], 0.5)
    found = node(columns, graph, prior=ad.Prior(link=0.0, edges=ad.priors.BetaBinomial()))

    def log_prior(mask):
        return -math.log(3) - math.log(math.comb(2, sum(mask)))

    causes = [columns[name] for name in ("site", "kind")]
    slow = every_set_of_causes(causes, columns["y"], found.problem.settings, log_prior)
    agrees(found, slow)
    assert found.log_evidence == pytest.approx(slow.log_evidence, rel=1e-10)
