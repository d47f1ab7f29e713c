"""The built-in example is what its documentation says."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.errors import DataError


def test_the_default_table_is_always_the_same():
    first, second = ad.datasets.example(), ad.datasets.example()
    assert {len(column) for column in first.table.values()} == {500}
    for name, column in first.table.items():
        assert (column == second.table[name]).all()
    assert (ad.datasets.example(rng=1).table["age"] != first.table["age"]).all()


def test_the_truth_is_among_the_candidates():
    study = ad.datasets.example()
    assert set(study.true_graph.edges) <= set(study.graph.edges)
    assert set(study.true_graph.edges) == set(study.true_coefficients)
    assert study.graph.edges["smoking", "risk"] == 0.5
    assert set(study.true_graph.edges.values()) == {1.0}
    assert tuple(study.table) == study.graph.variables == study.true_graph.variables


def test_true_effect_is_the_matrix_form_of_the_coefficients():
    study = ad.datasets.example()
    names = list(study.graph.variables)
    coefficients = np.zeros((len(names), len(names)))
    for (cause, effect), value in study.true_coefficients.items():
        coefficients[names.index(cause), names.index(effect)] = value
    total = np.linalg.inv(np.eye(len(names)) - coefficients)
    assert study.true_effect == pytest.approx(total[names.index("smoking"), names.index("risk")], rel=1e-12)


def test_data_follow_the_true_coefficients():
    n = 20_000
    study = ad.datasets.example(n, rng=5)
    moments = ad.Moments.from_table(study.table)
    names = list(moments.names)
    for child in names:
        parents = [names.index(cause) for cause, effect in study.true_coefficients if effect == child]
        if not parents:
            continue
        column = names.index(child)
        gram, cross = moments.scatter[np.ix_(parents, parents)], moments.scatter[parents, column]
        fitted = np.linalg.solve(gram, cross)
        noise = (moments.scatter[column, column] - cross @ fitted) / n
        error = np.sqrt(noise * np.diag(np.linalg.inv(gram)))
        truth = [study.true_coefficients[names[i], child] for i in parents]
        assert (np.abs(fitted - truth) <= 4.5 * error).all()  # 9 coefficients: by chance one seed in 16,000 fails


def test_too_few_rows():
    with pytest.raises(DataError, match="n must be at least 2 rows, got 1"):
        ad.datasets.example(1)
