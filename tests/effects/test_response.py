"""Effects on risks: against closed forms, simulated interventions, and symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
from alldags.answers.comparison import Comparison
from alldags.answers.nodes import NodeSample
from alldags.answers.pushed import PushedAnswer
from alldags.answers.response import Response
from lines import fit
from show.everything import everything

ORDER = ("c", "x", "m", "b", "y")
TRUTH = {
    "x": (-0.3, {"c": 0.8}),
    "m": (0.0, {"c": 0.5, "x": 0.8}),
    "b": (-0.5, {"x": 0.9, "m": 0.5}),
    "y": (-1.2, {"c": 0.7, "x": 0.4, "m": 0.6, "b": 0.9}),
}


def simulate(n, seed, do=None):
    """The mixed graph: c and m normal; x, b and y yes/no."""
    rng = np.random.default_rng(seed)
    table = {"c": rng.standard_normal(n)}
    for name, (intercept, slopes) in TRUTH.items():
        eta = intercept + sum(slope * table[cause] for cause, slope in slopes.items())
        normal, uniform = rng.standard_normal(n), rng.random(n)
        table[name] = eta + normal if name == "m" else (uniform < expit(eta)).astype(float)
        if name == "x" and do is not None:
            table["x"] = np.full(n, float(do))
    return table


def mixed_graph(probability=0.5):
    edges = {(cause, name): probability for name, (_, slopes) in TRUTH.items() for cause in slopes}
    return ad.CandidateGraph.from_edges(edges | {("x", "y"): 1.0}, variables=ORDER)


@pytest.fixture(scope="module")
def mixed():
    return fit(simulate(800, 1), mixed_graph(), rng=0)


@pytest.fixture(scope="module")
def simple():
    """Confounder, treatment, normal mediator and yes/no outcome; 400 rows."""
    rng = np.random.default_rng(3)
    c = rng.standard_normal(400)
    x = (rng.random(400) < expit(c)).astype(float)
    m = 0.7 * x + rng.standard_normal(400)
    y = rng.random(400) < expit(-0.5 + 0.8 * c + 0.5 * m)
    graph = ad.CandidateGraph.from_tiers([["c"], ["x"], ["m"], ["y"]], 0.5)
    return fit({"c": c, "x": x, "m": m, "y": y}, graph, rng=0)


def true_samples(response):
    """The true coefficients, in working units, as one draw of each node."""
    data = response.model.data
    samples = {}
    for name in response.span.reached:
        node = response.model.node(name)
        own = 1.0 if name in data.families else data.scale_of(name)
        slopes = TRUTH[name][1]
        theta = np.array([[slopes.get(p, 0.0) * data.scale_of(p) / own for p in node.parents]])
        center = {p: data.pooled.mean[data.pooled.index[p]] * data.scale_of(p) for p in node.parents}
        intercept = TRUTH[name][0] + sum(slopes.get(p, 0.0) * center[p] for p in node.parents)
        columns, family = response.model.columns(name), data.families.get(name)
        samples[name] = NodeSample(node, node, columns, family, theta, np.array([intercept]), np.ones(1))
    return samples


def test_the_push_with_the_true_coefficients_is_the_simulated_intervention():
    posterior = fit(simulate(10_000, 2), mixed_graph(1.0), rng=0)
    response = posterior.effect("x", "y").answer.responses.items[0]
    samples = true_samples(response)
    truth = [simulate(500_000, 9, do=value)["y"].mean() for value in (0, 1)]
    summed = response.outcomes(samples, Comparison(0.0, 1.0))
    drawn = response.outcomes(samples, Comparison(0.0, 1.0), drawn=True)
    for found, tolerance in ((summed, 0.008), (drawn, 0.018)):
        assert abs(found.low[0] - truth[0]) < tolerance
        assert abs(found.high[0] - truth[1]) < tolerance
        assert abs(found.difference[0] - (truth[1] - truth[0])) < tolerance


def test_with_normal_mediators_the_risk_is_one_line(simple):
    effect = simple.effect("x", "y")
    response, samples = effect.answer.responses.items[0], effect.answer.samples
    rows = np.concatenate(list(effect.answer.target.table.batches(["c", "x", "m"])))
    data = simple._data
    scale = np.array([data.scale_of(name) for name in ("c", "x", "m")])
    node = samples["y"]
    eta = (rows - rows.mean(axis=0)) / scale @ node.coefficients.T + node.intercept
    total = node.coefficients[:, 1] + node.coefficients[:, 2] * samples["m"].coefficients[:, 1]
    for value, found in ((0.0, response), (1.0, response)):
        one_line = expit(eta + (value - rows[:, 1])[:, None] / scale[1] * total).mean(axis=0)
        pushed = found.outcomes(samples, Comparison(value, value)).low
        np.testing.assert_allclose(pushed, one_line, atol=1e-12)


def test_draws_without_a_path_are_exactly_zero(simple):
    effect = simple.effect("x", "y")
    share = float(np.mean(effect.draws() == 0.0))
    p = effect.probability_no_effect
    assert abs(share - p) < 4 * math.sqrt(max(p * (1 - p), 1e-4) / 1000)
    none = effect.answer.samples["y"].coefficients
    through = none[:, 2] * effect.answer.samples["m"].coefficients[:, 1]
    np.testing.assert_array_equal(effect.answer.outcomes.difference == 0.0, (none[:, 1] == 0.0) & (through == 0.0))


def test_the_mean_has_the_error_it_says(simple):
    effect = simple.effect("x", "y")
    plain = effect.answer.outcomes.difference
    assert effect.uncertainty.mean_error < 0.7 * plain.std() / math.sqrt(len(plain))
    others = [fit(_table(simple), simple.graphs[0], rng=seed).effect("x", "y") for seed in range(1, 9)]
    spread = np.std([item.mean for item in others], ddof=1)
    assert spread < 3.0 * effect.uncertainty.mean_error
    assert abs(np.mean([item.mean for item in others]) - effect.mean) < 4.0 * effect.uncertainty.mean_error


def _table(posterior):
    table = posterior._data.table
    return {name: table.column(name) for name in table.columns.names}


def test_flipping_the_outcome_flips_the_sign(simple):
    table = _table(simple)
    flipped = fit(table | {"y": 1.0 - table["y"]}, simple.graphs[0], rng=0).effect("x", "y")
    effect = simple.effect("x", "y")
    assert abs(flipped.mean + effect.mean) < 5 * math.hypot(
        effect.uncertainty.mean_error, flipped.uncertainty.mean_error
    )
    assert flipped.sd == pytest.approx(effect.sd, rel=0.08)


def test_recoding_the_treatment_flips_the_sign_and_units_of_covariates_do_not_matter(simple):
    table, effect = _table(simple), simple.effect("x", "y")
    recoded = fit(table | {"x": 1.0 - table["x"]}, simple.graphs[0], rng=0).effect("x", "y")
    assert abs(recoded.mean + effect.mean) < 5 * math.hypot(
        effect.uncertainty.mean_error, recoded.uncertainty.mean_error
    )
    scaled = fit(table | {"c": 1000.0 * table["c"] + 5.0}, simple.graphs[0], rng=0).effect("x", "y")
    assert scaled.mean == pytest.approx(effect.mean, abs=1e-6)
    np.testing.assert_allclose(scaled.draws(), effect.draws(), atol=1e-6)


def test_treated_and_untreated_add_up_to_all(simple):
    share = _table(simple)["x"].mean()
    whole, treated, untreated = (simple.effect("x", "y", over=over) for over in ("sample", "treated", "untreated"))
    np.testing.assert_allclose(share * treated.draws() + (1 - share) * untreated.draws(), whole.draws(), atol=1e-12)
    mask = _table(simple)["x"] == 1.0
    np.testing.assert_array_equal(simple.effect("x", "y", over=mask).draws(), treated.draws())
    wider = simple.effect("x", "y", over="population")
    assert wider.mean == whole.mean
    assert whole.sd <= wider.sd < 1.1 * whole.sd


def test_risks_ratios_and_do_go_together(simple):
    effect = simple.effect("x", "y")
    low, high = effect.levels
    np.testing.assert_allclose(high.draws - low.draws, effect.draws(), atol=1e-15)
    np.testing.assert_allclose(effect.on("ratio").draws, high.draws / low.draws)
    odds = high.draws / (1 - high.draws) / (low.draws / (1 - low.draws))
    np.testing.assert_allclose(effect.on("odds ratio").draws, odds)
    assert float(effect.do(1.0).mean) == pytest.approx(high.mean, abs=1e-9)
    assert effect.contrast(0, 1).mean == effect.mean
    assert abs(effect.contrast(1.0, 0.0).mean + effect.mean) < 1e-9
    assert effect.contrast(0, 1).interval(0.9) == effect.interval(0.9)
    assert effect.on("log odds").on("standardized").mean == pytest.approx(
        effect.on("log odds").mean * simple._data.deviation("x")
    )
    with pytest.raises(ad.AlldagsError, match="no one size per standard deviation"):
        effect.on("standardized")
    with pytest.raises(ad.AlldagsError, match="no one coefficient of a direct edge"):
        effect.direct  # noqa: B018
    said = effect.to.sentence("methods")
    assert "logistic regression of y, marginal over rows as a difference of probabilities" in said
    assert 0.0 < float(effect.do(0.5).mean) < 1.0
    assert repr(effect.on("ratio")).startswith("Quantity(median")


def test_log_odds_are_todays_recursion(simple):
    effect = simple.effect("x", "y").on("log odds")
    model = simple._linked_models("x").items[0]
    y, m = model.node("y"), model.node("m")
    direct, through = y.mean[y.parents.index("x")], y.mean[y.parents.index("m")] * m.mean[m.parents.index("x")]
    scale = simple._data.scale_of("x")
    assert effect.mean == pytest.approx((direct + through) / scale, rel=1e-12)
    draws = effect.draws(4000, rng=0)
    assert abs(draws.mean() - effect.mean) < 5 * effect.sd / math.sqrt(1000)
    assert draws.std() == pytest.approx(effect.sd, rel=0.1)
    assert "changes the log-odds of y by" in everything(effect)
    table = simple.effect("x", "y").paths()
    assert math.fsum(table["mean"]) == pytest.approx(effect.mean)


def test_a_normal_outcome_below_a_yes_no_mediator():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 1500).astype(float)
    b = (rng.random(1500) < np.where(x == 1, 0.7, 0.2)).astype(float)
    y = 2.0 * b + 0.3 * x + rng.standard_normal(1500)
    graph = ad.CandidateGraph.from_edges({("x", "b"): 1.0, ("b", "y"): 1.0, ("x", "y"): 1.0})
    effect = fit({"x": x, "b": b, "y": y}, graph, rng=0).effect("x", "y")
    assert effect.measure == "mean"
    assert effect.mean == pytest.approx(y[x == 1].mean() - y[x == 0].mean(), abs=0.04)
    assert effect.mediation(["b"]).indirect.mean == pytest.approx(2.0 * 0.5, abs=0.2)
    with pytest.raises(ad.AlldagsError, match="paths do not multiply through a yes/no variable"):
        effect.paths()
    with pytest.raises(ad.AlldagsError, match="needs a yes/no outcome"):
        effect.on("odds ratio")
    with pytest.raises(ad.AlldagsError, match="needs a yes/no outcome, a count, an amount or a survival time"):
        effect.on("ratio")
    assert "b is yes/no" in everything(effect)


def test_counts_have_rates_and_a_constant_ratio():
    rng = np.random.default_rng(6)
    x, c = rng.integers(0, 2, 500).astype(float), rng.standard_normal(500)
    years = rng.uniform(0.5, 2.0, 500)
    visits = rng.poisson(years * np.exp(0.3 + 0.4 * x + 0.3 * c)).astype(float)
    graph = ad.CandidateGraph.from_edges({("x", "visits"): 1.0, ("c", "visits"): 0.5})
    table = {"x": x, "c": c, "visits": visits, "log_years": np.log(years)}
    effect = fit(table, graph, families={"visits": ad.Poisson("log_years")}, rng=0).effect("x", "visits")
    assert effect.measure == "rate"
    log_rate = effect.on("log rate")
    assert effect.on("ratio").mean == pytest.approx(np.exp(log_rate.draws(4000)).mean(), rel=0.02)
    assert effect.on("ratio").median == pytest.approx(math.exp(0.4), rel=0.15)
    assert np.ptp(np.log(effect.on("ratio").draws) / (effect.answer.samples["visits"].coefficients[:, 0])) < 1e-9
    assert "changes the mean of visits by" in everything(effect)
    assert "visits is a count" in everything(effect)


def test_counts_that_spread_too_much_are_noted(rng):
    x = rng.standard_normal(400)
    visits = rng.poisson(np.exp(0.5 * x) * rng.gamma(0.5, 2.0, 400)).astype(float)
    graph = ad.CandidateGraph.from_edges({("x", "visits"): 1.0})
    effect = fit({"x": x, "visits": visits}, graph, families={"visits": "poisson"}, rng=0).effect("x", "visits")
    assert any("as much as Poisson ones" in note for note in effect.notes)


def test_a_count_between_treatment_and_outcome_is_drawn_at_the_rows_own_level():
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, 1500).astype(float)
    visits = rng.poisson(np.exp(0.2 + 0.6 * x)).astype(float)
    y = 0.5 * visits + rng.standard_normal(1500)
    graph = ad.CandidateGraph.from_edges({("x", "visits"): 1.0, ("visits", "y"): 1.0})
    table = {"x": x, "visits": visits, "y": y}
    effect = fit(table, graph, families={"visits": "poisson"}, rng=0).effect("x", "y")
    truth = 0.5 * (math.exp(0.8) - math.exp(0.2))
    assert effect.mean == pytest.approx(truth, abs=0.12)


def test_edges_have_influence_on_risks(mixed):
    table = mixed.effect("x", "y").edge_influence()
    rows = {(row["cause"], row["effect"]): row for row in table.rows()}
    assert ("x", "y") not in rows  # certain
    effect = mixed.effect("x", "y")
    for row in rows.values():
        p, present, absent = row["posterior"], row["effect_if_present"], row["effect_if_absent"]
        if present is not None and absent is not None and not math.isnan(present + absent):
            assert p * present + (1 - p) * absent == pytest.approx(effect.mean, abs=1e-9)
        assert 0.0 <= row["variance_removed"] <= 1.0


def test_structure_is_a_part_of_the_spread(simple, mixed):
    for effect in (simple.effect("x", "y"), mixed.effect("x", "y")):
        assert 0.0 <= effect.uncertainty.structure <= effect.sd
        assert effect.uncertainty.structure**2 + effect.uncertainty.coefficients**2 == pytest.approx(effect.sd**2)
    known = fit(_table(simple), mixed_free(simple.graphs[0]), rng=0, prior=ad.Prior(slab_variance=1.0))
    effect = known.effect("x", "y")  # the graph is known, and so is the slab
    assert effect.uncertainty.structure < 0.1 * effect.sd


def test_the_share_of_the_graph_is_what_grouping_draws_by_graph_says(simple):
    effect = simple.effect("x", "y")
    samples = effect.answer.responses.items[0].sample(40_000, np.random.default_rng(0))
    values = effect.answer.responses.items[0].outcomes(samples, effect.answer.question.comparison).difference
    present = np.column_stack([sample.coefficients != 0.0 for sample in samples.values()])
    graphs = present @ (1 << np.arange(present.shape[1]))
    means = {graph: values[graphs == graph].mean() for graph in np.unique(graphs)}
    grouped = np.std([means[graph] for graph in graphs])
    assert effect.uncertainty.structure == pytest.approx(grouped, rel=0.15)  # which leaves out the slab


def mixed_free(graph):
    return ad.CandidateGraph(graph.variables, dict.fromkeys(graph.edges, 1.0))


def test_several_graphs_are_averaged_by_evidence(simple):
    table, graph = _table(simple), simple.graphs[0]
    other = graph.without_edge("x", "y")
    both = fit(table, [graph, other], rng=0)
    effect = both.effect("x", "y")
    assert isinstance(effect.answer, PushedAnswer)
    parts = [fit(table, one, rng=0).effect("x", "y").mean for one in (graph, other)]
    assert min(parts) - 0.005 <= effect.mean <= max(parts) + 0.005
    assert sum(both.graph_probabilities) == pytest.approx(1.0)
    assert effect.uncertainty.structure <= effect.sd


def test_all_effects_at_once_are_those_asked_for_one_by_one(simple):
    table = simple.effects()
    assert table["x", "y"] == pytest.approx(simple.effect("x", "y").mean)
    assert table["x", "m"] == pytest.approx(simple.effect("x", "m").mean)
    assert simple.effects_sd()["x", "y"] == pytest.approx(simple.effect("x", "y").sd)


def test_a_part_of_the_rows_is_pushed_where_there_are_very_many(simple, monkeypatch):
    from alldags.answers import choose

    whole = simple.effect("x", "y")
    assert whole.uncertainty.mean_error > 0.0  # pushed with all rows, before there are too many
    monkeypatch.setattr(choose, "MOST_ROWS", 200)
    part = simple.effect("x", "y")
    assert part.answer.target.count == 200
    assert part.uncertainty.mean_error > whole.uncertainty.mean_error
    assert abs(part.mean - whole.mean) < 5 * part.uncertainty.mean_error


def test_response_without_a_path_is_zero(simple):
    from alldags.effects.span import Span

    effect = simple.effect("x", "y")
    nothing = Response(simple.workings.models.items[0], Span(()), effect.answer.target)
    found = nothing.drawn(Comparison(), 7, np.random.default_rng(0))
    assert (found.difference == 0.0).all()
    np.testing.assert_allclose(found.low, _table(simple)["y"].mean())


def test_a_candidate_graph_without_a_path_counts_as_no_effect():
    rng = np.random.default_rng(0)
    z, t = rng.standard_normal(150), rng.integers(0, 2, 150) * 1.0
    table = {"z": z, "t": t, "y": (rng.random(150) < 1 / (1 + np.exp(-z - 0.6 * t))) * 1.0}
    graph = ad.CandidateGraph.from_tiers([["z"], ["t"], ["y"]])
    both = fit(table, [graph, graph.without_edge("t", "y")], rng=0)
    effect, alone = both.effect("t", "y"), fit(table, graph, rng=0).effect("t", "y")
    share = both.graph_probabilities[0]
    assert 0.1 < share < 0.9
    assert len(effect.draws(1000)) == 1000
    assert effect.mean == pytest.approx(share * alone.mean, abs=6 * alone.sd / math.sqrt(1000))
    second = share * (alone.sd**2 + alone.mean**2)
    assert effect.sd == pytest.approx(math.sqrt(second - (share * alone.mean) ** 2), rel=0.15)
    assert effect.uncertainty.structure < effect.sd
    low, high = effect.levels
    assert np.mean((low.draws == high.draws) & (low.draws == table["y"].mean())) == pytest.approx(1 - share, abs=0.05)
    assert len(effect.do(1, draws_size=50).mean.draws) == 50
    assert 0.0 < effect.do(1).new_unit.probability < 1.0
