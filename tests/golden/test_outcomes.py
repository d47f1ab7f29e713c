"""Amounts and grades with certain edges and a wide slab against maximum likelihood by statsmodels."""

from __future__ import annotations

import json

import numpy as np
import pytest

import alldags as ad
from golden.outcomes import FILE, made
from lines import fit

EXPECTED = json.loads(FILE.read_text())


def fitted(kind):
    x, y = made(kind)
    table = {f"x{i}": x[:, i] for i in range(3)} | {"y": y}
    graph = ad.CandidateGraph.from_edges({(f"x{i}", "y"): 1.0 for i in range(3)})
    prior = ad.Prior(slab=None, slab_variance=1e4)
    return fit(table, graph, families={"y": kind}, prior=prior, rng=0)


@pytest.mark.parametrize(("kind", "scale"), [("gamma", "log mean"), ("lognormal", "log mean"), ("ordered", "log odds")])
def test_coefficients_and_their_errors_are_those_of_maximum_likelihood(kind, scale):
    posterior, expected = fitted(kind), EXPECTED[kind]
    for place in range(3):
        effect = posterior.effect(f"x{place}", "y").on(scale)
        assert effect.mean == pytest.approx(expected["coefficients"][place], abs=1e-2)
        if kind != "gamma":  # statsmodels takes its dispersion from moments, and not the shape by its likelihood
            assert effect.answer.sd == pytest.approx(expected["errors"][place], rel=0.06)
        assert effect.answer.sd == pytest.approx(expected["errors"][place], rel=0.15)


def test_the_mean_score_is_that_of_maximum_likelihood():
    y = made("ordered")[1]
    effect = fitted("ordered").effect("x0", "y")
    assert np.median(effect.answer.levels[0]) == pytest.approx(EXPECTED["mean score"], abs=1e-2)
    assert EXPECTED["mean score"] == pytest.approx(y.mean(), abs=1e-2)


def test_a_two_part_regression_is_that_of_maximum_likelihood():
    posterior, expected = fitted("hurdle"), EXPECTED["hurdle"]
    node, data = posterior._models.items[0].node("y"), posterior._data
    units = np.array([data.scale_of(f"x{i}") for i in range(3)])
    for part, name in zip(node.parts, ("amount", "some"), strict=True):
        errors = np.sqrt(np.diag(part.second_moment) - part.mean**2) / units
        np.testing.assert_allclose(part.mean / units, expected[name]["coefficients"], atol=1e-2)
        np.testing.assert_allclose(errors, expected[name]["errors"], rtol=0.06 if name == "some" else 0.15)
    for place in range(3):
        effect = posterior.effect(f"x{place}", "y")
        assert effect.mean == pytest.approx(expected["one more"][place], abs=0.05 * effect.sd + 1e-2)
