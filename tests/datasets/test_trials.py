"""Loaders of experiments."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.errors import DataError


def test_sachs_has_its_conditions_and_targets(public_data):
    data = ad.datasets.sachs(public_data)
    names, counts = np.unique(data.table["target"].astype(str), return_counts=True)
    assert dict(zip(names, counts, strict=True)) == {
        "": 2603, "akt": 911, "mek": 799, "pip2": 810, "pka": 707, "pkc": 1636,
    }  # fmt: skip
    assert len(np.unique(data.table["condition"].astype(str))) == 9
    assert set(data.table) == {*data.proteins, "condition", "target"}
    assert len(data.reference) == 20
    assert ("raf", "mek") in data.reference
    assert data.table["raf"][0] == pytest.approx(np.log(26.4))


def test_lalonde_has_the_published_differences(public_data):
    for sample, rows, expected in (("nsw", 722, 886.30), ("nsw_dw", 445, 1794.34)):
        table = ad.datasets.lalonde(sample, public_data)
        treated = table["treat"] == 1
        assert len(treated) == rows
        assert table["re78"][treated].mean() - table["re78"][~treated].mean() == pytest.approx(expected, abs=0.01)
    trial = ad.datasets.lalonde("nsw", public_data)
    known = ~np.isnan(trial["re74"])
    assert known.sum() == 445
    assert trial["re74"][known].mean() == pytest.approx(
        ad.datasets.lalonde("nsw_dw", public_data)["re74"].mean(), rel=1e-6
    )
    assert len(ad.datasets.lalonde("psid", public_data)["treat"]) == 2490
    assert ad.datasets.lalonde("cps", public_data)["treat"].max() == 0.0


def test_mistakes_are_named(tmp_path):
    with pytest.raises(DataError, match=r"sample must be one of .*got 'nws'"):
        ad.datasets.lalonde("nws")
    with pytest.raises(DataError, match=r"there is no file 'sachs/sachs_2005.csv' .* cmu-phil/example-causal-datasets"):
        ad.datasets.sachs(tmp_path)
