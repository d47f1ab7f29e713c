"""Second draws given the same parent set: what is left of a spread when the graph is known."""

from __future__ import annotations

import math

import numpy as np

from alldags.engines.conjugate.one_set import draw_given_sets
from alldags.engines.conjugate.system import conjugate_system
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from alldags.priors.noise import KnownNoise
from alldags.typing import FloatArray, IntArray


def draw_partners(
    problem: NodeProblem, coefficients: FloatArray, variance: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return, for draws of a node, others with the same parents and hyperparameters, shape (draws, k).

    The hyperparameters of a draw are drawn given its coefficients, on which alone they depend.

    Parameters
    ----------
    problem
        Of the node.
    coefficients, variance
        The draws, shapes (draws, k) and (draws,).
    rng
        Generator.
    """
    partners = np.zeros_like(coefficients)
    if problem.k == 0:
        return partners
    places = _settings(problem, coefficients, variance, rng)
    for place, setting in enumerate(problem.settings):
        chosen = np.flatnonzero(places == place)
        if chosen.size:
            masks = (coefficients[chosen] != 0.0) | problem.certain
            order = np.lexsort(masks.T)
            system = conjugate_system(problem.with_setting(setting))
            partners[chosen[order]], _ = draw_given_sets(system, masks[order], rng)
    return partners


def _settings(
    problem: NodeProblem, coefficients: FloatArray, variance: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Draw the hyperparameter value behind each draw, as its place among the settings, shape (draws,)."""
    if len(problem.settings) == 1:
        return np.zeros(len(coefficients), dtype=np.int64)
    count = (coefficients != 0.0).sum(axis=1)
    log_weight = np.array([_log_slab(one, problem, coefficients, variance, count) for one in problem.settings])
    share = np.exp(log_weight - log_weight.max(axis=0))
    level = rng.random(len(coefficients)) * share.sum(axis=0)
    return np.asarray((np.cumsum(share, axis=0) < level).sum(axis=0))


def _log_slab(
    setting: Setting, problem: NodeProblem, coefficients: FloatArray, variance: FloatArray, count: IntArray
) -> FloatArray:
    """Return the log prior density of each draw's coefficients under one value, up to what all values share."""
    known = isinstance(setting.noise, KnownNoise)
    square = (
        np.einsum("di,di->d", coefficients, coefficients)
        if setting.slab == "independent"
        else np.einsum("di,ij,dj->d", coefficients, problem.gram, coefficients, optimize=True)
    )
    tau = setting.slab_variance
    density = setting.log_weight - 0.5 * count * math.log(tau) - 0.5 * square / (tau * (1.0 if known else variance))
    if not known or not np.isfinite(variance).all():
        return np.asarray(density)
    return np.asarray(np.where(np.isclose(variance, setting.noise.unit, rtol=1e-9), density, -1e300))  # noise on a grid
