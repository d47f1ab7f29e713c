"""When chains of a wide node have run long enough: for an effect, and for a table of all edges.

Nobody reads a thousand inclusion probabilities to find one effect. So chains stop when every coefficient is known to a
tenth of its standard deviation and every inclusion probability to the error below, and more exactly only where that is
cheap. A table of all edges asks for more, and chains then go on from where they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from alldags.engines.sampling.diagnostics import (
    R_HAT,
    WEIGHT_R_HAT,
    MCMCDiagnostics,
    convergence_warnings,
    standing_remark,
)
from alldags.engines.sampling.sample import EFFECTIVE_DRAWS, INCLUSION_ERROR, Wishes
from alldags.nodes import NodeProblem

CHEAP = 4_000_000  # sweeps times candidates


class Wanted(NamedTuple):
    """How exact an answer is to be.

    Parameters
    ----------
    draws
        Effective draws of each coefficient.
    r_hat
        Largest R-hat of an edge.
    inclusion
        Largest standard error of an inclusion probability.
    """

    draws: float
    r_hat: float
    inclusion: float


EXACT = Wanted(EFFECTIVE_DRAWS, R_HAT, INCLUSION_ERROR)
ENOUGH = Wanted(100.0, 1.04, INCLUSION_ERROR)  # both are a tenth of a standard deviation
TABLE = Wanted(EFFECTIVE_DRAWS, R_HAT, 0.007)  # three of its errors are .02


def wanted(report: MCMCDiagnostics) -> Wanted:
    """Return how exact an effect is to be after so many sweeps: what is cheap is made more exact."""
    return EXACT if report.sweeps * report.mcse.size < CHEAP else ENOUGH


def agreed(report: MCMCDiagnostics, goal: Wanted) -> bool:
    """Return whether the chains agree, with errors small enough to tell."""
    apart = report.max_r_hat > goal.r_hat or report.weight_r_hat > WEIGHT_R_HAT or report.missed > 0.0
    return not apart and report.max_inclusion_mcse <= goal.inclusion


def longer(engine: Wishes, report: MCMCDiagnostics, goal: Wanted) -> float:
    """Return how many times longer the run should be to reach what is wanted; at most 1 if it is reached."""
    if engine.target_mcse is not None:
        need = (report.max_mcse / engine.target_mcse) ** 2
    else:
        draws = float(np.min(report.effective_draws[~np.isnan(report.split_r_hat)], initial=np.inf))
        need = goal.draws / max(draws, 1.0)
    need = max(need, (report.max_inclusion_mcse / goal.inclusion) ** 2)
    return need if agreed(report, goal._replace(inclusion=np.inf)) else max(need, 2.0)


def concluded(engine: Wishes, problem: NodeProblem, report: MCMCDiagnostics) -> MCMCDiagnostics:
    """Add the verdict and the words."""
    report = replace(report, converged=agreed(report, ENOUGH), wanted_r_hat=ENOUGH.r_hat)
    words = convergence_warnings(problem.child, problem.terms, report, engine.target_mcse)
    return replace(report, warnings=words, remark=standing_remark(report))
