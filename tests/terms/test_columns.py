"""Derived columns: what they are, how they are learned, and their moments."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.assumptions.worth import Worth, worth_of_curves
from alldags.columns.base import RowValues, matrix_of
from alldags.columns.bends import Bend
from alldags.columns.learned import Along, Direction
from alldags.columns.line import Line
from alldags.columns.products import Clipped, Given, Times
from alldags.columns.rows import Parts, Rows
from alldags.data.batches import RowTable
from alldags.data.source import open_source
from alldags.engines.curves.learn import index_coefficients, logistic_coefficients, sparse_coefficients
from alldags.engines.curves.make import base_columns
from alldags.engines.curves.moments import arm_moments
from alldags.engines.curves.spec import CurvedSpec
from alldags.graph.terms import Terms, parse_term
from alldags.nodes.rows import CountedRows


def batch(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    return RowValues({"a": a, "b": b, "t": rng.integers(0, 2, n).astype(float), "y": np.exp(a) + b})


def test_columns_are_what_they_say():
    rows = batch()
    a, b = rows.values["a"], rows.values["b"]
    given = Given(parse_term("exp(a)*b", ["a", "b"]))
    assert np.allclose(given.values(rows), np.exp(a) * b)
    assert given.is_straight_in("b")
    assert not given.is_straight_in("a")
    assert np.array_equal(Bend("a", 0.5).values(rows), np.maximum(a - 0.5, 0))
    assert Times(Line("b"), "a", 1.0).is_straight_in("a")
    assert np.allclose(Times(Line("b"), "a", 1.0).values(rows), (a - 1.0) * b)
    clipped = Clipped("a", "b", (0.0, 0.0), (-1.0, -1.0), (1.0, 1.0))
    assert np.abs(clipped.values(rows)).max() <= 1.0


def test_a_direction_uses_the_part_that_left_the_row_out():
    rows = batch(10)
    fold = np.arange(10) % 2
    direction = Direction("index", ("a", "b"), np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), ("a", "b"))
    seen = Along(direction, "line").values(RowValues(rows.values, fold))
    assert np.allclose(seen, np.where(fold == 0, rows.values["a"], rows.values["b"]))
    new = Along(direction, "square").values(rows)
    assert np.allclose(new, (rows.values["a"] ** 2 + rows.values["b"] ** 2) / 2)


def test_moments_of_arms_add_up():
    rows = batch()
    columns = (Line("a"), Bend("b", 0.0))
    levels = np.array([0.0, 1.0])
    whole = arm_moments(columns, "y", "t", levels, [(rows, None)])
    cut = [
        RowValues({name: column[part] for name, column in rows.values.items()})
        for part in (slice(0, 7), slice(7, None))
    ]
    parts = arm_moments(columns, "y", "t", levels, [(part, None) for part in cut])
    assert np.allclose(whole.scatter, parts.scatter)
    assert np.allclose(whole.mean, parts.mean)
    matrix = np.column_stack([matrix_of(columns, rows), rows.values["y"]])
    mean, scatter = whole.pooled
    assert np.allclose(mean, matrix.mean(axis=0))
    assert np.allclose(scatter, (matrix - mean).T @ (matrix - mean))
    assert np.allclose(np.diag(whole.standardised().pooled[1]), 300.0)


def test_copies_and_constants_are_left_out():
    rows = RowValues({"a": np.arange(6.0), "c": np.ones(6), "d": -2 * np.arange(6.0), "y": np.arange(6.0) ** 2})
    moments = arm_moments((Line("a"), Line("c"), Line("d")), "y", None, np.array([]), [(rows, None)])
    assert moments.distinct().tolist() == [0]


def test_learned_directions_find_what_made_the_data():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((800, 6))
    truth = np.array([0.6, -0.4, 0.0, 0.0, 0.3, 0.0])
    steep = np.exp(z @ truth) + 0.1 * rng.standard_normal(800)
    found = index_coefficients(z, steep)
    plain = sparse_coefficients(z, steep)

    def cosine(v):
        return v @ truth / np.linalg.norm(v) / np.linalg.norm(truth)

    assert cosine(found) > 0.995
    assert cosine(found) >= cosine(plain) - 1e-3
    treated = (rng.random(800) < 1 / (1 + np.exp(-z @ truth))).astype(float)
    odds = logistic_coefficients(z + 3.0, treated)
    assert odds[1:] == pytest.approx(truth, abs=0.35)
    assert odds[0] + 3.0 * odds[1:].sum() == pytest.approx(0.0, abs=0.3)


def test_cross_fitting_keeps_noise_from_looking_like_signal():
    """Without signal, a direction learned from all rows correlates with the child there; a cross-fitted one hardly."""
    rng = np.random.default_rng(2)
    n, p = 200, 30
    names = tuple(f"x{i}" for i in range(p))
    values = {name: rng.standard_normal(n) for name in names} | {"t": rng.integers(0, 2, n).astype(float)}
    values["y"] = rng.standard_normal(n)
    rows = RowValues(values, rng.integers(5, size=n))
    counted = CountedRows("y", Rows(RowTable(open_source(values).numbers(list(values)))))
    terms = Terms(curves=0, products=0)
    spec = CurvedSpec("y", terms, dict.fromkeys(names, 0.5), "t", frozenset(), counted, ad.Prior())
    columns = base_columns(spec, names, "t", rows)
    squares = [column for column in columns if column.name.endswith("^2")]
    line = np.abs([np.corrcoef(column.direction.score(rows)[0], values["y"])[0, 1] for column in squares])
    assert (line < 0.2).all()


def test_parts_of_the_data_follow_what_is_in_a_row():
    """Neither order, nor units, nor names, nor the order of columns moves a row to another part."""
    rng = np.random.default_rng(0)
    values = {"a": rng.standard_normal(5000), "y": rng.exponential(size=5000)}

    def parts(values):
        return Parts({k: v.mean() for k, v in values.items()}, {k: v.std() for k, v in values.items()}).of(values)

    found = parts(values)
    assert np.bincount(found).min() > 900
    order = rng.permutation(5000)
    assert np.array_equal(parts({name: column[order] for name, column in values.items()}), found[order])
    other = {"outcome": 1000.0 * values["y"] - 7e5, "b": 1e6 + values["a"]}
    assert (parts(other) == found).mean() > 0.999


def test_many_rows_are_looked_at_in_part():
    data = {"a": np.arange(50_000.0), "y": np.arange(50_000.0)}
    rows = CountedRows("y", Rows(RowTable(open_source(data).numbers(["a", "y"]))))
    assert np.array_equal(rows.sample().values["a"], np.arange(0.0, 50_000.0, 3))


def test_worth_of_curves():
    rng = np.random.default_rng(0)
    n = 300
    data = {"a": rng.standard_normal(n), "b": rng.standard_normal(n), "t": rng.integers(0, 2, n).astype(float)}
    data["straight"] = data["a"] + data["t"] + rng.standard_normal(n)
    data["bent"] = data["a"] ** 2 + rng.standard_normal(n)
    data["varying"] = data["t"] * data["b"] + rng.standard_normal(n)
    rows = Rows(RowTable(open_source(data).numbers(list(data))))
    causes = ("a", "b", "t")
    assert worth_of_curves(CountedRows("straight", rows), causes, "t").nats < 5
    bent = worth_of_curves(CountedRows("bent", rows), causes, "t")
    assert bent.nats > 50
    assert bent.columns[0].startswith("a above")
    assert worth_of_curves(CountedRows("varying", rows), causes, "t").columns[0] == "t x b"


def test_curves_are_not_charged_with_rounding():
    rng = np.random.default_rng(0)
    data = {"a": rng.standard_normal(300), "b": rng.standard_normal(300)}
    data["sum"] = 2.0 * data["a"] - data["b"] + 3.0
    data["product"] = data["a"] * data["b"]  # a column of `worth` but for the means
    rows = Rows(RowTable(open_source(data).numbers(list(data))))
    assert worth_of_curves(CountedRows("sum", rows), ("a", "b"), "a") == Worth(0.0, exact=True)
    found = worth_of_curves(CountedRows("product", rows), ("a", "b"), "a")
    assert found.columns[0] == "a x b"
    assert not found.exact
