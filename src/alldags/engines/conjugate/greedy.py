"""Greedy selection of a parent set: an answer of its own (`k2`), and where other searches begin."""

from __future__ import annotations

import numpy as np

from alldags.engines.conjugate.system import ConjugateSystem
from alldags.typing import BoolArray


def greedy_set(system: ConjugateSystem) -> tuple[BoolArray, float]:
    """Return the greedily selected parent set, shape (k,), and its log weight without the constant."""
    from alldags.kernels.sweep import greedy_parents

    mask, score = greedy_parents(
        system.precision,
        system.shift,
        system.log_factor,
        system.log_size,
        system.log_columns,
        system.certain,
        None if system.heads.all() else np.append(np.flatnonzero(system.heads), len(system.heads)),
        system.has_determinant,
        system.noise,
    )
    return mask, float(score)
