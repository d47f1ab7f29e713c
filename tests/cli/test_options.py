"""Options of the command line, asked in this process: each says what the library says."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import alldags as ad
from alldags import cli
from commands import command as command_line
from lines import fit

STUDY = ad.datasets.example()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    rows = np.column_stack([np.asarray(values, dtype=float) for values in STUDY.table.values()])
    np.savetxt(folder / "data.csv", rows, delimiter=",", header=",".join(STUDY.table), comments="", fmt="%.17g")
    ad.write_graph(STUDY.graph, folder / "graph.toml")
    return folder


@pytest.fixture(scope="module")
def effect():
    return fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")


def said(folder, capsys, *more, data="data.csv"):
    source = data if data == "./-" else str(folder / data)
    words = ["effect", source, "--graph", str(folder / "graph.toml"), "--treatment", "smoking", "--outcome", "risk"]
    words += ["--terms", "straight"]
    command_line([*words, *more])
    return capsys.readouterr().out


def test_level(folder, capsys, effect):
    found = json.loads(said(folder, capsys, "--level", "0.8", "--json"))
    low, high = effect.interval(0.8)
    assert found["interval"] == {"level": 0.8, "low": pytest.approx(low), "high": pytest.approx(high)}
    assert "80% interval" in said(folder, capsys, "--level", "0.8")


def test_paths_and_influence(folder, capsys, effect):
    text = said(folder, capsys, "--paths", "--influence")
    assert str(effect.paths()) in text
    assert str(effect.edge_influence()).partition("note: ")[0] in text
    assert "posterior: after the data, each edge by itself" in " ".join(text.split())
    found = json.loads(said(folder, capsys, "--paths", "--influence", "--json"))
    assert [row["path"] for row in found["paths"]] == effect.paths()["path"]
    assert len(found["influence"]) == len(effect.edge_influence())


def test_checks(folder, capsys, effect):
    checks = effect.posterior.checks("smoking", "risk")
    assert str(checks) in said(folder, capsys, "--checks")
    assert json.loads(said(folder, capsys, "--checks", "--json"))["checks"]["rows"] == 500


def test_a_picture(folder, capsys, tmp_path):
    said(folder, capsys, "--plot", str(tmp_path / "effect.png"))
    assert (tmp_path / "effect.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("word", "slab"),
    [
        ("learned", ad.priors.LearnedSlab()),
        ("g", ad.priors.GPrior()),
        ("hyper-g", ad.priors.HyperG()),
        ("zellner-siow", ad.priors.ZellnerSiow()),
    ],
)
def test_priors_by_name(folder, capsys, word, slab):
    found = json.loads(said(folder, capsys, "--prior", word, "--no-progress", "--json"))
    expected = fit(STUDY.table, STUDY.graph, prior=ad.Prior(slab=slab), rng=0).effect("smoking", "risk")
    assert found["mean"] == pytest.approx(expected.mean, rel=1e-9)


def test_standard_input(folder, capsys, monkeypatch, effect):
    content = io.BytesIO((folder / "data.csv").read_bytes())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=content))
    found = json.loads(said(folder, capsys, "--json", data="./-"))  # what a lone - becomes
    assert found["mean"] == pytest.approx(effect.mean, rel=1e-9)


def test_a_lone_dash_is_standard_input(monkeypatch):
    heard = []
    monkeypatch.setattr(cli, "app", lambda words, **_: heard.extend(words))
    monkeypatch.setattr(sys, "argv", ["alldags", "effect", "-", "--level", "0.9"])
    cli._run()
    assert heard == ["effect", "./-", "--level", "0.9"]
