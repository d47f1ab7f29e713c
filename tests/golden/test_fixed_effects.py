"""Agreement with pyfixest: certain edges under a wide slab are least squares with fixed effects."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest

import alldags as ad
from lines import fit

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "fixed_effects.json").read_text())


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("golden_fixed_effects", HERE / "fixed_effects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


def least_squares(table: Any, tiers: list[list[str]], **options: Any) -> ad.Effect:
    """Return the effect of the last but one tier on the last, all edges certain, slab as wide as nothing."""
    graph = ad.CandidateGraph.from_tiers(tiers, 1.0)
    told = {"families": "normal", "rng": 0, "robust": False} | options
    posterior = fit(table, graph, prior=ad.Prior(slab_variance=1e12), **told)
    return posterior.effect(tiers[-2][0], tiers[-1][0])


def check(effect: ad.Effect, golden: dict[str, float], rows: float, rank: int, slopes: int) -> None:
    """Theirs has a t distribution with the slopes taken from its degrees of freedom; ours a proper slab for each."""
    assert effect.mean == pytest.approx(golden["estimate"], abs=1e-6)
    sd = golden["error"] * math.sqrt((rows - rank - slopes) / (rows - rank - 2))
    assert effect.sd == pytest.approx(sd, rel=1e-6)


@pytest.mark.parametrize("case", SCRIPT.CASES)
def test_estimates_and_errors_are_those_of_pyfixest(case):
    factors, weighted = SCRIPT.CASES[case]
    table = SCRIPT.panel()
    weights = {"weights": "weight", "weight_kind": "sampling"} if weighted else {}
    effect = least_squares(table, [["w"], ["x"], ["y"]], fixed_effects=list(factors), **weights)
    rank = sum(len(set(table[name].tolist())) for name in factors) - (len(factors) - 1)
    golden, rows = GOLDEN["panel"][case], len(table["y"])
    if not weighted:
        check(effect, golden, rows, rank, slopes=2)
        return
    # theirs takes weights for precisions of as many rows as there are, ours for shares of their effective number
    weight = table["weight"]
    effective = weight.sum() ** 2 / (weight @ weight)
    wider = math.sqrt((rows - rank - 2) / (effective - rank - 2))
    check(effect, golden | {"error": golden["error"] * wider}, effective, rank, slopes=2)


@pytest.mark.parametrize("case", ["one way", "two-way"])
def test_spreads_by_rows_and_by_clusters_are_those_of_pyfixest(case):
    """Theirs are HC1 and CR1, ours leave out rows (HC3) and clusters (CR2): a few percent apart."""
    factors, _ = SCRIPT.CASES[case]
    asked = {"table": SCRIPT.panel(), "tiers": [["w"], ["x"], ["y"]], "fixed_effects": list(factors)}
    rows, clusters = least_squares(**asked, robust=True), least_squares(**asked, cluster="state")
    assert rows.uncertainty.jackknife.sd_pieces == pytest.approx(GOLDEN["panel"][case]["uneven"], rel=0.05)
    assert clusters.uncertainty.jackknife.sd_pieces == pytest.approx(GOLDEN["panel"][case]["clustered"], rel=0.05)


CASTLE = importlib.util.find_spec("causaldata")


@pytest.mark.skipif(CASTLE is None, reason="the castle doctrine data come with the package causaldata")
@pytest.mark.parametrize("name", ["plain", "popwt"])
def test_the_castle_doctrine_estimate_is_that_of_pyfixest(name):
    data = Path(CASTLE.submodule_search_locations[0]) / "castle" / "castle.dta"
    weights = {"weights": "popwt", "weight_kind": "sampling"} if name == "popwt" else {}
    tiers = [SCRIPT.COVARIATES, ["post"], ["l_homicide"]]
    effect = least_squares(data, tiers, fixed_effects=["sid", "year"], **weights)
    assert effect.mean == pytest.approx(GOLDEN["castle"][name]["estimate"], abs=1e-6)
    assert any("switched on at different times" in note for note in effect.notes)
    if not weights:
        check(effect, GOLDEN["castle"][name], 550, 60, slopes=5)
    clustered = least_squares(data, tiers, fixed_effects=["sid", "year"], cluster="sid", **weights)
    assert clustered.sd == pytest.approx(GOLDEN["castle"][name]["clustered"], rel=0.1)
