"""Write the built-in example as a file, for the command line: run from the project's root."""

from __future__ import annotations

from pathlib import Path

import alldags as ad

FOLDER = Path(__file__).parent


def csv_text(study: ad.datasets.Example) -> str:
    """Return the table as CSV, six significant digits."""
    rows = zip(*study.table.values(), strict=True)
    lines = [",".join(study.table), *(",".join(f"{value:.6g}" for value in row) for row in rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    study = ad.datasets.example()
    (FOLDER / "smoking.csv").write_text(csv_text(study), encoding="utf-8")
