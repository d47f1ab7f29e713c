"""An outcome that is exactly a copy, a multiple or a sum of its causes: the answer is printed, and is sensible."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from lines import fit
from show.everything import everything

MADE = {
    "copy": (lambda x, others: x.copy(), 1.0),
    "multiple": (lambda x, others: 3.7 * x, 3.7),
    "sum": (lambda x, others: x + others, 1.0),
    "sum plus constant": (lambda x, others: x + others + 17.3, 1.0),
    "tiny sum": (lambda x, others: 1e-9 * (x + others), 1e-9),
    "huge sum": (lambda x, others: 1e12 * (x + others) + 1e15, 1e12),
}


def effect(kind: str, covariates: int, rows: int, yes_no: bool):
    rng = np.random.default_rng(covariates)
    table = {f"c{i}": (1.0, 30.0, 0.01)[i % 3] * rng.standard_normal(rows) + 100 * (i % 2) for i in range(covariates)}
    others = sum(table.values())
    x = rng.standard_normal(rows) + 0.1 * others
    x = (x > np.median(x)) * 1.0 if yes_no else x
    graph = ad.CandidateGraph.from_tiers([list(table), ["x"], ["y"]])
    return fit(table | {"x": x, "y": MADE[kind][0](x, others)}, graph, rng=0).effect("x", "y")


CASES = [(kind, yes_no) for kind in MADE for yes_no in (False, True) if (kind, yes_no) != ("copy", True)]


@pytest.mark.parametrize("rows", [12, 400])
@pytest.mark.parametrize(("kind", "yes_no"), CASES)
def test_what_follows_from_its_causes_is_printed_and_said_to_follow(kind, rows, yes_no):
    for covariates in range(1, 6):
        found = effect(kind, covariates, rows, yes_no)
        text = " ".join(everything(found).split())
        assert "mislead" not in text
        assert found.mean == pytest.approx(MADE[kind][1], rel=0.02)
        assert found.interval()[0] <= found.mean <= found.interval()[1]
        said = "straight lines of its causes give every value of y, without any noise" in text
        assert said == (rows >= covariates + 11), (covariates, text)


@pytest.mark.parametrize("covariates", [1, 5])
def test_a_copy_of_a_yes_no_treatment_is_printed_as_a_risk(covariates):
    found = effect("copy", covariates, 40, yes_no=True)
    assert found.measure == "risk"
    assert "mislead" not in everything(found)
    assert 0.5 < found.mean <= 1.0


def test_a_variable_in_between_that_follows_is_named():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    table = {"x": x, "m": 2.0 * x, "y": 2.0 * x + rng.standard_normal(60)}
    found = fit(table, ad.CandidateGraph.from_tiers([["x"], ["m"], ["y"]]), rng=0).effect("x", "y")
    assert any("give every value of m, without any noise" in note for note in found.notes)
    assert str(found)


@pytest.mark.parametrize("yes_no", [False, True])
@pytest.mark.parametrize("between", [False, True])
def test_curves_of_an_outcome_without_noise_are_printed_or_refused_by_name(yes_no, between):
    rng = np.random.default_rng(0)
    z, w, x = rng.standard_normal((3, 150))
    x = (x > 0) * 1.0 if yes_no else x
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["w"], ["y"]] if between else [["z", "w"], ["x"], ["y"]])
    columns = {"z": z, "w": w, "x": x}
    found = fit(columns | {"y": x + z + w}, graph, terms="auto", families="normal", rng=0).effect("x", "y")
    assert found.mean == pytest.approx(1.0, abs=0.1)
    assert str(found)
    copy = fit(columns | {"y": 2.5 * x}, graph, terms="auto", families="normal", rng=0).effect("x", "y")
    assert copy.mean == pytest.approx(2.5, abs=0.01)
    assert str(copy)
    if yes_no:
        wanted = fit(columns | {"y": 2.5 * x}, graph, terms={"y": ad.Terms()}, families="normal", rng=0)
        with pytest.raises(ad.AlldagsError, match="'y' has one value for each value of 'x': it follows from it alone"):
            wanted.effect("x", "y")
