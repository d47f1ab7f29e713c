"""Scores of blocks against sumu's BGe scorer; `sumu_scores.py` made the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from lines import fit

STORED = json.loads(Path(__file__).with_name("sumu.json").read_text(encoding="utf-8"))
NAMES = [f"v{i}" for i in range(6)]
PRIOR = ad.Prior(slab_variance=2.0, noise=ad.priors.EquivalentNoise(dof=3.0), units="raw", intercept=False, link=0.0)


def log_evidence(table: np.ndarray, parents: list[int]) -> float:
    """Return the log evidence of the last variable given its parents, up to what all sets have in common."""
    edges = {(NAMES[i], NAMES[5]): 1.0 for i in parents}
    graph = ad.CandidateGraph.from_edges(edges, NAMES)
    return fit(table, graph, names=NAMES, prior=PRIOR).log_evidence


def test_scores_differ_by_what_depends_on_the_rows_only() -> None:
    table = np.array(STORED["table"])
    ours = np.array([log_evidence(table, parents) for parents in STORED["sets"]])
    assert float(np.ptp(np.array(STORED["scores"]) - ours)) == pytest.approx(0.0, abs=1e-10)


def test_certain_and_uncertain_parents_have_the_same_evidence() -> None:
    table = np.array(STORED["table"])
    for parents in ([0], [0, 2], [1, 2, 3]):
        almost = {(NAMES[i], NAMES[5]): 1.0 - 1e-12 for i in parents}
        graph = ad.CandidateGraph.from_edges(almost, NAMES)
        found = fit(table, graph, names=NAMES, prior=PRIOR).log_evidence
        assert log_evidence(table, parents) == pytest.approx(found, abs=1e-9)
