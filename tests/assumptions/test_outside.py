"""The note on columns outside the graph: whoever follows it comes nearer to the truth, and no one is led astray."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from lines import fit

ROWS = 800
TRUTH = 1.0


def advice(table, graph, treatment="x", outcome="y", **options):
    """Return the note on columns outside the graph, or nothing."""
    notes = fit(table, graph, rng=0, **options).effect(treatment, outcome).notes
    return "".join(str(note) for note in notes if "outside the graph" in note)


@pytest.fixture
def confounded():
    rng = np.random.default_rng(0)
    w, z = rng.standard_normal((2, ROWS))
    x = w + z + rng.standard_normal(ROWS)
    return {"w": w, "z": z, "x": x, "y": TRUTH * x + 2.0 * w + z + rng.standard_normal(ROWS)}


def test_following_the_advice_to_add_a_confounder_brings_the_truth(confounded):
    without = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]])
    told = advice(confounded, without)
    assert "'w' (0." in told
    assert "add what comes before x and may act on both" in told
    wrong = fit(confounded, without, rng=0).effect("x", "y").interval(0.99)
    followed = ad.CandidateGraph.from_tiers([["z", "w"], ["x"], ["y"]])
    low, high = fit(confounded, followed, rng=0).effect("x", "y").interval(0.99)
    assert not wrong[0] < TRUTH < wrong[1]
    assert low < TRUTH < high
    assert not advice(confounded, followed)


def test_what_is_adjusted_for_already_needs_no_second_measurement(confounded):
    twice = confounded | {"again": confounded["w"] + 0.5 * np.random.default_rng(1).standard_normal(ROWS)}
    assert not advice(twice, ad.CandidateGraph.from_tiers([["z", "w"], ["x"], ["y"]]))


@pytest.fixture
def trial():
    """A randomised treatment, its dose, and something it acts on."""
    rng = np.random.default_rng(1)
    lot = rng.integers(0, 2, ROWS) * 1.0
    dose = lot * rng.uniform(1.0, 3.0, ROWS)
    z = rng.standard_normal(ROWS)
    y = dose + z + rng.standard_normal(ROWS)
    return {"z": z, "lot": lot, "dose": dose, "y": y, "later": 0.6 * y + lot + rng.standard_normal(ROWS)}


def test_a_treatment_drawn_by_lot_gets_no_advice_to_adjust(trial):
    graph = ad.CandidateGraph.from_tiers([["z"], ["lot"], ["y"]])
    assert "'dose'" in advice(trial, graph, "lot")  # not knowing of the lots, one may ask
    assert not advice(trial, graph, "lot", randomized="lot")
    astray = ad.CandidateGraph.from_tiers([["z", "dose"], ["lot"], ["y"]])
    truth = trial["y"][trial["lot"] == 1].mean() - trial["y"][trial["lot"] == 0].mean()
    spoiled = fit(trial, astray, rng=0).effect("lot", "y")
    right = fit(trial, graph, randomized="lot", rng=0).effect("lot", "y")
    assert abs(right.mean - truth) < 0.2 < 1.0 < abs(spoiled.mean - truth)


def test_lots_are_remembered_in_a_saved_fit(trial, tmp_path):
    graph = ad.CandidateGraph.from_tiers([["z"], ["lot"], ["y"]])
    fit(trial, graph, randomized="lot", rng=0).save(tmp_path / "fit.npz")
    notes = ad.load(tmp_path / "fit.npz").effect("lot", "y").notes
    assert not any("outside the graph" in note for note in notes)


def test_checks_of_a_treatment_drawn_by_lot_do_not_speak_of_adjusting(trial):
    table = trial | {"z": trial["z"] + trial["lot"]}  # lots that were not drawn
    graph = ad.CandidateGraph.from_tiers([["z"], ["lot"], ["y"]])
    found = fit(table, graph, randomized="lot", rng=0).checks("lot", "y")
    (balance,) = (line for line in found.findings if line.check == "balance")
    assert "look whether chance alone decided" in balance.words
    plain = fit(table, graph, rng=0).checks("lot", "y")
    assert any("rests on adjusting" in line.words for line in plain.findings)


def test_an_outcome_that_did_not_happen_is_no_covariate():
    rng = np.random.default_rng(2)
    z = rng.standard_normal(ROWS)
    x = (z + rng.standard_normal(ROWS) > 0) * 1.0
    means = np.array([z, z + 4.0])
    seen, unseen = (means[(which, np.arange(ROWS))] for which in (x.astype(int), 1 - x.astype(int)))
    table = {"z": z, "x": x, "y": seen + rng.standard_normal(ROWS), "ycf": unseen + rng.standard_normal(ROWS)}
    correlations = [abs(np.corrcoef(table["ycf"], table[name])[0, 1]) for name in ("x", "y")]
    assert min(correlations) > 0.3
    assert not advice(table, ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]]))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_another_form_of_the_outcome_is_no_covariate(confounded, noise):
    form = 3.0 * confounded["y"] + 1.0 + noise * np.random.default_rng(3).standard_normal(ROWS)
    table = {name: confounded[name] for name in ("w", "z", "x", "y")} | {"form": form}
    assert not advice(table, ad.CandidateGraph.from_tiers([["z", "w"], ["x"], ["y"]]))


def test_an_instrument_is_no_covariate():
    rng = np.random.default_rng(4)
    lottery, u = rng.standard_normal((2, ROWS))
    x = 2.0 * lottery + u
    table = {"x": x, "y": x + 0.3 * rng.standard_normal(ROWS), "lottery": lottery}
    assert not advice(table, ad.CandidateGraph.from_order(["x", "y"]))


@pytest.mark.parametrize("replication", [1, 2, 3, 4])
def test_counterfactuals_of_infants_are_not_to_be_added(replication, public_data):
    data = ad.datasets.ihdp(replication, public_data)
    table = dict(zip(data.names, data.array().T, strict=True))
    treated = table["treatment"] == 1
    unseen = np.where(treated, data.mean0, data.mean1) + np.random.default_rng(0).standard_normal(len(treated))
    assert "ycf" not in advice(table | {"ycf": unseen}, data.graph(), "treatment", "outcome")
