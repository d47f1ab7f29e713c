"""Tables: every number against a hand calculation."""

from __future__ import annotations

import math

import pytest

from replication import tables
from replication.runner import Result
from replication.summary import (
    beaten,
    coverage_cell,
    difference_cell,
    mean_cell,
    number,
    summarize,
    to_csv,
    wide_table,
    with_error,
)


def results():
    """Truth 0; squared errors: bayes 1, 4, 4; k2 4, 9, 1; ipw 1, 1, missing."""
    rows = []
    for prior, method, estimates in [
        ("paper", "bayes", (1.0, -2.0, 2.0)),
        ("paper", "k2", (2.0, 3.0, 1.0)),
        ("none", "ipw", (1.0, 1.0)),
        ("default", "bayes", (0.0, 0.0, 0.0)),
    ]:
        for i, value in enumerate(estimates):
            ends = (value - 1.5, value + 1.5) if method == "ipw" else (math.nan, math.nan)
            rows.append(Result("g", i, 10, prior, method, value, 0.0, *ends, seconds=0.002 * (i + 1)))
    return rows


def find(rows, prior, method):
    (row,) = [row for row in rows if (row.prior, row.method) == (prior, method)]
    return row


def test_numbers():
    rows = summarize(results())
    bayes, k2, ipw = find(rows, "paper", "bayes"), find(rows, "paper", "k2"), find(rows, "none", "ipw")
    assert (bayes.mean, bayes.median, bayes.difference, bayes.difference_error) == (3.0, 4.0, 0.0, 0.0)
    assert bayes.standard_error == pytest.approx(1.0)
    # differences 3, 5, -3: mean 5/3, variance 52/3
    assert k2.difference == pytest.approx(5 / 3)
    assert k2.difference_error == pytest.approx(math.sqrt(52 / 9))
    # paired with the paper's prior where there is none, on the replications it has: 0, -3
    assert (ipw.replications, ipw.difference, ipw.difference_error) == (2, -1.5, pytest.approx(1.5))
    assert (ipw.coverage, ipw.length) == (1.0, 3.0)
    assert math.isnan(k2.coverage)
    assert k2.seconds == pytest.approx(0.004)


def test_bayes_optimal_with_another_prior_is_compared_with_the_papers():
    row = find(summarize(results()), "default", "bayes")
    assert row.difference == -3.0
    assert row.difference_error == pytest.approx(1.0)
    assert beaten([row]) == [row]
    assert beaten([row], errors=3.5) == []
    assert difference_cell(row) == "-3.0 ± 1.0 *"


def test_order_is_that_of_the_methods():
    assert [(r.prior, r.method) for r in summarize(results())] == [
        ("paper", "bayes"),
        ("paper", "k2"),
        ("default", "bayes"),
        ("none", "ipw"),
    ]


def test_wide_table():
    text = wide_table(summarize(results()), mean_cell).splitlines()
    assert text[0] == "| method | prior | n = 10 |"
    assert text[2] == "| Bayes optimal | paper | 3.0 ± 1.0 |"
    assert text[-1] == "| IPW |  | 1.00 |"
    assert "| K2 | paper | +1.7 ± 2.4 |" in wide_table(summarize(results()), difference_cell)


def test_csv_has_everything():
    lines = to_csv(summarize(results())).splitlines()
    assert lines[0].startswith("group,size,prior,method,replications,failures,mean")
    assert lines[1].startswith("g,10,paper,bayes,3,0,3,1,4,0,0,nan")


def test_failures_are_counted_and_shown():
    rows = summarize(
        [*results(), Result("g", 3, 10, "paper", "k2", math.nan, 0.0), Result("g", 4, 10, "none", "ipw", math.inf, 0.0)]
    )
    k2 = find(rows, "paper", "k2")
    assert (k2.replications, k2.failures, k2.mean) == (3, 1, pytest.approx(14 / 3))
    assert mean_cell(k2) == "4.7 ± 2.3 (1 failed)"
    nothing = summarize([Result("g", 0, 10, "paper", "vb", math.nan, 0.0)])
    assert mean_cell(nothing[0]) == " (1 failed)"


def test_one_data_set_has_no_coverage():
    (row,) = summarize([Result("g", 0, 10, "none", "ipw", 1.0, 0.0, 0.0, 2.0)])
    assert row.coverage == 1.0
    assert coverage_cell(row) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.00"), (0.01234, "0.0123"), (123.4, "123"), (1.5e-7, "1.50e-07"), (math.nan, "")]
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.12345, 0.0123, "0.123 ± 0.012"),
        (12.3, 3.4, "12.3 ± 3.4"),
        (5000.0, 123.0, "5000 ± 123"),
        (1.0, math.nan, "1.00"),
    ],
)
def test_with_error(value, error, text):
    assert with_error(value, error) == text


def test_verdict_names_who_is_better():
    rows = summarize(results())
    assert "In none of 1 comparisons" in tables.verdict([row for row in rows if row.method == "k2"])
    better = [Result("g", i, 10, "paper", "vb", 0.0, 0.0) for i in range(3)]
    assert (
        "Better than Bayes optimal by more than two standard errors in 1 of 2: VB (NEG), g, n = 10"
        in tables.verdict(summarize(results() + better))
    )
    assert tables.verdict([]) == ""


def test_tables_of_a_group():
    text = tables.curve_tables(summarize(results()), {"g": "A group"})
    assert "### A group (2 to 3 data sets per size)" in text
    assert "100.0% (3.00)" in text


def test_comparisons_with_the_method_the_paper_proposes():
    vb = [Result("g", i, 10, "paper", "vb", value, 0.0) for i, value in enumerate((1.0, 1.0, 1.0))]
    text = tables.paper_comparisons(results() + vb, {"g": "A group"})
    # K2 has squared errors 4, 9, 1: differences 3, 8, 0, standard error sqrt(49 / 3 / 3)
    assert "| K2 | paper | +3.7 ± 2.3 |" in text
    assert "Bayes optimal" not in text


def test_truth_table_has_both_definitions():
    import numpy as np

    rows = [Result("IHDP", i, 747, "paper", "bayes", 1.0, 0.0) for i in range(2)]
    text = tables.truth_table(rows, np.array([0.0, 0.0]), np.array([1.0, 3.0]))
    assert "they differ by 2.236 r.m.s." in text
    assert text.splitlines()[-1] == "| Bayes optimal | paper | 1.00 | 2.0 ± 2.0 |"


def test_set_table_marks_misses():
    rows = [
        Result("aaaaaaaaaa", 0, 1000, "paper", "k2", 2.0, 1.0, 1.5, 2.5),
        Result("bbbbbbbbbb", 0, 1000, "paper", "k2", 2.0, 2.0, 1.5, 2.5),
    ]
    lines = tables.set_tables(rows, ["aaaaaaaaaa", "bbbbbbbbbb"]).splitlines()
    assert lines[0] == "| method | prior | aaaaaaaa | bbbbbbbb |"
    assert lines[2] == "| **truth** |  | **1.00** | **2.00** |"
    assert lines[3] == "| K2 | paper | 2.00 (1.50, 2.50) ! | 2.00 (1.50, 2.50) |"
