"""`Posterior.do`: the outcome where any variables are set, by value, shift or rule; and differences of outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import meetings
from alldags.answers.choose import rows_at_hand
from alldags.answers.closed import ClosedAnswer
from alldags.answers.over import is_word, over_rows, query_mask
from alldags.answers.predicted import predictions
from alldags.answers.question import Question
from alldags.answers.rows_given import OtherRows
from alldags.answers.scenario import Scenario, ScenarioAnswer
from alldags.answers.scenario_units import scenario_unit
from alldags.answers.settings import Ruled, Set
from alldags.answers.treatment_values import value_of
from alldags.answers.world import Shift
from alldags.assumptions.data_notes import range_note
from alldags.assumptions.target_notes import target_notes
from alldags.effects.intervention import Intervention
from alldags.effects.new_unit import Done, NewUnit
from alldags.effects.quantity import Difference, Quantity
from alldags.errors import AlldagsError
from alldags.graph.edges import find_cycle
from alldags.graph.hidden import pair_with
from alldags.models.capabilities import data_asks
from alldags.models.categories import category_outcome
from alldags.models.mixture import shuffled
from alldags.notes import Note
from alldags.show.table import Table
from alldags.steps import at
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior


_NUMBERS = count(1)


def intervention_on(
    posterior: Posterior, given: Sequence[Mapping[str, Any] | Set], outcome: str, over: Any, size: int | None
) -> Intervention:
    """Return what the outcome would be if variables were set."""
    scenario = scenario_of(posterior, given, outcome, over)
    if len(scenario.given) == 1 and not isinstance(scenario.given[0].to, Shift | Ruled):
        (one,) = scenario.given
        effect = posterior.effect(one.variable, outcome, scenario.over)
        return effect.do(one.to, size)
    asked = Asked(posterior, (scenario,), size)
    names, words, notes = ", ".join(scenario.variables), Done(scenario.words), asked.notes
    average, unit = partial(asked.quantity, (1.0,)), partial(asked.new_unit, notes)
    minus = partial(difference, posterior)
    return Intervention(names, outcome, words, over_words(scenario), average, unit, notes, scenario, minus)


def with_minus(found: Intervention, posterior: Posterior, given: Set, over: Any) -> Intervention:
    """Return what `Effect.do` found, to be compared with others."""
    scenario = Scenario((given,), found.outcome, over)
    return replace(found, scenario=scenario, _minus=partial(difference, posterior))


def target_notes_of(effect: Effect) -> tuple[Note, ...]:
    """Return what a reader should know of the rows of another table that an effect is over."""
    over = effect.answer.question.over
    levels = effect.posterior.workings.data.levels
    value: Any = levels[effect.treatment].words[0] if effect.treatment in levels else 0.0
    answer = ScenarioAnswer(effect.posterior, [Scenario((Set(effect.treatment, value),), effect.outcome, over)])
    return target_notes(effect.posterior.workings, over, answer.covariates)


def difference(posterior: Posterior, one: Intervention, other: Intervention) -> Difference:
    """Return the difference of the mean outcomes of two interventions, from the same draws."""
    pair = one.scenario, other.scenario
    if not all(isinstance(item, Scenario) for item in pair):
        raise AlldagsError("minus() takes what do() returns, of the same posterior")
    a, b = pair
    if a.outcome != b.outcome:
        raise AlldagsError(f"minus() compares mean outcomes of one variable, not of {a.outcome!r} and {b.outcome!r}")
    if a.over is not b.over and not (isinstance(a.over, str) and a.over == b.over):
        raise AlldagsError("minus() compares mean outcomes over the same rows: ask both with the same over=")
    asked = Asked(posterior, (a, b), None)
    return asked.difference


def over_words(scenario: Scenario) -> str:
    """Return over which rows the mean is, in words."""
    return Question("", scenario.outcome, over=scenario.over).over_words


# -- what was asked ----------------------------------------------------------------------------------------------------


def scenario_of(
    posterior: Posterior, given: Sequence[Mapping[str, Any] | Set], outcome: str, over: Any = "sample"
) -> Scenario:
    """Return what is set, checked: variables of the graph, each once, and not the outcome."""
    listed = [one for item in given for one in _listed(item)]
    data, beside = posterior.workings.data, dict[str, FloatArray]()
    for name in (*(one.variable for one in listed), outcome):
        posterior.check_known(name, "outcome" if name == outcome else "variable")
        posterior.check_present(name)
    if outcome in data.categories and outcome not in data.families:
        raise category_outcome(outcome, len(data.categories[outcome]) + 1)
    for one in listed:
        if one.variable == outcome:
            raise AlldagsError(f"{outcome!r} is the outcome and cannot be set at the same time; leave one out")
        if sum(other.variable == one.variable for other in listed) > 1:
            raise AlldagsError(f"{one.variable!r} is set twice; say once what it is set to")
    rows = _over(posterior, over, listed)
    found = tuple(_with_column(posterior, one, beside, rows) for one in listed)
    scenario = Scenario(found, outcome, rows, beside)
    _check_rules(posterior, scenario)
    return scenario


def _listed(item: Mapping[str, Any] | Set) -> list[Set]:
    if isinstance(item, Set):
        return [item]
    if isinstance(item, Mapping):
        return [Set(name, to) if not isinstance(to, Set) else _renamed(name, to) for name, to in item.items()]
    raise AlldagsError(
        "do() takes what is set, such as {'dose': 10}, ad.shift('dose', 10) or ad.rule('dose', function), got "
        f"{item!r}"
    )


def _renamed(name: str, to: Set) -> Set:
    if to.variable != name:
        raise AlldagsError(f"{name!r} is set by what was made for {to.variable!r}; give it by itself, without a name")
    return to


def _over(posterior: Posterior, over: Any, given: Sequence[Set]) -> Any:
    workings, found = posterior.workings, over_rows(over)
    if isinstance(found, str) and found in ("treated", "untreated") and len(given) != 1:
        raise AlldagsError(
            f"over={found!r} needs one treatment, and {len(given)} variables are set; give one truth value per row, or "
            'a condition such as over="dose == 1"'
        )
    if isinstance(found, str) and not is_word(found):
        return query_mask(found, rows_at_hand(workings), workings.data)
    asks = {"other rows": ()} if isinstance(found, OtherRows) else {}
    if isinstance(found, str) and found == "population":
        asks = {"population": ()}
    meetings.check({**asks, **data_asks(workings.data)})
    if not isinstance(found, str | OtherRows):
        _check_over_time(posterior, "values by number", ())
        Question(given[0].variable if given else "", "", over=found).chosen(rows_at_hand(workings))
    return found


def _with_column(posterior: Posterior, one: Set, beside: dict[str, FloatArray], over: Any) -> Set:
    """Return what is set with values of each row put into a column beside the rows."""
    data = posterior.workings.data
    if not isinstance(one.to, Ruled) or callable(one.to.by):
        return one
    by = one.to.by
    if isinstance(by, str) and by in posterior.variables:
        return one
    if isinstance(over, OtherRows):
        raise AlldagsError(f"values of {one.variable!r} for each row need the rows of the fit; give a function of rows")
    if not isinstance(by, str):
        _check_over_time(posterior, "values by number", ())
    values = _column_outside(posterior, by) if isinstance(by, str) else np.asarray(by)
    rows = rows_at_hand(posterior.workings).count
    if values.shape != (rows,):
        raise AlldagsError(
            f"the values of {one.variable!r} have shape {values.shape}; give one for each of {rows} rows"
        )
    if values.dtype.kind in "OUSb":
        values = np.array([value_of(data, one.variable, x, f"a value of {one.variable!r}") for x in values.tolist()])
    name = f"values of {one.variable}, {next(_NUMBERS)}"  # two scenarios may have two rules of one variable
    beside[name] = np.asarray(values, dtype=float)
    if one.variable in data.categories or not np.isfinite(beside[name]).all():
        raise AlldagsError(f"{one.variable!r} is set to a value for each row that is no finite number")
    return Set(one.variable, Ruled(name, one.to.words))


def _column_outside(posterior: Posterior, name: str) -> FloatArray:
    """Return a column of the table that is not in the graph, shape (rows,)."""
    table = posterior.workings.table
    source = None if table is None else table.source()
    if source is None or name not in source.columns:
        raise AlldagsError(f"there is no variable or column {name!r} to set a variable by")
    columns = source.numbers([name])
    return np.asarray(columns.read(0, columns.rows)[0], dtype=float)


def _check_rules(posterior: Posterior, scenario: Scenario) -> None:
    """Refuse rules that need to know what follows from them."""
    answer = ScenarioAnswer(posterior, [scenario])
    (world,) = answer.worlds
    past = {name for setting in world.settings.values() for name in setting.reads if at(name).lag}
    if past:
        _check_over_time(posterior, "rules of the past", sorted(past))
    for graph in posterior.graphs:
        for name, setting in world.settings.items():
            below = set(setting.reads) & graph.descendants(name)
            if below:
                first = sorted(below)[0]
                raise AlldagsError(
                    f"the rule of {name!r} reads {first!r}, which {name!r} may act on; a rule can only read what comes "
                    "before it"
                )
        kept = {edge: 1.0 for edge in graph.edges if edge[1] not in world.settings}
        read = {(cause, name): 1.0 for name, setting in world.settings.items() for cause in setting.reads}
        blocks = {name for block in graph.blocks for name in block}
        edges = {edge: 1.0 for edge in {**kept, **read} if not set(edge) <= blocks}
        if cycle := find_cycle(graph.variables, edges):
            raise AlldagsError(f"rules go in a circle: {' -> '.join(cycle)}; let one of them read less")


def _check_over_time(posterior: Posterior, name: str, names: Sequence[str]) -> None:
    """Refuse what does not go with rows that follow each other."""
    if posterior.workings.over_time:
        meetings.check({"time": (), name: tuple(names)})


# -- answers -----------------------------------------------------------------------------------------------------------


class Asked:
    """Mean outcomes in one or several scenarios.

    Parameters
    ----------
    posterior
        What is asked.
    scenarios
        One, or those that are compared.
    size
        Number of draws; None for as many as are cheap.
    """

    def __init__(self, posterior: Posterior, scenarios: tuple[Scenario, ...], size: int | None) -> None:
        self.posterior, self.scenarios, self._size = posterior, scenarios, size
        self.answer = ScenarioAnswer(posterior, scenarios, size)
        if self._line is None:
            self.answer.check()

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know: values outside those that were observed, rows unlike those of the fit."""
        data, values = self.posterior.workings.data, dict[str, list[float]]()
        for one in (one for scenario in self.scenarios for one in scenario.given):
            if not isinstance(one.to, Shift | Ruled) and one.variable not in data.categories:
                value = value_of(data, one.variable, one.to, f"the value of {one.variable!r}")
                values.setdefault(one.variable, []).append(value)
        found = [note for name, set_to in values.items() for note in range_note(data.seen, name, set_to)]
        over = self.scenarios[0].over
        if isinstance(over, OtherRows):
            found += target_notes(self.posterior.workings, over, self.answer.covariates)
        return tuple(found)

    @cached_property
    def _line(self) -> Effect | None:
        """The effect of one unit, where one number alone is set and all is straight: all is known of it then."""
        answer, workings = self.answer, self.posterior.workings
        numbers = [name for name in answer.variables if name not in workings.data.categories]
        if len(answer.variables) != 1 or not numbers or workings.models.weights.tables > 1:
            return None
        if not isinstance(answer.over, str) or answer.over not in ("sample", "population"):
            return None
        if answer.over == "population" and any(isinstance(s.to, Ruled) for one in self.scenarios for s in one.given):
            return None
        if any(model.data.own for model in workings.models.items):
            return None
        self.posterior.effect(answer.variables[0], answer.outcome)  # refuses what lies between
        effect = self.posterior.asked(Question(answer.variables[0], answer.outcome))
        return effect if isinstance(effect.answer, ClosedAnswer) else None

    def quantity(self, weights: tuple[float, ...]) -> Quantity:
        """Return a combination of the mean outcomes."""
        if self._line is not None:
            return self._straight(self._line, weights)
        answer = self.answer
        draws, exact = answer.draws(weights), answer.moments(weights)
        stretch = answer.stretch(weights)
        if exact is not None and stretch is not None:
            exact = exact[0], exact[1] * (float(draws.std()) / max(self._plain_sd(weights), 1e-300))
        draws = self._with_chance(draws, weights)
        return Quantity(self._inside(draws, weights), self.notes, exact)

    def plain(self) -> FloatArray:
        """Return draws of the mean outcomes before they are widened, shape (scenarios, draws); aligned with others."""
        if self._line is not None:
            return np.array([self.quantity(tuple(one)).draws for one in np.eye(len(self.scenarios)).tolist()])
        return shuffled([piece.levels for piece in self.answer.pieces], self.posterior.workings.stream())

    def _plain_sd(self, weights: tuple[float, ...]) -> float:
        by = np.asarray(weights)
        return float(np.concatenate([by @ piece.levels for piece in self.answer.pieces]).std())

    def _with_chance(self, draws: FloatArray, weights: tuple[float, ...]) -> FloatArray:
        """Return draws with the chance by which a population has these rows."""
        if not (isinstance(self.answer.over, str) and self.answer.over == "population"):
            return draws
        return np.asarray(np.where(draws == 0.0, 0.0, draws + np.asarray(weights) @ self.answer.chance_of_rows))

    def _inside(self, draws: FloatArray, weights: tuple[float, ...]) -> FloatArray:
        """Return draws of a probability or a mean count where there are such."""
        family = self.posterior.workings.data.families.get(self.answer.outcome)
        if family is None or sum(weights) != 1.0:
            return draws
        return np.clip(draws, 0.0, 1.0 if family.measure == "risk" else math.inf)

    def _straight(self, effect: Effect, weights: tuple[float, ...]) -> Quantity:
        means = self.answer.lines.means(self.answer.models.items[0])
        moves = np.nan_to_num(means.to[:, 0] - means.own[0])
        move, base = float(np.asarray(weights) @ moves), sum(weights) * means.outcome
        draws = base + move * effect.draws(effect.answer.size if self._size is None else self._size)
        sd = abs(move) * effect.sd if move else 0.0
        if self.answer.over == "population" and sum(weights):
            data = self.posterior.workings.data
            chance = data.deviation(self.answer.outcome) / math.sqrt(data.rows + 1.0)
            draws = draws + chance * self.posterior.workings.stream().standard_normal(len(draws))
            sd = math.hypot(sd, chance)
        return Quantity(draws, self.notes, (base + (move * effect.mean if move else 0.0), sd))

    @property
    def difference(self) -> Difference:
        """The difference of two mean outcomes."""
        found = self.quantity((1.0, -1.0))
        if self._line is not None and found.sd > 0.0:
            none = self._line.probability_no_effect
        else:
            none = float(np.mean(found.draws == 0.0)) if self._has_structure else None
        return Difference(found.draws, found.notes, found.exact, none)

    @property
    def _has_structure(self) -> bool:
        models = self.answer.models.items
        return all(model.node(name).inclusion is not None for model in models for name in self.answer.moved(model))

    def new_unit(self, notes: tuple[Note, ...]) -> NewUnit:
        """Return the outcome of a unit like a random one of the rows."""
        return replace(scenario_unit(self.answer, Done(self.scenarios[0].words)), notes=notes)


def predicted(
    posterior: Posterior, rows: Any, outcome: str, given: Sequence[Mapping[str, Any] | Set], level: float
) -> Table:
    """Return the outcome of each of some new rows."""
    scenario = scenario_of(posterior, given, outcome, OtherRows.of(rows))
    answer = ScenarioAnswer(posterior, [scenario])
    answer.check()
    for model in answer.models.items:
        if pair := pair_with(model.graph.hidden, answer.moved(model)):
            meetings.check({"other rows": (), "correlated errors": pair})
    notes = target_notes(posterior.workings, scenario.over, answer.covariates)
    return replace(predictions(answer, level), note="; ".join(map(str, notes)))
