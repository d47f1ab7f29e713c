"""Mediation: an effect divided by the variables that it runs through, and the effect along one path.

Along straight lines with normal noise, and without products of treatment and mediator, moments are exact. Else rows are
looked at in nested worlds (`alldags.answers.nested`), draw by draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from alldags import meetings
from alldags.answers.choose import pushed_answer
from alldags.answers.closed import ClosedAnswer
from alldags.answers.comparison import Comparison
from alldags.answers.held import HeldEffect
from alldags.answers.inner import NOTHING_BETWEEN
from alldags.answers.levels import is_category
from alldags.answers.mediated import Kind, Mediation, assumptions_of
from alldags.answers.nested import afresh_worlds, natural_worlds, path_worlds
from alldags.answers.pushed import PushedAnswer
from alldags.answers.question import Question
from alldags.answers.steps import MakeWorlds, Steps, steps_along, steps_between
from alldags.answers.treatment_values import treatment_word
from alldags.answers.world import World
from alldags.effects.paths import (
    avoiding_moments,
    first_through_moments,
    path_draws,
    path_moments,
    through_moments,
)
from alldags.effects.quantity import Quantity
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.hidden import pair_with
from alldags.models.capabilities import data_asks, model_asks, outcome_asks
from alldags.models.fitted import FittedGraph
from alldags.notes import Note
from alldags.text import some

_MOST_PRODUCTS = 8  # mediators of which all sets that may act on a child are told apart


def mediate(effect: HeldEffect, through: Sequence[str], kind: Kind, *, products: bool) -> Mediation:
    """Divide an effect into what runs through some variables and what does not.

    Parameters
    ----------
    effect
        The effect.
    through
        Mediators, in any order.
    kind
        Whether each row has its own mediators under the other value, or any that a row like it has.
    products
        Whether treatment and mediators may act on what comes after by their product: then that is certain.
    """
    names = _in_order(effect, through)
    asked = Asked(effect, names, products)
    answer = asked.answer
    known = _exact(answer, names) if isinstance(answer, ClosedAnswer) else {}
    steps = asked.steps(_worlds(effect, names, kind))
    every = range(1, len(names) + 1)
    parts = {name: steps.of([i], known.get(name)) for i, name in zip(every, names, strict=True)}
    return Mediation(
        treatment=effect.treatment,
        outcome=effect.outcome,
        through=names,
        kind=kind,
        total=steps.of([0, *every], known.get("")),
        direct=steps.of([0], known.get(effect.treatment)),
        indirect=steps.of(every, known.get(effect.outcome)),
        parts=parts,
        assumptions=assumptions_of(effect.treatment, effect.outcome, names, kind),
        notes=(*asked.notes(kind), *steps.notes),
        words=asked.words,
        _leverage=asked.no_leverage or steps.leverage,
    )


def _worlds(effect: HeldEffect, names: Sequence[str], kind: Kind) -> MakeWorlds:
    """Return what makes the worlds of a graph; without a variable that tells the two kinds apart they are the same."""

    def make(graph: CandidateGraph, low: World, high: World) -> Sequence[World]:
        anew = kind == "interventional" and bool(_witnesses((graph,), effect, names))
        return (afresh_worlds if anew else natural_worlds)(graph, names, low, high)

    return make


def along_path(effect: HeldEffect, path: Sequence[str], *, products: bool) -> Quantity:
    """Return the effect that is passed on along one path alone: all else stays as under the low value."""
    names = _checked_path(effect, path)
    asked = Asked(effect, names[1:-1], products and len(names) > 2)
    answer = asked.answer
    if isinstance(answer, ClosedAnswer):
        return _closed_path(effect, answer, names)

    def make(graph: CandidateGraph, low: World, high: World) -> Sequence[World]:
        there = all(edge in graph.edges for edge in pairwise(names))
        return path_worlds(graph, names, low, high) if there else (low, low)

    steps = asked.steps(make)
    return replace(steps.of([0]), notes=(*_path_notes(asked, names), *steps.notes))


def _closed_path(effect: HeldEffect, answer: ClosedAnswer, path: tuple[str, ...]) -> Quantity:
    """Return the product of coefficients along a path, as wide as the whole effect is."""
    stream = effect.posterior.workings.stream()
    drawn = answer.unit * answer.totals.draw(
        answer.size, stream, lambda total, size, rng: path_draws(total.model, path, size, rng)
    )
    mean, second, _ = answer.totals.average_array(lambda total: path_moments(total.model, path)).tolist()
    wide = effect.uncertainty.widened(drawn)
    factor = 1.0 if wide is drawn or not drawn.any() else float(wide.std() / drawn.std())
    return Quantity(wide, exact=_moments(answer, (mean, second), factor))


def _moments(answer: ClosedAnswer, moments: Sequence[float], factor: float = 1.0) -> tuple[float, float]:
    """Return mean and sd in the user's units, from mean and second moment in working units."""
    mean, second = moments
    return answer.unit * mean, factor * abs(answer.unit) * max(second - mean**2, 0.0) ** 0.5


def _exact(answer: ClosedAnswer, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return mean and sd of what is known exactly: parts by mediator, the whole under no name, direct and indirect.

    The direct effect is under the name of the treatment, the indirect one under that of the outcome.
    """
    totals, asked = answer.totals, answer.question

    def of(moments: object) -> tuple[float, float]:
        return _moments(answer, totals.average_array(moments).tolist())  # type: ignore[arg-type]

    found = {"": (answer.mean, answer.sd)}
    for i, name in enumerate(names):
        found[name] = of(lambda total, name=name, i=i: first_through_moments(total, name, names[:i]))
    if len(names) == 1:
        found[asked.outcome] = found[names[0]]
    if any(total.model.order_block(name) for total in totals.items for name in names):
        return found
    found[asked.treatment] = of(lambda total: avoiding_moments(total, names))
    if not any(total.order_blocks for total in totals.items):
        found[asked.outcome] = of(lambda total: through_moments(total, names))
    return found


# -- what is asked -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """An effect, the mediators that it is divided by, and whether these have products with the treatment."""

    effect: HeldEffect
    names: tuple[str, ...]
    products: bool

    @cached_property
    def answer(self) -> ClosedAnswer | PushedAnswer:
        """How the whole effect is computed, with products if they are asked for."""
        answer = self.effect.answer
        asked = outcome_asks(self.effect.posterior.workings.data, self.effect.outcome)
        meetings.check({"mediation": (), **asked, **({"other rows": ()} if self.effect.over == "other rows" else {})})
        if self.products:
            if pair := self.pair:
                meetings.check({"products": (), "correlated errors": pair})
            return self._with_products(answer.question)
        assert isinstance(answer, ClosedAnswer | PushedAnswer)
        return answer

    def _with_products(self, question: Question) -> PushedAnswer:
        effect, workings = self.effect, self.effect.posterior.workings
        if len(self.names) > _MOST_PRODUCTS:
            raise AlldagsError(
                f"{len(self.names)} mediators have too many products with the treatment; name at most {_MOST_PRODUCTS} "
                "of them, or ask with products=False"
            )
        opened = [workings.with_rows(model.data) for model in effect.workings.models.items]
        asked = model_asks(self.graphs, workings.models.items[0].prior, workings.store.engine)
        asked |= data_asks(workings.data) | ({"moments": ()} if None in opened else {})
        meetings.check({**asked, "products": ()})
        rows = dict(zip(effect.workings.models.items, opened, strict=True))

        def through(model: FittedGraph) -> TotalEffect:
            data = rows[model]
            assert data is not None
            return TotalEffect.of(model.through(effect.treatment, self.names, data), effect.treatment, effect.outcome)

        totals = effect.workings.models.map(through)
        for total in totals.items:
            total.prepare()
        return pushed_answer(workings, self._compared(question), totals, effect.workings.set_draws)

    def _compared(self, question: Question) -> Question:
        """Return the question with the two values of a treatment that has no others: what bends has no one step."""
        if question.factor != 1.0:
            raise AlldagsError("mediation is in the units of the effect itself; ask that, not on('standardized')")
        data = self.effect.posterior.workings.data
        if not question.comparison.is_step or is_category(data, question):
            return question
        two = data.look(question.treatment).two_values
        return question if two is None else replace(question, comparison=Comparison(float(two[0]), float(two[1])))

    def steps(self, make: MakeWorlds) -> Steps:
        """Return draws of the steps between worlds; along straight lines, of those between more and fewer held."""
        if isinstance(self.answer, ClosedAnswer):
            return steps_along(self.effect, self.answer, self.names)
        return steps_between(self.effect, self.answer, make, "" if self.no_leverage else self.names[0])

    @property
    def pair(self) -> tuple[str, ...]:
        """Two variables with a hidden common cause, of which one is on the way; empty without such."""
        totals = self.effect.workings.totals.items
        return next(filter(None, (pair_with(one.model.graph.hidden, one.span.reached) for one in totals)), ())

    @property
    def no_leverage(self) -> str:
        """Why it is not known what a hidden cause of mediator and outcome does; empty if it is."""
        if len(self.names) != 1:
            return "what a hidden cause of mediator and outcome does is known for a single one; name one in through="
        if self.pair:
            return f"the hidden cause of {' and '.join(self.pair)} is in the graph, and what it does in the answer"
        data = self.effect.posterior.workings.data
        others = [name for name in (*self.names, self.effect.outcome) if data.model(name).family is not None]
        if not others:
            return ""
        return (
            f"what a hidden cause of mediator and outcome does is known where the noise of both is normal, and that of "
            f"{others[0]!r} is not: its error has no correlation with another"
        )

    @property
    def graphs(self) -> tuple[CandidateGraph, ...]:
        """The candidate graphs."""
        return tuple(dict.fromkeys(model.graph for model in self.effect.workings.models.items))

    @property
    def words(self) -> str:
        """What is compared, in words."""
        values, name = self.answer.question.comparison.values, self.effect.treatment
        if values is None:
            return f"raising {name} by one unit"
        low, high = (treatment_word(self.effect, value) for value in values)
        return f"changing {name} from {_shown(low)} to {_shown(high)}"

    def notes(self, kind: Kind) -> tuple[Note, ...]:
        """Return what a reader should know of the division."""
        closed = isinstance(self.answer, ClosedAnswer)
        found = [] if closed or kind != "natural" else _witnesses(self.graphs, self.effect, self.names)
        named = some(map(repr, found))
        text = (
            f"{named}, which {self.effect.treatment!r} may move and which through= does not name, may act on a "
            f"mediator and on {self.effect.outcome!r}: natural effects then suppose that chance decides {named} alike "
            "under both values of the treatment; name it in through=, or ask for kind='interventional'"
        )
        return (*[Note(text, "changes the answer", tuple(found))] * bool(found), *_hidden_note(self.pair))


def _shown(value: float | str) -> str:
    return repr(value) if isinstance(value, str) else f"{value:g}"


def _path_notes(asked: Asked, path: Sequence[str]) -> tuple[Note, ...]:
    """Return what a reader should know of the effect along a path."""
    found = [name for name in path[1:-1] if any(_goes_on(graph, name, path) for graph in asked.graphs)]
    text = (
        f"{some(map(repr, found))} may act on {path[-1]!r} along other paths, too: the effect along this one supposes "
        "that chance decides its value alike under both values of the treatment"
    )
    return (*[Note(text, "changes the answer", tuple(found))] * bool(found), *_hidden_note(asked.pair))


def _goes_on(graph: CandidateGraph, name: str, path: Sequence[str]) -> bool:
    """Tell whether a variable of a path may act on the last by way of another than the next."""
    following = path[path.index(name) + 1]
    return any(path[-1] in (child, *graph.descendants(child)) for child in graph.children(name) if child != following)


def _hidden_note(pair: Sequence[str]) -> tuple[Note, ...]:
    """Say that a hidden cause is in the answer, so that nothing is supposed of it."""
    names = " and ".join(pair)
    return (Note(f"a hidden common cause of {names} is allowed for; what is supposed is of any others"),) * bool(pair)


def _witnesses(graphs: Sequence[CandidateGraph], effect: HeldEffect, names: Sequence[str]) -> list[str]:
    """Return what the treatment may move, is not named, and may act on a mediator and past all of them on the outcome.

    Natural effects need it in two worlds at once.
    """
    found: dict[str, None] = {}
    for graph in graphs:
        inside = graph.descendants(effect.treatment) - {effect.outcome, *names}
        before = {cause for name in names for cause in graph.ancestors(name)}
        found |= dict.fromkeys(
            name for name in graph.order if name in inside & before and _passes(graph, name, effect.outcome, names)
        )
    return list(found)


def _passes(graph: CandidateGraph, cause: str, effect: str, names: Sequence[str]) -> bool:
    """Tell whether a candidate path leads from a cause to an effect through none of some variables."""
    waiting, seen = [cause], {cause}
    while waiting:
        for child in graph.children(waiting.pop()):
            if child == effect:
                return True
            if child not in seen and child not in names:
                seen.add(child)
                waiting.append(child)
    return False


# -- names -------------------------------------------------------------------------------------------------------------


def _between(effect: HeldEffect) -> list[str]:
    """Return the variables on candidate paths, causes first."""
    totals = effect.workings.totals.items
    return list(dict.fromkeys(name for total in totals for name in total.span.variables[1:-1]))


def _in_order(effect: HeldEffect, through: Sequence[str]) -> tuple[str, ...]:
    """Return the mediators, causes first, or say what is wrong with them."""
    if isinstance(through, str):
        raise GraphError(f"through must be a list of names; write through=[{through!r}]")
    between, given = _between(effect), list(through)
    if not between:
        raise GraphError(NOTHING_BETWEEN)
    if not given:
        raise GraphError(f"through names no mediator; give some of {some(map(repr, between))}")
    for name in given:
        if name not in between:
            raise GraphError(
                f"through names {name!r}, which is on no candidate path from {effect.treatment!r} to "
                f"{effect.outcome!r}{did_you_mean(str(name), between)}; give some of {some(map(repr, between))}"
            )
    names = tuple(name for name in between if name in given)
    opened = [name for name in names if any(one.model.order_block(name) for one in effect.workings.totals.items)]
    if opened and len(names) > 1:
        meetings.check({"several mediators": (), "open directions": tuple(opened)})
    return names


def _checked_path(effect: HeldEffect, path: Sequence[str]) -> tuple[str, ...]:
    """Return a path, or say what is wrong with it."""
    names = tuple(path)
    if isinstance(path, str) or len(names) < 2 or (names[0], names[-1]) != (effect.treatment, effect.outcome):
        raise GraphError(
            f"a path is a list of names from {effect.treatment!r} to {effect.outcome!r}, both among them, got {path!r}"
        )
    graphs = [total.model.graph for total in effect.workings.totals.items]
    for edge in pairwise(names):
        if not any(edge in graph.edges for graph in graphs):
            raise GraphError(
                f"{edge[0]!r} -> {edge[1]!r} is no candidate edge, so that nothing runs along this path; add it to the "
                "graph, or see paths() for those that there are"
            )
    return names
