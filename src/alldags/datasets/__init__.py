"""Built-in example, simulators and loaders of public data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alldags.datasets.paper import PaperSample, paper_graph, paper_sample
    from alldags.datasets.public import LBIDD_SETS, TreatmentData, ihdp, lbidd
    from alldags.datasets.smoking import Example, example

_HOME = {
    "Example": "smoking",
    "LBIDD_SETS": "public",
    "PaperSample": "paper",
    "TreatmentData": "public",
    "example": "smoking",
    "ihdp": "public",
    "lbidd": "public",
    "paper_graph": "paper",
    "paper_sample": "paper",
}

__all__ = [
    "LBIDD_SETS",
    "Example",
    "PaperSample",
    "TreatmentData",
    "example",
    "ihdp",
    "lbidd",
    "paper_graph",
    "paper_sample",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'alldags.datasets' has no attribute {name!r}")
    value: object = getattr(import_module(f"alldags.datasets.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
