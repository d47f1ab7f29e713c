"""Graph files as people write them without having read how."""

from __future__ import annotations

import pytest

import alldags as ad
from alldags.errors import GraphError

EDGES = {("age", "smoking"): 0.5, ("smoking", "risk"): 0.8}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.txt", "age -> smoking\nsmoking -> risk [probability=0.8]\n"),
        ("g.txt", "# what may act on what\nage -> smoking\nrisk <- smoking [probability=0.8]"),
        ("g.txt", "dag { age -> smoking; smoking -> risk [probability=0.8] }"),
        ("g.txt", "cause,effect,probability\nage,smoking,\nsmoking,risk,0.8\n"),
        ("g.csv", "cause;effect;probability\nage;smoking;\nsmoking;risk;0,8\n"),
        ("g.csv", "from\tto\tp\nage\tsmoking\t\nsmoking\trisk\t0.8\n"),
    ],
)
def test_they_are_read(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert dict(ad.read_graph(tmp_path / name).edges) == EDGES


def test_a_comma_in_a_name_is_no_decimal_comma(tmp_path):
    (tmp_path / "g.csv").write_text('cause;effect\n"a,b";c\n', encoding="utf-8")
    assert list(ad.read_graph(tmp_path / "g.csv").edges) == [("a,b", "c")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.graph", "a -> b", r"known: .toml, .* and .txt with lines such as smoking -> risk"),
        ("g.txt", "smoking causes risk", r"cannot tell in which format .* lines such as smoking -> risk"),
        ("g.csv", "cause;effect;probability\na;b;0,5,1\n", "'0.5.1'; it must be a number from 0 to 1"),
    ],
)
def test_what_is_no_graph_is_told_how_one_looks(tmp_path, name, text, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(GraphError, match=said):
        ad.read_graph(tmp_path / name)
