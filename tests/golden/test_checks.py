"""Agreement with statsmodels: score tests, studentised residuals, variance inflation, a propensity and its range."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.assumptions.misfit import check_residuals
from alldags.assumptions.moments import inflation
from alldags.assumptions.overlap import overlap
from alldags.assumptions.regression import Regressed, fit_rows, score_tests
from alldags.data.batches import RowTable
from alldags.data.source import open_source
from alldags.families.yes_no import Bernoulli
from alldags.nodes.data import working_data

GOLDEN = json.loads((Path(__file__).parent / "checks.json").read_text())
CAUSES = ("age", "sex", "income", "smoking", "tar", "exercise")
TABLE = {name: np.asarray(values, dtype=float) for name, values in ad.datasets.example().table.items()}


def regressed(table, child, causes, family=None):
    center = {name: float(values.mean()) for name, values in table.items()}
    deviation = {name: float(values.std()) for name, values in table.items()}
    return Regressed(child, causes, RowTable(open_source(table).numbers()), center, deviation, family)


def in_units(fitted):
    """Return the slopes in the user's units."""
    return fitted.coefficients[1:] / [fitted.of.deviation[name] for name in fitted.of.causes]


@pytest.fixture(scope="module")
def fitted():
    return fit_rows(regressed(TABLE, "risk", CAUSES))


def test_least_squares(fitted):
    np.testing.assert_allclose(in_units(fitted), GOLDEN["coefficients"][1:], rtol=1e-7)


@pytest.mark.parametrize("name", GOLDEN["score"])
def test_score_tests_of_squares(fitted, name):
    place = CAUSES.index(name)
    found = score_tests(fitted, lambda batch, _: batch.design[:, [place + 1]] ** 2)
    assert found.statistic[0] == pytest.approx(GOLDEN["score"][name], rel=1e-6)


def test_largest_residual_when_left_out(fitted):
    worst = check_residuals(fitted).outliers[0]
    assert worst.row == GOLDEN["worst"][0]
    assert worst.residual == pytest.approx(GOLDEN["worst"][1], rel=1e-6)


def test_variance_inflation():
    data = working_data(ad.Moments.from_table(TABLE), ad.Prior(), tuple(TABLE))
    np.testing.assert_allclose(inflation(data.of("risk"), CAUSES), GOLDEN["inflation"], rtol=1e-9)


def test_propensity_and_its_range():
    heavy = (TABLE["smoking"] > np.median(TABLE["smoking"])).astype(float)
    of = regressed(TABLE | {"heavy": heavy}, "heavy", ("age", "sex", "income"))
    slopes = in_units(fit_rows(Regressed(of.child, of.causes, of.table, of.center, of.deviation, Bernoulli())))
    np.testing.assert_allclose(slopes, GOLDEN["propensity"]["coefficients"][1:], rtol=1e-3)  # a ridge of 0.01 row
    found = overlap(of)
    assert found.treated_outside == pytest.approx(GOLDEN["propensity"]["treated_outside"], abs=1e-12)
    assert found.differences[2] == pytest.approx(GOLDEN["propensity"]["income_gap"], rel=1e-9)
