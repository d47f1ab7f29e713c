"""Straight, normal regressions answer as in version 0.2."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from golden import straight

CASES = {case[0]: case for case in straight.cases()}
KEPT = json.loads(straight.TARGET.read_text())
EXACTLY = bool(os.environ.get("ALLDAGS_BITS"))  # on the machine that wrote the file


EVEN = [name for name in CASES if name not in ("sampling weights", "imputed")]  # noise is even in the made-up study


@pytest.mark.parametrize("name", EVEN)
def test_where_noise_is_even_asking_the_rows_changes_no_bit(name: str) -> None:
    key, graph, options = CASES[name]
    assert straight.answers(key, graph, options | {"robust": True}) == pytest.approx(
        straight.answers(key, graph, options), rel=0.0, abs=0.0, nan_ok=True
    )


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_version_02(name: str) -> None:
    kept = np.array([float.fromhex(value) for value in KEPT[name]])
    found = np.array(straight.answers(*CASES[name]))
    np.testing.assert_allclose(found, kept, rtol=0.0 if EXACTLY else 1e-8, atol=0.0 if EXACTLY else 1e-12)
