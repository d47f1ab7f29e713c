"""The page "How fast is it?" shows what the benchmarks kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import keep, page
from benchmarks.report import Row

ROOT = Path(__file__).parents[2]
PEER = "scikit-learn's ARDRegression"
FASTER = Row("one node", 12.4, "times faster", 5.0, ">=", "both on one thread", PEER, 0.002, 0.0248)
LONGER = Row("pandas", 1.5, "x", 1.6, peer="NumPy's bare X.T @ X", ours=0.3, theirs=0.2)
ALONE = Row("start", 2.5, "s CPU", 2.0, note="cold")
KNOWN = {"moments": "Moments", "mcmc": "Sampling", "scale_mixtures": "Scale mixtures", "start": "Start"}


@pytest.fixture
def kept(tmp_path):
    keep.write("scale_mixtures", "Scale mixtures.", "2026-11-16", 3.21, [FASTER, ALONE], tmp_path)
    keep.write("moments", "Moments.", "2026-11-16", 5.0, [LONGER], tmp_path)
    return keep.read(tmp_path)


def test_what_was_kept_is_read_back(kept):
    assert kept["scale_mixtures"].rows == (FASTER, ALONE)
    assert list(kept) == ["moments", "scale_mixtures"]
    assert "python" in kept["moments"].versions


def test_one_benchmark_is_replaced_and_the_others_stay(kept, tmp_path):
    keep.write("moments", "Moments.", "2026-11-17", 4.0, [replace(LONGER, value=1.2)], tmp_path)
    again = keep.read(tmp_path)
    assert again["moments"].rows[0].value == 1.2
    assert again["scale_mixtures"] == kept["scale_mixtures"]


def test_tables(kept):
    found = page.tables(kept, KNOWN)
    assert f"| one node | {PEER} | 0.025 | 0.002 | 12 times faster | `scale_mixtures` |\n" in found["peers"]
    assert "pandas" not in found["peers"]
    assert "| pandas | NumPy's bare X.T @ X | 0.2 | 0.3 | 1.5 times as long | `moments` |\n" in found["least"]
    assert "| start | 2.5 s CPU | at most 2 (missed) | cold |" in found["measured"]
    assert "`python -m benchmarks scale_mixtures`: 3 CPU seconds in all, 2026-11-16." in found["measured"]
    assert found["not_run"] == "- `mcmc`: Sampling.\n- `start`: Start.\n"


def test_versions_are_the_newest(kept):
    old, new = (replace(kept["moments"], date=f"2026-11-{day}", versions={"numpy": day}) for day in ("16", "17"))
    assert page.by_what([new, old]).startswith("\nRun with numpy 17; processors: ")
    assert page.by_what([]) == ""


def test_a_program_that_was_not_installed_is_named(kept):
    alone = {"scale_mixtures": replace(kept["scale_mixtures"], rows=(ALONE,))}
    assert f"- {PEER} in `scale_mixtures`: it was not installed.\n" in page.tables(alone, KNOWN)["not_run"]


def test_the_tables_of_the_page_are_those_of_the_kept_results():
    kept, known = keep.read(), page.titles()
    assert set(kept) <= set(known), "a benchmark that is no more: remove what was kept of it"
    assert set(page.PEERS) <= set(known)
    for name, text in page.tables(kept, known).items():
        stored = (keep.FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert stored == text, "run python -m benchmarks.page"


def test_the_page_shows_every_table():
    text = (ROOT / "docs" / "explanation" / "performance.md").read_text(encoding="utf-8")
    shown = re.findall(r"\{include\} \.\./\.\./benchmarks/results/(\w+)\.md", text)
    assert sorted(shown) == sorted(page.tables({}, {}))
