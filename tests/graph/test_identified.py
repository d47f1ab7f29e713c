"""Whether a graph identifies an effect: textbook graphs, and bow-free ones, which always do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from alldags.graph.identified import is_identified

CASES = {
    "a bow": ("xy", ["xy"], ["xy"], False),
    "nothing hidden": ("xy", ["xy"], [], True),
    "hidden, no edge": ("xy", [], ["xy"], True),
    "an instrument": ("zxy", ["zx", "xy"], ["xy"], True),
    "an invalid instrument": ("zxy", ["zx", "xy", "zy"], ["xy"], False),
    "two, of which one is invalid": ("zwxy", ["zx", "wx", "xy", "zy"], ["xy"], True),
    "an instrument hidden with y": ("zxy", ["zx", "xy"], ["xy", "zy"], False),
    "an instrument hidden with x": ("zxy", ["zx", "xy"], ["xy", "zx"], True),
    "a front door": ("xmy", ["xm", "my"], ["xy"], True),
    "a leaking front door": ("xmy", ["xm", "my", "xy"], ["xy"], False),
    "treatment and mediator": ("xmy", ["xm", "my"], ["xm"], False),
    "mediator and outcome, one way": ("xmy", ["xm", "my"], ["my"], True),
    "mediator and outcome, two ways": ("xmy", ["xm", "my", "xy"], ["my"], True),
    "a conditional instrument": ("czxy", ["cz", "cy", "zx", "xy"], ["xy"], True),
}


@pytest.mark.parametrize("name", CASES)
def test_textbook_graphs(name):
    variables, edges, hidden, wanted = CASES[name]
    pairs = [[tuple(edge) for edge in edges] for edges in (edges, hidden)]
    assert is_identified(variables, *pairs, "x", "y") is wanted


def test_graphs_without_a_bow_are_identified():
    rng = np.random.default_rng(1)
    for _ in range(60):
        edges, hidden = [], []
        for pair in itertools.combinations("abcdef", 2):
            chance = rng.random()
            if chance < 0.4:
                edges.append(pair)
            elif chance < 0.7:
                hidden.append(pair)
        assert is_identified("abcdef", edges, hidden, "a", "f")
