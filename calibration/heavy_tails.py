"""``python -m calibration.heavy_tails [--sets 200] [--first 0]``: normal and Student-t noise.

Coverage, error and width. Eight covariates: three confounders, two that drive the treatment only, two the outcome only,
one that does nothing; the edge from treatment to outcome is certain. Noise of standard deviation about one: normal,
Student's t with 3 degrees of freedom, 5% of the rows ten times as far out, and skewed (exponential), which neither
model holds. The model has 4 degrees of freedom or, with
``--learned``, learns them.

With ``--nodes``: nodes against enumeration of every parent set (`tests/naive/student.py`: the mode of each by a general
optimiser, its evidence by importance draws).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the slow twin and the designs are those of the tests

from calibration.lines import fit
from heavy_problems import fit_heavy, heavy
from naive.student import enumerate_student

FOLDER = Path(__file__).parent / "results"
NAMES = tuple(f"c{i}" for i in range(8))
ON_TREATMENT = np.array([0.5, 0.4, -0.3, 0.4, -0.4, 0.0, 0.0, 0.0])
ON_OUTCOME = np.array([0.5, 0.3, -0.3, 0.0, 0.0, 0.4, -0.4, 0.0])
EFFECT = 0.4
GRAPH = ad.CandidateGraph.from_tiers([NAMES, ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
FAMILIES: list[dict[str, ad.Student]] = [{}, {"y": ad.Student(df=4)}]


def _far_out(rng: np.random.Generator, rows: int) -> FloatArray:
    return np.asarray(rng.standard_normal(rows) * np.where(rng.random(rows) < 0.05, 10.0, 1.0))


NOISE: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, rows: rng.standard_normal(rows),
    "t, 3 degrees of freedom": lambda rng, rows: rng.standard_t(3, rows),
    "5% ten times as far out": _far_out,
    "skewed": lambda rng, rows: rng.standard_exponential(rows) - 1.0,
}


def run(noise: str, rows: int, seed: int) -> list[tuple[float, float, float]]:
    """Return estimate and ends of the 95% interval, with normal noise and with Student's."""
    rng = np.random.default_rng([list(NOISE).index(noise), rows, seed])
    c = rng.standard_normal((rows, 8)) @ np.linalg.cholesky(0.3 ** np.abs(np.subtract.outer(range(8), range(8)))).T
    x = c @ ON_TREATMENT + rng.standard_normal(rows)
    y = EFFECT * x + c @ ON_OUTCOME + NOISE[noise](rng, rows)
    table = dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}
    found = [fit(table, GRAPH, rng=seed, families=families).effect("x", "y") for families in FAMILIES]
    return [(effect.mean, *effect.interval()) for effect in found]


def row(noise: str, rows: int, found: FloatArray) -> str:
    """Return one line of the table; `found` has shape (sets, 2, 3)."""
    error = found[:, :, 0] - EFFECT
    covered = (found[:, :, 1] <= EFFECT) & (found[:, :, 2] >= EFFECT)
    width = (found[:, :, 2] - found[:, :, 1]).mean(axis=0)
    columns = (
        [f"{value:+.3f}" for value in error.mean(axis=0)],
        [f"{value:.3f}" for value in np.sqrt((error**2).mean(axis=0))],
        [f"{100 * value:.1f}%" for value in covered.mean(axis=0)],
        [f"{value:.3f}" for value in width],
    )
    return f"| {noise} | {rows:,} | {len(found)} | {' | '.join(' / '.join(pair) for pair in columns)} |"


def table(lines: Sequence[str]) -> str:
    """Return the table."""
    head = "| noise | rows | sets | bias: normal / Student | rmse | covered by 95% intervals | width |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- | --- |", *lines])


def errors(rows: int, noise: str, seed: int, k: int = 5) -> list[float]:
    """Return largest errors of inclusion (match, result), of means and sds, of the evidence; ess, sampled."""
    x, y = heavy(rows, k, noise, seed)
    truth, _ = enumerate_student(x, y, np.full(k, 0.5), 1.0, 4.0)
    found = fit_heavy(x, y)
    inclusion = [float(np.abs(node.inclusion - truth.inclusion).max()) for node in (found.base, found)]
    mean = float((np.abs(found.mean - truth.mean) / truth.sd).max())
    sd = float(np.abs(np.sqrt(np.diag(found.second_moment) - found.mean**2) / truth.sd - 1.0).max())
    evidence = abs(float(found.log_evidence) - truth.log_evidence)
    return [*inclusion, mean, sd, evidence, found.diagnostics.ess, float(found.diagnostics.fallback)]


def nodes() -> None:
    """Compare nodes with enumeration, and write the table."""
    lines = [
        "| noise | rows | sets | edge probability: match | result | mean | sd | log evidence | ess | sampled |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    every = []
    words = {"normal": "normal", "t3": "t, 3 degrees of freedom", "outliers": "a tenth 12 times as far out"}
    for noise, name in words.items():
        for rows in (30, 50, 100, 500):
            found = np.array([errors(rows, noise, seed) for seed in (0, 1)])
            every.append(found)
            a, b, c, d, e, ess, sampled = found.mean(axis=0)
            numbers = f"{a:.3f} | {b:.3f} | {c:.2f} | {d:.1%} | {e:.3f} | {ess:.2f} | {2 * sampled:.0f} |"
            lines.append(f"| {name} | {rows} | 2 | {numbers}")
            print(lines[-1], flush=True)
    together = np.concatenate(every)
    worst = together.max(axis=0)
    lines += [
        "",
        f"All {len(together)} data sets, at worst: edge probability {worst[1]:.3f} (match alone {worst[0]:.3f}), mean "
        f"{worst[2]:.2f} standard deviations, standard deviation {worst[3]:.1%}, log evidence {worst[4]:.3f}.",
    ]
    print(lines[-1])
    write_text(FOLDER / "heavy_nodes.md", "\n".join(lines) + "\n")


def main() -> None:
    """Run all cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--learned", action="store_true", help="learn degrees of freedom, and print only")
    parser.add_argument("--nodes", action="store_true", help="nodes against enumeration instead")
    options = parser.parse_args()
    if options.nodes:
        nodes()
        return
    if options.learned:
        FAMILIES[1] = {"y": ad.Student()}
    lines, seeds = [], range(options.first, options.first + options.sets)
    for rows in (200, 1000):
        for noise in NOISE:
            lines.append(row(noise, rows, np.array([run(noise, rows, seed) for seed in seeds])))
            print(lines[-1], flush=True)
    if not options.learned:
        write_text(FOLDER / "heavy_tails.md", table(lines) + "\n")


if __name__ == "__main__":
    main()
