"""Write ``fixed_effects.json``: pyfixest on panels that are made here, and on the castle doctrine data of causaldata.

Run it where pyfixest and causaldata are installed: ``python tests/golden/fixed_effects.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

COVARIATES = ["unemployrt", "poverty", "l_police", "l_income"]
CASES: dict[str, tuple[tuple[str, ...], bool]] = {
    "one way": (("state",), False),
    "two-way": (("state", "year"), False),
    "one way, weighted": (("state",), True),
    "two-way, weighted": (("state", "year"), True),
}


def panel() -> dict[str, Any]:
    """Return an unbalanced panel: 30 states, 12 years, a third of the cells left out, some states twice in a year."""
    rng = np.random.default_rng(27)
    state, year = (codes.ravel() for codes in np.meshgrid(np.arange(30), np.arange(2000, 2012), indexing="ij"))
    rows = np.sort(rng.choice(len(state), 260))
    state, year = state[rows], year[rows]
    level, step = 3.0 * rng.standard_normal(30)[state], rng.standard_normal(12)[year - 2000]
    w = 0.7 * level + rng.standard_normal(len(state))
    x = 0.5 * w + level + step + rng.standard_normal(len(state))
    y = 0.4 * x - 0.3 * w + 2.0 * level - step + rng.standard_normal(len(state))
    return {"state": state, "year": year, "w": w, "x": x, "y": y, "weight": rng.gamma(2.0, size=len(state))}


def main() -> None:
    import pandas as pd
    import pyfixest as pf
    from causaldata import castle

    table = pd.DataFrame(panel())
    golden: dict[str, Any] = {"pyfixest": pf.__version__, "panel": {}, "castle": {}}
    for name, (factors, weighted) in CASES.items():
        weights = {"weights": "weight"} if weighted else {}
        fit = pf.feols(f"y ~ x + w | {' + '.join(factors)}", table, "iid", **weights)
        golden["panel"][name] = _numbers(fit, "x", "state")
    data = castle.load_pandas().data
    for name, weights in (("plain", {}), ("popwt", {"weights": "popwt"})):
        formula = f"l_homicide ~ post + {' + '.join(COVARIATES)} | sid + year"
        golden["castle"][name] = _numbers(pf.feols(formula, data, "iid", **weights), "post", "sid")
    Path(__file__).with_suffix(".json").write_text(json.dumps(golden, indent=1) + "\n")


def _numbers(fit: Any, name: str, cluster: str) -> dict[str, float]:
    """Return the estimate, and its error by even noise, by uneven noise, and by clusters."""
    found = {"estimate": float(fit.coef()[name]), "error": float(fit.se()[name])}
    found["uneven"] = float(fit.vcov("hetero").se()[name])
    found["clustered"] = float(fit.vcov({"CRV1": cluster}).se()[name])
    return found


if __name__ == "__main__":
    main()
