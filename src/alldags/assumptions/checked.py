"""What `Posterior.checks` looks at: the rows behind a posterior, and the regressions that matter for a question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.assumptions.examined import ExaminedPosterior
from alldags.assumptions.misfit import Residuals, check_residuals
from alldags.assumptions.regression import Fitted, Regressed, fit_rows
from alldags.data.batches import RowTable
from alldags.data.columns import columns_of
from alldags.data.look import look_at_rows
from alldags.data.record import MomentsSource
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildData, WorkingData

MOST_CAUSES = 50  # in one regression that is checked
ROWS_PER_CAUSE = 10


def rows_of(posterior: ExaminedPosterior, names: Sequence[str] = ()) -> tuple[RowTable | None, str | None]:
    """Return the complete rows behind a posterior; or None, and why there are none to look at.

    Parameters
    ----------
    posterior
        What was fitted.
    names
        Columns that are needed; all by default.
    """
    table, what = posterior.workings.table, "residuals, outlying rows and the propensity"
    if table is None:
        return None, f"{what}: the rows were not kept"
    if "experiments" in table.asked:
        return None, f"{what}: in rows of experiments variables were set, which these checks do not know"
    if "fixed effects" in table.asked:
        return None, f"{what}: each level of a fixed effect has its own intercept, which these checks do not know"
    source = table.source()
    if isinstance(source, MomentsSource):
        return None, f"{what}: moments hold no rows; give the table itself"
    beside = (name for family in posterior.workings.data.families.values() for name in family.reads)
    wanted = (*posterior.workings.data.pooled.names, *beside)
    return RowTable(source.numbers(names or tuple(dict.fromkeys(wanted)))), None


def said_of_rows(posterior: ExaminedPosterior) -> Iterator[str]:
    """Say what the checks do not know of the rows."""
    asked = set(() if posterior.workings.table is None else posterior.workings.table.asked)
    if asked & {"frequency weights", "sampling weights"}:
        yield "weights of the rows: every row counts once"
    if "clusters" in asked:
        yield "clusters: rows are taken for independent, so that p-values are too small"
    if asked & {"imputation", "gaps", "completed tables"}:
        yield "rows with missing values: checks of rows look at complete ones"


@dataclass(frozen=True, eq=False)
class Checked:
    """What is checked: graphs, data, and the effect that matters, if any."""

    graphs: tuple[CandidateGraph, ...]
    data: WorkingData
    table: RowTable | None
    treatment: str | None
    outcome: str | None

    @cached_property
    def children(self) -> tuple[str, ...]:
        """The variables whose regressions matter and that have candidate causes."""
        names = self.graphs[0].variables
        if self.treatment is not None and self.outcome is not None:
            onward = set().union(
                *(g.descendants(self.treatment) & (g.ancestors(self.outcome) | {self.outcome}) for g in self.graphs)
            )
            names = tuple(name for name in names if name in onward)
        known = (name for name in names if name not in self.data.categories)  # whose regression is no line
        return tuple(name for name in known if self.all_causes(name) and self.data.knows(name))

    def all_causes(self, child: str) -> tuple[str, ...]:
        """Return every candidate cause of a variable, in any graph."""
        found = {name for graph in self.graphs for name in graph.parents(child)}
        return tuple(name for name in self.graphs[0].variables if name in found)

    def causes(self, child: str) -> tuple[str, ...]:
        """Return the causes that a regression of so many rows can hold, those that go with the child most first."""
        found = self.all_causes(child)
        most = int(min(MOST_CAUSES, self.data.rows // ROWS_PER_CAUSE))
        if len(found) <= most:
            return found
        rows = self.data.of(child)
        size = [_together(rows, child, self.data.columns((name,))) for name in found]
        kept = {found[i] for i in np.argsort(-np.array(size))[:most]}
        return tuple(name for name in found if name in kept)

    def regressed(self, child: str, causes: Sequence[str]) -> Regressed | None:
        """Return what a regression is checked on; None without rows, or where these do not have the child's values."""
        if self.table is None or not self.data.has_values(child):
            return None
        family = self.data.families.get(child)
        known = None if family is None or family.has_levels else family
        return Regressed(child, self.data.columns(causes), self.table, *self._units, known)

    def written(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of each of some variables."""
        return {name: self.data.columns((name,)) for name in names}

    def two_levels(self, category: str, causes: Sequence[str], levels: tuple[float, float]) -> Regressed | None:
        """Return the regression of 0 and 1, for two levels of a category, in the rows that have them; None for none."""
        if self.table is None:
            return None
        own = np.column_stack([self.table.column(name) for name in self.data.categories[category]])
        here = [np.abs(own - self.data.level_columns(category, level)).max(axis=1) < 1e-9 for level in levels]
        is_low, is_high = (np.asarray(rows, dtype=bool) for rows in here)
        if not (is_low.any() and is_high.any()):
            return None
        kept = is_low | is_high
        values = {name: self.table.column(name)[kept] for name in self.data.columns(causes)}
        rows = RowTable(columns_of({**values, category: is_high[kept].astype(float)}, int(kept.sum())))
        return Regressed(category, self.data.columns(causes), rows, *self._units)

    @cached_property
    def _units(self) -> tuple[dict[str, float], dict[str, float]]:
        """Mean and deviation of every variable, in the user's units."""
        pooled, names = self.data.pooled, self.data.pooled.names
        center = {name: float(pooled.mean[pooled.index[name]] * self.data.scale_of(name)) for name in names}
        return center, {name: self.data.deviation(name) or 1.0 for name in names}

    @property
    def lots(self) -> frozenset[str]:
        """The variables that were drawn by lot, as the user said."""
        return frozenset() if self.data.seen is None else frozenset(self.data.seen.randomized)

    @property
    def curved(self) -> frozenset[str]:
        """The children that were said to have curves, whose residuals are not those of straight lines."""
        return frozenset() if self.data.on_demand else frozenset(self.data.curved)

    @cached_property
    def fits(self) -> dict[str, Fitted | None]:
        """The regressions that matter, on the rows."""
        straight = [child for child in self.children if child not in self.curved]
        made = {child: self.regressed(child, self.causes(child)) for child in straight}
        return {child: fit_rows(of) for child, of in made.items() if of is not None}

    @cached_property
    def residuals(self) -> dict[str, Residuals]:
        """What the residuals of each regression show."""
        return {child: check_residuals(fit) for child, fit in self.fits.items() if fit is not None}

    @property
    def left_out(self) -> Iterator[str]:
        """Say what was not looked at."""
        if bent := [child for child in self.children if child in self.curved]:
            yield f"residuals and independences of {', '.join(bent)}, which may have curves"
        if heavy := [child for child in self.children if child in self.data.heavy]:
            yield f"outlying rows of {', '.join(heavy)}, whose noise may have heavy tails"
        if unknown := [child for child in self.children if not self.data.has_values(child)]:
            yield f"residuals of {', '.join(unknown)}, which is not known where it is censored"
        for child, fit in self.fits.items():
            if fit is None:
                yield f"residuals of {child}: its regression has no fit (too few rows, or causes that foretell it)"
            elif len(self.causes(child)) < len(self.all_causes(child)):
                count, kept = len(self.all_causes(child)), len(self.causes(child))
                yield f"all {count} causes of {child}: residuals are those of its {kept} closest ones"
        if any(graph.hidden and graph.blocks for graph in self.graphs):
            yield "independences: hidden common causes and open directions are in one graph"

    def is_yes_no(self, name: str) -> bool:
        """Tell whether a variable has the values 0 and 1 only, from rows or, without them, from moments."""
        if name in self.data.categories:
            return False
        look = self.data.look(name) if self.table is None else look_at_rows(self.table, [name])[name]
        return look.is_yes_no


def _together(rows: ChildData, child: str, columns: Sequence[str]) -> float:
    """Return how closely a cause goes with a child, up to a factor; the columns of a category are not correlated."""
    places = [rows.index[name] for name in columns]
    own, crossed = rows.scatter[places, places], rows.scatter[rows.index[child], places]
    return math.sqrt(float(sum(c * c / o for c, o in zip(crossed, own, strict=True) if o > 0)))
