"""``python -m calibration.gaps [--sets 200] [--only WORD]``: do 95% intervals hold where half of the rows have gaps?

Five correlated covariates, a category, a yes/no treatment and an outcome. The category, a covariate and a tenth of the
outcomes are missing, depending on treatment, outcome and another covariate; about half of the rows are complete. The
truth is the effect in the population. The same question is asked of the table before values were removed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown
from calibration.lines import fit

NAMES = ("x0", "x1", "x2", "x3", "x4")
ON_TREATMENT, ON_OUTCOME = np.array([0.0, 1.0, -0.8]), np.array([0.0, 1.2, -0.8])
LEVELS = np.array(["none", "some", "much"], dtype=object)
IMPUTATIONS = 10
ROWS = 500


@dataclass(frozen=True)
class Design:
    """How the covariate with gaps acts (bent or straight), whether there is a category, and what the outcome is."""

    key: str
    bent: bool
    category: bool
    yes_no: bool

    @property
    def graph(self) -> ad.CandidateGraph:
        """Covariates may act on treatment and outcome; that the treatment acts is certain."""
        first = (*NAMES, *(("c",) if self.category else ()))
        return ad.CandidateGraph.from_tiers([first, ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)

    @property
    def terms(self) -> Any:
        """Curves in the covariate with gaps, where it bends."""
        return {"y": ["curve(x0)", "curve(x1)"]} if self.bent else None


DESIGNS = (
    Design("category, yes/no", bent=False, category=True, yes_no=True),
    Design("category, normal", bent=False, category=True, yes_no=False),
    Design("bend, normal", bent=True, category=False, yes_no=False),
    Design("category, bend, yes/no", bent=True, category=True, yes_no=True),
)


@dataclass(frozen=True)
class World:
    """Covariates, category and treatment of some rows, and the predictor of their outcome."""

    x: FloatArray
    c: FloatArray
    t: FloatArray
    predictor: FloatArray


def world(design: Design, rows: int, rng: np.random.Generator, do: float | None = None) -> World:
    """Draw rows; with the treatment set, if `do` says so."""
    x = rng.standard_normal((rows, 5)) @ np.linalg.cholesky(0.7 * np.eye(5) + 0.3).T
    acts = np.abs(x[:, 0]) - 0.8 if design.bent else 0.7 * x[:, 0]
    logits = np.column_stack([np.zeros(rows), 0.6 * x[:, 1] - 0.3, 0.6 * x[:, 2] - 0.3])
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    c = (rng.random(rows)[:, None] > share.cumsum(axis=1)).sum(axis=1) * int(design.category)
    chosen = (rng.random(rows) < expit(0.8 * acts + 0.4 * x[:, 1] + ON_TREATMENT[c])).astype(float)
    t = chosen if do is None else np.full(rows, do)
    return World(x, c, t, -0.6 + 0.6 * t + acts + 0.4 * x[:, 1] + ON_OUTCOME[c])


@cache
def truth(design: Design) -> float:
    """Return the effect in the population."""
    if not design.yes_no:
        return 0.6
    high, low = (world(design, 400_000, np.random.default_rng(1), do).predictor for do in (1.0, 0.0))
    return float(np.mean(expit(high) - expit(low)))


def tables(design: Design, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a table without gaps, and the same with gaps."""
    made = world(design, ROWS, rng)
    noise = rng.random(ROWS)
    y = (noise < expit(made.predictor)).astype(float) if design.yes_no else made.predictor + rng.standard_normal(ROWS)
    high = y if design.yes_no else expit(2.0 * (y - y.mean()) / y.std())
    gone = {
        "c": rng.random(ROWS) < expit(-1.6 + high + 0.6 * made.x[:, 2]),
        "x0": rng.random(ROWS) < expit((-1.9 if design.category else -0.9) + 0.8 * high + 0.6 * made.t),
        "y": rng.random(ROWS) < expit(-2.4 + 0.5 * made.x[:, 2]),
    }
    full: dict[str, Any] = dict(zip(NAMES, made.x.T, strict=True)) | {"t": made.t, "y": y}
    if design.category:
        full["c"] = LEVELS[made.c]
    holed = {name: _without(full[name], gone[name]) if name in gone else full[name] for name in full}
    return full, holed


def _without(values: Any, gone: Any) -> Any:
    empty: Any = None if values.dtype == object else np.nan
    return np.where(gone, empty, values)


@dataclass(frozen=True)
class Outcome:
    """One answer."""

    design: str
    way: str
    seed: int
    truth: float
    mean: float
    sd: float
    low: float
    high: float
    complete: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def run(task: tuple[int, int]) -> list[Outcome]:
    """Ask in three ways."""
    place, seed = task
    design = DESIGNS[place]
    full, holed = tables(design, np.random.default_rng([seed, place]))
    some = np.logical_and.reduce([_known(column) for column in holed.values()])
    ways: dict[str, tuple[Any, dict[str, Any]]] = {
        "without gaps": (full, {}),
        "complete rows": (holed, {"missing": "drop"}),
        "imputed": (holed, {"missing": "impute", "imputations": IMPUTATIONS}),
    }
    found = []
    for way, (table, options) in ways.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = fit(table, design.graph, terms=design.terms, rng=seed, **options)
            effect = posterior.effect("t", "y", over="population")
            answer = effect.mean, effect.sd, *effect.interval(0.95)
        found.append(Outcome(design.key, way, seed, truth(design), *answer, float(some.mean())))
    return found


def _known(column: Any) -> Any:
    return np.array([value is not None and value == value for value in column])  # noqa: PLR0124 - nan differs


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown."""
    heads = ["design", "asked of", "sets", "rows complete", "bias", "spread", "sd", "rmse", "covered"]
    rows = []
    for key, way in dict.fromkeys((item.design, item.way) for item in outcomes):
        items = [item for item in outcomes if (item.design, item.way) == (key, way)]
        error = np.array([item.mean - item.truth for item in items])
        complete = np.mean([item.complete for item in items])
        numbers = error.mean(), error.std(), np.mean([item.sd for item in items]), np.sqrt(np.mean(error**2))
        covered = np.mean([item.covered for item in items])
        shown = [f"{value:+.3f}" if i == 0 else f"{value:.3f}" for i, value in enumerate(numbers)]
        rows.append([key, way, str(len(items)), f"{100 * complete:.0f}%", *shown, f"{100 * covered:.1f}%"])
    return markdown(heads, rows)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=40_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only designs whose name is this")
    options = parser.parse_args()
    chosen = [i for i, design in enumerate(DESIGNS) if options.only in ("", design.key)]
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[int, int]] = {
        (DESIGNS[i].key, way, seed): (i, seed) for i in chosen for way in ("without gaps",) for seed in seeds
    }
    keep.run(FOLDER / "gaps.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(keep.read(FOLDER / "gaps.csv", Outcome))
    print(text)
    write_text(FOLDER / "gaps.md", text + "\n")


if __name__ == "__main__":
    main()
