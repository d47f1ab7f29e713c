"""What every effect keeps, whatever its kind: each public member works, or is refused by a sentence with a way out.

`STUDIES` has one fit of each kind, `ASKED` what is asked of each public member of an effect. A member that is in no
table fails: whoever adds one says here how it is asked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import alldags as ad
from alldags.answers.closed import ClosedAnswer
from alldags.answers.inner import InnerAnswer
from alldags.answers.pushed import PushedAnswer
from alldags.data.moments import Moments
from alldags.errors import AlldagsError, AlldagsWarning
from alldags.graph.candidate import CandidateGraph
from alldags.results.effect import Effect
from alldags.results.effect_checks import EffectChecks
from alldags.results.exports import EffectExports
from alldags.results.hidden import HiddenCauses
from alldags.results.plots import EffectPlots
from alldags.results.probability import Probability
from alldags.results.uncertainty import Uncertainty
from alldags.show.table import Table
from lines import fit

ROWS = 150
NAMES = ("age", "income", "treat", "between", "outcome")


# -- one study of each kind --------------------------------------------------------------------------------------------


@cache
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    age, income = rng.standard_normal((2, ROWS))
    treat = (rng.random(ROWS) < 1 / (1 + np.exp(-age))) * 1.0
    dose = 0.5 * age + rng.standard_normal(ROWS)
    between = 0.8 * treat + 0.5 * dose + 0.4 * age + rng.standard_normal(ROWS)
    outcome = 5.0 + 0.8 * treat + 0.6 * dose + 0.6 * between + 0.5 * age**2 + rng.standard_normal(ROWS)
    ill = (rng.random(ROWS) < 1 / (1 + np.exp(-0.7 * treat - 0.7 * between + 0.5))) * 1.0
    visits = rng.poisson(np.exp(0.3 * treat + 0.2 * between)) * 1.0
    chance = np.random.default_rng(8)
    time, until = chance.exponential(np.exp(0.5 * treat + 0.3 * between)), chance.exponential(3.0, ROWS)
    return {
        "time": np.minimum(time, until), "died": (time <= until) * 1.0,
        "age": age, "income": income, "treat": treat, "dose": dose, "between": between, "outcome": outcome, "ill": ill,
        "visits": visits, "site": rng.choice(list("pqr"), ROWS), "group": np.arange(ROWS) % 30,
        "arm": np.where(treat == 0, "none", np.where(dose > 0, "high", "low")),
        "weight": rng.uniform(1.0, 3.0, ROWS), "set": np.where(rng.random(ROWS) < 0.3, "between", ""),
        "gaps": np.where(rng.random(ROWS) < 0.1, np.nan, income),
    }  # fmt: skip


def table(**others: str) -> dict[str, np.ndarray]:
    """Return the study's columns, some of them replaced by others of the pool."""
    extra = {name: columns()[name] for name in ("site", "group", "weight", "set", "died")}
    return {name: columns()[others.get(name, name)] for name in NAMES} | extra


def graph(*first: str, within: float | None = None) -> CandidateGraph:
    inside = None if within is None else [None, None, within, None]
    middle = ["between"] if within is None else ["between", "income"]
    covariates = ["age", *first] if within is not None else ["age", "income", *first]
    return CandidateGraph.from_tiers([covariates, ["treat"], middle, ["outcome"]], within=inside)


DIRECT = CandidateGraph.from_tiers([["age", "income"], ["treat"], ["outcome"]])
TERMS = ad.Terms(curves=2, products=2)
SURVIVAL = {"outcome": ad.Survival(event="died")}


def fitted(columns: Any = None, where: Any = None, over: Any = "sample", **options: Any) -> Effect:
    given = table() if columns is None else columns
    options = {"families": "normal", "rng": 0} | options
    return fit(given, graph() if where is None else where, **options).effect("treat", "outcome", over=over)


def moments() -> Moments:
    return Moments.from_table({name: columns()[name] for name in NAMES})


STUDIES: dict[str, Callable[[], Effect]] = {
    "straight": fitted,
    "straight, a dose": lambda: fitted(table(treat="dose")),
    "straight, some rows": lambda: fitted(over=columns()["age"] > 0),
    "paper prior": lambda: fitted(prior=ad.Prior.paper()),
    "variational": lambda: fitted(engine="vb"),
    "clusters": lambda: fitted(cluster="group"),
    "sampling weights": lambda: fitted(weights="weight", weight_kind="sampling"),
    "imputed": lambda: fitted(table(income="gaps"), missing="impute", imputations=3),
    "imputed, hidden cause": lambda: fitted(
        table(income="gaps"), graph().with_hidden("treat", "outcome", 0.3), missing="impute", imputations=3
    ),
    "imputed, yes/no outcome": lambda: fitted(
        table(outcome="ill", income="gaps"), families="auto", missing="impute", imputations=3
    ),
    "imputed, curved outcome": lambda: fitted(
        table(income="gaps"), DIRECT, terms={"outcome": TERMS}, missing="impute", imputations=2
    ),
    "experiments": lambda: fitted(interventions="set"),
    "experiments, hidden cause": lambda: fitted(
        interventions="set", where=graph().with_hidden("treat", "outcome", 0.3)
    ),
    "category": lambda: fitted(where=graph("site")),
    "category, experiments": lambda: fitted(where=graph("site"), interventions="set"),
    "levels of a category": lambda: fitted(table(treat="arm")).contrast("none", "high"),
    "levels of a category, yes/no outcome": lambda: fitted(
        table(treat="arm", outcome="ill"), families="auto", over="population"
    ).contrast("none", "high"),
    "levels of a category, yes/no mediator": lambda: fitted(
        table(treat="arm", between="ill"), families="auto"
    ).contrast("low", "high"),
    "open block": lambda: fitted(where=graph(within=0.5)),
    "several graphs": lambda: fitted(where=[graph(), graph().without_edge("income", "outcome")]),
    "hidden cause": lambda: fitted(where=graph().with_hidden("treat", "outcome", 0.3)),
    "randomised": lambda: fitted(randomized="treat"),
    "no candidate path": lambda: fit(table(), graph(), families="normal", rng=0).effect("outcome", "treat"),
    "moments only": lambda: fitted(moments()),
    "heavy tails": lambda: fitted(families={"outcome": "student"}),
    "yes/no outcome": lambda: fitted(table(outcome="ill"), families="auto"),
    "yes/no outcome, treated": lambda: fitted(table(outcome="ill"), families="auto", over="treated"),
    "yes/no outcome, a dose": lambda: fitted(table(outcome="ill", treat="dose"), families="auto"),
    "yes/no outcome, several graphs": lambda: fitted(
        table(outcome="ill"),
        [graph(), graph().without_edge("treat", "outcome").without_edge("treat", "between")],
        families="auto",
    ),
    "count outcome": lambda: fitted(table(outcome="visits"), families={"outcome": "poisson"}),
    "survival time": lambda: fitted(table(outcome="time"), families=SURVIVAL),
    "survival time, a dose": lambda: fitted(table(outcome="time", treat="dose"), families=SURVIVAL, over="population"),
    "survival time, curves": lambda: fitted(table(outcome="time"), DIRECT, families=SURVIVAL, terms="auto"),
    "log hazard": lambda: study("survival time").on("log hazard"),
    "yes/no mediator": lambda: fitted(table(between="ill"), families="auto"),
    "count mediator": lambda: fitted(table(between="visits"), families={"between": "poisson"}),
    "log-odds": lambda: study("yes/no outcome").on("log odds"),
    "log rate": lambda: study("count outcome").on("log rate"),
    "straight line of a risk": lambda: study("yes/no outcome").checks.straight_line,
    "straight line of a curve": lambda: study("curve").checks.straight_line,
    "curve": lambda: fitted(where=DIRECT, terms={"outcome": TERMS}),
    "curve, some rows": lambda: fitted(where=DIRECT, terms={"outcome": TERMS}, over=columns()["age"] > 0),
    "curve of a dose": lambda: fitted(table(treat="dose"), DIRECT, terms={"outcome": TERMS}),
    "curve through a mediator": lambda: fitted(terms={"outcome": TERMS, "between": TERMS}),
    "curve of a dose through a mediator": lambda: fitted(
        table(treat="dose"), terms={"outcome": TERMS, "between": TERMS}, over="population"
    ),
    "given terms": lambda: fitted(terms={"outcome": ["age^2", "treat*between"]}),
}


@cache
def study(name: str) -> Effect:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlldagsWarning)
        return STUDIES[name]()


# -- what is asked -----------------------------------------------------------------------------------------------------


def closed(axes: Any) -> Any:
    """Close a picture that was drawn."""
    import matplotlib.pyplot as plt

    plt.close(axes.figure)
    return len(axes.get_children()) * 1.0


def two(effect: Effect) -> tuple[Any, Any]:
    """Return two values of the treatment."""
    return ("none", "high") if effect.treatment in effect.posterior.workings.data.categories else (0, 1)


def again(posterior: Any, effect: Effect, **options: Any) -> Effect:
    """Ask the same of another posterior."""
    found = posterior.effect(effect.treatment, effect.outcome, **options)
    return found.contrast("none", "high") if two(effect) == ("none", "high") else found


def both(effect: Effect) -> Any:
    return effect.do(two(effect)[1], draws_size=60)


def others(effect: Effect) -> Any:
    """Ask of other rows, of which causes are known."""
    rows = {name: columns()[name][:20] for name in ("age", "income", "site")}
    asked = again(effect.posterior, effect, over=rows)
    return asked.mean, asked.sd, asked.do(two(effect)[1]).mean.draws[:5], asked.do(two(effect)[1]).new_unit.sd


def report(effect: Effect) -> str:
    target = Path(os.environ["PYTEST_CONTRACT_FOLDER"]) / "report.html"
    effect.report(target)
    return target.read_text(encoding="utf-8")[:200]


def details(effect: Effect) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        effect.details()
    return printed.getvalue()


def saved(effect: Effect) -> float:
    target = Path(os.environ["PYTEST_CONTRACT_FOLDER"]) / "study.npz"
    effect.posterior.save(target)
    return float(again(ad.load(target), effect).mean)


Ask = Callable[[Effect], Any]
CALLS: dict[str, Ask] = {
    "do": lambda e: (both(e).mean.draws, both(e).mean.interval(), float(both(e).mean), repr(both(e))),
    "contrast": lambda e: (e.contrast(*two(e)).mean, e.contrast(*two(e)).sd, e.contrast(*two(e)).interval()),
    "counterfactual": lambda e: e.counterfactual([0, 1], two(e)),
    "contrasts": lambda e: (e.contrasts().table, e.contrasts().probability_best, str(e.contrasts())),
    "by": lambda e: e.by({name: columns()[name][:4] for name in NAMES}),
    "curve": lambda e: e.curve(two(e)),
    "draws": lambda e: e.draws(50, rng=1),
    "edge_influence": lambda e: e.edge_influence(),
    "interval": lambda e: e.interval(0.8),
    "along": lambda e: e.along([e.treatment, "between", e.outcome]).draws,
    "mediation": lambda e: (str(e.mediation(["between"])), e.mediation(["between"], "interventional").table()),
    "paths": lambda e: e.paths(5),
    "plot": lambda e: closed(e.plot()),
    "report": report,
    "details": details,
    "sensitivity": lambda e: str(e.sensitivity(draws=500)),
    "summary": lambda e: e.summary(0.9),
    "on": lambda e: e.on("difference").mean,
    "next_steps": lambda e: str(e.next_steps(rows=[50], edges=None, experiments=(), futures=2)),
}
SCALES: dict[str, Ask] = {
    f"on {scale}": lambda e, scale=scale: (e.on(scale).mean, e.on(scale).sd, e.on(scale).interval())  # type: ignore[misc]
    for scale in ("ratio", "odds ratio", "hazard ratio", "log odds", "log rate", "log hazard", "standardized")
}
GROUPED: dict[str, Ask] = {  # methods of the groups `Effect.uncertainty`, `.probability`, `.checks` and `.to`
    "uncertainty.expected_loss": lambda e: e.uncertainty.expected_loss(0.5),
    "uncertainty.interval_error": lambda e: e.uncertainty.interval_error(0.8),
    "uncertainty.widened": lambda e: e.uncertainty.widened(np.arange(5.0)),
    "uncertainty.widened_level": lambda e: e.uncertainty.widened_level(np.linspace(0.1, 0.2, 5)),
    "probability.above": lambda e: e.probability.above(0.1),
    "probability.modifiers": lambda e: e.probability.modifiers(),
    "probability.levels": lambda e: e.probability.levels(),
    "checks.placebo": lambda e: e.checks.placebo(3, rng=1).means,
    "checks.stability": lambda e: e.checks.stability(),
    "to.datatree": lambda e: e.to.datatree(40, rng=1)["posterior"]["effect"].values,
    "to.dict": lambda e: e.to.dict(),
    "to.latex": lambda e: e.to.latex(),
    "to.markdown": lambda e: e.to.markdown(),
    "to.sentence": lambda e: (e.to.sentence(), e.to.sentence("methods")),
}
MORE: dict[str, Ask] = {  # beside the members themselves
    "do, a new unit": lambda e: (both(e).new_unit.mean, both(e).new_unit.sd, both(e).new_unit.interval(), both(e)),
    "print": str,
    "repr": repr,
    "html": lambda e: e._repr_html_(),
    "maketables": lambda e: (e.__maketables_coef_table__.to_numpy().ravel()[:2].tolist(), e.__maketables_depvar__),
    "save": saved,
    "over": lambda e: again(e.posterior, e, over="population").do(two(e)[1]).mean.sd,
    "survival curves": lambda e: (
        e.survival.at(1.0).mean,
        e.survival.table([0.5, 1.0]),
        e.survival.restricted_mean(1.0).sd,
    ),
    "by a column": lambda e: e.by("age"),
    "minus": lambda e: both(e).minus(e.do(two(e)[0], draws_size=60)).interval(),
    "other rows": others,
    "several at once": lambda e: e.posterior.do(
        {e.treatment: two(e)[1], "age": 0.0}, outcome=e.outcome
    ).mean.interval(),
}
PICTURES: dict[str, Ask] = {
    "paths": lambda e: e.plots.paths(),
    "influence": lambda e: e.plots.influence(),
    "given_effect": lambda e: e.plots.given_effect(),
    "graph": lambda e: e.plots.graph(),
    "spread": lambda e: e.plots.spread(),
    "do": lambda e: e.plots.do(two(e)),
    "compared": lambda e: e.plots.compared({"again": e}),
    "curve": lambda e: e.plots.curve(two(e)),
    "rows": lambda e: e.plots.rows("age", {name: columns()[name][:9] for name in NAMES}),
}
ALWAYS = {  # never refused
    "mean", "sd", "median", "interval", "draws", "contrast", "summary", "to.sentence", "print", "repr", "html", "notes",
    "to.dict", "to.latex", "to.markdown", "uncertainty.converged", "uncertainty.mean_error", "report", "details",
    "save", "plot",
}  # fmt: skip
GROUPS = {
    "uncertainty": Uncertainty,
    "probability": Probability,
    "checks": EffectChecks,
    "to": EffectExports,
    "hidden": HiddenCauses,
}
RECORDS = {"posterior", "plots", "workings", "answer", *GROUPS}
INSIDE = {f"{group}.effect" for group in GROUPS} | {
    f"uncertainty.{name}" for name in ("clusters", "sample", "stretch", "jackknife_or_reason")
}
REFITS = {"checks.stability", "checks.placebo", "report", "save", "over", "other rows", "by a column"}
WITHOUT = {  # questions that take seconds, and that a study of the same kind is asked
    **dict.fromkeys(("straight, a dose", "straight, some rows", "randomised", "straight line of a curve"), REFITS),
    **dict.fromkeys(("curve, some rows", "curve of a dose through a mediator"), REFITS),
    **dict.fromkeys(("yes/no outcome, treated", "yes/no outcome, a dose"), REFITS),
    "imputed, hidden cause": REFITS,
    "experiments, hidden cause": REFITS - {"over"},
    "hidden cause": {"checks.stability", "checks.placebo"},
    "clusters": {"checks.stability", "report", "over"},
    **{
        name: {"checks.stability"}
        for name in ("curve", "curve of a dose", "count mediator", "yes/no outcome, several graphs")
    },
    "curve through a mediator": {"checks.stability", "checks.placebo"},
}


def members(effect: Effect) -> list[str]:
    """Return the public members of an effect, and those that other kinds have."""
    every = {name for kind in map(type, map(study, STUDIES)) for name in dir(kind)}
    grouped = {f"{group}.{name}" for group, kind in GROUPS.items() for name in dir(kind)} - INSIDE
    return sorted(name for name in every | set(vars(effect)) | grouped if not re.search(r"(^|\.)_", name))


# -- what is expected --------------------------------------------------------------------------------------------------


def numbers(found: Any) -> Iterator[float]:
    """Yield the plain numbers in an answer."""
    if isinstance(found, bool | str) or found is None:
        return
    if isinstance(found, int | float | np.number):
        yield float(found)
    elif isinstance(found, np.ndarray):
        yield from map(float, found.ravel())
    elif isinstance(found, Table):
        yield from (value for name in found.columns for value in numbers(list(found[name])))
    elif isinstance(found, Mapping):
        yield from (value for item in found.values() for value in numbers(item))
    elif dataclasses.is_dataclass(found):
        yield from (value for field in dataclasses.fields(found) for value in numbers(getattr(found, field.name)))
    elif isinstance(found, list | tuple | set):
        yield from (value for item in found for value in numbers(item))


UNKNOWN = {"direct", "edge_influence", "summary", "to.dict", "checks.stability"}  # what does not exist is nan there
ENDLESS = {"summary", "to.dict", "on ratio", "on odds ratio"}  # or infinite
SHORT = {"treatment", "outcome", "measure", "over", "repr", "maketables", "uncertainty.converged"}


PARTS = ("structure", "coefficients", "missing", "direction", "hidden", "mean_error", "mean_bound")


def check_answer(name: str, found: Any) -> None:
    values = list(numbers(found))
    if name not in UNKNOWN:
        assert not any(math.isnan(value) for value in values), f"{name}: {found}"
    if name not in UNKNOWN | ENDLESS:
        assert all(math.isfinite(value) for value in values), f"{name}: {found}"
    if isinstance(found, str) and name not in SHORT:
        assert found, name
        assert "nan" not in found.lower().split(), f"{name}: {found}"
    if name.startswith("probability") and name != "probability.open_pairs" and values:
        assert all(0.0 <= value <= 1.0 for value in values), f"{name}: {found}"
    if name in ("sd", *(f"uncertainty.{part}" for part in PARTS)) and values:
        assert all(value >= 0.0 for value in values), f"{name}: {found}"


WAY = re.compile(r"\b(use|ask|see|fit|give|make|leave|keep|say|compare|add)\b")


def check_refusal(name: str, error: Exception) -> None:
    text = str(error)
    assert len(text.split()) >= 5, f"{name}: {text}"
    if WAY.search(text) is None:
        raise AssertionError(f"{name} names no way out: {text}")


def tried(name: str, ask: Ask, effect: Effect) -> str:
    """Return what went wrong with a question; nothing if it was answered, or refused well."""
    try:
        check_answer(name, ask(effect))
    except AssertionError as error:
        return str(error) or f"{name}: AssertionError inside"
    except (AlldagsError, AttributeError) as error:
        if name in ALWAYS:
            return f"{name} is refused: {error}"
        try:
            check_refusal(name, error)
        except AssertionError as poor:
            return str(poor)
    except Exception as error:  # the contract is that there is no other
        return f"{name}: {type(error).__name__}: {error}"
    return ""


def asked_of(name: str) -> Ask | None:
    """Return how a public member is asked; None for a record with a contract of its own."""
    if name in RECORDS:
        return None
    return (CALLS | GROUPED).get(name) or attrgetter(name)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_every_member_works_or_is_refused_by_a_sentence_with_a_way_out(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_CONTRACT_FOLDER", str(tmp_path))
    effect = study(name)
    questions = {member: ask for member in members(effect) if (ask := asked_of(member)) is not None}
    questions |= MORE | SCALES
    questions = {key: ask for key, ask in questions.items() if key not in WITHOUT.get(name, ())}
    wrong = [said for key, ask in questions.items() if (said := tried(key, ask, effect))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_every_picture_is_drawn_or_refused_by_a_sentence_with_a_way_out(name):
    effect = study(name)
    wrong = [said for key, ask in PICTURES.items() if (said := tried(key, lambda e, ask=ask: closed(ask(e)), effect))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_draws_have_the_mean_and_the_spread_that_are_stated(name):
    effect, size = study(name), 1500
    draws = effect.draws(size)
    assert draws.shape == (size,)
    assert draws.mean() == pytest.approx(
        effect.mean, abs=6 * effect.sd / math.sqrt(size) + 6 * effect.uncertainty.mean_error
    )
    assert draws.std() == pytest.approx(effect.sd, rel=0.25, abs=1e-12)
    low, high = effect.interval(0.95)
    assert low <= np.median(draws) + 0.2 * effect.sd
    assert high >= np.median(draws) - 0.2 * effect.sd


NO_SENSITIVITY = {
    "open block", "no candidate path", "log-odds", "log rate", "survival time", "survival time, a dose",
    "survival time, curves", "log hazard",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_how_strong_a_hidden_cause_would_have_to_be_is_said_of_every_kind_of_effect(name):
    effect = study(name)
    if name in NO_SENSITIVITY:
        with pytest.raises(AlldagsError):
            effect.sensitivity()
        return
    found = effect.sensitivity(draws=1000)
    mean, interval = found.robustness().value, found.robustness(0.95).value
    assert 0.0 <= interval <= mean <= 1.0
    answer, plain = found.at(0.1, 0.1), effect._without_hidden
    assert abs(answer.mean) < abs(plain.mean)
    jumps = abs(found.at(1e-6, 1e-6).mean - plain.mean) > 0.25 * plain.sd
    assert jumps == ("cause of next to no strength" in str(found).replace("\n", " "))
    assert not jumps or name == "variational"
    assert found.given(ad.Strength()).sd > 0.99 * plain.sd


def test_a_new_method_has_an_entry_in_the_table():
    """Methods are called with arguments that make sense of them; properties need no entry."""
    kinds = {type(study(name)) for name in STUDIES}
    methods = {
        name
        for kind in kinds
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name, None)) and name not in RECORDS
    }
    assert methods == set(CALLS), sorted(methods ^ set(CALLS))
    grouped = {
        f"{group}.{name}"
        for group, kind in GROUPS.items()
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name))
    }
    assert grouped == set(GROUPED), sorted(grouped ^ set(GROUPED))
    pictures = {name for name in dir(EffectPlots) if not name.startswith("_") and name != "effect"}
    assert pictures == set(PICTURES)


def test_no_class_that_users_hold_has_more_than_40_public_members():
    for kind in (Effect, ad.Posterior, EffectPlots, *GROUPS.values()):
        names = [name for name in dir(kind) if not name.startswith("_")]
        assert len(names) <= 40, (kind.__name__, len(names))


def test_there_is_one_class_of_effects_and_each_kind_of_answer():
    assert not Effect.__subclasses__()
    assert {type(study(name).answer) for name in STUDIES} == {ClosedAnswer, InnerAnswer, PushedAnswer}
