"""Advice that is given works: each row provokes a note or a refusal, and does as it was told."""

# ruff: noqa: PLW0108 (what is provoked is to be made inside the test)

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import alldags as ad
from alldags.data.moments import Moments
from alldags.errors import AlldagsError
from alldags.results.effect import Effect
from lines import fit

mpl.use("agg")

ROWS = 300


@cache
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    age, x = rng.standard_normal((2, ROWS))
    x = x + 0.8 * age
    y = 0.5 * x + 0.8 * age + rng.standard_normal(ROWS)
    return {
        "age": age, "x": x, "y": y, "ill": (y > 0) * 1.0, "two": (y > 0) + 1.0, "bent": y + 2.0 * age**2,
        "gaps": np.where(rng.random(ROWS) < 0.1, np.nan, y), "same": age, "site": rng.choice(list("pqr"), ROWS),
        "arm": np.where(x > 0.5, "high", np.where(x < -0.5, "none", "low")), "number": np.arange(ROWS) * 1.0,
        "coded": np.where(rng.random(ROWS) < 0.05, -999.0, age), "endless": np.where(np.arange(ROWS) == 3, np.inf, y),
        "weak": 0.1 * x + rng.standard_normal(ROWS), "a": (age < -0.5) * 1.0, "b": (age > 0.5) * 1.0,
        "c": (abs(age) <= 0.5) * 1.0, "school": np.clip(np.round(2 * age) + 3, 1, 5),
    }  # fmt: skip


def tiers(*outcome: str, first: tuple[str, ...] = ("age",), treatment: str = "x") -> ad.CandidateGraph:
    return ad.CandidateGraph.from_tiers([list(first), [treatment], *([name] for name in outcome)])


def asked(*outcome: str, graph: Any = None, data: Any = None, treatment: str = "x", **options: Any) -> Effect:
    graph = tiers(*outcome, treatment=treatment) if graph is None else graph
    table = {name: columns()[name] for name in graph.variables} if data is None else data
    return fit(table, graph, rng=0, **options).effect(treatment, outcome[-1])


def curved() -> Effect:
    return asked("y", terms={"y": ad.Terms(curves=1, products=0)})


def through() -> Effect:
    bends = ad.Terms(curves=1, products=0)
    return asked("weak", "y", terms={"y": bends, "weak": bends})


def moments(graph: ad.CandidateGraph) -> Moments:
    return Moments.from_table({name: columns()[name] for name in graph.variables})


def weak(probability: float) -> ad.CandidateGraph:
    return ad.CandidateGraph.from_edges({("x", "weak"): probability})


def recoded(name: str, value: float) -> dict[str, np.ndarray]:
    found = columns()[name]
    return {"age": np.where(found == value, np.nan, found), "x": columns()["x"], "y": columns()["y"]}


def without_infinite() -> dict[str, np.ndarray]:
    found = columns()["endless"]
    return {"age": columns()["age"], "x": columns()["x"], "endless": np.where(np.isinf(found), np.nan, found)}


GAPS = tiers("y", first=("gaps",))
NO_SITE = tiers("bent", first=("age", "site"))
ADVICE: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
    ("see terms='auto'", lambda: asked("bent"), lambda: asked("bent", terms="auto").mean),
    ("see terms='auto'", lambda: asked("bent", graph=NO_SITE), lambda: asked("bent", graph=NO_SITE, terms="auto").mean),
    (
        "drop them with missing='drop'",
        lambda: asked("y", graph=GAPS),
        lambda: asked("y", graph=GAPS, missing="drop").mean,
    ),
    (
        "fill them in with missing='impute'",
        lambda: asked("y", graph=GAPS),
        lambda: asked("y", graph=GAPS, missing="impute").mean,
    ),
    (
        "missing='impute' assumes less",
        lambda: asked("gaps", missing="drop"),
        lambda: asked("gaps", missing="impute").mean,
    ),
    (
        "make them missing and use missing='drop'",
        lambda: asked("endless"),
        lambda: asked("endless", data=without_infinite(), missing="drop").mean,
    ),
    ("without families='normal'", lambda: asked("ill", families="normal"), lambda: asked("ill").on("ratio").median),
    (
        "code it 0 and 1",
        lambda: asked("two"),
        lambda: asked("two", data={**columns(), "two": columns()["two"] - 1}).on("ratio").median,
    ),
    ("give the table instead", lambda: asked("ill", data=moments(tiers("ill"))), lambda: asked("ill").on("ratio")),
    (
        "or say families='normal'",
        lambda: asked("ill", data=moments(tiers("ill"))),
        lambda: asked("ill", data=moments(tiers("ill")), families="normal").mean,
    ),
    (
        "graph.with_edge('x', 'weak', 1.0)",
        lambda: asked("weak", graph=weak(0.5)),
        lambda: asked("weak", graph=weak(0.5).with_edge("x", "weak", 1.0)).mean,
    ),
    (
        "add what comes before x and may act on both",
        lambda: asked("y", graph=tiers("y", first=("number",)), data=columns()),
        lambda: asked("y", graph=tiers("y", first=("number", "age"))).mean,
    ),
    (
        "keep one",
        lambda: asked("y", graph=tiers("y", first=("age", "same"))),
        lambda: asked("y", graph=tiers("y", first=("age",))).mean,
    ),
    (
        "leave one out, as the reference",
        lambda: asked("y", graph=tiers("y", first=("a", "b", "c"))),
        lambda: asked("y", graph=tiers("y", first=("a", "b"))).mean,
    ),
    (
        "categories=['school']",
        lambda: asked("y", graph=tiers("y", first=("school",))),
        lambda: asked("y", graph=tiers("y", first=("school",)), categories=["school"]).mean,
    ),
    (
        "leave those cells empty and say what to do about missing values",
        lambda: asked("y", graph=tiers("y", first=("coded",))),
        lambda: asked("y", data=recoded("coded", -999.0), missing="impute").mean,
    ),
    (
        "leave it out of the graph",
        lambda: asked("y", graph=tiers("y", first=("age", "number"))),
        lambda: asked("y", graph=tiers("y", first=("age",))).mean,
    ),
    (
        "if one is possible, add its edges",
        lambda: asked("y", "x", treatment="y", graph=tiers("y")),
        lambda: asked("x", treatment="y", graph=tiers("x", treatment="y")).mean,
    ),
    (
        "fit with terms='auto' to look for others",
        lambda: asked("y").probability.modifiers(),
        lambda: asked("y", terms="auto").probability.modifiers(),
    ),
    ("use contrast(start, stop)", lambda: curved().on("standardized"), lambda: curved().contrast(0, 1).mean),
    ("fit without terms", lambda: curved().paths(), lambda: asked("y").paths()),
    ("see mediation()", lambda: through().paths(), lambda: through().mediation(["weak"])),
    ("use effects_on(outcome)", lambda: curved().posterior.effects(), lambda: curved().posterior.effects_on("y")),
    ("effect.paths() lists them", lambda: asked("ill").plots.paths(), lambda: asked("ill").paths()),
    (
        "use engine='auto' or 'exact'",
        lambda: asked("y", engine="vb").posterior.median_probability_graph(),
        lambda: [asked("y", engine=name).posterior.median_probability_graph() for name in ("auto", "exact")],
    ),
    (
        "use engine='auto'",
        lambda: asked("y", engine="vb").edge_influence(),
        lambda: asked("y", engine="auto").edge_influence(),
    ),
    (
        "chains come from engine='mcmc'",
        lambda: asked("y").posterior.plots.traces("y"),
        lambda: asked("y", engine="mcmc").posterior.plots.traces("y"),
    ),
    (
        "contrast('none', 'low')",
        lambda: asked("y", treatment="arm").mean,
        lambda: asked("y", treatment="arm").contrast("none", "low").mean,
    ),
    ("contrasts()", lambda: asked("y", treatment="arm").mean, lambda: asked("y", treatment="arm").contrasts()),
    ("use the effect itself", lambda: asked("y").on("log odds"), lambda: asked("y").mean),
    ("call it report.html", lambda: asked("y").report("x.pdf"), lambda: None),
]


def said(ask: Callable[[], Any]) -> str:
    """Return what a question is refused with, or the notes of its answer."""
    try:
        found = ask()
    except AlldagsError as error:
        return str(error)
    return "\n".join(map(str, found.notes))


@pytest.mark.parametrize(("words", "provoke", "follow"), ADVICE, ids=[row[0] for row in ADVICE])
def test_advice_can_be_followed(words, provoke, follow):
    assert words in said(provoke)
    follow()


def test_an_instrument_that_a_note_asks_about_can_be_said():
    rng = np.random.default_rng(2)
    z, u = rng.standard_normal((2, 2000))
    x = 2.0 * z + rng.standard_normal(2000) + u
    table = {"z": z, "x": x, "y": 0.5 * x - 2.0 * u + rng.standard_normal(2000)}
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]])
    note = next((note for note in fit(table, graph, rng=0).effect("x", "y").notes if "instrument(" in note), None)
    if note is not None:
        assert "graph.instrument('z', treatment='x')" in note
    assert fit(table, graph.instrument("z", treatment="x"), rng=0).effect("x", "y").mean


def test_nothing_is_advised_to_be_adjusted_for_where_the_treatment_was_randomised():
    graph = tiers("y", first=("number",))
    assert "outside the graph" not in said(lambda: asked("y", graph=graph, data=columns(), randomized="x"))


def test_skewed_outcomes_are_not_sent_to_heavy_tails():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(400)
    graph = ad.CandidateGraph.from_edges({("x", "y"): 1.0})
    skewed = {"x": x, "y": np.exp(0.3 * x + 1.5 * rng.standard_normal(400))}
    text = " ".join(str(fit(skewed, graph, rng=0).checks("x", "y")).split())
    assert "y is skewed" in text
    assert "try the family 'gamma' for it" in text
    assert "student" not in text
    better = fit(skewed, graph, families={"y": "gamma"}, rng=0)
    assert "y is skewed" not in str(better.checks("x", "y"))
    slips = {"x": x, "y": x + rng.standard_t(2, 400)}
    text = " ".join(str(fit(slips, graph, rng=0).checks("x", "y")).split())
    assert "the family 'student' for y" in text
    assert fit(slips, graph, families={"y": "student"}, rng=0).effect("x", "y").mean
