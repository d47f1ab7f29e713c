"""`effect.plots` and `posterior.plots`: one picture a method, ``ax=`` in, axes out. All need the extra ``plot``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from alldags import checks
from alldags.answers.by_rows import fitted_rows
from alldags.answers.inner import InnerAnswer
from alldags.answers.treatment_values import treatment_values
from alldags.data.look import look_at_values
from alldags.data.source import open_source
from alldags.errors import AlldagsError
from alldags.kinds import MEASURES
from alldags.nodes.onto import ParentsPosterior
from alldags.wording import option

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.effects.intervention import Intervention
    from alldags.effects.new_unit import NewUnit
    from alldags.effects.quantity import Quantity
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

_FAN_LEVELS = (0.95, 0.8, 0.5)


@dataclass(frozen=True, eq=False)
class EffectPlots:
    """Pictures of one effect; obtained as `Effect.plots`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> effect.plots.paths().get_xlabel()
    'effect of smoking on risk'
    """

    effect: Effect

    def paths(self, limit: int = 8, ax: Axes | None = None) -> Axes:
        """Draw the paths that carry the effect, largest first, each beginning where the one before ended."""
        from alldags.show.plots.paths import plot_paths

        if "paths" in self.effect.answer.lacks:
            self.effect.paths(limit)  # says why not
        if self.effect.measure in (*MEASURES, "mean"):
            raise AlldagsError(
                f"the effect on {self.effect.outcome!r} is a difference of means, to which paths do not add up; "
                "effect.paths() lists them on the scales of the regressions"
            )

        return plot_paths(self.effect.summary(), self.effect.paths(limit), ax)

    def influence(self, limit: int = 10, ax: Axes | None = None) -> Axes:
        """Draw the effect without and with each uncertain edge, the most informative edge on top."""
        from alldags.show.plots.tornado import plot_influence

        limit = checks.whole("limit", limit, least=1)
        return plot_influence(self.effect.summary(), self.effect.edge_influence(), limit, ax)

    def rows(self, covariate: str, rows: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the effect of some rows, by default those of the fit, against a covariate, with its interval."""
        from alldags.show.plots.curves import plot_by_covariate

        if "plots.rows" in self.effect.answer.lacks:
            raise AlldagsError(self.effect.answer.lacks["plots.rows"])
        if not isinstance(covariate, str):
            raise AlldagsError(f"plots.rows takes the name of a covariate, then rows; got {type(covariate).__name__}")
        values = open_source(fitted_rows(self.effect) if rows is None else rows).numbers([covariate])
        x = np.asarray(values.read(0, values.rows)[0], dtype=float)
        return plot_by_covariate(x, self.effect.by(rows), covariate, self.effect.treatment, self.effect.outcome, ax)

    def curve(self, values: Sequence[float | str] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean outcome over the rows against the value the treatment is set to."""
        from alldags.show.plots.curves import plot_curve

        points = list(values) if values is not None else self._even_values()
        return plot_curve(self.effect.curve(points), self.effect.treatment, self.effect.outcome, ax)

    def _even_values(self) -> Sequence[float | str]:
        """Return values of the treatment for a picture: its two, its levels, or evenly spread ones inside its range."""
        data = self.effect.posterior.workings.data
        if self.effect.treatment in data.categories:
            return data.levels[self.effect.treatment].words
        column = fitted_rows(self.effect)[self.effect.treatment]
        if levels := look_at_values(column).two_values:
            return list(levels)
        low, high = np.quantile(column, [0.01, 0.99]).tolist()
        return [float(x) for x in np.linspace(low, high, 25)]

    def given_effect(self, ax: Axes | None = None) -> Axes:
        """Draw the effect given that there is one: density, mean and interval."""
        from alldags.show.plots.given import plot_given_effect

        return plot_given_effect(self.effect.summary(), self.effect.uncertainty.sample.draws, ax)

    def graph(self, limit: int = 16, ax: Axes | None = None) -> Axes:
        """Draw the part of the candidate graph on which the effect rests most; of each tier the rest is one pale box.

        Edges are as wide as they are probable after the data. Of several candidate graphs the most probable is drawn.

        Parameters
        ----------
        limit
            How many variables are drawn; up to 60.
        ax
            Matplotlib axes to draw on; by default a new figure in the size that the graph needs.
        """
        from alldags.results.report import effect_report
        from alldags.show.plots.folded import folded
        from alldags.show.plots.graph import plot_graph
        from alldags.show.report.clip import clipped

        limit = checks.whole("limit", limit, 2, 60)
        report = effect_report(self.effect, checks=False)
        part = clipped(report, limit)
        drawn = folded(report.tiers, part.edges, part.variables)
        return plot_graph(drawn, ax, self.effect.treatment, self.effect.outcome, folded=drawn.folded)

    def spread(self, others: Sequence[Effect] = (), ax: Axes | None = None) -> Axes:
        """Draw how much of the variance comes from not knowing the graph, and the coefficients; of others, too."""
        from alldags.show.plots.spread import plot_spread

        return plot_spread([effect.summary() for effect in (self.effect, *others)], ax)

    def do(
        self,
        values: Sequence[float | str] | None = None,
        ax: Axes | None = None,
        of: Literal["new unit", "mean"] | None = None,
    ) -> Axes:
        """Draw the outcome over values that the treatment is set to: its mean, and around it new units or the mean.

        Parameters
        ----------
        values
            Of the treatment; by default 15 within two standard deviations of its mean, of a yes/no treatment those two.
        ax
            Matplotlib axes to draw on; by default a new figure.
        of
            ``"new unit"``: where outcomes of new units are. ``"mean"``: where the mean over rows is. None: new units,
            unless the outcome is yes/no. Of the levels of a category the means are drawn.
        """
        from alldags.show.plots.fan import plot_fan

        if of is not None:
            checks.one_of("of", of, ("new unit", "mean"))
        if self.effect.treatment in self.effect.posterior.workings.data.categories:
            return self.curve(values, ax)
        chosen = self._values() if values is None else treatment_values(self.effect, values)
        found = [self.effect.do(x) for x in chosen]
        drawn = self._around(found, of)
        ends = {level: np.array([one.interval(level) for one in drawn]) for level in _FAN_LEVELS}
        names = self.effect.treatment, self.effect.outcome
        means = np.array([float(outcome.mean) for outcome in found])
        fans = [(level, low_high[:, 0], low_high[:, 1]) for level, low_high in ends.items()]
        label = "of the mean" if drawn[0] is found[0].mean else "of new units"
        return plot_fan(names, np.array(chosen), means, fans, ax, label)

    def _around(
        self, found: Sequence[Intervention], of: Literal["new unit", "mean"] | None
    ) -> Sequence[NewUnit | Quantity]:
        """Return what is drawn around the mean."""
        if of == "mean" or (of is None and self.effect.measure == "risk"):
            return [outcome.mean for outcome in found]
        try:
            return [outcome.new_unit for outcome in found]
        except AlldagsError:
            if of is not None:
                raise
            return [outcome.mean for outcome in found]

    def _values(self) -> list[float]:
        answer = self.effect.answer
        arms = answer.changes.items[0].node.found.arms if isinstance(answer, InnerAnswer) else None
        if arms is not None:  # along curves nothing shows what other values would do
            return [float(x) for x in arms]
        if self.effect.summary().is_binary:
            return [0.0, 1.0]
        data = self.effect.posterior.workings.data
        place = data.pooled.index[self.effect.treatment]
        centre = float(data.pooled.mean[place] * data.scale[place])
        sd = float(data.scale[place]) * math.sqrt(float(data.pooled.scatter[place, place]) / data.pooled.rows)
        return [float(x) for x in np.linspace(centre - 2 * sd, centre + 2 * sd, 15)]

    def compared(self, others: Mapping[str, Effect], name: str = "this", ax: Axes | None = None) -> Axes:
        """Draw this effect above others of the same question, such as those of other engines or priors.

        Parameters
        ----------
        others
            ``{name: effect}``.
        name
            Of this effect.
        ax
            Matplotlib axes to draw on; by default a new figure.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effects = {
        ...     engine: ad.fit(study.table, study.graph, engine=engine, rng=0).effect("smoking", "risk")
        ...     for engine in ("exact", "k2", "full")
        ... }
        >>> ax = effects.pop("exact").plots.compared(effects, name="exact")
        >>> [text.get_text() for text in ax.get_yticklabels()]
        ['exact', 'k2', 'full']
        """
        from alldags.show.plots.forest import ForestRow, plot_forest

        named = {name: self.effect, **others}
        for label, other in others.items():
            if (other.treatment, other.outcome) != (self.effect.treatment, self.effect.outcome):
                raise AlldagsError(
                    f"{label!r} is the effect of {other.treatment!r} on {other.outcome!r}, not of "
                    f"{self.effect.treatment!r} on {self.effect.outcome!r}; compare effects of the same question"
                )
        rows = [ForestRow(label, effect.mean, *effect.interval(), no_effect(effect)) for label, effect in named.items()]
        return plot_forest(rows, f"effect of {self.effect.treatment} on {self.effect.outcome}", ax=ax)


def no_effect(effect: Effect) -> float | None:
    """Return the probability of no effect; one that was sampled is not known to be 0."""
    found = effect.probability_no_effect
    return max(found, 1e-9) if found is not None and effect.probability.no_effect_error else found


@dataclass(frozen=True, eq=False)
class PosteriorPlots:
    """Pictures of a posterior; obtained as `Posterior.plots`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> ax = ad.fit(study.table, study.graph, terms=None, rng=0).plots.effects_on("risk")
    >>> ax.get_xlabel()
    'total effect on risk'
    """

    posterior: Posterior

    def effects_on(self, outcome: str, level: float = 0.95, link: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the effects of all that may act on `outcome`, as a forest."""
        from alldags.show.plots.forest import ForestRow, plot_forest

        table = self.posterior.effects_on(outcome, level=level, link=link)
        rows = [
            ForestRow(row["treatment"], row["mean"], row["low"], row["high"], row["probability_no_effect"])
            for row in table.rows()
        ]
        return plot_forest(rows, f"total effect on {outcome}", level, ax)

    def edges(self, ax: Axes | None = None) -> Axes:
        """Draw the probability of every candidate edge as a map, row = cause, column = effect."""
        from alldags.show.plots.heat import plot_heat

        table = self.posterior.edge_probabilities()
        name = "posterior" if "posterior" in table.columns else "shrinkage"
        order = self.posterior.workings.models.heaviest.graph.order
        place = {variable: i for i, variable in enumerate(order)}
        matrix = np.full((len(order), len(order)), np.nan)
        for row in table.rows():
            matrix[place[row["cause"]], place[row["effect"]]] = row[name]
        return plot_heat(order, matrix, "posterior probability" if name == "posterior" else "share that survives", ax)

    def prior(self, limit: int = 25, ax: Axes | None = None) -> Axes:
        """Draw each edge's probability before and after the data, those that moved most on top."""
        from alldags.show.plots.beliefs import plot_beliefs

        return plot_beliefs(self.posterior.edge_probabilities(), checks.whole("limit", limit, least=1), ax)

    def traces(self, child: str, limit: int = 4, ax: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw the chains of a sampled regression: batch means of its largest coefficients, one line a chain."""
        from alldags.show.plots.traces import plot_traces

        limit = checks.whole("limit", limit, least=1)
        node = self.posterior.workings.models.heaviest.node(child)
        trace = getattr(node.diagnostics, "trace", None)
        if trace is None or not trace.size:
            raise AlldagsError(
                f"the regression of {child!r} was computed by {node.diagnostics.engine!r} and has no chains to draw; "
                f"chains come from {option('engine', 'mcmc')}"
            )
        data = self.posterior.workings.data
        places = node.places if isinstance(node, ParentsPosterior) else np.arange(len(node.parents))  # those of numbers
        names = [name for name in node.parents if name not in data.categories]
        units = np.array([data.unit(parent, child) for parent in names])
        means = trace[:, :, places] * units
        largest = np.argsort(-np.abs(means.mean(axis=(0, 1))), kind="stable")[:limit]
        return plot_traces([names[i] for i in largest], means[:, :, largest], child, ax)
