"""Moments in files: what sites share instead of rows."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import alldags as ad
from alldags.errors import DataError
from lines import fit

NAMES = ("dose", "größe", 'a "quoted", name')


@pytest.fixture
def tables() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [dict(zip(NAMES, rng.normal(site, 1 + site, size=(3, 40 + site)), strict=True)) for site in range(3)]


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_what_is_saved_is_loaded_to_the_last_bit(tmp_path, tables, ending):
    moments = ad.Moments.from_table(tables[0])
    moments.save(tmp_path / f"site.{ending}")
    again = ad.Moments.load(str(tmp_path / f"site.{ending}"))
    assert isinstance(again, ad.Moments)
    assert (again.n, again.names) == (moments.n, moments.names)
    assert (again.mean == moments.mean).all()
    assert (again.scatter == moments.scatter).all()
    assert os.listdir(tmp_path) == [f"site.{ending}"]


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_sites_together_answer_as_one_table(tmp_path, tables, ending):
    for place, table in enumerate(tables):
        ad.Moments.from_table(table).save(tmp_path / f"site-{place}.{ending}")
    whole = {name: np.concatenate([table[name] for table in tables]) for name in NAMES}
    graph = ad.CandidateGraph.from_order(NAMES)
    want = fit(whole, graph, rng=0).effect("dose", "größe")
    by_hand = sum(ad.Moments.load(tmp_path / f"site-{place}.{ending}") for place in range(3))
    for given in (by_hand, tmp_path / f"site-*.{ending}", tmp_path):
        got = fit(given, graph, rng=0).effect("dose", "größe")
        assert got.mean == pytest.approx(want.mean, rel=1e-12)
        assert got.sd == pytest.approx(want.sd, rel=1e-12)
    assert ad.read_moments(tmp_path, ["größe"]).n == 123


def test_columns_may_come_in_another_order(tables):
    first, second = (ad.Moments.from_table(table) for table in tables[:2])
    turned = ad.Moments.from_table(tables[1], NAMES[::-1])
    assert np.allclose((first + turned).scatter, (first + second).scatter, rtol=1e-14)
    with pytest.raises(DataError, match="cannot merge moments of different columns"):
        first + ad.Moments.from_table(tables[1], NAMES[:2])


def broken(**change):
    content = {"schema": "alldags.moments/1", "n": 5, "names": ["a", "b"], "mean": [0, 1], "scatter": [[2, 1], [1, 2]]}
    return {key: value for key, value in (content | change).items() if value is not None}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (broken(schema="other"), "its schema is 'other'"),
        (broken(n="many"), "n is 'many'"),
        (broken(n=0), "n is 0"),
        (broken(mean=None), "'mean' is missing"),
        (broken(mean=[0]), "2 names need a mean of shape"),
        (broken(mean=[0, "x"]), "could not convert"),
        (broken(names=["a", "a"]), "column names must be distinct"),
        (broken(scatter=[[2, 1], [0, 2]]), "not symmetric"),
        (broken(scatter=[[-2, 0], [0, 2]]), "not symmetric, with sums of squares"),
        (broken(scatter=[[float("inf"), 0], [0, 2]]), "not finite"),
        ([1, 2], "holds no JSON object"),
    ],
)
def test_a_file_that_is_not_one_of_moments(tmp_path, content, match):
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=rf"m\.json' is not a file of moments, .*{match}"):
        ad.Moments.load(tmp_path / "m.json")


def test_nothing_in_a_file_is_run(tmp_path):
    np.savez(tmp_path / "m.npz", schema=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="is not a file of moments"):
        ad.Moments.load(tmp_path / "m.npz")
    (tmp_path / "m.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(DataError, match="is not a file of moments"):
        ad.Moments.load(tmp_path / "m.npz")


def test_paths(tmp_path, tables):
    moments = ad.Moments.from_table(tables[0])
    with pytest.raises(DataError, match=r"must end in \.json or \.npz, got 'm\.txt'"):
        moments.save(tmp_path / "m.txt")
    with pytest.raises(DataError, match="cannot write"):
        moments.save(tmp_path / "nowhere" / "m.json")
    with pytest.raises(DataError, match="is not a file of moments"):
        ad.Moments.load(tmp_path / "m.json")
    moments.save(tmp_path / "m.json")
    with pytest.raises(DataError, match="holds moments and no rows"):
        ad.read_table(tmp_path / "m.json")


def test_a_failed_save_leaves_the_old_file(tmp_path, tables, monkeypatch):
    moments = ad.Moments.from_table(tables[0])
    moments.save(tmp_path / "m.json")
    before = (tmp_path / "m.json").read_bytes()
    bad = ad.Moments(moments.n, np.full(3, np.nan), moments.scatter, moments.names)
    with pytest.raises(DataError, match="moments that are not finite cannot be written"):
        bad.save(tmp_path / "m.json")
    assert (tmp_path / "m.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["m.json"]


def test_yes_no_outcomes_need_rows(tmp_path, tables):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=200)}
    table["y"] = (table["x"] + rng.normal(size=200) > 0).astype(float)
    ad.Moments.from_table(table).save(tmp_path / "m.json")
    graph = ad.CandidateGraph.from_order(["x", "y"])
    assert any(
        "y may be yes/no: a logistic model needs the rows" in note
        for note in fit(tmp_path / "m.json", graph, rng=0).notes
    )
    with pytest.raises(DataError, match="moments, which hold no rows"):
        fit(tmp_path / "m.json", graph, families={"y": "bernoulli"})


def test_a_site_that_is_added_twice_is_noticed_also_from_files(tmp_path):
    rng = np.random.default_rng(0)
    here, there, third = (ad.Moments.from_table(rng.standard_normal((20, 2)), names=["x", "y"]) for _ in range(3))
    whole = sum([here, there, third])
    assert whole.n == 60
    for name in ("whole.json", "whole.npz"):
        whole.save(tmp_path / name)
        with pytest.warns(ad.AlldagsWarning, match=r"added twice \(60 and 20 rows\): its rows now count twice"):
            ad.Moments.load(tmp_path / name) + there
    there.save(tmp_path / "there.json")
    with pytest.warns(ad.AlldagsWarning, match="add each part once"):
        (here + there) + ad.Moments.load(tmp_path / "there.json").select(["y", "x"])
