"""Methods side by side on one setting: error of the average effect, intervals, effects of rows, time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replication.methods import METHODS, REFERENCE, TERMS
from replication.runner import Result, Task
from replication.summary import interval_quality, markdown, number, standard_error, with_error

HEAD = (
    *("method", "data sets", "mean squared error", "less that of curves", "median", "mean error"),
    *("intervals that hold the truth", "their length", "root PEHE", "CPU seconds"),
)
LEGEND = (
    "Error of the average effect over the rows used; ± standard error. Less that of curves: paired difference of "
    "squared errors on the data sets both did, positive where curves are closer. Root PEHE: root mean squared error of "
    "the effects of single rows, averaged over data sets. CPU seconds: median.\n"
)


def comparison_table(results: Sequence[Result]) -> str:
    """Return a Markdown table with a line per prior and method."""
    lines = {key: _of(results, *key) for key in dict.fromkeys((r.prior, r.method) for r in _ordered(results))}
    curves = {r.task: r for r in lines.get(("default", TERMS), [])}
    body = [[_label(*key), *_cells(mine, curves, key[1] == TERMS)] for key, mine in lines.items()]
    return markdown(HEAD, body)


def sets_table(results: Sequence[Result]) -> str:
    """Return, over data sets that differ in scale, medians and ratios: a line per prior and method."""
    base = {r.group: r.squared_error for r in results if r.method == "least_squares"}
    body = []
    for key in dict.fromkeys((r.prior, r.method) for r in _ordered(results)):
        mine = [r for r in _of(results, *key) if math.isfinite(r.estimate)]
        ratios = [r.squared_error / base[r.group] for r in mine if r.group in base]
        covered, _ = interval_quality(mine)
        cells = [
            str(len(mine)),
            number(float(np.median([r.squared_error for r in mine]))) if mine else "",
            number(float(np.median(ratios))) if ratios else "",
            "" if math.isnan(covered) else f"{round(covered * sum(not math.isnan(r.low) for r in mine))}",
            number(float(np.median([r.seconds for r in mine]))) if mine else "",
        ]
        body.append([_label(*key), *cells])
    head = ["method", "sets", "median squared error", "median ratio to least squares'", "hold the truth", "CPU seconds"]
    return markdown(head, body)


def _of(results: Sequence[Result], prior: str, method: str) -> list[Result]:
    return [r for r in results if (r.prior, r.method) == (prior, method)]


def _label(prior: str, method: str) -> str:
    label = "straight lines" if method == REFERENCE else METHODS[method].label
    return label if prior in ("none", "default") else f"{label}, {prior}"


def _cells(everything: Sequence[Result], curves: dict[Task, Result], is_curves: bool) -> list[str]:
    found = [r for r in everything if math.isfinite(r.estimate)]
    failed = f" ({len(everything) - len(found)} failed)" if len(found) < len(everything) else ""
    if not found:
        return [f"0{failed}", *("",) * (len(HEAD) - 2)]
    errors = np.array([r.squared_error for r in found])
    misses = np.array([r.estimate - r.truth for r in found])
    covered, length = interval_quality(found)
    return [
        f"{len(found)}{failed}",
        with_error(float(errors.mean()), standard_error(errors)),
        "" if is_curves else _difference(found, curves),
        number(float(np.median(errors))),
        with_error(float(misses.mean()), standard_error(misses), sign=True),
        "" if math.isnan(covered) else f"{100 * covered:.0f}%",
        number(length),
        _mean_pehe(found),
        number(float(np.median([r.seconds for r in everything]))),
    ]


def _difference(found: Sequence[Result], curves: dict[Task, Result]) -> str:
    both = [r for r in found if r.task in curves and math.isfinite(curves[r.task].estimate)]
    if not both:
        return ""
    paired = np.array([r.squared_error - curves[r.task].squared_error for r in both])
    return with_error(float(paired.mean()), standard_error(paired), sign=True)


def _mean_pehe(found: Sequence[Result]) -> str:
    have = [r.pehe for r in found if not math.isnan(r.pehe)]
    return number(float(np.mean(have))) if have else ""


def _ordered(results: Sequence[Result]) -> list[Result]:
    position = {name: i for i, name in enumerate(METHODS)}
    return sorted(results, key=lambda r: (r.prior == "none", position[r.method]))
