"""The bar appears when it should, counts right, and is silent otherwise."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import alldags as ad
from alldags.progress import Progress


def test_the_bar_counts_from_what_was_done_before(capsys):
    with Progress("replications", 10, show=True, done=4, keep=True) as progress:
        progress.advance(5)
        progress.advance()
    shown = capsys.readouterr().err
    assert "replications" in shown
    assert "10/10" in shown


def test_nothing_is_shown_where_no_person_is_looking(capsys):
    for show in (None, False):
        with Progress("nodes", 10, show=show, keep=True) as progress:
            progress.advance(10)
    assert capsys.readouterr().err == ""


def test_a_terminal_is_looked_at(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("nodes", 10, keep=True) as progress:
        progress.advance(10)
    assert "10/10" in capsys.readouterr().err


def test_short_work_shows_no_bar(capsys):
    with Progress("nodes", 3, show=True, patience=60.0, keep=True) as progress:
        progress.advance(3)
    with Progress("nodes", 1, show=True, keep=True) as progress:
        progress.advance()
    assert capsys.readouterr().err == ""


def test_threads_do_not_lose_steps(capsys):
    with Progress("nodes", 400, show=True, keep=True) as progress, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: progress.advance(), range(400)))
    assert "400/400" in capsys.readouterr().err


def test_a_report_shows_a_bar_where_the_fit_was_asked_for_one(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    study = ad.datasets.example()
    for progress in (False, True):
        effect = ad.fit(study.table, study.graph, terms=None, progress=progress).effect("smoking", "risk")
        capsys.readouterr()
        effect.report(tmp_path / "report.html")
        assert ("making the report" in capsys.readouterr().err) is progress
