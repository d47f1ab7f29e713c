"""Tables that the package causaldata ships, read from a folder that looks like it."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

import alldags as ad
from alldags.errors import DataError, MissingExtraError

TRIAL = pd.DataFrame({"arm": ["none", "some", "none"], "dose": [0.5, float("nan"), 2.5]}, index=range(3))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two tables; importing it, as its own loaders ask for, is an error."""
    for name in ("trial", "survey"):
        (tmp_path / "causaldata" / name).mkdir(parents=True)
        (tmp_path / "causaldata" / name / "data.py").write_text("")
    (tmp_path / "causaldata" / "__init__.py").write_text("import statsmodels_is_not_here")
    TRIAL.astype({"arm": "category"}).to_stata(tmp_path / "causaldata" / "trial" / "trial.dta", write_index=False)
    TRIAL.to_csv(tmp_path / "causaldata" / "survey" / "Wide_2015.csv", index=False)
    monkeypatch.delitem(sys.modules, "causaldata", raising=False)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["trial", "survey"])
def test_a_table_is_read_whatever_its_file_is_called(name):
    table = ad.datasets.causaldata(name)
    assert table["arm"].tolist() == TRIAL["arm"].tolist()
    pd.testing.assert_series_equal(table["dose"], TRIAL["dose"])
    assert "causaldata" not in sys.modules


@pytest.mark.usefixtures("package")
def test_an_unknown_table_is_named_with_the_nearest_and_those_that_there_are():
    with pytest.raises(DataError, match=r"no table 'trail'; did you mean 'trial'\?; it has 'survey', 'trial'$"):
        ad.datasets.causaldata("trail")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "causaldata", raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingExtraError, match=r"needs the package 'causaldata'.*pip install 'alldags\[causaldata\]'"):
        ad.datasets.causaldata("nhefs")
