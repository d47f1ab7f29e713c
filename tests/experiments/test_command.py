"""``reproduce`` from end to end, with few replications."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
import replication
from lines import fit
from replication.command import reproduce
from replication.methods import make_engine
from replication.runner import load_results

FAST = ["bayes", "k2", "full"]


def check_files(report, figures):
    names = {path.name for path in report.files}
    assert names == {
        "results.csv",
        "summary.csv",
        "tables.md",
        *(f"{f}.{kind}" for f in figures for kind in ("png", "svg")),
    }
    assert all(path.stat().st_size > 0 for path in report.files)
    assert (report.folder / "tables.md").read_text() == report.text
    assert (report.folder / f"{figures[0]}.png").read_bytes().startswith(b"\x89PNG")


def test_small(tmp_path):
    report = reproduce("small", replicates=30, out=tmp_path, methods=FAST, n_jobs=1)
    check_files(report, ["curves"])
    assert "tau = 1 and noise precision s = 1" in report.text
    assert "(30 data sets per size)" in report.text
    assert "n = 1000" in report.text
    results = load_results(tmp_path)
    assert len(results) == 30 * 6 * 4
    by_data = {(r.replication, r.size): set() for r in results}
    for result in results:
        by_data[result.replication, result.size].add(result.truth)
    assert all(len(truths) == 1 for truths in by_data.values())


def test_more_replicates_add_to_a_run(tmp_path):
    first = reproduce("small", replicates=3, sizes=[10], out=tmp_path, methods=FAST)
    second = reproduce("small", replicates=5, sizes=[10], out=tmp_path, methods=FAST)
    assert "(3 data sets per size)" in first.text
    assert "(5 data sets per size)" in second.text


def test_figure_files_are_reproducible(tmp_path):
    for name in ("a", "b"):
        reproduce("small", replicates=4, sizes=[10, 20], out=tmp_path / name, methods=FAST)
    assert (tmp_path / "a/curves.svg").read_bytes() == (tmp_path / "b/curves.svg").read_bytes()


def test_bayes_optimal_wins_on_average(tmp_path, calibrate_scale):
    """Squared error is what it minimises, under the very prior the data come from."""
    from replication.summary import beaten, summarize

    reproduce("small", replicates=150 * calibrate_scale, sizes=[10, 100], out=tmp_path, methods=FAST)
    rows = summarize(load_results(tmp_path))
    assert beaten(rows, errors=4) == []
    (full,) = [row for row in rows if (row.method, row.size) == ("full", 100)]
    assert full.difference > 2 * full.difference_error


def test_large(tmp_path):
    report = reproduce("large", replicates=1, sizes=[20], out=tmp_path, methods=["k2", "full"])
    check_files(report, ["curves"])
    assert {result.group for result in load_results(tmp_path)} == {"p=0.3", "p=0.5", "p=0.7"}


def test_ihdp(tmp_path, public_data):
    report = reproduce("ihdp", replicates=2, sizes=[747], out=tmp_path, data=public_data, methods=["full", "ipw"])
    check_files(report, ["curves", "errors"])
    assert "against mean(mu1 - mu0)" in report.text
    assert "95% intervals" in report.text


def test_lbidd(tmp_path, public_data):
    report = reproduce("lbidd", replicates=2, sizes=[200, 1000], out=tmp_path, data=public_data, methods=["k2", "ipw"])
    check_files(report, ["curves"])
    assert "does not name them" in report.text
    assert len({r.group for r in load_results(tmp_path)}) == 10
    assert "a3c4c668" in report.text


def test_missing_data_is_known_before_the_work_begins(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(ad.AlldagsError, match=r"there is no file 'ihdp/ihdp_npci_1.csv'"):
        reproduce("ihdp", replicates=2, out=tmp_path / "out", data=tmp_path / "data")
    assert not (tmp_path / "out").exists()


def test_every_method_has_an_engine_that_runs(rng):
    from replication.methods import ENGINE_METHODS

    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(2, 2), 2000, 8)
    moments = ad.Moments.from_table(sample.table, names=sample.names)
    for name in ENGINE_METHODS:
        posterior = fit(moments, sample.graph, prior=ad.Prior.paper(), engine=make_engine(name), rng=rng)
        found = posterior.effect("X", "Y").mean
        assert found == pytest.approx(sample.effect(), abs=0.2), name  # ten standard errors and more
        assert np.isfinite(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smal",), "there is no experiment 'smal'; did you mean 'small'"),
        (("small", 0), "replicates must be a whole number of at least 1, got 0"),
        (("small", 1, [2]), r"sizes must be sample sizes of at least 4, got \[2\]"),
        (("small", 1, []), "sizes must be sample sizes"),
        (("small", 1, [10], None, 0), "n_jobs must be a number of processes, or -1 for one per processor; got 0"),
        (("small", 1, [10], None, 10**6), "n_jobs must be a whole number from -1024 to 1024, got 1000000"),
        (("small", 1, [10], None, 1, False, -1), "seed must be a whole number of at least 0, got -1"),
        (("ihdp", 1001), "IHDP has 1000 replications, got replicates = 1001"),
    ],
)
def test_mistakes_are_named(arguments, message, tmp_path):
    given = [tmp_path if place == 3 else argument for place, argument in enumerate(arguments)]
    with pytest.raises(ad.AlldagsError, match=message):
        reproduce(*given, **{} if len(given) > 3 else {"out": tmp_path})
    assert list(tmp_path.iterdir()) == []


def test_unknown_method(tmp_path):
    with pytest.raises(ad.AlldagsError, match="there is no method 'bays'; did you mean 'bayes'"):
        reproduce("small", 1, out=tmp_path, methods=["bays"])
    with pytest.raises(ad.AlldagsError, match="the method 'ipw' has no engine"):
        make_engine("ipw")


def test_another_seed_needs_another_folder(tmp_path):
    reproduce("small", 1, [10], tmp_path, methods=["full"])
    with pytest.raises(ad.AlldagsError, match="results with seed = 0, now it is 1"):
        reproduce("small", 1, [10], tmp_path, seed=1, methods=["full"])


# -- the two commands --------------------------------------------------------------------------------------------------

ROOT = Path(replication.__file__).parents[1]
WORDS = ["small", "--replicates", "2", "--sizes", "10", "--methods", "full", "--n-jobs", "1"]


def run(folder, *words, path=ROOT):
    places = [str(Path(ad.__file__).parents[1]), str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_both_commands_write_the_same_run(tmp_path):
    for name, words in (("a", ["-m", "replication"]), ("b", ["-m", "alldags", "reproduce"])):
        done = run(tmp_path, *words, *WORDS, "--out", name)
        assert done.returncode == 0, done.stderr
        assert f"written to {name}" in done.stderr
        assert (tmp_path / name / "tables.md").read_text() in done.stdout
    kept = [[replace(r, seconds=0.0) for r in load_results(tmp_path / name)] for name in "ab"]
    assert repr(kept[0]) == repr(kept[1])
    assert len(kept[0]) > 0


@pytest.mark.parametrize("other", [False, True])
def test_without_a_checkout_the_command_says_where_the_experiments_are(tmp_path, other):
    if other:  # a package of the same name
        (tmp_path / "replication").mkdir()
        (tmp_path / "replication" / "__init__.py").touch()
    code = "import os, sys; sys.path = [p for p in sys.path if not os.path.exists(f'{p}/replication/command.py')]\n"
    code += "from alldags.__main__ import main; main()"
    done = run(tmp_path, "-c", code, "reproduce", *WORDS, path=tmp_path)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "not in the installed package; run them in a checkout of the repository: python -m replication" in said
    assert "Traceback" not in said


def test_the_wheel_leaves_the_experiments_out_and_the_archive_has_them():
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert "alldags/cli/__init__.py" in packed
    assert {name.partition("/")[0] for name in packed} == {"alldags"}
    archived = {file.relative_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert {"replication/command.py", "src/alldags/cli/__init__.py"} <= archived
