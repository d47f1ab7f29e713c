"""`Checks`: what the data show of the assumptions behind an answer, as plain numbers and sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from alldags.errors import AlldagsError
from alldags.show.table import Table, html_table, text_table
from alldags.text import line_width, printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

KINDS = ("straight lines", "even noise", "outlying rows", "collinear causes", "independences", "overlap", "balance")
_MOST_SHOWN = 3  # findings of a kind that are printed in full; `to_table` has all
_MOST_NAMED = 6  # and named


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One check.

    Parameters
    ----------
    check
        What was looked at, one of `KINDS`.
    subject, against
        The regression or pair it is about, and what it was held against.
    measure, size
        What was measured, and what came out.
    p_value
        Probability that data which satisfy the assumption show as much; nan where nothing was tested.
    flagged
        Whether a reader should look at it: it is large enough to matter, and chance does not explain it.
    words
        The finding in a sentence.
    """

    check: str
    subject: str
    against: str
    measure: str
    size: float
    p_value: float
    flagged: bool
    words: str


@dataclass(frozen=True)
class Checks:
    """What the data show of the assumptions behind an answer. Made by `Posterior.checks`.

    Parameters
    ----------
    lines
        One for each thing that was looked at.
    rows
        Number of rows that were looked at; 0 if only moments were at hand.
    not_made
        What could not be looked at, and why.
    residual_bins
        By regression: mean fitted value, mean residual and its standard error of rows grouped by fitted value.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> checks = ad.fit(study.table, study.graph, rng=0).checks()
    >>> checks.ok
    True
    """

    lines: tuple[CheckLine, ...]
    rows: int
    not_made: tuple[str, ...] = ()
    residual_bins: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that a reader should look at."""
        return not self.findings

    @property
    def findings(self) -> tuple[CheckLine, ...]:
        """What a reader should look at."""
        return tuple(line for line in self.lines if line.flagged)

    def of(self, check: str) -> tuple[CheckLine, ...]:
        """Return the lines of one kind of check, such as ``"overlap"``."""
        return tuple(line for line in self.lines if line.check == check)

    def to_table(self) -> Table:
        """Return all checks, one a row."""
        names = ("check", "subject", "against", "measure", "size", "p_value", "flagged")
        return Table({name: [getattr(line, name) for line in self.lines] for name in names})

    def to_frame(self) -> pd.DataFrame:
        """Return all checks as a pandas frame, one a row; `to_table` gives other kinds."""
        return self.to_table().to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Return all checks as plain numbers and names, which JSON can hold."""
        rows = [{**row, "words": line.words} for row, line in zip(self.to_table().rows(), self.lines, strict=True)]
        finite = [{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in r.items()} for r in rows]
        return {"schema": "alldags.checks/1", "rows": self.rows, "checks": finite, "not_made": list(self.not_made)}

    def plot_residuals(self, child: str, ax: Axes | None = None) -> Axes:
        """Draw the residuals of one regression along its fitted values; needs the extra ``plot``."""
        from alldags.show.plots.checks import plot_residuals

        if child not in self.residual_bins:
            known = ", ".join(map(repr, self.residual_bins)) or "none"
            raise AlldagsError(f"the residuals of {child!r} were not looked at; those of: {known}")
        return plot_residuals(child, self.residual_bins[child], ax)

    def plot_balance(self, treatment: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw how far the arms of a 0/1 treatment differ in each covariate; needs the extra ``plot``."""
        from alldags.show.plots.checks import plot_balance

        lines = [line for line in self.of("balance") if treatment in (None, line.subject)]
        if not lines or len({line.subject for line in lines}) > 1:
            raise AlldagsError("name one treatment with the values 0 and 1 whose arms were compared")
        return plot_balance([line.against for line in lines], [line.size for line in lines], ax)

    def overview(self) -> tuple[tuple[str, ...], ...]:
        """Return one row a kind of check, as text: its name, how many were made, how many need a look."""
        made, found = Counter(line.check for line in self.lines), Counter(line.check for line in self.findings)
        return tuple((kind, f"{made[kind]}", f"{found[kind]}") for kind in KINDS if made[kind])

    def sentence(self) -> str:
        """Return how many checks were made, and how many need a look."""
        made, found = len(self.lines), len(self.findings)
        if not made:
            return "No check could be made."
        need = "nothing that needs a look" if not found else f"{found} that need{'s' if found == 1 else ''} a look"
        return f"{made} check{'s' if made > 1 else ''}: {need}."

    def __str__(self) -> str:
        width = line_width()
        parts = [self.sentence(), ""] if self.lines else [self.sentence()]
        if self.lines:
            parts += [text_table(["check", "made", "to look at"], self.overview())]
        parts += [fill(printable(f"- {text}"), width, subsequent_indent="  ") for text in self.texts()]
        parts += [fill(printable(f"not looked at: {text}"), width) for text in self.not_made]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        found = "".join(f"<li>{escape(text)}</li>" for text in self.texts())
        left = "".join(f"<p><small>not looked at: {escape(text)}</small></p>" for text in self.not_made)
        table = html_table(["check", "made", "to look at"], self.overview())
        return f"<div><p>{escape(self.sentence())}</p>{table}{f'<ul>{found}</ul>' if found else ''}{left}</div>"

    def texts(self) -> list[str]:
        """Return the findings that are printed: a few of each kind, the largest first."""
        texts = []
        for kind in KINDS:
            found = sorted((line for line in self.findings if line.check == kind), key=_place)
            texts += [line.words for line in found[:_MOST_SHOWN]]
            if len(found) > _MOST_SHOWN:
                rest = ", ".join(_name(line) for line in found[_MOST_SHOWN:][:_MOST_NAMED])
                more = ", ..." if len(found) > _MOST_SHOWN + _MOST_NAMED else ""
                texts.append(f"{kind}, {len(found) - _MOST_SHOWN} more: {rest}{more}")
        return texts


def _place(line: CheckLine) -> tuple[float, float]:
    return (line.p_value if math.isfinite(line.p_value) else 0.0), -abs(line.size)


def _name(line: CheckLine) -> str:
    return line.subject if line.check == "independences" else f"{line.subject} against {line.against}"
