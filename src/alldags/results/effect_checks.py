"""`Effect.checks`: the same question asked in other ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from alldags.assumptions.placebo import Placebo, placebo
from alldags.assumptions.stability import stability
from alldags.effects.link_check import LinkCheck
from alldags.errors import AlldagsError
from alldags.results.linked import effect_link_check
from alldags.show.table import Table
from alldags.typing import RandomSource

if TYPE_CHECKING:
    from alldags.results.effect import Effect


@dataclass(frozen=True, eq=False)
class EffectChecks:
    """The same question asked in other ways; obtained as `Effect.checks`."""

    effect: Effect

    def stability(self) -> Table:
        """Return the answer under other edge probabilities, slabs and engine, and without the link; a note if it turns.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> table = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").checks.stability()
        >>> table["variant"][:3]
        ['as fitted', 'edge odds a third', 'edge odds 3 times']
        >>> table.note
        ''
        """
        return stability(self.effect)

    def placebo(self, permutations: int = 20, rng: RandomSource = None) -> Placebo:
        """Return what becomes of the effect when the treatment's values are dealt out anew among the rows.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> placebo = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").checks.placebo(19, rng=1)
        >>> placebo.p_value, max(map(abs, placebo.means)) < 0.3
        (0.05, True)
        """
        return placebo(self.effect, permutations, rng)

    @cached_property
    def confounder_link(self) -> LinkCheck:
        """The effect with and without the confounder link; a shift means weak confounders, or instruments.

        The link (`Prior.link`) takes every covariate that drives the treatment for a possible confounder. If the answer
        does not depend on it, that is good news; if it does, so does the truth: see "Many weak confounders".

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> bool(abs(effect.checks.confounder_link.shift) < 0.5)
        True
        """
        return effect_link_check(self.effect)

    @cached_property
    def straight_line(self) -> Effect:
        """The answer with straight lines through all children, as ``families="normal"`` without terms gives it."""
        if not self.effect.posterior.workings.data.has_values(self.effect.outcome):
            raise AlldagsError(
                f"a straight line through {self.effect.outcome!r} would take times of censored rows for those of "
                "events; use the effect itself"
            )
        return self.effect.posterior.asked(replace(self.effect._question, straight=True))
