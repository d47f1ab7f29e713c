"""Real studies: with every edge certain and a wide slab, answers are those of statsmodels and linearmodels."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "studies.json").read_text())
_SPEC = importlib.util.spec_from_file_location("studies", HERE / "studies.py")
studies = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(studies)
needs_textbooks = pytest.mark.skipif(
    importlib.util.find_spec("causaldata") is None, reason="the data come with the package causaldata"
)
FLAT = ad.Prior(slab_variance=1e6, link=0.0)


def certain(table, covariates, treatment, outcome, **options):
    graph = ad.CandidateGraph.from_tiers([covariates, [treatment], [outcome]], 1.0)
    return ad.fit(table, graph, **{"prior": FLAT, "terms": None, "rng": 0, **options}).effect(treatment, outcome)


@pytest.fixture
def folder(public_data, monkeypatch):
    monkeypatch.setenv("ALLDAGS_DATA", str(public_data))


def test_lalonde_is_least_squares_of_statsmodels(folder):
    effect = certain(ad.datasets.lalonde("nsw_dw"), studies.BEFORE, "treat", "re78", robust=False)
    assert effect.mean == pytest.approx(GOLDEN["lalonde"]["effect"], rel=1e-4)
    assert effect.sd == pytest.approx(GOLDEN["lalonde"]["error"], rel=0.01)


def test_ihdp_is_least_squares_of_statsmodels(folder):
    data = ad.datasets.ihdp(1)
    table = {**dict(zip(data.columns, data.covariates.T, strict=True)), "treatment": data.treatment}
    effect = certain({**table, "outcome": data.outcome}, list(data.columns), "treatment", "outcome", robust=False)
    assert effect.mean == pytest.approx(GOLDEN["ihdp"]["effect"], rel=1e-4)
    even = np.sqrt(
        (data.n - len(data.columns) - 1) / data.n
    )  # the prior of the noise has no part in degrees of freedom
    assert effect.sd == pytest.approx(GOLDEN["ihdp"]["error"] * even, rel=0.005)


@needs_textbooks
def test_nhefs_is_the_books_model_of_statsmodels():
    table = ad.datasets.causaldata("nhefs_complete")
    words = dict.fromkeys([*(f"{name}^2" for name in studies.NUMBERS), "qsmk*smokeintensity"], 1.0)
    covariates = [*studies.CATEGORIES, *studies.NUMBERS]
    effect = certain(table, covariates, "qsmk", "wt82_71", terms={"wt82_71": words}, prior=ad.Prior(slab_variance=1e6))
    assert effect.mean == pytest.approx(GOLDEN["nhefs"]["effect"], abs=1e-5)
    assert effect.sd == pytest.approx(GOLDEN["nhefs"]["error"], rel=0.05)  # by draws, and the jackknife


@needs_textbooks
def test_thornton_is_the_logit_by_village_of_statsmodels():
    table = ad.datasets.causaldata("thornton_hiv")[["villnum", "any", "got", *studies.VILLAGE]].dropna()
    prior = ad.Prior(slab_variance=100.0)
    effect = certain(table, studies.VILLAGE, "any", "got", prior=prior, cluster="villnum")
    error = GOLDEN["thornton"]["error"]
    assert effect.mean == pytest.approx(GOLDEN["thornton"]["effect"], abs=0.05 * error)
    assert effect.sd == pytest.approx(error, rel=0.04)


@needs_textbooks
def test_card_without_an_instrument_is_least_squares_of_linearmodels():
    table = ad.datasets.causaldata("close_college").dropna()
    effect = certain(table, studies.SCHOOL, "educ", "lwage", robust=False)
    assert effect.mean == pytest.approx(GOLDEN["card"]["least squares"]["effect"], rel=1e-4)
    assert effect.sd == pytest.approx(GOLDEN["card"]["least squares"]["error"], rel=0.01)


@needs_textbooks
def test_card_with_the_college_is_near_liml_of_linearmodels():
    """The instrument is weak: a prior of the correlation pulls towards none, by less than a third of LIML's error."""
    table = ad.datasets.causaldata("close_college").dropna()
    asked = {"treatment": "educ", "outcome": "lwage", "confounders": studies.SCHOOL, "terms": None, "rng": 0}
    effect = ad.effect(table, instruments=["nearc4"], **asked)
    liml = GOLDEN["card"]["liml"]
    assert effect.mean == pytest.approx(liml["effect"], abs=0.4 * liml["error"])
    assert 0.7 < effect.sd / liml["error"] < 1.3
    low, high = effect.interval()
    assert low < liml["effect"] < high


def test_outside_programs_agree_on_what_both_can_say():
    """With one instrument LIML is two stages; and it moves the effect of school upwards, as in Card's table."""
    card = GOLDEN["card"]
    assert card["liml"] == pytest.approx(card["two stages"], rel=1e-6)
    assert card["liml"]["effect"] > card["least squares"]["effect"]
    assert np.isfinite([study["error"] for name, study in GOLDEN.items() if "error" in study]).all()
