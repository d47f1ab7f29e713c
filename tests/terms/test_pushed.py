"""Rows pushed through several regressions on derived columns: against one draw at a time, and what the error says."""

from __future__ import annotations

import cProfile
import pstats
from functools import cache

import numpy as np
import pytest

import alldags as ad
from alldags.effects.moved_columns import drawn_terms
from naive.pushed_terms import pushed

EXAMPLE = ad.datasets.example()
TIERS = ad.CandidateGraph.from_tiers([["z", "w"], ["t"], ["m"], ["y"]])
LINES = ad.Terms(curves=0, products=0, index=False, propensity=False)


@cache
def table(yes_no: bool = True) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    z, w, t = rng.standard_normal((3, 200))
    t = (t + z > 0) * 1.0 if yes_no else t + z
    m = 0.4 * t + 0.4 * z + 0.3 * t * w + rng.standard_normal(200)
    y = t + np.maximum(m, 0) + 0.5 * z**2 + 0.3 * t * m + rng.standard_normal(200)
    return {"z": z, "w": w, "t": t, "m": m, "y": y}


GIVEN = {"y": ["m*z", "m^2", "t*m", "curve(z)"], "m": ["t*z"]}
CASES = {
    "example": lambda: ad.fit(EXAMPLE.table, EXAMPLE.graph, terms="auto", rng=0).effect("smoking", "risk"),
    "yes/no": lambda: ad.fit(table(), TIERS, terms="auto", rng=0).effect("t", "y"),
    "continuous": lambda: ad.fit(table(False), TIERS, terms="auto", rng=0).effect("t", "y"),
    "given": lambda: ad.fit(table(), TIERS, terms=GIVEN, rng=0).effect("t", "y"),
    "straight": lambda: ad.fit(table(), TIERS, terms={"y": LINES, "m": LINES}, rng=0).effect("t", "y"),
}


@cache
def asked(case: str):
    return CASES[case]()


@pytest.mark.parametrize("case", CASES)
def test_all_draws_at_once_are_one_draw_at_a_time(case, monkeypatch):
    curves = asked(case)._curves
    rows, starts = curves.rows, curves._starts(curves.rows)
    monkeypatch.setattr("alldags.effects.pushed_curves._BLOCK_VALUES", 7 * starts.size)  # several blocks of draws
    found = curves._sampled(rows, starts, 25, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    draws = {name: drawn_terms(node, 25, rng) for name, node in curves.nodes.items()}
    np.testing.assert_allclose(found, pushed(curves, rows, starts, draws, rng), rtol=1e-9, atol=1e-9)


def test_the_draws_cover_what_there_is_to_compute():
    """A treatment that may be no cause, columns that are absent, and arms that differ."""
    node = asked("yes/no").nodes["m"]
    draws = drawn_terms(node, 400, np.random.default_rng(0))
    assert 0 < draws.absent.sum() < 400
    assert (draws.coefficients == 0).mean() > 0.5
    assert (draws.coefficients[:, 0] != draws.coefficients[:, 1]).any()


def test_what_is_not_moved_by_the_treatment_has_no_effect_in_that_draw():
    rng = np.random.default_rng(5)
    z, m, y = rng.standard_normal((3, 300))
    t = rng.integers(0, 2, 300) * 1.0
    m = m * np.where(t == 1, 3.0, 1.0)  # noise differs between arms, the mean does not
    graph = TIERS.without_edge("t", "y").without_edge("w", "y").without_edge("w", "m").without_edge("w", "t")
    columns = {"z": z, "w": z, "t": t, "m": m, "y": y + np.maximum(m, 0)}
    effect = ad.fit(columns, graph, terms="auto", rng=0).effect("t", "y")
    absent = effect.nodes["m"].no_effect
    assert absent > 0.5
    assert np.mean(effect.draws(600) == 0.0) == pytest.approx(absent, abs=0.08)


def test_the_example_takes_few_calls():
    """A call for every column of every draw would be a million; CPU follows."""
    effect = CASES["example"]()
    assert len(effect.nodes) == 3  # their regressions are fitted
    profile = cProfile.Profile()
    profile.enable()
    assert effect.interval()[0] < effect.mean
    profile.disable()
    assert pstats.Stats(profile).total_calls < 20_000


# -- the error ---------------------------------------------------------------------------------------------------------


def wide(rows: int = 200, k: int = 24) -> tuple[dict[str, np.ndarray], ad.CandidateGraph]:
    """Return a table with many covariates, so that regressions are sampled, and straight lines in between."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((k, rows))
    x = z[:5].sum(0) * 0.4 + rng.standard_normal(rows)
    m = 0.6 * x + 0.3 * z[3:9].sum(0) + rng.standard_normal(rows)
    y = 0.5 * x + 0.4 * m + 0.2 * z.sum(0) + 2.0 * rng.standard_normal(rows)
    names = [f"z{i}" for i in range(k)]
    return dict(zip(names, z, strict=True)) | {"x": x, "m": m, "y": y}, ad.CandidateGraph.from_tiers(
        [names, ["x"], ["m"], ["y"]]
    )


def answers(table, graph, terms, treatment, outcome):
    fits = [ad.fit(table, graph, terms=terms, rng=seed) for seed in range(5)]
    return [fit.effect(treatment, outcome) for fit in fits]


def check_seeds_agree(effects) -> None:
    for one in effects:
        for other in effects:
            assert abs(one.mean - other.mean) <= 4 * np.hypot(one.mean_error, other.mean_error)


def test_the_error_holds_that_of_the_regressions_where_rows_are_carried_straight():
    effects = answers(*wide(), dict.fromkeys(("m", "y"), LINES), "x", "y")
    assert all(effect._curves.is_straight and effect.converged for effect in effects)
    means = np.array([effect.mean for effect in effects])
    claimed = np.array([effect.mean_error for effect in effects])
    assert (claimed > 0.0).all()
    assert (claimed < 0.25 * effects[0].sd).all()
    assert claimed.mean() < 5 * means.std(ddof=1)  # large enough, and not for nothing
    check_seeds_agree(effects)


def test_the_error_holds_that_of_the_regressions_where_rows_are_pushed():
    effects = answers(EXAMPLE.table, EXAMPLE.graph, "auto", "smoking", "risk")
    assert not effects[0]._curves.is_straight
    check_seeds_agree(effects)
    for effect in effects:
        assert effect._curves._means[1] < effect.mean_error < 0.2 * effect.sd
