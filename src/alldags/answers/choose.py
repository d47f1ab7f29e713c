"""Which way an effect is computed: the only place where that is decided."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from alldags import meetings
from alldags.answers.base import Answer
from alldags.answers.closed import ClosedAnswer
from alldags.answers.comparison import STEP, Comparison, natural_comparison
from alldags.answers.inner import InnerAnswer
from alldags.answers.levels import OpenAnswer, along, is_category, is_open
from alldags.answers.new_rows import needed_columns
from alldags.answers.over import is_word, over_rows, query_mask
from alldags.answers.pushed import MIXED, MOST_BENT_ROWS, MOST_ROWS, PushedAnswer
from alldags.answers.question import Question, Target
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.answers.world import Value
from alldags.data.batches import RowTable
from alldags.data.columns import Columns
from alldags.data.look import look_at_rows
from alldags.effects.span import Span
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.graph.hidden import pair_among
from alldags.models.capabilities import data_asks
from alldags.models.categories import category_between, category_on_block
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.workings import Workings

_EVERY_ROW = 2**62
_NO_TABLE = RowTable(Columns((), 0, ()))


def natural_question(workings: Workings, treatment: str, outcome: str, over: Any = "sample") -> Question:
    """Return the question that needs no saying: two values of a treatment that has no more, else one unit more.

    A straight effect is the same for any two values, and is asked for per unit.
    """
    over = over_rows(over)
    question = Question(treatment, outcome, over=over)
    if isinstance(over, str) and not is_word(over):
        mask = query_mask(over, rows_at_hand(workings), workings.data)
        question = replace(question, over=mask, named=f"rows with {over}")
    if question.is_population:
        meetings.check({"population": (), **data_asks(workings.data)})
    reached = _reached(workings, treatment, outcome)
    if isinstance(over, OtherRows):
        check_other(workings, question, reached)
    elif not (isinstance(over, str) and over in ("sample", "population")):
        question.chosen(rows_at_hand(workings))  # refuses what picks no rows
    for name in (reached & workings.data.categories.keys()) - workings.data.families.keys():
        raise category_between(name, treatment, outcome)
    if is_category(workings.data, question):
        for model in workings.models.items:
            if inside := [name for block in model.graph.blocks for name in block if name in reached]:
                raise category_on_block(treatment, inside)
    table = workings.data.table
    if is_category(workings.data, question) or table is None or reached.isdisjoint(workings.data.children):
        return question
    levels = look_at_rows(table, [treatment])[treatment].values or ()
    if not reached.isdisjoint(workings.data.families):
        return replace(question, comparison=natural_comparison(levels))
    two = len(levels) == 2 and any(workings.data.may_bend(name, treatment) for name in reached)
    return replace(question, comparison=Comparison(float(levels[0]), float(levels[1]))) if two else question


def _reached(workings: Workings, treatment: str, outcome: str) -> set[str]:
    """Return the variables on the way in any candidate graph, the outcome among them."""
    graphs = dict.fromkeys(model.graph for model in workings.models.items)
    return {name for graph in graphs for name in Span.between(graph, treatment, outcome).reached}


def models_for(workings: Workings, question: Question) -> Mixture[FittedGraph]:
    """Return the fitted models that a question is put to: straight ones if it runs through nothing else."""
    data, reached = workings.data, _reached(workings, question.treatment, question.outcome)
    others = any(name in data.families or data.may_bend(name, question.treatment) for name in reached)
    of = workings.about if others and not question.straight else workings.straight
    return along(of(question.treatment, linked=question.linked), question)


def unit_of(workings: Workings, question: Question) -> float:
    """Return the user's units of the effect per working unit, for the step that is compared."""
    data = workings.data.straight if question.straight else workings.data
    if is_category(data, question):
        return data.outcome_unit(question.outcome) * question.factor
    values = question.comparison.values
    step = 1.0 if values is None else values[1] - values[0]
    return data.unit(question.treatment, question.outcome) * step * question.factor


def choose(
    workings: Workings, question: Question, totals: Mixture[TotalEffect], *, worth: float, most: int | None = None
) -> Answer:
    """Return the answer to a question: in closed form if that is possible, else by rows.

    Parameters
    ----------
    workings
        What the posterior computes with.
    question
        What is asked.
    totals
        The way from treatment to outcome in each model, whose nodes are fitted.
    worth
        Number of independent draws that sampled nodes are worth.
    most
        Draws at most, where rows are pushed.
    """
    if is_open(workings.data, question):
        return OpenAnswer(question, workings.data.levels[question.treatment].words)
    if is_closed(totals, question):
        target = _closed_target(workings, question)
        per_unit = unit_of(workings, replace(question, comparison=STEP, factor=1.0))
        elsewhere = (
            pushed_answer(workings, question, totals, worth, most) if isinstance(question.over, OtherRows) else None
        )
        unit = unit_of(workings, question)
        return ClosedAnswer(question, totals, unit, per_unit, workings.seed, target, elsewhere)
    bends = any(_bends(total) for total in totals.items)
    inner = bends and all(_is_inner(total) for total in totals.items)
    inner = inner and not is_category(workings.data, question)
    inner = inner and not isinstance(question.over, OtherRows | RowWeights)
    if not inner:
        return pushed_answer(workings, question, totals, worth, most)
    return InnerAnswer(question, totals, _target(workings, question, totals, _EVERY_ROW), workings.seed)


def pushed_answer(
    workings: Workings, question: Question, totals: Mixture[TotalEffect], worth: float, most: int | None = None
) -> PushedAnswer:
    """Return the answer by rows, whatever the nodes on the way are; arguments as for `choose`."""
    rows = MOST_BENT_ROWS if any(_bends(total) for total in totals.items) else MOST_ROWS
    target = _target(workings, question, totals, rows)
    return PushedAnswer(question, totals, target, workings.seed, worth, *(() if most is None else (most,)))


def _target(workings: Workings, question: Question, totals: Mixture[TotalEffect], rows: int) -> Target:
    """Return the rows asked about, in each completed table."""
    if isinstance(question.over, OtherRows):
        return Target(_NO_TABLE, None, float(question.over.count), question.outcome, other=question.over)
    reached = {name for total in totals.items for name in total.span.reached}
    tables = dict.fromkeys(total.model.data.table for total in totals.items)
    each = [Target.of(question, table, reached, rows, workings.stream()) for table in tables if table is not None]
    return replace(each[0], copies=tuple(each) if len(each) > 1 else ())


def is_closed(totals: Mixture[TotalEffect], question: Question) -> bool:
    """Tell whether every node on the way is normal and straight; of the outcome's predictor, all but the outcome."""
    for total in totals.items:
        families = total.model.data.families
        inside = [name for name in total.span.reached if name in families]
        if question.on_link:
            inside = [name for name in inside if name != question.outcome]
            if inside:
                raise AlldagsError(MIXED.format(names=", ".join(sorted(inside))))
        if inside or _bends(total):
            return False
    return True


def _bends(total: TotalEffect) -> bool:
    return any(total.model.bends(name) for name in total.span.reached)


def _is_inner(total: TotalEffect) -> bool:
    """Tell whether only the outcome bends, and has normal noise."""
    reached = total.span.reached
    return len(reached) == 1 and total.model.bends(reached[0]) and total.model.data.model(reached[0]).family is None


def _closed_target(workings: Workings, question: Question) -> Target | None:
    """Return the rows of a straight effect, which is the same for all of them: only where some were chosen."""
    if isinstance(question.over, OtherRows) or (
        isinstance(question.over, str) and question.over in ("sample", "population")
    ):
        return None
    table = rows_at_hand(workings)
    return Target(table, question.chosen(table), math.nan, question.outcome, weights=question.weights)


def check_other(workings: Workings, question: Question, reached: set[str]) -> None:
    """Refuse other rows without the columns that the outcome in them depends on, by name."""
    meetings.check({"other rows": (), **data_asks(workings.data)})
    nodes = tuple(name for name in workings.models.items[0].graph.order if name in reached) or (question.outcome,)
    setting = {question.treatment: Value(0.0)}
    opened = {name for model in workings.models.items for block in model.graph.blocks for name in block}
    if inside := tuple(name for name in nodes if name in opened):
        meetings.check({"other rows": (), "open directions": inside})
    for model in workings.models.items:
        if pair := pair_among(model.graph.hidden, nodes):
            meetings.check({"other rows": (), "correlated errors": pair})
    for graph in dict.fromkeys(model.graph for model in workings.models.items):
        question.over.values(workings.data, needed_columns(graph, nodes, [setting]))


def rows_at_hand(workings: Workings) -> RowTable:
    """Return the rows of all variables, or say that there are none to choose from, or that they do not count alike."""
    opened, found = workings.table, workings.data.table
    if found is None and opened is not None:
        found = opened.rows(workings.data.pooled.names)
    asked = () if opened is None else opened.asked
    meetings.check(dict.fromkeys(("chosen rows", *asked, *(("moments",) if found is None else ())), ()))
    assert found is not None
    return found
