"""``python -m calibration.next_steps [--only futures|halves|triple]``: is what `Effect.next_steps` expects what comes?

``futures``: studies whose graph and coefficients were drawn; each step is taken in truth, and the squared error of the
effect afterwards is compared with the variance that was expected. ``halves``: rows until the standard deviation of an
effect is half, in the experiment that is recommended and in one by lot. ``triple``: a chain, its reverse and a fork
that no observation tells apart, two rows an experiment; experiments until the true one has 90%.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.futures.steps import Ahead
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown

FIRST_SEED = 110_000
Table = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Truth:
    """A network: coefficients, row = cause, shape (m, m), of normal variables with noise of variance one."""

    names: tuple[str, ...]
    coefficients: FloatArray

    def rows(self, count: int, rng: np.random.Generator, setting: dict[str, FloatArray] | None = None) -> Table:
        """Return rows, with some variables set."""
        found: Table = {}
        for place, name in enumerate(self.names):
            noise = rng.standard_normal(count)
            given = sum(
                (found[cause] * self.coefficients[i, place] for i, cause in enumerate(self.names[:place])), noise
            )
            found[name] = (setting or {}).get(name, given)
        return found

    def effect(self, cause: str, effect: str) -> float:
        """Return the total effect."""
        whole = np.linalg.inv(np.eye(len(self.names)) - self.coefficients)
        return float(whole[self.names.index(cause), self.names.index(effect)])


def network(rng: np.random.Generator, variables: int, probability: float = 0.5, size: float = 0.5) -> Truth:
    """Return a network in a known order."""
    edges = np.triu(rng.random((variables, variables)) < probability, 1)
    return Truth(tuple(f"x{i}" for i in range(variables)), edges * rng.normal(0.0, size, edges.shape))


def joined(tables: Sequence[Table]) -> Table:
    """Return all rows of several tables."""
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def two_values(column: FloatArray, count: int) -> FloatArray:
    """Return the 5% and 95% points of a normal column, each in half of some rows."""
    half = 1.6448536 * column.std(ddof=1)
    return np.asarray(column.mean() + np.where(np.arange(count) % 2 == 0, -half, half))


# -- what is expected, and what comes ----------------------------------------------------------------------------------

OBSERVED, MORE, STRENGTH = 80, 80, 0.15


@dataclass(frozen=True)
class Future:
    """A step in one study: what was expected of the effect's variance, what it became, and the squared error."""

    kind: str
    seed: int
    now: float
    expected: float
    became: float
    error: float


def taken(task: tuple[str, int]) -> list[Future]:
    """Take a step in truth."""
    kind, seed = task
    rng = np.random.default_rng([seed, 0])
    truth = network(rng, 5)
    graph = ad.CandidateGraph.from_order(truth.names, 0.5)
    cause, effect = "x1", "x4"
    table = truth.rows(OBSERVED, rng)
    if kind == "measure":
        return [_measured(seed, rng)]
    if kind.endswith("yes/no"):
        return [_yes_no(kind, seed, rng)]
    posterior = ad.fit(table, graph, terms=None, robust=False, rng=seed)
    asked = posterior.effect(cause, effect)
    ahead = Ahead(asked, 8)
    if kind in ("rows", "rows, first order"):
        later = joined([table, truth.rows(MORE, rng)])
        expected = _first_order(asked, None) if "first" in kind else ahead.rows(MORE).sd
        after = ad.fit(later, graph, terms=None, robust=False, rng=seed).effect(cause, effect)
    elif kind in ("experiment", "experiment, first order"):
        name = str(rng.choice(truth.names[:4]))
        new = truth.rows(MORE, rng, {name: two_values(table[name], MORE)})
        where = np.repeat(["", name], [OBSERVED, MORE])
        expected = _first_order(asked, name) if "first" in kind else ahead.experiment(name, MORE).sd
        after = ad.fit(
            joined([table, new]), graph, interventions=where, terms=None, robust=False, rng=seed
        ).effect(cause, effect)  # fmt: skip
    else:
        edges = [edge for edge in graph.edges if edge[1] in ("x2", "x3", "x4")]
        edge = edges[rng.integers(len(edges))]
        (step,) = ahead.edges(list(asked.edge_influence().rows()), [edge])
        there = truth.coefficients[truth.names.index(edge[0]), truth.names.index(edge[1])] != 0.0
        known = graph.with_edge(*edge, 1.0) if there else graph.without_edge(*edge)
        after = ad.fit(table, known, terms=None, robust=False, rng=seed).effect(cause, effect)
        expected = step.sd
    wrong = (after.mean - truth.effect(cause, effect)) ** 2
    return [Future(kind, seed, asked.sd**2, expected**2, after.sd**2, wrong)]


def _first_order(asked: ad.Effect, variable: str | None) -> float:
    from alldags.futures.linear import Linear
    from alldags.futures.moments import Design

    design = Design(MORE) if variable is None else Design(MORE, variable, *Ahead(asked)._ends(variable))
    return asked.sd * float(np.sqrt(Linear(asked).share_left(design)))


def _measured(seed: int, rng: np.random.Generator) -> Future:
    """Measure a common cause that explains a share of what covariates leave of treatment and outcome."""
    load = np.sqrt(STRENGTH / (1.0 - STRENGTH))
    w, u = rng.standard_normal(OBSERVED), rng.standard_normal(OBSERVED)
    t = 0.5 * w + load * u + rng.standard_normal(OBSERVED)
    left = np.sqrt(1.0 - STRENGTH)  # of the cause, given the treatment
    effect = float(rng.normal(0.0, 0.5))
    y = effect * t + 0.5 * w + rng.choice([-1.0, 1.0]) * load / left * u + rng.standard_normal(OBSERVED)
    table = {"w": w, "t": t, "y": y}
    asked = ad.effect(table, treatment="t", outcome="y", confounders=["w"], terms=None, robust=False, rng=seed)
    strength = ad.Strength(r2_treatment=STRENGTH, r2_outcome=STRENGTH)
    step = Ahead(asked).measurement("u", strength, asked.sensitivity().given(strength).sd)
    after = ad.effect(
        {**table, "u": u}, treatment="t", outcome="y", confounders=["w", "u"], terms=None, robust=False, rng=seed
    )
    return Future("measure", seed, step.before**2, step.sd**2, after.sd**2, (after.mean - effect) ** 2)


YES_NO = 200  # rows at hand, and to come


def _yes_no(kind: str, seed: int, rng: np.random.Generator) -> Future:
    """Take a step in a study with a yes/no outcome, whose rows are drawn."""
    truth = network(rng, 4, size=0.7)
    slopes = rng.normal(0.0, 0.7, 4) * (rng.random(4) < 0.5)
    graph = ad.CandidateGraph.from_order([*truth.names, "y"], 0.5)

    def drawn(setting: Table | None = None) -> Table:
        found = truth.rows(YES_NO, rng, setting)
        eta = sum(slope * found[name] for slope, name in zip(slopes, truth.names, strict=True))
        return {**found, "y": (rng.logistic(size=YES_NO) < eta).astype(float)}

    table = drawn()
    options: dict[str, Any] = {"terms": None, "robust": False, "rng": seed}
    asked = ad.fit(table, graph, **options).effect("x1", "y")
    ahead = Ahead(asked, 8)
    if kind.startswith("rows"):
        expected, new, where = ahead.rows(YES_NO).sd, drawn(), {}
    else:
        name = str(rng.choice(truth.names[1:]))
        expected, new = ahead.experiment(name, YES_NO).sd, drawn({name: two_values(table[name], YES_NO)})
        where = {"interventions": np.repeat(["", name], YES_NO)}
    after = ad.fit(joined([table, new]), graph, **where, **options).effect("x1", "y")
    return Future(kind, seed, asked.sd**2, expected**2, after.sd**2, (after.mean - _risk(truth, slopes)) ** 2)


def _risk(truth: Truth, slopes: FloatArray) -> float:
    """Return what one more unit of x1 does to the probability of yes, by 200,000 rows."""
    rows = truth.rows(200_000, np.random.default_rng(0))
    eta = sum(slope * rows[name] for slope, name in zip(slopes, truth.names, strict=True))
    moved = sum(slope * truth.effect("x1", name) for slope, name in zip(slopes, truth.names, strict=True))
    return float((1.0 / (1.0 + np.exp(-eta - moved)) - 1.0 / (1.0 + np.exp(-eta))).mean())


FUTURES = ("rows", "rows, first order", "experiment", "experiment, first order", "edge", "measure")
DRAWN = ("rows, yes/no", "experiment, yes/no")


def futures_table(found: Sequence[Future]) -> str:
    """Return mean squares by kind of step."""
    rows = []
    for kind in (*FUTURES, *DRAWN):
        items = [item for item in found if item.kind == kind]
        if items:
            now, expected, became, error = (
                float(np.mean([getattr(item, name) for item in items]))
                for name in ("now", "expected", "became", "error")
            )
            rows.append([kind, str(len(items)), *(f"{x:.5f}" for x in (now, expected, became, error)),
                         f"{expected / became:.3f}", f"{expected / error:.3f}"])  # fmt: skip
    heads = ["step", "studies", "variance now", "expected", "became", "squared error", "expected / became", "/ error"]
    return markdown(heads, rows)


# -- rows until half ---------------------------------------------------------------------------------------------------

SIZES = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)


@dataclass(frozen=True)
class Half:
    """Rows until the standard deviation is half, in the experiment recommended and on average over all."""

    seed: int
    recommended: float
    by_lot: float


def halved(seed: int) -> list[Half]:
    """Do every experiment in one truth."""
    rng = np.random.default_rng([seed, 1])
    truth = network(rng, 8)
    graph = ad.CandidateGraph.from_order(truth.names, 0.5)
    table = truth.rows(200, rng)
    asked = ad.fit(table, graph, terms=None, rng=seed).effect("x2", "x7")
    found = asked.next_steps(experiments=list(truth.names[:7]), rows=(), edges=None)
    needed = {name: _until_half(truth, table, graph, name, asked.sd, rng) for name in truth.names[:7]}
    best = found.best.words.removeprefix("experiment on ").split(",")[0]
    return [Half(seed, needed[best], float(np.mean(list(needed.values()))))]


def _until_half(
    truth: Truth, table: Table, graph: ad.CandidateGraph, name: str, sd: float, rng: np.random.Generator
) -> float:
    """Return the rows of an experiment until the standard deviation is half, between two sizes on a log scale."""
    new = truth.rows(SIZES[-1], rng, {name: two_values(table[name], SIZES[-1])})
    last = 0.0, 1.0
    for size in SIZES:
        both = joined([table, {key: column[:size] for key, column in new.items()}])
        where = np.repeat(["", name], [200, size])
        ratio = ad.fit(both, graph, interventions=where, terms=None, robust=False).effect("x2", "x7").sd / sd
        if ratio <= 0.5:
            share = (last[1] - 0.5) / (last[1] - ratio)
            return float(np.exp(np.log(max(last[0], 5.0)) * (1 - share) + np.log(size) * share))
        last = float(size), ratio
    return float(SIZES[-1])


def halves_table(found: Sequence[Half]) -> str:
    """Return rows until half."""
    best, lot = (np.array([getattr(item, name) for item in found]) for name in ("recommended", "by_lot"))
    row = [str(len(found)), f"{best.mean():.0f}", f"{lot.mean():.0f}", f"{best.mean() / lot.mean():.2f}",
           f"{np.median(best / lot):.2f}"]  # fmt: skip
    return markdown(["truths", "rows, recommended", "rows, by lot", "ratio", "median ratio"], [row])


# -- chain, reverse, fork ----------------------------------------------------------------------------------------------

WAYS = {"chain": [("a", "b"), ("b", "c")], "reverse": [("c", "b"), ("b", "a")], "fork": [("b", "a"), ("b", "c")]}
MOST, OBSERVED_TRIPLE = 60, 1000


@dataclass(frozen=True)
class Triple:
    """Experiments of two rows until the true graph has 90%."""

    chosen: str
    seed: int
    experiments: int


def told_apart(task: tuple[str, int]) -> list[Triple]:
    """Do experiments, chosen or by lot, until the true graph has 90%."""
    chosen, seed = task
    rng = np.random.default_rng([seed, 2])
    true = sorted(WAYS)[seed % 3]
    order = {"chain": "abc", "reverse": "cba", "fork": "bac"}[true]
    b = np.zeros((3, 3))
    for cause, effect in WAYS[true]:
        b[order.index(cause), order.index(effect)] = 0.5
    truth = Truth(tuple(order), b)
    graphs = [ad.CandidateGraph(tuple("abc"), dict.fromkeys(edges, 1.0)) for edges in WAYS.values()]
    tables, where = [truth.rows(OBSERVED_TRIPLE, rng)], [""] * OBSERVED_TRIPLE
    for count in range(MOST + 1):
        stream = np.random.default_rng([seed, 3, count])  # chance of its own at each choice
        posterior = ad.fit(joined(tables), graphs, interventions=np.array(where), terms=None, robust=False, rng=stream)
        if posterior.graph_probabilities[list(WAYS).index(true)] >= 0.9:
            return [Triple(chosen, seed, count)]
        name = str(rng.choice(list("abc"))) if chosen == "by lot" else _informative(posterior)
        tables.append(truth.rows(2, rng, {name: two_values(tables[0][name], 2)}))
        where += [name, name]
    return [Triple(chosen, seed, MOST + 1)]


def _informative(posterior: ad.Posterior) -> str:
    """Return the variable whose experiment says most of the graphs."""
    asked = posterior.effect("a", "c")
    steps = asked.next_steps(dict.fromkeys("abc", 2), rows=(), edges=None, goal="graphs", futures=32)
    return steps.best.words.removeprefix("experiment on ")[0]


def triple_table(found: Sequence[Triple]) -> str:
    """Return mean numbers of experiments."""
    rows = []
    for chosen in ("recommended", "by lot"):
        numbers = np.array([item.experiments for item in found if item.chosen == chosen])
        if len(numbers):
            error = numbers.std(ddof=1) / np.sqrt(len(numbers))
            rows.append(
                [chosen, str(len(numbers)), f"{numbers.mean():.2f}", f"{error:.2f}", f"{np.median(numbers):.0f}"]
            )
    return markdown(["experiment", "runs", "experiments to 90%", "s.e.", "median"], rows)


def main() -> None:
    """Run what is missing and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", choices=("", "futures", "halves", "triple"))
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--truths", type=int, default=50)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts: dict[str, tuple[Any, Any, dict[Key, Any], Any]] = {
        "futures": (Future, taken, {(k, s): (k, s) for k, s in _studies(options.studies)}, futures_table),
        "halves": (Half, halved, {(s,): s for s in _seeds(options.truths)}, halves_table),
        "triple": (
            Triple, told_apart,
            {(c, s): (c, s) for s in _seeds(options.runs) for c in ("recommended", "by lot")}, triple_table,
        ),
    }  # fmt: skip
    for name, (record, job, tasks, table) in parts.items():
        if options.only in ("", name):
            path = FOLDER / f"next_steps_{name}.csv"
            keep.run(path, record, job, tasks, n_jobs=options.n_jobs, digits=".6g")
            text = table(keep.read(path, record))
            print(text)
            write_text(path.with_suffix(".md"), text + "\n")


def _studies(count: int) -> list[tuple[str, int]]:
    """Return all studies; where rows are drawn and fitted, a tenth of them."""
    return [
        *((kind, seed) for seed in _seeds(count) for kind in FUTURES),
        *((kind, seed) for seed in _seeds(count // 10) for kind in DRAWN),
    ]


def _seeds(count: int) -> range:
    return range(FIRST_SEED, FIRST_SEED + count)


if __name__ == "__main__":
    main()
