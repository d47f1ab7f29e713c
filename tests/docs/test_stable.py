"""What the page calls stable is what the package has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import alldags as ad
from alldags.recipes import saving

_SPEC = importlib.util.spec_from_file_location("stable", Path(__file__).with_name("stable.py"))
stable = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(stable)
TEXT = stable.PAGE.read_text(encoding="utf-8")


def test_the_names_on_the_page_are_those_of_the_package():
    there, here = stable.frozen().splitlines(), stable.listed().splitlines()
    assert sorted(set(here) - set(there)) == [], "gone or renamed: deprecate it first, or put it into the changelog"
    assert sorted(set(there) - set(here)) == [], "new: run tests/docs/stable.py, and it is frozen"


def test_every_public_name_is_on_the_page():
    listed = {re.split(r"[(\n]", line)[0] for line in stable.listed().splitlines()}
    assert {f"ad.{name}" for name in ad.__all__} - listed == {
        "ad.__version__", "ad.records", *(f"ad.{room}" for room in stable.ROOMS)
    }  # fmt: skip
    assert {"ad.Effect.interval", "ad.Posterior.effect", "ad.CandidateGraph.with_edge", "ad.priors.GPrior"} <= listed


def test_a_renamed_parameter_and_a_name_that_goes_are_seen(monkeypatch):
    monkeypatch.setattr(ad.Effect, "interval", lambda self, probability=0.95: None)
    assert "ad.Effect.interval(probability)" in stable.frozen()
    monkeypatch.delattr(ad.Effect, "interval")
    assert "ad.Effect.interval" not in stable.frozen()


def test_the_schemas_on_the_page_are_those_that_are_written():
    assert set(re.findall(r"`(alldags\.[a-z_]+/\d+)`", TEXT)) == stable.schemas()
    assert f"`{saving.FORMAT}`, version {saving.VERSION}" in TEXT


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
def test_what_is_deprecated_says_so_and_is_on_the_page():
    files = (stable.ROOT / "src" / "alldags").rglob("*.py")
    said = {name for path in files for name in re.findall(r"(\w+=) is deprecated", path.read_text(encoding="utf-8"))}
    table = TEXT.partition("| deprecated |")[2].partition("\n\n")[0]
    assert said
    assert all(name in table for name in said)
    assert len(re.findall("^\\| `", table, re.MULTILINE)) == len(said)
