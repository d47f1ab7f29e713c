"""`ScenarioAnswer`: mean outcomes where any variables are set, in several scenarios with the same draws.

Where every node that is moved is normal and straight, and what is set does not depend on what was moved, the mean
outcome is that of the rows plus what follows from the mean moves of what is set: one row is pushed, and moments are
exact (`alldags.effects.changes`). All else is rows x draws in their worlds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from alldags import meetings
from alldags.answers.choose import rows_at_hand
from alldags.answers.held import HeldPosterior
from alldags.answers.joint import Joint, outside
from alldags.answers.new_rows import NewRows, needed_columns
from alldags.answers.new_worlds import NewWorlds
from alldags.answers.nodes import Samples, sample_nodes
from alldags.answers.paired import row_regressions
from alldags.answers.push import PushedRows
from alldags.answers.pushed import MOST_BENT_ROWS, MOST_ROWS
from alldags.answers.question import Question, Target
from alldags.answers.regressed import Regressed
from alldags.answers.response import rows_asked
from alldags.answers.robust import stretch_of_joints
from alldags.answers.rows_given import OtherRows
from alldags.answers.scenario_rows import Means, StraightRows
from alldags.answers.settings import Set, settings_of
from alldags.answers.world import World, check_arms, moved_nodes
from alldags.answers.worlds import Worlds, world_blocks
from alldags.effects.changes import joint_changes
from alldags.effects.jackknife import Stretch
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.models.capabilities import outcome_asks
from alldags.models.categories import category_between
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture, shuffled
from alldags.models.workings import Workings
from alldags.nodes.divided import parts_of
from alldags.typing import FloatArray

_CLOSED_DRAWS = 20_000
_VALUES = 1e7  # rows times draws behind intervals
_LEAST, _MOST, _MOST_BENT = 1000, 4000, 2000


@dataclass(frozen=True, eq=False)
class Scenario:
    """What is set, the outcome, and over which rows it is averaged.

    Parameters
    ----------
    given
        What is set; nothing: rows as they are.
    outcome
        Name.
    over
        As for `Question`.
    beside
        Values of each row that a rule was given, by the name of a column that they are put in.
    """

    given: tuple[Set, ...]
    outcome: str
    over: Any = "sample"
    beside: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """What is set."""
        return tuple(one.variable for one in self.given)

    @property
    def words(self) -> str:
        """As it is printed."""
        return ", ".join(one.words for one in self.given)


@dataclass(frozen=True, eq=False)
class Piece:
    """Draws of one model: outcomes of each scenario, shape (scenarios, draws), and the nodes that they come from.

    `spread` is the covariance over rows of what scenarios make of them, over the number of rows, shape (scenarios,
    scenarios, draws); empty unless rows are a sample of a population.
    """

    place: int
    levels: FloatArray
    spread: FloatArray
    samples: Samples


class ScenarioAnswer:
    """Mean outcomes in some scenarios, averaged over models.

    Parameters
    ----------
    posterior
        What is asked.
    scenarios
        Of one outcome, over the same rows.
    size
        Number of draws; None for as many as are cheap.
    """

    def __init__(self, posterior: HeldPosterior, scenarios: Sequence[Scenario], size: int | None = None) -> None:
        self.posterior, self.scenarios, self._asked = posterior, tuple(scenarios), size
        self.outcome, self.over = scenarios[0].outcome, scenarios[0].over
        self.worlds = tuple(World(settings_of(self.workings.data, one.given)) for one in scenarios)

    @property
    def workings(self) -> Workings:
        return self.posterior.workings

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All that is set in any scenario, in the order of the graph."""
        wanted = {name for one in self.scenarios for name in one.variables}
        return tuple(name for name in self.workings.models.items[0].graph.order if name in wanted)

    def moved(self, model: FittedGraph) -> tuple[str, ...]:
        """Return the nodes of a model whose draws are needed, causes first; the outcome among them."""
        return moved_nodes(model.graph, self.worlds, self.outcome)

    def check(self) -> None:
        """Refuse what cannot be answered, by name."""
        data = self.workings.data
        meetings.check({"posterior.do": (), **outcome_asks(data, self.outcome)})
        for model in self.workings.models.items:
            for name in (self._below(model) & data.categories.keys()) - data.families.keys():
                raise category_between(name, self.variables[0], self.outcome)
        asks = self.asks
        if len(self.variables) == 1 and "hidden causes" in asks:
            meetings.check({"posterior.do": (), "hidden causes": ()})
        meetings.check({"scenarios": (), **asks})

    @property
    def asks(self) -> dict[str, tuple[str, ...]]:
        """What is not known for certain of the graph on the way, by the names of `alldags.meetings`."""
        found: dict[str, tuple[str, ...]] = {}
        for model in self.workings.models.items if self.variables else ():
            reached = self._below(model) | set(self.variables)
            opened = tuple(name for block in model.graph.blocks for name in block if name in reached)
            found |= {"open directions": opened} if opened else {}
            found |= {"hidden causes": ()} if model.graph.hidden else {}
        return found

    def _below(self, model: FittedGraph) -> set[str]:
        """Return what is moved and follows from what is set."""
        return {name for name in self.moved(model) if model.graph.ancestors(name) & set(self.variables)}

    # -- models --------------------------------------------------------------------------------------------------------

    @cached_property
    def models(self) -> Mixture[FittedGraph]:
        """The models for questions about all that is set; straight ones if nothing else is on the way."""
        workings, data = self.workings, self.workings.data
        if not self.variables:
            return workings.models.map(FittedGraph.everywhere) if data.on_demand else workings.models
        models = workings.about(*self.variables)
        others = any(
            name in data.families or data.may_bend(name, model.treatment_of(name))
            for model in models.items
            for name in self.moved(model)
        )
        return models if others else workings.straight(*self.variables)

    def prepare(self) -> None:
        """Fit the nodes that are needed."""
        for model in self.models.items:
            model.prepare(self.moved(model))
            for name in self.moved(model):
                if model.bends(name) and isinstance(node := parts_of(model.node(name))[0], CurvedPosterior):
                    check_arms(self.worlds, str(node.found.spec.treatment), node.found.arms)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every node that is moved is normal and straight, and nothing is set by what was moved."""
        self.prepare()
        if isinstance(self.over, OtherRows):
            return False
        for model in self.models.items:
            nodes = self.moved(model)
            if any(name in model.data.families or model.bends(name) for name in nodes):
                return False
        reads = {name for world in self.worlds for setting in world.settings.values() for name in setting.reads}
        graphs = [model.graph for model in self.models.items]
        moved = set(self.variables).union(*(graph.descendants(name) for graph in graphs for name in self.variables))
        return reads.isdisjoint(moved)

    # -- rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def targets(self) -> dict[int, Target]:
        """The rows in each completed table, by the number of the table."""
        question = Question(self.variables[0] if self.variables else self.outcome, self.outcome, over=self.over)
        found: dict[int, Target] = {}
        for place, data in enumerate(self.workings.tables):
            table = data.table if data.table is not None else rows_at_hand(self.workings)
            model = self.models.items[place * self.workings.models_of_a_table]
            part = Target.of(question, table, set(self.moved(model)), self.most_rows, self.workings.stream())
            beside = {name: column for one in self.scenarios for name, column in one.beside.items()}
            found[place] = replace(part, beside=beside)
        return found

    @property
    def most_rows(self) -> int:
        """Number of rows that are looked at, at most."""
        return MOST_BENT_ROWS if self._bends else MOST_ROWS

    @cached_property
    def _bends(self) -> bool:
        return any(model.bends(name) for model in self.models.items for name in self.moved(model))

    def _target(self, model: FittedGraph) -> Target:
        return self.targets[self._table(model)]

    def _table(self, model: FittedGraph) -> int:
        return self.models.items.index(model) // self.workings.models_of_a_table

    def batches(self, model: FittedGraph) -> Iterator[PushedRows]:
        """Yield the rows of one model."""
        nodes = self.moved(model)
        if isinstance(self.over, OtherRows):
            yield self.other_rows(NewRows(model, self.over, nodes, self.needed(model)))
            return
        known = [name for name in nodes if name in model.data.families]
        yield from rows_asked(model, self._target(model), nodes, known)

    def other_rows(self, new: NewRows) -> PushedRows:
        """Return rows of another table, as often as is needed for an average over all of them."""
        return new.rows()

    def needed(self, model: FittedGraph) -> tuple[str, ...]:
        """Return what has to be known of other rows: causes that nothing set acts on, and what is shifted or read."""
        return needed_columns(model.graph, self.moved(model), [world.settings for world in self.worlds])

    @property
    def covariates(self) -> tuple[str, ...]:
        """What has to be known of other rows, in any model."""
        return tuple(dict.fromkeys(name for model in self.models.items for name in self.needed(model)))

    @cached_property
    def lines(self) -> StraightRows:
        """What is known of the rows where all is straight."""
        return StraightRows(self.worlds, self.variables, self.outcome, self.over, self.workings.data, self.batches)

    # -- draws ---------------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """Number of draws."""
        if self._asked is not None:
            return self._asked
        return _CLOSED_DRAWS if self.is_closed else self.pushed_size

    @property
    def pushed_size(self) -> int:
        """Number of draws where rows are pushed."""
        count = self.over.count if isinstance(self.over, OtherRows) else self.targets[0].count
        return int(min(max(_VALUES / max(count, 1), _LEAST), _MOST_BENT if self._bends else _MOST))

    @cached_property
    def pieces(self) -> list[Piece]:
        """Draws of all models that some fall to."""
        self.prepare()
        rng = self.workings.stream()
        counts = rng.multinomial(self.size, self.models.weights.posterior)
        drawn = zip(self.models.items, counts.tolist(), rng.spawn(len(counts)), strict=True)
        return [self._piece(place, model, n, stream) for place, (model, n, stream) in enumerate(drawn) if n]

    def _piece(self, place: int, model: FittedGraph, size: int, rng: np.random.Generator) -> Piece:
        samples = sample_nodes(model, self.moved(model), size, rng)
        levels, spread = self.lines.levels(model, samples) if self.is_closed else self._pushed_levels(model, samples)
        return Piece(place, levels, spread, samples)

    def _pushed_levels(self, model: FittedGraph, samples: Samples) -> tuple[FloatArray, FloatArray]:
        """Return mean outcomes (scenarios, draws), and `Piece.spread`."""
        count, size = len(self.worlds), next(iter(samples.values())).size
        first, second = np.zeros((count, size)), np.zeros((count, count, size * self.lines.is_population))
        total, rows_seen, middle = 0.0, 0, model.data.look(self.outcome).mean
        for rows, blocks in self.pushed(model, samples):
            total, rows_seen = total + rows.total, rows_seen + rows.count
            for block, found in blocks:
                first[:, block] += np.array([rows.sums(one) for one in found])
                if self.lines.is_population:
                    gaps = [one - middle for one in found]  # far from zero squares would lose their digits
                    second[:, :, block] += np.array([[rows.sums(one * other) for other in gaps] for one in gaps])
        first, second = first / total, second / total
        gap = first - middle
        return first, (second - gap[:, None] * gap[None]) / rows_seen if self.lines.is_population else second

    def pushed(
        self, model: FittedGraph, samples: Samples
    ) -> Iterator[tuple[PushedRows, Iterator[tuple[slice, list[FloatArray]]]]]:
        """Yield rows and, for each block of draws, their outcomes in each scenario, shape (rows, draws) each."""
        for rows in self.batches(model):
            yield rows, self._blocks(rows, samples, self._maker(model, rows, samples))

    def _blocks(
        self, rows: PushedRows, samples: Samples, make: Callable[[slice], Worlds | NewWorlds]
    ) -> Iterator[tuple[slice, list[FloatArray]]]:
        for block in world_blocks(rows.count, samples):
            worlds = make(block)
            yield block, [worlds.mean(world, self.outcome) for world in self.worlds]

    def _maker(self, model: FittedGraph, rows: PushedRows, samples: Samples) -> Callable[[slice], Worlds | NewWorlds]:
        if not isinstance(self.over, OtherRows):
            return lambda block: Worlds(rows, samples, block)
        nodes = NewRows(model, self.over, self.moved(model), self.needed(model)).draws(samples, self.workings.stream())
        return lambda block: NewWorlds(rows, nodes, block)

    # -- the answer ----------------------------------------------------------------------------------------------------

    def moments(self, weights: Sequence[float]) -> tuple[float, float] | None:
        """Return exact mean and standard deviation of a combination of the mean outcomes, if they are known."""
        data = self.workings.data
        if not self.is_closed or self.lines.is_population or any(name in data.categories for name in self.variables):
            return None
        parts = self.models.map(lambda model: self._moments(model, weights))
        mean = parts.average(lambda pair: pair[0])
        return mean, math.sqrt(max(parts.average(lambda pair: pair[1] + (pair[0] - mean) ** 2), 0.0))

    def _moments(self, model: FittedGraph, weights: Sequence[float]) -> tuple[float, float]:
        """Return mean and variance in one model.

        Scenarios that set different variables are cut differently: the same node is then used once for each, and the
        change in all of them is carried at once.
        """
        means = self.lines.means(model)
        first, second = joint_changes(model, [self._moves(model, means, i) for i in range(len(weights))], self.outcome)
        unit, by = model.data.scale_of(self.outcome), np.asarray(weights, dtype=float)
        mean = float(by.sum() * means.outcome + unit * by @ first)
        return mean, max(unit**2 * float(by @ (second - np.outer(first, first)) @ by), 0.0)

    def _moves(self, model: FittedGraph, means: Means, place: int) -> dict[str, float]:
        """Return by how much a scenario moves what it sets on average, in working units."""
        gap, data = means.to[place] - means.own, model.data
        return {
            name: float(gap[i]) / data.scale_of(name) for i, name in enumerate(means.columns) if not np.isnan(gap[i])
        }

    def draws(self, weights: Sequence[float]) -> FloatArray:
        """Return draws of a combination of the mean outcomes, shape (size,), as wide as rows say they are."""
        rng = self.workings.stream()
        by, stretch = np.asarray(weights, dtype=float), self.stretch(tuple(weights))
        found = [self.offset(piece) * by.sum() + _widened(by @ self.changes(piece), stretch) for piece in self.pieces]
        return shuffled(found, rng)

    def offset(self, piece: Piece) -> float:
        """Return the mean outcome that `changes` are changes of."""
        return self.lines.means(self.models.items[piece.place]).outcome if self.is_closed else 0.0

    def changes(self, piece: Piece) -> FloatArray:
        """Return draws of changes of the mean outcome of rows, or of mean outcomes, shape (scenarios, draws)."""
        found = piece.levels - self.offset(piece)
        if not self.is_closed:
            return found
        return np.asarray(np.where(np.abs(found) <= 1e-13 * abs(self.offset(piece)), 0.0, found))

    @cached_property
    def chance_of_rows(self) -> FloatArray:
        """By how much mean outcomes in a population differ from those of its sample, shape (scenarios, size)."""
        spread = shuffled([piece.spread for piece in self.pieces], self.workings.stream())
        values, vectors = np.linalg.eigh(np.moveaxis(spread, -1, 0))
        chance = np.sqrt(np.maximum(values, 0.0)) * self.workings.stream().standard_normal(values.shape)
        return np.asarray(np.einsum("dij,dj->id", vectors, chance))

    def stretch(self, weights: tuple[float, ...]) -> Stretch | None:
        """Return what makes draws as wide as rows or clusters say; None if they are."""
        if weights not in self._stretches:
            changes = [np.asarray(weights, dtype=float) @ self.changes(piece) for piece in self.pieces]
            self._stretches[weights] = self.stretch_of(changes)
        return self._stretches[weights]

    @cached_property
    def _stretches(self) -> dict[tuple[float, ...], Stretch | None]:
        return {}

    def stretch_of(self, changes: Sequence[FloatArray]) -> Stretch | None:
        """Return what makes draws of a change as wide as rows or clusters say; of each piece, shape (draws,)."""
        return stretch_of_joints(self.posterior, self._joints(changes))

    def _joints(self, changes: Sequence[FloatArray]) -> list[Joint]:
        found, each = [], self.workings.models_of_a_table
        for piece, change in zip(self.pieces, changes, strict=True):
            model = self.models.items[piece.place]
            inside = row_regressions(model, piece.samples)
            first = piece.place - piece.place % each
            others: tuple[Regressed, ...] = ()
            if each > 1:
                alike, names = self.workings.models.items[first : first + each], set(piece.samples)
                others = outside(alike, piece.place - first, names, piece.levels.shape[1], self.workings.stream())
            found.append(Joint(change, (*inside, *others), piece.place // each, piece.place))
        return found


def _widened(draws: FloatArray, stretch: Stretch | None) -> FloatArray:
    return draws if stretch is None else stretch(draws)
