"""`Contrasts`: every pair of levels of a treatment that is a category, and which level is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from textwrap import fill
from typing import Any

from alldags import wording
from alldags.show.json import notes_list
from alldags.show.measures import measured
from alldags.show.numbers import no_effect, sampled_percent
from alldags.show.screen import (
    Screen,
    Size,
    adjusted_line,
    laid_out,
    no_effect_rows,
    short_name,
    size_rows,
    warnings,
    with_short_names,
)
from alldags.show.summary import EffectSummary
from alldags.show.table import Table
from alldags.show.words import Row, scope
from alldags.text import line_width, printable, some

SCHEMA = "alldags.contrasts/1"
_MOST_LEVELS = 4  # beside the first, on one screen
_MORE = wording.either(
    "More: effect.contrasts() for all pairs, .contrast(start, stop), .details()",
    "More: --json for all pairs, --contrast START:STOP, --details",
)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What changing a category from each level to each other does to the outcome. Made by `Effect.contrasts`.

    Parameters
    ----------
    levels
        Words, in the order of the category.
    table
        One row for each pair: ``start`` and ``stop``, ``mean``, ``sd``, the interval of this pair alone (``low``,
        ``high``), that which holds for all pairs at once (``low_all``, ``high_all``), and ``probability_positive``.
    probability_best
        For each level, the posterior probability that its mean outcome is best; levels that tie share it.
    better
        ``"higher"`` or ``"lower"``: which outcomes are best.
    outcome
        Its name.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> arm = np.repeat(["control", "low", "high"], 100)
    >>> score = np.repeat([0.0, 1.0, 3.0], 100) + rng.standard_normal(300)
    >>> graph = ad.CandidateGraph.from_order(["arm", "score"])
    >>> found = ad.fit({"arm": arm, "score": score}, graph, rng=0).effect("arm", "score").contrasts()
    >>> found.levels, round(found.probability_best["high"], 3)
    (('control', 'high', 'low'), 1.0)
    >>> [round(x) for x in found.table["mean"]]
    [3, 1, -2]
    """

    levels: tuple[str, ...]
    table: Table
    probability_best: Mapping[str, float]
    better: str
    outcome: str
    _summary: Callable[[], EffectSummary] = field(repr=False)

    @cached_property
    def summary(self) -> EffectSummary:
        """That of the first pair, for what all pairs have in common; made when it is first asked for."""
        return self._summary()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and names, as printed by ``alldags effect --json``."""
        summary = self.summary
        return {
            "schema": SCHEMA,
            "treatment": summary.treatment,
            "outcome": summary.outcome,
            "measure": summary.measure,
            "levels": list(self.levels),
            "level": summary.level,
            "contrasts": list(self.table.rows()),
            "better": self.better,
            "probability_best": dict(self.probability_best),
            "probability_no_effect": summary.probability_no_effect,
            "prior_no_effect": summary.prior_no_effect,
            "n": summary.rows,
            "notes": notes_list(summary.notes),
        }

    def text(self, *, command: bool = False) -> str:
        """Return what each level does compared with the first, on one screen; `command` speaks as the command line."""
        return laid_out(self.screen(command=command))

    def screen(self, *, command: bool = False) -> Screen:
        """Return the parts of `text`."""
        summary = with_short_names(self.summary)
        return Screen(
            sentence=self._sentence,
            rows=tuple(self._rows(summary)),
            under=(self._best_line(summary.outcome), *adjusted_line(summary)),
            warnings=warnings(summary.notes, command=command),
            hidden="",
            more=(wording.on_command_line if command else wording.in_python)(_MORE),
        )

    def _rows(self, summary: EffectSummary) -> list[Row]:
        """Return what the levels do, compared with the first; of many, the first few."""
        own = [row for row in self.table.rows() if row["start"] == self.levels[0]]
        shown: list[Size] = [(short_name(str(row["stop"])), row["mean"], row["low"], row["high"]) for row in own]
        rest = [(f"{len(own) - _MOST_LEVELS} more levels", "in the table of all pairs")] * (len(own) > _MOST_LEVELS)
        return [*size_rows(summary, shown[:_MOST_LEVELS]), *rest, *no_effect_rows(summary)]

    def details(self, *, command: bool = False) -> str:
        """Return what each level does compared with the first, and every note; `command` as for `text`."""
        said = map(wording.on_command_line if command else wording.in_python, self._after())
        return "\n".join([_filled(self._sentence), "", str(self._against_first()), *map(_filled, said)])

    @property
    def _sentence(self) -> str:
        summary = with_short_names(self.summary)
        return (
            f"Changing {summary.treatment} from {short_name(self.levels[0])!r} to another level changes "
            f"{measured(summary)} by ({100 * summary.level:g}% interval):"
        )

    def _against_first(self) -> Table:
        own = [row for row in self.table.rows() if row["start"] == self.levels[0]]
        columns: dict[str, list[Any]] = {self.summary.treatment: [row["stop"] for row in own]}
        columns |= {name: [row[name] for row in own] for name in ("mean", "sd", "low", "high")}
        return Table(columns)

    def _after(self) -> list[str]:
        summary = self.summary
        found = [self._best(self.outcome), f"Answers are {scope(summary)}."]
        if summary.probability_no_effect is not None and summary.prior_no_effect != 0.0:
            found.append(f"P(no effect): {no_effect(summary, summary.probability_no_effect)}.")
        pair = wording.either("contrast(start, stop)", "--contrast START:STOP")
        found.append(f"{wording.either('contrasts()', '--json')} has all pairs, {pair} all about one of them.")
        return [*found, *(f"note: {note.marked}" for note in summary.notes)]

    def _best(self, outcome: str) -> str:
        best = ", ".join(f"{name} {sampled_percent(p)}" for name, p in self.probability_best.items())
        return f"{self._best_of(outcome)}: {best}."

    def _best_of(self, outcome: str) -> str:
        return f"P({'highest' if self.better == 'higher' else 'lowest'} {outcome})"

    def _best_line(self, outcome: str) -> str:
        """Say in one line which level is best: where there is no room for all, the most probable."""
        said, room = self._best(outcome), line_width()
        if len(said) <= room:
            return said
        ranked = sorted(self.probability_best.items(), key=lambda pair: -pair[1])
        named = [f"{short_name(name)} {sampled_percent(p)}" for name, p in ranked]
        lines = [f"{self._best_of(outcome)}: {some(named, most)}." for most in range(1, len(named))]
        return next((line for line in reversed(lines) if len(line) <= room), lines[0])

    def __str__(self) -> str:
        return f"{self.table}\n{_filled(self._best(self.outcome))}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}<p>{escape(self._best(self.outcome))}</p>"


def _filled(text: str) -> str:
    return fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)
