"""Columns in absurd units, very few rows, values out of reach: right, infinite where documented, or refused."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import alldags as ad
from alldags.data.files import read_csv_plain
from alldags.errors import DataError
from lines import fit

GRAPH = ad.CandidateGraph.from_order(["x", "z", "y"])


def table(rows=60, seed=1, **units):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    z = 0.5 * x + rng.normal(size=rows)
    y = x + z + rng.normal(size=rows)
    return {name: values * units.get(name, 1.0) for name, values in {"x": x, "z": z, "y": y}.items()}


def numbers(effect, unit=1.0):
    found = (
        effect.mean,
        effect.sd,
        effect.uncertainty.structure,
        effect.uncertainty.coefficients,
        *effect.interval(),
        effect.median,
    )
    return np.array(found) / unit


@pytest.mark.parametrize(("x", "y"), [(1e-80, 1e80), (1e80, 1e-80), (1e-140, 1e150), (1e150, 1e-140), (1e-140, 1.0)])
def test_units_far_apart_change_the_unit_of_the_answer_only(x, y):
    plain = fit(table(), GRAPH, rng=0).effect("x", "y")
    posterior = fit(table(x=x, y=y), GRAPH, rng=0)
    scaled = posterior.effect("x", "y")
    np.testing.assert_allclose(numbers(scaled, y / x), numbers(plain), rtol=1e-9)
    removed = [effect.edge_influence()["variance_removed"] for effect in (plain, scaled)]
    np.testing.assert_allclose(removed[1], removed[0], rtol=1e-6)
    assert posterior.effects_sd()["x", "y"] == pytest.approx(scaled.sd, rel=1e-9)
    assert scaled.uncertainty.expected_loss(0.0) >= 0.0
    assert str(scaled)
    assert scaled.to.dict()["sd"] == scaled.sd


@pytest.mark.parametrize("spread", [1e-155, 1e-159, 1e-160, 1e-161, 1e-170, 1e-300])
def test_a_spread_whose_square_is_not_a_number_is_refused(spread):
    with pytest.raises(DataError, match=r"column 'x' varies by only .*: squares so small .* multiply it by a constant"):
        fit(table(x=spread), GRAPH)


def test_a_constant_column_is_still_called_constant():
    with pytest.raises(DataError, match="column 'x' is constant"):
        fit(table(x=0.0), GRAPH)


def test_a_column_that_is_constant_once_rows_are_dropped_is_called_constant():
    data = {name: np.array(column, dtype=float) for name, column in table().items()}
    data["x"] = (np.arange(len(data["x"])) < 10) * 1.0
    data["y"][:10] = np.nan
    with pytest.raises(DataError, match="column 'x' is constant"):
        fit(data, GRAPH, missing="drop")


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("engine", ["auto", "certified", "mcmc", "full", "gibbs", "vb"])
@pytest.mark.parametrize("seed", range(3))
def test_three_rows_have_infinite_spread_and_no_nan(engine, seed):
    posterior = fit(table(rows=3, seed=seed), GRAPH, rng=0, engine=engine)
    effect = posterior.effect("x", "y")
    assert effect.sd == math.inf
    assert effect.uncertainty.coefficients == (None if engine in ("gibbs", "vb") else math.inf)
    assert math.isfinite(effect.mean)
    assert posterior.effects_sd()["x", "y"] == math.inf
    assert not np.isnan(posterior.effects_sd().values).any()
    assert effect.do(1.0).mean.sd == effect.do(1.0).new_unit.sd == math.inf
    assert effect.mediation(["z"], products=False).indirect.sd == math.inf
    assert effect.to.dict()["sd"] is None


def test_the_sum_of_infinite_moments_is_infinite():
    from alldags.models.blocks import weighted_rows, weighted_sum

    infinite = np.full((2, 2), math.inf)
    assert weighted_sum(infinite, np.array([[1.0, -0.5], [-0.5, 1.0]])) == math.inf
    assert weighted_sum(infinite, np.array([[0.0, 0.0], [0.0, 0.0]])) == 0.0
    assert weighted_sum(np.zeros((2, 2)), infinite) == 0.0
    assert weighted_rows(np.array([0.0, 2.0]), np.array([[math.inf, 1.0], [1.0, 3.0]])).tolist() == [2.0, 6.0]
    assert weighted_rows(np.array([1.0, -2.0]), infinite).tolist() == [math.inf, math.inf]


def test_interventions_out_of_reach_are_refused():
    effect = fit(table(), GRAPH, rng=0).effect("x", "y")
    assert effect.do(1e90).mean.sd > 1e88
    assert effect.do(1e90).new_unit.sd > 1e88
    with pytest.raises(ad.AlldagsError, match=r"do\(1e\+200\) is too far from the data: 1e\+200 of the prior's units"):
        effect.do(1e200)


# -- whole numbers ---------------------------------------------------------------------------------------------------

SMALL = np.arange(200) % 7
LARGE = 2**60 + 1


@pytest.mark.parametrize("start", [LARGE, -LARGE, 2**63 - 10])
@pytest.mark.parametrize("kind", ["numpy", "polars", "csv"])
def test_whole_numbers_beyond_floating_point_keep_their_differences(start, kind, tmp_path):
    values = [start + int(step) for step in SMALL]
    if kind == "csv":
        (tmp_path / "t.csv").write_text("a\n" + "\n".join(map(str, values)) + "\n")
        given = read_csv_plain(tmp_path / "t.csv")
    else:
        given = {"a": np.array(values)} if kind == "numpy" else pl.DataFrame({"a": values})
    found = ad.Moments.from_table(given)
    assert found.scatter[0, 0] == pytest.approx(float(((SMALL - SMALL.mean()) ** 2).sum()), rel=1e-12)
    assert found.mean[0] == float(start)  # the nearest number there is


def test_unsigned_whole_numbers():
    values = np.uint64(2**63 + 5) + SMALL.astype(np.uint64)
    assert ad.Moments.from_table({"a": values}).scatter[0, 0] == pytest.approx(((SMALL - SMALL.mean()) ** 2).sum())


def test_whole_numbers_that_would_be_rounded_are_refused():
    message = r"column 'a' has whole numbers above 2\^53, which would be rounded; subtract a constant"
    with pytest.raises(DataError, match=message):
        ad.Moments.from_table(pl.DataFrame({"a": [LARGE, LARGE + 3, None]}), missing="drop")
    with pytest.raises(DataError, match=message):
        ad.Moments.from_table({"a": np.array([LARGE, 1, None], dtype=object)}, missing="drop")


@pytest.mark.parametrize("rows", [math.inf, math.nan, 1, "10", None, True])
def test_rows_behind_a_covariance_matrix_are_a_finite_number(rows):
    with pytest.raises(DataError, match="n must be the number of rows behind the matrix, at least 2, got"):
        ad.Moments.from_covariance([[1.0, 0.5], [0.5, 1.0]], n=rows, names=["x", "y"])


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_covariances_in_absurd_units_are_refused(size):
    with pytest.raises(DataError, match=r"the variance of 'x' is 1e.*: give the variable other units"):
        ad.Moments.from_covariance([[size, 0.0], [0.0, 1.0]], n=10, names=["x", "y"])
