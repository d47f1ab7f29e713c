"""Every pair of options: an answer from the model that was asked for, or refused with the reason in the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import alldags as ad
from alldags import meetings

ROOT = Path(__file__).parents[1]
ROWS = 120
NAMES = ("age", "income", "dose", "first", "second", "y")


@dataclass(frozen=True)
class Study:
    """A table, what is special about its graph, and what `fit` is told."""

    table: dict[str, Any]
    shape: frozenset[str] = frozenset()
    options: dict[str, Any] = field(default_factory=dict)

    def saying(self, **options: Any) -> Study:
        return replace(self, options=self.options | options)

    def having(self, **columns: Any) -> Study:
        return replace(self, table=self.table | columns)

    def shaped(self, word: str) -> Study:
        return replace(self, shape=self.shape | {word})

    @property
    def graph(self) -> Any:
        first = ["age", "income", *(["region"] if "category" in self.shape else [])]
        within = [None, None, 0.5 if "open" in self.shape else None, None]
        graph = ad.CandidateGraph.from_tiers([first, ["dose"], ["first", "second"], ["y"]], 0.5, within=within)
        graph = graph.without_edge("region", "dose") if "category" in self.shape else graph
        graph = graph.with_hidden("dose", "y", 0.3) if "hidden" in self.shape else graph
        return [graph, graph.without_edge("income", "y")] if "graphs" in self.shape else graph

    def fit(self, **more: Any) -> ad.Posterior:
        table, options = self.table, {"rng": 0, **self.options, **more}
        if options.pop("copies", False):
            table = ad.Imputed([table, table | {"income": table["income"] + 0.1}])
        if options.pop("moments", False):
            table = ad.Moments.from_table({name: table[name] for name in NAMES}, missing="drop")
        return ad.fit(table, self.graph, **options)


def study() -> Study:
    rng = np.random.default_rng(2)
    age, income = rng.standard_normal((2, ROWS))
    dose = 0.6 * age + rng.standard_normal(ROWS)
    first = 0.8 * dose + rng.standard_normal(ROWS)
    second = 0.5 * first + rng.standard_normal(ROWS)
    y = 0.5 * dose + 0.5 * first + 0.4 * age + rng.standard_normal(ROWS)
    variables = dict(zip(NAMES, (age, income, dose, first, second, y), strict=True))
    marks = {
        "region": np.array(list("abc"))[rng.integers(0, 3, ROWS)],
        "site": np.arange(ROWS) % 24,
        "wave": np.arange(ROWS) // 24,
    }
    weights = {"count": rng.integers(1, 3, ROWS), "chance": rng.uniform(1, 3, ROWS)}
    return Study(variables | marks | weights | {"was_set": np.where(rng.random(ROWS) < 0.2, "first", "")})


def with_gap(s: Study) -> Study:
    return s.having(income=np.where(np.arange(ROWS) % 9 == 0, np.nan, s.table["income"]))


def yes_no(s: Study, name: str) -> Study:
    return s.having(**{name: (s.table[name] > 0) * 1.0})


def count(s: Study) -> Study:
    return s.having(y=np.floor(np.exp(0.3 * s.table["y"]) + 0.5)).saying(families={"y": "poisson"})


def amount(s: Study, name: str, kind: str) -> Study:
    named = s.options.get("families", {}) | {name: kind}
    return s.having(**{name: np.exp(0.5 * s.table[name])}).saying(families=named)


def hurdle(s: Study, name: str) -> Study:
    named = s.options.get("families", {}) | {name: "hurdle"}
    return s.having(**{name: np.where(s.table[name] > -0.5, np.exp(0.5 * s.table[name]), 0.0)}).saying(families=named)


def grade(s: Study, name: str) -> Study:
    named = s.options.get("families", {}) | {name: "ordered"}
    return s.having(**{name: np.clip(np.round(s.table[name]), -1, 2) + 2.0}).saying(families=named)


def levels(s: Study, name: str) -> Study:
    named = s.options.get("families", {}) | {name: "categorical"}
    drawn = s.table[name] + np.random.default_rng(4).standard_normal(ROWS)
    s = s.having(was_set=np.where(s.table["was_set"] == "first", "second", ""))  # no category is set from outside
    return s.having(**{name: np.array(list("pqr"))[np.digitize(drawn, [-0.4, 0.6])]}).saying(families=named)


def survival(s: Study) -> Study:
    time, until = np.exp(0.5 * s.table["y"]), np.random.default_rng(3).exponential(3.0, ROWS)
    times = s.having(y=np.minimum(time, until), seen=(time <= until) * 1.0)
    return times.saying(families={"y": ad.Survival(event="seen")})


@dataclass(frozen=True)
class Option:
    """How a study is told to have it, what it brings into a meeting, and whether a posterior has it."""

    tell: Callable[[Study], Study]
    brings: set[str]
    has: Callable[[ad.Posterior], bool] = lambda posterior: True
    keyword: str = ""


def engine(name: Any, *brings: str) -> Option:
    """Return the choice of an engine."""
    return Option(lambda s: s.saying(engine=name), {"another engine", *brings}, keyword="engine")


def family(posterior: ad.Posterior, name: str) -> str:
    return posterior.workings.data.model(name).family.name


PAPER = {"scale mixtures", "single columns", "no orders", "no evidence"}
OPTIONS = {
    "category": Option(
        lambda s: s.shaped("category"), {"categories", "categories before"}, lambda p: bool(p.workings.data.categories)
    ),
    "yes/no outcome": Option(
        lambda s: yes_no(s, "y"), {"bernoulli"}, lambda p: family(p, "y") == "bernoulli", keyword="y"
    ),
    "yes/no mediator": Option(
        lambda s: yes_no(s, "first"), {"bernoulli"}, lambda p: family(p, "first") == "bernoulli", keyword="first"
    ),
    "count": Option(count, {"poisson"}, lambda p: family(p, "y") == "poisson", keyword="y"),
    "survival": Option(survival, {"survival"}, lambda p: family(p, "y") == "survival", keyword="y"),
    "heavy tails": Option(
        lambda s: s.saying(families={"y": "student"}), {"student"}, lambda p: family(p, "y") == "student", keyword="y"
    ),
    "log-normal": Option(
        lambda s: amount(s, "y", "lognormal"), {"lognormal"}, lambda p: family(p, "y") == "lognormal", keyword="y"
    ),
    "gamma": Option(lambda s: amount(s, "y", "gamma"), {"gamma"}, lambda p: family(p, "y") == "gamma", keyword="y"),
    "amount between": Option(
        lambda s: amount(s, "second", "lognormal"), {"lognormal"}, lambda p: family(p, "second") == "lognormal"
    ),
    "hurdle": Option(lambda s: hurdle(s, "y"), {"hurdle"}, lambda p: family(p, "y") == "hurdle", keyword="y"),
    "hurdle between": Option(
        lambda s: hurdle(s, "first"), {"hurdle"}, lambda p: family(p, "first") == "hurdle", keyword="first"
    ),
    "grade": Option(lambda s: grade(s, "y"), {"ordered"}, lambda p: family(p, "y") == "ordered", keyword="y"),
    "grade between": Option(
        lambda s: grade(s, "first"), {"ordered"}, lambda p: family(p, "first") == "ordered", keyword="first"
    ),
    "levels": Option(
        lambda s: levels(s, "y"),
        {"categorical", "categories"},
        lambda p: family(p, "y") == "categorical",
        keyword="y",
    ),
    "levels between": Option(
        lambda s: levels(s, "first"),
        {"categorical", "categories", "categories between"},
        lambda p: family(p, "first") == "categorical",
        keyword="first",
    ),
    "curves": Option(
        lambda s: s.saying(terms={"y": ["dose*age", "curve(age)"]}), {"curves"}, lambda p: "y" in p.workings.data.curved
    ),
    "impute": Option(lambda s: with_gap(s).saying(missing="impute", imputations=2), {"imputation"}, keyword="missing"),
    "gaps of y": Option(
        lambda s: s.having(y=np.where(np.arange(ROWS) % 9 == 0, np.nan, s.table["y"])), {"gaps"}, keyword="y"
    ),
    "drop": Option(lambda s: with_gap(s).saying(missing="drop"), {"dropped rows"}, keyword="missing"),
    "completed": Option(lambda s: s.saying(copies=True), {"completed tables"}, keyword="table"),
    "moments": Option(lambda s: s.saying(moments=True), {"moments"}, keyword="table"),
    "frequency": Option(lambda s: s.saying(weights="count"), {"frequency weights"}, keyword="weights"),
    "sampling": Option(
        lambda s: s.saying(weights="chance", weight_kind="sampling"), {"sampling weights"}, keyword="weights"
    ),
    "clusters": Option(lambda s: s.saying(cluster="site"), {"clusters"}),
    "fixed effects": Option(
        lambda s: s.saying(fixed_effects=["site", "wave"]), {"fixed effects"}, lambda p: p.workings.data.is_within
    ),
    "errors": Option(lambda s: s.saying(reliability={"dose": 0.9}), {"errors"}, lambda p: bool(p.workings.data.errors)),
    "not robust": Option(lambda s: s.saying(robust=False), {"not robust"}),
    "time": Option(
        lambda s: s.saying(time="wave", unit="site", lags=0), {"time"}, lambda p: "time" in p.workings.table.asked
    ),
    "random intercepts": Option(
        lambda s: s.saying(time="wave", unit="site", lags=0, intercepts="random"),
        {"time", "random intercepts"},
        lambda p: bool(p.workings.data.pooled.variants),
        keyword="time",
    ),
    "experiments": Option(lambda s: s.saying(interventions="was_set"), {"experiments"}),
    "randomised": Option(lambda s: s.saying(randomized="dose"), {"randomised"}),
    "open": Option(lambda s: s.shaped("open"), {"open directions"}, lambda p: bool(p.graphs[0].blocks)),
    "hidden": Option(lambda s: s.shaped("hidden"), {"hidden causes", "correlated errors"}),
    "graphs": Option(lambda s: s.shaped("graphs"), {"several graphs", "evidence"}, lambda p: len(p.graphs) == 2),
    "paper": Option(lambda s: s.saying(prior=ad.Prior.paper()), {"no intercept", "other noise"}, keyword="prior"),
    "known noise": Option(
        lambda s: s.saying(prior=ad.Prior(noise=ad.priors.KnownNoise(1.0))), {"other noise"}, keyword="prior"
    ),
    "shared": Option(
        lambda s: s.saying(prior=ad.Prior(slab=ad.priors.LearnedSlab(points=3, shared=True))),
        {"shared", "evidence"},
        keyword="prior",
    ),
    "vb": engine("vb", *PAPER),
    "em": engine("em", *PAPER, "one graph known"),
    "gibbs": engine("gibbs", *PAPER),
    "k2": engine("k2", "one graph known", "no orders"),
    "full": engine("full", "one graph known", "no orders"),
    "mcmc": engine(ad.engines.MCMC(max_sweeps=4000)),
    "certified": engine("certified", "no orders"),
}
PAIRS = [
    pair
    for pair in combinations(OPTIONS, 2)
    if len({OPTIONS[name].keyword or name for name in pair}) == 2  # two values of one keyword are no pair
    and not ("moments" in pair and {"category", "levels", "levels between"} & set(pair))  # moments are of numbers
]
LINES = {("yes/no outcome", "moments"), ("yes/no mediator", "moments")}  # all that moments can give, which is said


def told(names: tuple[str, ...]) -> Study:
    found = study()
    for name in names:
        found = OPTIONS[name].tell(found)
    return found


BESIDE_THE_PAIR = {
    "levels between",
    "yes/no mediator",
    "amount between",
    "hurdle between",
    "grade between",
    "open",
}  # no business of correlated errors


def refused(names: tuple[str, ...]) -> list[meetings.Meeting]:
    brought = set().union(*(OPTIONS[name].brings for name in names))
    if {"hidden", "graphs"} <= set(names):
        brought.add("differing pairs")
    if {"levels between", "open"} <= set(names):
        brought.add("categories inside")
    if {"levels", "curves"} <= set(names):  # which are of "y"
        brought.add("terms of levels")
    if not BESIDE_THE_PAIR.isdisjoint(names):
        brought.discard("correlated errors")
    return [meeting for pair, meeting in meetings.MEETINGS.items() if pair <= brought]


@pytest.mark.parametrize("names", [(), *((name,) for name in OPTIONS), *PAIRS], ids=" x ".join)
def test_a_pair_is_what_was_asked_for_or_refused_with_the_reason_in_the_table(names):
    expected = [] if names in LINES else refused(names)
    if expected:
        with pytest.raises(ad.AlldagsError, match="|".join(re.escape(one.reason) for one in expected)):
            _ = told(names).fit().effect("dose", "y").sd
        return
    posterior = told(names).fit()
    effect = posterior.effect("dose", "y")
    assert np.isfinite(effect.mean)
    assert effect.sd > 0 or "em" in names
    lines = [note for note in effect.notes if "straight lines were used" in note]
    assert [note.severity for note in lines] == ["changes the answer"] * (names in LINES)
    assert names in LINES or all(OPTIONS[name].has(posterior) for name in names)


FALLEN_BACK = ("impute", "completed", "clusters", "open", "hidden", "vb", "paper", "known noise")


@pytest.mark.parametrize("name", [name for name in FALLEN_BACK if refused(("yes/no outcome", name))])
def test_the_way_out_of_a_yes_no_variable_works_where_there_were_lines_with_a_note(name):
    asked = told(("yes/no outcome", name))
    with pytest.raises(ad.AlldagsError, match=r"yes/no variable 'y' .* use families='normal'"):
        asked.fit()
    assert asked.fit(families="normal").effect("dose", "y").sd > 0


def test_a_yes_no_variable_with_gaps_is_not_imputed_as_a_number():
    asked = yes_no(study(), "y").saying(missing="impute", imputations=2)
    asked = asked.having(y=np.where(np.arange(ROWS) % 10 == 0, np.nan, asked.table["y"]))
    found = asked.fit()
    assert set(found.workings.data.table.column("y").tolist()) == {0.0, 1.0}
    assert found.effect("dose", "y").measure == "risk"
    assert asked.fit(families="normal").effect("dose", "y").sd > 0


# -- the table itself --------------------------------------------------------------------------------------------------


def test_every_row_is_of_known_capabilities_and_every_capability_is_walked():
    rows = {name for pair in meetings.MEETINGS for name in pair}
    assert rows <= meetings.CAPABILITIES.keys()
    walked = set().union(*(option.brings for option in OPTIONS.values()))
    questions = {"chosen rows", "checks", "placebo", "new unit", "population", "mean of set rows", "other rows"}
    questions |= {"mediation", "products", "several mediators", "scenarios", "posterior.do", "counterfactuals"}
    questions |= {"plan", "utility function", "sensitivity", "later steps", "joint traits", "next steps"}
    questions |= {"rules of the past", "values by number", "decisions", "written effects"}
    others = {"categories inside", "turned graphs", "uneven slabs", "differing pairs", "terms of levels"}
    assert meetings.CAPABILITIES.keys() - walked - questions == others


def test_the_page_is_made_from_the_table():
    page = (ROOT / "docs" / "reference" / "together.md").read_text(encoding="utf-8")
    assert meetings.page_with_table(page) == page, "run python -m alldags.meetings docs/reference/together.md"


PYTHON_ONLY = re.compile(r"\w='|\w=\W|\bad\.|\w\(")


@pytest.mark.parametrize("pair", meetings.MEETINGS, ids=lambda pair: " x ".join(sorted(pair)))
def test_the_command_line_is_not_told_python(pair):
    error = meetings.refusal(*pair, dict.fromkeys(pair, ("name",)))
    assert "do not go together: " in str(error)
    assert len(str(error)) < 400
    if pair.isdisjoint({"chosen rows", "population"}):  # which the command line does not ask
        assert not PYTHON_ONLY.search(error.on_command_line)
