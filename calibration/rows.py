"""Missing values, experiments, clusters and uneven noise: do answers hold what they promise?

Run with ``python -m calibration.rows [--sets 200]``. Each study simulates tables whose effect is known and asks in
several ways; the table lists bias, root mean squared error, coverage of 95% intervals and their width.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep, lines
from calibration.keep import FOLDER, Key
from calibration.uneven import STUDIES as UNEVEN

Answer = tuple[float, float, float]
"""Estimate, and the ends of its 95% interval."""


def _ask(effect: ad.Effect) -> Answer:
    return effect.mean, *effect.interval(0.95)


# -- missing values --------------------------------------------------------------------------------------------------

NAMES = ("c1", "c2", "c3", "x", "m", "y")
GRAPH = ad.CandidateGraph.from_tiers([["c1", "c2", "c3"], ["x"], ["m"], ["y"]], 0.5)
EFFECT_WITH_HOLES = 0.4 + 0.6 * 0.5


def with_holes(rng: np.random.Generator, rows: int = 300) -> tuple[FloatArray, FloatArray]:
    """Return a table of three correlated confounders, treatment, mediator and outcome, and the same with holes.

    A fifth of two confounders' and of the mediator's values is missing, depending on the outcome.
    """
    c = rng.standard_normal((rows, 3)) @ np.linalg.cholesky(0.5 * np.eye(3) + 0.5).T
    x = c @ [0.6, 0.4, 0.0] + rng.standard_normal(rows)
    m = 0.6 * x + 0.3 * c[:, 2] + rng.standard_normal(rows)
    y = 0.4 * x + 0.5 * m + c @ [0.7, 0.0, 0.3] + rng.standard_normal(rows)
    table = np.column_stack([c, x, m, y])
    holes = table.copy()
    standard = (y - y.mean()) / y.std()
    for column, sign in ((0, 1.0), (4, 1.0), (2, -1.0)):
        chance = 1.0 / (1.0 + np.exp(1.9 - 1.5 * sign * standard))
        holes[rng.random(rows) < chance, column] = np.nan
    return table, holes


def missing_values(seed: int) -> dict[str, Answer]:
    """Ask with all values, with complete rows only, and with imputed ones."""
    table, holes = with_holes(np.random.default_rng(seed))
    fits = {
        "all values (not to be had)": lines.fit(table, GRAPH, names=NAMES, rng=seed),
        "complete rows": lines.fit(holes, GRAPH, names=NAMES, rng=seed, missing="drop"),
        "imputed 20 times": lines.fit(holes, GRAPH, names=NAMES, rng=seed, missing="impute"),
    }
    return {name: _ask(fit.effect("x", "y")) for name, fit in fits.items()}


# -- experiments -----------------------------------------------------------------------------------------------------

DO_GRAPH = ad.CandidateGraph.from_order(["z", "x", "m", "y"], 0.5)
DO_VALUE, DO_TRUTH = 1.0, 2.0 - 1.0 * (1.0 + 0.8 * 1.0) + 0.5 * 1.0 + 0.6 * 0.0


def experiment(rng: np.random.Generator, rows: int = 200) -> dict[str, object]:
    """Return observed rows, rows in which the treatment was set, and rows in which the mediator was."""
    z = rng.standard_normal(rows)
    x = 0.7 * z + rng.standard_normal(rows)
    third = rows // 3
    x[third : 2 * third] = rng.normal(3.0, 1.0, third)
    m = 1.0 + 0.8 * x + rng.standard_normal(rows)
    m[2 * third :] = rng.normal(6.0, 1.0, rows - 2 * third)
    y = 2.0 - 1.0 * m + 0.5 * x + 0.6 * z + rng.standard_normal(rows)
    target = np.array([""] * third + ["x"] * third + ["m"] * (rows - 2 * third), dtype=object)
    return {"z": z, "x": x, "m": m, "y": y, "target": target}


def experiments(seed: int) -> dict[str, Answer]:
    """Ask for the mean outcome when the treatment is set, with and without knowing what was set."""
    table = experiment(np.random.default_rng(seed))
    answers = {}
    for name, known in (("told which rows were set", "target"), ("not told", None)):
        effect = lines.fit(table, DO_GRAPH, rng=seed, interventions=known).effect("x", "y")
        answers[name] = (
            float(effect.do(DO_VALUE).mean),
            np.nan,
            np.nan,
        )  # its interval is that of a new unit, not of the mean
    return answers


# -- clusters --------------------------------------------------------------------------------------------------------

CLUSTER_GRAPH = ad.CandidateGraph.from_tiers([["c"], ["x"], ["y"]], 0.5)
CLUSTER_EFFECT = 0.5


def schools(rng: np.random.Generator, alike: float, by_school: bool) -> dict[str, FloatArray]:
    """Return 40 schools of 10 pupils; `alike` is the share of the variance that a school has in common."""
    school = np.repeat(np.arange(40), 10)

    def mixed(shared: float) -> FloatArray:
        own, common = rng.standard_normal(400), rng.standard_normal(40)[school]
        return np.asarray(np.sqrt(shared) * common + np.sqrt(1.0 - shared) * own)

    c = mixed(alike)
    x = 0.5 * c + mixed(1.0 if by_school else alike)
    return {"c": c, "x": x, "y": CLUSTER_EFFECT * x + 0.5 * c + mixed(alike), "school": school.astype(float)}


def _clusters(seed: int, alike: float, by_school: bool) -> dict[str, Answer]:
    table = schools(np.random.default_rng(seed), alike, by_school)
    return {
        "rows taken for independent": _ask(lines.fit(table, CLUSTER_GRAPH, rng=seed).effect("x", "y")),
        "cluster='school'": _ask(lines.fit(table, CLUSTER_GRAPH, rng=seed, cluster="school").effect("x", "y")),
    }


def unlike_pupils(seed: int) -> dict[str, Answer]:
    """Ask where schools do not matter."""
    return _clusters(seed, 0.0, by_school=False)


def alike_pupils(seed: int) -> dict[str, Answer]:
    """Ask where pupils of a school are alike."""
    return _clusters(seed, 0.3, by_school=False)


def treated_schools(seed: int) -> dict[str, Answer]:
    """Ask where the treatment is that of a whole school."""
    return _clusters(seed, 0.3, by_school=True)


def copies(seed: int) -> dict[str, Answer]:
    """Ask of a table in which each of 100 rows stands ten times."""
    table = schools(np.random.default_rng(seed), 0.0, by_school=False)
    once = {name: column[:100] for name, column in table.items()}
    tenfold = {name: np.repeat(column, 10) for name, column in once.items()} | {"id": np.repeat(np.arange(100.0), 10)}
    return {
        "each row once": _ask(lines.fit(once, CLUSTER_GRAPH, rng=seed).effect("x", "y")),
        "ten times, taken for independent": _ask(lines.fit(tenfold, CLUSTER_GRAPH, rng=seed).effect("x", "y")),
        "ten times, cluster='id'": _ask(lines.fit(tenfold, CLUSTER_GRAPH, rng=seed, cluster="id").effect("x", "y")),
    }


# -- the table -------------------------------------------------------------------------------------------------------

STUDIES: dict[str, tuple[Callable[[int], dict[str, Answer]], float]] = {
    "missing at random, 300 x 6": (missing_values, EFFECT_WITH_HOLES),
    "do(x = 1), observed and experimental rows": (experiments, DO_TRUTH),
    "40 schools, pupils not alike": (unlike_pupils, CLUSTER_EFFECT),
    "40 schools, pupils alike": (alike_pupils, CLUSTER_EFFECT),
    "40 schools, treatment by school": (treated_schools, CLUSTER_EFFECT),
    "100 rows, each ten times": (copies, CLUSTER_EFFECT),
    **UNEVEN,
}


@dataclass(frozen=True)
class Asked:
    """One answer to one data set, with its 95% interval."""

    study: str
    seed: int
    asked: str
    estimate: float
    low: float
    high: float


def run(task: tuple[str, int]) -> list[Asked]:
    """Return the answers of one simulated table."""
    study, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        return [Asked(study, seed, way, *answer) for way, answer in STUDIES[study][0](seed).items()]


def row(study: str, way: str, answers: FloatArray, truth: float) -> str:
    """Return a line of the table for answers of shape (sets, 3)."""
    error = answers[:, 0] - truth
    covered = f"{np.mean((answers[:, 1] <= truth) & (truth <= answers[:, 2])):.3f}"
    width = f"{np.mean(answers[:, 2] - answers[:, 1]):.3f}"
    if np.isnan(answers[:, 1]).all():
        covered = width = "-"
    doubt = error.std(ddof=1) / np.sqrt(len(error))
    return (
        f"| {study} | {way} | {len(error)} | {error.mean():+.3f} ± {doubt:.3f} | {np.sqrt(np.mean(error**2)):.3f} | "
        f"{covered} | {width} |"
    )


def table(found: list[Asked]) -> str:
    """Return the results in Markdown."""
    lines = ["| study | asked | sets | bias | error | covered | width |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for study, (_, truth) in STUDIES.items():
        answers: dict[str, list[Answer]] = {}
        for item in found:
            if item.study == study:
                answers.setdefault(item.asked, []).append((item.estimate, item.low, item.high))
        lines += [row(study, way, np.array(items), truth) for way, items in answers.items() if len(items) > 1]
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each study")
    parser.add_argument("--first-seed", type=int, default=10_000, help="seeds below 10,000 were used for choices")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--only", default="", help="only studies whose name holds this word")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[str, int]] = {
        (name, s): (name, s) for name in STUDIES if options.only in name for s in seeds
    }
    text = table(keep.run(FOLDER / "rows.csv", Asked, run, tasks, n_jobs=options.n_jobs, digits=".6g"))
    print(text)
    if not options.only:
        write_text(FOLDER / "rows.md", text + "\n")


if __name__ == "__main__":
    main()
