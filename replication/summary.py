"""From results to tables: means, medians, paired differences with standard errors, coverage."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from alldags.typing import FloatArray
from replication.methods import METHODS, PRIORS, REFERENCE
from replication.runner import Result

Key = tuple[str, int, str, str]


@dataclass(frozen=True, slots=True)
class Summary:
    """One method at one sample size.

    Parameters
    ----------
    group, size, prior, method
        What was run.
    replications, failures
        How many data sets gave a number, and how many did not; the latter are left out of everything else.
    mean, standard_error
        Of the squared error.
    median
        Of the squared error.
    difference, difference_error
        Mean and standard error of the paired difference of squared errors, this method less Bayes optimal (with the
        same prior; methods without a prior, and Bayes optimal with another prior, against Bayes optimal with the
        paper's). Positive: Bayes optimal is better.
    coverage, length
        Share of 95% intervals that contain the truth, and their mean length; nan without intervals.
    seconds
        Median time of one estimate (the mean would show the compilation of the first).
    """

    group: str
    size: int
    prior: str
    method: str
    replications: int
    failures: int
    mean: float
    standard_error: float
    median: float
    difference: float
    difference_error: float
    coverage: float
    length: float
    seconds: float

    @property
    def label(self) -> str:
        """The method's name for people."""
        return METHODS[self.method].label


def summarize(results: Iterable[Result], reference: str = REFERENCE) -> list[Summary]:
    """Return one summary per group, size, prior and method, in the order of the methods; differences to `reference`."""
    cells: dict[Key, dict[int, Result]] = defaultdict(dict)
    for result in results:
        cells[result.group, result.size, result.prior, result.method][result.replication] = result
    rows = [_summarize_cell(key, cell, _reference(cells, key, reference)) for key, cell in cells.items()]
    position = {name: i for i, name in enumerate(METHODS)}
    priors = {name: i for i, name in enumerate(PRIORS)}
    return sorted(rows, key=lambda row: (row.group, row.size, priors.get(row.prior, len(priors)), position[row.method]))


def _reference(cells: dict[Key, dict[int, Result]], key: Key, reference: str) -> dict[int, Result]:
    group, size, prior, method = key
    same = prior != "none" and method != reference
    return cells.get((group, size, prior if same else "paper", reference), {})


def _summarize_cell(key: Key, everything: dict[int, Result], reference: dict[int, Result]) -> Summary:
    cell = {i: result for i, result in everything.items() if math.isfinite(result.estimate)}
    errors = np.array([result.squared_error for result in cell.values()])
    paired = [r.squared_error - reference[i].squared_error for i, r in cell.items() if i in reference]
    paired = [difference for difference in paired if math.isfinite(difference)]
    covered, length = interval_quality(list(cell.values()))
    return Summary(
        *key,
        replications=len(errors),
        failures=len(everything) - len(cell),
        mean=float(errors.mean()) if cell else math.nan,
        standard_error=standard_error(errors),
        median=float(np.median(errors)) if cell else math.nan,
        difference=float(np.mean(paired)) if paired else math.nan,
        difference_error=standard_error(np.array(paired)),
        coverage=covered,
        length=length,
        seconds=float(np.median([result.seconds for result in everything.values()])),
    )


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a mean; nan for fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def interval_quality(results: Sequence[Result]) -> tuple[float, float]:
    """Return coverage and mean length of the intervals among the results; nan if there are none."""
    have = [result for result in results if not math.isnan(result.low)]
    if not have:
        return math.nan, math.nan
    covered = [result.low <= result.truth <= result.high for result in have]
    return float(np.mean(covered)), float(np.mean([result.high - result.low for result in have]))


def beaten(rows: Iterable[Summary], errors: float = 2.0) -> list[Summary]:
    """Return the rows in which a method is better than Bayes optimal by more than `errors` standard errors."""
    return [row for row in rows if row.difference < -errors * row.difference_error]


# -- text ------------------------------------------------------------------------------------------------------------


def to_csv(rows: Sequence[Summary]) -> str:
    """Return all numbers as CSV, one line per summary."""
    lines = [",".join(field.name for field in fields(Summary))]
    lines += [",".join(_cell(value) for value in asdict(row).values()) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Return three significant digits, without exponents where that is short."""
    if math.isnan(value):
        return ""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        digits = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.2e}"


def with_error(value: float, error: float, *, sign: bool = False) -> str:
    """Return ``value ± error`` with the digits the error deserves."""
    if math.isnan(value):
        return ""
    if math.isnan(error) or error <= 1e-9 * abs(value):
        return number(value)
    digits = max(0, 1 - math.floor(math.log10(abs(error))))
    if digits > 7 or abs(value) >= 1e6:
        return f"{value:{'+' if sign else ''}.2e} ± {error:.1e}"
    return f"{value:{'+' if sign else ''}.{digits}f} ± {error:.{digits}f}"


def mean_cell(row: Summary) -> str:
    """Return mean squared error and standard error, and how often the method gave no number."""
    failed = f" ({row.failures} failed)" if row.failures else ""
    return with_error(row.mean, row.standard_error) + failed


def difference_cell(row: Summary) -> str:
    """Return the paired difference; a star where Bayes optimal loses by more than two standard errors."""
    if (row.method, row.prior) == (REFERENCE, "paper") or math.isnan(row.difference):
        return ""
    star = " *" if beaten([row]) else ""
    return with_error(row.difference, row.difference_error, sign=True) + star


def plain_difference_cell(row: Summary) -> str:
    """Return the paired difference."""
    return with_error(row.difference, row.difference_error, sign=True)


def median_cell(row: Summary) -> str:
    """Return the median squared error."""
    return number(row.median)


def coverage_cell(row: Summary) -> str:
    """Return coverage and mean length of intervals; nothing for a single data set, which has no coverage."""
    return (
        "" if math.isnan(row.coverage) or row.replications == 1 else f"{100 * row.coverage:.1f}% ({number(row.length)})"
    )


def wide_table(rows: Sequence[Summary], cell: Callable[[Summary], str]) -> str:
    """Return a Markdown table, one line per method and prior, one column per size."""
    sizes = sorted({row.size for row in rows})
    lines = list(dict.fromkeys((row.prior, row.method) for row in rows))
    found = {(row.prior, row.method, row.size): cell(row) for row in rows}
    shown = [key for key in lines if any(found.get((*key, size)) for size in sizes)]
    columns = [size for size in sizes if any(found.get((*key, size)) for key in shown)]
    head = ["method", "prior", *(f"n = {size}" for size in columns)]
    body = [[METHODS[m].label, _prior_label(p), *(found.get((p, m, s), "") for s in columns)] for p, m in shown]
    return markdown(head, body)


def _prior_label(prior: str) -> str:
    return {"none": ""}.get(prior, prior)


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rule = ["---"] * 2 + ["---:"] * (len(head) - 2)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body]) + "\n"
