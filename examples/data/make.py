"""Write the built-in example as a file, for the command line: run from the project's root."""

from __future__ import annotations

from pathlib import Path

import alldags as ad

FOLDER = Path(__file__).parent


def csv_text(study: ad.datasets.Example) -> str:
    """Return the table as CSV, with all digits: answers from the file are those from the table."""
    rows = zip(*study.table.values(), strict=True)
    lines = [",".join(study.table), *(",".join(map(_digits, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _digits(value: float) -> str:
    """Return a number as short as it can be read again."""
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


if __name__ == "__main__":
    study = ad.datasets.example()
    (FOLDER / "smoking.csv").write_text(csv_text(study), encoding="utf-8")
