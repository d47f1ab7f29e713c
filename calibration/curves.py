"""``python -m calibration.curves [--sets 500]``: what curves cost where straight lines are right.

Outcomes are straight lines in eight covariates, six of them at work and four driving a 0/1 treatment. Each data set is
answered with ``terms="auto"`` and without; squared errors are compared in pairs. Results are kept, so that a run that
was interrupted goes on.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields

import numpy as np

import alldags as ad
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key

FIRST_SEED = 60_000
ROWS, EFFECT = 300, 0.5
DRIVES = np.array([0.6, 0.4, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0])
ACTS = np.array([0.8, 0.4, 0.2, 0.1, 0.5, 0.3, 0.0, 0.0])
COVARIATES = tuple(f"w{place}" for place in range(len(ACTS)))


@dataclass(frozen=True)
class Answers:
    """Both answers to one data set, with 95% intervals, and the CPU seconds that curves took."""

    seed: int
    curved: float
    low: float
    high: float
    straight: float
    straight_low: float
    straight_high: float
    seconds: float


def data_set(seed: int) -> dict[str, FloatArray]:
    """Return one table."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((ROWS, len(ACTS)))
    t = (rng.logistic(size=ROWS) < w @ DRIVES).astype(float)
    y = EFFECT * t + w @ ACTS + rng.standard_normal(ROWS)
    return dict(zip(COVARIATES, w.T, strict=True)) | {"t": t, "y": y}


def graph() -> ad.CandidateGraph:
    """Return the candidate graph: everything before may act on treatment and outcome."""
    return ad.CandidateGraph.from_tiers([COVARIATES, ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)


def answers(seed: int) -> list[Answers]:
    """Return both answers to one data set."""
    table = data_set(seed)
    begin = time.process_time()
    curved = ad.fit(table, graph(), terms="auto", rng=seed).effect("t", "y")
    mean, (low, high) = curved.mean, curved.interval()
    seconds = time.process_time() - begin
    straight = ad.fit(table, graph(), rng=seed).effect("t", "y")
    return [Answers(seed, mean, low, high, straight.mean, *straight.interval(), seconds)]


def report(rows: list[Answers]) -> str:
    """Return squared errors, coverage and lengths of both."""
    columns = {field.name: np.array([getattr(row, field.name) for row in rows]) for field in fields(Answers)}
    lines = [f"{len(rows)} data sets of {ROWS} rows, straight lines in truth"]
    for name, (mean, low, high) in {
        "curves": ("curved", "low", "high"),
        "straight lines": ("straight", "straight_low", "straight_high"),
    }.items():
        error = np.mean((columns[mean] - EFFECT) ** 2)
        held = np.mean((columns[low] <= EFFECT) & (columns[high] >= EFFECT))
        length = np.mean(columns[high] - columns[low])
        lines.append(f"{name:15} squared error {error:.5f}  covered {held:.1%}  length {length:.3f}")
    ratio = np.mean((columns["curved"] - EFFECT) ** 2) / np.mean((columns["straight"] - EFFECT) ** 2)
    lines.append(f"ratio of squared errors {ratio:.3f}; {np.mean(columns['seconds']):.2f} CPU seconds a data set")
    return "\n".join(lines)


def main() -> None:
    """Answer data sets until there are as many as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=500)
    seeds = range(FIRST_SEED, FIRST_SEED + parser.parse_args().sets)
    tasks: dict[Key, int] = {(seed,): seed for seed in seeds}
    rows = keep.run(FOLDER / "curves.csv", Answers, answers, tasks)
    print(report(rows))


if __name__ == "__main__":
    main()
