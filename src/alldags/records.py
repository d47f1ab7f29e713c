"""Records: what public methods return, in one place to import them from, for annotations and ``isinstance``.

Nobody makes one by hand: `Table` comes from `Effect.paths` and its like, `Quantity` from `Effect.on`, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.lazy import attach

if TYPE_CHECKING:
    from alldags.answers.mediated import Mediation
    from alldags.assumptions.placebo import Placebo
    from alldags.effects.clusters import ClusterCheck
    from alldags.effects.direct import DirectEffect
    from alldags.effects.intervention import Intervention
    from alldags.effects.jackknife import Jackknife
    from alldags.effects.link_check import LinkCheck
    from alldags.effects.new_unit import OutcomeDraws, YesNoOutcome
    from alldags.effects.open_pairs import OpenPair
    from alldags.effects.outcome import OutcomeDistribution
    from alldags.effects.quantity import Difference, Quantity
    from alldags.effects.regression import Regression
    from alldags.effects.top import TopGraph
    from alldags.notes import Note
    from alldags.results.decision import Decision, Plan
    from alldags.results.effect_checks import EffectChecks
    from alldags.results.exports import EffectExports
    from alldags.results.hidden import HiddenCauses
    from alldags.results.plots import EffectPlots, PosteriorPlots
    from alldags.results.probability import Probability
    from alldags.results.response import LongRun, Response, StepEffect, StepProbability
    from alldags.results.sensitivity import Sensitivity
    from alldags.results.uncertainty import Uncertainty
    from alldags.show.checks import CheckLine, Checks
    from alldags.show.contrasts import Contrasts
    from alldags.show.summary import EffectSummary
    from alldags.show.table import SquareTable, Table
    from alldags.sites import SiteRegression

_HOME = {
    "CheckLine": "alldags.show.checks",
    "Checks": "alldags.show.checks",
    "ClusterCheck": "alldags.effects.clusters",
    "Contrasts": "alldags.show.contrasts",
    "Decision": "alldags.results.decision",
    "Difference": "alldags.effects.quantity",
    "DirectEffect": "alldags.effects.direct",
    "EffectChecks": "alldags.results.effect_checks",
    "EffectExports": "alldags.results.exports",
    "EffectPlots": "alldags.results.plots",
    "EffectSummary": "alldags.show.summary",
    "HiddenCauses": "alldags.results.hidden",
    "Intervention": "alldags.effects.intervention",
    "Jackknife": "alldags.effects.jackknife",
    "LinkCheck": "alldags.effects.link_check",
    "LongRun": "alldags.results.response",
    "Mediation": "alldags.answers.mediated",
    "OutcomeDistribution": "alldags.effects.outcome",
    "OutcomeDraws": "alldags.effects.new_unit",
    "YesNoOutcome": "alldags.effects.new_unit",
    "Note": "alldags.notes",
    "OpenPair": "alldags.effects.open_pairs",
    "Placebo": "alldags.assumptions.placebo",
    "Plan": "alldags.results.decision",
    "PosteriorPlots": "alldags.results.plots",
    "Probability": "alldags.results.probability",
    "Quantity": "alldags.effects.quantity",
    "Regression": "alldags.effects.regression",
    "Response": "alldags.results.response",
    "Sensitivity": "alldags.results.sensitivity",
    "SiteRegression": "alldags.sites",
    "SquareTable": "alldags.show.table",
    "StepEffect": "alldags.results.response",
    "StepProbability": "alldags.results.response",
    "Table": "alldags.show.table",
    "TopGraph": "alldags.effects.top",
    "Uncertainty": "alldags.results.uncertainty",
}

__all__ = [
    "CheckLine",
    "Checks",
    "ClusterCheck",
    "Contrasts",
    "Decision",
    "Difference",
    "DirectEffect",
    "EffectChecks",
    "EffectExports",
    "EffectPlots",
    "EffectSummary",
    "HiddenCauses",
    "Intervention",
    "Jackknife",
    "LinkCheck",
    "LongRun",
    "Mediation",
    "Note",
    "OpenPair",
    "OutcomeDistribution",
    "OutcomeDraws",
    "Placebo",
    "Plan",
    "PosteriorPlots",
    "Probability",
    "Quantity",
    "Regression",
    "Response",
    "Sensitivity",
    "SiteRegression",
    "SquareTable",
    "StepEffect",
    "StepProbability",
    "Table",
    "TopGraph",
    "Uncertainty",
    "YesNoOutcome",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
