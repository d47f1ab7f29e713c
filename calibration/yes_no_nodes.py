"""``python -m calibration.yes_no_nodes [--sets 2] [--most 15]``: yes/no nodes against enumeration of every parent set.

The reference of the tests (`tests/naive/logistic.py`): the mode of every set, and importance draws around it; with 15
candidates, and 2,000 rows, Laplace's evidence for all sets, and draws for those with more than 1e-5 of the weight.
References are kept in ``results/yes_no_references.csv``: they do not change with the code.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alldags.files import write_text
from alldags.typing import FloatArray
from calibration.keep import FOLDER

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the slow twin and the designs are those of the tests

from family_problems import TAU, fit_node, yes_no
from naive.logistic import Reference, enumerate_sets

REFERENCES = FOLDER / "yes_no_references.csv"


class Cell(NamedTuple):
    """Rows, candidates, share of ones, strength of the causes, and whether these separate the rows."""

    rows: int
    candidates: int
    rate: float
    signal: str
    separated: bool = False

    @property
    def words(self) -> str:
        """Name in the table."""
        kind = "balanced" if self.rate == 0.5 else f"{100 * self.rate:.0f}%"
        return f"{'separated, ' if self.separated else ''}{kind}, {self.signal}"


def cells(most: int) -> list[Cell]:
    """Return the designs with at most so many candidates."""
    sizes = [k for k in (5, 10, 15) if k <= most]
    found = [
        Cell(n, k, rate, signal)
        for k in sizes
        for rate in (0.5, 0.05)
        for signal in ("weak", "strong")
        for n in (50, 100, 200, 500, 2000)
        if not (n == 50 and rate < 0.5)
    ]
    return found + [Cell(n, k, 0.5, "strong", True) for k in sizes for n in (50, 200)]


def edge_probability(cell: Cell) -> float:
    """Return the prior probability of an edge."""
    return 0.3 if cell.candidates == 15 else 0.5


def reference(cell: Cell, seed: int) -> Reference:
    """Return the posterior over all sets, as it was kept or as it is computed now."""
    key = json.dumps([*cell, seed])
    kept = _kept()
    if key not in kept:
        x, y = yes_no(*cell[:4], seed, cell.separated)
        large = cell.candidates == 15 or cell.rows == 2000
        draws, again = (0, 2000 if cell.candidates < 15 else 400) if large else (400, 0)
        chances = np.full(cell.candidates, edge_probability(cell))
        found = enumerate_sets("bernoulli", x, y, chances, TAU, draws=draws, again=again)
        numbers = [found.inclusion.tolist(), found.mean.tolist(), found.second.tolist(), found.log_evidence]
        with REFERENCES.open("a", newline="") as file:
            csv.writer(file).writerow([key, json.dumps(numbers)])
        return found
    inclusion, mean, second, evidence = json.loads(kept[key])
    return Reference(np.array(inclusion), np.array(mean), np.array(second), evidence)


def _kept() -> dict[str, str]:
    if not REFERENCES.exists():
        return {}
    with REFERENCES.open(newline="") as file:
        return dict(csv.reader(file))  # type: ignore[arg-type]


def errors(cell: Cell, seed: int) -> list[float]:
    """Return largest errors of inclusion (expansion, result), of means in sds (both), of the evidence; ess, sampled."""
    x, y = yes_no(*cell[:4], seed, cell.separated)
    truth = reference(cell, seed)
    found = fit_node(x, y, probability=edge_probability(cell))
    inclusion = [float(np.abs(node.inclusion - truth.inclusion).max()) for node in (found.base, found)]
    means = [float((np.abs(node.mean - truth.mean) / truth.sd).max()) for node in (found.base, found)]
    evidence = abs(found.log_evidence - truth.log_evidence)
    return [*inclusion, *means, evidence, found.diagnostics.ess, float(found.diagnostics.fallback)]


def _conclusion(found: FloatArray) -> str:
    """Return mean and worst errors of all data sets in a sentence; `found` has shape (data sets, 7)."""
    mean, worst = found.mean(axis=0), found.max(axis=0)
    return (
        f"All {len(found)} data sets: largest error of an edge probability {mean[1]:.3f} on average and "
        f"{worst[1]:.3f} at worst (expansion alone {mean[0]:.3f} and {worst[0]:.3f}); of a mean {mean[3]:.2f} and "
        f"{worst[3]:.2f} standard deviations ({mean[2]:.2f} and {worst[2]:.2f}); of the log evidence {mean[4]:.3f} "
        f"and {worst[4]:.3f}."
    )


def main() -> None:
    """Run all cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2, help="data sets of each cell")
    parser.add_argument("--most", type=int, default=15, help="most candidates")
    options = parser.parse_args()
    lines = [
        "| data | rows | candidates | sets | edge probability: expansion | result | mean: expansion | result | "
        "log evidence | ess | sampled |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    every = []
    for cell in cells(options.most):
        sets = options.sets if cell.candidates < 15 else max(options.sets // 2, 1)
        found = np.array([errors(cell, seed) for seed in range(sets)])
        every.append(found)
        a, b, c, d, e, ess, sampled = found.mean(axis=0)
        lines.append(
            f"| {cell.words} | {cell.rows:,} | {cell.candidates} | {sets} | {a:.3f} | {b:.3f} | {c:.2f} | "
            f"{d:.2f} | {e:.2f} | {ess:.2f} | {sampled * sets:.0f} |"
        )
        print(lines[-1], flush=True)
    lines += ["", _conclusion(np.concatenate(every))]
    print(lines[-1])
    write_text(FOLDER / "yes_no_nodes.md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
