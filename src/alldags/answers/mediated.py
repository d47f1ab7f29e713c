"""`Mediation`: how much of an effect runs through some variables between treatment and outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Literal, TypeAlias

import numpy as np

from alldags import checks
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.notes import Note
from alldags.show.numbers import to_precision, whole_percent
from alldags.show.screen import Screen, laid_out, short_name, warnings
from alldags.show.table import Table
from alldags.text import some
from alldags.typing import FloatArray

Kind: TypeAlias = Literal["natural", "interventional"]
KINDS = ("natural", "interventional")
_MOST_PARTS = 3  # on one screen
_SHARE_NOTE = Note(
    "the total effect may be zero: the share that is mediated says little, look at direct and indirect effect", "check"
)


@dataclass(frozen=True, eq=False)
class Mediation:
    """An effect divided into what runs through some variables and what does not. Made by `Effect.mediation`.

    In every draw ``direct + indirect = total``, and `parts` add up to `indirect`.

    Parameters
    ----------
    treatment, outcome
        Names.
    through
        The mediators, causes first.
    kind
        ``"natural"`` or ``"interventional"``.
    total
        The whole effect. Of interventional effects: that of giving each row mediators drawn from those that rows like
        it have under the high value, in place of the low one, together with the treatment.
    direct
        What is left if the mediators stay as they are under the low value.
    indirect
        What is lost by that: what runs through at least one of them.
    parts
        For each mediator what is lost if it stays as well, those before it staying already: what runs through it and
        through none before it.
    assumptions
        What the division rests on, beside what the total effect does.
    notes
        What a reader should know.
    words
        What is compared, in words.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> found = effect.mediation(through=["tar"], products=False)
    >>> round(found.total.mean, 2), round(found.direct.mean, 2), round(found.indirect.mean, 2)
    (0.89, 0.36, 0.53)
    >>> round(found.share.median, 1)
    0.6
    """

    treatment: str
    outcome: str
    through: tuple[str, ...]
    kind: Kind
    total: Quantity
    direct: Quantity
    indirect: Quantity
    parts: Mapping[str, Quantity]
    assumptions: tuple[str, ...]
    notes: tuple[Note, ...]
    words: str
    _leverage: FloatArray | str = field(repr=False)

    @cached_property
    def share(self) -> Quantity:
        """Share of the total effect that is mediated, a ratio of which the median and the interval say most.

        Draws in which there is no effect at all have none.
        """
        there = self.total.draws != 0.0
        ratio = self.indirect.draws[there] / self.total.draws[there]
        return Quantity(ratio if there.any() else np.array([math.nan]), (_SHARE_NOTE,) * self._may_be_zero)

    @property
    def _may_be_zero(self) -> bool:
        low, high = self.total.interval()
        return low <= 0.0 <= high

    def sensitivity(self, rho: Sequence[float] = (-0.5, -0.3, -0.1, 0.0, 0.1, 0.3, 0.5), level: float = 0.95) -> Table:
        """Return both parts if something unmeasured acted on mediator and outcome.

        Such a cause makes the errors of the two correlate; the data do not say by how much. It leaves the total effect
        as it is, and moves what it books as indirect by ``rho / sqrt(1 - rho**2)`` times the noise of the outcome over
        that of the mediator, times what the treatment does to the mediator (Imai, Keele and Yamamoto 2010).

        Parameters
        ----------
        rho
            Correlations of the errors of mediator and outcome, between -1 and 1.
        level
            Probability that the intervals hold.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> table = effect.mediation(through=["tar"], products=False).sensitivity([0.0, 0.2])
        >>> [round(x, 1) for x in table["indirect"]]
        [0.5, 0.1]
        """
        if isinstance(self._leverage, str):
            raise AlldagsError(self._leverage)
        rows = []
        for one in rho:
            if not -1.0 < checks.finite("rho", one) < 1.0:
                raise AlldagsError(f"rho is a correlation, between -1 and 1, got {one!r}")
            shift = one / math.sqrt(1.0 - one**2) * self._leverage
            found = Quantity(self.direct.draws + shift), Quantity(self.indirect.draws - shift)
            rows.append([one, *(value for part in found for value in (part.mean, *part.interval(level)))])
        names = ("rho", "direct", "direct_low", "direct_high", "indirect", "indirect_low", "indirect_high")
        zero = self.indirect.mean / float(self._leverage.mean()) if self._leverage.any() else math.inf
        note = f"the indirect effect would be zero at rho = {zero / math.hypot(1.0, zero):.2f}" * math.isfinite(zero)
        return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, note)

    # -- showing -------------------------------------------------------------------------------------------------------

    def table(self, level: float = 0.95) -> Table:
        """Return total, direct and indirect effect and the parts: mean, sd and interval."""
        found = {"total": self.total, "direct": self.direct, "indirect": self.indirect}
        found |= {f"through {name}": part for name, part in self.parts.items()} if len(self.parts) > 1 else {}
        ends = [one.interval(level) for one in found.values()]
        columns: dict[str, list[object]] = {"effect": list(found), "mean": [one.mean for one in found.values()]}
        columns |= {"sd": [one.sd for one in found.values()]}
        return Table(columns | {"low": [low for low, _ in ends], "high": [high for _, high in ends]})

    def __str__(self) -> str:
        names = _listed([*map(short_name, self.through)])
        total, share = to_precision(self.total.mean, self.total.sd), whole_percent(self.share.median)
        runs = f"{to_precision(self.indirect.mean, self.indirect.sd)} of {total} ({share}) runs through {names}"
        first = f"{self.words}: of the effect on {short_name(self.outcome)}, {runs} ({self.kind} effects)."
        return laid_out(
            Screen(
                sentence=first[:1].upper() + first[1:],
                rows=tuple(self._rows()),
                under=(f"It holds if {', and if '.join(self.assumptions)}.",),
                warnings=warnings((*self.share.notes, *self.notes)),
                hidden="",
                more="More: .parts, .share, .assumptions, .notes, .sensitivity()",
            )
        )

    __repr__ = __str__

    def _rows(self) -> list[tuple[str, str]]:
        shown = {"total": self.total, "direct": self.direct, "indirect": self.indirect}
        if len(self.parts) > 1:
            shown |= {f"  first {short_name(name)}": self.parts[name] for name in self.through[:_MOST_PARTS]}
        rows = [(name, _sized(one)) for name, one in shown.items()]
        low, high = map(whole_percent, self.share.interval())
        return [*rows, ("share mediated", f"{whole_percent(self.share.median)} ({low} to {high})")]

    def _repr_html_(self) -> str:
        return f"{self.table()._repr_html_()}" + f"<p>It holds if {escape(', and if '.join(self.assumptions))}.</p>"


def _sized(value: Quantity) -> str:
    low, high = (to_precision(end, value.sd) for end in value.interval())
    return f"{to_precision(value.mean, value.sd)} ({low} to {high})"


def assumptions_of(treatment: str, outcome: str, through: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """Return what a division of an effect rests on, beside what the effect itself does.

    Examples
    --------
    >>> from alldags.answers.mediated import assumptions_of
    >>> for text in assumptions_of("x", "y", ["m"], "natural"):
    ...     print(text)
    nothing unmeasured acts on two of x, m and y
    nothing else that x moves acts on m and on y
    """
    first = f"nothing unmeasured acts on two of {_listed([treatment, *through, outcome])}"
    second = f"nothing else that {treatment} moves acts on {' or '.join(through)} and on {outcome}"
    return (first, second) if kind == "natural" else (first,)


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Return names with commas and "and"; of very many, the first."""
    if len(names) > most:
        return some(names, most)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
