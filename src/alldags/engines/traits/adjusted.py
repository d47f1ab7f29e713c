"""Within units, adjusted: lagged effects in panels of few waves without any assumption on traits.

Taking unit means out leaves a score whose mean is not zero, because the past is among what is averaged: for each unit
it is minus the gradient, by the coefficients, of ::

    b = (1 / T) sum_{k=1}^{T-1} ((T - k) / k) trace(Phi^k),    Phi = A_1 (I - A_0)^-1

whatever traits and first waves are (Lancaster 2002, for a system with feedback). So the product of the within
likelihoods times ``exp(N b)`` has a score of mean zero. Its mode is looked for where all is stable; all candidate edges
are in. It is no likelihood: the standard deviations, from its curvature, are somewhat small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.engines.traits.panel import Panel
from alldags.steps import at
from alldags.typing import FloatArray

_WORST = 1e10
_STEP = 1e-3
_MOST = 30  # coefficients


@dataclass(frozen=True, eq=False)
class Within:
    """The adjusted likelihood of a panel.

    Parameters
    ----------
    panel
        Its moments.
    causes
        Columns that act on each variable, by name.
    lags
        Number of steps back.
    """

    panel: Panel
    causes: Mapping[str, Sequence[str]]
    lags: int

    @property
    def names(self) -> list[str]:
        """The variables."""
        return list(self.causes)

    def _cut(self, values: FloatArray) -> dict[str, FloatArray]:
        ends = np.cumsum([len(found) for found in self.causes.values()])[:-1]
        return dict(zip(self.causes, np.split(values, ends), strict=True))

    def loss(self, values: FloatArray) -> float:
        """Return minus the log of the adjusted likelihood."""
        by_child = self._cut(values)
        push, largest = self._push(by_child)
        if largest >= 1.0:
            return _WORST
        rows = sum((group.units - 1) * (group.waves - 1) for group in self.panel.groups)
        left = sum(np.log(self._residual(name, own)) for name, own in by_child.items())
        return float(0.5 * rows * left - push)

    def _residual(self, name: str, values: FloatArray) -> float:
        weights = np.zeros(len(self.panel.names))
        weights[self.panel.index[name]] = 1.0
        weights[[self.panel.index[cause] for cause in self.causes[name]]] -= values
        return float(weights @ self.panel.within @ weights)

    def _push(self, by_child: Mapping[str, FloatArray]) -> tuple[float, float]:
        """Return b, summed over units, and the largest root."""
        companion = self._companion(by_child)
        powers, power = [], np.eye(len(companion))
        for k in range(1, max(group.waves for group in self.panel.groups)):
            power = power @ companion
            powers.append(float(np.trace(power)) / k)
        total = sum(group.units * _lost(powers, group.waves) for group in self.panel.groups)
        return total, float(np.abs(np.linalg.eigvals(companion)).max())

    def _companion(self, by_child: Mapping[str, FloatArray]) -> FloatArray:
        place = {name: i for i, name in enumerate(self.names)}
        m = len(place)
        found = np.zeros((self.lags + 1, m, m))
        for name, values in by_child.items():
            for cause, value in zip(self.causes[name], values.tolist(), strict=True):
                if at(cause).name in place:
                    unit = self.panel.unit(cause, name)  # roots are those of the user's units
                    found[at(cause).lag, place[at(cause).name], place[name]] = unit * value
        front = np.linalg.inv(np.eye(m) - found[0])
        companion = np.eye(m * self.lags, k=m)
        for lag in range(1, self.lags + 1):
            companion[(lag - 1) * m : lag * m, :m] = found[lag] @ front
        return companion


def _lost(traces: Sequence[float], waves: int) -> float:
    """Return b of one unit; `traces` are those of the powers, over their number."""
    return sum((waves - k) * traces[k - 1] for k in range(1, waves)) / waves


def adjusted(within: Within) -> dict[tuple[str, str], tuple[float, float]] | None:
    """Return mode and sd of each coefficient, in the user's units; None if there is no mode that could be trusted."""
    from scipy.optimize import minimize

    size = sum(map(len, within.causes.values()))
    if not 0 < size <= _MOST or not within.lags:
        return None
    best = minimize(within.loss, np.zeros(size), method="BFGS", options={"gtol": 1e-3})
    best = minimize(within.loss, best.x, method="Nelder-Mead", options={"maxiter": 400 * size, "fatol": 1e-7})
    curvature = _curvature(within, best.x)
    if best.fun >= _WORST or np.linalg.eigvalsh(curvature).min() <= 0:
        return None
    spread = np.sqrt(np.diag(np.linalg.inv(curvature)))
    edges = [(cause, name) for name, causes in within.causes.items() for cause in causes]
    units = [within.panel.unit(*edge) for edge in edges]
    numbers = zip(edges, best.x.tolist(), spread.tolist(), units, strict=True)
    return {edge: (unit * value, unit * sd) for edge, value, sd, unit in numbers}


def _curvature(within: Within, center: FloatArray) -> FloatArray:
    steps = _STEP * np.eye(len(center))

    def second(a: FloatArray, b: FloatArray) -> float:
        signs = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
        return sum(sign * within.loss(center + i * a + j * b) for i, j, sign in signs) / (4 * _STEP**2)

    return np.array([[second(a, b) for b in steps] for a in steps])
