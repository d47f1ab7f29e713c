"""``python -m calibration.checks [--sets 400]``: how often `Posterior.checks` finds what is not there, and what is.

Data sets satisfy the model (or break it in one named way), and all checks of one effect, and of everything, are made. A
false alarm is a data set in which anything at all is to be looked at.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.show.checks import KINDS
from alldags.typing import FloatArray
from calibration.keep import FOLDER
from calibration.lines import fit

FIRST_SEED = 90_000
NAMES = ("a", "b", "c", "d", "x", "m", "y")
EDGES = {
    ("a", "x"): 0.5, ("b", "x"): 0.5, ("c", "x"): 0.5, ("x", "m"): 0.5, ("a", "m"): 0.5, ("x", "y"): 0.5,
    ("m", "y"): 0.5, ("a", "y"): 0.5, ("b", "y"): 0.5, ("d", "y"): 0.5,
}  # fmt: skip
GRAPH = ad.CandidateGraph.from_edges(EDGES)


@dataclass(frozen=True)
class World:
    """How rows are made: what is broken ("" for nothing), whether the treatment or the outcome is yes/no."""

    name: str
    broken: str = ""
    yes_no_treatment: bool = False
    yes_no_outcome: bool = False
    skewed: bool = False

    def rows(self, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Return a table of so many rows."""
        first = rng.exponential(size=(count, 4)) - 1.0 if self.skewed else rng.standard_normal((count, 4))
        a, b, c, d = first.T
        x = 0.5 * a + 0.4 * b + 0.3 * c
        x = (
            x + rng.standard_normal(count)
            if not self.yes_no_treatment
            else (rng.logistic(size=count) < x).astype(float)
        )
        m = 0.7 * x + 0.4 * a + self._extra(count, rng, "c acts on m", 0.4 * c) + rng.standard_normal(count)
        y = 0.5 * x + 0.5 * m + 0.4 * a - 0.5 * d + self._extra(count, rng, "y bends with a", 0.3 * a**2)
        if self.yes_no_outcome:
            y = (rng.logistic(size=count) < y).astype(float)
        else:
            noise = np.exp(0.4 * y) if self.broken == "uneven noise" else 1.0
            y = y + noise * rng.standard_normal(count)
            y[0] += 8.0 * (self.broken == "one row is off")
        return dict(zip(NAMES, (a, b, c, d, x, m, y), strict=True))

    def _extra(self, count: int, rng: np.random.Generator, name: str, value: FloatArray) -> FloatArray:
        del rng
        return value if self.broken == name else np.zeros(count)


WORLDS = (
    World("straight lines"),
    World("skewed covariates", skewed=True),
    World("0/1 treatment", yes_no_treatment=True),
    World("yes/no outcome", yes_no_outcome=True),
    World("y bends with a", broken="y bends with a"),
    World("c acts on m", broken="c acts on m"),
    World("uneven noise", broken="uneven noise"),
    World("one row is off", broken="one row is off"),
)
SIZES = (50, 200, 1000, 10_000)


def found(world: World, count: int, seed: int) -> tuple[str, ...]:
    """Return which kinds of check found something in one data set."""
    table = world.rows(count, np.random.default_rng([seed, count]))
    return tuple({line.check for line in fit(table, GRAPH, rng=0).checks().findings if line.check != "balance"})


def table(sets: int, sizes: tuple[int, ...] = SIZES) -> str:
    """Return the share of data sets in which each kind of check found something, in Markdown."""
    kinds = [kind for kind in KINDS if kind != "balance"]
    lines = [f"| world | rows | anything | {' | '.join(kinds)} |", "| --- " * (3 + len(kinds)) + "|"]
    for world in WORLDS:
        for count in sizes:
            each = [found(world, count, FIRST_SEED + i) for i in range(sets)]
            shares = Counter(kind for one in each for kind in one)
            cells = [sum(map(bool, each)), *(shares[kind] for kind in kinds)]
            lines.append(f"| {world.name} | {count:,} | " + " | ".join(f"{cell / sets:.1%}" for cell in cells) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    sets = parser.parse_args().sets
    write_text(
        FOLDER / "checks.md", f"# Checks: how often something is found ({sets} data sets a row)\n\n{table(sets)}"
    )
