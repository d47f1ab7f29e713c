"""`CurvedEffect`: the posterior of an effect that differs between rows, or bends with the treatment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks
from alldags.data.levels import with_levels
from alldags.data.source import Source, open_source
from alldags.effects.comparison import Comparison, chosen_rows, some_levels
from alldags.effects.curves import DirectCurves
from alldags.effects.link_check import LinkCheck
from alldags.effects.new_unit import OutcomeDraws
from alldags.effects.pushed_curves import PushedCurves
from alldags.effects.span import Span
from alldags.errors import AlldagsError, DataError
from alldags.memory import check_memory
from alldags.models.terms.columns import RowValues
from alldags.models.terms.fit import fit_term_node
from alldags.models.terms.make import Rows
from alldags.models.terms.node import TermNode, TermSpec
from alldags.results.contrast import Contrast, contrast_of_rows
from alldags.results.curved_notes import curved_notes
from alldags.results.curved_tables import influence_of_terms
from alldags.results.data_notes import range_note
from alldags.results.effect import Effect
from alldags.results.intervention import Intervention
from alldags.results.quantity import Quantity
from alldags.results.sample import AtomicSample
from alldags.results.summarize import computed_line
from alldags.results.treatment_values import treatment_value, treatment_values
from alldags.show.summary import Adjustment, Explained
from alldags.show.table import Table
from alldags.typing import FloatArray, RandomSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.effects.direct import DirectEffect
    from alldags.results.posterior import Posterior
    from alldags.results.sensitivity import Sensitivity

_DRAWS = 4000  # behind intervals, where they cost nothing
_PUSHED_DRAWS = 600  # and where every row is pushed
_ROW_VALUES = 4_000_000  # rows times draws behind the effects of single rows
_LINES = "effects that bend are no products along paths; fit without terms for the straight lines' answer"


class CurvedEffect(Effect):
    """Posterior of an effect averaged over rows, where regressions on the way may bend and effects may differ.

    What `Posterior.effect` returns if the outcome, or a variable on the way to it, was given `Terms`. A treatment with
    two values is set to the higher and to the lower in every row; any other is raised by one unit from each row's own
    value, unless `between` says otherwise.

    Parameters
    ----------
    posterior, treatment, outcome
        As for `Effect`.
    over
        Rows to average over: ``"sample"``, ``"population"`` (adds that the rows are a sample), ``"treated"``,
        ``"untreated"``, or one truth value per row.
    comparison
        Two values of the treatment; None for the natural ones.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> age, treated = rng.uniform(20, 80, 400), rng.integers(0, 2, 400)
    >>> score = 0.01 * (age - 50) ** 2 + treated * (1 + 0.1 * (age - 50)) + rng.standard_normal(400)
    >>> graph = ad.CandidateGraph.from_edges({("age", "score"): 0.5, ("treated", "score"): 0.5})
    >>> table = {"age": age, "treated": treated, "score": score}
    >>> effect = ad.fit(table, graph, terms="auto", rng=0).effect("treated", "score")
    >>> bool(abs(effect.mean - 1 - 0.1 * (age.mean() - 50)) < 0.3)
    True
    >>> bool(effect.modifiers()["probability_modifies"][0] > 0.99)
    True
    """

    def __init__(
        self,
        posterior: Posterior,
        treatment: str,
        outcome: str,
        over: Any = "sample",
        comparison: Comparison | None = None,
    ) -> None:
        self._ignore_hidden = False
        self.posterior = posterior
        self.treatment = treatment
        self.outcome = outcome
        self.clusters = None
        self._over = over
        curved = posterior._data.curved
        assert curved is not None
        self._chosen = chosen_rows(over, treatment, curved.table)
        self._levels = some_levels(curved.table, treatment)
        self._comparison = self._checked(comparison) if comparison is not None else self._two_levels()

    def _two_levels(self) -> Comparison:
        """Return the comparison that needs no saying."""
        if len(self._levels) == 2:
            return Comparison(float(self._levels[0]), float(self._levels[1]))
        return Comparison()

    def _checked(self, comparison: Comparison) -> Comparison:
        outside = [x for x in comparison.values or () if len(self._levels) == 2 and x not in self._levels]
        if outside:
            levels = " and ".join(f"{x:g}" for x in self._levels)
            raise AlldagsError(
                f"{self.treatment!r} has the values {levels}; nothing shows what {outside[0]:g} would do"
            )
        return comparison

    measure = "mean"
    has_paths = False
    _has_mediators = False

    @property
    def has_influence(self) -> bool:  # type: ignore[override]
        """Whether `edge_influence` can be asked: not where rows are pushed through several regressions."""
        return isinstance(self._curves, DirectCurves)

    # -- the regressions -----------------------------------------------------------------------------------------------

    @cached_property
    def _span(self) -> Span:
        return Span.between(self.posterior.graphs[0], self.treatment, self.outcome)

    @cached_property
    def nodes(self) -> dict[str, TermNode]:
        """The regressions on the way, causes first, the outcome's last."""
        return {name: self.posterior._term_node(self.treatment, name) for name in self._span.reached}

    @cached_property
    def _curves(self) -> DirectCurves | PushedCurves:
        population = self.over == "population"
        if len(self._span.reached) == 1:
            return DirectCurves(self.nodes[self.outcome], self.treatment, self._chosen, population, self._comparison)
        seed = int(self.posterior._stream().integers(2**31))
        return PushedCurves(self.nodes, self.treatment, self._chosen, population, self._comparison, seed)

    @property
    def structures(self) -> dict[str, float]:
        """Posterior probability of each structure of effect modification in the outcome's regression."""
        node = self.nodes[self.outcome]
        return {fit.structure.name: float(w) for w, fit in zip(node.shares, node.plain, strict=True)}

    # -- moments -------------------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> float:
        return self._curves.mean

    @property
    def _plain_mean(self) -> float:
        return self.mean

    @cached_property
    def mean_error(self) -> float:
        return self._curves.mean_error

    @cached_property
    def mean_bound(self) -> float:
        return 0.0

    @cached_property
    def sd(self) -> float:
        return float(self._values.std(ddof=1))

    @property
    def _plain_sd(self) -> float:
        return self.sd

    @cached_property
    def sd_structure(self) -> float | None:
        """The part of `sd` that comes from not knowing which terms there are; None where rows are pushed."""
        if not isinstance(self._curves, DirectCurves):
            return None
        return min(math.sqrt(self._curves.structure_variance), self.sd)

    @property
    def sd_direction(self) -> float | None:
        """0: every direction is known."""
        return None

    @property
    def sd_missing(self) -> float | None:
        return None

    @property
    def _has_structure(self) -> bool:
        return True

    # -- draws ---------------------------------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        return _DRAWS if isinstance(self._curves, DirectCurves) else _PUSHED_DRAWS

    @cached_property
    def _values(self) -> FloatArray:
        return self._curves.draws(self._size, self.posterior._stream())

    def draws(self, size: int = 4000, rng: RandomSource = None) -> FloatArray:
        """Return draws of the effect from the posterior, shape (size,); exact zeros where the treatment is no cause."""
        size = checks.whole("size", size, least=1)
        if rng is None and size == self._size:
            return self._values
        return self._curves.draws(size, self.posterior._stream() if rng is None else np.random.default_rng(rng))

    @cached_property
    def sample(self) -> AtomicSample:
        exact = self._exact_no_path
        atom = float(np.mean(self._values == 0.0)) if exact is None else exact
        return AtomicSample(self._values, atom, self._set_draws)

    @cached_property
    def _exact_no_path(self) -> float | None:
        if len(self._span.reached) != 1:
            return None
        return 1.0 - self.nodes[self.outcome].edge_probability(self.treatment)

    @cached_property
    def _set_draws(self) -> float:
        return math.inf

    @cached_property
    def _atom_draws(self) -> float:
        return math.inf if self._exact_no_path is not None else float(self._size)

    # -- rows, curves --------------------------------------------------------------------------------------------------

    def by(self, rows: Any = None, level: float = 0.95, rng: RandomSource = None) -> Table:
        """Return the effect of each of some rows: mean, sd and interval.

        Parameters
        ----------
        rows
            A table with the outcome's causes that the treatment cannot act on; None for the rows of the fit.
        level
            Probability that each interval holds.
        rng
            Seed of the draws behind intervals.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(1)
        >>> age, treated = rng.uniform(20, 80, 300), rng.integers(0, 2, 300)
        >>> table = {"age": age, "treated": treated, "score": treated * 0.1 * age + rng.standard_normal(300)}
        >>> graph = ad.CandidateGraph.from_edges({("age", "score"): 0.5, ("treated", "score"): 0.5})
        >>> effect = ad.fit(table, graph, terms="auto", rng=0).effect("treated", "score")
        >>> [round(x) for x in effect.by({"age": [30.0, 70.0]})["mean"]]
        [3, 7]
        """
        self._check_level(level)
        given = self._given(self._fitted_rows() if rows is None else rows)
        size = int(np.clip(_ROW_VALUES // max(given.count, 1), 200, 2000))
        generator = self.posterior._stream() if rng is None else np.random.default_rng(rng)
        mean, drawn = self._curves.of_rows(given, size, generator)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        sd = drawn.std(axis=0, ddof=1)
        names = ("mean", "sd", "low", "high")
        return Table({name: values.tolist() for name, values in zip(names, (mean, sd, low, high), strict=True)})

    def _fitted_rows(self) -> dict[str, FloatArray]:
        """Return the rows of the fit."""
        curved = self.posterior._data.curved
        assert curved is not None
        return {name: curved.table.column(name) for name in self.posterior.variables}

    def _given(self, rows: Any) -> RowValues:
        """Return given rows with the columns that are needed."""
        needed = {name for node in self.nodes.values() for name in node.spec.causes} - set(self._span.reached)
        binary = len(self._levels) == 2
        needed -= {self.treatment} if binary else set()
        names = sorted(needed)
        source = self._coded(open_source(rows), names)
        missing = [name for name in names if isinstance(rows, Mapping) and name not in rows]
        if missing:
            lacking = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            raise DataError(f"rows need the column{'s' * (len(names) > 1)} {', '.join(names)}; {lacking}")
        columns = source.numbers(names)
        values = {
            name: np.asarray(column, dtype=float)
            for name, column in zip(names, columns.read(0, columns.rows), strict=True)
        }
        for name, column in values.items():
            if np.isnan(column).any():
                raise DataError(f"column {name!r} of the rows has missing values; leave those rows out")
        count = columns.rows
        middle = {name: np.zeros(count) for name in (*self._span.reached, *((self.treatment,) if binary else ()))}
        return RowValues({**middle, **values})

    def _coded(self, source: Source, names: Sequence[str]) -> Source:
        """Return given rows with words as numbers, as they were in the fit."""
        seen = self.posterior._data.seen
        levels = {} if seen is None else {name: seen.levels[name] for name in names if name in seen.levels}
        return with_levels(source, levels)

    def modifiers(self) -> Table:
        """Return, for each covariate of the outcome's regression, the probability that the effect differs with it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms="auto", rng=0).effect("tar", "risk")
        >>> list(effect.modifiers().columns)
        ['covariate', 'probability_modifies']
        """
        curves = self._direct("modifiers()")
        names = [name for name in curves.node.spec.causes if name != self.treatment]
        found = sorted(((name, curves.modification(name)) for name in names), key=lambda pair: -pair[1])
        return Table({"covariate": [name for name, _ in found], "probability_modifies": [p for _, p in found]})

    def _direct(self, name: str) -> DirectCurves:
        if not isinstance(self._curves, DirectCurves):
            between = ", ".join(self._span.reached[:-1])
            raise AlldagsError(
                f"{name} needs an effect that is not by way of other variables ({between}); see by(rows) for how it "
                "differs between rows, or fit without terms"
            )
        return self._curves

    def curve(self, values: Sequence[float | str], level: float = 0.95) -> Table:
        """Return the mean outcome over the rows with the treatment set to each of some values: a dose-response curve.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> dose = rng.uniform(0, 4, 500)
        >>> table = {"dose": dose, "answer": np.minimum(dose, 2.0) + 0.1 * rng.standard_normal(500)}
        >>> graph = ad.CandidateGraph.from_edges({("dose", "answer"): 1.0})
        >>> effect = ad.fit(table, graph, terms={"answer": ad.Terms()}, rng=0).effect("dose", "answer")
        >>> [round(x, 1) for x in effect.curve([0.5, 1.5, 3.5])["mean"]]
        [0.5, 1.5, 2.0]
        """
        self._check_level(level)
        points = treatment_values(self, values)
        for x in points:
            self._checked(Comparison(x, x))
        found = [self._level(x, self._size) for x in points]
        ends = [item.interval(level) for item in found]
        return Table(
            {
                self.treatment: points,
                "mean": [item.mean for item in found],
                "sd": [item.sd for item in found],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
            }
        )

    def _level(self, x: float, size: int, notes: tuple[str, ...] = ()) -> Quantity:
        """Return the mean outcome over the rows when the treatment is set to `x`."""
        draws = self._curves.level(x, size, self.posterior._stream())
        mean = self._curves.level_mean(x)
        return Quantity(draws, notes, (mean, float(draws.std(ddof=1)) if size > 1 else 0.0))

    def do(self, x: float | str, draws_size: int | None = None) -> Intervention:
        """Return what the outcome would be if the treatment were set to `x`.

        The mean over the rows is that of `curve`; a new unit is like a random one of the rows, with new noise.
        """
        value = treatment_value(self, x)
        self._checked(Comparison(value, value))
        size = self._size if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        columns = max(len(node.columns) for node in self.nodes.values())
        check_memory(float(size) * (2 * columns + 8), f"{size:,} draws", "ask for fewer at a time")
        notes = range_note(self.posterior._data.seen, self.treatment, [value])
        average, unit = partial(self._level, value, size, notes), partial(self._new_unit, value, size, notes)
        return Intervention(self.treatment, self.outcome, value, self.over, average, unit, notes)

    def _new_unit(self, x: float, size: int, notes: tuple[str, ...]) -> OutcomeDraws:
        return OutcomeDraws(x, self._curves.new_unit(x, size, self.posterior._stream()), notes)

    def between(self, low: float | str, high: float | str) -> CurvedEffect:
        """Return the effect of changing the treatment from `low` to `high` in every row."""
        found = Comparison(*treatment_values(self, [low, high]))
        return CurvedEffect(self.posterior, self.treatment, self.outcome, self._over, found)

    def contrast(self, start: float | str, stop: float | str, level: float = 0.95) -> Contrast:
        """Return what changing the treatment from `start` to `stop` in every row does to the mean outcome."""
        return contrast_of_rows(self.between(start, stop), treatment_values(self, [start, stop]), level)

    # -- what straight lines have and curves have not ------------------------------------------------------------------

    def standardized(self, level: float = 0.95) -> Contrast:
        """Refused: a bent line has no one slope per standard deviation."""
        del level
        raise AlldagsError("an effect that bends has no one size per standard deviation; use contrast(start, stop)")

    @property
    def direct(self) -> DirectEffect:
        """Refused: see `paths`."""
        raise AlldagsError(_LINES)

    def paths(self, limit: int = 50) -> Table:
        """Refused: effects that bend are no products along paths."""
        del limit
        raise AlldagsError(_LINES)

    def mediators(self) -> Table:
        """Refused: effects that bend are no products along paths."""
        raise AlldagsError(_LINES)

    def edge_influence(self) -> Table:
        """Return what knowing each uncertain edge into the outcome would do to the answer, most informative first."""
        return influence_of_terms(self._direct("edge_influence()"), self.mean, self.sd, self.posterior._stream())

    def sensitivity(self, hits: Iterable[str] | None = None, draws: int = 20_000) -> Sensitivity:
        """Refused: what a hidden cause does to a curve is not worked out yet."""
        del hits, draws
        raise AlldagsError("sensitivity to a hidden cause is about straight lines; fit without terms to ask for it")

    # -- showing -------------------------------------------------------------------------------------------------------

    @cached_property
    def straight_line(self) -> Effect:
        """The answer with straight lines, as without terms."""
        return Effect(self.posterior, self.treatment, self.outcome, over=self._over)

    @cached_property
    def link_check(self) -> LinkCheck:
        node = self.nodes[self.outcome]
        if not isinstance(self._curves, DirectCurves):
            return LinkCheck(self.mean, self.mean, 0.0, ())
        plain = [
            question.offset + float(fit.mean @ question.weights)
            for fit, question in zip(node.plain, self._curves.questions, strict=False)
        ]
        without = (1.0 - node.no_effect) * node.unit * float(node.shares @ np.array(plain))
        return LinkCheck(self.mean, without, (self.mean - without) / self.sd if self.sd > 0 else 0.0, ())

    @cached_property
    def notes(self) -> tuple[str, ...]:
        return curved_notes(self)

    @property
    def converged(self) -> bool:
        return all(node.converged for node in self.nodes.values())

    @property
    def engines_used(self) -> dict[str, str]:
        return {name: node.engines[0] for name, node in self.nodes.items()}

    def _summary_fields(self, level: float) -> dict[str, Any]:
        del level
        contrast = self._comparison.values
        low, high = contrast or (None, None)
        node = self.nodes[self.outcome]
        inside = {self.treatment, *self._span.reached}
        adjusted = [
            Adjustment(name, node.edge_probability(name), 0.0) for name in node.spec.causes if name not in inside
        ]
        return {
            "contrast": contrast,
            "over": self.over,
            "levels": None if low is None or high is None else tuple(map(self._curves.level_mean, (low, high))),
            "hidden": None,
            "sd_direction": None,
            "computed": computed_line(self.engines_used.values()),
            "mean_straight_line": self.straight_line.mean,
            "adjusted": tuple(sorted(adjusted, key=lambda item: -item.probability)),
            "explained": tuple(Explained(name, self._r2(item)) for name, item in self.nodes.items()),
        }

    @staticmethod
    def _r2(node: TermNode) -> float:
        rows = node.moments.rows
        noise = sum(
            weight * fit.node.noise_variance * float(rows @ np.array([1.0, fit.ratio])[: len(rows)]) / rows.sum()
            for weight, fit in zip(node.weights, node.fits, strict=True)
        )
        return float(1.0 - noise)

    def plot_rows(self, covariate: str, rows: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the effect of some rows, by default those of the fit, against a covariate, with its interval."""
        from alldags.show.plots.curves import plot_by_covariate

        if not isinstance(covariate, str):
            raise AlldagsError(f"plot_rows takes the name of a covariate, then rows; got {type(covariate).__name__}")
        rows = self._fitted_rows() if rows is None else rows
        table = self.by(rows)
        values = open_source(rows).numbers([covariate])
        x = np.asarray(values.read(0, values.rows)[0], dtype=float)
        return plot_by_covariate(x, table, covariate, self.treatment, self.outcome, ax)

    def plot_curve(self, values: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean outcome over the rows against the value the treatment is set to."""
        from alldags.show.plots.curves import plot_curve

        points = list(values) if values is not None else self._even_values()
        return plot_curve(self.curve(points), self.treatment, self.outcome, ax)

    def _even_values(self) -> list[float]:
        """Return values of the treatment for a picture: its two, or evenly spread ones inside its range."""
        if len(self._levels) == 2:
            return [float(x) for x in self._levels]
        curved = self.posterior._data.curved
        assert curved is not None
        low, high = np.quantile(curved.table.column(self.treatment), [0.01, 0.99]).tolist()
        return [float(x) for x in np.linspace(low, high, 25)]


def term_node(posterior: Posterior, treatment: str | None, child: str) -> TermNode:
    """Return the regression of a child on derived columns, for questions about one treatment."""
    model = posterior._models.items[0]
    curved = model.data.curved
    assert curved is not None
    graph = model.graph
    causes = {name: graph.edges[name, child] for name in graph.parents(child)}
    stream = posterior._store.stream(child)
    after = frozenset(graph.descendants(treatment)) if treatment is not None else frozenset()
    seed = tuple(int(x) for x in stream.integers(2**31, size=2))
    names = tuple(dict.fromkeys((*graph.variables,)))
    spec = TermSpec(
        child=child,
        terms=curved.terms.get(child, ()),
        causes=causes,
        treatment=treatment,
        after=after,
        rows=Rows(curved.table, names, seed),
        prior=model.prior,
    )
    return fit_term_node(spec, stream)
