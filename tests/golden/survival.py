"""Write ``survival.json``: lifelines' Cox regressions of recidivism, with the rows, and of simulated times.

Run it where lifelines is installed: ``python tests/golden/survival.py``. The data come with lifelines (Rossi, Berk and
Lenihan 1980: 432 released prisoners, 114 of them arrested again within a year); ties are broken by a fraction of the
row's number, so that Breslow's and Efron's treatments agree. The other is
of `simulated`, which has rows enough for a posterior mean to be where the maximum is.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

CAUSES = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]


def simulated() -> dict[str, np.ndarray]:
    """Return 4,000 rows with Weibull times, about a third of them censored, some of which enter late."""
    rng = np.random.default_rng(5)
    age, sex = rng.standard_normal(4000), rng.integers(0, 2, 4000).astype(float)
    drug = (rng.random(4000) < 1.0 / (1.0 + np.exp(-age))).astype(float)
    time = (rng.exponential(size=4000) / np.exp(0.5 * age - 0.4 * sex - 0.6 * drug)) ** 0.7
    late, until = rng.exponential(0.2, 4000) * (rng.random(4000) < 0.3), rng.exponential(2.0, 4000)
    stop = np.minimum(time, late + until)
    table = {"age": age, "sex": sex, "drug": drug, "time": stop, "died": (time <= stop) * 1.0, "late": late}
    return {name: values[time > late] for name, values in table.items()}


def main() -> None:
    import pandas as pd
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_rossi

    table = load_rossi()
    rng = np.random.default_rng(0)
    table["week"] = table["week"] + rng.permutation(len(table)) / (10.0 * len(table))
    plain = CoxPHFitter().fit(table[[*CAUSES, "week", "arrest"]], "week", "arrest")
    large = CoxPHFitter().fit(pd.DataFrame(simulated()), "time", "died", entry_col="late")
    golden = {
        "rows": {name: table[name].astype(float).round(6).tolist() for name in [*CAUSES, "week", "arrest"]},
        "log_hazard": {name: float(plain.params_[name]) for name in CAUSES},
        "error": {name: float(plain.standard_errors_[name]) for name in CAUSES},
        "simulated": {name: float(large.params_[name]) for name in ("age", "sex", "drug")},
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
