"""Mediation: against sums over all values, simulated worlds, sums of paths, and itself."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
from alldags.answers.choose import pushed_answer
from alldags.answers.comparison import Comparison
from alldags.answers.mediation import Asked, _worlds
from alldags.answers.nested import afresh_worlds, natural_worlds, nested_outcomes, path_worlds
from alldags.answers.nodes import NodeSample
from alldags.answers.steps import steps_along, steps_between
from alldags.answers.world import both_worlds
from alldags.effects.total import TotalEffect
from lines import fit
from naive.mediation import Network

LOGITS = {
    "a": lambda v: -0.4 + 0.9 * v["t"] + 0.5 * v["c"],
    "m": lambda v: -0.3 + 0.6 * v["t"] + 0.8 * v["a"] - 0.5 * v["c"] + 0.4 * v["t"] * v["a"],
    "y": lambda v: (
        -1.0 + 0.5 * v["t"] + 0.7 * v["a"] + 0.9 * v["m"] + 0.3 * v["c"] + 0.6 * v["t"] * v["m"] - 0.4 * v["t"] * v["a"]
    ),
}
NETWORK = Network({name: lambda v, of=of: float(expit(of(v))) for name, of in LOGITS.items()})
GRAPH = ad.CandidateGraph.from_tiers([["c"], ["t"], ["a"], ["m"], ["y"]], 1.0)


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    rows = {"c": rng.integers(0, 2, n) * 1.0}
    rows["t"] = (rng.random(n) < expit(rows["c"] - 0.5)) * 1.0
    for name, of in LOGITS.items():
        rows[name] = (rng.random(n) < expit(of(rows))) * 1.0
    return rows


@cache
def effect(n=400, seed=1):
    return fit(simulate(n, seed), GRAPH, rng=0).effect("t", "y")


def true_samples(response):
    """The true regressions, as one draw of each node over its columns."""
    (rows,) = response.batches()
    found = {}
    for name in response.span.reached:
        columns, node = response.model.columns(name), response.model.node(name)
        design = np.column_stack([np.ones(rows.count), columns.of(rows.rows)])
        wanted = LOGITS[name](rows.rows.values)
        theta, *_ = np.linalg.lstsq(design, wanted, rcond=None)
        np.testing.assert_allclose(design @ theta, wanted, atol=1e-9)
        family = response.model.data.families[name]
        found[name] = NodeSample(node, node, columns, family, theta[None, 1:], theta[:1], np.ones(1))
    return found


def levels(worlds):
    response = Asked(effect(), ("a", "m"), products=True).answer.responses.items[0]
    low, high = both_worlds("t", Comparison(0.0, 1.0))
    found = nested_outcomes(response, true_samples(response), worlds(low, high)).levels[:, 0]
    (rows,) = response.batches()
    return found, {c: float(np.mean(rows.rows.values["c"] == c)) for c in (0.0, 1.0)}


def averaged(shares, of):
    return sum(share * of({"c": c}) for c, share in shares.items())


# -- known tables ------------------------------------------------------------------------------------------------------


def test_natural_effects_are_sums_over_the_values_of_mediators():
    found, shares = levels(lambda low, high: natural_worlds(GRAPH, ("a", "m"), low, high))
    wanted = [
        averaged(shares, lambda c: NETWORK.mean("y", c, {"t": 0.0})),
        averaged(shares, lambda c: NETWORK.mixed("y", c, (0.0, 1.0), ["a", "m"])),
        averaged(shares, lambda c: NETWORK.mixed("y", c, (0.0, 1.0), ["a"])),
        averaged(shares, lambda c: NETWORK.mean("y", c, {"t": 1.0})),
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_interventional_effects_draw_mediators_apart_from_what_moves_them():
    """The variable a is moved by the treatment, and acts on mediator and outcome."""
    found, shares = levels(lambda low, high: afresh_worlds(GRAPH, ("m",), low, high))
    wanted = [
        averaged(shares, lambda c: NETWORK.drawn_anew("y", c, (0.0, 0.0, 0.0), ["m"], [])),
        averaged(shares, lambda c: NETWORK.drawn_anew("y", c, (0.0, 1.0, 1.0), ["m"], [])),
        averaged(shares, lambda c: NETWORK.drawn_anew("y", c, (0.0, 1.0, 1.0), [], ["m"])),
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_path_passes_on_what_it_carries_and_no_more():
    """Along t, m, y the variable a stays as under the low value, in both."""
    found, shares = levels(lambda low, high: path_worlds(GRAPH, ("t", "m", "y"), low, high))

    def passed(given):
        whole = 0.0
        for a, first in NETWORK.states(given, {"t": 0.0}, ["a"]):
            for m, second in NETWORK.states(given, {"t": 1.0, **a}, ["m"]):
                whole += first * second * NETWORK.mean("y", given, {"t": 0.0, **a, **m})
        return whole

    wanted = [averaged(shares, lambda c: NETWORK.mean("y", c, {"t": 0.0})), averaged(shares, passed)]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_what_is_in_two_worlds_has_the_same_chance_in_both():
    """Natural effects through m alone: a, which acts on both, is drawn with numbers that both worlds share."""
    found, _ = levels(lambda low, high: natural_worlds(GRAPH, ("m",), low, high))
    rng = np.random.default_rng(3)
    c = np.tile(simulate(400, 1)["c"], 2000)
    u, v = rng.random((2, len(c)))
    rows = {t: {"c": c, "t": t, "a": (u < expit(LOGITS["a"]({"c": c, "t": t}))) * 1.0} for t in (0.0, 1.0)}
    m = (v < expit(LOGITS["m"](rows[0.0]))) * 1.0
    wanted = float(expit(LOGITS["y"]({**rows[1.0], "m": m})).mean())
    assert abs(found[1] - wanted) < 3 * 0.25 / math.sqrt(400)  # one number a row


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_finds_the_effects_of_the_network(seed):
    found = effect(4000, 10 + seed).mediation(["m", "a"])
    shares = {c: float(np.mean(simulate(4000, 10 + seed)["c"] == c)) for c in (0.0, 1.0)}
    low = averaged(shares, lambda c: NETWORK.mean("y", c, {"t": 0.0}))
    held = averaged(shares, lambda c: NETWORK.mixed("y", c, (0.0, 1.0), ["a", "m"]))
    high = averaged(shares, lambda c: NETWORK.mean("y", c, {"t": 1.0}))
    for one, value in ((found.total, high - low), (found.direct, held - low), (found.indirect, high - held)):
        assert abs(one.mean - value) < 3.5 * one.sd
    assert found.through == ("a", "m")


# -- straight lines ----------------------------------------------------------------------------------------------------


@cache
def straight():
    rng = np.random.default_rng(5)
    c, t = rng.standard_normal((2, 200))
    a = 0.7 * t + 0.3 * c + rng.standard_normal(200)
    m = 0.5 * t + 0.4 * a + rng.standard_normal(200)
    y = 0.3 * t + 0.5 * a + 0.6 * m + 0.4 * c + rng.standard_normal(200)
    graph = ad.CandidateGraph.from_tiers([["c"], ["t"], ["a"], ["m"], ["y"]], 0.5)
    return fit({"c": 10 * c, "t": 3 * t, "a": a, "m": m - 50, "y": 7 * y}, graph, rng=0).effect("t", "y")


@pytest.mark.parametrize("names", [("a", "m"), ("m",), ("a",)])
def test_rows_in_nested_worlds_give_what_lines_do_draw_by_draw(names):
    one = straight()
    workings = one.posterior.workings
    along = steps_along(one, one.answer, names)
    data = workings.with_rows(workings.data)

    def with_rows(total):
        return TotalEffect(total.model.through("t", (), data), total.span)

    answer = pushed_answer(workings, one.answer.question, one.answer.totals.map(with_rows), math.inf)
    answer.size = one.answer.size
    between = steps_between(one, answer, _worlds(one, names, "natural"), "")
    for i in range(len(names) + 1):
        np.testing.assert_allclose(between.of([i]).draws, along.of([i]).draws, rtol=1e-7, atol=1e-9)


def test_kinds_are_the_same_where_nothing_tells_them_apart():
    one = effect()
    natural, other = one.mediation(["a", "m"]), one.mediation(["a", "m"], kind="interventional")
    np.testing.assert_array_equal(natural.total.draws, other.total.draws)
    assert len(natural.assumptions) == 2
    assert len(other.assumptions) == 1


def test_interventional_effects_through_lines_are_natural_ones():
    """Along straight lines another row's noise is worth as much as the row's own: it is added up."""
    rng = np.random.default_rng(7)
    t = rng.integers(0, 2, 300) * 1.0
    a = t + rng.standard_normal(300)
    m = 0.5 * a + 0.5 * t + rng.standard_normal(300)
    y = a + m + t + rng.standard_normal(300)
    one = fit({"t": t, "a": a, "m": m, "y": y}, ad.CandidateGraph.from_order(["t", "a", "m", "y"]), rng=0)
    natural, other = (one.effect("t", "y").mediation(["m"], kind=kind) for kind in ("natural", "interventional"))
    np.testing.assert_allclose(natural.indirect.draws, other.indirect.draws, atol=1e-9)
    assert "'a', which 't' may move" in natural.notes[0]
    assert not other.notes


# -- what holds of every answer ----------------------------------------------------------------------------------------


@cache
def many(kind):
    """Studies of other kinds, 300 rows: a treatment t, mediators a and m, an outcome y."""
    rng = np.random.default_rng(11)
    n = 300
    c = rng.standard_normal(n)
    t = (rng.random(n) < expit(c)) * 1.0
    a = 0.8 * t + 0.4 * c + rng.standard_normal(n)
    m = rng.poisson(np.exp(0.2 + 0.5 * t)) * 1.0
    y = t + 0.8 * a + 0.4 * m + 0.5 * t * a + c + rng.standard_t(4, n)
    table = {"c": c, "t": t, "a": a, "m": m, "y": y, "g": np.arange(n) // 10, "w": rng.uniform(1, 3, n)}
    table["arm"] = np.where(t == 0, "none", np.where(rng.random(n) < 0.5, "half", "full"))
    treatment = "arm" if kind == "category" else "t"
    graph = ad.CandidateGraph.from_tiers([["c"], [treatment], ["a"], ["m"], ["y"]], 0.5)
    options = {
        "counts": {"families": {"m": "poisson"}},
        "heavy tails": {"families": {"y": "student"}},
        "clusters": {"cluster": "g"},
        "weights": {"weights": "w", "weight_kind": "sampling"},
        "curves": {"terms": "auto"},
        "category": {},
        "population": {},
        "several graphs": {},
    }[kind]
    graphs = [graph, graph.without_edge("t", "m")] if kind == "several graphs" else graph
    over = "population" if kind == "population" else "sample"
    found = ad.fit(table, graphs, rng=0, **({"terms": None} | options)).effect(treatment, "y", over=over)
    return found.contrast("none", "full") if kind == "category" else found


KINDS = ("counts", "heavy tails", "clusters", "weights", "curves", "category", "population", "several graphs")


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up_in_every_draw(kind):
    found = many(kind).mediation(["a", "m"])
    parts = found.parts.values()
    np.testing.assert_allclose(found.direct.draws + found.indirect.draws, found.total.draws, atol=1e-9)
    np.testing.assert_allclose(sum(one.draws for one in parts), found.indirect.draws, atol=1e-9)
    assert found.direct.mean + sum(one.mean for one in parts) == pytest.approx(found.total.mean, abs=1e-9)
    assert found.indirect.interval()[0] > 0.0
    assert abs(found.parts["a"].mean - 0.8 * 1.3) < 4 * found.parts["a"].sd
    lines = str(found).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80


def test_the_total_is_that_of_the_effect_where_products_are_not_there():
    one = effect()
    found = one.mediation(["a", "m"])
    assert abs(found.total.mean - one.mean) < 0.1 * one.sd
    assert found.total.sd == pytest.approx(one.sd, rel=0.1)


def test_clusters_make_all_parts_wider():
    rng = np.random.default_rng(13)
    group = np.repeat(np.arange(25), 16)
    shared = rng.standard_normal((3, 25))[:, group]
    t = (shared[0] > 0) * 1.0
    m = t + shared[1] + 0.5 * rng.standard_normal(400)
    y = t + m + shared[2] + 0.5 * rng.standard_normal(400)
    table = {"t": t, "m": m, "y": y, "group": group}
    graph = ad.CandidateGraph.from_order(["t", "m", "y"], probability=1.0)
    wide, narrow = (
        fit(table, graph, rng=0, robust=False, **options).effect("t", "y").mediation(["m"])
        for options in ({"cluster": "group"}, {})
    )
    assert wide.total.sd > 2.0 * narrow.total.sd
    assert wide.indirect.sd > 2.0 * narrow.indirect.sd
    assert wide.indirect.mean == pytest.approx(narrow.indirect.mean, rel=0.02)
    assert "clusters say more" in wide.notes[-1]
    np.testing.assert_allclose(wide.direct.draws + wide.indirect.draws, wide.total.draws, atol=1e-9)


def test_a_mediator_that_no_graph_has_on_a_path_carries_nothing():
    table = simulate(300, 4)
    through = ad.CandidateGraph.from_edges(
        {("t", "a"): 0.5, ("a", "y"): 0.5, ("t", "y"): 1.0}, variables=("t", "a", "y")
    )
    without = through.without_edge("t", "a")
    one = fit(table, [through, without], graph_weights=[1e-9, 1 - 1e-9], rng=0).effect("t", "y")
    found = one.mediation(["a"])
    assert found.indirect.mean == 0.0
    assert found.indirect.sd == 0.0
    assert found.share.median == 0.0


def test_without_the_product_part_of_the_indirect_effect_is_booked_as_direct():
    rng = np.random.default_rng(17)
    t = rng.integers(0, 2, 3000) * 1.0
    m = t + rng.standard_normal(3000)
    y = t * m + rng.standard_normal(3000)
    one = fit({"t": t, "m": m, "y": y}, ad.CandidateGraph.from_order(["t", "m", "y"], probability=1.0), rng=0)
    certain, without = (one.effect("t", "y").mediation(["m"], products=products) for products in (True, False))
    assert certain.indirect.mean == pytest.approx(1.0, abs=0.1)
    assert certain.direct.mean == pytest.approx(0.0, abs=0.1)
    assert without.indirect.mean < 0.7


def test_products_do_not_decide_which_edges_are_there():
    """Evidence of the product is not asked: the direct edge is as probable with it as without."""
    study = ad.datasets.example()
    one = fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    found = one.mediation(["tar", "exercise"])
    absent = float(np.mean(found.direct.draws == 0.0))
    assert absent == pytest.approx(
        1.0 - one.direct.probability, abs=4 * math.sqrt(0.14 * 0.86 / len(found.direct.draws))
    )
    assert found.indirect.mean == pytest.approx(one.mean - one.direct.mean, abs=0.5 * one.sd)


# -- one path ----------------------------------------------------------------------------------------------------------


def test_paths_through_yes_no_variables_have_effects_of_their_own():
    one = effect()
    direct = one.along(["t", "y"], products=False)
    assert 0.0 < direct.mean < one.mean
    through = one.along(["t", "m", "y"])
    assert through.sd > 0.0
    assert not through.notes
    assert "'a' may act on 'y' along other paths" in one.along(["t", "a", "y"]).notes[0]


# -- sensitivity -------------------------------------------------------------------------------------------------------


def test_a_hidden_cause_of_mediator_and_outcome_is_undone_at_its_correlation():
    rng = np.random.default_rng(19)
    n, rho = 20_000, 0.4
    t, e, f = rng.standard_normal((3, n))
    m = 0.8 * t + e
    y = 0.5 * t + 0.6 * m + 2.0 * (rho * e + math.sqrt(1 - rho**2) * f)
    graph = ad.CandidateGraph.from_order(["t", "m", "y"], probability=1.0)
    one = fit({"t": t, "m": m, "y": y}, graph, rng=0).effect("t", "y")
    for products in (True, False):
        found = one.mediation(["m"], products=products)
        table = found.sensitivity([0.0, rho])
        assert found.indirect.mean > 1.0
        assert table["indirect"] == pytest.approx([found.indirect.mean, 0.48], abs=0.05)
        assert table["direct"][1] == pytest.approx(0.5, abs=0.05)
        assert table["indirect_low"][1] < 0.48 < table["indirect_high"][1]
        assert (
            "zero at rho = 0.61" in table.note
        )  # 1.12 over 0.8 times 2 sqrt(1 - 0.16) is 0.764 = rho / sqrt(1 - rho^2)


def test_sensitivity_is_refused_where_errors_have_no_correlation():
    with pytest.raises(ad.AlldagsError, match=r"noise of both is normal, and that of 'm' is not"):
        effect().mediation(["m"]).sensitivity()
    with pytest.raises(ad.AlldagsError, match=r"known for a single one; name one in through="):
        straight().mediation(["a", "m"]).sensitivity()
    with pytest.raises(ad.AlldagsError, match=r"rho is a correlation, between -1 and 1, got 1.0"):
        straight().mediation(["a"]).sensitivity([1.0])


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda e: e.mediation("m"), r"through must be a list of names; write through=\['m'\]"),
        (lambda e: e.mediation([]), r"through names no mediator; give some of 'a', 'm'"),
        (lambda e: e.mediation(["c"]), r"'c', which is on no candidate path from 't' to 'y'; give some of 'a', 'm'"),
        (lambda e: e.mediation(["m"], kind="pure"), r"kind must be one of \('natural', 'interventional'\), got 'pure'"),
        (lambda e: e.mediation(["m"], products=1), r"products must be True or False, got 1"),
        (lambda e: e.along(["t", "a"]), r"a path is a list of names from 't' to 'y', both among them"),
        (lambda e: e.along(["t", "c", "y"]), r"'t' -> 'c' is no candidate edge.*see paths\(\)"),
        (lambda e: e.on("log odds"), r"see mediation\(\)"),
    ],
)
def test_mistakes_are_named(ask, said):
    with pytest.raises(ad.AlldagsError, match=said):
        ask(effect())


def test_products_of_very_many_mediators_are_refused():
    rng = np.random.default_rng(29)
    names = [f"m{i}" for i in range(9)]
    table = {name: rng.standard_normal(60) for name in ("t", *names, "y")}
    one = fit(table, ad.CandidateGraph.from_tiers([["t"], names, ["y"]], 0.5), rng=0).effect("t", "y")
    with pytest.raises(ad.AlldagsError, match=r"9 mediators have too many products.*name at most 8 of them"):
        one.mediation(names)
    found = one.mediation(names, products=False)
    assert found.indirect.mean == pytest.approx(math.fsum(part.mean for part in found.parts.values()), abs=1e-12)
    assert len(str(found).splitlines()) <= 14


def test_products_are_refused_by_name_where_rows_are_not_at_hand():
    moments = ad.Moments.from_table(simulate(50, 1))
    one = ad.fit(moments, GRAPH, families="normal", rng=0).effect("t", "y")
    with pytest.raises(
        ad.AlldagsError, match=r"products of treatment and mediators and moments.*ask with products=False"
    ):
        one.mediation(["a"])
    assert one.mediation(["a"], products=False).total.mean == one.mean


def test_a_share_says_when_the_total_may_be_zero():
    rng = np.random.default_rng(23)
    t, noise, other = rng.standard_normal((3, 100))
    m = t + noise
    table = {"t": t, "m": m, "y": m - t + other}
    one = fit(table, ad.CandidateGraph.from_order(["t", "m", "y"], probability=1.0), rng=0).effect("t", "y")
    found = one.mediation(["m"], products=False)
    assert "the total effect may be zero" in found.share.notes[0]
    assert "may be zero" in str(found)
