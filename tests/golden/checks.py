"""Write ``checks.json``: statsmodels on the example's rows, for the checks of residuals and of a propensity.

Run it where statsmodels and pandas are installed, with the example's table as CSV:
``python tests/golden/checks.py example.csv``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.stats.outliers_influence import OLSInfluence, variance_inflation_factor

CAUSES = ["age", "sex", "income", "smoking", "tar", "exercise"]


def propensity(table: pd.DataFrame) -> dict[str, object]:
    heavy = (table["smoking"] > table["smoking"].median()).astype(float)
    design = sm.add_constant(table[["age", "sex", "income"]])
    fitted = sm.Logit(heavy, design).fit(disp=0, tol=1e-12)
    eta = design @ fitted.params
    low, high = eta[heavy == 0].min(), eta[heavy == 0].max()
    outside = (eta[heavy == 1] < low) | (eta[heavy == 1] > high)
    arms = [table.loc[heavy == arm, "income"] for arm in (0, 1)]
    gap = (arms[1].mean() - arms[0].mean()) / np.sqrt(np.mean([arm.var(ddof=0) for arm in arms]))
    return {"coefficients": fitted.params.tolist(), "treated_outside": float(outside.mean()), "income_gap": float(gap)}


def main() -> None:
    table = pd.read_csv(sys.argv[1])
    design = sm.add_constant(table[CAUSES])
    line = sm.OLS(table["risk"], design).fit()
    squares = {name: _score(line, design, table[name] ** 2) for name in CAUSES if name != "sex"}
    influence = OLSInfluence(line)
    worst = int(np.argmax(np.abs(influence.resid_studentized_external)))
    golden = {
        "coefficients": line.params.tolist(),
        "score": squares,
        "worst": [worst, float(influence.resid_studentized_external.iloc[worst])],
        "inflation": [variance_inflation_factor(design.to_numpy(), i + 1) for i in range(len(CAUSES))],
        "propensity": propensity(table),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(golden, indent=1) + "\n")


def _score(line, design, column) -> float:
    """Return the robust score test of a further column, from residuals of two regressions."""
    left = sm.OLS(column, design).fit().resid
    products = (left * line.resid).to_numpy()
    return float(products.sum() ** 2 / (products**2).sum())


if __name__ == "__main__":
    main()
