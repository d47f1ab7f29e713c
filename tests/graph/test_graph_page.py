"""What the how-to page on candidate graphs claims is run here."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest

import alldags as ad

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "candidate-graphs.md"


def blocks(language: str) -> list[str]:
    parts = PAGE.read_text(encoding="utf-8").split("```")
    return [part.partition("\n")[2] for part in parts[1::2] if part.partition("\n")[0] == language]


def test_python_blocks_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    mpl.use("agg")
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, names)
    shown = capsys.readouterr().out
    assert "8 candidate edges of which 1 certain" in shown
    assert "(('bmi', 'pressure', 'cholesterol'),)\n0.25\n29281\n0.228\n0.25\n" in shown
    assert names["graph"].parents("cancer") == ("age", "sex", "smoking", "tar")  # type: ignore[attr-defined]
    assert names["patients"].edges["bmi", "cholesterol"] == 1.0  # type: ignore[attr-defined]
    assert ("cholesterol", "bmi") not in names["patients"].edges  # type: ignore[attr-defined]
    expected = {("age", "smoking"): 0.5, ("age", "cancer"): 0.3, ("smoking", "cancer"): 0.9}
    assert dict(names["labelled"].edges) == expected  # type: ignore[attr-defined]


def test_files_are_read() -> None:
    tiers, short, open_order = (ad.parse_graph(text, "toml") for text in blocks("toml"))
    assert tiers.probability("smoking", "tar") == 0.95
    assert tiers.probability("sex", "tar") == 0.0
    assert short.variables == ("age", "smoking", "cancer", "height")
    assert open_order.blocks == (("bmi", "pressure", "cholesterol"),)
    assert open_order.probability("pressure", "bmi") == 0.1
    assert open_order.probability("cholesterol", "bmi") == 0.15
    csv, dagitty = blocks("text")
    assert ad.parse_graph(csv, "csv").variables == ("smoking", "tar", "cancer", "height")
    assert ad.parse_graph(dagitty, "dagitty").probability("tar", "cancer") == 0.9
    assert ad.parse_graph(dagitty, "dagitty").probability("age", "cancer") == 0.5
