"""Built-in example, simulators and loaders of public data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.lazy import attach

if TYPE_CHECKING:
    from alldags.datasets.challenge import ACIC_SETTINGS, acic
    from alldags.datasets.paper import PaperSample, paper_graph, paper_sample
    from alldags.datasets.public import LBIDD_SETS, TreatmentData, ihdp, lbidd
    from alldags.datasets.smoking import Example, example
    from alldags.datasets.textbooks import causaldata
    from alldags.datasets.trials import Signalling, lalonde, sachs

_HOME = {
    "ACIC_SETTINGS": "alldags.datasets.challenge",
    "Example": "alldags.datasets.smoking",
    "LBIDD_SETS": "alldags.datasets.public",
    "PaperSample": "alldags.datasets.paper",
    "Signalling": "alldags.datasets.trials",
    "TreatmentData": "alldags.datasets.public",
    "acic": "alldags.datasets.challenge",
    "causaldata": "alldags.datasets.textbooks",
    "example": "alldags.datasets.smoking",
    "ihdp": "alldags.datasets.public",
    "lalonde": "alldags.datasets.trials",
    "lbidd": "alldags.datasets.public",
    "paper_graph": "alldags.datasets.paper",
    "paper_sample": "alldags.datasets.paper",
    "sachs": "alldags.datasets.trials",
}

__all__ = [
    "ACIC_SETTINGS",
    "LBIDD_SETS",
    "Example",
    "PaperSample",
    "Signalling",
    "TreatmentData",
    "acic",
    "causaldata",
    "example",
    "ihdp",
    "lalonde",
    "lbidd",
    "paper_graph",
    "paper_sample",
    "sachs",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
