"""A pair of which the first variable may or may not act on the second.

Two slabs are at work. The wide one of an effect that is there says little about its size, and by that nothing about the
correlation; but against it "no effect" is too cheap: of a small effect it would become nearly certain. So whether there
is an effect is asked under a slab that is learned, down to small ones, and how large it is under the wide one. The
answer is a mixture: what is known without the effect, and what is known with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from alldags.kernels.pairs import LEARNED_DIRECT
from alldags.pairs.leaves import Leaves, joined
from alldags.pairs.posterior import PairPosterior
from alldags.pairs.problem import WIDE_SLAB, PairProblem


def fit_asked(problem: PairProblem, fit: Callable[[PairProblem], PairPosterior]) -> PairPosterior:
    """Return the posterior of a pair with the asked edge in doubt; `fit` is for one slab."""
    learned, certain = fit(problem), fit(_without_doubt(problem))
    absent = learned.leaves.of(~learned.leaves.present[:, -1])
    none = float(absent.weight.sum())
    present = _as_in_doubt(problem, certain.leaves)
    leaves = joined(absent, replace(present, weight=(1.0 - none) * present.weight))
    worse = max(learned, certain, key=lambda one: len(one.diagnostics.troubles))
    hidden = float(leaves.weight[leaves.is_hidden].sum())
    return PairPosterior(leaves, hidden, learned.log_weight, worse.diagnostics, learned.set_draws)


def _without_doubt(problem: PairProblem) -> PairProblem:
    """Return the problem with the asked edge certain: its term is then the first of those of the second variable."""
    kept = slice(0, -1)
    return replace(
        problem,
        second=np.roll(problem.second, 1),
        doubtful=problem.doubtful[kept],
        counted=problem.counted[kept],
        direct=False,
    )


def _as_in_doubt(problem: PairProblem, leaves: Leaves) -> Leaves:
    """Return leaves of the problem without doubt as those of the problem with it: the asked term is the last again."""
    points = leaves.points.copy()
    points[:, 2 + LEARNED_DIRECT] = WIDE_SLAB
    start = len(problem.first)
    own = np.roll(leaves.present[:, start:], -1, axis=1)
    return replace(leaves, problem=problem, points=points, present=np.hstack([leaves.present[:, :start], own]))
