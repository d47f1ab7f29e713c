"""``python -m calibration.measured [--sets 200]``: effects of columns that are measured with error.

Treatment and a confounder have a reliability of 0.7, which is known. The default call is told of it, or not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from calibration import keep
from calibration.keep import FOLDER, Key, markdown

FIRST_SEED = 120_000
RELIABILITY, EFFECT = 0.7, 0.5
SIZES = (200, 500, 2000)


@dataclass(frozen=True)
class Outcome:
    """One data set: what was told, and the answer."""

    told: str
    rows: int
    seed: int
    mean: float
    sd: float
    low: float
    high: float


def run(task: tuple[str, int, int]) -> list[Outcome]:
    """Ask about one data set."""
    told, rows, seed = task
    rng = np.random.default_rng([seed, rows])
    w = rng.standard_normal((rows, 3))
    t = 0.6 * w[:, 0] + 0.3 * w[:, 1] + 0.74 * rng.standard_normal(rows)
    y = EFFECT * t + 0.6 * w[:, 0] + 0.3 * w[:, 1] + rng.standard_normal(rows)
    wrong = np.sqrt((1.0 - RELIABILITY) / RELIABILITY)
    sd = np.sqrt(0.36 + 0.09 + 0.74**2)
    seen = {"a": w[:, 0] + wrong * rng.standard_normal(rows), "b": w[:, 1], "c": w[:, 2]}
    seen |= {"t": t + wrong * sd * rng.standard_normal(rows), "y": y}
    said = {"reliability": {"t": RELIABILITY, "a": RELIABILITY}} if told == "told" else {"terms": None}
    effect = ad.effect(seen, treatment="t", outcome="y", confounders=["a", "b", "c"], rng=seed, **said)
    return [Outcome(told, rows, seed, effect.mean, effect.sd, *effect.interval())]


def table(found: Sequence[Outcome]) -> str:
    """Return bias, spread and coverage by number of rows."""
    lines = []
    for told in ("told", "not told"):
        for rows in SIZES:
            items = [item for item in found if (item.told, item.rows) == (told, rows)]
            if items:
                means = np.array([item.mean for item in items])
                held = np.mean([item.low <= EFFECT <= item.high for item in items])
                spread = np.sqrt(np.mean([item.sd**2 for item in items]))
                lines.append([told, str(rows), str(len(items)), f"{means.mean() - EFFECT:+.3f}",
                              f"{means.std(ddof=1):.3f}", f"{spread:.3f}", f"{held:.1%}"])  # fmt: skip
    return markdown(["reliability", "rows", "sets", "bias", "spread", "sd", "covered"], lines)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    tasks: dict[Key, tuple[str, int, int]] = {
        (told, rows, seed): (told, rows, seed) for told in ("told", "not told") for rows in SIZES for seed in seeds
    }
    keep.run(FOLDER / "measured.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(keep.read(FOLDER / "measured.csv", Outcome))
    print(text)
    write_text(FOLDER / "measured.md", text + "\n")


if __name__ == "__main__":
    main()
