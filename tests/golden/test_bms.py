"""Agreement with R's BMS: fixed g, custom inclusion probabilities, and the beta-binomial model prior."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from naive.sets import all_sets
from problems import make_problem

GOLDEN = json.loads((Path(__file__).parent / "bms.json").read_text())
DIGITS = 5e-7  # 6 digits


def solve(case: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return inclusion, mean, sd of the coefficients, and the probabilities of the best five sets."""
    x = np.reshape(GOLDEN["x"], (GOLDEN["k"], GOLDEN["n"])).T
    own = case["mprior"] == "pip"
    probability = GOLDEN["probability"] if own else 0.5
    prior = ad.Prior(
        slab=ad.priors.GPrior(case["g"]), units="raw", edges=None if own else ad.priors.BetaBinomial(1.0, 1.0)
    )
    problem = make_problem(x, np.array(GOLDEN["y"]), prior, probability=probability)
    masks, system = all_sets(problem), conjugate_system(problem)
    parts = [summarize_set(system, mask, problem.certain) for mask in masks]
    log_weight = np.array([part.log_weight for part in parts])
    share = np.exp(log_weight - np.logaddexp.reduce(log_weight))
    first = share @ np.array([part.mean for part in parts])
    second = share @ np.array([np.diag(part.covariance) + part.mean**2 for part in parts])
    return share @ masks, first, np.sqrt(second - first**2), np.sort(share)[::-1][:5]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['mprior']}, g = {case['g']}")
def test_numbers_of_bms(case):
    inclusion, mean, sd, top = solve(case)
    np.testing.assert_allclose(inclusion, case["inclusion"], rtol=DIGITS)
    np.testing.assert_allclose(mean, case["mean"], rtol=DIGITS, atol=DIGITS * np.max(np.abs(case["mean"])))
    np.testing.assert_allclose(sd, case["sd"], rtol=DIGITS)
    np.testing.assert_allclose(top, case["top_probability"], rtol=DIGITS)
