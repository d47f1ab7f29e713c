"""Curves meet families, categories, weights, experiments and several graphs in one regression."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from alldags.columns.base import RowValues
from alldags.columns.products import OnArm
from alldags.errors import DataError
from alldags.nodes.build import EXPECTED, NodeTerms, Sums, assembled
from lines import fit
from naive.logistic import enumerate_sets

ROWS = 400
FAMILIES = {"score": "normal", "yes": "bernoulli", "count": "poisson", "cost": "student"}
FEW = ad.Terms(curves=2, products=0, index=False, propensity=False, trees=False)


def table(seed: int = 0) -> dict[str, np.ndarray]:
    """A confounder that acts by its size on treatment and outcomes, and a category that does, too."""
    rng = np.random.default_rng(seed)
    age, other = rng.standard_normal((2, ROWS))
    region = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    push = 1.2 * (np.abs(age) - 0.8) + np.array([0.0, 0.8, -0.8])[region]
    treat = (rng.random(ROWS) < 1 / (1 + np.exp(-push))).astype(float)
    eta = 0.5 * treat + push + 0.3 * other
    return {
        "age": age,
        "other": other,
        "region": np.array(list("abc"))[region],
        "treat": treat,
        "score": eta + rng.standard_normal(ROWS),
        "yes": (rng.random(ROWS) < 1 / (1 + np.exp(-eta))).astype(float),
        "count": rng.poisson(np.exp(0.4 * eta)).astype(float),
        "cost": eta + rng.standard_t(4, ROWS),
    }


def graph(outcome: str, *causes: str) -> ad.CandidateGraph:
    tiers = [["age", "other", *causes], ["treat"], [outcome]]
    return ad.CandidateGraph.from_tiers(tiers, 0.5).with_edge("treat", outcome, 1.0)


def asked(outcome: str, data: dict[str, np.ndarray], *causes: str, terms: object = FEW, **options: object) -> ad.Effect:
    families = {"treat": "normal", outcome: FAMILIES[outcome]}
    fit = ad.fit(data, graph(outcome, *causes), terms={outcome: terms}, families=families, rng=0, **options)
    return fit.effect("treat", outcome)


def test_a_bend_in_a_logistic_regression_against_all_sets():
    """Inclusion and evidence of lines and a written square, by enumeration with importance-sampled evidence."""
    data = table()
    causes = ad.CandidateGraph.from_edges({("age", "yes"): 0.5, ("other", "yes"): 0.5})
    prior = ad.Prior(slab_variance=1.5625)
    node = ad.fit(data, causes, prior=prior, terms={"yes": ["age^2"]}, rng=0).workings.models.items[0].node("yes")
    x = np.column_stack([data["age"], data["other"], data["age"] ** 2])
    reference = enumerate_sets("bernoulli", (x - x.mean(axis=0)) / x.std(axis=0), data["yes"], 0.5, 1.5625, draws=2000)
    (part,) = node.found.parts
    assert part.node.inclusion == pytest.approx(reference.inclusion, abs=0.02)
    assert part.mean == pytest.approx(reference.mean, abs=0.05 * reference.sd.max())
    assert node.log_evidence == pytest.approx(reference.log_evidence, abs=0.05)


@pytest.mark.parametrize("outcome", FAMILIES)
def test_curves_answer_as_if_the_shape_were_known(outcome):
    """Beside a fit that is given the size of the confounder itself, over a few data sets."""
    off = []
    for seed in range(4):
        data = table(seed)
        families = {"treat": "normal", outcome: FAMILIES[outcome]}
        known = ad.fit(
            data | {"age": np.abs(data["age"])}, graph(outcome, "region"), families=families, terms=None, rng=0
        )
        truth = known.effect("treat", outcome)
        straight = fit(data, graph(outcome, "region"), families=families, rng=0).effect("treat", outcome)
        curved = asked(outcome, data, "region")
        off.append([(one.mean - truth.mean) / truth.sd for one in (curved, straight)])
    curved, straight = np.mean(off, axis=0)
    assert straight > 1.0
    assert abs(curved) < 0.5


@pytest.mark.parametrize("outcome", FAMILIES)
def test_weights_of_two_are_rows_written_twice(outcome):
    data = table()
    twice = {name: np.repeat(column, 2) for name, column in data.items()}
    weighted, written = asked(outcome, data, weights=np.full(ROWS, 2)), asked(outcome, twice)
    assert weighted.mean == pytest.approx(written.mean, abs=0.1 * written.sd)
    assert weighted.sd == pytest.approx(written.sd, rel=0.1)


@pytest.mark.parametrize("outcome", ["score", "yes"])
def test_equal_sampling_weights_change_nothing(outcome):
    data = table()
    weighted = asked(outcome, data, weights=np.full(ROWS, 7.3), weight_kind="sampling")
    plain = asked(outcome, data)
    assert weighted.mean == pytest.approx(plain.mean, rel=1e-6)
    assert weighted.sd == pytest.approx(plain.sd, rel=1e-6)


@pytest.mark.parametrize("outcome", FAMILIES)
def test_rows_in_which_the_outcome_was_set_say_nothing_of_it(outcome):
    data = table()
    was_set = np.arange(ROWS) < 60
    spoiled = {**data, outcome: np.where(was_set, 1.0 - data["yes"], data[outcome])}
    with_set = asked(outcome, spoiled, interventions={outcome: was_set})
    kept = asked(outcome, {name: column[~was_set] for name, column in data.items()})
    assert with_set.mean == pytest.approx(kept.mean, abs=0.15 * kept.sd)
    assert with_set.sd == pytest.approx(kept.sd, rel=0.1)


def test_levels_of_a_category_are_one_group_also_under_treatment():
    effect = asked(
        "score", table(), "region", terms=ad.Terms(curves=0, products=0, index=False, propensity=False, trees=False)
    )
    node = effect.workings.totals.items[0].model.node("score")
    shared = next(part for part in node.found.parts if part.name == "shared")
    groups = shared.node.problem.groups
    assert np.unique(groups, return_counts=True)[1].tolist() == [1, 1, 1, 2, 1, 1, 2]
    assert node.inclusion[node.parents.index("region")] > 0.99


def test_further_columns_have_an_expected_number_that_is_averaged_over():
    """A problem with one line and two further columns against a sum over sets and expected numbers by hand."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((60, 3))
    y = 0.6 * z[:, 1] + rng.standard_normal(60)
    z, y = z - z.mean(axis=0), y - y.mean()
    terms = NodeTerms("y", ("a", "b", "c"), (0.3, 0.5, 0.5), further=(False, True, True))
    prior = ad.Prior(slab_variance=1.0, link=0.0)
    problem = assembled(terms, Sums(z.T @ z, z.T @ y, float(y @ y), 59.0, 60.0), prior)
    total, present = 0.0, np.zeros(3)
    for expected, weight in EXPECTED.items():
        share = min(expected / 2, 0.5)
        for chosen in itertools.product([False, True], repeat=3):
            s = np.flatnonzero(chosen)
            a = z[:, s].T @ z[:, s] + np.eye(len(s))
            b = z[:, s].T @ y
            rate = (y @ y - b @ np.linalg.solve(a, b)) / 2
            p = np.prod([q if there else 1 - q for q, there in zip((0.3, share, share), chosen, strict=True)])
            value = weight * p * np.exp(-0.5 * np.linalg.slogdet(a)[1]) * rate ** (-59 / 2) * 1e40
            total, present = total + value, present + value * np.array(chosen)
    found = ad.engines.Exact()(problem, np.random.default_rng(0))
    assert found.inclusion == pytest.approx(present / total, rel=1e-9)
    sampled = ad.engines.MCMC()(problem, np.random.default_rng(0))
    assert sampled.inclusion == pytest.approx(found.inclusion, abs=0.02)


def test_several_graphs_are_weighed_by_curves():
    """A cause that acts by its size alone: straight lines would prefer the graph without it."""
    data = table()
    whole = graph("score", "region")
    without = whole.without_edge("age", "score")
    fits = [
        ad.fit(data, [whole, without], terms=terms, families="normal", rng=0)
        for terms in ({"score": FEW}, "auto", None)
    ]
    named, on_demand, straight = (fit.graph_probabilities[0] for fit in fits)
    assert named > 0.999
    assert on_demand > 0.999
    assert straight < 0.5
    one = ad.fit(data, whole, terms={"score": FEW}, families="normal", rng=0).effect("treat", "score")
    assert fits[0].effect("treat", "score").mean == pytest.approx(one.mean, abs=0.05 * one.sd)


def test_a_child_without_causes_in_one_graph_is_weighed_too():
    data = table()
    edges = {("age", "score"): 1.0}
    none = ad.CandidateGraph.from_edges({("age", "other"): 0.5}, variables=["age", "other", "score"])
    some = ad.CandidateGraph.from_edges(edges, variables=["age", "other", "score"])
    fit = ad.fit(data, [some, none], terms={"score": FEW}, rng=0)
    assert fit.graph_probabilities[0] > 0.999
    assert np.isfinite(fit.log_evidence)


def test_evidence_with_arms_is_that_of_the_same_columns_without():
    """Certain lines, no further columns, noise of the same size in both arms: what is averaged over is the ratio."""
    data = table()
    lines = ad.Terms(curves=0, products=0, index=False, propensity=False, trees=False, modification="none")
    causes = ad.CandidateGraph.from_edges({("treat", "score"): 1.0, ("age", "score"): 1.0})
    prior = ad.Prior(slab_variance=1.0, link=0.0)
    fit = ad.fit(data, causes, prior=prior, terms={"score": lines}, families="normal", rng=0)
    plain = fit.workings.models.items[0].node("score").log_evidence
    effect = fit.effect("treat", "score")
    armed = effect.workings.totals.items[0].model.node("score")
    (part,) = armed.found.parts
    assert armed.log_evidence < plain
    assert armed.log_evidence > plain - 4.0
    straight = ad.fit(data, causes, prior=prior, families="normal", terms=None, rng=0).effect("treat", "score")
    assert effect.mean == pytest.approx(straight.mean, abs=0.03 * straight.sd)
    assert part.node.problem.terms == ("0", "1")


def test_a_treatment_that_was_moved_is_on_the_other_arm_whatever_its_unit():
    """Moves are added in working units, so that values come out but for rounding."""
    rng = np.random.default_rng(5)
    for unit in rng.uniform(0.1, 3.0, 25):
        column = OnArm("t", 0.5)
        moved = 0.0 + unit * (1.0 / unit)
        assert column.values(RowValues({"t": np.array([moved, 1.0 + unit * (-1.0 / unit)])})).tolist() == [1.0, 0.0]
    data = table()
    for rows in (391, 393, 395, 397):  # each another standard deviation of the treatment
        part = {name: column[:rows] for name, column in data.items()}
        effect = asked("yes", part)
        (low, high) = (effect.do(value).mean.mean for value in (0.0, 1.0))
        assert high - low == pytest.approx(effect.mean, abs=0.1 * effect.sd)
        assert effect.sd > 0.035


def copied(kind, rows=200):
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((2, rows))
    t = {"copy": a.copy(), "multiple": 3.0 - 2.0 * a, "arms": (a > 0) * 1.0, "square": a**2}[kind]
    table = {"a": t.copy() if kind == "arms" else a, "b": b, "t": t}
    return {**table, "y": table["t"] + b**2 + rng.standard_normal(rows)}


@pytest.mark.parametrize("family", ["normal", "student"])
@pytest.mark.parametrize("kind", ["copy", "multiple", "arms"])
def test_a_treatment_that_is_a_multiple_of_a_confounder_is_answered_by_straight_lines(kind, family):
    asked = {"treatment": "t", "outcome": "y", "confounders": ["a", "b"], "families": {"y": family}, "rng": 0}
    default, lines = (ad.effect(copied(kind), **asked, terms=terms) for terms in ("auto", None))
    assert default.mean == pytest.approx(lines.mean, rel=1e-9)
    assert default.sd == pytest.approx(lines.sd, rel=1e-9)
    assert default.sd > 0.2  # data cannot tell which of the two acts
    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["t"], ["y"]], 0.5)
    with pytest.raises(DataError, match=r"'t' is a copy or multiple of another cause of 'y'.* keep one of them"):
        _ = ad.fit(copied(kind), graph, families={"y": family}, terms={"y": ad.Terms()}).effect("t", "y").mean


def test_a_treatment_that_is_the_square_of_a_confounder_keeps_its_own_line():
    effect = ad.effect(copied("square"), treatment="t", outcome="y", confounders=["a", "b"], rng=0)
    assert effect.mean == pytest.approx(1.0, abs=2.0 * effect.sd)  # its own line, or a bend of the confounder
    assert 0.1 < effect.sd < 0.5
