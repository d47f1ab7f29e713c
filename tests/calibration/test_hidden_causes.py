"""A real hidden cause whose strength comes from the stated prior: intervals that know that prior cover."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.hidden import CELLS, run
from scipy import stats


@pytest.mark.parametrize("cell", [0, 1], ids=lambda cell: CELLS[cell].key)
def test_intervals_cover_under_the_right_prior(cell, calibrate_scale):
    sets = 24 * calibrate_scale
    outcomes = [run((cell, 50_000 + seed)) for seed in range(sets)]
    covered = sum(item.covered for item in outcomes)
    ignoring = sum(item.plain_covered for item in outcomes)
    assert stats.binomtest(covered, sets, 0.95, alternative="less").pvalue > 1e-3
    assert stats.binomtest(ignoring, sets, 0.75, alternative="less").pvalue < 1e-2  # far below 95%
    errors = [np.sqrt(np.mean([(getattr(i, name) - i.truth) ** 2 for i in outcomes])) for name in ("plain", "mean")]
    assert errors[1] < errors[0]
