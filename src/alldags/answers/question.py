"""`Question`: what is compared, and over which rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alldags.answers.comparison import STEP, Comparison, chosen_rows
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.data.batches import RowTable
from alldags.errors import AlldagsError
from alldags.typing import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked.

    Parameters
    ----------
    treatment, outcome
        Names.
    comparison
        Two values of the treatment, or a step of one unit from each row's own.
    over
        Rows to average over: ``"sample"``, ``"population"`` (adds that the rows are a sample), ``"treated"``,
        ``"untreated"``, one truth value per row, weights of rows (`RowWeights`) or other rows (`OtherRows`).
    linked
        Whether edges are linked to those into the treatment.
    straight
        Whether straight lines are drawn through all children, whatever they are.
    on_link
        Whether the effect is that on the scale of the outcome's predictor: on the log-odds, or the log rate.
    factor
        What a straight effect is multiplied by, to be in other units.
    named
        The condition that chose the rows.
    """

    treatment: str
    outcome: str
    comparison: Comparison = STEP
    over: Any = "sample"
    linked: bool = True
    straight: bool = False
    on_link: bool = False
    factor: float = 1.0
    named: str = ""

    @property
    def over_words(self) -> str:
        """Over which rows outcomes are averaged, in words."""
        if isinstance(self.over, str):
            return self.over
        if isinstance(self.over, OtherRows):
            return "other rows"
        return self.named or ("weighted rows" if isinstance(self.over, RowWeights) else "chosen rows")

    @property
    def is_population(self) -> bool:
        """Whether the rows are a sample of those asked about."""
        return isinstance(self.over, str) and self.over == "population"

    def between(self, low: float, high: float) -> Question:
        """Return the question with two other values of the treatment."""
        return replace(self, comparison=Comparison(low, high))

    def chosen(self, table: RowTable) -> BoolArray | None:
        """Return which rows are averaged over, shape (rows,); None for all."""
        if isinstance(self.over, RowWeights):
            if self.over.values.shape != (table.count,):
                raise AlldagsError(
                    f"over must have one weight for each of the {table.count} rows, got shape "
                    f"{self.over.values.shape}; give one for each complete row of the fit"
                )
            return chosen_rows(self.over.values > 0.0, self.treatment, table)
        return chosen_rows("sample" if isinstance(self.over, OtherRows) else self.over, self.treatment, table)

    @property
    def weights(self) -> FloatArray | None:
        """How much each row counts, shape (rows,); None: as the table says."""
        return self.over.values if isinstance(self.over, RowWeights) else None


def _undisturbed(question: Question, table: RowTable, reached: Collection[str]) -> BoolArray | None:
    """Return the chosen rows in which nothing on the way was set from outside, shape (rows,); None for all."""
    chosen = question.chosen(table)
    marks = [mark for name, mark in table.marks.was_set.items() if name in reached]
    if not marks:
        return chosen
    free = np.all([table.column(mark) == 0.0 for mark in marks], axis=0)
    found = free if chosen is None else free & chosen
    if not found.any():
        raise AlldagsError(
            f"in every row that is asked about something between {question.treatment!r} and {question.outcome!r} was "
            "set from outside, so that no row shows how it responds; add rows that were observed"
        )
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Target:
    """The rows that outcomes are averaged over.

    Parameters
    ----------
    table
        All rows.
    chosen
        Which of them, shape (rows,); None for all.
    asked
        Number of rows asked about, of which those chosen may be a random part.
    outcome
        Name of the outcome.
    copies
        The same of every completed copy of the table, where there are several.
    weights
        How much each row of the table counts, shape (rows,); None: as the table says.
    beside
        Further columns of the rows, shape (rows,) each.
    other
        Rows of another table (`OtherRows`), which are asked about in place of these; None for none.
    """

    table: RowTable
    chosen: BoolArray | None
    asked: float
    outcome: str
    copies: tuple[Target, ...] = ()
    weights: FloatArray | None = None
    beside: Mapping[str, FloatArray] = field(default_factory=dict)
    other: OtherRows | None = None

    def in_table(self, table: RowTable | None) -> Target:
        """Return the rows in one completed copy: those of a model are its own."""
        return next((one for one in self.copies if one.table is table), self)

    @classmethod
    def of(
        cls, question: Question, table: RowTable, reached: Collection[str], most: int, rng: np.random.Generator
    ) -> Target:
        """Return the rows that a question is about; of more than `most` a random part.

        Rows in which something on the way was set from outside do not show how it responds, and are left out.
        """
        chosen = _undisturbed(question, table, reached)
        asked = int(table.count if chosen is None else chosen.sum())
        if asked <= most:
            return cls(table, chosen, float(asked), question.outcome, weights=question.weights)
        total = len(table.column(question.outcome))
        places = np.arange(total) if chosen is None else np.flatnonzero(chosen)
        mask = np.zeros(total, dtype=bool)
        mask[rng.choice(places, most, replace=False)] = True
        return cls(table, mask, float(asked), question.outcome, weights=question.weights)

    @property
    def count(self) -> float:
        """Number of rows that are looked at."""
        return self.asked if self.chosen is None else float(self.chosen.sum())

    @property
    def left_out(self) -> float:
        """Share of the rows asked about that are not looked at."""
        return 1.0 - self.count / self.asked

    def means(self, names: Sequence[str]) -> FloatArray:
        """Return the means of some columns over the rows, shape (columns,)."""
        kept = slice(None) if self.chosen is None else self.chosen
        weights = None if self.weights is None else self.weights[kept]
        return np.array([np.average(self.table.column(name)[kept], weights=weights) for name in names])

    def weight(self, values: Mapping[str, FloatArray]) -> FloatArray | None:
        """Return how much each of some rows counts, shape (rows,); None if all count the same."""
        name = self.table.marks.weight
        return None if name is None else values[name]
