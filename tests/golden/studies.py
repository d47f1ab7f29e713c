"""Write ``studies.json``: real studies by statsmodels and linearmodels, as their fields fit them.

Run it where statsmodels, linearmodels and causaldata are installed, with the public data in ALLDAGS_DATA:
``python tests/golden/studies.py``. NHEFS, Card and Thornton come with causaldata, the others with the public data.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import alldags as ad

CATEGORIES = ["sex", "race", "education", "exercise", "active"]
NUMBERS = ["age", "wt71", "smokeintensity", "smokeyrs"]
VILLAGE = ["distvct", "age", "hiv2004"]
SCHOOL = ["exper", "black", "south", "married", "smsa"]
BEFORE = ["age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75"]


def nhefs() -> dict[str, float]:
    """Return chapter 13 and 15's outcome model of weight (What If), over all rows, with HC0 errors."""
    import statsmodels.formula.api as smf

    table = ad.datasets.causaldata("nhefs_complete")
    words = [f"C({name})" for name in CATEGORIES] + NUMBERS + [f"I({name} ** 2)" for name in NUMBERS]
    fitted = smf.ols("wt82_71 ~ qsmk * smokeintensity + " + " + ".join(words), table.astype({"qsmk": float})).fit(
        cov_type="HC0"
    )
    step = np.zeros(len(fitted.params))
    for name, size in (("qsmk", 1.0), ("qsmk:smokeintensity", table["smokeintensity"].mean())):
        step[list(fitted.params.index).index(name)] = size
    return {"effect": float(step @ fitted.params), "error": float(np.sqrt(step @ fitted.cov_params() @ step))}


def thornton() -> dict[str, float]:
    """Return a logit's average marginal effect of the reward, with errors by village."""
    import statsmodels.api as sm

    table = ad.datasets.causaldata("thornton_hiv")[["villnum", "any", "got", *VILLAGE]].dropna()
    fitted = sm.Logit(table["got"], sm.add_constant(table[["any", *VILLAGE]])).fit(
        disp=0, tol=1e-12, cov_type="cluster", cov_kwds={"groups": table["villnum"]}
    )
    effects = fitted.get_margeff(dummy=True)
    return {"effect": float(effects.margeff[0]), "error": float(effects.margeff_se[0])}


def card() -> dict[str, dict[str, float]]:
    """Return the wage of a year of school by least squares, two stages and LIML, the college as instrument."""
    from linearmodels.iv import IV2SLS, IVLIML

    table = ad.datasets.causaldata("close_college").dropna().assign(one=1.0)
    given = (table["lwage"], table[["one", *SCHOOL]], table["educ"])
    found = {
        "least squares": IV2SLS(given[0], table[["one", "educ", *SCHOOL]], None, None).fit(cov_type="unadjusted"),
        "two stages": IV2SLS(*given, table["nearc4"]).fit(cov_type="unadjusted"),
        "liml": IVLIML(*given, table["nearc4"]).fit(cov_type="unadjusted"),
    }
    return {
        name: {"effect": float(fit.params["educ"]), "error": float(fit.std_errors["educ"])}
        for name, fit in found.items()
    }


def least_squares(table: dict[str, Any], treatment: str, outcome: str, covariates: list[str]) -> dict[str, float]:
    import statsmodels.api as sm

    design = np.column_stack([np.asarray(table[name], dtype=float) for name in (treatment, *covariates)])
    fitted = sm.OLS(np.asarray(table[outcome], dtype=float), sm.add_constant(design)).fit()
    return {"effect": float(fitted.params[1]), "error": float(fitted.bse[1])}


def ihdp() -> dict[str, float]:
    """Return least squares of the first replication."""
    data = ad.datasets.ihdp(1)
    table = {**dict(zip(data.columns, data.covariates.T, strict=True)), "treatment": data.treatment}
    return least_squares({**table, "outcome": data.outcome}, "treatment", "outcome", list(data.columns))


def main() -> None:
    found = {
        "versions": {name: version(name) for name in ("statsmodels", "linearmodels", "causaldata")},
        "nhefs": nhefs(),
        "thornton": thornton(),
        "card": card(),
        "lalonde": least_squares(ad.datasets.lalonde("nsw_dw"), "treat", "re78", BEFORE),
        "ihdp": ihdp(),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
