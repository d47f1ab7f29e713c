"""Columns that are measured with error: cross-products as they would be without it.

A column ``x* = x + e`` with independent error ``e`` has the cross-products of ``x`` with all others, and a variance
that is larger by that of ``e``. Taking that out of the diagonal gives the moments of what was meant to be measured, of
which straight regressions with normal noise are made (Fuller 1987). How uncertain an effect is then, rows say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from alldags import checks
from alldags.errors import DataError, did_you_mean
from alldags.nodes.data import ChildData, WorkingData
from alldags.notes import Note
from alldags.wording import option

_MOST = 0.98  # of what a column does not share with the others, that may be error
_ROUNDING = 1e-10  # of a variance: columns of which so little is their own follow from each other


@dataclass(frozen=True)
class Errors:
    """What was said of errors of measurement.

    Parameters
    ----------
    reliability
        Of some variables: the share of their variance that is not error.
    error_sd
        Of others: standard deviation of the error, in the user's units.
    """

    reliability: Mapping[str, float] = field(default_factory=dict)
    error_sd: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def said(cls, reliability: Any, error_sd: Any, variables: Sequence[str]) -> Errors:
        """Return what was said, or what is wrong with it."""
        found = cls(_mapping("reliability", reliability), _mapping("error_sd", error_sd))
        for word, given in (("reliability", found.reliability), ("error_sd", found.error_sd)):
            for name, value in given.items():
                if name not in variables:
                    other = did_you_mean(name, variables)
                    raise DataError(f"{word} is said of {name!r}, which is not in the graph{other}")
                _checked(word, name, value)
        for name in found.reliability.keys() & found.error_sd.keys():
            raise DataError(f"{name!r} stands in both reliability and error_sd; say one of them")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that are measured with error."""
        return (*self.reliability, *self.error_sd)

    def asked(self, robust: bool) -> dict[str, tuple[str, ...]]:
        """Return what has to go with it, by the names of `alldags.meetings`."""
        return {"errors": self.names} | ({} if robust else {"not robust": ()}) if self.names else {}

    def out_of(self, data: WorkingData) -> WorkingData:
        """Return the data as they would be without errors."""
        if not self.names:
            return data
        shares = {name: 1.0 - value for name, value in self.reliability.items()}
        shares |= {name: (value / data.deviation(name)) ** 2 for name, value in self.error_sd.items()}
        _check_numbers(data, shares)
        _check_left(data, shares)
        variance = {name: share * _variance(data.pooled, name) for name, share in shares.items()}
        own = {child: rows and _cleaned(rows, variance) for child, rows in data.own.items()}
        unset = data.unset and partial(_cleaned_rows, data.unset, variance)
        return replace(data, pooled=_cleaned(data.pooled, variance), own=own, unset=unset, errors=shares)


def _mapping(word: str, given: Any) -> Mapping[str, float]:
    if given is not None and not isinstance(given, Mapping):
        example = {"reliability": 0.8, "error_sd": 1.5}[word]
        raise DataError(f"{word} must be a mapping such as {{'x': {example}}}, got {given!r}")
    return given or {}


def _checked(word: str, name: str, value: Any) -> None:
    if isinstance(value, Sequence):
        raise DataError(
            f"{word} of {name!r} must be a number, got {value!r}; of several measurements of one thing put the mean "
            f"into the column {name!r}, and say as error_sd what single rows differ by between them, over the root of "
            "their number"
        )
    most = 1.0 if word == "reliability" else np.inf
    if not 0.0 < checks.finite(f"{word} of {name!r}", value) <= most:
        said = "above 0 and at most 1" if word == "reliability" else "positive"
        raise DataError(f"{word} of {name!r} must be {said}, got {value!r}")


def _variance(rows: ChildData, name: str) -> float:
    place = rows.index[name]
    return float(rows.scatter[place, place]) / max(rows.n, 1.0)


def _cleaned(rows: ChildData, variance: Mapping[str, float]) -> ChildData:
    scatter = rows.scatter.copy()
    for name, value in variance.items():
        scatter[rows.index[name], rows.index[name]] -= rows.n * value
    return replace(rows, scatter=scatter)


def _cleaned_rows(
    unset: Callable[[Collection[str]], ChildData | None], variance: Mapping[str, float], names: Collection[str]
) -> ChildData | None:
    found = unset(names)
    return found and _cleaned(found, variance)


def _check_numbers(data: WorkingData, shares: Mapping[str, float]) -> None:
    """Refuse errors in what has few values: they would be mistaken for another value, not moved."""
    for name in shares:
        kind = "a category" if name in data.categories else "yes/no" if data.look(name).two_values else ""
        if kind:
            raise DataError(
                f"{name!r} is {kind}, and errors in it are not those of a number: values are mistaken for others, more "
                f"often where there are more of them; leave it out of {option('reliability')}"
            )


def _check_left(data: WorkingData, shares: Mapping[str, float]) -> None:
    """Refuse more error than there is in what a column does not share with the others."""
    root = np.sqrt(np.diag(data.pooled.scatter))
    correlation = data.pooled.scatter / np.outer(root, root)
    error = np.zeros(len(root))
    error[[data.pooled.index[name] for name in shares]] = list(shares.values())
    half = np.sqrt(error)
    values, vectors = np.linalg.eigh(correlation)
    stretched = (half[:, None] * vectors) / np.sqrt(np.maximum(values, _ROUNDING))
    largest = float(np.linalg.eigvalsh(stretched @ stretched.T)[-1])
    if largest < _MOST:
        return
    least = {name: 1.0 - share * _MOST / largest for name, share in shares.items()}
    said = ", ".join(f"{np.ceil(100.0 * value) / 100.0:g} of {name!r}" for name, value in least.items())
    raise DataError(
        "so much error cannot be: columns that go together as these do have less of it. The least "
        f"reliability that would do is {said}; raise {option('reliability')}, or make error_sd smaller"
    )


def error_note(data: WorkingData) -> tuple[Note, ...]:
    """Say what was taken to be measured with error."""
    if not data.errors:
        return ()
    listed = ", ".join(f"{name} (reliability {1.0 - share:.2g})" for name, share in data.errors.items())
    text = f"taken as measured with error: {listed}; effects are those of what was meant to be measured"
    return (Note(text, "check"),)
