"""Missing amounts and grades are drawn from what they can be, and effects through them come out."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.families.gamma import Gamma
from alldags.families.log_normal import LogNormal
from alldags.families.ordered import Ordered
from alldags.imputation.chain import Chain
from alldags.imputation.made import columns_of
from alldags.imputation.variables import Variable

FAMILIES = {"lognormal": LogNormal(), "gamma": Gamma(), "ordered": Ordered()}
ROWS = 2000


def children(kind, x, rng):
    """Children of x, and the mean that each has at x."""
    if kind == "lognormal":
        return np.exp(0.5 * x + 0.6 * rng.standard_normal(len(x))), np.exp(0.5 * x + 0.18)
    if kind == "gamma":
        return np.exp(0.5 * x) * rng.gamma(2.0, 0.5, len(x)), np.exp(0.5 * x)
    cuts = np.array([-1.0, 1.0])
    above = 1.0 / (1.0 + np.exp(cuts[:, None] - x))
    return 1.0 + (x + rng.logistic(size=len(x)) > cuts[:, None]).sum(axis=0), 1.0 + above.sum(axis=0)


@pytest.mark.parametrize("kind", FAMILIES)
def test_missing_values_are_drawn_around_their_means_given_causes_and_effects(kind):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(ROWS)
    m, _ = children(kind, x, rng)
    later = 0.7 * m + rng.standard_normal(ROWS)
    missing = rng.random(ROWS) < 1.0 / (1.0 + np.exp(1.0 - x))  # at random given x: seen ones have smaller means
    seen = np.where(missing, np.nan, m)
    variables = [Variable("x", x), Variable("m", seen, family=FAMILIES[kind]), Variable("later", later)]
    causes = {"x": (), "m": ("x",), "later": ("x", "m")}
    chain = Chain(variables, columns_of(variables, {}, causes), np.random.default_rng(0))
    drawn = np.array([table["m"][missing] for table in chain.completed(20)])
    spread = m[missing].std() / np.sqrt(missing.sum())
    assert drawn.mean() == pytest.approx(m[missing].mean(), abs=4 * spread)
    assert drawn.std() == pytest.approx(m[missing].std(), rel=0.15)
    assert np.corrcoef(drawn.mean(axis=0), m[missing])[0, 1] > 0.3
    assert set(np.unique(drawn)) <= {1.0, 2.0, 3.0} if kind == "ordered" else (drawn > 0).all()


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_effect_through_a_child_with_gaps_is_near_that_of_complete_rows(kind):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(600)
    m, _ = children(kind, x, rng)
    y = 0.5 * m + rng.standard_normal(600)
    holes = np.where(rng.random(600) < 0.2, np.nan, m)
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0})
    options = {"families": {"m": kind}, "terms": None, "rng": 0}
    full = ad.fit({"x": x, "m": m, "y": y}, graph, **options).effect("x", "y")
    imputed = ad.fit({"x": x, "m": holes, "y": y}, graph, missing="impute", **options).effect("x", "y")
    assert abs(imputed.mean - full.mean) < full.sd
    assert full.sd * 0.9 < imputed.sd < 1.6 * full.sd
