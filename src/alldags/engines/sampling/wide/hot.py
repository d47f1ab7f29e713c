"""Which candidates are hot: at first by stepwise selection, then by how often chains found them present."""

from __future__ import annotations

import numpy as np

from alldags.engines.sampling.wide.candidates import Division, Wide
from alldags.kernels.sampler.cold import Front, log_odds_of_all, new_front, push, start
from alldags.typing import BoolArray, FloatArray, IntArray

MOST, LEAST = 300, 64  # hot candidates
WORTH = 0.002  # inclusion seen, above which a candidate should be hot
STEPS, PATIENCE = 60, 5  # of a selection; the latter without a heavier set


def selected(wide: Wide, setting: int) -> tuple[BoolArray, FloatArray]:
    """Return the heaviest set that forward selection meets, (k,), and the largest log odds of each on the way, (k,)."""
    given, certain = wide.given[setting], np.flatnonzero(wide.problem.certain)
    most = min(STEPS, len(given.log_size) - 1)
    front = new_front(wide.k, len(certain) + most)
    start(given, front)
    push(given, front, wide.products.times(certain), certain)
    score, odds = np.full(wide.k, -np.inf), np.empty(wide.k)
    height, heights = 0.0, [0.0]
    for step in range(most):
        log_odds_of_all(given, front, odds)
        absent = front.place < 0
        score[absent] = np.maximum(score[absent], odds[absent])
        best = int(np.argmax(np.where(absent, odds, -np.inf)))
        if not np.isfinite(odds[best]) or step - int(np.argmax(heights)) >= PATIENCE:
            break
        height += float(odds[best])
        heights.append(height)
        push(given, front, wide.products.times(np.array([best])), np.array([best]))
    return _first(front, len(certain) + int(np.argmax(heights))), score


def _first(front: Front, count: int) -> BoolArray:
    out = np.zeros(len(front.place), dtype=bool)
    out[front.members[:count]] = True
    return out


def division(wide: Wide, score: FloatArray, seen: FloatArray | None = None) -> Division:
    """Return the division in which certain candidates are hot and, of all others, those often seen, then by score.

    `seen` (k,) is the inclusion that chains found, `score` (k,) the order of those they did not find.
    """
    order = np.argsort(-score, kind="stable")
    most = min(MOST, wide.k)
    if seen is not None:
        often = np.argsort(-seen, kind="stable")[: int(np.clip((seen > WORTH).sum(), LEAST, most))]
        order = np.concatenate([often, order])
        most = max(len(often), LEAST)
    places = np.concatenate([np.flatnonzero(wide.problem.certain), order])
    return Division(wide, _first_different(places, max(most, int(wide.problem.certain.sum()))))


def _first_different(places: IntArray, count: int) -> IntArray:
    """Return the first so many different places, ascending."""
    _, at = np.unique(places, return_index=True)
    return np.sort(places[np.sort(at)[:count]])
