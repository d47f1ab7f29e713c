"""Files that version 0.2 saved load with the same answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import alldags as ad

FOLDER = Path(__file__).with_name("saved")
KEPT = json.loads((FOLDER / "answers.json").read_text())
SAMPLED = {
    "yes-no": 0.1,
    "counts": 0.1,
    "heavy": 0.1,
    "curves": 0.3,
    "given terms": 0.1,
}  # sds that draws may differ by


@pytest.mark.parametrize("name", KEPT)
def test_a_file_of_version_02_gives_the_same_answer(name: str) -> None:
    kept = KEPT[name]
    effect = ad.load(FOLDER / f"{name}.npz").effect("treat", kept["outcome"])
    spread = SAMPLED.get(name, 1e-8) * kept["sd"]
    assert effect.mean == pytest.approx(kept["mean"], abs=spread)
    assert effect.sd == pytest.approx(kept["sd"], abs=spread)
