"""``python -m calibration.defaults [--sets 200] [--only WORD]``: what the default call is worth.

Each world is asked about by `alldags.effect` as a newcomer would, and by straight lines; public data also by boosted
AIPW and, with ``--methods bart`` and the package bartz, by a Bayesian sum of trees. Worlds in which straight lines are
right show what averaging over curves costs there; the others what it saves. Results are kept, so that a run that was
interrupted goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown

FIRST_SEED = 70_200  # smaller ones were used for choices
EFFECT = 0.5
DRIVES = np.array([0.6, 0.4, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0])
ACTS = np.array([0.8, 0.4, 0.2, 0.1, 0.5, 0.3, 0.0, 0.0])


class Study(NamedTuple):
    """A table, the effect in truth, the mediators in it, and the effects of single rows where they differ."""

    table: dict[str, FloatArray]
    truth: float
    mediators: tuple[str, ...] = ()
    of_rows: FloatArray | None = None

    @property
    def confounders(self) -> list[str]:
        """All columns that are none of the others."""
        return [name for name in self.table if name not in ("t", "y", *self.mediators)]


def _named(w: FloatArray, **others: FloatArray) -> dict[str, FloatArray]:
    return {**{f"w{place}": w[:, place] for place in range(w.shape[1])}, **others}


def straight(rng: np.random.Generator, dose: bool, mediated: bool, rows: int = 300) -> Study:
    """Return straight lines in eight covariates, six of them at work and four driving the treatment."""
    w = rng.standard_normal((rows, len(ACTS)))
    t = w @ DRIVES + rng.standard_normal(rows) if dose else (rng.logistic(size=rows) < w @ DRIVES).astype(float)
    if not mediated:
        return Study(_named(w, t=t, y=EFFECT * t + w @ ACTS + rng.standard_normal(rows)), EFFECT)
    m = 0.8 * t + 0.4 * w[:, 0] + rng.standard_normal(rows)
    y = 0.3 * t + 0.5 * m + w @ ACTS + rng.standard_normal(rows)
    return Study(_named(w, t=t, m=m, y=y), 0.7, ("m",))


def squared(rng: np.random.Generator, rows: int = 300) -> Study:
    """Return a confounder that acts by its square on treatment and outcome."""
    w = rng.standard_normal((rows, 5))
    s = (w[:, 0] ** 2 - 1.0) / np.sqrt(2.0)
    t = (rng.logistic(size=rows) < 0.8 * s + 0.5 * w[:, 1]).astype(float)
    y = EFFECT * t + 0.6 * s + w @ np.array([0.0, 0.5, 0.3, 0.0, 0.4]) + rng.standard_normal(rows)
    return Study(_named(w, t=t, y=y), EFFECT)


def squared_yes_no(rng: np.random.Generator, rows: int = 800) -> Study:
    """Return the same for a yes/no outcome; the effect is the difference of probabilities over the rows at hand."""
    w = rng.standard_normal((rows, 5))
    s = (w[:, 0] ** 2 - 1.0) / np.sqrt(2.0)
    t = (rng.logistic(size=rows) < 0.8 * s + 0.5 * w[:, 1]).astype(float)
    rest = -0.3 + s + w @ np.array([0.0, 0.5, 0.3, 0.0, 0.4])
    y = (rng.random(rows) < expit(rest + 0.6 * t)).astype(float)
    return Study(_named(w, t=t, y=y), float(np.mean(expit(rest + 0.6) - expit(rest))))


def noisy(rng: np.random.Generator, kind: str, rows: int = 300) -> Study:
    """Return straight lines with noise that is not what the model takes it for."""
    w = rng.standard_normal((rows, 5))
    if kind == "discrete":
        w = np.rint(w)
    score = w @ np.array([0.5, 0.4, -0.3, 0.4, 0.0])
    t = (score + rng.standard_normal(rows) > (1.4 if kind == "few treated" else 0.0)).astype(float)
    e = rng.standard_normal(rows)
    noise = {
        "by treatment": e * np.where(t > 0, 2.0, 1.0),
        "by covariate": e * np.exp(0.7 * w[:, 0]) / np.exp(0.49),
        "few treated": e * np.where(t > 0, 3.0, 1.0),
        "log-normal": (np.exp(e) - np.exp(0.5)) / 2.16,
        "outliers": e * np.where(rng.random(rows) < 0.05, 10.0, 1.0),
        "discrete": e,
    }[kind]
    return Study(_named(w, t=t, y=EFFECT * t + w @ np.array([0.5, -0.4, 0.3, 0.0, 0.4]) + noise), EFFECT)


def ihdp(replication: int) -> Study:
    """Return a replication of IHDP; the effect is that of the rows at hand."""
    return _public(ad.datasets.ihdp(replication))


def acic(rng: np.random.Generator, setting: int, rows: int) -> Study:
    """Return a part of a setting of ACIC 2016 with new noise; the effect is that of these rows."""
    from alldags.datasets.challenge import acic as read
    from replication.semisynthetic import drop_constant

    data = read(setting, rng=rng)
    return _public(drop_constant(data.take(np.sort(rng.permutation(data.n)[:rows]))))


def _public(data: object) -> Study:
    from alldags.datasets.public import TreatmentData

    assert isinstance(data, TreatmentData)
    assert data.mean0 is not None
    assert data.mean1 is not None
    w = data.covariates[:, np.ptp(data.covariates, axis=0) > 0]
    of_rows = data.mean1 - data.mean0
    return Study(_named(w, t=data.treatment, y=data.outcome), float(np.mean(of_rows)), of_rows=of_rows)


WORLDS: dict[str, Callable[[np.random.Generator], Study]] = {
    "straight, yes/no treatment": partial(straight, dose=False, mediated=False),
    "straight, dose": partial(straight, dose=True, mediated=False),
    "straight, yes/no treatment, mediator": partial(straight, dose=False, mediated=True),
    "straight, dose, mediator": partial(straight, dose=True, mediated=True),
    "squared confounder": squared,
    "squared confounder, yes/no outcome": squared_yes_no,
    "noise by treatment": partial(noisy, kind="by treatment"),
    "noise by covariate": partial(noisy, kind="by covariate"),
    "few treated, more noise": partial(noisy, kind="few treated"),
    "log-normal noise": partial(noisy, kind="log-normal"),
    "outliers": partial(noisy, kind="outliers"),
    "discrete covariates": partial(noisy, kind="discrete"),
    "ACIC 4": partial(acic, setting=4, rows=1000),
    "ACIC 5": partial(acic, setting=5, rows=1000),
    "ACIC 4, all rows": partial(acic, setting=4, rows=4802),
    "ACIC 5, all rows": partial(acic, setting=5, rows=4802),
}
IHDP, FIRST_REPLICATION = "IHDP", 101  # the first hundred were used for choices
NAMES = (*WORLDS, IHDP)


def study_of(world: str, seed: int) -> Study:
    """Return a data set."""
    if world == IHDP:
        return ihdp(FIRST_REPLICATION + (seed - FIRST_SEED) % 900)
    return WORLDS[world](np.random.default_rng([seed, NAMES.index(world)]))


@dataclass(frozen=True)
class Outcome:
    """One answer to one data set: 95% interval, root mean squared error of single rows' effects, CPU seconds."""

    world: str
    method: str
    seed: int
    truth: float
    mean: float
    low: float
    high: float
    of_rows: float
    seconds: float


DEFAULT, STRAIGHT, RIVALS = "default", "straight", ("aipw", "bart")
METHODS = (DEFAULT, STRAIGHT, *RIVALS)


class Answer(NamedTuple):
    """What a method says: the effect, its interval, and the effects of single rows (none for most)."""

    mean: float
    low: float
    high: float
    of_rows: FloatArray | None


def asked(study: Study, seed: int, **options: Any) -> Answer:
    """Return the answer of the front door."""
    found = ad.effect(
        study.table, treatment="t", outcome="y", confounders=study.confounders, mediators=study.mediators, rng=seed,
        **options,
    )  # fmt: skip
    of_rows = None if study.of_rows is None or options else np.asarray(found.by(rng=seed)["mean"])
    return Answer(found.mean, *found.interval(), of_rows)


def rival(study: Study, method: str) -> Answer:
    """Return the answer of another program."""
    from replication.rivals import RIVAL_FUNCTIONS

    matrix = np.column_stack([study.table[name] for name in study.confounders])
    found = RIVAL_FUNCTIONS[method](matrix, study.table["t"], study.table["y"])
    return Answer(found.value, found.low, found.high, found.rows)


def run(task: tuple[str, str, int]) -> list[Outcome]:
    """Ask about one data set."""
    world, method, seed = task
    study = study_of(world, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        options = {"terms": None} if method == STRAIGHT else {}
        found = rival(study, method) if method in RIVALS else asked(study, seed, **options)
        seconds = time.process_time() - begin
    wrong = np.nan
    if study.of_rows is not None and found.of_rows is not None:
        wrong = float(np.sqrt(np.mean((found.of_rows - study.of_rows) ** 2)))
    return [Outcome(world, method, seed, study.truth, found.mean, found.low, found.high, wrong, seconds)]


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown; ratios are over the data sets that both methods were asked about."""
    heads = ["world", "method", "sets", "squared error", "default's over its", "bias", "covered", "length",
             "single rows", "CPU seconds"]  # fmt: skip
    rows = []
    for world, method in ((world, method) for world in NAMES for method in METHODS):
        items = {item.seed: item for item in outcomes if (item.world, item.method) == (world, method)}
        if items:
            default = {item.seed: item for item in outcomes if (item.world, item.method) == (world, DEFAULT)}
            common = sorted(items.keys() & default.keys())
            ratio = _error([default[seed] for seed in common]) / _error([items[seed] for seed in common])
            rows.append([world, method, str(len(items)), *_row(list(items.values()), ratio)])
    return markdown(heads, rows)


def _error(items: Sequence[Outcome]) -> float:
    return float(np.mean([(item.mean - item.truth) ** 2 for item in items])) if items else np.nan


def _row(items: Sequence[Outcome], ratio: float) -> list[str]:
    numbers: list[tuple[Any, str]] = [
        (_error(items), ".4f"),
        (ratio, ".3f"),
        (np.mean([item.mean - item.truth for item in items]), "+.3f"),
        (np.mean([item.low <= item.truth <= item.high for item in items]), ".1%"),
        (np.mean([item.high - item.low for item in items]), ".3f"),
        (np.mean([item.of_rows for item in items]), ".3f"),
        (np.mean([item.seconds for item in items]), ".2f"),
    ]
    return [f"{value:{form}}" if np.isfinite(value) else "" for value, form in numbers]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each world")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only worlds whose name holds this word")
    parser.add_argument("--without", default="", help="no worlds whose name holds this word")
    parser.add_argument("--methods", default="default,straight,aipw", help="of these, and bart")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    chosen = [world for world in NAMES if options.only in world and not (options.without and options.without in world)]
    methods = options.methods.split(",")
    tasks: dict[Key, tuple[str, str, int]] = {
        (world, method, seed): (world, method, seed)
        for world in chosen
        for seed in seeds
        for method in methods
        if method not in RIVALS or world.startswith(("ACIC", IHDP))
    }
    keep.run(FOLDER / "defaults.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(keep.read(FOLDER / "defaults.csv", Outcome))
    print(text)
    write_text(FOLDER / "defaults.md", text + "\n")


if __name__ == "__main__":
    main()
