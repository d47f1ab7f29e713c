"""The text and the figures of each experiment, from its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from alldags.datasets.public import LBIDD_SETS
from alldags.typing import FloatArray
from replication.acic import CHOICES, group_of
from replication.methods import TERMS
from replication.runner import Result
from replication.semisynthetic import IHDP_GROUP, SemiSynthetic, both_effects
from replication.summary import summarize

if TYPE_CHECKING:
    from replication.command import Plan

PRIOR_TITLES = {"paper": "paper's prior", "default": "default prior"}
LBIDD_CURVES = {
    "a3c4c668a3f84ba3ac42bf78c3ca35b1": "LBIDD a3c4c668 (linear)",
    "30fdfdf9847b4b03ae6dfa0009655fb6": "LBIDD 30fdfdf9 (cubic)",
}


def synthetic_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    """Return the text of a synthetic experiment and draw its figure."""
    from replication.figures import synthetic_figure
    from replication.tables import curve_tables, paper_comparisons, time_table, verdict

    rows = summarize(results)
    titles = {group: group.replace("=", " = ") for group in dict.fromkeys(task.group for task in plan.tasks)}
    figures = synthetic_figure(rows, folder / "curves", titles)
    first = [row for row in rows if row.group == next(iter(titles))]
    tables = [verdict(rows), curve_tables(rows, titles), paper_comparisons(results, titles), time_table(first)]
    return "\n".join([plan.intro + "\n", *tables]), figures


def ihdp_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    """Return the text of IHDP and draw its figures."""
    from replication.figures import box_figure, curves_figure, groups_figure
    from replication.tables import curve_tables, paper_comparisons, time_table, truth_table

    rows = summarize(results)
    largest = max(row.size for row in rows)
    full = [result for result in results if result.size == largest]
    effects, of_means = both_effects(_data_folder(plan), 1 + max(task.replication for task in plan.tasks))
    if _only_curves(plan):
        figures = groups_figure(full, folder / "errors", {IHDP_GROUP: f"IHDP, n = {largest}"})
        return "\n".join(
            [plan.intro + "\n", curves_section(full, of_means), truth_table(full, effects, of_means)]
        ), figures
    titles = {IHDP_GROUP: "IHDP"}
    figures = curves_figure(rows, folder / "curves", titles, PRIOR_TITLES)
    figures += box_figure(full, folder / "errors", {key: f"n = {largest}, {t}" for key, t in PRIOR_TITLES.items()})
    tables = [curve_tables(rows, titles), paper_comparisons(results, titles)]
    tables += [truth_table(full, effects, of_means), curves_section(full, of_means), time_table(rows)]
    return "\n".join([plan.intro + "\n", *tables]), figures


def lbidd_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    """Return the text of LBIDD and draw its figure."""
    from replication.figures import curves_figure
    from replication.tables import curve_tables, paper_comparisons, set_tables, time_table

    rows = summarize(results)
    largest = max(row.size for row in rows)
    head = "### All ten sets with 1,000 rows: estimate (95% interval); ! marks intervals that miss the truth\n"
    tables = set_tables([result for result in results if result.size == largest], LBIDD_SETS)
    if _only_curves(plan):
        return "\n".join([plan.intro + "\n", sets_section(results, largest), head, tables]), []
    curves = [row for row in rows if row.group in LBIDD_CURVES]
    figures = curves_figure(curves, folder / "curves", LBIDD_CURVES, PRIOR_TITLES)
    first = [row for row in rows if row.group == next(iter(LBIDD_CURVES))]
    text = [plan.intro + "\n", head, tables, curve_tables(curves, LBIDD_CURVES)]
    text += [sets_section(results, largest), paper_comparisons(results, LBIDD_CURVES), time_table(first)]
    return "\n".join(text), figures


def _only_curves(plan: Plan) -> bool:
    """Return whether curves were asked for without the methods of the paper."""
    work = plan.work
    return isinstance(work, SemiSynthetic) and work.curved_size is not None and not work.methods


def _data_folder(plan: Plan) -> str | None:
    return plan.work.folder if isinstance(plan.work, SemiSynthetic) else None


def acic_report(plan: Plan, results: list[Result], folder: Path) -> tuple[str, list[Path]]:
    """Return the text of ACIC 2016 and draw its figure."""
    from replication.comparison import LEGEND
    from replication.figures import groups_figure

    groups = list(dict.fromkeys(task.group for task in plan.tasks))
    choices = [group_of(setting) for setting in CHOICES]
    titles = {group: f"{group} (used for choices)" if group in choices else group for group in groups}
    largest = max(result.size for result in results)
    figures = groups_figure([r for r in results if r.size == largest], folder / "errors", titles)
    kept = [r for r in results if r.group not in choices]
    parts = [plan.intro + "\n", LEGEND, *_by_size(kept, "Settings kept for reporting, together")]
    for group, title in titles.items():
        parts += _by_size([r for r in results if r.group == group], title)
    return "\n".join(parts), figures


def _by_size(results: Sequence[Result], title: str) -> list[str]:
    from replication.comparison import comparison_table

    parts = []
    for size in sorted({r.size for r in results}):
        parts += [f"### {title}, n = {size:,}\n", comparison_table([r for r in results if r.size == size])]
    return parts


def curves_section(results: Sequence[Result], of_means: FloatArray) -> str:
    """Return the comparison on the IHDP replications that curves were fitted to, or nothing."""
    from replication.comparison import LEGEND, comparison_table

    done = {r.replication for r in results if r.method == TERMS}
    against = [replace(r, truth=float(of_means[r.replication])) for r in results if r.replication in done]
    if not against:
        return ""
    first, last = min(done) + 1, max(done) + 1
    some = f"{len(done)} of " if len(done) < last + 1 - first else ""
    head = f"### Straight lines and curves: {some}replications {first} to {last}, against mean(mu1 - mu0)\n"
    return "\n".join([head, LEGEND, comparison_table(against)])


def sets_section(results: Sequence[Result], size: int) -> str:
    """Return how each method fares over the LBIDD sets, or nothing without curves."""
    from replication.comparison import sets_table

    full = [r for r in results if r.size == size and r.replication == 0]
    if not any(r.method == TERMS for r in full):
        return ""
    return "\n".join([f"### Over the sets, n = {size:,}\n", sets_table(full)])
