"""What the package maketables asks of a result, so that it can stand beside regressions in one table."""

from __future__ import annotations

import math
from typing import Any

from alldags.errors import require
from alldags.show.summary import EffectSummary


def coefficient_frame(summary: EffectSummary) -> Any:
    """Return one row with estimate, standard deviation and 95% interval; there is no t and no p."""
    pandas: Any = require("pandas", "experiments")
    values = {
        "b": summary.mean,
        "se": summary.sd,
        "t": math.nan,
        "p": math.nan,
        "ci95l": summary.low,
        "ci95u": summary.high,
    }
    return pandas.DataFrame([values], index=pandas.Index([summary.treatment], name="Coefficient"))


def statistic(summary: EffectSummary, key: str) -> float | str | None:
    """Return a statistic under the name maketables knows, or None: N, r2 (of the outcome), P(no effect)."""
    if key == "N":
        return summary.rows
    if key == "r2":
        return next((item.r2 for item in summary.explained if item.name == summary.outcome), None)
    return summary.probability_no_effect if key == "probability_no_effect" else None
