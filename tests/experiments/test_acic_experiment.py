"""The ACIC experiment, and curves in the others, on few rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from replication import acic, comparison, semisynthetic
from replication.baselines import Estimate
from replication.command import reproduce
from replication.runner import Result, Task, load_results


def test_a_replication_has_its_own_rows_and_noise(public_data):
    work = acic.Acic((150, 400), ("least_squares", "lin"), folder=str(public_data))
    first, again, other = (work(Task("ACIC 4", r)) for r in (0, 0, 1))
    kept = [(r.size, r.method, r.estimate, r.truth, r.low, r.pehe) for r in first]
    assert kept == [(r.size, r.method, r.estimate, r.truth, r.low, r.pehe) for r in again]
    assert [(r.size, r.method) for r in first] == [(n, m) for n in (150, 400) for m in ("least_squares", "lin")]
    assert first[0].truth != other[0].truth  # the effect differs between rows, the rows between replications
    assert first[0].truth != first[2].truth
    (all_rows,) = acic.Acic((5000,), ("least_squares",), folder=str(public_data))(Task("ACIC 4", 0))
    assert (all_rows.size, all_rows.truth) == (4802, pytest.approx(4.796, abs=5e-4))


def test_least_squares_gives_one_effect_to_all_rows(public_data):
    (found,) = acic.Acic((5000,), ("least_squares",), folder=str(public_data))(Task("ACIC 4", 0))
    data = ad.datasets.acic(4, public_data)
    expected = np.sqrt(np.var(data.mean1 - data.mean0) + (found.estimate - found.truth) ** 2)
    assert found.pehe == pytest.approx(expected, rel=1e-9)


def test_costly_methods_do_fewer_replications():
    work = acic.Acic((100,), ("least_squares", "bart"), costly_replications=1)
    tasks = [Task("ACIC 4", r) for r in (0, 1)]
    assert work.tasks_of("least_squares", tasks) == tuple(tasks)
    assert work.tasks_of("bart", tasks) == tuple(tasks[:1])


def test_root_pehe_by_hand():
    means = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])
    zeros = np.zeros(3)
    data = ad.datasets.TreatmentData("toy", np.zeros((3, 1)), zeros, zeros, zeros, zeros, *means, ("a",))
    found = semisynthetic.root_pehe(data, Estimate(1.0, rows=np.array([1.0, 1.0, 1.0])))
    assert found == pytest.approx(math.sqrt(2 / 3))  # errors 0, -1, 1
    assert math.isnan(semisynthetic.root_pehe(data, Estimate(1.0)))


def test_curves_see_what_bends(rng):
    """An effect that differs with a covariate, confounded by its square: straight lines miss it, curves do not."""
    n = 400
    x = np.column_stack([rng.uniform(-2, 2, (n, 2)), np.ones(n)])
    t = (rng.random(n) < 1 / (1 + np.exp(2 - 2 * x[:, 0] ** 2))).astype(float)
    mean0, mean1 = 3 * x[:, 0] ** 2, 3 * x[:, 0] ** 2 + 1 + x[:, 1]
    y0, y1 = (mean + 0.5 * rng.standard_normal(n) for mean in (mean0, mean1))
    data = ad.datasets.TreatmentData("toy", x, t, np.where(t > 0, y1, y0), y0, y1, mean0, mean1, ("a", "b", "constant"))
    straight = semisynthetic.bayes_estimate(data, "default", "bayes", rng, 200)
    curved = semisynthetic.curved_estimate(data, rng)
    assert abs(straight.value - data.effect_of_means) > 1.0
    assert curved.low < data.effect_of_means < curved.high
    assert curved.high - curved.low < 0.6
    assert semisynthetic.root_pehe(data, curved) < 0.3


# -- tables -----------------------------------------------------------------------------------------------------------


def result(group, replication, method, estimate, half=1.0, pehe=math.nan):
    prior = "default" if method in ("terms", "bayes") else "none"
    return Result(group, replication, 10, prior, method, estimate, 0.0, estimate - half, estimate + half, 0.5, pehe)


def test_comparison_pairs_within_settings():
    results = [result("ACIC 4", 0, "terms", 1.0, pehe=2.0), result("ACIC 5", 0, "terms", 3.0, pehe=4.0)]
    results += [result("ACIC 4", 0, "lin", 2.0), result("ACIC 5", 0, "lin", 2.0), result("ACIC 5", 1, "lin", math.nan)]
    lines = comparison.comparison_table(results).splitlines()
    curves, lin = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:])
    assert curves[:4] == ["curves", "2", "5.0 ± 4.0", ""]
    assert curves[6:9] == ["50%", "2.00", "3.00"]
    # squared errors 4 and 4 against 1 and 9: differences 3 and -5
    assert lin[:4] == ["Lin's regression", "2 (1 failed)", "4.00", "-1.0 ± 4.0"]


def test_sets_table_takes_ratios_set_by_set():
    sizes = {"a": 1.0, "b": 10.0, "c": 100.0}
    results = [result(group, 0, "least_squares", size) for group, size in sizes.items()]
    results += [result(group, 0, "terms", size / 2) for group, size in sizes.items()]
    lines = comparison.sets_table(results).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:6]] == ["curves", "3", "25.0", "0.250", "1"]


# -- the command ------------------------------------------------------------------------------------------------------


def test_acic(tmp_path, public_data):
    methods = ["least_squares", "ipw_normalised", "lin"]
    report = reproduce("acic", 2, [200], tmp_path, data=public_data, methods=methods)
    found = load_results(tmp_path)
    assert {(r.group, r.replication) for r in found} == {(f"ACIC {i}", r) for i in range(1, 6) for r in (0, 1)}
    assert "Settings kept for reporting, together, n = 200" in report.text
    assert "ACIC 1 (used for choices), n = 200" in report.text
    assert {path.name for path in report.files} == {
        "results.csv",
        "summary.csv",
        "tables.md",
        "errors.png",
        "errors.svg",
    }
    assert all(path.stat().st_size > 0 for path in report.files)


def test_a_run_may_be_joined_by_methods_and_replications(tmp_path, public_data, monkeypatch):
    reproduce("acic", 1, [150], tmp_path, data=public_data, methods=["least_squares"])
    monkeypatch.setattr(acic.Acic, "__call__", only_lin_and_the_second(acic.Acic.__call__))
    reproduce("acic", 2, [150], tmp_path, data=public_data, methods=["least_squares", "lin"])
    found = {(r.group, r.replication, r.method) for r in load_results(tmp_path)}
    assert len(found) == 5 * 2 * 2


def only_lin_and_the_second(call):
    """Refuse to do again what the first run has done."""

    def checked(self, task):
        assert (self.methods, task.replication) != (("least_squares",), 0)
        return call(self, task)

    return checked


def test_bart_that_is_not_installed_is_said(tmp_path, public_data, monkeypatch):
    monkeypatch.setattr("replication.command.bart_installed", lambda: False)
    report = reproduce("acic", 1, [200], tmp_path, data=public_data, methods=["least_squares", "bart"])
    assert "BART was not run: the package bartz is not installed." in report.text
    assert {r.method for r in load_results(tmp_path)} == {"least_squares"}
    with pytest.raises(ad.AlldagsError, match=r"none of \['bart', 'vb'\] can be run on ACIC here; choose from"):
        reproduce("acic", 1, [200], tmp_path, data=public_data, methods=["bart", "vb"])


def test_curves_join_ihdp(tmp_path, public_data):
    methods = ["terms", "ipw_normalised"]
    report = reproduce("ihdp", 1, [200, 300], tmp_path, data=public_data, methods=methods, first=101)
    found = load_results(tmp_path)
    assert {(r.replication, r.size, r.method) for r in found} == {
        (100, 200, "ipw_normalised"),
        (100, 300, "ipw_normalised"),
        (100, 300, "terms"),
    }
    assert "Straight lines and curves: replications 101 to 101, against mean(mu1 - mu0)" in report.text
    (curves,) = [r for r in found if r.method == "terms"]
    assert curves.low < curves.estimate < curves.high
    assert 0 < curves.pehe < 10


def test_first_replication_must_exist(tmp_path):
    with pytest.raises(ad.AlldagsError, match="IHDP has 1000 replications, got replicates = 2 from 1000 on"):
        reproduce("ihdp", 2, out=tmp_path, first=1000)
    with pytest.raises(ad.AlldagsError, match="first must be a whole number of at least 1, got 0"):
        reproduce("ihdp", 2, out=tmp_path, first=0)
