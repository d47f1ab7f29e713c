"""Make `networks.json`: total effects on one variable of two published linear-Gaussian networks, from all coefficients.

Run with the public data sets: ``ALLDAGS_DATA=... python tests/golden/networks.py``. ECOLI70 (Schaefer and Strimmer
2005) and MAGIC-NIAB (Scutari et al. 2014) as in the repository of bnlearn. Kept are, for the ancestors of one
variable, the covariance matrix that the network implies, its edges, and the exact total effects.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

OUTCOMES = {"ecoli70": "lacZ", "magic-niab": "MIL"}  # few ancestors: the file is an excerpt


def folder() -> Path:
    return Path(os.environ.get("ALLDAGS_DATA", Path(__file__).parents[3] / "shared" / "data")) / "gbn"


def read(name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names, causes first, coefficients (m, m), row = cause, and noise variances (m,)."""
    network: dict[str, Any] = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    order: list[str] = []
    while len(order) < len(network["nodes"]):
        ready = (n for n in network["nodes"] if n not in order and set(network["cpds"][n]["parents"]) <= set(order))
        order.append(next(ready))
    coefficients = np.zeros((len(order), len(order)))
    for j, child in enumerate(order):
        for parent in network["cpds"][child]["parents"]:
            coefficients[order.index(parent), j] = network["cpds"][child]["coefficients"][parent][0]
    return order, coefficients, np.array([network["cpds"][name]["sd"][0] ** 2 for name in order])


def effects(coefficients: np.ndarray) -> np.ndarray:
    """Return all total effects, row = cause."""
    return np.linalg.inv(np.eye(len(coefficients)) - coefficients)


def covariance(coefficients: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the covariance matrix that a network implies."""
    total = effects(coefficients)
    return total.T @ np.diag(noise) @ total


def main() -> None:
    found = {}
    for name, outcome in OUTCOMES.items():
        order, coefficients, noise = read(name)
        reached = effects(coefficients)[:, order.index(outcome)] != 0
        kept = np.flatnonzero(reached)
        inside = coefficients[np.ix_(kept, kept)]
        found[name] = {
            "source": "network repository of bnlearn, CC BY-SA 3.0",
            "outcome": outcome,
            "names": [order[i] for i in kept],
            "edges": [[order[kept[i]], order[kept[j]]] for i, j in np.argwhere(inside)],
            "covariance": covariance(inside, noise[kept]).tolist(),
            "effects": effects(coefficients)[kept, order.index(outcome)].tolist(),
        }
        print(name, outcome, len(kept), "of", len(order))
    Path(__file__).with_name("networks.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
