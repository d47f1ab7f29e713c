"""An effect that is a difference of risk on other scales: the log-odds, and under straight lines."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from alldags.effects.link_check import LinkCheck, link_check
from alldags.effects.total import TotalEffect
from alldags.engines.families.posterior import FamilyDiagnostics
from alldags.errors import AlldagsError
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.results.contrast import Contrast
from alldags.results.effect import Effect
from alldags.results.summarize import computed_line, engine_names
from alldags.show.summary import NotNormal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alldags.effects.regression import Regression
    from alldags.results.intervention import Intervention
    from alldags.results.sensitivity import Sensitivity


def not_normal(effect: Effect) -> tuple[NotNormal, ...]:
    """Return the variables on the way to the outcome, and itself, that are not normal."""
    found: dict[str, NotNormal] = {}
    for total in effect._totals.items:
        for child in total.span.reached:
            diagnostics = total.model.node(child).diagnostics
            if isinstance(diagnostics, FamilyDiagnostics) and child in total.model.data.families:
                found[child] = NotNormal(child, diagnostics.family, diagnostics.events, diagnostics.rows)
    return tuple(found.values())


def computed_words(effect: Effect) -> str:
    """Say how the regressions were computed: those that are not normal by weighted draws, unless they were sampled."""
    return computed_line(engine_names(effect).values())


class LinkEffect(Effect):
    """A total effect on the log-odds of a yes/no outcome, or on the log rate of a count."""

    _no_risks = "this is the effect on the scale of its regression; ask for it of the effect itself"

    @property
    def _models(self) -> Mixture[FittedGraph]:
        return self.posterior._linked_models(self.treatment)

    @property
    def measure(self) -> str:  # type: ignore[override]
        """``"log-odds"`` or ``"log rate"``."""
        return self.posterior._data.families[self.outcome].family.link_words

    def _summary_fields(self, level: float) -> dict[str, Any]:
        del level
        return {"not_normal": not_normal(self), "least_squares_alone": None, "computed": computed_words(self)}

    def standardized(self, level: float = 0.95) -> Contrast:
        """Return what one standard deviation of the treatment does to the log-odds (log rate), which has no unit."""
        return self.contrast(0.0, self.posterior._data.deviation(self.treatment), level)

    @property
    def regression(self) -> Regression | None:
        """None: least squares is about other units."""
        return None

    def sensitivity(self, hits: Iterable[str] | None = None, draws: int = 20_000) -> Sensitivity:
        """Refused: what a hidden cause does to log-odds is not worked out yet."""
        del hits, draws
        raise AlldagsError(
            "sensitivity to a hidden cause is about straight lines; fit with families='normal' to ask for it"
        )

    def do(self, x: float | str, draws_size: int | None = None) -> Intervention:
        """Refused: risks are where a new unit's outcome is."""
        del x, draws_size
        raise AlldagsError(
            f"do() is about the outcome, not its {self.measure}: ask it of posterior.effect({self.treatment!r}, "
            f"{self.outcome!r}) itself"
        )


class StraightEffect(Effect):
    """The effect under straight lines through all children."""

    _no_risks = "this is the straight line through it; ask for it of the effect itself"

    @cached_property
    def _unit(self) -> float:
        return self.posterior._data.straight.unit(self.treatment, self.outcome)

    @cached_property
    def link_check(self) -> LinkCheck:
        models = self.posterior._models.map(FittedGraph.straight)
        plain = models.map(lambda model: TotalEffect.of(model, self.treatment, self.outcome))
        return link_check(self._totals, plain, self._unit, self.sd)
