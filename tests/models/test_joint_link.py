"""The links of several treatments that are set at once."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.models.link import JointLink, joint_link
from alldags.nodes.build import linear_terms
from lines import fit

GRAPH = ad.CandidateGraph.from_tiers([["z", "w"], ["a"], ["c"], ["b"], ["y"]], probability=0.2)


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    z, w = rng.standard_normal((2, 300))
    a = z + rng.standard_normal(300)
    c = 0.8 * a + rng.standard_normal(300)
    b = 0.9 * c + rng.standard_normal(300)
    y = 0.5 * a + 0.5 * b + 0.1 * c + 0.1 * z + rng.standard_normal(300)
    return fit({"z": z, "w": w, "a": a, "c": c, "b": b, "y": y}, GRAPH, rng=0)


def raised(posterior, *treatments):
    model = posterior.workings.about(*treatments).items[0]
    terms = model._terms("y")
    return dict(zip(terms.names, terms.raised or (0.0,) * len(terms.names), strict=True)), model


def test_one_treatment_has_the_link_it_had(posterior):
    alone, model = raised(posterior, "a")
    joint = joint_link(model._link, ("a",))
    terms = linear_terms(GRAPH, "y")
    assert joint.raised(terms) == model._link.raised(terms)
    assert alone["z"] > 0.9
    assert alone["c"] == 0.0  # a mediator of a


def test_what_lies_between_two_treatments_is_a_confounder_of_the_second(posterior):
    both, model = raised(posterior, "a", "b")
    assert isinstance(model._link, JointLink)
    assert both["c"] > 0.9
    assert both["z"] > 0.9  # drives a
    first, second = (raised(posterior, name)[0] for name in ("a", "b"))
    for name in ("z", "w"):
        # c, on the way from a, is a source of its own beside both treatments
        expected = 1 - (1 - first[name]) * (1 - second[name])
        assert both[name] <= expected + 1e-12
        assert both[name] >= max(first[name], second[name]) - 1e-12


def test_the_order_in_which_treatments_are_named_does_not_matter(posterior):
    one = posterior.do({"a": 1.0, "b": 0.0}, outcome="y").mean
    other = posterior.do({"b": 0.0, "a": 1.0}, outcome="y").mean
    assert (one.mean, one.sd) == (other.mean, other.sd)


def test_edges_into_what_is_set_do_not_matter(posterior):
    """With a, c and b set, only the regression of y counts, whatever drives them."""
    found = posterior.do({"a": 1.0, "c": 0.0, "b": 0.0, "z": 0.0, "w": 0.0}, outcome="y").mean
    model = posterior.workings.about("z", "w", "a", "c", "b").items[0]
    node, data = model.node("y"), model.data
    mean = dict(zip(data.pooled.names, data.pooled.mean * data.scale, strict=True))
    step = np.array([(1.0 * (name == "a") - mean[name]) / data.scale_of(name) for name in node.parents])
    assert found.mean == pytest.approx(mean["y"] + data.scale_of("y") * node.mean @ step, rel=1e-12)
