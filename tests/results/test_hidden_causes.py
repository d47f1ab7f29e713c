"""Hidden common causes in the graph: instruments, front doors, what is said, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from lines import fit
from show.everything import everything

STUDY = ad.datasets.example()


def made(seed=0, n=400, invalid=0.0, rho=0.6, strength=0.6):
    """A table with two covariates, two instruments and an effect of 0.5."""
    rng = np.random.default_rng(seed)
    c, z, u = rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), rng.standard_normal(n)
    v = rho * u + math.sqrt(1 - rho**2) * rng.standard_normal(n)
    x = 2.0 + c @ [0.5, -0.3] + z @ [strength, strength] + u
    y = 0.5 * x + c @ [0.4, 0.4] + invalid * z[:, 0] + v
    return {"c0": c[:, 0], "c1": c[:, 1], "z0": z[:, 0], "z1": z[:, 1], "x": x, "y": y}


GRAPH = ad.CandidateGraph.from_tiers([["c0", "c1", "z0", "z1"], ["x"], ["y"]])
TWO = GRAPH.instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 1.0)


def two_stage(table, instruments=("z0", "z1")):
    """Return two-stage least squares with its standard error."""
    x, y = np.array(table["x"]), np.array(table["y"])
    flat = np.column_stack([np.ones(len(x)), table["c0"], table["c1"]])
    seen = np.column_stack([flat, *(table[name] for name in instruments)])
    fitted = np.column_stack([seen @ np.linalg.lstsq(seen, x, rcond=None)[0], flat])
    slopes = np.linalg.lstsq(fitted, y, rcond=None)[0]
    left = y - np.column_stack([x, flat]) @ slopes
    spread = left @ left / (len(x) - 4) * np.linalg.inv(fitted.T @ fitted)
    return slopes[0], math.sqrt(spread[0, 0])


@pytest.fixture(scope="module")
def strong():
    return fit(made(), TWO, rng=0).effect("x", "y")


def test_strong_valid_instruments_give_two_stage_least_squares(strong):
    value, error = two_stage(made())
    assert strong.mean == pytest.approx(value, abs=0.3 * error)
    assert strong.sd == pytest.approx(error, rel=0.15)
    assert strong.hidden.identified == 1.0
    cause = strong.hidden.causes["x", "y"]
    assert cause.low < 0.6 < cause.high
    assert cause.learned > 0.5
    assert strong.hidden.instruments["instrument"] == ["z0", "z1"]


def test_parts_of_the_variance_add_up(strong):
    parts = strong.uncertainty
    whole = parts.hidden**2 + parts.structure**2 + parts.coefficients**2
    assert whole == pytest.approx(strong.sd**2)
    assert parts.hidden > parts.coefficients
    assert strong.to.dict()["sd_hidden"] == parts.hidden
    assert fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk").uncertainty.hidden is None


def test_draws_have_the_moments(strong):
    drawn = strong.draws(40_000, rng=1)
    assert drawn.mean() == pytest.approx(strong.mean, abs=0.02 * strong.sd)
    assert drawn.std() == pytest.approx(strong.sd, rel=0.03)


def test_one_of_two_instruments_may_be_invalid():
    graph = GRAPH.instruments(["z0", "z1"], treatment="x", valid=0.5).with_hidden("x", "y", 1.0)
    effect = fit(made(n=1500, invalid=0.0), graph, rng=0).effect("x", "y")
    low, high = effect.interval()
    assert low < 0.5 < high
    assert 0.5 < effect.hidden.identified < 1.0
    table = effect.hidden.instruments
    assert table["valid_before"] == [0.5, 0.5]
    assert all(0.0 < p < 1.0 for p in table["valid"])


def test_without_an_instrument_nothing_identifies_the_effect():
    effect = fit(made(), GRAPH.with_hidden("x", "y", 1.0), rng=0).effect("x", "y")
    assert effect.hidden.identified == 0.0
    assert effect.hidden.causes["x", "y"].learned < 0.05
    said = next(note for note in effect.notes if "nothing identifies" in note.text)
    assert said.severity == "changes the answer"
    assert "! nothing identifies this effect" in str(effect)
    assert len(str(effect).splitlines()) <= 14
    assert max(map(len, str(effect).splitlines())) <= 80
    assert effect.sd > 4 * fit(made(), GRAPH, rng=0).effect("x", "y").sd


def test_covariates_with_doubtful_edges_are_no_instruments():
    """Effects in one ratio look like an instrument's; nobody said that there is one."""
    rng = np.random.default_rng(3)
    c, u = rng.standard_normal((300, 4)), rng.standard_normal(300)
    x = c.sum(axis=1) * 0.4 + u
    table = {
        **{f"c{i}": c[:, i] for i in range(4)},
        "x": x,
        "y": 0.4 * x + c.sum(axis=1) * 0.32 + rng.standard_normal(300),
    }
    graph = ad.CandidateGraph.from_tiers([[f"c{i}" for i in range(4)], ["x"], ["y"]]).with_hidden("x", "y", 1.0)
    effect = fit(table, graph, rng=0).effect("x", "y")
    assert effect.hidden.identified == 0.0
    assert effect.mean == pytest.approx(0.4, abs=0.2)
    low, high = effect.interval()
    assert low < 0.4 < high


def test_what_is_believed_of_the_correlation_moves_the_effect():
    sure = GRAPH.with_edge("x", "y", 1.0)
    wide, narrow, shifted = (
        fit(made(), sure.with_hidden("x", "y", 1.0, correlation=believed), rng=0).effect("x", "y")
        for believed in (None, 50.0, (0.5, 0.7))
    )
    assert narrow.sd < 0.35 * wide.sd
    assert shifted.mean < wide.mean - 0.3
    assert shifted.interval()[0] < 0.5 < shifted.interval()[1]


def test_a_hidden_cause_that_is_not_there_is_found_not_to_be():
    graph = GRAPH.instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 0.5)
    absent, there = (fit(made(seed=4, rho=rho, n=800), graph, rng=0).effect("x", "y") for rho in (0.0, 0.6))
    assert absent.hidden.causes["x", "y"].probability < 0.3
    assert there.hidden.causes["x", "y"].probability > 0.95


def front(n=500, seed=1):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    m = 0.8 * u + rng.standard_normal(n)
    return {"x": u, "m": m, "y": 0.5 * m + 0.6 * u + 0.8 * rng.standard_normal(n)}


def test_a_front_door_is_the_front_door_formula():
    table = front()
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0}).with_hidden("x", "y", 1.0)
    effect = fit(table, graph, rng=0).effect("x", "y")
    x, m, y = (table[name] - table[name].mean() for name in "xmy")
    first = x @ m / (x @ x)
    second = np.linalg.lstsq(np.column_stack([m, x]), y, rcond=None)[0][0]
    assert effect.mean == pytest.approx(first * second, abs=0.15 * effect.sd)
    assert effect.hidden.identified == 1.0
    assert "without an instrument" in everything(effect)


def test_two_regressions_with_correlated_errors_on_the_way_are_drawn_together():
    """X -> M -> Y with M <-> Y: the total effect is that of the reduced form, however strong the hidden cause is."""
    rng = np.random.default_rng(2)
    n = 600
    x, u = rng.standard_normal((2, n))
    m = 0.8 * x + u
    table = {"x": x, "m": m, "y": 0.5 * m + 0.7 * u + rng.standard_normal(n)}
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0}).with_hidden("m", "y", 1.0)
    effect = fit(table, graph, rng=0).effect("x", "y")
    xc, y = x - x.mean(), table["y"] - table["y"].mean()
    slope = xc @ y / (xc @ xc)
    error = math.sqrt((y - slope * xc) @ (y - slope * xc) / (n - 2) / (xc @ xc))
    assert effect.mean == pytest.approx(slope, abs=0.4 * error)
    assert effect.sd == pytest.approx(error, rel=0.2)
    assert sum(effect.paths()["mean"]) == pytest.approx(effect.mean, abs=0.05 * effect.sd)


def test_sensitivity_is_that_without_the_hidden_cause():
    hidden = fit(STUDY.table, STUDY.graph.with_hidden("smoking", "risk", 0.3), rng=0).effect("smoking", "risk")
    plain = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")
    assert hidden.sensitivity().at(0.1, 0.1) == plain.sensitivity().at(0.1, 0.1)
    assert plain.hidden.causes == {}
    assert plain.hidden.identified == 1.0


def test_the_front_door_of_the_package_takes_instruments():
    table = made()
    asked = {"treatment": "x", "outcome": "y", "confounders": ["c0", "c1"], "terms": None, "rng": 0}
    effect = ad.effect(table, instruments=["z0", "z1"], **asked)
    assert effect.mean == pytest.approx(two_stage(table)[0], abs=0.02)
    some = ad.effect(table, instruments=["z0", "z1"], valid="some", **asked)
    assert some.sd > effect.sd
    with pytest.raises(ad.AlldagsError, match="'c0' stands twice, in confounders and instruments"):
        ad.effect(table, instruments=["c0"], **asked)


def test_clusters_widen_the_effect():
    rng = np.random.default_rng(5)
    table = made(n=400)
    site = np.repeat(np.arange(40), 10)
    shock = rng.standard_normal(40)[site]
    lot = rng.standard_normal(40)[site]
    x = table["x"] + lot
    clustered = table | {"z0": table["z0"] + lot, "x": x, "y": table["y"] + 0.5 * lot + shock, "site": site}
    plain = fit(clustered, TWO, rng=0, robust=False).effect("x", "y")
    wide = fit(clustered, TWO, rng=0, cluster="site").effect("x", "y")
    assert wide.sd > 1.1 * plain.sd


def test_rows_that_count_twice_are_rows_that_stand_there_twice():
    table = made(n=300)
    times = np.where(np.arange(300) % 3 == 0, 2, 1)
    twice = {name: np.repeat(column, times) for name, column in table.items()}
    weighed = fit(table | {"times": times}, TWO, rng=0, weights="times", robust=False).effect("x", "y")
    assert weighed.mean == pytest.approx(fit(twice, TWO, rng=0, robust=False).effect("x", "y").mean, rel=1e-6)


def test_weights_of_a_sample_give_the_effect_of_the_population_with_a_wider_interval():
    """Rows with a small effect were drawn four times as often as they stand for."""
    rng = np.random.default_rng(3)
    table = made(n=3000, rho=0.3)
    often = rng.random(3000) < 0.5
    y = table["y"] - 0.4 * table["x"] * often
    share = np.where(often, 1.0, 0.25)
    kept = rng.random(3000) < share
    drawn = {name: column[kept] for name, column in (table | {"y": y, "w": 1.0 / share}).items()}
    found = fit(drawn, TWO, rng=0, weights="w", weight_kind="sampling").effect("x", "y")
    plain = fit(drawn, TWO, rng=0, robust=False).effect("x", "y")
    assert found.mean == pytest.approx(0.3, abs=3 * found.sd)
    assert plain.mean < 0.24
    assert found.sd > 1.2 * plain.sd


def test_even_noise_is_not_widened():
    found = [fit(made(seed=seed), TWO, rng=0).effect("x", "y").uncertainty.jackknife for seed in range(4)]
    for check in found:
        assert check.sd_expected == pytest.approx(check.sd, rel=0.15)
        assert check.sd_pieces == pytest.approx(check.sd, rel=0.35)


def test_missing_values_are_averaged_over():
    table = made()
    table["c0"] = np.where(np.arange(400) % 10 == 0, np.nan, table["c0"])
    effect = fit(table, TWO, rng=0, missing="impute", imputations=3).effect("x", "y")
    assert effect.mean == pytest.approx(fit(made(), TWO, rng=0).effect("x", "y").mean, abs=0.1)


def test_graphs_that_agree_at_the_pair_are_weighed():
    table = made() | {"w": np.random.default_rng(9).standard_normal(400)}
    tiers = [["w"], ["c0", "c1", "z0", "z1"], ["x"], ["y"]]
    graph = ad.CandidateGraph.from_tiers(tiers).without_edge("w", "y").without_edge("w", "x")
    one = graph.instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 1.0)
    other = one.without_edge("w", "c0")
    found = fit(table, [one, other], rng=0)
    assert found.effect("x", "y").mean == pytest.approx(fit(table, one, rng=0).effect("x", "y").mean, abs=1e-6)
    with pytest.raises(ad.AlldagsError, match="graphs that differ in what acts on 'x', 'y' do not go together"):
        fit(table, [one, one.with_hidden("x", "y", 0.0)], rng=0)


@pytest.mark.parametrize(
    ("graph", "options", "match"),
    [
        (
            TWO.with_hidden("c0", "x", 0.5),
            {},
            "hidden common causes join 'c0', 'x', 'y': correlated errors of more than",
        ),
        (TWO, {"prior": ad.Prior(slab=ad.priors.GPrior())}, r"GPrior.* do not go together: a g-prior needs to know"),
        (TWO, {"prior": ad.Prior.paper()}, "do not go together: they have intercepts"),
        (TWO, {"engine": "k2"}, "engine='k2' do not go together: correlated errors leave open"),
        (TWO.with_pair("x", "y", 0.4, 0.2), {}, "it has to be known which of the two comes first"),
        (TWO, {"terms": {"y": ["x^2"]}}, "correlated errors are modelled for straight lines"),
        (TWO, {"families": {"y": "student"}}, "correlated errors are modelled for straight lines with normal noise"),
    ],
)
def test_what_does_not_go_with_correlated_errors_is_refused_by_name(graph, options, match):
    with pytest.raises(ad.AlldagsError, match=match):
        fit(made(), graph, rng=0, **options)


def test_too_many_covariates_are_refused():
    rng = np.random.default_rng(0)
    table = {f"c{i}": rng.standard_normal(30) for i in range(10)} | {"x": rng.standard_normal(30)}
    table["y"] = table["x"] + rng.standard_normal(30)
    graph = ad.CandidateGraph.from_tiers([[f"c{i}" for i in range(10)], ["x"], ["y"]]).with_hidden("x", "y")
    with pytest.raises(ad.AlldagsError, match=r"10 covariates of 'x' and 'y'.* are too many for 30 rows"):
        fit(table, graph, rng=0).effect("x", "y")


def test_many_doubtful_instruments_are_sampled():
    rng = np.random.default_rng(7)
    z, u = rng.standard_normal((400, 14)), rng.standard_normal(400)
    x = z @ np.full(14, 0.3) + u
    y = 0.5 * x + 0.7 * z[:, 0] + u + rng.standard_normal(400)
    table = {**{f"z{i}": z[:, i] for i in range(14)}, "x": x, "y": y}
    names = [f"z{i}" for i in range(14)]
    graph = (
        ad.CandidateGraph.from_tiers([names, ["x"], ["y"]]).instruments(names, "x", "some").with_hidden("x", "y", 1.0)
    )
    effect = fit(table, graph, rng=0).effect("x", "y")
    low, high = effect.interval()
    assert low < 0.5 < high
    valid = effect.hidden.instruments["valid"]
    assert valid[0] < 0.05 < 0.7 < np.mean(valid[1:])
    assert effect.uncertainty.engines == {"y": "pairs, sampled"}


def test_answers_are_saved(tmp_path):
    posterior = fit(made(), TWO, rng=0)
    posterior.save(tmp_path / "study.npz")
    assert ad.load(tmp_path / "study.npz").effect("x", "y").interval() == posterior.effect("x", "y").interval()


def test_a_single_doubtful_instrument_cannot_vouch_for_itself():
    graph = GRAPH.instrument("z0", treatment="x", valid=0.5).with_hidden("x", "y", 1.0)
    effect = fit(made(), graph, rng=0).effect("x", "y")
    assert any("with a single instrument data cannot tell whether it is valid" in note.text for note in effect.notes)


def test_weak_instruments_are_called_that():
    graph = GRAPH.instrument("z0", treatment="x").with_hidden("x", "y", 1.0)
    effect = fit(made(strength=0.03), graph, rng=0).effect("x", "y")
    assert any("z0 is weak (F = " in note.text for note in effect.notes if note.severity == "check")


def test_a_category_may_be_a_covariate_but_not_a_member():
    rng = np.random.default_rng(0)
    table = made() | {"region": np.array(list("abc"))[rng.integers(0, 3, 400)]}
    graph = ad.CandidateGraph.from_tiers([["c0", "c1", "z0", "z1", "region"], ["x"], ["y"]])
    graph = graph.instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 1.0)
    effect = fit(table, graph, rng=0).effect("x", "y")
    assert effect.mean == pytest.approx(fit(made(), TWO, rng=0).effect("x", "y").mean, abs=0.05)
    with pytest.raises(ad.AlldagsError, match=r"'region', .*both, and instruments, have to be numbers"):
        fit(table, graph.instrument("region", treatment="x"), rng=0)


# -- what else is asked of a pair ------------------------------------------------------------------------------------


def between(n=1000, seed=2):
    """X acts on M and Y, M on Y, and something hidden on M and Y."""
    rng = np.random.default_rng(seed)
    x, u = rng.standard_normal((2, n))
    m = 0.8 * x + u
    return {"x": x, "m": m, "y": 0.5 * m + 0.3 * x + 0.7 * u + rng.standard_normal(n)}


BETWEEN = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0, ("x", "y"): 1.0}).with_hidden("m", "y", 1.0)


def test_mediation_through_a_pair_is_drawn_from_both_regressions_together():
    effect = fit(between(), BETWEEN, rng=0).effect("x", "y")
    found = effect.mediation(["m"], products=False)
    paths = {row["path"]: row for row in effect.paths().rows()}
    for part, path in ((found.indirect, "x -> m -> y"), (found.direct, "x -> y")):
        assert part.mean == pytest.approx(paths[path]["mean"], abs=0.02)
        assert np.std(part.draws) == pytest.approx(paths[path]["sd"], rel=0.05)
    assert found.total.sd == pytest.approx(effect.sd, rel=0.03)
    assert [note.text for note in found.notes] == [
        "a hidden common cause of m and y is allowed for; what is supposed is of any others"
    ]
    with pytest.raises(ad.AlldagsError, match="the hidden cause of m and y is in the graph"):
        found.sensitivity()


def test_products_with_mediators_of_a_pair_are_refused():
    effect = fit(between(), BETWEEN, rng=0).effect("x", "y")
    match = "a hidden common cause of 'm', 'y' and products .*straight lines; ask with products=False"
    with pytest.raises(ad.AlldagsError, match=match):
        effect.mediation(["m"])
    with pytest.raises(ad.AlldagsError, match=match):
        effect.along(["x", "m", "y"])


@pytest.fixture(scope="module")
def posterior():
    return fit(made(n=4000), TWO, rng=0)


def test_a_treatment_of_a_pair_is_set_as_its_effect_says(posterior):
    """Errors cancel: rows keep their own; the noise of a new unit is that of the outcome alone."""
    table, effect = made(n=4000), posterior.effect("x", "y")
    own = table["y"].mean() + effect.mean * (3.0 - table["x"].mean())
    assert posterior.do({"x": 3.0}, outcome="y").mean.mean == pytest.approx(own)
    assert posterior.do(ad.shift("x", 1.0), outcome="y").mean.mean == pytest.approx(table["y"].mean() + effect.mean)
    assert effect.do(3.0).new_unit.sd == pytest.approx(math.sqrt(1.32), rel=0.05)
    row = next(effect.counterfactual([0], values=3.0).rows())
    assert row["mean"] == pytest.approx(table["y"][0] + effect.mean * (3.0 - table["x"][0]))
    best = posterior.decide([{"x": 0.0}, {"x": 1.0}], outcome="y").best
    assert "x = 1" in str(best)


@pytest.mark.parametrize(
    ("asks", "match"),
    [
        (lambda p, _: p.effect("z0", "y").do(1.0).new_unit, "the outcome of a new unit do not go together: what is"),
        (lambda p, rows: p.effect("z0", "y", over=rows), "rows of another table do not go together: what is known"),
        (lambda p, rows: p.predict(rows, outcome="y"), "rows of another table do not go together: what is known"),
        (
            lambda p, rows: p.do(ad.shift("x", 1.0), outcome="y", over=rows),
            "what is set by posterior.do and hidden common causes do not go together: computed is",
        ),
        (
            lambda p, _: p.do({"x": 1.0, "z0": 0.0}, outcome="y"),
            "several variables that are set at once and hidden common causes",
        ),
        (lambda p, _: p.effect("x", "y").next_steps(), "what to find out next and hidden common causes do not go"),
    ],
    ids=["new unit", "other rows", "predict", "shift elsewhere", "several", "next steps"],
)
def test_what_would_take_errors_of_a_pair_for_independent_is_refused_by_name(posterior, asks, match):
    rows = {name: column[:50] for name, column in made(n=4000).items()}
    with pytest.raises(ad.AlldagsError, match=match):
        asks(posterior, rows)


def test_the_mean_where_rows_were_set_is_refused_if_both_of_a_pair_lie_behind_it():
    table = made()
    was_set = np.full(400, "", dtype=object)
    was_set[:100] = "c0"
    found = fit(table, TWO, rng=0, interventions=was_set)
    assert found.effect("x", "y").do(1.0).mean.sd > 0
    with pytest.raises(ad.AlldagsError, match="the mean outcome where rows were set from outside do not go together"):
        _ = found.effect("z0", "y").do(1.0).mean


def test_even_noise_is_not_widened_where_a_yes_no_variable_comes_after_a_pair():
    table = made(n=1500)
    chance = 1.0 / (1.0 + np.exp(1.0 - table["y"] - 0.5 * table["x"]))
    table["b"] = (np.random.default_rng(1).random(1500) < chance).astype(float)
    tiers = [["c0", "c1", "z0", "z1"], ["x"], ["y"], ["b"]]
    graph = ad.CandidateGraph.from_tiers(tiers).instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 1.0)
    check = fit(table, graph, rng=0).effect("z0", "b").uncertainty.jackknife
    assert check.sd_expected == pytest.approx(check.sd, rel=0.15)
    assert check.sd_pieces == pytest.approx(check.sd, rel=0.2)


# -- what identification rests on ------------------------------------------------------------------------------------


def rests_on(effect):
    return {pair: cause.rests_on for pair, cause in effect.hidden.causes.items()}


def undeclared(effect):
    return [note.text for note in effect.notes if "because the graph rules out" in note.text]


def test_declared_instruments_are_what_the_effect_rests_on(strong):
    assert rests_on(strong) == {("x", "y"): ("z0", "z1")}
    assert "This rests on z0, z1 not acting on y directly." in " ".join(everything(strong).split())
    assert undeclared(strong) == []


def test_missing_edges_that_identify_an_effect_are_named():
    effect = fit(made(), GRAPH.without_edge("z0", "y").with_hidden("x", "y", 1.0), rng=0).effect("x", "y")
    assert effect.hidden.identified == pytest.approx(1.0)
    assert rests_on(effect) == {("x", "y"): ("z0",)}
    assert undeclared(effect) == [
        "the effect is identified because the graph rules out that z0 acts on y directly: if that is not meant, add "
        "the edge"
    ]


def test_a_front_door_rests_on_the_treatment_not_acting_directly():
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0}).with_hidden("x", "y", 1.0)
    effect = fit(front(), graph, rng=0).effect("x", "y")
    assert rests_on(effect) == {("x", "y"): ("x",)}
    assert "rules out that x acts on y directly" in undeclared(effect)[0]


def test_an_effect_that_is_identified_anyhow_rests_on_no_missing_edge():
    """What X does to Y in total is seen from rows, whether or not it acts directly; M and Y share a hidden cause."""
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0}).with_hidden("m", "y", 1.0)
    effect = fit(between(), graph, rng=0).effect("x", "y")
    assert rests_on(effect) == {("m", "y"): ()}
    assert undeclared(effect) == []
    assert rests_on(fit(made(), GRAPH.with_hidden("x", "y", 1.0), rng=0).effect("x", "y")) == {("x", "y"): ()}


# -- rows in which one of a pair was set -----------------------------------------------------------------------------


def tried(seed=0, n=600, set_rows=200, rho=0.6, values=None):
    """A table in the first rows of which x was set, by lot or to the given values; and what was set."""
    table, rng = made(seed, n, rho=rho), np.random.default_rng([seed, 1])
    x = np.array(table["x"])
    x[:set_rows] = 2.0 + 1.5 * rng.standard_normal(set_rows) if values is None else values
    y = table["y"] + 0.5 * (x - table["x"])
    was_set = np.full(n, "", dtype=object)
    was_set[:set_rows] = "x"
    return table | {"x": x, "y": y}, was_set


SURE = GRAPH.with_edge("x", "y", 1.0).with_hidden("x", "y", 1.0)


def slope_in(table, rows):
    """Return the slope of y on x given all covariates in some rows, with its standard error."""
    known = ("x", "c0", "c1", "z0", "z1")
    columns = np.column_stack([np.ones(len(rows)), *(table[name][rows] for name in known)])
    found, left, *_ = np.linalg.lstsq(columns, table["y"][rows], rcond=None)
    spread = left[0] / (len(rows) - 6) * np.linalg.inv(columns.T @ columns)
    return found[1], math.sqrt(spread[1, 1])


def test_rows_in_which_the_treatment_was_set_show_its_effect_without_an_instrument():
    table, was_set = tried()
    value, error = slope_in(table, np.arange(200))
    effect = fit(table, SURE, rng=0, interventions=was_set).effect("x", "y")
    assert effect.mean == pytest.approx(value, abs=0.35 * error)
    assert 0.7 * error < effect.sd < 1.1 * error
    assert effect.hidden.identified == 1.0
    cause = effect.hidden.causes["x", "y"]
    assert cause.low < 0.6 < cause.high
    assert "identified in every candidate graph, by rows in which x was set." in " ".join(everything(effect).split())
    assert any("rows in which x was set show what acts on y without the hidden cause" in n.text for n in effect.notes)
    assert undeclared(effect) == []


def test_such_rows_and_instruments_add_up():
    table, was_set = tried()
    sure = TWO.with_edge("x", "y", 1.0)
    both = fit(table, sure, rng=0, interventions=was_set).effect("x", "y")
    rest = {name: column[200:] for name, column in table.items()}
    one = fit(table, SURE, rng=0, interventions=was_set).effect("x", "y")
    other = fit(rest, sure, rng=0).effect("x", "y")
    assert 1 / both.sd**2 == pytest.approx(1 / one.sd**2 + 1 / other.sd**2, rel=0.25)
    weights = np.array([one.sd, other.sd]) ** -2.0
    assert both.mean == pytest.approx(weights @ [one.mean, other.mean] / weights.sum(), abs=0.4 * both.sd)


def test_rows_in_which_the_treatment_was_set_to_one_value_identify_nothing():
    table, was_set = tried(values=np.full(200, 3.0))
    effect = fit(table, SURE, rng=0, interventions=was_set).effect("x", "y")
    assert effect.hidden.identified == 0.0
    assert effect.notes[0].text.startswith("nothing identifies this effect")


def test_rows_in_which_the_outcome_was_set_say_what_acts_on_the_treatment():
    was_set = np.where(np.arange(600) < 200, "y", "").astype(object)
    effect = fit(made(n=600), TWO, rng=0, interventions=was_set).effect("z0", "x")
    rest = {name: column[200:] for name, column in made(n=600).items()}
    assert effect.sd == pytest.approx(fit(rest, TWO, rng=0).effect("z0", "x").sd * math.sqrt(400 / 600), rel=0.1)


@pytest.mark.parametrize("clusters", [False, True])
def test_even_noise_is_not_widened_by_rows_in_which_one_was_set(clusters):
    for seed in range(2):
        table, was_set = tried(seed, n=900, set_rows=300)
        options = {"interventions": was_set}
        if clusters:
            table["site"] = np.arange(900) // 3
            options["cluster"] = "site"
        check = fit(table, SURE, rng=0, **options).effect("x", "y").uncertainty.jackknife
        assert check.sd_expected == pytest.approx(check.sd, rel=0.2)
        assert check.sd_pieces == pytest.approx(check.sd, rel=0.35)


def test_uneven_noise_in_rows_that_were_set_widens_the_effect():
    table, was_set = tried(n=900, set_rows=450)
    louder = np.random.default_rng(3).standard_normal(450) * np.abs(table["x"][:450] - 2.0) * 2.0
    table["y"] = np.r_[table["y"][:450] + louder, table["y"][450:]]
    options = {"rng": 0, "interventions": was_set}
    plain = fit(table, SURE, robust=False, **options).effect("x", "y")
    assert fit(table, SURE, **options).effect("x", "y").sd > 1.1 * plain.sd


def test_effects_with_rows_that_were_set_cover_the_truth():
    held = []
    for seed in range(40):
        table, was_set = tried(seed + 100, n=200, set_rows=60)
        low, high = fit(table, SURE, rng=0, interventions=was_set).effect("x", "y").interval()
        held.append(low <= 0.5 <= high)
    assert 34 <= sum(held) <= 40  # 38 expected; below 34 with a probability of 1%


# -- the asked edge in doubt -----------------------------------------------------------------------------------------


def small(effect=0.1, n=400):
    """The table, with another effect than 0.5."""
    table = made(n=n)
    return table | {"y": table["y"] + (effect - 0.5) * table["x"]}


def test_whether_there_is_an_effect_is_asked_where_the_edge_is_in_doubt():
    found = {size: fit(small(size), TWO, rng=0).effect("x", "y") for size in (0.0, 0.1, 0.5)}
    none = [effect.probability_no_effect for effect in found.values()]
    assert none[0] > none[1] > none[2]
    assert none[2] < 0.01 < 0.5 < none[0] < 0.7
    drawn = found[0.1].draws(20_000, rng=1)
    assert np.mean(drawn == 0.0) == pytest.approx(none[1], abs=0.015)
    assert found[0.1].summary().prior_no_effect == pytest.approx(0.5)
    assert not any("taken for certain" in note.text for note in found[0.1].notes)


def test_an_effect_that_is_there_is_as_large_as_one_that_is_certain():
    sure = fit(small(), TWO.with_edge("x", "y", 1.0), rng=0).effect("x", "y")
    given = fit(small(), TWO, rng=0).effect("x", "y").summary().given_effect
    assert sure.probability_no_effect == 0.0
    assert given.mean == pytest.approx(sure.mean, abs=0.05 * sure.sd)
    assert (given.low, given.high) == pytest.approx(sure.interval(), abs=0.2 * sure.sd)


def test_what_was_stated_of_the_edge_moves_the_probability_of_no_effect():
    low, high = (
        fit(small(), TWO.with_edge("x", "y", p), rng=0).effect("x", "y").probability_no_effect for p in (0.2, 0.8)
    )
    odds = [p / (1.0 - p) for p in (low, high)]
    assert odds[0] / odds[1] == pytest.approx(16.0, rel=0.02)


def test_the_front_door_takes_a_probability_beside_instruments():
    asked = {"treatment": "x", "outcome": "y", "confounders": ["c0", "c1"], "terms": None, "rng": 0}
    effect = ad.effect(small(), instruments=["z0", "z1"], valid="some", probability=0.5, **asked)
    assert 0.1 < effect.probability_no_effect < 0.9
    assert max(effect.hidden.instruments["valid"]) <= 1.0
    assert effect.hidden.instruments["valid_before"] == [0.5, 0.5]


def test_edges_from_mediators_to_the_second_of_a_pair_are_still_certain():
    tiers = [["c0", "c1", "z0", "z1"], ["x"], ["m"], ["y"]]
    table = made() | {"m": made()["x"] + np.random.default_rng(1).standard_normal(400)}
    graph = ad.CandidateGraph.from_tiers(tiers).instruments(["z0", "z1"], treatment="x").with_hidden("x", "y", 1.0)
    effect = fit(table, graph, rng=0).effect("x", "y")
    assert any("edges from m to y are taken for certain" in note.text for note in effect.notes)
    assert 0.0 < effect.probability_no_effect < 0.6


def test_graphs_that_differ_in_whether_the_asked_edge_is_in_doubt_are_refused():
    with pytest.raises(ad.AlldagsError, match="graphs that differ in what acts on 'x', 'y' do not go together"):
        fit(made(), [TWO, TWO.with_edge("x", "y", 1.0)], rng=0)


def test_where_nothing_identifies_the_effect_its_presence_is_what_was_said_too():
    effect = fit(made(), GRAPH.with_hidden("x", "y", 1.0), rng=0).effect("x", "y")
    assert 0.05 < effect.probability_no_effect < 0.6
    assert effect.notes[0].text.endswith("added to least squares; so is the probability of no effect")
    sure = fit(made(), SURE, rng=0).effect("x", "y")
    assert sure.notes[0].text.endswith("added to least squares")
