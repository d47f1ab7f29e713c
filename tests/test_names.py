"""The public names: few at the top, the rest in rooms that are told, and none twice."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import alldags as ad
from alldags import priors, records
from lines import fit

MOVED = [
    "NEG",
    "BetaBinomial",
    "EqualEdges",
    "GPrior",
    "HyperG",
    "KnownNoise",
    "StudentNoise",
    "fit_sites",
    "site_reply",
    "json_schema",
]
GONE = [
    "sd_structure",
    "sd_coefficients",
    "sd_missing",
    "sd_direction",
    "sd_hidden",
    "standardized",
    "mean_error",
    "jackknife",
    "probability_no_path",
    "risks",
    "probability_positive",
    "risk_ratio",
    "odds_ratio",
    "log_odds",
    "log_rate",
    "plot_rows",
    "plot_curve",
    "to_dict",
    "to_latex",
    "link_check",
]


def test_the_top_level_is_short_and_every_name_is_there():
    assert len(ad.__all__) <= 40
    assert all(hasattr(ad, name) for name in ad.__all__)


@pytest.mark.parametrize("name", MOVED)
def test_names_that_moved_are_not_at_the_top_any_more(name):
    with pytest.raises(AttributeError, match=name):
        getattr(ad, name)


@pytest.mark.parametrize("name", priors.__all__)
def test_every_prior_can_be_made_without_settings_and_writes_itself(name):
    made = getattr(ad.priors, name)
    needed = [one for one in inspect.signature(made).parameters.values() if one.default is inspect.Parameter.empty]
    assert repr(made(*[1.0] * len(needed))).startswith(f"{name}(")


def response_records() -> dict[str, object]:
    table = {"t": np.arange(40), **dict(zip("xy", np.random.default_rng(0).normal(size=(2, 40)), strict=True))}
    response = fit(table, ad.CandidateGraph.over_time(["x", "y"], 1), time="t", rng=0).effect("x", "y", after=1)
    return {"Response": response, "StepEffect": response.at(1), "LongRun": response.long_run}


def test_records_are_the_classes_that_methods_return():
    study = ad.datasets.example()
    posterior = fit(study.table, study.graph, rng=0)
    effect = posterior.effect("smoking", "risk")
    returned = {
        "Table": effect.paths(), "SquareTable": posterior.effects(link=0.0), "Intervention": effect.do(1.0),
        "Quantity": effect.do(1.0).mean, "OutcomeDistribution": effect.do(1.0).new_unit, "DirectEffect": effect.direct,
        "Regression": effect.checks.least_squares, "EffectSummary": effect.summary(),
        "Checks": posterior.checks("smoking", "risk"),
        "Sensitivity": effect.sensitivity(draws=100), "LinkCheck": effect.checks.confounder_link,
        "Jackknife": effect.uncertainty.jackknife, "Uncertainty": effect.uncertainty,
        "Probability": effect.probability, "EffectChecks": effect.checks, "EffectExports": effect.to,
        "HiddenCauses": effect.hidden,
        "EffectPlots": effect.plots, "PosteriorPlots": posterior.plots, "TopGraph": posterior.top_graphs(1)[0],
        "Placebo": effect.checks.placebo(2, rng=0), "Decision": posterior.decide({"smoking": [0, 10]}, "risk"),
        **response_records(),
        "Plan": posterior.decide({"smoking": [0, 10]}, "risk", by="sex").plan,
    }  # fmt: skip
    assert {name: type(value) for name, value in returned.items()} == {
        name: getattr(records, name) for name in returned
    }


def test_old_names_of_an_effect_are_gone():
    assert [name for name in GONE if hasattr(ad.Effect, name)] == []


@pytest.fixture(scope="module")
def effects():
    rng = np.random.default_rng(0)
    drug = rng.integers(0, 2, 400)
    ill = rng.random(400) < np.where(drug == 1, 0.2, 0.4)
    table = {
        "drug": drug,
        "ill": ill * 1.0,
        "visits": rng.poisson(1.0 + drug) * 1.0,
        "pain": drug + rng.normal(size=400),
    }
    graph = {name: ["drug"] for name in ("ill", "visits", "pain")}
    posterior = fit(table, graph, families={"visits": "poisson"}, rng=0)
    return {name: posterior.effect("drug", name) for name in graph}


def test_scales_are_functions_of_the_two_levels(effects):
    low, high = effects["ill"].levels
    assert effects["ill"].on("difference") is effects["ill"]
    np.testing.assert_allclose(effects["ill"].on("ratio").draws, high.draws / low.draws)
    odds = high.draws / (1 - high.draws) / (low.draws / (1 - low.draws))
    np.testing.assert_allclose(effects["ill"].on("odds ratio").draws, odds)
    assert effects["ill"].on("log odds").mean == pytest.approx(np.log(odds).mean(), abs=0.05)
    low, high = effects["visits"].levels
    assert effects["visits"].on("log rate").mean == pytest.approx(np.log(high.draws / low.draws).mean(), abs=0.02)


@pytest.mark.parametrize(
    ("outcome", "scale", "message"),
    [
        ("ill", "log rate", r"'ill' has no log rate; use on\('log odds'\)"),
        ("visits", "log odds", r"'visits' has no log odds; use on\('log rate'\)"),
        ("visits", "hazard ratio", r"'visits' has no log hazard; use on\('log rate'\)"),
        ("visits", "odds ratio", "an odds ratio needs a yes/no outcome, 'visits' is none here; use the difference"),
        (
            "pain",
            "ratio",
            "a ratio needs a yes/no outcome, a count, an amount or a survival time, 'pain' is none here; use",
        ),
        (
            "pain",
            "log odds",
            "'pain' is a number around a line, so that it has no log-odds; use the effect itself",
        ),
        (
            "ill",
            "logit",
            r"scale must be one of \('difference', 'ratio', 'risk ratio', 'rate ratio', 'odds ratio', 'hazard ratio',",
        ),
    ],
)
def test_a_scale_that_an_outcome_has_not_is_refused_with_the_one_it_has(effects, outcome, scale, message):
    with pytest.raises(ad.AlldagsError, match=message):
        effects[outcome].on(scale)


def test_an_effect_on_the_log_odds_does_not_pass_for_a_difference(effects):
    with pytest.raises(ad.AlldagsError, match="ask the effect itself, not its log-odds"):
        effects["ill"].on("log odds").on("difference")


def test_moments_say_what_to_do_about_missing_values_as_fit_does():
    table = {"a": [1.0, np.nan, 2.0], "b": [1.0, 2.0, 3.0]}
    assert ad.read_moments(table, missing="drop").n == ad.Moments.from_table(table, missing="drop").n == 2
    with pytest.raises(ad.AlldagsError, match="drop them with missing='drop'"):
        ad.read_moments(table)
    with pytest.raises(ad.AlldagsError, match=r"missing must be one of \('raise', 'drop'\), got 'impute'"):
        ad.read_moments(table, missing="impute")
