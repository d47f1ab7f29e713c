"""What a hidden cause could do to an effect, from rows: against sums over rows that are written out."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.answers.robust import joint_of
from alldags.columns.base import RowValues

ROWS = 200
GRAPH = ad.CandidateGraph.from_tiers([["c"], ["x"], ["y"]], 1.0)


def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    c = rng.standard_normal(ROWS)
    x = (rng.random(ROWS) < 1 / (1 + np.exp(-c))) * 1.0
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-0.8 * x - 0.5 * c))) * 1.0
    return {"c": c, "x": x, "y": y, "weight": rng.uniform(0.5, 3.0, ROWS)}


@pytest.mark.parametrize("weighted", [False, True])
def test_norm_and_residuals_are_sums_over_rows(weighted):
    options = {"weights": "weight", "weight_kind": "sampling"} if weighted else {}
    data = table()
    effect = ad.fit(data, GRAPH, terms=None, rng=0, **options).effect("x", "y")
    (_, model), = effect.sensitivity()._analysis.models  # fmt: skip
    weight = data["weight"] if weighted else np.ones(ROWS)
    share = weight / weight.sum()
    count = 1.0 / (share @ share)
    spread = {name: effect.posterior.workings.data.column_scale(name) for name in ("c", "x")}
    z = np.column_stack([np.ones(ROWS), *(data[name] / spread[name] for name in ("c", "x"))])
    z[:, 1:] -= share @ z[:, 1:]
    gram = (z * share[:, None]).T @ z + np.diag([0.0, 1.0, 1.0]) / count
    change = np.array([0.0, 0.0, 1.0 / spread["x"]])
    assert model.norm == pytest.approx(change @ np.linalg.solve(gram, change), rel=1e-3)
    of = joint_of(effect)[0].regressed[0]
    for draw in (0, 7, 50):
        eta = np.column_stack([np.ones(ROWS), of.columns.of(RowValues(data))]) @ of.coefficients[draw]
        assert model.left[draw] == pytest.approx(share @ (data["y"] - 1 / (1 + np.exp(-eta))) ** 2)


def test_rows_that_the_effect_is_not_averaged_over_count_in_what_is_left_alone():
    data = table()
    posterior = ad.fit(data, GRAPH, terms={"y": ["c*x"]}, rng=0)
    every, treated = (posterior.effect("x", "y", over=over).sensitivity()._analysis for over in ("sample", "treated"))
    (_, one), (_, other) = every.models[0], treated.models[0]
    assert other.moments.gram == pytest.approx(one.moments.gram)
    assert other.left == pytest.approx(one.left)
    assert other.moments.change != pytest.approx(one.moments.change)


def test_a_cause_of_a_single_mediator_is_refused_by_name():
    data = table()
    graph = ad.CandidateGraph.from_tiers([["c"], ["x"], ["m"], ["y"]])
    effect = ad.fit(data | {"m": data["x"] + data["c"] ** 2}, graph, rng=0).effect("x", "y")
    with pytest.raises(ad.AlldagsError, match=r"hits names 'm'.*leave out hits"):
        effect.sensitivity(["x", "m"])
    assert effect.sensitivity(["x", "y"]).hits == ("x", "y")
