"""`Effect.checks`: the same question asked in other ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from alldags.answers.levels import change_of, is_category
from alldags.assumptions.notes import no_line, through_levels
from alldags.assumptions.placebo import Placebo, placebo
from alldags.assumptions.stability import stability
from alldags.effects.link_check import LinkCheck
from alldags.effects.regression import Regression, adjustment_set, combined, least_squares, variables_between
from alldags.errors import AlldagsError
from alldags.results.linked import effect_link_check
from alldags.show.checks import Checks
from alldags.show.table import Table
from alldags.typing import RandomSource

if TYPE_CHECKING:
    from alldags.results.effect import Effect


@dataclass(frozen=True, eq=False)
class EffectChecks:
    """The same question asked in other ways; obtained as `Effect.checks`."""

    effect: Effect

    def __call__(self) -> Checks:
        """Return what the data say against the regressions of treatment and outcome; see `Posterior.checks`."""
        return self.effect.posterior.checks(self.effect.treatment, self.effect.outcome)

    def __repr__(self) -> str:
        names = "stability(), placebo(), confounder_link, straight_line, least_squares"
        return f"checks of the effect of {self.effect.treatment} on {self.effect.outcome}: checks() itself, {names}"

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
        if levels := through_levels(self.effect):
            raise AlldagsError(
                f"no straight line goes through the levels of {levels[0]!r}, so that it is not known what the link "
                "moves; compare with a fit with Prior(link=0.0)"
            )
        return effect_link_check(self.effect)

    @cached_property
    def straight_line(self) -> Effect:
        """The answer with straight lines through all children, as ``families="normal"`` without terms gives it."""
        if why := no_line(self.effect):
            raise AlldagsError(f"no straight line goes through {why}; use the effect itself")
        return self.effect.posterior.asked(replace(self.effect._question, straight=True))

    @cached_property
    def least_squares(self) -> Regression | None:
        """Least squares of the outcome on the treatment and every candidate covariate; None with too few rows.

        Covariates are the candidate parents of treatment, outcome and the variables between them that the treatment
        cannot act on.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None).effect("smoking", "risk")
        >>> effect.checks.least_squares.covariates
        ('age', 'sex', 'income')
        """
        effect = self.effect
        if effect._question.on_link or effect._is_open:
            return None
        return least_squares_on(effect, adjustment_set(effect.posterior.graphs, effect.treatment, effect.outcome))


def least_squares_on(effect: Effect, covariates: Sequence[str]) -> Regression | None:
    """Return least squares of the outcome on the treatment and some covariates; None with too few rows."""
    workings, question = effect.posterior.workings, effect._question
    if not workings.data.has_values(effect.outcome):
        return None
    between = variables_between(effect.posterior.graphs, effect.treatment, effect.outcome)
    names = effect.treatment, effect.outcome, covariates, between
    changes = [change_of(data, question) if is_category(data, question) else None for data in workings.tables]
    pairs = zip(workings.tables, changes, strict=True)
    found = combined([least_squares(data.straight, *names, own) for data, own in pairs])
    stretch = effect.uncertainty.stretch
    return found if found is None or stretch is None else found.widened(stretch.factor)
