"""Sensitivity of effects that are not straight lines with normal noise: from the effect's own draws and the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from alldags.answers.closed import ClosedAnswer
from alldags.answers.joint import Joint
from alldags.answers.levels import is_category
from alldags.answers.represented import represented
from alldags.answers.robust import given_effect, joint_of, rows_of
from alldags.assumptions.hidden import heavy_on_the_way
from alldags.data.batches import RowTable
from alldags.effects.hidden.analysis import HiddenAnalysis
from alldags.errors import AlldagsError
from alldags.show.sensitivity import TreatmentScale
from alldags.typing import BoolArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_LEAST_DRAWS = 200  # of each model


def is_straight(effect: Effect) -> bool:
    """Tell whether all on the way are straight lines with normal noise, so that the hidden cause is a known factor."""
    closed = isinstance(effect.answer, ClosedAnswer)
    return closed and not heavy_on_the_way(effect) and not is_category(effect.posterior.workings.data, effect._question)


def treatment_scale(effect: Effect) -> TreatmentScale:
    """Return what shares of the treatment are shares of."""
    if is_straight(effect):
        return "what is left"
    data = effect.posterior.workings.data
    two = effect.treatment not in data.categories and data.look(effect.treatment).two_values is not None
    return "inverse odds" if two else "weights"


def check_represented(effect: Effect, hits: Sequence[str]) -> None:
    """Refuse causes of what lies in between, and rows that are not at hand as they were regressed."""
    if others := [name for name in hits if name not in (effect.treatment, effect.outcome)]:
        raise AlldagsError(
            f"hits names {others[0]!r}: what a hidden cause does to single variables in between is known for straight "
            "lines with normal noise; leave out hits: strengths are then shares of what treatment and covariates leave "
            f"of {effect.outcome!r}, whichever way the cause takes"
        )
    if effect.posterior.workings.data.is_within:
        raise AlldagsError(
            "what a hidden cause does to an effect that is no straight line with normal noise is not known within "
            "fixed effects; leave out fixed_effects"
        )


def represented_analysis(effect: Effect, size: int) -> HiddenAnalysis:
    """Return the effect under hidden causes of any strength, by the bias formula, draw by draw."""
    tables, joints = rows_of(effect.posterior), joint_of(effect)
    if tables is None or len(tables) <= max(joint.table for joint in joints):
        raise AlldagsError("the bias of this effect is made from rows, which are not at hand; give the table itself")
    total = sum(len(joint.effect) for joint in joints)
    models = []
    for joint in joints:
        share = len(joint.effect) / total
        way, table = effect.workings.totals.items[joint.place], tables[joint.table]
        few = joint.first(max(round(size * share), _LEAST_DRAWS))
        models.append((share, represented(few, effect._question, way, table, _chosen(effect, table))))
    sign = -1 if effect.mean < 0 else 1
    return HiddenAnalysis(
        effect.treatment, effect.outcome, (effect.outcome,), tuple(models), 1.0, sign, wider=_wider(effect, joints)
    )


def _chosen(effect: Effect, table: RowTable) -> BoolArray | None:
    """Return the rows that the effect is averaged over, shape (rows,); None: all."""
    target = getattr(effect.answer, "target", None)
    return None if target is None else target.in_table(table).chosen


def _wider(effect: Effect, joints: Sequence[Joint]) -> float:
    """Return how many times as wide the effect is as its draws: by uneven noise, and for rows that are a sample."""
    stretch = effect.uncertainty.stretch
    factor = 1.0 if stretch is None else stretch.factor
    drawn = np.concatenate([joint.effect[joint.effect != 0.0] for joint in joints])
    if not effect._question.is_population or drawn.size < 2 or not drawn.std():
        return factor
    return factor * max(given_effect(effect)[1] / float(drawn.std()), 1.0)
