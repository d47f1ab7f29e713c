"""The text of each experiment: what was run, then its tables, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alldags.typing import FloatArray
from replication.methods import METHODS, PRIORS
from replication.runner import Result
from replication.summary import (
    Summary,
    beaten,
    coverage_cell,
    difference_cell,
    markdown,
    mean_cell,
    median_cell,
    number,
    plain_difference_cell,
    standard_error,
    summarize,
    wide_table,
    with_error,
)

_DIFFERENCE = (
    "Paired difference of squared errors, method less Bayes optimal with the same prior (methods without a prior, and "
    "Bayes optimal with the default prior: less Bayes optimal with the paper's), ± standard error. Positive: the "
    "method is worse than Bayes optimal; a star: it is better by more than two standard errors."
)

_AGAINST_VB = (
    "Paired difference of squared errors, method less VB (the method the paper proposes) with the paper's prior, ± "
    "standard error. Positive: VB is better."
)


def curve_tables(rows: Sequence[Summary], groups: dict[str, str]) -> str:
    """Return, for each group, tables of means, paired differences and medians, and of coverage if there is any."""
    return "\n".join(_group_tables([row for row in rows if row.group == g], title) for g, title in groups.items())


def _group_tables(rows: Sequence[Summary], title: str) -> str:
    counts = sorted({row.replications for row in rows})
    many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    parts = [
        f"### {title} ({many} data sets per size)\n",
        "Mean squared error ± standard error.\n",
        wide_table(rows, mean_cell),
        _DIFFERENCE + "\n",
        wide_table(rows, difference_cell),
        "Median squared error.\n",
        wide_table(rows, median_cell),
    ]
    if any(coverage_cell(row) for row in rows):
        parts += ["Share of 95% intervals that contain the truth (mean length).\n", wide_table(rows, coverage_cell)]
    return "\n".join(parts)


def paper_comparisons(results: Sequence[Result], groups: dict[str, str]) -> str:
    """Return paired differences to VB, the method the paper proposes, of the methods it compares with."""
    compared = ("k2", "full", "ipw", "ipw_normalised")
    rows = [row for row in summarize(results, "vb") if row.method in compared and row.prior in ("paper", "none")]
    parts = ["### The paper's own comparisons\n", _AGAINST_VB + "\n"]
    for group, title in groups.items():
        parts += [f"{title}:\n", wide_table([row for row in rows if row.group == group], plain_difference_cell)]
    return "\n".join(parts)


def verdict(rows: Sequence[Summary]) -> str:
    """Return one sentence: where, with the paper's prior, another method is better than Bayes optimal."""
    compared = [row for row in rows if row.prior == "paper" and row.difference_error > 0]
    if not compared:
        return ""
    worse = beaten(compared)
    if not worse:
        least = min(row.difference / row.difference_error for row in compared)
        return (
            f"In none of {len(compared)} comparisons is another method better than Bayes optimal by more than two "
            f"standard errors of the paired difference (the closest is {least:+.1f} standard errors).\n"
        )
    places = "; ".join(
        f"{row.label}, {row.group}, n = {row.size}: {with_error(row.difference, row.difference_error, sign=True)}"
        for row in worse
    )
    return f"Better than Bayes optimal by more than two standard errors in {len(worse)} of {len(compared)}: {places}.\n"


def time_table(rows: Sequence[Summary]) -> str:
    """Return the median milliseconds of one estimate, by method and size."""
    return "Milliseconds of processor time per estimate (median).\n\n" + wide_table(
        rows, lambda row: number(1000 * row.seconds)
    )


def truth_table(results: Sequence[Result], effects: FloatArray, of_means: FloatArray) -> str:
    """Return mean squared errors at full size against both true effects (IHDP), which are indexed by replication."""
    used = sorted({r.replication for r in results})
    body = []
    for prior, method in dict.fromkeys((r.prior, r.method) for r in _by_method(results)):
        mine = [r for r in results if (r.prior, r.method) == (prior, method)]
        first = np.array([(r.estimate - effects[r.replication]) ** 2 for r in mine])
        second = np.array([(r.estimate - of_means[r.replication]) ** 2 for r in mine])
        cells = [with_error(float(v.mean()), standard_error(v)) for v in (first, second)]
        body.append([METHODS[method].label, "" if prior == "none" else prior, *cells])
    head = ["method", "prior", "against mean(y1 - y0)", "against mean(mu1 - mu0)"]
    effects, of_means = effects[used], of_means[used]
    gap = float(np.sqrt(np.mean((effects - of_means) ** 2)))
    text = (
        f"True effect over {len(effects):,} replications: mean(y1 - y0) averages {effects.mean():.3f}, "
        f"mean(mu1 - mu0) averages {of_means.mean():.3f}; they differ by {gap:.3f} r.m.s. Mean squared error at full "
        "size against each:\n\n"
    )
    return text + markdown(head, body)


def set_tables(results: Sequence[Result], names: Sequence[str]) -> str:
    """Return estimates with 95% intervals, one line per method, one column per data set (LBIDD)."""
    found = {(r.prior, r.method, r.group): r for r in results}
    lines = list(dict.fromkeys((r.prior, r.method) for r in _by_method(results)))
    truth = {r.group: r.truth for r in results}
    head = ["method", "prior", *(name[:8] for name in names)]
    first = ["**truth**", "", *(f"**{number(truth[name])}**" if name in truth else "" for name in names)]
    body = [
        [METHODS[m].label, "" if p == "none" else p, *(_estimate_cell(found.get((p, m, name))) for name in names)]
        for p, m in lines
    ]
    return markdown(head, [first, *body])


def _estimate_cell(result: Result | None) -> str:
    if result is None:
        return ""
    if math.isnan(result.low):
        return number(result.estimate)
    star = "" if result.low <= result.truth <= result.high else " !"
    return f"{number(result.estimate)} ({number(result.low)}, {number(result.high)}){star}"


def _by_method(results: Sequence[Result]) -> list[Result]:
    position = {name: i for i, name in enumerate(METHODS)}
    priors = {name: i for i, name in enumerate(PRIORS)}
    return sorted(results, key=lambda r: (priors.get(r.prior, len(priors)), position[r.method]))
