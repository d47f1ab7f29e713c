"""The built-in example: a simulated table about smoking, with the truth that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alldags.errors import DataError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge
from alldags.typing import FloatArray, RandomSource

SEED = 20210413

_MEAN = {"age": 52.0, "sex": 0.5, "income": 35.0, "smoking": 20.0, "tar": 40.0, "exercise": 8.0, "risk": 50.0}
_NOISE = {"age": 10.0, "income": 8.0, "smoking": 5.0, "tar": 6.0, "exercise": 2.0, "risk": 9.0}
_TRUTH: dict[Edge, float] = {
    ("age", "smoking"): -0.10,
    ("income", "smoking"): -0.25,
    ("smoking", "tar"): 1.20,
    ("sex", "exercise"): 0.80,
    ("smoking", "exercise"): -0.08,
    ("age", "risk"): 0.30,
    ("smoking", "risk"): 0.25,
    ("tar", "risk"): 0.45,
    ("exercise", "risk"): -0.50,
}


@dataclass(frozen=True, eq=False)
class Example:
    """A table, what is known beforehand about its causes, a question, and the true answer.

    Parameters
    ----------
    table
        Columns by name, each of shape (n,).
    graph
        The candidate edges and their probabilities.
    treatment, outcome
        The question: the total effect of the one on the other.
    true_effect
        Its true value.
    true_graph
        The edges that made the data, all certain; a subgraph of `graph`.
    true_coefficients
        The coefficient of each true edge.
    """

    table: Mapping[str, FloatArray]
    graph: CandidateGraph
    treatment: str
    outcome: str
    true_effect: float
    true_graph: CandidateGraph
    true_coefficients: Mapping[Edge, float]


def example(n: int = 500, rng: RandomSource = SEED) -> Example:
    """Simulate a small study: how much does a cigarette a day raise a risk score?

    The data are made up. ``age`` (years), ``sex`` (0/1) and ``income`` (thousands) come first, then ``smoking``
    (cigarettes a day), then ``tar`` (mg in the lungs) and ``exercise`` (hours a week), last the ``risk`` score. Age is
    a common cause of smoking and risk; tar and, weakly, exercise carry the effect. Whether smoking also acts directly
    is open in the candidate graph (probability 0.5); in truth it does, too little for 500 rows to be sure of it.

    Parameters
    ----------
    n
        Number of rows.
    rng
        Seed or generator; the default always gives the same table.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> study.treatment, study.outcome, round(study.true_effect, 2)
    ('smoking', 'risk', 0.83)
    >>> len(study.graph.edges), len(study.true_graph.edges)
    (16, 9)
    """
    if n < 2:
        raise DataError(f"n must be at least 2 rows, got {n}")
    return Example(
        table=_simulate(n, np.random.default_rng(rng)),
        graph=_candidates(),
        treatment="smoking",
        outcome="risk",
        true_effect=_total_effect("smoking", "risk"),
        true_graph=CandidateGraph(tuple(_MEAN), dict.fromkeys(_TRUTH, 1.0)),
        true_coefficients=dict(_TRUTH),
    )


def _candidates() -> CandidateGraph:
    """Anything earlier may cause anything later, except where common knowledge says more or less than even odds."""
    tiers = [["age", "sex", "income"], ["smoking"], ["tar", "exercise"], ["risk"]]
    graph = CandidateGraph.from_tiers(tiers, probability=0.5)
    for cause in ("age", "sex", "income"):
        graph = graph.with_edge(cause, "tar", 0.1)
    graph = graph.with_edge("smoking", "tar", 0.95).with_edge("age", "risk", 0.9)
    return graph.without_edge("sex", "tar")


def _simulate(n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Draw the variables in causal order, each around its own mean."""
    centred: dict[str, FloatArray] = {}
    for name in _MEAN:
        causes = (value * centred[cause] for (cause, effect), value in _TRUTH.items() if effect == name)
        centred[name] = sum(causes, start=_own_part(name, n, rng))
    return {name: column + _MEAN[name] for name, column in centred.items()}


def _own_part(name: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw what a variable owes to no other, mean 0, shape (n,)."""
    if name == "sex":
        return np.asarray(rng.integers(0, 2, n) - 0.5, dtype=np.float64)
    return rng.normal(0.0, _NOISE[name], n)


def _total_effect(treatment: str, outcome: str) -> float:
    """Sum, over the directed paths, of the product of the coefficients."""
    if treatment == outcome:
        return 1.0
    return sum(
        value * _total_effect(effect, outcome) for (cause, effect), value in _TRUTH.items() if cause == treatment
    )
