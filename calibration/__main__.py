"""``python -m calibration [--sets 200] [--n-jobs 2] [--only WORD]``: simulate, and write the page's tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from alldags.files import write_text
from calibration import confounders, keep
from calibration.confounders import CELLS, Cell, Outcome
from calibration.keep import FOLDER, Key


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first-seed", type=int, default=10_000, help="seeds below 10,000 were used for choices")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--only", default="", help="only cells whose name holds this word")
    options = parser.parse_args()
    chosen = [i for i, cell in enumerate(CELLS) if options.only in cell.key]
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[int, int]] = {(CELLS[i].key, seed): (i, seed) for seed in seeds for i in chosen}
    outcomes = keep.run(FOLDER / "confounders.csv", Outcome, confounders.run, tasks, n_jobs=options.n_jobs)
    text = table(outcomes)
    print(text)
    if not options.only:
        write_text(FOLDER / "confounders.md", text + "\n")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown: cells, and pooled coverage where candidates are fewer than half the rows."""
    lines = [
        "| design (covariates x rows) | sets | error | over least squares | covered | by least squares | width |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    by_cell = {cell: [item for item in outcomes if item.cell == cell.key] for cell in CELLS}
    lines += [_row(cell, items) for cell, items in by_cell.items() if items]
    for words, wanted in (("with an effect", True), ("without an effect", False)):
        pooled = [
            item
            for cell, items in by_cell.items()
            if bool(cell.effect) == wanted and 2 * cell.covariates + 2 < cell.rows
            for item in items
        ]
        if pooled:
            share = np.mean([item.covered for item in pooled])
            lines.append(f"| *all {words}, candidates below half the rows* | {len(pooled)} | | | {share:.3f} | | |")
    return "\n".join(lines)


def _row(cell: Cell, items: Sequence[Outcome]) -> str:
    rmse, plain = (
        float(np.sqrt(np.mean((np.array([getattr(item, name) for item in items]) - cell.effect) ** 2)))
        for name in ("estimate", "plain")
    )
    covered, plain_covered, width = (
        float(np.mean([getattr(item, name) for item in items])) for name in ("covered", "plain_covered", "width")
    )
    return (
        f"| {cell.key} | {len(items)} | {rmse:.3f} | {rmse / plain:.2f} | {covered:.3f} | {plain_covered:.3f} | "
        f"{width:.3f} |"
    )


if __name__ == "__main__":
    main()
