"""What averaging over one edge does to a weak effect: bias and cover, whatever the slab.

Run with ``python -m calibration.shrinkage``. An estimate is normal about the truth with a known standard deviation; the
edge is there with probability one half, its coefficient then normal with the slab's. All is in closed form but for the
average over estimates, which is on a grid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from alldags.files import write_text
from calibration.keep import FOLDER, markdown

SD = 0.036  # of the estimate of an effect from wave to wave, 300 units, five waves
TRUTHS = (0.0, 0.05, 0.1, 0.15, 0.2)
SLABS = (0.05, 0.1, 0.2, 0.5, 1.0)  # standard deviations


class Cell(NamedTuple):
    """What becomes of one truth under one slab."""

    bias: float
    covered: float
    probability: float


def cell(truth: float, slab: float, sd: float = SD) -> Cell:
    """Return bias, cover of the central 95% interval and mean probability of the edge.

    Examples
    --------
    >>> from calibration.shrinkage import cell
    >>> wide = cell(0.1, 1.0)
    >>> round(wide.bias, 3), round(wide.covered, 2)
    (-0.03, 0.81)
    """
    grid = np.linspace(-8.0, 8.0, 16_001)
    weight = np.exp(-0.5 * grid**2)
    weight /= weight.sum()
    estimate, share = truth + sd * grid, slab**2 / (slab**2 + sd**2)
    there = expit(0.5 * math.log1p(-share) + 0.5 * share * (estimate / sd) ** 2)
    center, spread = share * estimate, sd * math.sqrt(share)
    below = there * ndtr((truth - center) / spread)  # of the truth, without the atom at zero
    low, high = below + (1.0 - there) * (truth > 0.0), below + (1.0 - there) * (truth >= 0.0)
    inside = (high >= 0.025) & (low <= 0.975)
    return Cell(float(weight @ (there * center)) - truth, float(weight @ inside), float(weight @ there))


def main() -> None:
    """Write the table."""
    rows = []
    for truth in TRUTHS:
        cells = [cell(truth, slab) for slab in SLABS]
        rows.append([f"{truth:g}", *(f"{one.bias:+.3f}, {one.covered:.0%}, {one.probability:.0%}" for one in cells)])
    table = markdown(["truth", *(f"slab {slab:g}" for slab in SLABS)], rows)
    write_text(FOLDER / "shrinkage.md", table + "\n")
    print(table)


if __name__ == "__main__":
    main()
