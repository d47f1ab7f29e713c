"""Write ``darfur.json``: PySensemakr 0.0.8 on its Darfur data, and the moments of the columns used.

Run it where PySensemakr, statsmodels and pandas below version 3 are installed: ``python tests/golden/darfur.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import sensemakr
import statsmodels.formula.api as smf

COVARIATES = ["age", "farmer_dar", "herder_dar", "pastvoted", "hhsize_darfur", "female"]
TREATMENT, OUTCOME = "directlyharmed", "peacefactor"
PAIRS = [(0.05, 0.05), (0.1, 0.2), (0.3, 0.1), (0.5, 0.5)]


def main() -> None:
    names = [*COVARIATES, TREATMENT, OUTCOME]
    data = sensemakr.load_darfur()[names].astype(float)
    model = smf.ols(f"{OUTCOME} ~ {TREATMENT} + " + " + ".join(COVARIATES), data=data).fit()
    analysis = sensemakr.Sensemakr(model, TREATMENT, benchmark_covariates="female", kd=[1, 2, 3])
    stats = analysis.sensitivity_stats
    values = data.to_numpy()
    golden = {
        "names": names,
        "n": len(values),
        "mean": values.mean(axis=0).tolist(),
        "covariance": np.cov(values, rowvar=False).tolist(),
        "estimate": float(stats["estimate"]),
        "se": float(stats["se"]),
        "rv": float(stats["rv_q"]),
        "rv_95": float(stats["rv_qa"]),
        "pairs": PAIRS,
        "adjusted": [
            float(np.squeeze(sensemakr.adjusted_estimate(r2dz_x=x, r2yz_dx=y, model=model, treatment=TREATMENT)))
            for x, y in PAIRS
        ],
        "benchmarks": [
            {
                "times": k,
                "r2_treatment": float(row["r2dz_x"]),
                "r2_outcome": float(row["r2yz_dx"]),
                "adjusted": float(row["adjusted_estimate"]),
            }
            for k, (_, row) in zip([1, 2, 3], analysis.bounds.iterrows(), strict=True)
        ],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
