"""Agreement with NumPyro on a small mixture: edges, coefficients, and the total effect with its atom at zero."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from lines import fit

GOLDEN = json.loads(Path(__file__).with_name("numpyro.json").read_text(encoding="utf-8"))
EDGES = {(edge[0], edge[1]): p for edge, p in GOLDEN["edges"].items()}


@pytest.fixture(scope="module")
def answers():
    """Everything NumPyro was asked, exactly or from many draws."""
    noise = ad.priors.UnknownNoise(*GOLDEN["noise"])
    prior = ad.Prior(GOLDEN["slab"], noise, units="raw", intercept=False, link=0.0)
    graph = ad.CandidateGraph.from_edges(EDGES, ["a", "b", "c"])
    posterior = fit(np.array(GOLDEN["rows"]), graph, names=["a", "b", "c"], prior=prior, engine="exact", rng=0)
    effect = posterior.effect("a", "c")
    found = {"effect": effect.mean, "effect squared": effect.sd**2 + effect.mean**2}
    found |= {"no path": effect.probability_no_effect}
    found |= {f"effect above {value}": effect.probability.above(value) for value in (0.1, 0.4)}
    for row in posterior.edge_probabilities().rows():
        found[f"P({row['cause']} -> {row['effect']})"] = row["posterior"]
    for row in posterior.coefficients().rows():
        found[f"coefficient {row['cause']} -> {row['effect']}"] = row["mean"]
    return found


@pytest.mark.parametrize("name", GOLDEN["answers"])
def test_answers_agree_within_the_error_of_its_chains(answers, name):
    theirs = GOLDEN["answers"][name]
    assert theirs["rhat"] < 1.01
    own = 0.003 if name.startswith("effect above") else 1e-6  # from 20,000 draws: a standard error of at most 0.0035
    assert answers[name] == pytest.approx(theirs["mean"], abs=4 * theirs["error"] + 3 * own)
