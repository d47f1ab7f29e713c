"""``python -m calibration.hidden [--sets 300] [--n-jobs 2]``: a real hidden cause.

Coverage of intervals that ignore it, and of intervals that know how strong such causes are.

Four covariates, a treatment, a mediator and an outcome; strengths are drawn from the prior that the user states.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import alldags as ad
from alldags.effects.hidden.records import SensitivityAnswer
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key
from calibration.lines import fit

COVARIATES = ("c1", "c2", "c3", "c4")
NAMES = (*COVARIATES, "x", "m", "y")
TOP = 0.4  # shares are uniform between 0 and this
DRAWS = 4000


@dataclass(frozen=True)
class HiddenCell:
    """A design.

    Parameters
    ----------
    rows
        Number of rows.
    hits_mediator
        Whether the hidden cause acts on the mediator, too.
    assumes_mediator
        Whether the analysis says so.
    uncertain_edge
        Whether the edges from treatment to mediator and outcome exist in half of the data sets only.
    """

    rows: int
    hits_mediator: bool
    assumes_mediator: bool
    uncertain_edge: bool = False

    @property
    def key(self) -> str:
        """What is hit and what is assumed."""
        hit, assumed = ("x, m, y" if flag else "x, y" for flag in (self.hits_mediator, self.assumes_mediator))
        edge = ", edges absent in half" if self.uncertain_edge else ""
        return f"hits {hit}; assumed {assumed}{edge}"


CELLS = (
    HiddenCell(200, False, False),
    HiddenCell(200, True, True),
    HiddenCell(200, True, False),
    HiddenCell(1000, False, False),
    HiddenCell(1000, True, True),
    HiddenCell(1000, True, False),
    HiddenCell(300, False, False, uncertain_edge=True),
)


@dataclass(frozen=True)
class HiddenOutcome:
    """One data set: the truth, and 95% intervals without and with the hidden cause."""

    cell: str
    rows: int
    seed: int
    truth: float
    plain: float
    plain_covered: bool
    plain_width: float
    mean: float
    covered: bool
    width: float
    no_direct: float
    is_absent: bool


def simulate(cell: HiddenCell, rng: np.random.Generator) -> tuple[FloatArray, float, float]:
    """Return a table, the total effect, and the direct one."""
    if cell.hits_mediator:
        loadings = np.sqrt(rng.uniform(0, TOP, 3))
    else:
        r2x, r2y = rng.uniform(0, TOP, 2)
        loadings = np.sqrt([r2x, 0.0, r2y / (1 - r2x + r2x * r2y)])
    hidden = rng.standard_normal(cell.rows)
    errors = loadings[:, None] * hidden + np.sqrt(1 - loadings[:, None] ** 2) * rng.standard_normal((3, cell.rows))
    spread = 0.7 if cell.uncertain_edge else 0.5
    acts = rng.normal(0, spread, (3, 4)) * (rng.random((3, 4)) < 0.5)
    on_mediator, direct, onward = rng.normal(0, spread, 3) * (rng.random(3) < (0.5 if cell.uncertain_edge else 1.0))
    c = rng.standard_normal((cell.rows, 4))
    x = c @ acts[0] + errors[0]
    m = c @ acts[1] + on_mediator * x + errors[1]
    y = c @ acts[2] + direct * x + onward * m + errors[2]
    return np.column_stack([c, x, m, y]), float(direct + on_mediator * onward), float(direct)


def run(task: tuple[int, int]) -> HiddenOutcome:
    """Return what one data set of one cell gives; `task` is the cell's number and the data set's seed."""
    cell, seed = CELLS[task[0]], task[1]
    rng = np.random.default_rng([crc32(f"{cell.key}, {cell.rows}".encode()), seed])
    table, truth, direct = simulate(cell, rng)
    graph = ad.CandidateGraph.from_tiers([COVARIATES, ["x"], ["m"], ["y"]], 0.5)
    effect = fit(table, graph, names=NAMES, rng=seed).effect("x", "y")
    low, high = effect.interval(0.95)
    answer = _answer(cell, effect)
    slack = 1e-9  # of an effect that is exactly zero
    return HiddenOutcome(
        cell=cell.key,
        rows=cell.rows,
        seed=seed,
        truth=truth,
        plain=effect.mean,
        plain_covered=low - slack <= truth <= high + slack,
        plain_width=high - low,
        mean=answer.mean,
        covered=answer.low - slack <= truth <= answer.high + slack,
        width=answer.high - answer.low,
        no_direct=float(answer.probability_no_direct_effect or 0.0),
        is_absent=direct == 0.0,
    )


def _records(task: tuple[int, int]) -> list[HiddenOutcome]:
    return [run(task)]


def _answer(cell: HiddenCell, effect: ad.Effect) -> SensitivityAnswer:
    if cell.assumes_mediator:
        strength = ad.Strength(shares=dict.fromkeys(("x", "m", "y"), (0.0, TOP)), sign="positive")
        return effect.sensitivity(["x", "m", "y"], draws=DRAWS).given(strength)
    strength = ad.Strength((0.0, TOP), (0.0, TOP), sign="positive")
    return effect.sensitivity(draws=DRAWS).given(strength)


def table(outcomes: list[HiddenOutcome]) -> str:
    """Return the results in Markdown."""
    lines = [
        "| hidden cause | rows | sets | covered, ignoring it | covered | width, ignoring it | width | "
        "error, ignoring it | error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in CELLS:
        items = [item for item in outcomes if item.cell == cell.key and item.rows == cell.rows]
        if items:
            lines.append(_row(cell, items))
    return "\n".join(lines)


def _row(cell: HiddenCell, items: list[HiddenOutcome]) -> str:
    def mean(name: str) -> float:
        return float(np.mean([getattr(item, name) for item in items]))

    def error(name: str) -> float:
        return float(np.sqrt(np.mean([(getattr(item, name) - item.truth) ** 2 for item in items])))

    return (
        f"| {cell.key} | {cell.rows} | {len(items)} | {mean('plain_covered'):.3f} | {mean('covered'):.3f} | "
        f"{mean('plain_width'):.2f} | {mean('width'):.2f} | {error('plain'):.3f} | {error('mean'):.3f} |"
    )


def main() -> None:
    """Run what is missing; write every data set, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300, help="data sets of each cell")
    parser.add_argument("--n-jobs", type=int, default=-1)
    options = parser.parse_args()
    tasks: dict[Key, tuple[int, int]] = {
        (cell.key, cell.rows, seed): (i, seed) for i, cell in enumerate(CELLS) for seed in range(options.sets)
    }
    outcomes = keep.run(FOLDER / "hidden.csv", HiddenOutcome, _records, tasks, n_jobs=options.n_jobs)
    write_text(FOLDER / "hidden.md", table(outcomes) + "\n")
    print(table(outcomes))


if __name__ == "__main__":
    main()
