"""What the model does not know of: clusters, sampling weights, noise of uneven size; by the infinitesimal jackknife."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from alldags.answers.closed import ClosedAnswer
from alldags.answers.joint import Joint, joint_draws
from alldags.answers.pieces import Answering, answering, cluster_moves, present, row_moves
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.effects.jackknife import Jackknife, Kind, Moves, Stretch
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import KnownNoise
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_LEAST_DRAWS = 100  # that are an effect: fewer say nothing of its spread
_ROW_DRAWS = 200  # behind each row's own share in a population


def jackknife_of(effect: Effect) -> Jackknife | str:
    """Return what pieces of the data say of an effect's spread; else why they were not asked, if that is worth a word.

    Parameters
    ----------
    effect
        Whose posterior says which pieces: clusters, or rows unless that was turned off.
    """
    posterior, sd = effect.posterior, effect.answer.sd
    if posterior.clusters is None and not posterior.is_robust:
        return ""
    if not effect.workings.variables or not 0.0 < sd < math.inf:
        return ""
    if posterior.clusters is None and (reason := _not_asked(effect)):
        return reason
    joints = _drawn(effect, sd)
    draws = present(joints)
    if len(draws) < _LEAST_DRAWS:
        return ""
    found = _of_clusters(effect, joints) if posterior.clusters is not None else _of_rows(effect, joints, sd)
    if isinstance(found, str):
        return found
    kind, moves = found
    check = Jackknife.of(moves, kind, float(draws.var()))
    sizes = {name: sd * getattr(check, name) for name in ("sd", "sd_pieces", "sd_expected")}
    return replace(check, **sizes)


def _not_asked(effect: Effect) -> str:
    """Return why rows are not asked how large noise is; empty if they are."""
    workings = effect.posterior.workings
    prior, engine = workings.models.items[0].prior, workings.store.engine
    if isinstance(prior.noise, KnownNoise):
        return "the prior says how large it is"
    if prior.coefficients is not None or ScaleMixture in getattr(engine, "takes", ()):
        return f"the engine {engine.name!r} takes it for even"
    if workings.models.weights.tables > 1:
        return "values were imputed"
    return ""


def _drawn(effect: Effect, sd: float) -> list[Joint]:
    """Return draws of the effect in units of its standard deviation, and of the regressions behind it."""
    workings = effect.posterior.workings
    found = joint_draws(effect.answer, effect.workings.totals, workings.models, workings.stream().spawn(2)[1])
    return [replace(joint, effect=joint.effect / sd) for joint in found]


# -- rows --------------------------------------------------------------------------------------------------------------


def _of_rows(effect: Effect, joints: Sequence[Joint], sd: float) -> tuple[Kind, Moves] | str:
    table = _rows(effect)
    if table is None:
        return "there are only moments of the rows"
    moves = row_moves(tuple(answering(joints).values()), table, clustered=False)
    kind: Kind = "weights" if table.marks.effective else "rows"
    return kind, _with_shares(effect, moves, table, sd)


def _rows(effect: Effect) -> RowTable | None:
    workings = effect.posterior.workings
    if workings.data.table is not None:
        return workings.data.table
    return None if workings.table is None else workings.table.rows(workings.data.pooled.names)


def _with_shares(effect: Effect, moves: Moves, table: RowTable, sd: float) -> Moves:
    """Return the moves with each row's own share in the effect, where rows are a sample of a population."""
    if not effect._question.is_population or isinstance(effect.answer, ClosedAnswer):
        return moves
    rng, weight = effect.posterior.workings.stream(), table.marks.weight
    parts, weights = [], []
    for rows in Rows(table).batches():
        parts.append(effect.answer.of_rows(rows, _ROW_DRAWS, rng)[0])
        weights.append(np.ones(rows.count) if weight is None else rows.values[weight])
    own, counted = np.concatenate(parts) / sd, np.concatenate(weights)
    share = counted * (own - own @ counted / counted.sum()) / counted.sum()
    return Moves(moves.psi + share, moves.expected + float(share @ share))


# -- clusters ----------------------------------------------------------------------------------------------------------


def _of_clusters(effect: Effect, joints: Sequence[Joint]) -> tuple[Kind, Moves] | str:
    clusters = effect.posterior.clusters
    assert clusters is not None
    by_table = [
        tuple(answering([joint for joint in joints if joint.table == place]).values())
        for place in sorted({joint.table for joint in joints})
    ]
    if all(item.of.is_straight for found in by_table for item in found):
        return "clusters", _averaged([cluster_moves(*pair) for pair in zip(by_table, clusters.tables, strict=True)])
    table = _rows(effect)
    if table is None or table.marks.cluster is None:
        return "the rows of the clusters are not at hand"
    moves = _with_shares(effect, row_moves(by_table[0], table, clustered=True), table, effect.answer.sd)
    return "clusters", moves.by_cluster(table.column(table.marks.cluster), clusters.count)


def _averaged(tables: Sequence[Moves]) -> Moves:
    """Return the moves of an average over completed tables."""
    psi: FloatArray = np.mean([one.psi for one in tables], axis=0)
    return Moves(psi, float(np.mean([one.expected for one in tables])))


# -- the answer --------------------------------------------------------------------------------------------------------


def stretch_of(effect: Effect, check: Jackknife | None) -> Stretch | None:
    """Return what makes draws of an effect as wide as the jackknife says; None if they are as they should be."""
    if check is None or (check.factor == 1.0 and math.isinf(check.freedom)):
        return None
    atom = effect._exact_no_path
    atom = float(np.mean(effect.answer.values == 0.0)) if atom is None else atom
    center = effect.answer.mean / (1.0 - atom)
    sd = effect.answer.sd * math.sqrt(max(1.0 - atom * (center / effect.answer.sd) ** 2 * (1.0 - atom), 0.0) / (1.0 - atom))
    return Stretch(check.factor, center, sd, check.freedom)


def stretched_sd(effect: Effect, stretch: Stretch | None) -> float:
    """Return the standard deviation of an effect whose part that is no zero is so much wider."""
    plain = effect.answer.sd
    if stretch is None:
        return plain
    atom = effect._exact_no_path
    atom = float(np.mean(effect.answer.values == 0.0)) if atom is None else atom
    added = (1.0 - atom) * (stretch.factor**2 - 1.0) * (stretch.sd / plain) ** 2
    return plain * math.sqrt(1.0 + added)
