"""`Asked`: what `fit` was asked, as the Python that asks it again."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PLAIN = (str, int, float, bool, type(None))
_LONGEST = 200  # characters of a value that is written out


@dataclass(frozen=True, slots=True)
class Asked:
    """What `fit` was asked beside the graph, the prior, the engine and the seed.

    Parameters
    ----------
    table
        Name of the file; empty for a table in memory.
    options
        Names of the other arguments that were given, with their values as Python; a value that cannot be written down
        stands as the argument's own name.
    """

    table: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def unwritten(self) -> tuple[str, ...]:
        """The arguments whose values cannot be written down."""
        return tuple(name for name, value in self.options if name == value)

    def also(self, name: str, value: Any) -> Asked:
        """Return it with another value of one argument."""
        others = tuple(pair for pair in self.options if pair[0] != name)
        return Asked(self.table, (*others, (name, _written(value) or name)))

    @property
    def arguments(self) -> str:
        """The options as they stand in a call, each after a comma."""
        return "".join(f", {name}={value}" for name, value in self.options)


def asked_of(table: Any, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Asked:
    """Write down what was asked.

    Examples
    --------
    >>> from alldags.recipes.asked import asked_of
    >>> asked_of("study.csv", {"terms": "auto", "missing": "raise"}, {"terms": None, "missing": "raise"}).arguments
    ", terms='auto'"
    """
    name = Path(table).name if isinstance(table, str | os.PathLike) else ""
    given = {key: value for key, value in options.items() if not _is_default(value, defaults[key])}
    return Asked(name, tuple((key, _written(value) or key) for key, value in given.items()))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, (*_PLAIN, tuple)) and value == default)


def _written(value: Any) -> str:
    """Return a value as Python; empty if it is none that can be read again."""
    if not _is_written(value):
        return ""
    text = re.sub(r"(?<![\w.'\"])([A-Z]\w+)\(", r"ad.\1(", repr(value))
    return text if len(text) <= _LONGEST else ""


def _is_written(value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(value, dict) and all(_is_written(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return all(map(_is_written, value))
    return isinstance(value, _PLAIN) or type(value).__module__.startswith("alldags.")
