"""Built-in example, simulators and loaders of public data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alldags.datasets.smoking import Example, example

_HOME = {
    "Example": "smoking",
    "example": "smoking",
}

__all__ = ["Example", "example"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'alldags.datasets' has no attribute {name!r}")
    value: object = getattr(import_module(f"alldags.datasets.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
