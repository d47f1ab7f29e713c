"""Make `limits.json`: least squares, ridge and Bayesian ridge of scikit-learn, limits of a posterior over one graph.

Run with scikit-learn installed: ``python tests/golden/limits.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge


def main() -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((40, 4)) @ np.array([[1, 0.5, 0, 0], [0, 1, 0.3, 0], [0, 0, 1, -0.6], [0, 0, 0, 1]])
    x = (x + 2.0).round(4)
    y = (x @ [0.8, 0.0, -0.5, 0.1] + rng.standard_normal(40) + 5.0).round(4)
    bayes = BayesianRidge(tol=1e-12, max_iter=10_000).fit(x, y)
    found = {
        "scikit-learn": sklearn.__version__,
        "x": x.tolist(),
        "y": y.tolist(),
        "least_squares": LinearRegression().fit(x, y).coef_.tolist(),
        "ridge": {str(alpha): Ridge(alpha=alpha, tol=1e-14).fit(x, y).coef_.tolist() for alpha in (0.1, 1.0, 25.0)},
        "bayesian_ridge": {
            "coefficients": bayes.coef_.tolist(),
            "covariance": bayes.sigma_.tolist(),
            "noise_precision": float(bayes.alpha_),
            "coefficient_precision": float(bayes.lambda_),
        },
    }
    Path(__file__).with_name("limits.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
