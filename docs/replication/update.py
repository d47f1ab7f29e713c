"""Turn the results of ``alldags reproduce`` into the pages of this folder.

python docs/replication/update.py alldags-results
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGES = {
    "small": ("Small graph", {"curves": "Top: mean squared error of the effect against sample size. Bottom: ratio to "
              "Bayes optimal. Bars: two standard errors; in the bottom row of the paired difference."}),
    "large": ("Large graph", {"curves": "Top: mean squared error of the effect against sample size, for three edge "
              "probabilities. Bottom: ratio to Bayes optimal. Bars: two standard errors; in the bottom row of the "
              "paired difference."}),
    "ihdp": ("IHDP", {"curves": "Mean squared error of the average treatment effect against sample size. Bars: two "
             "standard errors.", "errors": "Absolute errors over the replications at full size."}),
    "lbidd": ("LBIDD", {"curves": "Mean squared error of the average treatment effect against sample size, over random "
              "subsamples of rows. Bars: two standard errors; at n = 1000 there is one data set."}),
    "acic": ("ACIC 2016", {"errors": "Absolute errors of the average effect over the replications."}),
    "ihdp-curves": ("IHDP with curves", {"errors": "Absolute errors over the replications at full size."}),
    "lbidd-curves": ("LBIDD with curves", {}),
}  # fmt: skip
FEW = "--methods terms ipw_normalised least_squares"
COMMANDS = {
    "ihdp-curves": f"ihdp --first 101 --replicates 100 --sizes 747 {FEW} --out alldags-results/ihdp-curves",
    "lbidd-curves": f"lbidd --replicates 1 --sizes 1000 {FEW} --out alldags-results/lbidd-curves",
}


def page(name: str, folder: Path) -> str:
    """Return the Markdown page of one experiment, and copy its figures."""
    title, figures = PAGES[name]
    parts = [f"# {title}: all numbers\n", _made_by(name)]
    for figure, caption in figures.items():
        for kind in ("png", "svg"):
            shutil.copy(folder / f"{figure}.{kind}", HERE / "images" / f"{name}-{figure}.{kind}")
        parts.append(f"![{caption}](images/{name}-{figure}.png)\n\n*{caption}* ([SVG](images/{name}-{figure}.svg))\n")
    tables = (folder / "tables.md").read_text().replace("### ", "## ")
    return "\n".join([*parts, tables])


def _made_by(name: str) -> str:
    return f"Made by `alldags reproduce {COMMANDS.get(name, name)}`; see [the summary](index.md).\n"


def main() -> None:
    """Write one page per experiment whose results are there."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "alldags-results")
    (HERE / "images").mkdir(exist_ok=True)
    for name in PAGES:
        if (results / name / "tables.md").exists():
            (HERE / f"{name}.md").write_text(page(name, results / name))
            print(f"wrote {name}.md")


if __name__ == "__main__":
    main()
