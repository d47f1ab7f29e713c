"""Maximum likelihood of a multinomial regression by statsmodels, for ``test_levels.py``.

Not run by the tests: ``python tests/golden/levels.py`` with statsmodels installed writes ``levels.json`` again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
ROWS = 2000
WORDS = ("bus", "car", "train", "walk")
PULL = np.array([[0.0, 0.5, -0.4, 0.2], [0.0, -0.3, 0.3, 0.6], [0.0, 0.1, 0.0, -0.2]])


def made():
    """Columns (rows, 3), the first 0 and 1, and codes of four levels."""
    rng = np.random.default_rng([4, 11])
    x = rng.standard_normal((ROWS, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    x[:, 0] = x[:, 0] > 0.2
    p = np.exp(np.array([0.0, 0.4, -0.3, -0.8]) + x @ PULL)
    p /= p.sum(axis=1, keepdims=True)
    return x, (rng.random(ROWS)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)


def main():
    """Fit by statsmodels; write coefficients and errors against the first level, and standardised differences."""
    import statsmodels.api as sm

    x, code = made()
    fit = sm.MNLogit(code, sm.add_constant(x)).fit(disp=False, tol=1e-12, maxiter=200)
    low, high = x.copy(), x.copy()
    low[:, 0], high[:, 0] = 0.0, 1.0

    def difference(params):
        return (fit.model.predict(params, sm.add_constant(high, has_constant="add")).mean(axis=0)
                - fit.model.predict(params, sm.add_constant(low, has_constant="add")).mean(axis=0))  # fmt: skip

    params = np.asarray(fit.params)
    flat = params.ravel(order="F")
    slopes = np.empty((len(WORDS), len(flat)))
    for place in range(len(flat)):
        step = np.zeros(len(flat))
        step[place] = 1e-5
        ends = [difference((flat + sign * step).reshape(params.shape, order="F")) for sign in (1, -1)]
        slopes[:, place] = (ends[0] - ends[1]) / 2e-5
    errors = np.sqrt(np.diag(slopes @ np.asarray(fit.cov_params()) @ slopes.T))
    found = {
        "coefficients": params[1:].T.tolist(),
        "errors": np.asarray(fit.bse)[1:].T.tolist(),
        "log_likelihood": float(fit.llf),
        "differences": difference(params).tolist(),
        "difference_errors": errors.tolist(),
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
