"""`Posterior.checks` and `Effect.checks.placebo`: what is found, what is not, and what cannot be looked at."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import alldags as ad
from alldags.errors import AlldagsError, DataError
from alldags.show.checks import CheckLine, Checks
from lines import fit

STUDY = ad.datasets.example()
LALONDE = ("age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75")


@pytest.fixture(scope="module")
def posterior():
    return fit(STUDY.table, STUDY.graph, rng=0)


def kinds(checks):
    return {line.check for line in checks.findings}


def linear(count=300, seed=0, **changes):
    rng = np.random.default_rng(seed)
    a, b, x, m, y = rng.standard_normal((5, count))
    x = x + 0.5 * a
    m = m + 0.6 * x
    y = y + 0.5 * x + 0.5 * m - 0.5 * b + changes.get("curve", 0.0) * x**2
    return {"a": a, "b": b, "x": x, "m": m + changes.get("missing_edge", 0.0) * b, "y": y}


GRAPH = ad.CandidateGraph.from_edges(
    {("a", "x"): 0.5, ("x", "m"): 0.5, ("x", "y"): 0.5, ("m", "y"): 0.5, ("b", "y"): 0.5, ("a", "y"): 0.5}
)


# -- what is found -----------------------------------------------------------------------------------------------------


def test_nothing_is_found_in_data_that_satisfy_the_model(posterior):
    checks = posterior.checks()
    assert checks.ok
    assert checks.not_made == ()
    assert {line.check for line in checks.lines} == {
        "straight lines", "even noise", "outlying rows", "collinear causes", "independences",
    }  # fmt: skip
    assert checks.rows == 500


def test_false_alarms_are_rare():
    """Four kinds of test at 1% each: more than 7 of 60 data sets have probability below 0.1% if 4% is the most."""
    found = [not fit(linear(200, seed), GRAPH).checks().ok for seed in range(60)]
    assert sum(found) <= 7


def test_a_bent_line_is_found():
    lines = fit(linear(curve=0.4), GRAPH).checks().findings
    assert ("straight lines", "y", "x") in {(line.check, line.subject, line.against) for line in lines}
    assert "y bends with x" in next(line.words for line in lines if line.against == "x")


def test_a_missing_edge_is_found():
    checks = fit(linear(missing_edge=0.5), GRAPH).checks("x", "y")
    assert kinds(checks) == {"independences"}
    assert checks.findings[0].subject == "m and b"


def test_a_row_that_is_off_is_found_by_its_place():
    table = linear()
    table["y"][17] += 12.0
    checks = fit(table, GRAPH).checks()
    assert [line.against for line in checks.findings if line.check == "outlying rows"] == ["row 17"]


def test_collinear_causes_are_found():
    table = linear()
    table["m"] = table["x"] + 0.05 * table["m"]
    assert {line.against for line in fit(table, GRAPH).checks().findings} >= {"x", "m"}


def test_what_does_not_bear_on_an_effect_is_not_checked(posterior):
    assert {line.subject for line in posterior.checks("tar", "risk").of("straight lines")} == {"risk"}
    assert {line.subject for line in posterior.checks().of("straight lines")} > {"risk"}


# -- yes/no ------------------------------------------------------------------------------------------------------------


def treated(count=400, strength=0.5, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, count))
    t = (rng.logistic(size=count) < strength * a).astype(float)
    died = (rng.logistic(size=count) < 0.7 * a - 0.5 * b + t).astype(float)
    return {"a": a, "b": b, "t": t, "died": died}


TREATED = ad.CandidateGraph.from_tiers([["a", "b"], ["t"], ["died"]])


def test_overlap_of_a_yes_no_treatment():
    good, bad = (fit(treated(strength=s), TREATED).checks("t", "died") for s in (0.5, 12.0))
    assert kinds(good) == {"balance"}  # half a deviation: adjusted for, and no reason to worry
    assert len(good.of("overlap")) == 1
    assert {line.against for line in good.of("balance")} == {"a", "b"}
    assert kinds(bad) == {"overlap", "balance"}
    assert "extrapolated" in bad.of("overlap")[0].words


def test_an_extrapolated_effect_is_a_note():
    good, bad = (fit(treated(strength=s), TREATED, rng=0).effect("t", "died") for s in (0.5, 12.0))
    assert not any("extrapolated" in note for note in good.notes)
    assert any("the effect is extrapolated" in note for note in bad.notes)


def test_a_yes_no_outcome_is_checked_on_its_own_scale():
    """Straight lines through so steep a risk bend; log-odds do not."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3000))
    table = {"a": a, "b": b, "y": (rng.logistic(size=3000) < 3 * a + 2).astype(float)}
    graph = ad.CandidateGraph.from_edges({("a", "y"): 0.5, ("a", "b"): 0.5})
    assert fit(table, graph).checks().ok
    assert "straight lines" in kinds(fit(table, graph, families="normal").checks())


def test_counts_that_vary_too_much_are_found():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(500)
    table = {"a": a, "visits": rng.poisson(rng.gamma(1.0, np.exp(0.5 * a))).astype(float)}
    graph = ad.CandidateGraph.from_edges({("a", "visits"): 0.5})
    found = fit(table, graph, families={"visits": "poisson"}).checks().findings
    assert "times as much as counts" in found[0].words


def test_counts_with_an_offset_are_checked():
    rng = np.random.default_rng(0)
    years, a = rng.uniform(0.5, 5.0, 400), rng.standard_normal(400)
    table = {"a": a, "log_years": np.log(years), "visits": rng.poisson(years * np.exp(0.5 * a)).astype(float)}
    graph = ad.CandidateGraph.from_edges({("a", "visits"): 0.5})
    posterior = fit(table, graph, families={"visits": ad.Poisson(offset="log_years")}, rng=0)
    assert posterior.checks().ok
    assert len(posterior.effect("a", "visits").checks.placebo(2, rng=0).means) == 2


def test_children_with_curves_are_left_to_their_own_checks():
    posterior = fit(linear(curve=0.4), GRAPH, terms={"y": ["curve(x)"]}, rng=0)
    checks = posterior.checks("x", "y")
    assert {line.subject for line in checks.of("straight lines")} == {"m"}
    assert "residuals and independences of y, which may have curves" in checks.not_made
    effect = posterior.effect("x", "y")
    order = np.random.default_rng(4).spawn(1)[0].permutation(300)
    table = linear(curve=0.4)
    again = fit(table | {"x": table["x"][order]}, GRAPH, terms={"y": ["curve(x)"]}, rng=0).effect("x", "y")
    assert effect.checks.placebo(1, rng=4).means[0] == pytest.approx(again.mean, abs=0.02)


# -- public data -------------------------------------------------------------------------------------------------------


def lalonde(controls, folder):
    trial = ad.datasets.lalonde("nsw_dw", folder=folder)
    if controls == "trial":
        return trial
    survey = ad.datasets.lalonde(controls, folder=folder)
    return {name: np.concatenate([trial[name][trial["treat"] == 1], survey[name]]) for name in trial}


@pytest.mark.parametrize(("controls", "extrapolated"), [("trial", False), ("psid", True), ("cps", True)])
def test_lalonde_is_extrapolated_with_survey_controls_only(public_data, controls, extrapolated):
    graph = ad.CandidateGraph.from_tiers([LALONDE, ["treat"], ["re78"]])
    effect = fit(lalonde(controls, public_data), graph, rng=0).effect("treat", "re78")
    assert any("extrapolated" in note for note in effect.notes) is extrapolated
    line = effect.posterior.checks("treat", "re78").of("overlap")[0]
    assert line.flagged is extrapolated
    assert (line.size > 0.5) is extrapolated


def test_ihdp_is_not_extrapolated(public_data):
    study = ad.datasets.ihdp(1, folder=public_data)
    table = dict(zip(study.columns, study.covariates.T, strict=True)) | {"t": study.treatment, "y": study.outcome}
    graph = ad.CandidateGraph.from_tiers([study.columns, ["t"], ["y"]], 1.0)
    line = fit(table, graph, prior=ad.Prior.paper(), families="normal").checks("t", "y").of("overlap")[0]
    assert 0.05 < line.size < 0.1
    assert not line.flagged


# -- what cannot be looked at ------------------------------------------------------------------------------------------


def test_moments_give_what_can_be_had(posterior):
    checks = fit(ad.Moments.from_table(STUDY.table), STUDY.graph).checks()
    assert {line.check for line in checks.lines} == {"collinear causes", "independences"}
    assert checks.rows == 0
    assert "moments hold no rows; give the table itself" in checks.not_made[0]
    whole = {line.subject: line.size for line in posterior.checks().of("independences")}
    assert {line.subject: line.size for line in checks.of("independences")} == pytest.approx(whole)


def test_moments_of_a_yes_no_treatment_give_balance():
    table = treated()
    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["t"], ["died"]])
    checks = fit(ad.Moments.from_table(table), graph).checks("t", "died")
    rows = fit(table, graph).checks("t", "died")
    for first, second in zip(checks.of("balance"), rows.of("balance"), strict=True):
        assert first.size == pytest.approx(second.size, abs=0.02)  # another deviation
    assert not checks.of("overlap")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": np.ones(300)}, "every row counts once"),
        ({"cluster": np.arange(300) % 50}, "rows are taken for independent"),
        ({"interventions": {"x": np.arange(300) < 100}}, "in rows of experiments variables were set"),
    ],
)
def test_what_is_said_of_rows_is_not_ignored_silently(options, said):
    assert any(said in text for text in fit(linear(), GRAPH, rng=0, **options).checks().not_made)


def test_rows_with_missing_values_are_left_out():
    table = linear()
    table["b"][:5] = np.nan
    checks = fit(table, GRAPH, rng=0, missing="impute", imputations=3).checks()
    assert checks.rows == 295
    assert any("look at complete ones" in text for text in checks.not_made)
    assert fit(table, GRAPH, missing="drop").checks().rows == 295


def test_several_completed_tables():
    checks = fit(ad.Imputed([linear(), linear()]), GRAPH, rng=0).checks()
    assert checks.rows == 300


def test_many_candidates_are_said():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(30)]
    table = dict(zip(names, rng.standard_normal((30, 100)), strict=True)) | {"y": rng.standard_normal(100)}
    checks = fit(table, ad.CandidateGraph.from_tiers([names, ["y"]], 0.1)).checks()
    assert any("all 30 causes of y: residuals are those of its 10 closest ones" in text for text in checks.not_made)


def test_bad_arguments(posterior):
    with pytest.raises(AlldagsError, match="a treatment and an outcome, or neither"):
        posterior.checks(treatment="smoking")
    with pytest.raises(AlldagsError, match="'somking' is not in the graph"):
        posterior.checks("somking", "risk")


# -- showing -----------------------------------------------------------------------------------------------------------


def test_renderings_say_the_same():
    checks = fit(linear(curve=0.4), GRAPH).checks()
    assert len(checks.to_frame()) == len(checks.to_table()) == len(checks.lines)
    assert checks.findings[0].words.split(":")[0] in " ".join(str(checks).split())
    assert checks.findings[0].words.split(":")[0] in checks._repr_html_()
    json.dumps(checks.to_dict(), allow_nan=False)
    assert max(map(len, str(checks).splitlines())) <= 80
    with pytest.raises(dataclasses.FrozenInstanceError):
        checks.rows = 3


def test_hostile_names_stay_text():
    line = CheckLine("independences", "<script>", "", "r", 0.5, 1e-9, True, "<script>alert(1)</script> and y")
    assert "<script>" not in Checks((line,), 10)._repr_html_()


def test_more_findings_than_are_shown_are_named():
    lines = [
        CheckLine("independences", f"a{i} and b", "", "r", 0.5, 1e-9, True, f"a{i} and b differ") for i in range(12)
    ]
    text = str(Checks(tuple(lines), 10))
    assert "independences, 9 more: a3 and b" in text
    assert (
        str(Checks((), 0, ("all of it: no reason",))) == "No check could be made.\nnot looked at: all of it: no reason"
    )


# -- placebo -----------------------------------------------------------------------------------------------------------


def test_a_placebo_is_a_fit_of_the_permuted_table(posterior):
    effect = posterior.effect("smoking", "risk")
    found = effect.checks.placebo(3, rng=5)
    orders = [child.permutation(500) for child in np.random.default_rng(5).spawn(3)]
    for order, mean in zip(orders, found.means, strict=True):
        table = STUDY.table | {"smoking": np.asarray(STUDY.table["smoking"])[order]}
        assert fit(table, STUDY.graph, rng=0).effect("smoking", "risk").mean == pytest.approx(mean, abs=1e-9)


def test_a_placebo_of_a_yes_no_outcome_is_a_fit_of_the_permuted_table():
    table = treated()
    effect = fit(table, TREATED, rng=0).effect("t", "died")
    found = effect.checks.placebo(1, rng=2)
    order = np.random.default_rng(2).spawn(1)[0].permutation(400)
    again = fit(table | {"t": table["t"][order]}, TREATED, rng=0).effect("t", "died")
    assert again.mean == pytest.approx(found.means[0], abs=5 * (again.uncertainty.mean_error + 1e-6))


def test_placebo_numbers_come_from_the_seed(posterior):
    effect = posterior.effect("smoking", "risk")
    assert effect.checks.placebo(2, rng=1) == effect.checks.placebo(2, rng=1)
    assert effect.checks.placebo(2) == effect.checks.placebo(2)
    assert effect.checks.placebo(2, rng=1).means != effect.checks.placebo(2, rng=2).means
    text = " ".join(str(effect.checks.placebo(4, rng=1)).split())
    assert "0 of 4 were as large (p = 0.2)" in text


def test_placebo_refuses_what_it_cannot_permute(posterior):
    with pytest.raises(DataError, match="a placebo and moments"):
        fit(ad.Moments.from_table(STUDY.table), STUDY.graph).effect("smoking", "risk").checks.placebo()
    with pytest.raises(DataError, match="a placebo and weights= do not go together"):
        fit(linear(), GRAPH, weights=np.ones(300)).effect("x", "y").checks.placebo()
    with pytest.raises(AlldagsError, match="permutations"):
        posterior.effect("smoking", "risk").checks.placebo(0)
