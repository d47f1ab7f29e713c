"""An edge after the data, and kept as a confounder: two probabilities, which are told apart wherever edges are shown.

The first is what the data say of each edge by itself. In an answer about one treatment, what affects the treatment is
also taken for a likely cause of what comes after it (`Prior.link`): the second has that, and is what the answer uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from alldags.answers.choose import models_for
from alldags.effects.influence import edge_probability
from alldags.graph.edges import Edge
from alldags.show.table import Table

if TYPE_CHECKING:
    from alldags.results.effect import Effect

KEPT = "kept_as_confounder"
NOTE = (
    "posterior: after the data, each edge by itself; kept_as_confounder: as used in the effect, where what affects the "
    "treatment is taken for a likely cause of what comes after it"
)


def after_the_data(effect: Effect) -> Callable[[Edge], float]:
    """Return what tells the probability of each edge by itself; nan if the engine has no notion of its presence."""
    behind, question = effect.posterior.workings, effect._question
    models = models_for(behind, replace(question, linked=False)) if behind.link else effect.workings.models
    return cache(lambda edge: models.average(lambda model: edge_probability(model, edge)))


def told_apart(found: Table, effect: Effect) -> Table:
    """Return a table of edges, whose column `posterior` is as used in the effect, with both probabilities."""
    if not effect.posterior.workings.link or not len(found):
        return found
    after = after_the_data(effect)
    columns: dict[str, list[Any]] = {}
    for name in found.columns:
        if name == "posterior":
            columns[name] = [after(edge) for edge in zip(found["cause"], found["effect"], strict=True)]
        columns[KEPT if name == "posterior" else name] = list(found[name])
    return replace(found, columns=columns, note="; ".join(text for text in (found.note, NOTE) if text))
