"""Numbers of other programs for panels: MixedLM and VAR of statsmodels; fixed effects of linearmodels and pyfixest.

Run in an environment that has these: ``python tests/golden/panels.py``. It writes ``panels.json``, which tests read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def uneven() -> dict[str, np.ndarray]:
    """60 units of 2 to 8 rows, with intercepts of their own."""
    rng = np.random.default_rng(5)
    rows = rng.integers(2, 9, 60)
    unit = np.repeat(np.arange(60), rows)
    x, z = rng.standard_normal((2, len(unit)))
    y = 0.5 * x - 0.3 * z + 0.8 * rng.standard_normal(60)[unit] + rng.standard_normal(len(unit))
    return {"unit": unit, "x": x, "z": z, "y": y}


def staggered() -> dict[str, np.ndarray]:
    """40 units of 12 steps with a fifth of the rows missing, and the past of y beside."""
    rng = np.random.default_rng(6)
    unit, time = np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40)
    x = rng.standard_normal(1200) + 0.5 * rng.standard_normal(40)[unit]
    y = np.zeros(1200)
    for i in range(1200):
        before = y[i - 1] if time[i] else 0.0
        y[i] = 0.4 * before + 0.5 * x[i] + rng.standard_normal() + 0.3 * unit[i] / 40 + 0.1 * np.sin(time[i])
    kept = np.ones(1200, dtype=bool)
    kept[rng.choice(1200, 60, replace=False)] = False
    return {"unit": unit[kept], "time": time[kept], "x": x[kept], "y": y[kept]}


def series() -> np.ndarray:
    """150 steps of three variables."""
    rng = np.random.default_rng(7)
    found = np.zeros((150, 3))
    matrix = np.array([[0.5, 0.3, 0.0], [0.0, 0.4, -0.3], [0.0, 0.0, 0.6]])
    for t in range(1, 150):
        found[t] = found[t - 1] @ matrix + rng.standard_normal(3)
    return found


def main() -> None:
    import pandas as pd
    import pyfixest
    import statsmodels.formula.api as smf
    from linearmodels.panel import PanelOLS
    from statsmodels.tsa.api import VAR

    table = pd.DataFrame(uneven())
    mixed = smf.mixedlm("y ~ x + z", table, groups="unit").fit(reml=True, xtol=1e-12, ftol=1e-14)
    found = {
        "mixed": {
            "ratio": float(mixed.cov_re.iloc[0, 0] / mixed.scale),
            "x": float(mixed.fe_params["x"]),
            "z": float(mixed.fe_params["z"]),
        }
    }
    panel = pd.DataFrame(staggered())
    panel["before"] = panel.groupby("unit")["y"].shift(1)
    panel.loc[panel.groupby("unit")["time"].diff() != 1, "before"] = np.nan
    panel = panel.dropna()
    fixed = PanelOLS(panel.set_index(["unit", "time"])["y"], panel.set_index(["unit", "time"])[["x", "before"]],
                     entity_effects=True, time_effects=True).fit()  # fmt: skip
    again = pyfixest.feols("y ~ x + before | unit + time", data=panel, fixef_tol=1e-12)
    found["two_way"] = {
        "rows": len(panel),
        "linearmodels": fixed.params.to_dict(),
        "pyfixest": {str(name): float(value) for name, value in again.coef().items()},
    }
    impulse = VAR(series()).fit(1).irf(6).irfs  # (step, effect, cause)
    found["impulse"] = impulse.tolist()
    Path(__file__).with_name("panels.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
