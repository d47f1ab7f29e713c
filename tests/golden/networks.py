"""Two published linear-Gaussian networks, and the total effects that follow from their coefficients.

ECOLI70 (Schaefer and Strimmer 2005) and MAGIC-NIAB (Scutari et al. 2014) as in the repository of bnlearn.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np


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
