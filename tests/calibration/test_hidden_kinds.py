"""A real hidden cause of effects that are no straight lines: the bias that is stated, and the one that is there."""

from __future__ import annotations

import pytest
from calibration.hidden_kinds import CELLS

from calibration import hidden_kinds


@pytest.mark.parametrize("cell", CELLS)
def test_the_bias_that_is_stated_is_the_one_that_is_there(cell, monkeypatch):
    monkeypatch.setattr(hidden_kinds, "LARGE", 40_000)
    monkeypatch.setattr(hidden_kinds, "LARGE_SETS", 1)
    hidden_kinds.story.cache_clear()
    real, said = hidden_kinds.large(cell)
    hidden_kinds.story.cache_clear()
    assert real > 0.08
    assert said == pytest.approx(real, rel=0.15)  # so many rows tell the bias to 5%
