"""Graphs that causal-learn and lingam themselves made, where they are installed: `pip install causal-learn lingam`.

What these programs hand over is written down in test_others.py, which needs neither of them.
"""

import numpy as np
import pytest

import alldags as ad
from alldags.graph.others import as_graph, from_lingam, from_lingam_knowledge


@pytest.fixture
def chain():
    """Return a -> b -> c, neither normal nor in this order."""
    rng = np.random.default_rng(0)
    a, e, f = rng.uniform(-1, 1, (3, 2000))
    b = 2 * a + e
    return {"c": -1.5 * b + f, "a": a, "b": b}


def test_lingam_stores_effect_by_cause(chain):
    lingam = pytest.importorskip("lingam")
    model = lingam.DirectLiNGAM()
    model.fit(np.column_stack(list(chain.values())))
    assert set(from_lingam(model.adjacency_matrix_, list(chain)).edges) == {("a", "b"), ("b", "c")}
    knowledge = lingam.utils.make_prior_knowledge(3, paths=[[1, 0]], exogenous_variables=[1])  # a leads to c
    graph = from_lingam_knowledge(knowledge, list(chain), 0.6)
    assert dict(graph.edges) == {("a", "c"): 0.6, ("a", "b"): 0.6, ("b", "c"): 0.3, ("c", "b"): 0.3}


def test_causal_learn_says_which_ends_have_arrows(chain):
    pytest.importorskip("causallearn")
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc

    nodes = [GraphNode(name) for name in "abc"]
    made = GeneralGraph(nodes)
    made.add_directed_edge(nodes[0], nodes[1])
    made.add_directed_edge(nodes[1], nodes[2])
    assert set(as_graph(made).edges) == {("a", "b"), ("b", "c")}
    found = as_graph(pc(np.column_stack([chain["a"], chain["b"], chain["c"]]), show_progress=False).G)
    assert dict(found.edges) == dict.fromkeys((("X1", "X2"), ("X2", "X1"), ("X2", "X3"), ("X3", "X2")), 0.25)
    other = np.random.default_rng(1).standard_normal(2000)
    collider = np.column_stack([chain["b"], other, chain["b"] + other + chain["a"]])
    assert set(as_graph(pc(collider, show_progress=False).G).edges) == {("X1", "X3"), ("X2", "X3")}
    assert isinstance(as_graph(made), ad.CandidateGraph)
