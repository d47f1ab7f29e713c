"""The effect under a prior of the hidden cause's strength.

Strengths are drawn in layers (a Latin hypercube); under each of them the effect has a distribution of its own, and all
count alike: what the data say about absent edges does not change what is believed about the strength.
"""

from __future__ import annotations

import numpy as np

from alldags.effects.hidden.analysis import DrawnModel, HiddenAnalysis
from alldags.effects.hidden.representer import RepresentedModel
from alldags.effects.hidden.strength import Strength, limits
from alldags.effects.hidden.strengths import Number, bias_factor
from alldags.effects.hidden.weighted import WeightedDraws, pooled
from alldags.typing import FloatArray

_STRENGTHS = 400
_DRAWS = 1000  # of the regressions, under each strength


def effect_given(analysis: HiddenAnalysis, strength: Strength, rng: np.random.Generator) -> WeightedDraws:
    """Return the effect, there being a hidden cause whose strength has this prior."""
    points = _layers(_STRENGTHS, len(strength.stated) + 1, rng)
    parts = [
        (share / _STRENGTHS, part.stretched(analysis.wider))
        for share, model in analysis.models
        for part in _under_all(analysis, model, strength, points)
    ]
    return pooled(parts).scaled(analysis.unit)


def _under_all(
    analysis: HiddenAnalysis, model: DrawnModel, strength: Strength, points: FloatArray
) -> list[WeightedDraws]:
    """Return the effect in one model under each strength, from a stretch of its draws."""
    few = model.size if isinstance(model, RepresentedModel) else min(_DRAWS, model.size)
    starts = [(i * few) % max(model.size - few + 1, 1) for i in range(len(points))]
    pieces = {start: model.take(slice(start, start + few)) for start in dict.fromkeys(starts)}
    shares = {
        start: {name: _ends(analysis, piece, strength, name) for name in strength.stated}
        for start, piece in pieces.items()
    }
    found = []
    for start, point in zip(starts, points, strict=True):
        values = {
            name: low + u * (high - low)
            for (name, (low, high)), u in zip(shares[start].items(), point[:-1].tolist(), strict=True)
        }
        found.append(_effect(analysis, pieces[start], strength, values, point[-1]))
    return found


def _ends(analysis: HiddenAnalysis, model: DrawnModel, strength: Strength, name: str) -> tuple[Number, Number]:
    """Return the range of one share; up to a covariate's own, which differs from draw to draw."""
    value = strength.stated[name]
    if not isinstance(value, str):
        return limits(name, value)
    if not model.nodes:
        return 0.0, 0.0
    bounds = analysis.bounds(model, value, 1.0, 1.0, True)
    return 0.0, bounds[0] if name == "r2_treatment" else bounds[1]


def _effect(
    analysis: HiddenAnalysis, model: DrawnModel, strength: Strength, values: dict[str, Number], u: float
) -> WeightedDraws:
    """Return the effect in one model under one strength; `u` decides about the sign where it is open."""
    sign = strength.sign if strength.sign != "both" else ("against" if u < 0.5 else "along")
    if strength.shares is None or isinstance(model, RepresentedModel):
        factor = bias_factor(values["r2_treatment"], values["r2_outcome"])
        return model.effect_of_factor(analysis.factor_sign(sign) * factor)
    return model.effect(analysis.signed_loadings(values, sign))


def _layers(count: int, dimensions: int, rng: np.random.Generator) -> FloatArray:
    """Return points in the unit cube, one in each of `count` layers of every dimension, shape (count, dimensions)."""
    columns = [(rng.permutation(count) + rng.random(count)) / count for _ in range(dimensions)]
    return np.column_stack(columns)
