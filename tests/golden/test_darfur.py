"""Agreement with PySensemakr on one graph with a flat prior: robustness values, adjusted estimates, benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from lines import fit

GOLDEN = json.loads((Path(__file__).parent / "darfur.json").read_text())
*COVARIATES, TREATMENT, OUTCOME = GOLDEN["names"]


@pytest.fixture(scope="module")
def sensitivity():
    moments = ad.Moments.from_covariance(GOLDEN["covariance"], GOLDEN["n"], names=GOLDEN["names"], mean=GOLDEN["mean"])
    graph = ad.CandidateGraph.from_tiers([COVARIATES, [TREATMENT], [OUTCOME]], 1.0)
    effect = fit(moments, graph, prior=ad.Prior(slab_variance=1e7), rng=0).effect(TREATMENT, OUTCOME)
    return effect.sensitivity(draws=100_000)


def test_robustness_values(sensitivity):
    assert sensitivity.robustness().value == pytest.approx(GOLDEN["rv"], abs=1e-3)
    assert sensitivity.robustness(0.95).value == pytest.approx(GOLDEN["rv_95"], abs=1e-3)


@pytest.mark.parametrize("place", range(4))
def test_adjusted_estimates(sensitivity, place):
    """The mean is theirs; the spread is that of a cause nobody has measured, not of one in the table."""
    answer = sensitivity.at(*GOLDEN["pairs"][place])
    assert answer.mean == pytest.approx(GOLDEN["adjusted"][place], abs=1e-3)
    freedom = GOLDEN["n"] - len(GOLDEN["names"])
    posterior_sd = GOLDEN["se"] * np.sqrt(freedom / (GOLDEN["n"] - 3))
    assert answer.sd == pytest.approx(posterior_sd * np.sqrt(1 + answer.bias_factor**2), rel=0.01)


@pytest.mark.parametrize("case", GOLDEN["benchmarks"], ids=lambda case: f"{case['times']} x female")
def test_benchmarks(sensitivity, case):
    """Theirs are at the point estimate, ours is an average over the posterior: our medians are held to theirs."""
    found = sensitivity.benchmark("female", times=case["times"])
    assert found.r2_treatment == pytest.approx(case["r2_treatment"], abs=0.005)
    assert found.r2_outcome == pytest.approx(case["r2_outcome"], abs=0.01)
    analysis = sensitivity._analysis
    r2x, r2y = analysis.bounds(analysis.models[0][1], "female", case["times"], case["times"], True)
    middle = float(np.median(r2x)), float(np.median(r2y))
    assert middle == pytest.approx((case["r2_treatment"], case["r2_outcome"]), abs=1e-3)
    assert sensitivity.at(*middle).mean == pytest.approx(case["adjusted"], abs=1e-3)
