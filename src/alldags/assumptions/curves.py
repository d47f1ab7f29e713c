"""A note where straight lines mislead: the data would prefer curves."""

from __future__ import annotations

import math
from collections.abc import Iterator

from alldags.assumptions.examined import ExaminedEffect
from alldags.assumptions.worth import Worth, worth_of_curves
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.data.record import MomentsSource
from alldags.nodes.rows import CountedRows
from alldags.notes import Note
from alldags.wording import option

LEAST_NATS = 10.0
_HARMLESS = frozenset({"dropped rows", "imputation", "gaps", "completed tables", "categories"})
# complete rows show curves as well
_MOST_VALUES = 20_000_000  # rows times causes that are looked at


def curves_note(effect: ExaminedEffect) -> Iterator[Note]:
    """Say by how much the data prefer curves in a regression that the effect runs through, or that one has no noise."""
    found = curves_worth(effect)
    exact = [child for child, worth in found.items() if worth.exact]
    if exact:
        yield Note(
            f"straight lines of its causes give every value of {' and of '.join(exact)}, without any noise: if the "
            "column was computed from them, its formula says more than an average over graphs",
            "check",
        )
    child, worth = max(found.items(), key=lambda pair: pair[1].nats, default=("", Worth(0.0)))
    if worth.nats >= LEAST_NATS:
        yield Note(
            f"straight lines mislead: the data are about 10^{worth.nats / math.log(10):.0f} times as probable with "
            f"curves in {child}, first {worth.columns[0]}; see {option('terms', 'auto')}",
            "changes the answer",
        )


def curves_worth(effect: ExaminedEffect) -> dict[str, Worth]:
    """Return what each regression on the way gains from curves; nothing if rows are not at hand or not plain."""
    posterior, data = effect.posterior, effect.posterior.workings.data
    table = posterior.workings.table
    not_plain = data.was_set or not posterior.workings.models.items[0].prior.intercept
    if table is None or not set(table.asked) <= _HARMLESS or not_plain or len(posterior.graphs) > 1:
        return {}
    graph = posterior.graphs[0]
    others = {*data.families, *data.heavy, *data.curved, *(name for block in graph.blocks for name in block)}
    children = set(effect.workings.reached) - others
    source = table.source() if children else None
    if source is None or isinstance(source, MomentsSource):
        return {}
    names = data.pooled.names
    rows = RowTable(source.numbers(names))
    if rows.columns.rows * len(names) > _MOST_VALUES:
        return {}
    return {
        child: worth_of_curves(CountedRows(child, Rows(rows)), _columns(effect, graph.parents(child)), effect.treatment)
        for child in sorted(children)
        if graph.parents(child)
    }


def _columns(effect: ExaminedEffect, causes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that stand for some causes: of a category, one for each level but the first."""
    categories = effect.posterior.workings.data.categories
    return tuple(column for name in causes for column in categories.get(name, (name,)))
