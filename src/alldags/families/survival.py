"""`Survival`: a time until an event, of which many are only known to be longer than the time under observation.

The hazard is constant within pieces of time (`alldags.families.baseline`); its heights are integrated out: a quadratic
of the coefficients is left, and draws of the heights come with those of the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from alldags import checks
from alldags.errors import AlldagsError, DataError
from alldags.families.base import Batch, Completed, Draws, Plain, Point, RowSums, Values
from alldags.families.baseline import Pieces, drawn, product_limit, restricted_mean, solved, surviving
from alldags.families.canonical import capped, flatness, link_prior, mode_from, row_blocks, row_spread
from alldags.families.followed import check_followed, cut_points, horizon_of, written_out
from alldags.families.quadratic import Quadratic
from alldags.priors.prior import Prior
from alldags.typing import FloatArray
from alldags.wording import either

if TYPE_CHECKING:
    from alldags.data.batches import RowTable


class Rows(NamedTuple):
    """Some rows: since when and until when they were watched, event (0 or 1) and arm, shape (rows,) each."""

    start: FloatArray
    stop: FloatArray
    event: FloatArray
    arm: FloatArray

    def part(self, part: slice) -> Rows:
        """Return some of them."""
        return Rows(*(values[part] for values in self))


class Sums(NamedTuple):
    """Sums over rows: number, events by cell (cells,), and the gradient of ``sum(d eta)``, shape (k,)."""

    rows: float
    events: FloatArray
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class Survival(Plain):
    """A time until an event, right-censored: ``log hazard = baseline(time) + coefficients . parents``.

    The baseline hazard is constant within up to twelve pieces of time, cut at quantiles of the times of events, and its
    logarithm walks from one to the next. If the treatment that is asked about has two values, its hazard ratio may
    change with time: that it does not is as probable as that it does, before the data. An effect is the difference of
    the restricted mean survival time, the mean time survived up to a horizon.

    Parameters
    ----------
    event
        Column that is 1 where the event was seen at the time, and 0 where the row was watched until then without it.
    entry
        Column with the time from which on a row was watched, where that is not 0 (delayed entry, left truncation).
    horizon
        Up to which time survived time counts; None: the largest at which a tenth of the rows of both arms is at risk.
    changing
        Whether the hazard ratio of a treatment with two values may change with time.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Survival(event="died")
    Survival(event='died', entry=None, horizon=None, changing=True)
    """

    name: ClassVar[str] = "survival"
    measure: ClassVar[str] = "survival"
    link_words: ClassVar[str] = "log hazard"
    is_line: ClassVar[bool] = False
    has_levels: ClassVar[bool] = False
    most_k_hat: ClassVar[float] = 0.7
    complete: ClassVar[bool] = False

    event: str = ""
    entry: str | None = None
    horizon: float | None = None
    changing: bool = True
    cuts: tuple[float, ...] = field(default=(), repr=False)
    until: float | None = field(default=None, repr=False)
    arms: tuple[str, float, float] | None = field(default=None, repr=False)
    by: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.event:
            said = either("alldags.Survival(event='died')", "--family time=survival:died")
            raise DataError(f"a survival time needs the column that says whether the event was seen: {said}")
        if self.horizon is not None:
            checks.positive("Survival horizon", self.horizon, DataError)

    @property
    def reads(self) -> tuple[str, ...]:
        """Event, entry and, where the hazard ratio may change, the treatment."""
        return (
            self.event,
            *(() if self.entry is None else (self.entry,)),
            *(() if self.arms is None else self.arms[:1]),
        )

    @property
    def pieces(self) -> Pieces:
        """The pieces of time."""
        return Pieces(self.cuts, 1 if self.arms is None else 2)

    def rows(self, batch: Batch) -> Rows:
        """Return when rows were watched, what was seen, and their arm."""
        rest = list(batch.read[1:])
        start = rest.pop(0) if self.entry is not None else np.zeros(len(batch.child))
        return Rows(start, batch.child, batch.read[0], self.arm(rest[0]) if rest else start)

    def arm(self, values: FloatArray) -> FloatArray:
        """Return 0 and 1 for the two values of the treatment, and what lies between them."""
        assert self.arms is not None
        _, low, high = self.arms
        return np.asarray((values - low) / (high - low))

    # -- what it takes from the rows -----------------------------------------------------------------------------------

    def check(self, child: str, batches: Iterable[FloatArray]) -> Survival:
        """Refuse times that are none."""
        for values in batches:
            bad = values[~(values > 0.0)]
            if bad.size:
                raise DataError(
                    f"{child!r} is to be a survival time, but has the value {float(bad[0]):g}; times are above 0: add "
                    "half of the least unit to rows whose event was seen at once"
                )
        return self

    def placed(self, child: str, table: RowTable) -> Survival:
        """Return the family with its pieces: cut at quantiles of the times of events."""
        stop, event = table.column(child), table.column(self.event)
        start = np.zeros(len(stop)) if self.entry is None else table.column(self.entry)
        check_followed(child, self.event, self.entry, (start, stop, event))
        start, stop, event = written_out(table, start, stop, event)
        until = horizon_of(child, self.horizon, start, stop, np.zeros(len(stop)))
        return replace(self, cuts=cut_points(stop[event == 1.0]), until=until)

    def about(self, child: str, treatment: str, table: RowTable) -> Survival:
        """Return the family for one treatment: its horizon, and its arms if it has two values."""
        if treatment not in table.columns.names:  # a category
            return self
        values = table.column(treatment)
        levels = np.unique(values)
        if len(levels) != 2:
            return self
        arms = treatment, float(levels[0]), float(levels[1])
        start = np.zeros(len(values)) if self.entry is None else table.column(self.entry)
        until = horizon_of(child, self.horizon, *written_out(table, start, table.column(child), values))
        return replace(self, until=until, arms=arms if self.changing and len(self.cuts) > 0 else None)

    # -- prior and point -----------------------------------------------------------------------------------------------

    def prior(self, prior: Prior) -> Prior:
        """Return the prior on the scale of the log hazard: a slab that was given applies to it as it is."""
        return link_prior(prior)

    def mode(self, rows: RowSums, slab_variance: float) -> Point:
        """Return the mode with all columns, and of the baseline with one ratio."""
        batches = rows.batches()

        def expand(point: Point) -> Quadratic:
            return self._quadratic(rows.names, batches, point, None, profiled=True)

        return mode_from(rows, expand, Point(np.zeros(len(rows.names) + 1)), slab_variance)

    # -- sums over rows ------------------------------------------------------------------------------------------------

    def _sums(self, batches: Sequence[Batch]) -> Sums:
        pieces = self.pieces
        events, scores, count = np.zeros(pieces.count * pieces.arms), np.zeros(batches[0].columns.shape[1]), 0.0
        for batch in batches:
            rows = self.rows(batch)
            own = batch.weighted(rows.event)
            events += np.bincount(pieces.cells(rows.stop, rows.arm), own, len(events))
            scores += own @ batch.columns
            count += batch.count
        return Sums(count, events, scores)

    def _parts(self, batch: Batch, draws: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield a few rows at a time, and the time that each spends in each cell, by weight, shape (rows, cells)."""
        rows, pieces = self.rows(batch), self.pieces
        for part in row_blocks(len(batch.child), max(draws, 16)):
            own = pieces.exposures(*_watched(rows.part(part)))
            yield part, own if batch.weight is None else own * batch.weight[part, None]

    def exposure(self, batches: Sequence[Batch], coefficients: FloatArray) -> FloatArray:
        """Return the time in each cell, times risks, shape (draws, cells)."""
        found = np.zeros((len(coefficients), self.pieces.count * self.pieces.arms))
        for batch in batches:
            for part, own in self._parts(batch, len(coefficients)):
                found += np.exp(capped(batch.columns[part] @ coefficients.T)).T @ own
        return found

    # -- the quadratic -------------------------------------------------------------------------------------------------

    def quadratic(
        self, names: tuple[str, ...], batches: Sequence[Batch], point: Point, root: FloatArray | None = None
    ) -> Quadratic:
        """Return the log-likelihood around a point, the baseline integrated out.

        The intercept, the level of the log hazard, follows the coefficients; that of the point is not used. With `root`
        risks are averaged over a normal distribution around the point.
        """
        return self._quadratic(names, batches, point, root)

    def _quadratic(
        self,
        names: tuple[str, ...],
        batches: Sequence[Batch],
        point: Point,
        root: FloatArray | None,
        profiled: bool = False,
    ) -> Quadratic:
        """Return the same, or at the mode of a baseline with one ratio: its gradient is then that of its value."""
        sums, bases = self._sums(batches), self.pieces.bases[: 1 if profiled else None]
        spread = [None if root is None else row_spread(batch, root) for batch in batches]
        exposure = self._risks(batches, point.at[1:], spread)
        found = [solved(sums.events, exposure, basis) for basis in bases]
        logs = np.array([float((one.height if profiled else one.log_integral)[0]) for one in found])
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        k, total = len(names), float(sums.events.sum())
        information, gradient, level = np.zeros((k + 1, k + 1)), np.zeros(k + 1), 0.0
        for share, one, basis in zip(shares, found, bases, strict=True):
            own = self._expanded(batches, point.at[1:], spread, basis, one.mode[0])
            information += share * own[0]
            gradient[1:] += share * (sums.scores - own[1])
            level += share * one.mode[0, 0]
        value = float(np.logaddexp.reduce(logs)) - np.log(len(logs)) + float(sums.scores @ point.at[1:])
        return Quadratic(
            family=self.name,
            names=names,
            at=np.concatenate([[level], point.at[1:]]),
            information=information,
            gradient=gradient,
            value=value - 0.5 * float(np.log(2.0 * np.pi / information[0, 0])),
            rows=sums.rows,
            events=total,
            spread=max((float(one.max()) for one in spread if one is not None), default=0.0),
        )

    def _risks(self, batches: Sequence[Batch], at: FloatArray, spread: Sequence[FloatArray | None]) -> FloatArray:
        """Return the time in each cell, times averaged risks, shape (1, cells)."""
        found = np.zeros((1, self.pieces.count * self.pieces.arms))
        for batch, wide in zip(batches, spread, strict=True):
            risk = _risk(batch, at, wide)
            for part, own in self._parts(batch, 1):
                found += risk[part] @ own
        return found

    def _expanded(
        self,
        batches: Sequence[Batch],
        at: FloatArray,
        spread: Sequence[FloatArray | None],
        basis: FloatArray,
        phi: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return information of level and coefficients, (k + 1, k + 1), and the sum of expected events times columns.

        The shape of the baseline is integrated out: what it could explain is no information about the coefficients.
        """
        k, hazard = batches[0].columns.shape[1], np.exp(basis @ phi)
        inside, cross, means = np.zeros((k, k)), np.zeros((len(basis), k)), np.zeros(len(basis))
        for batch, wide in zip(batches, spread, strict=True):
            risk = _risk(batch, at, wide)
            for part, own in self._parts(batch, 1):
                expected = own * hazard * risk[part, None]
                columns = batch.columns[part]
                inside += (columns * expected.sum(axis=1)[:, None]).T @ columns
                cross += expected.T @ columns
                means += expected.sum(axis=0)
        system = (basis * means[:, None]).T @ basis + np.diag([0.0, *np.ones(basis.shape[1] - 1)])
        taken = basis.T @ cross
        level, total = cross.sum(axis=0), float(means.sum())
        information = np.empty((k + 1, k + 1))
        information[0, 0], information[0, 1:], information[1:, 0] = total, level, level
        information[1:, 1:] = inside - taken.T @ np.linalg.solve(system, taken) + np.outer(level, level) / total
        return information, level

    def flatness(self, quadratic: Quadratic) -> float:
        """Return the last expansion's factor: nearer to one where the posterior is all but normal."""
        return flatness(quadratic)

    # -- how probable rows are -----------------------------------------------------------------------------------------

    def completed(self, batches: Sequence[Batch], coefficients: FloatArray, rng: np.random.Generator) -> Completed:
        """Draw the baseline given the coefficients; its log hazards less their mean are beside it."""
        sums = self._sums(batches)
        found = drawn(sums.events, self.exposure(batches, coefficients), self.pieces.bases, rng)
        level = found.log_hazard.mean(axis=1)
        return Completed(level, found.log_hazard - level[:, None], found.log_value + coefficients @ sums.scores)

    def log_likelihoods(self, batches: Iterable[Batch], draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,)."""
        assert draws.beside is not None
        every = list(batches)
        sums, log_hazard = self._sums(every), draws.intercept[:, None] + draws.beside
        lost = np.einsum("dc,dc->d", self.exposure(every, draws.coefficients), np.exp(log_hazard))
        return np.asarray(log_hazard @ sums.events + draws.coefficients @ sums.scores - lost)

    def log_likelihood_by_row(self, batch: Batch, draws: Draws) -> FloatArray:
        """Return the log-likelihood of each row, weights and all, shape (rows, draws)."""
        assert draws.beside is not None
        rows, pieces = self.rows(batch), self.pieces
        eta = batch.columns @ draws.coefficients.T + draws.intercept
        cells, found = pieces.cells(rows.stop, rows.arm), np.empty_like(eta)
        for part in row_blocks(len(eta), max(len(draws.intercept), 16)):
            hazard = pieces.exposures(*_watched(rows.part(part))) @ np.exp(draws.beside).T
            seen = rows.event[part, None] * (eta[part] + draws.beside.T[cells[part]])
            found[part] = seen - np.exp(capped(eta[part])) * hazard
        return found if batch.weight is None else found * batch.weight[:, None]

    def probability_changing(self, beside: FloatArray | None, weights: FloatArray) -> float:
        """Return how probable it is that the hazard ratio changes, from draws (draws, m) and their weights (draws,)."""
        if self.arms is None or beside is None:
            return 0.0
        first, second = np.split(beside, 2, axis=1)
        return float(weights @ (np.abs(second - first).max(axis=1) > 0.0))

    # -- what survives -------------------------------------------------------------------------------------------------

    def surviving(self, by: float) -> Survival:
        """Return the same family, whose mean is the probability to survive a time."""
        return replace(self, by=by)

    def up_to(self, until: float) -> Survival:
        """Return the same family with another horizon."""
        return replace(self, until=until)

    def mean(self, eta: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Return the restricted mean, or the probability to survive; without a baseline the hazard is ``exp(eta)``."""
        return self._mean(eta, np.zeros((eta.shape[-1], self.pieces.count)) if apart is None else apart.T)

    def mean_given(self, eta: FloatArray, apart: FloatArray, values: Values) -> FloatArray:
        """Return the same under the baseline of each draw and of each row's arm."""
        if self.arms is None:
            return self.mean(eta, apart)
        count, arm, found = self.pieces.count, self.arm(values(self.arms[0])), np.empty_like(eta)
        for level in np.unique(arm):
            here = arm == level
            found[here] = self.mean(eta[here], (1.0 - level) * apart[:count] + level * apart[count:])
        return found

    def _mean(self, eta: FloatArray, log_hazard: FloatArray) -> FloatArray:
        if self.by is not None:
            return surviving(eta, log_hazard, self.pieces.widths(self.by))
        assert self.until is not None
        return restricted_mean(eta, log_hazard, self.pieces.widths(self.until))

    def observed(self, child: str, values: Mapping[str, FloatArray], weight: FloatArray) -> float:
        """Return the same of rows as they are, whatever acts on them: the product-limit estimate."""
        stop, event = values[child], values[self.event]
        start = np.zeros(len(stop)) if self.entry is None else values[self.entry]
        times, survival = product_limit(start, stop, event, weight)
        if self.by is not None:
            return float(np.append(1.0, survival)[np.searchsorted(times, self.by, side="right")])
        inside = times < (self.until or 0.0)
        widths = np.diff(np.concatenate([[0.0], times[inside], [self.until or 0.0]]))
        return float(np.append(1.0, survival[inside]) @ widths)

    def draw(self, eta: FloatArray, uniform: FloatArray, apart: FloatArray | None = None) -> FloatArray:
        """Refuse: what was censored does not say how long a single unit survives."""
        del eta, uniform, apart
        raise _not_single()

    def bracket(
        self, eta: FloatArray, value: FloatArray, apart: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Refuse, as for draws."""
        del eta, value, apart
        raise _not_single()

    def link(self, mean: float) -> float:
        """Refuse, as for draws."""
        del mean
        raise _not_single()

    def score(self, child: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Refuse, as for draws."""
        del child, eta
        raise _not_single()

    def height(self, child: FloatArray, eta: FloatArray) -> FloatArray:
        """Refuse, as for draws."""
        del child, eta
        raise _not_single()


def _not_single() -> AlldagsError:
    return AlldagsError("the survival time of a single unit is not drawn; ask for do(x).mean, or effect.survival")


def _watched(rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
    return rows.start, rows.stop, rows.arm


def _risk(batch: Batch, at: FloatArray, spread: FloatArray | None) -> FloatArray:
    """Return the risk of each row, averaged where its predictor is spread, shape (rows,)."""
    eta = batch.columns @ at
    return np.exp(capped(eta if spread is None else eta + 0.5 * spread**2))
