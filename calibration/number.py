"""Effects where the number of causes among very many candidates is learned: ``python -m calibration.number``.

Two priors of the edges: the default, under which the number is learned, and even odds that are stated. Designs: ten
strong causes; fifty weak confounders, each too weak to be seen. Rows of ``calibration/results/number.csv`` are kept as
they come, and a run goes on where it stopped.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np

import alldags as ad

FIRST = 350_000  # 340,000 to 340,020 decided how edges are linked
ROWS = 500
EFFECT = 0.5
TARGET = Path(__file__).parent / "results" / "number.csv"
HEAD = ("design", "candidates", "prior", "seed", "mean", "sd", "low", "high", "cpu")


def table_of(design: str, candidates: int, seed: int) -> dict[str, np.ndarray]:
    """Return a table in which x drives y by `EFFECT`, and neighbours among the candidates are correlated."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((ROWS, candidates))
    columns = noise.copy()
    for j in range(1, candidates):
        columns[:, j] = 0.3 * columns[:, j - 1] + np.sqrt(1.0 - 0.3**2) * noise[:, j]
    count, drive, act = (10, 0.25, 0.4) if design == "strong" else (50, 0.12, 0.1)
    chosen = rng.choice(candidates, count, replace=False)
    x = drive * columns[:, chosen[: count // 2 if design == "strong" else count]].sum(axis=1) + rng.standard_normal(
        ROWS
    )
    y = EFFECT * x + act * columns[:, chosen].sum(axis=1) + rng.standard_normal(ROWS)
    return {**{f"c{j}": columns[:, j] for j in range(candidates)}, "x": x, "y": y}


def answers(design: str, candidates: int, seed: int) -> list[tuple[object, ...]]:
    """Return a row for each prior."""
    table = table_of(design, candidates, seed)
    tiers = [[name for name in table if name not in ("x", "y")], ["x"], ["y"]]
    found = []
    for name, probability in (("learned", None), ("even", 0.5)):
        start = time.process_time()
        graph = ad.CandidateGraph.from_tiers(tiers, probability).with_edge("x", "y", 1.0)
        effect = ad.fit(table, graph, terms=None, rng=seed).effect("x", "y")
        low, high = effect.interval(0.95)
        found.append((design, candidates, name, seed, effect.mean, effect.sd, low, high, time.process_time() - start))
    return found


def main(sets: int) -> None:
    """Run what is missing, and print the figures."""
    done = set()
    if TARGET.exists():
        done = {(row[0], int(row[1]), int(row[3])) for row in list(csv.reader(TARGET.open()))[1:]}
    else:
        TARGET.write_text(",".join(HEAD) + "\n")
    for seed in range(FIRST, FIRST + sets):
        for design in ("strong", "weak"):
            for candidates in (100, 300):
                if (design, candidates, seed) not in done:
                    with TARGET.open("a", newline="") as file:
                        csv.writer(file, lineterminator="\n").writerows(answers(design, candidates, seed))
    show()


def show() -> None:
    """Print bias, root mean squared error, coverage, width and seconds of each cell."""
    rows = list(csv.DictReader(TARGET.open()))
    cells = dict.fromkeys((row["design"], row["candidates"], row["prior"]) for row in rows)
    print("| causes | candidates | number of causes | sets | bias | error | covered | width | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for cell in sorted(cells):
        own = [row for row in rows if (row["design"], row["candidates"], row["prior"]) == cell]
        mean, low, high, cpu = (np.array([float(row[key]) for row in own]) for key in ("mean", "low", "high", "cpu"))
        covered = 100 * np.mean((low <= EFFECT) & (high >= EFFECT))
        error = np.sqrt(np.mean((mean - EFFECT) ** 2))
        print(
            f"| {' | '.join(cell)} | {len(own)} | {mean.mean() - EFFECT:+.3f} | {error:.3f} | {covered:.1f}% | "
            f"{(high - low).mean():.3f} | {np.median(cpu):.2f} |"
        )


if __name__ == "__main__":
    show() if "--show" in sys.argv else main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
