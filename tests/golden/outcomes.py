"""Maximum likelihood of gamma, two-part and ordered regressions by statsmodels, for ``test_outcomes.py``.

Not run by the tests: ``python tests/golden/outcomes.py`` with statsmodels installed writes ``outcomes.json`` again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
ROWS = 2000


def made(kind):
    """Columns (rows, 3) and an amount, or grades from 1 to 5."""
    rng = np.random.default_rng([len(kind), 7])
    x = rng.standard_normal((ROWS, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    eta = x @ [0.5, -0.3, 0.1]
    if kind == "gamma":
        return x, np.exp(2.0 + eta) * rng.gamma(1.5, 1 / 1.5, ROWS)
    if kind == "lognormal":
        return x, np.exp(2.0 + eta + 0.7 * rng.standard_normal(ROWS))
    if kind == "hurdle":
        some = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-0.4 - x @ [0.6, 0.0, -0.4]))
        return x, np.where(some, np.exp(1.0 + eta) * rng.gamma(1.5, 1 / 1.5, ROWS), 0.0)
    return x, 1.0 + (2.0 * eta + rng.logistic(size=ROWS) > np.array([[-1.5], [-0.5], [0.5], [2.0]])).sum(axis=0)


def moved(z, place):
    """Return rows as they are, and with one unit more of a column; a one comes first."""
    return z, z + np.eye(z.shape[1])[place + 1]


def main():
    """Fit by statsmodels, and write coefficients and standard errors."""
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x, y = made("gamma")
    gamma = sm.GLM(y, sm.add_constant(x), family=sm.families.Gamma(sm.families.links.Log())).fit()
    x, y = made("lognormal")
    lines = sm.OLS(np.log(y), sm.add_constant(x)).fit()
    x, y = made("ordered")
    ordered = OrderedModel(y, x, distr="logit").fit(method="bfgs", disp=False, gtol=1e-8)
    thresholds = ordered.model.transform_threshold_params(ordered.params)[1:-1]
    mean = 1.0 + (1.0 / (1.0 + np.exp(thresholds - (x @ ordered.params[:3])[:, None]))).sum(axis=1)
    x, y = made("hurdle")
    z, some = sm.add_constant(x), y > 0.0
    logit = sm.Logit(some * 1.0, z).fit(disp=False)
    amount = sm.GLM(y[some], z[some], family=sm.families.Gamma(sm.families.links.Log())).fit()
    found = {
        "gamma": {"coefficients": gamma.params[1:].tolist(), "errors": gamma.bse[1:].tolist()},
        "lognormal": {"coefficients": lines.params[1:].tolist(), "errors": lines.bse[1:].tolist()},
        "ordered": {"coefficients": ordered.params[:3].tolist(), "errors": ordered.bse[:3].tolist()},
        "hurdle": {
            "some": {"coefficients": logit.params[1:].tolist(), "errors": logit.bse[1:].tolist()},
            "amount": {"coefficients": amount.params[1:].tolist(), "errors": amount.bse[1:].tolist()},
            "one more": [
                float(np.diff([(logit.predict(at) * amount.predict(at)).mean() for at in moved(z, i)])[0])
                for i in range(3)
            ],
        },
        "mean score": float(mean.mean()),
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
