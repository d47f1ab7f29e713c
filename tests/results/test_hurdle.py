"""Effects on amounts with zeros, and through them: every question, both parts, gaps, rows and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import alldags as ad
from lines import fit
from show.everything import everything

GRAPH = ad.CandidateGraph.from_tiers([["age"], ["drug"], ["stay"], ["cost"], ["mood"]], 0.5).with_edge(
    "drug", "cost", 1.0
)


def made(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(rows)
    drug = (rng.random(rows) < expit(0.6 * age)).astype(float)
    stay = 0.5 * drug + 0.4 * age + rng.standard_normal(rows)
    some = rng.random(rows) < expit(0.3 + 0.5 * drug + 0.5 * age + 0.3 * stay)
    cost = np.where(some, np.exp(1 + 0.3 * drug + 0.2 * stay) * rng.gamma(1.5, 1 / 1.5, rows), 0.0)
    return {"age": age, "drug": drug, "stay": stay, "cost": cost, "mood": 0.2 * cost + rng.standard_normal(rows)}


@pytest.fixture(scope="module")
def table():
    return made()


@pytest.fixture(scope="module")
def posterior(table):
    return fit(table, GRAPH, families={"cost": "hurdle"}, rng=0)


def test_the_effect_is_that_of_both_parts_pushed_by_hand(posterior, table):
    effect = posterior.effect("drug", "cost")
    total = effect.workings.totals.items[0]
    node, stay = (total.model.node(name) for name in ("cost", "stay"))
    amount, some = (part.draw_with_intercept(4000, np.random.default_rng(i)) for i, part in enumerate(node.parts))
    path = stay.draw(4000, np.random.default_rng(2))[0][:, stay.parents.index("drug")]
    data = total.model.data
    columns = {name: (table[name] - table[name].mean()) / data.scale_of(name) for name in node.parents}
    levels = []
    for x in (0.0, 1.0):
        move = (x - table["drug"]) / data.scale_of("drug")
        now = {name: column[:, None] for name, column in columns.items()}
        now["drug"] = now["drug"] + move[:, None]
        carried = path * data.unit("drug", "stay") * data.scale_of("drug") / data.scale_of("stay")
        now["stay"] = now["stay"] + move[:, None] * carried
        eta = [one.intercept + sum(now[name] * one.coefficients[:, i] for i, name in enumerate(node.parents))
               for one in (amount, some)]  # fmt: skip
        levels.append((expit(eta[1]) * np.exp(eta[0])).mean(axis=0))
    difference = levels[1] - levels[0]
    assert effect.mean == pytest.approx(difference.mean(), abs=0.06 * effect.answer.sd)
    assert effect.answer.sd == pytest.approx(difference.std(), rel=0.06)
    assert effect.on("ratio").median == pytest.approx(float(np.median(levels[1] / levels[0])), rel=0.02)


def test_what_is_said(posterior):
    effect = posterior.effect("drug", "cost")
    text = " ".join(everything(effect).split())
    assert "cost is an amount with zeros (" in text
    assert "rows have some): effects are differences of its mean." in text
    assert "2 regressions by weighted draws" not in text.replace("1 regression by weighted", "")
    assert "symmetric" not in text
    assert "a two-part regression of cost" in effect.to.sentence("methods")
    through = " ".join(everything(posterior.effect("drug", "mood")).split())
    assert "cost is an amount with zeros" in through
    assert "it is averaged over on the way" in through


@pytest.mark.parametrize("scale", ["log odds", "log mean"])
def test_there_is_no_one_predictor(posterior, scale):
    effect = posterior.effect("drug", "cost")
    with pytest.raises(ad.AlldagsError, match="'cost' is two regressions, of whether there is any and of how much"):
        effect.on(scale)
    with pytest.raises(ad.AlldagsError, match="no one predictor; use the effect itself, or on"):
        effect.paths()


def test_an_edge_is_there_if_it_is_in_either_part(posterior):
    found = posterior.edge_probabilities()
    pairs = dict(zip(zip(found["cause"], found["effect"], strict=True), found["posterior"], strict=True))
    node = posterior._models.items[0].node("cost")
    for place, name in enumerate(node.parents):
        apart = [1.0 - part.inclusion[place] for part in node.parts]
        assert pairs[name, "cost"] == pytest.approx(1.0 - apart[0] * apart[1], abs=1e-12)
    assert pairs["drug", "cost"] == 1.0


def test_no_effect_needs_none_in_either_part():
    rng = np.random.default_rng(5)
    x, c = rng.standard_normal((2, 300))
    cost = np.where(rng.random(300) < expit(0.2 + 0.8 * c), np.exp(0.5 * c) * rng.gamma(1.5, 1 / 1.5, 300), 0.0)
    graph = ad.CandidateGraph.from_edges({("x", "cost"): 0.5, ("c", "cost"): 0.5})
    effect = fit({"x": x, "c": c, "cost": cost}, graph, families={"cost": "hurdle"}, rng=0).effect("x", "cost")
    node = effect.workings.totals.items[0].model.node("cost")
    parts = [part.inclusion[part.parents.index("x")] for part in node.parts]
    assert effect.probability_no_effect == pytest.approx((1 - parts[0]) * (1 - parts[1]), abs=1e-9)
    assert np.mean(effect.answer.draws(20_000, np.random.default_rng(0)) == 0.0) == pytest.approx(
        effect.probability_no_effect, abs=0.02
    )
    assert effect.probability_no_effect > 0.3


@pytest.mark.parametrize("terms", [None, "auto", {"cost": ["drug*age", "curve(age)"]}])
def test_curves_are_looked_for_in_both_parts(table, terms):
    effect = ad.fit(table, GRAPH, families={"cost": "hurdle"}, terms=terms, rng=0).effect("drug", "cost")
    assert 0.3 < effect.mean < 1.6
    assert effect.sd < 0.6
    assert effect.on("ratio").median > 1.1
    new = effect.do(1.0).new_unit
    assert (new.draws == 0.0).mean() == pytest.approx((table["cost"][table["drug"] == 1] == 0).mean(), abs=0.07)


def test_mediation_adds_up(posterior):
    for effect, through in ((posterior.effect("drug", "cost"), "stay"), (posterior.effect("drug", "mood"), "cost")):
        for products in (False, True):
            found = effect.mediation([through], products=products)
            np.testing.assert_allclose(found.direct.draws + found.indirect.draws, found.total.draws, atol=1e-9)
            assert found.total.mean == pytest.approx(effect.mean, abs=0.3 * effect.answer.sd)


def test_single_rows_keep_their_zeros_or_amounts(posterior, table):
    rows = np.r_[np.flatnonzero(table["cost"] == 0.0)[:8], np.flatnonzero(table["cost"] > 0.0)[:8]]
    effect = posterior.effect("drug", "cost")
    every = {x: np.array(effect.counterfactual(rows.tolist(), values=x)["mean"]) for x in (0.0, 1.0)}
    own = np.where(table["drug"][rows] == 1.0, every[1.0], every[0.0])
    np.testing.assert_allclose(own, table["cost"][rows], rtol=1e-3, atol=1e-6)
    assert (every[1.0] - every[0.0]).mean() > 0.1
    assert (every[1.0][:8] > 0.0).any()


def test_gaps_in_causes_and_in_the_amount_are_drawn(table):
    rng = np.random.default_rng(3)
    gaps = {"stay": np.where(rng.random(500) < 0.15, np.nan, table["stay"])}
    full = fit(table, GRAPH, families={"cost": "hurdle"}, rng=0).effect("drug", "cost")
    some = fit(table | gaps, GRAPH, families={"cost": "hurdle"}, missing="impute", imputations=4, rng=0)
    assert some.effect("drug", "cost").mean == pytest.approx(full.mean, abs=0.7 * full.sd)
    gaps = {"cost": np.where(rng.random(500) < 0.15, np.nan, table["cost"])}
    drawn = fit(table | gaps, GRAPH, families={"cost": "hurdle"}, missing="impute", imputations=4, rng=0)
    values = drawn.workings.data.table.column("cost")
    filled = values[np.isnan(gaps["cost"])]
    assert (filled == 0.0).mean() == pytest.approx((table["cost"] == 0.0).mean(), abs=0.12)
    assert (filled[filled > 0.0] > 1e-6).all()
    assert drawn.effect("drug", "mood").mean == pytest.approx(
        fit(table, GRAPH, families={"cost": "hurdle"}, rng=0).effect("drug", "mood").mean, abs=0.15
    )


def test_rows_weights_are_rows(table):
    twice = {name: np.concatenate([column, column[:250]]) for name, column in table.items()}
    weight = np.r_[np.full(250, 2.0), np.ones(250)]
    found = [
        fit(twice, GRAPH, families={"cost": "hurdle"}, rng=0, robust=False),
        fit(table | {"w": weight}, GRAPH, families={"cost": "hurdle"}, weights="w", rng=0, robust=False),
    ]
    one, other = (posterior.effect("drug", "cost") for posterior in found)
    assert one.mean == pytest.approx(other.mean, abs=0.03 * one.sd)
    assert one.sd == pytest.approx(other.sd, rel=0.03)


def test_the_jackknife_is_that_of_leaving_rows_out():
    few = made(120, 4)
    posterior = fit(few, GRAPH, families={"cost": "hurdle"}, rng=0)
    check = posterior.effect("drug", "cost").uncertainty.jackknife
    places = np.random.default_rng(0).choice(120, 120, replace=False)
    folds = np.array_split(places, 20)
    means = []
    for fold in folds:
        kept = np.setdiff1d(np.arange(120), fold)
        part = {name: column[kept] for name, column in few.items()}
        means.append(fit(part, GRAPH, families={"cost": "hurdle"}, rng=0, robust=False).effect("drug", "cost").mean)
    spread = np.sqrt(19 / 20 * np.square(np.array(means) - np.mean(means)).sum())
    assert check.sd_pieces == pytest.approx(spread, rel=0.4)


@pytest.mark.parametrize(
    ("cost", "family", "match"),
    [
        (lambda y: y - 1.0, "hurdle", r"'cost' is to be zero or an amount \(hurdle\), but has the value -1"),
        (lambda y: y + 1.0, ad.Hurdle("lognormal"), r"never 0, so that there is no hurdle; say .*'lognormal'"),
        (lambda y: 3.0 * (y > 0), "hurdle", "has one value above 0 or none"),
        (lambda y: y, "gamma", "zeros and amounts are two regressions"),
    ],
)
def test_values_that_it_cannot_have_are_refused_with_the_way_out(table, cost, family, match):
    with pytest.raises(ad.AlldagsError, match=match):
        fit(table | {"cost": cost(table["cost"])}, GRAPH, families={"cost": family}, rng=0)


def test_amounts_are_of_two_kinds():
    assert ad.Hurdle(ad.LogNormal()) == ad.Hurdle("lognormal")
    with pytest.raises(ad.AlldagsError, match="the amounts of a Hurdle are 'gamma' or 'lognormal', got 'poisson'"):
        ad.Hurdle("poisson")
