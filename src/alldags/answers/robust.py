"""What the model does not know of: clusters, sampling weights, noise of uneven size; by the infinitesimal jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect, HeldPosterior
from alldags.answers.joint import Joint, joint_draws
from alldags.answers.pieces import Answering, answering, cluster_moves, present, row_moves
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.data.distributed import DistributedSource
from alldags.effects.jackknife import Jackknife, Kind, Moves, Stretch
from alldags.errors import DataError
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import KnownNoise
from alldags.typing import FloatArray

Shares: TypeAlias = Callable[[RowTable], FloatArray | None]
"""Returns each row's own share in an effect, where rows are a sample of a population."""

_LEAST_DRAWS = 100  # that are an effect: fewer say nothing of its spread
_LEAST_ROWS = 20  # of which fewer say nothing of how uneven noise is
_ROW_DRAWS = 200  # behind each row's own share in a population


def jackknife_of(effect: HeldEffect) -> Jackknife | str:
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
    if posterior.clusters is None and (reason := _not_asked(posterior)):
        if posterior.workings.data.errors:
            raise DataError(f"how uncertain an effect is under errors of measurement, only rows can say: {reason}")
        return reason
    known = posterior.jackknives
    key = _key(effect)
    if key not in known:
        found = _asked(effect, sd)
        if isinstance(found, str):
            return found
        known[key] = found
    return known[key].scaled(sd)


def _key(effect: HeldEffect) -> str:
    """Return what tells the question from others; straight effects of any step are the same in units of their sd."""
    asked = effect.answer.question
    names = (asked.treatment, asked.outcome, asked.linked, asked.straight, asked.on_link)
    if isinstance(effect.answer, ClosedAnswer):
        return repr(names)
    return repr((*names, asked.comparison.values, _over_key(asked.over)))


def _over_key(over: Any) -> str | int:
    """Return what tells rows from others."""
    if isinstance(over, str):
        return over
    if isinstance(over, OtherRows):
        return f"other rows {over.number}"
    values = over.values if isinstance(over, RowWeights) else np.asarray(over, dtype=bool)
    return crc32(values.tobytes())


def _asked(effect: HeldEffect, sd: float) -> Jackknife | str:
    """Return what pieces of the data say, in units of the effect's standard deviation."""
    joints = _drawn(effect, sd)
    draws = present(joints)
    if len(draws) < _LEAST_DRAWS:
        return ""
    found = _pieces(effect.posterior, joints, lambda table: _shares(effect, table, sd))
    if isinstance(found, str):
        return found
    kind, moves = found
    known = (given_effect(effect)[1] / sd) ** 2
    chance = known / float(draws.var()) if isinstance(effect.answer, ClosedAnswer) else 1.0  # that these draws differ
    return _told(effect.posterior, Jackknife.of(moves.scaled(chance), kind, known))


def _told(posterior: HeldPosterior, check: Jackknife) -> Jackknife:
    return check.of_errors() if posterior.workings.data.errors else check


def _pieces(posterior: HeldPosterior, joints: Sequence[Joint], shares: Shares) -> tuple[Kind, Moves] | str:
    """Return how far an effect moves with clusters, or with rows if there are none; else why that is not known."""
    return (_of_rows if posterior.clusters is None else _of_clusters)(posterior, joints, shares)


def stretch_of_joints(posterior: HeldPosterior, joints: Sequence[Joint]) -> Stretch | None:
    """Return what makes draws of any number, zeros put aside, as wide as rows or clusters say; None if they are."""
    draws = present(joints)
    if posterior.clusters is None and (not posterior.is_robust or _not_asked(posterior)):
        return None
    if len(draws) < _LEAST_DRAWS or not draws.std() > 1e-12 * abs(draws.mean()):
        return None
    sd = float(draws.std())
    found = _pieces(posterior, [replace(joint, effect=joint.effect / sd) for joint in joints], _no_shares)
    if isinstance(found, str):
        return None
    check = _told(posterior, Jackknife.of(found[1], found[0], 1.0))
    if check.factor == 1.0 and math.isinf(check.freedom):
        return None
    return Stretch(check.factor, float(draws.mean()), sd, check.freedom)


def _no_shares(table: RowTable) -> None:
    """Return that rows have no share of their own."""
    del table


def _not_asked(posterior: HeldPosterior) -> str:
    """Return why rows are not asked how large noise is; empty if they are."""
    workings = posterior.workings
    prior, engine = workings.models.items[0].prior, workings.store.engine
    if isinstance(prior.noise, KnownNoise):
        return "the prior says how large it is"
    if prior.coefficients is not None or ScaleMixture in getattr(engine, "takes", ()):
        return f"the engine {engine.name!r} takes it for even"
    if workings.models.weights.tables > 1 and any(data.table is None for data in workings.tables):
        return "missing values were filled in several times, and only moments of the tables were kept"
    return ""


def _drawn(effect: HeldEffect, sd: float) -> list[Joint]:
    """Return draws of the effect in units of its standard deviation, and of the regressions behind it."""
    return [replace(joint, effect=joint.effect / sd) for joint in joint_of(effect)]


def joint_of(effect: HeldEffect) -> list[Joint]:
    """Return draws of the effect, and of the regressions behind it, model by model."""
    workings = effect.posterior.workings
    return joint_draws(effect.answer, effect.workings.totals, workings.models, workings.stream().spawn(2)[1])


# -- rows --------------------------------------------------------------------------------------------------------------


def _of_rows(posterior: HeldPosterior, joints: Sequence[Joint], shares: Shares) -> tuple[Kind, Moves] | str:
    try:
        tables = rows_of(posterior)
        if tables is None:
            return "there are only moments of them here"
        if posterior.workings.data.is_within:
            moves = _moves_within(posterior, tuple(answering(joints).values()))
        else:
            moves = _averaged([row_moves(found, tables[place]) for place, found in _by_table(joints)])
        table = tables[0]
    except (DataError, OSError):  # a stream that is at its end, a file that is gone
        return "they cannot be read again"
    if moves.count < _LEAST_ROWS:
        return ""
    if table.marks.weight is None and moves.count != round(posterior.rows):
        return "they are not those of the fit any more"
    kind: Kind = "weights" if table.marks.effective else "rows"
    return kind, _with_shares(moves, shares(table))


def _moves_within(posterior: HeldPosterior, found: Sequence[Answering]) -> Moves:
    """Return the moves where fixed effects were taken out of every regression: residuals are smaller by what they took.

    Squares of residuals are smaller by the share of the degrees of freedom that levels take (the factor of HC1).
    """
    workings, parts = posterior.workings, list[Moves]()
    assert workings.table is not None
    for item in found:
        data = workings.data.of(item.of.child)
        rows = workings.table.regressed_rows(data.names, item.of.child)
        assert rows is not None
        moves = row_moves([item], rows)
        parts.append(replace(moves, psi=moves.psi * math.sqrt(data.rows / (data.n + 1.0))))
    return Moves(np.sum([one.psi for one in parts], axis=0), sum(one.expected for one in parts))


def rows_of(posterior: HeldPosterior) -> Sequence[RowTable] | None:
    """Return the rows of each completed table; None if they are not at hand."""
    workings = posterior.workings
    kept = [data.table for data in workings.tables if data.table is not None]
    if len(kept) == len(workings.tables):
        return kept
    if workings.table is not None and isinstance(workings.table.source(), DistributedSource):
        return None  # too many to be brought here
    found = None if workings.table is None else workings.table.rows(workings.data.pooled.names)
    return None if found is None else [found]


def _by_table(joints: Sequence[Joint]) -> Iterator[tuple[int, tuple[Answering, ...]]]:
    """Yield how the effect answers to the regressions of each completed table that has draws, and its place."""
    for place in sorted({joint.table for joint in joints}):
        yield place, tuple(answering([joint for joint in joints if joint.table == place]).values())


def _shares(effect: HeldEffect, table: RowTable, sd: float | None) -> FloatArray | None:
    """Return each row's own share in the effect, shape (rows,), where rows are a sample of a population."""
    if sd is None or not effect.answer.question.is_population or isinstance(effect.answer, ClosedAnswer):
        return None
    rng, weight = effect.posterior.workings.stream(), table.marks.weight
    parts, weights = [], []
    for rows in Rows(table).batches():
        parts.append(effect.answer.of_rows(rows, _ROW_DRAWS, rng)[0])
        weights.append(np.ones(rows.count) if weight is None else rows.values[weight])
    own, counted = np.concatenate(parts) / sd, np.concatenate(weights)
    return np.asarray(counted * (own - own @ counted / counted.sum()) / counted.sum())


def _with_shares(moves: Moves, shares: FloatArray | None, pieces: FloatArray | None = None) -> Moves:
    """Return the moves with the shares of pieces; `pieces` has that of each row if a piece is not one row."""
    if shares is None:
        return moves
    own = shares if pieces is None else np.bincount(pieces.astype(np.int64), shares, moves.count)
    return Moves(moves.psi + own, moves.expected + float(shares @ shares))


# -- clusters ----------------------------------------------------------------------------------------------------------


def _of_clusters(posterior: HeldPosterior, joints: Sequence[Joint], shares: Shares) -> tuple[Kind, Moves] | str:
    clusters = posterior.clusters
    assert clusters is not None
    by_table = list(_by_table(joints))
    if all(item.of.is_straight for _, found in by_table for item in found):
        return "clusters", _averaged([cluster_moves(found, clusters.tables[place]) for place, found in by_table])
    tables = rows_of(posterior)
    if tables is None or tables[0].marks.cluster is None:
        return "the rows of the clusters are not at hand"
    codes = tables[0].column(tables[0].marks.cluster)
    moves = _averaged([row_moves(found, tables[place], clusters.count) for place, found in by_table])
    return "clusters", _with_shares(moves, shares(tables[0]), codes)


def _averaged(tables: Sequence[Moves]) -> Moves:
    """Return the moves of an average over completed tables."""
    psi: FloatArray = np.mean([one.psi for one in tables], axis=0)
    return Moves(psi, float(np.mean([one.expected for one in tables])))


# -- the answer --------------------------------------------------------------------------------------------------------


def given_effect(effect: HeldEffect) -> tuple[float, float, float]:
    """Return mean and standard deviation of the answer given that there is an effect, and the probability of none."""
    answer, exact = effect.answer, effect.workings.exact_no_effect
    atom = float(np.mean(answer.values == 0.0)) if exact is None else exact
    if atom == 0.0 or answer.sd == 0.0 or atom >= 1.0:
        return answer.mean, answer.sd, atom
    mean = answer.mean / (1.0 - atom)
    inside = 1.0 / (1.0 - atom) - atom * (mean / answer.sd) ** 2
    return mean, answer.sd * math.sqrt(max(inside, 0.0)), atom


def stretch_of(effect: HeldEffect, check: Jackknife | None) -> Stretch | None:
    """Return what makes draws of an effect as wide as the jackknife says; None if they are as they should be."""
    if check is None or (check.factor == 1.0 and math.isinf(check.freedom)):
        return None
    mean, sd, _ = given_effect(effect)
    return Stretch(check.factor, mean, sd, check.freedom)


def stretched_sd(effect: HeldEffect, stretch: Stretch | None) -> float:
    """Return the standard deviation of an effect whose part that is no zero is so much wider."""
    plain = effect.answer.sd
    if stretch is None:
        return plain
    _, sd, atom = given_effect(effect)
    return plain * math.sqrt(1.0 + (1.0 - atom) * (stretch.factor**2 - 1.0) * (sd / plain) ** 2)
