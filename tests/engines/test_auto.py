"""The default engine: what it chooses, and what the answer says of its error."""

from __future__ import annotations

import re

import numpy as np
import pytest

import alldags as ad
from alldags.engines.auto import Auto
from alldags.engines.certified import Certified
from alldags.engines.exact import Exact
from lines import fit
from problems import PRIORS, nine_settings, random_node
from show.everything import everything


def test_chooses_by_size_and_budget(rng):
    small, _ = random_node(1, PRIORS["known"], 6, rows=60)
    assert Auto()(small, rng).diagnostics.engine == "exact"
    assert Auto(max_exact=4)(small, rng).diagnostics.engine == "certified"
    hard, _ = random_node(1, PRIORS["known"], 24, rows=12)
    hopeless = Auto(certified=Certified(max_subsets=1, tolerance=1e-9))
    assert hopeless(hard, rng).diagnostics.engine == "mcmc"
    assert Auto(max_exact=4, max_certified=5)(small, rng).diagnostics.engine == "mcmc"
    with pytest.raises(ad.AlldagsError, match="max_exact must be a whole number from 0 to 40, got 41"):
        Auto(max_exact=41)


def test_several_hyperparameter_values_are_certified_too(rng):
    problem, _ = random_node(1, PRIORS["unknown"], 12, rows=60)
    problem = nine_settings(problem)
    exact, proven = Auto()(problem, rng), Auto(max_exact=4)(problem, rng)
    assert (exact.diagnostics.engine, proven.diagnostics.engine) == ("exact", "certified")
    assert (np.abs(proven.mean - exact.mean) <= proven.mean_bound + 1e-12).all()


def test_enumerates_while_sets_times_values_are_few(rng):
    problem, _ = random_node(1, PRIORS["known"], 6, rows=60)
    many = nine_settings(problem)  # 2^6 * 9 pairs
    assert Auto(max_exact=9)(problem, rng).diagnostics.engine == "exact"
    assert Auto(max_exact=9)(many, rng).diagnostics.engine == "certified"
    assert Auto(max_exact=10)(many, rng).diagnostics.engine == "exact"


def test_the_nodes_of_a_graph_share_one_budget():
    auto = Auto()
    whole = auto.certified.max_subsets
    assert auto.for_graph([3, 8, 25, 12]) == auto
    assert auto.for_graph([]) == auto
    assert auto.for_graph([25, 30, 5, 26, 200]).certified.max_subsets == whole // 3
    assert auto.for_graph([31] * 30).max_certified == 0  # a share would prove little: all are sampled
    assert auto.for_graph([25, 30]) == auto.for_graph([30, 1, 25])
    small = Auto(certified=Certified(max_subsets=1000))
    assert small.for_graph([25]) == small  # what was asked for is tried


@pytest.mark.parametrize("prior", PRIORS)
def test_all_roads_lead_to_the_same_answer(prior, rng):
    problem, _ = random_node(2, PRIORS[prior], 12, rows=80)
    exact = Exact()(problem, rng)
    certified = Auto(max_exact=4)(problem, rng)
    sampled = Auto(max_exact=4, max_certified=0)(problem, rng)
    assert (np.abs(certified.mean - exact.mean) <= certified.mean_bound + 1e-12).all()
    for place in range(problem.k):
        error = sampled.linear_error(np.eye(problem.k)[place])
        # five standard errors, and a floor for edges whose rare visits make their own error estimate unsure
        assert abs(sampled.mean[place] - exact.mean[place]) < 5 * error + 2e-3 * np.sqrt(
            exact.second_moment[place, place]
        )


def test_the_answer_says_which_engine_and_how_far_off():
    rng = np.random.default_rng(5)
    names = [f"x{i:02d}" for i in range(24)] + ["t", "y"]
    x = rng.normal(size=(300, 26))
    x[:, 24] += x[:, 0]
    x[:, 25] += 0.5 * x[:, 24] + x[:, 0] - x[:, 3]
    graph = ad.CandidateGraph.from_tiers([names[:24], ["t"], ["y"]])
    exact = fit(x, graph, names=names, engine=ad.engines.Exact(), rng=0).effect("t", "y")
    certified = fit(x, graph, names=names, rng=0).effect("t", "y")
    sampled = fit(x, graph, names=names, engine=Auto(max_certified=0), rng=0).effect("t", "y")
    assert certified.posterior.engines_used == {"y": "certified"}
    assert abs(certified.mean - exact.mean) <= certified.uncertainty.mean_bound
    assert "sets of causes left out: at most" in everything(certified)
    assert sampled.posterior.engines_used == {"y": "mcmc"}
    assert 0 < sampled.uncertainty.mean_error < 0.05 * exact.sd
    assert abs(sampled.mean - exact.mean) < 5 * sampled.uncertainty.mean_error
    assert re.search(r"posterior mean +[\d.]+ ± [\d.]+ Monte Carlo", everything(sampled))
    assert "1 regression by sampling" in everything(sampled)
    assert sampled.summary().engine == "auto (mcmc: 1 node)"
    assert certified.probability.no_effect_error == 0
    assert sampled.probability.no_effect_error > 0
    assert sampled.probability_no_effect == pytest.approx(
        exact.probability_no_effect, abs=5 * sampled.probability.no_effect_error
    )
    assert sampled.sd == pytest.approx(exact.sd, rel=0.05)
    assert sampled.interval()[0] == pytest.approx(exact.interval()[0], abs=0.1 * exact.sd)
