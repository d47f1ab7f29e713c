"""What may be said of terms, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.graph.terms import parse_term, read_terms

CAUSES = {"y": ("x", "w", "log w"), "x": ("w",), "w": ()}


def table(n=120):
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal(n), rng.integers(0, 2, n).astype(float)
    return {"w": w, "x": x, "y": x + w**2 + rng.standard_normal(n)}


def graph():
    return ad.CandidateGraph.from_edges({("w", "x"): 0.5, ("w", "y"): 0.5, ("x", "y"): 0.5})


@pytest.mark.parametrize(
    ("text", "shown", "variables"),
    [
        ("x*w", "x*w", ("x", "w")),
        (" log(w) * x ", "log(w)*x", ("w", "x")),
        ("w^2", "square(w)", ("w",)),
        ("log w", "log w", ("log w",)),
        ("curve(w)", "curve(w)", ("w",)),
        ("w*w", "w*w", ("w",)),
    ],
)
def test_terms_are_read(text, shown, variables):
    term = parse_term(text, CAUSES["y"])
    assert str(term) == shown
    assert term.variables == variables


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"y": ["x*z"]}, "has 'z', which is no possible cause"),
        ({"y": ["tan(w)"]}, "the function 'tan'; known are log"),
        ({"y": ["log(z)"]}, "has 'z', which is no possible cause"),
        ({"y": ["curve(w)*x"]}, "a curve stands alone"),
        ({"y": [""]}, "must be a text such as"),
        ({"y": []}, "is empty"),
        ({"y": "x*w"}, "must be Terms"),
        ({"z": ad.Terms()}, "'z', which is not in the graph"),
        ({"w": ad.Terms()}, "has no possible cause"),
        ({"y": {}}, "is empty"),
        ({"y": {"x*w": 1.5}}, r"probability of the term 'x\*w' must be above 0 and at most 1, got 1.5"),
        ({"y": {"x*w": "sure"}}, "must be above 0 and at most 1, got 'sure'"),
        ({"y": {"curve(w)": 1.0}}, "'curve\\(w\\)' is several columns, each in doubt"),
        (["y"], "must be 'auto' or a mapping"),
    ],
)
def test_mistakes_are_named(terms, message):
    with pytest.raises(ad.AlldagsError, match=message):
        read_terms(terms, CAUSES)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"curves": -1}, "curves must be a whole number"),
        ({"products": 2.5}, "products must be"),
        ({"index": 1}, "index must be True or False"),
        ({"modification": "some"}, "modification must be"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ad.AlldagsError, match=message):
        ad.Terms(**settings)


def test_more_that_does_not_go_with_terms():
    data = table()
    other = ad.CandidateGraph.from_edges({("x", "w"): 0.5, ("x", "y"): 0.5, ("w", "y"): 0.5})
    with pytest.raises(ad.AlldagsError, match="terms and graphs that disagree about the direction of edges at"):
        ad.fit(data, [graph(), other], terms={"y": ad.Terms()})
    with pytest.raises(ad.AlldagsError, match="terms and open directions of"):
        ad.fit(data, ad.CandidateGraph.unordered(["w", "x", "y"], 0.5), terms={"y": ad.Terms()}, families="normal")
    with pytest.raises(ad.AlldagsError, match="made from rows"):
        ad.fit(ad.Moments.from_table(data), graph(), terms={"y": ad.Terms()})
    with pytest.raises(ad.AlldagsError, match="log\\(w\\)' is not a finite number where w ="):
        ad.fit(data, graph(), terms={"y": ["log(w)"]}, rng=0).effect("x", "y").mean  # noqa: B018
    few = {name: column[:60] for name, column in data.items()} | {"x": np.r_[np.ones(5), np.zeros(55)]}
    with pytest.raises(ad.AlldagsError, match="only 5 rows have x = 1"):
        ad.fit(few, graph(), terms={"y": ad.Terms()}, families="normal", rng=0).effect("x", "y").mean  # noqa: B018


def test_straight_answers_are_refused_by_name():
    effect = ad.fit(table(), graph(), terms={"y": ad.Terms(curves=2, products=0, index=False)}, rng=0).effect("x", "y")
    for ask in (effect.paths, lambda: effect.on("standardized"), lambda: effect.direct):
        with pytest.raises(ad.AlldagsError, match=r"terms|bends"):
            ask()
    with pytest.raises(ad.AlldagsError, match="multiply along paths"):
        effect.plots.paths()
    with pytest.raises(ad.AlldagsError, match="table of straight lines"):
        effect.posterior.effects()
    assert "linear" not in effect.to.sentence("methods").split(".")[0]
    with pytest.raises(ad.AlldagsError, match="nothing shows what 2 would do"):
        effect.contrast(0, 2)


def test_a_certain_term_needs_certain_causes():
    with pytest.raises(
        ad.AlldagsError, match=r"'square\(w\)' of 'y' is certain, and that 'w' acts on 'y' is not .*0.5"
    ):
        ad.fit(table(), graph(), terms={"y": {"w^2": 1.0}}, rng=0).effect("x", "y")
