"""``python -m calibration.curves [--sets 500]``: what curves cost where straight lines are right.

Outcomes are straight lines in eight covariates, six of them at work and four driving a 0/1 treatment. Each data set is
answered with ``terms="auto"`` and without; squared errors are compared in pairs. Results are kept, so that a run that
was interrupted goes on.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray

FOLDER = Path(__file__).parent / "results"
FIRST_SEED = 60_000
ROWS, EFFECT = 300, 0.5
DRIVES = np.array([0.6, 0.4, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0])
ACTS = np.array([0.8, 0.4, 0.2, 0.1, 0.5, 0.3, 0.0, 0.0])
COVARIATES = tuple(f"w{place}" for place in range(len(ACTS)))
FIELDS = ("seed", "curved", "low", "high", "straight", "straight_low", "straight_high", "seconds")


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


def answers(seed: int) -> dict[str, float]:
    """Return both answers to one data set."""
    table = data_set(seed)
    begin = time.process_time()
    curved = ad.fit(table, graph(), terms="auto", rng=seed).effect("t", "y")
    mean, (low, high) = curved.mean, curved.interval()
    seconds = time.process_time() - begin
    straight = ad.fit(table, graph(), rng=seed).effect("t", "y")
    return dict(zip(FIELDS, (seed, mean, low, high, straight.mean, *straight.interval(), seconds), strict=True))


def kept(path: Path) -> list[dict[str, float]]:
    """Return what earlier runs found."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def keep(path: Path, rows: list[dict[str, float]]) -> None:
    """Write down what was found."""
    lines = [",".join(FIELDS), *(",".join(repr(row[name]) for name in FIELDS) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def report(rows: list[dict[str, float]]) -> str:
    """Return squared errors, coverage and lengths of both."""
    columns = {name: np.array([row[name] for row in rows]) for name in FIELDS}
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
    wanted = parser.parse_args().sets
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "curves.csv"
    rows = kept(path)
    for seed in range(FIRST_SEED + len(rows), FIRST_SEED + wanted):
        rows.append(answers(seed))
        keep(path, rows)
    print(report(rows))


if __name__ == "__main__":
    main()
