"""What must not matter, for every option and family: order of rows, names, units, copies, threads, files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import alldags as ad
from test_meetings import NAMES, OPTIONS, ROWS, Study, refused, told

CHANCE = {  # answers that are drawn or sampled, with the standard deviations by which two runs may differ
    "yes/no outcome": 0.1, "yes/no mediator": 0.1, "count": 0.1, "survival": 0.15, "heavy tails": 0.15,
    "log-normal": 0.1, "gamma": 0.1, "amount between": 0.1, "grade": 0.1, "grade between": 0.1,
    "hurdle between": 0.1, "levels between": 0.1, "curves": 0.1, "impute": 0.35, "gibbs": 0.3, "mcmc": 0.15,
    "hidden": 0.1,
}  # fmt: skip
SINGLE = [(), *((name,) for name in OPTIONS)]
UNITS_MATTER = {"paper", "known noise", "vb", "em", "gibbs", "k2", "full"}  # raw units, or priors that know them
ORDERED = {"time", "random intercepts"}
NO_FILE = {"completed", "moments", "impute", *ORDERED}  # rows of a file must stand in the order of time


@cache
def answer(names: tuple[str, ...]) -> tuple[float, float]:
    return asked(told(names))


def asked(study: Study, treatment: str = "dose", outcome: str = "y", **more: Any) -> tuple[float, float]:
    effect = lines(study).fit(**more).effect(treatment, outcome)
    return effect.mean, effect.sd


def lines(study: Study) -> Study:
    """Return a study of straight lines; test_default_answers.py has curves."""
    return study if "terms" in study.options else study.saying(terms=None)


def is_same(found: tuple[float, float], names: tuple[str, ...], factor: float = 1.0) -> None:
    mean, sd = answer(names)
    chance = max((CHANCE.get(name, 0.0) for name in names), default=0.0)
    assert found[0] == pytest.approx(factor * mean, rel=1e-6, abs=(chance + 1e-6) * sd * abs(factor))
    assert found[1] == pytest.approx(abs(factor) * sd, rel=1e-5 + 2.0 * chance)


def each(names: tuple[str, ...], change: Callable[[np.ndarray], np.ndarray]) -> Study:
    study = told(names)
    return study.having(**{name: change(np.asarray(column)) for name, column in study.table.items()})


walk = pytest.mark.parametrize("names", SINGLE, ids=lambda names: " x ".join(names) or "plain")


@walk
def test_the_order_of_rows_does_not_matter(names):
    order = np.random.default_rng(5).permutation(ROWS)
    is_same(asked(each(names, lambda column: column[order])), names)


@walk
def test_the_order_of_columns_does_not_matter(names):
    study = told(names)
    is_same(asked(replace(study, table=dict(reversed(study.table.items())))), names)


HOSTILE = {
    "age": "âge, l'\"an\"", "income": "доход 1", "dose": "量\n2", "first": "first; drop table", "second": "a.b[c]",
    "y": "<y>", "region": "r e g", "site": "si|te", "wave": "w-ave", "count": "c%", "chance": "{chance}",
    "was_set": "was\tset", "seen": "s+",
}  # fmt: skip
PLAIN = {name: f"{name}_é" for name in HOSTILE}  # for terms, in which signs have a meaning


@dataclass(frozen=True)
class Renamed(Study):
    """A study under other names."""

    names: Any = None

    @property
    def graph(self) -> Any:
        graphs = super().graph
        several = graphs if isinstance(graphs, list) else [graphs]
        moved = [self._moved(graph) for graph in several]
        return moved if isinstance(graphs, list) else moved[0]

    def _moved(self, graph: ad.CandidateGraph) -> ad.CandidateGraph:
        new = self.names
        edges = {(new[a], new[b]): p for (a, b), p in graph.edges.items()}
        hidden = {(new[a], new[b]): p for (a, b), p in graph.hidden.items()}
        return ad.CandidateGraph(tuple(new[name] for name in graph.variables), edges, hidden=hidden)


def renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in names.items() if "*" in value or "(" in value else ():
            value = value.replace(old, new)
        return names.get(value, value)
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, ad.Survival):
        return ad.Survival(event=names["seen"])
    return [renamed(item, names) for item in value] if isinstance(value, list) else value


@walk
def test_names_do_not_matter(names):
    if "moments" in names:  # made in this walk from columns under their own names
        return
    study, new = told(names), PLAIN if "curves" in names else HOSTILE
    table = {new[name]: column for name, column in study.table.items()}
    table[new["was_set"]] = np.array([new.get(name, name) for name in study.table["was_set"]])
    moved = Renamed(table, study.shape, renamed(study.options, new), new)
    if "completed" in names:
        copies = ad.Imputed([table, table | {new["income"]: table[new["income"]] + 0.1}])
        effect = ad.fit(copies, moved.graph, terms=None, rng=0).effect(new["dose"], new["y"])
        is_same((effect.mean, effect.sd), names)
    else:
        is_same(asked(moved, new["dose"], new["y"]), names)


@walk
@pytest.mark.parametrize(("origin", "unit"), [(1e6, 1.0), (0.0, 1e-6), (0.0, 1e6)], ids=["shift", "small", "large"])
def test_origins_and_units_do_not_matter(names, origin, unit):
    if UNITS_MATTER & set(names):
        return
    study = told(names)
    if "curves" in names:  # a written product is one of these columns
        origin = 0.0
    moved = {name: origin + unit * study.table[name] for name in ("age", "dose", "second")}
    if {"amount between", "errors"} & set(names):
        moved.pop("second")
    before = lines(study).fit().effect("dose", "y").contrast(0.0, 1.0)
    after = lines(study.having(**moved)).fit().effect("dose", "y").contrast(origin, origin + unit)
    chance = max((CHANCE.get(name, 0.0) for name in names), default=0.0)
    assert after.mean == pytest.approx(before.mean, abs=(chance + 1e-6) * before.sd)
    assert after.sd == pytest.approx(before.sd, rel=1e-5 + 2.0 * chance)


WITH_WEIGHTS = [names for names in SINGLE if not set(names) & {
    "frequency", "sampling", "moments", "completed", "impute", "errors", *ORDERED
}]  # fmt: skip


@pytest.mark.parametrize("names", WITH_WEIGHTS, ids=lambda names: " x ".join(names) or "plain")
def test_rows_twice_are_rows_that_count_twice(names):
    study = told(names)
    two = lines(study.having(two=np.full(ROWS, 2)).saying(weights="two"))
    if refused((*names, "frequency")):
        with pytest.raises(ad.AlldagsError, match="weights"):
            _ = two.fit().effect("dose", "y").sd
        return
    counted = two.fit().effect("dose", "y")
    double = study.having(**{name: np.tile(column, 2) for name, column in study.table.items()})
    twice = lines(double).fit().effect("dose", "y")
    chance = max((CHANCE.get(name, 0.0) for name in names), default=0.0)
    assert counted.mean == pytest.approx(twice.mean, abs=(chance + 1e-6) * twice.answer.sd)
    assert counted.answer.sd == pytest.approx(twice.answer.sd, rel=1e-5 + 2.0 * chance)


@walk
def test_threads_change_no_digit(names):
    assert asked(told(names), n_jobs=2) == answer(names)


@walk
def test_what_is_saved_is_what_is_loaded(names, tmp_path):
    posterior = lines(told(names)).fit()
    before = posterior.effect("dose", "y")
    wanted = before.mean, before.answer.sd
    posterior.save(tmp_path / "kept.npz")
    effect = ad.load(tmp_path / "kept.npz").effect("dose", "y")
    assert (effect.mean, effect.answer.sd) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("names", [names for names in SINGLE if not NO_FILE & set(names)], ids=str)
def test_a_file_and_frames_are_the_table(names, tmp_path):
    study = lines(told(names))
    frame = pl.DataFrame({name: np.asarray(column) for name, column in study.table.items()})
    frame.write_parquet(tmp_path / "study.parquet")
    for source in (tmp_path / "study.parquet", frame, frame.to_pandas()):
        effect = ad.fit(source, study.graph, **{"rng": 0, **study.options}).effect("dose", "y")
        is_same((effect.mean, effect.sd), names)


LAZY = ("not robust", "graphs", "hidden", "open", "category", "experiments", "clusters", "frequency")


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_frame_is_the_table(name):
    study = lines(told((name,)))
    frame = pl.LazyFrame({key: np.asarray(column) for key, column in study.table.items()})
    effect = ad.fit(frame, study.graph, **{"rng": 0, **study.options}).effect("dose", "y")
    assert effect.mean == pytest.approx(answer((name,))[0], rel=1e-6)


def test_every_option_is_walked():
    assert set(OPTIONS) >= CHANCE.keys() | UNITS_MATTER | ORDERED | (NO_FILE - {"impute"})
    assert set(NAMES) <= HOSTILE.keys()


@pytest.mark.parametrize("name", ["plain", "yes/no outcome", "count", "grade", "survival", "clusters", "experiments"])
def test_rows_of_weight_zero_are_no_rows(name):
    study = told(() if name == "plain" else (name,))
    out = np.random.default_rng(3).random(ROWS) < 0.2
    without = study.having(**{key: np.asarray(column)[~out] for key, column in study.table.items()})
    zero, one = np.where(out, 0, 1), np.ones(int((~out).sum()), dtype=int)
    found = [lines(each.having(own=own).saying(weights="own")).fit().effect("dose", "y")
             for each, own in ((study, zero), (without, one))]  # fmt: skip
    assert found[0].mean == pytest.approx(found[1].mean, rel=1e-8)
    assert found[0].sd == pytest.approx(found[1].sd, rel=1e-6)  # as the rows say, too
