"""Published matrices to moments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from alldags import Moments
from alldags.errors import DataError

MATRIX = [[4.0, 1.0], [1.0, 2.0]]


def fails(match: str):
    return pytest.raises(DataError, match=match)


def test_the_way_back_from_a_table(rng):
    values = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)) * [1, 1e-6, 1e6] + 7
    direct = Moments.from_table(values, names=["a", "b", "c"])
    back = Moments.from_covariance(np.cov(values.T), n=50, mean=values.mean(axis=0), names=["a", "b", "c"])
    spread = np.sqrt(np.diag(direct.scatter))
    assert back.n == 50
    np.testing.assert_allclose(back.mean, direct.mean, rtol=1e-13)
    assert (np.abs(back.scatter - direct.scatter) <= 1e-12 * np.outer(spread, spread)).all()


def test_divisor_and_default_mean():
    moments = Moments.from_covariance(MATRIX, 11, names=["a", "b"])
    assert moments.scatter.tolist() == [[40, 10], [10, 20]]
    assert moments.mean.tolist() == [0, 0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MATRIX, columns=["a", "b"], index=["a", "b"]),
        pd.DataFrame(MATRIX, columns=["a", "b"]),
        pl.DataFrame(MATRIX, schema=["a", "b"], orient="row"),
    ],
    ids=["pandas", "pandas without index", "polars"],
)
def test_labels_of_a_frame(frame):
    moments = Moments.from_covariance(frame, 11)
    assert moments.names == ("a", "b")
    assert moments.scatter.tolist() == [[40, 10], [10, 20]]


def test_what_rounding_leaves_is_accepted():
    printed = np.array([[1, 0.123456789], [0.12345679, 1]])
    scatter = Moments.from_covariance(printed, 3, names=["a", "b"]).scatter
    assert scatter[0, 1] == scatter[1, 0]
    Moments.from_covariance(np.ones((3, 3)), 5, names=["a", "b", "c"])  # singular, but semidefinite


def test_the_units_do_not_matter_to_the_checks():
    scale = np.outer([1e-9, 1e9], [1e-9, 1e9])
    Moments.from_covariance(scale * MATRIX, 5, names=["a", "b"])
    with fails("positive semidefinite"):
        Moments.from_covariance(scale * [[1, 1.1], [1.1, 1]], 5, names=["a", "b"])
    with fails("must be symmetric"):
        Moments.from_covariance(scale * [[1, 0.1], [0.2, 1]], 5, names=["a", "b"])


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        ([[1.0, 0.0]], r"must be square, got shape \(1, 2\)"),
        ([1.0, 2.0], r"must be square, got shape \(2,\)"),
        ([[1.0, 0.2], [0.3, 1.0]], r"symmetric, but \('a', 'b'\) is 0.2 and \('b', 'a'\) is 0.3"),
        ([[1.0, 2.0], [2.0, 1.0]], r"positive semidefinite, but the smallest eigenvalue \(.*\) is -1; was it"),
        ([[-1.0, 0.0], [0.0, 1.0]], "positive semidefinite, but the smallest eigenvalue .* is -1;"),
        ([[1.0, np.nan], [np.nan, 1.0]], "covariance of 'a' and 'b' is nan; it must be finite"),
        ([["x", "y"], ["y", "x"]], "a covariance matrix must be made of numbers"),
        (np.eye(3), "2 names were given for a covariance matrix of 3 variables"),
    ],
)
def test_matrices_that_are_none(matrix, match):
    with fails(match):
        Moments.from_covariance(matrix, 10, names=["a", "b"])


@pytest.mark.parametrize("n", [1, 0, float("nan")])
def test_row_count(n):
    with fails(f"at least 2, got {n}"):
        Moments.from_covariance(MATRIX, n, names=["a", "b"])


def test_labels():
    with fails(r"without labels needs names="):
        Moments.from_covariance(MATRIX, 5)
    with fails(r"must be distinct; rename or drop: 'a' \(2 times\)"):
        Moments.from_covariance(MATRIX, 5, names=["a", "a"])
    with fails("names= is for matrices without labels"):
        Moments.from_covariance(pd.DataFrame(MATRIX, columns=["a", "b"]), 5, names=["b", "a"])
    with fails(r"row and column labels .* differ: \['b', 'a'\] and \['a', 'b'\]"):
        Moments.from_covariance(pd.DataFrame(MATRIX, columns=["a", "b"], index=["b", "a"]), 5)


def test_mean():
    with fails(r"2 variables need a mean of shape \(2,\), got \(3,\)"):
        Moments.from_covariance(MATRIX, 5, mean=[1, 2, 3], names=["a", "b"])
    with fails("the mean of 'b' is not finite"):
        Moments.from_covariance(MATRIX, 5, mean=[1, np.inf], names=["a", "b"])
    with fails("mean must be made of numbers"):
        Moments.from_covariance(MATRIX, 5, mean=["x", "y"], names=["a", "b"])
