"""The link to what drives the treatment: its definition, its exact twin, and what it leaves alone."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import alldags as ad
from alldags.priors.link import link_prior
from lines import fit

COVARIATES = 8
NAMES = (*(f"c{i}" for i in range(COVARIATES)), "x", "y")
GRAPH = ad.CandidateGraph.from_tiers([NAMES[:-2], ["x"], ["y"]], 0.5)


def weak_confounders(rng: np.random.Generator, rows: int = 100, correlation: float = 0.0, effect: float = 0.5):
    """Return a table in which half the covariates act on x and, weakly, on y."""
    common = (1 - correlation) * np.eye(COVARIATES) + correlation
    c = rng.standard_normal((rows, COVARIATES)) @ np.linalg.cholesky(common).T
    acts = np.arange(COVARIATES) < COVARIATES // 2
    x = c @ np.where(acts, 0.4, 0.0) + rng.standard_normal(rows)
    y = effect * x + c @ np.where(acts, 0.15, 0.0) + rng.standard_normal(rows)
    return np.column_stack([c, x, y])


# -- the joint posterior, summed over all pairs of sets --------------------------------------------------------------


def set_tables(z: np.ndarray, target: np.ndarray, certain: int, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Return log evidences and means of the last column for all sets of free columns of centred data."""
    n, free = len(target) - 1, z.shape[1] - certain
    evidence, mean = np.empty(2**free), np.zeros(2**free)
    for code in range(2**free):
        inside = [i for i in range(free) if code >> i & 1] + list(range(free, z.shape[1]))
        part = z[:, inside]
        a = part.T @ part + np.eye(len(inside)) / tau
        theta = np.linalg.solve(a, part.T @ target)
        residual = target @ target - target @ part @ theta
        evidence[code] = -0.5 * (len(inside) * math.log(tau) + np.linalg.slogdet(a)[1] + n * math.log(residual))
        mean[code] = theta[-1] if certain else 0.0
    return evidence, mean


def over_slabs(z, target, certain, slab):
    """Return weights of all sets, averaged over the slab's grid, and the mean of the last column given each set."""
    parts = [set_tables(z, target, certain, tau) for tau in slab.values(len(target))[0]]
    logs = np.array([part[0] for part in parts]) + slab.values(len(target))[1][:, None]
    weights = np.exp(logs - logs.max())
    return weights.sum(axis=0), (weights * np.array([part[1] for part in parts])).sum(axis=0) / weights.sum(axis=0)


def joint_effect(table: np.ndarray, p: float, strength: float) -> float:
    """Return the mean effect when every pair of edges c -> x and c -> y goes together a priori; x -> y is certain."""
    data = table - table.mean(axis=0)
    scale = data.std(axis=0, ddof=1)
    data /= scale
    wx, _ = over_slabs(data[:, :COVARIATES], data[:, COVARIATES], 0, ad.priors.LearnedSlab(low=math.exp(-6), points=11))
    sizes = np.array([bin(code).count("1") for code in range(2**COVARIATES)])
    wx *= [1 / ((COVARIATES + 1) * math.comb(COVARIATES, size)) for size in sizes]
    linked = (wx / wx.sum()).reshape((2,) * COVARIATES)
    pair = np.array([[1 - p, p], [(1 - p) * (1 - strength), 1 - (1 - p) * (1 - strength)]])
    for axis in range(COVARIATES):
        linked = np.moveaxis(np.tensordot(linked, pair, axes=(axis, 0)), -1, axis)
    wy, mean = over_slabs(data[:, : COVARIATES + 1], data[:, -1], 1, ad.priors.LearnedSlab())
    # axis i of the array is bit COVARIATES - 1 - i of the code, for the prior as for the evidence
    weight = linked.reshape(-1) * wy
    return float(weight @ mean / weight.sum() * scale[-1] / scale[-2])


@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("strength", [1.0, 0.6])
def test_the_product_of_marginals_is_close_to_the_joint_posterior(correlation, strength):
    graph = GRAPH.with_edge("x", "y", 1.0)
    for seed in range(3):
        table = weak_confounders(np.random.default_rng(seed), correlation=correlation)
        posterior = fit(table, graph, prior=ad.Prior(link=strength), names=NAMES)
        assert posterior.effect("x", "y").mean == pytest.approx(joint_effect(table, 0.5, strength), abs=0.01)


# -- what it is ------------------------------------------------------------------------------------------------------


def test_probabilities_are_raised_by_what_drives_the_treatment(rng):
    posterior = fit(weak_confounders(rng), GRAPH, prior=ad.Prior(link=0.7), names=NAMES)
    model = posterior._linked_models("x").items[0]
    q = model._link.inclusion("x")
    node = model.node("y")
    for name, p in zip(node.parents, node.prior_inclusion, strict=True):
        assert p == pytest.approx(0.5 if name == "x" else 1 - 0.5 * (1 - 0.7 * q[name]))
    np.testing.assert_allclose(node.stated_inclusion, 0.5)


def test_the_treatments_causes_are_looked_for_with_slab_and_edges_learned(rng):
    table = weak_confounders(rng)
    posterior = fit(table, GRAPH, prior=ad.Prior(), names=NAMES)
    q = posterior._linked_models("x").items[0]._link.inclusion("x")
    alone = fit(table, GRAPH, prior=link_prior(ad.Prior()), names=NAMES)
    rows = alone.edge_probabilities().rows()
    expected = {row["cause"]: row["posterior"] for row in rows if row["effect"] == "x"}
    assert q == pytest.approx(expected)


def test_mediators_link_as_well(rng):
    names = ("c", "x", "m", "y")
    rows = 200
    c, x = rng.standard_normal((2, rows))
    m = x + 0.8 * c + rng.standard_normal(rows)
    table = np.column_stack([c, x, m, m + 0.1 * c + rng.standard_normal(rows)])
    graph = ad.CandidateGraph.from_edges([("c", "m"), ("x", "m"), ("c", "y"), ("m", "y")], names)
    model = fit(table, graph, names=names)._linked_models("x").items[0]
    assert model._link.inclusion("m")["c"] > 0.99
    node = model.node("y")
    raised = dict(zip(node.parents, node.raised, strict=True))
    assert raised["c"] > 0.99  # c is no candidate cause of x, only of m
    assert raised["m"] == 0.0


def test_certain_and_excluded_edges_stay_as_they_are(rng):
    graph = GRAPH.with_edge("c0", "y", 1.0).without_edge("c1", "y").with_edge("c2", "x", 1.0)
    node = fit(weak_confounders(rng), graph, names=NAMES)._linked_models("x").items[0].node("y")
    prior = dict(zip(node.parents, node.prior_inclusion, strict=True))
    assert prior["c0"] == 1.0
    assert "c1" not in prior
    assert 1 - 1e-8 < prior["c2"] < 1.0  # as good as certain, but it can still be asked what knowing it would do


def test_under_a_beta_binomial_the_odds_are_raised(rng):
    prior = ad.Prior(edges=ad.priors.BetaBinomial(), link=1.0)
    model = fit(weak_confounders(rng), GRAPH, prior=prior, names=NAMES)._linked_models("x").items[0]
    q = model._link.inclusion("x")
    node = model.node("y")
    for name, p in zip(node.parents, node.problem.probability, strict=True):
        expected = 1.0 if name == "x" else (1 + q[name]) / (1 - q[name])
        assert p / (1 - p) == pytest.approx(min(expected, 1e9), rel=1e-5)


# -- what it does and does not touch ---------------------------------------------------------------------------------


def test_without_link_nothing_changes(rng):
    table = weak_confounders(rng)
    plain = fit(table, GRAPH, prior=ad.Prior(link=0.0), names=NAMES, rng=0)
    linked = fit(table, GRAPH, prior=ad.Prior(), names=NAMES, rng=0)
    assert plain._linked_models("x") is plain._models
    assert plain.edge_probabilities().columns == linked.edge_probabilities().columns
    assert plain.coefficients()["mean"] == linked.coefficients()["mean"]
    assert plain.log_evidence == linked.log_evidence
    assert plain.effect("x", "y").mean != linked.effect("x", "y").mean
    assert linked.effect("x", "y").checks.confounder_link.mean_without == plain.effect("x", "y").mean


@pytest.mark.parametrize("engine", ["full", "vb", "em"])
def test_engines_without_edge_probabilities_do_not_link(rng, engine):
    table = weak_confounders(rng)
    with_link, without = (
        fit(table, GRAPH, prior=ad.Prior(link=link), names=NAMES, engine=engine).effect("x", "y") for link in (1, 0)
    )
    assert with_link.mean == without.mean


def test_all_effects_are_linked_for_each_treatment(rng):
    posterior = fit(weak_confounders(rng), GRAPH, names=NAMES)
    effect = posterior.effect("x", "y")
    assert posterior.effects()["x", "y"] == pytest.approx(effect.mean, rel=1e-12)
    assert posterior.effects_sd()["x", "y"] == pytest.approx(effect.sd, rel=1e-9)
    assert posterior.effects(link=0.0)["x", "y"] == pytest.approx(effect.checks.confounder_link.mean_without, rel=1e-12)
    with pytest.raises(ad.AlldagsError, match=r"link must be None, 0 or the prior's own \(1\), got 0.5"):
        posterior.effects(link=0.5)


def test_linking_very_many_effects_is_refused_with_the_way_out(rng):
    names = [f"v{i}" for i in range(70)]
    table = dict(zip(names, rng.standard_normal((70, 100)), strict=True))
    posterior = fit(table, ad.CandidateGraph.from_order(names))
    with pytest.raises(ad.AlldagsError, match=r"need 2,415 fits of nodes, more than 2,000; use effects\(link=0.0\)"):
        posterior.effects()


def test_units_and_order_of_variables_do_not_matter(rng):
    table = weak_confounders(rng)
    effect = fit(table, GRAPH, names=NAMES).effect("x", "y")
    scale = np.exp(rng.normal(size=len(NAMES)))
    moved = fit(table * scale + 3.0, GRAPH, names=NAMES).effect("x", "y")
    assert moved.mean * scale[-2] / scale[-1] == pytest.approx(effect.mean, rel=1e-9)
    order = rng.permutation(len(NAMES))
    names = [NAMES[i] for i in order]
    shuffled = fit(table[:, order], GRAPH.with_order(names), names=names).effect("x", "y")
    assert shuffled.mean == pytest.approx(effect.mean, rel=1e-9)
    assert shuffled.sd == pytest.approx(effect.sd, rel=1e-9)


def test_what_an_edge_does_is_told_for_its_stated_probability(rng):
    effect = fit(weak_confounders(rng, effect=0.0), GRAPH, names=NAMES).effect("x", "y")
    rows = list(effect.edge_influence().rows())
    assert {row["prior"] for row in rows} == {0.5}
    assert all(row["effect"] == "y" for row in rows)
    p = rows[0]
    kept = p["kept_as_confounder"]
    blend = kept * p["effect_if_present"] + (1 - kept) * p["effect_if_absent"]
    assert blend == pytest.approx(effect.mean, rel=1e-6)


# -- the check -------------------------------------------------------------------------------------------------------


def test_the_check_names_the_covariates_that_moved_the_answer(rng):
    check = fit(weak_confounders(rng), GRAPH, names=NAMES).effect("x", "y").checks.confounder_link
    assert set(check.names[:3]) <= {"c0", "c1", "c2", "c3"}
    assert check.shift < 0  # confounders act in the same direction as x
    assert sum(moved for _, moved in check.covariates) == pytest.approx(check.mean - check.mean_without, rel=0.3)


def test_very_many_weak_confounders_are_named_too(rng):
    c = rng.standard_normal((200, 40))
    x = 0.1 * c.sum(axis=1) + rng.standard_normal(200)
    table = np.column_stack([c, x, 0.5 * x + 0.1 * c.sum(axis=1) + rng.standard_normal(200)])
    names = [*(f"c{i}" for i in range(40)), "x", "y"]
    graph = ad.CandidateGraph.from_tiers([names[:40], ["x"], ["y"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        effect = fit(table, graph, names=names, rng=0).effect("x", "y")
    assert len(effect.checks.confounder_link.names) == 5
    assert any(effect.checks.confounder_link.names[0] in note for note in effect.notes)


def test_a_large_shift_gets_a_note_with_the_way_to_say_what_is_known(rng):
    rows = 400
    z, u = rng.standard_normal((2, rows))
    x = z + rng.standard_normal(rows)
    y = 0.5 * x + 0.1 * z + u
    table = {"z": z, "x": x, "y": y}
    graph = ad.CandidateGraph.from_order(["z", "x", "y"])
    effect = fit(table, graph, rng=0).effect("x", "y")
    assert abs(effect.checks.confounder_link.shift) > 0.5
    (note,) = [note for note in effect.notes if note.text.startswith("weak confounders or instruments")]
    assert "graph.instrument('z', treatment='x')" in note
    known = fit(table, graph.instrument("z", treatment="x"), rng=0).effect("x", "y")
    assert known.checks.confounder_link.shift == 0.0
    assert not any("instrument" in note for note in known.notes)


def test_an_instrument_keeps_only_its_edge_to_the_treatment():
    graph = ad.CandidateGraph.from_order(["z", "w", "x", "m", "y"])
    known = graph.instrument("z", treatment="x")
    assert known.parents("x") == ("z", "w")
    assert known.parents("w") == ("z",)
    assert known.parents("m") == ("w", "x")
    assert known.parents("y") == ("w", "x", "m")
    with pytest.raises(ad.AlldagsError, match="'y' cannot be an instrument: there is no candidate edge 'y' -> 'x'"):
        graph.instrument("y", treatment="x")


# -- least squares beside it -----------------------------------------------------------------------------------------


def test_least_squares_is_that_of_the_textbook(rng):
    table = weak_confounders(rng)
    plain = fit(table, GRAPH, names=NAMES).effect("x", "y").checks.least_squares
    design = np.column_stack([np.ones(100), table[:, [8, *range(8)]]])
    coefficients, residual, *_ = np.linalg.lstsq(design, table[:, 9], rcond=None)
    variance = residual[0] / (100 - 10) * np.linalg.inv(design.T @ design)[1, 1]
    assert plain.estimate == pytest.approx(coefficients[1], rel=1e-9)
    assert plain.error == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert (plain.high - plain.low) / 2 == pytest.approx(1.9867 * plain.error, rel=1e-4)  # t with 90 degrees of freedom
    assert plain.covariates == NAMES[:8]


def test_least_squares_leaves_out_what_the_treatment_acts_on():
    study = ad.datasets.example()
    plain = fit(study.table, study.graph).effect("smoking", "risk").checks.least_squares
    assert plain.covariates == ("age", "sex", "income")


def test_least_squares_needs_rows_and_independent_columns(rng):
    table = weak_confounders(rng, rows=18)
    assert fit(table, GRAPH, names=NAMES).effect("x", "y").checks.least_squares is None
    table = weak_confounders(rng, rows=100)
    table[:, 1] = table[:, 0]
    assert fit(table, GRAPH, names=NAMES).effect("x", "y").checks.least_squares is None


def test_a_contradiction_with_least_squares_is_noted(rng):
    table = np.empty((300, 32))
    table[:, :30] = rng.standard_normal((300, 30))
    table[:, 30] = 0.2 * table[:, :30].sum(axis=1) + rng.standard_normal(300)
    table[:, 31] = 0.5 * table[:, 30] + 0.1 * table[:, :30].sum(axis=1) + rng.standard_normal(300)
    names = [*(f"c{i}" for i in range(30)), "x", "y"]
    graph = ad.CandidateGraph.from_tiers([names[:30], ["x"], ["y"]], 0.05)
    effect = fit(table, graph, prior=ad.Prior.v01(), names=names, rng=0).effect("x", "y")
    assert any("least squares on x and all 30 candidate covariates gives 0." in note for note in effect.notes)


def test_more_candidates_than_half_the_rows_are_noted(rng):
    table = weak_confounders(rng, rows=16)
    effect = fit(table, GRAPH, names=NAMES, rng=0).effect("x", "y")
    assert any("'y' has 9 candidate causes, more than half the 16 rows" in note for note in effect.notes)
